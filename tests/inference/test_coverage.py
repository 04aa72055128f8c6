"""How often intervals hold the truth: enumerated exactly wherever that can be done.

The grid: n in {50, 200, 1000, 10000}, true share in {0, .01, .05, .2, .5}, prob in {.6, .75, .9},
k in {2, 4, 10}.  Coverage is a sum of probabilities of counts, from SciPy's distributions, not
from ours.
"""

import itertools
import math

import numpy as np
import pytest
from chance import tables
from scipy import stats

from rrstats.estimators import confidence_interval
from rrstats.inference import binomial as intervals
from rrstats.inference.binomial import METHODS
from rrstats.inference.contrasts import Interval, mover_difference

SIZES = (50, 200, 1000, 10_000)
SHARES = (0.0, 0.01, 0.05, 0.2, 0.5)
DESIGNS = [(k, prob, (1 - prob) / (k - 1)) for k in (2, 4, 10) for prob in (0.6, 0.75, 0.9)]

# The lowest coverage of each method on the grid, as computed when the interval was written;
# the docstrings of `intervals` quote them.
LOWEST = {"wilson": 0.9216, "agresti-coull": 0.9351, "blaker": 0.95, "wald": 0.4278}
LOWEST |= {"likelihood-ratio": 0.9226}


def population_coverage(method="clopper-pearson", sizes=SIZES):
    """The exact coverage of every cell of the grid, the lowest first."""
    cells = []
    for n in sizes:
        x = np.arange(n + 1)
        for k, prob, other in DESIGNS:
            low, high = intervals.population_interval(x, n, other, prob, method=method)
            for share in SHARES:
                covered = (low <= share) & (share <= high)
                mass = stats.binom.pmf(x, n, other + share * (prob - other))
                cells.append((float(mass[covered].sum()), n, k, prob, share))
    return sorted(cells)


def rows_probability(first, last, ones, n, base, top):
    """P(first <= C <= last) for C = Bin(ones, top) + Bin(n - ones, base), from SciPy."""
    spread = 9 * math.sqrt(ones * top * (1 - top)) + 30
    i = np.arange(
        max(0, math.floor(ones * top - spread)), min(ones, math.ceil(ones * top + spread)) + 1
    )
    rest = n - ones
    inside = stats.binom.cdf(last - i, rest, base) - stats.binom.cdf(first - 1 - i, rest, base)
    return float(stats.binom.pmf(i, ones, top) @ inside)


def rows_coverage(ones, n, base, top):
    """The exact coverage of the interval for the share ones / n in the rows at hand.

    The limits rise with the count (asserted for all counts in a test below), so the counts
    that hold the share reach from one edge to another, and bisection finds both.
    """

    def holds(x, low_side):
        low, high = intervals.rows_interval(x, n, base, top)
        return round(float(high) * n) >= ones if low_side else round(float(low) * n) <= ones

    def edge(accept):
        """The first count of 0 .. n+1 for which a rule that stays true holds."""
        below, at_most = -1, n + 1
        while at_most - below > 1:
            middle = (below + at_most) // 2
            below, at_most = (below, middle) if accept(middle) else (middle, at_most)
        return at_most

    first = edge(lambda x: x > n or holds(x, low_side=True))
    last = edge(lambda x: x > n or not holds(x, low_side=False)) - 1
    return rows_probability(first, last, ones, n, base, top)


# -- one category, the population ----------------------------------------------------------


def test_default_covers_the_population_share_everywhere():
    """Clopper-Pearson, carried, cut and repaired: never below 95% in 180 cells."""
    lowest = population_coverage()[0]
    assert lowest[0] >= 0.95, lowest


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99, 0.999999])
def test_default_covers_at_other_levels(level):
    """Never below the level asked for, on the smaller sizes of the grid."""
    for n, (_, prob, other) in itertools.product((50, 200), DESIGNS):
        x = np.arange(n + 1)
        low, high = intervals.population_interval(x, n, other, prob, level=level)
        for share in SHARES:
            mass = stats.binom.pmf(x, n, other + share * (prob - other))
            assert mass[(low <= share) & (share <= high)].sum() >= level - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("method", LOWEST)
