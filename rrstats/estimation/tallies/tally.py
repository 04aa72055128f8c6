"""Tallies: counts of reports that can be added, and contain all data that estimates need.

A tally keeps, for every stratum and cluster and each of the m report cells, the number of reports,
the sum of their weights and the sum of the squared weights.  Tallies of parts add up to the tally
of the whole, exactly for integers.  Missing reports are counted separately and are not in n.
A stratum and cluster is a *unit* of the sample.  Counts are arrays over the units in which a group
has rows; a unit in which it has none adds 0, and only the number of its rows in the sample counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from rrstats._checks import check_count, check_instance, check_numbers, cut, quote_list
from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import (
    Array,
    ColumnLike,
    ColumnNames,
    Counts,
    Floats,
    Indices,
    JsonObject,
    Labels,
)
from rrstats.data.categories import Categories
from rrstats.data.category_json import categories_from_json, categories_to_json
from rrstats.data.codecs import codec_of
from rrstats.data.columns import blocks
from rrstats.data.encoders import Encoded
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
)
from rrstats.estimation.report_columns.replicates import ReplicateSums, Replication
from rrstats.estimation.report_columns.report_columns import ReportColumn, report_column
from rrstats.estimation.report_columns.report_frames import (
    ReportRequest,
    column_requests,
    columns_by_place,
    listed,
    requested_frame,
)
from rrstats.estimation.report_columns.sample_design import (
    EVERYONE,
    ONE_UNIT,
    Rows,
    SampleDesign,
    SampleUnits,
    check_names,
    design_of,
    frame_design,
    group_names,
    numbered_pairs,
    powers_of,
    public_column,
    rows_of,
)
from rrstats.estimation.tallies.score_sums import row_sums
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import SupportChannel
from rrstats.mechanisms.documents import check_depth
from rrstats.mechanisms.frame_plans import FramePlan, MechanismOrPlan
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.records import ColumnRecord
from rrstats.mechanisms.serialization import from_dict
from rrstats.randomness.sources import BLOCK_ROWS

_MAX_EXACT_COUNT = 2**53
"""Up to it a double of a document holds every count exactly."""

_MAX_COUNTS = 1 << 25
"""Groups, strata and clusters that occur together times report cells: a GiB with weights."""


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """Counts of reports in the units of a sample, for the u units that have rows of a group.

    units : the labels of all units of the sample.
    drawn : (all units,) sampled rows, also those outside the group or without a report.
    places : (u,) which of all units, ascending.
    rows : (u,) number of reports.
    reported : (u, m) the count of each report cell; their sum is ``rows`` if each report falls into
        one cell.
    weights : (2, u, m) sums of weights and of their squares by report cell.
    powers : (4, u) sums over the rows of w, w^2, 1/w and 1/w^2.
    Both are None if every weight is 1.
    replicates : sums of replicate weights, if there are any; then there is one unit.
    samples : of a sum, the units and ``drawn`` of samples of which more groups may be added.
    """

    units: SampleUnits
    drawn: Counts
    places: Indices
    rows: Counts
    reported: Counts
    weights: Floats | None = None
    powers: Floats | None = None
    replicates: ReplicateSums | None = None
    samples: tuple[tuple[SampleUnits, Counts], ...] = ()

    @classmethod
    def of_sample(cls, rows: int, reported: Counts) -> UnitCounts:
        """Counts of a sample without a design."""
        size = np.array([rows], dtype=np.int64)
        return cls(ONE_UNIT, size, np.zeros(1, dtype=np.intp), size, reported[None])

    @property
    def sums(self) -> Floats:
        """(2, u, m) `weights`; counts if all weights are 1."""
        if self.weights is not None:
            return self.weights
        counts = self.reported.astype(np.float64)
        return np.stack([counts, counts])

    @property
    def totals(self) -> Floats:
        """(4, u) `powers`; the number of rows if all weights are 1."""
        if self.powers is not None:
            return self.powers
        return np.broadcast_to(self.rows.astype(np.float64), (4, len(self.rows)))

    @property
    def open_samples(self) -> tuple[tuple[SampleUnits, Counts], ...]:
        """Units and ``drawn`` of the samples that have rows elsewhere; groups share the array."""
        if self.drawn.sum() == self.rows.sum():
            return ()
        return self.samples or ((self.units, self.drawn),)

    @property
    def replication(self) -> Replication | None:
        """The rule by which variances follow from replicate weights; None without any."""
        return None if self.replicates is None else self.replicates.replication

    def __add__(self, other: UnitCounts) -> UnitCounts:
        if self.replication != other.replication:
            raise ArgumentValueError(
                "tallies to be added must have the same method and number of replicates, or none, "
                f"found {_replication_text(self)} and {_replication_text(other)}"
            )
        units, self_units, other_units = _all_units(self.units, other.units)
        drawn, samples = self._drawn_beside(other, units, self_units, other_units)
        self_places = self_units[self.places]
        other_places = other_units[other.places]
        places = np.union1d(self_places, other_places)
        self_index = np.searchsorted(places, self_places)
        other_index = np.searchsorted(places, other_places)

        def total(self_sums: Array, other_sums: Array, unit_axis: int) -> Array:
            shape = list(self_sums.shape)
            shape[unit_axis] = len(places)
            summed = np.zeros(shape, dtype=self_sums.dtype)
            by_unit = np.moveaxis(summed, unit_axis, 0)
            by_unit[self_index] += np.moveaxis(self_sums, unit_axis, 0)
            by_unit[other_index] += np.moveaxis(other_sums, unit_axis, 0)
            return summed

        rows = total(self.rows, other.rows, 0)
        reported = total(self.reported, other.reported, 0)
        if (rows > drawn[places]).any():
            raise ArgumentValueError(
                "tallies to be added must be of other rows, found more reports than their sample "
                "has rows: a group is in both"
            )
        if self.weights is None and other.weights is None:
            return UnitCounts(units, drawn, places, rows, reported, samples=samples)
        weights = total(self.sums, other.sums, 1)
        powers = total(self.totals, other.totals, 1)
        replicates = None
        if self.replicates is not None and other.replicates is not None:
            pairs = zip(self.replicates.arrays, other.replicates.arrays, strict=True)
            sums = (total(array, other_array, 0) for array, other_array in pairs)
            replicates = ReplicateSums(self.replicates.replication, *sums)
        return UnitCounts(
            units, drawn, places, rows, reported, weights, powers, replicates, samples
        )

    def _drawn_beside(
        self, other: UnitCounts, units: SampleUnits, self_units: Indices, other_units: Indices
    ) -> tuple[Counts, tuple[tuple[SampleUnits, Counts], ...]]:
        """The drawn rows of all units of both, and their open samples.

        The rows of a sample of which both have groups count once.
        """
        drawn = np.zeros(len(units), dtype=np.int64)
        drawn[self_units] += self.drawn
        drawn[other_units] += other.drawn
        samples = self.open_samples
        shared = {id(sample_drawn) for _, sample_drawn in samples}
        for sample in () if other is self else other.open_samples:
            sample_units, sample_drawn = sample
            if id(sample_drawn) in shared:
                drawn[units.places_of(sample_units.keys)] -= sample_drawn
            else:
                samples += (sample,)
        return drawn, samples

    def equals(self, other: UnitCounts) -> bool:
        """True where both have the same counts; units without rows do not matter."""
        keys = self.drawn_keys
        if set(keys) != set(other.drawn_keys) or self.replication != other.replication:
            return False
        if self.replicates is not None and other.replicates is not None:
            arrays = zip(self.replicates.arrays, other.replicates.arrays, strict=True)
            totals = ((array.sum(axis=0), other_array.sum(axis=0)) for array, other_array in arrays)
            if not all(np.array_equal(total, other_total) for total, other_total in totals):
                return False
        pairs = zip(self.spread(keys), other.spread(keys), strict=True)
        return all(np.array_equal(array, other_array) for array, other_array in pairs)

    @property
    def drawn_keys(self) -> list[tuple[Hashable, Hashable]]:
        """The (stratum, cluster) of the units that have rows in the sample."""
        return [self.units.keys[place] for place in np.flatnonzero(self.drawn).tolist()]

    def spread(self, keys: Sequence[tuple[Hashable, Hashable]]) -> tuple[Array, ...]:
        """The drawn rows, rows, reported, sums and totals of some units, 0 where there are none."""
        places = self.units.places_of(keys)
        position = np.full(len(self.units) + 1, len(self.places))
        position[self.places] = np.arange(len(self.places))
        position = position[places]
        # The last unit of the padded arrays has no rows.
        rows = np.pad(self.rows, (0, 1))
        reported = np.pad(self.reported, ((0, 1), (0, 0)))
        sums = np.pad(self.sums, ((0, 0), (0, 1), (0, 0)))
        totals = np.pad(self.totals, ((0, 0), (0, 1)))
        return (
            self.drawn[places],
            rows[position],
            reported[position],
            sums[:, position],
            totals[:, position],
        )


def _all_units(first: SampleUnits, second: SampleUnits) -> tuple[SampleUnits, Indices, Indices]:
    """The units of either sample, and the place of each unit of the first and of the second."""
    if first is second:
        places = np.arange(len(first))
        return first, places, places
    units = SampleUnits.from_keys(list(dict.fromkeys([*first.keys, *second.keys])))
    return units, units.places_of(first.keys), units.places_of(second.keys)


def _replication_text(counts: UnitCounts) -> str:
    replication = counts.replication
    if replication is None:
        return "no replicates"
    return f"{len(replication.coefficients)} of {replication.method!r}"


@checked_keywords
@dataclass(frozen=True, eq=False)
class Tally(MissingMembers):
    """Counted reports of one mechanism.

    Add tallies of equal mechanisms with ``+``; ``sum`` works too.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism of the reports.
    counts : UnitCounts
        Arrays of counts by unit, that is, by stratum and cluster.
    n_missing : int
        Reports that are missing, not in n; of a plan, rows that were asked something else.
    plan : mapping, optional
        The plan of the frame by which a public coin chose the rows that were asked.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> whole = Tally.from_counts({"no": 5, "yes": 3}, m) + rr.tally(["yes", None], m)
    >>> whole.reported, whole.n, whole.n_missing
    (array([5, 4]), 9, 1)
    """

    mechanism: Mechanism
    counts: UnitCounts
    n_missing: int = 0
    plan: FramePlan | None = None

    def __post_init__(self) -> None:
        rule = "those of rr.tally; counts by category go to rr.Tally.from_counts(counts, mechanism)"
        check_instance(self.counts, "counts", UnitCounts, rule)

    @property
    def reported(self) -> Counts:
        """(m,) the count of each report cell, over all strata and clusters."""
        return np.asarray(self.counts.reported.sum(axis=0))

    @property
    def n(self) -> int:
        """The number of reports that are not missing."""
        return int(self.counts.rows.sum())

    @property
    def sampled(self) -> bool:
        """True where it holds weights, strata or clusters."""
        counts = self.counts
        if counts.weights is not None or counts.units.keys != [EVERYONE]:
            return True
        return bool(counts.drawn.sum() > self.n)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        mechanism: Any,
        prob: float | None = None,
        *,
        epsilon: float | None = None,
        n: int | None = None,
        n_missing: int = 0,
    ) -> Tally:
        """Make a tally from counts of reports.

        Parameters
        ----------
        counts : mapping, Series or sequence of k ints
            From category to number of reports, or numbers in the categories' order.  Categories
            left out have count 0, and a missing label counts missing reports, unless it is a
            category.  For a mechanism with several samples, a mapping from sample to counts.
        mechanism, prob, epsilon
            A mechanism, or categories with prob or epsilon.
        n : int, optional
            The number of reports; needed if a report supports several categories, because counts
            then do not sum to it.
        n_missing : int
            The number of missing reports, in addition to those under a missing label.

        Returns
        -------
        Tally

        Raises
        ------
        ArgumentValueError
            Counts are negative or not whole, or reports are outside the categories.

        Examples
        --------
        >>> import rrstats as rr
        >>> Tally.from_counts({"yes": 3, "no": 5}, rr.KRR(["no", "yes"], 0.75)).reported
        array([5, 3])
        """
        described = as_mechanism(mechanism, prob, epsilon)
        codec = codec_of(described.report_space)
        if described.groups is None:
            parts = [_counted(counts, codec.domain)]
        elif isinstance(counts, Mapping) and set(counts) == set(described.groups):
            parts = [_counted(counts[group], codec.domain) for group in described.groups]
        else:
            labels = list(counts)[:8] if isinstance(counts, Mapping) else type(counts).__name__
            raise ArgumentValueError(
                "counts must be a mapping from each of the samples "
                f"{list(described.groups)} to the counts in it, found {labels}"
            )
        reported = np.array([number for totals, _ in parts for number in totals], dtype=np.int64)
        absent = check_count(n_missing, "n_missing") + sum(missed for _, missed in parts)
        size = _size(described, reported, n, codec.is_label)
        return cls(described, UnitCounts.of_sample(size, reported), absent)

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.mechanism != other.mechanism or self.plan != other.plan:
            raise ArgumentValueError(
                "tallies to be added must have the same mechanism and plan, found "
                f"{self.mechanism!r} and {other.mechanism!r}"
            )
        counts = self.counts + other.counts
        return Tally(self.mechanism, counts, self.n_missing + other.n_missing, self.plan)

    def to_dict(self) -> JsonObject:
        """Return the tally as plain JSON, to store counts and to add them later.

        Returns
        -------
        dict
            The version, the mechanism and the counts; with a design those of each stratum and
            cluster, with sums of weights.  Of reports by group, store the tally of each group.

        Raises
        ------
        ArgumentValueError
            A category, or the label of a stratum or cluster, has no JSON form.

        Examples
        --------
        >>> import json, rrstats as rr
        >>> monday = rr.tally(["no", "yes", "no", None], ["no", "yes"], 0.75)
        >>> text = json.dumps(monday.to_dict())
        >>> stored = Tally.from_dict(json.loads(text))
        >>> (stored + monday).reported, stored == monday
        (array([4, 2]), True)
        """
        return tally_to_json(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Tally:
        """Make a tally from the result of `to_dict`.

        Parameters
        ----------
        document : dict
            The document; it is read strictly.

        Returns
        -------
        Tally

        Raises
        ------
        MetadataError
            The document is none of this version, or its counts are impossible.

        Examples
        --------
        >>> mechanism = {"type": "KRR", "categories": ["no", "yes"], "prob": 0.75}
        >>> Tally.from_dict({"v": 1, "mechanism": mechanism, "n": 8, "reported": [5, 3]}).n
        8
        """
        return tally_from_json(document)

    def __radd__(self, other: object) -> Tally:
        # sum() starts from the number 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.mechanism == other.mechanism
            and self.n_missing == other.n_missing
            and self.counts.equals(other.counts)
        )

    def __repr__(self) -> str:
        return f"Tally(n={self.n}, n_missing={self.n_missing}, {self.mechanism!r})"


# -- JSON ----------------------------------------------------------------------------------

VERSION = 1
"""The version of the documents of tallies."""

_KEYS = ("v", "mechanism", "n", "reported", "n_missing", "plan", "units", "replicates")
_UNIT_KEYS = ("strata", "clusters", "drawn", "weights", "powers")

_SUMS_TOLERANCE = 1e-9
"""Relative distance of two sums of the same weights that is rounding."""


def tally_to_json(tally: Tally) -> JsonObject:
    """The document of `Tally.to_dict`.

    ``n`` and ``reported`` are a number and (m,) counts.  With a design they are lists over its
    units, of which ``units`` has the labels, the sampled rows and, if any, sums of weights; an
    infinite sum is null.  ``replicates`` has the sums of replicate weights and their method.
    """
    counts = tally.counts
    document: JsonObject = {"v": VERSION, "mechanism": tally.mechanism.to_dict()}
    if not tally.sampled:
        document |= {"n": tally.n, "reported": tally.reported.tolist()}
    else:
        keys = counts.drawn_keys
        drawn, rows, reported, weights, powers = counts.spread(keys)
        units: dict[str, Any] = {
            "strata": categories_to_json([stratum for stratum, _ in keys]),
            "clusters": categories_to_json([cluster for _, cluster in keys]),
            "drawn": drawn.tolist(),
        }
        if counts.weights is not None:
            # JSON has no infinity, the sum of 1/w with a weight of 0.
            sums = [
                [None if np.isinf(total) else total for total in row] for row in powers.tolist()
            ]
            units |= {"weights": weights.tolist(), "powers": sums}
        document |= {"n": rows.tolist(), "reported": reported.tolist(), "units": units}
    if counts.replicates is not None:
        document["replicates"] = counts.replicates.to_dict()
    if tally.n_missing:
        document["n_missing"] = tally.n_missing
    if tally.plan is not None:
        document["plan"] = tally.plan.in_record()
    return document


def tally_from_json(document: Any) -> Tally:
    """The tally of a document; raises MetadataError for any other."""
    try:
        return _tally_from_json(document)
    except MetadataError:
        raise
    except (ArgumentTypeError, ArgumentValueError, ValueError, TypeError, LookupError) as error:
        why = str(error)[:200]
        raise MetadataError(f"the document of a tally cannot be used: {why}") from None


def _tally_from_json(document: Any) -> Tally:
    facts = dict(check_instance(document, "document", Mapping, "a dict, as of Tally.to_dict"))
    check_depth(facts)
    _need(facts.get("v") == VERSION, f"its v is not {VERSION}; a newer rrstats may read it")
    unknown = {*facts} - {*_KEYS}
    _need(not unknown, f"it has unknown keys {cut(sorted(map(str, unknown)))}")
    missing = [key for key in _KEYS[:4] if key not in facts]
    _need(not missing, f"it needs {missing}")
    mechanism = from_dict(facts["mechanism"])
    plan = facts.get("plan")
    if plan is not None:
        plan = FramePlan.from_record(plan)
    n_missing = check_count(facts.get("n_missing", 0), "n_missing")
    units = facts.get("units")
    if units is None:
        reported = _whole_numbers(facts["reported"], "reported", (len(mechanism.channel.samples),))
        _check_reports(mechanism, facts["n"], reported)
        size = check_count(facts["n"], "n")
        return Tally(mechanism, UnitCounts.of_sample(size, reported), n_missing, plan)
    counts = _units_from_json(mechanism, facts["n"], facts["reported"], dict(units))
    if "replicates" in facts:
        _need(len(counts.units) == 1, "replicates belong to one unit")
        _need(counts.weights is not None, "replicates belong to weights")
        sums = ReplicateSums.from_dict(facts["replicates"], counts.reported.shape[1])
        counts = replace(counts, replicates=sums)
    return Tally(mechanism, counts, n_missing, plan)


def _units_from_json(
    mechanism: Mechanism, n: Any, reported: Any, units: dict[str, Any]
) -> UnitCounts:
    """Counts by unit from the parts of a document."""
    _need({*_UNIT_KEYS[:3]} <= {*units} <= {*_UNIT_KEYS}, f"units must have {list(_UNIT_KEYS)}")
    strata = categories_from_json(units["strata"])
    clusters = categories_from_json(units["clusters"])
    keys = list(zip(strata, clusters, strict=True))
    _need(len(set(keys)) == len(keys), "its units must differ")
    u = len(keys)
    m = len(mechanism.channel.samples)
    counted = _whole_numbers(reported, "reported", (u, m))
    rows = _whole_numbers(n, "n", (u,))
    drawn = _whole_numbers(units["drawn"], "drawn", (u,))
    _need(bool((rows <= drawn).all()), "a unit has more reports than sampled rows")
    for size, counts in zip(rows.tolist(), counted, strict=True):
        _check_reports(mechanism, size, counts)
    has_weights = "weights" in units
    _need(has_weights == ("powers" in units), "weights and powers belong together")
    weights = powers = None
    if has_weights:
        weights = _numbers(units["weights"], "weights", (2, u, m))
        powers = _powers(units["powers"], u)
        is_label = codec_of(mechanism.report_space).is_label
        _check_weights(counted, weights, powers, is_label)
    sample_units = SampleUnits.from_keys(keys)
    order = np.argsort(sample_units.places_of(keys))
    return UnitCounts(
        units=sample_units,
        drawn=drawn[order],
        places=np.arange(u),
        rows=rows[order],
        reported=counted[order],
        weights=None if weights is None else weights[:, order],
        powers=None if powers is None else powers[:, order],
    )


def _numbers(values: Any, name: str, shape: tuple[int, ...]) -> Floats:
    """Numbers of at least 0 of a shape from nested lists."""
    if 0 in shape and not np.size(values):  # no units
        return np.zeros(shape)
    numbers = check_numbers(values, name, axes=len(shape), low=0.0)
    _need(numbers.shape == shape, f"{name} must have shape {shape}")
    return numbers


def _powers(values: Any, u: int) -> Floats:
    """(4, u) sums of powers of weights; null is the infinite reciprocal of a weight of 0."""
    rows = [list(row) for row in values]
    infinite = np.array([[total is None for total in row] for row in rows], dtype=np.bool_)
    finite = [[0.0 if total is None else total for total in row] for row in rows]
    powers = _numbers(finite, "powers", (4, u))
    _need(not infinite[:2].any(), "only sums of reciprocals of weights may be null")
    powers[infinite] = np.inf
    return powers


def _check_weights(counted: Counts, weights: Floats, powers: Floats, is_label: bool) -> None:
    """Raise for sums of weights that these reports cannot have."""
    _need(not weights[:, counted == 0].any(), "a report that nobody gave has a weight")
    limit = powers[:2] * (1 + _SUMS_TOLERANCE)
    if is_label:
        totals = weights.sum(axis=2)
        is_possible = (totals <= limit) & (totals >= powers[:2] * (1 - _SUMS_TOLERANCE))
    else:
        is_possible = weights <= limit[:, :, None]
    _need(bool(is_possible.all()), "weights and powers must be sums over the same rows")


def _check_reports(mechanism: Mechanism, n: Any, reported: Counts) -> None:
    """Raise for counts that n reports cannot have."""
    _size(mechanism, reported, check_count(n, "n"), codec_of(mechanism.report_space).is_label)


def _whole_numbers(values: Any, name: str, shape: tuple[int, ...]) -> Counts:
    """Counts of a shape from nested lists."""
    numbers = _numbers(values, name, shape)
    is_exact = bool((numbers <= _MAX_EXACT_COUNT).all() and (numbers == np.floor(numbers)).all())
    _need(is_exact, f"{name} must be whole numbers of shape {shape}")
    return numbers.astype(np.int64)


def _need(condition: bool, otherwise: str) -> None:
    """Raise MetadataError unless a rule of documents holds."""
    if not condition:
        raise MetadataError(f"the document of a tally cannot be used: {otherwise}")


def _counted(counts: Any, space: Categories) -> tuple[list[int], int]:
    """(cells,) counts in the labels' order, and the number of missing reports."""
    if isinstance(counts, Mapping | pd.Series):
        pairs = [(space.code(label), number) for label, number in counts.items()]
        outside = sum(code == space.k for code, _ in pairs)
        if outside:
            counted_codes = {code for code, _ in pairs}
            absent = [space.labels[code] for code in range(space.k) if code not in counted_codes]
            hint = f"; {quote_list(absent)} have no count" if absent else ""
            raise ArgumentValueError(
                f"counts must have labels among the possible reports {space.describe()}, found "
                f"{outside} of {len(pairs)} labels that are not{hint}"
            )
    else:
        numbers = counts.tolist() if hasattr(counts, "tolist") else counts
        if not isinstance(numbers, list | tuple) or len(numbers) != space.k:
            raise ArgumentValueError(
                f"counts must be a mapping from category to number, or {space.k} numbers in "
                "the categories' order"
            )
        pairs = list(enumerate(numbers))
    totals = [0] * (space.k + 2)  # last come no category and missing
    for code, number in pairs:
        totals[code] += check_count(number, "counts")
    return totals[: space.k], totals[-1]


