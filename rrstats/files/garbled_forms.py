"""Questions of an XLSForm whose answers an app garbled: the design and the blocks that it used.

The sheet "survey" has the columns ``garbling::rate``, ``garbling::answer`` and
``garbling::covariate``, as Safely Report reads them: decks of the smallest size at which the rate
is whole, one after the other in the order of the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple

import pandas as pd

from rrstats._checks import needing, quote_list
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError
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
        The answers, in the order in which they were given.
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
    if not isinstance(form, pd.DataFrame):
        with needing("an XLSForm needs openpyxl; install openpyxl (pip install openpyxl)"):
            form = pd.read_excel(form, sheet_name="survey")
    lacking = [name for name in _COLUMNS if name not in form]
    if lacking:
        raise ArgumentValueError(
            f"form must be the sheet 'survey' of an XLSForm, without {quote_list(lacking)}"
        )
    rows = form.loc[form["name"] == question].dropna(subset="garbling::rate")
    if len(rows) != 1 or question not in data:
        raise ArgumentValueError(
            "question must be one garbled row of the form and a column of the data, found "
            f"{len(rows)} such rows"
        )
    _, rate, answer, covariate = rows[_COLUMNS].iloc[0]
    reports = data[question]
    if pd.isna(covariate):
        forced = {label: rate if label == answer else 0 for label in categories}
        return GarbledQuestion(reports, forced_response(categories, 1 - rate, forced), None)
    deck = simple_share(Fraction(float(rate))).denominator
    mechanism = garbling(categories, rate, into=answer, deck=deck)
    if covariate == "*":
        return GarbledQuestion(reports, mechanism, [place // deck for place in range(len(data))])
    values = data[covariate]
    decks = values.groupby(values).cumcount() // deck
    numbers = values.groupby([values, decks]).ngroup()
    blocks = numbers.fillna(-1).astype(int).tolist()  # -1 without a value
    return GarbledQuestion(reports.where(values.notna()), mechanism, blocks)