def test_other_methods_cover_as_documented(method):
    """Each method's lowest coverage on the grid is the published one: 92.2% for Wilson, 93.5%
    for Agresti-Coull, 95.0% for Blaker, 92.3% for the likelihood ratio, 42.8% for Wald.

    Blaker without n = 10,000, for speed.
    """
    found = population_coverage(method, SIZES[:3] if method == "blaker" else SIZES)
    assert LOWEST[method] == pytest.approx(found[0][0], abs=1e-4), found[0]


def naive_wald(x, n, level):
    """A fault: the spread of answers that nobody randomized, put around the reported rate."""
    share = np.clip((x / n - 0.25) / 0.5, 0, 1)
    half = stats.norm.isf((1 - level) / 2) * np.sqrt(share * (1 - share) / n) * 0.5
    return Interval(x / n - half, x / n + half)


def one_tail(x, n, level):
    """A fault: all of 1 - level spent in either tail."""
    return METHODS["blaker"](x, n, level)._replace(
        low=intervals.clopper_pearson_rates(x, n, 2 * level - 1).low,
        high=intervals.clopper_pearson_rates(x, n, 2 * level - 1).high,
    )


@pytest.mark.parametrize(("fault", "at_most"), [(naive_wald, 0.10), (one_tail, 0.92)])
def test_coverage_catches_a_fault(monkeypatch, fault, at_most):
    """Forgetting the randomization, or not halving 1 - level, falls far below 95%."""
    monkeypatch.setitem(METHODS, "clopper-pearson", fault)
    assert population_coverage(sizes=(200,))[0][0] < at_most


# -- one category, these rows --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_default_covers_the_share_of_the_rows_everywhere(n):
    """The true answers fixed, only the noise random: never below 95%, in 45 cells a size."""
    for (k, prob, other), share in itertools.product(DESIGNS, SHARES):
        found = rows_coverage(round(share * n), n, other, prob)
        assert found >= 0.95, (n, k, prob, share)


@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_default_covers_every_number_of_few_rows(n):
    """Every true number from none to all of few rows, and every count of reports."""
    x = np.arange(n + 1)
    for k, prob, other in DESIGNS:
        low, high = intervals.rows_interval(x, n, other, prob)
        for ones in range(n + 1):
            distribution = np.convolve(
                stats.binom.pmf(np.arange(ones + 1), ones, prob),
                stats.binom.pmf(np.arange(n - ones + 1), n - ones, other),
            )
            covered = (np.round(low * n) <= ones) & (ones <= np.round(high * n))
            assert distribution[covered].sum() >= 0.95, (k, prob, ones)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
def test_limits_for_rows_rise_with_the_count(n):
    """More reports never lower a limit, also where the repair outside [0, 1] begins."""
    for _, prob, other in DESIGNS:
        low, high = intervals.rows_interval(np.arange(n + 1), n, other, prob)
        assert min(np.diff(low).min(), np.diff(high).min()) >= 0


def test_coverage_of_rows_catches_a_fault(monkeypatch):
    """Not halving 1 - level falls to about 90%."""
    right = intervals._Rows.fewest

    def fault(rows, x, level):
        return right(rows, x, 2 * level - 1)

    monkeypatch.setattr(intervals._Rows, "fewest", fault)
    assert rows_coverage(50, 200, 0.25, 0.75) < 0.94


@pytest.mark.slow
@pytest.mark.parametrize(("k", "prob"), [(2, 0.6), (10, 0.75), (1000, 0.75), (10_000, 0.9)])
@pytest.mark.parametrize("share", [0.0, 0.0001, 0.05, 0.5])
def test_beyond_the_exact_distribution_the_score_interval_covers(k, prob, share):
    """Above EXACT_ROWS rows, with its correction: at least 95%, also for very rare reports."""
    n = intervals.EXACT_ROWS + 1
    assert rows_coverage(round(share * n), n, (1 - prob) / (k - 1), prob) >= 0.95


