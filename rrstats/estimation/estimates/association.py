"""Correlations of several columns, corrected for noise.

A report has an unbiased score for x, the sum of its categories' scores times their numbers, and one
for each power of x.  With independent noise, products of scores of different columns are unbiased
for products of true answers, so the covariance of two columns is that of their scores; the variance
of one column is mean(score for x^2) - mean(score for x)^2, not the variance of its scores.
Not for a pair that was privatized together as one answer.
Source: Fox and Tracy (1984) for correlations through noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from rrstats._checks import check_instance, check_level, check_one_of
from rrstats._display import HeaderLines, label
from rrstats._frozen import fixed
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Booleans, Floats, Labels
from rrstats.data.columns import column_of, numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.axes import check_columns
from rrstats.estimation.estimates.measures import Association
from rrstats.estimation.estimates.product_moment import (
    product_moment,
    scaled_numbers,
    values_by_column,
)
from rrstats.estimation.estimates.result import Result, formats_of, proportion_rows, sample_header
from rrstats.estimation.report_columns.report_columns import ReportColumn, check_squares
from rrstats.estimation.report_columns.report_frames import ReportFrame, not_asked, plan_records
from rrstats.estimation.tallies.part_scores import PartScores, in_parts
from rrstats.estimation.tallies.score_moments import BLOCK, ColumnGroup, GroupMoments
from rrstats.inference.contrasts import Interval
from rrstats.mechanisms.channel import check_target
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POWERS = np.arange(1, 5)
"""Powers of x; the variance of a correlation needs the last two for target "sample"."""

_X, _Y = np.array([[1, 1, 0, 2, 0], [1, 0, 1, 0, 2]])
"""The moments of a pair, as powers of x and of y: xy, x, y, x^2 and y^2."""


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Result):
    """Correlations of several columns with their intervals.

    Attributes
    ----------
    names : tuple of p hashables
        The columns.
    private : tuple of hashables
        The columns that are treated as privatized.
    moments : mapping
        For each pair of columns its five moments and their covariance.
    n : int
        Rows without missing values; of columns of one plan each row has a part.
    n_missing : int
        Rows with missing values.
    target : {"population", "sample"}
        Correlations are about the population, or about these rows alone.
    """

    _formats = formats_of("{:.4f}", "correlation")
    _shown = ("correlation", "low", "high", "std_error")
    _n_labels = 2

    names: Labels
    private: Labels
    moments: Mapping[tuple[int, int], tuple[Floats, Floats]]
    n: int
    n_missing: int
    target: str

    def _pairs(self, level: float) -> list[Association]:
        """The correlation of each pair, in the order of the moments."""
        level = check_level(level)
        return [
            product_moment("correlation", (self.names[i], self.names[j]), pair, level=level)
            for (i, j), pair in self.moments.items()
        ]

    def _at(self, level: float) -> Floats:
        """(4, p, p) values, standard errors and both ends."""
        p = len(self.names)
        matrices = np.stack([np.eye(p), np.zeros((p, p)), np.eye(p), np.eye(p)])
        for (i, j), pair in zip(self.moments, self._pairs(level), strict=True):
            entries = (pair.value, pair.std_error, pair.low, pair.high)
            matrices[:, i, j] = entries
            matrices[:, j, i] = entries
        return fixed(matrices)

    @property
    def values(self) -> Floats:
        """(p, p) correlations; noise may move them outside [-1, 1], NaN if not defined."""
        return np.asarray(self._at(0.95)[0])

    @property
    def std_error(self) -> Floats:
        """(p, p) standard errors by the delta method."""
        return np.asarray(self._at(0.95)[1])

    def interval(self, level: float = 0.95) -> Interval:
        """Intervals of the correlations, inside [-1, 1].

        Parameters
        ----------
        level : float
            Confidence level of each interval.

        Returns
        -------
        Interval
            Two (p, p) arrays.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 0, 0, 1] * 25})
        >>> found = rr.correlations(frame, ["a", "b"], mechanisms={"a": rr.KRR([0, 1], 0.8)})
        >>> [end.round(2).tolist() for end in found.interval(0.9)]
        [[[1.0, 0.79], [0.79, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
        """
        return Interval(*self._at(level)[2:])

    def table(self, values: str = "values") -> pd.DataFrame:
        """A matrix of correlations, standard errors or ends of intervals.

        Parameters
        ----------
        values : {"values", "std_error", "low", "high"}
            The last two are ends of 95% intervals.

        Returns
        -------
        DataFrame
            A copy, with the columns' names.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 0, 0, 1] * 25})
        >>> found = rr.correlations(frame, ["a", "b"], mechanisms={"a": rr.KRR([0, 1], 0.8)})
        >>> found.table().round(2).to_numpy().tolist()
        [[1.0, 0.96], [0.96, 1.0]]
        """
        names = ("values", "std_error", "low", "high")
        place = names.index(check_one_of(values, "values", names))
        labels = pd.Index(list(self.names), dtype=object, tupleize_cols=False)
        return pd.DataFrame(self._at(0.95)[place], index=labels, columns=labels, copy=True)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each pair.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns first, second, correlation, std_error, low, high.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 0, 0, 1] * 25})
        >>> found = rr.correlations(frame, ["a", "b"], mechanisms={"a": rr.KRR([0, 1], 0.8)})
        >>> found.to_frame()["correlation"].round(2).tolist()
        [0.96]
        """
        names = ["first", "second", "correlation", "std_error", "low", "high"]
        rows = [
            (*pair.columns, pair.value, pair.std_error, pair.low, pair.high)
            for pair in self._pairs(level)
        ]
        dtypes = dict.fromkeys(names[:2], object) | dict.fromkeys(names[2:], float)
        return pd.DataFrame(rows, columns=names).astype(dtypes)

    def interpret(self) -> str:
        """The largest correlation in a sentence.

        Returns
        -------
        str
            The correlation with its interval.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 0, 0, 1] * 25})
        >>> found = rr.correlations(frame, ["a", "b"], mechanisms={"a": rr.KRR([0, 1], 0.8)})
        >>> print(found.interpret())
        the correlation of a and b: 0.9623, 95% interval 0.7584 to 1
        """
        pairs = self._pairs(0.95)
        finite = [pair for pair in pairs if np.isfinite(pair.value)]
        if not finite:
            return "no correlation can be estimated"
        largest = max(finite, key=lambda pair: abs(pair.value))
        if len(pairs) == 1:
            return f"the {largest.interpret()}"
        return f"the largest of {len(pairs)} correlations is the {largest.interpret()}"

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the correlations with their intervals.

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
            One row for each pair, and a line at no correlation.
        """
        table = self.to_frame(level)
        names = [
            f"{label(first)} and {label(second)}"
            for first, second in zip(table["first"], table["second"], strict=True)
        ]
        rows = proportion_rows(names, table["correlation"], (table["low"], table["high"]))
        return plot_intervals(rows, ax, xlabel="correlation", level=level, bounds=None, **options)

    @property
    def _header(self) -> HeaderLines:
        """The rows and the privatized columns."""
        rows = [*sample_header(self.target, self.n, self.n_missing)]
        if self.private:
            rows.append(("privatized", ", ".join(map(label, self.private))))
        return rows


@checked_keywords
def correlations(
    data: pd.DataFrame,
    *columns: Any,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    values: Mapping[Any, Any] | None = None,
    target: str = "population",
) -> Correlations:
    """Estimate correlations of columns, privatized separately or ordinary.

    Parameters
    ----------
    data : DataFrame
        The rows; rows with missing values are left out.  Of columns of one plan each row has a
        part: moments of a column come from all rows that were asked it, those of two columns from
        the rows that were asked both, so the plan must have each pair of them.
    *columns : hashables, or one list of them
        Names of columns.
    mechanisms, group, target
        As for `rrstats.crosstab`; with columns of one plan the target is "population".
    values : mapping, optional
        From column to the numbers of its categories (a mapping from category to number, or a
        list); by default the categories themselves, or 0 and 1 for two words.

    Returns
    -------
    Correlations
        Estimates, which may lie outside [-1, 1], standard errors by the delta method, and intervals
        inside [-1, 1].

    Raises
    ------
    ArgumentValueError
        A plan never asked two of the columns of the same row.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> rows = [(0, 0)] * 370 + [(0, 1)] * 210 + [(1, 0)] * 190 + [(1, 1)] * 230
    >>> made = {"a": rr.KRR([0, 1], 0.8), "b": rr.KRR([0, 1], 0.75)}
    >>> found = correlations(pd.DataFrame(rows, columns=["a", "b"]), ["a", "b"], mechanisms=made)
    >>> round(float(found.values[0, 1]), 3)
    0.644

    The correlation of the reports is 0.19, because of their noise.
    """
    check_instance(data, "data", pd.DataFrame, "a DataFrame of pandas")
    if len(columns) == 1 and isinstance(columns[0], list):
        columns = tuple(columns[0])
    check_columns(columns, None if plan_records(mechanisms) else mechanisms)
    check_target(target)
    by_column = values_by_column(values, columns)
    frame = ReportFrame.of(data, mechanisms)
    if plan_records(mechanisms):
        mechanisms = None
    opened = frame.joint(columns, mechanisms, group=group, parts=True)
    check_squares(opened, "correlations")
    private = tuple(column.name for column in opened if column.private)
    is_parted = in_parts(opened)
    if is_parted and target != "population":
        raise ArgumentValueError(
            "with several columns of one plan target must be 'population', found 'sample': no "
            "row has all of them"
        )
    scores, groups, keep = _columns(data, opened, by_column, is_parted=is_parted)
    n = int(keep.sum())
    moments = _moments(scores, groups, n, target)
    absent = len(data) - n
    if not is_parted:
        absent -= int(not_asked(opened, len(data)).sum())
    return Correlations(tuple(columns), private, moments, n, absent, target)


def _columns(
    data: pd.DataFrame,
    columns: Sequence[ReportColumn],
    values: Mapping[Any, Any],
    *,
    is_parted: bool,
) -> tuple[PartScores, list[ColumnGroup], Booleans]:
    """Scores of the private columns, powers of each column, and (rows,) true for rows to use.

    Scores and powers are those of the rows to use.
    values : the numbers of categories, by column.
    is_parted : whether a plan asked two of the columns, so that each row has a part of them.
    """
    private = [column for column in columns if column.private]
    scores = (PartScores.of if is_parted else PartScores.of_whole)(private)
    keep = np.ones(len(data), dtype=np.bool_)
    for column, single in zip(private, scores.single, strict=True):
        if column.plan is None or not is_parted:
            keep &= np.isin(np.arange(len(data)), single.rows)
    ordinary = {
        column.name: _ordinary(data, column, values.get(column.name))
        for column in columns
        if not column.private
    }
    for x in ordinary.values():
        keep &= np.isfinite(x)
    groups = []
    for column in columns:
        if column.private:
            x = scaled_numbers(column.categories, values.get(column.name), column.name)
            groups.append(ColumnGroup(private.index(column), x[:, None] ** _POWERS, None))
        else:
            base = ordinary[column.name][keep, None] ** _POWERS
            groups.append(ColumnGroup(None, np.empty((0, len(_POWERS))), base))
    return scores.kept(keep), groups, keep


def _ordinary(data: pd.DataFrame, column: ReportColumn, values: Any) -> Floats:
    """(rows,) the numbers of an ordinary column, scaled; NaN where it is missing.

    values : the numbers of its categories, or None.
    """
    cells = column_of(data, column.name)
    if values is not None or not pd.api.types.is_numeric_dtype(cells.dtype):
        by_category = scaled_numbers(column.categories, values, column.name)
        return np.append(by_category, np.nan)[column.codes()]
    x = numbers(cells, f"column {column.name!r}", len(cells))
    finite = x[np.isfinite(x)] if column.k else np.zeros(1)
    return np.asarray((x - finite.mean()) / (finite.std() or 1.0))


def _moments(
    scores: PartScores, groups: Sequence[ColumnGroup], n: int, target: str
) -> dict[tuple[int, int], tuple[Floats, Floats]]:
    """Five moments and their covariance for each pair of columns, from groups of their powers.

    n : the number of rows; one row has no variance.
    """
    p = len(groups)
    pairs = list(combinations(range(p), 2))
    if n < 2:
        return dict.fromkeys(pairs, (np.full(5, np.nan), np.full((5, 5), np.nan)))
    weights = np.ones(n)
    singles = [group.column(power) for power in (0, 1) for group in groups]
    moments = GroupMoments.of(scores, singles, weights)
    blocks_of_pairs = {(i, j): moments.pair(i, j) for i, j in pairs}
    covariances = {pair: np.zeros((5, 5)) for pair in pairs}
    for start in range(0, n, BLOCK):
        part = slice(start, min(start + BLOCK, n))
        of_means = np.vstack([single.influence(part) for single in moments.groups])
        for (i, j), block in blocks_of_pairs.items():
            of_product = block.influence(part, np.ones(1))
            influence = np.vstack([of_product, of_means[[i, j, p + i, p + j]]])
            covariances[i, j] += influence @ influence.T
    powers = GroupMoments.of(scores, groups, weights) if target == "sample" else None
    by_pair = {}
    for (i, j), covariance in covariances.items():
        means = moments.mean[[i, j, p + i, p + j]]
        mean = np.append(blocks_of_pairs[i, j].moment, means)
        if powers is None:
            covariance = covariance * (n / (n - 1))
        elif groups[i].owner is None and groups[j].owner is None:
            covariance = np.zeros((5, 5))  # nothing of these rows is unknown
        else:
            covariance = covariance + (np.outer(mean, mean) - _squares(powers, i, j)) / n
        by_pair[i, j] = (mean, covariance)
    return by_pair


def _squares(powers: GroupMoments, i: int, j: int) -> Floats:
    """(5, 5) unbiased means of the products of the five of true answers."""
    x, y = (powers.groups[place].mean for place in (i, j))
    products = powers.pair(i, j).moment
    table = np.block([[np.ones((1, 1)), y[None]], [x[:, None], products]])
    return np.asarray(table[_X[:, None] + _X, _Y[:, None] + _Y])
