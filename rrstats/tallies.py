"""Tallies: counts of reports that add, and all that estimation needs of the data.

A tally keeps, for every stratum and cluster and each of the m report cells, how many reports
there were (n), the sum of their weights and of the squared weights.  Parts counted
anywhere merge to the whole, exactly for integers.  Missing reports stand apart, outside n.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.containers import form_of
from rrstats.domain import Domain
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms import Mechanism, as_mechanism
from rrstats.variables import reports_of

__all__ = ["Cell", "Tally", "tally"]

EVERYONE: tuple[Hashable, Hashable] = (None, None)
"""The one (stratum, cluster) of a survey without strata and clusters."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Counts in one stratum and cluster.

    rows : number of reports.  reported : (m,) how often each report cell occurs; their sum is
    ``rows`` where each report falls into one cell.  weight, weight2 : (m,) sums of weights and
    of their squares; None where every weight is 1, and then both equal ``reported``.
    """

    rows: int
    reported: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    weight2: NDArray[np.float64] | None = None

    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = self.reported.astype(np.float64)
        return (
            counts if self.weight is None else self.weight,
            counts if self.weight2 is None else self.weight2,
        )

    def __add__(self, other: Cell) -> Cell:
        rows, reported = self.rows + other.rows, self.reported + other.reported
        if self.weight is None and other.weight is None:
            return Cell(rows, reported)
        (weight, weight2), (weight_, weight2_) = self._sums(), other._sums()
        return Cell(rows, reported, weight + weight_, weight2 + weight2_)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Cell)
            and self.rows == other.rows
            and np.array_equal(self.reported, other.reported)
            and np.array_equal(self._sums(), other._sums())
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays


@dataclass(frozen=True, eq=False)
class Tally:
    """Counted reports of one mechanism.

    mechanism : what made the reports.
    cells : counts by (stratum, cluster); a survey without them has the one key (None, None).
    missing : reports that are missing, not in n.

    Add tallies of equal mechanisms with ``+``; ``sum`` works too.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> whole = Tally.from_counts({"no": 5, "yes": 3}, m) + rr.tally(["yes", None], m)
    >>> whole.reported, whole.n, whole.missing
    (array([5, 4]), 9, 1)
    """

    mechanism: Mechanism
    cells: Mapping[tuple[Hashable, Hashable], Cell]
    missing: int = 0

    @property
    def reported(self) -> NDArray[np.int64]:
        """(m,) how often each report cell occurs, over all strata and clusters."""
        total = np.zeros(self.mechanism.channel.m, dtype=np.int64)
        for cell in self.cells.values():
            total += cell.reported
        return total

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return sum(cell.rows for cell in self.cells.values())

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        mechanism: Any,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        n: int | None = None,
        missing: int = 0,
    ) -> Tally:
        """A tally of reports that were counted elsewhere.

        counts : mapping from category to number of reports (a Series counts as one), or k
            numbers in the categories' order; categories left out have none, and a missing label
            counts missing reports, unless it is a category.
        mechanism, prob, epsilon : a mechanism, or categories with prob or epsilon.  Where it has
            several samples, ``counts`` is a mapping from sample to the counts in it.
        n : number of reports; needed where a report supports several categories, as counts then
            do not sum to it.
        missing : number of missing reports, besides those of a missing label.
        Raises ArgumentValueError for counts that are negative or not whole, and for
        reports outside the categories.

        >>> import rrstats as rr
        >>> Tally.from_counts({"yes": 3, "no": 5}, rr.KRR(["no", "yes"], 0.75)).reported
        array([5, 3])
        """
        described = as_mechanism(mechanism, prob, epsilon)
        form = form_of(described.report_space)
        if described.groups is None:
            parts = [_counted(counts, form.labels)]
        elif isinstance(counts, Mapping) and set(counts) == set(described.groups):
            parts = [_counted(counts[group], form.labels) for group in described.groups]
        else:
            labels = list(counts)[:8] if isinstance(counts, Mapping) else type(counts).__name__
            raise ArgumentValueError(
                "counts must be a mapping from each of the samples "
                f"{list(described.groups)} to the counts in it, found {labels}"
            )
        reported = np.array([number for totals, _ in parts for number in totals], dtype=np.int64)
        absent = as_count(missing, "missing") + sum(missed for _, missed in parts)
        size = _reports(reported, n, form.is_label)
        if not form.is_label:
            _check_supports(described, reported, size)
        return cls(described, {EVERYONE: Cell(size, reported)}, absent)

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise ArgumentValueError(
                "tallies of different mechanisms cannot be added: their reports mean different "
                f"things; found {self.mechanism!r} and {other.mechanism!r}"
            )
        cells = dict(self.cells)
        for key, cell in other.cells.items():
            cells[key] = cells[key] + cell if key in cells else cell
        return Tally(self.mechanism, cells, self.missing + other.missing)

    def __radd__(self, other: object) -> Tally:
        # sum() starts from the number 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.mechanism == other.mechanism
            and self._filled() == other._filled()
            and self.missing == other.missing
        )

    def _filled(self) -> dict[tuple[Hashable, Hashable], Cell]:
        """The cells that have reports: an empty part changes nothing."""
        return {key: cell for key, cell in self.cells.items() if cell.rows}

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        return f"Tally(n={self.n}, missing={self.missing}, {self.mechanism!r})"


def _counted(counts: Any, space: Domain) -> tuple[list[int], int]:
    """(cells,) counts in the labels' order, and how many reports are missing."""
    if isinstance(counts, Mapping | pd.Series):
        pairs = [(space.code(label), number) for label, number in counts.items()]
        outside = sum(code == space.k for code, _ in pairs)
        if outside:
            raise ArgumentValueError(
                f"{outside} of the {len(pairs)} labels in counts are not among the "
                f"categories {space.describe()}"
            )
    else:
        listed = counts.tolist() if hasattr(counts, "tolist") else counts
        if not isinstance(listed, list | tuple) or len(listed) != space.k:
            raise ArgumentValueError(
                f"counts must be a mapping from category to number, or {space.k} numbers in "
                "the categories' order"
            )
        pairs = list(enumerate(listed))
    totals, absent = [0] * space.k, 0
    for code, number in pairs:
        if code < space.k:
            totals[code] += as_count(number, "counts")
        else:
            absent += as_count(number, "counts")
    return totals, absent


