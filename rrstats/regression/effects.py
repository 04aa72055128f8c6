"""What a fitted model says of people: probabilities with intervals, effects, and fit.

Standard errors carry those of the coefficients (delta method) and hold the covariates fixed.
Intervals of probabilities are made where they are nearly normal, on the scale of the link
(of means and of several categories: the logit), and carried back, so that they stay in [0, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_results import few_expected
from rrstats.regression.changes import Effect, changes, moved
from rrstats.regression.fitting import blocks

if TYPE_CHECKING:
    from rrstats.regression.fitted import OutcomeResult

__all__ = ["goodness", "marginal", "mean_shares", "shares_of", "tested"]


_SMALL = 5
"""Where most expected counts are below this there is no p-value: of true models with a profile for
each of 800 people, tests at 5% rejected 100% (deviance) and 0% (Pearson)."""

_LEFT_OUT = "here it is left out (NaN); "

_COARSER = (
    "fit coarser covariates (ages in classes), so that more people share a profile, or compare the "
    "model with a larger one (compare)"
)


def shares_of(
    result: OutcomeResult,
    columns: Floats,
    offset: Floats | None,
    index: pd.Index[Any],
    level: float,
) -> pd.DataFrame:
    """A row for each profile, and for each category where there are several."""
    law, q, p = result.problem.law, result.problem.law.predictors, result.problem.p
    spread = result._inner[: q * p, : q * p].reshape(q, p, q, p)
    shares = np.empty((law.shares(np.zeros((q, 1))).shape[0], len(columns)))
    error, eta = np.empty_like(shares), np.empty((q, len(columns)))
    for part in blocks(len(columns)):
        rows = columns[part]
        eta[:, part] = _eta(result, rows, None if offset is None else offset[part])
        shares[:, part] = law.shares(eta[:, part])
        slopes = law.slopes(eta[:, part], shares[:, part])
        joint = np.einsum("nx,axby,ny->abn", rows, spread, rows, optimize=True)
        spreads = np.einsum("kan,abn,kbn->kn", slopes, joint, slopes)
        error[:, part] = np.sqrt(np.maximum(spreads, 0.0))
    error[:, ~_finite_rows(result, columns)] = np.nan
    if result.event is None:
        frame = _framed(shares.T.ravel(), error.T.ravel(), level)
        frame.index = index.repeat(len(shares))
        names = list(result.problem.outcome.categories) * len(columns)
        frame.insert(0, "category", pd.Series(names, index=frame.index, dtype=object))
        return frame
    slopes = law.slopes(eta, shares)[1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        half = scipy.special.ndtri(0.5 + level / 2) * error[1] / slopes
    low, high = (law.shares(eta + sign * half)[1] for sign in (-1, 1))
    values = {"prevalence": shares[1], "std_error": error[1], "low": low, "high": high}
    return pd.DataFrame(values, index=index)


def mean_shares(
    result: OutcomeResult,
    columns: Floats,
    offset: Floats | None,
    weights: Floats | None,
    level: float,
) -> pd.DataFrame:
    """A row for the event, or for each category where there are several."""
    mean, slopes = _mean(result, columns, offset, weights)
    error = _errors(slopes, result._inner)
    if not _finite_rows(result, columns).all():
        error = np.full_like(error, np.nan)
    chosen = slice(None) if result.event is None else slice(1, None)
    frame = _framed(mean[chosen], error[chosen], level)
    names = list(result.problem.outcome.categories)[chosen]
    frame.insert(0, "category", pd.Series(names, dtype=object))
    return frame


def _mean(
    result: OutcomeResult, columns: Floats, offset: Floats | None, weights: Floats | None
) -> tuple[Floats, Floats]:
    """(k,) mean probabilities, and their (k, parameters) slopes."""
    return _summed(result, columns, offset, _normed(weights, len(columns)))


def _normed(weights: Floats | None, rows: int) -> Floats:
    weight = np.ones(rows) if weights is None else weights
    return np.asarray(weight / weight.sum())


def _summed(
    result: OutcomeResult, columns: Floats, offset: Floats | None, weight: Floats
) -> tuple[Floats, Floats]:
    """(k,) weighted sums of probabilities, and their (k, parameters) slopes."""
    problem, law = result.problem, result.problem.law
    mean, slopes = np.zeros(problem.outcome.k), np.zeros((problem.outcome.k, problem.size))
    for part in blocks(len(columns)):
        eta = _eta(result, columns[part], None if offset is None else offset[part])
        shares = law.shares(eta)
        mean += shares @ weight[part]
        each = (law.slopes(eta, shares) * weight[part]) @ columns[part]
        slopes[:, : law.predictors * problem.p] += each.reshape(len(mean), -1)
    return mean, slopes


def _eta(result: OutcomeResult, columns: Floats, offset: Floats | None) -> Floats:
    q, p = result.problem.law.predictors, result.problem.p
    eta = result.found.theta[: q * p].reshape(q, p) @ columns.T
    return np.asarray(eta if offset is None else eta + offset)


def _finite_rows(result: OutcomeResult, columns: Floats) -> NDArray[np.bool_]:
    """(rows,) whether the reports tell something of all linear predictors."""
    unknown = result.unknown
    if not unknown.size:
        return np.ones(len(columns), dtype=np.bool_)
    q, p = result.problem.law.predictors, result.problem.p
    moved = np.tensordot(columns, unknown[: q * p].reshape(q, p, -1), axes=(1, 1))
    size = np.sqrt((moved**2).sum(axis=(1, 2)))
    return np.asarray(size <= 1e-4 * np.sqrt((columns**2).sum(axis=1)))


def _errors(slopes: Floats, spread: Floats) -> Floats:
    """(k,) standard errors of what has the (k, parameters) slopes; rounding is not below 0."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("kx,xy,ky->k", slopes, spread, slopes), 0.0)))


