"""Where the cells of delimited text stand, and the same text with other words in some cells.

Separators and line ends outside quotes are found for a whole block at once.  RFC 4180: a quote
opens a cell only at its beginning, and closes it only at its end; within it two quotes stand
for one.  Anything else is refused: there readers differ, and a cell taken for another would
release a true answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rrstats.data.columns import codec_of
from rrstats.errors import ArgumentTypeError, FileError
from rrstats.files.parts import ReportSpace

__all__ = ["LINES", "Grid", "TextPiece", "Words", "cut", "first_line_end", "last_line_end"]

Places = NDArray[np.int64]

LINES = pa.schema([pa.field("lines", pa.binary())])

_QUOTE, _NEWLINE, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]


@dataclass(frozen=True)
class Grid:
    """Where the cells of n rows stand in a block.

    starts : (n,) where each row begins.  ends : (n, columns) where each cell ends.
    """

    starts: Places
    ends: Places

    @property
    def columns(self) -> int:
        """How many cells a row has."""
        return int(self.ends.shape[1])

    def column(self, place: int) -> tuple[Places, Places]:
        """Where the cells of one column begin and end."""
        return self.ends[:, place - 1] + 1 if place else self.starts, self.ends[:, place]


def last_line_end(block: bytes) -> int:
    """Behind the last line end that is not inside a quoted cell; 0 where there is none.

    block : begins with a row.
    """
    quotes, end = block.count(b'"'), len(block)
    while True:
        line_end = block.rfind(b"\n", 0, end)
        quotes -= block.count(b'"', line_end + 1, end)
        if line_end < 0 or quotes % 2 == 0:
            return line_end + 1
        end = line_end


def first_line_end(block: bytes, start: int) -> int:
    """Behind the first line end from ``start`` on that is not inside a quoted cell."""
    quotes, end = 0, start
    while (line_end := block.find(b"\n", end)) >= 0:
        quotes += block.count(b'"', end, line_end)
        end = line_end + 1
        if quotes % 2 == 0:
            return end
    return len(block)


def cut(block: bytes, separator: int, columns: int, path: Path, before: int) -> Grid:
    """The cells of a block of whole rows.

    path, before : the file, and how many of its rows stand before the block, for errors.
    Raises FileError for rows with too many or too few cells, and for quotes and line ends that
    readers understand in different ways.
    """
    text = np.frombuffer(block, np.uint8)
    marks = text == separator
    marks |= text == _NEWLINE
    quotes = np.zeros(0, dtype=np.int64)
    if b'"' in block:
        marks |= text == _QUOTE
        found = np.flatnonzero(marks)
        is_quote = text[found] == _QUOTE
        inside = np.bitwise_xor.accumulate(is_quote)
        quotes = found[is_quote]
        _check_quotes(text, quotes, separator, path)
        found = found[~(is_quote | inside)]
    else:
        found = np.flatnonzero(marks)
    if b"\r" in block:
        _check_returns(text, quotes, path)
    is_end = text[found] == _NEWLINE
    if not block.endswith(b"\n"):
        found, is_end = np.append(found, len(block)), np.append(is_end, True)
    return _grid(text, found, is_end, columns, path, before)


def _grid(
    text: NDArray[np.uint8],
    found: Places,
    is_end: NDArray[np.bool_],
    columns: int,
    path: Path,
    before: int,
) -> Grid:
    """The cells between the separators and line ends that were found."""
    rows = int(np.count_nonzero(is_end))
    if len(found) == rows * columns > rows and is_end[columns - 1 :: columns].all():
        ends = found.reshape(rows, columns)
        starts = np.concatenate([[0], ends[:-1, -1] + 1])
    else:
        starts, ends = _rows(text, found, np.flatnonzero(is_end), columns, path, before)
    if len(starts):
        # The last cell of a row ends before the carriage return.
        last = np.maximum(ends[:, -1] - 1, 0)
        ends[:, -1] -= (text[last] == _RETURN) & (last >= starts)
    return Grid(starts, ends)


def _rows(
    text: NDArray[np.uint8], found: Places, closing: Places, columns: int, path: Path, before: int
) -> tuple[Places, Places]:
    """Where rows begin and cells end, among blank lines; raises for rows of another length."""
    row_ends = found[closing]
    starts = np.concatenate([[0], row_ends[:-1] + 1])
    counts = np.diff(closing, prepend=-1)
    length = row_ends - starts
    length -= (length > 0) & (text[np.maximum(row_ends - 1, 0)] == _RETURN)
    blank = (counts == 1) & (length == 0)
    if blank.any():
        if columns == 1:
            raise FileError(
                f"{path} has one column and blank lines, which may be rows or not; write a missing "
                'answer as "", or remove them'
            )
        found = np.delete(found, closing[blank])
        starts, counts = starts[~blank], counts[~blank]
    ragged = np.flatnonzero(counts != columns)
    if len(ragged):
        raise FileError(
            f"row {before + int(ragged[0]) + 1} of {path} has {counts[ragged[0]]} cells where the "
            f"header has {columns}; quote cells that hold the separator"
        )
    return starts, found.reshape(-1, columns)


def _check_quotes(text: NDArray[np.uint8], quotes: Places, separator: int, path: Path) -> None:
    """Raise unless quotes open cells at their beginning and close them at their end."""
    edges = np.zeros(256, dtype=np.bool_)
    edges[[separator, _NEWLINE, _QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]
    opens_well = (opening == 0) | edges[text[np.maximum(opening - 1, 0)]]
    edges[_RETURN] = True
    closes_well = (closing == len(text) - 1) | edges[text[np.minimum(closing + 1, len(text) - 1)]]
    if len(quotes) % 2 or not opens_well.all() or not closes_well.all():
        raise FileError(
            f"{path} has a quote inside an unquoted cell, or a quoted cell that is not closed, "
            "which readers understand in different ways; quote such cells and double their quotes"
        )


def _check_returns(text: NDArray[np.uint8], quotes: Places, path: Path) -> None:
    """Raise for a carriage return that is neither quoted nor part of a line end."""
    places = np.flatnonzero(text == _RETURN)
    places = places[np.searchsorted(quotes, places) % 2 == 0]
    followed = text[np.minimum(places + 1, len(text) - 1)] == _NEWLINE
    if not followed.all():
        raise FileError(
            f"{path} has carriage returns that end no line, which readers understand in different "
            "ways; end lines with \\n or \\r\\n"
        )


class Words:
    """The categories of a column as text, and back."""

    def __init__(self, space: ReportSpace) -> None:
        codec = codec_of(space)
        if not codec.is_label:
            raise ArgumentTypeError(
                f"a CSV file cannot hold {space.describe()}: its cells are words; use Parquet or "
                "Feather, which hold bytes, or a mechanism that reports one category"
            )
        domain = codec.labels
        known = [category for category in domain.categories if category is not None]
        if domain.kind not in ("str", "int") or any(c == "" or "\0" in str(c) for c in known):
            raise ArgumentTypeError(
                "categories in a CSV file must be text or whole numbers, or None for an empty "
                f"cell, found {domain.describe()}; declare them as the file writes them, for "
                "example 'True' and 'False'"
            )
        self._texts = pa.array([str(category) for category in known])
        # What stands for every cell that is no category: one more value, equal to none of them.
        # Text of a file never holds the character 0.
        other: Hashable = "\0"
        if domain.kind == "int":
            other = next(n for n in range(len(known) + 1) if n not in known)
        try:
            self._dictionary = pa.array([*known, other])
        except (pa.ArrowException, OverflowError):
            raise ArgumentTypeError(
                "whole numbers in a CSV file must fit into 64 bits; declare them as text"
            ) from None

    @property
    def type(self) -> pa.DataType:
        """The type of `encode`'s result."""
        return pa.dictionary(pa.int32(), self._dictionary.type)

    def encode(self, texts: pa.Array) -> pa.DictionaryArray:
        """Cells as values of the categories' type; an empty one is missing."""
        found = pc.index_in(texts, value_set=self._texts).fill_null(len(self._texts))
        empty = pc.equal(pc.binary_length(texts), 0)
        indices = pc.if_else(empty, pa.scalar(None, pa.int32()), found)
        return pa.DictionaryArray.from_arrays(indices, self._dictionary)


