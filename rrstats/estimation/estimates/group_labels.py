"""Labels of groups, which one column makes or several together: in frames and in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import pandas as pd

from rrstats._display import label
from rrstats.estimation.estimates.result import label_column


def labels_of(names: Sequence[Hashable], group: Any) -> tuple[Any, ...]:
    """The label of a group in each of the columns that make the groups."""
    return group if len(names) > 1 else (group,)


def with_labels(
    table: pd.DataFrame, names: Sequence[Hashable], groups: Iterable[Any]
) -> pd.DataFrame:
    """A table of equally many rows for each group, with the columns that make the groups in front.

    A column of the groups that has the name of another is called ``name_group``.
    """
    labels = [labels_of(names, group) for group in groups]
    k = len(table) // len(labels)
    for place, name in enumerate(names):
        column = label_column(tuple(each[place] for each in labels for _ in range(k)))
        free = f"{name}_group" if name in table.columns else name
        table.insert(place, free, column, True)
    return table


def label_text(name: Hashable) -> str:
    """A label, or the labels of several columns, as text."""
    return ", ".join(map(label, name)) if isinstance(name, tuple) else label(name)


def group_text(names: Sequence[Hashable], group: Hashable) -> str:
    """A group in words: its columns with its labels."""
    pairs = zip(names, labels_of(names, group), strict=True)
    return ", ".join(f"{label(name)} {label(value)}" for name, value in pairs)
