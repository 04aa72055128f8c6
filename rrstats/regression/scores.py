"""Linear regression by scores: normal equations that are unbiased for any errors.

With D_x the design row if the privatized covariate were x, and s_x the unbiased score of the report
for it, E[sum_x s_x g(x) | truth t] = g(t) for any g.  So the equations

    sum_i w_i sum_x s_ix D_ix (y_i - D_ix' beta) = 0

have the same mean as those with true categories.  There is no assumption about the errors, or about
the dependence between covariates.  They need the second moments of the columns and the outcome,
M_DD beta = M_Dy: of a whole frame from all rows, of columns of which a plan asked each row a part
from the rows that were asked two at a time (`part_equations`).
Standard errors are sandwich estimates from the influence of each row on the equations, also by
strata and clusters; by replicate weights the equations are solved again.
If groups are far apart in the outcome, the outcome identifies them, and the likelihood (if errors
are normal) is several times as precise; if effects are small both methods are similar.
If noise is too large, the corrected variation of a covariate is near 0 or below it; then its effect
cannot be estimated, and a warning says so.
Moments of a plan may belong to no distribution.  Then the variation of the private columns beside
the ordinary ones is replaced by the nearest positive definite matrix (in the correlations, by
Frobenius' norm, with no eigenvalue below one standard error of the smallest), and a warning says
so.  A column without any variation left is refused.
Sources: Nakamura (1990); for privatized data, van den Hout and Kooiman (2006) on the same moments;
Higham (1988) for the nearest matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._display import HeaderLines, Notes, counted
from rrstats._names import checked_keywords
from rrstats._typing import Floats, Indices
from rrstats.errors import (
    ArgumentTypeError,
    LowPrecisionWarning,
    NotIdentifiableError,
    WarningArguments,
)
from rrstats.estimation.tallies.score_moments import (
    Places,
    RowProducts,
    ScoreMoments,
    normalized,
)
from rrstats.inference.sandwich import ClusterSandwich
from rrstats.regression.design_matrix import by_source, table_of
from rrstats.regression.fit_tables import FitTable, wald_ends
from rrstats.regression.likelihood import check_columns
from rrstats.regression.private_covariates import ModelData
from rrstats.regression.results import RegressionResult
from rrstats.regression.survey_people import (
    Reference,
    check_design_kind,
    clustered_covariance,
    default_kind,
    design_df,
    replicate_covariance,
)

MIN_SIGNAL = 2.0
"""In standard errors: a smaller signal is not significantly different from 0."""

_MAX_LISTED = 5
"""Coefficients that a warning names."""

_SINGULAR = 1 / np.finfo(np.float64).eps
"""From this condition number on the solution of the equations is only rounding error."""

_ROUNDING = 1e-10
"""Eigenvalue of correlations up to which it is 0 but for rounding."""


@checked_keywords
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
        makes this negative.  Empty for columns of a plan that no row has all of.
    signal : Series
        For each of these, the variation of its column given all others, divided by its standard
        error.  Below 2 it is not significantly different from 0, and the effect is not reliable.
    repair : str or None
        A sentence where moments of columns of a plan were replaced by those of a distribution.
    """

    sigma2: float
    effective_n: pd.Series[float]
    signal: pd.Series[float]
    repair: str | None = None

    _alternative: ClassVar[str] = (
        "scores have no likelihood and no model of the privatized covariates; use wald_test, "
        "params or predict, or fit with method='likelihood'"
    )

    @property
    def _header(self) -> HeaderLines:
        sigma = f"{np.sqrt(self.sigma2):.4g}" if self.sigma2 > 0 else "not known (noise)"
        return [*super()._header, ("error deviation", sigma)]

    @property
    def warnings(self) -> tuple[WarningArguments, ...]:
        """Texts and classes of the warnings of this fit."""
        weak = self.signal[~(self.signal >= MIN_SIGNAL)]
        if self.repair is not None:
            return ((self.repair, LowPrecisionWarning), *super().warnings)
        if not len(weak):
            return super().warnings
        names = ", ".join(weak.index[:_MAX_LISTED])
        if len(weak) > _MAX_LISTED:
            names += ", ..."
        text = (
            f"effects of privatized covariates ({names}) are not reliable: the variation of "
            f"{counted(len(weak), 'column')} is as little as {weak.min():.1f} standard errors from "
            "0; leave covariates out, or ask more people."
        )
        return ((text, LowPrecisionWarning), *super().warnings)

    @property
    def notes(self) -> Notes:
        """Sentences below the table."""
        if not len(self.effective_n):
            return super().notes
        return (*super().notes, self._effective_n_note(self.effective_n))

    def predict(self, data: Any = None) -> FitTable:
        """The expected outcome for profiles.

        Parameters
        ----------
        data : DataFrame or mapping
            All covariates; privatized ones hold *true* categories.  It is required: the categories
            of the people of the fit are not known, and scores have no model of them.

        Returns
        -------
        FitTable
            The covariates, then prediction, std_error, low and high.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"smoker": ["no", "no", "yes", "no"] * 25})
        >>> pay = 10 + np.arange(100) % 7
        >>> m = rr.KRR(["no", "yes"], 0.9)
        >>> fit = rr.linear(pay, frame, mechanisms={"smoker": m})
        >>> profiles = pd.DataFrame({"smoker": ["no", "yes"]})
        >>> fit.predict(profiles).to_frame().round(2)
          smoker  prediction  std_error    low   high
        0     no       12.95       0.24  12.47  13.42
        1    yes       12.97       0.63  11.74  14.19
        """
        if data is None:
            raise ArgumentTypeError(
                "predict needs data: profiles with true categories of the privatized covariates "
                f"{list(self.private.names)}, which are not known for the people of the fit"
            )
        frame = table_of(data)
        matrix = self.data.design.again(self.private.answered(frame))
        prediction = matrix @ self.estimates
        variance = np.einsum("rp,pq,rq->r", matrix, self.covariance, matrix)
        error = np.sqrt(np.maximum(variance, 0))
        ends = partial(wald_ends, prediction, error, self.reference.df(matrix))
        numbers = {"prediction": prediction, "std_error": error}
        return self._predictions(frame, pd.DataFrame(index=frame.index), numbers, ends)


