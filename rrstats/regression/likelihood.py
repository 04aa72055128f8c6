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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy

from rrstats._checks import check_one_of
from rrstats._typing import Floats, Indices
from rrstats.errors import ArgumentValueError
from rrstats.inference.optimize import (
    Derivatives,
    Maximum,
    distinct,
    maximize,
    split_information,
)
from rrstats.inference.sandwich import ClusterSandwich
from rrstats.regression.design_matrix import orthonormal, principal_axes
from rrstats.regression.outcomes import (
    MIN_LOG_DEVIATION,
    NormalOutcome,
    Outcome,
    ReportedOutcome,
    Terms,
)
from rrstats.regression.survey_people import (
    DESIGN_KINDS,
    DesignedPeople,
    check_design_kind,
    clustered_covariance,
    replicate_covariance,
)
from rrstats.regression.varying_columns import VaryingColumns

_BLOCK_SIZE = 1 << 13
"""Rows times classes that are worked on at once, which stay in cache."""

_MIN_BLOCK_ROWS = 64
"""Rows of a block at least, however many classes there are."""

_ROUNDING = 1e-12
"""Errors below this part of the largest outcome are rounding."""

_EXACT = "the outcome follows from its covariates without any error; leave out what determines it"

# -- the likelihood ----------------------------------------------------------------------------


class _Posterior(NamedTuple):
    """Classes of some rows given all that was seen of them.

    classes : (C, rows) P(class | reports, outcome, z).  prior : (C, rows) P(class | z).
    log_likelihoods : (rows,).  terms : of the outcome.
    """

    classes: Floats
    prior: Floats
    log_likelihoods: Floats
    terms: Terms


