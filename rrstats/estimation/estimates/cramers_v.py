"""Cramer's V of two columns, with the noise taken out.

The ordinary V of a noisy table is mostly noise.  Here the expected noise is first subtracted from
the sum of squares, and V is 0 if nothing remains.  The interval holds the values of V that the sum
of squares does not reject.
Sources: Bergsma (2013) for the bias of Cramer's V; Patnaik (1949) for the distribution of a
noncentral sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.estimation.estimates.measures import ROUNDING, TINY, Association
from rrstats.estimation.estimates.table_moments import TableMoments


def cramers_v(moments: TableMoments, level: float) -> Association:
    """Cramer's V of the two columns of a table, as `Crosstab.cramers_v`."""
    level = check_level(level)
    scale = min(moments.shape) - 1
    columns = tuple(axis.name for axis in moments.axes)
    undefined = Association("Cramer's V", columns, np.nan, np.nan, 0.0, 1.0, level)
    if scale < 1:
        note = "not defined: a column has fewer than two categories"
        return replace(undefined, note=note)
    means, covariance = moments.of_functions([np.eye(1 + axis.k) for axis in moments.axes])
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
    if value > 1 + ROUNDING:
        note = "above 1 because of noise around a strong association"
    return Association("Cramer's V", columns, value, std_error, low, high, level, note)


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
            along=float(residuals @ covariance @ residuals) / max(observed, TINY),
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
