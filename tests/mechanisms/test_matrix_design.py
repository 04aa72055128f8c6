"""Any matrix that a user brings: read, drawn, described and refused."""

import copy
import datetime
import json
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from catalogue import ASYMMETRIC
from refusals import refused
from scripted import Counting, EveryStream

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms import from_dict
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.randomness import samplers

THIRDS = [[Fraction(2, 3), Fraction(1, 6)], [Fraction(1, 3), Fraction(5, 6)]]
WIDE = [[0.5, 0.25, 0.125], [0.5, 0.75, 0.875]]
TALL = [[0.8, 0.1], [0.1, 0.6], [0.1, 0.3]]


def sparse():
    """A design with impossible reports, equal thresholds and certain answers."""
    return MatrixDesign(
        ["a", "b", "c"],
        [[0, 0.5, 0], [0.25, 0.5, 0], [0, 0, 1], [0.75, 0, 0]],
        reports=["w", "x", "y", "z"],
    )


DESIGNS = {
    "fractions": lambda: MatrixDesign(["no", "yes"], THIRDS),
    "more reports": lambda: MatrixDesign(["no", "yes"], TALL, reports=["no", "yes", None]),
    "fewer reports": lambda: MatrixDesign(["a", "b", "c"], WIDE),
    "asymmetric": lambda: MatrixDesign(["a", "b", "c"], ASYMMETRIC.entries),
    "sparse": sparse,
    "no information": lambda: MatrixDesign([True, False], [[0.25, 0.25], [0.75, 0.75]]),
    "classes": lambda: MatrixDesign(
        [("yes", "honest"), ("yes", "lying"), ("no", "honest")],
        [[1, 0, 0.25], [0, 1, 0.75]],
        reports=[1, 0],
        shows={("no", "honest"): "no", ("yes", "lying"): "yes", ("yes", "honest"): "yes"},
    ),
    "own inverse": lambda: MatrixDesign(
        ["no", "yes"],
        [[0.25, 0.0625], [0.5, 0.375], [0.25, 0.5625]],
        inverse=[[3, 1, -1], [-2, 0, 2]],
    ),
    "labels": lambda: MatrixDesign(
        [datetime.date(2020, 1, 1), math.inf, None], ASYMMETRIC.entries, reports=list("abcd")
    ),
}


@pytest.fixture(params=list(DESIGNS))
def design(request):
    return DESIGNS[request.param]()


@pytest.mark.parametrize("most", [1 << 22, 0], ids=["table", "search"])
def test_distribution(design, most, monkeypatch):
    """Reports follow the matrix exactly, whether looked up in a table or searched for."""
    monkeypatch.setattr(samplers, "_MAX_TABLE_ENTRIES", most)
    for truth in range(design.domain.k):
        source = EveryStream(4, {samplers.CELL_STREAM: 4})
        codes = np.full(source.rows, truth, dtype=design.domain.dtype)
        reports = design.randomize(codes, source, 0)
        distribution = source.distribution(reports, design.channel.m)
        assert distribution.brackets([row[truth] for row in design.channel.entries])
        assert distribution.undecided <= Fraction(1, 1000)
        assert design.report_space.dtype == reports.dtype
        assert (codes == truth).all()


def test_table_and_search_agree(monkeypatch):
    """Both ways of finding a report give the same one, for many categories and reports."""
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.full(300, 0.1), size=6).T
    codes = rng.integers(0, 6, 20_000).astype(np.uint8)
    found = []
    for most in (1 << 22, 0):
        monkeypatch.setattr(samplers, "_MAX_TABLE_ENTRIES", most)
        m = MatrixDesign(range(6), matrix, reports=range(1000, 1300))
        found.append(m.randomize(codes, Counting(1), 0))
    assert np.array_equal(*found)
    assert found[0].dtype == np.uint16
    assert found[0].max() > 255


def test_categories_and_reports():
    """Reports are the categories in a square matrix, else numbers, else as said."""
    assert DESIGNS["fractions"]().report_space.categories == ("no", "yes")
    assert DESIGNS["asymmetric"]().report_space.categories == (0, 1, 2, 3)
    assert DESIGNS["more reports"]().report_space.categories == ("no", "yes", None)


