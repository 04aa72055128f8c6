"""Probabilities, means and marginal effects of a fitted likelihood, with their standard errors.

Of a person the mean is sum_c P(c | z) m_c, with m_c the mean in class c.  Standard errors carry
those of the coefficients (delta method) and hold the covariates fixed.
Intervals of probabilities are made where they are nearly normal and carried back, so that they stay
in [0, 1]: on the scale of the link where the class is known, else (of means, of several categories)
on that of the logit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_tests import few_expected
from rrstats.inference.contrasts import student_quantile
from rrstats.regression.likelihood import Fit, Likelihood, NormalOutcome
from rrstats.regression.private_covariates import ModelData, ShareColumns

_BLIND, _BLIND_ROW = 1e-8, 1e-4
"""A mean that moves by more with what nothing is known of has no error; nor has a predictor of
which this part does."""

_STEP = 1e-5
"""Step of a slope, in typical deviations of the covariate."""

_SMALL = 5
"""If most expected counts are below this there is no p-value: of true models with a profile for
each of 800 people, tests at 5% rejected 100% (deviance) and 0% (Pearson)."""

_LEFT_OUT = "here it is left out (NaN); "

_COARSER = (
    "fit coarser covariates (ages in classes), so that more people share a profile, or compare the "
    "model with a larger one (compare)"
)


@dataclass(frozen=True, eq=False)
class Population:
    """A fit, the covariance of its inner parameters, and what makes its columns of other people."""

    fit: Fit
    inner: Floats
    data: ModelData
    share_columns: ShareColumns | None
    df: float

    def likelihood(self, frame: pd.DataFrame, offset: Floats | None = None) -> Likelihood:
        """Likelihood of other people, of whom nothing was reported."""
        model, data = self.fit.model, self.data
        cut, b = model.same.shape[1], model.columns
        matrices = np.stack(data.matrices(frame))
        columns = matrices @ (self.fit.back[:b, :b] / getattr(model.outcome, "scale", 1.0))
        shares = np.empty((len(frame), model.shares.shape[1]))
        if self.share_columns is not None and model.classes > 1:
            turned = matrices[:, :, data.order]
            shares = self.share_columns.of(turned[0][:, :cut], turned[:, :, cut:])
            gamma = slice(self.fit.own.stop, self.fit.own.stop + shares.shape[1])
            shares = shares @ self.fit.back[gamma, gamma]
        given, ones = np.ones((len(frame), model.classes)), np.ones(len(frame))
        same, varying = columns[0][:, :cut], columns[:, :, cut:][data.private.class_of]
        return Likelihood(model.outcome, given, same, varying, shares, ones, ones, offset)

    def means(
        self,
        model: Likelihood,
        known: NDArray[np.intp] | None = None,
        recode: NDArray[np.intp] | None = None,
    ) -> Iterator[tuple[slice, Floats, Floats]]:
        """Blocks of (k, rows) expected outcomes and their (k, rows, size) slopes.

        known : (rows,) classes of the people, where these are known.
        recode : (C,) the class whose outcome each class is to have.
        """
        theta, q, b = self.fit.theta, model.outcome.predictors, model.columns
        for rows in model.blocks():
            eta, design = model.eta(theta, rows), model.design(rows)
            if recode is not None:
                eta, design = eta[:, recode], design[recode]
            each, slopes = model.outcome.means(eta)
            if known is None:
                shares = np.exp(model.log_shares(theta, rows))
            else:
                shares = (np.arange(model.classes)[:, None] == known[rows]).astype(np.float64)
            value = (shares * each).sum(axis=1)
            gradient = np.zeros((*value.shape, model.size))
            for a in range(q):
                by = np.einsum("kcn,cnb->knb", shares * slopes[:, a], design)
                gradient[:, :, a * b : a * b + b] = by
            if known is None and model.classes > 1:
                gains = (shares * (each - value[:, None]))[:, 1:]
                wide = np.einsum("kcn,ng->kncg", gains, model.shares[rows])
                gradient[:, :, model.head + model.outcome.own :] = wide.reshape(*value.shape, -1)
            yield rows, value, gradient

    def total(
        self, model: Likelihood, weights: Floats, recode: NDArray[np.intp] | None = None
    ) -> tuple[Floats, Floats]:
        """(k,) weighted sums of expected outcomes and their (k, size) slopes."""
        parts = [
            (each @ weights[rows], np.einsum("knp,n->kp", slopes, weights[rows]))
            for rows, each, slopes in self.means(model, recode=recode)
        ]
        value, gradient = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        return value, gradient

    def errors(self, gradient: Floats) -> Floats:
        """Standard errors of what has the (..., size) slopes; NaN where nothing is known."""
        variance = np.einsum("...p,pq,...q->...", gradient, self.inner, gradient)
        error = np.sqrt(np.maximum(variance, 0.0))
        if self.fit.model.classes > 1 and self.fit.unknown.size:
            blind = (np.abs(gradient @ self.fit.unknown) > _BLIND).any(axis=-1)
            error = np.where(blind, np.nan, error)
        return np.asarray(error)

    def blind(self, model: Likelihood) -> Booleans:
        """(rows,) where some direction without information moves a predictor, of one class."""
        unknown, every = self.fit.unknown, slice(None)
        if not unknown.size or model.classes > 1:
            return np.zeros(model.rows, dtype=np.bool_)
        moved = sum((model.moved(way, every) ** 2).sum(axis=(0, 1)) for way in unknown.T)
        return np.asarray(np.sqrt(moved) > _BLIND_ROW * np.linalg.norm(model.same, axis=1))

    @property
    def weights(self) -> Floats:
        """(rows,) weights of the people of the fit, with a sum of 1."""
        weights = self.fit.model.weights
        return np.asarray(weights / weights.sum())


def predictions(
    people: Population, model: Likelihood, level: float, known: NDArray[np.intp] | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """(k, rows) expected outcomes, their standard errors, and both ends of their intervals."""
    each = [(value, people.errors(by)) for _, value, by in people.means(model, known)]
    value, error = (np.concatenate(part, axis=1) for part in zip(*each, strict=True))
    error[:, people.blind(model)] = np.nan
    family = getattr(model.outcome, "family", None)
    if family is None or len(value) > 2 or (known is None and model.classes > 1):
        return value, error, *interval(people, value, error, level)
    every = model.eta(people.fit.theta, slice(None))[0]
    eta = every[0 if known is None else np.asarray(known, np.intp), np.arange(model.rows)][None]
    with np.errstate(divide="ignore", invalid="ignore"):
        half = error[1] / family.slopes(eta, family.shares(eta))[1, 0]
    half = student_quantile(level, people.df) * half
    return value, error, family.shares(eta - half), family.shares(eta + half)


def interval(
    people: Population, value: Floats, error: Floats, level: float
) -> tuple[Floats, Floats]:
    """Intervals of numbers, or of probabilities on the logit scale."""
    half = student_quantile(level, people.df) * error
    if isinstance(people.fit.model.outcome, NormalOutcome):
        return value - half, value + half
    return logit_interval(value, half)


def logit_interval(value: Floats, half: Any) -> tuple[Floats, Floats]:
    """Interval of a probability on the logit scale; at 0 and 1 that of the probability."""
    with np.errstate(divide="ignore", invalid="ignore"):
        middle, margin = scipy.special.logit(value), half / (value * (1 - value))
        low, high = scipy.special.expit(middle - margin), scipy.special.expit(middle + margin)
    low = np.where(np.isnan(low), np.clip(value - half, 0, 1), low)
    high = np.where(np.isnan(high), np.clip(value + half, 0, 1), high)
    return low, high


# -- marginal effects --------------------------------------------------------------------------


Total = tuple[Floats, Floats]
"""(k,) means and their (k, size) slopes."""


def marginal(people: Population) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Covariate, change, (k,) effects and their errors, for each change of each covariate.

    Of an ordinary covariate true categories stay as they are; of a privatized one the others do.
    """
    private = people.data.private
    hidden = set(map(str, private.names))
    names = [name for name in people.data.design.sources if name not in hidden]
    changes = [(name, *change) for name in names for change in _changes(people, name)]
    for place, (name, labels) in enumerate(zip(private.names, private.labels, strict=True)):
        ends = []
        for code in range(len(labels)):
            shown = private.shown.copy()
            shown[:, place] = code
            first = private.first_class[private.numbered(shown)]
            ends.append(people.total(people.fit.model, people.weights, first))
        for label, end in zip(labels[1:], ends[1:], strict=True):
            changes.append((str(name), f"{labels[0]} to {label}", ends[0], end))
    for name, change, before, after in changes:
        yield name, change, after[0] - before[0], people.errors(after[1] - before[1])


