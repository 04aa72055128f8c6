"""JSON documents of mechanisms; only this module translates their stored words.

They are read strictly and written as plain JSON by ``to_dict`` of a mechanism.  Unknown keys are
refused, not ignored, since they may change the design.  `documents` reads their text.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rrstats._checks import check_instance, cut, type_name
from rrstats._typing import JsonObject
from rrstats.data.category_json import categories_from_json
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
)
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign, from_json
from rrstats.mechanisms.number_design import NumberDesign
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.survey_design import SurveyDesign
from rrstats.mechanisms.unary import Rappor, UnaryEncoding

_TYPES: dict[str, Callable[..., Mechanism]] = {
    "Chain": Chain,
    "KRR": KRR,
    "MatrixDesign": MatrixDesign,
    "NumberDesign": NumberDesign,
    "OptimizedUnary": UnaryEncoding.optimized,
    "Rappor": Rappor,
    "Samples": Samples.from_parts,
    "SubsetSelection": SubsetSelection,
    "SurveyDesign": SurveyDesign.from_parameters,
    "SymmetricUnary": UnaryEncoding.symmetric,
    "UnaryEncoding": UnaryEncoding,
}
"""The callables that read documents, by type; a document's keys are their arguments."""

_DECODERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("categories", "groups", "reports"), categories_from_json),
    **dict.fromkeys(("inverse", "matrix", "parameters"), from_json),
    **dict.fromkeys(("first", "second"), lambda document: from_dict(document)),
    "parts": lambda document: [
        from_dict(part) for part in check_instance(document, "parts", list, "a list")
    ],
    "shows": lambda document: None if document is None else categories_from_json(document),
    "yes": lambda document: categories_from_json([document])[0],
}
"""Readers of a key's value; values of other keys are plain numbers and words."""


@functools.cache
def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of what reads a type of document."""
    return inspect.signature(_TYPES[name]).parameters


def _arguments(name: str, document: JsonObject) -> JsonObject:
    """The arguments in a document; an unknown key may change the design, so it raises."""
    parameters = _parameters(name)
    arguments = {key: value for key, value in document.items() if key != "type"}
    unknown = [key for key in arguments if key not in parameters]
    if unknown:
        raise MetadataError(
            f"the description of a {name} has unknown keys {cut(unknown)}; "
            f"known are {list(parameters)}; a newer rrstats may know them"
        )
    empty = inspect.Parameter.empty
    required = [parameter.name for parameter in parameters.values() if parameter.default is empty]
    missing = [key for key in required if key not in arguments]
    if missing:
        raise MetadataError(f"the description of a {name} needs {missing}")
    return {
        key: _DECODERS[key](value) if key in _DECODERS else value
        for key, value in arguments.items()
    }


def from_dict(document: JsonObject) -> Mechanism:
    """Return the mechanism that ``to_dict`` described.

    Parameters
    ----------
    document : dict
        The description, with its ``type``.

    Returns
    -------
    Mechanism

    Raises
    ------
    MetadataError
        If the document names no mechanism of this version, or its parameters are impossible.

    Examples
    --------
    >>> from_dict({"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}).k
    2
    """
    if not isinstance(document, dict):
        raise MetadataError(
            f"the description of a mechanism must be a dict, found {type_name(document)}"
        )
    name = document.get("type")
    if not isinstance(name, str) or name not in _TYPES:
        hint = "a newer rrstats may know it"
        if name in surveys.__all__:
            hint = f'write {{"type": "SurveyDesign", "design": "{name}", ...}}'
        raise MetadataError(
            f"a mechanism's type must be one of {sorted(_TYPES)}, found {cut(name)}; {hint}"
        )
    try:
        return _TYPES[name](**_arguments(name, document))
    except MetadataError:
        raise
    except RecursionError:
        raise MetadataError(f"the description of a {name} is nested too deeply") from None
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise MetadataError(f"the description of a {name} cannot be used: {error}") from error


def walk(description: JsonObject) -> Iterable[JsonObject]:
    """The description of a mechanism and those of all mechanisms inside it."""
    yield description
    for key, value in description.items():
        # The mechanisms of several samples are a list; other lists hold labels and numbers.
        for part in value if key == "parts" and isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from walk(part)


def describe_difference(description: JsonObject, recorded: JsonObject) -> str:
    """The parts in which a described mechanism differs from the recorded one, in words."""
    if description.get("type") != recorded.get("type"):
        return f"{description.get('type', 'no JSON form')} instead of {recorded.get('type')}"
    differences = []
    for key in {**recorded, **description}:
        new = description.get(key)
        old = recorded.get(key)
        if new == old:
            continue
        if not isinstance(new, dict | list) and not isinstance(old, dict | list):
            differences.append(f"{key} {str(new)[:40]} instead of {str(old)[:40]}")
        elif sorted(map(repr, new or ())) == sorted(map(repr, old or ())):
            differences.append(f"the order of the {key}")
        else:
            differences.append(f"other {key}")
    return ", ".join(differences) or "other labels"
