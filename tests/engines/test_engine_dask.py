"""Dask on a real cluster of two processes: written once, whoever dies; lazy only with a key."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import chance  # all that follows needs Dask
import dask  # after importorskip
import dask.dataframe as dd  # after importorskip
import file_samples as files_of  # after importorskip
import pyarrow as pa  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from file_samples import names, read_directory  # after importorskip

import rrstats as rr  # after importorskip
import rrstats.engines.dask as rrd  # after importorskip
from rrstats import files  # after importorskip
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MetadataError,
    RRStatsError,
    RRStatsWarning,
    UnknownAnswersError,
)

Keyed = rr.client.Keyed

pytestmark = pytest.mark.slow

WORDS = ["never", "once", "often"]
KRR = rr.KRR(WORDS, 0.75)
COIN = rr.KRR(["no", "yes"], 0.75)
PLAN = {"answer": KRR}
KEY = rr.client.Key(bytes(range(32)))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two worker processes with one thread each."""
    folder = tmp_path_factory.mktemp("dask")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=str(folder),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def in_turn():
    """Dask's own scheduler, without a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def frame(n=600, **more):
    data = {
        "id": np.arange(n),
        "answer": [WORDS[i % 3] for i in range(n)],
        "age": np.arange(n) % 90,
    }
    return pd.DataFrame({**data, **more})


def parts(folder, tables):
    folder.mkdir()
    for place, table in enumerate(tables):
        pq.write_table(table, folder / f"p{place}.parquet", row_group_size=60_000)
    return folder


# -- the sink ------------------------------------------------------------------------------


class Killer(threading.Thread):
    """Kills the first worker that is seen with a half-written part."""

    def __init__(self, staging, workers):
        super().__init__(daemon=True)
        self.staging, self.workers = staging, workers
        self.killed: int | None = None
        self.over = threading.Event()

    def run(self):
        while self.killed is None and not self.over.is_set():
            for pid in self.workers:
                if self.writes(pid):
                    os.kill(pid, signal.SIGKILL)
                    self.killed = pid
                    return
            time.sleep(0.001)

    def writes(self, pid):
        try:
            for link in Path(f"/proc/{pid}/fd").iterdir():
                path = link.readlink()
                if path.is_relative_to(self.staging) and path.stat().st_size > 4:
                    return True
        except OSError:
            pass
        return False


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="sees open files by /proc")
def test_a_worker_killed_while_it_writes_changes_nothing(tmp_path, client):
    """Every record is released once, counts are right, no two parts share noise, nothing is left.

    The parts hold the same answers.  By chance two of 150,000 independent reports agree in all
    with probability 0.625**150000, and a correct sampler fails once in 1e9 for the pairs.
    """
    n = 300_000
    answers = pa.array(["no", "yes", "yes", "odd", None, "no"] * (n // 6))
    tables = [
        pa.table({"id": np.arange(n) + n * place, "answer": answers, "more": np.arange(n) * 7})
        for place in range(4)
    ]
    source = parts(tmp_path / "in", tables)
    workers = list(client.run(os.getpid).values())
    killer = Killer(tmp_path / ".out.part", workers)
    killer.start()
    receipt = rrd.privatize_parquet(
        source, tmp_path / "out", {"answer": COIN}, client=client, unknown="uniform"
    )
    killer.over.set()
    killer.join()
    assert killer.killed in workers
    assert ["_SUCCESS", "_rrstats.json", *(f"p{i}.parquet" for i in range(4))] == names(
        tmp_path / "out"
    )
    assert {"in", "in.rrstats-ledger.json", "out"} == {path.name for path in tmp_path.iterdir()}
    found = read_directory(tmp_path / "out")
    assert np.array_equal(np.arange(4 * n), found.column("id").to_numpy())
    assert np.array_equal(np.tile(np.arange(n) * 7, 4), found.column("more").to_numpy())
    assert 4 * n == receipt.rows
    assert {"answer": {"unknown": 4 * n // 6, "missing": 4 * n // 6}} == receipt.private
    says_yes = pa.compute.equal(found.column("answer"), "yes").to_numpy().reshape(4, n)
    truth = np.tile([False, True, True, False, False, False], n // 6)
    known = np.flatnonzero(np.arange(n) % 6 < 3)
    lies = (says_yes != truth)[:, known].astype(int)
    for one in range(4):
        for other in range(one):
            chance.assert_product(lies[one], lies[other], [0.75, 0.25], [0.75, 0.25])
    assert 4 * n == files.estimate_file(tmp_path / "out")["answer"].tally.n


def test_a_task_that_fails_for_good_leaves_nothing(tmp_path, client, capfd):
    """No target, nothing half-written, no entry in the ledger; a second try succeeds."""
    source = parts(tmp_path / "in", [pa.Table.from_pandas(frame()) for _ in range(4)])
    whole = (source / "p2.parquet").read_bytes()
    (source / "p2.parquet").write_bytes(whole[:60] + bytes(300) + whole[360:])
    with pytest.raises(FileError, match=r"p2\.parquet as a Parquet file: it is truncated"):
        rrd.privatize_parquet(source, tmp_path / "out", PLAN, client=client)
    assert ["in"] == names(tmp_path)
    assert "never" not in capfd.readouterr().err
    (source / "p2.parquet").write_bytes(whole)
    receipt = rrd.privatize_parquet(source, tmp_path / "out", PLAN, client=client, unknown="raise")
    assert {"answer": (1, KRR.epsilon)} == receipt.account


def test_refused_answers_are_counted_by_the_workers(tmp_path, client):
    """The default counts over all parts, of a path and of a frame, and quotes no answer."""
    data = frame().replace({"answer": {"often": "PRIVATE"}})
    source = parts(tmp_path / "in", [pa.Table.from_pandas(data), pa.Table.from_pandas(frame())])
    both = dd.from_pandas(pd.concat([data, frame()]), npartitions=3, sort=False)
    for given in (source, both):
        with pytest.raises(UnknownAnswersError, match=r"^200 of 1200 answers") as caught:
            rrd.privatize_parquet(given, tmp_path / "out", PLAN, client=client)
        assert "PRIVATE" not in str(caught.value)
    assert ["in"] == names(tmp_path)


def test_a_frame_of_the_user_that_fails_is_told_without_its_cells(tmp_path, client, capfd):
    """Whatever a task before ours raises, its text stays where it was raised."""

    def fails(data):
        raise ValueError(f"bad cell {data['answer'].iloc[0]}")

    lazy = dd.from_pandas(frame(), npartitions=2).map_partitions(fails, meta=frame().iloc[:0])
    with pytest.raises(FileError, match="ValueError; its message is not shown") as caught:
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, client=client)
    assert "never" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert [] == names(tmp_path)


def test_plans_and_empty_parts(tmp_path, in_turn):
    """A plan says what a mapping says; parts without rows are parts."""
    empty = pa.Table.from_pandas(frame()).slice(0, 0)
    source = parts(tmp_path / "in", [empty, pa.Table.from_pandas(frame()), empty])
    plan = files_of.document("answer", unknown="raise")
    seen = []
    receipt = rrd.privatize_parquet(
        source, tmp_path / "out", plan, progress=lambda rows, total: seen.append((rows, total))
    )
    assert [("answer", "raise")] == [(r.name, r.unknown) for r in receipt.records]
    assert [0, 600, 0] == [
        pq.read_metadata(tmp_path / "out" / f"p{i}.parquet").num_rows for i in range(3)
    ]
    assert [(0, 600), (600, 600), (600, 600)] == seen
    no_rows = dd.from_pandas(frame(), npartitions=3, sort=True).query("id > 500")
    receipt = rrd.privatize_parquet(no_rows, tmp_path / "frame", plan)
    assert 99 == receipt.rows
    assert 3 == len(list((tmp_path / "frame").glob("*.parquet")))


# -- a frame as the source -----------------------------------------------------------------


def test_a_frame_is_written_as_it_declares_itself(tmp_path, in_turn):
    """Each partition is a part; all else stays, the index where it has a name."""
    data = frame(
        kind=pd.Categorical([WORDS[i % 3] for i in range(600)], [*WORDS, "unused"], ordered=True),
        when=pd.date_range("2026-01-01", periods=600, freq="h"),
        size=pd.array([None, 1, 2] * 200, dtype="Int16"),
    ).set_index(pd.Index([i * 2 for i in range(600)], name="person"))
    data.attrs = {"source": "survey 7"}
    lazy = dd.from_pandas(data, npartitions=4)
    receipt = rrd.privatize_parquet(lazy, tmp_path / "out", {"answer": KRR, "kind": KRR})
    parts_found = [f"part-{i}.parquet" for i in range(4)]
    assert ["_SUCCESS", "_rrstats.json", *parts_found] == names(tmp_path / "out")
    after = pd.concat([pd.read_parquet(tmp_path / "out" / name) for name in parts_found])
    kept = ["id", "age", "when", "size"]
    pd.testing.assert_frame_equal(
        data[kept], after[kept], check_dtype=False, check_freq=False, check_names=True
    )
    assert "person" == after.index.name
    assert WORDS == after["kind"].cat.categories.to_list()
    assert after["kind"].cat.ordered
    assert 0 < (after["answer"] != data["answer"]).sum() < 600
    assert "survey 7" == after.attrs["source"]
    assert ["answer", "kind"] == [r.name for r in files.describe_file(tmp_path / "out")]
    assert receipt.records == files.describe_file(tmp_path / "out")
    assert {"answer", "kind"} == set(files.estimate_file(tmp_path / "out"))
    assert {"answer": (1, KRR.epsilon), "kind": (1, KRR.epsilon)} == receipt.account


def test_categories_that_dask_does_not_know_may_differ_by_partition(tmp_path, in_turn):
    """The reports have the declared ones; more than 127 others do not matter."""
    many = [*WORDS, *(f"odd {i}" for i in range(600))]
    data = frame(len(many), answer=many)
    lazy = dd.from_pandas(data, npartitions=3)
    lazy["answer"] = lazy["answer"].astype("category")
    rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, unknown="uniform")
    for place in range(3):
        found = pd.read_parquet(tmp_path / "out" / f"part-{place}.parquet")
        assert WORDS == found["answer"].cat.categories.to_list()
    assert 603 == files.tally_file(tmp_path / "out", "answer").n


def test_partitions_that_are_not_as_declared_are_refused(tmp_path, in_turn):
    """Other columns, or cells of another type: told without a cell, and nothing is left."""
    lazy = dd.from_pandas(frame(), npartitions=2)
    meta = frame().iloc[:0]
    for change, why in (
        (lambda data: data.drop(columns="age"), "other columns than its frame declares"),
        (lambda data: data.assign(age="PRIVATE"), "cells of other types"),
    ):
        odd = lazy.map_partitions(change, meta=meta, enforce_metadata=False)
        with pytest.raises(FileError, match=why) as caught:
            rrd.privatize_parquet(odd, tmp_path / "out", PLAN)
        assert "PRIVATE" not in str(caught.value)
    assert [] == names(tmp_path)


def test_a_client_runs_tasks_and_waits_for_them():
    """An asynchronous one, or what does not say that it waits, is refused."""
    waits = SimpleNamespace(compute=print, asynchronous=False)
    assert rrd.client_of(waits) is waits
    asynchronous = SimpleNamespace(compute=print, asynchronous=True)
    silent, idle = SimpleNamespace(compute=print), SimpleNamespace(asynchronous=False)
    for other in (asynchronous, silent, idle):
        with pytest.raises(rr.errors.ArgumentTypeError, match="Client that is not asynchronous"):
            rrd.client_of(other)


def test_frames_that_cannot_be_released_are_refused(tmp_path, in_turn):
    """A copy in the index, reports already, a column that is not there, options of paths."""
    out = tmp_path / "out"
    lazy = dd.from_pandas(frame(), npartitions=2)
    with pytest.raises(ArgumentValueError, match="also has the name 'answer'"):
        rrd.privatize_parquet(lazy.assign(copy=lazy.answer).set_index("copy").rename(
            columns={}).map_partitions(lambda d: d.rename_axis("answer")), out, PLAN)  # fmt: skip
    with pytest.raises(ArgumentValueError, match="'anwser' is not there; did you mean 'answer'"):
        rrd.privatize_parquet(lazy, out, {"anwser": KRR})
    with pytest.raises(ArgumentTypeError, match="ledger needs src as a path"):
        rrd.privatize_parquet(lazy, out, PLAN, ledger=tmp_path / "x")
    reports = dd.from_pandas(frame().rr.privatize("answer", KRR), npartitions=2)
    refused(MetadataError, "again=True", rrd.privatize_parquet, reports, out, PLAN)
    (record,) = rrd.privatize_parquet(reports, out, PLAN, again=True).records
    assert "Chain" == record.mechanism["type"]
    assert [record] == files.describe_file(out)
    with pytest.raises(ArgumentTypeError, match=r"client must be a dask\.distributed\.Client"):
        rrd.privatize_parquet(lazy, out, PLAN, client="tcp://127.0.0.1:8786")
    refused(TypeError, "PathLike", rrd.privatize_parquet, frame(), out, PLAN)


@pytest.fixture
def by_answer(tmp_path):
    """A directory with a folder for each answer, as pandas and engines write it."""
    path = tmp_path / "in"
    frame(60, kind=["x", "y"] * 30).to_parquet(path, partition_cols=["answer"])
    return path


def test_a_frame_from_folders_of_answers_is_refused(tmp_path, in_turn, by_answer):
    """Each part would hold one answer; under another name, or where Dask hides the source, too."""
    lazy, apart = dd.read_parquet(by_answer), "partitioned by column 'answer'"
    hidden = "does not show its source"
    of_arrow = dd.read_parquet(by_answer, filesystem="arrow")
    renamed = lazy.rename(columns={"answer": "told"})
    fused = lazy.assign(more=1).optimize(fuse=True)
    assert 1 == lazy.partitions[1].compute()["answer"].nunique()  # so it would be told
    for given, column, why in (
        (lazy, "answer", f"{apart}, so each part"),
        (of_arrow, "answer", apart),
        (dd.read_parquet(by_answer / "*" / "*.parquet"), "answer", apart),
        (lazy.astype({"answer": str})[lazy.age > 2].repartition(npartitions=1), "answer", apart),
        (renamed, "told", "partitioned by column 'told'"),
        (lazy.persist(), "answer", hidden),
        (of_arrow.persist(), "answer", hidden),
        (fused, "answer", hidden),
        (dd.from_delayed(lazy.to_delayed()), "answer", hidden),
    ):
        with pytest.raises(ArgumentValueError, match=why) as caught:
            rrd.privatize_parquet(given, tmp_path / "out", {column: KRR})
        assert not any(word in str(caught.value) for word in WORDS)
    with pytest.raises(ArgumentValueError, match=f"in is partitioned by column {'answer'!r}"):
        rrd.privatize_parquet(by_answer, tmp_path / "out", PLAN)
    assert ["in"] == names(tmp_path)


def test_the_way_out_of_folders_leads_out(tmp_path, in_turn, by_answer):
    """What the refusal says to do mixes the answers over parts and within them."""
    lazy = dd.read_parquet(by_answer)
    mixed = lazy.astype({"answer": "string[pyarrow]"}).shuffle("id")
    mixed.to_parquet(tmp_path / "mixed", write_index=False)
    receipt = rrd.privatize_parquet(tmp_path / "mixed", tmp_path / "out", PLAN, shuffle_rows=True)
    assert 60 == receipt.rows
    for path in (tmp_path / "out").glob("*.parquet"):
        found = pq.read_table(path).column("id").to_pylist()
        assert {0, 1, 2} == {id % 3 for id in found}  # which is the answer
        assert found != sorted(found, key=lambda id: id % 3)


def test_a_public_column_may_be_in_folders(tmp_path, in_turn, by_answer):
    """Only what folders tell of the private column matters."""
    frame(60, kind=["x", "y"] * 30).to_parquet(tmp_path / "kinds", partition_cols=["kind"])
    for options in ({}, {"filesystem": "arrow"}):
        lazy = dd.read_parquet(tmp_path / "kinds", **options)
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, overwrite=True)
        found = [pq.read_table(tmp_path / "out" / f"part-{i}.parquet") for i in range(2)]
        kinds = [set(table.column("kind").to_pylist()) for table in found]
        assert kinds in ([{"x"}, {"y"}], [{"y"}, {"x"}])
    persisted = dd.read_parquet(by_answer).astype({"answer": "string[pyarrow]"}).persist()
    assert 60 == rrd.privatize_parquet(persisted, tmp_path / "more", PLAN).rows  # as it says to do


def test_a_frame_moved_by_the_private_column_is_refused(tmp_path, in_turn):
    """Shuffled, sorted, indexed or merged by answers, a part's rows tell of them."""
    lazy = dd.from_pandas(frame(60), npartitions=3)
    for given in (
        lazy.shuffle("answer"),
        lazy.shuffle(lazy.answer).assign(more=1),
        lazy.sort_values(["age", "answer"]),
        lazy.set_index("answer").reset_index(),
        lazy.merge(dd.from_pandas(pd.DataFrame({"answer": WORDS, "word": 1})), on="answer"),
    ):
        with pytest.raises(ArgumentValueError, match="were moved by column 'answer'"):
            rrd.privatize_parquet(given, tmp_path / "out", PLAN)
    assert [] == names(tmp_path)
    by_others = lazy.shuffle("id").sort_values("age").set_index("id")
    assert 60 == rrd.privatize_parquet(by_others, tmp_path / "out", PLAN).rows


