"""The command line: whole files from a terminal, and a demonstration on embedded real data.

Exit codes: 0 done; 1 a file that cannot be read or written, a missing package, a release that is
refused; 2 bad arguments; 130 interrupted (143 by SIGTERM, 129 by SIGHUP; a line on stderr says so
where a release was published before); 141 the reader of the output left.
Results go to stdout, and only when all is done; whatever is for the person who runs it goes
to stderr, one line each.  Nobody sees a traceback, which could quote an answer.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import rrstats as rr
from rrstats.cli.arguments import Parser, joined, layout
from rrstats.cli.demo import add_demo
from rrstats.cli.release import add_privatize
from rrstats.cli.reports import add_check, add_describe, add_estimate
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DamagedDocumentError,
    RRStatsError,
    RRStatsWarning,
    UnknownAnswersError,
    UnknownAnswersWarning,
)

__all__ = ["main"]

DONE, FAILED, BAD_ARGUMENTS, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141

_UNKNOWN_TEXT = (
    "some answers are missing or not among the categories; each was answered uniformly at random, "
    "which pulls every estimate towards equal shares; rrstats check lists them, --unknown raise "
    "refuses them, and --with-missing makes not answering an answer"
)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="rrstats",
        formatter_class=layout,
        allow_abbrev=False,
        usage="rrstats [--help] [--version] command ...",
        description="Randomized response: ask sensitive questions, release only noisy answers,\n"
        "estimate the true shares with intervals that hold.",
        epilog="commands:\n"
        "  privatize   write a file in which columns hold noisy reports, not true answers\n"
        "  estimate    estimate the true shares from such a file\n"
        "  check       before a release: find answers that fit no category (private)\n"
        "  describe    say how a file was privatized; write the page that goes with it\n"
        "  demo        privatize two sensitive columns of real data and estimate them\n"
        "\n"
        "Each has its options and examples: rrstats privatize --help\n"
        "In Python: import rrstats as rr; help(rr); help(rr.FrameAccessor)",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"rrstats {rr.__version__}",
        help="show the version and exit",
    )
    # argparse would print the commands twice; the epilog lists them once.
    commands = parser.add_subparsers(
        dest="command", metavar="command", required=True, help=argparse.SUPPRESS
    )
    for add in (add_privatize, add_estimate, add_check, add_describe, add_demo):
        add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, as the module's first lines list them."""
    options = argparse.Namespace(published=False)
    try:
        with _quiet_exits(), _plain_warnings():
            try:
                given = sys.argv[1:] if arguments is None else arguments
                _parser().parse_args(joined(given), options)
                print(options.run(options), end="")
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # also after --help, so that a closed pipe shows here
    except KeyboardInterrupt as interrupt:
        if options.published:
            _say("published before the interrupt")
        return interrupt.code if isinstance(interrupt, _Ended) else INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more at exit; give it a place to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except RRStatsError as error:
        _say(str(error))
        return _code(error)
    except OSError as error:
        where = error.filename or "the output"
        _say(f"cannot write {where}: {error.strerror}")
        return FAILED
    except Exception as error:
        _say(_unforeseen(error))
        return FAILED
    return DONE


def _code(error: RRStatsError) -> int:
    if isinstance(error, UnknownAnswersError | DamagedDocumentError):  # no argument is wrong
        return FAILED
    bad = isinstance(error, ArgumentValueError | ArgumentTypeError)
    return BAD_ARGUMENTS if bad else FAILED


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(f"rrstats: {' '.join(text.splitlines())}", file=sys.stderr)


def _unforeseen(error: Exception) -> str:
    """Where an error came from that nobody foresaw, without its text, which may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}rrstats{os.sep}" in frame.filename]
    frame = (ours or list(frames))[-1]
    place = f"{frame.filename.rpartition(os.sep)[2]}, line {frame.lineno}"
    return (
        f"unforeseen {type(error).__name__} at {place}, please report it; its text is not shown "
        "because it may quote an answer"
    )


# -- signals and warnings ------------------------------------------------------------------


class _Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP, which tidy up as Ctrl-C does.  code : as shells count signals."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number


def _end(number: int, _frame: FrameType | None) -> None:
    raise _Ended(number)


@contextmanager
def _quiet_exits() -> Iterator[None]:
    """Signals raise, so that nothing half-written remains; odd characters never stop a page."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    # One that is ignored, as under nohup, or handled by somebody else stays so.
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
            ours = [w for w in caught if issubclass(w.category, RRStatsWarning)]
            texts = (
                _UNKNOWN_TEXT if w.category is UnknownAnswersWarning else str(w.message)
                for w in ours
            )
            for text in dict.fromkeys(texts):
                _say(f"warning: {text}")
