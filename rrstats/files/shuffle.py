"""All rows of a stream in a uniformly random order, in bounded memory.

Each row goes to one of B buckets, uniformly and independently.  Then each bucket is permuted
uniformly in memory, and the buckets are written one after another.  The result is a uniform
permutation of all rows (Rao 1961; Sandelius 1962).  B is chosen so that a bucket is about 32 MiB,
as far as the size of all rows is known; beyond 32 GiB the buckets are larger.

The random words come from `randomness` and do not depend on the rows.  Spilled rows are kept in an
unnamed file in the target's folder, so that nothing of them remains, however the process ends.
Columns are moved in types of `compact`, because views would keep their values in the old order.
Dictionary columns stay dictionary columns, with one dictionary for all rows.  Its values are
sorted, because their order of appearance would reveal the order of the rows.  An ordered dictionary
whose values are not sorted becomes an unordered one: Polars exports every Enum as ordered, whether
its order was declared or is that of appearance.  Only the dictionaries of reports keep their order,
and ordered ones that the caller names, which `row_order` checks.  Columns that number the rows are
left out or reported, and writers give all rows of a text file the same line ends.
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

from rrstats.data.compact import compact_type, compacted, restored
from rrstats.errors import FileError
from rrstats.files.atomic import named
from rrstats.files.batches import FIELD_ID, row_bytes
from rrstats.files.row_order import KeptOrder, check_kept, digest_of_words
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
    keep_order : public columns of ordered dictionaries that keep their order.
    left_out : columns that are not returned.  watched : columns that may number the rows.
    part : the place of a file among others that must have its schema; then no dictionary stays
    ordered because its values happen to be sorted.  rng : as for `privatize`.
    After `finish`, ``schema`` is that of the returned rows, ``notes`` tell what was changed,
    ``orders`` those of the dictionaries that are kept, which `check_kept` judges for all parts, and
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
        keep_order: Collection[str] = (),
        left_out: Collection[str] = (),
        watched: Collection[str] = (),
        part: int | None = None,
        rng: Any = None,
    ) -> None:
        self._kept_places = [n for n, name in enumerate(schema.names) if name not in left_out]
        schema = pa.schema([schema.field(n) for n in self._kept_places], schema.metadata)
        for field in schema:
            _check_movable(field)
        self.schema = schema
        self.notes = [f"column {name!r} was left out: it numbers the rows" for name in left_out]
        self.numbering: list[str] = []
        self.orders: list[KeptOrder] = []
        self._part = part
        self._watched = [_Numbering(name) for name in watched if schema.names.count(name) == 1]
        self._folder = folder
        self._source = open_source(rng)
        self._finished = False
        self._dictionaries = {
            place: _Dictionary(
                field, declared=field.name in declared, kept=field.name in keep_order, part=part
            )
            for place, field in enumerate(schema)
            if pa.types.is_dictionary(field.type)
        }
        self._plain = _plain_schema(schema)
        growth = (row_bytes(self._plain) + ORDER_BYTES) / max(row_bytes(schema), 1)
        n_buckets = math.ceil(bytes_expected * growth / BUCKET_BYTES)
        n_buckets = min(MOST_BUCKETS, max(1, n_buckets))
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
            columns = []
            for place, source in enumerate(self._kept_places):
                column = batch.column(source)
                dictionary = self._dictionaries.get(place)
                columns.append(
                    compacted(column) if dictionary is None else dictionary.codes(column)
                )
            for numbers in self._watched:
                numbers.add(batch.column(numbers.name))
            self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._plain))
            self._weight += self._waiting[-1].nbytes + ORDER_BYTES * batch.num_rows
            if self._weight >= BUCKET_BYTES:
                self._spill()

    def finish(self) -> pa.Schema:
        """Fix the dictionaries after all rows were added; return the schema of the output."""
        if self._finished:
            return self.schema
        self._finished = True
        with self._naming():
            for place, dictionary in self._dictionaries.items():
                note = dictionary.close()
                if note is not None:
                    self.notes.append(note)
                if dictionary.order is not None:
                    self.orders.append(dictionary.order)
                self.schema = self.schema.set(place, dictionary.field)
            if self._part is None:
                check_kept(self.orders)
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
            dictionary = self._dictionaries.get(place)
            type = self.schema.field(place).type
            columns.append(
                restored(column, type) if dictionary is None else dictionary.array(column)
            )
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


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The types in which rows are spilled: codes of dictionaries, and compact types."""
    fields = []
    for field in schema:
        type = pa.int32() if pa.types.is_dictionary(field.type) else compact_type(field.type)
        fields.append(field.with_type(type))
    return pa.schema(fields)


def _check_movable(field: pa.Field) -> None:
    """Raise FileError if moved rows of a column might still show their old order."""
    if _holds_dictionary(field.type):
        raise FileError(
            f"column {field.name!r} cannot be shuffled: a dictionary inside {field.type} would "
            "show the order of the rows; write it without the dictionary"
        )
    if pa.types.is_dictionary(field.type):
        return
    compact = compact_type(field.type)
    if compact is not None:
        with suppress(pa.ArrowException):
            # An older pyarrow may lack a step.
            cell = compacted(pa.nulls(1, field.type)).take(pa.array([0]))
            restored(cell, field.type)
            return
    raise FileError(
        f"column {field.name!r} cannot be shuffled: with pyarrow {pa.__version__} moved rows of "
        f"type {field.type} might still show their old order; write it with a plain type (text, "
        "numbers, lists, structs)"
    )


