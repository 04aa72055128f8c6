"""Planned power is that of rr, or of the reports' exact distribution, and the people reach it."""

import math

import numpy as np
import pytest
import scipy
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.channel import expected_rates
from rrstats.planning import detectable_difference, people_for_power, power

NO_YES = ["no", "yes"]
FORCED = rr.surveys.forced_response(NO_YES, 2 / 3, [1 / 6, 1 / 6])
WARNER = rr.surveys.warner(NO_YES, 0.75, yes="yes")
MIRRORED = rr.surveys.warner(NO_YES, 0.25, yes="yes")
DIRECT = rr.surveys.direct(NO_YES)

TYPE, VALUE = ArgumentTypeError, ArgumentValueError
GREATER = {"alternative": "greater"}


@pytest.mark.parametrize(
    ("n", "share", "mechanism", "options", "expected"),
    [
        # rr 1.4.2, power.rr.test: forced-known has p = 2/3, p1 = p0 = 1/6, mirrored p = 3/4;
        # golden rr_power.json, in its order.
        (200, 0.15, FORCED, {"against": 0.1, "alpha": 0.01} | GREATER, 0.12322752051349285),
        (500, 0.15, FORCED, {"against": 0.1}, 0.4251990814740585),
        (1000, 0.2, WARNER, {"against": 0.1}, 0.9239131975500933),
        (250, 0.1, FORCED, {"against": 0} | GREATER, 0.8514997103560165),
        (500, 0.25, FORCED, {"other": 0.15, "against": 0.1}, 0.6888566395951847),
        (800, 0.3, WARNER, {"other": 0.2, "against": 0.2} | GREATER, 0.6720699517365238),
    ],
    ids=["forced", "two-sided", "mirrored", "null zero", "two samples", "two mirrored"],
)
def test_power_golden(n, share, mechanism, options, expected):
    """One and two samples, one and two sides, as rr computes them, by its formula."""
    found = power(n, share, mechanism, exact=False, **options)
    assert expected == pytest.approx(found, rel=1e-12)


def test_goodness_of_fit_of_two_categories_is_a_two_sided_normal_test():
    """With the null's variance; a noncentral chi-squared of one degree is a square of it."""
    n, real, null, z = 400, 1 / 4 + 0.3 / 2, 1 / 4 + 0.2 / 2, 2.5758293035489004  # alpha = 1%
    shift = (real - null) / math.sqrt(null * (1 - null) / n)
    expected = sum(scipy.special.ndtr(side * shift - z) for side in (1, -1))
    found = power(n, [0.7, 0.3], WARNER, against=[0.8, 0.2], alpha=0.01)
    assert expected == pytest.approx(found, rel=1e-10)


def test_groups_of_unequal_size_are_pooled_by_their_size():
    """A group of 300 with 0.4 and one of 100 with 0.2 have 0.35 in common if they do not differ."""
    options = {"other": 0.2, "ratio": 1 / 3, "exact": False}
    known = power(300, 0.4, FORCED, **options, against=0.35)
    assert known == pytest.approx(power(300, 0.4, FORCED, **options), rel=1e-14)

    def variance(share):
        rate = 1 / 6 + 2 / 3 * share
        return rate * (1 - rate) / (2 / 3) ** 2

    without = math.sqrt(variance(0.35) * (1 / 300 + 1 / 100))
    real = math.sqrt(variance(0.4) / 300 + variance(0.2) / 100)
    z = 1.959963984540054
    expected = sum(scipy.special.ndtr((side * 0.2 - z * without) / real) for side in (1, -1))
    assert expected == pytest.approx(power(300, 0.4, FORCED, **options), rel=1e-12)


def test_the_people_reach_the_power_asked():
    """rr 1.4.2 returns n = 205 for .80 here, whose power is .7903; 212 is the first that has it."""
    options = {"against": 0, "alternative": "greater", "exact": False}
    assert 0.7903 == pytest.approx(power(205, 0.1, FORCED, **options), abs=5e-5)
    assert 212 == people_for_power(0.8, 0.1, FORCED, **options)
    assert power(212, 0.1, FORCED, **options) >= 0.8 > power(211, 0.1, FORCED, **options)


