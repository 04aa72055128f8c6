"""Intervals where the counts of no category are binomial by themselves.

For the population, the profile likelihood under the design's matrix: inside [0, 1], of nearly
its nominal coverage (figures in `likelihood`).  For just these rows, the score interval with
the randomization's variance at each share, the least favourable other answers taken for the
rest.  Where there is no matrix, Wald's interval from the standard error.
The exact intervals are in `intervals`, and are used wherever counts are binomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rrstats import likelihood
from rrstats.intervals import Interval, check_level

__all__ = ["GENERAL_METHODS", "misfit", "profile", "ratio", "rows_score", "wald"]

Floats = NDArray[np.float64]

GENERAL_METHODS = ("profile-likelihood", "wald")
"""The methods for designs whose counts are not binomial; the first is the default."""

_FALSE_ALARM = 1e-9


def profile(
    matrix: Floats, reported: Floats, shown: Floats, shares: Floats, level: float
) -> Interval:
    """(k,) shares that the profile likelihood does not reject, for the population.

    shown : (k, classes) the map from classes to categories.  shares : (k,) the unbiased
    estimates; one inside [0, 1] belongs to its interval, also where it is not the likeliest.
    """
    codes = shown.argmax(axis=0)
    low, high = likelihood.profile_intervals(matrix, reported, codes, len(shown), level)
    inside = np.clip(shares, 0, 1)
    return Interval(np.minimum(low, inside), np.maximum(high, inside))


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
