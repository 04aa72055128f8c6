"""Intervals of a rate and of the share behind it, against other software and brute force."""

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import special, stats

from rrstats.inference import binomial as intervals
from rrstats.inference.binomial import METHODS

# (x, n, low, high) at 95%, each set with the call that printed it and its stated tolerance.
REPORTED = {
    # R 4.2.2 stats: binom.test(x, n)$conf.int
    "clopper-pearson": (
        1e-12,
        [
            (50, 50, 0.9288782635358024, 1.0),
            (1, 50, 0.0005062279830408293, 0.10646954571149991),
            (412, 1000, 0.3812915143086221, 0.4432281114624895),
            (5200, 10000, 0.5101533947198647, 0.5298349514860567),
            (3, 10, 0.0667395111777345, 0.6524528500599973),
            (0, 10, 0.0, 0.30849710781876083),
        ],
    ),
    # R 4.2.2 stats: prop.test(x, n, correct = FALSE)$conf.int
    "wilson": (
        1e-12,
        [
            (20, 50, 0.27608389730256544, 0.5381856225241064),
            (0, 50, 0.0, 0.07134759913335868),
            (50, 50, 0.9286524008666414, 1.0),
            (1, 50, 0.0035392592716462297, 0.10495443589637811),
            (49, 50, 0.895045564103622, 0.9964607407283539),
            (31, 200, 0.11139636927689314, 0.21160690592342077),
            (412, 1000, 0.3818873112799578, 0.4427861982134999),
            (5200, 10000, 0.5102022203240657, 0.5297824197411073),
            (0, 10, 0.0, 0.27753279986288915),
        ],
    ),
    # binom 1.1-1.1: binom.confint(x, n, methods = "agresti-coull")
    "agresti-coull": (
        1e-10,
        [
            (0, 50, -0.013868521444598061, 0.08521612057795676),
            (50, 50, 0.9147838794220434, 1.0138685214445982),
            (49, 50, 0.8852516954499162, 1.0062546093820597),
            (31, 200, 0.11098418923876766, 0.2120190859615463),
            (412, 1000, 0.3818854562977837, 0.44278805319567405),
            (3, 10, 0.10333841792242532, 0.6076747020227304),
            (0, 10, -0.04335450588765652, 0.3208873057505457),
        ],
    ),
    # exactci 1.4-5: binom.exact(x, n, tsmethod = "blaker", control = binomControl(tol = 1e-9))
    "blaker": (
        1e-7,
        [
            (20, 50, 0.26565421, 0.54066674),
            (0, 50, 0.0, 0.0641646),
            (412, 1000, 0.38138856, 0.44294725),
            (3, 10, 0.08726443, 0.61941066),
            (0, 10, 0.0, 0.28293471),
        ],
    ),
    # binom 1.1-1.1: binom.confint(x, n, methods = "lrt"), whose root search stops early
    "likelihood-ratio": (
        5e-5,
        [
            (20, 50, 0.27173364682622786, 0.5382758250117947),
            (50, 50, 0.9623136697403694, 1.0),
            (1, 50, 0.0011683819567106933, 0.0851068069041464),
            (49, 50, 0.9148931930958536, 0.9988316180432893),
            (5200, 10000, 0.510204665161646, 0.5297849191933366),
            (3, 10, 0.08458544702141194, 0.6065389296631333),
            (0, 10, 0.0, 0.17475344215901434),
        ],
    ),
    # binom 1.1-1.1: binom.confint(x, n, methods = "asymptotic")
    "wald": (
        1e-10,
        [
            (50, 50, 1.0, 1.0),
            (1, 50, -0.018805307081790967, 0.058805307081790964),
            (31, 200, 0.10484349149709417, 0.20515650850290584),
            (3, 10, 0.01597423491067468, 0.5840257650893252),
            (0, 10, 0.0, 0.0),
        ],
    ),
}

