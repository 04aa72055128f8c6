"""Sheets of XLSForms, the Excel workbooks of ODK and KoboToolbox, and their lists of choices.

The sheet "survey" has a row for each question, the sheet "choices" one for each possible answer.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from os import PathLike
from typing import Any

import pandas as pd

from rrstats._checks import needing
from rrstats.data.declared import whole_words
from rrstats.errors import ArgumentValueError

_SELECT_ONE = re.compile(r"select[_ ]?(?:one|1)(?: from)? (\S+)( or[_ ](?:specify )?other)?")
"""The type of a question with a list of choices, and perhaps with another answer."""

_OTHER = ("other", "Other")
"""The choice, and its label, that the forms add for another answer."""


def sheet(form: pd.DataFrame | str | PathLike[str], name: str) -> pd.DataFrame:
    """A sheet of a form, whose cells are missing only where they are empty; a frame is the sheet.

    Raises MissingPackageError without openpyxl, ArgumentValueError for a file without the sheet.
    """
    if isinstance(form, pd.DataFrame):
        return form
    with needing("an XLSForm needs openpyxl; install openpyxl (pip install openpyxl)"):
        try:
            return pd.read_excel(
                form,
                sheet_name=name,
                engine="openpyxl",
                dtype=object,
                keep_default_na=False,
                na_values=[""],
            )
        except (FileNotFoundError, ImportError):
            raise
        except Exception as error:  # of a workbook that is none, or has other sheets
            raise ArgumentValueError(
                f"form must be an XLSForm, a workbook with the sheet {name!r}, found "
                f"{type(error).__name__} when it was read"
            ) from None


def choices_of(form: str | PathLike[str]) -> dict[str, list[tuple[Hashable, Any]]]:
    """The codes and labels of each question with one choice, None for a choice without a label.

    Of labels in several languages the first is taken.  Codes that are all whole numbers are
    numbers, as in a CSV file of the answers.
    """
    questions = _rows(form, "survey", "type")
    choices = _rows(form, "choices", "list_name")
    labels = next((header for header in map(str, choices) if header.startswith("label")), "name")
    declared = {}
    for question, kind in zip(questions["name"], map(str, questions["type"]), strict=True):
        match = _SELECT_ONE.fullmatch(kind.strip())
        if match is None:
            continue
        rows = choices[choices["list_name"].map(str) == match[1]].dropna(subset="name")
        texts = rows[labels].where(rows[labels].notna(), None)
        listed = list(zip(rows["name"], texts, strict=True))
        if match[2] and _OTHER[0] not in rows["name"].tolist():
            listed.append(_OTHER)
        if all(isinstance(code, str) for code, _ in listed):
            codes = whole_words([code for code, _ in listed])
            listed = [(code, text) for code, (_, text) in zip(codes, listed, strict=True)]
        if str(question) in declared:
            raise ArgumentValueError(
                f"form must name each question once, and two with a list are named {question!r}; "
                "rename one, and its column in the data"
            )
        declared[str(question)] = listed
    return declared


def _rows(form: str | PathLike[str], name: str, key: str) -> pd.DataFrame:
    """The rows of a sheet, its headers in small letters and without spaces; raises without both."""
    rows = sheet(form, name)
    rows.columns = rows.columns.map(lambda header: str(header).strip().lower().replace(" ", "_"))
    if not {key, "name"} <= {*rows}:
        raise ArgumentValueError(
            f"form must have the columns {key} and name in the sheet {name!r}, as XLSForms have"
        )
    return rows
