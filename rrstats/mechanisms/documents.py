"""Documents of mechanisms, records, plans and ledgers: their JSON is read strictly.

Of a key that stands twice in an object, JSON would keep the last, and another reader the first:
such documents are refused.  No document can cause unbounded recursion.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Mapping
from typing import Any, NamedTuple

from rrstats._checks import cut, type_name
from rrstats._typing import ArrowMetadata, JsonObject
from rrstats.data.category_json import categories_from_json
from rrstats.errors import MetadataError

MAX_LEVELS = 100
"""The largest depth of nested lists and objects in a document."""

_NESTED = (Mapping, list, tuple)
"""The types of a document's parts that can be nested."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; MetadataError for a key twice in an object, ValueError for no JSON.

    >>> parse_json('{"v": 1}')
    {'v': 1}
    """
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> JsonObject:
    """An object of JSON, each of whose keys must stand once."""
    distinct = dict(pairs)
    if len(distinct) < len(pairs):
        raise MetadataError("a JSON object has a key twice, and one would be lost; keep one")
    return distinct


def parse_object(metadata: ArrowMetadata, key: bytes) -> JsonObject:
    """A JSON object in the key-value metadata of Arrow; empty if there is none."""
    try:
        parsed = parse_json(metadata.get(key, b"{}"))
    except MetadataError as error:  # it may hold the document
        raise MetadataError(f"{key.decode()}: {error}") from None
    except ValueError:
        return {}
    except RecursionError:  # it may hold the document
        raise MetadataError(f"{key.decode()} is nested too deeply") from None
    return parsed if isinstance(parsed, dict) else {}


def check_depth(document: Any) -> None:
    """Raise MetadataError if the document is too deep to be read recursively."""
    level: list[Any] = [[document]]
    for _ in range(MAX_LEVELS + 1):
        # By identity: a part that occurs in many places is visited once.
        inside = (outer.values() if isinstance(outer, Mapping) else outer for outer in level)
        below = {id(part): part for parts in inside for part in parts if isinstance(part, _NESTED)}
        level = list(below.values())
        if not level:
            return
    raise MetadataError(f"the rrstats document is nested too deeply, more than {MAX_LEVELS} levels")


def read_object(
    document: Any, what: str, needed: Collection[str], optional: Collection[str] = ()
) -> JsonObject:
    """An object with all needed keys; unknown ones are refused, as they may change its meaning."""
    keys = [*needed, *optional]
    if not isinstance(document, Mapping):
        raise MetadataError(f"{what} must be an object, found {type_name(document)}")
    missing = [key for key in needed if key not in document]
    unknown = [key for key in document if key not in keys]
    if missing:
        raise MetadataError(f"{what} needs {missing}")
    if unknown:
        raise MetadataError(
            f"{what} has unknown keys {cut(unknown)}; known are {keys}; a newer rrstats may know "
            "them"
        )
    return dict(document)


# -- the document of a release -------------------------------------------------------------------

VERSION = 2

POLICIES = {
    "unknown": ("raise", "uniform"),
    "missing": ("unknown", "uniform", "keep", "raise"),
}
"""Answers that are no category: refused, or replaced by a uniformly random one.

Missing ones, unless missing is a category: treated like these, replaced, kept, or refused.
"""

OLD_POLICY = "warn"
"""The policy of old records whose answers were replaced, as by "uniform", with a warning."""

_FACTS: dict[str, tuple[Any, ...]] = {
    **POLICIES,
    **dict.fromkeys(("simulated", "keyed"), (False, True)),
}


class ColumnDocument(NamedTuple):
    """One column in the document of a release, with a checked name and checked facts."""

    name: Hashable
    mechanism: JsonObject
    facts: JsonObject
    plan: Any
    by_row: Any


def read_column(document: Any) -> ColumnDocument:
    """The parts of what is said of one column; anything else raises MetadataError."""
    facts = dict(document) if isinstance(document, Mapping) else {}
    mechanism = facts.pop("mechanism", None)
    if "name" not in facts or not isinstance(mechanism, dict):
        raise MetadataError("each column of an rrstats document needs a name and a mechanism")
    (name,) = categories_from_json([facts.pop("name")])
    plan = facts.pop("plan", None)
    by_row = facts.pop("by_row", None)
    for key, value in facts.items():
        allowed = _FACTS.get(key, ())
        if (key, value) == ("unknown", OLD_POLICY):
            continue
        if not isinstance(value, str | bool) or value not in allowed:
            rule = f"must be one of {list(allowed)}, found {cut(value)}"
            raise MetadataError(
                f"{cut(key)} of column {cut(name)} "
                + (rule if allowed else f"is unknown; known are {', '.join(_FACTS)}")
            )
    return ColumnDocument(name, mechanism, facts, plan, by_row)


def read_release(document: Any) -> list[ColumnDocument]:
    """The columns of the document of a release; anything else raises MetadataError."""
    check_depth(document)
    contents = document if isinstance(document, Mapping) else {"v": 1}
    if type(contents.get("v")) is not int or contents["v"] not in range(1, VERSION + 1):
        raise MetadataError(
            f"the rrstats document has version {cut(contents.get('v'))}, this rrstats reads "
            f"1 to {VERSION}; a newer rrstats may read it"
        )
    if set(contents) != {"v", "columns"} or not isinstance(contents["columns"], list):
        raise MetadataError("the rrstats document must hold 'v' and a list of 'columns', no more")
    columns = list(map(read_column, contents["columns"]))
    names = [column.name for column in columns]
    if contents["v"] == 1 and any(column.plan or column.by_row for column in columns):
        raise MetadataError("plan and by_row of a column need version 2 of the rrstats document")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise MetadataError(f"the rrstats document describes column {cut(name)} twice")
    return columns