# epiR 2.0.94: epi.prev(pos, tested, se = top, sp = 1 - base, method, conf.level = 0.95)
# (name, method, x, n, base, top, low and high of the share, not cut)
PREVALENCE = [
    ("warner .7", "c-p", 412, 1000, 0.3, 0.7, 0.2032287857715554, 0.3580702786562235),
    ("warner .7", "wilson", 412, 1000, 0.3, 0.7, 0.2047182781998947, 0.35696549553374984),
    ("warner .7", "blaker", 412, 1000, 0.3, 0.7, 0.2032287857715554, 0.3575702786562241),
    ("warner .75", "c-p", 61, 200, 0.25, 0.75, -0.01596112595281851, 0.24773560906754),
    ("warner .75", "wilson", 61, 200, 0.25, 0.75, -0.009271687385299376, 0.2439710419595671),
    ("warner .6", "c-p", 22, 50, 0.4, 0.6, -0.5004638953622821, 0.9372793852916341),
    ("warner .6", "wilson", 22, 50, 0.4, 0.6, -0.4418900394371418, 0.8846985989171576),
    ("warner .9", "c-p", 1300, 10000, 0.1, 0.9, 0.029333769660344622, 0.04593659881894391),
    ("warner .9", "wilson", 1300, 10000, 0.1, 0.9, 0.029437984354931113, 0.04591721413794464),
    ("forced", "wilson", 831, 2435, 1 / 6, 5 / 6, 0.23405605253772285, 0.2905132892674314),
    ("forced", "blaker", 831, 2435, 1 / 6, 5 / 6, 0.23365372086922462, 0.2905893839936046),
    ("crosswise", "blaker", 112, 310, 0.25, 0.75, 0.11811306389187326, 0.3350069545435188),
    ("triangular", "c-p", 290, 1000, 1 / 6, 1.0, 0.11443445805393677, 0.1830561881421692),
    ("triangular", "wilson", 290, 1000, 1 / 6, 1.0, 0.11526644199271495, 0.18266224428400474),
    ("triangular", "blaker", 290, 1000, 1 / 6, 1.0, 0.11467445805393675, 0.18269618814216926),
    ("mangat", "wilson", 450, 1000, 0.3, 1.0, 0.1705934058204241, 0.2585247025346552),
    ("kuk", "c-p", 340, 1000, 0.2, 0.6, 0.27661830625242917, 0.42574555125581903),
    ("kuk", "blaker", 340, 1000, 0.2, 0.6, 0.27686830625242914, 0.4247455512558197),
    ("unrelated", "c-p", 164, 710, 1 / 24, 13 / 24, 0.31756982075047846, 0.44421499917189955),
    ("unrelated", "blaker", 164, 710, 1 / 24, 13 / 24, 0.31856982075047835, 0.44421499917189955),
    ("4-RR", "wilson", 410, 1000, 0.4 / 3, 0.6, 0.5283941235272944, 0.6587961976028478),
    ("10-RR", "c-p", 250, 10000, 0.25 / 9, 0.75, -0.007959891356995904, 0.0006564179189706847),
    ("10-RR", "wilson", 250, 10000, 0.25 / 9, 0.75, -0.007837222420043057, 0.000650020276856148),
]

GRID = [(k, prob) for k in (2, 4, 10) for prob in (0.6, 0.75, 0.9)]


def other(prob, k):
    return (1 - prob) / (k - 1)


def ends(interval):
    return float(interval.low), float(interval.high)


# -- other software ------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_reported_rates_are_those_of_r(method):
    """Every method gives the limits that R's packages print, within what they promise."""
    tolerance, cases = REPORTED[method]
    for x, n, low, high in cases:
        found = METHODS[method](x, n, 0.95)
        assert (low, high) == pytest.approx(ends(found), abs=tolerance), (x, n)


