"""Unbiased proportions of k categories, with what is needed to judge them.

Proportions come with their covariance, intervals, a table, a sentence and a picture.  They may lie
outside [0, 1]; nothing is clipped silently, and tables inside the simplex are another type.
Of a sample with weights or a design, intervals are those of a simple random sample of the effective
size, and trust a variance that rests on few clusters less (Korn and Graubard, 1998); a variance
that by luck came out below that of strata and weights by themselves is not trusted at all.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_instance, check_level, check_one_of, check_proportions
from rrstats._display import label, percent_range
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
    warn,
)
from rrstats.estimation import arrays
from rrstats.estimation.arrays import interval_of_counts
from rrstats.estimation.groups import Estimates, GroupEstimates
from rrstats.estimation.result import (
    ConstrainedProportions,
    LabelledInterval,
    MeanEstimate,
    RatioEstimate,
    Result,
    ShareEstimate,
    label_column,
    proportion_rows,
)
from rrstats.estimation.sample_design import SIMPLE, SampleDesign, design_of
from rrstats.estimation.survey_variance import SurveyMoments
from rrstats.estimation.tally import Tally, count_reports
from rrstats.inference import binomial, contrasts
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import METHOD, METHODS
from rrstats.inference.contrasts import Interval, student_quantile, widen_outside
from rrstats.inference.empirical_likelihood import mean_interval, ratio_interval
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    BinomialRates,
    check_target,
    fixed,
    recode_matrix,
    transition_matrix,
)
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.samples import Samples
from rrstats.plots import PlotOptions, check_truth, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


IMPLAUSIBLE = (
    "some reports are rarer or commoner than any true shares explain, so the shares and intervals "
    "mean nothing: were these answers privatized, by this mechanism, and is every row there "
    "(none dropped or picked by its report)?"
)

_ILL_CONDITIONED = 1000
"""From here on even a million respondents say next to nothing."""

_FEW = 8
"""With fewer degrees of freedom a variance is mostly luck."""

_TOO_SURE = 2.0
"""So many times its variance is what intervals use for it; then the standard error misleads."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """Unbiased proportions of k categories, with what is needed to judge them.

    Proportions may lie outside [0, 1]: a rare category comes out below 0 about half the time.  With
    no reports they are NaN and intervals are [0, 1].  ``est["never"]`` is one category.

    Attributes
    ----------
    tally : Tally
        The counted reports; of a sample with a design by stratum and cluster, with the sums of
        their weights.
    target : {"population", "rows"}
        Whom proportions, variances and intervals are about.
    ddof : int
        Taken off n in the population's variance: 1 is unbiased, 0 is what GLMMRR prints.
    design : SampleDesign
        What is known of the sample besides the weights, strata and clusters of its rows.
    """

    shown = (
        *("proportion", "low", "high", "std_error", "count", "count_low", "count_high"),
        *("effective_n", "design_effect", "total", "total_std_error", "reported", "naive"),
    )

    tally: Tally
    target: str = "population"
    ddof: int = 1
    design: SampleDesign = SIMPLE

    def __post_init__(self) -> None:
        check_target(self.target)
        if isinstance(self.ddof, bool) or self.ddof not in (0, 1):
            raise ArgumentValueError(f"ddof must be 0 or 1, got {self.ddof!r}")
        if self.designed and self.target != "population":
            raise ArgumentValueError("with a design target must be 'population', got 'rows'")
        _ = self._survey  # raises now for a design that cannot be estimated

    @property
    def designed(self) -> bool:
        """True where the sample has weights, strata, clusters or a population of known size."""
        return self._survey is not None

    @cached_property
    def _survey(self) -> SurveyMoments | None:
        if self.tally.sampled or self.design.finite:
            return SurveyMoments(self.tally, self.design)
        return None

    # -- the reports -----------------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports."""
        return self.tally.mechanism

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The k categories, in their declared order; a missing one is None."""
        return self.mechanism.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.mechanism.k

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return self.tally.n

    @property
    def n_missing(self) -> int:
        """The number of missing reports, not in n."""
        return self.tally.n_missing

    @property
    def empty_samples(self) -> list[Hashable]:
        """The labels of the samples that have no reports."""
        groups = self.mechanism.groups or ()
        sizes = np.bincount(self.mechanism.channel.samples, self.reported, minlength=len(groups))
        return [group for group, size in zip(groups, sizes, strict=False) if not size]

    @cached_property
    def reported(self) -> NDArray[np.int64]:
        """(m,) counts of the reports."""
        return self.tally.reported

    @property
    def naive(self) -> Floats:
        """(m,) proportions among the reports of each sample: biased; for comparison only."""
        sizes = arrays.sample_sizes(self.mechanism.channel, self.reported, self.n)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.reported / sizes)

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) reports that support each category, and their (weighted) share; NaN if none do."""
        channel, survey = self.mechanism.channel, self._survey
        counts = channel.support_counts(self.reported)
        if survey is not None:
            weights = channel.support_counts(survey.first[: len(self.reported)])
            return counts, np.asarray(weights / survey.size)
        with np.errstate(invalid="ignore"):
            return counts, counts / np.float64(self.n)

    @property
    def has_support(self) -> bool:
        """True where reports support categories, so that `to_frame` can say how many do."""
        return not np.isnan(self.support[0]).any()

    # -- proportions and their variances ---------------------------------------------------

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true proportions; may lie outside [0, 1]."""
        if self._survey is not None:
            return fixed(self._survey.proportions)
        return fixed(arrays.debias(self.mechanism.channel, self.reported, self.n))

    @property
    def weight(self) -> float:
        """The sum of the weights: n, or an estimate of the population's size."""
        return float(self.n) if self._survey is None else self._survey.weight

    @property
    def counts(self) -> Floats:
        """(k,) unbiased true counts, not whole: among the rows, or `totals` of a design."""
        return self.totals

    @cached_property
    def totals(self) -> Floats:
        """(k,) unbiased totals, in the units of the weights (Horvitz-Thompson)."""
        if self._survey is not None:
            return fixed(self._survey.totals)
        return fixed(self.proportions * self.n if self.n else np.zeros(self.k))

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions, for the target; NaN where n is too small.

        Of a design, linearized: of the sampling and of the randomization.
        """
        if self._survey is not None:
            return fixed(self._survey.variance(self._survey.form))
        channel = self.mechanism.channel
        return fixed(arrays.variance(channel, self.reported, self.n, self.target, ddof=self.ddof))

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the proportions; NaN where a variance came out negative."""
        return np.sqrt(self.variance) if self._survey is None else _root(self.variance)

    @cached_property
    def total_variance(self) -> Floats:
        """(k,) variance of the totals."""
        if self._survey is None:
            return fixed(self.variance * self.n**2)
        return fixed(self._survey.total_variance if self.weight else np.full(self.k, np.nan))

    @property
    def total_std_error(self) -> Floats:
        """(k,) standard errors of the totals; NaN where the variance came out negative."""
        return _root(self.total_variance)

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` that the respondents' coins add: what a census would have."""
        if self._survey is not None:
            return fixed(self._survey.randomization_variance)
        return fixed(arrays.variance(self.mechanism.channel, self.reported, self.n, "rows"))

    @property
    def sampling_variance(self) -> Floats:
        """(k,) the rest of `variance`, which drawing the sample adds.

        Unbiased, and a difference of two estimates: it comes out negative now and then where the
        coins add by far the most.  That says "too small to be told from 0", and it is not cut,
        so that averages over categories and surveys stay right.
        """
        return self.variance - self.randomization_variance

    @cached_property
    def least_variance(self) -> Floats:
        """(k,) `variance` if clusters, and who has which weight, made no difference.

        Intervals do not trust a variance that came out below it: mostly that is luck.
        """
        survey = self._survey
        return self.variance if survey is None else fixed(survey.variance(survey.least_form))

    @property
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions, for the target.

        Returns
        -------
        ndarray of shape (k, k)
            Rows sum to 0 where proportions sum to 1, as they do unless reports name several
            categories.

        Raises
        ------
        ArgumentValueError
            For such reports of a sample with a design, unless they are in clusters: which
            categories were named together is not counted.
        """
        if self._survey is not None:
            return self._survey.covariance(self._survey.form)
        channel = self.mechanism.channel
        return arrays.covariance(channel, self.reported, self.n, self.target, ddof=self.ddof)

    @property
    def least_covariance(self) -> Floats:
        """(k, k) `covariance` with the variances of `least_variance`."""
        survey = self._survey
        return self.covariance if survey is None else survey.covariance(survey.least_form)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom: clusters (or rows) less strata; infinite without a design.

        Of a group those that it is in.  A stratum that is in the sample as a whole counts its
        rows: their coins are what is random.
        """
        return np.inf if self._survey is None else self._survey.df

    @cached_property
    def design_effect(self) -> Floats:
        """(k,) variance over that of as many unweighted reports of a simple random sample.

        Of `variance` or `least_variance`, whichever is larger: it is what intervals use.  With one
        weight of 100,000 beside 99 of 1, `variance` alone would make 100 reports worth 1,966 and
        not 1.  Where all reports are the same, what the weights alone do (Kish).
        """
        return fixed(np.ones(self.k) if self._survey is None else self._survey.design_effect())

    @property
    def effective_n(self) -> Floats:
        """(k,) reports of a simple random sample that say as much: n / `design_effect`."""
        return np.asarray(self.n / self.design_effect)

    def covariance_with(self, other: Estimate) -> Floats | None:
        """Covariance with the proportions of another group of the same sample.

        Parameters
        ----------
        other : Estimate
            Of nobody who is in this group too, which the sums do not show.

        Returns
        -------
        ndarray of shape (k, l) or None
            None where the two are not known to be such groups, and then they are taken for
            independent.  Groups are known by their tallies: the same strata and clusters, as many
            sampled rows in each, which suffice for the reports of both, and the same share of the
            population; so it is for the groups of ``estimate(..., by=)``.  Without clusters it
            comes from the strata alone, and is 0 where there is one.

        Notes
        -----
        Cross products of the linearized sums, as R's ``svyby(covmat = TRUE)``.

        Examples
        --------
        >>> import rrstats as rr
        >>> m, reports = rr.KRR(["no", "yes"], 0.75), ["no", "no", "yes", "no", "yes", "yes"] * 2
        >>> village, sex = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], ["f", "m"] * 6
        >>> est = rr.estimate(reports, m, design=rr.SampleDesign(clusters=village), by=sex)
        >>> est["f"].covariance_with(est["m"]).round(3)
        array([[ 0.089, -0.089],
               [-0.089,  0.089]])
        """
        if self._survey is None or other._survey is None:
            return None
        return self._survey.covariance_with(other._survey)

    def df_with(self, *others: Estimate) -> int | None:
        """Degrees of freedom of these reports and those of other groups of the same sample.

        Parameters
        ----------
        *others : Estimate

        Returns
        -------
        int or None
            None where `covariance_with` is.  Groups that share their clusters have those of one;
            groups that share none have those of all.
        """
        known = [one._survey for one in others if one._survey is not None]
        if self._survey is None or len(known) < len(others):
            return None
        return self._survey.df_with(*known)

    @cached_property
    def implausible(self) -> NDArray[np.bool_]:
        """(k,) categories that are reported more rarely, or oftener, than any truth explains.

        Then these are not reports of this mechanism, or not all of them: true answers that
        nobody privatized, rows picked by their report, another prob.  Of right estimates one
        in 10^9 has any.
        """
        return arrays.implausible(self.mechanism.channel, self.reported, self.n)

    # -- other estimates from the same reports ---------------------------------------------

    def with_target(self, target: str) -> Estimate:
        """The same reports, spoken of for another target.

        Parameters
        ----------
        target : {"population", "rows"}

        Returns
        -------
        Estimate
        """
        return replace(self, target=check_target(target))

    def about(self, shows: Any = None) -> Estimate:
        """The same reports, read for other categories.

        Parameters
        ----------
        shows : mapping, optional
            From latent class to category, for mechanisms that tell classes of people apart (those
            who lie, the answer to the unrelated question); None for the classes themselves.

        Returns
        -------
        Estimate

        Raises
        ------
        NotIdentifiableError
            The reports do not tell these categories apart.
        """
        finer = "a MatrixDesign or Samples, whose classes may be finer than categories"
        made = check_instance(self.mechanism, "mechanism", (MatrixDesign, Samples), finer)
        found = replace(self, tally=replace(self.tally, mechanism=made.showing(shows)))
        _ = found.proportions  # raises NotIdentifiableError now
        return found

    def log_likelihood(self, proportions: Any = None) -> float:
        """The logarithm of the probability of these counts, at given proportions of the classes.

        Parameters
        ----------
        proportions : sequence of floats, optional
            Of the latent classes, inside the simplex; by default the likeliest ones.

        Returns
        -------
        float
            With the multinomial coefficient, so that for two categories it is the binomial's.
        """
        channel = self.mechanism.channel
        self._check_likelihood()
        if proportions is None:
            proportions = arrays.most_likely(channel, self.reported)
        proportions = check_proportions(proportions, "proportions", len(channel.class_of))
        return likelihood.log_likelihood(
            transition_matrix(channel), self.reported, proportions, samples=channel.samples
        )

    def _check_likelihood(self) -> None:
        channel = self.mechanism.channel
        if self.designed or not channel.is_multinomial:
            what = "samples with a design" if self.designed else "reports of several categories"
            raise ArgumentValueError(
                f"counts of {what} have no likelihood; project() gives proportions in [0, 1]"
            )

    def mle(self) -> ConstrainedProportions:
        """Maximum likelihood proportions inside the simplex: in closed form for k-RR.

        In one sample with as many reports as categories, equal to the unbiased ones where those
        are inside.  Better for a displayed table and for the whole distribution; biased for
        the largest and the rare categories.

        Returns
        -------
        ConstrainedProportions

        Raises
        ------
        ArgumentValueError
            For reports that name several categories, and samples with a design.
        """
        found = self.proportions  # raises NotIdentifiableError where nothing can be said
        self._check_likelihood()
        if self.n:
            channel = self.mechanism.channel
            found = recode_matrix(channel) @ arrays.most_likely(channel, self.reported)
        return ConstrainedProportions(self.categories, found, self.n, "maximum likelihood")

    def project(self) -> ConstrainedProportions:
        """The proportions inside the simplex that are nearest to the unbiased ones (Euclidean).

        Returns
        -------
        ConstrainedProportions
        """
        found = self.proportions
        if np.isfinite(found).all():
            found = contrasts.project_to_simplex(found)
        return ConstrainedProportions(self.categories, found, self.n, "Euclidean projection")

    # -- intervals -------------------------------------------------------------------------

    @property
    def default_method(self) -> str:
        """The method of intervals where none is named."""
        return arrays.default_method(self.mechanism.channel)

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> LabelledInterval:
        """Intervals of the true proportions, for the target.

        Parameters
        ----------
        level : float
            Confidence.
        method : str, optional
            Where the count of each category is binomial (k-RR, unary encoding, forced response, all
            designs of two categories and reports) those of `confidence_interval`,
            "clopper-pearson" by default; with a design all but "blaker", which needs whole counts.
            Otherwise "profile-likelihood", the default up to 50 classes, "empirical-likelihood",
            beyond that and for samples that stand alone, or "wald", for designs so large that the
            others take minutes.
        simultaneous : bool
            Whether all categories together hold at this level (Bonferroni).

        Returns
        -------
        LabelledInterval
            (k,) ends; unpacks to ``low, high``.
        """
        found = self._interval(level, self.target, method, simultaneous)
        return LabelledInterval(*found, self.categories)

    def count_interval(
        self, level: float = 0.95, *, simultaneous: bool = False
    ) -> LabelledInterval:
        """Intervals of the true counts among the rows; of a design those of the totals.

        Parameters
        ----------
        level : float
            Confidence.
        simultaneous : bool
            Whether all categories together hold at this level (Bonferroni); not of totals.

        Returns
        -------
        LabelledInterval
        """
        if self._survey is not None:
            return self.total_interval(level)
        low, high = self._interval(level, "rows", None, simultaneous)
        return LabelledInterval(low * self.n, high * self.n, self.categories)

    def total_interval(self, level: float = 0.95) -> LabelledInterval:
        """Intervals of the totals: t quantiles of standard errors to both sides, not cut.

        Parameters
        ----------
        level : float
            Confidence.

        Returns
        -------
        LabelledInterval
            Without a design those of `count_interval`.
        """
        if self._survey is None:
            return self.count_interval(level)
        level = check_level(level)
        margin = student_quantile(level, self.df) * self.total_std_error if self.df > 0 else np.inf
        return LabelledInterval(self.totals - margin, self.totals + margin, self.categories)

    def _interval(
        self, level: float, target: str, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """Intervals of all categories for a target, which need not be that of the estimate."""
        rates = self.mechanism.channel.binomial_rates
        _ = self.proportions  # raises NotIdentifiableError where nothing can be said
        single = self.k == 2 if rates is None else rates.complementary
        level = arrays.level_of_each(level, simultaneous, 1 if single else self.k)
        if rates is not None and self._survey is None:
            options: Any = {"level": level, "method": method or METHOD, "target": target}
            return interval_of_counts(self.support[0], self.n, rates, **options, k=self.k)
        if rates is None:
            return self._general_interval(level, method, target)
        return self._effective_interval(level, method or METHOD, rates)

    def _effective_interval(self, level: float, method: str, rates: BinomialRates) -> Interval:
        """Binomial intervals of a simple random sample of the effective size."""
        known = [name for name in METHODS if name != "blaker"]  # that one needs whole counts
        if check_one_of(method, "method", known) == "wald":
            return arrays.wald_interval(self, level)
        sizes = self._effective_sizes(level)
        counts = np.where(sizes > 0, np.clip(self.support[1], 0, 1) * sizes, 0.0)
        low, high = rates.false_positive_rate, rates.true_positive_rate
        return binomial.population_interval(counts, sizes, low, high, level=level, method=method)

    def _effective_sizes(self, level: float, df: Any = None) -> Floats:
        """(k,) reports of a simple random sample that intervals rest on; 0 for all of [0, 1]."""
        if self._says_nothing or not self.weight:
            return np.zeros(self.k)
        return np.asarray(self.effective_n * self._shrinkage(level, self.df if df is None else df))

    def _shrinkage(self, level: float, df: Any) -> Any:
        """The factor by which a size falls, as its variance is known by few degrees of freedom."""
        simple = student_quantile(level, self.n - 1)
        return np.minimum(1.0, (simple / student_quantile(level, df)) ** 2)

    def _general_interval(self, level: float, method: str | None, target: str) -> Interval:
        """Intervals where the counts of no category are binomial by themselves."""
        if target == "rows" and method is not None:
            raise ArgumentValueError(
                f"for target 'rows' there is one interval: leave method out, found {method!r}"
            )
        method = check_one_of(method or self.default_method, "method", arrays.GENERAL_METHODS)
        channel = self.mechanism.channel
        if not np.isfinite(self.proportions).all():
            return Interval(np.zeros(self.k), np.ones(self.k))
        if self.designed and not (self._effective_sizes(level) > 0).all():
            method = "wald"
        # Without a distribution for just these rows the population's is theirs too: it is wider.
        variances = arrays.score_variances(channel, self.reported) if target == "rows" else None
        if variances is None:
            return arrays.GENERAL_METHODS[method](self, level)
        parts = recode_matrix(channel) > 0
        return contrasts.cut_to_unit(
            binomial.rows_variance_interval(self.proportions, self.n, variances, parts, level=level)
        )

    def scored(self, level: float) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """(k, m) scores of the report cells, how often each was seen, and their samples.

        Of a design as often as in simple random samples of the effective sizes, (k, m).
        """
        channel, counts = self.mechanism.channel, self.reported.astype(np.float64)
        if self._survey is not None:
            return self._survey.scored(self._effective_sizes(level)[:, None])
        if not arrays.has_scores(channel):  # samples that need one another stand alone
            return arrays.weights(channel, counts), counts, channel.samples
        cells = np.arange(len(counts))
        return channel.scores(cells).T, counts, np.zeros_like(cells)

    def uncut_interval(self, level: float, df: Floats) -> Interval:
        """(k,) Wilson's or the empirical likelihood's intervals of a design; may leave [0, 1].

        df : (k,) degrees of freedom to take instead of these, as a difference has others.
        """
        channel, survey = self.mechanism.channel, self._survey
        sizes = self._effective_sizes(level, df)
        if survey is None or not (sizes > 0).all():
            return Interval(np.full(self.k, -np.inf), np.full(self.k, np.inf))
        if (rates := channel.binomial_rates) is not None:
            counts = np.clip(self.support[1], 0, 1) * sizes
            ends = rates.false_positive_rate, rates.true_positive_rate
            found = binomial.carry(binomial.wilson_rates(counts, sizes, level), *ends)
        elif not channel.is_multinomial:
            error = np.sqrt(np.fmax(self.variance, self.least_variance))
            found = contrasts.wald(self.proportions, error, student_quantile(level, df))
        else:
            found = mean_interval(*survey.scored(sizes[:, None]), level)
        # No interval leaves out its estimate.
        return contrasts.hull(found, Interval(self.proportions, self.proportions))

    # -- ratios and means ------------------------------------------------------------------

    def share_among(
        self, category: Hashable, among: Iterable[Hashable], level: float = 0.95
    ) -> RatioEstimate:
        """The proportion of one category among the people of some categories.

        Parameters
        ----------
        category : hashable
            One of ``among``.
        among : iterable of categories
        level : float
            Confidence.

        Returns
        -------
        RatioEstimate
            The ratio of the two proportions, its standard error by the delta method, and an
            interval inside [0, 1]: the hull of Fieller's (with t quantiles) and of the empirical
            likelihood's (at the effective size), which is [0, 1] where the people may be next to
            nobody.  Consistent, not unbiased.

        Examples
        --------
        >>> import rrstats as rr
        >>> counts = rr.Tally.from_counts([600, 250, 150], rr.KRR(["no", "once", "often"], 0.8))
        >>> found = rr.estimate(counts).share_among("often", among=["once", "often"])
        >>> round(found.proportion, 3), round(found.std_error, 3)
        (0.25, 0.049)
        """
        whole = np.zeros(self.k)
        whole[[self.code_of(name) for name in among]] = 1
        part = np.eye(self.k)[self.code_of(category)]
        if not whole @ part:
            raise ArgumentValueError(f"among must contain the category {category!r}")
        return self._ratio(part, whole, check_level(level))

    def among(self, among: Iterable[Hashable] | None = None, level: float = 0.95) -> pd.DataFrame:
        """The proportions among the people of some categories: by default who answered.

        Parameters
        ----------
        among : iterable of categories, optional
            By default all that are not missing, where non-response is a category.
        level : float
            Confidence.

        Returns
        -------
        DataFrame
            Columns category, proportion, std_error, low, high: `share_among` of each.  Who
            answered is itself estimated, so the intervals are wider than those of the proportions.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes", None], 0.8)
        >>> est = rr.estimate(rr.Tally.from_counts([500, 300, 200], m))
        >>> est.among().round(3)
          category  proportion  std_error    low   high
        0       no       0.667      0.023  0.621  0.712
        1      yes       0.333      0.023  0.288  0.379
        """
        if among is None:
            among = [category for category in self.categories if category is not None]
            if len(among) == self.k:
                raise ArgumentValueError(
                    "among must name categories: non-response is not among those of this design, "
                    f"{self._answers.describe()}, so that all proportions are of who answered"
                )
        among = tuple(among)
        rows = [vars(self.share_among(category, among, level)) for category in among]
        table = pd.DataFrame(rows, columns=["proportion", "std_error", "low", "high"])
        table.insert(0, "category", label_column(among))
        return table

    @cached_property
    def _covariances(self) -> list[Floats]:
        """The covariance, and of a design that below which none is trusted."""
        least = self.designed and self.mechanism.channel.is_multinomial
        return [self.covariance, *([self.least_covariance] if least else [])]

    def _errors(self, contrast: Floats) -> tuple[float, float]:
        """The standard error of a sum of proportions, and the largest that intervals use.

        The first is NaN for a negative variance of a design.
        """
        variances = [float(contrast @ one @ contrast) for one in self._covariances]
        scale = float(np.abs(contrast) @ np.abs(self._covariances[0]) @ np.abs(contrast))
        own = variances[0] if self.designed else max(variances[0], 0.0)
        return float(_root(np.array(own), scale)), float(np.sqrt(max(*variances, 0.0)))

    def _ratio(self, part: Floats, whole: Floats, level: float) -> RatioEstimate:
        """The ratio of two sums of proportions; (k,) each."""
        both, quantile = np.stack([part, whole]), student_quantile(level, self.df)
        top, bottom = (float(one) for one in both @ self.proportions)
        found = top / bottom if bottom else np.nan
        contrast, ends = part - found * whole, []
        error, largest = (one / abs(bottom or np.nan) for one in self._errors(contrast))
        if not np.isfinite(found) or self._says_nothing:
            return RatioEstimate(found, error, 0.0, 1.0)
        for one in self._covariances:
            if contrast @ one @ contrast >= 0 or not self.designed:
                moments = (both @ one @ both.T)[[0, 0, 1], [0, 1, 1]]
                ends.append(contrasts.fieller(top, bottom, tuple(moments), quantile**2))
        if self.target == "population" and self.mechanism.channel.is_multinomial:
            # Nowhere is the ratio more than 1, and there it has the variance of none.
            near = part - float(np.clip(found, 0, 1)) * whole
            scores, counts, samples = self._scored(near, level)
            accepted = ratio_interval((both @ scores)[:, None], counts, samples, level)
            ends.append(Interval(*(end.item() for end in accepted)))
        low, high = min((e[0] for e in ends), default=0.0), max((e[1] for e in ends), default=1.0)
        span = widen_outside(found, float(quantile * largest), Interval(low, high))
        return RatioEstimate(found, error, *span)

    @property
    def _says_nothing(self) -> bool:
        return self.designed and (self.df < 1 or self.n < 2)

    def _scored(self, contrast: Floats, level: float) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """(k, m) scores of the report cells, how often each was seen, and their samples.

        Of a design as often as in a simple random sample that says as much of the contrast.
        """
        channel, survey = self.mechanism.channel, self._survey
        if survey is None:
            counts = self.reported.astype(np.float64)
            return arrays.weights(channel, self.reported), counts, channel.samples
        size = survey.effective_size(contrast, self._errors(contrast)[1] ** 2)
        size = float(self.effective_n.min()) if size is None else size
        return survey.scored(size * self._shrinkage(level, self.df))

    def mean(
        self, values: Mapping[Any, float] | None = None, *, level: float = 0.95
    ) -> MeanEstimate:
        """The mean of a number that each category stands for, as of a privatized 0/1.

        Parameters
        ----------
        values : mapping, optional
            From category to number; by default the categories, which must be numbers themselves.
        level : float
            Confidence.

        Returns
        -------
        MeanEstimate
            The mean, its standard error and an interval within the smallest and the largest number:
            for the population by empirical likelihood of the scores (at the effective size) where
            each report falls into one cell, else by a quantile of standard errors.

        Raises
        ------
        ArgumentTypeError
            For categories that are no numbers.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR([0, 1], 0.75)))
        >>> found = est.mean()
        >>> round(found.mean, 3), round(found.std_error, 3)
        (0.22, 0.03)
        """
        number, level = self._numbers(values), check_level(level)
        least, most = float(number.min()), float(number.max())
        # Numbers on a scale from 0 to 1, on which intervals of proportions are cut and kept wide.
        scale = (number - least) / ((most - least) or 1.0)
        if self.k == 2 and not self.designed:
            low, high = (end[1] for end in self.interval(level))
            span = Interval(low, high) if scale[1] else Interval(1 - high, 1 - low)
        else:
            span = self._scaled_mean(scale, level)
        low, high = (least + (most - least) * float(end) for end in span)
        found = float(number @ self.proportions)
        return MeanEstimate(found, self._errors(number)[0], low, high)

    def _scaled_mean(self, scale: Floats, level: float) -> Interval:
        """The interval in [0, 1] of a mean of numbers that reach from 0 to 1."""
        found = float(scale @ self.proportions)
        margin = float(student_quantile(level, self.df) * self._errors(scale)[1])
        if not np.isfinite(found + margin) or self._says_nothing:
            return Interval(0.0, 1.0)
        ends = Interval(found - margin, found + margin)
        if self.target == "population" and self.mechanism.channel.is_multinomial:
            scores, counts, samples = self._scored(scale, level)
            both = mean_interval((scale @ scores)[None], counts, samples, level)
            ends = Interval(float(both.low[0]), float(both.high[0]))
        return widen_outside(found, margin, ends)

    def _numbers(self, values: Mapping[Any, float] | None) -> Floats:
        """(k,) the number that each category stands for; by default itself."""
        given: Any = self.categories
        if values is not None:
            known = {self.code_of(category): number for category, number in values.items()}
            given = [known.get(code) for code in range(self.k)]
        if not all(isinstance(one, numbers.Real) for one in given):
            raise ArgumentTypeError(
                f"a mean needs numbers, and the categories are {self._answers.describe()}; give "
                "values, a mapping from each category to its number"
            )
        return np.array([float(one) for one in given])

    # -- one category ----------------------------------------------------------------------

    @cached_property
    def _answers(self) -> Categories:
        return Categories(self.categories)

    def code_of(self, category: Hashable) -> int:
        """The place of a category, by default the last; None is a missing one."""
        code = self.k - 1 if category is ... else self._answers.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{category!r} is not among the categories {self._answers.describe()}"
            )
        return code

    __iter__ = None  # est["never"] looks up a category; there is no est[0] to start from

    def __getitem__(self, category: Hashable) -> ShareEstimate:
        code = self.code_of(category)
        targets = [self.target, *(["rows"] if self._survey is None else [])]
        columns = self.columns_of(code, [self._interval(0.95, target) for target in targets])
        plain = {name: np.asarray(value).item() for name, value in columns.items()}
        return ShareEstimate(category=self.categories[code], **plain)

    def _ipython_key_completions_(self) -> list[Hashable]:
        return list(self.categories)

    # -- display ---------------------------------------------------------------------------

    def columns_of(self, at: Any, ends: Sequence[Interval]) -> dict[str, Any]:
        """The columns of the frame but the category, of all categories or of one.

        ends : of the proportions and, without a design, perhaps of those among the rows.
        """
        reported = self.support[0][at]  # whole numbers where there are such
        found = {
            "n": self.n,
            "reported": reported.astype(np.int64) if self.has_support else reported,
            "naive": self.support[1][at],
            "proportion": self.proportions[at],
            "std_error": self.std_error[at],
            "low": ends[0].low[at],
            "high": ends[0].high[at],
        }
        if self._survey is None:
            found["count"] = self.counts[at]
            for low, high in ends[1:]:
                found |= {"count_low": low[at] * self.n, "count_high": high[at] * self.n}
            return found
        names = ("effective_n", "design_effect", "randomization_variance", "sampling_variance")
        found |= {name: getattr(self, name)[at] for name in names}
        return found | {"total": self.totals[at], "total_std_error": self.total_std_error[at]}

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Parameters
        ----------
        level, method, simultaneous
            Of the intervals, as in `interval`.

        Returns
        -------
        DataFrame
            Columns category, n, reported and naive (the reports that support the category, and
            their weighted share; NaN in designs whose reports do not), proportion, std_error, low,
            high (the interval for the target), and count, count_low, count_high (always about the
            rows).  With a design instead of counts effective_n, design_effect,
            randomization_variance and sampling_variance (which make std_error^2; the second may be
            negative), total and total_std_error in the units of the weights.
        """
        ends = [self._interval(level, self.target, method, simultaneous)]
        if self._survey is None:
            ends.append(self._interval(level, "rows", None, simultaneous))
        columns = self.columns_of(slice(None), ends)
        return pd.DataFrame({"category": label_column(self.categories), **columns})

    @property
    def header(self) -> Sequence[tuple[str, str]]:
        """The target, the size of the sample and its design."""
        found = [("target", self.target), ("n", f"{self.n:,}")]
        found += [("missing", f"{self.n_missing:,}")] * bool(self.n_missing)
        if self._survey is not None:
            cells = self._survey.cells
            found += [("strata", f"{len(cells.labels):,}")] * (len(cells.labels) > 1)
            found += [("clusters", f"{int(cells.units.sum()):,}")] * (not cells.alone.all())
            found.append(("sum of weights", f"{self.weight:,.1f}"))
        return found

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        found = [f"{IMPLAUSIBLE[0].upper()}{IMPLAUSIBLE[1:]}"] * bool(self.implausible.any())
        if self._survey is None:
            return found
        if below := int((self.sampling_variance < 0).sum()):
            found.append(
                f"The sampling's part of the variance came out negative for {below} of {self.k} "
                "categories: beside the randomization's it is too small to be told from 0."
            )
        if self.n and self.df < _FEW:
            found.append(
                f"The standard errors rest on {max(self.df, 0)} degrees of freedom (clusters less "
                "strata) and are rough; the intervals are wider for it."
            )
        too_sure = self.least_variance > _TOO_SURE * np.maximum(self.variance, 0.0)
        if self.n and too_sure.any():
            found.append(
                f"The standard errors of {int(too_sure.sum())} of {self.k} categories are smaller "
                "than the weights and strata by themselves allow, by luck or because few reports "
                "have nearly all the weight: do not use them; intervals, tests, effective_n and "
                "design_effect do not."
            )
        return found

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The estimate of one category in a sentence.

        Parameters
        ----------
        category : hashable
            By default the last one; None names a missing category.
        level : float
            Confidence.

        Returns
        -------
        str

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75)))
        >>> est.interpret("yes").partition(", of ")[0]
        'about 22.0% yes, 95% interval 16.0% to 28.2%'
        """
        code = self.code_of(category)
        level, named = check_level(level), label(self.categories[code])
        proportion = float(self.proportions[code])
        if np.isnan(proportion):
            empty = f"no reports are in {self.empty_samples}" if self.n else "there are no reports"
            return f"nothing can be said of {named}: {empty}{' of any weight' * self.designed}"
        low, high = (float(end[code]) for end in self.interval(level))
        near = float(np.clip(proportion, 0, 1))
        shown, wide = f"{proportion:.1%}", high - low > 0.9
        span = f"{level * 100:.10g}% interval {percent_range(low, high)}"
        span += f"{', so wide that it says next to nothing' * wide}, of {self._whom(code)}"
        # Within rounding of 0 or 1, or printed like it, a proportion is not worth a remark.
        if abs(proportion - near) < 1e-12 or shown.lstrip("-") == f"{near:.1%}":
            return f"about {near:.1%} {named}, {span}"
        if self.implausible[code]:
            why = "further off than noise goes: were these reports made by this mechanism?"
            return f"about {shown} ({why}) {named}, {span}"
        if wide:
            return f"nothing can be said of {named}: the estimate, {shown}, is all noise; {span}"
        why = f"the unbiased estimate is {shown}, which is noise around a share near {near:.0f}"
        return f"about {near:.1%} {named} ({why}), {span}"

    def _whom(self, code: int) -> str:
        """The people of whom the estimate speaks, in words."""
        what = "row" if self.target == "rows" else "report"
        these = f"this 1 {what}" if self.n == 1 else f"these {self.n:,} {what}s"
        if self.target == "rows":
            return these + " that have a report" * bool(self.n_missing)
        found = f"the population behind {these}"
        if self.designed:
            found += f", effective sample size {self.effective_n[code]:,.0f} of {self.n:,}"
        return found

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        method: str | None = None,
        simultaneous: bool = False,
        truth: Any = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw naive and debiased proportions with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level, method, simultaneous
            Of the intervals, as in `interval`.
        truth : mapping, Series or sequence of floats, optional
            True proportions by category, where they are public.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            A hollow dot is an estimate outside 0 to 100%.
        """
        ends = self.interval(level, method=method, simultaneous=simultaneous)
        rows = proportion_rows(self.categories, self.proportions, ends)
        if self.has_support:
            rows["naive"] = self.support[1]
        if truth is not None:
            rows["truth"] = check_truth(truth, self.categories, missing=0.0)
        whom = "these rows" if self.target == "rows" else "the population"
        options = {"title": f"{self.n:,} reports", **options}
        return plot_intervals(rows, ax, xlabel=f"proportion of {whom}", level=level, **options)


def _root(variance: Floats, scale: float = 0.0) -> Floats:
    """Square roots, NaN for what is negative by more than rounding.

    scale : of the terms of which the variances are sums, where it is larger than theirs.
    """
    scale = float(np.fmax.reduce(np.abs(variance), axis=None, initial=np.fmax(scale, 0.0)))
    safe = np.where(variance < -1e-12 * scale, np.nan, np.maximum(variance, 0.0))
    return np.sqrt(safe)


# -- from reports ----------------------------------------------------------------------------


def estimate(
    reports: Any,
    categories: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanism: Any = None,
    columns: Any = None,
    group: Any = None,
    target: str = "population",
    ddof: int = 1,
    by: Any = None,
    observed: bool = True,
    weights: Any = None,
    design: SampleDesign | None = None,
) -> Any:
    """Estimate true proportions from privatized reports.

    Parameters
    ----------
    reports : array-like of shape (n,), Series, frame or Tally
        Reports in any container that `privatize` gives back, or a Tally of them; or a frame, of
        pandas or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark, Ibis), of which only counts
        come back.
    categories, prob, epsilon
        The categories with prob or epsilon, or a mechanism.  A Tally, and a Series that says how it
        was made, need none.  Where rows were made by different mechanisms: a column of n
        mechanisms, or a mapping from group to mechanism; direct answers have `surveys.direct`.
    mechanism
        The same as categories, under its own name.
    columns, group, by, observed, weights
        As for `tally`.
    target : {"population", "rows"}
        Whom the statement is about: the population these people were drawn from, or just these
        rows.
    ddof : int
        Taken off n in the population's variance.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample; of a Tally, which has those, only
        population, probabilities and lonely_psu.

    Returns
    -------
    Estimate
        k unbiased proportions, which may lie outside [0, 1]; `Estimate.mle` tidies the table and
        says what that costs.  With ``by`` `GroupEstimates`, a mapping from group to Estimate; of a
        list of columns `Estimates`, a mapping from name to that.

    Raises
    ------
    ArgumentValueError
        For reports outside the categories.
    NotIdentifiableError
        The reports carry no information (prob is 1/k).
    MetadataError
        An argument contradicts what the reports say of themselves.

    Warns
    -----
    ImplausibleReportsWarning
        No true proportions explain the reports: most often they are true answers that nobody
        privatized, or rows picked by their report.

    Notes
    -----
    Wang et al. (2017), eq. 2, and its generalizations; of a design the formulas of `svymean` and
    `svytotal` in R's survey package, with Arnab (1994) for the coins.

    Examples
    --------
    >>> import rrstats as rr
    >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
    >>> est.proportions.round(4), est.std_error.round(4)
    (array([0.78, 0.22]), array([0.0304, 0.0304]))
    """
    check_target(target)
    if mechanism is not None:
        if categories is not None:
            raise ArgumentTypeError("give categories or mechanism, found both")
        categories = mechanism
    design, made = design_of(weights, design), (categories, prob, epsilon)
    settings = target, ddof, design.without_rows()
    if isinstance(reports, Tally):
        _check_tally(reports, made, [by, group, *design.columns.values()])
        return _checked(Estimate(reports, *settings))
    beside, found = {"by": by, "group": group, "observed": observed}, dict[Any, Any]()
    tallies, names, single, rows = count_reports(reports, made, columns, design=design, **beside)
    for name, counted in tallies.items():
        parts, alone = ({None: counted}, True) if names is None else (counted, False)
        each = {by: _checked(Estimate(one, *settings), alone=alone) for by, one in parts.items()}
        counts = sum(one.n + one.n_missing for one in each.values())
        found[name] = each[None] if names is None else GroupEstimates(names, each, rows - counts)
    return next(iter(found.values())) if single else Estimates(found)


def _check_tally(counted: Tally, made: tuple[Any, Any, Any], said: list[Any]) -> None:
    """Raise for what a tally has said already; True stands for probabilities that it holds."""
    if any(one is not None and one is not True for one in said):
        raise ArgumentTypeError(
            "a tally is counted already: give by, group, weights and design= to rr.tally"
        )
    if any(one is not None for one in made):
        given = as_mechanism(*made)
        if given != counted.mechanism:
            raise ArgumentValueError(
                f"the tally was counted for {counted.mechanism!r}; leave the mechanism out"
            )


def _checked(found: Estimate, *, alone: bool = True) -> Estimate:
    """An estimate that says something; warns of what it cannot say.

    alone : whether it is all there is; a group may lack a sample that it needs.
    """
    shares = found.proportions  # raises NotIdentifiableError now rather than when it is shown
    if alone and found.n and not found.designed and np.isnan(shares).any():
        raise NotIdentifiableError(
            f"no reports are in the samples {found.empty_samples}, and the others alone do not "
            "identify the shares"
        )
    condition = arrays.condition_number(found.mechanism.channel)
    if condition > _ILL_CONDITIONED:
        warn(
            f"the design is ill-conditioned (condition number {condition:.3g}): it amplifies noise "
            "by about that factor, so that any estimate needs enormous numbers of respondents",
            LowPrecisionWarning,
        )
    if found.n and found.implausible.any():
        warn(IMPLAUSIBLE, ImplausibleReportsWarning)
    return found
