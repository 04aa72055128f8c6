"""Work in a fresh process: for memory and imports, where what ran before would count too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PROCESSES = Path("/proc")

STATUS = PROCESSES / "self" / "status"

MIB = 1 << 20


def python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, warnings aside; its failure ends this run."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"a measuring process failed:\n{done.stderr}")
    return done


def fresh(function: str, **arguments: Any) -> Any:
    """What ``module:function`` of this package returns in a fresh process, as JSON."""
    module, _, name = function.partition(":")
    # First for this package, whose name others use too, then at the end of the path: an
    # installed rrstats goes before one that lies beside this package.
    code = (
        f"import sys, json; sys.path.insert(0, {str(ROOT)!r}); import benchmarks\n"
        f"sys.path.append(sys.path.pop(0))\n"
        f"from benchmarks.{module} import {name}\n"
        f"print('\\n' + json.dumps({name}(**json.loads({json.dumps(arguments)!r}))))"
    )
    return json.loads(python(code).stdout.splitlines()[-1])


def _status(field: str, status: Path = STATUS) -> int | None:
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None


def highest() -> int | None:
    """The most memory that this process ever used; None where the system does not say.

    Not from `resource`: there a process also answers for the one that started it.
    """
    return _status("VmHWM")


def _tree() -> list[str]:
    """This process and all that it started, and those that they started: their numbers."""
    children: dict[str, list[str]] = {}
    for entry in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # it may end while we look
            # The name, in brackets, may hold spaces and brackets itself.
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(parent, []).append(entry.name)
    found = [str(os.getpid())]
    for process in found:  # grows while it is walked through
        found += children.get(process, [])
    return found


class TreeMemory:
    """The most memory of this process and of all below it, while a ``with`` block runs.

    Ten times a second the highest of each process so far is added up over those that are alive.
    No peak is missed, and the sum is rather too high: not all peak at once, and what two share
    counts twice.
    """

    def __init__(self) -> None:
        self.highest: int | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _look(self) -> None:
        found = 0
        for process in _tree():
            with suppress(OSError):
                found += _status("VmHWM", PROCESSES / process / "status") or 0
        if found:
            self.highest = max(found, self.highest or 0)

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self._look()

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()
