"""The commands for files: functions of their options that return the output to print."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import warnings
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pandas as pd

from rrstats._checks import check_ending, quote_list
from rrstats._display import PAGE_WRITERS, chance, columns, counted, label, wrap
from rrstats._typing import JsonObject
from rrstats.cli.demo import save_plot, share_note, share_table
from rrstats.data.declared import whole_words
from rrstats.errors import ArgumentValueError, FileError, ImplausibleReportsWarning
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.estimates.result import IMPLAUSIBLE
from rrstats.files.atomic import Publication, is_published, uninterrupted
from rrstats.files.codebooks import codebook
from rrstats.files.estimate_file import (
    check_file,
    describe_file,
    document_beside,
    estimate_file,
    silence,
    statement_of,
)
from rrstats.files.formats import Paths, open_released
from rrstats.files.ledger import Ledger
from rrstats.files.plan import cast_words, read_document, read_plan
from rrstats.files.privatize_file import Progress, Receipt, preview_file, privatize_file
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import TARGETS
from rrstats.mechanisms.documents import POLICIES
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.number_design import number
from rrstats.mechanisms.records import ColumnRecord, write
from rrstats.mechanisms.row_privacy import VOID, epsilon_text
from rrstats.privatization.frame import IN_ORDER, column_mechanisms
from rrstats.statement import describe as describe_records


def privatize(options: argparse.Namespace) -> str:
    """Privatize the file and print the summary, which may be published; return nothing more."""
    design = _design(options)
    if options.write_plan:
        return as_json(write(design))
    if options.dry_run:
        preview = preview_file(
            options.source,
            options.target,
            design,
            again=options.again,
            overwrite=options.overwrite,
            shuffle_rows=options.shuffle_rows,
            ledger=options.ledger,
        )
        return _report(preview, options.format)
    with uninterrupted(when_done=True):
        with _progress_bar(options.quiet) as step:
            try:
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
            except BaseException as error:
                options.published = _published(options) if is_published(error) else ""
                raise
            options.published = _published(options)
        if not options.quiet:
            _tell_the_curator(receipt)
        print(_report(receipt.to_dict(), options.format), end="", flush=True)
    return ""


def _published(options: argparse.Namespace) -> str:
    return f"{label(options.target)} was published and is in the ledger"


def _has_design(options: argparse.Namespace, *others: str) -> bool:
    """True if options give a design; raises if a plan is given too."""
    design = ["categories", "number", "codebook", "no_answer", "prob", "epsilon", "with_missing"]
    present = [name for name in [*design, *others] if getattr(options, name) is not None]
    if options.plan is not None and present:
        raise ArgumentValueError(
            "--plan holds the design of each column, so "
            f"--{present[0].replace('_', '-')} cannot be given with it; write it into the plan"
        )
    return bool(present)


def _design(options: argparse.Namespace) -> list[ColumnRecord]:
    """A record of each column to privatize: from the plan, or from the options."""
    _has_design(options, "column", *POLICIES)
    if options.plan is not None:
        return read_plan(options.plan)
    policies = {name: getattr(options, name) for name in POLICIES if getattr(options, name)}
    return [
        ColumnRecord.of(name, mechanism, **policies)
        for name, mechanism in _mechanisms(options, options.source).items()
    ]


def _categories(options: argparse.Namespace, path: Paths) -> dict[str, Any]:
    """The categories of each --column: words cast to its type, those of a codebook, or a number."""
    if options.codebook is not None:
        return _of_codebook(options, path)
    if not options.column or (options.categories is None) == (options.number is None):
        raise ArgumentValueError(
            "name at least one --column and its --categories, which are never taken from the data "
            "(for example --column answer --categories never,once,often), or its bounds (--column "
            "age --number 18,90), or give a --codebook or a --plan; see rrstats "
            f"{options.command} --help"
        )
    if options.no_answer is not None:
        raise ArgumentValueError("--no-answer needs --codebook, whose labels it is about; give it")
    if options.number is not None:
        if options.with_missing:
            raise ArgumentValueError(
                "--with-missing needs --categories, to which it adds one; of numbers give "
                "--missing uniform or --missing keep (which publishes who did not answer)"
            )
        return dict.fromkeys(options.column, number(*options.number))
    words = [*options.categories, *([None] if options.with_missing else [])]
    source = open_released(path)
    file = source.files[0]
    categories = {}
    for name in map(source.check_column, options.column):
        if file.document_is_beside:  # columns of a text file have no type
            categories[name] = whole_words(words)
        else:
            categories[name] = cast_words(words, file.type_of(name), name)
    return categories


def _of_codebook(options: argparse.Namespace, path: Paths) -> JsonObject:
    """The declarations of a codebook for each --column, by default for all that it declares."""
    repeated = [name for name in ("categories", "number", "with_missing") if getattr(options, name)]
    if repeated:
        raise ArgumentValueError(
            f"--codebook has the categories of each column, so --{repeated[0].replace('_', '-')} "
            "cannot be given with it"
        )
    book = codebook(options.codebook, no_answer=options.no_answer or "raise")
    names = options.column or list(book)
    absent = [name for name in names if name not in book]
    if absent:
        raise ArgumentValueError(
            f"--column must be a column that {label(options.codebook)} declares, "
            f"{quote_list(list(book))}, found {quote_list(absent)}"
        )
    source = open_released(path)
    return {source.check_column(name): book[name] for name in names}


def _mechanisms(options: argparse.Namespace, path: Paths) -> dict[str, Mechanism]:
    """The mechanism of each --column."""
    if options.prob is None and options.epsilon is None:
        raise ArgumentValueError(
            "give --prob, the probability that a report is the true answer, or --epsilon, the "
            "privacy loss of a report"
        )
    categories = _categories(options, path)
    mechanisms = column_mechanisms(categories, prob=options.prob, epsilon=options.epsilon)
    return {str(name): mechanism for name, mechanism in mechanisms.items()}


def _report(report: Mapping[str, Any], format: str) -> str:
    """The summary of a release, which may be published."""
    if format == "json":
        return as_json(report)
    rows = [["column", "categories", "prob", "epsilon", "unknown", "missing"]]
    again = []
    plan_notes: dict[str, None] = {}
    for column in report["columns"]:
        kept = [key for key in ("name", "mechanism", "plan") if key in column]
        record = ColumnRecord.from_dict({key: column[key] for key in kept})
        if record.plan is not None:
            part_column = label(record.plan.asked)
            note = f"Each row reports one part of the plan; column {part_column} says which."
            plan_notes[note] = None
        name = label(record.name)
        mechanism = record.unlabelled()
        prob = getattr(mechanism, "prob", None)
        cells = [name, f"{mechanism.k:,}", "" if prob is None else chance(prob)]
        void = f", {VOID}" if column.get("simulated") else ""
        epsilon = f"{round_up(float(column['epsilon']))}{void}"
        rows.append([*cells, epsilon, column["unknown"], column["missing"]])
        if column.get("releases", 1) > 1:
            together = round_up(float(column["epsilon_of_all_releases"]))
            again.append(
                f"{name}: released {column['releases']} times from this source, with epsilon "
                f"{together} in total."
            )
    verb = "would be privatized" if "dry_run" in report else "privatized"
    count = "" if report["rows"] is None else f", {counted(report['rows'], 'row')}"
    void = f", {VOID}" if "void" in report else ""
    epsilon = f"Epsilon of a row: {round_up(float(report['epsilon_per_row']))}{void}."
    heading = f"{label(report['target'])}: {verb}{count}"
    lines = [heading, columns(rows), *plan_notes, epsilon, *again]
    lines += [f"{note[:1].upper()}{note[1:]}." for note in report.get("notes", ())]
    return "\n".join(lines) + "\n"


def _tell_the_curator(receipt: Receipt) -> None:
    """Print counts of unknown and missing answers on stderr."""
    planned = [str(record.name) for record in receipt.records if record.plan is not None]
    for name, counts in receipt.private.items():
        unknown = counts["unknown"]
        missing = counts["missing"]
        among = "the answers asked for" if name in planned else counted(receipt.rows, "answer")
        notes = [f"{unknown:,} unknown and {missing:,} missing of {among}"]
        if unknown and unknown + missing == receipt.rows:
            notes.append(
                "no answer fits the categories, so the reports are pure noise; check that the "
                "categories are spelled as in the file (rrstats check shows the answers)"
            )
        for text in notes:
            line = f"rrstats: private, for the data curator only: column {label(name)}: {text}"
            with suppress(OSError):  # the release is published, and its summary comes next
                print(line, file=sys.stderr)


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """A tqdm bar on a terminal, called with the rows done and the total; otherwise None."""
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        quiet = True
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    with tqdm(unit=" rows", unit_scale=True, leave=False, file=sys.stderr) as bar:

        def step(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield step


# -- estimate -----------------------------------------------------------------------------


def estimate(options: argparse.Namespace) -> str:
    """Estimate the columns of a file; return tables, CSV or JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleReportsWarning)  # an error below
        estimates = _estimates(options)
    options.unfit = [
        f"column {label(name)}: {IMPLAUSIBLE}"
        for name, estimate in estimates.items()
        if estimate._cautions
    ]
    simulated = _simulated(options)
    if options.by is not None:
        return _by_group(estimates, options, simulated)
    if options.plot is not None:
        save_plot(estimates, options.plot, options.level, method=options.method)
    if options.format == "text":
        return _as_text(estimates, options, simulated)
    tables = {}
    for name, estimate in estimates.items():
        frame = estimate.to_frame(options.level, method=options.method).astype(object)
        frame["category"] = pd.Series(estimate.categories, dtype=object)
        frame.insert(0, "column", name)
        tables[name] = frame.assign(
            level=options.level,
            target=estimate.target,
            method=options.method or estimate.moments.default_method,
            epsilon=_loss(estimate, is_void=name in simulated),
            missing=estimate.n_missing,
            implausible=bool(estimate.moments.implausible.any()),
        )
    if options.format == "csv":
        return pd.concat(tables.values()).to_csv(index=False, lineterminator="\n")
    facts = ["column", "level", "target", "method", "epsilon", "missing", "implausible", "n"]
    documents = []
    for name, frame in tables.items():
        proportions = frame.drop(columns=facts).to_dict(orient="records")
        document = {**frame[facts].to_dict(orient="records")[0], "shares": proportions}
        if estimates[name].mechanism.is_number and options.target == TARGETS[0]:
            mean = estimates[name].mean()
            low, high = mean.interval(options.level)
            numbers = {"value": mean.value, "std_error": mean.std_error, "low": low, "high": high}
            document["mean"] = numbers
        documents.append(document)
    return as_json({"columns": documents})


