"""Fitted regressions: coefficients with their covariance, tests, predictions and notes.

In the manner of statsmodels: `params`, `bse`, `zvalues`, `pvalues`, `conf_int`, `cov_params`,
`aic`, `bic`, `summary`.  Coefficients speak of the true answer, never of the report.  A coefficient
without a finite maximum is infinite and has no standard error, rather than a large number with a
larger one.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_level
from rrstats._typing import Floats
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    LowPrecisionWarning,
    RRStatsWarning,
    warn,
)
from rrstats.estimation.analysis_columns import Variable
from rrstats.regression import profiles
from rrstats.regression.design_matrix import DesignMatrix, by_source, offset_of, table_of
from rrstats.regression.effects import (
    average,
    check_nested,
    covariate_effects,
    framed,
    goodness,
    mean_shares,
    means,
    others,
    outcome_effects,
    shares_of,
)
from rrstats.regression.fitting import Basis, Fit, Problem, best, blocks, fit, known
from rrstats.regression.maxima import Fitted
from rrstats.regression.mixtures import Mixture
from rrstats.regression.outcomes import ReportedOutcome
from rrstats.regression.private_covariates import ShareColumns, Unseen


class Doubt(NamedTuple):
    """A sentence, and the warning that it is."""

    text: str
    kind: type[RRStatsWarning] = LowPrecisionWarning


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
    design: DesignMatrix
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
            return mean_shares(self, columns, shift, weights, level)
        found = shares_of(self, columns, shift, index, level)
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
        return outcome_effects(self, confidence(level))

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
        return GoodnessOfFit(*goodness(self))

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
        and _same_array(one.outcome.cells, two.outcome.cells)
        and np.array_equal(one.weights, two.weights)
    )
    if not same:
        raise ArgumentValueError(
            "the two fits must be of the same reports: these have other rows, another mechanism "
            "or other frequencies (rows with missing values dropped in one of them?)"
        )
    if one.law != two.law or not _same_array(one.offset, two.offset):
        raise ArgumentValueError("the two fits must have the same link and the same offset")
    rest = two.columns - one.columns @ (one.columns.T @ two.columns)
    if large.df_model == small.df_model or np.abs(rest).max() > 1e-6 * np.abs(two.columns).max():
        raise ArgumentValueError(
            "neither fit is a special case of the other, so a likelihood ratio has no chi-squared "
            f"law; compare aic: {large.aic:.2f} and {small.aic:.2f}"
        )


def _same_array(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


_EDGE = 0.01
"""By so much the likelihood must be higher at the edge to be worth a word."""


def title(link: str, reports: ReportedOutcome, seen: Variable) -> str:
    """What was fitted, in a line."""
    name = "the answer" if seen.name is None else repr(seen.name)
    if reports.k > 2:
        return f"Multinomial logit of {name}, against {reports.categories[0]!r}, from reports"
    return f"{link.capitalize()} regression of {name} being {reports.categories[1]!r}, from reports"


def parameter_names(reports: ReportedOutcome, design: DesignMatrix) -> pd.Index[Any]:
    """Names of the parameters; of several categories pairs of category and covariate."""
    shares = [f"share of {reports.labels[place]!r}" for place in reports.free]
    if reports.k == 2:
        return pd.Index([*design.names, *shares], dtype=object)
    pairs = [(category, name) for category in reports.categories[1:] for name in design.names]
    pairs += [
        (reports.categories[reports.shows[place]], share)
        for place, share in zip(reports.free, shares, strict=True)
    ]
    return pd.MultiIndex.from_tuples(pairs, names=["category", "covariate"])


def notes(
    reports: ReportedOutcome,
    columns: Floats,
    found: Fit,
    endless: Floats,
    weighted: bool,
    clustered: bool,
) -> tuple[str, ...]:
    """What belongs under the table."""
    told = []
    level = columns.sum(axis=0)
    if float(level @ level) < (1 - 1e-9) * len(columns):
        told.append(
            "No intercept: the covariates have no column of ones, so that the model fixes the "
            "prevalence where all are 0 (intercept=True adds one)."
        )
    if reports.free:
        told.append(
            "A share of a class is that within its category, taken to be the same for everyone."
        )
    if weighted:
        told.append("With probability weights the log-likelihood is that of a pseudo-sample.")
    elif clustered:
        told.append(
            "The log-likelihood takes people for independent, which in clusters they are not."
        )
    if (endless != 0).any():
        bounds = "  conf_int(method='profile') bounds them on one side."
        told.append(
            f"{int((endless != 0).sum())} of {len(endless)} parameters have no finite maximum: "
            "the likelihood is largest at a prevalence of 0 or 1, and nothing is known of "
            f"parameters without a number.{bounds * (not weighted and not clustered)}"
        )
    if found.edge > _EDGE:
        told.append(
            "This is an interior maximum.  The likelihood is higher by "
            f"{found.edge:.1f} where prevalence is 0 or 1 alone: that fits the noise of few "
            "reports, and was farther from the truth in simulations.  Standard errors are those of "
            "this maximum by itself."
        )
    if not found.converged:
        told.append("NOT CONVERGED: these numbers are no estimates.")
    return tuple(told)


def warn_of(result: OutcomeResult, endless: Floats) -> None:
    """Say what is not to be seen in the numbers."""
    if not result.converged:
        size = float(np.abs(result.found.score).max())
        warn(
            f"no maximum of the likelihood was found in {result.iterations} steps (the gradient is "
            f"still {size:.3g}); these numbers are no estimates: leave covariates out, or look "
            "for groups with few reports",
            ConvergenceWarning,
        )
    if not (endless != 0).any():
        return
    problem = result.problem
    reports, n = problem.outcome, len(endless)
    shares, _ = reports.start(problem.weights, keep_inside=False)
    for place in np.flatnonzero((shares < 1e-4) | (shares > 1 - 1e-4)):
        if reports.k == 2 and place == 0:
            continue
        warn(
            f"all reports together are best explained by a share of {shares[place]:.0%} of "
            f"{reports.categories[place]!r}: the design alone makes as many such reports as were "
            f"found, or more{_floor(reports, problem.weights)}; so {int((endless != 0).sum())} of "
            f"{n} parameters have no estimate, and prevalence can be bounded but not explained; "
            "were these answers privatized, by this mechanism?",
            ConvergenceWarning,
        )
        return
    # Of several categories parameter_names are pairs; those of factors have a cell behind the name.
    told = by_source(
        dict.fromkeys(
            str(name[-1] if isinstance(name, tuple) else name)
            for name, one in zip(result.index, endless != 0, strict=True)
            if one
        )
    )
    warn(
        f"the likelihood keeps rising as the parameters {', '.join(told)} grow: for some "
        "covariates the reports are best explained by a prevalence of 0 or 1 (separation, or fewer "
        "reports of the event than the design alone makes); these are infinite or not known, and "
        "have no standard errors; merge levels, or leave the covariate out",
        ConvergenceWarning,
    )


def _floor(reports: ReportedOutcome, weights: Floats) -> str:
    """Reported shares beside what the design alone makes of them, for one sample of two reports."""
    if reports.cells is None or len(reports.table) != 2 or reports.free:
        return ""
    rate = reports.counts(weights)[1] / weights.sum()
    low, high = sorted(reports.table[1].tolist())
    return f" (reported {rate:.1%}, which the design keeps between {low:.1%} and {high:.1%})"


_FEW_PEOPLE = 5.0
"""A class of fewer people, by the fit, deserves a word."""

_FEW_ANSWERS = 10.0
"""So does a coefficient that rests on fewer known answers' worth of information."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CovariateResult(RegressionResult):
    """A fitted regression on covariates of which only reports were seen.

    params : the outcome's coefficients, for numbers ``sigma`` (the errors' standard deviation),
    then the logits of each class against the first, named as ``smoker=yes: age``.
    unseen : the covariates.  covariate_model : "logistic" or "constant".
    event : the category whose probability is modelled; None where the outcome is a number.
    other_maxima : log-likelihoods of lower maxima that other starts led to.
    """

    fit: Fitted
    unseen: Unseen
    design: DesignMatrix
    names: tuple[str, ...]
    order: list[int]
    share_columns: ShareColumns
    covariate_model: str
    from_formula: bool
    event: Hashable

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "goodness_of_fit": "it is for ordinary covariates of few values; compare this fit with a "
        "larger one (compare), of interactions say"
    }

    @classmethod
    def of(
        cls,
        fit: Fitted,
        title: str,
        unseen: Unseen,
        design: DesignMatrix,
        names: tuple[str, ...],
        order: list[int],
        share_columns: ShareColumns,
        covariate_model: str,
        vcov: str,
        from_formula: bool,
        event: Hashable = None,
    ) -> CovariateResult:
        """The result in the order and the units of the user."""
        b, own = fit.mixture.columns, fit.mixture.outcome.own
        place = np.argsort(order)
        turn = np.concatenate([place, np.arange(b, len(fit.theta))])
        values, scale = fit.estimates[turn], np.ones(len(turn))
        if own:
            values[b] = scale[b] = np.exp(fit.theta[b])
        covariance = fit.covariance[np.ix_(turn, turn)] * np.outer(scale, scale)
        classes = [
            f"{one}: {column}" for one in unseen.class_names()[1:] for column in share_columns.names
        ]
        found = cls(
            title=title,
            index=pd.Index([*names, *["sigma"] * own, *classes], dtype=object),
            estimates=values,
            covariance=covariance,
            vcov=vcov,
            nobs=fit.mixture.rows,
            log_likelihood=fit.log_likelihood,
            converged=fit.converged,
            iterations=fit.iterations,
            fit=fit,
            unseen=unseen,
            design=design,
            names=names,
            order=order,
            share_columns=share_columns,
            covariate_model=covariate_model,
            from_formula=from_formula,
            event=event,
        )
        return found

    @property
    def other_maxima(self) -> tuple[float, ...]:
        """Log-likelihoods of lower maxima, descending; empty where all starts led to one."""
        return self.fit.others

    @property
    def effective_n(self) -> pd.Series[float]:
        """For each coefficient that rests on reports: from how many known answers it is as good.

        People times the variance if all classes were known, over the variance as it is.
        """
        mixture, same = self.fit.mixture, self.fit.mixture.same.shape[1]
        names = [self.names[self.order[place]] for place in range(same, mixture.columns)]
        own = np.diagonal(self.fit.bread)[same : mixture.columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.nobs * self.fit.known[same:] / own
        return pd.Series(worth, index=pd.Index(names, dtype=object), name="effective_n")

    def sizes(self) -> pd.Series[float]:
        """How many of these people are in each combination of true categories, by the fit."""
        after = self.fit.mixture.posterior(self.fit.theta).sum(axis=0)
        totals = np.bincount(self.unseen.shows, after, minlength=len(self.unseen.profiles))
        names = [self.unseen.told(profile) for profile in self.unseen.profiles]
        return pd.Series(totals, index=pd.Index(names, dtype=object), name="people")

    def doubts(self) -> list[Doubt]:
        """Sentences on what the data leave open."""
        found = []
        if not self.converged and not self.fit.lost.any():
            text = f"no maximum of the likelihood was reached in {self.iterations} steps."
            found.append(Doubt(text, ConvergenceWarning))
        if self.fit.lost.any():
            lost = self.index[~np.isfinite(np.diagonal(self.covariance))].tolist()
            text = (
                f"the likelihood rises to the edge, so that {len(lost)} parameters have no finite "
                f"maximum or nothing is known of them ({', '.join(map(str, lost[:6]))}"
                f"{', ...' * (len(lost) > 6)}): the data are likeliest where a true category, or "
                "an answer, has nobody in it for some people."
            )
            found.append(Doubt(text, ConvergenceWarning))
        sizes = self.sizes()
        if len(small := sizes[sizes < _FEW_PEOPLE]):
            names = ", ".join(f"{name}: {size:.1f}" for name, size in small.items())
            found.append(
                Doubt(
                    f"of {self.nobs:,} people, next to none are put into some true categories "
                    f"({names}): what is said of these rests on single outcomes."
                )
            )
        worth = self.effective_n
        thin = worth[worth < _FEW_ANSWERS]
        if len(thin):
            found.append(
                Doubt(
                    f"{len(thin)} coefficients of privatized covariates rest on reports that tell "
                    f"as much as {thin.min():.1f} known answers at the least: the design adds too "
                    "much noise for them."
                )
            )
        return found

    def remarks(self) -> list[str]:
        """What stands under the table."""
        found = [*(doubt.text for doubt in self.doubts()), *self.notes]
        if len(self.fit.others):
            found.append(
                f"{len(self.fit.others) + 1} maxima were found from 5 starts; the others are lower "
                f"by {self.log_likelihood - self.fit.others[0]:.2f} or more."
            )
        if self.unseen.columns:
            worth = "; ".join(f"{name} {n:,.0f}" for name, n in self.effective_n.dropna().items())
            found.append(
                f"{self.nobs:,} reports tell as much as so many known answers: {worth or 'none'}."
            )
        if self.unseen.columns and self.covariate_model == "constant" and self._has_ordinary():
            found.append(
                "Shares of the true categories are taken to be the same whatever the ordinary "
                "covariates are; where they are not, effects are biased "
                "(covariate_model='logistic')."
            )
        if self.fit.mixture.outcome.own and self.unseen.columns:
            found.append("Errors are taken for normal: skewed ones pass for groups of people.")
        return found

    def _has_ordinary(self) -> bool:
        mixture = self.fit.mixture
        alone = mixture.same.shape[1] <= 1
        return not alone or bool((mixture.varying != mixture.varying[:, :1]).any())

    # -- the covariates ----------------------------------------------------------------------

    def shares(self, level: float = 0.95) -> pd.DataFrame:
        """Shares of the true categories: columns covariate, category, share, std_error, low, high.

        The mean over these people of P(category | covariates), for the population they come from:
        the standard error holds the sampling of the people.  Intervals on the logit scale.
        """
        half = _quantile(level)
        mixture, rows = self.fit.mixture, []
        for place, column in enumerate(self.unseen.columns):
            for code, category in enumerate(column.categories):
                mine = self._mine(place, code)
                share, error = _class_share(mixture, self.fit, mine)
                with np.errstate(divide="ignore", invalid="ignore"):
                    middle = scipy.special.logit(share)
                    reach = half * error / (share * (1 - share))
                low, high = scipy.special.expit([middle - reach, middle + reach])
                rows.append((column.name, category, share, error, low, high))
        heads = ["covariate", "category", "share", "std_error", "low", "high"]
        return pd.DataFrame(rows, columns=heads)

    def _mine(self, place: int, code: int) -> NDArray[np.bool_]:
        """(C,) the classes in which a covariate has one category."""
        profiles = np.array(self.unseen.profiles)[self.unseen.shows]
        return np.asarray(profiles[:, place] == code)

    def posterior(self) -> pd.DataFrame:
        """P(true category | report, outcome, covariates) of each person, one column a category.

        With several covariates the columns are pairs of covariate and category.
        """
        after = self.fit.mixture.posterior(self.fit.theta)
        found: dict[Any, Floats] = {}
        single = len(self.unseen.columns) == 1
        for place, (column, labels) in enumerate(
            zip(self.unseen.columns, self.unseen.labels, strict=True)
        ):
            for code, label in enumerate(labels):
                name = label if single else (column.name, label)
                found[name] = after[:, self._mine(place, code)].sum(axis=1)
        return pd.DataFrame(found, index=self.design.frame.index)

    # -- predictions -------------------------------------------------------------------------

    def predict(self, data: Any = None, level: float = 0.95) -> pd.DataFrame:
        """The expected outcome of people: columns prediction, std_error, low, high.

        data : a frame of covariates.  Where it has the columns of the privatized ones, these hold
            *true* categories (profiles: "a smoker of 40"); without them, and for the people of the
            fit (None), it is the mean over the true categories by P(category | covariates).
        Standard errors by the delta method; of a probability the interval is made on the logit
        scale.  The covariates of the profiles given stand in front.
        """
        half = _quantile(level)
        mixture, frame, known = self._again(data)
        value, gradient = means(self.fit, mixture, known)
        found = framed(self.fit, value, gradient, half, bool(mixture.outcome.own))
        if frame is None:
            return found.set_axis(self.design.frame.index)
        shown = [*self.design.sources, *self.unseen.names]
        columns = [name for name in dict.fromkeys(shown) if name in frame.columns]
        return beside_profiles(frame[columns], found.set_axis(frame.index))

    def prevalence(self, level: float = 0.95) -> pd.DataFrame:
        """The mean of P(event) over the people of the fit, with its interval by the delta method.

        Raises ArgumentTypeError where the outcome is a number.
        """
        if self.fit.mixture.outcome.own:
            raise ArgumentTypeError(
                "prevalence is of a yes or no, and this outcome is a number: predict gives its mean"
            )
        found = average(self.fit, _quantile(level)).rename(columns={"prediction": "prevalence"})
        found.insert(0, "category", pd.Series([self.event], dtype=object))
        return found

    def marginal_effects(self, level: float = 0.95) -> pd.DataFrame:
        """Average marginal effects: by how much the mean outcome changes with each covariate.

        Of an ordinary covariate as in `OutcomeResult.marginal_effects`, people's true categories
        being what they are; of a privatized one the mean difference to its first category, the
        other covariates being what they are.  Columns: effect, std_error, z, p, low, high.
        """
        return covariate_effects(self, confidence(level))

    # -- likelihood --------------------------------------------------------------------------

    def compare(self, other: CovariateResult) -> LikelihoodRatioTest:
        """A likelihood-ratio test of two nested fits, whichever is given first.

        Both must have the same privatized covariates, whose reports are part of the likelihood;
        for the effect of one of these use `wald_test`.  An ordinary covariate that is left out is
        left out of the model of the true categories, too, and the test is of both.
        Raises ArgumentValueError for fits of other data, where neither is a special case of the
        other, and where there is no likelihood: with weights, or with people in clusters.
        """
        if not isinstance(other, CovariateResult):
            raise ArgumentTypeError(
                "compare needs another fit by likelihood of the same reports, found "
                f"{type(other).__name__}"
            )
        large, small = sorted((self, other), key=lambda one: -one.df_model)
        for one in (large, small):
            if one._no_likelihood:
                raise ArgumentValueError(
                    "a likelihood-ratio test needs people who are independent and count alike, and "
                    "with weights= or clusters= they are not; use wald_test"
                )
            if not one.converged:
                raise ArgumentValueError("a likelihood-ratio test needs a fit that converged")
        check_nested(large, small)
        statistic = max(0.0, 2 * (large.log_likelihood - small.log_likelihood))
        df = large.df_model - small.df_model
        return LikelihoodRatioTest(statistic, df, float(scipy.special.chdtrc(df, statistic)))

    lr_test = compare

    @property
    def _no_likelihood(self) -> bool:
        return self.fit.mixture.weights is not None or self.vcov == "clustered"

    def facts(self) -> list[tuple[str, str]]:
        """What stands above the table; the likelihood, AIC and BIC where they are of the data."""
        dropped = ("log-likelihood", "AIC", "BIC") if self._no_likelihood else ()
        return [one for one in super().facts() if one[0] not in dropped]

    def _first(self, profiles: NDArray[np.intp]) -> NDArray[np.intp]:
        """(rows,) the first class that shows each person's profile."""
        count = len(self.unseen.profiles)
        first = [int(np.argmax(self.unseen.shows == profile)) for profile in range(count)]
        return np.asarray(np.array(first)[profiles])

    def _again(self, data: Any) -> tuple[Mixture, pd.DataFrame | None, NDArray[np.intp] | None]:
        """The mixture of other people, their frame, and their classes where these are known."""
        if data is None:
            return self.fit.mixture, None, None
        frame = table_of(data)
        if not isinstance(frame, pd.DataFrame):
            frame = pd.DataFrame(np.asarray(data), columns=list(self.design.sources))
        there = [name in frame.columns for name in self.unseen.names]
        if any(there) and not all(there):
            raise ArgumentValueError(
                f"data must have all of the privatized covariates {list(self.unseen.names)} (their "
                "true categories), or none"
            )
        known = self._first(self.unseen.codes(frame)) if there and all(there) else None
        return others(self, frame), frame, known


def _quantile(level: float) -> float:
    """Half the width of an interval in standard errors."""
    return float(scipy.special.ndtri(0.5 + confidence(level) / 2))


def _class_share(mixture: Mixture, fit: Fitted, mine: NDArray[np.bool_]) -> tuple[float, float]:
    """The mean of P(some classes | z) and its standard error, people being a sample."""
    shares = np.exp(mixture.log_shares(fit.theta, slice(None)))
    weight = np.ones(mixture.rows) if mixture.weights is None else mixture.weights
    each = shares[mine].sum(axis=0)
    value = float(each @ weight / weight.sum())
    gains = shares[1:] * (mine[1:, None] - each)
    gradient = ((gains * weight) @ mixture.shares / weight.sum()).ravel()
    cut = mixture.size - len(gradient)
    inner = np.where(np.isfinite(fit.covariance), fit.covariance, 0)[cut:, cut:]
    sampling = float((weight**2) @ (each - value) ** 2) / weight.sum() ** 2
    return value, float(np.sqrt(max(gradient @ inner @ gradient, 0.0) + sampling))
