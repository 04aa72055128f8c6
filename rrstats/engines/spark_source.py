"""Data sets of Spark as sources: each file is a task, whatever the answers in it weigh.

    frame, told = read_source(spark, "hdfs://cluster/answers", ["answer"])

Spark cuts files and packs the pieces into tasks by their bytes, the longest first, so that one
answer changed in one file may move the rows of others to another part.  Here the layout follows
from names and numbers of rows alone: each file is one task (a file of any size), its rows in
their order, and `in_order` says which part comes where, by the files' names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import functions as F

from rrstats.engines.hadoop import read_bytes, retold
from rrstats.errors import ArgumentValueError, FileError, MetadataError
from rrstats.files import file_metadata
from rrstats.mechanisms.records import KEY, Record, read, write

__all__ = [
    "DOCUMENT",
    "file_of",
    "files_of",
    "in_order",
    "marked",
    "one_document",
    "read_source",
    "refuse_by",
]

DOCUMENT = "_rrstats.json"

# More than any file has.  Opening one "costs" as much, so that a task has no room for a second.
WHOLE_BYTES = 1 << 42


def read_source(spark: Any, path: str, names: list[str]) -> tuple[Any, dict[bytes, bytes]]:
    """A data set, each file one task, and what its document and the footer of a file say.

    The frame has a session of its own, in which Spark does not cut files; that of the user
    stays as it is.
    """
    failed = f"cannot read {path} as Parquet"
    frame = retold(failed, lambda: _uncutting(spark).read.parquet(path))
    files = refuse_by(frame, names)
    beside = None
    if not any(sign in path for sign in "*?[{"):
        beside = retold(failed, lambda: read_bytes(spark, path, DOCUMENT))
    footers = retold(failed, lambda: [_footer(spark, file) for file in files])
    _check_alike(path, files, footers)
    footer = footers[0][1] if footers else {}
    here, there = file_metadata.read_records(footer), read({KEY: beside})
    return frame, {**footer, KEY.encode(): one_document([here, there])}


def _uncutting(spark: Any) -> Any:
    """A copy of a session that reads each file as one piece, and each piece as one task."""
    session = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name in ("maxPartitionBytes", "openCostInBytes"):
        session.conf.set(f"spark.sql.files.{name}", str(WHOLE_BYTES))
    session.conf.unset("spark.sql.files.maxPartitionNum")
    # The newer reader does not tell where a row lies.
    session.conf.set("spark.sql.sources.useV1SourceList", "parquet")
    return session


def files_of(frame: Any) -> list[str]:
    """The files that a frame is read from, as far as Spark tells: also where it is cached."""
    if frame.isStreaming:
        return []
    files = set(frame.inputFiles())
    if hasattr(frame, "_jdf"):  # in this process, not in a remote session
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            if leaf.getClass().getSimpleName() == "LogicalRelation":
                relation = leaf.relation()
                if relation.getClass().getSimpleName() == "HadoopFsRelation":
                    files |= set(relation.inputFiles())
    return sorted(files)


def refuse_by(frame: Any, names: Iterable[str]) -> list[str]:
    """The files that a frame is read from; refused where their folders are named by an answer."""
    files = retold("cannot list the files of the source", lambda: files_of(frame))
    for name in names:
        if any(_is_partition(folder, name) for file in files for folder in file.split("/")):
            raise ArgumentValueError(
                f"the source is partitioned by column {name!r}, so rows with the same answer lie "
                "together and their places would tell it; write the answers once more without "
                "partitionBy and in an order that tells nothing, such as "
                "df.orderBy(F.rand()).write.parquet(...), and privatize that"
            )
    return files


def _is_partition(folder: str, name: str) -> bool:
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def marked(frame: Any) -> Any:
    """The frame with a last column that names the file in the first row of each file."""
    row = frame.metadataColumn("_metadata")
    name = F.when(row["row_index"] == 0, row["file_path"])
    return frame.select("*", name)


def file_of(marks: pa.Array, *, first: bool) -> str | None:
    """The file that the first batch of a task begins with; None where that is not all of it."""
    if marks.null_count != len(marks) - 1 or not marks[0].is_valid or not first:
        return None
    return str(marks[0])


def in_order(files: Mapping[int, str | None]) -> dict[int, int]:
    """For each task with rows the place of its part, in the order of the files' names.

    Raises FileError where a task was not one file from its first row to its last.
    """
    if None in files.values():
        raise FileError(
            "this Spark cuts files and packs the pieces by their bytes, which follow from answers; "
            "nothing was published; give a DataFrame in an order that tells nothing, such as "
            "spark.read.parquet(...).orderBy(F.rand())"
        )
    return {task: place for place, task in enumerate(sorted(files, key=lambda t: str(files[t])))}


Footer = tuple[dict[str, str], dict[bytes, bytes]]


def _footer(spark: Any, file: str) -> Footer:
    """The columns of a Parquet file with their physical types, and its key-values."""
    jvm, conf = spark._jvm, spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    opened = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
    try:
        told = reader.getFooter().getFileMetaData()
        columns = {
            ".".join(column.getPath()): column.getPrimitiveType().getPrimitiveTypeName().toString()
            for column in told.getSchema().getColumns()
        }
        found = dict(told.getKeyValueMetaData())
    finally:
        reader.close()
    return columns, {name.encode(): text.encode() for name, text in found.items()}


def _check_alike(path: str, files: list[str], footers: list[Footer]) -> None:
    """Raise where files differ in their columns, or in what they say of how those were made.

    Spark takes the columns of one file, and fills what others lack with nothing.
    """
    for file, (columns, told) in zip(files[1:], footers[1:], strict=True):
        differ = [
            name
            for name in {**footers[0][0], **columns}
            if columns.get(name) != footers[0][0].get(name)
        ]
        if differ:
            raise FileError(
                f"the files of {path} do not have the same columns: {file} differs from {files[0]} "
                f"in {differ[0]!r}; privatize them apart, or write them with one schema"
            )
        if file_metadata.read_records(told) != file_metadata.read_records(footers[0][1]):
            raise MetadataError(
                f"the files of {path} say different things of how columns were made: {files[0]} "
                f"and {file}; privatize them apart"
            )


def one_document(places: Iterable[list[Record]]) -> bytes:
    """What several places say of how columns were made, in one document."""
    found: dict[str, Record] = {}
    for record in (record for place in places for record in place):
        if found.setdefault(str(record.name), record) != record:
            raise MetadataError(
                f"the data say two different things of how column {record.name!r} was made; remove "
                "the one that is wrong"
            )
    return json.dumps(write(found.values())).encode()
