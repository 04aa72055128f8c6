"""A plan of the frame in files, on the command line and in engines: one epsilon for a row."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import statistics
import time

import numpy as np
import pandas as pd
import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import cli_calls  # all that follows needs pyarrow
import file_samples as samples  # after importorskip
import pyarrow.parquet as pq  # after importorskip
import spark_session  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files, planning  # after importorskip
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError, RRStatsError
from rrstats.files import batches, csv, file_metadata  # after importorskip
from rrstats.files.ledger import Ledger  # after importorskip
from rrstats.files.plan import wanted_columns  # after importorskip
from rrstats.files.privatize_file import preview_file, privatize_by_tasks  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import ColumnRecord, write

CATEGORIES = {"a": [0, 1, 2], "b": ["x", "y, z"], "c": ["u", "v", None]}
PLAN = FramePlan(CATEGORIES, 2.0, ["a", ("b", "a"), "c"], chances=[2, 1, 1])
BY_HAND = FramePlan(CATEGORIES | {"c": ["u", "v"]}, 2.0, PLAN.parts, chances=[2, 1, 1])
TOML = """
type = "FramePlan"
epsilon = 2.0
parts = [["a"], ["b", "a"], ["c"]]
chances = [2, 1, 1]
columns = [{ name = "a", categories = [0, 1, 2] }, { name = "b", categories = ["x", "y, z"] },
           { name = "c", categories = ["u", "v"] }]
"""
ASKED = {"a": ["a", "b & a"], "b": ["b & a"], "c": ["c"]}

TWO = {"a": [0, 1, 2], "b": ["x", "y, z"]}
ONE_PART = {
    "pair": planning.plan(TWO, 2.0, want="pairs"),
    "column": FramePlan({"b": TWO["b"]}, 2.0, ["b"]),
}
"""Plans whose public column has one value: each row reports the same."""


def answers(n=400):
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "a": [0, 1, 2, 7] * (n // 4),
            "note": ["one", 'two "2", too'] * (n // 2),
            "b": ["x", "y, z"] * (n // 2),
            "c": ["u", None, "v", None] * (n // 4),
        }
    )


def written(folder, ending, n=400):
    return samples.written(folder, ending, pa.Table.from_pandas(answers(n), preserve_index=False))


def target_of(source):
    return source.with_name("target" + source.name.removeprefix("source"))


def release(source, plan=PLAN, **options):
    options = {"unknown": "uniform", "rng": None} | options
    return samples.simulate_file(source, target_of(source), plan, **options)


def back(path):
    """A file as pandas reads it."""
    if ".csv" in path.name or ".tsv" in path.name:
        return pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",")
    return pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)


def cells(frame):
    """The cells of each column, with None for all that is missing."""
    return {
        name: [None if pd.isna(cell) else cell for cell in frame[name].astype(object)]
        for name in frame.columns
    }


ENDINGS = [".parquet", ".feather", ".csv", ".csv.gz", ".tsv", ""]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("plan", [PLAN, *ONE_PART.values()], ids=["parts", *ONE_PART])
def test_a_file_is_what_pandas_releases(tmp_path, ending, plan):
    """Under equal words a file holds the reports, the order, the labels and the record of pandas.

    The words of a directory begin anew in each file, so there only the shape is compared.
    """
    source, data = written(tmp_path, ending, 100), answers(100)
    with pytest.warns(rr.errors.SimulationWarning):
        expected = rr.privatize(data, plan, rng=np.random.default_rng(3), unknown="uniform")
    with pytest.warns(rr.errors.SimulationWarning):
        receipt = release(source, plan, rng=np.random.default_rng(3))
    found = back(receipt.target)
    if ending:
        assert cells(expected) == cells(found)
        kinds = [[one.kind for one in f.convert_dtypes().dtypes[:-1]] for f in (found, expected)]
        assert kinds[0] == kinds[1]
    assert [*data.columns, "rr_asked"] == [*found.columns][:6]
    assert column_records.read(expected.attrs) == receipt.records
    assert files.describe_file(receipt.target) == receipt.records
    assert (math.inf, 2) == (receipt.epsilon_per_row, write(receipt.records)["v"])
    assert tuple(expected.rr.mechanisms) == receipt.void  # the noise is that of a generator
    for name in {"a", "b"} & {*plan.categories}:
        asked = ["b & a", *ASKED[name]] if plan is PLAN else plan.labels
        assert found[name].notna().equals(found["rr_asked"].isin(asked))
    if ending in (".parquet", ""):
        part = next(receipt.target.rglob("z.parquet")) if not ending else receipt.target
        field = pq.read_schema(part).field("rr_asked")
        assert (pa.string(), False) == (field.type, field.nullable)
        group = pq.read_metadata(part).row_group(0)
        private = found.columns.get_loc(next(iter(plan.categories)))
        assert [True, False] == [group.column(place).is_stats_set for place in (0, private)]
        assert column_records.read(expected.attrs) == column_records.read(
            back(receipt.target).attrs
        )


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_pieces_and_shuffled_rows_stay_whole(tmp_path, monkeypatch, ending):
    """However a file is cut and shuffled, each row keeps its other cells and what it was asked."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 64)
    monkeypatch.setattr(csv, "BLOCK_BYTES", 900)
    source = written(tmp_path, ending)
    for shuffled in (False, True):
        found = back(release(source, shuffle_rows=shuffled, again=True, overwrite=True).target)
        assert shuffled == (found["id"].tolist() != list(range(400)))
        rows = found.set_index("id").sort_index()
        assert answers()["note"].tolist() == rows["note"].tolist()
        assert set(PLAN.labels) == {*rows["rr_asked"]}
        for name in ("a", "b"):
            assert rows[name].notna().equals(rows["rr_asked"].isin(ASKED[name]))
            assert {*rows[name].dropna()} == {*CATEGORIES[name]}
        assert not rows["c"][rows["rr_asked"] != "c"].notna().any()


