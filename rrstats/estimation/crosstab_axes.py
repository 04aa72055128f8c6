"""One column of a table: what is counted of it, and what a count tells of the true categories.

All that a table computes is linear in counts, axis by axis: an `Axis` holds small matrices from
what is counted (its *features*) to scores, to products of scores, and to the values that the
score of one category can take.  Where each report falls into one cell, the features are the cells.
Where a report names several categories they are "names category v", for each v, and "is there":
enough for means, variances and intervals of single cells, and they add.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Variable
from rrstats.estimation.arrays import fixed
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import Channel, recode_matrix, transition_matrix
from rrstats.mechanisms.serialization import as_mechanism, is_mechanism

__all__ = ["Axis", "axis_of", "declared_axis", "joined"]


@dataclass(frozen=True)
class Axis:
    """One column of a table.

    name : of the column.  categories : the k true answers, or the levels of an ordinary column.
    mechanism : what made the reports; None for a column that stands as it is.
    """

    name: Hashable
    categories: tuple[Hashable, ...]
    mechanism: Mechanism | None = None

    @property
    def private(self) -> bool:
        """Whether the column holds reports."""
        return self.mechanism is not None

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def _channel(self) -> Channel | None:
        return None if self.mechanism is None else self.mechanism.channel

    @property
    def one_cell_each(self) -> bool:
        """Whether each report falls into one cell."""
        return self._channel is None or self._channel.is_multinomial

    @property
    def m(self) -> int:
        """The number of cells, or of categories that a report may name."""
        return self.k if self._channel is None else len(self._channel.samples)

    @property
    def features(self) -> int:
        """How many numbers are counted: the cells, or the named categories and all reports."""
        return self.m if self.one_cell_each else self.m + 1

    @cached_property
    def total(self) -> Floats:
        """(features,) what adds up to the number of rows."""
        if self.one_cell_each:
            return fixed(np.ones(self.m))
        return fixed(np.eye(self.m + 1)[-1])

    @cached_property
    def scores(self) -> Floats:
        """(features, k) the unbiased score of each category."""
        if self._channel is None:
            return fixed(np.eye(self.k))
        if self.one_cell_each:
            return fixed(self._channel.scores(np.arange(self.m)))
        low, high = self.levels
        return fixed(np.vstack([np.diag(high - low), low]))

    @cached_property
    def levels(self) -> tuple[Floats, Floats]:
        """(k,) and (k,) the score of a category that is not named, and of one that is."""
        assert self._channel is not None
        low, high = (self._channel.solve(held(self.m)) for held in (np.zeros, np.ones))
        return fixed(low), fixed(high)

    @cached_property
    def linear(self) -> Floats:
        """(features, 1 + k) the constant 1, and the scores."""
        return fixed(np.hstack([self.total[:, None], self.scores]))

    @cached_property
    def squares(self) -> Floats:
        """(features, k) the squares of the scores."""
        if self.one_cell_each:
            return fixed(self.scores**2)
        low, high = self.levels
        return fixed(np.vstack([np.diag(high**2 - low**2), low**2]))

    @cached_property
    def products(self) -> Floats:
        """(features, 1 + k, 1 + k) the products of any two of `linear`.

        Of two categories that one report may name, their mean given the truth, at the unbiased
        shares: which were named together is not counted.
        """
        if self.one_cell_each:
            return fixed(self.linear[:, :, None] * self.linear[:, None, :])
        assert self._channel is not None
        full = np.zeros((self.features, 1 + self.k, 1 + self.k))
        full[:, 0, :] = full[:, :, 0] = self.linear
        full[:, 1:, 1:] = np.tensordot(
            self.scores, self._channel.covariance(np.eye(self.k), "rows"), axes=1
        )
        each = np.arange(1, 1 + self.k)
        full[:, each, each] = self.squares
        return fixed(full)

    @cached_property
    def truths(self) -> Floats:
        """(features, 1 + k, 1 + k) unbiased for the products of 1 and the true indicators."""
        full = np.zeros((self.features, 1 + self.k, 1 + self.k))
        full[:, 0, :] = full[:, :, 0] = self.linear
        each = np.arange(1, 1 + self.k)
        full[:, each, each] = self.scores
        return fixed(full)

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """(k, g) the values that the score of each category takes, (features, k, g) their counts.

        Where a category has fewer values than others, its first is repeated and counted once.
        """
        if not self.one_cell_each:
            low, high = self.levels
            counted = np.zeros((self.features, self.k, 2))
            each = np.arange(self.k)
            counted[each, each, 1], counted[each, each, 0], counted[-1, :, 0] = 1, -1, 1
            return fixed(np.stack([low, high], axis=1)), fixed(counted)
        if not self.k:
            return fixed(np.zeros((0, 1))), fixed(np.zeros((self.features, 0, 1)))
        # Rounding makes two of what is one value.
        rounded = np.round(self.scores, 12) + 0.0
        found = [np.unique(column) for column in rounded.T]
        values: Floats = np.array([np.resize(one[:1], max(map(len, found))) for one in found])
        for row, one in zip(values, found, strict=True):
            row[: len(one)] = one
        told = np.isclose(rounded[:, :, None], values, rtol=0, atol=1e-13)
        once: NDArray[Any] = np.abs(values - values[:, :1])
        told[:, :, 1:] &= once[:, 1:] > 0
        return fixed(values), fixed(told.astype(np.float64))

    @property
    def likelihood(self) -> Floats:
        """(m, classes) P(cell | class)."""
        return np.eye(self.k) if self._channel is None else transition_matrix(self._channel)

    @property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class shows a category."""
        return np.eye(self.k) if self._channel is None else recode_matrix(self._channel)

    @cached_property
    def naming(self) -> Floats | None:
        """(features, k) 1 where a report speaks for a category; None if it speaks for none."""
        if self._channel is None:
            return fixed(np.eye(self.k))
        speaks = self._channel.support_counts(np.eye(self.m))
        if np.isnan(speaks).any():
            return None
        return fixed(np.pad(speaks, ((0, self.features - self.m), (0, 0))))

    def code(self, category: Hashable) -> int:
        """The number of one category; raises where it is none."""
        code = self.categories.index(category) if category in self.categories else -1
        if code < 0:
            raise ArgumentValueError(
                f"{category!r} is not among the {self.k} categories of column {self.name!r}"
            )
        return code

    def supports(self, scores: Floats) -> Floats:
        """(n, features) the features of rows whose reports name several categories.

        scores : (n, k) of `Variable.scores`.  Rows without a report have zeros.
        """
        low, high = self.levels
        there = np.asarray(np.isfinite(scores).all(axis=1))
        named = np.abs(scores - high) < np.abs(scores - low)
        return np.column_stack([named & np.reshape(there, (-1, 1)), there]).astype(np.float64)


