"""Differences of two estimates: variances, intervals and tests that hold, for every design."""

from __future__ import annotations

import re

import chance
import numpy as np
import pytest
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.crosstab import Crosstab
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.hypothesis_tests import difference, uncut_interval
from rrstats.estimation.tally import Cell, Tally
from rrstats.inference.contrasts import wald_statistic
from rrstats.mechanisms.channel import expected_rates

COIN = rr.KRR(["no", "yes"], 0.75)
CLEAR = rr.KRR(["no", "yes"], 0.95)
DIRECT = rr.surveys.direct(["no", "yes"])
THREE = rr.KRR(["a", "b", "c"], 0.7)
SHARPER = rr.KRR(["a", "b", "c"], 0.9)
GENERIC = rr.MatrixDesign(
    ["a", "b", "c"],
    [[0.6, 0.05, 0.1], [0.2, 0.7, 0.15], [0.15, 0.05, 0.5], [0.05, 0.2, 0.25]],
    reports=list("wxyz"),
)
JOINT = np.array([[0.40, 0.05, 0.05], [0.03, 0.20, 0.07], [0.04, 0.06, 0.10]])


def counted(counts, mechanism, target="population", **more):
    return Estimate(rr.Tally.from_counts(counts, mechanism, **more), target)


def law(mechanism, shares):
    return expected_rates(mechanism.channel, np.asarray(shares, dtype=float))


# -- the numbers ---------------------------------------------------------------------------


def test_differences_and_variances_add_up():
    """The difference is that of the shares, and independent variances add."""
    a, b = counted([30, 45, 25], THREE), counted([20, 10, 90], SHARPER)
    found = difference(a, b)
    assert np.allclose(a.proportions - b.proportions, found.differences, rtol=1e-14)
    assert np.allclose(a.covariance + b.covariance, found.covariance, rtol=1e-13)
    assert np.allclose(a.variance + b.variance, found.std_error**2, rtol=1e-13)
    assert np.allclose(2 * stats.norm.sf(abs(found.z)), found.p_value, rtol=1e-12)
    many = difference(counted([3000, 4500, 2500], THREE), counted([3100, 4400, 2500], SHARPER))
    assert np.allclose(many.differences / many.std_error, many.z, rtol=0.01)


def test_a_category_without_reports_is_not_significant():
    """Nobody of 13 named the first category, where 4 of 52 did: its standard error is 0."""
    seven = rr.KRR(list("abcdefg"), epsilon=3)
    few, many = counted([0, 5, 3, 2, 1, 1, 1], seven), counted([4, 9, 9, 10, 10, 5, 5], seven)
    found = difference(few, many)
    assert few.variance[0] < 1e-12
    assert abs(found.differences[0]) > 2 * found.std_error[0]
    assert found.p_value[0] == pytest.approx(0.32, abs=0.01)
    assert found.z[0] == pytest.approx(-1.0, abs=0.01)


