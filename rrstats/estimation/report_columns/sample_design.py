"""Sample designs: groups, strata, clusters and weights of the rows.

A `SampleDesign` holds names of columns, or columns.  `Rows` holds for each row the code of its
group, the code of its (stratum, cluster), and its weight, which tallies need.  Labels come from the
rows: they are public.  A row may stand for several equal rows of the data that an engine grouped;
``times`` is then their number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_instance, check_left_out, check_one_of, check_rows
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, Counts, Floats, Indices, Labels
from rrstats.data.columns import aligned, check_any_column, column_labels, numbers, place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns.replicates import (
    Replication,
    check_replication,
    replicate_weights,
)
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    ordinary,
    private_argument,
    refuse_reports,
)
from rrstats.estimation.report_columns.report_frames import ReportFrame, listed

EVERYONE: tuple[Hashable, Hashable] = (None, None)
"""The only (stratum, cluster) of a survey without strata and clusters."""

LIMITS = {"weights": (1e-100, 1e100), "probabilities": (1e-100, 1.0)}
"""Smallest and largest values, so that sums of squares stay finite; a weight may also be 0."""

_RULES = {
    "weights": (
        "0 or between 1e-100 and 1e+100",
        "missing, negative or beyond; give weight 0 to a row that represents nobody, and rescale "
        "weights by a constant if needed",
    ),
    "probabilities": (
        "in (0, 1], the inclusion probability of each row",
        "outside or missing; give other numbers as weights",
    ),
}
"""The rules for these columns, and the texts for other values."""

_COMBINED = 1 << 22
"""Maximum combinations of labels that are numbered without checking which of them occur."""


LONELY_PSU = ("raise", "adjust", "certainty")
"""Strata with one cluster: an error, centred at the grand mean, or sampled with certainty."""


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class SampleDesign:
    """The design of a survey, as names of columns of a frame, or as columns.

    Clusters are within strata: the same label in two strata means two clusters.

    Parameters
    ----------
    weights : hashable or array-like of shape (n,), optional
        The number of people that each row represents; numbers of at least 0.
    strata, clusters : hashable or array-like of shape (n,), optional
        Labels; no row may be missing.
    probabilities : hashable or array-like of shape (n,), optional
        Inclusion probabilities of the rows in (0, 1], for sampling without replacement; instead of
        weights.  All 1 is a census.  For a tally that was counted with them: True.
    population : int or mapping, optional
        The number of clusters (or rows, without clusters) in the population, or in each stratum;
        by default the population is much larger than the sample.  It gives weights to a sample
        without weights.
    lonely_psu : {"raise", "adjust", "certainty"}
        A stratum with one cluster is an error, or is centred at the grand mean, or was sampled with
        certainty, so that only its randomization is random; regressions leave such a stratum out,
        as R does, and means and quantiles of a number refuse it.
    replicates : DataFrame, list of names of columns, or array of shape (n, R), optional
        Replicate weights of the rows, as public-use files hold them in place of strata and
        clusters: weights, not factors of the weights, which are needed, too.
    method : {"BRR", "Fay", "JK1", "JKn", "bootstrap", "ACS"}, optional
        How the replicates were made: balanced half-samples, these by Fay's method, jackknives
        without and with strata, the bootstrap, or successive differences.
    rho : float, optional
        Fay's factor, in [0, 1).
    scale, rscales : float, and array-like of shape (R,), optional
        Factors of the squared deviations of all replicates, and of each.  The default scale is 1/R
        for "BRR", 1 / (R (1 - rho)^2) for "Fay", (R - 1)/R for "JK1", 1 for "JKn", which needs
        rscales, 1 / (R - 1) for "bootstrap" and 4/R for "ACS".
    mse : bool, optional
        Whether deviations are from the estimate and not from the mean of the replicates; by default
        for "ACS" alone.

    Raises
    ------
    ArgumentTypeError
        Probabilities are given with weights or a population, or replicates with strata, clusters,
        probabilities or a population, or without what their method needs.

    Examples
    --------
    >>> import rrstats as rr
    >>> m, reports = rr.KRR(["no", "yes"], 0.75), ["no"] * 60 + ["yes"] * 40
    >>> region, sizes = ["north", "south"] * 50, {"north": 500, "south": 1500}
    >>> design = rr.SampleDesign(weights=[1.0, 3.0] * 50, strata=region, population=sizes)
    >>> found = rr.estimate(reports, m, design=design)
    >>> found.proportions.round(3), found.std_error.round(3), found.design_effect.round(2)
    (array([0.7, 0.3]), array([0.11, 0.11]), array([1.25, 1.25]))
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None
    probabilities: Any = None
    population: Any = None
    lonely_psu: str = LONELY_PSU[0]
    replicates: Any = None
    method: str | None = None
    rho: float | None = None
    scale: float | None = None
    rscales: Any = None
    mse: bool | None = None

    def __post_init__(self) -> None:
        check_one_of(self.lonely_psu, "lonely_psu", LONELY_PSU)
        constants = (self.method, self.rho, self.scale, self.rscales, self.mse)
        check_replication(*constants, replicates=self.replicates)
        if self.replicates is not None:
            check_left_out(
                "replicates stand for all of the design but its weights",
                strata=self.strata,
                clusters=self.clusters,
                probabilities=self.probabilities,
                population=self.population,
            )
            if self.weights is None:
                raise ArgumentTypeError("replicates need weights, those of the full sample")
            names = self.replicate_names
            weights_again = isinstance(self.weights, str) and self.weights in names
            if len({*names}) < len(names) or weights_again:
                raise ArgumentValueError(
                    "replicates must name each column once, and not that of weights, which are of "
                    "the full sample"
                )
        if self.probabilities is not None:
            reason = "probabilities stand for both weights and population"
            check_left_out(reason, weights=self.weights, population=self.population)

    def __repr__(self) -> str:
        """Names and numbers in full, and the type and length of columns in place of their rows."""
        shown = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None or (each.name == "lonely_psu" and value == LONELY_PSU[0]):
                continue
            is_column = hasattr(value, "__len__") and not isinstance(value, str)
            is_column = is_column and getattr(value, "ndim", 1) > 0
            text = f"<{type(value).__name__} of {len(value)}>" if is_column else repr(value)
            shown.append(f"{each.name}={text}")
        return f"SampleDesign({', '.join(shown)})"

    @property
    def columns(self) -> dict[str, Any]:
        """The given columns, by argument."""
        columns = {
            "weights": self.weights,
            "strata": self.strata,
            "clusters": self.clusters,
            "probabilities": self.probabilities,
        }
        return {name: column for name, column in columns.items() if column is not None}

    @property
    def names(self) -> dict[str, Any]:
        """The given columns, and names of columns of replicate weights, by argument."""
        columns = {self.called.get(name, name): column for name, column in self.columns.items()}
        if not self.replicate_names:
            return columns
        return {**columns, "replicates": self.replicate_names}

    @property
    def replicate_names(self) -> list[Hashable]:
        """Names of the columns of replicate weights; none if they are numbers."""
        replicates = self.replicates
        if isinstance(replicates, pd.Index):
            return list(replicates)
        are_names = isinstance(replicates, list | tuple) and all(
            isinstance(name, str) for name in replicates
        )
        return list(replicates) if are_names else []

    def with_columns(self, column_of: Callable[[str, Any], Any]) -> SampleDesign:
        """The design with columns in place of their names.

        column_of : gives the column for an argument and its name, or for a column itself.
        """
        if self is SIMPLE:
            return SIMPLE
        columns = {argument: column_of(argument, name) for argument, name in self.columns.items()}
        if self.replicate_names:
            weights = [column_of("replicates", name) for name in self.replicate_names]
            columns["replicates"] = pd.concat(weights, axis=1)
        return replace(self, **columns)

    def replication(self, count: int) -> Replication:
        """The rule by which variances follow from a number of replicates."""
        assert self.method is not None  # `check_replication` asks for it
        return Replication.of(
            count, self.method, rho=self.rho, scale=self.scale, rscales=self.rscales, mse=self.mse
        )

    @property
    def called(self) -> Mapping[str, str]:
        """Arguments that have another name for the user."""
        return {}

    @property
    def finite(self) -> bool:
        """True if it has the size of the population, or probabilities."""
        return self.population is not None or self.probabilities is not None

    def without_rows(self) -> SampleDesign:
        """The design of a sample that is already counted."""
        if self is SIMPLE:
            return SIMPLE
        chances = self.probabilities is not None or None
        return SampleDesign(
            probabilities=chances, population=self.population, lonely_psu=self.lonely_psu
        )


