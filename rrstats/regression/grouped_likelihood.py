"""Likelihood of reports of people in groups whose intercepts differ: integrals by quadrature.

The intercept of a group is s u with u standard normal, and its people are independent given u:

    L_g(beta, s) = integral of prod_i f_i(x_i beta + s u) phi(u) du,

with f_i the probability of the report of person i.  The integral is adaptive Gauss-Hermite
quadrature: nodes lie around the mean of u given the reports of the group, in units of its standard
deviation.  With nodes that stay where they are the log-likelihood is smooth and has an exact
Hessian (Louis 1982), so the search climbs on fixed nodes, moves them, and climbs again until
nothing moves.
The likelihood is even in s: an estimate of 0 is an ordinary maximum.
Sources: Naylor and Smith (1982); Pinheiro and Bates (1995); Louis (1982).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from rrstats._cached import cached_property
from rrstats._typing import Floats, Indices
from rrstats.inference.optimize import Derivatives, Maximum, maximize
from rrstats.regression.outcomes import ReportedOutcome, Terms

_POSTERIOR_POINTS = 25
"""Nodes that say where an intercept may be, before evenly spaced ones are laid there."""

_BLOCK_SIZE = 1 << 14
"""Rows times nodes that are worked on at once, in whole groups, which mostly stay in cache."""


@dataclass(frozen=True)
class _ClimbConstants:
    """Constants of the search for a maximum.

    points : nodes of the integral of a group; with 25 estimates are exact to about eight digits,
        with one, Laplace's approximation, they are up to 43% off.
    first_points, first_steps : nodes and steps of the first climb, which need not be exact.
    steps, max_climbs : of one climb on fixed nodes, and climbs until the search has failed.
    moved : move of a predictor in a climb below which its nodes were in the right places.
    mode_steps, mode_tolerance : of Newton's search for the modes of all groups, and its last step.
    max_mode_step : of the standardized intercept.
    least_curvature : at a mode, so that no grid is wider than 1.4 standard deviations.
    """

    points: int = 25
    first_points: int = 9
    first_steps: int = 8
    steps: int = 12
    max_climbs: int = 40
    moved: float = 1e-4
    mode_steps: int = 60
    mode_tolerance: float = 1e-11
    max_mode_step: float = 1.5
    least_curvature: float = 0.5


_CLIMB = _ClimbConstants()


class Nodes(NamedTuple):
    """Values of the standardized intercept of each group.

    values : (groups, nodes).  log_weights : (groups, nodes) of integrals over its distribution.
    """

    values: Floats
    log_weights: Floats


class GroupPosterior(NamedTuple):
    """The standardized intercept of each group given its reports.

    values, weights : (groups, nodes) where it may be, with probabilities.
    scores : (groups, nodes, p + 1) derivatives of the log-density of the reports there.
    """

    values: Floats
    weights: Floats
    scores: Floats


class _GroupBlock(NamedTuple):
    """People of some groups.

    firsts : (groups,) the place of the first row of each.  codes : (rows,) the group of each row.
    """

    rows: slice
    groups: slice
    firsts: Indices
    codes: Indices


def nodes_at(centers: Floats, scales: Floats, points: int) -> Nodes:
    """Nodes of Gauss-Hermite quadrature around centers, (groups,), for a standard normal."""
    places, weights = np.polynomial.hermite_e.hermegauss(points)
    values = centers[:, None] + scales[:, None] * places
    log_weights = np.log(weights) + (places**2 - values**2 - np.log(2 * np.pi)) / 2
    return Nodes(values, log_weights + np.log(scales)[:, None])


_EVEN_PLACES = np.linspace(-9.0, 9.0, 55)
"""Where predictions look at an intercept, in standard deviations: also a skewed tail of it."""


def even_nodes(centers: Floats, scales: Floats) -> Nodes:
    """Evenly spaced nodes around centers, (groups,), of which quantiles can be taken."""
    values = centers[:, None] + scales[:, None] * _EVEN_PLACES
    steps = scales * (_EVEN_PLACES[1] - _EVEN_PLACES[0])
    log_weights = np.log(steps)[:, None] - (values**2 + np.log(2 * np.pi)) / 2
    return Nodes(values, log_weights)


@dataclass(frozen=True, eq=False)
class GroupedLikelihood:
    """People in groups, sorted by group; parameters are p coefficients and s.

    outcome : of two categories, without ancillary parameters.
    design : (rows, p).  weights : (rows,) how many people a row stands for.
    firsts : (groups,) the first row of each group.
    offset : (rows,) added to the predictor, or None.
    points : nodes of the integral of a group.
    """

    outcome: ReportedOutcome
    design: Floats
    weights: Floats
    firsts: Indices
    offset: Floats | None
    points: int = _CLIMB.points

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.design)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.firsts)

    @property
    def columns(self) -> int:
        """p, the number of coefficients."""
        return int(self.design.shape[1])

    @cached_property
    def codes(self) -> Indices:
        """(rows,) the group of each row."""
        sizes = np.diff(self.firsts, append=self.rows)
        return np.repeat(np.arange(self.groups), sizes)

    def blocks(self, points: int) -> Iterator[_GroupBlock]:
        """Whole groups, as many as stay in cache, at least one."""
        most = max(_BLOCK_SIZE // points, 1)
        ends = np.append(self.firsts[1:], self.rows)
        start = 0
        while start < self.groups:
            first = int(self.firsts[start])
            stop = max(int(np.searchsorted(ends, first + most, side="right")), start + 1)
            rows = slice(first, int(ends[stop - 1]))
            codes = self.codes[rows] - start
            yield _GroupBlock(rows, slice(start, stop), self.firsts[start:stop] - first, codes)
            start = stop

    def fixed(self, theta: Floats) -> Floats:
        """(rows,) the predictor of the middle group."""
        eta = self.design @ theta[:-1]
        return np.asarray(eta if self.offset is None else eta + self.offset)

    def furthest(self, step: Floats) -> float:
        """The largest move of a predictor, or of the intercepts' deviation, by a step."""
        moves = self.design @ step[:-1]
        return max(float(np.abs(moves).max(initial=0.0)), abs(float(step[-1])))

    def _terms(self, rows: slice, eta: Floats) -> Terms:
        """Terms of the outcome at (nodes, rows) predictors."""
        return self.outcome.terms(rows, eta[None], np.empty(0))

    # -- the nodes --------------------------------------------------------------------------

    def modes(self, theta: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
        """(groups,) modes of the standardized intercepts, and minus the second derivatives there.

        Newton's steps, halved until the density rises: it may have several modes.
        """
        s = theta[-1]
        fixed = self.fixed(theta)
        modes = np.zeros(self.groups) if start is None else start.copy()

        def expanded(u: Floats) -> tuple[Floats, Floats, Floats]:
            terms = self._terms(slice(None), (fixed + s * u[self.codes])[None])
            sums = [
                np.add.reduceat(each * self.weights, self.firsts)
                for each in (terms.log[0], terms.slopes[0, 0], terms.log_curves()[0, 0, 0])
            ]
            return sums[0] - u**2 / 2, s * sums[1] - u, 1 - s**2 * sums[2]

        values, slopes, curvatures = expanded(modes)
        damping = np.ones(self.groups)
        for _ in range(_CLIMB.mode_steps):
            # where the density is no hill, the prior's curvature
            steps = slopes / np.where(curvatures > _CLIMB.least_curvature, curvatures, 1.0)
            steps = damping * np.clip(steps, -_CLIMB.max_mode_step, _CLIMB.max_mode_step)
            if np.abs(steps).max(initial=0.0) < _CLIMB.mode_tolerance:
                break
            trial = expanded(modes + steps)
            rises = trial[0] >= values - 1e-13 * (1 + np.abs(values))
            modes = np.where(rises, modes + steps, modes)
            values, slopes, curvatures = (
                np.where(rises, new, old)
                for new, old in zip(trial, (values, slopes, curvatures), strict=True)
            )
            damping = np.where(rises, np.minimum(2 * damping, 1.0), damping / 4)
        return modes, curvatures

    def adapted(self, theta: Floats, points: int) -> Nodes:
        """Nodes around the means of the intercepts given the reports, at some parameters."""
        return nodes_at(*self._centered(theta, points), points)

    def _centered(self, theta: Floats, points: int) -> tuple[Floats, Floats]:
        """(groups,) means and standard deviations of the intercepts given the reports."""
        if theta[-1] == 0:
            return np.zeros(self.groups), np.ones(self.groups)
        modes, curvatures = self.modes(theta)
        scales = 1 / np.sqrt(np.maximum(curvatures, _CLIMB.least_curvature))
        nodes = nodes_at(modes, scales, points)
        weights = np.exp(self._log_posterior(theta, nodes)[1])
        means = (weights * nodes.values).sum(axis=1)
        variances = (weights * (nodes.values - means[:, None]) ** 2).sum(axis=1)
        return means, np.sqrt(variances)

    def _log_posterior(self, theta: Floats, nodes: Nodes) -> tuple[Floats, Floats]:
        """(groups,) log-likelihoods, and (groups, nodes) logarithms of posterior weights."""
        fixed = self.fixed(theta)
        parts = []
        for block in self.blocks(nodes.values.shape[1]):
            u = np.take(nodes.values[block.groups].T, block.codes, axis=1)
            eta = fixed[block.rows] + theta[-1] * u
            log = self.outcome.log_density(block.rows, eta[None]) * self.weights[block.rows]
            parts.append(np.add.reduceat(log, block.firsts, axis=1).T)
        joint = np.concatenate(parts) + nodes.log_weights
        totals = scipy.special.logsumexp(joint, axis=1)
        return totals, joint - totals[:, None]

    # -- the likelihood ---------------------------------------------------------------------

    def posterior(self, theta: Floats) -> GroupPosterior:
        """The intercepts of the groups given their reports, on evenly spaced nodes."""
        nodes = even_nodes(*self._centered(theta, _POSTERIOR_POINTS))
        points = nodes.values.shape[1]
        weights = np.exp(self._log_posterior(theta, nodes)[1])
        fixed = self.fixed(theta)
        scores = []
        for block in self.blocks(points):
            u = nodes.values[block.groups].T
            by_row = np.take(u, block.codes, axis=1)
            terms = self._terms(block.rows, fixed[block.rows] + theta[-1] * by_row)
            scores.append(self._scores(block, u, terms.slopes[0]).swapaxes(0, 1))
        return GroupPosterior(nodes.values, weights, np.concatenate(scores))

    def _scores(self, block: _GroupBlock, u: Floats, slopes: Floats) -> Floats:
        """(nodes, groups, p + 1) gradients of the log-densities of groups, given their intercepts.

        u : (nodes, groups).  slopes : (nodes, rows) of the logarithms of the rows.
        """
        slopes = slopes * self.weights[block.rows]
        scores = np.empty((*u.shape, self.columns + 1))
        for place in range(self.columns):
            column = self.design[block.rows, place]
            scores[:, :, place] = np.add.reduceat(slopes * column, block.firsts, axis=1)
        scores[:, :, -1] = u * np.add.reduceat(slopes, block.firsts, axis=1)
        return scores

    def derivatives(self, theta: Floats, nodes: Nodes) -> Derivatives:
        """Log-likelihood, gradient and Hessian by an integral on fixed nodes.

        Hessian of a group: E[h + s s'] - E[s] E[s]', with s and h the derivatives given the
        intercept, and expectations given the reports.
        """
        s = theta[-1]
        fixed = self.fixed(theta)
        total = 0.0
        gradient = np.zeros(len(theta))
        hessian = np.zeros((len(theta), len(theta)))
        for block in self.blocks(nodes.values.shape[1]):
            weights = self.weights[block.rows]
            u = nodes.values[block.groups].T
            u_by_row = np.take(u, block.codes, axis=1)
            terms = self._terms(block.rows, fixed[block.rows] + s * u_by_row)
            joint = np.add.reduceat(terms.log * weights, block.firsts, axis=1)
            joint += nodes.log_weights[block.groups].T
            totals = scipy.special.logsumexp(joint, axis=0)
            total += float(totals.sum())
            with np.errstate(invalid="ignore"):
                posterior = np.exp(joint - totals)
            scores = self._scores(block, u, terms.slopes[0])
            means = np.einsum("qg,qgp->gp", posterior, scores)
            gradient += means.sum(axis=0)
            rooted = (scores * np.sqrt(posterior)[:, :, None]).reshape(-1, len(theta))
            hessian += rooted.T @ rooted - means.T @ means
            curves = terms.log_curves()[0, 0] * weights
            curves *= np.take(posterior, block.codes, axis=1)
            design = self.design[block.rows]
            hessian[:-1, :-1] += (design.T * curves.sum(axis=0)) @ design
            curves *= u_by_row
            cross = curves.sum(axis=0) @ design
            hessian[:-1, -1] += cross
            hessian[-1, :-1] += cross
            hessian[-1, -1] += float(np.vdot(curves, u_by_row))
        return total, gradient, (hessian + hessian.T) / 2

    # -- the maximum ------------------------------------------------------------------------

    def climb(self, start: Floats, limit: float, within: Floats | None = None) -> Maximum:
        """A local maximum; `endless` where the deviation of the intercepts passes the limit."""
        theta = start
        iterations = 0
        scale = 0.0
        for climb in range(_CLIMB.max_climbs):
            is_first = climb == 0
            points = min(self.points, _CLIMB.first_points) if is_first else self.points
            maximum = maximize(
                functools.partial(self.derivatives, nodes=self.adapted(theta, points)),
                theta,
                within=within,
                length=self.furthest,
                steps=_CLIMB.first_steps if is_first else _CLIMB.steps,
            )
            moved = self.furthest(maximum.parameters - theta)
            theta = maximum.parameters
            iterations += maximum.iterations
            scale = scale or maximum.scale
            maximum = replace(maximum, iterations=iterations, scale=scale)
            bounded = self._bounded(maximum, limit)
            is_settled = maximum.converged and moved < _CLIMB.moved and not is_first
            if is_settled or bounded.endless is not None:
                return bounded
        return replace(maximum, converged=False)

    def _bounded(self, maximum: Maximum, limit: float) -> Maximum:
        """The maximum; an endless one where the deviation is beyond the limit."""
        theta = maximum.parameters
        if abs(theta[-1]) <= limit:
            return maximum
        return replace(maximum, converged=True, endless=theta / np.linalg.norm(theta))

    def start_deviation(self, theta: Floats) -> float:
        """A first standard deviation of the intercepts, from the spread of the groups' scores.

        With T and -C the first and second derivatives of a group's log-likelihood by its intercept
        at 0, T has about the variance C + C^2 s^2.
        """
        terms = self._terms(slice(None), self.fixed(theta)[None])
        slopes = np.add.reduceat(terms.slopes[0, 0] * self.weights, self.firsts)
        curves = np.add.reduceat(terms.log_curves()[0, 0, 0] * self.weights, self.firsts)
        variance = (slopes**2 + curves).sum() / (curves**2).sum()
        return float(np.sqrt(max(variance, 0.0)))
