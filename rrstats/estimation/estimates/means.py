"""Means of a number in the true groups, estimated from privatized groups.

The estimate needs a few sums of scores times values for each group, over report cells or rows.
A mean is a ratio of two such sums: M^-T S / M^-T C, with S and C the sums of values and the counts
by reported group.  Its interval is Fieller's and may be unbounded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._cached import cached_property
from rrstats._checks import check_level, check_one_of
from rrstats._display import label
from rrstats._frozen import fixed
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Booleans, Column, ColumnLike, Counts, Floats, RateLike
from rrstats.data.columns import blocks, numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.result import GroupResult, formats_of, proportion_rows
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    numbers_reported,
    refuse_reports,
    report_column,
)
from rrstats.estimation.report_columns.report_frames import not_asked
from rrstats.estimation.report_columns.sample_design import (
    SampleDesign,
    design_of,
    refuse_missing,
    rows_of,
)
from rrstats.estimation.tallies.sampled_rows import SampledRows, sampled_rows
from rrstats.estimation.tallies.score_sums import (
    MAX_PAIRED,
    MAX_SCORES,
    ScoreSums,
    ratio,
    sums_of,
)
from rrstats.inference.contrasts import Interval, fieller, mover_difference, ratio_variance
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.krr import MechanismLike
from rrstats.plots import PlotOptions, plot_intervals
from rrstats.randomness.sources import BLOCK_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# -- the design of a survey -----------------------------------------------------------------


class DesignErrors(NamedTuple):
    """Errors of means by the design of a survey.

    totals : (2 k, 2 k) covariance of the sums of w s y, and then of w s, of k groups.
    means : (k, k) covariance of the means.
    df : degrees of freedom.
    replicates, without : how many there are, and (k,) in how many a group has no size.
    """

    totals: Floats
    means: Floats
    df: int
    replicates: int
    without: Counts


def _design_errors(
    grouped: ReportColumn, y: Floats, sampled: SampledRows, sums: ScoreSums
) -> DesignErrors:
    """The errors of the means of rows with strata, clusters or replicate weights.

    y, sums : centred.  sampled : the used rows.
    """
    k = grouped.k
    if len(sums.rows) > 1:
        raise ArgumentValueError(
            "design must have weights alone for groups that only several samples identify together"
        )
    if k > MAX_PAIRED:
        raise ArgumentValueError(
            f"design must have weights alone for more than {MAX_PAIRED} groups, found {k}"
        )
    places = sampled.places
    codes = grouped.codes() if grouped.has_cells else None

    def terms() -> Iterator[tuple[slice, Floats]]:
        for part in blocks(len(places), max(min(BLOCK_ROWS, MAX_SCORES // (2 * k)), 1)):
            rows = places[part]
            if codes is not None:
                scores = grouped.score_table[codes[rows]]
            else:
                scores = grouped.scores(slice(rows[0], rows[-1] + 1))[rows - rows[0]]
            yield part, np.hstack([scores * y[rows, None], scores])

    by_unit = sampled.sums(terms(), 2 * k)
    sizes, totals = sums.first[:, 0]
    return DesignErrors(
        totals=sampled.covariance(by_unit, np.concatenate([totals, sizes])),
        means=sampled.ratio_covariance(by_unit, totals, sizes),
        df=sampled.df,
        replicates=0 if sampled.replicates is None else len(by_unit),
        without=(by_unit[:, k:] == 0).sum(axis=0),
    )


# -- the result ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Means(GroupResult):
    """Means of a number in the true groups, estimated from privatized groups.

    Attributes
    ----------
    categories : tuple of k hashables
        The groups.
    n : int
        Rows used.
    n_missing : int
        Rows left out because the value, the report or the weight was missing.
    target : {"population", "sample"}
        Means are about the population, or about these rows alone.
    naive : ndarray of shape (k,)
        Means by reported group, biased towards each other; NaN if no report names a group.
    names : tuple of 2 hashables
        The columns of the numbers and of the groups; None where one has no name.
    """

    _formats = formats_of("{:.4g}", "mean", "naive", "low", "high", "std_error")
    _formats |= {"proportion": "{:z.1%}".format}
    _shown = ("mean", "low", "high", "std_error", "naive", "proportion", "effective_n")

    _what = "means"

    _centre: float = field(repr=False)
    _sums: ScoreSums = field(repr=False)
    _design: DesignErrors | None = field(repr=False)

    @cached_property
    def _sizes(self) -> Floats:
        """(k,) estimated (weighted) sizes of the groups."""
        return fixed(self._sums.first[0].sum(axis=0))

    @cached_property
    def _centred(self) -> Floats:
        """(k,) means of the centred values."""
        return fixed(ratio(self._sums.first[1].sum(axis=0), self._sizes))

    @property
    def means(self) -> Floats:
        """(k,) the estimated mean of each true group."""
        return np.asarray(self._centred + self._centre)

    @property
    def proportions(self) -> Floats:
        """(k,) the unbiased (weighted) proportion of each group among these rows."""
        total = self._sizes.sum()
        return np.asarray(self._sizes / total if total else np.full(self.k, np.nan))

    @cached_property
    def effective_n(self) -> Floats:
        """(k,) effective sample sizes: people of known group that give the same variance.

        It is (sum w s)^2 / sum (w s)^2, for equal variances in all groups; 0 where the estimated
        size is not positive.
        """
        return fixed(np.where(self._sizes > 0, ratio(self._sizes**2, self._sums.second[0]), 0.0))

    @cached_property
    def std_error(self) -> Floats:
        """(k,) linearized standard errors; inaccurate where `effective_n` is small.

        For the population they are NaN with only one row.  With replicate weights they are the
        spread of the means by the replicates.
        """
        if self._design is not None:
            return fixed(np.sqrt(np.diagonal(self._design.means)))
        variance = np.maximum(ratio_variance(self._centred, self._moments), 0.0)
        return fixed(ratio(np.sqrt(variance), np.abs(self._sizes)))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """(k,) each: variance of sum w s y, covariance with sum w s, variance of sum w s.

        For target "sample" only the randomization varies: E[s^2 - s | truth] is its variance.
        """
        if self._design is not None:
            k = self.k
            covariance_of_totals = self._design.totals
            moments = np.stack(
                [
                    np.diagonal(covariance_of_totals[k:, k:]),
                    np.diagonal(covariance_of_totals[k:, :k]),
                    np.diagonal(covariance_of_totals[:k, :k]),
                ]
            )
        elif self.target == "sample":
            moments = self._sums.second - self._sums.linear
        else:
            sizes, totals = self._sums.first
            squares = np.stack([sizes * sizes, sizes * totals, totals * totals])
            within = (squares * self._per_row).sum(axis=1)
            moments = (self._sums.second - within) * self._widening
        size_variance, covariance, total_variance = moments
        return fixed(total_variance), fixed(covariance), fixed(size_variance)

    @property
    def _per_row(self) -> Floats:
        """(g, 1) one over the rows of each sample; 0 without rows."""
        rows = self._sums.rows[:, None]
        return np.divide(1.0, rows, out=np.zeros_like(rows), where=rows > 0)

    @property
    def _widening(self) -> float:
        """The factor n / (n - g), for g samples with n rows in all; NaN if n is at most g."""
        n = float(self._sums.rows.sum())
        g = len(self._sums.rows)
        return n / (n - g) if n > g else np.nan

    @property
    @np.errstate(invalid="ignore")  # for empty groups
    def covariance(self) -> Floats:
        """The covariance of the means, linearized; by replicate weights their spread.

        Returns
        -------
        ndarray of shape (k, k)
            For the target.

        Raises
        ------
        ArgumentValueError
            There are more than 256 groups.
        """
        if self._design is not None:
            return self._design.means
        if self.k > MAX_PAIRED:
            raise ArgumentValueError(
                f"the covariance of means is for at most {MAX_PAIRED} groups, found {self.k}"
            )
        m = self._centred
        # Sums of products of the linearized values s (y - m) of pairs of groups.
        size, both, total = self._sums.pairs
        products = total - m[:, None] * both - both * m[None, :] + np.outer(m, m) * size
        if self.target == "sample":
            products = products - np.diag(ratio_variance(m, tuple(self._sums.linear[::-1])))
        else:
            residuals = self._sums.first[1] - m * self._sums.first[0]
            within = (residuals * self._per_row).T @ residuals
            products = (products - within) * self._widening
        return ratio(products, np.outer(self._sizes, self._sizes))

    def interval(self, level: float = 0.95) -> Interval[Floats]:
        """Fieller's intervals; unbounded where a group's size may be 0.

        Parameters
        ----------
        level : float
            Confidence level of each interval.

        Returns
        -------
        Interval
            Two arrays of shape (k,).

        Notes
        -----
        The critical value is Student's, with the degrees of freedom of the squared scores
        (Satterthwaite), or those of the survey's design if they are less.  Lowest coverage at 95%
        in simulations with an effective sample size of at least 10: 93.4% (log-normal values), 94%
        or more elsewhere; values that are nearly always the same number need more.  With one row,
        intervals for the population are unbounded.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> means = rr.means(range(100), ["no"] * 60 + ["yes"] * 40, m)
        >>> [end.round(1).tolist() for end in means.interval(0.9)]
        [[12.3, 96.9], [24.9, 138.5]]
        """
        level = check_level(level)
        df = ratio(self._sums.second[0] ** 2, self._sums.fourth)
        if self._design is not None:
            df = np.minimum(df, self._design.df)
        limit = scipy.special.stdtrit(np.maximum(df, 1.0), (1 + level) / 2) ** 2
        totals = self._sums.first[1].sum(axis=0)
        low, high = fieller(totals, self._sizes, self._moments, limit)
        return Interval(low + self._centre, high + self._centre)

    def __getitem__(self, category: Hashable) -> EstimatedNumber:
        """The mean of one group, with its interval."""
        place = self._place(category)
        return EstimatedNumber(
            f"mean of {label(self.categories[place])}",
            float(self.means[place]),
            float(self.std_error[place]),
            partial(self._interval_at, place),
            is_proportion=False,
        )

    def _interval_at(self, place: int, level: float) -> Interval[float]:
        """The interval of the mean of one group, by its place."""
        low, high = self.interval(level)
        return Interval(float(low[place]), float(high[place]))

    def difference(self, first: Hashable, second: Hashable) -> EstimatedNumber:
        """Estimate the mean of one group minus that of another.

        Parameters
        ----------
        first, second : hashable
            Groups.

        Returns
        -------
        EstimatedNumber
            The interval is MOVER's, from Fieller's intervals and the correlation; the p-value is
            from the ratio of the estimate to its standard error.

        References
        ----------
        Zou and Donner (2008).

        Examples
        --------
        >>> import rrstats as rr
        >>> pay = [10.0] * 300 + [20.0] * 300
        >>> answers = ["no"] * 240 + ["yes"] * 60 + ["no"] * 60 + ["yes"] * 240
        >>> means = rr.means(pay, answers, rr.KRR(["no", "yes"], 0.8))
        >>> means.difference("yes", "no")
        mean of yes minus mean of no: 10, std_error 0.5448, 95% interval 8.998 to 11.17
        """
        places = [self._place(first), self._place(second)]
        (variance, covariance), (_, other) = self.covariance[np.ix_(places, places)]
        std_error = float(np.sqrt(np.maximum(variance + other - 2 * covariance, 0.0)))
        value = float(self._centred[places] @ [1, -1])
        if not np.isfinite(value):  # an empty group
            std_error = np.nan
        p_value = np.nan
        if std_error > 0:
            p_value = float(2 * scipy.special.ndtr(-abs(value) / std_error))
        of_first, of_second = (f"mean of {label(self.categories[place])}" for place in places)
        return EstimatedNumber(
            f"{of_first} minus {of_second}",
            value,
            std_error,
            partial(self._difference_interval, places),
            is_proportion=False,
            p_value=p_value,
        )

    def _difference_interval(self, places: Sequence[int], level: float) -> Interval[float]:
        """The interval of the mean of one group minus that of another, by their places."""
        value = float(self._centred[places] @ [1, -1])
        if not np.isfinite(value):
            return Interval(-np.inf, np.inf)
        (variance, covariance), (_, other) = self.covariance[np.ix_(places, places)]
        product = variance * other
        correlation = covariance / np.sqrt(product) if product > 0 else 0.0
        # Intervals are moved so that the second mean is 0 and the first is the difference.
        lows, highs = (np.array(self.interval(level)) - self.means)[:, places]
        first_ends = Interval(value + lows[0], value + highs[0])
        second_ends = Interval(lows[1], highs[1])
        return mover_difference(value, first_ends, 0.0, second_ends, correlation=correlation)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each group.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns category, n, proportion, effective_n, naive, mean, std_error, low and high.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> means = rr.means(range(100), ["no"] * 60 + ["yes"] * 40, m)
        >>> means.to_frame()["mean"].round(1).tolist()
        [19.5, 109.5]
        """
        groups = {"proportion": self.proportions, "effective_n": self.effective_n}
        low, high = self.interval(level)
        means = {"mean": self.means, "std_error": self.std_error, "low": low, "high": high}
        return self._framed({"category": self.categories}, groups, means)

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The mean of one group in a sentence.

        Parameters
        ----------
        category : hashable, optional
            The group; by default the last.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str
            The mean with its interval, and the effective sample size of the group.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> means = rr.means(range(100), ["no"] * 60 + ["yes"] * 40, m)
        >>> print(means.interpret())  # doctest: +NORMALIZE_WHITESPACE
        about 109.5 among yes, 95% interval 95.21 to 149.8, of the population behind these rows;
        effective sample size 14.3 of 100 rows
        """
        place = self._place(category)
        group = label(self.categories[place])
        if not self.n or (self.n == 1 and self.target == "population"):
            rows = "is only one row" if self.n else "are no rows"
            return f"the mean of {group} cannot be estimated: there {rows}"
        low, high = (float(end[place]) for end in self.interval(level))
        size = f"effective sample size {self.effective_n[place]:,.1f}"
        if not np.isfinite(high - low):
            return (
                f"the mean of {group} cannot be estimated: the size of the group, estimated as "
                f"{self.proportions[place]:z.1%} of {self.n:,} rows, may be 0 ({size})"
            )
        return (
            f"about {self.means[place]:.4g} among {group}, {level * 100:.10g}% interval {low:.4g} "
            f"to {high:.4g}, of {self._whom}; {size} of {self.n:,} rows"
        )

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the means with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each group; an end at infinity is an arrow.
        """
        rows = proportion_rows(self.categories, self.means, self.interval(level))
        limits: dict[str, Any] = {"bounds": None, "reference": None, "level": level}
        options = {"title": self._title, **options}
        return plot_intervals(rows, ax, xlabel="mean of the true group", **limits, **options)

    @property
    def notes(self) -> list[str]:
        """Sentences about groups whose means cannot be estimated, and about lost replicates."""
        low, high = self.interval()
        unbounded = np.flatnonzero(~np.isfinite(high - low) & (self.n > 0))
        notes = self._size_notes(unbounded, self.effective_n)
        if self._design is not None and self._design.replicates:
            without, count = self._design.without, self._design.replicates
            some = without[(without > 0) & (without < count)]
            if some.size:
                notes.append(
                    f"in {some.max()} of {count} replicates a group has no size: they are left out "
                    "for it, so that its standard error is too small"
                )
        return notes


