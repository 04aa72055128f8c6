"""Unbiased proportions and their variance from counts of reports: functions of any channel.

Counts are those of the m cells that a tally has, of n reports; in several samples they say how
large each sample is.  ``target`` is whom the statement is about, see `mechanisms.channel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.errors import ArgumentValueError
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import (
    METHOD,
    Interval,
    carry,
    clopper_pearson_rates,
    implausible_counts,
)
from rrstats.inference.contrasts import cut_to_unit, hull
from rrstats.inference.empirical_likelihood import mean_interval
from rrstats.mechanisms.channel import (
    BinomialRates,
    Channel,
    check_target,
    has_latent_classes,
    recode_matrix,
    transition_matrix,
)
from rrstats.mechanisms.matrix_channel import score_covariance
from rrstats.mechanisms.stacked_channel import StackedChannel, covariance_within
from rrstats.mechanisms.support_channel import KRRChannel, SupportChannel, report_variance

__all__ = [
    "GENERAL_METHODS",
    "check_possible",
    "condition_number",
    "covariance",
    "debias",
    "default_method",
    "empirical_interval",
    "has_scores",
    "implausible",
    "most_likely",
    "sample_sizes",
    "score_variances",
    "variance",
    "weights",
]

GENERAL_METHODS = ("profile-likelihood", "empirical-likelihood", "wald")
"""Methods of intervals where counts are not binomial."""


def sample_sizes(channel: Channel, counts: NDArray[Any], n: int) -> Floats:
    """(m,) the size of each cell's sample; n where there is one."""
    samples = channel.samples
    if isinstance(channel, StackedChannel):
        return np.asarray(np.bincount(samples, counts)[samples], dtype=np.float64)
    return np.full(len(samples), float(n))


def check_possible(channel: Channel, counts: NDArray[Any]) -> None:
    """Raise ArgumentValueError for counts of reports that the design never makes."""
    if isinstance(channel, SupportChannel):
        return
    never = int(np.asarray(counts)[~transition_matrix(channel).any(axis=1)].sum())
    if never:
        raise ArgumentValueError(
            f"{never} of {int(np.sum(counts))} counts hold reports that this design never "
            "makes; give the mechanism that made them"
        )


def _solve(channel: Channel, rates: Floats, sizes: Floats) -> Floats:
    if isinstance(channel, StackedChannel):
        return channel.solve(np.nan_to_num(rates), sizes)
    return channel.solve(rates)


def debias(channel: Channel, counts: NDArray[Any], n: int) -> Floats:
    """(k,) unbiased true proportions; NaN where there are too few reports."""
    check_possible(channel, counts)
    sizes = sample_sizes(channel, counts, n)
    with np.errstate(invalid="ignore"):
        return _solve(channel, np.asarray(counts) / sizes, sizes)


def weights(channel: Channel, counts: NDArray[Any]) -> Floats:
    """(k, m) the estimate is ``weights @ (rates within each sample)``.

    counts : of which only the sizes of the samples matter.
    """
    sizes = sample_sizes(channel, counts, 1)
    return np.asarray(_solve(channel, np.eye(len(sizes)), sizes).T)


def variance(channel: Channel, counts: NDArray[Any], n: int, target: str, ddof: int = 1) -> Floats:
    """(k,) the estimated variance of `debias`, in O(k) where counts are binomial."""
    if isinstance(channel, StackedChannel) or has_latent_classes(channel):
        return np.maximum(np.diagonal(covariance(channel, counts, n, target, ddof)), 0.0)
    proportions = debias(channel, counts, n)
    return report_variance(channel, proportions, target) / _divisor(n, target, ddof)


def covariance(
    channel: Channel, counts: NDArray[Any], n: int, target: str, ddof: int = 1
) -> Floats:
    """(k, k) the estimated covariance of `debias`, over n - ddof respondents or n rows."""
    if isinstance(channel, StackedChannel):
        stacked = _separable_covariance if channel.is_separable else _joint_covariance
        return stacked(channel, np.asarray(counts), n, target, ddof)
    proportions = debias(channel, counts, n)
    if has_latent_classes(channel):  # they do not follow from the categories; the rates are known
        scores = channel.scores(np.arange(len(channel.samples)))
        with np.errstate(invalid="ignore"):
            rates = np.asarray(counts) / np.float64(n)
        return score_covariance(scores, rates, target) / _divisor(n, target, ddof)
    return channel.covariance(proportions, target) / _divisor(n, target, ddof)


def _divisor(n: int, target: str, ddof: int) -> float:
    """The divisor of a variance, NaN where that is nobody."""
    size = n - ddof if check_target(target) == "population" else n
    return float(size) if size > 0 else np.nan


