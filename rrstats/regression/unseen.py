"""Privatized covariates of a regression: the classes that people may be of, and their designs.

A formula or frame names them like any other column.  For each combination of their true categories
the design matrix is made as if everybody were in it, so that interactions and contrasts work as for
a column that was seen; columns that do not differ between combinations are the ordinary ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.data.columns import open_reports
from rrstats.data.frame_columns import column_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Reports, Variable, variable, variables
from rrstats.estimation.debiasing import has_scores
from rrstats.estimation.result import said
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import read
from rrstats.regression.frames import Design, check_ordinary, covariates

__all__ = ["MOST_CLASSES", "Unseen", "again", "designs", "open_unseen"]


MOST_CLASSES = 64
"""So many combinations of true answers at most: time and memory grow with them."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """Covariates of which only reports were seen; their classes are all combinations.

    columns : one for each covariate, of equal length.
    """

    columns: tuple[Variable, ...]

    def __getstate__(self) -> dict[str, Any]:
        """The columns without their reports: these have open readers, and a fit is done with them.

        What is left says what the classes are and how they were reported.
        """
        kept = [
            one if one.mechanism is None else (one.name, one.rows, one.mechanism)
            for one in self.columns
        ]
        return {"kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = [one if isinstance(one, Variable) else _emptied(*one) for one in state["kept"]]
        object.__setattr__(self, "columns", tuple(columns))

    @property
    def names(self) -> tuple[Any, ...]:
        """Their labels in the frame; in a formula texts."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The categories of each covariate as text, no two alike."""
        return tuple(_texts(column.categories) for column in self.columns)

    @cached_property
    def profiles(self) -> list[tuple[int, ...]]:
        """All combinations of categories, the first category of all first."""
        return list(itertools.product(*(range(column.k) for column in self.columns)))

    @cached_property
    def shows(self) -> NDArray[np.intp]:
        """(C,) the profile that each combination of classes shows; they are profiles mostly."""
        place = {profile: code for code, profile in enumerate(self.profiles)}
        shown = [np.argmax(column.shown, axis=0).tolist() for column in self.columns]
        return np.array([place[combination] for combination in itertools.product(*shown)])

    @property
    def classes(self) -> int:
        """C."""
        return len(self.shows)

    def class_names(self) -> list[str]:
        """What the classes are called in a table."""
        if len(set(self.shows.tolist())) == self.classes:
            return [self.told(self.profiles[code]) for code in self.shows]
        answers = [
            column.categories
            if column.mechanism is None or len(column.shown[0]) == column.k
            else column.mechanism.domain.categories
            for column in self.columns
        ]
        every = itertools.product(*map(_texts, answers))
        pairs = [zip(self.names, combination, strict=True) for combination in every]
        return [", ".join(f"{name}={label}" for name, label in pair) for pair in pairs]

    def told(self, profile: Sequence[int]) -> str:
        """A profile in words."""
        named = zip(self.names, self.labels, profile, strict=True)
        return ", ".join(f"{name}={labels[code]}" for name, labels, code in named)

    def missing(self) -> dict[str, Booleans]:
        """Where reports are missing, for each covariate that has such rows."""
        found = {f"covariate {column.name!r}": column.missing() for column in self.columns}
        return {name: where for name, where in found.items() if where.any()}

    def given(self, keep: Booleans | None) -> Floats:
        """(rows, C) P(all reports | class)."""
        found = np.ones((self.columns[0].rows if self.columns else 0, 1))
        for column in self.columns:
            if column.one_cell_each:
                table = np.vstack([column.likelihood_table, np.ones(column.shown.shape[1])])
                told = table[column.codes()]
            else:
                told = column.likelihood()
            found = (found[:, :, None] * told[:, None, :]).reshape(len(told), -1)
        return found if keep is None else found[keep]

    def scores(self, keep: Booleans | None, rows: int) -> Floats:
        """(rows, profiles) products of the reports' scores: unbiased for who is in a profile."""
        if not self.has_scores:
            raise ArgumentValueError(
                "some reports have no scores one by one, as the samples of their mechanism need "
                "one another; use method='likelihood'"
            )
        found = np.ones((rows, 1))
        for column in self.columns:
            if column.one_cell_each:
                table = np.vstack([column.score_table, np.zeros(column.k)])
                told = table[column.codes()]
            else:
                told = column.scores()
            told = told if keep is None else told[keep]
            found = (found[:, :, None] * told[:, None, :]).reshape(rows, -1)
        return found

    @property
    def has_scores(self) -> bool:
        """Whether each report has a score by itself."""
        channels = [one.mechanism.channel for one in self.columns if one.mechanism is not None]
        return all(map(has_scores, channels))

    @property
    def listed(self) -> str:
        """The covariates in a line."""
        if not self.columns:
            return "no covariate privatized"
        return f"privatized: {', '.join(map(str, self.names))}"

    def others(self, data: pd.DataFrame) -> pd.DataFrame:
        """The columns of a frame that are not among them."""
        return data.loc[:, [name not in self.names for name in data.columns]]

    def framed(self, data: pd.DataFrame, profile: Sequence[int] | None) -> pd.DataFrame:
        """The frame with everybody in one profile; None for all categories by turns."""
        found = data.copy(deep=False)
        for place, (name, labels) in enumerate(zip(self.names, self.labels, strict=True)):
            turns = np.arange(len(data)) % len(labels)
            codes = turns if profile is None else np.full(len(data), profile[place])
            found[name] = pd.Categorical.from_codes(codes.tolist(), pd.Index(labels, dtype=object))
        return found

    def codes(self, frame: pd.DataFrame) -> NDArray[np.intp]:
        """(rows,) the profile of people whose true categories stand in the frame."""
        found = np.zeros(len(frame), dtype=np.intp)
        for column, name in zip(self.columns, self.names, strict=True):
            place = {category: code for code, category in enumerate(column.categories)}
            codes = np.array([place.get(answer, -1) for answer in column_of(frame, name).tolist()])
            if bad := int((codes < 0).sum()):
                # Of an ordinary column categories are cells.
                named = f" {list(column.categories)[:8]}" if column.private else ""
                raise ArgumentValueError(
                    f"{bad} of {len(frame)} rows of {name!r} are none of the true categories{named}"
                )
            found = found * column.k + codes.astype(np.intp)
        return found

    def check_informative(self) -> None:
        """Raise NotIdentifiableError for reports without information, and for too many classes."""
        for column in self.columns:
            if column.mechanism is not None:
                channel = column.mechanism.channel
                channel.solve(np.zeros(len(channel.samples)))
        if self.classes > MOST_CLASSES:
            raise ArgumentValueError(
                f"privatized covariates may have at most {MOST_CLASSES} combinations of true "
                f"answers, these have {self.classes}; leave some out, or merge categories"
            )


