"""What a fitted model says of people: probabilities with intervals, effects, and fit.

Standard errors carry those of the coefficients (delta method) and hold the covariates fixed.
Intervals of probabilities are made where they are nearly normal, on the scale of the link
(of means and of several categories: the logit), and carried back, so that they stay in [0, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats.errors import ArgumentValueError
from rrstats.regression.fitting import blocks

if TYPE_CHECKING:
    from rrstats.regression.fitted import OutcomeResult

__all__ = ["goodness", "marginal", "mean_shares", "shares_of"]

Floats = NDArray[np.float64]


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
    problem, law = result.problem, result.problem.law
    weight = np.ones(len(columns)) if weights is None else weights
    weight = weight / weight.sum()
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
    """A row for each covariate, or for each level beyond the first, and category."""
    found = []
    for name in result.design.sources:
        for change, mean, slopes in _changes(result, name):
            error = _errors(slopes, result._inner)
            for place, category in enumerate(result.problem.outcome.categories):
                if result.event is None or place == 1:
                    found.append((name, change, category, mean[place], error[place]))
    columns = ["covariate", "change", "category", "effect", "std_error"]
    frame = pd.DataFrame(found, columns=columns)
    if result.unknown.size:
        frame["std_error"] = np.nan
    half = scipy.special.ndtri(0.5 + level / 2) * frame["std_error"]
    frame["z"] = frame["effect"] / frame["std_error"]
    frame["p"] = 2 * scipy.special.ndtr(-np.abs(frame["z"].to_numpy(dtype=np.float64)))
    frame["low"], frame["high"] = frame["effect"] - half, frame["effect"] + half
    return frame if result.event is None else frame.drop(columns="category")


def _changes(result: OutcomeResult, name: str) -> list[tuple[str, Floats, Floats]]:
    """What changes of one covariate do to the (k,) mean probabilities, with slopes."""
    column = result.design.frame[name]
    number = pd.api.types.is_numeric_dtype(column.dtype)
    if number and not pd.api.types.is_bool_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64)
        if not np.isin(values, (0.0, 1.0)).all():
            step = 1e-4 * (float(values.std()) or 1.0)
            try:
                return [_change(result, name, "slope", values - step, values + step, 2 * step)]
            except ArgumentValueError:
                pass  # the numbers are levels of a factor, and between them there are none
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(column.unique())
        levels = [one for one in column.cat.categories if one in present]
    else:
        levels = sorted(column.unique())
    whole = [pd.Series([one] * len(column), dtype=column.dtype) for one in levels]
    return [
        _change(result, name, f"{levels[0]} to {one}", whole[0], other, 1.0)
        for one, other in zip(levels[1:], whole[1:], strict=True)
    ]


def _change(
    result: OutcomeResult, name: str, told: str, before: Any, after: Any, step: float
) -> tuple[str, Floats, Floats]:
    ends = []
    for values in (before, after):
        frame = result.design.frame.copy(deep=False)
        frame[name] = np.asarray(values) if isinstance(values, np.ndarray) else values.array
        columns = result.design.build(frame) @ result.basis.back
        ends.append(_mean(result, columns, result.problem.offset, result.problem.weights))
    (mean, slopes), (mean_, slopes_) = ends
    return told, (mean_ - mean) / step, (slopes_ - slopes) / step


# -- fit ----------------------------------------------------------------------------------


def goodness(result: OutcomeResult) -> tuple[float, float, int, float, float, int, float]:
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
    one_p, other_p = (float(scipy.special.chdtrc(df, value)) for value in (pearson, deviance))
    return pearson, deviance, df, one_p, other_p, len(one), float(expected.min())
