"""What every fitted regression answers: coefficients with their covariance, in a table that reads.

In the manner of statsmodels: `params`, `bse`, `zvalues`, `pvalues`, `conf_int`, `cov_params`,
`aic`, `bic`, `summary`.  A coefficient without a finite maximum is infinite and has no standard
error, rather than a large number with a larger one.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError

__all__ = [
    "RegressionResult",
    "WaldTest",
    "beside_profiles",
    "confidence",
    "standard_errors",
    "verdict",
]


@dataclass(frozen=True, repr=False)
class WaldTest:
    """A test of several coefficients at once: chi-squared, its degrees of freedom, the p-value."""

    statistic: float
    df: int
    pvalue: float

    def __repr__(self) -> str:
        what = "the coefficient is" if self.df == 1 else "the coefficients are all"
        return f"Wald test: {verdict(self.statistic, self.df, self.pvalue, f'{what} 0')}"


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

    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say of what other fits have, and this one has not, what there is instead."""
            why = type(self)._elsewhere.get(name)
            told = f"{type(self).__name__} has no {name}"
            raise AttributeError(told if why is None else f"{told}: {why}", name=name, obj=self)

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
        half = scipy.special.ndtri(0.5 + confidence(level) / 2) * self.bse
        return pd.DataFrame({"low": self.params - half, "high": self.params + half})

    def wald_test(self, terms: Any) -> WaldTest:
        """Test that some coefficients are all 0.

        With clustered errors and few clusters chi-squared rejects too often: of true nulls of 3
        covariates fixed within clusters, at 5%, it rejected 11% with 60 clusters, 55% with 8.

        terms : names of parameters, or an (r, p) matrix whose product with the coefficients
            is 0 under the hypothesis.  Of several categories names are pairs of category and
            covariate, and either alone means all parameters that have it.
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
        nested = isinstance(terms, list) and any(isinstance(one, list) for one in terms)
        kind = getattr(terms, "dtype", None)
        if nested or (isinstance(terms, np.ndarray) and np.issubdtype(kind, np.number)):
            try:
                found = np.atleast_2d(np.asarray(terms, dtype=np.float64))
            except (TypeError, ValueError):
                found = np.empty((0, 0))
            if found.ndim != 2 or found.shape[1] != self.df_model or not np.isfinite(found).all():
                raise ArgumentValueError(
                    f"terms must be a matrix of {self.df_model} columns of numbers, one for each "
                    f"parameter, or names of parameters, found the shape {found.shape}"
                )
            return found
        several = isinstance(terms, list | set | pd.Index | np.ndarray)
        named = list(terms) if several else [terms]
        places = [self._named(name) for name in named]
        strange = [name for name, place in zip(named, places, strict=True) if not place]
        if strange or not named:
            raise ArgumentValueError(
                f"terms must be names of parameters, {list(self.index)}, found {strange}"
            )
        return np.eye(self.df_model)[list(dict.fromkeys(itertools.chain(*places)))]

    def _named(self, name: Any) -> list[int]:
        """The places of the parameters of that name; of pairs also all with it in one level."""
        exact = [place for place, label in enumerate(self.index) if _equal(label, name)]
        if exact or self.index.nlevels == 1:
            return exact
        levels = [
            [place for place, label in enumerate(self.index) if _equal(label[level], name)]
            for level in range(self.index.nlevels)
        ]
        there = [found for found in levels if found]
        if len(there) > 1:
            both = " and a ".join(map(str, self.index.names))
            raise ArgumentValueError(
                f"terms has {name!r}, which is both a {both}; name pairs of {list(self.index)}"
            )
        return there[0] if there else []

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


def _equal(label: Any, name: Any) -> bool:
    """Whether a name is that label: 1 is not True."""
    return (
        isinstance(name, Hashable)
        and isinstance(label, bool) == isinstance(name, bool)
        and bool(label == name)
    )


def verdict(statistic: float, df: int, p: float, null: str = "") -> str:
    """What a test by chi-squared says of its null; without a null its numbers alone."""
    told = f"chi2({df}) = {statistic:.2f}, p = {p:.3g}"
    if not null:
        return told
    if np.isnan(p):
        return f"{told}; nothing can be said of whether {null}"
    if p <= 0.05:
        return f"{told}; the reports speak against it that {null}"
    return f"{told}; the reports do not contradict that {null}"


def confidence(level: object) -> float:
    """A confidence level of at least 0.5; a lower one is mostly meant as what it leaves out."""
    found = check_level(level)
    if found < 0.5:
        raise ArgumentValueError(
            f"level must be at least 0.5, got {found:g}: it is the confidence and not alpha, so "
            f"for alpha = {found:g} give level={1 - found:g}"
        )
    return found


def beside_profiles(profiles: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Predictions with the covariates that they are for in front, of the same rows.

    Covariates that are called as a column of the predictions get "profile_" before their names.
    """
    held = {
        f"profile_{name}" if name in found.columns else name: profiles[name].array
        for name in profiles.columns
    }
    return pd.concat([pd.DataFrame(held, index=found.index), found], axis=1)


def standard_errors(covariance: Floats) -> Floats:
    """Square roots of a diagonal; NaN where it is negative or not known."""
    diagonal = np.diagonal(covariance)
    return np.sqrt(np.where(diagonal >= 0, diagonal, np.nan))


def _written(number: float) -> str:
    """A number of the table in at most 6 digits."""
    return f"{number:.4f}" if 0.001 <= abs(number) < 1e5 or number == 0 else f"{number:.3e}"


def _rounded(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.2f}"
