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
from dataclasses import dataclass, replace
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

_ROUNDING = 1e-12
"""Relative rounding error of a sum of squares."""

_TINY = 1e-300
"""Smallest divisor, so that 0 / 0 is 0."""


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


def _indicators(table: Crosstab, categories: Sequence[Hashable] | None) -> list[Floats]:
    """(k,) of each column, 1 for one category and 0 for all others."""
    axes = check_two_way(table).axes
    if categories is None:
        for axis in axes:
            if axis.k > 2:
                raise ArgumentValueError(
                    f"categories must name one category of each column with more than two, found "
                    f"{axis.k} categories in column {axis.name!r}"
                )
        places = [axis.k - 1 for axis in axes]
    else:
        check_instance(categories, "categories", list | tuple, "two, one of each column")
        places = [
            place_of(category, axis.categories, f"column {axis.name!r}")
            for category, axis in zip(categories, axes, strict=True)
        ]
    return [
        (np.arange(axis.k) == place).astype(np.float64)
        for axis, place in zip(axes, places, strict=True)
    ]


# -- numbers of categories -------------------------------------------------------------------


def _values_by_column(
    values: Mapping[Any, Any] | None, names: Sequence[Hashable]
) -> dict[Any, Any]:
    """The numbers of categories, by column."""
    rule = "a mapping from column to the numbers of its categories"
    by_column = dict(check_instance({} if values is None else values, "values", Mapping, rule))
    check_asked(by_column, list(names), "values")
    return by_column


def _numbers(categories: tuple[Hashable, ...], values: Any, name: Hashable) -> Floats:
    """(k,) the numbers that categories stand for, scaled to -1 to 1.

    values : the numbers; by default the categories themselves, or 0 and 1 for two words.
    The scale gives the same correlation with smaller rounding errors.
    """
    k = len(categories)
    try:
        numbers = np.array([float(value) for value in _raw_numbers(categories, values)])
    except (TypeError, ValueError):  # their messages quote the value, which may be an answer
        numbers = np.full(k, np.nan)
    if len(numbers) != k or not np.isfinite(numbers).all():
        raise ArgumentValueError(
            f"values of column {name!r} must be {k} finite numbers, in a list or by category"
        )
    if not k:
        return numbers
    middle = (numbers.max() + numbers.min()) / 2
    half = float(np.ptp(numbers)) / 2
    return np.asarray((numbers - middle) / (half or 1.0))


def _raw_numbers(categories: tuple[Hashable, ...], values: Any) -> Any:
    """The numbers of categories in their order, not yet checked; None where there are none."""
    if values is None:
        if all(isinstance(category, Real) for category in categories):
            return categories
        return range(len(categories)) if len(categories) <= 2 else None
    if isinstance(values, Mapping | pd.Series) and {*values.keys()} == {*categories}:
        by_category = dict(values.items())
        return [by_category[category] for category in categories]
    return None if isinstance(values, Mapping | str) else values


# -- correlation -----------------------------------------------------------------------------


def _product_moment(
    measure: str,
    columns: tuple[Hashable, ...],
    pair: tuple[Floats, Floats],
    *,
    level: float,
    df: float = np.inf,
) -> Association:
    """A correlation, from the moments of a pair of columns and their covariance.

    pair : (5,) of xy, x, y, x^2 and y^2, and (5, 5) of their estimates.
    The interval holds all r in [-1, 1] for which C - r S does not differ significantly from 0, with
    C the covariance and S the product of the standard deviations of x and y.  If the estimate lies
    outside, distances are measured from the nearest end, so that the interval is never empty.
    The result is NaN, with the interval [-1, 1], if an estimated variance is not positive.
    """
    (xy, x, y, xx, yy), covariance = pair
    x_variance = xx - x * x
    y_variance = yy - y * y
    if not (x_variance > _ROUNDING * abs(xx) and y_variance > _ROUNDING * abs(yy)):
        note = "not defined: a column's estimated variance is not above 0"
        return Association(measure, columns, np.nan, np.nan, -1.0, 1.0, level, note)
    c = xy - x * y
    s = float(np.sqrt(x_variance * y_variance))
    c_slope = np.array([1.0, -y, -x, 0.0, 0.0])
    s_slope = np.array(
        [0, -2 * x / x_variance, -2 * y / y_variance, 1 / x_variance, 1 / y_variance]
    )
    moments = _ratio_moments(np.stack([c_slope, s / 2 * s_slope]), covariance)
    r = float(c / s)
    std_error = float(np.sqrt(max(ratio_variance(r, moments), 0.0)) / s)
    limit = student_quantile(level, df) ** 2
    nearest = float(np.clip(r, -1, 1))
    if nearest != r:
        limit += (c - nearest * s) ** 2 / max(ratio_variance(nearest, moments), _TINY)
    low, high = np.clip(fieller(c, s, moments, limit), -1, 1).tolist()
    note = ""
    if abs(r) > 1 + _ROUNDING:
        note = "outside -1 to 1 because of noise around a strong association"
    return Association(measure, columns, r, std_error, low, high, level, note)