def _size(mechanism: Mechanism, reported: Counts, n: int | None, is_label: bool) -> int:
    """The number of reports of some counts; raises for impossible counts."""
    total = int(reported.sum())
    largest = int(reported.max(initial=0))
    if is_label:
        fewest = most = 1
    else:
        fewest, most = cast(SupportChannel, mechanism.channel).support_sizes
        if n is None:
            raise ArgumentTypeError(
                "n, the number of reports, is needed because each supports several categories"
            )
    size = total if n is None else check_count(n, "n")
    if largest > size or not size * fewest <= total <= size * most:
        support = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ArgumentValueError(
            f"n must be the number of reports: each names {support} of the categories, got n = "
            f"{size:,} and counts up to {largest:,} that sum to {total:,}"
        )
    return size


@checked_keywords
def tally(
    reports: Any,
    mechanism: MechanismOrPlan | None = None,
    prob: float | None = None,
    *,
    columns: ColumnNames | None = None,
    by: ColumnLike | None = None,
    epsilon: float | None = None,
    group: ColumnLike | None = None,
    weights: ColumnLike | None = None,
    design: SampleDesign | None = None,
    blocks: ColumnLike | None = None,
) -> Any:
    """Count reports.

    Parameters
    ----------
    reports : array-like of shape (n,), Series or frame
        Reports in any container that `privatize` returns; or a frame of pandas or of an engine
        (Polars, pyarrow, DuckDB, Dask, PySpark, Ibis and others that narwhals supports), which
        groups its rows, once for each column of reports, and returns only counts.
    mechanism, prob, epsilon
        A mechanism, or categories with prob or epsilon.  A Series with a record of its mechanism
        needs none; a contradiction is an error.  Where rows were made by different mechanisms: a
        column of n mechanisms, or a mapping from group to mechanism.  For a frame that keeps no
        record of its plan: the `FramePlan`.
    columns : hashable or list, optional
        For a frame, the name of the column of reports; by default the only column with a record or
        with a mechanism in a mapping.  A list of names counts each column separately, with one
        mechanism for all or a mapping from column to mechanism; if the mechanism's reports are
        tuples, the columns hold their parts.  Columns with names of text may stand right after the
        frame, before the mechanism, as in ``rr.tally(df, "smoker", ["no", "yes"], epsilon=1)``.
    by : hashable, array-like of shape (n,), list of either, or DataFrame, optional
        Labels of groups to count separately; rows with a missing label are left out.
    group : hashable or array-like of shape (n,), optional
        The sample of each report, for mechanisms with several samples.
    weights : hashable or array-like of shape (n,), optional
        Sampling weights of at least 0; the same as a design with weights alone.
    design : SampleDesign, optional
        Weights, strata and clusters of the sample.  With a frame, group, by, weights and the
        columns of a design are names of its columns.
    blocks : hashable or array-like of shape (n,), optional
        The block of each person, of designs whose cards are dealt without replacement
        (`surveys.garbling`).

    Returns
    -------
    Tally
        With ``by``: a dict from label (a tuple for several columns) to Tally.  For a list of
        columns: a dict from column name to either.  Missing reports are counted separately.

    Raises
    ------
    ArgumentValueError
        Reports are outside the categories: either the categories are not those of the reports, or
        the answers were never privatized.
    MissingPackageError
        A frame of an engine needs narwhals.

    Examples
    --------
    >>> import rrstats as rr
    >>> tally(["no", "yes", "no"], ["no", "yes"], 0.75).reported
    array([2, 1])
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"answer": ["no", "yes", "no"], "region": ["n", "s", "s"]})
    >>> tally(frame, ["no", "yes"], 0.75, columns="answer", by="region")["s"].reported
    array([1, 1])
    """
    design = design_of(weights, design, blocks)
    request = ReportRequest(mechanism, prob, epsilon, columns, group)
    request = columns_by_place(reports, request)
    counted = count_reports(reports, request, by=by, design=design)
    check_blocks(counted, blocks)
    tallies = {
        name: tally.by_label() if isinstance(tally, GroupTallies) else tally
        for name, tally in counted.tallies.items()
    }
    return tallies if counted.several else next(iter(tallies.values()))


