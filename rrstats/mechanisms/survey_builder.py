"""A builder of survey designs: from P(report | true answer) to a checked design.

A function of `surveys` checks and records its parameters with `probability` and its siblings, and
ends with the kind of report that its respondents give: `yes_or_no`, `numeric_report`,
`truth_or_forced` or `independent_answers`.  All numbers are exact fractions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pandas as pd

from rrstats._checks import (
    check_instance,
    check_probability,
    check_whole_number,
    quote,
    quote_list,
)
from rrstats._typing import CategoriesLike, JsonObject, Labels, NumbersByCategory, Probability
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import warn_if_uninformative
from rrstats.mechanisms.channel import number, numbers
from rrstats.mechanisms.decks import MAX_CARDS, simple_share
from rrstats.mechanisms.matrix_design import labels_of
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.survey_design import SurveyDesign

ReportLabels = Sequence[Hashable] | None
"""Labels of the reports; None means the categories, or the numbers if reports are numbers."""

NumbersBySample = Mapping[Any, Any] | Sequence[Any]
"""A number for each sample: a mapping or Series by label, or a list for samples 1, 2, ..."""

NO_YES = object()
"""The value of ``yes`` in designs that treat all categories alike."""

_MAX_BITS = 1100
"""The largest denominator of a probability, as a power of 2: any double fits."""

_Columns = Sequence[Sequence[Fraction]]


class DesignBuilder:
    """One design under construction: first the question, then the parameters, then the matrix.

    Parameters
    ----------
    name : str
        The name with which the design is registered.
    categories, yes, reports
        The arguments of the functions of `surveys`; ``NO_YES`` if no category is sensitive.
    is_one_sample : bool
        True for one sample of several, which alone need not identify the proportions.

    Attributes
    ----------
    domain : Categories
        The checked categories.
    is_yes : list of bool
        For each category whether it is the sensitive one.
    """

    def __init__(
        self,
        name: str,
        categories: CategoriesLike,
        reports: Any,
        yes: Hashable = NO_YES,
        *,
        is_one_sample: bool = False,
    ) -> None:
        self.name = name
        self.is_one_sample = is_one_sample
        self.domain = Categories(categories)
        self.is_yes = [False] * self.domain.k
        self.yes: Hashable = None
        if yes is not NO_YES:
            code = sensitive_code(self.domain, yes)
            self.is_yes[code] = True
            self.yes = self.domain.categories[code]
        self.answers: Categories | None = None
        if reports is not None:
            labels = labels_of(reports, "reports")
            if labels != self.domain:
                self.answers = labels
        self.parameters: JsonObject = {}

    # -- parameters: each is checked, recorded under its name, and returned ---------------------

    def probability(self, name: str, value: Probability, ends: str = "()") -> Fraction:
        """One probability; ``ends`` says whether 0 and 1 are allowed."""
        exact = exact_probability(name, value, ends)
        self.parameters[name] = number(exact, name)
        return exact

    def probabilities(self, name: str, values: Any, ends: str = "()") -> list[Fraction]:
        """A list of probabilities."""
        exact = [exact_probability(f"each of {name}", p, ends) for p in numbers(values, name)]
        self.parameters[name] = numbers(exact, name)
        return exact

    def share(self, name: str, value: Probability, ends: str) -> Fraction:
        """One share of the cards of a deck: the simplest fraction that is the same double."""
        exact = simple_share(exact_probability(name, value, ends))
        self.parameters[name] = exact
        return exact

    def shares(self, name: str, values: Sequence[Any]) -> list[Fraction]:
        """A list of shares of the cards of a deck."""
        exact = [self.share(name, value, "[]") for value in values]
        self.parameters[name] = tuple(exact)
        return exact

    def cards(self, deck: Any, shares: Sequence[Fraction]) -> None:
        """The number of cards of a deck, of which each share is whole; or None."""
        size = None if deck is None else check_whole_number(deck, "deck", 1, MAX_CARDS)
        self.parameters["deck"] = size
        if size is not None and any((share * size).denominator > 1 for share in shares):
            raise ArgumentValueError(
                f"deck must hold whole numbers of cards, found {size} cards with the shares "
                f"{quote_list(map(str, shares))}"
            )

    def whole_number(self, name: str, value: Any, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        checked = check_whole_number(value, name, low, high)
        self.parameters[name] = checked
        return checked

    # -- classes --------------------------------------------------------------------------------

    @property
    def classes_with_trait(self) -> list[tuple[Hashable, bool]]:
        """The classes of designs with an unrelated trait: pairs of category and trait."""
        return list(product(self.domain.categories, (True, False)))

    @property
    def yes_and_trait(self) -> list[tuple[bool, bool]]:
        """For each of these classes whether it has the sensitive attribute, and the trait."""
        return list(product(self.is_yes, (True, False)))

    # -- what respondents report ----------------------------------------------------------------

    def yes_or_no(self, *, if_yes: Fraction, if_no: Fraction) -> SurveyDesign:
        """One answer: P(report yes) of people with and without the sensitive attribute."""
        return self.independent_answers([[if_yes if is_yes else if_no] for is_yes in self.is_yes])

    def truth_or_forced(self, truth: Fraction, forced: Sequence[Fraction]) -> SurveyDesign:
        """The true category, or else a dictated one."""
        entries = [[prob] * self.domain.k for prob in forced]
        for code, row in enumerate(entries):
            row[code] += truth
        return self.design(entries)

    def numeric_report(
        self,
        values: Sequence[int],
        *,
        if_yes: Sequence[Fraction],
        if_no: Sequence[Fraction],
        mean_if_yes: Fraction,
        mean_if_no: Fraction,
    ) -> SurveyDesign:
        """A number: its distributions with and without the sensitive attribute, and their means.

        The estimate is (mean report - mean_if_no) / (mean_if_yes - mean_if_no).
        """
        columns = [if_yes if is_yes else if_no for is_yes in self.is_yes]
        entries = list(zip(*columns, strict=True))
        inverse = None
        if mean_if_yes != mean_if_no:
            difference = mean_if_yes - mean_if_no
            inverse = self._inverse([(value - mean_if_no) / difference for value in values])
        return self.design(entries, self._report_labels(values), inverse=inverse)

    def independent_answers(
        self,
        prob_yes: _Columns,
        *,
        classes: Sequence[Hashable] = (),
        inverse: _Columns | None = None,
    ) -> SurveyDesign:
        """One or more independent answers: P(yes) of each class (rows) to each question."""
        questions = len(prob_yes[0])
        entries = []
        for reported in product(self.is_yes, repeat=questions):
            row = []
            for class_prob_yes in prob_yes:
                each_prob = map(prob_of_answer, reported, class_prob_yes)
                row.append(prod(each_prob, start=Fraction(1)))
            entries.append(row)
        labels: Sequence[Hashable] = ()
        if questions > 1:
            labels = tuple(product(self._report_labels(self.domain.categories), repeat=questions))
        return self.design(entries, labels, classes=classes, inverse=inverse)

    # -- the matrix -----------------------------------------------------------------------------

    def design(
        self,
        entries: _Columns,
        reports: Sequence[Hashable] = (),
        *,
        classes: Sequence[Hashable] = (),
        inverse: _Columns | None = None,
    ) -> SurveyDesign:
        """The design of a matrix with rows for reports and columns for true answers.

        Parameters
        ----------
        entries : sequence of m rows
            P(report | class); columns sum to 1.
        reports : sequence of m hashables
            By default the categories, or the user's labels for them.
        classes : sequence of hashables
            By default the categories.
        inverse : sequence of rows
            The left inverse with which the design estimates; by default that of least variance.
        """
        domain = Categories(classes) if classes else self.domain
        if not reports and self.answers is not None:
            reports = self._report_labels(self.domain.categories)
        design = object.__new__(SurveyDesign)  # its constructor would look the name up
        vars(design).update(
            domain=domain,
            matrix=tuple(map(tuple, entries)),
            reports=Categories(reports) if reports else self.domain,
            shown=domain,
            codes_shown=tuple(range(domain.k)),
            inverse=None if inverse is None else tuple(map(tuple, inverse)),
            design=self.name,
            asked=self.domain,
            yes=self.yes,
            numbers=tuple(self.parameters.items()),
            answers=self.answers,
        )
        if not self.is_one_sample:
            warn_if_uninformative(design.channel)
        return design

    def _inverse(self, scores: Sequence[Fraction]) -> _Columns:
        """The left inverse of a score of each report with mean 1 for yes and 0 for no."""
        return [[prob_of_answer(is_yes, score) for score in scores] for is_yes in self.is_yes]

    def _report_labels(self, default: Sequence[Hashable]) -> Labels:
        """The user's labels of the reports, or the default ones."""
        if self.answers is None:
            return tuple(default)
        if self.answers.k != len(default):
            raise ArgumentValueError(
                f"reports must be {len(default)} labels, in the order of {quote_list(default)}, "
                f"found {self.answers.k}"
            )
        return self.answers.categories


