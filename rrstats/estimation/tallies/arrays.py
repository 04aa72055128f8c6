"""Proportions, variances and intervals from arrays of counts, for any channel.

The counts are those of the m cells of a tally of n reports; with several samples they also give
the size of each sample.  Proportions are unbiased, and may lie outside [0, 1]: nothing is clipped
silently.  The target of a variance is ``"population"`` or ``"sample"``, as in `debiasing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from rrstats._checks import check_bool, check_level, check_one_of
from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.errors import UnknownAnswersError
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import (
    DEFAULT_METHOD,
    METHOD_OF_ROWS,
    METHODS,
    carry,
    clopper_pearson_rates,
    implausible_counts,
    population_interval,
    rows_interval,
)
from rrstats.inference.contrasts import (
    Interval,
    cut_to_unit,
    hull,
    mean_interval,
    student_quantile,
    wald,
)
from rrstats.mechanisms.channel import (
    BinomialRates,
    Channel,
    KRRChannel,
    SupportChannel,
    check_target,
    has_latent_classes,
    recode_matrix,
    report_contrast_covariance,
    report_variance,
    transition_matrix,
)
from rrstats.mechanisms.matrix_channel import StackedChannel, covariance_within, score_covariance


def interval_of_counts(
    counts: Floats,
    n: Array | float,
    rates: BinomialRates,
    *,
    level: float,
    method: str | None = None,
    simultaneous: bool = False,
    target: str = "population",
    k: int,
) -> Interval:
    """Intervals of proportions from binomial counts, by method and target."""
    rows = check_target(target) == "sample"
    default = METHOD_OF_ROWS if rows else DEFAULT_METHOD
    method = check_one_of(method or default, "method", [METHOD_OF_ROWS] if rows else METHODS)
    level = level_of_each(level, simultaneous, 1 if rates.complementary else k)
    low = rates.false_positive_rate
    high = rates.true_positive_rate
    if rows:
        return rows_interval(counts, n, low, high, level=level)
    return population_interval(counts, n, low, high, level=level, method=method)


def level_of_each(level: float, simultaneous: bool, statements: int) -> float:
    """The confidence level of each of several intervals, jointly (Bonferroni) or separately."""
    level = check_level(level)
    together = check_bool(simultaneous, "simultaneous") and statements > 1
    return 1 - (1 - level) / statements if together else level


def sample_sizes(channel: Channel, counts: Array, n: Array | float) -> Floats:
    """(m,) the size of each cell's sample; n where there is one, (groups, 1) of (groups,)."""
    if np.ndim(n):
        return np.asarray(n, dtype=np.float64)[:, None]
    samples = channel.samples
    if isinstance(channel, StackedChannel):
        return np.asarray(np.bincount(samples, counts)[samples], dtype=np.float64)
    return np.full(len(samples), float(n))


def is_one_sample(channel: Channel) -> bool:
    """True where reports are of one sample and classes are categories.

    Then counts and n may have leading axes, for several groups at once.
    """
    return not isinstance(channel, StackedChannel) and not has_latent_classes(channel)


def check_possible(channel: Channel, counts: Array) -> None:
    """Raise UnknownAnswersError for counts of reports that are impossible in the design."""
    if isinstance(channel, SupportChannel):
        return
    never = int(np.asarray(counts)[..., ~transition_matrix(channel).any(axis=1)].sum())
    if never:
        raise UnknownAnswersError(
            f"{never} of {int(np.sum(counts))} reports are impossible in this design; give the "
            "mechanism that made them"
        )


def _solve(channel: Channel, rates: Floats, sizes: Floats) -> Floats:
    """Solve P pi = rates; samples without reports count as 0."""
    if isinstance(channel, StackedChannel):
        return channel.solve(np.nan_to_num(rates), sizes)
    return channel.solve(rates)


