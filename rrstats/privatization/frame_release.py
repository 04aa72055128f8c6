"""The release of a plan's columns: a public coin first, and then the reports of what it picked.

Rows whose parts have equal numbers of categories draw together, with words of their own; answers
that were not asked are not read.  `mechanisms.frame_plans` has the plan and its proof.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_instance,
    check_one_of,
)
from rrstats._typing import Indices, Labels
from rrstats.data.categories import (
    Codes,
)
from rrstats.data.columns import Column, open_column
from rrstats.mechanisms.documents import POLICIES
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import ColumnRecord
from rrstats.privatization.column import ColumnAnswers, chained, threads_for
from rrstats.randomness.samplers import below, cells
from rrstats.randomness.sources import (
    REPLACEMENT_STREAM,
    Source,
    Substream,
    Unpicklable,
    open_source,
)

PART_STREAM = 0
"""The stream of random words that chooses the part of each row."""

_NULLABLE = {"bool": pd.BooleanDtype(), "int": pd.Int64Dtype()}
"""Types of pandas, by the kind of the declared categories, for columns of NumPy's types."""


class FrameRelease(Unpicklable):
    """The private columns of a plan, to privatize whole or in batches; nothing is drawn yet.

    likes : each private column by name, or any cells of its type; only the types matter here.
    plan : the plan.  names : the columns of the data, among which the public one must be new.
    unknown, missing, rng, threads : as for `privatize`; missing answers cannot be kept.
    records : what the data record of earlier releases; a column of reports is refused.
    ``columns`` are the private columns by name, each a `ColumnAnswers` with its counts, type and
    the facts of its record; ``plan.asked`` is added to the data as text.

    >>> import rrstats as rr
    >>> plan = FramePlan({"a": [0, 1], "b": ["x", "y"]}, 1.5, [("a", "b")])
    >>> release = FrameRelease({"a": pd.Series([0]), "b": pd.Series(["x"])}, plan, ["a", "b"])
    >>> list(release.reports({"a": pd.Series([1, 0]), "b": pd.Series(["x", None])}))
    ['a', 'b', 'rr_asked']
    """

    def __init__(
        self,
        likes: Mapping[Any, Any],
        plan: FramePlan,
        names: Iterable[Any],
        *,
        unknown: str = "raise",
        missing: str = "unknown",
        rng: Any = None,
        threads: int | None = None,
        records: Iterable[ColumnRecord] = (),
    ) -> None:
        plan.check_new(names)
        policies = [policy for policy in POLICIES["missing"] if policy != "keep"]
        check_one_of(missing, "with a plan (a missing cell means: not asked) missing", policies)
        earlier = {record.name: record for record in records}
        opened = {name: open_column(likes[name]) for name in plan.categories}
        if any(column.family == "arrow" for column in opened.values()):
            check_instance(plan.asked, "asked", str, "text, like all names of such data")
        self.plan = plan
        self.columns: dict[Any, ColumnAnswers] = {}
        for name, mechanism in plan.mechanisms.items():
            if name in earlier:
                chained(earlier[name], mechanism, again=False, missing=missing, rng=rng)
            like = opened[name]
            dtype = _NULLABLE.get(plan.categories[name].kind)
            if dtype is not None and like.family == "pandas" and isinstance(like.dtype, np.dtype):
                like = like._replace(dtype=dtype)
            self.columns[name] = ColumnAnswers(
                like, mechanism, unknown=unknown, missing=missing, leaves_missing=True
            )
        self._threads = max(threads_for(column, threads) for column in opened.values())
        chances = [Fraction(number) for number in plan.chances]
        self._cuts = [partial / sum(chances) for partial in accumulate(chances)][:-1]
        self._groups = _part_groups(plan, rng)
        self._coin = open_source(rng)
        for column in self.columns.values():
            column.secure = self._coin.secure
            simulated = not column.secure
            column.facts |= {"simulated": simulated, "keyed": False, "plan": plan.recorded}

    def reports(self, values: Mapping[Any, Any]) -> dict[Any, Any]:
        """The reports of the next answers by column, in their containers; the public column last.

        values : the private columns by name, all of the same length.
        """
        opened = {name: open_column(values[name]) for name in self.columns}
        first = next(iter(opened))
        rows = opened[first].rows
        chosen = np.empty(rows, dtype=np.min_scalar_type(len(self.plan.parts)))
        builders = {name: column.builder(rows) for name, column in self.columns.items()}
        for name, column in self.columns.items():
            column.compare_rows(opened[name].cells)

        def write_block(block: int, part: slice) -> None:
            # The coin comes first: nothing of an answer, nor whether it is there, is known yet.
            count = part.stop - part.start
            chosen[part] = cells(self._coin, PART_STREAM, block, count, cuts=self._cuts)
            for name, places, codes in self._draw(chosen[part], opened, part.start, block):
                builders[name].write_some(part, places, codes)

        self.columns[first].in_blocks(write_block, rows, self._threads)
        reports: dict[Any, Any] = {
            name: column.wrap(builders[name].reports()) for name, column in opened.items()
        }
        return reports | {self.plan.asked: _public_column(opened[first], chosen, self.plan)}

    def _draw(
        self, chosen: Codes, opened: Mapping[Any, Column], start: int, block: int
    ) -> Iterator[tuple[Any, Indices, Codes]]:
        """The rows of one block that each column was asked in, and codes of their reports.

        chosen : (rows,) the part of each row.
        opened : the private columns; the block begins at row ``start`` of them.
        """
        ends = np.cumsum(np.bincount(chosen, minlength=len(self.plan.parts)))[:-1]
        part_rows = np.split(np.argsort(chosen, kind="stable"), ends)
        dtype = np.result_type(*(domain.dtype for domain in self.plan.categories.values()))
        # Row 0 holds codes of a part's first column, row 1 those of a pair's second one.
        codes = np.zeros((2, len(chosen)), dtype)
        asked_rows: dict[Any, _AskedRows] = {}
        for name, column in opened.items():  # nothing drawn depends on what was not asked
            rows, positions = _asked_rows(name, self.plan.parts, part_rows)
            asked_rows[name] = _AskedRows(rows, positions)
            encoded = self.columns[name].read(column.take(start + rows))
            codes[positions, rows] = encoded.codes
            self.columns[name].add(len(chosen), encoded.unknown, len(encoded.absent))
        for group in self._groups:
            rows = np.concatenate([part_rows[index] for index in group.parts])
            codes[: len(group.sizes), rows] = self._randomize(
                group, codes[: len(group.sizes), rows], rows, block
            )
        for name, (rows, positions) in asked_rows.items():
            domain = self.plan.categories[name]
            yield name, rows, codes[positions, rows].astype(domain.dtype, copy=False)

    def _randomize(self, group: _PartGroup, codes: Codes, rows: Indices, block: int) -> Codes:
        """The reports of rows whose parts have equal sizes, in the shape of ``codes``.

        codes : (columns of a part, rows) codes of the answers, k or more if unknown; overwritten.
        rows : the places of these rows in the block, which choose their words.
        """
        words = Substream(group.source, 0, rows)
        mechanism = self.plan.part_mechanisms[group.parts[0]]
        joint = np.zeros(len(rows), mechanism.domain.dtype)
        for position, k in enumerate(group.sizes):
            answers = codes[position]
            unknown = np.flatnonzero(answers >= k)
            stream = REPLACEMENT_STREAM - position
            answers[unknown] = below(words, stream, block, len(rows), bound=k, only=unknown)
            joint = joint * joint.dtype.type(k) + answers.astype(joint.dtype)
        joint = mechanism.randomize(joint, words, block)
        for position, k in reversed(list(enumerate(group.sizes))):
            quotient = joint // joint.dtype.type(k)
            codes[position] = joint - quotient * joint.dtype.type(k)
            joint = quotient
        return codes


