"""Maximum and profile likelihood, against closed forms, brute force and other software."""

import itertools
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import chance
import numpy as np
import pytest
from scipy import special, stats

import rrstats as rr
from rrstats.errors import ArgumentValueError, ConvergenceWarning
from rrstats.estimation.tallies import arrays
from rrstats.inference import binomial as intervals
from rrstats.inference import multinomial as likelihood
from rrstats.inference.multinomial import log_likelihood, most_likely, profile_ends
from rrstats.mechanisms.channel import KRRChannel

CHI2 = stats.chi2.ppf(0.95, 1)

THREE = np.array([[0.70, 0.10, 0.25], [0.20, 0.80, 0.15], [0.10, 0.10, 0.60]])
FOUR = np.array([[0.60, 0.05, 0.10], [0.20, 0.70, 0.15], [0.15, 0.05, 0.50], [0.05, 0.20, 0.25]])
CARDS = np.stack([stats.binom.pmf(np.arange(5), 4, p) for p in (0.8, 0.3)], axis=1)
# Rows: yes, no in the first sample, yes, no in the second.  Classes: carriers who say yes,
# carriers who say no, the others, who say yes with probability 0.8 or 0.2.
LIE_DETECTOR = np.array([[1, 0, 0.8], [0, 1, 0.2], [1, 0, 0.2], [0, 1, 0.8]])
ONE, TWO = [slice(None)], [slice(0, 2), slice(2, 4)]


def profile_interval(matrix, counts, part, level=0.95):
    """Both ends of the sum of some classes, as numbers."""
    (low,), (high,) = profile_ends(np.array(matrix), counts, np.array([part], dtype=bool), level)
    return float(low), float(high)


def profile_intervals(matrix, counts, shows, k):
    """Both ends of each of k categories, from the category that each class shows."""
    return profile_ends(matrix, counts, np.asarray(shows) == np.arange(k)[:, None], 0.95)


def profile_deviance(matrix, counts, part, values):
    """The deviance of "the classes of this part have this sum", at each of some values."""
    values, counts = np.atleast_1d(values).astype(float), np.asarray(counts, dtype=float)
    b, best = len(values), most_likely(matrix, counts)
    shows = np.tile(np.array(part, dtype=bool), (b, 1))
    given = np.tile(counts, (b, 1)), np.tile(best, (b, 1))
    return likelihood._deviance(np.asarray(matrix), *given, in_sum=shows, total=values)[0]


def krr(k, prob):
    matrix = np.full((k, k), (1 - prob) / (k - 1))
    np.fill_diagonal(matrix, prob)
    return matrix


def slope(matrix, counts, shares):
    """(c,) the gradient of the log-likelihood, divided by n."""
    distribution = np.asarray(matrix) @ shares
    ratio = np.divide(
        counts, distribution, out=np.zeros(len(distribution)), where=np.asarray(counts) > 0
    )
    return ratio @ matrix / np.sum(counts)


def assert_likeliest(matrix, counts, shares):
    """Inside the simplex, and by concavity no other shares are likelier (KKT)."""
    assert (shares >= 0).all()
    assert 1 == pytest.approx(shares.sum(), abs=1e-12)
    gain = slope(matrix, counts, shares)
    assert gain.max() <= 1 + 1e-9
    assert np.abs(gain[shares > 0] - 1).max() <= 1e-9