@dataclass(frozen=True, eq=False)
class Likelihood:
    """People, their columns and their reports.

    Parameters are one vector: b coefficients of each linear predictor, the ancillary
    ones of the outcome, then gamma of each class but the first.

    outcome : the distribution of the outcome.
    class_likelihoods : (rows, C) P(reports | class), each row up to a factor.
    same : (rows, s) columns of the design that do not depend on the class.
    varying : (C, rows, v) the columns that do.
    class_columns : (rows, g) columns of the model of the class.
    weights : (rows,) how many people a row stands for, times their weight.
    squares : (rows,) the same with the square of the weight.
    offset : (rows,) added to the predictors, or None.
    """

    outcome: Outcome
    class_likelihoods: Floats
    same: Floats
    varying: Floats
    class_columns: Floats
    weights: Floats
    squares: Floats
    offset: Floats | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.class_likelihoods)

    @property
    def classes(self) -> int:
        """C."""
        return int(self.class_likelihoods.shape[1])

    @property
    def columns(self) -> int:
        """b, the number of coefficients of a predictor."""
        return int(self.same.shape[1] + self.varying.shape[2])

    @property
    def head(self) -> int:
        """Number of coefficients of all predictors."""
        return self.outcome.predictors * self.columns

    @property
    def size(self) -> int:
        """Number of parameters."""
        gamma = (self.classes - 1) * int(self.class_columns.shape[1])
        return self.head + self.outcome.ancillary + gamma

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Beta (predictors, b), the ancillary ones, gamma (C - 1, g)."""
        cut = self.head + self.outcome.ancillary
        beta = theta[: self.head].reshape(self.outcome.predictors, self.columns)
        gamma = theta[cut:].reshape(self.classes - 1, self.class_columns.shape[1])
        return beta, theta[self.head : cut], gamma

    @property
    def reports(self) -> ReportedOutcome:
        """The outcome, of models of reports."""
        assert isinstance(self.outcome, ReportedOutcome)
        return self.outcome

    def supposed(self, cell: int) -> Likelihood:
        """The likelihood if all people had reported one cell of their sample."""
        cells = self.reports.first + cell
        return replace(self, outcome=replace(self.reports, cells=cells))

    def blocks(self) -> Iterator[slice]:
        """Slices of the rows; an empty one where there are none."""
        rows = max(_BLOCK_SIZE // self.classes, _MIN_BLOCK_ROWS)
        return (slice(start, start + rows) for start in range(0, self.rows or 1, rows))

    def design(self, rows: slice) -> Floats:
        """(C, rows, b) the design of each class."""
        if self.classes == 1 and not self.varying.shape[2]:
            return self.same[rows][None]
        varying = self.varying[:, rows]
        same = np.broadcast_to(self.same[rows], (len(varying), *self.same[rows].shape))
        return np.concatenate([same, varying], axis=2)

    def moved(self, theta: Floats, rows: slice) -> Floats:
        """(predictors, C, rows) the change of the linear predictors by a step."""
        return np.moveaxis(self.design(rows) @ self.split(theta)[0].T, 2, 0)

    def eta(self, theta: Floats, rows: slice) -> Floats:
        """(predictors, C, rows) the linear predictors."""
        eta = self.moved(theta, rows)
        return eta if self.offset is None else eta + self.offset[rows]

    def furthest(self, step: Floats) -> float:
        """The largest move of a predictor, ancillary parameter, or logit of a class by a step."""
        _, psi, gamma = self.split(step)
        moves = (psi, self.moved(step, slice(None)), self.class_columns @ gamma.T)
        return max(float(np.abs(move).max(initial=0.0)) for move in moves)

    def maximize(self, start: Floats, within: Floats | None = None, steps: int = 200) -> Maximum:
        """A local maximum of the log-likelihood."""
        return maximize(self.derivatives, start, within=within, length=self.furthest, steps=steps)

    def log_priors(self, theta: Floats, rows: slice) -> Floats:
        """(C, rows) the logarithm of P(class | z)."""
        gamma = self.split(theta)[2]
        z = self.class_columns[rows]
        logits = np.vstack([np.zeros(len(z)), gamma @ z.T])
        return np.asarray(scipy.special.log_softmax(logits, axis=0))

    def _posterior(self, theta: Floats, rows: slice) -> _Posterior:
        """Classes of some rows given all that was seen (Bayes)."""
        terms = self.outcome.terms(rows, self.eta(theta, rows), self.split(theta)[1])
        if self.classes == 1:
            ones = np.broadcast_to(1.0, terms.log.shape)
            return _Posterior(ones, ones, terms.log[0], terms)
        log_priors = self.log_priors(theta, rows)
        with np.errstate(divide="ignore"):
            joint = np.log(self.class_likelihoods[rows].T) + log_priors + terms.log
        log_likelihoods = scipy.special.logsumexp(joint, axis=0)
        with np.errstate(invalid="ignore"):
            classes = np.exp(joint - log_likelihoods)
        return _Posterior(classes, np.exp(log_priors), log_likelihoods, terms)

    def each(self, theta: Floats) -> Floats:
        """(rows,) the log-likelihoods."""
        blocks = (self._posterior(theta, rows) for rows in self.blocks())
        return np.concatenate([block.log_likelihoods for block in blocks])

    def posterior(self, theta: Floats) -> Floats:
        """(rows, C) P(class | reports, outcome, covariates)."""
        blocks = (self._posterior(theta, rows) for rows in self.blocks())
        return np.concatenate([block.classes.T for block in blocks])

    def scores(self, theta: Floats) -> Floats:
        """(rows, size) gradients of each row's log-likelihood, unweighted."""
        blocks = [self._scores(rows, self._posterior(theta, rows)) for rows in self.blocks()]
        return np.vstack(blocks)

    def _scores(self, rows: slice, posterior: _Posterior) -> Floats:
        """(rows, size) gradients of some rows: means over the classes."""
        slopes = posterior.terms.slopes * posterior.classes
        total = slopes.sum(axis=1)
        parts = []
        for a in range(self.outcome.predictors):
            parts.append(self.same[rows] * total[a][:, None])
            parts.append(np.einsum("cn,cnv->nv", slopes[a], self.varying[:, rows]))
        by_psi = total[self.outcome.predictors :].T
        residuals = (posterior.classes - posterior.prior)[1:].T
        by_gamma = residuals[:, :, None] * self.class_columns[rows][:, None]
        return np.hstack([*parts, by_psi, by_gamma.reshape(len(by_psi), -1)])

    def derivatives(self, theta: Floats, blocks: Iterable[Any] | None = None) -> Derivatives:
        """Log-likelihood, gradient and Hessian, of all rows or of some blocks.

        Hessian of a row: E[h + s s' | seen] - E[s | seen] E[s | seen]', with s and h the
        derivatives if the class were known.
        """
        total = 0.0
        gradient = np.zeros(self.size)
        hessian = np.zeros((self.size, self.size))
        for rows in self.blocks() if blocks is None else blocks:
            posterior = self._posterior(theta, rows)
            weighted = self.weights[rows] * posterior.log_likelihoods
            total += float(weighted.sum())  # in pairs: few digits lost
            if self.classes == 1:
                block_gradient, block_hessian = self._derivatives_of_one_class(
                    rows, posterior.terms
                )
            else:
                block_gradient, block_hessian = self._curvature(rows, posterior)
            gradient += block_gradient
            hessian += block_hessian
        return total, gradient, (hessian + hessian.T) / 2

    def _derivatives_of_one_class(self, rows: slice, terms: Terms) -> tuple[Floats, Floats]:
        """Gradient and Hessian of some rows, of one class: sums, without the scores of rows."""
        weight = self.weights[rows]
        slopes = terms.slopes[:, 0] * weight
        by_beta = slopes[: self.outcome.predictors] @ self.design(rows)[0]
        by_psi = slopes[self.outcome.predictors :].sum(axis=1)
        return np.append(by_beta, by_psi), self.gram(terms.log_curves() * weight, rows)

    def gram(self, weights: Floats, rows: slice) -> Floats:
        """Sums of products of columns: the block of coefficients and ancillary parameters.

        weights : (d, d, C, rows).
        """
        flat = self.design(rows).reshape(-1, self.columns)
        ones = np.ones((len(flat), 1))
        designs = [*[flat] * self.outcome.predictors, *[ones] * self.outcome.ancillary]
        weights = weights.reshape(len(designs), len(designs), -1)
        products = [
            [(left.T * weight) @ right for weight, right in zip(line, designs, strict=True)]
            for line, left in zip(weights, designs, strict=True)
        ]
        gram = np.zeros((self.size, self.size))
        cut = self.head + self.outcome.ancillary
        gram[:cut, :cut] = np.block(products)
        return gram

    def known_classes(self, theta: Floats) -> Floats:
        """Information on coefficients and ancillary parameters, had all seen the class."""
        total = np.zeros((self.size, self.size))
        for rows in self.blocks():
            posterior = self._posterior(theta, rows)
            curves = posterior.terms.log_curves() * posterior.classes * self.weights[rows]
            total -= self.gram(curves, rows)
        cut = self.head + self.outcome.ancillary
        return total[:cut, :cut]

    def expected(self, theta: Floats, parts: Sequence[Any] = (slice(None),)) -> Floats:
        """(parts, size, size) expected information of parts of the rows, of one class."""
        totals = np.zeros((len(parts), self.size, self.size))
        for cell in range(self.reports.width):
            supposed = self.supposed(cell)
            scores = supposed.scores(theta)
            weighted = scores * (self.weights * np.exp(supposed.each(theta)))[:, None]
            for total, rows in zip(totals, parts, strict=True):
                total += weighted[rows].T @ scores[rows]
        return totals

    def _curvature(self, rows: slice, posterior: _Posterior) -> tuple[Floats, Floats]:
        """Gradient and Hessian of some rows, of several classes (Louis 1982)."""
        weight = self.weights[rows]
        z = self.class_columns[rows]
        design = self.design(rows)
        cut = self.head + self.outcome.ancillary
        q = self.outcome.predictors
        g = z.shape[1]
        classes = posterior.classes
        prior = posterior.prior
        terms = posterior.terms
        hessian = self.gram(terms.curves * weight * classes, rows)
        scores = self._scores(rows, posterior)
        outcome_scores = scores[:, :cut]
        hessian[:cut, :cut] -= outcome_scores.T @ (weight[:, None] * outcome_scores)
        for c in range(1, self.classes):
            gamma = slice(cut + (c - 1) * g, cut + c * g)
            slopes = terms.slopes[:, c]
            by_beta = [slopes[a][:, None] * design[c] for a in range(q)]
            deviations = np.hstack([*by_beta, slopes[q:].T]) - outcome_scores
            hessian[:cut, gamma] = (deviations * (weight * classes[c])[:, None]).T @ z
            hessian[gamma, :cut] = hessian[:cut, gamma].T
            curves = prior[c] * prior[1:] - classes[c] * classes[1:]
            curves[c - 1] += classes[c] - prior[c]
            hessian[gamma, cut:] = np.hstack([(z.T * curve) @ z for curve in curves * weight])
        return weight @ scores, hessian


