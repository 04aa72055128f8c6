"""Columns of a design that depend on the true categories of the privatized covariates.

A profile is a combination of these categories.  In a profile such a column is mostly 0, 1, or an
ordinary column: of ``C(a) + C(a):x`` the columns are 0, 1 and x.  So the different ordinary columns
are stored once, and for each profile and column the place of its ordinary column and a factor.
Sums of products over n rows then need (rows, few) arrays, and never (profiles, rows, columns).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rrstats._typing import Floats, Indices
from rrstats.data.columns import blocks
from rrstats.regression.design_matrix import BLOCK

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Relative difference up to which one column is a multiple of another."""

_PROBES = 16
"""Rows that are compared first, as most columns differ there already."""


@dataclass(frozen=True, eq=False)
class VaryingColumns:
    """Columns by profile: column j of profile c is ``factors[c, j] * base[places[c, j]]``.

    base : (b, rows) ordinary columns, the first of them ones.
    places : (profiles, v) places in ``base``.  factors : (profiles, v), 0 where the column is 0.
    """

    base: Floats
    places: Indices
    factors: Floats

    @classmethod
    def of(cls, dense: Floats) -> VaryingColumns:
        """Columns (profiles, rows, v) that are written out."""
        profiles, rows, v = dense.shape
        base = np.vstack([np.ones((1, rows)), *dense.swapaxes(1, 2)])
        places = 1 + np.arange(profiles * v, dtype=np.intp).reshape(profiles, v)
        return cls(base, places, np.ones((profiles, v)))

    @property
    def profiles(self) -> int:
        """Number of profiles."""
        return len(self.places)

    @property
    def columns(self) -> int:
        """Number of columns that vary, v."""
        return int(self.places.shape[1])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.base.shape[1])

    def column(self, profile: int, place: int) -> Floats:
        """(rows,) one column of a profile."""
        return np.asarray(self.factors[profile, place] * self.base[self.places[profile, place]])

    def dense(self, rows: slice = slice(None)) -> Floats:
        """(profiles, rows, v) the columns of some rows, written out."""
        columns = self.base[:, rows][self.places] * self.factors[:, :, None]
        return np.ascontiguousarray(columns.swapaxes(1, 2))

    def mean_squares(self) -> Floats:
        """(v,) mean squares of the columns over profiles and rows."""
        squares = np.array([column @ column for column in self.base]) / self.rows
        return np.asarray((squares[self.places] * self.factors**2).mean(axis=0))

    def bases(self, profile: int) -> tuple[Indices, Floats]:
        """Places of the ordinary columns that a profile uses, and their factors in its columns.

        That is (used,) places and a matrix (used, v): columns are ``base[used].T @ matrix``.
        """
        places = self.places[profile]
        factors = self.factors[profile]
        used = np.unique(places[factors != 0])
        return used, np.where(places == used[:, None], factors, 0.0)

    def triangles(self, same: Floats) -> list[Floats]:
        """For each profile a matrix R with R'R = X'X, where X is its design.

        same : (rows, s) columns that are alike for all profiles, which stand first.
        """
        s = same.shape[1]
        by_bases: dict[tuple[int, ...], Floats] = {}
        triangles = []
        for profile in range(self.profiles):
            used, matrix = self.bases(profile)
            key = tuple(used.tolist())
            if key not in by_bases:
                by_bases[key] = self.triangle(same, used)
            triangle = by_bases[key]
            triangles.append(np.hstack([triangle[:, :s], triangle[:, s:] @ matrix]))
        return triangles

    def triangle(self, same: Floats, used: Indices | slice = slice(None)) -> Floats:
        """A triangular R with R'R = X'X, where X are the columns ``same`` and ordinary columns.

        The QR of blocks of rows, then of their triangles (Demmel and others, 2012).
        """
        triangles = [
            np.linalg.qr(np.hstack([same[part], self.base[used, part].T]), mode="r")
            for part in blocks(self.rows, BLOCK)
        ]
        if len(triangles) == 1:
            return np.asarray(triangles[0])
        return np.asarray(np.linalg.qr(np.vstack(triangles), mode="r"))


class ColumnCollector:
    """Collector of the ordinary columns of profiles, each once, however often it occurs."""

    def __init__(self, rows: int) -> None:
        """Start with a column of ones."""
        self.rows = rows
        self.base = [np.ones(rows)]
        self.probes = np.unique(np.linspace(0, rows - 1, _PROBES).astype(np.intp))
        self.signs = [np.ones(len(self.probes))]
        self.pivots = [0]

    def add(self, column: Floats) -> tuple[int, float]:
        """Place and factor of a column, which is added if it is no multiple of any before."""
        low = float(column.min())
        if low == float(column.max()):
            return 0, low
        pivots = np.array(self.pivots)
        with np.errstate(all="ignore"):
            factors = column[pivots] / np.array([base[at] for base, at in self._pivoted()])
            signs = np.array(self.signs) * factors[:, None]
            near = np.abs(signs - column[self.probes]) <= _ROUNDING * np.abs(column[self.probes])
        for place in np.flatnonzero(near.all(axis=1) & (factors != 0)).tolist():
            factor = float(factors[place])
            difference = np.abs(factor * self.base[place] - column)
            if (difference <= _ROUNDING * np.abs(column)).all():
                return place, factor
        self.base.append(np.array(column))
        self.signs.append(column[self.probes])
        self.pivots.append(int(np.abs(column).argmax()))
        return len(self.base) - 1, 1.0

    def _pivoted(self) -> zip[tuple[Floats, int]]:
        return zip(self.base, self.pivots, strict=True)