def test_rows_of_partitions_may_be_shuffled(tmp_path, in_turn):
    """Rows stay whole and in their part, in an order that is the source's once in 200! runs."""
    data = frame(400, kind=pd.Categorical(WORDS * 133 + WORDS[:1])).set_index("id")
    lazy = dd.from_pandas(data, npartitions=2)
    with pytest.warns(RRStatsWarning, match="public column 'id'"):  # which rises
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, shuffle_rows=True)
    for place in range(2):
        before = lazy.partitions[place].compute()
        after = pd.read_parquet(tmp_path / "out" / f"part-{place}.parquet")
        assert before.index.to_list() != after.index.to_list()
        plain = before.astype({"kind": "str"})  # categories become plain values
        pd.testing.assert_frame_equal(
            plain[["age", "kind"]], after.sort_index()[["age", "kind"]], check_dtype=False
        )


def test_categories_are_plain_values_in_all_shuffled_parts(tmp_path, in_turn):
    """Their order may be that of the rows; the receipt tells it once."""
    kinds = pd.Categorical((["nine"] + ["zero", "nine"] * 30)[:60], ["zero", "nine"], ordered=True)
    lazy = dd.from_pandas(frame(60, kind=kinds), npartitions=2)
    receipt = rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, shuffle_rows=True)
    for place in range(2):
        kind = pd.read_parquet(tmp_path / "out" / f"part-{place}.parquet")["kind"]
        assert pd.api.types.is_string_dtype(kind.dtype)
    assert 1 == len(receipt.notes)


