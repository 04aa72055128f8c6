"""Moments: what stands between counted reports and results.

Every report has a score, the debiased answer, whose mean over the randomization is the truth.
`Moments` are the means of the scores, their covariance and what intervals need of them; results
hold Moments and do not ask how the numbers came about.  There is one kind for each kind of data:

    ChannelMoments   reports of one mechanism, of one group or of many at once
    RowMoments       reports of k-RR whose prob differs by row
    PooledMoments    reports of several samples by the coin of a plan; of one column `PartMoments`
    SurveyMoments    reports of a sample with weights, strata or clusters (in `survey_moments`)

Proportions may lie outside [0, 1]: nothing is clipped silently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_one_of, check_proportions
from rrstats._display import HeaderLines
from rrstats._frozen import fixed
from rrstats._typing import Array, Booleans, Floats, Indices, NumbersByCategory
from rrstats.errors import ArgumentValueError
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.arrays import MeanRates
from rrstats.estimation.tallies.score_sums import RowSums
from rrstats.estimation.tallies.tally import Tally
from rrstats.inference import binomial, contrasts, multinomial
from rrstats.inference.binomial import DEFAULT_METHOD, METHOD_OF_ROWS, METHODS
from rrstats.inference.contrasts import (
    Interval,
    mean_interval,
    normal_quantile,
    student_quantile,
)
from rrstats.inference.melded import BinomialCounts
from rrstats.mechanisms.channel import (
    BinomialRates,
    Channel,
    KRRChannel,
    expected_rates,
    has_latent_classes,
    recode_matrix,
)
from rrstats.mechanisms.krr import no_common_channel

ROUNDING = 1e-12
"""What is below 0 by less than this share of the terms of a sum is 0 but for rounding."""


PRECISION = (
    "The plan asks this column in several parts, whose reports count by their precision: the "
    "public coin gives all parts the same true proportions."
)
"""The note of an estimate from several parts of a plan."""

LAST_DIGITS = 16 * np.finfo(np.float64).eps
"""What is smaller than this share of the terms of a sum has no correct digit."""


class Scored(NamedTuple):
    """Counts of cells whose scores have a mean.

    scores : (k, m) of the report cells.  counts : (m,), or (k, m) where they differ by category.
    samples : (m,) the sample of each cell.
    """

    scores: Floats
    counts: Floats
    samples: Indices


class Moments(ABC):
    """Unbiased proportions of k categories and their variances, from n reports.

    Here are the members of a simple random sample, whose reports all count the same; the variance
    is then known from the proportions, and has no degrees of freedom of its own.

    n : the number of reports.  k : the number of categories.
    """

    designed = False  # whether the sample has weights, strata, clusters or a finite population
    target: str = "population"
    n: Any  # an int, or an array of those of several groups
    k: int

    # -- first and second moments ------------------------------------------------------------

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """P(report | truth); raises where rows have channels of their own."""

    @property
    @abstractmethod
    def reported(self) -> Array:
        """(m,) counts of the reports."""

    @property
    @abstractmethod
    def proportions(self) -> Floats:
        """(k,) unbiased true proportions; may lie outside [0, 1]."""

    @property
    @abstractmethod
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions, for the target."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """(k,) variance of the proportions, for the target; NaN where n is too small."""

    @property
    @abstractmethod
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` due to randomization."""

    @property
    @abstractmethod
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and (weighted) proportions of reports that support each category, or NaN."""

    @property
    def naive(self) -> Floats:
        """(m,) proportions among the reports of each sample: biased; for comparison only."""
        sizes = arrays.sample_sizes(self.channel, self.reported, self.n)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.reported / sizes)

    @property
    def _condition_number(self) -> float:
        """The factor by which the estimate amplifies noise."""
        return arrays.condition_number(self.channel)

    @property
    @abstractmethod
    def implausible(self) -> Booleans:
        """(k,) True where reports are rarer or commoner than any truth explains."""

    def _implausible_with(self, others: Sequence[Moments]) -> bool:
        """True where no truth explains the reports of these groups together."""
        counts = np.sum([self.reported, *(other.reported for other in others)], axis=0)
        n = self.n + sum(other.n for other in others)
        return bool(arrays.implausible(self.channel, counts, n).any())

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors; NaN where a variance came out negative."""
        return root(self.variance)

    @property
    def sampling_variance(self) -> Floats:
        """(k,) the rest of `variance`, due to drawing the sample.

        It is unbiased and the difference of two estimates, so it may be negative where the
        randomization adds most of the variance.  It is then too small to distinguish from 0, and is
        not cut at 0, so that averages over categories and surveys stay unbiased.
        """
        return self.variance - self.randomization_variance

    @property
    def least_variance(self) -> Floats:
        """(k,) `variance` if answers did not depend on cluster and weight."""
        return self.variance

    @property
    def _least_covariance(self) -> Floats:
        """(k, k) `covariance` with the variances of `least_variance`."""
        return self.covariance

    @abstractmethod
    def contrast_covariances(self, contrasts: Floats) -> list[Floats]:
        """(j, j) covariance of (j, k) contrasts of the proportions; with a design the least, too.

        That is, what `covariance` and `least_covariance` give, without their (k, k) arrays.
        """

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.n)

    @property
    def totals(self) -> Floats:
        """(k,) unbiased totals, in the units of the weights; 0 without reports."""
        sizes = np.asarray(self.n)[..., None]
        return np.where(sizes > 0, self.proportions * sizes, 0.0)

    @property
    def _total_variance(self) -> Floats:
        """(k,) variance of the totals."""
        return np.asarray(self.variance * self.n**2)

    @property
    def total_std_error(self) -> Floats:
        """(k,) standard errors of the totals; NaN where a variance came out negative."""
        return root(self._total_variance)

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance."""
        return np.inf

    def _check_identified(self) -> None:
        """Raise NotIdentifiableError if the reports do not identify the proportions."""
        np.asarray(self.proportions)

    # -- under a null hypothesis ---------------------------------------------------------------

    @property
    def has_cells(self) -> bool:
        """True where the distribution of counts depends only on the categories' proportions."""
        simple = not self.designed and self.target == "population"
        return simple and self.channel.is_multinomial and not has_latent_classes(self.channel)

    def null_covariance(self, proportions: Floats) -> Floats:
        """(k, k) covariance at these proportions, where it is known, or else the estimated one.

        With weights or a design, no contrast gets a smaller variance than strata and weights alone
        give, because a smaller one is mostly chance.
        """
        channel = self.channel
        one_sample = not has_latent_classes(channel) and not channel.samples.any()
        if not self.designed and one_sample:
            return np.asarray(channel.covariance(proportions, self.target) / self.n)
        if self.designed and channel.is_multinomial:
            return contrasts.raise_covariance(self.covariance, self._least_covariance)
        return self.covariance

    @property
    def design_effect(self) -> Floats:
        """(k,) variance divided by that of a simple random sample of as many reports."""
        return np.ones(self.k)

    @property
    def _effective_n(self) -> Floats:
        """(k,) effective sample size: n / `design_effect`."""
        return np.asarray(self.n / self.design_effect)

    # -- what intervals need -----------------------------------------------------------------

    @property
    def binomial_rates(self) -> BinomialRates | None:
        """The rates of the counts if each is binomial, or of as many reports as `effective_n`."""
        return self.channel.binomial_rates

    @property
    def binomial_counts(self) -> BinomialCounts | None:
        """The counts themselves, if each is binomial in the target and not only like one."""
        return None

    @property
    def is_multinomial(self) -> bool:
        """True where each report falls into one cell of a common channel."""
        return self.channel.is_multinomial

    @property
    def default_method(self) -> str:
        """The default method of intervals."""
        return arrays.default_general_method(self.channel)

    @property
    def has_no_variance(self) -> bool:
        """True where too few clusters or reports leave no estimate of a variance."""
        return False

    @abstractmethod
    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(k,) intervals of the proportions, for any target.

        Where `binomial_rates` are not None, those of a binomial count; else `general_interval`.
        """

    def scored(self, level: float, df: Floats | float | None = None) -> Scored:
        """The scores of the report cells, and counts that intervals of each category use.

        df : degrees of freedom to use instead of `df`.
        """
        channel = self.channel
        counts = self.reported.astype(np.float64)
        if not arrays.has_scores(channel):  # samples that identify proportions only together
            return Scored(arrays.weights(channel, counts), counts, channel.samples)
        cells = np.arange(len(counts))
        return Scored(channel.scores(cells).T, counts, np.zeros_like(cells))

    def scored_sums(self, contrast: Floats, sums: Floats, level: float) -> Scored:
        """(j, m) scores of the report cells for (j, k) sums of the proportions, and their counts.

        contrast : (k,) the sum whose effective sample size the counts have.
        """
        counts = self.reported.astype(np.float64)
        scores = arrays.contrast_scores(self.channel, self.reported, sums)
        return Scored(scores, counts, self.channel.samples)

    @abstractmethod
    def uncut_interval(
        self,
        level: float,
        df: Floats | float = np.inf,
        method: str = "wilson",
    ) -> Interval:
        """(k,) intervals that may leave [0, 1], as MOVER needs them for a difference.

        df : degrees of freedom to use instead of `df`.
        method : of the rates of binomial counts, one of `METHODS`.
        """

    def _general_interval(self, level: float, method: str | None, target: str) -> Interval:
        """Intervals where the counts of no category are binomial by themselves."""
        if target == "sample" and method is not None:
            raise ArgumentValueError(
                f"method must be None for target 'sample', which has one interval; found {method!r}"
            )
        method = check_one_of(method or self.default_method, "method", arrays.GENERAL_METHODS)
        if not np.isfinite(self.proportions).all():
            return Interval(np.zeros(self.k), np.ones(self.k))
        # Without a method for just these rows use the population's interval, which is wider.
        variances = None
        if target == "sample":
            variances = arrays.score_variances(self.channel, self.reported)
        if variances is None:
            return arrays.GENERAL_METHODS[method](self, level)
        parts = recode_matrix(self.channel) > 0
        return contrasts.cut_to_unit(
            binomial.rows_variance_interval(self.proportions, self.n, variances, parts, level=level)
        )

    # -- likelihood --------------------------------------------------------------------------

    def _check_likelihood(self) -> None:
        """Raise ArgumentValueError where counts have no likelihood."""
        if self.designed or not self.is_multinomial:
            what = "samples with a design" if self.designed else "reports of several categories"
            raise ArgumentValueError(
                f"counts of {what} have no likelihood; project() gives proportions in [0, 1]"
            )

    def log_likelihood(self, proportions: NumbersByCategory | None = None) -> float:
        """The logarithm of the probability of these counts, at given proportions of the classes.

        Parameters
        ----------
        proportions : sequence of floats, optional
            Proportions of the latent classes, inside the simplex; by default the maximum likelihood
            estimates.

        Returns
        -------
        float
            It includes the multinomial coefficient, as a binomial log-likelihood would.
        """
        self._check_likelihood()
        channel = self.channel
        if proportions is None:
            proportions = arrays.most_likely(channel, self.reported)
        proportions = check_proportions(proportions, "proportions", len(channel.class_of))
        rates = expected_rates(channel, proportions)
        return multinomial.log_probability(rates, self.reported, channel.samples)

    # -- other groups, and words -------------------------------------------------------------

    def covariance_with(self, other: Moments) -> Floats | None:
        """(k, l) covariance with another group of the same sample; None if independent of it."""
        return None

    def df_with(self, *others: Moments) -> int | None:
        """Degrees of freedom of all groups together; None where they are not of one sample."""
        return None

    @property
    def _header(self) -> HeaderLines:
        """Names and values of the sample's design."""
        return ()

    @property
    def _shared_notes(self) -> Sequence[str]:
        """Sentences that a reader must know, the same for all groups."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the variances must know."""
        return self._shared_notes


