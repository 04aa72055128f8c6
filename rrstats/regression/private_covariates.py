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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_instance, type_name
from rrstats._typing import Booleans, Floats, Indices
from rrstats.data.categories import category_numbers
from rrstats.data.columns import column_of, numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    ReportSource,
    check_squares,
    report_column,
)
from rrstats.estimation.report_columns.report_frames import ReportFrame, check_together, not_asked
from rrstats.estimation.report_columns.sample_design import (
    Replicates,
    Rows,
    SampleDesign,
    design_of,
    rows_of,
)
from rrstats.estimation.tallies.arrays import has_scores
from rrstats.estimation.tallies.sampled_rows import UnitSums
from rrstats.mechanisms.records import ColumnRecord
from rrstats.regression.design_matrix import (
    DesignMatrix,
    Sides,
    check_ordinary,
    column_or_values,
    complete_rows,
    covariates,
    from_r,
    labelled,
    named_or_values,
    sides,
    source_of,
    table_of,
)
from rrstats.regression.varying_columns import ColumnCollector, VaryingColumns

MAX_CLASSES = 64
"""So many combinations of true answers at most: time and memory grow with them."""


@dataclass(frozen=True, eq=False)
class PrivateCovariates:
    """Covariates of which only reports were seen; their classes are all combinations.

    columns : one for each covariate, of equal length.
    numbers : (k,) of the categories, of covariates that are a number and no factor.
    in_parts : whether a plan asked each row a part of the columns, so that only moments of two are
        known; profiles then change one covariate at a time.
    """

    columns: tuple[ReportColumn, ...]
    numbers: Mapping[Any, Floats] = field(default_factory=dict)
    in_parts: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """The columns without their reports, which have open readers; a fit is done with them."""
        closed: Any = None
        columns = [
            replace(column, cells=closed, reader=closed, samples=closed, public=closed)
            for column in self.columns
        ]
        return {
            "columns": tuple(columns),
            "numbers": self.numbers,
            "in_parts": self.in_parts,
        }

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
    def factors(self) -> tuple[Any, ...]:
        """The names of those that are factors."""
        return tuple(name for name in self.names if name not in self.numbers)

    @property
    def profiles(self) -> list[tuple[int, ...]]:
        """All combinations of categories, the first category of all first.

        In parts those that differ from the first in one covariate.
        """
        if not self.in_parts:
            return list(np.ndindex(*self.shape))
        first = np.zeros(len(self.shape), dtype=np.intp)
        units = np.eye(len(self.shape), dtype=np.intp)
        others = [code * units[place] for place, k in enumerate(self.shape) for code in range(1, k)]
        return [tuple(profile.tolist()) for profile in (first, *others)]

    @cached_property
    def shown(self) -> Indices:
        """(C, columns) the categories of each combination of classes."""
        codes = [np.argmax(column.recode, axis=0).tolist() for column in self.columns]
        return np.array(list(itertools.product(*codes)), dtype=np.intp)

    def numbered(self, codes: Indices) -> Indices:
        """Places of the profiles of (..., columns) categories."""
        strides = [math.prod(self.shape[place + 1 :]) for place in range(len(self.shape))]
        return np.asarray(codes @ np.array(strides, dtype=np.intp))

    @cached_property
    def class_of(self) -> Indices:
        """(C,) the profile of each class; they are profiles mostly."""
        return self.numbered(self.shown)

    @cached_property
    def first_class(self) -> Indices:
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
        missing_rows = {
            f"covariate {column.name!r}": column.missing()
            for column in self.columns
            if not (self.in_parts and column.plan is not None)
        }
        return {name: rows for name, rows in missing_rows.items() if rows.any()}

    def likelihood(self, rows: int, keep: Booleans | None) -> Floats:
        """(rows, C) P(all reports | class).

        rows : how many there are, of which some are kept.
        """
        tables = (
            column.likelihood_table if column.has_cells else column.likelihood()
            for column in self.columns
        )
        product, cells = self._product(tables, rows, keep)
        return product[cells]

    def scores(self, rows: int, keep: Booleans | None) -> tuple[Floats, Indices]:
        """(cells, C) unbiased scores of the profiles, and the cell of each row.

        Rows with equal reports share a cell, unless reports name several categories.
        rows : how many there are, of which some are kept.
        """
        if not self.has_scores:
            raise ArgumentValueError("a covariate needs all samples; use method='likelihood'")
        for column in self.columns:
            if column.rates is not None:
                column.rates.check_informative(every=True)
        tables = (
            column.score_table if column.has_cells else column.scores() for column in self.columns
        )
        return self._product(tables, rows, keep)

    def _product(
        self, tables: Iterable[Floats], rows: int, keep: Booleans | None
    ) -> tuple[Floats, Indices]:
        """Product over the covariates of one table each, and the cell of each row in it.

        tables : of each covariate (cells, classes), or (rows, classes) if it is not multinomial.
        """
        product = np.ones((1, 1))
        cells = np.zeros(rows, dtype=np.intp)
        for column, table in zip(self.columns, tables, strict=True):
            if column.has_cells:
                factor = np.vstack([table, np.ones(table.shape[1])])  # the last: a missing report
                codes = column.codes()
            else:
                factor = table
                codes = np.arange(rows)
            n_cells = len(product) * len(factor)
            if n_cells <= rows:
                outer = product[:, None, :, None] * factor[None, :, None, :]
                product = outer.reshape(n_cells, -1)
                cells = cells * len(factor) + codes
            else:
                outer = product[cells][:, :, None] * factor[codes][:, None, :]
                product = outer.reshape(rows, -1)
                cells = np.arange(rows)
        return product, cells if keep is None else cells[keep]

    @property
    def has_scores(self) -> bool:
        """Each report has a score by itself."""
        channels = [column.channel for column in self.columns if column.rates is None]
        return all(channel is None or has_scores(channel) for channel in channels)

    @property
    def listed(self) -> str:
        """The covariates in a line."""
        if not self.columns:
            return "no covariate privatized"
        return f"privatized: {', '.join(map(str, self.names))}"

    def framed(self, data: pd.DataFrame, profile: Sequence[int] | None) -> pd.DataFrame:
        """The frame with everybody in one profile; None for all categories by turns."""
        frame = data.loc[:, [name not in self.names for name in data.columns]]
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        turns = np.arange(len(data))
        for place, (name, k) in enumerate(zip(self.names, self.shape, strict=True)):
            codes = turns % k if profile is None else np.full(len(data), profile[place])
            frame = frame.assign(**{str(name): self._cells(place, codes)})
        return frame

    def answered(self, data: pd.DataFrame) -> pd.DataFrame:
        """The frame of people whose true categories stand in it, as the design reads it."""
        codes = self._codes(data)
        frame = self.framed(data, (0,) * len(self.columns))
        for place, name in enumerate(self.names):
            frame = frame.assign(**{str(name): self._cells(place, codes[:, place])})
        return frame

    def _cells(self, place: int, codes: Indices) -> Any:
        """A covariate in a frame: its categories as text, or their numbers."""
        name = self.names[place]
        if name in self.numbers:
            return self.numbers[name][codes]
        return pd.Categorical.from_codes(codes, pd.Index(self.labels[place], dtype=object))

    def profile_frame(self) -> pd.DataFrame:
        """A row for each profile: its categories."""
        codes = np.array(self.profiles, dtype=np.intp).T
        return pd.DataFrame(
            {str(name): self._cells(place, codes[place]) for place, name in enumerate(self.names)}
        )

    def codes(self, frame: pd.DataFrame) -> Indices:
        """(rows,) the profile of people whose true categories stand in the frame."""
        return self.numbered(self._codes(frame))

    def _codes(self, frame: pd.DataFrame) -> Indices:
        """(rows, columns) the codes of true categories that stand in the frame."""
        codes = np.empty((len(frame), len(self.columns)), dtype=np.intp)
        for place, (column, name) in enumerate(zip(self.columns, self.names, strict=True)):
            code_of = {category: code for code, category in enumerate(column.categories)}
            answers = column_of(frame, name).tolist()
            codes[:, place] = [code_of.get(answer, -1) for answer in answers]
            if bad := int((codes[:, place] < 0).sum()):
                raise ArgumentValueError(
                    f"{bad} of {len(frame)} rows of {name!r} are none of the true categories "
                    f"{list(column.categories[:8])}"
                )
        return codes

    def check_informative(self) -> None:
        """Raise NotIdentifiableError for reports without information, and for too many classes."""
        for column in self.columns:
            if column.rates is not None:
                column.rates.check_informative(every=False)
                continue
            channel = column.channel
            if channel is not None:
                channel.solve(np.zeros(len(channel.samples)))  # raises for a singular matrix
        if not self.in_parts and len(self.shown) > MAX_CLASSES:
            raise ArgumentValueError(
                f"privatized covariates may have at most {MAX_CLASSES} combinations of answers"
            )