CUT_BY_BYTES = {
    "csv": lambda folder: dd.read_csv(folder / "in.csv", blocksize=1000),
    "json": lambda folder: dd.read_json(folder / "in.json", lines=True, blocksize=1000),
    "memory": lambda folder: dd.from_pandas(frame(200), npartitions=1).repartition(
        partition_size="2kB"
    ),
    "moved, then memory": lambda folder: (
        dd.from_pandas(frame(200), npartitions=2).shuffle("id").repartition(partition_size="2kB")
    ),
    "optimized": lambda folder: dd.read_csv(folder / "in.csv", blocksize=1000).optimize(),
    "merged": lambda folder: dd.read_csv(folder / "in.csv", blocksize=1000).merge(
        pd.DataFrame({"id": range(200)}), on="id"
    ),
}


@pytest.mark.parametrize("source", CUT_BY_BYTES)
def test_parts_that_were_cut_by_bytes_are_refused(tmp_path, in_turn, source):
    """Parts of equal bytes tell the lengths of answers; in files, and in lazy frames."""
    frame(200).to_csv(tmp_path / "in.csv", index=False)
    frame(200).to_json(tmp_path / "in.json", orient="records", lines=True)
    cut = CUT_BY_BYTES[source](tmp_path)
    assert cut.npartitions > 1
    with pytest.raises(ArgumentValueError, match="in blocks of bytes"):
        rrd.privatize_parquet(cut, tmp_path / "out", PLAN)
    with pytest.raises(ArgumentValueError, match="in blocks of bytes"):
        cut.rr.privatize("answer", KRR, unknown="uniform", key=Keyed(KEY, "id"))


