"""Parquet: read row group by row group, and write the like again.

Codecs, dictionary encoding, row groups, types, field ids and key-values stay as they are in the
source.  What tells of the true answers does not: statistics and page indexes are made anew
from the reports, Bloom filters are not taken over, and neither is the claim that the rows are
sorted by a privatized column.

Every size that shows in the target, of row groups and of pages, follows from the row groups of
the source, the other columns and the declared categories.  The private columns are read apart,
so that however long the answers are, the others are read as if those were not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rrstats.errors import FileError
from rrstats.files import file_metadata, parts
from rrstats.files.parts import (
    Changed,
    ReportSpace,
    Room,
    TablePiece,
    Writer,
    changed_schema,
    reading,
)
from rrstats.files.typed import TypedPart
from rrstats.mechanisms.records import Record

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


class ParquetPart(TypedPart):
    """One Parquet file."""

    def __init__(self, path: Path, relative: str) -> None:
        self.path, self.relative = path, relative
        with reading(path, WHAT), self._open() as file:
            self.schema = file.schema_arrow
            self._layout = _Layout(file)
            self.rows: int | None = file.metadata.num_rows
            extra = file.metadata.metadata or {}
        self.names = self.schema.names
        self._stores_schema = ARROW_SCHEMA in extra
        self._metadata = {k: v for k, v in extra.items() if k != ARROW_SCHEMA}
        self._metadata |= self.schema.metadata or {}
        self.records = file_metadata.read_records(self._metadata)

    def _open(self, **options: Any) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.path, pre_buffer=False, buffer_size=BUFFER_BYTES, memory_map=False, **options
        )

    def bytes_expected(self, changed: Sequence[Changed]) -> int:
        """The other columns as the footer says, or as their types say where that is more."""
        rest = self._layout.bytes_without([column.name for column in changed])
        return max(rest, (self.rows or 0) * parts.row_bytes(self.schema_of(changed)))

    def pieces(
        self,
        spaces: Mapping[str, ReportSpace],
        *,
        report_bytes: int = 0,
        lines: bool = False,
        only: bool = False,
    ) -> Iterator[TablePiece]:
        """Pieces; one group for each row group of the source, or more where it is too large."""
        asked, width = list(spaces), report_bytes
        held = [] if only else [name for name in dict.fromkeys(self.names) if name not in spaces]
        # Two readers, because one has but one batch size at a time.
        with (
            reading(self.path, WHAT),
            self._open() as file,
            self._open() as beside,
            self._open(coerce_int96_timestamp_unit="us") as coarser,
        ):
            rows = _rows_of_width(width + self._width(file, held, asked, others=True))
            fewer = min(rows, _rows_of_width(self._width(file, asked, asked)))
            for group in self._layout.groups:
                blocks = beside.iter_batches(rows, row_groups=[group], columns=held)
                if old := [name for name in held if name in self._layout.old_timestamps]:
                    coarse = coarser.iter_batches(rows, row_groups=[group], columns=old)
                    blocks = _checked_timestamps(blocks, coarse, self.path)
                cells = file.iter_batches(fewer, row_groups=[group], columns=asked)
                yield from _side_by_side(cells, blocks, width)

    def _width(
        self,
        file: pq.ParquetFile,
        names: Sequence[str],
        asked: Sequence[str],
        *,
        others: bool = False,
    ) -> float:
        """About the bytes of a row of columns: in memory, or, where it is more, in the file.

        names : the columns that are asked for, or all the others.
        """
        if not names or not self._layout.groups:
            return 0.0
        first = self._layout.groups[0]
        group = file.metadata.row_group(first)
        chunks = [group.column(place) for place in range(group.num_columns)]
        mine = [chunk for chunk in chunks if (chunk.path_in_schema in asked) is not others]
        said = sum(chunk.total_uncompressed_size for chunk in mine)
        probed = next(file.iter_batches(PROBE_ROWS, row_groups=[first], columns=names))
        return float(max(said / group.num_rows, probed.nbytes / probed.num_rows))

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """The source's schema with the types of the reports."""
        return changed_schema(self.schema.remove_metadata(), changed)

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> Writer:
        """A writer with the source's properties."""
        metadata = file_metadata.release_metadata(self._metadata, changed, records)
        schema = self.schema_of(changed)
        options = self._layout.options([column.name for column in changed], shuffled)
        return _ParquetWriter(sink, schema, metadata, self._stores_schema, options)


def _rows_of_width(width: float) -> int:
    """Rows of a piece, so that also wide rows take a bounded room."""
    return min(parts.BATCH_ROWS, max(64, int(parts.GROUP_BYTES / 4 / max(width, 1))))


