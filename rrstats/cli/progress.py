"""A progress bar for long runs: tqdm's on a terminal, nothing everywhere else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[int, int | None], None]


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Step | None]:
    """A function to call with rows done and rows in all, or None where there is no terminal.

    quiet : draw nothing.  The bar is gone when the block is left.
    """
    stream = sys.stderr
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        quiet = True
    if quiet or stream is None or not stream.isatty():
        yield None
        return
    with tqdm(file=stream, unit=" rows", unit_scale=True, leave=False, dynamic_ncols=True) as bar:

        def step(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield step