def random_case(seed):
    """A matrix of one of several kinds, and counts that need not come from it."""
    rng = np.random.default_rng(seed)
    m, c = rng.integers(2, 41), rng.integers(2, 21)
    kind = rng.choice(["sparse", "generic", "nearly alike", "wild", "alike classes", "k-RR"])
    concentration = {"sparse": 0.05, "nearly alike": 1e5}.get(kind, 1.0)
    matrix = rng.dirichlet(np.full(m, concentration), size=c).T
    if kind == "wild":
        matrix = np.exp(15 * rng.normal(size=(m, c)))
        matrix /= matrix.sum(axis=0)
    if kind == "alike classes":
        matrix[:, 0] = matrix[:, -1]
    if kind == "k-RR":
        m, matrix = c, krr(c, rng.choice([1 / c + 1e-6, 0.3, 0.9, 1 - 1e-9]))
    n = rng.choice([1, 3, 20, 500, 100_000, 10**9])
    distribution = matrix @ rng.dirichlet(np.full(c, rng.choice([0.1, 1.0])))
    if rng.random() < 0.5:
        distribution = rng.dirichlet(np.ones(m))
    counts = rng.multinomial(n, distribution / distribution.sum()) * (matrix.sum(axis=1) > 0)
    return matrix, counts


# -- the maximum ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_likelier(seed):
    """Generic, sparse, singular and nearly singular designs: the maximum meets its conditions."""
    for case in range(40):
        matrix, counts = random_case(1000 * seed + case)
        if counts.any():
            assert_likeliest(matrix, counts, most_likely(matrix, counts))


@pytest.mark.parametrize("k", [2, 3, 7, 40])
def test_krr_has_its_closed_form(k):
    """For k-RR the maximum is the closed form, at any counts, also with many zeros."""
    rng = np.random.default_rng(k)
    for prob in (Fraction(2 * k + 3, 3 * k + 3), Fraction(9, 10)):
        channel = KRRChannel.of(k, prob)
        for spread in (0.1, 1.0, 100.0):
            counts = rng.multinomial(200, rng.dirichlet(np.full(k, spread)))
            expected = arrays.most_likely(channel, counts)
            found = most_likely(channel.matrix, counts)
            assert np.allclose(expected, found, rtol=0, atol=1e-10)
            assert np.array_equal(expected == 0, found == 0)