# -- from rows -------------------------------------------------------------------------------


@checked_keywords
def means(
    values: Column,
    reports: Any,
    mechanism: MechanismLike | None = None,
    prob: RateLike | None = None,
    *,
    epsilon: RateLike | None = None,
    group: ColumnLike | None = None,
    weights: ColumnLike | None = None,
    design: SampleDesign | None = None,
    target: str = "population",
    missing: str = "drop",
) -> Means:
    """Estimate means of a number in the true groups, from privatized groups.

    Parameters
    ----------
    values : array-like of shape (n,)
        Ordinary numbers, or reports of a number that was privatized by itself (`rrstats.number`);
        true and false count as 1 and 0.
    reports : array-like of shape (n,)
        Reports of the group.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`; prob or epsilon may be an array with one number for each row.
    weights : array-like of shape (n,), optional
        Sampling weights, not negative.
    design : SampleDesign, optional
        Weights with strata and clusters, or with replicate weights, of the rows, all known.
    target : {"population", "sample"}
        Means are about the population that these people were drawn from, or about the true groups
        among just these rows, where only the randomization is uncertain.
    missing : {"drop", "raise"}
        "drop" leaves out rows with a missing value, report or weight, and counts them; this is
        valid if missingness does not depend on the value.

    Returns
    -------
    Means
        Means of the true groups, and naive means by reported group.

    Raises
    ------
    ArgumentValueError
        Values are infinite, weights are negative, or the design has a stratum of one cluster, the
        size of the population or probabilities.
    NotIdentifiableError
        The reports carry no information.

    Warns
    -----
    LowPrecisionWarning
        The size of a group may be 0.

    Examples
    --------
    >>> import rrstats as rr
    >>> pay = [10.0] * 300 + [20.0] * 300
    >>> answers = ["no"] * 240 + ["yes"] * 60 + ["no"] * 60 + ["yes"] * 240
    >>> found = means(pay, answers, rr.KRR(["no", "yes"], 0.8))
    >>> found.naive.tolist(), found.means.round(6).tolist()
    ([12.0, 18.0], [10.0, 20.0])

    By reported group the means are 12 and 18; in the true groups they are about 10 and 20.
    """
    check_target(target)
    check_one_of(missing, "missing", ("drop", "raise"))
    values, are_reports = numbers_reported(values)
    if are_reports and target != "population":
        raise ArgumentValueError(
            "target must be 'population' where the values are reports of a number, whose noise is "
            "no part of the error for these rows"
        )
    design = design_of(weights, design)
    grouped = read_groups(reports, (mechanism, prob, epsilon), group=group)
    others = {"reports": reports}
    sample = rows_of(values, grouped.rows, design=design, others=others, gaps=("weights",))
    y, w, out = read_rows(values, sample.weights, grouped)
    y, centre = _centred(y, out)
    sums, naive = sums_of(grouped, y, w, out)
    n = round(float(sums.rows.sum()))
    absent = grouped.rows - n - int(not_asked([grouped], grouped.rows).sum())
    refuse_missing(missing, absent, grouped.rows, "lack a value, a report or a weight")
    if len(sums.rows) > 1 and target == "sample":
        raise ArgumentValueError(
            "target must be 'population' because these samples identify the groups only together"
        )
    sampled = sampled_rows(design, sample, grouped, left_out=out, target=target)
    estimates = Means(
        categories=grouped.categories,
        n=n,
        n_missing=absent,
        target=target,
        naive=fixed(naive + centre),
        names=(getattr(values, "name", None), grouped.name),
        _centre=centre,
        _sums=sums,
        _design=None if sampled is None else _design_errors(grouped, y, sampled, sums),
    )
    for note in estimates.notes:
        warn(note, LowPrecisionWarning)
    return estimates


