"""Data sets of Spark, their columns as columns of Arrow, and what they say of themselves.

Spark keeps metadata with each column, through its own Parquet files and under other names: there
lies, under "rrstats", the document of that column as JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import types as T

from rrstats.engines.hadoop import read_bytes, retold
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.files import documents
from rrstats.files.batches import BatchRelease
from rrstats.metadata import KEY, Record, read, write

__all__ = ["DOCUMENT", "arrow_schema", "read_source", "reports_schema"]


DOCUMENT = "_rrstats.json"

_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
}


def read_source(spark: Any, path: str, names: list[str]) -> tuple[Any, dict[bytes, bytes]]:
    """A data set, and what its document and the footer of its first file say."""
    failed = f"cannot read {path} as Parquet"
    frame = retold(failed, lambda: spark.read.parquet(path))
    files = list(retold(failed, frame.inputFiles))
    for name in names:
        if any(_is_partition(folder, name) for file in files for folder in file.split("/")):
            raise ArgumentValueError(
                f"{path} is partitioned by column {name!r}, so rows with the same answer lie "
                "together and their parts would tell it; read it into a DataFrame and bring the "
                "rows into another order, such as df.orderBy(F.rand())"
            )
    beside = None
    if not any(sign in path for sign in "*?[{"):
        beside = retold(failed, lambda: read_bytes(spark, path, DOCUMENT))
    footer = retold(failed, lambda: _footer(spark, files[0])) if files else {}
    here, there = documents.read_records(footer), read({KEY: beside})
    return frame, {**footer, KEY.encode(): _one_document([here, there])}


def _is_partition(folder: str, name: str) -> bool:
    key, equals, _ = folder.partition("=")
    return bool(equals) and unquote(key).casefold() == name.casefold()


def _footer(spark: Any, file: str) -> dict[bytes, bytes]:
    """The key-values of a Parquet file."""
    jvm, conf = spark._jvm, spark.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    opened = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, conf)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
    try:
        found = dict(reader.getFooter().getFileMetaData().getKeyValueMetaData())
    finally:
        reader.close()
    return {name.encode(): text.encode() for name, text in found.items()}


def _one_document(places: Iterable[list[Record]]) -> bytes:
    """What several places say of how columns were made, in one document."""
    found: dict[str, Record] = {}
    for record in (record for place in places for record in place):
        if found.setdefault(str(record.name), record) != record:
            raise MetadataError(
                f"the data say two different things of how column {record.name!r} was made; remove "
                "the one that is wrong"
            )
    return json.dumps(write(found.values())).encode()


def arrow_schema(frame: Any, private: set[str], told: dict[bytes, bytes]) -> pa.Schema:
    """The declarations as Arrow has them, and what they say of how columns were made.

    Of the other columns nothing but the name counts.
    """
    said = [documents.read_records(told)]
    fields = []
    for field in frame.schema.fields:
        kind = _arrow_type(field) if field.name in private else pa.null()
        fields.append(pa.field(field.name, kind))
        # It stays with the column when that gets another name.
        own = [replace(record, name=field.name) for record in read(field.metadata or {})]
        said.append(own)
    return pa.schema(fields, metadata={**told, KEY.encode(): _one_document(said)})


def _arrow_type(field: Any) -> pa.DataType:
    kind = field.dataType
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if type(kind) not in _ARROW:
        raise ArgumentTypeError(
            f"column {field.name!r} has the type {kind.simpleString()}, and a report is one plain "
            "value; put the answer into a column of its own"
        )
    return _ARROW[type(kind)]


def reports_schema(schema: Any, release: BatchRelease) -> Any:
    """Spark's schema of the reports; the metadata of a private column say how it was made.

    What else they say of it, such as the labels of an indexer by frequency, came from answers.
    """
    fields = []
    records = {str(record.name): record for record in release.records}
    for field in schema.fields:
        column = release.columns.get(field.name)
        if column is not None:
            same = release.declared(field.name) == column.type
            kind = field.dataType if same else _spark_type(field.name, column.type)
            kept = {key: text for key, text in field.metadata.items() if key == "comment"}
            metadata = {**kept, KEY: json.dumps(write([records[field.name]]))}
            field = T.StructField(field.name, kind, True, metadata)
        fields.append(field)
    return T.StructType(fields)


def _spark_type(name: str, kind: pa.DataType) -> Any:
    if pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    found = next((spark for spark, arrow in _ARROW.items() if arrow == kind), None)
    if found is None:
        raise ArgumentTypeError(
            f"the reports of column {name!r} would have the type {kind}, which Spark does not have"
        )
    return found()