class CountedReports(NamedTuple):
    """Tallies of the columns of reports of one call.

    tallies : from column to Tally or, with groups, GroupTallies; where prob differs by row to
        RowSums or, with groups, a dict of them.
    groups : the names of the columns of groups, or None.
    several : whether a list of columns was asked for.  rows : the number of rows of the data.
    records : of the columns of a frame, by name.
    """

    tallies: dict[Any, Any]
    groups: Labels | None
    several: bool
    rows: int
    records: Mapping[Hashable, ColumnRecord] = {}


def count_reports(
    reports: Any,
    request: ReportRequest,
    *,
    by: ColumnLike,
    design: SampleDesign,
    rates: bool = False,
) -> CountedReports:
    """Count the reports of a column, or of columns of a frame.

    rates : whether the prob of rows may differ, which have `RowSums` in place of tallies.
    """
    frame = requested_frame(reports, request)
    if frame is None:
        arguments = (request.mechanism, request.prob, request.epsilon)
        column = report_column(reports, *arguments, group=request.group)
        rows = rows_of(reports, column.rows, by=by, design=design)
        groups = None if by is None else group_names(by)
        counted = {column.name: _counted_rows(column, rows, rates)}
        return CountedReports(counted, groups, False, column.size)
    requests = column_requests(frame, request)
    public = {"by": by, **design.names}
    check_names(frame, {**public, "group": request.group})
    public_names = [name for names in public.values() for name in listed(names)]
    tallies: dict[Any, Any] = {}
    size = 0
    for names, request_of in requests:
        rows_frame = frame.counted_reports(names, request_of, public_names)
        column = rows_frame.reports(names, request_of)
        labels = [public_column(rows_frame, "by", name) for name in listed(by)] or None
        drawn = frame_design(rows_frame, design)
        rows = rows_of(None, column.rows, by=labels, design=drawn, times=column.times)
        tallies[column.name] = _counted_rows(column, rows, rates)
        size = column.size
    several = request.several
    if several and len(tallies) == 1:
        several = len(listed(request.columns)) < 2  # else the columns hold parts of each report
    return CountedReports(tallies, tuple(listed(by)) or None, several, size, frame.records)