def samples_of_pairs(parts: Mapping[Hashable, SurveyDesign]) -> Samples:
    """Samples whose classes are pairs; the first element of a pair is the category."""
    some_part = next(iter(parts.values()))
    pairs: Any = some_part.categories
    return Samples(parts, shows={pair: pair[0] for pair in pairs})


def prob_of_answer(is_yes: bool, prob_yes: Fraction) -> Fraction:
    """P(an answer) from P(yes)."""
    return prob_yes if is_yes else 1 - prob_yes


# -- arguments ----------------------------------------------------------------------------------


def sensitive_code(domain: Categories, yes: Hashable) -> int:
    """The code of the sensitive category."""
    if domain.k != 2:
        raise ArgumentValueError(
            f"categories must be two in this design, a yes and a no, found {domain.k}; "
            "for more categories use surveys.forced_response, KRR or MatrixDesign"
        )
    if yes is None and domain.kind == "bool":
        yes = True
    if yes is None or domain.code(yes) >= domain.k:
        raise ArgumentValueError(
            f"yes must be the sensitive one of {domain.describe()}, got {quote(yes)}"
        )
    return domain.code(yes)


def exact_probability(name: str, value: Probability, ends: str) -> Fraction:
    """A probability as an exact fraction of bounded length."""
    finite = number(value, name)
    check_probability(finite, name, ends)
    exact = Fraction(finite)
    if exact.denominator.bit_length() > _MAX_BITS:
        raise ArgumentValueError(f"{name} must be a fraction of at most 330 digits")
    return exact