def debias(channel: Channel, counts: Array, n: Array | float) -> Floats:
    """(k,) unbiased true proportions; NaN where there are too few reports."""
    check_possible(channel, counts)
    sizes = sample_sizes(channel, counts, n)
    with np.errstate(invalid="ignore"):
        return _solve(channel, np.asarray(counts) / sizes, sizes)


def weights(channel: Channel, counts: Array) -> Floats:
    """(k, m) the estimate is ``weights @ (rates within each sample)``.

    counts : of which only the sizes of the samples matter.
    """
    sizes = sample_sizes(channel, counts, 1)
    return np.asarray(_solve(channel, np.eye(len(sizes)), sizes).T)


def expanded_scores(channel: Channel, counts: Array, sampled: Floats) -> Floats:
    """(m, k) scores of cells of samples that identify the proportions only together.

    The weight of a sample in the estimate is divided among its reports, as if all were of one.
    sampled : (m,) sums of the weights of rows.
    """
    sizes = np.bincount(channel.samples, sampled)[channel.samples]
    with np.errstate(divide="ignore", invalid="ignore"):
        expansion = np.where(sizes > 0, sampled.sum() / sizes, 0.0)
    return np.asarray(weights(channel, counts).T * expansion[:, None])


def contrast_scores(channel: Channel, counts: Array, contrasts: Floats) -> Floats:
    """(j, m) scores of the cells for (j, k) contrasts of the estimate, ``contrasts @ weights``."""
    if isinstance(channel, SupportChannel):
        shift = float(channel.prob_other) * contrasts.sum(axis=1, keepdims=True)
        return np.asarray((contrasts - shift) / channel.gap)
    return np.asarray(contrasts @ weights(channel, counts))


def variance(channel: Channel, counts: Array, n: Any, target: str, *, ddof: int = 1) -> Floats:
    """(k,) the estimated variance of `debias`, in O(k) where counts are binomial."""
    if isinstance(channel, StackedChannel) or has_latent_classes(channel):
        return np.maximum(np.diagonal(covariance(channel, counts, n, target, ddof=ddof)), 0.0)
    proportions = debias(channel, counts, n)
    return np.asarray(report_variance(channel, proportions, target) / _divisor(n, target, ddof))


def covariance(channel: Channel, counts: Array, n: int, target: str, *, ddof: int = 1) -> Floats:
    """(k, k) the estimated covariance of `debias`, over n - ddof respondents or n rows."""
    if isinstance(channel, StackedChannel):
        stacked = _separable_covariance if channel.has_scores else _joint_covariance
        return stacked(channel, np.asarray(counts), n, target, ddof=ddof)
    proportions = debias(channel, counts, n)
    if has_latent_classes(channel):  # they do not follow from the categories; the rates are known
        scores = channel.scores(np.arange(len(channel.samples)))
        with np.errstate(invalid="ignore"):
            rates = np.asarray(counts) / np.float64(n)
        return np.asarray(score_covariance(scores, rates, target) / _divisor(n, target, ddof))
    return np.asarray(channel.covariance(proportions, target) / _divisor(n, target, ddof))


def contrast_covariance(
    channel: Channel,
    counts: Array,
    n: int,
    target: str,
    *,
    contrasts: Floats,
    ddof: int = 1,
) -> Floats:
    """(j, j) the estimated covariance of (j, k) contrasts of `debias`."""
    if isinstance(channel, StackedChannel) or has_latent_classes(channel):
        return np.asarray(
            contrasts @ covariance(channel, counts, n, target, ddof=ddof) @ contrasts.T
        )
    proportions = debias(channel, counts, n)
    moments = report_contrast_covariance(channel, proportions, target, contrasts)
    return np.asarray(moments / _divisor(n, target, ddof))


def _divisor(n: Any, target: str, ddof: int) -> Any:
    """The divisor of a variance, NaN where that is nobody; (groups, 1) of (groups,)."""
    size = n - ddof if check_target(target) == "population" else n
    if np.ndim(size):
        return np.where(size > 0, size, np.nan)[:, None]
    return float(size) if size > 0 else np.nan


