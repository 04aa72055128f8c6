"""The benchmarks run, compare like with like, say what is absent, and time no wrong sampler."""

import gc
import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr

ROOT = Path(__file__).resolve().parent.parent
START = ROOT / "benchmarks" / "__init__.py"

pytestmark = pytest.mark.skipif(
    not START.exists(), reason="the tests were copied away from the benchmarks"
)

if START.exists():
    # Loaded by its place, not by the path of imports: there an rrstats beside it would win over
    # the installed one that is being tested.
    _spec = importlib.util.spec_from_file_location(
        "benchmarks", START, submodule_search_locations=[str(START.parent)]
    )
    sys.modules.setdefault("benchmarks", importlib.util.module_from_spec(_spec))
    from benchmarks import (
        billion,
        engines,
        files,
        inputs,
        measuring,
        page,
        records,
        rivals,
        running,
        subsets,
        table,
        timing,
    )

    QUESTIONS = running.QUESTIONS
    RIVALS = list(rivals.RIVALS)
else:
    QUESTIONS, RIVALS = (), []


@pytest.fixture(scope="module", autouse=True)
def _frozen_objects():
    """What thousands of tests left behind would make each collection between turns slow."""
    gc.collect()
    gc.freeze()


# -- the distribution ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "k", "rows"),
    [("uint8", 2, 50_000), ("uint8", 4, 50_000), ("uint8", 100, 50_000), ("uint16", 1000, 50_000),
     ("uint16", 1000, 1000), ("int32", 5000, 20_000)],
)  # fmt: skip
def test_right_reports_pass(dtype, k, rows):
    """Reports of rrstats and of textbook NumPy pass, also where most lies occur never or once.

    At most 102 comparisons each, and less than 1e-11 a comparison.
    """
    truth = inputs.answers(k, rows, np.dtype(dtype))
    measuring.check_law("rrstats", truth, rr.privatize(truth, range(k), measuring.PROB), k)
    measuring.check_law("textbook", truth, inputs.textbook(truth, k), k)


def _keep(truth, rng, prob=0.75):
    return rng.random(len(truth)) < prob


WRONG = {
    "lies may hit the truth": lambda truth, k, rng: np.where(
        _keep(truth, rng), truth, rng.integers(0, k, len(truth))
    ),
    "lies to the neighbour": lambda truth, k, rng: np.where(
        _keep(truth, rng), truth, (truth + 1) % k
    ),
    "the truth of some is truer": lambda truth, k, rng: np.where(
        _keep(truth, rng, np.where(truth == 0, 0.7, 0.7 + 0.05 / (truth != 0).mean())),
        truth,
        (truth + rng.integers(1, k, len(truth))) % k,
    ),
    "off by two percent": lambda truth, k, rng: np.where(
        _keep(truth, rng, 0.735), truth, (truth + rng.integers(1, k, len(truth))) % k
    ),
}


@pytest.mark.parametrize("k", [4, 100])
@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_distribution_is_not_timed(fault, k):
    """A sampler that does not have the distribution stops the run."""
    # A lie that may hit one truth of 100 raises the share of true reports by 0.0025 only.
    rows = 6_000_000 if (fault, k) == ("lies may hit the truth", 100) else 200_000
    truth = inputs.answers(k, rows, np.uint8)
    reports = WRONG[fault](truth, k, np.random.default_rng(1)).astype(np.uint8)
    with pytest.raises(SystemExit, match="do not have the distribution; its time means nothing"):
        measuring.check_law("wrong", truth, reports, k)
    refused(SystemExit, "reports are missing", measuring.check_law, "wrong", truth, truth[1:], k)
    reports[7] = k
    refused(SystemExit, "a report is no category", measuring.check_law, "wrong", truth, reports, k)


# -- taking turns --------------------------------------------------------------------------


def test_ways_take_turns_and_the_warm_up_does_not_count(monkeypatch):
    """Each way runs once a round, behind another each time, checked; the first is not kept."""
    clock = itertools.count()
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: next(clock))
    ran, checked = [], []
    ways = [
        measuring.Way(name, lambda name=name: ran.append(name) or name, checked.append, scale)
        for name, scale in (("a", 1.0), ("b", 10.0), ("c", 100.0))
    ]
    times = measuring.take_turns(ways, rounds=3)
    assert {"a": (1.0,) * 3, "b": (10.0,) * 3, "c": (100.0,) * 3} == times
    assert list("abc" + "bca" + "cab" + "abc") == ran == checked


