"""Debiased proportions, counts and reports, for `rrstats.estimators`: arrays in, arrays out.

For k-RR the proportion of reports of v is s = q + f (p - q), so f = (s - q) / (p - q): unbiased and
sometimes outside [0, 1]; nothing is clipped silently.  Every variance has a target:
``"population"`` (s(1-s) / (p-q)^2 over n: the people are a sample) or ``"sample"``
([f p(1-p) + (1-f) q(1-q)] / (p-q)^2 over n: only the noise is random); they differ by f(1-f)/n.
Counts are always about the rows.  `arrays` has the same for any channel.
Sources: Warner (1965); Wang, Blocki, Li and Jha (2017), eq. 2 and 3; OpenDP's user guide.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rrstats._checks import (
    check_count,
    check_epsilon,
    check_exactly_one,
    check_k,
    check_numbers,
    check_prob,
)
from rrstats._names import checked_keywords
from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns.report_columns import report_column
from rrstats.estimation.tallies.arrays import interval_of_counts
from rrstats.inference.binomial import DEFAULT_METHOD
from rrstats.inference.contrasts import Interval
from rrstats.mechanisms.channel import BinomialRates, KRRChannel, check_target
from rrstats.mechanisms.epsilon import prob_from_epsilon


def _channel(
    shape: tuple[int, ...], prob: float | None, epsilon: float | None, k: int | None
) -> KRRChannel:
    """The k-RR channel that array arguments name; k is the last axis where not given."""
    if k is None and not shape:
        raise ArgumentTypeError("a single number needs k, the number of categories")
    k = check_k(shape[-1] if k is None else k)
    if check_exactly_one(prob=prob, epsilon=epsilon) == "epsilon":
        prob = prob_from_epsilon(check_epsilon(epsilon), k)
    return KRRChannel.of(k, Fraction(check_prob(prob, k)))


def _check_sums(naive: Floats) -> None:
    sums = naive.sum(axis=-1, keepdims=True)
    # Printed proportions are rounded, so the rule is wide.
    wide = min(0.05, max(0.01, 0.001 * naive.shape[-1])) + 1e-9
    if (np.abs(sums - 1) > wide).any():
        raise ArgumentValueError(
            "naive must sum to 1 along the last axis, over all k categories, found "
            f"{sums.min(initial=1):.6g} to {sums.max(initial=1):.6g}; for some categories give k, "
            "for counts use debias_counts"
        )


def _size(counts: Floats, n: Any, k: int | None) -> Any:
    """The number of reports, n or the sums of counts; raises where they disagree."""
    totals = counts.sum(axis=-1, keepdims=True) if counts.ndim else counts
    if n is None:
        if k is not None and counts.shape[-1:] != (k,):
            raise ArgumentTypeError(
                "counts of some of the categories need n, the number of reports"
            )
        return totals
    n = check_count(n, "n")
    largest = counts.max(initial=0.0)
    if largest > n or (k is None and not np.allclose(totals, n, rtol=1e-9, atol=1e-6)):
        raise ArgumentValueError(
            f"reported must be counts of n = {n} reports, found counts up to {largest:.6g} and "
            f"sums up to {np.max(totals, initial=0.0):.6g}; for some of the categories give k"
        )
    return n


def _like(result: Floats) -> Any:
    """An array, or a number for an array without axes."""
    return result if result.ndim else float(result)


@checked_keywords
def debias_proportions(
    naive: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    k: int | None = None,
) -> Any:
    """Estimate true proportions from the proportions among k-RR reports.

    Parameters
    ----------
    naive : float or array-like of shape (..., k)
        Proportions of reports; for one or some of the categories give ``k``.
    prob : float, optional
        P(report = truth).
    epsilon : float, optional
        Instead of prob, in nats.
    k : int, optional
        The number of categories; by default the length of the last axis.

    Returns
    -------
    float or ndarray
        (naive - q) / (prob - q) of the same shape, q = (1 - prob) / (k - 1): unbiased, may lie
        outside [0, 1].

    Raises
    ------
    ArgumentValueError
        Proportions are outside [0, 1] or do not sum to 1.
    NotIdentifiableError
        The prob is 1/k.

    References
    ----------
    Warner (1965) for k = 2; OpenDP's user guide, (m(k-1) + p - 1) / (pk - 1).

    Examples
    --------
    >>> round(debias_proportions(0.364, 0.75, k=2), 3)
    0.228
    >>> debias_proportions([0.165, 0.349, 0.284, 0.202], 0.75).round(3)
    array([0.123, 0.398, 0.301, 0.178])
    """
    numbers = check_numbers(naive, "naive", axes=None)
    channel = _channel(numbers.shape, prob, epsilon, k)
    if k is None:
        _check_sums(numbers)
    check_numbers(numbers, "naive", axes=None, low=0.0, high=1.0)
    return _like(channel.solve(numbers))


@checked_keywords
def debias_counts(
    reported: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    k: int | None = None,
) -> Any:
    """Estimate true counts among the rows from counts of k-RR reports.

    Parameters
    ----------
    reported : float or array-like of shape (..., k)
        Counts of reports; for some of the categories give ``k`` and ``n``.
    prob, epsilon, k
        As for `debias_proportions`.
    n : int, optional
        The number of reports; by default the sum over the last axis.

    Returns
    -------
    float or ndarray
        (reported - n q) / (prob - q) of the same shape: unbiased, not whole.

    References
    ----------
    RAPPOR's and k-RR's aggregate, (Y - N d/k) / (1 - d) with d the probability of a uniform draw;
    OpenDP's user guide (whose printed counts are truncated).

    Examples
    --------
    >>> debias_counts([165, 349, 284, 202], 0.75).round(1)
    array([122.5, 398.5, 301. , 178. ])
    """
    counts = check_numbers(reported, "reported", axes=None, low=0.0)
    channel = _channel(counts.shape, prob, epsilon, k)
    size = _size(counts, n, k)
    per_report = channel.solve(1.0) - channel.solve(0.0)  # 1 / (prob - q)
    return _like(np.asarray((counts - size * float(channel.prob_other)) * per_report))


@checked_keywords
def debias_reports(
    reports: Any, categories: Any, prob: float | None = None, *, epsilon: float | None = None
) -> Floats:
    """Turn each report into k unbiased values: their mean estimates the proportions of any group.

    Parameters
    ----------
    reports : array-like of shape (n,)
    categories, prob, epsilon
        The categories with prob or epsilon, or a mechanism.

    Returns
    -------
    ndarray of shape (n, k)
        NaN for a missing report.

    Raises
    ------
    ArgumentValueError
        Reports are outside the categories.

    References
    ----------
    Wang et al. (2017), eq. 2; for k-RR (1[report = v] - q) / (p - q).

    Examples
    --------
    >>> import math
    >>> debias_reports([3], range(10), epsilon=math.log(3)).round(2).tolist()
    [[-0.5, -0.5, -0.5, 5.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5]]
    """
    return report_column(reports, categories, prob, epsilon).scores()


@checked_keywords
def proportion_variance(
    proportions: ArrayLike,
    n: int,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    k: int | None = None,
    target: str = "population",
    ddof: int = 0,
) -> Any:
    """Calculate the variance of debiased proportions, at given true ones.

    Parameters
    ----------
    proportions : float or array-like of shape (..., k)
        True proportions, or their estimates; then ddof=1 is unbiased for "population".
    n : int
        The number of reports.
    prob, epsilon, k
        As for `debias_proportions`.
    target : {"population", "sample"}
        "population": s(1-s) / ((p-q)^2 (n - ddof)) with s = q + f(p-q); "sample":
        [f p(1-p) + (1-f) q(1-q)] / ((p-q)^2 n).  The first exceeds the second by f(1-f)/n.
    ddof : int
        Subtracted from n for "population".

    Returns
    -------
    float or ndarray
        Of the same shape.

    References
    ----------
    Warner (1965) and Wang et al. (2017), eq. 3, respectively.

    Examples
    --------
    >>> round(proportion_variance(0.3, 1000, 0.7, k=4), 8)
    0.00056
    >>> round(proportion_variance(0.3, 1000, 0.7, k=4, target="sample"), 8)
    0.00035
    """
    pi = check_numbers(proportions, "proportions", axes=None)
    channel = _channel(pi.shape, prob, epsilon, k)
    subtracted = check_count(ddof, "ddof") if check_target(target) == "population" else 0
    size = check_count(n, "n") - subtracted
    if size < 1:
        raise ArgumentValueError(f"n must be at least 1 more than ddof, got n={n}, ddof={ddof}")
    rates = float(channel.prob_other) + pi * channel.gap  # estimates may lie outside [0, 1]
    check_numbers(rates, "rates of proportions", axes=None, low=-1e-9, high=1 + 1e-9)
    return _like(channel.variance(pi, target) / size)


@checked_keywords
def count_variance(
    proportions: ArrayLike, n: int, prob: float | None = None, **options: Any
) -> Any:
    """Calculate the variance of debiased counts among the rows: n^2 times that of proportions.

    Parameters
    ----------
    proportions, n, prob
        As for `proportion_variance`.
    **options
        epsilon and k, as there.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> round(count_variance(0.3, 1000, 0.7, k=4), 6)
    350.0
    """
    variance = proportion_variance(proportions, n, prob, target="sample", **options)
    return variance * float(n) ** 2


@checked_keywords
def confidence_interval(
    reported: ArrayLike,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    k: int | None = None,
    level: float = 0.95,
    method: str = DEFAULT_METHOD,
    simultaneous: bool = False,
    target: str = "population",
) -> Interval:
    """Calculate intervals of the true proportions, from counts of k-RR reports.

    Parameters
    ----------
    reported, prob, epsilon, n, k
        As for `debias_counts`; counts must be whole.
    level : float
        Confidence level.
    method : str
        "clopper-pearson" (coverage at least its level), "wilson", "agresti-coull", "blaker",
        "likelihood-ratio", or "wald" as in R's packages.
    simultaneous : bool
        Whether the level holds for all k categories together (Bonferroni; not needed for k = 2).
    target : {"population", "sample"}
        "sample" means just these n people; intervals use the exact distribution.

    Returns
    -------
    Interval
        ``low, high``, arrays of the shape of ``reported``.

    Examples
    --------
    >>> low, high = confidence_interval(312, 0.75, n=1000, k=2)
    >>> round(low, 4), round(high, 4)
    (0.0667, 0.1835)
    """
    counts = check_numbers(reported, "reported", axes=None, low=0.0)
    channel = _channel(counts.shape, prob, epsilon, k)
    if (counts != np.floor(counts)).any():
        raise ArgumentValueError(
            "reported must be whole numbers, because intervals need counts of people"
        )
    size = _size(counts, n, k)
    channel.check_informative()
    rates = BinomialRates(
        np.asarray(float(channel.prob_other)),
        np.asarray(float(channel.prob_truth)),
        channel.k == 2,
    )
    low, high = interval_of_counts(
        counts,
        size,
        rates,
        level=level,
        method=method,
        simultaneous=simultaneous,
        target=target,
        k=channel.k,
    )
    return Interval(_like(low), _like(high))


@checked_keywords
def count_interval(reported: ArrayLike, prob: float | None = None, **options: Any) -> Interval:
    """Calculate intervals of the true counts among the rows, from counts of k-RR reports.

    Parameters
    ----------
    reported, prob
        As for `debias_counts`.
    **options
        epsilon, n, k, level and simultaneous, as for `confidence_interval`.

    Returns
    -------
    Interval
        n times the interval of the proportions for the target "sample".

    Examples
    --------
    >>> low, high = count_interval(25, 0.75, n=60, k=2)
    >>> round(low), round(high)
    (6, 34)
    """
    low, high = confidence_interval(reported, prob, target="sample", **options)
    n = options.get("n")
    size = np.asarray(reported).sum(axis=-1, keepdims=True) if n is None else n
    return Interval(low * size, high * size)