def numbers_by_category(name: str, value: NumbersByCategory, domain: Categories) -> list[Any]:
    """The numbers of a list, or of a mapping by category, in the order of the categories."""
    if isinstance(value, Mapping | pd.Series):
        pairs = [(domain.code(label), entry) for label, entry in value.items()]
    else:
        rule = "a list of numbers, or a mapping such as {'no': 1/6, 'yes': 1/6}"
        check_instance(value, name, Iterable, rule)
        pairs = list(enumerate(numbers(value, name)))
    by_code = dict(pairs)
    if len(pairs) != domain.k or by_code.keys() != set(range(domain.k)):
        raise _wrong_numbers(name, value, len(pairs), f"the categories {domain.describe()}")
    return [by_code[code] for code in range(domain.k)]


def numbers_by_sample(name: str, value: NumbersBySample) -> dict[Any, Any]:
    """The number of each of at least two samples, by label."""
    if isinstance(value, Mapping | pd.Series):
        pairs = list(value.items())
    else:
        pairs = list(enumerate(numbers(value, name), start=1))
    by_label = dict(pairs)
    if len(by_label) < max(2, len(pairs)):
        raise _wrong_numbers(name, value, len(pairs), "at least 2 samples")
    return by_label


def groups_of_two(groups: Sequence[Hashable]) -> tuple[Hashable, Hashable]:
    """The labels of two samples, which must differ."""
    labels = tuple(groups)
    if len(set(labels)) != 2 or len(labels) != 2 or isinstance(groups, str):
        raise ArgumentValueError(
            "groups must be two different labels, of the control sample and of the treatment "
            f"sample, found {quote(groups)}"
        )
    first, second = labels
    return first, second


def _wrong_numbers(name: str, value: Any, count: int, each_of: str) -> ArgumentValueError:
    """The error of too few, too many or other labels."""
    labels: Any = count
    if isinstance(value, Mapping | pd.Series):
        labels = f"numbers for {quote_list(value.keys())}"
    return ArgumentValueError(f"{name} must have one number for each of {each_of}, found {labels}")
