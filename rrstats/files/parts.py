"""What every format answers: one file to be read in pieces, and one to be written.

A `Part` is one data file.  It yields pieces; a piece says whether it opens a new group, and what
stands in one group is written at once, so that the row groups of a Parquet file stay as they
are.  A `Piece` gives the cells of one column, and the same rows with other cells in some columns.
Nobody above this level asks which format it is.

Where groups and batches end shows in the target.  So it follows from numbers of rows, from the
other columns and from the declared categories; never from the size of a true answer.  Long
answers are read in smaller pieces: then only the last piece of a block closes it, and the
reports of all of them are written as one.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import pyarrow as pa

from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.errors import FileError, RRStatsError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import Record
from rrstats.randomness.sources import BLOCK_ROWS

__all__ = [
    "Changed",
    "Part",
    "Piece",
    "ReportSpace",
    "Room",
    "TablePiece",
    "Writer",
    "ahead",
    "changed_schema",
    "even_groups",
    "is_served",
    "joined",
    "no_cells",
    "reading",
    "row_bytes",
]

Item = TypeVar("Item")

ReportSpace = Categories | Subsets
"""What the cells of a column are: answers, or reports."""

BATCH_ROWS = BLOCK_ROWS
"""Rows of a piece where they are not wide."""

GROUP_ROWS = 4 * BLOCK_ROWS
"""Rows that are written at once, at most; pyarrow's own row groups have as many."""

GROUP_BYTES = 64 << 20
"""Memory of the rows that are written at once, about."""

EVEN_ROWS = 1 << 10
"""Groups of shuffled rows have a multiple of as many."""


FIELD_ID = b"PARQUET:field_id"


class Changed(Protocol):
    """One privatized column: what a writer must know of it."""

    @property
    def name(self) -> str:
        """The column's name in the file."""
        ...

    @property
    def type(self) -> pa.DataType:
        """The type of its reports."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """What makes its reports."""
        ...

    @property
    def has_nulls(self) -> bool:
        """Whether a report can be missing."""
        ...


class Piece(Protocol):
    """Some rows of a file."""

    @property
    def rows(self) -> int:
        """How many."""
        ...

    @property
    def opens(self) -> bool:
        """Whether a new group begins here."""
        ...

    @property
    def closes(self) -> bool:
        """Whether a block ends here, to be written as it is."""
        ...

    def cells(self, name: str) -> pa.Array:
        """The cells of one column, as values of its categories' type, another one, or missing."""
        ...

    def shown(self, name: str) -> pa.Array:
        """The cells of one column as the file has them, for the steward."""
        ...

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The rows as a writer takes them, with reports in the place of some columns.

        Of a piece that closes: all rows since the last that did.
        """
        ...


class Writer(Protocol):
    """One file being written."""

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write one group."""
        ...

    def close(self) -> None:
        """Write what stands at the end; the sink stays open."""
        ...


class Part(Protocol):
    """One data file."""

    path: Path
    relative: str
    names: list[str]
    rows: int | None
    records: list[Record]

    @property
    def fields(self) -> Sequence[object]:
        """The columns' declarations, to be compared with those of another file."""
        ...

    @property
    def document_is_beside(self) -> bool:
        """Whether the document of the records lies in a file of its own."""
        ...

    def bytes_expected(self, changed: Sequence[Changed]) -> int:
        """About how large all rows are in memory, with reports."""
        ...

    def type_of(self, name: str) -> pa.DataType:
        """The declared type of a column."""
        ...

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """No cells at all, in the type that the cells of a piece will have.

        Raises ArgumentTypeError where a file of this format cannot hold values of the space.
        """
        ...

    def has_copy(self, name: str) -> bool:
        """Whether the file holds a second copy of the column's answers that would stay."""
        ...

    def pieces(
        self,
        spaces: Mapping[str, ReportSpace],
        *,
        report_bytes: int = 0,
        lines: bool = False,
        only: bool = False,
    ) -> Iterator[Piece]:
        """All rows in their order.

        spaces : what the cells of the columns asked for are to be.  report_bytes : about the
        bytes of the reports that will stand in a row.  lines : whether single rows must be movable.
        only : whether the other columns may be left out, as for counting.
        """
        ...

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """The schema of the batches that `Piece.replaced` gives."""
        ...

    def writer(
        self,
        sink: IO[bytes],
        changed: Sequence[Changed],
        records: Sequence[Record],
        shuffled: bool,
    ) -> Writer:
        """A writer of a file like this one, its records those given."""
        ...


