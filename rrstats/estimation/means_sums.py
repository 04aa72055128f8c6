"""What rows add up to for means by group: sums by cell, or of the scores of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import NotIdentifiableError
from rrstats.estimation import debiasing
from rrstats.estimation.analysis_columns import Variable
from rrstats.randomness.sources import BLOCK_ROWS

__all__ = ["MOST_PAIRED", "Sums", "sums_of_cells", "sums_of_rows"]


MOST_PAIRED = 256
"""Up to so many groups the covariance of their means is kept."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What the rows add up to; g samples, k groups, values less their overall mean.

    rows : (g,) how many.
    first : (2, g, k) sums of w s and of w s y.
    own : (3, k) sums of w^2 s, w^2 s y and w^2 s y^2.
    second : (3, k) the same of w^2 s^2.  fourth : (k,) sum of w^4 s^4.
    pairs : (3, k, k) the same as ``second`` for pairs of groups; None where there are too many.
    """

    rows: Floats
    first: Floats
    own: Floats
    second: Floats
    fourth: Floats
    pairs: Floats | None


def sums_of_cells(
    grouped: Variable, y: Floats, w: Floats | None, out: NDArray[np.bool_]
) -> tuple[int, Sums, Floats, bool]:
    """Sums over rows that fall into one cell each: a few sums by cell are enough."""
    m = grouped.m
    powers = ((1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (4, 0))
    counts, by_cell = np.zeros(m), np.zeros((len(powers), m))
    for start in range(0, grouped.rows, BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        codes = grouped.codes(part)
        codes[out[part]] = m
        counts += np.bincount(codes, minlength=m + 1)[:m]
        values = (np.ones_like(y[part]), y[part], y[part] * y[part])
        for place, (of_w, of_y) in enumerate(powers):
            if w is None and (of_w, of_y) in ((2, 0), (2, 1), (4, 0), (1, 0)):
                continue
            terms = values[of_y] if w is None else w[part] ** of_w * values[of_y]
            by_cell[place] += np.bincount(codes, terms, minlength=m + 1)[:m]
    if w is None:
        by_cell[[0, 2, 5]], by_cell[3] = counts, by_cell[1]
    scores, samples, apart = _scores(grouped, counts, by_cell[0])
    member = np.eye(int(samples.max()) + 1)[samples].T
    squares, paired = scores**2, len(grouped.categories) <= MOST_PAIRED
    sums = Sums(
        rows=member @ counts,
        first=np.stack([(member * part) @ scores for part in by_cell[:2]]),
        own=by_cell[2:5] @ scores,
        second=by_cell[2:5] @ squares,
        fourth=by_cell[5] @ squares**2,
        pairs=np.stack([(scores.T * b) @ scores for b in by_cell[2:5]]) if paired else None,
    )
    return int(counts.sum()), sums, _naive(grouped, by_cell), apart


def _scores(
    grouped: Variable, counts: Floats, weight: Floats
) -> tuple[Floats, NDArray[np.intp], bool]:
    """(m, k) the score of each cell, its sample (m,), and whether samples need one another.

    Where they do, a sample's share of the estimate is spread over the people in it.
    """
    everyone = np.zeros(grouped.m, dtype=np.intp)
    if grouped.mechanism is None:
        return grouped.score_table, everyone, False
    channel = grouped.mechanism.channel
    n = round(float(counts.sum()))
    shares = debiasing.debias(
        channel, counts, n
    )  # raises where reports are impossible or say nothing
    if debiasing.has_scores(channel):
        return grouped.score_table, everyone, False
    if n and np.isnan(shares).any():
        raise NotIdentifiableError(
            "a sample without reports is needed: the others alone do not identify the groups"
        )
    sizes = np.bincount(channel.samples, weight)[channel.samples]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(sizes > 0, weight.sum() / sizes, 0.0)
    return debiasing.weights(channel, counts).T * spread[:, None], channel.samples, True


def _naive(grouped: Variable, by_cell: Floats) -> Floats:
    """(k,) means by the group that a cell names; NaN where there is none."""
    sizes, tops = by_cell[:2]
    if grouped.mechanism is not None:
        sizes, tops = map(grouped.mechanism.channel.support_counts, (sizes, tops))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(tops / sizes)


def sums_of_rows(
    grouped: Variable, y: Floats, w: Floats | None, out: NDArray[np.bool_]
) -> tuple[int, Sums, Floats, bool]:
    """Sums over rows whose reports name several groups, by the scores of each row."""
    k = grouped.k
    paired = k <= MOST_PAIRED
    n, first, own, second = 0, np.zeros((2, 1, k)), np.zeros((3, k)), np.zeros((3, k))
    fourth, pairs = np.zeros(k), np.zeros((3, k, k))[: 3 * paired]
    rows = max(min(BLOCK_ROWS, (1 << 22) // k), 1)
    for start in range(0, grouped.rows, rows):
        part = slice(start, start + rows)
        scores = grouped.scores(part)
        kept = ~(out[part] | np.isnan(scores[:, 0]))
        scores, values = scores[kept], y[part][kept]
        weight = np.ones(len(values)) if w is None else w[part][kept]
        n += len(values)
        first[:, 0] += np.stack([weight, weight * values]) @ scores
        heavy = weight**2 * np.stack([np.ones_like(values), values, values**2])
        squares = scores**2
        own += heavy @ scores
        second += heavy @ squares
        fourth += weight**4 @ squares**2
        for place in range(len(pairs)):
            pairs[place] += (scores.T * heavy[place]) @ scores
    kept_pairs = pairs if paired else None
    sums = Sums(np.array([float(n)]), first, own, second, fourth, kept_pairs)
    return n, sums, np.full(k, np.nan), False
