"""The privacy loss of one report: what it says for one true answer against another.

A report y has chances P(y) under the truth and Q(y) under another; ln(P/Q) is its privacy loss.
Reports of equal loss tell the same, so the masses (P, Q) of each loss are all that privacy needs.
Law: a report is (t, delta)-private with delta(t) = sum of (P - e^t Q)_+, and independent reports
multiply their masses.

Of many pairs of truths, one law stands for all if its delta(t) is nowhere below theirs, for then
the same holds of every composition.  The least such law has the concave hull of the pairs' curves
(Q(S), P(S)), S any set of reports.  Where one pair has that curve by itself the law is exact; else
it is a bound.  Binary randomized response of the same epsilon is always a bound.
An answer that is replaced by a uniform one needs no law of its own: its reports mix those of the
truths, and delta of a mixture is at most the mixed deltas.
Sources: Kairouz, Oh and Viswanath (2015); Zhu, Dong and Wang (2022) for dominating pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from typing import TypeVar, cast

import numpy as np

from rrstats.mechanisms.channel import Channel, MultinomialChannel
from rrstats.mechanisms.matrix_channel import Entries
from rrstats.mechanisms.stacked_channel import StackedChannel
from rrstats.mechanisms.support_channel import SupportChannel

__all__ = ["PrivacyLoss", "privacy_loss"]

Outcome = tuple[Fraction, Fraction]
Point = tuple[Fraction, Fraction]

Number = TypeVar("Number", Fraction, float)

_FEW, _NEAR = 50, 1e-9
"""So many laws are all taken exactly; of more, those within such a distance of the hull."""

_MOST_PAIRED, _MOST_DIFFERENT = 4_000_000, 50_000
"""So many reports of pairs of truths are compared, and so many in laws that differ."""

_NO_WORST_PAIR = (
    "no pair of its true answers is the worst everywhere; the least law above all pairs"
)
_BY_EPSILON = "binary randomized response of its epsilon (Kairouz, Oh and Viswanath 2015)"


@dataclass(frozen=True)
class PrivacyLoss:
    """The masses of each privacy loss of one report, the largest loss first.

    outcomes : pairs (P, Q) of exact chances, under the truth and under another; each sums to 1.
    bound : None where some pair of truths has this law; else what stands for the pairs.

    >>> PrivacyLoss.three_points(Fraction(1, 2), Fraction(1, 4)).outcomes[0]
    (Fraction(1, 2), Fraction(1, 4))
    """

    outcomes: tuple[Outcome, ...]
    bound: str | None = None

    @classmethod
    def three_points(cls, more: Fraction, less: Fraction) -> PrivacyLoss:
        """Reports with a chance ``more`` for the one truth and ``less`` for the other, and back.

        All others are equally likely under both.
        """
        more, less = max(more, less), min(more, less)
        even = 1 - more - less
        if more == less:
            return cls(((Fraction(1), Fraction(1)),))
        middle = ((even, even),) if even else ()
        return cls(((more, less), *middle, (less, more)))

    @classmethod
    def of_ratio(cls, ratio: Fraction | float) -> PrivacyLoss:
        """Binary randomized response: above every law whose ratios are at most this one.

        ratio : as `Channel.max_likelihood_ratio`.
        """
        truth = ratio / (1 + ratio) if isinstance(ratio, Fraction) else Fraction(1)
        return cls(cls.three_points(truth, 1 - truth).outcomes, _BY_EPSILON)


def privacy_loss(channel: Channel) -> PrivacyLoss:
    """The masses of the privacy losses of one report, for the worst pair of true answers.

    Of supports every pair is alike: only whether a report supports the one or the other tells,
    and one that supports one of them alone is likelier by the likelihood ratio.  Of a matrix it is
    the least law above all pairs of classes; where they are too many, by the worst ratio.  Of
    several samples it is the least above all: each person is in one, and that is public.
    """
    if isinstance(channel, StackedChannel):
        found = [privacy_loss(part) for part in channel.parts]
        least = worst_loss([loss.outcomes for loss in found])
        if least.bound is not None:
            return least
        alike = [loss for loss in found if loss.outcomes == least.outcomes]
        return min(alike, key=lambda loss: loss.bound is not None, default=least)
    if isinstance(channel, SupportChannel):
        own, other = (
            prob - channel.pair_truth for prob in (channel.prob_truth, channel.prob_other)
        )
        ratio, worst = channel.likelihood_ratio, channel.max_likelihood_ratio
        finite = isinstance(worst, Fraction)
        if own == other * ratio if finite else not min(own, other):
            return PrivacyLoss.three_points(own, other)
        return PrivacyLoss.of_ratio(worst)  # a ratio that claims less privacy than there is
    laws = _laws(cast(MultinomialChannel, channel).entries)
    if laws is None:
        return PrivacyLoss.of_ratio(channel.max_likelihood_ratio)
    return worst_loss(laws)


def _laws(entries: Entries) -> list[list[Outcome]] | None:
    """The different laws of pairs of columns, whatever the order of the rows; None if too many."""
    m, classes = len(entries), len(entries[0])
    if m * classes**2 > _MOST_PAIRED:
        return None
    codes: dict[Fraction, int] = {}
    table = np.array([[codes.setdefault(x, len(codes)) for x in row] for row in entries])
    numbers = list(codes)
    different = set()
    for one, other in combinations(range(classes), 2):
        both = [table[:, a] * len(numbers) + table[:, b] for a, b in ((one, other), (other, one))]
        different.add(min(np.sort(law).tobytes() for law in both))
    if m * len(different) > _MOST_DIFFERENT:
        return None
    pairs = [np.divmod(np.frombuffer(law, table.dtype), len(numbers)) for law in different]
    return [[(numbers[a], numbers[b]) for a, b in zip(*pair, strict=True)] for pair in pairs]


def worst_loss(laws: Collection[Sequence[Outcome]]) -> PrivacyLoss:
    """The least law above those of several pairs of truths, each in both directions."""
    curves = [_curve(law) for law in (laws if len(laws) < _FEW else _near_the_hull(laws))]
    points = {point for curve in curves for point in curve}
    hull = _hull(points | {(1 - p, 1 - q) for q, p in points})
    alone = any(set(hull) <= set(curve) for curve in curves)
    outcomes = tuple((p - p0, q - q0) for (q0, p0), (q, p) in pairwise(hull))
    return PrivacyLoss(outcomes, None if alone else _NO_WORST_PAIR)


def _near_the_hull(laws: Collection[Sequence[Outcome]]) -> list[Sequence[Outcome]]:
    """The laws that may have a corner of the hull; doubles tell which lie below it for sure."""
    curves = []
    for law in laws:
        p, q = np.array([(float(p), float(q)) for p, q in law if p or q]).T
        order = np.argsort(-p / (p + q))
        # The last point is (1, 1) on every curve.
        x, y = np.cumsum(q[order])[:-1], np.cumsum(p[order])[:-1]
        curves.append((np.append(x, 1 - y), np.append(y, 1 - x)))
    listed = {point for x, y in curves for point in zip(x.tolist(), y.tolist(), strict=True)}
    corners = np.array(_hull({(0.0, 0.0), (1.0, 1.0), *listed}))
    # Left of a point and below: what rounding moved it by is far less, in both directions.
    return [
        law
        for law, (x, y) in zip(laws, curves, strict=True)
        if (y > np.interp(x - _NEAR, corners[:, 0], corners[:, 1]) - _NEAR).any()
    ]


def _curve(law: Iterable[Outcome]) -> list[Point]:
    """The points (Q(S), P(S)) where S takes the reports of largest loss first."""
    told = [(p, q) for p, q in law if p or q]
    # Without division: P/Q may be infinite, P/(P+Q) grows with it.
    told.sort(key=lambda outcome: outcome[0] / (outcome[0] + outcome[1]), reverse=True)
    sums = [accumulate(side, initial=Fraction(0)) for side in zip(*told, strict=True)]
    return list(zip(sums[1], sums[0], strict=True))


def _hull(points: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """The corners of the upper hull, from (0, 0) to (1, 1)."""
    corners: list[tuple[Number, Number]] = []
    for point in sorted(points):
        while len(corners) > 1 and _turns_left(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return corners


def _turns_left(
    first: tuple[Number, Number], middle: tuple[Number, Number], last: tuple[Number, Number]
) -> bool:
    """Whether the way over ``middle`` lies on or below the straight one."""
    (x0, y0), (x1, y1), (x2, y2) = first, middle, last
    return (x1 - x0) * (y2 - y0) >= (y1 - y0) * (x2 - x0)
