"""The contract of a file format: the members of its reader and writer, and of its rows.

All code of this room but the formats themselves works through `DataFile` and `Piece`.  A class of
a new format need not inherit from them: mypy compares it where `formats.FORMATS` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

import pyarrow as pa

from rrstats._typing import ArrowMetadata
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.files.file_metadata import Columns, Records
from rrstats.mechanisms.records import ColumnRecord

ReportSpace = Categories | Subsets
"""Values of the cells of a column: answers, or reports."""

Spaces = Mapping[str, ReportSpace]
"""Columns to read, with the values of their cells."""

Blocks = Iterable[pa.RecordBatch]
"""Rows to write, with the schema that `DataFile.schema_of` returns."""


class Piece(Protocol):
    """Some rows of a file."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def cells(self, name: str) -> pa.Array:
        """The cells of one column: values of its categories' type, other values, or missing."""

    def shown(self, name: str) -> pa.Array:
        """The cells of one column as they stand in the file, for the data curator."""

    def labels(self, name: str) -> pa.Array:
        """The cells of an ordinary column as labels of groups, missing where nothing stands."""

    def replaced(self, reports: Mapping[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """The rows to write, with reports in some columns and no reference to an answer.

        Columns that the target has beyond those of the piece are all in ``reports``.
        """


class DataFile(Protocol):
    """One file of a format, opened from its path without reading a cell.

    Errors are FileError without the words of a library, because these may quote a cell; see
    `batches.reading`.
    """

    records: list[ColumnRecord]
    """Records of the reports in its columns, from the file or the document beside it."""

    relative: str
    """Its path below the source, for a directory of several files."""

    @property
    def path(self) -> Path:
        """Path of the file."""

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order; they may repeat."""

    @property
    def fields(self) -> Sequence[object]:
        """Description of each column, to compare the files of a directory."""

    @property
    def rows(self) -> int | None:
        """Number of rows; None if it is not known before all rows are read."""

    @property
    def metadata(self) -> ArrowMetadata:
        """Key-values of the file; empty for a format without them."""

    @property
    def document_is_beside(self) -> bool:
        """True if the format has no place for the document of the records.

        Then the document is a file of its own, and cells of a lower line may be read as names.
        """

    def type_of(self, name: str) -> pa.DataType:
        """The type of the answers in a column."""

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """An empty array of the type that `Piece.cells` has for a column."""

    def pieces(self, spaces: Spaces, *, lines: bool = False, only: bool = False) -> Iterator[Piece]:
        """All rows in order, in pieces of bounded memory.

        spaces : the columns to read, with their values.
        lines : `Piece.replaced` returns one row for each row of the file, so that rows can be
            shuffled; formats with one row of a batch for each row of the file do so always.
        only : the columns of ``spaces`` alone are needed; a format may read them only.
        """

    def schema_of(self, changed: Columns) -> pa.Schema:
        """The schema of the blocks to write, when some columns become reports."""

    def bytes_expected(self, changed: Columns) -> int:
        """Approximate bytes of all rows in memory, with reports."""

    def group_rows(self, changed: Columns, share: int = 1) -> int:
        """Rows that are written together, which must not depend on the true answers.

        share : divides the usual number of rows, for groups that need more memory.
        """

    def write(
        self,
        sink: IO[bytes],
        blocks: Blocks,
        changed: Columns,
        records: Records,
        *,
        schema: pa.Schema | None = None,
    ) -> None:
        """Write a complete file of the same format, in bounded memory.

        sink : an open file.  changed : the columns of reports, with their types.
        records : how all recorded columns were made, if the format has a place for them.
        schema : of the blocks, if it is not that of `schema_of`.
        """