def _split(channel: StackedChannel, counts: Array) -> list[tuple[Channel, Floats, int]]:
    """Each part with its counts and the size of its sample."""
    blocks = channel.split(counts)
    sizes = [round(float(block.sum())) for block in blocks]
    return list(zip(channel.parts, blocks, sizes, strict=True))


def _separable_covariance(
    channel: StackedChannel, counts: Array, n: int, target: str, *, ddof: int
) -> Floats:
    """For samples that each identify the proportions: the covariance of all scores over n - ddof.

    For the population, differences between samples are counted as noise.
    """
    rows = check_target(target) == "sample"
    if not n or (not rows and n <= ddof):
        return np.full((channel.k, channel.k), np.nan)
    total = np.zeros((channel.k, channel.k))
    for part, block, size in _split(channel, counts):
        if not size:
            continue
        within = covariance(part, block, size, target, ddof=0) * size
        mean = debias(part, block, size)
        total += size * (within if rows else within + np.outer(mean, mean))
    if rows:
        return total / n**2
    mean = debias(channel, counts, n)
    return (total / n - np.outer(mean, mean)) / (n - ddof)


def _joint_covariance(
    channel: StackedChannel, counts: Array, n: int, target: str, *, ddof: int
) -> Floats:
    """For samples that identify proportions only together: a sum over samples, size - ddof each.

    For target "sample" with people assigned to samples at random, it subtracts the variance of
    sampling the rows: Neyman (1923), with the product of proportions corrected for its variance.
    """
    rows = check_target(target) == "sample"
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


# -- samples by a coin -----------------------------------------------------------------------


@dataclass(frozen=True)
class MeanRates:
    """The binomial channel whose reports have the mean variance of those of several k-RR.

    The score of a report has variance a + b f - f^2 at a true proportion f, with
    a = q (1 - q) / (p - q)^2 and b = (1 - 2 q) / (p - q); so has that of a binomial channel with
    the means of a and b over the reports, by their squared weights.

    low, high : its false and its true positive rate.
    """

    low: float
    high: float

    @classmethod
    def of(cls, a: float, b: float) -> MeanRates:
        """The channel of these means."""
        scale = np.sqrt(b * b + 4 * a)  # a = u (u + b) for u = q / (p - q), scale = 1 / (p - q)
        u = 2 * a / (scale + b)
        return cls(float(u / scale), float((u + 1) / scale))

    def binomial_rates(self, k: int) -> BinomialRates:
        """The rates of each of k categories."""
        low, high = (np.full(k, rate) for rate in (self.low, self.high))
        return BinomialRates(low, high, k == 2)

    def support(self, proportions: Floats) -> Floats:
        """The rates at which the channel has these proportions."""
        return np.asarray(self.low + proportions * (self.high - self.low))

    def variance(self, proportions: Floats) -> Floats:
        """The variance of one score at these proportions, cut to [0, 1]."""
        rates = np.clip(self.support(proportions), self.low, self.high)
        return np.asarray(rates * (1 - rates) / (self.high - self.low) ** 2)


def whole_counts(counts: Floats) -> Array:
    """Counts as integers, but as they are where reports support no category."""
    return counts if np.isnan(counts).any() else counts.astype(np.int64)


def mean_rates(parts: Sequence[KRRChannel], masses: Floats) -> MeanRates:
    """The binomial channel of the reports of several k-RR.

    masses : (parts,) the sums of their squared weights.
    """
    q = np.array([float(part.prob_other) for part in parts])
    gap = np.array([part.gap for part in parts])
    shares = masses / (masses.sum() or np.nan)
    return MeanRates.of(float(shares @ (q * (1 - q) / gap**2)), float(shares @ ((1 - 2 * q) / gap)))


