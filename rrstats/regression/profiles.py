"""Profile likelihood intervals: all values of one coefficient that the data do not reject.

For a value b the likelihood is climbed with the coefficient held at b; the interval ends where
twice the loss reaches the quantile of chi-squared on one degree of freedom.  An end that is not
reached is infinite, and so is one on whose way the climbs come to another maximum: nothing is
rejected there for sure.
Source: Venzon and Moolgavkar (1988); here by secants over climbs.
"""

from __future__ import annotations

import numpy as np
import scipy

from rrstats._typing import Floats
from rrstats.regression.fitting import Fit, Problem, fit, known

__all__ = ["intervals"]


_STEPS = 60
"""Steps of one climb: they start near."""

_HALVINGS = 40
"""Values at which an end is looked for, at most."""

_PART, _NEAR = 1e-4, 1e-7
"""An end is known to this part of half a Wald interval; or its loss to this part of the limit."""

_HIGHER = 1e-4
"""A loss that falls by more on the way out is that of another maximum."""

_JUMP = 0.05
"""So is one that jumps by this part of the limit."""


def intervals(problem: Problem, found: Fit, back: Floats, endless: Floats, level: float) -> Floats:
    """(p, 2) the ends for each coefficient.

    back : (p, parameters) the slopes of the coefficients by the inner parameters.  A class share
        is followed on the scale of its logit, on which it is a coordinate.
    endless : (p,) the sign of those that are infinite, NaN for those that nothing is known of.
    """
    limit = float(scipy.special.chdtri(1, 1 - level))
    spread, _ = known(problem.at(found.theta, ["observed"]).sums["observed"], found)
    q = problem.law.predictors * problem.p
    ends = np.empty((len(back), 2))
    for place in range(len(back)):
        unit = np.eye(len(back))[place]
        row = back[place] if place < q else unit
        variance = float(row @ spread @ row)
        if endless[place] == 0 and 0 < variance < np.inf:
            half = np.sqrt(variance * limit)
        else:  # there is no standard error to start from: one of a predictor's
            half = 1 / problem.furthest(np.linalg.solve(back, unit) if place < q else unit)
        line = _Line(problem, found, row)
        reached = [
            sign * np.inf if endless[place] == sign else line.end(sign, half, limit)
            for sign in (-1, 1)
        ]
        if place >= q:
            reached = [_share(problem, found, place, value) for value in reached]
        ends[place] = reached
    return ends


def _share(problem: Problem, found: Fit, place: int, value: float) -> float:
    """The share of a class whose inner parameter has some value."""
    q = problem.law.predictors * problem.p
    psi = found.theta[q:].copy()
    psi[place - q] = np.clip(value, -700, 700)
    return float(problem.outcome.shares(psi)[problem.outcome.free[place - q]])


class _Line:
    """The likelihood along one coefficient, the others at their best."""

    def __init__(self, problem: Problem, found: Fit, row: Floats) -> None:
        self.problem, self.found, self.row = problem, found, row
        self.length = float(np.linalg.norm(row))
        full = np.linalg.svd(row[None] / self.length)[2]
        self.inside = full[1:].T
        self.best = float(row @ found.theta)
        self.starts = {self.best: found.theta}

    def loss(self, value: float) -> float:
        """Twice the log-likelihood lost with the coefficient at a value."""
        near = min(self.starts, key=lambda known: abs(known - value))
        start = self.starts[near] + (value - near) * self.row / self.length**2
        if self.inside.shape[1]:
            held = fit(self.problem, start, self.inside, _STEPS)
            self.starts[value] = held.theta
            reached = held.log_likelihood
        else:
            reached = self.problem.at(start).log_likelihood
        return 2 * (self.found.log_likelihood - reached)

    def end(self, sign: int, half: float, limit: float) -> float:
        """Where the loss reaches the limit on one side; infinite where it does not.

        Infinite, too, where the climb comes to another maximum, so that the loss falls or jumps.
        """
        inner, outer, low = self.best, self.best + sign * half, -limit
        for _ in range(12):
            high = self.loss(outer) - limit
            if high < low - _HIGHER:
                break
            if high >= 0:
                found = self._between(inner, outer, low, high, limit, _PART * half)
                return sign * np.inf if found is None else found
            inner, outer, low = outer, self.best + 1.7 * (outer - self.best), high
        return sign * np.inf

    def _between(
        self, inner: float, outer: float, low: float, high: float, limit: float, within: float
    ) -> float | None:
        """Where the loss crosses the limit, by secants (Illinois); None where it jumps over it."""
        below, above, side = low, high, 0
        for _ in range(_HALVINGS):
            if abs(outer - inner) <= within:
                break
            share = below / (below - above)
            middle = inner + min(max(share, 0.01), 0.99) * (outer - inner)
            value = self.loss(middle) - limit
            if abs(value) <= _NEAR * limit:
                return middle
            if value > 0:
                outer, high, above = middle, value, value
                below, side = below / 2 if side == 1 else below, 1
            else:
                inner, low, below = middle, value, value
                above, side = above / 2 if side == -1 else above, -1
        if high - low > _JUMP * limit:
            return None
        return inner - low * (outer - inner) / (high - low) if high > low else outer
