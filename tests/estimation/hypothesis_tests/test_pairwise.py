"""Several groups compared, and p-values adjusted for the number of tests."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import rrstats as rr
from rrstats.errors import ArgumentValueError
from rrstats.inference.multiplicity import adjusted_p_values

pytest.importorskip("hypothesis")
from hypothesis import given  # after importorskip
from hypothesis import strategies as st  # after importorskip

P = [0.01, 0.02, 0.03, 0.04, 0.05]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("bonferroni", [0.05, 0.10, 0.15, 0.20, 0.25]),  # 5 p
        ("holm", [0.05, 0.08, 0.09, 0.09, 0.09]),  # 5 p1, 4 p2, 3 p3, then never less
        ("benjamini-hochberg", [0.05] * 5),  # 5/1 p1 = ... = 5/5 p5
        ("benjamini-yekutieli", [0.05 * 137 / 60] * 5),  # 1 + 1/2 + ... + 1/5 = 137/60
    ],
)
def test_adjusted_p_values_by_hand(correction, expected):
    """As R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05)), in any order, with tests by name."""
    order = [3, 0, 4, 1, 2]
    adjusted = rr.hypotheses.adjust([P[place] for place in order], correction)
    assert_allclose(adjusted, np.array(expected)[order])
    named = rr.hypotheses.adjust({f"test {p}": p for p in P}, correction)
    assert_allclose(named["test 0.02"], expected[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_false_discovery_rates_are_those_of_scipy(p_values):
    """Corrections of false discovery rates agree with scipy; Holm's are at most Bonferroni's."""
    p = np.array(p_values)
    for name, method in (("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")):
        expected = scipy.stats.false_discovery_control(p, method=method)
        assert_allclose(adjusted_p_values(p, name), expected, rtol=1e-12, atol=1e-300)
    holm = adjusted_p_values(p, "holm")
    assert (holm <= adjusted_p_values(p, "bonferroni")).all()
    assert (holm >= p).all()


def test_what_is_no_test_is_not_counted():
    """NaN stays NaN, and others are adjusted for the number of tests that there are."""
    adjusted = rr.hypotheses.adjust([0.02, np.nan, 0.5], "bonferroni")
    assert_allclose(adjusted, [0.04, np.nan, 1.0])
    assert np.isnan(rr.hypotheses.adjust([np.nan])).all()


def regions(k=2):
    """Estimates of four groups with different proportions."""
    generator = np.random.default_rng(5)
    region = np.repeat(["north", "south", "east", "west"], 300)
    mechanism = rr.KRR(["a", "b", "c"][:k], 0.8)
    truth = np.where(generator.random(1200) < 0.2 + 0.1 * (region == "west"), "b", "a")
    frame = pd.DataFrame({"x": truth, "region": region})
    reports = rr.simulate(frame["x"], mechanism, seed=1)
    return rr.estimate(reports, mechanism, by=frame["region"])


@pytest.mark.parametrize("k", [2, 3])
def test_pairs_are_differences_adjusted_together(k):
    """Each row is the difference of two groups; p-values of all rows are adjusted together."""
    groups = regions(k)
    table = groups.pairwise(correction="benjamini-hochberg").to_frame(0.9)
    assert len(table) == 6 * (1 if k == 2 else 3)
    row = table[(table["first"] == "north") & (table["second"] == "west")].iloc[-1]
    alone = rr.difference(groups["north"], groups["west"])
    assert row["category"] == alone.categories[-1]
    assert row["p_value"] == alone.p_value[-1]
    assert row["low"] == alone.interval(0.9).low[-1]
    expected = scipy.stats.false_discovery_control(table["p_value"])
    assert_allclose(table["p_adjusted"], expected)


def test_the_table_says_what_remains():
    """It prints each pair, and its sentence counts and names the significant ones."""
    reports = ["yes"] * 80 + ["no"] * 120 + ["yes"] * 60 + ["no"] * 140 + ["yes"] * 55
    region = ["north"] * 200 + ["south"] * 200 + ["west"] * 200
    groups = rr.estimate(reports + ["no"] * 145, ["no", "yes"], 0.9, by=region)
    table = groups.pairwise()
    assert repr(table).startswith("Pairwise differences: pairs=3, correction=holm\n")
    assert table.interpret() == (
        "of 3 differences, 1 significant at 5% after the correction (holm): "
        "north minus west +15.6 points of yes"
    )
    assert "none is significant at 1%" in table.interpret(0.99)


def test_the_picture_has_a_row_for_each_pair():
    """Rows name both groups, and the category where there are several."""
    pytest.importorskip("matplotlib")
    for k, row in ((2, "north minus west"), (3, "north minus west: c")):
        axes = regions(k).pairwise().plot()
        assert row in [text.get_text() for text in axes.get_yticklabels()]


def test_a_reference_is_compared_with_the_others():
    """With a reference there are as many pairs as other groups."""
    table = regions().pairwise("west").to_frame()
    assert table["first"].tolist() == ["east", "north", "south"]
    assert set(table["second"]) == {"west"}


def test_groups_by_several_columns_have_tuples():
    """Groups of two columns are named by tuples."""
    reports = ["no", "yes"] * 40
    by = [np.repeat(["a", "b"], 40), np.tile(np.repeat(["u", "v"], 20), 2)]
    groups = rr.estimate(reports, ["no", "yes"], 0.9, by=by)
    table = groups.pairwise(("a", "u")).to_frame()
    assert table["first"].tolist() == [("a", "v"), ("b", "u"), ("b", "v")]


def test_wrong_comparisons_are_refused():
    """A group that is not there, one group, an unknown correction and wrong p-values."""
    groups = regions()
    alone = rr.estimate(["no", "yes"], ["no", "yes"], 0.9, by=["a", "a"])
    for call, words in (
        (lambda: groups.pairwise("centre"), "reference must be one of the 4 groups"),
        (lambda: groups.pairwise(correction="bh"), "correction must be one of"),
        (lambda: alone.pairwise(), "groups must be at least 2"),
        (lambda: rr.hypotheses.adjust([0.1, 1.2]), r"p-values in \[0, 1\]"),
    ):
        with pytest.raises(ArgumentValueError, match=words):
            call()
