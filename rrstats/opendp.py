"""Read and write OpenDP's JSON of randomized response, without OpenDP itself.

OpenDP writes a measurement as the call that creates it (``dp.serialize``, read by
``dp.deserialize``):

    {"__function__": "make_randomized_response", "__module__": "measurements",
     "__kwargs__": {"categories": ["a", "b"], "prob": 0.75, "T": "String"}, "__version__": "0.16.0"}

Both packages have the same distribution: the true category with ``prob``, each other category with
(1 - prob) / (k - 1), and the uniform distribution over all k for a value outside the categories.
`to_json` accepts every mechanism with that distribution, whatever its type; mechanisms that OpenDP
does not have are refused.  The order of the categories is kept; OpenDP ignores it.
OpenDP's epsilon is at least ours, except for the double nearest to 1/k: there OpenDP gives 0, and
ours is the tiny exact epsilon of that double.
Format and limits: OpenDP 0.16 (tested); its constructors `make_randomized_response` and
`make_randomized_response_bool`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, cast

from rrstats._checks import check_instance, check_number
from rrstats._names import checked_keywords, missing_attribute
from rrstats.data.categories import is_unicode
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import MultinomialChannel
from rrstats.mechanisms.krr import KRR

__all__ = ["from_json", "to_json"]

FUNCTION = "__function__"
MODULE = "__module__"
KWARGS = "__kwargs__"
VERSION = "__version__"
CATEGORICAL = "make_randomized_response"
BOOLEAN = "make_randomized_response_bool"


@checked_keywords
def to_json(mechanism: Mechanism, *, version: str = "0.16.0") -> str:
    """Write a mechanism as JSON, from which OpenDP creates a measurement with equal probabilities.

    Parameters
    ----------
    mechanism : Mechanism
        k-ary randomized response, or any other mechanism with its transition probabilities.
    version : str
        The version of OpenDP to write into the JSON; other versions of OpenDP warn.

    Returns
    -------
    str
        Text for ``opendp.prelude.deserialize``.

    Raises
    ------
    ArgumentValueError
        If OpenDP has no such measurement: for other probabilities, for a prob that is not a
        double, and unless the categories are all text, all whole numbers (64 bits), or booleans.

    Examples
    --------
    >>> import rrstats as rr
    >>> text = to_json(rr.KRR(["never", "once", "often"], 0.75))
    >>> from_json(text)
    KRR(['never', 'once', 'often'], prob=0.75)  # epsilon 1.792 per report
    """
    krr = _as_krr(check_instance(mechanism, "mechanism", Mechanism, "a mechanism"))
    codes = krr.domain.categories  # for a codebook its codes, as in the reports
    document = {
        FUNCTION: CATEGORICAL,
        MODULE: "measurements",
        KWARGS: {"categories": list(codes), "prob": krr.prob, "T": _type_of(codes)},
        VERSION: version,
    }
    return json.dumps(document, allow_nan=False)


def _as_krr(mechanism: Mechanism) -> KRR:
    """The k-ary randomized response with the same probabilities; raises if there is none."""
    channel = mechanism.channel
    k = mechanism.k
    ratios: list[Fraction] = []
    reports_categories = mechanism.groups is None and mechanism.report_space == mechanism.domain
    if reports_categories and isinstance(channel.max_likelihood_ratio, Fraction):
        # prob (k - 1) / (1 - prob); below 1/k, as the double nearest to it may be, inverted.
        ratios = [channel.max_likelihood_ratio, 1 / channel.max_likelihood_ratio]
    for ratio in ratios:
        prob = float(ratio / (ratio + k - 1))
        if 1 / k <= prob < 1:
            krr = KRR(mechanism.domain.declared, prob)
            entries = krr.channel.entries
            if krr.channel == channel or entries == cast(MultinomialChannel, channel).entries:
                return krr
    raise ArgumentValueError(
        "OpenDP's make_randomized_response needs a prob that is a double, at least 1/k and below "
        "1, and each other category equally likely; found a mechanism with other "
        f"probabilities: {type(mechanism).__name__} over {k} categories"
    )


def _type_of(categories: Sequence[Any]) -> str:
    """OpenDP's name of the categories' type; for numbers the first of i64 and u64 that holds all.

    A narrower type could not hold other answers: OpenDP would raise for them, and quote them,
    instead of giving a random report.
    """
    kinds = {type(category) for category in categories}
    if kinds == {bool}:
        return "bool"
    if kinds == {str}:
        text = "".join(categories)
        if "\0" not in text and is_unicode(text):
            return "String"
    if kinds == {int}:
        for kind, low in (("i64", -(2**63)), ("u64", 0)):
            if all(low <= number < low + 2**64 for number in categories):
                return kind
    names = sorted(kind.__name__ for kind in kinds)
    raise ArgumentValueError(
        "OpenDP's categories must be all text (valid Unicode; OpenDP cuts text at a zero byte), "
        "all whole numbers of 64 bits, or True and False, and none may be missing; found "
        f"{' and '.join(names)}"
    )


@checked_keywords
def from_json(text: str | bytes) -> KRR:
    """Read the mechanism of a measurement that OpenDP wrote with ``dp.serialize``.

    Parameters
    ----------
    text : str or bytes
        JSON of `make_randomized_response` or `make_randomized_response_bool`; no code in it is
        imported or called.

    Returns
    -------
    KRR
        For the second function the categories are [False, True]; its ``constant_time`` is ignored.

    Raises
    ------
    ArgumentValueError
        For any other text, such as a chain of measurements, and if the text does not describe a
        k-ary randomized response (a prob of 1, a repeated category).

    Examples
    --------
    >>> from_json('{"__function__": "make_randomized_response_bool", "__module__": "measurements",'
    ...     ' "__kwargs__": {"prob": 0.75, "constant_time": false}, "__version__": "0.16.0"}')
    KRR([False, True], prob=0.75)  # epsilon 1.099 per report
    """
    check_instance(text, "text", (str, bytes), "the JSON of opendp.prelude.serialize(measurement)")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or nested too deeply
        document = None
    call: dict[str, Any] = document if isinstance(document, dict) else {}
    arguments: Any = call.get(KWARGS)
    if not isinstance(arguments, dict):
        arguments = {}
    is_boolean = call.get(FUNCTION) == BOOLEAN
    categories = arguments.get("categories")
    if isinstance(categories, dict):
        categories = categories.get("__tuple__")
    is_categorical = (
        call.get(FUNCTION) == CATEGORICAL and isinstance(categories, list) and len(categories) > 0
    )
    accepted = {"prob", "constant_time"} if is_boolean else {"prob", "categories", "T"}
    strange = set(call) - {FUNCTION, MODULE, KWARGS, VERSION} | set(arguments) - accepted
    is_supported = call.get(MODULE) == "measurements" and (is_boolean or is_categorical)
    if strange or not is_supported:
        raise ArgumentValueError(
            f"text must be the JSON of OpenDP's {CATEGORICAL} or {BOOLEAN}, with the arguments "
            "that opendp.prelude.serialize writes; for a chain serialize the measurement in it"
        )
    prob = check_number(arguments.get("prob"), "prob")
    if is_boolean:
        return KRR([False, True], prob)
    _type_of(categories)
    return KRR(categories, prob)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