# -- the maximum -------------------------------------------------------------------------------


KINDS = ("observed", "expected", "opg", "robust", *DESIGN_KINDS)
"""Covariances by name: inverse Hessian, inverse mean Hessian, inverse products of gradients, the
sandwiches of the first with the products of rows, of clusters and of clusters within strata, and
the spread of fits by replicate weights."""

_MAX_PARAMETERS = 500
"""Parameters of a fit: one step of 100,000 rows then takes about half a minute."""


@dataclass(frozen=True)
class _SearchConstants:
    """Constants of the search for the highest maximum, from several starts.

    climb_steps : of one climb at most; most take 5 to 40.
    max_steps, max_products : steps of all climbs of a fit, and products of columns in them, after
        which no climb is begun.
    single_start_rows : above so many rows one start is enough where there is one class.
    steeper : factors of the slopes of further starts.  Of 800 fits to pure noise with a maximum the
        first start missed it in 13, mostly by slopes that were too small; with these 3 of 680 are
        missed.
    gentler : moves of the linear predictor along an endless direction, to start from.
    max_axes, axis_step : where the first search is endless so many columns have starts of their
        own, so far both ways.
    class_distance : of classes at the last starts, in deviations of the outcome.
    max_logit : of starts, so that probabilities stay inside.
    equal_values : log-likelihoods that differ by less belong to one maximum of one class.
    equal_values_per_row : the same of mixtures, for each row.
    """

    climb_steps: int = 200
    max_steps: int = 5_000
    max_products: int = 20_000_000_000
    single_start_rows: int = 5000
    steeper: tuple[float, ...] = (3.0, 10.0)
    gentler: tuple[float, ...] = (1.0, 2.0)
    max_axes: int = 8
    axis_step: float = 2.0
    class_distance: float = 3.5
    max_logit: float = 8.0
    equal_values: float = 1e-6
    equal_values_per_row: float = 1e-6


_SEARCH = _SearchConstants()


@dataclass(frozen=True)
class _InformationConstants:
    """Constants that tell parameters with a finite maximum from others.

    plateau : information below this part of that at the start makes a maximum a plateau.
    singular : information below this part of that at the start is none.
    min_start : information at a start below which no step can be chosen.
    infinite_part : a parameter is not finite if it moves by more than this part with a direction
        without information.
    min_gain : of the log-likelihood by an infinite parameter over its value at the start; with
        less the parameter is not identified.
    """

    plateau: float = 1e-4
    singular: float = 1e-7
    min_start: float = 1e-100
    infinite_part: float = 1e-4
    min_gain: float = 1e-4


_INFORMATION = _InformationConstants()


