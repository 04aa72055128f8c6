"""Columns for analysis: private and ordinary ones, read as cells, scores and likelihoods."""

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.estimation.report_columns import joint_columns, ordinary, report_column

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
    truths = [mechanism.domain.categories[row % mechanism.domain.k] for row in range(rows)]
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
    est = rr.Estimate(rr.tally(reports, mechanism, group=group))
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
    found = joint_columns(released, ["a", "b", "c"], {"b": YES_NO})
    assert [one.private for one in found] == [True, True, False]
    refused(
        MetadataError, "prob", joint_columns, released, ["a"], {"a": rr.KRR(["no", "yes"], 0.9)}
    )
    with pytest.raises(ArgumentValueError, match=r"mechanisms must be of the columns asked for"):
        joint_columns(released, ["a"], {"b": YES_NO})


def test_a_renamed_or_merged_column_of_reports_is_not_taken_as_truth():
    """Where a privatized column is gone, one with only its reports may be it."""
    frame = pd.DataFrame(
        {"a": ["no", "yes"] * 4, "region": list("xyxyxyxy"), "b": ["no", "yes"] * 4}
    )
    released = frame.rr.privatize({"a": YES_NO, "b": YES_NO})
    renamed = released.rename(columns={"a": "other"})
    refused(MetadataError, "column 'other' may hold reports", rr.crosstab, renamed, "other", "b")
    found = joint_columns(renamed, ["other", "b"], {"other": YES_NO})
    assert [one.private for one in found] == [True, True]
    direct = joint_columns(renamed, ["other"], {"other": rr.surveys.direct(["no", "yes"])})
    assert direct[0].private
    kept = joint_columns(released[["region", "b"]], ["region", "b"])
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
