"""Survey designs by name: what the respondent does, what the numbers mean, how private it is.

Two uses.  A design that was carried out in the field with cards, dice or birthdays: only the
reports exist, and ``m.estimate(reports)`` gives the shares.  A design that rrstats carries out on
true answers: ``m.privatize(answers)``.

    m = rr.surveys.warner(["no", "yes"], yes="yes", prob_statement=0.7)
    m.estimate(reports)

Every number is named by what it is the probability of, because authors and packages do not
agree on a letter.  ``yes`` is the sensitive category (True where the categories are booleans);
``reports`` are labels of the reports where these are not the categories, in their order.
In all designs of a yes or a no P(report yes) = c + d * (true share of yes), and the estimate is
(reported share - c) / d.  Estimates outside [0, 1] stay there: RRreg 0.7.6 puts them on the border
and then gives 2e-6 for a standard error of 0.08.
Pairs of answers: `unrelated_question_two_answers`, `crosswise_with_anchor`.
Two samples: `unrelated_question_two_samples`, `cheater_detection`, `stochastic_lie_detector`.
In these `privatize` takes the classes ``m.domain.categories``, finer than the categories.
Sources: each function names its own; Chaudhuri (2011) and Blair, Imai and Zhou (2015) compare.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from rrstats.mechanisms.survey_design import SurveyDesign
from rrstats.mechanisms.two_answers import (
    crosswise_with_anchor,
    mangat_singh_singh_two_answers,
    unrelated_question_two_answers,
)
from rrstats.mechanisms.two_samples import (
    cheater_detection,
    stochastic_lie_detector,
    unrelated_question_two_samples,
)

__all__ = [
    "cheater_detection",
    "christofides",
    "crosswise",
    "crosswise_with_anchor",
    "devore",
    "direct",
    "disguised_response",
    "forced_response",
    "kuk",
    "mangat",
    "mangat_singh",
    "mangat_singh_singh",
    "mangat_singh_singh_two_answers",
    "mangat_unrelated_question",
    "singh_joarder",
    "soberanis_cruz",
    "stochastic_lie_detector",
    "triangular",
    "two_coin",
    "unrelated_question",
    "unrelated_question_two_answers",
    "unrelated_question_two_samples",
    "warner",
]

Labels = Sequence[Hashable] | None
"""Labels of the reports; None: the categories, or the numbers where reports are numbers."""


def direct(categories: object, *, reports: Labels = None) -> SurveyDesign:
    """Everybody answers directly.

    Law: the report is the true answer; epsilon is infinite, there is no protection.  It is here
    so that direct answers can be a sample among others: ``{"direct": direct(...), ...}``.

    >>> direct(["no", "yes"]).estimate(["yes", "no", "no", "no"]).proportions
    array([0.75, 0.25])
    """
    return SurveyDesign("direct", categories, reports=reports)


def forced_response(
    categories: object,
    prob_truth: Any,
    prob_forced: Any,
    *,
    reports: Labels = None,
) -> SurveyDesign:
    """A die tells the truth to be told, or dictates one of the k answers.

    prob_truth : P(the respondent is to tell the truth).
    prob_forced : P(each answer is dictated): a list in the order of the categories, or by
        category in a mapping or Series.  All together sum to 1 within 1e-9 and are then
        normalized exactly.
    Law: P(report v | truth v) = prob_truth + prob_forced[v], P(report v | other) =
    prob_forced[v]; for a yes c = P(forced yes), d = prob_truth.
    epsilon = ln((prob_truth + f) / f) with the smallest f; infinite where an answer is never
    dictated, as it then is the truth.  RRreg 0.7.6 (`FR`) prints a wrong log-likelihood.
    Source: Boruch (1971); Himmelfarb (2008) for k categories.

    >>> m = forced_response(["no", "yes"], prob_truth=4/6, prob_forced={"no": 1/6, "yes": 1/6})
    >>> m.estimate(["no"] * 1604 + ["yes"] * 831).proportions.round(4)
    array([0.7381, 0.2619])
    """
    return SurveyDesign(
        "forced_response",
        categories,
        reports=reports,
        prob_truth=prob_truth,
        prob_forced=prob_forced,
    )


def two_coin(categories: object, *, yes: Hashable = None, reports: Labels = None) -> SurveyDesign:
    """Toss a coin: heads, tell the truth; tails, toss again and say yes for heads, no for tails.

    Law: c = 1/4, d = 1/2, so that the true share of yes is 2 P(report yes) - 1/2;
    epsilon = ln 3.
    Source: the classroom survey on breaches of an honour code; forced response with 1/2, 1/4, 1/4.

    >>> m = two_coin([False, True])
    >>> m.estimate([True] * 35 + [False] * 65).proportions.round(3), round(m.epsilon, 3)
    (array([0.8, 0.2]), 1.099)
    """
    return SurveyDesign("two_coin", categories, yes=yes, reports=reports)


def warner(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """The mirrored question: a card asks "do you have it?", or else "do you not have it?".

    prob_statement : P(the card asks for the sensitive attribute), in (0, 1).
    A report of yes is "what my card says is true".
    Law: c = 1 - p, d = 2p - 1; epsilon = abs(ln(p / (1 - p))); 1/2 is no information.
    Source: Warner (1965).

    >>> m = warner(["no", "yes"], 0.7, yes="yes")
    >>> m.estimate(["yes"] * 60 + ["no"] * 65).proportions.round(3)
    array([0.55, 0.45])
    """
    return SurveyDesign(
        "warner", categories, yes=yes, reports=reports, prob_statement=prob_statement
    )


def disguised_response(
    categories: object, prob_red: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Name the colour of a card from your own one of two stacks, which mirror each other.

    prob_red : the share of red cards in the stack of people with the sensitive answer, in (0, 1);
        the other stack has 1 - prob_red.  Nobody sees which stack a card is from.
    A report of red stands in the place of yes: with categories ["no", "yes"] give
    ``reports=["black", "red"]``.
    Law: as Warner's: c = 1 - p, d = 2p - 1; epsilon = abs(ln(p / (1 - p))).
    Source: Kuk (1990); Blair, Imai and Zhou (2015).

    >>> m = disguised_response(["no", "yes"], 0.8, yes="yes", reports=["black", "red"])
    >>> m.estimate(["red"] * 30 + ["black"] * 70).proportions.round(3)
    array([0.833, 0.167])
    """
    return SurveyDesign(
        "disguised_response", categories, yes=yes, reports=reports, prob_red=prob_red
    )