@pytest.mark.parametrize(("name", "method", "x", "n", "base", "top", "low", "high"), PREVALENCE)
def test_carried_limits_are_those_of_epir(name, method, x, n, base, top, low, high):
    """Limits carried through known error rates are epiR's; nothing is cut.

    epiR walks to Blaker's limits from Clopper-Pearson's in steps of 1e-4, so it is up to two
    steps too wide there, never narrower; exactci and brute force (below) side with us.
    """
    rates = METHODS["clopper-pearson" if method == "c-p" else method](x, n, 0.95)
    found = intervals.carry(rates, base, top)
    if method == "blaker":
        step = 2e-4 / (top - base)
        assert low - 1e-12 <= found.low <= low + step
        assert high - step <= found.high <= high + 1e-12
    else:
        assert (low, high) == pytest.approx(ends(found), abs=1e-10)


def test_wald_of_the_theory_page():
    """fhat +- z sqrt(s(1-s)/n) / (p-q) at c = 312, n = 1000, p = .75 (own script, NumPy)."""
    found = intervals.population_interval(312, 1000, 0.25, 0.75, method="wald")
    assert (0.06656857359894608, 0.18143142640105392) == pytest.approx(ends(found), rel=1e-12)


def test_simultaneous_wilson_of_the_theory_page():
    """Four Wilson intervals at 1 - .05/4 each, carried through 4-RR of .7, not cut."""
    rates = METHODS["wilson"]([412, 288, 180, 120], 1000, 1 - 0.05 / 4)
    low, high = intervals.carry(rates, 0.1, 0.7)
    assert [0.4563112029214006, 0.2560576893061574, 0.08611394960280863, -0.005565808823608867] == (
        pytest.approx(low.tolist(), rel=1e-10)
    )
    assert [0.585507421106739, 0.3749902079737549, 0.18716589534800224, 0.08008562470269677] == (
        pytest.approx(high.tolist(), rel=1e-10)
    )


@pytest.mark.parametrize(
    ("method", "coverage"),
    [
        ("wald", 0.5549588895565587),
        ("wilson", 0.9517188914376657),
        ("clopper-pearson", 0.9907693116040875),
    ],
)
def test_coverage_at_share_zero_of_the_theory_page(method, coverage):
    """Exact coverage at share 0 for n = 200, k = 100, epsilon = 5 (own script, binomial sums)."""
    e, n = np.exp(5), 200
    base, top = 1 / (e + 99), e / (e + 99)
    x = np.arange(n + 1)
    low, high = intervals.carry(METHODS[method](x, n, 0.95), base, top)
    covered = (low <= 0) & (high >= 0)
    assert coverage == pytest.approx(stats.binom.pmf(x, n, base)[covered].sum(), rel=1e-9)


# -- properties of the methods -------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_population_interval_works_on_arrays_of_any_shape(method):
    """Rates of each category and leading axes broadcast; equal cells give equal intervals."""
    reported = np.array([[[0, 3, 17]], [[40, 99, 17]]])
    base, top = np.array([0.1, 0.2, 0.1]), np.array([0.8, 0.6, 0.8])
    low, high = intervals.population_interval(reported, 120, base, top, level=0.9, method=method)
    assert (2, 1, 3) == low.shape == high.shape
    assert low[0, 0, 2] == low[1, 0, 2]
    for place in np.ndindex(reported.shape):
        alone = intervals.population_interval(
            reported[place], 120, base[place[2]], top[place[2]], level=0.9, method=method
        )
        assert (float(alone.low), float(alone.high)) == (low[place], high[place])


