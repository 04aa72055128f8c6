"""What a tally holds for one stratum and cluster, and how it is summed up from blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats

__all__ = ["Cell", "Sums"]

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """Counts in one stratum and cluster.

    rows : number of reports.  reported : (m,) how often each report cell occurs; their sum is
    ``rows`` where each report falls into one cell.
    weight, weight2 : (m,) sums of weights and of their squares by report cell.
    total, total2, inverse, inverse2 : sums over the rows of w, w^2, 1/w and 1/w^2.
    All six are None where every weight is 1.
    others : sampled rows of the same stratum and cluster that do not count here, because they
    are outside the group or gave no report: they are units of the sample with nothing to add.
    """

    rows: int
    reported: NDArray[np.int64]
    weight: Floats | None = None
    weight2: Floats | None = None
    inverse: float | None = None
    inverse2: float | None = None
    total: float | None = None
    total2: float | None = None
    others: int = 0

    @property
    def sums(self) -> tuple[Floats, Floats]:
        """(m,) sums of weights and of their squares by report cell; counts where all are 1."""
        counts = self.reported.astype(np.float64)
        return (
            counts if self.weight is None else self.weight,
            counts if self.weight2 is None else self.weight2,
        )

    @property
    def powers(self) -> tuple[float, float, float, float]:
        """Sums over the rows of w, w^2, 1/w and 1/w^2."""
        given = (self.total, self.total2, self.inverse, self.inverse2)
        known = [float(self.rows) if one is None else one for one in given]
        if self.weight is not None and self.total is None:  # each row falls into one cell
            known[0], known[1] = float(self.sums[0].sum()), float(self.sums[1].sum())
        return known[0], known[1], known[2], known[3]

    def __add__(self, other: Cell) -> Cell:
        rows, reported = self.rows + other.rows, self.reported + other.reported
        others = self.others + other.others
        if self.weight is None and other.weight is None:
            return Cell(rows, reported, others=others)
        (weight, weight2), (weight_, weight2_) = self.sums, other.sums
        total, total2, inverse, inverse2 = (
            one + another for one, another in zip(self.powers, other.powers, strict=True)
        )
        return Cell(
            rows,
            reported,
            weight + weight_,
            weight2 + weight2_,
            inverse,
            inverse2,
            total,
            total2,
            others,
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Cell)
            and (self.rows, self.others) == (other.rows, other.others)
            and np.array_equal(self.reported, other.reported)
            and np.array_equal(self.sums, other.sums)
            and self.powers == other.powers
        )


class Sums:
    """Counts and sums of weights, by place and report cell; a place is a group and its stratum.

    size : number of places.  m : number of report cells.
    rows, missing : (size,) reports that are there, and that are not.
    """

    def __init__(self, size: int, m: int, *, weighted: bool) -> None:
        self.size, self.m = size, m
        self.rows: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self.missing: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._reported = np.zeros(size * m, dtype=np.int64)
        self._weights = [np.zeros(size * m) for _ in range(2)] if weighted else None
        self._powers = [np.zeros(size) for _ in range(4)] if weighted else None

    @property
    def none(self) -> NDArray[np.int64]:
        """(size,) zeros."""
        return np.zeros(self.size, dtype=np.int64)

    def add_counted(self, reported: NDArray[np.int64], rows: int, missing: int) -> None:
        """Add reports that are counted already, where there is one place."""
        self._reported += reported
        self.rows += rows
        self.missing += missing

    def add(
        self,
        cells: tuple[Codes | None, Codes],
        places: Codes,
        powers: Floats | None,
        times: NDArray[np.int64] | None = None,
    ) -> None:
        """Add reports of a block.

        cells : the report cells, and of which report each is (None: one of each).
        places : (n,) the place of each report; negative where it is left out.
        powers : (4, n) sums of the powers of its weights (see `rows.powers`), or None.
        times : (n,) how many reports it stands for; None where that is 1.
        """
        reports, codes = cells
        if places.size and places.min() < 0:
            codes, reports, places, powers, times = _kept(codes, reports, places, powers, times)
        self.rows += _added(places, times, self.size)
        at = places if reports is None else places[reports]
        flat = at * self.m + codes
        each = times if times is None or reports is None else times[reports]
        self._reported += _added(flat, each, self.size * self.m)
        if powers is None or self._weights is None or self._powers is None:
            return
        told = powers if reports is None else powers[:, reports]
        for values, sums in zip(told[:2], self._weights, strict=True):
            sums += np.bincount(flat, values, minlength=self.size * self.m)
        for values, sums in zip(powers, self._powers, strict=True):
            sums += np.bincount(places, values, minlength=self.size)

    def add_missing(self, places: Codes, times: NDArray[np.int64] | None = None) -> None:
        """Add missing reports; places and times as for `add`."""
        there = places >= 0
        kept = None if times is None else times[there]
        self.missing += _added(places[there], kept, self.size)

    def cells(self, part: slice, others: NDArray[np.int64]) -> list[Cell]:
        """What was summed up at some places; their arrays are views that nobody writes to.

        others : (size,) the sampled rows of each place that do not count there.
        """
        rows, beside = self.rows[part].tolist(), others[part].tolist()
        reported = self._reported.reshape(self.size, self.m)[part]
        if self._weights is None or self._powers is None:
            plain = zip(rows, reported, beside, strict=True)
            return [Cell(one, counts, others=left) for one, counts, left in plain]
        weight, weight2 = (sums.reshape(self.size, self.m)[part] for sums in self._weights)
        total, total2, inverse, inverse2 = (sums[part].tolist() for sums in self._powers)
        fields = (rows, reported, weight, weight2, inverse, inverse2, total, total2, beside)
        return [Cell(*one) for one in zip(*fields, strict=True)]


def _added(places: Codes, times: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    """(size,) how often each place occurs; doubles hold counts exactly up to 2**53."""
    return np.bincount(places, times, minlength=size).astype(np.int64, copy=False)


def _kept(
    codes: Codes,
    reports: Codes | None,
    places: Codes,
    powers: Floats | None,
    times: NDArray[np.int64] | None,
) -> tuple[Codes, Codes | None, Codes, Floats | None, NDArray[np.int64] | None]:
    """The same without the reports that are left out."""
    keep = places >= 0
    beside = (
        places[keep],
        None if powers is None else powers[:, keep],
        None if times is None else times[keep],
    )
    if reports is None:
        return codes[keep], None, *beside
    of = keep[reports]
    return codes[of], (np.cumsum(keep) - 1)[reports[of]], *beside
