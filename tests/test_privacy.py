"""Epsilon is never understated and never more than one double too large; nor is its inverse."""

from __future__ import annotations

import math
import random
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rrstats as rr
from rrstats import privacy
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.epsilon import epsilon_from_prob, prob_from_epsilon, total_epsilon
from rrstats.mechanisms.support_channel import KRRChannel

# mpmath 1.4.1 at 120 digits, |ln(p (k-1) / (1-p))| with p the exact rational of the double;
# confirmed with Arb balls (python-flint, 400 bits).  k, prob, the tightest double above.
FORWARD = [
    (2, "0x1.0000000000000p-1", "0x0.0p+0"),
    (2, "0x1.0000000000001p-1", "0x1.0000000000001p-51"),
    (2, "0x1.8000000000000p-1", "0x1.193ea7aad030bp+0"),
    (2, "0x1.ccccccccccccdp-1", "0x1.193ea7aad030cp+1"),
    (2, "0x1.3333333333333p-1", "0x1.9f323ecbf984bp-2"),
    (2, "0x1.199999999999ap-1", "0x1.9af93cd234419p-3"),
    (2, "0x1.fffffffffffffp-1", "0x1.25e4f7b2737fbp+5"),
    (2, "0x1.fffffff800000p-1", "0x1.4cb5ecf069651p+4"),
    (3, "0x1.5555555555555p-2", "0x1.8000000000001p-54"),
    (3, "0x1.5555555555556p-2", "0x1.8000000000000p-53"),
    (3, "0x1.0000000000000p-1", "0x1.62e42fefa39f0p-1"),
    (3, "0x1.8000000000000p-1", "0x1.cab0bfa2a2003p+0"),
    (4, "0x1.0000000000000p-2", "0x0.0p+0"),
    (4, "0x1.0000000000001p-2", "0x1.5555555555555p-52"),
    (4, "0x1.3333333333333p-2", "0x1.015891c9eaef7p-2"),
    (4, "0x1.6666666666666p-1", "0x1.f2272ae325a57p+0"),
    (5, "0x1.999999999999ap-3", "0x1.4000000000000p-54"),
    (5, "0x1.3333333333333p-1", "0x1.cab0bfa2a2002p+0"),
    (7, "0x1.2492492492492p-3", "0x1.2aaaaaaaaaaabp-54"),
    (10, "0x1.999999999999ap-4", "0x1.1c71c71c71c72p-54"),
    (10, "0x1.0000000000000p-1", "0x1.193ea7aad030bp+1"),
    (10, "0x1.ccccccccccccdp-1", "0x1.193ea7aad030bp+2"),
    (128, "0x1.0000000000000p-7", "0x0.0p+0"),
    (1000, "0x1.0000000000000p-1", "0x1.ba084531f2627p+2"),
    (65536, "0x1.a36e2eb1c432dp-14", "0x1.e14e2f7027205p+0"),
    (1000000, "0x1.0624dd2f1a9fcp-10", "0x1.ba2909ce4f865p+2"),
    (2147483648, "0x1.12e0be826d695p-30", "0x1.8751e7b167d51p-1"),
    (9007199254740993, "0x1.0000000000000p-1", "0x1.25e4f7b2737fbp+5"),
    (4611686018427387904, "0x1.2725dd1d243acp-60", "0x1.8751e7acd0cf2p+0"),
    (3, "0x1.ffffffff24190p-1", "0x1.7b8104136b038p+4"),
    (2, "0x1.999999999999ap-4", "0x1.193ea7aad030bp+1"),
]