@pytest.mark.parametrize("method", METHODS)
def test_no_reports_say_nothing(method):
    """n = 0 gives [0, 1], among other sizes too, and no warning."""
    low, high = METHODS[method]([0, 2], [0, 10], 0.95)
    assert (0.0, 1.0) == pytest.approx((low[0], high[0]), abs=1e-15)
    low, high = intervals.population_interval([0, 2], [0, 10], 0.25, 0.75, method=method)
    assert (0.0, 1.0) == (low[0], high[0])
    low, high = intervals.rows_interval([0, 0], 0, 0.25, 0.75)
    assert ([0.0, 0.0], [1.0, 1.0]) == (low.tolist(), high.tolist())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_methods_are_symmetric_monotone_and_hold_the_observed_rate(method, level, n):
    """Counting the other answer mirrors the interval; more reports move it up; x/n is inside."""
    x = np.arange(n + 1)
    low, high = METHODS[method](x, n, level)
    assert (low <= x / n).all()
    assert (x / n <= high).all()
    assert low == pytest.approx(1 - high[::-1], abs=1e-12)
    steps = np.diff(low), np.diff(high)
    if method != "wald":  # whose half width shrinks faster than the rate moves
        assert min(steps[0].min(), steps[1].min()) >= -1e-12
    if method not in ("wald", "agresti-coull"):
        assert (0.0, 1.0) == (low[0], high[-1])
        assert 0 <= low.min() <= high.max() <= 1


def test_wilson_ends_at_0_and_1_exactly():
    """At a count of 0 the limit is 0 and at n it is 1, to the last digit."""
    n = np.arange(1, 300)
    assert set(intervals.wilson_rates(0 * n, n).low.tolist()) == {0.0}
    assert set(intervals.wilson_rates(n, n).high.tolist()) == {1.0}


@pytest.mark.parametrize("method", METHODS)
def test_levels_are_95_percent_by_default(method):
    """Without a level each method gives its 95% interval."""
    default, named = METHODS[method](3, 10), METHODS[method](3, 10, 0.95)
    assert (float(default.low), float(default.high)) == (float(named.low), float(named.high))


