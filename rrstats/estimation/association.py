"""Association of two columns of a table, and correlations of several columns, corrected for noise.

Each is computed from unbiased proportions or moments, so the noise of privatized columns does not
bias it towards "no association".  An estimate may therefore lie outside its range; it is not cut,
and a note says so.  Standard errors are by the delta method, with the covariance of the table.
Intervals hold the values that are not rejected (Fieller), inside the range.
A report has an unbiased score for x, the sum of its categories' scores times their numbers, and one
for each power of x.  With independent noise, products of scores of different columns are unbiased
for products of true answers, so the covariance of two columns is that of their scores; the variance
of one column is mean(score for x^2) - mean(score for x)^2, not the variance of its scores.  These
functions are not for a pair that was privatized together as one answer.
Sources: Fox and Tracy (1984) for correlations through noise; Fieller (1954); Bergsma (2013) for
the bias of Cramer's V; Patnaik (1949) for the distribution of a noncentral sum of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_instance, check_level, check_one_of
from rrstats._display import label
from rrstats._typing import Floats
from rrstats.data.columns import column_of, numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.axes import check_columns
from rrstats.estimation.crosstab import Crosstab, check_two_way
from rrstats.estimation.report_columns import (
    ReportColumn,
    ReportFrame,
    blocks,
    check_asked,
    not_asked,
)
from rrstats.estimation.result import Result, formats_of, place_of
from rrstats.inference.contrasts import Interval, fieller, ratio_variance, student_quantile
from rrstats.mechanisms.channel import check_target, fixed

_POWERS = np.arange(5)
"""Powers of x that the variance of a correlation needs for target "rows"."""

_X, _Y = np.array([[1, 1, 0, 2, 0], [1, 0, 1, 0, 2]])
"""The moments of a pair, as powers of x and of y: xy, x, y, x^2 and y^2."""


@dataclass(frozen=True)
class Association:
    """One measure of association between two columns, with its interval.

    Attributes
    ----------
    measure : str
        The name of the measure.
    columns : tuple of two hashables
        The names of the columns.
    value : float
        The estimate; it may lie outside the range of the measure, and is NaN if not defined.
    std_error : float
        The standard error by the delta method.
    low, high : float
        The interval, inside the range.
    level : float
        The confidence level of the interval.
    note : str
        A sentence that a reader must know, or an empty text.
    """

    measure: str
    columns: tuple[Hashable, ...]
    value: float
    std_error: float
    low: float
    high: float
    level: float
    note: str = ""

    def interpret(self) -> str:
        """The measure with its interval.

        Returns
        -------
        str
            A sentence, with the note in brackets.
        """
        text = (
            f"{self.measure} of {label(self.columns[0])} and {label(self.columns[1])}: "
            f"{self.value:.4g}, {self.level * 100:.10g}% interval {self.low:.4g} to {self.high:.4g}"
        )
        return f"{text} ({self.note})" if self.note else text

    __repr__ = interpret


def _indicators(table: Crosstab, categories: Any) -> list[Floats]:
    """(k,) of each column, 1 for one category and 0 for all others."""
    axes = check_two_way(table).axes
    chosen = [axis.k - 1 for axis in axes]
    if categories is not None:
        rule = "two, one of each column"
        pairs = zip(check_instance(categories, "categories", list | tuple, rule), axes, strict=True)
        chosen = [place_of(one, axis.categories, f"column {axis.name!r}") for one, axis in pairs]
    elif wide := [axis for axis in axes if axis.k > 2]:
        raise ArgumentValueError(
            f"categories must name one category of each column with more than two, found "
            f"{wide[0].k} categories in column {wide[0].name!r}"
        )
    both = zip(axes, chosen, strict=True)
    return [(np.arange(axis.k) == place).astype(np.float64) for axis, place in both]


# -- numbers of categories -------------------------------------------------------------------


def _given_values(values: Any, names: Sequence[Hashable]) -> dict[Any, Any]:
    """The given numbers of categories, by column."""
    rule = "a mapping from column to the numbers of its categories"
    given = dict(check_instance({} if values is None else values, "values", Mapping, rule))
    check_asked(given, list(names), "values")
    return given


def _numbers(categories: tuple[Hashable, ...], given: Any, name: Hashable) -> Floats:
    """(k,) the numbers that categories stand for: given, their own, or 0 and 1 for two words.

    They are scaled to -1 to 1, which gives the same correlation with smaller rounding errors.
    """
    k = len(categories)
    if given is None:
        own = all(isinstance(category, Real) for category in categories)
        given = categories if own else range(k) if k <= 2 else None
    elif isinstance(given, Mapping | pd.Series) and {*given.keys()} == {*categories}:
        given = [dict(given.items())[category] for category in categories]
    elif isinstance(given, Mapping | str):
        given = None
    try:
        found = np.array([float(one) for one in given])
    except (TypeError, ValueError):  # their messages quote the value, which may be an answer
        found = np.full(k, np.nan)
    if len(found) != k or not np.isfinite(found).all():
        raise ArgumentValueError(
            f"values of column {name!r} must be {k} finite numbers, in a list or by category"
        )
    if not k:
        return found
    middle, half = (found.max() + found.min()) / 2, float(np.ptp(found)) / 2
    return np.asarray((found - middle) / (half or 1.0))


# -- correlation -----------------------------------------------------------------------------


def _product_moment(
    measure: str, columns: Any, pair: Sequence[Floats], level: float, df: float = np.inf
) -> Association:
    """A correlation, from the moments of a pair of columns and their covariance.

    pair : (5,) of xy, x, y, x^2 and y^2, and (5, 5) of their estimates.
    The interval holds all r in [-1, 1] for which C - r S does not differ significantly from 0, with
    C the covariance and S the product of the standard deviations of x and y.  If the estimate lies
    outside, distances are measured from the nearest end, so that the interval is never empty.
    The result is NaN, with the interval [-1, 1], if an estimated variance is not positive.
    """
    (xy, x, y, xx, yy), covariance = pair
    of_x, of_y = xx - x * x, yy - y * y
    if not (of_x > 1e-12 * abs(xx) and of_y > 1e-12 * abs(yy)):
        note = "not defined: a column's estimated variance is not above 0"
        return Association(measure, columns, np.nan, np.nan, -1.0, 1.0, level, note)
    top, bottom = xy - x * y, float(np.sqrt(of_x * of_y))
    top_slope = np.array([1.0, -y, -x, 0.0, 0.0])
    bottom_slope = bottom / 2 * np.array([0, -2 * x / of_x, -2 * y / of_y, 1 / of_x, 1 / of_y])
    of_ratio = _ratio_moments(np.stack([top_slope, bottom_slope]), covariance)
    found = float(top / bottom)
    error = float(np.sqrt(max(ratio_variance(found, of_ratio), 0.0)) / bottom)
    limit, near = student_quantile(level, df) ** 2, float(np.clip(found, -1, 1))
    if near != found:
        limit += (top - near * bottom) ** 2 / max(ratio_variance(near, of_ratio), 1e-300)
    low, high = np.clip(fieller(top, bottom, of_ratio, limit), -1, 1).tolist()
    outside = "outside -1 to 1 because of noise around a strong association"
    note = outside * (abs(found) > 1 + 1e-12)
    return Association(measure, columns, found, error, low, high, level, note)


def _ratio_moments(slopes: Floats, covariance: Floats) -> tuple[float, float, float]:
    """Variance of the numerator, covariance, variance of the denominator."""
    (top, both), (_, bottom) = (slopes @ covariance @ slopes.T).tolist()
    return top, both, bottom


def _correlated(
    table: Crosstab, numbers_of: list[Floats], measure: str, level: float
) -> Association:
    """The correlation of the (k,) numbers x of both columns, from means of 1, x and x^2."""
    constant = np.array([[1.0, 0.0, 0.0]])
    functions = [np.vstack([constant, np.stack([0 * x, x, x**2], axis=1)]) for x in numbers_of]
    means, covariance = table.moments.of_functions(functions)
    used = [4, 3, 1, 6, 2]  # xy, x, y, x^2 and y^2 of the nine
    pair = means.ravel()[used], covariance[np.ix_(used, used)]
    return _product_moment(measure, table.names, pair, check_level(level), table.df)


def correlation(table: Crosstab, *, values: Any = None, level: float = 0.95) -> Association:
    """The correlation of two columns whose categories are numbers.

    Parameters
    ----------
    table : Crosstab
        A table of two columns.
    values : mapping, optional
        From column to the numbers of its categories (a mapping or a list); by default the
        categories themselves, or 0 and 1 for two words.
    level : float
        Confidence level of the interval.

    Returns
    -------
    Association
        The estimate, which noise can move outside [-1, 1]; RRreg cuts it there.

    References
    ----------
    Fox and Tracy (1984).

    Examples
    --------
    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR([0, 1], 0.8), "b": rr.KRR([0, 1], 0.75)}
    >>> table = rr.Crosstab.from_counts([[370, 210], [190, 230]], columns)
    >>> found = correlation(table)
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.644, 0.43, 0.86)
    """
    axes, given = check_two_way(table).axes, _given_values(values, table.names)
    found = [_numbers(axis.categories, given.get(axis.name), axis.name) for axis in axes]
    return _correlated(table, found, "correlation", level)


def phi(table: Crosstab, *, categories: Any = None, level: float = 0.95) -> Association:
    """The phi coefficient: the correlation of "this category or not" in both columns.

    Parameters
    ----------
    table : Crosstab
        A table of two columns.
    categories : (hashable, hashable), optional
        One category of each column; by default the last of two.
    level : float
        Confidence level of the interval.

    Returns
    -------
    Association
        The estimate, which may lie outside [-1, 1].

    Examples
    --------
    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["no", "yes"], 0.8), "b": rr.KRR(["no", "yes"], 0.75)}
    >>> table = rr.Crosstab.from_counts([[370, 210], [190, 230]], columns)
    >>> round(phi(table).value, 3)
    0.644

    The reports alone have a phi of 0.19.
    """
    return _correlated(table, _indicators(table, categories), "phi", level)


# -- odds ratio ------------------------------------------------------------------------------


def odds_ratio(table: Crosstab, *, categories: Any = None, level: float = 0.95) -> Association:
    """Estimate the odds ratio of a category of one column and a category of the other.

    Parameters
    ----------
    table : Crosstab
        A table of two columns.
    categories : (hashable, hashable), optional
        One category of each column; by default the last of two.
    level : float
        Confidence level of the interval.

    Returns
    -------
    Association
        The interval is the hull of all ratios r for which f11 f00 - r f10 f01 may be 0, and of
        Wald's interval of the logarithm, which alone has a coverage of only 45% with a rare
        category.  It is unbounded above if the denominator may be 0.

    Examples
    --------
    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["no", "yes"], 0.8), "region": ["north", "south"]}
    >>> table = rr.Crosstab.from_counts([[3700, 2100], [1900, 2300]], columns)
    >>> found = odds_ratio(table)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (3.85, 3.31, 4.5)
    """
    others = np.array([[1.0, 0.0]])
    sides = [np.vstack([others, np.outer(x, [-1, 1])]) for x in _indicators(table, categories)]
    means, covariance = table.moments.of_functions(sides)
    f, limit = means.ravel(), student_quantile(check_level(level), table.df) ** 2
    products = np.array([f[0] * f[3], f[1] * f[2]])
    slopes = np.array([[f[3], 0.0, 0.0, f[0]], [0.0, f[2], f[1], 0.0]])
    of_ratio = _ratio_moments(slopes, covariance)
    known, note, value, error = bool(np.isfinite(of_ratio).all()), "", np.nan, np.nan
    if not known or (f <= 0).sum() > 1 or products[1] <= 0:
        note = "not defined: the estimate of a cell of the table is not above 0"
    else:
        value = float(products[0] / products[1])
        error = float(np.sqrt(max(ratio_variance(value, of_ratio), 0.0)) / products[1])
        note = "below 0 because of noise around an empty cell" if value < 0 else ""
    low, high = _positive_ratios(products, of_ratio, limit) if known else (0.0, np.inf)
    if known and (f > 0).all():
        with np.errstate(over="ignore"):
            factor = float(np.exp(np.sqrt(limit) * error / value))
        low, high = min(low, value / factor), max(high, value * factor)
    return Association("odds ratio", table.names, value, error, low, high, level, note)


def _positive_ratios(
    products: Floats, of_ratio: tuple[float, float, float], limit: float
) -> tuple[float, float]:
    """The hull of the ratios in [0, infinity) that are not rejected.

    If the estimate of a product is below 0, distances are measured from the nearest end.
    """
    if not products.any():
        return 0.0, np.inf
    (top, bottom), (a, b, c) = products, of_ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        limit += float(np.nansum(np.minimum(products, 0.0) ** 2 / np.array([a, c])))
    square, half_b, rest = bottom**2 - limit * c, top * bottom - limit * b, top**2 - limit * a
    inside = half_b**2 - square * rest
    if inside < 0 or (rest <= 0 and square <= 0):
        return 0.0, np.inf
    root = np.sqrt(inside)
    if square <= 0:  # infinity is not rejected
        return (float(rest / (half_b + root)) if half_b > 0 else 0.0), np.inf
    return (float((half_b - root) / square) if rest > 0 else 0.0), float((half_b + root) / square)


# -- Cramer's V ------------------------------------------------------------------------------


def cramers_v(table: Crosstab, *, level: float = 0.95) -> Association:
    """Estimate Cramer's V: the distance of two columns from independence, from 0 to 1.

    Parameters
    ----------
    table : Crosstab
        A table of two columns.
    level : float
        Confidence level of the interval.

    Returns
    -------
    Association
        The ordinary V of a noisy table is mostly noise.  Here the expected noise is first
        subtracted from the sum of squares, and V is 0 if nothing remains.  The interval holds the
        values of V that the sum of squares does not reject.

    References
    ----------
    Bergsma (2013); Patnaik (1949).

    Examples
    --------
    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["x", "y", "z"], 0.8), "region": ["north", "south"]}
    >>> table = rr.Crosstab.from_counts([[250, 150], [160, 140], [90, 210]], columns)
    >>> found = cramers_v(table)
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.386, 0.3, 0.47)
    """
    level, scale = check_level(level), min(check_two_way(table).shape) - 1
    unknown = "Cramer's V", table.names, np.nan, np.nan, 0.0, 1.0, level
    if scale < 1:
        note = "not defined: a column has fewer than two categories"
        return Association(*unknown, note)
    means, covariance = table.moments.of_functions([np.eye(1 + axis.k) for axis in table.axes])
    if not (np.isfinite(means).all() and (means[1:, 0] > 0).all() and (means[0, 1:] > 0).all()):
        note = "not defined: the estimate of a category is not above 0; merge or drop it"
        return Association(*unknown, note)
    away, slopes = _residuals(means)
    noise_covariance = slopes @ covariance @ slopes.T
    seen, noise = float(away @ away), float(np.trace(noise_covariance))
    central = float((noise_covariance * noise_covariance.T).sum())
    along = float(away @ noise_covariance @ away) / max(seen, 1e-300)
    value = float(np.sqrt(max(seen - noise, 0.0) / scale))
    spread = float(np.sqrt(2 * central + 4 * along * seen))
    error = spread / (2 * scale * value) if value else np.nan
    # A sum below the expected noise is treated as the expected noise.
    ends = [
        _true_distance(sum_seen, tail, noise=noise, central=central, along=along)
        for sum_seen, tail in ((seen, (1 + level) / 2), (max(seen, noise), (1 - level) / 2))
    ]
    low, high = np.clip(np.sqrt(np.array(ends) / scale), 0, 1).tolist()
    note = "noise alone explains the association" if value == 0 else ""
    if value > 1 + 1e-12:
        note = "above 1 because of noise around a strong association"
    return Association("Cramer's V", table.names, value, error, low, high, level, note)


def _residuals(means: Floats) -> tuple[Floats, Floats]:
    """(r c,) residuals (f_ij - f_i f_j) / sqrt(f_i f_j), and their derivatives by all means."""
    rows, columns, inner = means[1:, 0], means[0, 1:], means[1:, 1:]
    size = np.sqrt(np.outer(rows, columns))
    away = (inner - size**2) / size
    # d away = d inner / size - (inner + f_i f_j) / (2 size) (d f_i / f_i + d f_j / f_j)
    shared = (inner / size + size) / 2
    r, c = inner.shape
    slopes = np.zeros((r, c, 1 + r, 1 + c))
    i, j = np.indices((r, c))
    slopes[i, j, 1 + i, 1 + j] = 1 / size
    slopes[i, j, 1 + i, 0] = -shared / rows[:, None]
    slopes[i, j, 0, 1 + j] = -shared / columns
    return away.ravel(), slopes.reshape(r * c, -1)


def _true_distance(
    seen: float, tail: float, *, noise: float, central: float, along: float
) -> float:
    """The true sum of squares for which the observed one is at this quantile.

    The observed sum has mean true + noise and variance 2 central + 4 along times the true sum;
    its distribution is taken as a multiple of chi-squared with this mean and variance.
    """

    def below(true: float) -> float:
        mean, variance = true + noise, 2 * central + 4 * along * true
        if not variance > 0:
            return float(seen >= mean)
        shape = mean**2 / variance
        return float(scipy.special.gammainc(shape, seen * shape / mean))

    if below(0.0) <= tail:
        return 0.0
    far = max(seen, noise)
    while below(far) > tail:
        far *= 2
    return float(scipy.optimize.brentq(lambda true: below(true) - tail, 0.0, far))


# -- several columns -------------------------------------------------------------------------


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
        Rows without missing values.
    n_missing : int
        Rows with missing values.
    target : {"population", "rows"}
        Correlations are about the population, or about these rows alone.
    """

    formats = formats_of("{:.4f}", "correlation")
    shown = ("correlation", "low", "high", "std_error")
    n_labels = 2

    names: tuple[Hashable, ...]
    private: tuple[Hashable, ...]
    moments: Mapping[tuple[int, int], tuple[Floats, Floats]]
    n: int
    n_missing: int
    target: str

    def _pairs(self, level: float) -> list[Association]:
        """The correlation of each pair, in the order of the moments."""
        level = check_level(level)
        return [
            _product_moment("correlation", (self.names[i], self.names[j]), pair, level)
            for (i, j), pair in self.moments.items()
        ]

    def _at(self, level: float) -> Floats:
        """(4, p, p) values, standard errors and both ends."""
        p = len(self.names)
        found = np.stack([np.eye(p), np.zeros((p, p)), np.eye(p), np.eye(p)])
        for (i, j), one in zip(self.moments, self._pairs(level), strict=True):
            found[:, i, j] = found[:, j, i] = one.value, one.std_error, one.low, one.high
        return fixed(found)

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
        """
        names = ["first", "second", "correlation", "std_error", "low", "high"]
        pairs = self._pairs(level)
        rows = [(*one.columns, one.value, one.std_error, one.low, one.high) for one in pairs]
        found = pd.DataFrame(rows, columns=names)
        return found.astype(dict.fromkeys(names[:2], object) | dict.fromkeys(names[2:], float))

    def interpret(self) -> str:
        """The largest correlation in a sentence.

        Returns
        -------
        str
            The correlation with its interval.
        """
        pairs = self._pairs(0.95)
        known = [one for one in pairs if np.isfinite(one.value)]
        if not known:
            return "no correlation can be estimated"
        largest = max(known, key=lambda one: abs(one.value))
        return f"the largest of {len(pairs)} correlations is the {largest.interpret()}"

    @property
    def header(self) -> list[tuple[str, str]]:
        """The rows and the privatized columns."""
        found = [("target", self.target), ("n", f"{self.n:,}")]
        found += [("missing", f"{self.n_missing:,}")] if self.n_missing else []
        return found + ([("privatized", ", ".join(map(label, self.private)))] * bool(self.private))


def correlations(
    data: pd.DataFrame,
    *columns: Hashable,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    values: Mapping[Any, Any] | None = None,
    target: str = "population",
) -> Correlations:
    """Estimate correlations of columns, privatized separately or ordinary.

    Parameters
    ----------
    data : DataFrame
        The rows; rows with missing values are left out.
    *columns, mechanisms, group, target
        As for `rrstats.crosstab`.
    values : mapping, optional
        From column to the numbers of its categories (a mapping from category to number, or a
        list); by default the categories themselves, or 0 and 1 for two words.

    Returns
    -------
    Correlations
        Estimates, which may lie outside [-1, 1], standard errors by the delta method, and intervals
        inside [-1, 1].

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> rows = [(0, 0)] * 370 + [(0, 1)] * 210 + [(1, 0)] * 190 + [(1, 1)] * 230
    >>> made = {"a": rr.KRR([0, 1], 0.8), "b": rr.KRR([0, 1], 0.75)}
    >>> found = correlations(pd.DataFrame(rows, columns=["a", "b"]), "a", "b", mechanisms=made)
    >>> round(float(found.values[0, 1]), 3)
    0.644

    The correlation of the reports is 0.19, because of their noise.
    """
    check_instance(data, "data", pd.DataFrame, "a DataFrame of pandas")
    check_columns(columns, mechanisms)
    check_target(target)
    given = _given_values(values, columns)
    read = ReportFrame.of(data).joint(columns, mechanisms, group=group)
    powers = [_powers(data, one, given.get(one.name)) for one in read]
    moments, n = _moments(powers, len(data), target)
    private = tuple(one.name for one in read if one.private)
    absent = len(data) - n - int(not_asked(read, len(data)).sum())
    return Correlations(tuple(columns), private, moments, n, absent, target)


def _powers(data: pd.DataFrame, column: ReportColumn, given: Any) -> Callable[[slice], Floats]:
    """(n, 5) unbiased values of 1, x, ..., x^4 of some rows, scaled; NaN if x is missing."""
    cells = column_of(data, column.name)
    if column.private or given is not None or not pd.api.types.is_numeric_dtype(cells.dtype):
        table = _numbers(column.categories, given, column.name)[:, None] ** _POWERS
    else:
        table, x = None, numbers(cells, f"column {column.name!r}", len(cells))
        known = x[np.isfinite(x)] if column.k else np.zeros(1)
        x = (x - known.mean()) / (known.std() or 1.0)

    def powers(part: slice) -> Floats:
        found = x[part, None] ** _POWERS if table is None else column.scores(part) @ table
        absent = np.isnan(found[:, 1]) | (not column.k)  # NaN to the power 0 is 1
        found[:, 0] = np.where(absent, np.nan, 1.0)
        return np.asarray(found)

    return powers


def _moments(
    sources: Sequence[Callable[[slice], Floats]], rows: int, target: str
) -> tuple[dict[tuple[int, int], tuple[Floats, Floats]], int]:
    """Five moments and their covariance for each pair, and the number of complete rows."""
    pairs, n = list(combinations(range(len(sources)), 2)), 0
    first, second = np.zeros((len(pairs), 5)), np.zeros((len(pairs), 5, 5))
    for part in blocks(rows):
        powers = np.stack([source(part) for source in sources])
        powers = powers[:, np.isfinite(powers[:, :, 0]).all(axis=0)]
        n += powers.shape[1]
        for at, (i, j) in enumerate(pairs):
            each = powers[i][:, _X] * powers[j][:, _Y]
            first[at] += each.sum(axis=0)
            second[at] += each.T @ each
            if target == "rows":  # minus unbiased values of the products of true answers
                whole = powers[i].T @ powers[j]
                second[at] -= whole[_X[:, None] + _X, _Y[:, None] + _Y]
    size = n if n > 1 else np.nan  # one row has no variance
    mean = first / size
    if target == "population":
        second -= size * mean[:, :, None] * mean[:, None, :]
    second /= size * (size - (target == "population"))
    return dict(zip(pairs, zip(mean, second, strict=True), strict=True)), n
