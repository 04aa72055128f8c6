"""One epsilon for all private columns of a frame: a public coin picks what a row reports.

For each row a coin, independent of all answers, picks one part: a column, or a pair of columns.
The row reports that part with the whole epsilon; in its other private columns it was not asked,
and they are missing.  The public column ``asked`` holds the part of each row.
A pair is one answer of k1 k2 categories, written into its two columns.
The proof in a line: the coin depends on no answer, and given the coin the reports of a row are the
output of one k-RR of this epsilon, or a function of it.

The record of a column has the plan without categories, because it knows no other column.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import (
    check_instance,
    check_level,
    check_number,
    check_numbers,
    cut,
    quote_list,
)
from rrstats._display import Block, as_fragment, as_text, chance, label
from rrstats._frozen import FrozenDict, Shared
from rrstats._names import checked_keywords
from rrstats._typing import ColumnNames, Floats, JsonObject, Labels
from rrstats.data.categories import Categories, is_unicode
from rrstats.data.category_json import categories_from_json, categories_to_json
from rrstats.data.columns import place_of
from rrstats.errors import ArgumentValueError, MetadataError, RRStatsError
from rrstats.inference.contrasts import normal_quantile
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import report_variance
from rrstats.mechanisms.documents import read_object, read_release
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.krr import KRR, MechanismLike
from rrstats.mechanisms.matrix_channel import StackedChannel
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.plan_tables import plan_table
from rrstats.mechanisms.plans import (
    ASKED,
    dominating,
    part_label,
    part_mechanism,
    plan_mechanisms,
)
from rrstats.mechanisms.serialization import from_dict

_MAX_LISTED = 12
"""The number of parts, or of pairs without a table, that the plan in words lists."""

_UNUSABLE = "the plan of a frame cannot be used"


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class FramePlan(Shared):
    """One epsilon for all private columns of a frame, of which each row reports one part.

    Parameters
    ----------
    columns : mapping
        From the name of each private column to its categories.
    epsilon : float
        The privacy loss of a whole row in nats.
    parts : list
        What a row may report: a column's name, or a pair of names as a tuple, which is reported as
        one answer.
    chances : list of float, optional
        The chance of each part; they need not sum to 1.  By default all are equal.
    asked : hashable, default "rr_asked"
        The name of the public column that will hold the part of each row, as text: "a", "a & b".

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        For a column that is in no part, a part with other columns, parts whose labels clash,
        chances that are not positive and finite, and an epsilon that no double can give.

    Notes
    -----
    `rr.planning.plan` chooses the parts for a question.  In the release a missing value of a
    private column means that the row was not asked: a missing answer of a row that was asked is
    refused, replaced by a uniformly random category, or one of the declared categories.
    A part reports with the k-RR of its k (or k1 k2) categories at this epsilon.

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> plan = FramePlan({"smokes": ["no", "yes"], "drinks": [0, 1, 2]}, 2, ["smokes", "drinks"])
    >>> df = pd.DataFrame({"smokes": ["no", "yes"] * 50, "drinks": [0, 1, 2, 1] * 25})
    >>> released = df.rr.privatize(plan)
    >>> list(released.columns), released.rr.epsilon
    (['smokes', 'drinks', 'rr_asked'], 2 (counts ['smokes', 'drinks']))
    """

    asked: Hashable
    epsilon: float
    parts: tuple[tuple[Hashable, ...], ...]
    chances: tuple[float, ...]
    categories: Mapping[Hashable, Categories] = field(hash=False)
    """The categories of each column; none in the record of one column."""
    _mechanisms: Mapping[Hashable, Mechanism] = field(compare=False)

    def __init__(
        self,
        columns: Mapping[Any, Any],
        epsilon: float,
        parts: Iterable[Any],
        *,
        chances: Iterable[float] | None = None,
        asked: Hashable = ASKED,
    ) -> None:
        check_instance(columns, "columns", Mapping, "a mapping from column to categories")
        names = list(columns)
        listed = [
            tuple(part) if isinstance(part, list | tuple) and part not in names else (part,)
            for part in check_instance(parts, "parts", list | tuple, "a list of names and pairs")
        ]
        _check_parts(listed, names)
        self._set(listed, epsilon, [1.0 for _ in listed] if chances is None else chances, asked)
        self.check_new(names)
        categories = {name: Categories(declared) for name, declared in columns.items()}
        mechanisms = plan_mechanisms(categories, self.parts, self.epsilon)
        vars(self).update(categories=FrozenDict(categories), _mechanisms=FrozenDict(mechanisms))

    def _set(
        self,
        parts: Sequence[tuple[Hashable, ...]],
        epsilon: float,
        chances: Any,
        asked: Hashable,
    ) -> None:
        """Set what the records of columns hold; parts are checked."""
        numbers = check_numbers(chances, "chances", size=len(parts)).tolist()
        # Other text is no name of a column in Arrow or in a file, nor a cell of the public column.
        if not all(map(is_unicode, [*map(part_label, parts), str(asked)])):
            raise ArgumentValueError(
                "asked and the names in parts must be valid Unicode, found half of a surrogate "
                "pair; rename the columns"
            )
        hint = "below it a double cannot tell the probabilities of a report from equal ones"
        check_number(epsilon, "epsilon", 1e-15, math.inf, ends="[)", hint=hint)
        check_instance(asked, "asked", str | int | tuple, "the name of a new column")
        for number in numbers:  # below the largest double, so that they can be added
            check_number(number, "each of chances", 0.0, 1e100, ends="(]")
        vars(self).update(
            asked=asked,
            epsilon=float(epsilon),
            parts=tuple(parts),
            chances=tuple(numbers),
            categories=FrozenDict(),
            _mechanisms=FrozenDict(),
        )

    @classmethod
    def from_record(cls, document: Any) -> FramePlan:
        """The plan in the record of a column; anything else raises MetadataError."""
        plan = cls.__new__(cls)
        try:
            facts = read_object(document, "it", ("asked", "epsilon", "parts", "chances"))
            parts = _parts_from_json(facts["parts"])
            _check_parts(parts, {*chain(*parts)})
            plan._set(parts, facts["epsilon"], facts["chances"], _name_from_json(facts["asked"]))
        except RRStatsError as error:
            raise MetadataError(f"{_UNUSABLE}: {error}") from None
        return plan

    @property
    def recorded(self) -> FramePlan:
        """The plan as the records of its columns hold it."""
        plan = FramePlan.__new__(FramePlan)
        plan._set(self.parts, self.epsilon, self.chances, self.asked)
        return plan

    @property
    def labelled(self) -> dict[str, tuple[Hashable, ...]]:
        """The parts by their labels in the public column."""
        return {part_label(part): part for part in self.parts}

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of each part in the public column."""
        return tuple(map(part_label, self.parts))

    def asking(self, *names: Hashable) -> list[int]:
        """The places of the parts that ask all of some columns."""
        return [place for place, part in enumerate(self.parts) if {*names} <= {*part}]

    def labels_asking(self, *names: Hashable) -> list[str]:
        """The labels of the parts that ask all of some columns."""
        return [self.labels[place] for place in self.asking(*names)]

    @property
    def mechanisms(self) -> Mapping[Hashable, Mechanism]:
        """The mechanism of each private column by itself, for the rows that were asked.

        A pair of columns with k1 and k2 categories gives each of them a k-RR of a smaller epsilon.
        A column whose parts differ has `Samples`, whose groups are labels of the public column.
        """
        if not self._mechanisms:
            raise MetadataError(
                "the plan in the record of a column does not know the categories of all columns; "
                "rr.planning.FramePlan.from_dict(df.attrs['rrstats']) has them"
            )
        return self._mechanisms

    def check_new(self, names: Iterable[Hashable]) -> None:
        """Raise unless the public column is new among the columns of the data."""
        if self.asked in list(names):
            raise ArgumentValueError(
                f"asked must be the name of a new column, which will say what each row reports, "
                f"but there is a column {self.asked!r}; rename it, or choose another name"
            )

    @cached_property
    def part_mechanisms(self) -> tuple[KRR, ...]:
        """The mechanism of each part; of a pair, over the tuples of both categories."""
        domains = [[self.mechanisms[name].domain for name in part] for part in self.parts]
        return tuple(part_mechanism(of_part, self.epsilon) for of_part in domains)

    def asked_fraction(self, *names: Hashable) -> float:
        """The chance that a row is asked one column, or two columns together.

        Parameters
        ----------
        *names : hashable
            One or two columns of the plan.

        Returns
        -------
        float
            0 for a pair that is never asked together.  A column is estimated from about n times
            this many rows, with the mechanism in ``mechanisms``: plan with both.  For a column in
            several parts take `variances`: `rrstats.planning.half_width` plans with samples of
            equal size whose reports all count the same.

        Examples
        --------
        >>> import rrstats as rr
        >>> plan = FramePlan({"a": [0, 1], "b": ["x", "y"]}, 2, ["a", "b"], chances=[3, 1])
        >>> plan.asked_fraction("a")
        0.75
        >>> people = round(2000 * plan.asked_fraction("a"))
        >>> round(rr.planning.half_width(people, 0.2, plan.mechanisms["a"]), 3)
        0.03
        """
        private_columns = pd.DataFrame(columns=[*self.mechanisms])
        for name in names:
            place_of(private_columns, name)
        asking = [self.chances[place] for place in self.asking(*names)]
        return math.fsum(asking) / math.fsum(self.chances)

    def variances(self, proportion: float = 0.2) -> pd.DataFrame:
        """The variance of each estimate times the number of all rows, and of a divided epsilon.

        Parameters
        ----------
        proportion : float
            The true proportion of a category of each column.  Tables are taken with equal cells.

        Returns
        -------
        DataFrame
            One row for each column and each pair that is asked: ``asked``, the chance that a row is
            asked it; ``variance``, n times the variance of one proportion, or of one cell of the
            table; ``divided``, the same if every row reported each column with epsilon / d, for d
            columns.

        Notes
        -----
        They are those of the estimates.  The reports of a column in several parts count by their
        precision, (p - q)^2 of the part's k-RR, which the plan fixes: no part makes an estimate
        less precise.  A table uses its pair and all parts of its columns.  At other proportions
        the weights stay unbiased.

        Examples
        --------
        >>> plan = FramePlan({name: [0, 1, 2, 3] for name in "abc"}, 1, list("abc"))
        >>> plan.variances().round(1).to_dict("records")[0]
        {'estimate': 'a', 'asked': 0.3, 'variance': 6.0, 'divided': 22.9}

        Three columns with a third of epsilon each need 3.8 times the people.
        """
        proportion = check_number(proportion, "proportion", 0.0, 1.0)
        divided_epsilon = self.epsilon / len(self.mechanisms)
        divided = {
            name: KRR(range(domain.k), epsilon=divided_epsilon)
            for name, domain in self.categories.items()
        }
        rows: list[tuple[str, float, float, float]] = []
        for name in self.categories:
            fraction = self.asked_fraction(name)
            variance = self._variance_of((name,), proportion)
            rows.append((label(name), fraction, variance, _variance(divided[name], proportion)))
        for text, part in zip(self.labels, self.parts, strict=True):
            if len(part) == 2:
                fraction = self.asked_fraction(*part)
                variance = self._variance_of(part, proportion)
                rows.append((text, fraction, variance, _cell_variance([divided[n] for n in part])))
        return pd.DataFrame(rows, columns=["estimate", "asked", "variance", "divided"])

    def half_width(
        self, people: int, *names: Hashable, proportion: float = 0.2, level: float = 0.95
    ) -> float:
        """Half the width of an interval of what the plan estimates from a number of rows.

        Parameters
        ----------
        people : int
            The number of all rows.
        *names : hashable
            A column, for the proportion of one of its categories; or a pair that the plan asks
            together, for one cell of its table.
        proportion : float
            The true proportion of a category of a column.  A table is taken with equal cells.
        level : float
            Confidence level.

        Returns
        -------
        float
            The normal quantile times the standard error of the estimate, from `variances`.  The
            default intervals are a little wider where the effective sample size is small.

        Examples
        --------
        >>> plan = FramePlan({"a": [0, 1], "b": ["x", "y"]}, 2, ["a", "b", ("a", "b")])
        >>> round(plan.half_width(3000, "a"), 3), round(plan.half_width(3000, "a", "b"), 3)
        (0.029, 0.034)
        """
        check_number(people, "people", 1, math.inf, ends="[)")
        return normal_quantile(check_level(level)) * math.sqrt(
            self._variance_of(names, proportion) / people
        )

    def sample_size(
        self, half_width: float, *names: Hashable, proportion: float = 0.2, level: float = 0.95
    ) -> int:
        """The number of rows for which `half_width` is at most a given one.

        Parameters
        ----------
        half_width : float
            Half the width of the interval, in (0, 0.5].
        *names : hashable
            A column, or a pair that the plan asks together, as for `half_width`.
        proportion, level : float
            As for `half_width`.

        Returns
        -------
        int
            The number of all rows, not only of those that are asked.

        Examples
        --------
        >>> plan = FramePlan({"a": [0, 1], "b": ["x", "y"]}, 2, ["a", "b", ("a", "b")])
        >>> plan.sample_size(0.02, "a"), plan.sample_size(0.02, "a", "b")
        (6163, 8520)
        """
        check_number(half_width, "half_width", 0.0, 0.5, ends="(]")
        variance = self._variance_of(names, proportion)
        return math.ceil(variance * (normal_quantile(check_level(level)) / half_width) ** 2)

    def _variance_of(self, names: Labels, proportion: float) -> float:
        """The variance of what a question asks times the number of all rows."""
        proportion = check_number(proportion, "proportion", 0.0, 1.0)
        if len(names) not in (1, 2) or not self.asked_fraction(*names) > 0:
            raise ArgumentValueError(
                "names must be one column of the plan, or two that it asks together, found "
                f"{quote_list(names, 4)}; rr.planning.plan(..., want=[(first, second)]) asks them"
            )
        return self.question(names, proportion).variance(np.array(self.chances))

    def question(self, names: Labels, proportion: float = 0.2) -> PlanQuestion:
        """The samples that one column or one pair is estimated from, for any chances of the parts.

        Parameters
        ----------
        names : tuple of one or two columns
        proportion : float
            The true proportion of a category of a column.

        Returns
        -------
        PlanQuestion
        """
        mechanisms = {name: self.mechanisms[name] for name in names}
        axes = [self.categories[name].labels for name in names]
        table = plan_table(self.labelled, self.epsilon, mechanisms, names, axes)
        if table is not None:
            parts = [sample.parts for sample in table.samples]
            channel: StackedChannel | None = table.channel
        else:
            parts = [tuple(self.labels_asking(*names))]
            channel = None
        members = np.array([[float(label in sample) for label in self.labels] for sample in parts])
        size = math.prod(map(len, axes))
        if len(names) == 2:
            proportion = 1 / size
            single: Mechanism = part_mechanism(
                [self.categories[name] for name in names], self.epsilon
            )
        else:
            single = mechanisms[names[0]]
        proportions = _proportions(size, proportion)
        single_variance = 0.0
        if channel is None:
            single_variance = float(report_variance(single.channel, proportions, "population")[0])
        return PlanQuestion(members, proportions, channel, single_variance)

    @property
    def dominating(self) -> MatrixDesign:
        """The worst mechanism of this epsilon, which stands for a row in `privacy.compose`."""
        return dominating(self.epsilon)

    def in_record(self) -> JsonObject:
        """The plan as plain JSON, which `from_record` reads."""
        (public,) = categories_to_json([self.asked])
        return {
            "asked": public,
            "epsilon": self.epsilon,
            "parts": [categories_to_json(part) for part in self.parts],
            "chances": list(self.chances),
        }

    def to_dict(self) -> JsonObject:
        """Return the plan as plain JSON, which `from_dict` reads.

        Returns
        -------
        dict

        Examples
        --------
        >>> plan = FramePlan({"a": [0, 1], "b": ["x", "y"]}, 1.5, [("a", "b")])
        >>> FramePlan.from_dict(plan.to_dict()) == plan
        True
        """
        columns = [
            {
                "name": categories_to_json([name])[0],
                "categories": categories_to_json(mechanism.domain.declared),
            }
            for name, mechanism in self.mechanisms.items()
        ]
        return {"type": "FramePlan", "columns": columns, **self.in_record()}

    @classmethod
    def from_dict(cls, document: Any) -> FramePlan:
        """Return the plan that `to_dict` described, or that of a release.

        Parameters
        ----------
        document : dict
            The description; ``chances`` and ``asked`` may be left out, and words need no tags.  Or
            the document of released data, as in ``df.attrs["rrstats"]``.

        Returns
        -------
        FramePlan

        Raises
        ------
        MetadataError
            If the document is not a plan, or describes one that cannot be.
        """
        try:
            if isinstance(document, Mapping) and "v" in document:
                return _of_release(document)
            facts = read_object(
                document, "it", ("type", "columns", "epsilon", "parts"), ("asked", "chances")
            )
            columns = {}
            for column in check_instance(facts["columns"], "columns", list, "a list"):
                described = read_object(column, "a column", ("name", "categories"))
                name = _name_from_json(described["name"])
                if name in columns:
                    raise MetadataError(f"column {cut(name)} stands twice")
                columns[name] = categories_from_json(described["categories"])
            if facts["type"] != "FramePlan":
                raise MetadataError(f"its type is {cut(facts['type'])}, not 'FramePlan'")
            return cls(
                columns,
                facts["epsilon"],
                _parts_from_json(facts["parts"]),
                chances=facts.get("chances"),
                asked=_name_from_json(facts.get("asked", ASKED)),
            )
        except RRStatsError as error:
            raise MetadataError(f"{_UNUSABLE}: {error}") from None

    @property
    def _blocks(self) -> list[Block]:
        """The plan in words: what each row reports, and what cannot be estimated."""
        if not self.categories:
            names = [field.name for field in fields(self)[:4]]
            facts = ", ".join(f"{name}={vars(self)[name]!r}" for name in names)
            return [("code", f"FramePlan({facts})")]
        header = ["part", "rows", "answers", "P(report = truth)"]
        total = math.fsum(self.chances)
        rows = [
            [label(text), chance(number / total), f"{mechanism.k:,}", chance(mechanism.prob)]
            for text, number, mechanism in zip(
                self.labels, self.chances, self.part_mechanisms, strict=True
            )
        ]
        if len(rows) > _MAX_LISTED:
            rows[_MAX_LISTED:] = [[f"... {len(rows)} parts", "", "", ""]]
        cannot = ["a table of three of these columns, or a logit with two: no row reports them all"]
        never_together = [
            label(part_label(pair))
            for pair in combinations(self.categories, 2)
            if not self.asked_fraction(*pair)
        ]
        if never_together:
            if len(never_together) > _MAX_LISTED:
                never_together[_MAX_LISTED:] = [f"... {len(never_together)} in all"]
            pairs = ", ".join(never_together)
            cannot.append(
                f"a table, a correlation or a regression of columns never asked together: {pairs}"
            )
        return [
            ("text", f"Plan of a frame: epsilon {round_up(self.epsilon)} for a whole row."),
            ("text", f"A public coin picks what each row reports; {label(self.asked)} holds it."),
            ("table", (header, rows)),
            ("text", "This plan cannot give:"),
            ("list", cannot),
        ]

    def __repr__(self) -> str:
        return as_text(self._blocks).rstrip()

    def _repr_html_(self) -> str:
        return as_fragment(self._blocks)


