"""``rrstats privatize``: a file in, the same file out with reports in place of true answers."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rrstats._display import chance, columns, label
from rrstats.cli.arguments import Design, add_command, add_design, design_of, load_files, path
from rrstats.cli.progress import progress_bar
from rrstats.errors import ArgumentValueError, FileError
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import Record, write
from rrstats.privatization.frame import ColumnRelease, recorded_mechanism

__all__ = ["add_privatize", "as_json", "caster"]

WIDTH = 78
UNKNOWN, MISSING = ("raise", "warn", "uniform"), ("uniform", "keep", "raise")


def add_privatize(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "privatize",
        _privatize,
        usage=(
            "rrstats privatize IN OUT --column NAME --categories A,B,C --prob P ...\n"
            "       rrstats privatize IN OUT --plan FILE [options]"
        ),
        description=(
            "Write OUT, which is IN with randomized reports in place of the true answers in\n"
            "some columns. IN may be a Parquet file, a folder of them, Arrow or Feather, or\n"
            "CSV (also .csv.gz); OUT has the same format and appears only when all is done.\n"
            "Prints a report that may be published; what is private goes to stderr, for you\n"
            "alone."
        ),
        epilog=(
            "examples:\n"
            "  rrstats privatize in.parquet out.parquet --column answer \\\n"
            "    --categories never,once,often --prob 0.75\n"
            "  rrstats privatize in.csv out.csv --column smoker --column drinker \\\n"
            "    --categories yes,no --with-missing --epsilon 1\n"
            "  rrstats privatize in.parquet out.parquet --plan plan.toml\n"
            "\n"
            "A plan names columns and mechanisms; --write-plan prints that of the options,\n"
            "rrstats describe OUT --format json that of a release. In TOML:\n"
            "  v = 1\n"
            "  [[columns]]\n"
            '  name = "answer"\n'
            '  mechanism = { type = "KRR", categories = ["never", "often"], epsilon = 1.5 }\n'
            "  [[columns]]\n"
            '  name = "smoker"\n'
            "  [columns.mechanism]\n"
            '  type = "SurveyDesign"\n'
            '  design = "warner"\n'
            '  categories = ["yes", "no"]\n'
            '  yes = "yes"\n'
            '  parameters = { prob_statement = "2/3" }\n'
            "Designs and their parameters are named as in rrstats.surveys.\n"
            "\n"
            "Each run draws fresh noise: a second release of the same answers tells more, so\n"
            "it is refused unless --again. A private file beside IN keeps account of them."
        ),
    )
    command.add_argument("source", metavar="IN", type=path, help="the file with true answers")
    command.add_argument("target", metavar="OUT", type=path, help="the file to write")
    add_design(command, "a plan (.toml or .json): columns, each with a design of its own")
    command.add_argument(
        "--unknown",
        choices=UNKNOWN,
        help="answers that are no category: raise (default) refuses the file before anything is "
        "drawn, uniform answers them at random, warn says so too",
    )
    command.add_argument(
        "--missing",
        choices=MISSING,
        help="missing answers: uniform (default) answers them at random, keep leaves them "
        "missing (which shows who did not answer), raise refuses the file",
    )
    command.add_argument(
        "--shuffle-rows", action="store_true", help="put the rows into a random order"
    )
    command.add_argument(
        "--again", action="store_true", help="release a column again; epsilons add up"
    )
    command.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    command.add_argument(
        "--ledger", metavar="FILE", type=path, help="account of releases kept elsewhere"
    )
    command.add_argument(
        "--quiet", action="store_true", help="no progress and no private counts on stderr"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="say what would be released; write nothing"
    )
    command.add_argument(
        "--write-plan", action="store_true", help="print the plan of these options; write nothing"
    )
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="json is for programs"
    )


def _privatize(options: argparse.Namespace) -> str:
    """Privatize the file and print the report that may be published; returns no other page."""
    given = design_of(options)
    files = load_files()
    design = _records(options, given)
    if options.write_plan:
        return as_json(write(design))
    if options.dry_run:
        return _report(_preview(options, design), options.format)
    from rrstats.files.interrupts import until_told

    with until_told():
        with progress_bar(options.quiet) as step:
            receipt = files.privatize_file(
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
        from rrstats.files.plan import read_plan

        return read_plan(options.plan)
    if not given.names:
        raise ArgumentValueError(
            "name at least one --column with --categories and --prob or --epsilon, or give a "
            "--plan; see rrstats privatize --help"
        )
    given.words()  # raises before any file is opened
    missing = options.missing or ("unknown" if given.with_missing else "uniform")
    policies = {"unknown": options.unknown or "raise", "missing": missing}
    made = given.mechanisms(caster(options.source))
    return [Record.of(name, mechanism, **policies) for name, mechanism in made.items()]


def caster(path: Path) -> Callable[[str, list[str | None]], list[Hashable]]:
    """A function from a column's name and category words to values of the column's type."""
    from rrstats.files.formats import open_source
    from rrstats.files.plan import cast_words, whole_words

    source = open_source(path)
    part = source.parts[0]

    def cast(column: str, words: list[str | None]) -> list[Hashable]:
        name = source.check_column(column)
        if part.document_is_beside:  # text, in which no column has a type
            return whole_words(words)
        return cast_words(words, part.type_of(name), name)

    return cast


def _preview(options: argparse.Namespace, design: list[Record]) -> dict[str, Any]:
    """The report of a release that is not made; answers are looked at only to refuse them."""
    from rrstats.files.formats import check_target, open_source
    from rrstats.files.ledger import Ledger

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
        empty = source.parts[0].no_cells(name, mechanism.domain)
        releases[name] = ColumnRelease(
            empty, mechanism, unknown=asked.unknown, missing=asked.missing
        )
        made = Record.of(name, recorded)
        records.append(replace(asked, name=name, mechanism=made.mechanism))
    Ledger.of(options.source, options.ledger).refuse(records, options.again)
    careful = {name: release for name, release in releases.items() if release.may_refuse}
    for part in source.parts if careful else ():
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


# -- JSON ----------------------------------------------------------------------------------


def as_json(document: Any) -> str:
    """A document as JSON text that every reader accepts.

    Infinity is the string "inf", NaN is null; dates and what else JSON lacks are text.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    readable = encoding.lower().replace("-", "") == "utf8"
    return _laid_out(_plain(document), "", not readable) + "\n"


def _laid_out(value: Any, indent: str, ascii_only: bool) -> str:
    """JSON in lines: what is short stays on one."""
    short = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + "  "
    parts = [
        f"{json.dumps(key, ensure_ascii=ascii_only)}: {_laid_out(item, inner, ascii_only)}"
        for key, item in (value.items() if isinstance(value, dict) else ())
    ] or [_laid_out(item, inner, ascii_only) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else label(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        # A name that is no text in any encoding would stop every reader.
        return value.encode("utf-8", "backslashreplace").decode()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
