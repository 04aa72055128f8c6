"""Every engine's frame counts as the same rows in pandas do, and only counts come back."""

import datetime
from decimal import Decimal
from functools import cache

import engine_frames
import numpy as np
import pandas as pd
import pytest
from cli_calls import run
from refusals import refused
from tally_cells import cells_of

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    MissingPackageError,
    RRStatsError,
)
from rrstats.estimation.estimates.crosstab import Crosstab
from rrstats.estimation.estimates.groups import GroupEstimates
from rrstats.estimation.tallies.tally import Tally
from rrstats.mechanisms import KRR, Samples, UnaryEncoding, surveys

pytestmark = engine_frames.QUIET

N = 360

M = KRR(["never", "once", "often"], 0.75)
YES = KRR(["no", "yes"], 0.625)
FLAG = KRR([True, False], 0.75)
SILENT = KRR(["no", None, "yes"], 0.625)
NUMBER = KRR([10, 20, 30], 0.5)
DAYS = [datetime.date(2020, 2, 29), datetime.date(2021, 1, 1)]
DAY = KRR(DAYS, 0.75)
CODES = KRR([b"\x00", b"\xff\x01"], 0.75)
WIDE = KRR(range(1000), 0.5)
BITS = UnaryEncoding.optimized(["a", "b", "c"], epsilon=1.0)
MIXED = Samples({"dice": KRR(["no", "yes"], 0.75), "cards": KRR(["no", "yes"], 0.5625)})
PAIRS = surveys.crosswise_with_anchor(["no", "yes"], 0.25, 0.125, yes="yes")


