"""The budget of a person and what it means: exact or a bound, never understated."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
from decimal import ROUND_DOWN, ROUND_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT, WITH_MATRIX, channel_of
from refusals import refused

import rrstats as rr
from rrstats import privacy
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.epsilon import prob_from_epsilon, total_epsilon
from rrstats.privacy import compose, delta_curve, loss_distribution
from rrstats.privacy.composition import check_rows_per_person
from rrstats.privacy.explanation import probability_after
from rrstats.privacy.loss_distribution import privacy_loss

# -- in plain words -----------------------------------------------------------------------------


def test_posterior_cases():
    """Bayes' rule: formulas of Evfimievski, Gehrke and Srikant (2003), computed with mpmath."""
    # bayes-posterior: prior .01, eps ln 3, k = 2
    assert probability_after(0.01, 3.0) == pytest.approx(0.029411764705882353, rel=1e-12)
    # bayes-k10: prior .1, eps 1, k = 10, after a report of v and after any other
    prob = prob_from_epsilon(1.0, 10)
    other = (1 - prob) / 9
    after = probability_after(0.1, prob / other)
    assert after == pytest.approx(0.23196931668407395, rel=1e-12)
    after = probability_after(0.1, (1 - prob) / (1 - other))
    assert after == pytest.approx(0.08533674259065845, rel=1e-12)
    # bayes-correlated: five perfectly correlated columns of eps 1, prior .5
    after = probability_after(0.5, math.exp(total_epsilon([1.0] * 5)))
    assert after == pytest.approx(0.9933071490757152, rel=1e-12)
    # breach: no 5%-to-50% breach up to eps 2.944
    assert probability_after(0.05, math.exp(2.9444389791664403)) == pytest.approx(0.5, rel=1e-12)
    assert probability_after(0.3, 0.0) == 0.0
    assert probability_after(0.3, math.inf) == 1.0


@pytest.mark.parametrize(
    ("k", "prob", "prior", "numbers"),
    [
        # k = 2: odds 3; prior odds 1/19 become 3/19 (3/22 = 13.64%) and 1/57 (1/58 = 1.724%).
        (2, 0.75, 0.05, ["1.099", "3", "5%", "14%", "1.7%"]),
        # k = 4: odds 9; 9/28 = 32.14% and 1/172 = 0.5814%.
        (4, 0.75, 0.05, ["2.198", "9", "5%", "33%", "0.58%"]),
        # k = 100: odds 99; 99/118 = 83.90% and 1/1882 = 0.05313%.
        (100, 0.5, 0.05, ["4.596", "99", "5%", "84%", "0.053%"]),
        # near certainty two digits of the rest are kept: 2.97/2.98 and .33/.34
        (2, 0.75, 0.99, ["1.099", "3", "99%", "99.67%", "97%"]),
        (2, 0.75, 1e-9, ["1.099", "3", "1e-7%", "3e-7%", "3.3e-8%"]),
    ],
)
def test_explain_k_rr(k, prob, prior, numbers):
    """The paragraph holds epsilon, the factor of the odds, the prior and both ends."""
    text = privacy.explain(rr.KRR(range(k), prob), prior=prior)
    assert numbers == [n.rstrip(".") for n in re.findall(r"\d[\d.,]*(?:e-?\d+)?%?", text)]


def test_explain_never_flatters():
    """Epsilon, factor and upper end are not below the exact ones, the lower end not above."""
    rng = random.Random(6)
    for _ in range(150):
        k = rng.choice([2, 3, 4, 5, 7, 10, 100, 1000])
        anywhere = 1 / k + (1 - 1 / k) * rng.random()
        near_equal = 1 / k + rng.randint(1, 40) * math.ulp(1 / k)
        prob = rng.choice([anywhere, near_equal, 1 - rng.randint(1, 2**20) * 2.0**-53])
        prior = rng.choice([0.05, rng.uniform(0.0001, 0.9999), 10 ** rng.uniform(-9, -1)])
        mechanism = rr.KRR(range(k), prob)
        text = privacy.explain(mechanism, prior)
        found = re.findall(r"\d[\d.,]*(?:e-?\d+)?", text)
        epsilon, factor, _, high, low = (Fraction(n.rstrip(".,").replace(",", "")) for n in found)
        odds = Fraction(prob) * (k - 1) / (1 - Fraction(prob))
        before = Fraction(repr(prior))
        assert epsilon >= Fraction(mechanism.epsilon)
        assert factor >= odds
        assert high / 100 >= before * odds / (before * odds + 1 - before)
        assert low / 100 <= before / (before + odds * (1 - before))
        assert epsilon <= Fraction(mechanism.epsilon) * Fraction(1001, 1000)
        assert high <= 100


