"""Means of the outcome under a fit, their standard errors, and marginal effects.

The mean of a person is sum_c P(c | z) m_c, with m_c the mean in class c.  Its standard error comes
from the parameters (delta method), with the covariates fixed.  A marginal effect is the change of
the mean over people when one covariate changes and all others keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._typing import Booleans, Floats, Indices, Limits
from rrstats.errors import ArgumentValueError
from rrstats.regression.fit_tables import Ends, logit_ends, wald_ends
from rrstats.regression.likelihood import Fit, Likelihood
from rrstats.regression.links import BinaryFamily, MultinomialFamily
from rrstats.regression.outcomes import NormalOutcome, ReportedOutcome
from rrstats.regression.private_covariates import ClassColumns, ModelData
from rrstats.regression.survey_people import Reference
from rrstats.regression.varying_columns import VaryingColumns

_UNKNOWN_MEAN = 1e-8
"""A mean that changes by more along a direction without information has no standard error."""

_UNKNOWN_PREDICTOR = 1e-4
"""Nor has a mean whose predictor changes by more, relative to its size."""

_STEP = 1e-5
"""Step of a numeric slope, in standard deviations of the covariate."""


class Mean(NamedTuple):
    """Weighted sums of expected outcomes.

    value : (k,) for each category of the outcome, or for a number.
    slopes : (k, size) derivatives by the parameters.
    """

    value: Floats
    slopes: Floats


class Predictions(NamedTuple):
    """(n,) expected outcomes and their errors, for each person the shown categories in turn.

    ends : of the intervals, by confidence level.
    """

    values: Floats
    errors: Floats
    ends: Ends


class Change(NamedTuple):
    """The average effect of one change of a covariate.

    change : "slope", or both values in words.
    effect, std_error, df : (k,) for each category of the outcome, or for a number.
    """

    covariate: str
    change: str
    effect: Floats
    std_error: Floats
    df: Floats


@dataclass(frozen=True, eq=False)
class FittedMeans:
    """Means of the outcome at the parameters of a fit.

    inner : (size, size) covariance of the parameters of ``fit.model``.
    reference : of these parameters.
    """

    fit: Fit
    data: ModelData
    class_columns: ClassColumns | None
    inner: Floats
    reference: Reference

    @property
    def weights(self) -> Floats:
        """(rows,) weights of the people of the fit, scaled to the sum 1."""
        weights = self.fit.model.weights
        return np.asarray(weights / weights.sum())

    def likelihood_of(self, frame: pd.DataFrame, offset: Floats | None = None) -> Likelihood:
        """Likelihood of other people, without reports."""
        model = self.fit.model
        n_same = model.same.shape[1]
        n_columns = model.columns
        matrices = np.stack(self.data.matrices(frame))
        scale = model.outcome.scale if isinstance(model.outcome, NormalOutcome) else 1.0
        columns = matrices @ (self.fit.back[:n_columns, :n_columns] / scale)
        # Where no covariate is privatized, all classes have the same mean, in any proportions.
        class_columns = np.zeros((len(frame), model.class_columns.shape[1]))
        if self.class_columns is not None and self.data.private.columns:
            in_order = matrices[:, :, self.data.order]
            varying = VaryingColumns.of(in_order[:, :, n_same:])
            class_columns = self.class_columns.of(in_order[0][:, :n_same], varying)
            gamma = slice(self.fit.ancillary.stop, self.fit.ancillary.stop + class_columns.shape[1])
            class_columns = class_columns @ self.fit.back[gamma, gamma]
        no_reports = np.ones((len(frame), model.classes))
        ones = np.ones(len(frame))
        same = columns[0][:, :n_same]
        dense = columns[:, :, n_same:][self.data.private.class_of]
        dense = np.broadcast_to(dense, (model.classes, *dense.shape[1:]))
        return Likelihood(model.outcome, no_reports, same, dense, class_columns, ones, ones, offset)

    def of_people(
        self,
        model: Likelihood,
        classes: Indices | None = None,
        recode: Indices | None = None,
    ) -> Iterator[tuple[slice, Floats, Floats]]:
        """Blocks of (k, rows) expected outcomes and their (k, rows, size) slopes.

        classes : (rows,) classes of the people, if they are known.
        recode : (C,) for each class, the class whose outcome it gets.
        """
        theta = self.fit.theta
        outcome = model.outcome
        assert isinstance(outcome, NormalOutcome | ReportedOutcome)
        q = outcome.predictors
        b = model.columns
        for rows in model.blocks():
            eta = model.eta(theta, rows)
            design = model.design(rows)
            if recode is not None:
                eta = eta[:, recode]
                design = design[recode]
            each, slopes, by_psi = outcome.means(eta, model.split(theta)[1])
            if classes is None:
                priors = np.exp(model.log_priors(theta, rows))
            else:
                in_class = np.arange(model.classes)[:, None] == classes[rows]
                priors = in_class.astype(np.float64)
            value = (priors * each).sum(axis=1)
            gradient = np.zeros((*value.shape, model.size))
            for a in range(q):
                by = np.einsum("kcn,cnb->knb", priors * slopes[:, a], design)
                gradient[:, :, a * b : a * b + b] = by
            outcome_parameters = slice(model.head, model.head + model.outcome.ancillary)
            gradient[:, :, outcome_parameters] = np.einsum("cn,kocn->kno", priors, by_psi)
            if classes is None and model.classes > 1:
                gains = (priors * (each - value[:, None]))[:, 1:]
                wide = np.einsum("kcn,ng->kncg", gains, model.class_columns[rows])
                gradient[:, :, model.head + model.outcome.ancillary :] = wide.reshape(
                    *value.shape, -1
                )
            yield rows, value, gradient

    def total(self, model: Likelihood, weights: Floats, recode: Indices | None = None) -> Mean:
        """Weighted sums over people; ``recode`` as for `of_people`."""
        parts = [
            (each @ weights[rows], np.einsum("knp,n->kp", slopes, weights[rows]))
            for rows, each, slopes in self.of_people(model, recode=recode)
        ]
        value, slopes = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        return Mean(value, slopes)

    def standard_errors(self, slopes: Floats) -> Floats:
        """Standard errors from (..., size) slopes; NaN where there is no information."""
        variance = np.einsum("...p,pq,...q->...", slopes, self.inner, slopes)
        error = np.sqrt(np.maximum(variance, 0.0))
        if self.fit.model.classes > 1 and self.fit.unknown.size:
            is_unknown = (np.abs(slopes @ self.fit.unknown) > _UNKNOWN_MEAN).any(axis=-1)
            error = np.where(is_unknown, np.nan, error)
        return np.asarray(error)

    def without_information(self, model: Likelihood) -> Booleans:
        """(rows,) True where a direction without information changes a predictor, in one class."""
        unknown = self.fit.unknown
        if not unknown.size or model.classes > 1:
            return np.zeros(model.rows, dtype=np.bool_)
        moved = sum((model.moved(way, slice(None)) ** 2).sum(axis=(0, 1)) for way in unknown.T)
        size = np.linalg.norm(model.same, axis=1)
        return np.asarray(np.sqrt(moved) > _UNKNOWN_PREDICTOR * size)

    def predictions(
        self, model: Likelihood, shown: list[int], classes: Indices | None = None
    ) -> Predictions:
        """Expected outcomes of people, or their probabilities of the shown categories."""
        parts = [
            (value, self.standard_errors(slopes), self.reference.df(slopes))
            for _, value, slopes in self.of_people(model, classes)
        ]
        value, error, df = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        error[:, self.without_information(model)] = np.nan
        family = model.outcome.family
        if family is None or len(value) > 2 or (classes is None and model.classes > 1):
            return self._predictions(value, error, df, shown)
        eta_of_class = model.eta(self.fit.theta, slice(None))[0]
        eta = eta_of_class[0 if classes is None else classes, np.arange(model.rows)][None]
        with np.errstate(divide="ignore", invalid="ignore"):
            error_of_eta = error[1] / family.slopes(eta, family.probabilities(eta))[1, 0]
        ends = partial(_link_ends, family, eta, error_of_eta, df[1])
        return Predictions(value[1], error[1], ends)

    def mean_prediction(self, model: Likelihood, weights: Floats, shown: list[int]) -> Predictions:
        """The weighted mean of the predictions of people."""
        mean = self.total(model, weights)
        error = self.standard_errors(mean.slopes)
        if self.without_information(model).any():
            error = np.full_like(error, np.nan)
        return self._predictions(mean.value, error, self.reference.df(mean.slopes), shown)

    def _predictions(
        self, value: Floats, error: Floats, df: Floats, shown: list[int]
    ) -> Predictions:
        """Predictions of numbers, or of probabilities with intervals on the logit scale."""
        values, errors, each_df = (each[shown].T.ravel() for each in (value, error, df))
        is_number = isinstance(self.fit.model.outcome, NormalOutcome)
        ends = wald_ends if is_number else logit_ends
        return Predictions(values, errors, partial(ends, values, errors, each_df))

    def marginal_effects(self) -> Iterator[Change]:
        """The effect of each change of a covariate.

        All other covariates, ordinary or privatized, keep their values.
        """
        private = self.data.private
        hidden = set(map(str, private.names))
        names = [name for name in self.data.design.sources if name not in hidden]
        changes = [(name, *change) for name in names for change in self._changes(name)]
        for place, (name, labels) in enumerate(zip(private.names, private.labels, strict=True)):
            means = []
            for code in range(len(labels)):
                shown = private.shown.copy()
                shown[:, place] = code
                classes = private.first_class[private.numbered(shown)]
                means.append(self.total(self.fit.model, self.weights, classes))
            for label, mean in zip(labels[1:], means[1:], strict=True):
                changes.append((str(name), f"{labels[0]} to {label}", means[0], mean))
        for name, change, before, after in changes:
            slopes = after.slopes - before.slopes
            error = self.standard_errors(slopes)
            df = self.reference.df(slopes)
            yield Change(name, change, after.value - before.value, error, df)

    def _changes(self, name: str) -> Iterator[tuple[str, Mean, Mean]]:
        """Changes of an ordinary covariate in words, and the means before and after.

        A slope for numbers; differences to the first level for factors and 0/1 columns.
        """
        design = self.data.design
        model = self.fit.model
        private_names = list(map(str, self.data.private.names))
        frame = design.frame.drop(columns=private_names, errors="ignore")
        column = frame[name]

        def mean_at(values: Any, weights: Floats) -> Mean:
            changed = self.likelihood_of(frame.assign(**{name: values}), model.offset)
            return self.total(replace(changed, class_columns=model.class_columns), weights)

        kind = column.dtype
        number = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        if number and name not in design.factors and not column.isin([0, 1]).all():
            if name in design.jumps:
                raise ArgumentValueError(
                    f"covariate {name!r} has no slope, because {design.jumps[name]!r} is not "
                    "continuous; make this term a column of the frame"
                )
            before, after = _steps(column.to_numpy(dtype=np.float64))
            per_unit = self.weights / (after - before)
            yield "slope", mean_at(before, per_unit), mean_at(after, per_unit)
            return
        present = column.unique()
        ordered = (
            column.cat.categories if isinstance(kind, pd.CategoricalDtype) else sorted(present)
        )
        levels = [level for level in ordered if level in present]
        constant = (pd.Series([level] * len(column), dtype=kind).array for level in levels)
        first, *others = (mean_at(values, self.weights) for values in constant)
        for level, mean in zip(levels[1:], others, strict=True):
            yield f"{levels[0]} to {level}", first, mean

    def class_proportion(self, selected: Booleans) -> tuple[float, float, float]:
        """The mean of P(selected classes | z), its standard error for a sample, and its df."""
        model = self.fit.model
        theta = self.fit.theta
        priors = np.exp(model.log_priors(theta, slice(None)))
        weights = self.weights
        each = priors[selected].sum(axis=0)
        value = float(each @ weights)
        gains = priors[1:] * (selected[1:, None] - each)
        gradient = np.zeros(model.size)
        gradient[model.head + model.outcome.ancillary :] = (
            (gains * weights) @ model.class_columns
        ).ravel()
        sampling = float((weights**2) @ (each - value) ** 2)
        variance = float(gradient @ self.inner @ gradient)
        df = float(self.reference.df(gradient[None]).item())
        return value, float(np.sqrt(max(variance, 0.0) + sampling)), df


def _steps(values: Floats) -> tuple[Floats, Floats]:
    """A small step down and up, inside the observed range, where splines are defined."""
    low = float(values.min())
    high = float(values.max())
    quarters = float(np.subtract(*np.quantile(values, [0.75, 0.25])))
    deviation = float(values.std())
    step = _STEP * (min(deviation, quarters) or deviation or 1.0)
    inside = (low, high) if low < high else (None, None)
    return np.clip(values - step, *inside), np.clip(values + step, *inside)


def _link_ends(
    family: BinaryFamily | MultinomialFamily, eta: Floats, error: Floats, df: Floats, level: float
) -> Limits:
    """Ends of probabilities of the event on the scale of the link."""
    low, high = wald_ends(eta, error, df, level)
    return family.probabilities(low)[1], family.probabilities(high)[1]
