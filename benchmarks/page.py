"""The results page: a table as printed, in the text of page.md, which stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.table import Line, ratio_text, spread

TEMPLATE = Path(__file__).with_name("page.md")


def _finding(line: Line) -> str:
    what = f"{line.case}, against {line.rival}" if line.rival else line.case
    if line.ratio is not None and line.wish is not None and line.wish.of_ratio:
        return f"- {what}: {ratio_text(line.ratio)}, wished {line.wish}"
    return f"- {what}: {spread(line.ours)} {line.unit}, wished {line.wish}"


def verdict(lines: Sequence[Line]) -> str:
    """In words: how many wishes came true, and which did not."""
    judged = [line for line in lines if line.reached is not None]
    missed = [line for line in judged if not line.reached]
    if not missed:
        return f"All {len(judged)} wishes that could be judged were reached in this run."
    head = f"{len(judged) - len(missed)} of {len(judged)} wishes were reached. Not reached:"
    return "\n".join([head, "", *map(_finding, missed)])


def page(about: str, command: str, rows: Sequence[str], lines: Sequence[Line]) -> str:
    """The whole page, in Markdown."""
    facts = {
        "{date}": date.today().isoformat(),
        "{command}": command,
        "{about}": about,
        "{verdict}": verdict(lines),
        "{table}": "\n".join(rows),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, fact in facts.items():
        text = text.replace(name, fact)
    return text