def _reports(reported: NDArray[np.int64], n: int | None, is_label: bool) -> int:
    """The number of reports behind some counts."""
    total = int(reported.sum())
    if n is None:
        if not is_label:
            raise ArgumentTypeError(
                "n, the number of reports, is needed: each report supports several categories, so "
                "that counts do not sum to it"
            )
        return total
    size = as_count(n, "n")
    if (is_label and size != total) or int(reported.max(initial=0)) > size:
        raise ArgumentValueError(
            f"n must be the number of reports, got {size}, but counts sum to {total}"
            if is_label
            else f"counts must each be at most n = {size}, found {int(reported.max())}"
        )
    return size


def _check_supports(mechanism: Mechanism, reported: NDArray[np.int64], n: int) -> None:
    """Raise for counts of supported categories that n reports cannot have."""
    fewest, most = mechanism.channel.support_sizes  # type: ignore[attr-defined]  # it has subsets
    total = int(reported.sum())
    if not n * fewest <= total <= n * most:
        named = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ArgumentValueError(
            f"each report names {named} categories, so counts of {n} reports must sum to "
            f"{n * fewest:,}{'' if fewest == most else f' to {n * most:,}'}, found {total:,}"
        )


_MOST = 2**53
"""The largest count that a double holds exactly, as all estimation does."""


def as_count(value: Any, name: str) -> int:
    """A whole number of at least 0 as an int; raises for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise ArgumentTypeError(f"{name} must be whole numbers, found {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 <= number <= _MOST or number != value or not number.is_integer():
        large = number > _MOST or (number == _MOST and number != value)
        rule = "at most 2**53" if large else "whole numbers of at least 0"
        raise ArgumentValueError(f"{name} must be {rule}, found {value!r}")
    return int(number)


def tally(
    reports: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: Any = None,
) -> Tally:
    """Count reports.

    reports : n reports in any container that `privatize` gives back.
    mechanism, prob, epsilon : a mechanism, or categories with prob or epsilon; a Series that
        says how it was made needs none, and one that says otherwise is refused.  Where rows were
        made by different mechanisms: a column of n mechanisms, or a mapping from group to
        mechanism.
    group : (n,) the sample of each report, where the mechanism has several.
    Returns a Tally; missing reports are counted apart.
    Raises ArgumentValueError for reports outside the categories, as many as there are:
    either the categories are not those of the reports, or the answers were never privatized.

    >>> import rrstats as rr
    >>> tally(["no", "yes", "no"], ["no", "yes"], 0.75).reported
    array([2, 1])
    """
    opened = reports_of(reports, mechanism, prob, epsilon=epsilon, group=group)
    described = opened.mechanism
    unknown = missing = counted = 0
    reported = np.zeros(described.channel.m, dtype=np.int64)
    for part in opened.parts():
        encoded = opened.read(part)
        unknown += encoded.unknown
        missing += encoded.missing
        codes = opened.given(encoded, part)
        counted += len(codes)
        reported += described.count(codes)
    opened.refuse(unknown)
    return Tally(described, {EVERYONE: Cell(counted, reported)}, missing)
