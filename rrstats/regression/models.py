"""Fit a regression of the true answer on covariates, from reports of it.

`logit`, `probit`, `cloglog` and `cauchit` model P(true answer | covariates) and maximize the
likelihood of the reports; of three and more categories `logit` is multinomial.  Coefficients have
the meaning they have in a direct survey, and the standard errors that the noise leaves.
When not to use it: the reports must be of the mechanism named, whose noise does not depend on the
covariates; people who do not follow the instructions bias every coefficient.
Sources: Magder and Hughes (1997); van den Hout, van der Heijden and Gilchrist (2007); Blair, Imai
and Zhou (2015) (the forced design).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Variable, variable
from rrstats.mechanisms.records import find, read
from rrstats.regression import fitted
from rrstats.regression.fitted import OutcomeResult
from rrstats.regression.fitting import Problem, best, orthonormal
from rrstats.regression.frames import (
    check_index,
    check_ordinary,
    column_or_values,
    outcome_name,
    table_of,
    whole_rows,
)
from rrstats.regression.frames import covariates as covariates_of
from rrstats.regression.links import law_of
from rrstats.regression.outcomes import Outcome, outcome_of
from rrstats.regression.wording import names, notes, title, warn_of

if TYPE_CHECKING:
    from rrstats.regression.covariate_results import CovariateResult

__all__ = ["cauchit", "cloglog", "logit", "probit"]


def logit(
    outcome: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    prob: float | None = None,
    epsilon: float | None = None,
    group: Any = None,
    event: Hashable = None,
    baseline: Hashable = None,
    intercept: bool = False,
    weights: Any = None,
    frequencies: Any = None,
    clusters: Any = None,
    offset: Any = None,
    missing: str = "raise",
    vcov: str | None = None,
    covariates: Any = None,
    covariate_model: str = "logistic",
) -> OutcomeResult | CovariateResult:
    """Logistic regression of the true answer on covariates, from reports of it.

    outcome : a formula such as ``"smoker ~ age + C(region)"``, whose left side is a column of
        reports in ``data`` (needs formulaic); or n reports in any container.
    data : the frame of a formula; or (n, p) covariates, an array or a frame of numbers, taken as
        they stand: a column of ones, or ``intercept=True``, makes an intercept.  None: only that.
    mechanism, prob, epsilon : what made the reports: a mechanism, or categories with prob or
        epsilon; none where the column says so itself.  Where rows were made by different
        mechanisms, a column of n mechanisms, or a mapping from group to mechanism.
    group : the sample of each row, where the mechanism has several.
    event : of two categories the one whose probability is modelled, by default the last.
    baseline : of more the one that the others are compared with, by default the first.
    weights : (n,) probability weights: at least 0, of any scale.  Then the likelihood is that of
        the population, and vcov is "robust" unless named.
    frequencies : (n,) how many people each row stands for, whole numbers.
    clusters : (n,) labels; then vcov is "clustered" unless named.
    offset : (n,) numbers added to the linear predictor.
    missing : "raise", or "drop" rows in which anything is missing.
    vcov : "observed" (the default: inverse Hessian), "expected", "opg", "robust" (sandwich, HC0),
        "clustered" (sandwich, CR1: times G/(G-1) (n-1)/(n-p)).
    covariates, covariate_model : for columns of ``data`` that hold reports themselves, a mapping
        from column to mechanism; a frame that says so needs none.  See
        `covariates.logit_on_private`, which then does the work.
    group, weights, frequencies, clusters and offset may be names of columns of ``data``.

    Returns an OutcomeResult; ``print(result.summary())``.
    Raises ArgumentValueError for collinear covariates, reports that are all alike, and columns
    that do not fit.  Warns ConvergenceWarning where the likelihood has no maximum but at
    prevalences of 0 or 1 (all reports together, or of some covariates): such coefficients are
    infinite.
    Where reports are few and noise is large there are often several maxima.  The highest interior
    one of a few fixed starts is given, with a note where the likelihood was seen to be higher at
    the edge; not all maxima are seen (above 5,000 rows there is one start).
    Formula: log L = sum log sum_j P(report | j) P(j | x); Magder and Hughes (1997).

    >>> import numpy as np, rrstats as rr
    >>> from rrstats.regression import logit
    >>> x = np.repeat([0, 1, 2, 3, 4], 2)
    >>> reports = np.tile([1, 0], 5)
    >>> people = [70, 130, 78, 122, 86, 114, 97, 103, 110, 90]
    >>> dice = rr.surveys.warner([0, 1], 0.7, yes=1)
    >>> found = logit(reports, x, mechanism=dice, intercept=True, frequencies=people)
    >>> found.params.round(3).to_dict()
    {'Intercept': -1.904, 'x1': 0.597}

    Each step of x multiplies the odds of a true yes by exp(0.597) = 1.8.
    """
    data = table_of(data)
    options = {
        "mechanism": mechanism, "prob": prob, "epsilon": epsilon, "group": group, "event": event,
        "intercept": intercept, "weights": weights, "clusters": clusters, "missing": missing,
        "vcov": vcov,
    }  # fmt: skip
    own = {"baseline": baseline, "frequencies": frequencies, "offset": offset}
    if covariates is None and not _private(outcome, data):
        return _regress("logit", outcome, data, **options, **own)
    if given := [name for name, value in own.items() if value is not None]:
        raise ArgumentTypeError(f"{given[0]} cannot be had together with privatized covariates")
    from rrstats.regression.covariates import logit_on_private

    return logit_on_private(
        outcome, data, covariates=covariates, covariate_model=covariate_model, **options
    )


def probit(outcome: Any, data: Any = None, **options: Any) -> OutcomeResult:
    """Probit regression of the true answer, from reports of it: P(event) = Phi(x b).

    The arguments are those of `logit`; the outcome must have two categories.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> fit = probit(["no"] * 650 + ["yes"] * 350, [[1.0]] * 1000, mechanism=m)
    >>> fit.params.round(2).tolist(), fit.prevalence()["prevalence"].round(2).tolist()
    ([-0.84], [0.2])

    About 20% say yes, on the scale of this link.
    """
    return _seen("probit", outcome, data, options)


def cloglog(outcome: Any, data: Any = None, **options: Any) -> OutcomeResult:
    """Complementary log-log regression of the true answer: P(event) = 1 - exp(-exp(x b)).

    The arguments are those of `logit`; the outcome must have two categories.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> fit = cloglog(["no"] * 650 + ["yes"] * 350, [[1.0]] * 1000, mechanism=m)
    >>> fit.params.round(2).tolist(), fit.prevalence()["prevalence"].round(2).tolist()
    ([-1.5], [0.2])

    About 20% say yes, on the scale of this link.
    """
    return _seen("cloglog", outcome, data, options)


def cauchit(outcome: Any, data: Any = None, **options: Any) -> OutcomeResult:
    """Cauchit regression of the true answer: P(event) = 1/2 + arctan(x b) / pi.

    The arguments are those of `logit`; the outcome must have two categories.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> fit = cauchit(["no"] * 650 + ["yes"] * 350, [[1.0]] * 1000, mechanism=m)
    >>> fit.params.round(2).tolist(), fit.prevalence()["prevalence"].round(2).tolist()
    ([-1.38], [0.2])

    About 20% say yes, on the scale of this link.
    """
    return _seen("cauchit", outcome, data, options)


def _seen(link: str, outcome: Any, data: Any, options: dict[str, Any]) -> OutcomeResult:
    """A regression on covariates as they stand."""
    data = table_of(data)
    if private := _private(outcome, data):
        raise ArgumentValueError(
            f"the covariates {private} hold reports, which {link} would take for the truth; use "
            "logit, which knows of them, or a copy of the frame without its metadata"
        )
    return _regress(link, outcome, data, **options)


def _private(outcome: Any, data: Any) -> list[str]:
    """The covariates that a frame says were privatized."""
    if not isinstance(data, pd.DataFrame) or not (records := read(data.attrs)):
        return []
    made = {record.name for record in records}
    used = list(data.columns)
    if isinstance(outcome, str):
        used = list(covariates_of(data, outcome, rows=len(data)).sources)
    check_ordinary(data, [name for name in used if name not in made])
    return [str(name) for name in used if name in made]


def _regress(
    link: str,
    outcome: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    prob: float | None = None,
    epsilon: float | None = None,
    group: Any = None,
    event: Hashable = None,
    baseline: Hashable = None,
    intercept: bool = False,
    weights: Any = None,
    frequencies: Any = None,
    clusters: Any = None,
    offset: Any = None,
    missing: str = "raise",
    vcov: str | None = None,
) -> OutcomeResult:
    formula = outcome if isinstance(outcome, str) else None
    values = column_of(_frame(data), outcome_name(formula)) if formula is not None else outcome
    if formula is None:
        check_index(values, data, "outcome")
    rows = len(values) if hasattr(values, "__len__") else 0
    sampled = column_or_values(group, data, rows, "group", values)
    try:
        seen = variable(values, mechanism, prob, epsilon=epsilon, group=sampled)
    except ArgumentTypeError as error:
        record = find(getattr(values, "attrs", {}), getattr(values, "name", None))
        if any(one is not None for one in (mechanism, prob, epsilon, record)):
            raise
        raise ArgumentTypeError(
            f"{error}, or where people answered directly say so: mechanism=rr.surveys.direct([...])"
            " with the possible answers"
        ) from None
    law = law_of(link, seen.k)
    if seen.k > 2 and event is not None:
        raise ArgumentTypeError(f"event is for two categories; of {seen.k} name the baseline")
    reports = outcome_of(seen, baseline, event)
    opened = covariates_of(data, formula, rows=rows, intercept=intercept)

    numbers = {"weights": weights, "frequencies": frequencies, "offset": offset}
    given = {
        name: _numbers(column_or_values(column, data, rows, name, values), name)
        for name, column in numbers.items()
        if column is not None
    }
    labels = column_or_values(clusters, data, rows, "clusters", values)
    codes = None if labels is None else pd.factorize(pd.Series(labels))[0]
    absent = {"the reports": _unreported(seen, reports), **opened.missing()}
    absent |= {name: np.isnan(column) for name, column in given.items()}
    if codes is not None:
        absent["clusters"] = codes < 0
    keep = whole_rows(missing, absent, rows)
    weight, frequency = _people(given, rows, keep)
    used = weight * frequency > 0
    if not used.all():  # rows that stand for nobody take no part
        weight, frequency = weight[used], frequency[used]
        kept = np.ones(rows, dtype=np.bool_) if keep is None else keep.copy()
        kept[kept] = used
        keep = kept
    reports, design = reports.take(keep), opened.design(keep)
    _check_varied(reports, weight * frequency)

    shift = given.get("offset")
    basis = orthonormal(design.matrix, design.names)
    problem = Problem(
        reports,
        law,
        basis.columns,
        shift if shift is None or keep is None else shift[keep],
        weight * frequency,
        weight * weight * frequency,
        round(float(frequency.sum())),
    )
    found = best(problem)
    grouped = _clusters(codes, keep)
    kind = vcov or ("clustered" if grouped is not None else "robust" if weights is not None else "")
    endless = fitted.boundless(problem, basis, found)
    estimates = fitted.natural(problem, basis, found.theta)
    q = law.predictors * problem.p
    estimates[:q][endless[:q] != 0] = endless[:q][endless[:q] != 0] * np.inf
    back = fitted.natural_slopes(problem, basis, found.theta)
    inner = fitted.covariance_of(problem, found, kind or "observed", grouped, weights is not None)
    covariance = back @ inner @ back.T
    covariance[endless != 0] = covariance[:, endless != 0] = np.nan
    result = OutcomeResult(
        title=title(link, reports, seen),
        index=names(reports, design),
        estimates=estimates,
        covariance=covariance,
        vcov=kind or "observed",
        nobs=problem.people,
        log_likelihood=found.log_likelihood,
        converged=found.converged,
        iterations=found.iterations,
        notes=notes(
            reports, basis.columns, found, endless, weights is not None, grouped is not None
        ),
        event=reports.categories[1] if reports.k == 2 else None,
        problem=problem,
        basis=basis,
        found=found,
        design=design,
        clusters=grouped,
        weighted=weights is not None,
    )
    warn_of(result, endless)
    return result


# -- arguments -----------------------------------------------------------------------------


def _frame(data: Any) -> pd.DataFrame:
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(
            f"a formula needs a frame with its columns as data, found {type(data).__name__}"
        )
    return data


def _unreported(seen: Variable, reports: Outcome) -> NDArray[np.bool_]:
    """(rows,) where nothing was reported."""
    if reports.cells is not None:
        return np.asarray(reports.cells == seen.m)
    return np.asarray(np.isnan(reports.table).any(axis=1))


def _numbers(column: Any, name: str) -> Floats:
    """A column of numbers, NaN where missing."""
    series = pd.Series(column)
    if not pd.api.types.is_numeric_dtype(series.dtype):
        raise ArgumentTypeError(f"{name} must be numbers, found a column of type {series.dtype}")
    found = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if name == "offset":
        rule, wrong = "finite", np.isinf(found)
    elif name == "weights":
        rule, wrong = "finite numbers of at least 0", np.isinf(found) | (found < 0)
    else:
        rule = "whole numbers of at least 0, how many people a row stands for"
        wrong = np.isinf(found) | (found < 0) | (found != np.round(found)) & ~np.isnan(found)
    if wrong.any():
        raise ArgumentValueError(
            f"{name} must be {rule}, found {int(wrong.sum())} of {len(found)} that are not"
        )
    return found


def _people(
    given: dict[str, Floats], rows: int, keep: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """(used rows,) weights with a mean of 1 and frequencies."""
    ones = np.ones(rows)
    both = [given.get(name, ones) for name in ("weights", "frequencies")]
    weight, frequency = both if keep is None else [column[keep] for column in both]
    total = float(weight @ frequency)
    if not total > 0:
        raise ArgumentValueError(
            "weights and frequencies must leave somebody, found that all are 0"
            if rows
            else "there must be at least one report, found none"
        )
    if "weights" in given:
        weight = weight * (float(frequency[weight > 0].sum()) / total)
    return weight, frequency


def _clusters(codes: Any, keep: NDArray[np.bool_] | None) -> NDArray[np.intp] | None:
    """(used rows,) numbers of clusters from 0 on."""
    if codes is None:
        return None
    found = np.unique(codes if keep is None else codes[keep], return_inverse=True)[1]
    if found.max() == 0:
        raise ArgumentValueError("clusters must be at least 2, found 1: it has no variance")
    return np.asarray(found.ravel(), dtype=np.intp)


def _check_varied(reports: Outcome, weights: Floats) -> None:
    """Raise where all reports are alike: then no covariate explains anything."""
    if reports.cells is None:
        alike = bool((reports.table == reports.table[0]).all())
    else:
        # Each sample by itself: cells of different samples are never alike.
        told = np.flatnonzero(reports.counts(weights))
        groups = reports.groups[told]
        alike = len(told) == len(np.unique(groups)) == 1
    if alike:
        raise ArgumentValueError(
            f"all {len(weights)} reports are the same, so nothing can be said of what the answer "
            "depends on"
        )
