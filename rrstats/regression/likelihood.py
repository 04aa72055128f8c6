"""Likelihood of reports, with latent classes: an outcome, covariates, or both seen as reports.

Each of n people is of one of C classes, the combinations of true categories of the privatized
covariates (one class if there are none).  Their reports have P(reports | class), the class has a
multinomial logit on covariates z, and the outcome a distribution whose linear predictors are
``D_c beta``:

    P(y, reports | z) = sum_c P(reports | c) P(c | z; gamma) f(y | D_c beta).

Of an outcome that was seen as a report f = sum_j A_j P(j | D_c beta), with A_j the probability of
the report where the truth is j.  Gradient and Hessian are exact (Louis 1982) and summed in blocks
of rows.  The log-likelihood is not concave where there is noise: it is maximized from a few
fixed starts, in columns of mean square 1, so that no unit of measurement matters.
What the data leave open (separation, a class that nobody is in) is a direction without information.
Sources: Magder and Hughes (1997); van den Hout and Kooiman (2006); Louis (1982).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_one_of
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns import ReportColumn
from rrstats.inference.contrasts import bias_reduced_sandwich
from rrstats.inference.optimize import Maximum, distinct, maximize, split_information
from rrstats.regression.design_matrix import orthonormal, principal_axes
from rrstats.regression.links import Family
from rrstats.regression.varying_columns import VaryingColumns

_FEW_CLUSTERS = 100
"""Up to so many clusters the covariance is CR2."""

_BLOCK = 1 << 13
"""Rows times classes that are worked on at once, which stay in cache."""

_NO_ERROR = -12.0
"""Logarithm of an error deviation below which an outcome has no error."""

_SAME_NUMBER = 1e-12
"""Errors below this part of the largest outcome are rounding."""

_EXACT = "the outcome follows from its covariates without any error; leave out what determines it"

# -- the outcome -------------------------------------------------------------------------------


class Terms(NamedTuple):
    """Log-density of the outcome by class, and derivatives by predictors and own parameters.

    log : (C, rows).  slopes : (d, C, rows) of the logarithm.  curves : (d, d, C, rows) second
    derivatives of the density, over the density.
    """

    log: Floats
    slopes: Floats
    curves: Floats


@dataclass(frozen=True, eq=False)
class NormalOutcome:
    """A number with normal errors; the own parameter is the logarithm of their deviation.

    y : (rows,) numbers.  scale : the unit of the predictor and of the deviation.
    """

    y: Floats
    scale: float = 1.0
    predictors: int = 1
    own: int = 1

    def terms(self, rows: slice, eta: Floats, own: Floats) -> Terms:
        """Normal density; 0 below the least deviation."""
        precision = np.exp(-2 * own[0])
        residual = self.y[rows] / self.scale - eta[0]
        by_eta = residual * precision
        square = residual * by_eta
        log = -0.5 * square - own[0] - 0.5 * np.log(2 * np.pi) - np.log(self.scale)
        if own[0] < _NO_ERROR - 2:
            log = np.full_like(log, -np.inf)
        slopes = np.stack([by_eta, square - 1])
        mixed = by_eta * (square - 3)
        curves = np.array([[by_eta**2 - precision, mixed], [mixed, (square - 1) ** 2 - 2 * square]])
        return Terms(log, slopes, curves)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """The numbers themselves, which are then projected on the columns."""
        return self.y[None] / self.scale, np.zeros(1)

    def natural(self, own: Floats) -> tuple[Floats, Floats]:
        """Standard deviation of the errors."""
        sigma = self.scale * np.exp(own)
        return sigma, np.diag(sigma)

    def means(self, eta: Floats) -> tuple[Floats, Floats]:
        """(1, ...) the mean and its (1, 1, ...) slopes."""
        return self.scale * eta, np.full((1, *eta.shape), self.scale)


@dataclass(frozen=True, eq=False)
class ReportedOutcome:
    """Categories that were seen through a channel.

    A channel that tells classes finer apart than it estimates (those with the attribute who say so
    and those who lie) has A_j = sum over classes c of j of s_c P(report | c).  The shares s_c
    within a category are own parameters, the same for all people, as softmax(psi).

    categories : the baseline first; of two the event last.
    table : (cells, classes) P(cell | class), where reports fall into one cell each; else
        (rows, classes) the likelihood of each report by itself.
    cells : (rows,) the cell of each report; None where each report is a row of ``table``.
    class_of : (classes,) the category 0 .. k-1 of each class.
    labels : (classes,) what the classes are called.
    family : probabilities of the categories given linear predictors.
    samples : how many there are; each has as many rows of the table, one sample after another.
    """

    categories: tuple[Hashable, ...]
    table: Floats
    cells: NDArray[np.intp] | None
    class_of: NDArray[np.intp]
    labels: tuple[Hashable, ...]
    family: Family
    samples: int = 1

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def predictors(self) -> int:
        """Those of the family."""
        return self.family.predictors

    @property
    def own(self) -> int:
        """One for each class but the last of its category."""
        return len(self.free)

    @cached_property
    def shown(self) -> Floats:
        """(k, classes) 1 where a class is of a category."""
        return np.asarray(self.class_of == np.arange(self.k)[:, None], dtype=np.float64)

    @cached_property
    def last(self) -> NDArray[np.intp]:
        """(k,) the last class of each category."""
        return np.asarray(len(self.class_of) - 1 - np.argmax(self.shown[:, ::-1], axis=1))

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Classes whose share within their category is a parameter."""
        return np.setdiff1d(np.arange(len(self.class_of)), self.last)

    def class_shares(self, psi: Floats) -> Floats:
        """(classes,) the share of each class within its category."""
        if not psi.size:
            return np.ones(len(self.class_of))
        logits = np.zeros(len(self.class_of))
        logits[self.free] = psi
        within = np.where(self.shown > 0, logits, -np.inf)
        raised = np.exp(within - within.max(axis=1, keepdims=True))
        return np.asarray(raised.sum(axis=0) / (self.shown.T @ raised.sum(axis=1)))

    def natural(self, own: Floats) -> tuple[Floats, Floats]:
        """Shares of the free classes."""
        shares, codes = self.class_shares(own)[self.free], self.class_of[self.free]
        same = codes[:, None] == codes
        return shares, np.diag(shares) - same * np.outer(shares, shares)

    def evidence(self, rows: slice, psi: Floats) -> tuple[Floats, Floats]:
        """(k, rows) A of some reports, and its (own, rows) derivatives by psi."""
        shares, free = self.class_shares(psi), self.free
        table = self.table[rows] if self.cells is None else self.table
        values = (self.shown * shares) @ table.T
        steps = shares[free, None] * (table.T[free] - values[self.class_of[free]])
        if self.cells is None:
            return values, steps
        return values[:, self.cells[rows]], steps[:, self.cells[rows]]

    def terms(self, rows: slice, eta: Floats, own: Floats) -> Terms:
        """Log sum_j A_j P(j | eta)."""
        values, steps = self.evidence(rows, own)
        shares = self.family.shares(eta)
        slopes = self.family.slopes(eta, shares)
        rate = np.einsum("kn,kcn->cn", values, shares)
        inverse = np.divide(1.0, rate, out=np.zeros_like(rate), where=rate > 0)
        by = np.einsum("kn,kqcn->qcn", values, slopes)
        by = np.concatenate([by, shares[self.class_of[self.free]] * steps[:, None]]) * inverse
        q, codes = self.predictors, self.class_of[self.free]
        curves = np.empty((len(by), len(by), *rate.shape))
        curves[:q, :q] = self.family.bends(eta, shares, values[:, None]) * inverse
        if self.own:
            cross = slopes[codes] * inverse * steps[:, None, None]
            one = self.class_shares(own)[self.free][:, None, None]
            bend = (np.eye(len(codes))[:, :, None] - one) * steps
            bend = (bend - one.swapaxes(0, 1) * steps[:, None]) * (codes == codes[:, None])[
                ..., None
            ]
            curves[q:, :q], curves[:q, q:] = cross, cross.swapaxes(0, 1)
            curves[q:, q:] = (shares[codes] * inverse)[:, None] * bend[:, :, None]
        with np.errstate(divide="ignore"):
            return Terms(np.log(rate), by, curves)

    def means(self, eta: Floats) -> tuple[Floats, Floats]:
        """(k, ...) probabilities of the categories and their (k, predictors, ...) slopes."""
        shares = self.family.shares(eta)
        return shares, self.family.slopes(eta, shares)

    def posterior(self, rows: slice, eta: Floats, own: Floats) -> Floats:
        """(rows, k) P(truth | report, covariates), of one class."""
        joint = self.evidence(rows, own)[0] * self.family.shares(eta[:, 0])
        return np.asarray((joint / joint.sum(axis=0)).T)

    @property
    def width(self) -> int:
        """The number of cells of a sample."""
        return len(self.table) // self.samples

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """(rows,) the first cell of each report's sample; none where reports are of no cell."""
        cells = np.empty(0, dtype=np.intp) if self.cells is None else self.cells
        return np.asarray(cells // self.width * self.width)

    def start(self, weights: Floats) -> tuple[Floats, Floats]:
        """The same probability for everyone, kept inside."""
        if self.cells is not None:
            weights = np.bincount(self.cells, weights, len(self.table)).astype(np.float64)
        classes = np.full(len(self.class_of), 1 / len(self.class_of))
        for _ in range(30):  # the likeliest for everyone, by expectation-maximization
            rate = self.table @ classes
            classes = classes * (self.table.T @ (weights / np.where(rate > 0, rate, 1.0)))
            classes /= classes.sum()
        classes = 0.98 * classes + 0.02 / len(classes)
        shares = np.bincount(self.class_of, classes, minlength=self.k).astype(np.float64)
        psi = np.log(classes[self.free] / classes[self.last[self.class_of[self.free]]])
        return self.family.eta(shares[:, None]), np.asarray(psi, dtype=np.float64)

    def take(self, rows: Any) -> ReportedOutcome:
        """The same of some rows."""
        if self.cells is None:
            return replace(self, table=self.table[rows])
        return replace(self, cells=self.cells[rows])


OutcomeModel = NormalOutcome | ReportedOutcome


def outcome_of(
    column: ReportColumn, family: Family, first: Any = None, last: Any = None
) -> ReportedOutcome:
    """Reports of a column as an outcome; missing ones have the cell m, or NaN.

    first : the category that is to come first, the baseline.  last : that which is to come last,
        the event.
    """
    categories, order = list(column.categories), list(range(column.k))
    for name, category in (("baseline", first), ("event", last)):
        if category is not None and category not in categories:
            # Categories that no mechanism declares are cells.
            known = f" {categories}" if column.private else ""
            raise ArgumentValueError(
                f"{name} must be one of the {column.k} categories{known}, got {category!r}"
            )
        if category is not None:
            order.remove(code := categories.index(category))
            order.insert(0 if name == "baseline" else column.k, code)
    mechanism, single = column.mechanism, column.is_multinomial
    return ReportedOutcome(
        tuple(categories[code] for code in order),
        column.likelihood_table if single else column.likelihood(),
        column.codes() if single else None,
        np.argmax(column.recode[order], axis=0),
        column.categories if mechanism is None else mechanism.domain.categories,
        family,
        len(getattr(mechanism, "groups", None) or [None]),
    )


# -- the likelihood ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Likelihood:
    """People, their columns and their reports.

    Parameters are one vector: b coefficients of each linear predictor, those of the outcome's own,
    then gamma of each class but the first.

    outcome : the distribution of the outcome.
    given : (rows, C) P(reports | class), each row up to a factor.
    same : (rows, s) columns of the design that do not depend on the class.
    varying : (C, rows, v) the columns that do.
    shares : (rows, g) columns of the model of the class.
    weights : (rows,) how many people a row stands for, times their weight.
    squares : (rows,) the same with the square of the weight.
    offset : (rows,) added to the predictors, or None.
    """

    outcome: Any
    given: Floats
    same: Floats
    varying: Floats
    shares: Floats
    weights: Floats
    squares: Floats
    offset: Floats | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.given)

    @property
    def classes(self) -> int:
        """C."""
        return int(self.given.shape[1])

    @property
    def columns(self) -> int:
        """b, the number of coefficients of a predictor."""
        return int(self.same.shape[1] + self.varying.shape[2])

    @property
    def head(self) -> int:
        """Number of coefficients of all predictors."""
        return int(self.outcome.predictors) * self.columns

    @property
    def size(self) -> int:
        """Number of parameters."""
        gamma = (self.classes - 1) * int(self.shares.shape[1])
        return self.head + int(self.outcome.own) + gamma

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Beta (predictors, b), the outcome's own, gamma (C - 1, g)."""
        cut = self.head + self.outcome.own
        beta = theta[: self.head].reshape(self.outcome.predictors, self.columns)
        gamma = theta[cut:].reshape(self.classes - 1, self.shares.shape[1])
        return beta, theta[self.head : cut], gamma

    def supposed(self, cell: int) -> Likelihood:
        """The same people, had all reported one cell of their sample."""
        cells = self.outcome.first + cell
        return replace(self, outcome=replace(self.outcome, cells=cells))

    def blocks(self) -> Iterator[slice]:
        """Slices of the rows; an empty one where there are none."""
        rows = max(_BLOCK // self.classes, 64)
        return (slice(start, start + rows) for start in range(0, self.rows or 1, rows))

    def design(self, rows: slice) -> Floats:
        """(C, rows, b) the design of each class."""
        if self.classes == 1 and not self.varying.shape[2]:
            return self.same[rows][None]
        varying = self.varying[:, rows]
        same = np.broadcast_to(self.same[rows], (len(varying), *self.same[rows].shape))
        return np.concatenate([same, varying], axis=2)

    def moved(self, theta: Floats, rows: slice) -> Floats:
        """(predictors, C, rows) what a step does to the linear predictors."""
        return np.moveaxis(self.design(rows) @ self.split(theta)[0].T, 2, 0)

    def eta(self, theta: Floats, rows: slice) -> Floats:
        """(predictors, C, rows) the linear predictors."""
        found = self.moved(theta, rows)
        return found if self.offset is None else found + self.offset[rows]

    def furthest(self, step: Floats) -> float:
        """The largest move of a linear predictor, own parameter, or logit of a class by a step."""
        own, gamma = self.split(step)[1:]
        moves = (own, self.moved(step, slice(None)), self.shares @ gamma.T)
        return max(float(np.abs(one).max(initial=0.0)) for one in moves)

    def maximize(self, start: Floats, within: Floats | None = None, steps: int = 200) -> Maximum:
        """A local maximum of the log-likelihood."""
        return maximize(self.derivatives, start, within=within, length=self.furthest, steps=steps)

    def log_shares(self, theta: Floats, rows: slice) -> Floats:
        """(C, rows) the logarithm of P(class | z)."""
        gamma, shares = self.split(theta)[2], self.shares[rows]
        logits = np.vstack([np.zeros(len(shares)), gamma @ shares.T])
        return np.asarray(scipy.special.log_softmax(logits, axis=0))

    def _after(self, theta: Floats, rows: slice) -> tuple[Floats, Floats, Floats, Terms]:
        """(C, rows) P(class | all), P(class | z); (rows,) log-likelihoods; the outcome's terms."""
        terms = self.outcome.terms(rows, self.eta(theta, rows), self.split(theta)[1])
        if self.classes == 1:
            ones = np.broadcast_to(1.0, terms.log.shape)
            return ones, ones, terms.log[0], terms
        log_shares = self.log_shares(theta, rows)
        with np.errstate(divide="ignore"):
            joint = np.log(self.given[rows].T) + log_shares + terms.log
        each = scipy.special.logsumexp(joint, axis=0)
        with np.errstate(invalid="ignore"):
            return np.exp(joint - each), np.exp(log_shares), each, terms

    def each(self, theta: Floats) -> Floats:
        """(rows,) the log-likelihoods."""
        return np.concatenate([self._after(theta, rows)[2] for rows in self.blocks()])

    def posterior(self, theta: Floats) -> Floats:
        """(rows, C) P(class | reports, outcome, covariates)."""
        return np.concatenate([self._after(theta, rows)[0].T for rows in self.blocks()])

    def scores(self, theta: Floats) -> Floats:
        """(rows, size) gradients of each row's log-likelihood, unweighted."""
        each = ((rows, *self._after(theta, rows)) for rows in self.blocks())
        return np.vstack([self._scores(rows, after, shares, terms)
                          for rows, after, shares, _, terms in each])  # fmt: skip

    def _scores(self, rows: slice, after: Floats, shares: Floats, terms: Terms) -> Floats:
        slopes = terms.slopes * after
        parts, total = [], slopes.sum(axis=1)
        for a in range(self.outcome.predictors):
            vary = np.einsum("cn,cnv->nv", slopes[a], self.varying[:, rows])
            parts += [self.same[rows] * total[a][:, None], vary]
        gained = (after - shares)[1:].T[:, :, None] * self.shares[rows][:, None]
        own = total[self.outcome.predictors :].T
        return np.hstack([*parts, own, gained.reshape(len(own), -1)])

    def derivatives(
        self, theta: Floats, blocks: Iterable[Any] | None = None
    ) -> tuple[float, Floats, Floats]:
        """Log-likelihood, gradient and Hessian, of all rows or of some blocks.

        Hessian of a row: E[h + s s' | seen] - E[s | seen] E[s | seen]', with s and h the
        derivatives if the class were known.
        """
        total, gradient, hessian = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        for rows in self.blocks() if blocks is None else blocks:
            after, shares, each, terms = self._after(theta, rows)
            weight = self.weights[rows]
            total += float((weight * each).sum())  # in pairs: few digits lost
            if self.classes == 1:  # in short: the sums alone, without the scores of rows
                bends = terms.curves - terms.slopes[:, None] * terms.slopes
                hessian += self.gram(bends * weight, rows)
                slopes = terms.slopes[:, 0] * weight
                by = slopes[: self.outcome.predictors] @ self.design(rows)[0]
                gradient += np.append(by, slopes[self.outcome.predictors :].sum(axis=1))
            else:
                by, bends = self._curvature(rows, after, shares, terms)
                gradient += by
                hessian += bends
        return total, gradient, (hessian + hessian.T) / 2

    def gram(self, weights: Floats, rows: slice) -> Floats:
        """Sums of products of columns: the block of coefficients and own parameters.

        weights : (d, d, C, rows).
        """
        flat = self.design(rows).reshape(-1, self.columns)
        own = [np.ones((len(flat), 1))] * self.outcome.own
        designs = [*[flat] * self.outcome.predictors, *own]
        weights = weights.reshape(len(designs), len(designs), -1)
        products = [
            [(one.T * weight) @ other for weight, other in zip(line, designs, strict=True)]
            for line, one in zip(weights, designs, strict=True)
        ]
        found, cut = np.zeros((self.size, self.size)), self.head + len(own)
        found[:cut, :cut] = np.block(products)
        return found

    def known_classes(self, theta: Floats) -> Floats:
        """Information on coefficients and own parameters, had all seen the class."""
        total = np.zeros((self.size, self.size))
        for rows in self.blocks():
            after, _, _, terms = self._after(theta, rows)
            bends = terms.curves - terms.slopes[:, None] * terms.slopes[None]
            total -= self.gram(bends * after * self.weights[rows], rows)
        cut = self.head + self.outcome.own
        return total[:cut, :cut]

    def expected(self, theta: Floats) -> Floats:
        """Expected information, of one class."""
        total = np.zeros((self.size, self.size))
        for cell in range(self.outcome.width):
            there = self.supposed(cell)
            scores = there.scores(theta)
            total += (scores.T * (self.weights * np.exp(there.each(theta)))) @ scores
        return total

    def _curvature(
        self, rows: slice, after: Floats, shares: Floats, terms: Terms
    ) -> tuple[Floats, Floats]:
        """Gradient and Hessian of some rows, of several classes."""
        weight, z, design = self.weights[rows], self.shares[rows], self.design(rows)
        cut, q, g = self.head + self.outcome.own, self.outcome.predictors, z.shape[1]
        found = self.gram(terms.curves * weight * after, rows)
        scores = self._scores(rows, after, shares, terms)
        seen = scores[:, :cut]
        found[:cut, :cut] -= seen.T @ (weight[:, None] * seen)
        for one in range(1, self.classes):
            mine = slice(cut + (one - 1) * g, cut + one * g)
            slopes = terms.slopes[:, one]
            each = [slopes[a][:, None] * design[one] for a in range(q)]
            mixed = (np.hstack([*each, slopes[q:].T]) - seen) * (weight * after[one])[:, None]
            found[:cut, mine] = mixed.T @ z
            found[mine, :cut] = found[:cut, mine].T
            bends = shares[one] * shares[1:] - after[one] * after[1:]
            bends[one - 1] += after[one] - shares[one]
            found[mine, cut:] = np.hstack([(z.T * bend) @ z for bend in bends * weight])
        return weight @ scores, found


# -- the maximum -------------------------------------------------------------------------------


KINDS = ("observed", "expected", "opg", "robust", "clustered")
"""Covariances by name: inverse Hessian, inverse mean Hessian, inverse products of gradients, and
the sandwiches of the first with the products of rows and of clusters."""

_MANY = 5000
"""Rows from which on one start is enough where there is one class."""

_STEEPER = (3.0, 10.0)
"""Of 800 fits to pure noise with a maximum the first start missed it in 13, mostly by slopes that
were too small; with these 3 of 680 are missed."""

_GENTLER = (1.0, 2.0)
"""Moves of the linear predictor by slopes in an endless direction, to start from."""

_AXES, _ALONG = 8, 2.0
"""So many columns have starts of their own, so far both ways, where the first search is endless."""

_MOST_PARAMETERS = 500
"""Parameters of a fit: one step of 100,000 rows then takes about half a minute."""

_MOST_STEPS, _MOST_PRODUCTS = 5_000, 20_000_000_000
"""Steps of all climbs of a fit, and products of columns in them, after which none is begun."""

_CLIMB_STEPS = 200
"""Steps of one climb; most take 5 to 40."""

_PLATEAU = 1e-4
"""Information in parts of that at the start, below which a maximum is a plateau."""

_NOTHING = 1e-7
"""Information so far below that at the start is none."""

_NONE = 1e-100
"""The largest information at a start from which no step can be told."""

_LOST = 1e-4
"""A parameter that moves by more than this part with a direction without information is lost."""

_GAIN = 1e-4
"""Gain of an infinite parameter over one held at the start; below it nothing is known of it."""

_APART = 3.5
"""Distance of classes at the last starts, in deviations of the outcome."""

_SAME = 1e-6
"""Log-likelihoods per row that differ by less are one maximum."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Maximum of a likelihood.

    model : in columns of mean square 1.  maximum : of that.
    back : (size, size) makes of its parameters the coefficients in the units and order of the user.
    bread : (size, size) inverse information, 0 for what nothing is known of.
    unknown : (size, d) directions that the data tell nothing of; none mostly.
    signs : (size,) in the order of the user 1 or -1 for infinite parameters, NaN where nothing is
        known, else 0.
    edge : by how much the likelihood is higher where probabilities are 0 or 1, as far as was seen.
    stopped : after how many steps the search ended before all climbs were begun; 0 mostly.
    others : log-likelihoods of lower maxima of a mixture, descending.
    """

    model: Likelihood
    maximum: Maximum
    back: Floats
    bread: Floats
    unknown: Floats
    signs: Floats
    edge: float = 0.0
    others: tuple[float, ...] = ()
    stopped: int = 0

    @property
    def theta(self) -> Floats:
        """(size,) the parameters at the maximum."""
        return self.maximum.parameters

    @property
    def own(self) -> slice:
        """The places of the outcome's own parameters, which are natural ones for the user."""
        return slice(self.model.head, self.model.head + self.model.outcome.own)

    @property
    def estimates(self) -> Floats:
        """(size,) parameters of the user, infinite or NaN where they have no maximum."""
        found = self.back @ self.theta
        own, _ = self.model.outcome.natural(self.theta[self.own])
        lost = self.signs != 0
        lost[self.own] = False
        found[self.own] = own
        with np.errstate(invalid="ignore"):
            return np.where(lost, self.signs * np.inf, found)

    def natural(self, inner: Floats) -> Floats:
        """Covariance of the user's parameters from that of theta; NaN for what has no maximum."""
        slopes = self.back.copy()
        slopes[self.own, self.own] = self.model.outcome.natural(self.theta[self.own])[1]
        found = slopes @ inner @ slopes.T
        found[self.signs != 0] = found[:, self.signs != 0] = np.nan
        return np.asarray(found)

    def covariance(self, kind: str, data: Any) -> Floats:
        """(size, size) covariance of theta by name; raises for what does not apply.

        data : of the regression, with ``weighted``, ``clusters`` and ``people``.
        """
        check_one_of(kind, "vcov", KINDS)
        model, theta, bread = self.model, self.theta, self.bread
        cells, why = len(getattr(model.outcome, "first", [])), ""
        if data.weighted and kind not in ("robust", "clustered"):
            why = (
                "takes weights for numbers of people; with probability weights use 'robust' or "
                "'clustered', and give counts of equal rows as frequencies="
            )
        elif kind == "expected" and (model.classes > 1 or not cells):
            why = "needs one cell a report; use 'observed'"
        elif kind == "clustered" and data.clusters is None:
            why = "needs a design with clusters"
        if why:
            raise ArgumentValueError(f"vcov {kind!r} {why}")
        least = _NOTHING * self.maximum.scale if self.unknown.size else 0.0
        if kind == "observed":
            return bread
        if kind == "expected":
            return split_information(model.expected(theta), least)[0]
        scores = model.scores(theta)
        if kind == "clustered":
            each = scores * model.weights[:, None]

            def information(rows: NDArray[np.intp]) -> Floats:
                parts = np.array_split(rows, len(rows) // _BLOCK + 1)
                return -model.derivatives(theta, parts)[2]

            return clustered_covariance(each, data, bread, information)
        products = (scores.T * (model.squares if kind == "robust" else model.weights)) @ scores
        return (
            bread @ products @ bread if kind == "robust" else split_information(products, least)[0]
        )


def clustered_covariance(
    each: Floats, data: Any, bread: Floats, information: Callable[[Any], Floats]
) -> Floats:
    """Covariance of estimates from people in clusters: CR2, of many clusters CR1.

    each : (rows, b) weighted scores.  data : with ``clusters`` and ``people``.  information : of
    the rows at some places, for CR2; in simulations with 8 clusters CR1 covered 89% where CR2
    covered 93%, with 20 the two are alike.
    """
    grouped = pd.DataFrame(each).groupby(data.clusters)
    sums = grouped.sum().to_numpy()
    if len(sums) <= _FEW_CLUSTERS:
        parts = [information(rows) for rows in grouped.indices.values()]
        return bias_reduced_sandwich(sums, np.array(parts), bread)
    errors, free = sums @ bread, max(data.people - each.shape[1], 1)
    factor = len(sums) / (len(sums) - 1) * (data.people - 1) / free
    return np.asarray(factor * errors.T @ errors)


def check_columns(
    same: Floats, varying: VaryingColumns, names: Sequence[str], parameters: int
) -> None:
    """Raise for columns that follow from others over all rows and profiles, and for few rows."""
    principal_axes(varying.triangles(same), names, len(same))
    if len(same) <= (most := max(parameters, len(names))):
        raise ArgumentValueError(f"{len(same)} rows cannot tell {most} parameters apart")


def check_size(parameters: int, source: str) -> None:
    """Raise for more parameters than a fit may have; source : what makes them so many."""
    if parameters > _MOST_PARAMETERS:
        raise ArgumentValueError(
            f"a regression may have at most {_MOST_PARAMETERS} parameters, found {parameters} or "
            f"more ({source}); merge categories or levels, or leave covariates out"
        )


class Search:
    """Climbs of one fit, which share a bounded number of steps.

    A climb that is begun may take all steps of a climb, so that the first always ends by itself.
    """

    def __init__(self, model: Likelihood) -> None:
        products = model.rows * model.classes * model.size**2
        self.model = model
        self.most = int(np.clip(_MOST_PRODUCTS // max(products, 1), _CLIMB_STEPS, _MOST_STEPS))
        self.steps = 0
        self.is_stopped = False

    def climb(self, start: Floats, within: Floats | None = None) -> Maximum | None:
        """The end of a climb; None where the steps of the fit are used up."""
        if self.steps >= self.most:
            self.is_stopped = True
            return None
        maximum = self.model.maximize(start, within, _CLIMB_STEPS)
        self.steps += maximum.iterations
        return maximum

    def climbs(self, starts: Iterable[Floats]) -> list[Maximum]:
        """The ends of climbs from several starts, as many as were begun."""
        return [maximum for maximum in map(self.climb, starts) if maximum is not None]


def fitted(
    model: Likelihood, names: Sequence[str], order: Sequence[int], share_names: Sequence[str] = ()
) -> Fit:
    """Maximize a likelihood.

    names : of the design's columns, as the model has them.  order : their places for the user.
    share_names : of the columns of the model of the class.
    Raises ArgumentValueError for collinear columns and an outcome that has no error.
    """
    if model.classes > 1 or isinstance(model.outcome, NormalOutcome):
        check_columns(model.same, VaryingColumns.of(model.varying), names, model.size)
    standard, back = _standardized(model, names, order, share_names)
    edge, others = 0.0, list[float]()
    search = Search(standard)
    if model.classes == 1:
        found, edge = _best_alone(search)
    else:
        climbs = search.climbs(_starts(standard))
        found, *lower = distinct(climbs, _SAME * model.rows)
        others = [one.value for one in lower]
    own = standard.split(found.parameters)[1]
    if isinstance(model.outcome, NormalOutcome) and own[0] < _NO_ERROR:
        raise ArgumentValueError(_EXACT)
    least = _NOTHING * found.scale if found.endless is not None else 0.0
    bread, unknown = split_information(-found.hessian, least)
    signs = _signs(search, found, back, unknown)
    found = replace(found, converged=found.converged and found.scale >= _NONE)
    stopped = search.steps if search.is_stopped else 0
    return Fit(standard, found, back, bread, unknown, signs, edge, tuple(others), stopped)


def _standardized(
    model: Likelihood, names: Sequence[str], order: Sequence[int], share_names: Sequence[str]
) -> tuple[Likelihood, Floats]:
    """The likelihood in columns of mean square 1, and what makes coefficients of its parameters."""
    cut, b = model.same.shape[1], model.columns
    outcome, inner = model.outcome, np.zeros((b, b))
    same, inner[:cut, :cut] = orthonormal(model.same, names[:cut])
    shares, turned = orthonormal(model.shares, share_names)
    lengths = np.sqrt((model.varying**2).mean(axis=(0, 1)))
    inner[cut:, cut:], varying = np.diag(1 / lengths), model.varying / lengths
    if isinstance(outcome, NormalOutcome):
        left = outcome.y - same @ np.linalg.lstsq(same, outcome.y, rcond=None)[0]
        scale = float(np.sqrt(np.average(left**2, weights=model.weights)))
        if scale <= _SAME_NUMBER * np.abs(outcome.y).max():
            raise ArgumentValueError(_EXACT)
        outcome = NormalOutcome(outcome.y, scale)
        inner *= scale
    head = [inner[np.argsort(order)]] * outcome.predictors
    back = scipy.linalg.block_diag(*head, np.eye(outcome.own), *[turned] * (model.classes - 1))
    return replace(model, outcome=outcome, same=same, varying=varying, shares=shares), back


def start_of(model: Likelihood) -> Floats:
    """The same for everyone, or for numbers least squares; classes with equal shares."""
    eta, own = model.outcome.start(model.weights)
    design = model.same
    level = np.broadcast_to(eta, (len(eta), model.rows))
    if model.offset is not None:
        level = level - model.offset
    beta = np.zeros((len(eta), model.columns))
    products = design.T @ design, design.T @ level.T
    beta[:, : design.shape[1]] = np.linalg.lstsq(*products, rcond=None)[0].T
    return np.concatenate([beta.ravel(), own, np.zeros(model.size - model.head - len(own))])


def _best_alone(search: Search) -> tuple[Maximum, float]:
    """The highest interior maximum above several fixed starts; at the edge only if there is none.

    Also by how much the edge is higher.  Where reports are few and noise is large there may be
    several maxima, and some with prevalences of 0 and 1 alone, which follow the noise as a
    classifier would.  Of 1,000 fits to 300 reports the edge was seen to be the higher in 18; each
    time its probabilities lay farther from the true ones, by 0.17 on average and the interior ones
    by 0.13.  Other maxima, at the edge above all, may stay unseen.
    """
    model = search.model
    start = start_of(model)
    (first,) = search.climbs([start])
    outcome = model.outcome
    concave = isinstance(outcome, NormalOutcome) or (np.count_nonzero(outcome.table, 1) <= 1).all()
    if model.size == 1 or model.rows > _MANY or concave:  # errors are normal, or reports are true
        return first, 0.0
    further = search.climbs(_further(model, first, start))
    found = [first, *(one for one in further if one.converged)]
    edge = max((one.value for one in found if one.endless is not None), default=-np.inf)
    # a maximum to all sides, and no plateau on the way to the edge
    inside = [
        one
        for one in found
        if one.endless is None
        and one.converged
        and np.linalg.eigvalsh(-one.hessian)[0] > _PLATEAU * one.scale
    ]
    top = max(one.value for one in inside or found)
    near = [one for one in inside or found if one.value >= top - 1e-6]
    best = next((one for one in near if one.converged), near[0])
    return best, max(0.0, edge - best.value) if inside else 0.0


def _further(model: Likelihood, first: Maximum, start: Floats) -> list[Floats]:
    """Starts beside `start_of`: steeper slopes, or where those run off gentler and single ones."""
    way = first.parameters - start
    if first.endless is None:
        return [start + factor * way for factor in _STEEPER]
    each = _ALONG * np.eye(model.size)[: min(model.head, _AXES)]
    gentle = [start + size / model.furthest(way) * way for size in _GENTLER]
    return [*gentle, *(start + each), *(start - each)]


def _starts(model: Likelihood) -> list[Floats]:
    """Effects of the class by its expected value, none, the opposite, and large ones.

    Expected by its reports alone, all classes being alike (regression calibration, Carroll et al.
    2006, chapter 4).  Where classes are far apart the error is half as large.
    """
    expected = np.einsum("rc,crv->rv", model.given, model.varying)
    expected /= model.given.sum(axis=1, keepdims=True)
    single = _of_one_class(model, np.hstack([model.same, expected]))
    outcome = single.maximize(start_of(single), steps=30).parameters
    normal = isinstance(model.outcome, NormalOutcome)
    start = np.zeros(model.size)
    start[: len(outcome)] = outcome if normal else np.clip(outcome, -8.0, 8.0)
    # The ordinary columns take over what the class no longer explains.
    cut, beta = model.same.shape[1], model.split(start)[0]
    moved = np.linalg.lstsq(model.same, expected @ beta[:, cut:].T, rcond=None)[0].T
    largest = float(np.abs(model.varying @ beta[:, cut:].T).max(initial=0.0))
    found = []
    for factor in (1.0, 0.0, -1.0, np.inf, -np.inf):
        other = start.copy()
        changed = model.split(other)[0]
        if np.isfinite(factor):
            changed[:, cut:] *= factor
            changed[:, :cut] += (1 - factor) * moved
        else:
            changed[:, cut:] *= np.copysign(_APART / (largest or _APART), factor)
            other[model.head : len(outcome)] -= np.log(2) * normal
        found.append(other)
    return found


def _of_one_class(model: Likelihood, columns: Floats) -> Likelihood:
    """The likelihood of the outcome on other columns, without classes."""
    none = np.empty((1, model.rows, 0))
    ones = np.ones((model.rows, 1))
    return replace(model, given=ones, same=columns, varying=none, shares=none[0])


def _signs(search: Search, found: Maximum, back: Floats, unknown: Floats) -> Floats:
    """(size,) 1 or -1 for what grows or falls for ever, 0 for what has a maximum.

    NaN for what the reports tell nothing of: with it held at its start they are as likely; and
    where the search ended before that was tried.
    """
    model = search.model
    if not unknown.size:
        return np.zeros(model.size)
    lengths = np.sqrt((back**2).sum(axis=1))
    lost = np.sqrt(((back @ unknown) ** 2).sum(axis=1)) > _LOST * lengths
    start = start_of(model)
    signs = np.sign(back @ unknown @ (unknown.T @ (found.parameters - start)))
    for place in np.flatnonzero(lost):
        unit = back[place] / lengths[place]
        inside = np.linalg.svd(unit[None])[2][1:].T
        held = start - unit * (unit @ start)
        best = search.climb(held, inside)
        if best is None or found.value - best.value < _GAIN:
            signs[place] = np.nan
    return np.where(lost, signs, 0.0)


# -- nested models -------------------------------------------------------------------------------


_SEEN = ("y", "categories", "table", "cells")
"""All that was seen of an outcome."""


def check_nested(large: Fit, small: Fit, advice: str) -> None:
    """Raise where one is no special case of the other, or has no chi-squared distribution."""
    one, two = large.model, small.model
    wide, narrow = (np.concatenate(list(model.design(slice(None)))) for model in (one, two))
    families = [getattr(model.outcome, "family", None) for model in (one, two)]
    why = ""
    if type(one.outcome) is not type(two.outcome) or not (
        _same(one.given, two.given)
        and _same(one.weights, two.weights)
        and all(_same(*(getattr(m.outcome, name, None) for m in (one, two))) for name in _SEEN)
    ):
        why = "must be of the same reports; of a privatized covariate itself use wald_test"
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


# -- profile likelihood intervals --------------------------------------------------------------


_STEPS = 60
"""Steps of one search: they start near."""

_TRIALS = 60
"""Values at which an end is looked for, at most."""

_EVEN = (2.0, 8.0)
"""Losses at the ends of a Wald interval that are no longer near 3.84.  Of 200 people, 12% of them
of the event, behind k-RR of 0.75 seven of ten intercepts are outside; of 2,000 none."""

_PART = 1e-7
"""An end is known to this part of half a Wald interval."""

_HIGHER, _JUMP = 1e-4, 1e-3
"""A loss that falls by more on the way out, or passes over this part of the limit, is that of
another maximum."""


def uneven(fit: Fit) -> list[int]:
    """Coefficients whose Wald interval is not to be trusted, as near a prevalence of 0 or 1.

    At one of its ends, the others moving along as they are correlated, twice the log-likelihood has
    fallen by less than 2 or by more than 8 instead of 3.84.
    """
    found = []
    for place, row in enumerate(fit.back[: fit.model.head]):
        variance = float(row @ fit.bread @ row)
        if fit.signs[place] == 0 and variance > 0:
            step = 1.96 * fit.bread @ row / np.sqrt(variance)
            ends = [fit.model.derivatives(fit.theta + sign * step)[0] for sign in (-1, 1)]
            losses = 2 * (fit.maximum.value - np.array(ends))
            if not (losses.min() >= _EVEN[0] and losses.max() <= _EVEN[1]):
                found.append(place)
    return found


def ratio_statistic(fit: Fit, place: int) -> float:
    """Twice the log-likelihood that a coefficient of 0 loses."""
    return max(0.0, _profile_loss(fit, fit.back[place])(0.0))


def profile_intervals(fit: Fit, level: float, places: Sequence[int] | None = None) -> Floats:
    """(places, 2) all values of each parameter that a likelihood-ratio test does not reject.

    For a value the likelihood is maximized with the parameter held there; the interval ends where
    twice the loss reaches the quantile of chi-squared on one degree of freedom.  An end that is not
    reached is infinite, and so is one on whose way the searches come to another maximum: nothing
    is rejected there for sure.  An own parameter is followed on its inner scale.
    Source: Venzon and Moolgavkar (1988); here by secants over searches.
    """
    limit = float(scipy.special.chdtri(1, 1 - level))
    places = range(len(fit.back)) if places is None else places
    return np.array([_profile_ends(fit, place, limit) for place in places]).reshape(-1, 2)


def _profile_ends(fit: Fit, place: int, limit: float) -> list[float]:
    row, own = fit.back[place], place - fit.own.start
    variance = float(row @ fit.bread @ row)
    if fit.signs[place] == 0 and 0 < variance < np.inf:
        half = np.sqrt(variance * limit)
    else:  # there is no standard error to start from: one of a predictor's
        half = 1 / fit.model.furthest(np.linalg.solve(fit.back, np.eye(len(row))[place]))
    loss, best = _profile_loss(fit, row), float(row @ fit.theta)
    ends = [
        sign * np.inf if fit.signs[place] == sign else profile_end(loss, best, sign * half, limit)
        for sign in (-1, 1)
    ]
    if 0 <= own < fit.model.outcome.own:
        for side, end in enumerate(ends):
            inner = fit.theta[fit.own].copy()
            inner[own] = np.clip(end, -700, 700)
            ends[side] = float(fit.model.outcome.natural(inner)[0][own])
    return ends


def _profile_loss(fit: Fit, row: Floats) -> Callable[[float], float]:
    """Twice the log-likelihood lost with a parameter at a value, the others at their best."""
    inside = np.linalg.svd(row[None])[2][1:].T
    starts = {float(row @ fit.theta): fit.theta}

    def loss(value: float) -> float:
        near = min(starts, key=lambda known: abs(known - value))
        start = starts[near] + (value - near) * row / (row @ row)
        held = fit.model.maximize(start, inside, _STEPS)
        starts[value] = held.parameters
        return 2 * (fit.maximum.value - held.value)

    return functools.cache(loss)


def profile_end(loss: Callable[[float], float], best: float, half: float, limit: float) -> float:
    """Value at which the loss reaches the limit on the side of ``half``, which is near it.

    Infinite if it does not, or comes to another maximum, so that it falls or jumps.
    """
    inner, outer, low = best, best + half, -limit
    for _ in range(12):
        high = loss(outer) - limit
        if high < low - _HIGHER:
            break
        if high >= 0:
            found = scipy.optimize.brentq(
                lambda value: loss(value) - limit,
                inner,
                outer,
                xtol=_PART * abs(half),
                maxiter=_TRIALS,
                disp=False,
            )
            if abs(loss(found) - limit) > _JUMP * limit:
                break
            return float(found)
        inner, outer, low = outer, best + 1.7 * (outer - best), high
    return float(np.copysign(np.inf, half))
