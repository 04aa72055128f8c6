"""Ratios and means of proportions, with intervals, from the moments of an estimate.

A ratio of two sums of proportions is consistent, not unbiased; its standard error is that of the
delta method.  Intervals are the hull of Fieller's (with t quantiles) and of the empirical
likelihood's, at the effective sample size; each contains its estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rrstats._typing import Floats
from rrstats.estimation.tallies.moments import LAST_DIGITS, Moments, contrast_errors
from rrstats.inference.contrasts import (
    Interval,
    fieller,
    mean_interval,
    ratio_interval,
    student_quantile,
    widen_outside,
)


class Ratio(NamedTuple):
    """A ratio or a mean, its standard error and its interval."""

    value: float
    std_error: float
    low: float
    high: float


def ratio_of_sums(
    moments: Moments, part: Floats, total: Floats, level: float, *, target: str
) -> Ratio:
    """The ratio of two sums of proportions, of which the first is part of the second.

    part, total : (k,) the weights of the proportions in each sum.
    """
    sums = np.stack([part, total])
    quantile = student_quantile(level, moments.df)
    numerator, denominator = (float(value) for value in sums @ moments.proportions)
    terms = np.abs(total).max() * np.abs(moments.proportions).sum()
    if abs(denominator) <= LAST_DIGITS * terms:
        denominator = 0.0  # nobody, but for rounding
    ratio = numerator / denominator if denominator else np.nan
    contrast = part - ratio * total
    size = abs(denominator or np.nan)
    std_error, largest_error = (error / size for error in contrast_errors(moments, contrast))
    if not np.isfinite(ratio) or moments.has_no_variance:
        return Ratio(ratio, std_error, 0.0, 1.0)
    intervals = []
    for covariance in moments.contrast_covariances(np.vstack([sums, contrast])):
        if covariance[2, 2] >= 0 or not moments.designed:
            products = covariance[[0, 0, 1], [0, 1, 1]]
            intervals.append(fieller(numerator, denominator, tuple(products), quantile**2))
    if target == "population" and moments.is_multinomial:
        # The ratio is at most 1, so the variance is taken at a ratio inside [0, 1].
        clipped = part - float(np.clip(ratio, 0, 1)) * total
        scores, counts, samples = moments.scored_sums(clipped, sums, level)
        accepted = ratio_interval(scores[:, None], counts, samples, level)
        intervals.append(Interval(*(end.item() for end in accepted)))
    hull = Interval(
        min((interval[0] for interval in intervals), default=0.0),
        max((interval[1] for interval in intervals), default=1.0),
    )
    low, high = widen_outside(ratio, float(quantile * largest_error), hull)
    return Ratio(ratio, std_error, low, high)


def scaled_mean(moments: Moments, scale: Floats, level: float, *, target: str) -> Interval:
    """The interval in [0, 1] of a mean of numbers from 0 to 1.

    scale : (k,) the number of each category.
    """
    mean = float(scale @ moments.proportions)
    _, largest_error = contrast_errors(moments, scale)
    if moments.has_no_variance or not np.isfinite(mean + largest_error):
        return Interval(0.0, 1.0)
    margin = float(student_quantile(level, moments.df) * largest_error)
    if target == "population" and moments.is_multinomial:
        accepted = mean_interval(*moments.scored_sums(scale, scale[None], level), level)
        interval = Interval(float(accepted.low[0]), float(accepted.high[0]))
    else:
        interval = Interval(mean - margin, mean + margin)
    return widen_outside(mean, margin, interval)
