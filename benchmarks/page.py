"""The results page: a table as printed, in the text of page.md, which stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.table import Line, ratio_text, spread

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
