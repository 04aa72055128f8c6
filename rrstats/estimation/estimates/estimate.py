"""Unbiased proportions of k categories, with covariance, intervals, a table and a picture.

Proportions may lie outside [0, 1]: nothing is clipped silently, and proportions inside the simplex
are another type.  With weights or a design, intervals are those of a simple random sample of the
effective sample size.  They are wider where the variance rests on few clusters (Korn and Graubard,
1998), and do not use a variance below the one that strata and weights alone give.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import (
    check_bool,
    check_instance,
    check_left_out,
    check_level,
    check_one_of,
    check_proportions,
    quote,
)
from rrstats._display import label, percent_range
from rrstats._names import checked_keywords, checked_options, did_you_mean
from rrstats._typing import (
    ColumnLike,
    ColumnName,
    ColumnNames,
    Floats,
    GroupsLike,
    NumbersByCategory,
    RateLike,
)
from rrstats.data.categories import Categories, categories_from_json, category_numbers
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
    RRStatsError,
    warn,
    warnings_once,
)
from rrstats.estimation.estimates.control_questions import Corrected, corrected
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates
from rrstats.estimation.estimates.noncompliance import (
    NoncomplianceBounds,
    TippingPoint,
    reported_of,
)
from rrstats.estimation.estimates.ratios import ratio_of_sums, scaled_mean
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    ConstrainedProportions,
    LabelledInterval,
    MeanEstimate,
    RatioEstimate,
    Result,
    ShareEstimate,
    label_column,
    proportion_rows,
    titled,
)
from rrstats.estimation.report_columns.report_frames import Plan, ReportRequest
from rrstats.estimation.report_columns.sample_design import SIMPLE, SampleDesign, design_of
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.moments import ChannelMoments, Moments, contrast_errors
from rrstats.estimation.tallies.survey_moments import moments_of
from rrstats.estimation.tallies.tally import (
    WEIGHTINGS,
    CountedReports,
    GroupTallies,
    RowSums,
    Tally,
    count_reports,
)
from rrstats.estimation.tallies.tally import tally as tally_of
from rrstats.inference import binomial, contrasts
from rrstats.inference import multinomial as likelihood
from rrstats.inference.contrasts import (
    Interval,
    student_quantile,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    Channel,
    check_target,
    expected_rates,
    fixed,
    has_latent_classes,
)
from rrstats.mechanisms.krr import MechanismLike, as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.plans import PlanParts
from rrstats.mechanisms.records import KEY, find
from rrstats.mechanisms.samples import Samples
from rrstats.plots import PlotOptions, check_truth, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ILL_CONDITIONED = 1000
"""From this condition number on, even a million respondents give no useful estimate."""

_WIDE_INTERVAL = 0.9
"""Intervals of a proportion longer than this say nothing about it."""


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """Unbiased proportions of k categories, with their covariance and intervals.

    Proportions may lie outside [0, 1]: a rare category comes out below 0 about half the time.
    Without reports they are NaN and intervals are [0, 1].  ``est["never"]`` is one category.

    Attributes
    ----------
    tally : Tally
        The counted reports; with a design, counts by stratum and cluster with the sums of weights.
    target : {"population", "rows"}
        Proportions, variances and intervals are about the population, or about these rows alone.
    ddof : int
        Subtracted from n in the population's variance: 1 is unbiased, GLMMRR prints 0.
    design : SampleDesign
        The sample design, except the weights, strata and clusters of the rows.
    name : hashable
        The column of the reports, for titles of pictures; None if it has no name.
    group : str or None
        The group of these people in words, such as "county 95".
    """

    _shown = (
        *("proportion", "low", "high", "std_error", "count", "count_low", "count_high"),
        *("effective_n", "design_effect", "total", "total_std_error", "reported", "naive"),
    )

    tally: Tally
    target: str = "population"
    ddof: int = 1
    design: SampleDesign = SIMPLE
    name: Hashable = None
    group: str | None = None

    def __post_init__(self) -> None:
        check_target(self.target)
        if isinstance(self.ddof, bool) or self.ddof not in (0, 1):
            raise ArgumentValueError(f"ddof must be 0 or 1, got {self.ddof!r}")
        if self.target != "population" and (self.tally.sampled or self.design.finite):
            raise ArgumentValueError("with a design target must be 'population', got 'rows'")
        if self.plan is not None and self.design.finite:
            raise ArgumentValueError(
                "design must have no population and no probabilities for a column of a plan, whose "
                "coin draws from the sample; give weights, whose intervals are a little wider"
            )
        _ = self.moments  # raises now for a design that cannot be estimated

    @cached_property
    def moments(self) -> Moments:
        """Means of the scores of the reports, and what their intervals need."""
        return moments_of(self.tally, self.target, self.ddof, self.design)

    @property
    def designed(self) -> bool:
        """True where the sample has weights, strata, clusters or a population of known size."""
        return self.moments.designed

    # -- the reports -----------------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports."""
        return self.tally.mechanism

    @property
    def channel(self) -> Channel:
        """P(report | true category); raises where rows have channels of their own."""
        return self.moments.channel

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
        """The number of missing reports, not in n; of a plan, of rows that were not asked."""
        return self.tally.n_missing

    @property
    def plan(self) -> PlanParts | None:
        """The plan of the frame by which a public coin chose these rows, as in its record."""
        return self.tally.plan

    @property
    def _empty_samples(self) -> list[Hashable]:
        """The labels of the samples that have no reports."""
        groups = self.mechanism.groups
        if groups is None:
            return []
        sizes = np.bincount(self.channel.samples, self.reported, minlength=len(groups))
        return [group for group, size in zip(groups, sizes, strict=False) if not size]

    @cached_property
    def reported(self) -> NDArray[np.int64]:
        """(m,) counts of the reports."""
        return self.tally.reported

    @property
    def naive(self) -> Floats:
        """(m,) proportions among the reports of each sample: biased; for comparison only."""
        return self.moments.naive

    # -- proportions and their variances ---------------------------------------------------

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true proportions; may lie outside [0, 1]."""
        return fixed(self.moments.proportions)

    @cached_property
    def counts(self) -> Floats:
        """(k,) unbiased true counts among the rows, not whole numbers.

        With a design, totals in the units of the weights (Horvitz-Thompson).
        """
        return fixed(self.moments.totals)

    @property
    def variance(self) -> Floats:
        """(k,) variance of the proportions, for the target; NaN where n is too small.

        With a design it is linearized, and holds both sampling and randomization.
        """
        return self.moments.variance

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the proportions; NaN where a variance came out negative."""
        return self.moments.std_error

    @property
    def count_std_error(self) -> Floats:
        """(k,) standard errors of the counts; NaN where the variance came out negative."""
        return self.moments.total_std_error

    @property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` due to randomization: a census would have it too."""
        return self.moments.randomization_variance

    @property
    def sampling_variance(self) -> Floats:
        """(k,) the rest of `variance`, due to drawing the sample.

        It is unbiased and the difference of two estimates, so it may be negative where the
        randomization adds most of the variance.  It is then too small to distinguish from 0, and is
        not cut at 0, so that averages over categories and surveys stay unbiased.
        """
        return self.variance - self.randomization_variance

    @property
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions, for the target.

        Returns
        -------
        ndarray of shape (k, k)
            Rows sum to 0 where proportions sum to 1, that is, unless reports name several
            categories.

        Raises
        ------
        ArgumentValueError
            Reports name several categories, and the sample has a design without clusters: the
            tally does not hold which categories were named together.
        """
        return self.moments.covariance

    @property
    def df(self) -> float:
        """Degrees of freedom: clusters (or rows) minus strata; infinite without a design.

        A group counts only the clusters and strata that it is in.  A stratum that was sampled
        completely counts its rows, because only their randomization is random.
        """
        return self.moments.df

    @cached_property
    def design_effect(self) -> Floats:
        """(k,) variance divided by that of a simple random sample of as many reports.

        It uses the larger of `variance` and of that which strata and weights alone give, as
        intervals do.  With one weight of 100,000 and 99 weights of 1, `variance` alone would give
        100 reports an effective sample size of 1,966 instead of 1.  If all reports are equal, it is
        Kish's effect of the weights.
        """
        return fixed(self.moments.design_effect)

    @property
    def effective_n(self) -> Floats:
        """(k,) effective sample size: n / `design_effect`."""
        return np.asarray(self.n / self.design_effect)

    def covariance_with(self, other: Estimate) -> Floats | None:
        """Covariance with the proportions of another group of the same sample.

        Parameters
        ----------
        other : Estimate
            A group that shares no respondent with this one (the tallies cannot show that).

        Returns
        -------
        ndarray of shape (k, l) or None
            None where the two do not look like groups of one sample: then treat them as
            independent.  They do if they have the same strata and clusters, in each the same number
            of sampled rows, enough for both groups, and the same sampled fraction, as the groups of
            ``estimate(..., by=)`` have.  Without clusters only the strata contribute, and the
            covariance is 0 if there is one stratum.

        Notes
        -----
        Cross products of the linearized sums, as in R's ``svyby(covmat = TRUE)``.

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
        return self.moments.covariance_with(other.moments)

    def df_with(self, *others: Estimate) -> int | None:
        """Degrees of freedom of these reports and those of other groups of the same sample.

        Parameters
        ----------
        *others : Estimate

        Returns
        -------
        int or None
            None where `covariance_with` is None.  Shared clusters and strata count once.
        """
        return self.moments.df_with(*(other.moments for other in others))

    @cached_property
    def implausible(self) -> NDArray[np.bool_]:
        """(k,) True where a category's reports are rarer or commoner than any truth explains.

        Then these are not reports of this mechanism, or not all of them: answers were not
        privatized, rows were selected by their report, or prob is wrong.  Right reports of any true
        proportions are called implausible with a probability of at most 1e-9.
        """
        return self.moments.implausible

    # -- other estimates from the same reports ---------------------------------------------

    def with_target(self, target: str) -> Estimate:
        """Estimate from these reports for another target.

        Parameters
        ----------
        target : {"population", "rows"}

        Returns
        -------
        Estimate
        """
        return replace(self, target=check_target(target))

    def about(self, shows: Any = None) -> Estimate:
        """Estimate other categories from these reports.

        Parameters
        ----------
        shows : mapping, optional
            From latent class to category, for mechanisms with latent classes (for example those
            who lie, or answers to the unrelated question); None estimates the classes themselves.

        Returns
        -------
        Estimate

        Raises
        ------
        NotIdentifiableError
            The reports do not identify these categories.
        """
        finer = "a MatrixDesign or Samples, whose classes may be finer than categories"
        mechanism = check_instance(self.mechanism, "mechanism", (MatrixDesign, Samples), finer)
        tally = replace(self.tally, mechanism=mechanism.showing(shows))
        estimate = replace(self, tally=tally)
        _ = estimate.proportions  # raises NotIdentifiableError now
        return estimate

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
        channel = self.channel
        self._check_likelihood()
        if proportions is None:
            proportions = arrays.most_likely(channel, self.reported)
        proportions = check_proportions(proportions, "proportions", len(channel.class_of))
        rates = expected_rates(channel, proportions)
        return likelihood.log_probability(rates, self.reported, channel.samples)

    def _check_likelihood(self) -> None:
        """Raise ArgumentValueError where counts have no likelihood."""
        channel = self.channel
        if self.designed or not channel.is_multinomial:
            what = "samples with a design" if self.designed else "reports of several categories"
            raise ArgumentValueError(
                f"counts of {what} have no likelihood; project() gives proportions in [0, 1]"
            )

    def mle(self, *, smoothing: bool = False) -> ConstrainedProportions:
        """Maximum likelihood proportions inside the simplex: in closed form for k-RR.

        In one sample with as many reports as categories they equal the unbiased proportions where
        those are inside.  They are better for a displayed table and for the whole distribution, and
        biased for the largest and the rare categories.

        Parameters
        ----------
        smoothing : bool
            Smooth each step of EM over neighbouring categories, for a smooth distribution over many
            ordered brackets.  The kernel conserves mass: half of a category stays and a quarter
            goes to each neighbour; of the first and the last category 2/3 stay and 1/3 goes to
            their only neighbour.  It is biased towards flat, with 3/4 of the others at both ends:
            with few brackets (11, say), peaks or gaps it is worse than the maximum, with any number
            of reports.

        Returns
        -------
        ConstrainedProportions

        Raises
        ------
        ArgumentValueError
            Reports name several categories, or the sample has a design; smoothing of a design with
            latent classes.

        References
        ----------
        Li, Wang, Lopuhaa-Zwakenberg, Skoric and Li (2020), for smoothing.
        """
        proportions = self.proportions  # may raise NotIdentifiableError
        self._check_likelihood()
        channel = self.channel
        method = "maximum likelihood"
        if check_bool(smoothing, "smoothing"):
            method = "EM with smoothing"
            if has_latent_classes(channel):
                raise ArgumentValueError("smoothing needs ordered categories, not latent classes")
        if self.n:
            classes = arrays.most_likely(channel, self.reported, smoothing=smoothing)
            proportions = np.bincount(channel.class_of, classes, minlength=channel.k).astype(float)
        return ConstrainedProportions(self.categories, proportions, self.n, method)

    def project(self) -> ConstrainedProportions:
        """The proportions inside the simplex that are nearest to the unbiased ones (Euclidean).

        Returns
        -------
        ConstrainedProportions
        """
        proportions = self.proportions
        if np.isfinite(proportions).all():
            proportions = contrasts.project_to_simplex(proportions)
        return ConstrainedProportions(self.categories, proportions, self.n, "Euclidean projection")

    # -- intervals -------------------------------------------------------------------------

    def interval(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        simultaneous: bool = False,
        anytime: bool = False,
    ) -> LabelledInterval:
        """Intervals of the true proportions, for the target.

        Parameters
        ----------
        level : float
            Confidence.
        method : str, optional
            Where the count of each category is binomial (k-RR, unary encoding, forced response, all
            designs of two categories and reports): the methods of `confidence_interval`,
            "clopper-pearson" by default; with a design all except "blaker", which needs whole
            counts.  Otherwise "profile-likelihood" (the default up to 50 classes),
            "empirical-likelihood" (the default beyond, and for samples that each identify all
            proportions), or "wald" (for designs so large that the others take minutes).
        simultaneous : bool
            Whether the level holds for all categories together (Bonferroni).
        anytime : bool
            Whether the level holds for all looks together, at data that still come in: whoever
            looks every day and stops when they like is wrong with probability 1 - level at most.
            Only for two reports without weights, and respondents drawn one after another from one
            population; less than twice as wide at 1,000 reports.

        Returns
        -------
        LabelledInterval
            (k,) ends; unpacks to ``low, high``.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> est.interval().low.round(3), est.interval(anytime=True).low.round(3)
        (array([0.719, 0.16 ]), array([0.676, 0.12 ]))
        """
        if check_bool(anytime, "anytime"):
            return self._anytime_interval(level, method)
        low, high = self._interval(level, self.target, method, simultaneous)
        return LabelledInterval(low, high, self.categories)

    def _anytime_interval(self, level: float, method: str | None) -> LabelledInterval:
        """Intervals that hold at every look; raises where no such method is known here."""
        binomial_counts = self.moments.binomial_counts
        rates = self.moments.binomial_rates
        reason = ""
        if method is not None:
            reason = "it takes no method"
        elif self.target != "population":
            reason = "target must be 'population', because these rows change from look to look"
        elif self.designed:
            reason = "it needs reports without weights, strata and clusters"
        elif rates is None or not rates.complementary:
            reason = f"it needs two categories and two reports, found {self.k} categories"
        elif binomial_counts is None:
            reason = "it needs reports of one prob, found several (parts of a plan, or by row)"
        if reason or binomial_counts is None:
            raise ArgumentValueError(f"anytime=True is not possible here: {reason}; leave it out")
        _ = self.proportions  # may raise NotIdentifiableError
        low, high = binomial.anytime_interval(*binomial_counts, level=check_level(level))
        return LabelledInterval(low, high, self.categories)

    @cached_property
    def low(self) -> Floats:
        """(k,) lower ends of the 95% intervals; `interval` takes other levels."""
        return fixed(self.interval().low)

    @cached_property
    def high(self) -> Floats:
        """(k,) upper ends of the 95% intervals; `interval` takes other levels."""
        return fixed(self.interval().high)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Intervals as a frame, as regressions have them.

        Parameters
        ----------
        level : float
            Confidence.

        Returns
        -------
        DataFrame
            Columns low and high, one row for each category: the numbers of `interval`.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75)))
        >>> est.conf_int(0.9).round(3).to_dict("index")
        {'no': {'low': 0.728, 'high': 0.83}, 'yes': {'low': 0.17, 'high': 0.272}}
        """
        low, high = self.interval(level)
        index = pd.Index(label_column(self.categories), name="category")
        return pd.DataFrame({"low": low, "high": high}, index=index)

    def count_interval(
        self, level: float = 0.95, *, simultaneous: bool = False
    ) -> LabelledInterval:
        """Intervals of the true counts among the rows; with a design, of the totals.

        Parameters
        ----------
        level : float
            Confidence.
        simultaneous : bool
            Whether the level holds for all categories together (Bonferroni); not for totals.

        Returns
        -------
        LabelledInterval
            With a design plus and minus a t quantile of standard errors, not cut.
        """
        if not self.designed:
            low, high = self._interval(level, "rows", None, simultaneous)
            return LabelledInterval(low * self.n, high * self.n, self.categories)
        quantile = student_quantile(check_level(level), self.df)
        margin = quantile * self.count_std_error if self.df > 0 else np.inf
        return LabelledInterval(self.counts - margin, self.counts + margin, self.categories)

    def _interval(
        self, level: float, target: str, method: str | None = None, simultaneous: bool = False
    ) -> Interval[Floats]:
        """Intervals of all categories for any target."""
        _ = self.proportions  # may raise NotIdentifiableError
        rates = self.moments.binomial_rates
        single = self.k == 2 if rates is None else rates.complementary
        level = arrays.level_of_each(level, simultaneous, 1 if single else self.k)
        return self.moments.interval(level, method, target)

    # -- people who did not follow the instructions ----------------------------------------

    def corrected(self, control: Any, *, prevalence: Any = None, paired: Any = True) -> Corrected:
        """Correct for people who answer at random, by a control question.

        Parameters
        ----------
        control : (wrong, n) or Estimate
            The number of wrong reports to a control question whose right report is known for each
            person, and of all reports to it; or the estimate of a control question of known
            prevalence.
        prevalence : float, mapping or sequence, optional
            With an estimate as control: its true proportion of the sensitive (else the last)
            category, or of all categories.
        paired : bool or Crosstab
            True: the same people answered both questions.  Errors are then the largest that any
            correlation allows.  A crosstab of the reports with the control reports (or with a
            column that is True where the control report was wrong) says the correlation.  False:
            other people answered the control question.

        Returns
        -------
        Corrected
            Proportions among people who do not answer at random; the interval has both errors.

        Raises
        ------
        ArgumentValueError
            The known answer contradicts the control reports by more than chance.
        NotIdentifiableError
            All answer at random.

        Notes
        -----
        A random answer among m reports is wrong with probability (m - 1) / m.  With g at random,
        pi = (estimate - g r) / (1 - g), with r the mean score of random reports (1/2 for crosswise;
        Walzenbach and Hinz 2019).  The same proportion is assumed to answer both questions at
        random.

        Examples
        --------
        Doping in the first survey of Cruyff et al. (2024); 45 of 354 failed a number sequence:

        >>> import rrstats as rr
        >>> m = rr.surveys.extended_crosswise(
        ...     ["no", "yes"], {"A": 0.2, "B": 0.8}, yes="yes", reports=["different", "same"]
        ... )
        >>> counts = {"A": {"different": 60, "same": 109}, "B": {"different": 139, "same": 46}}
        >>> found = rr.estimate(rr.Tally.from_counts(counts, m)).corrected((45, 354))
        >>> round(found.noncompliance, 3), found.proportions.round(4)
        (0.254, array([0.9482, 0.0518]))
        """
        return corrected(reported_of(self), control, prevalence, paired)

    def noncompliance(self, proportion: Any, behaviour: Any = "random") -> NoncomplianceBounds:
        """The proportions if some respondents did not follow the instructions.

        Parameters
        ----------
        proportion : float, sequence of floats, or tuple (low, high)
            The proportion of respondents who did not follow, in [0, 1): a number, a list of numbers
            to compare, or a range.
        behaviour : "random", "any", a report, or a mapping from report to probability
            What they reported: any report with the same probability; anything (bounds over all
            behaviours, which may differ between samples); always the same report; or reports with
            given probabilities.  Of reports that are sets, "random" names each category with the
            mean probability of a set.

        Returns
        -------
        NoncomplianceBounds
            Proportions, or their bounds, among the people who followed, with intervals; and bounds
            among all, where those who did not follow may be of any category.

        Raises
        ------
        ArgumentValueError
            A proportion is outside [0, 1), or the behaviour has no such report.

        Notes
        -----
        pi = (estimate - g r) / (1 - g), with r the mean score of the others' reports.  It is linear
        in the behaviour, so bounds over all behaviours are at single reports (Horowitz and Manski
        1995).  Bounds may lie outside [0, 1]; `NoncomplianceBounds.sharp_bounds` are inside.

        Examples
        --------
        43.6% of the athletes of a championship, in an unrelated-question survey of 2011:

        >>> import rrstats as rr
        >>> m = rr.surveys.unrelated_question(["no", "yes"], 2/3, 1/2, yes="yes")
        >>> est = rr.estimate(rr.Tally.from_counts({"no": 652, "yes": 550}, m))
        >>> bounds = est.noncompliance(0.144, behaviour="yes")
        >>> est.proportions.round(3), bounds.proportions.round(3)
        (array([0.564, 0.436]), array([0.701, 0.299]))

        If 14.4% always said yes, 29.9% of the others would have the attribute.
        """
        return reported_of(self).bounds(proportion, behaviour)

    def tipping_point(
        self, category: Hashable, value: float, behaviour: Any = "random", level: float = 0.95
    ) -> TippingPoint:
        """The proportion of respondents who did not follow that explains a claimed proportion.

        Parameters
        ----------
        category : hashable
        value : float
            The claimed proportion of the category among people who followed.
        behaviour : object
            As for `noncompliance`; "any" gives the smallest proportion over all behaviours.
        level : float
            Confidence level of the interval.

        Returns
        -------
        TippingPoint
            The proportion who did not follow, with an interval; NaN where none below 1 explains the
            claim.  Printed, it says so in a sentence.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.surveys.unrelated_question(["no", "yes"], 2/3, 1/2, yes="yes")
        >>> est = rr.estimate(rr.Tally.from_counts({"no": 652, "yes": 550}, m))
        >>> est.tipping_point("yes", 0.212, behaviour="yes").interpret()
        '21.6% of respondents who always report yes would explain 21.2% yes among the others, 95% \
interval 17.5% to 25.8%'

        Without them the estimate is 43.6%.
        """
        return reported_of(self).tipping_point(self.code_of(category), value, behaviour, level)

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
            likelihood's (at the effective sample size).  It is [0, 1] where the denominator may be
            0.  The ratio is consistent, not unbiased.

        Examples
        --------
        >>> import rrstats as rr
        >>> counts = rr.Tally.from_counts([600, 250, 150], rr.KRR(["no", "once", "often"], 0.8))
        >>> found = rr.estimate(counts).share_among("often", among=["once", "often"])
        >>> round(found.proportion, 3), round(found.std_error, 3)
        (0.25, 0.049)
        """
        denominator = np.zeros(self.k)
        labels = list(among)
        codes = np.array([self._answers.code(label) for label in labels], dtype=np.intp)
        n_other = int(np.count_nonzero(codes >= self.k))
        if n_other > 1:  # a column of answers, perhaps: they are counted
            raise ArgumentValueError(
                f"among must be some of the categories {self._answers.describe()}, found "
                f"{n_other} that are none"
            )
        denominator[[self.code_of(label) for label in labels]] = 1
        numerator = np.zeros(self.k)
        numerator[self.code_of(category)] = 1
        if not denominator @ numerator:
            raise ArgumentValueError(f"among must contain the category {quote(category)}")
        level = check_level(level)
        ratio = ratio_of_sums(self.moments, numerator, denominator, level, target=self.target)
        return RatioEstimate(*ratio)

    def among(self, among: Iterable[Hashable] | None = None, level: float = 0.95) -> pd.DataFrame:
        """The proportions among the people of some categories: by default those who answered.

        Parameters
        ----------
        among : iterable of categories, optional
            By default all except the missing one, where non-response is a category.
        level : float
            Confidence.

        Returns
        -------
        DataFrame
            Columns category, proportion, std_error, low, high: `share_among` of each.  The number
            who answered is estimated too, so intervals are wider than those of the proportions.

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
                    "among must name categories: non-response is not a category of this design, "
                    f"{self._answers.describe()}, so all proportions are of those who answered"
                )
        among = tuple(among)
        rows = [vars(self.share_among(category, among, level)) for category in among]
        table = pd.DataFrame(rows, columns=["proportion", "std_error", "low", "high"])
        table.insert(0, "category", label_column(among))
        return table

    def mean(
        self, values: Mapping[Any, float] | Sequence[float] | None = None, *, level: float = 0.95
    ) -> MeanEstimate:
        """The mean of a number that each category stands for, for example of a privatized 0/1.

        Parameters
        ----------
        values : mapping or sequence of k floats, optional
            From category to number, or the numbers (scores) in the order of the categories; by
            default the categories, which must be numbers themselves.
        level : float
            Confidence.

        Returns
        -------
        MeanEstimate
            The mean, its standard error and an interval between the smallest and the largest
            number: for the population by empirical likelihood of the scores (at the effective
            sample size) where each report falls into one cell, else by standard errors.

        Raises
        ------
        ArgumentTypeError
            The categories are not numbers.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR([0, 1], 0.75)))
        >>> found = est.mean()
        >>> round(found.mean, 3), round(found.std_error, 3)
        (0.22, 0.03)
        """
        level = check_level(level)
        numbers = category_numbers(values, self.categories, "values")
        smallest = float(numbers.min())
        span = float(numbers.max()) - smallest
        # Numbers on a scale from 0 to 1, so that rules for intervals of proportions apply.
        scaled = (numbers - smallest) / (span or 1.0)
        if self.k == 2 and not self.designed:
            low, high = (end[1] for end in self.interval(level))
            ends = Interval(low, high) if scaled[1] else Interval(1 - high, 1 - low)
        else:
            ends = scaled_mean(self.moments, scaled, level, target=self.target)
        low, high = (smallest + span * float(end) for end in ends)
        mean = float(numbers @ self.proportions)
        std_error, _ = contrast_errors(self.moments, numbers)
        return MeanEstimate(mean, std_error, low, high)

    # -- one category ----------------------------------------------------------------------

    @cached_property
    def _answers(self) -> Categories:
        """The categories, to look up codes and to describe them."""
        return Categories(self.categories)

    def code_of(self, category: Hashable) -> int:
        """The index of a category, by default the last; None is the missing one."""
        code = self.k - 1 if category is ... else self._answers.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{quote(category)} is not among the categories {self._answers.describe()}"
                f"{did_you_mean(category, self.categories)}"
            )
        return code

    __iter__ = None  # est["never"] looks up a category; there is no est[0] to start from

    def __getitem__(self, category: Hashable) -> ShareEstimate:
        code = self.code_of(category)
        targets = [self.target] if self.designed else [self.target, "rows"]
        columns = self._columns(code, [self._interval(0.95, target) for target in targets])
        plain = {name: np.asarray(value).item() for name, value in columns.items()}
        return ShareEstimate(category=self.categories[code], **plain)

    def _ipython_key_completions_(self) -> list[Hashable]:
        return list(self.categories)

    # -- display ---------------------------------------------------------------------------

    def _columns(self, at: int | slice, ends: Sequence[Interval]) -> dict[str, Any]:
        """The columns of the frame except the category, for all categories or for one.

        ends : intervals of the proportions and, without a design, perhaps of those among the rows.
        """
        counts, naive = self.moments.support
        reported = counts[at]
        columns = {
            "n": self.n,
            "reported": reported.astype(np.int64) if self.moments.has_support else reported,
            "naive": naive[at],
            "proportion": self.proportions[at],
            "std_error": self.std_error[at],
            "low": ends[0].low[at],
            "high": ends[0].high[at],
        }
        if not self.designed:
            columns["count"] = self.counts[at]
            for low, high in ends[1:]:
                columns["count_low"] = low[at] * self.n
                columns["count_high"] = high[at] * self.n
            return columns
        columns["effective_n"] = self.effective_n[at]
        columns["design_effect"] = self.design_effect[at]
        columns["randomization_variance"] = self.randomization_variance[at]
        columns["sampling_variance"] = self.sampling_variance[at]
        columns["total"] = self.counts[at]
        columns["total_std_error"] = self.count_std_error[at]
        return columns

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Parameters
        ----------
        level, method, simultaneous
            As for `interval`.

        Returns
        -------
        DataFrame
            Columns category, n, reported and naive (number and weighted proportion of reports that
            support the category; NaN if reports support none), proportion, std_error, low, high
            (the interval for the target), and count, count_low, count_high (always about the rows).
            With a design, in place of counts: effective_n, design_effect, randomization_variance
            and sampling_variance (they add to std_error^2; the second may be negative), total and
            total_std_error in the units of the weights.
        """
        ends = [self._interval(level, self.target, method, simultaneous)]
        if not self.designed:
            ends.append(self._interval(level, "rows", None, simultaneous))
        columns = self._columns(slice(None), ends)
        return pd.DataFrame({"category": label_column(self.categories), **columns})

    @property
    def header(self) -> Sequence[tuple[str, str]]:
        """The target, the size of the sample and its design."""
        rows = [("target", self.target), ("n", f"{self.n:,}")]
        if self.n_missing:
            absent = "missing" if self.plan is None else "not asked"
            rows.append((absent, f"{self.n_missing:,}"))
        return [*rows, *self.moments.header]

    @property
    def cautions(self) -> Sequence[str]:
        """A sentence that opens the printed result if its reports are implausible."""
        return [f"Warning: {IMPLAUSIBLE}."] if self.implausible.any() else []

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        return self.moments.notes

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
        'about 22.0% yes, 95% interval 16.0% to 28.1%'
        """
        code = self.code_of(category)
        level = check_level(level)
        category_text = label(self.categories[code])
        proportion = float(self.proportions[code])
        if np.isnan(proportion):
            reason = "there are no reports"
            if self.n:
                reason = f"no reports are in {self._empty_samples}"
            if self.designed:
                reason += " with a weight"
            return f"{category_text} cannot be estimated: {reason}"
        low, high = (float(end[code]) for end in self.interval(level))
        is_wide = high - low > _WIDE_INTERVAL
        interval_text = f"{level * 100:.10g}% interval {percent_range(low, high)}"
        if is_wide:
            interval_text += ", too wide to be useful"
        interval_text += f", of {self._whom(code)}"
        clipped = float(np.clip(proportion, 0, 1))
        clipped_text = f"{clipped:z.1%}"
        unbiased_text = f"{proportion:z.1%}"
        # A proportion that prints as 0 or 1 needs no remark.
        if abs(proportion - clipped) < 1e-12 or unbiased_text.lstrip("-") == clipped_text:
            return f"about {clipped_text} {category_text}, {interval_text}"
        if self.implausible[code]:
            reason = "noise does not explain it: were these reports made by this mechanism?"
            return f"about {unbiased_text} ({reason}) {category_text}, {interval_text}"
        if is_wide:
            return (
                f"{category_text} cannot be estimated: the estimate, {unbiased_text}, is only "
                f"noise; {interval_text}"
            )
        reason = (
            f"the unbiased estimate is {unbiased_text}: noise around a proportion near "
            f"{clipped:.0%}"
        )
        return f"about {clipped_text} {category_text} ({reason}), {interval_text}"

    def _whom(self, code: int) -> str:
        """The population or the rows that the estimate is about, in words."""
        noun = "row" if self.target == "rows" else "report"
        these = f"this 1 {noun}" if self.n == 1 else f"these {self.n:,} {noun}s"
        if self.target == "rows":
            return f"{these} that have a report" if self.n_missing else these
        population = f"the population behind {these}"
        if self.designed:
            size = f"{self.effective_n[code]:,.0f} of {self.n:,}"
            return f"{population}, effective sample size {size} by weights, strata and clusters"
        return population

    @checked_options(PlotOptions)
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        method: str | None = None,
        simultaneous: bool = False,
        truth: NumbersByCategory | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw naive and debiased proportions with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level, method, simultaneous
            As for `interval`.
        truth : mapping, Series or sequence of floats, optional
            True proportions by category, where they are public.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            A hollow dot is an estimate outside 0 to 100%.  Grey bars are the naive proportions,
            where a report names a category and those who have it report it most often.
        """
        ends = self.interval(level, method=method, simultaneous=simultaneous)
        rows = proportion_rows(self.categories, self.proportions, ends)
        if self._reports_are_answers:
            rows["comparison"] = self.moments.support[1]
        if truth is not None:
            rows["truth"] = check_truth(truth, self.categories, missing=0.0)
        whom = "these rows" if self.target == "rows" else "the population"
        options = {"title": titled(self.name, f"{self.n:,} reports"), **options}
        return plot_intervals(
            rows,
            ax,
            xlabel=f"proportion of {whom}",
            level=level,
            comparison="naive, among the reports",
            **options,
        )

    @property
    def _reports_are_answers(self) -> bool:
        """True where a report names a category, and is likeliest from those who have it.

        "Same" of a crosswise design is no yes, under whatever label it is recorded.
        """
        rates = self.moments.binomial_rates
        space = self.mechanism.report_space
        is_named = not isinstance(space, Categories) or space.categories == self.categories
        if not self.moments.has_support or not is_named:
            return False
        if rates is None:
            return True
        return bool(np.all(rates.true_positive_rate > rates.false_positive_rate))


# -- from reports ----------------------------------------------------------------------------

_Settings: TypeAlias = tuple[str, int, SampleDesign, Hashable]
"""Target, ddof, the design without the columns of rows, and the name of the column."""


class EstimateOptions(TypedDict, total=False):
    """The options of `estimate` that do not decide the type of its result."""

    epsilon: RateLike | None
    group: ColumnLike | None
    target: str
    ddof: int
    observed: bool
    weights: ColumnLike | None
    design: SampleDesign | None
    weighting: str


@overload
def estimate(
    reports: Any,
    categories: MechanismLike | Plan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismLike | Plan | None = None,
    columns: list[Any],
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimates[Estimate]: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismLike | Plan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismLike | Plan | None = None,
    columns: list[Any],
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> Estimates[GroupEstimates[Estimate]]: ...


@overload
def estimate(
    reports: Any,
    categories: Plan,
    prob: None = None,
    *,
    mechanism: None = None,
    columns: None = None,
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimates[Estimate]: ...


@overload
def estimate(
    reports: Any,
    categories: None = None,
    prob: None = None,
    *,
    mechanism: Plan,
    columns: None = None,
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimates[Estimate]: ...


@overload
def estimate(
    reports: Any,
    categories: Plan,
    prob: None = None,
    *,
    mechanism: None = None,
    columns: None = None,
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> Estimates[GroupEstimates[Estimate]]: ...


@overload
def estimate(
    reports: Any,
    categories: None = None,
    prob: None = None,
    *,
    mechanism: Plan,
    columns: None = None,
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> Estimates[GroupEstimates[Estimate]]: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismLike | Plan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismLike | Plan | None = None,
    columns: ColumnName | None = None,
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismLike | Plan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismLike | Plan | None = None,
    columns: ColumnName | None = None,
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> GroupEstimates[Estimate]: ...


@checked_keywords
def estimate(
    reports: Any,
    categories: MechanismLike | Plan | None = None,
    prob: RateLike | None = None,
    *,
    epsilon: RateLike | None = None,
    mechanism: MechanismLike | Plan | None = None,
    columns: ColumnNames | None = None,
    group: ColumnLike | None = None,
    target: str = "population",
    ddof: int = 1,
    by: ColumnLike | None = None,
    observed: bool = True,
    weights: ColumnLike | None = None,
    design: SampleDesign | None = None,
    weighting: str = WEIGHTINGS[0],
) -> Any:
    """Estimate true proportions from privatized reports.

    Parameters
    ----------
    reports : array-like of shape (n,), Series, frame or Tally
        Reports in any container that `privatize` returns, or a Tally of them; or a frame of pandas
        or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark, Ibis), which returns only counts.
    categories, prob, epsilon
        The categories with prob or epsilon, or a mechanism.  A Tally, and a Series with a record of
        its mechanism, need none.  Where rows were made by different mechanisms: a column of n
        mechanisms, or a mapping from group to mechanism; `surveys.direct` is for direct answers.
        Where the prob of k-RR differs by row: prob or epsilon is a column of n numbers, or its name
        in a frame; a released frame records it.
    mechanism
        The same as categories, as a keyword.
    columns, group, by, observed, weights
        As for `tally`.
    target : {"population", "rows"}
        The estimate is about the population that these people were drawn from, or about just these
        rows.
    ddof : int
        Subtracted from n in the population's variance.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample.  A Tally already holds those: give only
        population, probabilities and lonely_psu.  Rows whose prob differs may have weights alone.
    weighting : {"equal", "precision"}
        Of rows whose prob differs.  "equal" is the mean of the rows' scores, unbiased whatever else
        differs between them.  "precision" weights a row by (p - q)^2, which has a smaller variance
        and assumes that true proportions do not depend on prob.  The reports of a column that a
        plan asks in several parts always count by precision: its coin makes that true.

    Returns
    -------
    Estimate
        k unbiased proportions, which may lie outside [0, 1]; `Estimate.mle` gives proportions
        inside, which are biased.  With ``by``: `GroupEstimates`, a mapping from group to Estimate.
        For a list of columns: `Estimates`, a mapping from column name to either.

    Raises
    ------
    ArgumentValueError
        Reports are outside the categories.
    NotIdentifiableError
        The reports carry no information (prob is 1/k).
    MetadataError
        An argument contradicts the record of the reports.

    Warns
    -----
    ImplausibleReportsWarning
        No true proportions explain the reports: most often they are true answers that were not
        privatized, or rows that were selected by their report.

    Notes
    -----
    Wang et al. (2017), eq. 2, and its generalizations; with a design the formulas of `svymean` and
    `svytotal` in R's survey package, and Arnab (1994) for the variance of randomization.

    Examples
    --------
    >>> import rrstats as rr
    >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
    >>> est.proportions.round(4), est.std_error.round(4)
    (array([0.78, 0.22]), array([0.0304, 0.0304]))
    """
    check_target(target)
    check_one_of(weighting, "weighting", WEIGHTINGS)
    if mechanism is not None:
        if categories is not None:
            raise ArgumentTypeError("give categories or mechanism, found both")
        categories = mechanism
    design = design_of(weights, design)
    shared = (target, ddof, design.without_rows())
    request = ReportRequest(categories, prob, epsilon, columns, group)
    if isinstance(reports, Tally):
        _check_tally(reports, request, [by, group, design.replicates, *design.columns.values()])
        return check_estimate(Estimate(reports, *shared))
    counted = count_reports(
        reports, request, by=by, design=design, observed=observed, weighting=weighting
    )
    estimates = dict[Any, Any]()
    with warnings_once():
        for name, tally in counted.tallies.items():
            settings = (*shared, name)
            if counted.groups is None:
                estimates[name] = check_estimate(_estimate_of(tally, settings, weighting))
            else:
                estimates[name] = _checked_groups(counted, tally, settings, weighting)
        if isinstance(reports, pd.DataFrame):
            _warn_of_selection(reports, estimates)
    return Estimates(estimates) if counted.several else next(iter(estimates.values()))


_FIRST_ROWS = 40
"""Rows whose reports are hardly ever all equal, unless rows were selected or sorted by them."""


def _warn_of_selection(frame: pd.DataFrame, estimated: Collection[Any]) -> None:
    """Warn if another private column of the frame shows that rows were selected by its report.

    A column is counted only if its first reports are all equal.
    """
    document = frame.attrs.get(KEY)
    columns = document.get("columns", ()) if isinstance(document, dict) else ()
    for column in columns:
        with suppress(RRStatsError, KeyError, TypeError):  # no reports of the recorded mechanism
            (name,) = categories_from_json([column["name"]])
            if name in estimated or "plan" in column:
                continue
            reports = frame[name]
            if len(set(reports.iloc[:_FIRST_ROWS])) > 1:
                continue
            record = find(frame.attrs, name)
            if record and Estimate(tally_of(reports, record.resolve())).implausible.any():
                warn(
                    f"the rows seem to be selected by the reports of column {quote(name)}, which "
                    "no true proportions explain: noise decided who is left, so they are no "
                    "sample of a group of people; take all rows, and rr.crosstab of both columns",
                    ImplausibleReportsWarning,
                )


def group_text(names: Sequence[Hashable], group: Hashable) -> str:
    """A group in words: its columns with its labels."""
    labels = group if isinstance(group, tuple) and len(names) > 1 else (group,)
    pairs = zip(names, labels, strict=True)
    return ", ".join(f"{label(name)} {label(value)}" for name, value in pairs)


def _estimate_of(
    counted: Any, settings: _Settings, weighting: str, group: str | None = None
) -> Estimate:
    """The estimate of one tally, or of the sums of rows whose prob differs."""
    by_row = isinstance(counted, RowSums)
    is_mixed = not by_row and counted.plan is None and counted.mechanism.groups is not None
    if weighting != "equal" and is_mixed:
        check_left_out("rows of several samples count the same", weighting=weighting)
    return Estimate(counted, *settings, group)


def _checked_groups(
    counted: CountedReports,
    tallies: GroupTallies | dict[Any, RowSums],
    settings: _Settings,
    weighting: str,
) -> GroupEstimates[Estimate]:
    """The estimates of all groups of one column; warns if they are implausible together."""
    groups = _group_estimates(counted, tallies, settings, weighting)
    if groups.cautions and not groups.implausible:
        warn(f"in all groups together {IMPLAUSIBLE}", ImplausibleReportsWarning)
    return groups


def _group_estimates(
    counted: CountedReports,
    tallies: GroupTallies | dict[Any, RowSums],
    settings: _Settings,
    weighting: str,
) -> GroupEstimates[Estimate]:
    """The estimates of all groups: computed together in a sample without design, else one by one.

    Some rows of the data may be in no group.
    """
    names = counted.groups or ()
    if isinstance(tallies, GroupTallies):
        target, ddof, design, _ = settings
        channel = tallies.mechanism.channel
        counts = tallies.counts
        simple = not tallies.sampled and not design.finite and bool(tallies.labels)
        if simple and arrays.is_one_sample(channel):
            _ = _estimate_of(tallies.tally(0), settings, weighting)  # checks arguments
            moments = ChannelMoments(channel, counts.reported, counts.rows, target, ddof=ddof)
            warn_of_noise(moments)
            if moments.implausible.any():
                warn(IMPLAUSIBLE, ImplausibleReportsWarning)
            left_out = counted.rows - int(counts.rows.sum() + tallies.n_missing.sum())
            return GroupEstimates(
                names, _LazyEstimates(tallies, settings, names), left_out, moments
            )
        by_label: Mapping[Any, Any] = tallies.by_label()
    else:
        by_label = tallies
    estimates = {
        group: check_estimate(
            _estimate_of(tally, settings, weighting, group_text(names, group)), complete=False
        )
        for group, tally in by_label.items()
    }
    rows_in_groups = sum(estimate.n + estimate.n_missing for estimate in estimates.values())
    return GroupEstimates(names, estimates, counted.rows - rows_in_groups)


class _LazyEstimates(Mapping[Any, Estimate]):
    """Estimates of groups by label, each made when it is asked for."""

    def __init__(
        self, tallies: GroupTallies, settings: _Settings, names: Sequence[Hashable]
    ) -> None:
        self._tallies = tallies
        self._names = names
        self._settings = settings
        self._places = {label: place for place, label in enumerate(tallies.labels)}
        self._estimates: dict[Any, Estimate] = {}

    def __getitem__(self, group: Hashable) -> Estimate:
        if group not in self._estimates:
            tally = self._tallies.tally(self._places[group])
            text = group_text(self._names, group)
            self._estimates[group] = Estimate(tally, *self._settings, text)
        return self._estimates[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, label: object) -> bool:
        return label in self._places


def _check_tally(counted: Tally, request: ReportRequest, row_arguments: list[Any]) -> None:
    """Raise for arguments that a tally already holds; True stands for its probabilities."""
    if any(argument is not None and argument is not True for argument in row_arguments):
        raise ArgumentTypeError(
            "reports is a tally, which is counted already: give by, group, weights and design to "
            "rr.tally"
        )
    arguments = (request.mechanism, request.prob, request.epsilon)
    if any(argument is not None for argument in arguments):
        mechanism = as_mechanism(*arguments)
        if mechanism != counted.mechanism:
            raise ArgumentValueError(
                f"the tally was counted for {counted.mechanism!r}; leave the mechanism out"
            )


def check_estimate(estimate: Estimate, *, complete: bool = True) -> Estimate:
    """The estimate; raises if it is not identified, warns if it is imprecise or implausible.

    complete : False for a group, which may lack a sample that it needs.
    """
    unidentified = np.isnan(estimate.proportions).any()  # may raise NotIdentifiableError
    if complete and estimate.n and not estimate.designed and unidentified:
        raise NotIdentifiableError(
            f"there are no reports in the samples {estimate._empty_samples}, and the other samples "
            "do not identify the proportions"
        )
    warn_of_noise(estimate.moments)
    if estimate.n and estimate.implausible.any():
        warn(IMPLAUSIBLE, ImplausibleReportsWarning)
    return estimate


def warn_of_noise(moments: Moments) -> None:
    """Warn of a design that amplifies noise too much."""
    condition = moments.condition_number
    if condition > _ILL_CONDITIONED:
        warn(
            f"the design is ill-conditioned (condition number {condition:.3g}): it amplifies noise "
            "by about this factor, so that estimates need a very large number of respondents",
            LowPrecisionWarning,
        )
