"""Key-values of a file or a directory: how its columns were made, and what else is kept.

The document of `mechanisms.records` stands in three places of a Parquet or Arrow file, so
that every reader finds it: under ``rrstats``, in pandas' copy of ``df.attrs`` (``PANDAS_ATTRS``),
and in the ``attributes`` of pyarrow's ``pandas`` description.  That description also defines how
pandas reads each column.  For a privatized column it is written again, because pandas wrote the
old one from the true answers.  Everything else stays as it is.

Spark keeps only metadata of columns in a file, so the document is read there, and updated there.
A directory that an engine wrote has the document in a separate file, ``_rrstats.json``, which
applies to all files of the directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rrstats._typing import ArrowMetadata, JsonObject
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.files.file_records import SPARK, objects_in
from rrstats.mechanisms.documents import parse_object
from rrstats.mechanisms.records import KEY, ColumnRecord, write

DOCUMENT = "_rrstats.json"
"""The file of a directory that records how its columns were made."""

Metadata = dict[bytes, bytes]

RRSTATS = KEY.encode()
ATTRS = b"PANDAS_ATTRS"
PANDAS = b"pandas"


@dataclass(frozen=True)
class WrittenColumn:
    """A column that a release writes: a private one, or the public one of a plan.

    type : of Arrow.  space : the values of its cells.  may_lack : whether cells may be missing.
    """

    type: pa.DataType
    space: Categories | Subsets
    may_lack: bool


Columns = Mapping[str, WrittenColumn]
"""The columns that a release writes, by name; those that the source lacks come last."""

Records = Sequence[ColumnRecord]


def release_metadata(
    metadata: ArrowMetadata,
    changed: Columns,
    records: Iterable[ColumnRecord],
    *,
    feather: bool = False,
) -> Metadata:
    """Key-values of a released file: of the private columns, only our records.

    changed : the columns to write.  records : of all columns that hold reports.
    feather : readers of Feather files know only pyarrow's description, so it is created if there
        is none.
    """
    all_records = list(records)
    names = list(changed)
    kept = without(metadata, names)
    document = write(all_records)
    if PANDAS in kept or feather:
        described = parse_object(kept, PANDAS) or {"index_columns": [], "column_indexes": []}
        described.setdefault("columns", [])
        for name, column in changed.items():
            _describe_again(described, name, column)
        attributes = described.get("attributes")
        described["attributes"] = _silent(attributes, names) | {KEY: document}
        kept[PANDAS] = json.dumps(described).encode()
    attributes = _silent(parse_object(kept, ATTRS), names)
    kept[RRSTATS] = json.dumps(document).encode()
    kept[ATTRS] = json.dumps({**attributes, KEY: document}).encode()
    spark_schema = parse_object(kept, SPARK)
    if objects_in(spark_schema, "fields"):  # Spark reads no other columns
        _describe_to_spark(spark_schema, names, all_records)
        kept[SPARK] = json.dumps(spark_schema).encode()
    return kept


def _describe_to_spark(
    schema: JsonObject, names: Sequence[str], records: Sequence[ColumnRecord]
) -> None:
    """Write Spark's description of the private columns again, and add new columns.

    names : of the columns to write.  records : of all columns that hold reports.
    """
    fields = objects_in(schema, "fields")
    for field in fields:
        name = field.get("name")
        metadata = field.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        has_record = KEY in metadata
        if name in names:
            metadata = {}
        if has_record:
            # As text, which Spark requires here.
            document = write(record for record in records if str(record.name) == name)
            metadata[KEY] = json.dumps(document)
        field["metadata"] = metadata
    described_names = [field.get("name") for field in fields]
    for name in names:
        if name not in described_names:
            new_field = {"name": name, "type": "string", "nullable": True, "metadata": {}}
            schema["fields"].append(new_field)


def without(metadata: ArrowMetadata, names: Sequence[str]) -> Metadata:
    """The key-values of a file that do not name some columns, and those that are written again."""
    parsed = {key for key in (PANDAS, ATTRS, SPARK) if parse_object(metadata, key)}
    return {
        key: value
        for key, value in metadata.items()
        if key in parsed or not (_names(key, names) or _names(value, names))
    }


NUMBERS = re.compile(r"__index_level_\d+__")
"""Names that pyarrow gives to a pandas index without a name."""

UNNAMED = ("", "Unnamed: 0")
USUAL_NUMBERS = (*UNNAMED, "index", "level_0")
"""Names under which pandas writes an index without a name as an ordinary column."""


def index_columns(metadata: ArrowMetadata) -> list[str]:
    """The columns that hold a pandas index."""
    indexes = parse_object(metadata, PANDAS).get("index_columns")
    return [name for name in indexes if isinstance(name, str)] if isinstance(indexes, list) else []


def row_numbers(schema: pa.Schema) -> list[str]:
    """The stored pandas index, if it has no name and holds integers: it numbers the rows."""
    indexes = [field for field in schema if NUMBERS.fullmatch(field.name)]
    if len(indexes) == 1 and pa.types.is_integer(indexes[0].type):
        return [indexes[0].name]
    return []


def fitted(metadata: ArrowMetadata, schema: pa.Schema) -> Metadata:
    """Key-values with pandas' description of the columns of a schema, and of no others.

    For a schema whose dictionaries became plain values, or that lacks a stored index.
    """
    described = parse_object(metadata, PANDAS)
    columns = objects_in(described, "columns")
    if not columns:
        return dict(metadata)
    kept = []
    for entry in columns:
        name = entry.get("field_name", entry.get("name"))
        if name is not None and name not in schema.names:
            continue
        facts = entry.get("metadata")
        if isinstance(facts, dict) and "ordered" in facts and schema.names.count(name) == 1:
            type = schema.field(name).type
            if not pa.types.is_dictionary(type):
                entry.update(_description(type, str(entry.get("numpy_type"))))
        kept.append(entry)
    described["columns"] = kept
    indexes = described.get("index_columns")
    if isinstance(indexes, list):
        described["index_columns"] = [
            name for name in indexes if not isinstance(name, str) or name in schema.names
        ]
    return {**metadata, PANDAS: json.dumps(described).encode()}


def _silent(attributes: object, names: Sequence[str]) -> JsonObject:
    """Attributes of a frame that do not name some columns."""
    if not isinstance(attributes, dict):
        return {}
    return {
        key: value
        for key, value in attributes.items()
        if key == KEY or not _names(json.dumps({key: value}).encode(), names)
    }


def _names(text: bytes, names: Sequence[str]) -> bool:
    """True if a column's name is a word of the text, or of any text in it as JSON.

    Objects are read as lists of pairs, so that none of two values of one key is lost.
    """
    words = "|".join(re.escape(name.casefold()) for name in names)
    waiting: list[Any] = [text.decode(errors="replace")] if names else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, str):
            if re.search(rf"(?<!\w)(?:{words})(?!\w)", value.casefold()):
                return True
            with suppress(ValueError, RecursionError):
                waiting.append(json.loads(value, object_pairs_hook=list))
    return False


def carries_copy(metadata: ArrowMetadata, name: str) -> bool:
    """True if a pandas index has the column's name, and so may be a copy of its answers."""
    described = parse_object(metadata, PANDAS)
    indexes = described.get("index_columns")
    for entry in objects_in(described, "columns"):
        if entry.get("name") is None:
            continue
        label = str(entry["name"])
        field = entry.get("field_name", label)
        if field in (name, None) or label.casefold() != name.casefold():
            continue
        if label == name or (isinstance(indexes, list) and field in indexes):
            return True
    return False