def axis_of(variable: Variable) -> Axis:
    """The axis of a column."""
    return Axis(variable.name, variable.categories, variable.mechanism)


def declared_axis(name: Hashable, described: Any) -> Axis:
    """An axis from a mechanism, or from the levels of a column that stands as it is."""
    if is_mechanism(described):
        mechanism = as_mechanism(described)
        return Axis(name, mechanism.categories, mechanism)
    if isinstance(described, str | bytes) or not isinstance(described, Iterable):
        raise ArgumentTypeError(
            f"column {name!r} must have a mechanism or a list of its levels, found "
            f"{type(described).__name__}"
        )
    levels = tuple(described)
    if len(levels) < 2:
        raise ArgumentValueError(f"column {name!r} must have at least 2 levels, got {len(levels)}")
    return Axis(name, Categories(levels).categories)


def joined(one: Axis, other: Axis) -> Axis:
    """The axis of two parts of a table: equal ones, or ordinary ones with all levels of both."""
    if one == other:
        return one
    if one.name != other.name or one.mechanism != other.mechanism:
        raise ArgumentValueError(
            "tables can be added if they have the same columns, with the same mechanisms, in the "
            f"same order; found {one.name!r} and {other.name!r}"
            + (" with different mechanisms" if one.name == other.name else "")
        )
    levels = list(dict.fromkeys([*one.categories, *other.categories]))
    absent = [level for level in levels if level is None]
    rest: list[Any] = [level for level in levels if level is not None]
    sortable = all(list(part) == _in_order(part) for part in (one.categories, other.categories))
    return Axis(one.name, (*(_in_order(rest) if sortable else rest), *absent))


def _in_order(levels: Iterable[Any]) -> list[Any]:
    """Levels sorted, the missing one last; as they are where they do not compare."""
    given = list(levels)
    try:
        return sorted(x for x in given if x is not None) + [x for x in given if x is None]
    except TypeError:
        return given
