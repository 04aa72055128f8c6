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
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    TypeAlias,
    TypedDict,
    Unpack,
    overload,
    runtime_checkable,
)

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import (
    check_bool,
    check_instance,
    check_level,
    check_probability,
    quote,
)
from rrstats._display import HeaderLines, counted, label, percent_range
from rrstats._frozen import fixed
from rrstats._names import checked_keywords, checked_options, did_you_mean
from rrstats._typing import (
    ColumnLike,
    ColumnName,
    ColumnNames,
    Floats,
    GroupsLike,
    Labels,
    NumbersByCategory,
    RateLike,
)
from rrstats.data.categories import Categories, category_numbers
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
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.group_labels import group_text
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates
from rrstats.estimation.estimates.noncompliance import (
    NoncomplianceBounds,
    reported_of,
)
from rrstats.estimation.estimates.ratios import ProportionsAmong, scaled_mean
from rrstats.estimation.estimates.result import (
    IMPLAUSIBLE,
    ConstrainedProportions,
    LabelledInterval,
    Result,
    label_column,
    proportion_rows,
    sample_header,
    titled,
)
from rrstats.estimation.report_columns.report_frames import ReportRequest, columns_by_place
from rrstats.estimation.report_columns.sample_design import SIMPLE, SampleDesign, design_of
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.moments import ChannelMoments, Moments, contrast_errors
from rrstats.estimation.tallies.score_sums import RowSums
from rrstats.estimation.tallies.survey_moments import moments_of
from rrstats.estimation.tallies.tally import (
    CountedReports,
    GroupTallies,
    Tally,
    check_blocks,
    count_reports,
)
from rrstats.estimation.tallies.tally import tally as tally_of
from rrstats.inference import binomial, contrasts
from rrstats.inference.contrasts import (
    Interval,
    student_quantile,
)
from rrstats.mechanisms.base import Mechanism, check_coins
from rrstats.mechanisms.channel import (
    check_target,
    has_latent_classes,
    multinomial,
)
from rrstats.mechanisms.frame_plans import FramePlan, MechanismOrPlan
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.records import ColumnRecord
from rrstats.plots import PlotOptions, check_truth, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ILL_CONDITIONED = 1000
"""From this condition number on, even a million respondents give no useful estimate."""

