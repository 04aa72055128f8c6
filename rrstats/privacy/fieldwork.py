"""The page of a design for the field: what to prepare, what to read aloud, what is done in secret.

`instructions` writes it from the words in ``fieldwork.toml``, with coins, dice and cards that have
exactly the probabilities of the design.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate, islice, pairwise
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple, cast

from rrstats._checks import check_instance
from rrstats._display import Block, as_fragment, as_html, as_text, chance, label
from rrstats._names import checked_keywords
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import A_MECHANISM, Mechanism
from rrstats.mechanisms.channel import MultinomialChannel
from rrstats.mechanisms.matrix_design import from_json
from rrstats.mechanisms.samples import sample_codes
from rrstats.privacy.explanation import explanation_parts

_MAX_CARDS = 100
"""Cards of a deck: people cannot shuffle more."""
_MAX_NUMBERS = 1000
"""Numbers of a table, and the cards that carry them."""
_MAX_TABLE_CELLS = 48
"""Cells of a table of numbers: more do not fit on one page that people read."""
_NEARBY = Fraction(1, 2**50)
"""Largest distance at which a double stands for a small fraction: 0.7 for 7 of 10 cards."""

# From the true answer (its code, or whether it is the sensitive one) and the marks to the report's
# place, or the mark that is said, in designs without a table of what is said in fieldwork.toml.
_RULES: dict[str, Callable[..., Any]] = {
    "direct": lambda x: x,
    "forced_response": lambda x, drawn: x if drawn == "truth" else drawn,
    "kuk": lambda x, *m: (m[: len(m) // 2] if x else m[len(m) // 2 :]).count("red"),
}


class Draw(NamedTuple):
    """One draw in secret: its marks with their probabilities, the material, and the step."""

    outcomes: tuple[tuple[str, Fraction], ...]
    times: int
    prepare: str
    step: str


@checked_keywords
@dataclass(frozen=True, repr=False)
class Instructions:
    """Instructions for a design: text in a terminal, a page in a notebook and as HTML.

    Attributes
    ----------
    question : str
        The sensitive question.
    draws : tuple of Draw
        The respondent's draws, with exact probabilities; empty if a device draws the report.
    rule : callable, optional
        It returns the report.  Its arguments: whether the true answer is the sensitive one (its
        code, if the design treats all answers alike); the unrelated trait, if its prevalence is
        unknown; and the marks drawn.
    blocks : tuple
        The content of the page.
    """

    question: str
    draws: tuple[Draw, ...]
    rule: Callable[..., Any] | None
    blocks: tuple[Block, ...]

    def to_html(self) -> str:
        """Return one page to print on A4 or Letter; it loads nothing.

        Returns
        -------
        str
        """
        return as_html(self.blocks)

    def _repr_html_(self) -> str:
        smaller = {"title": "column", "heading": "column"}  # the notebook has headings of its own
        return as_fragment([(smaller.get(kind, kind), content) for kind, content in self.blocks])

    def __repr__(self) -> str:
        return as_text(self.blocks)


@checked_keywords
def instructions(
    mechanism: Mechanism, question: str, *, group: Hashable = None, unrelated: str | None = None
) -> Instructions:
    """Write the interviewer's and the respondent's instructions for a design.

    Parameters
    ----------
    mechanism : Mechanism
        A design of `rr.surveys`, or any other mechanism: small ones get a table of numbers to
        draw, others are left to a device.
    question : str
        The wording of the sensitive question.
    group : hashable, optional
        The sample for which the page is written, if the design has several.
    unrelated : str, optional
        The wording of the second question, in designs that have one.  By default a draw answers
        it, with exactly the design's probability; a birthday has only nearly that probability.

    Returns
    -------
    Instructions
        ``print`` it, display it in a notebook, or write ``to_html()`` to a file for the printer.

    Notes
    -----
    Coins, dice and at most 100 cards have exactly the probabilities of the design.  A double
    counts as the simple fraction next to it: 0.7 is 7 of 10 cards.

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
    check_instance(question, "question", str, "the wording of the question")
    sample = sample_codes(mechanism, None if group is None else [group], 1)
    if sample is not None:
        mechanism = cast(Any, mechanism).parts[sample[0]]
    words = _words()["page"]
    procedure = _by_hand(mechanism, unrelated) or _by_numbers(mechanism)
    if procedure is None:
        procedure = Procedure([], words["device"], [], None)
    draws = procedure.draws
    steps = [*(draw.step for draw in draws), *procedure.steps]
    kind = str if unrelated is not None and unrelated in "".join(steps) else type(None)
    check_instance(unrelated, "unrelated", kind, "left out, as this design has no second question")
    reports = getattr(mechanism.report_space, "categories", ())
    listed = f" ({', '.join(map(label, reports))})" if 0 < len(reports) < 12 else ""
    blocks: list[Block] = [("title", question)]
    if draws:
        blocks.append(("heading", "Prepare"))
        blocks.append(("list", [draw.prepare for draw in draws]))
    blocks.append(("heading", "Read aloud"))
    if draws or procedure.rule is None:
        blocks.append(("text", words["aloud"]))
    blocks += [
        ("text", explanation_parts(mechanism)[1]),  # the number of epsilon stands below, unspoken
        ("text", f'The question is: "{question}"'),
        ("heading", "The respondent, in secret"),
        ("steps", steps),
        *(("table", table) for table in procedure.tables),
        ("heading", "Write down"),
        ("text", words["record"].format(reports=listed)),
        ("code", repr(mechanism)),
    ]
    return Instructions(question, tuple(draws), procedure.rule, tuple(blocks))


