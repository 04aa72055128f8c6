"""Correlations of several columns, privatized or not, from the moments of their rows.

A report has an unbiased score for x, the sum of its categories' scores times their numbers, and
one for each power of x.  With noise drawn apart, products of scores of different columns are
unbiased for products of truths, so the covariance of two columns is that of their scores; the
variance of one is that of its truths, mean(score for x^2) - mean(score for x)^2, not that of
its scores.
Law: r = cov(score x, score y) / sqrt(var x var y), with 1/n covariances.
Source: Fox and Tracy (1984).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentValueError
from rrstats.estimation.analysis_columns import Variable, refuse_renamed, variables
from rrstats.estimation.arrays import fixed
from rrstats.estimation.association import given_values, numbers_of, product_moment, scaled
from rrstats.estimation.joint import check_columns
from rrstats.estimation.means import numbers
from rrstats.mechanisms.channel import check_target
from rrstats.randomness.sources import BLOCK_ROWS

__all__ = ["Correlations", "correlations"]


_POWERS = 4
"""Of x, that the variance of a correlation needs among just these rows."""

# The moments of a pair, as powers of x and of y: xy, x, y, x^2 and y^2.
_MONOMIALS = ((1, 1), (1, 0), (0, 1), (2, 0), (0, 2))


@dataclass(frozen=True, eq=False, repr=False)
class Correlations:
    """Correlations of several columns with their intervals.

    names : the p columns.  private : those that were taken as privatized.
    values, std_error, low, high : (p, p).  A value may lie outside -1 and 1, which is noise around
    a strong association; NaN where a variance is not estimated to be above 0.
    n : rows in which nothing is missing.  missing : the others.
    """

    names: tuple[Hashable, ...]
    private: tuple[Hashable, ...]
    values: Floats
    std_error: Floats
    low: Floats
    high: Floats
    n: int
    missing: int
    level: float
    target: str

    def table(self, values: str = "values") -> pd.DataFrame:
        """The matrix of values, std_error, low or high, with the columns' names."""
        if values not in ("values", "std_error", "low", "high"):
            raise ArgumentValueError(
                f"values must be 'values', 'std_error', 'low' or 'high', got {values!r}"
            )
        labels = pd.Index(list(self.names), dtype=object, tupleize_cols=False)
        # A copy: what is done to the frame is not done to the correlations.
        return pd.DataFrame(getattr(self, values), index=labels, columns=labels, copy=True)

    def to_frame(self) -> pd.DataFrame:
        """A tidy frame, one row a pair: first, second, correlation, std_error, low, high."""
        pairs = list(combinations(range(len(self.names)), 2))
        one, other = [p[0] for p in pairs], [p[1] for p in pairs]
        return pd.DataFrame(
            {
                "first": pd.Series([self.names[i] for i in one], dtype=object),
                "second": pd.Series([self.names[j] for j in other], dtype=object),
                "correlation": self.values[one, other],
                "std_error": self.std_error[one, other],
                "low": self.low[one, other],
                "high": self.high[one, other],
            }
        )

    def __repr__(self) -> str:
        absent = f", {self.missing:,} left out for missing values" if self.missing else ""
        private = f"; privatized: {', '.join(map(str, self.private))}" if self.private else ""
        table = self.table().to_string(float_format="{:.4f}".format)
        return f"Correlations for target {self.target!r}: n={self.n:,}{absent}{private}\n{table}"


def correlations(
    data: pd.DataFrame,
    *columns: Hashable,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    values: Mapping[Any, Any] | None = None,
    target: str = "population",
    level: float = 0.95,
) -> Correlations:
    """Correlations of columns that were privatized apart, and of ordinary ones.

    data, columns, mechanisms, group, target : as for `crosstab`.
    values : mapping from column to the numbers its categories stand for (a mapping from category
        to number, or a list); by default the categories themselves, and 0 and 1 for two words.
    Rows in which something is missing are left out.
    Raises ArgumentValueError for infinite numbers, and for mechanisms of columns not asked for.
    Returns the p x p values as estimated, without a cap, with standard errors by the delta method
    and intervals inside [-1, 1]; see `associations.correlation`.

    >>> import pandas as pd, rrstats as rr
    >>> rows = [(0, 0)] * 370 + [(0, 1)] * 210 + [(1, 0)] * 190 + [(1, 1)] * 230
    >>> made = {"a": rr.KRR([0, 1], 0.8), "b": rr.KRR([0, 1], 0.75)}
    >>> found = correlations(pd.DataFrame(rows, columns=["a", "b"]), "a", "b", mechanisms=made)
    >>> round(float(found.values[0, 1]), 3)
    0.644

    Of the reports alone it is 0.19: the noise hides most of it.
    """
    check_columns(data, columns, mechanisms)
    check_target(target)
    check_level(level)
    given = given_values(values, columns)
    plain = {name: _plain_numbers(data, name, mechanisms, given) for name in columns}
    declared = [name for name in columns if plain[name] is None]
    read = dict(zip(declared, variables(data, declared, mechanisms, group=group), strict=True))
    sources = [
        plain[name] if name in plain and plain[name] is not None else _Scored(read[name], given)
        for name in columns
    ]
    sums, n = _sums(sources, len(data), target)
    private = tuple(name for name in columns if name in read and read[name].private)
    return _finished(columns, private, sums, n, len(data) - n, level, target)


