"""Columns for analysis: private and ordinary ones, read as cells, scores and likelihoods."""

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.estimation.report_columns.report_columns import ordinary, report_column
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.mechanisms.records import ColumnRecord

INFORMATIVE = sorted(set(EXAMPLES) - SILENT)
YES_NO = rr.KRR(["no", "yes"], 0.75)


def test_a_private_column_gives_cells_scores_and_likelihoods_and_marks_what_is_missing():
    """A missing report has the cell m, and NaN for scores and likelihoods."""
    found = report_column(["yes", None, "no"], YES_NO)
    assert found.codes().tolist() == [1, 2, 0]
    np.testing.assert_allclose(found.scores()[[0, 2]], [[-0.5, 1.5], [1.5, -0.5]])
    np.testing.assert_allclose(found.likelihood()[0], [1 / 3, 1])
    assert np.isnan(found.scores()[1]).all()
    assert np.isnan(found.likelihood()[1]).all()
    assert found.missing().tolist() == [False, True, False]


def _reports_of(mechanism, rows):
    group = None
    if mechanism.groups is not None:
        group = [mechanism.groups[row % len(mechanism.groups)] for row in range(rows)]
    # The last category comes first: a list in the order of the data warns.
    truths = [mechanism.domain.categories[-1 - row % mechanism.domain.k] for row in range(rows)]
    return rr.privatize(truths, mechanism, group=group), group


@pytest.mark.parametrize("name", INFORMATIVE)
def test_the_mean_of_scores_is_the_estimate_of_every_mechanism(name):
    """Whatever the mechanism, scores by row say what the tally says."""
    mechanism = EXAMPLES[name]()
    reports, group = _reports_of(mechanism, 60)
    found = report_column(reports, mechanism, group=group)
    if mechanism.groups is not None and not mechanism.channel.is_separable:
        refused(ArgumentValueError, "a single report has no score", found.scores)
        return
    est = rr.estimators.Estimate(rr.tally(reports, mechanism, group=group))
    np.testing.assert_allclose(found.scores().mean(axis=0), est.proportions, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", INFORMATIVE)
def test_cells_have_the_scores_and_likelihoods_of_their_rows(name):
    """The tables by cell, read at the rows' cells, are what rows say themselves."""
    mechanism = EXAMPLES[name]()
    reports, group = _reports_of(mechanism, 40)
    found = report_column(reports, mechanism, group=group)
    if not found.is_multinomial:
        refused(ArgumentValueError, "names several categories", found.codes)
        return
    codes = found.codes()
    rows = found.likelihood()
    table = found.likelihood_table[codes]
    np.testing.assert_allclose(
        rows / rows.sum(1, keepdims=True), table / table.sum(1, keepdims=True)
    )
    blocks = [found.codes(slice(start, start + 7)) for start in range(0, 40, 7)]
    assert codes.tolist() == np.concatenate(blocks).tolist()


def test_an_ordinary_column_is_its_own_truth():
    """Its levels are sorted, or those of a Categorical in their order."""
    found = ordinary(pd.Series(["south", None, "north"], name="region"))
    assert (found.name, found.categories, found.private) == ("region", ("north", "south"), False)
    assert found.codes().tolist() == [1, 2, 0]
    assert found.scores()[0].tolist() == [0, 1]
    held = pd.Categorical(["low", "high", None], categories=["low", "high", "never"])
    assert ordinary(held).categories == ("low", "high", "never")
    assert ordinary(held).codes().tolist() == [0, 1, 3]


def test_values_that_do_not_compare_keep_their_order_and_empty_columns_work():
    """Mixed types have no sorted order; no rows have no levels."""
    assert ordinary(pd.Series([2, "a", 2], dtype=object)).codes().tolist() == [0, 1, 0]
    assert ordinary([]).k == 0
    refused(ArgumentTypeError, "found str", ordinary, "north")


def test_a_frame_says_which_columns_are_private():
    """Columns with a record or a given mechanism are private, the rest stand as they are."""
    frame = pd.DataFrame({"a": ["no", "yes"] * 4, "b": ["no", "yes"] * 4, "c": list("xxyyxxyy")})
    released = frame.rr.privatize("a", YES_NO)
    found = ReportFrame.of(released).joint(["a", "b", "c"], {"b": YES_NO})
    assert [one.private for one in found] == [True, True, False]
    other = {"a": rr.KRR(["no", "yes"], 0.9)}
    refused(MetadataError, "prob", ReportFrame.of(released).joint, ["a"], other)
    with pytest.raises(ArgumentValueError, match=r"mechanisms must be of the columns asked for"):
        ReportFrame.of(released).joint(["a"], {"b": YES_NO})


def test_a_renamed_or_merged_column_of_reports_is_not_taken_as_truth():
    """Where a privatized column is gone, one with only its reports may be it."""
    frame = pd.DataFrame(
        {"a": ["no", "yes"] * 4, "region": list("xyxyxyxy"), "b": ["no", "yes"] * 4}
    )
    released = frame.rr.privatize({"a": YES_NO, "b": YES_NO})
    renamed = released.rename(columns={"a": "other"})
    refused(MetadataError, "column 'other' may hold reports", rr.crosstab, renamed, "other", "b")
    found = ReportFrame.of(renamed).joint(["other", "b"], {"other": YES_NO})
    assert [one.private for one in found] == [True, True]
    direct = ReportFrame.of(renamed).joint(["other"], {"other": rr.surveys.direct(["no", "yes"])})
    assert direct[0].private
    kept = ReportFrame.of(released[["region", "b"]]).joint(["region", "b"])
    assert [one.private for one in kept] == [False, True]


def test_ordinary_columns_in_other_containers():
    """Dates stay dates, Arrow is read as pandas reads it, and what hides values is refused."""
    dates = np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="M8[ns]")
    assert ordinary(dates).categories == tuple(pd.to_datetime(["2020-01-01", "2021-01-01"]))
    assert ordinary(np.ma.array([1, 2], mask=[True, False])).codes().tolist() == [1, 0]
    for given in ({"a", "b"}, {"a": 1}):
        refused(ArgumentTypeError, "must be values", ordinary, given)
    refused(ArgumentTypeError, "hashable values", ordinary, pd.Series([[1], [2]]))
    pa = pytest.importorskip("pyarrow")
    found = ordinary(pa.array(["south", None, "north"]))
    assert (found.categories, found.codes().tolist()) == (("north", "south"), [1, 2, 0])