MechanismOrPlan: TypeAlias = MechanismLike | FramePlan
"""What made the reports of a column, or of a whole frame."""

PlanLike: TypeAlias = ColumnNames | Mapping[Any, MechanismLike] | FramePlan
"""The columns to privatize: their names, their mechanisms by name, or a plan that has both."""


def _check_parts(parts: Sequence[Labels], names: Collection[Hashable]) -> None:
    """Raise unless the parts are columns or pairs, with every column and distinct labels."""
    private = [name for part in parts for name in part]
    labels = {unicodedata.normalize("NFC", part_label(part)) for part in parts}
    unordered_labels = {part_label(sorted(part, key=str)) for part in parts}
    are_distinct = len(parts) == len(labels) == len(unordered_labels)
    are_proper = all(0 < len(part) < 3 and part.count(part[0]) == 1 for part in parts)
    absent = [name for name in names if name not in private]
    other = sum(name not in names for name in private)  # counted: they may be answers
    if absent and private and not other:
        raise ArgumentValueError(
            "parts (want= of planning.plan) must have every column of the plan, "
            f"{quote_list(absent)} {'is' if len(absent) == 1 else 'are'} in none; add them to a "
            "part, or leave them out of the plan"
        )
    if other or not (parts and are_proper and are_distinct):
        raise ArgumentValueError(
            "parts (want= of planning.plan) must be columns of the plan, or pairs of two "
            "different ones, no part twice or with the label of another; found "
            f"{len(parts)} parts of {len(names)} columns, with {other} names that are no column "
            "of the plan"
        )


