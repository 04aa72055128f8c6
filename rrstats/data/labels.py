"""Categories as plain JSON and back, with their types.

JSON cannot tell 1 from 1.0 in every reader, nor write bytes, dates, tuples or NaN, so each
category is tagged with its type: ``{"int": 1}``, ``{"str": "never"}``, ``{"date":
"2020-01-31"}``, ``{"bytes": "00ff"}``, ``{"tuple": [...]}``, ``{"missing": true}``; infinity
is the string "inf".  Documents written by hand may leave bare JSON values untagged.  Column
names are written in the same way.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from rrstats.errors import ArgumentValueError, MetadataError

__all__ = ["decode", "digest", "encode"]


def encode(categories: Iterable[Hashable]) -> list[Any]:
    """Categories as a list of tagged JSON values.

    Raises ArgumentValueError for a category of a type that has no tag.

    >>> encode(["never", 1, None])
    [{'str': 'never'}, {'int': 1}, {'missing': True}]
    """
    return [_encode_one(category) for category in categories]


def _encode_one(category: Hashable) -> dict[str, Any]:
    if isinstance(category, np.number | np.bool_ | np.str_ | np.bytes_):
        category = category.item()  # as in the name of a column of integers
    if category is None:
        return {"missing": True}
    if type(category) is bytes:
        return {"bytes": category.hex()}
    if type(category) is tuple:
        return {"tuple": encode(category)}
    if type(category) is datetime.date:
        return {"date": category.isoformat()}
    if type(category) is float and math.isinf(category):
        return {"float": "inf" if category > 0 else "-inf"}
    if type(category) in (bool, int, float, str) and category == category:  # NaN is no JSON
        return {type(category).__name__: category}
    raise ArgumentValueError(
        f"labels of type {type(category).__name__} have no JSON form; the types that do are "
        "bool, int, float, str, date, bytes, tuple and a missing value"
    )


def decode(document: Iterable[Any]) -> list[Hashable]:
    """The categories that `encode` described.

    Raises MetadataError for anything else.

    >>> decode([{"str": "never"}, {"int": 1}, "by hand"])
    ['never', 1, 'by hand']
    """
    if isinstance(document, str | dict) or not isinstance(document, Iterable):
        raise MetadataError("categories in a document must be a list")
    return [_decode_one(item) for item in document]


def _decode_one(item: Any) -> Hashable:
    try:
        if item is None or type(item) in (bool, int, str):
            plain: Hashable = item  # untagged, written by hand
            return plain
        if type(item) is float:
            return _float(item)
        ((tag, value),) = item.items()
        if tag == "missing" and value is True:
            return None
        if tag in ("bool", "int", "str") and type(value).__name__ == tag:
            tagged: Hashable = value
            return tagged
        readers: dict[str, Callable[[Any], Hashable]] = {
            "float": _float,
            "bytes": bytes.fromhex,
            "date": datetime.date.fromisoformat,
            "tuple": lambda parts: tuple(decode(parts)),
        }
        return readers[tag](value)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise MetadataError(
            "a category in a document must be a JSON value or one tag with a value, "
            'such as {"str": "never"}'
        ) from None


def _float(value: Any) -> float:
    """A float from a JSON number, or from "inf" or "-inf"; NaN is not a category."""
    if value in ("inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or value != value:
        raise ValueError
    return float(value)


def digest(document: Iterable[Any]) -> str:
    """A fingerprint of declared categories (public), where the list itself is too long.

    document : what `encode` says of them.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