# The same software.  k, requested epsilon, the largest double prob >= 1/k whose exact epsilon is
# at most the request; None where there is none.
INVERSE = [
    (2, "0x1.193ea7aad030bp+0", "0x1.8000000000000p-1"),
    (2, "0x1.0624dd2f1a9fcp-10", "0x1.0020c49b78133p-1"),
    (2, "0x1.203af9ee75616p-50", "0x1.0000000000002p-1"),
    (2, "0x1.70ef54646d497p-57", "0x1.0000000000000p-1"),
    (2, "0x1.4000000000000p+2", "0x1.fc92c130538e0p-1"),
    (2, "0x1.4000000000000p+4", "0x1.ffffffee4b79ap-1"),
    (2, "0x1.2000000000000p+5", "0x1.ffffffffffffdp-1"),
    (2, "0x1.2800000000000p+5", "0x1.fffffffffffffp-1"),
    (2, "0x1.4000000000000p+5", "0x1.fffffffffffffp-1"),
    (3, "0x1.0000000000000p+0", "0x1.26f8cad57c3adp-1"),
    (3, "0x1.62e42fefa39efp-1", "0x1.fffffffffffffp-2"),
    (3, "0x0.0p+0", None),
    (3, "0x1.cd2b297d889bcp-54", "0x1.5555555555555p-2"),
    (3, "0x1.cd2b297d889bcp-53", "0x1.5555555555556p-2"),
    (4, "0x0.0p+0", "0x1.0000000000000p-2"),
    (4, "0x1.0000000000000p+0", "0x1.e6c693bb1402ap-2"),
    (4, "0x1.0000000000000p-1", "0x1.6b2c51374bfd1p-2"),
    (10, "0x1.999999999999ap-4", "0x1.bff779b9853f6p-4"),
    (10, "0x1.0000000000000p+0", "0x1.db12baa6ab23fp-3"),
    (16, "0x1.0000000000000p+1", "0x1.51f35623eead3p-2"),
    (100, "0x1.0000000000000p-1", "0x1.0c62aadd54f18p-6"),
    (128, "0x1.8000000000000p+1", "0x1.17ab1d8799c96p-3"),
    (1024, "0x1.0000000000000p+0", "0x1.5b5b71cec7e59p-9"),
    (1000000, "0x1.0000000000000p+0", "0x1.6cd74abd3ccdbp-19"),
    (1000000, "0x1.0000000000000p+3", "0x1.858f2b5701ea0p-9"),
    (2147483648, "0x1.4000000000000p+3", "0x1.5828f5a457cc9p-17"),
]

# -- exact arithmetic of our own: logarithms in fixed point, enclosed between integers ---------

SCALE = 1 << 256


def twice_atanh(numerator: int, denominator: int) -> tuple[int, int]:
    """Integers around 2 atanh(numerator / denominator) SCALE, for an argument in [0, 1/3]."""
    argument = numerator * SCALE // denominator
    square, power, total, terms = argument * argument // SCALE, argument, 0, 0
    while power:
        total += power // (2 * terms + 1)
        power = power * square // SCALE
        terms += 1
    # Each power is too small by less than 3 (its floor and those behind it), each quotient by 1
    # more; what follows the last power is below 1.
    return 2 * total, 2 * (total + 4 * terms + 1)


LN2 = twice_atanh(1, 3)


def enclose_log(odds: Fraction) -> tuple[int, int]:
    """Integers around |ln odds| SCALE: halve until below 2, then ln x = 2 atanh((x-1)/(x+1))."""
    odds = max(odds, 1 / odds)
    halvings = max(odds.numerator.bit_length() - odds.denominator.bit_length() - 1, 0)
    odds /= 2**halvings
    if odds >= 2:
        odds, halvings = odds / 2, halvings + 1
    low, high = twice_atanh(odds.numerator - odds.denominator, odds.numerator + odds.denominator)
    return low + halvings * LN2[0], high + halvings * LN2[1]


def odds_of(prob: float, k: int) -> Fraction:
    return Fraction(prob) * (k - 1) / (1 - Fraction(prob))


def is_tightest_above(epsilon: float, prob: float, k: int) -> bool:
    odds = odds_of(prob, k)
    if odds == 1:
        return epsilon == 0
    low, high = enclose_log(odds)
    below = math.nextafter(epsilon, -math.inf)
    return high <= Fraction(epsilon) * SCALE and Fraction(below) * SCALE < low


def is_at_most(prob: float, k: int, epsilon: float) -> bool:
    odds = odds_of(prob, k)
    low, high = (0, 0) if odds == 1 else enclose_log(odds)
    limit = Fraction(epsilon) * SCALE
    assert high <= limit or low > limit, "undecided: more digits needed"
    return high <= limit


