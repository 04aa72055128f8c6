"""Checks of arguments: each rule is written once, so all errors have the same form.

A check takes the argument and its name, and returns it in the form that the code works with.  It
raises ArgumentTypeError for a wrong type and ArgumentValueError for a wrong value; the message
names the argument, the rule, and what was found.  Messages may quote parameters.  They never quote
a column of answers: they count its cells and name types.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rrstats._typing import Array, Floats, NumbersByCategory
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingPackageError,
    RRStatsError,
)

MAX_CATEGORIES = 2**63

_MAX_QUOTED_LETTERS = 60
"""The longest label that errors quote; of a longer one they name the type."""

_MAX_EXACT_COUNT = 2**53
"""The largest allowed count: up to it a double holds every count exactly."""

_SUM_TOLERANCE = 1e-6
"""How far a sum of proportions may be from 1: they may be rounded to seven digits."""


_DATA_FILES = (".csv", ".tsv", ".gz", ".parquet", ".pq", ".feather", ".dta", ".sav", ".xlsx")
"""Endings of files that hold data."""


def type_name(value: object) -> str:
    """The name of a value's type, for messages."""
    return "None" if value is None else type(value).__name__


def quote(value: object) -> str:
    """A label as an error shows it: a short label in full, anything else by its type.

    >>> quote("Yes"), quote(["no", "yes"])
    ("'Yes'", 'list')
    """
    quoted_types = str | bytes | bool | int | float | Fraction | datetime.date | np.generic | None
    text = repr(value) if isinstance(value, quoted_types) else type(value).__name__
    if len(text) <= _MAX_QUOTED_LETTERS:
        return text
    return f"{type(value).__name__} of {len(text)} letters"


def cut(value: object, most: int = 200) -> str:
    """A part of a document as an error shows it; a long one is cut.

    >>> cut("x" * 1000, 5)
    "'xxxx..."
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def quote_list(labels: Iterable[object], most: int = 8) -> str:
    """Labels as a list, shortened if there are many.

    >>> quote_list(range(20))
    '[0, 1, 2, 3, 4, 5, ... 20 in all]'
    """
    every = [quote(label) for label in labels]
    if len(every) > most:
        every = [*every[: most - 2], f"... {len(every)} in all"]
    return f"[{', '.join(every)}]"


def _scalar(value: object) -> Any:
    """A NumPy scalar, or an array without axes, as Python's own number."""
    if hasattr(value, "ndim") and hasattr(value, "item") and value.ndim == 0:
        return value.item()
    return value


