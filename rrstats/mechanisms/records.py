"""Records of a release: one for each privatized column, and the document that holds them.

A record is a default, never evidence: pandas keeps attrs when raw values are put back into a
column, and no check can notice that.  Visible contradictions are refused: a name, dtype or category
that does not fit, and an explicit argument that differs from the record.  Above 100 categories the
document holds a fingerprint instead of the list, and the mechanism must be given.

Version 1 never changes its meaning, so unknown keys are refused, not ignored.  Version 2 adds the
plan of a frame and probabilities by row, and is written only where a column has one of them.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_one_of, cut
from rrstats._frozen import FrozenDict, Shared, frozen
from rrstats._names import checked_keywords
from rrstats._typing import ArrowMetadata, JsonObject
from rrstats.data.category_json import categories_digest, categories_from_json, categories_to_json
from rrstats.data.codecs import codec_of, open_reports
from rrstats.data.columns import column_of, numbers
from rrstats.data.declared import MAX_CATEGORIES as MAX_DECLARED
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.documents import (
    OLD_POLICY,
    POLICIES,
    ColumnDocument,
    check_depth,
    parse_json,
    parse_object,
    read_column,
    read_release,
)
from rrstats.mechanisms.epsilon import (
    allowed_ratio,
    largest_epsilon,
    prob_from_epsilon,
)
from rrstats.mechanisms.frame_plans import FramePlan, plan_of_columns
from rrstats.mechanisms.number_design import NumberDesign
from rrstats.mechanisms.plans import of_part, part_ratio
from rrstats.mechanisms.serialization import describe_difference, from_dict, walk

KEY = "rrstats"

MAX_CATEGORIES = 100

_ROUNDING = Fraction(1, 2**52)
"""How far, relatively, rounding may set the prob of a column above that of its plan."""

ROUNDED = 1e-12
"""The largest relative error of a probability that was written as text and read again."""


def check_policies(unknown: object, missing: object = "unknown") -> None:
    """Raise unless both are policies for answers that are no category."""
    if isinstance(unknown, str) and unknown == OLD_POLICY:
        raise ArgumentValueError(
            "unknown='warn' is no longer taken: 'raise', the default, refuses answers that are no "
            "category, and 'uniform' replaces each by a random category without a warning"
        )
    check_one_of(unknown, "unknown", POLICIES["unknown"])
    check_one_of(missing, "missing", POLICIES["missing"])


def missing_policy(unknown: str, missing: str) -> str:
    """The policy for missing answers, which is that for unknown ones unless it is another."""
    return unknown if missing == "unknown" else missing


@checked_keywords
@dataclass(frozen=True)
class ColumnRecord(Shared):
    """The record of how one column was privatized.

    Parameters
    ----------
    name : hashable
        The column's label.
    mechanism : dict
        Its JSON description.
    unknown, missing : str
        The policies for answers outside the categories.  Old records may have unknown="warn",
        which replaced answers as "uniform" does.
    simulated : bool
        True if the noise was not cryptographic.
    keyed : bool
        True if the noise came from a key and an id.
    plan : FramePlan, optional
        The plan of the frame, if a public coin chose what each row reports: ``asked``, the public
        column with that choice; ``epsilon`` of a whole row; ``parts``, the columns of each choice;
        and their ``chances``.
    by_row : dict, optional
        ``{"prob": column}`` or ``{"epsilon": column}``, the public column with the value of each
        row; the mechanism is then the one with the largest epsilon.
    """

    name: Hashable
    mechanism: JsonObject
    unknown: str = "raise"
    missing: str = "unknown"
    simulated: bool = False
    keyed: bool = False
    plan: FramePlan | None = None
    by_row: JsonObject | None = None

    def __post_init__(self) -> None:
        vars(self).update(mechanism=frozen(self.mechanism), by_row=frozen(self.by_row))

    @classmethod
    def of(
        cls,
        name: Hashable,
        mechanism: Mechanism,
        *,
        unknown: str = "raise",
        missing: str = "unknown",
        simulated: bool = False,
        keyed: bool = False,
        plan: FramePlan | None = None,
        by_row: JsonObject | None = None,
    ) -> ColumnRecord:
        """The record of a column and its mechanism; long lists of categories as a fingerprint.

        Raises ArgumentValueError if the name or the categories have no JSON form, or if the
        mechanism has more rounds than a document can hold.
        """
        described = mechanism.to_dict()
        for part in walk(described):
            listed = part.get("categories")
            if isinstance(listed, list) and len(listed) > MAX_CATEGORIES:
                del part["categories"]
                part |= {"k": len(listed), "categories_digest": categories_digest(listed)}
        record = cls(name, described, unknown, missing, simulated, keyed, plan, by_row)
        check_depth({"columns": [record.to_dict()]})
        return record

    def resolve(self, mechanism: Mechanism | None = None) -> Mechanism:
        """Return the column's mechanism, checked against a given one, if any.

        Parameters
        ----------
        mechanism : Mechanism, optional
            The mechanism that the caller gives for the column.

        Returns
        -------
        Mechanism

        Raises
        ------
        MetadataError
            If both disagree, if the record holds only a fingerprint of the categories and no
            mechanism was given, or if the probability differs by row.
        """
        if self.by_row is not None:
            ((name, column),) = self.by_row.items()
            raise MetadataError(
                f"the {name} of each row of column {cut(self.name)} stands in column {cut(column)},"
                " so that no one mechanism made the reports: df.rr.estimate, .means and .quantiles "
                f"read both columns, and rr.estimate(reports, {name}=...) takes one number for "
                "each row; other analyses need rows of equal prob, and their mechanism in data "
                "without this record"
            )
        return self.largest(mechanism)

    def largest(self, mechanism: Mechanism | None = None) -> Mechanism:
        """The mechanism of `resolve`; with probabilities by row that of the largest epsilon.

        It has the reports and the epsilon of all rows; it must not be used for estimates.
        """
        if mechanism is not None:
            described = None
            with contextlib.suppress(ArgumentValueError):  # no JSON form
                described = ColumnRecord.of(self.name, mechanism).mechanism
            if described != self.mechanism and (self.is_shortened or mechanism != self.largest()):
                difference = describe_difference(described or {}, self.mechanism)
                raise MetadataError(
                    f"the mechanism given for column {cut(self.name)} contradicts the column's "
                    f"record: {difference}; leave the argument out, "
                    "or, if the record is wrong, delete a frame's records: df.attrs.pop('rrstats')"
                )
            return mechanism
        if self.is_shortened:
            raise MetadataError(
                f"column {cut(self.name)} has more than {MAX_CATEGORIES} categories, so the "
                "data hold only a fingerprint of them; give the mechanism"
            )
        try:
            return self._described
        except MetadataError as error:
            raise MetadataError(f"column {cut(self.name)}: {error}") from None

    @cached_property
    def _described(self) -> Mechanism:
        """The mechanism of the document, made once."""
        return from_dict(self.mechanism)

    @property
    def is_number(self) -> bool:
        """True if the reports are those of a number, whose plain mean is unbiased."""
        return self.mechanism.get("type") == NumberDesign.__name__

    @cached_property
    def is_shortened(self) -> bool:
        """True if the document holds only a fingerprint of the categories."""
        return any("categories_digest" in part for part in walk(self.mechanism))

    def unlabelled(self) -> Mechanism:
        """The mechanism, with numbers as labels if only a fingerprint of the labels is known.

        Its probabilities and its epsilon are those of the column's mechanism.
        """
        if not self.is_shortened:
            return self._described
        described = json.loads(json.dumps(self.mechanism))  # a copy that can be changed
        for part in walk(described):
            if part.pop("categories_digest", None) is not None:
                k = part.pop("k", None)
                if type(k) is not int or k > MAX_DECLARED:
                    raise MetadataError(
                        f"the fingerprint for column {cut(self.name)} needs a whole k of at most "
                        f"{MAX_DECLARED:,} categories"
                    )
                part["categories"] = range(k)
        return from_dict(described)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report of this column; it does not depend on the labels.

        In a plan it is that of the row: the report of a pair reveals as much of each of the two.
        Simulated noise protects nobody, because its seed can be found: the loss is infinite.
        """
        if self.simulated:
            return math.inf
        epsilon = self.unlabelled().epsilon
        if self.plan is None:
            return epsilon
        return max(epsilon, self.plan.epsilon)

    def to_dict(self) -> JsonObject:
        """Return the record as plain JSON."""
        facts = {fact.name: vars(self)[fact.name] for fact in fields(self)}
        document = facts | {"name": categories_to_json([self.name])[0]}
        if self.plan is not None:
            document["plan"] = self.plan.in_record()
        if self.by_row is not None:
            ((key, column),) = self.by_row.items()
            document["by_row"] = {key: categories_to_json([column])[0]}
        return {key: value for key, value in document.items() if value is not None}

    @classmethod
    def from_dict(cls, document: Any) -> ColumnRecord:
        """Return the record that `to_dict` described; anything else raises MetadataError."""
        check_depth(document)
        record = cls._of_document(read_column(document), [])
        check_plan_epsilon([record])
        return record

    @classmethod
    def _of_document(
        cls, column: ColumnDocument, known: list[tuple[JsonObject, FramePlan]]
    ) -> ColumnRecord:
        """The record of what a document says of a column; known : plans of earlier columns."""
        by_row = _read_by_row(column.by_row)
        plan = next((plan for document, plan in known if document == column.plan), None)
        if plan is None and column.plan is not None:
            plan = FramePlan.from_record(column.plan)
            known.append((column.plan, plan))
        if plan is not None and not plan.asking(column.name):
            raise MetadataError(f"column {cut(column.name)} is in no part of its plan of a frame")
        return cls(column.name, frozen(column.mechanism), plan=plan, by_row=by_row, **column.facts)


