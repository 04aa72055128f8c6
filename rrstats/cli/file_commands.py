"""Commands for files, as functions of their options that return what is to be printed."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from rrstats._display import chance, columns, label, wrap
from rrstats.cli.arguments import Design, design_of
from rrstats.cli.progress import progress_bar
from rrstats.cli.share_tables import as_json, share_note, share_rows, share_table
from rrstats.errors import ArgumentValueError, FileError
from rrstats.estimation.estimate import Estimate
from rrstats.files.atomic import Publication, uninterrupted
from rrstats.files.estimate_file import (
    check_file,
    describe_file,
    document_beside,
    estimate_file,
    silence,
    statement_of,
)
from rrstats.files.formats import check_target, open_source
from rrstats.files.ledger import Ledger
from rrstats.files.plan import cast_words, read_document, read_plan, whole_words
from rrstats.files.privatize_file import privatize_file
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import Record, write
from rrstats.privatization.column import ColumnRelease
from rrstats.privatization.frame import recorded_mechanism
from rrstats.statement import describe as describe_records


def privatize(options: argparse.Namespace) -> str:
    """Privatize the file and print the report that may be published; returns no other page."""
    given = design_of(options)
    design = _records(options, given)
    if options.write_plan:
        return as_json(write(design))
    if options.dry_run:
        return _report(_preview(options, design), options.format)

    with uninterrupted(when_done=True):
        with progress_bar(options.quiet) as step:
            receipt = privatize_file(
                options.source,
                options.target,
                design,
                again=options.again,
                overwrite=options.overwrite,
                shuffle_rows=options.shuffle_rows,
                ledger=options.ledger,
                progress=step,
            )
        options.published = True
        if not options.quiet:
            _tell_the_curator(receipt)
        print(_report(receipt.to_dict(), options.format), end="", flush=True)
    return ""


def _records(options: argparse.Namespace, given: Design) -> list[Record]:
    """A record of each column to be made: from the plan, or from the options."""
    if options.plan is not None:
        for option in ("column", "unknown", "missing"):
            if getattr(options, option):
                raise ArgumentValueError(
                    f"--plan says how each column is privatized, so --{option} cannot stand beside "
                    "it; write it into the plan"
                )

        return read_plan(options.plan, {"unknown": "raise", "missing": "uniform"})
    if not given.names:
        raise ArgumentValueError(
            "name at least one --column with --categories and --prob or --epsilon, or give a "
            "--plan; see rrstats privatize --help"
        )
    given.words()  # raises before any file is opened
    policies = {"unknown": options.unknown or "raise", "missing": options.missing or "uniform"}
    made = given.mechanisms(caster(options.source))
    return [Record.of(name, mechanism, **policies) for name, mechanism in made.items()]


def caster(path: Path) -> Callable[[str, list[str | None]], list[Hashable]]:
    """A function from a column's name and category words to values of the column's type."""
    source = open_source(path)
    part = source.files[0]

    def cast(column: str, words: list[str | None]) -> list[Hashable]:
        name = source.check_column(column)
        if part.document_is_beside:  # text, in which no column has a type
            return whole_words(words)
        return cast_words(words, part.type_of(name), name)

    return cast


def _preview(options: argparse.Namespace, design: list[Record]) -> dict[str, Any]:
    """The report of a release that is not made; answers are looked at only to refuse them."""
    source = open_source(options.source)
    target = check_target(source, options.target)
    if target.exists() and not options.overwrite:
        raise FileError(f"{target} exists; choose another name, or give --overwrite")
    records, releases = [], {}
    for asked in design:
        name, mechanism = source.check_column(asked.name), asked.resolve()
        recorded = recorded_mechanism(
            source.record_of(name), mechanism, again=options.again, missing=asked.missing, rng=None
        )
        empty = source.files[0].no_cells(name, mechanism.domain)
        releases[name] = ColumnRelease(
            empty, mechanism, unknown=asked.unknown, missing=asked.missing
        )
        made = Record.of(name, recorded)
        records.append(replace(asked, name=name, mechanism=made.mechanism))
    Ledger.of(options.source, options.ledger).refuse(records, options.again)
    careful = {name: release for name, release in releases.items() if release.may_refuse}
    for part in source.files if careful else ():
        for piece in part.pieces({n: r.mechanism.domain for n, r in careful.items()}, only=True):
            for name, release in careful.items():
                release.look(piece.cells(name))
    for release in careful.values():
        release.refuse()
    return {
        "dry_run": True,
        "target": str(target),
        "rows": source.rows,
        "columns": [{**record.to_dict(), "epsilon": record.epsilon} for record in records],
        "epsilon_per_row": total_epsilon(record.epsilon for record in records),
    }


def _report(report: Mapping[str, Any], format: str) -> str:
    """The report that may be published."""
    if format == "json":
        return as_json(report)
    rows = [["column", "answers", "truth", "epsilon", "unknown", "missing"]]
    again = []
    for column in report["columns"]:
        record = Record.from_dict({key: column[key] for key in ("name", "mechanism")})
        name, mechanism = label(record.name), record.unlabelled()
        prob = getattr(mechanism, "prob", None)
        cells = [name, f"{mechanism.k:,}", "" if prob is None else chance(prob)]
        epsilon = round_up(float(column["epsilon"]))
        rows.append([*cells, epsilon, column["unknown"], column["missing"]])
        if column.get("releases", 1) > 1:
            together = round_up(float(column["epsilon_of_all_releases"]))
            again.append(
                f"{name}: released {column['releases']} times from this source, epsilon {together} "
                "together."
            )
    verb = "would be privatized" if "dry_run" in report else "privatized"
    count = "" if report["rows"] is None else f", {report['rows']:,} rows"
    epsilon = f"Epsilon of a row: {round_up(float(report['epsilon_per_row']))}."
    lines = [f"{label(report['target'])}: {verb}{count}", columns(rows), epsilon, *again]
    return "\n".join(lines) + "\n"


def _tell_the_curator(receipt: Any) -> None:
    """Counts of unknown and missing answers, on stderr."""
    for name, counts in receipt.private.items():
        _private(
            f"column {label(name)}: {counts['unknown']:,} unknown and {counts['missing']:,} "
            f"missing of {receipt.rows:,} answers"
        )
        if counts["unknown"] and counts["unknown"] + counts["missing"] == receipt.rows:
            _private(
                f"column {label(name)}: no answer fits the categories, so the reports are noise "
                "alone; are the words spelled as in the file? rrstats check shows the answers"
            )


def _private(text: str) -> None:
    if sys.stderr is not None:
        print(f"rrstats: private, for the steward only: {text}", file=sys.stderr)


# -- estimate -----------------------------------------------------------------------------


def estimate(options: argparse.Namespace) -> str:
    """Estimate the columns of a file; returns a table, CSV or JSON."""
    if not 0 < options.level < 1:
        raise ArgumentValueError(f"--level must be above 0 and below 1, got {options.level:g}")
    design = design_of(options)
    if not design.names and not design.is_bare:
        raise ArgumentValueError("--categories, --prob and --epsilon need the --column they are of")
    if design.is_bare:
        found = estimate_file(
            options.file, design.names or None, options.plan, target=options.target
        )
    else:
        found = {}
        for name, mechanism in design.mechanisms(caster(options.file)).items():
            found |= estimate_file(options.file, name, mechanism, target=options.target)
    writers = {"text": _as_text, "json": _as_documents, "csv": _as_csv}
    return writers[options.format](found, options)


def _as_text(found: Mapping[str, Estimate], options: argparse.Namespace) -> str:
    parts = []
    for name, estimate in found.items():
        table = share_table(estimate, options.level, options.method)
        parts.append(f"{wrap(_heading(name, estimate))}\n{table}")
        # Not answering has another name in the reading than in the table.
        read = next(category for category in reversed(estimate.categories) if category is not None)
        asked = options.method in (None, estimate.default_method)
        by = "" if asked else f", by {estimate.default_method}"
        sentence = estimate.interpret(read, options.level)
        parts.append(wrap(f"Reading{by}: {label(sentence)}."))
    return "\n\n".join([*parts, wrap(share_note(list(found.values())))]) + "\n"


def _heading(name: str, estimate: Estimate) -> str:
    missing = f" and {estimate.missing:,} times {label(None)}" if estimate.missing else ""
    whom = {
        "population": "the shares are about the population behind them",
        "rows": "the shares are about just these rows",
    }[estimate.target]
    return (
        f"{label(name)}: {estimate.n:,} reports{missing}; {whom}; epsilon "
        f"{round_up(estimate.mechanism.epsilon)} per report"
    )


def _as_csv(found: Mapping[str, Estimate], options: argparse.Namespace) -> str:
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
            for row in share_rows(estimate, options.level, options.method)
        ]
    page = io.StringIO()
    writer = csv.DictWriter(page, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return page.getvalue()


def _as_documents(found: Mapping[str, Estimate], options: argparse.Namespace) -> str:
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
                for row in share_rows(estimate, options.level, options.method)
            ],
        }
        for name, estimate in found.items()
    ]
    return as_json({"columns": documents})


# -- check ---------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> str:
    """Look at the true answers for their steward; returns a private page."""
    given = design_of(options, has_amount=False)
    if options.plan is None and not given.names:
        raise ArgumentValueError("name the --column to check, with its --categories, or a --plan")
    if options.plan is None:
        given.words()  # raises before any file is opened
    designs = _designs(options, given)
    parts = [
        "PRIVATE, for the steward only: what follows shows true answers. Never release, log or "
        "share it."
    ]
    said = {str(record.name): record for record in describe_file(options.file)}
    for name, categories in designs.items():
        if name in said:
            parts.append(
                f"{label(name)}: {label(options.file)} says that this column holds randomized "
                f"reports already (epsilon {round_up(said[name].epsilon)}), not true answers."
            )
        parts.append(_outside(name, check_file(options.file, name, categories)))
        parts.append(_releases(options, name))
    return "\n\n".join(part if "\n" in part else wrap(part) for part in parts) + "\n"


def _designs(options: argparse.Namespace, given: Design) -> dict[str, Any]:
    """The answers that each column may hold: its categories, or all of a plan."""
    if options.plan is None:
        cast = caster(options.file)
        return {name: cast(name, given.words()) for name in given.names}

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
    return f"{name}: answers that fit no category\n{columns(rows, left=2)}"


def _releases(options: argparse.Namespace, column: str) -> str:
    """The earlier releases of a column that the ledger knows."""
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


def describe(options: argparse.Namespace) -> str:
    """Describe how a file was made, and write its statement where that is asked for."""
    page = None if options.statement is None else _format_of(options.statement)
    if page is None and (options.title or options.overwrite or options.contact or options.question):
        raise ArgumentValueError(
            "--title, --contact, --question and --overwrite are for the page; give --statement too"
        )
    records = describe_file(options.file)

    source = open_source(options.file)
    if not records:
        raise FileError(
            f"{options.file} does not say that any column was privatized{silence(source)}; if you "
            "know that one was, rrstats estimate takes its --categories and --prob"
        )
    if options.format == "json":
        shown = as_json(write(records))
    else:
        shown = describe_records(records, beside=document_beside(source))
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

    questions = {}
    for given in options.question:
        name, equals, text = given.partition("=")
        if not (name and equals and text):
            raise ArgumentValueError(f"--question must be NAME=TEXT, got {given!r}")
        questions[name] = text
    page = statement_of(
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
