"""The reports of a plan's parts that tell of a table: one sample for each kind of part.

The rows of a pair report a cell of its table, and those of a part with one of the two columns a
margin, each by one k-RR; ordinary columns of the table are exact.  The public coin assigns people
to parts, so all samples have the same proportions and are pooled by their precision.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rrstats._cached import cached_property
from rrstats._frozen import fixed
from rrstats._typing import Array, Floats, Indices, Labels
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import Entries, KRRChannel
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_channel import MatrixForm, StackedChannel
from rrstats.mechanisms.plans import marginal_mechanism, of_part, part_mechanism
from rrstats.mechanisms.samples import Samples
from rrstats.randomness.sources import Source

MAX_CELLS = 1 << 10
"""Maximum cells of a table whose parts are pooled: their weights need its square in memory."""


class TableSample(NamedTuple):
    """Parts of a plan that report the same columns of a table, by the same k-RR.

    parts : their labels in the public column.  places : the axes of the table that they report.
    krr : of the cells of these axes, the last changing fastest.
    """

    parts: tuple[str, ...]
    places: tuple[int, ...]
    krr: KRR


@dataclass(frozen=True)
class MarginChannel(MatrixForm):
    """k-RR of some margin of a table, with exact ordinary columns beside it.

    krr : of the margin.  margin_of, ordinary_of, report_of : for each class, that is, each cell of
        the table, the margin's cell, the cell of the ordinary columns, and the truthful report.
    """

    krr: KRRChannel
    margin_of: tuple[int, ...]
    ordinary_of: tuple[int, ...]
    report_of: tuple[int, ...]
    inverse = None

    @property
    def class_of(self) -> tuple[int, ...]:
        """The classes are the cells."""
        return tuple(range(len(self.report_of)))

    @property
    def max_likelihood_ratio(self) -> Fraction | float:
        """The ratio of the private columns: ordinary ones are public."""
        return self.krr.max_likelihood_ratio

    def _table(self, truth: Any, other: Any) -> Array:
        """(m, classes) P(report | class) from the two probabilities of the margin."""
        margin = np.array(self.margin_of)
        ordinary = np.array(self.ordinary_of)
        _, first = np.unique(self.report_of, return_index=True)
        same = np.where(margin[first, None] == margin, truth, other)
        return np.asarray(np.where(ordinary[first, None] == ordinary, same, type(other)(0)))

    @cached_property
    def matrix(self) -> Floats:
        """(m, classes) ``matrix[report, cell]``; columns sum to 1."""
        probs = float(self.krr.prob_truth), float(self.krr.prob_other)
        return fixed(self._table(*probs).astype(np.float64))

    @property
    def entries(self) -> Entries:
        """The matrix as rows of exact fractions."""
        table = self._table(self.krr.prob_truth, self.krr.prob_other)
        return tuple(map(tuple, table.tolist()))


@dataclass(frozen=True, repr=False)
class PlanTable(Mechanism):
    """The reports of all parts of a plan that tell of a table; it does not privatize.

    axes : the categories of each column.  planned : the axes that are columns of the plan.
    samples : in the order of the cells; each visible report is a cell of a margin of the table.
    """

    axes: tuple[Labels, ...]
    planned: tuple[int, ...]
    samples: tuple[TableSample, ...]

    @property
    def groups(self) -> Labels:  # type: ignore[override]  # derived, a field in the base
        """The labels of the samples."""
        return tuple(", ".join(sample.parts) for sample in self.samples)

    @cached_property
    def domain(self) -> Categories:  # type: ignore[override]  # derived, a field in the base
        """The cells."""
        shape = self.shape
        places = np.unravel_index(np.arange(prod(shape)), shape)
        cells = zip(*(place.tolist() for place in places), strict=True)
        return Categories(
            [
                tuple(axis[code] for axis, code in zip(self.axes, cell, strict=True))
                for cell in cells
            ]
        )

    @cached_property
    def report_space(self) -> Categories:
        """Numbers of the samples' reports."""
        return Categories(range(self.channel.m))

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of categories."""
        return tuple(map(len, self.axes))

    def visible(self, sample: TableSample) -> list[int]:
        """The axes that rows of a sample tell: those that they report, and ordinary ones."""
        ordinary = {*range(len(self.axes))} - {*self.planned}
        return sorted(ordinary | {*sample.places})

    @cached_property
    def channel(self) -> StackedChannel:
        """The pooled channels of the samples."""
        size = prod(self.shape)
        ordinary = [place for place in range(len(self.axes)) if place not in self.planned]
        channels = tuple(
            MarginChannel(
                sample.krr.channel,
                margin_codes(self.shape, sample.places),
                margin_codes(self.shape, ordinary),
                margin_codes(self.shape, self.visible(sample)),
            )
            for sample in self.samples
        )
        return StackedChannel(channels, tuple(range(size)), pooled=True)

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Raise: a plan privatizes, and a table of some of its columns does not."""
        raise ArgumentTypeError("a table of a plan's parts randomizes nothing; privatize the plan")

    def margin(self, places: Sequence[int]) -> tuple[PlanTable, Indices]:
        """The table of some axes, at least one of them of the plan.

        Returns the table, and (m,) its report of each report of this one, -1 for those that do not
        tell of it.
        """
        planned = [place for place in self.planned if place in places]
        # Samples that report the same axes of the margin by the same k-RR become one.
        merged: dict[tuple[Any, ...], list[int]] = {}
        samples: dict[tuple[Any, ...], TableSample] = {}
        for index, sample in enumerate(self.samples):
            reported = [place for place in sample.places if place in planned]
            if not reported:
                continue
            krr = _margin_krr(self, sample, reported)
            new_places = tuple(map(places.index, reported))
            kind = (new_places, krr.prob)
            merged.setdefault(kind, []).append(index)
            earlier = samples.get(kind, TableSample((), new_places, krr))
            samples[kind] = earlier._replace(parts=(*earlier.parts, *sample.parts))
        axes = tuple(self.axes[place] for place in places)
        table = PlanTable(axes, tuple(map(places.index, planned)), tuple(samples.values()))
        # Each report loses the axes that the margin does not have.
        target = np.full(self.channel.m, -1, dtype=np.intp)
        for number, indices in enumerate(merged.values()):
            kept_places = [places[place] for place in table.visible(table.samples[number])]
            for index in indices:
                visible = self.visible(self.samples[index])
                sizes = [self.shape[place] for place in visible]
                codes = np.unravel_index(np.arange(prod(sizes)), sizes)
                chosen = [codes[visible.index(place)] for place in kept_places]
                shape = [self.shape[place] for place in kept_places]
                start = self.channel.bounds[index]
                reports = np.ravel_multi_index(tuple(chosen), tuple(shape))
                target[start : start + len(reports)] = table.channel.bounds[number] + reports
        return table, target

    def of_column(self) -> Mechanism:
        """The mechanism of a table of one column of the plan: reports are in the same order."""
        krrs = {part: sample.krr for part, sample in zip(self.groups, self.samples, strict=True)}
        return Samples(krrs) if len(krrs) > 1 else next(iter(krrs.values()))

    def _call(self, name: str = "") -> str:
        return f"PlanTable of the parts {'; '.join(map(str, self.groups))}"


