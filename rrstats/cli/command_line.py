"""The parser of all commands, the exit codes, and the output streams.

The docstring of the function that adds a command's options is that command's help.
``--column`` may be repeated, and one design holds for all of the columns.  Different designs are
written into a plan; ``--write-plan`` prints one to start from.

Exit codes: 0 done; 1 a file that cannot be read or written, a missing package; 2 wrong arguments;
3 a release that the ledger refuses; 4 data that do not fit the declaration (answers or reports that
are no categories, or reports that no true proportions explain; their estimates are printed); 130
interrupted (143 by SIGTERM, 129 by SIGHUP); 141 the program that reads the output closed the pipe.
If the release was published before an error, a line on stderr tells so.  Results go to stdout, and
only when the command is done.  Each warning or error is one line on stderr.  There are no
tracebacks, because a traceback could quote an answer.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rrstats._checks import needing
from rrstats._names import wrong_keyword
from rrstats._version import __version__
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CuratorWarning,
    DamagedDocumentError,
    NotIdentifiableError,
    RRStatsError,
    RRStatsWarning,
    SecondReleaseError,
    UnknownAnswersError,
)
from rrstats.mechanisms.channel import TARGETS
from rrstats.mechanisms.documents import POLICIES

DONE = 0
FAILED = 1
BAD_ARGUMENTS = 2
REFUSED = 3
UNFIT_DATA = 4
INTERRUPTED = 130
READER_LEFT = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after ``rrstats``; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed, 2 wrong arguments, 3 refused by the ledger, 4 data that do
        not fit the declaration, 130 interrupted, 141 closed pipe.

    Examples
    --------
    >>> main(["--no-such-option"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    options = argparse.Namespace(published="", unfit=())
    try:
        with _quiet_exits(), _plain_warnings(options):
            try:
                commands = _all_commands(sys.argv[1:] if arguments is None else arguments)
                commands.parse_args(arguments, options)
                print(_page(options) if options.command else commands.format_help(), end="")
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # a closed pipe shows here, not at the end of the process
    except KeyboardInterrupt as interrupt:
        if options.published:
            _say("published before the interrupt")
        return int(next(iter(interrupt.args), INTERRUPTED))
    except BrokenPipeError:
        if options.published:
            _say(f"{options.published}; the program that reads the output closed the pipe")
        _discard_output()
        return READER_LEFT
    except RRStatsError as error:
        # The notes say what remains in the ledger, or that the release was published.
        _say("; ".join([as_option(str(error)), *getattr(error, "__notes__", ())]))
        return _code_of(error)
    except OSError as error:
        text = f"cannot write {error.filename or 'the output'}: {error.strerror}"
        _say(f"{options.published}, but {text}" if options.published else text)
        _discard_output()
        return FAILED
    except Exception as error:
        text = _unforeseen(error)
        _say(f"{options.published}, but then: {text}" if options.published else text)
        return FAILED
    for line in options.unfit:
        _say(line)
    return UNFIT_DATA if options.unfit else DONE


def _code_of(error: RRStatsError) -> int:
    """The exit code of an error; damaged documents are no mistakes in the arguments."""
    if isinstance(error, SecondReleaseError):
        return REFUSED
    if isinstance(error, UnknownAnswersError):
        return UNFIT_DATA
    bad = isinstance(error, ArgumentValueError | ArgumentTypeError)
    return BAD_ARGUMENTS if bad and not isinstance(error, DamagedDocumentError) else FAILED


def _discard_output() -> None:
    """The interpreter flushes stdout once more at exit; give it a place to flush to."""
    with suppress(OSError, ValueError, AttributeError):  # stdout may be no file, or closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _page(options: argparse.Namespace) -> str:
    """The output of a command; raises MissingPackageError if pyarrow is not installed."""
    if options.command == "demo":
        from rrstats.cli import demo  # as below: --help and --version load no estimators

        return demo.page(options)
    if options.command == "studies":
        from rrstats.cli import studies

        return studies.page(options)
    with needing("the commands of files need pyarrow; install pyarrow (pip install pyarrow)"):
        from rrstats.cli import file_commands

    return str(getattr(file_commands, options.command)(options))


def _say(text: str) -> None:
    """Print a line on stderr; where that fails, the exit code is all that is left."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(f"rrstats: {' '.join(text.splitlines())}", file=sys.stderr, flush=True)


