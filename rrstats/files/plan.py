"""Plans: files with the design of each column; and category words with types.

A plan is the document of `mechanisms.records`, as JSON or TOML, or that of a `FramePlan`.  A
plan written by hand may hold plain category words and ``epsilon`` instead of ``prob``, and may omit
the policies, which are then unknown = "raise" and missing = "unknown", the policy for unknown ones:

    v = 1

    [[columns]]
    name = "answer"
    mechanism = { type = "KRR", categories = ["never", "once", "often"], epsilon = 1.5 }
    unknown = "uniform"

The same document records how reports were made, in a file beside them or on their statement; there
it may also record that noise was simulated.

`cast_words` casts words of a command line to the type of the column, exactly: a word that the type
cannot hold as it is written is refused, never rounded or trimmed.
"""

from __future__ import annotations

import datetime
import math
import os
import re
import tomllib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from rrstats._checks import check_distinct, check_ending
from rrstats._typing import FilePath
from rrstats.data.declared import WHOLE
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.files.atomic import named
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.documents import OLD_POLICY, POLICIES, parse_json
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.records import KEY, ColumnRecord, frame_plan, read, write

NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def check_one_sample(column: Hashable, mechanism: Mechanism) -> None:
    """Raise ArgumentValueError for a mechanism of several samples."""
    if mechanism.groups is not None:
        raise ArgumentValueError(
            f"the mechanism of column {column!r} has the samples {list(mechanism.groups)}, which "
            "files do not support yet; read the columns into a DataFrame and use group= there"
        )


# -- what is asked for ---------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRequest:
    """A column to privatize, with its mechanism and policies, and the plan of the frame, if any."""

    name: Any
    mechanism: Mechanism
    unknown: str
    missing: str
    plan: FramePlan | None = None


def wanted_columns(columns: Any, unknown: str, missing: str) -> list[ColumnRequest]:
    """The requests in a mapping or a plan; a list of requests is returned as it is."""
    if isinstance(columns, list) and columns and isinstance(columns[0], ColumnRequest):
        return columns
    if isinstance(columns, FramePlan):
        return [
            ColumnRequest(name, mechanism, unknown, missing, columns)
            for name, mechanism in columns.mechanisms.items()
        ]
    if isinstance(columns, Mapping) and not _is_plan(columns) and {*columns} != {"v", "columns"}:
        requests = [
            ColumnRequest(name, as_mechanism(design), unknown, missing)
            for name, design in columns.items()
        ]
    elif not is_document(columns):
        raise ArgumentTypeError(
            "columns must be names with categories, a mapping from column to mechanism, or a plan "
            f"(a FramePlan, a path, a document or records), found {type(columns).__name__}"
        )
    elif (unknown, missing) != ("raise", "unknown"):
        raise ArgumentTypeError(
            "unknown and missing must not be given with a plan, which sets them for each column"
        )
    else:
        records = list(map(_followed, read_document(columns)))
        plan = frame_plan(records)
        requests = [
            ColumnRequest(record.name, record.resolve(), record.unknown, record.missing, plan)
            for record in records
        ]
    check_distinct([request.name for request in requests], "columns")
    for request in requests:
        if request.plan is None:
            check_one_sample(request.name, request.mechanism)
    return requests


# -- documents -----------------------------------------------------------------------------


def is_document(candidate: object) -> bool:
    """True for records, a FramePlan, a document or a path: see `read_document`.

    A mapping of texts is none: it is a codebook, from code to label.
    """
    if isinstance(candidate, Mapping) and candidate:
        return not all(isinstance(value, str) for value in candidate.values())
    if isinstance(candidate, list):
        return bool(candidate) and all(isinstance(item, ColumnRecord) for item in candidate)
    return isinstance(candidate, ColumnRecord | FramePlan | Mapping | str | os.PathLike)


def read_plan(path: FilePath) -> list[ColumnRecord]:
    """The columns that a plan file describes, each with its complete mechanism.

    path : a .json or .toml file.
    Raises ArgumentValueError for another ending, FileError for a file that cannot be read, and
    MetadataError, which names file, column and key, for a plan that cannot be used.
    """
    with _reading(path):
        return [
            replace(_followed(record), mechanism=record.resolve().to_dict())
            for record in _described(_parsed(Path(path)))
        ]


def read_document(document: Any) -> list[ColumnRecord]:
    """Read how reports were made, from a document in any form.

    document : a ColumnRecord, a list of them, a FramePlan, a document (a dict), or a .json or .toml
        path.
    Raises the errors of `read_plan`.
    """
    if isinstance(document, list):
        return document
    if isinstance(document, ColumnRecord):
        return [document]
    if isinstance(document, FramePlan):
        return _described(document.to_dict())
    if isinstance(document, Mapping):
        return _described(document)
    with _reading(document):
        return _described(_parsed(Path(document)))


@contextmanager
def _reading(path: FilePath) -> Iterator[None]:
    """Add the file's name to errors."""
    try:
        yield
    except MetadataError as error:
        raise MetadataError(f"the document {path} cannot be used: {error}") from None


