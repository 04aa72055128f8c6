"""The likeliest table inside the simplex, without the Kronecker product of its columns.

The joint shares phi of the classes have the log-likelihood sum c log(rates), with the rates phi
carried through each column's matrix in turn.  EM multiplies phi by what each share gains, which
stays inside the simplex; squared extrapolation makes it several times as fast; and
``max_x g_x - n`` bounds what is still to gain.  A table that is small enough goes to
`likelihood.most_likely` instead, which is exact.
Sources: Dempster, Laird and Rubin (1977); Varadhan and Roland (2008), scheme S3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from rrstats import likelihood
from rrstats.crosstabs.axes import Axis, contract
from rrstats.errors import RRStatsWarning, warn

__all__ = ["climb", "most_likely"]

Floats = NDArray[np.float64]

_MOST_ENTRIES = 1 << 20
"""Entries of a Kronecker product that is solved exactly; a table of 1,000 cells."""

_STEPS = 20_000

_GAP = 1e-9
"""What the log-likelihood per report may miss."""


def most_likely(axes: Sequence[Axis], counts: NDArray[np.int64]) -> Floats:
    """(k1, ..., kd) the likeliest shares inside the simplex."""
    matrices = [axis.likelihood for axis in axes]
    classes = tuple(matrix.shape[1] for matrix in matrices)
    if prod(matrix.size for matrix in matrices) <= _MOST_ENTRIES:
        whole: Floats = reduce(lambda one, other: np.asarray(np.kron(one, other)), matrices)
        shares = likelihood.most_likely(whole, counts.ravel()).reshape(classes)
    else:
        shares = climb(matrices, counts)
    return contract(shares, [axis.shown.T for axis in axes])


def climb(matrices: Sequence[Floats], counts: NDArray[np.int64]) -> Floats:
    """(c1, ..., cd) the likeliest shares of the classes, by accelerated EM."""
    reported = np.asarray(counts, dtype=np.float64)
    n = reported.sum()
    shares = np.full(tuple(m.shape[1] for m in matrices), 1.0)
    shares /= shares.size
    forward, back = [m.T for m in matrices], list(matrices)

    def gains(phi: Floats) -> tuple[Floats, float]:
        """What a share gains per report, and the log-likelihood per report."""
        law = contract(phi, forward)
        seen = reported > 0
        if not (law[seen] > 0).all():
            return np.zeros_like(phi), -np.inf
        ratio = np.divide(reported, law, out=np.zeros_like(law), where=seen)
        value = float(reported[seen] @ np.log(law[seen])) / n
        return contract(ratio, back) / n, value

    gap = np.inf
    for _ in range(_STEPS):
        gain, _ = gains(shares)
        gap = float(gain.max() - (shares * gain).sum())
        if gap <= _GAP:
            return shares
        first = shares * gain
        again, before = gains(first)
        second = first * again
        step, bend = first - shares, second - 2 * first + shares
        length = np.linalg.norm(step) / max(float(np.linalg.norm(bend)), 1e-300)
        # Extrapolated as far as it stays inside, and kept if it is no worse than plain EM.
        leap = shares + 2 * length * step + length**2 * bend
        if length > 1 and (leap > 0).all():
            leap /= leap.sum()
            pulled, value = gains(leap)
            if value >= before:
                second = leap * pulled
        shares = second / second.sum()
    warn(
        f"the likeliest table was not reached in {_STEPS:,} steps: its log-likelihood may miss "
        f"{n * gap:.3g}; merge categories, or use the unbiased shares",
        RRStatsWarning,
    )
    return shares
