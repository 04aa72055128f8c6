"""Whether no person has more rows than declared, without saying how many anybody has.

How often a person is in the data is private, and so is the largest such number: it says that
somebody is there so often.  So the number that multiplies a budget is declared by the design of
the study, and the data are only asked whether they keep to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.privacy.composing import check_max_rows_per_person

__all__ = ["check_rows_per_person"]


def check_rows_per_person(person: Any, max_rows_per_person: int) -> None:
    """Raise where some person is in more rows than declared.

    person : a column with a label for the person of each row; none may be missing.
    max_rows_per_person : the declared most, at least 1.
    Raises ArgumentValueError for more rows, and where a row does not say whose it is, and
    ArgumentTypeError for labels that cannot be compared; no message quotes a label, or says in how
    many rows one is.  That it raises tells as much, so it is for the steward alone.

    >>> check_rows_per_person(["a", "b", "a"], 2)
    >>> check_rows_per_person(["a", "b", "a"], 1)
    Traceback (most recent call last):
    rrstats.errors.ArgumentValueError: some person is in more rows than max_rows_per_person=1 \
declares; declare the most that the study's design allows, or take rows out before privatizing
    """
    most = check_max_rows_per_person(max_rows_per_person)
    try:
        codes = pd.factorize(person if isinstance(person, pd.Series) else pd.Series(person))[0]
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "person must be a column of labels such as numbers or text, found labels that cannot "
            "be compared"
        ) from None
    if (codes < 0).any():
        raise ArgumentValueError(
            "person must name somebody in every row, found missing labels: rows of an unknown "
            "person cannot be counted"
        )
    if len(codes) and int(np.bincount(codes).max()) > most:
        raise ArgumentValueError(
            f"some person is in more rows than max_rows_per_person={most} declares; declare the "
            "most that the study's design allows, or take rows out before privatizing"
        )