def _unforeseen(error: Exception) -> str:
    """The message for an unexpected error: its place without its text, which may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}rrstats{os.sep}" in frame.filename]
    frame = (ours or list(frames))[-1]
    place = f"{frame.filename.rpartition(os.sep)[2]}, line {frame.lineno}"
    return (
        f"unexpected {type(error).__name__} at {place}; please report it; its text is not shown "
        "because it may quote an answer"
    )


# -- signals and warnings ------------------------------------------------------------------


def _end(number: int, _frame: FrameType | None) -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C; the exit code is 128 plus the signal's number."""
    raise KeyboardInterrupt(128 + number)


@contextmanager
def _quiet_exits() -> Iterator[None]:
    """Turn signals into exceptions, so that no partial file remains; escape odd characters."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    # A signal that is ignored, as under nohup, or that has another handler is left alone.
    ours = [n for n in numbers if n is not None and signal.getsignal(n) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _plain_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Show each warning of rrstats once, as a line on stderr, after the work.

    Those for the data curator are private, so --quiet leaves them out.  A design without
    information is an error of an estimate, which needs no warning of it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RRStatsWarning)
        try:
            yield
        except NotIdentifiableError:
            caught.clear()
            raise
        finally:
            ours = [w for w in caught if issubclass(w.category, RRStatsWarning)]
            if getattr(options, "quiet", False):
                ours = [w for w in ours if not issubclass(w.category, CuratorWarning)]
            for text in dict.fromkeys(str(w.message) for w in ours):
                _say(f"warning: {as_option(text)}")


# -- the parser ---------------------------------------------------------------------------

EXIT_CODES = """
exit codes:
  0    done
  1    failed: a file that cannot be read or written, or a missing package
  2    wrong arguments, or documents that contradict each other
  3    refused: the ledger has an earlier release
  4    the data do not fit the declaration: see the line on stderr
  130  Ctrl-C; 143 SIGTERM, 129 SIGHUP, 141 closed pipe
"""

_COMMANDS = """\
commands:
  privatize   write a copy of a file with noisy reports in place of true answers
  estimate    estimate the true proportions from a privatized file
  check       before a release: list answers that fit no category (private)
  describe    show how a file was privatized; write the statement to publish
  demo        privatize three sensitive columns of real data and estimate them
  studies     list published studies, or compute one again

Options and examples of a command: rrstats privatize --help
In Python: import rrstats as rr; help(rr); help(rr.estimate)
"""


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument in one line."""

    def __init__(self, **options: Any) -> None:
        layout: Any = partial(argparse.RawDescriptionHelpFormatter, max_help_position=24, width=78)
        super().__init__(formatter_class=layout, allow_abbrev=False, **options)
        # So that --categories takes -1,0,1.
        self._negative_number_matcher = re.compile(r"-\d")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; the command itself reports an argument that it does not know."""
        options, left = super().parse_known_args(args, namespace)
        wrong = next((word for word in left if word.startswith("--")), "")
        if wrong:
            listed = [name.lstrip("-") for name in self._option_string_actions]
            keywords = [name.replace("-", "_") for name in listed if len(name) > 1]
            name = wrong.lstrip("-").partition("=")[0].replace("-", "_")
            self.error(str(wrong_keyword(self.prog.split()[-1], name, keywords)))
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return options, left

    def error(self, message: str) -> NoReturn:
        """Print the error and the command that shows help, and exit with code 2."""
        line = " ".join(message.splitlines())
        self.exit(2, f"{self.prog}: {line}; see {self.prog} --help\n")


class _Once(argparse.Action):
    """An option that may be given once: a second one would look like another column's design."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        options: argparse.Namespace,
        value: Any,
        option: str | None = None,
    ) -> None:
        if getattr(options, self.dest) is not None:
            parser.error(
                f"{option} must be given once: one design holds for all columns; write others "
                "into a --plan"
            )
        setattr(options, self.dest, value)


def _all_commands(arguments: Sequence[str]) -> _Parser:
    """The parser of all commands; only commands named in the arguments get their options."""
    top = _Parser(
        prog="rrstats",
        usage="rrstats [--help] [--version] command ...",
        description="Randomized response: release noisy reports instead of true answers, and\n"
        "estimate the true proportions with confidence intervals.",
        epilog=_COMMANDS + EXIT_CODES,
    )
    top.add_argument(
        "--version",
        action="version",
        version=f"rrstats {__version__}",
        help="show the version and exit",
    )
    # argparse would print the commands twice; the epilog lists them once.
    commands = top.add_subparsers(dest="command", metavar="command", help=argparse.SUPPRESS)
    for add in (_privatize, _estimate, _check, _describe, _demo, _studies):
        name = add.__name__.lstrip("_")
        text, _, examples = (inspect.getdoc(add) or "").partition("\nExamples:\n")
        command = commands.add_parser(
            name, prog=f"rrstats {name}", description=text, epilog=f"examples:\n{examples}"
        )
        if name in arguments:
            add(command)
    return top


