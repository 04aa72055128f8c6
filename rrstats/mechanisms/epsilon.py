"""Conversion between epsilon and probabilities, rounded towards privacy, and rounding for display.

Epsilon is abs(ln(ratio)) of the largest likelihood ratio, rounded up to a double; for k-ary
randomized response the ratio is p (k-1) / (1-p).  The inverse is the largest double p whose exact
epsilon is at most the request.  A double is a rational number, so ratios are exact fractions.
Logarithms are computed with `decimal`, whose ``ln`` and ``exp`` are correctly rounded, enclosed
between two decimals and rounded up to a double; if both ends do not round alike, the digits are
doubled (Ziv's strategy).  The result is at most one double above the exact value.

The literature calls two different numbers p.  Here ``prob`` is P(report = truth), as in OpenDP.
Derivations of k-RR from epsilon, and RAPPOR's f, use the probability d of a uniform draw that may
equal the true answer; Google's dp-accounting calls it ``noise_parameter``.  Then
prob = 1 - d (k-1)/k.
Sources: OpenDP, proof of make_randomized_response; Kairouz, Bonawitz and Ramage (2016).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from rrstats._checks import check_epsilon, check_k, check_number, check_prob
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError

LARGEST_PROB = math.nextafter(1.0, 0.0)


# -- rounded outward -------------------------------------------------------------------------


def context(digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Context:
    """A decimal context that does not depend on the caller's settings."""
    return decimal.Context(
        prec=digits,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[],
    )


def double_above(number: Decimal | Fraction) -> float:
    """The smallest double that is at least an exact number."""
    try:
        nearest = float(number)
    except OverflowError:  # a fraction beyond all doubles
        return math.inf
    exact = Decimal(nearest) if isinstance(number, Decimal) else Fraction(nearest)
    return nearest if exact >= number else math.nextafter(nearest, math.inf)