@pytest.mark.parametrize("k", [2, 3, 7, 40])
def test_krr_below_1_over_k_has_its_closed_form(k):
    """The truth is reported less often than any other answer; probability 0 too."""
    rng = np.random.default_rng(k)
    for prob in (Fraction(0), Fraction(1, 2 * k), Fraction(9, 10 * k)):
        channel = KRRChannel.of(k, prob)
        for spread in (0.1, 1.0, 100.0):
            counts = rng.multinomial(200, rng.dirichlet(np.full(k, spread)))
            found = arrays.most_likely(channel, counts)
            assert_likeliest(channel.matrix, counts, found)
            if counts.all():  # otherwise there are several maxima
                best = most_likely(channel.matrix, counts)
                assert np.allclose(best, found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [3, 10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_likeliest_proportions_of_many_categories(k):
    """They meet the conditions of a maximum, and need memory of k, not of k^2 (75 GiB at 100,000).

    With c / (q + (p - q) f) equal to t where f > 0, and at most t elsewhere.
    """
    m, rng = rr.KRR(range(k), 0.5), np.random.default_rng(1)
    counts = rng.multinomial(10 * k, rng.dirichlet(np.full(k, 0.3)) * 0.5 + 0.5 / k)
    estimate = rr.estimators.Estimate(rr.Tally.from_counts(counts, m))
    tracemalloc.start()
    found = estimate.mle().proportions
    value = estimate.moments.log_likelihood()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 * k + 100_000
    assert found.min() >= 0
    assert 1 == pytest.approx(found.sum(), abs=1e-12)
    rates = float(m.channel.prob_other) + m.channel.gap * found
    slopes = counts / rates
    assert slopes.max() == pytest.approx(slopes[found > 0].min(), rel=1e-12)
    logs = special.xlogy(counts, rates) - special.gammaln(counts + 1)
    assert logs.sum() + special.gammaln(counts.sum() + 1) == pytest.approx(value, rel=1e-12)


def test_linear_solution_inside_is_the_maximum():
    """Where the unbiased estimate is inside the simplex it is the maximum, to the last digits."""
    shares = np.array([0.2, 0.5, 0.3])
    assert np.allclose(shares, most_likely(THREE, 1000 * THREE @ shares), rtol=0, atol=1e-15)
    stacked = most_likely(LIE_DETECTOR, 100 * LIE_DETECTOR @ shares)
    assert np.allclose(shares, stacked, rtol=0, atol=1e-12)


def test_unidentified_classes_share_in_one_way():
    """Alike classes have no single maximum: always the same one is given."""
    matrix, counts = np.hstack([THREE, THREE]), [30, 50, 20]
    found = most_likely(matrix, counts)
    assert np.array_equal(found, most_likely(matrix, counts))
    assert_likeliest(matrix, counts, found)
    assert np.allclose(most_likely(THREE, counts), found[:3] + found[3:], rtol=0, atol=1e-7)
    assert [0.25] * 4 == most_likely(np.eye(4), np.zeros(4)).tolist()


def test_rare_reports_are_kept():
    """One report among a billion keeps its share of a billionth; none has exactly none."""
    expected = np.array([10**9 - 3, 1, 2, 0]) / 10**9
    assert np.allclose(expected, most_likely(np.eye(4), expected * 10**9), rtol=1e-9, atol=0)


def test_a_failed_polish_is_not_taken(monkeypatch):
    """Exact zeros are taken only where they are as likely; else the point from the inside."""
    monkeypatch.setattr(likelihood, "_settle", lambda matrix, rates, near: np.eye(3)[0])
    counts = [5, 90, 2]
    assert most_likely(THREE, counts).max() < 1
    assert slope(THREE, counts, most_likely(THREE, counts)).max() <= 1 + 1e-12


def test_impossible_reports_are_refused():
    """A report that no class makes is named as such, for likelihoods and profiles."""
    for call in (most_likely, lambda *given: profile_interval(*given, [1, 0])):
        with pytest.raises(ArgumentValueError, match="reports that this design never makes"):
            call([[0.5, 0.25], [0.5, 0.75], [0, 0]], [40, 60, 1])


# -- its value -----------------------------------------------------------------------------


def test_log_likelihood_is_a_log_probability():
    """Binomial for two reports, multinomial for more, a product for several samples."""
    forced = [[0.75, 0.25], [0.25, 0.75]]
    for share, yes in itertools.product((0.0, 0.3, 1.0, -0.1), (0, 7, 20)):
        expected = stats.binom.logpmf(yes, 20, 0.25 + share / 2)
        assert expected == pytest.approx(
            log_likelihood(forced, [yes, 20 - yes], [share, 1 - share]), rel=1e-11
        )
    shares, counts = np.array([0.2, 0.5, 0.3]), np.array([30, 20, 7, 43])
    expected = stats.multinomial.logpmf(counts, 100, FOUR @ shares)
    assert expected == pytest.approx(log_likelihood(FOUR, counts, shares), rel=1e-11)
    distribution = LIE_DETECTOR @ shares
    expected = stats.binom.logpmf(30, 50, distribution[0]) + stats.binom.logpmf(
        7, 50, distribution[2]
    )
    found = log_likelihood(LIE_DETECTOR, [30, 20, 7, 43], shares, np.array([0, 0, 1, 1]))
    assert expected == pytest.approx(found, rel=1e-11)


def test_log_likelihood_of_the_impossible():
    """Minus infinity where the shares exclude a report that came."""
    assert -np.inf == log_likelihood(np.eye(2), [3, 1], [1.0, 0.0])
    assert 0.0 == log_likelihood(np.eye(2), [3, 0], [1.0, 0.0])
    assert -np.inf == log_likelihood([[0.75, 0.25], [0.25, 0.75]], [3, 0], [1.6, -0.6])


# -- a part of the shares ------------------------------------------------------------------


@pytest.mark.parametrize(("base", "top"), [(0.25, 0.75), (0.1, 0.5), (0.9, 0.3), (0.0, 0.6)])
def test_two_by_two_is_the_bounded_likelihood_interval(base, top):
    """For binary designs the interval is that of the bounded binomial rate, carried."""
    matrix = [[top, base], [1 - top, 1 - base]]
    for yes in (0, 1, 5, 12, 20, 33, 40):
        floor, ceiling = min(base, top), max(base, top)
        rates = intervals.likelihood_rates(yes, 40, lowest=floor, highest=ceiling)
        found = profile_interval(matrix, [yes, 40 - yes], [1, 0])
        expected = intervals.carry(rates, base, top)
        assert (float(expected.low), float(expected.high)) == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize(
    ("matrix", "counts", "part"),
    [
        (THREE, [30, 40, 30], (0, 1, 0)),
        (THREE, [60, 3, 2], (1, 0, 0)),
        (FOUR, [5, 1, 20, 9], (1, 0, 1)),
        (LIE_DETECTOR, [20, 30, 12, 38], (1, 1, 0)),
        (LIE_DETECTOR, [44, 6, 2, 48], (0, 1, 0)),
    ],
)
def test_profile_matches_a_grid(matrix, counts, part):
    """The deviance and the ends agree with the best of all shares on a fine grid."""
    steps, part, counts = np.linspace(0, 1, 1001), np.array(part), np.array(counts)
    best = counts @ np.log(matrix @ most_likely(matrix, counts))
    pair = part.sum() == 2  # the two classes of one side, and the one of the other
    (first, second), alone = np.flatnonzero(part == pair), np.flatnonzero(part != pair)
    for t in (0.05, 0.3, 0.62, 0.9):
        both = t if pair else 1 - t
        shares = np.zeros((len(steps), 3))
        shares[:, first], shares[:, second] = both * steps, both * (1 - steps)
        shares[:, alone] = 1 - both
        values = np.log(shares @ matrix.T) @ counts
        (found,) = profile_deviance(matrix, counts, part, t)
        brute = 2 * (best - values.max())
        assert found <= brute + 1e-9
        assert brute == pytest.approx(found, rel=1e-3, abs=1e-3)
    for end in profile_interval(matrix, counts, part):
        if 0 < end < 1:
            assert CHI2 == pytest.approx(profile_deviance(matrix, counts, part, end)[0], 1e-7)
        else:
            assert profile_deviance(matrix, counts, part, end) <= CHI2


@pytest.mark.parametrize("seed", range(3))
def test_intervals_end_where_the_ratio_says(seed):
    """Any design: inside [0, 1], around the likeliest share, ends on the quantile or the edge."""
    for case in range(12):
        matrix, counts = random_case(50_000 + 100 * seed + case)
        if not counts.any() or counts.sum() > 10**6 or matrix.shape[1] > 12:
            continue
        rng = np.random.default_rng(case)
        k = int(rng.integers(2, matrix.shape[1] + 1))
        shows = rng.integers(0, k, matrix.shape[1])
        low, high = profile_intervals(matrix, counts, shows, k)
        likely = np.bincount(shows, most_likely(matrix, counts), minlength=k)
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= likely + 1e-12).all()
        assert (likely <= high + 1e-12).all()
        for category, inward in itertools.product(range(k), (1, -1)):
            part = shows == category
            if not part.any() or part.all():
                continue
            end = low[category] if inward == 1 else high[category]
            around = np.clip(end + np.array([-1, 0, 1]) * 1e-9 * inward, 0, 1)
            outer, at, inner = profile_deviance(matrix, counts, part, around)
            assert inner <= CHI2 * (1 + 1e-6)
            assert at <= CHI2 * (1 + 1e-6) or inner < CHI2 < outer
            assert around[0] in (0, 1) or outer >= CHI2 * (1 - 1e-6)


@pytest.mark.parametrize("matrix", [THREE, FOUR, krr(3, 0.6)])
def test_the_slope_of_the_deviance_is_its_derivative(matrix):
    """By differences of the deviance on both sides, above and below the best."""
    counts = np.array([30.0, 45.0, 25.0, 12.0])[: len(matrix)]
    best = most_likely(matrix, counts)
    part = np.array([True, False, False])
    totals = best[0] + np.array([-0.08, -0.03, 0.04, 0.1])
    rows = np.tile(counts, (4, 1)), np.tile(best, (4, 1))
    in_sum = np.tile(part, (4, 1))

    def deviance(totals):
        return likelihood._deviance(matrix, *rows, in_sum=in_sum, total=totals)

    step = 1e-4
    rise = deviance(totals + step)[0] - deviance(totals - step)[0]
    assert deviance(totals)[1] == pytest.approx(rise / (2 * step), rel=1e-3)


def test_a_report_that_nobody_gave_may_be_impossible():
    """Direct answers, all the same: that everybody has this category costs nothing."""
    value = profile_deviance(np.eye(2), [10, 0], [True, False], [1.0, 0.0])
    assert value == pytest.approx([0.0, np.inf], abs=1e-9)


def test_parts_and_their_complements_mirror():
    """The interval of some classes is one minus that of the others; merged classes add."""
    low, high = profile_interval(FOUR, [30, 40, 20, 10], [1, 0, 1])
    other_low, other_high = profile_interval(FOUR, [30, 40, 20, 10], [0, 1, 0])
    assert (1 - other_high, 1 - other_low) == pytest.approx((low, high), abs=1e-12)
    lows, highs = profile_intervals(FOUR, [30, 40, 20, 10], [0, 1, 0], 2)
    assert (low, high) == pytest.approx((lows[0], highs[0]), abs=1e-12)


def test_intervals_without_information():
    """No reports or no distinction: everything is possible; no classes: nothing is."""
    assert (0.0, 1.0) == profile_interval(THREE, [0, 0, 0], [1, 0, 0])
    assert (0.0, 1.0) == profile_interval([[0.5, 0.5], [0.5, 0.5]], [70, 30], [1, 0])
    assert (1.0, 1.0) == profile_interval(THREE, [3, 4, 5], [1, 1, 1])
    assert (0.0, 0.0) == profile_interval(THREE, [3, 4, 5], [0, 0, 0])
    low, high = profile_intervals(THREE, [3, 4, 5], [0, 2, 2], 4)
    assert [0.0, 0.0] == [low[1], high[1]] == [low[3], high[3]]
    assert np.inf == profile_deviance(np.eye(2), [3, 4], [1, 0], 0.0)


def test_problems_in_parts_are_the_same(monkeypatch):
    """How many ends are sought at once changes none of them."""
    counts, shows = [30, 40, 0, 10], [0, 1, 2]
    expected = profile_intervals(FOUR, counts, shows, 3)
    for entries in (1, 30, 48):
        monkeypatch.setattr(likelihood, "_BATCH_ENTRIES", entries)
        assert np.allclose(expected, profile_intervals(FOUR, counts, shows, 3), rtol=0, atol=1e-9)


# -- coverage ------------------------------------------------------------------------------


CORNERS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.01, 0.01, 0.98), (0, 0.5, 0.5)]
INSIDE = [(1 / 3, 1 / 3, 1 / 3), (0.2, 0.5, 0.3)]


