"""Unbiased proportions and counts, their variances and intervals, from arrays.

For k-RR the proportion of reports of v is s = q + f (p - q), so f = (s - q) / (p - q): unbiased and
sometimes outside [0, 1]; nothing is clipped silently.  Every variance has a target:
``"population"`` (s(1-s) / (p-q)^2 over n: the people are a sample) or ``"rows"``
([f p(1-p) + (1-f) q(1-q)] / (p-q)^2 over n: only the noise is random); they differ by f(1-f)/n.
Counts are always about the rows.  `rrstats.estimators` exports the functions of k-RR; the functions
for any channel come after them.  They take the counts of the m cells of a tally of n reports; with
several samples these counts also give the size of each sample.
Sources: Warner (1965); Wang, Blocki, Li and Jha (2017), eq. 2 and 3; OpenDP's user guide.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rrstats._checks import (
    check_bool,
    check_count,
    check_epsilon,
    check_exactly_one,
    check_k,
    check_level,
    check_numbers,
    check_one_of,
    check_prob,
)
from rrstats._typing import Booleans, Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError
from rrstats.estimation.report_columns import report_column
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import (
    DEFAULT_METHOD,
    METHOD_OF_ROWS,
    METHODS,
    carry,
    clopper_pearson_rates,
    implausible_counts,
    population_interval,
    rows_interval,
)
from rrstats.inference.contrasts import (
    Interval,
    cut_to_unit,
    hull,
    mean_interval,
    student_quantile,
    wald,
)
from rrstats.mechanisms.channel import (
    BinomialRates,
    Channel,
    KRRChannel,
    SupportChannel,
    check_target,
    has_latent_classes,
    recode_matrix,
    report_contrast_covariance,
    report_variance,
    transition_matrix,
)
from rrstats.mechanisms.epsilon import prob_from_epsilon
from rrstats.mechanisms.matrix_channel import StackedChannel, covariance_within, score_covariance


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
    target : {"population", "rows"}
        "population": s(1-s) / ((p-q)^2 (n - ddof)) with s = q + f(p-q); "rows":
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
    >>> round(proportion_variance(0.3, 1000, 0.7, k=4, target="rows"), 8)
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
    variance = proportion_variance(proportions, n, prob, target="rows", **options)
    return variance * float(n) ** 2


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
    target : {"population", "rows"}
        "rows" means just these n people; intervals use the exact distribution.

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
    _ = channel.gap  # may raise NotIdentifiableError
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
        n times the interval of the proportions for the target "rows".

    Examples
    --------
    >>> low, high = count_interval(25, 0.75, n=60, k=2)
    >>> round(low), round(high)
    (6, 34)
    """
    low, high = confidence_interval(reported, prob, target="rows", **options)
    n = options.get("n")
    size = np.asarray(reported).sum(axis=-1, keepdims=True) if n is None else n
    return Interval(low * size, high * size)


def interval_of_counts(
    counts: Floats,
    n: NDArray[Any] | float,
    rates: BinomialRates,
    *,
    level: float,
    method: str | None = None,
    simultaneous: bool = False,
    target: str = "population",
    k: int,
) -> Interval:
    """Intervals of proportions from binomial counts, by method and target."""
    rows = check_target(target) == "rows"
    default = METHOD_OF_ROWS if rows else DEFAULT_METHOD
    method = check_one_of(method or default, "method", [METHOD_OF_ROWS] if rows else METHODS)
    level = level_of_each(level, simultaneous, 1 if rates.complementary else k)
    low = rates.false_positive_rate
    high = rates.true_positive_rate
    if rows:
        return rows_interval(counts, n, low, high, level=level)
    return population_interval(counts, n, low, high, level=level, method=method)


def level_of_each(level: float, simultaneous: bool, statements: int) -> float:
    """The confidence level of each of several intervals, jointly (Bonferroni) or separately."""
    level = check_level(level)
    together = check_bool(simultaneous, "simultaneous") and statements > 1
    return 1 - (1 - level) / statements if together else level