class Procedure(NamedTuple):
    """Draws of the respondent, the steps after them, tables, and the resulting rule."""

    draws: list[Draw]
    steps: list[str]
    tables: list[Any]
    rule: Callable[..., Any] | None


@cache
def _words() -> dict[str, Any]:
    """The words of the designs, and of the page."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def examples() -> dict[str, Mechanism]:
    """An example of each design by its name in `rr.surveys`, for printed pages and tests."""
    designs = {}
    for name, example in _words()["examples"].items():
        labels = {key: example[key] for key in ("yes", "reports") if key in example}
        make = getattr(surveys, name)
        designs[name] = make(["no", "yes"], **from_json(example["parameters"]), **labels)
    return designs


def _small_fraction(number: float | Fraction, largest: int) -> Fraction:
    """The fraction of a small denominator that a number is; 1 / (largest + 1) if it is none."""
    exact = Fraction(number)
    small = exact.limit_denominator(largest)
    is_near = 0 < small < 1 and abs(small - exact) <= _NEARBY  # nothing becomes impossible
    if is_near or small == exact:
        return small
    return Fraction(1, largest + 1)


def _by_hand(mechanism: Any, unrelated: str | None) -> Procedure | None:
    """A survey design by its name; None for other mechanisms, and if no deck has its chances."""
    name = getattr(mechanism, "design", "")
    name = _words().get(name, {}).get("same", name)
    field = _words().get(name)
    if field is None:
        return None
    categories = mechanism.asked.categories
    answers = categories if mechanism.answers is None else mechanism.answers.categories
    sensitive = 0 if mechanism.yes is None else mechanism.asked.code(mechanism.yes)
    dictated = [f"say {label(answer)}" for answer in answers]
    draws = []
    for draw_name, chances in _chances(mechanism.parameters, field, dictated, sensitive):
        second = unrelated if draw_name == "second answer" else None
        draw = _draw(draw_name, chances, second, mechanism.parameters)
        if draw is None:
            return None
        draws.append(draw)
    steps = _steps(mechanism, name, field, answers, sensitive, unrelated)
    reports = mechanism.report_space.categories

    def report(*arguments: Any) -> Any:
        rule = _RULES.get(name)
        if rule is not None:
            place = rule(*arguments)
            return answers[dictated.index(place)] if place in dictated else reports[place]
        truths = arguments[: -len(draws)]
        marks = arguments[-len(draws) :]
        place = int("".join("0" if truth else "1" for truth in truths), 2)
        for line in map(str.split, field["says"]):
            if all(mark in ("*", drawn) for mark, drawn in zip(line, marks, strict=False)):
                letters = line[len(marks) + place]
                says = tuple(answers[sensitive ^ (letter == "N")] for letter in letters)
                return says if len(says) > 1 else says[0]

    return Procedure(draws, steps, [], report)


def _chances(
    parameters: Mapping[str, Any], field: Mapping[str, Any], dictated: list[str], sensitive: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of each draw of a design, and its marks with their probabilities."""
    for name, parameter, marks in field["draws"]:
        probs = parameters.get(parameter, Fraction(1, 2))
        if parameter == "prob_forced":
            if "prob_forced_yes" in parameters:
                probs = parameters["prob_forced_no"], parameters["prob_forced_yes"]
                if not sensitive:
                    probs = probs[::-1]
            marks = ["truth", *dictated]
            probs = [1 - sum(map(Fraction, probs)), *probs]
        else:
            if isinstance(probs, tuple):  # one for each of two answers
                probs = probs[name.startswith("second")]
            probs = [probs, 1 - Fraction(probs)]
        yield name, dict(zip(marks, probs, strict=True))


