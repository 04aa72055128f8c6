"""One column of a joint table, and rows of several columns counted together.

All that a table computes is linear in counts, axis by axis: an `Axis` holds small matrices from
the counted numbers (its *features*) to scores, to products of scores, and to the values that the
score of one category can take.  Where each report falls into one cell, the features are the cells.
Where a report names several categories they are "names category v", for each v, and "is there":
enough for means, variances and intervals of single cells, and they add.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_instance
from rrstats._typing import Counts, Floats
from rrstats.data.categories import Categories
from rrstats.data.columns import Encoded, open_column
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Reports, Variable
from rrstats.estimation.arrays import fixed
from rrstats.estimation.engine_frames import is_frame, refuse_unopened
from rrstats.estimation.sample_design import Rows
from rrstats.estimation.tally import Tally, counted_parts
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import Channel, recode_matrix, transition_matrix
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.randomness.sources import BLOCK_ROWS

_MOST_CELLS = 1 << 22
"""Numbers in a table.  Beyond, ten million rows leave two or three for each."""

_MOST_COMBINED = 400
"""Cells of one column that combines all."""

_AT_ONCE = 1 << 21
"""Products of features of several categories, held at once."""


@dataclass(frozen=True)
class Axis:
    """One column of a table.

    Attributes
    ----------
    name : hashable
        Of the column.
    categories : tuple of k hashables
        The true answers, or the levels of an ordinary column.
    mechanism : Mechanism or None
        None for an ordinary column.
    """

    name: Hashable
    categories: tuple[Hashable, ...]
    mechanism: Mechanism | None = None

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @property
    def channel(self) -> Channel | None:
        """P(report | truth); None for an ordinary column."""
        return None if self.mechanism is None else self.mechanism.channel

    @property
    def is_multinomial(self) -> bool:
        """True where each report falls into one cell."""
        return self.channel is None or self.channel.is_multinomial

    @property
    def m(self) -> int:
        """The number of cells, or of categories that a report may name."""
        return self.k if self.channel is None else len(self.channel.samples)

    @property
    def features(self) -> int:
        """The number of counted numbers: cells, or the named categories and all reports."""
        return self.m if self.is_multinomial else self.m + 1

    @cached_property
    def total(self) -> Floats:
        """(features, 1) weights that add up to the number of rows."""
        return fixed(np.ones((self.m, 1)) if self.is_multinomial else np.eye(self.m + 1)[:, -1:])

    @cached_property
    def scores(self) -> Floats:
        """(features, k) the unbiased score of each category."""
        if self.channel is None:
            return fixed(np.eye(self.k))
        if self.is_multinomial:
            return fixed(self.channel.scores(np.arange(self.m)))
        low, high = self.named_scores
        return fixed(np.vstack([np.diag(high - low), low]))

    @cached_property
    def named_scores(self) -> tuple[Floats, Floats]:
        """(k,) and (k,) the score of a category that is not named, and of one that is."""
        assert self.channel is not None
        low, high = (self.channel.solve(rates(self.m)) for rates in (np.zeros, np.ones))
        return fixed(low), fixed(high)

    @cached_property
    def linear(self) -> Floats:
        """(features, 1 + k) the constant 1, and the scores."""
        return fixed(np.hstack([self.total, self.scores]))

    @cached_property
    def squares(self) -> Floats:
        """(features, k) the squares of the scores."""
        if self.is_multinomial:
            return fixed(self.scores**2)
        low, high = self.named_scores
        return fixed(np.vstack([np.diag(high**2 - low**2), low**2]))

    @cached_property
    def products(self) -> Floats:
        """(features, 1 + k, 1 + k) the products of any two of `linear`.

        Of two categories that one report may name, their mean given the truth, at the unbiased
        proportions: their joint counts are not kept.
        """
        if self.is_multinomial:
            return fixed(self.linear[:, :, None] * self.linear[:, None, :])
        assert self.channel is not None
        full = self.truths.copy()
        within = self.channel.covariance(np.eye(self.k), "rows")
        full[:, 1:, 1:] = np.tensordot(self.scores, within, axes=1)
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
        if not self.is_multinomial:
            low, high = self.named_scores
            counted = np.zeros((self.features, self.k, 2))
            each = np.arange(self.k)
            counted[each, each, 1], counted[each, each, 0], counted[-1, :, 0] = 1, -1, 1
            return fixed(np.stack([low, high], axis=1)), fixed(counted)
        rounded = np.round(self.scores, 12) + 0.0  # rounding makes two of what is one value
        found = [np.unique(column, return_inverse=True) for column in rounded.T]
        values = np.zeros((self.k, max((len(own) for own, _ in found), default=1)))
        counted = np.zeros((self.features, *values.shape))
        for code, (own, place) in enumerate(found):
            values[code], values[code, : len(own)] = own[0], own
            counted[np.arange(self.m), code, place] = 1.0
        return fixed(values), fixed(counted)

    @property
    def likelihood(self) -> Floats:
        """(m, classes) P(cell | latent class)."""
        return np.eye(self.k) if self.channel is None else transition_matrix(self.channel)

    @property
    def recode(self) -> Floats:
        """(k, classes) 1 where a latent class belongs to a category."""
        return np.eye(self.k) if self.channel is None else recode_matrix(self.channel)

    @cached_property
    def naming(self) -> Floats | None:
        """(features, k) 1 where a report speaks for a category; None if it speaks for none."""
        if self.channel is None:
            return fixed(np.eye(self.k))
        speaks = self.channel.support_counts(np.eye(self.m))
        if np.isnan(speaks).any():
            return None
        return fixed(np.pad(speaks, ((0, self.features - self.m), (0, 0))))

    def supports(self, scores: Floats) -> Floats:
        """(n, features) the features of rows whose reports name several categories.

        scores : (n, k) of `Variable.scores`.  Rows without a report have zeros.
        """
        low, high = self.named_scores
        there = np.isfinite(scores).all(axis=1, keepdims=True)
        named = np.abs(scores - high) < np.abs(scores - low)
        return np.hstack([named & there, there]).astype(np.float64)


def declared_axis(name: Hashable, described: Any) -> Axis:
    """An axis from a mechanism, or from the levels of an ordinary column."""
    if is_mechanism(described):
        mechanism = as_mechanism(described)
        return Axis(name, mechanism.categories, mechanism)
    rule = "a mechanism or a list of its levels"
    check_instance(described, f"column {name!r}", Iterable, rule)
    return Axis(name, Categories(described).categories)


# -- rows ------------------------------------------------------------------------------------


def check_size(axes: Sequence[Axis]) -> None:
    """Raise for a table that has more numbers than any data could fill."""
    size = prod(axis.features + 1 for axis in axes)
    if size > _MOST_CELLS:
        widest = max(axes, key=lambda axis: axis.k)
        raise ArgumentValueError(
            f"a table of {len(axes)} columns must have at most {_MOST_CELLS:,} cells, found "
            f"{size:,}; column {widest.name!r} alone has {widest.k:,} categories: leave it out, "
            "merge its categories, or cut its numbers into ranges (pandas.cut)"
        )


def check_columns(
    data: Any, names: Sequence[Hashable], mechanisms: Any, *, engines: bool = False
) -> None:
    """Raise unless there are a frame, the names of columns, each once, and mechanisms of these.

    engines : whether an engine's frame serves as well as one of pandas.
    """
    if not isinstance(data, pd.DataFrame) and not (engines and is_frame(data)):
        if not is_frame(data):
            refuse_unopened(data, text=True)
        raise ArgumentTypeError(
            f"data must be a DataFrame of pandas, found {type(data).__name__}; rr.tally, "
            "rr.estimate and rr.crosstab also count frames of engines where they are"
        )
    if mechanisms is not None:
        check_instance(mechanisms, "mechanisms", Mapping, "a mapping from column to mechanism")
    for name in names:
        check_instance(name, "a column", Hashable, "given by its name")
    if not names:
        raise ArgumentTypeError("name at least one column")
    if len(set(names)) < len(names):
        raise ArgumentValueError("columns must be named once each, found one that is named twice")


def count_rows(
    columns: Sequence[Variable], *, keep: bool = False, times: Counts | None = None
) -> tuple[list[Axis], Counts]:
    """The axes, and the number of rows with each combination of their features.

    keep : whether missing values of an ordinary column are a level of their own, None.  Other
        rows in which anything is missing are left out.
    times : (rows,) how many rows of the data each row stands for; None where that is 1.
    """
    axes = [Axis(column.name, column.categories, column.mechanism) for column in columns]
    check_size(axes)
    full = _features(columns, axes, times)
    for j, (axis, column) in enumerate(zip(axes, columns, strict=True)):
        if not axis.is_multinomial:
            continue
        last = np.take(full, column.m, axis=j)
        if keep and axis.mechanism is None and last.any():
            axes[j] = Axis(axis.name, (*axis.categories, None))
        else:
            full = np.take(full, np.arange(column.m), axis=j)
    return axes, np.ascontiguousarray(full)


def _places(columns: Sequence[Variable], part: slice) -> NDArray[np.intp]:
    """(n,) the combined cell of each row, with a place for missing behind those of each column."""
    place = columns[0].codes(part)
    for column in columns[1:]:
        place = place * (column.m + 1)
        place += column.codes(part)
    return place


def _features(columns: Sequence[Variable], axes: Sequence[Axis], times: Counts | None) -> Counts:
    """Rows by cell, m + 1 a column, and sums of products of features; doubles add them exactly.

    Where reports name several categories, their features weight the rows.
    """
    several = [j for j, axis in enumerate(axes) if not axis.is_multinomial]
    plain = [j for j in range(len(axes)) if j not in several]
    shape, wide = [columns[j].m + 1 for j in plain], [axes[j].features for j in several]
    total = np.zeros((prod(wide), prod(shape)))
    rows = max(256, min(BLOCK_ROWS, _AT_ONCE // prod(wide)))
    for start in range(0, columns[0].rows, rows):
        part = slice(start, start + rows)
        product = np.ones((1, 1)) if times is None else times[part, None]
        for j in several:
            more = axes[j].supports(columns[j].scores(part))
            product = (product[:, :, None] * more[:, None, :]).reshape(len(more), -1)
        beside = [columns[j] for j in plain]
        place = _places(beside, part) if plain else np.zeros(len(product), dtype=np.intp)
        for at, each in enumerate(product.T if several or times is not None else [None]):
            total[at] += np.bincount(place, each, minlength=total.shape[1])
    full = np.rint(total).astype(np.int64).reshape(*wide, *shape)
    return np.moveaxis(full, range(full.ndim), [*several, *plain])


# -- one column that combines all ------------------------------------------------------------


def kron_all(tables: Sequence[Floats]) -> Floats:
    """The Kronecker product of matrices."""
    return reduce(lambda one, other: np.asarray(np.kron(one, other), dtype=np.float64), tables)


def joint_mechanism(axes: Sequence[Axis]) -> Mechanism:
    """The mechanism of one column whose categories are the cells of a table."""
    for axis in axes:
        single = axis.is_multinomial and axis.likelihood.shape[1] == axis.k
        if not single or (axis.channel is not None and axis.channel.samples.any()):
            raise ArgumentValueError(
                f"weights and a design need reports of one sample that fall into one cell each, "
                f"without latent classes; column {axis.name!r} has others: leave it out, or "
                "estimate it alone"
            )
    size = prod(axis.m for axis in axes)
    if not 2 <= size <= _MOST_COMBINED:
        raise ArgumentValueError(
            f"a table with weights or a design must have 2 to {_MOST_COMBINED} cells, found "
            f"{size:,} of {[axis.name for axis in axes]}; take other columns, merge categories, or "
            "declare levels that nobody has, as of 0 and 1, by a Categorical"
        )
    matrix = kron_all([axis.likelihood for axis in axes])
    cells = list(product(*(axis.categories for axis in axes)))
    reports = cells if all(axis.m == axis.k for axis in axes) else range(size)
    return MatrixDesign(cells, matrix, reports=list(reports))


def joint_tally(
    columns: Sequence[Variable], axes: Sequence[Axis], rows: Rows, times: Counts | None
) -> Tally:
    """Rows by stratum and cluster, and by the combined report cell, with sums of their weights."""
    mechanism, shape = joint_mechanism(axes), [axis.m for axis in axes]
    size = prod(shape)
    cells = np.full([column.m + 1 for column in columns], size + 1)  # which is missing
    cells[tuple(map(slice, shape))] = np.arange(size).reshape(shape)
    codes = open_column(cells.ravel()[_places(columns, slice(None))])
    reports = Reports(mechanism, codes, partial(Encoded.of, k=size), None, times)
    found: Tally = counted_parts(reports, rows)
    return found


def margin_tally(tally: Tally, axes: Sequence[Axis], places: Sequence[int]) -> Tally:
    """The tally of some of the columns, from that of all."""
    parts = [np.eye(axis.m) if j in places else np.ones((axis.m, 1)) for j, axis in enumerate(axes)]
    kept = [axis.m for j, axis in enumerate(axes) if j in places]
    order = 1 + np.argsort(np.argsort(places))
    table = kron_all(parts).reshape(-1, *kept).transpose(0, *order).reshape(-1, prod(kept))
    cells = {
        key: replace(
            cell,
            reported=cell.reported @ table.astype(np.int64),
            weights=None if cell.weights is None else cell.weights @ table,
        )
        for key, cell in tally.cells.items()
    }
    return Tally(joint_mechanism([axes[place] for place in places]), cells, tally.n_missing)
