"""Privatized covariates of a regression: the classes that people may be of, and their designs.

A formula or frame names them like any other column.  For each combination of their true categories
the design matrix is made as if everybody were in it, so that interactions and contrasts work as for
a column that was seen; columns that do not differ between combinations are the ordinary ones.
P(x | z) must hold each column of z that the outcome goes with: without one of them the effects of x
and z are biased.  In ``x + x:z`` no column is z alone, but that of a profile is; so the columns of
all profiles are looked through, and those that follow from others are left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of, open_reports
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.analysis_columns import Reports, Variable, variable, variables
from rrstats.estimation.debiasing import has_scores
from rrstats.estimation.means import numbers
from rrstats.estimation.result import said
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.records import read
from rrstats.regression.design_matrix import (
    DesignMatrix,
    check_index,
    check_ordinary,
    column_or_values,
    covariates,
    source_of,
    whole_rows,
)

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
) -> tuple[DesignMatrix, list[Floats], tuple[str, ...]]:
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


def again(
    unseen: Unseen, design: DesignMatrix, frame: pd.DataFrame, from_formula: bool
) -> list[Floats]:
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


_FOLLOWS = 1e-7
"""A column of length 1 of which the others leave less says nothing new."""


@dataclass(frozen=True)
class ShareColumns:
    """Which columns explain the shares of the true categories.

    names : of the columns.  ones : whether a column of ones comes first.
    ordinary : whether those follow that are alike for all profiles.
    picked : further ones, as pairs of a profile and the place among the columns that vary.
    """

    names: tuple[str, ...]
    ones: bool
    ordinary: bool
    picked: tuple[tuple[int, int], ...] = ()

    def of(self, same: Floats, varying: Floats) -> Floats:
        """(rows, g) the columns, from (rows, s) and (profiles, rows, v)."""
        parts = [np.ones((len(same), 1))] if self.ones else []
        parts += [same] if self.ordinary else []
        parts += [varying[profile, :, [place]].T for profile, place in self.picked]
        return np.hstack(parts)


def share_columns(
    same: Floats,
    varying: Floats,
    names: Sequence[str],
    unseen: Sequence[Any],
    covariate_model: str,
) -> ShareColumns:
    """The columns: ones, and for "logistic" all that the ordinary covariates make.

    same : (rows, s) columns that are alike for all profiles.  varying : (profiles, rows, v) others.
    names : of all s + v.  unseen : the names of the privatized covariates.
    """
    if covariate_model == "constant":
        return ShareColumns(("Intercept",), True, False)
    rows, s = same.shape
    one = np.ones((rows, 1))
    explained = same @ np.linalg.lstsq(same, one, rcond=None)[0] if s else np.zeros((rows, 1))
    needed = bool(np.abs(explained - 1).max() >= 1e-8)
    told = (["Intercept"] if needed else []) + list(names[:s])
    picked = []
    if rows > 1 and varying.strides[1]:  # else they are alike in all rows
        basis = np.linalg.qr(np.hstack([one, same]) if needed else same)[0]
        for place in range(varying.shape[2]):
            for profile in range(len(varying)):
                column = varying[profile, :, place]
                rest = column - basis @ (basis.T @ column)
                rest -= basis @ (basis.T @ rest)  # twice is enough
                length = float(np.linalg.norm(rest))
                if length > _FOLLOWS * float(np.linalg.norm(column)):
                    basis = np.column_stack([basis, rest / length])
                    picked.append((profile, place))
                    told.append(_share_name(names[s + place], unseen, told))
    return ShareColumns(tuple(told), needed, True, tuple(picked))


def _share_name(name: str, unseen: Sequence[Any], taken: Sequence[str]) -> str:
    """What a column is called where the privatized covariates are known: its other factors."""
    private = {str(one) for one in unseen}
    kept = []
    for part in name.split(":"):
        source = source_of(part)
        if source not in private and private.isdisjoint(re.findall(r"\w+", source)):  # C(x)
            kept.append(part)
    rest = ":".join(kept) or name
    found, turn = rest, 1
    while found in taken:
        turn += 1
        found = f"{rest} ({turn})"
    return found


@dataclass(frozen=True, eq=False)
class Opened:
    """Arguments of a regression as clean arrays.

    same : (rows, s) columns of the design that are alike for all profiles of the privatized
    covariates.  varying : (profiles, rows, v) the others, in a stride of 0 where rows are alike.
    order : the places of all these in the design.  weights : with a mean of 1.
    """

    unseen: Unseen
    design: DesignMatrix
    names: tuple[str, ...]
    order: list[int]
    same: Floats
    varying: Floats
    weights: Floats | None
    clusters: NDArray[np.intp] | None

    @property
    def ordered(self) -> list[str]:
        """The names of the columns, the varying ones last."""
        return [self.names[place] for place in self.order]


def open_columns(
    absent: dict[str, Booleans],
    rows: int,
    formula: str | None,
    data: Any,
    given: Any,
    group: Any,
    weights: Any,
    clusters: Any,
    missing: str,
    intercept: bool,
    outcome: Any = None,
) -> tuple[Opened, Booleans | None]:
    """Columns, weights and clusters of the rows that are used, and which these are.

    absent : where the outcome is missing.  outcome : its values, to compare indexes with.
    """
    if not rows:
        raise ArgumentValueError("there must be at least one row, found none")
    if formula is None:
        check_index(outcome, data, "the outcome")
    unseen = open_unseen(data, given, _sources(data, formula), group)
    unseen.check_informative()
    w = column_or_values(weights, data, rows, "weights", outcome)
    w = None if w is None else _checked_weights(w, rows)
    in_cluster = column_or_values(clusters, data, rows, "clusters", outcome)
    codes = None if in_cluster is None else pd.factorize(pd.Series(in_cluster))[0]
    gaps = {**absent, **_gaps(data, formula, unseen, rows, intercept), **unseen.missing()}
    if w is not None:
        gaps["weights"] = np.isnan(w)
    if codes is not None:
        gaps["clusters"] = codes < 0
    keep = whole_rows(missing, gaps, rows)
    if w is not None:
        used = (w if keep is None else w[keep]) > 0
        if not used.any():
            raise ArgumentValueError("weights must leave somebody, found that all are 0")
        if not used.all():  # rows that stand for nobody take no part
            kept = np.ones(rows, dtype=np.bool_) if keep is None else keep.copy()
            kept[kept] = used
            keep = kept
        w = w if keep is None else w[keep]
        w = w / w.mean()
    if codes is not None:
        codes = pd.factorize(codes if keep is None else codes[keep])[0]
        if codes.max(initial=0) < 1:
            raise ArgumentValueError("clusters must be at least 2, found 1")
    design, matrices, names = designs(unseen, data, formula, keep, intercept)
    order, same, varying = _apart(matrices, len(names))
    return Opened(unseen, design, names, order, same, varying, w, codes), keep


def _checked_weights(given: Any, rows: int) -> Floats:
    found = numbers(given, "weights", rows)
    if (found < 0).any() or not np.nansum(found) > 0:
        raise ArgumentValueError(
            f"weights must not be negative, nor all 0; found {int((found < 0).sum())} negative"
        )
    return found


def _sources(data: Any, formula: str | None) -> list[Hashable]:
    """The columns that the model may use."""
    if formula is None:
        return list(data.columns) if isinstance(data, pd.DataFrame) else []
    opened = covariates(data, formula, rows=len(data))
    return list(opened.sources)


def _gaps(
    data: Any, formula: str | None, unseen: Unseen, rows: int, intercept: bool
) -> dict[str, Booleans]:
    """Where ordinary covariates are missing."""
    if formula is not None:
        opened = covariates(unseen.framed(data, None), formula, rows=rows)
        return opened.missing()
    if isinstance(data, pd.DataFrame):
        data = unseen.others(data)
        if not data.shape[1]:
            return {}
    return covariates(data, None, rows=rows, intercept=intercept).missing()


def _apart(matrices: list[Floats], columns: int) -> tuple[list[int], Floats, Floats]:
    """Columns that are alike for all profiles, and those that are not, with their places."""
    first = matrices[0]
    differs = np.array(
        [
            any(not np.array_equal(first[:, place], other[:, place]) for other in matrices[1:])
            for place in range(columns)
        ]
    )
    same, vary = np.flatnonzero(~differs), np.flatnonzero(differs)
    if all((matrix[:1, vary] == matrix[:, vary]).all() for matrix in matrices):
        table = np.stack([matrix[:1, vary] for matrix in matrices])
        varying = np.broadcast_to(table, (len(matrices), len(first), len(vary)))
    else:
        varying = np.stack([matrix[:, vary] for matrix in matrices])
    return [*same.tolist(), *vary.tolist()], np.ascontiguousarray(first[:, same]), varying
