"""Old names of intervals where counts are not binomial, until channels ask for them elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.inference import contrasts, empirical_likelihood
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import carry, clopper_pearson_rates, score_interval
from rrstats.inference.contrasts import Interval, hull, normal_quantile

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

GENERAL_METHODS = ("profile-likelihood", "empirical-likelihood", "wald")

misfit = likelihood.is_misfit


def default_method(classes: int, cells: int, *, assuming_less: bool = False) -> str:
    """The best method that does not take minutes."""
    if classes <= 50 and not assuming_less:
        return GENERAL_METHODS[0]
    return GENERAL_METHODS[1 if classes * cells <= 1 << 20 else 2]


def profile(matrix: Floats, reported: Floats, shown: Floats, level: float) -> Interval:
    """(k,) shares that the profile likelihood does not reject."""
    return Interval(*likelihood.profile_ends(matrix, reported, shown > 0, check_level(level)))


def empirical(
    weights: Floats, reported: NDArray[Any], samples: NDArray[np.intp], level: float
) -> Interval:
    """(k,) by empirical likelihood, cut to [0, 1]."""
    low, high = empirical_ends(weights, reported, samples, level)
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))


def empirical_ends(
    weights: Floats, reported: NDArray[Any], samples: NDArray[np.intp], level: float
) -> Interval:
    """The same, not cut."""
    limit = normal_quantile(check_level(level)) ** 2
    counts = np.asarray(reported, dtype=np.float64)
    return Interval(*empirical_likelihood.mean_ends(weights, counts, limit, samples))


def mixed(counts: Floats, sizes: Floats, base: Floats, top: Floats, level: float) -> Interval:
    """(k,) the mean over everybody's scores, from binomial counts of several samples."""
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
    """The ratios in [0, 1] for which top - r bottom may be 0, by empirical likelihood."""
    used = np.isin(samples, samples[np.asarray(reported) > 0])
    places = np.unique(samples[used], return_inverse=True)[1]
    counts = np.asarray(reported, dtype=np.float64)[used]
    limit = normal_quantile(check_level(level)) ** 2
    ends = empirical_likelihood.ratio_ends(
        weights[:1, used], weights[1:, used], counts, limit, samples=places
    )
    return float(ends[0][0]), float(ends[1][0])


def wald(shares: Floats, std_error: Floats, level: float) -> Interval:
    """The estimate and a normal quantile of standard errors to both sides; not cut."""
    return contrasts.wald(shares, std_error, normal_quantile(check_level(level)))


def rows_score(shares: Floats, n: int, spread: Floats, shown: Floats, level: float) -> Interval:
    """(k,) shares among just these n rows, by the score interval, cut to [0, 1]."""
    if not n:
        return Interval(np.zeros_like(shares), np.ones_like(shares))
    own = np.where(shown > 0, spread, 0.0).max(axis=1)
    others = np.where(shown > 0, 0.0, spread).max(axis=1)
    scale = normal_quantile(check_level(level)) ** 2 / n
    found = hull(score_interval(shares, shares, own, others, scale), Interval(shares, shares))
    return Interval(np.clip(found.low, 0, 1), np.clip(found.high, 0, 1))


def ratio(
    shares: tuple[float, float], moments: Any, level: float
) -> tuple[float, float, float, float]:
    """The ratio of two estimated shares: itself, standard error, and the ends of its interval."""
    top, bottom = shares
    found = top / bottom if bottom else np.nan
    spread = contrasts.ratio_variance(found, moments)
    error = float(np.sqrt(max(spread, 0.0)) / abs(bottom)) if bottom else np.nan
    low, high = contrasts.fieller(top, bottom, moments, normal_quantile(check_level(level)) ** 2)
    return found, error, float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))
