"""Categories in JSON documents, and their fingerprint.

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
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from rrstats.errors import ArgumentValueError, MetadataError


def categories_to_json(categories: Iterable[Hashable]) -> list[Any]:
    """Write categories as a list of tagged JSON values.

    Parameters
    ----------
    categories : iterable of hashables, or codebook
        Categories, or names of columns.  Those of a codebook have their ``label`` beside the tag.

    Returns
    -------
    list of dict

    Raises
    ------
    ArgumentValueError
        A category is of a type that has no tag.

    Examples
    --------
    >>> categories_to_json(["never", 1, None])
    [{'str': 'never'}, {'int': 1}, {'missing': True}]
    """
    tagged: list[Any] = []
    for category in categories:
        if isinstance(category, np.number | np.bool_ | np.str_ | np.bytes_):
            category = category.item()  # as in the name of a column of integers
        kind = type(category)
        tag = kind.__name__
        value: Any = category
        if category is None:
            tag = "missing"
            value = True
        elif kind is bytes:
            value = value.hex()
        elif kind is tuple:
            value = categories_to_json(value)
        elif kind is datetime.date:
            value = value.isoformat()
        elif kind is float and math.isinf(value):
            value = "inf" if value > 0 else "-inf"
        elif kind not in (bool, int, float, str) or value != value:
            raise ArgumentValueError(  # NaN is no JSON
                f"labels of type {tag} have no JSON form; the types that do are bool, int, float, "
                "str, date, bytes, tuple and a missing value"
            )
        tagged.append({tag: value})
    if isinstance(categories, Mapping):
        pairs = zip(tagged, categories.values(), strict=True)
        return [item | {"label": label} for item, label in pairs]
    return tagged


def categories_from_json(document: Iterable[Any]) -> Any:
    """Read the categories that `categories_to_json` described.

    Parameters
    ----------
    document : list
        Tagged JSON values, or bare ones.

    Returns
    -------
    list of hashables, or the codebook as a dict

    Raises
    ------
    MetadataError
        Anything else.

    Examples
    --------
    >>> categories_from_json([{"str": "never"}, {"int": 1}, "by hand"])
    ['never', 1, 'by hand']
    """
    if isinstance(document, range):  # numbers in the place of labels that are not known
        return document
    if isinstance(document, str | dict) or not isinstance(document, Iterable):
        raise MetadataError("categories in a document must be a list")
    items = list(document)
    if not all(isinstance(item, dict) and "label" in item for item in items):
        return [_from_json(item) for item in items]
    labels = [item["label"] for item in items]
    bare = [{tag: item[tag] for tag in item if tag != "label"} for item in items]
    codebook = dict(zip(map(_from_json, bare), labels, strict=True))
    if len(codebook) < len(items):
        raise MetadataError("a codebook in a document has a category twice")
    return codebook


def _float_from_json(value: Any) -> float:
    """A float from a JSON number, or from "inf" or "-inf"; NaN is not a category."""
    is_number = type(value) in (int, float)
    is_valid = math.isfinite(value) if is_number else value in ("inf", "-inf")
    if not is_valid:  # Infinity, or 1e999, is no number of JSON
        raise ValueError
    return float(value)


_READERS: dict[str, Callable[[Any], Hashable]] = {
    "float": _float_from_json,
    "bytes": bytes.fromhex,
    "date": datetime.date.fromisoformat,
    "tuple": lambda parts: tuple(categories_from_json(parts)),
    "missing": lambda value: {True: None}[value is True],
}
"""Readers of tagged values that JSON itself does not have."""


def _from_json(item: Any) -> Hashable:
    """One category from its tagged or bare JSON value."""
    try:
        if item is None or type(item) in (bool, int, str):
            bare: Hashable = item  # untagged, written by hand
            return bare
        ((tag, value),) = [("float", item)] if type(item) is float else item.items()
        if tag in ("bool", "int", "str") and type(value).__name__ == tag:
            plain: Hashable = value
            return plain
        return _READERS[tag](value)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise MetadataError(
            "a category in a document must be a JSON value or one tag with a value, "
            'such as {"str": "never"}'
        ) from None


def categories_digest(document: Iterable[Any]) -> str:
    """Fingerprint of declared categories (public), where the list itself is too long.

    Parameters
    ----------
    document : iterable of dict
        The result of `categories_to_json`.

    Returns
    -------
    str
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
