"""The page of a design for the field: what to prepare, what to read aloud, what is done in secret.

`instructions` writes it from the words in ``fieldwork.toml``, with coins, dice and cards that have
exactly the probabilities of the design.  Numbers and code stand below a line to cut, for the
office.
"""

from __future__ import annotations

import ast
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, islice, pairwise
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

from rrstats._checks import check_instance
from rrstats._display import Block, Text, as_text, chance, label
from rrstats._names import checked_keywords
from rrstats._typing import Labels
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import A_MECHANISM, Mechanism
from rrstats.mechanisms.channel import multinomial
from rrstats.mechanisms.matrix_design import from_json
from rrstats.mechanisms.samples import sample_codes
from rrstats.mechanisms.survey_design import NamedDesign
from rrstats.mechanisms.surveys import item_rates
from rrstats.privacy.assurance import assurance
from rrstats.privacy.explanation import explain

_MAX_CARDS = 100
"""Cards of a deck: people cannot shuffle more."""
_MAX_NUMBERS = 1000
"""Numbers of a table, and the cards that carry them."""
_MAX_TABLE_CELLS = 48
"""Cells of a table of numbers: more do not fit on one page that people read."""
_NEARBY = Fraction(1, 2**50)
"""Largest distance at which a double stands for a small fraction: 0.7 for 7 of 10 cards."""

_QUESTIONS = {
    "unrelated": "second question",
    "anchor": "anchor question",
    "unrelated_anchor": "anchor question",
}
"""What the argument of a wording is for."""

_MAX_LISTED = 12
"""Reports that the page lists."""

