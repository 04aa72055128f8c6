"""The privacy curve of many different reports: losses on a grid, from above.

Law: delta(t) = sum of P (1 - e^(t - loss))_+, where the chances P multiply and losses add.
What lies between two points of the grid is split between both so that P and Q keep their sums.
Whoever cannot tell the two apart sees what was there before, so the split tells more, never
less, and its delta is an upper bound.  Each group of equal reports adds at most one step of the
grid to epsilon, and only about the square of it where the grid is fine.
Rounding: all terms are positive, so a sum of doubles is off by so many ulps, and is raised by more
(taking NumPy's ``expm1`` and ``exp`` to be within four ulps).
Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022), "connect the dots".
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property

import numpy as np

from rrstats._typing import Floats
from rrstats.mechanisms.epsilon import double_above, round_up
from rrstats.privacy.powers import Masses, rounded_to

__all__ = ["GridCurve"]


_GRID = 1 << 18
"""About so many points has the grid of all reports together."""

_NEGLIGIBLE = Decimal("1e-60")
"""The mass of the rarest losses that a grid leaves out: as if they proved the truth."""

_ULPS = 2.0**-50
"""Eight roundings: what one step of a sum of positive doubles may lose, relatively."""


@dataclass(frozen=True, eq=False)
class GridCurve:
    """The curve of losses on the points of a grid: an upper bound.

    mass : P of the losses ``(start + i) step``.  infinite : P of the infinite ones.
    bounds : why it is one, a sentence for each reason.
    """

    mass: Floats
    start: int
    step: float
    infinite: float
    bounds: tuple[str, ...] = ()

    @classmethod
    def of(cls, pieces: Sequence[Masses]) -> GridCurve:
        """The convolution of independent pieces, on a grid that is fine enough for all."""
        infinite, lists = Decimal(0), []
        for piece in pieces:
            losses, lost = _losses(piece)
            lists.append(losses)
            with decimal.localcontext(rounded_to(ROUND_CEILING)):
                infinite += lost * (1 - infinite)
        if not all(lists):  # some report always proves the truth
            return cls(np.zeros(1), 0, 1.0, double_above(infinite))
        step = _step(lists)
        mass, start, steps = np.ones(1), 0, 0
        for losses in lists:
            first, split = _split(losses, step)
            mass, start = _convolved(mass, split), start + first
            steps += int(np.count_nonzero(split)) + 8
        slack = 1 + (steps + len(mass)) * _ULPS
        # What underflowed on the way is less than this.
        mass = mass * slack + 1e-300
        loose = (
            "so many different losses are put on a grid, which adds at most "
            f"{round_up(step * len(pieces), 2)} to epsilon at a given delta, usually far less"
        )
        return cls(mass, start, step, double_above(infinite), (loose,))

    @cached_property
    def _places(self) -> Floats:
        """The losses; exact, as the step is a power of two."""
        numbers = np.arange(len(self.mass)) + self.start
        return np.asarray(numbers * self.step, dtype=np.float64)

    def delta(self, epsilon: float) -> float:
        """A double not below the sum of P (1 - e^(epsilon - loss))_+."""
        first = int(np.searchsorted(self._places, epsilon, side="right"))
        told = -np.expm1(epsilon - self._places[first:])
        total = float(np.dot(self.mass[first:], told)) * (1 + (len(told) + 8) * _ULPS)
        if total:
            total = math.nextafter(total + self.infinite, math.inf)
        return min(total or self.infinite, 1.0)

    def epsilon_at(self, delta: float) -> float:
        """A double at which `delta` is not above this one, by bisection."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(float(self._places[-1]), 0.0)
        if self.delta(high) > delta:
            return math.inf
        while (middle := low + (high - low) / 2) not in (low, high):
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def _step(lists: Sequence[Sequence[tuple[Decimal, Decimal]]]) -> float:
    """The distance of two points of a grid for all losses: a power of two."""
    width = sum(float(losses[0][0] - losses[-1][0]) for losses in lists)
    largest = sum(float(max(abs(losses[0][0]), abs(losses[-1][0]))) for losses in lists)
    # Not so fine that the number of a point is no whole number of 64 bits.
    return 2.0 ** math.ceil(math.log2(max(width, largest / _GRID) / _GRID))


def _losses(piece: Masses) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """Each loss with its P, the greatest first, and P of the infinite ones, from above.

    The rarest ones at the top count as infinite, those at the bottom as the next.
    """
    rounding = rounded_to(ROUND_CEILING)
    with decimal.localcontext(rounding):
        pairs = [(p / q, p) for p, q in zip(piece.p, piece.q, strict=True)]
        pairs.sort(reverse=True)
        top, bottom = Decimal(0), Decimal(0)
        while len(pairs) > 1 and bottom + pairs[-1][1] <= _NEGLIGIBLE:
            bottom += pairs.pop()[1]
        kept = 0
        while kept < len(pairs) - 1 and top + pairs[kept][1] <= _NEGLIGIBLE:
            top += pairs[kept][1]
            kept += 1
        pairs = pairs[kept:]
        if pairs:
            pairs[-1] = (pairs[-1][0], pairs[-1][1] + bottom)
        # The logarithm is rounded to nearest.
        return [(ratio.ln().next_plus(), p) for ratio, p in pairs], piece.infinite + top


def _split(losses: Sequence[tuple[Decimal, Decimal]], step: float) -> tuple[int, Floats]:
    """The first point of the grid, and P on all of them, where P and Q keep their sums.

    A loss l with P between the points a and b = a + h has P (1 - e^(a-l)) / (1 - e^-h) at b.
    """
    exact = Decimal(step)
    with decimal.localcontext(rounded_to(ROUND_FLOOR)):
        lows = [int((loss / exact).to_integral_value()) for loss, _ in losses]
        ends = [(low * exact, (low + 1) * exact) for low in lows]
        distances = [
            (float(loss - low), float(max(high - loss, Decimal(0))))
            for (loss, _), (low, high) in zip(losses, ends, strict=True)
        ]
    above, below = np.array(distances).T
    p = np.array([double_above(p) for _, p in losses])
    places = np.array(lows, dtype=np.int64)
    first = int(places.min())
    mass = np.zeros(int(places.max()) - first + 2)
    whole = math.expm1(-step)
    np.add.at(mass, places - first + 1, p * np.expm1(-above) / whole)
    np.add.at(mass, places - first, p * np.exp(-above) * np.expm1(-below) / whole)
    return first, mass


def _convolved(mass: Floats, other: Floats) -> Floats:
    """The convolution, in as many steps as the shorter has points other than 0."""
    if np.count_nonzero(other) > np.count_nonzero(mass):
        mass, other = other, mass
    found = np.zeros(len(mass) + len(other) - 1)
    for place in np.flatnonzero(other):
        found[place : place + len(mass)] += other[place] * mass
    return found
