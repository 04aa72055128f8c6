"""Write an instruction page for each survey design beside this file; the site's build runs it.

It also writes ``pages.md``, the table of these pages in the guide.  The designs and their numbers
are the examples of ``rrstats/privacy/fieldwork.toml``.

python docs/cards/make_cards.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rrstats as rr
from rrstats.privacy.fieldwork import examples

QUESTION = "In the last twelve months, have you driven a car after more than two drinks?"
SECOND = "Was your mother born in January, February or March?"


def pages() -> dict[str, dict[str, tuple[str, Any]]]:
    """For each design the text of a link and the instructions, by the name of the page's file."""
    by_design: dict[str, dict[str, tuple[str, Any]]] = {}
    designs = examples()
    for name, design in designs.items():
        if design.groups is None:
            by_design[f"`{name}`"] = {name: ("page", rr.privacy.instructions(design, QUESTION))}
            continue
        by_design[f"`{name}`"] = {
            f"{name}_{group}": (group, rr.privacy.instructions(design, QUESTION, group=group))
            for group in design.groups
        }
    crosswise = designs["crosswise"]
    by_design["`crosswise`"] = {
        "crosswise": ("by a draw", rr.privacy.instructions(crosswise, QUESTION)),
        "crosswise_birthday": (
            "by a birthday",
            rr.privacy.instructions(crosswise, QUESTION, unrelated=SECOND),
        ),
    }
    krr = rr.privacy.instructions(
        rr.KRR(["never", "once", "more often"], 0.5),
        "In the last twelve months, how often have you driven a car after more than two drinks?",
    )
    by_design["`rr.KRR`, three answers"] = {"krr_three_answers": ("page", krr)}
    return by_design


def table() -> str:
    """The table of the pages in Markdown; the guide shows it."""
    lines = ["| design | pages |", "|---|---|"]
    for title, files in pages().items():
        links = [f'<a href="../cards/{stem}.html">{text}</a>' for stem, (text, _) in files.items()]
        lines.append(f"| {title} | {', '.join(links)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    folder = Path(__file__).parent
    for files in pages().values():
        for stem, (_, page) in files.items():
            (folder / f"{stem}.html").write_text(page.to_html(), "utf-8")
    (folder / "pages.md").write_text(table(), "utf-8")
