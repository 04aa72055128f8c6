"""JSON documents: of a mechanism (`from_dict`), and of a release, with one record per column.

They are read strictly and written as plain JSON; only this module translates stored words.
A record is a default, never evidence: pandas keeps attrs when raw values are put back into a
column, and no check can notice that.  Visible contradictions are refused: a name, dtype or category
that does not fit, and an explicit argument that differs from the record.  Above 100 categories the
document holds a fingerprint instead of the list, and the mechanism must be given.

pandas loses attrs when a frame is merged with a plain one, joined to frames with other attrs, or
built anew from columns; it leaves them unchanged when a column is renamed or dropped.  `carry`
copies the records of earlier data to later data.  It refuses sources that contradict each other;
a source that has a column of the same name without a record is such a contradiction, because its
rows are not reports.  It also refuses a recorded column that may have been renamed, because
leaving it out would understate epsilon.

Version 1 never changes its meaning, so unknown keys are refused, not ignored.  Version 2 adds the
plan of a frame and probabilities by row, and is written only where a column has one of them.
No document can cause unbounded recursion or counting.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rrstats._checks import check_instance, cut, quote_list, type_name
from rrstats.data.categories import MOST_CATEGORIES as MOST_DECLARED
from rrstats.data.categories import (
    Categories,
    categories_digest,
    categories_from_json,
    categories_to_json,
    is_unicode,
)
from rrstats.data.codecs import codec_of, open_reports
from rrstats.data.columns import column_of, numbers
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnrecordedWarning,
    warn,
)
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Chain, Mechanism
from rrstats.mechanisms.epsilon import (
    LARGEST_PROB,
    allowed_ratio,
    largest_epsilon,
    prob_from_epsilon,
    round_up,
    total_epsilon,
)
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign, from_json
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import Rappor, UnaryEncoding

KEY = "rrstats"
VERSION = 2
MOST_CATEGORIES = 100

ASKED = "rr_asked"
"""The public column of a plan, by default: what each row was asked."""

MOST_LEVELS = 100
"""The largest depth of nested lists and objects in a document."""

_NESTED = (Mapping, list, tuple)
"""The types of a document's parts that can be nested."""

POLICIES = {
    "unknown": ("warn", "uniform", "raise"),
    "missing": ("unknown", "uniform", "keep", "raise"),
}
"""Missing answers: treated as unknown, replaced uniformly without a warning, kept, or refused."""

_TYPES: dict[str, Callable[..., Mechanism]] = {
    "Chain": Chain,
    "KRR": KRR,
    "MatrixDesign": MatrixDesign,
    "OptimizedUnary": UnaryEncoding.optimized,
    "Rappor": Rappor,
    "Samples": Samples.from_parts,
    "SubsetSelection": SubsetSelection,
    "SurveyDesign": surveys.SurveyDesign.from_parameters,
    "SymmetricUnary": UnaryEncoding.symmetric,
    "UnaryEncoding": UnaryEncoding,
}
"""The callables that read documents, by type; a document's keys are their arguments."""


_DECODERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("categories", "groups", "reports"), categories_from_json),
    **dict.fromkeys(("inverse", "matrix", "parameters"), from_json),
    **dict.fromkeys(("first", "second"), lambda document: from_dict(document)),
    "parts": lambda document: [
        from_dict(part) for part in check_instance(document, "parts", list, "a list")
    ],
    "shows": lambda document: None if document is None else categories_from_json(document),
    "yes": lambda document: categories_from_json([document])[0],
}
"""Readers of a key's value; values of other keys are plain numbers and words."""


