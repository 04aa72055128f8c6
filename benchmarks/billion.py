"""Can one machine privatize a billion rows, and does its memory stay flat?

    python -m benchmarks.billion --rows 1_000_000_000 --folder DIR

Answers are made, released with `rr.files.privatize_file`, checked and estimated, each in a fresh
process, whose highest memory is noted when a tenth of the rows is done and at the end.  The folder
needs about 13 bytes a row and should lie on a disk of this machine; what was made is removed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rrstats as rr
from benchmarks.inputs import WORDS
from benchmarks.machine import machine
from benchmarks.measuring import PROB, SKEW, STANDARD_ERRORS, stop_unless
from benchmarks.processes import MIB, fresh, highest

PART = 10_000_000
"""Rows of one file."""

BLOCK = 1 << 20
"""Rows that are made and written at once."""

K = len(WORDS)
MECHANISM = rr.KRR(WORDS, PROB)


# -- the answers ---------------------------------------------------------------------------


def _sizes(rows: int) -> list[int]:
    """The rows of each file."""
    return [min(PART, rows - start) for start in range(0, rows, PART)]


def _path(folder: Path, part: int) -> Path:
    return folder / f"part-{part:05d}.parquet"


def _codes(part: int, rows: int) -> Iterator[NDArray[Any]]:
    """True answers of a part, block by block: the first category is common, the last rare."""
    rng = np.random.default_rng(part)
    for start in range(0, rows, BLOCK):
        where = rng.random(min(BLOCK, rows - start), dtype=np.float32)
        where *= where * where
        where *= K
        yield where.astype(np.int8)


def make(rows: int, source: str, target: str) -> dict[str, Any]:
    """Write the answers; how many there are of each category."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder, words = Path(source), pa.array(WORDS)
    folder.mkdir()
    schema = pa.schema({"id": pa.int64(), "answer": pa.string(), "age": pa.int16()})
    counts, done = np.zeros(K, np.int64), _Progress(rows)
    for part, size in enumerate(_sizes(rows)):
        first = part * PART
        # The ids are all different: a dictionary of them is given up again, at some cost.
        with pq.ParquetWriter(
            _path(folder, part), schema, use_dictionary=["answer", "age"]
        ) as writer:
            for codes in _codes(part, size):
                ids = np.arange(first, first + len(codes))
                columns = [ids, words.take(pa.array(codes)), (18 + ids * 31 % 71).astype(np.int16)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                counts += np.bincount(codes, minlength=K)
                first += len(codes)
                done(len(codes))
    return {"counts": counts.tolist(), "memory": done.memory}


class _Progress:
    """The highest memory when a tenth of the rows is done."""

    def __init__(self, rows: int) -> None:
        self._rows, self._done = rows, 0
        self.memory: int | None = None

    def __call__(self, more: int) -> None:
        self.upto(self._done + more)

    def upto(self, done: int, _total: int | None = None) -> None:
        if self._done < self._rows / 10 <= done:
            self.memory = highest()
        self._done = done


# -- the release, what it must be, and the estimate ----------------------------------------


def privatize(rows: int, source: str, target: str) -> dict[str, Any]:
    """What a user calls."""
    import rrstats.files

    done = _Progress(rows)
    receipt = rrstats.files.privatize_file(
        source, target, {"answer": MECHANISM}, progress=done.upto
    )
    stop_unless(receipt.rows == rows, "privatize", "rows are lost")
    return {"memory": done.memory}


def check(rows: int, source: str, target: str) -> dict[str, Any]:
    """Check ids and ages, the distribution of reports, and that parts do not share their noise."""
    table, done = np.zeros((K, K), np.int64), _Progress(rows)
    before: NDArray[Any] | None = None
    for part in range(len(_sizes(rows))):
        first: NDArray[Any] | None = None
        for truth, reports in _pairs(_path(Path(source), part), _path(Path(target), part)):
            table += np.bincount(truth * K + reports, minlength=K * K).reshape(K, K)
            first = (reports - truth) % K if first is None else first
            done(len(truth))
        if before is not None and first is not None:
            _check_apart(before, first)
        before = first
    people = table.sum(axis=1, keepdims=True)
    law = np.where(np.eye(K), PROB, (1 - PROB) / (K - 1))
    allowed = STANDARD_ERRORS * np.sqrt(people * law * (1 - law)) + SKEW
    right = bool((np.abs(table - people * law) <= allowed).all())
    stop_unless(right, "check", "the reports do not have the distribution")
    stop_unless(int(people.sum()) == rows, "check", "rows are lost")
    return {"memory": done.memory}


def _pairs(one: Path, other: Path) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Codes of answers and reports; stops if ids or ages differ."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    words = pa.array(WORDS)
    with pq.ParquetFile(one) as answers, pq.ParquetFile(other) as reports:
        for pair in zip(answers.iter_batches(BLOCK), reports.iter_batches(BLOCK), strict=True):
            same = all(pair[0][name].equals(pair[1][name]) for name in ("id", "age"))
            stop_unless(same, "check", "other columns are not those of the source")
            yield tuple(
                pc.index_in(batch["answer"], words).to_numpy().astype(np.int8) for batch in pair
            )


def _check_apart(before: NDArray[Any], now: NDArray[Any]) -> None:
    """Noise of two parts agrees as often as independent noise does."""
    rows = min(len(before), len(now))
    alike = np.count_nonzero(before[:rows] == now[:rows])
    chance = PROB**2 + (1 - PROB) ** 2 / (K - 1)
    allowed = STANDARD_ERRORS * (rows * chance * (1 - chance)) ** 0.5
    stop_unless(abs(alike - rows * chance) <= allowed, "check", "two parts share their noise")


def estimate(rows: int, source: str, target: str) -> dict[str, Any]:
    """Proportions of these rows, with standard errors and confidence intervals."""
    import rrstats.files

    found = rrstats.files.estimate_file(target, "answer", target="sample")["answer"]
    low, high = found.interval()
    columns = (found.proportions, found.std_error, low, high)
    return {"estimate": [column.tolist() for column in columns], "memory": None}


# -- a phase, and all of them --------------------------------------------------------------

PHASES: dict[str, Callable[[int, str, str], dict[str, Any]]] = {
    "make the answers": make,
    "privatize": privatize,
    "check every row": check,
    "estimate": estimate,
}


def phase(name: str, rows: int, source: str, target: str) -> dict[str, Any]:
    """One phase in this process: its result, its seconds, those of its threads, its memory."""
    start, used = time.perf_counter(), time.process_time()
    found = PHASES[name](rows, source, target)
    spent = {"seconds": time.perf_counter() - start, "work": time.process_time() - used}
    return {**found, **spent, "highest": highest()}


def _mib(memory: int | None) -> str:
    return "" if memory is None else f"{memory / MIB:.0f}"


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def run(rows: int, folder: Path) -> Iterator[str]:
    """The lines of the report, as they are known."""
    source, target = folder / "answers", folder / "reports"
    titles = ("seconds", "core s", "M rows/s", "M rows/core s", "MiB at 10%", "MiB")
    yield "".join([" " * 16, *(title.rjust(15) for title in titles)])
    found: dict[str, dict[str, Any]] = {}
    for name in PHASES:
        arguments = {"name": name, "rows": rows, "source": str(source), "target": str(target)}
        now = found[name] = fresh("billion:phase", **arguments)
        times = [now["seconds"], now["work"]]
        shown = [f"{spent:.1f}" for spent in times]
        shown += [f"{rows / spent / 1e6:.2f}" for spent in times]
        shown += [_mib(now["memory"]), _mib(now["highest"])]
        yield "".join([name.ljust(16), *(cell.rjust(15) for cell in shown)])
    sizes = [_bytes(place) / 1e9 for place in (source, target)]
    yield f"\n{len(_sizes(rows))} files: {sizes[0]:.2f} GB of answers, {sizes[1]:.2f} GB of reports"
    yield from _compared(found["make the answers"]["counts"], found["estimate"]["estimate"], rows)


def _compared(
    counts: Sequence[int], estimated: Sequence[Sequence[float]], rows: int
) -> Iterator[str]:
    """The estimate beside the true value; stops if they are too far apart."""
    yield f"\n{'':12}{'truth':>10}{'estimate':>10}{'std error':>11}   95% interval"
    for word, count, share, error, low, high in zip(WORDS, counts, *estimated, strict=True):
        truth = count / rows
        yield f"{word:12}{truth:10.6f}{share:10.6f}{error:11.6f}   {low:.6f} to {high:.6f}"
        near = abs(share - truth) <= STANDARD_ERRORS * error
        stop_unless(near, "estimate", f"the share of {word!r} is too far from the truth")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.billion", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--folder", type=Path, help="where to work; by default the system's")
    options = parser.parse_args(arguments)
    print(f"{machine()}\n{options.rows:,} rows\n", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for line in run(options.rows, Path(folder)):
            print(line, flush=True)
    print(
        "\nall checks passed: rows, ids, ages, distribution, noise of neighbouring parts, estimates"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
