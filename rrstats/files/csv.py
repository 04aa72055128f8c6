"""CSV and TSV, gzipped or not: only the private cells are replaced, all other bytes are kept.

A block of the file is cut at its separators and line ends, and the reports replace the bytes of
the private cells.  Nothing else changes: "007", 1.10, dates, quotes, line ends and a byte order
mark stay as they are.  Only where rows are shuffled, all lines end like the header, and blank lines
are left out, because both would show where a row stood.

The format is RFC 4180, with ``,``, ``;``, ``|`` or tab as separator, which is found in the header.
A quote opens a cell only at its beginning, and closes it only at its end; within the cell two
quotes stand for one.  Everything else is refused, because readers interpret it differently, and
mistaking one cell for another would release a true answer.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rrstats._typing import ArrowMetadata
from rrstats.data.arrow import WORD_PLACES
from rrstats.data.categories import is_unicode
from rrstats.data.codecs import codec_of
from rrstats.data.number_spaces import NumberSpace
from rrstats.errors import ArgumentTypeError, FileError
from rrstats.files.atomic import SIDECAR
from rrstats.files.batches import EVEN_ROWS, reading
from rrstats.files.data_file import Blocks, Piece, ReportSpace, Spaces
from rrstats.files.file_metadata import Columns, Records
from rrstats.files.file_records import records_in

BLOCK_BYTES = 4 << 20
ZIPPED_BYTES = 1 << 20
EXPANSION = 4
"""Text may be larger by this factor when unzipped, and in memory."""

LONGEST_ROW = 64 << 20
"""Bytes of a row beyond which a quote is taken to be open, so that memory stays bounded."""

GZIP_LEVEL = 6
"""The level of the program gzip, a compromise between time and size."""

# A byte order mark, blank lines, and the first line that is not blank with quoted line ends.
_HEADER = re.compile(rb'(?:\xef\xbb\xbf)?[\r\n]*+(?:"[^"]*"|[^"\n]++)++(?:\n|\Z)')


class TextFile:
    """One file of delimited text (a `DataFile`); all cells are text."""

    document_is_beside = True
    rows = None
    metadata: ArrowMetadata = MappingProxyType({})

    def __init__(self, path: Path, relative: str) -> None:
        self.path = path
        self.relative = relative
        self.gzipped = path.suffix.lower() == ".gz"
        tabbed = path.with_suffix("" if self.gzipped else path.suffix).suffix.lower() == ".tsv"
        self._header = self._find_header()
        self._separator, self.names = _fields(self._header, path, tabbed=tabbed)
        self.fields = self.names
        self._newline = b"\r\n" if self._header.endswith(b"\r\n") else b"\n"
        self.records = records_in(path.with_name(path.name + SIDECAR))

    @property
    def separator(self) -> str:
        """The character between the cells of a row."""
        return chr(self._separator)

    def type_of(self, name: str) -> pa.DataType:
        """Text."""
        return pa.string()

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """An empty array of the categories' type."""
        return Words(space).encode(pa.array([], type=pa.string()))

    # -- reading ---------------------------------------------------------------------------

    def _blocks(self) -> Iterator[bytes]:
        """The bytes of the file in blocks of complete rows; the last may lack a line end."""
        rest = b""
        at_end = False
        opener: Any = gzip.open if self.gzipped else open
        with reading(self.path, "text"), opener(self.path, "rb") as file:
            while not at_end:
                chunk = file.read(BLOCK_BYTES)
                at_end = not chunk
                rest += chunk
                end = len(rest) if at_end else last_line_end(rest)
                if end:
                    yield self._checked(rest[:end])
                    rest = rest[end:]
                elif len(rest) > LONGEST_ROW:
                    raise FileError(
                        f"{self.path} has a row of more than {LONGEST_ROW >> 20} MiB; check that "
                        "each quoted cell is closed"
                    )

    def _find_header(self) -> bytes:
        """The beginning of the file to the end of the first line that is not blank."""
        begin = b""
        for block in self._blocks():
            begin += block
            header = _HEADER.match(begin)
            if header is not None:
                return header[0]
        raise FileError(
            f"{self.path} has no header with the column names: it is empty, or a quote is not "
            "closed"
        )

    def _checked(self, block: bytes) -> bytes:
        """The block; raises FileError unless it is text."""
        try:
            readable = "\0" not in block.decode()
        except UnicodeDecodeError:
            readable = False
        if not readable:
            raise FileError(f"{self.path} is not UTF-8 text; convert it, for example with iconv")
        return block

    def pieces(self, spaces: Spaces, *, lines: bool = False, only: bool = False) -> Iterator[Piece]:
        """Blocks of rows; with ``lines`` each row is a separate line, for shuffling."""
        places = {name: self.names.index(name) for name in spaces}
        words = {name: Words(space) for name, space in spaces.items()}
        rows = 0
        header_left = len(self._header)
        for block in self._blocks():
            body = block[header_left:]
            header_left = max(0, header_left - len(block))
            if body:
                grid = Grid(body, self._separator, len(self.names), self.path, before=rows)
                rows += len(grid.starts)
                line_end = self._newline if lines else None
                yield TextPiece(body, grid, places, words, line_end=line_end)

    # -- writing ---------------------------------------------------------------------------

    def bytes_expected(self, changed: Columns) -> int:
        """A guess from the file's size; lines do not show which buckets they were shuffled in."""
        return EXPANSION * self.path.stat().st_size

    def group_rows(self, changed: Columns, share: int = 1) -> int:
        """Any number: the target does not show how rows were grouped."""
        return EVEN_ROWS

    def schema_of(self, changed: Columns) -> pa.Schema:
        """Lines as bytes."""
        return LINES

    def write(
        self,
        sink: IO[bytes],
        blocks: Blocks,
        changed: Columns,
        records: Records,
        *,
        schema: pa.Schema | None = None,
    ) -> None:
        """Write the same header, then the lines as they are; the records go beside the file.

        Bytes are collected before they are gzipped: the output of some versions of zlib depends on
        how the bytes are cut into pieces, and that depends on the true answers.
        """
        header = self._header
        for name in [name for name in changed if name not in self.names]:
            line = header.rstrip(b"\r\n")
            header = line + bytes([self._separator]) + _quoted(name).encode() + header[len(line) :]
        texts: Iterator[Any] = itertools.chain([header], map(_text_of, blocks))
        if not self.gzipped:
            sink.writelines(texts)
            return
        with gzip.GzipFile("", "wb", GZIP_LEVEL, cast(Any, sink), mtime=0) as packed:
            waiting = bytearray()
            for text in texts:
                waiting += text
                full_blocks = len(waiting) // ZIPPED_BYTES * ZIPPED_BYTES
                for start in range(0, full_blocks, ZIPPED_BYTES):
                    packed.write(bytes(waiting[start : start + ZIPPED_BYTES]))
                del waiting[:full_blocks]
            packed.write(bytes(waiting))


