"""The description of a survey design: its name, its categories and its few numbers.

What the respondent does is told in `surveys`, one function a design; the matrix that follows
from the numbers is in `survey_laws`.  For a design that is not among them bring its matrix to
`MatrixDesign`.
Law: that of the named design.  Epsilon is the worst ratio within a row of its matrix, infinite
where a report proves an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats.data import labels
from rrstats.data.categories import Domain
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.epsilon import epsilon_from_ratio
from rrstats.mechanisms.exact_numbers import found, from_json, listed, to_json
from rrstats.mechanisms.matrix_channel import MatrixChannel
from rrstats.mechanisms.matrix_design import MatrixDesign, check_codes, labels_of
from rrstats.mechanisms.survey_matrices import DESIGNS, Asked, Design, Law
from rrstats.mechanisms.verbs import Verbs, check_keys, count_codes
from rrstats.randomness.sources import Source
from rrstats.randomness.table_sampler import Lots

__all__ = ["SurveyDesign"]


@dataclass(frozen=True, init=False, repr=False)
class SurveyDesign(Verbs):
    """A design of survey practice by its name; usually made by a function of `rr.surveys`.

    design : the name of the function of `rr.surveys` that tells what the respondent does.
    categories : the possible answers; two of them, but for forced response and direct answers.
    yes : which of the two is the sensitive one; True where the categories are booleans.
    reports : labels of the reports, where they are not the categories: in the order of the
        categories, or of the numbers where reports are numbers.
    parameters : the design's numbers by name; Fractions stay exact, a double is the rational
        number that it is.
    Raises ArgumentValueError or ArgumentTypeError with the allowed range.

    ``domain`` are the true answers that `privatize` takes, in some designs finer classes than
    ``categories``, whose shares are estimated.
    The promise: P(y | truth) <= exp(m.epsilon) P(y | other truth) for every report y, with
    ``m.epsilon`` rounded up, infinite where a report proves an answer.
    Frozen and hashable; equal to another with the same labels and the same numbers.

    >>> m = SurveyDesign("warner", ["no", "yes"], yes="yes", prob_statement=0.7)
    >>> m.channel.matrix
    array([[0.7, 0.3],
           [0.3, 0.7]])
    """

    design: str
    asked: Domain
    yes_code: int | None
    numbers: tuple[tuple[str, Any], ...]
    answers: Domain | None

    def __init__(
        self,
        design: str,
        categories: object,
        *,
        yes: Hashable = None,
        reports: Any = None,
        **parameters: Any,
    ) -> None:
        described = _described(design)
        domain = Domain(categories)
        code = _yes_code(design, domain, yes, described.has_yes)
        answers = None if reports is None else labels_of(reports, "reports")
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "asked", domain)
        object.__setattr__(self, "yes_code", code)
        object.__setattr__(self, "answers", None if answers == domain else answers)
        _check_names(design, parameters)
        read = tuple(
            (name, check(parameters[name], name, self._question))
            for name, check in described.parameters.items()
        )
        object.__setattr__(self, "numbers", read)
        _ = self.domain, self.report_space  # checks what only all arguments together tell

    @property
    def _question(self) -> Asked:
        every = self.asked.categories
        sensitive = tuple(code == self.yes_code for code in range(self.asked.k))
        return Asked(every, sensitive, None if self.answers is None else self.answers.categories)

    @cached_property
    def _law(self) -> Law:
        exact = [
            [Fraction(each) for each in value] if isinstance(value, tuple) else Fraction(value)
            for _, value in self.numbers
        ]
        return DESIGNS[self.design].law(self._question, *exact)

    @property
    def parameters(self) -> dict[str, Any]:
        """The design's numbers by name."""
        return dict(self.numbers)

    @property
    def yes(self) -> Hashable:
        """The sensitive category; None in designs that treat all alike."""
        return None if self.yes_code is None else self.asked.categories[self.yes_code]

    @cached_property
    def domain(self) -> Domain:
        """The true answers: the categories, or the finer classes that the design tells apart."""
        return Domain(self._law.classes)

    @cached_property
    def report_space(self) -> Domain:
        """The reports."""
        return Domain(self._law.reports)

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """What is estimated: the categories, in their order."""
        return self.domain.categories if self._law.shows is None else self.asked.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return len(self.categories)

    @cached_property
    def channel(self) -> MatrixChannel:
        """The matrix of the design, with the design's own left inverse where it has one."""
        law = self._law
        own = None if law.inverse is None else tuple(map(tuple, law.inverse))
        return MatrixChannel(tuple(map(tuple, law.entries)), own, law.shows or ())

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report in nats, rounded up; infinite if it can prove one."""
        return epsilon_from_ratio(self.channel.max_likelihood_ratio)

    @cached_property
    def _lots(self) -> Lots:
        return Lots(self._law.entries, self.report_space.dtype)

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[Any]:
        """Reports of one block of true codes, as codes of the reports' type.

        codes : (rows,) of ``domain.dtype``.  Words are drawn without looking at them.
        """
        check_codes(codes, self.domain)
        return self._lots.draw(codes, source, block)

    def count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """How often each report occurs; shape (m,)."""
        return count_codes(reports, self.report_space.k)

    def showing(self, shows: Mapping[Any, Hashable] | None) -> MatrixDesign:
        """The same reports, read for other categories: a mapping from class to category.

        None : for the classes themselves, such as the unrelated trait.
        """
        return MatrixDesign(
            self.domain.categories,
            self._law.entries,
            reports=self.report_space.categories,
            shows=shows,
            # A design's own scores stay, where the classes are what it estimates.
            inverse=self._law.inverse if shows is None and self._law.shows is None else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON.

        >>> SurveyDesign("warner", [True, False], prob_statement=Fraction(2, 3)).to_dict()
        {'type': 'SurveyDesign', 'design': 'warner', 'categories': [{'bool': True}, \
{'bool': False}], 'yes': {'bool': True}, 'parameters': {'prob_statement': '2/3'}}
        """
        document: dict[str, Any] = {
            "type": "SurveyDesign",
            "design": self.design,
            "categories": labels.encode(self.asked.categories),
        }
        if self.yes_code is not None:
            (document["yes"],) = labels.encode([self.yes])
        document["parameters"] = {name: to_json(value) for name, value in self.numbers}
        if self.answers is not None:
            document["reports"] = labels.encode(self.answers.categories)
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> SurveyDesign:
        """The mechanism that `to_dict` described."""
        check_keys(document, ["design", "categories"], ["yes", "parameters", "reports"])
        parameters = document.get("parameters", {})
        if not isinstance(parameters, dict):
            raise MetadataError(
                f"parameters in a document must be a mapping, found {type(parameters).__name__}"
            )
        yes = labels.decode([document["yes"]])[0] if "yes" in document else None
        reports = labels.decode(document["reports"]) if "reports" in document else None
        design = document["design"]
        _check_names(design, parameters)
        read = {name: from_json(value) for name, value in parameters.items()}
        return cls(design, labels.decode(document["categories"]), yes=yes, reports=reports, **read)

    def _call(self) -> str:
        parts = [repr(self.design), self.asked.describe()]
        if self.yes_code is not None:
            parts.append(f"yes={self.yes!r}")
        for name, value in self.numbers:
            parts.append(f"{name}={list(value) if isinstance(value, tuple) else value!r}")
        if self.answers is not None:
            parts.append(f"reports={self.answers.describe()}")
        return f"SurveyDesign({', '.join(parts)})"


