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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._names import checked_keywords
from rrstats._typing import Floats
from rrstats.data.columns import blocks
from rrstats.errors import (
    ArgumentTypeError,
    LowPrecisionWarning,
    NotIdentifiableError,
    RRStatsWarning,
)
from rrstats.inference.sandwich import ClusterSandwich
from rrstats.regression.design_matrix import BLOCK, table_of
from rrstats.regression.likelihood import check_columns
from rrstats.regression.private_covariates import ModelData
from rrstats.regression.results import RegressionResult, confidence, refuse_attribute
from rrstats.regression.survey_people import (
    Reference,
    check_design_kind,
    clustered_covariance,
    default_kind,
    design_df,
    replicate_covariance,
)

_MIN_SIGNAL = 2.0
"""A signal below this is not significantly different from 0."""

_MAX_LISTED = 5
"""Coefficients that a warning names."""

_SINGULAR = 1 / np.finfo(np.float64).eps
"""From this condition number on the solution of the equations is only rounding error."""


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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise with the alternative for attributes that only likelihood fits have."""
            refuse_attribute(
                self,
                name,
                "scores have no likelihood and no model of the privatized covariates; use "
                "wald_test, params or predict, or fit with method='likelihood'",
            )
            return super().__getattr__(name)

    @property
    def _header(self) -> list[tuple[str, str]]:
        sigma = f"{np.sqrt(self.sigma2):.4g}" if self.sigma2 > 0 else "not known (noise)"
        return [*super()._header, ("error deviation", sigma)]

    @property
    def warnings(self) -> tuple[tuple[str, type[RRStatsWarning]], ...]:
        """Texts and classes of the warnings of this fit."""
        weak = self.signal[~(self.signal >= _MIN_SIGNAL)]
        if self.repair is not None:
            return ((self.repair, LowPrecisionWarning), *super().warnings)
        if not len(weak):
            return super().warnings
        names = ", ".join(weak.index[:_MAX_LISTED])
        if len(weak) > _MAX_LISTED:
            names += ", ..."
        text = (
            f"{len(weak)} coefficients of privatized covariates ({names}) are not reliable: the "
            f"variation of their columns is only {weak.min():.1f} standard errors "
            "from 0; leave covariates out, or ask more people."
        )
        return ((text, LowPrecisionWarning), *super().warnings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences below the table."""
        if not len(self.effective_n):
            return super().notes
        return (*super().notes, self._effective_n_note(self.effective_n))

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
        frame = table_of(data)
        matrix = self.data.design.again(self.private.answered(frame))
        quantile = self.reference.quantile(confidence(level), matrix)
        prediction = matrix @ self.estimates
        variance = np.einsum("rp,pq,rq->r", matrix, self.covariance, matrix)
        error = np.sqrt(np.maximum(variance, 0))
        columns = {
            "prediction": prediction,
            "std_error": error,
            "low": prediction - quantile * error,
            "high": prediction + quantile * error,
        }
        return self.data.with_covariates(frame, pd.DataFrame(columns, index=frame.index))


def score_fit(y: Floats, data: ModelData, title: str, vcov: str | None = None) -> ScoreResult:
    """Fit a linear regression by solving the corrected normal equations.

    vcov : the kind of covariance; by default that of the design.
    """
    vcov = vcov or default_kind(data, "robust")
    check_design_kind(vcov, data)
    s = data.same.shape[1]
    n = len(y)
    check_columns(data.same, data.varying, data.ordered, 0)
    mean_squares = np.einsum("rs,rs->s", data.same, data.same) / n
    sizes = np.sqrt(np.append(mean_squares, data.varying.mean_squares()))
    people = ScoredRows.of(y, data, sizes)
    information = people.information()
    if not np.linalg.cond(information) < _SINGULAR:
        raise NotIdentifiableError(
            "privatized covariates must vary beside the others, found that by their reports "
            f"{list(data.private.names)} do not over these {n} rows, so that their coefficients "
            "are not known; leave covariates out, or ask more people"
        )
    bread = np.asarray(np.linalg.inv(information), np.float64)
    beta = bread @ people.products()
    sums = people.equations(beta, keep=vcov in ("clustered", "linearized"))
    covariance, sandwich = score_covariance(
        vcov,
        people,
        sums.rows,
        sums.squares,
        beta=beta,
        bread=bread,
        modelled=not data.private.columns,
    )
    effective_n = _effective_n(n, sums, bread, np.diag(covariance))
    place = np.argsort(data.order)
    varying_names = pd.Index(data.ordered[s:], dtype=object)
    slopes = np.diag(1 / sizes)[place]
    return ScoreResult(
        title=title,
        index=pd.Index(list(data.names), dtype=object),
        estimates=slopes @ beta,
        covariance=slopes @ covariance @ slopes.T,
        vcov=vcov,
        nobs=n,
        sigma2=sums.residual / (n - len(beta)),
        effective_n=pd.Series(effective_n[s:], varying_names, name="effective_n"),
        signal=pd.Series(people.signal(bread), varying_names, name="signal"),
        data=data,
        reference=Reference(design_df(vcov, data, len(beta)), sandwich, slopes),
    )


