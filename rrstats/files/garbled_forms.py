"""Questions of an XLSForm whose answers an app garbled: the design and the blocks that it used.

The sheet "survey" has the columns ``garbling::rate``, ``garbling::answer`` and
``garbling::covariate``, as Safely Report reads them: decks of the smallest size at which the rate
is whole, one after the other in the order of the answers.  People whom the form did not ask draw
no card.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple

import pandas as pd

from rrstats._checks import quote, quote_list
from rrstats._names import checked_keywords
from rrstats.data.columns import place_of
from rrstats.errors import ArgumentValueError
from rrstats.files.xlsforms import sheet
from rrstats.mechanisms.decks import simple_share
from rrstats.mechanisms.survey_design import SurveyDesign
from rrstats.mechanisms.surveys import forced_response, garbling

_COLUMNS = ["name", "garbling::rate", "garbling::answer", "garbling::covariate"]


class GarbledQuestion(NamedTuple):
    """A garbled question, for `rr.estimate`: ``estimate(reports, mechanism, blocks=...)``.

    reports : Series of the answers, missing for people without the covariate.
    mechanism : the design.
    blocks : the block of each person, or None where every answer had a coin of its own.
    """

    reports: pd.Series[Any]
    mechanism: SurveyDesign
    blocks: list[Any] | None


@checked_keywords
def garbled_question(
    form: pd.DataFrame | str | PathLike[str],
    question: str,
    data: pd.DataFrame,
    categories: Sequence[Any] = ("no", "yes"),
) -> GarbledQuestion:
    """Read how an app garbled a question from its XLSForm, with the answers in their order.

    Parameters
    ----------
    form : path or DataFrame
        The form, which pandas reads with openpyxl, or its sheet "survey".
    question : str
        The name of the question, a row of the form and a column of the data.
    data : DataFrame
        The answers, in the order in which they were given; missing for people who were not asked.
        In another order the proportion stays right, and only those of single blocks are wrong.
    categories : sequence of 2 hashables
        The names of the two choices.

    Returns
    -------
    GarbledQuestion
        The reports, the design and the blocks.  An empty covariate means independent coins, ``*``
        one stream of decks, and a name one stream for each of its values, in which people without
        a value are missing.

    Raises
    ------
    ArgumentValueError
        The form has no such question, or it is not garbled.

    Examples
    --------
    >>> form = pd.DataFrame({"name": ["bribe"], "garbling::rate": [0.25],
    ...                      "garbling::answer": ["yes"], "garbling::covariate": ["*"]})
    >>> data = pd.DataFrame({"bribe": ["yes", "no", "no", "no", "no", "yes", "yes", "no"]})
    >>> asked = garbled_question(form, "bribe", data)
    >>> asked.blocks
    [0, 0, 0, 0, 1, 1, 1, 1]
    >>> import rrstats as rr
    >>> found = rr.estimate(asked.reports, asked.mechanism, blocks=asked.blocks)
    >>> found.proportions.round(3)
    array([0.833, 0.167])
    """
    survey = sheet(form, "survey")
    lacking = [name for name in _COLUMNS if name not in survey]
    if lacking:
        raise ArgumentValueError(
            f"form must be the sheet 'survey' of an XLSForm, without {quote_list(lacking)}"
        )
    rows = survey.loc[survey["name"] == question].dropna(subset="garbling::rate")
    if len(rows) != 1 or question not in data:
        raise ArgumentValueError(
            "question must be one garbled row of the form and a column of the data, found "
            f"{len(rows)} such rows"
        )
    _, rate, answer, covariate = rows[_COLUMNS].iloc[0]
    rate = float(rate)
    answers = [label for label in categories if label == answer or str(label) == str(answer)]
    if len(answers) != 1:
        raise ArgumentValueError(
            f"categories must hold the garbled answer of the form once, {quote(answer)}, found "
            f"{quote_list(categories)}"
        )
    reports = data[question]
    if pd.isna(covariate) or covariate == "":
        forced = {label: rate if label == answers[0] else 0 for label in categories}
        return GarbledQuestion(reports, forced_response(categories, 1 - rate, forced), None)
    streams = pd.Series("*", data.index)
    if covariate != "*":
        streams = data.iloc[:, place_of(data, covariate)].astype(object)
        reports = reports.where(streams.notna())
    streams = streams.where(reports.notna())
    deck = simple_share(Fraction(rate)).denominator
    decks = streams.groupby(streams).cumcount() // deck
    blocks = streams.groupby([streams, decks]).ngroup().fillna(-1).astype(int)
    mechanism = garbling(categories, rate, into=answers[0], deck=deck)
    return GarbledQuestion(reports, mechanism, blocks.tolist())
