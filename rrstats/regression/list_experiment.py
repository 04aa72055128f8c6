"""Regression of the sensitive item of a list experiment, and its estimate with a direct question.

With z the sensitive item, g(x) = P(z = yes | x) and c the number of J control items, people of the
control sample report c, those of the treatment sample c + z.  Two methods:

linear      y = x c + t x b by least squares: b is the change of P(yes).  Without covariates this is
            the difference in means, with any weights and clusters.
likelihood  c is binomial with J and expit(x c), z Bernoulli with expit(x b); unless constrained, c
            has coefficients for each z.  Several times as precise, if counts are binomial.

When not to use it: `rrstats.hypotheses.no_design_effect` rejects, or people at the ceiling (all
items) or the floor (no item) lie; then both methods are biased.
Sources: Imai (2011); Blair and Imai (2012); Aronow, Coppock, Crawford and Green (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_bool, check_level, check_one_of, quote_list
from rrstats._display import label
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    NotIdentifiableError,
    RRStatsWarning,
    UnknownAnswersError,
    warn,
)
from rrstats.estimation.report_columns import report_column
from rrstats.estimation.result import Result
from rrstats.estimation.sample_design import Replicates, SampleDesign
from rrstats.estimation.sampled_rows import UnitSums
from rrstats.inference.contrasts import Interval, normal_quantile, student_quantile
from rrstats.inference.optimize import Derivatives, Maximum, maximize, split_information
from rrstats.mechanisms.survey_design import list_samples
from rrstats.regression.design_matrix import orthonormal, table_of
from rrstats.regression.effects import logit_interval
from rrstats.regression.likelihood import clustered_covariance
from rrstats.regression.private_covariates import ModelData, ModelRequest, open_model
from rrstats.regression.results import RegressionResult, confidence
from rrstats.regression.survey_people import (
    DESIGN_KINDS,
    check_design_kind,
    default_kind,
    design_df,
    replicate_covariance,
)

_KINDS = {
    "linear": ("hc3", "robust", *DESIGN_KINDS),
    "likelihood": ("observed", "robust", *DESIGN_KINDS),
}
"""Covariances of each method, the default first."""

_TITLES = {
    "linear": "Linear regression",
    "likelihood": "Logistic regression",
}

_START_LOGITS = (-2.0, 0.0, 2.0)
"""Logits of the sensitive item from which a search starts, besides the difference in means."""

_SHIFTS = (-1.0, 1.0)
"""Differences of the logits of control items between no and yes, from which a search starts."""

_LEAST_INFORMATION = 1e-10
"""Information, relative to that at the start, below which a parameter has no finite maximum."""

_MOST_LEVERAGE = 1 - 1e-9
"""Part of the own fit from which on a residual is only rounding."""

_INVOLVED = 1e-6
"""Part of a coefficient in such a direction from which on it has no standard error."""

SENSITIVE = "sensitive"
"""The name of the sensitive item among the parameters."""

_LEAST_DENYING = 2
"""People of a sample that a variance needs."""

_ALPHA = 0.05
"""Level of the placebo tests in words."""

_ADMIT_TRULY = "the list says 100% among those who admit"
_SAME_DIRECT = "the sample does not change the direct answers"


@checked_keywords
def list_regression(
    outcome: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    group: Any = None,
    method: str = "likelihood",
    constrained: bool = True,
    intercept: bool = False,
    weights: Any = None,
    frequencies: Any = None,
    design: SampleDesign | None = None,
    missing: str = "raise",
    vcov: str | None = None,
) -> ListResult:
    """Regression of the sensitive item of a list experiment on covariates.

    Parameters
    ----------
    outcome : str or array-like of shape (n,)
        A formula such as ``"count ~ age + south"`` (needs formulaic), whose left side is the column
        of the counts of items; or n counts.  ``"count ~ 1"`` with method "linear" is the difference
        in means.  A formula is a program, which may run any command: never take a formula from
        somebody else.
    data : DataFrame, mapping of columns, or array-like of shape (n, p), optional
        As for `rrstats.logit`.
    mechanism : Samples, optional
        `rrstats.surveys.list_experiment`; not needed if the column has a record of it.
    group : array-like of shape (n,), or str
        The sample of each row, control or treatment.
    method : {"likelihood", "linear"}
        Maximum likelihood of binomial counts, or least squares, which assume no distribution.
    constrained : bool
        Whether the control items do not depend on the sensitive one, given the covariates.  False
        (likelihood only) fits coefficients for each of its categories.
    intercept, weights, frequencies, design, missing
        As for `rrstats.logit`.
    vcov : {"hc3", "robust", "observed", "clustered", "linearized", "replicates"}, optional
        By default "hc3" (MacKinnon and White 1985) for "linear", as in R's list, "observed" for
        "likelihood", but "robust" with weights; with clusters, strata or replicate weights as for
        `rrstats.logit`.

    Returns
    -------
    ListResult
        Coefficients of the sensitive item, then those of the control items, as pairs of item and
        covariate.

    Raises
    ------
    ArgumentValueError
        A count is beyond the number of items, a sample is missing, or all people of the control
        sample gave the same count.

    Warns
    -----
    ConvergenceWarning
        No maximum was found, or only at a proportion of 0 or 1: such coefficients have no
        standard error.

    Notes
    -----
    The likelihood is climbed by Newton's method from several starts; R's list 9.2.6 stops its EM
    algorithm up to 1e-3 before the maximum.

    References
    ----------
    Imai (2011); Blair and Imai (2012).

    Examples
    --------
    >>> import numpy as np, rrstats as rr
    >>> m = rr.surveys.list_experiment(3)
    >>> counts = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4])
    >>> people = [40, 80, 60, 20, 30, 64, 68, 30, 8]
    >>> group = ["control"] * 4 + ["treatment"] * 5
    >>> options = {"mechanism": m, "group": group, "frequencies": people}
    >>> means = rr.list_regression(counts, method="linear", **options)
    >>> means.params.round(3).tolist(), means.bse.round(3).tolist()
    ([0.31, 1.3], [0.098, 0.064])
    >>> likely = rr.list_regression(counts, **options)
    >>> likely.predict(average=True).round(3).to_dict("list")
    {'prevalence': [0.335], 'std_error': [0.079], 'low': [0.201], 'high': [0.502]}

    The difference in means of 0.31 has an error of 0.10, the estimate by likelihood one of 0.08.
    """
    check_one_of(method, "method", tuple(_KINDS))
    if not check_bool(constrained, "constrained") and method != "likelihood":
        raise ArgumentValueError(
            f"constrained=False is for method 'likelihood', found {method!r}, which assumes no "
            "distribution of the control items"
        )
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanism=mechanism,
        group=group,
        intercept=intercept,
        weights=weights,
        frequencies=frequencies,
        design=design,
        missing=missing,
        vcov=vcov,
    )
    result = _regress(request, method, constrained)
    for text, category in result.warnings:
        warn(text, category)
    return result


def _regress(request: ModelRequest, method: str, constrained: bool) -> ListResult:
    """Open the counts and fit them by a method."""
    people = _open(request)
    _check_columns(people)
    kind = _kind(method, request.vcov, people.data)
    fit = _METHODS[method](people, kind, constrained)
    if kind == "replicates":
        covariance = replicate_covariance(
            cast(Replicates, people.data.replicates),
            fit.estimates,
            partial(_estimates_by, people, method, constrained),
        )
        fit = fit._replace(covariance=covariance)
    index = _parameter_names(people, constrained)
    return ListResult(
        title=f"{_TITLES[method]} of the sensitive item of a list with {people.items} others",
        index=index,
        estimates=fit.estimates,
        covariance=fit.covariance,
        vcov=kind,
        nobs=people.data.people,
        data=people.data,
        llf=fit.llf,
        converged=fit.converged,
        iterations=fit.iterations,
        df=design_df(kind, people.data, len(index)),
        method=method,
        people=people,
        unknown=tuple(index[fit.unknown]),
    )


def _parameter_names(people: ListCounts, constrained: bool) -> pd.MultiIndex:
    """Pairs of item and covariate."""
    items = [SENSITIVE, "control"]
    if not constrained:
        items[1:] = [f"control, if {label(category)}" for category in people.categories]
    return pd.MultiIndex.from_product([items, people.data.names])


# -- counts of people ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ListCounts:
    """The counts of people, and the columns of their covariates.

    items : control items.  categories : of the sensitive item, no and yes.
    counts : (n,) reported numbers of items.  treated : (n,) whose list had the sensitive one.
    """

    items: int
    categories: tuple[Hashable, Hashable]
    counts: Floats
    treated: Booleans
    data: ModelData

    @property
    def matrix(self) -> Floats:
        """(n, p) the covariates."""
        return self.data.same

    @property
    def difference(self) -> float:
        """The difference in means."""
        weights = self.data.weights
        means = [
            np.average(self.counts[rows], weights=weights[rows])
            for rows in (self.treated, ~self.treated)
        ]
        return float(means[0] - means[1])


def _open(request: ModelRequest, absent: dict[str, Booleans] | None = None) -> ListCounts:
    """Counts, samples and covariates of the rows that are used.

    absent : rows where other columns are missing, by their names.
    """
    request.check_mechanism()
    values = request.values
    rows = len(values) if hasattr(values, "__len__") else 0
    if request.mechanism is not None:
        list_samples(request.mechanism)
    column = report_column(
        values, request.mechanism, group=request.column("group", request.group, rows)
    )
    samples = list_samples(column.mechanism)
    missing = column.missing()
    data = open_model(request, column.rows, {"the counts": missing, **(absent or {})})
    if data.private.columns:
        raise ArgumentValueError(
            "list_regression is for ordinary covariates, found privatized "
            f"{list(map(str, data.private.names))}; leave them out"
        )
    keep = ~missing if data.keep is None else data.keep
    assert column.samples is not None
    sample = column.samples[keep]
    counts = column.codes()[keep] - sample * (samples.items + 2)
    treated = sample == samples.treatment
    beyond = int((counts[~treated] > samples.items).sum())
    if beyond:
        raise UnknownAnswersError(
            f"counts of the control sample must be at most {samples.items}, its number of items, "
            f"found {beyond} larger ones; check group and the items of the mechanism"
        )
    for name, rows_of_sample in (("control", ~treated), ("treatment", treated)):
        if not rows_of_sample.any():
            raise NotIdentifiableError(
                f"a list experiment needs people of both samples, found none of the {name} sample"
            )
    if len(set(counts[~treated].tolist())) < 2:
        raise ArgumentValueError(
            "the control sample must have at least two different counts, found one: it has no "
            "variance, so that errors are not known"
        )
    return ListCounts(samples.items, samples.categories, counts.astype(np.float64), treated, data)


def _kind(method: str, vcov: str | None, data: ModelData) -> str:
    """The checked kind of covariance."""
    kinds = _KINDS[method]
    if vcov is None:
        kind = default_kind(data, kinds[0])
        return kinds[0] if kind == "robust" and method == "linear" else kind
    check_one_of(vcov, "vcov", kinds)
    check_design_kind(vcov, data)
    if vcov == "observed" and data.weighted:
        raise ArgumentValueError(
            "vcov='observed' takes weights for numbers of people; with probability weights use "
            "'robust' or 'clustered'"
        )
    return vcov


def _estimates_by(
    people: ListCounts, method: str, constrained: bool, weights: Floats
) -> Floats | None:
    """The coefficients by other weights; None where they have no finite maximum."""
    data = replace(people.data, weights=weights)
    fit = _METHODS[method](replace(people, data=data), "robust", constrained)
    return fit.estimates if fit.converged and not fit.unknown.any() else None


class _Fitted(NamedTuple):
    """Coefficients with their covariance; unknown : (p,) those without a finite maximum."""

    estimates: Floats
    covariance: Floats
    unknown: Booleans
    llf: float = np.nan
    converged: bool = True
    iterations: int = 1


def _sandwich(
    scores: Floats,
    bread: Floats,
    data: ModelData,
    kind: str,
    *,
    information: Callable[[NDArray[np.intp]], Floats],
) -> Floats:
    """Covariance from the scores of people: robust, of clusters, or of these within strata.

    information : of the rows at some places, for CR2.
    """
    if kind not in ("clustered", "linearized"):
        return np.asarray(bread @ ((scores.T * data.squares) @ scores) @ bread.T)
    weighted = scores * data.weights[:, None]
    if kind == "linearized":
        return np.asarray(bread @ cast(UnitSums, data.units).products(weighted) @ bread.T)
    return clustered_covariance(weighted, data, bread, information)


def _check_columns(people: ListCounts) -> None:
    """Raise for covariates that are collinear in one of the samples."""
    for name, rows in (("control", ~people.treated), ("treatment", people.treated)):
        matrix = people.matrix[rows]
        if len(matrix) <= matrix.shape[1] or np.linalg.matrix_rank(matrix) < matrix.shape[1]:
            orthonormal(people.matrix, people.data.names)  # names those that are collinear in both
            raise ArgumentValueError(
                f"the covariates {list(people.data.names)[:12]} are collinear over the "
                f"{len(matrix)} rows of the {name} sample, so their coefficients cannot be told "
                "apart; leave some out"
            )


# -- least squares -------------------------------------------------------------------------------


def _linear(people: ListCounts, kind: str, constrained: bool) -> _Fitted:
    """Least squares, with the covariates of the sensitive item where it was on the list."""
    data = people.data
    matrix = np.hstack([people.matrix * people.treated[:, None], people.matrix])

    def information(rows: Any) -> Floats:
        part = matrix[rows]
        return np.asarray((part.T * data.weights[rows]) @ part)

    bread = np.asarray(np.linalg.inv(information(slice(None))))
    estimates = bread @ (matrix.T @ (data.weights * people.counts))
    residuals = people.counts - matrix @ estimates
    if kind == "hc3":
        person_weights = data.squares / data.weights
        leverage = np.einsum("rp,pq,rq->r", matrix, bread, matrix) * person_weights
        # The residual of a person who alone decides a coefficient is rounding: no error is known.
        remaining = np.where(leverage < _MOST_LEVERAGE, 1 - leverage, np.nan)
        residuals = residuals / remaining
    covariance = _sandwich(matrix * residuals[:, None], bread, data, kind, information=information)
    return _Fitted(estimates, covariance, np.zeros(len(estimates), dtype=np.bool_))


# -- likelihood ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Log-likelihood of the counts, summed over the two answers to the sensitive item.

    columns : (n, p) covariates.  controls : 1, or 2 if control items depend on the answer.
    """

    columns: Floats
    people: ListCounts
    controls: int

    def terms(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-probabilities of count and answer, with derivatives by the linear predictors.

        Returns (2, n) terms for no and yes; (2, 1 + controls, n) slopes and curvatures, of which
        no two predictors share one.
        """
        people = self.people
        eta = self.columns @ theta.reshape(1 + self.controls, -1).T
        items = people.items
        terms = np.empty((2, len(eta)))
        slopes = np.zeros((2, 1 + self.controls, len(eta)))
        curvatures = np.zeros_like(slopes)
        sensitive = eta[:, 0]
        proportion = scipy.special.expit(sensitive)
        for answer in (0, 1):
            place = 1 + answer * (self.controls - 1)
            control = eta[:, place]
            count = people.counts - people.treated * answer
            is_possible = (count >= 0) & (count <= items)
            ways = np.where(is_possible, scipy.special.binom(items, count), 0.0)
            mean = items * scipy.special.expit(control)
            with np.errstate(divide="ignore"):
                log_ways = np.log(ways)
            log_count = log_ways + count * control + items * scipy.special.log_expit(-control)
            sign = 1 if answer else -1
            terms[answer] = log_count + scipy.special.log_expit(sign * sensitive)
            slopes[answer, 0] = answer - proportion
            curvatures[answer, 0] = -proportion * (1 - proportion)
            slopes[answer, place] = count - mean
            curvatures[answer, place] = -mean * (1 - mean / items)
        return terms, slopes, curvatures

    def posterior(self, theta: Floats) -> Floats:
        """(2, n) P(answer | count, covariates)."""
        return np.asarray(scipy.special.softmax(self.terms(theta)[0], axis=0))

    def scores(self, theta: Floats) -> Floats:
        """(n, size) gradients of the people."""
        mean, _ = _moments(*self.terms(theta))
        return np.hstack([self.columns * size[:, None] for size in mean])

    def __call__(self, theta: Floats) -> Derivatives:
        """Value, gradient and Hessian (Louis 1982)."""
        weights = self.people.data.weights
        terms = self.terms(theta)
        mean, bends = _moments(*terms)
        value = float(weights @ scipy.special.logsumexp(terms[0], axis=0))
        gradient = (mean * weights) @ self.columns
        return value, gradient.ravel(), self._gram(bends, slice(None))

    def information(self, theta: Floats, rows: Any = slice(None)) -> Floats:
        """Minus the Hessian, of the rows at some places."""
        _, bends = _moments(*(part[..., rows] for part in self.terms(theta)))
        return -self._gram(bends, rows)

    def _gram(self, bends: Floats, rows: Any) -> Floats:
        """(size, size) sums of products of columns, from (predictors, predictors, rows)."""
        columns = self.columns[rows]
        weighted = bends * self.people.data.weights[rows]
        return np.block([[(columns.T * bend) @ columns for bend in line] for line in weighted])

    def highest(self) -> Maximum:
        """The highest maximum from some starts."""
        people = self.people
        difference = min(max(people.difference, 0.02), 0.98)
        mean = float(np.average(people.counts, weights=people.data.weights)) - difference
        share = min(max(mean / people.items, 0.02), 0.98)
        control = _constant(self.columns, float(scipy.special.logit(share)))
        shifts = (0.0,) if self.controls == 1 else (0.0, *_SHIFTS)
        ends = []
        for logit in (float(scipy.special.logit(difference)), *_START_LOGITS):
            sensitive = _constant(self.columns, logit)
            for shift in shifts:
                moved = control + _constant(self.columns, shift)
                start = np.concatenate([sensitive, control, moved][: 1 + self.controls])
                ends.append(maximize(self, start))
        return max(ends, key=lambda end: (round(end.value, 6), end.converged))


def _moments(terms: Floats, slopes: Floats, curvatures: Floats) -> tuple[Floats, Floats]:
    """(predictors, n) slopes of the log-likelihood, (predictors, predictors, n) curvatures."""
    posterior = scipy.special.softmax(terms, axis=0)
    mean = np.einsum("an,abn->bn", posterior, slopes)
    bends = np.einsum("an,abn,acn->bcn", posterior, slopes, slopes) - mean[:, None] * mean
    diagonal = np.arange(len(mean))
    bends[diagonal, diagonal] += np.einsum("an,abn->bn", posterior, curvatures)
    return mean, bends


def _constant(columns: Floats, value: float) -> Floats:
    """Coefficients that give everybody a linear predictor near a value."""
    return np.asarray(columns.sum(axis=0) * value / len(columns))


def _likelihood(people: ListCounts, kind: str, constrained: bool) -> _Fitted:
    """Maximum likelihood."""
    data = people.data
    columns, back = orthonormal(people.matrix, data.names)
    model = _Mixture(columns, people, 1 if constrained else 2)
    end = model.highest()
    theta = end.parameters
    bread, _ = split_information(-end.hessian, _LEAST_INFORMATION * end.scale)
    covariance = bread
    if kind != "observed":
        information = partial(model.information, theta)
        covariance = _sandwich(model.scores(theta), bread, data, kind, information=information)
    return _natural(
        theta,
        covariance,
        back,
        _flat(back, end),
        llf=end.value,
        converged=end.converged,
        iterations=end.iterations,
    )


# -- coefficients of the user --------------------------------------------------------------------


def _flat(back: Floats, end: Maximum) -> Booleans:
    """(size,) coefficients that change along directions in which the likelihood is flat."""
    _, flat = split_information(-end.hessian, _LEAST_INFORMATION * end.scale)
    if end.endless is not None:
        flat = np.column_stack([flat, end.endless / np.linalg.norm(end.endless)])
    blocks = len(end.hessian) // len(back)
    moves = np.kron(np.eye(blocks), back) @ flat
    return np.asarray(np.abs(moves).max(axis=1, initial=0.0) > _INVOLVED * np.abs(back).max())


def _natural(
    theta: Floats,
    covariance: Floats,
    back: Floats,
    unknown: Booleans,
    *,
    llf: float = np.nan,
    converged: bool,
    iterations: int,
) -> _Fitted:
    """Coefficients of the covariates from those of orthonormal columns."""
    slopes = np.kron(np.eye(len(theta) // len(back)), back)
    natural = slopes @ covariance @ slopes.T
    natural[unknown] = np.nan
    natural[:, unknown] = np.nan
    return _Fitted(slopes @ theta, natural, unknown, llf, converged, iterations)


_METHODS: dict[str, Callable[[ListCounts, str, bool], _Fitted]] = {
    "linear": _linear,
    "likelihood": _likelihood,
}


# -- results -------------------------------------------------------------------------------------


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ListResult(RegressionResult):
    """A regression of the sensitive item of a list experiment.

    Attributes
    ----------
    method : {"likelihood", "linear"}
        The method.
    people : ListCounts
        The counts and samples.
    unknown : tuple
        The coefficients without a finite maximum.
    """

    method: str
    people: ListCounts
    unknown: tuple[Hashable, ...] = ()

    @property
    def warnings(self) -> tuple[tuple[str, type[RRStatsWarning]], ...]:
        """Texts and classes of the warnings of this fit."""
        texts = []
        if self.unknown:
            texts.append(
                f"{len(self.unknown)} of {self.df_model} coefficients have no finite maximum "
                "(proportions of 0 or 1 fit best) and no standard error; leave covariates out, or "
                "use method='linear'"
            )
        if not self.converged:
            texts.append("no maximum was found; leave covariates out, or use method='linear'")
        return (*((text, ConvergenceWarning) for text in texts), *super().warnings)

    @property
    def _sensitive(self) -> slice:
        """The places of the coefficients of the sensitive item."""
        return slice(len(self.data.names))

    def predict(
        self, data: Any = None, *, average: bool = False, level: float = 0.95
    ) -> pd.DataFrame:
        """P(the sensitive item applies) for profiles of covariates.

        Parameters
        ----------
        data : DataFrame, mapping or array-like, optional
            Profiles, by default the rows of the fit.
        average : bool
            Whether to return the mean over the profiles instead.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The covariates of given profiles, then prevalence, std_error, low and high.  Intervals
            of method "linear" are symmetric and may leave [0, 1]; others are computed on the logit
            scale.
        """
        quantile = student_quantile(confidence(level), self.df)
        frame = None if data is None else self.data.design.framed(data)
        matrix = self.people.matrix if frame is None else self.data.design.again(frame)
        predictor = matrix @ self.estimates[self._sensitive]
        slopes = matrix
        if self.method != "linear":
            predictor = scipy.special.expit(predictor)
            slopes = matrix * (predictor * (1 - predictor))[:, None]
        index = self.data.design.frame.index if frame is None else frame.index
        if average:
            weights = self.data.weights if frame is None else np.ones(len(matrix))
            predictor = np.average(predictor, weights=weights, keepdims=True)
            slopes = np.average(slopes, axis=0, weights=weights, keepdims=True)
            index = pd.RangeIndex(1)
        covariance = self.covariance[self._sensitive, self._sensitive]
        half = np.sqrt(np.maximum(np.einsum("rp,pq,rq->r", slopes, covariance, slopes), 0))
        if self.method == "linear":
            low, high = predictor - quantile * half, predictor + quantile * half
        else:
            low, high = logit_interval(predictor, quantile * half)
        columns = {"prevalence": predictor, "std_error": half, "low": low, "high": high}
        table = pd.DataFrame(columns, index=index)
        return table if frame is None or average else self.data.beside(frame, table)

    def posterior(self) -> pd.DataFrame:
        """P(sensitive item | count, sample, covariates) for each row of the fit; sums to 1.

        This is what an observer infers about a person from the model; it is not an answer.

        Returns
        -------
        DataFrame
            One column for each category.
        """
        if self.method != "likelihood":
            raise ArgumentTypeError(
                f"posterior is for method 'likelihood', found {self.method!r}: least squares have "
                "no distribution of the counts"
            )
        controls = self.df_model // len(self.data.names) - 1
        posterior = _Mixture(self.people.matrix, self.people, controls).posterior(self.estimates)
        names = pd.Index(self.people.categories, dtype=object)
        return pd.DataFrame(posterior.T, index=self.data.design.frame.index, columns=names)


# -- a direct question beside the list -----------------------------------------------------------


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirectListEstimate(Result):
    """Prevalences by a direct question, a list experiment and both, with two placebo tests.

    Attributes
    ----------
    estimates, std_errors : ndarray of shape (3,)
        Of ``methods``: combined, direct, list.
    placebos : DataFrame
        The tests: null hypothesis, estimate, std_error, z, p_value and n.
    n : int
        The number of people.
    category : hashable
        The sensitive category.
    """

    methods: ClassVar[tuple[str, ...]] = ("combined", "direct", "list")

    estimates: Floats
    std_errors: Floats
    placebos: pd.DataFrame
    n: int
    category: Hashable

    @property
    def proportion(self) -> float:
        """The combined estimate."""
        return float(self.estimates[0])

    @property
    def std_error(self) -> float:
        """The standard error of the combined estimate."""
        return float(self.std_errors[0])

    def interval(self, level: float = 0.95) -> Interval:
        """Wald interval of the combined estimate.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        Interval
            Its ends.
        """
        half = normal_quantile(check_level(level)) * self.std_error
        return Interval(np.float64(self.proportion - half), np.float64(self.proportion + half))

    @property
    def header(self) -> list[tuple[str, str]]:
        """The category and the number of people."""
        return [("category", label(self.category)), ("n", f"{self.n:,}")]

    @property
    def notes(self) -> tuple[str, ...]:
        """The placebo tests in sentences."""
        texts = []
        for null, p in zip(self.placebos["null"], self.placebos["p_value"], strict=True):
            verdict = "is rejected" if p <= _ALPHA else "is not rejected"
            verdict = "cannot be tested" if np.isnan(p) else f"{verdict} (p = {p:.4f})"
            texts.append(f"placebo test: {null}, {verdict}")
        return tuple(texts)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The three estimates.

        Parameters
        ----------
        level : float
            Confidence level of the Wald intervals.

        Returns
        -------
        DataFrame
            Columns method, proportion, std_error, low and high.
        """
        half = normal_quantile(check_level(level)) * self.std_errors
        return pd.DataFrame(
            {
                "method": self.methods,
                "proportion": self.estimates,
                "std_error": self.std_errors,
                "low": self.estimates - half,
                "high": self.estimates + half,
            }
        )

    def interpret(self, level: float = 0.95) -> str:
        """The combined estimate in a sentence.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        str
            The proportion with its interval.
        """
        low, high = self.interval(level)
        return (
            f"about {self.proportion:.1%} {label(self.category)} by both questions, "
            f"{level * 100:.10g}% interval {low:.1%} to {high:.1%}"
        )


@checked_keywords
def list_with_direct(
    outcome: Any,
    direct: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    group: Any = None,
    weights: Any = None,
    design: SampleDesign | None = None,
    missing: str = "raise",
) -> DirectListEstimate:
    """Combine a list experiment with a direct question that the same people answered.

    People who admit the sensitive item when asked directly need no list: the difference in means
    is needed only of those who deny it.  So the estimate is more precise than that of the list.

    Parameters
    ----------
    outcome : str or array-like of shape (n,)
        The column of the counts in ``data``, or n counts.
    direct : str or array-like of shape (n,)
        The answers to the direct question: the two categories of the mechanism, or 0 and 1.
    data : DataFrame, optional
        The frame of the columns that are given by name.
    mechanism, group
        As for `list_regression`.
    weights, design, missing
        As for `rrstats.logit`, without replicate weights.

    Returns
    -------
    DirectListEstimate
        The combined estimate, both others, and two placebo tests: the list says 100% among those
        who admit (nobody admits what does not apply), and the sample does not change the direct
        answers.  If one is rejected, do not use the combined estimate.

    Raises
    ------
    ArgumentValueError
        A direct answer is not one of the two categories, or a sample has less than two people who
        deny.

    Notes
    -----
    With p the proportion that admits and d the difference in means of the others, the estimate is
    p + (1 - p) d.  Its variance is (1 - d)^2 p (1 - p) / n + (1 - p) (v1 / m + v0 / (1 - m)) / n, m
    the proportion of the treatment sample; with weights or clusters it is linearized.

    References
    ----------
    Aronow, Coppock, Crawford and Green (2015).

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> m = rr.surveys.list_experiment(3, groups=(0, 1))
    >>> counts = [0, 1, 2, 3, 1, 2, 1, 2, 3, 4, 2, 1]
    >>> frame = pd.DataFrame({"count": counts, "treated": [0] * 6 + [1] * 6})
    >>> frame["direct"] = [0, 0, 0, 0, 0, 1] + [0, 0, 0, 1, 1, 0]
    >>> both = rr.list_with_direct("count", "direct", frame, mechanism=m, group="treated")
    >>> both.to_frame()["proportion"].round(3).tolist()
    [0.513, 0.25, 0.667]
    """
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanism=mechanism,
        group=group,
        weights=weights,
        design=design,
        missing=missing,
    )
    people, admits = _open_direct(request, direct)
    weight = people.data.weights
    everybody = np.ones(len(weight), dtype=np.bool_)
    difference, difference_change = _difference(people, people.counts, everybody)
    among_others, others_change = _difference(people, people.counts, ~admits, as_assigned=True)
    admitted = float(np.average(admits, weights=weight))
    admitted_change = weight * (admits - admitted) / weight.sum()
    combined = admitted + (1 - admitted) * among_others
    combined_change = (1 - among_others) * admitted_change + (1 - admitted) * others_change
    # p (1 - p) / (n - 1), as of a sample
    direct_change = admitted_change * np.sqrt(len(weight) / (len(weight) - 1))
    changes = (combined_change, direct_change, difference_change)
    return DirectListEstimate(
        estimates=np.array([combined, admitted, difference]),
        std_errors=np.array([_error(people.data, change) for change in changes]),
        placebos=_placebo_tests(people, admits),
        n=people.data.people,
        category=people.categories[1],
    )


