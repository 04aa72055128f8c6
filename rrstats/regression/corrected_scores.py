"""Linear regression by corrected scores: normal equations that are unbiased for any errors.

With D_x the design row if the privatized covariate were x, and s_x the unbiased score of the report
for it, E[sum_x s_x g(x) | truth t] = g(t) for any g.  So the equations

    sum_i w_i sum_x s_ix D_ix (y_i - D_ix' beta) = 0

have the same mean as those with true categories.  There is no assumption about the errors, or about
the dependence between covariates.  Standard errors are sandwich estimates.
If groups are far apart in the outcome, the outcome identifies them, and the likelihood (if errors
are normal) is several times as precise; if effects are small both methods are similar.
If noise is too large, the corrected variation of a covariate is near 0 or below it; then its effect
cannot be estimated, and a warning says so.
Sources: Nakamura (1990); for privatized data, van den Hout and Kooiman (2006) on the same moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, LowPrecisionWarning, RRStatsWarning
from rrstats.inference.contrasts import student_quantile
from rrstats.regression.design_matrix import table_of
from rrstats.regression.likelihood import check_columns, clustered_covariance
from rrstats.regression.private_covariates import ModelData
from rrstats.regression.results import LikelihoodResult, RegressionResult, clusters_df, confidence

_FAINT = 2.0
"""A signal below this is not significantly different from 0."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreResult(RegressionResult):
    """A linear regression by scores.

    Attributes
    ----------
    sigma2 : float
        The unbiased estimate of the errors' variance; noise may make it negative.
    effective_n : Series
        Effective sample size of each coefficient of a privatized covariate: people times the ratio
        of its variance with known answers to its variance, both for any errors; NaN where noise
        makes this negative.
    signal : Series
        For each of these, the variation of its column given all others, divided by its standard
        error.  Below 2 it is not significantly different from 0, and the effect is not reliable.
    """

    sigma2: float
    effective_n: pd.Series[float]
    signal: pd.Series[float]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise with the alternative for attributes that only likelihood fits have."""
            told = f"ScoreResult has no {name}"
            if hasattr(LikelihoodResult, name):
                told += (
                    ": scores have no likelihood and no model of the privatized covariates; use "
                    "wald_test, params or predict, or fit with method='likelihood'"
                )
            raise AttributeError(told, name=name, obj=self)

    @property
    def _header(self) -> list[tuple[str, str]]:
        sigma = f"{np.sqrt(self.sigma2):.4g}" if self.sigma2 > 0 else "not known (noise)"
        return [*super()._header, ("error deviation", sigma)]

    @property
    def warnings(self) -> tuple[tuple[str, type[RRStatsWarning]], ...]:
        """Texts and classes of the warnings of this fit."""
        thin = self.signal[~(self.signal >= _FAINT)]
        if not len(thin):
            return super().warnings
        text = (
            f"{len(thin)} coefficients of privatized covariates ({', '.join(thin.index[:5])}"
            f"{', ...' * (len(thin) > 5)}) are not reliable: the variation of their columns is "
            f"only {thin.min():.1f} standard errors from 0; leave covariates out, or ask more "
            "people."
        )
        return ((text, LowPrecisionWarning), *super().warnings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences below the table."""
        note = [self._effective_n_note(self.effective_n)] * bool(len(self.effective_n))
        return (*super().notes, *note)

    def predict(self, data: Any = None, level: float = 0.95) -> pd.DataFrame:
        """The expected outcome for profiles.

        Parameters
        ----------
        data : DataFrame or mapping
            All covariates; privatized ones hold *true* categories.  It is required: the categories
            of the people of the fit are not known, and scores have no model of them.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The covariates, then prediction, std_error, low and high.
        """
        if data is None:
            raise ArgumentTypeError(
                "predict needs data: profiles with true categories of the privatized covariates "
                f"{list(self.private.names)}, which are not known for the people of the fit"
            )
        frame, half = table_of(data), student_quantile(confidence(level), self.df)
        known, matrices = self.private.codes(frame), np.stack(self.data.matrices(frame))
        matrix = matrices[known, np.arange(len(frame))]
        value = matrix @ self.estimates
        error = np.sqrt(np.maximum(np.einsum("rp,pq,rq->r", matrix, self.covariance, matrix), 0))
        columns = {"prediction": value, "std_error": error}
        columns |= {"low": value - half * error, "high": value + half * error}
        return self.data.beside(frame, pd.DataFrame(columns, index=frame.index))


def score_fit(y: Floats, data: ModelData, title: str) -> ScoreResult:
    """Solve the equations."""
    s, n = data.same.shape[1], len(y)
    scores = data.private.told(data.rows, data.keep, scores=True).T
    check_columns(data.same, data.varying, data.ordered, 0)
    alike = np.broadcast_to(data.same, (len(data.varying), *data.same.shape))
    design = np.concatenate([alike, data.varying], axis=2)
    sizes = np.sqrt((design**2).mean(axis=(0, 1)))
    design = design / sizes
    heavy = (scores * data.weights)[:, :, None] * design

    def information(rows: Any) -> Floats:
        part = np.einsum("crb,crd->bd", heavy[:, rows], design[:, rows], optimize=True)
        return np.asarray((part + part.T) / 2)

    bread = np.asarray(np.linalg.inv(information(slice(None))), np.float64)
    beta = bread @ np.einsum("crb,r->b", heavy, y)
    residual = y - design @ beta
    each, noise = _equations(design, scores, residual, data.weights)
    factor = n / (n - len(beta))
    covariance = factor * bread @ each.T @ each @ bread
    if data.clusters is not None:
        covariance = clustered_covariance(each, data, bread, information)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = 1 - factor * np.diag(bread @ noise @ bread) / np.diag(covariance)
    # above 1 it is noise, or rounding; up to 0 it is not known
    effective_n = np.where(parts > 0, n * np.minimum(parts, 1.0), np.nan)
    signal = _signal(design, scores * data.weights, bread)
    place, tail = np.argsort(data.order), pd.Index(data.ordered[s:], dtype=object)
    scale = 1 / sizes[place]
    return ScoreResult(
        title=title,
        index=pd.Index(list(data.names), dtype=object),
        estimates=beta[place] * scale,
        covariance=covariance[np.ix_(place, place)] * np.outer(scale, scale),
        vcov="robust" if data.clusters is None else "clustered",
        nobs=n,
        sigma2=float((scores * residual**2 * data.weights).sum() / (n - len(beta))),
        effective_n=pd.Series(effective_n[s:], tail, name="effective_n"),
        signal=pd.Series(signal[s:], tail, name="signal"),
        data=data,
        df=clusters_df(data.clusters, len(beta)),
    )


def _signal(design: Floats, heavy: Floats, bread: Floats) -> Floats:
    """(b,) the sum of squares of each column beside all others, by its standard error."""
    own = bread / np.diag(bread)  # column j residualizes column j
    each = np.einsum("cr,crb->rb", heavy, (design @ own) ** 2)
    total = each.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / np.sqrt((each**2).sum(axis=0) - total**2 / len(each)))


def _equations(
    design: Floats, scores: Floats, residual: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """(rows, b) the equations of the rows, and (b, b) what of their products is noise.

    That is their sum of products less what it were if all categories were known: of a row by its
    scores, which are unbiased for that, too; products of two rows have the same mean in both.
    """
    left = weights * residual
    each = np.einsum("cr,crb->rb", scores * left, design)
    known = np.einsum("crb,crd->bd", (scores * left**2)[:, :, None] * design, design, optimize=True)
    return each, each.T @ each - known
