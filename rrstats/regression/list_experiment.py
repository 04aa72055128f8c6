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

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy

from rrstats._cached import cached_property
from rrstats._checks import check_bool, check_level, check_one_of, quote_list
from rrstats._display import HeaderLines, Notes, label, percent_range
from rrstats._names import checked_keywords
from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.data.columns import column_of
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    NotIdentifiableError,
    UnknownAnswersError,
    WarningArguments,
    warn,
)
from rrstats.estimation.estimates.result import Result
from rrstats.estimation.report_columns.report_columns import report_column
from rrstats.estimation.report_columns.sample_design import SampleDesign
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.sandwich import ClusterSandwich
from rrstats.mechanisms.survey_design import list_samples
from rrstats.regression.design_matrix import labelled, orthonormal, table_of
from rrstats.regression.fit_tables import FitTable, logit_ends, wald_ends
from rrstats.regression.item_counts import CountOutcome, count_starts
from rrstats.regression.likelihood import Likelihood, fitted
from rrstats.regression.private_covariates import ModelData, ModelRequest, open_model
from rrstats.regression.results import (
    MaximumResult,
    RegressionResult,
    infinite_notes,
    uneven_notes,
)
from rrstats.regression.survey_people import (
    DESIGN_KINDS,
    Reference,
    check_design_kind,
    clustered_covariance,
    default_kind,
    design_df,
    replicate_covariance,
)

_LINEAR_KINDS = ("hc3", "robust", *DESIGN_KINDS)
"""Covariances of least squares, the default first."""

_MAX_LEVERAGE = 1 - 1e-9
"""Leverage from which on a residual is only rounding."""

SENSITIVE = "sensitive"
"""The name of the sensitive item among the parameters."""

_MIN_DENYING = 2
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
    weights: Any = None,
    frequencies: Any = None,
    design: SampleDesign | None = None,
    method: str = "likelihood",
    constrained: bool = True,
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
    weights, frequencies, design, missing
        As for `rrstats.logit`.
    method : {"likelihood", "linear"}
        Maximum likelihood of binomial counts, or least squares, which assume no distribution.
    constrained : bool
        Whether the control items do not depend on the sensitive one, given the covariates.  False
        (likelihood only) fits coefficients for each of its categories.
    vcov : {"hc3", "robust", "observed", "opg", "clustered", "linearized", "replicates"}, optional
        By default "hc3" (MacKinnon and White 1985) for "linear", as in R's list, "observed" for
        "likelihood", but "robust" with weights; with clusters, strata or replicate weights as for
        `rrstats.logit`.  "hc3" is for "linear", "observed" and "opg" for "likelihood".

    Returns
    -------
    ListResult or ListLikelihoodResult
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
    Intervals of ``constrained=False`` are better by ``conf_int(method="profile-likelihood")``: with
    2,000 people, 15% of them of the sensitive item, Wald's cover 90 to 92% and these 94%.

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
    >>> means = list_regression(counts, method="linear", **options)
    >>> means.params.round(3).tolist(), means.bse.round(3).tolist()
    ([0.31, 1.3], [0.098, 0.064])
    >>> likely = list_regression(counts, **options)
    >>> likely.predict(average=True).to_frame().round(3).iloc[:, 1:].to_dict("list")
    {'proportion': [0.335], 'std_error': [0.079], 'low': [0.201], 'high': [0.502]}

    The difference in means of 0.31 has an error of 0.10, the estimate by likelihood one of 0.08.
    """
    check_one_of(method, "method", ("linear", "likelihood"))
    if not check_bool(constrained, "constrained") and method != "likelihood":
        raise ArgumentValueError(
            f"constrained=False is for method 'likelihood', found {method!r}: it assumes no "
            "distribution of the control items"
        )
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanism=mechanism,
        group=group,
        weights=weights,
        frequencies=frequencies,
        design=design,
        missing=missing,
        vcov=vcov,
    )
    people = _open(request)
    _check_columns(people)
    if method == "linear":
        result = _linear(people, request.vcov)
    else:
        result = _likely(people, request.vcov, constrained)
    for text, category in result.warnings:
        warn(text, category)
    return result


def _title(regression: str, people: ListCounts) -> str:
    """The title of a result."""
    return f"{regression} of the sensitive item of a list with {people.items} others"


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


def _open(request: ModelRequest, absent: dict[str, Booleans] | None = None) -> ListCounts:
    """Counts, samples and covariates of the rows that are used.

    absent : rows where other columns are missing, by their names.
    """
    request.check_mechanism()
    if request.mechanism is not None:
        list_samples(request.mechanism)
    elif request.record is None:
        raise ArgumentTypeError(
            "counts of items need the design, and the sample of each person; give "
            "mechanism=rr.surveys.list_experiment(3, groups=(0, 1)), with the number of control "
            "items and the labels of control and treatment, and group, the column of these labels"
        )
    group = request.column("group", request.group, request.rows)
    column = report_column(request.values, request.mechanism, group=group)
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


# -- fits ----------------------------------------------------------------------------------------


def _linear(people: ListCounts, vcov: str | None) -> ListResult:
    """Least squares, with the covariates of the sensitive item where it was on the list."""
    data = people.data
    kind = vcov or default_kind(data, _LINEAR_KINDS[0])
    if vcov is None and kind == "robust":
        kind = _LINEAR_KINDS[0]
    check_one_of(kind, "vcov", _LINEAR_KINDS)
    check_design_kind(kind, data)
    matrix = np.hstack([people.matrix * people.treated[:, None], people.matrix])
    estimates, bread = _least_squares(matrix, people.counts, data.weights)
    index = _parameter_names(people, constrained=True)
    covariance, sandwich = _linear_covariance(people, matrix, estimates, bread, kind=kind)
    return ListResult(
        title=_title("Linear regression", people),
        index=index,
        estimates=estimates,
        covariance=covariance,
        vcov=kind,
        data=data,
        reference=Reference(design_df(kind, data, len(index)), sandwich),
        people=people,
    )


def _least_squares(matrix: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(p,) coefficients and the (p, p) inverse of the sums of products."""
    bread = np.asarray(np.linalg.inv((matrix.T * weights) @ matrix), dtype=np.float64)
    return bread @ (matrix.T @ (weights * values)), bread


