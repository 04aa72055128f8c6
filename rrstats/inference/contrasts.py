"""Intervals of ratios, differences and sums of estimates, and of means of scores.

The delta method and Fieller's set for a ratio, MOVER for a difference of two estimates with an
interval each, Wald's test of shifts that sum to 0, and the projection onto the simplex.

For sums of means of scores and their ratios also empirical likelihood, for many problems at once.
Each problem is a sum of means, one of each sample, of a few values that were seen so and so often.
The deviance of "the sum is 0" is 2 sum c log(c / (n p)), the least over all rates p under which the
sum is 0.  A report may take any possible value, so an unseen one can explain a mean beyond all that
was seen.  With a multiplier l the rates are c / (a + l z), where the a of each sample makes them
sum to 1: of one sample a is n, and of several it is sought for each l.
Sources: Fieller (1954); Newcombe (1998), method 10, and Zou and Donner (2008) for MOVER; Held,
Wolfe and Crowder (1974) for the projection; Bell and McCaffrey (2002) for few clusters; Owen (1988,
2001, ch. 2) for empirical likelihood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rrstats._typing import Array, Floats, Indices
from rrstats.inference.optimize import ValuesAndSlopes, last_accepted, root_excess

_NO_VARIANCE = 1e-10
"""An eigenvalue of a covariance below so much of the largest is rounding error."""

RANK_TOLERANCE = 1e-10
"""Relative tolerance of the rank of a covariance."""

_ROUNDING = 1e-12
"""Relative errors up to this size are rounding."""

_INNER_STEPS = 12
"""Newton steps for the shifts of several samples; they converge quadratically from below."""

Samples = NDArray[np.intp]

Moments = tuple[Any, Any, Any]
"""Variance of the numerator, covariance with the denominator, variance of the denominator."""


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Ends = TypeVar("Ends", default=Any)
else:
    from typing import TypeVar

    Ends = TypeVar("Ends")


class Interval(NamedTuple, Generic[Ends]):
    """Both ends of an interval, scalars or arrays of one shape."""

    low: Ends
    high: Ends


def normal_quantile(level: float) -> float:
    """Standard errors to each side of an interval of this level."""
    return float(-scipy.special.ndtri((1 - level) / 2))


def student_quantile(level: float, df: ArrayLike) -> Any:
    """`normal_quantile` of Student's t on df degrees of freedom; infinite for fewer than one."""
    df = np.asarray(df, dtype=np.float64)
    return np.where(df > 0, scipy.special.stdtrit(np.maximum(df, 1), (1 + level) / 2), np.inf)[()]


def hull(first: Interval, second: Interval) -> Interval:
    """All numbers in either interval or between them."""
    return Interval(np.minimum(first.low, second.low), np.maximum(first.high, second.high))


def cut_to_unit(ends: Interval) -> Interval:
    """The part of an interval inside [0, 1]."""
    return Interval(np.clip(ends.low, 0, 1), np.clip(ends.high, 0, 1))


def wald(estimates: Floats, std_error: Floats, quantile: float | Floats) -> Interval:
    """A quantile of standard errors to both sides, not cut; [0, 1] where there are none."""
    with np.errstate(invalid="ignore"):
        margin = quantile * std_error
    has_error = np.isfinite(margin)
    low = np.where(has_error, estimates - margin, 0.0)
    high = np.where(has_error, estimates + margin, 1.0)
    return Interval(low, high)


# -- ratios --------------------------------------------------------------------------------


def ratio_variance(ratio: Any, moments: Moments) -> Any:
    """The variance of numerator - ratio * denominator; over its square, the ratio's."""
    top, both, bottom = moments
    with np.errstate(invalid="ignore"):  # of a denominator of 0
        return top - 2 * ratio * both + ratio**2 * bottom