def check_number(
    value: object,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    ends: str = "[]",
    hint: str = "",
) -> float:
    """A real number in an interval, as a double; without an interval NaN and infinity pass.

    ends : the brackets of the interval, such as ``"[)"``.  With ``[`` or ``]`` an infinite end is
        allowed, otherwise not.  hint : text added at the end of the message.
    """
    value = _scalar(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise ArgumentTypeError(f"{name} must be a number, found {type_name(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ArgumentValueError(f"{name} is too large for a double") from None
    except ValueError:  # a signaling NaN
        number = math.nan
    if low == -math.inf and high == math.inf:
        return number
    above = number >= low if ends[0] == "[" else number > low
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        rule = _interval(low, high, ends)
        raise ArgumentValueError(f"{name} must be {rule}, got {number!r}{_next_step(hint)}")
    return number


def _next_step(hint: str) -> str:
    """A hint as the end of a message; nothing without one."""
    return f"; {hint}" if hint else ""


def _interval(low: float, high: float, ends: str) -> str:
    """An interval in words."""
    if high == math.inf:
        least = f"at least {low:g}" if ends[0] == "[" else f"above {low:g}"
        of = "of " if ends[0] == "[" else ""
        return least if ends[1] == "]" else f"a finite number {of}{least}"
    return f"in {ends[0]}{low:g}, {high:g}{ends[1]}"


def check_whole_number(
    value: object, name: str, low: int | None = None, high: int | None = None, *, hint: str = ""
) -> int:
    """A whole number between two limits, both included."""
    value = _scalar(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(f"{name} must be a whole number, found {type_name(value)}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        rule = f"at least {low}" if high is None else f"in [{low}, {high}]"
        raise ArgumentValueError(f"{name} must be {rule}, got {number}{_next_step(hint)}")
    return number


def check_count(value: object, name: str) -> int:
    """A count in [0, 2**53]: a whole number of any type, such as 5 or 5.0."""
    count = check_number(value, name)
    is_rounded = count != _scalar(value)
    if not 0 <= count <= _MAX_EXACT_COUNT or is_rounded or not count.is_integer():
        too_large = count > _MAX_EXACT_COUNT or (count == _MAX_EXACT_COUNT and is_rounded)
        rule = "at most 2**53" if too_large else "a whole number of at least 0"
        raise ArgumentValueError(f"{name} must be {rule}, found {value!r}")
    return int(count)


def check_probability(value: object, name: str, ends: str = "[]") -> float:
    """A probability as a double; ``ends`` says whether 0 and 1 are allowed."""
    return check_number(value, name, 0.0, 1.0, ends=ends, hint=_percent(value))


def _percent(value: object) -> str:
    """The fraction to write for a number that is a percentage."""
    number = _scalar(value)
    is_percent = isinstance(number, int | float) and 1 < number < 100
    return f"write {number / 100:g} for {number:g}%" if is_percent else ""


def check_level(value: object) -> float:
    """A confidence level in [0.5, 1); a smaller one was meant as an alpha."""
    number = _scalar(value)
    is_alpha = isinstance(number, float) and 0 < number < 0.5
    hint = _percent(value)
    if is_alpha:
        hint = f"it is not alpha; for alpha = {number:g} give level={1 - number:g}"
    return check_number(value, "level", 0.5, 1.0, ends="[)", hint=hint)


def check_alpha(value: object) -> float:
    """A level of significance in (0, 1)."""
    return check_probability(value, "alpha", "()")


def refuse_path(data: object, call: str) -> None:
    """Raise for a file where data belong, with the call that takes it.

    The text is not quoted: data may be one answer.
    """
    is_text = isinstance(data, str) and data.casefold().endswith(_DATA_FILES)
    if is_text or isinstance(data, PathLike):
        raise ArgumentTypeError(
            f"data must be in memory, found the path of a file ({type_name(data)}); "
            f"rr.files.{call} takes files of CSV and Parquet, and pandas reads all others"
        )


def check_one_of(value: object, name: str, options: Iterable[str]) -> Any:
    """One of the options that an argument takes."""
    listed = list(options)
    if not isinstance(value, str) or value not in listed:
        error = ArgumentValueError if isinstance(value, str) else ArgumentTypeError
        raise error(f"{name} must be one of {listed}, got {quote(value)}")
    return value


def check_bool(value: object, name: str) -> bool:
    """True or False; no other value, such as 1 or 0."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name} must be True or False, found {type_name(value)}")
    return bool(value)


def check_instance(value: Any, name: str, kind: Any, rule: str, *, hint: str = "") -> Any:
    """A value of the given types, as for isinstance; ``rule`` names them with their article."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            f"{name} must be {rule}, found {type_name(value)}{_next_step(hint)}"
        )
    return value


def check_exactly_one(**arguments: object) -> str:
    """The name of the one argument that is not None."""
    names = [name for name, value in arguments.items() if value is not None]
    if len(names) != 1:
        given_names = " and ".join(names) if names else "neither"
        raise ArgumentTypeError(f"give {' or '.join(arguments)}, found {given_names}")
    return names[0]


FROM_COUNTS = "rr.estimate(rr.Tally.from_counts({'yes': 400, 'no': 600}, mechanism))"
"""The call for counts of reports, which answers all who give them elsewhere."""


def check_left_out(why: str, **arguments: object) -> None:
    """Raise for arguments that repeat or exclude others which the call has."""
    names = [name for name, value in arguments.items() if value is not None]
    if names:
        raise ArgumentTypeError(f"{why}; leave {' and '.join(names)} out")


def check_rows(
    length: int | str, rows: int, name: str, item: str = "value", *, each: str = "rows"
) -> None:
    """Raise unless an argument is as long as the rows.

    item, each : the words of the message for an element of the argument and for the rows.
    """
    if length != rows:
        rule = f"must have one {item} for each of the {rows} {each}"
        raise ArgumentValueError(f"{name} {rule}, found {length}")


def check_distinct(names: Sequence[Hashable], name: str) -> None:
    """Raise unless there are names, each once.

    The message counts the names, because they may be answers.
    """
    if not names or len(set(names)) < len(names):
        rule = f"{name} must name at least one column, and each once"
        raise ArgumentValueError(f"{rule}, found {len(names)} names, {len(set(names))} distinct")


def check_ending(path: Path, name: str, endings: Iterable[str], *, hint: str = "") -> None:
    """Raise unless the name of a file ends in one of these, in any case."""
    listed = tuple(endings)
    if not path.name.lower().endswith(listed):
        raise ArgumentValueError(
            f"{name} must end in {' or '.join(listed)}, got {cut(str(path))}{_next_step(hint)}"
        )


@contextmanager
def needing(rule: str) -> Iterator[None]:
    """Import optional packages; without one raise `rule`, which says how to install it."""
    try:
        yield
    except ImportError:
        raise MissingPackageError(rule) from None


@contextmanager
def naming_column(
    name: Hashable,
    errors: tuple[type[RRStatsError], ...] = (ArgumentValueError, ArgumentTypeError),
) -> Iterator[None]:
    """Add the name of a column to errors of these types, about its declaration."""
    try:
        yield
    except errors as error:
        raise type(error)(f"column {quote(name)}: {error}") from None


# -- arrays of numbers that are parameters ---------------------------------------------------


def check_numbers(
    values: ArrayLike | NumbersByCategory,
    name: str,
    *,
    size: int | None = None,
    axes: int | None = 1,
    low: float = -math.inf,
    high: float = math.inf,
) -> Floats:
    """Finite numbers as an array of doubles.

    size : the length of the last axis.  axes : the number of axes, None for any.
    """
    array: Array | None = None
    doubles: Floats | None = None
    with suppress(OverflowError, TypeError, ValueError):  # their words may quote a cell
        array = np.asarray(values)
        doubles = array.astype(np.float64)
    if array is None or doubles is None:
        raise ArgumentTypeError(f"{name} must be numbers, found {type_name(values)}")
    if array.dtype.kind not in "iufO":
        raise ArgumentTypeError(f"{name} must be numbers, found {array.dtype}")
    if axes is not None and doubles.ndim != axes:
        raise ArgumentValueError(
            f"{name} must have dimension {axes} (a list has 1, a number 0), found {doubles.ndim}"
        )
    if size is not None and doubles.shape[-1] != size:
        raise ArgumentValueError(f"{name} must have {size} numbers, found {doubles.shape[-1]}")
    wrong = ~np.isfinite(doubles) | (doubles < low) | (doubles > high)
    if wrong.any():
        rule = "finite numbers"
        if low > -math.inf:
            rule += f" of at least {low:g}" if high == math.inf else f" in [{low:g}, {high:g}]"
        raise ArgumentValueError(f"{name} must be {rule}, found {int(wrong.sum())} that are not")
    return doubles


def check_proportions(values: ArrayLike | NumbersByCategory, name: str, size: int) -> Floats:
    """Probabilities of ``size`` categories, which sum to 1."""
    proportions = check_numbers(values, name, size=size, low=0.0)
    total = proportions.sum()
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ArgumentValueError(f"{name} must sum to 1, got {total:.6g}")
    return np.asarray(proportions / total)


def check_weights(values: ArrayLike, name: str, rows: int) -> Floats:
    """One weight for each row, none negative and not all 0; errors count the wrong weights."""
    weights = check_numbers(values, name, size=rows, low=0.0)
    if rows and not weights.any():
        raise ArgumentValueError(f"{name} must not all be 0")
    return weights


# -- the numbers of a design -----------------------------------------------------------------


def check_k(value: object) -> int:
    """The number of categories, at least 2."""
    return check_whole_number(value, "k, the number of categories,", 2, MAX_CATEGORIES)


_LIKELY_EPSILON = 10
"""A prob from 1 to this was perhaps meant to be an epsilon."""


def check_prob(value: object, categories: int, *, lowest: float | None = None) -> float:
    """P(report = truth) in [1/k, 1); with ``lowest``, in (lowest, 1)."""
    prob = check_number(value, "prob")
    is_high_enough = 1 / categories <= prob if lowest is None else lowest < prob
    if is_high_enough and prob < 1:
        return prob
    if prob == 1:
        why = "at 1 every report is the true answer, so there is no privacy"
    elif lowest is None and 0 < prob < 1:
        why = f"below 1/{categories} each other answer is likelier than the true answer"
    elif 1 < prob < 100:
        why = f"write {prob / 100:g} for {prob:g}%"
    else:
        why = "it is the probability that a report is the true answer"
    if lowest is None and 1 <= prob <= _LIKELY_EPSILON:
        why += f"; to set epsilon give epsilon={prob:g}"
    categories_text = f"[1/{categories}, 1) for {categories} categories"
    allowed = categories_text if lowest is None else f"({lowest:g}, 1)"
    raise ArgumentValueError(f"prob must be in {allowed}, got {prob!r}; {why}")


def check_epsilon(value: object) -> float:
    """A finite epsilon in nats, at least 0."""
    return check_number(value, "epsilon", 0.0, math.inf, ends="[)", hint="it is in nats")
