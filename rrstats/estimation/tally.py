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
from typing import Any, cast, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.categories import Domain
from rrstats.data.columns import form_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Reports, reports_of
from rrstats.estimation.column_requests import ask
from rrstats.estimation.engine_frames import is_frame, open_frame
from rrstats.estimation.sample_design import EVERYONE, Rows, rows_of
from rrstats.estimation.selections import Beside, selections
from rrstats.estimation.tally_cells import Cell, Sums
from rrstats.estimation.unopened import refuse_unopened
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.serialization import as_mechanism
from rrstats.mechanisms.support_channel import SupportChannel

__all__ = ["Cell", "Tally", "tally"]

_MOST_SUMS = 1 << 25
"""Groups times strata and clusters times report cells: about a GiB with weights."""


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
        total = np.zeros(len(self.mechanism.channel.samples), dtype=np.int64)
        for cell in self.cells.values():
            total += cell.reported
        return total

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return sum(cell.rows for cell in self.cells.values())

    @property
    def sampled(self) -> bool:
        """Whether it holds weights, strata or clusters."""
        return any(
            key != EVERYONE or cell.weight is not None or cell.others
            for key, cell in self.cells.items()
        )

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
        return {key: cell for key, cell in self.cells.items() if cell.rows or cell.others}

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
    fewest, most = cast(SupportChannel, mechanism.channel).support_sizes
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


@overload
def tally(
    reports: Any,
    mechanism: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    columns: None = ...,
    group: Any = ...,
    by: None = ...,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    observed: bool = ...,
) -> Tally: ...


@overload
def tally(
    reports: Any,
    mechanism: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    columns: None = ...,
    group: Any = ...,
    by: Any,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    observed: bool = ...,
) -> dict[Hashable, Tally]: ...


@overload
def tally(
    reports: Any,
    mechanism: Any = ...,
    prob: float | None = ...,
    *,
    epsilon: float | None = ...,
    columns: Any,
    group: Any = ...,
    by: Any = ...,
    weights: Any = ...,
    strata: Any = ...,
    clusters: Any = ...,
    observed: bool = ...,
) -> Any: ...


def tally(
    reports: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    columns: Any = None,
    group: Any = None,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    observed: bool = True,
) -> Any:
    """Count reports.

    reports : n reports in any container that `privatize` gives back; or a frame, of pandas or of
        an engine (Polars, pyarrow, DuckDB, Dask, PySpark and whatever else narwhals knows).
    mechanism, prob, epsilon : a mechanism, or categories with prob or epsilon; a Series that
        says how it was made needs none, and one that says otherwise is refused.  Where rows were
        made by different mechanisms: a column of n mechanisms, or a mapping from group to
        mechanism.
    columns : of a frame, the name of the column of reports, by default the only one that the frame
        or a mapping speaks of.  Or a list of names: each is counted by itself, with one mechanism
        for all or a mapping from column to mechanism; where the mechanism's reports are tuples,
        the columns hold their parts.
    group : (n,) the sample of each report, where the mechanism has several.
    by : (n,) labels to count apart, or a list of such columns, or a frame of them; rows whose
        label is missing are left out.  observed : whether only labels that occur are counted;
        False keeps all categories of a Categorical.
    weights : (n,) numbers of at least 0.  strata, clusters : (n,) labels of the sample's strata
        and clusters; a cluster belongs to its stratum, so that one label in two strata is two.
        With a frame, group, by, weights, strata and clusters are names of its columns.
    Returns a Tally, or with ``by`` a dict from label (a tuple where there are several columns)
    to Tally; missing reports are counted apart.  Of a list of columns a dict from name to that.
    Of an engine's frame only counts come back: the engine groups its rows, computing them once for
    as many columns as have few combinations.
    Raises ArgumentValueError for reports outside the categories, as many as there are:
    either the categories are not those of the reports, or the answers were never privatized.
    MissingPackageError for an engine's frame without narwhals.

    >>> import rrstats as rr
    >>> tally(["no", "yes", "no"], ["no", "yes"], 0.75).reported
    array([2, 1])
    >>> parts = tally(["no", "yes", "no"], ["no", "yes"], 0.75, by=["north", "south", "south"])
    >>> parts["south"].reported
    array([1, 1])
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"answer": ["no", "yes", "no"], "region": ["n", "s", "s"]})
    >>> tally(frame, ["no", "yes"], 0.75, columns="answer", by="region")["s"].reported
    array([1, 1])
    """
    if is_frame(reports):
        named = Beside(by=by, weights=weights, strata=strata, clusters=clusters, group=group)
        counted = counted_frame(
            reports, mechanism, prob, epsilon, columns=columns, beside=named, observed=observed
        )
        return counted.only if counted.single else dict(counted.tallies)
    if columns is not None:
        refuse_unopened(reports, text=True)
        raise ArgumentTypeError(
            f"columns are names of a frame's, found reports in a {type(reports).__name__}; give "
            "the frame, or leave columns out"
        )
    opened = reports_of(reports, mechanism, prob, epsilon=epsilon, group=group)
    rows = rows_of(
        reports,
        opened.rows,
        by=by,
        weights=weights,
        strata=strata,
        clusters=clusters,
        observed=observed,
    )
    parts = counted_parts(opened, rows)
    return parts[None] if rows.groups is None else parts


