"""Measures of association of two columns, each with its interval.

Each is computed from unbiased proportions or moments, so the noise of privatized columns does not
bias it towards "no association".  An estimate may therefore lie outside its range; it is not cut,
and a note says so.  Standard errors are by the delta method, with the covariance of the table.
Intervals hold the values that are not rejected (Fieller), inside the range.
The measures themselves are in `product_moment`, `odds_ratio` and `cramers_v`.
Source: Fieller (1954).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrstats._checks import check_instance
from rrstats._display import label
from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import Floats, Labels
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.axes import Axis
from rrstats.estimation.estimates.result import place_of

ROUNDING = 1e-12
"""Relative rounding error of a sum of squares."""

TINY = 1e-300
"""Smallest divisor, so that 0 / 0 is 0."""


@checked_keywords
@dataclass(frozen=True)
class Association(MissingMembers):
    """One measure of association between two columns, with its interval.

    Attributes
    ----------
    measure : str
        The name of the measure.
    columns : tuple of two hashables
        The names of the columns.
    value : float
        The estimate; it may lie outside the range of the measure, and is NaN if not defined.
    std_error : float
        The standard error by the delta method.
    low, high : float
        The interval, inside the range.
    level : float
        The confidence level of the interval.
    note : str
        A sentence that a reader must know, or an empty text.
    """

    measure: str
    columns: Labels
    value: float
    std_error: float
    low: float
    high: float
    level: float
    note: str = ""

    def interpret(self) -> str:
        """The measure with its interval.

        Returns
        -------
        str
            A sentence, with the note in brackets.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> print(table.association("phi").interpret())
        phi of a and g: 0, 95% interval -0.3943 to 0.3943
        """
        text = (
            f"{self.measure} of {label(self.columns[0])} and {label(self.columns[1])}: "
            f"{self.value:.4g}, {self.level * 100:.10g}% interval {self.low:.4g} to {self.high:.4g}"
        )
        return f"{text} ({self.note})" if self.note else text

    __repr__ = interpret


def indicators(axes: Sequence[Axis], categories: Any) -> list[Floats]:
    """(k,) of each column, 1 for one category and 0 for all others."""
    if categories is None:
        for axis in axes:
            if axis.k > 2:
                raise ArgumentValueError(
                    "phi and odds_ratio are for two by two categories, found "
                    f"{axis.k} categories in column {axis.name!r}; take cramers_v, or name one "
                    "category of each column as categories"
                )
        places = [axis.k - 1 for axis in axes]
    else:
        check_instance(categories, "categories", list | tuple, "two, one of each column")
        places = [
            place_of(category, axis.categories, f"column {axis.name!r}")
            for category, axis in zip(categories, axes, strict=True)
        ]
    return [
        (np.arange(axis.k) == place).astype(np.float64)
        for axis, place in zip(axes, places, strict=True)
    ]


def ratio_moments(slopes: Floats, covariance: Floats) -> tuple[float, float, float]:
    """Variance of the numerator, covariance, variance of the denominator."""
    (numerator, both), (_, denominator) = (slopes @ covariance @ slopes.T).tolist()
    return numerator, both, denominator