class ScoreEquations(Protocol):
    """Equations of a linear regression by scores, as covariances of their solution need them."""

    @property
    def data(self) -> ModelData:
        """The columns, with the design of the survey."""

    def information(self, rows: NDArray[np.intp]) -> Floats:
        """(b, b) minus the slopes of the equations of the rows at some places."""

    def again(self, weights: Floats) -> Floats | None:
        """(b,) coefficients by other weights; None if they are not known."""


def score_covariance(
    vcov: str,
    equations: ScoreEquations,
    scores: Floats,
    squares: Floats,
    *,
    beta: Floats,
    bread: Floats,
    modelled: bool,
) -> tuple[Floats, ClusterSandwich | None]:
    """(b, b) the covariance of a kind, and the sandwich of few clusters that it is of.

    scores : (rows, b) the equations of the rows; only for clusters and strata.
    squares : (b, b) sum of their products.  bread : (b, b) the inverse of the information.
    modelled : as for `clustered_covariance`.
    """
    data = equations.data
    if vcov == "replicates":
        return replicate_covariance(data, beta, equations.again), None
    if vcov == "robust":
        n = len(data.same)
        return np.asarray(n / (n - len(beta)) * bread @ squares @ bread), None
    return clustered_covariance(vcov, scores, data, bread, equations.information, modelled=modelled)


def _effective_n(n: int, sums: _Sums, bread: Floats, variance: Floats) -> Floats:
    """(b,) effective sample sizes of the coefficients; NaN if noise makes them negative."""
    factor = n / (n - len(bread))
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = factor * np.diag(bread @ (sums.squares - sums.noiseless) @ bread)
        efficiency = 1 - noise / variance
    # above 1 it is noise, or rounding; up to 0 there is no estimate
    return np.where(efficiency > 0, n * np.minimum(efficiency, 1.0), np.nan)


class _Sums(NamedTuple):
    """Sums over the equations of the rows.

    squares : (b, b) sum of products of the equations of the rows.
    noiseless : (b, b) unbiased estimate of that sum with true categories, by the scores of a row.
    residual : sum of squared residuals.  rows : (rows, b) the equations; none if not kept.
    """

    squares: Floats
    noiseless: Floats
    residual: float
    rows: Floats


class _RowBlock(NamedTuple):
    """Some rows, which stay in cache: their columns and scores stand one below another.

    y, weights : (rows,).  scores : (C, rows).
    same : (s, rows) columns that are alike for all profiles.  base : (q, rows) ordinary columns
    that those of profiles are made of.
    """

    y: Floats
    weights: Floats
    scores: Floats
    same: Floats
    base: Floats

    def used(self, profile: _Profile) -> Floats:
        """(s + used, rows) the ordinary columns of a profile."""
        return np.vstack([self.same, self.base[profile.used]])