class DealtBlocksDesign(SampleDesign):
    """Strata that are the blocks of decks."""

    @property
    def called(self) -> Mapping[str, str]:
        """Strata are blocks."""
        return {"strata": "blocks"}


SIMPLE = SampleDesign()
"""A simple random sample of a much larger population."""


def design_of(weights: Any, design: SampleDesign | None, blocks: Any = None) -> SampleDesign:
    """The design from its arguments; weights alone make a design, and so do blocks of decks."""
    if blocks is not None:
        check_left_out("blocks stand alone", weights=weights, design=design)
        return DealtBlocksDesign(strata=blocks)
    if design is None:
        return SIMPLE if weights is None else SampleDesign(weights=weights)
    check_instance(design, "design", SampleDesign, "a rr.SampleDesign")
    check_left_out("give weights in the design", weights=weights)
    return design


_WAYS = {
    **dict.fromkeys(
        ("by", "clusters", "strata", "values"),
        "crosstab both columns, and use conditional proportions",
    ),
    **dict.fromkeys(
        ("probabilities", "weights", "replicates"), "use weights from ordinary columns"
    ),
}
"""What to do instead of reports as one of these arguments."""

_LISTS = ("by", "group", "replicates")
"""Arguments that may be lists of names of columns."""


def _replicates_in_engine() -> ArgumentValueError:
    """The error for replicate weights in the frame of an engine."""
    return ArgumentValueError(
        "replicates need the rows, because an engine returns counts, and nearly every row has "
        "replicate weights of its own; give a pandas frame"
    )


