"""Phi, odds ratio, Cramer's V and correlation of the two columns of a table, noise taken out.

Each is computed from unbiased shares or moments, so that the noise of privatized columns does not
pull it towards "no association"; the price is that an estimate may leave its range, and then it
says so instead of being cut.  Standard errors are by the delta method, with the covariance of the
table.  Intervals ask which values the data do not refuse (Fieller), inside the range.
Not for a pair that was privatized together as one answer.
Sources: Fox and Tracy (1984) for correlations through noise; Fieller (1954); Bergsma (2013) for
the bias of Cramer's V; Patnaik (1949) for the law of a noncentral sum of squares.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.combinations import code_of
from rrstats.estimation.crosstab import Crosstab
from rrstats.estimation.joint import Axis

__all__ = [
    "Association",
    "correlation",
    "cramers_v",
    "given_values",
    "numbers_of",
    "odds_ratio",
    "phi",
    "product_moment",
    "scaled",
]


@dataclass(frozen=True)
class Association:
    """One measure of association between two columns, with its interval.

    value : as estimated; it may lie outside its range, and NaN where it is not defined.
    std_error : by the delta method.  low, high : the interval, inside the range.
    note : what to know of it, in a sentence; empty where there is nothing.
    """

    measure: str
    columns: tuple[Hashable, Hashable]
    value: float
    std_error: float
    low: float
    high: float
    level: float
    note: str = ""

    def __repr__(self) -> str:
        ends = f"{self.level * 100:.10g}% interval {self.low:.4g} to {self.high:.4g}"
        text = (
            f"{self.measure} of {self.columns[0]} and {self.columns[1]}: {self.value:.4g}, {ends}"
        )
        return f"{text} ({self.note})" if self.note else text


def _two_way(table: Crosstab) -> tuple[Axis, Axis]:
    if not isinstance(table, Crosstab):
        raise ArgumentTypeError(f"table must be a Crosstab, found {type(table).__name__}")
    if len(table.axes) != 2:
        raise ArgumentValueError(
            f"table must be of two columns, found {list(table.names)}; take table.margin(...)"
        )
    return table.axes[0], table.axes[1]


def _yes(axis: Axis, category: Any) -> Floats:
    """(1 + k, 2) the functions "any other" and "this category"."""
    if category is ...:
        if axis.k > 2:
            raise ArgumentValueError(
                f"column {axis.name!r} has {axis.k} categories; say by categories=(...) which "
                "one to set against all others"
            )
        code = axis.k - 1
    else:
        code = code_of(axis.categories, category)
    chosen = np.zeros((1 + axis.k, 2))
    chosen[0, 0] = 1.0
    if axis.k:
        chosen[1 + code] = -1.0, 1.0
    return chosen


def _sides(table: Crosstab, categories: Any) -> list[Floats]:
    axes = _two_way(table)
    if categories is None:
        categories = (..., ...)
    elif not isinstance(categories, list | tuple) or len(categories) != 2:
        raise ArgumentTypeError("categories must be two, one of each column")
    return [_yes(*pair) for pair in zip(axes, categories, strict=True)]


# -- correlation ---------------------------------------------------------------------------


def given_values(values: Any, names: Sequence[Hashable]) -> dict[Any, Any]:
    """The numbers that are given for some of the columns, by column."""
    if values is not None and not isinstance(values, Mapping):
        raise ArgumentTypeError(
            "values must be a mapping from column to the numbers of its categories, found "
            f"{type(values).__name__}"
        )
    given = dict(values or {})
    if strange := [name for name in given if name not in names]:
        raise ArgumentValueError(f"values name {strange}, but the columns are {list(names)}")
    return given


def numbers_of(categories: tuple[Hashable, ...], given: Any, name: Hashable) -> Floats:
    """(k,) the numbers that categories stand for: given, their own, or 0 and 1 for two words.

    A Series whose index are the categories gives each its number, in whatever order.
    """
    if isinstance(given, pd.Series) and given.index.is_unique:
        given = given.to_dict() if set(given.index) == set(categories) else given.tolist()
    if isinstance(given, Mapping):
        if set(given) != set(categories):
            raise ArgumentValueError(
                f"values of column {name!r} must give each of its {len(categories)} categories "
                f"a number, found {len(given)} entries"
            )
        found = [given[category] for category in categories]
    elif given is not None:
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ArgumentTypeError(
                f"values of column {name!r} must be a mapping from category to number, or a list, "
                f"found {type(given).__name__}"
            )
        found = list(given)
    elif all(isinstance(category, Real) for category in categories):
        found = list(categories)
    elif len(categories) <= 2:
        found = [0.0, 1.0][: len(categories)]
    else:
        raise ArgumentValueError(
            f"the {len(categories)} categories of column {name!r} are no numbers; give values, a "
            "mapping from category to number"
        )
    try:
        numbers = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):  # which quote what they found, and it may be a cell
        numbers = np.empty(0)
    if numbers.shape != (len(categories),) or not np.isfinite(numbers).all():
        raise ArgumentValueError(
            f"values of column {name!r} must be {len(categories)} finite numbers"
        )
    return numbers


def scaled(numbers: Floats) -> Floats:
    """Numbers from -1 to 1, which correlate alike and round better."""
    if not numbers.size:
        return numbers
    middle, half = (numbers.max() + numbers.min()) / 2, float(np.ptp(numbers)) / 2
    return np.asarray((numbers - middle) / (half or 1.0))


def _powers(numbers: Floats) -> Floats:
    """(1 + k, 3) the functions 1, x and x^2, with x in the middle of its range and of size 1."""
    x = scaled(numbers)
    chosen = np.zeros((1 + len(x), 3))
    chosen[0, 0] = 1.0
    chosen[1:, 1], chosen[1:, 2] = x, x**2
    return chosen


def product_moment(
    moments: Floats, covariance: Floats, level: float
) -> tuple[float, float, float, float]:
    """A correlation, its standard error and interval, from moments and their covariance.

    moments : (5,) of xy, x, y, x^2 and y^2.  covariance : (5, 5) of their estimates.
    The interval holds all r in [-1, 1] for which C - r S is within its standard errors of 0, with C
    the covariance and S the product of the standard deviations of x and y; where the estimate
    lies outside, distances are taken from the nearest end, so that it is never empty.
    NaN, with the interval [-1, 1], where a variance is not estimated to be positive.
    """
    xy, x, y, xx, yy = moments
    of_x, of_y = xx - x * x, yy - y * y
    if not (of_x > 1e-12 * abs(xx) and of_y > 1e-12 * abs(yy)):
        return np.nan, np.nan, -1.0, 1.0
    top, bottom = xy - x * y, float(np.sqrt(of_x * of_y))
    top_slope = np.array([1.0, -y, -x, 0.0, 0.0])
    bottom_slope = bottom / 2 * np.array([0, -2 * x / of_x, -2 * y / of_y, 1 / of_x, 1 / of_y])
    slopes = np.stack([top_slope, bottom_slope])
    spread = slopes @ covariance @ slopes.T
    found = top / bottom
    error = np.sqrt(max(_variance(spread, found), 0.0)) / bottom
    limit = scipy.special.ndtri((1 + check_level(level)) / 2) ** 2
    near = float(np.clip(found, -1, 1))
    if near != found:
        limit += (top - near * bottom) ** 2 / max(_variance(spread, near), 1e-300)
    return float(found), float(error), *_accepted(top, bottom, spread, limit, (-1.0, 1.0))


def _variance(spread: Floats, ratio: float) -> float:
    """Of top - ratio * bottom."""
    return float(spread[0, 0] - 2 * ratio * spread[0, 1] + ratio**2 * spread[1, 1])


def _accepted(
    top: float, bottom: float, spread: Floats, limit: float, span: tuple[float, float]
) -> tuple[float, float]:
    """The r in a span for which (top - r bottom)^2 is at most the limit times its variance."""
    a, half_b = bottom**2 - limit * spread[1, 1], top * bottom - limit * spread[0, 1]
    inside = half_b**2 - a * (top**2 - limit * spread[0, 0])
    if not (a > 0 and inside >= -1e-12 * half_b**2):
        return span
    reach = np.sqrt(max(inside, 0.0))
    low, high = np.clip([(half_b - reach) / a, (half_b + reach) / a], *span)
    return float(low), float(high)


def _correlated(
    table: Crosstab, functions: list[Floats], measure: str, level: float
) -> Association:
    means, covariance = table.moments(functions)
    used = [4, 3, 1, 6, 2]  # xy, x, y, x^2 and y^2 of the nine
    found = product_moment(means.ravel()[used], covariance[np.ix_(used, used)], level)
    return Association(measure, _names(table), *found, level, _outside(found[0]))


def _names(table: Crosstab) -> tuple[Hashable, Hashable]:
    return table.names[0], table.names[1]


def _outside(value: float) -> str:
    if np.isnan(value):
        return "not defined: a column's estimated variance is not above 0"
    if abs(value) > 1 + 1e-12:
        return "outside -1 to 1, which is noise around a strong association"
    return ""


def correlation(table: Crosstab, *, values: Any = None, level: float = 0.95) -> Association:
    """The correlation of two columns whose categories are numbers.

    values : mapping from column to the numbers that its categories stand for (a mapping or a
        list); by default the categories themselves, and 0 and 1 where there are two words.
    As estimated: noise can carry it beyond -1 and 1, where RRreg cuts it.
    Source: Fox and Tracy (1984).

    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR([0, 1], 0.8), "b": rr.KRR([0, 1], 0.75)}
    >>> table = Crosstab.from_counts([[370, 210], [190, 230]], columns)
    >>> found = correlation(table)
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.644, 0.43, 0.86)
    """
    axes = _two_way(table)
    given = given_values(values, table.names)
    functions = [
        _powers(numbers_of(axis.categories, given.get(axis.name), axis.name)) for axis in axes
    ]
    return _correlated(table, functions, "correlation", level)


def phi(table: Crosstab, *, categories: Any = None, level: float = 0.95) -> Association:
    """The phi coefficient: the correlation of "this category or not" in both columns.

    categories : two, one of each column; by default the last, where there are two.

    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["no", "yes"], 0.8), "b": rr.KRR(["no", "yes"], 0.75)}
    >>> table = Crosstab.from_counts([[370, 210], [190, 230]], columns)
    >>> round(phi(table).value, 3)
    0.644

    The reports alone have a phi of 0.19.
    """
    functions = []
    for side in _sides(table, categories):
        either = np.zeros((len(side), 3))
        either[0, 0] = 1.0
        either[:, 1] = either[:, 2] = side[:, 1]
        functions.append(either)
    return _correlated(table, functions, "phi", level)


# -- odds ratio ----------------------------------------------------------------------------


def odds_ratio(table: Crosstab, *, categories: Any = None, level: float = 0.95) -> Association:
    """The odds of one column's category among people of the other's, over those among the rest.

    categories : two, one of each column; by default the last, where there are two.
    The interval is the hull of all ratios r for which f11 f00 - r f10 f01 may be 0, and of
    Wald's on the scale of logarithms, which alone covers as little as 45% beside a rare
    category.  It reaches infinity where the lower product may be 0.

    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["no", "yes"], 0.8), "region": ["north", "south"]}
    >>> table = Crosstab.from_counts([[3700, 2100], [1900, 2300]], columns)
    >>> found = odds_ratio(table)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (3.85, 3.31, 4.5)
    """
    means, covariance = table.moments(_sides(table, categories))
    f = means.ravel()
    products = np.array([f[0] * f[3], f[1] * f[2]])
    slopes = np.array([[f[3], 0.0, 0.0, f[0]], [0.0, f[2], f[1], 0.0]])
    spread = slopes @ covariance @ slopes.T
    names, limit = _names(table), scipy.special.ndtri((1 + check_level(level)) / 2) ** 2
    if not np.isfinite(spread).all() or (f <= 0).sum() > 1 or products[1] <= 0:
        note = "not defined: a cell of the table is not estimated to be above 0"
        value, error = np.nan, np.nan
        if not np.isfinite(spread).all() or not products.any():
            return Association("odds ratio", names, value, error, 0.0, np.inf, level, note)
    else:
        value = products[0] / products[1]
        error = float(np.sqrt(max(_variance(spread, value), 0.0)) / products[1])
        note = "below 0, which is noise around an empty cell" if value < 0 else ""
    low, high = _ratio_from_0(products, spread, limit)
    if (f > 0).all():
        with np.errstate(over="ignore"):
            factor = float(np.exp(np.sqrt(limit) * error / value))
        low, high = min(low, float(value / factor)), max(high, float(value * factor))
    return Association("odds ratio", names, float(value), error, low, high, level, note)


def _ratio_from_0(products: Floats, spread: Floats, limit: float) -> tuple[float, float]:
    """The hull of the ratios in [0, infinity) that are accepted.

    Where a product is estimated below 0, distances are taken from the nearest end.
    """
    (top, bottom), (a, b, c) = products, (spread[0, 0], spread[0, 1], spread[1, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        limit += float(np.nansum(np.minimum(products, 0.0) ** 2 / np.array([a, c])))
    square, half_b, rest = bottom**2 - limit * c, top * bottom - limit * b, top**2 - limit * a
    inside = half_b**2 - square * rest
    zero, infinite = rest <= 0, square <= 0  # accepted themselves
    if (zero and infinite) or inside < 0:
        return 0.0, np.inf
    root = np.sqrt(inside)
    if infinite:
        return (float(rest / (half_b + root)) if half_b > 0 else 0.0), np.inf
    return (0.0 if zero else float((half_b - root) / square)), float((half_b + root) / square)


# -- Cramer's V ----------------------------------------------------------------------------


def cramers_v(table: Crosstab, *, level: float = 0.95) -> Association:
    """Cramer's V: how far two columns are from independent, from 0 to 1.

    The plain V of a noisy table is mostly noise; here the noise that is expected of the sum of
    squares is taken off first, and V is 0 where no more than that is seen.  The interval asks for
    which V the sum of squares is not unusual.
    Sources: Bergsma (2013); Patnaik (1949).

    >>> import rrstats as rr
    >>> columns = {"a": rr.KRR(["x", "y", "z"], 0.8), "region": ["north", "south"]}
    >>> table = Crosstab.from_counts([[250, 150], [160, 140], [90, 210]], columns)
    >>> found = cramers_v(table)
    >>> round(found.value, 3), round(found.low, 2), round(found.high, 2)
    (0.386, 0.3, 0.47)
    """
    _two_way(table)
    level = check_level(level)
    names, scale = _names(table), min(table.shape) - 1
    if scale < 1:
        note = "not defined: a column has fewer than two categories"
        return Association("Cramer's V", names, np.nan, np.nan, 0.0, 1.0, level, note)
    means, covariance = table.moments([np.eye(1 + axis.k) for axis in table.axes])
    rows, columns = means[1:, 0], means[0, 1:]
    if not (np.isfinite(means).all() and (rows > 0).all() and (columns > 0).all()):
        note = "not defined: a category is not estimated to be above 0; merge or drop it"
        return Association("Cramer's V", names, np.nan, np.nan, 0.0, 1.0, level, note)
    away, slopes = _residuals(means)
    spread = slopes @ covariance @ slopes.T
    seen, noise = float(away @ away), float(np.trace(spread))
    central = float((spread * spread.T).sum())
    along = float(away @ spread @ away) / max(seen, 1e-300)
    value = float(np.sqrt(max(seen - noise, 0.0) / scale))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(2 * central + 4 * along * seen) / (2 * scale * np.float64(value))
    # Less than the noise that is expected is no sign of less than no association.
    ends = [
        _far_from(sum_seen, noise, central, along, tail)
        for sum_seen, tail in ((seen, (1 + level) / 2), (max(seen, noise), (1 - level) / 2))
    ]
    low, high = np.clip(np.sqrt(np.array(ends) / scale), 0, 1)
    note = "no more than the noise explains" if value == 0 else ""
    if value > 1 + 1e-12:
        note = "above 1, which is noise around a strong association"
    shown = float(error) if np.isfinite(error) else np.nan
    return Association("Cramer's V", names, value, shown, float(low), float(high), level, note)


def _residuals(means: Floats) -> tuple[Floats, Floats]:
    """(r c,) residuals (f_ij - f_i f_j) / sqrt(f_i f_j), and their slopes in all means."""
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


def _far_from(seen: float, noise: float, central: float, along: float, tail: float) -> float:
    """The sum of squares of true residuals under which that seen has this probability below it.

    Its mean is the true sum plus noise, its variance 2 central + 4 along times the true sum;
    the law is that of a multiple of chi-squared with this mean and variance.
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
