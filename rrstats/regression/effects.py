"""Probabilities, means and marginal effects of a fitted model, with their standard errors.

Standard errors carry those of the coefficients (delta method) and hold the covariates fixed.
Intervals of probabilities are made where they are nearly normal, on the scale of the link
(of means and of several categories: the logit), and carried back, so that they stay in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.homogeneity import few_expected
from rrstats.regression.fitting import blocks

if TYPE_CHECKING:
    from rrstats.regression.results import OutcomeResult
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rrstats.regression.maxima import Fitted
from rrstats.regression.mixtures import Mixture
from rrstats.regression.private_covariates import Unseen, again

if TYPE_CHECKING:
    from rrstats.regression.results import CovariateResult

_STEP = 1e-5
"""The shorter of two steps, in typical deviations of the covariate."""

_FINER = 1e-2
"""Where they disagree both are tried again so much shorter, twice: values may lie far apart."""

_AGREE, _AGREE_ERROR = 1e-3, 1e-2
"""Slopes of two steps may differ by this part, and by this part of the standard error."""

_POINTS = 257
"""Values of a covariate at which its columns are looked at, at most."""

_HALVINGS, _JUMP = 20, 1e-2
"""A column that keeps this part of its change in an interval halved so often has a jump there."""

_FEW = 12
"""A covariate that jumps is told level by level if it has at most so many."""


class Effect(NamedTuple):
    """What a change does to (k,) means, and the standard errors."""

    values: Floats
    errors: Floats


def changes(
    frame: pd.DataFrame,
    build: Callable[[pd.DataFrame], Floats],
    name: str,
    effect: Callable[[Any, Any, Floats | None], Effect],
) -> list[tuple[str, Effect]]:
    """The changes of one covariate in words, and their effects.

    build : makes the (rows, p) columns of a frame.
    effect : of a column before and after, divided by (rows,) widths where these are given.
    A slope for numbers; differences to the first level for factors, 0/1 columns, and numbers of few
    values whose columns jump; else the difference between the quartiles.
    """
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64)
        if not np.isin(values, (0.0, 1.0)).all():
            shape = _shape(frame, build, name, values)
            if shape == "smooth" and (slope := _slope(values, effect)) is not None:
                return [("slope", slope)]
            if shape != "levels" and len(np.unique(values)) > _FEW:
                low, high = _quartiles(values)
                before, after = np.full(len(values), low), np.full(len(values), high)
                return [(f"{low:.6g} to {high:.6g}", effect(before, after, None))]
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(column.unique())
        levels = [one for one in column.cat.categories if one in present]
    else:
        levels = sorted(column.unique())
    whole = [pd.Series([one] * len(column), dtype=column.dtype).array for one in levels]
    return [
        (f"{levels[0]} to {one}", effect(whole[0], other, None))
        for one, other in zip(levels[1:], whole[1:], strict=True)
    ]


def moved(frame: pd.DataFrame, name: str, values: Any) -> pd.DataFrame:
    """The frame with other values of a covariate."""
    found = frame.copy(deep=False)
    found[name] = values
    return found


def _slope(values: Floats, effect: Callable[[Any, Any, Floats | None], Effect]) -> Effect | None:
    """The mean slope; None where it depends on the step, as that of a root does at 0."""
    low, high = values.min(), values.max()
    if low == high:
        low, high = -np.inf, np.inf
    quarters = np.subtract(*np.quantile(values, [0.75, 0.25]))
    deviation = float(values.std()) or 1.0
    step = _STEP * (min(deviation, float(quarters)) or deviation)
    for length in (step, step * _FINER, step * _FINER**2):
        found = []
        for size in (length, 10 * length):
            before, after = np.maximum(values - size, low), np.minimum(values + size, high)
            try:
                found.append(effect(before, after, after - before))
            except ArgumentValueError:
                return None
        if _agree(*found):
            return found[0]
    return None


def _agree(short: Effect, long: Effect) -> bool:
    """Whether two steps find the same slopes, with the same errors."""
    apart = np.abs(short.values - long.values)
    error = np.nan_to_num(np.maximum(short.errors, long.errors))
    gap = np.nan_to_num(np.abs(short.errors - long.errors))
    size = np.maximum(np.abs(short.values), np.abs(long.values)).max()
    agree = apart <= _AGREE * size + _AGREE_ERROR * error
    return bool((agree & (gap <= _AGREE_ERROR * error)).all())


def _quartiles(values: Floats) -> tuple[float, float]:
    """Two values seen: the quartiles, or where these are equal the ends."""
    low, high = np.quantile(values, [0.25, 0.75], method="nearest").tolist()
    return (low, high) if low < high else (float(values.min()), float(values.max()))


def _shape(
    frame: pd.DataFrame, build: Callable[[pd.DataFrame], Floats], name: str, values: Floats
) -> str:
    """How columns go with a number: "smooth", with "jumps", or known at its "levels" alone."""
    points = np.unique(values)
    if len(points) > _POINTS:
        places = np.linspace(0, len(points) - 1, _POINTS).round().astype(int)
        points = points[places]
    if len(points) < 2:
        return "smooth"
    matrix = build(frame)
    people = np.unique(np.abs(matrix).argmax(axis=0))  # each column is not 0 for one of them
    tall = moved(frame.iloc[people.repeat(len(points))], name, np.tile(points, len(people)))
    curves = build(tall).reshape(len(people), len(points), -1)
    steps = np.abs(np.diff(curves, axis=1))
    size = np.abs(curves).max(axis=(0, 1))
    # Where a column changes most, and where it is steepest.
    ends = []
    for kind in (steps, steps / np.diff(points)[:, None]):
        for column in range(kind.shape[2]):
            person, place = np.unravel_index(kind[:, :, column].argmax(), kind.shape[:2])
            if steps[person, place, column] > 1e-9 * size[column]:
                ends.append((column, person, place))
    if not ends:
        return "smooth"
    columns, who, place = np.array(ends).T
    low, high = points[place], points[place + 1]
    low_value, high_value = curves[who, place, columns], curves[who, place + 1, columns]
    first, base = np.abs(high_value - low_value), frame.iloc[people[who]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        try:
            value = build(moved(base, name, middle))[np.arange(len(columns)), columns]
        except ArgumentValueError:
            return "levels"  # of a factor: between them there is nothing
        left = np.abs(value - low_value) >= np.abs(high_value - value)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
        low_value = np.where(left, low_value, value)
        high_value = np.where(left, value, high_value)
        if (np.abs(high_value - low_value) <= _JUMP * first).all():
            return "smooth"
    return "jumps"


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
        frame = _share_frame(shares.T.ravel(), error.T.ravel(), level)
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
    error = _share_errors(slopes, result._inner)
    if not _finite_rows(result, columns).all():
        error = np.full_like(error, np.nan)
    chosen = slice(None) if result.event is None else slice(1, None)
    frame = _share_frame(mean[chosen], error[chosen], level)
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


def _share_errors(slopes: Floats, spread: Floats) -> Floats:
    """(k,) standard errors of what has the (k, parameters) slopes; rounding is not below 0."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("kx,xy,ky->k", slopes, spread, slopes), 0.0)))


