"""Records that stand in a file, in a frame's attrs, or in a document of their own.

Nothing here needs pyarrow: `records` reads the metadata of a schema, and attrs of pandas alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rrstats._checks import check_instance
from rrstats._names import checked_keywords
from rrstats._typing import JsonObject
from rrstats.errors import DamagedDocumentError, MetadataError
from rrstats.files.atomic import named
from rrstats.mechanisms.documents import parse_object
from rrstats.mechanisms.records import KEY, ColumnRecord, arrow_places, check_plan_epsilon, read

SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def objects_in(described: Mapping[str, Any], key: str) -> list[JsonObject]:
    """The objects in a list of a description; none if it is not a list."""
    items = described.get(key)
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, dict)]


@checked_keywords
def records(metadata: Mapping[Any, Any] | None) -> list[ColumnRecord]:
    """Return how the private columns were made, from the attrs of a frame or a file's metadata.

    Parameters
    ----------
    metadata : mapping or None
        ``df.attrs``, or the metadata of a schema of Arrow, which is None if there is none.

    Returns
    -------
    list of ColumnRecord
        One for each privatized column, with its ``name`` and ``mechanism``; empty if nothing is
        recorded.  `describe_file` reads those of a file by its path, and ``df.rr.mechanisms`` has
        the mechanisms of a frame.

    Raises
    ------
    MetadataError
        If a document cannot be read, or two places of the metadata disagree.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> df = pd.DataFrame({"smoker": ["yes", "no", "no"]})
    >>> [record.name for record in records(df.rr.privatize("smoker", ["yes", "no"], 0.75).attrs)]
    ['smoker']
    """
    if metadata is None:
        return []
    rule = "a mapping: the attrs of a frame, df.attrs, or the metadata of a schema"
    check_instance(metadata, "metadata", Mapping, rule)
    places = [read(place) for place in arrow_places(metadata)]
    for field in objects_in(parse_object(metadata, SPARK), "fields"):
        name = field.get("name")
        field_metadata = field.get("metadata")
        if isinstance(field_metadata, dict) and isinstance(name, str):
            # The record stays with the column when the column is renamed.
            places.append([replace(record, name=name) for record in read(field_metadata)])
    return joined("the file says", *places)


def joined(they_say: str, *places: Iterable[ColumnRecord]) -> list[ColumnRecord]:
    """Records of several places, each column once; MetadataError if two disagree."""
    by_name: dict[str, ColumnRecord] = {}
    for place in places:
        for record in place:
            if by_name.setdefault(str(record.name), record) != record:
                raise MetadataError(
                    f"{they_say} two different things about how column {record.name!r} was made; "
                    "remove the wrong one"
                )
    records = list(by_name.values())
    check_plan_epsilon(records)
    return records


def records_in(document: Path) -> list[ColumnRecord]:
    """Records in a separate document file; empty if there is no such file.

    Raises FileError or DamagedDocumentError if it cannot be read.
    """
    if not os.path.lexists(document):
        return []
    with named(f"cannot read {document}"):
        text = document.read_bytes()
    try:
        return read({KEY: text})
    except MetadataError as error:
        raise DamagedDocumentError(f"{document}: {error}") from None


def merge(old: Iterable[ColumnRecord], new: Iterable[ColumnRecord]) -> list[ColumnRecord]:
    """Old records of columns without a new record, then the new records."""
    newer = {str(record.name): record for record in new}
    return [*(record for record in old if str(record.name) not in newer), *newer.values()]
