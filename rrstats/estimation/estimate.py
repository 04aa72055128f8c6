"""What an estimate is: unbiased shares of k categories, with what is needed to judge them.

Shares come with their covariance, intervals, a table, a sentence and a picture.  They may lie
outside [0, 1]; nothing is clipped silently, and tables inside the simplex are another type.
`estimators.estimate` makes estimates from reports.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_bool, check_count, check_level, check_numbers
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import combinations, debiasing
from rrstats.estimation.arrays import fixed, interval_of_counts, project_to_simplex
from rrstats.estimation.result import (
    FORMATS,
    ConstrainedProportions,
    MeanEstimate,
    RatioEstimate,
    ShareEstimate,
    label_column,
    percent_range,
    plot_proportions,
    said,
    shortened,
)
from rrstats.estimation.tally import Tally
from rrstats.inference import general_intervals
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import Interval
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    BinomialRates,
    check_target,
    recode_matrix,
    transition_matrix,
)
from rrstats.plots import PlotOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["IMPLAUSIBLE_TEXT", "Estimate"]


IMPLAUSIBLE_TEXT = (
    "some reports are rarer or commoner than any true shares explain, so the shares and intervals "
    "mean nothing: were these answers privatized, by this mechanism, and is every row there "
    "(none dropped or picked by its report)?"
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Unbiased shares of k categories, with what is needed to judge them.

    tally : the counted reports.  target : "population" or "rows", whom shares, variances and
    intervals are about.  ddof : what is taken off n in the population's variance; 1 is
    unbiased, 0 is what GLMMRR prints.

    Shares may lie outside [0, 1]: a rare category comes out below 0 about half the time.
    With no reports, shares are NaN and intervals are [0, 1].
    """

    tally: Tally
    target: str = "population"
    ddof: int = 1

    def __post_init__(self) -> None:
        check_target(self.target)
        if check_count(self.ddof, "ddof") not in (0, 1):
            raise ArgumentValueError(f"ddof must be 0 or 1, got {self.ddof}")
        if self.tally.sampled:
            raise ArgumentValueError(
                "this tally holds weights, strata or clusters, which an Estimate would forget; "
                "rr.estimate(tally) gives a SurveyEstimate"
            )

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
    def empty_samples(self) -> list[Hashable]:
        """The labels of the samples that have no reports."""
        groups = self.mechanism.groups or ()
        sizes = np.bincount(self.mechanism.channel.samples, self.reported, minlength=len(groups))
        return [group for group, size in zip(groups, sizes, strict=False) if not size]

    @property
    def reported(self) -> NDArray[np.int64]:
        """(m,) how often each report occurs."""
        return self.tally.reported

    @property
    def naive(self) -> Floats:
        """(m,) shares among the reports of each sample: biased; for comparison only."""
        sizes = debiasing.sample_sizes(self.mechanism.channel, self.reported, self.n)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.reported / sizes)

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true shares; may lie outside [0, 1]."""
        return fixed(debiasing.debias(self.mechanism.channel, self.reported, self.n))

    @property
    def counts(self) -> Floats:
        """(k,) unbiased true counts among the rows: shares times n, not whole."""
        return self.proportions * self.n if self.n else np.zeros(self.k)

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the shares, for the target; NaN where n is too small."""
        return fixed(
            debiasing.variance(
                self.mechanism.channel, self.reported, self.n, self.target, self.ddof
            )
        )

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the shares: square roots of `variance`."""
        return np.sqrt(self.variance)

    def covariance(self) -> Floats:
        """(k, k) covariance of the shares, for the target.

        Rows sum to 0 where shares sum to 1, as they do unless reports support several categories.
        """
        return debiasing.covariance(
            self.mechanism.channel, self.reported, self.n, self.target, self.ddof
        )

    @cached_property
    def named(self) -> tuple[Floats, Floats]:
        """(k,) how many reports speak for each category, and what share; NaN where none does."""
        counts = self.mechanism.channel.support_counts(self.reported)
        with np.errstate(invalid="ignore"):
            return counts, counts / np.float64(self.n)

    def with_target(self, target: str) -> Estimate:
        """The same reports, spoken of for another target."""
        return replace(self, target=check_target(target))

    @property
    def names_categories(self) -> bool:
        """Whether reports speak for categories, so that `to_frame` can say how many did."""
        return not np.isnan(self.named[0]).any()

    @property
    def default_method(self) -> str:
        """How intervals are made where no method is named."""
        return debiasing.default_method(self.mechanism.channel)

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """(k,) intervals of the true shares, for the target.

        level, simultaneous : as for `confidence_interval`.
        method : where the count of each category is binomial (k-RR, unary encoding, forced
            response, all designs of two categories and reports) those of `confidence_interval`,
            "clopper-pearson" by default; otherwise "profile-likelihood", the default up to 50
            classes, "empirical-likelihood", beyond that and for samples that stand alone, or
            "wald", for designs so large that the others take minutes (see `general_intervals`).
        """
        return self._interval(level, method, simultaneous, self.target)

    def count_interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """(k,) intervals of the true counts among the rows."""
        low, high = self._interval(level, None, simultaneous, "rows")
        return Interval(low * self.n, high * self.n)

    def _interval(
        self,
        level: float,
        method: str | None,
        simultaneous: bool,
        target: str,
        code: int | None = None,
    ) -> Interval:
        """Intervals of all categories, or of one alone."""
        rates = self.mechanism.channel.binomial_rates
        _ = self.proportions  # raises NotIdentifiableError where nothing can be said
        if rates is None:
            found = self._general_interval(level, method, simultaneous, target)
            return found if code is None else Interval(found.low[code], found.high[code])
        counts, method = self.named[0], method or self.default_method
        if code is not None:
            counts = counts[code]
            low, high = rates.false_positive_rate[code], rates.true_positive_rate[code]
            rates = BinomialRates(low, high, rates.complementary)
        return interval_of_counts(
            counts, self.n, rates, self.k, level, method, simultaneous, target
        )

    def _general_interval(
        self, level: float, method: str | None, simultaneous: bool, target: str
    ) -> Interval:
        """Intervals where the counts of no category are binomial by themselves."""
        if target == "rows" and method is not None:
            raise ArgumentValueError(
                f"method {method!r} is for the population; for target 'rows' there is one "
                "interval: leave method out"
            )
        method = method or self.default_method
        if method not in general_intervals.GENERAL_METHODS:
            raise ArgumentValueError(
                "the counts of this design are not binomial, so method must be one of "
                f"{list(general_intervals.GENERAL_METHODS)}, got {method!r}"
            )
        channel, shares = self.mechanism.channel, self.proportions
        level = check_level(level)
        if check_bool(simultaneous, "simultaneous") and self.k > 2:
            level = 1 - (1 - level) / self.k
        if not np.isfinite(shares).all():
            return Interval(np.zeros(self.k), np.ones(self.k))
        if method == "wald" and target == "population":
            return general_intervals.wald(shares, self.with_target(target).std_error, level)
        spread = debiasing.score_variances(channel, self.reported) if target == "rows" else None
        if spread is not None:
            return general_intervals.rows_score(
                shares, self.n, spread, recode_matrix(channel), level
            )
        # Without a law for just these rows the population's is theirs too: it is wider.
        counts = self.reported.astype(np.float64)
        found = debiasing.empirical_interval(channel, counts, level)
        if method == "empirical-likelihood":
            return found
        profiled = general_intervals.profile(
            transition_matrix(channel), counts, recode_matrix(channel), level
        )
        return general_intervals.hull(found, profiled)

    def to_frame(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Columns: category, n, reported and naive (the reports that speak for the category; NaN in
        designs whose reports do not), proportion, std_error, low, high (the interval of the
        share, for the target), count, count_low, count_high (always about the rows).
        """
        low, high = self.interval(level, method=method, simultaneous=simultaneous)
        if self.target == "rows":  # then both speak of the same rows
            count_low, count_high = low * self.n, high * self.n
        else:
            count_low, count_high = self.count_interval(level, simultaneous=simultaneous)
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "n": self.n,
                "reported": self.reported_by_category,
                "naive": self.named[1],
                "proportion": self.proportions,
                "std_error": self.std_error,
                "low": low,
                "high": high,
                "count": self.counts,
                "count_low": count_low,
                "count_high": count_high,
            }
        )

    @property
    def reported_by_category(self) -> NDArray[Any]:
        """(k,) reports that speak for each category, as whole numbers where there are such."""
        counts = self.named[0]
        return counts.astype(np.int64) if self.names_categories else counts

    @cached_property
    def _answers(self) -> Categories:
        return Categories(self.categories)

    def _code(self, category: Hashable) -> int:
        code = self._answers.code(category)
        if code >= self.k:
            raise ArgumentValueError(
                f"{category!r} is not among the categories {self._answers.describe()}"
            )
        return code

    __iter__ = None  # est["never"] looks up a category; there is no est[0] to start from

    def __getitem__(self, category: Hashable) -> ShareEstimate:
        code = self._code(category)
        low, high = self._interval(0.95, None, False, self.target, code)
        count_low, count_high = self._interval(0.95, None, False, "rows", code)
        return ShareEstimate(
            category=self.categories[code],
            n=self.n,
            reported=self.reported_by_category[code].item(),
            naive=float(self.named[1][code]),
            proportion=float(self.proportions[code]),
            std_error=float(self.std_error[code]),
            low=float(low),
            high=float(high),
            count=float(self.counts[code]),
            count_low=float(count_low) * self.n,
            count_high=float(count_high) * self.n,
        )

    def about(self, shows: Any = None) -> Estimate:
        """The same reports, read for other categories.

        shows : a mapping from class to category, for mechanisms that tell classes of people
            apart (those who lie, the answer to the unrelated question); None for the classes
            themselves.  Raises NotIdentifiableError where the reports do not tell them apart.
        """
        showing = getattr(self.mechanism, "showing", None)
        if showing is None:
            raise ArgumentTypeError(
                "only a mechanism that tells classes apart can be read for other categories; "
                f"found a {type(self.mechanism).__name__}"
            )
        found = replace(self, tally=replace(self.tally, mechanism=showing(shows)))
        _ = found.proportions  # raises NotIdentifiableError now
        return found

    def share_among(
        self, category: Hashable, among: Iterable[Hashable], level: float = 0.95
    ) -> RatioEstimate:
        """The share of one category among the people of some categories.

        Returns the ratio of the two shares, its standard error by the delta method, and an
        interval inside [0, 1]: the hull of Fieller's and of the empirical likelihood's, which
        is [0, 1] where the people may be next to nobody.  Consistent, not unbiased.

        >>> import rrstats as rr
        >>> counts = rr.Tally.from_counts([600, 250, 150], rr.KRR(["no", "once", "often"], 0.8))
        >>> found = rr.estimate(counts).share_among("often", among=["once", "often"])
        >>> round(found.proportion, 3), round(found.std_error, 3)
        (0.25, 0.049)
        """
        part, whole = combinations.part_and_whole(self.categories, category, among)
        shares, covariance = self.proportions, self.covariance()
        top, bottom = float(part @ shares), float(whole @ shares)
        pairs = ((part, part), (part, whole), (whole, whole))
        moments = tuple(float(a @ covariance @ b) for a, b in pairs)
        found, error, low, high = general_intervals.ratio((top, bottom), moments, level)
        channel = self.mechanism.channel
        if self.target == "population" and channel.is_multinomial and np.isfinite(top):
            weights = np.stack([part, whole]) @ debiasing.weights(channel, self.reported)
            ends = general_intervals.ratio_ends(weights, self.reported, channel.samples, level)
            low, high = min(low, ends[0]), max(high, ends[1])
        reach = float(general_intervals.wald(np.zeros(1), np.array([error]), level).high[0])
        cut = combinations.no_sliver(found, reach, Interval(low, high))
        return RatioEstimate(found, error, *cut)

    def among(self, among: Iterable[Hashable] | None = None, level: float = 0.95) -> pd.DataFrame:
        """The shares among the people of some categories: by default among those who answered.

        among : categories; None for all that are not missing, where non-response is a category.
        Returns columns category, proportion, std_error, low, high: `share_among` of each.
        Who answered is itself estimated, so the intervals are wider than those of the shares.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes", None], 0.8)
        >>> est = rr.estimate(rr.Tally.from_counts([500, 300, 200], m))
        >>> est.among().round(3)
          category  proportion  std_error    low   high
        0       no       0.667      0.023  0.621  0.712
        1      yes       0.333      0.023  0.288  0.379
        """
        return combinations.shares_among(self.share_among, self.categories, among, level)

    def mean(
        self, values: Mapping[Any, float] | None = None, *, level: float = 0.95
    ) -> MeanEstimate:
        """The mean of a number that each category stands for, as of a privatized 0/1.

        values : mapping from category to number; by default the categories, which must be
            numbers themselves.
        Returns the mean, its standard error and an interval within the smallest and the largest
        number: by empirical likelihood of the scores for the population where each report falls
        into one cell, else by a normal quantile of standard errors.
        Raises ArgumentTypeError for categories that are no numbers.

        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR([0, 1], 0.75)))
        >>> found = est.mean()
        >>> round(found.mean, 3), round(found.std_error, 3)
        (0.22, 0.03)
        """
        worth = combinations.numbers_of(self.categories, values)
        found = float(worth @ self.proportions)
        std_error = float(np.sqrt(max(float(worth @ self.covariance() @ worth), 0.0)))
        if self.k == 2:
            share = self._interval(level, None, False, self.target, 1)
            ends = worth[0] + (worth[1] - worth[0]) * np.array([share.low, share.high])
            return MeanEstimate(found, std_error, float(ends.min()), float(ends.max()))
        # Numbers on a scale from 0 to 1, on which intervals of shares are cut and kept wide.
        least, span = float(worth.min()), float(np.ptp(worth)) or 1.0
        low, high = self._combined_ends((worth - least) / span, level)
        return MeanEstimate(found, std_error, least + span * low, least + span * high)

    def _combined_ends(self, scale: Floats, level: float) -> tuple[float, float]:
        """The interval in [0, 1] of a combination of the shares, with weights in [0, 1]."""
        found = float(scale @ self.proportions)
        error = float(np.sqrt(max(float(scale @ self.covariance() @ scale), 0.0)))
        channel = self.mechanism.channel
        if not np.isfinite(found + error):
            return 0.0, 1.0
        ends = general_intervals.wald(np.array([found]), np.array([error]), level)
        if self.target == "population" and channel.is_multinomial:
            weights = (scale @ debiasing.weights(channel, self.reported))[None]
            used = debiasing.sample_sizes(channel, self.reported, self.n) > 0
            samples = np.unique(channel.samples[used], return_inverse=True)[1]
            ends = general_intervals.empirical_ends(
                weights[:, used], self.reported[used], samples, level
            )
        cut = Interval(*(float(np.clip(end[0], 0, 1)) for end in ends))
        reach = float(general_intervals.wald(np.zeros(1), np.array([error]), level).high[0])
        return combinations.no_sliver(found, reach, cut)

    def log_likelihood(self, proportions: Any = None) -> float:
        """The logarithm of the probability of these counts, at given shares of the classes.

        proportions : (classes,) shares inside the simplex; by default the likeliest ones.
        Includes the multinomial coefficient, so that for two categories it is the binomial's
        log-density.
        """
        channel = self.mechanism.channel
        self._check_likelihood()
        if proportions is None:
            proportions = debiasing.most_likely(channel, self.reported)
        proportions = check_numbers(proportions, "proportions", size=len(channel.class_of))
        if abs(proportions.sum() - 1) > 1e-6:
            raise ArgumentValueError(f"proportions must sum to 1, got {proportions.sum():.6g}")
        return likelihood.log_likelihood(
            transition_matrix(channel), self.reported, proportions, samples=channel.samples
        )

    def _check_likelihood(self) -> None:
        if not self.mechanism.channel.is_multinomial:
            raise ArgumentValueError(
                "maximum likelihood is not there for reports that name several categories: counts "
                "do not say which were named together; project() gives shares in [0, 1] that sum "
                "to 1"
            )

    def mle(self) -> ConstrainedProportions:
        """Maximum likelihood shares inside the simplex: in closed form for k-RR.

        In one sample with as many reports as categories, equal to the unbiased shares where those
        are inside.  Better for a displayed table and for the whole distribution; biased for
        the largest and the rare categories.  Not for reports that name several categories: their
        counts do not hold the likelihood.
        Source: KKT conditions of the multinomial likelihood.
        """
        shares = self.proportions  # raises NotIdentifiableError where nothing can be said
        self._check_likelihood()
        if self.n:
            channel = self.mechanism.channel
            shares = recode_matrix(channel) @ debiasing.most_likely(channel, self.reported)
        return ConstrainedProportions(self.categories, shares, self.n, "maximum likelihood")

    def project(self) -> ConstrainedProportions:
        """The shares inside the simplex that are nearest to the unbiased ones (Euclidean)."""
        known = np.isfinite(self.proportions).all()
        shares = project_to_simplex(self.proportions) if known else self.proportions
        return ConstrainedProportions(self.categories, shares, self.n, "Euclidean projection")

    def reading(self, category: Hashable = ..., level: float = 0.95) -> str:
        """One sentence that says what the estimate says of one category.

        category : by default the last one; None names a missing category.

        >>> import rrstats as rr
        >>> est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75)))
        >>> est.reading("yes")
        'about 22.0% yes, 95% interval 16.0% to 28.2%, of the population behind these 1,000 reports'
        """
        return self._reading(self.k - 1 if category is ... else self._code(category), level)

    def _reading(self, code: int, level: float = 0.95) -> str:
        level = check_level(level)
        label = said(self.categories[code])
        if not self.n:
            return f"nothing can be said of {label}: there are no reports"
        share = float(self.proportions[code])
        if np.isnan(share):
            return f"nothing can be said of {label}: no reports are in {self.empty_samples}"
        ends = self._interval(level, None, False, self.target, code)
        low, high = float(ends.low), float(ends.high)
        near = float(np.clip(share, 0, 1))
        shown, wide = f"{share:.1%}", high - low > 0.9
        span = f"{level * 100:.10g}% interval {percent_range(low, high)}"
        span += f"{', so wide that it says next to nothing' * wide}, of {self._whom()}"
        # Within rounding of 0 or 1, or printed like it, a share is not worth a remark.
        if abs(share - near) < 1e-12 or shown.lstrip("-") == f"{near:.1%}":
            shown = f"{near:.1%}"
        elif self.implausible[code]:
            shown += " (further off than noise goes: were these reports made by this mechanism?)"
        elif wide:
            return f"nothing can be said of {label}: the estimate, {shown}, is all noise; {span}"
        else:
            shown = (
                f"{near:.1%} {label} (the unbiased estimate is {shown}, which is noise around a "
                f"share near {near:.0f})"
            )
            return f"about {shown}, {span}"
        return f"about {shown} {label}, {span}"

    def _whom(self) -> str:
        """Whom the estimate speaks of, in words."""
        one = self.n == 1
        if self.target == "rows":
            with_report = " that have a report" if self.missing else ""
            return f"{'this 1 row' if one else f'these {self.n:,} rows'}{with_report}"
        return f"the population behind {'this 1 report' if one else f'these {self.n:,} reports'}"

    @cached_property
    def implausible(self) -> NDArray[np.bool_]:
        """(k,) which categories are reported more rarely, or oftener, than any truth explains.

        Then these are not reports of this mechanism, or not all of them: true answers that
        nobody privatized, rows picked by their report, another prob.  Of right estimates one
        in 10^9 has any.
        """
        return debiasing.implausible(self.mechanism.channel, self.reported, self.n)

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
        return plot_proportions(self, ends, ax, level=level, truth=truth, **options)

    def _table(self) -> pd.DataFrame:
        """The frame as people read it: labels as text, without n and what is not known."""
        unknown = [] if self.names_categories else ["reported", "naive"]
        table = self.to_frame().drop(columns=["n", *unknown])
        table["category"] = [said(category) for category in self.categories]
        return table

    def __repr__(self) -> str:
        absent = f", {self.missing:,} missing" if self.missing else ""
        table = self._table().to_string(index=False, formatters=FORMATS, **shortened())
        doubt = f"\n{IMPLAUSIBLE_TEXT}" if self.implausible.any() else ""
        return f"Estimate for target {self.target!r}: n={self.n:,}{absent}\n{table}{doubt}"

    def _repr_html_(self) -> str:
        import html

        table = self._table().to_html(
            index=False, escape=True, border=0, formatters=FORMATS, **shortened()
        )
        known = np.isfinite(self.proportions).all()
        largest = int(np.argmax(self.proportions)) if known else self.k - 1
        doubt = f"<p>{IMPLAUSIBLE_TEXT}</p>" if self.implausible.any() else ""
        size = f"<p>target {self.target}, n = {self.n:,}, {self.missing:,} missing</p>"
        return f"{table}{size}<p>{html.escape(self._reading(largest))}</p>{doubt}"