@dataclass(frozen=True, eq=False)
class Fit:
    """Maximum of a likelihood.

    model : in columns of mean square 1.  maximum : of that.
    back : (size, size) from its parameters to coefficients in the units and order of the user.
    bread : (size, size) inverse information, 0 in directions without information.
    unknown : (size, d) directions without information; mostly d = 0.
    signs : (size,) sign of each infinite parameter of the user: 1, -1, 0 if finite, NaN if not
        identified.
    edge : gain of the log-likelihood where probabilities are 0 or 1, over the maximum.
    stopped : steps after which the search ended before all climbs were begun; mostly 0.
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
    def ancillary(self) -> slice:
        """The places of the outcome's ancillary parameters, which are natural ones for the user."""
        return slice(self.model.head, self.model.head + self.model.outcome.ancillary)

    @property
    def estimates(self) -> Floats:
        """(size,) parameters of the user, infinite or NaN where they have no maximum."""
        estimates = self.reached
        estimates[self.ancillary] = self.model.outcome.natural(self.theta[self.ancillary])[0]
        has_no_maximum = self.signs != 0
        has_no_maximum[self.ancillary] = False
        with np.errstate(invalid="ignore"):
            return np.where(has_no_maximum, self.signs * np.inf, estimates)

    @property
    def reached(self) -> Floats:
        """(size,) coefficients where the search ended: finite, also on the way to infinity."""
        return self.back @ self.theta

    def reordered(self, order: Indices) -> Fit:
        """The fit with the user's parameters in another order; none is ancillary."""
        return replace(self, back=self.back[order], signs=self.signs[order])

    @property
    def slopes(self) -> Floats:
        """(size, size) slopes of the user's parameters in theta."""
        slopes = self.back.copy()
        slopes[self.ancillary, self.ancillary] = self.model.outcome.natural(
            self.theta[self.ancillary]
        )[1]
        return slopes

    def natural(self, inner: Floats) -> Floats:
        """Covariance of the user's parameters from that of theta; NaN if without a maximum."""
        slopes = self.slopes
        covariance = slopes @ inner @ slopes.T
        has_no_maximum = self.signs != 0
        covariance[has_no_maximum] = np.nan
        covariance[:, has_no_maximum] = np.nan
        return np.asarray(covariance)

    def covariance(self, kind: str, data: DesignedPeople) -> tuple[Floats, ClusterSandwich | None]:
        """(size, size) covariance of theta by name; raises for kinds that do not apply.

        Second, the sandwich of few clusters that it is of.
        """
        self._check_kind(kind, data)
        if kind in ("clustered", "linearized"):
            return self._design_covariance(kind, data)
        return self._covariance(kind, data), None

    def _design_covariance(
        self, kind: str, data: DesignedPeople
    ) -> tuple[Floats, ClusterSandwich | None]:
        """The covariance of people in clusters or strata.

        CR2 has the expected information of the clusters, the working model; linearized ones the
        observed one, as their bread.
        """
        scores = self.model.scores(self.theta) * self.model.weights[:, None]
        is_expected = kind == "clustered"
        informations = partial(self._informations, expected=is_expected)
        inverse = self._inverse if is_expected else None
        return clustered_covariance(
            kind, scores, data, bread=self.bread, information=informations, inverse=inverse
        )

    def _inverse(self, information: Floats) -> Floats:
        """The inverse of a (size, size) information, without directions that have none."""
        least = _INFORMATION.singular * self.maximum.scale if self.unknown.size else 0.0
        return split_information(information, least)[0]

    def _informations(self, clusters: list[Indices], *, expected: bool) -> Floats:
        """(G, size, size) information of clusters; with several classes always the observed."""
        model = self.model
        if expected and model.classes == 1 and model.outcome.has_cells:
            return model.expected(self.theta, clusters)
        blocks = [np.array_split(rows, len(rows) // _BLOCK_SIZE + 1) for rows in clusters]
        informations = np.array([-model.derivatives(self.theta, each)[2] for each in blocks])
        if isinstance(model.outcome, NormalOutcome) and model.classes == 1:
            # the deviation of normal errors tells nothing about their mean
            is_own = np.zeros(model.size, dtype=np.bool_)
            is_own[self.ancillary] = True
            informations[:, is_own[:, None] != is_own] = 0.0
        return informations

    def _covariance(self, kind: str, data: DesignedPeople) -> Floats:
        """The covariance of a kind without clusters."""
        if kind == "observed":
            return self.bread
        model = self.model
        if kind == "expected":
            return self._inverse(model.expected(self.theta)[0])
        if kind == "replicates":
            return replicate_covariance(data, self.theta, self._again)
        scores = model.scores(self.theta)
        if kind == "robust":
            return self.bread @ ((scores.T * model.squares) @ scores) @ self.bread
        return self._inverse((scores.T * model.weights) @ scores)

    def _check_kind(self, kind: str, data: DesignedPeople) -> None:
        """Raise for covariances that do not apply to these people."""
        check_one_of(kind, "vcov", KINDS)
        model = self.model
        problem = ""
        if data.weighted and kind not in ("robust", *DESIGN_KINDS):
            problem = (
                "takes weights for numbers of people; with probability weights use 'robust' or "
                "'clustered', and give counts of equal rows as frequencies="
            )
        elif kind == "expected" and (model.classes > 1 or not model.outcome.has_cells):
            problem = "needs one cell a report; use 'observed'"
        if problem:
            raise ArgumentValueError(f"vcov {kind!r} {problem}")
        check_design_kind(kind, data)

    def _again(self, weights: Floats) -> Floats | None:
        """Parameters at the maximum by other weights; None if it is not finite."""
        model = replace(self.model, weights=weights, squares=weights**2)
        maximum = model.maximize(self.theta, None, _SEARCH.climb_steps)
        is_finite = maximum.converged and maximum.endless is None
        return maximum.parameters if is_finite else None


def check_columns(
    same: Floats, varying: VaryingColumns, names: Sequence[str], parameters: int
) -> None:
    """Raise for columns that follow from others over all rows and profiles, and for few rows."""
    principal_axes(varying.triangles(same), names, len(same))
    size = max(parameters, len(names))
    if len(same) <= size:
        raise ArgumentValueError(f"{len(same)} rows cannot tell {size} parameters apart")


def check_size(parameters: int, source: str) -> None:
    """Raise for more parameters than a fit may have; source : their cause, for the error."""
    if parameters > _MAX_PARAMETERS:
        raise ArgumentValueError(
            f"a regression may have at most {_MAX_PARAMETERS} parameters, found {parameters} or "
            f"more ({source}); merge categories or levels, or leave covariates out"
        )


class Search:
    """Climbs of one fit, which share a bounded number of steps.

    A climb that is begun may take all steps of a climb, so that the first always ends by itself.
    """

    def __init__(self, model: Likelihood) -> None:
        products = model.rows * model.classes * model.size**2
        self.model = model
        affordable = _SEARCH.max_products // max(products, 1)
        self.max_steps = int(np.clip(affordable, _SEARCH.climb_steps, _SEARCH.max_steps))
        self.steps = 0
        self.is_stopped = False

    def climb(self, start: Floats, within: Floats | None = None) -> Maximum | None:
        """The end of a climb; None where the steps of the fit are used up."""
        if self.steps >= self.max_steps:
            self.is_stopped = True
            return None
        maximum = self.model.maximize(start, within, _SEARCH.climb_steps)
        self.steps += maximum.iterations
        return maximum

    def climbs(self, starts: Iterable[Floats]) -> list[Maximum]:
        """The ends of climbs from several starts, as many as were begun."""
        return [maximum for maximum in map(self.climb, starts) if maximum is not None]


def fitted(
    model: Likelihood,
    names: Sequence[str],
    order: Sequence[int],
    class_column_names: Sequence[str] = (),
    *,
    starts: Callable[[Likelihood], list[Floats]] | None = None,
) -> Fit:
    """Maximize a likelihood.

    names : of the design's columns, as the model has them.  order : their places for the user.
    class_column_names : of the columns of the model of the class.
    starts : points from which several classes are searched, given the model in its inner columns.
    Raises ArgumentValueError for collinear columns and an outcome that has no error.
    """
    if model.classes > 1 or isinstance(model.outcome, NormalOutcome):
        check_columns(model.same, VaryingColumns.of(model.varying), names, model.size)
    standard, back = _standardized(model, names, order, class_column_names)
    search = Search(standard)
    edge = 0.0
    others: tuple[float, ...] = ()
    if model.classes == 1:
        maximum, edge = _best_of_one_class(search)
    else:
        climbs = search.climbs((starts or _starts)(standard))
        maximum, *lower = distinct(climbs, _SEARCH.equal_values_per_row * model.rows)
        others = tuple(other.value for other in lower)
    psi = standard.split(maximum.parameters)[1]
    if isinstance(model.outcome, NormalOutcome) and psi[0] < MIN_LOG_DEVIATION:
        raise ArgumentValueError(_EXACT)
    least = _INFORMATION.singular * maximum.scale if maximum.endless is not None else 0.0
    bread, unknown = split_information(-maximum.hessian, least)
    signs = _signs(search, maximum, back, unknown)
    has_information = maximum.scale >= _INFORMATION.min_start
    return Fit(
        model=standard,
        maximum=replace(maximum, converged=maximum.converged and has_information),
        back=back,
        bread=bread,
        unknown=unknown,
        signs=signs,
        edge=edge,
        others=others,
        stopped=search.steps if search.is_stopped else 0,
    )


def _standardized(
    model: Likelihood, names: Sequence[str], order: Sequence[int], class_column_names: Sequence[str]
) -> tuple[Likelihood, Floats]:
    """The likelihood in columns of mean square 1, and the matrix `Fit.back`."""
    cut = model.same.shape[1]
    outcome = model.outcome
    same, same_back = orthonormal(model.same, names[:cut])
    class_columns, class_columns_back = orthonormal(model.class_columns, class_column_names)
    lengths = np.sqrt((model.varying**2).mean(axis=(0, 1)))
    beta_back = np.zeros((model.columns, model.columns))
    beta_back[:cut, :cut] = same_back
    beta_back[cut:, cut:] = np.diag(1 / lengths)
    if isinstance(outcome, NormalOutcome):
        residuals = outcome.y - same @ np.linalg.lstsq(same, outcome.y, rcond=None)[0]
        scale = float(np.sqrt(np.average(residuals**2, weights=model.weights)))
        if scale <= _ROUNDING * np.abs(outcome.y).max():
            raise ArgumentValueError(_EXACT)
        outcome = NormalOutcome(outcome.y, scale)
        beta_back *= scale
    standard = replace(
        model,
        outcome=outcome,
        same=same,
        varying=model.varying / lengths,
        class_columns=class_columns,
    )
    heads = [beta_back[np.argsort(order)]] * outcome.predictors
    gammas = [class_columns_back] * (model.classes - 1)
    return standard, scipy.linalg.block_diag(*heads, np.eye(outcome.ancillary), *gammas)


def start_of(model: Likelihood) -> Floats:
    """Starting parameters: one mean for all, or least squares for numbers; equal proportions."""
    eta, psi = model.outcome.start(model.weights)
    design = model.same
    level = np.broadcast_to(eta, (len(eta), model.rows))
    if model.offset is not None:
        level = level - model.offset
    beta = np.zeros((len(eta), model.columns))
    projection = np.linalg.lstsq(design.T @ design, design.T @ level.T, rcond=None)[0]
    beta[:, : design.shape[1]] = projection.T
    gamma = np.zeros(model.size - model.head - len(psi))
    return np.concatenate([beta.ravel(), psi, gamma])


def _best_of_one_class(search: Search) -> tuple[Maximum, float]:
    """The highest interior maximum above several fixed starts; at the edge only if there is none.

    Also the gain of the edge over it.  Where reports are few and noise is large there may be
    several maxima, and some with proportions of 0 and 1 alone, which follow the noise as a
    classifier would.  Of 1,000 fits to 300 reports the edge was seen to be the higher in 18; each
    time its probabilities lay farther from the true ones, by 0.17 on average and the interior ones
    by 0.13.  Other maxima, at the edge above all, may stay unseen.
    """
    model = search.model
    start = start_of(model)
    (first,) = search.climbs([start])
    has_one_maximum = model.size == 1 or _is_concave(model)
    if has_one_maximum or model.rows > _SEARCH.single_start_rows:
        return first, 0.0
    further = search.climbs(_further_starts(model, first, start))
    maxima = [first, *(maximum for maximum in further if maximum.converged)]
    interior = [maximum for maximum in maxima if _is_interior(maximum)]
    highest = _highest(interior or maxima)
    if not interior:
        return highest, 0.0
    edge = max(
        (maximum.value for maximum in maxima if maximum.endless is not None), default=-np.inf
    )
    return highest, max(0.0, edge - highest.value)


def _is_concave(model: Likelihood) -> bool:
    """The log-likelihood of one class is concave: errors are normal, or reports are true."""
    if isinstance(model.outcome, NormalOutcome):
        return True
    return bool((np.count_nonzero(model.reports.table, axis=1) <= 1).all())


def _is_interior(maximum: Maximum) -> bool:
    """A maximum in all directions, and no plateau on the way to the edge."""
    if maximum.endless is not None or not maximum.converged:
        return False
    least = np.linalg.eigvalsh(-maximum.hessian)[0]
    return bool(least > _INFORMATION.plateau * maximum.scale)


def _highest(maxima: Sequence[Maximum]) -> Maximum:
    """The first of the highest maxima, a converged one if there is one."""
    top = max(maximum.value for maximum in maxima)
    near = [maximum for maximum in maxima if maximum.value >= top - _SEARCH.equal_values]
    return next((maximum for maximum in near if maximum.converged), near[0])


def _further_starts(model: Likelihood, first: Maximum, start: Floats) -> list[Floats]:
    """Starts with steeper slopes; where the first is endless, with gentler and single ones."""
    step = first.parameters - start
    if first.endless is None:
        return [start + factor * step for factor in _SEARCH.steeper]
    axes = _SEARCH.axis_step * np.eye(model.size)[: min(model.head, _SEARCH.max_axes)]
    gentle = [start + move / model.furthest(step) * step for move in _SEARCH.gentler]
    return [*gentle, *(start + axes), *(start - axes)]


def _starts(model: Likelihood) -> list[Floats]:
    """Effects of the class by its expected value, none, the opposite, and large ones.

    Expected by its reports alone, all classes being alike (regression calibration, Carroll et al.
    2006, chapter 4).  Where classes are far apart the error is half as large.
    """
    expected = np.einsum("rc,crv->rv", model.class_likelihoods, model.varying)
    expected /= model.class_likelihoods.sum(axis=1, keepdims=True)
    single = _of_one_class(model, np.hstack([model.same, expected]))
    outcome = single.maximize(start_of(single), steps=30).parameters
    is_normal = isinstance(model.outcome, NormalOutcome)
    limit = np.inf if is_normal else _SEARCH.max_logit
    start = np.zeros(model.size)
    start[: len(outcome)] = np.clip(outcome, -limit, limit)
    # The ordinary columns take over what the class no longer explains.
    cut = model.same.shape[1]
    effects = model.split(start)[0][:, cut:]
    moved = np.linalg.lstsq(model.same, expected @ effects.T, rcond=None)[0].T
    starts = []
    for factor in (1.0, 0.0, -1.0):
        changed = start.copy()
        beta = model.split(changed)[0]
        beta[:, cut:] *= factor
        beta[:, :cut] += (1 - factor) * moved
        starts.append(changed)
    largest = float(np.abs(model.varying @ effects.T).max(initial=0.0))
    apart = _SEARCH.class_distance / (largest or _SEARCH.class_distance)
    for factor in (apart, -apart):
        changed = start.copy()
        beta = model.split(changed)[0]
        beta[:, cut:] *= factor
        if is_normal:
            changed[model.head : len(outcome)] -= np.log(2)  # half the deviation
        starts.append(changed)
    return starts


def _of_one_class(model: Likelihood, columns: Floats) -> Likelihood:
    """The likelihood of the outcome on other columns, without classes."""
    no_columns = np.empty((1, model.rows, 0))
    ones = np.ones((model.rows, 1))
    return replace(
        model, class_likelihoods=ones, same=columns, varying=no_columns, class_columns=no_columns[0]
    )


def _signs(search: Search, maximum: Maximum, back: Floats, unknown: Floats) -> Floats:
    """(size,) sign of each infinite parameter: 1, -1, 0 if finite, NaN if not identified.

    A parameter is not identified if the reports are as likely with it fixed at its start, or if
    the search ended before that was tried.
    """
    model = search.model
    if not unknown.size:
        return np.zeros(model.size)
    lengths = np.sqrt((back**2).sum(axis=1))
    moves = np.sqrt(((back @ unknown) ** 2).sum(axis=1))
    is_infinite = moves > _INFORMATION.infinite_part * lengths
    start = start_of(model)
    signs = np.sign(back @ unknown @ (unknown.T @ (maximum.parameters - start)))
    for place in np.flatnonzero(is_infinite):
        unit = back[place] / lengths[place]
        inside = np.linalg.svd(unit[None])[2][1:].T
        constrained = search.climb(start - unit * (unit @ start), inside)
        if constrained is None or maximum.value - constrained.value < _INFORMATION.min_gain:
            signs[place] = np.nan
    return np.where(is_infinite, signs, 0.0)


# -- nested models -------------------------------------------------------------------------------


_NESTED_TOLERANCE = 1e-6
"""Largest rest of a column of a nested model, in parts of its largest value."""


def check_nested(large: Fit, small: Fit, advice: str) -> None:
    """Raise where one is no special case of the other, or has no chi-squared distribution."""
    full = large.model
    nested = small.model
    problem = ""
    if not _have_same_reports(full, nested):
        problem = "must be of the same reports; of a privatized covariate itself use wald_test"
    elif not _have_same_link(full, nested):
        problem = "must have the same link and the same offset"
    elif full.size == nested.size or not _is_nested(full, nested):
        problem = f"must be nested, one a special case of the other; {advice}"
    elif full.classes > 1 and (large.unknown.size or small.unknown.size):
        problem = "must have finite parameters, and some have none; leave covariates out"
    if problem:
        raise ArgumentValueError(f"the two fits of a likelihood-ratio test {problem}")


def _have_same_reports(full: Likelihood, nested: Likelihood) -> bool:
    """Both models are of the same people, outcomes and reports."""
    if type(full.outcome) is not type(nested.outcome):
        return False
    pairs = [
        (full.class_likelihoods, nested.class_likelihoods),
        (full.weights, nested.weights),
        *zip(full.outcome.observed, nested.outcome.observed, strict=True),
    ]
    return all(_equal(values, others) for values, others in pairs)


def _have_same_link(full: Likelihood, nested: Likelihood) -> bool:
    """Both models have the same family and offset."""
    same_family = full.outcome.family == nested.outcome.family
    return same_family and _equal(full.offset, nested.offset)


def _is_nested(full: Likelihood, nested: Likelihood) -> bool:
    """Predictors and columns of the nested model are combinations of those of the full one."""
    if nested.outcome.predictors > full.outcome.predictors:
        return False
    wide = np.concatenate(list(full.design(slice(None))))
    narrow = np.concatenate(list(nested.design(slice(None))))
    return _is_within(wide, narrow) and _is_within(full.class_columns, nested.class_columns)


def _is_within(wide: Floats, narrow: Floats) -> bool:
    """Columns are combinations of others."""
    rest = narrow - wide @ np.linalg.lstsq(wide.T @ wide, wide.T @ narrow, rcond=None)[0]
    largest = np.abs(narrow).max(axis=0)
    return bool((np.abs(rest).max(axis=0) <= _NESTED_TOLERANCE * largest).all())


def _equal(values: Any, others: Any) -> bool:
    """Arrays or sequences are equal, or both are None."""
    if values is None or others is None:
        return values is others
    return values is others or bool(np.array_equal(values, others))


# -- profile likelihood intervals --------------------------------------------------------------


@dataclass(frozen=True)
class _ProfileConstants:
    """Constants of profile likelihood intervals.

    climb_steps : of one constrained search, which starts near its maximum.
    max_trials : values at which the likelihood is maximized to find one end, at most.
    max_expansions, growth : of the distance from the estimate until the loss is above the limit.
    tolerance : of an end, in parts of half a Wald interval.
    max_fall, max_jump : a loss that falls by more on the way out, or passes over this part of the
        limit, is that of another maximum.
    max_log_deviation : ancillary parameters of ends, so that their natural scale is finite.
    min_loss, max_loss : at the ends of a Wald interval that is near a profile interval, where the
        loss is 3.84.  Of 200 people, 12% of them of the event, behind k-RR of 0.75 seven of ten
        intercepts are outside; of 2,000 none.
    """

    climb_steps: int = 60
    max_trials: int = 60
    max_expansions: int = 12
    growth: float = 1.7
    tolerance: float = 1e-7
    max_fall: float = 1e-4
    max_jump: float = 1e-3
    max_log_deviation: float = 700.0
    min_loss: float = 2.0
    max_loss: float = 8.0


_PROFILE = _ProfileConstants()


def uneven(fit: Fit, among: Iterable[int]) -> list[int]:
    """Coefficients whose Wald interval is not to be trusted, as near a proportion of 0 or 1.

    among : their places.
    At one of its ends, the others moving along as they are correlated, twice the log-likelihood has
    fallen by less than 2 or by more than 8 instead of 3.84.
    """
    places = []
    for place in among:
        row = fit.back[place]
        variance = float(row @ fit.bread @ row)
        if fit.signs[place] == 0 and variance > 0:
            step = 1.96 * fit.bread @ row / np.sqrt(variance)
            ends = [fit.model.derivatives(fit.theta + sign * step)[0] for sign in (-1, 1)]
            losses = 2 * (fit.maximum.value - np.array(ends))
            if not (losses.min() >= _PROFILE.min_loss and losses.max() <= _PROFILE.max_loss):
                places.append(place)
    return places


class ProfileLoss:
    """Twice the loss of log-likelihood with one parameter at a value, the others at their best.

    Maxima that were searched are kept, because the next search starts from the nearest of them.
    """

    def __init__(
        self, best: Maximum, value: float, search: Callable[[float, float, Floats], Maximum]
    ) -> None:
        """Start from the highest maximum.

        value : of the parameter there.
        search : the maximum at a value, from a value nearby and the parameters of its maximum.
        """
        self._best = best
        self._search = search
        self._maxima = {value: best}

    @classmethod
    def of_parameter(cls, fit: Fit, row: Floats) -> ProfileLoss:
        """The loss by the parameter that is the product of a row and those of the search."""
        inside = np.linalg.svd(row[None])[2][1:].T

        def search(value: float, nearest: float, parameters: Floats) -> Maximum:
            start = parameters + (value - nearest) * row / (row @ row)
            return fit.model.maximize(start, inside, _PROFILE.climb_steps)

        return cls(fit.maximum, float(row @ fit.theta), search)

    def __call__(self, value: float) -> float:
        """Twice the loss at a value."""
        if value not in self._maxima:
            nearest = min(self._maxima, key=lambda start: abs(start - value))
            start = self._maxima[nearest].parameters
            self._maxima[value] = self._search(value, nearest, start)
        return 2 * (self._best.value - self._maxima[value].value)


def ratio_statistic(fit: Fit, place: int) -> float:
    """Twice the loss of log-likelihood by a coefficient of 0."""
    return ProfileLoss.of_parameter(fit, fit.back[place])(0.0)


def profile_intervals(fit: Fit, level: float, places: Sequence[int] | None = None) -> Floats:
    """(places, 2) all values of each parameter that a likelihood-ratio test does not reject.

    For a value the likelihood is maximized with the parameter fixed there; the interval ends where
    twice the loss reaches the quantile of chi-squared on one degree of freedom.  An end that is not
    reached is infinite, and so is one on whose way the searches come to another maximum: nothing
    is rejected there for sure.  An ancillary parameter is followed on its inner scale.
    Source: Venzon and Moolgavkar (1988); here by secants over searches.
    """
    limit = float(scipy.special.chdtri(1, 1 - level))
    places = range(len(fit.back)) if places is None else places
    return np.array([_profile_ends(fit, place, limit) for place in places]).reshape(-1, 2)


def _profile_ends(fit: Fit, place: int, limit: float) -> list[float]:
    """Both ends of the profile likelihood interval of a parameter.

    Those of the outcome's ancillary parameters are on their natural scale.
    """
    row = fit.back[place]
    variance = float(row @ fit.bread @ row)
    if fit.signs[place] == 0 and 0 < variance < np.inf:
        half = np.sqrt(variance * limit)
    else:  # there is no standard error to start from: one of a predictor's
        half = 1 / fit.model.furthest(np.linalg.solve(fit.back, np.eye(len(row))[place]))
    loss = ProfileLoss.of_parameter(fit, row)
    estimate = float(row @ fit.theta)
    ends = []
    for sign in (-1, 1):
        if fit.signs[place] == sign:
            ends.append(sign * np.inf)
        else:
            ends.append(profile_end(loss, estimate, sign * half, limit))
    if fit.ancillary.start <= place < fit.ancillary.stop:
        return [_natural_end(fit, place - fit.ancillary.start, end) for end in ends]
    return ends


def _natural_end(fit: Fit, position: int, end: float) -> float:
    """An end of the interval of an ancillary parameter as users read it, others as estimated."""
    psi = fit.theta[fit.ancillary].copy()
    psi[position] = np.clip(end, -_PROFILE.max_log_deviation, _PROFILE.max_log_deviation)
    return float(fit.model.outcome.natural(psi)[0][position])


def profile_end(
    loss: Callable[[float], float], estimate: float, half: float, limit: float
) -> float:
    """Value at which the loss reaches the limit on the side of ``half``, which is near it.

    Infinite if it does not, or comes to another maximum, so that it falls or jumps.
    """

    def excess(value: float) -> float:
        return loss(value) - limit

    inner = estimate
    outer = estimate + half
    excess_before = -limit
    for _ in range(_PROFILE.max_expansions):
        outer_excess = excess(outer)
        if outer_excess < excess_before - _PROFILE.max_fall:
            break
        if outer_excess >= 0:
            end = scipy.optimize.brentq(
                excess,
                inner,
                outer,
                xtol=_PROFILE.tolerance * abs(half),
                maxiter=_PROFILE.max_trials,
                disp=False,
            )
            if abs(excess(end)) > _PROFILE.max_jump * limit:
                break
            return float(end)
        excess_before = outer_excess
        inner = outer
        outer = estimate + _PROFILE.growth * (outer - estimate)
    return float(np.copysign(np.inf, half))
