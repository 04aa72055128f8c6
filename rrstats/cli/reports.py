"""``rrstats estimate``, ``check`` and ``describe``: what a file says, in tables and pages."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import rrstats as rr
from rrstats._display import columns as in_columns
from rrstats._display import label, percent, percent_range, wrap
from rrstats.cli.arguments import (
    Column,
    add_column_options,
    add_command,
    columns_of,
    defaults_of,
    number,
    path,
    require_files,
)
from rrstats.cli.release import as_json, caster
from rrstats.errors import ArgumentValueError, FileError
from rrstats.mechanisms.channel import TARGETS
from rrstats.mechanisms.epsilon import round_up

__all__ = ["add_check", "add_describe", "add_estimate"]

METHODS = (
    "clopper-pearson",
    "wilson",
    "agresti-coull",
    "blaker",
    "lr",
    "wald",
    "profile-likelihood",
)


# -- estimate ------------------------------------------------------------------------------


def add_estimate(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "estimate",
        _estimate,
        usage=(
            "rrstats estimate FILE [--column NAME ...] [--plan FILE] [options]\n"
            "       rrstats estimate FILE --column NAME --categories A,B,C --prob P"
        ),
        description=(
            "Estimate the true shares behind randomized reports, with intervals. A file\n"
            "written by rrstats privatize says how it was made and needs no options, a CSV\n"
            "file together with the .rrstats.json beside it; what contradicts it is refused."
        ),
        epilog=(
            "examples:\n"
            "  rrstats estimate out.parquet\n"
            "  rrstats estimate out.csv --column smoker --target rows --format csv\n"
            "  rrstats estimate reports.csv --column answer --categories yes,no --prob 0.75"
        ),
    )
    command.add_argument("file", metavar="FILE", type=path, help="a file of reports")
    add_column_options(command, several=True)
    _add_plan(command)
    command.add_argument(
        "--level",
        type=number,
        default=0.95,
        metavar="L",
        help="how often intervals hold the true share (default 0.95)",
    )
    command.add_argument(
        "--method",
        choices=METHODS,
        metavar="METHOD",
        help=f"how intervals are made: one of {', '.join(METHODS)} (by default the first where "
        "the design allows, else the last)",
    )
    command.add_argument(
        "--target",
        choices=TARGETS,
        default=TARGETS[0],
        help="whom the shares are about: the population these people were sampled from, or "
        "just these rows",
    )
    command.add_argument(
        "--format",
        choices=("table", "json", "csv"),
        default="table",
        help="table is for people; csv and json have all numbers in full",
    )


def _add_plan(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--plan",
        metavar="FILE",
        type=path,
        help="what says how columns are made: a plan, what describe --format json printed, or the "
        ".rrstats.json of a CSV file",
    )


def _check_plan(options: argparse.Namespace, named: Sequence[Column], *, amount: bool) -> None:
    """Raise where the command line says what a plan says too."""
    for column in [defaults_of(options), *named]:
        said = column if amount else replace(column, prob=None, epsilon=None)
        if not said.is_bare:
            raise ArgumentValueError(
                "--plan says how columns are made, so --categories, --with-missing, --prob and "
                "--epsilon cannot stand beside it"
            )


def _estimate(options: argparse.Namespace) -> str:
    if not 0 < options.level < 1:
        raise ArgumentValueError(f"--level must be above 0 and below 1, got {options.level:g}")
    named = columns_of(options)
    if options.plan is not None:
        _check_plan(options, named, amount=True)
    elif not named and not defaults_of(options).is_bare:
        raise ArgumentValueError("--categories, --prob and --epsilon need the --column they are of")
    files = require_files()
    found: dict[Hashable, rr.Estimate] = {}
    if options.plan is not None or not named:
        names = [column.name for column in named] or None
        found = files.estimate_file(options.file, names, options.plan, target=options.target)
        named = []
    for column in named:
        mechanism = None if column.is_bare else column.mechanism(caster(options.file))
        found |= files.estimate_file(options.file, column.name, mechanism, target=options.target)
    writers = {"table": _as_table, "json": _as_documents, "csv": _as_csv}
    return writers[options.format](found, options)


def _rows(estimate: rr.Estimate, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of `Estimate.to_frame`, with the categories as they were declared."""
    frame = estimate.to_frame(options.level, method=options.method)
    rows: list[Any] = frame.astype(object).to_dict(orient="records")
    known = estimate.names_categories
    for row in rows if not known else []:
        row.update(reported=None, naive=None)
    pairs = zip(estimate.categories, rows, strict=True)
    return [{**row, "category": category} for category, row in pairs]