def _name_from_json(document: Any) -> Hashable:
    """The name of a column in a document."""
    name: Hashable = categories_from_json([document])[0]
    return name


def _parts_from_json(document: Any) -> list[tuple[Hashable, ...]]:
    """The parts in a document."""
    listed = check_instance(document, "parts", list, "a list")
    return [tuple(categories_from_json(part)) for part in listed]


def _of_release(document: Any) -> FramePlan:
    """The plan in the document of a release."""
    columns = read_release(document)
    return plan_of_columns(
        {column.name: from_dict(column.mechanism) for column in columns},
        [FramePlan.from_record(column.plan) for column in columns],
        [
            (column.facts.get("unknown", "raise"), column.facts.get("missing", "unknown"))
            for column in columns
        ],
    )


def plan_of_columns(
    mechanisms: Mapping[Hashable, Mechanism],
    plans: Sequence[FramePlan | None],
    policies: Sequence[Any],
) -> FramePlan:
    """The plan that made some columns.

    Raises MetadataError unless they are exactly the columns of one plan, all with its policies.
    """
    recorded = plans[0] if plans else None
    if recorded is not None and {*mechanisms} == {*chain(*recorded.parts)}:
        plan = FramePlan(
            {name: mechanism.domain.declared for name, mechanism in mechanisms.items()},
            recorded.epsilon,
            recorded.parts,
            chances=recorded.chances,
            asked=recorded.asked,
        )
        agree = all(rules == policies[0] for rules in policies)
        if agree and plan.mechanisms == mechanisms and all(each == recorded for each in plans):
            return plan
    raise MetadataError(
        "a document with the plan of a frame must describe exactly the columns of its parts, "
        "all with the same plan, unknown and missing, and each with its mechanism in that "
        f"plan; found {cut([*mechanisms])}: save FramePlan.to_dict(), or use the document of a "
        "release"
    )


