"""Sample designs: groups, strata, clusters and weights of the rows beside the reports.

A `SampleDesign` names them, or holds them.  A `Rows` gives each row a number for its group and one
for its (stratum, cluster), and its weight, by which tallies count.  Labels come from the rows
themselves: they are public.  A row may stand for several alike, as those that an engine groups do:
then it says how many, and what the powers of their weights add up to.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_one_of
from rrstats._typing import Counts, Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Variable, ordinary, refuse_reports
from rrstats.mechanisms.samples import check_aligned

Codes = NDArray[np.intp]

EVERYONE: tuple[Hashable, Hashable] = (None, None)
"""The one (stratum, cluster) of a survey without strata and clusters."""

LIMITS = {"weights": (1e-100, 1e100), "probabilities": (1e-100, 1.0)}
"""The least and the greatest of numbers whose squares are added; a weight may be 0 as well."""

_COMBINED = 1 << 22
"""Up to so many combinations of labels are numbered without asking which of them occur."""


LONELY_PSU = ("raise", "adjust", "certainty")
"""Strata with one cluster: refused, centred at the grand mean, or sure to be in the sample."""


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """The design of a survey: names of a frame's columns, or columns.

    A cluster belongs to its stratum: one label in two strata is two clusters.

    Parameters
    ----------
    weights : hashable or array-like of shape (n,), optional
        How many people each row stands for; numbers of at least 0.
    strata, clusters : hashable or array-like of shape (n,), optional
        Labels, known of every row.
    probabilities : hashable or array-like of shape (n,), optional
        Chances in (0, 1] with which rows came into the sample, without replacement; instead of
        weights.  All 1 is a census.  For a tally that was counted with them: True.
    population : int or mapping, optional
        How many clusters (rows, where there are none) the population has, or each stratum of it;
        by default far more than the sample.  A sample without weights gets those that it gives.
    lonely_psu : {"raise", "adjust", "certainty"}
        A stratum of one cluster is refused, or centred at the grand mean, or was sure to be in the
        sample, so that only its coins are random.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For weights with probabilities, or probabilities with a population.

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

    def __post_init__(self) -> None:
        check_one_of(self.lonely_psu, "lonely_psu", LONELY_PSU)
        if self.probabilities is not None:
            if self.weights is not None:
                raise ArgumentTypeError("give weights or probabilities, found both")
            if self.population is not None:
                raise ArgumentValueError(
                    "give probabilities or population, found both: probabilities say how much of "
                    "the population is in the sample"
                )

    @property
    def columns(self) -> dict[str, Any]:
        """Columns that are given, by argument."""
        names = ("weights", "strata", "clusters", "probabilities")
        given = {name: getattr(self, name) for name in names}
        return {name: column for name, column in given.items() if column is not None}

    @property
    def finite(self) -> bool:
        """True where it says how much of the population is in the sample."""
        return self.population is not None or self.probabilities is not None

    def without_rows(self) -> SampleDesign:
        """The design of a sample whose rows are counted."""
        chances = None if self.probabilities is None else True
        return SampleDesign(
            probabilities=chances, population=self.population, lonely_psu=self.lonely_psu
        )


SIMPLE = SampleDesign()
"""A simple random sample of far more people."""


def design_of(weights: Any, design: SampleDesign | None) -> SampleDesign:
    """The design that two arguments say; weights alone are one."""
    if design is None:
        return SIMPLE if weights is None else SampleDesign(weights=weights)
    if not isinstance(design, SampleDesign):
        raise ArgumentTypeError(f"design must be a rr.SampleDesign, found {type(design).__name__}")
    if weights is not None:
        raise ArgumentTypeError("give weights in the design, found them also beside it")
    return design


@dataclass(frozen=True, eq=False)
class Numbered:
    """Rows by a label.

    codes : (rows,) the number of each row's label; -1 where it is missing.
    labels : what the numbers stand for.
    """

    codes: Codes
    labels: list[Hashable]


@dataclass(frozen=True, eq=False)
class Multiples:
    """Rows that stand for several rows of the data each.

    times : (rows,) how many.  powers : (4, rows) sums over these of w, w^2, 1/w and 1/w^2, or None
    where nothing is weighted.
    """

    times: Counts
    powers: Floats | None = None

    @property
    def total(self) -> int:
        """The number of rows of the data."""
        return int(self.times.sum())


