"""Ratios and means of proportions, with intervals, from the moments of an estimate.

A ratio of two sums of proportions is consistent, not unbiased; its standard error is that of the
delta method.  Intervals are the hull of Fieller's (with t quantiles) and of the empirical
likelihood's, at the effective sample size; each contains its estimate.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
import pandas as pd

from rrstats._checks import check_level
from rrstats._display import HeaderLines, counted, label
from rrstats._names import checked_options
from rrstats._typing import Floats, Indices, Labels
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.result import (
    Result,
    label_column,
    place_of,
    place_or_last,
    proportion_rows,
)
from rrstats.estimation.tallies.moments import LAST_DIGITS, Moments, contrast_errors
from rrstats.inference.contrasts import (
    Interval,
    fieller,
    mean_interval,
    ratio_interval,
    student_quantile,
    widen_outside,
)
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Ratio(NamedTuple):
    """A ratio or a mean, its standard error and its interval."""

    value: float
    std_error: float
    low: float
    high: float


def ratio_of_sums(
    moments: Moments, part: Floats, total: Floats, level: float, *, target: str
) -> Ratio:
    """The ratio of two sums of proportions, of which the first is part of the second.

    part, total : (k,) the weights of the proportions in each sum.
    """
    sums = np.stack([part, total])
    quantile = student_quantile(level, moments.df)
    numerator, denominator = (float(value) for value in sums @ moments.proportions)
    terms = np.abs(total).max() * np.abs(moments.proportions).sum()
    if abs(denominator) <= LAST_DIGITS * terms:
        denominator = 0.0  # nobody, but for rounding
    ratio = numerator / denominator if denominator else np.nan
    contrast = part - ratio * total
    size = abs(denominator or np.nan)
    std_error, largest_error = (error / size for error in contrast_errors(moments, contrast))
    if not np.isfinite(ratio) or moments.has_no_variance:
        return Ratio(ratio, std_error, 0.0, 1.0)
    intervals = []
    for covariance in moments.contrast_covariances(np.vstack([sums, contrast])):
        if covariance[2, 2] >= 0 or not moments.designed:
            products = covariance[[0, 0, 1], [0, 1, 1]]
            intervals.append(fieller(numerator, denominator, tuple(products), quantile**2))
    if target == "population" and moments.is_multinomial:
        # The ratio is at most 1, so the variance is taken at a ratio inside [0, 1].
        clipped = part - float(np.clip(ratio, 0, 1)) * total
        scores, counts, samples = moments.scored_sums(clipped, sums, level)
        accepted = ratio_interval(scores[:, None], counts, samples, level)
        intervals.append(Interval(*(end.item() for end in accepted)))
    hull = Interval(
        min((interval[0] for interval in intervals), default=0.0),
        max((interval[1] for interval in intervals), default=1.0),
    )
    low, high = widen_outside(ratio, float(quantile * largest_error), hull)
    return Ratio(ratio, std_error, low, high)


def scaled_mean(moments: Moments, scale: Floats, level: float, *, target: str) -> Interval:
    """The interval in [0, 1] of a mean of numbers from 0 to 1.

    scale : (k,) the number of each category.
    """
    mean = float(scale @ moments.proportions)
    _, largest_error = contrast_errors(moments, scale)
    if moments.has_no_variance or not np.isfinite(mean + largest_error):
        return Interval(0.0, 1.0)
    margin = float(student_quantile(level, moments.df) * largest_error)
    if target == "population" and moments.is_multinomial:
        accepted = mean_interval(*moments.scored_sums(scale, scale[None], level), level)
        interval = Interval(float(accepted.low[0]), float(accepted.high[0]))
    else:
        interval = Interval(mean - margin, mean + margin)
    return widen_outside(mean, margin, interval)


@dataclass(frozen=True, eq=False, repr=False)
class ProportionsAmong(Result):
    """Proportions among the people of some categories: ratios of estimated proportions.

    They are consistent, not unbiased.  ``among["often"]`` is one of them.  Standard errors are by
    the delta method; intervals lie inside [0, 1]: the hull of Fieller's (with t quantiles) and of
    the empirical likelihood's (at the effective sample size), and [0, 1] where there may be nobody.

    Attributes
    ----------
    categories : tuple of hashables
        The categories of these people.
    n : int
        The number of reports.
    codes : ndarray
        The places of the categories in the estimate.
    moments : Moments
        Those of the estimate.
    """

    categories: Labels
    n: int
    codes: Indices
    moments: Moments

    __iter__ = None  # a category is looked up by its name

    def __getitem__(self, category: Hashable) -> EstimatedNumber:
        place = place_of(category, self.categories, "these people")
        ratio = self._ratio(place, 0.95)
        among = ", ".join(map(label, self.categories))
        name = f"proportion of {label(category)} among {among}"
        ends = partial(self._interval_of, place)
        return EstimatedNumber(name, ratio.value, ratio.std_error, ends)

    def _interval_of(self, place: int, level: float) -> Interval[float]:
        """The interval of the proportion of one category."""
        ratio = self._ratio(place, level)
        return Interval(ratio.low, ratio.high)

    def _ratio(self, place: int, level: float) -> Ratio:
        """The proportion of one category, with an interval of a level."""
        everyone = np.zeros(self.moments.k)
        everyone[self.codes] = 1
        part = np.zeros(self.moments.k)
        part[self.codes[place]] = 1
        moments = self.moments
        return ratio_of_sums(moments, part, everyone, level, target=moments.target)

    @property
    def _header(self) -> HeaderLines:
        """The number of reports."""
        return [("n", f"{self.n:,}")]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each category.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns category, proportion, std_error, low and high.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["never", "once", "often", "never"] * 50
        >>> est = rr.estimate(reports, ["never", "once", "often"], 0.75)
        >>> among = est.among(["once", "often"])
        >>> among.to_frame()["proportion"].round(2).tolist()
        [0.5, 0.5]
        """
        level = check_level(level)
        rows = [self._ratio(place, level) for place in range(len(self.categories))]
        table = pd.DataFrame(rows, columns=["proportion", "std_error", "low", "high"])
        table.insert(0, "category", label_column(self.categories))
        return table

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The proportion of one category in a sentence.

        Parameters
        ----------
        category : hashable
            By default the last one.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["never", "once", "often", "never"] * 50
        >>> est = rr.estimate(reports, ["never", "once", "often"], 0.75)
        >>> among = est.among(["once", "often"])
        >>> print(among.interpret())
        the proportion of often among once, often is 50.0%, 95% interval 29.5% to 70.5%
        """
        place = place_or_last(category, self.categories, "these people")
        return self[self.categories[place]].interpret(level)

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the proportions with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
        """
        table = self.to_frame(level)
        ends = table["low"].to_numpy(), table["high"].to_numpy()
        rows = proportion_rows(self.categories, table["proportion"].to_numpy(), ends)
        options = {"title": counted(self.n, "report"), **options}
        return plot_intervals(rows, ax, xlabel="proportion", level=level, **options)
