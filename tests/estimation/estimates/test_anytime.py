"""Intervals that hold at every look: exact misses, widths, and what is refused."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy

import rrstats as rr
from rrstats.inference.binomial import anytime_interval


@functools.cache
def every_look(looks, rates):
    """The 80% intervals of all counts at looks 1, 2, ...; ends of each look in one array."""
    n = np.repeat(np.arange(1, looks + 1), np.arange(2, looks + 2))
    counts = np.concatenate([np.arange(size + 1) for size in range(1, looks + 1)])
    ends = np.array(anytime_interval(counts, n, *rates, level=0.8))
    return np.split(ends, np.cumsum(np.arange(2, looks + 1)), axis=1)


@pytest.mark.parametrize("proportion", [0.0, 0.02, 0.3, 0.5])
@pytest.mark.parametrize("rates", [(0.25, 0.75), (1 / 6, 11 / 12), (0.9, 0.2)])
def test_the_true_proportion_is_ever_missed_with_probability_below_alpha(proportion, rates):
    """Exact: the probability of a miss at any of 150 looks, by recursion over the counts."""
    q, p = rates
    rate = q + (p - q) * proportion
    inside = np.array([1.0])  # of counts 0 .. n, over paths that were never missed
    for low, high in every_look(150, rates):
        inside = np.append(inside * (1 - rate), 0.0) + np.append(0.0, inside * rate)
        inside[(proportion < low - 1e-12) | (proportion > high + 1e-12)] = 0.0
    assert 0.01 < 1 - inside.sum() <= 0.2


def test_the_bound_is_the_ratio_of_the_mixture_to_the_likelihood():
    """Against a numerical integral over rates; at both ends the ratio is 1 / alpha."""
    x, n, q, p = 70, 200, 0.2, 0.7
    total = 0.45 * 0.55 / (0.25 / 12) - 1
    weight = scipy.stats.beta(0.45 * total, 0.55 * total)
    assert [0.45, 0.25 / 12] == pytest.approx(weight.stats("mv"))
    rates = (np.arange(200_000) + 0.5) / 200_000
    mixture = np.mean(scipy.stats.binom.pmf(x, n, rates) * weight.pdf(rates))
    for end in anytime_interval(x, n, q, p, level=0.9):
        at_end = scipy.stats.binom.pmf(x, n, q + (p - q) * end)
        assert 10 == pytest.approx(mixture / at_end, rel=1e-6)


@pytest.mark.parametrize(("n", "most"), [(1000, 0.12), (10_000, 0.041), (100_000, 0.014)])
def test_widths_at_epsilon_1(n, most):
    """Half the width at most .12, .041, .014, whatever the true proportion."""
    mechanism = rr.KRR(["no", "yes"], epsilon=1)
    rates = np.linspace(1 - mechanism.prob, mechanism.prob, 41)
    for yes in (n * rates).astype(int).tolist():
        estimate = rr.estimate(rr.Tally.from_counts([n - yes, yes], mechanism))
        low, high = estimate.interval(anytime=True)
        share = estimate.proportions
        inner = (low > 0) & (high < 1)
        assert (np.maximum(high - share, share - low)[inner] <= most).all()
        assert [1, 1] == pytest.approx((low + high[::-1]).tolist())
        plain_low, plain_high = estimate.interval()
        assert (low <= plain_low).all()
        assert (plain_high <= high).all()


def test_no_reports_say_nothing_and_impossible_ones_end_at_the_edge():
    """Without reports the interval is [0, 1]; counts that no truth explains give an end."""
    assert (0, 1) == tuple(anytime_interval(0, 0, 0.25, 0.75))
    assert (0, 0) == tuple(anytime_interval(0, 1000, 0.25, 0.75))
    assert (1, 1) == tuple(anytime_interval(1000, 1000, 0.25, 0.75))


def test_anytime_is_refused_where_no_such_interval_is_known():
    """Each refusal names its reason."""
    reports = ["a", "b"] * 20
    two = rr.KRR(["a", "b"], 0.8)
    cases = {
        "two categories and two reports, found 3 categories": rr.estimate(
            list("abc"), rr.KRR(list("abc"), 0.8)
        ),
        "without weights": rr.estimate(reports, two, weights=[1, 2] * 20),
        "target must be 'population'": rr.estimate(reports, two, target="sample"),
    }
    for reason, estimate in cases.items():
        with pytest.raises(rr.errors.RRStatsError, match=f"^anytime=True .*{reason}"):
            estimate.interval(anytime=True)
    with pytest.raises(rr.errors.RRStatsError, match=r"^anytime=True .*takes no method"):
        rr.estimate(reports, two).interval(anytime=True, method="wilson")
    with pytest.raises(TypeError, match="anytime must be True or False"):
        rr.estimate(reports, two).interval(anytime=1)


def test_reports_of_several_probs_have_no_binomial_count():
    """Their estimate has rates of a mean channel, but the count of a report is not binomial.

    With prob 0.6 and 0.9 by row an interval by these rates is about another proportion.
    """
    reports = ["a", "b"] * 20
    by_row = rr.estimate(reports, ["a", "b"], prob=[0.6, 0.9] * 20)
    plan = rr.planning.FramePlan({"x": ["a", "b"], "y": [0, 1]}, 1, ["x", ("x", "y")])
    frame = pd.DataFrame({"x": reports, "y": [0, 1] * 20})
    of_parts = rr.estimate(rr.simulate(frame, plan, seed=1), columns="x")
    for estimate in (by_row, of_parts):
        with pytest.raises(rr.errors.ArgumentValueError, match=r"^anytime=True .*reports of"):
            estimate.interval(anytime=True)


@pytest.mark.slow
def test_misses_of_many_looks_are_rarer_than_5_percent():
    """1,000 surveys of 100,000 reports, looked at 300 times each: 5% are ever missed at most.

    A correct method fails with a chance below 1e-9, P(Bin(1000, 0.05) > 100) = 1e-10; one that
    misses 20% passes with a chance below 1e-16.  Looks without care miss more than that.
    """
    mechanism = rr.KRR(["no", "yes"], epsilon=1)
    q, p = 1 - mechanism.prob, mechanism.prob
    rng = np.random.default_rng(20261123)
    looks = np.unique(np.geomspace(1, 100_000, 300).astype(np.int64))
    for proportion in (0.05, 0.5):
        rate = q + (p - q) * proportion
        counts = np.cumsum(
            rng.binomial(np.diff(looks, prepend=0), rate, (1_000, len(looks))), axis=1
        )
        low, high = anytime_interval(counts, looks, q, p)
        missed = ((proportion < low) | (proportion > high)).any(axis=1)
        assert missed.sum() <= 100