def outer_interval(moments: Moments, level: float) -> Interval:
    """(k,) the default interval before it is cut to [0, 1], with what it adds at the edges.

    For bounds and corrections: reports of people who do not follow may have any rate.
    """
    ends = moments.uncut_interval(level, moments.df, DEFAULT_METHOD)
    return contrasts.hull(ends, moments.interval(level, None, moments.target))


class CountedMoments(Moments):
    """Moments of counts of reports.

    channel : of the mechanism; of several samples pooled.
    reported : (m,) counts of the reports, or (groups, m); then all members have a leading axis.
    n : the number of reports, or (groups,).
    target, ddof : of the variance.
    """

    def __init__(
        self, channel: Channel, reported: Array, n: Any, target: str, *, ddof: int
    ) -> None:
        self._channel = channel
        self._reported = reported
        self.n = n
        self.k = channel.k
        self.target = target
        self.ddof = ddof

    @property
    def channel(self) -> Channel:
        """P(report | truth)."""
        return self._channel

    @property
    def reported(self) -> Array:
        """(m,) counts of the reports."""
        return self._reported

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true proportions; may lie outside [0, 1]."""
        return fixed(arrays.debias(self.channel, self.reported, self.n))


class ChannelMoments(CountedMoments):
    """Moments of reports of one mechanism."""

    @cached_property
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions, for the target."""
        return fixed(
            arrays.covariance(self.channel, self.reported, self.n, self.target, ddof=self.ddof)
        )

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions, for the target; NaN where n is too small."""
        return fixed(
            arrays.variance(self.channel, self.reported, self.n, self.target, ddof=self.ddof)
        )

    def contrast_covariances(self, contrasts: Floats) -> list[Floats]:
        """(j, j) covariance of (j, k) contrasts of the proportions."""
        counts = (self.reported, self.n, self.target)
        covariance = arrays.contrast_covariance(
            self.channel, *counts, contrasts=contrasts, ddof=self.ddof
        )
        return [covariance]

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` due to randomization: the variance for these rows."""
        return fixed(arrays.variance(self.channel, self.reported, self.n, "sample"))

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and proportions of reports that support each category, or NaN."""
        counts = self.channel.support_counts(self.reported)
        with np.errstate(invalid="ignore"):
            return counts, counts / np.asarray(self.n, dtype=np.float64)[..., None]

    @cached_property
    def implausible(self) -> Booleans:
        """(k,) True where reports are rarer or commoner than any truth explains."""
        if self.reported.ndim == 1:
            return arrays.implausible(self.channel, self.reported, self.n)
        if self.binomial_rates is None:
            pairs = zip(self.reported, self.n.tolist(), strict=True)
            return np.array([arrays.implausible(self.channel, *pair) for pair in pairs])
        false_alarm = arrays.FALSE_ALARM * len(self.n)  # of each group
        sizes = self.n[:, None]
        return arrays.implausible(self.channel, self.reported, sizes, false_alarm)

    @property
    def binomial_counts(self) -> BinomialCounts | None:
        """The counts of support, for target "population"."""
        rates = self.binomial_rates
        if rates is None or self.target == "sample":
            return None
        counts, _ = self.support
        sizes = np.broadcast_to(np.asarray(self.n, dtype=np.float64), counts.shape)
        return BinomialCounts(counts, sizes, rates.false_positive_rate, rates.true_positive_rate)

    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(k,) intervals of the proportions: `arrays.interval_of_counts` if counts are binomial."""
        rates = self.binomial_rates
        if rates is None:
            return self._general_interval(level, method, target)
        counts, _ = self.support
        sizes = np.asarray(self.n, dtype=np.float64)[..., None]
        return arrays.interval_of_counts(
            counts, sizes, rates, level=level, method=method, target=target, k=self.k
        )

    def uncut_interval(
        self,
        level: float,
        df: Floats | float = np.inf,
        method: str = "wilson",
    ) -> Interval:
        """(k,) intervals that may leave [0, 1]: Wilson's where counts are binomial.

        Else those of the empirical likelihood; for target "sample" the score interval.
        """
        center = self.proportions
        channel = self.channel
        if not np.isfinite(center).all():
            return Interval(center, center)
        rates = self.binomial_rates
        variances = arrays.score_variances(channel, self.reported)
        if self.target == "sample" and variances is not None:
            parts = recode_matrix(channel) > 0
            ends = binomial.rows_variance_interval(center, self.n, variances, parts, level=level)
        elif rates is not None:
            counts = self.reported.astype(np.float64)
            ends = binomial.carry(
                METHODS[method](counts, self.n, level),
                rates.false_positive_rate,
                rates.true_positive_rate,
            )
        elif self.default_method == "wald":
            drawn = arrays.variance(channel, self.reported, self.n, "population", ddof=self.ddof)
            ends = contrasts.wald(center, np.sqrt(drawn), normal_quantile(level))
        else:
            ends = mean_interval(*self.scored(level), level)
        stretch = student_quantile(level, df) / normal_quantile(level)
        with np.errstate(invalid="ignore"):
            low = center - stretch * (center - ends.low)
            high = center + stretch * (ends.high - center)
        return Interval(low, high)


