"""Mechanisms from the documents that ``to_dict`` wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from rrstats._checks import check_instance
from rrstats.data.categories import categories_from_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign, from_json
from rrstats.mechanisms.rappor import Rappor
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import UnaryEncoding

_TYPES: dict[str, Callable[..., Mechanism]] = {
    "Chain": Chain,
    "KRR": KRR,
    "MatrixDesign": MatrixDesign,
    "OptimizedUnary": UnaryEncoding.optimized,
    "Rappor": Rappor,
    "Samples": Samples.from_parts,
    "SubsetSelection": SubsetSelection,
    "SurveyDesign": surveys.SurveyDesign.from_parameters,
    "SymmetricUnary": UnaryEncoding.symmetric,
    "UnaryEncoding": UnaryEncoding,
}
"""The callables that read documents, by type: the keys are the arguments."""


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "categories": categories_from_json,
    "first": lambda document: from_dict(document),
    "groups": categories_from_json,
    "inverse": from_json,
    "matrix": from_json,
    "parameters": from_json,
    "parts": lambda document: [
        from_dict(part) for part in check_instance(document, "parts", list, "a list")
    ],
    "reports": categories_from_json,
    "second": lambda document: from_dict(document),
    "shows": lambda document: None if document is None else categories_from_json(document),
    "yes": lambda document: categories_from_json([document])[0],
}
"""Readers of the values of keys; other values are plain numbers and words."""


@cache
def _keys(name: str) -> tuple[list[str], list[str]]:
    """The keys that a document of this type needs, and those that it may have besides."""
    arguments = inspect.signature(_TYPES[name]).parameters.values()
    needed = [one.name for one in arguments if one.default is inspect.Parameter.empty]
    return needed, [one.name for one in arguments if one.name not in needed]


def _arguments(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The arguments in a document; a key that is not known may change the design, so it raises."""
    needed, allowed = _keys(name)
    missing = [key for key in needed if key not in document]
    if missing:
        raise MetadataError(f"the description of a {name} needs {missing}")
    unknown = [key for key in document if key not in {"type", *needed, *allowed}]
    if unknown:
        raise MetadataError(
            f"the description of a {name} has unknown keys {unknown}; "
            f"known are {[*needed, *allowed]}; a newer rrstats may know them"
        )
    given = {key: value for key, value in document.items() if key != "type"}
    return {key: _DECODERS[key](v) if key in _DECODERS else v for key, v in given.items()}


def from_dict(document: dict[str, Any]) -> Mechanism:
    """The mechanism that a ``to_dict`` described.

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
        For a document that names no mechanism of this version, or one whose parameters are not
        possible.

    Examples
    --------
    >>> from_dict({"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}).k
    2
    """
    if not isinstance(document, dict):
        raise MetadataError(
            f"the description of a mechanism must be a dict, found {type(document).__name__}"
        )
    name = document.get("type")
    described = sorted(_TYPES)
    if isinstance(name, str) and name in surveys.__all__:
        raise MetadataError(
            f"a mechanism's type must be one of {described}, and {name!r} is a survey design: "
            f'write {{"type": "SurveyDesign", "design": "{name}", ...}}'
        )
    if name not in described:
        raise MetadataError(
            f"a mechanism's type must be one of {described}, found {name!r}; "
            "a newer rrstats may know it"
        )
    try:
        return _TYPES[name](**_arguments(name, document))
    except MetadataError:
        raise
    except RecursionError:
        raise MetadataError(f"the description of a {name} is nested too deeply") from None
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise MetadataError(f"the description of a {name} cannot be used: {error}") from error
