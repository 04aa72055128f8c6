"""The paragraph on a design for a paper or an ethics board, with its literature in BibTeX.

The words and the references are in ``methods.toml``; all numbers are of the mechanism itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from rrstats._checks import check_instance
from rrstats._display import chance, label
from rrstats._names import checked_keywords
from rrstats._version import __version__
from rrstats.errors import NotIdentifiableError
from rrstats.mechanisms.base import A_MECHANISM, Mechanism
from rrstats.mechanisms.channel import MultinomialChannel
from rrstats.mechanisms.surveys import is_sum
from rrstats.privacy.explanation import explain

_SOFTWARE = "rrstats"
_LOCAL_PRIVACY = "evfimievski2003"
_COUNTS = ("draws", "size", "always", "items")
"""Parameters that are whole numbers, not probabilities."""


@checked_keywords
@dataclass(frozen=True, repr=False)
class Paragraph:
    """The paragraph on a design; ``print`` shows it above its literature.

    Attributes
    ----------
    text : str
        Procedure, formula, epsilon in words, and software.
    bibtex : str
        One entry for each work that the paragraph cites, and one for rrstats.
    """

    text: str
    bibtex: str

    def __repr__(self) -> str:
        return f"{self.text}\n\n{self.bibtex}"


@checked_keywords
def methods(mechanism: Mechanism, question: str | None = None) -> Paragraph:
    """Write the paragraph on a design for a paper or an ethics board.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism.
    question : str, optional
        The wording of the question.

    Returns
    -------
    Paragraph
        Its ``text`` is one paragraph, its ``bibtex`` the literature.

    Examples
    --------
    >>> import rrstats as rr
    >>> design = rr.surveys.warner(["no", "yes"], 0.7, yes="yes")
    >>> paragraph = methods(design)
    >>> print(paragraph.text.partition(" If ")[0])
    Answers were protected by Warner's randomized response design (Warner 1965). With probability \
70% a random device shows the statement that the respondent has the sensitive attribute, otherwise \
its negation; the respondent says whether the statement is true.
    >>> print(paragraph.bibtex.splitlines()[0])
    @article{warner1965,
    """
    check_instance(mechanism, "mechanism", Mechanism, A_MECHANISM)
    kinds = (type(None), str)
    check_instance(question, "question", kinds, "the wording of the question, or left out")
    words = _data()["words"]
    parts: tuple[Mechanism, ...] = getattr(mechanism, "parts", (mechanism,))
    design = _design(parts[0])
    sources = list(design["sources"])
    if len(parts) > 1:
        sources += design.get("sources_of_samples", [])
    sentences = []
    if question is not None:
        sentences.append(words["question"].format(question=label(question)))
    if "opening" in design:
        sentences.append(design["opening"])
    else:
        sentences.append(words["design"].format(name=design["name"], sources=_cited(sources)))
    if mechanism.groups is None:
        sentences.append(_procedure(mechanism))
    else:
        sentences.append(words["samples"].format(count=len(parts)))
        for group, part in zip(mechanism.groups, parts, strict=True):
            sentences.append(words["sample"].format(group=label(group), procedure=_procedure(part)))
    sentences.append(_formula(mechanism))
    if isinstance(mechanism.channel.max_likelihood_ratio, Fraction):
        sources.append(_LOCAL_PRIVACY)
        sentences.append(words["privacy"].format(epsilon_source=_cited([_LOCAL_PRIVACY])))
    else:
        sentences.append(words["no_privacy"])
    sentences += [explain(mechanism), words["software"].format(version=__version__)]
    entries = [_entry(key) for key in dict.fromkeys([*sources, _SOFTWARE])]
    return Paragraph(" ".join(sentences), "\n\n".join(entries))


@cache
def _data() -> dict[str, Any]:
    """The words, designs and references."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _design(mechanism: Mechanism) -> Mapping[str, Any]:
    """The words of a design, by its name in documents."""
    designs = _data()["designs"]
    if is_sum(mechanism):
        return cast("Mapping[str, Any]", designs["sum_of"])
    document = mechanism.to_dict()
    return cast(
        "Mapping[str, Any]",
        designs.get(document.get("design", document["type"]), designs["MatrixDesign"]),
    )


def _procedure(mechanism: Any) -> str:
    """A sentence on what happens to one answer, with the design's numbers."""
    texts = {name: _number(name, value) for name, value in mechanism.parameters.items()}
    categories = getattr(mechanism, "asked", mechanism.domain).categories
    texts["k"] = f"{len(categories):,}"
    texts["items"] = texts.get("items", f"{len(categories) - 1}")
    texts["categories"] = ", ".join(map(_quoted, categories))
    sentence: str = _design(mechanism)["procedure"]
    return sentence.format(**texts)


def _number(name: str, value: Any) -> str:
    """A parameter as text: a count, a probability, or several."""
    if isinstance(value, tuple):
        return ", ".join(_number(name, part) for part in value)
    return f"{value}" if name in _COUNTS else chance(float(value))


def _quoted(category: Hashable) -> str:
    return f'"{label(category)}"'


def _formula(mechanism: Any) -> str:
    """A sentence on the estimate."""
    words = _data()["words"]
    channel = mechanism.channel
    categories = mechanism.domain.categories
    yes = getattr(mechanism, "yes", None)
    try:
        channel.solve(np.zeros(len(channel.samples)))
    except NotIdentifiableError:
        return cast(str, words["formula_none"])
    if yes is not None and len(categories) == 2 and channel.is_multinomial and channel.m == 2:
        entries = cast(MultinomialChannel, channel).entries
        code = mechanism.asked.code(yes)
        c = Fraction(entries[code][1 - code])
        d = Fraction(entries[code][code]) - c
        slope = f"{float(d):.6g}"
        numbers = {
            "c": f"{float(c):.6g}",
            "sign": "-" if d < 0 else "+",
            "size": slope.removeprefix("-"),
            "d": f"({slope})" if d < 0 else slope,
        }
        return cast(str, words["formula_yes"].format(yes=_quoted(yes), **numbers))
    rates = channel.binomial_rates
    if rates is not None and mechanism.groups is None:
        truth = np.unique(rates.true_positive_rate)
        other = np.unique(rates.false_positive_rate)
        if len(truth) == len(other) == 1 and len(channel.samples) >= len(categories):
            if truth[0] == 1 and other[0] == 0:
                return cast(str, words["formula_direct"])
            verb = "is" if channel.is_multinomial else "names, possibly among others,"
            numbers = {"truth": f"{truth[0]:.6g}", "other": f"{other[0]:.6g}"}
            return cast(str, words["formula_alike"].format(verb=verb, **numbers))
    return cast(str, words["formula"])


def _cited(sources: list[str]) -> str:
    """References in the text, in parentheses; empty without any."""
    if not sources:
        return ""
    references = _data()["references"]
    return f" ({'; '.join(references[key]['cited'] for key in sources)})"


def _entry(key: str) -> str:
    """One entry of BibTeX."""
    fields = dict(_data()["references"][key])
    kind = fields.pop("type")
    del fields["cited"]
    if key == _SOFTWARE:
        fields["version"] = __version__
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