_MAX_CORRECTIONS = 100
"""Steps of the correction of `pooled_covariance`: each adds a factor of about 1 / n."""

_CORRECTION_TOLERANCE = 1e-15
"""Relative change at which the correction ends."""


def pooled_covariance(
    channel: Channel, gains: Floats, proportions: Floats, sizes: Floats, *, corrected: bool = True
) -> Floats:
    """(k, k) covariance of a pooled estimate in the population, from its proportions.

    gains : (k, m) the estimate is ``gains @ (rates within each sample)``.
    sizes : (m,) the number of reports in the sample of each cell.
    corrected : whether the covariance of the estimated proportions is taken off their products,
        which makes it unbiased.  NaN where too few reports leave no estimate.
    """
    matrix = transition_matrix(channel)
    samples = channel.samples
    size_of_sample = np.full(int(samples.max()) + 1, np.inf)
    size_of_sample[samples] = np.where(sizes > 0, sizes, np.inf)
    first = covariance_within(gains, matrix @ proportions, samples, size_of_sample)
    if not corrected or not np.isfinite(first).all():
        return first
    maps = [
        (gains[:, samples == sample] @ matrix[samples == sample], size)
        for sample, size in enumerate(size_of_sample)
    ]
    total = first
    for _ in range(_MAX_CORRECTIONS):
        previous = total
        total = first + sum(each @ previous @ each.T / size for each, size in maps)
        if np.abs(total - previous).max() <= _CORRECTION_TOLERANCE * np.abs(total).max():
            return np.asarray(total)
    return np.full_like(first, np.nan)


def pooled_support(channel: Channel, counts: Array) -> tuple[Floats, float]:
    """(k,) counts of reports that name one category, and the number of reports that name one.

    The reports of other samples tell of sums of categories; NaN if all do.
    """
    total: Any = np.full(channel.k, np.nan)
    size = 0.0
    for part, block, part_size in _split(cast(StackedChannel, channel), counts):
        supported = part.support_counts(block)
        if not np.isnan(supported).any():
            total = np.where(np.isnan(total), 0.0, total) + supported
            size += part_size
    return np.asarray(total), size


# -- more of a channel -----------------------------------------------------------------------


def has_scores(channel: Channel) -> bool:
    """True where each report has a score: False if samples are estimated only together."""
    return not isinstance(channel, StackedChannel) or channel.has_scores


def is_pooled(channel: Channel) -> bool:
    """True where a coin assigned people to samples, which then count by their precision."""
    return isinstance(channel, StackedChannel) and channel.pooled


def pooled(channel: Channel, plan: object) -> Channel:
    """The channel of a column; with the plan of a frame, whose coin chose the samples, pooled."""
    if plan is None or not isinstance(channel, StackedChannel):
        return channel
    return channel.pool()


def krr_parts(channel: Channel) -> list[KRRChannel] | None:
    """The samples of a pooled channel, if all are k-RR of the categories; else None."""
    if not isinstance(channel, StackedChannel) or not channel.pooled:
        return None
    parts = [part for part in channel.parts if isinstance(part, KRRChannel)]
    return parts if len(parts) == len(channel.parts) and parts[0].k == channel.k else None


def score_variances(channel: Channel, counts: Array) -> Floats | None:
    """(k, classes) variance of the scores of people of one class; None without `has_scores`.

    counts : only the sizes of the samples are used.
    """
    if not has_scores(channel):
        return None
    if isinstance(channel, StackedChannel):
        split = _split(channel, counts)
        n = max(sum(size for *_, size in split), 1)
        parts = [(score_variances(part, block), size / n) for part, block, size in split]
        return np.asarray(
            sum(variances * weight for variances, weight in parts if variances is not None)
        )
    if isinstance(channel, SupportChannel):
        p = float(channel.prob_truth)
        q = float(channel.prob_other)
        full = np.full((channel.k, channel.k), q * (1 - q))
        np.fill_diagonal(full, p * (1 - p))
        return full / channel.gap**2
    scores = channel.scores(np.arange(len(channel.samples))).T
    # The mean of a score is 0 or 1, so it is its own square.
    return np.maximum(scores**2 @ transition_matrix(channel) - recode_matrix(channel), 0.0)


