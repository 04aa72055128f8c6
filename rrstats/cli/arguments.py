"""Arguments: a parser that answers in one line, and options that belong to a column.

What stands after a ``--column`` belongs to that column; what stands before the first one is
the default for all of them.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "EXIT_CODES",
    "Column",
    "Parser",
    "add_column_options",
    "add_command",
    "columns_of",
    "joined",
    "number",
    "require_files",
]

WIDTH = 80

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
        """Help, and for all commands together what the exit codes mean."""
        return super().format_help() + EXIT_CODES * (" " not in self.prog)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options; an argument that none of them takes is answered by its command's help."""
        options, left = self.parse_known_args(args, namespace)
        if left:
            hint = ""
            if hasattr(options, "said") and any(not word.startswith("-") for word in left):
                hint = "; words are joined by commas without spaces, as in yes,no, or quoted"
            said = " ".join(" ".join(left).splitlines())
            prog = f"{self.prog} {options.command}"
            self.exit(2, f"{prog}: unrecognized arguments: {said}{hint}; see {prog} --help\n")
        return options

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        line = " ".join(message.splitlines())
        self.exit(2, f"{self.prog}: {line}; see {self.prog} --help\n")


def layout(prog: str) -> argparse.HelpFormatter:
    """Help as all commands lay it out."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=24, width=WIDTH - 2)


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], str], **words: str
) -> argparse.ArgumentParser:
    """One command, with its own --help; ``run`` returns what is to be printed."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, prog=f"rrstats {name}", formatter_class=layout, allow_abbrev=False, **words
    )
    command.set_defaults(run=run)
    return command


def number(text: str) -> float:
    """A number, as argparse asks for a type."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def words(text: str) -> tuple[str, ...]:
    """Category words from one argument, separated by commas and quoted as in CSV."""
    try:
        lines = list(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error:
        lines = []
    if len(lines) != 1 or not lines[0]:
        raise argparse.ArgumentTypeError(
            f"must be words separated by commas, quoted as in CSV where they hold one, got {text!r}"
        )
    if text.strip().startswith(",") or text.strip().endswith(","):
        raise argparse.ArgumentTypeError(
            f"begins or ends with a comma, got {text!r}; words are joined by commas without "
            "spaces, as in yes,no, or quoted"
        )
    if "" in lines[0]:
        raise argparse.ArgumentTypeError(
            f"has an empty word in {text!r}; for people who did not answer there is "
            "--with-missing, for an empty text as an answer --plan"
        )
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


# -- columns -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """What the command line says of one column, or, without a name, of all of them."""

    name: str | None = None
    categories: tuple[str, ...] | None = None
    prob: float | None = None
    epsilon: float | None = None
    with_missing: bool | None = None

    def after(self, defaults: Column) -> Column:
        """This column, with what it leaves open taken from the defaults."""
        own = self.prob is not None or self.epsilon is not None
        return Column(
            self.name,
            self.categories if self.categories is not None else defaults.categories,
            self.prob if own else defaults.prob,
            self.epsilon if own else defaults.epsilon,
            bool(self.with_missing or defaults.with_missing),
        )

    @property
    def is_bare(self) -> bool:
        """Whether nothing is said but perhaps a name."""
        return replace(self, name=None) in (Column(), Column(with_missing=False))

    def words(self) -> list[str | None]:
        """The category words, None for not answering; raises where there are none."""
        if self.categories is None:
            raise ArgumentValueError(
                f"--column {self.name} needs --categories: they are part of the design and never "
                "taken from the data; for example --categories never,once,often"
            )
        return [*self.categories, *([None] if self.with_missing else [])]

    def mechanism(self, cast: Callable[[str, list[str | None]], list[Hashable]]) -> rr.KRR:
        """The mechanism, its words cast to values by ``cast(column, words)``."""
        given = self.words()
        if self.epsilon == 0:
            raise ArgumentValueError(
                f"--column {self.name}: --epsilon 0 asks for reports that say nothing of the "
                "answers; give more than 0, such as 1"
            )
        if self.prob is None and self.epsilon is None:
            raise ArgumentValueError(
                f"--column {self.name} needs --prob, the probability that a report is the truth, "
                "or --epsilon, its privacy loss"
            )
        categories = cast(str(self.name), given)
        try:
            return rr.KRR(categories, self.prob, epsilon=self.epsilon)
        except (ArgumentValueError, ArgumentTypeError) as error:
            raise ArgumentValueError(f"--column {self.name}: {error}") from None


class _OfColumn(argparse.Action):
    """An option of the last --column, or a default where none was named yet."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        said: list[Column] = list(getattr(namespace, "said", None) or [Column()])
        if self.dest == "column":
            if any(column.name == values for column in said):
                raise argparse.ArgumentError(self, f"{values!r} is named twice")
            said.append(Column(values))
        else:
            self._check(said[-1])
            change: dict[str, Any] = {self.dest: True if self.nargs == 0 else values}
            said[-1] = replace(said[-1], **change)
        namespace.said = said

    def _check(self, column: Column) -> None:
        whose = "as a default" if column.name is None else f"for column {column.name!r}"
        if getattr(column, self.dest) is not None:
            raise argparse.ArgumentError(self, f"is given twice {whose}")
        other = {"prob": "epsilon", "epsilon": "prob"}.get(self.dest)
        if other and getattr(column, other) is not None:
            raise argparse.ArgumentError(
                self, f"not allowed with argument --{other} {whose}: give one of them"
            )


def add_column_options(
    command: argparse.ArgumentParser, *, several: bool, amount: bool = True
) -> None:
    """The options that belong to a column.

    several : --column may be repeated.  amount : --prob and --epsilon matter; where they do not,
        they are taken all the same, so that a command is changed in one word.
    """
    ignored = None if amount else "taken as for privatize, and ignored"
    repeated = "; may be repeated: what follows it belongs to it" if several else ""
    command.add_argument(
        "--column", action=_OfColumn, metavar="NAME", help=f"a column of the file{repeated}"
    )
    command.add_argument(
        "--categories",
        action=_OfColumn,
        type=words,
        metavar="A,B,C",
        help='all possible answers, in the order of the design; "a,b" in quotes is one word',
    )
    command.add_argument(
        "--prob",
        action=_OfColumn,
        type=number,
        metavar="P",
        help=ignored
        or "probability that a report is the truth: at least 1/k for k answers, below 1",
    )
    command.add_argument(
        "--epsilon",
        action=_OfColumn,
        type=number,
        metavar="E",
        help=ignored or "or the privacy loss of a report: 0.1 is strong privacy, 5 is weak",
    )
    command.add_argument(
        "--with-missing",
        action=_OfColumn,
        nargs=0,
        help="not answering is an answer too, with the same protection",
    )


def columns_of(options: argparse.Namespace) -> list[Column]:
    """The columns that were named, defaults filled in; none is an empty list."""
    defaults, *named = getattr(options, "said", None) or [Column()]
    return [column.after(defaults) for column in named]


def defaults_of(options: argparse.Namespace) -> Column:
    """What was said before the first --column."""
    said: list[Column] = getattr(options, "said", None) or [Column()]
    return said[0]


# -- files ---------------------------------------------------------------------------------


def require_files() -> Any:
    """The module `rrstats.files`; raises MissingPackageError where pyarrow is not there."""
    from rrstats import files

    return files


def path(text: str) -> Path:
    """A path, as argparse asks for a type."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be the name of a file, got {text!r}")
    return Path(text)
