"""Quantiles of a number in the true groups, estimated from privatized groups.

The distribution function of a group is a ratio of two sums of scores: over the rows up to a value,
and over all rows.  Scores may be negative, so it may fall; a quantile is the first value at which
it reaches the probability.  The interval inverts a test: it holds each value x for which the sum of
scores times (1[value <= x] - probability) may be 0, and all values between those.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np
import pandas as pd

from rrstats._checks import check_level, check_probability
from rrstats._display import label
from rrstats._frozen import fixed
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Booleans, Column, ColumnLike, Floats, Indices, RateLike
from rrstats.data.columns import blocks
from rrstats.errors import LowPrecisionWarning, warn
from rrstats.estimation.estimates.means import read_groups, read_rows
from rrstats.estimation.estimates.result import GroupResult, formats_of, proportion_rows
from rrstats.estimation.report_columns.report_columns import ReportColumn
from rrstats.estimation.report_columns.report_frames import not_asked
from rrstats.estimation.report_columns.sample_design import SampleDesign, design_of, rows_of
from rrstats.estimation.tallies.sampled_rows import SampledRows, sampled_rows
from rrstats.inference.contrasts import Interval, student_quantile
from rrstats.mechanisms.channel import check_target
from rrstats.mechanisms.krr import MechanismLike
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEFAULT_LEVEL = 0.95
"""Level of the intervals that are computed with the estimate."""

_ROUNDING = 1e-12
"""Relative rounding error of a cumulative sum."""

_MIN_ROWS_BEYOND = 10.0
"""Below so many expected rows beyond a quantile their number is Student's degrees of freedom."""

_MIN_DF = 2.0
"""Least degrees of freedom for few expected rows beyond a quantile.

With it the lower end keeps its level however few rows are expected: one row beyond is too many
only where 1 - K > 4.3 sqrt(K), so K < 0.049, and it comes with probability K.
"""

_MAX_SCORES = 1 << 25
"""Maximum number of scores in memory at once."""

_BLOCK_PLACES = 1 << 12
"""Places that are compared at once, or not at all where the extremes of their sums rule it out."""

_BOUND_ROUNDING = 1e-9
"""Relative rounding error of the bound of the margins of a block, with much to spare."""


# -- sums over sorted rows -------------------------------------------------------------------


class SortedRows(NamedTuple):
    """Rows without missing values, in order of their values.

    grouped : the column of reports.  order : (n,) the rows.  weights : (n,) in that order, or None.
    sampled, places : strata, clusters or replicate weights in the order of the data, or None; and
        which of these rows stand in the order of the values.
    values : (d,) the distinct values.  last : (d,) the place in ``order`` of the last row of each.
    """

    grouped: ReportColumn
    order: Indices
    weights: Floats | None
    sampled: SampledRows | None
    places: Indices
    values: Floats
    last: Indices


class CumulativeSums(NamedTuple):
    """Sums of one group over the rows up to each value, d + 1 with that of no rows.

    first : of w s.  second : of w^2 s^2; for just these rows of w^2 (s^2 - s).
    rounding : a bound of the rounding errors of ``first``.
    mean_weights : (2, d + 1) means, by size w |s|, of the weights of the rows up to each value and
        of those beyond; (2, 1) where all are alike: 1 without weights, 0 for just these rows.
    effective_n, df : (sum w s)^2 / sum (w s)^2, and Satterthwaite's degrees of freedom.
    """

    first: Floats
    second: Floats
    rounding: float
    mean_weights: Floats
    effective_n: float
    df: float


def _sorted(
    grouped: ReportColumn,
    y: Floats,
    w: Floats | None,
    out: Booleans,
    *,
    sampled: SampledRows | None,
) -> SortedRows:
    """The rows that are not left out, in order of their values.

    sampled : strata, clusters or replicate weights of these rows, in the order of the data.
    """
    # Not stable, which takes longer: only sums over all of several equal values are used.
    used = np.flatnonzero(~out) if out.any() else None
    places = np.argsort(y if used is None else y[used])
    order = places if used is None else used[places]
    y = y[order]
    last = np.flatnonzero(np.append(y[1:] != y[:-1], True)) if len(y) else order
    return SortedRows(
        grouped=replace(grouped, public=None),  # a result does not hold other columns
        order=order,
        weights=None if w is None else w[order],
        sampled=sampled,
        places=places,
        values=y[last],
        last=last,
    )