def check_blocks(counted: CountedReports, blocks: Any) -> None:
    """Raise for blocks of a design that deals no cards."""
    if blocks is None:
        return
    tallies = counted.tallies.values()
    if not all(
        isinstance(tally, Tally | GroupTallies) and tally.mechanism.deck for tally in tallies
    ):
        raise ArgumentValueError(
            "blocks are those of designs whose cards are dealt without replacement, such as "
            "rr.surveys.garbling(categories, rate); for strata or clusters give design="
        )


def _counted_rows(column: ReportColumn, rows: Rows, rates: bool) -> Any:
    """A Tally, or the GroupTallies of groups; where prob differs by row RowSums, or a dict."""
    if column.rates is not None and rates:
        return _row_sums(column, rows)
    return count_units(column, rows) if rows.groups is None else count_groups(column, rows)


def _row_sums(column: ReportColumn, rows: Rows) -> Any:
    """The sums of all rows, or a dict of those of groups."""
    has_units = rows.unit_codes is not None or rows.replicates is not None
    if rows.sampled and (rows.weights is None or has_units):
        raise no_design_by_row()
    if rows.groups is None:
        return row_sums(column, rows.weights, groups=np.zeros(column.rows, dtype=np.intp))[0]
    labels = rows.groups.labels
    sums = row_sums(column, rows.weights, groups=rows.groups.codes, size=len(labels))
    return dict(zip(labels, sums, strict=True))


