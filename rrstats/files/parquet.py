"""Parquet: read row group by row group, and write the like again.

Codecs, dictionary encoding, row groups, types, field ids and key-values stay as they are in the
source.  What tells of the true answers does not: statistics and page indexes are made anew
from the reports, Bloom filters are not taken over, and neither is the claim that the rows are
sorted by a privatized column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rrstats.domain import Domain
from rrstats.files import documents, parts
from rrstats.files.parts import Changed, Room, TablePiece, Writer, changed_schema, reading
from rrstats.metadata import Record

__all__ = ["ParquetPart"]

WHAT = "a Parquet file"
ARROW_SCHEMA = b"ARROW:schema"
PROBE_ROWS = 1024

# Buffered, a large column of a row group is not read at once.  Older versions read beyond the
# buffer, or fail (apache/arrow issues 43949 and 48311): there the compressed column is read whole.
BUFFER_BYTES = 1 << 20 if int(pa.__version__.partition(".")[0]) >= 24 else 0

# Encodings that are not a dictionary and can be asked for again.
_PLAIN_ENCODINGS = {
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
    "BYTE_STREAM_SPLIT",
}


class ParquetPart:
    """One Parquet file."""

    document_is_beside = False

    def __init__(self, path: Path, relative: str) -> None:
        self.path, self.relative = path, relative
        with reading(path, WHAT), self._open() as file:
            self.schema: pa.Schema = file.schema_arrow
            self._layout = _Layout(file)
            self.rows: int | None = file.metadata.num_rows
            extra = file.metadata.metadata or {}
        self.names: list[str] = self.schema.names
        self._stores_schema = ARROW_SCHEMA in extra
        self._metadata = {k: v for k, v in extra.items() if k != ARROW_SCHEMA}
        self._metadata |= self.schema.metadata or {}
        self.records = documents.read_records(self._metadata)

    def _open(self) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.path, pre_buffer=False, buffer_size=BUFFER_BYTES, memory_map=False
        )

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column."""
        return self.schema.field(self.names.index(name)).type

    @property
    def fields(self) -> Sequence[object]:
        """Names, types and nullability."""
        return list(self.schema)

    def no_cells(self, name: str, domain: Domain) -> pa.Array:
        """An empty array of the column's type."""
        return parts.no_cells(self.type_of(name))

    def has_copy(self, name: str) -> bool:
        """Whether an index of pandas has the column's name."""
        return documents.carries_copy(self._metadata, name)

    def pieces(
        self, domains: Mapping[str, Domain], *, lines: bool = False, only: bool = False
    ) -> Iterator[TablePiece]:
        """Pieces; one group for each row group of the source, or more where it is too large."""
        with reading(self.path, WHAT), self._open() as file:
            options = {"columns": list(domains) if only else None, "use_threads": True}
            size = self._batch_rows(file, options)
            for group in range(file.num_row_groups):
                room, first = Room(), True
                for batch in file.iter_batches(size, row_groups=[group], **options):
                    yield TablePiece(batch, room.is_full_for(batch) or first)
                    first = False

    def _batch_rows(self, file: pq.ParquetFile, options: Mapping[str, Any]) -> int:
        """Rows of a piece, so that also wide rows take a bounded room."""
        full = [g for g in range(file.num_row_groups) if file.metadata.row_group(g).num_rows]
        if not full:
            return parts.BATCH_ROWS
        about = file.metadata.row_group(full[0])
        probed = next(file.iter_batches(PROBE_ROWS, row_groups=full[:1], **options))
        wide = max(about.total_byte_size / about.num_rows, probed.nbytes / probed.num_rows, 1)
        return min(parts.BATCH_ROWS, max(64, int(parts.GROUP_BYTES / 4 / wide)))

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """The source's schema with the types of the reports."""
        return changed_schema(self.schema.remove_metadata(), changed)

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> Writer:
        """A writer with the source's properties."""
        metadata = self._metadata
        for column in changed:
            metadata = documents.mend(metadata, column, self.type_of(column.name))
        metadata = documents.with_records(metadata, records)
        schema = self.schema_of(changed)
        options = self._layout.options([column.name for column in changed], shuffled)
        return _ParquetWriter(sink, schema, metadata, self._stores_schema, options)


class _Layout:
    """How the source's columns are encoded, as far as its footer says so."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._leaves: dict[str, tuple[str, set[str]]] = {}
        self._statistics = self._page_index = self._old_timestamps = False
        groups = [file.metadata.row_group(g) for g in range(file.num_row_groups)]
        for group in groups:
            for place in range(group.num_columns):
                self._learn(group.column(place))
        sorting = {group.sorting_columns for group in groups}
        self._sorting = sorting.pop() if len(sorting) == 1 else ()
        self._paths = [file.schema.column(i).path for i in range(len(file.schema))]
        self._empty = not groups

    def _learn(self, chunk: pq.ColumnChunkMetaData) -> None:
        codec, encodings = self._leaves.get(chunk.path_in_schema, (chunk.compression, set()))
        self._leaves[chunk.path_in_schema] = codec, encodings | set(chunk.encodings)
        self._statistics |= chunk.is_stats_set
        self._page_index |= chunk.has_offset_index
        self._old_timestamps |= chunk.physical_type == "INT96"

    def options(self, names: Sequence[str], shuffled: bool) -> dict[str, Any]:
        """Options of a ParquetWriter.  Nothing of the columns ``names`` but their codec counts:

        whether a dictionary was worth while may tell how many different answers there were.
        """
        codecs = {path: _codec(self._leaves[path][0]) for path in self._leaves}
        dictionary, encodings = [], {}
        for path, (_, used) in self._leaves.items():
            if path in names or used & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}:
                dictionary.append(path)
            elif used & _PLAIN_ENCODINGS:
                encodings[path] = sorted(used & _PLAIN_ENCODINGS)[0]
        found: dict[str, Any] = {
            "compression": "snappy" if self._empty else codecs,
            "use_dictionary": True if self._empty else dictionary or False,
            "column_encoding": encodings or None,
            "write_statistics": self._statistics or self._empty,
            "write_page_index": self._page_index,
            "use_deprecated_int96_timestamps": self._old_timestamps,
            # Then nested fields are called what they are called in the source.
            "use_compliant_nested_type": False,
            "version": "2.6",
        }
        kept = []
        for column in self._sorting:
            if shuffled or self._paths[column.column_index] in names:
                break
            kept.append(column)
        return found | ({"sorting_columns": kept} if kept else {})


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()


class _ParquetWriter:
    """Each group becomes a row group."""

    def __init__(
        self,
        sink: IO[bytes],
        schema: pa.Schema,
        metadata: dict[bytes, bytes],
        stores_schema: bool,
        options: dict[str, Any],
    ) -> None:
        self._schema = schema
        self._late = {} if stores_schema else metadata
        stored = schema.with_metadata(metadata) if stores_schema else schema
        self._writer = pq.ParquetWriter(sink, stored, store_schema=stores_schema, **options)

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write one row group."""
        table = pa.Table.from_batches(batches, schema=self._schema)
        if any(pa.types.is_dictionary(field.type) for field in self._schema):
            table = table.unify_dictionaries()
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        """Write the footer."""
        if self._late:
            self._writer.add_key_value_metadata(self._late)
        self._writer.close()
