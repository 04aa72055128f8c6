"""What people see of an estimate: tables, sentences, pictures."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.estimation.estimates.estimated_number import EstimatedNumber

COLUMNS = ["category", "n", "reported", "naive", "proportion", "std_error", "low", "high"]
COLUMNS += ["count", "count_low", "count_high"]

# Counts of published examples, and corners, that no true shares explain are wanted here.
pytestmark = pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")


def estimate(counts, prob=0.75, categories=None, **options):
    mechanism = rr.KRR(categories or [f"c{i}" for i in range(len(counts))], prob)
    return rr.estimate(rr.Tally.from_counts(counts, mechanism), **options)


@pytest.fixture
def health():
    """Self-rated health of 20,190 person-years, as reports of 4-RR with prob 3/4."""
    counts, categories = [7_914, 6_704, 3_054, 2_518], ["excellent", "good", "fair", "poor"]
    return estimate(counts, categories=categories, target="sample")


# -- the frame -----------------------------------------------------------------------------


def test_the_frame_has_the_documented_columns_and_types(health):
    """Names in order; whole numbers for people, doubles for what is estimated."""
    frame = health.to_frame()
    assert COLUMNS == list(frame.columns)
    assert pd.RangeIndex(4).equals(frame.index)
    kinds = {name: frame[name].dtype.kind for name in COLUMNS[1:]}
    assert {name: "i" if name in ("n", "reported") else "f" for name in COLUMNS[1:]} == kinds
    assert ["excellent", "good", "fair", "poor"] == frame["category"].tolist()
    assert [20_190] * 4 == frame["n"].tolist()
    assert [7_914, 6_704, 3_054, 2_518] == frame["reported"].tolist()


def test_the_category_column_keeps_what_categories_are():
    """They are not turned into text; any label has its row, and a missing one is missing there."""
    for categories, kind in (([3, 1], "i"), ([True, False], "b"), ([0.5, 1.5], "f")):
        frame = estimate([30, 20], categories=categories).to_frame()
        assert kind == frame["category"].dtype.kind
        assert categories == frame["category"].tolist()
    frame = estimate([30, 20, 10], categories=[("a", 1), ("b", 2), None]).to_frame()
    assert ("a", 1) == frame["category"][0]
    assert frame["category"].isna().tolist() == [False, False, True]


def test_the_frame_holds_what_the_estimate_says(health):
    """Each column is the property of that name; counts are about the rows for both targets."""
    for est in (health, replace(health, target="population")):
        frame = est.to_frame(0.9)
        low, high = est.interval(0.9)
        count_low, count_high = est.count_interval(0.9)
        values = (est.naive, est.proportions, est.std_error, low, high)
        values += (est.counts, count_low, count_high)
        for name, values_of_it in zip(COLUMNS[3:], values, strict=True):
            assert values_of_it.tolist() == frame[name].tolist(), name
    rows, population = health.to_frame(), replace(health, target="population").to_frame()
    assert rows["count_low"].tolist() == population["count_low"].tolist()
    assert (rows["low"] * 20_190).tolist() == rows["count_low"].tolist()
    assert (population["high"] - population["low"] > rows["high"] - rows["low"]).all()


def test_the_frame_passes_method_and_simultaneous_on():
    """Options reach the intervals."""
    est = estimate([500, 300, 200])
    plain, wald = est.to_frame(), est.to_frame(method="wald")
    together = est.to_frame(simultaneous=True)
    assert est.interval(method="wald").low.tolist() == wald["low"].tolist()
    assert (together["low"] < plain["low"]).all()
    assert (together["count_high"] > plain["count_high"]).all()


def test_one_category_by_name(health):
    """est["poor"] is the row of the frame, with plain Python numbers."""
    for est in (health, replace(health, target="population")):
        row, poor = est.to_frame().iloc[3].to_dict(), est["poor"]
        assert isinstance(poor, EstimatedNumber)
        assert row["proportion"] == poor.value
        for name in ("std_error", "low", "high"):
            assert row[name] == getattr(poor, name), name
            assert type(getattr(poor, name)) is float
        assert tuple(est.to_frame(0.8).loc[3, ["low", "high"]]) == poor.interval(0.8)


def test_lookup_knows_missing_and_types():
    """A missing value, however written, finds the missing category; 1 never finds True."""
    est = estimate([30, 20, 10], categories=[True, False, None])
    assert est.proportions[2] == est[None].value == est[math.nan].value == est[pd.NA].value
    assert est.proportions[0] == est[np.True_].value
    with pytest.raises(rr.errors.RRStatsError, match="not among the categories"):
        est[1]
    with pytest.raises(TypeError, match="not iterable"):
        list(est)


# -- text and HTML -------------------------------------------------------------------------


def test_the_repr_is_a_table(health):
    """Target, n and one line a category."""
    lines = repr(health).splitlines()
    assert "Estimate: target=sample, n=20,190" == lines[0]
    assert ["category", "proportion", "low", "high"] == lines[1].split()[:4]
    assert 2 + 4 + 1 == len(lines)
    assert ["poor", "0.0621", "0.0561", "0.0681"] == lines[-2].split()[:4]
    assert all(len(line) <= 80 for line in lines)


def test_the_html_is_escaped():
    """A label that is markup is shown, not run: in the table and in the sentence."""
    label = "<script>alert(1)</script>"
    html = estimate([200, 700, 100], categories=["a & b", label, None])._repr_html_()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;")
    assert "a &amp; b" in html
    assert "(no answer)" in html
    assert html.startswith("<table")
    assert html.endswith("1,000 reports</p>")


def test_the_html_reads_the_last_category(health):
    """One table, one sentence."""
    html = health._repr_html_()
    assert 4 + 1 == html.count("<tr")
    assert f"<p>{health.interpret('poor')}</p>" in html
    assert "there are no reports" in estimate([0, 0])._repr_html_()


# -- sentences -----------------------------------------------------------------------------


NO_YES = ["no", "yes"]
HEALTH = [7_914, 6_704, 3_054, 2_518], 0.75, ["excellent", "good", "fair", "poor"]

READINGS = {
    "rows": (
        *HEALTH, "poor", "sample",
        "about 6.2% poor, 95% interval 5.6% to 6.8%, of these 20,190 rows$",
    ),
    "a population": (
        *HEALTH, ..., "population",
        "about 6.2% poor, 95% interval 5.5% to 6.9%, of the population behind these 20,190 report",
    ),
    "further below 0 than noise goes": (
        [9_750, 250], 0.9, NO_YES, "yes", "population",
        "about -.* .noise does not explain it: were these reports made by this mechanism",
    ),
    "a negative share": (
        [904, 96], 0.9, NO_YES, "yes", "population",
        "about 0.0% yes .the unbiased estimate is -0.5%: noise around a proportion near 0%., "
        "95% interval 0.0% to 2.0%, of the population behind these 1,000 reports$",
    ),
    "a share above one": (
        [904, 96], 0.9, NO_YES, "no", "population",
        "about 100.0% no .the unbiased estimate is 100.5%: noise around a proportion near 100%.,"
        ".* to 100.0%, of",
    ),
    "no reports": (
        [0, 0], 0.75, NO_YES, ..., "population",
        "yes cannot be estimated: there are no reports$",
    ),
    "one report": (
        [0, 1], 0.75, NO_YES, ..., "population",
        ".*too wide to be useful, of the population behind this 1 report$",
    ),
    "one row": ([0, 1], 0.75, NO_YES, ..., "sample", ".*of this 1 row$"),
    "nothing but rounding": ([6, 14], 0.7, ["y", "n"], "y", "population", "about 0.0% y, 95% int"),
    "a wide interval": (
        [3, 3], 0.55, NO_YES, ..., "population",
        ".*interval 0.0% to 100.0%, too wide to be useful, of",
    ),
    "noise alone": (
        [5116, 4936, 5167, 4971], 0.2519, ["a", "b", "c", "d"], "c", "population",
        "c cannot be estimated: the estimate, .*%, is only noise; 95% ",
    ),
    "no answer": (
        [200, 500, 300], 0.75, [None, *NO_YES], None, "population", "about 12.0% .no answer., "
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READINGS)
def test_reading(name):
    """The share, its interval and of whom; what lies outside or says nothing is called so."""
    counts, prob, categories, category, target, words = READINGS[name]
    assert re.match(words, estimate(counts, prob, categories, target=target).interpret(category))


def test_reading_with_another_level(health):
    """The level is written as given, never rounded to 100%."""
    for level, shown in ((0.99, "99%"), (0.999999, "99.9999%"), (0.57, "57%")):
        assert f", {shown} interval " in health.interpret("poor", level=level)


def test_reading_rounds_its_interval_to_what_it_tells():
    """A narrow interval keeps two digits of its width; its ends are the nearest, as in tables."""
    counts = [1001] * 1000
    counts[:2] = [1900, 10**7 - 1900 - 998 * 1001]
    est = rr.estimate(rr.Tally.from_counts(counts, rr.KRR(range(1000), 0.9)))
    assert f"95% interval {est[0].low:.4%} to {est[0].high:.4%}, of" in est.interpret(0)
    assert "0.0091% to 0.0110%" in est.interpret(0)


def test_missing_reports_are_shown_where_the_rows_are():
    """A notebook and a sentence say of how many rows with a report they speak."""
    m = rr.KRR(["no", "yes"], 0.75)
    est = rr.estimate(["yes"] * 300 + ["no"] * 400 + [None] * 300, m, target="sample")
    assert "target sample, n 700, missing 300" in est._repr_html_()
    assert "n=700, missing=300" in repr(est)
    assert est.interpret().endswith("of these 700 rows that have a report")


def test_reading_of_a_missing_category():
    """None, however written, names who did not answer, and without a category the last is read."""
    est = estimate([200, 500, 300], 0.75, categories=[None, "no", "yes"])
    assert est.interpret(math.nan) == est.interpret(None) != est.interpret()
    assert est.interpret() == est.interpret("yes")
    with pytest.raises(rr.errors.RRStatsError, match="None is not among the categories"):
        estimate([5, 5]).interpret(None)


# -- tables inside the simplex -------------------------------------------------------------


@pytest.mark.parametrize("table", ["mle", "project"])
def test_a_table_inside_the_simplex_has_no_error_and_says_why(table):
    """Variance, standard error, covariance and interval are refused with the reason."""
    est = estimate([700, 250, 50])
    found = getattr(est, table)()
    for name in ("variance", "std_error", "covariance", "interval"):
        with pytest.raises(AttributeError, match=f"have no {name}, because the constraint makes"):
            getattr(found, name)
    with pytest.raises(AttributeError, match="no attribute 'median'"):
        _ = found.median
    frame = found.to_frame()
    assert ["category", "proportion", "count"] == list(frame.columns)
    assert 1000 == pytest.approx(frame["count"].sum(), abs=1e-9)
    assert repr(found).startswith("ConstrainedProportions: method=")
    assert "c0" in repr(found)
