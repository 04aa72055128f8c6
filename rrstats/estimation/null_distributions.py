"""Counts of reports whose law is known but for a few numbers: fit, score, information.

Expected counts are ``sizes * rates``, where rates follow from shares through the channel's matrix.
Shares are fitted where reports are likeliest, and *not* held inside [0, 1], only rates are
positive: an estimate that is pushed inside lies further from the reports, so that a test against
chi-squared rejects too often where true shares are 0 (a pair of three categories each, everybody in
one cell, 1,000 reports: 17% at 5% inside the simplex, 5.9% and less by this fit).
The score statistic at fitted shares is Pearson's X2 where a design has as many reports as
categories, and otherwise the part of it that shares can explain.
Sources: Rao (1948) for the score; Gaboardi and Rogers (2018) for tests of privatized counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rrstats._typing import Floats
from rrstats.estimation import debiasing
from rrstats.estimation.arrays import project_to_simplex
from rrstats.estimation.difference import summing
from rrstats.mechanisms.channel import (
    Channel,
    expected_rates,
    has_latent_classes,
    transition_matrix,
)

__all__ = [
    "at_least",
    "distance",
    "fit",
    "information",
    "information_left",
    "inside",
    "score_statistic",
]

Law = Callable[[Floats], tuple[Floats, Floats]]

_STEPS = 200
_GAIN = 1e-11
"""What is still to gain in log-likelihood, at which a fit is done."""

_EDGE = 0.02
"""A step leaves every rate at least so much of itself."""


def fit(law: Law, counts: Floats, sizes: Floats, start: Floats) -> Floats:
    """The parameters that make counts likeliest, by Fisher scoring with step control.

    law : parameters to (m,) rates and their (m, parameters) derivatives.  counts, sizes : (m,).
    start : parameters at which every rate is positive.
    """
    found = np.array(start, dtype=np.float64)
    rates, slopes = law(found)
    value = _log_likelihood(counts, rates)
    for _ in range(_STEPS):
        possible = rates > 0
        slope = slopes[possible]
        score = slope.T @ (counts[possible] / rates[possible])
        hessian = (slope.T * (sizes[possible] / rates[possible])) @ slope
        step = _solved(hessian, score)
        if not step @ score > _GAIN:
            break
        size = 1.0
        while size > 1e-12:
            trial, trial_slopes = law(found + size * step)
            gained = _log_likelihood(counts, trial)
            if (trial[possible] >= _EDGE * rates[possible]).all() and gained >= value:
                break
            size /= 2
        else:
            break
        found, rates, slopes, value = found + size * step, trial, trial_slopes, gained
    return found


def _solved(matrix: Floats, right: Floats) -> Floats:
    """The solution of a symmetric system, the shortest where there are several."""
    try:
        found = np.linalg.solve(matrix, right)
        if np.isfinite(found).all() and np.allclose(matrix @ found, right, rtol=1e-6, atol=1e-9):
            return np.asarray(found)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0])


def _log_likelihood(counts: Floats, rates: Floats) -> float:
    seen = counts > 0
    if (rates[seen] <= 0).any():
        return -np.inf
    return float(counts[seen] @ np.log(rates[seen]))


def inside(matrix: Floats, shares: Floats) -> Floats:
    """(k,) the shares, moved towards equal ones until every possible report has a rate."""
    even, possible = np.full(len(shares), 1 / len(shares)), matrix.any(axis=1)
    least = 1e-3 * (matrix @ even)[possible]
    for part in (1.0, 0.99, 0.9, 0.75, 0.5, 0.25, 0.1):
        found = part * shares + (1 - part) * even
        if ((matrix @ found)[possible] >= least).all():
            return np.asarray(found)
    return even


def distance(counts: Any, expected: Any, statistic: str = "pearson") -> Floats:
    """(...) Pearson's X2 or the likelihood ratio's G2 of (..., m) counts.

    Infinite where a report came that was not to be expected.
    """
    counts, expected = np.broadcast_arrays(
        np.asarray(counts, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    )
    there = expected > 0
    ratio = np.divide(counts, expected, out=np.ones(counts.shape), where=there)
    if statistic == "pearson":
        found = (ratio - 1) * (counts - expected)
    else:
        logs = np.log(ratio, out=np.zeros(counts.shape), where=ratio > 0)
        found = 2 * (counts * logs - (counts - expected))
    found = np.where(there, found, np.where(counts > 0, np.inf, 0.0))
    return np.asarray(found.sum(axis=-1))


def at_least(covariance: Floats, least: Floats) -> Floats:
    """(k, k) a covariance, made larger where a contrast has less variance than ``least`` gives it.

    The same for every contrast that has more.
    """
    if not (np.isfinite(covariance).all() and np.isfinite(least).all()):
        return covariance
    values, vectors = np.linalg.eigh(least)
    kept = values > 1e-10 * max(values[-1], 0.0)
    root = vectors[:, kept] * np.sqrt(values[kept])
    inverse = vectors[:, kept] / np.sqrt(values[kept])
    ratios, turned = np.linalg.eigh(inverse.T @ covariance @ inverse)
    lifted = root @ turned
    return np.asarray(covariance + (lifted * np.maximum(1 - ratios, 0.0)) @ lifted.T)


def score_statistic(
    matrix: Floats, counts: Floats, rates: Floats, sizes: Floats
) -> tuple[float, int]:
    """How far counts are from given rates in directions that shares can go, and how many.

    matrix : (m, k), of one sample or of several on top of one another; ``sizes`` are theirs.
    Pearson's X2 where one sample has as many reports as categories.
    """
    there = (rates > 1e-9) & (sizes > 0)
    if counts[~there].sum() > 1e-6:
        return float("inf"), max(matrix.shape[1] - 1, 1)
    counts, expected = counts[there], (sizes * rates)[there]
    if matrix.shape[0] == matrix.shape[1]:
        return float(distance(counts, expected)), len(counts) - 1
    slopes = (matrix[:, 1:] - matrix[:, :1])[there]
    scaled = np.sqrt(sizes[there] / rates[there])[:, None] * slopes
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = values > 1e-9 * values[0]
    residual = (counts - expected) / np.sqrt(expected)
    return float(((left[:, kept].T @ residual) ** 2).sum()), int(kept.sum())


def information(channel: Channel, shares: Floats, counts: Floats, n: int) -> Floats | None:
    """(k, k) what one report tells of shares: a quadratic form for shifts that sum to 0.

    shares : of the categories, inside the simplex.  counts : of which only the sizes of the samples
    matter.  None where the channel has finer classes than categories.
    """
    if has_latent_classes(channel) or not n:
        return None
    if channel.is_multinomial:
        rates = expected_rates(channel, shares)
        sizes = debiasing.sample_sizes(channel, counts, n)
        possible = rates > 0
        matrix = transition_matrix(channel)[possible]
        return np.asarray((matrix.T * (sizes[possible] / n / rates[possible])) @ matrix)
    _, covariance = summing(shares, channel.covariance(shares, "population"))
    # Of full rank, and the inverse is the same for shifts that sum to 0.
    return np.asarray(np.linalg.inv(covariance + np.trace(covariance) / channel.k**2))


def information_left(channel: Channel | None, shares: Floats, counts: Floats, n: int) -> float:
    """Direct answers worth one report, averaged over all shifts of the shares; NaN if unknown.

    A shift drawn with the covariance of one direct answer has k - 1 squared standard errors of
    direct answers on average; this is how many it has of reports, divided by k - 1.
    """
    if channel is None:
        return 1.0
    if not n or not np.isfinite(shares).all():
        return float("nan")
    near = project_to_simplex(shares)
    form = information(channel, near, counts, n)
    if form is None:
        return float("nan")
    one = np.diag(near) - np.outer(near, near)
    return float(np.sum(form * one) / max(int((near > 0).sum()) - 1, 1))