def _read_by_row(document: Any) -> JsonObject | None:
    """The column of probabilities in a record; anything else raises MetadataError."""
    if document is None:
        return None
    if not isinstance(document, dict) or {*document} not in ({"prob"}, {"epsilon"}):
        raise MetadataError("by_row of a column must be {'prob': column} or {'epsilon': column}")
    by_row: JsonObject = frozen(
        {key: categories_from_json([name])[0] for key, name in document.items()}
    )
    return by_row


def _lowest_ratio(mechanism: Mechanism, label: str, sizes: Sequence[int]) -> Fraction:
    """The likelihood ratio of a part of a plan, from that of one of its columns.

    sizes : the number of categories of each of the part's columns.
    """
    k = mechanism.domain.k
    try:
        krr = of_part(mechanism, label)
    except ArgumentTypeError as error:
        raise MetadataError(str(error)) from None
    prob = Fraction(krr.prob) * (1 - _ROUNDING)
    return part_ratio(prob, k, math.prod(sizes) // k)


def check_plan_epsilon(records: Sequence[ColumnRecord]) -> None:
    """Raise MetadataError if the epsilon of a plan cannot be that of its columns' mechanisms.

    A column that is asked alone spends the plan's epsilon.  In a pair its own reports reveal less,
    by its mechanism and the number of the other column's categories: 2 or more if it is not known.
    """
    mechanisms: dict[Hashable, Mechanism] = {}
    for record in records:
        if record.plan is not None:
            with contextlib.suppress(ArgumentValueError):  # what is no mechanism fails when used
                mechanisms[record.name] = record.unlabelled()
    for record in records:
        plan = record.plan
        mechanism = mechanisms.get(record.name)
        if plan is None or mechanism is None:
            continue
        sizes = {
            other.name: mechanisms[other.name].domain.k
            for other in records
            if other.name in mechanisms and other.plan == plan
        }
        agrees = plan.epsilon <= mechanism.epsilon + math.log(MAX_DECLARED)
        if agrees:
            allowed = allowed_ratio(plan.epsilon)
            agrees = all(
                _lowest_ratio(mechanism, label, [sizes.get(name, 2) for name in part]) <= allowed
                for label, part in plan.labelled.items()
                if record.name in part
            )
        if not agrees:
            raise MetadataError(
                f"the plan of column {cut(record.name)} has epsilon {plan.epsilon:.6g}, but the "
                "column's mechanism is of a plan with another epsilon; take the document that was "
                "written with the release"
            )


def frame_plan(records: Sequence[ColumnRecord]) -> FramePlan | None:
    """The plan of a frame that these records describe; None if they describe none.

    Raises MetadataError unless they are exactly the columns of one plan.
    """
    if all(record.plan is None for record in records):
        return None
    return plan_of_columns(
        {record.name: record.resolve() for record in records},
        [record.plan for record in records],
        [(record.unknown, record.missing) for record in records],
    )


def asked_labels(record: ColumnRecord) -> list[str]:
    """The labels of the parts of a plan in which a column was asked; none without a plan."""
    return [] if record.plan is None else record.plan.labels_asking(record.name)


@checked_keywords
def read(attrs: Mapping[Any, Any]) -> list[ColumnRecord]:
    """Return the records in the attrs of a frame or the metadata of a file; the list may be empty.

    Parameters
    ----------
    attrs : mapping
        It may hold the document or its JSON text under the key "rrstats".

    Returns
    -------
    list of ColumnRecord

    Raises
    ------
    MetadataError
        If there is a document that cannot be read.

    Examples
    --------
    >>> kept = {"v": 1, "columns": [{"name": "smoker", "mechanism":
    ...     {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}}]}
    >>> [record.name for record in read({"rrstats": kept})]
    ['smoker']
    """
    document = attrs.get(KEY, attrs.get(KEY.encode()))  # bytes in Arrow and Parquet
    if document is None:
        return []
    if isinstance(document, str | bytes):
        try:
            document = parse_json(document)
        except MetadataError as error:
            raise MetadataError(f"the rrstats document cannot be used: {error}") from None
        except (ValueError, RecursionError):
            raise MetadataError("the rrstats document is not JSON, or nested too deeply") from None
    if isinstance(document, FrozenDict):
        return list(document.contents(_records_in))
    return _records_in(document)


def _records_in(document: Any) -> list[ColumnRecord]:
    """The records in a document; raises MetadataError where they cannot be read."""
    plans: list[tuple[JsonObject, FramePlan]] = []
    records = [ColumnRecord._of_document(column, plans) for column in read_release(document)]
    check_plan_epsilon(records)
    return records


def arrow_places(metadata: ArrowMetadata) -> list[Mapping[Any, Any]]:
    """Arrow's metadata and the copies of a frame's attrs in it: each may hold records."""
    kept = parse_object(metadata, b"pandas").get("attributes")
    attrs = parse_object(metadata, b"PANDAS_ATTRS")
    return [metadata, attrs, kept if isinstance(kept, dict) else {}]


def find(attrs: Mapping[Any, Any], name: Hashable) -> ColumnRecord | None:
    """Return the record of one column, or None if the data hold none.

    Parameters
    ----------
    attrs : mapping
        As for `read`.
    name : hashable
        The column's label.

    Returns
    -------
    ColumnRecord or None
    """
    return next((record for record in read(attrs) if record.name == name), None)


def write(records: Iterable[ColumnRecord]) -> JsonObject:
    """Return the document of several columns.

    Parameters
    ----------
    records : iterable of ColumnRecord
        One record for each column.

    Returns
    -------
    dict
        It cannot be changed, at any depth, so that copies of attrs share it.
    """
    columns = [record.to_dict() for record in records]
    plans: list[Any] = []
    for column in columns:  # one object for all columns of a plan
        if "plan" in column:
            if column["plan"] not in plans:
                plans.append(frozen(column["plan"]))
            column["plan"] = plans[plans.index(column["plan"])]
    needs_version_2 = any("plan" in column or "by_row" in column for column in columns)
    document: JsonObject = frozen({"v": 2 if needs_version_2 else 1, "columns": columns})
    return document


def check_asked_column(record: ColumnRecord, names: Collection[Hashable]) -> None:
    """Raise MetadataError where the public column of a column's plan is absent."""
    if record.plan is not None and record.plan.asked not in names:
        public = cut(record.plan.asked)
        raise MetadataError(
            f"column {cut(record.name)} needs the public column {public} of its release, which is "
            "not there: it says which rows were asked, and by which design; keep it when you "
            f"select columns, or join it again: df[{public}] = reports[{public}]"
        )


def check_plan(record: ColumnRecord, frame: pd.DataFrame) -> None:
    """Raise unless a column of a plan has its name, and the public column of its release.

    With the public column of another release, two releases would be counted as one.
    """
    if record.plan is None:
        return
    check_asked_column(record, frame.columns)
    name = record.name
    public = record.plan.asked
    labels = asked_labels(record)
    fits = False
    if public in frame.columns and labels:
        was_asked = column_of(frame, public).isin(labels)
        fits = not (column_of(frame, name).notna() & ~was_asked).any()
    if not fits:
        raise MetadataError(
            f"column {cut(name)} was privatized by the plan of a frame: it needs its name and the "
            f"public column {cut(public)} of that release, which says which rows have a report"
        )


def check_most(record: ColumnRecord, prob: float) -> None:
    """Raise if a probability of a row is above the largest that the record has.

    The recorded epsilon is that of the largest, so a row above it would have lost more privacy.
    """
    largest = float(record.mechanism["prob"])
    if prob > largest * (1 + ROUNDED):
        ((key, column),) = (record.by_row or {"prob": None}).items()
        raise MetadataError(
            f"the {key} of some row in column {cut(column)} is above the largest with which column "
            f"{cut(record.name)} was privatized (P(report = truth) {largest:.6g}), so it is not "
            f"the {key} of these reports, and epsilon would be understated; restore the column"
        )


def check_rates(record: ColumnRecord, frame: pd.DataFrame) -> None:
    """Raise if the column of probabilities by row is above the recorded largest."""
    for key, column in (record.by_row or {}).items():
        if column not in frame.columns:
            continue
        values = numbers(column_of(frame, column), key, len(frame), finite=False)
        largest = float(np.nanmax(values, initial=-math.inf))
        if key == "epsilon" and largest > 0:
            k = record.unlabelled().domain.k
            largest = prob_from_epsilon(min(largest, largest_epsilon(k)), k)
        check_most(record, largest)


def check_fits(column: pd.Series[Any], record: ColumnRecord) -> None:
    """Raise MetadataError for a column whose type shows that it does not hold reports.

    Only the type is checked: its kind, and the categories of a Categorical.  A column with a
    fingerprint is not checked.
    """
    if record.is_shortened:
        return
    space = record.largest().report_space
    codec = codec_of(space)
    contradiction = ""
    try:
        open_reports(column, space)
    except (ArgumentTypeError, ArgumentValueError) as error:
        contradiction = str(error)
    if isinstance(column.dtype, pd.CategoricalDtype) and codec.is_label and not contradiction:
        levels = column.dtype.categories
        others = sum(codec.domain.code(level) >= codec.domain.k for level in levels)
        if others:
            contradiction = (
                f"{others} of its {len(levels)} categories are not among the reports "
                f"{space.describe()}; were they renamed? Give the mechanism with the new ones when "
                "you estimate"
            )
    if contradiction:
        raise MetadataError(
            f"the record of column {record.name!r} does not fit it: {contradiction}"
        )
