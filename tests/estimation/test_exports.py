"""Results leave the session: ends of intervals, files, and what prints of designs and frames."""

import functools
import io
import math
import textwrap
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import rrstats as rr

M = rr.KRR(["no", "yes"], 0.75)
PEOPLE = pd.DataFrame(
    {"a": ["no", "yes", "no", "no"] * 60, "b": ["yes", "no"] * 120, "age": range(240)}
)
REPORTS = PEOPLE.rr.simulate({"a": M, "b": M}, seed=4)
ESTIMATE = rr.estimate(rr.Tally.from_counts([640, 360], M))

EXACT = {} if pd.__version__ >= "3" else {"float_precision": "round_trip"}
"""Options of read_csv that keep every digit; later versions always do."""


@functools.cache
def tables():
    """One result of each kind that has a table, by its name."""
    groups = rr.estimate(REPORTS["a"], by=["u", "v"] * 120)
    results = [
        ESTIMATE,
        groups,
        REPORTS.rr.estimate(["a", "b"]),
        ESTIMATE.mle(),
        ESTIMATE.interval(),
        ESTIMATE.summary(),
        rr.difference(groups["u"], groups["v"]),
        REPORTS.rr.crosstab("a", "b"),
        REPORTS.rr.crosstab("a", "b").conditional("a", given="b"),
        rr.correlations(REPORTS, "a", "b"),
        REPORTS.rr.means("age", "a"),
        REPORTS.rr.quantiles("age", "a"),
        rr.posterior(["no"], M, 0.2),
        rr.hypotheses.goodness_of_fit(REPORTS["a"], [0.5, 0.5]),
        rr.logit(REPORTS["a"], REPORTS[["age"]], mechanism=M, intercept=True),
        rr.privacy.compose({"a": M}),
        rr.planning.at_epsilon(1, proportion=0.2, half_width=0.05),
    ]
    return {type(result).__name__: result for result in results}


def test_ends_of_intervals_are_attributes():
    """low and high are the ends of the 95% intervals; conf_int has those of any level."""
    low, high = ESTIMATE.interval()
    np.testing.assert_array_equal(low, ESTIMATE.low)
    np.testing.assert_array_equal(high, ESTIMATE.high)
    frame = ESTIMATE.conf_int(0.8)
    assert (["low", "high"], ["no", "yes"]) == (list(frame), list(frame.index))
    np.testing.assert_array_equal(ESTIMATE.interval(0.8), frame.to_numpy().T)
    with pytest.raises(ValueError, match="read-only"):
        ESTIMATE.low[0] = 0.5


@pytest.mark.parametrize("name", sorted(tables()))
def test_every_table_is_written_as_text(name, tmp_path):
    """The text holds the frame of the result, to the last digit; a file holds the same."""
    result = tables()[name]
    frame = result.to_frame()
    text = result.to_csv()
    read = pd.read_csv(io.StringIO(text), **EXACT)
    assert len(frame) == len(read)
    labels = 0 if isinstance(frame.index, pd.RangeIndex) else frame.index.nlevels
    assert list(map(str, frame.columns)) == list(read.columns)[labels:]
    for place, column in enumerate(frame):
        if frame[column].dtype.kind == "f":
            np.testing.assert_array_equal(frame[column], read.iloc[:, place + labels])
    path = tmp_path / "table.csv"
    assert result.to_csv(path) is None
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
    with pytest.raises(rr.errors.RRStatsError, match="to_frame"):
        result.to_csv(path, sep=";")


@pytest.mark.parametrize("name", sorted(tables()))
def test_every_table_is_written_as_markdown(name):
    """One line for each row below a head; without tabulate the error says what to install."""
    result = tables()[name]
    if find_spec("tabulate") is None:
        with pytest.raises(ImportError, match="to_markdown needs tabulate: pip install tabulate"):
            result.to_markdown()
    else:
        assert 2 + len(result.to_frame()) == len(result.to_markdown().splitlines())


def test_excel_needs_its_package(tmp_path):
    """A sheet holds the frame; without openpyxl the error says what to install."""
    path = tmp_path / "table.xlsx"
    if find_spec("openpyxl") is None:
        with pytest.raises(rr.errors.RRStatsError, match="needs openpyxl: pip install openpyxl"):
            ESTIMATE.to_excel(path)
    else:
        ESTIMATE.to_excel(path)
        pd.testing.assert_frame_equal(ESTIMATE.to_frame(), pd.read_excel(path), check_dtype=False)


@pytest.mark.parametrize("k", [2, 5, 10, 40, 200])
def test_design_prints_in_ten_lines(k):
    """A small matrix prints in full and can be typed; of a large one the shape is printed."""
    matrix = np.full((k, k), 0.5 / k) + 0.5 * np.eye(k)
    design = rr.MatrixDesign(range(k), matrix)
    assert len(textwrap.wrap(repr(design), 80)) <= 10
    assert ("matrix>" in repr(design)) == (k >= 10)
    if k == 2:
        assert design == eval(repr(design), {"MatrixDesign": rr.MatrixDesign})


def test_accessor_prints_columns_designs_and_epsilon():
    """df.rr says which columns are private, by which design, and what a row has lost."""
    released = PEOPLE.rr.privatize({"a": M, "b": M}, unknown="uniform")
    text = repr(released.rr)
    assert f"  a               {M!r}" in text.splitlines()
    assert f"  b               {M!r}" in text.splitlines()
    note = released.rr.epsilon.note
    assert f"Epsilon of a row: 2.198 ({note})" in text.splitlines()  # rounded up, as in receipts
    assert 2 * math.log(3) == pytest.approx(released.rr.epsilon)
    assert "private column" not in repr(PEOPLE.rr)
    assert "does not fit: the frame records" in repr(released.drop(columns="a").rr)
    wide = pd.DataFrame({f"q{place}": ["no"] for place in range(50)})
    wide = wide.rr.privatize(list(wide), ["no", "yes"], 0.75)
    assert len(repr(wide.rr).splitlines()) < 20
    assert "50 in all" in repr(wide.rr)


def test_a_warning_comes_once():
    """Columns, and groups of columns, whose reports are implausible warn once together."""
    answers = pd.DataFrame({name: ["yes"] * 900 for name in "abc"} | {"g": ["u", "v"] * 450})
    mechanisms = dict.fromkeys("abc", M)
    for by in (None, "g"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers.rr.estimate(list("abc"), mechanisms, by=by)
        assert [rr.errors.ImplausibleReportsWarning] == [each.category for each in caught]
    with warnings.catch_warnings(record=True) as caught:  # the next call warns again
        warnings.simplefilter("always")
        answers.rr.estimate("a", M)
        answers.rr.estimate("a", M)
    assert 2 == len(caught)