def _checked_timestamps(
    blocks: Iterator[pa.RecordBatch], coarse: Iterator[pa.RecordBatch], path: Path
) -> Iterator[pa.RecordBatch]:
    """The blocks, unless a timestamp of 96 bits is beyond what 64 bits of nanoseconds hold.

    coarse : the columns of such timestamps in microseconds, which hold the years 1 to 9999.
    """
    for block, other in zip(blocks, coarse, strict=True):
        for name in other.schema.names:
            fine, known = block.column(name), other.column(name)
            nanoseconds = fine.drop_null().cast(pa.int64()).to_numpy()
            if (nanoseconds // 1000 != known.drop_null().cast(pa.int64()).to_numpy()).any():
                raise FileError(
                    f"column {name!r} of {path} has timestamps of 96 bits outside the years 1678 "
                    f"to 2262, or before 1970 and pyarrow {pa.__version__} misreads them, so that "
                    "they cannot be copied exactly; write that column in microseconds (Spark: "
                    "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)"
                )
        yield block


def _side_by_side(
    cells: Iterator[pa.RecordBatch], blocks: Iterator[pa.RecordBatch], width: int
) -> Iterator[TablePiece]:
    """Pieces of one row group, from the columns asked for and, in blocks, from the others."""
    room, opens = Room(), True
    rest: pa.RecordBatch | None = None
    for block in blocks:
        left = block.num_rows
        opens |= room.is_full_for(left, block.nbytes + left * width)
        while left:
            batch = next(cells, None) if rest is None else rest
            if batch is None:
                raise EOFError
            rest = batch.slice(left) if batch.num_rows > left else None
            batch = batch.slice(0, left)
            left -= batch.num_rows
            yield TablePiece(batch, None if left else block, opens=opens, closes=not left)
            opens = False
    if rest is not None or next(cells, None) is not None:
        raise EOFError


@dataclass
class _Leaf:
    """What the footer says of one column, over all row groups."""

    codec: str
    encodings: set[str] = field(default_factory=set)
    has_statistics: bool = False
    has_page_index: bool = False
    is_old_timestamp: bool = False
    bytes: int = 0

    def learn(self, chunk: pq.ColumnChunkMetaData) -> None:
        self.encodings |= set(chunk.encodings)
        self.has_statistics |= chunk.is_stats_set
        self.has_page_index |= chunk.has_offset_index
        self.is_old_timestamp |= chunk.physical_type == "INT96"
        self.bytes += chunk.total_uncompressed_size


class _Layout:
    """How the source's columns are encoded, as far as its footer says so.

    groups : the row groups that have rows.  old_timestamps : columns of INT96.
    """

    def __init__(self, file: pq.ParquetFile) -> None:
        self._leaves: dict[str, _Leaf] = {}
        groups = [file.metadata.row_group(g) for g in range(file.num_row_groups)]
        for group in groups:
            for place in range(group.num_columns):
                chunk = group.column(place)
                leaf = self._leaves.setdefault(chunk.path_in_schema, _Leaf(chunk.compression))
                leaf.learn(chunk)
        self.groups = [place for place, group in enumerate(groups) if group.num_rows]
        self.old_timestamps = {path for path, leaf in self._leaves.items() if leaf.is_old_timestamp}
        sorting = {group.sorting_columns for group in groups}
        self._sorting = sorting.pop() if len(sorting) == 1 else ()
        self._paths = [file.schema.column(i).path for i in range(len(file.schema))]
        self._empty = not groups

    def bytes_without(self, names: Sequence[str]) -> int:
        """The bytes of all other columns, decompressed."""
        return sum(leaf.bytes for path, leaf in self._leaves.items() if path not in names)

    def options(self, names: Sequence[str], shuffled: bool) -> dict[str, Any]:
        """Options of a ParquetWriter.  Nothing of the columns ``names`` but their codec counts:

        whether a dictionary was worth while may tell how many different answers there were, and
        where the longest answers are too long for statistics there are none.
        """
        codecs = {path: _codec(leaf.codec) for path, leaf in self._leaves.items()}
        dictionary, encodings = [], {}
        for path, leaf in self._leaves.items():
            if path in names or leaf.encodings & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}:
                dictionary.append(path)
            elif leaf.encodings & _PLAIN_ENCODINGS:
                encodings[path] = sorted(leaf.encodings & _PLAIN_ENCODINGS)[0]
        others = [leaf for path, leaf in self._leaves.items() if path not in names]
        found: dict[str, Any] = {
            "compression": "snappy" if self._empty else codecs,
            "use_dictionary": True if self._empty else dictionary or False,
            "column_encoding": encodings or None,
            "write_statistics": not others or any(leaf.has_statistics for leaf in others),
            "write_page_index": any(leaf.has_page_index for leaf in others),
            "use_deprecated_int96_timestamps": any(
                leaf.is_old_timestamp for leaf in self._leaves.values()
            ),
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
