"""Delta of many independent reports at an epsilon, rounded up.

The smallest delta is the sum of (P - e^epsilon Q)_+ over all outcomes.  Losses of independent
reports add for any dependence between the true answers, and their masses (P, Q) multiply.  With few
sums of losses the curve is computed in decimals rounded outward and is exact up to the last double.
With more sums, losses are split between two points of a grid so that the sums of P and Q stay the
same; this never understates the loss, so the curve is an upper bound.
Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022) for the grid.
"""

from __future__ import annotations

import decimal
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import reduce
from itertools import accumulate, repeat
from typing import NamedTuple

import numpy as np

from rrstats._typing import Floats
from rrstats.mechanisms.epsilon import context, double_above, round_up
from rrstats.privacy.loss_distribution import Outcome, PrivacyLoss

_MAX_EXACT_SUMS = 1 << 16
"""Sums of losses that are kept one by one, in decimals: more go on a grid of doubles."""
_DECIMAL_DIGITS = 70
"""Precision of the decimals: rounding errors of all sums stay far below the last double."""
_GRID_POINTS = 1 << 18
"""The approximate number of points of the grid of all reports together."""
_NEGLIGIBLE_MASS = Decimal("1e-65")
"""Losses with less mass than this are left out of a grid and counted as infinite."""
_SUM_ERROR = 2.0**-50
"""Eight roundings: the relative error of one step of a sum of positive doubles."""


class _Masses(NamedTuple):
    """Masses of finite losses, P rounded up and Q rounded down, and P of the infinite losses."""

    p: list[Decimal]
    q: list[Decimal]
    infinite: Decimal


class DeltaCurve(NamedTuple):
    """Delta at an epsilon; for an upper bound also the reasons."""

    delta: Callable[[float], float]
    bounds: tuple[str, ...] = ()


def delta_curve(losses: Iterable[tuple[PrivacyLoss, int]]) -> DeltaCurve:
    """The curve of independent reports: each loss with the number of its reports."""
    grouped: Counter[tuple[Outcome, ...]] = Counter()
    for loss, times in losses:
        grouped[loss.outcomes] += times
    pieces: list[_Masses] = []
    for outcomes, times in grouped.items():
        loss = PrivacyLoss(outcomes)
        if loss.is_even:
            pieces.append(_power(loss, times))
        else:
            pieces += repeat(_power(loss, 1), times)
    bits = sum(math.log2(len(piece.p) or 1) for piece in pieces)
    if bits <= math.log2(_MAX_EXACT_SUMS or 0.5):
        return _exact_curve(pieces)
    return _grid_curve(pieces)


def _power(loss: PrivacyLoss, times: int) -> _Masses:
    """The masses of equal reports: one with any losses, or many with equally spaced ones."""
    sides = [[outcome[side] for outcome in loss.finite] for side in (0, 1)]
    infinite = sum((p for p, q in loss.outcomes if not q), Fraction(0))
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_FLOOR)):
        q = _side_power(sides[1], times)
        finite = _raised(1 - infinite, times)
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
        return _Masses(_side_power(sides[0], times), q, 1 - finite)


