"""Files of data, one reader and one writer a format: Parquet, Arrow IPC (Feather), CSV and TSV.

A file is privatized into a file of the same format, and a directory of Parquet files into a
directory with files of the same names; nothing is converted.  Each format is a class of files
(`batches.DataFile`) that gives its rows in pieces, and a writer of files like it; nobody else
asks which format a file has.

Codecs, dictionary encoding, types, field ids and key-values stay as they are in the source.  What
tells of the true answers does not: statistics and page indexes are made anew from the reports,
Bloom filters are not taken over, and neither is the claim that the rows are sorted by a
privatized column.  Row groups have a constant number of rows, whatever the source's: it follows
from the declared types, the number of rows and the width of the public columns.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from rrstats.data.columns import codec_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, MetadataError
from rrstats.files import batches, file_metadata
from rrstats.files.atomic import is_ledger_file
from rrstats.files.batches import (
    DataFile,
    GroupWriter,
    Piece,
    ReportSpace,
    TablePiece,
    check_once,
    is_served,
    reading,
    row_bytes,
)
from rrstats.files.csv import TextFile
from rrstats.files.file_metadata import Changed
from rrstats.mechanisms.records import Record

ARROW_SCHEMA = b"ARROW:schema"
PROBE_ROWS = 1024

# Buffered, a large column of a row group is not read at once.  Older versions read beyond the
# buffer, or fail (apache/arrow issues 43949 and 48311): there the compressed column is read whole.
BUFFER_BYTES = 1 << 20 if int(pa.__version__.partition(".")[0]) >= 24 else 0


class ArrowFile(DataFile):
    """A file whose columns have Arrow types."""

    schema: pa.Schema
    metadata: dict[bytes, bytes]

    @property
    def fields(self) -> Sequence[object]:
        """Names, types and nullability."""
        return list(self.schema)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column."""
        return self.schema.field(self.names.index(name)).type

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """An empty array of the column's type."""
        return batches.no_cells(self.type_of(name))

    def has_copy(self, name: str) -> bool:
        """True where an index of pandas has the column's name."""
        return file_metadata.carries_copy(self.metadata, name)

    def schema_of(self, changed: Sequence[Changed]) -> pa.Schema:
        """The source's schema with the types of the reports."""
        return batches.changed_schema(self.schema.remove_metadata(), changed)

    def public_width(self, names: Sequence[str]) -> float:
        """The bytes of a row of the columns that are not among ``names``, as far as known."""
        return 0.0

    def bytes_expected(self, changed: Sequence[Changed]) -> int:
        """About how large all rows are in memory, with reports."""
        plain = [column for column in changed if not pa.types.is_dictionary(column.type)]
        reports = (codec_of(column.mechanism.report_space).report_bytes for column in plain)
        width = row_bytes(self.schema_of(changed)) + sum(reports)
        wider = self.public_width([column.name for column in changed])
        return int((self.rows or 0) * max(width, wider))

    def group_rows(self, changed: Sequence[Changed], share: int = 1) -> int:
        """As their declared types and the public columns are wide."""
        width = max(1, self.bytes_expected(changed) // max(self.rows or 0, 1))
        rows = min(batches.GROUP_ROWS, batches.GROUP_BYTES // width)
        return max(1, rows // share // batches.EVEN_ROWS) * batches.EVEN_ROWS


# -- Parquet -----------------------------------------------------------------------------------

PLAIN_ENCODINGS = {
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
    "BYTE_STREAM_SPLIT",
}
"""Encodings that are not a dictionary and can be asked for again."""


class ParquetFile(ArrowFile):
    """One Parquet file."""

    WHAT = "a Parquet file"

    def __init__(self, path: Path, relative: str) -> None:
        super().__init__(path, relative)
        with reading(path, self.WHAT), self._open() as file:
            self.schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            self._layout = _Layout.of(file)
            extra = file.metadata.metadata or {}
        self.names = self.schema.names
        self._stores_schema = ARROW_SCHEMA in extra
        self.metadata = {k: v for k, v in extra.items() if k != ARROW_SCHEMA}
        self.metadata |= self.schema.metadata or {}
        self.records = file_metadata.read_records(self.metadata)

    def _open(self, **options: Any) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.path, pre_buffer=False, buffer_size=BUFFER_BYTES, memory_map=False, **options
        )

    def pieces(
        self, spaces: Mapping[str, ReportSpace], *, lines: bool = False, only: bool = False
    ) -> Iterator[Piece]:
        """Pieces of so many rows that wide ones take a bounded room too."""
        names = list(spaces) if only else None
        old = [] if only else [name for name in self._layout.old_timestamps if name not in spaces]
        with (
            reading(self.path, self.WHAT),
            self._open() as file,
            self._open(coerce_int96_timestamp_unit="us") as coarser,
        ):
            rows = self._rows_of_piece(file, names)
            found = file.iter_batches(rows, columns=names)
            if old:
                found = self._checked(found, coarser.iter_batches(rows, columns=old))
            for batch in found:
                yield TablePiece(batch)

    def _rows_of_piece(self, file: pq.ParquetFile, names: list[str] | None) -> int:
        width = self._width(file, self.names if names is None else names)
        return min(batches.BATCH_ROWS, max(64, int(batches.GROUP_BYTES / 4 / max(width, 1))))

    def _width(self, file: pq.ParquetFile, names: Sequence[str]) -> float:
        """About the bytes of a row of some columns in memory, or in the file if that is more."""
        groups = (file.metadata.row_group(g) for g in range(file.num_row_groups))
        place, first = next(((g, c) for g, c in enumerate(groups) if c.num_rows), (0, None))
        if first is None or not names:
            return 0.0
        hidden = {name for name in self.names if name not in names}
        chunks = (first.column(number) for number in range(first.num_columns))
        said = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema not in hidden)
        probed = next(file.iter_batches(PROBE_ROWS, row_groups=[place], columns=names))
        return float(max(said / first.num_rows, probed.nbytes / probed.num_rows))

    def public_width(self, names: Sequence[str]) -> float:
        """As the footer and the first rows tell."""
        with reading(self.path, self.WHAT), self._open() as file:
            return self._width(file, [name for name in self.names if name not in names])

    def _checked(
        self, found: Iterator[pa.RecordBatch], coarse: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The rows, unless a timestamp of 96 bits is beyond what 64 bits of nanoseconds hold.

        coarse : the columns of such timestamps in microseconds, which hold the years 1 to 9999.
        """
        for batch, other in zip(found, coarse, strict=True):
            for name in other.schema.names:
                fine, known = (b.column(name).drop_null().cast(pa.int64()) for b in (batch, other))
                if (fine.to_numpy() // 1000 != known.to_numpy()).any():
                    raise FileError(
                        f"column {name!r} of {self.path} has timestamps of 96 bits outside the "
                        f"years 1678 to 2262, or before 1970 and pyarrow {pa.__version__} misreads "
                        "them, so that they cannot be copied exactly; write that column in "
                        "microseconds (Spark: "
                        "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)"
                    )
            yield batch

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> GroupWriter:
        """A writer with the source's properties; each group becomes a row group."""
        schema, rows = self.schema_of(changed), self.group_rows(changed)
        metadata = file_metadata.release_metadata(self.metadata, changed, records)
        stored = schema.with_metadata(metadata) if self._stores_schema else schema
        options = self._layout.options([column.name for column in changed], shuffled)
        writer = pq.ParquetWriter(sink, stored, store_schema=self._stores_schema, **options)

        def emit(group: pa.Table) -> None:
            writer.write_table(group, row_group_size=max(group.num_rows, 1))

        def close() -> None:
            if not self._stores_schema:
                writer.add_key_value_metadata(metadata)
            writer.close()

        return GroupWriter(schema, rows, emit, close)


@dataclass
class _Leaf:
    """One column in the footer, over all row groups."""

    codec: str
    encodings: set[str] = field(default_factory=set)
    has_statistics: bool = False
    has_page_index: bool = False
    is_old_timestamp: bool = False


@dataclass
class _Layout:
    """Encodings of the source's columns, as far as its footer tells them.

    leaves : the columns.  sorting : those that the rows are sorted by, as paths with options.
    """

    leaves: dict[str, _Leaf]
    sorting: list[tuple[str, pq.SortingColumn]]

    @classmethod
    def of(cls, file: pq.ParquetFile) -> _Layout:
        leaves: dict[str, _Leaf] = {}
        groups = [file.metadata.row_group(g) for g in range(file.num_row_groups)]
        for group in groups:
            for chunk in (group.column(place) for place in range(group.num_columns)):
                leaf = leaves.setdefault(chunk.path_in_schema, _Leaf(chunk.compression))
                leaf.encodings |= set(chunk.encodings)
                leaf.has_statistics |= chunk.is_stats_set
                leaf.has_page_index |= chunk.has_offset_index
                leaf.is_old_timestamp |= chunk.physical_type == "INT96"
        sorting = {group.sorting_columns for group in groups}
        columns = sorting.pop() if len(sorting) == 1 else ()
        return cls(leaves, [(file.schema.column(c.column_index).path, c) for c in columns])

    @property
    def old_timestamps(self) -> list[str]:
        """The columns of INT96."""
        return [path for path, leaf in self.leaves.items() if leaf.is_old_timestamp]

    def options(self, names: Sequence[str], shuffled: bool) -> dict[str, Any]:
        """Options of a ParquetWriter.  Nothing of the columns ``names`` but their codec counts:

        whether a dictionary was worth while may tell how many different answers there were, and
        where the longest answers are too long for statistics there are none.
        """
        dictionary, encodings = [], {}
        for path, leaf in self.leaves.items():
            if path in names or leaf.encodings & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}:
                dictionary.append(path)
            elif plain := sorted(leaf.encodings & PLAIN_ENCODINGS):
                encodings[path] = plain[0]
        codecs = {path: leaf.codec.lower() for path, leaf in self.leaves.items()}
        codecs = {path: "none" if c == "uncompressed" else c for path, c in codecs.items()}
        others = [leaf for path, leaf in self.leaves.items() if path not in names]
        kept = []
        for path, column in self.sorting:
            if shuffled or path in names:
                break
            kept.append(column)
        return {
            "compression": codecs or "snappy",
            "use_dictionary": (dictionary or False) if self.leaves else True,
            "column_encoding": encodings or None,
            "write_statistics": not others or any(leaf.has_statistics for leaf in others),
            "write_page_index": any(leaf.has_page_index for leaf in others),
            "use_deprecated_int96_timestamps": bool(self.old_timestamps),
            # Then nested fields are called what they are called in the source.
            "use_compliant_nested_type": False,
            "version": "2.6",
        } | ({"sorting_columns": kept} if kept else {})


# -- Arrow IPC ---------------------------------------------------------------------------------


class FeatherFile(ArrowFile):
    """One Arrow IPC file, which Feather files (version 2) are.

    A dictionary stands in such a file once and may grow, so the reader sees the whole of it.
    """

    WHAT = "an Arrow IPC file (Feather version 2)"

    def __init__(self, path: Path, relative: str) -> None:
        super().__init__(path, relative)
        with reading(path, self.WHAT), pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema
            self._footer = dict(getattr(reader, "metadata", None) or {})
            # Of no column is anything read.
            empty = pa.ipc.IpcReadOptions(included_fields=[])
            reader = pa.ipc.open_file(file, options=empty)
            counts = range(reader.num_record_batches)
            self.rows = sum(reader.get_batch(number).num_rows for number in counts)
            self._codec = _codec_of(file)
        self.names = self.schema.names
        self.metadata = dict(self.schema.metadata or {})
        self.records = file_metadata.read_records(self.metadata)

    def pieces(
        self, spaces: Mapping[str, ReportSpace], *, lines: bool = False, only: bool = False
    ) -> Iterator[Piece]:
        """The batches of the file; long ones are cut."""
        with reading(self.path, self.WHAT), pa.OSFile(str(self.path)) as file:
            columns = [self.names.index(name) for name in spaces] if only else None
            options = pa.ipc.IpcReadOptions(included_fields=columns)
            reader = pa.ipc.open_file(file, options=options)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for start in range(0, batch.num_rows, batches.GROUP_ROWS):
                    yield TablePiece(batch.slice(start, batches.GROUP_ROWS))

    def writer(
        self, sink: IO[bytes], changed: Sequence[Changed], records: Sequence[Record], shuffled: bool
    ) -> GroupWriter:
        """A writer with the source's compression; each group becomes a batch."""
        metadata = file_metadata.release_metadata(self.metadata, changed, records, feather=True)
        footer = file_metadata.without(self._footer, [column.name for column in changed])
        options = pa.ipc.IpcWriteOptions(compression=self._codec, emit_dictionary_deltas=True)
        more = {"metadata": footer} if footer else {}
        schema = self.schema_of(changed)
        writer = pa.ipc.new_file(sink, schema.with_metadata(metadata), options=options, **more)
        rows = self.group_rows(changed, share=4)
        return GroupWriter(schema, rows, writer.write_table, writer.close)


# Numbers of the Arrow format: Message.fbs (Message, RecordBatch, BodyCompression).
_MESSAGE_HEADER, _BATCH_COMPRESSION, _COMPRESSION_CODEC = 2, 3, 0
_CODECS = {0: "lz4", 1: "zstd"}


def _codec_of(file: pa.NativeFile) -> str | None:
    """The codec of the first batch, which pyarrow does not tell; "lz4" without batches.

    It is read in the header of the batch, never in its body, which holds the answers.
    """
    file.seek(8)  # behind the magic word the file is a stream
    for message in pa.MessageReader.open_stream(file):
        if message.type == "record batch":
            return _codec_in(message.metadata.to_pybytes())
    return "lz4"


def _codec_in(message: bytes) -> str | None:
    """The codec in the header of a record batch, a FlatBuffer."""
    (root,) = struct.unpack_from("<I", message, 0)
    header = _child(message, root, _MESSAGE_HEADER)
    compression = None if header is None else _child(message, header, _BATCH_COMPRESSION)
    if compression is None:
        return None
    place = _field(message, compression, _COMPRESSION_CODEC)
    return _CODECS.get(0 if place is None else message[place], "lz4")


def _field(message: bytes, table: int, number: int) -> int | None:
    """The place of a field of a table; None where it has its default."""
    (back,) = struct.unpack_from("<i", message, table)
    size, _ = struct.unpack_from("<HH", message, table - back)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", message, table - back + 4 + 2 * number)
    return table + offset if offset else None


def _child(message: bytes, table: int, number: int) -> int | None:
    """The place of the table that a field refers to."""
    place = _field(message, table, number)
    return None if place is None else place + int(struct.unpack_from("<I", message, place)[0])


# -- which format ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """One format of files.

    endings : its names.  opener : reads what a file says of itself.
    """

    name: str
    endings: tuple[str, ...]
    opener: Callable[[Path, str], DataFile]


PARQUET = Format("Parquet", (".parquet", ".pq"), ParquetFile)

FORMATS = (
    PARQUET,
    Format("Arrow IPC (Feather)", (".feather", ".arrow", ".ipc"), FeatherFile),
    Format("CSV", (".csv",), TextFile),
    Format("gzipped CSV", (".csv.gz",), TextFile),
    Format("TSV", (".tsv",), TextFile),
    Format("gzipped TSV", (".tsv.gz",), TextFile),
)
ENDINGS = tuple(ending for found in FORMATS for ending in found.endings)


def format_of(path: Path, argument: str) -> Format:
    """The format that a file's name tells.  Raises ArgumentValueError for any other ending."""
    for found in FORMATS:
        if path.name.lower().endswith(found.endings):
            return found
    known = ", ".join(ENDINGS)
    raise ArgumentValueError(
        f"{argument} must end in one of {known}, or be a directory of Parquet files, "
        f"got {str(path)!r}"
    )


Stamp = dict[Path, tuple[int, ...]]


@dataclass(frozen=True)
class FileSource:
    """A file or directory that was opened: its format and its data files.

    stamp : sizes and times of the files before they were opened.
    """

    path: Path
    format: Format
    is_directory: bool
    files: list[DataFile]
    stamp: Stamp

    @property
    def rows(self) -> int | None:
        """Number of rows, where the files tell it before they are read."""
        counts = [file.rows for file in self.files]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return self.files[0].names

    def record_of(self, name: str) -> Record | None:
        """The record of a column in the files; they must agree, and it must fit."""
        found = {
            file.relative: next((r for r in file.records if str(r.name) == name), None)
            for file in self.files
        }
        first, *others = found.values()
        for relative, record in zip(list(found)[1:], others, strict=True):
            if record != first:
                raise MetadataError(
                    f"the files of {self.path} say different things of how column {name!r} was "
                    f"made: {self.files[0].relative} and {relative}; privatize them apart"
                )
        if first is not None:
            self._check_fits(name, first)
        return first

    def _check_fits(self, name: str, record: Record) -> None:
        """Raise MetadataError where there is no such column, or none that can hold its reports."""
        where = f"what {self.path} says of column {name!r}"
        if (times := self.names.count(name)) != 1:
            found = f"there are {times} such columns" if times else "there is no such column"
            raise MetadataError(
                f"{where} does not fit: {found}; was it renamed or dropped? Then its epsilon is "
                "unknown; ask for other columns by name, or mend what is said"
            )
        try:
            space = record.resolve().report_space
        except MetadataError:  # a fingerprint, or a mechanism of a newer rrstats
            return
        try:
            open_reports(self.files[0].no_cells(name, space), space)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise MetadataError(
                f"{where} does not fit: {error}; take the file as it was released"
            ) from None

    def check_column(self, name: object) -> str:
        """The name, if it is a column, once, that can hold answers, and no copy of it is left."""
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"columns of a file are named by text, found {type(name).__name__}"
            )
        for file in self.files:
            folders = [*self.path.parts, *Path(file.relative).parts[:-1]]
            if any(_tells(folder, name) for folder in folders):
                raise ArgumentValueError(
                    f"{self.path} is partitioned by column {name!r}: a folder in its path or below "
                    f"tells column {name!r} of each row in it; write the data again with the "
                    "column in the files and the rows mixed, and privatize them with "
                    "shuffle_rows=True"
                )
        check_once(name, self.names, f" in {self.path}", shown=self.files[0].names_are_names)
        declared = self.files[0].type_of(name)
        if not is_served(declared):
            raise ArgumentTypeError(
                f"column {name!r} of {self.path} has the type {declared}, and a report is one "
                "plain value; put the answer into a column of its own"
            )
        for file in self.files:
            if file.has_copy(name):
                raise ArgumentValueError(
                    f"{file.path} has an index of pandas with the name {name!r}, which would "
                    "release the answers; write it again with reset_index(drop=True)"
                )
        return name

    def check_unchanged(self) -> None:
        """Raise FileError where a file is not as it was when it was opened."""
        try:
            now = _stamp(_data_files(self.path) if self.is_directory else [self.path])
        except OSError:
            now = {}
        if now != self.stamp:
            raise FileError(
                f"{self.path} was changed while it was read; nothing was published, run it again"
            )