def test_exact_and_score_intervals_meet(monkeypatch):
    """At 20,190 rows both ways agree to 1% of the width, so the change of method is smooth."""
    reported = np.array([2_500, 7_000, 12_000])
    exact = intervals.rows_interval(reported, 20_190, 0.25 / 3, 0.75)
    monkeypatch.setattr(intervals, "EXACT_ROWS", 100)
    score = intervals.rows_interval(reported, 20_190, 0.25 / 3, 0.75)
    width = exact.high - exact.low
    assert np.abs(exact.low - score.low).max() < 0.01 * width.min()
    assert np.abs(exact.high - score.high).max() < 0.01 * width.min()


# -- all categories together ---------------------------------------------------------------


def joint_coverage(n, k, prob, shares, simultaneous=True):
    """The exact probability that all k intervals hold."""
    reported = tables(n, k)
    low, high = confidence_interval(reported, prob, n=n, k=k, simultaneous=simultaneous)
    covered = ((low <= np.add(shares, 1e-12)) & (np.subtract(shares, 1e-12) <= high)).all(axis=1)
    rates = (1 - prob) / (k - 1) + np.asarray(shares) * (prob - (1 - prob) / (k - 1))
    return float(stats.multinomial.pmf(reported[covered], n, rates).sum())


@pytest.mark.parametrize("prob", [0.6, 0.9])
@pytest.mark.parametrize(
    "shares", [(1, 0, 0), (0.5, 0.5, 0), (0.9, 0.05, 0.05), (1 / 3, 1 / 3, 1 / 3)]
)
@pytest.mark.parametrize("n", [10, 40])
def test_simultaneous_intervals_all_hold(n, prob, shares):
    """k = 3: all three hold together at least 95% of the time, enumerated."""
    assert joint_coverage(n, 3, prob, shares) >= 0.95


def test_for_two_categories_both_statements_are_one():
    """k = 2 needs no correction: the intervals mirror each other, and so hold together."""
    plain = confidence_interval([30, 70], 0.75)
    both = confidence_interval([30, 70], 0.75, simultaneous=True)
    assert plain.low.tolist() == both.low.tolist()
    assert both.low == pytest.approx(1 - both.high[::-1], abs=1e-12)
    assert joint_coverage(60, 2, 0.75, (0.2, 0.8)) >= 0.95


def test_intervals_without_correction_are_caught():
    """A fault: three plain 95% intervals, which hold together 89.4% of the time."""
    assert joint_coverage(40, 3, 0.6, (1 / 3, 1 / 3, 1 / 3), simultaneous=False) < 0.90


# -- differences ---------------------------------------------------------------------------


def difference_coverage(rates_of=intervals.wilson_rates):
    """The exact coverage of the difference of two groups, n in {50, 200}, the lowest first."""
    cells = []
    for (n, m), (k, prob, other) in itertools.product(
        itertools.product((50, 200), repeat=2), DESIGNS
    ):
        x, y, gap = np.arange(n + 1), np.arange(m + 1), prob - other
        one = intervals.carry(rates_of(x, n), other, prob)
        two = intervals.carry(rates_of(y, m), other, prob)
        low, high = mover_difference(
            ((x / n - other) / gap)[:, None],
            Interval(one.low[:, None], one.high[:, None]),
            (y / m - other) / gap,
            two,
        )
        distributions = [
            [stats.binom.pmf(counts, size, other + share * gap) for share in SHARES]
            for counts, size in ((x, n), (y, m))
        ]
        for (a, first), (b, second) in itertools.product(
            zip(SHARES, distributions[0], strict=True), zip(SHARES, distributions[1], strict=True)
        ):
            covered = (low <= a - b) & (a - b <= high)
            cells.append((float(first @ covered @ second), n, m, k, prob, a, b))
    return sorted(cells)


def test_difference_covers_as_documented():
    """MOVER with Wilson's limits: lowest 94.3% in 900 cells, mean 95.4%, none below 94%."""
    cells = difference_coverage()
    assert 0.9431 == pytest.approx(cells[0][0], abs=1e-4), cells[0]
    assert 0.9543 == pytest.approx(np.mean([cell[0] for cell in cells]), abs=1e-4)


def test_difference_of_narrower_parts_is_caught():
    """A fault: parts at 80% instead of 95% fall far below."""
    cells = difference_coverage(lambda x, n: intervals.wilson_rates(x, n, 0.8))
    assert cells[0][0] < 0.85