def _cycle(values, step=1):
    """N values by turns, with a period that others do not share."""
    return [values[(row * step + row // 7) % len(values)] for row in range(N)]


def _bits():
    values = _cycle(["a", "b", "c"], 5)
    return [bytes(one) for one in rr.simulate(pd.Series(values), BITS, seed=3)]


@cache
def columns():
    """The table of all cases; no column is a copy or a shift of another."""
    parts = PAIRS.report_space.categories
    pairs = _cycle([*parts, *parts[:3]])
    return {
        "answer": _cycle(["never", None, "once", "often", "once", "never", "never"]),
        "second": _cycle(["no", "yes", "yes", "no", None, "yes", "no", "no", "no", "yes", "no"]),
        "region": _cycle(["south", "north", "east", None, "north"], 3),
        "age": _cycle([31, 42, None, 53, 31, 31, 64, 42], 3),
        "flag": _cycle([True, False, None, False, True]),
        "number": _cycle([10, 20, 20, 30, 10, 20, 30, 30, 30]),
        "real": _cycle([10.0, 20.0, None, 30.0, 10.0]),
        "hole": _cycle([10.0, float("nan"), 20.0, None, 30.0, 30.0]),
        "day": _cycle([*DAYS, None, DAYS[1]]),
        "code": _cycle([*CODES.categories, None, CODES.categories[0]]),
        "wide": [row * 7 % 1000 for row in range(N)],
        "bits": _bits(),
        "first": [pair[0] for pair in pairs],
        "last": [pair[1] for pair in pairs],
        "sample": _cycle(["dice", "cards", "dice"]),
        "weight": _cycle([0.5, 1.0, 2.0, 4.0, 0.25, 1.0, 8.0]),
        "chance": _cycle([0.5, 1.0, 0.25]),
        "stratum": _cycle([1, 2, 2]),
        "cluster": [row // 9 for row in range(N)],
        "bad": [None, float("inf"), -1.0, *[1.0] * (N - 3)],
        "stray": ["my secret", "another secret", *["no"] * (N - 2)],
        "text": [f"what person {row} wrote" for row in range(N)],
    }


@cache
def plain():
    """The table in pandas."""
    return pd.DataFrame({name: pd.Series(values) for name, values in columns().items()})


@cache
def frame(engine):
    return engine_frames.make(engine, columns())


@pytest.fixture(params=engine_frames.ENGINES)
def engine(request):
    """An engine that is there."""
    frame(request.param)
    with engine_frames.at_ease(request.param):
        yield request.param


def same(expected, actual, rtol=0.0):
    """Whether two results are equal, in all that was counted; weights within rounding."""
    assert type(expected) is type(actual)
    if isinstance(expected, dict):
        assert list(expected) == list(actual)
        return all(same(one, actual[name], rtol) for name, one in expected.items())
    if isinstance(expected, GroupEstimates):
        assert (expected.names, expected.left_out) == (actual.names, actual.left_out)
        return same(dict(expected.estimates), dict(actual.estimates), rtol)
    if isinstance(expected, Crosstab):
        assert expected.moments.axes == actual.moments.axes
        assert expected.n_missing == actual.n_missing
        if expected._combined is not None:
            assert same(expected._combined.tally, actual._combined.tally, rtol)
        return np.array_equal(expected._counted, actual._counted)
    if isinstance(expected, Tally) and not rtol:
        return expected == actual
    if isinstance(expected, Tally):
        assert list(cells_of(expected)) == list(cells_of(actual))
        for key, cell in cells_of(expected).items():
            other = cells_of(actual)[key]
            assert (cell.rows, cell.others) == (other.rows, other.others)
            np.testing.assert_allclose(other.sums, cell.sums, rtol=rtol)
            np.testing.assert_allclose(other.totals, cell.totals, rtol=rtol)
        return True
    pd.testing.assert_frame_equal(expected.to_frame(), actual.to_frame(), rtol=rtol, atol=0)
    return True


DESIGN = {"design": rr.SampleDesign(weights="weight", strata="stratum", clusters="cluster")}


def tallied(columns, mechanism=M, call=rr.tally, **options):
    """A case: columns of a frame, tallied (or estimated)."""
    return lambda f: call(f, mechanism, columns=columns, **options)


def crossed(*axes, **options):
    """A case: a table of columns, each with its mechanism if it has one."""
    known = {"answer": M, "second": YES, "bits": BITS, "stray": YES}
    mechanisms = {name: known[name] for name in axes if name in known} or None
    return lambda f: rr.crosstab(f, *axes, **{"mechanisms": mechanisms, **options})


CASES = {
    "plain": tallied("answer"),
    "categories and prob": lambda f: rr.tally(f, M.categories, 0.75, columns="answer"),
    "by": tallied("answer", by="region"),
    "by a number": tallied("answer", by="age"),
    "by a date": tallied("answer", by="day"),
    "by two": tallied("answer", by=["region", "flag"]),
    "weights": tallied("answer", weights="weight"),
    "a weight of nobody": tallied("flag", FLAG, weights="cluster"),
    "strata": tallied("answer", design=rr.SampleDesign(strata="stratum")),
    "design": tallied("answer", **DESIGN),
    "bool": tallied("flag", FLAG),
    "missing is a category": tallied("second", SILENT),
    "int in float": tallied("real", NUMBER),
    "NaN and null": tallied("hole", NUMBER),
    "date": tallied("day", DAY),
    "bytes": tallied("code", CODES),
    "k=1000": tallied("wide", WIDE),
    "several categories by": tallied("bits", BITS, by="region", **DESIGN),
    "samples": tallied("second", MIXED, group="sample"),
    "two answers": tallied(["first", "last"], PAIRS),
    "marginals": tallied(["answer", "second", "bits"], {"answer": M, "second": YES, "bits": BITS}),
    "marginals by": tallied(
        ["answer", "wide"], {"answer": M, "wide": WIDE}, by="region", weights="weight"
    ),
    "the one of a mapping": lambda f: rr.tally(f, {"answer": M}),
    "estimate marginals": tallied(
        ["answer", "second"], {"answer": M, "second": YES}, call=rr.estimate
    ),
    "survey by": tallied("answer", call=rr.estimate, by="region", weights="weight"),
    "probabilities": tallied(
        "answer", call=rr.estimate, design=rr.SampleDesign(probabilities="chance")
    ),
    "population": tallied(
        "answer", call=rr.estimate, by="region", design=rr.SampleDesign(population=5000)
    ),
    "crosstab of two": crossed("answer", "second"),
    "crosstab beside": crossed("answer", "region"),
    "crosstab of a survey": crossed("answer", "region", **DESIGN),
    "crosstab kept": crossed("answer", "region", "flag", missing="keep"),
    "crosstab of bits": crossed("bits", "region"),
    "crosstab of samples": crossed(
        "second", "region", mechanisms={"second": MIXED}, group="sample"
    ),
    "crosstab of ordinary": crossed("region", "age"),
}


@cache
def in_pandas(name):
    return CASES[name](plain())


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_pandas(engine, name):
    """Whatever is counted in pandas is counted alike in every engine, to the last bit."""
    rtol = 1e-12 if name == "a weight of nobody" else 0.0
    assert same(in_pandas(name), CASES[name](frame(engine)), rtol)


ERRORS = {
    "unknown reports": (tallied("stray", YES), "2 of 360 reports are not among"),
    "unknown in a table": (crossed("stray", "region"), "2 of 360 reports are not among"),
    "a bool is no number": (
        lambda f: rr.tally(f, KRR([0, 1], 0.75), columns="flag"),
        "289 of 360 reports are not among|answers are of kind bool",
    ),
    "no such column": (lambda f: rr.tally(f, M, columns="anwser"), "did you mean 'answer'"),
    "no such group": (tallied("answer", by="regoin"), "mean 'region'"),
    "no such axis": (lambda f: rr.crosstab(f, "answer", "sx", mechanisms={"answer": M}), "'sx'"),
    "columns left out": (lambda f: rr.tally(f, M), "name one column after it"),
    "no mechanism": (lambda f: rr.tally(f, columns="answer"), "no record of (its|their) mechanism"),
    "mapping of others": (tallied("answer", {"answer": M, "second": YES}), "found also"),
    "bad weights": (tallied("answer", weights="bad"), "found 3 of 360 missing, negative or beyond"),
    "weights in words": (tallied("answer", weights="region"), "weights must be numbers"),
    "strata with holes": (
        tallied("answer", design=rr.SampleDesign(strata="region")),
        "strata must be known for every row, found 73 of 360 missing",
    ),
    "missing in a table": (crossed("region", "flag", missing="raise"), "have something missing"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_pandas(engine, name):
    """What pandas refuses every engine refuses, in the same words, and no cell is quoted."""
    call, words = ERRORS[name]
    for data in (plain(), frame(engine)):
        assert "secret" not in refused(RRStatsError, words, call, data)


def test_raw_text_is_not_fetched(engine, monkeypatch):
    """A column of more values than reports can have is refused before they are all fetched."""
    from rrstats.estimation.report_columns import engine_frames as selecting

    monkeypatch.setattr(selecting, "_UNKNOWN", 10)
    fetched = spy(monkeypatch)
    words = "more than 14 combinations"
    with pytest.raises(ArgumentValueError, match=words) as caught:
        rr.tally(frame(engine), YES, columns="text")
    assert "person" not in str(caught.value)
    assert [15] == fetched


def spy(monkeypatch):
    """The numbers of rows that engines give back, as they do."""
    import narwhals as nw

    fetched = []
    collect = nw.LazyFrame.collect

    def watched(self, *args, **options):
        found = collect(self, *args, **options)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    return fetched


def test_only_counts_come_back(engine, monkeypatch):
    """One query a column of reports, and as many rows as there are combinations."""
    fetched = spy(monkeypatch)
    data, rows = frame(engine), columns()
    rr.tally(data, M, columns="answer")
    rr.tally(data, M, columns="answer", by="region", weights="weight")
    rr.tally(data, {"answer": M, "second": YES}, columns=["answer", "second"])
    rr.crosstab(data, "answer", "region", mechanisms={"answer": M})
    pairs, weighed = (
        len(set(zip(*(rows[name] for name in ("answer", "region", *more)), strict=True)))
        for more in ([], ["weight"])
    )
    assert [4, weighed, 4, 3, pairs] == fetched


def test_an_empty_frame(engine, pa):
    """No rows are no reports."""
    types = {"answer": pa.string(), "region": pa.string(), "weight": pa.float64()}
    data = engine_frames.make(engine, {name: [] for name in types}, types)
    assert (0, 0) == ((found := rr.tally(data, M, columns="answer")).n, found.n_missing)
    assert {} == rr.tally(data, M, columns="answer", by="region")
    assert 0 == rr.tally(data, M, columns="answer", weights="weight").n
    by_chance = rr.SampleDesign(probabilities="weight")
    assert 0 == rr.tally(data, M, columns="answer", design=by_chance).n
    assert 0 == rr.crosstab(data, "answer", "region", mechanisms={"answer": M}).n


NAMES = ["q1.answer", "q r", "q`s", 'q"t', "a`.`b", "*", "^q.*$", "age", "key0"]


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
def test_names_are_names(engine):
    """A name with a dot, a space, quotes, a star or a pattern in it is no more than a name."""
    if engine == "sqlframe":
        pytest.skip("SQLFrame changes such names itself: it adds quotes")
    # No two columns have the same counts.
    held = {name: _cycle([*M.categories, *["never"] * i]) for i, name in enumerate(NAMES)}
    held["w.w"] = _cycle([0.5, 2.0, 4.0])
    if engine != "duckdb":  # which would name it anew
        held["AGE"] = _cycle([30, 40])
    pandas, data = pd.DataFrame(held), engine_frames.make(engine, held)
    assert same(rr.tally(pandas, M, columns=NAMES), rr.tally(data, M, columns=NAMES))
    for name in ("q1.answer", "*"):
        asked = {"columns": "age", "by": name, "weights": "w.w"}
        assert same(rr.tally(pandas, M, **asked), rr.tally(data, M, **asked)), name
    axes = {"q`s": M, "^q.*$": M}
    expected, actual = (rr.crosstab(f, *axes, mechanisms=axes) for f in (pandas, data))
    assert same(expected, actual)


def test_twins_in_duckdb():
    """DuckDB tells two columns by their places where it takes their names for one."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("narwhals")
    data = duckdb.sql("SELECT 'once' AS a, 'never' AS b, 'once' AS \"B\", 'often' AS a")
    for name, expected in (("b", [1, 0, 0]), ("B", [0, 1, 0])):
        assert expected == rr.tally(data, M, columns=name).reported.tolist()
    refused(ArgumentValueError, "column 'a' is there 2 times", rr.tally, data, M, columns="a")


@pytest.mark.slow
@pytest.mark.parametrize("claims", [False, True])
def test_a_name_twice_in_spark(claims, nw):
    """Of a joined Spark frame other columns are counted, and a name there twice is refused."""
    data = _spoken("pyspark")[1] if claims else engine_frames.of_arrow("pyspark", _claiming_arrow())
    data = data.select("answer", "answer", "region")
    sides = KRR(["n", "s"], 0.75)
    assert [5, 5] == rr.tally(data, sides, columns="region").reported.tolist()
    with pytest.raises(ArgumentValueError, match="column 'answer' is there 2 times"):
        rr.tally(data, M, columns="answer")


@pytest.mark.parametrize("engine", ["pyarrow", "batch", "dask"])
def test_a_name_twice(engine, nw, pa):
    """A frame of Arrow or Dask with a name there twice is refused, and the name is said."""
    data = pa.table([["once"], ["my secret"], ["never"]], names=["answer", "other", "other"])
    if engine == "dask":
        dd = pytest.importorskip("dask.dataframe")
        pandas = pd.DataFrame([["once", "my secret", "never"]], columns=data.column_names)
        data = dd.from_pandas(pandas, npartitions=1)
    if engine == "batch":
        data = data.to_batches()[0]
    with pytest.raises(ArgumentValueError, match="'other' is there twice; rename one") as caught:
        rr.tally(data, M, columns="answer")
    assert "secret" not in str(caught.value)


def test_kinds_of_numbers(engine, pa):
    """Unsigned, small and decimal columns hold the same whole numbers, as pandas has them."""
    values = [10, 20, None, 30, 30]
    for kind in (pa.int8(), pa.uint8(), pa.uint64(), pa.float32(), pa.decimal128(12, 2)):
        if engine in ("pyspark", "sqlframe") and pa.types.is_unsigned_integer(kind):
            continue  # they have none
        data = engine_frames.make(engine, {"n": values, "g": values}, {"n": kind, "g": kind})
        exact = Decimal if pa.types.is_decimal(kind) else int
        held = [None if value is None else exact(value) for value in values]
        pandas = pd.DataFrame({"n": pd.Series(held), "g": pd.Series(held)})
        expected = rr.tally(pandas, NUMBER, columns="n", by="g")
        assert same(expected, rr.tally(data, NUMBER, columns="n", by="g")), kind


def test_lists_in_cells_are_refused(engine):
    """A column of lists holds no reports."""
    data = engine_frames.make(engine, {"answer": [[True, False], [False, False]]})
    with pytest.raises(RRStatsError):
        rr.tally(data, BITS, columns="answer")


def test_designs_of_many_clusters(engine):
    """Clusters are more than reports, and count as many as they are."""
    held = {"answer": ["once"] * 1500, "cluster": list(range(1500))}
    design = rr.SampleDesign(clusters="cluster")
    found = rr.tally(engine_frames.make(engine, held), M, columns="answer", design=design)
    assert 1500 == len(cells_of(found))


def test_levels_of_a_dictionary(pl, nw):
    """Declared levels keep their order."""
    levels = ["low", "high", "none"]
    held = {"answer": ["once", "never", "once"], "level": ["high", "low", "high"]}
    pandas = pd.DataFrame(held).astype({"level": pd.CategoricalDtype(levels)})
    enum = pl.DataFrame(held).with_columns(pl.col("level").cast(pl.Enum(levels)))
    frames = [enum.lazy(), enum.to_arrow()]
    dd = pytest.importorskip("dask.dataframe")
    frames.append(dd.from_pandas(pandas, npartitions=2))
    for data in frames:
        asked = {"columns": "answer", "by": "level"}
        assert same(rr.tally(pandas, M, **asked), rr.tally(data, M, **asked))
        assert same(
            rr.crosstab(pandas, "level", "answer", mechanisms={"answer": M}),
            rr.crosstab(data, "level", "answer", mechanisms={"answer": M}),
        )


def test_dictionaries_of_chunks(pa, nw):
    """Chunks of an Arrow table whose dictionaries differ are counted together."""
    chunks = [["once", "never"], ["often", "once"]]
    column = pa.chunked_array([pa.array(chunk).dictionary_encode() for chunk in chunks])
    found = rr.tally(pa.table({"answer": column}), M, columns="answer")
    assert [1, 2, 1] == found.reported.tolist()


# -- what frames say of themselves ---------------------------------------------------------------


def _claiming():
    """A pandas frame that says how one column was made."""
    data = pd.DataFrame({"answer": ["once", "never"] * 5, "region": ["n", "s"] * 5})
    return data.rr.simulate("answer", M, seed=1)


def _claiming_arrow():
    """Its values in Arrow, without what is said of them."""
    data = _claiming()
    return engine_frames.arrow({name: data[name].tolist() for name in data})


def _spoken(engine):
    """The same on an engine that keeps what is said."""
    import json

    data = _claiming()
    document = json.dumps(data.attrs["rrstats"])
    table = _claiming_arrow()
    if engine == "pyspark":
        return data, engine_frames.of_arrow(engine, table).withMetadata(
            "answer", {"rrstats": document}
        )
    if engine == "dask":
        return data, pytest.importorskip("dask.dataframe").from_pandas(data, npartitions=2)
    pytest.importorskip("narwhals")
    return data, table.replace_schema_metadata({"rrstats": document})


@pytest.mark.parametrize("engine", ["pyarrow", "dask", "pyspark"])
def test_what_the_data_say(engine, nw):
    """A frame that says how its column was made needs no mechanism, and none that differs."""
    pandas, data = _spoken(engine)
    assert same(rr.tally(pandas), rr.tally(data))
    assert same(rr.estimate(pandas, by="region"), rr.estimate(data, by="region"))
    assert same(rr.crosstab(pandas, "answer", "region"), rr.crosstab(data, "answer", "region"))
    if engine == "pyspark":  # what it says of a column goes with it under another name
        assert rr.tally(pandas) == rr.tally(data.withColumnRenamed("answer", "reply"))
    for frame_ in (pandas, data):
        with pytest.raises(MetadataError, match="contradicts the column's record"):
            rr.tally(frame_, KRR(M.categories, 0.5))
        with pytest.raises(ArgumentValueError, match="by must be ordinary values"):
            rr.tally(frame_, KRR(["n", "s"], 0.5), columns="region", by="answer")


def test_where_pandas_keeps_it(pa, nw):
    """An Arrow table made by pandas says it among pandas' attributes."""
    import json

    data = _claiming()
    described = {"attributes": data.attrs, "columns": [], "index_columns": []}
    table = pa.table({"answer": data["answer"].tolist()})
    for key, held in (("pandas", described), ("PANDAS_ATTRS", data.attrs)):
        told = table.replace_schema_metadata({key: json.dumps(held)})
        assert rr.tally(data) == rr.tally(told)


def test_an_engine_that_keeps_nothing():
    """The error says that few engines keep it, and what to give."""
    data = engine_frames.make("polars", {"answer": ["once"]})
    with pytest.raises(ArgumentTypeError, match=r"does not keep\..*give the mech"):
        rr.tally(data, columns="answer")


# -- engines that fail, or are not there ---------------------------------------------------------


def test_engines_are_not_quoted(pl, nw):
    """What an engine says when it fails may hold cells, so it is not repeated, nor chained."""
    data = pl.LazyFrame({"answer": ["my secret"]}).with_columns(pl.col("answer").cast(pl.Int64))
    refused(pl.exceptions.PolarsError, "secret", data.collect)
    with pytest.raises(ArgumentValueError, match="polars could not compute this frame") as caught:
        rr.tally(data, KRR([0, 1], 0.75), columns="answer")
    error = caught.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__ or error.__context__


def test_a_directory_with_a_document(tmp_path, pl, nw):
    """Where Polars takes a document in a directory for data, the error says how to leave it out."""
    pl.DataFrame({"answer": ["once"]}).write_parquet(tmp_path / "part-0.parquet")
    (tmp_path / "_rrstats.json").write_text("{}")
    with pytest.raises(ArgumentValueError, match=r"name the data alone.*dir/\*\.parquet"):
        rr.tally(pl.scan_parquet(tmp_path), M, columns="answer")
    assert 1 == rr.tally(pl.scan_parquet(tmp_path / "*.parquet"), M, columns="answer").n


def test_lazy_frames_are_computed_once(pl, nw):
    """A call computes a lazy frame once, with weights and groups and all."""
    ran = []

    def watched(series):
        ran.append(len(series))
        return series

    data = frame("polars lazy").with_columns(
        pl.col("answer").map_batches(watched, return_dtype=pl.String)
    )
    rr.estimate(data, M, columns="answer", by=["region", "flag"], **DESIGN)
    assert N == sum(ran)


def test_batches_and_narwhals_own_frames(pa, nw):
    """A batch of Arrow's counts as a table, and narwhals' frames as what they hold."""
    expected = rr.tally(plain(), M, columns="answer")
    table = pa.table({"answer": columns()["answer"]})
    held = [nw.from_native(table), nw.from_native(table).lazy(), nw.from_native(plain())]
    for data in (*table.to_batches(), *held):
        assert expected == rr.tally(data, M, columns="answer")


def test_names_that_are_no_text(dd, nw):
    """Dask's columns may have numbers for names, as those of pandas."""
    data = dd.from_pandas(pd.DataFrame({"answer": ["once"], 7: ["north"]}), npartitions=1)
    assert ["north"] == list(rr.tally(data, M, columns="answer", by=7))


def test_other_frames_stay_in_pandas(engine):
    """What needs rows says that it takes frames of pandas."""
    with pytest.raises(ArgumentTypeError, match="DataFrame of pandas"):
        rr.correlations(frame(engine), "number", "age")


def test_without_narwhals():
    """Without narwhals pandas counts as ever, and a frame of an engine names what to install."""
    code = (
        "import sys; sys.modules['narwhals'] = None\n"
        "import pandas as pd, rrstats as rr\n"
        "m = rr.KRR(['no', 'yes'], 0.75)\n"
        "print(rr.tally(pd.DataFrame({'a': ['no']}), m, columns='a').n)\n"
        "Frame = type('Table', (), {'columns': [], '__module__': 'polars.dataframe'})\n"
        "try: rr.tally(Frame(), m)\n"
        "except rr.errors.MissingPackageError as error: print(error)\n"
    )
    done = run("-c", code)
    assert done.stdout.startswith("1\n")
    assert "pip install narwhals" in done.stdout
    assert issubclass(MissingPackageError, ImportError)
