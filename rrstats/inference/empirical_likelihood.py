"""Empirical likelihood of means of scores and of their ratios, for many problems at once.

Each problem is a sum of means, one of each sample, of a few values that were seen so and so often.
The deviance of "the sum is 0" is 2 sum c log(c / (n p)), the least over all rates p under which the
sum is 0.  A report may take any possible value, so an unseen one can explain a mean beyond all that
was seen.  With a multiplier l the rates are c / (a + l z), where the a of each sample makes them
sum to 1: of one sample a is n, and of several it is sought for each l.
Sources: Owen (1988, 2001, ch. 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.optimize import last_accepted, root_excess

Samples = NDArray[np.intp]

_INNER_STEPS = 12


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
    values, counts = values[:, used], counts[..., used]
    far = [sign * _least(sign * values, member).sum(axis=1) for sign in (1, -1)]
    pair = np.stack([values, np.full(values.shape, 1 / len(member))])
    return _interval(pair, counts, far, level, bounded=bounded, member=member)


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
    pair, counts = pair[..., used], counts[..., used]
    return _interval(pair, counts, far, level, bounded=bounded, member=member)


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
    above, below = (rates * top).sum(axis=1), (rates * bottom).sum(axis=1)
    return np.asarray(np.divide(above, below, out=np.full(len(top), 0.5), where=below > 0))


def _interval(
    pair: Floats,
    counts: Floats,
    far: list[Floats],
    level: float,
    *,
    bounded: bool,
    member: Floats,
) -> Interval:
    """Both ends of the accepted ratios, sought together, on the way from the best to the far."""
    top, bottom = pair
    counts = np.broadcast_to(counts, top.shape)
    best = _best(top, bottom, counts, member)
    limits = np.full(len(top), normal_quantile(level) ** 2)
    if bounded:
        out = np.flatnonzero((best < 0) | (best > 1))
        near = np.clip(best[out], 0, 1)[:, None]
        limits[out] += _deviance(top[out] - near * bottom[out], counts[out], member)[0]

    def excess(which: NDArray[np.intp], ratio: Floats) -> tuple[Floats, Floats]:
        which = which % len(top)
        below = bottom[which]
        values = top[which] - ratio[:, None] * below
        value, multiplier, likely = _deviance(values, counts[which], member)
        return root_excess(value, -2 * multiplier * (likely * below).sum(axis=1), limits[which])

    found = last_accepted(excess, np.tile(np.clip(best, *far), 2), np.concatenate(far))
    return Interval(found[: len(top)], found[len(top) :])


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

    def excess(which: NDArray[np.intp], multiplier: Floats) -> tuple[Floats, Floats]:
        slope, fall, shift[which] = _slope(
            multiplier, values[which], counts[which], least=least[which], member=member
        )
        return -slope, fall

    multiplier = last_accepted(excess, np.zeros(len(values)), last, start, close=1e-11 * size)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = (shift @ member + multiplier[:, None] * values) / sizes
        found = 2 * np.where(counts > 0, counts * np.log1p(tilt), 0.0).sum(axis=1)
        likely = np.where(counts > 0, counts / (1 + tilt) / sizes, 0.0)
    for part in member > 0:  # rates that nothing seen takes up are of the least possible value
        lowest = np.flatnonzero(part)[values[:, part].argmin(axis=1)]
        likely[np.arange(len(likely)), lowest] += np.maximum(1 - likely[:, part].sum(axis=1), 0.0)
    found = np.where(sums == 0, 0.0, np.where(possible, np.maximum(found, 0.0), np.inf))
    return found, multiplier * signs, likely


def _slope(
    multiplier: Floats, values: Floats, counts: Floats, *, least: Floats, member: Floats
) -> tuple[Floats, Floats, Floats]:
    """(c,) the sum of the tilted means, how fast it falls with the multiplier, and (c, S) shifts.

    The rates are c / (n + shift + multiplier * value).  Of one sample the shift is 0 where the sum
    is; of several it is what makes the rates of each sum to 1, or leaves its least value none.
    """
    sizes, seen = counts @ member.T, counts > 0
    if len(member) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.maximum(sizes + multiplier[:, None] * values, 0.0)
            parts = np.where(seen, values / whole, 0.0)
            slope, fall = (counts * parts).sum(axis=1), (counts * parts**2).sum(axis=1)
        return slope, fall, np.zeros_like(least)
    gaps = values - least @ member
    slack = multiplier[:, None] * gaps
    extra = np.stack([(counts - slack)[:, part > 0].max(axis=1) for part in member], axis=1)
    extra = np.maximum(extra, 0.0)
    # Newton from below on the inverse of the sum of rates, which is concave.  Where one value alone
    # has rate 1 the sum is at least 1; where nothing added leaves less than 1, nothing is.
    for _ in range(_INNER_STEPS):
        whole = np.where(seen, extra @ member + slack, 1.0)
        bends, total = counts / whole**2, (counts / whole) @ member.T
        step = np.maximum(total - 1, 0.0) * total
        extra += np.divide(step, bends @ member.T, out=np.zeros_like(step), where=step > 0)
    within = bends @ member.T
    turn = np.divide((bends * gaps) @ member.T, within, out=np.zeros_like(extra), where=extra > 0)
    slope = least.sum(axis=1) + (counts / whole * gaps).sum(axis=1)
    fall = (bends * gaps * (gaps - turn @ member)).sum(axis=1)
    return slope, fall, extra - sizes - multiplier[:, None] * least