def _split(channel: StackedChannel, counts: NDArray[Any]) -> list[tuple[Channel, Floats, int]]:
    """Each part with its counts and the size of its sample."""
    blocks = channel.split(counts)
    sizes = [round(float(block.sum())) for block in blocks]
    return list(zip(channel.parts, blocks, sizes, strict=True))


def _separable_covariance(
    channel: StackedChannel, counts: NDArray[Any], n: int, target: str, ddof: int
) -> Floats:
    """Of samples that stand alone: the covariance of all scores over n - ddof.

    For the population that takes differences between samples for noise.
    """
    rows = check_target(target) == "rows"
    if not n or (not rows and n <= ddof):
        return np.full((channel.k, channel.k), np.nan)
    total = np.zeros((channel.k, channel.k))
    for part, block, size in _split(channel, counts):
        if not size:
            continue
        within = covariance(part, block, size, target, 0) * size
        mean = debias(part, block, size)
        total += size * (within if rows else within + np.outer(mean, mean))
    if rows:
        return total / n**2
    mean = debias(channel, counts, n)
    return (total / n - np.outer(mean, mean)) / (n - ddof)


def _joint_covariance(
    channel: StackedChannel, counts: NDArray[Any], n: int, target: str, ddof: int
) -> Floats:
    """Of samples that need one another: the sum over samples, each over its size less ddof.

    Among just these rows, where people came into samples by chance, less what sampling the rows
    themselves would add: Neyman (1923), with the product of proportions less the variance it holds.
    """
    rows = check_target(target) == "rows"
    sizes = sample_sizes(channel, counts, n)
    scale = weights(channel, counts)
    each = sizes[list(channel.bounds[:-1])] - (1 if rows else ddof)
    used = [bool(part.any()) for part in channel.split(scale)]
    each[~np.array(used)] = np.inf  # a sample that is not needed adds nothing
    total = np.full((channel.k, channel.k), np.nan)
    if (each > 0).all():
        rates = np.asarray(counts) / np.maximum(sizes, 1)
        total = covariance_within(scale, rates, channel.samples, each)
    if not rows:
        return total
    mean = debias(channel, counts, n)
    return ((n - 1) * total - np.diag(mean) + np.outer(mean, mean)) / max(n, 1)


# -- more of a channel -----------------------------------------------------------------------


def has_scores(channel: Channel) -> bool:
    """Whether a single report has a score: not where samples need one another."""
    return not isinstance(channel, StackedChannel) or channel.is_separable


def score_variances(channel: Channel, counts: NDArray[Any]) -> Floats | None:
    """(k, classes) variance of the scores of people of one class; None without `has_scores`.

    counts : of which only the sizes of the samples matter.
    """
    if not has_scores(channel):
        return None
    if isinstance(channel, StackedChannel):
        split = _split(channel, counts)
        n = max(sum(size for *_, size in split), 1)
        parts = [(score_variances(part, block), size / n) for part, block, size in split]
        return np.asarray(sum(own * share for own, share in parts if own is not None))
    if isinstance(channel, SupportChannel):
        p, q = float(channel.prob_truth), float(channel.prob_other)
        full = np.full((channel.k, channel.k), q * (1 - q))
        np.fill_diagonal(full, p * (1 - p))
        return full / channel.gap**2
    scores = channel.scores(np.arange(len(channel.samples))).T
    # The mean of a score is 0 or 1, so it is its own square.
    return np.maximum(scores**2 @ transition_matrix(channel) - recode_matrix(channel), 0.0)


def condition_number(channel: Channel) -> float:
    """How much noise the estimate amplifies; 1 / |p - q| for k-RR and supports.

    Of samples that stand alone that of the least informative one.
    """
    if isinstance(channel, SupportChannel):
        return 1 / abs(channel.gap)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        return max(condition_number(part) for part in channel.parts)
    inverse = channel.solve(np.eye(len(channel.samples)))
    return float(np.linalg.norm(inverse, 2) * np.linalg.norm(transition_matrix(channel), 2))


def implausible(channel: Channel, counts: NDArray[Any], n: int) -> Booleans:
    """(k,) which counts of n respondents no true proportions explain; false but once in 1e9.

    By binomial tails where counts are binomial, in any sample; else all or none by likelihood.
    """
    rates = channel.binomial_rates
    if rates is not None:
        low, high = rates.false_positive_rate, rates.true_positive_rate
        return implausible_counts(np.asarray(counts), n, low, high)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        each = [implausible(*one) for one in _split(channel, counts)]
        return np.asarray(np.any(each, axis=0))
    sizes = sample_sizes(channel, counts, n)
    misfit = likelihood.is_misfit(transition_matrix(channel), counts, sizes)
    return np.full(channel.k, misfit)