def _texts(categories: Sequence[Hashable]) -> tuple[str, ...]:
    """Categories as texts, no two alike."""
    texts = ["missing" if category is None else str(category) for category in categories]
    if len(set(texts)) < len(texts):  # 1 and "1" are different answers
        texts = [repr(category) for category in categories]
    return tuple(texts)


def open_private(
    data: pd.DataFrame | None, mechanisms: Any, used: Sequence[Hashable], group: Any
) -> PrivateCovariates:
    """The privatized covariates: those described by the argument, and those with a record.

    mechanisms : mapping from column to mechanism or `ReportColumn`, or None.
    used : the columns that the model uses, by their labels in the frame.
    """
    rule = "a mapping from column to mechanism"
    mapping = check_instance(mechanisms or {}, "mechanisms", Mapping, rule)
    labels = {str(label): label for label in used}
    described = {
        name if name in used else labels.get(str(name)): mechanism
        for name, mechanism in mapping.items()
    }
    if None in described or len(described) < len(mapping):
        raise ArgumentValueError(
            "mechanisms must be of columns that the model uses, each once, "
            f"{list(used)[:20]}, found {list(mapping)}"
        )
    frame = ReportFrame.of(pd.DataFrame() if data is None else data)
    private = [name for name in used if name in described or name in frame.records]
    check_ordinary(frame, [name for name in used if name not in private])
    columns: list[ReportColumn] = []
    for name in private:
        mechanism = described.get(name)
        if isinstance(mechanism, ReportColumn):
            columns.append(replace(mechanism, name=name))
        elif group is None or isinstance(group, str):
            mechanisms = {} if mechanism is None else {name: mechanism}
            columns += frame.joint([name], mechanisms, group=group)
        else:
            reports = column_of(data, name)
            columns.append(report_column(reports, mechanism, name=name, group=group))
    return PrivateCovariates(tuple(columns))


