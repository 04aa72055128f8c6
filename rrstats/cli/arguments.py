"""The options of every command, and a parser that answers a bad one in one line.

The docstring of the function that adds a command's options is that command's help.
``--column`` may be repeated, and one design holds for all of the columns; different designs are
written into a plan, which ``--write-plan`` begins.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rrstats._version import __version__
from rrstats.errors import ArgumentValueError
from rrstats.estimation.arrays import GENERAL_METHODS
from rrstats.inference import binomial
from rrstats.mechanisms.channel import TARGETS

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

METHODS = tuple(dict.fromkeys((*binomial.METHODS, *GENERAL_METHODS)))


class Parser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_layout, allow_abbrev=False, **options)
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


def _layout(prog: str) -> argparse.HelpFormatter:
    """Help as all commands lay it out."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=24, width=78)


def parser(demo: Callable[[Parser], None]) -> Parser:
    """The parser of all commands; ``demo`` adds the options of the demonstration."""
    top = Parser(
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
    design, ledger = Parser(add_help=False), Parser(add_help=False)
    _design(design)
    ledger.add_argument(
        "--ledger", metavar="FILE", type=_path, help="account of releases kept elsewhere"
    )
    for name, add, parents in [
        ("privatize", _privatize, [design, ledger]),
        ("estimate", _estimate, [design]),
        ("check", _check, [design, ledger]),
        ("describe", _describe, []),
        ("demo", demo, []),
    ]:
        text, _, examples = (inspect.getdoc(add) or "").partition("\nExamples:\n")
        texts: dict[str, Any] = {"description": text, "epilog": f"examples:\n{examples}"}
        add(commands.add_parser(name, prog=f"rrstats {name}", parents=parents, **texts))
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


def _design(command: Parser) -> None:
    """The options that name columns and say how they are made."""
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="a column of the file; may be repeated, with one design for all",
    )
    command.add_argument(
        "--categories",
        action="append",
        type=_words,
        metavar="A,B,C",
        help='all possible answers, in the order of the design; "a,b" in quotes is one word',
    )
    amount = command.add_mutually_exclusive_group()
    for option, metavar, text in [
        ("--prob", "P", "probability that a report is the truth: at least 1/k for k answers"),
        ("--epsilon", "E", "or the privacy loss of a report: 0.1 is strong privacy, 5 is weak"),
    ]:
        amount.add_argument(option, action="append", type=float, metavar=metavar, help=text)
    command.add_argument(
        "--with-missing",
        action="store_true",
        help="not answering is an answer too, with the same protection",
    )
    command.add_argument(
        "--plan",
        metavar="FILE",
        type=_path,
        help="or a document that says how each column is made: a plan (.toml or .json), the output "
        "of describe --format json, or the .rrstats.json of a CSV file",
    )


def check_design(options: argparse.Namespace) -> bool:
    """True where options give a design; raises where they give two."""
    for name in ("categories", "prob", "epsilon"):
        given = getattr(options, name) or [None]
        if len(given) > 1:
            raise ArgumentValueError(
                f"--{name}: is given twice: one design holds for all columns; write others into a "
                "--plan"
            )
        setattr(options, name, given[0])
    told = (options.categories, options.prob, options.epsilon, options.with_missing or None)
    if options.plan is not None and any(one is not None for one in told):
        raise ArgumentValueError(
            "--plan says how columns are made, so --categories, --with-missing, --prob and "
            "--epsilon cannot stand beside it"
        )
    return any(one is not None for one in told)


def _privatize(command: Parser) -> None:
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
    command.add_argument("source", metavar="IN", type=_path, help="the file with true answers")
    command.add_argument("target", metavar="OUT", type=_path, help="the file to write")
    command.add_argument(
        "--unknown",
        choices=("raise", "warn", "uniform"),
        help="answers that are no category: raise (default) refuses the file before anything is "
        "drawn, uniform answers them at random, warn says so too",
    )
    command.add_argument(
        "--missing",
        choices=("uniform", "keep", "raise"),
        help="missing answers: uniform (default) answers them at random, keep leaves them "
        "missing (which shows who did not answer), raise refuses the file",
    )
    for option, text in {
        "--shuffle-rows": "put the rows into a random order",
        "--again": "release a column again; epsilons add up",
        "--overwrite": "replace OUT if it exists",
        "--quiet": "no progress and no private counts on stderr",
        "--dry-run": "say what would be released; write nothing",
        "--write-plan": "print the plan of these options; write nothing",
    }.items():
        command.add_argument(option, action="store_true", help=text)
    _format(command, "text", "json")


def _format(command: Parser, *formats: str) -> None:
    command.add_argument(
        "--format", choices=formats, default="text", help="text is for people, others for programs"
    )


def _estimate(command: Parser) -> None:
    """Estimate the true shares behind randomized reports, with intervals. A file
    written by rrstats privatize says how it was made and needs no options, a CSV
    file together with the .rrstats.json beside it; what contradicts it is refused.

    Examples:
      rrstats estimate out.parquet
      rrstats estimate out.csv --column smoker --target rows --format csv
      rrstats estimate reports.csv --column answer --categories yes,no --prob 0.75
    """
    command.add_argument("file", metavar="FILE", type=_path, help="a file of reports")
    command.add_argument(
        "--level",
        type=float,
        default=0.95,
        metavar="L",
        help="confidence level of the intervals (default 0.95)",
    )
    command.add_argument(
        "--method",
        choices=METHODS,
        metavar="METHOD",
        help=f"method of the intervals: one of {', '.join(METHODS)} (by default the first where "
        "counts are binomial, else a likelihood or wald)",
    )
    command.add_argument(
        "--target",
        choices=TARGETS,
        default=TARGETS[0],
        help="the shares are about the population behind these people, or about just these rows",
    )
    _format(command, "text", "json", "csv")


def _check(command: Parser) -> None:
    """Before a release, for the person who holds the true answers: lists the answers
    that fit no category, typing errors for example, and earlier releases from this
    file. Takes the options of privatize; --prob and --epsilon change nothing here.
    Its output shows true answers: never release, log or share it.

    Examples:
      rrstats check in.parquet --column answer --categories never,once,often
      rrstats check in.parquet --plan plan.toml

    The exit code is 0 whether or not such answers are found.
    """
    command.add_argument("file", metavar="FILE", type=_path, help="the file with true answers")


def _describe(command: Parser) -> None:
    """Say how a file was privatized, as the file itself says it: categories,
    probabilities, epsilon. --statement writes the page that accompanies a release:
    what was done, what is promised and what is not, odds in words, how to estimate.

    Examples:
      rrstats describe out.parquet
      rrstats describe out.parquet --format json      this is also a plan
      rrstats describe out.parquet --statement out.html
    """
    command.add_argument("file", metavar="FILE", type=_path, help="a privatized file")
    _format(command, "text", "json")
    command.add_argument(
        "--statement", metavar="PAGE", type=_path, help="also write the page, .md or .html"
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
