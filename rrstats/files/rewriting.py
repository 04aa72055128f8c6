"""One data file written anew, with reports in the place of some columns.

A release of files is this, once for each file: the pieces of the file are read, the cells of
the private columns become reports, and what stood in one group is written in one group.  Whether
one process does it file by file, or the tasks of an engine do it at once, makes no difference
here: whoever calls brings the columns, and with them the key of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from rrstats.data.columns import form_of
from rrstats.files import documents
from rrstats.files.batches import ReleasedColumn
from rrstats.files.parts import Part, ahead, even_groups
from rrstats.files.shuffling import Shuffle
from rrstats.mechanisms.records import Record

__all__ = ["look", "rewrite"]

Tell = Callable[[int], object]


def look(part: Part, columns: Sequence[ReleasedColumn]) -> None:
    """Count the answers of a part that may be refused; nothing is drawn."""
    careful = [column for column in columns if column.release.may_refuse]
    if not careful:
        return
    domains = {column.name: column.mechanism.domain for column in careful}
    for piece in part.pieces(domains, only=True):
        for column in careful:
            column.release.look(piece.cells(column.name))


def rewrite(
    part: Part,
    sink: IO[bytes],
    columns: Sequence[ReleasedColumn],
    records: Sequence[Record],
    folder: Path,
    *,
    shuffle_rows: bool = False,
    rng: Any = None,
    tell: Tell | None = None,
) -> int:
    """Write a part with reports to ``sink``, which stays open; how many rows it has.

    records : what the new file shall say of the columns of the release; what the part says of
        others is kept.  folder : where shuffled rows may wait.  tell : called with the number of
        rows of each piece that is done.
    """
    rows = 0
    said = documents.merge(part.records, records)
    writer = part.writer(sink, columns, said, shuffle_rows)
    blocks = _blocks(part, columns, shuffle_rows, tell)
    groups = _shuffled(part, columns, blocks, folder, rng) if shuffle_rows else _groups(blocks)
    try:
        for group, count in groups:
            writer.write(group)
            rows += count
    except BaseException:
        with suppress(Exception):  # it would write on when it is forgotten
            writer.close()
        raise
    writer.close()
    return rows


Block = tuple[bool, pa.RecordBatch, int]
"""Whether it opens a group, the rows with reports, and how many they are."""

Group = tuple[list[pa.RecordBatch], int]
"""What is written at once, and how many rows it has."""


def _blocks(
    part: Part, columns: Sequence[ReleasedColumn], lines: bool, tell: Tell | None
) -> Iterator[Block]:
    """The rows of a part with reports."""
    domains = {column.name: column.mechanism.domain for column in columns}
    schema = part.schema_of(columns)
    reports: dict[str, list[pa.Array]] = {name: [] for name in domains}
    opens, rows = False, 0
    size = sum(form_of(c.mechanism.report_space).report_bytes for c in columns)
    for piece in ahead(part.pieces(domains, report_bytes=size, lines=lines)):
        opens, rows = opens or piece.opens, rows + piece.rows
        for column in columns:
            reports[column.name].append(column.release.reports(piece.cells(column.name)))
        if piece.closes:
            whole = {
                name: those[0] if len(those) == 1 else pa.concat_arrays(those)
                for name, those in reports.items()
            }
            reports = {name: [] for name in domains}
            yield opens, piece.replaced(whole, schema), rows
            opens, rows = False, 0
        if tell is not None:
            tell(piece.rows)


def _groups(blocks: Iterator[Block]) -> Iterator[Group]:
    group: list[pa.RecordBatch] = []
    rows = 0
    for opens, block, count in blocks:
        if opens and group:
            yield group, rows
            group, rows = [], 0
        group.append(block)
        rows += count
    if group:
        yield group, rows


def _shuffled(
    part: Part, columns: Sequence[ReleasedColumn], blocks: Iterator[Block], folder: Path, rng: Any
) -> Iterator[Group]:
    """The rows of a part in random order; the source's groups may tell of the answers."""
    schema, expected = part.schema_of(columns), part.bytes_expected(columns)
    declared = [column.name for column in columns]
    with Shuffle(folder, schema, expected, declared=declared, rng=rng) as shuffle:
        for _, block, _ in blocks:
            shuffle.add(block)
        for group in even_groups(shuffle.batches()):
            yield [group], group.num_rows
