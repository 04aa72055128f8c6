"""The odds ratio of a category of one column and a category of another.

The interval is the hull of all ratios r for which f11 f00 - r f10 f01 may be 0, and of Wald's
interval of the logarithm, which alone has a coverage of only 45% with a rare category.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.estimation.estimates.measures import Association, indicators, ratio_moments
from rrstats.estimation.estimates.table_moments import TableMoments
from rrstats.inference.contrasts import ratio_variance, student_quantile


def odds_ratio(moments: TableMoments, categories: Any, level: float) -> Association:
    """The odds ratio of the two columns of a table, as `Crosstab.odds_ratio`."""
    others = np.array([[1.0, 0.0]])
    of_category = indicators(moments.axes, categories)
    sides = [np.vstack([others, np.outer(x, [-1, 1])]) for x in of_category]
    means, covariance = moments.of_functions(sides)
    f = means.ravel()  # f00, f01, f10, f11
    limit = student_quantile(check_level(level), moments.df) ** 2
    products = np.array([f[0] * f[3], f[1] * f[2]])
    slopes = np.array([[f[3], 0.0, 0.0, f[0]], [0.0, f[2], f[1], 0.0]])
    product_moments = ratio_moments(slopes, covariance)
    is_finite = bool(np.isfinite(product_moments).all())
    note = ""
    if not is_finite or (f <= 0).sum() > 1 or products[1] <= 0:
        value = np.nan
        std_error = np.nan
        note = "not defined: the estimate of a cell of the table is not above 0"
    else:
        value = float(products[0] / products[1])
        std_error = float(np.sqrt(max(ratio_variance(value, product_moments), 0.0)) / products[1])
        if value < 0:
            note = "below 0 because of noise around an empty cell"
    low, high = _positive_ratios(products, product_moments, limit) if is_finite else (0.0, np.inf)
    if is_finite and (f > 0).all():
        with np.errstate(over="ignore"):
            factor = float(np.exp(np.sqrt(limit) * std_error / value))
        low = min(low, value / factor)
        high = max(high, value * factor)
    columns = tuple(axis.name for axis in moments.axes)
    return Association("odds ratio", columns, value, std_error, low, high, level, note)


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