def score_fit(y: Floats, data: ModelData, title: str, vcov: str | None = None) -> ScoreResult:
    """Fit a linear regression of columns that all rows have.

    vcov : the kind of covariance; by default that of the design.
    """
    check_score_columns(data, vcov)
    return solve_scores(_whole_equations(y, data), title, vcov)


def check_score_columns(data: ModelData, vcov: str | None) -> None:
    """Raise for collinear columns, and for a covariance that the design does not have."""
    if vcov is not None:
        check_design_kind(vcov, data)
    check_columns(data.same, data.varying, data.ordered, 0)


# -- equations -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreEquations:
    """Moments of the columns of a design and its outcome, which is the last.

    data : the columns of the design, of which those that vary stand last.
    moments_by : gives moments of the columns that these are made of, by (rows,) weights.
    mix : (columns of the moments, b + 1).  private_outcome : whether it has noise.
    """

    data: ModelData
    moments_by: Callable[[Floats], ScoreMoments]
    mix: Floats
    private_outcome: bool = False

    @cached_property
    def scores(self) -> ScoreMoments:
        """Moments by the weights of the rows."""
        return self.moments_by(self.data.weights)

    @property
    def same(self) -> int:
        """The number of ordinary columns, which stand first."""
        return int(self.data.same.shape[1])

    @cached_property
    def moments(self) -> Floats:
        """(b + 1, b + 1) second moments."""
        return np.asarray(self.mix.T @ self.scores.second @ self.mix)

    def information(self, clusters: list[Indices]) -> Floats:
        """(G, b, b) the parts of the rows of each cluster in the moments of the design."""
        parts = np.array([self.scores.of_rows(rows) for rows in clusters])
        return np.asarray((self.mix.T @ parts @ self.mix)[:, :-1, :-1])

    def again(self, weights: Floats) -> Floats | None:
        """(b,) coefficients by other weights; None if they are not known."""
        data = self.data
        equations = ScoreEquations(data, lambda _: self.moments_by(weights), self.mix)
        try:
            return _solved(equations).beta
        except NotIdentifiableError:
            return None

    def size_errors(self, combinations: Floats) -> Floats:
        """(v,) standard errors of the mean squares of (b, v) combinations of the columns."""
        return np.sqrt(self.scores.squared_errors(self.mix[:, :-1] @ combinations))

    def influences(self, beta: Floats, *, keep: bool) -> tuple[Floats, Floats]:
        """(b, b) sum of products of the equations of the rows, and these as (rows, b) if kept."""
        b = len(beta)
        mix = self.mix[:, :-1].T
        squares = np.zeros((b, b))
        kept = [np.empty((0, b))]
        for influence in self.scores.influences(self.mix @ np.append(-beta, 1.0)):
            equations = mix @ influence
            squares += equations @ equations.T
            if keep:
                kept.append(equations.T)
        return squares, np.vstack(kept)

    def noiseless(self, beta: Floats) -> Floats:
        """(b, b) unbiased sum of products of the equations, if the true categories were known."""
        (block,) = self.scores.blocks
        products = block.products.noiseless(self.mix @ np.append(-beta, 1.0))
        return np.asarray((self.mix.T @ products @ self.mix)[:-1, :-1])