def _changes(people: Population, name: str) -> Iterator[tuple[str, Total, Total]]:
    """Changes of an ordinary covariate in words, and the means before and after.

    A slope for numbers; differences to the first level for factors and 0/1 columns.
    """
    design, weights, fitted = people.data.design, people.weights, people.fit.model
    frame = design.frame.drop(columns=list(map(str, people.data.private.names)), errors="ignore")
    column = frame[name]

    def ends(values: Any, each: Floats) -> Total:
        model = people.likelihood(frame.assign(**{name: values}), fitted.offset)
        return people.total(replace(model, shares=fitted.shares), each)

    kind = column.dtype
    number = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
    if number and name not in design.factors and not column.isin([0, 1]).all():
        if name in design.jumps:
            raise ArgumentValueError(
                f"covariate {name!r} has no slope, as {design.jumps[name]!r} jumps; make that a "
                "column of the frame and use it in the formula, or give differences of predict"
            )
        before, after = _steps(column.to_numpy(dtype=np.float64))
        each = weights / (after - before)
        yield "slope", ends(before, each), ends(after, each)
        return
    present = column.unique()
    ordered = column.cat.categories if isinstance(kind, pd.CategoricalDtype) else sorted(present)
    levels = [one for one in ordered if one in present]
    alike = (pd.Series([one] * len(column), dtype=kind).array for one in levels)
    first, *others = (ends(values, weights) for values in alike)
    for level, end in zip(levels[1:], others, strict=True):
        yield f"{levels[0]} to {level}", first, end


