"""A column privatized in parts: words go on, counts add up, policies hold, memory stays flat."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scripted
from refusals import refused

import rrstats as rr
from rrstats.data.columns import open_column
from rrstats.privatization import column as column_release
from rrstats.privatization.column import ColumnRelease
from rrstats.randomness.sources import BLOCK_ROWS

WORDS = ["never", "once", "often"]
M = rr.KRR(WORDS, 0.75)
CODES = rr.KRR(range(5), 0.4)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_parts_of_whole_blocks_are_the_whole(parts):
    """Under given words a column has the same reports in one part or in several."""
    truth = np.arange(3 * BLOCK_ROWS + 500, dtype=np.uint8) % 5
    whole = rr.privatize(truth, CODES, rng=scripted.Counting(3))
    release = ColumnRelease(truth[:0], CODES, rng=scripted.Counting(3))
    borders = [0, *(BLOCK_ROWS * at for at in range(1, parts)), len(truth)]
    made = [release.reports(truth[a:b]) for a, b in pairwise(borders)]
    assert whole.tolist() == np.concatenate(made).tolist()


@pytest.mark.parametrize(
    ("unknown", "missing", "refuses"),
    [
        ("raise", "unknown", (2, 2)),
        ("raise", "keep", (2, 0)),
        ("raise", "uniform", (2, 0)),
        ("raise", "raise", (2, 2)),
        ("uniform", "unknown", (0, 0)),
        ("uniform", "keep", (0, 0)),
        ("uniform", "raise", (0, 2)),
    ],
)
def test_counts_add_up_and_say_what_the_policies_refuse(unknown, missing, refuses):
    """Rows, unknown and missing answers are counted over all parts; nothing raises before."""
    for threads in (1, 2):
        release = ColumnRelease([], M, unknown=unknown, missing=missing, threads=threads)
        for part in (["never", "x", None], ["once"], [], [None, "y"]):
            release.reports(part)
        assert (6, 2, 2) == (release.rows, release.unknown, release.missing)
        assert refuses == release.refused


def test_a_release_is_a_first_round_unless_it_says_so():
    """Its keyed words are those of `privatize`; of a round once more they are others."""
    pytest.importorskip("cryptography")
    options = {"key": rr.client.Key(bytes(range(32))), "question": "q"}
    answers, ids = ["never", "once", "often", "once"] * 10, list(range(40))
    reports = rr.privatize(answers, M, key=rr.client.Keyed(options["key"], ids, question="q"))
    assert ColumnRelease([], M, **options).reports(answers, ids=ids) == reports
    assert ColumnRelease([], M, again=True, **options).reports(answers, ids=ids) != reports


@pytest.mark.parametrize(("cores", "threads"), [(None, 1), (1, 1), (3, 3), (64, 4)])
def test_text_of_arrow_takes_up_to_four_threads(monkeypatch, cores, threads, pa):
    """Its strings are read outside Python's lock; the number given counts, for other columns 1."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    text = open_column(pa.array(["never"]))
    assert column_release.threads_for(text, None) == threads
    assert column_release.threads_for(text, 7) == 7
    assert column_release.threads_for(open_column(["never"]), None) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_count_and_keep_missing_answers_alike(threads):
    """Counts and places of missing answers do not depend on who works on which block."""
    truth = pd.Series(["never", None, "x"] * BLOCK_ROWS, dtype="category")
    release = ColumnRelease(truth, M, missing="keep", rng=scripted.Counting(1), threads=threads)
    reports = release.reports(truth)
    assert truth.isna().tolist() == reports.isna().tolist()
    assert (BLOCK_ROWS, BLOCK_ROWS) == (release.unknown, release.missing)
    again = rr.privatize(truth, M, missing="keep", unknown="uniform", rng=scripted.Counting(1))
    assert again.tolist()[::3] == reports.tolist()[::3]


