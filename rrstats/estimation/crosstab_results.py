"""A table of the joint shares of several columns, privatized or not, with their intervals."""

from __future__ import annotations

import html
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_bool, check_level
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import fixed, project_to_simplex
from rrstats.estimation.conditional import Conditional
from rrstats.estimation.constrained_table import TidiedTable
from rrstats.estimation.crosstab_frames import long_frame, wide_frame
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.joint_proportions import JointShares
from rrstats.estimation.sample_design import EVERYONE
from rrstats.estimation.tally import Cell, Tally
from rrstats.inference import empirical_likelihood, general_intervals
from rrstats.inference.binomial import clopper_pearson_rates
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.multinomial import contract, most_likely_table
from rrstats.plots import plot_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Crosstab"]


METHODS = ("empirical-likelihood", "wald")

_MOST_VALUES = 1 << 17
"""Cells times values of a score, up to which the likelihood takes less than some seconds."""

SHOWN = ("proportion", "std_error", "low", "high", "count", "reported", "naive", "effective_n")


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(JointShares):
    """Unbiased joint shares of the categories of several columns.

    axes : the columns, in order.  counted : how many rows have each combination of what an axis
        counts: its report cells, or, of reports that name several categories, the categories and
        all reports.
    missing : rows in which a column has nothing, not in n.
    target : "population" or "rows", whom shares, variances and intervals are about.
    All arrays are (k1, ..., kd), the categories of the columns in order.  Shares may lie outside
    [0, 1].  Right for columns that were privatized apart: each report drawn from its own truth.
    Add tables of parts of the data with ``+``.
    """

    # -- intervals -------------------------------------------------------------------------

    def spread_out(self, parts: Sequence[Floats]) -> Floats:
        """(cells, values) products of one (k, g) array for each column."""
        found = np.ones((1, 1))
        for part in parts:
            found = found[:, None, :, None] * part[None, :, None, :]
            found = found.reshape(found.shape[0] * found.shape[1], -1)
        return found

    @cached_property
    def score_values(self) -> tuple[Floats, Floats]:
        """(cells, values) what a row's score of each cell can be, and how often it is."""
        told = [axis.values for axis in self.axes]
        found = contract(self.counted, [counts for _, counts in told])
        order = [*range(0, found.ndim, 2), *range(1, found.ndim, 2)]
        return fixed(self.spread_out([values for values, _ in told])), fixed(
            found.transpose(order).reshape(self.size, prod(values.shape[1] for values, _ in told))
        )

    @property
    def likelihood_serves(self) -> bool:
        """Whether the empirical likelihood takes less than some seconds, and there are rows."""
        values = prod(axis.values[0].shape[1] for axis in self.axes)
        return self.n > 1 and self.size * values <= _MOST_VALUES

    @property
    def default_method(self) -> str:
        """How intervals are made where no method is named."""
        return METHODS[0] if self.likelihood_serves else METHODS[1]

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """Intervals of the shares, for the target.

        method : "empirical-likelihood", the default but for huge tables, or "wald".
        simultaneous : whether all cells together hold at this level (Bonferroni).
        By empirical likelihood: nothing is assumed of the other cells.  Where an estimate lies
        outside [0, 1], deviances are taken from the best share inside, so that the interval never
        shrinks to a point.  Where no column is private, the exact (Clopper-Pearson).  Among just
        these rows, the hull of Wald's and of the same ends drawn in by the ratio of the two
        standard errors.  Inside [0, 1]; Wald's alone is not cut.
        Lowest coverage of any cell at 95% for the population, in tables of 4 to 12 cells, rare and
        empty ones among them: 91% at n = 50, 93.5% at 200, 94% at 1,000 (1,500 simulated tables
        each); Wald's falls to 38%, 67% and 91%.  Among just these rows 94.5% at n = 50 and 200.
        """
        level = check_level(level)
        if check_bool(simultaneous, "simultaneous"):
            level = 1 - (1 - level) / max(self.size, 1)
        method = self.default_method if method is None else method
        if method not in METHODS:
            raise ArgumentValueError(f"method must be one of {list(METHODS)}, got {method!r}")
        if self.n < 2:
            return Interval(np.zeros(self.shape), np.ones(self.shape))
        by_wald = general_intervals.wald(self.proportions, self.std_error, level)
        if method == "wald":
            return by_wald
        if self.target == "population" and not self.private:  # binomial counts
            return clopper_pearson_rates(self.counted, np.full(self.shape, self.n), level)
        values, counts = self.score_values
        limit = empirical_likelihood.bounded_limit(
            values, np.ones_like(values), counts, normal_quantile(level) ** 2
        )
        ends = empirical_likelihood.mean_ends(values, counts, limit)
        low, high = (end.reshape(self.shape) for end in ends)
        if self.target == "rows":
            wide = np.sqrt(self._spread / self.n)
            drawn = np.divide(self.std_error, wide, out=np.zeros(self.shape), where=wide > 0)
            low = np.minimum(self.proportions - (self.proportions - low) * drawn, by_wald.low)
            high = np.maximum(self.proportions + (high - self.proportions) * drawn, by_wald.high)
        return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1))

    # -- other tables ----------------------------------------------------------------------

    def conditional(self, of: Any, given: Any) -> Conditional:
        """Shares of some columns within each combination of others.

        of, given : a column, or a list of columns.  Columns in neither are summed over.

        >>> import rrstats as rr
        >>> columns = {"smoker": rr.KRR(["no", "yes"], 0.75), "region": ["north", "south"]}
        >>> table = Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> found = table.conditional("smoker", given="region")
        >>> found.proportions[1].round(3).tolist()
        [0.3, 0.1]

        30% of the people in the north smoke, and 10% of those in the south.
        """
        of_names, given_names = self._listed(of), self._listed(given)
        asked = {*map(self.place, of_names), *map(self.place, given_names)}
        if set(of_names) & set(given_names) or not of_names or not given_names:
            raise ArgumentValueError(
                f"of and given must name different columns of {list(self.names)}"
            )
        table = self.margin(*(self.names[place] for place in sorted(asked)))
        return Conditional(table, given_names)

    def _listed(self, names: Any) -> tuple[Hashable, ...]:
        if isinstance(names, list) or (isinstance(names, tuple) and names not in self.names):
            return tuple(names)
        return (names,)

    def estimate(self, name: Hashable) -> Estimate:
        """One private column by itself, over the rows of this table; with exact intervals."""
        alone = self.margin(name)
        (axis,) = alone.axes
        if axis.mechanism is None:
            raise ArgumentValueError(
                f"column {name!r} was taken as it stands; use table.margin({name!r})"
            )
        cell = Cell(self.n, alone.counted[: axis.m])
        return Estimate(Tally(axis.mechanism, {EVERYONE: cell}, self.missing), self.target)

    def mle(self) -> TidiedTable:
        """The table inside the simplex that makes the reports likeliest.

        Equal to the unbiased shares where those are inside and every column has as many reports
        as categories.  Biased towards small tables' even parts; it has no interval.
        Not for reports that name several categories: counts do not say which together.
        """
        wide = [axis.name for axis in self.axes if not axis.one_cell_each]
        if wide:
            raise ArgumentValueError(
                f"maximum likelihood is not there for column {wide[0]!r}, whose reports name "
                "several categories; project() gives shares in [0, 1] that sum to 1"
            )
        shares = self.proportions
        if self.n and not self._inside():
            shares = most_likely_table([axis.likelihood for axis in self.axes], self.counted)
            shares = fixed(contract(shares, [axis.shown.T for axis in self.axes]))
        return TidiedTable(self.axes, shares, self.n, "maximum likelihood")

    def _inside(self) -> bool:
        """Whether the unbiased shares solve the likelihood's equations inside the simplex."""
        square = all(axis.likelihood.shape == (axis.k, axis.k) for axis in self.axes)
        return square and bool((self.proportions > 0).all())

    def project(self) -> TidiedTable:
        """The table inside the simplex that is nearest to the unbiased shares (Euclidean)."""
        shares = self.proportions
        if self.n:
            shares = fixed(project_to_simplex(shares.ravel()).reshape(self.shape))
        return TidiedTable(self.axes, shares, self.n, "Euclidean projection")

    # -- for people ------------------------------------------------------------------------

    def _normalized(self, normalize: str) -> Conditional | None:
        if normalize == "all":
            return None
        if len(self.axes) < 2 or normalize not in ("index", "columns"):
            raise ArgumentValueError(
                "normalize must be 'all', 'index' (shares of the last column within the others) "
                f"or 'columns' (the reverse), and for these two or more columns, got {normalize!r}"
            )
        last = self.names[-1]
        others = list(self.names[:-1])
        if normalize == "index":
            return self.conditional(last, given=others)
        return self.conditional(others, given=last)

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        simultaneous: bool = False,
        normalize: str = "all",
    ) -> pd.DataFrame:
        """A tidy frame, one row a cell.

        Columns: the categories of each column of the data, under its name (with "_group" behind it
        where one of the following is called so); reported and naive (NaN where reports speak for
        no category), proportion, std_error, low, high, count.
        normalize : "all"; "index", shares of the last column within the others; or "columns",
            the reverse.  Then: the categories, proportion, std_error, low, high.
        """
        if (within := self._normalized(normalize)) is not None:
            return within.to_frame(level)
        low, high = self.interval(level, method=method, simultaneous=simultaneous)
        known = not np.isnan(self.reported).any()
        held: dict[str, NDArray[Any]] = {
            "reported": np.rint(self.reported).astype(np.int64) if known else self.reported,
            "naive": self.naive,
            "proportion": self.proportions,
            "std_error": self.std_error,
            "low": low,
            "high": high,
            "count": self.counts,
        }
        return long_frame(self.axes, held)

    def table(self, values: str = "proportion", *, normalize: str = "all") -> pd.DataFrame:
        """One number of each cell, with the last column's categories side by side.

        values : proportion, std_error, low, high (of 95% intervals), count, reported, naive or
            effective_n.
        normalize : as for `to_frame`, for shares and what belongs to them.
        """
        if values not in SHOWN:
            raise ArgumentValueError(f"values must be one of {list(SHOWN)}, got {values!r}")
        source: Any = self._normalized(normalize) or self
        if values in ("low", "high"):
            return wide_frame(self.axes, getattr(source.interval(), values))
        name = {"proportion": "proportions", "count": "counts"}.get(values, values)
        if source is not self and not hasattr(source, name):
            raise ArgumentValueError(
                f"values {values!r} are of the whole table; leave normalize out"
            )
        return wide_frame(self.axes, getattr(source, name))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        normalize: str = "all",
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Axes:
        """Draw the table as a heat map, with the interval of each cell in figures and drawn.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        normalize : {"all", "index", "columns"}
            Proportions of all, of each row or of each column, as in `to_frame`.
        title : str, optional
            Text above the table.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
            Of more than two columns, all but the last go down the side.
        """
        source: Any = self._normalized(normalize) or self
        values, low, high = (
            wide_frame(self.axes, values, words=True)
            for values in (source.proportions, *source.interval(level))
        )
        of = {"all": "all", "index": "each row", "columns": "each column"}[normalize]
        left = f", as much as {self.effective_size:,.0f} direct answers" if self.private else ""
        named = title or f"proportions of {of}: {self.n:,} rows{left}"
        ends = {"low": low, "high": high}
        return plot_cells(values, ax, **ends, level=level, title=named, figsize=figsize)

    def summary(self) -> str:
        """Whom the table is about, which columns were taken as privatized, and what is left."""
        plain = [name for name in self.names if name not in self.private]
        parts = [f"target {self.target!r}: n={self.n:,}"]
        if self.missing:
            parts.append(f"{self.missing:,} left out for missing values")
        if self.private:
            parts.append(f"privatized: {', '.join(map(str, self.private))}")
        if plain:
            parts.append(f"as they stand: {', '.join(map(str, plain))}")
        if self.private and self.n:
            parts.append(f"as much as {self.effective_size:,.0f} direct answers")
        return "; ".join(parts)

    def __repr__(self) -> str:
        shown = wide_frame(self.axes, self.proportions, words=True)
        body = shown.to_string(
            float_format="{:.4f}".format, max_rows=pd.get_option("display.max_rows")
        )
        return f"Crosstab for {self.summary()}\n{body}"

    def _repr_html_(self) -> str:
        shown = wide_frame(self.axes, self.proportions, words=True)
        body = shown.to_html(
            float_format="{:.4f}".format,
            escape=True,
            border=0,
            max_rows=pd.get_option("display.max_rows"),
        )
        return f"{body}<p>{html.escape(self.summary())}</p>"
