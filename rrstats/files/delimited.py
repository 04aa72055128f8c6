"""CSV and TSV, gzipped or not: only the private cells are written anew, byte by byte.

A block of the file is cut at its separators and line ends, and the reports are put between the
bytes that stand around the private cells.  So nothing else changes: "007", 1.10, dates, quotes,
line ends and a byte order mark stay as they are.  Whatever two readers could cut in different
ways is refused, because a cell taken for another would release a true answer.

The format: RFC 4180, with any of ``, ; |`` and tab as separator, found in the header.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from rrstats.errors import DamagedDocumentError, FileError, MetadataError
from rrstats.files import cells
from rrstats.files.cells import LINES, TextPiece, Words
from rrstats.files.parts import Changed, ReportSpace, Writer, reading
from rrstats.mechanisms.records import KEY, Record, read

__all__ = ["SIDECAR", "DelimitedPart"]

SIDECAR = ".rrstats.json"
BLOCK_BYTES = 4 << 20
ZIPPED_BYTES = 1 << 20
EXPANSION = 4
"""What is gzipped may be some times larger, and text in memory too."""

LONGEST_ROW = 64 << 20

_BOM = b"\xef\xbb\xbf"


class DelimitedPart:
    """One file of delimited text; all its cells are text."""

    document_is_beside = True

    def __init__(self, path: Path, relative: str) -> None:
        self.path, self.relative = path, relative
        self.gzipped = path.suffix.lower() == ".gz"
        tabbed = path.with_suffix("" if self.gzipped else path.suffix).suffix.lower() == ".tsv"
        self._header = self._find_header()
        self._separator, self.names = _fields(self._header, path, tabbed=tabbed)
        self._newline = b"\r\n" if self._header.endswith(b"\r\n") else b"\n"
        self.rows: int | None = None
        self.records = _sidecar(path)

    def type_of(self, name: str) -> pa.DataType:
        """Text."""
        return pa.string()

    @property
    def fields(self) -> Sequence[object]:
        """The names say all."""
        return self.names

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """No cells, as values of the categories' type."""
        return Words(space).encode(pa.array([], type=pa.string()))

    def has_copy(self, name: str) -> bool:
        """A text file has no index."""
        return False

    # -- reading ---------------------------------------------------------------------------

    def _blocks(self) -> Iterator[bytes]:
        """The bytes of the file in blocks of whole rows; only the last may lack a line end."""
        rest = b""
        with reading(self.path, "text"):
            opener: Any = gzip.open if self.gzipped else open
            with opener(self.path, "rb") as file:
                while chunk := file.read(BLOCK_BYTES):
                    rest += chunk
                    end = cells.last_line_end(rest)
                    if end:
                        yield self._checked(rest[:end])
                        rest = rest[end:]
                    elif len(rest) > LONGEST_ROW:
                        raise FileError(
                            f"{self.path} has a row of more than {LONGEST_ROW >> 20} MiB: a quoted "
                            "cell may never be closed"
                        )
        if rest:
            yield self._checked(rest)

    def _find_header(self) -> bytes:
        """The beginning of the file, up to the end of the first line that is not blank."""
        begin = b""
        for block in self._blocks():
            begin += block
            start = len(_BOM) if begin.startswith(_BOM) else 0
            while start < len(begin):
                end = cells.first_line_end(begin, start)
                if begin[start:end].strip(b"\r\n"):
                    return begin[:end]
                start = end
        raise FileError(f"{self.path} is empty: it has no header that names the columns")

    def _checked(self, block: bytes) -> bytes:
        """The block, if it is text."""
        try:
            if not block.isascii():
                block.decode()
            readable = b"\0" not in block
        except UnicodeDecodeError:
            readable = False
        if not readable:
            raise FileError(f"{self.path} is not UTF-8 text; convert it, for example with iconv")
        return block

    def pieces(
        self,
        spaces: Mapping[str, ReportSpace],
        *,
        report_bytes: int = 0,
        lines: bool = False,
        only: bool = False,
    ) -> Iterator[TextPiece]:
        """Blocks of rows; with ``lines`` each row can be moved."""
        places = {name: self.names.index(name) for name in spaces}
        words = {name: Words(space) for name, space in spaces.items()}
        rows, skip = 0, len(self._header)
        for block in self._blocks():
            body, skip = block[skip:], max(0, skip - len(block))
            if lines and body and not body.endswith(b"\n"):
                body += self._newline
            if body:
                grid = cells.cut(body, self._separator, len(self.names), self.path, rows)
                rows += len(grid.starts)
                yield TextPiece(body, grid, places, words, by_line=lines)

    # -- writing ---------------------------------------------------------------------------

    def bytes_expected(self, changed: Sequence[Changed]) -> int:
        """A guess from the size of the file; nothing of lines shows how they were shuffled."""
        return EXPANSION * self.path.stat().st_size

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """Lines as bytes."""
        return LINES

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> Writer:
        """A writer that begins with the same header; the records go beside the file."""
        return _TextWriter(sink, self._header, self.gzipped)


class _TextWriter:
    """Writes lines as they are.

    What is gzipped is gathered first: some versions of zlib pack the same bytes otherwise where
    they come in other pieces, and where pieces end follows from the true answers.
    """

    def __init__(self, sink: IO[bytes], header: bytes, gzipped: bool) -> None:
        self._gzip = gzip.GzipFile("", "wb", 6, cast(Any, sink), mtime=0) if gzipped else None
        self._sink = sink
        self._waiting = bytearray()
        self._write(header)

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write lines."""
        for batch in batches:
            lines = batch.column(0)
            _, offsets, data = lines.buffers()
            places = np.frombuffer(offsets, np.int32)[lines.offset :][: len(lines) + 1]
            self._write(memoryview(data)[int(places[0]) : int(places[-1])])

    def _write(self, text: bytes | memoryview) -> None:
        if self._gzip is None:
            self._sink.write(text)
            return
        self._waiting += text
        whole = len(self._waiting) // ZIPPED_BYTES * ZIPPED_BYTES
        for start in range(0, whole, ZIPPED_BYTES):
            self._gzip.write(bytes(self._waiting[start : start + ZIPPED_BYTES]))
        del self._waiting[:whole]

    def close(self) -> None:
        """Write the end of a gzip file."""
        if self._gzip is not None:
            self._gzip.write(bytes(self._waiting))
            self._gzip.close()


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
    # The same rules as for all rows: what follows a header that ends too late would be published.
    cells.cut(text.encode(), ord(separator), len(names), path, 0)
    return ord(separator), names


def _sidecar(path: Path) -> list[Record]:
    """What the file beside a text file says of its columns."""
    beside = path.with_name(path.name + SIDECAR)
    try:
        text = beside.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileError(f"cannot read {beside}: {error.strerror}") from None
    try:
        return read({KEY: text})
    except MetadataError as error:
        raise DamagedDocumentError(f"{beside}: {error}") from None