def _linear_covariance(
    people: ListCounts, matrix: Floats, estimates: Floats, bread: Floats, *, kind: str
) -> tuple[Floats, ClusterSandwich | None]:
    """(p, p) covariance of least squares by name, and its sandwich of few clusters."""
    data = people.data

    def again(weights: Floats) -> Floats:
        return _least_squares(matrix, people.counts, weights)[0]

    def information(clusters: list[Indices]) -> Floats:
        parts = ((matrix[rows], data.weights[rows]) for rows in clusters)
        return np.array([(part.T * weights) @ part for part, weights in parts])

    if kind == "replicates":
        return replicate_covariance(data, estimates, again), None
    residuals = people.counts - matrix @ estimates
    if kind == "hc3":
        person_weights = data.squares / data.weights
        leverage = np.einsum("rp,pq,rq->r", matrix, bread, matrix) * person_weights
        # The residual of a person who alone decides a coefficient is rounding: no error is known.
        remaining = np.where(leverage < _MAX_LEVERAGE, 1 - leverage, np.nan)
        residuals = residuals / remaining
    scores = matrix * residuals[:, None]
    if kind in ("clustered", "linearized"):
        weighted = scores * data.weights[:, None]
        return clustered_covariance(kind, weighted, data, bread=bread, information=information)
    return np.asarray(bread @ ((scores.T * data.squares) @ scores) @ bread), None