def _framed(shares: Floats, error: Floats, level: float) -> pd.DataFrame:
    """Probabilities with intervals on the logit scale."""
    quantile = scipy.special.ndtri(0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle, half = scipy.special.logit(shares), quantile * error / (shares * (1 - shares))
        ends = [scipy.special.expit(middle - half), scipy.special.expit(middle + half)]
    for sign, end in zip((-1, 1), ends, strict=True):  # at 0 and 1 there is no logit
        lost = np.isnan(end)
        end[lost] = np.clip(shares + sign * quantile * error, 0, 1)[lost]
    return pd.DataFrame({"prevalence": shares, "std_error": error, "low": ends[0], "high": ends[1]})


# -- effects -------------------------------------------------------------------------------


def marginal(result: OutcomeResult, level: float) -> pd.DataFrame:
    """A row for each change of each covariate, and category."""
    found = []
    for name in result.design.sources:
        for change, effect in _changes(result, name):
            for place, category in enumerate(result.problem.outcome.categories):
                if result.event is None or place == 1:
                    ends = effect.values[place], effect.errors[place]
                    found.append((name, change, category, *ends))
    columns = ["covariate", "change", "category", "effect", "std_error"]
    frame = pd.DataFrame(found, columns=columns)
    if result.unknown.size:
        frame["std_error"] = np.nan
    frame = tested(frame, level)
    return frame if result.event is None else frame.drop(columns="category")


def tested(frame: pd.DataFrame, level: float) -> pd.DataFrame:
    """Effects with z, p and Wald intervals, of columns effect and std_error."""
    half = scipy.special.ndtri(0.5 + level / 2) * frame["std_error"]
    frame["z"] = frame["effect"] / frame["std_error"]
    frame["p"] = 2 * scipy.special.ndtr(-np.abs(frame["z"].to_numpy(dtype=np.float64)))
    frame["low"], frame["high"] = frame["effect"] - half, frame["effect"] + half
    return frame


def _changes(result: OutcomeResult, name: str) -> list[tuple[str, Effect]]:
    """What changes of one covariate do to the (k,) mean probabilities."""
    problem, design = result.problem, result.design
    weight = _normed(problem.weights, len(problem.columns))

    def effect(before: Any, after: Any, width: Floats | None) -> Effect:
        parts = []
        for values in (before, after):
            columns = design.build(moved(design.frame, name, values)) @ result.basis.back
            each = weight if width is None else weight / width
            parts.append(_summed(result, columns, problem.offset, each))
        (mean, slopes), (mean_, slopes_) = parts
        return Effect(mean_ - mean, _errors(slopes_ - slopes, result._inner))

    return changes(design.frame, design.build, name, effect)


# -- fit ----------------------------------------------------------------------------------


class Goodness(NamedTuple):
    """The fields of a GoodnessOfFit."""

    pearson: float
    deviance: float
    df: int
    pearson_pvalue: float
    deviance_pvalue: float
    groups: int
    smallest_expected: float
    notes: tuple[str, ...]


def goodness(result: OutcomeResult) -> Goodness:
    """Observed against expected reports in groups of rows with equal predictors and sample."""
    problem, outcome = result.problem, result.problem.outcome
    if outcome.siblings is None or outcome.cells is None:
        raise ArgumentValueError(
            "a test of fit needs reports that fall into one cell each; these name several "
            "categories"
        )
    first, cells = outcome.siblings
    parts = [result.design.matrix, first[:, None]]
    if problem.offset is not None:
        parts.append(problem.offset[:, None])
    _, one, group = np.unique(np.hstack(parts), axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    place = group * cells + (outcome.cells - first)
    observed = np.bincount(place, problem.weights, minlength=len(one) * cells)
    values, _ = problem.told(result.found.theta)
    shares = problem.law.shares(problem.eta(result.found.theta)[:, one])
    law = np.stack([(values[:, first[one] + cell] * shares).sum(axis=0) for cell in range(cells)])
    expected = (law * np.bincount(group, problem.weights)).T.ravel()
    used = expected > 0
    observed, expected = observed[used], expected[used]
    df = int(used.sum()) - len(one) - result.df_model
    if df <= 0:
        raise ArgumentValueError(
            f"the model has as many parameters, {result.df_model}, as the {len(one)} groups of "
            "equal covariates tell apart, so its fit cannot be tested"
        )
    pearson = float(((observed - expected) ** 2 / expected).sum())
    deviance = float(2 * scipy.special.xlogy(observed, observed / expected).sum())
    sparse = float((expected < _SMALL).mean()) > 0.5
    remedy = _LEFT_OUT + _COARSER if sparse else _COARSER
    one_p, other_p = (float(scipy.special.chdtrc(df, value)) for value in (pearson, deviance))
    if sparse:
        one_p = other_p = float("nan")
    notes = few_expected(np.asarray(expected, dtype=np.float64), remedy)
    least = float(expected.min())
    return Goodness(pearson, deviance, df, one_p, other_p, len(one), least, notes)