class EffectiveMoments(Moments):
    """Moments whose intervals are those of a simple random sample of the effective size."""

    @property
    @abstractmethod
    def effective_support(self) -> Floats:
        """(k,) proportions of supporting reports in a sample of `effective_n`."""

    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(k,) intervals of the proportions; binomial ones of the effective size."""
        rates = self.binomial_rates
        if rates is None:
            return self._general_interval(level, method, target)
        return self.effective_interval(level, method or DEFAULT_METHOD, rates)

    def effective_interval(self, level: float, method: str, rates: BinomialRates) -> Interval:
        """(k,) binomial intervals of a simple random sample of the effective size."""
        supported = [name for name in METHODS if name != "blaker"]  # that one needs whole counts
        if check_one_of(method, "method", supported) == "wald":
            return arrays.wald_interval(self, level)
        sizes = self.effective_sizes(level)
        counts = np.where(sizes > 0, np.clip(self.effective_support, 0, 1) * sizes, 0.0)
        low = rates.false_positive_rate
        high = rates.true_positive_rate
        return binomial.population_interval(counts, sizes, low, high, level=level, method=method)

    def effective_sizes(self, level: float, df: Floats | float | None = None) -> Floats:
        """(k,) effective sample sizes that intervals use; 0 makes the interval [0, 1]."""
        if self.has_no_variance or not self.weight:
            return np.zeros(self.k)
        return np.asarray(self._effective_n * self.shrinkage(level, self.df if df is None else df))

    def shrinkage(self, level: float, df: Floats | float) -> Any:
        """The factor of an effective sample size for the few degrees of freedom of its variance."""
        simple = student_quantile(level, self.n - 1)
        return np.minimum(1.0, (simple / student_quantile(level, df)) ** 2)

    def uncut_interval(
        self,
        level: float,
        df: Floats | float = np.inf,
        method: str = "wilson",
    ) -> Interval:
        """(k,) Wilson's or the empirical likelihood's intervals; [-inf, inf] without a variance."""
        df = np.broadcast_to(df, self.proportions.shape)
        sizes = self.effective_sizes(level, df)
        if not (sizes > 0).all():
            return Interval(np.full(self.k, -np.inf), np.full(self.k, np.inf))
        rates = self.binomial_rates
        if rates is not None:
            counts = np.clip(self.effective_support, 0, 1) * sizes
            interval = binomial.carry(
                METHODS[method](counts, sizes, level),
                rates.false_positive_rate,
                rates.true_positive_rate,
            )
        elif not self.is_multinomial:
            error = np.sqrt(np.fmax(self.variance, self.least_variance))
            interval = contrasts.wald(self.proportions, error, student_quantile(level, df))
        else:
            interval = mean_interval(*self.scored(level, df), level)
        # Each interval contains its estimate.
        return contrasts.hull(interval, Interval(self.proportions, self.proportions))


class TargetMoments(EffectiveMoments):
    """Moments whose covariance is computed for any target, whatever their own."""

    target: str
    ddof: int

    @abstractmethod
    def _covariance(self, target: str, ddof: int) -> Floats:
        """(k, k) covariance of the proportions."""

    @property
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions, for the target."""
        return self._covariance(self.target, self.ddof)

    def contrast_covariances(self, contrasts: Floats) -> list[Floats]:
        """(j, j) covariance of (j, k) contrasts of the proportions."""
        return [np.asarray(contrasts @ self.covariance @ contrasts.T)]