def _ratio_moments(slopes: Floats, covariance: Floats) -> tuple[float, float, float]:
    """Variance of the numerator, covariance, variance of the denominator."""
    (numerator, both), (_, denominator) = (slopes @ covariance @ slopes.T).tolist()
    return numerator, both, denominator


def _correlated(
    table: Crosstab, numbers_of: list[Floats], measure: str, level: float
) -> Association:
    """The correlation of the (k,) numbers x of both columns, from means of 1, x and x^2."""
    constant = np.array([[1.0, 0.0, 0.0]])
    functions = [np.vstack([constant, np.stack([0 * x, x, x**2], axis=1)]) for x in numbers_of]
    means, covariance = table.moments.of_functions(functions)
    used = [4, 3, 1, 6, 2]  # xy, x, y, x^2 and y^2 of the nine
    pair = (means.ravel()[used], covariance[np.ix_(used, used)])
    return _product_moment(measure, table.names, pair, level=check_level(level), df=table.df)


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
    axes = check_two_way(table).axes
    by_column = _values_by_column(values, table.names)
    numbers_of = [_numbers(axis.categories, by_column.get(axis.name), axis.name) for axis in axes]
    return _correlated(table, numbers_of, "correlation", level)


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
    f = means.ravel()  # f00, f01, f10, f11
    limit = student_quantile(check_level(level), table.df) ** 2
    products = np.array([f[0] * f[3], f[1] * f[2]])
    slopes = np.array([[f[3], 0.0, 0.0, f[0]], [0.0, f[2], f[1], 0.0]])
    moments = _ratio_moments(slopes, covariance)
    is_finite = bool(np.isfinite(moments).all())
    note = ""
    if not is_finite or (f <= 0).sum() > 1 or products[1] <= 0:
        value = np.nan
        std_error = np.nan
        note = "not defined: the estimate of a cell of the table is not above 0"
    else:
        value = float(products[0] / products[1])
        std_error = float(np.sqrt(max(ratio_variance(value, moments), 0.0)) / products[1])
        if value < 0:
            note = "below 0 because of noise around an empty cell"
    low, high = _positive_ratios(products, moments, limit) if is_finite else (0.0, np.inf)
    if is_finite and (f > 0).all():
        with np.errstate(over="ignore"):
            factor = float(np.exp(np.sqrt(limit) * std_error / value))
        low = min(low, value / factor)
        high = max(high, value * factor)
    return Association("odds ratio", table.names, value, std_error, low, high, level, note)


