"""Survey designs by name, each with its procedure, parameters, formulas and epsilon.

A design has two uses.  After a survey in the field with cards, dice or birthdays only the reports
exist, and ``rr.estimate(reports, m)`` estimates the proportions.  If true answers exist,
``rr.privatize(answers, m)`` applies the design to them::

    m = rr.surveys.warner(["no", "yes"], yes="yes", prob_statement=0.7)
    rr.estimate(reports, m)

Each function builds one design from its parameters; the transition probabilities are exact.  A
parameter is named by the event whose probability it is, because authors and packages use different
letters.  The other parameters are the same in all designs:

categories : sequence of hashables
    The possible answers: two, a yes and a no, except for `direct` and `forced_response`.
yes : hashable, optional
    The sensitive category; by default True if the categories are booleans.
reports : sequence of hashables, optional
    Labels of the reports if these differ from the categories, in the same order.  If a report is a
    pair of answers, these are labels of one answer.

In all designs with two answers P(report yes) = c + d * (true proportion of yes), and the estimate
is (reported proportion - c) / d.  Estimates outside [0, 1] are not moved; RRreg 0.7.6 moves them
to the boundary and then prints a standard error of 2e-6 instead of 0.08.

Some designs distinguish more classes of respondents than categories (the unrelated trait,
cheaters, inattentive people).  For these `privatize` takes the classes ``m.domain.categories``.
In `crosswise_with_anchor` a report is a pair of answers; make reports from two columns of a frame
by ``list(zip(df.first, df.second))``.
Five designs assign people randomly to two samples, and ``group=`` gives the sample of each report:
`extended_crosswise`, `unrelated_question_two_samples`, `cheater_detection`,
`stochastic_lie_detector` and `list_experiment`.
Designs without a function here are a few lines with `rr.MatrixDesign`; the guide has seven of R's
RRTCS as examples.
Sources: see each function; Chaudhuri (2011) and Blair, Imai and Zhou (2015) compare designs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rrstats._checks import (
    check_instance,
    check_one_of,
    check_whole_number,
    quote,
    quote_list,
    type_name,
)
from rrstats._display import label
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import CategoriesLike, NumbersByCategory, Probability
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.base import A_MECHANISM, Mechanism
from rrstats.mechanisms.channel import has_latent_classes, multinomial, normalized
from rrstats.mechanisms.matrix_design import MatrixDesign, labels_of
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.survey_builder import (
    DesignBuilder,
    NumbersBySample,
    ReportLabels,
    exact_probability,
    groups_of_two,
    numbers_by_category,
    numbers_by_sample,
    samples_of_pairs,
    sensitive_code,
)
from rrstats.mechanisms.survey_design import NamedDesign, SurveyDesign, survey_design

__all__ = [
    "by_row",
    "cheater_detection",
    "crosswise",
    "crosswise_with_anchor",
    "direct",
    "extended_crosswise",
    "forced_response",
    "garbling",
    "kuk",
    "list_experiment",
    "mangat",
    "stochastic_lie_detector",
    "sum_of",
    "triangular",
    "two_coin",
    "unrelated_question",
    "unrelated_question_two_samples",
    "warner",
]

_HALF = Fraction(1, 2)
_MAX_SUMMED_ITEMS = 60
"""The largest number of items in `sum_of`; the exact probabilities stay short."""

_SAME_ENTRY = Fraction(1, 10**12)
"""Probabilities this close are the same: documents may hold them as doubles."""

_MAX_DRAWS = 100
"""The largest number of cards in `kuk`; the exact probabilities stay short."""

_MAX_CONTROL_ITEMS = 20
"""The largest number of control items of `list_experiment`: people count few without an error."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute("rrstats.surveys", name, __all__))


def __dir__() -> list[str]:
    return __all__


# -- one sample asked alone ----------------------------------------------------------------------


@survey_design("direct")
@checked_keywords
def direct(categories: CategoriesLike, *, reports: ReportLabels = None) -> SurveyDesign:
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
    builder = DesignBuilder("direct", categories, reports)
    return builder.truth_or_forced(Fraction(1), [Fraction(0)] * builder.domain.k)