def test_threads_by_default_where_they_help(monkeypatch):
    """Text in Arrow is shared among at most four processors, codes among none."""
    monkeypatch.setattr(os, "cpu_count", lambda: 8)

    def threads(cells):
        return column_release.threads_for(open_column(cells), None)

    for cells, expected in ((np.array([1, 2]), 1), (["never"], 1), (pd.Categorical(["x"]), 1)):
        assert expected == threads(cells)
    arrow = pytest.importorskip("pyarrow")
    for cells in (arrow.array(["x"]), pd.array(["x"], dtype=pd.ArrowDtype(arrow.string()))):
        assert threads(cells) == 4
    assert threads(arrow.array([1])) == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda codes: codes,
        lambda codes: codes.astype(bool),
        lambda codes: pd.Series(pd.Categorical.from_codes(codes.view(np.int8), WORDS)),
        lambda codes: pd.Series(codes).astype("UInt8"),
    ],
    ids=["bytes", "bool", "Categorical", "UInt8"],
)
def test_nothing_as_long_as_the_column_stands_beside_the_result(build):
    """Beyond input and output, privatizing 24,000,000 rows takes less than 16 MiB."""
    rows = 24_000_000
    values = build(np.zeros(rows, dtype=np.uint8))
    categories = {"b": [False, True], "u": [0, 1, 2]}.get(values.dtype.kind, WORDS)
    mechanism = rr.KRR(categories, 0.75)
    rr.privatize(values[:10], mechanism)
    tracemalloc.start()
    try:
        reports = rr.privatize(values, mechanism)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(reports) == rows
    output = held if values.dtype != "UInt8" else 2 * rows
    assert peak - output < 16 * 2**20


@pytest.mark.slow
def test_text_takes_no_second_column_either(pa):
    """The same for strings, which Arrow holds: its high-water mark, in a fresh process."""
    code = """
        import numpy as np, pandas as pd, pyarrow as pa, rrstats as rr
        words = ["never", "once", "often"]
        codes = pd.Categorical.from_codes(np.zeros(3_000_000, dtype=np.int8), words)
        values = pa.chunked_array([pa.array(codes).dictionary_decode()])
        before = max(pa.total_allocated_bytes(), pa.default_memory_pool().max_memory())
        reports = rr.privatize(values, words, 0.75)
        print(pa.default_memory_pool().max_memory() - max(before, pa.total_allocated_bytes()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 16 * 2**20


def test_parts_from_several_threads_never_share_noise():
    """Blocks are taken before anything is drawn, and each only once."""
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 5, 20_000).astype(np.uint8) for _ in range(2))
    for _ in range(20):
        release = ColumnRelease(first, CODES)
        barrier = threading.Barrier(2)

        def part(values, release=release, barrier=barrier):
            barrier.wait()
            return release.reports(values)

        with ThreadPoolExecutor(2) as pool:
            one, other = pool.map(part, (first, second))
        # Reports differ just as the truths do: 0.4**2 + 4 * 0.15**2 = 0.25 where noise is
        # independent, and nearly always if it is shared.
        assert np.mean((one.astype(int) - other) % 5 == (first.astype(int) - second) % 5) < 0.5
        assert release.rows == 40_000


def test_blocks_of_a_part_that_failed_are_never_used_again(monkeypatch):
    """Who tries again gets new words."""
    source = scripted.Recorded(scripted.Counting(2))
    release = ColumnRelease(np.array([], np.uint8), CODES, rng=source)
    truth = np.zeros(10, dtype=np.uint8)
    with monkeypatch.context() as patched:
        patched.setattr(column_release, "randomize_block", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            release.reports(truth)
    release.reports(truth)
    assert {1} == {asked.block for asked in source.log}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_must_make_its_own():
    """A child that goes on with its parent's release would draw the parent's noise: refused."""
    release = ColumnRelease(np.array([], np.uint8), CODES)
    release.reports(np.zeros(5, dtype=np.uint8))
    with mock.patch.object(os, "getpid", return_value=-1), pytest.raises(TypeError, match="forked"):
        release.reports(np.zeros(5, dtype=np.uint8))
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        refused(TypeError, "pickled", way, release)


@pytest.mark.parametrize("threads", [1, 2, 4, None])
def test_chunks_with_dictionaries_of_their_own_are_read_with_their_own(threads):
    """Every answer is "a", in chunks with rotated dictionaries; at 0.999 so are the reports."""
    arrow = pytest.importorskip("pyarrow")
    letters, chunks = ["a", "b", "c", "d"], []
    for turn in range(16):
        words = letters[turn % 4 :] + letters[: turn % 4]
        codes = np.full(BLOCK_ROWS, words.index("a"), dtype=np.int32)
        chunks.append(arrow.DictionaryArray.from_arrays(codes, arrow.array(words)))
    mechanism = rr.KRR(letters, 0.999)
    reports = rr.privatize(arrow.chunked_array(chunks), mechanism, threads=threads)
    # 4,194,304 rows: 4,190,110 expected, standard deviation 65.
    assert rr.tally(reports, mechanism).reported[0] > 4_189_000