def _as_table(found: Mapping[Hashable, rr.Estimate], options: argparse.Namespace) -> str:
    parts = []
    for name, estimate in found.items():
        header = ["answer", "reported", "naive", "share", "std error", "interval", "count"]
        header[5] = f"{options.level * 100:.10g}% interval"
        rows = [
            [
                label(row["category"]),
                "" if row["reported"] is None else f"{row['reported']:,}",
                "" if row["naive"] is None else percent(row["naive"]),
                percent(row["proportion"]),
                percent(row["std_error"]),
                _interval(row["low"], row["high"]),
                f"{row['count']:,.0f}" if abs(row["count"]) < 1e9 else f"{row['count']:.1e}",
            ]
            for row in _rows(estimate, options)
        ]
        parts.append(f"{wrap(_heading(name, estimate))}\n{in_columns([header, *rows])}")
        # Not answering has another name in the reading than in the table.
        read = next(category for category in reversed(estimate.categories) if category is not None)
        asked = options.method in (None, estimate.default_method)
        by = "" if asked else f", by {estimate.default_method}"
        sentence = estimate.reading(read, options.level)
        parts.append(wrap(f"Reading{by}: {label(sentence)}."))
    # Where reports are implausible a warning says so, and noise is no excuse.
    shares = [
        share
        for estimate in found.values()
        if not estimate.implausible.any()
        for share in estimate.proportions.tolist()
    ]
    note = "Naive: the reports as they are. Share: the estimate of the true share, from them."
    if any(share < 0 or share > 1 for share in shares):
        note += (
            " A share below 0% or above 100% is noise: it is unbiased and not clipped; its "
            "interval says how much it tells."
        )
    return "\n\n".join([*parts, wrap(note)]) + "\n"


def _interval(low: float, high: float) -> str:
    """Both ends, rounded as in the reading: outward; far beyond 100% as shares are."""
    if not max(abs(low), abs(high)) < 100:
        return f"{percent(low)} to {percent(high)}"
    return percent_range(low, high)


def _heading(name: Hashable, estimate: rr.Estimate) -> str:
    missing = f" and {estimate.missing:,} times {label(None)}" if estimate.missing else ""
    whom = {
        "population": "the shares are about the population behind them",
        "rows": "the shares are about just these rows",
    }[estimate.target]
    return (
        f"{label(name)}: {estimate.n:,} reports{missing}; {whom}; epsilon "
        f"{round_up(estimate.mechanism.epsilon)} per report"
    )


