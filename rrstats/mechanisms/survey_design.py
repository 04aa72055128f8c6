"""A survey design as data: a name, its parameters, the question, and the matrix they make.

The functions of `surveys` make designs; each is registered by a decorator, with the name and the
arguments that JSON documents store.  A document thus says "crosswise, 0.25", not only a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from rrstats._checks import check_instance, check_one_of, quote_list
from rrstats._typing import Array, CategoriesLike, JsonObject, Labels
from rrstats.data.categories import Categories
from rrstats.data.category_json import categories_to_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Mechanism, call_text, is_mechanism
from rrstats.mechanisms.decks import Deck
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.randomness.sources import Source

_DECK_ARGUMENTS = {("garbling", "yes"): "into", ("forced_response_deck", "yes"): ""}
"""Names of arguments of functions that differ from those of documents; "" for one that has none."""


@dataclass(frozen=True, init=False, repr=False)
class SurveyDesign(MatrixDesign):
    """A survey design with its name and parameters; the functions of `rr.surveys` make it.

    It is immutable and hashable; two are equal if their names, labels and parameters are.

    Parameters
    ----------
    design : str
        The name of a function of `rr.surveys`.
    categories : sequence of hashables
        The possible answers: two, except for forced response and direct answers.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of hashables, optional
        Labels of the reports, if they are not the categories.
    **parameters
        The parameters of the design.  Fractions stay exact; a double is used as an exact rational
        number.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        The message gives the allowed range.

    Examples
    --------
    >>> m = SurveyDesign("warner", ["no", "yes"], yes="yes", prob_statement=0.7)
    >>> m.channel.matrix
    array([[0.7, 0.3],
           [0.3, 0.7]])
    """

    design: str
    asked: Categories
    yes: Hashable
    numbers: tuple[tuple[str, Any], ...]
    answers: Categories | None

    def __init__(
        self,
        design: str,
        categories: CategoriesLike,
        *,
        yes: Hashable = None,
        reports: Any = None,
        **parameters: Any,
    ) -> None:
        same = SurveyDesign.from_parameters(design, categories, parameters, yes, reports)
        vars(self).update(vars(same))

    @staticmethod
    def from_parameters(
        design: Any,
        categories: CategoriesLike,
        parameters: Any = None,
        yes: Any = None,
        reports: Any = None,
    ) -> SurveyDesign:
        """The design of a JSON document, which has all parameters under ``parameters``."""
        registered = DESIGNS[check_one_of(design, "design", sorted(DESIGNS))]
        arguments = dict(check_instance(parameters or {}, "parameters", Mapping, "a mapping"))
        if "yes" in registered.arguments or yes is not None:
            arguments["yes"] = yes
        if set(arguments) != set(registered.arguments):
            raise ArgumentTypeError(
                f"the design {design!r} has the parameters {list(registered.arguments)}, "
                f"found {quote_list(arguments)}"
            )
        return registered.make(categories, reports=reports, **arguments)

    @property
    def parameters(self) -> JsonObject:
        """The parameters of the design by name."""
        return dict(self.numbers)

    @property
    def _arguments(self) -> JsonObject:
        arguments: JsonObject = {"design": self.design, "categories": self.asked}
        if self.yes is not None:
            arguments["yes"] = self.yes
        arguments["parameters"] = self.parameters
        if self.answers is not None:
            arguments["reports"] = self.answers
        return arguments

    def _call(self, name: str = "") -> str:
        """The call of the public function; a sample of a design has none.

        >>> from rrstats import surveys
        >>> surveys.warner([True, False], 0.75)
        surveys.warner([True, False], yes=True, prob_statement=0.75)  # epsilon 1.099 per report
        """
        if self.deck is None and DESIGNS[self.design].make.__name__ != self.design:
            return super()._call(name)
        arguments = {}
        for argument, value in self._arguments.items():
            arguments[_DECK_ARGUMENTS.get((self.design, argument), argument)] = value
        del arguments["design"]
        arguments.pop("", None)
        return call_text(f"surveys.{self.design.removesuffix('_deck')}", arguments)

    @property
    def deck(self) -> Deck | None:
        """The cards that a block shares without replacement; None if every report has its coins."""
        parameters = self.parameters
        if "deck" not in parameters:
            return None
        code = self.asked.code(self.yes)
        size = parameters["deck"]
        if self.design == "warner_deck":
            truth = Fraction(parameters["prob_statement"])
            return Deck(code, size, truth, opposite=1 - truth)
        if self.design == "garbling":
            rate = Fraction(parameters["rate"])
            return Deck(code, size, 1 - rate, yes=rate)
        forced = [Fraction(share) for share in parameters["prob_forced"]]
        return Deck(code, size, 1 - sum(forced, Fraction(0)), yes=forced[code], no=forced[1 - code])

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Randomize one block of true codes, as `MatrixDesign` does; refuse where cards are dealt.

        Raises
        ------
        ArgumentValueError
            Cards are dealt without replacement.
        """
        if self.deck is not None:
            raise ArgumentValueError(
                "mechanism must give local privacy; with cards dealt without replacement the "
                "number of garbled answers is fixed, so that the other answers and the reports may "
                "prove a yes"
            )
        return super().randomize(codes, source, block)

    def to_dict(self) -> JsonObject:
        """The mechanism as plain JSON.

        >>> from fractions import Fraction
        >>> SurveyDesign("warner", [True, False], prob_statement=Fraction(2, 3)).to_dict()
        {'type': 'SurveyDesign', 'design': 'warner', 'categories': [{'bool': True}, \
{'bool': False}], 'yes': {'bool': True}, 'parameters': {'prob_statement': '2/3'}}
        """
        document = super().to_dict()
        if self.yes is not None:
            (document["yes"],) = categories_to_json([self.yes])
        return document


