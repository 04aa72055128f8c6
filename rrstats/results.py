"""Small results that stand beside an `Estimate`, and how tables of shares are written.

One category with its interval, a ratio of two shares, and shares made to lie inside the simplex,
which have no variance on purpose.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "FORMATS",
    "MeanEstimate",
    "RatioEstimate",
    "Rounded",
    "ShareEstimate",
    "SimplexTable",
    "label_column",
    "percent_range",
    "said",
    "shortened",
]

Floats = NDArray[np.float64]

FORMATS: dict[Any, Any] = {
    **dict.fromkeys(("naive", "proportion", "std_error", "low", "high"), "{:.4f}".format),
    **dict.fromkeys(("count", "count_low", "count_high"), "{:.1f}".format),
}
"""How the columns of a shown table are written."""


def shortened() -> dict[str, Any]:
    """As many rows of a shown table as pandas shows of a frame."""
    return {"max_rows": pd.get_option("display.max_rows")}


def label_column(categories: tuple[Hashable, ...]) -> pd.Series[Any]:
    """The categories as pandas would hold them; as they are where a missing one is among them."""
    labels = np.fromiter(categories, dtype=object, count=len(categories))
    column: pd.Series[Any] = pd.Series(labels, dtype=object)
    return column if None in categories else column.infer_objects()


class Rounded:
    """Shows its fields with four digits; they hold all."""

    def __repr__(self) -> str:
        told = (
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in vars(self).items()
        )
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, repr=False)
class ShareEstimate(Rounded):
    """One category of an estimate, with 95% intervals; the columns of `Estimate.to_frame`."""

    category: Hashable
    n: int
    reported: float
    naive: float
    proportion: float
    std_error: float
    low: float
    high: float
    count: float
    count_low: float
    count_high: float


@dataclass(frozen=True, repr=False)
class RatioEstimate(Rounded):
    """One share among some people: a ratio of two estimated shares."""

    proportion: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class MeanEstimate(Rounded):
    """The mean of a number that the categories stand for."""

    mean: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class SimplexTable:
    """Shares made to lie in [0, 1] and to sum to 1, for a table or a total picture.

    It has no variance and no interval, on purpose: shares that were pushed inside are biased
    (the largest shrink), and no standard error repairs that.  For inference use the
    `Estimate` it came from.
    """

    categories: tuple[Hashable, ...]
    proportions: Floats
    n: int
    method: str

    @property
    def counts(self) -> Floats:
        """(k,) the shares times the number of rows."""
        return np.asarray(self.proportions * self.n) if self.n else np.zeros(len(self.categories))

    def to_frame(self) -> pd.DataFrame:
        """Columns category, proportion and count."""
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "proportion": self.proportions,
                "count": self.counts,
            }
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("variance", "std_error", "covariance", "interval"):
            raise AttributeError(
                f"a table inside the simplex has no {name}: pushing shares inside biases them; "
                "use the estimate it came from"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        table = self.to_frame()
        table["category"] = [said(category) for category in self.categories]
        shown = table.to_string(index=False, **shortened())
        return f"SimplexTable by {self.method}, n={self.n:,}\n{shown}"


def percent_range(low: float, high: float) -> str:
    """Both ends in percent, rounded outward to two digits of their distance."""
    width = (high - low) * 100
    decimals = 1 if width <= 0 else int(np.clip(1 - np.floor(np.log10(width)), 1, 9))
    unit = 10.0**-decimals
    # 1e-9 of a unit is rounding error: an end on the grid stays there.
    down = np.floor(low * 100 / unit + 1e-9) * unit
    up = np.ceil(high * 100 / unit - 1e-9) * unit
    return f"{down:.{decimals}f}% to {up:.{decimals}f}%"


def said(category: Hashable) -> str:
    """A category as text; a missing one in a word."""
    return "missing" if category is None else str(category)
