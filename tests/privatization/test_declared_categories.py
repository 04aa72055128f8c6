"""Categories are declared: a list taken from the answers would publish their order."""

import itertools

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, RRStatsWarning
from rrstats.privatization import column

ANSWERS = pd.Series(["secret", "yes", "no", "yes"], name="answer")

FROM_DATA = {
    "unique": ANSWERS.astype(object).unique(),
    "unique text": ANSWERS.astype("str").unique(),
    "array of str": np.array(ANSWERS, dtype="U"),
    "booleans": pd.Series([True, False]).unique(),
    "whole numbers": pd.Series([3, 1, 2]).unique(),
    "falling numbers": np.array([2.5, 0.5]),
    "numbers and NaN": np.array([0.5, np.nan]),
    "days": np.array(["2021-01-02", "2021-01-01"], "M8[D]"),
    "one number": np.array(2.5),
    "nullable": pd.array([1, 2]),
    "Categorical": ANSWERS.astype("category").unique(),
    "CategoricalIndex": pd.CategoricalIndex(["secret", "yes"]),
    "value_counts": ANSWERS.value_counts().index,
    "MultiIndex": pd.MultiIndex.from_tuples([(1, 2), (0, 1)], names=["a", None]),
    "Series": ANSWERS.drop_duplicates(),
    "increasing Series": pd.Series([1, 2]),
}


def _arrow():
    return pytest.importorskip("pyarrow")


FROM_LIBRARIES = {
    "Arrow text of pandas": lambda: _arrow() and ANSWERS.astype("string[pyarrow]").unique(),
    "Polars": lambda: pytest.importorskip("polars").Series(["secret", "yes"]),
    "Arrow": lambda: _arrow().array(["secret", "yes"]),
    "Arrow chunks": lambda: _arrow().chunked_array([["secret", "yes"]]),
}
"""Data of packages that may be absent."""


@pytest.mark.parametrize("kind", [*FROM_DATA, *FROM_LIBRARIES])
def test_categories_from_data_are_refused(kind):
    """What holds answers is no list of categories; the message shows the way on, and no answer."""
    values = FROM_DATA[kind] if kind in FROM_DATA else FROM_LIBRARIES[kind]()
    message = refused(ArgumentTypeError, "not taken from data", rr.KRR, values, epsilon=1)
    assert "as a list, as in the questionnaire" in message
    assert "secret" not in message


@pytest.mark.parametrize(
    "declared",
    [
        ["secret", "yes"],
        {"yes", "secret"},
        {0: "secret", 1: "yes"},
        range(2),
        np.arange(2),
        pd.CategoricalDtype(["yes", "secret"]),
        ANSWERS.astype("category").dtype,
        ANSWERS.astype("category").cat.categories,
        pd.cut(pd.Series([1, 2]), 2).cat.categories,
    ],
    ids=lambda declared: type(declared).__name__,  # a set has no order of its own
)
def test_what_is_declared_is_taken(declared):
    """Lists, sets, codebooks, ranges, dtypes and their labels."""
    assert rr.KRR(declared, epsilon=1).k >= 2


FRAME = pd.DataFrame({"answer": ANSWERS, "person": range(4)})

