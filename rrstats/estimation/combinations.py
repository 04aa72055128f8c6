"""What combinations of shares have in common: shares among some people, means of numbers.

Which categories and numbers are meant, and how an interval that is cut to [0, 1] stays as wide as
the noise.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.result import RatioEstimate, label_column

__all__ = ["code_of", "numbers_of", "part_and_whole", "shares_among"]


_ROUNDING = 1e-12


def code_of(categories: tuple[Hashable, ...], category: Hashable) -> int:
    """The place of one category; raises ArgumentValueError for what is none."""
    answers = Categories(categories)
    code = answers.code(category)
    if code >= answers.k:
        raise ArgumentValueError(f"{category!r} is not among the categories {answers.describe()}")
    return code


def part_and_whole(
    categories: tuple[Hashable, ...], category: Hashable, among: Iterable[Hashable]
) -> tuple[Floats, Floats]:
    """(k,) each: 1 for one category, and 1 for all categories of the people meant."""
    part, whole = np.zeros(len(categories)), np.zeros(len(categories))
    whole[[code_of(categories, name) for name in among]] = 1
    part[code_of(categories, category)] = 1
    if not whole @ part:
        raise ArgumentValueError(f"among must contain the category {category!r}")
    return part, whole


def shares_among(
    share_among: Callable[[Hashable, list[Hashable], float], RatioEstimate],
    categories: tuple[Hashable, ...],
    among: Iterable[Hashable] | None,
    level: float,
) -> pd.DataFrame:
    """A row for each category of the people meant, by default of those who answered."""
    if among is None:
        among = [category for category in categories if category is not None]
        if len(among) == len(categories):
            raise ArgumentValueError(
                "among must name categories: non-response is not among those of this design, "
                f"{Categories(categories).describe()}, so all shares are of those who answered; to "
                "protect who did not, declare a missing category (None) when privatizing"
            )
    listed = list(among)
    found = [share_among(category, listed, level) for category in listed]
    columns = ("proportion", "std_error", "low", "high")
    return pd.DataFrame(
        {
            "category": label_column(tuple(listed)),
            **{name: [getattr(one, name) for one in found] for name in columns},
        }
    )


def numbers_of(categories: tuple[Hashable, ...], values: Mapping[Any, float] | None) -> Floats:
    """(k,) the number that each category stands for; by default itself."""
    given: list[Any] = list(categories)
    if values is not None:
        known = {code_of(categories, category): number for category, number in values.items()}
        if len(known) != len(categories):
            raise ArgumentValueError(
                f"values must give each of the {len(categories)} categories a number, found "
                f"{len(known)}"
            )
        given = [known[code] for code in range(len(categories))]
    if not all(isinstance(one, numbers.Real) for one in given):
        raise ArgumentTypeError(
            f"a mean needs numbers, and the categories are {Categories(categories).describe()}; "
            "give values, a mapping from category to number"
        )
    return np.array([float(one) for one in given])