def _rates_of_parts(channel: Channel) -> list[BinomialRates] | None:
    """The rates of each sample, where counts are binomial in every one and samples stand alone."""
    if not isinstance(channel, StackedChannel) or not channel.is_separable:
        return None
    found = [rates for part in channel.parts if (rates := part.binomial_rates) is not None]
    return found if len(found) == len(channel.parts) else None


def default_method(channel: Channel) -> str:
    """The method of intervals: exact where counts are binomial, else one that is fast enough.

    Of samples that stand alone nothing more is assumed than that their scores are right: the
    profile likelihood would have all samples from one population.
    """
    if channel.binomial_rates is not None:
        return METHOD
    parts = _rates_of_parts(channel)
    cells = len(channel.samples) if parts is None else 2 * len(parts)
    alone, classes = isinstance(channel, StackedChannel) and channel.is_separable, channel.class_of
    if len(classes) <= 50 and not alone:  # the others take minutes for more
        return GENERAL_METHODS[0]
    return GENERAL_METHODS[1 if len(classes) * cells <= 1 << 20 else 2]


def empirical_interval(channel: Channel, counts: Floats, level: float) -> Interval:
    """(k,) intervals by empirical likelihood: no more is assumed than that scores are unbiased.

    Of samples that stand alone, of the mean of all scores, whatever the sizes of the samples.
    """
    if not has_scores(channel):
        return cut_to_unit(mean_interval(weights(channel, counts), counts, channel.samples, level))
    if isinstance(channel, StackedChannel) and (rates := _rates_of_parts(channel)) is not None:
        split = _split(channel, counts)
        found = [(one, *part[1:]) for one, part in zip(rates, split, strict=True) if part[2]]
        low = np.array([one.false_positive_rate for one, *_ in found])
        high = np.array([one.true_positive_rate for one, *_ in found])
        sizes = np.array([float(size) for *_, size in found])
        blocks = np.array([block for _, block, _ in found])
        return _mixed(blocks, sizes, BinomialRates(low, high, False), level)
    scores = channel.scores(np.arange(len(channel.samples))).T
    return cut_to_unit(mean_interval(scores, counts, np.zeros_like(channel.samples), level))


def _mixed(counts: Floats, sizes: Floats, rates: BinomialRates, level: float) -> Interval:
    """(k,) intervals of the mean of everybody's scores, from binomial counts of several samples."""
    base, top, part = rates.false_positive_rate, rates.true_positive_rate, sizes / sizes.sum()
    gap = top - base
    values = np.concatenate([(1 - base) / gap, -base / gap]).T
    both = np.concatenate([counts, sizes[:, None] - counts]).T
    found = cut_to_unit(
        mean_interval(values, both, np.zeros(values.shape[1], dtype=np.intp), level)
    )
    each = carry(clopper_pearson_rates(counts, sizes[:, None], level), base, top)
    own = (counts / sizes[:, None] - base) / gap
    low, high = (np.sqrt(part**2 @ (own - end) ** 2) for end in each)
    return hull(found, cut_to_unit(Interval(part @ own - low, part @ own + high)))


def most_likely(channel: Channel, counts: NDArray[Any]) -> Floats:
    """(classes,) proportions inside the simplex that make the counts likeliest."""
    check_possible(channel, counts)
    channel.solve(np.zeros(len(channel.samples)))  # raises where reports carry no information
    if isinstance(channel, KRRChannel) and channel.gap > 0:
        return _krr_most_likely(channel, np.asarray(counts, dtype=np.float64))
    return likelihood.most_likely(transition_matrix(channel), counts)


def _krr_most_likely(channel: KRRChannel, counts: Floats) -> Floats:
    """The same in closed form, where the truth is reported more often than another answer.

    f_v = max(0, (c_v t - q) / (p - q)) with t = (|A| q + p - q) / (sum of c over A), where A
    is the largest set of the most frequent categories whose proportions are all positive.
    """
    p, q = float(channel.prob_truth), float(channel.prob_other)
    if not counts.any():
        return np.full(channel.k, 1 / channel.k)
    falling = -np.sort(-counts)
    scale = (np.arange(1, channel.k + 1) * q + p - q) / falling.cumsum()
    kept = int(np.flatnonzero(falling * scale > q)[-1])
    return np.asarray(np.maximum((counts * scale[kept] - q) / channel.gap, 0.0))
