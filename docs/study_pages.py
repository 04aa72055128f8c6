"""A page for each study of the book, with its picture, written when the site is built.

The facts are those of ``rrstats/datasets/studies.toml``.  ``docs/studies`` gets the pages, the
pictures, and ``table.md``, the table of all questions that ``docs/studies.md`` shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rrstats._display import as_markdown, percent
from rrstats.datasets import StudyQuestion
from rrstats.datasets.book import design_words, questions

OURS, THEIRS = "#0072b2", "#d55e00"
WIDE, ROW, MARGIN = 7.0, 0.42, 1.1


def by_study() -> dict[str, list[StudyQuestion]]:
    """The questions of each study, by the first part of their ids."""
    listed: dict[str, list[StudyQuestion]] = {}
    for name, question in questions().items():
        listed.setdefault(name.partition(".")[0], []).append(question)
    return listed


def comparison(question: StudyQuestion) -> str:
    """What the agreement of a question shows."""
    if question.agrees is None:
        return "no number of the authors"
    words = "the same digits" if question.agrees else "differs"
    return f"{words}, validation" if question.is_validation else f"{words}, by construction"


def published(question: StudyQuestion) -> str:
    """The authors' estimate, with its digits."""
    return "not seen" if question.published is None else f"{question.published:f}"


def draw(listed: Sequence[StudyQuestion], place: Path) -> str:
    """Draw published and computed proportions with 95% intervals; return the alternative text."""
    figure = Figure(figsize=(WIDE, MARGIN + ROW * len(listed)), layout="constrained")
    axes = figure.subplots()
    sentences = []
    for row, question in enumerate(listed):
        share = question.estimate()[question.category]
        words = f"{question.id}: computed {percent(share.value)}"
        axes.plot([share.low, share.high], [row, row], color=OURS, linewidth=1.5)
        axes.plot([share.value], [row], "o", color=OURS)
        if question.published is not None:
            axes.plot([float(question.published)], [row + 0.22], "D", color=THEIRS, markersize=5)
            words += f", published {published(question)}"
        if question.published_interval is not None:
            ends = [float(end) for end in question.published_interval]
            axes.plot(ends, [row + 0.22] * 2, color=THEIRS, linewidth=1.5)
        sentences.append(words)
    handles = [axes.plot([], [], "o-", color=OURS, label="computed, 95% interval")[0]]
    if any(question.published is not None for question in listed):
        handles += axes.plot([], [], "D-", color=THEIRS, label="published")
    axes.set_yticks(range(len(listed)), [each.id.partition(".")[2] for each in listed])
    axes.set_ylim(len(listed) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, decimals=0))
    axes.grid(axis="x", linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
    with mpl.rc_context({"svg.hashsalt": "rrstats"}):
        figure.savefig(place, metadata={"Date": None})
    return "; ".join(sentences)


def sources(listed: Sequence[StudyQuestion]) -> list[str]:
    """The design and the source, once for the questions that share both, and what differs."""
    shared: dict[tuple[str, str], list[str]] = {}
    for question in listed:
        facts = (design_words(question.mechanism.to_dict()), question.source)
        shared.setdefault(facts, []).append(question.id.partition(".")[2])
    lines = [
        f"{', '.join(names)}: {design}. Source: {source}."
        for (design, source), names in shared.items()
    ]
    for question in listed:
        name = question.id.partition(".")[2]
        if question.software is not None:
            numbers = f"{question.software.estimate} ({question.software.error})"
            lines.append(f"{name}: {question.software.by} prints {numbers}.")
        if question.note:
            lines.append(f"{name}: {question.note}")
    return lines


def page(key: str, listed: Sequence[StudyQuestion], alternative: str) -> str:
    """The page of a study in Markdown."""
    first = listed[0]
    dated = "" if first.year is None or str(first.year) in first.study else f", {first.year}"
    origins = sorted({question.counts_from for question in listed})
    n_validations = sum(question.is_validation for question in listed)
    n_numbers = sum(question.published is not None for question in listed)
    if n_numbers:
        compared = (
            f"Numbers of the authors: {n_numbers}; {n_validations} of them could have differed."
        )
    else:
        compared = "The authors' numbers were not seen."
    other = sorted({name for question in listed for name in question.readings[1:]})
    readings = f" Other readings of the reports: {', '.join(other)}." if other else ""
    about = (
        f"{len(listed)} {'question' if len(listed) == 1 else 'questions'} to {first.population} "
        f"(field: {first.field}). Counts: {', '.join(origins)}. {compared}{readings} "
        f"{first.licence}."
    )
    header = ("id", "question", "n", "published", "computed", "what it shows")
    rows = [
        (
            question.id,
            question.question,
            f"{question.n:,}",
            published(question),
            f"{question.computed:.4f}",
            comparison(question),
        )
        for question in listed
    ]
    top = as_markdown([("title", f"{first.study}{dated}"), ("text", about)])
    picture = f"```{{image}} {key}.svg\n:alt: {alternative}\n:width: 100%\n```\n"
    table = as_markdown([("table", (header, rows))])
    example = (
        "```python\nimport rrstats as rr\n\n"
        f'question = rr.datasets.study("{first.id}")\nprint(question)\nquestion.estimate()\n```\n'
    )
    details = as_markdown(
        [
            ("heading", "Design and source"),
            ("list", sources(listed)),
            ("heading", "Citation"),
            ("text", first.citation),
        ]
    )
    return "\n".join([top, picture, table, example, details])


def table(studies: dict[str, list[StudyQuestion]]) -> str:
    """The table of all questions, each with a link to the page of its study."""
    lines = [
        "| question | n | counts | published | computed | what it shows |",
        "|---|--:|---|--:|--:|---|",
    ]
    for key, listed in studies.items():
        lines += [
            f"| [{each.id}](studies/{key}.md) | {each.n:,} | {each.counts_from} "
            f"| {published(each)} | {each.computed:.4f} | {comparison(each)} |"
            for each in listed
        ]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write all pages and pictures into a folder; remove those of studies that are gone."""
    folder.mkdir(exist_ok=True)
    studies = by_study()
    texts = {"table": table(studies)}
    for key, listed in studies.items():
        texts[key] = page(key, listed, draw(listed, folder / f"{key}.svg"))
    for old in [*folder.glob("*.md"), *folder.glob("*.svg")]:
        if old.stem not in texts:
            old.unlink()
    for stem, text in texts.items():
        place = folder / f"{stem}.md"
        if not place.exists() or place.read_text("utf-8") != text:  # sphinx reads what changed
            place.write_text(text, "utf-8")
