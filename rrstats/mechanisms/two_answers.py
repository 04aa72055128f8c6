"""Survey designs in which each person answers twice, so that one answer can correct the other.

Reports are pairs.  Two boxes of cards make the prevalence of an unrelated question cancel; an
anchor, to which everybody's true answer is known, tells how many pay no attention.
The answers of the field are two columns, of which ``list(zip(df.first, df.second))`` are the
reports; ``m.domain.categories`` are the true answers that `privatize` takes.
Law: independent answers given the true class, which is finer than the category.
Public as functions of `rr.surveys`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from rrstats.mechanisms.survey_design import SurveyDesign

__all__ = [
    "crosswise_with_anchor",
    "mangat_singh_singh_two_answers",
    "unrelated_question_two_answers",
]

Labels = Sequence[Hashable] | None
"""Labels of one answer; None: the categories."""


def unrelated_question_two_answers(
    categories: object,
    prob_sensitive: Sequence[Any],
    *,
    prob_truth: Any = 0,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """The unrelated question of unknown prevalence: each person draws from two boxes.

    Reports are pairs: (answer of the first box, answer of the second); ``reports`` are labels of
    one answer.  `privatize` takes the classes ``m.domain.categories``, pairs of category and
    whether the innocuous trait is there: ("yes", True), ("yes", False), ...
    prob_sensitive : two shares of cards with the sensitive question, one for each box, in (0, 1)
        and not equal.
    prob_truth : P(a first card asks for the truth before the box is used), in [0, 1), for each
        answer anew; above 0 it is Mangat's (1992) two stages.
    Law: answers are independent, P(yes) = t x + (1 - t)(p x + (1 - p) y) for x, y in 0, 1; the
    score ((1 - p2) I - (1 - p1) J) / (p1 - p2) is unbiased, whatever the prevalence of y.
    epsilon is infinite: who knows a person's innocuous trait learns the rest from two answers
    that do not fit it.
    Source: Chaudhuri (2011), p. 42 and 53; RRTCS `HorvitzUB`, `MangatUB`.

    >>> m = unrelated_question_two_answers([0, 1], [0.6, 0.7], yes=1)
    >>> counts = {(0, 0): 134, (0, 1): 9, (1, 0): 15, (1, 1): 30}
    >>> m.estimate([pair for pair, n in counts.items() for _ in range(n)]).proportions.round(4)
    array([0.8883, 0.1117])

    From two columns of a frame:

    >>> import pandas as pd
    >>> df = pd.DataFrame({"z": [0, 1, 1, 0], "a": [0, 0, 1, 0]})
    >>> m.estimate(list(zip(df.z, df.a))).n
    4
    """
    return SurveyDesign(
        "unrelated_question_two_answers",
        categories,
        yes=yes,
        reports=reports,
        prob_sensitive=prob_sensitive,
        prob_truth=prob_truth,
    )


def mangat_singh_singh_two_answers(
    categories: object,
    prob_sensitive: Sequence[Any],
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """`mangat_singh_singh` with an unknown prevalence: each person draws from two boxes.

    Reports are pairs of answers, and `privatize` takes the classes ``m.domain.categories``, pairs
    of category and trait: ("yes", True), ...; see `unrelated_question_two_answers`, also for two
    columns of a frame and for the score.
    prob_sensitive : two shares of cards with the sensitive question, in (0, 1), not equal.
    Law: (yes, yes) from everybody with the sensitive attribute; from others independent answers
    with P(yes) = (1 - p) y.  epsilon is infinite: any no proves the no.
    Source: Chaudhuri (2011), p. 54; RRTCS `MangatSinghSinghUB`.

    >>> m = mangat_singh_singh_two_answers([0, 1], [0.6, 0.8], yes=1)
    >>> counts = {(0, 0): 113, (0, 1): 11, (1, 0): 35, (1, 1): 341}
    >>> m.estimate([pair for pair, n in counts.items() for _ in range(n)]).proportions.round(4)
    array([0.344, 0.656])
    """
    return SurveyDesign(
        "mangat_singh_singh_two_answers",
        categories,
        yes=yes,
        reports=reports,
        prob_sensitive=prob_sensitive,
    )


def crosswise_with_anchor(
    categories: object,
    prob_unrelated: Any,
    prob_unrelated_anchor: Any,
    *,
    yes: Hashable = None,
    reports: Labels = None,
) -> SurveyDesign:
    """Crosswise, and once more with a question to which nobody's answer is yes: the anchor.

    Reports are pairs: (answer, answer to the anchor), each *same* in the place of yes as in
    `crosswise`; ``reports`` are labels of one answer.  Two columns of a frame become reports by
    ``list(zip(df.z, df.a))``.
    `privatize` takes ``m.domain.categories``, for example ("no", "yes", "inattentive"): attentive
    people of each category, and those who answer without reading, either way with 1/2.  Their
    shares are estimated.
    prob_unrelated, prob_unrelated_anchor : P(yes) to the unrelated question of either, in (0, 1).
    Law: attentive people say *same* with p or 1 - p, and to the anchor with 1 - p'.  The
    estimate is from the two margins: attentive yes minus attentive no is
    (P(same) - 1/2) / (p - 1/2), their sum (P(same to the anchor) - 1/2) / (1/2 - p').
    The prevalence corrected for inattention is the share of the yes among the attentive:
    ``est.share_among("yes", ["no", "yes"])``.
    epsilon is the worst over all three classes, so it also hides who paid attention.
    Source: Atsusaka and Stevenson (2023).

    >>> m = crosswise_with_anchor([0, 1], 0.15, 0.15, yes=1)
    >>> m.categories, round(m.epsilon, 4)
    ((0, 1, 'inattentive'), 2.4079)

    >>> import pandas as pd
    >>> df = pd.DataFrame({"z": [1] * 70 + [0] * 30, "a": [1] * 75 + [0] * 25})
    >>> est = m.estimate(list(zip(df.z, df.a)))
    >>> round(est.share_among(1, [0, 1]).proportion, 3)
    0.1
    """
    return SurveyDesign(
        "crosswise_with_anchor",
        categories,
        yes=yes,
        reports=reports,
        prob_unrelated=prob_unrelated,
        prob_unrelated_anchor=prob_unrelated_anchor,
    )
