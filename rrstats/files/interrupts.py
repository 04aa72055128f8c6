"""Signals wait while a few steps must all happen, or none.

Between "the ledger says so" and "the file is there" Ctrl-C would leave one without the other.
Inside `uninterrupted` a signal that Python handles is noted; it is delivered when the block is
over, or by `let_through`, which publishing calls last before its point of no return.  Only the
main thread receives such signals, so in other threads both do nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["let_through", "uninterrupted"]

# Those that come from outside at any time.  One that Python does not handle ends the process
# at once, as SIGKILL does.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_waiting: list[int] = []
_entirely: list[bool] = []


def _note(number: int, frame: FrameType | None) -> None:
    if number not in _waiting:
        _waiting.append(number)


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


@contextmanager
def uninterrupted(*, entirely: bool = False) -> Iterator[None]:
    """Within this block Ctrl-C and its like wait; blocks may be nested, the outermost counts.

    entirely : `let_through` does nothing, as in a block that takes back what was done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    depth = len(_entirely)
    try:
        _entirely.append(entirely)
        if not depth:
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                handler = None if number is None else signal.getsignal(number)
                if number is not None and callable(handler):
                    _handlers[number] = handler
                    signal.signal(number, _note)
        yield
    finally:
        del _entirely[depth:]
        if not depth:
            _restore()


def let_through() -> None:
    """Deliver a signal that is waiting, now: usually this raises KeyboardInterrupt."""
    if threading.current_thread() is threading.main_thread() and not any(_entirely):
        while _waiting:
            number = _waiting.pop(0)
            _handlers[number](number, None)
