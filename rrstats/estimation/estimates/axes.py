"""Axes of joint tables: what the reports of one column tell of a cell, and the counted rows.

Everything in a table is linear in counts, axis by axis: an `Axis` holds small matrices from the
counted numbers (its *features*) to scores, to products of scores, and to the possible values of the
score of one category.  Where each report falls into one cell, the features are the cells.  Where a
report names several categories, they are "names category v" for each v, and "has a report".  These
suffice for means, variances and intervals of single cells, and they can be added.
With weights, a design or a pair that a plan asked together, all columns are counted as one column
whose categories are the cells (`joint_tally`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_distinct, check_instance
from rrstats._frozen import fixed
from rrstats._typing import Counts, Floats, Indices, Labels
from rrstats.data.categories import Categories
from rrstats.data.columns import blocks
from rrstats.data.encoders import Encoded
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.report_columns import ReportColumn, ReportModel, ordinary
from rrstats.estimation.report_columns.sample_design import Rows
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.tally import Tally, count_units
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import transition_matrix
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.plan_tables import PlanTable, plan_table
from rrstats.mechanisms.samples import Samples
from rrstats.randomness.sources import BLOCK_ROWS

_MAX_CELLS = 1 << 22
"""Maximum numbers in a table; with more, ten million rows are two or three for each."""

_MAX_COMBINED = 400
"""Maximum cells of a table with weights or a design."""

_MIN_BLOCK_ROWS = 256
"""Minimum rows that are counted together, however many features they have."""

_AT_ONCE = 1 << 21
"""Maximum products of features of several categories that are in memory together."""


# -- one column ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis(ReportModel):
    """One column of a table.

    Attributes
    ----------
    name : hashable
        Of the column.
    categories : tuple of k hashables
        The true answers, or the levels of an ordinary column.
    mechanism : Mechanism or None
        None for an ordinary column.
    pair : tuple or None
        The names of two columns that a plan asked together, and their joint mechanism.
    """

    name: Hashable
    categories: Labels
    mechanism: Mechanism | None = None
    pair: tuple[Labels, KRR] | None = None

    @property
    def cell_samples(self) -> Indices:
        """(m,) the sample of each cell."""
        return np.zeros(self.m, dtype=np.intp) if self.channel is None else self.channel.samples

    @property
    def features(self) -> int:
        """The number of counted numbers: cells, or the named categories and all reports."""
        return self.m if self.is_multinomial else self.m + 1

    @cached_property
    def total(self) -> Floats:
        """(features, 1) coefficients of the features whose sum is the number of rows."""
        return fixed(np.ones((self.m, 1)) if self.is_multinomial else np.eye(self.m + 1)[:, -1:])

    @cached_property
    def scores(self) -> Floats:
        """(features, k) the unbiased score of each category."""
        return fixed(self.score_table if self.is_multinomial else self._named_powers(1))

    def check_scores(self) -> None:
        """Raise NotIdentifiableError if the reports of the column have no scores."""
        np.asarray(self.scores)

    @cached_property
    def named_scores(self) -> tuple[Floats, Floats]:
        """(k,) and (k,) the score of a category that is not named, and of one that is."""
        assert self.channel is not None
        low, high = (self.channel.solve(rates(self.m)) for rates in (np.zeros, np.ones))
        return fixed(low), fixed(high)

    def _named_powers(self, power: int) -> Floats:
        """(features, k) powers of the scores, from whether a category is named."""
        low, high = (scores**power for scores in self.named_scores)
        return np.vstack([np.diag(high - low), low])

    @cached_property
    def linear(self) -> Floats:
        """(features, 1 + k) the constant 1, and the scores."""
        return fixed(np.hstack([self.total, self.scores]))

    @cached_property
    def squares(self) -> Floats:
        """(features, k) the squares of the scores."""
        return fixed(self.scores**2 if self.is_multinomial else self._named_powers(2))

    @cached_property
    def products(self) -> Floats:
        """(features, 1 + k, 1 + k) the products of any two of `linear`.

        Where one report may name both categories, the mean of the product given the truth, at the
        unbiased proportions, because joint counts are not kept.
        """
        if self.is_multinomial:
            return fixed(self.linear[:, :, None] * self.linear[:, None, :])
        assert self.channel is not None
        full = self.truths.copy()
        within = self.channel.covariance(np.eye(self.k), "sample")
        full[:, 1:, 1:] = np.tensordot(self.scores, within, axes=1)
        each = np.arange(1, 1 + self.k)
        full[:, each, each] = self.squares
        return fixed(full)

    @cached_property
    def truths(self) -> Floats:
        """(features, 1 + k, 1 + k) unbiased estimates of products of 1 and true indicators."""
        full = np.zeros((self.features, 1 + self.k, 1 + self.k))
        full[:, 0, :] = full[:, :, 0] = self.linear
        each = np.arange(1, 1 + self.k)
        full[:, each, each] = self.scores
        return fixed(full)

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """(k, g) the possible values of the score of each category, (features, k, g) their counts.

        A category with fewer values repeats its first, which is counted once.
        """
        if not self.is_multinomial:
            low, high = self.named_scores
            counted = np.zeros((self.features, self.k, 2))
            each = np.arange(self.k)
            counted[each, each, 1] = 1
            counted[each, each, 0] = -1
            counted[-1, :, 0] = 1
            return fixed(np.stack([low, high], axis=1)), fixed(counted)
        rounded = np.round(self.scores, 12) + 0.0  # rounding errors would split one value into two
        distinct = [np.unique(scores, return_inverse=True) for scores in rounded.T]
        values = np.zeros((self.k, max((len(levels) for levels, _ in distinct), default=1)))
        counted = np.zeros((self.features, *values.shape))
        for code, (levels, place) in enumerate(distinct):
            values[code] = levels[0]
            values[code, : len(levels)] = levels
            counted[np.arange(self.m), code, place] = 1.0
        return fixed(values), fixed(counted)

    @cached_property
    def naming(self) -> Floats:
        """(features, k) 1 where a report supports a category; NaN if reports support none."""
        if self.channel is None:
            return fixed(np.eye(self.k))
        speaks = self.channel.support_counts(np.eye(self.m))
        return fixed(np.pad(speaks, ((0, self.features - self.m), (0, 0))))

    def supports(self, scores: Floats) -> Floats:
        """(n, features) the features of rows whose reports name several categories.

        scores : (n, k) from `ReportColumn.scores`.  Rows without a report get zeros.
        """
        low, high = self.named_scores
        has_report = np.isfinite(scores).all(axis=1, keepdims=True)
        is_named = np.abs(scores - high) < np.abs(scores - low)
        return np.hstack([is_named & has_report, has_report]).astype(np.float64)


def declared_axis(name: Hashable, described: Any) -> Axis:
    """An axis from a mechanism, or from the levels of an ordinary column."""
    if is_mechanism(described):
        mechanism = as_mechanism(described)
        return Axis(name, mechanism.categories, mechanism)
    rule = "a mechanism or a list of its levels"
    check_instance(described, f"column {name!r}", Iterable, rule)
    return Axis(name, Categories(described).categories)


# -- rows ------------------------------------------------------------------------------------


def check_size(axes: Sequence[Axis]) -> None:
    """Raise for a table with too many cells."""
    size = prod(axis.features + 1 for axis in axes)
    if size > _MAX_CELLS:
        widest = max(axes, key=lambda axis: axis.k)
        raise ArgumentValueError(
            f"a table of {len(axes)} columns must have at most {_MAX_CELLS:,} cells, found "
            f"{size:,}; column {widest.name!r} alone has {widest.k:,} categories: leave it out, "
            "merge its categories, or cut its numbers into ranges (pandas.cut)"
        )


def refuse_named(axes: Sequence[Axis], remedy: str) -> None:
    """Raise for a column whose reports name several categories."""
    for axis in axes:
        if not axis.is_multinomial:
            raise ArgumentValueError(
                f"reports of column {axis.name!r} name several categories, and counts do not say "
                f"which were named together; {remedy}"
            )


def check_columns(names: Sequence[Hashable], mechanisms: Any) -> None:
    """Raise unless the names of columns are distinct and mechanisms is a mapping or None."""
    if mechanisms is not None:
        check_instance(mechanisms, "mechanisms", Mapping, "a mapping from column to mechanism")
    for name in names:
        check_instance(name, "a column", Hashable, "given by its name")
    check_distinct(names, "columns")


def count_rows(
    columns: Sequence[ReportColumn], *, keep: bool = False, times: Counts | None = None
) -> tuple[list[Axis], Counts]:
    """The axes, and the number of rows with each combination of their features.

    keep : whether missing values of an ordinary column become the level None.  Other rows with
        missing values are left out.
    times : (rows,) the number of rows of the data that each row stands for; None for 1.
    """
    axes = [
        Axis(column.name, column.categories, column.mechanism, column.pair) for column in columns
    ]
    check_size(axes)
    full = _features(columns, axes, times)
    for j, (axis, column) in enumerate(zip(axes, columns, strict=True)):
        if not axis.is_multinomial:
            continue
        last = np.take(full, column.m, axis=j)
        if keep and axis.mechanism is None and last.any():
            axes[j] = Axis(axis.name, (*axis.categories, None))
        else:
            full = np.take(full, np.arange(column.m), axis=j)
    return axes, np.ascontiguousarray(full)


def _places(columns: Sequence[ReportColumn], part: slice) -> Indices:
    """(n,) the combined cell of each row; the last cell of each column is for missing values."""
    place = columns[0].codes(part)
    for column in columns[1:]:
        place = place * (column.m + 1)
        place += column.codes(part)
    return place


def _features(
    columns: Sequence[ReportColumn], axes: Sequence[Axis], times: Counts | None
) -> Counts:
    """Rows by cell, m + 1 for each column; features of several categories weight the rows.

    Doubles add these sums exactly.
    """
    several = [j for j, axis in enumerate(axes) if not axis.is_multinomial]
    plain = [j for j in range(len(axes)) if j not in several]
    plain_columns = [columns[j] for j in plain]
    cell_shape = [column.m + 1 for column in plain_columns]
    feature_shape = [axes[j].features for j in several]
    total = np.zeros((prod(feature_shape), prod(cell_shape)))
    rows = max(_MIN_BLOCK_ROWS, min(BLOCK_ROWS, _AT_ONCE // prod(feature_shape)))
    for part in blocks(columns[0].rows, rows):
        products = np.ones((1, 1)) if times is None else times[part, None]
        for j in several:
            features = axes[j].supports(columns[j].scores(part))
            products = (products[:, :, None] * features[:, None, :]).reshape(len(features), -1)
        cells = _places(plain_columns, part) if plain else np.zeros(len(products), dtype=np.intp)
        weights = products.T if several or times is not None else [None]
        for feature, weight in enumerate(weights):
            total[feature] += np.bincount(cells, weight, minlength=total.shape[1])
    full = np.rint(total).astype(np.int64).reshape(*feature_shape, *cell_shape)
    return np.moveaxis(full, range(full.ndim), [*several, *plain])


# -- one column that combines all ------------------------------------------------------------


def kron_all(tables: Sequence[Floats]) -> Floats:
    """The Kronecker product of matrices."""
    return reduce(lambda left, right: np.asarray(np.kron(left, right), dtype=np.float64), tables)


def joint_mechanism(axes: Sequence[Axis]) -> Mechanism:
    """The mechanism of one column whose categories are the cells of a table."""
    cells = list(product(*(axis.categories for axis in axes)))
    pair = axes[0].pair
    if pair and all(axis.pair == pair for axis in axes):
        _, joint = pair
        prob = joint.prob if len(axes) > 1 else cast(KRR, axes[0].mechanism).prob
        return KRR(cells, prob)
    for axis in axes:
        if not axis.is_multinomial or axis.likelihood_table.shape[1] != axis.k:
            raise ArgumentValueError(
                f"with weights or a design, each report must fall into one cell, without latent "
                f"classes, found other reports in column {axis.name!r}; leave it out, or estimate "
                "it alone"
            )
    size = prod(axis.m for axis in axes)
    if not 2 <= size <= _MAX_COMBINED:
        raise ArgumentValueError(
            f"a table with weights or a design must have 2 to {_MAX_COMBINED} cells, found "
            f"{size:,} for columns {[axis.name for axis in axes]}; merge categories, or declare "
            "unused levels by a Categorical"
        )
    combinations = list(product(*map(_samples_of, axes)))
    if len(combinations) == 1:
        matrix = _joint_likelihood(axes, combinations[0])
        reports = cells if all(axis.m == axis.k for axis in axes) else range(size)
        return MatrixDesign(cells, matrix, reports=list(reports))
    matrices = [_joint_likelihood(axes, samples) for samples in combinations]
    return Samples(
        {
            place: MatrixDesign(cells, matrix, reports=list(range(len(matrix))))
            for place, matrix in enumerate(matrices)
        }
    )


def _samples_of(axis: Axis) -> range:
    """The numbers of the samples of a column."""
    return range(1 + int(axis.cell_samples.max(initial=0)))


def _sample_order(axes: Sequence[Axis]) -> Indices:
    """The combined cells in the order of their mechanism: one combination of samples at a time."""
    code = np.zeros(1, dtype=np.intp)
    for axis in axes:
        code = (code[:, None] * len(_samples_of(axis)) + axis.cell_samples).ravel()
    return np.argsort(code, kind="stable")


def _joint_likelihood(axes: Sequence[Axis], samples: Sequence[int]) -> Floats:
    """P(cell | categories): products over the columns, and over the pairs that a plan asked.

    samples : the sample of each column whose cells these are.
    """
    tables: list[Floats] = []
    order: list[int] = []
    for place, axis in enumerate(axes):
        if place in order:
            continue
        pair_places = [j for j, other in enumerate(axes) if axis.pair and other.pair == axis.pair]
        if axis.pair and len(pair_places) == 2:
            _, joint = axis.pair
            tables.append(transition_matrix(joint.channel))
            order += pair_places
        else:
            tables.append(axis.likelihood_table[axis.cell_samples == samples[place]])
            order.append(place)
    cells = [np.count_nonzero(axes[place].cell_samples == samples[place]) for place in order]
    categories = [axes[place].k for place in order]
    table = kron_all(tables).reshape(*cells, *categories)
    back = np.argsort(order)
    in_order = table.transpose([*back, *(back + len(order))])
    return in_order.reshape(prod(cells), prod(categories))


def joint_tally(
    columns: Sequence[ReportColumn], axes: Sequence[Axis], rows: Rows, times: Counts | None
) -> Tally:
    """Rows by stratum, cluster and combined report cell, with sums of their weights."""
    mechanism = joint_mechanism(axes)
    shape = [axis.m for axis in axes]
    size = prod(shape)
    cells = np.full([column.m + 1 for column in columns], size + 1)  # size + 1 is missing
    place = np.empty(size, dtype=np.intp)
    place[_sample_order(axes)] = np.arange(size)
    cells[tuple(map(slice, shape))] = place.reshape(shape)
    codes = cells.ravel()[_places(columns, slice(None))]
    combined = ReportColumn(
        name=None,
        categories=mechanism.categories,
        rows=len(codes),
        cells=codes,
        reader=partial(Encoded.of, k=size),
        mechanism=mechanism,
        times=times,
        plan=next((column.plan for column in columns if column.plan is not None), None),
    )
    return count_units(combined, rows)


def plan_tally(
    columns: Sequence[ReportColumn], axes: Sequence[Axis], rows: Rows, times: Counts | None
) -> Tally | None:
    """The tally of a table from all parts of its plan: pairs report cells, single columns margins.

    None where all these parts report the same columns alike, and for tables of two plans, of other
    privatized columns, and of very many cells.
    """
    planned = [column for column in columns if column.plan is not None]
    private = [column for column in columns if column.private]
    if not planned or len(private) > len(planned):
        return None
    plan = cast(FramePlan, planned[0].plan)
    if any(column.plan != plan for column in planned):
        return None
    mechanisms = {column.name: cast(Mechanism, column.mechanism) for column in planned}
    names = [column.name for column in columns]
    table = plan_table(
        plan.labelled, plan.epsilon, mechanisms, names, [axis.categories for axis in axes]
    )
    if table is None:
        return None
    codes = [_axis_codes(column) for column in columns]
    public = ordinary(planned[0].public)
    labels = public.codes()
    reports = np.full(columns[0].rows, table.channel.m + 1)  # missing
    for sample, start in zip(table.samples, table.channel.bounds[:-1], strict=True):
        is_asked = np.array([*(label in sample.parts for label in public.categories), False])
        visible = table.visible(sample)
        shape = tuple(axes[place].k for place in visible)
        present = is_asked[labels]
        for place in visible:
            present = present & (codes[place] < axes[place].k)
        chosen = tuple(codes[place][present] for place in visible)
        reports[present] = start + np.ravel_multi_index(chosen, shape)
    combined = ReportColumn(
        name=None,
        categories=table.categories,
        rows=len(reports),
        cells=reports,
        reader=partial(Encoded.of, k=table.channel.m),
        mechanism=table,
        times=times,
        plan=plan,
    )
    return count_units(combined, rows)


def _axis_codes(column: ReportColumn) -> Indices:
    """(rows,) the category that each row reports, and k or more where it is missing."""
    codes = column.codes()
    if column.samples is None:
        return codes
    return np.where(codes < column.m, codes % column.k, column.k)


def margin_tally(tally: Tally, axes: Sequence[Axis], places: Sequence[int]) -> Tally:
    """The tally of some of the columns, from the tally of all."""
    if list(places) == list(range(len(axes))):
        return tally
    if arrays.is_pooled(tally.mechanism.channel):
        return _plan_margin(tally, cast(PlanTable, tally.mechanism), axes, places)
    parts = [np.eye(axis.m) if j in places else np.ones((axis.m, 1)) for j, axis in enumerate(axes)]
    kept = [axis.m for j, axis in enumerate(axes) if j in places]
    order = 1 + np.argsort(np.argsort(places))
    table = kron_all(parts).reshape(-1, *kept).transpose(0, *order).reshape(-1, prod(kept))
    table = table[_sample_order(axes)][:, _sample_order([axes[place] for place in places])]
    counts = tally.counts
    replicates = counts.replicates
    if replicates is not None:
        replicates = replace(replicates, sums=replicates.sums @ table)
    marginal = replace(
        counts,
        reported=counts.reported @ table.astype(np.int64),
        weights=None if counts.weights is None else counts.weights @ table,
        replicates=replicates,
    )
    joint = joint_mechanism([axes[place] for place in places])
    return replace(tally, mechanism=joint, counts=marginal)


def _plan_margin(
    tally: Tally, table: PlanTable, axes: Sequence[Axis], places: Sequence[int]
) -> Tally:
    """The tally of some of the columns of a plan's table."""
    mechanism: Mechanism
    if {*places} & {*table.planned}:
        mechanism, target = table.margin(list(places))
        m = mechanism.channel.m
        if len(places) == 1:
            mechanism = mechanism.of_column()
    else:
        mechanism = joint_mechanism([axes[place] for place in places])
        m = mechanism.k
        target = _ordinary_cells(table, places)
    used = np.flatnonzero(target >= 0)
    move = np.zeros((len(target), m), dtype=np.int64)
    move[used, target[used]] = 1
    counts = tally.counts
    reported = counts.reported @ move
    weights = None if counts.weights is None else counts.weights @ move
    rows = reported.sum(axis=1)
    powers = counts.powers
    if powers is not None and weights is not None:
        powers = np.stack([*weights.sum(axis=2), *powers[2:]])
    kept = rows > 0
    marginal = replace(
        counts,
        places=counts.places[kept],
        rows=rows[kept],
        reported=reported[kept],
        weights=None if weights is None else weights[:, kept],
        powers=None if powers is None else powers[:, kept],
        drawn=counts.drawn if tally.sampled else rows,
    )
    return replace(tally, mechanism=mechanism, counts=marginal)


def _ordinary_cells(table: PlanTable, places: Sequence[int]) -> Indices:
    """(m,) the cell of some ordinary columns in each report of a plan's table."""
    cells = []
    for sample in table.samples:
        visible = table.visible(sample)
        sizes = [table.shape[place] for place in visible]
        codes = np.unravel_index(np.arange(prod(sizes)), sizes)
        chosen = tuple(codes[visible.index(place)] for place in places)
        shape = tuple(table.shape[place] for place in places)
        cells.append(np.asarray(np.ravel_multi_index(chosen, shape)))
    return np.concatenate(cells)
