"""What does an engine take to privatize and to count, beside its own plain copy and count?

Ten Parquet files.  Each engine runs in fresh processes of its own, started before the clock: one
in which both ways take turns for seconds, and one for each way's memory, which is that of the
whole tree of processes.  The plain loop is `rr.files`, which needs no engine.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rrstats as rr
from benchmarks.files import make, plain_copy
from benchmarks.inputs import WORDS
from benchmarks.measuring import PROB, Settings, Way, check_law, stop_unless, take_turns
from benchmarks.processes import MIB, ROOT, TreeMemory, fresh
from benchmarks.running import alone
from benchmarks.table import Line, at_most

TITLE = "Ten Parquet files (id int64, answer string, age int16) on engines, two cores"

PARTS = 10
LIMIT = 500
COPY, COUNT = "its own plain copy", "its own count"
MECHANISM = rr.KRR(WORDS, PROB)


@dataclass(frozen=True)
class Engine:
    """A running engine: what a user calls, and what the engine does by itself.

    Sources and targets are directories, but for one file where ``ending`` says so.
    """

    privatize: Callable[[Path, Path], object]
    copy: Callable[[Path, Path], object]
    tally: Callable[[Path], rr.Tally]
    count: Callable[[Path], Mapping[Any, int]]
    ending: str = ""


# -- the engines ---------------------------------------------------------------------------


def _ledger(target: Path) -> Path:
    """A new account each time, as if it were the first release."""
    ledger = target.with_name("ledger.json")
    ledger.unlink(missing_ok=True)
    return ledger


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]


@contextmanager
def _plain(quick: bool) -> Iterator[Engine]:
    import pyarrow.parquet as pq

    import rrstats.files

    def copy(source: Path, target: Path) -> None:
        target.mkdir()
        for part in _parts(source):
            plain_copy(part, target / part.name)

    def count(source: Path) -> Mapping[Any, int]:
        found: Counter[str] = Counter()
        for part in _parts(source):
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(columns=["answer"]):
                    for value in batch.column(0).value_counts().to_pylist():
                        found[value["values"]] += value["counts"]
        return found

    yield Engine(
        lambda source, target: rrstats.files.privatize_file(
            source, target, {"answer": MECHANISM}, ledger=_ledger(target)
        ),
        copy,
        lambda source: rrstats.files.tally_file(source, "answer"),
        count,
    )


@contextmanager
def _polars(quick: bool) -> Iterator[Engine]:
    import polars as pl

    import rrstats.engines.polars as engine

    def rows(source: Path) -> Any:
        return pl.scan_parquet(_parts(source))

    def count(source: Path) -> Mapping[Any, int]:
        counted = rows(source).group_by("answer").len().collect(engine="streaming")
        return dict(counted.iter_rows())

    yield Engine(
        lambda source, target: engine.sink_privatized(rows(source), target, {"answer": MECHANISM}),
        lambda source, target: rows(source).sink_parquet(target),
        lambda source: rr.tally(rows(source), MECHANISM, columns="answer"),
        count,
        ending=".parquet",
    )


@contextmanager
def _dask(quick: bool) -> Iterator[Engine]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import rrstats.engines.dask as engine

    def count(source: Path) -> Mapping[Any, int]:
        answers = dd.read_parquet(source, columns=["answer"])["answer"]
        return answers.value_counts().compute().to_dict()

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        yield Engine(
            lambda source, target: engine.privatize_parquet(
                source, target, {"answer": MECHANISM}, ledger=_ledger(target)
            ),
            lambda source, target: dd.read_parquet(source).to_parquet(target, write_index=False),
            lambda source: rr.tally(dd.read_parquet(source), MECHANISM, columns="answer"),
            count,
        )


@contextmanager
def _spark(quick: bool) -> Iterator[Engine]:
    from pyspark.sql import SparkSession

    import rrstats.engines.spark as engine

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Spark's workers import rrstats too, which may lie beside this package.
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    options = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    if quick:  # for so short a life thorough compilation takes longer than it saves
        options["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
    spark = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def rows(source: Path) -> Any:
        return spark.read.parquet(str(source))

    def count(source: Path) -> Mapping[Any, int]:
        return dict(map(tuple, rows(source).groupBy("answer").count().collect()))

    try:
        yield Engine(
            lambda source, target: engine.privatize_parquet(
                str(source), str(target), {"answer": MECHANISM}, spark=spark
            ),
            lambda source, target: rows(source).write.parquet(str(target)),
            lambda source: rr.tally(rows(source), MECHANISM, columns="answer"),
            count,
        )
    finally:
        spark.stop()


OPEN: dict[str, Callable[[bool], AbstractContextManager[Engine]]] = {
    "plain loop": _plain,
    "Polars": _polars,
    "Dask": _dask,
    "Spark": _spark,
}

NEEDS = {
    "plain loop": ("pyarrow",),
    "Polars": ("pyarrow", "polars", "narwhals"),
    "Dask": ("pyarrow", "dask", "distributed", "narwhals"),
    "Spark": ("pyarrow", "pyspark", "narwhals"),
}


def absent(name: str) -> str:
    """What an engine lacks here; nothing if it can run."""
    lacking = [package for package in NEEDS[name] if find_spec(package) is None]
    home = os.environ.get("JAVA_HOME")
    if name == "Spark" and not shutil.which("java", path=f"{home}/bin" if home else None):
        lacking.append("Java")
    return f"skipped: without {', '.join(lacking)}" if lacking else ""


# -- the checks ----------------------------------------------------------------------------


def read(folder: Path, rows: int) -> NDArray[Any]:
    """The codes of the answers in the order of the ids; stops unless each id is there once."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    codes, times = np.full(rows, -1, np.int8), 0
    for part in _parts(folder):
        table = pq.read_table(part, columns=["id", "answer"])
        found = pc.index_in(table["answer"].cast(pa.string()), pa.array(WORDS))
        codes[table["id"].to_numpy()] = found.fill_null(-1).to_numpy()
        times += table.num_rows
    stop_unless(times == rows and codes.min() >= 0, str(folder), "a row is lost or there twice")
    return codes