def _whole_equations(y: Floats, data: ModelData) -> ScoreEquations:
    """The equations of columns that all rows have."""
    table, cells = data.private.scores(data.rows, data.keep)
    varying = data.varying
    s = data.same.shape[1]
    b = s + varying.columns
    profiles = varying.profiles
    mix = np.zeros((profiles, s + 1 + len(varying.base), b + 1))
    mix[:, np.arange(s), np.arange(s)] = 1.0
    mix[:, s, b] = 1.0
    profile, column = np.indices(varying.places.shape)
    mix[profile, s + 1 + varying.places, s + column] = varying.factors

    def ordinary(places: Places) -> Floats:
        return np.vstack([data.same[places].T, y[places], varying.base[:, places]])

    rows = np.arange(len(y))

    def moments_by(weights: Floats) -> ScoreMoments:
        mean_weights = normalized(weights)
        return ScoreMoments.of_whole(
            RowProducts(rows, mean_weights, cells, table, mix, mix, ordinary)
        )

    return ScoreEquations(data, moments_by, np.eye(b + 1))


# -- the solution ----------------------------------------------------------------------------


class _Solution(NamedTuple):
    """Coefficients that solve the equations.

    bread : (b, b) the inverse of the information.  beta : (b,).
    repair : a sentence where the moments were those of no distribution; else None.
    """

    bread: Floats
    beta: Floats
    repair: str | None


def _solved(equations: ScoreEquations) -> _Solution:
    """Solve the equations; raises where a private column does not vary beside the others."""
    data = equations.data
    moments = equations.moments
    mean_squares = np.einsum("rs,rs->s", data.same, data.same) / len(data.same)
    sizes = np.sqrt(np.append(mean_squares, data.varying.mean_squares()))
    scale = np.outer(sizes, sizes)  # years beside an intercept lose digits without it
    information = moments[:-1, :-1] / scale
    repair = None
    if data.private.in_parts:
        information, repair = _positive(equations, information, sizes)
    elif not np.linalg.cond(information) < _SINGULAR:
        raise NotIdentifiableError(
            "privatized covariates must vary beside the others, found that by their reports "
            f"{list(data.private.names)} do not over these {len(data.same)} rows, so that their "
            "coefficients are not known; leave covariates out, or ask more people"
        )
    bread = np.asarray(np.linalg.inv(information), np.float64) / scale
    return _Solution(bread, bread @ moments[:-1, -1], repair)


def solve_scores(equations: ScoreEquations, title: str, vcov: str | None) -> ScoreResult:
    """The regression that solves equations.

    vcov : the kind of covariance; by default that of the design.
    """
    data = equations.data
    vcov = vcov or default_kind(data, "robust")
    bread, beta, repair = _solved(equations)
    n = len(data.same)
    b = len(beta)
    squares, rows = equations.influences(beta, keep=vcov in ("clustered", "linearized"))
    covariance, sandwich = _covariance(equations, vcov, squares, rows, beta=beta, bread=bread)
    moments = equations.moments
    sigma2 = float(moments[-1, -1] - beta @ moments[:-1, -1]) * n / (n - b)
    varying_names = pd.Index(data.ordered[equations.same :], dtype=object)
    effective_n = pd.Series([], varying_names[:0], dtype=np.float64, name="effective_n")
    if not data.private.in_parts:
        noise = bread @ (squares - equations.noiseless(beta)) @ bread
        values = _effective_n(n, b, np.diag(noise), np.diag(covariance))[equations.same :]
        effective_n = pd.Series(values, varying_names, name="effective_n", dtype=np.float64)
    signal = pd.Series(_signal(equations, bread), varying_names, name="signal", dtype=np.float64)
    slopes = np.eye(b)[np.argsort(data.order)]
    return ScoreResult(
        title=title,
        index=pd.Index(list(data.names), dtype=object),
        estimates=slopes @ beta,
        covariance=slopes @ covariance @ slopes.T,
        vcov=vcov,
        sigma2=sigma2,
        effective_n=effective_n,
        signal=signal,
        data=data,
        repair=repair,
        reference=Reference(design_df(vcov, data, b), sandwich, slopes),
    )


