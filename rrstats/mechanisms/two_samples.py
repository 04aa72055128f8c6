"""Survey designs of two samples: what one sample leaves open, the other one tells.

People are assigned to samples by chance, and a report comes with its sample in ``group=``.  The
samples' mechanisms tell finer classes of truth apart than one alone could estimate: who has the
trait of the unrelated question, who cheats, who lies.
Law: that of the respondent's sample; epsilon is the worst over samples and classes, so it holds
against those who know a person's class but for the sensitive answer.
Public as functions of `rr.surveys`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import pandas as pd

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.exact_numbers import listed
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.survey_design import SurveyDesign

__all__ = ["cheater_detection", "stochastic_lie_detector", "unrelated_question_two_samples"]

Each = Mapping[Any, Any] | Sequence[Any]
"""A number for each sample: by its label in a mapping or Series, or a list for 1, 2, ..."""


def _by_sample(value: Any, name: str) -> dict[Hashable, Any]:
    """The number of each sample."""
    if isinstance(value, pd.Series) and not value.index.is_unique:
        raise ArgumentValueError(f"{name} must have one number for each sample, not several")
    if isinstance(value, Mapping | pd.Series):
        found = dict(value.items())
    elif isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ArgumentTypeError(
            f"{name} must have one number for each sample, a list or a mapping from sample to "
            f"number, found {type(value).__name__}"
        )
    else:
        found = dict(enumerate(value, start=1))
    if len(found) < 2:
        raise ArgumentValueError(
            f"{name} must have numbers for at least 2 samples, found {len(found)}"
        )
    return found


def unrelated_question_two_samples(
    categories: object,
    prob_sensitive: Each,
    *,
    yes: Hashable = None,
    reports: Sequence[Hashable] | None = None,
) -> Samples:
    """The unrelated question of unknown prevalence: samples draw from different boxes.

    Reports are single answers.  `privatize` takes the classes ``m.domain.categories``, pairs of
    category and whether the person has the unrelated trait: ("yes", True), ("yes", False), ...
    prob_sensitive : for each sample P(the card asks the sensitive question), in [0, 1]: a mapping
        from the sample's label, or a list for the samples 1 and 2.  They must not be equal.
    Law: P(yes) = p x + (1 - p) y for x, y in 0, 1, so the reported share of yes is
    p pi + (1 - p) a, and pi = ((1 - p2) l1 - (1 - p1) l2) / (p1 - p2).
    epsilon is infinite, against those who know whether a person has the unrelated trait: a yes
    of somebody without it proves the yes.  Against those who only know its prevalence a it
    is that of the sample that loses most, each
    ``unrelated_question(categories, p, a, yes=...).epsilon``.
    Source: Greenberg, Abul-Ela, Simmons and Horvitz (1969).

    >>> m = unrelated_question_two_samples([False, True], {"A": 0.7, "B": 0.3})
    >>> reports, group = [True] * 40 + [False] * 60 + [True] * 30 + [False] * 70, ["A", "B"]
    >>> est = m.estimate(reports, group=[sample for sample in group for _ in range(100)])
    >>> est.proportions.round(3)
    array([0.525, 0.475])

    The prevalence of the unrelated trait, RRreg's piUQ, is read from the same reports:

    >>> trait = est.about({pair: pair[1] for pair in m.domain.categories})
    >>> round(trait[True].proportion, 3)
    0.225
    """
    parts = {
        sample: SurveyDesign(
            "unrelated_question_sample", categories, yes=yes, reports=reports, prob_sensitive=p
        )
        for sample, p in _by_sample(prob_sensitive, "prob_sensitive").items()
    }
    return _showing_first(parts)


def cheater_detection(
    categories: object,
    prob_forced_yes: Each,
    prob_forced_no: Each | None = None,
    *,
    yes: Hashable = None,
    reports: Sequence[Hashable] | None = None,
) -> Samples:
    """Forced response in which some say no whatever the card demands: the cheaters.

    Reports are single answers.  `privatize` takes the classes ``m.domain.categories``, such as
    ("no", "yes", "cheater"), of which the last is no category of yours.
    prob_forced_yes : for each sample P(the card dictates a yes), in [0, 1]: a mapping from
        the sample's label, or a list for the samples 1 and 2.  They must differ.
    prob_forced_no : the same for a dictated no; by default never.  With it the design is
        symmetric: no report is then safe.
        RRreg's c(p1, q1, p2, q2) is prob_forced_yes=[p1, p2], prob_forced_no=[q1, q2].
    Estimates three shares: honest people of both categories, and ``"cheater"``, of whom nothing
    else is known; the share of yes lies between that of honest yes and that plus the cheaters.
    Law: P(yes | honest yes) = 1 - f_no, P(yes | honest no) = f_yes, P(yes | cheater) = 0;
    epsilon is infinite: a yes proves that somebody is no cheater.
    Source: Clark and Desharnais (1998); symmetric: Ostapczuk, Moshagen, Zhao and Musch (2009).

    >>> m = cheater_detection([False, True], [0.2, 0.5], [0.1, 0.2])
    >>> reports = [True] * 195 + [False] * 305 + [True] * 270 + [False] * 230
    >>> m.estimate(reports, group=[1] * 500 + [2] * 500).proportions.round(3)
    array([0.6, 0.3, 0.1])
    """
    forced_yes = _by_sample(prob_forced_yes, "prob_forced_yes")
    forced_no: dict[Hashable, Any] = dict.fromkeys(forced_yes, 0)
    if prob_forced_no is not None:
        forced_no = _by_sample(prob_forced_no, "prob_forced_no")
    if set(forced_yes) != set(forced_no):
        raise ArgumentValueError(
            "prob_forced_yes and prob_forced_no must be for the same samples, found "
            f"{listed(forced_yes)} and {listed(forced_no)}"
        )
    return Samples(
        {
            sample: SurveyDesign(
                "cheater_detection_sample",
                categories,
                yes=yes,
                reports=reports,
                prob_forced_yes=p,
                prob_forced_no=forced_no[sample],
            )
            for sample, p in forced_yes.items()
        }
    )


def stochastic_lie_detector(
    categories: object,
    prob_statement: Each,
    *,
    yes: Hashable = None,
    reports: Sequence[Hashable] | None = None,
) -> Samples:
    """Mangat's design of 1994 in which some of those who have the attribute lie and say no.

    Reports are single answers.  `privatize` takes the classes ``m.domain.categories``, for
    example [("no", "honest"), ("yes", "honest"), ("yes", "lying")].
    prob_statement : for each sample P(the card asks for the sensitive attribute, so that someone
        without it says no), in [0, 1]: a mapping from the sample's label, or a list for the
        samples 1 and 2.  They must differ.
    The share estimated is that of yes, honest or lying; ``est.about(None)`` reads the reports for
    the classes, of which the share of honest ones among those of yes is the authors' t.
    Law: P(yes | honest yes) = 1, P(yes | lying) = 0, P(yes | no) = 1 - p; epsilon is infinite:
    a no proves that somebody is no honest yes.
    Source: Moshagen, Musch and Erdfelder (2012).

    >>> m = stochastic_lie_detector([0, 1], [1/6, 5/6], yes=1)
    >>> reports = [1] * 373 + [0] * 191 + [1] * 398 + [0] * 294
    >>> m.estimate(reports, group=[1] * 564 + [2] * 692).proportions.round(4)
    array([0.1293, 0.8707])
    """
    parts = {
        sample: SurveyDesign(
            "stochastic_lie_detector_sample",
            categories,
            yes=yes,
            reports=reports,
            prob_statement=p,
        )
        for sample, p in _by_sample(prob_statement, "prob_statement").items()
    }
    return _showing_first(parts)


def _showing_first(parts: Mapping[Hashable, SurveyDesign]) -> Samples:
    """The samples of designs whose classes are pairs, read for the first of each pair."""
    pairs = cast("tuple[tuple[Hashable, Hashable], ...]", next(iter(parts.values())).categories)
    return Samples(parts, shows={pair: pair[0] for pair in pairs})
