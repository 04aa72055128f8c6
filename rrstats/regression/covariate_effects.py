"""What a mixture says of its outcome: means of people, effects of covariates, nested mixtures.

The mean of a person is sum_c P(c | z) m_c, with m_c the mean in class c; standard errors by the
delta method, with the ordinary covariates held fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.regression.changes import Effect, changes, moved
from rrstats.regression.effects import tested
from rrstats.regression.maxima import Fitted
from rrstats.regression.mixtures import Mixture
from rrstats.regression.unseen import Unseen, again

if TYPE_CHECKING:
    from rrstats.regression.covariate_results import CovariateResult

__all__ = ["average", "check_nested", "framed", "marginal", "means", "others"]

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
    error = _errors(fit, gradient)
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


def marginal(result: CovariateResult, level: float) -> pd.DataFrame:
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
    return Effect(np.atleast_1d(value), _errors(fit, slopes[None]))


def _single(effect: Effect) -> tuple[float, float]:
    return float(effect.values[0]), float(effect.errors[0])


def _errors(fit: Fitted, gradient: Floats) -> Floats:
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
