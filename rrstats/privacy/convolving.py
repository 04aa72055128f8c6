"""The privacy curve of many independent reports: delta for each epsilon, never understated.

Law: delta(t) = sum of (P - e^t Q)_+ over all outcomes, whose masses are products.
While there are few different sums of losses the product is formed as it is, in decimals rounded
outward, and the curve is exact but for the last double (`ProductCurve`); beyond that losses are
put on a grid (`grids`).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from rrstats.mechanisms.epsilon import context, double_above
from rrstats.privacy.grids import GridCurve
from rrstats.privacy.powers import DIGITS, Finite, Masses, rounded_to
from rrstats.privacy.privacy_loss import PrivacyLoss

__all__ = ["GridCurve", "ProductCurve", "privacy_curve"]

_MOST_POINTS = 1 << 16
"""So many sums of losses are kept one by one."""

_MOST_UNEVEN = 1 << 13
"""So many shifts of a grid are made for losses at unequal distances."""

_EVENED = "so many losses at unequal distances are taken for the greatest one, its opposite and 0"


def privacy_curve(laws: Sequence[tuple[PrivacyLoss, int]]) -> ProductCurve | GridCurve:
    """The curve of independent reports: each law with how many reports have it."""
    grouped: dict[tuple[tuple[Fraction, Fraction], ...], int] = {}
    for law, times in laws:
        grouped[law.outcomes] = grouped.get(law.outcomes, 0) + times
    groups = [(Finite.of(outcomes), times) for outcomes, times in grouped.items()]
    if math.prod(one.points(times) for one, times in groups) <= _MOST_POINTS:
        return ProductCurve.of([one.power(times) for one, times in groups])
    shifts = sum(len(one.outcomes) * times for one, times in groups if not one.is_even)
    if shifts <= _MOST_UNEVEN:
        return GridCurve.of(_pieces(groups))
    found = GridCurve.of(_pieces([(one.evened(), times) for one, times in groups]))
    return replace(found, bounds=(*found.bounds, _EVENED))


def _pieces(groups: Sequence[tuple[Finite, int]]) -> list[Masses]:
    """The masses of all reports, in parts that a grid takes one by one."""
    found = []
    for one, times in groups:
        size = one.piece(times)
        whole, rest = divmod(times, size)
        found += [one.power(size)] * whole + ([one.power(rest)] if rest else [])
    return found


@dataclass(frozen=True)
class ProductCurve:
    """The curve of losses that are kept one by one: exact but for the last double."""

    masses: Masses
    bounds: tuple[str, ...] = ()

    @classmethod
    def of(cls, pieces: Sequence[Masses]) -> ProductCurve:
        """The product of independent pieces."""
        p, q, infinite = [Decimal(1)], [Decimal(1)], Decimal(0)
        for piece in pieces:
            with decimal.localcontext(rounded_to(ROUND_CEILING)):
                p = [one * other for one in p for other in piece.p]
                infinite += piece.infinite * (1 - infinite)
            with decimal.localcontext(rounded_to(ROUND_FLOOR)):
                q = [one * other for one in q for other in piece.q]
        return cls(Masses(p, q, infinite))

    @cached_property
    def _prefixes(self) -> list[tuple[Decimal, Decimal]]:
        """The sums of P and Q over all losses from the greatest down to each one."""
        with decimal.localcontext(context(DIGITS)):
            pairs = sorted(
                zip(self.masses.p, self.masses.q, strict=True),
                key=lambda pair: pair[0] / pair[1],
                reverse=True,
            )
            sums = [list(accumulate(side)) for side in zip(*pairs, strict=True)]
        return list(zip(*sums, strict=True))

    def delta(self, epsilon: float) -> float:
        """The smallest double that is not below the sum of (P - e^epsilon Q)_+."""
        rounding = rounded_to(ROUND_CEILING)
        with decimal.localcontext(rounding):
            # The exponential is rounded to nearest, and exact at 0 alone.
            grown = Decimal(epsilon).exp().next_minus() if epsilon else Decimal(1)
            negative = -grown
            terms = (q.fma(negative, p) for p, q in zip(self.masses.p, self.masses.q, strict=True))
            total = sum((term for term in terms if term > 0), self.masses.infinite)
        return min(double_above(total), 1.0)

    def epsilon_at(self, delta: float) -> float:
        """The smallest double, but for the last digit, at which `delta` is not above this one."""
        if self.masses.infinite > Decimal(delta):
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        spent = Decimal(delta) - self.masses.infinite
        with decimal.localcontext(context(DIGITS)):
            found = max((p - spent) / q for p, q in self._prefixes).ln()
        epsilon = max(double_above(found), 0.0)
        step = math.ulp(epsilon)
        while self.delta(epsilon) > delta:  # what rounding to nearest left
            epsilon, step = epsilon + step, 2 * step
        return epsilon