def _likely(people: ListCounts, vcov: str | None, constrained: bool) -> ListLikelihoodResult:
    """Maximum likelihood, whose latent classes are people without and with the sensitive item."""
    data = people.data
    outcome = CountOutcome(
        people.items, people.counts, people.treated, predictors=1 if constrained else 2
    )
    rows, p = people.matrix.shape
    model = Likelihood(
        outcome=outcome,
        class_likelihoods=np.ones((rows, 2)),
        same=people.matrix,
        varying=np.empty((2, rows, 0)),
        class_columns=people.matrix,
        weights=data.weights,
        squares=data.squares,
    )
    fit = fitted(model, data.names, range(p), data.names, starts=partial(count_starts, outcome))
    # The likelihood has the coefficients of the classes last, a result those of the sensitive item
    # first.
    fit = fit.reordered(np.roll(np.arange(model.size), p))
    kind = vcov or default_kind(data, "observed")
    result = ListLikelihoodResult(
        title=_title("Logistic regression", people),
        index=_parameter_names(people, constrained),
        estimates=fit.estimates,
        covariance=fit.bread,
        inner=fit.bread,
        vcov=kind,
        fit=fit,
        data=data,
        people=people,
    )
    return result.with_vcov(kind)


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
    """

    method: ClassVar[str] = "linear"

    people: ListCounts

    _first_label: ClassVar[str] = "item"
    _alternative: ClassVar[str] = (
        "a list experiment has predict, and with method='likelihood' posterior, compare, "
        "with_vcov and profile intervals"
    )

    @property
    def _sensitive(self) -> slice:
        """The places of the coefficients of the sensitive item."""
        return slice(len(self.data.names))

    @property
    def _coefficients(self) -> Floats:
        """Finite coefficients of the sensitive item."""
        return self.estimates[self._sensitive]

    def predict(self, data: Any = None, *, average: bool = False) -> FitTable:
        """P(the sensitive item applies) for profiles of covariates.

        Parameters
        ----------
        data : DataFrame, mapping or array-like, optional
            Profiles, by default the rows of the fit.
        average : bool
            Whether to return the mean over the profiles instead.

        Returns
        -------
        FitTable
            The covariates of given profiles, then proportion, std_error, low and high.  Intervals
            of method "linear" are symmetric and may leave [0, 1]; others are computed on the logit
            scale.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> counts = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4])
        >>> people = [40, 80, 60, 20, 30, 64, 68, 30, 8]
        >>> group = ["control"] * 4 + ["treatment"] * 5
        >>> m = rr.surveys.list_experiment(3)
        >>> design = {"mechanism": m, "group": group}
        >>> fit = rr.regression.list_regression(counts, frequencies=people, **design)
        >>> fit.predict(average=True).to_frame()["proportion"].round(3).tolist()
        [0.335]
        """
        frame = None if data is None else self.data.design.framed(data)
        matrix = self.people.matrix if frame is None else self.data.design.again(frame)
        predictor = matrix @ self._coefficients
        slopes = matrix
        if self.method != "linear":
            predictor = scipy.special.expit(predictor)
            slopes = matrix * (predictor * (1 - predictor))[:, None]
        profiles = frame
        labels = pd.DataFrame(index=self.data.design.frame.index if frame is None else frame.index)
        if average:
            weights = self.data.weights if frame is None else np.ones(len(matrix))
            predictor = np.average(predictor, weights=weights, keepdims=True)
            slopes = np.average(slopes, axis=0, weights=weights, keepdims=True)
            profiles = None
            labels = pd.DataFrame({"category": [self.people.categories[1]]})
        contrasts = np.zeros((len(slopes), self.df_model))
        contrasts[:, self._sensitive] = slopes
        covariance = self.covariance[self._sensitive, self._sensitive]
        error = np.sqrt(np.maximum(np.einsum("rp,pq,rq->r", slopes, covariance, slopes), 0))
        ends_of = wald_ends if self.method == "linear" else logit_ends
        ends = partial(ends_of, predictor, error, self.reference.df(contrasts))
        numbers = {"proportion": predictor, "std_error": error}
        return self._predictions(profiles, labels, numbers, ends)

    def posterior(self) -> pd.DataFrame:
        """P(sensitive item | count, sample, covariates), which least squares do not have.

        Returns
        -------
        DataFrame
            See `ListLikelihoodResult.posterior`.

        Raises
        ------
        ArgumentTypeError
            The method is "linear".
        """
        raise ArgumentTypeError(
            f"posterior is for method 'likelihood', found {self.method!r}: least squares have "
            "no distribution of the counts"
        )


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ListLikelihoodResult(ListResult, MaximumResult):
    """A regression of the sensitive item of a list experiment by likelihood."""

    method: ClassVar[str] = "likelihood"

    @property
    def _is_logit(self) -> bool:
        return True

    @property
    def _coefficients(self) -> Floats:
        """Coefficients of the sensitive item where the search ended."""
        return self.fit.reached[self._sensitive]

    @property
    def warnings(self) -> tuple[WarningArguments, ...]:
        """Texts and classes of the warnings of this fit."""
        texts = []
        if unknown := int((self.fit.signs != 0).sum()):
            texts.append(
                f"there is no finite maximum of {unknown} of {self.df_model} coefficients "
                "(proportions of 0 or 1 fit best), and no standard error; leave covariates out, or "
                "use method='linear'"
            )
        if not self.converged:
            texts.append("no maximum was found; leave covariates out, or use method='linear'")
        return (*((text, ConvergenceWarning) for text in texts), *super().warnings)

    @cached_property
    def notes(self) -> Notes:
        """Sentences below the table."""
        uneven = uneven_notes(self, range(self.df_model))
        return (*super().notes, *infinite_notes(self), *uneven)

    def posterior(self) -> pd.DataFrame:
        """P(sensitive item | count, sample, covariates) for each row of the fit; sums to 1.

        This is what an observer infers about a person from the model; it is not an answer.

        Returns
        -------
        DataFrame
            One column for each category.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> counts = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4])
        >>> people = [40, 80, 60, 20, 30, 64, 68, 30, 8]
        >>> group = ["control"] * 4 + ["treatment"] * 5
        >>> m = rr.surveys.list_experiment(3)
        >>> design = {"mechanism": m, "group": group}
        >>> fit = rr.regression.list_regression(counts, frequencies=people, **design)
        >>> fit.posterior().round(2).tail(2)
             no   yes
        7  0.33  0.67
        8  0.00  1.00
        """
        names = pd.Index(self.people.categories, dtype=object)
        posterior = self.fit.model.posterior(self.fit.theta)
        return pd.DataFrame(posterior, index=self.data.design.frame.index, columns=names)


# -- a direct question beside the list -----------------------------------------------------------


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirectListEstimate(Result):
    """Proportions by a direct question, a list experiment and both, with two placebo tests.

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

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> m = rr.surveys.list_experiment(3, groups=(0, 1))
        >>> counts = [0, 1, 2, 3, 1, 2, 1, 2, 3, 4, 2, 1]
        >>> frame = pd.DataFrame({"count": counts, "treated": [0] * 6 + [1] * 6})
        >>> frame["direct"] = [0, 0, 0, 0, 0, 1] + [0, 0, 0, 1, 1, 0]
        >>> ask = rr.regression.list_with_direct
        >>> both = ask("count", "direct", frame, mechanism=m, group="treated")
        >>> [round(float(end), 2) for end in both.interval(0.9)]
        [-0.36, 1.39]
        """
        half = normal_quantile(check_level(level)) * self.std_error
        return Interval(np.float64(self.proportion - half), np.float64(self.proportion + half))

    @property
    def _header(self) -> HeaderLines:
        """The category and the number of people."""
        return [("category", label(self.category)), ("n", f"{self.n:,}")]

    @property
    def notes(self) -> Notes:
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

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> m = rr.surveys.list_experiment(3, groups=(0, 1))
        >>> counts = [0, 1, 2, 3, 1, 2, 1, 2, 3, 4, 2, 1]
        >>> frame = pd.DataFrame({"count": counts, "treated": [0] * 6 + [1] * 6})
        >>> frame["direct"] = [0, 0, 0, 0, 0, 1] + [0, 0, 0, 1, 1, 0]
        >>> ask = rr.regression.list_with_direct
        >>> both = ask("count", "direct", frame, mechanism=m, group="treated")
        >>> both.to_frame().round(2)
             method  proportion  std_error   low  high
        0  combined        0.51       0.53 -0.53  1.56
        1    direct        0.25       0.13 -0.01  0.51
        2      list        0.67       0.64 -0.59  1.92
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

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> m = rr.surveys.list_experiment(3, groups=(0, 1))
        >>> counts = [0, 1, 2, 3, 1, 2, 1, 2, 3, 4, 2, 1]
        >>> frame = pd.DataFrame({"count": counts, "treated": [0] * 6 + [1] * 6})
        >>> frame["direct"] = [0, 0, 0, 0, 0, 1] + [0, 0, 0, 1, 1, 0]
        >>> ask = rr.regression.list_with_direct
        >>> both = ask("count", "direct", frame, mechanism=m, group="treated")
        >>> print(both.interpret())
        about 51.3% yes by both questions, 95% interval -53.1% to 155.6%
        """
        low, high = self.interval(level)
        return (
            f"about {self.proportion:z.1%} {label(self.category)} by both questions, "
            f"{level * 100:.10g}% interval {percent_range(low, high)}"
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
    >>> both = list_with_direct("count", "direct", frame, mechanism=m, group="treated")
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
    with_values = replace(request, outcome=values)
    rows = with_values.rows
    answers = with_values.column("direct", direct, rows)
    if answers is None:
        raise ArgumentValueError("direct must be the answers to the direct question, found None")
    absent = np.asarray(pd.isna(pd.Series(answers)))
    if with_values.sample_design.replicates is not None:
        raise ArgumentValueError(
            "list_with_direct takes weights, strata and clusters, found replicates; use "
            "list_regression with method='linear', which takes them"
        )
    labels = labelled(request.data)
    resolved = replace(
        with_values,
        data=None if labels is None else pd.DataFrame(index=labels.index),
        group=with_values.column("group", request.group, rows),
        weights=None,
        design=with_values.survey,
    )
    people = _open(resolved, {"the direct answers": absent})
    direct_answers = pd.Series(answers).to_numpy(dtype=object)
    if people.data.keep is not None:
        direct_answers = direct_answers[people.data.keep]
    admits = _admits(direct_answers, people.categories)
    _check_denying(people, admits)
    return people, admits


def _admits(answers: Array, categories: tuple[Hashable, Hashable]) -> Booleans:
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
        if (size := int((sample & ~admits).sum())) < _MIN_DENYING:
            raise NotIdentifiableError(
                f"the {name} sample must have at least {_MIN_DENYING} people who deny the "
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
        if size < _MIN_DENYING:
            return np.nan, np.full(len(values), np.nan)
        weight = weights[rows]
        mean = float(np.average(values[rows], weights=weight))
        scale = sqrt(size / (size - 1))
        if as_assigned:
            scale *= sqrt(weight.sum() / (total * weights[sample].sum() / weights.sum()))
        change[rows] = sign * scale * weight * (values[rows] - mean) / weight.sum()
        difference += sign * mean
    return difference, change