def rounded(number, digits, rounding):
    """A number in so many significant digits, as the sentences write it."""
    with localcontext(prec=digits, rounding=rounding):
        short = +(Decimal(number.numerator) / Decimal(number.denominator))
    return f"{short.normalize():f}"


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - SILENT))
def test_explain_of_every_mechanism(name):
    """The numbers follow from the worst ratio: with 4, 3 and 2 digits, and none flatters.

    Epsilon itself is the tightest double above the logarithm of that ratio.
    """
    mechanism = EXAMPLES[name]()
    text = privacy.explain(mechanism)
    numbers = [n.rstrip(".,") for n in re.findall(r"\d[\d.,]*(?:e-?\d+)?", text)]
    if mechanism.epsilon == math.inf:
        assert numbers == []
        return
    epsilon, factor, prior, high, low = (Fraction(n.replace(",", "")) for n in numbers)
    ratio = Fraction(mechanism.channel.max_likelihood_ratio)
    before = Fraction(1, 20)
    with localcontext(prec=80):
        exact_epsilon = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    below = Decimal(math.nextafter(mechanism.epsilon, 0))
    assert below < exact_epsilon <= Decimal(mechanism.epsilon)
    exact_high = 100 * before * ratio / (before * ratio + 1 - before)
    exact_low = 100 * before / (before + ratio * (1 - before))
    assert prior == 5
    for shown, exact, digits in (
        (epsilon, Fraction(mechanism.epsilon), 4),
        (factor, ratio, 3),
        (high, exact_high, 2),
    ):
        assert exact <= shown <= Fraction(rounded(exact, digits, ROUND_UP))
    assert Fraction(rounded(exact_low, 2, ROUND_DOWN)) <= low <= exact_low


def test_explain_extremes():
    """No information, no protection, and beliefs at both ends have sentences of their own."""
    nothing = privacy.explain(rr.KRR(range(4), 0.25))
    assert "Epsilon is 0" in nothing
    assert "Nothing can be estimated" in nothing
    almost = privacy.explain(rr.KRR(range(3), 1 / 3))
    assert "Epsilon is 8.327e-17" in almost
    assert "at most 1.000001." in almost

    assert "no protection" in privacy.explain(surveys.direct(["a", "b"]))
    surest = privacy.explain(rr.KRR([0, 1], math.nextafter(1, 0)), prior=math.nextafter(1, 0))
    assert "at most 100% afterwards" in surest
    rarest = privacy.explain(rr.KRR([0, 1], 0.75), prior=5e-324)
    assert "5e-322% before" in rarest


# -- bad input ----------------------------------------------------------------------------------

KRR2 = rr.KRR([0, 1], 0.75)
WRONG = [
    *((probability_after, (prior, 3.0), "prior must be in") for prior in (0, 1, -1, math.nan)),
    *((privacy.explain, (KRR2, prior), "prior must be in") for prior in (0, 1, math.nan)),
    *((probability_after, (0.5, odds), "likelihood_ratio must be") for odds in (-1.0, math.nan)),
    *((privacy.explain, (m,), "must be a mechanism") for m in (0.75, "KRR", rr.KRR, None)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "words"), WRONG)
def test_wrong_numbers(function, arguments, words):
    """Each argument is named, with its range and what was found."""
    refused((ArgumentTypeError, ArgumentValueError), words, function, *arguments)


# == the budget of a person =====================================================================

COIN = rr.KRR(["no", "yes"], 0.75)
THREE = rr.KRR(["never", "once", "often"], 0.5)
ODD = rr.MatrixDesign(
    ["a", "b", "c"],
    [[n / Fraction(20) for n in row] for row in ([12, 1, 2], [4, 14, 3], [3, 1, 10], [1, 4, 5])],
)


def krr(k, epsilon):
    return rr.KRR(range(k), epsilon=epsilon)


@pytest.fixture
def on_a_grid(monkeypatch):
    """Compose as if there were too many losses to keep them one by one."""

    def composed(mechanisms):
        with monkeypatch.context() as context:
            context.setattr(delta_curve, "_MAX_EXACT_SUMS", 0)
            found = compose(mechanisms)
            found.delta(0.0)  # makes the curve now
        return found

    return composed


# -- the same by enumeration, from the designs alone ---------------------------------------------


