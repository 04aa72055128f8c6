"""Numbers rounded towards privacy: logarithms of exact odds, and sums, never understated.

A double is a rational number, so odds are an exact fraction; epsilon is the absolute value of
their logarithm.  It is computed with `decimal`, whose ``ln`` and ``exp`` are correctly rounded,
enclosed between two decimals and stepped outward to a double (Ziv's strategy: twice the digits
when both ends do not round alike).  Never more than one double above the exact value.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.privacy.ranges import as_number

__all__ = ["context", "double_above", "enclose_log", "epsilon_from_odds", "total_epsilon"]


def double_above(number: Decimal | Fraction) -> float:
    """The smallest double that is not below an exact number."""
    try:
        nearest = float(number)
    except OverflowError:  # a fraction beyond all doubles
        return math.inf
    exact = Decimal(nearest) if isinstance(number, Decimal) else Fraction(nearest)
    return nearest if exact >= number else math.nextafter(nearest, math.inf)


def context(digits: int) -> decimal.Context:
    """Decimal arithmetic that no setting of the caller changes."""
    return decimal.Context(
        prec=digits,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[],
    )


def enclose_log(odds: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals around ln(odds), for odds above 1."""
    with decimal.localcontext(context(digits)):
        log = (Decimal(odds.numerator) / Decimal(odds.denominator)).ln()
        # The quotient is off by at most 10**(1-digits) relatively, hence its logarithm by
        # little more than that absolutely; the logarithm itself is correctly rounded.
        error = (1 + abs(log)) * Decimal(10) ** (3 - digits)
        return log - error, log + error


def epsilon_from_odds(odds: Fraction) -> float:
    """The tightest double not below abs(ln(odds)); infinite for odds of 0.

    odds : the worst ratio of the probabilities of one report under two truths, exact.
    """
    if odds <= 0:
        return math.inf
    if odds == 1:
        return 0.0
    if odds < 1:
        odds = 1 / odds
    digits = 40
    while True:
        low, high = enclose_log(odds, digits)
        above_low, above_high = double_above(low), double_above(high)
        if above_low == above_high:
            return above_high
        digits *= 2


def total_epsilon(epsilons: Iterable[float]) -> float:
    """The sum of several epsilons, rounded up: what they spend together on one person.

    >>> total_epsilon([0.1, 0.2])
    0.30000000000000004
    """
    if isinstance(epsilons, str | bytes) or not isinstance(epsilons, Iterable):
        raise ArgumentTypeError(
            f"epsilons must be a list of numbers, found {type(epsilons).__name__}"
        )
    parts = [as_number(e, "epsilons") for e in epsilons]
    if any(math.isnan(e) or e < 0 for e in parts):
        raise ArgumentValueError("epsilons must be numbers of at least 0")
    if math.inf in parts:
        return math.inf
    return double_above(sum(map(Fraction, parts), Fraction(0)))