def test_whole_files_and_moved_rows_are_not_cut_by_bytes(tmp_path, in_turn):
    frame(200).to_csv(tmp_path / "in.csv", index=False)
    frame(200).to_json(tmp_path / "in.json", orient="records", lines=True)
    whole = dd.read_csv(tmp_path / "in.csv", blocksize=None)
    moved = dd.read_csv(tmp_path / "in.csv", blocksize=1000).shuffle("id")
    text = dd.read_json(tmp_path / "in.json", lines=True)
    for place, lazy in enumerate([whole, moved, text]):
        receipt = rrd.privatize_parquet(lazy, tmp_path / f"out{place}", PLAN, unknown="uniform")
        assert 200 == receipt.rows
        assert 200 == len(lazy.rr.privatize("answer", KRR, unknown="uniform", key=Keyed(KEY, "id")))


def test_a_sorted_index_is_warned_of(tmp_path, in_turn):
    """It restores the order of the rows of a part."""
    lazy = dd.from_pandas(frame(60).set_index("id"), npartitions=2)
    with pytest.warns(RRStatsWarning, match="public column 'id' seems to number the rows"):
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, shuffle_rows=True)


def test_columns_of_objects_are_text(tmp_path, in_turn):
    """Private and public ones; other objects are refused without a cell, with the remedy."""
    lazy = dd.from_pandas(frame(), npartitions=2)
    words = {place: WORDS[place % 3] for place in range(600)}
    objects = lazy.assign(
        answer=lazy.id.map(words, meta=("answer", object)),
        more=lazy.id.map(words, meta=("more", object)),
    )
    assert [object, object] == objects._meta.dtypes[["answer", "more"]].to_list()
    indexed = objects.map_partitions(lambda data: data.set_index("more"))
    assert object == indexed._meta.index.dtype
    for given in (objects, indexed):
        rrd.privatize_parquet(given, tmp_path / "out", PLAN, overwrite=True)
        found = read_directory(tmp_path / "out")
        assert list(words.values()) == found.column("more").to_pylist()
        assert set(WORDS) == set(found.column("answer").to_pylist())
    odd = lazy.assign(more=lazy.id.map(lambda id: {id}, meta=("more", object)))
    with pytest.raises(FileError, match=r"a column of objects counts as text\); convert"):
        rrd.privatize_parquet(odd, tmp_path / "odd", PLAN)