def test_an_interval_excludes_0_where_the_p_value_is_below_what_it_may_miss():
    """Between the levels at which intervals are computed, z is off by 0.03 at most."""
    rng, checked = np.random.default_rng(5), 0
    for turn in range(25):
        designs = (THREE, SHARPER) if turn % 2 else (GENERIC, SHARPER)
        found = difference(
            *(
                counted(rng.multinomial(n, law(m, rng.dirichlet(np.ones(3)))).tolist(), m)
                for n, m in zip((15, 40), designs, strict=True)
            )
        )
        for level in (0.9, 0.95, 0.99):
            low, high = found.interval(level)
            assert (((low > 0) | (high < 0)) == (found.p_value < 1 - level)).all()
        for code in np.flatnonzero((abs(found.z) > 0.1) & (abs(found.z) < 3.8)):
            checked += 1
            near = (2 * stats.norm.cdf(abs(found.z[code]) + step) - 1 for step in (0.03, -0.03))
            (low, high), (below, above) = (found.interval(level) for level in near)
            assert low[code] <= 0 <= high[code]
            assert not below[code] <= 0 <= above[code]
    assert checked > 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "epsilon", "sizes", "most", "wrong"),
    [(7, 3, (13, 52), 0.052, 0.20), (2, 1, (10, 20), 0.056, 0.07)],
)
def test_p_values_keep_their_level(k, epsilon, sizes, most, wrong):
    """Exact levels at 5% over equal shares; differences in standard errors are further off."""
    design = rr.KRR(list("abcdefg"[:k]), epsilon=epsilon)
    one, other = (
        [counted([x, n - x] + [0] * (k - 2), design) for x in range(n + 1)] for n in sizes
    )
    found = [[difference(x, y) for y in other] for x in one]
    rejected = np.array([[each.p_value[0] <= 0.05 for each in row] for row in found])
    with np.errstate(divide="ignore", invalid="ignore"):
        wald = np.array(
            [[abs(each.differences[0]) > 1.96 * each.std_error[0] for each in row] for row in found]
        )
    levels = []
    for share in (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95, 1):
        rate = law(design, [share, 1 - share] + [0] * (k - 2))[0]
        first, second = (stats.binom.pmf(np.arange(n + 1), n, rate) for n in sizes)
        levels.append([first @ these @ second for these in (rejected, wald)])
    kept, planted = np.max(levels, axis=0)
    assert kept <= most
    assert planted >= wrong


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090)],
)
def test_direct_answers_have_newcombes_interval(counts, low, high):
    """Without noise the interval is method 10 of Newcombe (1998), table II, contrasts a and b."""
    x, n, y, m = counts
    found = difference(counted([n - x, x], DIRECT), counted([m - y, y], DIRECT)).interval()
    assert (low, high) == (round(float(found.low[1]), 4), round(float(found.high[1]), 4))


def test_the_interval_turns_with_the_order():
    """The second less the first has the interval of the first less the second, mirrored."""
    a, b = counted([30, 45, 25, 3], GENERIC), counted([20, 10, 90], SHARPER)
    one, other = difference(a, b).interval(0.9), difference(b, a).interval(0.9)
    assert np.allclose(-one.high, other.low, rtol=1e-12)
    assert np.allclose(-one.low, other.high, rtol=1e-12)


def test_simultaneous_intervals_are_bonferronis():
    """All k at once: each at 1 - (1 - level) / k; two categories that sum to 1 need nothing."""
    a, b = counted([30, 45, 25], THREE), counted([20, 10, 90], SHARPER)
    every = difference(a, b).interval(0.9, simultaneous=True)
    assert np.allclose(difference(a, b).interval(1 - 0.1 / 3), every, rtol=1e-12)
    two = difference(counted([30, 45], COIN), counted([20, 40], CLEAR))
    assert np.allclose(two.interval(0.9), two.interval(0.9, simultaneous=True), rtol=1e-14)


def test_uncut_intervals_leave_the_unit_interval():
    """Where a share may be 0, its own interval reaches below, whatever the design and target."""
    unknown = rr.surveys.unrelated_question_two_samples([False, True], [0.7, 0.25])
    cases = [
        counted([90, 10], rr.KRR(["no", "yes"], 0.9)),
        counted([90, 10], rr.KRR(["no", "yes"], 0.9), "rows"),
        counted([60, 20, 15, 5], GENERIC),
        counted([60, 20, 15, 5], GENERIC, "rows"),
        counted({1: [85, 15], 2: [62, 38]}, unknown),
        counted({1: [75, 25], 2: [90, 10]}, rr.Samples({1: COIN, 2: rr.KRR(["no", "yes"], 0.9)})),
    ]
    for one in cases:
        low, high = uncut_interval(one, 0.95)
        assert (low <= one.proportions).all(), one
        assert (high >= one.proportions).all(), one
        assert low.min() < 0, one


