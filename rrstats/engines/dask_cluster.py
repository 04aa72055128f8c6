"""How Dask runs the tasks of a release: by a client, or by its own scheduler.

What a task finds comes back as an answer; what goes wrong around it, in the cluster, is told here
by its kind and with the next step, never by its text, which may quote a cell.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import dask

from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, RRStatsError
from rrstats.files.privatize_file import Answer, Call, Run
from rrstats.randomness.sources import secret_bytes

__all__ = ["client_of", "run_by"]

PACKAGES = ("rrstats", "pyarrow", "pandas", "numpy", "cryptography", "dask", "distributed")
"""Names that may be told: any other could come from a cell."""


def client_of(client: Any) -> Any:
    """The client to run tasks by; None for the scheduler that Dask itself would take."""
    if client is not None:
        if not hasattr(client, "compute") or getattr(client, "asynchronous", True):
            raise ArgumentTypeError(
                "client must be a dask.distributed.Client that is not asynchronous, found "
                f"{type(client).__name__}"
            )
        if (status := getattr(client, "status", "running")) != "running":
            raise ArgumentValueError(
                f"client must be connected to its cluster, and its status is {status!r}; make a "
                "new dask.distributed.Client"
            )
        return client
    if dask.config.get("scheduler", None) in (None, "distributed", "dask.distributed"):
        with suppress(ImportError, ValueError):
            from distributed import default_client

            return default_client()
    return None


def run_by(client: Any, partitions: Sequence[Any] | None = None) -> Run:
    """How Dask runs calls, each with its partition where there are any."""

    def run(calls: Sequence[Call]) -> Generator[tuple[int, Answer]]:
        why = None
        try:
            yield from tasks_of(calls)
        except Exception as error:
            if (why := _of_the_cluster(error)) is None:
                raise
        if why is not None:
            raise FileError(f"{why}; nothing was published")

    def tasks_of(calls: Sequence[Call]) -> Generator[tuple[int, Answer]]:
        name = f"rrstats-part-{secret_bytes(16).hex()}"
        tasks = []
        for place, call in enumerate(calls):
            data = () if partitions is None else (partitions[place],)
            lazy = dask.delayed(call, pure=False, traverse=False)
            tasks.append(lazy(*data, dask_key_name=f"{name}-{place}"))
        if client is None:
            yield from enumerate(dask.compute(*tasks))
            return
        from distributed import as_completed

        futures = {future: place for place, future in enumerate(client.compute(tasks))}
        try:
            for future, answer in as_completed(list(futures), loop=client.loop, with_results=True):
                place = futures.pop(future)
                future.release()  # nobody needs it again, whatever becomes of its worker
                yield place, answer
        finally:
            if futures:
                client.cancel(list(futures))

    return run


def _of_the_cluster(error: Exception) -> str | None:
    """What is wrong with the cluster, with the next step; None for anything else.

    Told by the error's kind alone: its message may quote a cell, and so may a module's name.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RRStatsError) and cause is not error:
            return f"a worker or the scheduler says: {cause}"
        if isinstance(cause, ModuleNotFoundError):
            root = (cause.name or "").partition(".")[0]
            what = root if root in PACKAGES else "a module that the tasks need"
            return (
                f"a worker or the scheduler cannot import {what}; all of them need the packages "
                "that are here, in the same versions"
            )
        cause = cause.__cause__
    kind = type(error).__name__ if type(error).__module__.startswith("distributed") else ""
    if kind == "KilledWorker":
        return (
            "several workers died while they ran one task, most often for want of memory; give "
            "workers more of it, or smaller files or partitions"
        )
    if kind in ("ClosedClientError", "CommClosedError", "FutureCancelledError"):
        return f"the client lost its cluster ({kind}); make a new dask.distributed.Client"
    return None