def random_pairs(count: int, seed: int) -> list[tuple[int, float]]:
    """k from 2 to 2**40; probabilities anywhere, next to 1/k, and next to 0 and 1."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        k = rng.choice([2, 3, 4, 5, 7, 10, 100, int(2 ** rng.uniform(1, 40))])
        prob = rng.choice(
            [
                rng.random(),
                1 / k + rng.randint(-40, 40) * math.ulp(1 / k),
                1 / k + (1 - 1 / k) * rng.random(),
                1 - rng.randint(1, 2**20) * 2.0**-53,
                2.0 ** -rng.randint(1, 1000),
            ]
        )
        if 0 < prob < 1:
            pairs.append((k, prob))
    return pairs


# -- epsilon and prob ---------------------------------------------------------------------------


def test_our_arithmetic_encloses_known_logarithms():
    """ln 2 and ln 3 to 40 digits, and a planted fault of one unit in the 17th digit is seen."""
    for odds, known in (
        (2, "0.6931471805599453094172321214581765680755"),
        (3, "1.098612288668109691395245236922525704647"),
        (Fraction(1, 1000), "6.907755278982137052053974364053092622803"),
    ):
        low, high = enclose_log(Fraction(odds))
        assert low < Fraction(known) * SCALE + SCALE // 10**38
        assert high > Fraction(known) * SCALE - SCALE // 10**38
        assert high - low < SCALE // 10**70
    assert is_tightest_above(1.0986122886681098, 0.75, 2)
    assert not is_tightest_above(math.nextafter(1.0986122886681098, 2), 0.75, 2)
    assert not is_tightest_above(math.nextafter(1.0986122886681098, 0), 0.75, 2)


@pytest.mark.parametrize(("k", "prob", "epsilon"), FORWARD)
def test_epsilon_golden(k, prob, epsilon):
    """Epsilon is the tightest double above the exact value, as mpmath and Arb computed it."""
    assert epsilon == epsilon_from_prob(float.fromhex(prob), k).hex()


@pytest.mark.parametrize(("k", "epsilon", "prob"), INVERSE)
def test_prob_golden(k, epsilon, prob):
    """Prob is the largest double that is private enough, as mpmath and Arb computed it."""
    request = float.fromhex(epsilon)
    if prob is None:
        with pytest.raises(ArgumentValueError, match="below what a double can express"):
            prob_from_epsilon(request, k)
    else:
        assert prob == prob_from_epsilon(request, k).hex()


@pytest.mark.slow
def test_epsilon_of_random_pairs():
    """10,000 pairs: epsilon is not below the exact value, and the double below it is."""
    pairs = random_pairs(10_000, seed=1)
    assert len(pairs) > 9_500
    wrong = [(k, p) for k, p in pairs if not is_tightest_above(epsilon_from_prob(p, k), p, k)]
    assert wrong == []
    # The textbook's float formula fails the same check, so the check can fail.
    naive = [abs(math.log(p * (k - 1) / (1 - p))) for k, p in pairs]
    failing = sum(not is_tightest_above(e, p, k) for e, (k, p) in zip(naive, pairs, strict=True))
    assert failing > 1_000


@pytest.mark.slow
def test_prob_of_random_requests():
    """The largest double: its epsilon is within the request, that of the next double is not."""
    rng = random.Random(2)
    refused = largest = 0
    for _ in range(10_000):
        k = rng.choice([2, 3, 4, 5, 7, 10, 100, int(2 ** rng.uniform(1, 40))])
        request = rng.choice([rng.uniform(0, 5), rng.uniform(0, 70), 10 ** rng.uniform(-20, 0)])
        try:
            prob = prob_from_epsilon(request, k)
        except ArgumentValueError:
            refused += 1
            assert not is_at_most(1 / k, k, request)
            continue
        assert 1 / k <= prob < 1
        assert is_at_most(prob, k, request)
        following = math.nextafter(prob, 1)
        if following == 1:
            largest += 1
        else:
            assert not is_at_most(following, k, request)
    assert refused > 100
    assert largest > 100


def test_round_trip():
    """The epsilon of a prob gives that prob back: rounding up leaves room for it alone."""
    for k, prob in random_pairs(300, seed=3):
        if 1 / k <= prob < 1:
            assert prob <= prob_from_epsilon(epsilon_from_prob(prob, k), k)
            assert epsilon_from_prob(prob, k) == epsilon_from_prob(
                prob_from_epsilon(epsilon_from_prob(prob, k), k), k
            )


def test_opendp_published_epsilons():
    """OpenDP's user guide prints both: boolean, and four categories, at prob 0.75."""
    assert epsilon_from_prob(0.75, 2) == 1.0986122886681098
    # OpenDP prints 2.1972245773362196, which is the tightest double above ln 9.
    assert epsilon_from_prob(0.75, 4) == 2.1972245773362196
    assert rr.KRR(list("ABCD"), 0.75).epsilon == 2.1972245773362196


