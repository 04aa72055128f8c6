"""First and second moments of columns from unbiased scores of rows, with the influence of each row.

A report has an unbiased score for each profile, a combination of true categories.  With X_x the
columns of a row if its profile were x, and s_x the score, E[sum_x s_x X_x X_x' | truth t] = X_t
X_t'.  So moments of columns that were not seen are means over rows.

Where no row has all columns, as in a plan that asks each row a part of them, a block of the moments
is known from the rows that were asked for its columns.  With u_j the unbiased value of column j in
a row, and u_jk that of a product,

    m_j = mean of u_j over the rows that were asked j,
    M_jk = mean of u_jk - m_j u_k - u_j m_k + m_j m_k over the rows that were asked both, + m_j m_k.

The second is the covariance around the means of *all* reports: about half as noisy as the mean of
u_jk in the rows of the pair, and moved by no constant that is added to a column.
The influence of a row on a moment is its weight times the derivative of the moment by it; sums of
squares of influences are variances (the delta method).  Influences are computed in blocks of rows,
so memory does not grow with the number of columns.
Where all rows have all columns, moments and influences are the ordinary ones.
Sources: Nakamura (1990) for corrected scores; Deville (1999) for variances by influences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from rrstats._cached import cached_property
from rrstats._typing import Floats, Indices
from rrstats.data.columns import blocks
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.report_columns import ALL
from rrstats.estimation.tallies.part_scores import PartScores, RowScores, places_among

BLOCK = 8_192
"""Rows worked on at once, so that what is computed of them stays in cache."""

Places = slice | Indices
"""Places of some rows among those of a product."""


# -- columns ---------------------------------------------------------------------------------


class ColumnGroup(NamedTuple):
    """Columns that are made of one private column, or of ordinary ones.

    owner : the place of the private column in `PartScores`, or None.
    numbers : (k, e) each column's number for the categories of the owner.
    base : (rows, e) the ordinary column that each is multiplied by; None for ones.
    """

    owner: int | None
    numbers: Floats
    base: Floats | None

    def column(self, place: int) -> ColumnGroup:
        """One of the columns as a group."""
        base = None if self.base is None else self.base[:, [place]]
        return self._replace(numbers=self.numbers[:, [place]], base=base)


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """Unbiased values of the columns of a group.

    rows : (r,) those that have values.  mean_weights : (r,) of the rows in means.
    cells : (r,) places in (cells, e) values of reports; None for ordinary columns.
    """

    group: ColumnGroup
    rows: Indices
    mean_weights: Floats
    cells: Indices | None
    by_cell: Floats

    @classmethod
    def of(cls, scores: PartScores, group: ColumnGroup, weights: Floats) -> ColumnValues:
        """The values of a group, from the scores of reports and (n,) weights of rows."""
        if group.owner is None:
            every_row = np.arange(len(weights))
            return cls(group, every_row, normalized(weights), None, np.empty((0, 0)))
        rows, cells, table, precision = scores.single[group.owner]
        if not len(rows):
            raise ArgumentValueError(
                f"no row has a report of column {scores.names[group.owner]!r}, so its moments are "
                "not known; use more rows of the release"
            )
        mean_weights = normalized(weights[rows] * precision)
        return cls(group, rows, mean_weights, cells, table @ group.numbers)

    def values(self, places: Places) -> Floats:
        """(e, some rows) the values in the rows at some places among these."""
        base = self.group.base
        if self.cells is None:
            assert base is not None
            return base[places].T
        values = np.take(self.by_cell.T, self.cells[places], axis=1)
        if base is not None:
            values *= base[self.rows[places]].T
        return values

    def mean_in(self, rows: Indices, mean_weights: Floats) -> Floats:
        """(e,) means in some of its rows, by the weight of each."""
        places = places_among(self.rows, rows)
        if self.cells is not None and self.group.base is None:
            by_cell = np.bincount(self.cells[places], mean_weights, len(self.by_cell))
            return np.asarray(by_cell @ self.by_cell)
        sums = (
            self.values(_subset(places, part)) @ mean_weights[part]
            for part in blocks(len(rows), BLOCK)
        )
        return np.asarray(sum(sums, np.zeros(self.size)))

    @property
    def size(self) -> int:
        """The number of columns."""
        columns = self.by_cell if self.group.base is None else self.group.base
        return int(columns.shape[1])

    @cached_property
    def mean(self) -> Floats:
        """(e,) the means."""
        return self.mean_in(self.rows, self.mean_weights)

    def influence(self, part: slice) -> Floats:
        """(e, rows of the part) the influence of each row on the means."""
        places, into = _within(self.rows, part)
        influence = np.zeros((self.size, part.stop - part.start))
        influence[:, into] = (self.values(places) - self.mean[:, None]) * self.mean_weights[places]
        return influence


def normalized(weights: Floats) -> Floats:
    """The weights, divided by their sum."""
    return np.asarray(weights / weights.sum())


def _within(rows: Indices, part: slice) -> tuple[slice, Places]:
    """The places of the rows that are in a part of all rows, and their places in this part."""
    start, stop = np.searchsorted(rows, [part.start, part.stop]).tolist()
    if stop - start == part.stop - part.start:
        return slice(start, stop), ALL
    return slice(start, stop), rows[start:stop] - part.start


# -- products --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowProducts:
    """Unbiased products of left and right columns, in the rows that have both.

    In profile x the columns are ``left[x].T @ ordinary`` and ``right[x].T @ ordinary``, of few
    ordinary columns.  So sums of products are those of the ordinary columns, weighted by scores,
    and no array has all profiles, rows and columns.

    rows : (r,) ascending.  mean_weights : (r,) of the rows in means.
    cells : (r,) places in the table, (cells, C) scores of C profiles.
    left, right : (C, q, l) and (C, q, r).
    ordinary : gives (q, some rows) ordinary columns in the rows at some places; None for ones.
    """

    rows: Indices
    mean_weights: Floats
    cells: Indices
    table: Floats
    left: Floats
    right: Floats
    ordinary: Callable[[Places], Floats] | None

    @property
    def transposed(self) -> RowProducts:
        """The products with left and right exchanged."""
        return replace(self, left=self.right, right=self.left)

    def scores(self, places: Places) -> Floats:
        """(C, some rows) scores of the profiles."""
        return np.take(self.table.T, self.cells[places], axis=1)

    @cached_property
    def moment(self) -> Floats:
        """(l, r) means of the products."""
        return self.total()

    def total(self, places: Indices | None = None) -> Floats:
        """(l, r) weighted sums of the products, of all rows or those at some places."""
        if self.ordinary is None:
            some = ALL if places is None else places
            by_cell = np.bincount(self.cells[some], self.mean_weights[some], len(self.table))
            by_profile = by_cell @ self.table
            return np.asarray((self.left[:, 0] * by_profile[:, None]).T @ self.right[:, 0])
        return self._weighted(lambda some, _: self.scores(some) * self.mean_weights[some], places)

    def noiseless(self, coefficients: Floats) -> Floats:
        """(l, r) unbiased sums of the products times (weight * right columns @ coefficients)^2.

        That is the sum of products of the terms of rows, if their profiles were known.
        """
        combination = self.right @ coefficients

        def weights(some: Places, columns: Floats) -> Floats:
            return self.scores(some) * (self.mean_weights[some] * (combination @ columns)) ** 2

        return self._weighted(weights)

    def _weighted(
        self,
        weights: Callable[[Places, Floats], Floats],
        places: Indices | None = None,
    ) -> Floats:
        """(l, r) sums of products, weighted by profile.

        weights : gives (C, some rows), from places of rows and their ordinary columns.
        """
        assert self.ordinary is not None
        of_left, of_right = ([_used(mix) for mix in side] for side in (self.left, self.right))
        grams = [np.zeros((len(a), len(b))) for a, b in zip(of_left, of_right, strict=True)]
        parts: Iterable[Places] = blocks(len(self.rows), BLOCK)
        if places is not None:
            parts = [places[part] for part in blocks(len(places), BLOCK)]
        for some in parts:
            columns = self.ordinary(some)
            profiles = zip(grams, of_left, of_right, weights(some, columns), strict=True)
            for gram, left, right, weight in profiles:
                gram += (columns[left] * weight) @ columns[right].T
        total = np.zeros((self.left.shape[2], self.right.shape[2]))
        for x, gram in enumerate(grams):
            total += self.left[x, of_left[x]].T @ gram @ self.right[x, of_right[x]]
        return total

    def combined(self, places: Places, coefficients: Floats) -> Floats:
        """(l, some rows) products of the left columns with a combination of the right ones."""
        combination = self.right @ coefficients
        if self.ordinary is None:
            return self._by_cell(places, self.left[:, 0] * combination)
        columns = self.ordinary(places)
        weighted = self.scores(places) * (combination @ columns)
        total = np.zeros((self.left.shape[2], columns.shape[1]))
        for place, column in enumerate(columns):
            mix = self.left[:, place]
            moved = np.flatnonzero(mix.any(axis=0))
            total[moved] += (mix[:, moved].T @ weighted) * column
        return total

    def quadratic(self, places: Places, of_left: Floats, of_right: Floats) -> Floats:
        """(v, some rows) products of v combinations of the left and of the right columns.

        of_left, of_right : (l, v) and (r, v) coefficients.
        """
        left = self.left @ of_left
        right = self.right @ of_right
        if self.ordinary is None:
            return self._by_cell(places, left[:, 0] * right[:, 0])
        columns = self.ordinary(places)
        scores = self.scores(places)
        total = np.empty((left.shape[2], columns.shape[1]))
        for place in range(len(total)):
            products = left[:, :, place] @ columns
            products *= products if self.left is self.right else right[:, :, place] @ columns
            products *= scores
            total[place] = products.sum(axis=0)
        return total

    def _by_cell(self, places: Places, by_profile: Floats) -> Floats:
        """(l, some rows) sums of scores times (C, l) numbers of profiles."""
        cells = self.cells[places]
        if len(self.table) > len(cells):
            return np.asarray(by_profile.T @ self.scores(places))
        return np.take((self.table @ by_profile).T, cells, axis=1)


def _used(mix: Floats) -> Indices:
    """The ordinary columns that (q, l) columns of a profile use."""
    return np.flatnonzero(mix.any(axis=1))


@dataclass(frozen=True, eq=False)
class MomentBlock:
    """A block of the second moments.

    products : around the means, if there are any.  left, right : places of its columns.
    around : the values of the left and right columns, whose means are those of all reports; None
    where their means are those of these rows, so that nothing must be moved.
    """

    products: RowProducts
    left: slice
    right: slice
    around: tuple[ColumnValues, ColumnValues] | None = None

    @cached_property
    def transposed(self) -> MomentBlock:
        """The block on the other side of the diagonal."""
        around = None if self.around is None else self.around[::-1]
        return MomentBlock(self.products.transposed, self.right, self.left, around)

    @property
    def is_diagonal(self) -> bool:
        """True where it has both sides of the diagonal."""
        return self.left == self.right

    @cached_property
    def moment(self) -> Floats:
        """(l, r) the second moments."""
        if self.around is None:
            return self.products.moment
        left, right = self.around
        return np.asarray(self.products.moment + np.outer(left.mean, right.mean))

    def of_rows(self, rows: Indices, n: int) -> Floats:
        """(l, r) the part that some of n rows have in the mean of products, not around means."""
        products = self.products
        places = rows
        if len(products.rows) < n:
            places = np.flatnonzero(np.isin(products.rows, rows))
        total = products.total(places)
        if self.around is None:
            return total
        mean_weights = products.mean_weights[places]
        left, right = self.around
        of_left, of_right = (
            side.mean_in(products.rows[places], mean_weights) for side in self.around
        )
        total += np.outer(left.mean, of_right) + np.outer(of_left, right.mean)
        return np.asarray(total - mean_weights.sum() * np.outer(left.mean, right.mean))

    @cached_property
    def _slopes(self) -> tuple[Floats, Floats]:
        """(l,) and (r,): slopes of moments by the means of the right and of the left columns."""
        assert self.around is not None
        rows, mean_weights = self.products.rows, self.products.mean_weights
        left, right = (2 * side.mean - side.mean_in(rows, mean_weights) for side in self.around)
        return left, right

    def influence(self, part: slice, coefficients: Floats) -> Floats:
        """(l, rows of the part) the influence of each row on ``moment @ coefficients``."""
        products = self.products
        places, into = _within(products.rows, part)
        influence = np.zeros((self.left.stop - self.left.start, part.stop - part.start))
        terms = products.combined(places, coefficients)
        terms -= (products.moment @ coefficients)[:, None]
        influence[:, into] = terms * products.mean_weights[places]
        if self.around is not None:
            # The means of all reports, from which products are measured, vary too.
            by_right, by_left = self._slopes
            left, right = (side.influence(part) for side in self.around)
            influence += left * float(by_left @ coefficients)
            influence += np.outer(by_right, coefficients @ right)
        return influence

    def quadratic_influence(self, part: slice, of_left: Floats, of_right: Floats) -> Floats:
        """(v, rows of the part) influences on ``of_left[:, j] @ moment @ of_right[:, j]``."""
        products = self.products
        places, into = _within(products.rows, part)
        influence = np.zeros((of_left.shape[1], part.stop - part.start))
        terms = products.quadratic(places, of_left, of_right)
        terms -= np.einsum("lv,lr,rv->v", of_left, products.moment, of_right)[:, None]
        influence[:, into] = terms * products.mean_weights[places]
        if self.around is not None:
            by_right, by_left = self._slopes
            left, right = (side.influence(part) for side in self.around)
            influence += (of_left.T @ left) * (by_left @ of_right)[:, None]
            influence += (of_right.T @ right) * (by_right @ of_left)[:, None]
        return influence


# -- moments ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Second moments of columns, in blocks on and above the diagonal.

    n : the number of rows.  size : of columns, p.
    """

    n: int
    size: int
    blocks: tuple[MomentBlock, ...]

    @classmethod
    def of_whole(cls, products: RowProducts) -> ScoreMoments:
        """The moments of columns that all rows have."""
        every_column = slice(0, products.left.shape[2])
        block = MomentBlock(products, every_column, every_column)
        return cls(len(products.rows), every_column.stop, (block,))

    @property
    def parts(self) -> list[slice]:
        """All rows, in blocks."""
        return [slice(part.start, min(part.stop, self.n)) for part in blocks(self.n, BLOCK)]

    @cached_property
    def second(self) -> Floats:
        """(p, p) the second moments; noise may make them those of no distribution."""
        return self._filled([block.moment for block in self.blocks])

    def _filled(self, moments: Sequence[Floats]) -> Floats:
        """(p, p) a symmetric matrix of the moments of the blocks."""
        matrix = np.zeros((self.size, self.size))
        for block, moment in zip(self.blocks, moments, strict=True):
            if block.is_diagonal:
                moment = (moment + moment.T) / 2
            matrix[block.left, block.right] = moment
            matrix[block.right, block.left] = moment.T
        return matrix

    def influences(self, coefficients: Floats) -> Iterator[Floats]:
        """(p, some rows) the influence of each row on ``second @ coefficients``, in blocks."""
        sides = list(self.blocks)
        sides += [block.transposed for block in self.blocks if not block.is_diagonal]
        used = [block for block in sides if coefficients[block.right].any()]
        for part in self.parts:
            total = np.zeros((self.size, part.stop - part.start))
            for block in used:
                total[block.left] += block.influence(part, coefficients[block.right])
            yield total

    def squared_errors(self, combinations: Floats) -> Floats:
        """(v,) squared standard errors of the mean squares of (p, v) combinations of columns."""
        squares = np.zeros(combinations.shape[1])
        for part in self.parts:
            total = np.zeros((len(squares), part.stop - part.start))
            for block in self.blocks:
                of_left, of_right = combinations[block.left], combinations[block.right]
                if of_left.any() and of_right.any():
                    influence = block.quadratic_influence(part, of_left, of_right)
                    total += influence if block.is_diagonal else 2 * influence
            squares += np.einsum("vr,vr->v", total, total)
        return squares

    def of_rows(self, rows: Indices) -> Floats:
        """(p, p) the part that rows at some places have in the second moments."""
        return self._filled([block.of_rows(rows, self.n) for block in self.blocks])


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Moments of groups of columns, each pair in the rows that have reports of both.

    scores : of the reports.  weights : (n,) of the rows.  groups : the values of each.
    """

    scores: PartScores
    weights: Floats
    groups: tuple[ColumnValues, ...]

    @classmethod
    def of(cls, scores: PartScores, groups: Iterable[ColumnGroup], weights: Floats) -> GroupMoments:
        """The moments of groups of columns, from scores and (n,) weights."""
        values = tuple(ColumnValues.of(scores, group, weights) for group in groups)
        return cls(scores, weights, values)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """The columns of each group, among all."""
        ends = np.cumsum([group.size for group in self.groups]).tolist()
        return tuple(map(slice, [0, *ends[:-1]], ends))

    @property
    def mean(self) -> Floats:
        """(p,) the first moments."""
        return np.concatenate([group.mean for group in self.groups])

    def all_pairs(self) -> ScoreMoments:
        """The second moments of all columns."""
        pairs = combinations_with_replacement(range(len(self.groups)), 2)
        moments = tuple(self.pair(a, b) for a, b in pairs)
        return ScoreMoments(len(self.weights), self.places[-1].stop, moments)

    def pair(self, a: int, b: int) -> MomentBlock:
        """The products of the columns of two groups, the first not after the second."""
        left, right = self.groups[a], self.groups[b]
        # Columns of one report, or of none, are known in the same rows.
        around = None if left.group.owner == right.group.owner else (left, right)
        products = self._products(left, right)
        return MomentBlock(products, self.places[a], self.places[b], around)

    def _products(self, left: ColumnValues, right: ColumnValues) -> RowProducts:
        """The products of two groups: around their means, but of one report around 0."""
        i = left.group.owner
        j = right.group.owner
        scores = self.scores
        if i is None or j is None:
            fewer = left if j is None else right
            return _value_products(left, right, fewer.rows, fewer.mean_weights, is_centred=i != j)
        if i == j:
            single = scores.single[i]
            every = np.arange(single.table.shape[1])
            return _joint_products(
                left, right, single, left.mean_weights, profiles=(every, every), is_centred=False
            )
        if i < j and (i, j) in scores.pairs:
            joint = scores.pairs[i, j]
            if not len(joint.rows):
                raise ArgumentValueError(
                    f"no row was asked the pair of {scores.names[i]!r} and {scores.names[j]!r} and "
                    "has a weight and all covariates, so how they go together is not known; use "
                    "more rows of the release"
                )
            cells, k1, k2 = joint.table.shape
            flat = joint._replace(table=joint.table.reshape(cells, k1 * k2))
            mean_weights = normalized(self.weights[joint.rows])
            first, second = np.divmod(np.arange(k1 * k2), k2)
            return _joint_products(
                left, right, flat, mean_weights, profiles=(first, second), is_centred=True
            )
        rows = left.rows
        if not np.array_equal(rows, right.rows):
            rows = np.intersect1d(rows, right.rows, assume_unique=True)
        if not len(rows):
            raise ArgumentValueError(
                f"no row has reports of both {scores.names[i]!r} and {scores.names[j]!r}, so how "
                "they go together is not known; use more rows of the release"
            )
        precision = scores.precision(i, rows) * scores.precision(j, rows)
        mean_weights = normalized(self.weights[rows] * precision)
        return _value_products(left, right, rows, mean_weights, is_centred=True)


def _value_products(
    left: ColumnValues,
    right: ColumnValues,
    rows: Indices,
    mean_weights: Floats,
    *,
    is_centred: bool,
) -> RowProducts:
    """Products of columns whose noise is independent: of their values, as if they were ordinary."""
    sides = (left,) if left is right else (left, right)
    places = [places_among(side.rows, rows) for side in sides]

    def values(some: Places) -> Floats:
        columns = [side.values(_subset(at, some)) for side, at in zip(sides, places, strict=True)]
        if is_centred:
            columns = [x - side.mean[:, None] for x, side in zip(columns, sides, strict=True)]
        return np.vstack(columns)

    every = np.eye(sum(side.size for side in sides))[None]
    return RowProducts(
        rows=rows,
        mean_weights=mean_weights,
        cells=np.broadcast_to(np.intp(0), len(rows)),
        table=np.ones((1, 1)),
        left=every[:, :, : left.size],
        right=every[:, :, -right.size :],
        ordinary=values,
    )


def _subset(places: Places, some: Places) -> Places:
    """Some of places, which are all or written out."""
    return some if isinstance(places, slice) else places[some]


def _joint_products(
    left: ColumnValues,
    right: ColumnValues,
    joint: RowScores,
    mean_weights: Floats,
    *,
    profiles: tuple[Indices, Indices],
    is_centred: bool,
) -> RowProducts:
    """Products of columns of one report, which has joint scores.

    profiles : (C,) the categories of the left and of the right owner in each profile.
    """
    sides = (left,) if left is right else (left, right)
    bases = [side.group.base for side in sides if side.group.base is not None]
    q = 1 + sum(base.shape[1] for base in bases)
    mixes = []
    start = 1
    for side, categories in zip(sides, profiles, strict=False):
        columns = np.arange(side.size)
        mix = np.zeros((len(categories), q, side.size))
        if side.group.base is None:
            mix[:, 0] = side.group.numbers[categories]
        else:
            mix[:, start + columns, columns] = side.group.numbers[categories]
            start += side.size
        if is_centred:
            mix[:, 0] -= side.mean
        mixes.append(mix)

    def ordinary(some: Places) -> Floats:
        rows = joint.rows[some]
        return np.vstack([np.ones((1, len(rows))), *(base[rows].T for base in bases)])

    return RowProducts(
        rows=joint.rows,
        mean_weights=mean_weights,
        cells=joint.cells,
        table=joint.table,
        left=mixes[0],
        right=mixes[-1],
        ordinary=ordinary if bases else None,
    )
