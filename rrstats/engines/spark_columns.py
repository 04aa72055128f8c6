"""Columns of Spark as columns of Arrow, and back, with what they say of themselves.

Spark keeps metadata with each column, through its own Parquet files and under other names: there
lies, under "rrstats", the document of that column as JSON text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from rrstats.engines.spark_source import one_document
from rrstats.errors import ArgumentTypeError
from rrstats.files import file_metadata
from rrstats.files.batches import BatchRelease
from rrstats.mechanisms.records import KEY, read, write

__all__ = ["arrow_schema", "reports_schema"]

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


def arrow_schema(frame: Any, private: set[str], told: dict[bytes, bytes]) -> pa.Schema:
    """The declarations as Arrow has them, and what they say of how columns were made.

    Of the other columns nothing but the name counts.
    """
    said = [file_metadata.read_records(told)]
    fields = []
    for field in frame.schema.fields:
        kind = _arrow_type(field) if field.name in private else pa.null()
        fields.append(pa.field(field.name, kind))
        # It stays with the column when that gets another name.
        own = [replace(record, name=field.name) for record in read(field.metadata or {})]
        said.append(own)
    return pa.schema(fields, metadata={**told, KEY.encode(): one_document(said)})


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
            metadata = {KEY: json.dumps(write([records[field.name]]))}
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