def _describe_again(described: JsonObject, name: str, column: WrittenColumn) -> None:
    """Write pandas' description of one column again, from declarations alone."""
    for entry in objects_in(described, "columns"):
        if name == entry.get("field_name", entry.get("name")):
            names = {key: entry[key] for key in ("name", "field_name") if key in entry}
            old_type = str(entry.get("numpy_type"))
            entry.clear()
            k = 0
            if pa.types.is_dictionary(column.type):
                k = sum(label is not None for label in column.space.categories)
            entry.update(names | _description(column.type, old_type, k))


def _description(type: pa.DataType, old_type: str, k: int = 0) -> JsonObject:
    """Pandas' description of a column, from its type and its number of categories.

    old_type : pandas' type of the answers.  Only its family is used, because pandas chooses within
    NumPy's types by the answers: one missing answer turns booleans and integers into objects.
    """
    types = pa.types
    facts = None
    is_number = types.is_boolean(type) or types.is_integer(type) or types.is_floating(type)
    dtype = np.dtype(type.to_pandas_dtype()).name if is_number else "object"
    kind = "unicode" if types.is_string(type) or types.is_large_string(type) else dtype
    if types.is_dictionary(type):
        kind = "categorical"
        facts = {"num_categories": k, "ordered": bool(type.ordered)}
    if old_type.endswith("[pyarrow]"):
        # pandas cannot read the name of the fixed-size type, and reads it as binary.
        dtype = f"{'binary' if types.is_fixed_size_binary(type) else type}[pyarrow]"
    elif old_type[:1].isupper() or old_type in ("boolean", "string"):  # Int8, Float64 and so on
        nullable = dtype.capitalize().replace("Ui", "UI")
        dtype = {"bool": "boolean", "object": "string"}.get(dtype, nullable)
    return {"pandas_type": kind, "numpy_type": dtype, "metadata": facts}