class PlanQuestion(NamedTuple):
    """The samples of rows that one proportion is estimated from; chances of parts give their size.

    members : (samples, parts) 1 where a part is of a sample.  proportions : (cells,) the true ones.
    channel : of the samples, pooled; None for one sample, with ``report_variance``.
    """

    members: Floats
    proportions: Floats
    channel: StackedChannel | None
    report_variance: float

    def variance(self, chances: Floats) -> float:
        """The variance of the estimate times the number of all rows.

        chances : (parts,) which need not sum to 1.
        """
        fractions = self.members @ (chances / chances.sum())
        if self.channel is None:
            return self.report_variance / float(fractions[0])
        return float(self.channel.covariance_of_parts(self.proportions, fractions)[0, 0])


def _variance(mechanism: Mechanism, proportion: float) -> float:
    """The variance of one debiased report of a k-RR, for a category with this proportion."""
    proportions = _proportions(mechanism.k, proportion)
    return float(report_variance(mechanism.channel, proportions, "population")[0])


def _proportions(k: int, proportion: float) -> Floats:
    """(k,) the proportion of the first category; the others are equally common."""
    proportions = np.full(k, (1 - proportion) / (k - 1))
    proportions[0] = proportion
    return proportions


def _cell_variance(mechanisms: Sequence[Mechanism]) -> float:
    """The variance of one cell of a table of equal cells, from a report of each column."""
    second_moments = [_variance(each, 1 / each.k) + each.k**-2 for each in mechanisms]
    cell = 1 / math.prod(each.k for each in mechanisms)
    return math.prod(second_moments) - cell**2
