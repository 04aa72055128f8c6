"""Intervals by empirical likelihood for many means and ratios of means at once.

Each problem is a mean of a few values, seen so and so often; a ratio of two such means is the r
for which the mean of ``top - r bottom`` is 0.  The deviance of "the mean of z is 0" is
2 max_l sum c log(1 + l z), over all l with 1 + l z >= 0 for every possible value, seen or not:
a concave problem in one number.  A report may take any possible value, so that an unseen one can
explain a mean beyond what was seen.
It is `general_intervals.empirical` for one sample, for thousands of problems in milliseconds.
Source: Owen (1988, 2001, ch. 2).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["bounded_limit", "deviance", "mean_ends", "quantile", "ratio_ends"]

Floats = NDArray[np.float64]

_STEPS = 60
"""Newton steps, halvings among them; 8 are usual."""


def quantile(level: float) -> float:
    """What a deviance may be at most."""
    return float(scipy.special.ndtri((1 + level) / 2) ** 2)


def deviance(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """(c,) the deviance of "the mean is 0", and the multiplier l that reaches it.

    values : (c, g) all that are possible.  counts : (c, g).  Infinite where no law will do.
    """
    sums = (counts * values).sum(axis=1)
    signs = np.where(sums < 0, -1.0, 1.0)
    least = np.min(values * signs[:, None], axis=1)
    scale = np.where(least < 0, -least, 1.0)
    y = values * (signs / scale)[:, None]  # at least -1, with a mean of at least 0
    # The slope falls from above 0; what is sought is its root in [0, 1], or 1.
    low, high = np.zeros(len(y)), np.ones(len(y))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = counts > 0
        at_end = np.where(seen, counts * y / (1 + y), 0.0).sum(axis=1)
        blocked = (seen & (y <= -1)).any(axis=1)
        u = np.where(~blocked & (at_end >= 0), 1.0, 0.5)
        left = np.flatnonzero((sums != 0) & (least < 0) & (u < 1))
        for _ in range(_STEPS):
            if not left.size:
                break
            ratio = y[left] / (1 + u[left, None] * y[left])
            slope = (counts[left] * ratio).sum(axis=1)
            curve = (counts[left] * ratio**2).sum(axis=1)
            low[left] = np.where(slope > 0, u[left], low[left])
            high[left] = np.where(slope > 0, high[left], u[left])
            step = slope / curve
            new = u[left] + step
            inside = (low[left] <= new) & (new <= high[left])
            u[left] = np.where(inside, new, (low[left] + high[left]) / 2)
            left = left[np.abs(step) > 1e-13 * u[left]]
        logs = np.where(seen, counts * np.log1p(u[:, None] * y), 0.0).sum(axis=1)
    found = np.where(sums == 0, 0.0, np.where(least < 0, 2 * np.maximum(logs, 0.0), np.inf))
    return found, np.where(sums == 0, 0.0, u * signs / scale)


def mean_ends(values: Floats, counts: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """(c,) the least and the greatest mean whose deviance is at most the limit; not cut.

    limit : (c,) one for each problem.
    """
    mean = (counts * values).sum(axis=1) / counts.sum(axis=1)
    return _ends(
        values,
        np.ones_like(values),
        counts,
        limit,
        mean,
        (values.min(axis=1), values.max(axis=1)),
    )


def ratio_ends(top: Floats, bottom: Floats, counts: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """(c,) the ends of the ratios in [0, 1] for which top - r bottom may have mean 0.

    Where 0, or 1, is not refused, it is an end, whatever is refused on the way: then the bottom
    may be nobody.
    """
    sums = [(counts * part).sum(axis=1) for part in (top, bottom)]
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(sums[1] > 0, sums[0] / sums[1], 0.5)
    best = np.clip(best, 0, 1)
    # An estimate outside [0, 1] is compared with the nearest ratio inside.
    given = limit + deviance(top - best[:, None] * bottom, counts)[0]
    return _ends(top, bottom, counts, given, best, (np.zeros(len(top)), np.ones(len(top))))


def bounded_limit(values: Floats, counts: Floats, limit: float) -> Floats:
    """(c,) the limit where means must lie in [0, 1]: deviances are taken from the best inside."""
    mean = (counts * values).sum(axis=1) / counts.sum(axis=1)
    found = np.full(len(values), limit)
    out = np.flatnonzero((mean < 0) | (mean > 1))
    nearest = np.clip(mean[out], 0, 1)[:, None]
    found[out] += deviance(values[out] - nearest, counts[out])[0]
    return found


def _ends(
    top: Floats,
    bottom: Floats,
    counts: Floats,
    limit: Floats,
    best: Floats,
    far: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Both ends, solved together."""
    twice = [np.concatenate([held, held]) for held in (top, bottom, counts, limit, best)]
    found = _end(twice[0], twice[1], twice[2], twice[3], twice[4], np.concatenate(far))
    return found[: len(top)], found[len(top) :]


def _end(
    top: Floats, bottom: Floats, counts: Floats, limit: Floats, best: Floats, far: Floats
) -> Floats:
    """(c,) the last accepted r on the way from the best to the far one.

    Newton's method on the root of the deviance, which is nearly linear, between an r that is
    accepted and one that is not; where it leaves them or gains little, the middle.
    """
    accepted, refused = best.astype(np.float64), far.astype(np.float64)
    at_far = deviance(top - far[:, None] * bottom, counts)[0]
    accepted[at_far <= limit] = far[at_far <= limit]
    left = np.flatnonzero((at_far > limit) & np.isfinite(limit) & (accepted != refused))
    r = (accepted + refused) / 2
    n = counts.sum(axis=1)
    missed = np.full(len(r), np.inf)
    halve = np.zeros(len(r), dtype=bool)
    root = np.sqrt(limit)
    for _ in range(_STEPS):
        if not left.size:
            break
        z, b, c = top[left] - r[left, None] * bottom[left], bottom[left], counts[left]
        value, tilt = deviance(z, c)
        ok = value <= limit[left]
        accepted[left] = np.where(ok, r[left], accepted[left])
        refused[left] = np.where(ok, refused[left], r[left])
        gap = np.abs(np.sqrt(value) - root[left])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            law = np.where(c > 0, c / (1 + tilt[:, None] * z), 0.0)
            # What the seen values leave of the law stands on the possible value next to its pole.
            rest = np.maximum(n[left] - law.sum(axis=1), 0.0)
            pole = np.argmin(1 + tilt[:, None] * z, axis=1)
            weight = (law * b).sum(axis=1) + rest * b[np.arange(len(b)), pole]
            slope = -tilt * weight / np.sqrt(value)
            new = r[left] - (np.sqrt(value) - root[left]) / slope
        a, f = accepted[left], refused[left]
        inside = (np.minimum(a, f) < new) & (new < np.maximum(a, f)) & ~halve[left]
        halve[left] = inside & ~(gap < missed[left] / 2)
        missed[left] = gap
        found = gap <= 1e-9
        r[left] = np.where(found, r[left], np.where(inside, new, (a + f) / 2))
        left = left[~found & (np.abs(f - a) > 1e-14)]
    return np.where(missed <= 1e-9, r, accepted)