def test_a_closed_client_is_told_with_the_next_step(tmp_path, client):
    """Nothing is left of it."""
    with distributed.Client(client.cluster, set_as_default=False) as other:
        pass
    lazy = dd.from_pandas(frame(), npartitions=2)
    with pytest.raises(FileError, match="lost its cluster; create a new"):
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, client=other)
    assert [] == names(tmp_path)


# -- what goes wrong with clusters ---------------------------------------------------------


def failing(error, cause=None):
    """A client that fails as clusters do."""

    class Client:
        asynchronous = False

        def compute(self, tasks):
            raise error from cause

    return Client()


@pytest.mark.parametrize(
    ("error", "cause", "said"),
    [
        (RuntimeError("PRIVATE"), ModuleNotFoundError(name="PRIVATE"), "cannot import a module"),
        (distributed.KilledWorker("PRIVATE", None, 3), None, "workers died.*more memory"),
        (distributed.client.FutureCancelledError("PRIVATE", "x"), None, "lost its cluster"),
        (RuntimeError("PRIVATE"), KeyError("PRIVATE"), "RuntimeError; its message is not shown"),
    ],
)
def test_what_is_wrong_with_a_cluster_is_told_with_the_next_step(tmp_path, error, cause, said):
    """By the kind of error alone; its text may quote a cell."""
    lazy = dd.from_pandas(frame(), npartitions=2)
    with pytest.raises(FileError, match=f"{said}.*; nothing was published") as caught:
        rrd.privatize_parquet(lazy, tmp_path / "out", PLAN, client=failing(error, cause))
    assert "PRIVATE" not in str(caught.value)
    assert caught.value.__context__ is None
    assert [] == names(tmp_path)