def check_names(frame: ReportFrame, names_by_argument: Mapping[str, Any]) -> None:
    """Raise for what is no name of a column; some arguments may be lists of names."""
    if "replicates" in names_by_argument and frame.engine is not None:
        raise _replicates_in_engine()
    for argument, names in names_by_argument.items():
        every = listed(names) if argument in _LISTS else [names]
        if all(isinstance(name, Hashable) for name in every):
            check_any_column(column_labels(frame.table), every)
        for name in every:
            if isinstance(name, pd.Index) or not isinstance(name, Hashable):
                raise ArgumentTypeError(
                    f"with a frame, {argument} is the name of one of its columns, found "
                    f"{type(name).__name__}"
                )
            place_of(frame.table, name)


def public_column(frame: ReportFrame, argument: str, name: Hashable) -> pd.Series[Any]:
    """The column of ordinary values that an argument names; raises for reports."""
    column = frame.column(name)
    if name in frame.records:
        raise private_argument(name, argument, _WAYS[argument])
    return column


def frame_design(frame: ReportFrame, design: SampleDesign) -> SampleDesign:
    """The design with columns of a frame in place of their names."""
    return design.with_columns(partial(public_column, frame))


@dataclass(frozen=True, eq=False)
class SampleUnits:
    """Labels of the u units of a sample: each stratum and cluster that occurs, by stratum.

    strata : (u,) the number of each unit's stratum, ascending.
    clusters : (u,) the number of its cluster; -1 where every row is a cluster by itself.
    stratum_labels, cluster_labels : the label of each number.
    """

    strata: Indices
    clusters: Indices
    stratum_labels: Sequence[Hashable]
    cluster_labels: Sequence[Hashable] = ()

    @classmethod
    def from_keys(cls, keys: Sequence[tuple[Hashable, Hashable]]) -> SampleUnits:
        """The units of some (stratum, cluster), whose order is kept within a stratum."""
        strata = {stratum: None for stratum, _ in keys}
        clusters = {cluster: None for _, cluster in keys if cluster is not None}
        stratum_number = {label: number for number, label in enumerate(strata)}
        cluster_number = {label: number for number, label in enumerate(clusters)}
        cluster_number[None] = -1
        codes = [(stratum_number[stratum], cluster_number[cluster]) for stratum, cluster in keys]
        codes.sort(key=lambda pair: pair[0])
        numbers = np.array(codes, dtype=np.intp).reshape(-1, 2)
        return cls(numbers[:, 0], numbers[:, 1], list(strata), list(clusters))

    def __len__(self) -> int:
        return len(self.strata)

    @property
    def row_is_cluster(self) -> Booleans:
        """(u,) where every row is a cluster by itself."""
        return self.clusters < 0

    @cached_property
    def keys(self) -> list[tuple[Hashable, Hashable]]:
        """(stratum, cluster) of each unit; None for a cluster that is a row."""
        cluster_labels = [*self.cluster_labels, None]
        pairs = zip(self.strata.tolist(), self.clusters.tolist(), strict=True)
        return [(self.stratum_labels[place], cluster_labels[other]) for place, other in pairs]

    def places_of(self, keys: Sequence[tuple[Hashable, Hashable]]) -> Indices:
        """(len(keys),) the place of each key; raises KeyError for another."""
        place_of_key = {key: place for place, key in enumerate(self.keys)}
        return np.array([place_of_key[key] for key in keys], dtype=np.intp)


