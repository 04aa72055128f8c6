"""Sums of unbiased scores of rows: all data that means, and estimates by row, need of their rows.

A row has a weight w, 1 or its sampling weight, a number y, where there is one, and scores s of the
k categories.  Means and estimates ask for sums of w s, of w^2 s and of w^2 s s', also times powers
of y, and for those of w^4 s^4.  There are two kinds of them:

    DenseSums    scores of report cells, or of rows, of any mechanism
    RowSums      scores of k-RR whose prob differs by row: with p of a row and q = (1 - p) / (k - 1)
                 they are a 1[report] - b, a = 1 / (p - q) and b = q a, so that sums by reported
                 category are enough and no array has all rows and categories
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, cast

import numpy as np

from rrstats._cached import cached_property
from rrstats._typing import Array, Booleans, Counts, Floats, Indices
from rrstats.data.columns import blocks
from rrstats.errors import NotIdentifiableError
from rrstats.estimation.report_columns.report_columns import ReportColumn
from rrstats.estimation.tallies import arrays
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.krr import RowRates
from rrstats.randomness.sources import BLOCK_ROWS

MAX_PAIRED = 256
"""Maximum number of groups for which the covariance of their means is kept."""

MAX_SCORES = 1 << 22
"""Maximum number of scores of rows in memory at once: 32 MiB."""

_BLOCK = 1 << 14
"""Rows worked on at once, so that their terms stay in cache."""


# -- scores of any mechanism -----------------------------------------------------------------


class DenseSums(NamedTuple):
    """Sums over rows of g samples that identify k groups only together; g is 1 for all others.

    rows : (g,) the number of rows.
    first : (2, g, k) sums of w s and of w s y.
    linear : (3, k) sums of w^2 s, w^2 s y and w^2 s y^2.
    second : (3, k) the same of w^2 s^2.  fourth : (k,) sum of w^4 s^4.
    pairs : (3, k, k) the same as ``second`` for pairs of groups; (3, 0, 0) if there are too many.
    """

    rows: Floats
    first: Floats
    linear: Floats
    second: Floats
    fourth: Floats
    pairs: Floats

    @classmethod
    def of(cls, counts: Floats, terms: Floats, scores: Floats, member: Floats) -> DenseSums:
        """Sums over c report cells or rows.

        counts : (c,) rows.  terms : (6, c) sums of `_terms`.  scores : (c, k) of the groups.
        member : (g, c) 1 where a cell or row belongs to a sample.
        """
        squares = scores**2
        squared_weights = terms[2:5]
        paired = scores if scores.shape[1] <= MAX_PAIRED else scores[:, :0]
        return cls(
            rows=member @ counts,
            first=np.stack([(member * term) @ scores for term in terms[:2]]),
            linear=squared_weights @ scores,
            second=squared_weights @ squares,
            fourth=terms[5] @ squares**2,
            pairs=np.stack([(paired.T * term) @ paired for term in squared_weights]),
        )

    def plus(self, other: DenseSums) -> DenseSums:
        """Sums over the rows of both."""
        return DenseSums(*map(np.add, self, other))


def _terms(y: Floats, w: Floats) -> Floats:
    """(6, n) each: w, w y, w^2, w^2 y, w^2 y^2 and w^4."""
    square = w * w
    return np.stack([w, w * y, square, square * y, square * y * y, square * square])


def _by_cell(
    grouped: ReportColumn, y: Floats, w: Floats | None, out: Booleans
) -> tuple[DenseSums, Floats]:
    """Sums by report cell; and naive means."""
    m = grouped.m
    counts = np.zeros(m)
    terms = np.zeros((6, m))
    for part in blocks(grouped.rows):
        codes = np.where(out[part], m, grouped.codes(part))
        counts += np.bincount(codes, minlength=m + 1)[:m]
        values = y[part]
        if w is None:  # the other terms are counts, or the same as these
            terms_of_rows = {1: values, 4: values**2}
        else:
            terms_of_rows = dict(enumerate(_terms(values, w[part])))
        for place, term in terms_of_rows.items():
            terms[place] += np.bincount(codes, term, minlength=m + 1)[:m]
    if w is None:
        terms[[0, 2, 5]] = counts
        terms[3] = terms[1]
    scores, samples = _scores(grouped, counts, terms[0])
    member = np.eye(int(samples.max()) + 1)[samples].T
    weights, totals = terms[:2]
    channel = grouped.channel
    if channel is not None:
        weights = channel.support_counts(weights)
        totals = channel.support_counts(totals)
    return DenseSums.of(counts, terms, scores, member), ratio(totals, weights)


def _scores(grouped: ReportColumn, counts: Floats, weight: Floats) -> tuple[Floats, Indices]:
    """(m, k) scores of cells, and (m,) their samples if these identify groups only together."""
    everyone = np.zeros(grouped.m, dtype=np.intp)
    channel = grouped.channel
    if channel is None:
        return grouped.score_table, everyone
    n = round(float(counts.sum()))
    proportions = arrays.debias(channel, counts, n)  # raises for impossible reports
    if arrays.has_scores(channel):
        return grouped.score_table, everyone
    if n and np.isnan(proportions).any():
        raise NotIdentifiableError(
            "the groups are not identifiable: a sample that they need has no reports"
        )
    return arrays.expanded_scores(channel, counts, weight), channel.samples


def _by_block(
    grouped: ReportColumn, y: Floats, w: Floats | None, out: Booleans
) -> Iterator[DenseSums]:
    """Sums over blocks of rows, for reports without common cells."""
    rows = max(min(BLOCK_ROWS, MAX_SCORES // grouped.k), 1)
    for part in blocks(max(grouped.rows, 1), rows):
        scores = grouped.scores(part)
        kept = ~(out[part] | np.isnan(scores[:, 0]))
        ones = np.ones(int(kept.sum()))
        weights = ones if w is None else w[part][kept]
        yield DenseSums.of(ones, _terms(y[part][kept], weights), scores[kept], ones[None])


# -- scores of k-RR whose prob differs by row ------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over reports whose prob differs by row; the sums of scores are those of `DenseSums`.

    mechanism : the k-RR of the largest epsilon, which has the categories; not for estimates.
    drawn : the number of rows of the data.  members : those in the group.
    by_report : by reported category (3, k) sums of 1, w and w^2.
    once : (v, 2, k) of w a and w b, for each of v powers of y: 1 or, with numbers, 2.
    twice : (t, 5, k) of w^2 times a, b, a^2, a b and b^2, for each of t powers: 1 or 3.
    fourths : (2, k) of w^4 ((a - b)^4 - b^4) and w^4 b^4; without numbers (0, k).
    sampled : whether rows have sampling weights.  largest : the largest w a of a row.
    """

    mechanism: Mechanism
    drawn: int
    members: int
    by_report: Floats
    once: Floats
    twice: Floats
    fourths: Floats
    sampled: bool
    largest: float
    plan = None

    @property
    def reported(self) -> Counts:
        """(k,) the count of each category."""
        return np.asarray(self.by_report[0], dtype=np.int64)

    @cached_property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return int(self.by_report[0].sum())

    @property
    def n_missing(self) -> int:
        """The number of missing reports."""
        return self.members - self.n

    @property
    def most(self) -> float:
        """A bound of the weighted scores of a row, over the sum of weights."""
        return float(self.largest / (self.by_report[1].sum() or np.nan))

    @property
    def rows(self) -> Floats:
        """(1,) the number of reports."""
        return np.array([self.n], dtype=np.float64)

    @property
    def first(self) -> Floats:
        """(v, 1, k) sums of w s, times powers of y."""
        of_category, every = self.once[:, :1], self.once[:, 1:]
        return np.asarray(of_category - every.sum(axis=2, keepdims=True))

    @property
    def linear(self) -> Floats:
        """(t, k) sums of w^2 s, times powers of y."""
        return np.asarray(self.twice[:, 0] - self.twice[:, 1].sum(axis=1, keepdims=True))

    @property
    def second(self) -> Floats:
        """(t, k) sums of w^2 s^2, times powers of y."""
        _, _, of_category, cross, every = self.twice.swapaxes(0, 1)
        return np.asarray(of_category - 2 * cross + every.sum(axis=1, keepdims=True))

    @cached_property
    def pairs(self) -> Floats:
        """(t, k, k) sums of w^2 s s', times powers of y."""
        _, _, of_category, cross, every = self.twice.swapaxes(0, 1)
        pairs = every.sum(axis=1)[:, None, None] - cross[:, None] - cross[:, :, None]
        place = np.arange(of_category.shape[1])
        pairs[:, place, place] += of_category
        return np.asarray(pairs)

    @property
    def fourth(self) -> Floats:
        """(k,) sums of w^4 s^4."""
        of_category, every = self.fourths
        return np.asarray(of_category + every.sum())

    @property
    def noise(self) -> Floats:
        """(2,) sums of w^2 q (1 - q) / (p - q)^2 and of w^2 (1 - 2 q) / (p - q).

        The score of a row has variance first + second f - f^2 at a true proportion f.
        """
        a, b, _, cross, every = self.twice[0].sum(axis=1)
        return np.array([cross - every, a - 2 * b])