def open_source(path: Path | str) -> FileSource:
    """Open a file or directory and read what it says of itself; no cell is read.

    Raises ArgumentValueError for an unknown ending, FileError for files that cannot be read
    and for a directory whose files differ in their columns.
    """
    path = _path(path, "source")
    if not path.exists():
        raise FileError(f"{path} is not there; check the path")
    is_directory = path.is_dir()
    form = PARQUET if is_directory else format_of(path, "source")
    paths = _data_files(path) if is_directory else [path]
    stamp = _stamp(paths)
    names = [f.relative_to(path).as_posix() if is_directory else f.name for f in paths]
    files = [form.opener(at, name) for at, name in zip(paths, names, strict=True)]
    for file in files[1:]:
        _check_alike(path, files[0], file)
    if is_directory and (said := file_metadata.directory_records(path)):
        for file in files:
            file.records = file_metadata.joined(
                f"{file_metadata.DOCUMENT} and {file.relative} say", file.records, said
            )
    return FileSource(path, form, is_directory, files, stamp)


def column_type(path: Path | str, name: str) -> pa.DataType:
    """Return the declared type of a column; of text files all columns are text.

    Parameters
    ----------
    path : path
        The file, or a directory of Parquet files.
    name : str
        The column's name.

    Returns
    -------
    pyarrow.DataType

    Raises
    ------
    ArgumentValueError
        The column is not there.
    """
    source = open_source(path)
    return source.files[0].type_of(source.check_column(name))