def unary_distribution(k, own, other):
    """For each truth the exact chances of all 2^k reports of bits."""
    reports = list(itertools.product([0, 1], repeat=k))
    chances = [[Fraction(own if v == truth else other) for v in range(k)] for truth in range(k)]
    return [
        [math.prod(p if bit else 1 - p for bit, p in zip(y, row, strict=True)) for y in reports]
        for row in chances
    ]


def subset_distribution(k, size, own):
    """For each truth the exact chances of all subsets of one size."""
    held, free = math.comb(k - 1, size - 1), math.comb(k - 1, size)
    subsets = list(itertools.combinations(range(k), size))
    p = Fraction(own)
    return [[p / held if v in y else (1 - p) / free for y in subsets] for v in range(k)]


def matrix_distribution(mechanism):
    """For each truth the exact chances of all reports, and last those of an unknown answer."""
    return [list(column) for column in zip(*mechanism.channel.entries, strict=True)]


UNARY = rr.mechanisms.UnaryEncoding(["a", "b", "c"], 0.75, 0.25)
SUBSET = rr.mechanisms.SubsetSelection(list("abcde"), size=2, prob_own=0.625)
DISTRIBUTIONS = {
    "coin": (COIN, matrix_distribution(COIN)),
    "three": (THREE, matrix_distribution(THREE)),
    "unary": (UNARY, unary_distribution(3, 0.75, 0.25)),
    "subset": (SUBSET, subset_distribution(5, 2, 0.625)),
    "odd": (ODD, matrix_distribution(ODD)),
    "direct": (direct := surveys.direct(["x", "y"]), matrix_distribution(direct)),
    "forced": (
        forced := surveys.triangular(["no", "yes"], 0.25, yes="yes"),
        matrix_distribution(forced),
    ),
}


def joint(chances):
    """The exact chances of all vectors of independent reports."""
    return [math.prod(each) for each in itertools.product(*chances)]


def grown(epsilon):
    """e^epsilon as a fraction, right in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


def enumerated(distributions, epsilon):
    """The largest sum of (P - e^epsilon Q)_+ over any two persons, of unknown answers too."""
    mixtures = [
        [sum(each) / len(distribution) for each in zip(*distribution, strict=True)]
        for distribution in distributions
    ]
    with_unknown = [
        [*distribution, mixture]
        for distribution, mixture in zip(distributions, mixtures, strict=True)
    ]
    persons = [joint(truths) for truths in itertools.product(*with_unknown)]
    factor = grown(epsilon)
    return max(
        sum(max(p - factor * q, 0) for p, q in zip(one, other, strict=True))
        for one, other in itertools.permutations(persons, 2)
    )


EXACT = [
    ["coin"],
    ["coin", "coin", "coin"],
    ["three", "three"],
    ["coin", "three"],
    ["coin", "coin", "three"],
    ["unary"],
    ["unary", "coin"],
    ["subset", "coin"],
    ["direct", "coin"],
]
BOUNDED = [["odd", "odd"], ["odd", "coin"], ["forced", "coin"], ["forced", "forced"]]


@pytest.mark.parametrize("names", EXACT, ids="-".join)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0986, 2.1])
def test_delta_is_that_of_all_reports_of_all_persons(names, epsilon):
    """Delta is not below the worst sum over all pairs of persons, nor two doubles above it."""
    found = compose([DISTRIBUTIONS[name][0] for name in names])
    expected = enumerated([DISTRIBUTIONS[name][1] for name in names], epsilon)
    delta = found.delta(epsilon)
    assert found.is_exact
    assert Fraction(math.nextafter(delta, 0)) <= expected <= Fraction(delta)


@pytest.mark.parametrize("names", BOUNDED, ids="-".join)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 3.2])
def test_bounds_are_above_and_say_so(names, epsilon):
    """Several reports of a matrix without a worst pair: never below, and not called exact."""
    found = compose([DISTRIBUTIONS[name][0] for name in names])
    expected = enumerated([DISTRIBUTIONS[name][1] for name in names], epsilon)
    assert expected <= Fraction(found.delta(epsilon)) <= expected * Fraction(3, 2)
    assert not found.is_exact
    assert any("no pair of its true answers" in reason for reason in found.bounds)


@pytest.mark.parametrize("name", WITH_MATRIX)
def test_every_mechanism_with_a_matrix(name):
    """One report has the largest delta over all pairs of columns, whatever the design."""
    mechanism = EXAMPLES[name]()
    found, columns = compose([mechanism]), matrix_distribution(mechanism)
    for epsilon in (0.0, 0.7, 1.9):
        factor = grown(epsilon)
        expected = max(
            sum(max(p - factor * q, 0) for p, q in zip(one, other, strict=True))
            for one, other in itertools.permutations(columns, 2)
        )
        delta = found.delta(epsilon)
        assert Fraction(math.nextafter(delta, 0)) <= expected <= Fraction(delta)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_mechanism_composes(name):
    """One report has the mechanism's epsilon at delta 0, and no less; twice is twice."""
    mechanism = EXAMPLES[name]()
    once, twice = compose([mechanism]), compose([(mechanism, 2)])
    assert mechanism.epsilon == once.epsilon == once.epsilon_at(0)
    assert twice.epsilon == 2 * mechanism.epsilon
    if 0 < mechanism.epsilon < math.inf:
        # A distribution that understates what an outcome tells would have no delta here.
        assert once.delta(mechanism.epsilon * (1 - 1e-9)) > 0
        assert once.delta(mechanism.epsilon) == 0
    for epsilon in (0.0, 0.5, 2.0):
        assert once.delta(epsilon) <= twice.delta(epsilon) <= 1
    assert "of one person" in repr(twice)


