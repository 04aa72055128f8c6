"""Survey designs by name, each with its procedure, parameters, formulas and epsilon.

A design has two uses.  After a survey in the field with cards, dice or birthdays only the reports
exist, and ``rr.estimate(reports, m)`` estimates the proportions.  If true answers exist,
``rr.privatize(answers, m)`` applies the design to them.

    m = rr.surveys.warner(["no", "yes"], yes="yes", prob_statement=0.7)
    rr.estimate(reports, m)

Each function builds one design from its parameters; the transition probabilities are exact.  A
parameter is named by the event whose probability it is, because authors and packages use different
letters.  ``yes`` is the sensitive category (by default True if the categories are booleans);
``reports`` are the labels of the reports if these differ from the categories, in the same order.
In all designs with two answers P(report yes) = c + d * (true proportion of yes), and the estimate
is (reported proportion - c) / d.  Estimates outside [0, 1] are not moved; RRreg 0.7.6 moves them
to the boundary and then prints a standard error of 2e-6 instead of 0.08.

Some designs distinguish more classes of respondents than categories (the unrelated trait,
cheaters, inattentive people).  For these `privatize` takes the classes ``m.domain.categories``.
In three designs a report is a pair of answers: `unrelated_question_two_answers`,
`mangat_singh_singh_two_answers` and `crosswise_with_anchor`; make reports from two columns of a
frame by ``list(zip(df.first, df.second))``.
Three designs assign people randomly to two samples, and ``group=`` gives the sample of each report:
`unrelated_question_two_samples`, `cheater_detection` and `stochastic_lie_detector`.
Sources: see each function; Chaudhuri (2011) and Blair, Imai and Zhou (2015) compare designs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress, product
from math import comb, prod
from typing import Any, cast

import pandas as pd

from rrstats._checks import (
    check_instance,
    check_one_of,
    check_probability,
    check_whole_number,
    quote,
    quote_list,
)
from rrstats.data.categories import Categories, categories_to_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import warn_if_uninformative
from rrstats.mechanisms.channel import normalized, number, numbers
from rrstats.mechanisms.matrix_design import MatrixDesign, labels_of
from rrstats.mechanisms.samples import Samples

Labels = Sequence[Hashable] | None
"""Labels of the reports; None means the categories, or the numbers if reports are numbers."""

Each = Mapping[Any, Any] | Sequence[Any]
"""A number for each sample: a mapping or Series by label, or a list for samples 1, 2, ..."""

_Columns = Sequence[Sequence[Fraction]]

_MOST_DRAWS = 100
_MOST_BITS = 1100
_HALF = Fraction(1, 2)
_TRAIT = (True, False)


@dataclass(frozen=True, init=False, repr=False)
class SurveyDesign(MatrixDesign):
    """A survey design with its name and parameters; the functions of this module make it.

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
        categories: object,
        *,
        yes: Hashable = None,
        reports: Any = None,
        **parameters: Any,
    ) -> None:
        made = SurveyDesign.from_parameters(design, categories, parameters, yes, reports)
        vars(self).update(vars(made))

    @staticmethod
    def from_parameters(
        design: Any, categories: Any, parameters: Any = None, yes: Any = None, reports: Any = None
    ) -> SurveyDesign:
        """The design of a JSON document, which has all parameters under ``parameters``."""
        make = _DESIGNS[check_one_of(design, "design", sorted(_DESIGNS))]
        given = check_instance(parameters or {}, "parameters", Mapping, "a mapping")
        known = inspect.signature(make).parameters
        names = [name for name in known if name not in ("categories", "reports")]
        if "yes" in names or yes is not None:
            given = {**given, "yes": yes}
        if set(given) != set(names):
            raise ArgumentTypeError(
                f"the design {design!r} has the parameters {names}, found {quote_list(given)}"
            )
        return make(categories, reports=reports, **given)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the design by name."""
        return dict(self.numbers)

    @property
    def _arguments(self) -> dict[str, Any]:
        given: dict[str, Any] = {"design": self.design, "categories": self.asked}
        if self.yes is not None:
            given["yes"] = self.yes
        given["parameters"] = self.parameters
        return given if self.answers is None else given | {"reports": self.answers}

    def to_dict(self) -> dict[str, Any]:
        """The mechanism as plain JSON.

        >>> SurveyDesign("warner", [True, False], prob_statement=Fraction(2, 3)).to_dict()
        {'type': 'SurveyDesign', 'design': 'warner', 'categories': [{'bool': True}, \
{'bool': False}], 'yes': {'bool': True}, 'parameters': {'prob_statement': '2/3'}}
        """
        document = super().to_dict()
        if self.yes is not None:
            (document["yes"],) = categories_to_json([self.yes])
        return document


# -- one sample asked alone ----------------------------------------------------------------------


def direct(categories: object, *, reports: Labels = None) -> SurveyDesign:
    """Direct questioning: the report is the true answer.

    Epsilon is infinite: there is no protection.  Use it to include a sample of direct answers
    among others: ``{"direct": direct(...), ...}``.

    Parameters
    ----------
    categories : sequence of hashables
        The possible answers.
    reports : sequence of hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Examples
    --------
    >>> import rrstats as rr
    >>> rr.estimate(["yes", "no", "no", "no"], direct(["no", "yes"])).proportions
    array([0.75, 0.25])
    """
    question = _Question("direct", categories, reports)
    return question.forced(Fraction(1), [Fraction(0)] * question.domain.k)


def forced_response(
    categories: object,
    prob_truth: Any,
    prob_forced: Any,
    *,
    reports: Labels = None,
) -> SurveyDesign:
    """Forced response: a die asks for the true answer, or dictates one of the k answers.

    Parameters
    ----------
    categories : sequence of k hashables
        The possible answers.
    prob_truth : number
        P(the respondent is asked for the true answer).
    prob_forced : sequence, mapping or Series of k numbers
        P(each answer is dictated), in the order of the categories or by category.  These numbers
        and prob_truth must sum to 1 within 1e-9; they are then normalized exactly.
    reports : sequence of hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    P(report v | truth v) = prob_truth + prob_forced[v], P(report v | other) = prob_forced[v];
    for a yes c = P(forced yes), d = prob_truth.  epsilon = ln((prob_truth + f) / f) with the
    smallest f; it is infinite if an answer is never dictated, because that report is then true.
    RRreg 0.7.6 (`FR`) prints a wrong log-likelihood.

    References
    ----------
    Boruch (1971); Himmelfarb (2008) for k categories.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = forced_response(["no", "yes"], prob_truth=4/6, prob_forced={"no": 1/6, "yes": 1/6})
    >>> rr.estimate(["no"] * 1604 + ["yes"] * 831, m).proportions.round(4)
    array([0.7381, 0.2619])
    """
    question = _Question("forced_response", categories, reports)
    truth = question.chance("[]", prob_truth=prob_truth)
    by_code = _by_label(prob_forced, "prob_forced", question.domain)
    forced = question.chances("[]", prob_forced=[by_code[code] for code in sorted(by_code)])
    truth, *forced = normalized([truth, *forced], "prob_truth and prob_forced together")
    return question.forced(truth, forced)


def two_coin(categories: object, *, yes: Hashable = None, reports: Labels = None) -> SurveyDesign:
    """Two coins: after heads answer truthfully; after tails a second coin dictates yes or no.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = 1/4, d = 1/2, so the true proportion of yes is 2 P(report yes) - 1/2; epsilon = ln 3.
    The design is forced response with probabilities 1/2, 1/4, 1/4; a common classroom example is
    a survey on breaches of an honour code.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = two_coin([False, True])
    >>> rr.estimate([True] * 35 + [False] * 65, m).proportions.round(3), round(m.epsilon, 3)
    (array([0.8, 0.2]), 1.099)
    """
    question = _Question("two_coin", categories, reports, yes)
    return question.yes_or_no(Fraction(3, 4), Fraction(1, 4))


def warner(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Warner's design: a card asks about the sensitive attribute, or else about its absence.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_statement : number
        P(the card asks for the sensitive attribute), in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    A report of yes means that the statement on the card is true for the respondent.
    c = 1 - p, d = 2p - 1; epsilon = abs(ln(p / (1 - p))); p = 1/2 gives no information.

    References
    ----------
    Warner (1965).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = warner(["no", "yes"], 0.7, yes="yes")
    >>> rr.estimate(["yes"] * 60 + ["no"] * 65, m).proportions.round(3)
    array([0.55, 0.45])
    """
    question = _Question("warner", categories, reports, yes)
    p = question.chance(prob_statement=prob_statement)
    return question.yes_or_no(p, 1 - p)


