"""Joint tables of columns that were privatized separately or as a pair, and of ordinary columns.

A person's score in a cell is the product of their scores in the columns.  It is unbiased because
the columns were randomized independently.  The table of means is solved column by column,
F = M1^-1 (O / n) M2^-T for two, and so are the variances with squared scores; no Kronecker product
is formed.  n Var(f) = E[product of squared scores] - f^2 grows like the product over columns of
1 / (p - q)^2: with five private columns the effective sample size of a million rows may be near 0,
and `crosstab` warns (`Crosstab.effective_size`).  Two columns that a plan asked together hold one
answer over all combinations; their table is the estimate of that answer (`Crosstab.combined`).
Conditional proportions are ratios of two of these proportions: consistent, not unbiased.
Everything is linear in counts, axis by axis: an `Axis` holds small matrices from the counted
numbers (its *features*) to scores, to products of scores, and to the possible values of the score
of one category.  Where each report falls into one cell, the features are the cells.  Where a report
names several categories, they are "names category v" for each v, and "has a report".  These suffice
for means, variances and intervals of single cells, and they can be added.
Sources: Chaudhuri and Mukerjee (1988) for products of scores; van den Hout and van der
Heijden (2002).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_count, check_distinct, check_instance, check_level, check_one_of
from rrstats._display import label, percent_range
from rrstats._typing import Counts, Floats
from rrstats.data.categories import Categories
from rrstats.data.encoders import Encoded
from rrstats.errors import ArgumentValueError, ImplausibleReportsWarning, LowPrecisionWarning, warn
from rrstats.estimation.arrays import check_possible, level_of_each
from rrstats.estimation.engine_frames import is_frame
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.report_columns import (
    ReportColumn,
    ReportFrame,
    ReportModel,
    as_pairs,
    blocks,
    not_asked,
    plan_records,
)
from rrstats.estimation.result import (
    IMPLAUSIBLE,
    ConstrainedProportions,
    Result,
    long_frame,
    place_of,
    proportion_rows,
    wide_frame,
)
from rrstats.estimation.sample_design import (
    SIMPLE,
    Rows,
    SampleDesign,
    design_of,
    frame_design,
    refuse_missing,
    rows_of,
)
from rrstats.estimation.tally import Tally, UnitCounts, count_units
from rrstats.inference.binomial import clopper_pearson_rates
from rrstats.inference.contrasts import (
    Interval,
    cut_to_unit,
    fieller,
    hull,
    mean_interval,
    normal_quantile,
    project_to_simplex,
    ratio_interval,
    ratio_variance,
    wald,
)
from rrstats.inference.multinomial import contract, most_likely_table
from rrstats.mechanisms.base import Mechanism, is_mechanism
from rrstats.mechanisms.channel import check_target, fixed, transition_matrix
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.plots import PlotOptions, plot_cells, plot_intervals
from rrstats.randomness.sources import BLOCK_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("empirical-likelihood", "wald")

NUMBERS = ("proportion", "std_error", "low", "high", "count", "reported", "naive", "effective_n")

_MOST_VALUES = 1 << 17
"""Maximum cells times values of a score for which the likelihood takes a few seconds."""

_FEW = 5
"""Minimum effective sample size for each cell, below which `crosstab` warns."""

_MOST_CELLS = 1 << 22
"""Maximum numbers in a table; with more, ten million rows are two or three for each."""

_MOST_COMBINED = 400
"""Maximum cells of a table with weights or a design."""

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
    categories: tuple[Hashable, ...]
    mechanism: Mechanism | None = None
    pair: tuple[tuple[Hashable, ...], KRR] | None = None

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

    @cached_property
    def named_scores(self) -> tuple[Floats, Floats]:
        """(k,) and (k,) the score of a category that is not named, and of one that is."""
        assert self.channel is not None
        low, high = (self.channel.solve(rates(self.m)) for rates in (np.zeros, np.ones))
        return fixed(low), fixed(high)

    def _named_powers(self, power: int) -> Floats:
        """(features, k) powers of the scores, from whether a category is named."""
        low, high = (one**power for one in self.named_scores)
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
        within = self.channel.covariance(np.eye(self.k), "rows")
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
            counted[each, each, 1], counted[each, each, 0], counted[-1, :, 0] = 1, -1, 1
            return fixed(np.stack([low, high], axis=1)), fixed(counted)
        rounded = np.round(self.scores, 12) + 0.0  # rounding errors would split one value into two
        found = [np.unique(column, return_inverse=True) for column in rounded.T]
        values = np.zeros((self.k, max((len(own) for own, _ in found), default=1)))
        counted = np.zeros((self.features, *values.shape))
        for code, (own, place) in enumerate(found):
            values[code], values[code, : len(own)] = own[0], own
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
        there = np.isfinite(scores).all(axis=1, keepdims=True)
        named = np.abs(scores - high) < np.abs(scores - low)
        return np.hstack([named & there, there]).astype(np.float64)


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
    if size > _MOST_CELLS:
        widest = max(axes, key=lambda axis: axis.k)
        raise ArgumentValueError(
            f"a table of {len(axes)} columns must have at most {_MOST_CELLS:,} cells, found "
            f"{size:,}; column {widest.name!r} alone has {widest.k:,} categories: leave it out, "
            "merge its categories, or cut its numbers into ranges (pandas.cut)"
        )


def refuse_named(axes: Sequence[Axis], remedy: str) -> None:
    """Raise for a column whose reports name several categories."""
    if wide := [axis.name for axis in axes if not axis.is_multinomial]:
        raise ArgumentValueError(
            f"reports of column {wide[0]!r} name several categories, and counts do not say which "
            f"were named together; {remedy}"
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
    axes = [Axis(one.name, one.categories, one.mechanism, one.pair) for one in columns]
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


def _places(columns: Sequence[ReportColumn], part: slice) -> NDArray[np.intp]:
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
    shape, wide = [columns[j].m + 1 for j in plain], [axes[j].features for j in several]
    total = np.zeros((prod(wide), prod(shape)))
    rows = max(256, min(BLOCK_ROWS, _AT_ONCE // prod(wide)))
    for part in blocks(columns[0].rows, rows):
        product = np.ones((1, 1)) if times is None else times[part, None]
        for j in several:
            more = axes[j].supports(columns[j].scores(part))
            product = (product[:, :, None] * more[:, None, :]).reshape(len(more), -1)
        beside = [columns[j] for j in plain]
        place = _places(beside, part) if plain else np.zeros(len(product), dtype=np.intp)
        for at, each in enumerate(product.T if several or times is not None else [None]):
            total[at] += np.bincount(place, each, minlength=total.shape[1])
    full = np.rint(total).astype(np.int64).reshape(*wide, *shape)
    return np.moveaxis(full, range(full.ndim), [*several, *plain])


# -- one column that combines all ------------------------------------------------------------


def kron_all(tables: Sequence[Floats]) -> Floats:
    """The Kronecker product of matrices."""
    return reduce(lambda one, other: np.asarray(np.kron(one, other), dtype=np.float64), tables)


def joint_mechanism(axes: Sequence[Axis]) -> Mechanism:
    """The mechanism of one column whose categories are the cells of a table."""
    cells = list(product(*(axis.categories for axis in axes)))
    if (pair := axes[0].pair) and all(axis.pair == pair for axis in axes):
        prob = pair[1].prob if len(axes) > 1 else cast(KRR, axes[0].mechanism).prob
        return KRR(cells, prob)
    for axis in axes:
        single = axis.is_multinomial and axis.likelihood_table.shape[1] == axis.k
        if not single or (axis.channel is not None and axis.channel.samples.any()):
            raise ArgumentValueError(
                f"with weights or a design, each report must fall into one cell of one sample, "
                f"without latent classes, found other reports in column {axis.name!r}; leave it "
                "out, or estimate it alone"
            )
    size = prod(axis.m for axis in axes)
    if not 2 <= size <= _MOST_COMBINED:
        raise ArgumentValueError(
            f"a table with weights or a design must have 2 to {_MOST_COMBINED} cells, found "
            f"{size:,} for columns {[axis.name for axis in axes]}; merge categories, or declare "
            "unused levels by a Categorical"
        )
    matrix = _joint_likelihood(axes)
    reports = cells if all(axis.m == axis.k for axis in axes) else range(size)
    return MatrixDesign(cells, matrix, reports=list(reports))


def _joint_likelihood(axes: Sequence[Axis]) -> Floats:
    """P(cell | categories): products over the columns, and over the pairs that a plan asked."""
    tables, order = [], list[int]()
    for place, axis in enumerate(axes):
        if place in order:
            continue
        both = [at for at, one in enumerate(axes) if axis.pair and one.pair == axis.pair] or [place]
        whole = axis.pair[1].channel if axis.pair and len(both) == 2 else None
        tables.append(axis.likelihood_table if whole is None else transition_matrix(whole))
        order += both
    shape = [[axes[at].m for at in order], [axes[at].k for at in order]]
    found = kron_all(tables).reshape(*shape[0], *shape[1])
    back = np.argsort(order)
    return found.transpose([*back, *(back + len(order))]).reshape(prod(shape[0]), prod(shape[1]))


def joint_tally(
    columns: Sequence[ReportColumn], axes: Sequence[Axis], rows: Rows, times: Counts | None
) -> Tally:
    """Rows by stratum, cluster and combined report cell, with sums of their weights."""
    mechanism, shape = joint_mechanism(axes), [axis.m for axis in axes]
    size = prod(shape)
    cells = np.full([column.m + 1 for column in columns], size + 1)  # size + 1 is missing
    cells[tuple(map(slice, shape))] = np.arange(size).reshape(shape)
    codes = cells.ravel()[_places(columns, slice(None))]
    reader = partial(Encoded.of, k=size)
    held = None, mechanism.categories, len(codes), codes, reader, mechanism
    plan = next((column.plan for column in columns if column.plan is not None), None)
    return cast(Tally, count_units(ReportColumn(*held, times=times, plan=plan), rows))


def margin_tally(tally: Tally, axes: Sequence[Axis], places: Sequence[int]) -> Tally:
    """The tally of some of the columns, from the tally of all."""
    parts = [np.eye(axis.m) if j in places else np.ones((axis.m, 1)) for j, axis in enumerate(axes)]
    kept = [axis.m for j, axis in enumerate(axes) if j in places]
    order = 1 + np.argsort(np.argsort(places))
    table = kron_all(parts).reshape(-1, *kept).transpose(0, *order).reshape(-1, prod(kept))
    counts = tally.counts
    marginal = replace(
        counts,
        reported=counts.reported @ table.astype(np.int64),
        weights=None if counts.weights is None else counts.weights @ table,
    )
    joint = joint_mechanism([axes[place] for place in places])
    return replace(tally, mechanism=joint, counts=marginal)


# -- tables ----------------------------------------------------------------------------------


class CellProportions(Result):
    """Proportions of the cells of several columns, joint or conditional."""

    given: tuple[Hashable, ...] = ()

    @property
    def n_labels(self: Any) -> int:
        """One column of labels for each axis."""
        return len(self.names)

    def interpret(self: Any, *cell: Hashable, level: float = 0.95) -> str:
        """The proportion of one cell in a sentence.

        Parameters
        ----------
        *cell : hashable
            A category of each column; by default the last cell.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str
            The joint or conditional proportion with its interval.

        Examples
        --------
        >>> import rrstats as rr
        >>> columns = {"smoker": rr.KRR(["no", "yes"], 0.75), "region": ["north", "south"]}
        >>> table = rr.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> table.interpret("yes", "north")
        'smoker yes and region north: about 15.0%, 95% interval 10.7% to 19.5%'
        """
        found = cell or tuple(labels[-1] for labels in self.categories)
        pairs = zip(found, self.categories, self.names, strict=True)
        place = tuple(place_of(one, own, f"column {name!r}") for one, own, name in pairs)
        low, high = (float(end[place]) for end in self.interval(level))
        parts: list[list[str]] = [[], []]
        for name, one in zip(self.names, found, strict=True):
            parts[name in self.given].append(f"{label(name)} {label(one)}")
        said = " among ".join(" and ".join(part) for part in parts if part)
        if not np.isfinite(self.proportions[place]):
            return f"{said}: cannot be estimated, there are too few reports"
        ends = f"{level * 100:.10g}% interval {percent_range(low, high)}"
        return f"{said}: about {self.proportions[place]:.1%}, {ends}"


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(CellProportions):
    """Unbiased joint proportions of the categories of several columns.

    The columns must have been privatized separately, each answer with its own randomization, or be
    a pair that a plan asked together, of which a table counts the rows that were asked both.
    Proportions may lie outside [0, 1].  Add tables of parts of the data with ``+``.

    Attributes
    ----------
    axes : tuple of Axis
        The columns, in order.
    counted : ndarray
        The number of rows with each combination of the axes' features: their report cells, or, for
        reports that name several categories, the named categories and all reports.
    n_missing : int
        Rows with a missing value in a column; they are not in n.
    target : {"population", "rows"}
        Proportions, variances and intervals are about the population, or about these rows alone.
    combined : Estimate or None
        With weights, a design or a pair that a plan asked together, the estimate of one column that
        combines all columns: its categories are the cells.
    """

    axes: tuple[Axis, ...]
    counted: NDArray[np.int64]
    n_missing: int = 0
    target: str = "population"
    combined: Estimate | None = None

    def __post_init__(self) -> None:
        counted = self.counted.copy()  # the caller may still write to the array
        counted.flags.writeable = False
        object.__setattr__(self, "counted", counted)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        columns: Mapping[Any, Any],
        *,
        n_missing: int = 0,
        target: str = "population",
    ) -> Self:
        """A table from counts.

        Parameters
        ----------
        counts : array-like of shape (m1, ..., md)
            Rows by report cell; for most mechanisms, by reported category.
        columns : mapping
            From each column's name, in the order of the axes, to its mechanism, or to the list of
            levels of an ordinary column.
        n_missing : int
            Rows left out because of missing values.
        target : {"population", "rows"}
            The table is about the population, or about these rows alone.

        Returns
        -------
        Crosstab
            The table of these rows.

        Examples
        --------
        >>> import rrstats as rr
        >>> smoker = rr.KRR(["no", "yes"], 0.75)
        >>> columns = {"smoker": smoker, "region": ["north", "south"]}
        >>> table = rr.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> table.proportions.round(3).tolist()
        [[0.35, 0.45], [0.15, 0.05]]

        Of all people, about 15% smoke and live in the north.
        """
        axes = tuple(declared_axis(name, described) for name, described in columns.items())
        check_size(axes)
        refuse_named(axes, "count from the rows with rr.crosstab")
        listed, shape = np.asarray(counts, dtype=object), tuple(axis.m for axis in axes)
        if listed.shape != shape:
            raise ArgumentValueError(
                f"counts must have the shape {shape}, the report cells of the columns "
                f"{[axis.name for axis in axes]}, found {listed.shape}"
            )
        whole = np.array([check_count(one, "counts") for one in listed.ravel()], dtype=np.int64)
        absent = check_count(n_missing, "n_missing")
        return cls(axes, whole.reshape(shape), absent, check_target(target))._checked()

    def _checked(self) -> Self:
        """The table; raises for impossible reports, or reports without information."""
        for axis in self.axes:
            _ = axis.scores
            if axis.channel is not None and axis.is_multinomial:
                check_possible(axis.channel, self.margin(axis.name).counted)
        return self

    @cached_property
    def implausible(self) -> list[Hashable]:
        """The privatized columns whose reports no true proportions explain."""
        private = self.private if self.n else ()
        return [name for name in private if self.estimate(name).implausible.any()]

    @property
    def cautions(self) -> Sequence[str]:
        """A sentence that opens the printed table if reports are implausible."""
        if not self.implausible:
            return []
        names = ", ".join(map(label, self.implausible))
        return [f"Warning: in the columns {names} {IMPLAUSIBLE}."]

    # -- counts ----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The columns."""
        return tuple(axis.name for axis in self.axes)

    @property
    def categories(self) -> tuple[tuple[Hashable, ...], ...]:
        """The categories of each column."""
        return tuple(axis.categories for axis in self.axes)

    @property
    def private(self) -> tuple[Hashable, ...]:
        """The columns that are treated as privatized; the others are ordinary."""
        return tuple(axis.name for axis in self.axes if axis.mechanism is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of categories."""
        return tuple(axis.k for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @cached_property
    def n(self) -> int:
        """The number of rows without missing values."""
        return round(contract(self.counted, [axis.total for axis in self.axes]).item())

    @cached_property
    def rates(self) -> Floats:
        """Features per row; NaN without rows."""
        return fixed(self.counted / (self.n or np.nan))

    @cached_property
    def reported(self) -> Floats:
        """Rows whose reports support each cell; NaN if a design's reports support none."""
        return fixed(contract(self.counted, [axis.naming for axis in self.axes]))

    @property
    def naive(self) -> Floats:
        """(Weighted) proportions of rows whose reports support each cell: biased, to compare."""
        if self.combined is not None:
            return self.combined.support[1].reshape(self.shape)
        return self.reported / (self.n or np.nan)

    # -- proportions and their variance ----------------------------------------------------

    @cached_property
    def proportions(self) -> Floats:
        """Unbiased joint proportions; NaN without rows."""
        if self.combined is not None:
            return fixed(self.combined.proportions.reshape(self.shape))
        return fixed(contract(self.rates, [axis.scores for axis in self.axes]))

    @property
    def counts(self) -> Floats:
        """Unbiased counts among the rows; with a design, totals in the units of its weights."""
        if self.combined is not None:
            return self.combined.counts.reshape(self.shape)
        return self.proportions * self.n if self.n else np.zeros(self.shape)

    @property
    def divisor(self) -> float:
        """The divisor of the variance of one row; NaN for too few."""
        size = self.n - 1 if self.target == "population" else self.n
        return float(size) if size > 0 else np.nan

    @cached_property
    def row_variance(self) -> Floats:
        """Variance of one row's score in the population; with a design n - 1 times `variance`."""
        if self.combined is not None:
            drawn = self.combined.with_target("population")
            return fixed(drawn.variance.reshape(self.shape) * (self.n - 1))
        second = contract(self.rates, [axis.squares for axis in self.axes])
        return fixed(np.maximum(second - self.proportions**2, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """Variance of the proportions, for the target; NaN where n is too small.

        For the population, the sample variance of the rows' scores over n; for these rows, the mean
        of score^2 - score over n.  Both are unbiased; the second may be negative with very few
        rows, and then the standard error is 0.
        """
        if self.target == "population":
            return fixed(self.row_variance / self.divisor)
        if self.combined is not None:
            return fixed(self.combined.variance.reshape(self.shape))
        second = contract(self.rates, [axis.squares for axis in self.axes])
        return fixed((second - self.proportions) / self.divisor)

    @property
    def std_error(self) -> Floats:
        """Standard errors of the proportions: square roots of `variance`."""
        return np.sqrt(np.maximum(self.variance, 0.0))

    @property
    def covariance(self) -> Floats:
        """Covariance of the proportions, with the cells in the order of a flattened array.

        Returns
        -------
        ndarray of shape (cells, cells)
            For the target.
        """
        return self.moments([np.eye(1 + axis.k)[:, 1:] for axis in self.axes])[1]

    def moments(self, functions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Estimated means of products of functions of the columns, and their covariance.

        Parameters
        ----------
        functions : sequence of ndarray of shape (1 + k, q)
            For each column q functions; each is a constant, and for each category a number that is
            added to the constant.

        Returns
        -------
        tuple of ndarray
            (q1, ..., qd) unbiased means over people, and (q, q) their covariance for the target,
            flattened.
        """
        if self.combined is not None:
            tables = [given[0] + given[1:] for given in functions]
            whole = kron_all(tables)
            return contract(self.proportions, tables), whole.T @ self.combined.covariance @ whole
        pairs = list(zip(self.axes, functions, strict=True))
        means = contract(self.rates, [axis.linear @ given for axis, given in pairs])
        second = self._products([(axis.products, given) for axis, given in pairs])
        if self.target == "population":
            return means, (second - np.outer(means, means)) / self.divisor
        exact = self._products([(axis.truths, given) for axis, given in pairs])
        return means, (second - exact) / self.divisor

    def _products(self, pairs: Iterable[tuple[Floats, Floats]]) -> Floats:
        """(q, q) means of products, from the products of each column's 1 and scores."""
        tables = [np.einsum("fab,ap,bq->fpq", held, g, g, optimize=True) for held, g in pairs]
        found = contract(self.rates, tables)  # (q1, q1, ..., qd, qd)
        side = prod(table.shape[1] for table in tables)
        return _apart(found).reshape(side, side)

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance; infinite without a design."""
        return np.inf if self.combined is None else self.combined.df

    @property
    def effective_n(self) -> Floats:
        """Effective sample size of each cell; 0 where the proportion is not in (0, 1)."""
        inside = np.clip(self.proportions, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.n * inside * (1 - inside) / self.row_variance
        return np.where(self.row_variance > 0, found, float(self.n))

    @cached_property
    def effective_size(self) -> float:
        """Effective sample size of all cells together, at most n.

        It compares the total variance of all proportions with that of n direct answers,
        (1 - sum f^2) / n; the sum of squares is corrected for noise.
        """
        total = float(self.row_variance.sum())
        if not self.n or not total > 0:
            return float(self.n)
        direct = 1 - float((self.proportions**2).sum()) + total / self.n
        direct = min(max(direct, 0.0), 1 - 1 / self.size)
        return min(self.n * direct / total, float(self.n))

    # -- intervals -------------------------------------------------------------------------

    @cached_property
    def score_values(self) -> tuple[Floats, Floats]:
        """(cells, values) the possible scores of a row in each cell, and their counts."""
        taken = [axis.values for axis in self.axes]
        found = _apart(contract(self.counted, [counts for _, counts in taken]))
        values = fixed(kron_all([values for values, _ in taken]))
        return values, fixed(found.reshape(values.shape))

    @property
    def has_likelihood(self) -> bool:
        """True where there are rows, and the empirical likelihood takes at most a few seconds."""
        if self.combined is not None and self.combined.channel.binomial_rates is not None:
            return self.n > 1
        values = prod(axis.values[0].shape[1] for axis in self.axes)
        return self.n > 1 and self.size * values <= _MOST_VALUES

    def interval(
        self, level: float = 0.95, *, method: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """Intervals of the proportions, for the target.

        Parameters
        ----------
        level : float
            Confidence level.
        method : {"empirical-likelihood", "wald"}, optional
            The default is the first, except for very large tables.
        simultaneous : bool
            Whether the level holds for all cells together (Bonferroni).

        Returns
        -------
        Interval
            In [0, 1]; only Wald intervals are not cut.

        Notes
        -----
        The empirical likelihood makes no assumption about the other cells.  Where an estimate lies
        outside [0, 1], deviances are taken from the best proportion inside, so that the interval
        never shrinks to a point.  If no column is private, the interval is exact (Clopper-Pearson).
        For target "rows", it is the hull of Wald's interval and of the population's interval scaled
        by the ratio of the two standard errors.
        Lowest coverage of any cell at 95% for the population, in tables of 4 to 12 cells, including
        rare and empty cells: 91% at n = 50, 93.5% at 200, 94% at 1,000 (1,500 simulated tables
        each); Wald's falls to 38%, 67% and 91%.  For target "rows" 94.5% at n = 50 and 200.
        """
        level = level_of_each(level, simultaneous, self.size)
        method = check_one_of(method or METHODS[not self.has_likelihood], "method", METHODS)
        if self.n < 2:
            return Interval(np.zeros(self.shape), np.ones(self.shape))
        if self.combined is not None:
            exact = self.combined.channel.binomial_rates is not None
            name = None if exact and method == METHODS[0] else method
            return Interval(
                *(e.reshape(self.shape) for e in self.combined.interval(level, method=name))
            )
        by_wald = wald(self.proportions, self.std_error, normal_quantile(level))
        if method == "wald":
            return by_wald
        if self.target == "population" and not self.private:  # binomial counts
            return clopper_pearson_rates(self.counted, np.full(self.shape, self.n), level)
        values, counts = self.score_values
        found = mean_interval(values, counts, None, level, bounded=True)
        low, high = (end.reshape(self.shape) for end in found)
        if self.target == "rows":
            wide = np.sqrt(self.row_variance / self.n)
            drawn = np.divide(self.std_error, wide, out=np.zeros(self.shape), where=wide > 0)
            low = np.minimum(self.proportions - (self.proportions - low) * drawn, by_wald.low)
            high = np.maximum(self.proportions + (high - self.proportions) * drawn, by_wald.high)
        return cut_to_unit(Interval(low, high))

    # -- other tables ----------------------------------------------------------------------

    def _places(self, names: Sequence[Hashable]) -> list[int]:
        """The axes of columns; raises for unknown or repeated names."""
        for name in names:
            check_instance(name, "a column", Hashable, "given by its name")
        if len(set(names)) < len(names) or not {*names} <= {*self.names}:
            raise ArgumentValueError(
                f"columns must be distinct names among {list(self.names)}, found {list(names)}"
            )
        return [self.names.index(name) for name in names]

    def margin(self, *names: Hashable) -> Self:
        """The marginal table of some of the columns.

        Parameters
        ----------
        *names : hashable
            Columns, in the order of the new table's axes.

        Returns
        -------
        Crosstab
            The table of the same rows.
        """
        places = self._places(names)
        others = [place for place in range(len(self.axes)) if place not in places]
        counted = self.counted.transpose([*places, *others])
        for place in reversed(others):
            counted = counted @ self.axes[place].total[:, 0].astype(np.int64)
        axes = tuple(self.axes[place] for place in places)
        combined = self.combined
        if combined is not None:
            tally = margin_tally(combined.tally, self.axes, places)
            combined = replace(combined, tally=tally)
        return replace(self, axes=axes, counted=counted, combined=combined)

    def with_target(self, target: str) -> Self:
        """The table of the same rows for another target.

        Parameters
        ----------
        target : {"population", "rows"}
            The table is about the population, or about these rows alone.

        Returns
        -------
        Crosstab
            The table of the same rows.
        """
        combined = None if self.combined is None else self.combined.with_target(target)
        return replace(self, target=check_target(target), combined=combined)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Crosstab):
            return NotImplemented
        parts = [one for one in (self.combined, other.combined) if one is not None]
        designs, combined = [vars(one.design) for one in parts], self.combined
        alike = self.axes == other.axes and self.target == other.target
        if not alike or (parts and designs[:1] != designs[1:]):
            raise ArgumentValueError(
                "tables can be added if they have the same columns, levels, mechanisms and target, "
                "and with a design the same population, and both have weights or both have "
                "probabilities; declare the levels of an ordinary column as a Categorical"
            )
        if combined is not None:
            combined = replace(combined, tally=combined.tally + parts[1].tally)
        counted, missing = self.counted + other.counted, self.n_missing + other.n_missing
        return replace(self, counted=counted, n_missing=missing, combined=combined)

    def __radd__(self, other: object) -> Self:
        # sum() starts from the number 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def conditional(self, of: Any, given: Any) -> ConditionalProportions:
        """Proportions of some columns within each combination of others.

        Parameters
        ----------
        of, given : hashable or list of hashables
            Columns.  The table is summed over all others.

        Returns
        -------
        ConditionalProportions
            Proportions with an interval for each cell.

        Examples
        --------
        >>> import rrstats as rr
        >>> columns = {"smoker": rr.KRR(["no", "yes"], 0.75), "region": ["north", "south"]}
        >>> table = rr.Crosstab.from_counts([[300, 350], [200, 150]], columns)
        >>> found = table.conditional("smoker", given="region")
        >>> found.proportions[1].round(3).tolist()
        [0.3, 0.1]

        30% of the people in the north smoke, and 10% of those in the south.
        """
        of_names, given_names = self._listed(of), self._listed(given)
        asked = sorted(self._places((*of_names, *given_names)))
        table = self.margin(*(self.names[place] for place in asked))
        return ConditionalProportions(table.names, table.categories, table.n, table, given_names)

    def _listed(self, names: Any) -> tuple[Hashable, ...]:
        if isinstance(names, list) or (isinstance(names, tuple) and names not in self.names):
            return tuple(names)
        return (names,)

    def estimate(self, name: Hashable) -> Estimate:
        """The estimate of one private column, from the rows of this table.

        Parameters
        ----------
        name : hashable
            The column.

        Returns
        -------
        Estimate
            The same as `rrstats.estimate` of these rows.
        """
        alone = self.margin(name)
        (axis,) = alone.axes
        if axis.mechanism is None:
            raise ArgumentValueError(
                f"name must be a private column, found the ordinary column {name!r}; "
                f"table.margin({name!r}) has its proportions"
            )
        if alone.combined is not None:
            tally = replace(alone.combined.tally, mechanism=axis.mechanism)
            return replace(alone.combined, tally=tally)
        counts = UnitCounts.of_sample(self.n, alone.counted[: axis.m])
        return Estimate(Tally(axis.mechanism, counts, self.n_missing), self.target)

    def mle(self) -> ConstrainedProportions:
        """The maximum likelihood proportions inside the simplex.

        Returns
        -------
        ConstrainedProportions
            Equal to the unbiased proportions where those are inside and every column has as many
            reports as categories.  They have no interval.  Reports that name several categories
            raise an error: the counts do not hold which were named together.
        """
        refuse_named(self.axes, "project() gives proportions in [0, 1] that sum to 1")
        if self.combined is not None:
            inside = self.combined.mle()  # with a design it raises with the reason
            return self._constrained(inside.proportions.reshape(self.shape), inside.method)
        found = self.proportions
        square = all(axis.likelihood_table.shape == (axis.k, axis.k) for axis in self.axes)
        if self.n and not (square and (found > 0).all()):
            classes = most_likely_table([axis.likelihood_table for axis in self.axes], self.counted)
            found = fixed(contract(classes, [axis.recode.T for axis in self.axes]))
        return self._constrained(found, "maximum likelihood")

    def project(self) -> ConstrainedProportions:
        """The proportions inside the simplex that are nearest to the unbiased ones (Euclidean).

        Returns
        -------
        ConstrainedProportions
            Proportions without an interval.
        """
        found = self.proportions
        if self.n:
            found = fixed(project_to_simplex(found.ravel()).reshape(self.shape))
        return self._constrained(found, "Euclidean projection")

    def _constrained(self, found: Floats, method: str) -> ConstrainedProportions:
        return ConstrainedProportions(self.categories, found, self.n, method, self.names)

    # -- for people ------------------------------------------------------------------------

    def _normalized(self, normalize: str) -> ConditionalProportions | None:
        check_one_of(normalize, "normalize", ("all", "index", "columns"))
        if normalize == "all":
            return None
        *others, last = self.names
        pair = (last, others) if normalize == "index" else (others, last)
        return self.conditional(pair[0], given=pair[1])

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        simultaneous: bool = False,
        normalize: str = "all",
    ) -> pd.DataFrame:
        """A tidy frame, one row for each cell.

        Parameters
        ----------
        level, method, simultaneous
            As for `interval`.
        normalize : {"all", "index", "columns"}
            "index": proportions of the last column within the others; "columns": the reverse.

        Returns
        -------
        DataFrame
            The categories of each column, under its name ("_group" is appended to a name that is
            also one of the following); reported and naive (NaN if reports support no category),
            proportion, std_error, low, high, count.  Normalized: the categories, proportion,
            std_error, low, high.
        """
        if (within := self._normalized(normalize)) is not None:
            return within.to_frame(level)
        ends = self.interval(level, method=method, simultaneous=simultaneous)
        known = not np.isnan(self.reported).any()
        held: dict[str, NDArray[Any]] = {
            "reported": np.rint(self.reported).astype(np.int64) if known else self.reported,
            "naive": self.naive,
            "proportion": self.proportions,
            "std_error": self.std_error,
            **ends._asdict(),
            "count": self.counts,
        }
        return long_frame(self.names, self.categories, held)

    def table(self, values: str = "proportion", *, normalize: str = "all") -> pd.DataFrame:
        """One number for each cell, with the last column's categories as columns.

        Parameters
        ----------
        values : str
            proportion, std_error, low, high (of 95% intervals), count, reported, naive or
            effective_n.
        normalize : {"all", "index", "columns"}
            As for `to_frame`; only for proportion, std_error, low and high.

        Returns
        -------
        DataFrame
            A copy.
        """
        source: Any = self._normalized(normalize) or self
        check_one_of(values, "values", NUMBERS if source is self else NUMBERS[:4])
        name = {"proportion": "proportions", "count": "counts"}.get(values, values)
        found = getattr(source.interval() if values in ("low", "high") else source, name)
        return wide_frame(self.names, self.categories, found)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        normalize: str = "all",
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Axes:
        """Draw the table as a heat map, with the interval of each cell as text and as a line.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        normalize : {"all", "index", "columns"}
            Proportions of all, of each row or of each column, as in `to_frame`.
        title : str, optional
            Text above the table.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
            The last column's categories are side by side, those of all others are rows.
        """
        source: Any = self._normalized(normalize) or self
        values, low, high = (
            wide_frame(self.names, self.categories, values, text=True)
            for values in (source.proportions, *source.interval(level))
        )
        of = {"all": "all", "index": "each row", "columns": "each column"}[normalize]
        left = f", effective sample size {self.effective_size:,.0f}" if self.private else ""
        named = title or f"proportions of {of}: {self.n:,} rows{left}"
        ends = {"low": low, "high": high}
        return plot_cells(values, ax, **ends, level=level, title=named, figsize=figsize)

    @property
    def _leading(self) -> int:
        return max(len(self.axes) - 1, 1)

    @property
    def header(self) -> list[tuple[str, str]]:
        """The rows, the privatized and ordinary columns, and the effective sample size."""
        told = {"target": self.target, "n": f"{self.n:,}"}
        told["missing"] = f"{self.n_missing:,} left out" * bool(self.n_missing)
        if self.combined is not None and self.combined.designed:
            told["weights sum to"] = f"{self.combined.weight:,.1f}"
        ordinary = [name for name in self.names if name not in self.private]
        told["privatized"], told["ordinary"] = (
            " and ".join(map(label, names)) for names in (self.private, ordinary)
        )
        if self.private and self.n:
            told["effective sample size"] = f"{self.effective_size:,.0f} of {self.n:,}"
        return [(name, value) for name, value in told.items() if value]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The table for printing, with the last column's categories side by side."""
        shown = wide_frame(self.names, self.categories, self.proportions, text=True)
        shown = shown.map("{:.4f}".format).reset_index(allow_duplicates=True)
        most = pd.get_option("display.max_rows") or len(shown)
        rows = shown.astype(str).to_numpy().tolist()
        if len(rows) > most:
            rows[most // 2 : -(most // 2)] = [["..."] * shown.shape[1]]
        return list(map(str, shown.columns)), rows


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalProportions(CellProportions):
    """Proportions of the other columns of a table within each combination of the given ones.

    They are ratios of two debiased proportions: consistent, not unbiased.  Where the denominator
    may be 0 the interval is [0, 1].  Arrays have the table's shape; over the other columns they
    sum to 1.

    Attributes
    ----------
    names : tuple of hashables
        The columns.
    categories : tuple of tuples of hashables
        The categories of each column.
    n : int
        The number of rows.
    crosstab : Crosstab
        The joint table of exactly these columns.
    given : tuple of hashables
        The given columns.
    """

    names: tuple[Hashable, ...]
    categories: tuple[tuple[Hashable, ...], ...]
    n: int
    crosstab: Crosstab
    given: tuple[Hashable, ...]

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """The axes of the given columns, and those of the others."""
        given = [place for place, name in enumerate(self.names) if name in self.given]
        return given, [place for place in range(len(self.names)) if place not in given]

    @cached_property
    def _margin(self) -> Crosstab:
        """The table of the given columns, in their order."""
        return self.crosstab.margin(*(self.names[place] for place in self._places[0]))

    def _over_all(self, of_people: Floats) -> Floats:
        """Numbers of the given columns, repeated for each cell of the other columns."""
        wide = np.expand_dims(of_people, self._places[1])
        return fixed(np.broadcast_to(wide, self.crosstab.shape))

    @property
    def people(self) -> Floats:
        """Unbiased proportion of each combination of the given columns, in the table's shape."""
        return self._over_all(self._margin.proportions)

    @cached_property
    def proportions(self) -> Floats:
        """Conditional proportions; NaN where the denominator's estimate is 0 or negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.crosstab.proportions / self.people
        return fixed(np.where(self.people > 0, found, np.nan))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Variance of numerators, covariance with denominators, and variance of denominators."""
        table, given = self.crosstab, self.given
        parts = [axis.squares if axis.name in given else axis.scores for axis in table.axes]
        # for target "rows" the true answers do not vary
        people = 1.0 if table.target == "rows" else self.people
        both = contract(table.rates, parts) - table.proportions * people
        bottom = self._over_all(np.maximum(self._margin.variance, 0.0))
        return table.variance, fixed(both / table.divisor), bottom

    def _among(self, combined: Estimate, level: float) -> Floats:
        """(3, ...) standard errors and ends of intervals of ratios, with a design."""
        cells, found = np.arange(combined.k).reshape(self.crosstab.shape), np.empty((3, combined.k))
        given, others = self._places
        for alike in cells.transpose([*given, *others]).reshape(self._margin.size, -1):
            people = combined.among([combined.categories[cell] for cell in alike], level)
            found[:, alike] = people[["std_error", "low", "high"]].T
        return fixed(found.reshape(3, *self.crosstab.shape))

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors of the proportions, by the delta method."""
        if self.crosstab.combined is not None:
            return np.asarray(self._among(self.crosstab.combined, 0.95)[0])
        variance = ratio_variance(self.proportions, self._moments)
        return fixed(np.sqrt(np.maximum(variance, 0.0)) / self.people)

    def interval(self, level: float = 0.95) -> Interval:
        """Intervals of the proportions; [0, 1] where the denominator may be 0.

        Parameters
        ----------
        level : float
            Confidence level of each interval.

        Returns
        -------
        Interval
            The hull of Fieller's interval and, for the population, of the ratios that the
            empirical likelihood does not reject, cut to [0, 1].
        """
        table, limit = self.crosstab, normal_quantile(check_level(level)) ** 2
        if table.combined is not None:
            return Interval(*self._among(table.combined, level)[1:])
        found = cut_to_unit(fieller(table.proportions, self.people, self._moments, limit))
        if table.target == "rows" or not table.has_likelihood:
            return found
        values, counts = table.score_values
        # power 0 gives 1 for the columns that are not given
        bottom = kron_all([a.values[0] ** int(a.name in self.given) for a in table.axes])
        ends = ratio_interval(np.stack([values, bottom]), counts, None, level, bounded=True)
        return hull(found, Interval(*(end.reshape(table.shape) for end in ends)))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame, one row for each cell.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The columns' categories, proportion, std_error, low and high.
        """
        held = {"proportion": self.proportions, "std_error": self.std_error}
        ends = self.interval(level)._asdict()
        return long_frame(self.names, self.categories, {**held, **ends})

    def wide(self) -> pd.DataFrame:
        """The proportions with the last column's categories side by side.

        Returns
        -------
        DataFrame
            A copy.
        """
        return wide_frame(self.names, self.categories, self.proportions)

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the proportions with their intervals, one series for each given combination.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each combination of the other columns.
        """
        frame = self.to_frame(level)
        cells = [tuple(row) for row in frame.itertuples(index=False)]
        series, labels = (
            [tuple(row[at] for at in places) for row in cells] for places in self._places
        )
        ends = (frame["low"].to_numpy(), frame["high"].to_numpy())
        rows = proportion_rows(labels, frame["proportion"].to_numpy(), ends)
        rows["series"] = pd.Index(series, dtype=object, tupleize_cols=False)
        xlabel = f"proportion within {' and '.join(map(label, self.given))}"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, **options)

    @property
    def title(self) -> str:
        """The columns."""
        others = [label(name) for name in self.names if name not in self.given]
        return f"Proportions of {', '.join(others)} within {', '.join(map(label, self.given))}"

    @property
    def header(self) -> list[tuple[str, str]]:
        """The number of rows."""
        return [("n", f"{self.n:,}")]


def check_two_way(table: Any) -> Crosstab:
    """The table; raises unless it is a Crosstab of two columns."""
    found: Crosstab = check_instance(table, "table", Crosstab, "a Crosstab")
    if len(found.axes) != 2:
        raise ArgumentValueError(
            f"table must have two columns, found {list(found.names)}; use table.margin(...)"
        )
    return found


def _apart(found: Floats) -> Floats:
    """Transpose axes (a1, b1, a2, b2, ...) to (a1, a2, ..., b1, b2, ...)."""
    return found.transpose([*range(0, found.ndim, 2), *range(1, found.ndim, 2)])


# -- from rows -------------------------------------------------------------------------------


def crosstab(
    data: Any,
    *columns: Hashable,
    mechanisms: Mapping[Any, Any] | None = None,
    group: Hashable = None,
    target: str = "population",
    missing: str = "drop",
    weights: Hashable = None,
    design: SampleDesign | None = None,
) -> Crosstab:
    """Estimate joint proportions of columns, privatized separately or as a pair, or ordinary.

    Parameters
    ----------
    data : DataFrame or frame of an engine
        A frame of pandas, or of an engine (Polars, pyarrow, DuckDB, Dask, PySpark), which counts
        the rows itself.
    *columns : hashable
        Names of columns, in the order of the table's axes.
    mechanisms : mapping from column to mechanism, or FramePlan, optional
        The mechanisms of columns whose frame has no record of them.  A column without a record and
        without a mechanism here is ordinary.  Of two columns that a plan asked together, the rows
        that were asked both hold one answer over all pairs, and the table is of that answer.
    group : hashable, optional
        The column with the sample of each row, for mechanisms with several samples.
    target : {"population", "rows"}
        The table is about the population that these people were drawn from, or about just these
        rows.
    missing : {"drop", "keep", "raise"}
        "drop" leaves rows with missing values out of n and counts them; "keep" makes missing values
        of ordinary columns the level None, and drops rows with a missing report.
    weights : hashable, optional
        The column of the sampling weights.
    design : SampleDesign, optional
        Weights, strata, clusters and more of the sample, as names of columns.  Each report must
        then fall into one cell.

    Returns
    -------
    Crosstab
        Unbiased proportions with intervals.

    Raises
    ------
    ArgumentValueError
        The mechanism cannot have made the reports.
    NotIdentifiableError
        The reports carry no information.

    Warns
    -----
    LowPrecisionWarning
        The effective sample size is below 5 times the number of cells.
    ImplausibleReportsWarning
        No true proportions explain a column's reports.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> rows = {"smoker": ["no"] * 650 + ["yes"] * 350}
    >>> rows["region"] = ["north"] * 300 + ["south"] * 350 + ["north"] * 200 + ["south"] * 150
    >>> table = crosstab(
    ...     pd.DataFrame(rows), "smoker", "region",
    ...     mechanisms={"smoker": rr.KRR(["no", "yes"], 0.75)},
    ... )
    >>> table.table().round(3).to_dict()
    {'north': {'no': 0.35, 'yes': 0.15}, 'south': {'no': 0.45, 'yes': 0.05}}

    Of all people, about 15% smoke and live in the north.
    """
    if not is_frame(data):
        check_instance(data, "data", pd.DataFrame, "a DataFrame of pandas or of an engine")
    frame = ReportFrame.of(data, mechanisms)
    if plan_records(mechanisms):
        mechanisms = None
    check_columns(columns, mechanisms)
    check_one_of(missing, "missing", ("drop", "keep", "raise"))
    design = design_of(weights, design)
    frame.check_names(design.columns)
    beside = list(design.columns.values())
    read = as_pairs(frame.joint(columns, mechanisms, group=group, beside=beside, pairs=True))
    frame = cast(ReportFrame, read[0].frame)  # of an engine with its rows counted
    rows, times = read[0].size, read[0].times
    axes, counted = count_rows(read, keep=missing == "keep", times=times)
    found = Crosstab(tuple(axes), counted, 0, check_target(target))
    other = not_asked(read, len(frame.table))
    free = int(other.sum() if times is None else times[other].sum())
    found = replace(found, n_missing=rows - found.n - free)._checked()
    if design is not SIMPLE or any(axis.pair for axis in axes):
        drawn = frame_design(frame, design)
        placed = rows_of(None, len(frame.table), design=drawn, times=times)
        tally = joint_tally(read, axes, placed, times)
        found = replace(found, combined=Estimate(tally, target, 1, design.without_rows()))
    lack = f"have something missing in the columns {list(columns)}"
    refuse_missing(missing, found.n_missing, rows, lack)
    _warn_of_noise(found)
    return found


def _warn_of_noise(table: Crosstab) -> None:
    """Warn of implausible reports, and of a small effective sample size."""
    if table.implausible:
        warn(f"in the columns {table.implausible} {IMPLAUSIBLE}", ImplausibleReportsWarning)
    left, few = table.effective_size, _FEW * table.size
    if left < few <= table.n:
        warn(
            f"the noise of the columns {list(table.private)} leaves an effective sample size of "
            f"{left:,.0f} of {table.n:,} rows for {table.size:,} cells; use fewer columns, merge "
            "categories, or use only the margins",
            LowPrecisionWarning,
        )
