"""Ask the questions and print the answers: all of them, or one file alone."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.machine import load, machine
from benchmarks.measuring import Settings
from benchmarks.page import page
from benchmarks.table import Line, heading, printed

QUESTIONS = (
    "columns",
    "series",
    "counting",
    "analysis",
    "memory",
    "importing",
    "single",
    "timing",
    "records",
    "subsets",
    "files",
    "engines",
)

QUICK_ROWS = 200_000

QUICK_TEXT = "A quick run: it shows that everything works, its times mean nothing."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What rrstats costs, beside its rivals."
    )
    add = parser.add_argument
    add("--rows", type=int, help="rows of a column (default 10,000,000)")
    add("--rounds", type=int, help="how often each way is timed (default 7)")
    add("--only", action="append", choices=QUESTIONS, metavar="NAME", help=", ".join(QUESTIONS))
    add("--quick", action="store_true", help="does everything work?  Seconds; no times")
    add("--large", action="store_true", help="also a file of 100,000,000 rows")
    add("--markdown", type=Path, metavar="FILE", help="write the results page here")
    return parser


def _settings(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Settings:
    usual = Settings()
    rows = options.rows or (QUICK_ROWS if options.quick else usual.rows)
    rounds = options.rounds or (2 if options.quick else usual.rounds)
    if rows < 1000:
        parser.error("--rows must be at least 1000")
    if rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.quick and options.large:
        parser.error("--quick and --large contradict each other")
    if options.quick and options.markdown:
        parser.error("--quick measures nothing that a page could show; leave it out")
    return Settings(rows, rounds, options.quick, options.large)


def ask(names: Sequence[str], settings: Settings) -> Iterator[tuple[str, Line | None]]:
    """Each row as it is printed, as soon as it is known, and the line behind it if any."""
    yield heading(), None
    for name in names:
        question = import_module(f"benchmarks.{name}")
        yield f"\n{question.TITLE}", None
        shown = None
        for line in question.lines(settings):
            ours = (line.case, line.unit, tuple(line.ours))
            repeated, shown = ours == shown, ours
            yield printed(line, judge=not settings.quick, repeated=repeated), line


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask the questions, print the table, and write the page if it is wanted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    settings = _settings(parser, options)
    names = [name for name in QUESTIONS if name in (options.only or QUESTIONS)]
    about = f"{machine()}\n{settings.rows:,} rows unless a line says otherwise; "
    about += f"median (lowest..highest) of {settings.rounds} rounds"
    print(f"{about}\n{QUICK_TEXT if settings.quick else ''}\n", flush=True)
    start, load_before = time.monotonic(), load()
    title, answers = "", []
    for row, line in ask(names, settings):
        print(row, flush=True)
        if line is None:
            title = row.strip()
        else:
            answers.append((title, line))
    end = f"{time.monotonic() - start:.0f} s in all; load {load_before} before, {load()} at the end"
    print(f"\n{end}")
    if options.markdown:
        command = " ".join(["python -m benchmarks", *_given(options)])
        options.markdown.write_text(page(f"{about}\n{end}", command, answers), encoding="utf-8")
    return 0


def _given(options: argparse.Namespace) -> list[str]:
    """The arguments that decide what is measured, as they were typed."""
    given = [
        f"--{name} {getattr(options, name)}"
        for name in ("rows", "rounds")
        if getattr(options, name)
    ]
    given += [f"--only {name}" for name in options.only or ()]
    return given + ["--large"] * options.large


def alone(name: str) -> int:
    """For ``python -m benchmarks.NAME``: that question, with the same options."""
    import sys

    return main(["--only", name, *sys.argv[1:]])