# -- lazy, with a key ----------------------------------------------------------------------


def keyed(lazy, **options):
    return lazy.rr.privatize(PLAN, key=Keyed(KEY, "id"), unknown="uniform", **options)


def cells(found):
    """The reports by id."""
    return dict(zip(found["id"], found["answer"], strict=True))


def test_keyed_reports_are_the_same_however_they_are_computed(in_turn):
    """Computes, filters, selections of partitions, a self-join: all agree with pandas."""
    source = dd.from_pandas(frame(), npartitions=4)
    data = source.compute()  # Dask holds text in Arrow
    expected = data.rr.privatize(PLAN, key=Keyed(KEY, "id"), unknown="uniform")
    lazy = keyed(source)
    assert expected.equals(lazy.compute())
    assert expected.attrs == lazy.compute().attrs == lazy._meta.attrs
    assert source.divisions == lazy.divisions
    truth = cells(expected)
    views = {
        "filter after": lazy[lazy.id % 7 == 0],
        "filter on the reports": lazy[lazy.answer == "once"],
        "filter before": keyed(source[source.id % 7 == 0]),
        "partition": lazy.partitions[1],
        "partition before": keyed(source.partitions[1]),
        "loc": lazy.loc[100:250],
        "columns before": keyed(source[["answer", "id"]]),
        "repartition before": keyed(source.repartition(npartitions=2)),
        "shuffled": keyed(source.shuffle("age", npartitions=3)),
    }
    for name, view in views.items():
        found = cells(view.compute())
        assert found, name
        assert {key: truth[key] for key in found} == found, name
    tail = lazy.tail(5, compute=True)
    assert {key: truth[key] for key in tail["id"]} == cells(tail)
    joined = lazy.merge(keyed(source), on="id").compute()
    assert 600 == len(joined)
    assert (joined["answer_x"] == joined["answer_y"]).all()
    once = lazy[lazy.answer == "once"]
    assert {"once"} == set(once.compute()["answer"])
    assert len(once) == (lazy.answer == "once").sum().compute() == len(once.compute())


