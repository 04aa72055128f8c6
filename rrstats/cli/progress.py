"""How far a long run has come: one line on a terminal, and silence everywhere else."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

SECONDS_BETWEEN = 0.1
WIDTH = 78

Step = Callable[[int, int | None], None]


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Step | None]:
    """A function to call with rows done and rows in all, or None where nobody watches.

    quiet : draw nothing.  Nothing is drawn either unless stderr is a terminal.  The line is
    tqdm's where that is installed, and gone when the block is left.
    """
    stream = sys.stderr
    if quiet or stream is None or not stream.isatty():
        yield None
        return
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        line = _Line()
        try:
            yield line.step
        finally:
            line.clear()
        return
    with tqdm(file=stream, unit=" rows", unit_scale=True, leave=False, dynamic_ncols=True) as bar:

        def step(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield step


class _Line:
    """A line that is written over itself, without any terminal's control codes."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._drawn = -1.0
        self._shown = ""

    def step(self, done: int, total: int | None) -> None:
        now = time.monotonic() - self._began
        if now - self._drawn < SECONDS_BETWEEN and done != total:
            return
        self._drawn = now
        text = f"{done:,} rows, {now:.0f} s"
        if total:
            share = min(done / total, 1.0)
            text = f"{share:4.0%} of {total:,} rows, {now:.0f} s"
            if 0 < share < 1 and now > 1:
                text += f", about {now * (1 - share) / share:.0f} s to go"
        self._write(text)

    def clear(self) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        text = text[:WIDTH]
        blank = " " * (len(self._shown) - len(text))
        back = "\r" if not text else ""
        sys.stderr.write(f"\r{text}{blank}{back}")
        sys.stderr.flush()
        self._shown = text
