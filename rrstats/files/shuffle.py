"""All rows of a stream in a uniformly random order, in bounded memory.

Each row goes to one of B buckets, uniformly and independently.  Then each bucket is permuted
uniformly in memory, and the buckets are written one after another.  The result is a uniform
permutation of all rows (Rao 1961; Sandelius 1962).  B is chosen so that a bucket is about 32 MiB,
as far as the size of all rows is known; beyond 32 GiB the buckets are larger.

The random words come from `randomness` and do not depend on the rows.  Spilled rows are kept in an
unnamed file in the target's folder, so that nothing of them remains, however the process ends.
Columns are moved in types of `compact`, because views would keep their values in the old order.
Public dictionaries become plain values, because their words may stand in the order in which they
first appear in the rows; those of reports are the declared categories, and stay.  Columns that
number the rows are left out or reported, and writers give all rows of a text file the same line
ends.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rrstats.data.arrow_rebuild import holds_words
from rrstats.data.compact import compact_type, compacted, converted
from rrstats.errors import FileError
from rrstats.files.atomic import named
from rrstats.files.batches import FIELD_ID, row_bytes
from rrstats.randomness.samplers import below, permutation
from rrstats.randomness.sources import BLOCK_ROWS, open_source

BUCKET_BYTES = 32 << 20
MAX_BUCKETS = 1024
"""Each spill of 32 MiB writes to every bucket, so more buckets would be slow."""

ORDER_BYTES = 24
"""Memory to order one row, besides its contents."""

BUCKET_STREAM = 0xFFF0
ORDER_STREAM = 0xFFF1


class Shuffle:
    """Take batches by `add`, then return all rows in random order by `batches`, once.

    folder : the place to spill, the folder of the target.  schema : of all batches.
    bytes_expected : approximate size of all rows in memory, which sets the number of buckets.
    declared : the columns whose dictionaries were declared, and are the same in all batches.
    left_out : columns that are not returned.  watched : columns that may number the rows.
    rng : as for `privatize`.
    ``schema`` is that of the returned rows, and ``notes`` tell what was changed.  After `finish`,
    ``numbering`` lists the watched columns that rose or fell with each row.
    Raises FileError if spilling fails, or if rows of a column's type cannot be moved.
    """

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        bytes_expected: int,
        *,
        declared: Collection[str] = (),
        left_out: Collection[str] = (),
        watched: Collection[str] = (),
        rng: Any = None,
    ) -> None:
        self._kept_places = [n for n, name in enumerate(schema.names) if name not in left_out]
        schema = pa.schema([schema.field(n) for n in self._kept_places], schema.metadata)
        self.notes = [f"column {name!r} was left out: it numbers the rows" for name in left_out]
        self._words: dict[int, pa.Array] = {}
        for place, field in enumerate(schema):
            if pa.types.is_dictionary(field.type) and field.name not in declared:
                schema = schema.set(place, _without_dictionary(field))
                self.notes.append(
                    f"the categories of column {field.name!r} were written as plain values, "
                    "because their order may show that of the rows"
                )
            _check_movable(schema.field(place), is_declared=field.name in declared)
        self.schema = schema
        self.numbering: list[str] = []
        self._watched = [_Numbering(name) for name in watched if schema.names.count(name) == 1]
        self._folder = folder
        self._source = open_source(rng)
        self._plain = _plain_schema(schema)
        growth = (row_bytes(self._plain) + ORDER_BYTES) / max(row_bytes(schema), 1)
        n_buckets = math.ceil(bytes_expected * growth / BUCKET_BYTES)
        n_buckets = min(MAX_BUCKETS, max(1, n_buckets))
        # For each bucket, the places and sizes of its Arrow messages in the file.
        self._buckets: list[list[tuple[int, int]]] = [[] for _ in range(n_buckets)]
        self._waiting: list[pa.RecordBatch] = []
        self._weight = 0
        self._blocks = itertools.count()  # each draw of words has its own block
        self._file: Any = None

    def __enter__(self) -> Shuffle:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._waiting.clear()
        if self._file is not None:
            self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch."""
        with self._naming():
            columns = [
                self._moved(place, batch.column(source))
                for place, source in enumerate(self._kept_places)
            ]
            for numbers in self._watched:
                numbers.add(batch.column(numbers.name))
            self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._plain))
            self._weight += self._waiting[-1].nbytes + ORDER_BYTES * batch.num_rows
            if self._weight >= BUCKET_BYTES:
                self._spill()

    def _moved(self, place: int, column: pa.Array) -> pa.Array:
        """The cells of a column in the type in which they are moved."""
        if not pa.types.is_dictionary(column.type):
            return compacted(column)
        if pa.types.is_dictionary(self.schema.field(place).type):
            self._words[place] = column.dictionary
            return column.indices
        return compacted(column.dictionary).take(column.indices)

    def finish(self) -> pa.Schema:
        """Judge the watched columns after all rows were added; return the schema of the output."""
        with self._naming():
            self.numbering = [numbers.name for numbers in self._watched if numbers.numbers_rows]
        return self.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows that were added, in random order; each batch is at most one bucket."""
        self.finish()
        with self._naming():
            if self._file is None:  # small enough for one bucket, whatever was expected
                yield from self._ordered(self._waiting)
                return
            self._spill()
            while self._buckets:
                yield from self._ordered([self._read(*part) for part in self._buckets.pop()])

    def _spill(self) -> None:
        """Send each waiting row to its bucket.

        Many rows are sent at once, so that each bucket gets enough rows for one write.
        """
        rows = pa.Table.from_batches(self._waiting, self._plain)
        number = len(self._buckets)
        self._waiting = []
        self._weight = 0
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # __exit__ closes it
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows.slice(start, BLOCK_ROWS)
            drawn = below(self._source, BUCKET_STREAM, next(self._blocks), len(block), bound=number)
            sorted_rows = block.take(pa.array(np.argsort(drawn, kind="stable")))
            ends = np.cumsum(np.bincount(drawn, minlength=number)).tolist()
            for bucket, first, last in zip(self._buckets, [0, *ends[:-1]], ends, strict=True):
                for batch in sorted_rows.slice(first, last - first).to_batches():
                    place = self._file.tell()
                    size = self._file.write(batch.serialize())
                    bucket.append((place, size))

    def _read(self, place: int, size: int) -> pa.RecordBatch:
        self._file.seek(place)
        return pa.ipc.read_record_batch(pa.py_buffer(self._file.read(size)), self._plain)

    def _ordered(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(batches, self._plain)
        batches.clear()
        if not len(rows):
            return
        order = permutation(self._source, ORDER_STREAM, next(self._blocks), len(rows))
        yield from map(self._restored, rows.take(pa.array(order)).combine_chunks().to_batches())

    def _restored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the output, with dictionaries, views and metadata restored."""
        columns = []
        for place, column in enumerate(batch.columns):
            type = self.schema.field(place).type
            if pa.types.is_dictionary(type):
                words = self._words[place]
                cells = pa.DictionaryArray.from_arrays(column, words, ordered=type.ordered)
            else:
                cells = converted(column, type)
            columns.append(cells)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn errors of the system and of Arrow, which may quote a cell, into a FileError."""
        room = f" in {self._folder}, which must have space for twice their size"
        try:
            with named("cannot shuffle the rows", room):
                yield
        except pa.ArrowException:
            types = ", ".join(sorted({str(field.type) for field in self.schema}))
            raise FileError(
                f"these rows cannot be shuffled: pyarrow {pa.__version__} cannot move rows of "
                f"one of their types ({types})"
            ) from None


def _without_dictionary(field: pa.Field) -> pa.Field:
    """The field of a column's plain values.

    Other metadata may list the words in their old order, as Polars does for an Enum.
    """
    number = (field.metadata or {}).get(FIELD_ID)
    kept = None if number is None else {FIELD_ID: number}
    return field.with_type(field.type.value_type).with_metadata(kept)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The types in which rows are spilled: codes of declared dictionaries, and compact types."""
    fields = []
    for field in schema:
        is_dictionary = pa.types.is_dictionary(field.type)
        type = field.type.index_type if is_dictionary else compact_type(field.type)
        fields.append(field.with_type(type))
    return pa.schema(fields)


