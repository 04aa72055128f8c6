"""Files of reports open in plain pandas, Polars, DuckDB and Spark, which know nothing of rrstats.

Each reader runs in a process of its own that never imports rrstats (Spark: in its JVM), and gives
back every value, every type, and the document as text, by its own means.
"""

import datetime
import json

import pytest

pytest.importorskip("pyarrow")  # rrstats.files reads and writes with it

import engine_frames  # all that follows needs it
import pyarrow as pa
import pyarrow.parquet as pq
import spark_session
from answers import QUIET
from cli_calls import run
from file_samples import read_feather, simulate_file, write_feather

import rrstats as rr
from rrstats import files
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord

pytestmark = engine_frames.QUIET

N = 120
DAYS = [datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)]
PLAN = {
    "answer": rr.KRR(["never", "once", "often"], 0.75),
    "kept": rr.KRR(["yes", "no"], 0.75),
    "flag": rr.KRR([True, False], 0.75),
    "grade": rr.KRR([1, 2, 3], 0.75),
    "score": rr.KRR([0.5, 1.5], 0.75),
    "day": rr.KRR(DAYS, 0.75),
    "kind": rr.KRR(["a", "b", "unseen"], 0.75),
    "bits": rr.mechanisms.UnaryEncoding.optimized(["x", "y", "z"], epsilon=1.0),
}


