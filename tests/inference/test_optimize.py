"""The climb to a maximum: concave, saddle, constrained, endless, and outside the domain."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from scipy.special import ndtr

from rrstats.inference.optimize import (
    distinct,
    first_accepted,
    first_positive_each,
    last_accepted,
    maximize,
)


def noisy_logit(seed, n=300, p=3, prob=0.75):
    """A log-likelihood of p coefficients behind a channel, with its derivatives."""
    rng = np.random.default_rng(seed)
    columns = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))]))[0]
    truth = rng.random(n) < 1 / (1 + np.exp(-columns @ rng.normal(size=p) * np.sqrt(n)))
    yes = np.where(np.where(rng.random(n) < prob, truth, ~truth), prob, 1 - prob)

    def function(theta):
        g = 1 / (1 + np.exp(-np.clip(columns @ theta, -700, 700)))
        likelihood, gap = 1 - yes + (2 * yes - 1) * g, 2 * yes - 1
        slope = gap * g * (1 - g) / likelihood
        bend = gap * g * (1 - g) * (1 - 2 * g) / likelihood - slope**2
        return float(np.log(likelihood).sum()), columns.T @ slope, (columns.T * bend) @ columns

    return function, columns


@pytest.mark.parametrize("seed", range(8))
def test_maxima_are_those_of_scipy(seed):
    """The trust-exact method of SciPy ends at the same value, or lower on the way to the edge."""
    function, columns = noisy_logit(seed)
    found = maximize(function, np.zeros(3), radius=np.sqrt(len(columns)))
    other = scipy.optimize.minimize(
        lambda x: -function(x)[0],
        np.zeros(3),
        jac=lambda x: -function(x)[1],
        hess=lambda x: -function(x)[2],
        method="trust-exact",
        options={"initial_trust_radius": 17.0, "gtol": 1e-9},
    )
    assert found.converged
    assert -other.fun == pytest.approx(found.value, abs=1e-5)
    if found.endless is None:
        np.testing.assert_allclose(found.parameters, other.x, rtol=1e-5, atol=1e-6)
        assert np.abs(found.gradient).max() < 1e-7


def test_a_saddle_repels():
    """From a saddle without slope the climb leaves in the direction that bends upward."""

    def function(x):
        value = -((x[0] ** 2 - 1) ** 2) - x[1] ** 2
        slope = np.array([-4 * x[0] * (x[0] ** 2 - 1), -2 * x[1]])
        return float(value), slope, np.diag([4 - 12 * x[0] ** 2, -2.0])

    found = maximize(function, np.zeros(2))
    np.testing.assert_allclose(np.abs(found.parameters), [1, 0], atol=1e-9)
    assert found.converged
    assert found.endless is None


def test_a_climb_within_directions_obeys_the_constraint():
    """Lagrange's condition holds: the gradient is orthogonal to the directions allowed."""
    function, _ = noisy_logit(1)
    start, allowed = np.array([0.0, 2.0, -2.0]), np.linalg.qr(np.ones((3, 3)) + np.eye(3))[0][:, :2]
    found = maximize(function, start, within=allowed, radius=17.0)
    assert found.converged
    np.testing.assert_allclose(allowed.T @ found.gradient, 0, atol=1e-7)
    moved = found.parameters - start
    np.testing.assert_allclose(allowed @ (allowed.T @ moved), moved, atol=1e-9)


def test_steps_outside_the_domain_are_taken_back():
    """A function that is minus infinity, or NaN, outside a domain is climbed inside it."""

    def function(x):
        with np.errstate(all="ignore"):
            value = np.log(x[0]) + 99 * np.log1p(-x[0]) if x[0] > 0 else -np.inf
            slope, bend = 1 / x - 99 / (1 - x), -1 / x**2 - 99 / (1 - x) ** 2
        return float(value), slope, np.diag(bend)

    found = maximize(function, np.array([0.9]), radius=100.0)
    assert found.converged
    assert found.parameters[0] == pytest.approx(0.01, rel=1e-9)


def test_a_climb_that_cannot_move_gives_up():
    """Where every step leaves the domain, the radius falls to the last digits of the parameters."""

    def function(x):
        return 0.0 if x[0] == 3.0 else -np.inf, np.ones(1), -np.eye(1)

    end = maximize(function, np.array([3.0]), radius=1.0)
    assert not end.converged
    assert end.parameters.tolist() == [3.0]
    # 4**-24 is the first power of a quarter below 1e-15 * (1 + 3)
    assert end.iterations == 24


