"""Data files, with a reader and a writer per format: Parquet, Arrow IPC (Feather), CSV and TSV.

A file is privatized into a file of the same format, and a directory of Parquet files into a
directory with files of the same names; nothing is converted.  Each format is a class that keeps
the contract `data_file.DataFile`; no other code depends on the format.

Types, field ids, key-values and Parquet's codecs and dictionaries stay as they are in the source.
Everything else is written with pyarrow's defaults, so that it reveals nothing about the true
answers: statistics, other encodings, page indexes, Bloom filters and sorting information are not
copied, and private columns have no statistics.  Row groups have a constant number of rows, which
does not depend on those of the source, but on the declared types, the number of rows and the width
of the public columns.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rrstats._checks import check_ending, check_instance, cut
from rrstats._typing import ArrowMetadata, FilePath
from rrstats.data.arrow_rebuild import holds_words, rebuilt_table, share_words
from rrstats.data.codecs import codec_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, MetadataError
from rrstats.files import batches, file_metadata, file_records
from rrstats.files.atomic import SIDECAR, is_ledger_file
from rrstats.files.batches import ArrowPiece, grouped, reading, row_bytes
from rrstats.files.csv import TextFile
from rrstats.files.data_file import Blocks, DataFile, Piece, ReportSpace, Spaces
from rrstats.files.file_metadata import Columns, Records
from rrstats.files.ledger import files_in
from rrstats.mechanisms.records import ColumnRecord

ARROW_SCHEMA = b"ARROW:schema"
PROBE_ROWS = 1024
"""Rows that are read to estimate the width of a row."""

PIECE_BYTES = batches.GROUP_BYTES / 4
"""Approximate memory of a piece; pieces wait while a group is written."""

MIN_PIECE_ROWS = 64
"""A piece has so many rows however wide they are; smaller pieces would only be slow."""

# Buffered, a large column of a row group is not read at once.  Older versions read beyond the
# buffer, or fail (apache/arrow issues 43949 and 48311): there the compressed column is read whole.
BUFFER_BYTES = 1 << 20 if int(pa.__version__.partition(".")[0]) >= 24 else 0


class ArrowFile:
    """The members of a `DataFile` that formats with Arrow types have in common."""

    document_is_beside = False
    schema: pa.Schema
    names: list[str]
    rows: int
    metadata: ArrowMetadata
    records: list[ColumnRecord]

    def __init__(self, path: Path, relative: str) -> None:
        self.path = path
        self.relative = relative

    @property
    def fields(self) -> Sequence[object]:
        """Names, types and nullability."""
        return list(self.schema)

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column."""
        return self.schema.field(self.names.index(name)).type

    def no_cells(self, name: str, space: ReportSpace) -> pa.Array:
        """An empty array of the column's type."""
        return pa.nulls(0, self.type_of(name))

    def schema_of(self, changed: Columns) -> pa.Schema:
        """The source's schema with the types of the reports."""
        return batches.changed_schema(self.schema.remove_metadata(), changed)

    def public_width(self, names: Sequence[str]) -> float:
        """The bytes of a row without the columns ``names``, as far as known."""
        return 0.0

    def bytes_expected(self, changed: Columns) -> int:
        """Approximate bytes of all rows in memory, with reports."""
        report_bytes = sum(
            codec_of(column.space).report_bytes
            for column in changed.values()
            if not pa.types.is_dictionary(column.type)
        )
        declared_width = row_bytes(self.schema_of(changed)) + report_bytes
        public_width = self.public_width(list(changed))
        return int(self.rows * max(declared_width, public_width))

    def loose_columns(self, changed: Columns) -> list[str]:
        """Public columns whose dictionaries differ within the file, so that a writer made them."""
        names = [
            field.name
            for field in self.schema
            if holds_words(field.type) and field.name not in changed
        ]
        spaces: Any = dict.fromkeys(names)
        first: dict[str, pa.Array] = {}
        loose: dict[str, None] = {}
        for piece in self.pieces(spaces, only=True) if names else ():
            for name in names:
                cells = piece.cells(name)
                if not share_words([first.setdefault(name, cells), cells]):
                    loose[name] = None
        return list(loose)

    def pieces(self, spaces: Spaces, *, lines: bool = False, only: bool = False) -> Iterator[Piece]:
        """All rows in order; see `DataFile.pieces`."""
        raise NotImplementedError

    def group_rows(self, changed: Columns, share: int = 1) -> int:
        """Rows of a group, from the declared types and the width of the public columns."""
        width = max(1, self.bytes_expected(changed) // max(self.rows, 1))
        rows = min(batches.GROUP_ROWS, batches.GROUP_BYTES // width)
        return max(1, rows // share // batches.EVEN_ROWS) * batches.EVEN_ROWS


class ParquetFile(ArrowFile):
    """One Parquet file."""

    WHAT = "a Parquet file"

    def __init__(self, path: Path, relative: str) -> None:
        super().__init__(path, relative)
        with reading(path, self.WHAT), self._open() as file:
            self.schema = file.schema_arrow
            footer = file.metadata
            leaves = [file.schema.column(place) for place in range(len(file.schema))]
            groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
            chunks = [group.column(n) for group in groups[:1] for n in range(group.num_columns)]
            self._codecs = {c.path_in_schema: c.compression.lower() for c in chunks}
            self._dictionaries = {c.path_in_schema for c in chunks if c.has_dictionary_page}
        self.rows = footer.num_rows
        self.names = self.schema.names
        self._leaves = [leaf.path for leaf in leaves]
        self._old_timestamps = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
        extra = footer.metadata or {}
        self._stores_schema = ARROW_SCHEMA in extra
        kept = {k: v for k, v in extra.items() if k != ARROW_SCHEMA}
        self.metadata = kept | (self.schema.metadata or {})
        self.records = file_records.records(self.metadata)

    def _open(self, old_timestamp_unit: str | None = None) -> pq.ParquetFile:
        """The opened file, with timestamps of 96 bits in a unit; by default nanoseconds."""
        return pq.ParquetFile(
            self.path,
            pre_buffer=False,
            buffer_size=BUFFER_BYTES,
            memory_map=False,
            coerce_int96_timestamp_unit=old_timestamp_unit,
        )

    def pieces(self, spaces: Spaces, *, lines: bool = False, only: bool = False) -> Iterator[Piece]:
        """Pieces of rows; fewer rows if they are wide, so that memory stays bounded."""
        names = list(spaces) if only else None
        copied = () if only else self._old_timestamps
        old_timestamps = [name for name in copied if name not in spaces]
        with (
            reading(self.path, self.WHAT),
            self._open() as file,
            self._open(old_timestamp_unit="us") as coarser,
        ):
            width = self._width(file, self.names if names is None else names)
            rows_in_memory = int(PIECE_BYTES / max(width, 1))
            rows = min(batches.BATCH_ROWS, max(MIN_PIECE_ROWS, rows_in_memory))
            rows_read = file.iter_batches(rows, columns=names)
            if old_timestamps:
                coarse = coarser.iter_batches(rows, columns=old_timestamps)
                rows_read = self._checked(rows_read, coarse)
            yield from map(ArrowPiece, rows_read)

    def _width(self, file: pq.ParquetFile, names: Sequence[str]) -> float:
        """Approximate bytes of a row of some columns, in memory or in the file, the larger."""
        groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
        place = next((place for place, group in enumerate(groups) if group.num_rows), None)
        if place is None or not names:
            return 0.0
        group = groups[place]
        others = {name for name in self.names if name not in names}
        chunks = (group.column(number) for number in range(group.num_columns))
        file_bytes = sum(
            chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema not in others
        )
        probe = next(file.iter_batches(PROBE_ROWS, row_groups=[place], columns=names))
        return float(max(file_bytes / group.num_rows, probe.nbytes / probe.num_rows))

    def public_width(self, names: Sequence[str]) -> float:
        """Estimated from the cells of the first rows.

        The footer would tell how the source was cut into row groups, and so do dictionaries.
        """
        public = [name for name in self.names if name not in names]
        first: list[pa.RecordBatch] = []
        rows = 0
        with reading(self.path, self.WHAT), self._open() as file:
            for batch in file.iter_batches(MIN_PIECE_ROWS, columns=public) if public else ():
                first.append(batch)
                rows += batch.num_rows
                if rows >= PROBE_ROWS:
                    break
        if not rows:
            return 0.0
        probe = pa.Table.from_batches(first).slice(0, PROBE_ROWS)
        return float(rebuilt_table(probe, loose=public).nbytes / probe.num_rows)

    def _checked(
        self, fine: Iterator[pa.RecordBatch], coarse: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The rows; raises if a 96-bit timestamp does not fit into 64 bits of nanoseconds.

        coarse : the columns of such timestamps in microseconds, which hold the years 1 to 9999.
        """
        for batch, coarse_batch in zip(fine, coarse, strict=True):
            for name in coarse_batch.schema.names:
                nanoseconds = _integers(batch.column(name))
                microseconds = _integers(coarse_batch.column(name))
                if (nanoseconds // 1000 != microseconds).any():
                    raise FileError(
                        f"column {name!r} of {self.path} has timestamps of 96 bits outside the "
                        f"years 1678 to 2262, or before 1970 and pyarrow {pa.__version__} misreads "
                        "them, so that they cannot be copied exactly; write that column in "
                        "microseconds (Spark: "
                        "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)"
                    )
            yield batch

    def write(
        self,
        sink: IO[bytes],
        blocks: Blocks,
        changed: Columns,
        records: Records,
        *,
        schema: pa.Schema | None = None,
    ) -> None:
        """Write row groups of constant size, with the source's codecs and dictionaries.

        schema : of the blocks, if it is not that of `schema_of`.
        """
        metadata = file_metadata.release_metadata(self.metadata, changed, records)
        source_schema = self.schema_of(changed)
        if schema is None:
            schema = source_schema
        else:
            metadata = file_metadata.fitted(metadata, schema)
        unchanged = {path for path in self._leaves if path not in changed}
        unchanged -= set(source_schema.names) - set(schema.names)  # flat columns, if any
        dictionaries = self._dictionaries | set(changed)
        loose = self.loose_columns(changed)
        size = self.group_rows(changed)
        codecs = {name: "none" if c == "uncompressed" else c for name, c in self._codecs.items()}
        with pq.ParquetWriter(
            sink,
            schema.with_metadata(metadata) if self._stores_schema else schema,
            store_schema=self._stores_schema,
            compression=codecs or "snappy",
            use_dictionary=sorted(dictionaries),
            # Noise makes limits of reports useless, and they take up to half the time to write.
            write_statistics=[path for path in self._leaves if path in unchanged],
            use_deprecated_int96_timestamps=bool(self._old_timestamps),
            use_compliant_nested_type=False,  # nested fields keep their names
        ) as writer:
            for group in grouped(blocks, schema, size, loose=loose):
                writer.write_table(group, row_group_size=len(group))
            if not self._stores_schema:
                writer.add_key_value_metadata(metadata)


def _integers(times: pa.Array) -> NDArray[np.int64]:
    """The times that are not missing, in their unit."""
    integers: NDArray[np.int64] = times.drop_null().cast(pa.int64()).to_numpy()
    return integers


class FeatherFile(ArrowFile):
    """One Arrow IPC file, which Feather files (version 2) are.

    Such a file holds each dictionary once, and it may grow, so the reader reads all of it.
    """

    WHAT = "an Arrow IPC file (Feather version 2)"

    def __init__(self, path: Path, relative: str) -> None:
        super().__init__(path, relative)
        with reading(path, self.WHAT), pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            self.schema = reader.schema
            # No column is read.
            empty = pa.ipc.IpcReadOptions(included_fields=[])
            reader = pa.ipc.open_file(file, options=empty)
            counts = range(reader.num_record_batches)
            self.rows = sum(reader.get_batch(number).num_rows for number in counts)
        self.names = self.schema.names
        self.metadata = dict(self.schema.metadata or {})
        self.records = file_records.records(self.metadata)

    def pieces(self, spaces: Spaces, *, lines: bool = False, only: bool = False) -> Iterator[Piece]:
        """The batches of the file; long batches are cut."""
        with reading(self.path, self.WHAT), pa.OSFile(str(self.path)) as file:
            columns = [self.names.index(name) for name in spaces] if only else None
            options = pa.ipc.IpcReadOptions(included_fields=columns)
            reader = pa.ipc.open_file(file, options=options)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for start in range(0, batch.num_rows, batches.GROUP_ROWS):
                    yield ArrowPiece(batch.slice(start, batches.GROUP_ROWS))

    def write(
        self,
        sink: IO[bytes],
        blocks: Blocks,
        changed: Columns,
        records: Records,
        *,
        schema: pa.Schema | None = None,
    ) -> None:
        """Write batches of constant size, compressed by LZ4 as pandas does.

        schema : of the blocks, if it is not that of `schema_of`.
        """
        metadata = file_metadata.release_metadata(self.metadata, changed, records, feather=True)
        options = pa.ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=True)
        if schema is None:
            schema = self.schema_of(changed)
        else:
            metadata = file_metadata.fitted(metadata, schema)
        size = self.group_rows(changed, share=4)
        with pa.ipc.new_file(sink, schema.with_metadata(metadata), options=options) as writer:
            for group in grouped(blocks, schema, size):
                writer.write_table(group)


# -- which format ------------------------------------------------------------------------------

PARQUET = (".parquet", ".pq")

FORMATS: dict[tuple[str, ...], Callable[[Path, str], DataFile]] = {
    PARQUET: ParquetFile,
    (".feather", ".arrow", ".ipc"): FeatherFile,
    **{(ending,): TextFile for ending in (".csv", ".csv.gz", ".tsv", ".tsv.gz")},
}
"""The endings of each format's names, and the class of its files."""

ENDINGS = tuple(ending for endings in FORMATS for ending in endings)


def format_of(path: Path, argument: str, hint: str = "") -> tuple[str, ...]:
    """The format by a file's name.  Raises ArgumentValueError for an unknown ending."""
    check_ending(path, argument, ENDINGS, hint=hint)
    return next(endings for endings in FORMATS if path.name.lower().endswith(endings))


@dataclass(frozen=True)
class FileSource:
    """An opened file or directory: its format and its data files.

    stamp : sizes and times of the files before they were opened.
    """

    path: Path
    format: tuple[str, ...]
    is_directory: bool
    files: list[DataFile]
    stamp: dict[Path, tuple[int, ...]]

    @property
    def rows(self) -> int | None:
        """Number of rows, if the files give it before they are read."""
        counts = [file.rows for file in self.files if file.rows is not None]
        return sum(counts) if len(counts) == len(self.files) else None

    def record_of(self, name: str) -> ColumnRecord | None:
        """The record of a column; the files must agree, and it must fit the column."""
        records = [
            next((record for record in file.records if str(record.name) == name), None)
            for file in self.files
        ]
        first = records[0]
        for file, record in zip(self.files, records, strict=True):
            if record != first:
                first_name = self.files[0].relative
                unequal = f"only {first_name if record is None else file.relative} has one"
                if first is not None and record is not None:
                    unequal = ", ".join(_unequal(first.to_dict(), record.to_dict(), ""))
                raise MetadataError(
                    f"the files {first_name} and {file.relative} of {self.path} have different "
                    f"records of column {name!r} ({unequal}); privatize or estimate them separately"
                )
        if first is not None:
            self._check_fits(name, first)
        return first

    def _check_fits(self, name: str, record: ColumnRecord) -> None:
        """Raise MetadataError if there is no such column, or if it cannot hold the reports."""
        where = f"the record in {self.path} of column {name!r}"
        count = self.files[0].names.count(name)
        if count != 1:
            reason = f"there are {count} such columns" if count else "there is no such column"
            raise MetadataError(
                f"{where} does not fit: {reason}; if it was renamed or dropped, its epsilon is not "
                "known; name the other columns that you need, or correct the record"
            )
        try:
            space = record.largest().report_space
        except MetadataError:  # a fingerprint, or a mechanism of a newer rrstats
            return
        try:
            open_reports(self.files[0].no_cells(name, space), space)
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise MetadataError(
                f"{where} does not fit: {error}; use the file as it was released"
            ) from None

    def check_column(self, name: Hashable) -> str:
        """The name, if it names exactly one column that can hold answers and has no copy."""
        for file in self.files:
            folders = [*self.path.parts, *Path(file.relative).parts[:-1]]
            if any(_tells(folder, str(name)) for folder in folders):
                raise ArgumentValueError(
                    f"{self.path} is partitioned by column {name!r}: the name of a folder in its "
                    f"path or below shows column {name!r} of all its rows; write the data again "
                    "with the column in the files and the rows mixed, and privatize them with "
                    "shuffle_rows=True"
                )
            batches.check_column(
                name,
                file.names,
                file.type_of,
                file.metadata,
                where=f" of {self.path}",  # not the folders below, whose names may be answers
                shown=not file.document_is_beside,
            )
        return str(name)

    def check_unchanged(self) -> None:
        """Raise FileError if a file has changed since it was opened."""
        try:
            now = _stamp(self.path)
        except FileError:
            now = {}
        if now != self.stamp:
            raise FileError(
                f"{self.path} was changed while it was read; nothing was published: run it again"
            )


def open_source(path: FilePath) -> FileSource:
    """Open a file or directory and read its metadata; no cell is read.

    Raises ArgumentValueError for an unknown ending, FileError for files that cannot be read
    and for a directory whose files have different columns.
    """
    path = Path(path)
    is_directory = path.is_dir()
    no_folder = "no folder has this name either"
    if path.suffix.lower() in (".dta", ".sav"):
        no_folder = "pandas reads its rows, and rr.files.codebook(path) its value labels"
    endings = PARQUET if is_directory else format_of(path, "source", no_folder)
    stamp = _stamp(path)
    top = path if is_directory else path.parent
    files = [FORMATS[endings](at, at.relative_to(top).as_posix()) for at in stamp]
    for file in files[1:]:
        _check_alike(path, files[0], file)
    if is_directory:
        common_records = file_records.records_in(path / file_metadata.DOCUMENT)
        for file in files if common_records else ():
            file.records = file_records.joined(
                f"{file_metadata.DOCUMENT} and {file.relative} say", file.records, common_records
            )
    return FileSource(path, endings, is_directory, files, stamp)


Paths = Path | str | Sequence[Path | str]
"""A file or a folder, or several of them."""


def listed_paths(path: Any, is_usable: Callable[[Path], bool]) -> list[Path]:
    """The paths of an argument; those of a list that are not usable are counted, unquoted.

    They may be answers, given in the place of paths.
    """
    rule = "a path, or a list of paths"
    check_instance(path, "path", str | os.PathLike | list | tuple | Iterator, rule)
    if isinstance(path, str | os.PathLike):
        return [Path(path)]
    listed = list(path)
    paths = [Path(each) for each in listed if isinstance(each, str | os.PathLike)]
    usable = [each for each in paths if each.exists() or is_usable(each)]
    if len(usable) < len(listed):
        others = f"{len(listed) - len(usable)} of the {len(listed)} are no files of this kind"
        raise ArgumentValueError(f"path must be {rule}, and {others}")
    return usable


def _is_data(path: Path) -> bool:
    """True for the name of a file of data."""
    return path.name.lower().endswith(ENDINGS)


def open_released(path: Paths) -> FileSource:
    """Open released files as one: a file, a folder of files of one format, or several of these.

    Raises the errors of `open_source`, and ArgumentValueError if a file is named twice.
    """
    paths = listed_paths(path, _is_data)
    sources = [open_source(file) for each in paths for file in _released_files(each)]
    if len(sources) == 1:
        return sources[0]
    files = [file for source in sources for file in source.files]
    if not files:
        raise ArgumentValueError("path must name at least one file, got none")
    folder = Path(os.path.commonpath([file.path.absolute().parent for file in files]))
    seen: set[Path] = set()
    for file in files:
        if file.path.resolve() in seen:
            raise ArgumentValueError(
                f"path must name each file once, and {file.path} is named twice: its rows would "
                "count twice"
            )
        seen.add(file.path.resolve())
        file.relative = file.path.absolute().relative_to(folder).as_posix()
        if type(file) is not type(files[0]):
            raise FileError(
                f"the files of {folder} must have one format, and {file.relative} has another than "
                f"{files[0].relative}; estimate them separately"
            )
        _check_alike(folder, files[0], file)
    stamp = {path: state for source in sources for path, state in source.stamp.items()}
    return FileSource(folder, sources[0].format, True, files, stamp)


def _released_files(path: Path) -> list[Path]:
    """The files of a folder of text or Arrow files; any other path itself."""
    if not path.is_dir():
        return [path]
    with reading(path, "a directory"):
        files = [
            file
            for file in files_in(path)
            if not is_ledger_file(file.name) and not file.name.endswith(SIDECAR)
        ]
    others = [file for file in files if file.name.lower().endswith(ENDINGS)]
    if all(file.name.lower().endswith(PARQUET) for file in others):
        return [path]  # with the document of the folder, if it has one
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def check_target(source: FileSource, target: FilePath) -> Path:
    """The path to write to; it must have the source's format and lie apart from the source."""
    path = Path(target)
    if source.is_directory:
        check_directory(path)
    elif format_of(path, "the target") != source.format:
        raise ArgumentValueError(
            f"the target must be of the source's format ({' or '.join(source.format)}), got "
            f"{str(target)!r}; nothing is converted: save the released file in another format "
            "with rr.files.read(released).rr.to_parquet(path), or to_csv"
        )
    source_path = source.path.resolve()
    target_path = path.resolve()
    nested = source.is_directory and (
        source_path in target_path.parents or target_path in source_path.parents
    )
    is_same = source_path == target_path or (path.exists() and path.samefile(source.path))
    if nested or is_same:
        raise ArgumentValueError(
            "the target must be another path than source, and neither be inside a source directory "
            f"nor contain it, got {str(target)!r}"
        )
    return path


def check_directory(target: Path) -> None:
    """Refuse a directory whose name has the ending of a file."""
    if target.name.lower().endswith(ENDINGS):
        raise ArgumentValueError(
            f"the target must be a directory (with one file for each part), got {str(target)!r}; "
            "give a name without the ending of a file"
        )


def _tells(folder: str, name: str) -> bool:
    """True for a folder of a partition by the column, such as ``column=value``."""
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def _unequal(left: object, right: object, name: str) -> Iterator[str]:
    """The unequal values of two documents, by the names of their keys."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in {**left, **right}:
            yield from _unequal(left.get(key), right.get(key), key)
    elif left != right:
        yield f"{name} {cut(left, 60)} and {cut(right, 60)}"


def _check_alike(path: Path, first: DataFile, other: DataFile) -> None:
    fields = itertools.zip_longest(first.fields, other.fields)
    unlike = [
        str(getattr(right if left is None else left, "name", right))
        for left, right in fields
        if left is None or right is None or left != right  # Arrow compares no field to None
    ]
    if unlike:
        raise FileError(
            f"the files of {path} do not have the same columns: {other.relative} differs from "
            f"{first.relative} from column {unlike[0]!r} on; take them one by one, or write them "
            "with one schema"
        )


def _data_files(path: Path) -> list[Path]:
    """The Parquet files of a directory, without names that begin with _ or a dot."""
    with reading(path, "a directory"):
        files = [file for file in files_in(path) if not is_ledger_file(file.name)]
    other = [file for file in files if not file.name.lower().endswith(PARQUET)]
    if other or not files:
        raise FileError(
            f"{other[0] if other else path} is not a Parquet file and holds none; a folder may "
            f"hold Parquet files ({' or '.join(PARQUET)}) and names that begin with _ or .; "
            "privatize files of other formats one by one"
        )
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def _stamp(path: Path) -> dict[Path, tuple[int, ...]]:
    """The data files of a source, with their sizes and times."""
    states: dict[Path, tuple[int, ...]] = {}
    for file in _data_files(path) if path.is_dir() else [path]:
        with reading(file, "a file"):
            state = file.stat()
        states[file] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return states