def _by_group(
    estimates: Mapping[str, Any], options: argparse.Namespace, simulated: Collection[Hashable]
) -> str:
    """The estimates of groups as tables, CSV or JSON."""
    if options.plot is not None:
        save_plot(estimates, options.plot, options.level)
    frames = []
    parts: list[str] = []
    for name, groups in estimates.items():
        frame = groups.to_frame(options.level, method=options.method)
        frame.insert(0, "column", name)
        loss = _loss(next(iter(groups.values())), is_void=name in simulated) if groups else math.nan
        frames.append(frame.assign(level=options.level, epsilon=loss))
        void = f", {VOID}" if name in simulated else ""
        heading = (
            f"{label(name)}: {counted(groups.n, 'report')} in {counted(len(groups), 'group')} "
            f"by {label(groups.by)}; epsilon {round_up(loss)} per report{void}"
        )
        parts += map(wrap, groups._cautions)
        parts.append(f"{wrap(heading)}\n{share_table(groups, options.level, options.method)}")
        parts += map(wrap, groups.notes)
    if options.format == "text":
        return "\n\n".join(parts) + "\n"
    table = pd.concat(frames, ignore_index=True)
    if options.format == "csv":
        return str(table.to_csv(index=False, lineterminator="\n"))
    return as_json({"groups": table.astype(object).to_dict(orient="records")})