# -- golden values -------------------------------------------------------------------------------
# theory_cases krr-delta, krr-compose-k2, -k10, -eps: formulas in mpmath at 30 digits.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (compose([krr(10, 2.0)]).delta(1.0), 0.28499348847651834),
        (compose([(krr(2, 0.5), 10)]).delta(2.0), 0.145466446441117),
        (compose([(krr(10, 0.5), 10)]).delta(2.0), 0.0029963422723485074),
        (compose([(krr(2, 0.5), 10)]).epsilon_at(1e-6), 4.9998854711099865),
        (compose([(krr(10, 0.5), 10)]).epsilon_at(1e-6), 3.8976083366796024),
        (compose([(krr(100, 0.5), 10)]).epsilon_at(1e-6), 1.9289732451599109),
    ],
)
def test_golden_curve(found, expected):
    """Cases krr-delta (p - e^t q), krr-compose-k2, -k10 and -eps."""
    assert found == pytest.approx(expected, rel=1e-12)


# dp-accounting 0.6.0, privacy_loss_distribution.from_randomized_response(noise_parameter=
# k (1 - p) / (k - 1), num_buckets=k, value_discretization_interval=1e-5), composed one by one.
# Its grid is pessimistic: at most 1e-5 above for each column.
ACCOUNTED = [
    ([krr(3, 0.5)] * 10, 1e-3, 4.048399718311685),
    ([krr(10, 0.5)] * 10, 1e-9, 4.864948885993899),
    ([krr(100, 0.5)] * 10, 1e-9, 2.687085828536262),
    ([krr(1000, 0.5)] * 10, 1e-6, 0.993396372307803),
    ([krr(5, 0.2)] * 50, 1e-6, 4.381565446123622),
    ([rr.KRR(range(k), p) for p, k in [(0.75, 2), (0.5, 3), (0.375, 5), (0.25, 10)]], 1e-3,
     3.7370031735380187),
    ([krr(k, 0.2 + 0.05 * k) for k in range(2, 14)], 1e-9, 6.8767166656852154),
    ([rr.KRR(range(4), 0.9)] * 2, 1e-3, 6.590444669392007),
]  # fmt: skip


@pytest.mark.parametrize(("mechanisms", "delta", "accounted"), ACCOUNTED)
def test_golden_other_software(mechanisms, delta, accounted):
    """Google's dp-accounting is above, and by no more than its grid."""
    found = compose(mechanisms).epsilon_at(delta)
    assert found <= accounted + 1e-14
    assert accounted <= found + 1e-5 * len(mechanisms)


