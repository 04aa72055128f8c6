"""The declared categories, and the code of one answer.

Categories are declared, never inferred from data.  The code of an answer is 0 .. k-1, k for an
answer outside the categories, and k+1 for a missing one (or its category, where missing is one).
Traps handled here: ``True == 1 == 1.0``, NaN, pandas' silent conversions, hostile objects.
"""

from __future__ import annotations

import contextlib
import datetime
import numbers
import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._cached import cached_property
from rrstats._checks import check_numbers, cut
from rrstats._frozen import FrozenDict, fixed
from rrstats._typing import Floats, Indices, Labels
from rrstats.data.declared import declared_list, increase
from rrstats.errors import ArgumentTypeError, ArgumentValueError

Codes = NDArray[Any]

_MAX_LETTERS = 120
"""The longest list of categories in a call in a message: other parts must not be cut."""

_MAX_EXAMPLE = 12
"""The longest list of numbers that an error shows as an example."""

_MAX_SHOWN_LETTERS = 1600
"""The longest list of categories that is shown in full."""

_FEWEST_IN_ORDER = 4
"""The fewest categories whose order is compared with that of the data: 1 in 24 by chance."""

_KINDS = {"bool": bool, "int": int, "float": float, "str": str, "bytes": bytes}
_KINDS |= {"date": datetime.date, "duration": datetime.timedelta}
"""Kinds of categories, as far as containers distinguish them; a bool is an int, too."""


def is_missing(value: Any) -> bool:
    """Tell a missing value: None, NaN, NaT and pandas.NA are all the same.

    Parameters
    ----------
    value : object
        One value, of any type; it is never changed, and no error of its own comes out.

    Returns
    -------
    bool
    """
    try:
        return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))
    except Exception:  # an answer may be an object that raises when looked at, as sNaN does
        return type(value) is Decimal


def is_unicode(text: str) -> bool:
    r"""True for text that UTF-8 holds: no half of a surrogate pair.

    >>> is_unicode("caf\u00e9"), is_unicode("\ud800")
    (True, False)
    """
    return text.isascii() or text == text.encode(errors="ignore").decode()


def _plain(category: object) -> Hashable:
    """The Python value behind a NumPy scalar, a str or an int of another class; None if missing."""
    if is_missing(category):
        return None
    if isinstance(category, np.datetime64):
        category = pd.Timestamp(category)
    elif isinstance(category, np.timedelta64):
        category = pd.Timedelta(category)
    elif isinstance(category, np.generic):
        category = category.item()
    elif isinstance(category, str):
        category = str.__str__(category)  # not str(): an Enum's own __str__ says something else
    elif isinstance(category, int) and not isinstance(category, bool):
        category = int(category)
    try:
        hash(category)
    except Exception:
        raise ArgumentTypeError(
            f"categories must be hashable, found one of type {type(category).__name__}"
        ) from None
    return category