def condition_number(channel: Channel) -> float:
    """The factor by which the estimate amplifies noise; 1 / |p - q| for k-RR and supports.

    For samples that each identify the proportions, the largest of their condition numbers.
    """
    if isinstance(channel, SupportChannel):
        return 1 / abs(channel.gap)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        return max(condition_number(part) for part in channel.parts)
    inverse = channel.solve(np.eye(len(channel.samples)))
    return float(np.linalg.norm(inverse, 2) * np.linalg.norm(transition_matrix(channel), 2))


FALSE_ALARM = 1e-9
"""A bound on the probability that the right reports of one estimate are called implausible."""


def implausible(
    channel: Channel, counts: Array, n: int, false_alarm: float = FALSE_ALARM
) -> Booleans:
    """(k,) counts that no true proportions explain; right ones with at most ``false_alarm``.

    It uses binomial tails if counts are binomial, else one test by likelihood for all categories.
    Both bounds hold for every n, and whether true answers are fixed or drawn.
    """
    rates = channel.binomial_rates
    if rates is not None:
        low = rates.false_positive_rate
        high = rates.true_positive_rate
        return implausible_counts(np.asarray(counts), n, low, high, false_alarm=false_alarm)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        of_part = false_alarm / len(channel.parts)
        each = [implausible(*part, of_part) for part in _split(channel, counts)]
        return np.asarray(np.any(each, axis=0))
    sizes = sample_sizes(channel, counts, n)
    misfit = likelihood.is_misfit(
        transition_matrix(channel), counts, sizes, false_alarm=false_alarm
    )
    return np.full(channel.k, misfit)


def _rates_of_parts(channel: Channel) -> BinomialRates | None:
    """(parts, k) rates, if counts are binomial and each sample identifies the proportions."""
    if not isinstance(channel, StackedChannel) or not channel.is_separable:
        return None
    rates = [part.binomial_rates for part in channel.parts]
    low = [part.false_positive_rate for part in rates if part is not None]
    high = [part.true_positive_rate for part in rates if part is not None]
    if not low or len(low) < len(rates):
        return None
    return BinomialRates(np.array(low), np.array(high), False)


_MAX_PROFILED = 50
"""Maximum latent classes for profile likelihood, which takes minutes for more."""

_MAX_SCORES = 1 << 20
"""Maximum classes times cells for empirical likelihood, which takes minutes for more."""


def default_general_method(channel: Channel) -> str:
    """The name of a channel's default method; reports of several probabilities by row have none.

    Exact if counts are binomial, or like as many reports of one binomial channel, as for the parts
    of a plan that are all k-RR; else one that is fast enough.

    The former is one of `METHODS`, the latter one of `GENERAL_METHODS`.  For samples that each
    identify the proportions, unbiased scores are the only assumption: the profile likelihood would
    assume one population for all samples.
    """
    if channel.binomial_rates is not None or krr_parts(channel) is not None:
        return DEFAULT_METHOD
    if is_pooled(channel):
        return "empirical-likelihood"
    parts = _rates_of_parts(channel)
    cells = len(channel.samples) if parts is None else 2 * len(parts.true_positive_rate)
    samples_differ = isinstance(channel, StackedChannel) and has_scores(channel)
    classes = len(channel.class_of)
    if classes <= _MAX_PROFILED and not samples_differ:
        return "profile-likelihood"
    return "empirical-likelihood" if classes * cells <= _MAX_SCORES else "wald"