_DEPENDENT = 1e-7
"""Relative length of the rest of a column below which it depends linearly on the others."""


@dataclass(frozen=True)
class ClassColumns:
    """Columns that explain the proportions of the true categories.

    names : of the columns.  places : theirs among a column of ones, those that are alike for all
    profiles, and those that vary, profile by profile.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]

    def of(self, same: Floats, varying: VaryingColumns) -> Floats:
        """(rows, g) the columns, from (rows, s) and those that vary."""
        s = same.shape[1]
        columns = [np.empty((len(same), 0))]
        for place in self.places:
            if place == 0:
                column = np.ones(len(same))
            elif place <= s:
                column = same[:, place - 1]
            else:
                column = varying.column(*divmod(place - 1 - s, varying.columns))
            columns.append(column[:, None])
        return np.hstack(columns)


def open_class_columns(data: ModelData, covariate_model: str) -> ClassColumns:
    """The columns: ones, and for "logistic" all that the ordinary covariates make."""
    if covariate_model == "constant":
        return ClassColumns(("Intercept",), (0,))
    s = data.same.shape[1]
    v = data.varying.columns
    private_names = {str(name) for name in data.private.names}
    places = _independent_places(data)
    names: list[str] = []
    for place in places:
        if place == 0:
            name = "Intercept"
        elif place <= s:
            name = data.ordered[place - 1]
        else:
            name = _share_name(data.ordered[s + (place - 1 - s) % v], private_names, names)
        names.append(name)
    return ClassColumns(tuple(names), tuple(places))


def _independent_places(data: ModelData) -> list[int]:
    """Places of linearly independent columns, as in `ClassColumns`, ascending but for profiles.

    Columns that are alike for all profiles all count; then ones and the varying columns, each if
    it does not depend on those before.
    """
    varying = data.varying
    s = data.same.shape[1]
    profiles, v = varying.places.shape
    # Columns of the triangle have the lengths and products of the columns of people.
    triangle = varying.triangle(data.same)
    base = triangle[:, s:]
    candidates = {0: base[:, 0]}
    for j in range(v):
        for profile in range(profiles):
            column = base[:, varying.places[profile, j]] * varying.factors[profile, j]
            candidates[1 + s + profile * v + j] = column
    basis = np.linalg.qr(triangle[:, :s])[0]
    independent = []
    for place, column in candidates.items():
        rest = column
        for _ in range(2):  # Gram-Schmidt; twice is enough
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _DEPENDENT * float(np.linalg.norm(column)):
            basis = np.column_stack([basis, rest / length])
            independent.append(place)
    ones = [place for place in independent if place == 0]
    further = [place for place in independent if place != 0]
    return [*ones, *range(1, s + 1), *further]


def _share_name(name: str, private_names: set[str], taken: Sequence[str]) -> str:
    """Name of a column in one profile: its factors without a privatized covariate."""
    parts = []
    for part in name.split(":"):
        source = source_of(part)
        words = {source, *re.findall(r"\w+", source)}  # C(x)
        if words.isdisjoint(private_names):
            parts.append(part)
    rest = ":".join(parts) or name
    turns = (f"{rest} ({turn})" for turn in itertools.count(2))
    return next(text for text in itertools.chain([rest], turns) if text not in taken)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelRequest:
    """Arguments of a regression, unchanged; see `models.logit`."""

    outcome: Any
    data: Any = None
    mechanism: Any = None
    group: Any = None
    baseline: Any = None
    weights: Any = None
    frequencies: Any = None
    design: SampleDesign | None = None
    offset: Any = None
    missing: str = "raise"
    vcov: str | None = None
    mechanisms: Any = None
    classes: str | None = None
    numbers: Mapping[Any, Any] = field(default_factory=dict)
    in_parts: bool = False

    def __post_init__(self) -> None:
        """Refuse a frame before its formula, as a mistake of order."""
        is_frame = isinstance(self.outcome, pd.DataFrame) and self.mechanism is None
        if is_frame or isinstance(self.data, str):
            raise ArgumentTypeError(
                "outcome must be a formula, or the column of the reports, and data the frame, as "
                f"in rr.logit('smoker ~ age', df), found {type_name(self.outcome)} and "
                f"{type_name(self.data)}"
            )

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """Data as a frame; None where there are none."""
        if self.data is None and not isinstance(self.outcome, str):
            return None
        return table_of(self.data)

    @cached_property
    def formula(self) -> str | None:
        """The formula, if there is one, as formulaic reads it."""
        if not isinstance(self.outcome, str):
            return None
        return from_r(self.outcome, () if self.frame is None else self.frame.columns)

    @cached_property
    def sides(self) -> Sides | None:
        """The formula, if there is one, parsed."""
        return None if self.formula is None else sides(self.formula)

    @cached_property
    def values(self) -> Any:
        """Values of the outcome."""
        if self.sides is None:
            return self.outcome
        return column_of(self.frame, self.sides.outcome)

    @property
    def rows(self) -> int:
        """The number of values of the outcome; 0 if it is no column."""
        return len(self.values) if hasattr(self.values, "__len__") else 0

    @cached_property
    def source(self) -> ReportSource:
        """Name and record of the outcome; the record is read once."""
        return ReportSource.of(self.values)

    @property
    def record(self) -> ColumnRecord | None:
        """The record of the outcome's mechanism, or None."""
        return self.source.record

    @property
    def described(self) -> bool:
        """Something says how the outcome was privatized."""
        return self.mechanism is not None or self.record is not None

    @property
    def has_private(self) -> bool:
        """Covariates are privatized."""
        return self.mechanisms is not None or bool(self.private.columns)

    @property
    def sample_design(self) -> SampleDesign:
        """The design of the survey."""
        return design_of(self.weights, self.design)

    @cached_property
    def survey(self) -> SampleDesign:
        """The design of the survey, with columns of the data in place of their names."""
        design = self.sample_design
        if design.finite:
            argument = "population" if design.probabilities is None else "probabilities"
            raise ArgumentValueError(
                "the design of a regression has weights, strata, clusters and replicates, found "
                f"{argument}; give weights that say it"
            )
        return design.with_columns(
            lambda argument, column: named_or_values(column, self.frame, argument)
        )

    def sampled(self, rows: int) -> Rows:
        """Weights, strata, clusters and replicates of the rows, which may lack some."""
        return rows_of(
            labelled(self.data),
            rows,
            design=self.survey,
            others={"outcome": self.values},
            gaps=("weights", "strata", "clusters"),
        )

    def of_people(self, rows: int) -> dict[str, Floats]:
        """(rows,) frequencies and offset, those that are given; NaN where they are missing."""
        given = {"frequencies": self.frequencies, "offset": self.offset}
        return {
            name: _numbers(self.column(name, values, rows), name, rows)
            for name, values in given.items()
            if values is not None
        }

    @cached_property
    def opened(self) -> PrivateCovariates:
        """The privatized covariates, as their records say."""
        return open_private(self.frame, self.mechanisms, self.sources(), self.group)

    @cached_property
    def private(self) -> PrivateCovariates:
        """The privatized covariates; raises if their reports carry no information."""
        private = self.opened
        numbers = {
            column.name: category_numbers(
                self.numbers[column.name], column.categories, f"values of column {column.name!r}"
            )
            for column in private.columns
            if column.name in self.numbers
        }
        private = replace(private, numbers=numbers, in_parts=self.in_parts)
        check_squares(private.columns, "effects of covariates")
        private.check_informative()
        return private

    def rates(self, rows: int) -> dict[str, Any]:
        """The prob or epsilon of each row, if the record of the outcome names its column."""
        by_row = None if self.record is None else self.record.by_row
        if by_row is None or self.formula is None or self.mechanism is not None:
            return {}
        return {argument: self.column(argument, name, rows) for argument, name in by_row.items()}

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
            hints.append(f"those of privatized covariates as mechanisms={{{pairs}}}")
        if hints:
            raise ArgumentValueError(
                "mechanism must be that of the outcome alone, found a mapping with columns of the "
                f"model; give {' and '.join(hints)}"
            )

    def check_outcome(self) -> None:
        """Raise MetadataError for an outcome that may hold reports under another name."""
        if self.sides is not None:
            check_ordinary(ReportFrame.of(self.frame), [self.sides.outcome])

    def column(self, argument: str, values: Any, rows: int) -> Any:
        """Values of an argument, which may be the name of a column of the data."""
        return column_or_values(
            values, self.frame, rows, argument, labelled(self.data), self.values
        )

    def sources(self) -> list[Hashable]:
        """The columns that the model may use."""
        frame = self.frame
        if frame is None:
            return []
        if self.sides is not None:
            opened = covariates(frame, self.sides, rows=len(frame))
            return list(opened.frame.columns)
        return list(frame.columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelData:
    """Columns of a regression as clean arrays, of the rows that are used.

    private : the privatized covariates, if any.  design : their columns and the ordinary ones.
    order : the places among these of the columns of ``same`` and ``varying``.
    same : (rows, s) columns that are alike for all profiles of the privatized covariates.
    varying : the others, of each profile.
    rows : of the data.  keep : those that are used, or None.  people : how many they stand for.
    weights, squares : (rows,) as in `likelihood.Likelihood`.
    units, stratified, replicates : of the design of the survey, see `survey_people`.
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
    clusters: Indices | None
    offset: Floats | None
    units: UnitSums | None = None
    stratified: bool = False
    replicates: Replicates | None = None

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
        return [
            self.design.again(self.private.framed(frame, profile))
            for profile in self.private.profiles
        ]

    def with_covariates(self, profiles: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
        """Labels of predictions with the covariates of their profiles in front, of the same rows.

        Covariates that are called as a label get "profile_" before their names.
        """
        label_of = {str(label): label for label in profiles.columns}
        names = dict.fromkeys((*self.design.sources, *map(str, self.private.names)))
        covariates = profiles[[label_of[name] for name in names if name in label_of]]
        renamed = {name: f"profile_{name}" for name in labels.columns}
        covariates = covariates.rename(columns=renamed).set_axis(labels.index)
        return pd.concat([covariates, labels], axis=1)


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
    private = request.private
    if not rows:
        raise ArgumentValueError("there must be at least one row, found none")
    sample = request.sampled(rows)
    numeric = request.of_people(rows)
    opened = _open_design(request, rows)
    missing_rows = {**absent, **opened.missing(), **private.missing(), **sample.missing}
    missing_rows |= {name: np.isnan(column) for name, column in numeric.items()}
    complete = _complete_in_plan(request, missing_rows, outcome, rows)
    kept, weight, frequency = _people(sample.weights, numeric.get("frequencies"), complete)
    keep = None if kept.all() else kept
    design = opened.evaluated(keep)
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
        weighted=sample.weights is not None,
        clusters=_clusters(sample, kept),
        offset=numeric["offset"][kept] if "offset" in numeric else None,
        units=UnitSums.of(sample, kept, request.survey.lonely_psu),
        stratified=request.survey.strata is not None,
        replicates=_replicates(sample, kept, weight * frequency),
    )


def _complete_in_plan(
    request: ModelRequest,
    missing_rows: Mapping[str, Booleans],
    outcome: ReportColumn | None,
    rows: int,
) -> Booleans:
    """(rows,) rows without missing values, of those whose private columns a plan asked together."""
    private = request.private
    reports = private.columns if outcome is None else (*private.columns, outcome)
    names = () if request.frame is None else request.frame.columns
    check_together(reports, names, parts=private.in_parts)
    in_plan = np.ones(rows, dtype=np.bool_) if private.in_parts else ~not_asked(reports, rows)
    missing_in_plan = {name: missing & in_plan for name, missing in missing_rows.items()}
    return complete_rows(request.missing, missing_in_plan, rows) & in_plan


def _replicates(sample: Rows, kept: Booleans, weights: Floats) -> Replicates | None:
    """Replicate weights of the used rows, on the scale of their (used rows,) weights; or None."""
    if sample.replicates is None or sample.weights is None:
        return None
    scale = weights / sample.weights[kept]
    return sample.replicates._replace(weights=sample.replicates.weights[kept] * scale[:, None])


def _open_design(request: ModelRequest, rows: int) -> DesignMatrix:
    """The design before its matrix is made."""
    private = request.private
    data = request.frame
    if data is not None and private.columns:
        data = private.framed(data, None)
    return covariates(data, request.sides, rows=rows, keep_levels=private.factors)


def _numbers(column: Any, name: str, rows: int) -> Floats:
    """A column of numbers, NaN where missing; frequencies are whole and at least 0."""
    values = numbers(column, name, rows)
    if name == "offset":
        return values
    wrong = (values < 0) | ((values != np.round(values)) & ~np.isnan(values))
    if wrong.any():
        raise ArgumentValueError(
            f"{name} must be whole numbers of at least 0, found {int(wrong.sum())} others"
        )
    return values


def _people(
    weights: Floats | None, frequencies: Floats | None, complete: Booleans
) -> tuple[Booleans, Floats, Floats]:
    """(rows,) the people that take part, and their (used rows,) weights and frequencies."""
    rows = len(complete)
    weight = np.ones(rows) if weights is None else weights
    frequency = np.ones(rows) if frequencies is None else frequencies
    kept = complete & (weight * frequency > 0)  # rows that stand for nobody take no part
    if not kept.any():
        raise ArgumentValueError(
            f"no row is left: all {rows} have a missing value, a weight or a frequency of 0"
        )
    weight = weight[kept]
    frequency = frequency[kept]
    if weights is not None:  # a mean of 1
        weight = weight * (frequency.sum() / (weight @ frequency))
    return kept, weight, frequency


def _clusters(sample: Rows, kept: Booleans) -> Indices | None:
    """(used rows,) numbers of clusters from 0 on, alike in all strata; None without clusters."""
    if sample.unit_codes is None or not sample.units.cluster_labels:
        return None
    codes = pd.factorize(sample.units.clusters[sample.unit_codes[kept]])[0]
    if codes.max() == 0:
        raise ArgumentValueError("clusters must be at least 2, found 1: it has no variance")
    return np.asarray(codes, dtype=np.intp)


def _by_profile(
    design: DesignMatrix, private: PrivateCovariates
) -> tuple[list[int], Floats, VaryingColumns]:
    """Columns that are alike for all profiles, and those that are not, with their places.

    Columns without a privatized covariate are those of the matrix, and columns of privatized
    covariates alone have a value in each profile; only for others each profile has a matrix.
    """
    rows, width = design.matrix.shape
    _check_terms(design, private)
    if not private.columns:
        ones = np.broadcast_to(1.0, (1, rows))
        nothing = VaryingColumns(ones, np.empty((1, 0), dtype=np.intp), np.empty((1, 0)))
        return list(range(width)), design.matrix, nothing
    ordinary = design.ordinary(set(map(str, private.names)))
    columns = _columns_of_profiles(design, private, ordinary)
    places = columns.places
    factors = columns.factors
    is_same = ordinary | ((places == places[0]) & (factors == factors[0])).all(axis=0)
    same_places = np.flatnonzero(is_same)
    varying_places = np.flatnonzero(~is_same)
    same = design.matrix[:, is_same]
    for position, place in enumerate(same_places.tolist()):
        if not ordinary[place]:  # in the matrix itself it has the turns of all profiles
            same[:, position] = columns.column(0, place)
    varying = VaryingColumns(columns.base, places[:, varying_places], factors[:, varying_places])
    order = [*same_places.tolist(), *varying_places.tolist()]
    return order, np.ascontiguousarray(same), varying


def _check_terms(design: DesignMatrix, private: PrivateCovariates) -> None:
    """Raise for terms that a number of categories, or columns in parts, cannot be in."""
    names = {str(name) for name in private.names}
    for sources in design.uses_of(names):
        if private.in_parts and len(sources) > 1:
            raise ArgumentValueError(
                f"a product of the private columns {sorted(sources)} is not known with a third "
                "one: a row of a plan reports two at most; leave the product out"
            )
    learned = design.learned({str(name) for name in private.numbers})
    if learned:
        raise ArgumentValueError(
            f"the transform '{learned}' takes its mean or knots from a column that was not seen; "
            "transform the numbers in values= instead"
        )


def _columns_of_profiles(
    design: DesignMatrix, private: PrivateCovariates, ordinary: Booleans
) -> VaryingColumns:
    """All columns of the design by profile; 0 in the place of ordinary columns.

    ordinary : (p,) True for columns that no privatized covariate enters.
    """
    rows, width = design.matrix.shape
    collector = ColumnCollector(rows)
    profiles = private.profiles
    places = np.zeros((len(profiles), width), dtype=np.intp)
    factors = np.zeros((len(profiles), width))
    constant = design.of_categories(private.profile_frame())
    for place, values in constant.items():
        factors[:, place] = values
    mixed = [place for place in np.flatnonzero(~ordinary).tolist() if place not in constant]
    if mixed:
        for profile, categories in enumerate(profiles):
            matrix = design.again(private.framed(design.frame, categories))
            columns = np.ascontiguousarray(matrix[:, mixed].T)
            for place, column in zip(mixed, columns, strict=True):
                places[profile, place], factors[profile, place] = collector.add(column)
    return VaryingColumns(np.array(collector.base), places, factors)
