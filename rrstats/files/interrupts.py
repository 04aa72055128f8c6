"""Signals wait while a few steps must all happen, or none.

Between "the ledger says so" and "the file is there" Ctrl-C would leave one without the other.
Inside `uninterrupted` a signal that Python handles is noted; it is delivered when the block is
over, or by `let_through`, which publishing calls last before its point of no return.  After that
point, which `done` marks, it waits until the end of `until_told` where there is such a block:
so that whoever presses Ctrl-C too late learns what was published.  Only the main thread receives
such signals, so in other threads all of this does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["done", "let_through", "uninterrupted", "until_told"]

# Those that come from outside at any time.  One that Python does not handle ends the process
# at once, as SIGKILL does.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_waiting: list[int] = []
_entirely: list[bool] = []
"""For each `uninterrupted` block that is open, what it was told."""

_done: list[bool] = []
"""For each `until_told` block that is open, whether its release is done."""


def _note(number: int, frame: FrameType | None) -> None:
    handler = _handlers.get(number)
    if number not in _waiting:
        _waiting.append(number)
    elif handler is not None and not _entirely:
        # All is done and only telling is left, perhaps to a pipe that nobody reads: the second
        # one does not wait.
        handler(number, frame)


def _hold() -> None:
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        handler = None if number is None else signal.getsignal(number)
        if number is not None and callable(handler):
            _handlers[number] = handler
            signal.signal(number, _note)


def _restore() -> None:
    """Give the handlers back, that of Ctrl-C last, then deliver what came meanwhile."""
    try:
        while _handlers:
            number, handler = _handlers.popitem()
            signal.signal(number, handler)
        while _waiting:
            signal.raise_signal(_waiting.pop(0))
    finally:
        if _handlers or _waiting:  # a handler raised
            _restore()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def uninterrupted(*, entirely: bool = False) -> Iterator[None]:
    """Within this block Ctrl-C and its like wait; blocks may be nested, the outermost counts.

    entirely : `let_through` does nothing, as in a block that takes back what was done.
    """
    if not _is_main():
        yield
        return
    depth = len(_entirely)
    try:
        _entirely.append(entirely)
        if not _handlers:
            _hold()
        yield
    finally:
        del _entirely[depth:]
        if not _entirely and not any(_done):
            _restore()


@contextmanager
def until_told() -> Iterator[None]:
    """Once something was published in this block, Ctrl-C and its like wait until its end."""
    if not _is_main():
        yield
        return
    depth = len(_done)
    try:
        _done.append(False)
        yield
    finally:
        del _done[depth:]
        if not _entirely and not any(_done):
            _restore()


def done() -> None:
    """Say, in an `uninterrupted` block, that the point of no return has been passed."""
    if _is_main() and _done:
        _done[-1] = True


def let_through() -> None:
    """Deliver a signal that is waiting, now: usually this raises KeyboardInterrupt."""
    if _is_main() and not any(_entirely):
        while _waiting:
            number = _waiting.pop(0)
            _handlers[number](number, None)