def no_design_by_row() -> ArgumentValueError:
    """The error of designs that the sums of rows whose prob differs do not keep."""
    return ArgumentValueError(
        "strata, clusters, populations and replicates are not possible where prob differs by row, "
        "whose sums are over all rows; give weights alone, or give a survey package the scores of "
        "rr.estimators.debias_reports"
    )


@dataclass(frozen=True, eq=False)
class GroupTallies:
    """Counted reports of groups: arrays over the (group, unit) that occur, group by group.

    labels : of the groups.
    bounds : (groups + 1,) the counts of group g are those from ``bounds[g]`` to ``bounds[g + 1]``.
    counts : of all groups.
    n_missing : (groups,) missing reports.
    """

    mechanism: Mechanism
    labels: Sequence[Any]
    bounds: Indices
    counts: UnitCounts
    n_missing: Counts
    plan: FramePlan | None = None

    def tally(self, group: int) -> Tally:
        """The tally of one group, by its number; its arrays are views."""
        counts = self.counts
        part = slice(self.bounds[group], self.bounds[group + 1])
        rows = counts.rows[part]
        drawn = counts.drawn if self.sampled else rows
        weights = None if counts.weights is None else counts.weights[:, part]
        powers = None if counts.powers is None else counts.powers[:, part]
        places = counts.places[part]
        reported = counts.reported[part]
        replicates = None if counts.replicates is None else counts.replicates.part(part)
        sums = (weights, powers, replicates)
        group_counts = UnitCounts(counts.units, drawn, places, rows, reported, *sums)
        return Tally(self.mechanism, group_counts, int(self.n_missing[group]), self.plan)

    @property
    def sampled(self) -> bool:
        """True where groups are parts of one sample with a design."""
        return len(self.counts.drawn) > 0

    def by_label(self) -> dict[Any, Tally]:
        """The tally of each group."""
        return {label: self.tally(group) for group, label in enumerate(self.labels)}