class _Profile(NamedTuple):
    """Design of a profile: its columns are ``used @ mix`` of (s + used) ordinary columns.

    used : places of the ordinary columns.  mix : (s + used, b).
    """

    used: NDArray[np.intp]
    mix: Floats


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Outcomes, columns and scores of people, and sums over them and the profiles.

    Columns of a profile are few ordinary columns times a small matrix.  So sums of products are
    those of ordinary columns, weighted by the scores of a profile, and no array has all profiles,
    rows and columns.

    table : (cells, C) scores of reports.  cells : (rows,) the cell of each row.
    sizes : (b,) root mean squares of the columns, which all have size 1 here.
    """

    y: Floats
    data: ModelData
    table: Floats
    cells: NDArray[np.intp]
    sizes: Floats
    profiles: tuple[_Profile, ...]

    @classmethod
    def of(cls, y: Floats, data: ModelData, sizes: Floats) -> ScoredRows:
        """The people of a regression."""
        table, cells = data.private.scores(data.rows, data.keep)
        s = data.same.shape[1]
        profiles = []
        for profile in range(data.varying.profiles):
            used, matrix = data.varying.bases(profile)
            mix = np.zeros((s + len(used), s + data.varying.columns))
            mix[:s, :s] = np.diag(1 / sizes[:s])
            mix[s:, s:] = matrix / sizes[s:]
            profiles.append(_Profile(used, mix))
        return cls(y, data, table, cells, sizes, tuple(profiles))

    def again(self, weights: Floats) -> Floats | None:
        """Coefficients by other weights; None if they are not known."""
        people = replace(self, data=replace(self.data, weights=weights))
        information = people.information()
        if not np.linalg.cond(information) < _SINGULAR:
            return None
        return np.asarray(np.linalg.solve(information, people.products()))

    def blocks(self, rows: NDArray[np.intp] | None = None) -> Iterator[_RowBlock]:
        """The rows, or those at some places."""
        data = self.data
        parts: Iterable[Any] = blocks(len(self.y), BLOCK) if rows is None else [rows]
        for part in parts:
            yield _RowBlock(
                self.y[part],
                data.weights[part],
                np.take(self.table.T, self.cells[part], axis=1),
                np.ascontiguousarray(data.same[part].T),
                data.varying.base[:, part],
            )

    def information(self, rows: NDArray[np.intp] | None = None) -> Floats:
        """(b, b) minus the slopes of the equations, of all rows or of those at some places."""
        grams = [np.zeros((len(profile.mix),) * 2) for profile in self.profiles]
        for block in self.blocks(rows):
            weights = block.scores * block.weights
            for gram, profile, weight in zip(grams, self.profiles, weights, strict=True):
                columns = block.used(profile)
                gram += (columns * weight) @ columns.T
        return self._mixed(grams)

    def _mixed(self, grams: Sequence[Floats]) -> Floats:
        """(b, b) the sum over profiles of products of their columns, from ordinary columns."""
        products = (
            profile.mix.T @ gram @ profile.mix
            for gram, profile in zip(grams, self.profiles, strict=True)
        )
        total = np.sum(list(products), axis=0)
        return np.asarray((total + total.T) / 2)

    def products(self) -> Floats:
        """(b,) sums of products of the columns with the outcome."""
        sums = [np.zeros(len(profile.mix)) for profile in self.profiles]
        for block in self.blocks():
            weights = block.scores * (block.weights * block.y)
            for total, profile, weight in zip(sums, self.profiles, weights, strict=True):
                total += block.used(profile) @ weight
        pairs = zip(sums, self.profiles, strict=True)
        return np.asarray(np.sum([total @ profile.mix for total, profile in pairs], axis=0))

    def equations(self, beta: Floats, *, keep: bool) -> _Sums:
        """The equations of the rows at some coefficients, in sums.

        keep : whether to give those of the rows, too.
        """
        s = self.data.same.shape[1]
        b = len(beta)
        squares = np.zeros((b, b))
        residual = 0.0
        kept = [np.empty((0, b))]
        grams = [np.zeros((len(profile.mix),) * 2) for profile in self.profiles]
        mixes = np.vstack([profile.mix[s:, s:] for profile in self.profiles])
        for block in self.blocks():
            weighted = np.zeros(len(block.y))
            varying = []
            for gram, profile, scores in zip(grams, self.profiles, block.scores, strict=True):
                columns = block.used(profile)
                errors = block.y - (profile.mix @ beta) @ columns
                weighted_errors = block.weights * errors
                equation = scores * weighted_errors
                weighted += equation
                varying.append(columns[s:] * equation)
                residual += float(equation @ errors)
                equation *= weighted_errors  # from here on the part of the squares
                gram += (columns * equation) @ columns.T
            each = np.vstack([block.same * weighted, mixes.T @ np.vstack(varying)])
            each[:s] /= self.sizes[:s, None]
            squares += each @ each.T
            if keep:
                kept.append(each.T)
        return _Sums(squares, self._mixed(grams), residual, np.vstack(kept))

    def signal(self, bread: Floats) -> Floats:
        """(v,) residual sum of squares of each varying column, by its standard error.

        It is the rest of the column given all others; column j of the bread residualizes column j.
        """
        s = self.data.same.shape[1]
        residualizers = (bread / np.diag(bread))[:, s:]
        total = np.zeros(residualizers.shape[1])
        squares = np.zeros(residualizers.shape[1])
        mixes = [(profile.mix @ residualizers).T for profile in self.profiles]
        for block in self.blocks():
            each = np.zeros((len(total), len(block.y)))
            weights = block.scores * block.weights
            for mix, profile, weight in zip(mixes, self.profiles, weights, strict=True):
                column = mix @ block.used(profile)
                column *= column
                column *= weight
                each += column
            total += each.sum(axis=1)
            squares += np.einsum("jr,jr->j", each, each)
        # Rows that all add the same have a variance of 0, which rounding may leave below it.
        variance = np.maximum(squares - total**2 / len(self.y), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total / np.sqrt(variance))