def _emptied(name: Hashable, rows: int, mechanism: Mechanism) -> Variable:
    """A private column without its reports."""
    container, reader = open_reports([], mechanism.report_space)
    reports = Reports(mechanism, container, reader, None)
    return Variable(name, mechanism.categories, rows, reports)


def _texts(categories: Sequence[Hashable]) -> tuple[str, ...]:
    texts = [said(category) for category in categories]
    if len(set(texts)) < len(texts):  # 1 and "1" are different answers
        texts = [repr(category) for category in categories]
    return tuple(texts)


def open_unseen(data: Any, given: Any, wanted: Sequence[Hashable], group: Any) -> Unseen:
    """The privatized covariates: those given, and those that the frame says of itself.

    given : mapping from column to mechanism or `Variable`, or None.
    wanted : the columns that the model uses, by their labels in the frame.
    """
    named = {} if given is None else given
    if not isinstance(named, Mapping):
        raise ArgumentTypeError(
            f"covariates must be a mapping from column to mechanism, found {type(given).__name__}"
        )
    described: dict[Hashable, Any] = {}
    strange = []
    for key, how in named.items():
        labels = [key] if key in wanted else [name for name in wanted if str(name) == str(key)]
        if len(labels) == 1 and labels[0] not in described:
            described[labels[0]] = how
        else:
            strange.append(key)
    if strange:
        raise ArgumentValueError(
            "covariates must be columns that the model uses, each once, "
            f"{list(wanted)[:20]}, found also {strange}"
        )
    recorded = [record.name for record in read(getattr(data, "attrs", None) or {})]
    private = [name for name in wanted if name in described or name in recorded]
    if isinstance(data, pd.DataFrame):
        check_ordinary(data, [name for name in wanted if name not in private])
    found = []
    for name in private:
        how = described.get(name)
        if isinstance(how, Variable):
            found.append(replace(how, name=name))
        elif group is None or isinstance(group, str):
            mechanisms = {} if how is None else {name: how}
            found += variables(data, [name], mechanisms, group=group)
        else:
            found.append(variable(column_of(data, name), how, name=name, group=group))
    return Unseen(tuple(found))


def designs(
    unseen: Unseen, data: Any, formula: str | None, keep: Booleans | None, intercept: bool
) -> tuple[Design, list[Floats], tuple[str, ...]]:
    """The design, its matrix for each profile, and the names of the columns.

    Without a formula a covariate adds a column for each category but the first.
    """
    if formula is not None:
        framed = unseen.framed(data, None)
        opened = covariates(framed, formula, rows=len(data), whole=unseen.names)
        design = opened.design(keep)
        frame = design.frame
        matrices = [design.again(unseen.framed(frame, profile)) for profile in unseen.profiles]
        return design, matrices if unseen.columns else [design.matrix], design.names
    table = data
    if isinstance(data, pd.DataFrame):
        table = unseen.others(data)
    rows = unseen.columns[0].rows if unseen.columns else len(data)
    if isinstance(table, pd.DataFrame) and not table.shape[1]:
        table = None  # an intercept alone
    design = covariates(table, None, rows=rows, intercept=intercept).design(keep)
    names, indicators = design.names, []
    for place, (name, labels) in enumerate(zip(unseen.names, unseen.labels, strict=True)):
        names += tuple(f"{name}[T.{label}]" for label in labels[1:])
        indicators.append([profile[place] for profile in unseen.profiles])
    matrices = []
    for code in range(len(unseen.profiles)):
        columns = [
            np.full(len(design.matrix), float(codes[code] == category))
            for codes, column in zip(indicators, unseen.columns, strict=True)
            for category in range(1, column.k)
        ]
        matrices.append(np.column_stack([design.matrix, *columns]))
    return design, matrices, names


def again(unseen: Unseen, design: Design, frame: pd.DataFrame, from_formula: bool) -> list[Floats]:
    """The matrices of other people, one for each profile."""
    if from_formula:
        if not unseen.columns:
            return [design.again(frame)]
        return [design.again(unseen.framed(frame, profile)) for profile in unseen.profiles]
    ordinary, found = design.again(frame), []
    for profile in unseen.profiles:
        columns = [ordinary]
        for code, labels in zip(profile, unseen.labels, strict=True):
            wanted = range(1, len(labels))
            columns += [np.full((len(frame), 1), float(code == other)) for other in wanted]
        found.append(np.hstack(columns))
    return found
