"""What every fitted regression answers: coefficients with their covariance, in a table that reads.

In the manner of statsmodels: `params`, `bse`, `zvalues`, `pvalues`, `conf_int`, `cov_params`,
`aic`, `bic`, `summary`.  A coefficient without a finite maximum is infinite and has no standard
error, rather than a large number with a larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats.errors import ArgumentValueError
from rrstats.intervals import check_level

__all__ = ["RegressionResult", "WaldTest", "standard_errors"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WaldTest:
    """A test of several coefficients at once: chi-squared, its degrees of freedom, the p-value."""

    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegressionResult:
    """Coefficients of a fitted regression.

    title : what was fitted, in a line.  index : names of the parameters.
    estimates : (p,) their values.  covariance : (p, p), NaN where there is none.
    vcov : which covariance it is.  nobs : number of people.  log_likelihood : at the maximum.
    converged, iterations : how the maximum was reached.
    notes : sentences that belong under the table.
    """

    title: str
    index: pd.Index[Any]
    estimates: Floats
    covariance: Floats
    vcov: str
    nobs: int
    log_likelihood: float
    converged: bool
    iterations: int
    notes: Sequence[str] = field(default=())

    @property
    def params(self) -> pd.Series[float]:
        """The coefficients, by name."""
        return pd.Series(self.estimates, index=self.index, name="coef")

    def cov_params(self) -> pd.DataFrame:
        """(p, p) the covariance of the coefficients."""
        return pd.DataFrame(self.covariance, index=self.index, columns=self.index)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of the coefficients."""
        return pd.Series(standard_errors(self.covariance), index=self.index, name="std err")

    @property
    def zvalues(self) -> pd.Series[float]:
        """Coefficients over their standard errors."""
        return (self.params / self.bse).rename("z")

    tvalues = zvalues

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of coefficients of 0, by the normal law."""
        return pd.Series(
            2 * scipy.special.ndtr(-np.abs(self.zvalues.to_numpy())), index=self.index, name="P>|z|"
        )

    @property
    def df_model(self) -> int:
        """The number of parameters."""
        return len(self.estimates)

    @property
    def df_resid(self) -> int:
        """The number of people less the number of parameters."""
        return self.nobs - self.df_model

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log L + 2 p."""
        return -2 * self.log_likelihood + 2 * self.df_model

    @property
    def bic(self) -> float:
        """Schwarz's criterion, -2 log L + p log n."""
        return -2 * self.log_likelihood + self.df_model * float(np.log(self.nobs))

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Wald intervals of the coefficients: columns low and high."""
        half = scipy.special.ndtri(0.5 + check_level(level) / 2) * self.bse
        return pd.DataFrame({"low": self.params - half, "high": self.params + half})

    def wald_test(self, terms: Any) -> WaldTest:
        """Test that some coefficients are all 0.

        terms : names of parameters, or an (r, p) matrix whose product with the coefficients
            is 0 under the hypothesis.
        """
        contrasts = self._contrasts(terms)
        value = contrasts @ self.estimates
        spread = contrasts @ self.covariance @ contrasts.T
        rank = len(contrasts)
        if not (np.isfinite(spread).all() and np.linalg.matrix_rank(spread) == rank):
            raise ArgumentValueError(
                "these coefficients cannot be tested together: some have no standard error, or "
                "one follows from the others"
            )
        statistic = float(value @ np.linalg.solve(spread, value))
        return WaldTest(statistic, rank, float(scipy.special.chdtrc(rank, statistic)))

    def _contrasts(self, terms: Any) -> Floats:
        if isinstance(terms, np.ndarray) and np.issubdtype(terms.dtype, np.number):
            found = np.atleast_2d(terms.astype(np.float64))
            if found.ndim != 2 or found.shape[1] != self.df_model:
                raise ArgumentValueError(
                    f"terms must be a matrix of {self.df_model} columns, found {found.shape}"
                )
            return found
        named = list(terms) if isinstance(terms, list | set | pd.Index) else [terms]
        strange = [name for name in named if name not in self.index]
        if strange or not named:
            raise ArgumentValueError(
                f"terms must be names of parameters, {list(self.index)}, found {strange}"
            )
        return np.eye(self.df_model)[self.index.get_indexer_for(pd.Index(named))]

    # -- the table --------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A row for each parameter: coef, std_error, z, p, low, high."""
        bounds = self.conf_int(level)
        return pd.DataFrame(
            {
                "coef": self.params,
                "std_error": self.bse,
                "z": self.zvalues,
                "p": self.pvalues,
                "low": bounds["low"],
                "high": bounds["high"],
            }
        )

    def facts(self) -> list[tuple[str, str]]:
        """What stands above the table, as pairs of name and value."""
        return [
            ("people", f"{self.nobs:,}"),
            ("log-likelihood", f"{self.log_likelihood:.3f}"),
            ("AIC", f"{self.aic:.2f}"),
            ("BIC", f"{self.bic:.2f}"),
            ("standard errors", self.vcov),
            ("converged", f"{'yes' if self.converged else 'no'}, {self.iterations} iterations"),
        ]

    def remarks(self) -> list[str]:
        """What stands under the table, a sentence each."""
        return list(self.notes)

    def summary(self, level: float = 0.95) -> str:
        """The fit as text: what was fitted, the table, and what to know of it."""
        table = self.to_frame(level)
        ends = (0.5 - level / 2, 0.5 + level / 2)
        heads = ["coef", "std err", "z", "P>|z|", *(f"[{end:.4g}" for end in ends)]
        heads[-1] = heads[-1].removeprefix("[") + "]"
        body = table.to_string(
            header=heads,
            float_format=_written,
            formatters={"p": lambda p: "" if np.isnan(p) else f"{p:.3f}", "z": _rounded},
            na_rep="",
        )
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        top = "\n".join(f"{name:<{width}}  {value}" for name, value in facts)
        rule = "-" * max(len(line) for line in body.splitlines())
        parts = [self.title, rule, top, rule, body, rule, *self.remarks()]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.summary())}</pre>"


def standard_errors(covariance: Floats) -> Floats:
    """Square roots of a diagonal; NaN where it is negative or not known."""
    diagonal = np.diagonal(covariance)
    return np.sqrt(np.where(diagonal >= 0, diagonal, np.nan))


def _written(number: float) -> str:
    """A number of the table in at most 6 digits."""
    return f"{number:.4f}" if 0.001 <= abs(number) < 1e5 or number == 0 else f"{number:.3e}"


def _rounded(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.2f}"
