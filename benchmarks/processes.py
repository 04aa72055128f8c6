"""Work in a fresh process: for memory and imports, where what ran before would count too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

STATUS = Path("/proc/self/status")

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


def _status(field: str) -> int | None:
    if not STATUS.exists():
        return None
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None


def highest() -> int | None:
    """The most memory that this process ever used; None where the system does not say.

    Not from `resource`: there a process also answers for the one that started it.
    """
    return _status("VmHWM")
