"""Correlation coefficients: of two columns whose categories are numbers, and phi of two categories.

A correlation is computed from five moments of a pair of columns and their covariance.
Source: Fox and Tracy (1984) for correlations through noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from rrstats._checks import check_instance, check_level
from rrstats._typing import Floats, Labels
from rrstats.data.categories import category_numbers
from rrstats.estimation.estimates.measures import (
    ROUNDING,
    TINY,
    Association,
    indicators,
    ratio_moments,
)
from rrstats.estimation.estimates.table_moments import TableMoments
from rrstats.estimation.report_columns.report_frames import check_asked
from rrstats.inference.contrasts import fieller, ratio_variance, student_quantile


def correlation(moments: TableMoments, values: Any, level: float) -> Association:
    """The correlation of the two columns of a table, as `Crosstab.correlation`."""
    axes = moments.axes
    by_column = values_by_column(values, [axis.name for axis in axes])
    numbers_of = [
        scaled_numbers(axis.categories, by_column.get(axis.name), axis.name) for axis in axes
    ]
    return _correlated(moments, numbers_of, "correlation", level)


def phi(moments: TableMoments, categories: Any, level: float) -> Association:
    """The correlation of two indicators of categories, as `Crosstab.phi`."""
    return _correlated(moments, indicators(moments.axes, categories), "phi", level)


def _correlated(
    moments: TableMoments, numbers_of: Sequence[Floats], measure: str, level: float
) -> Association:
    """The correlation of the (k,) numbers x of both columns, from means of 1, x and x^2."""
    constant = np.array([[1.0, 0.0, 0.0]])
    functions = [np.vstack([constant, np.stack([0 * x, x, x**2], axis=1)]) for x in numbers_of]
    means, covariance = moments.of_functions(functions)
    used = [4, 3, 1, 6, 2]  # xy, x, y, x^2 and y^2 of the nine
    pair = (means.ravel()[used], covariance[np.ix_(used, used)])
    columns = tuple(axis.name for axis in moments.axes)
    return product_moment(measure, columns, pair, level=check_level(level), df=moments.df)


def product_moment(
    measure: str,
    columns: Labels,
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
    if not (x_variance > ROUNDING * abs(xx) and y_variance > ROUNDING * abs(yy)):
        note = "not defined: a column's estimated variance is not above 0"
        return Association(measure, columns, np.nan, np.nan, -1.0, 1.0, level, note)
    c = xy - x * y
    s = float(np.sqrt(x_variance * y_variance))
    c_slope = np.array([1.0, -y, -x, 0.0, 0.0])
    s_slope = np.array(
        [0, -2 * x / x_variance, -2 * y / y_variance, 1 / x_variance, 1 / y_variance]
    )
    moments = ratio_moments(np.stack([c_slope, s / 2 * s_slope]), covariance)
    r = float(c / s)
    std_error = float(np.sqrt(max(ratio_variance(r, moments), 0.0)) / s)
    limit = student_quantile(level, df) ** 2
    nearest = float(np.clip(r, -1, 1))
    if nearest != r:
        limit += (c - nearest * s) ** 2 / max(ratio_variance(nearest, moments), TINY)
    low, high = np.clip(fieller(c, s, moments, limit), -1, 1).tolist()
    note = ""
    if abs(r) > 1 + ROUNDING:
        note = "outside -1 to 1 because of noise around a strong association"
    return Association(measure, columns, r, std_error, low, high, level, note)


# -- numbers of categories -------------------------------------------------------------------


def values_by_column(values: Mapping[Any, Any] | None, names: Sequence[Hashable]) -> dict[Any, Any]:
    """The numbers of categories, by column."""
    rule = "a mapping from column to the numbers of its categories"
    by_column = dict(check_instance({} if values is None else values, "values", Mapping, rule))
    check_asked(by_column, list(names), "values")
    return by_column


def scaled_numbers(categories: Labels, values: Any, name: Hashable) -> Floats:
    """(k,) the numbers that categories stand for, scaled to -1 to 1.

    values : the numbers; by default the categories themselves, or 0 and 1 for two words.
    The scale gives the same correlation with smaller rounding errors.
    """
    numbers = category_numbers(values, categories, f"values={{{name!r}: ...}}", words=True)
    if not len(numbers):
        return numbers
    middle = (numbers.max() + numbers.min()) / 2
    half = float(np.ptp(numbers)) / 2
    return np.asarray((numbers - middle) / (half or 1.0))
