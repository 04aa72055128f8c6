"""The posterior distribution of a proportion whose reports are binomial, by quadrature.

The count of a report is Bin(n, q + (p - q) pi), and the proportion pi has a beta prior on [0, 1].
The logit of pi has a smooth posterior density, whose tails fall exponentially whatever the prior,
so Gauss and Legendre's rule on intervals around the maximum gives nearly all digits.
Source: Winkler and Franklin (1979), for randomized response.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from rrstats._typing import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)

_DEVIATIONS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 14, 20, 40])
"""Distances from the maximum, in standard deviations, between which the rule is applied."""

_TAIL = 50.0
"""Logarithm of the part of the prior's tails that is left out."""

_BISECTIONS = 80
"""Steps to a quantile, from a range of logits of up to 10,000."""


@dataclass(frozen=True)
class BetaPosterior:
    """The posterior of a proportion.

    count, n : of the report.
    low, high : its probability for people without, and with, the attribute.
    a, b : parameters of the prior.
    """

    count: float
    n: float
    low: float
    high: float
    a: float
    b: float

    def _log_density(self, logit: Floats) -> Floats:
        """Of the logit, up to a constant."""
        rate = self.low + (self.high - self.low) * scipy.special.expit(logit)
        other = 1 - self.low + (self.low - self.high) * scipy.special.expit(logit)
        logs = scipy.special.xlogy(self.count, rate)
        logs = logs + scipy.special.xlogy(self.n - self.count, other)
        prior = self.a * scipy.special.log_expit(logit) + self.b * scipy.special.log_expit(-logit)
        return np.asarray(logs + prior)

    @cached_property
    def _edges(self) -> Floats:
        """Ends of the intervals of the logit, ascending."""
        naive = (self.count + self.a) / (self.n + self.a + self.b)
        rate = min(max(naive, min(self.low, self.high)), max(self.low, self.high))
        spread = np.sqrt(max(rate * (1 - rate), 1 / (self.n + 4)) / (self.n + 1))
        center = (rate - self.low) / (self.high - self.low)
        steps = _DEVIATIONS * spread / abs(self.high - self.low)
        points = np.concatenate([center - steps, center + steps])
        near = scipy.special.logit(points[(points > 0) & (points < 1)])
        # Twice as far each, until hardly anything of the prior is left.
        ends = [-_TAIL / self.a - 2.0, _TAIL / self.b + 2.0 + np.log1p(self.n)]
        ends[0] -= np.log1p(self.n)
        outward = 2.0 ** np.arange(-1, np.ceil(np.log2(max(-ends[0], ends[1]))))
        edges = np.concatenate([near, -outward, [0.0], outward])
        inside = edges[(edges > ends[0]) & (edges < ends[1])]
        return np.unique(np.concatenate([inside, ends]))

    @cached_property
    def _highest(self) -> float:
        """The largest logarithm of the density at the ends of the intervals."""
        return float(self._log_density(self._edges).max())

    def _mass(self, start: Floats, stop: Floats, power: int = 0) -> Floats:
        """Integrals from start to stop of the scaled density times a power of the proportion."""
        middle = (start + stop)[:, None] / 2
        half = (stop - start)[:, None] / 2
        logit = middle + half * _NODES
        density = np.exp(self._log_density(logit) - self._highest)
        values = density * scipy.special.expit(logit) ** power
        return np.asarray((values * half * _WEIGHTS).sum(axis=1))

    @cached_property
    def _masses(self) -> Floats:
        """Masses of the intervals."""
        return self._mass(self._edges[:-1], self._edges[1:])

    def _moment(self, power: int) -> float:
        moments = self._mass(self._edges[:-1], self._edges[1:], power)
        return float(moments.sum() / self._masses.sum())

    @property
    def mean(self) -> float:
        """The posterior mean."""
        return self._moment(1)

    @property
    def std(self) -> float:
        """The posterior standard deviation."""
        return float(np.sqrt(max(self._moment(2) - self.mean**2, 0.0)))

    def quantile(self, probability: float) -> float:
        """The proportion below which the posterior has a probability."""
        target = probability * self._masses.sum()
        below = np.concatenate([[0.0], np.cumsum(self._masses)])
        place = int(np.searchsorted(below, target)) - 1
        place = min(max(place, 0), len(self._masses) - 1)
        start = self._edges[place : place + 1]
        low = start
        high = self._edges[place + 1 : place + 2]
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            is_below = below[place] + self._mass(start, middle) < target
            low = np.where(is_below, middle, low)
            high = np.where(is_below, high, middle)
        return float(scipy.special.expit((low + high) / 2)[0])