def _steps(
    mechanism: Any,
    name: str,
    field: Mapping[str, Any],
    answers: tuple[Hashable, ...],
    sensitive: int,
    unrelated: str | None,
) -> list[str]:
    """The respondent's steps after the draws, in words."""
    categories = mechanism.asked.categories
    words = {
        "yes": categories[sensitive],
        "no": categories[1 - sensitive],
        "Y": answers[sensitive],
        "N": answers[1 - sensitive],
    }
    texts = {key: f'"{label(word)}"' for key, word in words.items()}
    texts["truth"] = "say your true answer"
    texts["as"] = ""
    if answers is not categories:
        pairs = zip(answers, categories, strict=False)
        renamed = [f'"{label(answer)}" for "{label(true)}"' for answer, true in pairs]
        counts = [f'"{label(answer)}" for {count}' for count, answer in enumerate(answers)]
        texts["truth"] += f", as {', '.join(renamed)}"
        texts["as"] = f", as {', '.join(counts)}"
    steps = [step.format(**texts) for step in field["steps"]]
    if field.get("trait"):
        page = _words()["page"]
        steps.insert(0, page["second"].format(second=unrelated or page["trait"]))
    return steps


def _draw(
    name: str, chances: Mapping[str, Any], second: str | None, parameters: Mapping[str, Any]
) -> Draw | None:
    """One draw of a design by a coin, a die or cards; None if they are too many."""
    page = _words()["page"]
    outcomes = [(mark, Fraction(prob)) for mark, prob in chances.items() if prob]
    if second is not None:
        prepare = page["known"].format(chance=chance(float(chances["yes"])))
        return Draw(tuple(outcomes), 1, prepare, page["second"].format(second=second))
    outcomes = [(mark, _small_fraction(prob, _MAX_CARDS)) for mark, prob in outcomes]
    size = lcm(*(prob.denominator for _, prob in outcomes))
    if size > _MAX_CARDS or sum(prob for _, prob in outcomes) != 1:
        return None
    size = {1: 10, 3: 6}.get(size, size)
    times = parameters.get("draws", 1)
    place = "" if name == "draw" else f" for the {name}"
    start = "" if name == "draw" else f"{name}: "
    if str(size) not in page["coins"] or name.endswith(("stack", "box")):
        act = "draw a card" if times == 1 else f"{times} times, draw a card"
        end = page["back"]
        counts = ", ".join(f'{prob * size} "{mark}"' for mark, prob in outcomes)
        material = f"{size} cards{place}: {counts}."
    else:
        act, *faces = page["coins"][str(size)]
        material = f"A {act.split()[2]}{place}."
        remaining = iter(faces)
        runs = [(mark, ", ".join(islice(remaining, int(prob * size)))) for mark, prob in outcomes]
        means = " and ".join(f'"{mark}" for {run}' for mark, run in runs if run != mark)
        end = f": {means}" if means else ""
    step = page["draw"].format(start=start, act=act, end=end)
    return Draw(tuple(outcomes), times, material, f"{step[0].upper()}{step[1:]}")


def _by_numbers(mechanism: Mechanism) -> Procedure | None:
    """A table of the numbers that make each report, by true answer; None for large ones."""
    if not mechanism.channel.is_multinomial:
        return None
    channel = cast(MultinomialChannel, mechanism.channel)
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
    heads = ["Say", *(f"if it is {label(truth)}" for truth in truths)]
    outcomes = tuple((str(number), Fraction(1, size)) for number in range(1, size + 1))
    page = _words()["page"]
    draw = Draw(outcomes, 1, page["deck"].format(size=size), page["numbers"].format(size=size))

    def report(truth: int, number: str) -> Any:
        return reports[bisect_left(last[truth], int(number))]

    return Procedure([draw], [page["find"]], [(heads, rows)], report)


def _range(below: int, last: int) -> str:
    """The numbers after one and up to another, in words: 4 to 6, 4, or - for none."""
    if below == last:
        return "-"
    if below + 1 == last:
        return str(last)
    return f"{below + 1} to {last}"
