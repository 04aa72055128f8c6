"""Mechanisms from what names them: arguments, or the document that ``to_dict`` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.chain import Chain
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.rappor import Rappor
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import OptimizedUnary, SymmetricUnary, UnaryEncoding

__all__ = ["as_mechanism", "from_dict", "is_mechanism"]

_DESCRIBED: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        KRR,
        Chain,
        MatrixDesign,
        OptimizedUnary,
        Rappor,
        Samples,
        SubsetSelection,
        surveys.SurveyDesign,
        SymmetricUnary,
        UnaryEncoding,
    )
}


def is_mechanism(value: object) -> TypeGuard[Mechanism]:
    """Whether a value can stand where a mechanism is wanted.

    Asks its class for the three verbs and computes nothing: ``isinstance(value, Mechanism)``
    would evaluate ``epsilon`` and ``channel``, and would ask a Series for such labels.
    """
    kind = type(value)
    return all(callable(getattr(kind, verb, None)) for verb in ("randomize", "count", "to_dict"))


def as_mechanism(
    categories: Any, prob: float | None = None, epsilon: float | None = None
) -> Mechanism:
    """The mechanism that three arguments name: one rule for the whole package.

    categories : a mechanism (then nothing else), a mapping from sample to mechanism (the same),
        or the categories of a k-RR with ``prob`` or ``epsilon``.
    Raises ArgumentTypeError where neither or both are given, or a mechanism and more.
    """
    if isinstance(categories, Mapping):
        categories = Samples(categories)
    if is_mechanism(categories):
        if prob is not None or epsilon is not None:
            raise ArgumentTypeError(
                "a mechanism knows its prob and epsilon; give either a mechanism, or categories "
                "with prob or epsilon"
            )
        return categories
    if isinstance(categories, type):
        raise ArgumentTypeError(
            f"categories must be a list or a mechanism, found the class {categories.__name__}; "
            "create one, for example rr.KRR(['yes', 'no'], 0.75)"
        )
    return KRR(categories, prob, epsilon=epsilon)


def from_dict(document: dict[str, Any]) -> Mechanism:
    """The mechanism that a ``to_dict`` described.

    Raises MetadataError for a document that names no mechanism of this version, or one
    whose parameters are not possible.

    >>> from_dict({"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}).k
    2
    """
    if not isinstance(document, dict):
        raise MetadataError(
            f"the description of a mechanism must be a dict, found {type(document).__name__}"
        )
    name = document.get("type")
    described = sorted(_DESCRIBED)
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
        mechanism: Mechanism = _DESCRIBED[name].from_dict(document)
    except MetadataError:
        raise
    except RecursionError:
        raise MetadataError(f"the description of a {name} is nested too deeply") from None
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise MetadataError(f"the description of a {name} cannot be used: {error}") from error
    return mechanism