class MeanChannelMoments(EffectiveMoments):
    """Moments of reports of several k-RR, with intervals as of one binomial channel (`MeanRates`).

    They are those of as many of its reports as `effective_n`: Kish's number for the weights, and
    fewer where `variance` is larger, because populations differ.
    """

    @property
    @abstractmethod
    def mean_rates(self) -> MeanRates:
        """The binomial channel with the mean variance of the reports."""

    @property
    @abstractmethod
    def squared_weights(self) -> float:
        """The sum of the squares of the reports' weights, which sum to 1."""

    @property
    @abstractmethod
    def _drawn_variance(self) -> Floats:
        """(k,) variance of the proportions in the population."""

    @property
    def binomial_rates(self) -> BinomialRates:
        """The rates of the mean channel."""
        return self.mean_rates.binomial_rates(self.k)

    @property
    def effective_support(self) -> Floats:
        """(k,) the rates at which that channel has these proportions."""
        return self.mean_rates.support(self.proportions)

    @cached_property
    def _modelled(self) -> Floats:
        """(k,) the variances if people of every k-RR had these proportions, cut to [0, 1]."""
        return fixed(self.mean_rates.variance(self.proportions) * self.squared_weights)

    @cached_property
    def design_effect(self) -> Floats:
        """(k,) n / `effective_n`: of the weights, and of populations that differ."""
        with np.errstate(invalid="ignore", divide="ignore"):
            larger = np.fmax(1.0, self._drawn_variance / self._modelled)
        return fixed(self.n * self.squared_weights * larger)


