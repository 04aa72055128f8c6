"""First and second moments of columns of which a row reports a part, with the influence of rows.

A plan of a frame asks each row one private column, or a pair, so no row has them all; but moments
are means, and each is known from the rows that were asked for it.  With u_j the unbiased value of
column j in a row, and for a pair the unbiased value of the product u_jk,

    m_j = mean of u_j over the rows that were asked j,
    M_jk = mean of u_jk - m_j u_k - u_j m_k + m_j m_k over the rows that were asked both, + m_j m_k.

The second is the covariance around the means of *all* reports: about half as noisy as the mean of
u_jk in the rows of the pair, and moved by no constant that is added to a column.
Rows count by their weights times a precision that the plan fixes, (p - q)^2 as in `estimate`, so
that a column that is asked alone and in pairs loses nothing by its noisier reports.  The influence
of a row on M_jk is its weight times the derivative of M_jk by it; sums of squares of influences are
variances (the delta method).
Where all rows have all columns, moments and influences are the ordinary ones.
Source: Deville (1999) for variances by influences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.data.columns import blocks
from rrstats.errors import ArgumentValueError, MetadataError
from rrstats.estimation.report_columns.report_columns import ALL, ReportColumn, ordinary
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.plans import PlanParts, of_part, part_mechanism

# -- scores of reports -----------------------------------------------------------------------


class RowScores(NamedTuple):
    """Unbiased scores of the reports in some rows.

    rows : (r,) the rows with a report, ascending.  cells : (r,) the place of each in the table.
    table : (cells, k) scores of categories, or (cells, k1, k2) of the pairs of two columns.
    precision : (r,) how much each row counts, as the plan fixes it.
    """

    rows: NDArray[np.intp]
    cells: NDArray[np.intp]
    table: Floats
    precision: Floats

    def kept(self, keep: Booleans) -> RowScores:
        """The scores of the rows to keep, (rows,) true, by their new places."""
        is_kept = keep[self.rows]
        rows = (np.cumsum(keep) - 1)[self.rows[is_kept]]
        return self._replace(
            rows=rows, cells=self.cells[is_kept], precision=self.precision[is_kept]
        )


@dataclass(frozen=True, eq=False)
class PartScores:
    """Scores of private columns of one frame: of each by itself, and of those asked as a pair.

    names : of the columns.  single : of each.  pairs : by two places of columns of one plan.
    """

    names: tuple[Any, ...]
    single: tuple[RowScores, ...]
    pairs: dict[tuple[int, int], RowScores]

    @classmethod
    def of(cls, columns: Sequence[ReportColumn]) -> PartScores:
        """Read private columns; raises where a plan never asked two of them together."""
        read = [_read_parts(column) for column in columns]
        pairs = {
            (i, j): _pair_scores(read[i], read[j])
            for i, j in combinations(range(len(columns)), 2)
            if is_one_plan(columns[i], columns[j])
        }
        return cls(tuple(column.name for column in columns), tuple(map(_single, read)), pairs)

    @classmethod
    def of_whole(cls, columns: Sequence[ReportColumn]) -> PartScores:
        """Read private columns that are used in the rows that have all of them."""
        return cls(tuple(column.name for column in columns), tuple(map(_whole, columns)), {})

    def precision(self, place: int, rows: NDArray[np.intp]) -> Floats:
        """The precision of a column's reports in some of its rows."""
        single = self.single[place]
        return single.precision[_places(single.rows, rows)]

    def kept(self, keep: Booleans | None) -> PartScores:
        """The scores of the rows to keep; of all for None."""
        if keep is None:
            return self
        single = tuple(scores.kept(keep) for scores in self.single)
        pairs = {places: scores.kept(keep) for places, scores in self.pairs.items()}
        return replace(self, single=single, pairs=pairs)