CALLS = {
    "tallies": lambda frame: frame.rr.tally(["a", "b", "c"]),
    "estimates": lambda frame: frame.rr.estimate(["a", "b", "c"], by="region"),
    "a table": lambda frame: frame.rr.crosstab("a", "b", "region", weights="x"),
    "correlations": lambda frame: rr.correlations(frame, "a", "b", "c", values={"a": [0, 1]}),
    "means": lambda frame: frame.rr.means("x", "a"),
    "quantiles": lambda frame: frame.rr.quantiles("x", "a"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_parses_each_record_of_its_frame_once(call, monkeypatch):
    """However many columns a call reads, the three records of the frame are parsed once."""
    answers = {name: ["no", "yes"] * 20 for name in "abc"}
    frame = pd.DataFrame(answers | {"region": list("xxyy") * 10, "x": np.linspace(1, 2, 40)})
    released = frame.rr.simulate(dict.fromkeys("abc", YES_NO), seed=1)
    parsed, parse = [], ColumnRecord._of_document.__func__

    def counted(cls, document, known):
        record = parse(cls, document, known)
        parsed.append(record.name)
        return record

    monkeypatch.setattr(ColumnRecord, "_of_document", classmethod(counted))
    call(released)
    assert ["a", "b", "c"] == sorted(parsed)


def test_a_frame_of_columns_has_no_metadata_that_pandas_copies_to_each():
    """pandas copies attrs deeply for every column that is taken: 100 columns copy 100 records."""
    frame = pd.DataFrame({"a": ["no", "yes"] * 4, "b": ["no", "yes"] * 4})
    released = frame.rr.privatize({"a": YES_NO, "b": YES_NO})
    opened = ReportFrame.of(released)
    assert ({}, ["a", "b"]) == (opened.table.attrs, list(opened.records))
    assert {} == opened.column("a").attrs
    assert "rrstats" in released.attrs


def test_reports_of_a_frame_are_no_groups_weights_or_strata_of_it():
    """The frame's records tell, and the error names the argument."""
    frame = pd.DataFrame({"a": [0, 1] * 4, "b": [0, 1] * 4})
    released = frame.rr.privatize({"a": rr.KRR([0, 1], 0.75), "b": rr.KRR([0, 1], 0.75)})
    refused(ArgumentValueError, "by must be ordinary", released.rr.tally, "a", by="b")
    refused(ArgumentValueError, "weights must be ordinary", released.rr.tally, "a", weights="b")
    design = rr.SampleDesign(strata="b")
    refused(ArgumentValueError, "strata must be ordinary", released.rr.tally, "a", design=design)
    refused(ArgumentValueError, "strata must be", released.rr.crosstab, "a", design=design)