def fieller(top: Any, bottom: Any, moments: Moments, limit: Any) -> Interval:
    """All ratios r for which ``top - r bottom`` is within its standard errors of 0.

    Parameters
    ----------
    top, bottom : float or ndarray
        Estimates of numerator and denominator.
    moments : tuple of float or ndarray
        Variance of the numerator, covariance, variance of the denominator.
    limit : float or ndarray
        The square of a quantile, normal or Student's.

    Returns
    -------
    Interval
        Without ends (infinite) where the denominator may be 0, or less.

    Notes
    -----
    At the distance d from the estimated ratio, (bottom d)^2 is at most ``limit`` times the variance
    at that ratio, a + 2 d b + d^2 c.

    Examples
    --------
    >>> low, high = fieller(0.2, 0.5, (0.0004, 0.0002, 0.0009), 1.96**2)
    >>> round(float(low), 3), round(float(high), 3)
    (0.325, 0.48)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.divide(top, bottom)
        apart = ratio_variance(ratio, moments)
        slope = limit * (ratio * moments[2] - moments[1])
        square = np.square(bottom) - limit * moments[2]
        inside = slope**2 + square * limit * apart
        bounded = (square > 0) & (np.asarray(bottom) > 0) & (inside >= -_ROUNDING * slope**2)
        root = np.sqrt(np.maximum(inside, 0.0))
        low = np.where(bounded, ratio + (slope - root) / square, -np.inf)
        high = np.where(bounded, ratio + (slope + root) / square, np.inf)
    return Interval(low[()], high[()])


def widen_outside(estimate: float, reach: float, ends: Interval) -> Interval:
    """Ends inside [0, 1]; of an estimate outside it they reach as far inward as its noise.

    reach : a quantile of standard errors.  Otherwise ends would shrink to a point, the further off
    the estimate lies.  Reports that are all alike show no noise, and then the ends are 0 and 1.
    """
    low, high = (float(np.clip(end, 0, 1)) for end in ends)
    reach = min(reach, 1.0) if reach > _ROUNDING else 1.0
    if estimate < -_ROUNDING:
        high = max(high, reach)
    if estimate > 1 + _ROUNDING:
        low = min(low, 1 - reach)
    return Interval(low, high)


# -- differences ---------------------------------------------------------------------------


def mover_difference(
    first: ArrayLike,
    first_interval: Interval,
    second: ArrayLike,
    second_interval: Interval,
    *,
    correlation: float | Floats = 0.0,
) -> Interval:
    """The difference first - second of two estimates, from their own intervals; not cut.

    Give uncut intervals (Wilson's, carried through the channel).  Lowest exact coverage of
    independent proportions at 95% on the tests' grid: 94.3%.

    >>> low, high = mover_difference(0.5, Interval(0.4, 0.6), 0.2, Interval(0.1, 0.3))
    >>> round(float(low), 6), round(float(high), 6)
    (0.158579, 0.441421)
    """

    def joined(first_margin: Floats, second_margin: Floats) -> Floats:
        endless = np.isinf(first_margin) | np.isinf(second_margin)
        d1 = np.where(endless, 0.0, first_margin)
        d2 = np.where(endless, 0.0, second_margin)
        squared = d1**2 + d2**2 - 2 * correlation * d1 * d2
        return np.where(endless, np.inf, np.sqrt(np.maximum(squared, 0.0)))

    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    low = a - b - joined(a - first_interval.low, second_interval.high - b)
    high = a - b + joined(first_interval.high - a, b - second_interval.low)
    return Interval(low, high)


# -- sums ----------------------------------------------------------------------------------


def known_sum_map(covariance: Floats) -> Floats:
    """(k, k) the map that moves numbers by their covariance with their sum until it is 0.

    The identity where the sum does not vary.
    """
    with_sum = covariance.sum(axis=1)
    sum_variance = with_sum.sum()
    projection = np.eye(len(covariance))
    if sum_variance > _NO_VARIANCE * np.trace(covariance):
        projection -= np.outer(with_sum, np.ones(len(covariance))) / sum_variance
    return projection


def with_known_sum(values: Floats, covariance: Floats, total: float = 1.0) -> tuple[Floats, Floats]:
    """Numbers whose sum is known, moved so that they have it, and their covariance then.

    As they are where their estimated sum does not vary.
    """
    projection = known_sum_map(covariance)
    centre = total / len(values)
    return projection @ (values - centre) + centre, projection @ covariance


def wald_statistic(shift: Floats, covariance: Floats, scale: float = 0.0) -> tuple[float, int]:
    """The squared distance of a shift that is known to sum to 0, and its degrees of freedom.

    shift : (k,).  covariance : (k, k), of rank k - 1 where estimates sum to 1, and k where they
    do not (reports that name several categories); then the part of the noise that their sum
    reveals is removed first.  NaN where a part of the shift has no variance at all.
    scale : the size of the terms that were summed to the covariance, where they are larger; values
        tiny beside them are rounding.
    """
    if not np.isfinite(covariance).all() or not np.isfinite(shift).all():
        return float("nan"), len(shift) - 1
    shift, covariance = with_known_sum(shift, covariance, 0.0)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > np.maximum(_NO_VARIANCE * max(values[-1], 0.0), _ROUNDING * scale)
    components = vectors.T @ shift
    without_variance = np.abs(components[~kept]).max(initial=0.0)
    df = int(kept.sum())
    is_rounding = without_variance <= 1e-7 * max(np.abs(shift).max(), 1e-300)
    if not is_rounding and without_variance > _ROUNDING:
        return float("nan"), df
    return float((components[kept] ** 2 / values[kept]).sum()), df


def raise_covariance(covariance: Floats, least: Floats) -> Floats:
    """A covariance, made larger where a contrast has less variance than ``least`` gives it.

    The same for every contrast that has more.
    """
    if not (np.isfinite(covariance).all() and np.isfinite(least).all()):
        return covariance
    values, vectors = np.linalg.eigh(least)
    kept = values > _NO_VARIANCE * max(values[-1], 0.0)
    root = vectors[:, kept] * np.sqrt(values[kept])
    inverse = vectors[:, kept] / np.sqrt(values[kept])
    ratios, eigenvectors = np.linalg.eigh(inverse.T @ covariance @ inverse)
    lifted = root @ eigenvectors
    return np.asarray(covariance + (lifted * np.maximum(1 - ratios, 0.0)) @ lifted.T)


def project_to_simplex(proportions: Array) -> Floats:
    """The nearest numbers that are at least 0 and sum to 1 (Euclidean, along the last axis).

    >>> project_to_simplex(np.array([0.5, 0.3, 0.25, 0.1, -0.05, -0.1]))
    array([0.4625, 0.2625, 0.2125, 0.0625, 0.    , 0.    ])
    """
    falling = -np.sort(-proportions, axis=-1)
    surplus = falling.cumsum(axis=-1) - 1
    kept = (falling * np.arange(1, proportions.shape[-1] + 1) > surplus).sum(-1, keepdims=True)
    shift = np.take_along_axis(surplus, kept - 1, axis=-1) / kept
    return np.asarray(np.maximum(proportions - shift, 0.0))


# -- empirical likelihood ----------------------------------------------------------------------


def mean_interval(
    values: Floats,
    counts: Floats,
    samples: Samples | None,
    level: float = 0.95,
    *,
    bounded: bool = False,
) -> Interval:
    """(c,) the sums of means that are not refused; samples without reports have no part.

    Parameters
    ----------
    values : ndarray of shape (c, g)
        All values that are possible, for each problem.
    counts : ndarray of shape (c, g) or (g,)
        How often each was seen.
    samples : ndarray of shape (g,), optional
        The sample of each value.
    level : float
        Confidence level.
    bounded : bool
        Whether the sums must lie in [0, 1]: deviances are then taken from the best inside.

    Returns
    -------
    Interval
        Both ends; not cut.

    Examples
    --------
    >>> low, high = mean_interval(np.eye(2), np.array([20.0, 30.0]), None)
    >>> low.round(4), high.round(4)
    (array([0.2717, 0.4617]), array([0.5383, 0.7283]))
    """
    used, member = _seen(counts, samples)
    values = values[:, used]
    counts = counts[..., used]
    far = [sign * _least(sign * values, member).sum(axis=1) for sign in (1, -1)]
    pair = np.stack([values, np.full(values.shape, 1 / len(member))])
    return _interval(pair, counts, far, level, bounded=bounded, rising=True, member=member)


def ratio_interval(
    pair: Floats,
    counts: Floats,
    samples: Samples | None,
    level: float = 0.95,
    *,
    bounded: bool = False,
) -> Interval:
    """(c,) the ratios in [0, 1] of two sums of means that are not refused.

    Where 0, or 1, is not refused, it is an end, whatever is refused on the way: then the bottom
    may be nobody.  pair : (2, c, g) values of both.  Otherwise as `mean_interval`.
    """
    used, member = _seen(counts, samples)
    far = [np.zeros(pair.shape[1]), np.ones(pair.shape[1])]
    pair = pair[..., used]
    counts = counts[..., used]
    return _interval(pair, counts, far, level, bounded=bounded, rising=False, member=member)


def _seen(counts: Floats, samples: Samples | None) -> tuple[Any, Floats]:
    """The values of samples with reports, and (S, g) 1 where one of those is of a sample."""
    if samples is None:
        return slice(None), np.ones((1, counts.shape[-1]))
    seen = np.unique(samples[counts.reshape(-1, len(samples)).any(axis=0)])
    used = np.isin(samples, seen)
    return used, (seen[:, None] == samples[used]).astype(np.float64)


def _least(values: Floats, member: Floats) -> Floats:
    """(c, S) the least value of each sample."""
    return np.stack([values[:, part > 0].min(axis=1) for part in member], axis=1)


def _best(top: Floats, bottom: Floats, counts: Floats, member: Floats) -> Floats:
    """(c,) the estimated ratio; 1/2 where the denominator is not above 0."""
    rates = counts / (counts @ member.T @ member)
    numerator = (rates * top).sum(axis=1)
    denominator = (rates * bottom).sum(axis=1)
    half = np.full(len(top), 0.5)
    return np.asarray(np.divide(numerator, denominator, out=half, where=denominator > 0))


def _interval(
    pair: Floats,
    counts: Floats,
    far: list[Floats],
    level: float,
    *,
    bounded: bool,
    rising: bool,
    member: Floats,
) -> Interval:
    """Both ends of the accepted ratios, sought together, on the way from the best to the far.

    rising : whether deviances rise all the way, so that the search may begin at Wald's ends; else
    it begins at the far, which are the ends where they are not refused.
    """
    top, bottom = pair
    counts = np.broadcast_to(counts, top.shape)
    best = _best(top, bottom, counts, member)
    limits = np.full(len(top), normal_quantile(level) ** 2)
    if bounded:
        out = np.flatnonzero((best < 0) | (best > 1))
        near = np.clip(best[out], 0, 1)[:, None]
        limits[out] += _deviance(top[out] - near * bottom[out], counts[out], member)[0]

    def excess(which: Indices, ratio: Floats) -> ValuesAndSlopes:
        which = which % len(top)
        below = bottom[which]
        values = top[which] - ratio[:, None] * below
        value, multiplier, likely = _deviance(values, counts[which], member)
        return root_excess(value, -2 * multiplier * (likely * below).sum(axis=1), limits[which])

    inside = np.clip(best, *far)
    start = np.array(far)
    if rising:
        error = _linearized_error(top, bottom, counts, inside, member=member)
        with np.errstate(invalid="ignore"):  # no mean inside [0, 1] is possible, or it is known
            margin = np.sqrt(limits) * error
        near = np.array([inside - margin, inside + margin])
        is_between = (far[0] < near[0]) & (near[0] < inside) & (near[1] < far[1])
        start = np.where(is_between, near, start)
    ends = last_accepted(excess, np.tile(inside, 2), np.concatenate(far), start.ravel())
    return Interval(ends[: len(top)], ends[len(top) :])


def _linearized_error(
    top: Floats, bottom: Floats, counts: Floats, ratio: Floats, *, member: Floats
) -> Floats:
    """(c,) the standard errors of ratios by the delta method; NaN over a denominator of 0."""
    sizes = counts @ member.T
    rates = counts / (sizes @ member)
    residuals = top - ratio[:, None] * bottom
    means = (rates * residuals) @ member.T
    variances = ((rates * residuals**2) @ member.T - means**2) / sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(variances.sum(axis=1), 0.0)
        return np.asarray(np.sqrt(variance) / (rates * bottom).sum(axis=1))


def _deviance(values: Floats, counts: Floats, member: Floats) -> tuple[Floats, Floats, Floats]:
    """(c,) the deviance of "the sum is 0"; its multiplier; and (c, g) the rates that reach it.

    values : (c, g) all that are possible.  Infinite where no rates will do.
    """
    sizes = counts @ member.T @ member
    sums = (counts / sizes * values).sum(axis=1)
    signs = np.where(sums < 0, -1.0, 1.0)
    values = values * signs[:, None]  # with a sum of at least 0, lowered by multipliers above 0
    least = _least(values, member)
    size = np.abs(values).max(axis=1)
    possible = (sums != 0) & (least.sum(axis=1) < -1e-14 * size)
    start = np.abs(sums) / np.maximum((counts / sizes**2 * values**2).sum(axis=1), 1e-300)
    last = np.where(possible, np.inf, 0.0)
    if len(member) == 1:  # up to where the least value has rate 1; there, if it was never seen
        last[possible] = sizes[possible, 0] / -least[possible, 0]
        seen = ((values == least) & (counts > 0)).any(axis=1)
        start = np.where(seen, np.minimum(start, last / 2), last)
    shift = np.zeros_like(least)

    def excess(which: Indices, multiplier: Floats) -> ValuesAndSlopes:
        mean_sum, fall, shift[which] = _tilted_means(
            multiplier, values[which], counts[which], least=least[which], member=member
        )
        return -mean_sum, fall

    multiplier = last_accepted(excess, np.zeros(len(values)), last, start, close=1e-11 * size)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = (shift @ member + multiplier[:, None] * values) / sizes
        deviance = 2 * np.where(counts > 0, counts * np.log1p(tilt), 0.0).sum(axis=1)
        likely = np.where(counts > 0, counts / (1 + tilt) / sizes, 0.0)
    for part in member > 0:  # rates that nothing seen takes up are of the least possible value
        lowest = np.flatnonzero(part)[values[:, part].argmin(axis=1)]
        likely[np.arange(len(likely)), lowest] += np.maximum(1 - likely[:, part].sum(axis=1), 0.0)
    deviance = np.where(possible, np.maximum(deviance, 0.0), np.inf)
    deviance = np.where(sums == 0, 0.0, deviance)
    return deviance, multiplier * signs, likely


def _tilted_means(
    multiplier: Floats, values: Floats, counts: Floats, *, least: Floats, member: Floats
) -> tuple[Floats, Floats, Floats]:
    """(c,) the sum of the samples' means of tilted rates, how fast it falls, and (c, S) shifts.

    A cell of sample s has the rate count / (n_s + shift_s + multiplier * value); `_deviance` finds
    the multiplier at which the sum is 0.  There the rates of one sample sum to 1 without a shift.
    Of several, each has the shift at which its rates sum to 1, or the least shift possible where
    they sum to less: the rest of the rate is then of its least value.
    """
    sizes = counts @ member.T
    seen = counts > 0
    if len(member) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            denominators = np.maximum(sizes + multiplier[:, None] * values, 0.0)
            parts = np.where(seen, values / denominators, 0.0)
            mean_sum = (counts * parts).sum(axis=1)
            fall = (counts * parts**2).sum(axis=1)
        return mean_sum, fall, np.zeros_like(least)
    gaps = values - least @ member
    slack = multiplier[:, None] * gaps
    # The denominator of a sample's least value; those of its other values are larger by the slack.
    extra = np.stack([(counts - slack)[:, part > 0].max(axis=1) for part in member], axis=1)
    extra = np.maximum(extra, 0.0)
    # Newton from below on the inverse of the sum of rates, which is concave.  Where one value has
    # rate 1 the sum is at least 1; where the sum is below 1 without an addition, none is made.
    for _ in range(_INNER_STEPS):
        denominators = np.where(seen, extra @ member + slack, 1.0)
        curvatures = counts / denominators**2
        total = (counts / denominators) @ member.T
        step = np.maximum(total - 1, 0.0) * total
        extra += np.divide(step, curvatures @ member.T, out=np.zeros_like(step), where=step > 0)
    within = curvatures @ member.T
    weighted_gaps = (curvatures * gaps) @ member.T
    turn = np.divide(weighted_gaps, within, out=np.zeros_like(extra), where=extra > 0)
    mean_sum = least.sum(axis=1) + (counts / denominators * gaps).sum(axis=1)
    fall = (curvatures * gaps * (gaps - turn @ member)).sum(axis=1)
    return mean_sum, fall, extra - sizes - multiplier[:, None] * least
