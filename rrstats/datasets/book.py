"""The book of studies: published questions with the counts of their reports, computed again.

`studies` lists the questions, `study` finds one.  The facts stand in ``studies.toml``, which is
read when one of the two is first called.  Published numbers are decimals, because their digits say
how closely they can be compared.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from typing import Any

import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_instance
from rrstats._display import columns, label, percent, percent_range, wrap
from rrstats._names import checked_keywords, did_you_mean
from rrstats._typing import JsonObject
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate, estimate
from rrstats.estimation.tallies.tally import Tally
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.serialization import from_dict

PLAIN = "plain"
"""The reading of a question in which everybody follows the instructions."""

OBSERVED = ("printed", "microdata")
"""Where counts come from that were not derived from the number they are compared with."""


@checked_keywords
@dataclass(frozen=True)
class SoftwareResult:
    """A result that another program printed for the same counts.

    Attributes
    ----------
    by : str
        The package, its version and its function.
    estimate, error : Decimal
        The proportion and its standard error, with the digits that were printed.
    """

    by: str
    estimate: Decimal
    error: Decimal


@checked_keywords
@dataclass(frozen=True, repr=False)
class StudyQuestion:
    """A question of a published study, with the counts of its reports and the published numbers.

    `study` finds one by its id.

    Attributes
    ----------
    id : str
        The study and the question, as in "wada2011.wca".
    study, citation, field, population, question : str
        Who asked whom, and what.
    year : int or None
        When the study was published.
    mechanism : Mechanism
        The design.
    counts : dict
        How often each report was given; for designs with several samples, by sample.
    counts_from : {"printed", "microdata", "back-solved", "simulated"}
        How the counts were had: printed in the source, counted in data that may be counted,
        derived from the published percentage, or drawn by a program.
    category : str
        The answer whose proportion was published.
    published, published_error : Decimal or None
        The authors' estimate and standard error, with their digits; None if they were not seen.
    published_interval : tuple of 2 Decimal, or None
        Their 95% interval.
    ddof : {0, 1}
        Whether the authors' errors divide by n or by n - 1.
    source, licence, note : str
        The place of the number, the licence of the data that were counted, and what to know.
    software : SoftwareResult or None
        What another program printed for these counts.
    control : tuple of 2 int, or None
        Wrong reports and all reports to a control question of the study, for `Estimate.corrected`.

    Examples
    --------
    >>> question = study("wada2011.wca")
    >>> question.published, round(question.estimate()["yes"].value, 4)
    (Decimal('0.436'), 0.4364)
    >>> question.agrees, question.is_validation
    (True, False)
    """

    id: str
    study: str
    year: int | None
    field: str
    population: str
    question: str
    citation: str
    mechanism: Mechanism
    counts: Mapping[str, Any]
    counts_from: str
    category: str
    published: Decimal | None
    published_error: Decimal | None
    published_interval: tuple[Decimal, Decimal] | None
    ddof: int
    source: str
    licence: str
    note: str
    software: SoftwareResult | None
    control: tuple[int, int] | None
    _readings: Mapping[str, Mapping[str, Any]]

    @property
    def readings(self) -> tuple[str, ...]:
        """The names that `estimate` takes: "plain", and those of other models of the reports."""
        return (PLAIN, *self._readings)

    @cached_property
    def _plain(self) -> Estimate:
        return self._estimate(self.counts, self.mechanism)

    def _estimate(self, counts: Any, mechanism: Mechanism) -> Estimate:
        result: Estimate = estimate(Tally.from_counts(counts, mechanism), ddof=self.ddof)
        return result

    def estimate(self, reading: str = PLAIN) -> Estimate:
        """Estimate the proportions from the counts again.

        Parameters
        ----------
        reading : str
            "plain": everybody follows the instructions.  Others are in `readings`: "one-sayers"
            give the same report whatever is true; "anchor" corrects by a second pair of questions.

        Returns
        -------
        Estimate

        Raises
        ------
        ArgumentValueError
            If the question has no such reading.

        Examples
        --------
        >>> question = study("cruyff2024.doping-a")
        >>> round(question.estimate("one-sayers")["always different"].value, 3)
        0.106
        >>> question.estimate().corrected(question.control).proportions.round(3)
        array([0.948, 0.052])
        """
        if reading == PLAIN:
            return self._plain
        if reading not in self._readings:
            raise ArgumentValueError(
                f"reading must be one of {list(self.readings)} for {self.id}, got {reading!r}"
                f"{did_you_mean(reading, self.readings)}"
            )
        model = self._readings[reading]
        return self._estimate(model.get("counts", self.counts), _design(model["design"]))

    @property
    def n(self) -> int:
        """The number of reports."""
        return self._plain.n

    @property
    def computed(self) -> float:
        """The proportion of `category`, computed from the counts."""
        return float(self._plain[self.category].value)

    @property
    def agrees(self) -> bool | None:
        """True where all published numbers are ours to their last digit; None without any.

        The interval that is compared is Wald's, cut to [0, 1], which is what the authors print.
        """
        if self.published is None:
            return None
        pairs = [(self.computed, self.published)]
        if self.published_error is not None:
            pairs.append((self._plain[self.category].std_error, self.published_error))
        if self.published_interval is not None:
            place = self._plain.categories.index(self.category)
            ends = (float(end[place]) for end in self._plain.interval(method="wald"))
            cut_ends = (min(max(end, 0.0), 1.0) for end in ends)
            pairs += zip(cut_ends, self.published_interval, strict=True)
        return all(same_digits(computed, printed) for computed, printed in pairs)

    @property
    def is_validation(self) -> bool:
        """True for observed counts with the authors' number: the comparison could have failed."""
        return self.counts_from in OBSERVED and self.published is not None

    def summary(self) -> str:
        """The question, its design, counts and numbers as text for a terminal.

        Examples
        --------
        >>> print(study("hunters2018.bulbul").summary().splitlines()[0])
        hunters2018.bulbul: Hunted bulbuls in the past year
        """
        ours = self._plain[self.category]
        facts = [
            ("design", design_words(self.mechanism.to_dict())),
            ("epsilon", round_up(self.mechanism.epsilon)),
            ("reports", f"{self.n:,}, {self.counts_from}"),
            ("counts", _count_words(self.counts)),
            ("published", _published_words(self)),
            (
                "computed",
                f"{percent(ours.value)} {label(self.category)}, standard error "
                f"{percent(ours.std_error)}, 95% interval {percent_range(ours.low, ours.high)}",
            ),
            ("agrees", _agrees_words(self)),
        ]
        if self.software is not None:
            numbers = f"{self.software.estimate} ({self.software.error})"
            facts.append(("software", f"{self.software.by}: {numbers}"))
        if self._readings:
            facts.append(("readings", ", ".join(self.readings)))
        if self.control is not None:
            wrong, asked_n = self.control
            facts.append(
                ("control", f"{wrong:,} of {asked_n:,} reports to a control question wrong")
            )
        facts += [("source", self.source), ("licence", self.licence), ("cite", self.citation)]
        if self.note:
            facts.append(("note", self.note))
        lines = [wrap(f"{self.id}: {self.question}"), wrap(f"{self.study}; {self.population}.")]
        lines += [wrap(f"{name:<12}{text}", indent=12) for name, text in facts]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The id and what was asked."""
        return f"StudyQuestion({self.id!r}, {self.question!r})"

    __str__ = summary


def same_digits(computed: float, printed: Decimal) -> bool:
    """True where a number rounds to the printed one at its last digit; a tie may go either way.

    >>> same_digits(0.43636, Decimal("0.436")), same_digits(0.4366, Decimal("0.436"))
    (True, False)
    >>> same_digits(0.1125, Decimal("0.113")), same_digits(0.1125, Decimal("0.112"))
    (True, True)
    """
    unit = Decimal(1).scaleb(int(printed.as_tuple().exponent))
    return abs(Decimal(float(computed)) - printed) <= unit / 2 + Decimal("1e-12")


# -- words -----------------------------------------------------------------------------------


_SHOWN_SAMPLES = 3
"""Samples of a design, and their counts, that a page lists; the rest is a number."""


def design_words(document: Mapping[str, Any]) -> str:
    """A design as the call that makes it, from its JSON document."""
    if "parts" in document:
        words = [design_words(part) for part in document["parts"][:_SHOWN_SAMPLES]]
        return _with_rest(words, len(document["parts"]), "; ")
    parameters = document.get("parameters") or {"prob": document.get("prob")}
    listed = ", ".join(f"{name}={_number_words(value)}" for name, value in parameters.items())
    return f"{document.get('design', document['type'])}({listed})"


def _number_words(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_number_words, value))}]"
    return str(value)


def _with_rest(words: Sequence[str], n: int, between: str) -> str:
    """The words, and how many of n are left out."""
    listed = between.join(words)
    return listed if n == len(words) else f"{listed}{between}and {n - len(words)} samples more"


def _count_words(counts: Mapping[str, Any]) -> str:
    words = []
    for name, count in list(counts.items())[:_SHOWN_SAMPLES]:
        if isinstance(count, Mapping):
            words.append(f"{label(name)} ({_count_words(count)})")
        else:
            words.append(f"{label(name)} {count:,}")
    return _with_rest(words, len(counts), ", ")


def _published_words(question: StudyQuestion) -> str:
    if question.published is None:
        return "the authors' number was not seen"
    words = str(question.published)
    if question.published_error is not None:
        words += f", standard error {question.published_error}"
    if question.published_interval is not None:
        low, high = question.published_interval
        words += f", 95% interval {low} to {high}"
    return words


def _agrees_words(question: StudyQuestion) -> str:
    if question.agrees is None:
        return "nothing of the authors to compare"
    words = "to every published digit" if question.agrees else "no, see the note"
    return words if question.is_validation else f"{words}, but counts are {question.counts_from}"


# -- the file --------------------------------------------------------------------------------


@functools.cache
def _document() -> JsonObject:
    """The recorded facts; numbers with a decimal point stay as they are written."""
    text = resources.files("rrstats.datasets").joinpath("studies.toml").read_text("utf-8")
    return tomllib.loads(text)


@functools.cache
def _design(name: str) -> Mechanism:
    return from_dict(_document()["designs"][name])


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _software(recorded: Mapping[str, str]) -> SoftwareResult:
    return SoftwareResult(recorded["by"], Decimal(recorded["estimate"]), Decimal(recorded["error"]))


def _question(key: str, recorded: Mapping[str, Any], name: str) -> StudyQuestion:
    """A question of the file, with what its study says for all questions."""
    facts = recorded["questions"][name]
    interval = facts.get("published_interval")
    software = facts.get("software")
    control = facts.get("control")
    return StudyQuestion(
        id=f"{key}.{name}",
        study=recorded["study"],
        year=recorded.get("year"),
        field=recorded["field"],
        population=recorded["population"],
        question=facts["question"],
        citation=recorded["citation"],
        mechanism=_design(facts["design"]),
        counts=facts["counts"],
        counts_from=recorded["counts_from"],
        category=facts.get("category", "yes"),
        published=_decimal(facts.get("published")),
        published_error=_decimal(facts.get("published_error")),
        published_interval=None
        if interval is None
        else (Decimal(interval[0]), Decimal(interval[1])),
        ddof=facts.get("ddof", 1),
        source=facts["source"],
        licence=recorded["licence"],
        note=facts.get("note", ""),
        software=None if software is None else _software(software),
        control=None if control is None else (control[0], control[1]),
        _readings=facts.get("readings", {}),
    )


@functools.cache
def questions() -> dict[str, StudyQuestion]:
    """All questions by id, in the order of the file."""
    by_id = {}
    for key, recorded in _document()["studies"].items():
        for name in recorded["questions"]:
            question = _question(key, recorded, name)
            by_id[question.id] = question
    return by_id


# -- public ----------------------------------------------------------------------------------


@checked_keywords
def study(id: str) -> StudyQuestion:
    """Find a question of the book of studies.

    Parameters
    ----------
    id : str
        The study and the question, as in the column ``id`` of `studies`.

    Returns
    -------
    StudyQuestion
        With ``.estimate()``, which computes its proportions from the counts of its reports.

    Raises
    ------
    ArgumentValueError
        If there is no such question.

    Examples
    --------
    >>> round(study("nigeria2015.contact").estimate()["yes"].value, 4)
    0.2619
    """
    check_instance(id, "id", str, "text")
    by_id = questions()
    if id in by_id:
        return by_id[id]
    keys = dict.fromkeys(each.partition(".")[0] for each in by_id)
    if id in keys:
        example = next(each for each in by_id if each.partition(".")[0] == id)
        raise ArgumentValueError(
            f"id must name a question of {id!r}, such as {example!r}; "
            "rr.datasets.studies() (rrstats studies) lists all"
        )
    raise ArgumentValueError(
        f"id must be a question of rr.datasets.studies() (rrstats studies), got {id!r}"
        f"{did_you_mean(id, [*by_id, *keys])}"
    )


@checked_keywords
def studies() -> pd.DataFrame:
    """List published questions, each with its published number and the one computed here.

    Returns
    -------
    DataFrame
        A row for each question, with the columns id, study, year, question, design (a mechanism as
        JSON), n, counts_from, published, published_error, computed, agrees, source, licence and
        note.  Numbers of the authors that were not seen are missing, and so is ``agrees`` then.
        Where counts were back-solved from the published number, agreement says nothing: only
        printed counts and microdata with an author's number validate (`StudyQuestion`).

    Examples
    --------
    >>> table = studies().set_index("id")
    >>> table.loc["hunters2018.bulbul", "published"].item()
    0.194
    >>> table["counts_from"].value_counts()["microdata"].item()
    64
    """
    rows = [
        {
            "id": each.id,
            "study": each.study,
            "year": each.year,
            "question": each.question,
            "design": json.dumps(each.mechanism.to_dict()),
            "n": each.n,
            "counts_from": each.counts_from,
            "published": None if each.published is None else float(each.published),
            "published_error": (
                None if each.published_error is None else float(each.published_error)
            ),
            "computed": each.computed,
            "agrees": each.agrees,
            "source": each.source,
            "licence": each.licence,
            "note": each.note,
        }
        for each in questions().values()
    ]
    kinds = {
        "year": "Int64",
        "published": "float64",
        "published_error": "float64",
        "agrees": "boolean",
    }
    return pd.DataFrame(rows).astype(kinds)


LEGEND = (
    "agrees: the published digits are ours; (yes): they are, but this shows little, because the "
    "counts were derived from them or simulated; -: the authors' number was not seen."
)


def table(of_study: str = "") -> str:
    """The list of questions for a terminal, of all studies or of one; empty if there is none."""
    rows = [("question", "n", "counts", "published", "computed", "agrees")]
    for question in questions().values():
        if of_study not in ("", question.id.partition(".")[0]):
            continue
        agrees = {None: "-", True: "yes", False: "no"}[question.agrees]
        rows.append(
            (
                question.id,
                f"{question.n:,}",
                question.counts_from,
                "-" if question.published is None else f"{float(question.published):.1%}",
                f"{question.computed:.1%}",
                agrees if question.is_validation or agrees == "-" else f"({agrees})",
            )
        )
    return columns(rows) if len(rows) > 1 else ""
