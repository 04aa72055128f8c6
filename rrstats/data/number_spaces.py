"""Numbers between two declared bounds: a grid of true answers, and the values of their reports.

A true answer is clipped to the bounds.  Its code is its place between them in equal steps far below
the grid's, so that it says the grid point below and the fraction of a step above it.  A report is
one of a few values, and is read as the nearest one: Excel, Stata and 32-bit floats bring it back.
Codes beyond the last are for what is no number and for what is missing, as of all categories.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from rrstats._cached import cached_property
from rrstats._frozen import fixed
from rrstats._typing import Booleans, Floats
from rrstats.data.categories import Categories, Codes, is_missing

_MAX_ANSWERS = 1 << 30
"""The largest number of codes of answers; with both sentinels they fit into signed 32 bits."""

_READ_TOLERANCE = 1e-6
"""The largest change of a report, relative to the largest one: 32-bit floats change it by 6e-8."""


def number_of(cell: Any) -> float:
    """A cell as a double, NaN where it is missing; raises if it is no number, or an odd object."""
    if type(cell).__module__ == "pyarrow.lib":
        cell = cell.as_py()
    if is_missing(cell):
        return math.nan
    # A duration of NumPy is an integer of NumPy.
    is_other = isinstance(cell, bool | np.bool_ | np.timedelta64)
    is_number = isinstance(cell, Real | Decimal) and not is_other
    if not is_number:
        raise TypeError
    try:
        return float(cell)
    except OverflowError:  # an integer that no double holds
        return math.inf if cell > 0 else -math.inf


class NumberSpace(Categories):
    """Labels that are increasing numbers, with codes for other numbers, too."""

    @property
    def bounds(self) -> tuple[Any, ...]:
        """The smallest and the largest label."""
        return self.categories[0], self.categories[-1]

    @cached_property
    def points(self) -> Floats:
        """(k,) the labels as doubles."""
        return fixed(np.array(self.categories, dtype=np.float64))

    @cached_property
    def _key(self) -> tuple[tuple[str, Hashable, Hashable], ...]:
        return ((type(self).__name__, None, None), *super()._key)

    @abstractmethod
    def encode(self, numbers: Floats) -> Codes:
        """(n,) codes of numbers; of NaN that of a missing answer."""

    def code(self, value: Any) -> int:
        """Return the code of one value, as `Categories.code`."""
        try:
            return int(self.encode(np.array([number_of(value)]))[0])
        except Exception:  # no number, or an object that raises when looked at
            return self.answers


class NumberGrid(NumberSpace):
    """Evenly spaced points from the lower to the upper bound of true answers.

    >>> grid = NumberGrid([0, 5, 10])
    >>> (grid.encode(np.array([-3.0, 0.0, 2.5, 10.0])) >> grid.fraction_bits).tolist()
    [0, 0, 0, 2]
    >>> grid.describe()
    'numbers from 0 to 10'
    """

    fraction_bits: int
    """The binary digits of the fraction of a step in a code."""

    def __init__(self, categories: Sequence[float]) -> None:
        super().__init__(categories)
        bits = (_MAX_ANSWERS // (self.k - 1)).bit_length() - 1
        answers = (self.k - 1 << bits) + 1
        self.__dict__.update(fraction_bits=bits, answers=answers, absent_code=answers + 1)
        self.__dict__["dtype"] = np.dtype(np.uint32)

    @cached_property
    def holds_integers(self) -> bool:
        """True where every integer between the bounds is a point, so that none is rounded."""
        low, high = self.bounds
        return self.kind == "int" and high - low == self.k - 1

    def encode(self, numbers: Floats) -> Codes:
        """(n,) places between the bounds, in steps of 2**-fraction_bits of the grid's."""
        low, high = map(float, self.bounds)
        places = (np.clip(numbers, low, high) - low) / (high - low) * (self.answers - 1)
        is_missing_number = np.isnan(places)
        places[is_missing_number] = 0
        codes = np.rint(places).astype(self.dtype)
        codes[is_missing_number] = self.absent_code
        return codes

    def between(self, codes: Codes) -> Booleans:
        """Mask of the answers between two points."""
        in_step = codes & ((1 << self.fraction_bits) - 1)
        return (codes < self.answers) & (in_step > 0)

    def clipped(self, numbers: Floats) -> tuple[Booleans, Booleans]:
        """Masks of the numbers below and above the bounds."""
        low, high = map(float, self.bounds)
        return numbers < low, numbers > high

    @property
    def in_words(self) -> str:
        """The rule for an answer, in words."""
        return "numbers"

    @property
    def in_call(self) -> str:
        """The declaration as an argument of a call in messages."""
        low, high = self.bounds
        return f"rr.number({low!r}, {high!r})"

    @property
    def may_be_missing(self) -> bool:
        """False: numbers have no missing one among them."""
        return False

    def describe(self, most: int = 8) -> str:
        """Return the bounds in words."""
        low, high = self.bounds
        return f"numbers from {low:g} to {high:g}"


class NumberValues(NumberSpace):
    """The values of reports, in ascending order; a number is the nearest of them, or none.

    >>> NumberValues([-1.25, 0.5, 2.25]).encode(np.array([0.5000001, 1.5, np.nan])).tolist()
    [1, 3, 4]
    """

    @cached_property
    def _tolerance(self) -> float:
        """Distance of a report from its value: less than half of the way to another."""
        least_gap = float(np.diff(self.points).min())
        return min(least_gap / 4, _READ_TOLERANCE * float(abs(self.points).max()))

    def encode(self, numbers: Floats) -> Codes:
        """(n,) codes of the nearest values."""
        between = (self.points[1:] + self.points[:-1]) / 2
        codes = np.searchsorted(between, numbers).astype(self.dtype)
        is_other = ~(abs(numbers - self.points[codes]) <= self._tolerance)
        codes[is_other] = self.k
        codes[np.isnan(numbers)] = self.absent_code
        return codes