class TextPiece:
    """A block of rows with the places of the private cells."""

    opens = closes = True

    def __init__(
        self,
        block: bytes,
        grid: Grid,
        places: Mapping[str, int],
        words: Mapping[str, Words],
        *,
        by_line: bool,
    ) -> None:
        self._block, self._grid, self._by_line = block, grid, by_line
        self._places, self._words = places, words

    @property
    def rows(self) -> int:
        """How many."""
        return len(self._grid.starts)

    def shown(self, name: str) -> pa.StringArray:
        """The cells of a column as text, unquoted."""
        if not self.rows:
            return pa.array([], type=pa.string())
        bounds = np.stack(self._grid.column(self._places[name]), axis=1).ravel()
        between = _array(self._block, bounds, pa.string())
        cells = between.take(pa.array(np.arange(0, len(between), 2)))
        quoted = pc.starts_with(cells, '"') if b'"' in self._block else None
        if quoted is not None and pc.any(quoted).as_py():
            inner = pc.replace_substring(pc.utf8_slice_codeunits(cells, 1, -1), '""', '"')
            cells = pc.if_else(quoted, inner, cells)
        return cells

    def cells(self, name: str) -> pa.Array:
        """The cells of a column as values of its categories' type, missing, or another one."""
        return self._words[name].encode(self.shown(name))

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The bytes with reports in the cells: each line a row of the batch, or all in one row."""
        names = sorted(reports, key=self._places.__getitem__)
        # gap, cell, gap, cell, ..., gap: each cell is taken from the words instead.
        bounds = [edge for name in names for edge in self._grid.column(self._places[name])]
        if self._by_line:
            bounds.insert(0, self._grid.starts)
        inside = np.stack(bounds, axis=1)
        lead = [] if self._by_line else [0]
        old = _array(self._block, np.concatenate([lead, inside.ravel(), [len(self._block)]]))
        sources, known = [old], len(old)
        taken = np.arange(known)
        grid = taken[len(lead) :].reshape(inside.shape)
        for place, name in enumerate(names):
            words, codes = _written(reports[name], alone=self._grid.columns == 1)
            grid[:, 2 * place + (1 if self._by_line else 0)] = codes + known
            sources.append(words)
            known += len(words)
        new = pa.concat_arrays(sources).take(pa.array(taken))
        return _lines(new, inside.shape[1] if self._by_line else len(new), schema)


def _lines(parts: pa.BinaryArray, width: int, schema: pa.Schema) -> pa.RecordBatch:
    """Each ``width`` parts in a row joined to one; they stand one behind the other already."""
    _, offsets, data = parts.buffers()
    ends = np.frombuffer(offsets, np.int32)[: len(parts) + 1 : width].copy()
    lines = pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), data or pa.py_buffer(b"")]
    )
    return pa.RecordBatch.from_arrays([lines], schema=schema)


def _array(block: bytes, bounds: NDArray[np.int64], type: pa.DataType | None = None) -> pa.Array:
    """The parts of a block between the bounds, without copying it."""
    offsets = pa.py_buffer(bounds.astype(np.int32))
    buffers = [None, offsets, pa.py_buffer(block)]
    return pa.Array.from_buffers(type or pa.binary(), len(bounds) - 1, buffers)


def _written(reports: pa.DictionaryArray, *, alone: bool) -> tuple[pa.Array, NDArray[np.int64]]:
    """The words of a column of reports as they are written, and which stands in each row.

    alone : in a file of one column an empty line is no row, so a missing report is quoted.
    """
    words = [_quoted(str(word)).encode() for word in reports.dictionary.to_pylist()]
    codes = reports.indices.cast(pa.int64()).fill_null(len(words))
    words.append(b'""' if alone else b"")
    return pa.array(words, type=pa.binary()), codes.to_numpy(zero_copy_only=False)


def _quoted(word: str) -> str:
    """A word as a cell, quoted where some reader would need it."""
    special = any(c in word for c in ',;|\t"\r\n') or word != word.strip()
    return '"' + word.replace('"', '""') + '"' if special else word
