"""Ratios, differences and sums of estimates, by hand and against published numbers."""

import math

import numpy as np
import pytest

from rrstats.inference import contrasts
from rrstats.inference.binomial import METHODS
from rrstats.inference.contrasts import Interval, fieller, ratio_variance

Z2 = 1.959963984540054**2


def test_a_ratio_by_hand():
    """Fieller: the ends are where (top - r bottom)^2 = z^2 its variance."""
    moments = (0.0004, 0.0002, 0.0009)
    for end in fieller(0.2, 0.5, moments, Z2):
        variance = 0.0004 - 2 * end * 0.0002 + end**2 * 0.0009
        assert ratio_variance(end, moments) == pytest.approx(variance)
        assert (0.2 - end * 0.5) ** 2 == pytest.approx(Z2 * variance)


@pytest.mark.parametrize("bottom", [0.002, 0.0, -0.5])
def test_a_ratio_over_next_to_nothing_has_no_ends(bottom):
    """Where the denominator may be 0, is 0, or is estimated below 0."""
    assert (-math.inf, math.inf) == tuple(fieller(0.001, bottom, (1e-4, 5e-5, 2e-4), Z2))


def test_widening_keeps_the_noise_of_estimates_outside():
    """Ends are cut to the span; far outside it they reach inward as far as the noise."""
    assert (0.0, 0.4) == contrasts.widen_outside(0.1, 0.3, Interval(-0.2, 0.4))
    assert (0.0, 0.3) == contrasts.widen_outside(-0.5, 0.3, Interval(-0.8, -0.2))
    assert (0.25, 1.0) == contrasts.widen_outside(3.0, 0.75, Interval(2.5, 4.0))
    assert (0.0, 1.0) == contrasts.widen_outside(1.5, 0.0, Interval(1.5, 1.5))


def test_difference_of_two_groups_is_newcombes():
    """Newcombe (1998), table II, method 10, 56/70 - 48/80: 0.0524 to 0.3339, as published."""
    first, second = METHODS["wilson"](56, 70), METHODS["wilson"](48, 80)
    found = contrasts.mover_difference(56 / 70, first, 48 / 80, second)
    assert (0.0524, 0.3339) == pytest.approx(tuple(map(float, found)), abs=5e-5)


def test_difference_works_on_arrays():
    """Exchanging the groups mirrors it; without an end of one it has none."""
    one = Interval(np.array([-0.4, 0.1]), np.array([0.3, 0.5]))
    two = Interval(np.array([0.7, 0.2]), np.array([1.6, 0.4]))
    low, high = contrasts.mover_difference([0.0, 0.3], one, [1.1, 0.3], two)
    back = contrasts.mover_difference([1.1, 0.3], two, [0.0, 0.3], one)
    assert -1.0 > low[0]
    endless = contrasts.mover_difference(0.5, Interval(-np.inf, 0.6), 0.2, Interval(0.1, 0.3))
    assert (-math.inf, 0.441421) == pytest.approx(tuple(map(float, endless)), abs=1e-6)
    assert (-high).tolist() == back.low.tolist()
    assert (-low).tolist() == back.high.tolist()


def test_student_quantiles():
    """R: qt(0.975, c(1, 5)) = 12.706205, 2.570582; endless without degrees of freedom."""
    found = contrasts.student_quantile(0.95, [1, 5, 0])
    assert [12.706205, 2.570582, math.inf] == pytest.approx(found.tolist(), abs=1e-6)
