"""Cells that are objects, looked at in silence.

The methods of an object may warn, and its warning would tell of an answer.  The filters of
`warnings` are those of the whole process: so the first thread that looks at such cells changes
them, and the last one restores them.  No lock is held while a method of an object runs.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_SILENT_TYPES = frozenset(
    {str, np.str_, bytes, bool, int, float, type(None)}
    | {Decimal, Fraction, date, datetime, time, timedelta}
)
"""Classes whose own methods never warn; cells of these leave the filters as they are."""


class _Silence:
    """Silence in any number of threads; entering and leaving take a lock for a moment."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._threads = 0
        self._filters = warnings.catch_warnings(action="ignore")

    def __enter__(self) -> None:
        with self.lock:
            if not self._threads:
                self._filters = warnings.catch_warnings(action="ignore")
                self._filters.__enter__()
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self._threads -= 1
            if not self._threads:
                self._filters.__exit__(None, None, None)

    def restart(self) -> None:
        """Restore the filters in a forked process, which has none of the other threads."""
        if self._threads:
            self._threads = 0
            self._filters.__exit__(None, None, None)
        self.lock.release()


_SILENCE = _Silence()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_SILENCE.lock.acquire,
        after_in_parent=_SILENCE.lock.release,
        after_in_child=_SILENCE.restart,
    )


def silent(cells: list[Any]) -> AbstractContextManager[None]:
    """A block that shows no warning, if the methods of some cells may warn."""
    if set(map(type, cells)) <= _SILENT_TYPES:
        return nullcontext()
    if getattr(sys.flags, "context_aware_warnings", False):  # each thread has its filters
        return warnings.catch_warnings(action="ignore")
    return _SILENCE
