"""Documents of mechanisms, records, plans and ledgers: their JSON is read strictly, and frozen.

Of a key that stands twice in an object, JSON would keep the last, and another reader the first:
such documents are refused.  No document can cause unbounded recursion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from rrstats._typing import ArrowMetadata, JsonObject
from rrstats.errors import ArgumentTypeError, MetadataError

MAX_LEVELS = 100
"""The largest depth of nested lists and objects in a document."""

_NESTED = (Mapping, list, tuple)
"""The types of a document's parts that can be nested."""


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; MetadataError for a key twice in an object, ValueError for no JSON.

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


# -- documents that cannot be changed ------------------------------------------------------------

_CHANGES = (
    *("__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__", "append", "clear", "extend"),
    *("insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"),
)
"""Methods of dictionaries and lists that change them."""


def _refuse(*_args: Any, **_keywords: Any) -> NoReturn:
    raise ArgumentTypeError(
        "the record of a release cannot be changed, because copies of the data share it; "
        "df.rr.carry renames its columns, and df.attrs.pop('rrstats') removes it"
    )


class FrozenDict(dict[str, Any]):
    """A dictionary that cannot be changed."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> FrozenDict:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (), None, None, iter(self.items())


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> FrozenList:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (), None, iter(self)


for _kind in (FrozenDict, FrozenList):
    for _name in _CHANGES:
        if hasattr(_kind, _name):
            setattr(_kind, _name, _refuse)


def frozen(document: Any) -> Any:
    """The document with dictionaries and lists that cannot be changed, at every depth.

    pandas copies attrs deeply whenever a column is selected; a copy of a frozen document is the
    document itself.  It equals the plain one, prints like it, and is pickled as it.
    """
    return _frozen(document, {})


def _frozen(document: Any, known: dict[int, Any]) -> Any:
    """A part of a document; known : its parts by identity, because hostile ones repeat."""
    if not isinstance(document, dict | list) or isinstance(document, FrozenDict | FrozenList):
        return document
    if id(document) not in known:
        if isinstance(document, dict):
            part: Any = FrozenDict({key: _frozen(each, known) for key, each in document.items()})
        else:
            part = FrozenList([_frozen(each, known) for each in document])
        known[id(document)] = part
    return known[id(document)]
