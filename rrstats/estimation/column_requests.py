"""Which columns of a frame hold the reports that are meant, and which mechanism made each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rrstats.data.columns import codec_of, place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.engine_frames import EngineFrame
from rrstats.mechanisms.base import is_mechanism
from rrstats.mechanisms.records import read
from rrstats.mechanisms.serialization import as_mechanism

__all__ = ["Asked", "Wanted", "ask", "header_of", "refuse_by_row"]


@dataclass(frozen=True)
class Wanted:
    """One tally.

    columns : where its reports stand: one column, or several that make one report together.
    given : what was given in the mechanism's place; None where the frame must say it.
    """

    columns: tuple[Hashable, ...]
    given: Any = None


@dataclass(frozen=True)
class Asked:
    """What is to be counted, and whether it was asked for by one name or by a list of names."""

    wanted: tuple[Wanted, ...]
    single: bool


def header_of(frame: pd.DataFrame | EngineFrame) -> pd.DataFrame:
    """A frame of pandas, or one without rows that has an engine's columns and claims."""
    return frame if isinstance(frame, pd.DataFrame) else frame.header


def ask(
    frame: pd.DataFrame | EngineFrame, columns: Any, mechanism: Any, *, more: bool = False
) -> Asked:
    """What the arguments of `tallies.tally` ask of a frame.

    more : whether prob or epsilon are given besides.
    Raises ArgumentTypeError where it is not said which column holds the reports,
    ArgumentValueError for one that is not there.
    """
    header = header_of(frame)
    if columns is None:
        columns = _the_one(frame, mechanism)
    single = not isinstance(columns, list)
    named: list[Hashable] = [columns] if single else columns
    if not named:
        raise ArgumentTypeError("columns must name at least one column, found an empty list")
    for name in named:
        place_of(header, name)
    if twice := [name for place, name in enumerate(named) if name in named[:place]]:
        raise ArgumentValueError(f"columns must name each column once, found {twice[0]!r} again")
    given = _by_column(mechanism, named)
    if given is None:
        if not single and not more and _is_one_report(mechanism, len(named)):
            return Asked((Wanted(tuple(named), mechanism),), single=True)
        return Asked(tuple(Wanted((name,), mechanism) for name in named), single)
    if more:
        raise ArgumentTypeError(
            "a mapping from column to mechanism says all; leave prob and epsilon out"
        )
    return Asked(tuple(Wanted((name,), given.get(name)) for name in named), single)


def _the_one(frame: pd.DataFrame | EngineFrame, mechanism: Any) -> Hashable:
    """The only column that a mapping, or else the frame, speaks of."""
    header = header_of(frame)
    kind = type(frame).__name__ if isinstance(frame, pd.DataFrame) else frame.kind
    names = list(header.columns)
    if isinstance(mechanism, Mapping) and mechanism and all(n in names for n in mechanism):
        said: list[Hashable] = list(mechanism)
    else:
        said = [record.name for record in read(header.attrs) if record.name in names]
    if len(said) == 1:
        return said[0]
    found = f"reports are in the columns {said}" if said else f"its columns are {names[:20]}"
    raise ArgumentTypeError(
        f"values must be one column, found a {kind}; give one column as columns='name', or several "
        f"as a list with a mapping from column to mechanism; {found}"
    )


def _by_column(mechanism: Any, names: list[Hashable]) -> Mapping[Any, Any] | None:
    """A mapping from column to mechanism; None for what stands for the mechanism of each."""
    if not isinstance(mechanism, Mapping) or not any(name in mechanism for name in names):
        return None
    if strange := [name for name in mechanism if name not in names]:
        raise ArgumentValueError(
            f"mechanisms must be of the columns asked for, {names}, found also {strange}"
        )
    return mechanism


def _is_one_report(mechanism: Any, columns: int) -> bool:
    """Whether each report is a tuple with as many parts, as where a person answers twice."""
    if not is_mechanism(mechanism) or columns < 2:
        return False
    codec = codec_of(as_mechanism(mechanism).report_space)
    return codec.is_label and all(
        isinstance(label, tuple) and len(label) == columns for label in codec.labels.categories
    )


def refuse_by_row(frame: EngineFrame, mechanism: Any) -> None:
    """Raise for a column of mechanisms, whose rows belong to none of an engine's."""
    if isinstance(mechanism, pd.Series) or (
        isinstance(mechanism, list | tuple) and any(map(is_mechanism, mechanism))
    ):
        raise ArgumentTypeError(
            f"a column of mechanisms cannot be matched with the rows of a {frame.kind}, which have "
            "no order; name in group= the column that tells which mechanism made a row, and give a "
            "mapping from its labels to mechanisms"
        )
