"""What a file says of its columns, and keeping the rest of what it says.

The document of `metadata` lies in three places of a Parquet or Arrow file, so that every reader
finds it: under ``rrstats``, in what pandas keeps of ``df.attrs`` (``PANDAS_ATTRS``), and among
the ``attributes`` of pyarrow's ``pandas`` description.  That description also says how pandas
shall read each column, so it is mended where a column's type changes.  All else stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from rrstats.errors import MetadataError
from rrstats.files.parts import Changed
from rrstats.metadata import KEY, Record, read, write

__all__ = ["carries_copy", "mend", "merge", "read_records", "with_records"]

Metadata = dict[bytes, bytes]

RRSTATS, ATTRS, PANDAS = KEY.encode(), b"PANDAS_ATTRS", b"pandas"


def _parsed(metadata: Mapping[bytes, bytes], key: bytes) -> dict[str, Any]:
    """A JSON object among the key-values; empty where there is none."""
    try:
        found = json.loads(metadata.get(key, b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def read_records(metadata: Mapping[bytes, bytes]) -> list[Record]:
    """How the columns of a file were made, wherever the file says so.

    Raises MetadataError for a document that cannot be read, and where two places disagree.
    """
    attributes = _parsed(metadata, PANDAS).get("attributes")
    places: list[Mapping[Any, Any]] = [
        {KEY: metadata.get(RRSTATS)},
        _parsed(metadata, ATTRS),
        attributes if isinstance(attributes, dict) else {},
    ]
    found: dict[Any, Record] = {}
    for place in places:
        for record in read(place):
            if found.setdefault(record.name, record) != record:
                raise MetadataError(
                    f"the file says two different things of how column {record.name!r} was made; "
                    "remove the one that is wrong"
                )
    return list(found.values())


def merge(old: Iterable[Record], new: Iterable[Record]) -> list[Record]:
    """The old records, each replaced by the new one of its column, then the other new ones."""
    made = {str(record.name): record for record in new}
    return [*(record for record in old if str(record.name) not in made), *made.values()]


def with_records(
    metadata: Mapping[bytes, bytes], records: Iterable[Record], *, feather: bool = False
) -> Metadata:
    """The key-values of a file, with the document in each place that a reader looks at.

    feather : a reader of Feather files knows only pyarrow's description, so one is begun
        where there is none.
    """
    kept, document = dict(metadata), write(records)
    kept[RRSTATS] = json.dumps(document).encode()
    if PANDAS in kept or feather:
        described = _parsed(kept, PANDAS) or {"index_columns": [], "column_indexes": []}
        described.setdefault("columns", [])
        attributes = described.get("attributes")
        described["attributes"] = {
            **(attributes if isinstance(attributes, dict) else {}),
            KEY: document,
        }
        kept[PANDAS] = json.dumps(described).encode()
    kept[ATTRS] = json.dumps({**_parsed(kept, ATTRS), KEY: document}).encode()
    return kept


def carries_copy(metadata: Mapping[bytes, bytes], name: str) -> bool:
    """Whether pandas keeps an index of the same name as the column, a copy of its answers."""
    columns = _parsed(metadata, PANDAS).get("columns")
    return any(
        isinstance(entry, dict)
        and entry.get("name") == name
        and entry.get("field_name", name) not in (name, None)
        for entry in (columns if isinstance(columns, list) else [])
    )


def mend(metadata: Mapping[bytes, bytes], column: Changed, before: pa.DataType) -> Metadata:
    """The key-values, with pandas' description of one column fitted to its new type."""
    name, after = column.name, column.type
    k = sum(label is not None for label in column.mechanism.report_space.categories)
    kept, described = dict(metadata), _parsed(metadata, PANDAS)
    columns = described.get("columns")
    for entry in columns if isinstance(columns, list) else []:
        if isinstance(entry, dict) and name == entry.get("field_name", entry.get("name")):
            _fit(entry, before, after, k)
    if PANDAS in kept and described:
        kept[PANDAS] = json.dumps(described).encode()
    return kept


def _fit(entry: dict[str, Any], before: pa.DataType, after: pa.DataType, k: int) -> None:
    said = str(entry.get("numpy_type"))
    if said.endswith("[pyarrow]"):
        if after != before:
            entry["numpy_type"] = f"{after}[pyarrow]"
    elif pa.types.is_dictionary(after):
        # pandas counts codes in the smallest type; the number of categories is the declared one.
        size = 8 if k <= 1 << 7 else 16 if k <= 1 << 15 else 32
        entry.update(
            pandas_type="categorical",
            numpy_type=f"int{size}",
            metadata={"num_categories": k, "ordered": bool(after.ordered)},
        )
    elif after != before and (pa.types.is_integer(after) or pa.types.is_floating(after)):
        plain = "float32" if after == pa.float32() else "float64"
        plain = str(after) if pa.types.is_integer(after) else plain
        nullable = said[:1].isupper()  # pandas writes its nullable types Int8, UInt8, Float64
        entry.update(
            pandas_type=plain,
            numpy_type=plain.replace("i", "I", 1).replace("u", "U").replace("f", "F")
            if nullable
            else plain,
        )