def crosswise(
    categories: object, prob_unrelated: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Two questions at once: say only whether your two answers are the same or different.

    prob_unrelated : P(yes) to the unrelated question (born in January?), in (0, 1).
    A report of *same* stands in the place of yes: with ["no", "yes"] give
    ``reports=["different", "same"]``.  In RRreg and GLMMRR 1 is *same* too.
    Law: P(same | yes) = p, P(same | no) = 1 - p: c = 1 - p, d = 2p - 1, negative for p < 1/2;
    epsilon = abs(ln(p / (1 - p))).  No answer is safe, so there is less reason to cheat; of
    people who do not pay attention see `crosswise_with_anchor`.
    Source: Yu, Tian and Tang (2008).

    >>> m = crosswise(["no", "yes"], 0.25, yes="yes", reports=["different", "same"])
    >>> m.estimate(["same"] * 65 + ["different"] * 35).proportions.round(3)
    array([0.8, 0.2])
    """
    return SurveyDesign(
        "crosswise", categories, yes=yes, reports=reports, prob_unrelated=prob_unrelated
    )


def triangular(
    categories: object, prob_unrelated: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Two questions at once: draw a circle for no to both, a triangle for yes to one or both.

    prob_unrelated : P(yes) to the unrelated question, in (0, 1).
    A report of *triangle* stands in the place of yes: ``reports=["circle", "triangle"]``.
    Law: c = p, d = 1 - p; epsilon is infinite: a circle proves the no.  Whoever has the
    sensitive attribute is still hidden: P(triangle | yes) / P(triangle | no) = 1 / p.
    Source: Yu, Tian and Tang (2008).

    >>> m = triangular([False, True], 0.25)
    >>> m.estimate([True] * 40 + [False] * 60).proportions.round(3), m.epsilon
    (array([0.8, 0.2]), inf)
    """
    return SurveyDesign(
        "triangular", categories, yes=yes, reports=reports, prob_unrelated=prob_unrelated
    )


def unrelated_question(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """A card asks the sensitive question, or else an unrelated one of known prevalence.

    prob_sensitive : P(the card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : P(yes) to the unrelated question, in [0, 1].
    Law: c = (1 - p) a, d = p; epsilon = ln of the larger of (p + c) / c and (1 - c) / (1 - p - c),
    infinite for a of 0 or 1.  It is the privacy against those who do not know a person's
    answer to the unrelated question; for those who do see `unrelated_question_two_samples`.
    Source: Horvitz, Shah and Simmons (1967); Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    >>> m = unrelated_question([False, True], 0.5, 1/12)
    >>> m.estimate([True] * 328 + [False] * 382).proportions.round(4)
    array([0.1594, 0.8406])
    """
    return SurveyDesign(
        "unrelated_question",
        categories,
        yes=yes,
        reports=reports,
        prob_sensitive=prob_sensitive,
        prob_yes_unrelated=prob_yes_unrelated,
    )


def soberanis_cruz(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """The unrelated question with an innocuous variable that goes together with the sensitive one.

    Parameters, law and epsilon as in `unrelated_question`, which RRTCS uses for it as well: they
    hold where the prevalence of the innocuous answer is the same among those who have
    the sensitive attribute and those who have not.
    Source: Soberanis Cruz, Ramirez Valverde, Perez Elizalde and Gonzalez Cossio (2008).

    >>> m = soberanis_cruz([False, True], 0.7, 0.5)
    >>> m.estimate([True] * 71 + [False] * 219).proportions.round(4)
    array([0.8645, 0.1355])
    """
    return SurveyDesign(
        "soberanis_cruz",
        categories,
        yes=yes,
        reports=reports,
        prob_sensitive=prob_sensitive,
        prob_yes_unrelated=prob_yes_unrelated,
    )


def mangat(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Say yes if you have it; otherwise answer by Warner's cards.

    prob_statement : P(the card asks for the sensitive attribute), so that someone without it
        truthfully says no, in (0, 1).
    Law: c = 1 - p, d = p; epsilon is infinite: a no proves the no.  Of the others
    P(yes | yes) / P(yes | no) = 1 / (1 - p).
    Source: Mangat (1994).

    >>> m = mangat([False, True], 0.7)
    >>> m.estimate([True] * 450 + [False] * 550).proportions.round(4)
    array([0.7857, 0.2143])
    """
    return SurveyDesign(
        "mangat", categories, yes=yes, reports=reports, prob_statement=prob_statement
    )


def devore(
    categories: object, prob_sensitive: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """The unrelated question with a trait that everybody has: the truth, or else a yes.

    prob_sensitive : P(the card asks the sensitive question), in (0, 1).
    Law: c = 1 - p, d = p, as in `mangat`; epsilon is infinite: a no proves the no.
    Source: Devore (1977).

    >>> m = devore([False, True], 0.7)
    >>> m.estimate([True] * 218 + [False] * 22).proportions.round(4)
    array([0.131, 0.869])
    """
    return SurveyDesign(
        "devore", categories, yes=yes, reports=reports, prob_sensitive=prob_sensitive
    )


def mangat_singh(
    categories: object,
    prob_truth: Any,
    prob_statement: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Two stages: a first card asks for the truth, or else sends you on to Warner's cards.

    prob_truth : P(the first card asks for the truth), in [0, 1); RRTCS calls it t.
    prob_statement : P(the second card asks for the sensitive attribute), in (0, 1).
    Law: c = (1 - t)(1 - p), d = t + (1 - t)(2p - 1); epsilon = abs(ln((1 - c) / c)).
    Source: Mangat and Singh (1990).

    >>> m = mangat_singh([False, True], 0.55, 0.7)
    >>> m.estimate([True] * 100 + [False] * 140).proportions.round(4)
    array([0.6142, 0.3858])
    """
    return SurveyDesign(
        "mangat_singh",
        categories,
        yes=yes,
        reports=reports,
        prob_truth=prob_truth,
        prob_statement=prob_statement,
    )


def mangat_unrelated_question(
    categories: object,
    prob_truth: Any,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Two stages: a first card asks for the truth, or else sends you on to the unrelated question.

    prob_truth : P(the first card asks for the truth), in [0, 1); RRTCS calls it t.
    prob_sensitive : P(the second card asks the sensitive question), in (0, 1).
    prob_yes_unrelated : P(yes) to the unrelated question, in [0, 1].
    Law: c = (1 - t)(1 - p) a, d = t + (1 - t) p; epsilon = ln of the larger of (c + d) / c and
    (1 - c) / (1 - c - d), infinite for a of 0 or 1.
    Source: Mangat (1992); `Mangat` in RRTCS, while `mangat` here is the design of 1994.

    >>> m = mangat_unrelated_question([False, True], 0.55, 0.7, 0.5)
    >>> m.estimate([True] * 120 + [False] * 120).proportions.round(4)
    array([0.5, 0.5])
    """
    return SurveyDesign(
        "mangat_unrelated_question",
        categories,
        yes=yes,
        reports=reports,
        prob_truth=prob_truth,
        prob_sensitive=prob_sensitive,
        prob_yes_unrelated=prob_yes_unrelated,
    )


def mangat_singh_singh(
    categories: object,
    prob_sensitive: Any,
    prob_yes_unrelated: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Say yes if you have it; otherwise draw a card: the sensitive question, or the unrelated one.

    prob_sensitive : P(the card asks the sensitive question, so that the answer is no), in (0, 1).
    prob_yes_unrelated : P(yes) to the unrelated question, in [0, 1].
    Law: c = (1 - p) a, d = 1 - (1 - p) a; epsilon is infinite: a no proves the no.
    Source: Mangat, Singh and Singh (1992).

    >>> m = mangat_singh_singh([False, True], 0.6, 0.5)
    >>> m.estimate([True] * 203 + [False] * 599).proportions.round(4)
    array([0.9336, 0.0664])
    """
    return SurveyDesign(
        "mangat_singh_singh",
        categories,
        yes=yes,
        reports=reports,
        prob_sensitive=prob_sensitive,
        prob_yes_unrelated=prob_yes_unrelated,
    )


def singh_joarder(
    categories: object, prob_statement: Any, *, yes: Hashable = None, reports: Labels = None
) -> SurveyDesign:
    """Warner's cards, but whoever has it and gets the mirrored question draws once more.

    prob_statement : P(a card asks for the sensitive attribute), in (0, 1).
    Law: c = 1 - p, P(yes | yes) = p + (1 - p) p, so d = 2p - 1 + p (1 - p); epsilon = ln of the
    larger of (2 - p) p / (1 - p) and p / (1 - p)^2, or of their inverses.
    Source: Singh and Joarder (1997); this is the law of RRTCS's formula, its help text describes
    another draw.

    >>> m = singh_joarder([False, True], 0.6)
    >>> m.estimate([True] * 93 + [False] * 77).proportions.round(4)
    array([0.6658, 0.3342])
    """
    return SurveyDesign(
        "singh_joarder", categories, yes=yes, reports=reports, prob_statement=prob_statement
    )


def kuk(
    categories: object,
    prob_red_if_yes: Any,
    prob_red_if_no: Any,
    draws: int = 1,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Draw cards from your own one of two stacks, and say how many were red.

    prob_red_if_yes, prob_red_if_no : the shares of red cards in the stack of those who have the
        sensitive attribute and in that of the others, in [0, 1].
    draws : how many cards, with replacement, up to 100.  Reports are 0, 1, ..., draws red cards.
    Law: binomial; for one draw c = prob_red_if_no, d = prob_red_if_yes - prob_red_if_no.  The
    estimate is from the mean number of red cards, as Kuk's.  epsilon = draws times that of one
    draw, abs(ln) of the worst of the ratios of red and of black; infinite for a stack of one
    colour that the other stack does not have alone.
    No red card at all is a possible report, which RRTCS 0.0.4 refuses.
    Source: Kuk (1990).

    >>> m = kuk([False, True], 0.7, 0.3, draws=4)
    >>> counts = [120, 260, 300, 210, 110]
    >>> m.estimate([red for red, n in enumerate(counts) for _ in range(n)]).proportions.round(5)
    array([0.54375, 0.45625])
    """
    return SurveyDesign(
        "kuk",
        categories,
        yes=yes,
        reports=reports,
        prob_red_if_yes=prob_red_if_yes,
        prob_red_if_no=prob_red_if_no,
        draws=draws,
    )


def christofides(
    categories: object,
    prob_marks: Sequence[Any],
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Draw a card marked 1 .. m; say its mark, or m + 1 minus it if you have the attribute.

    prob_marks : the shares of cards marked 1 .. m, at least 2, that sum to 1 within 1e-9.
    Reports are 1 .. m.  Law: P(z | no) = prob_marks[z], P(z | yes) = prob_marks[m + 1 - z]; the
    estimate is from the mean: (mean of z - mu) / (m + 1 - 2 mu) with mu the mean mark.
    epsilon = the worst abs(ln(prob_marks[z] / prob_marks[m + 1 - z])).
    Source: Christofides (2003).

    >>> m = christofides([False, True], [0.1, 0.2, 0.3, 0.2, 0.2])
    >>> counts = [21, 27, 49, 34, 19]
    >>> m.estimate([1 + z for z, n in enumerate(counts) for _ in range(n)]).proportions.round(4)
    array([0.55, 0.45])
    """
    return SurveyDesign("christofides", categories, yes=yes, reports=reports, prob_marks=prob_marks)