def _open_direct(request: ModelRequest, direct: Any) -> tuple[ListCounts, Booleans]:
    """The counts without covariates, and who admits the sensitive item."""
    values = request.outcome
    if isinstance(values, str):
        values = column_of(table_of(request.data), values)
    rows = len(values) if hasattr(values, "__len__") else 0
    with_values = replace(request, outcome=values)
    answers = with_values.column("direct", direct, rows)
    if answers is None:
        raise ArgumentValueError("direct must be the answers to the direct question, found None")
    absent = np.asarray(pd.isna(pd.Series(answers)))
    columns = {
        name: with_values.column(name, column, rows) for name, column in with_values.columns.items()
    }
    if with_values.sample_design.replicates is not None:
        raise ArgumentValueError(
            "list_with_direct takes weights, strata and clusters, found replicates; use "
            "list_regression with method='linear', which takes them"
        )
    resolved = replace(
        with_values,
        data=None,
        group=with_values.column("group", request.group, rows),
        weights=None,
        design=replace(with_values.sample_design, **columns),
    )
    people = _open(resolved, {"the direct answers": absent})
    labels = pd.Series(answers).to_numpy(dtype=object)
    if people.data.keep is not None:
        labels = labels[people.data.keep]
    admits = _admits(labels, people.categories)
    _check_denying(people, admits)
    return people, admits