def test_keyed_reports_survive_a_lost_worker(client):
    """What a dead worker held is computed again, to the same reports."""
    source = dd.from_pandas(frame(4_000), npartitions=8)
    data = source.compute(scheduler="synchronous")
    lazy = client.persist(keyed(source))
    before = client.compute(lazy).result()
    holders = {worker for where in client.who_has(lazy).values() for worker in where}
    pids = client.run(os.getpid)
    os.kill(pids[sorted(holders)[0]], signal.SIGKILL)
    after = client.compute(lazy).result(timeout=60)
    assert data.rr.privatize(PLAN, key=Keyed(KEY, "id"), unknown="uniform").equals(before)
    assert before.equals(after)


def test_a_lazy_frame_without_a_key_names_the_sink():
    """Fresh noise is never lazy."""
    lazy = dd.from_pandas(frame(), npartitions=2)
    for given in ({}, {"key": None}):
        with pytest.raises(ArgumentTypeError, match=r"engines\.dask\.privatize_parquet\(ddf, path"):
            lazy.rr.privatize("answer", KRR, **given)


def test_the_key_shows_nowhere(client, capfd):
    """Not in reprs, errors or logs; and names of tasks, which are hashes, are not made from it."""
    secret = rr.client.new_key()
    lazy = dd.from_pandas(frame(id=1.5), npartitions=2)
    good = dd.from_pandas(frame(), npartitions=2)
    one = good.rr.privatize(PLAN, key=Keyed(secret, "id"), unknown="uniform")
    other = good.rr.privatize(PLAN, key=Keyed(rr.client.new_key(), "id"), unknown="uniform")
    twin = good.rr.privatize(PLAN, key=Keyed(secret, "id"), unknown="uniform")
    assert 3 == len({one._name, other._name, twin._name})
    assert not one.compute(scheduler="synchronous").equals(other.compute(scheduler="synchronous"))
    graph = one.__dask_graph__()
    shown = [repr(one), str(one.expr), one.expr.tree_repr(), repr(list(graph)), repr(dict(graph))]
    missing = good.assign(id=good.id.astype("Int64").where(good.id != 13))
    with pytest.raises(RRStatsError) as caught:
        client.compute(
            missing.rr.privatize(PLAN, key=Keyed(secret, "id"), unknown="uniform")
        ).result()
    shown += [str(caught.value), repr(caught.value), capfd.readouterr().err]
    with pytest.raises(RRStatsError) as early:
        lazy.rr.privatize(PLAN, key=Keyed(secret, "id"), unknown="uniform")
    shown.append(str(early.value))
    raw = bytes(secret)
    for text in shown:
        assert raw.hex() not in text
        assert repr(raw)[2:-1] not in text
    assert raw in pickle.dumps(one)  # so the search would find it