def test_score_intervals_of_rows_end_where_the_variance_says():
    """Each end solves (estimate - t)^2 = z^2 / n (t members + (1 - t) others), each the worst."""
    proportions = np.array([0.2, 0.5, 0.3])
    variances = np.array([[0.9, 0.2, 0.4], [0.3, 0.7, 0.1], [0.25, 0.6, 1.1]])
    parts = np.eye(3, dtype=bool)
    ends = intervals.rows_variance_interval(proportions, 400, variances, parts, level=0.9)
    scale = stats.norm.ppf(0.95) ** 2 / 400
    members, others = np.array([0.9, 0.7, 1.1]), np.array([0.4, 0.3, 0.6])
    for t in ends:
        spread = scale * (t * members + (1 - t) * others)
        assert (proportions - t) ** 2 == pytest.approx(spread, rel=1e-9)
    assert (ends.low < proportions).all()
    assert (proportions < ends.high).all()
    nothing = intervals.rows_variance_interval(proportions, 0, variances, parts, level=0.9)
    assert (nothing.low.tolist(), nothing.high.tolist()) == ([0.0] * 3, [1.0] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_higher_levels_are_wider(method):
    """An interval of a higher level holds one of a lower level."""
    x = np.arange(41)
    found = [METHODS[method](x, 40, level) for level in (0.5, 0.8, 0.95, 0.99, 0.999999)]
    for narrow, wide in itertools.pairwise(found):
        assert (wide.low <= narrow.low + 1e-12).all()
        assert (narrow.high <= wide.high + 1e-12).all()


def test_clopper_pearson_is_exact_at_any_level_and_size():
    """At a limit the tail is half of 1 - level: to 1e-9 also at a billion reports."""
    for level in (0.5, 0.95, 0.999999):
        for x, n in ((1, 7), (6, 7), (3, 10**9), (10**9 - 3, 10**9), (412_000_000, 10**9)):
            low, high = METHODS["clopper-pearson"](x, n, level)
            tails = stats.binom.sf(x - 1, n, low), stats.binom.cdf(x, n, high)
            assert ((1 - level) / 2,) * 2 == pytest.approx(tails, rel=1e-6), (level, x, n)


@pytest.mark.parametrize("method", METHODS)
def test_a_billion_reports_give_the_normal_interval(method):
    """At n = 1e9 all methods agree with z standard errors, to a thousandth of the width."""
    n, x = 10**9, 412_000_000
    z, spread = special.ndtri(0.975), np.sqrt(0.412 * 0.588 / n)
    low, high = METHODS[method](x, n, 0.95)
    assert (-z, z) == pytest.approx(((low - 0.412) / spread, (high - 0.412) / spread), abs=1e-3)


# -- Blaker --------------------------------------------------------------------------------


def blaker_acceptability(n, rate):
    """P(min tail of X <= min tail of x) for every x, straight from the definition."""
    mass = stats.binom.pmf(np.arange(n + 1), n, rate)
    tails = np.minimum(mass.cumsum(), mass[::-1].cumsum()[::-1])
    return np.array([mass[tails <= tail * (1 + 1e-12)].sum() for tail in tails])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_blaker_is_the_hull_of_the_accepted_rates(n, level):
    """Rates that the definition accepts are inside; just inside each end one is accepted."""
    grid = np.linspace(0, 1, 2001)
    accepted = np.array([blaker_acceptability(n, rate) for rate in grid]) > 1 - level
    low, high = METHODS["blaker"](np.arange(n + 1), n, level)
    for x in range(n + 1):
        rates = grid[accepted[:, x]]
        assert low[x] - 1e-9 <= rates.min() <= low[x] + 1 / 2000
        assert high[x] - 1 / 2000 <= rates.max() <= high[x] + 1e-9


@pytest.mark.parametrize("n", [1, 9, 100, 500])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_blaker_is_inside_clopper_pearson(n, level):
    """Blaker (2000), theorem 2."""
    x = np.arange(n + 1)
    inner, outer = METHODS["blaker"](x, n, level), METHODS["clopper-pearson"](x, n, level)
    assert (outer.low <= inner.low + 1e-12).all()
    assert (inner.high <= outer.high + 1e-12).all()
    assert (inner.high - inner.low).sum() < (outer.high - outer.low).sum()


def test_blaker_of_counts_that_are_not_whole_is_inside_clopper_pearson():
    """Of weighted counts; one below 1 was searched for ever."""
    x, n = np.array([0.73, 2.19, 9.4]), np.array([10, 2.19, 10])
    inner, outer = METHODS["blaker"](x, n, 0.95), METHODS["clopper-pearson"](x, n, 0.95)
    assert (outer.low < inner.low).all()
    assert (inner.high <= outer.high).all()


# -- likelihood ----------------------------------------------------------------------------


def test_bounded_likelihood_ends_where_the_ratio_says():
    """Inside the bounds, -2 log of the likelihood against the best one there is z squared."""
    n, z2 = 80, special.ndtri(0.975) ** 2
    x = np.arange(n + 1)
    low, high = intervals.likelihood_rates(x, n, lowest=0.25, highest=0.75)
    best = np.clip(x / n, 0.25, 0.75)
    for end in (low, high):
        ratio = 2 * (stats.binom.logpmf(x, n, best) - stats.binom.logpmf(x, n, end))
        inside = (end > 0.25) & (end < 0.75)
        assert ratio[inside] == pytest.approx(z2, abs=1e-6)
        assert (ratio[~inside] <= z2 + 1e-9).all()
    assert (low < high).all()


# -- the share in the population -----------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_population_intervals_are_never_empty_reversed_or_slivers(method, n):
    """For every count, however unlikely: 0 <= low < high <= 1; Wald alone is not cut."""
    x = np.arange(n + 1)
    for k, prob in GRID:
        low, high = intervals.population_interval(x, n, other(prob, k), prob, method=method)
        assert np.isfinite([low, high]).all()
        assert (low <= high).all()
        if method != "wald":
            assert 0 <= low.min()
            assert high.max() <= 1
            # Nobody reported it: a share up to about 1/n cannot be told from none.
            assert (high - low).min() > 0.05 / n


def test_a_falling_rate_mirrors_a_rising_one():
    """Where "yes" is reported less the more there are, the interval is that of the "no"s."""
    x = np.arange(61)
    for function in (
        lambda counts, base, top: intervals.population_interval(counts, 60, base, top),
        lambda counts, base, top: intervals.rows_interval(counts, 60, base, top),
    ):
        falling, rising = function(x, 0.8, 0.3), function(60 - x, 0.2, 0.7)
        assert rising.low == pytest.approx(falling.low, abs=1e-12)
        assert rising.high == pytest.approx(falling.high, abs=1e-12)


# -- the share in the rows -----------------------------------------------------------------


def exact_distribution(ones, n, base, top):
    """The distribution of Bin(ones, top) + Bin(n - ones, base) as Fractions."""
    first = [comb(ones, i) * top**i * (1 - top) ** (ones - i) for i in range(ones + 1)]
    rest = n - ones
    second = [comb(rest, i) * base**i * (1 - base) ** (rest - i) for i in range(rest + 1)]
    distribution = [Fraction(0)] * (n + 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            distribution[i + j] += a * b
    return distribution


@pytest.mark.parametrize("n", [1, 2, 5, 11])
@pytest.mark.parametrize(
    ("base", "top"),
    [
        (Fraction(1, 4), Fraction(3, 4)),
        (Fraction(1, 36), Fraction(3, 4)),
        (Fraction(2, 5), Fraction(3, 5)),
        (Fraction(3, 10), Fraction(1)),
        (Fraction(0), Fraction(1, 2)),
        (Fraction(7, 8), Fraction(1, 8)),
    ],
)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_rows_interval_inverts_the_exact_distribution(n, base, top, level):
    """For every count: the numbers N1 that neither tail rejects and, where the estimate is
    outside [0, 1], also those that the likelihood ratio against the best does not reject."""
    distributions = [exact_distribution(ones, n, base, top) for ones in range(n + 1)]
    tail = (1 - Fraction(level)) / 2
    z2 = special.ndtri((1 - level) / 2) ** 2
    low, high = intervals.rows_interval(np.arange(n + 1), n, float(base), float(top), level=level)
    for x in range(n + 1):
        likely = [float(distribution[x]) for distribution in distributions]
        if max(likely) == 0:
            continue  # cannot be reported at all
        accepted = {
            ones
            for ones, distribution in enumerate(distributions)
            if sum(distribution[x:]) > tail and sum(distribution[: x + 1]) > tail
        }
        if not 0 <= (Fraction(x, n) - base) / (top - base) <= 1:
            accepted |= {
                ones
                for ones, mass in enumerate(likely)
                if mass > 0 and -2 * np.log(mass / max(likely)) <= z2
            }
        expected = (min(accepted), max(accepted))
        found = (round(float(low[x]) * n), round(float(high[x]) * n))
        assert expected == found, (x, sorted(accepted))
        assert sorted(accepted) == list(range(expected[0], expected[1] + 1))  # no gaps


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200])
def test_rows_intervals_are_never_empty_or_reversed(n):
    """For every count: 0 <= low <= high <= 1, around the estimate where that is inside."""
    x = np.arange(n + 1)
    for k, prob in GRID:
        base = other(prob, k)
        low, high = intervals.rows_interval(x, n, base, prob)
        share = np.clip((x / n - base) / (prob - base), 0, 1)
        assert 0 <= low.min()
        assert high.max() <= 1
        assert (low <= share + 1e-12).all()
        assert (share - 1e-12 <= high).all()
        assert low * n == pytest.approx(np.round(low * n), abs=1e-9)
        assert high * n == pytest.approx(np.round(high * n), abs=1e-9)