def margin_codes(shape: Sequence[int], places: Sequence[int]) -> tuple[int, ...]:
    """For each cell of a table, the cell of the margin of some axes, in the order of the axes.

    >>> margin_codes((2, 3), [1]), margin_codes((2, 2), [])
    ((0, 1, 2, 0, 1, 2), (0, 0, 0, 0))
    """
    size = prod(shape)
    if not places:
        return (0,) * size
    codes = np.unravel_index(np.arange(size), tuple(shape))
    chosen = tuple(codes[place] for place in places)
    numbers = np.ravel_multi_index(chosen, tuple(shape[place] for place in places))
    return tuple(np.asarray(numbers).tolist())


def _margin_krr(table: PlanTable, sample: TableSample, places: Sequence[int]) -> KRR:
    """The k-RR of some of the axes that a sample reports."""
    if len(places) == len(sample.places):
        if len(places) == 2:
            return sample.krr
        return KRR(list(table.axes[places[0]]), sample.krr.prob)
    return marginal_mechanism(Categories(list(table.axes[places[0]])), sample.krr)


def plan_table(
    parts: Mapping[str, Sequence[Hashable]],
    epsilon: float,
    mechanisms: Mapping[Hashable, Mechanism],
    names: Sequence[Hashable],
    axes: Sequence[Labels],
) -> PlanTable | None:
    """The mechanism of a table from all parts of a plan that report any of its columns.

    None if all these parts report the same columns alike, and for very many cells.
    parts, epsilon : of the plan, by label.
    mechanisms : of each column of the plan in the table, over all parts.
    names, axes : of all columns of the table, and their categories.
    """
    planned = tuple(place for place, name in enumerate(names) if name in mechanisms)
    samples: dict[tuple[Any, ...], TableSample] = {}
    for label, part in parts.items():
        places = tuple(place for place in planned if names[place] in part)
        if not places:
            continue
        if len(places) == 2:
            domains = [mechanisms[names[place]].domain for place in places]
            krr = part_mechanism(domains, epsilon)
        else:
            krr = of_part(mechanisms[names[places[0]]], label)
        earlier = samples.get((places, krr.prob))
        labels = (label,) if earlier is None else (*earlier.parts, label)
        samples[places, krr.prob] = TableSample(labels, places, krr)
    if len(samples) < 2 or prod(map(len, axes)) > MAX_CELLS:
        return None
    return PlanTable(tuple(axes), planned, tuple(samples.values()))
