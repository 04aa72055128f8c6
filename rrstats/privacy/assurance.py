"""The sentences on protection that a respondent hears: no numbers, and never more than is true.

Odds and epsilon are for the office; see `explanation`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, cast

from rrstats._display import label
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import multinomial
from rrstats.mechanisms.survey_design import asked_categories

_GOOD_GUESS = 9
"""Likelihood ratio from which a guess is right 9 times of 10 where two answers are as common."""
_MAX_READ = 144
"""Entries of a matrix whose reports are examined one by one."""
_MAX_SURE = 3
"""Reports that give an answer away and are named one by one."""


def assurance(mechanism: Mechanism, words: Mapping[str, str], said: Mapping[Any, str]) -> str:
    """The sentence on what a report tells about the answer of a person who follows.

    Parameters
    ----------
    mechanism : Mechanism
        One sample, if the design has several.
    words : mapping
        The sentences ``[page.spoken]`` of fieldwork.toml.
    said : mapping of report to str
        What is said for a report; of reports that are not in it none is named.

    Returns
    -------
    str
    """
    probs = _probs_by_answer(mechanism)
    if probs is None:
        factor = mechanism.max_likelihood_ratio
        if not isinstance(factor, Fraction):
            return words["some_sure"]
        return _on_guesses(factor, words, "guess")
    reports = cast(Any, mechanism.report_space).categories
    sentences = []
    factor = Fraction(1)
    is_some_open = False
    for place, report in enumerate(reports):
        by_answer = {answer: column[place] for answer, column in probs.items()}
        possible = [answer for answer, prob in by_answer.items() if prob]
        excluded = [answer for answer, prob in by_answer.items() if not prob]
        if not possible:
            continue
        if not excluded:
            is_some_open = True
            factor = max(factor, max(by_answer.values()) / min(by_answer.values()))
            continue
        if report not in said or (len(possible) > 1 and len(excluded) > 1):
            return words["some_sure"]
        which, answer = ("sure", possible[0]) if len(possible) == 1 else ("sure_not", excluded[0])
        sentences.append(words[which].format(report=said[report], answer=f'"{label(answer)}"'))
    if not sentences:
        return _on_guesses(factor, words, "guess")
    if len(sentences) > _MAX_SURE:
        return words["some_sure"]
    if is_some_open:
        sentences.append(_on_guesses(factor, words, "otherwise"))
    return " ".join(sentences)


def _on_guesses(factor: Fraction, words: Mapping[str, str], name: str) -> str:
    """The sentence on reports that are possible after every answer."""
    if factor == 1 and name == "guess":
        return words["nothing"]
    if factor < _GOOD_GUESS:
        return words[name]
    return words["good_guess" if name == "guess" else f"{name}_good_guess"]


def _probs_by_answer(mechanism: Mechanism) -> dict[Hashable, list[Fraction]] | None:
    """P(report | answer) of people who follow; None for many reports, and for sets of answers.

    Where people also have a trait, half of those with each answer are taken to have it; of the
    numbers of other items on a list each is taken to be as likely.
    """
    truths = mechanism.domain.categories
    if not mechanism.channel.is_multinomial:
        return None
    channel = multinomial(mechanism.channel)
    if channel.m * len(truths) > _MAX_READ:
        return None
    columns: dict[Hashable, list[list[Fraction]]] = {}
    for truth, column in zip(truths, zip(*channel.entries, strict=True), strict=True):
        is_followed, answer = _answer_of(truth, mechanism)
        if is_followed:
            columns.setdefault(answer, []).append([Fraction(prob) for prob in column])
    if not columns:  # nothing is known of classes of another kind
        return None
    return {
        answer: [sum(probs, Fraction(0)) / len(probs) for probs in zip(*classes, strict=True)]
        for answer, classes in columns.items()
    }


def _answer_of(truth: Hashable, mechanism: Mechanism) -> tuple[bool, Hashable]:
    """True and its answer for a class of people who follow the instructions; else False."""
    answers = asked_categories(mechanism)
    if truth in answers:
        return True, truth
    if isinstance(truth, tuple) and truth[0] in answers:
        return isinstance(truth[1], int) or truth[1] == "honest", truth[0]  # a trait, or a count
    return False, None
