"""What a released file says of how it was made, and the page that accompanies it."""

from __future__ import annotations

import datetime
from pathlib import Path

from rrstats.errors import FileError
from rrstats.files import documents
from rrstats.files.delimited import SIDECAR
from rrstats.files.formats import Source, open_source
from rrstats.mechanisms.records import Record
from rrstats.statement import statement

__all__ = ["count_rows", "describe_file", "document_beside", "silence", "statement_of"]


def describe_file(path: Path | str) -> list[Record]:
    """How the columns of a file were made, as it says itself; empty where it says nothing.

    path : a file of reports, or a directory of Parquet files, which must agree.
    Raises FileError for a file that cannot be read, MetadataError for a document that cannot.
    """
    source = open_source(path)
    records: list[Record] = []
    for part in source.parts:
        records = documents.merge(part.records, records)
    for record in records:
        source.record_of(str(record.name))  # raises where files disagree
    return records


def statement_of(
    path: Path | str,
    *,
    title: str | None = None,
    made: str | datetime.date | None = None,
    format: str = "markdown",
) -> str:
    """The page that accompanies a released file: what was done, promised and not, how to estimate.

    path : a file of reports, or a directory of Parquet files.  title : the page's heading.
    made : the page's date; today unless given.  format : "markdown" or "html".
    Returns the text of the page.
    Raises FileError where the file does not say how it was made.
    """
    records = describe_file(path)
    source = open_source(path)
    if not records:
        raise FileError(f"{path} does not say that any column was privatized{silence(source)}")
    return statement(
        records,
        rows=count_rows(source),
        title=title,
        made=made,
        file=source.path.name,
        beside=document_beside(source),
        format=format,
    )


def count_rows(source: Source) -> int:
    """How many rows there are; a text file is read for that."""
    return sum(
        sum(piece.rows for piece in part.pieces({}, only=True)) if part.rows is None else part.rows
        for part in source.parts
    )


def document_beside(source: Source) -> str | None:
    """The name of the file that says how the reports were made, where it is a file of its own."""
    return f"{source.path.name}{SIDECAR}" if source.parts[0].document_is_beside else None


def silence(source: Source) -> str:
    """Why a file of text says nothing, and what to do; nothing to add for other files."""
    beside = document_beside(source)
    if beside is None or source.path.with_name(beside).exists():
        return ""
    return (
        f", because {beside} is not beside it; put it there, or give it (in a terminal: "
        "--plan, in Python: as the mechanism)"
    )
