"""Tallies from counts by stratum and cluster, and back: an oracle of the arrays by unit."""

from dataclasses import dataclass

import numpy as np

from rrstats.estimation.report_columns.sample_design import SampleUnits
from rrstats.estimation.tallies.tally import Tally, UnitCounts


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """Counts in one stratum and cluster.

    rows : number of reports.  reported : (m,) the count of each report cell; the sum is ``rows``
    if each report falls into one cell.
    weights : (2, m) sums of weights and of their squares by report cell.
    powers : (4,) sums over the rows of w, w^2, 1/w and 1/w^2.
    Both are None if every weight is 1.
    others : sampled rows of the same stratum and cluster that are outside the group or have no
    report: they are units of the sample that add 0 to the sums.
    """

    rows: int
    reported: np.ndarray
    weights: np.ndarray | None = None
    powers: np.ndarray | None = None
    others: int = 0

    @property
    def sums(self):
        """(2, m) `weights`; counts if all weights are 1."""
        counts = self.reported.astype(np.float64)
        return np.stack([counts, counts]) if self.weights is None else self.weights

    @property
    def totals(self):
        """(4,) `powers`; the number of rows if all weights are 1."""
        return np.full(4, float(self.rows)) if self.powers is None else self.powers

    def __eq__(self, other):
        names = ("rows", "others", "reported", "sums", "totals")
        return isinstance(other, Cell) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )


def cells_of(tally):
    """Counts by (stratum, cluster); without a design by (None, None)."""
    counts = tally.counts
    others = counts.drawn.copy()
    others[counts.places] -= counts.rows
    nothing = np.zeros(counts.reported.shape[1], dtype=np.int64)
    cells = {
        key: Cell(0, nothing, others=more)
        for key, more in zip(counts.units.keys, others.tolist(), strict=True)
    }
    weighted = counts.weights is not None
    for at, place in enumerate(counts.places.tolist()):
        key = counts.units.keys[place]
        cells[key] = Cell(
            int(counts.rows[at]),
            counts.reported[at],
            counts.sums[:, at] if weighted else None,
            counts.totals[:, at] if weighted else None,
            cells[key].others,
        )
    return cells


def tally_of(mechanism, cells, n_missing=0):
    """The tally of counts by (stratum, cluster)."""
    units = SampleUnits.from_keys(list(cells))
    ordered = [cells[key] for key in units.keys]
    rows = np.array([cell.rows for cell in ordered], dtype=np.int64)
    others = np.array([cell.others for cell in ordered], dtype=np.int64)
    reported = np.array([cell.reported for cell in ordered], dtype=np.int64)
    weights = powers = None
    if any(cell.weights is not None for cell in ordered):
        weights = np.stack([cell.sums for cell in ordered], axis=1)
        powers = np.stack([cell.totals for cell in ordered], axis=1)
    counts = UnitCounts(
        units=units,
        drawn=rows + others,
        places=np.arange(len(units)),
        rows=rows,
        reported=reported.reshape(len(units), len(mechanism.channel.samples)),
        weights=weights,
        powers=powers,
    )
    return Tally(mechanism, counts, n_missing)