def _positive_ratios(
    products: Floats, moments: tuple[float, float, float], limit: float
) -> tuple[float, float]:
    """The hull of the ratios in [0, infinity) that are not rejected.

    If the estimate of a product is below 0, distances are measured from the nearest end.
    """
    if not products.any():
        return 0.0, np.inf
    numerator, denominator = products
    numerator_variance, both, denominator_variance = moments
    variances = np.array([numerator_variance, denominator_variance])
    with np.errstate(divide="ignore", invalid="ignore"):
        limit += float(np.nansum(np.minimum(products, 0.0) ** 2 / variances))
    # A ratio r is not rejected where a r^2 - 2 b r + c <= 0.
    a = denominator**2 - limit * denominator_variance
    b = numerator * denominator - limit * both
    c = numerator**2 - limit * numerator_variance
    discriminant = b**2 - a * c
    if discriminant < 0 or (c <= 0 and a <= 0):
        return 0.0, np.inf
    root = np.sqrt(discriminant)
    if a <= 0:  # infinity is not rejected
        low = float(c / (b + root)) if b > 0 else 0.0
        return low, np.inf
    low = float((b - root) / a) if c > 0 else 0.0
    return low, float((b + root) / a)


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
    level = check_level(level)
    scale = min(check_two_way(table).shape) - 1
    undefined = Association("Cramer's V", table.names, np.nan, np.nan, 0.0, 1.0, level)
    if scale < 1:
        note = "not defined: a column has fewer than two categories"
        return replace(undefined, note=note)
    means, covariance = table.moments.of_functions([np.eye(1 + axis.k) for axis in table.axes])
    if not (np.isfinite(means).all() and (means[1:, 0] > 0).all() and (means[0, 1:] > 0).all()):
        note = "not defined: the estimate of a category is not above 0; merge or drop it"
        return replace(undefined, note=note)
    residuals, slopes = _residuals(means)
    squares = _NoncentralSquares.of(residuals, slopes @ covariance @ slopes.T)
    observed = float(residuals @ residuals)
    value = float(np.sqrt(max(observed - squares.noise, 0.0) / scale))
    std_error = np.nan
    if value:
        std_error = float(np.sqrt(squares.variance(observed))) / (2 * scale * value)
    # A sum below the expected noise is treated as the expected noise.
    ends = np.array(
        [
            squares.true_sum(observed, (1 + level) / 2),
            squares.true_sum(max(observed, squares.noise), (1 - level) / 2),
        ]
    )
    low, high = np.clip(np.sqrt(ends / scale), 0, 1).tolist()
    note = "noise alone explains the association" if value == 0 else ""
    if value > 1 + _ROUNDING:
        note = "above 1 because of noise around a strong association"
    return Association("Cramer's V", table.names, value, std_error, low, high, level, note)


def _residuals(means: Floats) -> tuple[Floats, Floats]:
    """(r c,) residuals (f_ij - f_i f_j) / sqrt(f_i f_j), and their derivatives by all means."""
    rows = means[1:, 0]
    columns = means[0, 1:]
    inner = means[1:, 1:]
    size = np.sqrt(np.outer(rows, columns))
    residuals = (inner - size**2) / size
    # d residual = d inner / size - (inner + f_i f_j) / (2 size) (d f_i / f_i + d f_j / f_j)
    shared = (inner / size + size) / 2
    r, c = inner.shape
    slopes = np.zeros((r, c, 1 + r, 1 + c))
    i, j = np.indices((r, c))
    slopes[i, j, 1 + i, 1 + j] = 1 / size
    slopes[i, j, 1 + i, 0] = -shared / rows[:, None]
    slopes[i, j, 0, 1 + j] = -shared / columns
    return residuals.ravel(), slopes.reshape(r * c, -1)