DOORS = {
    "KRR": lambda c: rr.KRR(c, epsilon=1),
    "UnaryEncoding": lambda c: rr.mechanisms.UnaryEncoding.optimized(c, epsilon=1),
    "Rappor": lambda c: rr.mechanisms.Rappor(c, 0.5, 0.5, 0.75),
    "SubsetSelection": lambda c: rr.mechanisms.SubsetSelection(c, epsilon=1),
    "MatrixDesign": lambda c: rr.MatrixDesign(c, np.eye(3) / 2 + 1 / 6),
    "reports": lambda c: rr.MatrixDesign([0, 1, 2], np.eye(3) / 2 + 1 / 6, reports=c),
    "two_rounds": lambda c: rr.mechanisms.two_rounds(c, epsilon_lifetime=2, epsilon_first_report=1),
    "survey": lambda c: rr.surveys.forced_response(c, 1 / 6, 1 / 6),
    "survey of many": lambda c: rr.surveys.direct(c),
    "privatize": lambda c: rr.privatize(ANSWERS, c, epsilon=1),
    "columns": lambda c: rr.privatize(FRAME, {"answer": c}, epsilon=1),
    "table": lambda c: rr.privatize(_arrow().table(FRAME), {"answer": c}, epsilon=1),
    "rates": lambda c: rr.privatize(ANSWERS, c, epsilon=[1, 1, 2, 2]),
    "simulate": lambda c: rr.simulate(ANSWERS, c, epsilon=1, seed=1),
    "frame": lambda c: FRAME.rr.privatize("answer", c, epsilon=1),
    "series": lambda c: ANSWERS.rr.privatize(c, epsilon=1),
    "plan": lambda c: rr.planning.FramePlan({"answer": c, "b": [1, 2]}, 1, [("answer", "b")]),
    "check": lambda c: FRAME.rr.check("answer", c),
    "estimate": lambda c: rr.estimate(ANSWERS, c, epsilon=1),
    "audit": lambda c: rr.audit(lambda value: value, c, epsilon=1),
    "client": lambda c: rr.client.report({"a": rr.KRR(c, epsilon=1)}, "yes"),
    "planning": lambda c: rr.planning.recommend(c, epsilon=1),
    "sample size": lambda c: rr.planning.sample_size(0.1, 0.2, c, epsilon=1),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_categories_from_data(door):
    """One rule stands before mechanisms, designs, plans, the accessor and the client."""
    refused(ArgumentTypeError, "not taken from data", DOORS[door], FROM_DATA["unique"])


@pytest.mark.parametrize("kind", [list, tuple, set])
def test_cells_of_arrow_in_a_list_are_refused(kind, pa):
    """They come from a column: a questionnaire has words."""
    with pytest.raises(ArgumentTypeError, match=r"not taken from data.*cells of Arrow in a"):
        rr.KRR(kind(pa.array(["yes", "no"])), 0.75)


def test_files_refuse_categories_from_data(tmp_path, pa):
    """Before anything is written."""
    source = tmp_path / "in.csv"
    FRAME.to_csv(source)
    columns = {"answer": FROM_DATA["unique"]}
    release = rr.files.privatize_file
    refused(TypeError, "categories|mechanism", release, source, tmp_path / "out.csv", columns)
    assert [source] == list(tmp_path.iterdir())


def test_a_list_in_order_of_first_appearance_warns_the_curator():
    """Of 4 categories or more that are not sorted, and only if the noise is real."""
    declared = ["good", "poor", "fair", "excellent"]
    answers = [*declared[:3], "good", "poor", *declared]
    message = r"of the columns \['a'\] are listed in the order"
    with pytest.warns(RRStatsWarning, match=message) as caught:
        out = pd.DataFrame({"a": answers}).rr.privatize("a", declared, epsilon=1)
    assert 1 == len(caught)
    assert not any(answer in str(caught[0].message) for answer in declared)
    assert out.rr.mechanisms["a"] == rr.KRR(declared, epsilon=1)
    for values in (answers, np.array(answers), pd.Series(answers)):
        with pytest.warns(RRStatsWarning, match="the categories are listed in the order"):
            rr.privatize(values, declared, epsilon=1)
    plan = rr.planning.FramePlan({"a": declared, "b": [0, 1]}, 1, [("a",), ("b",)])
    with pytest.warns(RRStatsWarning, match=message):
        rr.privatize(pd.DataFrame({"a": answers, "b": 0}), plan)


def test_an_arrow_array_in_the_order_of_the_list_warns(pa):
    """As every other container."""
    declared = ["good", "poor", "fair", "excellent"]
    with pytest.warns(RRStatsWarning, match="the categories are listed in the order"):
        rr.privatize(pa.array(declared), declared, epsilon=1)


@pytest.mark.filterwarnings("error")
def test_another_order_does_not_warn():
    """Three categories, sorted ones, one that nobody gave, other orders, and simulated noise."""
    rr.privatize([3, 1, 2] * 50, [3, 1, 2], epsilon=1)
    rr.privatize([1, 2, 3, 4] * 50, range(1, 5), epsilon=1)
    rr.privatize(["d", "a", "b", "c"] * 50, ["d", "a", "b", "c", "e"], epsilon=1)
    rr.privatize(["d", "b", "a", "c"] * 50, ["d", "a", "b", "c"], epsilon=1)
    rr.simulate(["d", "a", "b", "c"] * 50, ["d", "a", "b", "c"], epsilon=1, seed=1)


def test_a_rare_category_that_comes_late_counts(monkeypatch):
    """The order is followed over blocks and threads, as long as it is that of the list."""
    monkeypatch.setattr(column, "BLOCK_ROWS", 100)
    declared = ["d", "a", "b", "c"]
    answers = ["d", "a"] * 200 + ["b"] * 300 + ["c"]
    for threads in (1, 3):
        with pytest.warns(RRStatsWarning, match="in the order"):
            rr.privatize(np.array(answers), declared, epsilon=1, threads=threads)


@pytest.mark.parametrize("first_rows", [0, 2, 64])
def test_the_order_of_first_appearance_is_exact(monkeypatch, first_rows):
    """Against the plain definition, for all answers of 5 rows in two pieces; 3 is unknown."""
    monkeypatch.setattr(column, "_FIRST_ROWS", first_rows)
    for codes in itertools.product(range(4), repeat=5):
        appeared = list(dict.fromkeys(code for code in codes if code < 3))
        expected = len(appeared) if appeared == list(range(len(appeared))) else None
        for cut in range(6):
            pieces = np.array(codes, np.uint8)[:cut], np.array(codes, np.uint8)[cut:]
            count = column._appeared(pieces[0], 0, 3)
            count = None if count is None else column._appeared(pieces[1], count, 3)
            assert expected == count


def test_check_tells_the_order_of_frequency():
    """In a row of its own, of 4 categories or more; people list answers so, so nothing warns."""
    answers = ["d"] * 4 + ["a"] * 3 + ["c"] * 2 + ["b", "x"]
    declared = ["d", "a", "c", "b"]
    expected = [["x", "unknown", 1, None], [None, "in order of frequency", 10, None]]
    assert expected == rr.check(answers, declared).to_numpy().tolist()
    frame = pd.DataFrame({"a": answers})
    assert expected == frame.rr.check("a", declared).to_numpy().tolist()
    for other in (["a", "d", "c", "b"], sorted(declared), ["d", "a", "c", "b", "e"]):
        assert ["unknown"] == rr.check(answers, other)["status"].tolist()
    assert ["unknown"] == rr.check(answers, ["d", "a", "c"])["status"].tolist()[-1:]