@pytest.mark.parametrize(
    ("ours", "theirs", "target", "reached"),
    [
        ((1.0,), (8.0,), ("ratio", 8), True),
        ((1.0,), (7.9,), ("ratio", 8), False),
        ((16.0,), (), ("most", 16), True),
        ((16.1,), (900.0,), ("most", 16), False),
        ((1.0,), (), ("ratio", 8), None),
        ((), (), ("most", 16), None),
    ],
)
def test_targets_are_judged_by_ratio_or_by_our_number(ours, theirs, target, reached):
    """At least a ratio, or at most a number; and not at all where there is nothing to judge."""
    kind, bound = target
    wanted = table.Target(bound) if kind == "ratio" else table.at_most(bound)
    line = table.Line("case", "unit", ours, "rival", theirs, target=wanted)
    assert line.reached is reached
    ending = {True: "  yes", False: "  no", None: str(wanted)}[reached]
    assert table.printed(line).endswith(ending)
    assert not table.printed(line, judge=False).endswith(("yes", "no"))


# -- the questions -------------------------------------------------------------------------


def test_the_plain_copy_of_a_file_is_one_and_a_wrong_file_is_not_timed(tmp_path):
    """The copy has the source's rows and encodings; it passes as a copy and not as reports."""
    pq = pytest.importorskip("pyarrow.parquet")
    for suffix in (".parquet", ".csv"):
        source, target = tmp_path / f"source{suffix}", tmp_path / f"target{suffix}"
        files.make(source, 30_000)
        files.plain_copy(source, target)
        files.check("plain pyarrow copy", source, target)
        refused(SystemExit, "do not have the distribution", files.check, "rrstats", source, target)
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    files.privatized(source, tmp_path / "reports.parquet")
    files.check("rrstats", source, tmp_path / "reports.parquet")
    groups = [
        pq.ParquetFile(tmp_path / name).metadata.row_group(0)
        for name in ("source.parquet", "target.parquet", "reports.parquet")
    ]
    for place in range(3):
        kinds = {(g.column(place).compression, g.column(place).encodings) for g in groups}
        assert len(kinds) == 1
    assert pq.read_table(source).equals(pq.read_table(target))
    files.make(target, 29_000)
    with pytest.raises(SystemExit, match="the ids are not those of the source"):
        files.check("rrstats", source, target)


@pytest.mark.parametrize("package", RIVALS[:1])
def test_an_absent_rival_gives_a_line_that_says_so(package, monkeypatch):
    """Without a library its line stays, with the reason and without a ratio."""
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    found = rivals.find(package, 4)
    assert rivals.NOT_INSTALLED == found
    name = rivals.NAMES.get(package, package)
    lines = list(records.lines(measuring.Settings(rows=1000, rounds=1, quick=True)))
    absent = [line for line in lines if line.rival == name]
    assert [found] * 2 == [line.note for line in absent]
    assert all(found in table.printed(line) for line in absent)
    assert [None] * 2 == [line.ratio for line in absent]


# -- rivals --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["unary", "selection"])
def test_wrong_subsets_are_not_timed(family):
    """Too much truth, too many others, and shares that are off each end the run."""
    mechanism = subsets.FAMILIES[family][0]()
    codes = inputs.answers(subsets.K, 5000, np.uint8)
    bits, rows = rr.privatize(codes, mechanism), np.arange(5000)
    own, more = bits.copy(), bits.copy()
    own[rows, codes] |= rows % 2 == 0  # 35 standard errors more; 8 are allowed
    more[:, 99] = True
    for wrong in (own, more, bits[1:]):
        with pytest.raises(SystemExit, match="its time means nothing"):
            subsets.check_bits("wrong", codes, wrong, mechanism)
    with pytest.raises(SystemExit, match="a share is off by"):
        subsets.check_shares("wrong", codes, np.roll(np.eye(1, 100)[0], 99), mechanism)


# -- timing ----------------------------------------------------------------------------------


def test_a_call_whose_time_tells_the_category_is_seen(monkeypatch):
    """A search from the first category on, as a list's, gives a correlation of 1."""
    now = 0

    def search(category):
        nonlocal now
        now += category

    monkeypatch.setattr(timing.time, "perf_counter_ns", lambda: now)
    assert timing.rank_correlation(timing.halves(search, range(50), times=5)) == pytest.approx(1)