def _parsed(path: Path) -> Any:
    """Contents of a document's file."""
    readers: dict[str, Callable[[str], Any]] = {".json": parse_json, ".toml": tomllib.loads}
    hint = "one column is given with its categories, as in 'health', categories, epsilon=1"
    check_ending(path, "a plan", readers, hint=hint)
    with named(f"cannot read {path}"):
        text = path.read_bytes()
    try:
        return _tagged(readers[path.suffix.lower()](text.decode("utf-8-sig")))
    except MetadataError:
        raise
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise MetadataError(f"it is not {path.suffix[1:].upper()}: {why}") from None


def _described(document: Any) -> list[ColumnRecord]:
    """The columns of a document; raises if there is none."""
    if isinstance(document, Mapping) and _is_plan(document):
        own_policies = {key: document[key] for key in POLICIES if key in document}
        plan = FramePlan.from_dict(
            {key: value for key, value in document.items() if key not in own_policies}
        )
        facts: dict[str, Any] = {**own_policies, "plan": plan.recorded}
        document = write(
            [
                ColumnRecord(name, mechanism.to_dict(), **facts)
                for name, mechanism in plan.mechanisms.items()
            ]
        )
    if isinstance(document, Mapping) and "v" not in document:
        raise MetadataError('it has no version; add v = 1 at the beginning (in JSON "v": 1)')
    records = read({KEY: document})
    if not records:
        raise MetadataError("it must describe at least one column")
    return records


def _tagged(value: Any) -> Any:
    """Replace TOML's dates by the document's form of dates."""
    if isinstance(value, dict):
        return {key: _tagged(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tagged(item) for item in value]
    return {"date": value.isoformat()} if isinstance(value, datetime.date) else value


def _is_plan(document: Mapping[Any, Any]) -> bool:
    """True for the document of `FramePlan.to_dict`."""
    kind = document.get("type")
    return isinstance(kind, str) and kind == FramePlan.__name__


def _followed(record: ColumnRecord) -> ColumnRecord:
    """The record as a plan; raises if it records how noise was drawn, which a plan cannot choose.

    Old plans may have unknown="warn", which replaces answers as "uniform" does.
    """
    if record.simulated or record.keyed:
        raise MetadataError(
            f"{'simulated' if record.simulated else 'keyed'!r} of column {record.name!r} is true, "
            "which a plan cannot set, because it records how noise was drawn; leave it out"
        )
    return replace(record, unknown="uniform") if record.unknown == OLD_POLICY else record


# -- words ---------------------------------------------------------------------------------


def cast_words(
    words: Sequence[str | None], type: pa.DataType, column: str | None = None
) -> list[Hashable]:
    """Category words as values of a column's type; None, for a missing answer, stays.

    words : the categories as typed.  type : the column's Arrow type; for a dictionary, the type
        of its values counts.  column : its name, for errors.
    Text stays as it is; whole numbers are plain decimals such as -5; decimals take the value
    that the column would hold; booleans are true and false; dates are YYYY-MM-DD.
    Raises ArgumentValueError for a word that is not a value of the type, ArgumentTypeError for
    a type whose values cannot be written as words.

    >>> cast_words(["1", "5", None], pa.int8())
    [1, 5, None]
    >>> cast_words(["true", "false"], pa.bool_())
    [True, False]
    """
    value_type = type.value_type if pa.types.is_dictionary(type) else type
    rule = next((rule for holds, rule in _RULES if holds(value_type)), None)
    if rule is None:
        raise ArgumentTypeError(
            f"column {column!r} has the type {type}, whose categories cannot be given as words; "
            "words can be text, whole numbers, decimals, true and false, and dates"
        )
    values: list[Hashable] = []
    for word in words:
        value = None if word is None else _cast(word, value_type)
        if word is not None and value is None:
            raise ArgumentValueError(
                f"the category {word!r} is not a value of column {column!r}, which has the type "
                f"{type}: it must be {rule}"
            )
        values.append(value)
    return values


def _is_text(type: pa.DataType) -> bool:
    return str(type) in ("string", "large_string", "string_view")


_RULES: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (_is_text, "text"),
    (pa.types.is_boolean, "true or false"),
    (pa.types.is_integer, "a whole number in its range, written plainly, such as 5 or -5"),
    (pa.types.is_floating, "a number that it can hold, such as 2 or 0.5"),
    (pa.types.is_date, "a date such as 2026-01-31"),
]


def _cast(word: str, type: pa.DataType) -> Hashable:
    """The value of a word in a type; None if the type cannot hold it as it is written."""
    if _is_text(type):
        return word
    try:
        value = pa.array([word], pa.string()).cast(type)[0].as_py()
    except (pa.ArrowException, ValueError):
        return None
    if pa.types.is_boolean(type):
        exact = word.lower() in ("true", "false")
    elif pa.types.is_floating(type) and math.isfinite(value):
        # A whole number that the type would round, such as 16777217 as float, is refused.
        exact = bool(NUMBER.fullmatch(word)) and not (WHOLE.fullmatch(word) and int(word) != value)
    elif pa.types.is_floating(type):
        exact = word in ("inf", "-inf")
    else:
        exact = str(value) == word
    return value if exact else None