_MAX_DISTRIBUTION_RATIO = 1.5
"""Largest variance of a distribution function for quantiles, in that of the square wave."""

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
    target : {"population", "sample"}
        Proportions, variances and intervals are about the population, or about these rows alone.
    design : SampleDesign
        The sample design, except the weights, strata and clusters of the rows.
    name : hashable
        The column of the reports, for titles of pictures; None if it has no name.
    """

    _shown = (
        *("proportion", "low", "high", "std_error", "count", "count_low", "count_high"),
        *("effective_n", "design_effect", "total", "total_std_error", "reported", "naive"),
    )

    tally: Tally
    target: str = "population"
    _ddof: int = 1  # subtracted from n in the population's variance
    design: SampleDesign = SIMPLE
    name: Hashable = None
    _group: str | None = None  # the group of these people in words, such as "county 95"

    def __post_init__(self) -> None:
        check_target(self.target)
        _check_ddof(self._ddof)
        is_surveyed = self.tally.sampled and self.mechanism.deck is None
        if self.target != "population" and (is_surveyed or self.design.finite):
            raise ArgumentValueError("with a design target must be 'population', got 'sample'")
        if self.tally.plan is not None and self.design.finite:
            raise ArgumentValueError(
                "design must have no population and no probabilities for a column of a plan, whose "
                "coin draws from the sample; give weights, whose intervals are a little wider"
            )
        self.moments._check_identified()

    @cached_property
    def moments(self) -> Moments:
        """Second moments and kernels: variance in parts, covariance with other groups, likelihood.

        See `rrstats.estimation.tallies.moments.Moments`.
        """
        return moments_of(self.tally, self.target, self._ddof, self.design)

    # -- the reports -----------------------------------------------------------------------

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports."""
        return self.tally.mechanism

    @property
    def categories(self) -> Labels:
        """The k categories, in their declared order; a missing one is None."""
        return self.mechanism.categories

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return self.tally.n

    @property
    def n_missing(self) -> int:
        """The number of missing reports, not in n; of a plan, of rows that were not asked."""
        return self.tally.n_missing

    @property
    def _empty_samples(self) -> list[Hashable]:
        """The labels of the samples that have no reports."""
        groups = self.mechanism.groups
        if groups is None:
            return []
        samples = self.moments.channel.samples
        sizes = np.bincount(samples, self.tally.reported, minlength=len(groups))
        return [group for group, size in zip(groups, sizes, strict=False) if not size]

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

    # -- other estimates from the same reports ---------------------------------------------

    def merge(self, categories: Mapping[Any, Any] | None = None) -> Estimate:
        """Estimate merged categories from these reports, or the latent classes of a design.

        Parameters
        ----------
        categories : mapping, optional
            From each new category to the categories that it holds, of which each is in one; those
            that are left out stay as they are.  Of a mechanism with latent classes (for example
            those who lie, or answers to the unrelated question) also its classes.  None estimates
            the classes themselves.

        Returns
        -------
        Estimate
            Sums of the proportions.  A design with an estimator of its own (`MatrixDesign.inverse`)
            gets the one of least variance, whose sums differ by chance.

        Raises
        ------
        ArgumentValueError
            A category is in several of the new ones, or has the name of one.
        NotIdentifiableError
            The reports do not identify these categories.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["never", "sometimes", "often"], 0.8)
        >>> est = rr.estimate(rr.Tally.from_counts([600, 250, 150], m))
        >>> merged = est.merge({"no": ["never"], "yes": ["sometimes", "often"]})
        >>> merged.proportions.round(3), merged.std_error.round(3)
        (array([0.714, 0.286]), array([0.022, 0.022]))
        """
        mechanism = self.mechanism
        check_coins(mechanism, "mechanism of what is merged")
        recoded = mechanism if isinstance(mechanism, Recodable) else self._by_matrix()
        shows = (
            None
            if categories is None
            else _classes_shown(categories, recoded.domain.categories, mechanism)
        )
        return replace(self, tally=replace(self.tally, mechanism=recoded.showing(shows)))

    def _by_matrix(self) -> MatrixDesign:
        """The mechanism as a matrix of its classes and report cells."""
        mechanism = self.mechanism
        if isinstance(self.tally, RowSums) or not mechanism.channel.is_multinomial:
            raise ArgumentValueError(
                "categories can be merged where each report falls into one cell of one matrix, not "
                "where reports name several categories or prob differs by row; est.mean({category: "
                "1 or 0, ...}) is the proportion of several categories together"
            )
        space = mechanism.report_space
        reports = space.declared if isinstance(space, Categories) else None
        entries = multinomial(mechanism.channel).entries
        return MatrixDesign(mechanism.domain.declared, entries, reports=reports)

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

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 80 + ["yes"] * 20, ["no", "yes"], 0.75)  # fewer than liars
        >>> est.mle().proportions.tolist()
        [1.0, 0.0]
        """
        proportions = self.proportions  # may raise NotIdentifiableError
        self.moments._check_likelihood()
        channel = self.moments.channel
        method = "maximum likelihood"
        if check_bool(smoothing, "smoothing"):
            method = "EM with smoothing"
            if has_latent_classes(channel):
                raise ArgumentValueError("smoothing needs ordered categories, not latent classes")
        if self.n:
            classes = arrays.most_likely(channel, self.tally.reported, smoothing=smoothing)
            proportions = np.bincount(channel.class_of, classes, minlength=channel.k).astype(float)
        return ConstrainedProportions(self.categories, proportions, self.n, method)

    def project(self) -> ConstrainedProportions:
        """The proportions inside the simplex that are nearest to the unbiased ones (Euclidean).

        Returns
        -------
        ConstrainedProportions

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 80 + ["yes"] * 20, ["no", "yes"], 0.75)  # fewer than liars
        >>> est.project().proportions.tolist()
        [1.0, 0.0]
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
        elif self.moments.designed:
            reason = "it needs reports without weights, strata and clusters"
        elif rates is None or not rates.complementary:
            reason = f"it needs two categories and two reports, found {self.mechanism.k} categories"
        elif binomial_counts is None:
            reason = "it needs reports of one prob, found several (parts of a plan, or by row)"
        if reason or binomial_counts is None:
            raise ArgumentValueError(f"anytime=True is not possible here: {reason}; leave it out")
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

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> est.count_interval(0.9).to_frame().round(1).to_numpy().tolist()
        [['no', 735.0, 826.0], ['yes', 174.0, 265.0]]
        """
        if not self.moments.designed:
            low, high = self._interval(level, "sample", None, simultaneous)
            return LabelledInterval(low * self.n, high * self.n, self.categories)
        quantile = student_quantile(check_level(level), self.df)
        margin = quantile * self.moments.total_std_error if self.df > 0 else np.inf
        return LabelledInterval(self.counts - margin, self.counts + margin, self.categories)

    def _interval(
        self, level: float, target: str, method: str | None = None, simultaneous: bool = False
    ) -> Interval[Floats]:
        """Intervals of all categories for any target."""
        rates = self.moments.binomial_rates
        single = self.mechanism.k == 2 if rates is None else rates.complementary
        level = arrays.level_of_each(level, simultaneous, 1 if single else self.mechanism.k)
        return self.moments.interval(level, method, target)

    # -- people who did not follow the instructions ----------------------------------------

    def corrected(self, control: Any, *, proportion: Any = None, paired: Any = True) -> Corrected:
        """Correct for people who answer at random, by a control question.

        Parameters
        ----------
        control : (wrong, n) or Estimate
            The number of wrong reports to a control question whose right report is known for each
            person, and of all reports to it; or the estimate of a control question of known
            proportion.
        proportion : float, mapping or sequence, optional
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
        return corrected(reported_of(self), control, proportion, paired)

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
        self, category: Hashable, claim: float, behaviour: Any = "random"
    ) -> EstimatedNumber:
        """The proportion of respondents who did not follow that explains a claimed proportion.

        Parameters
        ----------
        category : hashable
        claim : float
            The claimed proportion of the category among people who followed.
        behaviour : object
            As for `noncompliance`; "any" gives the smallest proportion over all behaviours.

        Returns
        -------
        EstimatedNumber
            The proportion who did not follow, with an interval; NaN where none below 1 explains the
            claim.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.surveys.unrelated_question(["no", "yes"], 2/3, 1/2, yes="yes")
        >>> est = rr.estimate(rr.Tally.from_counts({"no": 652, "yes": 550}, m))
        >>> est.tipping_point("yes", 0.212, behaviour="yes").interpret()
        'the proportion of respondents who always report yes that explains 21.2% yes among the \
others is 21.6%, 95% interval 17.5% to 25.8%'

        Without them the estimate is 43.6%.
        """
        return reported_of(self).tipping_point(self._code(category), claim, behaviour)

    # -- ratios and means ------------------------------------------------------------------

    def among(self, among: Iterable[Hashable] | None = None) -> ProportionsAmong:
        """The proportions among the people of some categories: by default those who answered.

        Parameters
        ----------
        among : iterable of categories, optional
            By default all except the missing one, where non-response is a category.

        Returns
        -------
        ProportionsAmong
            A table; ``est.among(["once", "often"])["often"]`` is one of its numbers.  The number of
            these people is estimated too, so intervals are wider than those of the proportions.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes", None], 0.8)
        >>> est = rr.estimate(rr.Tally.from_counts([500, 300, 200], m))
        >>> est.among().to_frame().round(3)
          category  proportion  std_error    low   high
        0       no       0.667      0.023  0.621  0.712
        1      yes       0.333      0.023  0.288  0.379
        """
        if among is None:
            among = [category for category in self.categories if category is not None]
            if len(among) == self.mechanism.k:
                raise ArgumentValueError(
                    "among must name categories: non-response is not a category of this design, "
                    f"{self._answers.describe()}, so all proportions are of those who answered"
                )
        labels = list(among)
        codes = np.array([self._answers.code(label) for label in labels], dtype=np.intp)
        n_other = int(np.count_nonzero(codes >= self.mechanism.k))
        if n_other > 1:  # a column of answers, perhaps: they are counted
            raise ArgumentValueError(
                f"among must be some of the categories {self._answers.describe()}, found "
                f"{n_other} that are none"
            )
        codes = np.array([self._code(label) for label in labels], dtype=np.intp)
        categories = tuple(self.categories[code] for code in codes)
        return ProportionsAmong(categories, self.n, codes, self.moments)

    def mean(self, values: Mapping[Any, float] | Sequence[float] | None = None) -> EstimatedNumber:
        """The mean of a number that each category stands for, for example of a privatized 0/1.

        Parameters
        ----------
        values : mapping or sequence of k floats, optional
            From category to number, or the numbers (scores) in the order of the categories; by
            default the categories, which must be numbers themselves.  For `rrstats.number` they
            are those of grid points, and the mean is of the rounded number: a square is too large.

        Returns
        -------
        EstimatedNumber
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
        >>> est.mean()
        mean: 0.22, std_error 0.03037, 95% interval 0.1604 to 0.2813
        """
        is_rounded = not self.mechanism.domain.holds_integers
        if values is None and is_rounded and (self.target != "population" or self.design.finite):
            raise ArgumentValueError(
                "the mean of a number that was rounded at random is for target 'population' and "
                "a design without the size of the population, because the error of rounding counts "
                "as that of sampling"
            )
        numbers = category_numbers(values, self.categories, "values")
        std_error, _ = contrast_errors(self.moments, numbers)
        return EstimatedNumber(
            "mean" if self.name is None else f"mean of {label(self.name)}",
            float(numbers @ self.proportions),
            std_error,
            partial(self._mean_interval, numbers),
            is_proportion=False,
        )

    def quantiles(
        self, q: float | Sequence[float] = (0.25, 0.5, 0.75), level: float = 0.95
    ) -> pd.DataFrame:
        """Quantiles of a number (`rrstats.number`), with intervals that end at grid points.

        Parameters
        ----------
        q : float or sequence of floats
            Probabilities between 0 and 1.
        level : float
            Confidence level of each interval.

        Returns
        -------
        DataFrame
            Columns q, quantile (of the rounded number: the first grid point whose estimated
            distribution function reaches q), low and high.

        Raises
        ------
        ArgumentValueError
            The mechanism is of categories, or its estimates of the distribution have more than 1.5
            times the variance of the square wave's.

        Notes
        -----
        The interval inverts one-sided tests of the distribution function at grid points, each at
        half of the error.  A number may have been rounded to either of two points, so intervals
        reach one point farther on each side, unless every integer is a point: then answers are
        taken to be integers.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.number(0, 10).mechanism(epsilon=2)
        >>> est = rr.estimate(rr.simulate([3, 4, 5, 5, 8] * 2000, m, seed=1), m)
        >>> est.quantiles(0.5)
             q  quantile  low  high
        0  0.5         5    5     5
        """
        error = 1 - check_level(level)
        mechanism = self.mechanism
        if not mechanism.is_number:
            raise ArgumentValueError(
                "quantiles are of a number, privatized with rr.number(low, high); of categories "
                "use the proportions, or rr.quantiles for an ordinary number in true groups"
            )
        if mechanism.distribution_ratio > _MAX_DISTRIBUTION_RATIO:
            raise ArgumentValueError(
                "quantiles need a design whose estimates of the distribution have at most "
                f"{_MAX_DISTRIBUTION_RATIO} times the variance of the square wave's, found "
                f"{mechanism.distribution_ratio:.3g} times: rr.number(..., goal='distribution'), "
                "which must be chosen before the answers are privatized"
            )
        probs = [check_probability(prob, "q") for prob in np.atleast_1d(np.asarray(q)).tolist()]
        k = mechanism.k
        sums = [self.mean(np.tri(1, k, place)[0]) for place in range(k - 1)]
        ends = np.array([each.interval(1 - error) for each in sums])
        lower, upper = np.vstack([ends, [1.0, 1.0]]).T
        function = np.append([each.value for each in sums], 1.0)
        reach = 0 if mechanism.domain.holds_integers else 1
        points = np.array(self.categories)
        rows = []
        for prob in probs:
            first = max(int(np.argmax(upper >= prob)) - reach, 0)
            last = min(int(np.flatnonzero(lower <= prob).max(initial=-1)) + 1 + reach, k - 1)
            middle = int(np.argmax(function >= prob))
            rows.append([prob, points[middle], points[first], points[last]])
        return pd.DataFrame(rows, columns=["q", "quantile", "low", "high"])

    def _mean_interval(self, numbers: Floats, level: float) -> Interval:
        """The interval of the mean of numbers that the categories stand for."""
        smallest = float(numbers.min())
        span = float(numbers.max()) - smallest
        # Numbers on a scale from 0 to 1, so that rules for intervals of proportions apply.
        scaled = (numbers - smallest) / (span or 1.0)
        if self.mechanism.k == 2 and not self.moments.designed:
            low, high = (end[1] for end in self.interval(level))
            ends = Interval(low, high) if scaled[1] else Interval(1 - high, 1 - low)
        else:
            ends = scaled_mean(self.moments, scaled, level, target=self.target)
        return Interval(*(smallest + span * float(end) for end in ends))

    # -- one category ----------------------------------------------------------------------

    @cached_property
    def _answers(self) -> Categories:
        """The categories, to look up codes and to describe them."""
        return Categories(self.categories)

    def _code(self, category: Hashable) -> int:
        """The index of a category, by default the last; None is the missing one."""
        code = self.mechanism.k - 1 if category is ... else self._answers.code(category)
        if code >= self.mechanism.k:
            raise ArgumentValueError(
                f"{quote(category)} is not among the categories {self._answers.describe()}"
                f"{did_you_mean(category, self.categories)}"
            )
        return code

    __iter__ = None  # est["never"] looks up a category; there is no est[0] to start from

    def __getitem__(self, category: Hashable) -> EstimatedNumber:
        code = self._code(category)
        return EstimatedNumber(
            f"proportion of {label(self.categories[code])}",
            float(self.proportions[code]),
            float(self.std_error[code]),
            partial(self._interval_of, code),
        )

    def _interval_of(self, code: int, level: float) -> Interval:
        """The interval of the proportion of one category."""
        low, high = self.interval(level)
        return Interval(low[code], high[code])

    def _ipython_key_completions_(self) -> list[Hashable]:
        return list(self.categories)

    # -- display ---------------------------------------------------------------------------

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

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> est.to_frame()[["category", "proportion", "std_error"]].round(3)
          category  proportion  std_error
        0       no        0.78       0.03
        1      yes        0.22       0.03
        """
        reported, naive = self.moments.support
        low, high = self._interval(level, self.target, method, simultaneous)
        columns = {
            "n": self.n,
            "reported": arrays.whole_counts(reported),
            "naive": naive,
            "proportion": self.proportions,
            "std_error": self.std_error,
            "low": low,
            "high": high,
        }
        if self.moments.designed:
            columns["effective_n"] = self.effective_n
            columns["design_effect"] = self.design_effect
            columns["randomization_variance"] = self.moments.randomization_variance
            columns["sampling_variance"] = self.moments.sampling_variance
            columns["total"] = self.counts
            columns["total_std_error"] = self.moments.total_std_error
        else:
            of_rows = self._interval(level, "sample", None, simultaneous)
            columns["count"] = self.counts
            columns["count_low"] = of_rows.low * self.n
            columns["count_high"] = of_rows.high * self.n
        return pd.DataFrame({"category": label_column(self.categories), **columns})

    @property
    def _header(self) -> HeaderLines:
        """The target, the size of the sample and its design."""
        absent = "missing" if self.tally.plan is None else "not asked"
        rows = sample_header(self.target, self.n, self.n_missing, absent=absent)
        if self._mean_text:
            rows = [("mean", self._mean_text), *rows]
        return [*rows, *self.moments._header]

    @cached_property
    def _mean_text(self) -> str:
        """The mean of a number with its interval; empty for categories, and where there is none."""
        if self.mechanism.is_number and self.n:
            with suppress(ArgumentValueError):  # there is none for these rows
                mean = self.mean()
                return f"{mean.value:.4g} ({mean.low:.4g} to {mean.high:.4g})"
        return ""

    @property
    def _cautions(self) -> Sequence[str]:
        """A sentence that opens the printed result if its reports are implausible."""
        return [f"Warning: {IMPLAUSIBLE}."] if self.moments.implausible.any() else []

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        notes = self.moments.notes
        if self._mean_text and not self.mechanism.domain.holds_integers:
            low, high = self.mechanism.domain.bounds
            mean = self.mean().value
            notes = [
                *notes,
                f"answers were clipped to {low:g} to {high:g}, and the rows are of numbers rounded "
                "at random",
            ]
            if not low <= mean <= high:
                notes.append("the mean lies outside these bounds by noise: it is not clipped")
        return notes

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The estimate of one category in a sentence.

        Parameters
        ----------
        category : hashable
            By default the last one, or for a number its mean; None names a missing category.
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
        level = check_level(level)
        if category is ... and self.mechanism.is_number and self.n:
            return f"{self.mean().interpret(level)}, of {self._whom(0)}"
        code = self._code(category)
        category_text = label(self.categories[code])
        proportion = float(self.proportions[code])
        if np.isnan(proportion):
            reason = "there are no reports"
            if self.n:
                reason = f"no reports are in {self._empty_samples}"
            if self.moments.designed:
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
        if self.moments.implausible[code]:
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
        noun = "row" if self.target == "sample" else "report"
        these = f"this 1 {noun}" if self.n == 1 else f"these {self.n:,} {noun}s"
        if self.target == "sample":
            return f"{these} that have a report" if self.n_missing else these
        population = f"the population behind {these}"
        if self.moments.designed:
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
        whom = "these rows" if self.target == "sample" else "the population"
        options = {"title": titled(self.name, counted(self.n, "report")), **options}
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
        if np.isnan(self.moments.support[0]).any() or not is_named:
            return False
        if rates is None:
            return True
        return bool(np.all(rates.true_positive_rate > rates.false_positive_rate))


def _classes_shown(
    categories: Mapping[Any, Any], labels: Labels, mechanism: Mechanism
) -> dict[Hashable, Hashable]:
    """The new category of each latent class, from new categories of the old ones or of classes.

    labels : of the classes.
    """
    rule = "a mapping from new category to old ones, as in {'yes': ['often', 'sometimes']}"
    check_instance(categories, "categories", Mapping, rule)
    classes = Categories(labels)
    old_by_new: dict[Any, list[Hashable]] = {
        new: list(old) if isinstance(old, list | set | frozenset | range) else [old]
        for new, old in categories.items()
    }
    codes = [classes.code(old) for old_ones in old_by_new.values() for old in old_ones]
    if max(codes, default=0) >= classes.k:  # categories of the estimate, of several classes each
        shown = Categories(mechanism.categories)
        of_category: dict[int, list[Hashable]] = {code: [] for code in range(shown.k)}
        for place, code in enumerate(mechanism.channel.class_of):
            of_category[code].append(classes.categories[place])
        old_by_new = {
            new: [each for old in old_ones for each in of_category.get(shown.code(old), [old])]
            for new, old_ones in old_by_new.items()
        }
        codes = [classes.code(old) for old_ones in old_by_new.values() for old in old_ones]
    rest = [code for code in range(classes.k) if code not in codes]
    kept = [mechanism.categories[mechanism.channel.class_of[code]] for code in rest]
    if len({*codes}) < len(codes) or max(codes, default=0) >= classes.k or {*kept} & {*old_by_new}:
        raise ArgumentValueError(
            f"categories must have each of {classes.describe()} in one new category, as in "
            f'{{"yes": ["often", "sometimes"], "no": ["never"]}}, or leave it out; found '
            f"{len(codes)} names"
        )
    new_by_old = {old: new for new, old_ones in old_by_new.items() for old in old_ones}
    return new_by_old | {
        classes.categories[code]: new for code, new in zip(rest, kept, strict=True)
    }


@runtime_checkable
class Recodable(Protocol):
    """A mechanism whose latent classes may be shown as other categories."""

    @property
    def domain(self) -> Categories:
        """The classes."""

    def showing(self, shows: Mapping[Any, Hashable] | None) -> Mechanism:
        """The same mechanism with other categories for its classes."""


# -- from reports ----------------------------------------------------------------------------

_Settings: TypeAlias = tuple[str, int, SampleDesign, Hashable]
"""Target, ddof, the design without the columns of rows, and the name of the column."""


def _check_ddof(ddof: object) -> None:
    """Raise for divisors of a variance other than n and n - 1."""
    if isinstance(ddof, bool) or ddof not in (0, 1):
        raise ArgumentValueError(f"ddof must be 0 or 1, got {ddof!r}")


class EstimateOptions(TypedDict, total=False):
    """The options of `estimate` that do not decide the type of its result."""

    epsilon: RateLike | None
    group: ColumnLike | None
    target: str
    ddof: int
    weights: ColumnLike | None
    design: SampleDesign | None
    blocks: ColumnLike | None


@overload
def estimate(
    reports: Any,
    categories: MechanismOrPlan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismOrPlan | None = None,
    columns: list[Any],
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimates[Estimate]: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismOrPlan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismOrPlan | None = None,
    columns: list[Any],
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> Estimates[GroupEstimates[Estimate]]: ...


@overload
def estimate(
    reports: Any,
    categories: FramePlan,
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
    mechanism: FramePlan,
    columns: None = None,
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimates[Estimate]: ...


@overload
def estimate(
    reports: Any,
    categories: FramePlan,
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
    mechanism: FramePlan,
    columns: None = None,
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> Estimates[GroupEstimates[Estimate]]: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismOrPlan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismOrPlan | None = None,
    columns: ColumnName | None = None,
    by: None = None,
    **options: Unpack[EstimateOptions],
) -> Estimate: ...


@overload
def estimate(
    reports: Any,
    categories: MechanismOrPlan | None = None,
    prob: RateLike | None = None,
    *,
    mechanism: MechanismOrPlan | None = None,
    columns: ColumnName | None = None,
    by: GroupsLike,
    **options: Unpack[EstimateOptions],
) -> GroupEstimates[Estimate]: ...


@checked_keywords
def estimate(
    reports: Any,
    categories: MechanismOrPlan | None = None,
    prob: RateLike | None = None,
    *,
    columns: ColumnNames | None = None,
    by: ColumnLike | None = None,
    epsilon: RateLike | None = None,
    mechanism: MechanismOrPlan | None = None,
    group: ColumnLike | None = None,
    weights: ColumnLike | None = None,
    design: SampleDesign | None = None,
    blocks: ColumnLike | None = None,
    target: str = "population",
    ddof: int = 1,
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
    columns, group, by, weights
        As for `tally`: after a frame the columns stand first, as in ``rr.estimate(df, "smoker")``.
    mechanism
        The same as categories, as a keyword.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample.  A Tally already holds those: give only
        population, probabilities and lonely_psu.  Rows whose prob differs may have weights alone,
        and each row counts the same, which is unbiased whatever else differs between them.  The
        reports of a column that a plan asks in several parts count by precision: its coin makes
        their true proportions equal.
    blocks : hashable or array-like of shape (n,), optional
        The block of each person, of designs whose cards are dealt without replacement
        (`surveys.garbling`); by default all are one block.
    target : {"population", "sample"}
        The estimate is about the population that these people were drawn from, or about just these
        rows.
    ddof : int
        Subtracted from n in the population's variance.

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
    request = ReportRequest(categories, prob, epsilon, columns, group)
    request = columns_by_place(reports, request)
    if mechanism is not None:
        if request.mechanism is not None:
            raise ArgumentTypeError("give categories or mechanism, found both")
        request = replace(request, mechanism=mechanism)
    design = design_of(weights, design, blocks)
    shared = (target, ddof, design.without_rows())
    if isinstance(reports, Tally):
        _check_tally(reports, request, [by, group, design.replicates, *design.columns.values()])
        return check_estimate(Estimate(reports, *shared))
    counted = count_reports(reports, request, by=by, design=design, rates=True)
    check_blocks(counted, blocks)
    estimates = dict[Any, Any]()
    with warnings_once():
        for name, tally in counted.tallies.items():
            settings = (*shared, name)
            if counted.groups is None:
                estimates[name] = check_estimate(Estimate(tally, *settings))
            else:
                estimates[name] = _checked_groups(counted, tally, settings)
        if isinstance(reports, pd.DataFrame):
            _warn_of_selection(reports, counted.records, estimates)
    return Estimates(estimates) if counted.several else next(iter(estimates.values()))


_FIRST_ROWS = 40
"""Rows whose reports are hardly ever all equal, unless rows were selected or sorted by them."""


def _warn_of_selection(
    frame: pd.DataFrame, records: Mapping[Hashable, ColumnRecord], estimated: Collection[Any]
) -> None:
    """Warn if another private column of the frame shows that rows were selected by its report.

    A column is counted only if its first reports are all equal.
    """
    for name, record in records.items():
        if name in estimated or record.plan is not None:
            continue
        with suppress(RRStatsError, KeyError, TypeError):  # no reports of the recorded mechanism
            reports = frame[name]
            if len(set(reports.iloc[:_FIRST_ROWS])) > 1:
                continue
            if Estimate(tally_of(reports, record.resolve())).moments.implausible.any():
                warn(
                    f"the rows seem to be selected by the reports of column {quote(name)}, which "
                    "no true proportions explain: noise decided who is left, so they are no "
                    "sample of a group of people; take all rows, and rr.crosstab of both columns",
                    ImplausibleReportsWarning,
                )


def _checked_groups(
    counted: CountedReports,
    tallies: GroupTallies | dict[Any, RowSums],
    settings: _Settings,
) -> GroupEstimates[Estimate]:
    """The estimates of all groups of one column; warns if they are implausible together."""
    groups = _group_estimates(counted, tallies, settings)
    if groups._cautions and not groups.implausible:
        warn(f"in all groups together {IMPLAUSIBLE}", ImplausibleReportsWarning)
    return groups


def _group_estimates(
    counted: CountedReports,
    tallies: GroupTallies | dict[Any, RowSums],
    settings: _Settings,
) -> GroupEstimates[Estimate]:
    """The estimates of all groups: computed together in a sample without design, else one by one.

    Some rows of the data may be in no group.
    """
    names = counted.groups or ()
    if isinstance(tallies, GroupTallies):
        target, ddof, design, _ = settings
        channel = tallies.mechanism.channel
        counts = tallies.counts
        is_coin = tallies.mechanism.deck is None
        simple = is_coin and not tallies.sampled and not design.finite and bool(tallies.labels)
        if simple and arrays.is_one_sample(channel):
            check_target(target)
            _check_ddof(ddof)
            moments = ChannelMoments(channel, counts.reported, counts.rows, target, ddof=ddof)
            warn_of_noise(moments)
            if moments.implausible.any():
                warn(IMPLAUSIBLE, ImplausibleReportsWarning)
            left_out = counted.rows - int(counts.rows.sum() + tallies.n_missing.sum())
            return GroupEstimates(
                names, _LazyEstimates(tallies, settings, names), left_out, moments
            )
        if not is_coin and not tallies.sampled:
            raise ArgumentValueError(
                "by needs blocks= with a deck of cards, the block of each person: groups of one "
                "block share its garbled answers"
            )
        by_label: Mapping[Any, Any] = tallies.by_label()
    else:
        by_label = tallies
    estimates = {
        group: check_estimate(Estimate(tally, *settings, group_text(names, group)), complete=False)
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
            "reports is a tally, which is counted already: give by, group, weights, blocks and "
            "design to rr.tally"
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
    if complete and estimate.n and not estimate.moments.designed and unidentified:
        raise NotIdentifiableError(
            f"there are no reports in the samples {estimate._empty_samples}, and the other samples "
            "do not identify the proportions"
        )
    warn_of_noise(estimate.moments)
    if estimate.n and estimate.moments.implausible.any():
        warn(IMPLAUSIBLE, ImplausibleReportsWarning)
    return estimate


def warn_of_noise(moments: Moments) -> None:
    """Warn of a design that amplifies noise too much."""
    condition = moments._condition_number
    if condition > _ILL_CONDITIONED:
        warn(
            f"the design is ill-conditioned (condition number {condition:.3g}): it amplifies noise "
            "by about this factor, so that estimates need a very large number of respondents",
            LowPrecisionWarning,
        )