@pytest.mark.parametrize("exact", [None, False])
@pytest.mark.parametrize("wanted", [0.06, 0.5, 0.8, 0.999])
@pytest.mark.parametrize(
    "options",
    [
        {"against": 0.3},
        {"against": 0.3, "alternative": "less"},
        {"other": 0.35},
        {"other": 0.3, "ratio": 0.25, "against": 0.3},
    ],
    ids=["value", "less", "groups", "unequal"],
)
def test_people_are_the_fewest(wanted, options, exact):
    """One person less has less power, by the distribution and by the formula."""
    found = people_for_power(wanted, 0.1, FORCED, exact=exact, **options)
    assert power(found, 0.1, FORCED, exact=exact, **options) >= wanted
    assert found == 1 or power(found - 1, 0.1, FORCED, exact=exact, **options) < wanted


# -- the exact distribution --------------------------------------------------------------------


def distribution(n, rate):
    return [math.comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(n + 1)]


def rate_of(mechanism, share):
    return float(expected_rates(mechanism.channel, [1 - share, share])[1])


def exact_power(n, share, null, mechanism, alternative, significance):
    """By adding up the distribution over every count that the exact test rejects at."""
    under, real = (
        distribution(n, rate_of(mechanism, null)),
        distribution(n, rate_of(mechanism, share)),
    )
    rising = rate_of(mechanism, 1) > rate_of(mechanism, 0)
    tail = significance / 2 if alternative == "two-sided" else significance
    sides = {"greater": "up", "less": "down"}.get(alternative, "both")
    if not rising and sides != "both":
        sides = {"up": "down", "down": "up"}[sides]
    found = 0.0
    for x in range(n + 1):
        up, down = math.fsum(under[x:]) <= tail, math.fsum(under[: x + 1]) <= tail
        found += real[x] * ((up and sides != "down") or (down and sides != "up"))
    return found


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("mechanism", [FORCED, MIRRORED, DIRECT], ids=["forced", "p<1/2", "direct"])
@pytest.mark.parametrize(("share", "null"), [(0.6, 0.2), (0.1, 0.7), (0.3, 0.0), (1.0, 0.4)])
def test_exact_power_adds_up_the_reports(mechanism, alternative, share, null):
    """Of the exact test, whose two sides have half of the significance each."""
    for n in (1, 7, 40):
        expected = exact_power(n, share, null, mechanism, alternative, 0.07)
        options = {"against": null, "alternative": alternative, "alpha": 0.07}
        found = power(n, share, mechanism, exact=True, **options)
        assert expected == pytest.approx(found, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("mechanism", [FORCED, MIRRORED], ids=["forced", "p<1/2"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_power_of_two_groups_adds_up_both(mechanism, alternative):
    """Over all pairs of counts at which Fisher's exact test of the reports rejects."""
    n, m = 23, 17
    first, second = (
        distribution(n, rate_of(mechanism, 0.7)),
        distribution(m, rate_of(mechanism, 0.2)),
    )
    tail = 0.025 if alternative == "two-sided" else 0.05
    is_rising = rate_of(mechanism, 1) > rate_of(mechanism, 0)
    sides = {"greater": ["greater"], "less": ["less"]}.get(alternative, ["greater", "less"])
    if not is_rising:
        sides = [{"greater": "less", "less": "greater"}[side] for side in sides]
    expected = 0.0
    for x in range(n + 1):
        for y in range(m + 1):
            table = [[x, n - x], [y, m - y]]
            rejected = any(stats.fisher_exact(table, side).pvalue <= tail for side in sides)
            expected += first[x] * second[y] * rejected
    options = {"other": 0.2, "ratio": m / n, "alternative": alternative}
    found = power(n, 0.7, mechanism, exact=True, **options)
    assert expected == pytest.approx(found, rel=1e-9, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [None, True])
@pytest.mark.parametrize(
    ("share", "against", "mechanism", "wanted"),
    [
        (0.3, 0.1, FORCED, 0.8),
        (0.1, 0.0, FORCED, 0.9),
        (0.05, 0.0, DIRECT, 0.8),
        (0.02, 0.1, DIRECT, 0.6),
        (0.5, 0.2, MIRRORED, 0.3),
        (0.2, 0.1, DIRECT, 0.99),
    ],
)
def test_exact_people_keep_the_power_from_there_on(share, against, mechanism, wanted, exact):
    """Power goes up and down with whole counts; up to three times as many never fall below."""
    found = people_for_power(wanted, share, mechanism, against=against, exact=exact)
    test = [
        power(n, share, mechanism, against=against, exact=exact) >= wanted
        for n in range(max(1, found - 1), 3 * found)
    ]
    assert [found > 1, True] == [not test[0] or found == 1, all(test[found > 1 :])]


def test_power_close_to_certainty_is_followed_as_far_as_near_zero():
    """A rejected count comes once in 500 people, and power falls there, at 0.002 as at 0.998."""
    sizes = np.arange(1, 3000)
    least = stats.binom.isf(0.05, sizes, 0.002) + 1  # rejected from this count on
    reached = stats.binom.sf(least - 1, sizes, 0.02) >= 0.7
    expected = int(sizes[~reached][-1]) + 1
    assert reached[:expected].any()  # and again less with more people
    assert expected == people_for_power(0.7, 0.02, DIRECT, against=0.002, alternative="greater")
    assert expected == people_for_power(0.7, 0.98, DIRECT, against=0.998, alternative="less")


def test_a_null_of_little_variance_takes_one_person():
    """Then the formula has the power without a difference: Phi(-z sqrt(2 v0) / sqrt(2 v))."""
    share, options = 0.5 + 1e-7, {"other": 0.5, "against": 0.01, "exact": False} | GREATER
    z = 1.6448536269514722
    expected = scipy.special.ndtr(-z * math.sqrt(0.01 * 0.99) / 0.5)
    assert expected == pytest.approx(power(1, share, DIRECT, **options), rel=1e-6)
    assert 1 == people_for_power(0.2, share, DIRECT, **options)


@pytest.mark.parametrize(
    ("epsilon", "expected", "formula"), [(1, 789, 744), (4, 47, 30), (6, 29, 5), (8, 16, 1)]
)
def test_a_value_of_zero_takes_as_many_as_the_test_does(epsilon, expected, formula):
    """By adding up the distribution; the formula lets its lower tail reject where no count can."""
    m = rr.KRR(NO_YES, epsilon=epsilon)
    assert expected == people_for_power(0.8, 0.1, m, against=0)
    assert formula == people_for_power(0.8, 0.1, m, against=0, exact=False)
    for n, enough in ((expected - 1, False), (expected, True)):
        found = exact_power(n, 0.1, 0.0, m, "two-sided", 0.05)
        assert enough == (found >= 0.8)
        assert found == pytest.approx(power(n, 0.1, m, against=0), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((10**9 + 1, 0.1001, FORCED), {"against": 0.1}),
        ((20_001, 0.11, FORCED), {"other": 0.1}),
        ((1000, 0.13, FORCED), {"other": 0.1, "ratio": 1e12}),
        ((500, 0.2, FORCED), {"other": 0.1, "against": 0.2}),
        ((500, 0.2, rr.surveys.kuk(NO_YES, 0.75, 0.25, 2, yes="yes")), {"against": 0.1}),
    ],
    ids=["many", "many in groups", "a huge group", "null", "not binomial"],
)
def test_where_no_distribution_is_added_up_the_formula_answers(arguments, options):
    """By default; asked for, the distribution is refused there with the reason."""
    assert power(*arguments, exact=False, **options) == power(*arguments, **options)
    with pytest.raises((ArgumentValueError, ArgumentTypeError), match="exact"):
        power(*arguments, exact=True, **options)


# -- other designs -----------------------------------------------------------------------------


def test_power_of_an_unrelated_question_of_unknown_prevalence():
    """Two samples of n / 2 each: the variance of Greenberg et al. (1969), at both shares."""
    m = rr.surveys.unrelated_question_two_samples(NO_YES, [0.7, 0.2], yes="yes")

    def sized(share):  # the trait of 2 in 5, among both
        return np.array([2 * (1 - share), 3 * (1 - share), 2 * share, 3 * share])

    def error(share):
        rates = [p * share + (1 - p) * 0.4 for p in (0.7, 0.2)]
        parts = [(0.8, rates[0]), (0.3, rates[1])]
        return math.sqrt(sum(w * w * r * (1 - r) for w, r in parts) / 600) / 0.5

    z = 1.6448536269514722
    expected = scipy.special.ndtr((0.2 - 0.1 - z * error(0.1)) / error(0.2))
    options = {"against": 0.1, "alternative": "greater"}
    sizes = dict(zip(m.domain.categories, sized(0.2), strict=True))
    assert expected == pytest.approx(power(1200, sizes, m, **options), rel=1e-9)
    found = people_for_power(0.9, sizes, m, **options)
    assert power(found, sizes, m, **options) >= 0.9 > power(found - 1, sizes, m, **options)
    # The sizes may stand beside the value, for what has no proportion.
    against = dict(zip(m.domain.categories, [9 * 2, 9 * 3, 2, 3], strict=True))
    least = detectable_difference(1200, m, against=against, alternative="greater")
    assert 0.8 == pytest.approx(power(1200, sized(0.1 + least), m, **options), abs=1e-3)


# -- what can be noticed -----------------------------------------------------------------------


@pytest.mark.parametrize("exact", [None, False, True])
@pytest.mark.parametrize(
    ("options", "sign"),
    [
        ({"against": 0.2}, 1),
        ({"against": 0.8, "alternative": "less"}, -1),
        ({"other": 0.0, "alternative": "greater"}, 1),
    ],
    ids=["value", "less", "groups"],
)
def test_the_least_difference_is_noticed_and_a_smaller_one_is_not(options, sign, exact):
    """At that distance the power is there; a millionth nearer it is not."""
    found = detectable_difference(400, FORCED, power=0.9, exact=exact, **options)
    start = options.get("against", options.get("other"))
    here, nearer = (
        power(400, start + sign * distance, FORCED, exact=exact, **options)
        for distance in (found, found - 1e-6)
    )
    assert nearer < 0.9 <= here + 1e-12


def test_two_proportions_without_noise_need_the_textbook_number():
    """Direct answers of 10% and 20% at 5% and 80%: 199 in each group (Fleiss 1981, pooled null)."""
    z = scipy.special.ndtri([0.975, 0.8])
    textbook = (
        z[0] * math.sqrt(2 * 0.15 * 0.85) + z[1] * math.sqrt(0.1 * 0.9 + 0.2 * 0.8)
    ) ** 2 / 0.01
    found = people_for_power(0.8, 0.2, DIRECT, other=0.1, exact=False)
    assert 199 == math.ceil(textbook) == found


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: power(100, 0.1, FORCED), TYPE, "found neither"),
        (lambda: power(9, 0.1, FORCED, against=0.1, other=0.2, exact=True), TYPE, "two groups"),
        (lambda: power(100, 0.1, DIRECT, against=0, exact=False), VALUE, "leave exact out"),
        (lambda: power(100, 0.1, 2, 0.5, against=0), NotIdentifiableError, "no information"),
        (lambda: power(10**10, 0.1, FORCED, against=0, exact=True), VALUE, "is for at most"),
        (lambda: people_for_power(1, 0.1, FORCED, against=0), VALUE, "size gives a power of 1"),
        (lambda: people_for_power(0.05, 0.1, FORCED, against=0), VALUE, "without reports has"),
        (
            lambda: people_for_power(0.8, 0.1, FORCED, against=0.1),
            VALUE,
            "is not another than",
        ),
        (lambda: people_for_power(0.8, 0.1, FORCED, other=0.3, **GREATER), VALUE, "not greater"),
        (lambda: people_for_power(0.8, 0.2, epsilon=1e-9, against=0.1), VALUE, "than 2..40"),
        (lambda: detectable_difference(10, epsilon=0.1, against=0.5), VALUE, "at most 0.023 for"),
        (
            lambda: detectable_difference(100, epsilon=1, against=0.1, power=0),
            VALUE,
            r"in \(0, 1\), got 0",
        ),
        (lambda: detectable_difference(100, epsilon=1, against=0.1, power=-0.5), VALUE, "got -0.5"),
    ],
)
def test_what_cannot_be_planned_is_refused(call, error, words):
    """The argument is named, with its rule or the way out."""
    with pytest.raises(error, match=words):
        call()
