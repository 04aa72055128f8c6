"""The paragraph on a design for a paper or an ethics board, with its literature in BibTeX.

The words and the references are in ``methods.toml``; all numbers are of the mechanism itself.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats._checks import check_instance
from rrstats._display import Text, chance, counted, label
from rrstats._names import checked_keywords
from rrstats._version import __version__
from rrstats.errors import NotIdentifiableError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.tallies.tally import Tally
from rrstats.mechanisms.attrs import released_records
from rrstats.mechanisms.base import HasMechanism, Mechanism, mechanism_of
from rrstats.mechanisms.channel import Entries, multinomial
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.plans import part_label
from rrstats.mechanisms.row_privacy import row_epsilon
from rrstats.mechanisms.survey_design import NamedDesign, asked_categories
from rrstats.mechanisms.surveys import item_rates
from rrstats.privacy.explanation import explain

_SOFTWARE = "rrstats"
_LOCAL_PRIVACY = "evfimievski2003"
_COUNTS = ("draws", "size", "always", "items", "deck")
"""Parameters that are whole numbers, not probabilities."""


@checked_keywords
def methods(
    mechanism: Mechanism | HasMechanism | FramePlan | pd.DataFrame, question: str | None = None
) -> Text:
    """Write the paragraph on a design for a paper or an ethics board.

    Parameters
    ----------
    mechanism : Mechanism, Estimate, Tally, FramePlan or DataFrame
        Any mechanism, an estimate or a tally of its reports, a plan, whose parts are described
        one by one, or a released frame, whose private columns are, with the epsilon of a row.
    question : str, optional
        The wording of the question.

    Returns
    -------
    Text
        The paragraph above its literature, which is ``bibtex``: one entry for each work that is
        cited, and one for rrstats.  ``save("design.bib")`` writes the literature alone.

    Examples
    --------
    >>> import rrstats as rr
    >>> design = rr.surveys.warner(["no", "yes"], 0.7, yes="yes")
    >>> paragraph = methods(design)
    >>> print(paragraph.partition(" If ")[0])
    Answers were protected by Warner's randomized response design (Warner 1965). With probability \
70% a random device shows the statement that the respondent has the sensitive attribute, otherwise \
its negation; the respondent says whether the statement is true.
    >>> print(paragraph.bibtex.splitlines()[0])
    @article{warner1965,
    """
    kinds = (type(None), str)
    check_instance(question, "question", kinds, "the wording of the question, or left out")
    words = _data().words
    sentences = []
    if question is not None:
        sentences.append(words["question"].format(question=label(question)))
    if isinstance(mechanism, pd.DataFrame):
        about, sources = _columns_of(mechanism)
        is_private = row_epsilon(released_records(mechanism)) < math.inf
        privacy = words["privacy_of_row"]
    else:
        plan = mechanism if isinstance(mechanism, FramePlan) else None
        asked = mechanism_of(mechanism) if plan is None else plan.part_mechanisms[0]
        opening, sources = _opening(asked)
        tally = mechanism.tally if isinstance(mechanism, Estimate) else mechanism
        coin = _coin(tally.plan) if isinstance(tally, Tally) else []
        steps = [*coin, *_steps(asked)] if plan is None else _parts_of(plan)
        about = [opening, *steps]
        is_private = isinstance(asked.max_likelihood_ratio, Fraction)
        privacy = words["privacy"]
    sentences += about
    if is_private:
        sources.append(_LOCAL_PRIVACY)
        sentences.append(privacy.format(epsilon_source=_cited([_LOCAL_PRIVACY])))
    else:
        sentences.append(words["no_privacy"])
    sentences += [explain(mechanism), words["software"].format(version=__version__)]
    entries = [_entry(key) for key in dict.fromkeys([*sources, _SOFTWARE])]
    paragraph = " ".join(sentences)
    bibtex = "\n\n".join(entries)
    return Text(f"{paragraph}\n\n{bibtex}", [("text", paragraph), ("code", bibtex)], bibtex)


def _opening(asked: Mechanism) -> tuple[str, list[str]]:
    """The opening sentence on a mechanism, and its literature."""
    parts = asked.of_samples
    design = _design(parts[0])
    sources = list(design.sources)
    if len(parts) > 1:
        sources += design.sources_of_samples
    named = _data().words["design"].format(name=design.name, sources=_cited(sources))
    return design.opening or named, sources


def _steps(asked: Mechanism) -> list[str]:
    """The sentences on what happens to an answer, in each sample, and on the estimate."""
    if asked.groups is None:
        return [_procedure(asked), _formula(asked)]
    words = _data().words
    sentences = [words["samples"].format(count=len(asked.of_samples))]
    for group, part in zip(asked.groups, asked.of_samples, strict=True):
        sentences.append(words["sample"].format(group=label(group), procedure=_procedure(part)))
    return [*sentences, _formula(asked)]


def _columns_of(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The sentences on each private column of a released frame, and their literature."""
    words = _data().words
    sentences: list[str] = []
    sources: list[str] = []
    for record in released_records(frame):
        mechanism = record.resolve()
        opening, cited = _opening(mechanism)
        sentences += [words["column"].format(column=label(record.name)), opening]
        sentences += [*_coin(record.plan), *_steps(mechanism)]
        sources += cited
    return sentences, sources


def _coin(plan: FramePlan | None) -> list[str]:
    """The sentence on the coin of a plan; none for a column without one."""
    if plan is None:
        return []
    return [_data().words["plan"].format(count=counted(len(plan.parts), "part"))]


def _parts_of(plan: FramePlan) -> list[str]:
    """The sentences on the parts of a plan: the coin, and what each part reports."""
    words = _data().words
    sentences = _coin(plan)
    total = sum(plan.chances)
    for part, weight, mechanism in zip(plan.parts, plan.chances, plan.part_mechanisms, strict=True):
        sentence = words["part"].format(part=part_label(part), chance=chance(weight / total))
        sentences += [sentence, _procedure(mechanism), _formula(mechanism)]
    return sentences


class _DesignWords(NamedTuple):
    """The words of one design, and the keys of its literature.

    name, opening : the opening sentence is by default made of the name.
    procedure : with the names of parameters in braces.
    sources_of_samples : literature of the design with several samples.
    """

    procedure: str
    sources: Sequence[str] = ()
    sources_of_samples: Sequence[str] = ()
    name: str = ""
    opening: str = ""


class _Data(NamedTuple):
    """The words of all paragraphs, those of designs, and the fields of each reference."""

    words: Mapping[str, str]
    designs: Mapping[str, _DesignWords]
    references: Mapping[str, Mapping[str, str]]


@cache
def _data() -> _Data:
    """The words of ``methods.toml``."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    designs = {name: _DesignWords(**words) for name, words in tables["designs"].items()}
    return _Data(tables["words"], designs, tables["references"])


def _design(mechanism: Mechanism) -> _DesignWords:
    """The words of a design, by its name in documents."""
    designs = _data().designs
    if item_rates(mechanism) is not None:
        return designs["sum_of"]
    document = mechanism.to_dict()
    return designs.get(document.get("design") or document["type"], designs["MatrixDesign"])


def _procedure(mechanism: Mechanism) -> str:
    """A sentence on what happens to one answer, with the design's numbers."""
    texts = {name: _number(name, value) for name, value in mechanism.parameters.items()}
    categories = asked_categories(mechanism)
    texts["k"] = f"{len(categories):,}"
    items = mechanism.parameters.get("items", len(categories) - 1)
    texts["items"] = f"{items}"
    texts["statements"] = counted(items, "statement")
    texts["others"] = counted(items, "other")
    texts["low"] = label(categories[0])
    texts["high"] = label(categories[-1])
    texts["categories"] = ", ".join(map(_quoted, categories))
    if isinstance(mechanism, NamedDesign) and mechanism.yes is not None:
        texts["yes"] = _quoted(mechanism.yes)
    if "draws" in texts:
        texts["cards"] = "a card" if texts["draws"] == "1" else f"{texts['draws']} cards"
    rates = item_rates(mechanism)
    if rates is not None:
        texts["rate_if_yes"] = chance(float(rates.true_positive_rate))
        texts["rate_if_no"] = chance(float(rates.false_positive_rate))
    return _design(mechanism).procedure.format(**texts)


def _number(name: str, value: Any) -> str:
    """A parameter as text: a count, a probability, or several."""
    if isinstance(value, tuple):
        return ", ".join(_number(name, part) for part in value)
    return f"{value}" if name in _COUNTS else chance(float(value))


def _quoted(category: Hashable) -> str:
    return f'"{label(category)}"'


def _formula(mechanism: Mechanism) -> str:
    """A sentence on the estimate."""
    words = _data().words
    channel = mechanism.channel
    categories = mechanism.domain.categories
    try:
        channel.solve(np.zeros(len(channel.samples)))
    except NotIdentifiableError:
        return words["formula_none"]
    if isinstance(mechanism, NamedDesign) and mechanism.yes is not None:
        is_pair = len(categories) == 2 and channel.is_multinomial
        if is_pair and multinomial(channel).m == 2:
            return _formula_yes(mechanism, multinomial(channel).entries)
    rates = channel.binomial_rates
    if rates is not None and mechanism.groups is None:
        truth = np.unique(rates.true_positive_rate)
        other = np.unique(rates.false_positive_rate)
        if len(truth) == len(other) == 1 and len(channel.samples) >= len(categories):
            if truth[0] == 1 and other[0] == 0:
                return words["formula_direct"]
            verb = "is" if channel.is_multinomial else "names, possibly among others,"
            return words["formula_alike"].format(
                verb=verb, truth=f"{truth[0]:.6g}", other=f"{other[0]:.6g}"
            )
    return words["formula"]


def _formula_yes(design: NamedDesign, entries: Entries) -> str:
    """A sentence on the proportion of the sensitive answer, a line in that of its reports."""
    code = design.asked.code(design.yes)
    intercept = Fraction(entries[code][1 - code])
    slope = Fraction(entries[code][code]) - intercept
    slope_text = f"{float(slope):.6g}"
    return (
        _data()
        .words["formula_yes"]
        .format(
            yes=_quoted(design.yes),
            c=f"{float(intercept):.6g}",
            sign="-" if slope < 0 else "+",
            size=slope_text.removeprefix("-"),
            d=f"({slope_text})" if slope < 0 else slope_text,
        )
    )


def _cited(sources: list[str]) -> str:
    """References in the text, in parentheses; empty without any."""
    if not sources:
        return ""
    references = _data().references
    return f" ({'; '.join(references[key]['cited'] for key in sources)})"


def _entry(key: str) -> str:
    """One entry of BibTeX."""
    fields = dict(_data().references[key])
    kind = fields.pop("type")
    del fields["cited"]
    if key == _SOFTWARE:
        fields["version"] = __version__
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