def deviances(matrix, counts, part, share):
    """(b,) the deviance of the true share for many samples at once."""
    counts = counts.astype(float)
    everyone = np.ones((len(counts), matrix.shape[1]), dtype=bool)
    rates = counts / counts.sum(axis=1, keepdims=True)
    best = likelihood._climb(matrix, rates, everyone, np.ones(len(counts)))
    part = np.broadcast_to(part, everyone.shape)
    given = {"in_sum": part, "total": np.full(len(counts), share)}
    return likelihood._deviance(matrix, counts, best, **given)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "samples", "part", "worlds", "n", "covers"),
    [
        (THREE, ONE, (1, 0, 0), CORNERS + INSIDE, 50, 0.94),
        (THREE, ONE, (0, 0, 1), CORNERS + INSIDE, 200, 0.94),
        (FOUR, ONE, (0, 0, 1), CORNERS + INSIDE, 200, 0.94),
        (CARDS, ONE, (1, 0), [(0, 1), (0.05, 0.95), (0.2, 0.8), (1, 0)], 50, 0.94),
        (CARDS, ONE, (1, 0), [(0, 1), (0.05, 0.95), (0.2, 0.8), (1, 0)], 1000, 0.94),
        (LIE_DETECTOR, TWO, (1, 1, 0), CORNERS + INSIDE, 200, 0.925),
        (LIE_DETECTOR, TWO, (0, 1, 0), CORNERS + INSIDE, 200, 0.94),
    ],
    ids=["3x3, 50", "3x3, 200", "4x3", "Kuk, 50", "Kuk, 1000", "carriers", "liars"],
)
def test_profile_intervals_cover(matrix, samples, part, worlds, n, covers):
    """The true share is covered as often as `profile_interval` says, corners included.

    An interval that covers this often or more fails once in 1e9 (all worlds together); one that
    covers less by 0.065 anywhere escapes once in 1e9 (exact binomial, 4000 samples a world).
    """
    rng = np.random.default_rng(20)
    for shares in worlds:
        distribution = matrix @ np.array(shares, dtype=float)
        drawn = [
            rng.multinomial(n // len(samples), distribution[s] / distribution[s].sum(), 4000)
            for s in samples
        ]
        share = min(1.0, float(np.dot(part, shares)))
        found = deviances(matrix, np.concatenate(drawn, axis=1), np.array(part, bool), share)
        hits = int((found <= CHI2 + 1e-9).sum())
        chance.assert_at_least(hits, len(found), covers, tests=len(worlds))


# -- bounds of the loops -----------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 3])
def test_a_climb_that_is_stopped_is_inside_the_simplex(steps, monkeypatch):
    """The interior-point method ends at its bound, and what it has is polished all the same."""
    monkeypatch.setattr(likelihood, "_INTERIOR", replace(likelihood._INTERIOR, steps=steps))
    found = most_likely(FOUR, [30, 40, 20, 10])
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    low, high = profile_intervals(FOUR, [30, 40, 20, 10], [0, 1, 2], 3)
    assert ((0 <= low) & (low <= high) & (high <= 1)).all()


def test_a_table_that_is_not_reached_says_so(monkeypatch):
    """EM ends at its bound with a warning that bounds what the log-likelihood may miss."""
    monkeypatch.setattr(likelihood, "_EM", likelihood._ExpectationMaximization(steps=3))
    monkeypatch.setattr(likelihood, "_MAX_KRONECKER_ENTRIES", 1)
    with pytest.warns(ConvergenceWarning, match=r"not reached in 3 steps: .* may miss"):
        found = likelihood.most_likely_table(
            [krr(3, 0.6)] * 2, np.array([[9, 1, 0], [0, 5, 0], [2, 2, 8]])
        )
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0


def test_a_fit_that_is_stopped_keeps_every_rate_positive(monkeypatch):
    """Fisher scoring ends at its bound, on the way up."""
    matrix, counts = krr(3, 0.8), np.array([70.0, 25.0, 5.0])

    def model(x):
        return matrix @ np.append(x, 1 - x.sum()), matrix[:, :2] - matrix[:, 2:]

    values = []
    for steps in (0, 1, 200):
        monkeypatch.setattr(likelihood, "_SCORING", replace(likelihood._SCORING, steps=steps))
        rates, _ = model(likelihood.fit_rates(model, counts, np.full(3, 100.0), np.full(2, 1 / 3)))
        assert (rates > 0).all()
        values.append(counts @ np.log(rates))
    assert values[0] < values[1] <= values[2]