def count_units(column: ReportColumn, rows: Rows) -> Tally:
    """Count the reports of each unit in one pass over the rows, which have no groups."""
    return count_groups(column, rows).tally(0)


def count_groups(column: ReportColumn, rows: Rows) -> GroupTallies:
    """Count the reports of each group and unit that occur together, in one pass over the rows.

    Rows without groups are one group, whose label is None.
    """
    mechanism = cast(Mechanism, column.mechanism)
    labels = [None] if rows.groups is None else rows.groups.labels
    unit_codes = rows.unit_codes
    if rows.groups is None:
        pairs = unit_codes
        used = np.arange(len(rows.units))
    elif unit_codes is None:
        pairs = rows.groups.codes
        used = np.arange(len(labels))
    else:
        group_codes = rows.groups.codes
        pairs, used = numbered_pairs(group_codes, len(labels), unit_codes, len(rows.units))
    if len(used) * column.m > _MAX_COUNTS:
        raise ArgumentValueError(
            f"{len(used):,} groups, strata and clusters of rows times {column.m:,} reports are too "
            "many to count together; give fewer groups, or count each group separately"
        )
    replicates = None
    if rows.replicates is not None:
        replicates = _no_replicates(rows.replicates.replication, len(used), column.m)
    group_of_pair, places = np.divmod(used, len(rows.units))
    sums = _sums(column, rows, pairs, len(used), replicates=replicates)
    drawn = np.empty(0, dtype=np.int64)
    if rows.sampled:
        drawn = _rows_of_units(column, unit_codes, len(rows.units))
    bounds = np.searchsorted(group_of_pair, np.arange(len(labels) + 1))
    missing = np.bincount(group_of_pair, sums.missing, len(labels)).astype(np.int64)
    arrays = (places, sums.rows, sums.reported, sums.weights, sums.powers, replicates)
    counts = UnitCounts(rows.units, drawn, *arrays)
    return GroupTallies(mechanism, labels, bounds, counts, missing, column.plan)