def _text_of(batch: pa.RecordBatch) -> memoryview:
    """The bytes of lines."""
    lines = batch.column(0)
    _, offsets, data = lines.buffers()
    places = np.frombuffer(offsets, np.int32)[lines.offset :][: len(lines) + 1]
    return memoryview(data)[int(places[0]) : int(places[-1])]


# -- the beginning of a file -------------------------------------------------------------------


def _fields(header: bytes, path: Path, *, tabbed: bool) -> tuple[int, list[str]]:
    """The separator, and the names in the header."""
    text = header.decode("utf-8-sig").lstrip("\r\n")
    bare = re.sub(r'"[^"]*"', "", text)
    candidates = "\t" if tabbed else ",;\t|"
    separator = next((mark for mark in candidates if mark in bare), candidates[0])
    try:
        (names,) = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        raise FileError(
            f"the header of {path} cannot be read: check its quotes, and end lines with \\n or "
            "\\r\\n"
        ) from None
    # Check the header as a row: answers that were mistaken for header text would be published.
    Grid(text.encode(), ord(separator), len(names), path)
    return ord(separator), names


# -- cells ------------------------------------------------------------------------------------

Places = NDArray[np.int64]

LINES = pa.schema([pa.field("lines", pa.binary())])

_QUOTE = b'"'[0]
_NEWLINE = b"\n"[0]
_RETURN = b"\r"[0]


