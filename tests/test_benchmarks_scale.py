"""The benchmarks of engines and of a thousand million rows check what they time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
START = ROOT / "benchmarks" / "__init__.py"

pytestmark = pytest.mark.skipif(
    not START.exists(), reason="the tests were copied away from the benchmarks"
)

if START.exists():
    # By its place, as in test_benchmarks.py: an rrstats beside it is not the one to be tested.
    _spec = importlib.util.spec_from_file_location(
        "benchmarks", START, submodule_search_locations=[str(START.parent)]
    )
    sys.modules.setdefault("benchmarks", importlib.util.module_from_spec(_spec))
    from benchmarks import billion, engines, files, inputs, measuring, processes

TINY = {"rows": 5000, "rounds": 1, "quick": True}


# -- memory of a tree ----------------------------------------------------------------------


@pytest.mark.slow
def test_the_memory_of_a_tree_has_the_processes_below_it():
    """A child that holds 64 MiB for a moment is seen, and its child is; ours alone is less."""
    if processes.highest() is None:
        pytest.skip("only Linux tells it")
    alone = processes.highest()
    inner = "held = bytearray(1 << 26); import time; time.sleep(0.5)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with processes.TreeMemory() as memory:
        subprocess.run([sys.executable, "-c", outer], check=True)
    assert memory.highest > alone + (1 << 26)
    with processes.TreeMemory() as later:
        time.sleep(0.01)
    assert later.highest < memory.highest - (1 << 26)


# -- engines -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_plain_loop_is_measured_and_every_other_engine_is_named_where_it_is_absent(monkeypatch):
    """Seconds and counts beside the copy; a line says which package an engine lacks."""
    pytest.importorskip("pyarrow")
    lacking = {"polars", "dask", "pyspark"}
    find = engines.find_spec
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name in lacking else find(name))
    lines = list(engines.lines(measuring.Settings(**TINY)))
    cases = [(line.case, line.unit, line.rival) for line in lines if line.ours]
    assert [
        ("plain loop, privatize", "s", engines.COPY),
        ("plain loop, count", "ms", engines.COUNT),
    ] == cases
    notes = {line.case: line.note for line in lines if not line.ours}
    assert ["Polars", "Dask", "Spark"] == list(notes)
    for note, package in zip(notes.values(), ("polars", "dask", "pyspark"), strict=True):
        assert note.startswith("skipped: without ")
        assert package in note


def test_a_lost_row_a_second_one_and_shared_noise_are_not_timed(tmp_path):
    """A release is stopped for rows that are not there once, and for parts with one noise."""
    pytest.importorskip("pyarrow")
    size = 3000
    for part in range(engines.PARTS):
        files.make(tmp_path / f"{part}.parquet", size, part * size)
    rows = size * engines.PARTS
    truth = engines.read(tmp_path, rows)
    reports = inputs.textbook(truth, 4)
    engines.check_release("right", truth, reports)
    with pytest.raises(SystemExit, match="a row is lost or there twice"):
        engines.read(tmp_path, rows + 1)
    files.make(tmp_path / "0.parquet", size, size)  # the ids of the second part
    with pytest.raises(SystemExit, match="a row is lost or there twice"):
        engines.read(tmp_path, rows)
    noise = (reports - truth) % 4
    noise[size : 2 * size] = noise[:size]
    with pytest.raises(SystemExit, match="two parts share their noise"):
        engines.check_release("shared", truth, ((truth + noise) % 4).astype(np.int8))


# -- the large run -------------------------------------------------------------------------


@pytest.fixture
def _small(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(billion, "PART", 10_000)
    monkeypatch.setattr(billion, "BLOCK", 4096)


def _phases(folder, rows, names=None):
    places = str(folder / "answers"), str(folder / "reports")
    return {name: billion.phase(name, rows, *places) for name in names or billion.PHASES}


@pytest.mark.usefixtures("_small")
def test_a_small_large_run_passes_its_own_checks(tmp_path):
    """Three parts, the last one smaller: made, released, checked, estimated near the truth."""
    found = _phases(tmp_path, 23_000)
    assert ["make the answers", "privatize", "check every row", "estimate"] == list(found)
    counts = found["make the answers"]["counts"]
    assert 23_000 == sum(counts)
    assert all(phase["seconds"] > 0 and phase["work"] > 0 for phase in found.values())
    shown = list(billion._compared(counts, found["estimate"]["estimate"], 23_000))
    assert 5 == len(shown)
    assert 3 == len(list((tmp_path / "reports").glob("*.parquet")))
    with pytest.raises(SystemExit, match="too far from the truth"):
        list(billion._compared(counts[::-1], found["estimate"]["estimate"], 23_000))


def _write(folder, noise, *, first=0):
    """Reports with this noise, in the place of a release; ids from ``first`` on."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "reports").mkdir()
    for part, lies in enumerate(noise):
        table = pq.read_table(folder / "answers" / f"part-{part:05d}.parquet")
        codes = [inputs.WORDS.index(word) for word in table["answer"].to_pylist()]
        reports = np.array(inputs.WORDS)[(np.array(codes) + lies) % 4]
        changed = {"answer": pa.array(reports), "id": pa.array(table["id"].to_numpy() + first)}
        for name, column in changed.items():
            table = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(table, folder / "reports" / f"part-{part:05d}.parquet")


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    ("fault", "said"),
    [("none", ""), ("no noise", "follow the law"), ("shared", "two parts share their noise"),
     ("other ids", "other columns")],
)  # fmt: skip
def test_the_large_run_stops_at_a_wrong_release(tmp_path, fault, said):
    """The truth itself, one noise for two parts, and changed ids do not pass its check."""
    rows = 10_000 if fault == "no noise" else 20_000  # one part, or two
    _phases(tmp_path, rows, ["make the answers"])
    zeros = np.zeros(rows, np.int64)
    noise = (zeros if fault == "no noise" else inputs.textbook(zeros, 4)).reshape(-1, 10_000)
    if fault == "shared":
        noise[1] = noise[0]
    _write(tmp_path, noise, first=int(fault == "other ids"))
    if not said:
        _phases(tmp_path, rows, ["check every row"])
        return
    with pytest.raises(SystemExit, match=said):
        _phases(tmp_path, rows, ["check every row"])
