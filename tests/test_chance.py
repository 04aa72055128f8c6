"""The calibrated assertions let a correct sampler pass and fail every planted fault."""

import doctest
from fractions import Fraction

import chance
import numpy as np
import pytest
import scripted
from refusals import refused
from scipy import stats

K, PROB = 4, 0.7
DISTRIBUTION = np.full((K, K), (1 - PROB) / (K - 1)) + np.eye(K) * (PROB - (1 - PROB) / (K - 1))
N = chance.sample_size(gap=0.007, cells=K * K)


def correct(rng, truth):
    lies = rng.integers(1, K, len(truth))
    return (truth + np.where(rng.random(len(truth)) < PROB, 0, lies)) % K


def lie_may_hit_the_truth(rng, truth):
    return np.where(rng.random(len(truth)) < PROB, truth, rng.integers(0, K, len(truth)))


def lie_to_the_neighbour(rng, truth):
    return (truth + (rng.random(len(truth)) >= PROB)) % K


def one_coin_for_all(rng, truth):
    lies = rng.integers(1, K, len(truth))
    return (truth + (0 if rng.random() < PROB else lies)) % K


def prob_off_by_one_percent(rng, truth):
    lies = rng.integers(1, K, len(truth))
    return (truth + np.where(rng.random(len(truth)) < PROB * 0.99, 0, lies)) % K


def share_kept_exactly(rng, truth):
    kept = np.arange(len(truth)) < round(PROB * len(truth))
    lies = rng.integers(1, K, len(truth))
    return (truth + np.where(rng.permutation(kept), 0, lies)) % K


def counts_by_truth(sampler):
    rng = np.random.default_rng(20261121)
    return np.array([np.bincount(sampler(rng, np.full(N, t)), minlength=K) for t in range(K)])


def test_size_has_both_error_rates():
    """One cell off by 0.01, both rates 1e-9: ((sqrt(ln 2e9 / 2) + sqrt(ln 1e9 / 2)) / 0.01)^2."""
    assert chance.sample_size(gap=0.01, false_alarm=1e-9, false_pass=1e-9) == 421369


def test_size_keeps_its_two_promises_exactly():
    """At n = sample_size the true rates, summed over all samples, are below those asked for."""
    gap, alarm, missed = 0.1, 1e-3, 1e-2
    n = chance.sample_size(gap, alarm, missed)
    every = np.arange(n + 1)
    for prob in (0.05, 0.3, 0.5, 0.85):
        passes = chance.p_value(every, n, prob) > alarm
        assert stats.binom.pmf(every, n, prob)[~passes].sum() <= alarm
        assert stats.binom.pmf(every, n, prob + gap)[passes].sum() <= missed


def test_p_value_is_exact():
    """2 of 10 at 1/2: 2 * (1 + 10 + 45) / 1024, by hand."""
    assert chance.p_value(2, 10, 0.5) == pytest.approx(float(2 * Fraction(56, 1024)), rel=1e-14)
    assert chance.p_value(5, 10, 0.5) == 1.0
    assert chance.p_value(0, 10, 0.0) == 1.0
    assert chance.p_value(1, 10, 0.0) == 0.0


def test_a_correct_sampler_passes():
    """The distribution, the pairs and the spread of a correct sampler raise nothing."""
    chance.assert_distribution(counts_by_truth(correct), DISTRIBUTION)
    reports = correct(np.random.default_rng(1), np.zeros(N, dtype=int))
    pairs = reports[: N // 2 * 2]
    chance.assert_product(pairs[::2], pairs[1::2], DISTRIBUTION[0], DISTRIBUTION[0])
    chance.assert_spread(chance.batches(reports, 500, K), DISTRIBUTION[0])


@pytest.mark.parametrize(
    "fault",
    [lie_may_hit_the_truth, lie_to_the_neighbour, one_coin_for_all, prob_off_by_one_percent],
)
def test_a_wrong_distribution_is_caught(fault):
    """Each planted fault moves some share by 0.007 or more, and fails."""
    refused(
        AssertionError,
        "expected share",
        chance.assert_distribution,
        counts_by_truth(fault),
        DISTRIBUTION,
    )


def test_a_share_kept_exactly_is_caught_only_by_the_spread():
    """A sampler that keeps exactly 70% has the right distribution; its batches vary too little."""
    rng = np.random.default_rng(2)
    samples = [share_kept_exactly(rng, np.zeros(500, dtype=int)) for _ in range(200)]
    counts = chance.batches(np.concatenate(samples), 500, K)
    chance.assert_distribution(counts.sum(axis=0), DISTRIBUTION[0])
    refused(
        AssertionError,
        "outcome 0: 200 of 200 batches",
        chance.assert_spread,
        counts,
        DISTRIBUTION[0],
    )


def test_one_coin_for_a_batch_is_caught_by_the_spread():
    """Batches that share a coin vary too much."""
    rng = np.random.default_rng(3)
    samples = [one_coin_for_all(rng, np.zeros(500, dtype=int)) for _ in range(200)]
    with pytest.raises(AssertionError, match=r"outcome \d: 0 of 200 batches"):
        chance.assert_spread(chance.batches(np.concatenate(samples), 500, K), DISTRIBUTION[0])


def test_noise_that_is_used_twice_is_caught_by_the_pairs():
    """Two columns with the same noise have each the right distribution, and jointly a wrong one."""
    reports = correct(np.random.default_rng(4), np.zeros(N, dtype=int))
    chance.assert_distribution(np.bincount(reports, minlength=K), DISTRIBUTION[0])
    with pytest.raises(AssertionError, match="expected share"):
        chance.assert_product(reports, reports, DISTRIBUTION[0], DISTRIBUTION[0])


def test_low_coverage_is_caught():
    """95% holds at 9,500 of 10,000; 93% of 100,000 does not, nor do rates that do not sum to 1."""
    chance.assert_at_least(9_500, 10_000, 0.95)
    with pytest.raises(AssertionError, match=r"found 0\.93 in 100000 trials"):
        chance.assert_at_least(93_000, 100_000, 0.95)
    refused(AssertionError, "does not sum to 1", chance.assert_distribution, [1, 2], [0.5, 0.4])


@pytest.mark.parametrize("module", [chance, scripted])
def test_examples_in_the_shared_modules_run(module):
    """The docstrings show what the modules do."""
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