def _no_replicates(replication: Replication, size: int, m: int) -> ReplicateSums:
    """Sums of replicate weights before any row; raises if they are too many."""
    count = len(replication.coefficients)
    if size * count * max(count, m) > _MAX_COUNTS:
        raise ArgumentValueError(
            f"{size:,} groups, {count:,} replicates and {m:,} reports are too many to count "
            "together; give fewer groups, or tally parts of the columns"
        )
    return ReplicateSums.zeros(replication, size, m)


def _rows_of_units(column: ReportColumn, unit_codes: Indices | None, count: int) -> Counts:
    """(count,) the number of rows of the data in each unit."""
    if unit_codes is None:
        total = column.rows if column.times is None else int(column.times.sum())
        return np.array([total], dtype=np.int64)
    return np.bincount(unit_codes, column.times, minlength=count).astype(np.int64)


class _PairSums(NamedTuple):
    """Reports and missing reports by pair, and the arrays of `UnitCounts`."""

    missing: Counts
    rows: Counts
    reported: Counts
    weights: Floats | None
    powers: Floats | None

    @classmethod
    def zeros(cls, size: int, m: int, weighted: bool) -> _PairSums:
        """Sums of no rows."""
        return cls(
            missing=np.zeros(size, dtype=np.int64),
            rows=np.zeros(size, dtype=np.int64),
            reported=np.zeros((size, m), dtype=np.int64),
            weights=np.zeros((2, size, m)) if weighted else None,
            powers=np.zeros((4, size)) if weighted else None,
        )


