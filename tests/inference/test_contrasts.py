"""Ratios, differences and sums of estimates: by hand, a plain algorithm, the definition."""

import math

import numpy as np
import pytest
import scipy

from rrstats.inference import contrasts
from rrstats.inference.contrasts import (
    Interval,
    fieller,
    mean_interval,
    project_to_simplex,
    ratio_interval,
    ratio_variance,
)

Z2 = 1.959963984540054**2


def test_a_ratio_by_hand():
    """Fieller: the ends are where (top - r bottom)^2 = z^2 its variance."""
    moments = (0.0004, 0.0002, 0.0009)
    for end in fieller(0.2, 0.5, moments, Z2):
        variance = 0.0004 - 2 * end * 0.0002 + end**2 * 0.0009
        assert ratio_variance(end, moments) == pytest.approx(variance)
        assert (0.2 - end * 0.5) ** 2 == pytest.approx(Z2 * variance)


@pytest.mark.parametrize("bottom", [0.002, 0.0, -0.5])
def test_a_ratio_over_next_to_nothing_has_no_ends(bottom):
    """Where the denominator may be 0, is 0, or is estimated below 0."""
    assert (-math.inf, math.inf) == tuple(fieller(0.001, bottom, (1e-4, 5e-5, 2e-4), Z2))


def test_widening_keeps_the_noise_of_estimates_outside():
    """Ends are cut to the span; far outside it they reach inward as far as the noise."""
    assert (0.0, 0.4) == contrasts.widen_outside(0.1, 0.3, Interval(-0.2, 0.4))
    assert (0.0, 0.3) == contrasts.widen_outside(-0.5, 0.3, Interval(-0.8, -0.2))
    assert (0.25, 1.0) == contrasts.widen_outside(3.0, 0.75, Interval(2.5, 4.0))
    assert (0.0, 1.0) == contrasts.widen_outside(1.5, 0.0, Interval(1.5, 1.5))


def test_difference_works_on_arrays():
    """Exchanging the groups mirrors it; without an end of one it has none."""
    one = Interval(np.array([-0.4, 0.1]), np.array([0.3, 0.5]))
    two = Interval(np.array([0.7, 0.2]), np.array([1.6, 0.4]))
    low, high = contrasts.mover_difference([0.0, 0.3], one, [1.1, 0.3], two)
    back = contrasts.mover_difference([1.1, 0.3], two, [0.0, 0.3], one)
    assert -1.0 > low[0]
    endless = contrasts.mover_difference(0.5, Interval(-np.inf, 0.6), 0.2, Interval(0.1, 0.3))
    assert (-math.inf, 0.441421) == pytest.approx(tuple(map(float, endless)), abs=1e-6)
    assert (-high).tolist() == back.low.tolist()
    assert (-low).tolist() == back.high.tolist()


def test_student_quantiles():
    """R: qt(0.975, c(1, 5)) = 12.706205, 2.570582; endless without degrees of freedom."""
    found = contrasts.student_quantile(0.95, [1, 5, 0])
    assert [12.706205, 2.570582, math.inf] == pytest.approx(found.tolist(), abs=1e-6)


# -- empirical likelihood ----------------------------------------------------------------------

LIMIT = scipy.stats.chi2.ppf(0.95, 1)


def plain_ends(weights, counts, samples):
    """The greatest sum of means, by halving, along the path of extreme rates; for one problem.

    At a multiplier mu they are counts / (alpha - mu weights), with alpha such that each sample's
    rates sum to 1 and what is left on its best cell; the likelihood ratio grows with mu.
    """
    member = np.eye(int(samples.max()) + 1)[samples]
    tops = np.array([weights[samples == s].max() for s in range(member.shape[1])])
    gaps, best = tops[samples] - weights, counts / (counts @ member)[samples]

    def rates(mu):
        extra = np.array([np.max((counts - mu * gaps)[samples == s]) for s in range(len(tops))])
        extra = np.maximum(extra, 0.0)
        for _ in range(60):
            distribution = np.where(
                counts > 0, counts / np.maximum(extra[samples] + mu * gaps, 1e-300), 0
            )
            over = distribution @ member - 1
            fall = np.where(counts > 0, distribution**2 / np.maximum(counts, 1), 0) @ member
            before, extra = extra, extra + np.where(over > 1e-15, over / fall, 0.0)
            if (before == extra).all():
                break  # and so would be all that follow
        return distribution

    low, high = -60.0, 60.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        distribution, seen = rates(np.exp(middle)), counts > 0
        far = -2 * counts[seen] @ np.log(distribution[seen] / best[seen])
        low, high = (middle, high) if far <= LIMIT else (low, middle)
    distribution = rates(np.exp(low))
    return distribution @ weights + (1 - distribution @ member) @ tops


