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

from rrstats.cli import demo
from rrstats.cli.arguments import as_option, parser
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DamagedDocumentError,
    RRStatsError,
    RRStatsWarning,
    UnknownAnswersError,
)

DONE, FAILED, BAD_ARGUMENTS, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141


def _run(options: argparse.Namespace) -> str:
    """The page of a command; raises MissingPackageError where pyarrow is absent."""
    if options.command == "demo":
        return demo.run(options)
    from rrstats.cli import file_commands  # needs pyarrow, an optional package

    command: Callable[[argparse.Namespace], str] = getattr(file_commands, options.command)
    return command(options)


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
                commands = parser(demo.add_options)
                commands.parse_args(arguments, options)
                print(_run(options) if options.command else commands.format_help(), end="")
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
