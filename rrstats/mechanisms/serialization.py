"""Mechanisms from the documents that ``to_dict`` wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rrstats._checks import check_instance, cut, type_name
from rrstats.data.categories import categories_from_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign, from_json
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import Rappor, UnaryEncoding

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
    **dict.fromkeys(("categories", "groups", "reports"), categories_from_json),
    **dict.fromkeys(("inverse", "matrix", "parameters"), from_json),
    **dict.fromkeys(("first", "second"), lambda document: from_dict(document)),
    "parts": lambda document: [
        from_dict(part) for part in check_instance(document, "parts", list, "a list")
    ],
    "shows": lambda document: None if document is None else categories_from_json(document),
    "yes": lambda document: categories_from_json([document])[0],
}
"""Readers of the values of keys; other values are plain numbers and words."""


def _arguments(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The arguments in a document; a key that is not known may change the design, so it raises."""
    known = inspect.signature(_TYPES[name]).parameters
    given = {key: value for key, value in document.items() if key != "type"}
    if unknown := [key for key in given if key not in known]:
        raise MetadataError(
            f"the description of a {name} has unknown keys {cut(unknown)}; "
            f"known are {list(known)}; a newer rrstats may know them"
        )
    needed = [one.name for one in known.values() if one.default is inspect.Parameter.empty]
    if missing := [key for key in needed if key not in given]:
        raise MetadataError(f"the description of a {name} needs {missing}")
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