def last_line_end(block: bytes) -> int:
    """The place after the last line end outside quoted cells; 0 if there is none.

    block : must begin with a row.
    """
    quotes = block.count(b'"')
    end = len(block)
    while True:
        line_end = block.rfind(b"\n", 0, end)
        quotes -= block.count(b'"', line_end + 1, end)
        if line_end < 0 or quotes % 2 == 0:
            return line_end + 1
        end = line_end


class Grid:
    """Places of the cells of n rows in a block of complete rows.

    path, before : the file, and the number of its rows before the block, for errors.
    ``starts`` (n,) holds where each row begins, ``ends`` (n, columns) where each cell ends.
    Raises FileError for rows with too many or too few cells, and for quotes and line ends that
    readers interpret differently.
    """

    def __init__(
        self, block: bytes, separator: int, columns: int, path: Path, *, before: int = 0
    ) -> None:
        self.columns = columns
        self.separator = separator
        self._path = path
        self._text = np.frombuffer(block, np.uint8)
        text = self._text
        marks = (text == separator) | (text == _NEWLINE)
        quotes = np.zeros(0, dtype=np.int64)
        if b'"' in block:
            marks |= text == _QUOTE
            places = np.flatnonzero(marks)
            is_quote = text[places] == _QUOTE
            inside = np.bitwise_xor.accumulate(is_quote)
            quotes = places[is_quote]
            self._check_quotes(quotes, separator)
            cell_ends = places[~(is_quote | inside)]
        else:
            cell_ends = np.flatnonzero(marks)
        if b"\r" in block:
            self._check_returns(quotes)
        ends_row = text[cell_ends] == _NEWLINE
        if not block.endswith(b"\n"):
            cell_ends = np.append(cell_ends, len(block))
            ends_row = np.append(ends_row, True)
        rows = int(np.count_nonzero(ends_row))
        if len(cell_ends) == rows * columns > rows and ends_row[columns - 1 :: columns].all():
            self.ends = cell_ends.reshape(rows, columns)
            self.starts = np.concatenate([[0], self.ends[:-1, -1] + 1])
        else:
            self.starts, self.ends = self._uneven(cell_ends, np.flatnonzero(ends_row), before)
        if len(self.starts):
            # The last cell of a row ends before the carriage return.
            last = np.maximum(self.ends[:, -1] - 1, 0)
            self.ends[:, -1] -= (text[last] == _RETURN) & (last >= self.starts)

    def column(self, place: int) -> tuple[Places, Places]:
        """Beginnings and ends of the cells of one column."""
        starts = self.ends[:, place - 1] + 1 if place else self.starts
        return starts, self.ends[:, place]

    def _uneven(self, cell_ends: Places, closing: Places, before: int) -> tuple[Places, Places]:
        """Beginnings of rows and ends of cells, among blank lines; raises for ragged rows.

        closing : indices of the cell ends that also end a row.
        """
        row_ends = cell_ends[closing]
        starts = np.concatenate([[0], row_ends[:-1] + 1])
        counts = np.diff(closing, prepend=-1)
        length = row_ends - starts
        length -= (length > 0) & (self._text[np.maximum(row_ends - 1, 0)] == _RETURN)
        blank = (counts == 1) & (length == 0)
        if blank.any():
            self._need(
                self.columns > 1,
                "has one column and blank lines, which may or may not be rows; write missing "
                'answers as "", or remove the blank lines',
            )
            cell_ends = np.delete(cell_ends, closing[blank])
            starts = starts[~blank]
            counts = counts[~blank]
        ragged = np.flatnonzero(counts != self.columns)
        if len(ragged):
            raise FileError(
                f"row {before + int(ragged[0]) + 1} of {self._path} has {counts[ragged[0]]} cells, "
                f"but the header has {self.columns}; quote cells that hold the separator"
            )
        return starts, cell_ends.reshape(-1, self.columns)

    def _check_quotes(self, quotes: Places, separator: int) -> None:
        """Raise unless quotes open cells at their beginning and close them at their end."""
        text = self._text
        is_edge = np.zeros(256, dtype=np.bool_)
        is_edge[[separator, _NEWLINE, _QUOTE]] = True
        opening = quotes[::2]
        opens = (opening == 0) | is_edge[text[np.maximum(opening - 1, 0)]]
        is_edge[_RETURN] = True
        closing = quotes[1::2]
        last = len(text) - 1
        closes = (closing == last) | is_edge[text[np.minimum(closing + 1, last)]]
        self._need(
            len(quotes) % 2 == 0 and opens.all() and closes.all(),
            "has a quote inside an unquoted cell, or a quoted cell that is not closed, which "
            "readers interpret differently; quote such cells and double their quotes",
        )

    def _check_returns(self, quotes: Places) -> None:
        """Raise for a carriage return that is neither quoted nor part of a line end."""
        text = self._text
        places = np.flatnonzero(text == _RETURN)
        places = places[np.searchsorted(quotes, places) % 2 == 0]
        self._need(
            (text[np.minimum(places + 1, len(text) - 1)] == _NEWLINE).all(),
            "has carriage returns that do not end a line, which readers interpret differently; "
            "end lines with \\n or \\r\\n",
        )

    def _need(self, condition: bool | np.bool_, otherwise: str) -> None:
        if not condition:
            raise FileError(f"{self._path} {otherwise}")


