"""The commands for files: their options and their help.

What they do stands in `file_commands`, which needs pyarrow and is loaded when a command runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rrstats.cli.arguments import add_command, add_design, number, path
from rrstats.inference import binomial
from rrstats.mechanisms.channel import TARGETS

PLAN = (
    "a document that says how columns are made: a plan, the output of describe --format json, or "
    "the .rrstats.json of a CSV file"
)
UNKNOWN, MISSING = ("raise", "warn", "uniform"), ("uniform", "keep", "raise")
METHODS = (*binomial.METHODS, "profile-likelihood", "empirical-likelihood")


def _run(name: str) -> Callable[[argparse.Namespace], str]:
    """A command of `file_commands`, which raises MissingPackageError where pyarrow is absent."""

    def run(options: argparse.Namespace) -> str:
        from rrstats.cli import file_commands  # needs pyarrow, an optional package

        found: Callable[[argparse.Namespace], str] = getattr(file_commands, name)
        return found(options)

    return run


def add_privatize(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "privatize",
        _run("privatize"),
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
            "rrstats describe OUT --format json that of a release, both in JSON. In TOML:\n"
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


def add_estimate(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "estimate",
        _run("estimate"),
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
        "counts are binomial, else a likelihood or wald)",
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


def add_check(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "check",
        _run("check"),
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


def add_describe(commands: Any) -> None:
    """The command and its options."""
    command = add_command(
        commands,
        "describe",
        _run("describe"),
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
