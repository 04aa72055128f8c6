"""Which format a path is of, by its ending, and all data files that stand behind it.

A file is privatized into a file of the same format, and a directory of Parquet files into a
directory with files of the same names; nothing is converted.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from rrstats.data.columns import open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, MetadataError
from rrstats.files import file_metadata
from rrstats.files.atomic import is_ledger_file
from rrstats.files.delimited import DelimitedPart
from rrstats.files.feather import FeatherPart
from rrstats.files.parquet import ParquetPart
from rrstats.files.parts import Part, is_served
from rrstats.mechanisms.records import Record

__all__ = ["FORMATS", "Source", "check_target", "column_type", "format_of", "open_source"]


@dataclass(frozen=True)
class Format:
    """One format of files.

    endings : its names.  opener : reads what a file says of itself.  is_text : then the names of
        the columns are the cells of the first line, be they names or not.
    """

    name: str
    endings: tuple[str, ...]
    opener: Callable[[Path, str], Part]
    is_text: bool = False


PARQUET = Format("Parquet", (".parquet", ".pq"), ParquetPart)

FORMATS = (
    PARQUET,
    Format("Arrow IPC (Feather)", (".feather", ".arrow", ".ipc"), FeatherPart),
    Format("CSV", (".csv",), DelimitedPart, is_text=True),
    Format("gzipped CSV", (".csv.gz",), DelimitedPart, is_text=True),
    Format("TSV", (".tsv",), DelimitedPart, is_text=True),
    Format("gzipped TSV", (".tsv.gz",), DelimitedPart, is_text=True),
)


def format_of(path: Path, argument: str) -> Format:
    """The format that a file's name tells.  Raises ArgumentValueError for any other ending."""
    for found in FORMATS:
        if path.name.lower().endswith(found.endings):
            return found
    known = ", ".join(ending for found in FORMATS for ending in found.endings)
    raise ArgumentValueError(
        f"{argument} must end in one of {known}, or be a directory of Parquet files, "
        f"got {str(path)!r}"
    )


Stamp = dict[Path, tuple[int, ...]]


@dataclass(frozen=True)
class Source:
    """A file or directory that was opened: its format and its data files.

    stamp : sizes and times of the files before they were opened.
    """

    path: Path
    format: Format
    is_directory: bool
    parts: list[Part]
    stamp: Stamp

    @property
    def rows(self) -> int | None:
        """How many rows there are, where the files say so before they are read."""
        counts = [part.rows for part in self.parts]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return self.parts[0].names

    def record_of(self, name: str) -> Record | None:
        """What the files say of how a column was made; they must agree, and it must fit."""
        found = {
            part.relative: next((r for r in part.records if str(r.name) == name), None)
            for part in self.parts
        }
        first, *others = found.values()
        for relative, record in zip(list(found)[1:], others, strict=True):
            if record != first:
                raise MetadataError(
                    f"the files of {self.path} say different things of how column {name!r} was "
                    f"made: {self.parts[0].relative} and {relative}; privatize them apart"
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
            open_reports(self.parts[0].no_cells(name, space), space)
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
        for part in self.parts:
            folders = [*self.path.parts, *Path(part.relative).parts[:-1]]
            if any(_tells(folder, name) for folder in folders):
                raise ArgumentValueError(
                    f"{self.path} is partitioned by column {name!r}: a folder in its path or below "
                    f"tells column {name!r} of each row in it; write the data again with the "
                    "column in the files and the rows mixed, and privatize them with "
                    "shuffle_rows=True"
                )
        times = self.names.count(name)
        if times != 1:
            found = f"is there {times} times" if times else "is not there"
            raise ArgumentValueError(
                f"column {name!r} {found} in {self.path}{self._hint(name, times)}"
            )
        declared = self.parts[0].type_of(name)
        if not is_served(declared):
            raise ArgumentTypeError(
                f"column {name!r} of {self.path} has the type {declared}, and a report is one "
                "plain value; put the answer into a column of its own"
            )
        for part in self.parts:
            if part.has_copy(name):
                raise ArgumentValueError(
                    f"{part.path} has an index of pandas with the name {name!r}, which would "
                    "release the answers; write it again with reset_index(drop=True)"
                )
        return name

    def _hint(self, name: str, times: int) -> str:
        """Which columns there are; without a header, its cells would be a respondent's."""
        if self.format.is_text:
            count = f"{len(self.names)} cell" + "s" * (len(self.names) != 1)
            return f"; its first line has {count}: is that line a header with the names?"
        near = difflib.get_close_matches(name, self.names, n=1)
        hint = f"; did you mean {near[0]!r}" if near and not times else ""
        listed = ", ".join(repr(column) for column in self.names[:20])
        return f"{hint}; the columns are {listed}"

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


def open_source(path: Path | str) -> Source:
    """Open a file or directory and read what it says of itself; no cell is read.

    Raises ArgumentValueError for an unknown ending, FileError for files that cannot be read
    and for a directory whose files differ in their columns.
    """
    path = _path(path, "source")
    if not path.exists():
        raise FileError(f"{path} is not there; check the path")
    is_directory = path.is_dir()
    form = PARQUET if is_directory else format_of(path, "source")
    files = _data_files(path) if is_directory else [path]
    stamp = _stamp(files)
    names = [f.relative_to(path).as_posix() if is_directory else f.name for f in files]
    parts = [form.opener(file, name) for file, name in zip(files, names, strict=True)]
    for part in parts[1:]:
        _check_alike(path, parts[0], part)
    if is_directory and (said := file_metadata.directory_records(path)):
        for part in parts:
            part.records = file_metadata.joined(
                f"{file_metadata.DOCUMENT} and {part.relative} say", part.records, said
            )
    return Source(path, form, is_directory, parts, stamp)


def column_type(path: Path | str, name: str) -> pa.DataType:
    """The declared type of a column; of text files all columns are text.

    Raises ArgumentValueError where the column is not there.
    """
    source = open_source(path)
    return source.parts[0].type_of(source.check_column(name))


def check_target(source: Source, target: Path | str) -> Path:
    """The path to write to, if it is of the source's format and apart from the source."""
    path = _path(target, "target")
    if source.is_directory:
        if path.suffix and path.name.lower().endswith(tuple(e for f in FORMATS for e in f.endings)):
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
    """Whether a folder is a partition by the column, as any engine writes and reads it."""
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def _path(path: object, argument: str) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"{argument} must be a path, found {type(path).__name__}")
    return Path(path)


def _check_alike(path: Path, first: Part, other: Part) -> None:
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