class _Numbers:
    """Ordinary numbers, scaled; their powers are the powers themselves."""

    def __init__(self, x: Floats) -> None:
        known = x[np.isfinite(x)]
        middle, spread = (known.mean(), known.std()) if known.size else (0.0, 1.0)
        self.scaled = (x - middle) / (spread or 1.0)

    def powers(self, part: slice) -> Floats:
        """(n, 5) the values of 1, x, ..., x^4; NaN where it is missing."""
        x = self.scaled[part]
        found = np.stack([x**power for power in range(_POWERS + 1)], axis=1)
        found[np.isnan(x), 0] = np.nan  # NaN to the power 0 is 1
        return found


class _Scored:
    """A column of categories that stand for numbers."""

    def __init__(self, column: Variable, given: Mapping[Any, Any]) -> None:
        self.column = column
        x = scaled(numbers_of(column.categories, given.get(column.name), column.name))
        self.table = np.stack([x**power for power in range(_POWERS + 1)], axis=1)

    def powers(self, part: slice) -> Floats:
        """(n, 5) unbiased values of 1, x, ..., x^4; NaN where it is missing."""
        found = self.column.scores(part) @ self.table
        found[~np.isnan(found[:, 0]), 0] = 1.0
        return found if self.column.k else np.full_like(found, np.nan)  # nothing but missing


def _plain_numbers(
    data: pd.DataFrame, name: Hashable, mechanisms: Mapping[Any, Any] | None, given: Any
) -> _Numbers | None:
    """Numbers of an ordinary numeric column; None for categories and reports."""
    column = column_of(data, name)
    if name in (mechanisms or {}) or name in given:
        return None
    if variables(data.iloc[:0], [name])[0].private:
        return None
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return None
    refuse_renamed(data, name)
    return _Numbers(numbers(column, f"column {name!r}", len(column)))


def _sums(sources: list[Any], rows: int, target: str) -> tuple[dict[Any, Any], int]:
    """By pair, the sums of its five moments, of their products, and of what is unbiased for the
    products of their truths.
    """
    pairs = list(combinations(range(len(sources)), 2))
    first = {pair: np.zeros(5) for pair in pairs}
    second = {pair: np.zeros((5, 5)) for pair in pairs}
    exact = {pair: np.zeros((5, 5)) for pair in pairs}
    n = 0
    for start in range(0, rows, BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        told = [source.powers(part) for source in sources]
        there = np.all([np.isfinite(one[:, 0]) for one in told], axis=0)
        told = [one[there] for one in told]
        n += int(there.sum())
        for i, j in pairs:
            moments = np.stack([told[i][:, a] * told[j][:, b] for a, b in _MONOMIALS], axis=1)
            first[i, j] += moments.sum(axis=0)
            second[i, j] += moments.T @ moments
            if target == "rows":
                whole = told[i].T @ told[j]
                for u, (a, b) in enumerate(_MONOMIALS):
                    for v, (c, d) in enumerate(_MONOMIALS):
                        exact[i, j][u, v] += whole[a + c, b + d]
    return {pair: (first[pair], second[pair], exact[pair]) for pair in pairs}, n


def _finished(
    names: tuple[Hashable, ...],
    private: tuple[Hashable, ...],
    sums: dict[Any, Any],
    n: int,
    missing: int,
    level: float,
    target: str,
) -> Correlations:
    size = len(names)
    values, error = np.eye(size), np.zeros((size, size))
    low, high = np.eye(size), np.eye(size)
    for (i, j), (first, second, exact) in sums.items():
        if n < 2:
            found = (np.nan, np.nan, -1.0, 1.0)
        else:
            mean = first / n
            if target == "population":
                covariance = (second / n - np.outer(mean, mean)) / (n - 1)
            else:
                covariance = (second - exact) / n**2
            found = product_moment(mean, covariance, level)
        for held, number in zip((values, error, low, high), found, strict=True):
            held[i, j] = held[j, i] = number
    values, error, low, high = map(fixed, (values, error, low, high))
    return Correlations(tuple(names), private, values, error, low, high, n, missing, level, target)
