"""Privacy of a row: the epsilon of all its recorded columns, with what it counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

from rrstats._checks import quote_list
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import (
    round_up,
    total_epsilon,
)
from rrstats.mechanisms.plans import dominating
from rrstats.mechanisms.records import ColumnRecord

VOID = "void: the noise was simulated, so it protects nobody"


def row_epsilon(records: Iterable[ColumnRecord]) -> float:
    """The privacy loss of one row over all recorded columns; the columns of one plan share one.

    >>> told = {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}
    >>> kept = {"name": "a", "mechanism": told, "plan":
    ...     {"asked": "rr_asked", "epsilon": 2.0, "parts": [["a"], ["b"]], "chances": [1, 1]}}
    >>> row_epsilon(ColumnRecord.from_dict(kept | {"name": name}) for name in ("a", "b"))
    2.0
    """
    return total_epsilon(max(record.epsilon for record in sharing) for sharing in together(records))


def together(listed: Iterable[Any]) -> Iterable[list[Any]]:
    """Records or estimates whose losses do not add up: one alone, or all columns of one plan."""
    groups: list[list[Any]] = []
    for record in listed:
        same_plan = (
            group for group in groups if record.plan is not None and group[0].plan == record.plan
        )
        group = next(same_plan, None)
        if group is None:
            groups.append([record])
        else:
            group.append(record)
    return groups


def row_mechanisms(records: Iterable[ColumnRecord]) -> dict[Hashable, Mechanism]:
    """The mechanisms whose losses add up to that of a row, by column.

    The columns of one plan have one together, under the name of the plan's public column: given
    the coin, a row's reports are those of one mechanism of the plan's epsilon.  Simulated columns
    have a mechanism of infinite epsilon.
    """
    mechanisms: dict[Hashable, Mechanism] = {}
    listed = list(records)
    names = {record.name for record in listed}
    for sharing in together(listed):
        largest = max(sharing, key=lambda record: record.epsilon)
        name = largest.name
        mechanism = largest.unlabelled()
        plan = largest.plan
        if plan is not None and mechanism.epsilon <= plan.epsilon:
            mechanism = dominating(largest.epsilon)
            if plan.asked not in names.union(mechanisms):
                name = plan.asked
        mechanisms[name] = dominating(math.inf) if largest.simulated else mechanism
    return mechanisms


class RowEpsilon(float):
    """The epsilon of a row, a float whose repr, rounded up, says in ``note`` what it counts.

    >>> epsilon = RowEpsilon(0.5, "counts ['a']")
    >>> epsilon, epsilon + 1
    (0.5 (counts ['a']), 1.5)
    """

    note: str

    def __new__(cls, value: float, note: str) -> RowEpsilon:
        """A float with a note; pickles and copies keep both."""
        epsilon = super().__new__(cls, value)
        epsilon.note = note
        return epsilon

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]  # made from two values
        return float(self), self.note

    def __repr__(self) -> str:
        return f"{round_up(float(self))} ({self.note})"


def coverage_note(records: Iterable[ColumnRecord], columns: Iterable[Hashable]) -> str:
    """The columns of a frame that its epsilon counts, and those that have no record.

    The public columns of a plan, and of probabilities by row, hold no answers.

    >>> told = {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}
    >>> coverage_note([ColumnRecord("a", told)], ["a", "b"])
    "counts ['a'], not ['b'], which the frame does not record"
    """
    listed = list(records)
    public = {column for record in listed for column in _public_columns(record)}
    counted = [record.name for record in listed]
    others = [name for name in dict.fromkeys(columns) if name not in public.union(counted)]
    note = f"counts {quote_list(counted)}"
    if others:
        note += f", not {quote_list(others)}, which the frame does not record"
    if any(record.simulated for record in listed):
        note += f"; {VOID}"
    return note


def _public_columns(record: ColumnRecord) -> list[Hashable]:
    """The public columns that the estimates of a column need."""
    plan = [] if record.plan is None else [record.plan.asked]
    return [*plan, *(record.by_row or {}).values()]


def epsilon_text(record: ColumnRecord) -> str:
    """The epsilon of one report of a column, rounded up, for display.

    >>> told = {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}
    >>> epsilon_text(ColumnRecord("a", told))
    '1.099'
    >>> epsilon_text(ColumnRecord("a", told, simulated=True))
    'inf, void: the noise was simulated, so it protects nobody'
    """
    void = f", {VOID}" if record.simulated else ""
    return f"{round_up(record.epsilon)}{void}"