def _share_frame(shares: Floats, error: Floats, level: float) -> pd.DataFrame:
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


def outcome_effects(result: OutcomeResult, level: float) -> pd.DataFrame:
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
        return Effect(mean_ - mean, _share_errors(slopes_ - slopes, result._inner))

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
    notes = tuple(few_expected(np.asarray(expected, dtype=np.float64), remedy))
    least = float(expected.min())
    return Goodness(pearson, deviance, df, one_p, other_p, len(one), least, notes)


Places = NDArray[np.intp]

_BLIND = 1e-8
"""What moves with a parameter of which nothing is known by more than this has no error."""


def means(
    fit: Fitted, mixture: Mixture, known: Places | None = None, shown: Places | None = None
) -> tuple[Floats, Floats]:
    """(rows,) expected outcomes of the people of a mixture, and their (rows, size) slopes.

    known : (rows,) their classes, where these are known.
    shown : (C,) the class whose outcome each class is to have.
    """
    theta, number, b = fit.theta, bool(mixture.outcome.own), mixture.columns
    eta, design = mixture.predictors(theta, slice(None)), mixture.design(slice(None))
    if shown is not None:
        eta, design = eta[shown], design[shown]
    each = eta if number else scipy.special.expit(eta)
    slopes = np.ones_like(eta) if number else each * (1 - each)
    gradient = np.zeros((mixture.rows, mixture.size))
    if known is None:
        shares = np.exp(mixture.log_shares(theta, slice(None)))
        value = (shares * each).sum(axis=0)
        gains = (shares * (each - value))[1:].T
        wide = gains[:, :, None] * mixture.shares[:, None, :]
        gradient[:, b + mixture.outcome.own :] = wide.reshape(mixture.rows, -1)
    else:
        shares = (np.arange(mixture.classes)[:, None] == known).astype(np.float64)
        value = (shares * each).sum(axis=0)
    gradient[:, :b] = np.einsum("cr,crb->rb", shares * slopes, design)
    return value, gradient


