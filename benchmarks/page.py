"""The results page: a table for each question, in the text of page.md, which stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.table import Line, cells, ratio_text, spread

TEMPLATE = Path(__file__).with_name("page.md")


def _finding(line: Line) -> str:
    what = f"{line.case}, against {line.rival}" if line.rival else line.case
    if line.ratio is not None and line.target is not None and line.target.of_ratio:
        return f"- {what}: {ratio_text(line.ratio)}, target {line.target}"
    return f"- {what}: {spread(line.ours)} {line.unit}, target {line.target}"


def verdict(lines: Sequence[Line]) -> str:
    """In words: how many targets were met, and which were not."""
    judged = [line for line in lines if line.reached is not None]
    missed = [line for line in judged if not line.reached]
    if not missed:
        return f"All {len(judged)} targets that could be judged were met in this run."
    head = f"{len(judged) - len(missed)} of {len(judged)} targets were met. Missed:"
    return "\n".join([head, "", *map(_finding, missed)])


def tables(answers: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A Markdown table for each question, from titles and the cells of their lines."""
    head = ["", "| case | rrstats | rival | its number | ratio | target |"]
    head += ["|---|--:|---|--:|--:|---|"]
    text: list[str] = []
    shown = None
    for title, (case, unit, ours, rival, theirs, *judged) in answers:
        if title != shown:
            text += [*([""] * bool(text)), f"### {title.replace('.  ', '. ')}", *head]
        shown = title
        name = f"{case}, {unit}" if unit else case
        ratio, target = (" ".join(cell.split()).replace(" ", "\xa0") for cell in judged)
        text.append(f"| {' | '.join([name, ours, rival, theirs, ratio, target])} |")
    return "\n".join(text)


def page(about: str, command: str, answers: Sequence[tuple[str, Line]]) -> str:
    """The whole page, in Markdown, from each question's title and its lines."""
    lines = [line for _, line in answers]
    rows: list[tuple[str, Sequence[str]]] = []
    shown: tuple[str, ...] = ()
    for title, line in answers:
        ours = (title, *cells(line)[:3])
        rows.append((title, cells(line, repeated=ours == shown)))
        shown = ours
    facts = {
        "{date}": date.today().isoformat(),
        "{command}": command,
        "{about}": about,
        "{verdict}": verdict(lines),
        "{table}": tables(rows),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, fact in facts.items():
        text = text.replace(name, fact)
    return text