def test_rows_intervals_of_many_rows_invert_the_exact_distribution():
    """n = 20,190: one number further out on either side, a tail is at most half of 1 - level."""
    n, base, top = 20_190, 0.25 / 3, 0.75
    for x in (1_683, 2_400, 9_000, 15_000):
        low, high = (round(float(end) * n) for end in intervals.rows_interval(x, n, base, top))

        def tail(ones, upper, x=x):
            i = np.arange(ones + 1)
            rest = x - i
            tails = (
                stats.binom.sf(rest - 1, n - ones, base)
                if upper
                else stats.binom.cdf(rest, n - ones, base)
            )
            return stats.binom.pmf(i, ones, top) @ tails

        assert tail(low, upper=True) > 0.025 or low == n
        assert low == 0 or tail(low - 1, upper=True) <= 0.025
        assert tail(high, upper=False) > 0.025
        assert tail(high + 1, upper=False) <= 0.025


@pytest.mark.parametrize(
    ("base", "top"), [(1e-9, 0.9), (0.0, 0.5), (0.3, 1.0), (0.1, 1 - 1e-9), (0.0004, 0.6)]
)
def test_rows_intervals_of_nearly_certain_reports_invert_the_exact_distribution(base, top):
    """n = 1,000, rates at 0 or 1 or nearly so: one number further out, a tail is too small."""
    n = 1000
    counts = np.array([310, 450, 495, 599, 777])
    low, high = (np.round(end * n) for end in intervals.rows_interval(counts, n, base, top))
    for place, x in enumerate(counts):
        if not base * n <= x <= top * n:
            continue  # there the likelihood ratio has a part

        def tails(number, x=x):
            i = np.arange(number + 1)
            weights = stats.binom.pmf(i, number, top)
            upper = weights @ stats.binom.sf(x - i - 1, n - number, base)
            return upper, weights @ stats.binom.cdf(x - i, n - number, base)

        assert min(tails(int(low[place]))) > 0.025
        assert min(tails(int(high[place]))) > 0.025
        assert low[place] == 0 or tails(int(low[place]) - 1)[0] <= 0.025
        assert high[place] == n or tails(int(high[place]) + 1)[1] <= 0.025


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 1e-9])
def test_rows_intervals_of_many_are_those_of_each(level):
    """Many counts, sizes and designs at once give the same numbers as one at a time."""
    rng = np.random.default_rng(4)
    n = rng.choice([0, 1, 20, 3000, 10**6, 3 * 10**10], 150)
    base, top = rng.uniform(size=(2, 150))
    counts = np.round(n * (base + rng.normal(0.5, 0.4, 150) * (top - base)).clip(0, 1))
    many = np.array(intervals.rows_interval(counts, n, base, top, level=level))
    cases = zip(counts, n, base, top, strict=True)
    each = [np.array(intervals.rows_interval(*case, level=level)) for case in cases]
    assert np.array(each).T.tolist() == many.tolist()


def test_rows_interval_far_outside_stays_narrow():
    """10,000 of 10,000 reports at prob = .6: the share is 1 or just below, not "anything"."""
    low, high = intervals.rows_interval([10_000, 0], 10_000, 0.4, 0.6)
    assert 0.99 < low[0]
    assert 1.0 == high[0]
    assert 0.0 == low[1]
    assert high[1] < 0.01


def test_clopper_pearson_holds_between_the_whole_counts():
    """Weighted surveys have counts below 1; the bound is the beta quantile there too.

    The series x^a / (a B(a, b)) (1 - a (b - 1) x / (a + 1) + ...) of the beta's distribution has
    the value 0.025 at the low end for a = 0.5, b = 50.5.
    """
    low = float(intervals.clopper_pearson_rates(0.5, 50).low)
    high = float(intervals.clopper_pearson_rates(49.5, 50).high)
    a, b = 0.5, 50.5
    terms = [
        a * special.poch(1 - b, j) / (special.factorial(j) * (a + j)) * low**j for j in range(6)
    ]
    assert low**a / (a * special.beta(a, b)) * sum(terms) == pytest.approx(0.025, rel=1e-9)
    assert 1 - high == pytest.approx(low, rel=1e-6)