def _covariance(
    equations: ScoreEquations,
    vcov: str,
    squares: Floats,
    rows: Floats,
    *,
    beta: Floats,
    bread: Floats,
) -> tuple[Floats, ClusterSandwich | None]:
    """(b, b) the covariance of a kind, and the sandwich of few clusters that it is of.

    squares : (b, b) sum of products of the equations of the rows.
    rows : (rows, b) these equations; only for clusters and strata.
    bread : (b, b) the inverse of the information.
    """
    data = equations.data
    if vcov == "replicates":
        return replicate_covariance(data, beta, equations.again), None
    if vcov == "robust":
        n = len(data.same)
        return np.asarray(n / (n - len(beta)) * bread @ squares @ bread), None
    has_noise = bool(data.private.columns) or equations.private_outcome
    return clustered_covariance(
        vcov,
        rows,
        data,
        bread=bread,
        information=equations.information,
        modelled=not has_noise,
    )


def _effective_n(n: int, b: int, noise: Floats, variance: Floats) -> Floats:
    """(b,) effective sample sizes of the coefficients; NaN if noise makes them negative.

    noise : (b,) the part of the variances that the reports' noise has, for n rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        efficiency = 1 - n / (n - b) * noise / variance
    # above 1 it is noise, or rounding; up to 0 there is no estimate
    return np.where(efficiency > 0, n * np.minimum(efficiency, 1.0), np.nan)


def _signal(equations: ScoreEquations, bread: Floats) -> Floats:
    """(v,) the variation of each varying column given all others, by its standard error.

    Column j of the bread residualizes column j of the design.
    """
    varying = slice(equations.same, len(bread))
    variations = 1 / np.diag(bread)[varying]
    errors = equations.size_errors((bread / np.diag(bread))[:, varying])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(variations / errors)


# -- moments of no distribution --------------------------------------------------------------


def _positive(
    equations: ScoreEquations, information: Floats, lengths: Floats
) -> tuple[Floats, str | None]:
    """Second moments of the design that are positive definite, and a sentence if they were not.

    information : (b, b) of the columns divided by (b,) lengths.
    """
    s = equations.same
    names = equations.data.ordered[s:]
    ordinary = information[:s, :s]
    slopes = np.linalg.solve(ordinary, information[:s, s:])
    explained = information[s:, :s] @ slopes
    rest = information[s:, s:] - explained
    variances = np.diag(rest)
    if not (variances > 0).all():
        bad = [name for name, variance in zip(names, variances, strict=True) if variance <= 0]
        raise NotIdentifiableError(
            f"private columns must vary beside the ordinary covariates, found that {by_source(bad)}"
            " by the reports do not, so that the coefficients are not known; leave these out, or "
            "ask more people"
        )
    sizes = np.sqrt(variances)
    values, vectors = np.linalg.eigh(rest / np.outer(sizes, sizes))
    if not len(values) or values[0] > _ROUNDING:
        return information, None
    axis = vectors[:, 0] / sizes
    combination = np.concatenate([-slopes @ axis, axis]) / lengths
    least = min(float(equations.size_errors(combination[:, None])[0]), 1.0)
    repaired = (vectors * np.maximum(values, least)) @ vectors.T * np.outer(sizes, sizes)
    positive = information.copy()
    positive[s:, s:] = repaired + explained
    text = (
        f"the moments of the private columns are not those of any distribution because of noise "
        f"({int((values < least).sum())} of {len(values)} eigenvalues are below one standard "
        "error): the nearest positive definite matrix was used, so that coefficients are biased "
        "and intervals too short; leave covariates out, or ask more people"
    )
    return positive, text
