"""Spark: every record is released once, whatever fails; lazily only what is the same again."""

import datetime
import importlib
import itertools
import json
import re
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from rrstats.mechanisms.records import ColumnRecord

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # after importorskip
import spark_session  # after importorskip
from engine_frames import told  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.mechanisms import records as column_records

Keyed = rr.client.Keyed

pytestmark = [pytest.mark.slow, spark_session.QUIET]

WORDS = ["never", "once", "often", "always"]
M = rr.KRR(WORDS, 0.4)
SECRET = "a cell that nobody may see"


@pytest.fixture(scope="module")
def spark():
    return spark_session.get()


@pytest.fixture(scope="module")
def rrs(spark):
    return importlib.import_module("rrstats.engines.spark")


def answers(spark, n=400, parts=4):
    """Ids and answers: all words alike, every tenth an unknown one."""
    word = (
        "case when id % 10 = 9 then 'dunno' else element_at(array({}), cast(4 - id % 4 as int)) end"
    )
    listed = ", ".join(f"'{each}'" for each in WORDS)
    return spark.range(0, n, 1, parts).selectExpr("id", f"{word.format(listed)} as answer")


def failing(frame, times, text=SECRET):
    """The frame, of whose first two tasks the first attempts fail when they have given all rows."""

    def source(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        for batch in batches:
            for start in range(0, batch.num_rows, 100):
                yield batch.slice(start, 100)
        if task.attemptNumber() < times and task.partitionId() < 2:
            raise ValueError(text)

    return frame.mapInArrow(source, frame.schema)


def in_pandas(frame):
    """The rows as a frame of pandas; Spark's own way there is not ready for pandas 3."""
    return pd.DataFrame([row.asDict() for row in frame.collect()])


def parts_of(folder):
    """The files of a data set as tables, in their order."""
    return [pq.read_table(file) for file in sorted(folder.glob("part-*.parquet"))]


def test_a_failing_first_attempt_releases_every_record_once(spark, rrs, tmp_path):
    """Tasks fail once, at their end, and yet each record has one report, and counts are right.

    Parts of equal answers do not share noise: of 1000 reports 280 are equal by chance
    (0.4**2 + 3 * 0.2**2 = 0.28), and 430 or more with a chance below 6 exp(-2 * 1000 * 0.15**2)
    < 2e-19 for all pairs together (Hoeffding).
    """
    alike = spark.range(0, 4000, 1, 4).selectExpr("id", "'once' as answer", "'x' as other")
    receipt = rrs.privatize_parquet(
        failing(alike, 1), tmp_path / "out", {"answer": M, "other": M}, unknown="uniform"
    )
    tables = parts_of(tmp_path / "out")
    assert [1000] * 4 == [len(table) for table in tables]
    assert list(range(4000)) == sorted(pa.concat_tables(tables)["id"].to_pylist())
    assert 4000 == receipt.rows
    assert {"unknown": 0, "missing": 0} == receipt.private["answer"]
    assert {"unknown": 4000, "missing": 0} == receipt.private["other"]
    for one, other in itertools.combinations([t["answer"].to_numpy() for t in tables], 2):
        assert 430 > np.count_nonzero(one == other)
    assert ["out"] == [path.name for path in tmp_path.iterdir()]


def test_a_job_that_fails_leaves_nothing_and_quotes_no_cell(spark, rrs, tmp_path):
    """When a task fails for good there is no target, no staging, and no cell in the error."""
    frame = answers(spark, 200, 1).selectExpr("id", f"'{SECRET}' as answer")
    with pytest.raises(rr.errors.FileError, match="nothing was published") as caught:
        rrs.privatize_parquet(failing(frame, 9), tmp_path / "out", {"answer": M})
    assert SECRET not in told(caught.value)
    assert [] == list(tmp_path.iterdir())


def test_what_is_there_is_not_overwritten_unless_asked(spark, rrs, tmp_path):
    """An existing target, a file, foreign files and the source's own folder are left alone."""
    frame, out = answers(spark, 20, 2), tmp_path / "out"
    rrs.privatize_parquet(frame, out, {"answer": M}, unknown="uniform")
    before = sorted(path.name for path in out.iterdir())
    refused(rr.errors.FileError, "overwrite=True", rrs.privatize_parquet, frame, out, {"answer": M})
    assert before == sorted(path.name for path in out.iterdir())
    rrs.privatize_parquet(frame, out, {"answer": M}, unknown="uniform", overwrite=True)
    assert before != sorted(path.name for path in out.iterdir())
    assert ["out"] == [path.name for path in tmp_path.iterdir()]
    (out / "notes.txt").write_text("mine")
    with pytest.raises(rr.errors.FileError, match="holds more than Parquet files"):
        rrs.privatize_parquet(frame, out, {"answer": M}, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(rr.errors.FileError, match="holds more than Parquet files"):
        rrs.privatize_parquet(frame, tmp_path / "file", {"answer": M}, overwrite=True)
    with pytest.raises(rr.errors.FileError, match="is not there"):
        rrs.privatize_parquet(frame, tmp_path / "no" / "out", {"answer": M})
    (out / "notes.txt").unlink()
    read = spark.read.parquet(str(out))
    for place in (out, tmp_path):
        with pytest.raises((rr.errors.ArgumentValueError, rr.errors.FileError)):
            rrs.privatize_parquet(read, place, {"answer": M}, again=True, overwrite=True)
    with pytest.raises(rr.errors.ArgumentValueError, match="inside nor around"):
        rrs.privatize_parquet(out, out / "inside", {"answer": M}, again=True)


def test_the_target_says_how_it_was_made_to_spark_and_to_others(spark, rrs, tmp_path):
    """Spark's column metadata, the document, pandas, pyarrow: reports are what all of them read."""
    out = tmp_path / "out"
    receipt = rrs.privatize_parquet(answers(spark), out, {"answer": M}, unknown="uniform")
    document = json.loads((out / "_rrstats.json").read_text())
    assert [receipt.records[0].to_dict()] == document["columns"]
    read = spark.read.parquet(str(out))
    assert document == json.loads(read.schema["answer"].metadata["rrstats"])
    assert (out / "_SUCCESS").exists()
    assert set(pd.read_parquet(out)["answer"]) <= set(WORDS)
    counted = rr.tally(pd.read_parquet(out)["answer"], M).reported.tolist()
    assert counted == rr.tally(pq.read_table(out)["answer"], M).reported.tolist()
    assert counted == rr.tally(read, columns="answer").reported.tolist()
    shares = rr.estimate(pd.read_parquet(out)["answer"], M).proportions.tolist()
    assert shares == rr.files.estimate_file(out)["answer"].proportions.tolist()
    renamed = read.withColumnRenamed("answer", "reply")
    for source, name in ((out, "answer"), (read, "answer"), (renamed, "reply")):
        with pytest.raises(rr.errors.MetadataError, match="holding reports already"):
            rrs.privatize_parquet(source, tmp_path / "twice", {name: M})
    twice = rrs.privatize_parquet(out, tmp_path / "twice", {"answer": M}, again=True)
    assert rr.mechanisms.Chain(M, M).to_dict() == twice.records[0].mechanism


def test_pandas_files_are_taken_for_what_they_say(spark, rrs, tmp_path):
    """A Parquet file that rrstats made says in its footer that a column holds reports."""
    frame = pd.DataFrame({"answer": WORDS[::-1] * 5}).rr.privatize("answer", M)
    frame.to_parquet(tmp_path / "reports.parquet")
    with pytest.raises(rr.errors.MetadataError, match="holding reports already"):
        rrs.privatize_parquet(tmp_path / "reports.parquet", tmp_path / "out", {"answer": M})


@pytest.mark.parametrize("parts", [0, 3])
def test_empty_partitions_are_no_trouble(spark, rrs, tmp_path, parts):
    """A frame without rows, and parts without rows, are written like all others."""
    frame = answers(spark, 30, 3).where("id < 0" if parts == 0 else "id < 10")
    receipt = rrs.privatize_parquet(frame, tmp_path / "out", {"answer": M}, unknown="uniform")
    assert (10 if parts else 0) == receipt.rows
    assert (10 if parts else 0) == spark.read.parquet(str(tmp_path / "out")).count()
    assert ["id", "answer"] == spark.read.parquet(str(tmp_path / "out")).columns


def test_answers_that_are_refused_are_counted_and_nothing_is_written(spark, rrs, tmp_path):
    """The default tells how many of how many, and no cell."""
    frame, out = answers(spark, 200), tmp_path / "out"
    with pytest.raises(rr.errors.UnknownAnswersError, match="20 of 200") as caught:
        rrs.privatize_parquet(frame, out, {"answer": M})
    assert "dunno" not in told(caught.value)
    assert [] == list(tmp_path.iterdir())
    out.mkdir()
    pq.write_table(pa.table({"mine": [1]}), out / "part-0.parquet")
    with pytest.raises(rr.errors.UnknownAnswersError, match="20 of 200"):
        rrs.privatize_parquet(frame, out, {"answer": M}, overwrite=True)
    assert ["part-0.parquet"] == [path.name for path in out.iterdir()]
    assert [out] == list(tmp_path.iterdir())


def test_missing_answers_stay_missing_where_that_is_asked(spark, rrs, tmp_path):
    """missing="keep" leaves exactly the missing ones."""
    frame = spark.range(20).selectExpr("id", "if(id % 4 = 0, null, 'once') as answer")
    receipt = rrs.privatize_parquet(frame, tmp_path / "out", {"answer": M}, missing="keep")
    made = pd.read_parquet(tmp_path / "out").sort_values("id")
    assert [i % 4 == 0 for i in range(20)] == made["answer"].isna().tolist()
    assert {"unknown": 0, "missing": 5} == receipt.private["answer"]


def test_types_follow_from_the_declaration(spark, rrs, tmp_path):
    """Each kind of column that can hold answers, and a name with a dot in it."""
    day = datetime.date(2026, 1, 31)
    plan = {
        "yes": rr.KRR([False, True], 0.75),
        "small": rr.KRR([1, 2, 3], 0.5),
        "wide": rr.KRR([1, 1000], 0.75),
        "half": rr.KRR([0.5, 1.5], 0.75),
        "day": rr.KRR([day, day + datetime.timedelta(1)], 0.75),
        "raw": rr.KRR([b"a", b"b"], 0.75),
        "none": rr.KRR(["a", "b"], 0.75),
        "nobody": rr.KRR([day, day + datetime.timedelta(1)], 0.75),
        "a.b": rr.KRR(["a", None], 0.75),
        "bits": rr.mechanisms.UnaryEncoding.optimized(["a", "b"], epsilon=1.0),
    }
    columns = (
        "id % 2 = 0 as yes; cast(1 as byte) as small; cast(1 as byte) as wide; "
        "cast(0.5 as double) as half; date'2026-01-31' as day; cast('a' as binary) as raw; "
        "null as none; null as nobody; 'a' as `a.b`; 'b' as bits; array(id) as others"
    )
    frame = spark.range(40).selectExpr(*columns.split("; "))
    rrs.privatize_parquet(frame, tmp_path / "out", plan, unknown="uniform")
    made = spark.read.parquet(str(tmp_path / "out"))
    types = "boolean tinyint bigint double date binary string date string binary array<bigint>"
    assert types.split() == [field.dataType.simpleString() for field in made.schema]
    for name, mechanism in plan.items():
        column = pq.read_table(tmp_path / "out").column(name)
        assert 40 == rr.tally(column, mechanism).n


def neighbours(folder):
    """Two folders of the same four files, one of which is empty; one answer in one differs."""
    for name in ("none", "one"):
        (folder / name).mkdir()
        for number, file in enumerate("dabc"):
            rows = [] if file == "d" else list(range(1000 * number, 1000 * number + 90))
            words = ["never"] * len(rows)
            if (name, file) == ("one", "b"):
                words[50] = "always"
            table = pa.table(
                {"id": pa.array(rows, pa.int64()), "answer": pa.array(words, pa.string())}
            )
            # The empty file is the longest of all, and so the first task.
            table = table.replace_schema_metadata({"x": "x" * 1200} if file == "d" else {})
            pq.write_table(table, folder / name / f"{file}.parquet", row_group_size=20)
    return folder / "none", folder / "one"


@pytest.fixture
def cutting(spark):
    """The session cuts files into pieces of 900 bytes."""
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "900")
    yield spark
    after = spark.conf.get(name)
    spark.conf.set(name, before)
    assert "900" == after


def test_rows_lie_where_names_say_whatever_the_answers(cutting, rrs, tmp_path):
    """Each file is one part, by its name, with its rows in order: no size of it moves a row."""
    one, other = neighbours(tmp_path)
    longest = [sorted(s.iterdir(), key=lambda f: -f.stat().st_size)[:2] for s in (one, other)]
    assert [["d", "c"], ["d", "b"]] == [[path.stem for path in paths] for paths in longest]
    for source in (one, other):
        receipt = rrs.privatize_parquet(source, tmp_path / "out", {"answer": M}, overwrite=True)
        tables = parts_of(tmp_path / "out")
        expected = [list(range(start, start + 90)) for start in (1000, 2000, 3000)]
        assert expected == [table["id"].to_pylist() for table in tables]
        names = [path.name[:10] for path in sorted((tmp_path / "out").glob("part-*"))]
        assert ["part-00000", "part-00001", "part-00002"] == names
        assert 270 == receipt.rows
    for file in "abc":
        (one / f"{file}.parquet").unlink()
    rrs.privatize_parquet(one, tmp_path / "empty", {"answer": M})
    assert [0] == [len(table) for table in parts_of(tmp_path / "empty")]


def test_where_spark_cuts_files_all_the_same_nothing_is_published(cutting, rrs, tmp_path):
    """A Spark that does not do as asked, and packs pieces by their bytes, is found out."""
    one, _ = neighbours(tmp_path)
    with (
        mock.patch("rrstats.engines.spark._uncutting", return_value=cutting),
        pytest.raises(rr.errors.FileError, match="by their bytes"),
    ):
        rrs.privatize_parquet(one, tmp_path / "out", {"answer": M})
    assert {"none", "one"} == {path.name for path in tmp_path.iterdir()}


def test_a_frame_from_folders_named_by_answers_is_refused(spark, rrs, tmp_path):
    """Also when it was cached, filtered or joined, and lazily; folders of another column may be."""
    answers(spark, 20, 2).write.partitionBy("answer").parquet(str(tmp_path / "by"))
    read, out = spark.read.parquet(str(tmp_path / "by")), tmp_path / "out"
    cached = spark.read.parquet(str(tmp_path / "by")).cache()
    for frame in (read, cached, cached.where("id > 3").join(spark.range(9), "id")):
        with pytest.raises(rr.errors.ArgumentValueError, match="partitioned by column 'answer'"):
            rrs.privatize_parquet(frame, out, {"answer": M})
    with pytest.raises(rr.errors.ArgumentValueError, match="partitioned by column 'answer'"):
        rrs.privatize(read, {"answer": M}, key=Keyed(rr.client.new_key(), "id"), unknown="uniform")
    cached.unpersist()
    other = {"id": rr.KRR([1, 2], 0.5)}
    assert 20 == rrs.privatize_parquet(read, out, other, unknown="uniform").rows


def test_what_a_task_that_was_given_up_still_writes_is_not_published(spark, rrs, tmp_path):
    """Neither before the job's files are taken, nor until the target is there, nor after that."""
    from rrstats.engines.spark import Staging

    staged = []

    def late(folder):
        staged.append(folder)
        attempt = folder / "data" / "_temporary" / "0" / "_temporary" / f"attempt_{len(staged)}"
        attempt.mkdir(parents=True)
        for file in (attempt / "part-00001-x.parquet", folder / "data" / "other.parquet"):
            file.write_text(SECRET)

    def with_late(step, real):
        def work(staging, *arguments):
            (folder,) = tmp_path.glob(".out.*.part")
            if step != "publish":
                late(folder)
            real(staging, *arguments)
            if step == "publish":
                late(folder)

        return work

    def sleep(_seconds):
        if len(staged) < 4:
            late(staged[0])

    steps = {
        step: with_late(step, getattr(Staging, step)) for step in ("close", "write", "publish")
    }
    frame = answers(spark, 20, 2)
    with (
        mock.patch.multiple(Staging, **steps),
        mock.patch("rrstats.engines.spark.time", mock.Mock(sleep=sleep, monotonic=time.monotonic)),
    ):
        rrs.privatize_parquet(frame, tmp_path / "out", {"answer": M}, unknown="uniform")
    assert 4 == len(staged)
    assert ["out"] == [path.name for path in tmp_path.iterdir()]
    found = sorted(path.name[:10] for path in (tmp_path / "out").glob("[!.]*"))
    assert ["_SUCCESS", "_rrstats.j", "part-00000", "part-00001"] == found
    assert 20 == len(pq.read_table(tmp_path / "out"))


def test_columns_that_cannot_be_are_refused_before_anything_runs(spark, rrs, tmp_path):
    """A column that is not there, or twice, a list, a partition by the answer, and a stream."""
    frame, out = answers(spark, 20, 2), tmp_path / "out"
    wrong = rr.errors.ArgumentValueError
    refused(wrong, "did you mean 'answer'", rrs.privatize_parquet, frame, out, {"answr": M})
    with pytest.raises(rr.errors.RRStatsError):
        rrs.privatize_parquet(frame.select("*", "answer"), out, {"answer": M})
    with pytest.raises(rr.errors.ArgumentTypeError, match="one plain value"):
        rrs.privatize_parquet(frame.selectExpr("array(answer) as answer"), out, {"answer": M})
    frame.write.partitionBy("answer").parquet(str(tmp_path / "by"))
    with pytest.raises(wrong, match="partitioned by column 'answer'"):
        rrs.privatize_parquet(tmp_path / "by", out, {"answer": M})
    stream = spark.readStream.format("rate").load()
    with pytest.raises(rr.errors.FileError, match="nothing was published"):
        rrs.privatize_parquet(stream, out, {"value": rr.KRR([1, 2], 0.75)})
    with pytest.raises(rr.errors.FileError, match="cannot read"):
        rrs.privatize_parquet(tmp_path / "nothing", out, {"answer": M})
    refused(TypeError, "PathLike", rrs.privatize_parquet, frame, 5, {"answer": M})
    assert not out.exists()


def test_keyed_reports_are_the_same_however_they_are_computed(spark, rrs):
    """Three actions, a self-join, filters before and after, other partitions: all as in pandas."""
    frame, key = answers(spark, 300, 3), rr.client.new_key()
    keyed_options = {"key": Keyed(key, "id"), "unknown": "uniform"}
    backwards = in_pandas(frame)[::-1]  # not in the order of the categories
    pandas = rr.privatize(backwards, {"answer": M}, **keyed_options)
    expected = dict(zip(pandas["id"], pandas["answer"], strict=True))

    def keyed(given):
        return rrs.privatize(given, {"answer": M}, **keyed_options)

    def found(given):
        return {row["id"]: row["answer"] for row in given.select("id", "answer").collect()}

    lazy = keyed(frame)
    for _ in range(3):
        assert expected == found(lazy)
    assert expected == found(keyed(frame.repartition(5)))
    some = {number: report for number, report in expected.items() if report == "once"}
    assert some == found(lazy.where("answer = 'once'"))
    few = {number: report for number, report in expected.items() if number % 7 == 3}
    assert few == found(lazy.where("id % 7 = 3"))
    assert few == found(keyed(frame.where("id % 7 = 3")))
    again = lazy.withColumnRenamed("answer", "once more")
    both = lazy.join(again, "id").where("answer = `once more`")
    assert 300 == both.count()
    document = json.loads(lazy.schema["answer"].metadata["rrstats"])
    assert document["columns"][0]["keyed"] is True


def test_a_lazy_frame_without_a_key_is_refused_and_the_sink_is_named(spark, rrs):
    """Without key and id nothing lazy is given; the message says what to do, and shows no key."""
    frame, key = answers(spark, 20, 2), rr.client.new_key()
    for given in ({}, {"key": None}):
        with pytest.raises(rr.errors.ArgumentTypeError, match="privatize_parquet"):
            rrs.privatize(frame, {"answer": M}, **given)
    with pytest.raises(rr.errors.ArgumentValueError, match="public column"):
        rrs.privatize(frame, {"answer": M}, key=Keyed(key, "answer"), unknown="uniform")
    with pytest.raises(rr.errors.ArgumentTypeError, match="Spark DataFrame"):
        rrs.privatize(in_pandas(frame), {"answer": M}, key=Keyed(key, "id"))


def test_a_lazy_frame_must_be_told_what_becomes_of_other_answers(spark, rrs):
    """Nothing can be refused when Spark computes; the call or the plan must say "uniform"."""
    frame, key = answers(spark, 20, 2), rr.client.new_key()
    given = {"key": Keyed(key, "id")}
    told_plan = column_records.write([ColumnRecord.of("answer", M, unknown="uniform")])
    untold = column_records.write([ColumnRecord.of("answer", M)])
    wrong = rr.errors.ArgumentValueError
    text = "give unknown='uniform'.* or write with rrstats.engines.spark.privatize_parquet"
    for plan, options in (
        ({"answer": M}, {}),
        ({"answer": M}, {"missing": "keep"}),
        ({"answer": M}, {"unknown": "uniform", "missing": "raise"}),
        (untold, {}),
    ):
        with pytest.raises(wrong, match=text):
            rrs.privatize(frame, plan, **given, **options)
    expected = rrs.privatize(frame, {"answer": M}, **given, unknown="uniform").collect()
    assert expected == rrs.privatize(frame, told_plan, **given).collect()


def test_without_java_a_clear_error(rrs, tmp_path):
    """Where no session can be started the error names Java, and nothing is written."""
    from pyspark.sql import SparkSession

    with (
        mock.patch.object(SparkSession, "getActiveSession", return_value=None),
        mock.patch.object(SparkSession.Builder, "getOrCreate", side_effect=RuntimeError("x")),
        pytest.raises(rr.errors.MissingPackageError, match="Java 17"),
    ):
        rrs.privatize_parquet(tmp_path / "in", tmp_path / "out", {"answer": M})
    assert [] == list(tmp_path.iterdir())


def test_files_that_differ_are_not_one_source(rrs, tmp_path):
    """Other columns, other types, or reports beside true answers: refused, wherever the file is."""
    plain = pa.table({"id": [1, 2], "answer": ["once", "often"]})
    others = {
        "columns": pa.table({"id": [1, 2], "reply": ["once", "often"]}),
        "types": pa.table({"id": ["1", "2"], "answer": ["once", "often"]}),
        "claims": plain.replace_schema_metadata(
            {"rrstats": json.dumps(column_records.write([ColumnRecord.of("answer", M)]))}
        ),
    }
    for name, other in others.items():
        (tmp_path / name).mkdir()
        for at, table in enumerate([plain, other, plain]):
            pq.write_table(table, tmp_path / name / f"{at}.parquet")
        with pytest.raises(rr.errors.RRStatsError, match="privatize them separately"):
            rrs.privatize_parquet(tmp_path / name, tmp_path / "out", {"answer": M})
    assert not (tmp_path / "out").exists()


def test_a_plan_of_spark_that_fails_quotes_no_cell(spark, rrs, tmp_path):
    """Spark evaluates local data when it plans; what it says then may be a cell."""
    frame = spark.sql(f"select cast(a as int) as a from values ('{SECRET}') as t(a)")
    with pytest.raises(rr.errors.RRStatsError) as caught:
        rrs.privatize_parquet(frame, tmp_path / "out", {"a": rr.KRR([1, 2], 0.75)})
    assert SECRET not in told(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_guide_runs_as_it_stands(spark, tmp_path):
    """The guide's blocks for Spark, which the site's build leaves out, do what they say."""
    guide = Path(__file__).parents[2] / "docs" / "guide"
    if not guide.exists():
        pytest.skip("the tests were copied away from the documents")
    health = rr.datasets.load_rand_health()[["health", "coinsurance_percent"]]
    health.to_parquet(tmp_path / "answers")
    ids, design, key = list(range(9)), rr.KRR(["no", "yes"], 0.75), rr.client.new_key()
    names = {"rr": rr, "spark": spark, "design": design, "key": key}
    names["m"] = rr.KRR(rr.datasets.CATEGORIES["health"], epsilon=1)
    for page in ("engines.md", "keyed_reports.md"):
        text = (guide / page).read_text("utf-8")
        (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
        exec(re.sub(r'"(answers|spark_reports)"', rf'"{tmp_path}/\1"', code), names)
        if page == "engines.md":
            assert len(health) == rr.tally(names["sdf"], names["m"], columns="health").n
        names["sdf"] = spark.createDataFrame([(i, "yes") for i in ids], "id long, smoker string")
    same = rr.privatize(["yes"] * 9, design, key=Keyed(key, ids, question="smoker"))
    assert same == [row.smoker for row in names["lazy"].orderBy("id").collect()]