# -- coverage ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "n", "least"),
    [
        # enumerated: 0.9449, 0.9415 and, with next to no noise, 0.9304
        (COIN, DIRECT, (40, 30), 0.944),
        (CLEAR, COIN, (25, 50), 0.941),
        (CLEAR, CLEAR, (40, 40), 0.930),
    ],
    ids=["noise against none", "two designs", "next to no noise"],
)
def test_intervals_cover(first, second, n, least):
    """Exact coverage at 95% over a grid of true shares, nominal up to 1 or 2 points."""
    grid = [0, 0.01, 0.05, 0.2, 0.5, 0.9, 1]
    a = [counted([n[0] - x, x], first) for x in range(n[0] + 1)]
    b = [counted([n[1] - x, x], second) for x in range(n[1] + 1)]
    ends = np.array([[[end[1] for end in difference(x, y).interval()] for y in b] for x in a])
    worst = 1.0
    for f in grid:
        for g in grid:
            chances = np.outer(
                stats.binom.pmf(np.arange(n[0] + 1), n[0], law(first, [1 - f, f])[1]),
                stats.binom.pmf(np.arange(n[1] + 1), n[1], law(second, [1 - g, g])[1]),
            )
            inside = (ends[..., 0] <= f - g + 1e-12) & (f - g - 1e-12 <= ends[..., 1])
            worst = min(worst, float(chances[inside].sum()))
    assert worst >= least


def test_intervals_of_rows_cover_the_rows():
    """Among just these rows only the noise is random, and the shorter interval covers.

    Fails by luck less than once in 1e9 where coverage is at least 92%; a coverage of 80% or
    less passes less than once in 1e5.
    """
    rng, hits = np.random.default_rng(7), np.zeros(3)
    answers = np.array([[40, 25, 15], [60, 30, 30]])
    exact = answers[0] / 80 - answers[1] / 120
    for _ in range(1000):
        drawn = [
            sum(rng.multinomial(c, column) for c, column in zip(people, matrix.T, strict=True))
            for people, matrix in zip(
                answers, (GENERIC.channel.matrix, THREE.channel.matrix), strict=True
            )
        ]
        pair = [
            counted(counts.tolist(), m, "rows")
            for counts, m in zip(drawn, (GENERIC, THREE), strict=True)
        ]
        low, high = difference(*pair).interval()
        hits += (low <= exact) & (exact <= high)
    for hit in hits:
        chance.assert_at_least(int(hit), 1000, 0.92, tests=3)
    wide = difference(*(one.with_target("population") for one in pair)).interval()
    assert (high - low < 0.97 * (wide.high - wide.low)).all()


# -- the same people twice -----------------------------------------------------------------


def test_pairs_without_noise_are_mcnemars():
    """Direct answers of the same people: the variance of a difference of paired shares.

    ((b + c) / n - ((b - c) / n)^2) / (n - 1), for b and c who changed.
    """
    table = np.array([[40, 12], [5, 23]])
    paired = Crosstab.from_counts(table, {"one": DIRECT, "two": DIRECT})
    a, b = counted(table.sum(axis=1).tolist(), DIRECT), counted(table.sum(axis=0).tolist(), DIRECT)
    found = difference(b, a, paired=Crosstab.from_counts(table.T, {"two": DIRECT, "one": DIRECT}))
    assert abs(((12 + 5) / 80 - (7 / 80) ** 2) / 79 - found.variance[1]) < 1e-14
    assert np.allclose(difference(a, b, paired=paired).variance, found.variance, rtol=1e-12)
    assert (found.variance < difference(b, a).variance).all()