def _steps(values: Floats) -> tuple[Floats, Floats]:
    """A short step down and up, inside the values seen, where splines are known."""
    low, high = float(values.min()), float(values.max())
    quarters = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    deviation = float(values.std())
    step = _STEP * (min(deviation, quarters) or deviation or 1.0)
    inside = (low, high) if low < high else (None, None)
    return np.clip(values - step, *inside), np.clip(values + step, *inside)


def tested(frame: pd.DataFrame, level: float, df: float) -> pd.DataFrame:
    """Effects with z, p and Wald intervals, of columns effect and std_error."""
    half = student_quantile(level, df) * frame["std_error"]
    frame["z"] = frame["effect"] / frame["std_error"]
    frame["p"] = 2 * scipy.special.stdtr(df, -frame["z"].astype(np.float64).abs())
    frame["low"], frame["high"] = frame["effect"] - half, frame["effect"] + half
    return frame


# -- proportions of the true categories ----------------------------------------------------------


def class_proportion(people: Population, mine: Booleans) -> tuple[float, float]:
    """The mean of P(some classes | z) and its standard error, people being a sample."""
    model, fit = people.fit.model, people.fit
    shares = np.exp(model.log_shares(fit.theta, slice(None)))
    weight = people.weights
    each = shares[mine].sum(axis=0)
    value = float(each @ weight)
    gains = shares[1:] * (mine[1:, None] - each)
    gradient = np.zeros(model.size)
    gradient[model.head + model.outcome.own :] = ((gains * weight) @ model.shares).ravel()
    sampling = float((weight**2) @ (each - value) ** 2)
    variance = float(gradient @ people.inner @ gradient)
    return value, float(np.sqrt(max(variance, 0.0) + sampling))


