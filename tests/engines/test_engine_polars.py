"""Polars: a lazy frame goes once into a file, and stays lazy only under a key."""

import datetime
import importlib
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from refusals import refused

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # after importorskip
from engine_frames import told  # after importorskip
from file_samples import rows_of  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.engines import polars as rrp  # after importorskip

Keyed = rr.client.Keyed

WORDS = ["never", "once", "often", "always"]
M = rr.KRR(WORDS, 0.4)
CODES = rr.KRR([1, 2, 3], 0.5)
SECRET = "a cell that nobody may see"
KEY = rr.client.new_key()


def frame(n=1000):
    """Ids, answers of which every tenth is unknown, and a column to filter by."""
    words = [WORDS[-1 - i % 4] if i % 10 != 9 else "dunno" for i in range(n)]
    return pl.DataFrame({"id": range(n), "answer": words, "age": [i % 90 for i in range(n)]})


def test_the_sink_writes_each_row_once_in_its_order(tmp_path):
    """Other columns and the order of rows stay, counts are right, and the file says it all."""
    n = 250_000
    receipt = rrp.sink_privatized(
        frame(n).lazy(), tmp_path / "out.parquet", {"answer": M}, unknown="uniform"
    )
    made = pl.read_parquet(tmp_path / "out.parquet")
    assert frame(n).drop("answer").equals(made.drop("answer"))
    assert ["id", "answer", "age"] == made.columns
    assert n == receipt.rows
    assert {"answer": {"unknown": n // 10, "missing": 0}} == receipt.private
    assert M == rr.files.describe_file(tmp_path / "out.parquet")[0].resolve()
    assert n == rr.files.tally_file(tmp_path / "out.parquet", "answer").n
    assert ["out.parquet"] == [path.name for path in tmp_path.iterdir()]
    assert set(WORDS) == set(pd.read_parquet(tmp_path / "out.parquet")["answer"])


def heights_of(lazy):
    """The numbers of rows of the pieces in which Polars streams a frame."""
    heights = []

    def work(piece):
        heights.append(piece.height)
        return piece

    lazy.map_batches(work, streamable=True).collect(engine="streaming")
    return heights


def test_no_byte_of_the_file_follows_from_where_pieces_of_the_source_end(tmp_path):
    """300,000 zeros before a number move the pieces, and not one byte of a file."""
    files, pieces = [], []
    schema = {"id": pl.Int64, "answer": pl.Int64}
    for cell in ("2", "0" * 300_000 + "2"):
        lines = [f"{place},1\n" for place in range(300_000)]
        lines[1000] = f"1000,{cell}\n"
        (tmp_path / "in.csv").write_text("id,answer\n" + "".join(lines))
        lazy, out = pl.scan_csv(tmp_path / "in.csv", schema=schema), tmp_path / "out.parquet"
        rrp.sink_privatized(lazy, out, {"answer": CODES}, key=Keyed(KEY, "id"), overwrite=True)
        files.append(out.read_bytes())
        pieces.append(heights_of(lazy))
        assert [262_144, 37_856] == rows_of(out)
    assert pieces[0] != pieces[1]
    assert files[0] == files[1]


def in_pieces(data, cut):
    """A lazy frame in memory in two pieces, and text cut from the same bytes as the answers."""
    pieces = pl.concat([data[:cut], data[cut:]], rechunk=False).lazy()
    return pieces.with_columns(city=pl.col("raw").str.head(20)).drop("raw")


def test_a_lazy_frame_does_not_show_the_pieces_of_its_source_and_hidden_bytes(tmp_path):
    """Keyed reports have no file of their own; whoever collects or writes them sees rows alone."""
    data = frame().with_columns(raw=pl.format("a city of so many letters {}: {}", "id", "answer"))
    shown = set()
    for place, cut in enumerate([10, 400]):
        pieces = in_pieces(data, cut)
        assert pieces.collect()["id"].n_chunks() > 1  # control
        keyed = pieces.rr.privatize("answer", M, key=Keyed(KEY, "id"), unknown="uniform")
        path = tmp_path / f"{place}.parquet"
        keyed.sink_parquet(path)
        ipc = keyed.collect().write_ipc(None, compression="uncompressed").getvalue()
        shown.add((pickle.dumps(keyed.collect()), path.read_bytes(), ipc))
        assert not any(b": never" in content for content in [*shown][-1])
        counted = keyed.filter(pl.col("id") < 7).select("city", pl.len()).collect()
        assert counted["len"].to_list() == [7] * 7
    assert len(shown) == 1


def test_no_two_batches_share_noise(tmp_path):
    """Batches of equal answers get different reports, and so do two columns and two sinks.

    Of 50,000 reports 28% are equal by chance (0.4**2 + 3 * 0.2**2); 30% or more with a chance below
    exp(-2 * 50000 * 0.02**2) < 1e-17 for a pair (Hoeffding).
    """
    n = 200_000
    alike = pl.DataFrame({"one": ["once"] * n, "two": ["once"] * n})
    made = []
    for name in ("a.parquet", "b.parquet"):
        rrp.sink_privatized(alike.lazy(), tmp_path / name, {"one": M, "two": M})
        made.append(pl.read_parquet(tmp_path / name))
    columns = [column for each in made for column in (each["one"], each["two"])]
    parts = [
        column[at : at + 50_000].to_numpy() for column in columns for at in range(0, n, 50_000)
    ]
    first = parts[0]
    assert [] == [i for i, part in enumerate(parts[1:]) if np.mean(part == first) >= 0.3]
    assert all(np.mean(part[1:] == part[:-1]) < 0.3 for part in parts)


@pytest.mark.parametrize("value", ["once", None], ids=["a word", "missing"])
def test_a_column_alike_in_all_rows_gets_a_coin_for_each(tmp_path, value):
    """A literal, which Polars holds as one cell, is answered row by row.

    Reports all alike, of 2000 rows: a chance below 4 * 0.4**2000 = 1e-795.
    """
    lazy = pl.LazyFrame({"id": range(2000)}).with_columns(answer=pl.lit(value))
    receipt = rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M}, unknown="uniform")
    made = pl.read_parquet(tmp_path / "out.parquet")["answer"]
    assert (2000, 2000) == (receipt.rows, len(made))
    assert 1 < made.n_unique()
    assert {"unknown": 0, "missing": 0 if value else 2000} == receipt.private["answer"]
    table = pl.DataFrame({"id": range(2000)}).with_columns(answer=pl.lit(value))
    eager = table.rr.privatize("answer", M, unknown="uniform")["answer"]
    assert 1 < eager.n_unique()