def test_classes_show_categories():
    """Categories come in the order in which the classes show them first."""
    m = DESIGNS["classes"]()
    assert m.categories == ("yes", "no")
    assert (m.k, m.domain.k, m.channel.k) == (2, 3, 2)
    reports = rr.privatize([("yes", "honest"), ("yes", "lying")] * 5, m)
    assert reports == [1, 0] * 5
    with pytest.raises(NotIdentifiableError):
        rr.estimate(reports, m)


def test_reading_for_the_classes():
    """`showing` is the same design for other categories, or for the classes themselves."""
    m = DESIGNS["classes"]()
    truthful = m.showing({pair: pair[1] for pair in m.domain.categories})
    assert truthful.categories == ("honest", "lying")
    assert m.showing(None).categories == m.domain.categories
    assert truthful.channel.entries == m.channel.entries
    assert truthful.report_space == m.report_space


def test_own_inverse_is_used():
    """The estimate is that of the inverse given, not the weighted one."""
    m = DESIGNS["own inverse"]()
    assert m.channel.scores(np.array([2])).tolist() == [[-1.0, 2.0]]
    plain = MatrixDesign(m.domain.categories, m.matrix)
    assert not np.allclose(plain.channel.scores(np.array([2])), [[-1.0, 2.0]])
    for last in (2.5, 10**300):  # off by little, or beyond the largest double
        with pytest.raises(ArgumentValueError, match="inverse @ matrix must be 1"):
            MatrixDesign(["no", "yes"], m.matrix, inverse=[[3, 1, -1], [-2, 0, last]])
    with pytest.raises(ArgumentValueError, match="inverse must have 2 rows"):
        MatrixDesign(["no", "yes"], m.matrix, inverse=[[1, 2], [3, 4]])


def test_numbers_of_a_survey_are_normalized():
    """Columns within 1e-9 of 1 are normalized exactly, in the distribution and in epsilon alike."""
    m = MatrixDesign(["a", "b"], [[1 / 3 + 2e-10, 0.1], [2 / 3, 0.9]])
    assert m.channel.entries[0][0] == Fraction(1 / 3 + 2e-10) / (
        Fraction(1 / 3 + 2e-10) + Fraction(2 / 3)
    )
    assert [sum(column) for column in zip(*m.channel.entries, strict=True)] == [1, 1]
    assert DESIGNS["fractions"]().channel.entries == tuple(map(tuple, THIRDS))


def test_a_frame_is_aligned_by_its_labels():
    """Rows and columns of a DataFrame may come in any order; the labels say which is which."""
    frame = pd.DataFrame([[0.9, 0.3], [0.1, 0.7]], index=["yes", "no"], columns=["yes", "no"])
    m = MatrixDesign(["no", "yes"], frame)
    assert m == MatrixDesign(["no", "yes"], [[0.7, 0.1], [0.3, 0.9]])
    tall = pd.DataFrame({"b": [0.1, 0.6, 0.3], "a": [0.8, 0.1, 0.1]}, index=["x", "y", "refused"])
    named = MatrixDesign(["a", "b"], tall)
    assert named == MatrixDesign(["a", "b"], TALL, reports=["x", "y", "refused"])
    turned = MatrixDesign(["a", "b"], tall, reports=["refused", "x", "y"])
    assert turned.matrix == ((0.1, 0.3), (0.8, 0.1), (0.1, 0.6))


@pytest.mark.parametrize(
    ("labels", "reports", "message"),
    [
        ({"columns": ["no", "Yes"]}, None, r"missing \['yes'\], not expected \['Yes'\]"),
        ({"columns": [0, 1]}, None, r"columns of matrix must be the categories"),
        (
            {"index": ["n", "y"], "columns": ["no", "yes"]},
            ["no", "yes"],
            r"the reports: missing \['no', 'yes'\], not expected \['n', 'y'\]",
        ),
        ({"index": ["n", "n"], "columns": ["no", "yes"]}, None, "distinct"),
    ],
)
def test_labels_that_do_not_match(labels, reports, message):
    """What is missing and what was not expected is listed: these labels are public."""
    with pytest.raises(ArgumentValueError, match=message):
        MatrixDesign(["no", "yes"], pd.DataFrame(THIRDS, **labels), reports=reports)