class ScoredMoments(Protocol):
    """Part of the moments of an estimate that its intervals use."""

    @property
    def channel(self) -> Channel:
        """P(report | truth)."""
        ...

    @property
    def reported(self) -> Array:
        """(m,) counts of the reports."""
        ...

    @property
    def designed(self) -> bool:
        """True where the sample has a design."""
        ...

    @property
    def proportions(self) -> Floats:
        """(k,) unbiased proportions."""
        ...

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the proportions."""
        ...

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        ...

    def scored(self, level: float) -> tuple[Floats, Floats, Indices]:
        """Scores of the report cells, their counts and their samples."""
        ...


def profile_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) intervals of an estimate by profile likelihood, with the empirical likelihood's."""
    channel = moments.channel
    _, counts, _ = moments.scored(level)
    parts = recode_matrix(channel) > 0
    profiled = likelihood.profile_ends(transition_matrix(channel), counts, parts, level)
    return hull(empirical_interval(moments, level), profiled)


def empirical_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) intervals by empirical likelihood: unbiased scores are the only assumption.

    For samples that each identify the proportions, the interval is that of the mean of all scores.
    """
    channel = moments.channel
    rates = None if moments.designed or is_pooled(channel) else _rates_of_parts(channel)
    if isinstance(channel, StackedChannel) and rates is not None:
        split = _split(channel, moments.reported)
        blocks = np.array([block for _, block, _ in split])
        sizes = np.array([size for *_, size in split])
        return _mixed(blocks, sizes, rates, level)
    scores, counts, samples = moments.scored(level)
    return cut_to_unit(mean_interval(scores, counts, samples, level))


def wald_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) plus and minus a t quantile of standard errors; [0, 1] where these are NaN."""
    return wald(moments.proportions, moments.std_error, student_quantile(level, moments.df))


GENERAL_METHODS: dict[str, Callable[[Any, float], Interval]] = {
    "profile-likelihood": profile_interval,
    "empirical-likelihood": empirical_interval,
    "wald": wald_interval,
}
"""Intervals of the `Moments` of an estimate whose counts are not binomial, by method."""


def _mixed(counts: Floats, sizes: Array, rates: BinomialRates, level: float) -> Interval:
    """(k,) intervals of the mean of all scores, from binomial counts of several samples."""
    has_reports = sizes > 0
    false_positive = rates.false_positive_rate[has_reports]
    true_positive = rates.true_positive_rate[has_reports]
    gap = true_positive - false_positive
    counts = counts[has_reports]
    size = sizes[has_reports, None].astype(float)
    values = np.concatenate([(1 - false_positive) / gap, -false_positive / gap]).T
    cell_counts = np.concatenate([counts, size - counts]).T
    one_sample = np.zeros(values.shape[1], dtype=np.intp)
    empirical = mean_interval(values, cell_counts, one_sample, level)
    # Margins of the samples' exact intervals, added as independent errors.
    ends = carry(clopper_pearson_rates(counts, size, level), false_positive, true_positive)
    proportions = (counts / size - false_positive) / gap
    weight = size[:, 0] / size.sum()
    low, high = (np.sqrt(weight**2 @ (proportions - end) ** 2) for end in ends)
    mean = weight @ proportions
    return hull(cut_to_unit(empirical), cut_to_unit(Interval(mean - low, mean + high)))


def most_likely(channel: Channel, counts: Array, *, smoothing: bool = False) -> Floats:
    """(classes,) maximum likelihood proportions inside the simplex, or those of smoothed EM."""
    check_possible(channel, counts)
    channel.solve(np.zeros(len(channel.samples)))  # raises for reports without information
    if smoothing:
        return likelihood.smoothed(transition_matrix(channel), np.asarray(counts, np.float64))
    if isinstance(channel, KRRChannel):
        rates = float(channel.prob_truth), float(channel.prob_other), channel.gap
        return likelihood.most_likely_krr(counts, *rates)
    return likelihood.most_likely(transition_matrix(channel), counts)