@dataclass(frozen=True, eq=False)
class CountedFrame:
    """Tallies of columns of a frame.

    tallies : from column to Tally, or to a dict of the tallies of groups.
    single : whether one name was asked for, and no list.  rows : of the data.
    """

    tallies: Mapping[Any, Any]
    single: bool
    rows: int

    @property
    def only(self) -> Any:
        """The first of the tallies."""
        return next(iter(self.tallies.values()))


def counted_frame(
    data: Any,
    mechanism: Any,
    prob: float | None,
    epsilon: float | None,
    *,
    columns: Any,
    beside: Beside,
    observed: bool,
) -> CountedFrame:
    """`tally` of columns of a frame, with what `estimators.estimate` needs besides."""
    frame = open_frame(data)
    asked = ask(frame, columns, mechanism, more=prob is not None or epsilon is not None)
    found, total = {}, 0
    for wanted, chosen in selections(frame, asked, beside, prob, epsilon):
        known = chosen.multiples is not None  # then an engine's frame was asked for its mechanism
        opened = reports_of(
            chosen.reports,
            chosen.mechanism,
            None if known else prob,
            epsilon=None if known else epsilon,
            group=chosen.group,
            times=chosen.times,
        )
        rows = rows_of(
            chosen.reports,
            opened.rows,
            observed=observed,
            multiples=chosen.multiples,
            **chosen.beside,
        )
        parts = counted_parts(opened, rows)
        name = wanted.columns[0] if len(wanted.columns) == 1 else wanted.columns
        found[name] = parts[None] if rows.groups is None else parts
        total = chosen.rows
    return CountedFrame(found, asked.single, total)


def counted_parts(opened: Reports, rows: Rows) -> dict[Hashable, Tally]:
    """A tally for each group; that of no group is under None."""
    described = opened.mechanism
    labels = [None] if rows.groups is None else rows.groups.labels
    keys = [EVERYONE] if rows.cells is None else cast("list[Any]", rows.cells.labels)
    sums = Sums(len(labels) * len(keys), len(described.channel.samples), weighted=rows.weighted)
    if sums.size * sums.m > _MOST_SUMS:
        raise ArgumentValueError(
            f"{len(labels):,} groups times {len(keys):,} strata and clusters are too many to count "
            "at once; give fewer groups, or tally each by itself"
        )
    unknown = 0
    for part in opened.parts():
        encoded = opened.read(part)
        unknown += opened.unknown(encoded, part)
        codes, times = opened.given(encoded, part), rows.times_of(part)
        if sums.size == 1 and times is None and not rows.sampled:
            sums.add_counted(described.count(codes), len(codes), encoded.missing)
            continue
        places, outside = rows.places(part, len(encoded.codes), len(keys)), encoded.outside
        given = np.delete(places, outside) if outside.size else places
        often = None if times is None else np.delete(times, outside)
        sums.add(opened.flat(codes), given, rows.powers_of(part, outside), often)
        absent = encoded.absent
        sums.add_missing(places[absent], None if times is None else times[absent])
    opened.refuse(unknown)
    others = rows.others(opened.rows, len(keys), sums.rows) if rows.sampled else sums.none
    found = {}
    for at, label in enumerate(labels):
        mine = slice(at * len(keys), (at + 1) * len(keys))
        cells = dict(zip(keys, sums.cells(mine, others), strict=True))
        found[label] = Tally(described, cells, int(sums.missing[mine].sum()))
    return found