def _comparable(value: Any) -> Any:
    """The value in whose place Python compares and hashes: dates are midnights, as in pandas."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        to_pandas: Any = pd.Timestamp if isinstance(value, np.datetime64) else pd.Timedelta
        rounded = to_pandas(value)
        return rounded if rounded.asm8 == value else value  # finer than nanoseconds
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def _collision_key(category: Hashable) -> Hashable:
    """Categories with equal keys would be taken for one another somewhere."""
    if isinstance(category, str):
        return unicodedata.normalize("NFC", category)
    if isinstance(category, tuple):
        return tuple(_collision_key(part) for part in category)
    comparable: Hashable = _comparable(category)
    return comparable


def _distinct_places(plain: Sequence[Hashable]) -> dict[Hashable, int]:
    """The place of each category by the key that it might collide with; raises for two alike."""
    seen: dict[Hashable, int] = {}
    for place, category in enumerate(plain):
        first = seen.setdefault(_collision_key(category), place)
        if first != place:
            # Not quoted: who passes the data as categories by mistake would see answers.
            raise ArgumentValueError(
                f"categories must be distinct, but number {first + 1} "
                f"({type(plain[first]).__name__}) and number {place + 1} "
                f"({type(category).__name__}) are equal or would be confused; "
                "drop or rename one"
            )
    return seen


def _check_labels(
    plain: Sequence[Hashable], labels: Sequence[object], seen: Mapping[Hashable, int]
) -> None:
    """Raise unless each category of a codebook has a label of its own; ``seen`` are the codes."""
    example = "as in {1: 'never', 2: 'once'}"
    others = [type(label).__name__ for label in labels if not isinstance(label, str)]
    if others:
        swapped = all(isinstance(category, str) for category in plain)
        why = "codes and labels are swapped" if swapped else f"found one of type {others[0]}"
        raise ArgumentTypeError(
            f"categories in a codebook must have labels that are text, {example}; {why}"
        )
    places = dict(seen)
    for place, label in enumerate(labels):
        first = places.setdefault(_collision_key(label), place)
        if first != place:
            raise ArgumentTypeError(
                "categories in a codebook must each have a different label, that is not another "
                f"category, {example}; number {first + 1} and number {place + 1} are the same "
                "text: merge the two codes, or give them other labels"
            )


class Categories:
    """The k declared categories, in their declared order; they never depend on data.

    Parameters
    ----------
    categories : list, set or other collection; or a codebook
        At least two distinct hashable values: bool, int, float, str, bytes, date, tuple or any
        other; a missing value (None, NaN, NA: all one) may be among them.  A set is sorted.
        Values that pandas or Python would confuse (True and 1 and 1.0, 0.0 and -0.0, two
        spellings of one accented word) are refused together.  A codebook is a mapping from each
        category to its value label, which results show.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        For any other argument.

    Examples
    --------
    >>> Categories(["never", "once", "often"]).k
    3
    """

    categories: Labels
    labels: Labels
    declared: Labels | dict[Hashable, Hashable]
    """The categories as they were declared: a codebook, or a tuple."""
    k: int
    answers: int
    """The number of codes of answers: k, unless answers may lie between the categories."""
    dtype: np.dtype[Any]
    """The smallest unsigned type that holds every code, both sentinels and 2k - 2."""
    missing_code: int | None
    """The code of the missing category, if there is one."""
    absent_code: int
    """The code of a missing answer: k + 1, or that of the missing category."""

    _fewest: ClassVar[int] = 2
    """A randomized answer needs an alternative."""

    def __init__(self, categories: object) -> None:
        listed = declared_list(categories)
        is_range = isinstance(categories, range)  # of distinct whole numbers, perhaps of millions
        plain = tuple(listed) if is_range else tuple(map(_plain, listed))
        if len(plain) < self._fewest:
            raise ArgumentValueError(
                f"categories must have at least two distinct values, found {len(plain)}"
            )
        seen = {} if is_range else _distinct_places(plain)
        declared: Any = plain
        labels = plain
        if isinstance(categories, Mapping):
            labels = tuple(categories.values())
            _check_labels(plain, labels, seen)
            declared = FrozenDict(zip(plain, labels, strict=True))
        self.__dict__.update(categories=plain, labels=labels, declared=declared, k=len(plain))
        missing = None if is_range or None not in plain else plain.index(None)
        absent = self.k + 1 if missing is None else missing
        self.__dict__.update(answers=self.k, missing_code=missing, absent_code=absent)
        self.__dict__["dtype"] = np.min_scalar_type(max(2 * self.k - 1, 255))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("categories cannot be changed; declare new ones")

    @cached_property
    def kind(self) -> str:
        """The kind of all categories; "other" where there are several."""
        kinds = set()
        for category in self.categories:
            if isinstance(category, datetime.datetime) and category.tzinfo is not None:
                kinds.add("instant")
            elif category is not None:
                fitting = (kind for kind, type_ in _KINDS.items() if isinstance(category, type_))
                kinds.add(next(fitting, "other"))
        if kinds == {"int", "float"}:
            return "float"
        return kinds.pop() if len(kinds) == 1 else "other"

    @cached_property
    def order_tells(self) -> bool:
        """True where an order found in data is hardly chance: 4 categories, not in ascending order.

        Any k categories are in a given order by chance in 1 of k! cases.
        """
        return self.k >= _FEWEST_IN_ORDER and not increase(
            [category for category in self.categories if category is not None]
        )

    @cached_property
    def bool_codes(self) -> dict[bool | None, int]:
        """Codes of True and False, and of None, as which anything missing counts."""
        codes: dict[bool | None, int] = {None: self.absent_code}
        codes |= {c: i for i, c in enumerate(self.categories) if isinstance(c, bool)}
        return FrozenDict(codes)

    @cached_property
    def value_codes(self) -> dict[Any, int]:
        """Codes of all other categories, dates as midnights, and of None."""
        others = (pair for pair in enumerate(self.categories) if not isinstance(pair[1], bool))
        codes = {None: self.absent_code}
        return FrozenDict(codes | {_comparable(c): i for i, c in others if c is not None})

    @cached_property
    def objects(self) -> NDArray[np.object_]:
        """(k,) the categories as Python objects, read-only."""
        return fixed(np.fromiter(self.categories, dtype=object, count=self.k))

    @cached_property
    def places(self) -> Indices:
        """(k,) each category's place among those that are not missing; -1 for the missing one."""
        is_answer = [c is not None for c in self.categories]
        return fixed(np.where(is_answer, np.cumsum(is_answer) - 1, -1))

    @cached_property
    def integers(self) -> NDArray[np.int64] | None:
        """(k,) the categories, where all are whole numbers of 64 bits and none is missing."""
        if self.kind == "int" and self.missing_code is None:
            with contextlib.suppress(OverflowError):
                return fixed(np.array(self.categories, dtype=np.int64))
        return None

    def integer_type(self, column_type: np.dtype[Any]) -> np.dtype[Any] | None:
        """Return a column's integer type if all categories fit, else int64, uint64 or None."""
        integers = [c for c in self.categories if isinstance(c, int)]
        candidates: list[np.dtype[Any]] = [np.dtype("int64"), np.dtype("uint64")]
        if column_type.kind in "iu":
            candidates.insert(0, column_type)
        lowest = min(integers)
        highest = max(integers)
        for candidate in candidates:
            limits = np.iinfo(candidate)
            if limits.min <= lowest and highest <= limits.max:
                return candidate
        return None

    @cached_property
    def _key(self) -> tuple[tuple[str, Hashable, Hashable], ...]:
        pairs = zip(self.categories, self.labels, strict=True)
        return tuple((type(c).__name__, c, label) for c, label in pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Categories({self.describe()})"

    def __reduce__(self) -> tuple[type[Categories], tuple[object]]:
        return type(self), (self.declared,)

    @property
    def bounds(self) -> tuple[Any, ...]:
        """The bounds to which numbers are clipped; none of categories."""
        return ()

    @property
    def holds_integers(self) -> bool:
        """False for numbers of which some integers are rounded at random, so that squares grow."""
        return True

    @property
    def in_words(self) -> str:
        """The categories as a noun in messages."""
        return f"the {self.k} categories"

    @property
    def in_call(self) -> str:
        """The categories as an argument of a call in messages; a name where they are long."""
        categories = self.describe()
        return categories if len(categories) <= _MAX_LETTERS else "categories"

    @property
    def may_be_missing(self) -> bool:
        """True where a missing value may be declared as an answer."""
        return True

    def describe(self, most: int = 8) -> str:
        """Return the categories as text, shortened if there are more than ``most``."""
        if self.k <= most:
            declared = self.declared
            shown = repr(declared if isinstance(declared, dict) else list(declared))
            return (
                shown if len(shown) <= _MAX_SHOWN_LETTERS else f"{self.k} categories of long names"
            )
        first = ", ".join(map(cut, self.categories[: most - 2]))
        return f"[{first}, ... {self.k} categories]"

    def empty(self, rows: int) -> Codes:
        """Return an empty array for the codes of ``rows`` reports."""
        return np.empty(rows, dtype=self.dtype)

    def code(self, value: Any) -> int:
        """Return the code of one value.

        Parameters
        ----------
        value : object
            One answer, of any type.

        Returns
        -------
        int
            0 .. k-1 for a category, k for an unknown value, k+1 for a missing one.
        """
        if is_missing(value):
            return self.absent_code
        try:
            if type(value).__module__ == "pyarrow.lib":  # what a list of an Arrow array holds
                return self.code(value.as_py())
            if isinstance(value, bool | np.bool_):
                return self.bool_codes.get(bool(value), self.k)
            return self.value_codes.get(_comparable(value), self.k)
        except Exception:  # an answer may be unhashable, or raise when compared: unknown
            return self.k


class PublicCategories(Categories):
    """The values of a public column, which is not randomized; so one value is enough.

    >>> PublicCategories(["age & income"]).k
    1
    """

    _fewest = 1


def category_numbers(
    values: Any, labels: Sequence[Hashable], name: str, *, words: bool = False
) -> Floats:
    """(k,) the number of each category: by category, in their order, or None for themselves.

    words : whether two words stand for 0 and 1 by themselves.
    """
    numbers_of_all = list[Any](labels)
    k = len(numbers_of_all)
    is_numeric = all(isinstance(label, numbers.Real) for label in labels)
    if values is None and words and not is_numeric and k <= 2:
        return np.arange(float(k))
    if isinstance(values, Mapping | pd.Series):
        categories = PublicCategories(labels)
        by_code = {categories.code(category): number for category, number in values.items()}
        numbers_of_all = [by_code.get(code) for code in range(k)]
        if len(by_code) > k or max(by_code, default=0) >= k:
            numbers_of_all.append(None)  # of what is no category
    elif values is not None:
        return check_numbers(values, name, size=k)
    if not all(isinstance(number, numbers.Real) for number in numbers_of_all):
        some = f", such as {list(range(k))}" if k <= _MAX_EXAMPLE else ""
        raise ArgumentTypeError(
            f"{name} must map each of the {k} categories, and no other, to its number, unless the "
            f"categories are numbers; a list has them in the categories' order{some}"
        )
    return check_numbers([float(number) for number in numbers_of_all], name)