def _admits(answers: NDArray[Any], categories: tuple[Hashable, Hashable]) -> Booleans:
    """(n,) whose direct answer is the sensitive category; raises for other answers."""
    no, yes = categories
    code_of = {0: 0, 1: 1, no: 0, yes: 1}
    codes = np.array([code_of.get(answer, -1) for answer in answers])
    if strange := int((codes < 0).sum()):
        raise ArgumentValueError(
            f"direct must have the two categories {quote_list(categories)} or 0 and 1, "
            f"found {strange} of {len(codes)} other answers"
        )
    return np.asarray(codes == 1)


def _check_denying(people: ListCounts, admits: Booleans) -> None:
    """Raise if too few people of a sample deny the direct question."""
    for name, sample in (("control", ~people.treated), ("treatment", people.treated)):
        if (size := int((sample & ~admits).sum())) < _LEAST_DENYING:
            raise NotIdentifiableError(
                f"the {name} sample must have at least {_LEAST_DENYING} people who deny the "
                f"direct question, found {size}; use list_regression with method='linear'"
            )


def _placebo_tests(people: ListCounts, admits: Booleans) -> pd.DataFrame:
    """The tests of the assumptions: null hypothesis, estimate, std_error, z, p_value and n."""
    everybody = np.ones(len(admits), dtype=np.bool_)
    among_admitting, admitting_change = _difference(people, people.counts, admits)
    admitted_more, more_change = _difference(people, admits.astype(np.float64), everybody)
    tests = pd.DataFrame(
        {
            "null": [_ADMIT_TRULY, _SAME_DIRECT],
            "estimate": [among_admitting, admitted_more],
            "std_error": [
                _error(people.data, admitting_change),
                _error(people.data, more_change),
            ],
            "n": [int(admits.sum()), len(admits)],
        }
    )
    tests.insert(3, "z", (tests["estimate"] - [1.0, 0.0]) / tests["std_error"])
    tests.insert(4, "p_value", 2 * scipy.special.ndtr(-tests["z"].abs()))
    return tests