def row_sums(
    column: ReportColumn,
    weights: Floats | None,
    *,
    groups: Indices,
    size: int = 1,
    numbers: Floats | None = None,
) -> list[RowSums]:
    """Sums over the rows of each group, in one pass.

    groups : (rows,) the number of each row's group, -1 for rows in none.
    size : the number of groups.  numbers : (rows,) the y of each row, if they have one.
    """
    rates = cast(RowRates, column.rates)
    k = column.k
    once_end, twice_end, end = (5, 10, 10) if numbers is None else (7, 22, 24)
    sums = np.zeros((end, size * k))
    unknown = 0
    without: list[Indices] = []
    largest = 0.0
    for part in blocks(column.rows, max(_BLOCK, size * k)):
        encoded = column.read(part)
        unknown += encoded.unknown
        used = np.flatnonzero((encoded.codes < k) & (groups[part] >= 0))
        rows = used + part.start
        cells = groups[rows] * k + encoded.codes[used]
        gaps = rates.gaps(rows)
        if not gaps.all():
            without.append(rows[gaps == 0])
            continue
        w = np.ones(len(rows)) if weights is None else weights[rows]
        wa = w / gaps
        wb = (1 - rates.probs[rows]) / (k - 1) * wa
        terms = _row_terms(w, wa, wb, None if numbers is None else numbers[rows])
        for total, term in zip(sums, terms, strict=True):
            total += np.bincount(cells, term, size * k)
        largest = max(largest, float(wa.max(initial=0.0)))
    column.refuse(unknown)
    if without:
        rates.check_informative(np.concatenate(without), every=True)
    members = np.bincount(groups[groups >= 0], minlength=size).tolist()
    by_group = sums.reshape(end, size, k).swapaxes(0, 1)
    return [
        RowSums(
            rates.base,
            column.rows,
            count,
            by_report=of_group[:3],
            once=of_group[3:once_end].reshape(-1, 2, k),
            twice=of_group[once_end:twice_end].reshape(-1, 5, k),
            fourths=of_group[twice_end:],
            sampled=weights is not None,
            largest=largest,
        )
        for count, of_group in zip(members, by_group, strict=True)
    ]


