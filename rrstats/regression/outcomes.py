"""Outcomes of a likelihood: numbers with normal errors, and categories that were seen as reports.

A likelihood sees its outcome through the protocol `Outcome`.  Others are ordered categories
(`ordered`), people who do not follow the instructions (`behaviours`), and counts of items
(`list_experiment`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import quote
from rrstats._typing import Booleans, Floats, Indices, Labels
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.report_columns import ReportColumn
from rrstats.regression.links import Family

MIN_LOG_DEVIATION = -12.0
"""Logarithm of an error deviation, in its unit, below which an outcome has no error."""

_UNIFORM_WEIGHT = 0.02
"""Weight of the uniform distribution in a start, so that no category starts at 0."""

_START_STEPS = 30
"""Steps of expectation-maximization to a start, which need not be exact."""


class Terms(NamedTuple):
    """Log-density of the outcome by class; derivatives by predictors and ancillary parameters.

    log : (C, rows).  slopes : (d, C, rows) of the logarithm.  curves : (d, d, C, rows) second
    derivatives of the density, over the density.
    """

    log: Floats
    slopes: Floats
    curves: Floats

    def log_curves(self) -> Floats:
        """(d, d, C, rows) second derivatives of the logarithm."""
        return np.asarray(self.curves - self.slopes[:, None] * self.slopes)


class Outcome(Protocol):
    """An outcome, as far as a likelihood needs to know it."""

    @property
    def predictors(self) -> int:
        """Number of linear predictors."""

    @property
    def ancillary(self) -> int:
        """Number of parameters besides coefficients."""

    @property
    def categories(self) -> Labels:
        """Categories that have probabilities; none of a number."""

    @property
    def family(self) -> Family | None:
        """Probabilities of the categories given linear predictors; None of a number."""

    @property
    def has_cells(self) -> bool:
        """Each report falls into one of a few cells, over which a mean can be taken."""

    @property
    def observed(self) -> tuple[Any, ...]:
        """The data of people: arrays that two fits of the same people share."""

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """Log-density of some rows by class, from (predictors, C, rows) and ancillary ones."""

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """(predictors, 1 or rows) linear predictors and ancillary parameters to start from."""

    def natural(self, psi: Floats) -> tuple[Floats, Floats]:
        """Own parameters as users read them, and their derivatives by psi."""


@dataclass(frozen=True, eq=False)
class NormalOutcome:
    """A number with normal errors; the ancillary parameter is the logarithm of their deviation.

    y : (rows,) numbers.  scale : the unit of the predictor and of the deviation.
    """

    y: Floats
    scale: float = 1.0
    predictors: int = 1
    ancillary: int = 1
    categories: ClassVar[Labels] = ()
    family: ClassVar[Family | None] = None
    has_cells: ClassVar[bool] = False

    @property
    def observed(self) -> tuple[Any, ...]:
        """The numbers."""
        return (self.y,)

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """Normal density; 0 below the least deviation."""
        precision = np.exp(-2 * psi[0])
        residual = self.y[rows] / self.scale - eta[0]
        by_eta = residual * precision
        square = residual * by_eta
        log = -0.5 * square - psi[0] - 0.5 * np.log(2 * np.pi) - np.log(self.scale)
        if psi[0] < MIN_LOG_DEVIATION - 2:
            log = np.full_like(log, -np.inf)
        slopes = np.stack([by_eta, square - 1])
        mixed = by_eta * (square - 3)
        curves = np.array([[by_eta**2 - precision, mixed], [mixed, (square - 1) ** 2 - 2 * square]])
        return Terms(log, slopes, curves)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """The numbers themselves, which are then projected on the columns."""
        return self.y[None] / self.scale, np.zeros(1)

    def natural(self, psi: Floats) -> tuple[Floats, Floats]:
        """Standard deviation of the errors, and its derivative by psi."""
        sigma = self.scale * np.exp(psi)
        return sigma, np.diag(sigma)

    def means(self, eta: Floats, psi: Floats) -> tuple[Floats, Floats, Floats]:
        """(1, ...) the mean and its (1, 1, ...) slopes by eta; it does not depend on psi."""
        by_psi = np.zeros((1, 1, *eta.shape[1:]))
        return self.scale * eta, np.full((1, *eta.shape), self.scale), by_psi


@dataclass(frozen=True, eq=False)
class ReportedOutcome:
    """Categories that were seen through a channel.

    A channel that tells classes finer apart than it estimates (those with the attribute who say so
    and those who lie) has A_j = sum over classes c of j of s_c P(report | c).  The
    proportions s_c within a category are ancillary parameters, the same for all, as softmax(psi).

    categories : the baseline first; of two the event last.
    table : (cells, classes) P(cell | class), where reports fall into one cell each; else
        (rows, classes) the likelihood of each report by itself.
    cells : (rows,) the cell of each report; None where each report is a row of ``table``.
    class_of : (classes,) the category 0 .. k-1 of each class.
    labels : (classes,) what the classes are called.
    family : probabilities of the categories given linear predictors.
    samples : how many there are; each has as many rows of the table, one sample after another.
    """

    categories: Labels
    table: Floats
    cells: Indices | None
    class_of: Indices
    labels: Labels
    family: Family
    samples: int = 1

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def has_cells(self) -> bool:
        """Each report falls into one of a few cells."""
        return self.cells is not None

    @property
    def observed(self) -> tuple[Any, ...]:
        """The categories, what reports say about them, and the reports."""
        return self.categories, self.table, self.cells

    @property
    def predictors(self) -> int:
        """The linear predictors of the family."""
        return self.family.predictors

    @property
    def ancillary(self) -> int:
        """One for each class but the last of its category."""
        return len(self.free)

    @cached_property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class is of a category."""
        return np.asarray(self.class_of == np.arange(self.k)[:, None], dtype=np.float64)

    @cached_property
    def last(self) -> Indices:
        """(k,) the last class of each category."""
        return np.asarray(len(self.class_of) - 1 - np.argmax(self.shown[:, ::-1], axis=1))

    @cached_property
    def free(self) -> Indices:
        """Classes whose share within their category is a parameter."""
        return np.setdiff1d(np.arange(len(self.class_of)), self.last)

    def class_proportions(self, psi: Floats) -> Floats:
        """(classes,) the share of each class within its category."""
        if not psi.size:
            return np.ones(len(self.class_of))
        logits = np.zeros(len(self.class_of))
        logits[self.free] = psi
        within = np.where(self.shown > 0, logits, -np.inf)
        odds = np.exp(within - within.max(axis=1, keepdims=True))
        return np.asarray(odds.sum(axis=0) / (self.shown.T @ odds.sum(axis=1)))

    def natural(self, psi: Floats) -> tuple[Floats, Floats]:
        """Shares of the free classes, and their derivatives by psi."""
        proportions = self.class_proportions(psi)[self.free]
        codes = self.class_of[self.free]
        same_category = codes[:, None] == codes
        return proportions, np.diag(proportions) - same_category * np.outer(
            proportions, proportions
        )

    def evidence(self, rows: slice, psi: Floats) -> tuple[Floats, Floats]:
        """(k, rows) A of some reports, and its (ancillary, rows) derivatives by psi."""
        proportions = self.class_proportions(psi)
        free = self.free
        table = self.table[rows] if self.cells is None else self.table
        values = (self.shown * proportions) @ table.T
        by_psi = proportions[free, None] * (table.T[free] - values[self.class_of[free]])
        if self.cells is None:
            return values, by_psi
        cells = self.cells[rows]
        return values[:, cells], by_psi[:, cells]

    def _evidence_curves(self, psi: Floats, by_psi: Floats) -> Floats:
        """(ancillary, ancillary, rows) second derivatives of A by psi, from the first."""
        proportions = self.class_proportions(psi)[self.free][:, None, None]
        codes = self.class_of[self.free]
        curves = (np.eye(len(codes))[:, :, None] - proportions) * by_psi
        curves = curves - proportions.swapaxes(0, 1) * by_psi[:, None]
        same_category = codes == codes[:, None]
        return np.asarray(curves * same_category[..., None])

    def terms(self, rows: slice, eta: Floats, psi: Floats) -> Terms:
        """Log sum_j A_j P(j | eta)."""
        evidence, by_psi = self.evidence(rows, psi)
        probabilities = self.family.probabilities(eta)
        jacobian = self.family.slopes(eta, probabilities)
        density = np.einsum("kn,kcn->cn", evidence, probabilities)
        inverse = np.divide(1.0, density, out=np.zeros_like(density), where=density > 0)
        codes = self.class_of[self.free]
        by_eta = np.einsum("kn,kqcn->qcn", evidence, jacobian)
        slopes = np.concatenate([by_eta, probabilities[codes] * by_psi[:, None]]) * inverse
        q = self.predictors
        curves = np.empty((len(slopes), len(slopes), *density.shape))
        curves[:q, :q] = self.family.curves(eta, probabilities, evidence[:, None]) * inverse
        if self.ancillary:
            cross = jacobian[codes] * inverse * by_psi[:, None, None]
            curves[q:, :q] = cross
            curves[:q, q:] = cross.swapaxes(0, 1)
            evidence_curves = self._evidence_curves(psi, by_psi)[:, :, None]
            curves[q:, q:] = (probabilities[codes] * inverse)[:, None] * evidence_curves
        with np.errstate(divide="ignore"):
            return Terms(np.log(density), slopes, curves)

    def log_density(self, rows: slice, eta: Floats) -> Floats:
        """(C, rows) the first of the terms alone, of an outcome without ancillary parameters."""
        evidence = self.evidence(rows, np.empty(0))[0]
        with np.errstate(divide="ignore"):
            log = np.log(np.einsum("kn,kcn->cn", evidence, self.family.probabilities(eta)))
        return np.asarray(log)

    def means(self, eta: Floats, psi: Floats) -> tuple[Floats, Floats, Floats]:
        """(k, ...) probabilities of the categories and their slopes.

        (k, predictors, ...) by eta, and (k, ancillary, ...) by psi: 0, as they do not depend on it.
        """
        probabilities = self.family.probabilities(eta)
        by_psi = np.zeros((self.k, self.ancillary, *eta.shape[1:]))
        return probabilities, self.family.slopes(eta, probabilities), by_psi

    def posterior(self, rows: slice, eta: Floats, psi: Floats) -> Floats:
        """(rows, k) P(truth | report, covariates), of one class."""
        joint = self.evidence(rows, psi)[0] * self.means(eta[:, 0], psi)[0]
        return np.asarray((joint / joint.sum(axis=0)).T)

    @property
    def width(self) -> int:
        """The number of cells of a sample."""
        return len(self.table) // self.samples

    @cached_property
    def first(self) -> Indices:
        """(rows,) the first cell of each report's sample; none where reports are of no cell."""
        cells = np.empty(0, dtype=np.intp) if self.cells is None else self.cells
        return np.asarray(cells // self.width * self.width)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """Starting parameters: one probability for everyone, moved away from 0 and 1."""
        proportions, classes = self.start_proportions(weights)
        psi = np.log(classes[self.free] / classes[self.last[self.class_of[self.free]]])
        return self.family.eta(proportions[:, None]), np.asarray(psi, dtype=np.float64)

    def start_proportions(self, weights: Floats) -> tuple[Floats, Floats]:
        """(k,) proportions of categories and (classes,) of classes, near the likeliest."""
        if self.cells is not None:
            weights = np.bincount(self.cells, weights, len(self.table)).astype(np.float64)
        classes = np.full(len(self.class_of), 1 / len(self.class_of))
        for _ in range(_START_STEPS):  # expectation-maximization
            rate = self.table @ classes
            classes = classes * (self.table.T @ (weights / np.where(rate > 0, rate, 1.0)))
            classes /= classes.sum()
        classes = (1 - _UNIFORM_WEIGHT) * classes + _UNIFORM_WEIGHT / len(classes)
        proportions = np.bincount(self.class_of, classes, minlength=self.k).astype(np.float64)
        return proportions, classes

    def take(self, rows: Booleans | Indices) -> ReportedOutcome:
        """The outcome of some rows, or of rows in another order."""
        if self.cells is None:
            return replace(self, table=self.table[rows])
        return replace(self, cells=self.cells[rows])


def outcome_of(column: ReportColumn, family: Family, baseline: Hashable = None) -> ReportedOutcome:
    """Reports of a column as an outcome; missing ones have the cell m, or NaN.

    baseline : the category that is to come first.
    """
    order = list(range(column.k))
    if baseline is not None:
        code = _code_of(column, baseline)
        order.remove(code)
        order.insert(0, code)
    mechanism = column.mechanism
    if column.rates is not None:
        column.rates.check_informative(every=False)
    return ReportedOutcome(
        categories=tuple(column.categories[code] for code in order),
        table=column.likelihood_table if column.has_cells else column.likelihood(),
        cells=column.codes() if column.has_cells else None,
        class_of=np.argmax(column.recode[order], axis=0),
        labels=column.categories if mechanism is None else mechanism.domain.categories,
        family=family,
        samples=len(getattr(mechanism, "groups", None) or [None]),
    )


def _code_of(column: ReportColumn, category: Hashable) -> int:
    """The place of a category among those of a column; raises for others."""
    categories = list(column.categories)
    if category not in categories:
        # Categories that no mechanism declares are cells.
        listed = f" {categories}" if column.private else ""
        raise ArgumentValueError(
            f"baseline must be one of the {column.k} categories{listed}, got {quote(category)}"
        )
    return categories.index(category)