def framed(fit: Fitted, value: Floats, gradient: Floats, half: float, number: bool) -> pd.DataFrame:
    """Columns prediction, std_error, low and high; of a probability on the logit scale."""
    error = _mixture_errors(fit, gradient)
    if number:
        low, high = value - half * error, value + half * error
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            middle, reach = scipy.special.logit(value), half * error / (value * (1 - value))
        low, high = scipy.special.expit(middle - reach), scipy.special.expit(middle + reach)
    return pd.DataFrame({"prediction": value, "std_error": error, "low": low, "high": high})


def average(fit: Fitted, half: float) -> pd.DataFrame:
    """The mean of the people of the fit, in a row."""
    value, gradient = means(fit, fit.mixture)
    weight = _weight(fit.mixture)
    number = bool(fit.mixture.outcome.own)
    return framed(fit, (weight @ value)[None], (weight @ gradient)[None], half, number)


def covariate_effects(result: CovariateResult, level: float) -> pd.DataFrame:
    """A row for each change of an ordinary covariate, and each category of a privatized one."""
    rows: list[tuple[str, str, float, float]] = []
    for name in result.design.sources:
        if name not in result.unseen.names:
            rows += [(name, told, *_single(effect)) for told, effect in _ordinary(result, name)]
    for place, (name, labels) in enumerate(
        zip(result.unseen.names, result.unseen.labels, strict=True)
    ):
        ends = [_if_all(result, place, code) for code in range(len(labels))]
        for label, end in zip(labels[1:], ends[1:], strict=True):
            effect = _effect(result.fit, ends[0], end)
            rows.append((name, f"{labels[0]} to {label}", *_single(effect)))
    return tested(pd.DataFrame(rows, columns=["covariate", "change", "effect", "std_error"]), level)


def _ordinary(result: CovariateResult, name: str) -> list[tuple[str, Effect]]:
    """Effects of an ordinary covariate, people's true categories being what they are."""
    fit, weight = result.fit, _weight(result.fit.mixture)
    frame = result.design.frame
    frame = frame.drop(columns=[one for one in result.unseen.names if one in frame.columns])

    def build(data: pd.DataFrame) -> Floats:
        return np.hstack(again(result.unseen, result.design, data, result.from_formula))

    def effect(before: Any, after: Any, width: Floats | None) -> Effect:
        ends = []
        for values in (before, after):
            mixture = others(result, moved(frame, name, values))
            value, slopes = means(fit, replace(mixture, shares=fit.mixture.shares))
            each = weight if width is None else weight / width
            ends.append((each @ value, each @ slopes))
        return _effect(fit, *ends)

    return changes(frame, build, name, effect)


def _if_all(result: CovariateResult, place: int, code: int) -> tuple[float, Floats]:
    """The mean, and its slopes, if everybody had one category of a privatized covariate."""
    unseen, fit = result.unseen, result.fit
    first = {profile: _first(unseen, number) for number, profile in enumerate(unseen.profiles)}
    shown = []
    for number in unseen.shows:
        profile = unseen.profiles[number]
        shown.append(first[(*profile[:place], code, *profile[place + 1 :])])
    value, slopes = means(fit, fit.mixture, shown=np.array(shown, dtype=np.intp))
    weight = _weight(fit.mixture)
    return float(weight @ value), np.asarray(weight @ slopes)