@pytest.mark.filterwarnings("ignore::rrstats.errors.SimulationWarning")
@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv.gz"])
def test_answers_that_were_not_asked_change_no_byte(tmp_path, ending):
    """Under equal words two files are equal if their answers differ only where none was asked."""
    data, targets = answers(), []
    for at in range(2):
        (tmp_path / str(at)).mkdir()
        table = pa.Table.from_pandas(data, preserve_index=False)
        source = samples.written(tmp_path / str(at), ending, table)
        targets.append(release(source, rng=np.random.default_rng(3)).target)
        for name, other in [("a", [2, 9, 0, 1]), ("b", ["odd", "x"]), ("c", ["v", "u"])]:
            asked = back(targets[0])["rr_asked"].isin(ASKED[name])
            data[name] = data[name].where(asked, pd.Series(other * (400 // len(other))))
    assert not data.equals(answers())
    assert targets[0].read_bytes() == targets[1].read_bytes()


@pytest.mark.parametrize("n", [400, 0])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_the_new_cell_stands_before_the_line_end(tmp_path, end, n):
    """Rows of text keep their bytes and their line ends, also blank lines and the last one."""
    source = tmp_path / "source.csv"
    lines = [b'\xef\xbb\xbfid,a,b,"c"'] + [b"%d,1,x,u" % row for row in range(n)]
    source.write_bytes((b"\r\n" if end else b"\n").join(lines) + end)
    release(source, FramePlan(CATEGORIES, 30.0, ["a", "b", "c"], asked='as "ked"'))
    found = target_of(source).read_bytes().split(b"\r\n" if end else b"\n")
    assert b'\xef\xbb\xbfid,a,b,"c","as ""ked"""' == found[0]
    assert n + 1 + bool(end) == len(found)
    for row, line in enumerate(found[1 : n + 1]):
        number, *reports, asked = line.split(b",")
        assert (b"%d" % row, 1) == (number, sum(map(bool, reports)))
        assert reports[b"abc".index(asked)]


def test_plans_in_every_form(tmp_path):
    """A plan, its document, a file of it, and the records of a release ask for the same."""
    source = written(tmp_path, ".parquet")
    made = release(source).records
    for name, document in [("p.json", PLAN.to_dict()), ("r.json", write(made))]:
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / "p.toml").write_text(TOML)
    assert BY_HAND == wanted_columns(tmp_path / "p.toml", "raise", "unknown")[2].plan
    forms = [PLAN, PLAN.to_dict(), tmp_path / "p.json", tmp_path / "r.json", made, write(made)]
    for form in forms:
        wanted = wanted_columns(form, "raise", "unknown")
        assert [PLAN] * 3 == [one.plan for one in wanted]
        assert PLAN.mechanisms == {one.name: one.mechanism for one in wanted}
    assert PLAN == FramePlan.from_dict(write(made))
    wanted = wanted_columns({**PLAN.to_dict(), "unknown": "uniform"}, "raise", "unknown")
    assert [("uniform", "unknown")] * 3 == [(one.unknown, one.missing) for one in wanted]
    again = files.privatize_file(source, tmp_path / "t.parquet", tmp_path / "r.json", again=True)
    assert made == again.records


def test_a_row_and_the_ledger_spend_the_plan_once(tmp_path):
    """A row spends the plan's epsilon once, beside that of earlier columns; each column too."""
    old = samples.with_document(pa.Table.from_pandas(answers()), "note")
    source = samples.written(tmp_path, ".parquet", old)
    document = {**PLAN.to_dict(), "unknown": "uniform"}
    summary = preview_file(source, target_of(source), document)
    assert not target_of(source).exists()
    receipt = release(source)
    total = 2.0 + samples.KRR.epsilon
    assert total == pytest.approx(receipt.epsilon_per_row) == summary["epsilon_per_row"]
    assert dict.fromkeys(PLAN.categories, (1, 2.0)) == receipt.account
    assert [2.0] * 3 == [column["epsilon"] for column in receipt.to_dict()["columns"]]
    with pytest.raises(rr.errors.SecondReleaseError, match=r"'b' was released once .*epsilon 2\)"):
        release(source, overwrite=True)
    assert (2, 4.0) == release(source, again=True, overwrite=True).account["b"]
    assert 4.0 == Ledger.of(source).epsilon("b")


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_estimates_are_those_of_the_frame(tmp_path, ending):
    """A file gives the tally of its frame for each column, by the rows that were asked."""
    receipt = release(written(tmp_path, ending))
    frame = back(receipt.target)
    frame.attrs = {"rrstats": write(receipt.records)}
    found = files.estimate_file(receipt.target)
    for name in CATEGORIES:
        expected = frame.rr.estimate(name)
        assert expected.tally == found[name].tally
        assert (PLAN.recorded, expected.n) == (found[name].tally.plan, found[name].n)
        assert frame["rr_asked"].isin(ASKED[name]).sum() == found[name].n
        np.testing.assert_allclose(expected.interval(), found[name].interval())
    asked = frame["rr_asked"] == "c"
    assert asked.sum() == found["c"].n
    assert asked.sum() - frame["c"].notna().sum() == found["c"].tally.reported[2]
    assert 2 == len(found["a"].mechanism.groups)
    refused(ArgumentTypeError, "give the frame, which says it in rr_asked", rr.estimate, frame["c"])


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_groups_of_a_file_are_those_of_the_frame(tmp_path, ending):
    """Columns of a plan by an ordinary one, a row without its label in no group."""
    rows = answers().assign(region=["north", "south", None, "south"] * 100)
    source = samples.written(tmp_path, ending, pa.Table.from_pandas(rows, preserve_index=False))
    receipt = release(source)
    frame = back(receipt.target)
    frame.attrs = {"rrstats": write(receipt.records)}
    found = files.estimate_file(receipt.target, by="region")
    for name in CATEGORIES:
        expected = frame.rr.estimate(name, by="region")
        assert {*expected} == {*found[name]} == {"north", "south"}
        assert all(expected[label].tally == found[name][label].tally for label in expected)
        assert 100 == expected.left_out == found[name].left_out


def test_saved_frames_and_reports_that_contradict_the_plan(tmp_path):
    """A saved frame is whole, with whole numbers in text; reports of other rows show a change."""
    released = rr.privatize(answers(), PLAN, unknown="uniform")
    for path in (tmp_path / "saved.parquet", tmp_path / "saved.csv"):
        assert 2.0 == released.rr.to_csv(path).epsilon_per_row
        assert cells(released) == cells(back(path))
        found = files.estimate_file(path)
        assert all(released.rr.estimate(name).tally == found[name].tally for name in ("a", "b"))
    asked = released["rr_asked"].isin(ASKED["a"])
    for name, rows, value in [("a", asked, np.nan), ("a", ~asked, 1), ("c", asked, "u")]:
        changed = released.copy()
        changed.loc[rows, name] = value
        with pytest.raises(MetadataError, match=r"none of its reports|have a report"):
            changed.rr.to_parquet(tmp_path / "changed.parquet")
        changed.to_parquet(path := tmp_path / "changed.parquet")
        refused(MetadataError, "says that other rows were asked", files.estimate_file, path, name)
        path.unlink()


def _changed(**facts):
    """The records of the plan, of which the first has other facts."""
    given = {"plan": PLAN.recorded}
    first, *others = [ColumnRecord.of(*one, **given) for one in PLAN.mechanisms.items()]
    return [ColumnRecord.from_dict({**first.to_dict(), **facts}), *others]


OTHER = FramePlan(CATEGORIES, 2.5, PLAN.parts)
ALONE = ["a", "b", "c"]
WRONG = {
    "absent": (FramePlan({"a": [0, 1], "no": [0, 1]}, 1, ["a", "no"]), {}, "'no'.*not there"),
    "there": (FramePlan(CATEGORIES, 1, ALONE, asked="note"), {}, "a column 'note'"),
    "number": (FramePlan(CATEGORIES, 1, ALONE, asked=7), {}, "asked must be text"),
    "kept": (PLAN, {"missing": "keep"}, "missing must be one of"),
    "raises": (
        PLAN,
        {"unknown": "raise"},
        "of column .a. that were asked for in 400",
    ),
    "part": (_changed()[1:], {}, "exactly the columns of its parts"),
    "policies": (_changed(unknown="uniform"), {}, "same plan, unknown and missing"),
    "other plan": (_changed(plan=OTHER.in_record()), {}, "same plan, unknown and missing"),
    "mechanism": (_changed(mechanism=rr.KRR([0, 1, 2], 0.5).to_dict()), {}, "mechanism in that"),
    "parts": ({**PLAN.to_dict(), "parts": [["b", "c", "a"]]}, {}, "pairs of two different"),
    "odd policy": ({**PLAN.to_dict(), "unknown": "keep"}, {}, "'unknown' of column .* must be one"),
    "simulated": (_changed(simulated=True), {}, "which a plan cannot set"),
    "rows": (_changed(by_row={"prob": "p"}), {}, "prob of each row"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_plans_leave_nothing(tmp_path, name):
    """Wrong plans are refused before anything is written, with what is wrong."""
    plan, options, text = WRONG[name]
    source = written(tmp_path, ".parquet")
    options = options if options or not isinstance(plan, FramePlan) else {"unknown": "uniform"}
    refused(RRStatsError, text, files.privatize_file, source, target_of(source), plan, **options)
    assert [source.name] == samples.names(tmp_path)


def test_reports_are_not_privatized_again(tmp_path):
    """Neither by a plan, nor by a mechanism: rows that were not asked would look like answers."""
    target = release(written(tmp_path, ".parquet")).target
    before = samples.names(tmp_path)
    second = FramePlan(CATEGORIES, 1, PLAN.parts, asked="second")
    for plan in (PLAN, second, {"b": rr.KRR(["x", "y, z"], 0.7)}):
        with pytest.raises((MetadataError, ArgumentValueError), match=r"reports already|rr_asked"):
            files.privatize_file(target, tmp_path / "t.parquet", plan, again=True)
    assert before == samples.names(tmp_path)


def test_the_command_line_runs_a_plan(tmp_path, capsys):
    """Privatize, estimate and describe by a plan written by hand; --dry-run writes nothing."""
    source = written(tmp_path, ".csv")
    source.write_bytes(source.read_bytes().replace(b",7,", b",2,"))
    (tmp_path / "plan.toml").write_text('missing = "uniform"' + TOML)
    given = ("privatize", source, tmp_path / "out.csv", "--plan", tmp_path / "plan.toml")
    assert "would be privatized" in cli_calls.done(capsys, *given, "--dry-run")
    assert not (tmp_path / "out.csv").exists()
    told = cli_calls.done(capsys, *given)
    assert "Epsilon of a row: 2." in told
    assert "one part of the plan; column rr_asked says which" in told
    assert "rows were not asked" in cli_calls.done(capsys, "estimate", tmp_path / "out.csv")
    made = cli_calls.done(capsys, "estimate", tmp_path / "out.csv", "--format", "json")
    assert [2.0] * 3 == [column["epsilon"] for column in json.loads(made)["columns"]]


@pytest.mark.parametrize("name", ONE_PART)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_command_line_runs_a_plan_with_one_part(tmp_path, capsys, ending, name):
    """Privatize, estimate, check and describe; each row spends the epsilon of the one part."""
    plan, source, target = ONE_PART[name], written(tmp_path, ending), tmp_path / f"out{ending}"
    document = {**plan.to_dict(), "unknown": "uniform"}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    given = ("privatize", source, target, "--plan", tmp_path / "plan.json")
    assert "would be privatized" in cli_calls.done(capsys, *given, "--dry-run")
    assert "Epsilon of a row: 2." in cli_calls.done(capsys, *given)
    assert set(plan.labels) == {*back(target)["rr_asked"]}
    released = json.loads(cli_calls.done(capsys, "describe", target, "--format", "json"))
    assert plan == FramePlan.from_dict(released)
    made = json.loads(cli_calls.done(capsys, "estimate", target, "--format", "json"))
    assert [2.0] * len(plan.categories) == [column["epsilon"] for column in made["columns"]]
    for column, estimate in files.estimate_file(target).items():
        assert (400, plan.mechanisms[column]) == (estimate.n, estimate.mechanism)
    cli_calls.done(capsys, "describe", target, "--statement", tmp_path / "statement.md")
    assert "rr\\_asked" in (tmp_path / "statement.md").read_text()


@pytest.mark.parametrize("plan", [PLAN, *ONE_PART.values()], ids=["parts", *ONE_PART])
def test_tasks_of_an_engine_run_a_plan(tmp_path, plan):
    """Each task draws its own coins; the parts and the document of the directory tell the plan."""
    source = written(tmp_path, "")
    target = tmp_path / "target"
    receipt = privatize_by_tasks(source, target, plan, samples.in_turn, unknown="uniform")
    found = back(receipt.target)
    assert (400, 2.0) == (len(found), receipt.epsilon_per_row)
    assert receipt.records == files.describe_file(receipt.target)
    assert len(plan.categories) == len(files.estimate_file(receipt.target))


@pytest.mark.parametrize("name", ONE_PART)
def test_a_frame_of_a_plan_with_one_part_is_saved_and_carried(tmp_path, name):
    """Saving, pickling, batches of another process' kind, metadata and the statement work."""
    plan = ONE_PART[name]
    released = rr.privatize(answers(), plan, unknown="uniform")
    for path in (tmp_path / "saved.parquet", tmp_path / "saved.csv"):
        assert 2.0 == released.rr.to_csv(path).epsilon_per_row
        for column, estimate in files.estimate_file(path).items():
            assert released.rr.estimate(column).tally == estimate.tally
        assert "rr_asked" in str(files.statement_of(path))
    schema = pa.Table.from_pandas(answers(), preserve_index=False).schema
    release_of = batches.BatchRelease(schema, plan, unknown="uniform")
    space = release_of.written["rr_asked"].space
    copied = pickle.loads(pickle.dumps(space))
    assert (space, 1, type(space)) == (copied, copied.k, type(copied))
    assert plan == FramePlan.from_dict(plan.to_dict())


@pytest.mark.parametrize("parts", [["a", "b", "c"], [("a", "b"), "c"]])
def test_a_schema_of_spark_names_the_new_column(parts):
    """Spark reads only the columns that its own schema in the file names."""
    fields = [{"name": name, "type": "string", "metadata": {}} for name in CATEGORIES]
    old = {file_metadata.SPARK: json.dumps({"type": "struct", "fields": fields}).encode()}
    schema = pa.schema({name: pa.string() for name in CATEGORIES}, metadata=old)
    plan = FramePlan({name: ["x", "y"] for name in CATEGORIES}, 1, parts)
    made = batches.BatchRelease(schema, plan).schema
    told = json.loads(made.metadata[file_metadata.SPARK])["fields"]
    assert made.names == [field["name"] for field in told] == [*CATEGORIES, "rr_asked"]
    named = schema.append(pa.field("id", pa.int8()))
    with pytest.raises(ArgumentTypeError, match="needs fresh words"):
        batches.BatchRelease(named, plan, key=rr.client.Keyed(bytes(range(32)), "id"))


WORDS = FramePlan({"a": [0, 1, 2], "b": ["x", "y"]}, 2.0, ["a", ("b", "a"), "b"])
PLANS = {
    "parts": WORDS,
    "pair": FramePlan({"a": [0, 1, 2], "b": ["x", "y"]}, 2.0, [("a", "b")]),
    "column": FramePlan({"b": ["x", "y"]}, 2.0, ["b"]),
}
TABLE = pd.DataFrame({"id": range(400), "a": [0, 1, 2, 1] * 100, "b": ["x", "y"] * 200})


def _polars(target, plan):
    pl = pytest.importorskip("polars")
    rrp = pytest.importorskip("rrstats.engines.polars")
    frame = pl.from_pandas(TABLE)
    made = frame.rr.privatize(plan)
    assert [*TABLE, "rr_asked"] == made.columns
    for name, at in itertools.product(plan.categories, range(400)):
        asked = [label for label, part in zip(plan.labels, plan.parts, strict=True) if name in part]
        assert (made[name][at] is not None) == (made["rr_asked"][at] in asked)
    refused(ArgumentTypeError, "leave prob out", frame.rr.privatize, plan, prob=0.7)
    target = target.with_suffix(".parquet")
    return rrp.sink_privatized(frame.lazy(), target, plan), frame.lazy().rr, pl.scan_parquet


def _dask(target, plan):
    dd = pytest.importorskip("dask.dataframe")
    rrd = pytest.importorskip("rrstats.engines.dask")
    frame = dd.from_pandas(TABLE, npartitions=2)
    return rrd.privatize_parquet(frame, target, plan, shuffle_rows=True), frame.rr, dd.read_parquet


@pytest.mark.filterwarnings("ignore::DeprecationWarning:dask")
@pytest.mark.parametrize("engine", [_polars, _dask])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_engines_run_a_plan(tmp_path, engine, plan):
    """An engine writes a plan once, with its public column; a lazy result is refused."""
    receipt, lazy, read = engine(tmp_path / "target", plan)
    assert (400, 2.0) == (receipt.rows, receipt.epsilon_per_row)
    assert plan.recorded == files.describe_file(receipt.target)[0].plan
    found = files.estimate_file(receipt.target)
    for name, estimate in rr.estimate(read(receipt.target), plan).items():
        assert estimate.tally == found[name].tally
    assert found["b"].tally == files.estimate_file(receipt.target, mechanism=plan)["b"].tally
    for keyed in ({}, {"key": rr.client.Keyed(rr.client.new_key(), "id")}):
        with pytest.raises(ArgumentTypeError, match="the coin of a plan cannot be keyed"):
            lazy.privatize(plan, **keyed)


@pytest.mark.slow
@spark_session.QUIET
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_spark_runs_a_plan(tmp_path, plan):
    """Spark's parts, its schema and its records hold the plan and the public column."""
    spark, rrs = spark_session.get(), pytest.importorskip("rrstats.engines.spark")
    frame = spark.createDataFrame([tuple(row) for row in TABLE.astype(object).values], [*TABLE])
    rrs.privatize_parquet(frame, tmp_path / "target", plan)
    made = spark.read.parquet(str(tmp_path / "target"))
    assert [*TABLE, "rr_asked"] == made.columns
    found = files.estimate_file(tmp_path / "target")
    for name in plan.categories:
        assert rr.estimate(made, columns=name).tally == found[name].tally
    assert rr.estimate(made, plan)["b"].tally == found["b"].tally


@pytest.mark.slow
def test_ten_columns_take_little_more_than_a_copy(tmp_path):
    """Ten columns of text by a plan take at most 1.3 times the processor time of a plain copy."""
    rng, names, n = np.random.default_rng(1), [f"q{i}" for i in range(10)], 1_000_000
    words = pa.array(["never", "once", "often", "always"])
    source = tmp_path / "source.parquet"
    answers_of = {name: words.take(pa.array(rng.integers(0, 4, n))) for name in names}
    pq.write_table(pa.table(answers_of), source)
    plan = FramePlan({name: words.to_pylist() for name in names}, 2.0, names)
    target, ratios = target_of(source), []

    def copy():
        with pq.ParquetFile(source) as file, pq.ParquetWriter(target, file.schema_arrow) as w:
            for group in range(file.num_row_groups):
                w.write_table(pa.Table.from_batches(file.iter_batches(1 << 18, row_groups=[group])))

    ways = [copy, lambda: release(source, plan, again=True, overwrite=True)]
    for _ in range(6):
        taken = []
        for way in ways:
            start = time.process_time()
            way()
            taken.append(time.process_time() - start)
        ratios.append(taken[1] / taken[0])
    assert statistics.median(ratios[1:]) <= 1.3, ratios