@dataclass(frozen=True)
class _NoncentralSquares:
    """Distribution of an observed sum of squares, by the true sum (Patnaik).

    The observed sum has mean true + noise and variance 2 central + 4 along times the true sum;
    its distribution is taken as a multiple of chi-squared with this mean and variance.
    """

    noise: float
    central: float
    along: float

    @classmethod
    def of(cls, residuals: Floats, covariance: Floats) -> _NoncentralSquares:
        """The distribution for residuals in this direction with this covariance."""
        observed = float(residuals @ residuals)
        return cls(
            noise=float(np.trace(covariance)),
            central=float((covariance * covariance.T).sum()),
            along=float(residuals @ covariance @ residuals) / max(observed, _TINY),
        )

    def variance(self, true: float) -> float:
        """The variance of the observed sum."""
        return 2 * self.central + 4 * self.along * true

    def probability(self, observed: float, true: float) -> float:
        """The probability of at most this observed sum."""
        mean = true + self.noise
        variance = self.variance(true)
        if not variance > 0:
            return float(observed >= mean)
        shape = mean**2 / variance
        return float(scipy.special.gammainc(shape, observed * shape / mean))

    def true_sum(self, observed: float, prob: float) -> float:
        """The true sum for which the observed one is the quantile at ``prob``."""
        if self.probability(observed, 0.0) <= prob:
            return 0.0
        high = max(observed, self.noise)
        while self.probability(observed, high) > prob:
            high *= 2
        root = scipy.optimize.brentq(
            lambda true: self.probability(observed, true) - prob, 0.0, high
        )
        return float(root)


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

    _formats = formats_of("{:.4f}", "correlation")
    _shown = ("correlation", "low", "high", "std_error")
    _n_labels = 2

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
            _product_moment("correlation", (self.names[i], self.names[j]), pair, level=level)
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
        """
        pairs = self._pairs(0.95)
        finite = [pair for pair in pairs if np.isfinite(pair.value)]
        if not finite:
            return "no correlation can be estimated"
        largest = max(finite, key=lambda pair: abs(pair.value))
        return f"the largest of {len(pairs)} correlations is the {largest.interpret()}"

    @property
    def header(self) -> list[tuple[str, str]]:
        """The rows and the privatized columns."""
        rows = [("target", self.target), ("n", f"{self.n:,}")]
        if self.n_missing:
            rows.append(("missing", f"{self.n_missing:,}"))
        if self.private:
            rows.append(("privatized", ", ".join(map(label, self.private))))
        return rows


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
    by_column = _values_by_column(values, columns)
    opened = ReportFrame.of(data).joint(columns, mechanisms, group=group)
    powers = [_powers(data, column, by_column.get(column.name)) for column in opened]
    moments, n = _moments(powers, len(data), target)
    private = tuple(column.name for column in opened if column.private)
    absent = len(data) - n - int(not_asked(opened, len(data)).sum())
    return Correlations(tuple(columns), private, moments, n, absent, target)


def _powers(data: pd.DataFrame, column: ReportColumn, values: Any) -> Callable[[slice], Floats]:
    """(n, 5) unbiased values of 1, x, ..., x^4 of some rows, scaled; NaN if x is missing.

    values : the numbers of the categories, or None.
    """
    cells = column_of(data, column.name)
    if column.private or values is not None or not pd.api.types.is_numeric_dtype(cells.dtype):
        table = _numbers(column.categories, values, column.name)[:, None] ** _POWERS

        def unbiased(part: slice) -> Floats:
            return column.scores(part) @ table
    else:
        x = numbers(cells, f"column {column.name!r}", len(cells))
        finite = x[np.isfinite(x)] if column.k else np.zeros(1)
        scaled = (x - finite.mean()) / (finite.std() or 1.0)

        def unbiased(part: slice) -> Floats:
            return np.asarray(scaled[part, None] ** _POWERS)

    def powers(part: slice) -> Floats:
        values_of_rows = unbiased(part)
        absent = np.isnan(values_of_rows[:, 1]) | (not column.k)  # NaN to the power 0 is 1
        values_of_rows[:, 0] = np.where(absent, np.nan, 1.0)
        return values_of_rows

    return powers


def _moments(
    sources: Sequence[Callable[[slice], Floats]], rows: int, target: str
) -> tuple[dict[tuple[int, int], tuple[Floats, Floats]], int]:
    """Five moments and their covariance for each pair, and the number of complete rows."""
    pairs = list(combinations(range(len(sources)), 2))
    n = 0
    first = np.zeros((len(pairs), 5))
    second = np.zeros((len(pairs), 5, 5))
    for part in blocks(rows):
        powers = np.stack([source(part) for source in sources])
        powers = powers[:, np.isfinite(powers[:, :, 0]).all(axis=0)]
        n += powers.shape[1]
        for place, (i, j) in enumerate(pairs):
            products = powers[i][:, _X] * powers[j][:, _Y]
            first[place] += products.sum(axis=0)
            second[place] += products.T @ products
            if target == "rows":  # minus unbiased values of the products of true answers
                all_powers = powers[i].T @ powers[j]
                second[place] -= all_powers[_X[:, None] + _X, _Y[:, None] + _Y]
    size = n if n > 1 else np.nan  # one row has no variance
    mean = first / size
    if target == "population":
        second -= size * mean[:, :, None] * mean[:, None, :]
    second /= size * (size - (target == "population"))
    return dict(zip(pairs, zip(mean, second, strict=True), strict=True)), n
