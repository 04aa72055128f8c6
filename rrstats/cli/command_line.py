"""The parser, the codes of exit, and what is printed where.

Exit codes: 0 done; 1 a file that cannot be read or written, a missing package, a release that is
refused; 2 bad arguments; 130 interrupted (143 by SIGTERM, 129 by SIGHUP; a line on stderr says so
where a release was published before); 141 the reader of the output left.
Results go to stdout, and only when all is done; stderr gets one line for each thing that the
person who runs it must know.  A traceback could quote an answer, so there is none.
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

from rrstats._version import __version__
from rrstats.cli.arguments import Parser, as_option, joined, layout
from rrstats.cli.commands import add_check, add_describe, add_estimate, add_privatize
from rrstats.cli.demo import add_demo
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DamagedDocumentError,
    RRStatsError,
    RRStatsWarning,
    UnknownAnswersError,
)

DONE, FAILED, BAD_ARGUMENTS, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="rrstats",
        formatter_class=layout,
        allow_abbrev=False,
        usage="rrstats [--help] [--version] command ...",
        description="Randomized response: ask sensitive questions, release only noisy answers,\n"
        "estimate the true shares with confidence intervals.",
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
        version=f"rrstats {__version__}",
        help="show the version and exit",
    )
    parser.set_defaults(run=lambda _options: parser.format_help())
    # argparse would print the commands twice; the epilog lists them once.
    commands = parser.add_subparsers(dest="command", metavar="command", help=argparse.SUPPRESS)
    for add in (add_privatize, add_estimate, add_check, add_describe, add_demo):
        add(commands)
    return parser


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
        _say(as_option(str(error)))
        return _code(error)
    except OSError as error:
        _say(f"cannot write {error.filename or 'the output'}: {error.strerror}")
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
