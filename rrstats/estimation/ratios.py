"""Ratios and means of proportions, with intervals, from the moments of an estimate.

A ratio of two sums of proportions is consistent, not unbiased; its standard error is that of the
delta method.  Intervals are the hull of Fieller's (with t quantiles) and of the empirical
likelihood's, at the effective sample size; each contains its estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rrstats._typing import Floats
from rrstats.estimation.moments import LAST_DIGITS, Moments, contrast_errors
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
    moments: Moments, part: Floats, whole: Floats, level: float, *, target: str
) -> Ratio:
    """The ratio of two sums of proportions, of which the first is part of the second.

    part, whole : (k,) the weights of the proportions in each sum.
    """
    both = np.stack([part, whole])
    quantile = student_quantile(level, moments.df)
    top, bottom = (float(total) for total in both @ moments.proportions)
    if abs(bottom) <= LAST_DIGITS * np.abs(whole).max() * np.abs(moments.proportions).sum():
        bottom = 0.0  # nobody, but for rounding
    ratio = top / bottom if bottom else np.nan
    contrast = part - ratio * whole
    error, largest = (each / abs(bottom or np.nan) for each in contrast_errors(moments, contrast))
    if not np.isfinite(ratio) or moments.has_no_variance:
        return Ratio(ratio, error, 0.0, 1.0)
    ends = []
    for covariance in moments.contrast_covariances(np.vstack([both, contrast])):
        if covariance[2, 2] >= 0 or not moments.designed:
            products = covariance[[0, 0, 1], [0, 1, 1]]
            ends.append(fieller(top, bottom, tuple(products), quantile**2))
    if target == "population" and moments.is_multinomial:
        # The ratio is at most 1, so the variance is taken at a ratio inside [0, 1].
        near = part - float(np.clip(ratio, 0, 1)) * whole
        scores, counts, samples = moments.scored_sums(near, both, level)
        accepted = ratio_interval(scores[:, None], counts, samples, level)
        ends.append(Interval(*(end.item() for end in accepted)))
    low = min((end[0] for end in ends), default=0.0)
    high = max((end[1] for end in ends), default=1.0)
    return Ratio(
        ratio, error, *widen_outside(ratio, float(quantile * largest), Interval(low, high))
    )


def scaled_mean(moments: Moments, scale: Floats, level: float, *, target: str) -> Interval:
    """The interval in [0, 1] of a mean of numbers from 0 to 1.

    scale : (k,) the number of each category.
    """
    mean = float(scale @ moments.proportions)
    error = contrast_errors(moments, scale)[1]
    if moments.has_no_variance or not np.isfinite(mean + error):
        return Interval(0.0, 1.0)
    margin = float(student_quantile(level, moments.df) * error)
    ends = Interval(mean - margin, mean + margin)
    if target == "population" and moments.is_multinomial:
        both = mean_interval(*moments.scored_sums(scale, scale[None], level), level)
        ends = Interval(float(both.low[0]), float(both.high[0]))
    return widen_outside(mean, margin, ends)
