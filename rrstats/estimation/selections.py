"""The columns that one tally needs, from a frame of pandas or from the combinations of an engine.

Several columns of reports are asked of an engine at once while their combinations stay few, so
that marginals of some columns take one pass over the data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.columns import codec_of, column_of, place_of
from rrstats.errors import ArgumentTypeError
from rrstats.estimation.column_requests import Asked, Wanted, header_of, refuse_by_row
from rrstats.estimation.engine_frames import (
    MOST,
    Combined,
    EngineFrame,
    TooManyError,
    combine,
    open_frame,
)
from rrstats.estimation.sample_design import Multiples, inverse_probabilities
from rrstats.mechanisms.base import Mechanism

__all__ = ["Beside", "Selection", "condensed_rows", "reports_in", "selections"]

_TOGETHER = 1 << 12
"""Combinations of reports of several columns that are fetched to save a pass."""

_UNKNOWN = 1000
"""Values besides the possible reports that are fetched, to count them in an error."""


@dataclass(frozen=True)
class Beside:
    """Names of the columns that stand beside the reports; see `tallies.tally`.

    one_stratum : whether the sample is one stratum, where no column says so.
    """

    by: Any = None
    weights: Hashable = None
    probabilities: Hashable = None
    strata: Hashable = None
    clusters: Hashable = None
    group: Hashable = None
    one_stratum: bool = False

    @property
    def groups(self) -> list[Hashable]:
        """The columns that make groups; none is an empty list."""
        if self.by is None:
            return []
        return list(self.by) if isinstance(self.by, list) else [self.by]

    @property
    def labels(self) -> list[Hashable]:
        """All columns of labels."""
        others = [self.strata, self.clusters, self.group]
        return [*self.groups, *(name for name in others if name is not None)]

    def check(self, header: pd.DataFrame) -> None:
        """Raise for what is no name of a column of the frame."""
        if self.by is not None and not self.groups:
            raise ArgumentTypeError("by must name at least one column, found an empty list")
        arguments = ("by", "weights", "probabilities", "strata", "clusters", "group")
        for argument in arguments:
            given = getattr(self, argument)
            for name in self.groups if argument == "by" else [given]:
                if name is None and argument != "by":
                    continue
                if isinstance(name, pd.Index) or not isinstance(name, Hashable):
                    listed = " or a list of names" if argument == "by" else ""
                    raise ArgumentTypeError(
                        f"with a frame, {argument} is the name of one of its columns{listed}, "
                        f"found {type(name).__name__}"
                    )
                place_of(header, name)


@dataclass(frozen=True, eq=False)
class Selection:
    """What one tally counts: the arguments of `variables.reports_of` and `rows.rows_of`.

    mechanism : what was given in its place; None where the reports say it.
    multiples : how many rows of the data each row stands for; None where it is itself.
    """

    reports: pd.Series[Any]
    mechanism: Any
    beside: Mapping[str, Any]
    group: pd.Series[Any] | None = None
    multiples: Multiples | None = None

    @property
    def rows(self) -> int:
        """The number of rows of the data."""
        return len(self.reports) if self.multiples is None else self.multiples.total

    @property
    def times(self) -> NDArray[np.int64] | None:
        """(n,) how many rows of the data each row stands for; None where it is itself."""
        return None if self.multiples is None else self.multiples.times


def selections(
    frame: pd.DataFrame | EngineFrame,
    asked: Asked,
    beside: Beside,
    prob: float | None = None,
    epsilon: float | None = None,
) -> Iterator[tuple[Wanted, Selection]]:
    """The columns of each tally that is asked for; an engine's are combined first.

    Names and mechanisms are checked before the engine computes anything.
    """
    beside.check(header_of(frame))
    if isinstance(frame, pd.DataFrame):
        for wanted in asked.wanted:
            yield wanted, _selection(frame, wanted, beside)
        return
    for name in (beside.weights, beside.probabilities):
        if name is not None:
            argument = "probabilities" if name is beside.probabilities else "weights"
            frame.check_numbers(name, argument)
    found = []
    for wanted in asked.wanted:
        refuse_by_row(frame, wanted.given)
        name = wanted.columns[0] if len(wanted.columns) == 1 else None
        found.append(replace(wanted, given=frame.mechanism_of(name, wanted.given, prob, epsilon)))
    for chunk in _chunks(found):
        yield from _combined(frame, chunk, beside)


def _combined(
    frame: EngineFrame, chunk: Sequence[Wanted], beside: Beside
) -> Iterator[tuple[Wanted, Selection]]:
    """The columns of tallies that are combined at once; one by one where that is too much."""
    names = [name for wanted in chunk for name in wanted.columns]
    cells = prod(_cells(wanted.given) for wanted in chunk)
    try:
        combined = combine(
            frame,
            [*names, *beside.labels],
            weights=beside.weights,
            probabilities=beside.probabilities,
            most=MOST if beside.labels else min(MOST, cells + _UNKNOWN),
        )
    except TooManyError:
        if len(chunk) == 1:
            raise
        combined = None
    if combined is None:
        for wanted in chunk:
            yield from _combined(frame, [wanted], beside)
        return
    for wanted in chunk:
        yield wanted, _of_combinations(combined, wanted, beside)


def _of_combinations(combined: Combined, wanted: Wanted, beside: Beside) -> Selection:
    """The same of combinations, whose weights are summed up already."""
    unweighted = replace(beside, weights=None, probabilities=None)
    return replace(_selection(combined.frame, wanted, unweighted), multiples=combined.multiples)


def _selection(frame: pd.DataFrame, wanted: Wanted, beside: Beside) -> Selection:
    def column(name: Hashable) -> pd.Series[Any] | None:
        return None if name is None else column_of(frame, name)

    strata = column(beside.strata)
    if beside.one_stratum and strata is None:
        strata = pd.Series(np.zeros(len(frame), dtype=np.int8), index=frame.index)
    weights: Any = column(beside.weights)
    if beside.probabilities is not None:
        weights = inverse_probabilities(column(beside.probabilities), len(frame))
    named = {
        "by": [column_of(frame, name) for name in beside.groups] or None,
        "weights": weights,
        "strata": strata,
        "clusters": column(beside.clusters),
    }
    reports = reports_in(frame, wanted.columns)
    return Selection(reports, wanted.given, named, column(beside.group))


def reports_in(frame: pd.DataFrame, names: Sequence[Hashable]) -> pd.Series[Any]:
    """A column of reports; of several, the tuples of what stands in them, missing if a part is."""
    columns = [column_of(frame, name) for name in names]
    if len(columns) == 1:
        return columns[0]
    absent = np.logical_or.reduce([column.isna().to_numpy() for column in columns])
    pairs = [
        None if lost else pair
        for lost, pair in zip(absent.tolist(), zip(*columns, strict=True), strict=True)
    ]
    return pd.Series(pairs, index=frame.index, dtype=object)


def _cells(mechanism: Mechanism) -> int:
    """How many values a column of reports may hold, with two kinds of missing ones."""
    codec = codec_of(mechanism.report_space)
    return codec.labels.k + 2 if codec.is_label else MOST


def _chunks(wanted: Sequence[Wanted]) -> list[list[Wanted]]:
    """Tallies whose reports have few combinations, together."""
    found: list[list[Wanted]] = []
    size = 0
    for one in wanted:
        cells = _cells(one.given)
        if found and size * cells <= _TOGETHER:
            found[-1].append(one)
            size *= cells
        else:
            found.append([one])
            size = cells
    return found


def condensed_rows(
    data: Any, columns: Sequence[Hashable], mechanisms: Mapping[Any, Any] | None, group: Hashable
) -> tuple[pd.DataFrame, NDArray[np.int64] | None]:
    """A frame as `variables.variables` reads it, and how many rows of the data each row is.

    Of pandas it is the frame itself, and None; of an engine the combinations that occur.
    """
    frame = open_frame(data)
    if isinstance(frame, pd.DataFrame):
        return frame, None
    for given in (mechanisms or {}).values():
        refuse_by_row(frame, given)
    combined = combine(frame, [*columns, *([] if group is None else [group])])
    return combined.frame, combined.multiples.times