def test_steps_are_bounded_and_maxima_told_apart():
    """A climb without an end stops at its last step; equal maxima are one."""

    def function(x):
        return float(x[0]), np.ones(1), np.zeros((1, 1))

    found = maximize(function, np.zeros(1), steps=7)
    assert not found.converged
    assert found.iterations == 7
    assert found.parameters[0] > 100
    quartic, _ = noisy_logit(3)
    ends = [maximize(quartic, start, radius=17.0) for start in (np.zeros(3), np.ones(3))]
    assert len(distinct([*ends, found], 1e-6)) == 2


def test_the_first_accepted_integer_takes_few_calls():
    """Each edge is found from any guess, in at most two calls a binary digit; or there is none."""
    for edge, guess in itertools.product((1, 2, 999, 2**39, 2**40, 2**40 + 1), (-5, 1, 500, 2**41)):
        calls = []
        found = first_accepted(lambda n, e=edge, c=calls: c.append(n) or n >= e, 0, 2**40, guess)
        assert min(edge, 2**40) == found
        assert len(calls) <= 80
        assert 0 < min(calls) <= max(calls) < 2**40
        assert {type(place) for place in calls} == {int}


RISING = {
    "a step": lambda away: np.where(away > 0, 1.0, -1.0),
    "a high step": lambda away: np.where(away > 0, 1e15, -1.0),
    "a saddle": lambda away: (away / 2**40) ** 25,  # whose secants come no more than 4% nearer
    "a steep edge": lambda away: np.cbrt(away),  # whose secants lead away
}


@pytest.mark.parametrize("shape", RISING)
@pytest.mark.parametrize("slope", [np.nan, 0.0, np.inf, -1.0, 1e-9])
def test_the_first_positive_integers_of_any_functions_are_found_together(slope, shape):
    """Secants that lead nowhere do no harm: all edges are found, in a bounded number of calls."""
    pairs = itertools.product((0, 1, 2, 999, 2**40, 2**40 + 1), (-5, 1, 500, 2**41))
    edges, guesses = np.array(list(pairs)).T
    below, most = np.full_like(edges, -1), np.full_like(edges, 2**40)
    calls = []

    def value(which, n):
        calls.append(len(which))
        assert ((below[which] < n) & (n < most[which])).all()
        return RISING[shape](n - edges[which] + 0.5)

    slopes = np.full(len(edges), slope)
    found = first_positive_each(value, below, most, guesses, slope=slopes)
    assert np.minimum(edges, 2**40).tolist() == found.tolist()
    assert len(calls) <= 320


def test_the_first_positive_integers_of_smooth_functions_take_few_values():
    """Distribution functions far above their noise are searched by secants, at most six values."""
    widths = np.array([3.0, 50.0, 1e4, 1e6])
    edges = np.array([10.5, 400.0, 12345.6, 3e7])
    calls = []

    def value(which, n):
        calls.append(len(which))
        return ndtr((n - edges[which]) / widths[which]) - 0.5

    below, most = np.full(4, -1), np.full(4, 10**9)
    guesses = (edges + widths / 50).astype(np.int64)
    found = first_positive_each(value, below, most, guesses, slope=0.3 / widths)
    assert [11, 401, 12346, 30_000_001] == found.tolist()
    assert len(calls) <= 6


def test_a_root_without_slopes_is_halved_until_digits_end():
    """A step function has no slope and no value near 0: its edge is found, in at most 100 steps."""
    calls = []

    def excess(which, at):
        calls.append(len(which))
        return np.where(at > edge[which], 1.0, -1.0), np.full(len(at), np.nan)

    edge = np.array([0.3, 1e-12, 5e8])
    found = last_accepted(excess, np.zeros(3), np.array([1.0, 1.0, np.inf]), np.ones(3))
    assert edge == pytest.approx(found, rel=1e-9)
    assert len(calls) <= 100
    endless = last_accepted(
        lambda _, at: (at * 0 - 1, at * np.nan), np.zeros(1), np.array([np.inf]), np.ones(1)
    )
    assert endless[0] >= 2.0**98