def _simulated(options: argparse.Namespace) -> set[Hashable]:
    """The columns whose noise was simulated, as the file or the document in --plan says."""
    records = describe_file(options.file)
    if options.plan is not None:
        records += read_document(options.plan)
    return {record.name for record in records if record.simulated}


def _loss(estimate: Estimate, *, is_void: bool) -> float:
    """Epsilon of a report or, in a plan, of a row; infinite where the noise was simulated."""
    if is_void:
        return math.inf
    plan = estimate.tally.plan
    return float(estimate.mechanism.epsilon if plan is None else plan.epsilon)


def _estimates(options: argparse.Namespace) -> dict[str, Estimate]:
    """The estimate of each column."""
    if not _has_design(options):
        columns = options.column or None
        return estimate_file(
            options.file, columns, options.plan, by=options.by, target=options.target
        )
    estimates: dict[str, Estimate] = {}
    for name, mechanism in _mechanisms(options, options.file).items():
        estimates |= estimate_file(
            options.file, name, mechanism, by=options.by, target=options.target
        )
    return estimates


def _as_text(
    estimates: Mapping[str, Estimate],
    options: argparse.Namespace,
    simulated: Collection[Hashable],
) -> str:
    """The tables of estimates; ``simulated`` are the columns whose noise was simulated."""
    parts: list[str] = []
    for name, estimate in estimates.items():
        unit = "report"
        missing = f" and {estimate.n_missing:,} times {label(None)}"
        if estimate.tally.plan is not None:
            unit = "row"
            missing = f"; {estimate.n_missing:,} rows were not asked"
        if not estimate.n_missing:
            missing = ""
        is_void = name in simulated
        epsilon = f"epsilon {round_up(_loss(estimate, is_void=is_void))} per {unit}"
        if is_void:
            epsilon = f"{epsilon}, {VOID}"
        about = {"population": "the population behind them", "sample": "these rows alone"}
        heading = (
            f"{label(name)}: {counted(estimate.n, 'report')}{missing}; estimated proportions of "
            f"{about[estimate.target]}; {epsilon}"
        )
        table = share_table(estimate, options.level, options.method)
        # The sentence has another name for a missing answer than the table.
        read = next(category for category in reversed(estimate.categories) if category is not None)
        is_default = options.method in (None, estimate.moments.default_method)
        by = "" if is_default else f", by {estimate.moments.default_method}"
        shown = ... if estimate.mechanism.is_number else read
        sentence = estimate.interpret(shown, options.level)
        parts += map(wrap, estimate._cautions)
        parts += [f"{wrap(heading)}\n{table}", wrap(f"In words{by}: {label(sentence)}.")]
    return "\n\n".join([*parts, wrap(share_note(list(estimates.values())))]) + "\n"