def test_round_trips(design):
    """JSON, repr, pickle and copies give the same design back."""
    text = json.dumps(design.to_dict(), allow_nan=False)
    scope = {**vars(rr), "MatrixDesign": MatrixDesign, "Fraction": Fraction}
    for again in (
        from_dict(json.loads(text)),
        eval(repr(design), scope | {"inf": math.inf, "datetime": datetime}),
        pickle.loads(pickle.dumps(design)),
        copy.deepcopy(design),
    ):
        assert design == again
        assert hash(design) == hash(again)
        assert repr(design) == repr(again)
        assert design.channel.entries == again.channel.entries
        assert design.categories == again.categories
        assert design.channel.inverse == again.channel.inverse


def test_equal_numbers_are_equal_designs():
    """How a number was written does not matter, and every number does."""
    plain = MatrixDesign(["a", "b"], [[0.75, 0.5], [0.25, 0.5]])
    assert plain == MatrixDesign(["a", "b"], np.array([[0.75, 0.5], [0.25, 0.5]]))
    assert plain == MatrixDesign(
        ("a", "b"), [[Fraction(3, 4), Fraction(1, 2)], [Fraction(1, 4), 0.5]], reports=["a", "b"]
    )
    assert plain != MatrixDesign(["a", "b"], [[0.5, 0.75], [0.5, 0.25]])
    assert plain != MatrixDesign(["a", "b"], [[0.75, 0.5], [0.25, 0.5]], reports=[0, 1])
    assert plain == MatrixDesign(["a", "b"], [[0.75, 0.5], [0.25, 0.5]], shows={"b": "b", "a": "a"})


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.8, 0.2], [0.1, 0.8]], "category 'no' must sum to 1, found 0.9: 0.1 too little"),
        ([[0.8, 0.2], [0.2, 0.8 + 2e-9]], "'yes' must sum to 1, found 1.000000002: 2e-09 too much"),
        ([[0.7, 0.3], [0.1, 0.9]], "has rows for reports; .* 'no' must sum to 1, found 0.8"),
        ([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], "each of the 2 categories .* found 2 rows of \\[3\\]"),
        ([[1.1, 0.5], [-0.1, 0.5]], "must be probabilities; those of the category 'no' are not"),
        ([[1, 1]], "at least 2 rows"),
        ([[0.5, "0.5"], [0.5, 0.5]], "finite numbers, found str$"),
        ([[0.5, math.nan], [0.5, 0.5]], "finite numbers, found nan"),
        ([[0.5, True], [0.5, 0.5]], "finite numbers, found bool$"),
        (0.75, "rows of numbers or a DataFrame, found float"),
    ],
)
def test_bad_matrices(matrix, message):
    """A matrix that is none is refused with the column, the rule and by how much."""
    refused((ArgumentTypeError, ArgumentValueError), message, MatrixDesign, ["no", "yes"], matrix)


@pytest.mark.parametrize(
    "call",
    [
        lambda frame: MatrixDesign(["no", "yes"], frame),
        lambda frame: MatrixDesign(["no", "yes"], frame.to_numpy()),
        lambda frame: MatrixDesign(["no", "yes"], frame.to_numpy().tolist()),
        lambda frame: MatrixDesign(["no", "yes"], frame["yes"]),
        lambda frame: MatrixDesign(["no", "yes"], THIRDS, inverse=frame.to_numpy()),
        lambda frame: MatrixDesign(["no", "yes"], THIRDS, reports=frame["yes"]),
        lambda frame: MatrixDesign(["no", "yes"], THIRDS, reports=frame.to_numpy()),
        lambda frame: MatrixDesign(["no", "yes"], frame.set_index("yes", drop=False)),
        lambda frame: MatrixDesign(frame["yes"], frame),
    ],
)
@pytest.mark.parametrize("answers", [["HIV-Alice", "HIV-Bob"], ["HIV-Alice", "HIV-Alice"]])
def test_cells_are_never_quoted(call, answers):
    """Who passes answers where numbers belong reads their type, never an answer."""
    frame = pd.DataFrame({"no": answers, "yes": answers})
    with pytest.raises(rr.errors.RRStatsError) as caught:
        call(frame)
    assert "HIV" not in str(caught.value)