# -- types of arguments ----------------------------------------------------------------------


def _path(text: str) -> Path:
    """A path, as an argparse type; an empty string, as of an unset variable, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("must be the name of a file, got ''")
    return Path(text)


def _words(text: str) -> tuple[str, ...]:
    """Category words from one argument, separated by commas and quoted as in CSV."""
    try:
        (words,) = csv.reader([text], strict=True, skipinitialspace=True)
    except csv.Error:
        words = []
    if not words or "" in words:
        raise argparse.ArgumentTypeError(
            "must be words separated by commas without spaces, such as yes,no, none of them empty, "
            "and quoted as in CSV if they hold a comma (for missing answers add --with-missing), "
            f"got {text!r}"
        )
    return tuple(words)


def _bounds(text: str) -> tuple[float, float]:
    """Two numbers from one argument, whole ones as integers."""
    try:
        low, high = (
            int(part) if part.lstrip("-").isdigit() else float(part) for part in text.split(",")
        )
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be two numbers separated by a comma, such as 18,90, got {text!r}"
        ) from None
    return low, high


_OPTIONS = "again|no_answer|unknown|missing|overwrite|ledger|level|prob|epsilon|method|target|title"


def as_option(text: str) -> str:
    """Rewrite a message about Python arguments as one about options.

    >>> as_option("level must be in (0, 1); unknown='raise' or again=True (--again) help")
    '--level must be in (0, 1); --unknown raise or --again help'
    """
    text = re.sub(r"\brr\.\w+\.\w+\(.*\) \((rrstats [a-z]+)\)", r"\1", text)
    text = re.sub(r"\S+ \((--[a-z]+|rrstats [a-z]+)\)", r"\1", text)
    text = re.sub(rf"\b({_OPTIONS})=True", r"--\1", text)
    text = re.sub(rf"\b({_OPTIONS})='(\w+)'", r"--\1 \2", text)
    text = re.sub(rf"^(column '.*?': )?({_OPTIONS})(?= must)", r"\1--\2", text)
    return text.replace("--no_answer", "--no-answer")


# -- options -----------------------------------------------------------------------------------


def _add(command: argparse._ActionsContainer, options: dict[str, str], **kind: Any) -> None:
    """Add options of one kind, from a mapping of "name METAVAR" to help text."""
    for option, text in options.items():
        name, _, metavar = option.partition(" ")
        if metavar:
            command.add_argument(name, help=text, metavar=metavar, **kind)
        else:
            command.add_argument(name, help=text, **kind)


def _add_design(command: argparse.ArgumentParser) -> None:
    """The options that name columns and their design."""
    column = "a column of the file; may be repeated, with one design for all"
    _add(command, {"--column NAME": column}, action="append")
    words = 'all possible answers, separated by commas; "a,b" in quotes is one answer'
    _add(command, {"--categories A,B,C": words}, action=_Once, type=_words)
    bounds = "or, for numbers, the bounds to which they are clipped; with --epsilon"
    _add(command, {"--number LOW,HIGH": bounds}, action=_Once, type=_bounds)
    amounts = {
        "--prob P": "probability that a report is the true answer: at least 1/k for k categories",
        "--epsilon E": "or the privacy loss of a report: 0.1 is strong privacy, 5 is weak",
    }
    _add(command.add_mutually_exclusive_group(), amounts, action=_Once, type=float)
    missing = "treat a missing answer as a category of its own, protected like the others"
    _add(command, {"--with-missing": missing}, action="store_true", default=None)
    book = (
        "or the answers of each column from a codebook: value labels of a .dta or .sav file, an "
        "XLSForm (.xlsx), a Table Schema or an object from column to answers (.json); --column "
        "selects columns, by default all that it declares"
    )
    _add(command, {"--codebook FILE": book}, type=_path)
    silent = (
        "categories of a codebook whose label says that there is no answer: raise (default) "
        "refuses them, category keeps them, missing leaves them out"
    )
    _add(command, {"--no-answer": silent}, choices=("raise", "category", "missing"))
    plan = (
        "or a document with the design of each column: a plan (.toml or .json), the output "
        "of describe --format json, or the .rrstats.json of a CSV file"
    )
    _add(command, {"--plan FILE": plan}, type=_path)


def _add_format(command: argparse.ArgumentParser, *formats: str) -> None:
    text = "text (default) is for people, the others are for programs"
    _add(command, {"--format": text}, choices=formats, default="text")


_PLOT = {"--plot FILE": "also draw the intervals, .png, .svg or .pdf; needs matplotlib"}

_LEDGER = {"--ledger FILE": "the private record of releases, by default beside the source"}


def _privatize(command: argparse.ArgumentParser) -> None:
    r"""Write OUT, a copy of IN in which some columns hold randomized reports instead
    of true answers. IN may be a Parquet file, a folder of them, Arrow or Feather,
    or CSV (also .csv.gz). OUT has the same format and appears only when complete.
    The summary on stdout may be published. The counts on stderr are private.

    Examples:
      rrstats privatize in.parquet out.parquet --column answer \
        --categories never,once,often --prob 0.75
      rrstats privatize in.csv out.csv --column smoker --column drinker \
        --categories yes,no --with-missing --epsilon 1
      rrstats privatize in.parquet out.parquet --codebook survey.dta \
        --column visits --epsilon 1
      rrstats privatize in.csv ages.csv --column age --number 18,90 --epsilon 1
      rrstats privatize in.parquet out.parquet --plan plan.toml

    A plan lists columns and mechanisms, or it is a FramePlan: each row reports one
    part, with one epsilon in all. --write-plan prints a plan of the options,
    and rrstats describe OUT --format json the plan of a release, in JSON. In TOML:
      v = 1
      [[columns]]
      name = "answer"
      mechanism = { type = "KRR", categories = ["never", "often"], epsilon = 1.5 }
      [[columns]]
      name = "smoker"
      [columns.mechanism]
      type = "SurveyDesign"
      design = "warner"
      categories = ["yes", "no"]
      yes = "yes"
      parameters = { prob_statement = "2/3" }
    Designs and their parameters have the names that rrstats.surveys gives them.

    With one epsilon for a whole row, each row reports one part, a column or a pair:
      type = "FramePlan"
      epsilon = 2.0
      parts = [["answer"], ["smoker", "drinker"]]
      unknown = "uniform"
      [[columns]]
      name = "answer"
      categories = ["never", "often"]
    and so on for each column.

    Each run draws fresh noise, so a second release of the same answers tells more:
    it is refused without --again. A private ledger beside IN records all releases.

    OUT is written once. Daily files are released one by one:
      rrstats privatize days/23.parquet out/23.parquet --plan plan.toml
      rrstats estimate out
    """
    files = {"source IN": "the file with true answers", "target OUT": "the file to write"}
    _add(command, files, type=_path)
    _add_design(command)
    _add(command, _LEDGER, type=_path)
    unknown = (
        "answers that fit no category: raise (default) refuses the file, uniform replaces them "
        "by random categories"
    )
    _add(command, {"--unknown": unknown}, choices=POLICIES["unknown"])
    missing = (
        "missing answers: unknown (default) treats them like those that fit no category, uniform "
        "replaces them by random categories, keep leaves them missing (which shows who did not "
        "answer), raise refuses the file"
    )
    _add(command, {"--missing": missing}, choices=POLICIES["missing"])
    flags = {
        "--shuffle-rows": "put the rows into a random order",
        "--again": "release a column again; its epsilons add up",
        "--overwrite": "replace OUT if it exists",
        "--quiet": "no progress, and nothing private on stderr",
        "--dry-run": "show what would be released; write nothing",
        "--write-plan": "print the plan of these options; write nothing",
    }
    _add(command, flags, action="store_true")
    _add_format(command, "text", "json")


def _estimate(command: argparse.ArgumentParser) -> None:
    """Estimate the true proportions from randomized reports, with confidence
    intervals. A file written by rrstats privatize records how it was made (CSV in
    a .rrstats.json beside it): it needs no options, and refuses contradicting ones.
    Several files, or a folder of them, count together if their records are equal.

    Examples:
      rrstats estimate out.parquet
      rrstats estimate out.csv --column smoker --target sample --format csv
      rrstats estimate out.parquet --by region --plot regions.png
      rrstats estimate reports.csv --column answer --categories yes,no --prob 0.75

    Exit code 4: no true proportions explain the reports. The estimates are printed
    but not valid; usually the file holds answers that were not privatized.
    """
    from rrstats.estimation.tallies.arrays import (
        GENERAL_METHODS,  # slow to load, for this command alone
    )
    from rrstats.inference import binomial

    files = "files of reports, or folders of them, with equal records"
    _add(command, {"file FILE": files}, type=_path, nargs="+")
    _add_design(command)
    level = {"--level L": "level of the confidence intervals (default 0.95)"}
    _add(command, level, type=float, default=0.95)
    methods = tuple(dict.fromkeys((*binomial.METHODS, *GENERAL_METHODS)))
    method = (
        f"method of the confidence intervals: {', '.join(methods)} (default: the first where "
        "counts are binomial, otherwise a likelihood method or wald)"
    )
    _add(command, {"--method METHOD": method}, choices=methods)
    _add(command, _PLOT, type=_path)
    _add(command, {"--by COLUMN": "an ordinary column whose values are groups"})
    target = "estimate proportions of the population behind these rows, or of these rows alone"
    _add(command, {"--target": target}, choices=TARGETS, default=TARGETS[0])
    _add_format(command, "text", "json", "csv")


def _check(command: argparse.ArgumentParser) -> None:
    """For the data curator, before a release: list answers that fit no category, for
    example typing errors, and the earlier releases of the columns. The options are
    those of privatize; --prob and --epsilon have no effect here. The output shows
    true answers: never release, log or share it.

    Examples:
      rrstats check in.parquet --column answer --categories never,once,often
      rrstats check in.parquet --plan plan.toml

    The exit code is 0 whether or not there are such answers.
    """
    _add(command, {"file FILE": "the file with true answers"}, type=_path)
    _add_design(command)
    _add(command, _LEDGER, type=_path)


def _describe(command: argparse.ArgumentParser) -> None:
    """Show how a file was privatized, as the file itself records it: categories,
    probabilities, epsilon. --statement writes the page to publish with it: what was
    done, what is promised and what is not, what epsilon means, how to estimate.

    Examples:
      rrstats describe out.parquet
      rrstats describe out.parquet --format json      this is also a plan
      rrstats describe out.parquet --statement out.html
    """
    _add(command, {"file FILE": "privatized files, or folders"}, type=_path, nargs="+")
    _add_format(command, "text", "json")
    _add(command, {"--statement PAGE": "also write the statement, .md or .html"}, type=_path)
    texts = {
        "--title TEXT": "the heading of the statement",
        "--contact TEXT": "the person or address to ask about the release",
    }
    _add(command, texts)
    question = {"--wording NAME=TEXT": "the wording of a column's question; may be repeated"}
    _add(command, question, action="append", default=[])
    _add(command, {"--overwrite": "replace PAGE if it exists"}, action="store_true")


def _demo(command: argparse.ArgumentParser) -> None:
    """Privatize two sensitive columns and a number of real data, then estimate the
    true proportions and the mean from the noisy reports alone, and compare them.

    The data are 944 people of the American National Election Study of 1996, in the
    public domain: their party (7 categories), vote (2 categories) and age.

    Examples:
      rrstats demo
      rrstats demo --prob 0.9
      rrstats demo --epsilon 0.1      strong privacy: estimates below 0% can occur

    Each run draws fresh noise from the operating system, so the numbers differ
    from run to run.
    """
    amounts = {
        "--prob P": "probability that a report is the true answer: above 0.5, below 1; closer to "
        "0.5 is more private; the age has the epsilon of the vote",
        "--epsilon E": "or the privacy loss of each report: above 0; 0.1 is strong privacy, 5 is "
        "weak (default 2)",
    }
    _add(command.add_mutually_exclusive_group(), amounts, type=float)
    _add(command, _PLOT, type=_path)


def _studies(command: argparse.ArgumentParser) -> None:
    """List published questions that were asked by randomized response, with the
    published proportion and the one computed here from the counts of the reports;
    or print one question with its design, counts, numbers, source and licence.

    Examples:
      rrstats studies
      rrstats studies wada2011
      rrstats studies wada2011.wca
    """
    text = "a question such as wada2011.wca, or a study such as wada2011; all by default"
    command.add_argument("id", nargs="?", help=text, metavar="ID")