def sample_sizes(channel: Channel, counts: NDArray[Any], n: NDArray[Any] | float) -> Floats:
    """(m,) the size of each cell's sample; n where there is one, (groups, 1) of (groups,)."""
    if np.ndim(n):
        return np.asarray(n, dtype=np.float64)[:, None]
    samples = channel.samples
    if isinstance(channel, StackedChannel):
        return np.asarray(np.bincount(samples, counts)[samples], dtype=np.float64)
    return np.full(len(samples), float(n))


def is_one_sample(channel: Channel) -> bool:
    """True where reports are of one sample and classes are categories.

    Then counts and n may have leading axes, for several groups at once.
    """
    return not isinstance(channel, StackedChannel) and not has_latent_classes(channel)


def check_possible(channel: Channel, counts: NDArray[Any]) -> None:
    """Raise UnknownAnswersError for counts of reports that are impossible in the design."""
    if isinstance(channel, SupportChannel):
        return
    never = int(np.asarray(counts)[..., ~transition_matrix(channel).any(axis=1)].sum())
    if never:
        raise UnknownAnswersError(
            f"{never} of {int(np.sum(counts))} reports are impossible in this design; give the "
            "mechanism that made them"
        )


def _solve(channel: Channel, rates: Floats, sizes: Floats) -> Floats:
    """Solve P pi = rates; samples without reports count as 0."""
    if isinstance(channel, StackedChannel):
        return channel.solve(np.nan_to_num(rates), sizes)
    return channel.solve(rates)


def debias(channel: Channel, counts: NDArray[Any], n: NDArray[Any] | float) -> Floats:
    """(k,) unbiased true proportions; NaN where there are too few reports."""
    check_possible(channel, counts)
    sizes = sample_sizes(channel, counts, n)
    with np.errstate(invalid="ignore"):
        return _solve(channel, np.asarray(counts) / sizes, sizes)


def weights(channel: Channel, counts: NDArray[Any]) -> Floats:
    """(k, m) the estimate is ``weights @ (rates within each sample)``.

    counts : of which only the sizes of the samples matter.
    """
    sizes = sample_sizes(channel, counts, 1)
    return np.asarray(_solve(channel, np.eye(len(sizes)), sizes).T)


def contrast_scores(channel: Channel, counts: NDArray[Any], contrasts: Floats) -> Floats:
    """(j, m) scores of the cells for (j, k) contrasts of the estimate, ``contrasts @ weights``."""
    if isinstance(channel, SupportChannel):
        shift = float(channel.prob_other) * contrasts.sum(axis=1, keepdims=True)
        return np.asarray((contrasts - shift) / channel.gap)
    return np.asarray(contrasts @ weights(channel, counts))


def variance(
    channel: Channel, counts: NDArray[Any], n: Any, target: str, *, ddof: int = 1
) -> Floats:
    """(k,) the estimated variance of `debias`, in O(k) where counts are binomial."""
    if isinstance(channel, StackedChannel) or has_latent_classes(channel):
        return np.maximum(np.diagonal(covariance(channel, counts, n, target, ddof=ddof)), 0.0)
    proportions = debias(channel, counts, n)
    return np.asarray(report_variance(channel, proportions, target) / _divisor(n, target, ddof))


def covariance(
    channel: Channel, counts: NDArray[Any], n: int, target: str, *, ddof: int = 1
) -> Floats:
    """(k, k) the estimated covariance of `debias`, over n - ddof respondents or n rows."""
    if isinstance(channel, StackedChannel):
        stacked = _separable_covariance if channel.is_separable else _joint_covariance
        return stacked(channel, np.asarray(counts), n, target, ddof=ddof)
    proportions = debias(channel, counts, n)
    if has_latent_classes(channel):  # they do not follow from the categories; the rates are known
        scores = channel.scores(np.arange(len(channel.samples)))
        with np.errstate(invalid="ignore"):
            rates = np.asarray(counts) / np.float64(n)
        return np.asarray(score_covariance(scores, rates, target) / _divisor(n, target, ddof))
    return np.asarray(channel.covariance(proportions, target) / _divisor(n, target, ddof))


