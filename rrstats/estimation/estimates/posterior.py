"""Posterior probabilities of true answers, P(true answer | report), for a given prior.

A data curator can tell them to respondents: they are what a reader of the report can infer about an
answer, whose belief before was the prior.
Source: Bayes; van den Hout and Klugkist (2009) for general designs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd

from rrstats._checks import check_probability, check_proportions
from rrstats._display import HeaderLines, chance, label
from rrstats._names import checked_keywords
from rrstats._typing import ColumnLike, Floats, Labels, NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.data.codecs import codec_of
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.result import Result, label_column
from rrstats.estimation.report_columns.report_columns import ReportColumn, report_column
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.krr import MechanismLike
from rrstats.plots import FigureSize, plot_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorProbabilities(Result):
    """The probability of each true answer given each report.

    Attributes
    ----------
    probabilities : ndarray of shape (n, classes)
        One row for each report; ``np.asarray`` of the result is this array.
    categories : tuple of hashables
        The true answers.
    prior : ndarray of shape (classes,)
        The prior probabilities.
    reports : Index of n labels
        The reports; row numbers for reports of bits and for mechanisms with several samples.
    """

    _title: ClassVar[str] = "Posterior probabilities"

    probabilities: Floats
    categories: Labels
    prior: Floats
    reports: pd.Index

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.probabilities, dtype=dtype)

    @property
    def n(self) -> int:
        """The number of reports."""
        return len(self.reports)

    @property
    def _header(self) -> HeaderLines:
        """The number of reports and the prior."""
        prior = ", ".join(
            f"{label(category)} {chance(proportion)}"
            for category, proportion in zip(self.categories, self.prior, strict=True)
        )
        return [("n", f"{self.n:,}"), ("prior", f"({prior})")]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each report, one column for each true answer.

        Parameters
        ----------
        level : float
            Not used: there are no intervals.

        Returns
        -------
        DataFrame
            Probabilities, with the reports as index.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> found = rr.privacy.posterior(["yes"], m, {"no": 0.99, "yes": 0.01})
        >>> found.to_frame().round(3).to_dict("list")
        {'no': [0.971], 'yes': [0.029]}
        """
        labels = label_column(self.categories)
        columns = pd.Index(labels, name="true answer", tupleize_cols=False)
        return pd.DataFrame(self.probabilities, index=self.reports, columns=columns)

    def _distinct(self) -> pd.DataFrame:
        """One row for each distinct report, with labels as text."""
        frame = self.to_frame()
        return frame[~self.reports.duplicated()].rename(index=label, columns=label)

    def _table(self, level: float = 0.95) -> pd.DataFrame:
        return self._distinct().rename_axis(columns=None).reset_index(names="P(answer | report)")

    def _writer(self, column: pd.Series[Any]) -> Callable[[Any], str]:
        return "{:.4f}".format

    def interpret(self) -> str:
        """The report that raises a probability the most, in a sentence.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> found = rr.privacy.posterior(["yes"], m, {"no": 0.99, "yes": 0.01})
        >>> print(found.interpret())
        given the report yes, the true answer is yes with probability 2.941%; the prior was 1%
        """
        if not self.n:
            return "there is no report"
        gain = self.probabilities - self.prior
        row, answer = divmod(int(gain.argmax()), len(self.prior))
        return (
            f"given the report {label(self.reports[row])}, the true answer is "
            f"{label(self.categories[answer])} with probability "
            f"{chance(self.probabilities[row, answer])}; the prior was {chance(self.prior[answer])}"
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: FigureSize | None = None,
    ) -> Axes:
        """Draw the probabilities as a heat map, one row for each distinct report.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        title : str, optional
            Text above the picture, instead of the default.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
        """
        text = self._title if title is None else title
        return plot_cells(self._distinct(), ax, title=text, figsize=figsize)


@checked_keywords
def posterior(
    reports: Any,
    mechanism: MechanismLike,
    prior: NumbersByCategory,
    *,
    group: ColumnLike | None = None,
) -> PosteriorProbabilities:
    """Calculate P(true answer | report) from a prior.

    Parameters
    ----------
    reports : array-like of shape (n,)
    mechanism : Mechanism
        The mechanism of the reports.
    prior : sequence of floats, mapping or float
        Prior proportions of the true answers, which sum to 1: (classes,) in their order, or from
        answer to proportion; of two answers also a number, the proportion of the last.
    group : array-like of shape (n,), optional
        The sample of each report, for mechanisms with several samples.

    Returns
    -------
    PosteriorProbabilities
        A table of (n, classes) probabilities; ``probabilities`` is the array.  A missing report
        has the prior probabilities.

    Raises
    ------
    ArgumentValueError
        Reports are not those of the mechanism, or are impossible under the prior.

    Notes
    -----
    P(report | truth) prior(truth) / P(report).

    Examples
    --------
    >>> import rrstats as rr
    >>> posterior(["yes"], rr.KRR(["no", "yes"], 0.75), {"no": 0.99, "yes": 0.01})
    Posterior probabilities: n=1, prior=(no 99%, yes 1%)
      P(answer | report)      no     yes
      yes                 0.9706  0.0294
    """
    column = report_column(reports, mechanism, group=group)
    domain = cast(Mechanism, column.mechanism).domain
    proportions = proportions_of(prior, domain, "prior")
    joint = column.likelihood() * proportions
    absent = np.isnan(joint).any(axis=1)
    totals = joint.sum(axis=1, keepdims=True)
    impossible = int((totals == 0).sum())
    if impossible:
        raise ArgumentValueError(
            f"{impossible} of {len(joint)} reports are impossible under this design and prior"
        )
    probabilities = joint / totals
    probabilities[absent] = proportions
    return PosteriorProbabilities(probabilities, domain.labels, proportions, _labels(column))


def _labels(column: ReportColumn) -> pd.Index:
    """The reports if the probabilities depend on their labels alone, else row numbers."""
    codec = codec_of(cast(Mechanism, column.mechanism).report_space)
    if not codec.is_label or column.samples is not None:
        return pd.RangeIndex(column.rows, name="report")
    labels = np.empty(codec.domain.k + 1, dtype=object)
    labels[:] = [*codec.domain.labels, "(missing)"]
    reports: pd.Index = pd.Index(labels[column.codes()], dtype=object, tupleize_cols=False)
    return reports.rename("report")


def proportions_of(proportions: NumbersByCategory, space: Categories, name: str) -> Floats:
    """(k,) proportions that sum to 1, in the categories' order; 0 if not in the mapping.

    name : of the argument; of two categories a number is the proportion of the last.
    """
    if space.k == 2 and isinstance(proportions, Number):
        last = check_probability(proportions, name)
        return np.array([1 - last, last])
    if isinstance(proportions, Mapping | pd.Series):
        by_code = {space.code(label): proportion for label, proportion in proportions.items()}
        if space.k in by_code:
            raise ArgumentValueError(
                f"labels in {name} are not among the categories {space.describe()}"
            )
        in_order = [by_code.get(code, 0.0) for code in range(space.k)]
        return check_proportions(in_order, name, space.k)
    return check_proportions(proportions, name, space.k)