def _error(data: ModelData, change: Floats) -> float:
    """The standard error of an estimate, from its change by each row."""
    if data.units is None:
        people_of_row = data.weights**2 / data.squares
        return float(np.sqrt((change**2 / people_of_row).sum()))
    return float(np.sqrt(data.units.products(change[:, None])[0, 0]))


def _difference(
    people: ListCounts, values: Floats, selected: Booleans, *, as_assigned: bool = False
) -> tuple[float, Floats]:
    """The difference in means among some people, and its change by each row; NaN if too few.

    The squares of the changes sum to Welch's variance; as_assigned : with the proportion of the
    treatment sample among all people instead of that among the selected, as the authors have it.
    """
    weights = people.data.weights
    change = np.zeros(len(values))
    total = float(weights[selected].sum())
    difference = 0.0
    for sign, sample in ((1, people.treated), (-1, ~people.treated)):
        rows = sample & selected
        size = int(rows.sum())
        if size < _LEAST_DENYING:
            return np.nan, np.full(len(values), np.nan)
        weight = weights[rows]
        mean = float(np.average(values[rows], weights=weight))
        scale = sqrt(size / (size - 1))
        if as_assigned:
            scale *= sqrt(weight.sum() / (total * weights[sample].sum() / weights.sum()))
        change[rows] = sign * scale * weight * (values[rows] - mean) / weight.sum()
        difference += sign * mean
    return difference, change