def disguised_response(
    categories: object, prob_red: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Disguised response: the respondent reports a card's colour from one of two mirrored stacks.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_red : number
        The proportion of red cards in the stack for people with the sensitive answer, in (0, 1);
        the other stack has 1 - prob_red.  Nobody sees which stack the respondent uses.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports: ``["black", "red"]`` for the categories ["no", "yes"].

    Returns
    -------
    SurveyDesign

    Notes
    -----
    A report of red counts as yes.  As in `warner`, c = 1 - p, d = 2p - 1;
    epsilon = abs(ln(p / (1 - p))).

    References
    ----------
    Kuk (1990); Blair, Imai and Zhou (2015).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = disguised_response(["no", "yes"], 0.8, yes="yes", reports=["black", "red"])
    >>> rr.estimate(["red"] * 30 + ["black"] * 70, m).proportions.round(3)
    array([0.833, 0.167])
    """
    question = _Question("disguised_response", categories, reports, yes)
    p = question.chance(prob_red=prob_red)
    return question.yes_or_no(p, 1 - p)


def crosswise(
    categories: object, prob_unrelated: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Crosswise model: report only whether the answers to two questions are the same.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_unrelated : number
        P(yes) to the unrelated question ("Were you born in January?"), in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports: ``["different", "same"]`` for the categories ["no", "yes"].

    Returns
    -------
    SurveyDesign

    Notes
    -----
    A report of *same* counts as yes; in RRreg and GLMMRR 1 also means *same*.
    P(same | yes) = p, P(same | no) = 1 - p: c = 1 - p, d = 2p - 1, negative for p < 1/2;
    epsilon = abs(ln(p / (1 - p))).  No report proves a no, so there is less reason to cheat.
    `crosswise_with_anchor` corrects for inattentive respondents.

    References
    ----------
    Yu, Tian and Tang (2008).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = crosswise(["no", "yes"], 0.25, yes="yes", reports=["different", "same"])
    >>> rr.estimate(["same"] * 65 + ["different"] * 35, m).proportions.round(3)
    array([0.8, 0.2])
    """
    question = _Question("crosswise", categories, reports, yes)
    p = question.chance(prob_unrelated=prob_unrelated)
    return question.yes_or_no(p, 1 - p)


def triangular(
    categories: object, prob_unrelated: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Triangular model: report a circle for no to both questions, otherwise a triangle.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_unrelated : number
        P(yes) to the unrelated question, in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports: ``["circle", "triangle"]`` for the categories ["no", "yes"].

    Returns
    -------
    SurveyDesign

    Notes
    -----
    A report of *triangle* counts as yes: c = p, d = 1 - p.  Epsilon is infinite because a circle
    proves a no.  People with the sensitive attribute are still protected:
    P(triangle | yes) / P(triangle | no) = 1 / p.

    References
    ----------
    Yu, Tian and Tang (2008).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = triangular([False, True], 0.25)
    >>> rr.estimate([True] * 40 + [False] * 60, m).proportions.round(3), m.epsilon
    (array([0.8, 0.2]), inf)
    """
    question = _Question("triangular", categories, reports, yes)
    p = question.chance(prob_unrelated=prob_unrelated)
    return question.yes_or_no(Fraction(1), p)


def unrelated_question(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Unrelated question: a card asks the sensitive question, or one of known prevalence.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : number
        P(the card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : number
        P(yes) to the unrelated question, in [0, 1].
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = (1 - p) a, d = p; epsilon = ln of the larger of (p + c) / c and (1 - c) / (1 - p - c),
    infinite for a = 0 or a = 1.  This epsilon holds against people who do not know the
    respondent's unrelated answer; for others see `unrelated_question_two_samples`.

    References
    ----------
    Horvitz, Shah and Simmons (1967); Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = unrelated_question([False, True], 0.5, 1/12)
    >>> rr.estimate([True] * 328 + [False] * 382, m).proportions.round(4)
    array([0.1594, 0.8406])
    """
    question = _Question("unrelated_question", categories, reports, yes)
    p = question.chance(prob_sensitive=prob_sensitive)
    a = question.chance("[]", prob_yes_unrelated=prob_yes_unrelated)
    return question.yes_or_no(p + (1 - p) * a, (1 - p) * a)


def soberanis_cruz(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Unrelated question with an innocuous variable that is related to the sensitive one.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : number
        P(the card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : number
        P(yes) to the unrelated question, in [0, 1].
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    The formulas are those of `unrelated_question`, as in RRTCS.  They hold if the prevalence of
    the innocuous answer is the same among people with and without the sensitive attribute.

    References
    ----------
    Soberanis Cruz, Ramirez Valverde, Perez Elizalde and Gonzalez Cossio (2008).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = soberanis_cruz([False, True], 0.7, 0.5)
    >>> rr.estimate([True] * 71 + [False] * 219, m).proportions.round(4)
    array([0.8645, 0.1355])
    """
    question = _Question("soberanis_cruz", categories, reports, yes)
    p = question.chance(prob_sensitive=prob_sensitive)
    a = question.chance("[]", prob_yes_unrelated=prob_yes_unrelated)
    return question.yes_or_no(p + (1 - p) * a, (1 - p) * a)


def mangat(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Mangat's design of 1994: people with the attribute say yes, others use Warner's cards.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_statement : number
        P(the card asks for the sensitive attribute, so that people without it truthfully say no),
        in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = 1 - p, d = p.  Epsilon is infinite because a report of no proves a no.  For a report of
    yes, P(yes | yes) / P(yes | no) = 1 / (1 - p).

    References
    ----------
    Mangat (1994).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = mangat([False, True], 0.7)
    >>> rr.estimate([True] * 450 + [False] * 550, m).proportions.round(4)
    array([0.7857, 0.2143])
    """
    question = _Question("mangat", categories, reports, yes)
    p = question.chance(prob_statement=prob_statement)
    return question.yes_or_no(Fraction(1), 1 - p)


def devore(
    categories: object, prob_sensitive: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Devore's design: a card asks the sensitive question, or one whose answer is always yes.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : number
        P(the card asks the sensitive question), in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = 1 - p, d = p, as in `mangat`.  Epsilon is infinite because a report of no proves a no.

    References
    ----------
    Devore (1977).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = devore([False, True], 0.7)
    >>> rr.estimate([True] * 218 + [False] * 22, m).proportions.round(4)
    array([0.131, 0.869])
    """
    question = _Question("devore", categories, reports, yes)
    p = question.chance(prob_sensitive=prob_sensitive)
    return question.yes_or_no(Fraction(1), 1 - p)


def mangat_singh(
    categories: object,
    prob_truth: Any,
    prob_statement: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Two stages: a first card asks for the true answer, or leads to Warner's cards.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_truth : number
        P(the first card asks for the truth), in [0, 1); RRTCS calls it t.
    prob_statement : number
        P(the second card asks for the sensitive attribute), in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = (1 - t)(1 - p), d = t + (1 - t)(2p - 1); epsilon = abs(ln((1 - c) / c)).

    References
    ----------
    Mangat and Singh (1990).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = mangat_singh([False, True], 0.55, 0.7)
    >>> rr.estimate([True] * 100 + [False] * 140, m).proportions.round(4)
    array([0.6142, 0.3858])
    """
    question = _Question("mangat_singh", categories, reports, yes)
    t = question.chance("[)", prob_truth=prob_truth)
    p = question.chance(prob_statement=prob_statement)
    return question.yes_or_no(t + (1 - t) * p, (1 - t) * (1 - p))


def mangat_unrelated_question(
    categories: object,
    prob_truth: Any,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Two stages: a first card asks for the true answer, or leads to the unrelated question.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_truth : number
        P(the first card asks for the truth), in [0, 1); RRTCS calls it t.
    prob_sensitive : number
        P(the second card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : number
        P(yes) to the unrelated question, in [0, 1].
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = (1 - t)(1 - p) a, d = t + (1 - t) p; epsilon = ln of the larger of (c + d) / c and
    (1 - c) / (1 - c - d), infinite for a = 0 or a = 1.

    References
    ----------
    Mangat (1992), called `Mangat` in RRTCS; the function `mangat` here is the design of 1994.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = mangat_unrelated_question([False, True], 0.55, 0.7, 0.5)
    >>> rr.estimate([True] * 120 + [False] * 120, m).proportions.round(4)
    array([0.5, 0.5])
    """
    question = _Question("mangat_unrelated_question", categories, reports, yes)
    t = question.chance("[)", prob_truth=prob_truth)
    p = question.chance(prob_sensitive=prob_sensitive)
    a = question.chance("[]", prob_yes_unrelated=prob_yes_unrelated)
    c = (1 - t) * (1 - p) * a
    return question.yes_or_no(c + t + (1 - t) * p, c)


def mangat_singh_singh(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """People with the attribute say yes; others draw the sensitive or the unrelated question.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : number
        P(the card asks the sensitive question, so that the answer is no), in (0, 1).
    prob_yes_unrelated : number
        P(yes) to the unrelated question, in [0, 1].
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = (1 - p) a, d = 1 - (1 - p) a.  Epsilon is infinite because a report of no proves a no.

    References
    ----------
    Mangat, Singh and Singh (1992).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = mangat_singh_singh([False, True], 0.6, 0.5)
    >>> rr.estimate([True] * 203 + [False] * 599, m).proportions.round(4)
    array([0.9336, 0.0664])
    """
    question = _Question("mangat_singh_singh", categories, reports, yes)
    p = question.chance(prob_sensitive=prob_sensitive)
    a = question.chance("[]", prob_yes_unrelated=prob_yes_unrelated)
    return question.yes_or_no(Fraction(1), (1 - p) * a)


def singh_joarder(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Warner's cards, with a second draw for people with the attribute whose first asks otherwise.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_statement : number
        P(a card asks for the sensitive attribute), in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = 1 - p, P(yes | yes) = p + (1 - p) p, so d = 2p - 1 + p (1 - p); epsilon = ln of the
    larger of (2 - p) p / (1 - p) and p / (1 - p)^2, or of their inverses.

    References
    ----------
    Singh and Joarder (1997).  The numbers agree with RRTCS's formula; its help text describes a
    different draw.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = singh_joarder([False, True], 0.6)
    >>> rr.estimate([True] * 93 + [False] * 77, m).proportions.round(4)
    array([0.6658, 0.3342])
    """
    question = _Question("singh_joarder", categories, reports, yes)
    p = question.chance(prob_statement=prob_statement)
    return question.yes_or_no(p + (1 - p) * p, 1 - p)


def kuk(
    categories: object,
    prob_red_if_yes: Any,
    prob_red_if_no: Any,
    draws: int = 1,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Kuk's design: the respondent reports the number of red cards drawn from one of two stacks.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_red_if_yes, prob_red_if_no : number
        The proportions of red cards in the stack for people with the sensitive attribute and in
        the stack for others, in [0, 1].
    draws : int
        The number of cards, with replacement, up to 100.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of hashables, optional
        Labels of the reports, for 0, 1, ..., draws red cards.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    The number is binomial; for one draw c = prob_red_if_no, d = prob_red_if_yes - prob_red_if_no.
    As Kuk's estimate, this one uses the mean number of red cards.  epsilon = draws times that of
    one draw, the largest abs(ln) of the likelihood ratios of red and of black; it is infinite if
    exactly one stack lacks a colour.
    A report of 0 red cards is possible; RRTCS 0.0.4 refuses it.

    References
    ----------
    Kuk (1990).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = kuk([False, True], 0.7, 0.3, draws=4)
    >>> counts = [120, 260, 300, 210, 110]
    >>> reports = [red for red, n in enumerate(counts) for _ in range(n)]
    >>> rr.estimate(reports, m).proportions.round(5)
    array([0.54375, 0.45625])
    """
    question = _Question("kuk", categories, reports, yes)
    if_yes = question.chance("[]", prob_red_if_yes=prob_red_if_yes)
    if_no = question.chance("[]", prob_red_if_no=prob_red_if_no)
    question.numbers["draws"] = draws = check_whole_number(draws, "draws", 1, _MOST_DRAWS)
    red, counts = [if_yes if s else if_no for s in question.sensitive], range(draws + 1)
    entries = [[comb(draws, c) * p**c * (1 - p) ** (draws - c) for p in red] for c in counts]
    inverse = question.left_inverse([Fraction(c, draws) - if_no for c in counts], if_yes - if_no)
    return question.design(entries, question.labels(counts), inverse=inverse)


def christofides(
    categories: object,
    prob_marks: Sequence[Any],
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Christofides' design: report a card's mark z in 1 .. m, or m + 1 - z with the attribute.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_marks : sequence of m numbers
        The proportions of cards marked 1 .. m, with m at least 2; they sum to 1 within 1e-9.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of m hashables, optional
        Labels of the reports, for the marks 1, 2, ...

    Returns
    -------
    SurveyDesign

    Notes
    -----
    P(z | no) = prob_marks[z], P(z | yes) = prob_marks[m + 1 - z].  The estimate uses the mean
    report: (mean of z - mu) / (m + 1 - 2 mu), where mu is the mean mark of the cards.
    epsilon = the largest abs(ln(prob_marks[z] / prob_marks[m + 1 - z])).

    References
    ----------
    Christofides (2003).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = christofides([False, True], [0.1, 0.2, 0.3, 0.2, 0.2])
    >>> reports = [1 + z for z, n in enumerate([21, 27, 49, 34, 19]) for _ in range(n)]
    >>> rr.estimate(reports, m).proportions.round(4)
    array([0.55, 0.45])
    """
    question = _Question("christofides", categories, reports, yes)
    deck = normalized(question.chances("[]", prob_marks=prob_marks), "prob_marks")
    marks, turned = range(1, len(deck) + 1), deck[::-1]
    entries = [[(turned if s else deck)[mark - 1] for s in question.sensitive] for mark in marks]
    mean = sum((mark * p for mark, p in zip(marks, deck, strict=True)), Fraction(0))
    inverse = question.left_inverse([mark - mean for mark in marks], len(deck) + 1 - 2 * mean)
    return question.design(entries, question.labels(marks), inverse=inverse)


# -- two answers of one person ------------------------------------------------------------------


def unrelated_question_two_answers(
    categories: object,
    prob_sensitive: Sequence[Any],
    *,
    prob_truth: Any = 0,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Unrelated question of unknown prevalence: each person draws from two boxes.

    Reports are pairs: (answer for the first box, answer for the second).  `privatize` takes the
    classes ``m.domain.categories``, pairs of the category and whether the person has the
    innocuous trait: ("yes", True), ("yes", False), ...

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : sequence of 2 numbers
        The proportion of cards with the sensitive question in each box, in (0, 1), not equal.
    prob_truth : number
        P(a first card asks for the true answer before the box is used), in [0, 1), drawn anew for
        each answer.  Above 0 this is the two-stage design of Mangat (1992).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of one answer.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    Answers are independent, P(yes) = t x + (1 - t)(p x + (1 - p) y) for x, y in 0, 1; the
    score ((1 - p2) I - (1 - p1) J) / (p1 - p2) is unbiased for any prevalence of y.
    Epsilon is infinite: a reader who knows the respondent's innocuous trait learns the true
    answer from an answer that contradicts the trait.

    References
    ----------
    Chaudhuri (2011), p. 42 and 53; RRTCS `HorvitzUB`, `MangatUB`.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = unrelated_question_two_answers([0, 1], [0.6, 0.7], yes=1)
    >>> counts = {(0, 0): 134, (0, 1): 9, (1, 0): 15, (1, 1): 30}
    >>> reports = [pair for pair, n in counts.items() for _ in range(n)]
    >>> rr.estimate(reports, m).proportions.round(4)
    array([0.8883, 0.1117])
    """
    question = _Question("unrelated_question_two_answers", categories, reports, yes)
    boxes = question.chances(prob_sensitive=prob_sensitive)
    t = question.chance("[)", prob_truth=prob_truth)
    return question.twice(
        boxes,
        lambda sensitive, trait, p: t * sensitive + (1 - t) * (p * sensitive + (1 - p) * trait),
    )


def mangat_singh_singh_two_answers(
    categories: object,
    prob_sensitive: Sequence[Any],
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """`mangat_singh_singh` with an unknown prevalence: each person draws from two boxes.

    Reports are pairs of answers.  `privatize` takes the classes ``m.domain.categories``, pairs of
    category and trait: ("yes", True), ...  The score is that of `unrelated_question_two_answers`.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : sequence of 2 numbers
        The proportion of cards with the sensitive question in each box, in (0, 1), not equal.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of one answer.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    People with the sensitive attribute report (yes, yes); others give independent answers with
    P(yes) = (1 - p) y.  Epsilon is infinite because any report of no proves a no.

    References
    ----------
    Chaudhuri (2011), p. 54; RRTCS `MangatSinghSinghUB`.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = mangat_singh_singh_two_answers([0, 1], [0.6, 0.8], yes=1)
    >>> counts = {(0, 0): 113, (0, 1): 11, (1, 0): 35, (1, 1): 341}
    >>> reports = [pair for pair, n in counts.items() for _ in range(n)]
    >>> rr.estimate(reports, m).proportions.round(4)
    array([0.344, 0.656])
    """
    question = _Question("mangat_singh_singh_two_answers", categories, reports, yes)
    return question.twice(
        question.chances(prob_sensitive=prob_sensitive),
        lambda sensitive, trait, p: Fraction(1) if sensitive else (1 - p) * trait,
    )


def crosswise_with_anchor(
    categories: object,
    prob_unrelated: Any,
    prob_unrelated_anchor: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Crosswise model with an anchor: a second pair whose sensitive answer is no for everybody.

    Reports are pairs: (answer, answer to the anchor); *same* counts as yes, as in `crosswise`.
    `privatize` takes ``m.domain.categories``, for example ("no", "yes", "inattentive"): the
    attentive people of each category, and people who choose either answer with probability 1/2
    without reading.  The proportions of these classes are estimated.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_unrelated, prob_unrelated_anchor : number
        P(yes) to the unrelated question of each pair, in (0, 1).
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of one answer.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    Attentive people report *same* with probability p (yes) or 1 - p (no), and 1 - p' for the
    anchor.  The estimate uses the two margins: attentive yes minus attentive no is
    (P(same) - 1/2) / (p - 1/2), their sum (P(same for the anchor) - 1/2) / (1/2 - p').
    The prevalence corrected for inattention is the proportion of yes among attentive people.
    Epsilon is the largest over all three classes, so it also covers who paid attention.

    References
    ----------
    Atsusaka and Stevenson (2023).

    Examples
    --------
    >>> import pandas as pd, rrstats as rr
    >>> m = crosswise_with_anchor([0, 1], 0.15, 0.15, yes=1)
    >>> m.categories, round(m.epsilon, 4)
    ((0, 1, 'inattentive'), 2.4079)
    >>> df = pd.DataFrame({"z": [1] * 70 + [0] * 30, "a": [1] * 75 + [0] * 25})
    >>> est = rr.estimate(list(zip(df.z, df.a)), m)
    >>> round(est.share_among(1, [0, 1]).proportion, 3)
    0.1
    """
    question = _Question("crosswise_with_anchor", categories, reports, yes)
    p = question.chance(prob_unrelated=prob_unrelated)
    anchor = question.chance(prob_unrelated_anchor=prob_unrelated_anchor)
    says_same = [[_said(sensitive, p), 1 - anchor] for sensitive in question.sensitive]
    pairs, inverse = list(product(question.sensitive, repeat=2)), None
    if _HALF not in (p, anchor):
        # (attentive yes) - (attentive no) from the first answer, their sum from the anchor: no
        # assumption on the dependence between the two answers of inattentive people.
        gaps = [(i - _HALF) / (p - _HALF) for i, _ in pairs]
        sums = [(j - _HALF) / (_HALF - anchor) for _, j in pairs]
        both = list(zip(sums, gaps, strict=True))
        inverse = [[(a + d if s else a - d) / 2 for a, d in both] for s in question.sensitive]
        inverse.append([1 - a for a in sums])
    classes = (*question.domain.categories, "inattentive")
    return question.answered([*says_same, [_HALF, _HALF]], classes=classes, inverse=inverse)


# -- two samples --------------------------------------------------------------------------------


def unrelated_question_two_samples(
    categories: object,
    prob_sensitive: Each,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> Samples:
    """Unrelated question of unknown prevalence: two samples draw from different boxes.

    `privatize` takes the classes ``m.domain.categories``, pairs of the category and whether the
    person has the unrelated trait: ("yes", True), ("yes", False), ...

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_sensitive : mapping, Series or sequence
        P(the card asks the sensitive question) for each sample, in [0, 1]: a mapping by the
        sample's label, or a list for the samples 1 and 2.  They must not be equal.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    Samples

    Notes
    -----
    P(yes) = p x + (1 - p) y for x, y in 0, 1, so the reported proportion of yes is
    p pi + (1 - p) a, and pi = ((1 - p2) l1 - (1 - p1) l2) / (p1 - p2).
    Epsilon is infinite against people who know whether the respondent has the unrelated trait: a
    report of yes without the trait proves a yes.  Against people who know only its prevalence a,
    epsilon is the larger of the samples' epsilons
    ``unrelated_question(categories, p, a, yes=...).epsilon``.

    References
    ----------
    Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = unrelated_question_two_samples([False, True], {"A": 0.7, "B": 0.3})
    >>> reports, group = [True] * 40 + [False] * 60 + [True] * 30 + [False] * 70, ["A", "B"]
    >>> est = rr.estimate(reports, m, group=[sample for sample in group for _ in range(100)])
    >>> est.proportions.round(3)
    array([0.525, 0.475])

    The same reports give an estimate of the prevalence of the unrelated trait, RRreg's piUQ:

    >>> trait = est.about({pair: pair[1] for pair in m.domain.categories})
    >>> round(trait[True].proportion, 3)
    0.225
    """
    asked = categories, yes, reports
    return _paired(_each(_unrelated_question_sample, asked, prob_sensitive=prob_sensitive))


def _unrelated_question_sample(
    categories: object, prob_sensitive: Any, *, yes: Hashable, reports: Labels
) -> SurveyDesign:
    question = _Question("unrelated_question_sample", categories, reports, yes)
    p = question.chance("[]", prob_sensitive=prob_sensitive)
    kinds, classes = question.with_trait
    says_yes = [[p * sensitive + (1 - p) * trait] for sensitive, trait in kinds]
    return question.answered(says_yes, classes=classes)


def cheater_detection(
    categories: object,
    prob_forced_yes: Each,
    prob_forced_no: Each | None = None,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> Samples:
    """Cheater detection: forced response in which cheaters say no whatever the card asks.

    `privatize` takes the classes ``m.domain.categories``, such as ("no", "yes", "cheater"); the
    last is a class, not a category.  The proportions of the three classes are estimated.  The true
    answers of cheaters are unknown, so the proportion of yes lies between the proportion of honest
    yes and the sum of honest yes and cheaters.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_forced_yes : mapping, Series or sequence
        P(the card dictates a yes) for each sample, in [0, 1]: a mapping by the sample's label, or
        a list for the samples 1 and 2.  They must differ.
    prob_forced_no : mapping, Series or sequence, optional
        P(the card dictates a no) for each sample; by default 0.  Above 0 the design is symmetric:
        an honest report of neither kind proves the true answer.  RRreg's c(p1, q1, p2, q2) is
        prob_forced_yes=[p1, p2], prob_forced_no=[q1, q2].
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    Samples

    Notes
    -----
    P(yes | honest yes) = 1 - f_no, P(yes | honest no) = f_yes, P(yes | cheater) = 0.
    Epsilon is infinite because a report of yes proves that a person is not a cheater.

    References
    ----------
    Clark and Desharnais (1998); symmetric: Ostapczuk, Moshagen, Zhao and Musch (2009).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = cheater_detection([False, True], [0.2, 0.5], [0.1, 0.2])
    >>> reports = [True] * 195 + [False] * 305 + [True] * 270 + [False] * 230
    >>> rr.estimate(reports, m, group=[1] * 500 + [2] * 500).proportions.round(3)
    array([0.6, 0.3, 0.1])
    """
    forced = {"prob_forced_yes": prob_forced_yes, "prob_forced_no": prob_forced_no}
    return Samples(_each(_cheater_detection_sample, (categories, yes, reports), **forced))


def _cheater_detection_sample(
    categories: object,
    prob_forced_yes: Any,
    prob_forced_no: Any = 0,
    *,
    yes: Hashable,
    reports: Labels,
) -> SurveyDesign:
    question = _Question("cheater_detection_sample", categories, reports, yes)
    forced_yes = question.chance("[]", prob_forced_yes=prob_forced_yes)
    forced_no = question.chance("[]", prob_forced_no=prob_forced_no)
    if forced_yes + forced_no > 1:
        raise ArgumentValueError(
            "prob_forced_yes and prob_forced_no of a sample must sum to at most 1, found "
            f"{float(forced_yes + forced_no):g}; at a sum of 1 nobody answers the question"
        )
    honest = [[1 - forced_no if sensitive else forced_yes] for sensitive in question.sensitive]
    classes = (*question.domain.categories, "cheater")
    return question.answered([*honest, [Fraction(0)]], classes=classes)


def stochastic_lie_detector(
    categories: object,
    prob_statement: Each,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> Samples:
    """Stochastic lie detector: `mangat` in which some people with the attribute lie and say no.

    `privatize` takes the classes ``m.domain.categories``, for example [("no", "honest"),
    ("yes", "honest"), ("yes", "lying")].  The estimate is the proportion of yes, honest or lying.
    ``est.about(None)`` estimates the classes; the proportion of honest people among those with a
    yes is the authors' t.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    prob_statement : mapping, Series or sequence
        P(the card asks for the sensitive attribute, so that people without it say no) for each
        sample, in [0, 1]: a mapping by label, or a list for samples 1 and 2.  They must differ.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    Samples

    Notes
    -----
    P(yes | honest yes) = 1, P(yes | lying) = 0, P(yes | no) = 1 - p.  Epsilon is infinite because
    a report of no proves that a person is not an honest yes.

    References
    ----------
    Moshagen, Musch and Erdfelder (2012).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = stochastic_lie_detector([0, 1], [1/6, 5/6], yes=1)
    >>> reports = [1] * 373 + [0] * 191 + [1] * 398 + [0] * 294
    >>> rr.estimate(reports, m, group=[1] * 564 + [2] * 692).proportions.round(4)
    array([0.1293, 0.8707])
    """
    asked = categories, yes, reports
    return _paired(_each(_stochastic_lie_detector_sample, asked, prob_statement=prob_statement))


def _stochastic_lie_detector_sample(
    categories: object, prob_statement: Any, *, yes: Hashable, reports: Labels
) -> SurveyDesign:
    question = _Question("stochastic_lie_detector_sample", categories, reports, yes)
    p = question.chance("[]", prob_statement=prob_statement)
    says_yes: dict[Hashable, list[Fraction]] = {}
    for category, sensitive in zip(question.domain.categories, question.sensitive, strict=True):
        says_yes[category, "honest"] = [Fraction(1) if sensitive else 1 - p]
        if sensitive:
            says_yes[category, "lying"] = [Fraction(0)]
    return question.answered([*says_yes.values()], classes=[*says_yes])


def by_row(
    categories: object,
    design: Sequence[str],
    p1: Sequence[float],
    p2: Sequence[float] | None = None,
    *,
    yes: Hashable = None,
) -> list[SurveyDesign]:
    """Return one design for each row, from the columns of a GLMMRR data set.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The possible answers.
    design : sequence of n str
        "DQ" (direct questioning), "Warner", "Forced", "UQM" (unrelated question), "Crosswise",
        "Triangular" or "Kuk".
    p1, p2 : sequences of n numbers
        The parameters of GLMMRR.  Warner: P(the sensitive statement).  Forced: P(truth), and P(yes)
        among forced answers.  UQM: P(the sensitive question), and P(yes) to the unrelated one.
        Crosswise and Triangular: P(yes) to the unrelated question.  Kuk: P(red) for yes and for
        no.  Numbers that a design does not use may be missing.
    yes : hashable, optional
        The sensitive category; by default True if the categories are booleans.

    Returns
    -------
    list of n SurveyDesign
        Pass it as ``mechanism=`` to `rr.estimate`, `rr.logit` and other functions.

    Raises
    ------
    ArgumentValueError
        A design has an unknown name, or the columns have different lengths.

    References
    ----------
    Fox, Veen and Klotzke (2018).

    Examples
    --------
    >>> import rrstats as rr
    >>> found = by_row([0, 1], ["DQ", "Crosswise"], [None, 0.25], yes=1)
    >>> rr.estimate([1, 0], found).n
    2
    """
    unused: Sequence[Any] = [None] * len(p1)
    columns = [list(column) for column in (design, p1, unused if p2 is None else p2)]
    if len({len(column) for column in columns}) > 1:
        found = ", ".join(str(len(column)) for column in columns)
        raise ArgumentValueError(f"design, p1 and p2 must have equal lengths, found {found}")
    known = [[None if one != one else one for one in column] for column in columns]
    cells: list[Any] = list(zip(*known, strict=True))
    made = {cell: _of_glmmrr(categories, yes, *cell) for cell in set(cells)}
    return [made[cell] for cell in cells]


def _of_glmmrr(categories: object, yes: Hashable, design: str, p1: Any, p2: Any) -> SurveyDesign:
    """One design by its name in GLMMRR; for Kuk red counts as yes."""
    domain = Categories(categories)
    sensitive = _sensitive_code(domain, yes)
    no_yes = [domain.categories[1 - sensitive], domain.categories[sensitive]]
    if design == "DQ":
        return direct(categories)
    if design == "UQM":
        return unrelated_question(categories, p1, p2, yes=yes)
    if design == "Kuk":
        return kuk(categories, p1, p2, yes=yes, reports=no_yes)
    if design == "Forced":
        truth, forced_yes = _probability(p1, "p1", "[]"), _probability(p2, "p2", "[]")
        forced = [(1 - truth) * (1 - forced_yes), (1 - truth) * forced_yes]
        return forced_response(categories, truth, dict(zip(no_yes, forced, strict=True)))
    by_name = {"Warner": warner, "Crosswise": crosswise, "Triangular": triangular}
    made = by_name[check_one_of(design, "design", ["DQ", *by_name, "UQM", "Kuk", "Forced"])]
    return made(categories, p1, yes=yes)


def _made(kind: str) -> dict[str, Callable[..., Any]]:
    """The functions above that return a kind of mechanism, by name."""
    named = globals().items()
    return {n: f for n, f in named if getattr(f, "__annotations__", {}).get("return") == kind}


_DESIGNS: dict[str, Callable[..., SurveyDesign]] = {
    name.removeprefix("_"): made for name, made in _made("SurveyDesign").items()
}
"""The functions above that return a SurveyDesign, by the name of the design."""


# -- matrices -----------------------------------------------------------------------------------

_ALIKE = object()
"""The value of ``yes`` in designs that treat all categories alike."""


class _Question:
    """Builds a design: it checks the question, collects the parameters, and makes the matrix."""

    def __init__(self, name: str, categories: object, reports: Any, yes: Hashable = _ALIKE) -> None:
        self.name, self.domain = name, Categories(categories)
        code = None if yes is _ALIKE else _sensitive_code(self.domain, yes)
        self.sensitive = [place == code for place in range(self.domain.k)]
        answers = None if reports is None else labels_of(reports, "reports")
        self.answers = None if answers == self.domain else answers
        self.numbers: dict[str, Any] = {}

    def chance(self, ends: str = "()", **given: Any) -> Fraction:
        """Check one probability and store it under its name."""
        ((name, value),) = given.items()
        exact = _probability(value, name, ends)
        self.numbers[name] = number(exact, name)
        return exact

    def chances(self, ends: str = "()", **given: Any) -> list[Fraction]:
        """Check several probabilities and store them under their name."""
        ((name, values),) = given.items()
        exact = [_probability(p, f"each of {name}", ends) for p in numbers(values, name)]
        self.numbers[name] = numbers(exact, name)
        return exact

    def labels(self, usual: Sequence[Hashable] = ()) -> tuple[Hashable, ...]:
        """The labels of the reports: the user's, or the default ones."""
        usual = usual or self.domain.categories
        if self.answers is None:
            return tuple(usual)
        if self.answers.k != len(usual):
            raise ArgumentValueError(
                f"reports must be {len(usual)} labels, in the order of {quote_list(usual)}, "
                f"found {self.answers.k}"
            )
        return self.answers.categories

    @property
    def with_trait(self) -> tuple[list[tuple[bool, bool]], list[Hashable]]:
        """Each category with and without the unrelated trait, and the labels of these classes."""
        classes: list[Hashable] = list(product(self.domain.categories, _TRAIT))
        return list(product(self.sensitive, _TRAIT)), classes

    def left_inverse(self, scores: Sequence[Fraction], gap: Fraction) -> _Columns | None:
        """The left inverse whose row for yes is ``scores / gap``; None if the gap is 0."""
        if not gap:
            return None
        return [[_said(sensitive, x / gap) for x in scores] for sensitive in self.sensitive]

    def design(
        self,
        entries: _Columns,
        reports: Sequence[Hashable] = (),
        *,
        classes: Sequence[Hashable] = (),
        class_of: tuple[int, ...] = (),
        inverse: _Columns | None = None,
    ) -> SurveyDesign:
        """The design of a matrix; by default classes and reports are the categories."""
        domain = Categories(classes) if classes else self.domain
        named = reports or (self.labels() if self.answers else ())
        made = object.__new__(SurveyDesign)
        vars(made).update(
            domain=domain,
            matrix=tuple(map(tuple, entries)),
            reports=Categories(named) if named else self.domain,
            shown=self.domain if class_of else domain,
            codes_shown=class_of or tuple(range(domain.k)),
            inverse=None if inverse is None else tuple(map(tuple, inverse)),
            design=self.name,
            asked=self.domain,
            yes=next(compress(self.domain.categories, self.sensitive), None),
            numbers=tuple(self.numbers.items()),
            answers=self.answers,
        )
        if not self.name.endswith("_sample"):  # one sample alone does not identify the proportions
            warn_if_uninformative(made.channel)
        return made

    def answered(
        self,
        says_yes: Sequence[Sequence[Fraction]],
        *,
        classes: Sequence[Hashable] = (),
        **more: Any,
    ) -> SurveyDesign:
        """A design of independent yes-or-no answers, from P(yes) for each class and answer."""
        times = len(says_yes[0])
        reports = product(self.sensitive, repeat=times)
        start = Fraction(1)
        entries = [[prod(map(_said, one, p), start=start) for p in says_yes] for one in reports]
        labels = tuple(product(self.labels(), repeat=times)) if times > 1 else ()
        return self.design(entries, labels, classes=classes, **more)

    def yes_or_no(self, if_yes: Fraction, if_no: Fraction) -> SurveyDesign:
        """A design of one yes-or-no answer, from P(report yes) with and without the attribute."""
        return self.answered([[if_yes if s else if_no] for s in self.sensitive])

    def forced(self, truth: Fraction, forced: Sequence[Fraction]) -> SurveyDesign:
        """A design that reports the true category, or else a dictated one."""
        entries = [[f] * self.domain.k for f in forced]
        for code, row in enumerate(entries):
            row[code] += truth
        return self.design(entries)

    def twice(
        self,
        boxes: Sequence[Fraction],
        says_yes: Callable[[bool, bool, Fraction], Fraction],
    ) -> SurveyDesign:
        """A design of two independent answers, each with its own proportion of sensitive cards.

        The unrelated trait cancels in the score ((1 - p2) I - (1 - p1) J) / (p1 - p2) of
        Chaudhuri (2011).
        """
        if len(boxes) != 2:
            raise ArgumentValueError(
                f"prob_sensitive must have one number for each of 2 answers, found {len(boxes)}"
            )
        first, second = boxes
        kinds, classes = self.with_trait
        scores = [(1 - second) * i - (1 - first) * j for i, j in product(self.sensitive, repeat=2)]
        return self.answered(
            [[says_yes(*kind, box) for box in boxes] for kind in kinds],
            classes=classes,
            class_of=(0, 0, 1, 1),
            inverse=self.left_inverse(scores, first - second),
        )


def _said(yes: bool, chance: Fraction) -> Fraction:
    return chance if yes else 1 - chance


def _each(
    design: Callable[..., SurveyDesign], asked: tuple[Any, Any, Any], **numbers: Each | None
) -> dict[Hashable, SurveyDesign]:
    """The design of each sample, with the sample's own parameters."""
    categories, yes, reports = asked
    given = {name: _by_label(each, name) for name, each in numbers.items() if each is not None}
    samples = next(iter(given.values()))
    if any(set(each) != set(samples) for each in given.values()):
        raise ArgumentValueError(
            f"{' and '.join(given)} must be for the same samples, found "
            f"{' and '.join(map(quote_list, given.values()))}"
        )
    own = {sample: {name: each[sample] for name, each in given.items()} for sample in samples}
    return {s: design(categories, yes=yes, reports=reports, **own[s]) for s in samples}


def _paired(parts: Mapping[Hashable, SurveyDesign]) -> Samples:
    """Samples whose classes are pairs; the first element is the category."""
    pairs = cast("tuple[tuple[Hashable, Hashable], ...]", next(iter(parts.values())).categories)
    return Samples(parts, shows={pair: pair[0] for pair in pairs})


# -- arguments ----------------------------------------------------------------------------------


def _sensitive_code(domain: Categories, yes: Hashable) -> int:
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


def _probability(value: Any, name: str, ends: str) -> Fraction:
    found = number(value, name)
    check_probability(found, name, ends)
    exact = Fraction(found)
    if exact.denominator.bit_length() > _MOST_BITS:
        raise ArgumentValueError(f"{name} must be a fraction of at most 330 digits")
    return exact


def _by_label(value: Any, name: str, domain: Categories | None = None) -> dict[Any, Any]:
    """The number of each category by its code, or of each of at least two samples."""
    if mapped := isinstance(value, Mapping | pd.Series):
        pairs = [(domain.code(label) if domain else label, x) for label, x in value.items()]
    else:
        pairs = list(enumerate(numbers(value, name), start=0 if domain else 1))
    found = dict(pairs)
    wanted = set(range(domain.k)) if domain else found.keys()
    if len(found) < max(2, len(pairs)) or found.keys() != wanted:
        each = f"the categories {domain.describe()}" if domain else "at least 2 samples"
        those = f"numbers for {quote_list(value.keys())}" if mapped else len(pairs)
        raise ArgumentValueError(f"{name} must have one number for each of {each}, found {those}")
    return found


__all__ = sorted(n for n in (_made("SurveyDesign") | _made("Samples")) if not n.startswith("_"))
__all__ += ["by_row"]


def __dir__() -> list[str]:
    return __all__
