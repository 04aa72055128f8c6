"""Numbers as a description keeps them: exact, and written so that nothing is lost.

A double stays a double (it is the rational number that it is); any other rational stays a
fraction.  In JSON the first is a number and the second a string such as "1/6".
Errors show no more of an argument than its author meant to say: data may stand in its place.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.channel import as_fraction

__all__ = [
    "Number",
    "check_digits",
    "found",
    "from_json",
    "listed",
    "number",
    "numbers",
    "probability",
    "to_json",
    "whole_sum",
]

Number = float | Fraction

_CLOSE = Fraction(1, 10**9)
_LONGEST = 60
_MOST_DIGITS = 6000
_MOST_BITS = 20_000
_WRITTEN = re.compile(r"-?[0-9]{1,4000}/[0-9]{1,4000}")


def found(value: Any) -> str:
    """How an error shows a label that it was given: anything but one label by its type.

    >>> found("Yes"), found(["no", "yes"])
    ("'Yes'", 'list')
    """
    one = str | bytes | bool | int | float | Fraction | datetime.date | np.generic | None
    text = repr(value) if isinstance(value, one) else type(value).__name__
    return text if len(text) <= _LONGEST else f"{type(value).__name__} of {len(text)} letters"


def listed(labels: Iterable[Any], most: int = 8) -> str:
    """Labels as a list, shortened where there are many.

    >>> listed(range(20))
    '[0, 1, 2, 3, 4, 5, ... 20 in all]'
    """
    every = [found(label) for label in labels]
    if len(every) > most:
        every = [*every[: most - 2], f"... {len(every)} in all"]
    return f"[{', '.join(every)}]"


def number(value: Any, name: str) -> Number:
    """A finite number: the double where it is one, else the fraction.

    >>> number(Fraction(3, 4), "prob"), number(Fraction(1, 3), "prob")
    (0.75, Fraction(1, 3))
    """
    if isinstance(value, float) and math.isfinite(value):
        return float(value) + 0.0  # no negative zero
    exact = as_fraction(value.item() if isinstance(value, np.generic) else value, name)
    try:
        double = float(exact)
    except OverflowError:
        raise ArgumentTypeError(
            f"{name} must be finite numbers, found one beyond the largest double"
        ) from None
    return double if Fraction(double) == exact else exact


def numbers(values: Any, name: str) -> tuple[Number, ...]:
    """A list of finite numbers."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ArgumentTypeError(f"{name} must be a list of numbers, found {type(values).__name__}")
    return tuple(number(value, name) for value in values)


def probability(value: Any, name: str, interval: str = "[0, 1]") -> Number:
    """A number in an interval, of which a bracket says whether an end belongs to it.

    Raises ArgumentValueError with the interval for any other number.

    >>> probability(0.7, "prob_statement", "(0, 1)")
    0.7
    """
    chance = number(value, name)
    low, high = (Fraction(end) for end in interval[1:-1].split(","))
    above = low <= chance if interval[0] == "[" else low < chance
    below = chance <= high if interval[-1] == "]" else chance < high
    if not (above and below):
        raise ArgumentValueError(f"{name} must be in {interval}, got {chance}")
    return chance


def check_digits(parts: Iterable[Number], name: str) -> None:
    """Raise for fractions whose sums would take long: with a very large common denominator."""
    common = 1
    for part in parts:
        common = math.lcm(common, Fraction(part).denominator)
        if common.bit_length() > _MOST_BITS:
            raise ArgumentValueError(
                f"{name} must be fractions with a common denominator of at most "
                f"{_MOST_DIGITS:,} digits; give doubles, or rounded fractions"
            )


def whole_sum(parts: Iterable[Number], what: str) -> Fraction:
    """The exact sum of probabilities, which is 1 up to rounding.

    what : says in the error what must sum to 1, by how much it does not, and which way.
    """
    parts = list(parts)
    check_digits(parts, what)
    total = sum((Fraction(part) for part in parts), Fraction(0))
    if abs(total - 1) > _CLOSE:
        off = float(abs(total - 1))
        raise ArgumentValueError(
            f"{what} must sum to 1, found {float(total):.12g}: {off:.3g} too "
            f"{'much' if total > 1 else 'little'}"
        )
    return total


def to_json(value: Any) -> Any:
    """A number, or a list of them, as JSON.

    >>> to_json([0.25, Fraction(1, 6)])
    [0.25, '1/6']
    """
    if isinstance(value, tuple | list):
        return [to_json(part) for part in value]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    return value


def from_json(value: Any) -> Any:
    """What `to_json` wrote; raises MetadataError for a string that is no fraction."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, str):
        return value
    try:
        if _WRITTEN.fullmatch(value):
            return Fraction(value)
    except ZeroDivisionError:
        pass
    raise MetadataError(
        f'a number in a document must be a number or such as "1/6", found {value!r}'
    )