@survey_design("forced_response", "prob_truth", "prob_forced")
@checked_keywords
def forced_response(
    categories: CategoriesLike,
    prob_truth: Probability,
    prob_forced: NumbersByCategory,
    *,
    reports: ReportLabels = None,
    deck: int | None = None,
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
    deck : int, optional
        The number of cards that are dealt to a block without replacement, of two categories; see
        `garbling`.

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
    if deck is not None:
        return _forced_response_deck(categories, prob_truth, prob_forced, deck, reports=reports)
    builder = DesignBuilder("forced_response", categories, reports)
    truth = builder.probability("prob_truth", prob_truth, "[]")
    in_order = numbers_by_category("prob_forced", prob_forced, builder.domain)
    forced = builder.probabilities("prob_forced", in_order, "[]")
    truth, *forced = normalized([truth, *forced], "prob_truth and prob_forced together")
    return builder.truth_or_forced(truth, forced)


@survey_design("forced_response_deck", "prob_truth", "prob_forced", "deck", "yes")
def _forced_response_deck(
    categories: CategoriesLike,
    prob_truth: Probability,
    prob_forced: NumbersByCategory,
    deck: int,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Forced response by cards of a deck; the last category counts as yes."""
    sensitive = Categories(categories).categories[-1] if yes is None else yes
    builder = DesignBuilder("forced_response_deck", categories, reports, sensitive)
    in_order = numbers_by_category("prob_forced", prob_forced, builder.domain)
    truth = builder.share("prob_truth", prob_truth, "(]")
    forced = builder.shares("prob_forced", in_order)
    if truth + sum(forced) != 1:
        raise ArgumentValueError(
            "prob_truth and prob_forced together must be 1, as shares of the cards of a deck, "
            f"found {truth + sum(forced)}; write thirds as Fraction(1, 3)"
        )
    builder.cards(deck, [truth, *forced])
    return builder.truth_or_forced(truth, forced)


@survey_design("two_coin", "yes")
@checked_keywords
def two_coin(
    categories: CategoriesLike, *, yes: Hashable = None, reports: ReportLabels = None
) -> SurveyDesign:
    """Two coins: after heads answer truthfully; after tails a second coin dictates yes or no.

    Parameters
    ----------
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

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
    builder = DesignBuilder("two_coin", categories, reports, yes)
    return builder.yes_or_no(if_yes=Fraction(3, 4), if_no=Fraction(1, 4))


@survey_design("warner", "prob_statement", "yes")
@checked_keywords
def warner(
    categories: CategoriesLike,
    prob_statement: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
    deck: int | None = None,
) -> SurveyDesign:
    """Warner's design: a card asks about the sensitive attribute, or else about its absence.

    Parameters
    ----------
    prob_statement : number
        P(the card asks for the sensitive attribute), in (0, 1).
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.
    deck : int, optional
        The number of cards that are dealt to a block without replacement; see `garbling`.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    A report of yes means that the statement on the card is true for the respondent.
    c = 1 - p, d = 2p - 1; epsilon = abs(ln(p / (1 - p))); p = 1/2 gives no information.
    The disguised response of Kuk (1990), a card from one's own of two stacks that mirror each
    other, has this matrix; `kuk` with ``prob_red_if_no = 1 - prob_red_if_yes`` has its words, too.

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
    if deck is not None:
        return _warner_deck(categories, prob_statement, deck, yes=yes, reports=reports)
    builder = DesignBuilder("warner", categories, reports, yes)
    p = builder.probability("prob_statement", prob_statement)
    return builder.yes_or_no(if_yes=p, if_no=1 - p)


@survey_design("warner_deck", "prob_statement", "deck", "yes")
def _warner_deck(
    categories: CategoriesLike,
    prob_statement: Probability,
    deck: int,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Warner's cards, dealt to a block."""
    builder = DesignBuilder("warner_deck", categories, reports, yes)
    p = builder.share("prob_statement", prob_statement, "()")
    if p <= _HALF:
        raise ArgumentValueError(
            f"prob_statement must be above 1/2 for a deck, got {p}; exchange the two statements, "
            "and the reports"
        )
    builder.cards(deck, [p])
    return builder.yes_or_no(if_yes=p, if_no=1 - p)


@checked_keywords
def garbling(
    categories: CategoriesLike,
    rate: Probability,
    *,
    into: Hashable = None,
    deck: int | None = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Garbling of a fixed number of answers of each block to yes ("hard garbling").

    A block shares a deck of cards, of which a share ``rate`` says yes; its people draw without
    replacement, and answer truthfully with any other card.  ``blocks=`` of `rr.estimate` gives the
    block of each person; without it all people are one block.

    Parameters
    ----------
    categories : sequence of 2 hashables
        The two answers.
    rate : number
        The share of cards that turn an answer, in (0, 1).
    into : hashable, optional
        The answer that such a card dictates; by default True, or "yes".
    deck : int, optional
        The number of cards of each deck; a smaller block is then incomplete.  By default each
        block is full: its deck has as many cards as it has people, those without a report included.
    reports : sequence of 2 hashables, optional
        Labels of the reports, in the order of the categories.

    Returns
    -------
    SurveyDesign
        ``epsilon`` is infinite, and `rr.privatize` refuses it.

    Raises
    ------
    ArgumentValueError
        rate times deck is not whole.

    Notes
    -----
    **This is not local privacy.**  Whoever knows the others' answers and sees the reports can be
    certain of a yes, if all garbled ones are among the others; coins would leave odds of 1/rate.
    A no is certainly true.  Do not publish rows, their order or times with small batches.

    With m of n answers of a full block garbled, the yes less m are hypergeometric among these
    people, and Binomial(n - m, f) for a population with proportion f: as if n - m people had been
    asked directly.  With ``deck=1`` cards are coins, and nothing is gained.

    References
    ----------
    Chassang and Zehnder (2019), "Secure survey design in organizations"; Boudreau, Chassang,
    Gonzalez-Torres and Heath (2023), NBER working paper 31011.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = garbling(["no", "yes"], 0.25, deck=4)
    >>> est = rr.estimate(["no"] * 140 + ["yes"] * 60, m, blocks=[i // 4 for i in range(200)])
    >>> est.proportions.round(4), est.std_error.round(4)
    (array([0.9333, 0.0667]), array([0.0204, 0.0204]))
    """
    domain = Categories(categories)
    if into is None and "yes" in domain.categories:
        into = "yes"
    if (into is not None or domain.kind != "bool") and domain.code(into) >= domain.k:
        raise ArgumentValueError(f"into must be one of {domain.describe()}, got {quote(into)}")
    return _garbling(categories, rate, deck, yes=into, reports=reports)


@survey_design("garbling", "rate", "deck", "yes")
def _garbling(
    categories: CategoriesLike,
    rate: Probability,
    deck: int | None,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Garbling, with the names of documents."""
    builder = DesignBuilder("garbling", categories, reports, yes)
    share = builder.share("rate", rate, "()")
    builder.cards(deck, [share])
    return builder.yes_or_no(if_yes=Fraction(1), if_no=share)


@survey_design("crosswise", "prob_unrelated", "yes")
@checked_keywords
def crosswise(
    categories: CategoriesLike,
    prob_unrelated: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Crosswise model: report only whether the answers to two questions are the same.

    Parameters
    ----------
    prob_unrelated : number
        P(yes) to the unrelated question ("Were you born in January?"), in (0, 1).
    reports : sequence of 2 hashables, optional
        Labels of the reports: ``["different", "same"]`` for the categories ["no", "yes"].
    categories, yes
        The two answers and the sensitive one; see `rr.surveys`.

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
    builder = DesignBuilder("crosswise", categories, reports, yes)
    p = builder.probability("prob_unrelated", prob_unrelated)
    return builder.yes_or_no(if_yes=p, if_no=1 - p)


@survey_design("triangular", "prob_unrelated", "yes")
@checked_keywords
def triangular(
    categories: CategoriesLike,
    prob_unrelated: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Triangular model: report a circle for no to both questions, otherwise a triangle.

    Parameters
    ----------
    prob_unrelated : number
        P(yes) to the unrelated question, in (0, 1).
    reports : sequence of 2 hashables, optional
        Labels of the reports: ``["circle", "triangle"]`` for the categories ["no", "yes"].
    categories, yes
        The two answers and the sensitive one; see `rr.surveys`.

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
    builder = DesignBuilder("triangular", categories, reports, yes)
    p = builder.probability("prob_unrelated", prob_unrelated)
    return builder.yes_or_no(if_yes=Fraction(1), if_no=p)


@survey_design("unrelated_question", "prob_sensitive", "prob_yes_unrelated", "yes")
@checked_keywords
def unrelated_question(
    categories: CategoriesLike,
    prob_sensitive: Probability,
    prob_yes_unrelated: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Unrelated question: a card asks the sensitive question, or one of known proportion.

    Parameters
    ----------
    prob_sensitive : number
        P(the card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : number
        P(yes) to the unrelated question, in [0, 1].
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = (1 - p) a, d = p; epsilon = ln of the larger of (p + c) / c and (1 - c) / (1 - p - c),
    infinite for a = 0 or a = 1.  This epsilon holds against people who do not know the
    respondent's unrelated answer; for others see `unrelated_question_two_samples`.
    The design of Soberanis Cruz et al. (2008) has this matrix, as in RRTCS: its innocuous variable
    may be related to the sensitive one, but must have the same proportion among people with and
    without the sensitive attribute.

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
    builder = DesignBuilder("unrelated_question", categories, reports, yes)
    p = builder.probability("prob_sensitive", prob_sensitive)
    a = builder.probability("prob_yes_unrelated", prob_yes_unrelated, "[]")
    return builder.yes_or_no(if_yes=p + (1 - p) * a, if_no=(1 - p) * a)


@survey_design("mangat", "prob_statement", "yes")
@checked_keywords
def mangat(
    categories: CategoriesLike,
    prob_statement: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Mangat's design of 1994: people with the attribute say yes, others use Warner's cards.

    Parameters
    ----------
    prob_statement : number
        P(the card asks for the sensitive attribute, so that people without it truthfully say no),
        in (0, 1).
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    c = 1 - p, d = p.  Epsilon is infinite because a report of no proves a no.  For a report of
    yes, P(yes | yes) / P(yes | no) = 1 / (1 - p).
    Devore's design (1977), whose cards ask the sensitive question or demand a yes, has this
    matrix; `forced_response` that forces only a yes has its words, too.

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
    builder = DesignBuilder("mangat", categories, reports, yes)
    p = builder.probability("prob_statement", prob_statement)
    return builder.yes_or_no(if_yes=Fraction(1), if_no=1 - p)


@survey_design("kuk", "prob_red_if_yes", "prob_red_if_no", "draws", "yes")
@checked_keywords
def kuk(
    categories: CategoriesLike,
    prob_red_if_yes: Probability,
    prob_red_if_no: Probability,
    draws: int = 1,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Kuk's design: the respondent reports the number of red cards drawn from one of two stacks.

    Parameters
    ----------
    prob_red_if_yes, prob_red_if_no : number
        The proportions of red cards in the stack for people with the sensitive attribute and in
        the stack for others, in [0, 1].
    draws : int
        The number of cards, with replacement, up to 100.
    reports : sequence of hashables, optional
        Labels of the reports, for 0, 1, ..., draws red cards.
    categories, yes
        The two answers and the sensitive one; see `rr.surveys`.

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
    builder = DesignBuilder("kuk", categories, reports, yes)
    red_if_yes = builder.probability("prob_red_if_yes", prob_red_if_yes, "[]")
    red_if_no = builder.probability("prob_red_if_no", prob_red_if_no, "[]")
    draws = builder.whole_number("draws", draws, 1, _MAX_DRAWS)
    return builder.numeric_report(
        range(draws + 1),
        if_yes=_binomial(draws, red_if_yes),
        if_no=_binomial(draws, red_if_no),
        mean_if_yes=draws * red_if_yes,
        mean_if_no=draws * red_if_no,
    )


def _binomial(size: int, p: Fraction) -> list[Fraction]:
    """P(x successes) for x = 0 .. size."""
    return [comb(size, x) * p**x * (1 - p) ** (size - x) for x in range(size + 1)]


# -- two answers of one person ------------------------------------------------------------------


@survey_design("crosswise_with_anchor", "prob_unrelated", "prob_unrelated_anchor", "yes")
@checked_keywords
def crosswise_with_anchor(
    categories: CategoriesLike,
    prob_unrelated: Probability,
    prob_unrelated_anchor: Probability,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> SurveyDesign:
    """Crosswise model with an anchor: a second pair whose sensitive answer is no for everybody.

    Reports are pairs: (answer, answer to the anchor); *same* counts as yes, as in `crosswise`.
    `privatize` takes ``m.domain.categories``, for example ("no", "yes", "inattentive"): the
    attentive people of each category, and people who choose either answer with probability 1/2
    without reading.  The proportions of these classes are estimated.

    Parameters
    ----------
    prob_unrelated, prob_unrelated_anchor : number
        P(yes) to the unrelated question of each pair, in (0, 1).
    reports : sequence of 2 hashables, optional
        Labels of one answer.
    categories, yes
        The two answers and the sensitive one; see `rr.surveys`.

    Returns
    -------
    SurveyDesign

    Notes
    -----
    Attentive people report *same* with probability p (yes) or 1 - p (no), and 1 - p' for the
    anchor.  The estimate uses the two margins: attentive yes minus attentive no is
    (P(same) - 1/2) / (p - 1/2), their sum (P(same for the anchor) - 1/2) / (1/2 - p').
    The proportion corrected for inattention is the proportion of yes among attentive people.
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
    >>> round(est.among([0, 1])[1].value, 3)
    0.1
    """
    builder = DesignBuilder("crosswise_with_anchor", categories, reports, yes)
    p = builder.probability("prob_unrelated", prob_unrelated)
    anchor = builder.probability("prob_unrelated_anchor", prob_unrelated_anchor)
    prob_same = [[p if is_yes else 1 - p, 1 - anchor] for is_yes in builder.is_yes]
    prob_same.append([_HALF, _HALF])
    return builder.independent_answers(
        prob_same,
        classes=(*builder.domain.categories, "inattentive"),
        inverse=_anchor_inverse(builder.is_yes, p, anchor),
    )


def _anchor_inverse(
    is_yes: Sequence[bool], p: Fraction, anchor: Fraction
) -> list[list[Fraction]] | None:
    """The scores of the two margins, for each class (rows) and pair of answers.

    They assume nothing about the dependence between the two answers of inattentive people.
    """
    if _HALF in (p, anchor):
        return None
    yes_minus_no = []
    yes_plus_no = []
    for same, same_for_anchor in product(is_yes, repeat=2):
        yes_minus_no.append((same - _HALF) / (p - _HALF))
        yes_plus_no.append((same_for_anchor - _HALF) / (_HALF - anchor))
    pairs = list(zip(yes_plus_no, yes_minus_no, strict=True))
    attentive_yes = [(total + difference) / 2 for total, difference in pairs]
    attentive_no = [(total - difference) / 2 for total, difference in pairs]
    inattentive = [1 - total for total in yes_plus_no]
    attentive = [attentive_yes if sensitive else attentive_no for sensitive in is_yes]
    return [*attentive, inattentive]


# -- two samples --------------------------------------------------------------------------------


@checked_keywords
def extended_crosswise(
    categories: CategoriesLike,
    prob_unrelated: Probability | NumbersBySample,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
    behaviour: Hashable = None,
) -> Samples:
    """Extended crosswise model: two samples, which show whether people follow the instructions.

    In one sample the unrelated statement is rare, in the other it is common.  People who follow
    the instructions give both samples the same proportion; `rrstats.hypotheses.design_fit` tests
    whether they do.  With ``behaviour`` some people always give one report, whatever is true:
    `privatize` then takes the classes ``m.domain.categories``, for example
    ("no", "yes", "always different"), whose proportions are estimated.

    Parameters
    ----------
    prob_unrelated : number, mapping, Series or sequence
        P(the unrelated statement is true), in (0, 1): a number p for the samples 1 and 2 with p
        and 1 - p; or a number for each sample, as a mapping by its label or a list for the samples
        1 and 2.  Two statements that are not complementary are allowed; the numbers must differ.
    behaviour : hashable, optional
        The report that some people always give: the one-sayers of Cruyff et al. (2024).
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

    Returns
    -------
    Samples

    Raises
    ------
    NotIdentifiableError
        For ``behaviour="random"``: people who answer at random move the estimate towards 1/2 by as
        much in both samples, which no comparison of the samples shows.

    Notes
    -----
    P(same) = p pi + (1 - p) (1 - pi) as in `crosswise`, with another p in each sample.  With a
    proportion t that always gives one report, its probability is t + (1 - t) P(report).  The
    proportion among the others is ``est.among(categories)[yes]``.
    Epsilon is infinite with ``behaviour``: the other report proves that a person is none of those.

    References
    ----------
    Heck, Hoffmann and Moshagen (2018); Cruyff, Sayed, Petroczi and van der Heijden (2024).

    Examples
    --------
    Doping, in the first survey of Cruyff et al. (2024):

    >>> import rrstats as rr
    >>> labels = {"yes": "yes", "reports": ["different", "same"]}
    >>> prob = {"A": 0.2, "B": 0.8}
    >>> m = extended_crosswise(["no", "yes"], prob, **labels)
    >>> counts = {"A": {"different": 60, "same": 109}, "B": {"different": 139, "same": 46}}
    >>> est = rr.estimate(rr.Tally.from_counts(counts, m))
    >>> round(est["yes"].value, 4), round(rr.hypotheses.design_fit(est).statistic, 2)
    (0.1657, 4.77)

    With one-sayers the proportion among the others is lower:

    >>> m = extended_crosswise(["no", "yes"], prob, behaviour="different", **labels)
    >>> est = rr.estimate(rr.Tally.from_counts(counts, m))
    >>> others = est.among(["no", "yes"])["yes"]
    >>> round(others.value, 4), round(est["always different"].value, 4)
    (0.1304, 0.1064)
    """
    prob_of_sample = _numbers_that_differ(prob_unrelated)
    if behaviour is None:
        return Samples(
            {
                sample: crosswise(categories, prob, yes=yes, reports=reports)
                for sample, prob in prob_of_sample.items()
            }
        )
    labels = Categories(categories) if reports is None else labels_of(reports, "reports")
    if behaviour == "random" and "random" not in labels.categories:
        raise NotIdentifiableError(
            "behaviour must be a report that some people always give, found 'random': people who "
            "answer at random change both samples alike, so that the reports cannot show them; a "
            "control question can, see Estimate.corrected"
        )
    always = labels.code(behaviour)
    if always >= labels.k:
        raise ArgumentValueError(
            f"behaviour must be one of the reports {labels.describe()}, got {quote(behaviour)}"
        )
    return Samples(
        {
            sample: _extended_crosswise_sample(categories, prob, always, yes=yes, reports=reports)
            for sample, prob in prob_of_sample.items()
        }
    )


def _numbers_that_differ(prob_unrelated: Any) -> dict[Any, Any]:
    """The probability of each sample; one number p gives the samples 1 and 2 p and 1 - p."""
    if not isinstance(prob_unrelated, Mapping) and np.ndim(prob_unrelated) == 0:
        exact = exact_probability("prob_unrelated", prob_unrelated, "()")
        prob_unrelated = [exact, 1 - exact]
    prob_of_sample = numbers_by_sample("prob_unrelated", prob_unrelated)
    if len(set(prob_of_sample.values())) == 1:
        raise ArgumentValueError(
            "prob_unrelated must differ between the samples, found the same number in all of "
            f"{quote_list(prob_of_sample)}"
        )
    return prob_of_sample


@survey_design("extended_crosswise_sample", "prob_unrelated", "always", "yes")
def _extended_crosswise_sample(
    categories: CategoriesLike,
    prob_unrelated: Probability,
    always: int,
    *,
    yes: Hashable,
    reports: ReportLabels,
) -> SurveyDesign:
    """One sample of `extended_crosswise` with people who always give the report of one code."""
    builder = DesignBuilder(
        "extended_crosswise_sample", categories, reports, yes, is_one_sample=True
    )
    p = builder.probability("prob_unrelated", prob_unrelated)
    code = builder.whole_number("always", always, 0, 1)
    answers = builder.answers or builder.domain
    prob_same = [[p if is_yes else 1 - p] for is_yes in builder.is_yes]
    prob_same.append([Fraction(builder.is_yes[code])])
    one_sayer = f"always {label(answers.categories[code])}"
    return builder.independent_answers(prob_same, classes=(*builder.domain.categories, one_sayer))


@checked_keywords
def unrelated_question_two_samples(
    categories: CategoriesLike,
    prob_sensitive: NumbersBySample,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> Samples:
    """Unrelated question of unknown proportion: two samples draw from different boxes.

    `privatize` takes the classes ``m.domain.categories``, pairs of the category and whether the
    person has the unrelated trait: ("yes", True), ("yes", False), ...

    Parameters
    ----------
    prob_sensitive : mapping, Series or sequence
        P(the card asks the sensitive question) for each sample, in [0, 1]: a mapping by the
        sample's label, or a list for the samples 1 and 2.  They must not be equal.
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

    Returns
    -------
    Samples

    Notes
    -----
    P(yes) = p x + (1 - p) y for x, y in 0, 1, so the reported proportion of yes is
    p pi + (1 - p) a, and pi = ((1 - p2) l1 - (1 - p1) l2) / (p1 - p2).
    Epsilon is infinite against people who know whether the respondent has the unrelated trait: a
    report of yes without the trait proves a yes.  Against people who know only its proportion a,
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

    The same reports give an estimate of the proportion of the unrelated trait, RRreg's piUQ:

    >>> m.domain.categories
    ((False, True), (False, False), (True, True), (True, False))
    >>> with_trait, without = [(False, True), (True, True)], [(False, False), (True, False)]
    >>> trait = est.merge({True: with_trait, False: without})
    >>> round(trait[True].value, 3)
    0.225
    """
    boxes = numbers_by_sample("prob_sensitive", prob_sensitive)
    return samples_of_pairs(
        {
            sample: _unrelated_question_sample(categories, box, yes=yes, reports=reports)
            for sample, box in boxes.items()
        }
    )


@survey_design("unrelated_question_sample", "prob_sensitive", "yes")
def _unrelated_question_sample(
    categories: CategoriesLike, prob_sensitive: Probability, *, yes: Hashable, reports: ReportLabels
) -> SurveyDesign:
    """One sample of `unrelated_question_two_samples`."""
    builder = DesignBuilder(
        "unrelated_question_sample", categories, reports, yes, is_one_sample=True
    )
    p = builder.probability("prob_sensitive", prob_sensitive, "[]")
    prob_yes = [[p * x + (1 - p) * y] for x, y in builder.yes_and_trait]
    return builder.independent_answers(prob_yes, classes=builder.classes_with_trait)


@checked_keywords
def cheater_detection(
    categories: CategoriesLike,
    prob_forced_yes: NumbersBySample,
    prob_forced_no: NumbersBySample | None = None,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> Samples:
    """Cheater detection: forced response in which cheaters say no whatever the card asks.

    `privatize` takes the classes ``m.domain.categories``, such as ("no", "yes", "cheater"); the
    last is a class, not a category.  The proportions of the three classes are estimated.  The true
    answers of cheaters are unknown, so the proportion of yes lies between the proportion of honest
    yes and the sum of honest yes and cheaters.

    Parameters
    ----------
    prob_forced_yes : mapping, Series or sequence
        P(the card dictates a yes) for each sample, in [0, 1]: a mapping by the sample's label, or
        a list for the samples 1 and 2.  They must differ.
    prob_forced_no : mapping, Series or sequence, optional
        P(the card dictates a no) for each sample; by default 0.  Above 0 the design is symmetric:
        an honest report of neither kind proves the true answer.  RRreg's c(p1, q1, p2, q2) is
        prob_forced_yes=[p1, p2], prob_forced_no=[q1, q2].
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

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
    forced_yes = numbers_by_sample("prob_forced_yes", prob_forced_yes)
    if prob_forced_no is None:
        forced_no = dict.fromkeys(forced_yes, 0)
    else:
        forced_no = numbers_by_sample("prob_forced_no", prob_forced_no)
    if set(forced_yes) != set(forced_no):
        raise ArgumentValueError(
            "prob_forced_yes and prob_forced_no must be for the same samples, found "
            f"{quote_list(forced_yes)} and {quote_list(forced_no)}"
        )
    return Samples(
        {
            sample: _cheater_detection_sample(
                categories, forced_yes[sample], forced_no[sample], yes=yes, reports=reports
            )
            for sample in forced_yes
        }
    )


@survey_design("cheater_detection_sample", "prob_forced_yes", "prob_forced_no", "yes")
def _cheater_detection_sample(
    categories: CategoriesLike,
    prob_forced_yes: Probability,
    prob_forced_no: Probability,
    *,
    yes: Hashable,
    reports: ReportLabels,
) -> SurveyDesign:
    """One sample of `cheater_detection`."""
    builder = DesignBuilder(
        "cheater_detection_sample", categories, reports, yes, is_one_sample=True
    )
    forced_yes = builder.probability("prob_forced_yes", prob_forced_yes, "[]")
    forced_no = builder.probability("prob_forced_no", prob_forced_no, "[]")
    if forced_yes + forced_no > 1:
        raise ArgumentValueError(
            "prob_forced_yes and prob_forced_no of a sample must sum to at most 1, found "
            f"{float(forced_yes + forced_no):g}; at a sum of 1 nobody answers the question"
        )
    prob_yes = [[1 - forced_no if is_yes else forced_yes] for is_yes in builder.is_yes]
    prob_yes.append([Fraction(0)])
    classes = (*builder.domain.categories, "cheater")
    return builder.independent_answers(prob_yes, classes=classes)


@checked_keywords
def stochastic_lie_detector(
    categories: CategoriesLike,
    prob_statement: NumbersBySample,
    *,
    yes: Hashable = None,
    reports: ReportLabels = None,
) -> Samples:
    """Stochastic lie detector: `mangat` in which some people with the attribute lie and say no.

    `privatize` takes the classes ``m.domain.categories``, for example [("no", "honest"),
    ("yes", "honest"), ("yes", "lying")].  The estimate is the proportion of yes, honest or lying.
    ``est.merge()`` estimates the classes; the proportion of honest people among those with a
    yes is the authors' t.

    Parameters
    ----------
    prob_statement : mapping, Series or sequence
        P(the card asks for the sensitive attribute, so that people without it say no) for each
        sample, in [0, 1]: a mapping by label, or a list for samples 1 and 2.  They must differ.
    categories, yes, reports
        The two answers, the sensitive one, and labels of the reports; see `rr.surveys`.

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
    prob_of_sample = numbers_by_sample("prob_statement", prob_statement)
    return samples_of_pairs(
        {
            sample: _stochastic_lie_detector_sample(categories, p, yes=yes, reports=reports)
            for sample, p in prob_of_sample.items()
        }
    )


@survey_design("stochastic_lie_detector_sample", "prob_statement", "yes")
def _stochastic_lie_detector_sample(
    categories: CategoriesLike, prob_statement: Probability, *, yes: Hashable, reports: ReportLabels
) -> SurveyDesign:
    """One sample of `stochastic_lie_detector`."""
    builder = DesignBuilder(
        "stochastic_lie_detector_sample", categories, reports, yes, is_one_sample=True
    )
    p = builder.probability("prob_statement", prob_statement, "[]")
    prob_yes: dict[Hashable, list[Fraction]] = {}
    for category, is_yes in zip(builder.domain.categories, builder.is_yes, strict=True):
        prob_yes[category, "honest"] = [Fraction(1) if is_yes else 1 - p]
        if is_yes:
            prob_yes[category, "lying"] = [Fraction(0)]
    return builder.independent_answers([*prob_yes.values()], classes=[*prob_yes])


@checked_keywords
def list_experiment(
    items: Any,
    categories: CategoriesLike = ("no", "yes"),
    *,
    yes: Hashable = "yes",
    groups: Sequence[Hashable] = ("control", "treatment"),
) -> Samples:
    """List experiment (item count technique): people say how many items apply, and not which.

    One sample counts the control items alone, the other these and the sensitive item.
    `privatize` takes the classes ``m.domain.categories``: pairs of the category and the number of
    control items that apply, such as ("yes", 2).  ``est.merge()`` estimates all classes, the
    table of joint types of Blair and Imai (2012), and `rrstats.hypotheses.no_design_effect` tests
    whether they can be proportions.  For weights, clusters and covariates use
    `rrstats.regression.list_regression`.

    Parameters
    ----------
    items : int
        The number of control items, from 1 to 20.
    categories : sequence of 2 hashables
        Whether the sensitive item applies.
    yes : hashable
        The category of people to whom it applies.
    groups : sequence of 2 hashables
        Labels of the samples: first control, then treatment.  (0, 1) are those of R's list.

    Returns
    -------
    Samples

    Notes
    -----
    The estimate is the difference in means of the counts.  With F the proportions of counts up to
    y, pi(yes, y) = F_control(y) - F_treatment(y) and pi(no, y) = F_treatment(y) - F_control(y - 1).
    It is right if the sensitive item does not change what people say about the others, and nobody
    lies.  Epsilon is infinite: in the treatment sample a count of 0 proves a no to all items, and a
    count of all items a yes to all.  Nothing but the choice of control items makes such counts
    rare.

    References
    ----------
    Miller (1984); Imai (2011); Blair and Imai (2012).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = list_experiment(3)
    >>> control = {0: 40, 1: 80, 2: 60, 3: 20}
    >>> treatment = {0: 30, 1: 64, 2: 68, 3: 30, 4: 8}
    >>> est = rr.estimate(rr.Tally.from_counts({"control": control, "treatment": treatment}, m))
    >>> round(est["yes"].value, 3), round(est["yes"].std_error, 3)
    (0.31, 0.097)

    The mean count is 1.3 without the sensitive item and 1.61 with it.
    """
    if hasattr(items, "__len__"):
        raise ArgumentTypeError(
            f"items must be a whole number, of control items, found {type_name(items)}; with "
            "design = rr.surveys.list_experiment(3, groups=(0, 1)) data go to rr.estimate(counts, "
            "design, group=treat), or rr.regression.list_regression(counts, mechanism=design, "
            "group=treat)"
        )
    control, treatment = groups_of_two(groups)
    return samples_of_pairs(
        {
            control: _list_experiment_control(categories, items, yes=yes),
            treatment: _list_experiment_treatment(categories, items, yes=yes),
        }
    )


@survey_design("list_experiment_control", "items", "yes")
def _list_experiment_control(
    categories: CategoriesLike, items: Any, *, yes: Hashable, reports: ReportLabels = None
) -> SurveyDesign:
    """The sample of `list_experiment` that counts the control items alone."""
    builder = DesignBuilder("list_experiment_control", categories, reports, yes, is_one_sample=True)
    return _count_of_items(builder, items, 0)


@survey_design("list_experiment_treatment", "items", "yes")
def _list_experiment_treatment(
    categories: CategoriesLike, items: Any, *, yes: Hashable, reports: ReportLabels = None
) -> SurveyDesign:
    """The sample of `list_experiment` that counts the sensitive item, too."""
    builder = DesignBuilder(
        "list_experiment_treatment", categories, reports, yes, is_one_sample=True
    )
    return _count_of_items(builder, items, 1)


def _count_of_items(builder: DesignBuilder, items: Any, if_yes: int) -> SurveyDesign:
    """The count of control items, and ``if_yes`` more of people with the sensitive one."""
    items = builder.whole_number("items", items, 1, _MAX_CONTROL_ITEMS)
    classes = list(product(builder.domain.categories, range(items + 1)))
    counts = [
        count + is_yes * if_yes for is_yes, count in product(builder.is_yes, range(items + 1))
    ]
    possible = range(items + 2)
    entries = [[Fraction(reported == count) for count in counts] for reported in possible]
    return builder.design(entries, list(possible), classes=classes)


@checked_keywords
def by_row(
    categories: CategoriesLike,
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
    >>> mechanisms = by_row([0, 1], ["DQ", "Crosswise"], [None, 0.25], yes=1)
    >>> rr.estimate([1, 0], mechanisms).n
    2
    """
    columns: list[list[Any]] = [list(design), list(p1)]
    columns.append([None] * len(p1) if p2 is None else list(p2))
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ArgumentValueError(f"design, p1 and p2 must have equal lengths, found {lengths}")
    # NaN is missing, and does not equal itself.
    names, first, second = ([None if x != x else x for x in column] for column in columns)
    rows = list(zip(names, first, second, strict=True))
    designs = {row: _of_glmmrr(categories, yes, *row) for row in set(rows)}
    return [designs[row] for row in rows]


@checked_keywords
def sum_of(design: Mechanism, items: int) -> MatrixDesign:
    """Sum score: how many of several sensitive attributes a person has, from the sum of reports.

    Each person answers several items by the same design of yes and no, and only the number of yes
    reports is used.  The categories are 0 to ``items``, the number of attributes.

    Parameters
    ----------
    design : Mechanism
        A design of one sample with two categories and two reports, of which the last, or the
        sensitive one, counts.
    items : int
        The number of items, 2 to 60.

    Returns
    -------
    MatrixDesign
        P(r yes reports | s attributes); with few people and many items `Estimate.mle` is better
        than unbiased proportions, which add up the noise of all items.

    Raises
    ------
    ArgumentValueError
        The design has several samples, or more than two categories or reports.

    Notes
    -----
    The sum is Bin(s, P(yes | yes)) + Bin(items - s, P(yes | no)).  Epsilon is that of all reports
    together: at most the number of items times that of one, and that of the sum alone.

    References
    ----------
    Cruyff, Boeckenholt and van der Heijden (2016).

    Examples
    --------
    Three protected birds and 189 hunters, by how often they said yes (data of R's zapstRR):

    >>> import rrstats as rr
    >>> die = rr.surveys.forced_response([0, 1], 2/3, [1/6, 1/6])
    >>> est = rr.estimate(rr.Tally.from_counts([96, 68, 23, 2], sum_of(die, 3)))
    >>> est.mle().proportions.round(3)
    array([0.858, 0.08 , 0.062, 0.   ])
    """
    channel = check_instance(design, "design", Mechanism, A_MECHANISM).channel
    is_plain = design.groups is None and channel.is_multinomial
    if not is_plain or design.k != 2 or len(channel.samples) != 2 or has_latent_classes(channel):
        raise ArgumentValueError(
            "design must have one sample, two categories and two reports, to count the reports of "
            f"the sensitive category, found {design.k} categories"
        )
    items = check_whole_number(items, "items", 2, _MAX_SUMMED_ITEMS)
    yes = design.yes if isinstance(design, NamedDesign) else None
    code = design.domain.code(yes) if yes is not None else 1
    row = multinomial(channel).entries[code]
    counts = range(items + 1)
    return MatrixDesign(counts, _sums(row[code], row[1 - code], items), reports=counts)


def _sums(if_yes: Fraction, if_no: Fraction, items: int) -> list[tuple[Fraction, ...]]:
    """P(r yes reports | s attributes) from P(yes | yes) and P(yes | no)."""
    columns = []
    for traits in range(items + 1):
        sums = [Fraction(1)]
        for prob_yes in [if_yes] * traits + [if_no] * (items - traits):
            more = [Fraction(0), *(prob_yes * mass for mass in sums)]
            fewer = [*((1 - prob_yes) * mass for mass in sums), Fraction(0)]
            sums = [a + b for a, b in zip(more, fewer, strict=True)]
        columns.append(sums)
    return list(zip(*columns, strict=True))


class ItemRates(NamedTuple):
    """P(yes | yes) and P(yes | no) of one item of a sum."""

    true_positive_rate: Fraction
    false_positive_rate: Fraction


def item_rates(mechanism: Mechanism) -> ItemRates | None:
    """The rates of an item of `sum_of`, also of a document's matrix; None for other mechanisms."""
    items = mechanism.k - 1
    counts = tuple(range(items + 1))
    if type(mechanism) is not MatrixDesign or not 2 <= items <= _MAX_SUMMED_ITEMS:
        return None
    if (mechanism.domain.categories, mechanism.report_space.categories) != (counts, counts):
        return None
    rows = mechanism.channel.entries
    # Of n attributes the others are reported by Bin(n, p): P(n - 1) / P(n) = n (1 - p) / p.
    if_no = _rate(rows[0][0], rows[1][0], items)
    if_yes = 1 - _rate(rows[items][items], rows[items - 1][items], items)
    expected = _sums(if_yes, if_no, items)
    pairs = zip(chain(*rows), chain(*expected), strict=True)
    if any(abs(entry - sums) >= _SAME_ENTRY for entry, sums in pairs):
        return None
    return ItemRates(if_yes, if_no)


def _rate(never: Fraction, once: Fraction, times: int) -> Fraction:
    """The rate of an event from the probabilities that it happens never, or once."""
    if not never:
        return Fraction(1)
    return Fraction(once) / (Fraction(once) + times * Fraction(never))


_GLMMRR_DESIGNS = ("DQ", "Warner", "Crosswise", "Triangular", "UQM", "Kuk", "Forced")


def _of_glmmrr(
    categories: CategoriesLike, yes: Hashable, design: Any, p1: Any, p2: Any
) -> SurveyDesign:
    """One design by its name in GLMMRR; for Kuk red counts as yes."""
    domain = Categories(categories)
    code = sensitive_code(domain, yes)
    no_yes = [domain.categories[1 - code], domain.categories[code]]
    check_one_of(design, "design", _GLMMRR_DESIGNS)
    if design == "DQ":
        return direct(categories)
    if design == "Warner":
        return warner(categories, p1, yes=yes)
    if design == "Crosswise":
        return crosswise(categories, p1, yes=yes)
    if design == "Triangular":
        return triangular(categories, p1, yes=yes)
    if design == "UQM":
        return unrelated_question(categories, p1, p2, yes=yes)
    if design == "Kuk":
        return kuk(categories, p1, p2, yes=yes, reports=no_yes)
    truth = exact_probability("p1", p1, "[]")
    forced_yes = exact_probability("p2", p2, "[]")
    prob_forced = {no_yes[0]: (1 - truth) * (1 - forced_yes), no_yes[1]: (1 - truth) * forced_yes}
    return forced_response(categories, truth, prob_forced)
