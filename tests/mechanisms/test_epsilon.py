"""Conversion between epsilon and probabilities: rounded towards privacy, never understated."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from refusals import refused

import rrstats as rr
from rrstats._checks import check_prob
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.epsilon import (
    _enclose_log,
    epsilon_from_prob,
    largest_epsilon,
    prob_from_epsilon,
    round_up,
    total_epsilon,
)

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

# -- logarithms in 150 digits, many more than a double needs ------------------------------------


def exact_log(odds: Fraction) -> Fraction:
    """|ln odds|, right in about 145 digits."""
    with localcontext() as context:
        context.prec = 150
        return abs(Fraction((Decimal(odds.numerator) / odds.denominator).ln()))


def odds_of(prob: float, k: int) -> Fraction:
    return Fraction(prob) * (k - 1) / (1 - Fraction(prob))


def is_tightest_above(epsilon: float, prob: float, k: int) -> bool:
    odds = odds_of(prob, k)
    if odds == 1:
        return epsilon == 0
    return Fraction(math.nextafter(epsilon, -math.inf)) < exact_log(odds) <= Fraction(epsilon)


def is_at_most(prob: float, k: int, epsilon: float) -> bool:
    return exact_log(odds_of(prob, k)) <= Fraction(epsilon)


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


def test_the_checks_see_one_unit_in_the_last_place():
    """ln 3 is enclosed by two doubles, of which neither neighbour is taken for the tightest."""
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
        refused(ArgumentValueError, "epsilon must be at least", prob_from_epsilon, request, k)
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
    none = largest = 0
    for _ in range(10_000):
        k = rng.choice([2, 3, 4, 5, 7, 10, 100, int(2 ** rng.uniform(1, 40))])
        request = rng.choice([rng.uniform(0, 5), rng.uniform(0, 70), 10 ** rng.uniform(-20, 0)])
        try:
            prob = prob_from_epsilon(request, k)
        except ArgumentValueError:
            none += 1
            assert not is_at_most(1 / k, k, request)
            continue
        assert 1 / k <= prob < 1
        assert is_at_most(prob, k, request)
        following = math.nextafter(prob, 1)
        if following == 1:
            largest += 1
        else:
            assert not is_at_most(following, k, request)
    assert none > 100
    assert largest > 100


@pytest.mark.parametrize("digits", [15, 20, 40])
def test_logarithms_are_enclosed(digits):
    """The two decimals have the logarithm between them, near 1 too, where it is all error."""
    for k, prob in [(2, math.nextafter(0.5, 1)), (7, 0.3), (3, 0.75), (2, math.nextafter(1, 0))]:
        low, high = _enclose_log(odds_of(prob, k), digits)
        exact = exact_log(odds_of(prob, k))
        assert Fraction(low) <= exact <= Fraction(high)
        assert high - low <= (1 + high) * Decimal(10) ** (4 - digits)


def test_opendp_published_epsilons():
    """OpenDP's user guide prints both: boolean, and four categories, at prob 0.75."""
    assert epsilon_from_prob(0.75, 2) == 1.0986122886681098
    assert epsilon_from_prob(0.75, 4) == rr.KRR(list("ABCD"), 0.75).epsilon == 2.1972245773362196


@pytest.mark.parametrize("k", [2, 3, 10, 2**31])
def test_krr_refuses_what_no_double_can_express(k):
    """prob_from_epsilon stops at the double below 1; a mechanism refuses and names the largest."""
    most = largest_epsilon(k)
    assert math.nextafter(1, 0) == prob_from_epsilon(most + 1, k)
    assert math.nextafter(1, 0) == prob_from_epsilon(1e300, k)
    if k == 2:
        assert most == 36.73680056967711
    if k <= 10:
        categories = range(k)
        assert math.nextafter(1, 0) == rr.KRR(categories, epsilon=most).prob
        with pytest.raises(ArgumentValueError, match=f"largest possible is {most!r}"):
            rr.KRR(categories, epsilon=math.nextafter(most, math.inf))


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


# -- shown to people ----------------------------------------------------------------------------


def test_round_up():
    """Shown numbers are not below what they show; arithmetic's last digits do not count."""
    cases = {
        1.0986122886681098: "1.099",
        2.0: "2",
        0.99999: "1",
        9.9991: "10",
        3.0000000000000004: "3",
        0.0: "0",
        math.inf: "inf",
    }
    assert cases == {value: round_up(value) for value in cases}
    assert round_up(Fraction(1, 3), 2) == "0.34"
    assert round_up(Fraction(math.nextafter(1, 2))) == "1.001"
    assert round_up(Fraction(10**40)) == "1e40"


def test_a_mechanism_shows_its_epsilon_rounded_up():
    """An epsilon one double above 1 is shown as 1.001, and that of a direct answer as inf."""
    prob = math.nextafter(prob_from_epsilon(1.0, 2), 1)
    assert math.nextafter(1, 2) == rr.KRR([0, 1], prob).epsilon
    assert repr(rr.KRR([0, 1], prob)).endswith("  # epsilon 1.001 per report")
    assert repr(surveys.direct([0, 1])).endswith("  # epsilon inf per report")


# -- bad input ----------------------------------------------------------------------------------

NUMBER, WHOLE = "must be a number, found", "k, the number of categories"
WRONG = [
    *((epsilon_from_prob, (p, 3), f"prob {NUMBER}") for p in ("0.75", None, True, [0.75], 1j)),
    *((check_prob, (p, 3), f"prob {NUMBER}") for p in (np.bool_(True), np.ones(1))),
    *((f, (p, 3), "prob ") for f in (epsilon_from_prob, check_prob)
      for p in (0, 1, 1.0, -0.1, 1.5, math.nan, math.inf, Decimal("NaN"), 10**400)),
    (check_prob, (0.2, 3), r"\[1/3, 1\) for 3 categories, got 0.2; below 1/3"),
    (check_prob, (1, 3), "no privacy; to set epsilon give epsilon=1$"),
    (check_prob, (2.5, 3), "write 0.025 for 2.5%; to set epsilon give epsilon=2.5$"),
    (check_prob, (75, 3), "write 0.75 for 75%$"),
    *((epsilon_from_prob, (0.75, k), WHOLE) for k in (1, 0, -3, 2.0, True, "3", None, math.nan)),
    (prob_from_epsilon, (0.5, 1), WHOLE),
    *((prob_from_epsilon, (e, 3), "epsilon must be a finite number of at least 0")
      for e in (-1e-9, -1, math.nan, math.inf, -math.inf)),
    (prob_from_epsilon, ("1", 3), f"epsilon {NUMBER} str"),
    *((total_epsilon, (bad,), "epsilons must be") for bad in ("12", [1, "2"])),
    *((total_epsilon, ([1.0, bad],), "epsilons must be at least 0") for bad in (-1.0, math.nan)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "words"), WRONG)
def test_wrong_numbers(function, arguments, words):
    """Each argument is named, with its range and what was found."""
    refused((ArgumentTypeError, ArgumentValueError), words, function, *arguments)


def test_numbers_of_other_kinds():
    """Fractions, decimals, NumPy scalars and 0-d arrays are numbers; k may be a NumPy integer."""
    expected = epsilon_from_prob(0.75, 3)
    for prob in (Fraction(3, 4), Decimal("0.75"), np.float32(0.75), np.array(0.75)):
        assert expected == epsilon_from_prob(prob, np.int64(3))
