"""Names of types that annotations share: arrays, and the arguments of public functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

Array: TypeAlias = NDArray[Any]
"""An array of any dtype: counts that may be weighted, codes of the smallest dtype, values."""

Indices: TypeAlias = NDArray[np.intp]
"""Whole numbers that index another array: rows, places, or codes of categories and cells."""

Limits: TypeAlias = tuple[Floats, Floats]
"""Lower and upper limits of intervals."""

Labels: TypeAlias = tuple[Hashable, ...]
"""Labels of categories, of groups or of columns, in their order."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of a JSON document, or the arguments in it."""

ArrowMetadata: TypeAlias = Mapping[bytes, bytes]
"""Metadata of an Arrow schema."""

FilePath: TypeAlias = Path | str
"""The path of a file or of a folder."""

CategoriesLike: TypeAlias = Iterable[Hashable] | pd.CategoricalDtype
"""The possible answers: a list, a set, a codebook, or the dtype of a Categorical."""

Probability: TypeAlias = float | Fraction | Decimal | np.floating[Any]
"""A probability, or another number that is kept exactly."""

NumbersByCategory: TypeAlias = Mapping[Any, Probability] | Iterable[Probability]
"""A number for each category: a mapping by category, or numbers in the order of the categories."""

Column: TypeAlias = Iterable[Any]
"""One value for each row: a list, an array, a Series, or a column of Arrow or of an engine."""

ColumnLike: TypeAlias = Hashable | Column
"""A column: its name in a frame, or its values."""


class FrameLike(Protocol):
    """A frame of pandas or Polars, or a table of Arrow: it has columns."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


ColumnNames: TypeAlias = Hashable | list[Any]
"""The name of one column, or a list of names."""

ColumnName: TypeAlias = str | float | date | tuple[Hashable, ...]
"""The name of one column, where None has another meaning."""

GroupsLike: TypeAlias = Column | float | date
"""Labels of groups: a column, its name, or a list of either; not None."""

RateLike: TypeAlias = Probability | ColumnLike
"""A prob or an epsilon: one number for all rows, or a column of numbers."""