def check_target(source: FileSource, target: Path | str) -> Path:
    """The path to write to, if it is of the source's format and apart from the source."""
    path = _path(target, "target")
    if source.is_directory:
        if path.suffix and path.name.lower().endswith(ENDINGS):
            raise ArgumentValueError(
                f"target must be a directory, because source is one, got {str(target)!r}; name it "
                "without the ending of a file"
            )
    elif format_of(path, "target") is not source.format:
        raise ArgumentValueError(
            f"target must be of the source's format, {source.format.name} "
            f"({' or '.join(source.format.endings)}), got {str(target)!r}; nothing is converted"
        )
    here, there = source.path.resolve(), path.resolve()
    if here == there or (path.exists() and path.samefile(source.path)):
        raise ArgumentValueError(
            f"target must be another path than source, got {str(target)!r} for both"
        )
    if source.is_directory and (here in there.parents or there in here.parents):
        raise ArgumentValueError(
            f"target must not lie inside the source directory, nor around it, got {str(target)!r}"
        )
    return path


def _tells(folder: str, name: str) -> bool:
    """True for a folder of a partition by the column, as any engine writes it."""
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def _path(path: object, argument: str) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"{argument} must be a path, found {type(path).__name__}")
    return Path(path)


def _check_alike(path: Path, first: DataFile, other: DataFile) -> None:
    if first.names != other.names:
        differ = "its columns are others, or in another order"
    else:
        places = range(len(first.names))
        unlike = [first.names[i] for i in places if first.fields[i] != other.fields[i]]
        if not unlike:
            return
        differ = f"column {unlike[0]!r} has another type"
    raise FileError(
        f"the files of {path} do not have the same columns: {other.relative} differs from "
        f"{first.relative}, {differ}; privatize them apart, or write them with one schema"
    )


