"""Unbiased joint shares of several columns, from what was counted, with their covariance."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_count
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import fixed
from rrstats.estimation.crosstab_axes import Axis, declared_axis, joined
from rrstats.estimation.crosstab_counts import check_name, check_size
from rrstats.estimation.debiasing import check_possible
from rrstats.inference.multinomial import contract
from rrstats.mechanisms.channel import check_target

__all__ = ["JointShares"]


_MOST_COVARIANCE = 400
"""Cells, up to which all their covariances are handed out."""


@dataclass(frozen=True, eq=False, repr=False)
class JointShares:
    """What `Crosstab` counts, and the shares, variances and margins that follow."""

    axes: tuple[Axis, ...]
    counted: NDArray[np.int64]
    missing: int = 0
    target: str = "population"

    def __post_init__(self) -> None:
        if self.counted.flags.writeable:  # whoever gave the array may still write to theirs
            counted = self.counted.copy()
            counted.flags.writeable = False
            object.__setattr__(self, "counted", counted)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        columns: Mapping[Any, Any],
        *,
        missing: int = 0,
        target: str = "population",
    ) -> Self:
        """A table of rows that were counted elsewhere.

        counts : (m1, ..., md) rows by report cell; for most mechanisms, by reported category.
        columns : mapping from each column's name, in the order of the axes, to its mechanism, or
            to the list of its levels where it stands as it is.
        missing : rows left out because something is missing.
        Raises ArgumentValueError for other shapes, and for counts that are negative or not whole.

        >>> import rrstats as rr
        >>> from rrstats.estimation.crosstab_results import Crosstab
        >>> smoker = rr.KRR(["no", "yes"], 0.75)
        >>> columns = {"smoker": smoker, "region": ["north", "south"]}
        >>> table = Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> table.proportions.round(3).tolist()
        [[0.35, 0.45], [0.15, 0.05]]

        Of all people, about 15% smoke and live in the north.
        """
        axes = tuple(declared_axis(name, described) for name, described in columns.items())
        check_size(axes)
        wide = [axis.name for axis in axes if not axis.one_cell_each]
        if wide:
            raise ArgumentValueError(
                f"reports of column {wide[0]!r} name several categories, and counts of cells do "
                "not say which were named together; count from the rows with rr.crosstab"
            )
        listed = np.asarray(counts, dtype=object)
        if listed.shape != tuple(axis.m for axis in axes):
            raise ArgumentValueError(
                f"counts must have the shape {tuple(axis.m for axis in axes)}, the report cells "
                f"of the columns {[axis.name for axis in axes]}, found {listed.shape}"
            )
        whole = np.array([check_count(one, "counts") for one in listed.ravel()], dtype=np.int64)
        made = cls(
            axes, whole.reshape(listed.shape), check_count(missing, "missing"), check_target(target)
        )
        made.check_possible()
        return made

    def check_possible(self) -> None:
        """Raise for reports that no design makes; NotIdentifiableError where they say nothing.

        Where samples need one another a single report has no score, and ArgumentValueError says so.
        """
        for j, axis in enumerate(self.axes):
            _ = axis.scores
            if axis.mechanism is not None and axis.one_cell_each:
                check_possible(axis.mechanism.channel, self._alone(j).counted)

    # -- what was counted ------------------------------------------------------------------

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The columns."""
        return tuple(axis.name for axis in self.axes)

    @property
    def categories(self) -> tuple[tuple[Hashable, ...], ...]:
        """The categories of each column."""
        return tuple(axis.categories for axis in self.axes)

    @property
    def private(self) -> tuple[Hashable, ...]:
        """The columns that were taken as privatized; the others stand as they are."""
        return tuple(axis.name for axis in self.axes if axis.private)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of categories."""
        return tuple(axis.k for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @cached_property
    def n(self) -> int:
        """The number of rows in which nothing is missing."""
        return round(float(contract(self.counted, [axis.total for axis in self.axes])))

    @cached_property
    def rates(self) -> Floats:
        """What was counted, as shares of the rows; NaN without any."""
        with np.errstate(invalid="ignore"):
            return fixed(self.counted / np.float64(self.n))

    @cached_property
    def reported(self) -> Floats:
        """Rows whose reports speak for each cell; NaN where a design's reports speak for none."""
        naming = [axis.naming for axis in self.axes]
        if any(one is None for one in naming):
            return fixed(np.full(self.shape, np.nan))
        return fixed(contract(self.counted, [one for one in naming if one is not None]))

    @property
    def naive(self) -> Floats:
        """Shares of the rows whose reports speak for each cell: biased; for comparison only."""
        with np.errstate(invalid="ignore"):
            return self.reported / np.float64(self.n)

    # -- shares and their variance ---------------------------------------------------------

    @cached_property
    def proportions(self) -> Floats:
        """Unbiased joint shares; NaN without rows."""
        return fixed(contract(self.rates, [axis.scores for axis in self.axes]))

    @property
    def counts(self) -> Floats:
        """Unbiased counts among the rows: shares times n, not whole."""
        return self.proportions * self.n if self.n else np.zeros(self.shape)

    @property
    def divisor(self) -> float:
        """What the variance of one row is divided by; NaN for too few."""
        size = self.n - 1 if self.target == "population" else self.n
        return float(size) if size > 0 else np.nan

    @cached_property
    def _spread(self) -> Floats:
        """The variance of one row's score, in the population."""
        second = contract(self.rates, [axis.squares for axis in self.axes])
        return fixed(np.maximum(second - self.proportions**2, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """Variance of the shares, for the target; NaN where n is too small.

        Of the population, the sample variance of the rows' scores; among just these rows, the mean
        of score^2 - score.  Both are unbiased; the second may come out below 0 for a handful of
        rows, and then the standard error is 0.
        """
        if self.target == "population":
            return fixed(self._spread / self.divisor)
        second = contract(self.rates, [axis.squares for axis in self.axes])
        return fixed((second - self.proportions) / self.divisor)

    @property
    def std_error(self) -> Floats:
        """Standard errors of the shares: square roots of `variance`."""
        return np.sqrt(np.maximum(self.variance, 0.0))

    def covariance(self) -> Floats:
        """(cells, cells) covariance of the shares, the cells in the order of a flattened array.

        Raises ArgumentValueError for more than 400 cells.
        """
        if self.size > _MOST_COVARIANCE:
            raise ArgumentValueError(
                f"the covariance of {self.size:,} cells has {self.size**2:,} entries; ask for that "
                f"of a margin with at most {_MOST_COVARIANCE} cells"
            )
        drop_constant = [np.eye(1 + axis.k)[:, 1:] for axis in self.axes]
        return self.moments(drop_constant)[1]

    def moments(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Estimated means of products of functions of the columns, and their covariance.

        functions : for each column (1 + k, q): q functions, each a constant and a number for
            each category that is added to it.
        Returns (q1, ..., qd) unbiased means over people, and (q, q) their covariance for the
        target, flattened.
        """
        pairs = list(zip(self.axes, functions, strict=True))
        means = contract(self.rates, [axis.linear @ given for axis, given in pairs])
        second = self._products([(axis.products, given) for axis, given in pairs])
        flat = means.ravel()
        if self.target == "population":
            return means, (second - np.outer(flat, flat)) / self.divisor
        exact = self._products([(axis.truths, given) for axis, given in pairs])
        return means, (second - exact) / self.divisor

    def _products(self, pairs: Iterable[tuple[Floats, Floats]]) -> Floats:
        """(q, q) means of products, from those of each column's 1 and scores."""
        tables = [np.einsum("fab,ap,bq->fpq", held, g, g, optimize=True) for held, g in pairs]
        found = contract(self.rates, tables)  # (q1, q1, ..., qd, qd)
        order = [*range(0, found.ndim, 2), *range(1, found.ndim, 2)]
        side = prod(table.shape[1] for table in tables)
        return found.transpose(order).reshape(side, side)

    # -- how much is left ------------------------------------------------------------------

    @property
    def effective_n(self) -> Floats:
        """How many direct answers would tell as much of each cell; 0 where f is not in (0, 1)."""
        share = np.clip(self.proportions, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.n * share * (1 - share) / self._spread
        return np.where(self._spread > 0, found, float(self.n))

    @cached_property
    def effective_size(self) -> float:
        """How many direct answers would tell as much of all cells together, at most n.

        The total variance of all shares, beside that of as many direct answers,
        (1 - sum f^2) / n, with the noise taken out of the sum of squares.
        """
        spread = float(self._spread.sum())
        if not self.n or not spread > 0:
            return float(self.n)
        direct = 1 - float((self.proportions**2).sum()) + spread / self.n
        direct = min(max(direct, 0.0), 1 - 1 / self.size)
        return min(self.n * direct / spread, float(self.n))

    # -- other tables ----------------------------------------------------------------------

    def place(self, name: Hashable) -> int:
        """The axis of a column; raises where it is none."""
        check_name(name)
        if name not in self.names:
            raise ArgumentValueError(
                f"{name!r} is not a column of this table; its columns are {list(self.names)}"
            )
        return self.names.index(name)

    def _alone(self, place: int) -> Self:
        return self.margin(self.names[place])

    def margin(self, *names: Hashable) -> Self:
        """The table of some of the columns, in the order given, over all of the others."""
        places = [self.place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise ArgumentValueError(
                f"margin needs some of the columns {list(self.names)}, each once"
            )
        counted = self.counted
        for j in reversed(range(len(self.axes))):
            if j not in places:
                counted = np.tensordot(counted, self.axes[j].total.astype(np.int64), axes=(j, 0))
        kept = sorted(places)
        order = [kept.index(place) for place in places]
        axes = tuple(self.axes[place] for place in places)
        return replace(self, axes=axes, counted=counted.transpose(order))

    def with_target(self, target: str) -> Self:
        """The same rows, spoken of for another target."""
        return replace(self, target=check_target(target))

    def __add__(self, other: object) -> Self:
        if not isinstance(other, JointShares):
            return NotImplemented
        if len(self.axes) != len(other.axes) or self.target != other.target:
            raise ArgumentValueError(
                "tables can be added if they have the same columns and the same target; found "
                f"{list(self.names)} for {self.target!r} and {list(other.names)} for "
                f"{other.target!r}"
            )
        axes = tuple(joined(*pair) for pair in zip(self.axes, other.axes, strict=True))
        total = np.zeros([axis.features for axis in axes], dtype=np.int64)
        for part in (self, other):
            moved = [
                [new.categories.index(level) for level in old.categories]
                if old != new
                else list(range(old.features))
                for old, new in zip(part.axes, axes, strict=True)
            ]
            total[np.ix_(*moved)] += part.counted
        return type(self)(axes, total, self.missing + other.missing, self.target)

    def __radd__(self, other: object) -> Self:
        # sum() starts from the number 0
        return self if isinstance(other, int) and other == 0 else NotImplemented