def source():
    """Answers of every type that all readers have."""

    def cycled(values, type=None):
        return pa.array([values[i % len(values)] for i in range(N)], type)

    return pa.table(
        {
            "id": pa.array(range(N), pa.int64()),
            "answer": cycled(["never", "once", "often"]),
            "kept": cycled(["yes", None, "no"]),
            "flag": cycled([True, False]),
            "grade": cycled([1, 2, 3], pa.int8()),
            "score": cycled([0.5, 1.5]),
            "day": cycled(DAYS),
            "kind": cycled(["a", "b"]).dictionary_encode(),
            "bits": cycled(["x", "y", "z"]),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Parquet file, a directory of them as engines leave it, and a Feather file."""
    path = tmp_path_factory.mktemp("readers")
    policies = {name: "keep" if name == "kept" else "unknown" for name in PLAN}
    plan = [
        ColumnRecord.of(name, m, unknown="uniform", missing=policies[name])
        for name, m in PLAN.items()
    ]
    pq.write_table(source(), path / "source.parquet")
    write_feather(source(), path / "source.feather")
    (path / "source").mkdir()
    for place in range(2):
        part = source().slice(place * N // 2, N // 2)
        pq.write_table(part, path / "source" / f"part-{place}.parquet")
    for name in ("parquet", "feather"):
        target = path / f"reports.{name}"
        simulate_file(path / f"source.{name}", target, plan, rng=QUIET)
    simulate_file(path / "source", path / "reports", plan, rng=QUIET)
    said = files.describe_file(path / "reports")
    (path / "reports" / "_rrstats.json").write_text(json.dumps(column_records.write(said)))
    (path / "reports" / "_SUCCESS").touch()
    return path


@pytest.fixture(scope="module")
def expected(folder):
    """All values, by pyarrow."""
    table = pq.read_table(folder / "reports.parquet")
    assert table.to_pydict() == read_feather(folder / "reports.feather").to_pydict()
    assert table["answer"].to_pylist() == source()["answer"].to_pylist()  # QUIET tells the truth
    return plainly(table.to_pydict())


def plainly(columns):
    """Values as JSON has them."""
    return json.loads(json.dumps(columns, default=_plain))


def _plain(value):
    return value.hex() if isinstance(value, bytes | bytearray) else value.isoformat()


READ = """
import json, sys
def plain(value):
    return value.hex() if isinstance(value, (bytes, bytearray)) else value.isoformat()[:10]
found = {}
%s
assert not [name for name in sys.modules if name.partition(".")[0] == "rrstats"]
print(json.dumps(found, default=plain))
"""


def read_by(package, code, folder):
    """What the code found in the folder, in a process that does not know rrstats."""
    pytest.importorskip(package)
    done = run("-c", READ % code, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def listed(types):
    """The types of the columns of the source, in their order."""
    return dict(zip(["id", *PLAN], types.split(), strict=True))


PANDAS = """
import pandas as pd, pyarrow.parquet as pq
for name in ("reports.parquet", "reports", "reports.feather"):
    frame = (pd.read_feather if name.endswith("feather") else pd.read_parquet)(name)
    found[name] = {
        "values": {c: [None if pd.isna(v) else v for v in frame[c].tolist()] for c in frame},
        "types": {c: str(frame[c].dtype) for c in frame},
        "categories": frame["kind"].cat.categories.tolist(),
        "said": frame.attrs.get("rrstats"),
    }
found["text"] = pq.read_metadata("reports.parquet").metadata[b"rrstats"].decode()
"""


def test_pandas(folder, expected):
    """pandas reads every value, the declared categories, and the document in attrs."""
    found = read_by("pandas", PANDAS, folder)
    for name in ("reports.parquet", "reports", "reports.feather"):
        assert expected == found[name]["values"], name
        types = {
            c: "text" if t in ("str", "object") else t for c, t in found[name]["types"].items()
        }
        assert listed("int64 text text bool int8 float64 text category text") == types
        assert found[name]["categories"] == ["a", "b", "unseen"]
        assert_said(found[name]["said"] or json.loads(found["text"]))
    assert_said(json.loads(found["text"]))


POLARS = """
import polars as pl
read = {
    "reports.parquet": lambda: pl.read_parquet("reports.parquet"),
    "reports": lambda: pl.read_parquet("reports/*.parquet"),
    "lazy": lambda: pl.scan_parquet("reports/*.parquet").collect(),
    "reports.feather": lambda: pl.read_ipc("reports.feather"),
}
for name, reader in read.items():
    frame = reader()
    found[name] = {
        "values": frame.to_dict(as_series=False),
        "types": {c: str(t) for c, t in frame.schema.items()},
    }
found["text"] = pl.read_parquet_metadata("reports.parquet")["rrstats"]
"""


def test_polars(folder, expected):
    """Polars reads every value, and the document as metadata of a Parquet file."""
    found = read_by("polars", POLARS, folder)
    for name in ("reports.parquet", "reports", "lazy", "reports.feather"):
        assert expected == found[name]["values"], name
        types = found[name]["types"]
        assert types["kind"].startswith(("Categorical", "Enum"))
        types["kind"] = "Kind"
        assert listed("Int64 String String Boolean Int8 Float64 Date Kind Binary") == types
    assert_said(json.loads(found["text"]))


DUCKDB = """
import duckdb
for name in ("reports.parquet", "reports/*.parquet"):
    relation = duckdb.sql(f"select * from '{name}' order by id")
    rows = relation.fetchall()
    found[name] = {
        "values": {c: [row[i] for row in rows] for i, c in enumerate(relation.columns)},
        "types": dict(zip(relation.columns, map(str, relation.types))),
    }
said = duckdb.sql("select value from parquet_kv_metadata('reports.parquet') where key = 'rrstats'")
found["text"] = said.fetchall()[0][0].decode()
"""


def test_duckdb(folder, expected):
    """DuckDB reads every value of Parquet, and the document by parquet_kv_metadata."""
    found = read_by("duckdb", DUCKDB, folder)
    for name in ("reports.parquet", "reports/*.parquet"):
        assert expected == found[name]["values"], name
        types = "BIGINT VARCHAR VARCHAR BOOLEAN TINYINT DOUBLE DATE VARCHAR BLOB"
        assert listed(types) == found[name]["types"]
    assert_said(json.loads(found["text"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reports.parquet", "reports"])
def test_spark(folder, expected, name):
    """Spark reads every value of Parquet; the document in a directory does not disturb it."""
    spark = spark_session.get()
    frame = spark.read.parquet(str(folder / name)).orderBy("id")
    rows = frame.collect()
    assert expected == plainly({c: [row[c] for row in rows] for c in frame.columns})
    types = "bigint string string boolean tinyint double date string binary"
    assert listed(types) == dict(frame.dtypes)


def assert_said(document):
    """The document is whole, and says what made each column."""
    records = column_records.read({"rrstats": document})
    assert {record.name: record.resolve() for record in records} == PLAN
    assert {record.name for record in records if record.missing == "keep"} == {"kept"}