# From the first mark of the design, the true answer (its code, or whether it is the sensitive one)
# and the marks drawn to the report's place, or the mark that is said, in designs without a table of
# what is said in fieldwork.toml.
_RULES: dict[str, Callable[..., Any]] = {
    "direct": lambda first, x: x,
    "forced_response": lambda first, x, drawn: x if drawn == first else drawn,
    "kuk": lambda first, x, *m: (m[: len(m) // 2] if x else m[len(m) // 2 :]).count(first),
    "list_experiment_control": lambda first, x, count: count,
    "list_experiment_treatment": lambda first, x, count: count + x,
}


class Draw(NamedTuple):
    """One draw in secret: its marks with their probabilities, the material, and the step.

    If a second question stands in for the draw, ``is_question`` is true and ``prepare`` says what
    the design assumes of its answers.
    """

    outcomes: tuple[tuple[str, Fraction], ...]
    times: int
    prepare: str
    step: str
    is_question: bool = False


class Instructions(Text):
    """Instructions for a design: the page, and its draws and its rule for programs.

    Attributes
    ----------
    draws : tuple of Draw
        The respondent's draws, with exact probabilities; empty if a device draws the report.
    rule : callable or None
        It returns the report.  Its arguments: whether the true answer is the sensitive one (its
        code, if the design treats all answers alike); the unrelated trait, if its proportion is
        unknown, or the number of control items; and the marks drawn.
    """

    draws: tuple[Draw, ...]
    rule: Callable[..., Any] | None


@checked_keywords
def instructions(
    mechanism: Mechanism,
    wording: str,
    *,
    group: Hashable = None,
    unrelated: str | None = None,
    anchor: str | None = None,
    unrelated_anchor: str | None = None,
) -> Instructions:
    """Write the interviewer's and the respondent's instructions for a design.

    Parameters
    ----------
    mechanism : Mechanism
        A design of `rr.surveys`, or any other mechanism: small ones get a table of numbers to
        draw, others are left to a device.
    wording : str
        The wording of the sensitive question.
    group : hashable, optional
        The sample for which the page is written, if the design has several.
    unrelated : str, optional
        The wording of the second question, in designs that have one.  By default a draw answers
        it, with exactly the design's probability; a birthday has only nearly that probability.
    anchor : str, optional
        The wording of the anchor question, to which nobody's true answer is yes.
    unrelated_anchor : str, optional
        The wording of the question that is compared with the anchor question; by default a draw.

    Returns
    -------
    Instructions
        ``print`` it, display it in a notebook, or ``save("page.html")`` for the printer.

    Notes
    -----
    Coins, dice and at most 100 cards have exactly the probabilities of the design.  A double
    counts as the simple fraction next to it: 0.7 is 7 of 10 cards.
    A list experiment's sensitive question stands on the treatment sample's list alone, and nobody
    reads it aloud.  `rrstats.surveys.sum_of` has no page: each of its items has one of its own.
    Crosswise designs say "same" and "different" on the page, the triangular one "triangle" and
    "circle", whether or not ``reports=`` names them; the office's part says what to enter.

    Raises
    ------
    ArgumentValueError
        The design is the sum of several items.
    ArgumentTypeError
        A wording is given that the design has no place for.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.warner(["no", "yes"], 2/3, yes="yes")
    >>> page = instructions(m, "Did you ever sit an exam for somebody else?")
    >>> page.draws[0].step
    'Roll a die where nobody else sees it: "A" for 1, 2, 3, 4 and "B" for 5, 6.'
    >>> page.rule(True, "A"), page.rule(True, "B")
    ('yes', 'no')
    """
    check_instance(mechanism, "mechanism", Mechanism, A_MECHANISM)
    check_instance(wording, "wording", str, "the wording of the question")
    sample = sample_codes(mechanism, None if group is None else [group], 1)
    if sample is not None:
        mechanism = mechanism.of_samples[sample[0]]
    if item_rates(mechanism) is not None:
        raise ArgumentValueError(
            f"mechanism must be answered as a whole, found the sum of {mechanism.k - 1} items; "
            "write a page of the design of one item for each of their questions"
        )
    wordings = {
        "question": wording,
        "unrelated": unrelated,
        "anchor": anchor,
        "unrelated_anchor": unrelated_anchor,
    }
    procedure = _by_hand(mechanism, wordings) or _by_numbers(mechanism) or _by_device()
    steps = "".join(procedure.all_steps)
    for name in ("unrelated", "anchor", "unrelated_anchor"):
        other = wordings[name]
        kind = str if other is not None and other in steps else type(None)
        rule = f"left out, as this design has no {_QUESTIONS[name]}"
        check_instance(other, name, kind, rule)
    blocks = _page_blocks(mechanism, wording, procedure)
    page = Instructions(as_text(blocks), blocks)
    page.draws = tuple(procedure.draws)
    page.rule = procedure.rule
    return page


def _page_blocks(mechanism: Mechanism, question: str, procedure: Procedure) -> list[Block]:
    """The content of the page: the parts for the field, and below the line that for the office."""
    page = _words()["page"]
    headings = page["headings"]
    draws = procedure.draws
    prepare = [*procedure.prepare, *(draw.prepare for draw in draws if not draw.is_question)]
    office = [*(draw.prepare for draw in draws if draw.is_question), *procedure.office]
    spoken = procedure.said
    if spoken is None:
        spoken = {report: f'"{label(report)}"' for report in _reports(mechanism)}
    protection = procedure.protection or assurance(mechanism, page["spoken"], spoken)
    before = [page["spoken"][topic] for topic in procedure.topics if topic in page["spoken"]]
    after = [page["caution"][topic] for topic in procedure.topics if topic in page["caution"]]
    aloud = [*before, protection, *after]
    recorded = [page["record"]["said"].format(reports=_listed(mechanism, procedure))]
    recorded += [page["record"][topic] for topic in procedure.topics]
    blocks: list[Block] = [("title", procedure.title or question)]
    if prepare:
        blocks += [("heading", headings["prepare"]), ("list", prepare)]
    return [
        *blocks,
        ("heading", headings["aloud"]),
        ("text", " ".join(aloud)),
        *([] if procedure.title else [("text", page["question"].format(question=question))]),
        ("heading", headings["secret"]),
        ("steps", procedure.all_steps),
        *(("table", table) for table in procedure.tables),
        ("heading", headings["record"]),
        ("text", " ".join(recorded)),
        ("cut", page["cut"]),
        ("heading", headings["office"]),
        ("text", " ".join([*office, explain(mechanism)])),
        ("text", page["rule" if _is_python(repr(mechanism)) else "rule_in_short"]),
        ("code", repr(mechanism)),
    ]


def _is_python(text: str) -> bool:
    """True for a printed mechanism that can be pasted; a large matrix is printed as its size."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _reports(mechanism: Mechanism) -> Labels:
    """The reports that are possible, if each is one label."""
    reports = getattr(mechanism.report_space, "categories", ())
    if not mechanism.channel.is_multinomial:
        return reports
    rows = multinomial(mechanism.channel).entries
    return tuple(report for report, row in zip(reports, rows, strict=True) if any(row))


def _listed(mechanism: Mechanism, procedure: Procedure) -> str:
    """The possible reports in parentheses; empty if they are many."""
    labels = procedure.labels or _reports(mechanism)
    if not 0 < len(labels) < _MAX_LISTED:
        return ""
    return f" ({', '.join(map(label, labels))})"


class Procedure(NamedTuple):
    """All that people do in one design, and the resulting rule.

    Attributes
    ----------
    draws, steps, tables
        Draws of the respondent, the steps after them, and tables for these.
    rule : callable or None
        See `Instructions`.
    topics : list of str
        The names of the sentences that are read aloud, and of those below "Write down".
    prepare, office : sequence of str
        Material besides that of the draws, and sentences for the office.
    said : dict or None
        What is said for a report, in quotes; None for the labels of the reports.
    labels : tuple
        All that may be said; empty for the reports.
    title, protection : str
        Of a list, whose question nobody hears; empty for the question and what its answer shows.
    """

    draws: list[Draw]
    steps: list[str]
    tables: list[Any]
    rule: Callable[..., Any] | None
    topics: list[str]
    prepare: Sequence[str] = ()
    office: Sequence[str] = ()
    said: dict[Any, str] | None = None
    labels: Labels = ()
    title: str = ""
    protection: str = ""

    @property
    def all_steps(self) -> list[str]:
        """The steps of the draws, then those after them."""
        return [*(draw.step for draw in self.draws), *self.steps]


def _by_device() -> Procedure:
    """A device that draws the report, for designs that no deck has."""
    page = _words()["page"]
    prepare = [page["prepare"]["device"]]
    return Procedure([], page["steps"]["device"], [], None, ["device"], prepare)


@cache
def _words() -> dict[str, Any]:
    """The words of the designs, and of the page."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def examples() -> dict[str, Mechanism]:
    """An example of each design by its name in `rr.surveys`, for printed pages and tests."""
    designs = {}
    for name, example in _words()["examples"].items():
        labels = {key: example[key] for key in ("yes", "into", "reports") if key in example}
        make = getattr(surveys, name)
        designs[name] = make(categories=["no", "yes"], **from_json(example["parameters"]), **labels)
    return designs


def _small_fraction(number: float | Fraction, largest: int) -> Fraction:
    """The fraction of a small denominator that a number is; 1 / (largest + 1) if it is none."""
    exact = Fraction(number)
    small = exact.limit_denominator(largest)
    is_near = 0 < small < 1 and abs(small - exact) <= _NEARBY  # nothing becomes impossible
    if is_near or small == exact:
        return small
    return Fraction(1, largest + 1)


def _by_hand(mechanism: Any, wordings: Mapping[str, str | None]) -> Procedure | None:
    """The procedure of a survey design with coins, dice, cards or questions.

    None for other mechanisms, and if no deck has its chances.  wordings : by argument.
    """
    if not isinstance(mechanism, NamedDesign):
        return None
    name = mechanism.design
    name = _words().get(name, {}).get("same", name)
    field = _words().get(name)
    if field is None:
        return None
    sensitive = 0 if mechanism.yes is None else mechanism.asked.code(mechanism.yes)
    answers = _answers(mechanism, field, sensitive)
    marks = _words()["page"]["marks"]
    dictated = [marks["dictated"].format(answer=label(answer)) for answer in answers]
    draws = []
    for draw_words, chances in _chances(mechanism.parameters, field, dictated, sensitive):
        second = wordings.get(draw_words.get("question", ""))
        draw = _draw(draw_words, chances, second, mechanism)
        if draw is None:
            return None
        draws.append(draw)
    steps = _steps(mechanism, field, answers, sensitive=sensitive, wordings=wordings)
    if name in _RULES:
        first_mark = next((m for d in field["draws"] for m in d.get("marks", ())), marks["truth"])
        report = _place_rule(partial(_RULES[name], first_mark), mechanism, dictated)
    else:
        report = _table_rule(field["says"], len(draws), _recorded(mechanism), sensitive)
    topics = ["chance"] if any(not draw.is_question for draw in draws) else []
    if field.get("trait") or any(draw.is_question for draw in draws):
        topics.append("question")
    if mechanism.deck is not None:
        topics.append("deck")
    procedure = Procedure(draws, steps, [], report, topics)
    if "list" in field:
        return _with_list(procedure, mechanism, field["list"], wordings["question"])
    return _with_words_said(procedure, mechanism, answers, sensitive)


def _with_list(
    procedure: Procedure, mechanism: Any, material: str, question: str | None
) -> Procedure:
    """The procedure with its list of statements, whose sensitive question nobody reads aloud."""
    page = _words()["page"]
    statements = len(_reports(mechanism)) - 1
    counted_statements = _counted_statements(mechanism)
    items = mechanism.parameters["items"]
    return procedure._replace(
        prepare=[material.format(counted=counted_statements, items=items, question=question)],
        title=page["list"].format(counted=counted_statements),
        protection=page["spoken"]["list"].format(statements=statements),
    )


def _counted_statements(mechanism: Mechanism) -> str:
    """The number of statements of a list with its noun."""
    statements = len(_reports(mechanism)) - 1
    page = _words()["page"]
    text: str = page["statement" if statements == 1 else "statements"]
    return text.format(statements=statements)


def _recorded(design: NamedDesign) -> Labels:
    """The recorded answers; those of a pair are recorded like single ones."""
    return (design.answers or design.asked).categories


def _place_rule(
    place_of: Callable[..., Any], mechanism: Any, dictated: list[str]
) -> Callable[..., Any]:
    """The rule of a design that computes the place of the report, or the mark that is said."""
    reports = mechanism.report_space.categories
    recorded = _recorded(mechanism)

    def report(*arguments: Any) -> Any:
        """The report of the true answers, then the marks of the draws."""
        place = place_of(*arguments)
        return recorded[dictated.index(place)] if place in dictated else reports[place]

    return report


def _table_rule(
    lines: Sequence[str], n_draws: int, recorded: Labels, sensitive: int
) -> Callable[..., Any]:
    """The rule of a design with a table of what is said; the first line with the marks counts."""

    def report(*arguments: Any) -> Any:
        """The report of the true answers, then the marks of the draws."""
        truths = arguments[:-n_draws]
        drawn = arguments[-n_draws:]
        place = int("".join("0" if truth else "1" for truth in truths), 2)
        for line in map(str.split, lines):
            if all(mark in ("*", fell) for mark, fell in zip(line, drawn, strict=False)):
                letters = line[n_draws + place]
                says = tuple(recorded[sensitive ^ (letter == "N")] for letter in letters)
                return says if len(says) > 1 else says[0]

    return report


def _with_words_said(
    procedure: Procedure, mechanism: Any, answers: Labels, sensitive: int
) -> Procedure:
    """The procedure with the words that are said, where they are not the labels of the reports."""
    reports = mechanism.report_space.categories
    recorded = _recorded(mechanism)
    if isinstance(reports[0], tuple):  # nobody says a pair
        procedure = procedure._replace(said={}, labels=answers)
    if answers is recorded:
        return procedure
    procedure = procedure._replace(office=[_entered(answers, recorded, sensitive)], labels=answers)
    if not isinstance(reports[0], tuple):
        pairs = zip(reports, answers, strict=True)
        spoken = {recorded_as: f'"{label(answer)}"' for recorded_as, answer in pairs}
        procedure = procedure._replace(said=spoken)
    return procedure


def _entered(answers: Sequence[Hashable], recorded: Sequence[Hashable], sensitive: int) -> str:
    """The sentence for the office on how the words that are said are recorded."""
    texts = {"Y": answers[sensitive], "N": answers[1 - sensitive]}
    texts |= {"yes": recorded[sensitive], "no": recorded[1 - sensitive]}
    quoted = {key: f'"{label(text)}"' for key, text in texts.items()}
    sentence: str = _words()["page"]["office"]["entered"]
    return sentence.format(**quoted, reports=list(answers))


def _answers(design: NamedDesign, field: Mapping[str, Any], sensitive: int) -> Labels:
    """The words for each answer: the design's own labels, or those of the page."""
    if design.answers is not None or "labels" not in field:
        return _recorded(design)
    if_yes, if_no = field["labels"]
    return (if_yes, if_no) if sensitive == 0 else (if_no, if_yes)


def _chances(
    parameters: Mapping[str, Any], field: Mapping[str, Any], dictated: list[str], sensitive: int
) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    """The words of each draw of a design, and its marks with their probabilities."""
    for draw in field["draws"]:
        parameter = draw["parameter"]
        probs = parameters.get(parameter, Fraction(1, 2))
        if parameter == "prob_forced":
            if "prob_forced_yes" in parameters:
                probs = parameters["prob_forced_no"], parameters["prob_forced_yes"]
                if not sensitive:
                    probs = probs[::-1]
            marks = [_words()["page"]["marks"]["truth"], *dictated]
            probs = [1 - sum(map(Fraction, probs)), *probs]
        else:
            marks = draw["marks"]
            probs = [probs, 1 - Fraction(probs)]
        yield draw, dict(zip(marks, probs, strict=True))


def _steps(
    mechanism: Any,
    field: Mapping[str, Any],
    answers: Labels,
    *,
    sensitive: int,
    wordings: Mapping[str, str | None],
) -> list[str]:
    """The respondent's steps after the draws, in words."""
    page = _words()["page"]["steps"]
    categories = mechanism.asked.categories
    words = {
        "yes": categories[sensitive],
        "no": categories[1 - sensitive],
        "Y": answers[sensitive],
        "N": answers[1 - sensitive],
    }
    texts = {key: f'"{label(word)}"' for key, word in words.items()}
    texts["truth"] = page["truth"]
    texts["as"] = ""
    texts["counted"] = _counted_statements(mechanism)
    texts["anchor"] = wordings["anchor"] or _words()["page"]["anchor"]
    if mechanism.answers is not None:
        renamed = [
            page["pair"].format(said=f'"{label(answer)}"', meant=f'"{label(true)}"')
            for answer, true in zip(answers, categories, strict=False)
        ]
        counts = [
            page["pair"].format(said=f'"{label(answer)}"', meant=count)
            for count, answer in enumerate(answers)
        ]
        texts["truth"] += page["as"].format(pairs=", ".join(renamed))
        texts["as"] = page["as"].format(pairs=", ".join(counts))
    steps = [step.format(**texts) for step in field["steps"]]
    if field.get("trait"):
        steps.insert(0, page["unrelated"].format(question=wordings["unrelated"] or page["trait"]))
    return steps


def _draw(
    draw: Mapping[str, Any],
    chances: Mapping[str, Any],
    second: str | None,
    design: NamedDesign,
) -> Draw | None:
    """One draw of a design by a coin, a die or cards; None if they are too many."""
    page = _words()["page"]
    words = page["steps"]
    outcomes = [(mark, Fraction(prob)) for mark, prob in chances.items() if prob]
    if second is not None:
        first_chance = next(iter(chances.values()))
        assumed = page["office"][draw["question"]].format(chance=chance(float(first_chance)))
        step = words[draw["question"]].format(question=second)
        return Draw(tuple(outcomes), 1, assumed, step, True)
    outcomes = [(mark, _small_fraction(prob, _MAX_CARDS)) for mark, prob in outcomes]
    size = lcm(*(prob.denominator for _, prob in outcomes))
    if size > _MAX_CARDS or sum(prob for _, prob in outcomes) != 1:
        return None
    deck = design.deck
    if deck is None:
        size = {1: 10, 3: 6}.get(size, size)  # ten cards for one outcome, a die for thirds
    elif deck.size:
        size = deck.size
    times = int(design.parameters.get("draws", 1))
    name = draw["name"]
    place = page["prepare"]["place"].format(name=name) if name else ""
    if str(size) not in page["coins"] or draw.get("cards") or deck is not None:
        act = words["card"] if times == 1 else words["cards"].format(times=times)
        end = words["back" if deck is None else "kept"]
        counts = ", ".join(f'{prob * size} "{mark}"' for mark, prob in outcomes)
        material = page["prepare"]["cards"].format(size=size, place=place, counts=counts)
        if deck is not None:
            material += page["prepare"]["deck" if deck.size else "full_deck"].format(size=size)
    else:
        act, *faces = page["coins"][str(size)]
        material = page["prepare"]["die" if size == 6 else "coin"].format(place=place)
        remaining = iter(faces)
        runs = [(mark, ", ".join(islice(remaining, int(prob * size)))) for mark, prob in outcomes]
        pairs = [
            words["pair"].format(said=f'"{mark}"', meant=run) for mark, run in runs if run != mark
        ]
        end = words["means"].format(pairs=words["and"].join(pairs)) if pairs else ""
    step = words["named_draw" if name else "draw"].format(name=name, act=act, end=end)
    return Draw(tuple(outcomes), times, material, f"{step[0].upper()}{step[1:]}")


def _by_numbers(mechanism: Mechanism) -> Procedure | None:
    """A table of the numbers that make each report, by true answer; None for large ones."""
    if not mechanism.channel.is_multinomial:
        return None
    channel = multinomial(mechanism.channel)
    truths = mechanism.domain.categories
    if channel.m * len(truths) > _MAX_TABLE_CELLS:
        return None
    columns = [
        [_small_fraction(prob, _MAX_NUMBERS) for prob in column]
        for column in zip(*channel.entries, strict=True)
    ]
    size = lcm(*(prob.denominator for column in columns for prob in column))
    if size > _MAX_NUMBERS or any(sum(column) != 1 for column in columns):
        return None
    reports = mechanism.report_space.categories
    # The last number of each report, by true answer.
    last = [[int(end * size) for end in accumulate(column)] for column in columns]
    ranges = [[_range(low, high) for low, high in pairwise([0, *ends])] for ends in last]
    rows = [list(row) for row in zip(map(label, reports), *ranges, strict=True)]
    page = _words()["page"]
    words = page["table"]
    heads = [words["say"], *(words["truth"].format(answer=label(truth)) for truth in truths)]
    outcomes = tuple((str(number), Fraction(1, size)) for number in range(1, size + 1))
    material = page["prepare"]["numbers"].format(size=size)
    draw = Draw(outcomes, 1, material, page["steps"]["number"].format(size=size))

    def report(truth: int, number: str) -> Any:
        return reports[bisect_left(last[truth], int(number))]

    return Procedure([draw], [page["steps"]["find"]], [(heads, rows)], report, ["chance"])


def _range(below: int, last: int) -> str:
    """The numbers after one and up to another, in words: 4 to 6, 4, or - for none."""
    if below == last:
        return "-"
    if below + 1 == last:
        return str(last)
    words: str = _words()["page"]["table"]["range"]
    return words.format(first=below + 1, last=last)
