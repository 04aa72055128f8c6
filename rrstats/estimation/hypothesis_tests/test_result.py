"""The result of a hypothesis test, and what makes one from a statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_alpha,
)
from rrstats._display import HeaderLines, Notes, wrap
from rrstats._typing import Floats
from rrstats.estimation.estimates.result import (
    Result,
    formats_of,
)
from rrstats.inference.contrasts import (
    wald_statistic,
)
from rrstats.inference.multinomial import (
    chi_squared_test,
)

MAX_IN_WORDS = 6
"""Maximum number of proportions in the words of a null hypothesis."""


@dataclass(frozen=True, repr=False)
class TestResult(Result):
    """Result of a hypothesis test.

    Attributes
    ----------
    null : str
        The null hypothesis, such as "independence".
    statistic : float
        The test statistic; its distribution is chi-squared unless ``method`` names F or exact
        p-values.
    df : int
        Degrees of freedom.
    p_value : float
        Probability, under the null hypothesis, of a statistic at least as large as this one.
    method : str
        The test in words.
    n : int
        The number of reports.
    effective_n : float or None
        Effective sample size: the number of direct answers with the same power, averaged over
        all alternatives; None where it is not known.
    notes : tuple of str
        Sentences that a reader must know.
    """

    __test__: ClassVar[bool] = False  # pytest must not collect this class
    _formats = formats_of("{:.6g}", "statistic", "p_value")
    _shown = ("p_value", "statistic", "df", "n", "effective_n")

    null: str
    statistic: float
    df: int
    p_value: float
    method: str
    n: int
    effective_n: float | None = None
    notes: Notes = ()

    @property
    def _header(self) -> HeaderLines:
        """The method."""
        return [("method", self.method)]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The result as one row.

        Parameters
        ----------
        level : float
            Not used: a test has no interval.

        Returns
        -------
        DataFrame
            Columns null, statistic, df, p_value, n, effective_n and method.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no"] * 64 + ["yes"] * 36 + ["no"] * 50 + ["yes"] * 50
        >>> area = ["north"] * 100 + ["south"] * 100
        >>> groups = rr.estimate(reports, ["no", "yes"], 0.75, by=area)
        >>> test = rr.hypotheses.homogeneity(groups)
        >>> test.to_frame()[["statistic", "df", "p_value"]].round(3)
           statistic  df  p_value
        0      3.998   1    0.046
        """
        names = ("null", "statistic", "df", "p_value", "n", "effective_n", "method")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})

    def interpret(self, alpha: float = 0.05) -> str:
        """The result in a sentence.

        Parameters
        ----------
        alpha : float
            Significance level: the null hypothesis is rejected if the p-value is at most alpha.

        Returns
        -------
        str
            Whether the null hypothesis is rejected, with the p-value.

        Examples
        --------
        >>> TestResult("independence", 4.0, 1, 0.0455, "Pearson's test", 100).interpret()
        'Independence is rejected (p = 0.0455)'
        """
        if np.isnan(self.p_value):
            return f"there is no p-value for {self.null}"
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.4f}"
        rejected = self.p_value <= check_alpha(alpha)
        return (
            f"{self.null[0].upper()}{self.null[1:]} is {'' if rejected else 'not '}rejected ({p})"
        )

    def __repr__(self) -> str:
        lines = [
            f"TestResult: {self.interpret()}",
            f"{self.method}: statistic {self.statistic:.6g}, df {self.df}, n = {self.n:,}",
        ]
        if self.effective_n is not None and self.n:
            digits = ".1f" if self.effective_n < 10 else ",.0f"
            lines.append(
                f"effective sample size {self.effective_n:{digits}} of {self.n:,} "
                f"({self.effective_n / self.n:.2g})"
            )
        return "\n".join([*lines, *map(wrap, self.notes)])


Outcome = tuple[str, float, int, float, Notes]
"""The method in words, the statistic, its degrees of freedom, the p-value, and notes."""


def result_of(
    null: str, n: int, outcome: Outcome, effective_n: float = np.nan, *, notes: Notes = ()
) -> TestResult:
    """The result of a test; notes of the outcome come last."""
    method, statistic, df, p_value, outcome_notes = outcome
    return TestResult(
        null=null,
        statistic=statistic,
        df=df,
        p_value=p_value,
        method=method,
        n=int(n),
        effective_n=None if np.isnan(effective_n) else float(effective_n),
        notes=notes + outcome_notes,
    )


def untested(df: int, note: str = "there are no reports") -> Outcome:
    """The outcome of a test that is not possible."""
    return "none", np.nan, df, np.nan, (note,)


def by_wald(
    method: str,
    shift: Floats,
    covariance: Floats,
    df: float = np.inf,
    *,
    notes: Notes = (),
    scale: float = 0.0,
) -> Outcome:
    """The outcome of Wald's test of a shift that sums to 0.

    df : degrees of freedom of the covariance; if finite, the p-value is from Hotelling's F.
    scale : the size of the terms that were summed to the covariance, where they are larger.
    """
    value, rank = wald_statistic(shift, covariance, scale)
    value, p_value = chi_squared_test(value, rank, df)
    if df < np.inf:
        method += f", F with {rank} and {max(df - rank + 1, 0):.4g} degrees of freedom"
    if np.isnan(p_value):
        notes += ("too few different clusters, rows or reports for this test",)
    return method, value, rank, p_value, notes