class WordPlaces(pa.ExtensionType):  # type: ignore[misc]  # pyarrow leaves its base untyped
    """The type of cells of text that were looked up among the words of categories."""

    def __init__(self) -> None:
        super().__init__(pa.int32(), WORD_PLACES)

    def __hash__(self) -> int:
        return hash(WORD_PLACES)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> WordPlaces:
        return cls()


_SPELLINGS = {True: ("True", "true", "TRUE"), False: ("False", "false", "FALSE")}
"""The words of booleans, as pandas and other readers of CSV take them; the first is written."""


class Words:
    """Finds the categories of a column in its cells of text.

    Text and whole numbers stand in the file as they are declared.  Booleans are True and False;
    other numbers may be spelled in any way (1.5, 1.50).
    """

    def __init__(self, space: ReportSpace) -> None:
        codec = codec_of(space)
        if not codec.is_label:
            raise ArgumentTypeError(
                f"a CSV file cannot hold {space.describe()}, because its cells are text; use "
                "Parquet or Feather, which hold bytes, or a mechanism that reports one category"
            )
        domain = codec.domain
        self._k = domain.answers
        self._numbers: Callable[[float], int] | None = None
        if isinstance(domain, NumberSpace):
            self._numbers = domain.code
            return
        answers: list[tuple[int, Any]] = [
            (code, word) for code, word in enumerate(domain.categories) if word is not None
        ]
        are_int64 = domain.kind == "int" and all(
            -(1 << 63) <= number < 1 << 63 for _, number in answers
        )
        are_text = domain.kind == "str" and all(
            word and "\0" not in word and is_unicode(word) for _, word in answers
        )
        if not are_int64 and not are_text and domain.kind not in ("bool", "float"):
            raise ArgumentTypeError(
                "categories in a CSV file must be text (valid Unicode), booleans, whole numbers of "
                "64 bits or decimals, or None for an empty cell, found "
                f"{domain.describe()}; declare them as text"
            )
        if domain.kind == "float":
            code_of = {float(number): code for code, number in answers}
            self._numbers = lambda number: code_of.get(number, self._k)
        words = [
            (spelling, code)
            for code, word in answers
            for spelling in (_SPELLINGS[word] if domain.kind == "bool" else [str(word)])
        ]
        self._texts = pa.array([word for word, _ in words])
        codes = [code for _, code in words]
        self._codes = pa.array([*codes, self._k], pa.int32())

    def encode(self, texts: pa.Array) -> pa.ExtensionArray:
        """Cells as places among the categories; an empty cell is missing."""
        if self._numbers is None:
            places = pc.index_in(texts, value_set=self._texts).fill_null(len(self._texts))
            codes = self._codes.take(places)
        else:
            distinct = texts.dictionary_encode()
            numbers = map(number_in, distinct.dictionary.to_pylist())
            of_distinct = [self._k if math.isnan(x) else self._numbers(x) for x in numbers]
            codes = pa.array(of_distinct, pa.int32()).take(distinct.indices)
        empty = pc.equal(pc.binary_length(texts), 0)
        storage = pc.if_else(empty, pa.scalar(None, pa.int32()), codes)
        return pa.ExtensionArray.from_storage(WordPlaces(), storage)


