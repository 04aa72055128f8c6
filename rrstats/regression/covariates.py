"""Regression on a covariate that was privatized: linear, and logistic.

Put in as it was reported, a privatized covariate looks weaker than it is, and what it should have
explained is given to others.  Here the likelihood runs over the true category that nobody saw:

    P(y, report | z) = sum_x P(report | x) P(x | z; gamma) f(y | x, z; beta).

P(x | z) is a multinomial logit on the ordinary covariates ("logistic", the default).  "constant"
shares, the same for all z (as in RRreg), are simpler, and wrong where x goes with z: then the
effects of z and x are biased, and more reports do not help.
For a linear regression the likelihood must take errors for normal, and then skewed errors pass for
groups of people: with exponential errors, prob 0.75 and an effect of half a standard deviation it
finds four times the effect.  So `linear` solves equations of scores by default (`scores`), which
assume neither a law of errors nor a model of the covariate.
Sources: van den Hout and Kooiman (2006); Blair, Imai and Zhou (2015) for the logistic form;
Nakamura (1990) for corrected scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Booleans, Floats
from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation.analysis_columns import Variable, ordinary, variable
from rrstats.estimation.means import numbers
from rrstats.mechanisms.records import find
from rrstats.regression.covariate_results import CovariateResult
from rrstats.regression.doubts import Doubt
from rrstats.regression.frames import check_ordinary, column_or_values, outcome_name, table_of
from rrstats.regression.maxima import VCOVS, fitted
from rrstats.regression.mixtures import Binary, Mixture, Normal
from rrstats.regression.mixtures import Outcome as Law
from rrstats.regression.opening import Opened, open_columns
from rrstats.regression.outcomes import outcome_of
from rrstats.regression.scores import ScoreResult, score_fit
from rrstats.regression.share_columns import ShareColumns, share_columns

__all__ = ["COVARIATE_MODELS", "METHODS", "linear", "logit_on_private"]


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
        f"Linear regression of {told}", Normal(y), opened, keep, covariate_model or "logistic",
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
        title, Binary(no, yes), opened, keep, covariate_model, _kind(vcov, weights, clusters),
        formula is not None, event,
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
    law: Law,
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
    mixture, shares = _mixture(law, opened, covariate_model, keep)
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
    law: Law, opened: Opened, covariate_model: str, keep: Booleans | None
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
    return Mixture(law, given, same, varying, columns, opened.weights), shares