def _data_files(path: Path) -> list[Path]:
    """The Parquet files of a directory; names that begin with _ or . are no data."""
    found = []
    for folder, folders, files in os.walk(path, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        for name in folders:
            if (Path(folder) / name).is_symlink():
                raise FileError(f"{Path(folder) / name} is a link to a directory; name that itself")
        for name in sorted(files):
            if name.startswith(("_", ".")) or is_ledger_file(name):
                continue
            if not name.lower().endswith(PARQUET.endings):
                raise FileError(
                    f"{Path(folder) / name} is no Parquet file; a directory may hold Parquet files "
                    f"({' or '.join(PARQUET.endings)}) and names that begin with _ or ."
                )
            found.append(Path(folder) / name)
    found.sort(key=lambda file: file.relative_to(path).parts)
    if not found:
        raise FileError(f"{path} holds no Parquet file ({' or '.join(PARQUET.endings)})")
    return found


def _unreadable(error: OSError) -> None:
    raise FileError(f"cannot read {error.filename}: {error.strerror}") from None


def _stamp(files: list[Path]) -> Stamp:
    found: Stamp = {}
    for file in files:
        try:
            state = file.stat()
        except OSError as error:
            raise FileError(f"cannot read {file}: {error.strerror}") from None
        found[file] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found
