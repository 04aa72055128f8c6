"""How reports of a matrix are drawn: one lot for each row, whatever the row's true answer.

[0, 1) is cut at the union of all columns' thresholds, so that a lot decides the report of every
truth; the report is then looked up.
Law: that of the matrix, exactly; see `randomness.cells`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats.randomness.sources import Source, cells

__all__ = ["CELL_STREAM", "Lots"]

CELL_STREAM = 0

_MOST_LOTS = 1 << 22
"""Up to here the report of every lot and truth is looked up in one table."""


class Lots:
    """The lots of a matrix, and the report of each lot for each truth.

    entries : m rows (reports) of exact numbers (truths); columns sum to 1.
    dtype : of the codes of reports.
    """

    def __init__(self, entries: Sequence[Sequence[Fraction]], dtype: np.dtype[Any]) -> None:
        columns = [_thresholds(column) for column in zip(*entries, strict=True)]
        self.classes, self.dtype = len(columns), dtype
        self.cuts, starts = _lots(columns)
        lots = self._lots = len(self.cuts) + 1
        self._table: NDArray[Any] | None = None
        self._starts = np.empty(0, dtype=np.intp)
        if lots * self.classes <= _MOST_LOTS:
            every = np.arange(lots)
            reports = [np.searchsorted(start, every, side="right") for start in starts]
            self._table = np.array(reports, dtype=dtype).T.ravel()
        else:
            shifted = np.array(starts) + np.arange(self.classes)[:, None] * (lots + 1)
            self._starts = shifted.ravel()

    def draw(self, codes: NDArray[Any], source: Source, block: int) -> NDArray[Any]:
        """The reports of one block of true codes, as codes of ``dtype``."""
        drawn = cells(source, CELL_STREAM, block, len(codes), self.cuts)
        if self._table is not None:
            drawn *= self.classes
            drawn += codes
            return np.asarray(self._table.take(drawn))
        # How many thresholds of its own column a lot has reached.
        drawn += codes * np.intp(self._lots + 1)
        reached = np.searchsorted(self._starts, drawn, side="right")
        before = codes.astype(np.intp) * (len(self._starts) // self.classes)
        return np.asarray((reached - before).astype(self.dtype))


def _thresholds(column: Sequence[Fraction]) -> tuple[int, list[int]]:
    """The sums of a column up to each report but the last, and the denominator of all."""
    common = lcm(*{entry.denominator for entry in column})
    parts = (entry.numerator * (common // entry.denominator) for entry in column)
    return common, list(accumulate(parts))[:-1]


def _lots(columns: Sequence[tuple[int, list[int]]]) -> tuple[list[Fraction], list[list[int]]]:
    """The union of all thresholds strictly between 0 and 1, and the lot at which each lies.

    Whole numbers over few denominators: fractions are slow, and made once for each cut.
    """
    tops: dict[int, set[int]] = {}
    for common, sums in columns:
        tops.setdefault(common, set()).update(sums)
    exact = {
        common: {top: Fraction(top, common) for top in found if 0 < top < common}
        for common, found in tops.items()
    }
    union = {cut for found in exact.values() for cut in found.values()}
    # In the order of the doubles, and in that of the fractions where doubles are equal.
    cuts = sorted(union, key=lambda cut: (float(cut), cut))
    lot = {cut: place for place, cut in enumerate(cuts, start=1)}
    place = {
        # A threshold of 1 lies behind every lot.
        common: {0: 0, common: len(cuts) + 1} | {top: lot[cut] for top, cut in found.items()}
        for common, found in exact.items()
    }
    return cuts, [[place[common][top] for top in sums] for common, sums in columns]
