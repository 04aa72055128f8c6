"""Intervals where the counts of no category are binomial by themselves.

For the population, the hull of two likelihood-ratio intervals: that of the share under the
design's matrix with shares inside the simplex (`likelihood.profile_intervals`), and that of the
unbiased estimate under any law of the reports (empirical likelihood).  The first alone
covers as little as 63% where many categories are empty: the simplex pushes each of them up.
Both are kept inside [0, 1].
For just these rows, the score interval with the randomization's variance at each share, the
least favourable other answers taken for the rest.
The exact intervals are in `intervals`, and are used wherever counts are binomial.
Source: Owen (1988) for empirical likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats import likelihood
from rrstats.intervals import Interval, carry, check_level, clopper_pearson_rates

__all__ = [
    "GENERAL_METHODS",
    "default_method",
    "empirical",
    "hull",
    "misfit",
    "profile",
    "ratio",
    "rows_score",
    "wald",
]

Floats = NDArray[np.float64]

GENERAL_METHODS = ("profile-likelihood", "empirical-likelihood", "wald")
"""The methods for designs whose counts are not binomial."""

_MOST_PROFILED = 50
"""Up to so many classes the first takes less than a second."""

_MOST_CELLS = 1 << 20
"""Categories times cells.  A quarter of them took the second 10 s on one core."""

_FALSE_ALARM = 1e-9

_HALVINGS, _NEWTON_STEPS, _REFINEMENTS = 50, 12, 5


def default_method(classes: int, cells: int, *, assuming_less: bool = False) -> str:
    """The best method that does not take minutes.

    cells : of the reports.  assuming_less : whether shares may differ between samples, so that no
        likelihood of one population serves.
    """
    if classes <= _MOST_PROFILED and not assuming_less:
        return GENERAL_METHODS[0]
    return GENERAL_METHODS[1 if classes * cells <= _MOST_CELLS else 2]


def hull(first: Interval, second: Interval) -> Interval:
    """What lies in either interval or between them."""
    return Interval(np.minimum(first.low, second.low), np.maximum(first.high, second.high))


def profile(matrix: Floats, reported: Floats, shown: Floats, level: float) -> Interval:
    """(k,) shares that the profile likelihood does not reject, for the population.

    shown : (k, classes) the map from classes to categories.
    """
    codes = shown.argmax(axis=0)
    return Interval(*likelihood.profile_intervals(matrix, reported, codes, len(shown), level))


def empirical(
    weights: Floats, reported: NDArray[Any], samples: NDArray[np.intp], level: float
) -> Interval:
    """(k,) shares whose estimate no law of the reports makes unlikely, cut to [0, 1].

    weights : (k, m) the estimate is the sum of weights times the rates within each sample.
    reported : (m,) counts, or (k, m) where each category has cells of its own.
    samples : (m,) the sample of each cell; none is empty.
    At a multiplier mu the extreme law has rates counts / (alpha - mu weights), with alpha such
    that each sample's rates sum to 1 and what is left on its best cell; the likelihood ratio
    grows with mu.  Contains the unbiased estimate, and for binomials it is
    `intervals.likelihood_rates`.

    >>> found = empirical(np.eye(2), np.array([20, 30]), np.zeros(2, dtype=int), 0.95)
    >>> found.low.round(4), found.high.round(4)
    (array([0.2717, 0.4617]), array([0.5383, 0.7283]))
    """
    low, high = empirical_ends(weights, reported, samples, level)
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))


def empirical_ends(
    weights: Floats, reported: NDArray[Any], samples: NDArray[np.intp], level: float
) -> Interval:
    """The same, not cut."""
    both = np.concatenate([weights, -weights])
    counts = np.broadcast_to(np.asarray(reported, dtype=np.float64), weights.shape)
    counts = np.concatenate([counts, counts])
    member = np.eye(int(samples.max()) + 1)[samples]
    tops = np.stack([both[:, samples == s].max(axis=1) for s in range(member.shape[1])], axis=1)
    gaps, seen = tops[:, samples] - both, counts > 0

    def law(mu: Floats) -> Floats:
        """(2k, m) the extreme rates at a multiplier; they sum to at most 1."""
        slack = mu[:, None] * gaps
        # Newton from below: the sum of rates is convex and falls with alpha.  Where one cell
        # alone has rate 1 the sum is at least 1; where even 0 leaves less than 1, 0 it is.
        extra = np.zeros_like(tops)
        np.maximum.at(extra.T, samples, (counts - slack).T)
        for _ in range(_NEWTON_STEPS):
            with np.errstate(divide="ignore", invalid="ignore"):
                rates = np.where(seen, counts / (extra[:, samples] + slack), 0.0)
                over = rates @ member - 1
                fall = np.where(seen, rates**2 / counts, 0.0) @ member
                step = np.where(over > 0, over / fall, 0.0)
            extra += np.nan_to_num(step, nan=0.0, posinf=0.0)
        return np.where(seen, counts / np.maximum(extra[:, samples] + slack, 1e-300), 0.0)

    limit = scipy.special.ndtri((1 + check_level(level)) / 2) ** 2
    best = counts / np.maximum(counts @ member, 1e-300)[:, samples]
    low, high = np.full(len(both), -60.0), np.full(len(both), 60.0)  # the logarithm of mu
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rates = law(np.exp(middle))
        distance = -2 * (counts * np.log(np.where(seen, rates / np.where(seen, best, 1), 1))).sum(1)
        low = np.where(distance <= limit, middle, low)
        high = np.where(distance <= limit, high, middle)
    rates = law(np.exp(low))
    ends = (rates * both).sum(axis=1) + ((1 - rates @ member) * tops).sum(axis=1)
    k = len(weights)
    return Interval(-ends[k:], ends[:k])


def mixed(counts: Floats, sizes: Floats, base: Floats, top: Floats, level: float) -> Interval:
    """(k,) the mean over everybody's scores, from binomial counts of several samples.

    counts, base, top : (samples, k) the count of each category and its rate at a share of 0 and
        of 1.  sizes : (samples,).
    The hull of the empirical likelihood of all scores, which needs many respondents but not many
    in a sample, and of the samples' Clopper-Pearson intervals put together by their squared
    distances (MOVER), which is right where a category is rare in a few large samples.
    """
    gap, share = top - base, (sizes / sizes.sum())[:, None]
    weights = np.concatenate([(1 - base) / gap, -base / gap]).T
    both = np.concatenate([counts, sizes[:, None] - counts]).T
    found = empirical(weights, both, np.zeros(weights.shape[1], dtype=np.intp), level)
    each = carry(clopper_pearson_rates(counts, sizes[:, None], level), base, top)
    own = (counts / sizes[:, None] - base) / gap
    middle = (share * own).sum(axis=0)
    low = middle - np.sqrt(((share * (own - each.low)) ** 2).sum(axis=0))
    high = middle + np.sqrt(((share * (each.high - own)) ** 2).sum(axis=0))
    return hull(found, Interval(np.clip(low, 0, 1), np.clip(high, 0, 1)))


def ratio_ends(
    weights: Floats, reported: NDArray[Any], samples: NDArray[np.intp], level: float
) -> tuple[float, float]:
    """The ratios r in [0, 1] for which top - r bottom may be 0, by empirical likelihood.

    weights : (2, m) of the top and of the bottom.
    """
    sizes = np.maximum(np.bincount(samples, reported)[samples], 1)
    top, bottom = weights @ (reported / sizes)
    best = float(np.clip(top / bottom, 0, 1)) if bottom > 0 else 0.5
    ends = []
    for far in (0.0, 1.0):
        near, out = best, far
        for _ in range(_REFINEMENTS):
            ratios = np.linspace(near, out, 17)
            found = empirical_ends(
                weights[0] - ratios[:, None] * weights[1], reported, samples, level
            )
            refused = np.flatnonzero((found.low[1:] > 0) | (found.high[1:] < 0))
            if not refused.size:
                near = out
                break
            near, out = ratios[refused[0]], ratios[refused[0] + 1]
        ends.append(float(near))
    return ends[0], ends[1]


def wald(shares: Floats, std_error: Floats, level: float) -> Interval:
    """The estimate and a normal quantile of standard errors to both sides; not cut."""
    reach = scipy.special.ndtri((1 + check_level(level)) / 2) * std_error
    known = np.isfinite(reach)
    return Interval(np.where(known, shares - reach, 0.0), np.where(known, shares + reach, 1.0))


def rows_score(shares: Floats, n: int, spread: Floats, shown: Floats, level: float) -> Interval:
    """(k,) shares among just these n rows, by the score interval, cut to [0, 1].

    spread : (k, classes) variance of each category's score for people of a class.
    shown : (k, classes) the map from classes to categories.
    Roots in t of (share - t)^2 = z^2 / n (t own + (1 - t) others), where own and others are the
    largest variances among the classes that show a category and that do not.
    """
    if not n:
        return Interval(np.zeros_like(shares), np.ones_like(shares))
    own = np.where(shown > 0, spread, 0.0).max(axis=1)
    others = np.where(shown > 0, 0.0, spread).max(axis=1)
    z2 = scipy.special.ndtri((1 + check_level(level)) / 2) ** 2 / n
    half_b = shares + z2 * (own - others) / 2
    reach = np.sqrt(np.maximum(half_b**2 - shares**2 + z2 * others, 0.0))
    low, high = np.clip(half_b - reach, 0, 1), np.clip(half_b + reach, 0, 1)
    inside = np.clip(shares, 0, 1)
    return Interval(np.minimum(low, inside), np.maximum(high, inside))


def ratio(
    shares: tuple[float, float], moments: tuple[float, ...], level: float
) -> tuple[float, float, float, float]:
    """The ratio of two estimated shares: itself, standard error, and the ends of its interval.

    shares : the top and the bottom.  moments : variance of the top, covariance, variance of the
        bottom.
    Source: Fieller (1954): all r for which top - r bottom is within z of its standard errors.
    """
    (top, bottom), (top_variance, covariance, bottom_variance) = shares, moments
    found = top / bottom if bottom else np.nan
    spread = top_variance - 2 * found * covariance + found**2 * bottom_variance
    std_error = np.sqrt(max(spread, 0.0)) / abs(bottom) if bottom else np.nan
    z2 = scipy.special.ndtri((1 + check_level(level)) / 2) ** 2
    a, half_b = bottom**2 - z2 * bottom_variance, top * bottom - z2 * covariance
    inside = half_b**2 - a * (top**2 - z2 * top_variance)
    if not a > 0 or not inside >= 0:  # the bottom may be 0, and then the ratio anything
        return found, float(std_error), 0.0, 1.0
    low, high = (half_b - np.sqrt(inside)) / a, (half_b + np.sqrt(inside)) / a
    return found, float(std_error), float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def misfit(matrix: Floats, reported: NDArray[Any], sizes: Floats) -> bool:
    """Whether no shares explain the reports: false but once in 1e9 for right ones.

    The likelihood ratio of what was seen against the best shares exceeds a bound that holds for
    every law and every n: P(n D > x) <= (n + 1)^m exp(-x) (the method of types).
    """
    counts = np.asarray(reported, dtype=np.float64)
    seen = counts > 0
    if not seen.any():
        return False
    expected = matrix @ likelihood.most_likely(matrix, counts)
    with np.errstate(divide="ignore"):
        distance = counts[seen] @ np.log(counts[seen] / sizes[seen] / expected[seen])
    limit = np.log1p(sizes).sum() - np.log(_FALSE_ALARM)
    return bool(distance > limit)