def test_a_filter_before_the_sink_chooses_by_the_truth(tmp_path):
    """What the frame asks for is done before privatizing: a filter, a slice, a sort, a join."""
    lazy = frame(400).lazy().filter(pl.col("answer") == "once").sort("id", descending=True)
    names = pl.LazyFrame({"age": range(90), "band": [f"{i // 10}0s" for i in range(90)]})
    lazy = lazy.join(names, on="age", maintain_order="left").head(30)
    rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M})
    made = pl.read_parquet(tmp_path / "out.parquet")
    assert lazy.collect().drop("answer").equals(made.drop("answer"))
    assert 1 < made["answer"].n_unique()  # all once with a chance of 0.4**30 = 1e-12


def test_a_frame_that_fails_leaves_nothing_and_quotes_no_cell(tmp_path):
    """When the frame cannot be computed there is no file, and the error tells no cell."""

    def broken(cells):
        if 700 in cells:
            raise ValueError(SECRET)
        return cells

    python = frame().lazy().with_columns(pl.col("id").map_batches(broken, pl.Int64))
    cast = frame().lazy().with_columns(pl.lit(SECRET).cast(pl.Int8).alias("age"))
    for lazy in (python, cast):
        with pytest.raises(rr.errors.FileError, match="nothing was published") as caught:
            rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M}, unknown="uniform")
        assert SECRET not in told(caught.value)
        assert [] == list(tmp_path.iterdir())


def test_answers_that_are_refused_are_counted_and_nothing_is_written(tmp_path):
    """The default tells how many of how many, and no cell."""
    out = tmp_path / "out.parquet"
    with pytest.raises(rr.errors.UnknownAnswersError, match="100 of 1000") as caught:
        rrp.sink_privatized(frame().lazy(), out, {"answer": M})
    assert "dunno" not in told(caught.value)
    assert [] == list(tmp_path.iterdir())
    lost = pl.LazyFrame({"answer": ["once", None] * 10})
    match = "10 of 20 answers of column 'answer' are missing"
    refused(rr.errors.UnknownAnswersError, match, rrp.sink_privatized, lost, out, {"answer": M})
    rrp.sink_privatized(lost, out, {"answer": M}, missing="keep")
    assert [False, True] * 10 == pl.read_parquet(out)["answer"].is_null().to_list()


