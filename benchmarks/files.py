"""What does it cost to privatize a file, beside plainly copying it?

The copy is a loop of pyarrow over the same batches and row groups, to the same encodings; reports
are noisier than answers, so that writing them takes more bytes.  pyarrow uses its threads in both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import rrstats as rr
from benchmarks.inputs import WORDS, answers
from benchmarks.measuring import PROB, Settings, Way, check_law, stop_unless, take_turns
from benchmarks.processes import MIB, fresh, highest
from benchmarks.running import alone
from benchmarks.table import Line, Target, at_most, side_by_side

TITLE = "Privatize one column of a file (id int64, answer string, age int16)"

BATCH = 1 << 18
GROUP = 4 * BATCH
LARGE = 100_000_000
LIMIT = 500
CHECKED = 10_000_000
"""Rows that are checked of a larger file."""


def _batches(rows: int, first: int = 0) -> Iterator[Any]:
    """The rows of a file, in batches of a row group each; ids from ``first`` on."""
    import pyarrow as pa

    labels = pa.array(WORDS)
    for start in range(first, first + rows, GROUP):
        size = min(GROUP, first + rows - start)
        codes = answers(len(WORDS), size, np.int8)
        ages = (18 + np.arange(start, start + size) * 31 % 71).astype(np.int16)
        yield pa.record_batch(
            {
                "id": pa.array(np.arange(start, start + size)),
                "answer": labels.take(pa.array(codes)),
                "age": pa.array(ages),
            }
        )


def make(path: Path, rows: int, first: int = 0) -> None:
    """Write the file that is to be privatized; its ids start with ``first``."""
    batches = _batches(rows, first)
    batch = next(batches)
    with _writer(path, batch.schema) as writer:
        writer.write_batch(batch)
        for batch in batches:
            writer.write_batch(batch)


def _writer(path: Path, schema: Any) -> Any:
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if path.suffix == ".csv":
        return pacsv.CSVWriter(path, schema)
    # The ids are all different: a dictionary of them is given up again, at some cost.
    return pq.ParquetWriter(path, schema, use_dictionary=["answer", "age"])


def plain_copy(source: Path, target: Path) -> None:
    """The shortest loop that copies a file and does not hold it in memory."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if source.suffix == ".csv":
        with pacsv.open_csv(source) as reader, _writer(target, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    with pq.ParquetFile(source) as file, _writer(target, file.schema_arrow) as writer:
        for group in range(file.num_row_groups):
            batches = list(file.iter_batches(BATCH, row_groups=[group]))
            writer.write_table(pa.Table.from_batches(batches))


def privatized(source: Path, target: Path) -> None:
    """What a user calls, each time as if it were the first."""
    import rrstats.files

    ledger = target.with_name("ledger.json")
    ledger.unlink(missing_ok=True)
    mechanisms = {"answer": rr.KRR(WORDS, PROB)}
    rrstats.files.privatize_file(source, target, mechanisms, overwrite=True, ledger=ledger)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "rrstats": privatized,
    "plain pyarrow copy": plain_copy,
}


def read(path: Path) -> tuple[Any, Any]:
    """Codes of the answers, and the ids, of at most `CHECKED` rows."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if path.suffix == ".csv":
        table = pacsv.read_csv(path)
    else:
        with pq.ParquetFile(path) as file:
            groups = range(min(file.num_row_groups, -(-CHECKED // GROUP)))
            table = file.read_row_groups(groups, columns=["id", "answer"])
    codes = pc.index_in(table["answer"].cast(pa.string()), pa.array(WORDS))
    return codes.fill_null(-1).to_numpy(), table["id"].to_numpy()


def check(name: str, source: Path, target: Path) -> None:
    """Stop unless the ids are unchanged and the answers have the distribution."""
    truth, ids = read(source)
    reports, released = read(target)
    stop_unless(np.array_equal(ids, released), name, "the ids are not those of the source")
    if name == "rrstats":
        check_law(name, truth, reports, len(WORDS))
    else:
        stop_unless(np.array_equal(truth, reports), name, "the copy is no copy")


def peak(name: str, source: str, target: str) -> dict[str, float | None]:
    """Seconds and the most memory of this process, all imports included, in MiB."""
    start = time.perf_counter()
    WAYS[name](Path(source), Path(target))
    most = highest()
    return {"seconds": time.perf_counter() - start, "MiB": None if most is None else most / MIB}


def _format(suffix: str, rows: int, rounds: int, target: Target | None, folder: Path) -> list[Line]:
    source = folder / f"source{suffix}"
    targets = {name: folder / f"{name.partition(' ')[0]}{suffix}" for name in WAYS}
    make(source, rows)
    ways = [
        Way(
            name,
            lambda run=run, name=name: run(source, targets[name]),
            lambda _, name=name: check(name, source, targets[name]),
            1,
        )
        for name, run in WAYS.items()
    ]
    rival, case = "plain pyarrow copy", f"{suffix[1:]}, {rows:,} rows"
    times = take_turns(ways, rounds)
    return side_by_side(case, "s", times, {rival: target}) + _memory(
        suffix, source, targets, case, rounds=min(rounds, 3)
    )


def _memory(
    suffix: str, source: Path, targets: dict[str, Path], case: str, rounds: int
) -> list[Line]:
    """The highest memory of fresh processes."""
    rival, most = "plain pyarrow copy", {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, numbers in most.items():
            done = fresh("files:peak", name=name, source=str(source), target=str(targets[name]))
            numbers += [] if done["MiB"] is None else [done["MiB"]]
    note = "" if most["rrstats"] else "only Linux tells it"
    limit = at_most(LIMIT)
    return [Line(case, "MiB", most["rrstats"], rival, most[rival], note=note, target=limit)]


def _large(folder: Path) -> list[Line]:
    """Once each, in fresh processes: seconds and memory."""
    rival, case = "plain pyarrow copy", f"parquet, {LARGE:,} rows"
    source, found = folder / "large.parquet", {}
    make(source, LARGE)
    for name in WAYS:
        target = folder / "large-target.parquet"
        found[name] = fresh("files:peak", name=name, source=str(source), target=str(target))
        check(name, source, target)
        target.unlink()
    seconds, memory = (
        {name: [done[unit]] * (done[unit] is not None) for name, done in found.items()}
        for unit in ("seconds", "MiB")
    )
    limit = at_most(LIMIT)
    return [
        Line(case, "s", seconds["rrstats"], rival, seconds[rival], target=Target(1 / 1.3)),
        Line(case, "MiB", memory["rrstats"], rival, memory[rival], target=limit),
    ]


def lines(settings: Settings) -> Iterator[Line]:
    """Parquet, CSV with a fifth of the rows, and with --large a file of 100,000,000 rows."""
    if find_spec("pyarrow") is None:
        yield Line("files", "s", rival="plain pyarrow copy", note="needs pyarrow")
        return
    rounds = settings.rounds if settings.quick else min(settings.rounds, 5)
    cases = ((".parquet", settings.rows, Target(1 / 1.3)), (".csv", settings.rows // 5, None))
    for suffix, rows, target in cases:
        with tempfile.TemporaryDirectory() as folder:
            yield from _format(suffix, rows, rounds, target, Path(folder))
    if settings.large:
        with tempfile.TemporaryDirectory() as folder:
            yield from _large(Path(folder))


if __name__ == "__main__":
    sys.exit(alone("files"))