ONE_UNIT = SampleUnits(np.zeros(1, dtype=np.intp), np.full(1, -1), [None])
"""The only unit of a survey without strata and clusters: `EVERYONE`."""


class Numbered(NamedTuple):
    """Codes and labels of rows.

    codes : (rows,) the code of each row's label; -1 if it is missing.
    labels : the label of each code.
    """

    codes: Indices
    labels: list[Any]


class Replicates(NamedTuple):
    """(rows, R) replicate weights, and how variances follow from them."""

    weights: Floats
    replication: Replication


class Rows(NamedTuple):
    """Groups, units and weights of the rows of a survey.

    groups : the group of each row, or None.
    units : the strata and clusters; `ONE_UNIT` if there is one stratum and every row is a cluster.
    unit_codes : (rows,) the unit of each row, -1 where it is missing; None where there is one.
    weights : (rows,), NaN where they are missing; None without weights.
    replicates : (rows, R) replicate weights, and how variances follow from them; or None.
    sampled : whether there are weights, strata, clusters or a population of known size.
    missing : (rows,) where a column of the design is missing, for those that may be.
    """

    groups: Numbered | None = None
    units: SampleUnits = ONE_UNIT
    unit_codes: Indices | None = None
    weights: Floats | None = None
    sampled: bool = False
    replicates: Replicates | None = None
    missing: Mapping[str, Booleans] = {}


def rows_of(
    reports: Any,
    rows: int,
    *,
    by: Any = None,
    design: SampleDesign | None = None,
    times: Counts | None = None,
    others: Mapping[str, Any] | None = None,
    gaps: Collection[str] = (),
) -> Rows:
    """Groups, strata, clusters and weights, each checked against the reports.

    times : (rows,) the number of rows of the data that each row stands for; None for 1.
    others : further columns of the same rows, by argument, which are checked, too.
    gaps : arguments of the design that may be missing in some rows; of others that is an error.
    """
    design = design or SIMPLE
    others = others or {}
    if by is None and design is SIMPLE and not others:
        return Rows()
    labels = [] if by is None else columns_of(by)
    # A Series has an index, which other columns must match.
    columns = [reports, *others.values(), *labels, *design.columns.values()]
    reports = next((column for column in columns if isinstance(column, pd.Series)), reports)
    of_design = {**others, **design.names, "replicates": design.replicates}
    aligned(reports, [*(("by", column) for column in labels), *of_design.items()])
    groups = unit_codes = weights = None
    units = ONE_UNIT
    missing: dict[str, Booleans] = {}
    if labels:
        opened = [_labels(column, rows, "by") for column in labels]
        groups = numbered(opened)
    for name in LIMITS:
        if name in design.columns:
            may_lack = name in gaps
            weights = check_weights(design.columns[name], rows, times, name=name, gaps=may_lack)
            if may_lack:
                missing[name] = np.isnan(weights)
    of_units = _labels_of_units(rows, design)
    for name, column in of_units.items():
        if name in gaps:
            missing[name] = column.missing()
        else:
            _refuse_missing_labels(column, design.called.get(name, name), times)
    if of_units:
        units, unit_codes = _units(of_units)
    # With a population, rows outside a group count as sampled.
    sampled = unit_codes is not None or weights is not None or design.population is not None
    replicates = _replicates(rows, design, weights, times=times)
    return Rows(groups, units, unit_codes, weights, sampled, replicates, missing)