def _centred(y: Floats, out: Booleans) -> tuple[Floats, float]:
    """Values less their mean, 0 where left out; and the mean."""
    if not out.any():
        centre = float(y.mean()) if len(y) else 0.0
        return y - centre, centre
    centre = 0.0 if out.all() else float(y[~out].mean())
    return np.where(out, 0.0, y - centre), centre


def read_groups(reports: Any, arguments: tuple[Any, Any, Any], *, group: Any) -> ReportColumn:
    """The reports of the groups of values; they may be a `ReportColumn` already.

    arguments : mechanism, prob and epsilon.
    """
    if isinstance(reports, ReportColumn):
        return reports
    if isinstance(reports, str):
        raise ArgumentTypeError(
            "reports must be a column, found str; for columns of a frame by name use "
            "df.rr.means('age', 'smoker'), or df.rr.quantiles"
        )
    return report_column(reports, *arguments, group=group)


def read_rows(
    values: Any, weights: Floats | None, grouped: ReportColumn
) -> tuple[Floats, Floats | None, Booleans]:
    """Values, weights, and the rows that lack a value or a weight.

    grouped : the reports of the groups, opened.
    """
    refuse_reports(values, "values", "crosstab both columns, and use conditional proportions")
    y = numbers(values, "values", grouped.rows)
    if weights is None:
        return y, None, np.isnan(y)
    out = np.isnan(y) | np.isnan(weights)
    return y, np.where(out, 0.0, weights), out
