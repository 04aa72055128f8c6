"""How a `SurveyEstimate` is shown to people: a table, a sentence, and what they must know of it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rrstats.estimation.estimate import IMPLAUSIBLE_TEXT
from rrstats.estimation.result import FORMATS, percent_range, said, shortened

if TYPE_CHECKING:
    from rrstats.estimation.survey_estimate import SurveyEstimate

__all__ = ["as_html", "as_text", "notes", "sentence"]

_FEW = 8
"""With fewer degrees of freedom a variance is mostly luck."""

_TOO_SURE = 2.0
"""So many times its variance is what intervals use for it; then the standard error misleads."""

_FORMATS: dict[Any, Any] = {
    **FORMATS,
    **dict.fromkeys(("effective_n", "total", "total_std_error"), "{:,.1f}".format),
    "design_effect": "{:.2f}".format,
}

_HIDDEN = ["n", "randomization_variance", "sampling_variance"]


def sentence(estimate: SurveyEstimate, code: int, level: float = 0.95) -> str:
    """What the sample says of one category."""
    label, share = said(estimate.categories[code]), float(estimate.proportions[code])
    if np.isnan(share):
        return f"nothing can be said of {label}: there are no reports of any weight"
    low, high = (float(ends[code]) for ends in estimate.interval(level))
    near = float(np.clip(share, 0, 1))
    shown = f"{near:.1%} {label}"
    if estimate.implausible[code]:
        shown += f" (the unbiased estimate is {share:.1%}: further off than noise goes)"
    elif f"{share:.1%}".lstrip("-") != f"{near:.1%}":
        shown += f" (the unbiased estimate is {share:.1%}, which is noise)"
    wide = ", so wide that it says next to nothing" * (high - low > 0.9)
    span = f"{level * 100:.10g}% interval {percent_range(low, high)}{wide}"
    return (
        f"about {shown}, {span}, of the population behind these {estimate.n:,} reports, which say "
        f"as much as {estimate.effective_n[code]:,.0f} of a simple random sample"
    )


def notes(estimate: SurveyEstimate) -> list[str]:
    """What a reader of the table must know, in plain words."""
    found = []
    below = int((estimate.sampling_variance < 0).sum())
    if below:
        found.append(
            f"The sampling's part of the variance came out negative for {below} of {estimate.k} "
            "categories: beside the randomization's it is too small to be told from 0."
        )
    free = estimate.degrees_of_freedom
    if estimate.n and free < _FEW:
        found.append(
            f"The standard errors rest on {max(free, 0)} degrees of freedom (clusters less strata) "
            "and are rough; the intervals are wider for it."
        )
    too_sure = estimate.least_variance > _TOO_SURE * np.maximum(estimate.variance, 0.0)
    if estimate.n and too_sure.any():
        found.append(
            f"The standard errors of {int(too_sure.sum())} of {estimate.k} categories are smaller "
            "than the weights and strata by themselves allow, by luck or because few reports have "
            "nearly all the weight: do not use them; intervals, tests, effective_n and "
            "design_effect do not."
        )
    if estimate.implausible.any():
        found.append(IMPLAUSIBLE_TEXT)
    return found


def _table(estimate: SurveyEstimate) -> pd.DataFrame:
    """The frame as people read it: labels as text, without n and what is not known."""
    hidden = _HIDDEN if estimate.names_categories else [*_HIDDEN, "reported", "naive"]
    table = estimate.to_frame().drop(columns=hidden)
    table["category"] = [said(category) for category in estimate.categories]
    return table


def as_text(estimate: SurveyEstimate) -> str:
    """Title, table and notes."""
    table = _table(estimate).to_string(index=False, formatters=_FORMATS, **shortened())
    return "\n".join([f"SurveyEstimate: {estimate.title}", table, *notes(estimate)])


def as_html(estimate: SurveyEstimate) -> str:
    """The table, the title, a sentence on the largest category, and notes."""
    table = _table(estimate).to_html(
        index=False, escape=True, border=0, formatters=_FORMATS, **shortened()
    )
    known = np.isfinite(estimate.proportions).all()
    largest = int(np.argmax(estimate.proportions)) if known else estimate.k - 1
    lines = [estimate.title, sentence(estimate, largest), *notes(estimate)]
    return str(table) + "".join(f"<p>{html.escape(line)}</p>" for line in lines)