def _as_csv(found: Mapping[Hashable, rr.Estimate], options: argparse.Namespace) -> str:
    lines = []
    for name, estimate in found.items():
        facts = {
            "level": options.level,
            "target": estimate.target,
            "method": options.method or estimate.default_method,
            "epsilon": estimate.mechanism.epsilon,
            "missing": estimate.missing,
        }
        lines += [{"column": name, **row, **facts} for row in _rows(estimate, options)]
    page = io.StringIO()
    writer = csv.DictWriter(page, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return page.getvalue()


def _as_documents(found: Mapping[Hashable, rr.Estimate], options: argparse.Namespace) -> str:
    documents = [
        {
            "column": name,
            "target": estimate.target,
            "level": options.level,
            "method": options.method or estimate.default_method,
            "epsilon": estimate.mechanism.epsilon,
            "n": estimate.n,
            "missing": estimate.missing,
            "shares": [
                {key: item for key, item in row.items() if key != "n"}
                for row in _rows(estimate, options)
            ],
        }
        for name, estimate in found.items()
    ]
    return as_json({"columns": documents})


# -- check ---------------------------------------------------------------------------------


def add_check(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "check",
        _check,
        usage=(
            "rrstats check FILE --column NAME --categories A,B,C ... [options]\n"
            "       rrstats check FILE --plan FILE [--column NAME ...] [options]"
        ),
        description=(
            "Before a release, for the person who holds the true answers: lists the answers\n"
            "that fit no category, typing errors for example, and earlier releases from this\n"
            "file. Its output shows true answers: never release, log or share it."
        ),
        epilog=(
            "examples:\n"
            "  rrstats check in.parquet --column answer --categories never,once,often\n"
            "  rrstats check in.parquet --plan plan.toml\n"
            "\n"
            "The exit code is 0 whether or not such answers are found."
        ),
    )
    command.add_argument("file", metavar="FILE", type=path, help="the file with true answers")
    add_column_options(command, several=True, amount=False)
    _add_plan(command)
    command.add_argument(
        "--ledger", metavar="FILE", type=path, help="account of releases kept elsewhere"
    )


def _check(options: argparse.Namespace) -> str:
    named = columns_of(options)
    if options.plan is not None:
        _check_plan(options, named, amount=False)
    elif not named:
        raise ArgumentValueError("name the --column to check, with its --categories, or a --plan")
    else:
        for column in named:
            column.words()
    files = require_files()
    designs = _designs(options, named)
    parts = [
        "PRIVATE, for the steward only: what follows shows true answers. Never release, log or "
        "share it."
    ]
    said = {str(record.name): record for record in files.describe_file(options.file)}
    for name, categories in designs.items():
        if name in said:
            parts.append(
                f"{label(name)}: {label(options.file)} says that this column holds randomized "
                f"reports already (epsilon {round_up(said[name].epsilon)}), not true answers."
            )
        parts.append(_outside(name, files.check_file(options.file, name, categories)))
    parts.extend(_releases(options, designs))
    return "\n\n".join(part if "\n" in part else wrap(part) for part in parts) + "\n"


def _designs(options: argparse.Namespace, named: Sequence[Column]) -> dict[str, Any]:
    """What says which answers each column may hold: its categories, or all of a plan."""
    if options.plan is None:
        cast = caster(options.file)
        return {str(column.name): cast(str(column.name), column.words()) for column in named}
    from rrstats.files.plan import read_document

    records = read_document(options.plan)
    names = [str(column.name) for column in named] or [str(record.name) for record in records]
    return dict.fromkeys(names, records)


def _outside(column: str, frame: pd.DataFrame) -> str:
    """The answers of one column that fit no category."""
    name = label(column)
    if frame.empty:
        return f"{name}: all answers fit the categories."
    rows = [["answer", "", "count"]]
    rows += [
        ["" if status == "not listed" else label(value), status, f"{count:,}"]
        for value, status, count in frame[["value", "status", "count"]].itertuples(index=False)
    ]
    return f"{name}: answers that fit no category\n{in_columns(rows, left=2)}"


def _releases(options: argparse.Namespace, columns: Iterable[str]) -> list[str]:
    """What the ledger knows of earlier releases of these columns."""
    from rrstats.files.ledger import Ledger

    ledger = Ledger.of(options.file, options.ledger)
    parts = []
    for column in columns:
        name = label(column)
        known = [*ledger.releases, *ledger.related]
        earlier = [release for release in known if column in release.epsilon]
        if not earlier:
            parts.append(f"{name}: no earlier release of this column is known.")
            continue
        when = ", ".join(f"{label(r.target)} on {r.when:%Y-%m-%d %H:%M %Z}" for r in earlier)
        often = "once" if len(earlier) == 1 else f"{len(earlier)} times"
        parts.append(
            f"{name}: released {often} before, with epsilon "
            f"{round_up(ledger.epsilon(column))} in all: {when}. A further release adds its "
            "epsilon to that, and needs --again."
        )
    return parts


# -- describe ------------------------------------------------------------------------------


def add_describe(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "describe",
        _describe,
        usage="rrstats describe FILE [--format text|json] [--statement PAGE]",
        description=(
            "Say how a file was privatized, as the file itself says it: categories,\n"
            "probabilities, epsilon. --statement writes the page that accompanies a release:\n"
            "what was done, what is promised and what is not, odds in words, how to estimate."
        ),
        epilog=(
            "examples:\n"
            "  rrstats describe out.parquet\n"
            "  rrstats describe out.parquet --format json      this is also a plan\n"
            "  rrstats describe out.parquet --statement out.html"
        ),
    )
    command.add_argument("file", metavar="FILE", type=path, help="a privatized file")
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="text is for people"
    )
    command.add_argument(
        "--statement", metavar="PAGE", type=path, help="also write the page, .md or .html"
    )
    command.add_argument("--title", metavar="TEXT", help="the heading of the page")
    command.add_argument("--overwrite", action="store_true", help="replace PAGE if it exists")


def _describe(options: argparse.Namespace) -> str:
    from rrstats.mechanisms.records import write
    from rrstats.statement import describe

    page = None if options.statement is None else _format_of(options.statement)
    if page is None and (options.title is not None or options.overwrite):
        raise ArgumentValueError("--title and --overwrite are for the page; give --statement too")
    files = require_files()
    records = files.describe_file(options.file)
    from rrstats.files.estimate_file import document_beside, silence
    from rrstats.files.formats import open_source

    source = open_source(options.file)
    if not records:
        raise FileError(
            f"{options.file} does not say that any column was privatized{silence(source)}; if you "
            "know that one was, rrstats estimate takes its --categories and --prob"
        )
    if options.format == "json":
        shown = as_json(write(records))
    else:
        shown = describe(records, beside=document_beside(source))
    if page is None:
        return shown
    _write_statement(options, page)
    return shown if options.format == "json" else f"{shown}\nPage written: {options.statement}\n"


def _format_of(page: Path) -> str:
    formats = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}
    if page.suffix.lower() not in formats:
        raise ArgumentValueError(f"--statement must name a .md or .html file, got {str(page)!r}")
    return formats[page.suffix.lower()]


def _write_statement(options: argparse.Namespace, format: str) -> None:
    from rrstats.files.publishing import Publication

    text = require_files().statement_of(options.file, title=options.title, format=format)
    with Publication(options.statement, overwrite=options.overwrite) as publication:
        with publication.open() as file:
            file.write(text.encode())
        publication.publish()