def _check_movable(field: pa.Field, *, is_declared: bool) -> None:
    """Raise FileError if moved rows of a column might still show their old order."""
    if is_declared and pa.types.is_dictionary(field.type):
        return
    if holds_words(field.type):
        raise FileError(
            f"column {field.name!r} cannot be shuffled: a dictionary inside {field.type} would "
            "show the order of the rows; write it without the dictionary"
        )
    compact = compact_type(field.type)
    if compact is not None:
        with suppress(pa.ArrowException):
            # An older pyarrow may lack a step.
            cell = compacted(pa.nulls(1, field.type)).take(pa.array([0]))
            converted(cell, field.type)
            return
    raise FileError(
        f"column {field.name!r} cannot be shuffled: with pyarrow {pa.__version__} moved rows of "
        f"type {field.type} might still show their old order; write it with a plain type (text, "
        "numbers, lists, structs)"
    )


class _Numbering:
    """A column that may rise, or fall, with each row, and so number the rows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows = 0
        self._last: pa.Array | None = None
        self._directions = {"rises": True, "falls": True}

    def add(self, cells: pa.Array) -> None:
        """Compare the next cells with one another and with the last cell."""
        if not len(cells) or not any(self._directions.values()):
            return
        self._rows += len(cells)
        for direction, compare in (("rises", pc.less), ("falls", pc.greater)):
            steps = False
            with suppress(pa.ArrowException):  # cells without an order
                chain = cells if self._last is None else pa.concat_arrays([self._last, cells])
                ordered = compare(chain.slice(0, len(chain) - 1), chain.slice(1))
                steps = bool(pc.all(ordered, skip_nulls=False, min_count=0).as_py())
            self._directions[direction] &= steps
        self._last = cells.slice(len(cells) - 1)

    @property
    def numbers_rows(self) -> bool:
        """True if the column restores the order of the rows."""
        return self._rows > 1 and any(self._directions.values())