def test_what_is_there_is_not_overwritten_unless_asked(tmp_path):
    """An existing file stays, byte by byte, also when what should replace it fails."""
    out = tmp_path / "out.parquet"
    out.write_bytes(b"mine")
    refused(rr.errors.FileError, "overwrite=True", rrp.sink_privatized, frame(), out, {"answer": M})
    with pytest.raises(rr.errors.UnknownAnswersError):
        rrp.sink_privatized(frame(), out, {"answer": M}, overwrite=True)
    assert b"mine" == out.read_bytes()
    rrp.sink_privatized(frame(), out, {"answer": M}, unknown="uniform", overwrite=True)
    assert 1000 == pq.read_metadata(out).num_rows


AB, DAY = ["a", "b"], datetime.date(2026, 1, 31)
TWO = rr.KRR(AB, 0.75)
PLANS = {
    "text": (AB, pl.String, pl.String, TWO),
    "categorical": (AB, pl.Categorical, pl.Enum(AB), TWO),
    "enum": (AB, pl.Enum(["b", "a", "z"]), pl.Enum(AB), TWO),
    "bool": ([True, False], pl.Boolean, pl.Boolean, rr.KRR([False, True], 0.75)),
    "small": ([1, 2], pl.Int8, pl.Int8, CODES),
    "wider": ([1, 2], pl.Int8, pl.Int64, rr.KRR([1, 1000], 0.75)),
    "unsigned": ([1, 2], pl.UInt16, pl.UInt16, CODES),
    "float": ([0.5, 1.5], pl.Float64, pl.Float64, rr.KRR([0.5, 1.5], 0.75)),
    "date": ([DAY] * 2, pl.Date, pl.Date, rr.KRR([DAY, DAY + datetime.timedelta(1)], 0.75)),
    "bytes": ([b"a", b"b"], pl.Binary, pl.Binary, rr.KRR([b"a", b"b"], 0.75)),
    "null": ([None, None], pl.Null, pl.String, TWO),
    "missing": (["a", None], pl.String, pl.String, rr.KRR(["a", None], 0.75)),
    "missing enum": (["a", None], pl.Enum(["a"]), pl.Enum(["a"]), rr.KRR(["a", None], 0.75)),
    "bits": (AB, pl.String, pl.Binary, rr.mechanisms.UnaryEncoding.optimized(AB, epsilon=1.0)),
    "bits of an enum": (
        AB,
        pl.Enum(AB),
        pl.Binary,
        rr.mechanisms.SubsetSelection(["a", "b", "c"], epsilon=1.0, size=2),
    ),
}


def test_types_follow_from_the_declaration(tmp_path):
    """Each kind of column that can hold answers, streamed, in a frame, as Series and keyed."""
    data = {
        name: pl.Series(values * 20, dtype=kind) for name, (values, kind, _, _) in PLANS.items()
    }
    table = pl.DataFrame(data).with_row_index("id")
    plan = {name: mechanism for name, (*_, mechanism) in PLANS.items()}
    types = {name: expected for name, (_, _, expected, _) in PLANS.items()}
    rrp.sink_privatized(table.lazy(), tmp_path / "out.parquet", plan, unknown="uniform")
    lazy = table.lazy().rr.privatize(plan, key=Keyed(KEY, "id"), unknown="uniform")
    for made in (
        pl.read_parquet(tmp_path / "out.parquet"),
        table.rr.privatize(plan, unknown="uniform"),
        lazy.collect(),
    ):
        assert {"id": pl.UInt32} | types == dict(made.schema)
        for name, mechanism in plan.items():
            assert 40 == rr.tally(made[name].to_arrow(), mechanism).n
    assert {"id": pl.UInt32} | types == dict(lazy.collect_schema())
    for name, mechanism in plan.items():
        alone = table[name].rr.privatize(mechanism, unknown="uniform")
        assert (name, types[name], 40) == (alone.name, alone.dtype, len(alone))


