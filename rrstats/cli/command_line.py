"""The parser of all commands, the codes of exit, and what is printed where.

The docstring of the function that adds a command's options is that command's help.
``--column`` may be repeated, and one design holds for all of the columns; different designs are
written into a plan, which ``--write-plan`` begins.

Exit codes: 0 done; 1 a file that cannot be read or written, a missing package, a release that is
refused; 2 bad arguments; 130 interrupted (143 by SIGTERM, 129 by SIGHUP; a line on stderr says so
where a release was published before); 141 the reader of the output left.
Results go to stdout, and only when all is done; stderr gets one line for each thing that the
person who runs it must know.  A traceback could quote an answer, so there is none.
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
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rrstats._version import __version__
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DamagedDocumentError,
    RRStatsError,
    RRStatsWarning,
    UnknownAnswersError,
)
from rrstats.mechanisms.channel import TARGETS

DONE, FAILED, BAD_ARGUMENTS, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words behind ``rrstats``; those of the process unless given.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed, 2 bad arguments, 130 interrupted, 141 the reader left.

    Examples
    --------
    >>> main(["--no-such-option"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    options = argparse.Namespace(published=False)
    try:
        with _quiet_exits(), _plain_warnings():
            try:
                commands = _all_commands(sys.argv[1:] if arguments is None else arguments)
                commands.parse_args(arguments, options)
                print(_page(options) if options.command else commands.format_help(), end="")
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # also after --help, so that a closed pipe shows here
    except KeyboardInterrupt as interrupt:
        if options.published:
            _say("published before the interrupt")
        return int(next(iter(interrupt.args), INTERRUPTED))
    except BrokenPipeError:
        # The interpreter flushes once more at exit; give it a place to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except RRStatsError as error:
        _say(as_option(str(error)))
        # Of unknown answers and damaged documents no argument is wrong.
        files = isinstance(error, UnknownAnswersError | DamagedDocumentError)
        bad = isinstance(error, ArgumentValueError | ArgumentTypeError) and not files
        return BAD_ARGUMENTS if bad else FAILED
    except OSError as error:
        _say(f"cannot write {error.filename or 'the output'}: {error.strerror}")
        return FAILED
    except Exception as error:
        _say(_unforeseen(error))
        return FAILED
    return DONE


def _page(options: argparse.Namespace) -> str:
    """The page of a command; raises MissingPackageError where pyarrow is absent."""
    if options.command == "demo":
        from rrstats.cli import demo  # as below: --help and --version load no estimators

        return demo.page(options)
    from rrstats.cli import file_commands  # needs pyarrow, an optional package

    return str(getattr(file_commands, options.command)(options))


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(f"rrstats: {' '.join(text.splitlines())}", file=sys.stderr)


def _unforeseen(error: Exception) -> str:
    """The place of an unforeseen error, without its text, which may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}rrstats{os.sep}" in frame.filename]
    frame = (ours or list(frames))[-1]
    place = f"{frame.filename.rpartition(os.sep)[2]}, line {frame.lineno}"
    return (
        f"unforeseen {type(error).__name__} at {place}, please report it; its text is not shown "
        "because it may quote an answer"
    )


# -- signals and warnings ------------------------------------------------------------------