@dataclass(frozen=True, eq=False)
class Rows:
    """Groups, cells and weights of the rows of a survey.

    groups : the group of each row, or None.  cells : its (stratum, cluster), or None where there
    is one stratum and every row is a cluster by itself.  weights : (rows,) or None.
    multiples : how many rows of the data each stands for, with their weights; None for one.
    """

    groups: Numbered | None = None
    cells: Numbered | None = None
    weights: Floats | None = None
    multiples: Multiples | None = None

    @property
    def weighted(self) -> bool:
        """True where the rows have weights."""
        summed = self.multiples is not None and self.multiples.powers is not None
        return summed or self.weights is not None

    @property
    def sampled(self) -> bool:
        """True where something is said of how the rows were sampled."""
        return self.cells is not None or self.weighted

    def places(self, part: slice, rows: int, keys: int) -> Codes:
        """(rows,) group times keys plus (stratum, cluster) of some rows; negative: left out."""
        cells = np.zeros(rows, dtype=np.intp) if self.cells is None else self.cells.codes[part]
        if self.groups is None:
            return cells
        return np.where(self.groups.codes[part] < 0, -1, self.groups.codes[part] * keys + cells)

    def powers_of(self, part: slice, outside: Codes) -> Floats | None:
        """(4, n) powers of the weights of some rows, less those outside; see `powers`."""
        if self.multiples is not None and self.multiples.powers is not None:
            summed = self.multiples.powers[:, part]
            return np.delete(summed, outside, axis=1) if outside.size else summed
        if self.weights is None:
            return None
        mine = self.weights[part]
        return powers(np.delete(mine, outside) if outside.size else mine)

    def times_of(self, part: slice) -> Counts | None:
        """(n,) how many rows of the data some rows stand for; None where each is one."""
        return None if self.multiples is None else self.multiples.times[part]

    def others(self, rows: int, keys: int, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """(groups * keys,) rows of each (stratum, cluster) that do not count in a group.

        counted : (groups * keys,) rows that do.
        """
        codes = np.zeros(rows, dtype=np.intp) if self.cells is None else self.cells.codes
        times = None if self.multiples is None else self.multiples.times
        everybody = np.bincount(codes, times, minlength=keys).astype(np.int64)
        return np.asarray(np.tile(everybody, len(counted) // max(keys, 1)) - counted)


def rows_of(
    reports: Any,
    rows: int,
    *,
    by: Any = None,
    design: SampleDesign | None = None,
    observed: bool = True,
    multiples: Multiples | None = None,
) -> Rows:
    """Groups, strata, clusters and weights, each checked against the reports they belong to.

    multiples : where each row stands for several; then they hold the weights.
    """
    if by is None and (design is None or design is SIMPLE):
        return Rows(multiples=multiples)
    design = design or SIMPLE
    strata, clusters, listed = design.strata, design.clusters, [] if by is None else columns_of(by)
    given = [reports, *listed, strata, clusters, design.weights, design.probabilities]
    # One labelled column is enough to tell which rows belong together.
    reports = next((one for one in given if isinstance(one, pd.Series)), reports)
    groups = cells = weights = None
    if listed:
        groups = numbered(_aligned(reports, rows, listed, "by"), observed=observed)
    if strata is not None or clusters is not None:
        cells = _cells(reports, rows, strata, clusters, multiples)
    if design.weights is not None:
        weights = check_weights(design.weights, rows, reports)
    elif design.probabilities is not None and multiples is None:
        weights = inverse_probabilities(design.probabilities, rows, reports)
    found = Rows(groups, cells, weights, multiples)
    if design.population is not None and not found.sampled:
        # One stratum, so that rows outside a group count as sampled.
        return replace(found, cells=Numbered(np.zeros(rows, dtype=np.intp), [(0, None)]))
    return found


def columns_of(by: Any) -> list[Any]:
    """One column, or several given as a list of them or a frame."""
    if isinstance(by, pd.DataFrame):
        return [by.iloc[:, place] for place in range(by.shape[1])]
    if isinstance(by, list | tuple) and by and all(_is_column(one) for one in by):
        return list(by)
    return [by]


def group_names(by: Any) -> tuple[Hashable, ...]:
    """Names of the columns that make groups; those without a name are numbered."""
    columns = columns_of(by)
    named = [getattr(column, "name", None) for column in columns]
    free = [f"group_{place}" if len(columns) > 1 else "group" for place in range(len(columns))]
    return tuple(one if name is None else name for name, one in zip(named, free, strict=True))


def _is_column(value: Any) -> bool:
    if isinstance(value, list | Variable | np.ndarray):
        return True
    return isinstance(value, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)


def _aligned(reports: Any, rows: int, columns: Sequence[Any], name: str) -> list[Variable]:
    found = []
    for column in columns:
        check_aligned(reports, column, name)
        refuse_reports(column, name, "crosstab both columns, and take conditional shares")
        read = ordinary(column)
        if read.rows != rows:
            raise ArgumentValueError(
                f"{name} must have one value for each of the {rows} reports, found {read.rows}"
            )
        found.append(read)
    return found


def numbered(columns: Sequence[Variable], *, observed: bool = True) -> Numbered:
    """Rows by the labels of one ordinary column, or by the tuples of several.

    observed : whether only labels that occur are numbered; False keeps all declared ones.
    """
    codes = columns[0].codes().copy()
    codes[codes == columns[0].k] = -1
    places = np.arange(columns[0].k)
    for column in columns[1:]:
        mine, k = column.codes(), column.k
        absent = (codes < 0) | (mine == k)
        codes = codes * k + mine
        codes[absent] = -1
        if len(places) * k <= _COMBINED:
            places = (places[:, None] * k + np.arange(k)).ravel()
            continue
        if not observed:
            raise ArgumentValueError(
                f"observed=False would make more than {_COMBINED:,} groups; leave it out"
            )
        used, at = np.unique(codes[~absent], return_inverse=True)
        codes[~absent] = at
        places = places[used // k] * k + used % k
    if observed:
        places, codes = _occurring(places, codes)
    held = [column.categories for column in columns]
    if len(columns) == 1:
        return Numbered(codes, [held[0][place] for place in places])
    digits = (
        zip(*np.unravel_index(places, [column.k for column in columns]), strict=True)
        if len(places)
        else ()
    )
    return Numbered(
        codes, [tuple(h[d] for h, d in zip(held, each, strict=True)) for each in digits]
    )


def _occurring(places: NDArray[Any], codes: Codes) -> tuple[NDArray[Any], Codes]:
    """The labels that occur, in their order, and the codes among them."""
    used = np.bincount(codes[codes >= 0], minlength=len(places)) > 0
    renumber = np.concatenate([np.cumsum(used) - 1, [-1]])
    return places[used], np.asarray(renumber[codes], dtype=np.intp)


def _cells(
    reports: Any, rows: int, strata: Any, clusters: Any, multiples: Multiples | None
) -> Numbered:
    """The (stratum, cluster) of each row; a cluster belongs to its stratum."""
    given = [(name, c) for name, c in (("strata", strata), ("clusters", clusters)) if c is not None]
    columns = []
    for name, column in given:
        read = _aligned(reports, rows, [column], name)[0]
        lost = read.codes() == read.k
        if lost.any():
            absent = np.count_nonzero(lost) if multiples is None else multiples.times[lost].sum()
            every = rows if multiples is None else multiples.total
            raise ArgumentValueError(
                f"{name} must be known of every row, found {absent} of {every} missing"
            )
        columns.append(read)
    found = numbered(columns)
    if len(columns) == 2:
        return found
    pairs = [(label, None) if strata is not None else (None, label) for label in found.labels]
    return Numbered(found.codes, list(pairs))


def _numbers(values: Any, name: str, rows: int, reports: Any) -> Floats:
    """(rows,) ordinary numbers beside reports."""
    check_aligned(reports, values, name)
    refuse_reports(values, name, "weigh by what is known of everybody")
    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{name} must not be masked: what stands under the mask would count"
        )
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} must be numbers") from None
    if found.shape != (rows,):
        raise ArgumentValueError(
            f"{name} must have one number for each of the {rows} rows, found the shape "
            f"{found.shape}"
        )
    return found


def check_weights(weights: Any, rows: int, reports: Any = None) -> Floats:
    """(rows,) weights as doubles: finite, at least 0, not all 0; raises for anything else."""
    found = _numbers(weights, "weights", rows, reports)
    least, most = LIMITS["weights"]
    good = (found >= least) & (found <= most) | (found == 0)
    refuse_weights("weights", rows, int((~good).sum()), float(found.sum()))
    return found


def inverse_probabilities(probabilities: Any, rows: int, reports: Any = None) -> Floats:
    """(rows,) weights 1 / probability, for probabilities in (0, 1] of being in the sample.

    >>> inverse_probabilities([0.5, 1.0, 0.25], 3)
    array([2., 1., 4.])
    """
    chances = _numbers(probabilities, "probabilities", rows, reports)
    least, most = LIMITS["probabilities"]
    good = (chances >= least) & (chances <= most)
    refuse_weights("probabilities", rows, int((~good).sum()), 1.0)
    return np.asarray(1 / chances)


def refuse_weights(name: str, rows: int, refused: int, total: float) -> None:
    """Raise ArgumentValueError for weights, or probabilities, that are outside their limits.

    refused : how many of the rows have such a one.  total : the sum of the weights.
    """
    if refused and name == "probabilities":
        raise ArgumentValueError(
            "probabilities must be in (0, 1], the chance of each row to be in the sample, found "
            f"{refused} of {rows} outside or missing; numbers of another kind are weights"
        )
    if refused:
        least, most = LIMITS[name]
        raise ArgumentValueError(
            f"weights must be 0 or between {least:g} and {most:g}, found {refused} of {rows} "
            "missing, negative or beyond; a row that counts for nobody has weight 0, and all "
            "may be multiplied by a constant"
        )
    if rows and not total > 0:
        raise ArgumentValueError("weights must not all be 0")


def powers(weights: Floats) -> Floats:
    """(4, n) the weights, their squares, and the reciprocals of both; infinite for a weight of 0.

    >>> powers(np.array([0.5])).ravel().tolist()
    [0.5, 0.25, 2.0, 4.0]
    """
    with np.errstate(divide="ignore"):
        return np.stack([weights, weights**2, 1 / weights, weights**-2.0])