def _scores(rows: SortedRows) -> Iterator[Floats]:
    """(n,) the sorted scores of each group in turn."""
    grouped = rows.grouped
    if grouped.has_cells:
        codes = grouped.codes()[rows.order]
        yield from (column[codes] for column in grouped.score_table.T.copy())
        return
    width = max(_MAX_SCORES // max(grouped.rows, 1), 1)
    for start in range(0, grouped.k, width):
        scores = np.empty((min(width, grouped.k - start), grouped.rows))
        for part in blocks(grouped.rows, max(_MAX_SCORES // (8 * grouped.k), 1)):
            scores[:, part] = grouped.scores(part)[:, start : start + width].T
        yield from (of_group[rows.order] for of_group in scores)


def _summed(terms: Floats, rows: SortedRows) -> Floats:
    """(d + 1,) the sums of (n,) sorted terms over the rows up to each value, from no rows on."""
    if len(rows.last) < len(terms):
        return np.append(0.0, np.cumsum(terms)[rows.last])
    sums = np.zeros(len(terms) + 1)
    np.cumsum(terms, out=sums[1:])
    return sums


def _sums(scores: Floats, rows: SortedRows, target: str) -> CumulativeSums:
    """The sums of one group, from its (n,) sorted scores."""
    w = rows.weights
    terms = scores if w is None else w * scores
    squares = terms * terms
    first = _summed(terms, rows)
    if target == "sample":
        mean_weights = np.zeros((2, 1))
        second = _summed(squares - (terms if w is None else w * terms), rows)
    else:
        mean_weights = _mean_weights(np.abs(terms), rows)
        second = _summed(squares, rows)
    square = squares.sum()
    fourth = np.square(squares, out=squares).sum()
    return CumulativeSums(
        first=first,
        second=second,
        rounding=_ROUNDING * float(max(first.max(), -first.min())),
        mean_weights=mean_weights,
        effective_n=_ratio(first[-1] ** 2, square),
        df=_ratio(square**2, fourth),
    )


def _mean_weights(sizes: Floats, rows: SortedRows) -> Floats:
    """(2, d + 1) mean weights, by size, of the rows up to each value and of those beyond.

    Where there are no such rows, that of the nearest; (2, 1) ones without weights.
    """
    w = rows.weights
    if w is None or not sizes.any():
        return np.ones((2, 1))
    last_below = np.append(0, rows.last)
    first_above = np.minimum(np.append(0, rows.last + 1), len(w) - 1)
    below = _running_means(w, sizes)[last_below]
    above = _running_means(w[::-1], sizes[::-1])[::-1][first_above]
    return np.stack([below, above])


def _running_means(values: Floats, sizes: Floats) -> Floats:
    """(n,) means by size of the values so far; before the first size the first mean."""
    totals = np.cumsum(sizes)
    start = int(np.argmax(totals > 0))
    means = np.cumsum(sizes * values)[start:] / totals[start:]
    return np.append(np.full(start, means[0]), means)


def _ratio(numerator: float, denominator: float) -> float:
    """A ratio, 0 over 0."""
    return float(numerator / denominator) if denominator else 0.0


class _Extremes(NamedTuple):
    """The least, or the largest, sums of each block of places; as in `CumulativeSums`."""

    first: Floats
    second: Floats
    mean_weights: Floats


class _QuantileTest(NamedTuple):
    """The test that values are quantiles of one group.

    prob, level : of the quantile, and of the interval.
    df : degrees of freedom.
    design_effect : the factor by which the design of the survey changes variances.
    """

    prob: float
    level: float
    df: float
    design_effect: float


class _Search(NamedTuple):
    """The sums of one group in the order of a search: from the first place on, or from the last.

    sign : 1 or -1.  first, second, mean_weights : as in `CumulativeSums`.
    """

    sign: int
    first: Floats
    second: Floats
    mean_weights: Floats
    least: _Extremes
    largest: _Extremes


def _search(sums: CumulativeSums, sign: int) -> _Search:
    """The sums of a group for all searches in one direction."""
    first = sums.first[::sign]
    second = sums.second[::sign]
    mean_weights = sums.mean_weights[:, ::sign]
    least, largest = (
        _Extremes(*(_by_block(reduce, array) for array in (first, second, mean_weights)))
        for reduce in (np.minimum, np.maximum)
    )
    return _Search(sign, first, second, mean_weights, least, largest)


def _by_block(reduce: np.ufunc, array: Floats) -> Floats:
    """(..., blocks) the last axis reduced by blocks of places."""
    starts = np.arange(0, array.shape[-1], _BLOCK_PLACES)
    return np.asarray(reduce.reduceat(array, starts, axis=-1))


def _first_place(holds: Callable[[slice], Booleans], may_hold: Booleans, size: int) -> int | None:
    """The first of ``size`` places at which a condition holds; None if nowhere.

    may_hold : (blocks,) False where it holds at no place of a block.
    """
    for start in (np.flatnonzero(may_hold) * _BLOCK_PLACES).tolist():
        places = np.flatnonzero(holds(slice(start, min(start + _BLOCK_PLACES, size))))
        if places.size:
            return int(start + places[0])
    return None


def _points(
    sums: CumulativeSums, values: Floats, prob: float, largest: Floats
) -> tuple[float, float]:
    """The first value at which the distribution function reaches ``prob``; and interpolated.

    Interpolated between that value and the one before, as in MDN's debiased percentiles.

    largest : (blocks,) the largest sums of each block of places.
    """
    first = sums.first
    goal = prob * first[-1]
    if not goal > sums.rounding:  # no size
        return np.nan, np.nan

    def reaches(totals: Floats) -> Booleans:
        return np.asarray(totals - goal >= -sums.rounding)

    place = cast(int, _first_place(lambda part: reaches(first[part]), reaches(largest), len(first)))
    upper = values[place - 1]
    lower = values[max(place - 2, 0)]
    below = first[place - 1] - goal
    above = first[place] - goal
    fraction = min(below / (below - above), 1.0)
    return float(upper), float(lower + (upper - lower) * fraction)


def _limits(expected: Floats, test: _QuantileTest) -> Floats:
    """Critical values; wider where few rows are expected on the shorter side of a value."""
    expected = expected / test.design_effect
    limits = np.full(expected.shape, student_quantile(test.level, max(test.df, 1.0)))
    is_small = expected < _MIN_ROWS_BEYOND
    small_df = np.maximum(expected[is_small], _MIN_DF)
    limits[is_small] = np.maximum(limits[is_small], student_quantile(test.level, small_df))
    return limits


def _variance(
    u: Floats, squares: Floats, mean_weights: Sequence[Floats] | Floats, prob: float
) -> Floats:
    """The variance of sums of terms of independent rows.

    Sums of squares, without the part that is correlated with the sum u, whose mean is 0: on either
    side of a value squares change with the sum as the mean weights there say.
    """
    below, above = mean_weights
    variance = squares - ((1 - prob) ** 2 * below - prob**2 * above) * u
    return np.where(variance > 0, variance, np.maximum(squares, 0.0))


def _design_effect(scores: Floats, rows: SortedRows, sums: CumulativeSums, point: float) -> float:
    """The variance of the distribution function by the design, over that of independent rows.

    The larger of two: at a quantile, and at the value before it.  Where the function is not
    between 0 and 1 nothing can be compared.  At least 1: few clusters may be alike by luck.

    scores : (n,) the sorted scores of a group.  point : its quantile.
    """
    if rows.sampled is None or np.isnan(point):
        return 1.0
    sampled = rows.sampled
    place = int(np.searchsorted(rows.values, point))
    effects = [1.0]
    for end in (place, place + 1):
        share = sums.first[end] / sums.first[-1]
        if end == 0 or not 0 < share < 1:
            continue
        is_below = np.arange(len(scores)) <= rows.last[end - 1]
        terms = np.empty((len(scores), 1))
        terms[rows.places, 0] = scores * (is_below - share)
        by_unit = sampled.sums([(slice(None), terms)], 1)
        by_design = sampled.covariance(by_unit, np.zeros(1))
        independent = (1 - 2 * share) * sums.second[end] + share**2 * sums.second[-1]
        if independent > 0:
            effects.append(float(by_design[0, 0]) / independent)
    return max(effects)


def _first_kept(sums: CumulativeSums, search: _Search, test: _QuantileTest) -> int | None:
    """The first place, in the order of a search, whose value is kept as a quantile; or None.

    A value x is kept unless P(value <= x) is too small or P(value < x) too large.
    """
    sign, first, second, mean_weights, least, largest = search
    prob = test.prob
    skew = 1 - 2 * prob
    total = sums.first[-1]
    goal = prob * total
    constant = prob**2 * sums.second[-1]

    def limits(below: Floats, above: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # Kish's count
            expected = np.minimum(goal / below, (total - goal) / above)
        return _limits(expected, test)

    def kept(part: slice) -> Booleans:
        start = max(part.start - 1, 0)
        places = slice(start, part.stop)
        below, above = mean_weights[:, places] if mean_weights.shape[1] > 1 else mean_weights
        u = first[places] - goal
        squares = skew * second[places] + constant
        variance = _variance(u, squares, (below, above), prob) * test.design_effect
        margin = limits(below, above) * np.sqrt(variance) + sums.rounding
        u *= sign
        not_too_large = u <= margin
        not_too_large[1:] |= not_too_large[:-1].copy()
        both: Booleans = not_too_large & (u >= -margin)
        return both[part.start - start :]

    def may_be_kept() -> Booleans:
        """True for blocks whose largest sum is at least minus a bound of its margins."""
        low_below, low_above = least.mean_weights
        high_below, high_above = largest.mean_weights
        low_u = least.first - goal
        high_u = largest.first - goal
        squares = np.maximum(skew * least.second, skew * largest.second) + constant
        low_slope = (1 - prob) ** 2 * low_below - prob**2 * high_above
        high_slope = (1 - prob) ** 2 * high_below - prob**2 * low_above
        products = [slope * u for slope in (low_slope, high_slope) for u in (low_u, high_u)]
        variance = np.maximum(squares - np.minimum(np.minimum.reduce(products), 0.0), 0.0)
        variance *= test.design_effect
        margin = limits(high_below, high_above) * np.sqrt(variance) + sums.rounding
        highest = high_u if sign > 0 else -low_u
        return np.asarray(highest >= -(1 + _BOUND_ROUNDING) * margin)

    return _first_place(kept, may_be_kept(), len(first))


def _ends(
    sums: CumulativeSums,
    values: Floats,
    test: _QuantileTest,
    searches: tuple[_Search, _Search],
) -> tuple[float, float]:
    """Ends of the set of all values that the test does not refuse as quantiles.

    The upper end is the lower end of the sums in reverse order, with the opposite sign.
    """
    if not test.prob * sums.first[-1] > sums.rounding:
        return -np.inf, np.inf
    size = len(sums.first)
    first_kept, last_kept = (_first_kept(sums, search, test) for search in searches)
    low = float(values[first_kept - 1]) if first_kept else -np.inf
    high = float(values[size - 1 - last_kept]) if last_kept else np.inf
    return low, high


# -- the result ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(GroupResult):
    """Quantiles of a number in the true groups, estimated from privatized groups.

    Attributes
    ----------
    categories : tuple of k hashables
        The groups.
    q : tuple of p floats
        The probabilities of the quantiles.
    n : int
        Rows used.
    n_missing : int
        Rows left out because the value, the report or the weight was missing.
    target : {"population", "sample"}
        Quantiles are about the population, or about these rows alone.
    quantiles : ndarray of shape (k, p)
        The first value at which the group's distribution function reaches the probability; NaN if
        the estimated size of the group is not positive.
    interpolated : ndarray of shape (k, p)
        The same, interpolated linearly between that value and the next lower one.
    naive : ndarray of shape (k, p)
        Quantiles by reported group; NaN if no report names a group.
    names : tuple of 2 hashables
        The columns of the numbers and of the groups; None where one has no name.
    proportions : ndarray of shape (k,)
        The unbiased (weighted) proportion of each group among these rows.
    effective_n : ndarray of shape (k,)
        Effective sample sizes: (sum w s)^2 / sum (w s)^2; 0 where the size is not positive.
    """

    _formats = formats_of("{:.4g}", "quantile", "interpolated", "naive", "low", "high")
    _shown = ("quantile", "low", "high", "interpolated", "naive", "effective_n")
    _n_labels = 2  # the group and the probability
    _what = "quantiles"

    quantiles: Floats
    interpolated: Floats
    proportions: Floats
    effective_n: Floats
    q: tuple[float, ...]
    _ends: Interval = field(repr=False)
    _rows: SortedRows = field(repr=False)

    def interval(self, level: float = 0.95) -> Interval[Floats]:
        """Intervals of each quantile; an end is infinite if it may lie beyond all values.

        Parameters
        ----------
        level : float
            Confidence level of each interval.

        Returns
        -------
        Interval
            Two arrays of shape (k, p).

        Notes
        -----
        A value x is in the interval if sum_i u_i(x), u_i(x) = w_i s_i (1[v_i <= x] - tau), is not
        significantly below 0, and the same sum with v_i < x is not significantly above 0; and so
        is each value between such values.  The variance is the sum of u_i^2 less
        ((1 - tau)^2 a - tau^2 b) times sum u_i, with a and b the mean weights of the rows up to x
        and beyond it; for direct answers without weights it is n tau (1 - tau).  The critical value
        is Student's with the degrees of freedom of the squared scores.

        The number of rows expected beyond the quantile is (1 - tau) sum_i w_i s_i / b (Kish's
        count; tau sum_i w_i s_i / a below it).  Where the smaller of both is less than 10 it is the
        degrees of freedom instead, at least 2: the interval is wider, and where fewer than about 6
        are expected its end is infinite.  Weights that grow with the value leave few such rows.

        With strata, clusters or replicate weights variances are multiplied by the design effect of
        the sum at the estimate, the number of rows is divided by it, and degrees
        of freedom are at most those of the clusters with the group (Woodruff 1952 uses the variance
        at the estimate, too).  The design effect counts at least 1.

        Lowest coverage at 95% in simulations: 94%, with 300 to 5,000 rows, and with weights up to
        the square of the value at all probabilities from .01 to .99.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> found = rr.quantiles(range(100), ["no"] * 60 + ["yes"] * 40, m, q=0.5)
        >>> [end.tolist() for end in found.interval(0.9)]
        [[[18.0], [81.0]], [[31.0], [93.0]]]
        """
        if check_level(level) == _DEFAULT_LEVEL:
            return self._ends
        return _estimates(self._rows, self.q, self.target, level).ends

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each group and probability.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns category, q, n, proportion, effective_n, naive, quantile, interpolated, low
            and high.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> found = rr.quantiles(range(100), ["no"] * 60 + ["yes"] * 40, m, q=0.5)
        >>> found.to_frame().iloc[:, :3]
          category    q    n
        0       no  0.5  100
        1      yes  0.5  100
        """
        groups = {"proportion": self.proportions, "effective_n": self.effective_n}
        low, high = self.interval(level)
        points = {"quantile": self.quantiles, "interpolated": self.interpolated}
        quantiles = {**points, "low": low, "high": high}
        return self._framed({"category": self.categories, "q": self.q}, groups, quantiles)

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The quantiles of one group in a sentence.

        Parameters
        ----------
        category : hashable, optional
            The group; by default the last.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str
            Quantiles with their intervals, and the effective sample size of the group.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.8)
        >>> found = rr.quantiles(range(100), ["no"] * 60 + ["yes"] * 40, m, q=0.5)
        >>> print(found.interpret())  # doctest: +NORMALIZE_WHITESPACE
        among yes, with 95% intervals, of the population behind these rows: 0.5 quantile about
        87 (80 to 94); effective sample size 14.3 of 100 rows
        """
        place = self._place(category)
        group = label(self.categories[place])
        if not self.effective_n[place]:
            reason = "the estimated size of the group is not positive" if self.n else "no rows"
            return f"the quantiles of {group} cannot be estimated: {reason}"
        lows, highs = (end[place] for end in self.interval(level))
        estimates = ", ".join(
            f"{prob:.10g} quantile about {value:.4g} ({low:.4g} to {high:.4g})"
            for prob, value, low, high in zip(
                self.q, self.quantiles[place], lows, highs, strict=True
            )
        )
        return (
            f"among {group}, with {level * 100:.10g}% intervals, of {self._whom}: {estimates}; "
            f"effective sample size {self.effective_n[place]:,.1f} of {self.n:,} rows"
        )

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the quantiles with their intervals, one series for each probability.

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
        frame = self.to_frame(level)
        labels = [category for category in self.categories for _ in self.q]
        ends = (frame["low"].to_numpy(), frame["high"].to_numpy())
        rows = proportion_rows(labels, frame["quantile"].to_numpy(), ends)
        rows["series"] = [f"{prob:.10g} quantile" for prob in self.q] * len(self.categories)
        limits: dict[str, Any] = {"bounds": None, "reference": None, "level": level}
        options = {"title": self._title, **options}
        return plot_intervals(rows, ax, xlabel="quantile in the true group", **limits, **options)

    @property
    def notes(self) -> list[str]:
        """Sentences about intervals with infinite ends."""
        low_infinite, high_infinite = np.isinf(self._ends) & (self.n > 0)
        unbounded = np.flatnonzero((low_infinite & high_infinite).any(axis=1))
        notes = self._size_notes(unbounded, self.effective_n)
        one_sided = int((low_infinite ^ high_infinite).sum())
        if one_sided:
            notes.append(
                f"{one_sided} of {low_infinite.size} intervals end at infinity on one side: the "
                "quantile may lie beyond the values of these rows"
            )
        return notes


# -- from rows -------------------------------------------------------------------------------


@checked_keywords
def quantiles(
    values: Column,
    by: ColumnLike,
    mechanism: MechanismLike | None = None,
    prob: RateLike | None = None,
    *,
    q: float | Sequence[float] = (0.25, 0.5, 0.75),
    group: ColumnLike | None = None,
    weights: ColumnLike | None = None,
    design: SampleDesign | None = None,
    target: str = "population",
) -> Quantiles:
    """Estimate quantiles of a number in the true groups, from privatized groups.

    Parameters
    ----------
    values : array-like of shape (n,)
        Ordinary numbers; true and false count as 1 and 0.
    by : array-like of shape (n,)
        Reports of the group.
    mechanism, prob, group : optional
        As for `rrstats.estimate`; prob may be an array with one number for each row.
    q : float or sequence of p floats
        Probabilities of the quantiles in (0, 1): 0.5 is the median.
    weights : array-like of shape (n,), optional
        Sampling weights, not negative.
    design : SampleDesign, optional
        Weights with strata and clusters, or with replicate weights, of the rows, all known.
    target : {"population", "sample"}
        Quantiles are about the population that these people were drawn from, or about the true
        groups among just these rows, where only the randomization is uncertain.

    Returns
    -------
    Quantiles
        Quantiles of the true groups with intervals, interpolated and naive ones.  Rows with a
        missing value, report or weight are left out and counted.

    Raises
    ------
    ArgumentValueError
        Values are infinite, weights are negative, a probability is not in (0, 1), or the design has
        a stratum of one cluster, the size of the population or probabilities.
    NotIdentifiableError
        The reports carry no information.

    Warns
    -----
    LowPrecisionWarning
        An interval has an infinite end.

    Notes
    -----
    With unbiased scores s_i of a group, F(x) = sum of w_i s_i over v_i <= x, over the sum of all
    w_i s_i.  F may fall and may leave [0, 1]; a quantile is the first value, in ascending order,
    with F(x) >= tau, so without randomization it is NumPy's ``inverted_cdf``.  Equal values are one
    step of F.  ``interpolated`` is the debiased percentile that MDN describes for
    PerformanceTimingConfidence.  It is for values without ties: between tied values it is a value
    that nobody has, and may lie outside the interval, which is for the quantile.

    References
    ----------
    MDN Web Docs, PerformanceTimingConfidence.

    Examples
    --------
    >>> import rrstats as rr
    >>> pay = [10.0] * 240 + [30.0] * 60 + [20.0] * 60 + [30.0] * 240
    >>> answers = ["no"] * 240 + ["yes"] * 60 + ["no"] * 60 + ["yes"] * 240
    >>> found = quantiles(pay, answers, rr.KRR(["no", "yes"], 0.8), q=0.5)
    >>> found.naive.ravel().tolist(), found.quantiles.ravel().tolist()
    ([10.0, 30.0], [10.0, 30.0])
    """
    check_target(target)
    probs = tuple(check_probability(p, "q", "()") for p in np.atleast_1d(q).tolist())
    design = design_of(weights, design)
    grouped = read_groups(by, (mechanism, prob, None), group=group)
    sample = rows_of(values, grouped.rows, design=design, others={"by": by}, gaps=("weights",))
    y, w, out = read_rows(values, sample.weights, grouped)
    sampled = sampled_rows(design, sample, grouped, left_out=out, target=target)
    rows = _sorted(grouped, y, w, out | grouped.missing(), sampled=sampled)
    if grouped.rates is not None:
        grouped.rates.check_informative(rows.order, every=True)
    n = len(rows.order)
    n_not_asked = int(not_asked([grouped], grouped.rows).sum())
    estimates = _estimates(rows, probs, target, _DEFAULT_LEVEL)
    result = Quantiles(
        categories=grouped.categories,
        n=n,
        n_missing=grouped.rows - n_not_asked - n,
        target=target,
        naive=fixed(_naive(rows, probs)),
        names=(getattr(values, "name", None), grouped.name),
        quantiles=fixed(estimates.quantiles),
        interpolated=fixed(estimates.interpolated),
        proportions=fixed(estimates.proportions),
        effective_n=fixed(estimates.effective_n),
        q=probs,
        _ends=estimates.ends,
        _rows=rows,
    )
    if result.notes:
        warn("; ".join(result.notes), LowPrecisionWarning)
    return result


class _Estimates(NamedTuple):
    """Sizes and effective sample sizes (k,); quantiles, interpolated ones and their ends (k, p)."""

    sizes: Floats
    effective_n: Floats
    quantiles: Floats
    interpolated: Floats
    ends: Interval

    @property
    def proportions(self) -> Floats:
        """(k,) the sizes, relative to their sum."""
        sizes = self.sizes
        return sizes / sizes.sum() if sizes.any() else np.full(len(sizes), np.nan)


def _estimates(rows: SortedRows, probs: Sequence[float], target: str, level: float) -> _Estimates:
    """The estimates of all groups."""
    k = rows.grouped.k
    sizes = np.zeros(k)
    effective_n = np.zeros(k)
    points = np.full((2, k, len(probs)), np.nan)
    ends = np.zeros((2, k, len(probs)))
    sampled = rows.sampled
    for j, scores in enumerate(_scores(rows)):
        sums = _sums(scores, rows, target)
        df = sums.df
        if sampled is not None:  # clusters without the group say nothing of it
            df = min(df, sampled.df_of(rows.places[scores != 0]))
        searches = _search(sums, 1), _search(sums, -1)
        largest = searches[0].largest.first
        for t, prob in enumerate(probs):
            points[:, j, t] = _points(sums, rows.values, prob, largest)
            effect = _design_effect(scores, rows, sums, points[0, j, t])
            test = _QuantileTest(prob, level, df, effect)
            ends[:, j, t] = _ends(sums, rows.values, test, searches)
        sizes[j] = sums.first[-1]
        effective_n[j] = sums.effective_n if sizes[j] > 0 else 0.0
    low, high = map(fixed, ends)
    return _Estimates(sizes, effective_n, points[0], points[1], Interval(low, high))


def _naive(rows: SortedRows, probs: Sequence[float]) -> Floats:
    """(k, p) quantiles by reported group; NaN where reports are not groups."""
    grouped = rows.grouped
    mechanism = grouped.mechanism
    points = np.full((grouped.k, len(probs)), np.nan)
    if mechanism is not None and mechanism.report_space != mechanism.domain:
        return points
    cells = replace(grouped, mechanism=None, rates=None, samples=None).codes()[rows.order]
    for j in range(grouped.k):
        inside = np.flatnonzero(cells == j)
        if rows.weights is None:
            first = np.arange(1.0, len(inside) + 1)
        else:
            first = np.cumsum(rows.weights[inside])
        if not len(first) or not first[-1]:
            continue
        for t, prob in enumerate(probs):
            place = np.searchsorted(first - prob * first[-1], -_ROUNDING * first[-1])
            points[j, t] = rows.values[np.searchsorted(rows.last, inside[place])]
    return points