def problem(seed):
    """Values and counts of one to three samples, some values unseen."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, 4))
    samples = np.sort(np.append(np.repeat(np.arange(groups), 2), rng.integers(0, groups, 3)))
    values = rng.normal(size=len(samples)) * 3
    counts = rng.poisson(rng.exponential(rng.choice([1, 10, 1e4]), len(samples))).astype(float)
    counts[np.searchsorted(samples, np.arange(groups))] += 1
    return values, counts, samples


@pytest.mark.parametrize("seed", range(20))
def test_ends_of_means_are_those_of_the_plain_path(seed):
    """One sample or several, one report each or thousands, seen at the far values or not."""
    values, counts, samples = problem(seed)
    low, high = mean_interval(values[None], counts, samples)
    assert high[0] == pytest.approx(plain_ends(values, counts, samples), abs=1e-6)
    assert -low[0] == pytest.approx(plain_ends(-values, counts, samples), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_deviance_is_the_least(seed):
    """The rates found sum to 1 in each sample, to 0 in the mean, and give the deviance."""
    values, counts, samples = problem(100 + seed)
    member = contrasts._seen(counts, samples)[1]
    low, high = mean_interval(values[None], counts, samples)
    middle = (values - (0.3 * low[0] + 0.7 * high[0]) / len(member))[None]
    found, _, distribution = contrasts._deviance(middle, counts[None], member)
    assert distribution @ member.T == pytest.approx(1, abs=1e-9)
    assert (distribution * middle).sum() == pytest.approx(0, abs=1e-9)
    seen, rates = counts > 0, counts / (counts @ member.T @ member)
    logs = np.log(rates[seen] / distribution[0][seen])
    assert found[0] == pytest.approx(2 * counts[seen] @ logs, abs=1e-9 * counts.sum())


@pytest.mark.parametrize("samples", [None, np.array([0, 0, 0, 1, 1, 1])], ids=["one", "two"])
def test_ratios_end_where_the_difference_may_be_zero(samples):
    """At an end r between 0 and 1 the interval of top - r bottom ends at 0."""
    rng = np.random.default_rng(3)
    counts = np.array([40.0, 25, 30, 50, 20, 15])
    for _ in range(10):
        top, bottom = rng.uniform(0, 1, (1, 6)), rng.uniform(1, 3, (1, 6))
        for r in (end[0] for end in ratio_interval(np.stack([top, bottom]), counts, samples)):
            assert 0 < r < 1
            ends = np.ravel(mean_interval(top - r * bottom, counts, samples))
            assert np.abs(ends).min() == pytest.approx(0, abs=1e-8)


def test_a_ratio_of_next_to_nobody_may_be_anything():
    """Where the bottom may be nobody neither 0 nor 1 is refused, and the ends are these."""
    top, bottom = np.array([[2.0, -1, 0]]), np.array([[2.0, 1, -1]])
    low, high = ratio_interval(np.stack([top, bottom]), np.array([3.0, 3, 4]), None)
    assert (0.0, 1.0) == (low[0], high[0])


def test_an_estimate_outside_is_compared_with_the_best_inside():
    """Then the limit grows by the deviance of the nearest end, so that some mean is accepted."""
    values, counts = np.array([[-1.0, 0.5]]), np.array([60.0, 40.0])
    plain, bounded = (mean_interval(values, counts, None, bounded=b) for b in (False, True))
    assert plain.high[0] < 0 < bounded.high[0]
    plain, bounded = (mean_interval(-values, counts, None, bounded=b) for b in (False, True))
    assert plain == bounded


def test_projection_of_the_theory_page():
    """.5 .3 .25 .1 -.05 -.1: each less .0375, and none below 0."""
    expected = [0.46249999999999997, 0.26249999999999996, 0.21249999999999997, 0.0625, 0.0, 0.0]
    raw = np.array([0.5, 0.3, 0.25, 0.1, -0.05, -0.1])
    assert expected == pytest.approx(project_to_simplex(raw).tolist(), rel=1e-12)
    both = project_to_simplex(np.array([raw, raw[::-1]]))
    assert both[0].tolist() == both[1].tolist()[::-1]


def test_the_projection_is_the_nearest_of_the_simplex():
    """It lies in the simplex, and no point of a fine grid of the simplex is nearer."""
    grid = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20
    for raw in np.random.default_rng(1).normal(1 / 3, 0.6, (50, 3)):
        projected = project_to_simplex(raw)
        assert projected.min() >= 0
        assert projected.sum() == pytest.approx(1, abs=1e-12)
        assert (np.linalg.norm(grid - raw, axis=1) >= np.linalg.norm(projected - raw) - 1e-12).all()
    inside = np.array([0.5, 0.2, 0.3])
    assert project_to_simplex(inside) == pytest.approx(inside, abs=1e-15)


def test_intervals_of_means_begin_near_their_ends(monkeypatch):
    """Of many reports the ends are nearly Wald's: from there two or three deviances are enough."""
    calls = []
    deviance = contrasts._deviance
    monkeypatch.setattr(contrasts, "_deviance", lambda *a: calls.append(a) or deviance(*a))
    values = np.linspace(-2, 3, 40)[None]
    counts = np.random.default_rng(2).poisson(2500, 40).astype(float)
    low, high = contrasts.mean_interval(values, counts, None)
    assert len(calls) <= 3
    mean = values[0] @ counts / counts.sum()
    error = np.sqrt((values[0] - mean) ** 2 @ counts) / counts.sum()
    assert [mean - 1.96 * error, mean + 1.96 * error] == pytest.approx([low[0], high[0]], abs=1e-4)