def test_a_file_holds_no_word_that_is_no_category(tmp_path):
    """Words that Polars once saw in a Categorical do not reach the file."""
    cells = pl.Series([SECRET, *WORDS[::-1]] * 20, dtype=pl.Categorical)
    lazy = pl.LazyFrame({"answer": cells})
    rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M}, unknown="uniform")
    assert pl.Enum(WORDS) == pl.read_parquet_schema(tmp_path / "out.parquet")["answer"]
    table = pq.read_table(tmp_path / "out.parquet")
    assert WORDS == table["answer"].chunk(0).dictionary.to_pylist()
    assert SECRET not in str(pl.read_parquet_metadata(tmp_path / "out.parquet"))


def expected_reports(n=1000):
    """What pandas gives under the key."""
    data = frame(n).to_dict(as_series=False)
    made = rr.privatize(pd.DataFrame(data), {"answer": M}, key=Keyed(KEY, "id"), unknown="uniform")
    return dict(zip(made["id"], made["answer"], strict=True))


def test_keyed_reports_are_the_same_however_they_are_computed():
    """Three collects, a self-join, filters before and after, another order: all as in pandas."""
    expected = expected_reports()

    def keyed(lazy):
        return lazy.rr.privatize("answer", M, key=Keyed(KEY, "id"), unknown="uniform")

    def found(lazy, engine="auto"):
        made = lazy.select("id", "answer").collect(engine=engine)
        return dict(made.iter_rows())

    lazy = keyed(frame().lazy())
    for engine in ("auto", "streaming", "in-memory"):
        assert expected == found(lazy, engine)
    once = {number: report for number, report in expected.items() if report == "once"}
    assert once == found(lazy.filter(pl.col("answer") == "once"))
    few = {number: report for number, report in expected.items() if number % 90 == 7}
    assert few == found(lazy.filter(pl.col("age") == 7))
    assert few == found(keyed(frame().lazy().filter(pl.col("age") == 7)))
    assert expected == found(keyed(frame().lazy().sort("age")))
    assert dict(list(expected.items())[200:300]) == found(lazy.slice(200, 100))
    both = lazy.join(keyed(frame().lazy()), on="id", suffix="_again").collect()
    assert both["answer"].equals(both["answer_again"].alias("answer"))
    assert (
        500 == found(keyed(frame().lazy().with_columns(answer=pl.lit("once"))).head(500)).__len__()
    )


def test_the_keyed_sink_and_eager_forms_agree_with_pandas(tmp_path):
    """A sink under a key, a DataFrame and a Series give pandas' reports, and the file says so."""
    expected, options = expected_reports(), {"unknown": "uniform"}
    out = tmp_path / "out.parquet"
    receipt = rrp.sink_privatized(
        frame().lazy(), out, {"answer": M}, key=Keyed(KEY, "id"), **options
    )
    assert receipt.records[0].keyed
    assert expected == dict(pl.read_parquet(out).select("id", "answer").iter_rows())
    eager = frame().rr.privatize("answer", M, key=Keyed(KEY, "id"), **options)
    assert list(expected.values()) == eager["answer"].to_list()
    alone = frame()["answer"].rr.privatize(M, key=Keyed(KEY, frame()["id"]), **options)
    assert list(expected.values()) == alone.to_list()


def test_counting_is_that_of_the_public_functions():
    """Frames, lazy frames and Series of reports are counted and estimated as in pandas."""
    reports = frame(200).select("id", "answer", "age").filter(pl.col("answer") != "dunno")
    expected = rr.tally(reports["answer"].to_list(), M).reported.tolist()
    shares = rr.estimate(reports["answer"].to_list(), M).proportions.tolist()
    for counted in (reports.rr, reports.lazy().rr):
        assert expected == counted.tally("answer", M).reported.tolist()
        assert shares == counted.estimate("answer", M).proportions.tolist()
        assert 180 == counted.crosstab("answer", "age", mechanisms={"answer": M}).n
    assert expected == reports["answer"].rr.tally(M).reported.tolist()
    assert shares == reports["answer"].rr.estimate(M).proportions.tolist()


def test_missing_ids_are_refused(tmp_path):
    """Without an id there is no keyed report; the error counts them, and nothing is written."""
    lazy = pl.LazyFrame({"id": [1, None, 3], "answer": WORDS[:3]})
    with pytest.raises(rr.errors.ArgumentValueError, match=r"found 1 of \d missing"):
        rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M}, key=Keyed(KEY, "id"))
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(rr.errors.ArgumentValueError, match=r"found 1 of \d missing"):
        lazy.collect().rr.privatize("answer", M, key=Keyed(KEY, "id"))


