"""A fitted regression of an answer that was seen through a channel.

Coefficients speak of the true answer, never of the report.  `OutcomeResult` adds to the table of
coefficients what the model says of people: prevalence by profile and on average, average marginal
effects, the posterior of each truth, likelihood-ratio tests and fit.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.regression import effects, profiles
from rrstats.regression.fitting import Basis, Fit, Problem, best, blocks, fit, known
from rrstats.regression.frames import Design, offset_of
from rrstats.regression.results import (
    RegressionResult,
    beside_profiles,
    confidence,
    standard_errors,
    verdict,
)

__all__ = ["KINDS", "GoodnessOfFit", "LikelihoodRatioTest", "OutcomeResult"]


KINDS = ("observed", "expected", "opg", "robust", "clustered")
"""Covariances by name: inverse Hessian, inverse mean Hessian, inverse products of gradients, and
the sandwiches of the first with the products of rows and of clusters."""


_CLUSTERS = 20
"""Clusters for each coefficient, below which a test of all of them is not offered."""


@dataclass(frozen=True, repr=False)
class LikelihoodRatioTest:
    """Twice the gain in log-likelihood, its degrees of freedom, the p-value by chi-squared."""

    statistic: float
    df: int
    pvalue: float

    def __repr__(self) -> str:
        null = "the smaller model is enough"
        return f"Likelihood-ratio test: {verdict(self.statistic, self.df, self.pvalue, null)}"


@dataclass(frozen=True, repr=False)
class GoodnessOfFit:
    """Counts of reports in groups of equal covariates against those that the model expects.

    pearson, deviance : chi-squared statistics, on ``df`` degrees of freedom.
    smallest_expected : the smallest expected count.
    notes : what is to be said where expected counts are too small for these p-values.
    """

    pearson: float
    deviance: float
    df: int
    pearson_pvalue: float
    deviance_pvalue: float
    groups: int
    smallest_expected: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [
            f"Fit of the model in {self.groups:,} groups of equal covariates, the smallest "
            f"expected count {self.smallest_expected:.2g}:"
        ]
        for name, value, p in (
            ("Pearson", self.pearson, self.pearson_pvalue),
            ("deviance", self.deviance, self.deviance_pvalue),
        ):
            null = "" if self.notes else "the model holds"  # doubtful p-values get no sentence
            lines.append(f"{name}: {verdict(value, self.df, p, null)}")
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OutcomeResult(RegressionResult):
    """A regression whose outcome was seen through a channel.

    event : the category whose probability is modelled; of several None.
    problem, basis, found, design : the likelihood, its columns, its maximum, the covariates.
    clusters : (rows,) or None.  weighted : whether rows have probability weights.
    """

    event: Hashable
    problem: Problem
    basis: Basis
    found: Fit
    design: Design
    clusters: NDArray[np.intp] | None
    weighted: bool

    # -- parameters and their covariance ------------------------------------------------------

    def cov_params(self, kind: str | None = None) -> pd.DataFrame:
        """(p, p) the covariance of the coefficients, or another by name: see `KINDS`."""
        covariance = self.covariance if kind is None else natural_covariance(self, kind)
        return pd.DataFrame(covariance, index=self.index, columns=self.index)

    def with_vcov(self, kind: str) -> OutcomeResult:
        """The same fit with another covariance by name."""
        from dataclasses import replace

        return replace(self, covariance=natural_covariance(self, kind), vcov=kind)

    @cached_property
    def _inner(self) -> Floats:
        """(parameters, parameters) the covariance of the inner parameters."""
        return inner_covariance(self, self.vcov)

    def conf_int(self, level: float = 0.95, method: str = "wald") -> pd.DataFrame:
        """Intervals of the coefficients: columns low and high.

        method : "wald", from the standard errors; "profile", all values that a likelihood-ratio
            test does not reject, better where reports are few or prevalence is near 0 or 1; an end
            is infinite where the likelihood falls too little, or has another maximum on the way.
        """
        if method == "wald":
            return super().conf_int(level)
        if method != "profile":
            raise ArgumentValueError(f"method must be 'wald' or 'profile', got {method!r}")
        self._check_likelihood("a profile likelihood interval")
        ends = profiles.intervals(
            self.problem, self.found, self._back, self.endless, confidence(level)
        )
        return pd.DataFrame({"low": ends[:, 0], "high": ends[:, 1]}, index=self.index)

    @cached_property
    def endless(self) -> Floats:
        """(p,) 1 or -1 for infinite coefficients, NaN where nothing is known, 0 for the others."""
        return boundless(self.problem, self.basis, self.found)

    @cached_property
    def unknown(self) -> Floats:
        """(parameters, d) inner directions that the reports tell nothing of; none mostly."""
        information = self.problem.at(self.found.theta, ["observed"]).sums["observed"]
        return known(information, self.found)[1]

    @property
    def _back(self) -> Floats:
        """(parameters, parameters) the slopes of the coefficients by the inner parameters."""
        return natural_slopes(self.problem, self.basis, self.found.theta)

    # -- likelihood ---------------------------------------------------------------------------

    @cached_property
    def log_likelihood_null(self) -> float:
        """The largest log-likelihood of one prevalence for everyone."""
        rows = len(self.problem.columns)
        columns = np.full((rows, 1), 1 / np.sqrt(rows))
        return best(replaced(self.problem, columns)).log_likelihood

    def compare(self, other: OutcomeResult) -> LikelihoodRatioTest:
        """A likelihood-ratio test of two nested fits, whichever is given first.

        Raises ArgumentValueError for fits of other data, where neither is a special case of the
        other, and where there is no likelihood: with weights, or with people in clusters.
        """
        if not isinstance(other, OutcomeResult):
            raise ArgumentTypeError(
                f"compare needs another fit of the same reports, found {type(other).__name__}"
            )
        large, small = sorted((self, other), key=lambda one: -one.df_model)
        for one in (large, small):
            one._check_likelihood("a likelihood-ratio test")
        _check_nested(large, small)
        statistic = max(0.0, 2 * (large.log_likelihood - small.log_likelihood))
        df = large.df_model - small.df_model
        return LikelihoodRatioTest(statistic, df, float(scipy.special.chdtrc(df, statistic)))

    lr_test = compare

    def _check_likelihood(self, what: str) -> None:
        if self.weighted:
            raise ArgumentValueError(
                f"{what} needs a likelihood, and with probability weights there is none; use "
                "wald_test"
            )
        if self.clusters is not None:
            raise ArgumentValueError(
                f"{what} needs people who are independent, and with clusters= they are not, so "
                "that it would find too much; use wald_test, whose errors know of the clusters"
            )
        if not self.converged:
            raise ArgumentValueError(f"{what} needs a fit that converged")

    # -- what the model says of people ----------------------------------------------------------

    def predict(
        self,
        data: Any = None,
        *,
        average: bool = False,
        level: float = 0.95,
        offset: Any = None,
    ) -> pd.DataFrame:
        """The probability of the true answer for profiles of covariates.

        data : profiles, by default the rows of the fit.  average : their mean instead.
        offset : of the profiles, where the fit has one.
        Returns the covariates of the profiles given, then columns prevalence, std_error, low,
        high, one row for each profile (of several categories one for each and category);
        intervals are made on the scale of the link, and hold the covariates fixed.  Profiles with
        missing values have NaN.
        """
        level = confidence(level)
        frame = None if data is None else self.design.framed(data)
        offset = offset if frame is None else offset_of(offset, data, len(frame))
        columns, shift, index = self._profiles(frame, offset)
        if average:
            weights = self.problem.weights if data is None else None
            return effects.mean_shares(self, columns, shift, weights, level)
        found = effects.shares_of(self, columns, shift, index, level)
        if frame is None:
            return found
        copies = len(found) // max(len(frame), 1)  # a row for each category
        return beside_profiles(frame.iloc[np.arange(len(frame)).repeat(copies)], found)

    def prevalence(self, level: float = 0.95) -> pd.DataFrame:
        """The mean prevalence over the rows of the fit, with its interval by the delta method."""
        return self.predict(average=True, level=level)

    def marginal_effects(self, level: float = 0.95) -> pd.DataFrame:
        """Average marginal effects: by how much prevalence changes with each covariate.

        For a number the mean slope, for a factor or a 0/1 column the mean difference to its first
        level; a formula is made again for every change, so that squares and interactions move
        along.  A number whose columns jump (``I(age > 50)``, ``x // 3``) or have no finite slope
        has none: then differences to its lowest value, or with more than 12 values that between
        its quartiles.  For the effect of the step make it a column of the frame.
        Columns: effect, std_error, z, p, low, high; ``change`` says which.
        """
        return effects.marginal(self, confidence(level))

    def posterior(self) -> pd.DataFrame:
        """P(true answer | report, covariates) for each row of the fit; sums to 1.

        It is what an observer who believes the model holds of a person: not an answer.
        """
        parts = [
            self.problem.posterior(self.found.theta, part)
            for part in blocks(len(self.problem.columns))
        ]
        names = pd.Index(list(self.problem.outcome.categories), dtype=object)
        return pd.DataFrame(np.vstack(parts), index=self.design.frame.index, columns=names)

    def goodness_of_fit(self) -> GoodnessOfFit:
        """Pearson's and the deviance test over groups of equal covariates.

        For covariates of few values.  Warns LowPrecisionWarning where groups are so small that
        chi-squared is not the law: an expected count below 1, or more than a fifth below 5; where
        more than half are below 5 the p-values are NaN.
        """
        self._check_likelihood("a test of fit")
        return GoodnessOfFit(*effects.goodness(self))

    def _profiles(
        self, data: pd.DataFrame | None, offset: Any
    ) -> tuple[Floats, Floats | None, pd.Index[Any]]:
        """Orthonormal columns of profiles, their offset and their index."""
        if data is None:
            return self.problem.columns, self.problem.offset, self.design.frame.index
        matrix, index = self.design.again(data), data.index
        shift = None
        if self.problem.offset is not None:
            if offset is None:
                raise ArgumentTypeError("offset is needed: the fit has one; give that of data")
            shift = np.broadcast_to(np.asarray(offset, dtype=np.float64), (len(matrix),))
        elif offset is not None:
            raise ArgumentTypeError("offset must be left out: the fit has none")
        return matrix @ self.basis.back, shift, index

    def facts(self) -> list[tuple[str, str]]:
        """What stands above the table."""
        found = super().facts()
        if self.weighted or self.clusters is not None:
            found = [one for one in found if one[0] not in ("AIC", "BIC")]
        if self.index[0] == "Intercept" and self.event is not None:
            place = [name for name, _ in found].index("log-likelihood") + 1
            found[place:place] = self._against_one_prevalence()
        return found

    def _against_one_prevalence(self) -> list[tuple[str, str]]:
        """A test of all coefficients but the intercept, if there are any."""
        df = self.df_model - 1 - len(self.problem.outcome.free)
        if not df:
            return []
        if self.vcov in ("robust", "clustered") or self.clusters is not None:
            count = np.inf if self.clusters is None else int(self.clusters.max()) + 1
            if count < _CLUSTERS * df:  # their covariance is far too small in some direction
                told = f"not tested: {count} clusters are few for {df} coefficients"
                return [("against one prevalence", told)]
            try:
                test = self.wald_test(np.eye(self.df_model)[1 : 1 + df])
            except ArgumentValueError:  # some have no standard error
                return []
            told = f"Wald {verdict(test.statistic, df, test.pvalue)}"
        else:
            gain = max(0.0, 2 * (self.log_likelihood - self.log_likelihood_null))
            told = verdict(gain, df, float(scipy.special.chdtrc(df, gain)))
        return [("against one prevalence", told)]


def replaced(problem: Problem, columns: Floats) -> Problem:
    """The same reports with other columns."""
    from dataclasses import replace

    return replace(problem, columns=columns)


def natural_slopes(problem: Problem, basis: Basis, theta: Floats) -> Floats:
    """(parameters, parameters) of coefficients and class shares by the inner parameters."""
    q, p, outcome = problem.law.predictors, problem.p, problem.outcome
    found = np.zeros((problem.size, problem.size))
    for place in range(q):
        here = slice(place * p, place * p + p)
        found[here, here] = basis.back
    free = outcome.free
    shares = outcome.shares(theta[q * p :])[free]
    same = outcome.shows[free][:, None] == outcome.shows[free]
    found[q * p :, q * p :] = np.diag(shares) - same * np.outer(shares, shares)
    return found


def natural(problem: Problem, basis: Basis, theta: Floats) -> Floats:
    """(parameters,) coefficients, and the shares of classes within their category."""
    q, p = problem.law.predictors, problem.p
    slopes = theta[: q * p].reshape(q, p) @ basis.back.T
    shares = problem.outcome.shares(theta[q * p :])[problem.outcome.free]
    return np.concatenate([slopes.ravel(), shares])


def boundless(problem: Problem, basis: Basis, found: Fit) -> Floats:
    """(parameters,) 1 or -1 for what grows or falls for ever, 0 for what has a maximum.

    NaN for what the reports tell nothing of: with it held at 0 they are as likely.
    """
    if found.endless is None:
        return np.zeros(problem.size)
    q, p = problem.law.predictors, problem.p
    back = natural_slopes(problem, basis, found.theta)
    back[q * p :] = np.eye(problem.size)[q * p :]
    information = problem.at(found.theta, ["observed"]).sums["observed"]
    _, unknown = known(information, found)
    lengths = np.sqrt((back**2).sum(axis=1))
    lost = np.sqrt(((back @ unknown) ** 2).sum(axis=1)) > 1e-4 * lengths
    start = problem.start()
    signs = np.sign(back @ unknown @ (unknown.T @ (found.theta - start)))
    for place in np.flatnonzero(lost):
        unit = back[place] / lengths[place]
        inside = np.linalg.svd(unit[None])[2][1:].T
        held = start - unit * (unit @ start)
        without = fit(problem, held, inside) if inside.shape[1] else problem.at(held)
        if found.log_likelihood - without.log_likelihood < 1e-4:
            signs[place] = np.nan
    return np.where(lost, signs, 0.0)


def inner_covariance(result: OutcomeResult, kind: str) -> Floats:
    """(parameters, parameters) the covariance of the inner parameters, by name."""
    return covariance_of(result.problem, result.found, kind, result.clusters, result.weighted)


def covariance_of(
    problem: Problem, found: Fit, kind: str, clusters: NDArray[np.intp] | None, weighted: bool
) -> Floats:
    """The covariance of the inner parameters, by name; raises for what does not apply."""
    if kind not in KINDS:
        raise ArgumentValueError(f"vcov must be one of {list(KINDS)}, got {kind!r}")
    if weighted and kind not in ("robust", "clustered"):
        raise ArgumentValueError(
            f"vcov {kind!r} takes weights for numbers of people; with probability weights use "
            "'robust' or 'clustered', and give counts of equal rows as frequencies="
        )
    if kind == "expected" and problem.outcome.siblings is None:
        raise ArgumentValueError(
            "vcov 'expected' needs a mean over all reports, and these name several categories, so "
            "that there are too many; use 'observed'"
        )
    if kind == "clustered" and clusters is None:
        raise ArgumentValueError("vcov 'clustered' needs clusters=")
    wanted = kind if kind in ("expected", "opg") else "observed"
    sums = problem.at(found.theta, [wanted, *(["robust"] if kind == "robust" else [])]).sums
    bread, _ = known(sums[wanted], found)
    if kind == "robust":
        return bread @ sums["robust"] @ bread
    if kind == "clustered":
        assert clusters is not None
        scores = problem.scores(found.theta, clusters, problem.weights)
        groups, n = len(scores), float(problem.people)
        correction = groups / (groups - 1) * (n - 1) / max(n - problem.size, 1.0)
        return correction * bread @ scores.T @ scores @ bread
    return bread


def natural_covariance(result: OutcomeResult, kind: str) -> Floats:
    """(p, p) the covariance of the coefficients, by name; NaN for what has no maximum."""
    back = result._back
    covariance = back @ inner_covariance(result, kind) @ back.T
    endless = result.endless != 0
    covariance[endless] = covariance[:, endless] = np.nan
    return np.asarray(covariance)


def _check_nested(large: OutcomeResult, small: OutcomeResult) -> None:
    one, two = large.problem, small.problem
    same = (
        len(one.columns) == len(two.columns)
        and one.outcome.categories == two.outcome.categories
        and one.outcome.table.shape == two.outcome.table.shape
        and np.array_equal(one.outcome.table, two.outcome.table)
        and _equal(one.outcome.cells, two.outcome.cells)
        and np.array_equal(one.weights, two.weights)
    )
    if not same:
        raise ArgumentValueError(
            "the two fits must be of the same reports: these have other rows, another mechanism "
            "or other frequencies (rows with missing values dropped in one of them?)"
        )
    if one.law != two.law or not _equal(one.offset, two.offset):
        raise ArgumentValueError("the two fits must have the same link and the same offset")
    rest = two.columns - one.columns @ (one.columns.T @ two.columns)
    if large.df_model == small.df_model or np.abs(rest).max() > 1e-6 * np.abs(two.columns).max():
        raise ArgumentValueError(
            "neither fit is a special case of the other, so a likelihood ratio has no chi-squared "
            f"law; compare aic: {large.aic:.2f} and {small.aic:.2f}"
        )


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


__all__ += ["boundless", "covariance_of", "natural", "natural_slopes", "standard_errors"]