def _decimal(number: Fraction) -> Decimal:
    """A fraction, rounded as the context says."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def _raised(number: Fraction, times: int) -> Decimal:
    """A power by squaring, each step rounded as the context says."""
    power = Decimal(1)
    base = _decimal(number)
    while times:
        if times & 1:
            power *= base
        base *= base
        times >>= 1
    return power


def _side_power(masses: Sequence[Fraction], times: int) -> list[Decimal]:
    """The coefficients of (a + b z + c z^2)^n, or of fewer terms, from both ends."""
    if times == 1:
        return [_decimal(mass) for mass in masses]
    if len(masses) < 2:
        return [_raised(mass, times) for mass in masses]
    if len(masses) == 2:
        return _half_power(masses, times)
    return _half_power(masses, times) + _half_power(masses[::-1], times)[-2::-1]


def _half_power(masses: Sequence[Fraction], times: int) -> list[Decimal]:
    """The first n + 1 coefficients: k a A_k = (n-k+1) b A_(k-1) + (2n-k+2) c A_(k-2) (Euler)."""
    a, b, c = (*masses, Fraction(0))[:3]
    b_over_a = _decimal(b / a)
    c_over_a = _decimal(c / a)
    coefficients = [Decimal(0), _raised(a, times)]
    for k in range(1, times + 1):
        from_last = (times - k + 1) * b_over_a * coefficients[-1]
        from_second_last = (2 * times - k + 2) * c_over_a * coefficients[-2]
        coefficients.append((from_last + from_second_last) / k)
    return coefficients[1:]


def _product(left: _Masses, right: _Masses) -> _Masses:
    """The masses of two independent losses together."""
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_FLOOR)):
        q = [a * b for a in left.q for b in right.q]
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
        p = [a * b for a in left.p for b in right.p]
        return _Masses(p, q, left.infinite + right.infinite * (1 - left.infinite))


def _exact_curve(pieces: Sequence[_Masses]) -> DeltaCurve:
    """The curve of losses that are kept one by one: exact up to the last double."""
    p, q, infinite = reduce(_product, pieces)
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
        pairs = sorted(zip(p, q, strict=True), key=lambda pair: pair[1] / pair[0])
        p_sums = list(accumulate((mass for mass, _ in pairs), initial=infinite))
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_FLOOR)):
        q_sums = list(accumulate((mass for _, mass in pairs), initial=Decimal(0)))

    def delta(epsilon: float) -> float:
        """The smallest double that is not below the sum of (P - e^epsilon Q)_+."""
        with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
            # The exponential is rounded to nearest, and exact at 0 alone.
            minus_exp = -(Decimal(epsilon).exp().next_minus() if epsilon else Decimal(1))
            last = bisect_left(pairs, True, key=lambda pair: pair[1].fma(minus_exp, pair[0]) <= 0)
            total = q_sums[last].fma(minus_exp, p_sums[last])
        return min(double_above(total), 1.0)

    return DeltaCurve(delta)


def _grid_curve(pieces: Sequence[_Masses]) -> DeltaCurve:
    """The curve of losses on a grid that is fine enough for all pieces: an upper bound.

    All terms are positive, so a sum of doubles is off by so many ulps, and is raised by more
    (taking NumPy's ``expm1`` and ``exp`` to be within four ulps).
    """
    infinite = Decimal(0)
    parts = []
    for piece in pieces:
        losses, masses, infinite_of_piece = _finite_losses(piece)
        parts.append((losses, masses))
        with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
            infinite += infinite_of_piece * (1 - infinite)
    proof = double_above(infinite)
    if not all(len(losses) for losses, _ in parts):  # some report always proves the truth
        return DeltaCurve(lambda epsilon: proof)
    step = _grid_step([losses for losses, _ in parts])
    mass = np.ones(1)
    start = 0
    roundings = 0
    for losses, masses in parts:
        first, split = _split(losses, masses, step)
        mass = _convolved(mass, split)
        start += first
        roundings += int(np.count_nonzero(split)) + 8
    # The total that underflowed is less than 1e-300.
    mass = mass * (1 + (roundings + len(mass)) * _SUM_ERROR) + 1e-300
    # Exact, as the step is a power of two.
    places = (np.arange(len(mass)) + start) * step

    def delta(epsilon: float) -> float:
        """A double not below the sum of P (1 - e^(epsilon - loss))_+."""
        first = int(np.searchsorted(places, epsilon, side="right"))
        parts_beyond = -np.expm1(epsilon - places[first:])
        total = float(np.dot(mass[first:], parts_beyond))
        total *= 1 + (len(parts_beyond) + 8) * _SUM_ERROR
        if total:
            total = math.nextafter(total + proof, math.inf)
        return min(total or proof, 1.0)

    loose = (
        "so many different losses are put on a grid, which adds at most "
        f"{round_up(step * len(pieces), 2)} to epsilon at a given delta, usually far less"
    )
    return DeltaCurve(delta, (loose,))


def _grid_step(losses: Sequence[Floats]) -> float:
    """The distance of grid points: a power of two, so that numbers of points are exact."""
    width = sum(float(np.ptp(of_piece)) for of_piece in losses)
    largest = sum(float(np.abs(of_piece).max()) for of_piece in losses)
    # Not so fine that the number of a point is no 64-bit integer.
    return float(2.0 ** math.ceil(math.log2(max(width, largest / _GRID_POINTS) / _GRID_POINTS)))


def _finite_losses(piece: _Masses) -> tuple[Floats, Floats, Decimal]:
    """Each loss, its P, and P of the infinite losses, all rounded up."""
    with decimal.localcontext(context(_DECIMAL_DIGITS, ROUND_CEILING)):
        kept = [(p / q, p) for p, q in zip(piece.p, piece.q, strict=True) if p > _NEGLIGIBLE_MASS]
        infinite = sum((p for p in piece.p if p <= _NEGLIGIBLE_MASS), piece.infinite)
        # The logarithm is rounded to nearest.
        losses = [double_above(ratio.ln().next_plus()) for ratio, _ in kept]
    return np.array(losses), np.array([double_above(p) for _, p in kept]), infinite


def _split(losses: Floats, p: Floats, step: float) -> tuple[int, Floats]:
    """The first point of the grid and P on all points; the sums of P and Q stay the same.

    A loss l with P between the points a and b = a + h has P (1 - e^(a-l)) / (1 - e^-h) at b.
    Differences to points are exact, as the step is a power of two.
    """
    places = np.floor(losses / step).astype(np.int64)
    above = losses - places * step
    first = int(places.min())
    scale = math.expm1(-step)
    mass = np.zeros(int(places.max()) - first + 2)
    np.add.at(mass, places - first + 1, p * np.expm1(-above) / scale)
    np.add.at(mass, places - first, p * np.exp(-above) * np.expm1(above - step) / scale)
    return first, mass


def _convolved(mass: Floats, other: Floats) -> Floats:
    """The convolution, in one step for each nonzero point of the sparser argument."""
    dense, sparse = sorted([mass, other], key=np.count_nonzero, reverse=True)
    total = np.zeros(len(dense) + len(sparse) - 1)
    for place in np.flatnonzero(sparse):
        total[place : place + len(dense)] += sparse[place] * dense
    return total