def test_many_labels_are_not_listed():
    """Of many labels that do not match six are listed, and how many there are."""
    frame, reports = pd.DataFrame(np.full((50, 2), 0.02), columns=["no", "yes"]), range(100, 150)
    text = r"not expected \[0, 1, .* 5, \.\.\. 50 in all\]"
    refused(ArgumentValueError, text, MatrixDesign, ["no", "yes"], frame, reports=reports)


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ({"no", "yes"}, "reports must be a list, because .* found set"),
        (["same"], "^reports must have at least two"),
        ({"no": 0, "yes": 1}, "^reports in a codebook must .* label"),
        ("ny", "^reports must be a list .* found str"),
        (["n", "n"], "^reports must be distinct"),
        ([["n"], ["y"]], "^reports must be hashable"),
    ],
)
def test_bad_reports(reports, message):
    """Labels of reports come in an order, and errors speak of reports; so in a frame."""
    frame = pd.DataFrame(THIRDS, index=["no", "yes"], columns=["no", "yes"])
    for build in (
        lambda: MatrixDesign(["no", "yes"], THIRDS, reports=reports),
        lambda: MatrixDesign(["no", "yes"], frame, reports=reports),
        lambda: rr.surveys.warner([False, True], 0.7, reports=reports),
    ):
        refused((ArgumentTypeError, ArgumentValueError), message, build)


@pytest.mark.parametrize("index", [["no", "yes"], ["yes", "no"]])
@pytest.mark.parametrize("columns", [["no", "yes", "refused"], ["a", "b"], ["a", "b", "yes"]])
def test_a_transposed_frame(index, columns):
    """A frame whose columns are not the categories is told which axis holds what."""
    frame = pd.DataFrame(np.full((2, len(columns)), 0.5), index=index, columns=columns)
    with pytest.raises(ArgumentValueError, match="rows are reports, columns true answers"):
        MatrixDesign(["no", "yes"], frame)
    named = MatrixDesign(["no", "yes"], frame.T * 2 / len(columns))
    assert named.report_space.k == len(columns)


def test_why_reports_tell_nothing():
    """The reason is named, and so is the way out."""
    some = [[0.5, 0.25, 0.5], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25]]
    mixture = [[0.5, 0.25, 0.375], [0.25, 0.5, 0.375], [0.25, 0.25, 0.25]]
    shown = {"a": "x", "b": "y", "c": "x"}
    for matrix, shows, reason in (
        ([[0.25] * 3, [0.75] * 3], None, "all 3 true answers .* choose another probability"),
        (some, None, "some true answers have the same report probabilities"),
        (mixture, None, "as a mixture of others"),
        (mixture, shown, "as a mixture of others"),
        (some, {"a": "x", "b": "y", "c": "y"}, "some true answers have the same report"),
    ):
        m = MatrixDesign(["a", "b", "c"], matrix, shows=shows)
        with pytest.raises(NotIdentifiableError, match=f"condition number .*{reason}"):
            m.channel.scores(np.array([0]))
    assert MatrixDesign(["a", "b", "c"], some, shows=shown).channel.left_inverse.shape == (2, 3)


def test_many_categories_take_few_steps():
    """A thousand categories take a second: a few calls for each number, not a hundred."""
    calls, k = 0, 100

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    categories = list(range(k))
    sys.setprofile(count)
    try:
        for m in (
            rr.surveys.direct(categories),
            rr.surveys.forced_response(categories, 0.5, [0.5 / k] * k),
        ):
            assert m.epsilon > 0
            assert m.channel.binomial_rates is not None
            rr.privatize(categories, m, rng=Counting(1))
    finally:
        sys.setprofile(None)
    assert calls < 2 * 25 * k**2


def test_bad_labels():
    """Reports have one label each, and every class shows a category."""
    with pytest.raises(ArgumentValueError, match="one label for each of the 3 rows"):
        MatrixDesign(["no", "yes"], TALL, reports=["no", "yes"])
    refused(ArgumentValueError, "at least two", MatrixDesign, ["no"], [[1], [0]])
    for shows in ({"no": 1}, {"no": 1, "maybe": 2}):
        with pytest.raises(ArgumentValueError, match="shows must give each of the classes"):
            MatrixDesign(["no", "yes"], THIRDS, shows=shows)
    with pytest.raises(ArgumentTypeError, match="shows must be a mapping"):
        MatrixDesign(["no", "yes"], THIRDS, shows="ab")
    with pytest.raises(ArgumentValueError, match="at least two"):
        MatrixDesign(["no", "yes"], THIRDS, shows={"no": 1, "yes": 1})
