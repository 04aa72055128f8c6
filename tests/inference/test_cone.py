"""Chi-bar-squared: weights of faces, orthants, and the distance to the nonnegative orthant."""

from itertools import product
from math import comb

import numpy as np
import pytest
import scipy

from rrstats.inference.cone import (
    distance_to_orthant,
    face_probabilities,
    orthant_p_value,
    prob_positive,
)


def equicorrelated(size, correlation):
    return (1 - correlation) * np.eye(size) + correlation


@pytest.mark.parametrize("size", range(1, 6))
def test_independent_estimates_have_binomial_weights(size):
    """P(j of n independent means of 0 look positive) is binomial, whatever their variances are."""
    weights = face_probabilities(np.diag(np.arange(1.0, size + 1)))
    assert np.array([comb(size, j) / 2**size for j in range(size + 1)]) == pytest.approx(weights)


@pytest.mark.parametrize("size", range(1, 6))
def test_orthants_of_correlation_one_half(size):
    """With all correlations 1/2 the first of n + 1 independent variables is least: 1 / (n + 1)."""
    assert 1 / (size + 1) == pytest.approx(prob_positive(equicorrelated(size, 0.5)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_any_covariance_sum_as_they_must(seed):
    """Weights sum to 1, and those of even and of odd numbers to 1/2 (Gauss-Bonnet)."""
    for size in range(2, 6):
        root = np.random.default_rng(seed).normal(size=(size, size))
        weights = face_probabilities(root @ root.T)
        assert (weights >= 0).all()
        assert (0.5, 0.5) == pytest.approx((weights[::2].sum(), weights[1::2].sum()), abs=1e-9)


def test_the_distance_is_the_least_over_all_faces():
    """The distance equals the least one over the points of faces that are in the orthant."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        root = rng.normal(size=(3, 3))
        covariance = root @ root.T
        estimates = rng.normal(size=3)
        inverse = np.linalg.inv(covariance)
        distances = []
        for free in product((False, True), repeat=3):
            zero = [place for place in range(3) if not free[place]]
            block = covariance[:, zero] @ np.linalg.inv(covariance[np.ix_(zero, zero)])
            point = estimates - block @ estimates[zero]
            if (point >= -1e-12).all():
                distances.append((estimates - point) @ inverse @ (estimates - point))
        assert min(distances) == pytest.approx(distance_to_orthant(estimates, covariance))


def test_p_values_of_two_estimates_are_those_of_the_mixture():
    """w1 P(chi2_1 > c) + w2 P(chi2_2 > c), with the weights 1/2 and acos(correlation) / 2 pi."""
    weight = np.arccos(0.3) / (2 * np.pi)
    chi = scipy.stats.chi2.sf(3.0, [1, 2])
    assert 0.5 * chi[0] + weight * chi[1] == pytest.approx(
        orthant_p_value(3.0, equicorrelated(2, 0.3))
    )
    assert orthant_p_value(0.0, np.eye(2)) == 1.0


def test_the_bound_of_many_estimates_is_no_smaller():
    """Of more than 5 estimates the p-value is Perlman's bound, which exact ones do not exceed."""
    bound = orthant_p_value(9.0, np.eye(6))
    weights = [comb(6, j) / 64 for j in range(1, 7)]
    exact = np.dot(weights, scipy.stats.chi2.sf(9.0, range(1, 7)))
    assert exact < bound == pytest.approx(scipy.stats.chi2.sf(9.0, [5, 6]).mean())