@pytest.mark.parametrize(
    "options",
    [{}, {"unknown": "raise"}, {"missing": "keep"}, {"unknown": "uniform", "missing": "raise"}],
)
def test_a_lazy_frame_must_be_told_what_becomes_of_other_answers(options):
    """Nothing can be refused when Dask computes; the sentence names the policy and the sink."""
    lazy = dd.from_pandas(frame(), npartitions=2)
    text = "give unknown='uniform'.* or write with rrstats.engines.dask.privatize_parquet"
    with pytest.raises(ArgumentValueError, match=text):
        lazy.rr.privatize(PLAN, key=Keyed(KEY, "id"), **options)


def test_a_lazy_frame_replaces_other_answers(client):
    """They are randomized where they are computed, and nothing is said of them."""
    data = frame().replace({"answer": {"often": "PRIVATE"}})
    lazy = dd.from_pandas(data, npartitions=2)
    lazy = lazy.rr.privatize(PLAN, key=Keyed(KEY, "id"), unknown="uniform")
    assert {*client.compute(lazy).result()["answer"]} <= {*WORDS}


def test_errors_of_others_in_a_partition_are_told_without_their_text(monkeypatch):
    """Libraries like to quote cells; the error that comes out does not lead to theirs."""

    def odd(*_arguments, **_options):
        raise ValueError("PRIVATE")

    monkeypatch.setattr(rrd, "privatize", odd)
    with pytest.raises(FileError, match="ValueError; its message is not shown") as caught:
        rrd._Keyed({"answer": KRR}, {"key": Keyed(KEY, "id")})(pd.DataFrame())
    assert "PRIVATE" not in str(caught.value)
    assert caught.value.__context__ is None


# -- counting ------------------------------------------------------------------------------


def test_the_accessor_counts_by_dask(in_turn):
    """`estimate`, `tally` and `crosstab` give what pandas gives."""
    data = frame(region=["n", "s", "s"] * 200)
    reports = data.rr.privatize(PLAN, key=Keyed(KEY, "id"))
    lazy = dd.from_pandas(reports, npartitions=3)
    pd.testing.assert_frame_equal(
        reports.rr.estimate("answer", KRR).to_frame(), lazy.rr.estimate("answer", KRR).to_frame()
    )
    assert reports.rr.tally("answer", KRR) == lazy.rr.tally("answer", KRR)
    both = {"mechanisms": {"answer": KRR}}
    expected = reports.rr.crosstab("answer", "region", **both).to_frame(wide="proportion")
    pd.testing.assert_frame_equal(
        expected, lazy.rr.crosstab("answer", "region", **both).to_frame(wide="proportion")
    )
    assert "Dask" in repr(lazy.rr)