def as_json(document: Any) -> str:
    """A document as strict JSON: infinity is "inf", NaN is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        return value

    return json.dumps(plain(document), indent=2, default=str) + "\n"


# -- check ---------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> str:
    """Check the true answers for the data curator; return a private page."""
    _has_design(options)
    if options.plan is None:
        designs: dict[str, Any] = _categories(options, options.file)
    else:
        plan = read_document(options.plan)
        designs = dict.fromkeys(options.column or [str(record.name) for record in plan], plan)
    parts = [
        "PRIVATE, for the data curator only: this output shows true answers. Never release, log "
        "or share it."
    ]
    records = {str(record.name): record for record in describe_file(options.file)}
    for name, categories in designs.items():
        if name in records:
            parts.append(
                f"{label(name)}: according to {label(options.file)}, this column already holds "
                f"randomized reports (epsilon {epsilon_text(records[name])}), not true answers."
            )
        rows = [["answer", "", "count", ""]]
        telling = []
        table = check_file(options.file, name, categories)
        for value, status, count, meant in table.itertuples(index=False):
            if status in ("determines", "nearly determines"):
                telling.append(
                    f"{label(name)}: column {label(value)} {status} it ({count:,} rows), so noise "
                    f"in {label(name)} alone cannot hide the answers; leave {label(value)} out, or "
                    "coarsen it."
                )
            elif status == IN_ORDER:
                telling.append(
                    f"{label(name)}: the categories are listed in the order of their frequency; a "
                    "list taken from the data publishes this order, so list them as the "
                    "questionnaire does."
                )
            else:
                shown = "" if status == "not listed" else label(value)
                hint = "" if meant is None else f"did you mean {label(meant)}?"
                rows.append([shown, status, f"{count:,}", hint])
        outside = "all answers fit the categories."
        if len(rows) > 1:
            outside = f"answers that fit no category\n{columns(rows, left=2)}"
        parts += [f"{label(name)}: {outside}", *telling, _releases(options, name)]
    return "\n\n".join(part if "\n" in part else wrap(part) for part in parts) + "\n"


def _releases(options: argparse.Namespace, column: str) -> str:
    """The earlier releases of a column in the ledger."""
    ledger = Ledger.of(options.file, options.ledger)
    name = label(column)
    earlier = [release for release in ledger.known if column in release.epsilon]
    if not earlier:
        return f"{name}: the ledger records no earlier release of this column."
    when = ", ".join(f"{label(r.target)} on {r.when:%Y-%m-%d %H:%M %Z}" for r in earlier)
    often = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    listed = [record for release in earlier for record in release.records]
    is_void = any(record.simulated for record in listed if record.name == column)
    void = f", {VOID}" if is_void else ""
    return (
        f"{name}: released {often} before, with epsilon {round_up(ledger.epsilon(column))} in "
        f"total{void}: {when}. A further release needs --again and adds its epsilon to the total."
    )


# -- describe ------------------------------------------------------------------------------


def describe(options: argparse.Namespace) -> str:
    """Describe how a file was made, and write its statement on request."""
    page = options.statement
    if page is not None:
        check_ending(page, "--statement", PAGE_WRITERS)
        if len(options.file) > 1:
            raise ArgumentValueError(
                f"--statement is for one file or folder, found {len(options.file)}; write one for "
                "each"
            )
    elif options.title or options.overwrite or options.contact or options.wording:
        raise ArgumentValueError(
            "--title, --contact, --wording and --overwrite need --statement; give it too"
        )
    records = describe_file(options.file)
    source = open_released(options.file)
    if not records:
        raise FileError(
            f"{source.path} does not say that any column was privatized{silence(source)}; if you "
            "know that one was, give rrstats estimate its --categories and --prob"
        )
    if page is not None:
        questions = dict(question.partition("=")[::2] for question in options.wording)
        if not all(questions.values()):
            raise ArgumentValueError(f"--wording must be NAME=TEXT, got {options.wording}")
        text = statement_of(
            options.file[0],
            title=options.title,
            wording=questions,
            contact=options.contact,
        )
        content = PAGE_WRITERS[page.suffix.lower()](text.blocks)
        with Publication(page, overwrite=options.overwrite) as publication:
            with publication.open() as file:
                file.write(content.encode())
            publication.publish()
    if options.format == "json":
        return as_json(write(records))
    beside = document_beside(source) if len(source.files) == 1 else None
    shown = describe_records(records, beside=beside)
    if page is None:
        return shown
    unnamed = "" if options.contact else "; it names no contact, which --contact adds"
    return f"{shown}\nStatement written: {page}{unnamed}\n"
