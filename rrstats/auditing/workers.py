"""Two processes that start from the same state: they must not draw the same noise.

Forked processes inherit whatever a generator had in store; spawned ones start from whatever a
module sets up when it is imported.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import warnings
from typing import Any

from rrstats.auditing.runs import Run, Subject

__all__ = ["WorkersError", "in_workers"]

_PATIENCE_SECONDS = 120

_FORKS = sys.platform.startswith("linux")
"""Elsewhere system libraries may not survive a fork, or there is none."""


class WorkersError(Exception):
    """No worker could be asked; the text says why."""


def in_workers(subject: Subject, inputs: list[list[Any]]) -> list[Run]:
    """One run for each input, each in a process of its own, all started from the same state.

    Raises WorkersError where that cannot be done.
    """
    method = _method(subject)
    context: Any = multiprocessing.get_context(method)
    started: list[tuple[Any, Any]] = []
    try:
        for values in inputs:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_answer, args=(sender, subject, values))
            with warnings.catch_warnings():
                # Newer Pythons warn of threads that numerical libraries have started.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            sender.close()
            started.append((process, receiver))
        return [_received(receiver) for _, receiver in started]
    finally:
        for process, receiver in started:
            receiver.close()
            process.join(1)
            if process.is_alive():
                process.terminate()
                process.join()


def _method(subject: Subject) -> str:
    """Fork where that is usual, else spawn."""
    if _FORKS:
        return "fork"
    try:
        pickle.dumps(subject)
    except Exception:
        raise WorkersError("fn cannot be sent to a new process") from None
    return "spawn"


def _received(receiver: Any) -> Run:
    if not receiver.poll(_PATIENCE_SECONDS):
        raise WorkersError(f"a worker gave nothing back in {_PATIENCE_SECONDS} seconds")
    try:
        given = receiver.recv()
    except EOFError:
        raise WorkersError("a worker ended without an answer") from None
    if not isinstance(given, Run):
        raise WorkersError(str(given))
    return given


def _answer(sender: Any, subject: Subject, values: list[Any]) -> None:
    """What a worker does: one run, sent back."""
    try:
        run: Any = subject.run(values, facts=False)
        pickle.dumps(run)
    except Exception as error:
        run = f"a worker failed with {type(error).__name__}"
    sender.send(run)
    sender.close()