class TablePiece:
    """A piece of an Arrow table.

    batch : with the columns that are asked for.  others : with the other columns, of all rows of
        the block, where the piece closes it.
    """

    def __init__(
        self, batch: pa.RecordBatch, others: pa.RecordBatch | None, *, opens: bool, closes: bool
    ) -> None:
        self._batch, self._others = batch, others
        self.opens, self.closes = opens, closes

    @property
    def rows(self) -> int:
        """How many."""
        return int(self._batch.num_rows)

    def cells(self, name: str) -> pa.Array:
        """The cells of one column."""
        return self._batch.column(self._batch.schema.names.index(name))

    shown = cells

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The block with reports in some places; the true answers are not referred to."""
        kept: dict[str, deque[pa.Array]] = {}
        if self._others is not None:
            for name, column in zip(self._others.schema.names, self._others.columns, strict=True):
                kept.setdefault(name, deque()).append(column)
        arrays = [
            reports[name] if name in reports else kept[name].popleft() for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Room:
    """Counts what is to be written at once, until there is no room left."""

    def __init__(self) -> None:
        self._rows = self._bytes = 0

    def is_full_for(self, rows: int, size: int) -> bool:
        """Whether as many rows must open a new group; counts them in the one they go to."""
        full = self._rows > 0 and (
            self._rows + rows > GROUP_ROWS or self._bytes + size > GROUP_BYTES
        )
        if full:
            self._rows = self._bytes = 0
        self._rows, self._bytes = self._rows + rows, self._bytes + size
        return full


def even_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of some batches in groups whose sizes follow from the rows, not from the batches."""
    room, group = Room(), list[pa.RecordBatch]()
    for block in _even_blocks(batches):
        if room.is_full_for(block.num_rows, pa.ipc.get_record_batch_size(block)):
            yield joined(group)
            group = []
        group.append(block)
    if group:
        yield joined(group)


def _even_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of EVEN_ROWS; the last may have fewer."""
    waiting, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            waiting.append(batch.slice(start, EVEN_ROWS - rows))
            start, rows = start + waiting[-1].num_rows, rows + waiting[-1].num_rows
            if rows == EVEN_ROWS:
                yield joined(waiting)
                waiting, rows = [], 0
    if waiting:
        yield joined(waiting)


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Some batches as one."""
    if len(batches) == 1:
        return batches[0]
    columns = [
        pa.concat_arrays([batch.column(place) for batch in batches])
        for place in range(batches[0].num_columns)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def row_bytes(schema: pa.Schema) -> int:
    """About the bytes of one row, where text is short."""
    bits = 0
    for field in schema:
        type = field.type.index_type if pa.types.is_dictionary(field.type) else field.type
        try:
            bits += type.bit_width
        except ValueError:  # of no fixed width
            bits += 128
    return -(-bits // 8)


def changed_schema(schema: pa.Schema, changed: Sequence[Changed]) -> pa.Schema:
    """The schema with the types of the reports; order and names are kept.

    Of what the source said of a private column only the number of its field is.
    """
    for column in changed:
        place = schema.names.index(column.name)
        number = (schema.field(place).metadata or {}).get(FIELD_ID, b"")
        field = schema.field(place).with_type(column.type)
        field = (
            field.with_metadata({FIELD_ID: number}) if number.isdigit() else field.remove_metadata()
        )
        if column.has_nulls:
            field = field.with_nullable(True)
        schema = schema.set(place, field)
    return schema


def ahead(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """The same items, the next of them made in another thread while one is worked on."""
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, items, end) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Errors of reading as FileError.  Messages of Arrow may quote a cell and are not shown."""
    try:
        yield
    except RRStatsError:
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise FileError(f"cannot read {path}: {error.strerror or 'no such file'}") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, TypeError, KeyError):
        raise FileError(
            f"cannot read {path} as {what}: it is truncated, damaged, encrypted, or of another "
            "format than its name says"
        ) from None
    except (NotImplementedError, AttributeError, IndexError):
        raise FileError(
            f"cannot read {path} as {what}: it holds something that pyarrow {pa.__version__} "
            "does not read"
        ) from None


def is_served(type: pa.DataType) -> bool:
    """Whether a column of this type can hold answers at all."""
    values: Any = type.value_type if pa.types.is_dictionary(type) else type
    return not (pa.types.is_nested(values) or isinstance(values, pa.BaseExtensionType))


def no_cells(type: pa.DataType) -> pa.Array:
    """An empty array of a type; older pyarrow forgets that a dictionary is ordered."""
    if not pa.types.is_dictionary(type):
        return pa.array([], type=type)
    return pa.DictionaryArray.from_arrays(
        pa.array([], type=type.index_type),
        pa.array([], type=type.value_type),
        ordered=type.ordered,
    )