class MixedMoments(MeanChannelMoments, TargetMoments):
    """Moments of reports of several k-RR: weighted means of the reports' scores."""

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions, for the target."""
        return fixed(np.maximum(np.diagonal(self.covariance), 0.0))

    @property
    def _drawn_variance(self) -> Floats:
        """(k,) variance of the proportions in the population."""
        return np.maximum(np.diagonal(self._covariance("population", 0)), 0.0)

    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(k,) intervals of the proportions, for any target."""
        if np.isnan(self.proportions).any():
            return Interval(np.zeros(self.k), np.ones(self.k))
        if target == "sample":
            check_one_of(method or METHOD_OF_ROWS, "method", [METHOD_OF_ROWS])
            return contrasts.cut_to_unit(self._rows_interval(level))
        return self.effective_interval(level, method or DEFAULT_METHOD, self.binomial_rates)

    def _rows_interval(self, level: float) -> Interval:
        """Normal intervals about the rows, with a correction for continuity; not cut."""
        rates = self.mean_rates
        near = np.clip(self.proportions, 0, 1)
        least = self._modelled - near * (1 - near) / self.n
        about_rows = np.maximum(np.diagonal(self._covariance("sample", 0)), 0.0)
        error = np.sqrt(np.maximum(about_rows, least))
        gap = rates.high - rates.low
        error += 0.5 / (self._effective_n * gap * normal_quantile(level))
        return contrasts.wald(self.proportions, error, normal_quantile(level))

    def uncut_interval(
        self,
        level: float,
        df: Floats | float = np.inf,
        method: str = "wilson",
    ) -> Interval:
        """(k,) intervals that may leave [0, 1]."""
        if self.target == "sample":
            return self._rows_interval(level)
        return super().uncut_interval(level, df, method)


