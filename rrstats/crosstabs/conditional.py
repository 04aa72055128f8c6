"""Shares of some columns within each combination of others: ratios of two estimated shares.

Of the people in a category of the given columns, the share in each category of the rest.  Both
numbers of the ratio are debiased, so it is consistent, not unbiased, and where the given people
may be next to nobody its interval is [0, 1].
Interval: the hull of Fieller's and of the empirical likelihood's.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.crosstabs import tilting
from rrstats.crosstabs.axes import contract
from rrstats.crosstabs.shapes import long_frame, wide_frame
from rrstats.debiasing import fixed
from rrstats.general_intervals import hull
from rrstats.intervals import Interval, check_level

if TYPE_CHECKING:
    from rrstats.crosstabs.tables import Crosstab

__all__ = ["Conditional"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Conditional:
    """Shares of the other columns of a table within each combination of the given ones.

    table : a Crosstab of these columns and no others.  given : the names of the given columns.
    Arrays have the table's shape; over the other columns they sum to 1.
    """

    table: Crosstab
    given: tuple[Hashable, ...]

    @property
    def _is_given(self) -> list[bool]:
        return [axis.name in self.given for axis in self.table.axes]

    @cached_property
    def people(self) -> Floats:
        """Unbiased share of each combination of the given columns, repeated over the others."""
        tables = [
            axis.scores if given else axis.total[:, None]
            for axis, given in zip(self.table.axes, self._is_given, strict=True)
        ]
        found = contract(self.table.rates, tables)
        return fixed(np.broadcast_to(found, self.table.shape))

    @cached_property
    def proportions(self) -> Floats:
        """Shares among the given people; NaN where they are estimated to be nobody, or fewer."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.table.proportions / self.people
        return fixed(np.where(self.people > 0, found, np.nan))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Variance of the top, covariance with the bottom, and variance of the bottom."""
        table, people = self.table, self.people
        pairs = zip(table.axes, self._is_given, strict=True)
        below = zip(table.axes, self._is_given, strict=True)
        joint = [axis.squares if given else axis.scores for axis, given in pairs]
        alone = [axis.squares if given else axis.total[:, None] for axis, given in below]
        both = contract(table.rates, joint)
        bottom = np.broadcast_to(contract(table.rates, alone), table.shape)
        if table.target == "rows":  # among just these rows the truth does not vary
            moments = both - table.proportions, bottom - people
        else:
            moments = both - table.proportions * people, bottom - people**2
        return (
            table.variance,
            fixed(moments[0] / table.divisor),
            fixed(np.maximum(moments[1], 0.0) / table.divisor),
        )

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors of the shares, by the delta method."""
        top, both, bottom = self._moments
        share = self.proportions
        spread = top - 2 * share * both + share**2 * bottom
        return fixed(np.sqrt(np.maximum(spread, 0.0)) / self.people)

    def interval(self, level: float = 0.95) -> Interval:
        """Intervals of the shares, in [0, 1]; all of it where the given people may be nobody.

        The hull of Fieller's interval and, for the population, of the ratios that the
        empirical likelihood does not reject.
        """
        limit = tilting.quantile(check_level(level))
        found = _fieller(self.table.proportions, self.people, self._moments, limit)
        if self.table.target == "rows" or not self.table.likelihood_serves:
            return found
        values, counts = self.table.score_values
        bottom, size = np.ones(()), len(counts)
        top = values
        parts = []
        for axis, given in zip(self.table.axes, self._is_given, strict=True):
            held = axis.values[0]
            parts.append(held if given else np.ones_like(held))
        bottom = self.table.spread_out(parts)
        ends = tilting.ratio_ends(top, bottom, counts, np.full(size, limit))
        shape = self.table.shape
        return hull(found, Interval(ends[0].reshape(shape), ends[1].reshape(shape)))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame: the columns' categories, proportion, std_error, low and high."""
        low, high = self.interval(level)
        held = {
            "proportion": self.proportions,
            "std_error": self.std_error,
            "low": low,
            "high": high,
        }
        return long_frame(self.table.axes, held)

    def wide(self) -> pd.DataFrame:
        """The shares with the last column's categories side by side."""
        return wide_frame(self.table.axes, self.proportions)

    def __repr__(self) -> str:
        others = [axis.name for axis in self.table.axes if axis.name not in self.given]
        text = f"shares of {_listed(others)} within {_listed(self.given)}, n={self.table.n:,}"
        return f"{text}\n{self.to_frame().to_string(index=False, float_format='{:.4f}'.format)}"


def _listed(names: tuple[Hashable, ...] | list[Hashable]) -> str:
    return ", ".join(str(name) for name in names)


def _fieller(
    top: Floats, bottom: Floats, moments: tuple[Floats, Floats, Floats], limit: float
) -> Interval:
    """All r for which top - r bottom is within its standard errors; Fieller (1954)."""
    above, both, below = moments
    a, half_b = bottom**2 - limit * below, top * bottom - limit * both
    inside = half_b**2 - a * (top**2 - limit * above)
    known = (a > 0) & (inside >= 0) & (bottom > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.sqrt(np.maximum(inside, 0.0))
        low, high = (half_b - reach) / a, (half_b + reach) / a
    return Interval(
        np.where(known, np.clip(low, 0, 1), 0.0), np.where(known, np.clip(high, 0, 1), 1.0)
    )
