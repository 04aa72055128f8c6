"""All rows of a stream in a uniformly random order, in bounded memory.

Row by row, each goes to one of B buckets, uniformly and independently; then each bucket is
permuted uniformly in memory, and the buckets follow one another.  That is a uniform permutation
of all rows (Rao 1961; Sandelius 1962).  B is such that a bucket is about 32 MiB; one that turns
out much larger is shuffled in the same way again.

The words come from `randomness` and know nothing of the rows.  What is spilled lies in nameless
files of the target's folder, so that nothing of it remains, however the process ends.
Dictionary columns stay so, with one dictionary for all rows, whose values are sorted: in the order
in which they were first seen they would tell how the rows stood.  Declared dictionaries keep their
order: those of reports, and ordered ones.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rrstats.errors import ArgumentValueError, FileError
from rrstats.files.batches import row_bytes
from rrstats.randomness.samplers import below, permutation
from rrstats.randomness.sources import BLOCK_ROWS, open_source

BUCKET_BYTES = 32 << 20
MOST_BUCKETS = 128
"""Each is an open file; where there is more, buckets are shuffled again."""

DEEPEST = 4
"""So often at most; 128 buckets four times over are enough for any disk."""

ORDER_BYTES = 24
"""Memory to order one row, whatever is in it."""

BUCKET_STREAM = 0xFFF0
ORDER_STREAM = 0xFFF1


class Shuffle:
    """Take batches by `add`, then give all rows in random order by `batches`, once.

    folder : where to spill, the folder of the target.  schema : of all batches.
    bytes_expected : about how large all rows are in memory; a wrong number costs only time.
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
        self._folder = Path(folder)
        self._source = open_source(rng)
        self._declared = declared
        self._depth = 0
        for field in schema:
            if _holds_dictionary(field.type):
                raise FileError(
                    f"column {field.name!r} cannot be shuffled: a dictionary inside {field.type} "
                    "keeps the order of the rows; write it without the dictionary"
                )
        self._dictionaries = {
            place: _Dictionary(field.name, field.type)
            for place, field in enumerate(schema)
            if pa.types.is_dictionary(field.type)
        }
        self._plain = pa.schema(
            [
                field.with_type(pa.int32()) if place in self._dictionaries else field
                for place, field in enumerate(schema.remove_metadata())
            ]
        )
        grown = (row_bytes(self._plain) + ORDER_BYTES) / max(row_bytes(schema), 1)
        buckets = math.ceil(bytes_expected * grown / BUCKET_BYTES)
        self._number = min(MOST_BUCKETS, max(1, buckets))
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._blocks = 0  # each draw of words has a block of its own
        self._buckets: list[_Bucket] = []

    def __enter__(self) -> Shuffle:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()
        while self._buckets:
            self._buckets.pop().close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch."""
        if not batch.schema.equals(self.schema, check_metadata=False):
            raise ArgumentValueError("batch must have the schema of the shuffle, found another")
        with self._naming():
            columns = [
                self._dictionaries[place].codes(column) if place in self._dictionaries else column
                for place, column in enumerate(batch.columns)
            ]
            self._keep(pa.RecordBatch.from_arrays(columns, schema=self._plain))

    def add_table(self, rows: pa.Table) -> None:
        """Take the rows of a table."""
        for batch in rows.to_batches():
            self.add(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows that were added, in random order; each batch is at most one bucket."""
        with self._naming():
            for place, dictionary in self._dictionaries.items():
                if self.schema.field(place).name not in self._declared:
                    dictionary.sort()
            if not self._buckets:  # small enough to be one bucket, whatever was expected
                rows = pa.Table.from_batches(self._waiting, self._plain)
                self._waiting.clear()
                yield from self._ordered(rows)
                return
            self._spill()
            while self._buckets:
                bucket = self._buckets.pop()
                try:
                    yield from self._emptied(bucket)
                finally:
                    bucket.close()

    def _keep(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._waiting_bytes += _weight(batch)
        if self._waiting_bytes >= BUCKET_BYTES:
            self._spill()

    def _spill(self) -> None:
        """Send each waiting row to its bucket.

        Many rows at once, so that what goes to one bucket is worth a write.
        """
        rows = pa.Table.from_batches(self._waiting, self._plain)
        self._waiting.clear()
        self._waiting_bytes = 0
        if not self._buckets:
            for _ in range(self._number):
                self._buckets.append(_Bucket(self._folder, self._plain))
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows.slice(start, BLOCK_ROWS)
            drawn = below(self._source, BUCKET_STREAM, self._next(), len(block), bound=self._number)
            sorted_rows = block.take(pa.array(np.argsort(drawn, kind="stable")))
            ends = np.cumsum(np.bincount(drawn, minlength=self._number)).tolist()
            for bucket, first, last in zip(self._buckets, [0, *ends[:-1]], ends, strict=True):
                bucket.write(sorted_rows.slice(first, last - first))

    def _emptied(self, bucket: _Bucket) -> Iterator[pa.RecordBatch]:
        """The rows of one bucket in random order."""
        if bucket.bytes <= 2 * BUCKET_BYTES or self._depth == DEEPEST:
            yield from self._ordered(pa.Table.from_batches(bucket.batches(), self._plain))
            return
        with Shuffle(self._folder, self._plain, bucket.bytes) as again:
            again._source, again._blocks = self._source, self._blocks
            again._depth = self._depth + 1
            for batch in bucket.batches():
                again._keep(batch)
            for batch in again.batches():
                yield self._restored(batch)
            self._blocks = again._blocks

    def _ordered(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        if not len(rows):
            return
        order = permutation(self._source, ORDER_STREAM, self._next(), len(rows))
        for batch in rows.take(pa.array(order)).combine_chunks().to_batches():
            yield self._restored(batch)

    def _restored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as it is given out, with dictionaries and metadata again."""
        columns = [
            self._dictionaries[place].array(column) if place in self._dictionaries else column
            for place, column in enumerate(batch.columns)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _next(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Errors of Arrow and of the system become a FileError; Arrow's may quote a cell."""
        try:
            yield
        except FileError:
            raise
        except pa.ArrowException:
            types = ", ".join(sorted({str(field.type) for field in self.schema}))
            raise FileError(
                f"these rows cannot be shuffled: pyarrow {pa.__version__} does not move rows of "
                f"one of their types ({types})"
            ) from None
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise FileError(
                f"cannot shuffle the rows: {why} in {self._folder}, which must have room for all "
                "of them twice"
            ) from error


def _weight(rows: pa.RecordBatch | pa.Table) -> int:
    """The memory that it takes to hold and to order rows."""
    return int(rows.nbytes) + ORDER_BYTES * len(rows)


class _Bucket:
    """Rows in a file without a name, private, as an Arrow stream."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.bytes = 0
        self._schema = schema
        self._file: Any = tempfile.TemporaryFile(  # noqa: SIM115  # open until close()
            dir=folder, prefix=".rrstats-", buffering=1 << 16
        )
        try:
            self._writer = pa.ipc.new_stream(self._file, schema)
        except BaseException:
            self._file.close()
            raise

    def write(self, rows: pa.Table) -> None:
        if len(rows):
            self.bytes += _weight(rows)
            self._writer.write_table(rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All that was written, in order."""
        self._writer.close()
        self._file.flush()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def close(self) -> None:
        """Give the file back to the disk; nothing that is left in buffers matters."""
        with suppress(OSError, pa.ArrowException, ValueError):
            self._writer.close()
        with suppress(OSError):
            self._file.close()


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

    def __init__(self, name: str, type: pa.DataType) -> None:
        self._name = name
        self._type = type
        self._values: pa.Array | None = None
        self._places: pa.Array | None = None  # of each value in the sorted dictionary

    def sort(self) -> None:
        """Sort the values, once all rows are there."""
        if self._values is not None and not self._type.ordered:
            order = pc.array_sort_indices(self._values)
            self._values = self._values.take(order)
            self._places = pa.array(np.argsort(order), pa.int32())

    def codes(self, column: pa.DictionaryArray) -> pa.Array:
        """The column's cells as places in all values so far; null stays null."""
        values = column.dictionary
        indices = column.indices.cast(pa.int32())
        if self._values is None:
            self._values = values
        if values is self._values or values.equals(self._values):
            return indices
        # A value that is there already keeps its place; the others follow.
        new = pc.is_null(pc.index_in(values, value_set=self._values))
        if pc.any(new).as_py():
            self._values = pa.concat_arrays([self._values, values.filter(new)])
        return pc.index_in(values, value_set=self._values).take(indices)

    def array(self, codes: pa.Array) -> pa.DictionaryArray:
        """Cells with these codes, as the column was."""
        if self._places is not None:
            codes = self._places.take(codes)
        try:
            indices = codes.cast(self._type.index_type)
        except pa.ArrowInvalid:
            raise FileError(
                f"column {self._name!r} cannot be shuffled: its parts have more than one "
                f"dictionary, and together they have more values than {self._type.index_type} can "
                "number; write it with wider indices"
            ) from None
        values = self._values if self._values is not None else pa.array([], self._type.value_type)
        return pa.DictionaryArray.from_arrays(indices, values, ordered=self._type.ordered)
