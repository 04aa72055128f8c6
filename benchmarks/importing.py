"""How long does `import rrstats` take, beside `import pandas`, which it needs?

Each in fresh processes, in turns, by their own clock.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator

from benchmarks.measuring import Settings
from benchmarks.processes import ROOT, python
from benchmarks.running import alone
from benchmarks.table import Line, Target

TITLE = "Import, in a fresh process"


def _path() -> str:
    return f"import sys; sys.path.append({str(ROOT)!r})\n"


def seconds(statement: str) -> float:
    """How long one statement takes in a fresh process."""
    clock = "import time; start = time.perf_counter()\n"
    stop = "\nprint(time.perf_counter() - start)"
    return float(python(_path() + clock + statement + stop).stdout.split()[-1])


def outermost(report: str, package: str) -> float:
    """Milliseconds of a package in what ``-X importtime`` wrote, with all that it brought.

    Modules are listed behind those they import, which are indented further.
    """
    total, inside = 0, None
    for line in reversed(report.splitlines()):
        cells = line.removeprefix("import time:").split("|")
        if len(cells) != 3 or not cells[1].strip().isdigit():
            continue
        name, depth = cells[2].strip(), len(cells[2]) - len(cells[2].lstrip())
        if inside is not None and depth > inside:
            continue
        inside = None
        if name.partition(".")[0] == package:
            inside = depth
            total += int(cells[1])
    return total / 1000


def lines(settings: Settings) -> Iterator[Line]:
    """`import rrstats` and `import pandas`, and scipy, which the first estimate loads."""
    spent: dict[str, list[float]] = {name: [] for name in ("rrstats", "pandas")}
    for turn in range(settings.rounds + 1):
        for name, times in spent.items():
            found = seconds(f"import {name}") * 1000
            times += [found] if turn else []
    yield Line(
        "import rrstats",
        "ms",
        spent["rrstats"],
        "import pandas",
        spent["pandas"],
        target=Target(1 / 1.4),
    )
    reports = [
        python(_path() + "import rrstats; rrstats.estimate", "-X", "importtime").stderr
        for _ in range(min(settings.rounds, 3))
    ]
    scipy = statistics.median(outermost(report, "scipy") for report in reports)
    yield Line("scipy, at the first estimate (importtime)", "ms", [scipy])


if __name__ == "__main__":
    sys.exit(alone("importing"))
