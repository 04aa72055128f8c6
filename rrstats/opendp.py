"""OpenDP's JSON of randomized response, read and written; OpenDP itself is not needed.

OpenDP writes a measurement as the call that makes it (``dp.serialize``, read by
``dp.deserialize``):

    {"__function__": "make_randomized_response", "__module__": "measurements",
     "__kwargs__": {"categories": ["a", "b"], "prob": 0.75, "T": "String"}, "__version__": "0.16.0"}

Both follow the same law: the truth with ``prob``, each other category with (1 - prob) / (k - 1),
and uniform over all k for a value that is none of them.  `to_json` serves every mechanism with that
law, whatever it is called; what OpenDP has no words for is refused.  The order of categories, which
OpenDP does not mind, is kept.
The epsilon that OpenDP computes is not below ours, but for the double nearest to 1/k: there it
says 0, and ours is the tiny one that the double has.
Format and limits: OpenDP 0.16 (tried); its constructors `make_randomized_response` and
`make_randomized_response_bool`.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any, cast

from rrstats.data.columns import codec_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import MultinomialChannel
from rrstats.mechanisms.krr import KRR

__all__ = ["from_json", "to_json"]

FUNCTION, MODULE, KWARGS, VERSION = "__function__", "__module__", "__kwargs__", "__version__"
CATEGORICAL, BOOLEAN = "make_randomized_response", "make_randomized_response_bool"

INTEGERS = {
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
    "usize": (0, 2**64 - 1),
}
"""OpenDP's integer types of categories; `to_json` takes the first of i64 and u64 that holds all.

A type that holds the categories only would be one in which other answers cannot be asked for:
OpenDP raises for them, and quotes them, where it should answer at random.
"""


# -- writing -------------------------------------------------------------------------------


def to_json(mechanism: Mechanism, *, version: str = "0.16.0") -> str:
    """A mechanism as the JSON from which OpenDP makes a measurement of the same law.

    mechanism : k-ary randomized response, or any other mechanism with its law.
    version : the version of OpenDP that is to be named; another OpenDP than that warns.
    Returns text for ``opendp.prelude.deserialize``.
    Raises ArgumentValueError where OpenDP has no such measurement: another law, a prob that is
    no double, categories that are not all text, all whole numbers (64 bits), or True and False.

    >>> import rrstats as rr
    >>> text = to_json(rr.KRR(["never", "once", "often"], 0.75))
    >>> from_json(text)
    KRR(['never', 'once', 'often'], prob=0.75)  # epsilon 1.792 per report
    """
    if not is_mechanism(mechanism):
        raise ArgumentTypeError(f"mechanism must be one, found {type(mechanism).__name__}")
    alike = _as_krr(mechanism)
    called: dict[str, Any] = {
        "categories": list(alike.categories),
        "prob": alike.prob,
        "T": _type_of(alike.categories),
    }
    return json.dumps(
        {FUNCTION: CATEGORICAL, MODULE: "measurements", KWARGS: called, VERSION: version},
        allow_nan=False,
    )


def _as_krr(mechanism: Mechanism) -> KRR:
    """The k-ary randomized response with the mechanism's law; raises where there is none."""
    channel, alike = mechanism.channel, None
    has_categories = (
        mechanism.groups is None
        and codec_of(mechanism.report_space).is_label
        and mechanism.report_space == mechanism.domain
    )
    worst = channel.max_likelihood_ratio
    if has_categories and isinstance(worst, Fraction):
        # prob (k - 1) / (1 - prob); below 1/k, as the double nearest to it may be, inverted.
        for ratio in (worst, 1 / worst):
            try:
                candidate = KRR(mechanism.categories, float(ratio / (ratio + mechanism.k - 1)))
            except ArgumentValueError:  # below 1/k
                continue
            law = candidate.channel
            if law == channel or law.entries == cast(MultinomialChannel, channel).entries:
                alike = candidate
    if alike is None:
        raise ArgumentValueError(
            "OpenDP's make_randomized_response gives the truth with a prob that is a double, at "
            "least 1/k and below 1, and each other category equally likely; found a mechanism of "
            f"another law: {type(mechanism).__name__} over {mechanism.k} categories"
        )
    return alike


