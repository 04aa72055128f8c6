"""Linear regression by corrected scores: normal equations that are unbiased whatever the errors.

With D_x the design row if the privatized covariate were x, and s_x the unbiased score of the report
for it, E[sum_x s_x g(x) | truth t] = g(t) for any g.  So the equations

    sum_i w_i sum_x s_ix D_ix (y_i - D_ix' beta) = 0

have the mean of those with true categories.  Nothing is assumed of the errors, or of how the
covariate goes with the others.  Standard errors are sandwich ones.
Where groups lie far apart in the outcome, the outcome itself tells them apart, and the likelihood
(if errors are normal) is several times as precise; where effects are small both are alike.
Where noise leaves little, the corrected variation of a covariate comes out near 0 or below it;
then its effect is anything, and that is said.
Sources: Nakamura (1990); for privatized data, van den Hout and Kooiman (2006) on the same moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LowPrecisionWarning,
    NotIdentifiableError,
    RRStatsWarning,
)
from rrstats.regression.design_matrix import table_of
from rrstats.regression.effects import student_quantile
from rrstats.regression.likelihood import check_columns
from rrstats.regression.private_covariates import ModelData, PrivateCovariates
from rrstats.regression.results import (
    RegressionResult,
    beside_profiles,
    clusters_df,
    confidence,
    few_clusters,
)

_BLOCK = 1 << 16
"""Rows times profiles that are worked on at once."""

_TESTS = "scores have no likelihood; wald_test tests coefficients"

_NO_MODEL = (
    "scores have no model of the privatized covariates; a fit with method='likelihood' has, and "
    "rrstats.estimate gives their shares"
)

_FAINT = 2.0
"""Fewer standard errors of variation are within noise of none."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreResult(RegressionResult):
    """A linear regression by scores.

    sigma2 : the unbiased estimate of the errors' variance; noise may carry it below 0.
    effective_n : for each coefficient of a privatized covariate, from how many known answers it is
        as good: people times its variance if all were known, over its variance, both whatever the
        errors; NaN where noise leaves that below 0.
    signal : for each of these the variation of its column beside all others, by its standard error.
        Below 2 it is within noise of 0, and the effect may be anything.
    """

    sigma2: float
    effective_n: pd.Series[float]
    signal: pd.Series[float]
    data: ModelData

    @property
    def private(self) -> PrivateCovariates:
        """The privatized covariates."""
        return self.data.private

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "compare": _TESTS,
        "lr_test": _TESTS,
        "goodness_of_fit": _TESTS,
        "marginal_effects": "in a linear regression the coefficients are the effects, params with "
        "conf_int; where squares or interactions are in it, differences of predict, or a fit with "
        "method='likelihood'",
        "prevalence": "the outcome is a number; predict gives its mean for profiles",
        "posterior": _NO_MODEL,
        "shares": _NO_MODEL,
    }

    @property
    def _header(self) -> list[tuple[str, str]]:
        sigma = f"{np.sqrt(self.sigma2):.4g}" if self.sigma2 > 0 else "not known (noise)"
        return [*super()._header, ("error deviation", sigma)]

    @property
    def warnings(self) -> tuple[tuple[str, type[RRStatsWarning]], ...]:
        """Sentences on what the noise leaves open, and the warnings that they are."""
        thin = self.signal[~(self.signal >= _FAINT)]
        told = tuple(few_clusters(self.df))
        if not len(thin):
            return told
        text = (
            f"{len(thin)} coefficients of privatized covariates ({', '.join(thin.index[:5])}"
            f"{', ...' * (len(thin) > 5)}) may be anything: beside the other covariates, "
            f"their columns vary by {thin.min():.1f} standard errors at the least, which is within "
            "noise of 0; leave covariates out, or ask more people."
        )
        return ((text, LowPrecisionWarning), *told)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that stand under the table."""
        found = [text for text, _ in self.warnings]
        if len(self.effective_n):
            worth = "; ".join(f"{name} {n:,.0f}" for name, n in self.effective_n.dropna().items())
            worth = worth or "not known (noise)"
            found.append(f"{self.nobs:,} reports tell as much as so many known answers: {worth}.")
        return tuple(found)

    def predict(self, data: Any = None, level: float = 0.95) -> pd.DataFrame:
        """The expected outcome for profiles.

        Parameters
        ----------
        data : DataFrame or mapping
            All covariates; those that were privatized hold *true* categories.  The people of the
            fit will not do: their categories are not known, and scores have no model of them.
        level : float
            Confidence of the intervals.

        Returns
        -------
        DataFrame
            The covariates, then prediction, std_error, low and high.
        """
        if data is None:
            raise ArgumentTypeError(
                "predict needs data, profiles with the true categories of the privatized "
                f"covariates {list(self.private.names)}: those of the people of the fit are not "
                "known, and scores have no model of them (method='likelihood' has)"
            )
        half = student_quantile(confidence(level), self.df)
        frame = table_of(data)
        if not isinstance(frame, pd.DataFrame):
            raise ArgumentValueError("data must be a frame with the covariates as columns")
        known = self.private.codes(frame)
        matrices = np.stack(self.data.matrices(frame))
        matrix = matrices[known, np.arange(len(frame))]
        value = matrix @ self.estimates
        error = np.sqrt(np.maximum(np.einsum("rp,pq,rq->r", matrix, self.covariance, matrix), 0))
        found = pd.DataFrame(
            {
                "prediction": value,
                "std_error": error,
                "low": value - half * error,
                "high": value + half * error,
            },
            index=frame.index,
        )
        labels = {str(label): label for label in frame.columns}
        wanted = dict.fromkeys(map(str, (*self.data.design.sources, *self.private.names)))
        shown = [labels[name] for name in wanted]
        return beside_profiles(frame[shown], found)


def score_fit(y: Floats, data: ModelData, outcome: str) -> ScoreResult:
    """Solve the equations.

    outcome : what it is called in the title.
    """
    names, order, same, varying = data.names, data.order, data.same, data.varying
    scores = data.private.scores(data.keep, len(y))
    check_columns(same, varying, [names[place] for place in order], 0)
    squares = np.sqrt(np.concatenate([(same**2).mean(axis=0), (varying**2).mean(axis=(0, 1))]))
    equations = _Equations(y, scores, same, varying, data.weights)
    gram, cross = equations.moments(squares)
    try:
        bread = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        raise NotIdentifiableError(
            "the reports cancel one another: the corrected sums of squares of the covariates have "
            "no inverse; more people are needed"
        ) from None
    beta, b = bread @ cross, len(squares)
    meat, known, sigma2 = equations.spread(squares, beta, data.clusters)
    covariance = bread @ meat @ bread
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.diag(bread @ known @ bread) / np.diag(covariance)
    worth = len(y) * np.minimum(parts, 1.0)  # above 1 it is noise, or rounding
    tail = [names[j] for j in order[same.shape[1] :]]
    signal = equations.signal(squares, bread)[same.shape[1] :]
    place = np.argsort(order)
    scale = 1 / squares[place]
    return ScoreResult(
        title=f"Linear regression of {outcome} by scores, {data.private.listed}",
        index=pd.Index(list(names), dtype=object),
        estimates=beta[place] * scale,
        covariance=covariance[np.ix_(place, place)] * np.outer(scale, scale),
        vcov="robust" if data.clusters is None else "clustered",
        nobs=len(y),
        llf=np.nan,
        converged=True,
        iterations=1,
        sigma2=sigma2,
        effective_n=pd.Series(
            np.where(worth > 0, worth, np.nan)[same.shape[1] : b],
            index=pd.Index(tail, dtype=object),
            name="effective_n",
        ),
        signal=pd.Series(signal, index=pd.Index(tail, dtype=object), name="signal"),
        data=data,
        df=clusters_df(data.clusters, b),
    )


@dataclass(frozen=True, eq=False)
class _Equations:
    """Sums over rows and profiles, columns divided by their sizes."""

    y: Floats
    scores: Floats
    same: Floats
    varying: Floats
    weights: Floats

    def _blocks(self, sizes: Floats) -> Any:
        """Blocks of rows with their (C, rows, b) designs and (C, rows) scores."""
        count = max(_BLOCK // len(self.varying), 64)
        for start in range(0, len(self.y), count):
            rows = slice(start, start + count)
            varying = self.varying[:, rows]
            same = np.broadcast_to(self.same[rows], (len(varying), *self.same[rows].shape))
            yield rows, np.concatenate([same, varying], axis=2) / sizes, self.scores[rows].T

    def moments(self, sizes: Floats) -> tuple[Floats, Floats]:
        """(b, b) corrected sums of squares and (b,) products with the outcome."""
        gram, cross = np.zeros((len(sizes), len(sizes))), np.zeros(len(sizes))
        for rows, design, scores in self._blocks(sizes):
            heavy = (scores * self.weights[rows])[:, :, None] * design
            gram += np.einsum("crb,crd->bd", heavy, design, optimize=True)
            cross += np.einsum("crb,r->b", heavy, self.y[rows], optimize=True)
        return (gram + gram.T) / 2, cross

    def signal(self, sizes: Floats, bread: NDArray[Any]) -> Floats:
        """(b,) the sum of squares of each column beside all others, by its standard error."""
        own = bread / np.diag(bread)  # column j residualizes column j
        total, square = np.zeros(len(sizes)), np.zeros(len(sizes))
        for rows, design, scores in self._blocks(sizes):
            each = np.einsum("cr,crb->rb", scores, (design @ own) ** 2, optimize=True)
            each *= self.weights[rows, None]
            total += each.sum(axis=0)
            square += (each**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / np.sqrt(square - total**2 / len(self.y)))

    def spread(
        self, sizes: Floats, beta: Floats, clusters: NDArray[np.intp] | None
    ) -> tuple[Floats, Floats, float]:
        """Two (b, b) sums of products of the equations of rows or clusters; errors' variance.

        The second sum estimates what the first were if all categories were known: of a row by its
        scores, which are unbiased for that, too; products of two rows have the same mean in both.
        """
        n, b = len(self.y), len(beta)
        alone, known, errors = np.zeros((b, b)), np.zeros((b, b)), 0.0
        groups = None if clusters is None else np.zeros((int(clusters.max()) + 1, b))
        for rows, design, scores in self._blocks(sizes):
            residual, weight = self.y[rows] - design @ beta, self.weights[rows]
            each = np.einsum("cr,crb->rb", scores * residual, design, optimize=True)
            each *= weight[:, None]
            errors += float(((scores * residual**2).sum(axis=0) * weight).sum())
            alone += each.T @ each
            flat = design.reshape(-1, b)
            known += flat.T @ ((scores * (weight * residual) ** 2).reshape(-1, 1) * flat)
            if groups is not None and clusters is not None:
                np.add.at(groups, clusters[rows], each)
        factor, meat = n / (n - b), alone
        if groups is not None:
            factor = len(groups) / (len(groups) - 1) * (n - 1) / (n - b)
            meat = groups.T @ groups
        return meat * factor, (meat - alone + known) * factor, errors / (n - b)