# -- goodness of fit -----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class GoodnessOfFit:
    """Counts of reports in groups of equal covariates against those that the model expects.

    Attributes
    ----------
    pearson, deviance : float
        Chi-squared statistics, on ``df`` degrees of freedom.
    pearson_pvalue, deviance_pvalue : float
        Their p-values; NaN where most expected counts are small.
    groups : int
        The number of groups.
    smallest_expected : float
        The smallest expected count.
    notes : tuple of str
        What is to be said where expected counts are too small for these p-values.
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
        return "\n".join(
            [
                f"Fit of the model in {self.groups:,} groups of equal covariates, the smallest "
                f"expected count {self.smallest_expected:.2g}:",
                f"Pearson: {verdict(self.pearson, self.df, self.pearson_pvalue)}",
                f"deviance: {verdict(self.deviance, self.df, self.deviance_pvalue)}",
                *self.notes,
            ]
        )


def verdict(statistic: float, df: int, p: float) -> str:
    """A test by chi-squared in a line."""
    return f"chi2({df}) = {statistic:.2f}, p = {p:.3g}"


def goodness(people: Population) -> GoodnessOfFit:
    """Observed against expected reports in groups of rows with equal predictors and sample."""
    model, theta = people.fit.model, people.fit.theta
    outcome = model.outcome
    first, cells = outcome.first, outcome.width
    offset = np.zeros(model.rows) if model.offset is None else model.offset
    alike = np.column_stack([people.data.design.matrix, first, offset])
    _, one, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    place = group.ravel() * cells + (outcome.cells - first)
    observed = np.bincount(place, model.weights, minlength=len(one) * cells)
    rates = np.stack([np.exp(model.supposed(cell).each(theta))[one] for cell in range(cells)])
    sizes = np.bincount(group.ravel(), model.weights)
    expected = np.asarray((rates * sizes).T.ravel(), dtype=np.float64)
    used = expected > 0
    observed, expected = observed[used], expected[used]
    df = int(used.sum()) - len(one) - model.size
    if df <= 0:
        raise ArgumentValueError(
            f"the model has as many parameters, {model.size}, as the {len(one)} groups of "
            "equal covariates tell apart, so its fit cannot be tested"
        )
    pearson = float(((observed - expected) ** 2 / expected).sum())
    deviance = float(2 * scipy.special.xlogy(observed, observed / expected).sum())
    sparse = float((expected < _SMALL).mean()) > 0.5
    notes = few_expected(expected, _LEFT_OUT * sparse + _COARSER)
    one_p, other_p = scipy.special.chdtrc(np.nan if sparse else df, [pearson, deviance]).tolist()
    least = float(expected.min())
    return GoodnessOfFit(pearson, deviance, df, one_p, other_p, len(one), least, notes)


# -- nested models -------------------------------------------------------------------------------


def check_nested(large: Fit, small: Fit, advice: str) -> None:
    """Raise where one is no special case of the other, or has no chi-squared distribution."""
    one, two = large.model, small.model
    wide, narrow = (np.concatenate(list(model.design(slice(None)))) for model in (one, two))
    families = [getattr(model.outcome, "family", None) for model in (one, two)]
    why = ""
    if type(one.outcome) is not type(two.outcome) or not (
        _same(one.given, two.given)
        and _same(one.weights, two.weights)
        and all(map(_same, one.outcome.observed, two.outcome.observed))
    ):
        why = (
            "must be of the same reports (were rows dropped in one of them?); for the effect of a "
            "privatized covariate itself use wald_test"
        )
    elif families[0] != families[1] or not _same(one.offset, two.offset):
        why = "must have the same link and the same offset"
    elif one.size == two.size or not (_within(wide, narrow) and _within(one.shares, two.shares)):
        why = f"must be nested, one a special case of the other; {advice}"
    elif one.classes > 1 and (large.unknown.size or small.unknown.size):
        why = "must have finite parameters, and some have none; leave covariates out"
    if why:
        raise ArgumentValueError(f"the two fits of a likelihood-ratio test {why}")


def _within(wide: Floats, narrow: Floats) -> bool:
    """Columns are combinations of others."""
    rest = narrow - wide @ np.linalg.lstsq(wide.T @ wide, wide.T @ narrow, rcond=None)[0]
    return bool((np.abs(rest).max(axis=0) <= 1e-6 * np.abs(narrow).max(axis=0)).all())


def _same(one: Any, other: Any) -> bool:
    return one is other or (one is not None and bool(np.array_equal(one, other)))
