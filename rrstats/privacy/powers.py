"""The losses of many equal reports: masses P rounded up and Q rounded down.

Losses add and masses multiply.  Where the losses of one report are at equal distances, as those of
k-ary randomized response (epsilon, 0, -epsilon), their sums coincide.
Law: n reports of three losses have the coefficients of (a + b z + c z^2)^n, which follow one
another by positive terms up to the middle (Euler), and from the other end; of other losses, one
multinomial mass for each way of dividing the reports among them.
Computed in decimals of 70 digits: what rounding adds is far below the last digit of a double.
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from rrstats.mechanisms.epsilon import context

__all__ = ["DIGITS", "Finite", "Masses", "rounded_to"]

DIGITS = 70

_MOST_IN_PIECE = 1 << 5
"""So many sums of losses at unequal distances are put on a grid at once."""


def rounded_to(direction: str) -> decimal.Context:
    """Decimal arithmetic that rounds in one direction."""
    found = context(DIGITS)
    found.rounding = direction
    return found


@dataclass(frozen=True)
class Masses:
    """Finite losses by their masses, P from above and Q from below, and P of the infinite ones."""

    p: list[Decimal]
    q: list[Decimal]
    infinite: Decimal


@dataclass(frozen=True)
class Finite:
    """One report: its finite losses, and the chance of an infinite one."""

    outcomes: tuple[tuple[Fraction, Fraction], ...]
    infinite: Fraction

    @classmethod
    def of(cls, outcomes: tuple[tuple[Fraction, Fraction], ...]) -> Finite:
        """Of the outcomes of a `losses.PrivacyLoss`; what the truth never makes costs nothing."""
        finite = tuple((p, q) for p, q in outcomes if p and q)
        return cls(finite, sum((p for p, q in outcomes if not q), Fraction(0)))

    @cached_property
    def is_even(self) -> bool:
        """Whether losses are at equal distances, so that sums of them coincide."""
        if len(self.outcomes) != 3:
            return len(self.outcomes) < 3
        (p0, q0), (p1, q1), (p2, q2) = self.outcomes
        return p0 * p2 * q1 * q1 == q0 * q2 * p1 * p1

    def points(self, times: int) -> int:
        """How many losses so many reports have together."""
        kinds = max(len(self.outcomes), 1)
        if self.is_even:
            return (kinds - 1) * times + 1
        return math.comb(times + kinds - 1, kinds - 1)

    def piece(self, times: int) -> int:
        """How many of so many reports a grid takes at once."""
        while times > 1 and not self.is_even and self.points(times) > _MOST_IN_PIECE:
            times = (times + 1) // 2
        return times

    def evened(self) -> Finite:
        """The law above this one that has the greatest loss, its opposite and 0 alone."""
        if self.is_even:
            return self
        most = max(max(p / q, q / p) for p, q in self.outcomes)
        up, even, down = Fraction(0), Fraction(0), Fraction(0)
        for p, q in self.outcomes:
            # Split between two losses, so that the sums of P and of Q stay.
            more, less = (p, q) if p > q else (q, p)
            outer = (more - less) / (most - 1)
            even += more - most * outer
            up, down = (up + outer, down) if p > q else (up, down + outer)
        outcomes = ((most * up, up), (even, even), (down, most * down))
        return Finite(tuple((p, q) for p, q in outcomes if p), self.infinite)

    def power(self, times: int) -> Masses:
        """The masses of so many reports together."""
        form = _even_power if self.is_even else _any_power
        sides = [tuple(outcome[side] for outcome in self.outcomes) for side in (0, 1)]
        found = [
            form(side, times, rounded_to(direction)) if side else []
            for side, direction in zip(sides, (ROUND_CEILING, ROUND_FLOOR), strict=True)
        ]
        with decimal.localcontext(rounded_to(ROUND_FLOOR)):
            finite = _raised(1 - self.infinite, times)
        with decimal.localcontext(rounded_to(ROUND_CEILING)):
            return Masses(found[0], found[1], 1 - finite)


def _decimal(number: Fraction) -> Decimal:
    """A fraction, rounded as the context says."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def _raised(number: Fraction, times: int) -> Decimal:
    """A power by squaring, each step rounded as the context says."""
    result, base = Decimal(1), _decimal(number)
    while times:
        if times & 1:
            result *= base
        base, times = base * base, times >> 1
    return result


def _even_power(
    masses: tuple[Fraction, ...], times: int, rounding: decimal.Context
) -> list[Decimal]:
    """The coefficients of (a + b z + c z^2)^n, or of fewer terms, rounded in one direction."""
    with decimal.localcontext(rounding):
        if len(masses) == 1:
            return [_raised(masses[0], times)]
        a, b, c = (*masses, Fraction(0))[:3]
        first = list(_half_power(a, b, c, times))
        if len(masses) == 2:
            return first
        return first + list(_half_power(c, b, a, times))[-2::-1]


def _half_power(a: Fraction, b: Fraction, c: Fraction, times: int) -> Iterator[Decimal]:
    """The first n + 1 coefficients: k a A_k = (n-k+1) b A_(k-1) + (2n-k+2) c A_(k-2)."""
    by_one, by_two = _decimal(b / a), _decimal(c / a)
    before, last = Decimal(0), _raised(a, times)
    yield last
    for k in range(1, times + 1):
        one = (times - k + 1) * by_one * last
        two = (2 * times - k + 2) * by_two * before
        before, last = last, (one + two) / k
        yield last


def _any_power(
    masses: tuple[Fraction, ...], times: int, rounding: decimal.Context
) -> list[Decimal]:
    """The multinomial masses: one for each way of dividing n reports among the losses."""
    with decimal.localcontext(rounding):
        factors = [[Decimal(1), *[_decimal(mass)] * times] for mass in masses]
        powers = [list(accumulate(each, operator.mul)) for each in factors]
        found = [(times, Decimal(1))]
        for power in powers[:-1]:
            found = [
                (left - used, mass * math.comb(left, used) * power[used])
                for left, mass in found
                for used in range(left + 1)
            ]
        return [mass * powers[-1][left] for left, mass in found]