def contrast_covariance(
    channel: Channel,
    counts: NDArray[Any],
    n: int,
    target: str,
    contrasts: Floats,
    *,
    ddof: int = 1,
) -> Floats:
    """(j, j) the estimated covariance of (j, k) contrasts of `debias`."""
    if isinstance(channel, StackedChannel) or has_latent_classes(channel):
        return np.asarray(
            contrasts @ covariance(channel, counts, n, target, ddof=ddof) @ contrasts.T
        )
    proportions = debias(channel, counts, n)
    moments = report_contrast_covariance(channel, proportions, target, contrasts)
    return np.asarray(moments / _divisor(n, target, ddof))


def _divisor(n: Any, target: str, ddof: int) -> Any:
    """The divisor of a variance, NaN where that is nobody; (groups, 1) of (groups,)."""
    size = n - ddof if check_target(target) == "population" else n
    if np.ndim(size):
        return np.where(size > 0, size, np.nan)[:, None]
    return float(size) if size > 0 else np.nan


def _split(channel: StackedChannel, counts: NDArray[Any]) -> list[tuple[Channel, Floats, int]]:
    """Each part with its counts and the size of its sample."""
    blocks = channel.split(counts)
    sizes = [round(float(block.sum())) for block in blocks]
    return list(zip(channel.parts, blocks, sizes, strict=True))


def _separable_covariance(
    channel: StackedChannel, counts: NDArray[Any], n: int, target: str, *, ddof: int
) -> Floats:
    """For samples that each identify the proportions: the covariance of all scores over n - ddof.

    For the population, differences between samples are counted as noise.
    """
    rows = check_target(target) == "rows"
    if not n or (not rows and n <= ddof):
        return np.full((channel.k, channel.k), np.nan)
    total = np.zeros((channel.k, channel.k))
    for part, block, size in _split(channel, counts):
        if not size:
            continue
        within = covariance(part, block, size, target, ddof=0) * size
        mean = debias(part, block, size)
        total += size * (within if rows else within + np.outer(mean, mean))
    if rows:
        return total / n**2
    mean = debias(channel, counts, n)
    return (total / n - np.outer(mean, mean)) / (n - ddof)


def _joint_covariance(
    channel: StackedChannel, counts: NDArray[Any], n: int, target: str, *, ddof: int
) -> Floats:
    """For samples that identify proportions only together: a sum over samples, size - ddof each.

    For target "rows" with people assigned to samples at random, it subtracts the variance of
    sampling the rows: Neyman (1923), with the product of proportions corrected for its variance.
    """
    rows = check_target(target) == "rows"
    sizes = sample_sizes(channel, counts, n)
    scale = weights(channel, counts)
    each = sizes[list(channel.bounds[:-1])] - (1 if rows else ddof)
    used = [bool(part.any()) for part in channel.split(scale)]
    each[~np.array(used)] = np.inf  # a sample that is not needed adds nothing
    total = np.full((channel.k, channel.k), np.nan)
    if (each > 0).all():
        rates = np.asarray(counts) / np.maximum(sizes, 1)
        total = covariance_within(scale, rates, channel.samples, each)
    if not rows:
        return total
    mean = debias(channel, counts, n)
    return ((n - 1) * total - np.diag(mean) + np.outer(mean, mean)) / max(n, 1)


# -- more of a channel -----------------------------------------------------------------------


def has_scores(channel: Channel) -> bool:
    """True where each report has a score: False if samples identify proportions only together."""
    return not isinstance(channel, StackedChannel) or channel.is_separable