def _described(design: Any) -> Design:
    """The law of a named design; raises for a name that is none."""
    if not isinstance(design, str) or design not in DESIGNS:
        raise ArgumentValueError(f"design must be one of {sorted(DESIGNS)}, found {found(design)}")
    return DESIGNS[design]


def _check_names(design: str, parameters: dict[str, Any]) -> None:
    """Raise unless the numbers given are those that the design has."""
    needed = list(_described(design).parameters)
    if set(parameters) != set(needed):
        raise ArgumentTypeError(
            f"the design {design!r} has the parameters {needed}, found {listed(parameters)}"
        )


def _yes_code(design: str, domain: Domain, yes: Hashable, has_yes: bool) -> int | None:
    """The code of the sensitive one of two categories, in designs that have one."""
    if not has_yes:
        if yes is not None:
            raise ArgumentTypeError(
                f"yes has no meaning in the design {design!r}, which treats all categories alike"
            )
        return None
    if domain.k != 2:
        raise ArgumentValueError(
            f"categories must be two in the design {design!r}, a yes and a no, found {domain.k}; "
            "for more see surveys.forced_response, KRR and MatrixDesign"
        )
    if yes is None and domain.kind == "bool":
        yes = True
    if yes is None:
        raise ArgumentTypeError(
            f"yes must say which of {domain.describe()} is the sensitive one: yes=..."
        )
    code = domain.code(yes)
    if code >= domain.k:
        raise ArgumentValueError(f"yes must be one of {domain.describe()}, got {found(yes)}")
    return code
