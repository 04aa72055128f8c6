"""``rrstats estimate``, ``check`` and ``describe``: what a file says, in tables and pages."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rrstats._display import columns as in_columns
from rrstats._display import label, percent, percent_range, wrap
from rrstats.cli.arguments import (
    Design,
    add_command,
    add_design,
    design_of,
    load_files,
    number,
    path,
)
from rrstats.cli.privatize_command import as_json, caster
from rrstats.errors import ArgumentValueError, FileError
from rrstats.estimation.estimate import Estimate
from rrstats.mechanisms.channel import TARGETS
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.records import write
from rrstats.statement import describe

__all__ = ["add_check", "add_describe", "add_estimate", "share_table"]

PLAN = (
    "a document that says how columns are made: a plan, the output of describe --format json, or "
    "the .rrstats.json of a CSV file"
)
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
    add_design(command, PLAN)
    command.add_argument(
        "--level",
        type=number,
        default=0.95,
        metavar="L",
        help="confidence level of the intervals (default 0.95)",
    )
    command.add_argument(
        "--method",
        choices=METHODS,
        metavar="METHOD",
        help=f"method of the intervals: one of {', '.join(METHODS)} (by default the first where "
        "the design allows, else the last)",
    )
    command.add_argument(
        "--target",
        choices=TARGETS,
        default=TARGETS[0],
        help="the shares are about the population behind these people, or about just these rows",
    )
    command.add_argument(
        "--format",
        choices=("text", "json", "csv"),
        default="text",
        help="text is for people; csv and json have all numbers in full",
    )


def _estimate(options: argparse.Namespace) -> str:
    if not 0 < options.level < 1:
        raise ArgumentValueError(f"--level must be above 0 and below 1, got {options.level:g}")
    design = design_of(options)
    if not design.names and not design.is_bare:
        raise ArgumentValueError("--categories, --prob and --epsilon need the --column they are of")
    files = load_files()
    if design.is_bare:
        found = files.estimate_file(
            options.file, design.names or None, options.plan, target=options.target
        )
    else:
        found = {}
        for name, mechanism in design.mechanisms(caster(options.file)).items():
            found |= files.estimate_file(options.file, name, mechanism, target=options.target)
    writers = {"text": _as_text, "json": _as_documents, "csv": _as_csv}
    return writers[options.format](found, options)


def _rows(estimate: Estimate, level: float, method: str | None) -> list[dict[str, Any]]:
    """The rows of `Estimate.to_frame`, with the categories as they were declared."""
    frame = estimate.to_frame(level, method=method)
    rows: list[Any] = frame.astype(object).to_dict(orient="records")
    known = estimate.names_categories
    for row in rows if not known else []:
        row.update(reported=None, naive=None)
    pairs = zip(estimate.categories, rows, strict=True)
    return [{**row, "category": category} for category, row in pairs]


def share_table(
    estimate: Estimate,
    level: float,
    method: str | None = None,
    truth: Mapping[Hashable, float] | None = None,
) -> str:
    """The estimate as people read it; each row has the digits that its interval tells."""
    header = ["answer", "reported", "naive", "share", f"{level * 100:.10g}% interval", "count"]
    rows = []
    for row in _rows(estimate, level, method):
        low, high = row["low"], row["high"]
        known = row["reported"] is not None
        rows.append(
            [
                label(row["category"]),
                f"{row['reported']:,}" if known else "",
                percent(row["naive"]) if known else "",
                percent(row["proportion"]),
                # Rounded as in the sentence: outward; far beyond 100% as shares are.
                percent_range(low, high)
                if max(abs(low), abs(high)) < 100
                else f"{percent(low)} to {percent(high)}",
                f"{row['count']:,.0f}" if abs(row["count"]) < 1e9 else f"{row['count']:.1e}",
            ]
        )
    if truth is not None:
        header.insert(1, "true")
        for cells, category in zip(rows, estimate.categories, strict=True):
            cells.insert(1, percent(truth[category]))
    return in_columns([header, *rows])


def share_note(estimates: Sequence[Estimate]) -> str:
    """The words below tables of shares, in full where a share lies outside [0%, 100%]."""
    note = "Naive: the reports as they are. Share: the estimate of the true share, from them."
    # Where reports are implausible a warning says so, and noise is no excuse.
    plausible = [estimate for estimate in estimates if not estimate.implausible.any()]
    if any((e.proportions < 0).any() or (e.proportions > 1).any() for e in plausible):
        note += (
            " A share below 0% or above 100% is noise: it is unbiased and not clipped; its "
            "interval says how much it tells."
        )
    return note


def _as_text(found: Mapping[Hashable, Estimate], options: argparse.Namespace) -> str:
    parts = []
    for name, estimate in found.items():
        table = share_table(estimate, options.level, options.method)
        parts.append(f"{wrap(_heading(name, estimate))}\n{table}")
        # Not answering has another name in the reading than in the table.
        read = next(category for category in reversed(estimate.categories) if category is not None)
        asked = options.method in (None, estimate.default_method)
        by = "" if asked else f", by {estimate.default_method}"
        sentence = estimate.reading(read, options.level)
        parts.append(wrap(f"Reading{by}: {label(sentence)}."))
    return "\n\n".join([*parts, wrap(share_note(list(found.values())))]) + "\n"


def _heading(name: Hashable, estimate: Estimate) -> str:
    missing = f" and {estimate.missing:,} times {label(None)}" if estimate.missing else ""
    whom = {
        "population": "the shares are about the population behind them",
        "rows": "the shares are about just these rows",
    }[estimate.target]
    return (
        f"{label(name)}: {estimate.n:,} reports{missing}; {whom}; epsilon "
        f"{round_up(estimate.mechanism.epsilon)} per report"
    )


def _as_csv(found: Mapping[Hashable, Estimate], options: argparse.Namespace) -> str:
    lines = []
    for name, estimate in found.items():
        facts = {
            "level": options.level,
            "target": estimate.target,
            "method": options.method or estimate.default_method,
            "epsilon": estimate.mechanism.epsilon,
            "missing": estimate.missing,
        }
        lines += [
            {"column": name, **row, **facts}
            for row in _rows(estimate, options.level, options.method)
        ]
    page = io.StringIO()
    writer = csv.DictWriter(page, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return page.getvalue()


def _as_documents(found: Mapping[Hashable, Estimate], options: argparse.Namespace) -> str:
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
                for row in _rows(estimate, options.level, options.method)
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
    add_design(command, PLAN, has_amount=False)
    command.add_argument(
        "--ledger", metavar="FILE", type=path, help="account of releases kept elsewhere"
    )


def _check(options: argparse.Namespace) -> str:
    given = design_of(options, has_amount=False)
    if options.plan is None and not given.names:
        raise ArgumentValueError("name the --column to check, with its --categories, or a --plan")
    if options.plan is None:
        given.words()  # raises before any file is opened
    files = load_files()
    designs = _designs(options, given)
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
        parts.append(_releases(options, name))
    return "\n\n".join(part if "\n" in part else wrap(part) for part in parts) + "\n"


def _designs(options: argparse.Namespace, given: Design) -> dict[str, Any]:
    """The answers that each column may hold: its categories, or all of a plan."""
    if options.plan is None:
        cast = caster(options.file)
        return {name: cast(name, given.words()) for name in given.names}
    from rrstats.files.plan import read_document

    records = read_document(options.plan)
    return dict.fromkeys(given.names or [str(record.name) for record in records], records)


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


def _releases(options: argparse.Namespace, column: str) -> str:
    """The earlier releases of a column that the ledger knows."""
    from rrstats.files.ledger import Ledger

    ledger, name = Ledger.of(options.file, options.ledger), label(column)
    known = [*ledger.releases, *ledger.related]
    earlier = [release for release in known if column in release.epsilon]
    if not earlier:
        return f"{name}: no earlier release of this column is known."
    when = ", ".join(f"{label(r.target)} on {r.when:%Y-%m-%d %H:%M %Z}" for r in earlier)
    often = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    return (
        f"{name}: released {often} before, with epsilon {round_up(ledger.epsilon(column))} in all: "
        f"{when}. A further release adds its epsilon to that, and needs --again."
    )


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
    command.add_argument("--contact", metavar="TEXT", help="who answers for the release")
    command.add_argument(
        "--question",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="the wording of a column's question; may be repeated",
    )
    command.add_argument("--overwrite", action="store_true", help="replace PAGE if it exists")


def _describe(options: argparse.Namespace) -> str:
    page = None if options.statement is None else _format_of(options.statement)
    if page is None and (options.title or options.overwrite or options.contact or options.question):
        raise ArgumentValueError(
            "--title, --contact, --question and --overwrite are for the page; give --statement too"
        )
    files = load_files()
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

    questions = {}
    for given in options.question:
        name, equals, text = given.partition("=")
        if not (name and equals and text):
            raise ArgumentValueError(f"--question must be NAME=TEXT, got {given!r}")
        questions[name] = text
    page = load_files().statement_of(
        options.file,
        title=options.title,
        format=format,
        questions=questions,
        contact=options.contact,
    )
    with Publication(options.statement, overwrite=options.overwrite) as publication:
        with publication.open() as file:
            file.write(page.encode())
        publication.publish()
