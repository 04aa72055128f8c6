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
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._checks import check_instance
from rrstats._typing import Booleans, Floats
from rrstats.data.columns import column_of, numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import has_scores
from rrstats.estimation.report_columns import (
    ReportColumn,
    ReportFrame,
    ReportSource,
    check_together,
    not_asked,
    report_column,
)
from rrstats.estimation.sample_design import SampleDesign, design_of
from rrstats.mechanisms.samples import check_aligned
from rrstats.regression.design_matrix import (
    DesignMatrix,
    check_ordinary,
    column_or_values,
    covariates,
    from_r,
    labelled,
    sides,
    source_of,
    table_of,
    whole_rows,
)
from rrstats.regression.varying_columns import ColumnCollector, VaryingColumns

MOST_CLASSES = 64
"""So many combinations of true answers at most: time and memory grow with them."""


@dataclass(frozen=True, eq=False)
class PrivateCovariates:
    """Covariates of which only reports were seen; their classes are all combinations.

    columns : one for each covariate, of equal length.
    """

    columns: tuple[ReportColumn, ...]

    def __getstate__(self) -> dict[str, Any]:
        """The columns without their reports, which have open readers; a fit is done with them."""
        gone: Any = None
        kept = [replace(one, cells=gone, reader=gone, samples=gone) for one in self.columns]
        return {"columns": tuple(kept)}

    @property
    def names(self) -> tuple[Any, ...]:
        """Their labels in the frame; in a formula texts."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The categories of each covariate as text, no two alike."""
        return tuple(_texts(column.categories) for column in self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each."""
        return tuple(column.k for column in self.columns)

    @property
    def profiles(self) -> list[tuple[int, ...]]:
        """All combinations of categories, the first category of all first."""
        return list(np.ndindex(*self.shape))

    @cached_property
    def shown(self) -> NDArray[np.intp]:
        """(C, columns) the categories that each combination of classes shows."""
        codes = [np.argmax(column.recode, axis=0).tolist() for column in self.columns]
        return np.array(list(itertools.product(*codes)), dtype=np.intp)

    def numbered(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The profile of (..., columns) categories, by its place."""
        sizes = [math.prod(self.shape[place + 1 :]) for place in range(len(self.shape))]
        return np.asarray(codes @ np.array(sizes, dtype=np.intp))

    @cached_property
    def class_of(self) -> NDArray[np.intp]:
        """(C,) the profile of each class; they are profiles mostly."""
        return self.numbered(self.shown)

    @cached_property
    def first_class(self) -> NDArray[np.intp]:
        """(profiles,) the first class of each."""
        return np.unique(self.class_of, return_index=True)[1]

    def class_names(self) -> list[str]:
        """Names of the classes in a table."""
        return self.joined(
            labels
            if column.mechanism is None or column.recode.shape[1] == column.k
            else _texts(column.mechanism.domain.categories)
            for column, labels in zip(self.columns, self.labels, strict=True)
        )

    def joined(self, labels: Iterable[Sequence[str]]) -> list[str]:
        """Names of all combinations of labels of the covariates."""
        pairs = (zip(self.names, each, strict=True) for each in itertools.product(*labels))
        return [", ".join(f"{name}={label}" for name, label in pair) for pair in pairs]

    def missing(self) -> dict[str, Booleans]:
        """Rows of missing reports, for each covariate that has such rows."""
        found = {f"covariate {column.name!r}": column.missing() for column in self.columns}
        return {name: where for name, where in found.items() if where.any()}

    def likelihood(self, rows: int, keep: Booleans | None) -> Floats:
        """(rows, C) P(all reports | class).

        rows : how many there are, of which some are kept.
        """
        table, cells = self._by_cell(rows, keep, "likelihood")
        return table[cells]

    def scores(self, rows: int, keep: Booleans | None) -> tuple[Floats, NDArray[np.intp]]:
        """(cells, C) unbiased scores of the profiles, and the cell of each row.

        Rows with equal reports share a cell, unless reports name several categories.
        rows : how many there are, of which some are kept.
        """
        if not self.has_scores:
            raise ArgumentValueError("a covariate needs all samples; use method='likelihood'")
        return self._by_cell(rows, keep, "scores")

    def _by_cell(
        self, rows: int, keep: Booleans | None, asked: str
    ) -> tuple[Floats, NDArray[np.intp]]:
        """Products over the covariates of what their reports tell, and the cell of each row."""
        table, cells = np.ones((1, 1)), np.zeros(rows, dtype=np.intp)
        for column in self.columns:
            if column.is_multinomial:
                each = column.score_table if asked == "scores" else column.likelihood_table
                each = np.vstack([each, np.ones(each.shape[1])])  # the last is a missing report
                codes = column.codes()
            else:
                each = column.scores() if asked == "scores" else column.likelihood()
                codes = np.arange(rows)
            if len(table) * len(each) <= rows:
                table = (table[:, None, :, None] * each[None, :, None, :]).reshape(
                    len(table) * len(each), -1
                )
                cells = cells * len(each) + codes
            else:
                table = (table[cells][:, :, None] * each[codes][:, None, :]).reshape(rows, -1)
                cells = np.arange(rows)
        return table, cells if keep is None else cells[keep]

    @property
    def has_scores(self) -> bool:
        """Each report has a score by itself."""
        channels = [column.channel for column in self.columns]
        return all(channel is None or has_scores(channel) for channel in channels)

    @property
    def listed(self) -> str:
        """The covariates in a line."""
        if not self.columns:
            return "no covariate privatized"
        return f"privatized: {', '.join(map(str, self.names))}"

    def framed(self, data: pd.DataFrame, profile: Sequence[int] | None) -> pd.DataFrame:
        """The frame with everybody in one profile; None for all categories by turns."""
        found = data.loc[:, [name not in self.names for name in data.columns]]
        found = found.set_axis([str(name) for name in found.columns], axis=1)
        for place, (name, labels) in enumerate(zip(self.names, self.labels, strict=True)):
            turns = np.arange(len(data)) % len(labels)
            codes = turns if profile is None else np.full(len(data), profile[place])
            values = pd.Categorical.from_codes(codes, pd.Index(labels, dtype=object))
            found = found.assign(**{str(name): values})
        return found

    def profile_frame(self) -> pd.DataFrame:
        """A row for each profile: its categories."""
        codes = np.array(self.profiles, dtype=np.intp).T
        return pd.DataFrame(
            {
                str(name): pd.Categorical.from_codes(column, pd.Index(labels, dtype=object))
                for name, labels, column in zip(self.names, self.labels, codes, strict=True)
            }
        )

    def codes(self, frame: pd.DataFrame) -> NDArray[np.intp]:
        """(rows,) the profile of people whose true categories stand in the frame."""
        found = np.empty((len(frame), len(self.columns)), dtype=np.intp)
        for place, (column, name) in enumerate(zip(self.columns, self.names, strict=True)):
            known = {category: code for code, category in enumerate(column.categories)}
            found[:, place] = [known.get(one, -1) for one in column_of(frame, name).tolist()]
            if bad := int((found[:, place] < 0).sum()):
                raise ArgumentValueError(
                    f"{bad} of {len(frame)} rows of {name!r} are none of the true categories "
                    f"{list(column.categories[:8])}"
                )
        return self.numbered(found)

    def check_informative(self) -> None:
        """Raise NotIdentifiableError for reports without information, and for too many classes."""
        for column in self.columns:
            if (channel := column.channel) is not None:
                channel.solve(np.zeros(len(channel.samples)))
        if len(self.shown) > MOST_CLASSES:
            raise ArgumentValueError(
                f"privatized covariates may have at most {MOST_CLASSES} combinations of answers"
            )


def _texts(categories: Sequence[Hashable]) -> tuple[str, ...]:
    texts = ["missing" if category is None else str(category) for category in categories]
    if len(set(texts)) < len(texts):  # 1 and "1" are different answers
        texts = [repr(category) for category in categories]
    return tuple(texts)


def open_private(
    data: Any, given: Any, wanted: Sequence[Hashable], group: Any
) -> PrivateCovariates:
    """The privatized covariates: those given, and those that the frame says of itself.

    given : mapping from column to mechanism or `ReportColumn`, or None.
    wanted : the columns that the model uses, by their labels in the frame.
    """
    named = check_instance(given or {}, "covariates", Mapping, "a mapping from column to mechanism")
    texts = {str(one): one for one in wanted}
    described = {one if one in wanted else texts.get(str(one)): named[one] for one in named}
    if None in described or len(described) < len(named):
        raise ArgumentValueError(
            "covariates must be columns that the model uses, each once, "
            f"{list(wanted)[:20]}, found {list(named)}"
        )
    frame = ReportFrame.of(pd.DataFrame() if data is None else data)
    private = [name for name in wanted if name in described or name in frame.records]
    check_ordinary(frame, [name for name in wanted if name not in private])
    found = []
    for name in private:
        how = described.get(name)
        if isinstance(how, ReportColumn):
            found.append(replace(how, name=name))
        elif group is None or isinstance(group, str):
            mechanisms = {} if how is None else {name: how}
            found += frame.joint([name], mechanisms, group=group)
        else:
            found.append(report_column(column_of(data, name), how, name=name, group=group))
    return PrivateCovariates(tuple(found))


_FOLLOWS = 1e-7
"""A column of length 1 of which the others leave less says nothing new."""


@dataclass(frozen=True)
class ShareColumns:
    """Columns that explain the shares of the true categories.

    names : of the columns.  places : theirs among a column of ones, those that are alike for all
    profiles, and those that vary, profile by profile.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]

    def of(self, same: Floats, varying: VaryingColumns) -> Floats:
        """(rows, g) the columns, from (rows, s) and those that vary."""
        s, v = same.shape[1], varying.columns
        columns = [np.empty((len(same), 0))]
        for place in self.places:
            if place == 0:
                column = np.ones(len(same))
            elif place <= s:
                column = same[:, place - 1]
            else:
                column = varying.column(*divmod(place - 1 - s, v))
            columns.append(column[:, None])
        return np.hstack(columns)


def share_columns(data: ModelData, covariate_model: str) -> ShareColumns:
    """The columns: ones, and for "logistic" all that the ordinary covariates make."""
    if covariate_model == "constant":
        return ShareColumns(("Intercept",), (0,))
    names, hidden = data.ordered, {str(name) for name in data.private.names}
    varying, s = data.varying, data.same.shape[1]
    profiles, v = varying.places.shape
    # Columns of the triangle have the lengths and products of the columns of people.
    triangle = np.asarray(np.linalg.qr(np.hstack([data.same, varying.base.T]), mode="r"))
    same, base = triangle[:, :s], triangle[:, s:]
    basis, places = np.linalg.qr(same)[0], list(range(1, s + 1))
    for place in [0, *(1 + s + code * v + j for j in range(v) for code in range(profiles))]:
        code, j = divmod(place - 1 - s, v) if place else (0, 0)
        start = base[:, varying.places[code, j]] * varying.factors[code, j] if place else base[:, 0]
        rest = start
        for _ in range(2):  # twice is enough
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _FOLLOWS * float(np.linalg.norm(start)):
            basis = np.column_stack([basis, rest / length])
            places.append(place)
    told: list[str] = []
    places = [0] * (0 in places) + [place for place in places if place]
    for place in places:
        name = "Intercept" if not place else names[place - 1] if place <= s else ""
        told.append(name or _share_name(names[s + (place - 1 - s) % v], hidden, told))
    return ShareColumns(tuple(told), tuple(places))


def _share_name(name: str, hidden: set[str], taken: Sequence[str]) -> str:
    """Name of a column where the privatized covariates are known: its other factors."""
    sources = {part: source_of(part) for part in name.split(":")}
    words = {part: {one, *re.findall(r"\w+", one)} for part, one in sources.items()}  # C(x)
    parts = [part for part in sources if hidden.isdisjoint(words[part])]
    rest = ":".join(parts) or name
    turns = (f"{rest} ({turn})" for turn in itertools.count(2))
    return next(one for one in itertools.chain([rest], turns) if one not in taken)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelRequest:
    """Arguments of a regression as they were given; see `models.logit`."""

    outcome: Any
    data: Any = None
    mechanism: Any = None
    prob: float | None = None
    epsilon: float | None = None
    group: Any = None
    event: Any = None
    baseline: Any = None
    intercept: bool = False
    weights: Any = None
    frequencies: Any = None
    design: SampleDesign | None = None
    offset: Any = None
    missing: str = "raise"
    vcov: str | None = None
    covariates: Any = None
    covariate_model: str | None = None

    @cached_property
    def frame(self) -> Any:
        """Data as a frame; None where there are none."""
        formula = isinstance(self.outcome, str)
        return table_of(self.data) if formula or self.data is not None else None

    @cached_property
    def formula(self) -> str | None:
        """The formula, if there is one, as formulaic reads it."""
        return from_r(self.outcome, self.frame) if isinstance(self.outcome, str) else None

    @cached_property
    def values(self) -> Any:
        """Values of the outcome."""
        if self.formula is None:
            return self.outcome
        return column_of(self.frame, sides(self.formula)[0])

    @property
    def record(self) -> Any:
        """The record of the outcome's mechanism, or None."""
        return ReportSource.of(self.values).record

    @property
    def described(self) -> bool:
        """Something says how the outcome was privatized."""
        return (self.mechanism, self.prob, self.epsilon, self.record) != (None,) * 4

    @property
    def columns(self) -> dict[str, Any]:
        """Weights, clusters, frequencies and offset, where they are given."""
        design = design_of(self.weights, self.design)
        strange = set(design.columns) - {"weights", "clusters"}
        if strange or design.finite:
            raise ArgumentValueError(
                "the design of a regression has weights and clusters, found "
                f"{', '.join(strange) or 'a population'}; give weights that say it"
            )
        found = {**design.columns, "frequencies": self.frequencies, "offset": self.offset}
        return {name: column for name, column in found.items() if column is not None}

    @cached_property
    def private(self) -> PrivateCovariates:
        """The privatized covariates, of which reports tell something."""
        found = open_private(self.frame, self.covariates, self.sources(), self.group)
        found.check_informative()
        return found

    def check_mechanism(self) -> None:
        """Raise for a mapping from columns, as if the outcome were one column of several."""
        if not isinstance(self.mechanism, Mapping) or self.group is not None:
            return
        if self.record is not None:
            return
        outcome = getattr(self.values, "name", None)
        covariates = [name for name in self.mechanism if name in self.sources()]
        hints = []
        if outcome is not None and outcome in self.mechanism:
            hints.append(f"that of {outcome!r} as mechanism= without the mapping")
        if covariates:
            pairs = ", ".join(f"{name!r}: ..." for name in covariates)
            hints.append(f"those of privatized covariates as covariates={{{pairs}}}")
        if hints:
            raise ArgumentValueError(
                "mechanism must be that of the outcome alone, found a mapping with columns of the "
                f"model; give {' and '.join(hints)}"
            )

    def check_outcome(self) -> None:
        """Raise MetadataError for an outcome that may hold reports under another name."""
        if self.formula is not None:
            check_ordinary(ReportFrame.of(self.frame), [sides(self.formula)[0]])

    def column(self, name: str, given: Any, rows: int) -> Any:
        """A column of data by its name, or values."""
        return column_or_values(given, self.frame, rows, name, labelled(self.data), self.values)

    def sources(self) -> list[Hashable]:
        """The columns that the model may use."""
        if self.formula is not None:
            opened = covariates(self.frame, self.formula, rows=len(self.frame))
            return list(opened.frame.columns)
        return [] if self.frame is None else list(self.frame.columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelData:
    """Columns of a regression as clean arrays, of the rows that are used.

    private : the privatized covariates, if any.  design : their columns and the ordinary ones.
    order : the places among these of the columns of ``same`` and ``varying``.
    same : (rows, s) columns that are alike for all profiles of the privatized covariates.
    varying : the others, of each profile.
    rows : of the data.  keep : those that are used, or None.  people : how many they stand for.
    weights, squares : (rows,) as in `likelihood.Likelihood`.
    """

    private: PrivateCovariates
    design: DesignMatrix
    order: list[int]
    same: Floats
    varying: VaryingColumns
    rows: int
    keep: Booleans | None
    weights: Floats
    squares: Floats
    people: int
    weighted: bool
    clusters: NDArray[np.intp] | None
    offset: Floats | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the design."""
        return self.design.names

    @property
    def ordered(self) -> list[str]:
        """Names of the columns, the varying ones last."""
        return [self.names[place] for place in self.order]

    def matrices(self, frame: pd.DataFrame) -> list[Floats]:
        """Matrices of other people, one for each profile."""
        if not self.private.columns:
            return [self.design.again(frame)]
        frames = (self.private.framed(frame, one) for one in self.private.profiles)
        return [self.design.again(one) for one in frames]

    def beside(self, profiles: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
        """Predictions of profiles with the covariates in front, of the same rows.

        Covariates that are called as a column of the predictions get "profile_" before their names.
        """
        labels = {str(label): label for label in profiles.columns}
        wanted = dict.fromkeys((*self.design.sources, *map(str, self.private.names)))
        held = profiles[[labels[name] for name in wanted if name in labels]]
        held = held.rename(columns={name: f"profile_{name}" for name in found.columns})
        return pd.concat([held.set_axis(found.index), found], axis=1)


def open_model(
    request: ModelRequest,
    rows: int,
    absent: Mapping[str, Booleans],
    outcome: ReportColumn | None = None,
) -> ModelData:
    """Open all columns of a regression but the outcome.

    rows : of the outcome.  absent : where it is missing, by what it is called.
    outcome : its reports, if it is private; rows that a plan did not ask are no missing ones.
    """
    private, data, formula = request.private, request.frame, request.formula
    if not rows:
        raise ArgumentValueError("there must be at least one row, found none")
    if formula is None:
        check_aligned(labelled(request.data), request.values, "outcome")
    given = {name: request.column(name, one, rows) for name, one in request.columns.items()}
    labels = given.pop("clusters", None)
    numeric = {name: _numbers(column, name, rows) for name, column in given.items()}
    alone = data is not None and formula is None and len(private.columns) == data.shape[1]
    framed = private.framed(data, None) if private.columns else data
    opened = covariates(
        framed, formula, rows=rows, intercept=request.intercept or alone, whole=private.names
    )
    gaps = {**absent, **opened.missing(), **private.missing()}
    gaps |= {name: np.isnan(column) for name, column in numeric.items()}
    if labels is not None:
        gaps["clusters"] = np.asarray(pd.isna(pd.Series(labels)))
    reports = (*private.columns, *([] if outcome is None else [outcome]))
    check_together(reports, () if data is None else data.columns)
    asked = ~not_asked(reports, rows)
    gaps = {name: where & asked for name, where in gaps.items()}
    whole = whole_rows(request.missing, gaps, rows) & asked
    kept, weight, frequency = _people(numeric, whole, rows)
    keep = None if kept.all() else kept
    design = opened.made(keep)
    order, same, varying = _by_profile(design, private)
    return ModelData(
        private=private,
        design=design,
        order=order,
        same=same,
        varying=varying,
        rows=rows,
        keep=keep,
        weights=weight * frequency,
        squares=weight * weight * frequency,
        people=round(float(frequency.sum())),
        weighted="weights" in numeric,
        clusters=None if labels is None else _clusters(pd.Series(labels)[kept]),
        offset=numeric["offset"][kept] if "offset" in numeric else None,
    )


def _numbers(column: Any, name: str, rows: int) -> Floats:
    """A column of numbers, NaN where missing."""
    found = numbers(column, name, rows)
    wrong = (found < 0) & (name != "offset")
    wrong |= (name == "frequencies") & (found != np.round(found)) & ~np.isnan(found)
    if wrong.any():
        rule = "whole" if name == "frequencies" else "finite"
        raise ArgumentValueError(
            f"{name} must be {rule} numbers of at least 0, found {int(wrong.sum())} others"
        )
    return found


def _people(
    numeric: Mapping[str, Floats], kept: Booleans, rows: int
) -> tuple[Booleans, Floats, Floats]:
    """(rows,) the people that take part, and their (used rows,) weights and frequencies."""
    weight, frequency = (numeric.get(name, np.ones(rows)) for name in ("weights", "frequencies"))
    kept = kept & (weight * frequency > 0)  # rows that stand for nobody take no part
    if not kept.any():
        raise ArgumentValueError(
            f"no row is left: all {rows} have a missing value, a weight or a frequency of 0"
        )
    weight, frequency = weight[kept], frequency[kept]
    if "weights" in numeric:  # a mean of 1
        weight = weight * (frequency.sum() / (weight @ frequency))
    return kept, weight, frequency


def _clusters(labels: pd.Series[Any]) -> NDArray[np.intp]:
    """(used rows,) numbers of clusters from 0 on."""
    found = pd.factorize(labels)[0]
    if found.max() == 0:
        raise ArgumentValueError("clusters must be at least 2, found 1: it has no variance")
    return np.asarray(found, dtype=np.intp)


def _by_profile(
    design: DesignMatrix, private: PrivateCovariates
) -> tuple[list[int], Floats, VaryingColumns]:
    """Columns that are alike for all profiles, and those that are not, with their places.

    Columns without a privatized covariate are those of the matrix, and columns of privatized
    covariates alone have a value in each profile; only for others each profile has a matrix.
    """
    rows, width = design.matrix.shape
    if not private.columns:
        ones = np.broadcast_to(1.0, (1, rows))
        none = np.empty((1, 0))
        return list(range(width)), design.matrix, VaryingColumns(ones, none.astype(np.intp), none)
    collector = ColumnCollector(rows)
    profiles = len(private.profiles)
    places = np.zeros((profiles, width), dtype=np.intp)
    factors = np.zeros((profiles, width))
    ordinary = design.ordinary(set(map(str, private.names)))
    constant = design.of_categories(private.profile_frame())
    for place, values in constant.items():
        factors[:, place] = values
    mixed = [place for place in np.flatnonzero(~ordinary).tolist() if place not in constant]
    for profile, categories in enumerate(private.profiles if mixed else ()):
        matrix = design.again(private.framed(design.frame, categories))
        for place, column in zip(mixed, np.ascontiguousarray(matrix[:, mixed].T), strict=True):
            places[profile, place], factors[profile, place] = collector.add(column)
    alike = ordinary | ((places == places[0]) & (factors == factors[0])).all(axis=0)
    same = design.matrix[:, alike]
    for column, place in enumerate(np.flatnonzero(alike).tolist()):
        if not ordinary[place]:  # in the matrix itself it has the turns of all profiles
            same[:, column] = factors[0, place] * collector.base[places[0, place]]
    vary = np.flatnonzero(~alike)
    order = [*np.flatnonzero(alike).tolist(), *vary.tolist()]
    varying = VaryingColumns(np.array(collector.base), places[:, vary], factors[:, vary])
    return order, np.ascontiguousarray(same), varying
