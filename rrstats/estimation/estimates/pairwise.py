"""Differences of many groups, with p-values adjusted for their number.

Each is the difference of two groups by its default method, so groups of one sample with a design
are compared with their covariance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from rrstats._checks import check_one_of, quote_list
from rrstats._display import HeaderLines, counted, label
from rrstats._names import checked_options
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.result import (
    Result,
    formats_of,
    label_column,
    proportion_rows,
)
from rrstats.estimation.estimates.two_samples import TwoSamples, two_groups
from rrstats.inference.multiplicity import CORRECTIONS, adjusted_p_values
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_PAIRS = 5_000
"""Maximum number of pairs; a pair takes some milliseconds."""

_MAX_NAMED = 5
"""The number of differences that a sentence names."""

ALL: Any = object()
"""The reference of comparisons of every pair; any label may be that of a group."""


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseDifferences(Result):
    """Differences of the proportions of several groups, tested together.

    Attributes
    ----------
    pairs : mapping
        From the labels of two groups to their difference, the first minus the second.
    correction : str
        The correction of the p-values.
    """

    _formats = formats_of("{:.4f}", "difference", "p_value", "p_adjusted")
    _shown = ("difference", "low", "high", "p_adjusted", "p_value", "std_error")

    pairs: Mapping[tuple[Any, Any], TwoSamples]
    correction: str

    @property
    def _n_labels(self) -> int:
        """The columns of both groups and of the category."""
        return 3

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame of all pairs.

        Parameters
        ----------
        level : float
            Confidence level of each interval by itself.

        Returns
        -------
        DataFrame
            One row for each pair and category (the last alone, if there are two): first, second,
            category, difference (first minus second), std_error, low, high, p_value and p_adjusted.
            Groups with too few reports have NaN.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> pairs = groups.pairwise()
        >>> list(pairs.to_frame().columns)  # doctest: +NORMALIZE_WHITESPACE
        ['first', 'second', 'category', 'difference', 'std_error', 'low', 'high', 'p_value',
        'p_adjusted']
        """
        tables = []
        for (first, second), both in self.pairs.items():
            k = len(both.categories)
            columns = {
                "first": label_column((first,) * k),
                "second": label_column((second,) * k),
                "category": label_column(both.categories),
                "difference": both.differences,
                "std_error": both.std_error,
                **both.interval(level)._asdict(),
                "p_value": both.p_value,
            }
            table = pd.DataFrame(columns)
            tables.append(table.iloc[1:] if k == 2 else table)
        compared = pd.concat(tables, ignore_index=True)
        p_values = compared["p_value"].to_numpy(dtype=np.float64)
        compared["p_adjusted"] = adjusted_p_values(p_values, self.correction)
        return compared

    def interpret(self, level: float = 0.95) -> str:
        """The differences that remain significant after the correction, in a sentence.

        Parameters
        ----------
        level : float
            1 minus the adjusted p-value up to which a difference is named.

        Returns
        -------
        str
            The number of differences, and those with the smallest p-values.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> pairs = groups.pairwise()
        >>> print(pairs.interpret())
        of 1 difference, none is significant at 5% after the correction (holm)
        """
        table = self.to_frame(level)
        significant = table[table["p_adjusted"] <= 1 - level].sort_values("p_adjusted")
        among = f"of {counted(len(table), 'difference')}"
        alpha = f"{(1 - level) * 100:.10g}% after the correction ({self.correction})"
        if significant.empty:
            return f"{among}, none is significant at {alpha}"
        first = significant.head(_MAX_NAMED)
        facts = zip(_names(first), first["difference"], first["category"], strict=True)
        texts = [
            f"{name} {points * 100:+.1f} points of {label(category)}"
            for name, points, category in facts
        ]
        rest = len(significant) - len(texts)
        if rest:
            texts.append(f"and {rest} more")
        return f"{among}, {len(significant)} significant at {alpha}: {', '.join(texts)}"

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the differences with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of each interval by itself.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each pair and category, and a line at no difference.
        """
        table = self.to_frame(level)
        names = _names(table)
        if table["category"].nunique() > 1:
            texts = zip(names, table["category"], strict=True)
            names = [f"{name}: {label(category)}" for name, category in texts]
        rows = proportion_rows(names, table["difference"], (table["low"], table["high"]))
        xlabel = "difference of proportions"
        if table["category"].nunique() == 1:
            xlabel = f"difference of the proportion of {label(table['category'].iloc[0])}"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, bounds=(-1.0, 1.0), **options)

    @property
    def _title(self) -> str:
        """The kind of result."""
        return "Pairwise differences"

    @property
    def _header(self) -> HeaderLines:
        """The number of pairs, and the correction of their p-values."""
        return [("pairs", f"{len(self.pairs):,}"), ("correction", self.correction)]

    @property
    def notes(self) -> list[str]:
        """The level of the intervals, which are not adjusted."""
        return ["p_adjusted is for all rows together; each interval holds by itself"]


def _names(table: pd.DataFrame) -> list[str]:
    """The groups of each row, as a difference."""
    pairs = zip(table["first"], table["second"], strict=True)
    return [f"{label(first)} minus {label(second)}" for first, second in pairs]


def pairwise(
    groups: Mapping[Any, Any], reference: Hashable, correction: str
) -> PairwiseDifferences:
    """The differences of the estimates of groups; see `GroupEstimates.pairwise`."""
    check_one_of(correction, "correction", CORRECTIONS)
    labels = list(groups)
    if len(labels) < 2:
        raise ArgumentValueError(f"groups must be at least 2, found {len(labels)}")
    if reference is ALL:
        pairs = list(combinations(labels, 2))
    elif reference in labels:
        pairs = [(group, reference) for group in labels if group != reference]
    else:
        raise ArgumentValueError(
            f"reference must be one of the {len(labels)} groups {quote_list(labels)}"
        )
    if len(pairs) > _MAX_PAIRS:
        raise ArgumentValueError(
            f"at most {_MAX_PAIRS:,} pairs of groups are compared, found {len(pairs):,}; give "
            "reference, which the others are compared with"
        )
    differences = {pair: two_groups(groups[pair[0]], groups[pair[1]]) for pair in pairs}
    return PairwiseDifferences(differences, correction)