def _replicates(
    rows: int, design: SampleDesign, weights: Floats | None, *, times: Counts | None
) -> Replicates | None:
    """The replicate weights of a design, or None."""
    if design.replicates is None or weights is None:
        return None
    if times is not None:
        raise _replicates_in_engine()
    if isinstance(design.replicates, pd.DataFrame):
        for place in range(design.replicates.shape[1]):
            column = design.replicates.iloc[:, place]
            refuse_reports(column, "replicates", "use weights from ordinary columns")
    elif design.replicate_names:
        raise ArgumentTypeError(
            "replicates must be the columns, found their names; names of columns are for the "
            "accessor of a frame, df.rr"
        )
    values = replicate_weights(design.replicates, np.nan_to_num(weights), rows)
    return Replicates(values, design.replication(values.shape[1]))


def columns_of(by: Any) -> list[Any]:
    """A list of columns, from one column, a list of columns or a frame."""
    kinds = (list, ReportColumn, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
    if isinstance(by, pd.DataFrame):
        return [by.iloc[:, place] for place in range(by.shape[1])]
    if isinstance(by, list | tuple) and by and all(isinstance(column, kinds) for column in by):
        return list(by)
    return [by]


def group_names(by: Any) -> Labels:
    """Names of the columns of groups; columns without a name get a number."""
    columns = columns_of(by)
    names: list[Hashable] = []
    for place, column in enumerate(columns):
        name = getattr(column, "name", None)
        if name is None:
            name = f"group_{place}" if len(columns) > 1 else "group"
        names.append(name)
    return tuple(names)


def _labels(column: Any, rows: int, name: str) -> ReportColumn:
    """A column of labels, one for each row."""
    refuse_name(column, name, "labels")
    refuse_reports(column, name, "crosstab both columns, and use conditional proportions")
    labels = ordinary(column)
    check_rows(labels.rows, rows, name, each="reports")
    return labels


def refuse_name(column: Any, name: str, what: str) -> None:
    """Raise for one value, such as the name of a column, and for a frame.

    what : "labels" or "numbers".
    """
    if isinstance(column, str | bytes | int | float | pd.DataFrame):
        raise ArgumentTypeError(
            f"{name} must be a column of {what}, one for each row, found {type(column).__name__}; "
            "names of columns are for the accessor of a frame, df.rr"
        )


def numbered(columns: Sequence[ReportColumn]) -> Numbered:
    """Codes of rows, from the labels that occur in an ordinary column, or tuples of several."""
    codes, combinations = _combined(columns)
    levels = [column.categories for column in columns]
    if len(levels) == 1:
        return Numbered(codes, [levels[0][level] for level in combinations[0].tolist()])
    tuples = zip(*(numbers.tolist() for numbers in combinations), strict=True)
    labels = [
        tuple(categories[level] for categories, level in zip(levels, row, strict=True))
        for row in tuples
    ]
    return Numbered(codes, labels)


def _combined(columns: Sequence[ReportColumn]) -> tuple[Indices, list[Indices]]:
    """(rows,) the combination of each row, -1 if a label is missing; the levels of each.

    The second has for each column the number of its level in each combination.
    """
    first, *others = columns
    codes = first.codes().copy()
    codes[codes == first.k] = -1
    codes, used = _compressed(codes, first.k)
    combinations = [used]
    for column in others:
        levels = column.codes()
        absent = (codes < 0) | (levels == column.k)
        codes = codes * column.k + levels
        codes[absent] = -1
        size = len(combinations[0]) * column.k
        codes, used = _compressed(codes, size)
        combinations = [numbers[used // column.k] for numbers in combinations]
        combinations.append(used % column.k)
    return codes, combinations


def _compressed(codes: Indices, size: int) -> tuple[Indices, Indices]:
    """Codes below ``size`` numbered anew without gaps, and the old code of each; -1 stays."""
    if size > _COMBINED:
        used, places = np.unique(codes[codes >= 0], return_inverse=True)
        codes[codes >= 0] = places
        return codes, used
    used = np.flatnonzero(np.bincount(codes + 1, minlength=size + 1)[1:])
    if len(used) == size:
        return codes, used
    table = np.full(size + 1, -1)
    table[used] = np.arange(len(used))
    return table[codes], used


def numbered_pairs(
    groups: Indices, group_count: int, units: Indices, unit_count: int
) -> tuple[Indices, Indices]:
    """The (group, unit) of each row, numbered in ascending order; the old code of each number.

    A pair's old code is ``group * unit_count + unit``; -1 stays for rows in no group.
    """
    codes = groups * unit_count + units
    codes[groups < 0] = -1
    return _compressed(codes, group_count * unit_count)


def _labels_of_units(rows: int, design: SampleDesign) -> dict[str, ReportColumn]:
    """The labels of strata and clusters, of those that a design has."""
    return {
        name: _labels(design.columns[name], rows, design.called.get(name, name))
        for name in ("strata", "clusters")
        if name in design.columns
    }


def _refuse_missing_labels(column: ReportColumn, name: str, times: Counts | None) -> None:
    """Raise for rows of which a stratum or cluster is not known."""
    row_times = np.ones(column.rows, dtype=np.int64) if times is None else times
    absent = int(row_times[column.missing()].sum())
    if absent:
        raise ArgumentValueError(
            f"{name} must be known for every row, found {absent} of {row_times.sum()} missing"
        )


def _units(columns: Mapping[str, ReportColumn]) -> tuple[SampleUnits, Indices]:
    """The strata and clusters of the sample, and the unit of each row."""
    codes, combinations = _combined(list(columns.values()))
    numbers = dict(zip(columns, combinations, strict=True))
    strata = np.zeros(len(combinations[0]), dtype=np.intp)
    stratum_labels: list[Hashable] = [None]
    if "strata" in columns:
        occurring, strata = np.unique(numbers["strata"], return_inverse=True)
        stratum_labels = [columns["strata"].categories[level] for level in occurring.tolist()]
    if "clusters" not in columns:
        return SampleUnits(strata, np.full(len(strata), -1), stratum_labels), codes
    clusters = columns["clusters"].categories
    return SampleUnits(strata, numbers["clusters"], stratum_labels, clusters), codes


def check_weights(
    column: Any,
    rows: int,
    times: Counts | None = None,
    *,
    name: str = "weights",
    gaps: bool = False,
) -> Floats:
    """(rows,) weights of at least 0, or 1 / probabilities; raises for anything else.

    gaps : whether some may be missing, which are then NaN.

    >>> check_weights([0.5, 1.0, 0.25], 3, name="probabilities")
    array([2., 1., 4.])
    """
    refuse_name(column, name, "numbers")
    refuse_reports(column, name, "use weights from ordinary columns")
    values = numbers(column, name, rows, finite=False)
    low, high = LIMITS[name]
    is_valid = (values >= low) & (values <= high) | (values == 0) & (name == "weights")
    if gaps:
        is_valid |= np.isnan(values)
    row_times = np.ones(rows, dtype=np.int64) if times is None else times
    refused = int(row_times[~is_valid].sum())
    refuse_weights(name, int(row_times.sum()), refused, float(np.nansum(values)))
    return values if name == "weights" else np.asarray(1 / values)


def refuse_missing(missing: str, absent: int, rows: int, reason: str) -> None:
    """Raise for rows with missing values if missing is "raise".

    reason : "lack ..." or "have ...", after the number of rows.
    """
    if missing == "raise" and absent:
        raise ArgumentValueError(
            f"{absent} of {rows} rows {reason}; missing='drop' leaves them out"
        )


def refuse_weights(name: str, rows: int, refused: int, total: float) -> None:
    """Raise ArgumentValueError for weights or probabilities outside their limits.

    refused : the number of rows with such values.  total : the sum of the weights.
    """
    if refused:
        rule, violation = _RULES[name]
        raise ArgumentValueError(f"{name} must be {rule}, found {refused} of {rows} {violation}")
    if rows and not total > 0:
        raise ArgumentValueError(f"{name} must not all be 0")


def powers_of(weights: Floats) -> Floats:
    """(4, n) the weights, their squares, and the reciprocals of both; infinite for a weight of 0.

    >>> powers_of(np.array([0.5])).ravel().tolist()
    [0.5, 0.25, 2.0, 4.0]
    """
    with np.errstate(divide="ignore"):
        return np.stack([weights, weights**2, 1 / weights, weights**-2.0])