class RowMoments(MixedMoments):
    """Moments of reports of k-RR whose prob differs by row: weighted means of the rows' scores.

    The variance is that of a ratio of sums, so it holds whatever differs between rows.
    """

    def __init__(self, sums: RowSums, target: str, ddof: int) -> None:
        self.row_sums = sums
        self.n = sums.n
        self.k = sums.mechanism.k
        self.target = target
        self.ddof = ddof

    @property
    def channel(self) -> Channel:
        """Raises with what to do instead: rows have channels of their own."""
        raise no_common_channel()

    @property
    def is_multinomial(self) -> bool:
        """False: rows have no common channel."""
        return False

    @property
    def _condition_number(self) -> float:
        """0, because rows have no common channel."""
        return 0.0

    @property
    def default_method(self) -> str:
        """The default method of intervals."""
        return DEFAULT_METHOD

    @property
    def reported(self) -> Array:
        """(k,) the count of each category."""
        return self.row_sums.reported

    @cached_property
    def _sums(self) -> tuple[float, Floats, Floats, Floats]:
        """Sums of w^2, w s, w^2 s and w^2 s s' for scores s and weights w that sum to 1."""
        sums = self.row_sums
        _, w, ww = sums.by_report.sum(axis=1)
        weight = w or np.nan
        linear, pairs = (of_ones[0] / weight**2 for of_ones in (sums.linear, sums.pairs))
        return ww / weight**2, fixed(sums.first[0, 0] / weight), linear, pairs

    @property
    def squared_weights(self) -> float:
        """The sum of the squares of the rows' weights, which sum to 1."""
        return self._sums[0]

    @property
    def drawn(self) -> int:
        """The number of rows that the variance is of."""
        return int(self.n)

    @property
    def proportions(self) -> Floats:
        """(k,) weighted means of the scores; may lie outside [0, 1]."""
        return self._sums[1]

    def _covariance(self, target: str, ddof: int) -> Floats:
        ww, mean, totals, squares = self._sums
        if target == "sample":
            spread = np.diag(mean) - np.outer(mean, mean)
            return np.asarray(squares - np.diag(totals) + (ww - 1 / max(self.n, 1)) * spread)
        both = np.outer(mean, totals)
        size = self.drawn - ddof
        around = squares - both - both.T + ww * np.outer(mean, mean)
        return np.asarray(around * (self.drawn / size if size > 0 else np.nan))

    def _implausible_with(self, others: Sequence[Moments]) -> bool:
        """False: rows whose prob differs are judged by group."""
        return False

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` due to randomization."""
        _, _, totals, squares = self._sums
        return fixed(np.diagonal(squares) - totals)

    @cached_property
    def mean_rates(self) -> MeanRates:
        """The binomial channel with the mean variance of the rows."""
        sums = self.row_sums
        return MeanRates.of(*(sums.noise / (sums.by_report[2].sum() or np.nan)))

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and proportions of the reports."""
        counts = self.reported.astype(np.float64)
        return counts, counts / (self.n or np.nan)

    @cached_property
    def implausible(self) -> Booleans:
        """(k,) True where no true proportion explains the reports (Bernstein's inequality)."""
        beyond = np.maximum(0.0, np.abs(self.proportions - 0.5) - 0.5)
        spread = self._modelled + self.row_sums.most * beyond / 3
        return np.asarray(beyond**2 > 2 * np.log(2e9 * self.k) * spread)

    @property
    def naive(self) -> Floats:
        """(k,) proportions of the reports: biased; for comparison only."""
        return self.support[1]

    @property
    def _shared_notes(self) -> Sequence[str]:
        """A sentence on how the rows count."""
        return ["The prob differs by row; every row counts the same."]


class WeightedRowMoments(RowMoments):
    """Moments of such reports with sampling weights, for the population.

    The variance of a ratio of sums is also that of rows drawn with these weights.  Missing reports,
    and rows outside a group, stay in the sample and add nothing.
    """

    designed = True

    @property
    def drawn(self) -> int:
        """The number of rows of the sample."""
        return self.row_sums.drawn

    @property
    def weight(self) -> float:
        """The sum of the weights: an estimate of the population's size."""
        return float(self.row_sums.by_report[1].sum())

    @property
    def totals(self) -> Floats:
        """(k,) unbiased totals, in the units of the weights."""
        return np.where(self.weight > 0, self.proportions * self.weight, 0.0)

    @property
    def _total_variance(self) -> Floats:
        """(k,) variance of the totals, whose weights vary too."""
        squares = np.diagonal(self._sums[3]) * self.weight**2
        around = squares - self.totals**2 / (self.drawn or np.nan)
        return np.asarray(around * (self.drawn / (self.drawn - 1) if self.n > 1 else np.nan))

    @property
    def df(self) -> float:
        """Rows less one."""
        return float(self.n - 1)

    @property
    def has_no_variance(self) -> bool:
        """True where too few reports leave no estimate of a variance."""
        return bool(self.n < 2)

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts, and weighted proportions of the reports."""
        counts = self.reported.astype(np.float64)
        return counts, self.row_sums.by_report[1] / (self.weight or np.nan)

    @property
    def naive(self) -> Floats:
        """(k,) proportions of the reports, without weights: biased; for comparison only."""
        return self.support[0] / (self.n or np.nan)

    @property
    def _header(self) -> HeaderLines:
        """The sum of the weights."""
        return [("sum of weights", f"{self.weight:,.1f}")]

    @property
    def _shared_notes(self) -> Sequence[str]:
        """A sentence on how the rows count."""
        return ["The prob differs by row; every row counts by its weight."]


class PooledMoments(CountedMoments, TargetMoments):
    """Moments of reports of several samples to which a coin assigned people: a plan's parts.

    The estimate is f = sum over samples of W_j r_j, with the rates r_j of the n_j reports of sample
    j; the W_j depend on mechanisms and sizes alone (`StackedChannel`).  With r_j = P_j f it has

        V = sum of W_j (diag(r_j) - r_j r_j') W_j' / n_j

    in the population.  The estimate of r_j r_j' from f is too large by P_j V P_j', so V solves a
    linear equation: it is unbiased given the sizes, also with one report in a sample, and NaN where
    the equation has no solution, as with one report of a pair.  For just these people, V less
    the variance of drawing them (Neyman 1923).
    """

    @cached_property
    def sizes(self) -> Floats:
        """(m,) the number of reports in the sample of each cell."""
        return fixed(arrays.sample_sizes(self.channel, self.reported, self.n))

    @cached_property
    def gains(self) -> Floats:
        """(k, m) the estimate is ``gains @ (rates within each sample)``."""
        return fixed(arrays.weights(self.channel, self.reported))

    def _covariance(self, target: str, ddof: int) -> Floats:
        if target == "population":
            return self._of_population(ddof)
        mean = self.proportions
        spread = np.diag(mean) - np.outer(mean, mean)
        if self.n == 1:
            return self._of_population(0) - spread
        return np.asarray(((self.n - 1) * self._of_population(1) - spread) / max(self.n, 1))

    def _of_population(self, ddof: int) -> Floats:
        """(k, k) covariance for the population; unbiased for ddof 1, else without correction."""
        return arrays.pooled_covariance(
            self.channel, self.gains, self.proportions, self.sizes, corrected=ddof > 0
        )

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions; for very few rows alone it may be negative."""
        return fixed(np.diagonal(self.covariance).copy())

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` due to randomization: the variance for these rows."""
        return fixed(np.diagonal(self._covariance("sample", 0)).copy())

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and proportions of reports that name one category, or NaN."""
        counts, size = arrays.pooled_support(self.channel, self.reported)
        return counts, counts / (size or np.nan)

    @property
    def effective_support(self) -> Floats:
        """(k,) proportions of the supporting reports."""
        return self.support[1]

    @cached_property
    def implausible(self) -> Booleans:
        """(k,) True where reports are rarer or commoner than any truth explains."""
        return arrays.implausible(self.channel, self.reported, self.n)

    def interval(self, level: float, method: str | None, target: str) -> Interval:
        """(k,) intervals of the proportions, for any target."""
        return self._general_interval(level, method, target)