def _holds_dictionary(type: pa.DataType) -> bool:
    """True if a type contains a dictionary below its top level."""
    inside = [type.field(place).type for place in range(type.num_fields)]
    if isinstance(type, pa.BaseExtensionType):
        inside.append(type.storage_type)
    if pa.types.is_dictionary(type):
        inside = [type.value_type]
    return any(pa.types.is_dictionary(child) or _holds_dictionary(child) for child in inside)


class _Dictionary:
    """The values of one dictionary column so far; rows are spilled as codes.

    declared : the order follows from the design.  kept : the caller says that it was declared.
    After `close`, ``field`` is that of the output, and ``order`` that of a kept dictionary.
    """

    def __init__(self, field: pa.Field, *, declared: bool, kept: bool, part: int | None) -> None:
        self.field = field
        self._declared = declared
        self._kept = kept
        self._part = part
        self._differs = False
        self.order: KeptOrder | None = None
        self._appeared: dict[int, None] = {}  # codes of a kept dictionary by their first row
        self._values = pa.array([], self._plain_values())
        self._places: pa.Array | None = None  # of each value in the sorted dictionary

    def _plain_values(self) -> pa.DataType:
        """The type of the values as text or numbers; raises FileError if it cannot be sorted."""
        type = self.field.type.value_type
        plain = compact_type(type)
        if plain is not None:
            with suppress(pa.ArrowException):
                empty = pa.nulls(0, type).cast(plain)
                pc.array_sort_indices(empty)
                pc.index_in(empty, value_set=empty)
                return plain
        raise FileError(
            f"column {self.field.name!r} cannot be shuffled: pyarrow {pa.__version__} cannot sort "
            f"the values of its dictionary, of type {type}; write it without the dictionary"
        )

    def codes(self, column: pa.DictionaryArray) -> pa.Array:
        """The column's cells as indices into all values so far; null stays null."""
        indices = column.indices.cast(pa.int32())
        values = column.dictionary.cast(self._values.type)
        if self._kept:
            self._keep(values, indices)
        if values.equals(self._values):
            return indices
        # Known values keep their places; new values are appended, each once.
        distinct = pc.unique(values)
        new = distinct.filter(pc.is_null(pc.index_in(distinct, value_set=self._values)))
        if len(new):
            self._values = pa.concat_arrays([self._values, new])
        return pc.index_in(values, value_set=self._values).take(indices)

    def _keep(self, values: pa.Array, indices: pa.Array) -> None:
        """Note whether dictionaries continue one another, and in which order values appear."""
        common = min(len(values), len(self._values))
        self._differs |= not values.slice(0, common).equals(self._values.slice(0, common))
        codes, rows = np.unique(indices.drop_null().to_numpy(), return_index=True)
        self._appeared |= dict.fromkeys(codes[np.argsort(rows)].tolist())

    def close(self) -> str | None:
        """Sort the values after all rows were added, unless they keep their order.

        Returns what the receipt must say.
        """
        type = self.field.type
        if len(self._values) - 1 > np.iinfo(type.index_type.to_pandas_dtype()).max:
            raise FileError(
                f"column {self.field.name!r} cannot be shuffled: its parts have several "
                f"dictionaries, which together have more values than {type.index_type} can index; "
                "write it with wider indices"
            )
        if self._declared:
            return None
        # Other metadata may list the words in their old order, as Polars does for an Enum.
        number = (self.field.metadata or {}).get(FIELD_ID)
        self.field = self.field.with_metadata(None if number is None else {FIELD_ID: number})
        order = _sorted_places(self._values)
        is_sorted = order.to_numpy().tolist() == list(range(len(order)))
        if self._kept:
            self.order = KeptOrder(
                column=self.field.name,
                part=self._part or 0,
                words=digest_of_words(self._values),
                is_sorted=is_sorted,
                differs=self._differs,
                appeared=tuple(self._appeared),
            )
            return None
        self._values = self._values.take(order)
        self._places = pa.array(np.argsort(order), pa.int32())
        if not type.ordered or (is_sorted and self._part is None):
            return None
        self.field = self.field.with_type(pa.dictionary(type.index_type, type.value_type))
        return (
            f"the ordered categories of column {self.field.name!r} were written sorted and "
            "unordered, because the order of their words may show that of the rows; "
            "keep_order keeps a declared order"
        )

    def array(self, codes: pa.Array) -> pa.DictionaryArray:
        """The cells with these codes, with the column's type."""
        type = self.field.type
        indices = codes if self._places is None else self._places.take(codes)
        values = self._values.cast(type.value_type)
        return pa.DictionaryArray.from_arrays(
            indices.cast(type.index_type), values, ordered=type.ordered
        )


def _sorted_places(values: pa.Array) -> pa.Array:
    """Places of the distinct values in sorted order, which does not depend on their order here.

    0.0 and -0.0 are equal, and so are all NaN and null to a sort; their bits tell them apart.
    """
    order = pc.array_sort_indices(values)
    if not pa.types.is_floating(values.type):
        return order
    bits = values.view(pa.from_numpy_dtype(f"u{values.type.bit_width // 8}"))
    keys = {"value": values, "missing": pc.is_null(values), "bits": bits}
    by = [(name, "ascending") for name in keys]
    return pc.sort_indices(pa.table(keys), sort_keys=by)


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
