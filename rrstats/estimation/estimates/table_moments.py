"""Moments of joint tables: proportions of cells, their variance, and what intervals need.

`AxisMoments` are solved column by column from counted features, F = M1^-1 (O / n) M2^-T for two,
and so are the variances with squared scores: no Kronecker product is formed.  n Var(f) =
E[product of squared scores] - f^2.  `CombinedMoments` are those of an estimate of one column whose
categories are the cells: with weights, a design, or a pair that a plan asked together.
A `Crosstab` holds one of the two and does not ask which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from rrstats._cached import cached_property
from rrstats._frozen import fixed
from rrstats._typing import Counts, Floats
from rrstats.estimation.estimates.axes import Axis, kron_all, margin_tally
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.tallies import arrays
from rrstats.inference.binomial import clopper_pearson_rates
from rrstats.inference.contrasts import (
    Interval,
    cut_to_unit,
    fieller,
    hull,
    mean_interval,
    normal_quantile,
    ratio_interval,
    ratio_variance,
    wald,
)
from rrstats.inference.multinomial import contract, most_likely_table

METHODS = ("empirical-likelihood", "wald")
"""Intervals of the cells of a table; the first is the default, except for very large tables."""

_MAX_VALUES = 1 << 17
"""Maximum cells times values of a score for which the likelihood takes a few seconds."""


class TableMoments(ABC):
    """Unbiased joint proportions of cells, with variances for a target.

    axes : the columns.  counted : rows by combination of the axes' features.
    target : "population" or "sample".
    """

    combined: Estimate | None = None  # the estimate of one column whose categories are the cells

    def __init__(self, axes: tuple[Axis, ...], counted: Counts, target: str) -> None:
        self.axes = axes
        self.counted = counted
        self.target = target
        self.shape = tuple(axis.k for axis in axes)
        self.size = prod(self.shape)
        self.n = round(contract(counted, [axis.total for axis in axes]).item())

    @cached_property
    def reported(self) -> Floats:
        """Rows whose reports support each cell; NaN if a design's reports support none."""
        return fixed(contract(self.counted, [axis.naming for axis in self.axes]))

    @property
    def divisor(self) -> float:
        """The divisor of the variance of one row; NaN for too few."""
        size = self.n - 1 if self.target == "population" else self.n
        return float(size) if size > 0 else np.nan

    @property
    @abstractmethod
    def naive(self) -> Floats:
        """(Weighted) proportions of rows whose reports support each cell."""

    @property
    @abstractmethod
    def proportions(self) -> Floats:
        """Unbiased joint proportions; NaN without rows."""

    @property
    @abstractmethod
    def counts(self) -> Floats:
        """Unbiased counts among the rows; with a design, totals in the units of its weights."""

    @property
    @abstractmethod
    def row_variance(self) -> Floats:
        """Variance of a respondent's score for each cell, in the population.

        With a design it is n - 1 times `variance`.
        """

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """Variance of the proportions, for the target; NaN where n is too small."""

    @abstractmethod
    def of_functions(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Estimated means of products of functions of the columns, and their covariance.

        functions : for each column (1 + k, q), of q functions; each is a constant, and for each
            category a number that is added to the constant.
        Returns (q1, ..., qd) unbiased means over people, and (q, q) their covariance for the
        target, flattened.
        """

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance; infinite without a design."""
        return np.inf

    @property
    @abstractmethod
    def has_likelihood(self) -> bool:
        """True where there are rows, and the empirical likelihood takes at most a few seconds."""

    @abstractmethod
    def interval(self, level: float, method: str) -> Interval:
        """Intervals of the proportions of at least two rows, for the target."""

    @abstractmethod
    def most_likely(self) -> tuple[Floats, str]:
        """Proportions inside the simplex, and the name of the method."""

    @abstractmethod
    def margin(self, places: Sequence[int]) -> TableMoments:
        """The moments of some of the columns, in this order."""

    def among(self, within: Sequence[int]) -> Floats:
        """The proportion of people with each combination of the given columns, for each cell."""
        others = [place for place in range(len(self.axes)) if place not in within]
        wide = np.expand_dims(self.margin(within).proportions, others)
        return fixed(np.broadcast_to(wide, self.shape))

    @abstractmethod
    def conditional_errors(self, within: Sequence[int]) -> Floats:
        """Standard errors of the proportions within the given columns, by the delta method."""

    @abstractmethod
    def conditional_interval(self, within: Sequence[int], level: float) -> Interval:
        """Intervals of the proportions within the given columns; [0, 1] for nobody."""

    def _marginal_counts(self, places: Sequence[int]) -> Counts:
        others = [place for place in range(len(self.axes)) if place not in places]
        counted = self.counted.transpose([*places, *others])
        for place in reversed(others):
            counted = counted @ self.axes[place].total[:, 0].astype(np.int64)
        return counted


class AxisMoments(TableMoments):
    """Moments of columns that were privatized separately, or are ordinary: axis by axis."""

    @cached_property
    def rates(self) -> Floats:
        """Features per row; NaN without rows."""
        return fixed(self.counted / (self.n or np.nan))

    @property
    def naive(self) -> Floats:
        """Proportions of rows whose reports support each cell."""
        return self.reported / (self.n or np.nan)

    @cached_property
    def proportions(self) -> Floats:
        """Unbiased joint proportions; NaN without rows."""
        return fixed(contract(self.rates, [axis.scores for axis in self.axes]))

    @property
    def counts(self) -> Floats:
        """Unbiased counts among the rows."""
        return self.proportions * self.n if self.n else np.zeros(self.shape)

    @cached_property
    def _squared(self) -> Floats:
        """The means of the squared scores."""
        return fixed(contract(self.rates, [axis.squares for axis in self.axes]))

    @cached_property
    def row_variance(self) -> Floats:
        """Variance of a respondent's score for each cell, in the population."""
        return fixed(np.maximum(self._squared - self.proportions**2, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """The variance of the rows' scores over n; for these rows the mean of score^2 - score."""
        if self.target == "population":
            return fixed(self.row_variance / self.divisor)
        return fixed((self._squared - self.proportions) / self.divisor)

    def of_functions(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Estimated means of products of functions of the columns, and their covariance."""
        pairs = list(zip(self.axes, functions, strict=True))
        means = contract(self.rates, [axis.linear @ table for axis, table in pairs])
        second = self._products([(axis.products, table) for axis, table in pairs])
        if self.target == "population":
            return means, (second - np.outer(means, means)) / self.divisor
        exact = self._products([(axis.truths, table) for axis, table in pairs])
        return means, (second - exact) / self.divisor

    def _products(self, pairs: Iterable[tuple[Floats, Floats]]) -> Floats:
        """(q, q) means of products, from the products of each column's 1 and scores."""
        tables = [
            np.einsum("fab,ap,bq->fpq", products, g, g, optimize=True) for products, g in pairs
        ]
        means = contract(self.rates, tables)  # (q1, q1, ..., qd, qd)
        side = prod(table.shape[1] for table in tables)
        return _apart(means).reshape(side, side)

    @cached_property
    def score_values(self) -> tuple[Floats, Floats]:
        """(cells, values) the possible scores of a row in each cell, and their counts."""
        axis_values = [axis.values for axis in self.axes]
        counts = _apart(contract(self.counted, [counted for _, counted in axis_values]))
        values = fixed(kron_all([values for values, _ in axis_values]))
        return values, fixed(counts.reshape(values.shape))

    @property
    def has_likelihood(self) -> bool:
        """True where there are rows, and the empirical likelihood takes at most a few seconds."""
        values = prod(axis.values[0].shape[1] for axis in self.axes)
        return self.n > 1 and self.size * values <= _MAX_VALUES

    def interval(self, level: float, method: str) -> Interval:
        """Intervals of the proportions of at least two rows, for the target."""
        error = np.sqrt(np.maximum(self.variance, 0.0))
        by_wald = wald(self.proportions, error, normal_quantile(level))
        if method == "wald":
            return by_wald
        if self.target == "population" and all(axis.mechanism is None for axis in self.axes):
            return clopper_pearson_rates(self.counted, np.full(self.shape, self.n), level)
        values, counts = self.score_values
        accepted = mean_interval(values, counts, None, level, bounded=True)
        low, high = (end.reshape(self.shape) for end in accepted)
        if self.target == "sample":
            wide = np.sqrt(self.row_variance / self.n)
            drawn = np.divide(error, wide, out=np.zeros(self.shape), where=wide > 0)
            low = np.minimum(self.proportions - (self.proportions - low) * drawn, by_wald.low)
            high = np.maximum(self.proportions + (high - self.proportions) * drawn, by_wald.high)
        return cut_to_unit(Interval(low, high))

    def most_likely(self) -> tuple[Floats, str]:
        """Maximum likelihood proportions; the unbiased ones where these are inside."""
        proportions = self.proportions
        square = all(axis.likelihood_table.shape == (axis.k, axis.k) for axis in self.axes)
        if self.n and not (square and (proportions > 0).all()):
            classes = most_likely_table([axis.likelihood_table for axis in self.axes], self.counted)
            proportions = fixed(contract(classes, [axis.recode.T for axis in self.axes]))
        return proportions, "maximum likelihood"

    def margin(self, places: Sequence[int]) -> AxisMoments:
        """The moments of some of the columns, in this order."""
        axes = tuple(self.axes[place] for place in places)
        return AxisMoments(axes, self._marginal_counts(places), self.target)

    def conditional_errors(self, within: Sequence[int]) -> Floats:
        """Standard errors of the proportions within the given columns, by the delta method."""
        people = self.among(within)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(people > 0, self.proportions / people, np.nan)
        variance = ratio_variance(ratios, self._ratio_moments(within))
        return fixed(np.sqrt(np.maximum(variance, 0.0)) / people)

    def conditional_interval(self, within: Sequence[int], level: float) -> Interval:
        """The hull of Fieller's interval and of the ratios that the likelihood does not reject."""
        people = self.among(within)
        limit = normal_quantile(level) ** 2
        by_fieller = fieller(self.proportions, people, self._ratio_moments(within), limit)
        interval = cut_to_unit(by_fieller)
        if self.target == "sample" or not self.has_likelihood:
            return interval
        values, counts = self.score_values
        # power 0 gives 1 for the columns that are not given
        powers = [int(place in within) for place in range(len(self.axes))]
        parts = [axis.values[0] ** power for axis, power in zip(self.axes, powers, strict=True)]
        both = np.stack([values, kron_all(parts)])
        accepted = ratio_interval(both, counts, None, level, bounded=True)
        return hull(interval, Interval(*(end.reshape(self.shape) for end in accepted)))

    def _ratio_moments(self, within: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Variance of numerators, covariance with denominators, and variance of denominators."""
        parts = [
            axis.squares if place in within else axis.scores for place, axis in enumerate(self.axes)
        ]
        # for target "sample" the true answers do not vary
        people: Floats | float = 1.0 if self.target == "sample" else self.among(within)
        covariance = contract(self.rates, parts) - self.proportions * people
        of_people = np.maximum(self.margin(within).variance, 0.0)
        others = [place for place in range(len(self.axes)) if place not in within]
        denominators = np.broadcast_to(np.expand_dims(of_people, others), self.shape)
        return self.variance, fixed(covariance / self.divisor), denominators


class CombinedMoments(TableMoments):
    """Moments of an estimate of one column whose categories are the cells of the table."""

    def __init__(
        self,
        axes: tuple[Axis, ...],
        counted: Counts,
        target: str,
        combined: Estimate,
    ) -> None:
        super().__init__(axes, counted, target)
        self.combined: Estimate = combined
        self.n = combined.n  # of a plan, rows of all parts that tell of the table

    @property
    def naive(self) -> Floats:
        """Weighted proportions of rows whose reports support each cell."""
        return self.combined.moments.support[1].reshape(self.shape)

    @cached_property
    def proportions(self) -> Floats:
        """Unbiased joint proportions; NaN without rows."""
        return fixed(self.combined.proportions.reshape(self.shape))

    @property
    def counts(self) -> Floats:
        """Unbiased counts among the rows; with a design, totals in the units of its weights."""
        return np.asarray(self.combined.counts.reshape(self.shape))

    @cached_property
    def row_variance(self) -> Floats:
        """N - 1 times the variance of the proportions for the population."""
        drawn = replace(self.combined, target="population")
        return fixed(drawn.variance.reshape(self.shape) * (self.n - 1))

    @cached_property
    def variance(self) -> Floats:
        """Variance of the proportions, for the target."""
        if self.target == "population":
            return fixed(self.row_variance / self.divisor)
        return fixed(self.combined.variance.reshape(self.shape))

    def of_functions(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Estimated means of products of functions of the columns, and their covariance."""
        tables = [table[0] + table[1:] for table in functions]
        joint = kron_all(tables)
        covariance = joint.T @ self.combined.covariance @ joint
        return contract(self.proportions, tables), np.asarray(covariance)

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance."""
        return self.combined.df

    @property
    def _is_binomial(self) -> bool:
        return self.combined.moments.channel.binomial_rates is not None

    @property
    def has_likelihood(self) -> bool:
        """True where there are rows, and the empirical likelihood takes at most a few seconds."""
        if self._is_binomial:
            return self.n > 1
        if arrays.is_pooled(self.combined.moments.channel):
            values = len(self.combined.moments.channel.samples)
        else:
            values = prod(axis.values[0].shape[1] for axis in self.axes)
        return self.n > 1 and self.size * values <= _MAX_VALUES

    def interval(self, level: float, method: str) -> Interval:
        """Intervals of the proportions of at least two rows; exact where counts are binomial."""
        is_default = method == METHODS[0] and (self._is_binomial or self.target == "sample")
        name = None if is_default else method
        ends = self.combined.interval(level, method=name)
        return Interval(*(end.reshape(self.shape) for end in ends))

    def most_likely(self) -> tuple[Floats, str]:
        """Maximum likelihood proportions; with a design it raises with the reason."""
        inside = self.combined.mle()
        return np.asarray(inside.proportions.reshape(self.shape)), inside.method

    def margin(self, places: Sequence[int]) -> CombinedMoments:
        """The moments of some of the columns, in this order."""
        axes = tuple(self.axes[place] for place in places)
        tally = margin_tally(self.combined.tally, self.axes, places)
        combined = replace(self.combined, tally=tally)
        return CombinedMoments(axes, self._marginal_counts(places), self.target, combined)

    def conditional_errors(self, within: Sequence[int]) -> Floats:
        """Standard errors of the ratios of two sums of cells, from `Estimate.among`."""
        return np.asarray(self._ratios(within, 0.95)[0])

    def conditional_interval(self, within: Sequence[int], level: float) -> Interval:
        """Intervals of the ratios of two sums of cells."""
        _, low, high = self._ratios(within, level)
        return Interval(low, high)

    def _ratios(self, within: Sequence[int], level: float) -> Floats:
        """(3, ...) standard errors and ends of intervals of ratios."""
        combined = self.combined
        others = [place for place in range(len(self.axes)) if place not in within]
        cells = np.arange(combined.mechanism.k).reshape(self.shape).transpose([*within, *others])
        groups = prod(self.shape[place] for place in within)
        ratios = np.empty((3, combined.mechanism.k))
        for alike in cells.reshape(groups, -1):
            names: list[Hashable] = [combined.categories[cell] for cell in alike]
            frame = combined.among(names).to_frame(level)
            ratios[:, alike] = frame[["std_error", "low", "high"]].T
        return fixed(ratios.reshape(3, *self.shape))


def table_moments(
    axes: tuple[Axis, ...], counted: Counts, target: str, combined: Estimate | None
) -> TableMoments:
    """The moments of a table: the only place that asks whether its columns are combined."""
    if combined is None:
        return AxisMoments(axes, counted, target)
    return CombinedMoments(axes, counted, target, combined)


def _apart(table: Floats) -> Floats:
    """Transpose axes (a1, b1, a2, b2, ...) to (a1, a2, ..., b1, b2, ...)."""
    return table.transpose([*range(0, table.ndim, 2), *range(1, table.ndim, 2)])