def _sums(
    column: ReportColumn,
    sample: Rows,
    pairs: Indices | None,
    size: int,
    *,
    replicates: ReplicateSums | None = None,
) -> _PairSums:
    """Sums over the rows of each (group, unit).

    pairs : (rows,) the number of the row's group and unit, -1 for rows in no group; None if there
        is one of both.
    replicates : to which the rows' replicate weights are added.
    """
    m = column.m
    mechanism = cast(Mechanism, column.mechanism)
    weighted = sample.weights is not None
    sums = _PairSums.zeros(size, m, weighted)
    unknown = 0
    plain = pairs is None and not weighted and column.times is None
    for part in blocks(column.rows, max(BLOCK_ROWS, size * m)):
        encoded = column.read(part)
        unknown += column.unknown(encoded, part)
        codes = column.present(encoded, part)
        absent = encoded.absent
        if plain:  # the mechanism counts faster
            sums.reported[0] += mechanism.count(codes)
            sums.rows[0] += len(codes)
            sums.missing[0] += len(absent)
            continue
        times = _taken(column.times, part)
        place = np.zeros(len(encoded.codes), dtype=np.intp) if pairs is None else pairs[part]
        absent = absent[place[absent] >= 0]
        _add(sums.missing, place[absent], _taken(times, absent))
        present = _present_rows(encoded)
        replicate_weights = None if sample.replicates is None else sample.replicates.weights
        reports = _PresentReports(
            codes=codes,
            place=place[present],
            times=_taken(times, present),
            weights=_taken(_taken(sample.weights, part), present),
            replicates=_taken(_taken(replicate_weights, part), present),
        )
        _add_reports(sums, reports.in_groups(), column, replicates)
    column.refuse(unknown)
    return sums


def _present_rows(encoded: Encoded) -> Indices | slice:
    """The places of the rows with a report."""
    if not encoded.outside.size:
        return slice(None)
    return np.delete(np.arange(len(encoded.codes)), encoded.outside)


def _taken(values: Array | None, rows: Any) -> Array | None:
    """The values of some rows; None if there are none."""
    return None if values is None else values[rows]


class _PresentReports(NamedTuple):
    """Rows of a block that have a report.

    codes : their reports.  place : (rows,) the number of the row's group and unit, -1 for rows in
    no group.  times, weights, replicates : as in the column and the sample, if they have any.
    """

    codes: Array
    place: Indices
    times: Array | None
    weights: Floats | None
    replicates: Floats | None

    def in_groups(self) -> _PresentReports:
        """The reports of rows in a group."""
        in_group = self.place >= 0
        if in_group.all():
            return self
        return _PresentReports(
            codes=self.codes[in_group],
            place=self.place[in_group],
            times=_taken(self.times, in_group),
            weights=_taken(self.weights, in_group),
            replicates=_taken(self.replicates, in_group),
        )


def _add_reports(
    sums: _PairSums,
    reports: _PresentReports,
    column: ReportColumn,
    replicates: ReplicateSums | None,
) -> None:
    """Add reports to the sums of their groups and units, and to those of replicate weights."""
    place = reports.place
    times = reports.times
    weights = reports.weights
    _add(sums.rows, place, times)
    report, cells = column.flat(reports.codes)
    flat = place[report] * column.m + cells
    _add(sums.reported, flat, _taken(times, report))
    if weights is None or sums.weights is None or sums.powers is None:
        return
    values = powers_of(weights)
    if times is not None:
        values *= times
    for total, value in zip(sums.weights, values[:2, report], strict=True):
        _add(total, flat, value)
    for total, value in zip(sums.powers, values, strict=True):
        _add(total, place, value)
    if replicates is not None and reports.replicates is not None:
        replicates.add(reports.replicates, weights, place, report=report, flat=flat)


def _add(sums: Array, places: Indices, values: Array | None) -> None:
    """Add values at flat indices, one by one; doubles hold counts up to 2**53."""
    added = np.bincount(places, values, minlength=sums.size).astype(sums.dtype, copy=False)
    sums += added.reshape(sums.shape)