def number_in(text: str) -> float:
    """The number that a cell of text spells; NaN if it spells none."""
    if text.isascii() and "_" not in text:  # which Python reads, and no other program
        with suppress(ValueError):
            return float(text)
    return math.nan


class TextPiece:
    """A block of rows (a `Piece`) with the places of the private cells.

    line_end : for rows that are separate lines, the end of each; None for rows in one text.
    """

    def __init__(
        self,
        block: bytes,
        grid: Grid,
        places: Mapping[str, int],
        words: Mapping[str, Words],
        *,
        line_end: bytes | None,
    ) -> None:
        self._block = block
        self._grid = grid
        self._places = places
        self._words = words
        self._line_end = line_end
        self._separator = bytes([grid.separator])

    @property
    def rows(self) -> int:
        """Number of rows."""
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

    def labels(self, name: str) -> pa.Array:
        """The cells of an ordinary column as labels of groups: text, missing where it is empty."""
        cells = self.shown(name)
        return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)

    def cells(self, name: str) -> pa.Array:
        """The cells of a column: values of its categories' type, missing, or another value."""
        return self._words[name].encode(self.shown(name))

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The bytes with the reports inserted: each line is a row of the batch, or all are one."""
        by_line = self._line_end is not None
        names = sorted(reports, key=lambda name: self._places.get(name, self._grid.columns))
        # gap, cell, gap, cell, ..., gap: cells are replaced by words.
        bounds: list[Places] = []
        for name in names:
            if name in self._places:
                bounds += self._grid.column(self._places[name])
            else:  # a new column is an empty cell at the end of each row
                row_ends = self._grid.ends[:, -1]
                bounds += [row_ends, row_ends]
        if by_line:  # the last part of a row is its line end, with blank lines
            bounds = [self._grid.starts, *bounds, self._grid.ends[:, -1]]
        inside = np.stack(bounds, axis=1)
        start = [] if by_line else [0]
        old = _array(self._block, np.concatenate([start, inside.ravel(), [len(self._block)]]))
        sources = [old]
        n_parts = len(old)
        taken = np.arange(n_parts)
        grid = taken[len(start) :].reshape(inside.shape)
        for place, name in enumerate(names):
            lead = b"" if name in self._places else self._separator
            words, codes = _written(reports[name], lead, is_only_cell=self._grid.columns == 1)
            grid[:, 2 * place + (1 if by_line else 0)] = codes + n_parts
            sources.append(words)
            n_parts += len(words)
        if by_line:
            grid[:, -1] = n_parts
            sources.append(pa.array([self._line_end], old.type))
        parts = pa.concat_arrays(sources).take(pa.array(taken))
        return _lines(parts, inside.shape[1] if by_line else len(parts), schema)


def _lines(parts: pa.BinaryArray, width: int, schema: pa.Schema) -> pa.RecordBatch:
    """Join each ``width`` consecutive parts to one; their bytes are already contiguous."""
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


def _written(
    reports: pa.Array, lead: bytes, *, is_only_cell: bool
) -> tuple[pa.Array, NDArray[np.int64]]:
    """The words to write for a column of reports, and the index of the word of each row.

    lead : text before each word.
    is_only_cell : in a file with one column an empty line is not a row, so a missing report is
        quoted.
    """
    coded = reports.dictionary_encode()
    words = [lead + _quoted(str(word)).encode() for word in coded.dictionary.to_pylist()]
    codes = coded.indices.cast(pa.int64()).fill_null(len(words))
    words.append(b'""' if is_only_cell else b"")
    return pa.array(words, type=pa.binary()), codes.to_numpy(zero_copy_only=False)


def _quoted(word: str) -> str:
    """A word as a cell, quoted if a reader may need it."""
    special = any(c in word for c in ',;|\t"\r\n') or word != word.strip()
    return '"' + word.replace('"', '""') + '"' if special else word