def _type_of(categories: Iterable[Hashable]) -> str:
    """OpenDP's name of the categories' type."""
    listed = list(categories)
    kinds = {type(category) for category in listed}
    if kinds == {bool}:
        return "bool"
    if kinds == {str}:
        _check_text(listed)
        return "String"
    if kinds == {int}:
        for name in ("i64", "u64"):
            low, high = INTEGERS[name]
            if all(low <= category <= high for category in listed):  # type: ignore[operator]  # int
                return name
        raise ArgumentValueError("OpenDP's categories must be whole numbers of 64 bits")
    if type(None) in kinds:
        raise ArgumentValueError(
            "OpenDP has no missing category; a missing answer must be a word or a number there"
        )
    found = sorted(kind.__name__ for kind in kinds)
    raise ArgumentValueError(
        "OpenDP's categories must be all text, all whole numbers, or True and False, found "
        f"{' and '.join(found)}"
    )


def _check_text(listed: Iterable[Any]) -> None:
    for text in listed:
        if "\0" in text or not _is_utf8(text):
            raise ArgumentValueError(
                f"OpenDP cuts text at a zero byte and needs valid Unicode, found {text!r}"
            )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- reading -------------------------------------------------------------------------------


def from_json(text: str | bytes) -> KRR:
    """The mechanism of a measurement that OpenDP wrote with ``dp.serialize``.

    text : JSON of `make_randomized_response` or `make_randomized_response_bool`; nothing is
        imported and nothing called.
    Of the second the categories are [False, True].  Whether OpenDP flips its coin in constant
    time is no part of the law and passed over.
    Raises ArgumentValueError for anything else, such as a chain of measurements, and where what
    it says is no k-ary randomized response (a prob of 1, a category twice).

    >>> from_json('{"__function__": "make_randomized_response_bool", "__module__": "measurements",'
    ...     ' "__kwargs__": {"prob": 0.75, "constant_time": false}, "__version__": "0.16.0"}')
    KRR([False, True], prob=0.75)  # epsilon 1.099 per report
    """
    if not isinstance(text, str | bytes):
        raise ArgumentTypeError(
            "text must be what opendp.prelude.serialize(measurement) gives, found "
            f"{type(text).__name__}"
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ArgumentValueError("text is not JSON, or nested too deeply") from None
    function, called = _call(document)
    prob = called.get("prob")
    if type(prob) not in (int, float):
        raise ArgumentValueError(f"prob of {function} must be a number")
    if function == BOOLEAN:
        _check_names(function, called, {"prob", "constant_time"})
        return KRR([False, True], prob)
    _check_names(function, called, {"prob", "categories", "T"})
    return KRR(_categories(called), prob)


def _call(document: Any) -> tuple[str, dict[str, Any]]:
    """The function that is to be called, and its arguments."""
    if not isinstance(document, dict) or FUNCTION not in document:
        raise ArgumentValueError(
            f"text holds no measurement of OpenDP: it needs {FUNCTION!r}, as "
            "opendp.prelude.serialize writes it"
        )
    function, module = document[FUNCTION], document.get(MODULE)
    if function not in (CATEGORICAL, BOOLEAN) or module != "measurements":
        found = function if isinstance(function, str) else type(function).__name__
        raise ArgumentValueError(
            f"text must be of OpenDP's {CATEGORICAL} or {BOOLEAN}, found {found!r}; of a chain "
            "serialize the measurement in it"
        )
    _check_names("text", document, {FUNCTION, MODULE, KWARGS, VERSION})
    called = document.get(KWARGS)
    if not isinstance(called, dict):
        raise ArgumentValueError(f"{KWARGS!r} of {function} must be an object")
    return function, called


def _check_names(where: str, found: dict[str, Any], known: set[str]) -> None:
    if strange := sorted(set(found) - known):
        raise ArgumentValueError(f"{where} has {strange[0]!r}, which this rrstats does not know")


def _categories(called: dict[str, Any]) -> list[Any]:
    """The categories, if they are of the type that is named."""
    listed = called.get("categories")
    if isinstance(listed, dict) and set(listed) == {"__tuple__"}:
        listed = listed["__tuple__"]
    if not isinstance(listed, list) or not listed:
        raise ArgumentValueError(f"categories of {CATEGORICAL} must be a list")
    _type_of(listed)  # raises where they are not of one type that OpenDP has
    named = called.get("T")
    kinds = {"bool": bool, "String": str} | dict.fromkeys(INTEGERS, int)
    limits = INTEGERS.get(named) if isinstance(named, str) else None
    if named is None:
        return listed
    if (
        not isinstance(named, str)
        or type(listed[0]) is not kinds.get(named)
        or (limits and not all(limits[0] <= item <= limits[1] for item in listed))
    ):
        raise ArgumentValueError(f"categories do not fit their type T, {named!r}")
    return listed
