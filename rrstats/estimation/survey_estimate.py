"""Shares and totals of debiased answers from a sample with weights and a design.

Every report has a score s, the debiased answer, whose mean over the randomization is the truth; so
surveys treat scores as they treat answers.  The total of a category is the sum of w s
(Horvitz-Thompson), its share that total over the sum of w (Hajek).  Weights count as given.
The part of a variance that the respondents' coins add is the sum of w^2 (s^2 - s), unbiased because
a true answer of 0 or 1 is its own square; drawing the sample adds the rest, which is estimated as
a difference and may come out negative.
Intervals are those of a simple random sample of the effective size, and trust a variance
that rests on few clusters less (Korn and Graubard, 1998).
Not for two samples that need one another: single reports then have no scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.estimation import survey_ratios as ratios
from rrstats.estimation import survey_wording as wording
from rrstats.estimation.arrays import fixed
from rrstats.estimation.domains import Group, covariance_between, free_together
from rrstats.estimation.result import (
    MeanEstimate,
    RatioEstimate,
    label_column,
    plot_proportions,
)
from rrstats.estimation.survey_intervals import share_intervals, student, uncut_intervals
from rrstats.estimation.survey_variance import (
    LONELY,
    Form,
    SampleCells,
    degrees_of_freedom,
    plain_form,
    read_cells,
    sampled_shares,
    variance_form,
)
from rrstats.estimation.tally import Tally
from rrstats.inference.binomial import Interval
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import has_latent_classes, transition_matrix
from rrstats.plots import PlotOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SurveyEstimate", "SurveyShare", "survey_estimate"]


_ROUNDING = 1e-12


@dataclass(frozen=True)
class SurveyShare:
    """One category of a `SurveyEstimate`, with its 95% interval; columns of its `to_frame`."""

    category: Hashable
    n: int
    reported: float
    naive: float
    proportion: float
    std_error: float
    low: float
    high: float
    effective_n: float
    design_effect: float
    total: float
    total_std_error: float


@dataclass(frozen=True, eq=False, repr=False)
class SurveyEstimate:
    """Unbiased shares and totals of k categories in the population behind a sample.

    tally : the reports by stratum and cluster, with the sums of their weights.
    population : how many clusters (rows, where there are none) the population has: a number, or a
        mapping from stratum to number.  Clusters then are in the sample as a whole, and a tally
        without weights gets those that the numbers give.  None: far more than the sample.
    probabilities : whether weights are 1 / the probability of being in a sample that was drawn
        without replacement; all 1 is a census.
    lonely : strata with one cluster: "raise", "adjust" (take its distance from the grand mean) or
        "certainty" (it was sure to be in the sample, so that only its coins are random).

    A cluster belongs to its stratum: one label in two strata is two clusters.  Rows that gave no
    report, or are outside the group at hand, count as rows of the sample that add nothing.
    Shares may lie outside [0, 1]; with no reports they are NaN and intervals are [0, 1].
    """

    tally: Tally
    population: Any = None
    probabilities: bool = False
    lonely: str = LONELY[0]

    def __post_init__(self) -> None:
        if self.lonely not in LONELY:
            raise ArgumentValueError(f"lonely must be one of {list(LONELY)}, got {self.lonely!r}")
        if not isinstance(self.probabilities, bool | np.bool_):
            raise ArgumentTypeError(
                "probabilities must be True (weights are 1 / probability) or False, found "
                f"{type(self.probabilities).__name__}"
            )
        if self.probabilities and self.population is not None:
            raise ArgumentValueError(
                "give probabilities or population, found both: probabilities say how much of the "
                "population is in the sample"
            )
        channel = self.mechanism.channel
        if not debiasing.has_scores(channel):
            raise ArgumentValueError(
                "weights, strata and clusters need a score for each report, which there is none of "
                "where samples need one another; leave them out, or estimate groups of alike "
                "weights apart and add them up"
            )
        _ = self._form  # raises for what cannot be estimated now rather than when it is shown

    @property
    def mechanism(self) -> Mechanism:
        """What made the reports."""
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
    def missing(self) -> int:
        """The number of missing reports, not in n."""
        return self.tally.missing

    @property
    def target(self) -> str:
        """The population, always."""
        return "population"

    # -- sums over the sample ------------------------------------------------------------

    @cached_property
    def _cells(self) -> SampleCells:
        cells = read_cells(self.tally)
        given = any(cell.weight is not None for cell in self.tally.cells.values())
        if self.population is None or given:
            return cells
        expansion = 1 / sampled_shares(cells, self.population)
        return read_cells(self.tally, dict(zip(cells.labels, expansion, strict=True)))

    @cached_property
    def _sampled(self) -> Floats:
        return sampled_shares(self._cells, self.population)

    @cached_property
    def _form(self) -> Form:
        return variance_form(
            self._cells, self._sampled, probabilities=self.probabilities, lonely=self.lonely
        )

    @cached_property
    def _first(self) -> Floats:
        """(m,) sums of the weights by report cell."""
        return np.asarray(self._cells.first.sum(axis=0))

    @cached_property
    def _second(self) -> Floats:
        """(m,) sums of the squared weights by report cell."""
        return np.asarray(self._cells.second.sum(axis=0))

    @property
    def weight(self) -> float:
        """The sum of the weights: an estimate of the population's size if they are expansions."""
        return float(self._first.sum()) / self._cells_each

    @property
    def _cells_each(self) -> int:
        """How many report cells every report is in."""
        return self.k if self._cells.split else 1

    @cached_property
    def _size(self) -> float:
        """The sum of the weights, NaN where that is nobody."""
        return self.weight or float("nan")

    # -- shares, totals and their variances ----------------------------------------------

    @cached_property
    def totals(self) -> Floats:
        """(k,) unbiased totals, in the units of the weights (Horvitz-Thompson)."""
        return fixed(self._first @ self._cells.table)

    @cached_property
    def proportions(self) -> Floats:
        """(k,) shares: totals over the sum of the weights (Hajek); may lie outside [0, 1]."""
        return fixed(self.totals / self._size)

    @cached_property
    def _centred(self) -> Floats:
        """(m, k) what one more report of weight 1 changes in the shares."""
        cells = self._cells
        return np.asarray((cells.table - cells.speaks * self.proportions) / self._size)

    @property
    def cell_scores(self) -> Floats:
        """(m, k) the score of each report cell."""
        return self._cells.table

    @property
    def cell_shares(self) -> Floats:
        """(m,) the weighted share of each report cell."""
        return np.asarray(self._first / self._size)

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the shares, linearized: of the sampling and of the randomization."""
        noise = self._noise(self._form.within) / self._size**2
        return fixed(self._form.variance(self._centred) + noise)

    @cached_property
    def total_variance(self) -> Floats:
        """(k,) variance of the totals."""
        found = self._form.variance(self._cells.table) + self._noise(self._form.within)
        return fixed(found if self.weight else np.full(self.k, np.nan))

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the shares; NaN where the variance came out negative."""
        return _root(self.variance)

    @property
    def total_std_error(self) -> Floats:
        """(k,) standard errors of the totals; NaN where the variance came out negative."""
        return _root(self.total_variance)

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part of `variance` that the respondents' coins add: what a census would have."""
        return fixed(self._noise(self._second) / self._size**2)

    @property
    def sampling_variance(self) -> Floats:
        """(k,) the rest of `variance`, which drawing the sample adds.

        Unbiased, and a difference of two estimates: it comes out negative now and then where the
        coins add by far the most.  That says "too small to be told from 0", and it is not cut,
        so that averages over categories and surveys stay right.
        """
        return self.variance - self.randomization_variance

    def _fitted(self, mass: Floats) -> Floats:
        """(m,) sums by report cell, replaced by what true answers would make of them on average.

        Where there are more reports than categories, the variance of a score given the truth is
        then estimated without the noise of its own report, as R's RRTCS does for Kuk's and
        Christofides' designs.  Otherwise nothing changes.
        """
        channel, cells = self.mechanism.channel, self._cells
        if cells.split or has_latent_classes(channel) or len(channel.samples) == channel.k:
            return mass
        found = np.empty_like(mass)
        for sample in np.unique(channel.samples):
            mine = channel.samples == sample
            found[mine] = transition_matrix(channel)[mine] @ (mass[mine] @ cells.table[mine])
        return found

    def _noise(self, mass: Floats) -> Floats:
        """(k,) the randomization's variance of reports whose squared weights sum to ``mass``."""
        table = self._cells.table
        return np.asarray(self._fitted(mass) @ table**2 - mass @ table)

    def covariance(self) -> Floats:
        """(k, k) covariance of the shares.

        Rows sum to 0 where shares sum to 1, as they do unless reports name several categories.
        Raises ArgumentValueError for such reports, unless they are in clusters: which categories
        were named together is not counted.
        """
        return self._covariance_by(self._form)

    def least_covariance(self) -> Floats:
        """(k, k) `covariance` with the variances of `least_variance`."""
        form = plain_form(self._cells, self._sampled, probabilities=self.probabilities)
        return self._covariance_by(form)

    def _covariance_by(self, form: Form) -> Floats:
        table = self._cells.table
        if self._cells.split and (form.mass.any() or form.within.any()):
            raise ArgumentValueError(
                "covariances are not known of reports that name several categories: they are "
                "counted category by category; the variances are, and clusters of a sample with "
                "replacement give covariances too"
            )
        noise = (table.T * self._fitted(form.within)) @ table - np.diag(form.within @ table)
        return np.asarray(form.covariance(self._centred) + noise / self._size**2)

    def covariance_with(self, other: Any) -> Floats | None:
        """(k, l) covariance of these shares with those of another group of the same sample.

        None where the two are not known to be such groups, and then they are taken for
        independent.  Groups are known by their tallies: the same strata and clusters, as many
        sampled rows in each, which suffice for the reports of both groups, and the same share of
        the population.  So it is for the groups of ``estimate(..., by=)``.  A group and the
        whole, or two questions that most people answered, are not recognized.  Nobody may be
        in both groups, which their sums do not show.
        People of both groups in one cluster are alike; without clusters the covariance
        comes from the strata alone, and is 0 where there is one.
        Formula: cross products of the linearized sums, as R's ``svyby(covmat = TRUE)``.

        >>> import rrstats as rr
        >>> m, reports = rr.KRR(["no", "yes"], 0.75), ["no", "no", "yes", "no", "yes", "yes"] * 2
        >>> village, sex = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], ["f", "m"] * 6
        >>> est = rr.estimate(reports, m, clusters=village, by=sex)
        >>> est["f"].covariance_with(est["m"]).round(3)
        array([[ 0.089, -0.089],
               [-0.089,  0.089]])
        """
        if not isinstance(other, SurveyEstimate):
            return None
        return covariance_between(self._group, other._group)

    def free_with(self, *others: Any) -> int | None:
        """Degrees of freedom of these reports and those of other groups of the same sample.

        None where `covariance_with` is.  Groups that share their clusters have those
        of one; groups that share none have those of all.
        """
        if not all(isinstance(other, SurveyEstimate) for other in others):
            return None
        return free_together([self._group, *(other._group for other in others)])

    @property
    def _group(self) -> Group:
        return Group(self._cells, self._sampled, self._centred, self.probabilities, self.lonely)

    # -- how much the sample says --------------------------------------------------------

    @cached_property
    def degrees_of_freedom(self) -> int:
        """Clusters (rows, where there are none) less strata; of a group those that it is in.

        A stratum that is in the sample as a whole counts its rows: their coins are what is random.
        Coverage of 95% intervals of groups in 2 to 5 of a sample's 30 to 40 clusters was 86% to
        90% with all clusters counted.
        """
        return degrees_of_freedom(self._cells, self._sampled, probabilities=self.probabilities)

    @cached_property
    def _spread(self) -> Floats:
        """(k,) variance of the score of one report, weighted."""
        return np.asarray(self._first @ self._centred**2 * self._size)

    def effect_of(self, variance: Floats) -> Floats:
        """(k,) a variance of the shares over that of n reports of a simple random sample.

        Where all reports are the same, so that neither variance says anything, Kish's: n times
        the sum of the squared weights over the square of their sum.
        """
        kish = self.n * float(self._second.sum()) / self._cells_each / self._size**2
        with np.errstate(invalid="ignore", divide="ignore"):
            found = variance * (self.n - 1) / self._spread
        return np.where((self._spread > _ROUNDING) & (found > 0), found, kish)

    @cached_property
    def design_effect(self) -> Floats:
        """(k,) variance over that of as many unweighted reports of a simple random sample.

        Of `variance` or `least_variance`, whichever is larger: it is what intervals use.  With one
        weight of 100,000 beside 99 of 1, `variance` alone would make 100 reports worth 1,966 and
        not 1.  Where all reports are the same, what the weights alone do (Kish).
        """
        effects = self.effect_of(self.variance), self.effect_of(self.least_variance)
        return fixed(np.maximum(*effects))

    @property
    def effective_n(self) -> Floats:
        """(k,) how many reports of a simple random sample say as much: n / `design_effect`."""
        return np.asarray(self.n / self.design_effect)

    @cached_property
    def named(self) -> tuple[Floats, Floats]:
        """(k,) how many reports speak for each category, and their weighted share; or NaN."""
        both = self.tally.reported, self._first[: len(self.tally.reported)]
        counts, weights = map(self.mechanism.channel.support_counts, both)
        return counts, np.asarray(weights / self._size)

    @property
    def names_categories(self) -> bool:
        """Whether reports speak for categories."""
        return not np.isnan(self.named[0]).any()

    @cached_property
    def implausible(self) -> NDArray[np.bool_]:
        """(k,) which categories are reported more rarely, or oftener, than any truth explains."""
        return debiasing.implausible(self.mechanism.channel, self.tally.reported, self.n)

    # -- intervals -----------------------------------------------------------------------

    @cached_property
    def least_variance(self) -> Floats:
        """(k,) what `variance` would be if clusters, and who has which weight, made no difference.

        Intervals do not trust a variance that came out below it: mostly that is luck.
        """
        form = plain_form(self._cells, self._sampled, probabilities=self.probabilities)
        return form.variance(self._centred) + self._noise(form.within) / self._size**2

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """(k,) intervals of the shares in the population.

        level, simultaneous : as for `Estimate.interval`.
        method : where the count of each category is binomial, "clopper-pearson" for a simple random
            sample of the effective size by default (Korn and Graubard), or another of
            `confidence_interval` but "blaker", which needs whole counts; otherwise those of
            `Estimate.interval` for such designs.
        Coverage at 95%, 1,500 simulated samples a case, strata with unequal weights and a category
        of 2%: 94.5% to 96.5% with 60 clusters, 93.9% or more with 6 to 8 of them, 99% for it where
        weights vary a lot; 94.7% or more for finite populations and a census.
        """
        return share_intervals(self, level, method, simultaneous)

    def uncut_interval(self, level: float, free: Floats) -> Interval:
        """(k,) Wilson's or the empirical likelihood's intervals, which may leave [0, 1].

        free : (k,) degrees of freedom to take instead of these, as a difference has others.
        """
        return uncut_intervals(self, level, free)

    def total_interval(self, level: float = 0.95) -> Interval:
        """(k,) intervals of the totals: t quantiles of standard errors to both sides; not cut."""
        free = self.degrees_of_freedom
        reach = student(check_level(level), free) * self.total_std_error if free > 0 else np.inf
        return Interval(self.totals - reach, self.totals + reach)

    # -- ratios and means ----------------------------------------------------------------

    def share_among(
        self, category: Hashable, among: Iterable[Hashable], level: float = 0.95
    ) -> RatioEstimate:
        """The share of one category among the people of some categories, as `Estimate.share_among`.

        Returns the ratio of the two shares, its linearized standard error, and an interval inside
        [0, 1]: the hull of Fieller's with t quantiles and of the empirical likelihood's at
        the effective size.  Consistent, not unbiased.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "once", "often"], 0.8)
        >>> reports = ["no"] * 600 + ["once"] * 250 + ["often"] * 150
        >>> found = rr.estimate(reports, m, weights=[2.0, 1.0] * 500)
        >>> ratio = found.share_among("often", among=["once", "often"])
        >>> round(ratio.proportion, 3), round(ratio.std_error, 3)
        (0.25, 0.052)
        """
        return ratios.share_among(self, category, among, level)

    def among(self, among: Iterable[Hashable] | None = None, level: float = 0.95) -> pd.DataFrame:
        """The shares among the people of some categories, as `Estimate.among`.

        among : categories; None for all that are not missing, where non-response is a category.
        Returns columns category, proportion, std_error, low, high: `share_among` of each.
        """
        return ratios.shares_among(self, among, level)

    def mean(
        self, values: Mapping[Any, float] | None = None, *, level: float = 0.95
    ) -> MeanEstimate:
        """The mean of a number that each category stands for, as `Estimate.mean`.

        values : mapping from category to number; by default the categories, which must be numbers.
        Returns the mean, its linearized standard error and an interval within the smallest and the
        largest number: by empirical likelihood of the scores at the effective size where each
        report falls into one cell, else by a t quantile of standard errors.
        Raises ArgumentTypeError for categories that are no numbers.
        """
        return ratios.mean_of(self, values, level)

    # -- how it is shown -----------------------------------------------------------------

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Columns: category, n, reported and naive (reports that speak for the category, and their
        weighted share), proportion, std_error, low, high, effective_n, design_effect,
        randomization_variance and sampling_variance (which make std_error^2; the second may be
        negative, see there), total and total_std_error in the units of the weights.
        """
        low, high = self.interval(level, method=method, simultaneous=simultaneous)
        counts = self.named[0]
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "n": self.n,
                "reported": counts.astype(np.int64) if self.names_categories else counts,
                "naive": self.named[1],
                "proportion": self.proportions,
                "std_error": self.std_error,
                "low": low,
                "high": high,
                "effective_n": self.effective_n,
                "design_effect": self.design_effect,
                "randomization_variance": self.randomization_variance,
                "sampling_variance": self.sampling_variance,
                "total": self.totals,
                "total_std_error": self.total_std_error,
            }
        )

    __iter__ = None  # est["never"] looks up a category; there is no est[0] to start from

    def __getitem__(self, category: Hashable) -> SurveyShare:
        row = self.to_frame().iloc[self._code(category)]
        names = [name for name in SurveyShare.__dataclass_fields__ if name != "category"]
        kinds = {"n": int, "reported": int if self.names_categories else float}
        values: dict[str, Any] = {name: kinds.get(name, float)(row[name]) for name in names}
        return SurveyShare(category=self.categories[self._code(category)], **values)

    def _code(self, category: Hashable) -> int:
        answers = Categories(self.categories)
        code = answers.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{category!r} is not among the categories {answers.describe()}"
            )
        return code

    def reading(self, category: Hashable = ..., level: float = 0.95) -> str:
        """One sentence that says what the sample says of one category; by default the last.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> counted = rr.tally(["no"] * 640 + ["yes"] * 360, m, weights=[3.0, 1.0] * 500)
        >>> survey_estimate(counted).reading("yes").partition(", of")[0]
        'about 22.0% yes, 95% interval 15.3% to 28.9%'
        """
        code = self.k - 1 if category is ... else self._code(category)
        return wording.sentence(self, code, check_level(level))

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
        """Draw weighted naive and debiased proportions with their intervals, as `Estimate.plot`."""
        ends = self.interval(level, method=method, simultaneous=simultaneous)
        return plot_proportions(self, ends, ax, level=level, truth=truth, **options)

    @property
    def title(self) -> str:
        """The size of the sample and its design, in words."""
        cells = self._cells
        strata, clusters = len(cells.labels), int(cells.units.sum())
        design = f", {strata:,} strata" if strata > 1 else ""
        design += "" if cells.alone.all() else f", {clusters:,} clusters"
        absent = f", {self.missing:,} missing" if self.missing else ""
        return f"n={self.n:,}{absent}{design}, weights sum to {self.weight:,.1f}"

    def __repr__(self) -> str:
        return wording.as_text(self)

    def _repr_html_(self) -> str:
        return wording.as_html(self)


def survey_estimate(
    tally: Tally,
    population: Any = None,
    *,
    probabilities: bool = False,
    lonely: str = LONELY[0],
) -> SurveyEstimate:
    """Shares and totals in the population behind a sample with weights and a design.

    tally : reports counted with weights, strata or clusters, see `tally`.
    population, probabilities, lonely : how the sample was drawn, see `SurveyEstimate`.
    Raises ArgumentValueError for strata with one cluster, a population smaller than its
    sample, and samples that need one another.
    Formulas: those of `svymean` and `svytotal` in R's survey package; Arnab (1994) for the coins.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> reports, region = ["no"] * 60 + ["yes"] * 40, ["north", "south"] * 50
    >>> counted = rr.tally(reports, m, weights=[1.0, 3.0] * 50, strata=region)
    >>> found = survey_estimate(counted, {"north": 500, "south": 1500})
    >>> found.proportions.round(3), found.std_error.round(3), found.design_effect.round(2)
    (array([0.7, 0.3]), array([0.11, 0.11]), array([1.25, 1.25]))
    """
    return SurveyEstimate(tally, population, bool(probabilities), lonely)


def _root(variance: Floats) -> Floats:
    """Square roots, NaN for what is negative by more than rounding."""
    scale = float(np.nanmax(np.abs(variance), initial=0.0))
    safe = np.where(variance < -_ROUNDING * scale, np.nan, np.maximum(variance, 0.0))
    return np.sqrt(safe)