def _places(all_rows: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """The places of some rows among all; both ascend, so as many are the same."""
    return ALL if len(rows) == len(all_rows) else np.searchsorted(all_rows, rows)


def is_one_plan(first: ReportColumn, second: ReportColumn) -> bool:
    """True for columns that one plan asks."""
    return first.plan is not None and first.plan == second.plan


def in_parts(columns: Sequence[ReportColumn]) -> bool:
    """True where rows do not have all columns, because a plan asks two of them."""
    return any(is_one_plan(*pair) for pair in combinations(columns, 2))


class _PartCodes(NamedTuple):
    """A private column as codes of its reports, and the part of its plan that each row was asked.

    codes : (rows,) k or more without a report.  part : (rows,) a place in the plan's parts; None
    for a column without a plan.
    """

    column: ReportColumn
    codes: NDArray[np.intp]
    part: NDArray[np.intp] | None


def _read_parts(column: ReportColumn) -> _PartCodes:
    """Read a column; raises for reports in other rows than the public column says."""
    if column.plan is None:
        return _PartCodes(column, np.empty(0, dtype=np.intp), None)
    encoded = column.read(ALL)
    column.refuse(column.unknown(encoded, ALL))
    public = ordinary(column.public)
    labels = column.plan.labels
    places = [labels.index(label) if label in labels else -1 for label in public.categories]
    part = np.array([*places, -1], dtype=np.intp)[public.codes()]
    asking = column.plan.asking(column.name)
    codes = encoded.codes.astype(np.intp)
    if ((codes < column.k) != np.isin(part, asking)).any():
        raise MetadataError(
            f"column {column.name!r} of a plan must have a report in the rows that were asked for "
            f"it, and in no others, as {column.plan.asked!r} says; use the columns as they were "
            "released"
        )
    return _PartCodes(column, codes, part)


def _whole(column: ReportColumn) -> RowScores:
    """Scores of one column, in which rows count alike."""
    if column.has_cells:
        cells = column.codes()
        rows = np.flatnonzero(cells < column.m)
        return RowScores(rows, cells[rows], column.score_table, np.ones(len(rows)))
    scores = column.scores()
    rows = np.flatnonzero(np.isfinite(scores).all(axis=1))
    return RowScores(rows, rows, scores, np.ones(len(rows)))


def _single(read: _PartCodes) -> RowScores:
    """Scores of one column."""
    column = read.column
    if read.part is None:
        return _whole(column)
    plan = cast(PlanParts, column.plan)
    rows = np.flatnonzero(read.codes < column.k)
    tables: list[Floats] = []
    precision = np.zeros(len(plan.parts))
    position = np.zeros(len(plan.parts), dtype=np.intp)
    for place in plan.asking(column.name):
        channel = of_part(cast(Mechanism, column.mechanism), plan.labels[place]).channel
        position[place] = len(tables)
        tables.append(channel.scores(np.arange(column.k)))
        precision[place] = channel.gap**2
    part_of_row = read.part[rows]
    cells = position[part_of_row] * column.k + read.codes[rows]
    return RowScores(rows, cells, np.vstack(tables), precision[part_of_row])


def _pair_scores(first: _PartCodes, second: _PartCodes) -> RowScores:
    """Scores of the pairs of categories of two columns of a plan, in the rows asked both."""
    names = (first.column.name, second.column.name)
    plan = cast(PlanParts, first.column.plan)
    asking = plan.asking(*names)
    if not asking:
        raise ArgumentValueError(
            f"the plan never asked the columns {names[0]!r} and {names[1]!r} of the same row, so "
            "how they go together is not known; a plan that asks this pair gives it, "
            f"rr.planning.frame(..., want=[..., ({names[0]!r}, {names[1]!r})]), or want='pairs'"
        )
    rows = np.flatnonzero(np.isin(cast(NDArray[np.intp], first.part), asking))
    # The order of both in the part does not matter: a report is a pair, right or one of the others.
    domains = [cast(Mechanism, each.column.mechanism).domain for each in (first, second)]
    joint = part_mechanism(domains, plan.epsilon)
    k1, k2 = (domain.k for domain in domains)
    table = joint.channel.scores(np.arange(k1 * k2)).reshape(k1 * k2, k1, k2)
    cells = first.codes[rows] * k2 + second.codes[rows]
    return RowScores(rows, cells, table, np.ones(len(rows)))


# -- columns and their products --------------------------------------------------------------


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
class _Values:
    """Unbiased values of the columns of a group.

    rows : (r,) of the values.  values : (r, e).  share : (r,) each row's part in a mean.
    """

    group: ColumnGroup
    rows: NDArray[np.intp]
    values: Floats
    share: Floats

    @cached_property
    def mean(self) -> Floats:
        """(e,) the means."""
        return np.asarray(self.share @ self.values)

    def among(self, rows: NDArray[np.intp]) -> Floats:
        """(some rows, e) the values of some of its rows."""
        return self.values[_places(self.rows, rows)]

    def base_of(self, rows: NDArray[np.intp]) -> Floats | None:
        """(some rows, e) the ordinary factors; None for ones."""
        return None if self.group.base is None else self.group.base[rows]


@dataclass(frozen=True, eq=False)
class _Product:
    """Unbiased products of the columns of two groups, in the rows that have both.

    rows : (r,).  share : (r,) each row's part in a mean.
    left, right : (r, l) and (r, r) the values of the columns by themselves.
    """

    rows: NDArray[np.intp]
    share: Floats
    left: Floats
    right: Floats

    def turned(self) -> _Product:
        """The products with left and right exchanged."""
        return replace(self, left=self.right, right=self.left)

    def mean(self, share: Floats) -> Floats:
        """(l, r) sums of the products times a share of each row."""
        return np.asarray((self.left * share[:, None]).T @ self.right)

    def combined(self, coefficients: Floats) -> Floats:
        """(rows, l) products with a combination of the right columns."""
        return self.left * (self.right @ coefficients)[:, None]

    @cached_property
    def left_mean(self) -> Floats:
        """(l,) means of the left columns in these rows."""
        return np.asarray(self.share @ self.left)

    @cached_property
    def right_mean(self) -> Floats:
        """(r,) means of the right columns in these rows."""
        return np.asarray(self.share @ self.right)


@dataclass(frozen=True, eq=False)
class _JointProduct(_Product):
    """A product of columns of one report, which has scores of its own.

    cells : (rows,).  table : (cells, l, r).  left_base, right_base : ordinary factors, or None.
    """

    cells: NDArray[np.intp]
    table: Floats
    left_base: Floats | None
    right_base: Floats | None

    def turned(self) -> _JointProduct:
        """The products with left and right exchanged."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            table=self.table.swapaxes(1, 2),
            left_base=self.right_base,
            right_base=self.left_base,
        )

    def mean(self, share: Floats) -> Floats:
        """(l, r) sums of the products times a share of each row."""
        if self.left_base is None and self.right_base is None:
            by_cell = np.bincount(self.cells, share, len(self.table))
            return np.asarray(np.tensordot(by_cell, self.table, axes=1))
        total = np.zeros(self.table.shape[1:])
        for part in blocks(len(self.rows)):
            products = self.table[self.cells[part]] * share[part, None, None]
            if self.left_base is not None:
                products *= self.left_base[part, :, None]
            if self.right_base is not None:
                products *= self.right_base[part, None, :]
            total += products.sum(axis=0)
        return total

    def combined(self, coefficients: Floats) -> Floats:
        """(rows, l) products with a combination of the right columns."""
        if self.right_base is None:
            sums = (self.table @ coefficients)[self.cells]
        else:
            sums = np.zeros(self.left.shape)
            weighted = self.right_base * coefficients
            for place in np.flatnonzero(coefficients):
                sums += self.table[:, :, place][self.cells] * weighted[:, place, None]
        return sums if self.left_base is None else sums * self.left_base


# -- moments ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """First and second moments of the columns of some groups, one after the other.

    scores : of the reports.  weights : (n,) of the rows.
    groups : the values of each.  places : of its columns among all.
    """

    scores: PartScores
    weights: Floats
    groups: tuple[_Values, ...]
    places: tuple[slice, ...]

    @classmethod
    def of(
        cls, scores: PartScores, groups: Iterable[ColumnGroup], weights: Floats
    ) -> SecondMoments:
        """The moments of groups of columns, from scores and (rows,) weights."""
        values = tuple(_values(scores, group, weights) for group in groups)
        ends = np.cumsum([each.values.shape[1] for each in values]).tolist()
        places = tuple(map(slice, [0, *ends[:-1]], ends))
        return cls(scores, weights, values, places)

    def again(self, weights: Floats) -> SecondMoments:
        """The moments by other weights."""
        return SecondMoments.of(self.scores, [values.group for values in self.groups], weights)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.weights)

    def product(self, a: int, b: int) -> _Product:
        """The products of the columns of two groups, the first of them not after the second."""
        return _product(self.scores, self.groups[a], self.groups[b], self.weights)

    @cached_property
    def products(self) -> dict[tuple[int, int], _Product]:
        """The products of all groups, by the places of two."""
        pairs = combinations_with_replacement(range(len(self.groups)), 2)
        return {(a, b): self.product(a, b) for a, b in pairs}

    @cached_property
    def mean(self) -> Floats:
        """(p,) the first moments."""
        return np.concatenate([values.mean for values in self.groups])

    @cached_property
    def second(self) -> Floats:
        """(p, p) the second moments; noise may make them those of no distribution."""
        moments = np.zeros((len(self.mean),) * 2)
        for (a, b), product in self.products.items():
            moment = self.moment(product, (a, b))
            moments[self.places[a], self.places[b]] = moment
            moments[self.places[b], self.places[a]] = moment.T
        return moments

    def moment(self, product: _Product, sides: tuple[int, int]) -> Floats:
        """(l, r) the second moments of the columns of two groups, from their products."""
        left, right = (self.groups[side].mean for side in sides)
        moment = product.mean(product.share) + 2 * np.outer(left, right)
        moment -= np.outer(left, product.right_mean) + np.outer(product.left_mean, right)
        return np.asarray(moment)

    def moment_influence(
        self, product: _Product, sides: tuple[int, int], coefficients: Floats
    ) -> Floats:
        """(n, l) the influence of each row on ``moment @ coefficients``.

        coefficients : (r,) of the right columns.
        """
        left, right = (self.groups[side].mean for side in sides)
        of_left, of_right = (self.mean_influence[:, self.places[side]] for side in sides)
        terms = product.combined(coefficients) - product.left * float(right @ coefficients)
        terms -= np.outer(product.right @ coefficients, left)
        terms -= product.share @ terms
        # The means of all reports, from which products are measured, vary too.
        influence = of_left * float((2 * right - product.right_mean) @ coefficients)
        influence += np.outer(of_right @ coefficients, 2 * left - product.left_mean)
        influence[_among_all(product.rows, self.n)] += terms * product.share[:, None]
        return np.asarray(influence)

    @cached_property
    def mean_influence(self) -> Floats:
        """(n, p) the influence of each row on the first moments."""
        influence = np.zeros((self.n, len(self.mean)), order="F")
        for values, places in zip(self.groups, self.places, strict=True):
            terms = (values.values - values.mean) * values.share[:, None]
            influence[_among_all(values.rows, self.n), places] = terms
        return influence

    def influence(self, coefficients: Floats) -> Floats:
        """(n, p) the influence of each row on ``second @ coefficients``."""
        total = np.zeros((self.n, len(self.mean)), order="F")
        for (a, b), product in self.products.items():
            for sides, block in {(b, a): product.turned(), (a, b): product}.items():
                left, right = (self.places[side] for side in sides)
                if coefficients[right].any():
                    total[:, left] += self.moment_influence(block, sides, coefficients[right])
        return total

    def of_rows(self, rows: Booleans) -> Floats:
        """(p, p) the part that some of the (n,) rows have in the second moments."""
        moments = np.zeros((len(self.mean),) * 2)
        for (a, b), product in self.products.items():
            moment = product.mean(product.share * rows[product.rows])
            moments[self.places[a], self.places[b]] = moment
            moments[self.places[b], self.places[a]] = moment.T
        return moments


def _among_all(rows: NDArray[np.intp], n: int) -> NDArray[np.intp] | slice:
    """Ascending rows of n, as a slice where they are all."""
    return ALL if len(rows) == n else rows


def _values(scores: PartScores, group: ColumnGroup, weights: Floats) -> _Values:
    """The unbiased values of a group's columns in the rows that have them."""
    if group.owner is None:
        return _Values(group, np.arange(len(weights)), cast(Floats, group.base), _shares(weights))
    rows, cells, table, precision = scores.single[group.owner]
    if not len(rows):
        raise ArgumentValueError(
            f"no row has a report of column {scores.names[group.owner]!r}, so its moments are not "
            "known; use more rows of the release"
        )
    values = (table @ group.numbers)[cells]
    if group.base is not None:
        values *= group.base[rows]
    return _Values(group, rows, values, _shares(weights[rows] * precision))


def _shares(weights: Floats) -> Floats:
    """Weights that sum to 1."""
    return np.asarray(weights / weights.sum())


def _product(scores: PartScores, left: _Values, right: _Values, weights: Floats) -> _Product:
    """The products of the columns of two groups."""
    i = left.group.owner
    j = right.group.owner
    if i is None or j is None:
        fewer = left if j is None else right
        rows = fewer.rows
        return _Product(rows, fewer.share, left.among(rows), right.among(rows))
    if i == j:
        _, cells, table, _ = scores.single[i]
        squares = left.group.numbers[:, :, None] * right.group.numbers[:, None, :]
        joint = np.tensordot(table, squares, axes=1)
        return _joint(left, right, left.rows, left.share, cells=cells, table=joint)
    if i < j and (i, j) in scores.pairs:
        rows, cells, table, _ = scores.pairs[i, j]
        if not len(rows):
            raise ArgumentValueError(
                f"no row was asked the pair of {scores.names[i]!r} and {scores.names[j]!r} and has "
                "a weight and all covariates, so how they go together is not known; use more rows "
                "of the release"
            )
        joint = np.einsum("cij,il,jr->clr", table, left.group.numbers, right.group.numbers)
        return _joint(left, right, rows, _shares(weights[rows]), cells=cells, table=joint)
    rows = left.rows
    if not np.array_equal(rows, right.rows):
        rows = np.intersect1d(rows, right.rows, assume_unique=True)
    if not len(rows):
        raise ArgumentValueError(
            f"no row has reports of both {scores.names[i]!r} and {scores.names[j]!r}, so how "
            "they go together is not known; use more rows of the release"
        )
    precision = scores.precision(i, rows) * scores.precision(j, rows)
    share = _shares(weights[rows] * precision)
    return _Product(rows, share, left.among(rows), right.among(rows))


def _joint(
    left: _Values,
    right: _Values,
    rows: NDArray[np.intp],
    share: Floats,
    *,
    cells: NDArray[np.intp],
    table: Floats,
) -> _JointProduct:
    """The products of columns of one report."""
    return _JointProduct(
        rows=rows,
        share=share,
        left=left.among(rows),
        right=right.among(rows),
        cells=cells,
        table=table,
        left_base=left.base_of(rows),
        right_base=right.base_of(rows),
    )