@dataclass(frozen=True)
class RegisteredDesign:
    """The function that makes a design, and its arguments in a document.

    Attributes
    ----------
    make : callable
        It takes ``categories``, ``reports=`` and the arguments below by name.
    arguments : tuple of str
        The names of all parameters, and "yes" if the design has a sensitive category.
    """

    make: Callable[..., SurveyDesign]
    arguments: tuple[str, ...]


@runtime_checkable
class NamedDesign(Protocol):
    """A survey design that has a name and a question; a matrix has neither."""

    design: str
    asked: Categories
    answers: Categories | None
    yes: Hashable

    @property
    def parameters(self) -> JsonObject:
        """The parameters of the design by name."""

    @property
    def deck(self) -> Deck | None:
        """The cards that a block shares without replacement."""


def asked_categories(mechanism: Mechanism) -> Labels:
    """The answers to the question; the categories of a design may be classes of people."""
    answers = mechanism.asked if isinstance(mechanism, NamedDesign) else mechanism.domain
    return answers.categories


def truthful_categories(mechanism: Mechanism) -> Labels:
    """The categories that are true answers: all but classes of people who do not follow.

    Those who always give one report, cheaters and the inattentive are classes of some designs.
    """
    part = mechanism.of_samples[0]
    if not isinstance(part, NamedDesign):
        return mechanism.categories
    answers = part.asked.categories
    return tuple(category for category in mechanism.categories if category in answers)


class ListSamples(NamedTuple):
    """A list experiment.

    items : control items.  control, treatment : the places of these samples.
    categories : of the sensitive item, no and yes.
    """

    items: int
    control: int
    treatment: int
    categories: tuple[Hashable, Hashable]


def list_samples(mechanism: object) -> ListSamples:
    """The samples of a list experiment; raises ArgumentValueError for other mechanisms.

    >>> import rrstats as rr
    >>> list_samples(rr.surveys.list_experiment(3))
    ListSamples(items=3, control=0, treatment=1, categories=('no', 'yes'))
    """
    of_samples = mechanism.of_samples if is_mechanism(mechanism) else ()
    parts = [part for part in of_samples if isinstance(part, NamedDesign)]
    designs = [part.design for part in parts]
    items: set[Any] = {part.parameters.get("items") for part in parts}
    samples = ["list_experiment_control", "list_experiment_treatment"]
    if sorted(designs) != samples or len(of_samples) != 2 or len(items) != 1:
        raise ArgumentValueError(
            "mechanism must be a list experiment, rr.surveys.list_experiment(items), found "
            f"{type(mechanism).__name__}"
        )
    answers = parts[0].asked.categories
    no, yes = sorted(answers, key=lambda category: bool(category == parts[0].yes))
    control, treatment = map(designs.index, samples)
    return ListSamples(items.pop(), control, treatment, (no, yes))


DESIGNS: dict[str, RegisteredDesign] = {}
"""The designs by their name in documents; importing `surveys` fills it."""

_Make = TypeVar("_Make", bound=Callable[..., SurveyDesign])


def survey_design(name: str, *arguments: str) -> Callable[[_Make], _Make]:
    """Register the function below as the design of this name; the function itself is unchanged.

    Documents store the name and the arguments: once released, they never change.

    Parameters
    ----------
    name : str
        The name in documents, which the function gives to its `DesignBuilder`.
    *arguments : str
        As for `RegisteredDesign`.
    """

    def register(make: _Make) -> _Make:
        DESIGNS[name] = RegisteredDesign(make, arguments)
        return make

    return register
