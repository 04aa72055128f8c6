"""Tables that fits make: predictions, marginal effects, odds ratios, intercepts and areas.

A table holds its estimates with their standard errors, and a function from a confidence level to
the ends of the intervals, because these are computed on the scale where estimates are nearly
normal: their own, the logit, the logarithm of a ratio, or that of the link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_level
from rrstats._display import CellFormats, HeaderLines, Notes, label, percent_range
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import Floats, Limits
from rrstats.estimation.estimates.result import Result, formats_of
from rrstats.inference.contrasts import student_quantile
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ends = Callable[[float], tuple[Floats, Floats]]
"""Lower and upper ends of the intervals of all rows, by confidence level."""

_MAX_SENTENCES = 10
"""Rows that are interpreted one by one; of more the smallest and the largest."""


def written(number: float) -> str:
    """A number of a table as text; nothing where it is not known."""
    if np.isnan(number):
        return ""
    plain = 0.001 <= abs(number) < 1e5 or number == 0 or np.isinf(number)
    return f"{number:.4f}" if plain else f"{number:.3e}"


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FitTable(Result):
    """Estimates of a fit with their intervals, one in each row.

    Attributes
    ----------
    kind : str
        The estimates in words, such as "average marginal effects".
    model : str
        The title of the fit.
    n : int
        The number of respondents of the fit.
    estimate : str
        The column of the estimates.
    labels : DataFrame
        The columns that name the rows; without columns its index names them.
    numbers : DataFrame
        The other columns, except the ends of the intervals.
    ends : callable
        The ends of the intervals by confidence level.
    notes : tuple of str
        Sentences that a reader of the table must know.
    sort : bool
        Whether the picture has the largest estimate first, as a caterpillar plot.
    reference : float
        The place of the vertical line of the picture.

    Examples
    --------
    >>> import rrstats as rr
    >>> fit = rr.logit(
    ...     ["no", "yes"] * 4,
    ...     [[age] for age in (20, 20, 30, 30, 40, 40, 50, 50)],
    ...     mechanism=rr.KRR(["no", "yes"], 0.9),
    ...     frequencies=[70, 30, 60, 40, 50, 50, 45, 55],
    ... )
    >>> fit.predict([[20], [50]])
    Predictions: people=400, model=Logit regression of the answer being 'yes', from reports
      x1  proportion     low    high  std_error
      20      0.2677  0.1869  0.3675     0.0464
      50      0.5843  0.4799  0.6817     0.0522
    >>> fit.marginal_effects().interpret(level=0.9)
    'x1, slope: 0.0103, 90% interval 0.0062 to 0.0144'

    About 27% of people of 20 and 58% of people of 50 would truly answer yes: 1 in 100 more for each
    year.
    """

    _formats: ClassVar[CellFormats] = {
        **formats_of("{:,.0f}", "people", "reports"),
        **dict.fromkeys(("prediction", "effect", "odds_ratio", "intercept"), written),
        **dict.fromkeys(("low", "high", "std_error"), written),
        "without_reports": "{:.4f}".format,
        "z": "{:.2f}".format,
        "p_value": "{:.3f}".format,
    }
    _shown = (
        *("proportion", "prediction", "effect", "odds_ratio", "intercept"),
        *("low", "high", "std_error", "z", "p_value", "people", "reports", "without_reports"),
    )

    kind: str
    model: str
    n: int
    estimate: str
    labels: pd.DataFrame
    numbers: pd.DataFrame
    ends: Ends
    notes: Notes = ()
    sort: bool = False
    reference: float = 0.0

    @property
    def _title(self) -> str:
        """The estimates in words."""
        return self.kind.capitalize()

    @property
    def _header(self) -> HeaderLines:
        """The number of respondents, and the model."""
        return [("people", f"{self.n:,}"), ("model", self.model)]

    @property
    def _n_labels(self) -> int:
        """The columns of labels, or the one in their place."""
        return max(1, self.labels.shape[1])

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The estimates as a frame.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The labels of the rows, then the estimates, their standard errors, low and high.  A
            label that is called as one of these gets ``profile_`` before its name.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.odds_ratios().to_frame().round(2)
          covariate  odds_ratio     z  p_value   low  high
        0        x1        1.17  0.96     0.34  0.85  1.61
        """
        low, high = self.ends(check_level(level))
        numbers = self.numbers.assign(low=low, high=high)
        labels = self.labels.rename(columns={name: f"profile_{name}" for name in numbers})
        return pd.concat([labels, numbers], axis=1)

    def _table(self) -> pd.DataFrame:
        """The frame for printing, with the labels of the index where there are no others."""
        if self.labels.shape[1]:
            return super()._table()
        rows = pd.DataFrame({"row": self._names}, index=self.labels.index)
        return replace(self, labels=rows)._table()

    @property
    def _names(self) -> list[str]:
        """The label of each row, as text."""
        labels = self.labels if self.labels.shape[1] else self.labels.index.to_frame()
        return [", ".join(map(label, row)) for row in labels.itertuples(index=False, name=None)]

    @property
    def _is_proportion(self) -> bool:
        return self.estimate == "proportion"

    def interpret(self, level: float = 0.95) -> str:
        """The estimates in sentences.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str
            A line for each row; of more than ten for the smallest and the largest.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> print(fit.odds_ratios().interpret())
        x1: 1.1702, 95% interval 0.8485 to 1.6140
        """
        frame = self.to_frame(level)
        names = self._names
        places = np.argsort(frame[self.estimate].to_numpy(), kind="stable")
        places = places[: frame[self.estimate].notna().sum()]
        lines = []
        if len(frame) > _MAX_SENTENCES:
            lines.append(f"{len(frame):,} {self.kind}; the smallest and the largest:")
            places = places[[0, -1]] if len(places) else places
        else:
            places = np.sort(places)
        for place in places:
            row = frame.iloc[place]
            estimate, low, high = row[self.estimate], row["low"], row["high"]
            value = f"{estimate:.1%}" if self._is_proportion else written(estimate)
            interval = "no interval"
            if not np.isnan(low):
                ends = f"{written(low)} to {written(high)}"
                ends = percent_range(low, high) if self._is_proportion else ends
                interval = f"{level * 100:.10g}% interval {ends}"
            lines.append(f"{names[place]}: {value}, {interval}")
        return "\n".join(lines)

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the estimates with their intervals.

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
            One row for each estimate.  Intercepts and areas are sorted (a caterpillar plot), the
            axis of odds ratios is logarithmic.
        """
        frame = self.to_frame(level)
        rows = frame[[self.estimate, "low", "high"]].set_axis(["estimate", "low", "high"], axis=1)
        rows.index = pd.Index(self._names, dtype=object)
        is_ratio = self.estimate == "odds_ratio"
        if is_ratio:
            with np.errstate(divide="ignore"):
                rows = rows.transform(np.log)
        options = {"title": f"{self._title}\n{self.model}", "sort": self.sort, **options}
        return plot_intervals(
            rows,
            ax,
            xlabel=self.estimate.replace("_", " "),
            level=level,
            bounds=(0.0, 1.0) if self._is_proportion else None,
            reference=self.reference,
            exponential=is_ratio,
            **options,
        )


# -- ends of intervals -----------------------------------------------------------------------


def wald_ends(estimates: Floats, errors: Floats, df: Any, level: float) -> Limits:
    """Ends on the scale of the estimates, by the normal or Student's t."""
    half = student_quantile(level, df) * errors
    return estimates - half, estimates + half


def logit_ends(estimates: Floats, errors: Floats, df: Any, level: float) -> Limits:
    """Ends of proportions on the logit scale; at 0 and 1 on the scale of proportions."""
    half = student_quantile(level, df) * errors
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = scipy.special.logit(estimates)
        margin = half / (estimates * (1 - estimates))
        low = scipy.special.expit(middle - margin)
        high = scipy.special.expit(middle + margin)
    low = np.where(np.isnan(low), np.clip(estimates - half, 0, 1), low)
    high = np.where(np.isnan(high), np.clip(estimates + half, 0, 1), high)
    return low, high


def ratio_ends(logarithms: Floats, errors: Floats, df: Any, level: float) -> Limits:
    """Ends of ratios from those of their logarithms."""
    low, high = wald_ends(logarithms, errors, df, level)
    return np.exp(low), np.exp(high)