class PartMoments(MixedMoments, PooledMoments):
    """Moments of one column that a plan asks in several parts: weighted means of the scores.

    A report of k-RR counts (p - q)^2, the inverse of its score's variance at equally common
    categories up to a factor: fixed by the plan.
    """

    @cached_property
    def _weights_of_parts(self) -> tuple[Floats, Floats]:
        """(parts,) the number of reports, and the weight of one, where all sum to 1."""
        sizes = np.array([block.sum() for block in self._blocks])
        precisions = np.array([part.gap**2 for part in self._parts])
        return sizes, precisions / (float(sizes @ precisions) or np.nan)

    @cached_property
    def _parts(self) -> list[KRRChannel]:
        return arrays.krr_parts(self.channel) or []

    @cached_property
    def _blocks(self) -> list[Floats]:
        return np.split(self.reported.astype(np.float64), len(self._parts))

    @cached_property
    def squared_weights(self) -> float:
        """The sum of the squares of the reports' weights, which sum to 1."""
        sizes, weights = self._weights_of_parts
        return float(sizes @ weights**2)

    @cached_property
    def mean_rates(self) -> MeanRates:
        """The binomial channel with the mean variance of the reports."""
        sizes, weights = self._weights_of_parts
        return arrays.mean_rates(self._parts, sizes * weights**2)

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions; for very few rows alone it may be negative."""
        return fixed(np.diagonal(self.covariance).copy())

    def _of_population(self, ddof: int) -> Floats:
        """(k, k) covariance for the population, in closed form."""
        sizes, weights = self._weights_of_parts
        total = np.zeros((self.k, self.k))
        for part, mass in zip(self._parts, sizes * weights**2, strict=True):
            # Not cut to [0, 1], as a channel does: that would bias the variance.
            rates = float(part.prob_other) + self.proportions * part.gap
            total += mass / part.gap**2 * (np.diag(rates) - np.outer(rates, rates))
        left = 1 - ddof * self.squared_weights
        return np.asarray(total / left if left > ROUNDING else np.full((self.k, self.k), np.nan))

    @property
    def _shared_notes(self) -> Sequence[str]:
        """A sentence on how the parts count."""
        return [PRECISION]


def channel_moments(tally: Tally, target: str, ddof: int) -> Moments:
    """The moments of a tally without a design."""
    channel = arrays.pooled(tally.mechanism.channel, tally.plan)
    if arrays.is_pooled(channel):
        kind = PooledMoments if arrays.krr_parts(channel) is None else PartMoments
        return kind(channel, tally.reported, tally.n, target, ddof=ddof)
    return ChannelMoments(tally.mechanism.channel, tally.reported, tally.n, target, ddof=ddof)


def contrast_errors(moments: Moments, contrast: Floats) -> tuple[float, float]:
    """The standard error of a sum of proportions with (k,) weights, and the one of intervals.

    The first is NaN where a design's variance is negative.  What is only rounding is 0, so that a
    sum that does not vary has no interval of length 1e-9.
    """
    variances = [each.item() for each in moments.contrast_covariances(contrast[None])]
    # At least the size of what is summed, which rounding goes with (Cauchy-Schwarz).
    sizes = np.sqrt(np.maximum(moments.variance, 0.0))
    sizes += np.abs(moments.proportions) / np.sqrt(moments.n or np.nan)
    scale = float(np.abs(contrast) @ sizes) ** 2
    variances = [0.0 if abs(each) <= LAST_DIGITS * scale else each for each in variances]
    variance = variances[0] if moments.designed else max(variances[0], 0.0)
    return float(root(np.array(variance), scale)), float(np.sqrt(max(*variances, 0.0)))


def root(variance: Floats, scale: float = 0.0) -> Floats:
    """Square roots; NaN where a variance is negative by more than rounding.

    scale : the size of the terms that were summed, where it is larger than the variances.
    """
    scale = float(np.fmax.reduce(np.abs(variance), axis=None, initial=np.fmax(scale, 0.0)))
    safe = np.where(variance < -ROUNDING * scale, np.nan, np.maximum(variance, 0.0))
    return np.sqrt(safe)