def _row_terms(w: Floats, wa: Floats, wb: Floats, y: Floats | None) -> Iterator[Floats | None]:
    """Terms of rows, in the order of the arrays of `RowSums`; None for ones."""
    yield from (None, w, w * w, wa, wb)
    if y is not None:
        yield from (y * wa, y * wb)
    twice = (w * wa, w * wb, wa * wa, wa * wb, wb * wb)
    yield from twice
    if y is not None:
        yield from (y * term for term in twice)
        square = y * y
        yield from (square * term for term in twice)
        every = (wb * wb) ** 2
        yield from (((wa - wb) ** 2) ** 2 - every, every)


# -- either ----------------------------------------------------------------------------------


ScoreSums = DenseSums | RowSums


def sums_of(
    grouped: ReportColumn, y: Floats, w: Floats | None, out: Booleans
) -> tuple[ScoreSums, Floats]:
    """Sums over the rows that are not left out, and naive means."""
    if grouped.has_cells:
        return _by_cell(grouped, y, w, out)
    naive = np.full(grouped.k, np.nan)
    if grouped.rates is not None:
        (sums,) = row_sums(grouped, w, groups=np.where(out, -1, 0), numbers=y)
        return sums, naive
    return reduce(DenseSums.plus, _by_block(grouped, y, w, out)), naive


def ratio(numerator: Floats | float, denominator: Array) -> Floats:
    """A ratio, NaN or infinite over 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator)