class _PartGroup(NamedTuple):
    """Parts whose columns have the same numbers of categories, in order: they draw together."""

    sizes: tuple[int, ...]
    parts: list[int]
    source: Source


class _AskedRows(NamedTuple):
    """The rows of a block that a column was asked in, and its position in the part of each."""

    rows: Indices
    positions: Indices


def _part_groups(plan: FramePlan, rng: Any) -> list[_PartGroup]:
    """The parts of a plan by their sizes; each group has words of its own, and so has the coin."""
    by_sizes: dict[tuple[int, ...], list[int]] = {}
    for index, part in enumerate(plan.parts):
        sizes = tuple(plan.categories[name].k for name in part)
        by_sizes.setdefault(sizes, []).append(index)
    return [
        _PartGroup(sizes, parts, open_source(rng, column=number))
        for number, (sizes, parts) in enumerate(by_sizes.items(), 1)
    ]


def _asked_rows(
    name: Hashable, parts: Sequence[Labels], part_rows: Sequence[Indices]
) -> _AskedRows:
    """The rows that a column was asked in, in ascending order; ``part_rows`` are those of parts."""
    asking = [index for index, part in enumerate(parts) if name in part]
    rows = np.concatenate([part_rows[index] for index in asking])
    positions = np.concatenate(
        [np.full(len(part_rows[index]), parts[index].index(name)) for index in asking]
    )
    if len(asking) == 1:
        return _AskedRows(rows, positions)
    order = np.argsort(rows, kind="stable")
    return _AskedRows(rows[order], positions[order])


def _public_column(like: Column, chosen: Codes, plan: FramePlan) -> Any:
    """The part of each row as text, in the container of a private column."""
    if like.family == "arrow":
        import pyarrow as pa

        column = like.wrap(pa.array(plan.labels).take(pa.array(chosen)))
    else:
        column = like.wrap(pd.Categorical.from_codes(chosen.astype(np.intp), pd.Index(plan.labels)))
    return column.rename(plan.asked) if hasattr(column, "rename") else column
