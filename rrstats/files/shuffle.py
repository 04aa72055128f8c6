"""All rows of a stream in a uniformly random order, in bounded memory.

Row by row, each goes to one of B buckets, uniformly and independently; then each bucket is
permuted uniformly in memory, and the buckets follow one another.  That is a uniform permutation
of all rows (Rao 1961; Sandelius 1962).  B is such that a bucket is about 32 MiB, as far as the
size of all rows is known; beyond 32 GiB buckets grow.

The words come from `randomness` and know nothing of the rows.  What is spilled lies in a nameless
file in the target's folder, so that nothing of it remains, however the process ends.
Dictionary columns stay so, with one dictionary for all rows, whose values are sorted: in the order
in which they were first seen they would tell how the rows stood.  Declared dictionaries keep their
order: those of reports, and ordered ones.
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
"""Each takes part of every 32 MiB that are spilled, so that more of them would be slow."""

ORDER_BYTES = 24
"""Memory to order one row, whatever is in it."""

BUCKET_STREAM = 0xFFF0
ORDER_STREAM = 0xFFF1


class Shuffle:
    """Take batches by `add`, then give all rows in random order by `batches`, once.

    folder : where to spill, the folder of the target.  schema : of all batches.
    bytes_expected : about how large all rows are in memory; buckets follow from it.
    declared : the columns whose dictionaries were declared, and keep their order.
    rng : as in `privatize`.
    Raises FileError where spilling fails, or where a column's type cannot be moved by rows.
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
                    "keeps the order of the rows; write it without the dictionary"
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
        # Of each bucket's rows the place and size of messages of Arrow's in the file.
        self._buckets: list[list[tuple[int, int]]] = [
            [] for _ in range(min(MOST_BUCKETS, max(1, wished)))
        ]
        self._waiting: list[pa.RecordBatch] = []
        self._weight = 0
        self._blocks = itertools.count()  # each draw of words has a block of its own
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
            if self._file is None:  # small enough to be one bucket, whatever was expected
                yield from self._ordered(self._waiting)
                return
            self._spill()
            while self._buckets:
                yield from self._ordered([self._read(*part) for part in self._buckets.pop()])

    def _spill(self) -> None:
        """Send each waiting row to its bucket.

        Many rows at once, so that what goes to one bucket is worth a write.
        """
        rows, number = pa.Table.from_batches(self._waiting, self._plain), len(self._buckets)
        self._waiting, self._weight = [], 0
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # until __exit__
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
        """A batch as it is given out, with dictionaries and metadata again."""
        columns = [
            self._dictionaries[place].array(column) if place in self._dictionaries else column
            for place, column in enumerate(batch.columns)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Errors of Arrow and of the system become a FileError; Arrow's may quote a cell."""
        room = f" in {self._folder}, which must have room for all of them twice"
        try:
            with named("cannot shuffle the rows", room):
                yield
        except pa.ArrowException:
            types = ", ".join(sorted({str(field.type) for field in self.schema}))
            raise FileError(
                f"these rows cannot be shuffled: pyarrow {pa.__version__} does not move rows of "
                f"one of their types ({types})"
            ) from None


def _holds_dictionary(type: pa.DataType) -> bool:
    """True where there is a dictionary below the top of a type."""
    inside = [type.field(place).type for place in range(type.num_fields)]
    if isinstance(type, pa.BaseExtensionType):
        inside.append(type.storage_type)
    if pa.types.is_dictionary(type):
        inside = [type.value_type]
    return any(pa.types.is_dictionary(one) or _holds_dictionary(one) for one in inside)


class _Dictionary:
    """The values of one dictionary column, as they come; rows are spilled as their codes."""

    def __init__(self, field: pa.Field) -> None:
        self._name, self._type = field.name, field.type
        self._values = pa.array([], self._type.value_type)
        self._places: pa.Array | None = None  # of each value in the sorted dictionary

    def codes(self, column: pa.DictionaryArray) -> pa.Array:
        """The column's cells as places in all values so far; null stays null."""
        values, indices = column.dictionary, column.indices.cast(pa.int32())
        if not len(self._values):
            self._values = values
        if values.equals(self._values):
            return indices
        # A value that is there already keeps its place; the others follow.
        new = values.filter(pc.is_null(pc.index_in(values, value_set=self._values)))
        if len(new):
            self._values = pa.concat_arrays([self._values, new])
        return pc.index_in(values, value_set=self._values).take(indices)

    def close(self, declared: Collection[str]) -> None:
        """Sort the values, once all rows are there, unless their order was declared."""
        if len(self._values) - 1 > np.iinfo(self._type.index_type.to_pandas_dtype()).max:
            raise FileError(
                f"column {self._name!r} cannot be shuffled: its parts have more than one "
                f"dictionary, and together they have more values than {self._type.index_type} can "
                "number; write it with wider indices"
            )
        if self._name not in declared and not self._type.ordered:
            order = pc.array_sort_indices(self._values)
            self._values = self._values.take(order)
            self._places = pa.array(np.argsort(order), pa.int32())

    def array(self, codes: pa.Array) -> pa.DictionaryArray:
        """Cells with these codes, as the column was."""
        indices = (codes if self._places is None else self._places.take(codes)).cast(
            self._type.index_type
        )
        return pa.DictionaryArray.from_arrays(indices, self._values, ordered=self._type.ordered)
