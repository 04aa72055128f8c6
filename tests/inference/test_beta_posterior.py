"""Posteriors of a proportion: published numbers, conjugate cases, sums on a grid."""

import numpy as np
import pytest
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentValueError
from rrstats.inference.beta_posterior import BetaPosterior

FORCED = rr.surveys.forced_response(["no", "yes"], 2 / 3, [1 / 6, 1 / 6])


def nigeria(**options):
    return rr.estimate(rr.Tally.from_counts({"no": 1604, "yes": 831}, FORCED), **options)


def test_nigeria():
    """831 of 2,435 with a uniform prior: mean .262105, sd .014405, 95% .23406 to .29052.

    By numerical integration in 120 digits.
    """
    found = nigeria().credible_interval("yes")
    assert found.mean == pytest.approx(0.262105, abs=5e-7)
    assert found.std == pytest.approx(0.014405, abs=5e-7)
    assert (found.low, found.high) == pytest.approx((0.23406, 0.29052), abs=5e-6)
    other = nigeria().credible_interval("no")
    assert other.mean == pytest.approx(1 - found.mean, abs=1e-12)
    assert (1 - other.high, 1 - other.low) == pytest.approx((found.low, found.high), abs=1e-9)


@pytest.mark.parametrize("prior", [(1, 1), (0.5, 0.5), (3, 0.25), (0.01, 20)])
@pytest.mark.parametrize(("count", "n"), [(0, 20), (20, 20), (7, 20), (0, 0), (400, 10**6)])
def test_direct_answers_have_the_conjugate_posterior(prior, count, n):
    """Without noise it is the beta distribution of a + count and b + n - count."""
    a, b = prior
    posterior = BetaPosterior(count, n, 0.0, 1.0, a, b)
    exact = stats.beta(a + count, b + n - count)
    assert posterior.mean == pytest.approx(exact.mean(), rel=1e-9, abs=1e-13)
    assert posterior.std == pytest.approx(exact.std(), rel=1e-6, abs=1e-12)
    for probability in (0.025, 0.5, 0.975):
        found = posterior.quantile(probability)
        assert exact.cdf(found) == pytest.approx(probability, abs=1e-7)


@pytest.mark.parametrize(
    ("low", "high", "count", "n"),
    [(0.25, 0.75, 0, 10), (0.75, 0.25, 9, 10), (0.1, 0.9, 60, 100), (0.48, 0.52, 600, 1000)],
)
def test_noisy_reports_against_a_fine_sum(low, high, count, n):
    """The mean, the deviation and the quantiles of a sum over a million points."""
    posterior = BetaPosterior(count, n, low, high, 2.0, 3.0)
    points = (np.arange(1_000_000) + 0.5) / 1_000_000
    weights = stats.beta.pdf(points, 2, 3) * stats.binom.pmf(count, n, low + (high - low) * points)
    weights /= weights.sum()
    mean = weights @ points
    assert posterior.mean == pytest.approx(mean, abs=1e-10)
    assert posterior.std == pytest.approx(np.sqrt(weights @ (points - mean) ** 2), abs=1e-10)
    below = np.searchsorted(np.cumsum(weights), [0.025, 0.975])
    found = [posterior.quantile(probability) for probability in (0.025, 0.975)]
    assert found == pytest.approx(points[below], abs=2e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rr.estimate(["a"], list("abc"), 0.6).credible_interval(), "two categories"),
        (lambda: nigeria(target="rows").credible_interval(), "two categories with two reports"),
        (lambda: nigeria().credible_interval(prior=(0, 1)), r"prior must be"),
        (lambda: nigeria().credible_interval(prior=(1, 1, 1)), r"prior must"),
        (lambda: nigeria().credible_interval("maybe"), "not among the categories"),
    ],
)
def test_what_has_no_such_posterior(call, message):
    """More categories, these rows alone, and priors without a density are refused."""
    with pytest.raises(ArgumentValueError, match=message):
        call()
