"""All rows of a stream in a uniformly random order, in bounded memory.

Each row goes to one of B buckets, uniformly and independently.  Then each bucket is permuted
uniformly in memory, and the buckets are written one after another.  The result is a uniform
permutation of all rows (Rao 1961; Sandelius 1962).  B is chosen so that a bucket is about 32 MiB,
as far as the size of all rows is known; beyond 32 GiB the buckets are larger.

The random words come from `randomness` and do not depend on the rows.  Spilled rows are kept in an
unnamed file in the target's folder, so that nothing of them remains, however the process ends.
Dictionary columns stay dictionary columns, with one dictionary for all rows.  Its values are
sorted, because their order of appearance would reveal the order of the rows.  Declared
dictionaries keep their order: those of reports, and ordered ones.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rrstats.errors import FileError
from rrstats.files.atomic import named
from rrstats.files.batches import row_bytes
from rrstats.randomness.samplers import below, permutation
from rrstats.randomness.sources import BLOCK_ROWS, open_source

BUCKET_BYTES = 32 << 20
MOST_BUCKETS = 1024
"""Each spill of 32 MiB writes to every bucket, so more buckets would be slow."""

ORDER_BYTES = 24
"""Memory to order one row, besides its contents."""

BUCKET_STREAM = 0xFFF0
ORDER_STREAM = 0xFFF1


class Shuffle:
    """Take batches by `add`, then return all rows in random order by `batches`, once.

    folder : the place to spill, the folder of the target.  schema : of all batches.
    bytes_expected : approximate size of all rows in memory, which sets the number of buckets.
    declared : the columns whose dictionaries were declared and keep their order.
    rng : as for `privatize`.
    Raises FileError if spilling fails, or if rows of a column's type cannot be moved.
    """

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        bytes_expected: int,
        *,
        declared: Collection[str] = (),
        rng: Any = None,
    ) -> None:
        self.schema = schema
        self._folder = folder
        self._source = open_source(rng)
        self._declared = declared
        for field in schema:
            if _holds_dictionary(field.type):
                raise FileError(
                    f"column {field.name!r} cannot be shuffled: a dictionary inside {field.type} "
                    "would show the order of the rows; write it without the dictionary"
                )
        self._dictionaries = {
            place: _Dictionary(field)
            for place, field in enumerate(schema)
            if pa.types.is_dictionary(field.type)
        }
        self._plain = schema.remove_metadata()
        for place in self._dictionaries:
            self._plain = self._plain.set(place, schema.field(place).with_type(pa.int32()))
        grown = (row_bytes(self._plain) + ORDER_BYTES) / max(row_bytes(schema), 1)
        wished = math.ceil(bytes_expected * grown / BUCKET_BYTES)
        # For each bucket, the places and sizes of its Arrow messages in the file.
        self._buckets: list[list[tuple[int, int]]] = [
            [] for _ in range(min(MOST_BUCKETS, max(1, wished)))
        ]
        self._waiting: list[pa.RecordBatch] = []
        self._weight = 0
        self._blocks = itertools.count()  # each draw of words has its own block
        self._file: Any = None

    def __enter__(self) -> Shuffle:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()
        if self._file is not None:
            self._file.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch."""
        with self._naming():
            columns = [
                self._dictionaries[place].codes(column) if place in self._dictionaries else column
                for place, column in enumerate(batch.columns)
            ]
            self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._plain))
            self._weight += self._waiting[-1].nbytes + ORDER_BYTES * batch.num_rows
            if self._weight >= BUCKET_BYTES:
                self._spill()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows that were added, in random order; each batch is at most one bucket."""
        with self._naming():
            for dictionary in self._dictionaries.values():
                dictionary.close(self._declared)
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
        rows, number = pa.Table.from_batches(self._waiting, self._plain), len(self._buckets)
        self._waiting, self._weight = [], 0
        if self._file is None:
            # It stays open across calls; __exit__ closes it.
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
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
        """A batch of the output, with dictionaries and metadata restored."""
        columns = [
            self._dictionaries[place].array(column) if place in self._dictionaries else column
            for place, column in enumerate(batch.columns)
        ]
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


def _holds_dictionary(type: pa.DataType) -> bool:
    """True if a type contains a dictionary below its top level."""
    inside = [type.field(place).type for place in range(type.num_fields)]
    if isinstance(type, pa.BaseExtensionType):
        inside.append(type.storage_type)
    if pa.types.is_dictionary(type):
        inside = [type.value_type]
    return any(pa.types.is_dictionary(one) or _holds_dictionary(one) for one in inside)


class _Dictionary:
    """The values of one dictionary column so far; rows are spilled as codes."""

    def __init__(self, field: pa.Field) -> None:
        self._name, self._type = field.name, field.type
        self._values = pa.array([], self._type.value_type)
        self._places: pa.Array | None = None  # of each value in the sorted dictionary

    def codes(self, column: pa.DictionaryArray) -> pa.Array:
        """The column's cells as indices into all values so far; null stays null."""
        values, indices = column.dictionary, column.indices.cast(pa.int32())
        if not len(self._values):
            self._values = values
        if values.equals(self._values):
            return indices
        # Known values keep their places; new values are appended.
        new = values.filter(pc.is_null(pc.index_in(values, value_set=self._values)))
        if len(new):
            self._values = pa.concat_arrays([self._values, new])
        return pc.index_in(values, value_set=self._values).take(indices)

    def close(self, declared: Collection[str]) -> None:
        """Sort the values after all rows were added, unless their order was declared."""
        if len(self._values) - 1 > np.iinfo(self._type.index_type.to_pandas_dtype()).max:
            raise FileError(
                f"column {self._name!r} cannot be shuffled: its parts have several dictionaries, "
                f"which together have more values than {self._type.index_type} can index; write "
                "it with wider indices"
            )
        if self._name not in declared and not self._type.ordered:
            order = pc.array_sort_indices(self._values)
            self._values = self._values.take(order)
            self._places = pa.array(np.argsort(order), pa.int32())

    def array(self, codes: pa.Array) -> pa.DictionaryArray:
        """The cells with these codes, with the column's type."""
        indices = (codes if self._places is None else self._places.take(codes)).cast(
            self._type.index_type
        )
        return pa.DictionaryArray.from_arrays(indices, self._values, ordered=self._type.ordered)
