"""Tests that several normal estimates may all have means of at least 0.

The statistic is the squared distance of the estimates from the nonnegative orthant, in the metric
of their covariance.  Under means of 0, the least favourable case, it is a mixture of chi-squared
distributions (chi-bar-squared); the weights are probabilities of faces of the orthant.
Sources: Kudo (1963); Perlman (1969) for the bound; Plackett (1954) for probabilities of orthants.
"""

from __future__ import annotations

from itertools import combinations
from math import asin, pi, sqrt

import numpy as np
import scipy

from rrstats._typing import Floats

MAX_EXACT = 5
"""Of more estimates the p-value is a bound: exact weights would need many nested integrals."""

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)
"""For the integral over correlations between 0 and their value."""


def distance_to_orthant(estimates: Floats, covariance: Floats) -> float:
    """Minimum of (e - x)' S^-1 (e - x) over x >= 0.

    >>> distance_to_orthant(np.array([-2.0, 1.0]), np.eye(2))
    4.0
    """
    root = np.linalg.cholesky(covariance)
    sides = scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True)
    return float(scipy.optimize.nnls(sides, sides @ estimates)[1] ** 2)


def orthant_p_value(distance: float, covariance: Floats) -> float:
    """P(a distance at least as large) if all means are 0; of more than 5 estimates a bound.

    >>> round(orthant_p_value(2.70554, np.eye(1)), 4)
    0.05
    """
    size = len(covariance)
    if distance <= 0:
        return 1.0
    tails = scipy.special.chdtrc(np.arange(1, size + 1), distance)
    if size > MAX_EXACT:
        return float(tails[-2:].mean())
    return float(face_probabilities(covariance)[:-1][::-1] @ tails)


def face_probabilities(covariance: Floats) -> Floats:
    """(size + 1,) P(so many means of the nearest point of the orthant are above 0).

    >>> face_probabilities(np.eye(2)).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    size = len(covariance)
    probabilities = np.zeros(size + 1)
    for positive in range(size + 1):
        for face in combinations(range(size), positive):
            zero = [place for place in range(size) if place not in face]
            multipliers = np.asarray(np.linalg.inv(covariance[np.ix_(zero, zero)]), np.float64)
            on_face = _given_zero(covariance, list(face), zero)
            probabilities[positive] += prob_positive(on_face) * prob_positive(multipliers)
    return probabilities


def prob_positive(covariance: Floats) -> float:
    """P(all of some normal variables of mean 0 are positive).

    >>> round(prob_positive(np.array([[1, 0.5], [0.5, 1]])), 12)
    0.333333333333
    """
    size = len(covariance)
    scale = np.sqrt(np.diagonal(covariance))
    correlation = np.clip(covariance / np.outer(scale, scale), -1, 1)
    pairs = list(combinations(range(size), 2))
    if size <= 3:
        angles = sum(asin(correlation[pair]) for pair in pairs)
        return float(2.0**-size * (1 + 2 * angles / pi))
    total = 0.0
    for node, weight in zip((_NODES + 1) / 2, _NODE_WEIGHTS / 2, strict=True):
        # Plackett's identity: the derivative by a correlation is a density times an orthant.
        between = node * correlation + (1 - node) * np.eye(size)
        for pair in pairs:
            rest = [place for place in range(size) if place not in pair]
            density = 1 / (2 * pi * sqrt(1 - between[pair] ** 2))
            inner = prob_positive(_given_zero(between, rest, list(pair)))
            total += weight * correlation[pair] * density * inner
    return float(2.0**-size + total)


def _given_zero(covariance: Floats, places: list[int], zero: list[int]) -> Floats:
    """The covariance of some variables, if others are 0."""
    across = covariance[np.ix_(places, zero)]
    slopes = np.linalg.solve(covariance[np.ix_(zero, zero)], across.T)
    return np.asarray(covariance[np.ix_(places, places)] - across @ slopes)