# -- the command ---------------------------------------------------------------------------


def test_writes_the_page(tmp_path, capsys):
    """The page has the numbers as printed, machine, command and date, and what was not reached."""
    path = tmp_path / "benchmarks.md"
    arguments = ["--rows", "1000", "--rounds", "1", "--only", "counting"]
    assert running.main([*arguments, "--markdown", str(path)]) == 0
    text = path.read_text(encoding="utf-8").replace("\xa0", " ")
    printed = capsys.readouterr().out
    about = text.split("```text\n")[1].split("```")[0]
    assert "s in all; load " in about
    assert all(line in printed for line in about.splitlines())
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert ["Categorical, k = 4, ns/row", f"{inputs.TEXT}, k = 4, ns/row"] == [
        row[0] for row in rows[1:3]
    ]
    assert all(cell in printed for row in rows[1:3] for cell in row[1:5])
    head, rule = (line for line in text.splitlines() if line.startswith(("| case", "|---")))
    assert head.count("|") == rule.count("|") == 1 + len(rows[1])
    assert "python -m benchmarks --rows 1000 --rounds 1 --only counting" in text
    assert pd.Timestamp.now().strftime("%Y-") in text
    for place in ("{date}", "{command}", "{about}", "{verdict}", "{table}"):
        assert place in page.TEMPLATE.read_text(encoding="utf-8")
        assert place not in text


def test_the_page_names_each_target_that_was_missed():
    """Counted are the targets that could be judged; those missed are listed with their numbers."""
    fine = table.Line("fast", "ns/row", (1.0,), "textbook", (9.0,), target=table.Target(8))
    slow = table.Line("slow", "ns/row", (2.0,), "textbook", (9.0,), target=table.Target(8))
    large = table.Line("large", "MiB", (28.8,), target=table.at_most(16))
    absent = table.Line("none", "ns/row", (1.0,), "OpenDP", note="absent", target=table.Target(1))
    said = page.verdict([fine, slow, large, absent])
    assert "1 of 3 targets were met. Missed:" in said
    assert "- slow, against textbook: 4.5 x, target 8 x" in said
    assert "- large: 28.8 MiB, target <= 16" in said
    assert page.verdict([fine]).startswith("All 1 targets")


# -- engines -------------------------------------------------------------------------------


def test_a_lost_row_a_second_one_and_shared_noise_are_not_timed(tmp_path, pa):
    """A release is stopped for rows that are not there once, and for parts with one noise."""
    size = 3000
    for part in range(engines.PARTS):
        files.make(tmp_path / f"{part}.parquet", size, part * size)
    rows = size * engines.PARTS
    truth = engines.read(tmp_path, rows)
    reports = inputs.textbook(truth, 4)
    engines.check_release("right", truth, reports)
    refused(SystemExit, "a row is lost or there twice", engines.read, tmp_path, rows + 1)
    files.make(tmp_path / "0.parquet", size, size)  # the ids of the second part
    refused(SystemExit, "a row is lost or there twice", engines.read, tmp_path, rows)
    noise = (reports - truth) % 4
    noise[size : 2 * size] = noise[:size]
    with pytest.raises(SystemExit, match="two parts share their noise"):
        engines.check_release("shared", truth, ((truth + noise) % 4).astype(np.int8))


# -- the large run -------------------------------------------------------------------------


@pytest.fixture
def _small(monkeypatch, pa):
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
    [
        ("no noise", "have the distribution"),
        ("shared", "two parts share their noise"),
        ("other ids", "other columns"),
    ],
)
def test_the_large_run_stops_at_a_wrong_release(tmp_path, fault, said):
    """The truth itself, one noise for two parts, and changed ids do not pass its check."""
    rows = 10_000 if fault == "no noise" else 20_000  # one part, or two
    _phases(tmp_path, rows, ["make the answers"])
    zeros = np.zeros(rows, np.int64)
    noise = (zeros if fault == "no noise" else inputs.textbook(zeros, 4)).reshape(-1, 10_000)
    if fault == "shared":
        noise[1] = noise[0]
    _write(tmp_path, noise, first=int(fault == "other ids"))
    refused(SystemExit, said, _phases, tmp_path, rows, ["check every row"])
