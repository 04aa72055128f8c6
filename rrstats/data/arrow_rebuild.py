"""Arrow columns rebuilt from their cells, without the chunks and the bytes in which they came.

A reader cuts a file into chunks by bytes, so chunks of a public column tell how long the answers
beside it were.  Buffers hold more than cells show: bytes outside a slice, under a null, behind a
view.  `rebuilt` returns the same cells in chunks that depend on the number of rows and on these
cells alone, and with buffers that hold nothing else.

A dictionary that all chunks share was declared: it stays whole and in order.  Where chunks have
different ones, a reader made them; then they hold the words of the rows, in order of appearance.
The module needs pyarrow.  Layouts: the columnar format of Apache Arrow, version 1.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rrstats._checks import cut
from rrstats._typing import Array
from rrstats.data.arrow import text_of_view
from rrstats.data.compact import FIXED, LISTS, TEXT, compacted, converted, is_any
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.randomness.sources import BLOCK_ROWS

Mask = NDArray[np.bool_]

PIECE_ROWS = BLOCK_ROWS
"""Rows of a chunk of text, lists and the like; numbers have one chunk."""

_LISTS_AND_MAPS = (*LISTS, pa.types.is_map)

_LARGE = (
    pa.types.is_large_string,
    pa.types.is_large_binary,
    pa.types.is_large_list,
)
"""Types whose offsets have 64 bits."""


# -- columns --------------------------------------------------------------------------------


def rebuilt(column: pa.ChunkedArray, *, declared: bool | None = None) -> pa.ChunkedArray:
    """A column's cells in constant chunks of fresh buffers; plain numbers may share theirs.

    declared : whether dictionaries stay whole; by default if all chunks have the same ones.

    >>> cells = pa.chunked_array([["a", "b"], ["c"]])
    >>> [len(chunk) for chunk in rebuilt(cells).chunks]
    [3]
    """
    if declared is None:
        declared = share_words(column.chunks)
    if not len(column) and not holds_words(column.type):
        return pa.chunked_array([], column.type)
    try:
        if _is_fixed(column.type):
            chunks = [_cells(_joined(column.chunks), None, declared=declared)]
        elif len(column):
            chunks = list(_pieces(column, declared=declared))
        else:
            chunks = [_cells(chunk, None, declared=declared) for chunk in column.chunks[:1]]
    except pa.ArrowNotImplementedError:  # as for lists of run-end encoded cells behind gaps
        raise _unknown_type(column.type) from None
    return pa.chunked_array(chunks, column.type)


def rebuilt_table(table: pa.Table, *, loose: Iterable[str] = ()) -> pa.Table:
    """All columns rebuilt; ``loose`` names those whose dictionaries were not declared."""
    columns = [
        rebuilt(column, declared=False if name in loose else None)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def share_words(arrays: Iterable[pa.Array]) -> bool:
    """True if all arrays have the same dictionaries, so that these were declared."""
    return all(left == right for left, right in pairwise(map(words_of, arrays)))


def words_of(cells: pa.Array) -> list[pa.Array]:
    """All dictionaries of an array, also below its top level."""
    type = cells.type
    if pa.types.is_dictionary(type):
        return [cells.dictionary]
    if not holds_words(type):
        return []
    return [words for child in _children(cells) for words in words_of(child)]


def holds_words(type: pa.DataType) -> bool:
    """True if a type has a dictionary at any level."""
    if isinstance(type, pa.BaseExtensionType):
        return holds_words(type.storage_type)
    inside = [type.field(place).type for place in range(type.num_fields)]
    return bool(pa.types.is_dictionary(type)) or any(map(holds_words, inside))


def _children(cells: pa.Array) -> list[pa.Array]:
    """The arrays one level below an array, without regard to what its cells show."""
    type = cells.type
    if isinstance(type, pa.BaseExtensionType):
        return [cells.storage]
    if pa.types.is_struct(type):
        return [cells.field(place) for place in range(type.num_fields)]
    if pa.types.is_union(type) or not hasattr(cells, "values"):
        raise _unknown_type(type)
    return [cells.values]


def _is_fixed(type: pa.DataType) -> bool:
    return is_any(type, (*FIXED, pa.types.is_boolean, pa.types.is_null))


def _joined(chunks: list[pa.Array]) -> pa.Array:
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _pieces(column: pa.ChunkedArray, *, declared: bool) -> Iterator[pa.Array]:
    """The rebuilt cells, a constant number of rows at a time."""
    for start in range(0, len(column), PIECE_ROWS):
        yield from _fitting(column.slice(start, PIECE_ROWS), declared=declared)


def _fitting(piece: pa.ChunkedArray, *, declared: bool) -> Iterator[pa.Array]:
    """The rebuilt cells of a piece; in halves if text is too long for offsets of 32 bits."""
    try:
        joined = _joined(piece.chunks)
    except pa.ArrowInvalid:
        if len(piece) == 1:
            raise
        half = len(piece) // 2
        yield from _fitting(piece.slice(0, half), declared=declared)
        yield from _fitting(piece.slice(half), declared=declared)
        return
    yield _cells(joined, None, declared=declared)


# -- cells ----------------------------------------------------------------------------------


def _cells(cells: pa.Array, shown: Mask | None, *, declared: bool) -> pa.Array:
    """An array's cells in fresh buffers that hold nothing else.

    shown : (n,) false for slots that no cell of the column shows, as under a null of a struct;
    None if all are shown.  Such slots become zero or empty.
    declared : whether dictionaries stay whole.
    """
    type = cells.type
    types = pa.types
    if not len(cells) and not holds_words(type):
        return pa.nulls(0, type)
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _cells(cells.storage, shown, declared=declared))
    if types.is_null(type):
        return pa.nulls(len(cells))
    if types.is_run_end_encoded(type):
        decoded = _cells(pc.run_end_decode(cells), shown, declared=declared)
        return pc.run_end_encode(decoded, run_end_type=type.run_end_type)
    text = text_of_view(type)
    if text is not None:
        return _cells(cells.cast(text), shown, declared=declared).cast(type)
    slots = _Slots(cells, shown)
    if types.is_dictionary(type):
        return _dictionary(slots, declared=declared)
    if is_any(type, TEXT):
        return _text(slots)
    if is_any(type, _LISTS_AND_MAPS):
        return _lists(slots, declared=declared)
    if types.is_fixed_size_list(type):
        width = type.list_size
        values = cells.values.slice(cells.offset * width, len(cells) * width)
        below = None if slots.seen is None else np.repeat(slots.seen, width)
        return slots.array([], [_cells(values, below, declared=declared)])
    if types.is_struct(type):
        fields = [cells.field(place) for place in range(type.num_fields)]
        return slots.array([], [_cells(field, slots.seen, declared=declared) for field in fields])
    if types.is_boolean(type) or is_any(type, FIXED):
        return slots.array([_values(slots)])
    raise _unknown_type(type)


def _unknown_type(type: pa.DataType) -> ArgumentTypeError:
    """The error for cells that cannot be rebuilt."""
    return ArgumentTypeError(
        f"a column has the type {cut(str(type))}, and rrstats does not know which bytes of it "
        f"pyarrow {pa.__version__} would release; cast it to text, numbers, lists or structs first"
    )


class _Slots:
    """The slots of an array.

    ``seen`` is false where no value shows, because the slot or one above it is null; None if all
    show.
    """

    def __init__(self, cells: pa.Array, shown: Mask | None) -> None:
        self.cells = cells
        self.rows = len(cells)
        self.seen = shown
        self._bits: Any = None
        if cells.null_count:
            valid = cells.is_valid().to_numpy(zero_copy_only=False)
            self.seen = valid if shown is None else valid & shown
            if shown is not None:  # a slot that is not shown does not tell whether it is null
                valid = valid | ~shown
            if not valid.all():
                self._bits = pa.py_buffer(np.packbits(valid, bitorder="little"))

    def array(self, buffers: list[Any], children: list[pa.Array] | None = None) -> pa.Array:
        """An array of this type, from buffers and children of its own."""
        parts = [None if part is None else pa.py_buffer(part) for part in buffers]
        return pa.Array.from_buffers(
            self.cells.type, self.rows, [self._bits, *parts], children=children
        )


def _values(slots: _Slots) -> Any:
    """The values of numbers, dates and the like; those that no cell shows are zero."""
    cells = slots.cells
    buffer = cells.buffers()[1]
    if pa.types.is_boolean(cells.type):
        source = np.frombuffer(buffer, np.uint8)
        flags = np.unpackbits(source, bitorder="little")[cells.offset :][: slots.rows]
        if slots.seen is not None:
            flags = flags & slots.seen
        return np.packbits(flags, bitorder="little")
    width = cells.type.bit_width // 8
    size = slots.rows * width
    if slots.seen is None and not cells.offset and buffer is not None and buffer.size == size:
        return buffer
    values = np.frombuffer(buffer, np.uint8, size, cells.offset * width).reshape(-1, width).copy()
    if slots.seen is not None:
        values[~slots.seen] = 0
    return values.reshape(-1)


def _text(slots: _Slots) -> pa.Array:
    """Text and bytes; nothing stands under a null."""
    cells = slots.cells
    offsets = _offsets(slots, cells)
    if slots.seen is not None and np.diff(offsets)[~slots.seen].any():
        # With the same type, whose empty value has no bytes.
        empty = pa.scalar(b"", pa.binary()).cast(cells.type)
        cells = pc.if_else(pa.array(slots.seen), cells, empty)
        offsets = _offsets(slots, cells)
    letters = cells.buffers()[2]
    first = int(offsets[0])
    last = int(offsets[-1])
    content: Any = b""
    if last > first:
        content = np.frombuffer(letters, np.uint8, last - first, first).copy()
    return slots.array([offsets - offsets[0], content])


def _offsets(slots: _Slots, cells: pa.Array) -> Array:
    """(rows + 1,) the offsets of text or lists, for the slots of their slice."""
    dtype = np.dtype(np.int64 if is_any(cells.type, _LARGE) else np.int32)
    return np.frombuffer(cells.buffers()[1], dtype, slots.rows + 1, cells.offset * dtype.itemsize)


def _lists(slots: _Slots, *, declared: bool) -> pa.Array:
    """Lists and maps: the values of each list follow those of the one before."""
    cells = slots.cells
    offsets = _offsets(slots, cells).astype(np.int64)
    starts = offsets[:-1]
    sizes = np.diff(offsets)
    if slots.seen is not None:
        sizes = np.where(slots.seen, sizes, 0)
    ends = np.cumsum(sizes)
    total = int(sizes.sum())
    shifts = (starts - (ends - sizes))[sizes > 0]
    if not total:
        values = cells.values.slice(0, 0)
    elif (shifts == shifts[0]).all():
        values = cells.values.slice(int(shifts[0]), total)
    else:
        # For each value its place in the source: the start of its list, and on from there.
        places = np.repeat(shifts, sizes[sizes > 0]) + np.arange(total)
        # Of views, Arrow takes no cells.
        values = converted(compacted(cells.values).take(pa.array(places)), cells.values.type)
    width = np.int64 if is_any(cells.type, _LARGE) else np.int32
    bounds = np.concatenate([[0], ends])
    return slots.array([bounds.astype(width)], [_cells(values, None, declared=declared)])


def _dictionary(slots: _Slots, *, declared: bool) -> pa.Array:
    """Cells of a dictionary, whole if it was declared; else with the words that cells show."""
    cells = slots.cells
    type = cells.type
    seen = None if slots.seen is None else pa.array(slots.seen)
    if not declared:
        plain = cells.dictionary_decode()
        if seen is not None:
            plain = pc.if_else(seen, plain, pa.scalar(None, plain.type))
        encoded = pc.dictionary_encode(plain)
        if len(encoded.dictionary) - 1 > np.iinfo(type.index_type.to_pandas_dtype()).max:
            raise ArgumentValueError(
                f"a public column has the type {type} and several dictionaries, which together "
                f"have more words than {type.index_type} can index; cast it to text first"
            )
        cells = encoded
    codes = cells.indices.cast(type.index_type)
    if seen is not None:
        codes = pc.if_else(seen, codes, pa.scalar(None, codes.type))
    return pa.DictionaryArray.from_arrays(
        _cells(codes, None, declared=declared),
        _cells(cells.dictionary, None, declared=declared),
        ordered=type.ordered,
        safe=False,  # places were checked when the source was made
    )
