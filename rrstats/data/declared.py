"""Lists of categories as they are declared; a list that may be taken from the answers is refused.

The order of the answers would be published with the list: the first category of
``df["a"].unique()`` is the answer of the first row.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import FROM_COUNTS
from rrstats.errors import ArgumentTypeError, ArgumentValueError

MAX_CATEGORIES = 1 << 22
"""More are refused before they take memory."""

WHOLE = re.compile(r"(?:0|-?[1-9][0-9]*)")
"""A whole number as text."""


def _is_data(values: Any) -> bool:
    """True for a column or an array that may hold answers in the order of the data.

    Increasing numbers are declared, whatever holds them, and so are the labels of a dtype: an Index
    without a name.  An Index with one is what `value_counts` and `groupby` return.
    """
    if isinstance(values, pd.Index):
        return isinstance(values, pd.CategoricalIndex) or any(n is not None for n in values.names)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufmM":
        head = values[: MAX_CATEGORIES + 1]  # more are refused before they take memory
        return not bool((head[1:] > head[:-1]).all())
    is_extension = isinstance(values, pd.api.extensions.ExtensionArray)
    has_cells = any(map(partial(hasattr, values), ("__array__", "__arrow_c_stream__")))
    return is_extension or (has_cells and not isinstance(values, np.generic))


def increase(values: Sequence[Any]) -> bool:
    """True where each value is above the one before."""
    with contextlib.suppress(Exception):
        return all(a < b for a, b in pairwise(values))
    return False


def _taken_from_data(found: str) -> ArgumentTypeError:
    """The error for categories that come from data."""
    return ArgumentTypeError(
        "categories must be declared, not taken from data, whose order would be published and "
        f"tells answers, found {found}; write the possible answers as a list, as in the "
        "questionnaire, such as ['yes', 'no'], or give a range, a CategoricalDtype or a mapping "
        "from code to label"
    )


def declared_list(categories: object) -> list[Any]:
    """The declared categories as a list; raises for data, text and what has no order."""
    if isinstance(categories, pd.CategoricalDtype):
        levels: Any = categories.categories
        categories = [] if levels is None else list(levels)
    if _is_data(categories):
        name_text = " with a name" if isinstance(categories, pd.Index) else ""
        raise _taken_from_data(f"{type(categories).__name__}{name_text}")
    if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
        way_on = ""
        if categories is None:
            way_on = "; of a number give its bounds, as in rr.number(0, 5000)"
        elif type(categories) is int:
            number = f"{categories} categories without names are range({categories})"
            way_on = f"; {number}, counts of reports go to {FROM_COUNTS}"
        raise ArgumentTypeError(
            "categories must be a list of the possible answers, "
            f"found {type(categories).__name__}; "
            f"pass for example ['yes', 'no'], or the dtype of a Categorical{way_on}"
        )
    listed = list(islice(categories, MAX_CATEGORIES + 1))
    if len(listed) > MAX_CATEGORIES:
        raise ArgumentValueError(
            f"categories must be at most {MAX_CATEGORIES:,}, found more; merge answers"
        )
    if isinstance(categories, range):  # perhaps of millions, in the record of a fingerprint
        return listed
    if any(type(category).__module__ == "pyarrow.lib" for category in listed):
        raise _taken_from_data(f"cells of Arrow in a {type(categories).__name__}")
    if not isinstance(categories, set | frozenset):
        return listed
    with contextlib.suppress(Exception):
        listed = sorted(listed)
    if increase(listed):  # NaN and nested sets sort without an error, but in no fixed order
        return listed
    raise ArgumentTypeError(
        "categories given as a set must be sortable, because their order is part of the design; "
        "pass a list"
    )


def whole_words(words: Sequence[str | None]) -> list[Hashable]:
    """Words for a text column without a type, as in CSV; if all are whole numbers, as numbers.

    Readers of CSV read a column of whole numbers as numbers, so the categories are
    recorded as numbers too.

    >>> whole_words(["1", "2", None]), whole_words(["1", "02"])
    ([1, 2, None], ['1', '02'])
    """
    present = [word for word in words if word is not None]
    if present and all(WHOLE.fullmatch(word) for word in present):
        return [None if word is None else int(word) for word in words]
    return list(words)
