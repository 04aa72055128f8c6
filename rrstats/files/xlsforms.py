"""Sheets of XLSForms, the Excel workbooks of ODK and KoboToolbox, and their lists of choices.

The sheet "survey" has a row for each question, the sheet "choices" one for each possible answer.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from os import PathLike

import pandas as pd

from rrstats._checks import needing
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


def choices_of(form: str | PathLike[str]) -> dict[str, dict[str, list[Hashable]]]:
    """The codes and labels of each question with one choice, by its name.

    Of labels in several languages the first is taken; a choice without a label has None.
    """
    questions = _with_plain_headers(sheet(form, "survey"), "survey", "type")
    choices = _with_plain_headers(sheet(form, "choices"), "choices", "list_name")
    labels = next((header for header in map(str, choices) if header.startswith("label")), "name")
    lists: dict[str, dict[str, list[Hashable]]] = {}
    for list_name, rows in choices.dropna(subset="name").groupby("list_name", sort=False):
        lists[str(list_name)] = {
            "codes": rows["name"].tolist(),
            "labels": rows[labels].astype(object).where(rows[labels].notna(), None).tolist(),
        }
    declared = {}
    for question, kind in zip(questions["name"], questions["type"], strict=True):
        match = _SELECT_ONE.fullmatch(str(kind).strip())
        if match is None:
            continue
        found = lists.get(match[1], {"codes": [], "labels": []})
        has_other = match[2] is not None and _OTHER[0] not in found["codes"]
        declared[str(question)] = {
            key: [*values, other] if has_other else values
            for (key, values), other in zip(found.items(), _OTHER, strict=True)
        }
    return declared


def _with_plain_headers(rows: pd.DataFrame, name: str, key: str) -> pd.DataFrame:
    """The rows of a sheet, its headers in small letters and without spaces; raises without both."""
    rows = rows.rename(columns=lambda header: re.sub(r"\s", "_", str(header).strip().lower()))
    if not {key, "name"} <= {*rows}:
        raise ArgumentValueError(
            f"form must have the columns {key} and name in the sheet {name!r}, as XLSForms have"
        )
    return rows