@functools.cache
def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of what reads a type of document."""
    return inspect.signature(_TYPES[name]).parameters


def _arguments(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """The arguments in a document; an unknown key may change the design, so it raises."""
    known = _parameters(name)
    given = {key: value for key, value in document.items() if key != "type"}
    if unknown := [key for key in given if key not in known]:
        raise MetadataError(
            f"the description of a {name} has unknown keys {cut(unknown)}; "
            f"known are {list(known)}; a newer rrstats may know them"
        )
    needed = [one.name for one in known.values() if one.default is inspect.Parameter.empty]
    if missing := [key for key in needed if key not in given]:
        raise MetadataError(f"the description of a {name} needs {missing}")
    return {key: _DECODERS[key](v) if key in _DECODERS else v for key, v in given.items()}


def from_dict(document: dict[str, Any]) -> Mechanism:
    """Return the mechanism that ``to_dict`` described.

    Parameters
    ----------
    document : dict
        The description, with its ``type``.

    Returns
    -------
    Mechanism

    Raises
    ------
    MetadataError
        If the document names no mechanism of this version, or its parameters are impossible.

    Examples
    --------
    >>> from_dict({"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}).k
    2
    """
    if not isinstance(document, dict):
        raise MetadataError(
            f"the description of a mechanism must be a dict, found {type_name(document)}"
        )
    name = document.get("type")
    if not isinstance(name, str) or name not in _TYPES:
        hint = "a newer rrstats may know it"
        if name in surveys.__all__:
            hint = f'write {{"type": "SurveyDesign", "design": "{name}", ...}}'
        raise MetadataError(
            f"a mechanism's type must be one of {sorted(_TYPES)}, found {cut(name)}; {hint}"
        )
    try:
        return _TYPES[name](**_arguments(name, document))
    except MetadataError:
        raise
    except RecursionError:
        raise MetadataError(f"the description of a {name} is nested too deeply") from None
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise MetadataError(f"the description of a {name} cannot be used: {error}") from error


_FACTS: dict[str, tuple[Any, ...]] = {
    **POLICIES,
    **dict.fromkeys(("simulated", "keyed"), (False, True)),
}


@dataclass(frozen=True)
class ColumnRecord:
    """The record of how one column was privatized.

    Parameters
    ----------
    name : hashable
        The column's label.
    mechanism : dict
        Its JSON description.
    unknown, missing : str
        The policies for answers outside the categories.
    simulated : bool
        True if the noise was not cryptographic.
    keyed : bool
        True if the noise came from a key and an id.
    plan : dict, optional
        The plan of the frame, if a public coin chose what each row reports: ``asked``, the public
        column with that choice; ``epsilon`` of a whole row; ``parts``, the columns of each choice;
        and their ``chances``.
    by_row : dict, optional
        ``{"prob": column}`` or ``{"epsilon": column}``, the public column with the value of each
        row; the mechanism is then the one with the largest epsilon.
    """

    name: Hashable
    mechanism: dict[str, Any]
    unknown: str = "warn"
    missing: str = "unknown"
    simulated: bool = False
    keyed: bool = False
    plan: dict[str, Any] | None = None
    by_row: dict[str, Any] | None = None

    @classmethod
    def of(cls, name: Hashable, mechanism: Mechanism, **facts: Any) -> ColumnRecord:
        """The record of a column and its mechanism; long lists of categories as a fingerprint.

        Raises ArgumentValueError if the name or the categories have no JSON form, or if the
        mechanism has more rounds than a document can hold.
        """
        described = mechanism.to_dict()
        for part in _walk(described):
            listed = part.get("categories")
            if isinstance(listed, list) and len(listed) > MOST_CATEGORIES:
                del part["categories"]
                part |= {"k": len(listed), "categories_digest": categories_digest(listed)}
        record = cls(name, described, **facts)
        _check_depth(write([record]))
        return record

    def resolve(self, given: Mechanism | None = None) -> Mechanism:
        """Return the column's mechanism, checked against a given one, if any.

        Parameters
        ----------
        given : Mechanism, optional
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
        return self.largest(given)

    def largest(self, given: Mechanism | None = None) -> Mechanism:
        """The mechanism of `resolve`; with probabilities by row that of the largest epsilon.

        It has the reports and the epsilon of all rows; it must not be used for estimates.
        """
        if given is not None:
            mine = None
            with contextlib.suppress(ArgumentValueError):  # no JSON form
                mine = ColumnRecord.of(self.name, given).mechanism
            if mine != self.mechanism and (self.is_shortened or given != self.largest()):
                raise MetadataError(
                    f"the mechanism given for column {cut(self.name)} contradicts the column's "
                    f"record: {_difference(mine or {}, self.mechanism)}; leave the argument out, "
                    "or, if the record is wrong, delete a frame's records: df.attrs.pop('rrstats')"
                )
            return given
        if self.is_shortened:
            raise MetadataError(
                f"column {cut(self.name)} has more than {MOST_CATEGORIES} categories, so the "
                "data hold only a fingerprint of them; give the mechanism"
            )
        try:
            return from_dict(self.mechanism)
        except MetadataError as error:
            raise MetadataError(f"column {cut(self.name)}: {error}") from None

    @property
    def is_shortened(self) -> bool:
        """True if the document holds only a fingerprint of the categories."""
        return any("categories_digest" in part for part in _walk(self.mechanism))

    def unlabelled(self) -> Mechanism:
        """The mechanism, with numbers as labels if only a fingerprint of the labels is known.

        Its probabilities and its epsilon are those of the column's mechanism.
        """
        described = copy.deepcopy(self.mechanism)
        for part in _walk(described):
            if part.pop("categories_digest", None) is not None:
                k = part.pop("k", None)
                if type(k) is not int or k > MOST_DECLARED:
                    raise MetadataError(
                        f"the fingerprint for column {cut(self.name)} needs a whole k of at most "
                        f"{MOST_DECLARED:,} categories"
                    )
                part["categories"] = list(range(k))
        return from_dict(described)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report of this column; it does not depend on the labels.

        In a plan it is that of the row: the report of a pair reveals as much of each of the two.
        Simulated noise protects nobody, because its seed can be found: the loss is infinite.
        """
        if self.simulated:
            return math.inf
        own = self.unlabelled().epsilon
        return own if self.plan is None else max(own, float(self.plan["epsilon"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON."""
        document = vars(self) | {"name": categories_to_json([self.name])[0]}
        document["mechanism"] = copy.deepcopy(self.mechanism)
        if self.plan is not None:
            parts = [categories_to_json(part) for part in self.plan["parts"]]
            (asked,) = categories_to_json([self.plan["asked"]])
            told = {"asked": asked, "parts": parts}
            document["plan"] = self.plan | told | {"chances": list(self.plan["chances"])}
        if self.by_row is not None:
            ((key, column),) = self.by_row.items()
            document["by_row"] = {key: categories_to_json([column])[0]}
        return {key: value for key, value in document.items() if value is not None}

    @classmethod
    def from_dict(cls, document: Any) -> ColumnRecord:
        """Return the record that `to_dict` described; anything else raises MetadataError."""
        _check_depth(document)
        found = dict(document) if isinstance(document, Mapping) else {}
        if "name" not in found or not isinstance(found.pop("mechanism", None), dict):
            raise MetadataError("each column of an rrstats document needs a name and a mechanism")
        (name,) = categories_from_json([found.pop("name")])
        plan, by_row = found.pop("plan", None), _read_by_row(found.pop("by_row", None))
        plan = _read_plan(plan, name)
        for key, value in found.items():
            allowed = _FACTS.get(key, ())
            if not isinstance(value, str | bool) or value not in allowed:
                rule = f"must be one of {list(allowed)}, found {cut(value)}"
                raise MetadataError(
                    f"{cut(key)} of column {cut(name)} "
                    + (rule if allowed else f"is unknown; known are {', '.join(_FACTS)}")
                )
        return cls(**copy.deepcopy(document) | {"name": name, "plan": plan, "by_row": by_row})


def _read_plan(document: Any, name: Hashable) -> dict[str, Any] | None:
    """The plan in the record of a column; anything else raises MetadataError."""
    if document is None:
        return None
    keys = {"asked", "epsilon", "parts", "chances"}
    held = document if isinstance(document, dict) and set(document) == keys else {}
    lists = [held.get("parts"), held.get("chances")]
    listed, chances = (one if isinstance(one, list) else [] for one in lists)
    parts = [categories_from_json(part) for part in listed]
    labels = {part_label(part) for part in parts}
    numbers = all(
        type(one) in (int, float) and 0 < one < 1e308 for one in [held.get("epsilon"), *chances]
    )
    fits = all(0 < len(part) < 3 and part.count(part[0]) == 1 for part in parts)
    own = any(name in part for part in parts)
    fits = fits and all(map(is_unicode, labels))
    if not (numbers and fits and own and len(parts) == len(chances) == len(labels)):
        raise MetadataError(
            f"the plan of a frame needs {sorted(keys)}: parts of one column or two, each once and "
            f"in valid Unicode, and a positive chance for each; column {cut(name)} must be in one"
        )
    (asked,) = categories_from_json([held["asked"]])
    return held | {"asked": asked, "parts": parts}


def _read_by_row(document: Any) -> dict[str, Any] | None:
    """The column of probabilities in a record; anything else raises MetadataError."""
    if document is None:
        return None
    if not isinstance(document, dict) or {*document} not in ({"prob"}, {"epsilon"}):
        raise MetadataError("by_row of a column must be {'prob': column} or {'epsilon': column}")
    return {key: categories_from_json([name])[0] for key, name in document.items()}


def part_label(part: Sequence[Hashable]) -> str:
    """The label of a part of a plan in the public column: its column, or both, "a & b".

    >>> part_label(["age"]), part_label(("age", 2020))
    ('age', 'age & 2020')
    """
    return " & ".join(map(str, part))


def asked_labels(record: ColumnRecord) -> list[str]:
    """The labels of the parts of a plan in which a column was asked; none without a plan."""
    parts = [] if record.plan is None else record.plan["parts"]
    return [part_label(part) for part in parts if record.name in part]


def part_mechanism(domains: Sequence[Categories], epsilon: float) -> KRR:
    """The mechanism of a part with one column, or of a pair: k-RR over its k1 k2 pairs.

    Pairs are tuples of categories, the last column's category changing fastest.

    >>> part_mechanism([Categories([1, 2]), Categories(["a", "b", "c"])], 1.0).categories[:4]
    ((1, 'a'), (1, 'b'), (1, 'c'), (2, 'a'))
    """
    if len(domains) == 1:
        return KRR(domains[0].declared, epsilon=epsilon)
    return KRR(list(product(*(domain.categories for domain in domains))), epsilon=epsilon)


def marginal_mechanism(domain: Categories, part: KRR) -> KRR:
    """The mechanism of one column's reports in a part; `part_mechanism` is that of the part.

    Of k1 k2 pairs, each report of a pair but the true one has probability q = (1 - p) / (k1 k2 -
    1); k2 - 1 of them have the true category of the first column: k-RR with p + (k2 - 1) q.
    """
    others = Fraction(part.domain.k, domain.k) - 1
    prob = Fraction(part.prob)
    prob += others * (1 - prob) / (part.domain.k - 1)
    return KRR(domain.declared, min(float(prob), LARGEST_PROB))


def plan_mechanisms(
    categories: Mapping[Any, Categories], parts: Iterable[Sequence[Hashable]], epsilon: float
) -> dict[Hashable, Mechanism]:
    """The marginal mechanism of each column of a plan.

    It is a `KRR` if all parts with that column give the same; otherwise `Samples`, whose groups
    are the labels of these parts.
    """
    found: dict[Hashable, dict[str, Mechanism]] = {name: {} for name in categories}
    for part in parts:
        mechanism = part_mechanism([categories[name] for name in part], epsilon)
        for name in part:
            found[name][part_label(part)] = marginal_mechanism(categories[name], mechanism)
    return {
        name: Samples(by_part) if len({*by_part.values()}) > 1 else next(iter(by_part.values()))
        for name, by_part in found.items()
    }


def row_epsilon(records: Iterable[ColumnRecord]) -> float:
    """The privacy loss of one row over all recorded columns; the columns of one plan share one.

    >>> told = {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}
    >>> kept = {"name": "a", "mechanism": told, "plan":
    ...     {"asked": "rr_asked", "epsilon": 2.0, "parts": [["a"], ["b"]], "chances": [1, 1]}}
    >>> row_epsilon(ColumnRecord.from_dict(kept | {"name": name}) for name in ("a", "b"))
    2.0
    """
    return total_epsilon(max(one.epsilon for one in held) for held in together(records))


def together(listed: Iterable[Any]) -> Iterable[list[Any]]:
    """Records or estimates whose losses do not add up: one alone, or all columns of one plan."""
    found: list[list[Any]] = []
    for one in listed:
        same = (held for held in found if one.plan is not None and held[0].plan == one.plan)
        if (mine := next(same, None)) is None:
            found.append(mine := [])
        mine.append(one)
    return found


def dominating(epsilon: float) -> MatrixDesign:
    """Binary randomized response with the largest likelihood ratio that an epsilon allows.

    It dominates all mechanisms made for that epsilon, so it bounds what they compose to.
    For an infinite epsilon it reports the truth.

    >>> dominating(2.0).epsilon, dominating(math.inf).epsilon
    (2.0, inf)
    """
    if epsilon == math.inf:
        return MatrixDesign(["one", "other"], [[1.0, 0.0], [0.0, 1.0]])
    truth = allowed_ratio(epsilon) / (1 + allowed_ratio(epsilon))
    return MatrixDesign(["one", "other"], [[truth, 1 - truth], [1 - truth, truth]])


def row_mechanisms(records: Iterable[ColumnRecord]) -> dict[Hashable, Mechanism]:
    """The mechanisms whose losses add up to that of a row, by column.

    The columns of one plan have one together, under the name of the plan's public column: given
    the coin, a row's reports are those of one mechanism of the plan's epsilon.  Simulated columns
    have a mechanism of infinite epsilon.
    """
    found: dict[Hashable, Mechanism] = {}
    listed = list(records)
    names = {record.name for record in listed}
    for held in together(listed):
        largest = max(held, key=lambda one: one.epsilon)
        name, made = largest.name, largest.unlabelled()
        if (plan := largest.plan) is not None and made.epsilon <= plan["epsilon"]:
            made = dominating(largest.epsilon)
            name = name if plan["asked"] in names.union(found) else plan["asked"]
        found[name] = dominating(math.inf) if largest.simulated else made
    return found


VOID = "void: the noise was simulated, so it protects nobody"


class RowEpsilon(float):
    """The epsilon of a row, a float whose repr says in ``note`` what it counts.

    >>> epsilon = RowEpsilon(0.5, "counts ['a']")
    >>> epsilon, epsilon + 1
    (0.5 (counts ['a']), 1.5)
    """

    note: str

    def __new__(cls, value: float, note: str) -> RowEpsilon:
        """A float with a note; pickles and copies keep both."""
        made = super().__new__(cls, value)
        made.note = note
        return made

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.note

    def __repr__(self) -> str:
        return f"{float(self)!r} ({self.note})"


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
    return f"{note}; {VOID}" if any(record.simulated for record in listed) else note


def _public_columns(record: ColumnRecord) -> list[Hashable]:
    """The public columns that the estimates of a column need."""
    plan = [] if record.plan is None else [record.plan["asked"]]
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


def check_plan(record: ColumnRecord, frame: pd.DataFrame) -> None:
    """Raise unless a column of a plan has its name, and the public column of its release.

    With the public column of another release, two releases would be counted as one.
    """
    if record.plan is None:
        return
    asked, name = record.plan["asked"], record.name
    labels = asked_labels(record)
    found = column_of(frame, asked) if asked in frame.columns and labels else None
    if found is None or (column_of(frame, name).notna() & ~found.isin(labels)).any():
        raise MetadataError(
            f"column {cut(name)} was privatized by the plan of a frame: it needs its name and the "
            f"public column {cut(asked)} of that release, which says which rows have a report"
        )


ROUNDED = 1e-12
"""The largest relative error of a probability that was written as text and read again."""


def check_most(record: ColumnRecord, prob: float) -> None:
    """Raise if a probability of a row is above the largest that the record has.

    The recorded epsilon is that of the largest, so a row above it would have lost more privacy.
    """
    most = float(record.mechanism["prob"])
    if prob > most * (1 + ROUNDED):
        ((key, column),) = (record.by_row or {"prob": None}).items()
        raise MetadataError(
            f"the {key} of some row in column {cut(column)} is above the largest with which column "
            f"{cut(record.name)} was privatized (P(report = truth) {most:.6g}), so it is not the "
            f"{key} of these reports, and epsilon would be understated; restore the column"
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


def _check_depth(document: Any) -> None:
    """Raise MetadataError if the document is too deep to be read recursively."""
    level: list[Any] = [[document]]
    for _ in range(MOST_LEVELS + 1):
        # By identity: a part that occurs in many places is visited once.
        inside = (outer.values() if isinstance(outer, Mapping) else outer for outer in level)
        below = {id(part): part for parts in inside for part in parts if isinstance(part, _NESTED)}
        if not (level := list(below.values())):
            return
    raise MetadataError(
        f"the rrstats document is nested too deeply, more than {MOST_LEVELS} levels"
    )


def _walk(description: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield description
    for key, value in description.items():
        # The mechanisms of several samples are a list; other lists hold labels and numbers.
        for part in value if key == "parts" and isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from _walk(part)


def _difference(given: dict[str, Any], recorded: dict[str, Any]) -> str:
    """The parts in which a described mechanism differs from the recorded one, in words."""
    if given.get("type") != recorded.get("type"):
        return f"{given.get('type', 'no JSON form')} instead of {recorded.get('type')}"
    found = []
    for key in {**recorded, **given}:
        one, other = given.get(key), recorded.get(key)
        if one == other:
            continue
        if not isinstance(one, dict | list) and not isinstance(other, dict | list):
            found.append(f"{key} {str(one)[:40]} instead of {str(other)[:40]}")
        elif sorted(map(repr, one or ())) == sorted(map(repr, other or ())):
            found.append(f"the order of the {key}")
        else:
            found.append(f"other {key}")
    return ", ".join(found) or "other labels"


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
            document = json.loads(document)
        except (ValueError, RecursionError):
            raise MetadataError("the rrstats document is not JSON, or nested too deeply") from None
    _check_depth(document)
    said = document if isinstance(document, Mapping) else {"v": 1}
    if type(said.get("v")) is not int or said["v"] not in range(1, VERSION + 1):
        raise MetadataError(
            f"the rrstats document has version {cut(said.get('v'))}, this rrstats reads "
            f"1 to {VERSION}; a newer rrstats may read it"
        )
    if set(said) != {"v", "columns"} or not isinstance(said["columns"], list):
        raise MetadataError("the rrstats document must hold 'v' and a list of 'columns', no more")
    records = [ColumnRecord.from_dict(item) for item in said["columns"]]
    names = [record.name for record in records]
    if said["v"] == 1 and any(record.plan or record.by_row for record in records):
        raise MetadataError("plan and by_row of a column need version 2 of the rrstats document")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise MetadataError(f"the rrstats document describes column {cut(name)} twice")
    return records


def parse_object(metadata: Mapping[bytes, bytes], key: bytes) -> dict[str, Any]:
    """A JSON object in the key-value metadata of Arrow; empty if there is none."""
    try:
        found = json.loads(metadata.get(key, b"{}"))
    except ValueError:
        return {}
    except RecursionError:  # it may hold the document
        raise MetadataError(f"{key.decode()} is nested too deeply") from None
    return found if isinstance(found, dict) else {}


def arrow_places(metadata: Mapping[bytes, bytes]) -> list[Mapping[Any, Any]]:
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


def write(records: Iterable[ColumnRecord]) -> dict[str, Any]:
    """Return the document of several columns.

    Parameters
    ----------
    records : iterable of ColumnRecord
        One record for each column.

    Returns
    -------
    dict
    """
    columns = [record.to_dict() for record in records]
    plans: list[Any] = []
    for column in columns:  # one object for all columns of a plan: pandas copies attrs very often
        if "plan" in column:
            plans += [column["plan"]] if column["plan"] not in plans else []
            column["plan"] = plans[plans.index(column["plan"])]
    new = any("plan" in column or "by_row" in column for column in columns)
    return {"v": 2 if new else 1, "columns": columns}


def record_columns(
    attrs: dict[Any, Any], made: Mapping[Hashable, tuple[Mechanism, Mapping[str, Any]]]
) -> None:
    """Write the records of columns into ``attrs``, in place of their earlier records.

    made : for each column its mechanism and the other facts of its `ColumnRecord`.
    Warns UnrecordedWarning if a name or category has no JSON form.  Then ``attrs`` keep no records
    at all, because a document without one of the columns would understate epsilon.
    """
    try:
        others = [record for record in read(attrs) if record.name not in made]
        new = [
            ColumnRecord.of(name, mechanism, **facts) for name, (mechanism, facts) in made.items()
        ]
        attrs[KEY] = write([*others, *new])
    except ArgumentValueError as error:
        attrs.pop(KEY, None)
        warn(
            f"these data have no record of how they were privatized: {error}; give the mechanism "
            "when you estimate",
            UnrecordedWarning,
        )


class Mechanisms(Mapping[Hashable, Mechanism]):
    """The mechanism of each recorded column, by the column's name.

    All names are listed.  If a record holds only a fingerprint of the categories, looking up that
    column raises MetadataError, which says what to do; other columns still work.

    >>> kept = {"v": 1, "columns": [{"name": "smoker", "mechanism":
    ...     {"type": "KRR", "categories": ["yes", "no"], "prob": 0.75}}]}
    >>> Mechanisms(read({"rrstats": kept}))["smoker"].prob
    0.75
    """

    def __init__(self, records: Sequence[ColumnRecord]) -> None:
        self._records = {record.name: record for record in records}
        self._said = {record.name: record.mechanism for record in records}

    def __getitem__(self, name: Hashable) -> Mechanism:
        return self._records[name].resolve()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        return self._said == other._said if isinstance(other, Mechanisms) else super().__eq__(other)

    def __repr__(self) -> str:
        short, varied = "only a fingerprint of its categories is kept", "prob differs by row"
        shown: dict[Hashable, Any] = {
            name: short if one.is_shortened else varied if one.by_row else self[name]
            for name, one in self._records.items()
        }
        return repr(shown)


# -- after a merge ------------------------------------------------------------------------------


Data = TypeVar("Data", pd.DataFrame, "pd.Series[Any]")


def carry(
    target: Data,
    *sources: Any,
    names: Mapping[Hashable, Hashable] | None = None,
    dropped: Iterable[Hashable] = (),
) -> Data:
    """Copy the records of privatized columns from earlier data to later data.

    Parameters
    ----------
    target : DataFrame or Series
        The data after a merge, a concat, an assignment or a renaming; it is not changed.
    *sources : DataFrame, Series, mapping, ColumnRecord or list of them
        The earlier data, or their document, such as `rr.files.describe_file` of the file that a
        frame was read from.  Records that target still has are used too.
    names : mapping, optional
        For renamed columns, a mapping from the name in the sources to the name in target.
    dropped : iterable of hashables, optional
        Privatized columns of the sources that are not in target under any name.

    Returns
    -------
    DataFrame or Series
        It shares its data with target; it has records only of columns that it contains.

    Raises
    ------
    MetadataError
        If the sources contradict each other, if a column's type does not fit its record, if there
        is no record, or if a privatized column is absent and may have been renamed.  The last
        cannot happen if the sources have all columns of target by name.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> answers = pd.DataFrame({"id": [1, 2, 3], "answer": ["yes", "no", "no"]})
    >>> reports = answers.rr.privatize("answer", ["yes", "no"], 0.75)
    >>> merged = pd.DataFrame({"id": [1, 2, 3], "age": [31, 42, 53]}).merge(reports, on="id")
    >>> rr.metadata.carry(merged, reports).rr.epsilon
    1.0986122886681098 (counts ['answer'], not ['id', 'age'], which the frame does not record)
    >>> answers["kept"] = reports["answer"]
    >>> rr.metadata.carry(answers[["kept"]], reports, names={"answer": "kept"}).rr.epsilon
    1.0986122886681098 (counts ['kept'])
    """
    check_instance(target, "target", (pd.DataFrame, pd.Series), "a DataFrame or a Series")
    frame: Any = pd.DataFrame(target) if target.ndim == 1 else target
    records = _carried(frame, sources, dict(names or {}), dropped)
    carried = target.copy(deep=False)
    carried.attrs = {**target.attrs, KEY: write(records)}
    return carried


def _carried(
    target: pd.DataFrame,
    sources: Iterable[Any],
    moved: dict[Hashable, Hashable],
    dropped: Iterable[Hashable],
) -> list[ColumnRecord]:
    """The records for the columns of target."""
    before = [_read_source(source) for source in sources]
    own = read(target.attrs)
    made = {record.name: record for record in own if record.name in target.columns}
    # Records of other columns, and whether the source itself has such a column.
    said = [(record, False) for record in own if record.name not in made]
    said += [(one, one.name in columns) for records, columns in before for one in records]
    if not made and not said:
        raise MetadataError(
            "there is nothing to carry: neither target nor the sources record a privatized column"
        )
    spoken = {record.name for record, _ in said}
    gone = {dropped} if isinstance(dropped, str) else set(dropped)
    if strange := [name for name in [*moved, *gone] if name not in spoken]:
        raise ArgumentValueError(
            f"names and dropped must be of {sorted(map(repr, spoken))}, the columns that the "
            f"sources record, found {strange[0]!r}"
        )
    for name in moved.values():
        column_of(target, name)  # raises if it is absent or occurs twice
    stay = {one.name for one, stands in said if stands and one.name in target.columns}
    for records, columns in before:
        plain = set(columns) - {record.name for record in records}
        for name in plain & stay - set(moved):
            raise MetadataError(
                f"one source records that column {name!r} holds reports, and another has a column "
                "of that name that may hold true answers; leave that source out, or give "
                f"names={{{name!r}: ...}} if the reports have another name in target"
            )
    known = {*made, *moved.values(), *(name for source in before for name in _known(*source))}
    new = [column for column in target.columns if column not in known]
    for record, stands in said:
        if record.name in moved or (stands and record.name in stay - gone):
            found = replace(record, name=moved.get(record.name, record.name))
            made[found.name] = _joined(made.get(found.name, found), found)
        elif new and record.name not in gone:
            raise MetadataError(
                f"a source records a privatized column {cut(record.name)} that target does not "
                f"have from it, and one of {quote_list(new)} may be this column: give names={{name:"
                " ...} if it was renamed, dropped=[name] if it was left out, or give "
                "as sources all frames, with all their columns, from which target was made"
            )
    for record in made.values():
        check_fits(column_of(target, record.name), record)
        check_plan(record, target)
        check_rates(record, target)
    return list(made.values())


def _read_source(source: Any) -> tuple[list[ColumnRecord], list[Hashable]]:
    """The records of one source, and its columns."""
    if isinstance(source, pd.DataFrame):
        return read(source.attrs), list(source.columns)
    if isinstance(source, pd.Series):
        # Records of its frame's other columns do not apply.
        mine = [record for record in read(source.attrs) if record.name == source.name]
        return mine, [source.name]
    records = [source] if isinstance(source, ColumnRecord) else source
    if isinstance(records, Mapping):
        records = read({KEY: records})
    if not isinstance(records, list) or not all(isinstance(one, ColumnRecord) for one in records):
        raise ArgumentTypeError(
            "each source must be a frame, a Series, a document or a list of ColumnRecords (as from "
            f"rr.files.describe_file), found {type(source).__name__}"
        )
    return records, [record.name for record in records]


def _known(records: list[ColumnRecord], columns: list[Hashable]) -> set[Hashable]:
    """Columns of a source that cannot be renamed reports: all, unless a recorded one is absent."""
    stand = {record.name for record in records} & set(columns)
    return set(columns) if len(stand) == len(records) else stand


def _joined(one: ColumnRecord, other: ColumnRecord) -> ColumnRecord:
    """The common record of a column that two sources record; its rows may be from either."""
    facts = [(each.mechanism, each.missing, each.plan, each.by_row) for each in (one, other)]
    if facts[0] != facts[1]:
        raise MetadataError(
            f"the data have two different records of column {one.name!r}; leave the wrong source "
            "out, or give a column of mechanisms when you estimate (mechanism=...)"
        )
    return replace(
        one,
        unknown=one.unknown if one.unknown == other.unknown else "warn",
        simulated=one.simulated or other.simulated,
        keyed=one.keyed or other.keyed,
    )


def check_fits(column: pd.Series[Any], record: ColumnRecord) -> None:
    """Raise MetadataError for a column whose type shows that it does not hold reports.

    Only the type is checked: its kind, and the categories of a Categorical.  A column with a
    fingerprint is not checked.
    """
    if record.is_shortened:
        return
    space = record.largest().report_space
    codec, found = codec_of(space), ""
    try:
        open_reports(column, space)
    except (ArgumentTypeError, ArgumentValueError) as error:
        found = str(error)
    if isinstance(column.dtype, pd.CategoricalDtype) and codec.is_label and not found:
        levels = column.dtype.categories
        if other := sum(codec.domain.code(level) >= codec.domain.k for level in levels):
            found = (
                f"{other} of its {len(levels)} categories are not among the reports "
                f"{space.describe()}; were they renamed? Give the mechanism with the new ones when "
                "you estimate"
            )
    if found:
        raise MetadataError(f"the record of column {record.name!r} does not fit it: {found}")
