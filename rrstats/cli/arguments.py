"""Arguments that several commands take, and a parser that answers in one line.

``--column`` may be repeated, and one design holds for all of the columns; different designs are
written into a plan, which ``--write-plan`` begins.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.krr import KRR

EXIT_CODES = """
exit codes:
  0    done
  1    a file, a package or the account of releases stands in the way
  2    wrong arguments, or documents that contradict each other
  130  Ctrl-C; 143 SIGTERM, 129 SIGHUP, 141 the reader of the output left
"""


class Parser(argparse.ArgumentParser):
    """A parser that answers a bad argument with one line."""

    def format_help(self) -> str:
        """Help, and for all commands together the meaning of the exit codes.

        Returns
        -------
        str
            The page.
        """
        return super().format_help() + EXIT_CODES * (" " not in self.prog)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an argument that no option takes is answered by its command's help.

        Parameters
        ----------
        args, namespace
            As for argparse.

        Returns
        -------
        Namespace
            The options.
        """
        options, left = self.parse_known_args(args, namespace)
        if left:
            hint = ""
            if hasattr(options, "categories") and any(not word.startswith("-") for word in left):
                hint = "; words are joined by commas without spaces, as in yes,no, or quoted"
            said = " ".join(" ".join(left).splitlines())
            prog = f"{self.prog} {options.command}" if options.command else self.prog
            self.exit(2, f"{prog}: unrecognized arguments: {said}{hint}; see {prog} --help\n")
        return options

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where help is, and exit.

        Parameters
        ----------
        message : str
            The text of argparse.

        Returns
        -------
        NoReturn
            The process ends with code 2.
        """
        line = " ".join(message.splitlines())
        self.exit(2, f"{self.prog}: {line}; see {self.prog} --help\n")


def layout(prog: str) -> argparse.HelpFormatter:
    """Help as all commands lay it out."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=24, width=78)


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], str], **texts: str
) -> argparse.ArgumentParser:
    """One command, with its own --help; ``run`` returns what is to be printed."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, prog=f"rrstats {name}", formatter_class=layout, allow_abbrev=False, **texts
    )
    command.set_defaults(run=run)
    return command


# -- types of arguments ----------------------------------------------------------------------


def number(text: str) -> float:
    """A number, as argparse asks for a type."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def path(text: str) -> Path:
    """A path, as argparse asks for a type."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be the name of a file, got {text!r}")
    return Path(text)


def words(text: str) -> tuple[str, ...]:
    """Category words from one argument, separated by commas and quoted as in CSV."""
    try:
        lines = list(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error:
        lines = []
    wrong = None
    if len(lines) != 1 or not lines[0]:
        wrong = "must be words separated by commas, quoted as in CSV where they hold one"
    elif text.strip().startswith(",") or text.strip().endswith(","):
        wrong = "begins or ends with a comma; words are joined by commas without spaces, as yes,no"
    elif "" in lines[0]:
        wrong = (
            "has an empty word; for people who did not answer there is --with-missing, for an "
            "empty text as an answer --plan"
        )
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"{wrong}, got {text!r}")
    return tuple(lines[0])


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments, with words that begin with a negative number tied to their option."""
    tied: list[str] = []
    for argument in arguments:
        if tied and tied[-1] == "--categories" and re.match(r"-\d", argument):
            tied[-1] = f"--categories={argument}"
        else:
            tied.append(argument)
    return tied


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


# -- the design of columns ---------------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """The design that options give to the columns they name.

    Attributes
    ----------
    names : sequence of str
        The columns; none where a plan, or the file itself, names them.
    categories : sequence of str or None
        The words of ``--categories``.
    prob, epsilon : float or None
        At most one of them.
    with_missing : bool
        Whether not answering is one of the answers.
    """

    names: Sequence[str]
    categories: tuple[str, ...] | None = None
    prob: float | None = None
    epsilon: float | None = None
    with_missing: bool = False

    @property
    def is_bare(self) -> bool:
        """True where nothing is said of the design."""
        return self == Design(self.names)

    def words(self) -> list[str | None]:
        """The category words, None for not answering; raises where there are none."""
        if self.categories is None:
            raise ArgumentValueError(
                f"--column {self.names[0]} needs --categories: they are part of the design and "
                "never taken from the data; for example --categories never,once,often"
            )
        return [*self.categories, *([None] if self.with_missing else [])]

    def mechanisms(self, cast: Callable[[str, list[str | None]], list[Hashable]]) -> dict[str, KRR]:
        """One mechanism a column, its words cast to values by ``cast(column, words)``."""
        return {name: self._mechanism(name, cast) for name in self.names}

    def _mechanism(self, name: str, cast: Callable[..., list[Hashable]]) -> KRR:
        given = self.words()
        if self.epsilon == 0:
            raise ArgumentValueError(
                "--epsilon 0 asks for reports that say nothing of the answers; give more than 0, "
                "such as 1"
            )
        if self.prob is None and self.epsilon is None:
            raise ArgumentValueError(
                f"--column {name} needs --prob, the probability that a report is the truth, or "
                "--epsilon, its privacy loss"
            )
        try:
            return KRR(cast(name, given), self.prob, epsilon=self.epsilon)
        except (ArgumentValueError, ArgumentTypeError) as error:
            raise ArgumentValueError(f"--column {name}: {error}") from None


class _Once(argparse.Action):
    """An option that may be given once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(
                self, "is given twice: one design holds for all columns; write others into a --plan"
            )
        setattr(namespace, self.dest, values)


def add_design(command: argparse.ArgumentParser, plan: str, *, has_amount: bool = True) -> None:
    """The options that name columns and say how they are made.

    plan : the help of ``--plan``.  has_amount : --prob and --epsilon matter; where they do not,
    they are taken all the same, so that a command is changed in one word.
    """
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="a column of the file; may be repeated, with one design for all",
    )
    command.add_argument(
        "--categories",
        action=_Once,
        type=words,
        metavar="A,B,C",
        help='all possible answers, in the order of the design; "a,b" in quotes is one word',
    )
    amount = command.add_mutually_exclusive_group()
    ignored = "taken as for privatize, and ignored"
    for option, metavar, text in [
        ("--prob", "P", "probability that a report is the truth: at least 1/k for k answers"),
        ("--epsilon", "E", "or the privacy loss of a report: 0.1 is strong privacy, 5 is weak"),
    ]:
        text = text if has_amount else ignored
        amount.add_argument(option, action=_Once, type=number, metavar=metavar, help=text)
    command.add_argument(
        "--with-missing",
        action="store_true",
        help="not answering is an answer too, with the same protection",
    )
    command.add_argument("--plan", metavar="FILE", type=path, help=plan)


def design_of(options: argparse.Namespace, *, has_amount: bool = True) -> Design:
    """The design of the options; raises where a column or a plan stands there twice."""
    names = options.column
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentValueError(f"--column: {twice!r} is named twice")
    prob, epsilon = (options.prob, options.epsilon) if has_amount else (None, None)
    design = Design(names, options.categories, prob, epsilon, options.with_missing)
    if options.plan is not None and not design.is_bare:
        raise ArgumentValueError(
            "--plan says how columns are made, so --categories, --with-missing, --prob and "
            "--epsilon cannot stand beside it"
        )
    return design