def _end(number: int, _frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP tidy up as Ctrl-C does; the exit code is as shells count signals."""
    raise KeyboardInterrupt(128 + number)


@contextmanager
def _quiet_exits() -> Iterator[None]:
    """Signals raise, so that nothing half-written remains; odd characters never stop a page."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    # One that is ignored, as under nohup, or has another handler stays so.
    ours = [n for n in numbers if n is not None and signal.getsignal(n) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show each warning of rrstats once, as a line on stderr, after the work."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RRStatsWarning)
        try:
            yield
        finally:
            ours = (str(w.message) for w in caught if issubclass(w.category, RRStatsWarning))
            for text in dict.fromkeys(ours):
                _say(f"warning: {as_option(text)}")


# -- the parser ---------------------------------------------------------------------------

EXIT_CODES = """
exit codes:
  0    done
  1    a file, a package or the account of releases stands in the way
  2    wrong arguments, or documents that contradict each other
  130  Ctrl-C; 143 SIGTERM, 129 SIGHUP, 141 the reader of the output left
"""

_COMMANDS = """\
commands:
  privatize   write a file in which columns hold noisy reports, not true answers
  estimate    estimate the true shares from such a file
  check       before a release: find answers that fit no category (private)
  describe    say how a file was privatized; write the page that goes with it
  demo        privatize two sensitive columns of real data and estimate them

Each has its options and examples: rrstats privatize --help
In Python: import rrstats as rr; help(rr); help(rr.FrameAccessor)
"""


class _Parser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def __init__(self, **options: Any) -> None:
        layout: Any = partial(argparse.RawDescriptionHelpFormatter, max_help_position=24, width=78)
        super().__init__(formatter_class=layout, allow_abbrev=False, **options)
        # So that --categories takes -1,0,1.
        self._negative_number_matcher = re.compile(r"-\d")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an argument that no option takes is answered by its own command."""
        options, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return options, left

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where help is, and exit with code 2."""
        line = " ".join(message.splitlines())
        self.exit(2, f"{self.prog}: {line}; see {self.prog} --help\n")


class _Once(argparse.Action):
    """An option that may be given once: a second one would look like the design of a column."""

    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        if getattr(options, self.dest) is not None:
            parser.error(
                f"{option}: is given twice: one design holds for all columns; write others into a "
                "--plan"
            )
        setattr(options, self.dest, value)


def _all_commands(arguments: Sequence[str]) -> _Parser:
    """The parser of all commands; only those named have their options."""
    top = _Parser(
        prog="rrstats",
        usage="rrstats [--help] [--version] command ...",
        description="Randomized response: ask sensitive questions, release only noisy answers,\n"
        "estimate the true shares with confidence intervals.",
        epilog=_COMMANDS + EXIT_CODES,
    )
    told = f"rrstats {__version__}"
    top.add_argument("--version", action="version", version=told, help="show the version and exit")
    # argparse would print the commands twice; the epilog lists them once.
    commands = top.add_subparsers(dest="command", metavar="command", help=argparse.SUPPRESS)
    for add in (_privatize, _estimate, _check, _describe, _demo):
        name = add.__name__.lstrip("_")
        text, _, examples = (inspect.getdoc(add) or "").partition("\nExamples:\n")
        texts: dict[str, Any] = {"description": text, "epilog": f"examples:\n{examples}"}
        command = commands.add_parser(name, prog=f"rrstats {name}", **texts)
        if name in arguments:
            add(command)
    return top


# -- types of arguments ----------------------------------------------------------------------


def _path(text: str) -> Path:
    """A path, as argparse asks for a type; an empty one, of a variable without value, is none."""
    if not text:
        raise argparse.ArgumentTypeError("must be the name of a file, got ''")
    return Path(text)


def _words(text: str) -> tuple[str, ...]:
    """Category words from one argument, separated by commas and quoted as in CSV."""
    try:
        (found,) = csv.reader([text], strict=True, skipinitialspace=True)
    except csv.Error:
        found = []
    if not found or "" in found:
        raise argparse.ArgumentTypeError(
            "must be words joined by commas without spaces, as yes,no, and quoted as in CSV where "
            "they hold a comma; it has an empty word, or none (for people who did not answer there "
            f"is --with-missing), got {text!r}"
        )
    return tuple(found)


_OPTIONS = "again|unknown|missing|overwrite|ledger|level|prob|epsilon|method|target|title"


def as_option(text: str) -> str:
    """A message about arguments of Python as one about options.

    >>> as_option("level must be in (0, 1); unknown='raise' or again=True (--again) help")
    '--level must be in (0, 1); --unknown raise or --again help'
    """
    text = re.sub(r"\S+ \((--[a-z]+|rrstats [a-z]+)\)", r"\1", text)
    text = re.sub(rf"\b({_OPTIONS})=True", r"--\1", text)
    text = re.sub(rf"\b({_OPTIONS})='(\w+)'", r"--\1 \2", text)
    return re.sub(rf"^({_OPTIONS})(?= must)", r"--\1", text)


# -- options -----------------------------------------------------------------------------------


def _add(command: Any, options: dict[str, str], **kind: Any) -> None:
    """Options of one kind: the name and what it takes, and the help of each."""
    for option, text in options.items():
        name, _, metavar = option.partition(" ")
        told = {"metavar": metavar} if metavar else {}
        command.add_argument(name, help=text, **told, **kind)


def _add_design(command: argparse.ArgumentParser) -> None:
    """The options that name columns and say how they are made."""
    one = {"--column NAME": "a column of the file; may be repeated, with one design for all"}
    _add(command, one, action="append")
    words = 'all possible answers, in the order of the design; "a,b" in quotes is one word'
    _add(command, {"--categories A,B,C": words}, action=_Once, type=_words)
    amounts = {
        "--prob P": "probability that a report is the truth: at least 1/k for k answers",
        "--epsilon E": "or the privacy loss of a report: 0.1 is strong privacy, 5 is weak",
    }
    _add(command.add_mutually_exclusive_group(), amounts, action=_Once, type=float)
    missing = "not answering is an answer too, with the same protection"
    _add(command, {"--with-missing": missing}, action="store_true", default=None)
    plan = (
        "or a document that says how each column is made: a plan (.toml or .json), the output "
        "of describe --format json, or the .rrstats.json of a CSV file"
    )
    _add(command, {"--plan FILE": plan}, type=_path)


def _add_format(command: argparse.ArgumentParser, *formats: str) -> None:
    told = {"--format": "text is for people, others for programs"}
    _add(command, told, choices=formats, default="text")


_LEDGER = {"--ledger FILE": "account of releases kept elsewhere"}


def _privatize(command: argparse.ArgumentParser) -> None:
    r"""Write OUT, which is IN with randomized reports in place of the true answers in
    some columns. IN may be a Parquet file, a folder of them, Arrow or Feather, or
    CSV (also .csv.gz); OUT has the same format and appears only when all is done.
    Prints a report that may be published; what is private goes to stderr, for you
    alone.

    Examples:
      rrstats privatize in.parquet out.parquet --column answer \
        --categories never,once,often --prob 0.75
      rrstats privatize in.csv out.csv --column smoker --column drinker \
        --categories yes,no --with-missing --epsilon 1
      rrstats privatize in.parquet out.parquet --plan plan.toml

    A plan names columns and mechanisms; --write-plan prints that of the options,
    rrstats describe OUT --format json that of a release, both in JSON. In TOML:
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
    Designs and their parameters are named as in rrstats.surveys.

    Each run draws fresh noise: a second release of the same answers tells more, so
    it is refused unless --again. A private file beside IN keeps account of them.
    """
    files = {"source IN": "the file with true answers", "target OUT": "the file to write"}
    _add(command, files, type=_path)
    _add_design(command)
    _add(command, _LEDGER, type=_path)
    unknown = (
        "answers that are no category: raise (default) refuses the file before anything is "
        "drawn, uniform answers them at random, warn says so too"
    )
    _add(command, {"--unknown": unknown}, choices=("raise", "warn", "uniform"))
    missing = (
        "missing answers: uniform (default) answers them at random, keep leaves them "
        "missing (which shows who did not answer), raise refuses the file"
    )
    _add(command, {"--missing": missing}, choices=("uniform", "keep", "raise"))
    flags = {
        "--shuffle-rows": "put the rows into a random order",
        "--again": "release a column again; epsilons add up",
        "--overwrite": "replace OUT if it exists",
        "--quiet": "no progress and no private counts on stderr",
        "--dry-run": "say what would be released; write nothing",
        "--write-plan": "print the plan of these options; write nothing",
    }
    _add(command, flags, action="store_true")
    _add_format(command, "text", "json")


def _estimate(command: argparse.ArgumentParser) -> None:
    """Estimate the true shares behind randomized reports, with intervals. A file
    written by rrstats privatize says how it was made and needs no options, a CSV
    file together with the .rrstats.json beside it; what contradicts it is refused.

    Examples:
      rrstats estimate out.parquet
      rrstats estimate out.csv --column smoker --target rows --format csv
      rrstats estimate reports.csv --column answer --categories yes,no --prob 0.75
    """
    from rrstats.estimation.arrays import GENERAL_METHODS  # slow to load, for this command alone
    from rrstats.inference import binomial

    _add(command, {"file FILE": "a file of reports"}, type=_path)
    _add_design(command)
    level = {"--level L": "confidence level of the intervals (default 0.95)"}
    _add(command, level, type=float, default=0.95)
    methods = tuple(dict.fromkeys((*binomial.METHODS, *GENERAL_METHODS)))
    method = (
        f"method of the intervals: one of {', '.join(methods)} (by default the first where "
        "counts are binomial, else a likelihood or wald)"
    )
    _add(command, {"--method METHOD": method}, choices=methods)
    target = "the shares are about the population behind these people, or about just these rows"
    _add(command, {"--target": target}, choices=TARGETS, default=TARGETS[0])
    _add_format(command, "text", "json", "csv")


def _check(command: argparse.ArgumentParser) -> None:
    """Before a release, for the person who holds the true answers: lists the answers
    that fit no category, typing errors for example, and earlier releases from this
    file. Takes the options of privatize; --prob and --epsilon change nothing here.
    Its output shows true answers: never release, log or share it.

    Examples:
      rrstats check in.parquet --column answer --categories never,once,often
      rrstats check in.parquet --plan plan.toml

    The exit code is 0 whether or not such answers are found.
    """
    _add(command, {"file FILE": "the file with true answers"}, type=_path)
    _add_design(command)
    _add(command, _LEDGER, type=_path)


def _describe(command: argparse.ArgumentParser) -> None:
    """Say how a file was privatized, as the file itself says it: categories,
    probabilities, epsilon. --statement writes the page that accompanies a release:
    what was done, what is promised and what is not, odds in words, how to estimate.

    Examples:
      rrstats describe out.parquet
      rrstats describe out.parquet --format json      this is also a plan
      rrstats describe out.parquet --statement out.html
    """
    _add(command, {"file FILE": "a privatized file"}, type=_path)
    _add_format(command, "text", "json")
    _add(command, {"--statement PAGE": "also write the page, .md or .html"}, type=_path)
    texts = {
        "--title TEXT": "the heading of the page",
        "--contact TEXT": "who answers for the release",
    }
    _add(command, texts)
    question = {"--question NAME=TEXT": "the wording of a column's question; may be repeated"}
    _add(command, question, action="append", default=[])
    _add(command, {"--overwrite": "replace PAGE if it exists"}, action="store_true")


def _demo(command: argparse.ArgumentParser) -> None:
    """Privatize two sensitive columns of real data, then estimate the true shares
    from the noisy reports alone, beside the truth that only a demonstration knows.

    The data: 20,190 person-years of the RAND Health Insurance Experiment (public
    domain): self-rated health (4 answers), and whether a doctor was visited (2).

    Examples:
      rrstats demo
      rrstats demo --prob 0.9
      rrstats demo --epsilon 0.1      strong privacy: shares below 0% can occur

    Each run draws fresh noise from the operating system, so the numbers differ
    from run to run.
    """
    amounts = {
        "--prob P": "probability that a report is the truth: above 0.5, below 1; the closer to 0.5 "
        "the more private (default 0.75)",
        "--epsilon E": "or the privacy loss of each report: above 0; 0.1 is strong privacy, 5 is "
        "weak",
    }
    _add(command.add_mutually_exclusive_group(), amounts, type=float)
