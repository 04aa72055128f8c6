"""Regressions with privatized columns: `logit`, `probit`, `cloglog`, `cauchit` and `linear`.

The outcome, the covariates, or both were seen as reports.  Coefficients have the meaning they have
in a direct survey, and the standard errors that the noise leaves: the likelihood runs over the true
categories that nobody saw,

    P(y, reports | z) = sum_x P(reports | x) P(x | z; gamma) f(y | x, z; beta).

P(x | z) is a multinomial logit on the ordinary covariates ("logistic", the default).  "constant"
shares, the same for all z (as in RRreg), are simpler, and wrong where x goes with z: then the
effects of z and x are biased, and more reports do not help.
For a linear regression the likelihood must take errors for normal, and then skewed errors pass for
groups of people: with exponential errors, prob 0.75 and an effect of half a standard deviation it
finds four times the effect.  So `linear` solves equations of scores by default, which assume
neither a distribution of errors nor a model of the covariate.
When not to use it: the reports must be of the mechanism named, whose noise does not depend on the
covariates; people who do not follow the instructions bias every coefficient.
Sources: Magder and Hughes (1997); van den Hout and Kooiman (2006); van den Hout, van der Heijden
and Gilchrist (2007); Blair, Imai and Zhou (2015) for the forced design and the logistic form;
Nakamura (1990) for corrected scores.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation.analysis_columns import Variable, ordinary, variable
from rrstats.estimation.means import numbers
from rrstats.mechanisms.records import find, read
from rrstats.regression.corrected_scores import ScoreResult, score_fit
from rrstats.regression.design_matrix import (
    check_index,
    check_ordinary,
    column_or_values,
    outcome_name,
    table_of,
    whole_rows,
)
from rrstats.regression.design_matrix import covariates as covariates_of
from rrstats.regression.fitting import Problem, best, orthonormal
from rrstats.regression.links import family_of
from rrstats.regression.maxima import VCOVS, fitted
from rrstats.regression.mixtures import BinaryOutcome, Mixture, NormalOutcome, OutcomeModel
from rrstats.regression.outcomes import ReportedOutcome, outcome_of
from rrstats.regression.private_covariates import Opened, ShareColumns, open_columns, share_columns
from rrstats.regression.results import (
    CovariateResult,
    Doubt,
    OutcomeResult,
    boundless,
    covariance_of,
    natural,
    natural_slopes,
    notes,
    parameter_names,
    title,
    warn_of,
)


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
    group, weights, frequencies, clusters and offset may be parameter_names of columns of ``data``.

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
    law = family_of(link, seen.k)
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
    endless = boundless(problem, basis, found)
    estimates = natural(problem, basis, found.theta)
    q = law.predictors * problem.p
    estimates[:q][endless[:q] != 0] = endless[:q][endless[:q] != 0] * np.inf
    back = natural_slopes(problem, basis, found.theta)
    inner = covariance_of(problem, found, kind or "observed", grouped, weights is not None)
    covariance = back @ inner @ back.T
    covariance[endless != 0] = covariance[:, endless != 0] = np.nan
    result = OutcomeResult(
        title=title(link, reports, seen),
        index=parameter_names(reports, design),
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


def _unreported(seen: Variable, reports: ReportedOutcome) -> NDArray[np.bool_]:
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


def _check_varied(reports: ReportedOutcome, weights: Floats) -> None:
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


COVARIATE_MODELS = ("logistic", "constant")
"""How the shares of the true categories depend on the ordinary covariates."""

METHODS = ("scores", "likelihood")
"""How a linear regression is estimated."""

_ROBUST = ("robust", "clustered")

_SEEN, _FAR = 2.0, 4.0
"""Standard errors of variation that scores need, and by which two methods must not differ."""


def linear(
    outcome: Any,
    data: Any = None,
    *,
    covariates: Any = None,
    method: str = "scores",
    covariate_model: str | None = None,
    group: Any = None,
    weights: Any = None,
    clusters: Any = None,
    missing: str = "raise",
    vcov: str | None = None,
    intercept: bool = False,
) -> ScoreResult | CovariateResult:
    """Linear regression with covariates that were privatized.

    outcome : a formula such as "income ~ age + smoker", or the (n,) numbers; data : a frame with
        the columns, without a formula the covariates as they stand (`intercept` adds one).
    covariates : mapping from column to mechanism, or to a `Variable`; columns that the frame
        itself says were privatized need none.  Effects are those of the categories against the
        first.
    method : "scores" solves normal equations in which each report stands for its unbiased score:
        right whatever the law of the errors and however x goes with z.  "likelihood" takes errors
        for normal, and with skewed ones may be far off (module `covariates`); where they are it is
        the more precise the further groups lie apart, and it tells of shares and of each person's
        category.
    covariate_model : with method="likelihood", "logistic" (the default) or "constant".
    group : which sample a row is in, for mechanisms with several.
    weights : sampling weights.  clusters : of people who belong together.
    missing : "raise", or "drop" to leave out rows where anything is missing.
    vcov : by scores "robust" alone; by likelihood "observed" (inverse Hessian, the default),
        "opg", "robust" (the default with weights), or "clustered" (with clusters; the sandwich
        times G/(G-1) (n-1)/(n-p)).
    Returns a ScoreResult or a CovariateResult.  Warns LowPrecisionWarning where the noise leaves
    next to nothing of an effect or errors are not normal, ConvergenceWarning where the likelihood
    has no finite maximum.
    Raises NotIdentifiableError for reports without information, ArgumentValueError for collinear
    columns.
    Formula: sum_i sum_x s_ix D_ix (y_i - D_ix' beta) = 0, with s the scores of the report and D the
    design if the category were x (corrected scores, Nakamura 1990).

    >>> import rrstats as rr
    >>> rng = np.random.default_rng(1)
    >>> true = rng.integers(0, 2, 2000)
    >>> pay = 10.0 + 3.0 * true + rng.normal(size=2000)
    >>> reports = np.where(rng.random(2000) < 0.75, true, 1 - true)
    >>> frame = pd.DataFrame({"smoker": np.array(["no", "yes"])[reports]})
    >>> fit = linear(
    ...     pay, frame, covariates={"smoker": rr.KRR(["no", "yes"], 0.75)}, intercept=True
    ... )
    >>> fit.params.round(1).to_dict()
    {'Intercept': 10.0, 'smoker[T.yes]': 3.1}

    By reported answers the difference would be about 1.5; among true ones it is about 3.1.
    """
    if method not in METHODS:
        raise ArgumentValueError(f"method must be 'scores' or 'likelihood', got {method!r}")
    data = table_of(data)
    formula, values = _split(outcome, data)
    recorded = find(getattr(values, "attrs", None) or {}, getattr(values, "name", None))
    if recorded is not None:
        raise ArgumentValueError(
            f"the outcome {values.name!r} is privatized, and linear needs ordinary numbers; for a "
            "privatized answer of two categories use logit"
        )
    _check_outcome(formula, data)
    y, told = numbers(values, "the outcome", _length(values, data)), _told(values, "the outcome")
    absent, rows = {"the outcome": np.isnan(y)}, len(y)
    if method == "scores" and (covariate_model is not None or vcov not in (None, *_ROBUST)):
        raise ArgumentValueError(
            "covariate_model, and a vcov that is not robust, are for method='likelihood'; scores "
            "need no model of the covariate and no law of the errors"
        )
    opened, keep = open_columns(
        absent, rows, formula, data, covariates, group, weights, clusters, missing, intercept,
        values,
    )  # fmt: skip
    y = y if keep is None else y[keep]
    if method == "scores":
        result = _scored(y, opened, keep, formula is not None, told)
        _say(result.doubts())
        return result
    fit = _fit(
        f"Linear regression of {told}", NormalOutcome(y), opened, keep,
        covariate_model or "logistic",
        _kind(vcov, weights, clusters), formula is not None,
    )  # fmt: skip
    if skewed := _skewed(fit, y, opened, keep):
        warn(skewed, LowPrecisionWarning)
        fit = replace(fit, notes=(skewed,))
    return fit


def _scored(
    y: Floats,
    opened: Opened,
    keep: Booleans | None,
    from_formula: bool,
    told: str = "the outcome",
) -> ScoreResult:
    """`linear` by scores."""
    return score_fit(
        y, opened.unseen, opened.unseen.scores(keep, len(y)), opened.design, opened.names,
        opened.order, opened.same, opened.varying, opened.weights, opened.clusters,
        "robust" if opened.clusters is None else "clustered", from_formula,
        told,
    )  # fmt: skip


def _skewed(fit: CovariateResult, y: Floats, opened: Opened, keep: Booleans | None) -> str | None:
    """A sentence where scores, which do not need normal errors, find something else."""
    if not opened.unseen.columns or not opened.unseen.has_scores:
        return None
    other = _scored(y, opened, keep, False)
    names = other.signal.index[other.signal >= _SEEN]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = ((fit.params[names] - other.params[names]) / other.bse[names]).abs()
    if not (apart > _FAR).any():
        return None
    worst = str(apart.idxmax())
    return (
        f"by scores, which do not take errors for normal, {worst} is {other.params[worst]:.4g} "
        f"and not {fit.params[worst]:.4g}, {apart[worst]:.1f} standard errors apart: errors are "
        "skewed or have long tails, and pass for groups of people; use method='scores'."
    )


def logit_on_private(
    outcome: Any,
    data: Any = None,
    *,
    covariates: Any = None,
    covariate_model: str = "logistic",
    mechanism: Any = None,
    prob: float | None = None,
    epsilon: float | None = None,
    event: Any = None,
    group: Any = None,
    weights: Any = None,
    clusters: Any = None,
    missing: str = "raise",
    vcov: str | None = None,
    intercept: bool = False,
) -> CovariateResult:
    """Logistic regression with covariates that were privatized; `logit` with ``covariates=``.

    outcome : a formula, or the (n,) answers; ordinary values of two levels, or reports with what
        made them in mechanism, prob, epsilon or their own attrs.  event : the category that is
        modelled, by default the last.  For the other arguments see `linear`.
    """
    data = table_of(data)
    formula, values = _split(outcome, data)
    recorded = find(getattr(values, "attrs", None) or {}, getattr(values, "name", None))
    if isinstance(values, Variable):
        seen = values
    elif mechanism is None and prob is None and epsilon is None and recorded is None:
        _check_outcome(formula, data)
        seen = ordinary(_used(values))
    else:
        labels = column_or_values(group, data, _length(values, data), "group")
        sampled = labels if _sampled(mechanism, recorded) else None
        seen = variable(values, mechanism, prob, epsilon=epsilon, group=sampled)
    if seen.k < 2:
        raise ArgumentValueError(
            f"the outcome must have two categories, found {seen.k} in {seen.rows} rows"
        )
    if seen.k != 2 or seen.shown.shape[1] != 2:
        raise ArgumentValueError(
            "with privatized covariates the outcome must have two categories and no finer classes, "
            f"found {seen.k} categories and {seen.shown.shape[1]} classes"
        )
    coded = outcome_of(seen, last=event)
    event = coded.categories[1]
    title = f"Logistic regression of {_told(seen, 'the answer')} being {event!r}"

    absent = {"the outcome": seen.missing()}
    opened, keep = open_columns(
        absent, seen.rows, formula, data, covariates, group, weights, clusters, missing, intercept,
        values,
    )  # fmt: skip
    taken = coded.take(keep)
    told, _ = taken.told(np.empty(0))
    no, yes = told if taken.cells is None else told[:, taken.cells]
    return _fit(
        title, BinaryOutcome(no, yes), opened, keep, covariate_model,
        _kind(vcov, weights, clusters), formula is not None, event,
    )  # fmt: skip


def _sampled(mechanism: Any, recorded: Any) -> bool:
    """Whether the outcome's mechanism needs to know the sample of a report."""
    if isinstance(mechanism, dict):
        return True
    known = recorded.mechanism if mechanism is None and recorded is not None else mechanism
    return getattr(known, "groups", None) is not None


def _split(outcome: Any, data: Any) -> tuple[str | None, Any]:
    """The formula if there is one, and the values of the outcome."""
    if not isinstance(outcome, str):
        return None, outcome
    if not isinstance(data, pd.DataFrame):
        raise ArgumentTypeError(
            f"a formula needs a frame with its columns as data, found {type(data).__name__}"
        )
    return outcome, column_of(data, outcome_name(outcome))


def _check_outcome(formula: str | None, data: Any) -> None:
    """Raise MetadataError for an outcome that may hold reports under another name."""
    if formula is not None:
        check_ordinary(data, [outcome_name(formula)])


def _used(values: Any) -> Any:
    """Values without the categories that nobody has."""
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        return getattr(values, "cat", values).remove_unused_categories()
    return values


def _told(values: Any, unnamed: str) -> str:
    """What an outcome is called."""
    name = getattr(values, "name", None)
    return unnamed if name is None else repr(name)


def _length(values: Any, data: Any) -> int:
    return len(values) if data is None or not hasattr(data, "__len__") else len(data)


def _fit(
    title: str,
    family: OutcomeModel,
    opened: Opened,
    keep: Booleans | None,
    covariate_model: str,
    vcov: str,
    from_formula: bool,
    event: Any = None,
) -> CovariateResult:
    """A regression by likelihood."""
    if covariate_model not in COVARIATE_MODELS:
        raise ArgumentValueError(
            f"covariate_model must be 'logistic' or 'constant', got {covariate_model!r}"
        )
    mixture, shares = _mixture(family, opened, covariate_model, keep)
    found = fitted(mixture, opened.ordered, shares.names, vcov, opened.clusters)
    result = CovariateResult.of(
        found, f"{title}, {opened.unseen.listed}", opened.unseen, opened.design, opened.names,
        opened.order, shares, covariate_model, vcov, from_formula, event,
    )  # fmt: skip
    _say(result.doubts())
    return result


def _say(doubts: list[Doubt]) -> None:
    for doubt in doubts:
        warn(doubt.text, doubt.kind)


def _kind(vcov: str | None, weights: Any, clusters: Any) -> str:
    """The covariance that is meant; robust ones where the likelihood is not that of the data."""
    if clusters is not None:
        if vcov not in (None, "clustered"):
            raise ArgumentValueError(f"clusters make vcov 'clustered', got {vcov!r}")
        return "clustered"
    kind = ("observed" if weights is None else "robust") if vcov is None else vcov
    if kind not in VCOVS:
        raise ArgumentValueError(
            f"vcov must be one of {list(VCOVS)}, and 'clustered' needs clusters; got {vcov!r}"
        )
    return kind


def _mixture(
    family: OutcomeModel, opened: Opened, covariate_model: str, keep: Booleans | None
) -> tuple[Mixture, ShareColumns]:
    """The mixture, and the columns of the model of the class."""
    unseen, same, varying = opened.unseen, opened.same, opened.varying
    if unseen.classes > len(varying):  # classes finer than what they show
        alike = not varying.strides[1]
        varying = (varying[:, :1] if alike else varying)[unseen.shows]
        varying = np.broadcast_to(varying, (unseen.classes, len(same), varying.shape[2]))
    shares = share_columns(same, opened.varying, opened.ordered, unseen.names, covariate_model)
    given = unseen.given(keep) if unseen.columns else np.ones((len(same), 1))
    if never := int((~given.any(axis=1)).sum()):
        raise ArgumentValueError(
            f"{never} of {len(given)} rows hold reports that their design never makes; give the "
            "mechanism that made them"
        )
    columns = shares.of(same, opened.varying)
    return Mixture(family, given, same, varying, columns, opened.weights), shares
