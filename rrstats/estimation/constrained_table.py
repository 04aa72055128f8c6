"""A table of joint shares made to lie inside the simplex: it has no variance, on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.estimation.crosstab_axes import Axis
from rrstats.estimation.crosstab_frames import long_frame, wide_frame

__all__ = ["TidiedTable"]


@dataclass(frozen=True, eq=False, repr=False)
class TidiedTable:
    """Joint shares in [0, 1] that sum to 1, for display or a whole distribution.

    axes : the columns.  proportions : (k1, ..., kd).  method : how they were made.
    Shares that were pushed inside are biased, and no standard error repairs that: for inference
    use the `Crosstab` they came from.
    """

    axes: tuple[Axis, ...]
    proportions: Floats
    n: int
    method: str

    @property
    def counts(self) -> Floats:
        """(k1, ..., kd) the shares times the number of rows."""
        return np.asarray(self.proportions * self.n) if self.n else np.zeros(self.proportions.shape)

    def to_frame(self) -> pd.DataFrame:
        """One row a cell: the columns' categories, proportion and count."""
        return long_frame(self.axes, {"proportion": self.proportions, "count": self.counts})

    def table(self) -> pd.DataFrame:
        """The shares with the last column's categories side by side."""
        return wide_frame(self.axes, self.proportions)

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("variance", "std_error", "covariance", "interval"):
            raise AttributeError(
                f"a table inside the simplex has no {name}: pushing shares inside biases them; "
                "use the Crosstab it came from"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        shown = wide_frame(self.axes, self.proportions, words=True)
        body = shown.to_string(float_format="{:.4f}".format)
        return f"TidiedTable by {self.method}, n={self.n:,}\n{body}"