def _first(unseen: Unseen, profile: int) -> int:
    """The first class that shows a profile."""
    return int(np.argmax(unseen.shows == profile))


def _effect(fit: Fitted, before: tuple[Any, Floats], after: tuple[Any, Floats]) -> Effect:
    value, slopes = after[0] - before[0], after[1] - before[1]
    return Effect(np.atleast_1d(value), _mixture_errors(fit, slopes[None]))


def _single(effect: Effect) -> tuple[float, float]:
    return float(effect.values[0]), float(effect.errors[0])


def _mixture_errors(fit: Fitted, gradient: Floats) -> Floats:
    """(rows,) standard errors; NaN for what moves with a parameter of which nothing is known."""
    free = np.where(np.isfinite(fit.covariance), fit.covariance, 0.0)
    error = np.sqrt(np.maximum(np.einsum("rp,pq,rq->r", gradient, free, gradient), 0))
    blind = (np.abs(gradient[:, fit.lost]) > _BLIND).any(axis=1)
    return np.where(blind, np.nan, error)


def _weight(mixture: Mixture) -> Floats:
    """(rows,) weights that sum to 1."""
    weight = np.ones(mixture.rows) if mixture.weights is None else mixture.weights
    return np.asarray(weight / weight.sum())


def others(result: CovariateResult, frame: pd.DataFrame) -> Mixture:
    """The mixture of other people, of whom nothing was reported."""
    unseen = result.unseen
    matrices = again(unseen, result.design, frame, result.from_formula)
    same = result.fit.mixture.same.shape[1]
    turned = [matrix[:, result.order] for matrix in matrices]
    varying = np.stack([matrix[:, same:] for matrix in turned])
    ordinary = turned[0][:, :same]
    shares = result.share_columns.of(ordinary, varying)
    given = np.ones((len(frame), len(unseen.shows)))
    return Mixture(result.fit.mixture.outcome, given, ordinary, varying[unseen.shows], shares)


# -- nested mixtures ---------------------------------------------------------------------------


def check_nested(large: CovariateResult, small: CovariateResult) -> None:
    """Raise where one is no special case of the other, or has no chi-squared law."""
    one, two = large.fit.mixture, small.fit.mixture
    same = (
        large.unseen.names == small.unseen.names
        and np.array_equal(one.given, two.given)
        and type(one.outcome) is type(two.outcome)
        and all(
            np.array_equal(value, vars(two.outcome)[name])
            for name, value in vars(one.outcome).items()
        )
    )
    if not same:
        raise ArgumentValueError(
            "the two fits must be of the same outcome and the same reports of the same privatized "
            "covariates; for the effect of a privatized covariate itself use wald_test"
        )
    nested = _within(_outcome_columns(one), _outcome_columns(two)) and _within(
        [one.shares], [two.shares]
    )
    if large.df_model == small.df_model or not nested:
        raise ArgumentValueError(
            "neither fit is a special case of the other, so a likelihood ratio has no chi-squared "
            f"law; compare aic: {large.aic:.2f} and {small.aic:.2f}"
        )
    if large.fit.lost.any() or small.fit.lost.any():
        raise ArgumentValueError(
            "a likelihood-ratio test needs parameters with finite maxima, and some have none; "
            "leave covariates out"
        )


def _outcome_columns(mixture: Mixture) -> Iterable[Floats]:
    """The (rows, columns) of each class."""
    return [np.hstack([mixture.same, varying]) for varying in mixture.varying]


def _within(large: Iterable[Floats], small: Iterable[Floats]) -> bool:
    """Whether columns in parts are combinations of others, the same in all parts."""
    wide, narrow = np.concatenate(list(large)), np.concatenate(list(small))
    lengths = np.sqrt((wide**2).sum(axis=0))
    unit = wide / np.where(lengths > 0, lengths, 1.0)
    rest = narrow - unit @ np.linalg.lstsq(unit, narrow, rcond=None)[0]
    return bool((np.abs(rest).max(axis=0) <= 1e-6 * np.abs(narrow).max(axis=0)).all())
