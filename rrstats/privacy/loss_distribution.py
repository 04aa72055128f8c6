"""Distribution of the privacy loss of one report, for the worst pair of true answers.

The privacy loss of a report is ln(P/Q), P and Q its probabilities under two true answers.  A
distribution bounds several pairs of true answers if its delta is nowhere below theirs.
Source: Zhu, Dong and Wang (2022) for dominating pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations, pairwise

from rrstats.mechanisms.channel import Channel, Entries, SupportChannel, multinomial
from rrstats.mechanisms.matrix_channel import StackedChannel

Outcome = tuple[Fraction, Fraction]
Point = tuple[Fraction, Fraction]

_MAX_UNEVEN_REPORTS = 1000
"""Reports of one matrix with uneven losses that are composed with their own losses: each of them
is a convolution of its own."""
_MAX_PAIRED_ENTRIES = 1_000_000
"""Entries of all pairs of columns of a matrix: comparing more of them takes seconds."""
_MAX_HULL_POINTS = 20_000
"""Points of the curves of different pairs: their hull is computed in fractions."""

_NO_WORST_PAIR = (
    "no pair of its true answers is the worst everywhere; a distribution that bounds all pairs"
)
_BY_EPSILON = "binary randomized response of its epsilon (Kairouz, Oh and Viswanath 2015)"


@dataclass(frozen=True)
class PrivacyLoss:
    """The masses (P, Q) of each privacy loss of one report, the largest loss first.

    One distribution bounds all pairs of true answers if its delta is nowhere below theirs.  The
    smallest such distribution has the concave hull of the pairs' curves (Q(S), P(S)), S any set of
    reports.  It is exact if one pair has that curve; ``bound`` is then None, otherwise the name of
    the distribution.  The report of an answer that was replaced by a uniform one is a mixture of
    the true answers' reports, and the delta of a mixture is at most the mixture of the deltas.
    """

    outcomes: tuple[Outcome, ...]
    bound: str | None = None

    @classmethod
    def three_points(cls, more: Fraction, less: Fraction) -> PrivacyLoss:
        """Reports with these probabilities under two true answers; all others are equal."""
        if more == less:
            return cls(((Fraction(1), Fraction(1)),))
        if more < less:
            more, less = less, more
        equal = 1 - more - less
        middle = ((equal, equal),) if equal else ()
        return cls(((more, less), *middle, (less, more)))

    @classmethod
    def of_ratio(cls, ratio: Fraction | float) -> PrivacyLoss:
        """Binary randomized response, which bounds every distribution with at most this ratio."""
        truth = ratio / (1 + ratio) if isinstance(ratio, Fraction) else Fraction(1)
        return cls(cls.three_points(truth, 1 - truth).outcomes, _BY_EPSILON)

    @property
    def finite(self) -> list[Outcome]:
        """The outcomes of finite loss; outcomes with P = 0 cost nothing."""
        return [(p, q) for p, q in self.outcomes if p and q]

    @property
    def is_even(self) -> bool:
        """True if the losses are equally spaced, so that their sums coincide."""
        if len(self.finite) != 3:
            return len(self.finite) < 3
        (p0, q0), (p1, q1), (p2, q2) = self.finite
        return p0 * p2 * q1 * q1 == q0 * q2 * p1 * p1


def privacy_loss(channel: Channel, times: int = 1) -> PrivacyLoss:
    """The masses of the privacy losses of one report, for the worst pair of true answers.

    In a SupportChannel all pairs are alike: only the support of the two categories matters.
    For a matrix it is the smallest distribution above all pairs of classes, or with too many pairs
    that of the worst ratio.  In a StackedChannel the sample of each person is public.
    times : the number of such reports; for too many with uneven losses the worst ratio is used.
    """
    ratio = channel.max_likelihood_ratio
    if isinstance(channel, SupportChannel):
        both = channel.pair_truth
        return PrivacyLoss.three_points(channel.prob_truth - both, channel.prob_other - both)
    if isinstance(channel, StackedChannel):
        parts = [privacy_loss(part) for part in channel.parts]
        loss = worst_loss([part.outcomes for part in parts])
        bounds = filter(None, (loss.bound, *(part.bound for part in parts)))
        loss = PrivacyLoss(loss.outcomes, next(bounds, None))
    else:
        pairs = _different_pairs(multinomial(channel).entries)
        loss = worst_loss(pairs) if pairs else PrivacyLoss.of_ratio(ratio)
    if loss.is_even or times <= _MAX_UNEVEN_REPORTS:
        return loss
    return PrivacyLoss.of_ratio(ratio)


def _different_pairs(entries: Entries) -> list[tuple[Outcome, ...]]:
    """The pairs of columns that differ up to the order of the rows; empty if too many."""
    if len(entries) * len(entries[0]) ** 2 > _MAX_PAIRED_ENTRIES:
        return []
    columns = zip(*entries, strict=True)
    pairs = (tuple(zip(a, b, strict=True)) for a, b in combinations(columns, 2))
    different = {frozenset(Counter(pair).items()): pair for pair in pairs}
    if len(entries) * len(different) > _MAX_HULL_POINTS:
        return []
    return list(different.values())


def worst_loss(pairs: Sequence[Sequence[Outcome]]) -> PrivacyLoss:
    """The smallest distribution above those of pairs of true answers, in both directions."""
    curves = [_curve(pair) for pair in pairs]
    points = {point for curve in curves for point in curve}
    hull = _hull(points | {(1 - p, 1 - q) for q, p in points})
    is_one_pair = any(set(hull) <= set(curve) for curve in curves)
    outcomes = tuple((p - p0, q - q0) for (q0, p0), (q, p) in pairwise(hull))
    return PrivacyLoss(outcomes, None if is_one_pair else _NO_WORST_PAIR)


def _curve(outcomes: Iterable[Outcome]) -> list[Point]:
    """The points (Q(S), P(S)) where S takes the reports of largest loss first."""
    possible = [(p, q) for p, q in outcomes if p or q]
    # Without division: P/Q may be infinite, P/(P+Q) grows with it.
    possible.sort(key=lambda outcome: outcome[0] / (outcome[0] + outcome[1]), reverse=True)
    p_sums, q_sums = (
        accumulate(masses, initial=Fraction(0)) for masses in zip(*possible, strict=True)
    )
    return list(zip(q_sums, p_sums, strict=True))


def _hull(points: Iterable[Point]) -> list[Point]:
    """The corners of the upper hull, from (0, 0) to (1, 1)."""
    corners: list[Point] = []
    for x2, y2 in sorted(points):
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (x1 - x0) * (y2 - y0) < (y1 - y0) * (x2 - x0):
                break
            corners.pop()
        corners.append((x2, y2))
    return corners