def score_variances(channel: Channel, counts: NDArray[Any]) -> Floats | None:
    """(k, classes) variance of the scores of people of one class; None without `has_scores`.

    counts : only the sizes of the samples are used.
    """
    if not has_scores(channel):
        return None
    if isinstance(channel, StackedChannel):
        split = _split(channel, counts)
        n = max(sum(size for *_, size in split), 1)
        parts = [(score_variances(part, block), size / n) for part, block, size in split]
        return np.asarray(
            sum(variances * weight for variances, weight in parts if variances is not None)
        )
    if isinstance(channel, SupportChannel):
        p = float(channel.prob_truth)
        q = float(channel.prob_other)
        full = np.full((channel.k, channel.k), q * (1 - q))
        np.fill_diagonal(full, p * (1 - p))
        return full / channel.gap**2
    scores = channel.scores(np.arange(len(channel.samples))).T
    # The mean of a score is 0 or 1, so it is its own square.
    return np.maximum(scores**2 @ transition_matrix(channel) - recode_matrix(channel), 0.0)


def condition_number(channel: Channel) -> float:
    """The factor by which the estimate amplifies noise; 1 / |p - q| for k-RR and supports.

    For samples that each identify the proportions, the largest of their condition numbers.
    """
    if isinstance(channel, SupportChannel):
        return 1 / abs(channel.gap)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        return max(condition_number(part) for part in channel.parts)
    inverse = channel.solve(np.eye(len(channel.samples)))
    return float(np.linalg.norm(inverse, 2) * np.linalg.norm(transition_matrix(channel), 2))


FALSE_ALARM = 1e-9
"""A bound on the probability that the right reports of one estimate are called implausible."""


def implausible(
    channel: Channel, counts: NDArray[Any], n: int, false_alarm: float = FALSE_ALARM
) -> Booleans:
    """(k,) counts that no true proportions explain; right ones with at most ``false_alarm``.

    It uses binomial tails if counts are binomial, else one test by likelihood for all categories.
    Both bounds hold for every n, and whether true answers are fixed or drawn.
    """
    rates = channel.binomial_rates
    if rates is not None:
        low = rates.false_positive_rate
        high = rates.true_positive_rate
        return implausible_counts(np.asarray(counts), n, low, high, false_alarm=false_alarm)
    if isinstance(channel, StackedChannel) and channel.is_separable:
        of_part = false_alarm / len(channel.parts)
        each = [implausible(*part, of_part) for part in _split(channel, counts)]
        return np.asarray(np.any(each, axis=0))
    sizes = sample_sizes(channel, counts, n)
    misfit = likelihood.is_misfit(
        transition_matrix(channel), counts, sizes, false_alarm=false_alarm
    )
    return np.full(channel.k, misfit)


def _rates_of_parts(channel: Channel) -> BinomialRates | None:
    """(parts, k) rates, if counts are binomial and each sample identifies the proportions."""
    if not isinstance(channel, StackedChannel) or not channel.is_separable:
        return None
    rates = [part.binomial_rates for part in channel.parts]
    low = [part.false_positive_rate for part in rates if part is not None]
    high = [part.true_positive_rate for part in rates if part is not None]
    if not low or len(low) < len(rates):
        return None
    return BinomialRates(np.array(low), np.array(high), False)


_MOST_PROFILED = 50
"""Maximum latent classes for profile likelihood, which takes minutes for more."""

_MOST_SCORES = 1 << 20
"""Maximum classes times cells for empirical likelihood, which takes minutes for more."""


def default_method(channel: Channel) -> str:
    """The name of the default method: exact if counts are binomial, else one that is fast enough.

    The former is one of `METHODS`, the latter one of `GENERAL_METHODS`.  For samples that each
    identify the proportions, unbiased scores are the only assumption: the profile likelihood would
    assume one population for all samples.
    """
    if channel.binomial_rates is not None:
        return DEFAULT_METHOD
    parts = _rates_of_parts(channel)
    cells = len(channel.samples) if parts is None else 2 * len(parts.true_positive_rate)
    is_separable = isinstance(channel, StackedChannel) and channel.is_separable
    classes = len(channel.class_of)
    if classes <= _MOST_PROFILED and not is_separable:
        return "profile-likelihood"
    return "empirical-likelihood" if classes * cells <= _MOST_SCORES else "wald"