def test_nothing_lazy_without_a_key(tmp_path):
    """Without key and id a lazy frame is refused, and the sink is named."""
    lazy = frame().lazy()
    for given in ({}, {"key": None}):
        with pytest.raises(rr.errors.ArgumentTypeError, match="sink_privatized"):
            lazy.rr.privatize("answer", M, **given)
    with pytest.raises(rr.errors.ArgumentTypeError, match="key must be key and person together"):
        rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"answer": M}, key=KEY)
    refused(TypeError, "seed", frame().rr.privatize, "answer", M, seed=1)


@pytest.mark.parametrize(
    "options",
    [{}, {"unknown": "raise"}, {"missing": "keep"}, {"unknown": "uniform", "missing": "raise"}],
)
def test_a_lazy_frame_must_be_told_what_becomes_of_other_answers(options):
    """Nothing can be refused when Polars computes; the sentence names the policy and the sink."""
    lazy = frame().lazy()
    text = "give unknown='uniform'.* or write with rrstats.engines.polars.sink_privatized"
    keyed = {"key": Keyed(KEY, "id"), **options}
    refused(rr.errors.ArgumentValueError, text, lazy.rr.privatize, "answer", M, **keyed)
    keyed = {"key": Keyed(KEY, "id"), "unknown": "warn"}
    refused(rr.errors.ArgumentValueError, "no longer", lazy.rr.privatize, "answer", M, **keyed)


def test_columns_that_cannot_be_are_refused_before_anything_runs(tmp_path):
    """A column that is not there, lists, another file name, and what is no frame."""

    def never(cells):
        raise AssertionError

    lazy = frame().lazy().with_columns(pl.col("age").map_batches(never, pl.Int64))
    out = tmp_path / "out.parquet"
    with pytest.raises(rr.errors.ArgumentValueError, match="did you mean 'answer'"):
        rrp.sink_privatized(lazy, out, {"answr": M})
    listed = lazy.with_columns(pl.concat_list("answer").alias("answer"))
    with pytest.raises(rr.errors.ArgumentTypeError, match="one plain value"):
        rrp.sink_privatized(listed, out, {"answer": M})
    refused(rr.errors.ArgumentTypeError, "type", rrp.sink_privatized, lazy, out, {"answer": CODES})
    with pytest.raises(rr.errors.ArgumentValueError, match=r"\.parquet"):
        rrp.sink_privatized(lazy, tmp_path / "out.csv", {"answer": M})
    with pytest.raises(rr.errors.ArgumentTypeError, match="LazyFrame"):
        rrp.sink_privatized(pd.DataFrame(), out, {"answer": M})
    assert [] == list(tmp_path.iterdir())


def test_names_that_polars_takes_for_patterns_are_names(tmp_path):
    """A column called ^a.*$ is that column, and no other."""
    lazy = pl.LazyFrame({"^a.*$": ["once"] * 50, "again": ["once"] * 50, "id": range(50)})
    rrp.sink_privatized(lazy, tmp_path / "out.parquet", {"^a.*$": M})
    made = pl.read_parquet(tmp_path / "out.parquet")
    assert ["once"] * 50 == made["again"].to_list()
    assert ["once"] * 50 != made["^a.*$"].to_list()  # equal with a chance of 0.4**50
    keyed = lazy.rr.privatize("^a.*$", M, key=Keyed(KEY, "id"), unknown="uniform").collect()
    assert ["once"] * 50 == keyed["again"].to_list()


@pytest.mark.parametrize("absent", ["polars", "pyarrow"])
def test_without_its_packages_the_error_names_them(monkeypatch, absent):
    """Where Polars or pyarrow is absent the module says how to get it."""
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, "rrstats.engines.polars")
    with pytest.raises(rr.errors.MissingPackageError, match=r"pip install polars pyarrow"):
        importlib.import_module("rrstats.engines.polars")


def test_a_column_without_record_is_told_the_way_of_polars():
    """No word of attrs or of df.rr.carry, which are pandas'."""
    column = pl.Series("vote", ["yes", "no"])
    with pytest.raises(rr.errors.RRStatsError, match="polars does not keep") as raised:
        rr.estimate(column)
    assert "carry" not in str(raised.value)
    assert "columns='vote'" in str(raised.value)