def test_pairs_without_noise_have_newcombes_interval():
    """Direct answers of the same people: Wilson's parts put together with phi.

    Newcombe (1998), improved intervals for paired data, method 8; the formula written out.
    """
    a, b, c, d = 40, 12, 5, 23
    phi = (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    one, two = ((x, stats.binomtest(x, 80).proportion_ci(method="wilson")) for x in (b + d, c + d))
    shift = (one[0] - two[0]) / 80
    down, up = one[0] / 80 - one[1].low, two[1].high - two[0] / 80
    low = shift - np.sqrt(down**2 - 2 * phi * down * up + up**2)
    paired = Crosstab.from_counts([[a, c], [b, d]], {"two": DIRECT, "one": DIRECT})
    found = difference(
        counted([a + c, b + d], DIRECT), counted([a + b, c + d], DIRECT), paired=paired
    )
    assert np.isclose(low, found.interval().low[1], rtol=1e-10)


def test_covariance_of_partly_the_same_people_is_exact():
    """With people in one or both waves the variance is that of all their scores, on average.

    The expected covariance, from the joint law of both reports, equals n_both / (n_a n_b) times
    that of one person; tallies of exactly expected counts give it back.
    """
    n, extra = 40_000, 20_000
    table = n * (THREE.channel.matrix @ JOINT @ SHARPER.channel.matrix.T)
    first = table.sum(axis=1) + extra * law(THREE, JOINT.sum(axis=1))
    assert np.allclose(np.rint(table), table, atol=1e-9)
    paired = Crosstab.from_counts(np.rint(table).astype(int), {"a": THREE, "b": SHARPER})
    a = counted(np.rint(first).astype(int).tolist(), THREE)
    b = counted(np.rint(table.sum(axis=0)).astype(int).tolist(), SHARPER)
    one = JOINT - np.outer(JOINT.sum(axis=1), JOINT.sum(axis=0))
    expected = one * n / (n + extra) / n
    assert np.allclose(expected, difference(a, b, paired=paired).shared * (n - 1) / n, rtol=1e-9)


def test_fresh_noise_leaves_rows_independent():
    """For just these rows the noises of two reports of one person have nothing in common."""
    table = np.array([[40, 12], [5, 23]])
    paired = Crosstab.from_counts(table, {"one": COIN, "two": CLEAR})
    a, b = counted([52, 28], COIN, "rows"), counted([45, 35], CLEAR, "rows")
    assert np.allclose(
        difference(a, b).variance, difference(a, b, paired=paired).variance, rtol=1e-14
    )


# -- edges and errors ----------------------------------------------------------------------


def test_nobody_says_nothing():
    """Without reports the interval is [-1, 1], and the sentence says why."""
    found = difference(counted([0, 0], COIN), counted([5, 5], COIN))
    assert [-1, -1] == found.interval().low.tolist()
    assert [1, 1] == found.interval().high.tolist()
    assert np.isnan(found.p_value).all()
    assert "too few reports" in found.interpret()
    assert np.isnan(found.test().p_value)


def test_a_covariance_without_a_part_gives_no_number():
    """A shift in a direction without variance has no distance, rather than an infinite one."""
    covariance = np.array([[1.0, -1, 0], [-1, 1, 0], [0, 0, 0]])
    value, df = wald_statistic(np.array([0.5, -0.5, 0]), covariance)
    assert (0.25, 1) == (round(value, 12), df)
    assert np.isnan(wald_statistic(np.array([0.5, 0, -0.5]), covariance)[0])


def test_shares_that_need_not_sum_to_one_lose_what_the_sum_tells():
    """The distance is the least over noises whose shares sum to what they do.

    Checked against least squares with a Lagrange multiplier.
    """
    rng = np.random.default_rng(3)
    root = rng.normal(size=(4, 4))
    covariance, shift = root @ root.T, rng.normal(size=4)
    inverse = np.linalg.inv(covariance)
    full = shift @ inverse @ shift - shift.sum() ** 2 / covariance.sum()
    value, df = wald_statistic(shift, covariance)
    assert (3, True) == (df, bool(np.isclose(full, value, rtol=1e-10)))


def test_the_frame_and_the_words():
    """The tidy frame has a row a category, the repr shows it, the sentence speaks of one."""
    found = difference(counted([420, 580], COIN), counted([360, 640], COIN))
    frame = found.to_frame()
    columns = "category first second difference std_error low high z p_value"
    assert columns.split() == list(frame.columns)
    assert ["no", "yes"] == frame["category"].tolist()
    assert "Difference: target=population, n=1,000 and 1,000" in repr(found)
    assert "12.0 points less" in found.interpret("yes")
    near = difference(counted([50, 50], COIN), counted([49, 51], COIN))
    assert "may well be none" in near.interpret()
    with pytest.raises(ArgumentValueError, match="not among the categories"):
        found.interpret("maybe")


@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
@pytest.mark.parametrize(
    ("n", "words"),
    [(5, "only 5 reports.* cover 87%"), (12, "cover 88%"), (40, "cover 91%"), (71, None)],
)
def test_few_reports_are_said(n, words):
    """The lowest exact coverage stands below the table, and the level of the test in its notes."""
    found = difference(counted([n - 2, 2], CLEAR), counted([60, 40], CLEAR))
    notes = " ".join(found.notes)
    assert (re.search(words, notes) is not None) if words else not notes
    assert ("6.5% of true nulls" in " ".join(found.test().notes)) == (n < 25)


def test_only_the_same_kind_of_estimates_is_compared():
    """Other categories, targets, tables and things are refused with the rule."""
    a, yes = counted([30, 20], COIN), rr.KRR(["yes", "no"], 0.75)
    maybe = counted([30, 20], rr.KRR(["no", "maybe"], 0.75))
    three = Crosstab.from_counts(np.ones((3, 3), int), {"a": THREE, "b": THREE})
    many = Crosstab.from_counts(np.full((2, 2), 50), {"a": COIN, "b": COIN})
    for call, words in (
        (lambda: difference(a, counted([3, 2, 1], THREE)), "same categories in the same order"),
        (lambda: difference(a, counted([3, 2], yes)), r"\['no', 'yes'\] and \['yes', 'no'\]"),
        (lambda: difference(a, maybe), r"differ in .'yes', 'maybe'"),
        (lambda: difference(a, a.with_target("rows")), "same target"),
        (lambda: difference(a, [0.4, 0.6]), "must be an Estimate"),
        (lambda: difference(a, a, paired=np.ones((2, 2))), "paired must be the crosstab"),
        (lambda: difference(a, a, paired=three), "2 by 2 categories"),
        (lambda: difference(a, a, paired=many), "and 200 people"),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=words):
            call()


def villages(seed=0, people=40):
    """Men and women of 60 villages that differ a lot, half and half in each."""
    rng, many = np.random.default_rng(seed), 60
    village, sex = np.repeat(np.arange(many), people), np.tile(["f", "m"], many * people // 2)
    yes = rng.random(many * people) < 1 / (1 + np.exp(-1.5 * rng.normal(size=many)[village]))
    told = np.where(rng.random(many * people) < 0.95, yes, ~yes)
    reports = np.where(told, "yes", "no")
    whole = rr.estimate(
        reports,
        CLEAR,
        design=rr.SampleDesign(weights=np.ones(len(reports)), clusters=village),
        by=sex,
    )
    return whole, (told - 0.05) / 0.9, village, sex


def test_groups_of_one_clustered_sample_are_compared_within_clusters():
    """The variance is that of the villages' sums of both; as independent, three times the error."""
    groups, scores, village, sex = villages()
    f, m = groups["f"], groups["m"]
    found = difference(f, m)
    values = sum(
        sign * np.where(sex == who, scores - scores[sex == who].mean(), 0) / (sex == who).sum()
        for sign, who in ((1, "f"), (-1, "m"))
    )
    sums = np.bincount(village, values)
    exact = np.sqrt(60 / 59 * ((sums - sums.mean()) ** 2).sum())
    assert found.std_error[1] == pytest.approx(exact, rel=1e-10)
    assert np.allclose(found.std_error**2, np.diag(found.covariance), rtol=1e-10)
    assert np.sqrt(f.variance + m.variance)[1] > 2.5 * exact
    low, high = found.interval()
    assert high[1] - low[1] == pytest.approx(2 * 2.001 * exact, rel=0.03)
    assert "two groups of one sample" in repr(found)
    assert found.test() == rr.hypotheses.homogeneity(f, m)
    assert found.test().statistic == pytest.approx((found.differences[1] / exact) ** 2, rel=1e-9)


def in_clusters(sizes, rng, spread=1.0):
    """An estimate of 25 people in each of some clusters that differ."""
    rates = 0.05 + 0.9 / (1 + np.exp(-spread * rng.normal(size=sizes)))
    cells = {
        (None, place): Cell(25, np.array([25 - yes, yes]))
        for place, yes in enumerate(rng.binomial(25, rates))
    }
    return rr.estimate(Tally(CLEAR, cells))


def test_few_clusters_have_satterthwaites_degrees_of_freedom():
    """Two samples, one sample and one without a design, and groups in clusters of their own."""
    rng = np.random.default_rng(2)
    a, b = in_clusters(4, rng), in_clusters(9, rng)
    v, w = (np.maximum(one.variance, one.least_variance) for one in (a, b))
    assert np.allclose((v + w) ** 2 / (v**2 / 3 + w**2 / 8), difference(a, b).df)
    plain = counted([300, 200], CLEAR)
    exact = (v + plain.variance) ** 2 / (v**2 / 3 + plain.variance**2 / 499)
    assert np.allclose(exact, difference(a, plain).df)
    # Wald's interval with these, where nothing is near 0 and 1
    many = [counted([3000, 2000], CLEAR), in_clusters(12, rng, 0.5)]
    found = difference(*many)
    low, high = found.interval()
    reach = stats.t.ppf(0.975, found.df) * found.std_error
    assert np.allclose(2 * reach, high - low, rtol=0.06)
    assert np.isinf(difference(plain, counted([30, 20], COIN)).df).all()
    groups, *_ = villages()
    assert np.allclose(59, difference(groups["f"], groups["m"]).df)
    # regions of one sample have nobody in common
    region, place = np.repeat([0, 1], 150), np.repeat(np.arange(6), 50)
    reports = np.where(rng.random(300) < np.linspace(0.2, 0.8, 3)[place % 3], "yes", "no")
    one, two = rr.estimate(
        reports, CLEAR, by=region, design=rr.SampleDesign(strata=region, clusters=place)
    ).values()
    assert (one.variance > one.least_variance).all()
    exact = 2 * (one.variance + two.variance) ** 2 / (one.variance**2 + two.variance**2)
    assert (exact > 2.5).all()
    assert np.allclose(exact, difference(one, two).df)
    only = rr.estimate(
        ["no", "yes"] * 20,
        CLEAR,
        by=[1] * 4 + [2] * 36,
        design=rr.SampleDesign(clusters=np.arange(40) // 4),
    )
    none = difference(only[1], only[2])
    assert (none.df == 0).all()
    assert [(-1, -1), (1, 1)] == [tuple(end) for end in none.interval()]
    assert (none.p_value == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3, 3), (3, 20)])
def test_p_values_of_few_clusters_keep_their_level(sizes):
    """True nulls are rejected 5% of the time, by intervals and by the test of all categories.

    Differences in standard errors reject twice as often.

    A test with an exact level of 5% would have more than 8.7% with 2 of 1,000 seeds.
    """
    rng, far = np.random.default_rng(4), np.zeros(3)
    for _ in range(300):
        found = difference(*(in_clusters(size, rng) for size in sizes))
        wald = abs(found.differences[1] / found.std_error[1]) > 1.96
        far += found.p_value[1] < 0.05, found.test().p_value < 0.05, wald
    assert far[:2].max() / 300 < 0.09
    assert far[0] > 3
    assert far[2] / 300 > 0.095


def test_one_report_with_nearly_all_the_weight_shows_nothing():
    """Its standard error is next to 0, and says nothing of how far the difference may be off."""
    weights = np.ones(100)
    weights[1] = 1e5
    lopsided = rr.estimate(["no", "yes"] * 50, CLEAR, weights=weights)
    found = difference(lopsided, counted([70, 30], CLEAR))
    assert abs(found.differences[1]) > 12 * found.std_error[1]
    assert (abs(found.z) < 2.5).all()
    low, high = found.interval()
    assert (high - low > 0.7).all()


def test_groups_that_are_alike_by_luck_have_no_shorter_intervals():
    """Where clusters differ less than rows do by chance, the covariance is no larger for it."""
    cluster = np.repeat(np.arange(12), 80)
    sex, place = np.tile(["f", "m"], 480), np.tile(np.arange(40).repeat(2), 12)
    reports = np.where(place < 20 + np.where(cluster % 2, 1, -1), "yes", "no")
    f, m = rr.estimate(reports, CLEAR, by=sex, design=rr.SampleDesign(clusters=cluster)).values()
    shared = f.covariance_with(m)[1, 1]
    assert shared == pytest.approx(f.variance[1])
    assert shared < f.least_variance[1] / 2
    found = difference(f, m)
    low, high = found.interval()
    error = np.sqrt(f.least_variance + m.least_variance - 2 * shared)
    assert np.allclose(2 * stats.t.ppf(0.975, 11) * error, high - low, rtol=0.02)
