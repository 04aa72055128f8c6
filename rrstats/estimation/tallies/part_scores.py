"""Unbiased scores of the reports of private columns, of which a plan asks each row a part.

A plan of a frame asks each row one private column, or a pair, so no row has them all.  A column has
scores in the rows that were asked it, and two columns of one plan have joint scores in the rows
that were asked both.
Rows count by a precision that the plan fixes, (p - q)^2 as in `estimate`, so that a column that is
asked alone and in pairs loses nothing by its noisier reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, cast

import numpy as np

from rrstats._typing import Booleans, Floats, Indices
from rrstats.errors import ArgumentValueError, MetadataError
from rrstats.estimation.report_columns.report_columns import ALL, ReportColumn, ordinary
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.plans import of_part, part_mechanism


class RowScores(NamedTuple):
    """Unbiased scores of the reports in some rows.

    rows : (r,) the rows with a report, ascending.  cells : (r,) the place of each in the table.
    table : (cells, k) scores of categories, or (cells, k1, k2) of the pairs of two columns.
    precision : (r,) how much each row counts, as the plan fixes it.
    """

    rows: Indices
    cells: Indices
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

    def precision(self, place: int, rows: Indices) -> Floats:
        """The precision of a column's reports in some of its rows."""
        single = self.single[place]
        return single.precision[places_among(single.rows, rows)]

    def kept(self, keep: Booleans | None) -> PartScores:
        """The scores of the rows to keep; of all for None."""
        if keep is None:
            return self
        single = tuple(scores.kept(keep) for scores in self.single)
        pairs = {places: scores.kept(keep) for places, scores in self.pairs.items()}
        return replace(self, single=single, pairs=pairs)


def places_among(all_rows: Indices, rows: Indices) -> Indices | slice:
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
    codes: Indices
    part: Indices | None


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
    rows = np.flatnonzero(~np.isnan(scores[:, 0]))
    if column.rates is not None:
        column.rates.check_informative(rows, every=True)
    # The table is multiplied as a whole, so that no missing report may stay in it.
    return RowScores(rows, np.arange(len(rows)), scores[rows], np.ones(len(rows)))


def _single(read: _PartCodes) -> RowScores:
    """Scores of one column."""
    column = read.column
    if read.part is None:
        return _whole(column)
    plan = cast(FramePlan, column.plan)
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
    plan = cast(FramePlan, first.column.plan)
    asking = plan.asking(*names)
    if not asking:
        raise ArgumentValueError(
            f"the plan never asked the columns {names[0]!r} and {names[1]!r} of the same row, so "
            "how they go together is not known; a plan that asks this pair gives it, "
            f"rr.planning.plan(..., want=[..., ({names[0]!r}, {names[1]!r})]), or want='pairs'"
        )
    rows = np.flatnonzero(np.isin(cast(Indices, first.part), asking))
    # The order of both in the part does not matter: a report is a pair, right or one of the others.
    domains = [cast(Mechanism, each.column.mechanism).domain for each in (first, second)]
    joint = part_mechanism(domains, plan.epsilon)
    k1, k2 = (domain.k for domain in domains)
    table = joint.channel.scores(np.arange(k1 * k2)).reshape(k1 * k2, k1, k2)
    cells = first.codes[rows] * k2 + second.codes[rows]
    return RowScores(rows, cells, table, np.ones(len(rows)))