@pytest.mark.parametrize("k", [2, 3, 10, 2**31])
def test_krr_refuses_what_no_double_can_express(k):
    """prob_from_epsilon stops at the double below 1; a mechanism refuses and names the largest."""
    most = privacy.largest_epsilon(k)
    assert math.nextafter(1, 0) == prob_from_epsilon(most + 1, k)
    assert math.nextafter(1, 0) == prob_from_epsilon(1e300, k)
    if k == 2:
        assert most == 36.73680056967711
    if k <= 10:
        categories = range(k)
        assert math.nextafter(1, 0) == rr.KRR(categories, epsilon=most).prob
        with pytest.raises(ArgumentValueError, match=f"largest possible is {most!r}"):
            rr.KRR(categories, epsilon=math.nextafter(most, math.inf))


def test_epsilon_from_ratio():
    """The worst ratio of a channel, either way round; 0 stands for infinite."""
    assert math.inf == privacy.epsilon_from_ratio(Fraction(0))
    assert privacy.epsilon_from_ratio(Fraction(1)) == 0.0
    assert privacy.epsilon_from_ratio(Fraction(3)) == 1.0986122886681098
    assert privacy.epsilon_from_ratio(Fraction(1, 3)) == 1.0986122886681098


def test_total_epsilon():
    """Sums are exact and rounded up once."""
    assert total_epsilon([]) == 0.0
    assert total_epsilon([0.1, 0.2]) == 0.30000000000000004
    assert math.inf == total_epsilon([1.0, math.inf])
    assert math.inf == total_epsilon([1.7e308, 1.7e308])
    rng = random.Random(4)
    understated = 0
    for _ in range(1_000):
        parts = [rng.choice([rng.random(), 10 ** rng.uniform(-20, 2)]) for _ in range(7)]
        exact = sum(map(Fraction, parts))
        found = total_epsilon(iter(parts))
        assert exact <= Fraction(found)
        assert Fraction(math.nextafter(found, 0)) < exact
        understated += Fraction(sum(parts)) < exact
    assert understated > 100  # what a plain sum would do


# -- the other meanings of p --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (privacy.uniform_draw_from_prob, privacy.prob_from_uniform_draw),
        (privacy.noise_parameter_from_prob, privacy.prob_from_noise_parameter),
    ],
)
def test_other_meanings_round_trip(there, back):
    """From prob to a uniform draw's probability and back, within the last digits of both."""
    for k, prob in random_pairs(500, seed=5):
        if 1 / k <= prob < 1:
            draw = there(prob, k)
            assert abs(back(draw, k) - prob) <= (math.ulp(draw) + math.ulp(prob)) / 2
    for k in range(2, 60):
        assert there(1 / k, k) == pytest.approx(1, abs=2e-16)
        assert 1 / k == back(1.0, k)


def test_derivation_by_epsilon():
    """P(random draw) = k / (k-1+e^eps) is the k-RR of that epsilon.

    The derivation's numbers: k = 10, eps = ln 3 gives a draw 10/12, so prob 1/6 + 1/12 = 1/4.
    Case krr-p-q (Kairouz et al. 2016): eps = 1, k = 10 gives p and q below.
    """
    assert privacy.prob_from_uniform_draw(10 / 12, 10) == pytest.approx(0.25, rel=1e-15)
    for k in (2, 3, 10, 100):
        for epsilon in (0.1, 1.0, 3.0):
            draw = k / (k - 1 + math.exp(epsilon))
            expected = prob_from_epsilon(epsilon, k)
            assert expected == pytest.approx(privacy.prob_from_uniform_draw(draw, k), rel=1e-13)
    prob = prob_from_epsilon(1.0, 10)
    assert prob == pytest.approx(0.23196931668407395, rel=1e-12)
    assert (1 - prob) / 9 == pytest.approx(0.08533674259065845, rel=1e-12)


def test_a_rare_draw_is_not_the_whole_truth():
    """However rare the draw, prob stays below 1; the nearest double would be no privacy."""
    assert math.nextafter(1, 0) == privacy.prob_from_uniform_draw(1e-20, 2)


# -- in plain words -----------------------------------------------------------------------------