class ScoredMoments(Protocol):
    """Part of the moments of an estimate that its intervals use."""

    @property
    def channel(self) -> Channel:
        """P(report | truth)."""
        ...

    @property
    def reported(self) -> NDArray[Any]:
        """(m,) counts of the reports."""
        ...

    @property
    def designed(self) -> bool:
        """True where the sample has a design."""
        ...

    @property
    def proportions(self) -> Floats:
        """(k,) unbiased proportions."""
        ...

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the proportions."""
        ...

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        ...

    def scored(self, level: float) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Scores of the report cells, their counts and their samples."""
        ...


def profile_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) intervals of an estimate by profile likelihood, with the empirical likelihood's."""
    channel = moments.channel
    _, counts, _ = moments.scored(level)
    parts = recode_matrix(channel) > 0
    profiled = likelihood.profile_ends(transition_matrix(channel), counts, parts, level)
    return hull(empirical_interval(moments, level), profiled)


def empirical_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) intervals by empirical likelihood: unbiased scores are the only assumption.

    For samples that each identify the proportions, the interval is that of the mean of all scores.
    """
    channel = moments.channel
    rates = None if moments.designed else _rates_of_parts(channel)
    if isinstance(channel, StackedChannel) and rates is not None:
        split = _split(channel, moments.reported)
        blocks = np.array([block for _, block, _ in split])
        sizes = np.array([size for *_, size in split])
        return _mixed(blocks, sizes, rates, level)
    scores, counts, samples = moments.scored(level)
    return cut_to_unit(mean_interval(scores, counts, samples, level))


def wald_interval(moments: ScoredMoments, level: float) -> Interval:
    """(k,) plus and minus a t quantile of standard errors; [0, 1] where these are NaN."""
    return wald(moments.proportions, moments.std_error, student_quantile(level, moments.df))


GENERAL_METHODS: dict[str, Callable[[Any, float], Interval]] = {
    "profile-likelihood": profile_interval,
    "empirical-likelihood": empirical_interval,
    "wald": wald_interval,
}
"""Intervals of the `Moments` of an estimate whose counts are not binomial, by method."""


def _mixed(counts: Floats, sizes: NDArray[Any], rates: BinomialRates, level: float) -> Interval:
    """(k,) intervals of the mean of all scores, from binomial counts of several samples."""
    has_reports = sizes > 0
    false_positive = rates.false_positive_rate[has_reports]
    true_positive = rates.true_positive_rate[has_reports]
    gap = true_positive - false_positive
    counts = counts[has_reports]
    size = sizes[has_reports, None].astype(float)
    values = np.concatenate([(1 - false_positive) / gap, -false_positive / gap]).T
    cell_counts = np.concatenate([counts, size - counts]).T
    one_sample = np.zeros(values.shape[1], dtype=np.intp)
    empirical = mean_interval(values, cell_counts, one_sample, level)
    # Margins of the samples' exact intervals, added as independent errors.
    ends = carry(clopper_pearson_rates(counts, size, level), false_positive, true_positive)
    proportions = (counts / size - false_positive) / gap
    weight = size[:, 0] / size.sum()
    low, high = (np.sqrt(weight**2 @ (proportions - end) ** 2) for end in ends)
    mean = weight @ proportions
    return hull(cut_to_unit(empirical), cut_to_unit(Interval(mean - low, mean + high)))


def most_likely(channel: Channel, counts: NDArray[Any], *, smoothing: bool = False) -> Floats:
    """(classes,) maximum likelihood proportions inside the simplex, or those of smoothed EM."""
    check_possible(channel, counts)
    channel.solve(np.zeros(len(channel.samples)))  # raises for reports without information
    if smoothing:
        return likelihood.smoothed(transition_matrix(channel), np.asarray(counts, np.float64))
    if isinstance(channel, KRRChannel):
        rates = float(channel.prob_truth), float(channel.prob_other), channel.gap
        return likelihood.most_likely_krr(counts, *rates)
    return likelihood.most_likely(transition_matrix(channel), counts)
