"""Cells that are objects, looked at in silence.

The methods of an object may warn, and its warning would tell of an answer.  The filters of
`warnings` are those of the whole process: so the filter here stands among them for a while, and
ignores only what is said in a thread that looks at such cells.  Warnings of other threads are
heard, and a copy of the filters that another thread, or a forked process, restores later is
harmless.
"""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import AbstractContextManager, suppress
from typing import Any


class _Silence(threading.local):
    """A block that shows no warning of its thread, and the pattern of the filter that says so."""

    def __init__(self) -> None:
        self._changed: list[Any] = []

    def match(self, _: str) -> bool:
        """True for every text, in a thread that is in a block."""
        return bool(self._changed)

    def __enter__(self) -> None:
        filters: Any = warnings.filters
        filters.insert(0, _FILTER)
        self._changed.append(filters)

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):  # the filters may have been reset
            self._changed.pop().remove(_FILTER)


_SILENCE = _Silence()

_FILTER = ("ignore", _SILENCE, Warning, None, 0)


def silent() -> AbstractContextManager[None]:
    """A block that shows no warning of this thread: methods of cells may warn."""
    if getattr(sys.flags, "context_aware_warnings", False):  # each thread has its filters
        return warnings.catch_warnings(action="ignore")
    return _SILENCE