def check_release(name: str, truth: NDArray[Any], reports: NDArray[Any]) -> None:
    """Stop unless reports have the distribution, and no two parts share their noise."""
    check_law(name, truth, reports, len(WORDS))
    noise = ((reports - truth) % len(WORDS)).reshape(PARTS, -1)
    shared = len({part.tobytes() for part in noise}) < PARTS
    stop_unless(not shared, name, "two parts share their noise")


# -- in fresh processes --------------------------------------------------------------------


def times(
    name: str, source: str, folder: str, rows: int, rounds: int, quick: bool
) -> dict[str, Any]:
    """Seconds of the start, and of each way in each round, all of them checked."""
    origin, work, truth = Path(source), Path(folder), read(Path(source), rows)
    start = time.perf_counter()
    with OPEN[name](quick) as engine:
        started = time.perf_counter() - start

        counted = work / f"counted{engine.ending}"

        def check(target: Path, is_copy: bool) -> None:
            found = read(target, rows)
            if is_copy:
                stop_unless(np.array_equal(truth, found), name, "the copy is no copy")
                _remove(target)
            else:
                check_release(name, truth, found)
                _remove(counted)
                target.rename(counted)

        targets = {way: work / f"{way}{engine.ending}" for way in ("privatize", "copy")}
        written = take_turns(
            [
                Way(
                    way,
                    lambda way=way: getattr(engine, way)(origin, targets[way]),
                    lambda _, way=way: check(targets[way], is_copy=way == "copy"),
                    1,
                )
                for way in targets
            ],
            rounds,
        )
        expected = np.bincount(read(counted, rows), minlength=len(WORDS)).tolist()
        ways = {
            "tally": lambda: engine.tally(counted).reported.tolist(),
            "count": lambda: list(map(engine.count(counted).get, WORDS)),
        }

        def agree(found: Any) -> None:
            stop_unless(expected == found, name, "the counts are not those of the file")

        read_again = take_turns([Way(n, run, agree, 1000) for n, run in ways.items()], rounds)
    return {"start": started, **written, **read_again}


def _remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def peak(name: str, way: str, source: str, folder: str) -> float | None:
    """The most memory, in MiB, of all processes while one way runs once."""
    with OPEN[name](False) as engine, TreeMemory() as memory:
        target = Path(folder) / f"memory{engine.ending}"
        getattr(engine, way)(Path(source), target)
    _remove(target)
    return None if memory.highest is None else memory.highest / MIB


# -- the table -----------------------------------------------------------------------------


def _engine(name: str, source: Path, settings: Settings) -> Iterator[Line]:
    rows, rounds = _rows(settings), min(settings.rounds, 1 if settings.quick else 3)
    with tempfile.TemporaryDirectory() as folder:
        asked = {"name": name, "source": str(source), "folder": folder}
        found = fresh("engines:times", **asked, rows=rows, rounds=rounds, quick=settings.quick)
        if name in ("Dask", "Spark"):
            yield Line(f"{name}, to start it", "s", [found["start"]])
        case = f"{name}, privatize"
        yield Line(case, "s", found["privatize"], COPY, found["copy"])
        if not settings.quick:
            mine, its = (
                [most] if (most := fresh("engines:peak", way=way, **asked)) is not None else []
                for way in ("privatize", "copy")
            )
            target = at_most(LIMIT) if name in ("plain loop", "Polars") else None
            note = "" if mine else "only Linux tells it"
            yield Line(case, "MiB", mine, COPY, its, note=note, target=target)
        yield Line(f"{name}, count", "ms", found["tally"], COUNT, found["count"])


def _rows(settings: Settings) -> int:
    return settings.rows // PARTS * PARTS


def lines(settings: Settings) -> Iterator[Line]:
    """Each engine that is here: its start, seconds and memory to privatize, seconds to count."""
    with tempfile.TemporaryDirectory() as folder:
        source, size = Path(folder) / "answers", _rows(settings) // PARTS
        for name in OPEN:
            why = absent(name)
            if not why and settings.quick and name == "Spark":
                why = "left out of --quick: its start takes longer than all the rest"
            if why:
                yield Line(name, "s", rival=COPY, note=why)
                continue
            if not source.exists():
                source.mkdir()
                for part in range(PARTS):
                    make(source / f"part-{part}.parquet", size, part * size)
            yield from _engine(name, source, settings)


if __name__ == "__main__":
    sys.exit(alone("engines"))