def test_posterior_cases():
    """Bayes' rule: formulas of Evfimievski, Gehrke and Srikant (2003), computed with mpmath."""
    # bayes-posterior: prior .01, eps ln 3, k = 2
    assert privacy.posterior(0.01, 3.0) == pytest.approx(0.029411764705882353, rel=1e-12)
    # bayes-k10: prior .1, eps 1, k = 10, after a report of v and after any other
    prob = prob_from_epsilon(1.0, 10)
    other = (1 - prob) / 9
    after = privacy.posterior(0.1, prob / other)
    assert after == pytest.approx(0.23196931668407395, rel=1e-12)
    after = privacy.posterior(0.1, (1 - prob) / (1 - other))
    assert after == pytest.approx(0.08533674259065845, rel=1e-12)
    # bayes-correlated: five perfectly correlated columns of eps 1, prior .5
    after = privacy.posterior(0.5, math.exp(total_epsilon([1.0] * 5)))
    assert after == pytest.approx(0.9933071490757152, rel=1e-12)
    # breach: no 5%-to-50% breach up to eps 2.944
    assert privacy.posterior(0.05, math.exp(2.9444389791664403)) == pytest.approx(0.5, rel=1e-12)
    assert privacy.posterior(0.3, 0.0) == 0.0
    assert privacy.posterior(0.3, math.inf) == 1.0


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
    for k, prob in random_pairs(300, seed=7):
        if not 1 / k <= prob < 1 or k > 1000 or odds_of(prob, k) == 1:
            continue
        prior = rng.choice([0.05, rng.uniform(0.0001, 0.9999), 10 ** rng.uniform(-9, -1)])
        mechanism = rr.KRR(range(k), prob)
        text = privacy.explain(mechanism, prior)
        found = re.findall(r"\d[\d.,]*(?:e-?\d+)?", text)
        epsilon, factor, _, high, low = (Fraction(n.rstrip(".,").replace(",", "")) for n in found)
        odds = odds_of(prob, k)
        odds = max(odds, 1 / odds)
        before = Fraction(repr(prior))
        assert epsilon >= Fraction(mechanism.epsilon)
        assert factor >= odds
        assert high / 100 >= before * odds / (before * odds + 1 - before)
        assert low / 100 <= before / (before + odds * (1 - before))
        assert epsilon <= Fraction(mechanism.epsilon) * Fraction(1001, 1000)
        assert high <= 100


def test_explain_extremes():
    """No information, no protection, and beliefs at both ends have sentences of their own."""
    nothing = privacy.explain(rr.KRR(range(4), 0.25))
    assert "Epsilon is 0" in nothing
    assert "Nothing can be estimated" in nothing
    almost = privacy.explain(rr.KRR(range(3), 1 / 3))
    assert "Epsilon is 8.327e-17" in almost
    assert "at most 1.000001." in almost

    class Direct:
        channel = KRRChannel.of(2, Fraction(1))
        epsilon = math.inf

    assert "no protection" in privacy.explain(Direct())
    surest = privacy.explain(rr.KRR([0, 1], math.nextafter(1, 0)), prior=math.nextafter(1, 0))
    assert "at most 100% afterwards" in surest
    rarest = privacy.explain(rr.KRR([0, 1], 0.75), prior=5e-324)
    assert "5e-322% before" in rarest


def test_round_up():
    """Shown numbers are not below what they show; arithmetic's last digits do not count."""
    cases = {
        1.0986122886681098: "1.099",
        2.0: "2",
        0.99999: "1",
        9.9991: "10",
        123456.0: "123,500",
        1e-9: "1e-9",
        3.0000000000000004: "3",
        0.0: "0",
        math.inf: "inf",
    }
    assert cases == {value: privacy.round_up(value) for value in cases}
    assert privacy.round_up(Fraction(1, 3), 2) == "0.34"
    assert privacy.round_up(Fraction(math.nextafter(1, 2))) == "1.001"
    assert privacy.round_up(Fraction(10**40)) == "1e40"


# -- bad input ----------------------------------------------------------------------------------

NO_NUMBERS = ["0.75", None, True, np.bool_(True), [0.75], np.array([0.75]), 1j]
NO_PROBS = [0, 1, 1.0, -0.1, 1.5, math.nan, math.inf, Decimal("NaN"), 10**400]


