"""Calibrated assertions about samples: both error rates are known before the test runs.

A test states ``false_alarm``, how often a correct sampler may fail it (over all comparisons
together; they are divided here), and asks `sample_size` how much to draw so that a sampler
off by ``gap`` passes with at most ``false_pass``.  A failure at 1e-9 is a bug: never rerun it.

Comparisons are exact binomial tests, which reject whatever Hoeffding's bound would reject, so
that sizes from `sample_size` are enough.
Sources: Hoeffding (1963), theorem 1; Clopper and Pearson (1934) for the exact binomial test.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import special, stats

FALSE_ALARM = 1e-9


def sample_size(
    gap: float, false_alarm: float = FALSE_ALARM, false_pass: float = 1e-9, cells: int = 1
) -> int:
    """Draws needed for one row of ``cells`` shares.

    A correct sampler fails with at most ``false_alarm``, one with a share off by ``gap``
    or more passes with at most ``false_pass``.

    >>> sample_size(gap=0.01, false_alarm=1e-9, false_pass=1e-9)
    421369
    """
    alarm = math.sqrt(math.log(2 * cells / false_alarm) / 2)
    missed = math.sqrt(math.log(1 / false_pass) / 2)
    return math.ceil(((alarm + missed) / gap) ** 2)


def p_value(count: Any, n: Any, prob: Any) -> Any:
    """Two-sided exact binomial p-values: twice the smaller tail, at most 1."""
    tails = np.minimum(
        stats.binom.cdf(count, n, prob), stats.binom.sf(np.subtract(count, 1), n, prob)
    )
    return np.minimum(1.0, 2 * tails)


def tables(n: int, m: int) -> np.ndarray:
    """All tables of n reports of m kinds."""
    bars = np.array(list(itertools.combinations(range(n + m - 1), m - 1)))
    walls = np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + m - 1)
    return np.diff(np.concatenate(walls, axis=1), axis=1) - 1


def chances(listed: Any, rates: Any) -> np.ndarray:
    """The multinomial probability of each table."""
    n = listed[0].sum()
    logs = special.gammaln(n + 1) - special.gammaln(listed + 1).sum(axis=1)
    return np.exp(logs + special.xlogy(listed, rates).sum(axis=1))


def assert_distribution(
    counts: Any, distribution: Any, *, false_alarm: float = FALSE_ALARM
) -> None:
    """Counts are a sample of the distribution; rows of both, if any, are independent samples.

    counts : (..., k) how often each outcome came.  distribution : (..., k) its probabilities.
    """
    counts, distribution = np.asarray(counts), np.asarray(distribution, dtype=float)
    distribution = np.broadcast_to(distribution, counts.shape)
    n = counts.sum(axis=-1, keepdims=True)
    assert np.allclose(1.0, distribution.sum(axis=-1)), "the distribution does not sum to 1"
    found = p_value(counts, n, distribution)
    worst = np.unravel_index(np.argmin(found), found.shape)
    assert found[worst] * counts.size > false_alarm, (
        f"cell {tuple(map(int, worst))}: expected share {distribution[worst]:.6g}, found "
        f"{counts[worst] / n[(*worst[:-1], 0)]:.6g} in {n[(*worst[:-1], 0)]} draws "
        f"(p-value {found[worst]:.3g}, {counts.size} comparisons)"
    )


def assert_product(
    first: Any,
    second: Any,
    first_distribution: Any,
    second_distribution: Any,
    *,
    false_alarm: float = FALSE_ALARM,
) -> None:
    """Paired outcomes are independent, each with its distribution.

    first, second : (n,) outcomes, integers from 0.  The joint counts are compared with the
    product of the distributions.
    """
    joint_distribution = np.outer(
        np.asarray(first_distribution, dtype=float), np.asarray(second_distribution, dtype=float)
    )
    columns = joint_distribution.shape[1]
    codes = np.asarray(first, dtype=np.int64) * columns + np.asarray(second, dtype=np.int64)
    counts = np.bincount(codes, minlength=joint_distribution.size)
    assert_distribution(counts, joint_distribution.ravel(), false_alarm=false_alarm)


def batches(outcomes: Any, size: int, k: int) -> np.ndarray:
    """Counts of outcomes 0 .. k-1 in consecutive batches of ``size``; shape (batches, k)."""
    outcomes = np.asarray(outcomes, dtype=np.int64)
    number = len(outcomes) // size
    places = np.repeat(np.arange(number), size) * k + outcomes[: number * size]
    return np.bincount(places, minlength=number * k).reshape(number, k)


def assert_spread(counts: Any, distribution: Any, *, false_alarm: float = FALSE_ALARM) -> None:
    """Batches vary as independent draws do: neither too little (a kept share) nor too much.

    counts : (batches, k), every batch of the same size.  distribution : (k,).
    How many batches fall into the middle half of their binomial distribution is itself binomial,
    with a probability that is computed exactly.  Take at least 60 batches: fewer cannot
    reject a share that is kept exactly at 1e-9.
    """
    counts, distribution = np.asarray(counts), np.asarray(distribution, dtype=float)
    size = int(counts[0].sum())
    assert (counts.sum(axis=1) == size).all(), "batches differ in size"
    low, high = stats.binom.ppf(0.25, size, distribution), stats.binom.ppf(0.75, size, distribution)
    middle = stats.binom.cdf(high, size, distribution) - stats.binom.cdf(
        low - 1, size, distribution
    )
    inside = ((counts >= low) & (counts <= high)).sum(axis=0)
    found = p_value(inside, len(counts), middle)
    worst = int(np.argmin(found))
    assert found[worst] * len(distribution) > false_alarm, (
        f"outcome {worst}: {inside[worst]} of {len(counts)} batches have between "
        f"{low[worst]:.0f} and {high[worst]:.0f}, expected {middle[worst] * len(counts):.1f} "
        f"(p-value {found[worst]:.3g})"
    )


def assert_at_least(
    hits: int, trials: int, prob: float, *, false_alarm: float = FALSE_ALARM, tests: int = 1
) -> None:
    """The chance of a hit is at least ``prob``, as an interval's coverage must be.

    tests : how many such assertions the calling test makes; false_alarm is for all of them.
    """
    tail = float(stats.binom.cdf(hits, trials, prob))
    assert tail * tests > false_alarm, (
        f"expected a share of at least {prob:.6g}, found {hits / trials:.6g} in {trials} trials "
        f"(p-value {tail:.3g}, {tests} comparisons)"
    )