def test_golden_theorem_of_kairouz_oh_and_viswanath():
    """For k = 2 the deltas at (m - 2i) epsilon are those of their composition theorem."""
    m, odds = 12, COIN.channel.max_likelihood_ratio
    found = compose([(COIN, m)])
    for i in range(1, m // 2):
        kov = sum(math.comb(m, j) * (odds ** (m - j) - odds ** (m - 2 * i + j)) for j in range(i))
        exact = (m - 2 * i) * math.log(odds)
        low, high = exact * (1 - 1e-14), exact * (1 + 1e-14)
        assert found.delta(high) <= kov / (1 + odds) ** m <= found.delta(low)
        assert found.delta(low) == pytest.approx(found.delta(high), rel=1e-10)


# -- the plain sum -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_plain_sum_is_rounded_up_once(seed):
    """The total is the tightest double above the exact sum of the epsilons, times the rows."""
    rng = random.Random(seed)
    drawn = [(krr(rng.randint(2, 9), rng.uniform(0.01, 3)), rng.randint(1, 5)) for _ in range(6)]
    rows = rng.randint(1, 7)
    found = compose(drawn, max_rows_per_person=rows)
    exact = sum(Fraction(m.epsilon) * times * rows for m, times in drawn)
    assert Fraction(math.nextafter(found.epsilon, 0)) < exact <= Fraction(found.epsilon)
    assert found.reports == sum(times for _, times in drawn) * rows


def test_ways_of_saying_the_same():
    """A repeated entry, times, a mapping, rows and a generator mean what they say."""
    expected = compose([COIN, COIN]).delta(1.0)
    for given in ([(COIN, 2)], {"x": COIN, "y": COIN}, {"x": (COIN, np.int64(2))}):
        assert expected == compose(given).delta(1.0)
    assert expected == compose(COIN, max_rows_per_person=2).delta(1.0)
    assert expected == compose(m for m in [COIN, COIN]).delta(1.0)
    rows = compose([COIN, (THREE, 2)], max_rows_per_person=3)
    times = compose([(COIN, 3), (THREE, 6)])
    assert (rows.epsilon, rows.delta(2.0)) == (times.epsilon, times.delta(2.0))
    assert [3, 6] == rows.by_release()["reports"].tolist()


# -- properties ----------------------------------------------------------------------------------


def drawn(rng):
    """A few mechanisms of different kinds."""
    kinds = [
        lambda: krr(rng.choice([2, 3, 10, 100]), rng.uniform(0.05, 2)),
        lambda: rr.mechanisms.UnaryEncoding.symmetric(range(5), epsilon=rng.uniform(0.1, 2)),
        lambda: rr.mechanisms.SubsetSelection(range(8), epsilon=rng.uniform(0.1, 2)),
        lambda: COIN,
    ]
    return [(rng.choice(kinds)(), rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]


@pytest.mark.parametrize("seed", range(8))
def test_the_curve_falls_and_its_inverse_inverts(seed):
    """Delta falls in epsilon; `epsilon_at` holds, and 4 doubles below it does not."""
    rng = random.Random(seed)
    found = compose(drawn(rng))
    assert found.is_exact
    grid = [found.epsilon * share for share in (0, 0.1, 0.3, 0.6, 0.9, 1)]
    deltas = [found.delta(epsilon) for epsilon in grid]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0
    for delta in (1e-12, 1e-6, 1e-3, 0.1):
        epsilon = found.epsilon_at(delta)
        assert epsilon <= found.epsilon
        assert epsilon == found.epsilon or found.delta(epsilon) <= delta
        below = epsilon - 4 * math.ulp(epsilon)
        assert epsilon == 0 or found.delta(below) > delta


@pytest.mark.parametrize("seed", range(8))
def test_another_column_never_lowers(seed):
    """More reports have no less delta at any epsilon, in whatever order they are listed."""
    rng = random.Random(seed)
    some, more = drawn(rng), drawn(rng)
    few, many = compose(some), compose([*some, *more])
    turned = compose([*reversed(more), *some])
    for epsilon in (0.0, 0.5, 1.5):
        assert few.delta(epsilon) <= many.delta(epsilon)
        assert many.delta(epsilon) == pytest.approx(turned.delta(epsilon), rel=1e-14)
    assert few.epsilon_at(1e-5) <= many.epsilon_at(1e-5)


def test_no_information_costs_nothing():
    """Reports that say nothing have epsilon 0 and leave others as they are."""
    silent = rr.KRR([True, False], 0.5)
    assert compose([silent]).epsilon == compose([silent]).delta(0.0) == 0
    assert compose([silent, COIN]).delta(0.5) == compose([COIN]).delta(0.5)
    assert repr(compose([silent])) == "<1 report of one person: epsilon 0 in all>"


def test_proofs_are_infinite():
    """A direct answer has epsilon infinite and delta 1; a partial proof has its chance."""
    found = compose([surveys.direct(["a", "b"]), COIN])
    assert math.inf == found.epsilon == found.epsilon_at(0) == found.epsilon_at(0.99)
    assert 0 == found.epsilon_at(1)
    assert [1, 1] == [found.delta(0.0), found.delta(1e9)]
    # Triangular with 1/4: one of the two reports comes from one truth alone, with chance 3/4.
    partial = compose([DISTRIBUTIONS["forced"][0]])
    assert partial.delta(50.0) == partial.delta(math.inf) == 0.75
    assert partial.epsilon_at(0.75) < math.inf == partial.epsilon_at(0.74)
    assert [True, True, False] == found.to_frame([0.5, 1.0])["share"].isna().tolist()
    assert "epsilon inf in all" in repr(found)


def test_chances_of_proofs_multiply(on_a_grid):
    """What two designs leave unproved is the product; what a delta above pays for is tight."""
    other = surveys.triangular(["no", "yes"], 0.4, yes="yes")
    mechanisms = [DISTRIBUTIONS["forced"][0], other, (COIN, 2)]
    for found in (compose(mechanisms), on_a_grid(mechanisms)):
        unproved = Fraction(0.25) * Fraction(0.4)
        delta = found.delta(math.inf)
        assert Fraction(math.nextafter(delta, 0)) <= 1 - unproved <= Fraction(delta)
        epsilon = found.epsilon_at(0.93)
        assert 0 < epsilon < math.inf
        assert found.delta(epsilon) <= 0.93 < found.delta(epsilon - 4 * math.ulp(epsilon))


# -- rounding ------------------------------------------------------------------------------------


def exact_sums(outcomes, times):
    """The exact masses (P, Q) of every sum of losses, by multiplying out."""
    found = {Fraction(1): (Fraction(1), Fraction(1))}
    for _ in range(times):
        grown = {}
        for (ratio, (p, q)), (one, other) in itertools.product(found.items(), outcomes):
            before = grown.get(ratio * one / other, (0, 0))
            grown[ratio * one / other] = (before[0] + p * one, before[1] + q * other)
        found = grown
    return found


@pytest.mark.parametrize("mechanism", [COIN, THREE, krr(7, 0.9), rr.KRR([1, 2], 0.5)], ids=str)
@pytest.mark.parametrize("times", [1, 2, 5, 9])
def test_delta_of_equal_reports_is_rounded_up_once(mechanism, times):
    """Delta is the smallest double, or the next, above the sum over exact masses."""
    loss = privacy_loss(mechanism.channel)
    exact, found = exact_sums(loss.outcomes, times).values(), compose([(mechanism, times)])
    for epsilon in (0.0, 0.4, 1.3):
        expected = sum(max(p - grown(epsilon) * q, 0) for p, q in exact)
        delta = found.delta(epsilon)
        assert Fraction(math.nextafter(delta, 0)) <= expected <= Fraction(delta)


def test_a_curve_takes_the_reports_of_largest_loss_first():
    """Sums of the masses of Q and P, from the proof (Q = 0) to what speaks for the other."""
    masses = [(1, 5), (1, 1), (5, 2), (0, 2), (0, 0), (3, 0)]
    outcomes = [(Fraction(p, 10), Fraction(q, 10)) for p, q in masses]
    curve = [(int(10 * q), int(10 * p)) for q, p in loss_distribution._curve(outcomes)]
    assert curve == [(0, 0), (0, 3), (2, 8), (3, 9), (8, 10), (10, 10)]


def test_what_is_counted_does_not_tell_compositions_apart():
    """A note on what a frame's records count is no part of the composition."""
    plain = compose([COIN])
    assert dataclasses.replace(plain, note="of two columns") == plain
    assert dataclasses.replace(plain, max_rows_per_person=2) != plain


# -- many different mechanisms -------------------------------------------------------------------


GRIDDED = [
    [(krr(10, 0.5), 10)],
    [(krr(k, 0.1 + 0.07 * k), 2) for k in range(2, 8)],
    [(COIN, 40), (THREE, 3)],
    [(COIN, 2), DISTRIBUTIONS["forced"][0]],
    [(ODD, 3), COIN],
    [(rr.KRR(range(3), 1 - 2.0**-50), 3), COIN],
    [(krr(4, 1e-7), 5), (krr(4, 3.0), 2)],
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", GRIDDED)
def test_the_grid_is_above_the_exact_curve_and_near(on_a_grid, mechanisms):
    """Losses on a grid never understate, and overstate epsilon by less than is said."""
    exact, rough = compose(mechanisms), on_a_grid(mechanisms)
    assert 1 == sum("grid" in reason for reason in rough.bounds)
    assert rough.epsilon == math.inf or rough.delta(rough.epsilon) == 0
    for share in (0.0, 0.1, 0.45, 0.8, 0.999):
        epsilon = share * min(exact.epsilon, 30.0)
        assert exact.delta(epsilon) <= rough.delta(epsilon)
        assert rough.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-3, abs=1e-15)
    for delta in (1e-9, 1e-3, 0.4):
        low, high = exact.epsilon_at(delta), rough.epsilon_at(delta)
        assert low <= high
        # One step for each group is promised; what is lost is far less.
        (most,) = re.findall(r"adds at most ([\d.e-]+) to epsilon", " ".join(rough.bounds))
        assert low == high == math.inf or high - low < float(most) / 20


def test_many_different_columns_are_bounded_and_quick():
    """A hundred different columns have a curve, far below the sum, that says it is a bound."""
    found = compose([krr(k, 0.3 + 0.001 * k) for k in range(2, 102)])
    assert not found.is_exact
    assert ", or at most " in repr(found)
    assert found.epsilon_at(1e-6) < found.epsilon / 2
    assert found.delta(found.epsilon_at(1e-6)) <= 1e-6


def test_uneven_losses_are_bounded_where_they_are_many(monkeypatch):
    """Thousands of reports of an odd matrix are bounded by its epsilon, from above."""
    exact = compose([(ODD, 4), COIN])
    monkeypatch.setattr(loss_distribution, "_MAX_UNEVEN_REPORTS", 0)
    rough = compose([(ODD, 4), COIN])
    assert any("binary randomized response" in reason for reason in rough.bounds)
    for epsilon in (0.0, 1.0, 4.0, 8.0):
        assert exact.delta(epsilon) <= rough.delta(epsilon) <= 1
    assert rough.epsilon == exact.epsilon


def test_hundreds_of_waves_add_up_exactly():
    """A year of daily reports: the variance of the loss grows by as many, so its root counts."""
    year = compose([(krr(10, 0.1), 365)])
    assert year.is_exact
    assert year.epsilon == pytest.approx(36.5)
    # The loss of one report has mean eps (p - q) and variance eps^2 (p + q) - mean^2.
    p, q = krr(10, 0.1).prob, (1 - krr(10, 0.1).prob) / 9
    mean, spread = 36.5 * (p - q), math.sqrt(3.65 * (p + q) - 3.65 * (p - q) ** 2)
    assert mean + 3 * spread < year.epsilon_at(1e-6) < mean + 6 * spread


# -- channels and their losses -------------------------------------------------------------------


def test_a_large_odd_matrix_is_bounded_by_its_epsilon():
    """Where too many pairs of truths differ, binary randomized response stands for all."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(1, 4, (60, 60)).astype(float)
    channel = channel_of(numbers / numbers.sum(axis=0))
    loss = privacy_loss(channel)
    assert "Kairouz, Oh and Viswanath" in str(loss.bound)
    assert channel.max_likelihood_ratio == loss.outcomes[0][0] / loss.outcomes[0][1]


def test_samples_have_the_worst_sample():
    """Each person is in one sample, which is public: the curve is that of the worst sample."""
    mixed = rr.mechanisms.Samples({"dice": COIN, "cards": rr.KRR(["no", "yes"], 0.9)})
    alone = privacy_loss(rr.KRR(["no", "yes"], 0.9).channel)
    assert alone == privacy_loss(mixed.channel)


# -- tables and words ----------------------------------------------------------------------------


def test_the_table_begins_with_the_plain_sum():
    """The first row is delta 0; the others are as asked, in their order."""
    table = compose([(krr(100, 0.5), 10)]).to_frame([1e-3, 1e-6])
    assert ["delta", "epsilon", "share"] == table.columns.tolist()
    assert [0.0, 1e-3, 1e-6] == table["delta"].tolist()
    assert 1.0 == table["share"][0]
    assert table["share"][2] == pytest.approx(1.9289732451599104 / 5.0, rel=1e-6)
    assert len(compose([COIN]).to_frame()) == 4


def test_words_of_a_composition():
    """The text has the number of reports, the plain sum, and one point of the curve."""
    found = compose([(krr(10, 0.5), 10)])
    assert repr(found) == (
        "<10 reports of one person: epsilon 5 in all, or 3.898 with delta 1e-06>"
    )
    assert found == compose([(krr(10, 0.5), 10)])
    assert hash(found) == hash(compose([(krr(10, 0.5), 10)]))
    with pytest.raises(AttributeError):
        found.max_rows_per_person = 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: compose([]), ArgumentValueError, "at least one"),
        (lambda: compose("KRR"), ArgumentTypeError, "found str"),
        (lambda: compose([rr.KRR]), ArgumentTypeError, "must be mechanisms"),
        (lambda: compose((COIN, 2)), ArgumentTypeError, r"\(mechanism, times\), .* found int"),
        (lambda: compose([(COIN, 0)]), ArgumentValueError, "times must be at least 1, got 0"),
        (lambda: compose([(COIN, 1.5)]), ArgumentTypeError, "times must be a whole number"),
        (lambda: compose([COIN], max_rows_per_person=0), ArgumentValueError, "declared"),
        (lambda: compose([(COIN, 10**6)]), ArgumentValueError, "at most 100,000 reports"),
        (lambda: compose([COIN]).delta(math.nan), ArgumentValueError, "at least 0"),
        (lambda: compose([COIN]).epsilon_at(1.5), ArgumentValueError, r"in \[0, 1\]"),
        (lambda: compose([COIN]).to_frame("1e-6"), ArgumentTypeError, "must be numbers"),
        (lambda: compose([COIN]).to_frame([2.0]), ArgumentValueError, r"in \[0, 1\]"),
    ],
)
def test_what_is_refused(call, error, words):
    """Wrong arguments are named, with the rule and what was found."""
    refused(error, words, call)


# -- persons -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ["ann", "bob", "ann", "cyd", "ann"],
        [7, 8, 7, 9, 7],
        [(1, "a"), (2, "b"), (1, "a"), (3, "c"), (1, "a")],
    ],
)
def test_rows_of_a_person_are_checked_against_what_is_declared(labels):
    """Three rows of one person pass where 3 or more are declared, and raise below."""
    column = pd.Series(labels, index=[5, 5, 1, 2, 3])
    check_rows_per_person(column, 3)
    check_rows_per_person(column, 100)
    check_rows_per_person(column.astype("category"), 3)
    check_rows_per_person(pd.Series([], dtype=object), 1)
    for most in (1, 2):
        with pytest.raises(ArgumentValueError) as caught:
            check_rows_per_person(column, most)
        assert caught.value.__cause__ is None
        declared = f"a person has more rows than max_rows_per_person={most} declares; declare"
        assert str(caught.value).startswith(f"{declared} the largest number that")
        assert not any(str(label) in str(caught.value) for label in labels)


@pytest.mark.parametrize("lost", [None, math.nan, pd.NA, pd.NaT], ids=str)
def test_rows_of_nobody_are_refused(lost):
    """A missing label is no person, and is not counted as one; lists are no labels."""
    with pytest.raises(ArgumentValueError, match="must identify a person in every row"):
        check_rows_per_person(pd.Series(["ann", lost, "bob"], dtype=object), 5)
    with pytest.raises(TypeError, match="unhashable") as caught:
        check_rows_per_person(pd.Series([["secret"], ["other"]]), 5)
    assert "secret" not in str(caught.value)


# -- the budget of a frame -----------------------------------------------------------------------


def panel():
    plan = {"a": COIN, "b": THREE.then(THREE)}
    raw = pd.DataFrame({"who": [1, 1, 2, 3], "a": ["no", "yes"] * 2, "b": ["once", "often"] * 2})
    return raw.rr.privatize(plan)


def test_the_budget_of_a_frame():
    """All privatized columns, each with its rounds, times the declared rows, never the observed."""
    df = panel()
    assert df.rr.epsilon == df.rr.budget().epsilon
    found = df.rr.budget(max_rows_per_person=2, person="who")
    expected = compose([COIN, THREE.then(THREE)], max_rows_per_person=2)
    assert expected.epsilon == found.epsilon == pytest.approx(2 * df.rr.epsilon)
    assert expected.epsilon_at(1e-6) == found.epsilon_at(1e-6)
    assert ["a", "b"] == found.by_release()["name"].tolist()
    assert df.rr.budget(max_rows_per_person=3, person="who") == df.rr.budget(max_rows_per_person=3)
    refused(ArgumentValueError, "max_rows_per_person=1 declares", df.rr.budget, person="who")
    # Labels that the data hold only as a fingerprint do not matter for a budget.
    m = rr.KRR(range(500), epsilon=1.0)
    df = pd.DataFrame({"a": [3, 4]}).rr.privatize({"a": m})
    assert compose([m]).delta(0.5) == df.rr.budget().delta(0.5)


def test_a_frame_that_says_nothing_has_an_unknown_budget():
    """As for epsilon: unknown is not 0, and a column that is gone is no less spent."""
    with pytest.raises(MetadataError, match="no record of how it was privatized"):
        pd.DataFrame({"a": ["no"]}).rr.budget()
    refused(MetadataError, "that is not there", panel().drop(columns="b").rr.budget)
    refused(ArgumentValueError, "nobody", panel().rr.budget, person="nobody")
