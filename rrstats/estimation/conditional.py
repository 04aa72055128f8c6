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

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.estimation.arrays import fixed
from rrstats.estimation.crosstab_frames import long_frame, wide_frame
from rrstats.inference import empirical_likelihood
from rrstats.inference.binomial import Interval
from rrstats.inference.contrasts import fieller, hull, normal_quantile
from rrstats.inference.multinomial import contract

if TYPE_CHECKING:
    from rrstats.estimation.crosstab_results import Crosstab

__all__ = ["Conditional"]


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
        limit = normal_quantile(check_level(level)) ** 2
        found = fieller(self.table.proportions, self.people, self._moments, limit)
        found = Interval(*(np.clip(end, 0, 1) for end in found))
        if self.table.target == "rows" or not self.table.likelihood_serves:
            return found
        values, counts = self.table.score_values
        parts = [
            axis.values[0] if given else np.ones_like(axis.values[0])
            for axis, given in zip(self.table.axes, self._is_given, strict=True)
        ]
        bottom = self.table.spread_out(parts)
        limits = empirical_likelihood.bounded_limit(values, bottom, counts, limit)
        ends = empirical_likelihood.ratio_ends(values, bottom, counts, limits)
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
