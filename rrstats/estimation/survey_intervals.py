"""Intervals of shares from a sample with a design: those of a simple random sample as informative.

The reports are taken for as many of a simple random sample as have the same variance, fewer where
that variance rests on few clusters (Korn and Graubard, 1998, with the ratio of t quantiles), and
the ordinary interval is taken for that number, whole or not.
Left alone, a variance that by luck is far too small would make the interval far too short: with
six clusters it covered 92% instead of 95%, and 87% where a rare report had varying weights.  So
no variance counts for less than that of the strata and weights by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from rrstats._checks import check_bool, check_level, check_one_of
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.inference import general_intervals
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import (
    METHOD,
    METHODS,
    Interval,
    carry,
    population_interval,
    wilson_rates,
)
from rrstats.mechanisms.channel import recode_matrix, transition_matrix

if TYPE_CHECKING:
    from rrstats.estimation.survey_estimate import SurveyEstimate

__all__ = ["effective_sizes", "share_intervals", "student", "uncut_intervals"]


_WHOLE_COUNTS = "blaker"
"""The method that is defined for whole counts only."""


def student(level: float, free: float) -> float:
    """How many standard errors an interval reaches to each side, at some degrees of freedom."""
    return float(scipy.special.stdtrit(free, (1 + level) / 2))


def effective_sizes(estimate: SurveyEstimate, level: float, free: Floats | None = None) -> Floats:
    """(k,) of how many reports of a simple random sample the intervals are; 0 for all of [0, 1].

    free : (k,) degrees of freedom, by default those of the estimate.
    """
    if estimate.degrees_of_freedom < 1 or estimate.n < 2 or not estimate.weight:
        return np.zeros(estimate.k)
    given = np.full(estimate.k, estimate.degrees_of_freedom) if free is None else free
    reach = scipy.special.stdtrit(given, (1 + level) / 2)
    simple = student(level, estimate.n - 1)
    return np.asarray(estimate.effective_n * np.minimum(1.0, (simple / reach) ** 2))


def share_intervals(
    estimate: SurveyEstimate, level: float, method: str | None, simultaneous: bool
) -> Interval:
    """(k,) intervals, see `SurveyEstimate.interval`."""
    level, rates = check_level(level), estimate.mechanism.channel.binomial_rates
    one_statement = rates.complementary if rates is not None else estimate.k == 2
    if check_bool(simultaneous, "simultaneous") and not one_statement:
        level = 1 - (1 - level) / estimate.k
    sizes = effective_sizes(estimate, level)
    if rates is None:
        return _general(estimate, level, method, sizes)
    method = check_one_of(method or METHOD, "method", METHODS)
    if method == _WHOLE_COUNTS:
        others = [name for name in METHODS if name != _WHOLE_COUNTS]
        raise ArgumentValueError(
            f"method must be one of {others} for a sample with weights or a design, got "
            f"{method!r}, which needs whole counts"
        )
    if method == "wald":
        return _wald(estimate, level)
    counts = np.where(sizes > 0, np.clip(estimate.named[1], 0, 1) * sizes, 0.0)
    ends = rates.false_positive_rate, rates.true_positive_rate
    return population_interval(counts, sizes, *ends, level=level, method=method)


def uncut_intervals(estimate: SurveyEstimate, level: float, free: Floats) -> Interval:
    """(k,) intervals that may leave [0, 1], see `SurveyEstimate.uncut_interval`; or endless."""
    channel, sizes = estimate.mechanism.channel, effective_sizes(estimate, level, free)
    endless = np.full(estimate.k, np.inf)
    if not (sizes > 0).all():
        return Interval(-endless, endless)
    if (rates := channel.binomial_rates) is not None:
        counts = np.clip(estimate.named[1], 0, 1) * sizes
        ends = rates.false_positive_rate, rates.true_positive_rate
        found = carry(wilson_rates(counts, sizes, level), *ends)
    elif not channel.is_multinomial:
        variance = np.fmax(estimate.variance, estimate.least_variance)
        reach = scipy.special.stdtrit(free, (1 + level) / 2) * np.sqrt(variance)
        found = Interval(estimate.proportions - reach, estimate.proportions + reach)
    else:
        weights, alone = estimate.cell_scores.T, np.zeros_like(channel.samples)
        counts = sizes[:, None] * estimate.cell_shares
        found = general_intervals.empirical_ends(weights, counts, alone, level)
    # No interval leaves out its estimate.
    low, high = (np.asarray(end) for end in found)
    shares = estimate.proportions
    return Interval(np.minimum(low, shares), np.maximum(high, shares))


def _general(estimate: SurveyEstimate, level: float, method: str | None, sizes: Floats) -> Interval:
    """Intervals where the counts of no category are binomial by themselves."""
    channel = estimate.mechanism.channel
    method = method or debiasing.default_method(channel)
    if method not in general_intervals.GENERAL_METHODS:
        raise ArgumentValueError(
            "the counts of this design are not binomial, so method must be one of "
            f"{list(general_intervals.GENERAL_METHODS)}, got {method!r}"
        )
    if method == "wald" or not (sizes > 0).all():
        return _wald(estimate, level)
    # The reports of all samples together, each with its own score.
    counts, scores = sizes[:, None] * estimate.cell_shares, estimate.cell_scores.T
    found = general_intervals.empirical(scores, counts, np.zeros_like(channel.samples), level)
    if method == "empirical-likelihood":
        return found
    recode = recode_matrix(channel) > 0
    ends = likelihood.profile_ends(transition_matrix(channel), counts, recode, level)
    return general_intervals.hull(found, Interval(*ends))


def _wald(estimate: SurveyEstimate, level: float) -> Interval:
    """The share and t quantiles of standard errors to both sides; [0, 1] where there are none."""
    free = estimate.degrees_of_freedom
    reach = student(level, free) * estimate.std_error if free > 0 else np.full(estimate.k, np.nan)
    known, shares = np.isfinite(reach), estimate.proportions
    return Interval(np.where(known, shares - reach, 0.0), np.where(known, shares + reach, 1.0))