def _enclose_log(ratio: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals around ln(ratio), for a ratio above 1."""
    with decimal.localcontext(context(digits)):
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        # The quotient is off by at most 10**(1-digits) relatively, hence its logarithm by
        # little more than that absolutely; the logarithm itself is correctly rounded.
        error = (1 + abs(log)) * Decimal(10) ** (3 - digits)
        return log - error, log + error


def epsilon_from_ratio(ratio: Fraction | float) -> float:
    """The smallest double not below abs(ln(ratio)); infinite for a ratio of 0 or infinity.

    ratio : the exact ratio of the probabilities of one report under two true answers.
    """
    if ratio in (0, math.inf):
        return math.inf
    exact = Fraction(ratio)
    if exact == 1:
        return 0.0
    exact = max(exact, 1 / exact)
    digits = 40
    while True:  # never endless: the log of a rational other than 1 is irrational
        low, high = map(double_above, _enclose_log(exact, digits))
        if low == high:
            return high
        digits *= 2


def total_epsilon(epsilons: Iterable[float]) -> float:
    """Return the sum of several epsilons of one person, rounded up.

    Parameters
    ----------
    epsilons : iterable of float
        Nats, each at least 0.

    Returns
    -------
    float

    Examples
    --------
    >>> total_epsilon([0.1, 0.2])
    0.30000000000000004
    """
    parts = [check_number(e, "epsilons", 0.0, math.inf) for e in epsilons]
    if math.inf in parts:
        return math.inf
    return double_above(sum(map(Fraction, parts), Fraction(0)))


# -- epsilon and prob ------------------------------------------------------------------------


def _krr_ratio(prob: float, k: int) -> Fraction:
    exact = Fraction(prob)
    return exact * (k - 1) / (1 - exact)


@checked_keywords
def epsilon_from_prob(prob: float, k: int) -> float:
    """Return the privacy loss of k-ary randomized response, rounded up.

    Parameters
    ----------
    prob : float
        P(report = truth), in (0, 1); the double is used as an exact rational number.
    k : int
        Number of categories, at least 2.

    Returns
    -------
    float
        Epsilon in nats: the smallest double not below abs(ln(prob (k-1) / (1-prob))); abs()
        covers prob below 1/k.

    Raises
    ------
    ArgumentValueError
        For arguments outside these ranges.

    References
    ----------
    OpenDP, proof of make_randomized_response.

    Examples
    --------
    >>> epsilon_from_prob(0.75, 2)
    1.0986122886681098
    """
    k = check_k(k)
    return epsilon_from_ratio(_krr_ratio(check_prob(prob, k, lowest=0.0), k))


def largest_epsilon(k: int) -> float:
    """Return the epsilon of the largest double prob below 1, rounded up.

    Parameters
    ----------
    k : int
        Number of categories, at least 2.

    Returns
    -------
    float

    Examples
    --------
    >>> largest_epsilon(2)
    36.73680056967711
    """
    return epsilon_from_ratio(_krr_ratio(LARGEST_PROB, check_k(k)))


@checked_keywords
def prob_from_epsilon(epsilon: float, k: int) -> float:
    """Return the largest P(report = truth) whose exact epsilon is at most the request.

    Parameters
    ----------
    epsilon : float
        The privacy loss in nats, finite, at least 0.
    k : int
        Number of categories, at least 2.

    Returns
    -------
    float
        A double in [1/k, 1): e^epsilon / (e^epsilon + k - 1), rounded towards privacy.  For a
        request above `largest_epsilon` it is the largest double below 1 (`KRR` refuses that).

    Raises
    ------
    ArgumentValueError
        If no double is private enough, which happens only for an epsilon near rounding error.

    Examples
    --------
    >>> prob_from_epsilon(1.0, 2)
    0.7310585786300048
    >>> epsilon_from_prob(0.7310585786300048, 2) <= 1.0
    True
    """
    if check_epsilon(epsilon) > largest_epsilon(k):
        return LARGEST_PROB
    return krr_prob(epsilon, k)


def krr_prob(epsilon: object, k: int) -> float:
    """The prob of `prob_from_epsilon`; raises for a request above `largest_epsilon`."""
    return nearest_to_epsilon(epsilon, lambda prob: _krr_ratio(prob, k), 1 / k, LARGEST_PROB)


def nearest_to_epsilon(
    epsilon: object, ratio: Callable[[float], Fraction], most_private: float, least_private: float
) -> float:
    """The double probability whose epsilon is nearest to a request without exceeding it.

    ratio : the exact likelihood ratio of a double; it grows from ``most_private`` to
        ``least_private``, the ends of the allowed range of doubles.
    Raises ArgumentValueError for a request outside the epsilons of these ends.
    """
    request = check_epsilon(epsilon)
    smallest = epsilon_from_ratio(ratio(most_private))
    largest = epsilon_from_ratio(ratio(least_private))
    if not smallest <= request <= largest:
        raise ArgumentValueError(
            f"epsilon must be at least {smallest!r}, and the largest possible is {largest!r}, "
            f"because prob is a double; got {request!r}"
        )
    allowed = allowed_ratio(request)
    return last_double(most_private, least_private, lambda prob: ratio(prob) <= allowed)


def allowed_ratio(epsilon: float) -> Fraction:
    """The largest likelihood ratio that any design made for an epsilon may have, below e^epsilon.

    >>> epsilon_from_ratio(allowed_ratio(2.0))
    2.0
    """
    with decimal.localcontext(context(60)):
        return Fraction(Decimal(epsilon).exp().next_minus()) if epsilon else Fraction(1)


def last_double(start: float, end: float, serves: Callable[[float], bool]) -> float:
    """The double nearest to ``end`` that serves; ``start`` and all doubles up to it serve."""
    if serves(end):
        return end
    # Positive doubles have the same order as their bit patterns.
    good, bad = np.array([start, end]).view(np.int64).tolist()
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if serves(_double(middle)) else (good, middle)
    return _double(good)


def _double(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


# -- shown to people -------------------------------------------------------------------------


def round_up(value: float | Fraction, digits: int = 4) -> str:
    """A number rounded up to ``digits`` significant digits, for display.

    A fraction is used exactly.  A double is first rounded to 12 digits, so that arithmetic error
    does not matter and 3.0000000000000004 is 3.

    >>> round_up(1.0986122886681098), round_up(0.0), round_up(float("inf"))
    ('1.099', '0', 'inf')
    >>> round_up(Fraction(1.0000000000000002)), round_up(8.3e-17)
    ('1.001', '8.3e-17')
    """
    if value == 0 or value == math.inf:
        return f"{float(value):g}"
    exact = value if isinstance(value, Fraction) else Fraction(f"{value:.12g}")
    return written(rounded(exact, digits - 1 - magnitude(exact), up=True))


def loss_text(epsilon: float) -> str:
    """A privacy loss for a page: rounded up, or that it is infinite."""
    return round_up(epsilon) if epsilon < math.inf else "infinite: no protection is proven"


def magnitude(exact: Fraction) -> int:
    """The power of ten of the first digit of a positive fraction."""
    with decimal.localcontext(context(28, decimal.ROUND_FLOOR)):
        return (Decimal(exact.numerator) / Decimal(exact.denominator)).adjusted()


def rounded(exact: Fraction, places: int, *, up: bool) -> Decimal:
    """A fraction with ``places`` decimal places; one integer division, so rounded only once."""
    scaled = exact * Fraction(10) ** places
    digits = math.ceil(scaled) if up else math.floor(scaled)
    return Decimal(f"{digits}e{-places}")


def written(number: Decimal) -> str:
    """A decimal as text without trailing zeros; very large or small ones with an exponent."""
    with decimal.localcontext(context(max(28, len(number.as_tuple().digits)))):
        number = number.normalize()
    if number and not -6 <= number.adjusted() < 15:
        return f"{number:e}".replace("e+", "e")
    return f"{number:,f}"