@pytest.mark.parametrize("prob", NO_NUMBERS)
def test_prob_must_be_a_number(prob):
    """Anything but one real number is a TypeError that names the argument."""
    for call in (epsilon_from_prob, privacy.uniform_draw_from_prob):
        with pytest.raises(ArgumentTypeError, match="prob must be a number, found"):
            call(prob, 3)


@pytest.mark.parametrize("prob", NO_PROBS)
def test_prob_must_be_a_probability(prob):
    """Probabilities outside (0, 1) are refused, with the range."""
    for call in (epsilon_from_prob, privacy.uniform_draw_from_prob, privacy.check_prob):
        with pytest.raises(ArgumentValueError, match="prob "):
            call(prob, 3)


def test_prob_below_one_kth():
    """A mechanism's prob is at least 1/k, and the message says why; epsilon itself has no need."""
    with pytest.raises(
        ArgumentValueError, match=r"\[1/3, 1\) for 3 categories, got 0.2; below 1/3"
    ):
        privacy.check_prob(0.2, 3)
    assert epsilon_from_prob(0.25, 2) == epsilon_from_prob(0.75, 2)
    with pytest.raises(ArgumentValueError, match="no privacy"):
        privacy.check_prob(1, 3)


@pytest.mark.parametrize(
    ("k", "kind"),
    [
        (1, ValueError),
        (0, ValueError),
        (-3, ValueError),
        (2.0, TypeError),
        (True, TypeError),
        ("3", TypeError),
        (None, TypeError),
        (math.nan, TypeError),
    ],
)
def test_k_must_be_a_whole_number(k, kind):
    """k is an integer of at least 2, for every function that takes one."""
    for call in (
        lambda: epsilon_from_prob(0.75, k),
        lambda: prob_from_epsilon(1.0, k),
        lambda: privacy.largest_epsilon(k),
        lambda: privacy.prob_from_uniform_draw(0.5, k),
        lambda: privacy.uniform_draw_from_prob(0.75, k),
        lambda: privacy.prob_from_noise_parameter(0.5, k),
        lambda: privacy.noise_parameter_from_prob(0.75, k),
    ):
        with pytest.raises(kind, match="k, the number of categories") as caught:
            call()
        assert isinstance(caught.value, rr.RRStatsError)


@pytest.mark.parametrize("epsilon", [-1e-9, -1, math.nan, math.inf, -math.inf])
def test_epsilon_must_be_finite(epsilon):
    """Epsilon is at least 0 and finite."""
    with pytest.raises(ArgumentValueError, match="epsilon must be a finite number of at least 0"):
        prob_from_epsilon(epsilon, 3)


def test_other_bad_input():
    """Each argument is named."""
    with pytest.raises(ArgumentTypeError, match="epsilon must be a number, found str"):
        prob_from_epsilon("1", 3)
    with pytest.raises(ArgumentValueError, match="prob_uniform_draw must be in"):
        privacy.prob_from_uniform_draw(0, 3)
    with pytest.raises(ArgumentValueError, match="prob_uniform_draw must be in"):
        privacy.prob_from_noise_parameter(1.1, 3)
    for bad, kind in (("12", TypeError), (3, TypeError), ([1, "2"], TypeError)):
        with pytest.raises(kind, match="epsilons must be"):
            total_epsilon(bad)
    for part in (-1.0, math.nan):
        with pytest.raises(ArgumentValueError, match="epsilons must be at least 0"):
            total_epsilon([1.0, part])
    for prior in (0, 1, -1, math.nan):
        with pytest.raises(ArgumentValueError, match="prior must be in"):
            privacy.posterior(prior, 3.0)
        with pytest.raises(ArgumentValueError, match="prior must be in"):
            privacy.explain(rr.KRR([0, 1], 0.75), prior)
    for odds in (-1.0, math.nan):
        with pytest.raises(ArgumentValueError, match="odds must be at least 0"):
            privacy.posterior(0.5, odds)
    for no_mechanism in (0.75, "KRR", rr.KRR, None):
        with pytest.raises(ArgumentTypeError, match="mechanism must be a mechanism"):
            privacy.explain(no_mechanism)


def test_numbers_of_other_kinds():
    """Fractions, decimals, NumPy scalars and 0-d arrays are numbers; k may be a NumPy integer."""
    expected = epsilon_from_prob(0.75, 3)
    for prob in (Fraction(3, 4), Decimal("0.75"), np.float32(0.75), np.array(0.75)):
        assert expected == epsilon_from_prob(prob, np.int64(3))
