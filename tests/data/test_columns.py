"""Every container comes back as it went in, and its dtype follows from the declaration."""

import datetime
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from answers import CASES, CATEGORIES, QUIET, encode, objects
from refusals import refused

import rrstats as rr
from rrstats.data import cell_types
from rrstats.data.categories import Categories
from rrstats.data.codecs import codec_of
from rrstats.data.columns import open_column
from rrstats.errors import ArgumentTypeError


def truth(values, categories, **options):
    """`privatize` under words that leave every answer as it is."""
    with warnings.catch_warnings():
        # Some kinds of category have no JSON form; what is said then is tested elsewhere.
        warnings.simplefilter("ignore", rr.errors.UnrecordedWarning)
        # Answers are made from the list of categories, so they have its order, as is warned of.
        warnings.filterwarnings("ignore", "the categories .*are listed in the order")
        return rr.privatize(values, categories, 0.99, rng=QUIET, **options)


def same(left, right):
    """Whether two containers are alike in type, dtype, content, index and name."""
    if isinstance(left, pd.Series):
        pd.testing.assert_series_equal(left, right, check_exact=True)
    elif isinstance(left, pd.Index):
        pd.testing.assert_index_equal(left, right, exact=True, check_exact=True)
    elif isinstance(left, pd.api.extensions.ExtensionArray):
        pd.testing.assert_extension_array_equal(left, right, check_exact=True)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, list | tuple):
        assert left == right
        assert [type(v) for v in left] == [type(v) for v in right]
    else:
        assert left.type == right.type
        assert left.to_pylist() == right.to_pylist()
    return type(left) is type(right)


@pytest.mark.parametrize(("build", "kind"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_same_container_comes_back(build, kind):
    """To codes and back changes neither type nor dtype nor value; an empty one has them too."""
    categories = CATEGORIES[kind]
    answers = build([categories[i % len(categories)] for i in (1, 0, 1, 2, 4, 3, 0)])
    out = truth(answers, categories)
    if isinstance(out, pd.Series):
        out.attrs.clear()
    assert same(answers, out)
    full, empty = (truth(build(categories[::-1])[:n], categories) for n in (None, 0))
    assert type(full) is type(empty)
    assert len(empty) == 0
    assert getattr(full, "dtype", None) == getattr(empty, "dtype", None)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", ["str", "int", "float", "bytes", "tuple", "str or missing"])
def test_a_categorical_gets_exactly_the_declared_categories(kind, ordered):
    """Its own categories, their order and unused ones go; ``ordered`` stays."""
    categories = CATEGORIES[kind]
    declared = [c for c in categories if c is not None]
    own = pd.Index(objects([*declared[::-1], "SECRET"]), tupleize_cols=False)
    answers = pd.Categorical.from_codes([0, 1, -1, 1], own, ordered=ordered)
    out = truth(pd.Series(answers), categories, unknown="uniform")
    expected_missing = None if None in categories else categories[0]
    assert declared == out.cat.categories.tolist()
    assert ordered == out.cat.ordered
    assert [declared[-1], declared[-2], expected_missing, declared[-2]] == [
        None if isinstance(v, float) and v != v else v for v in out
    ]
    index = truth(pd.CategoricalIndex(answers), categories, unknown="uniform")
    assert declared == index.categories.tolist()


@pytest.mark.parametrize("k", [2, 3, 128, 129, 257, 1000, 32_769, 70_000])
def test_any_number_of_categories_round_trips(k):
    """Codes keep their width where k, both sentinels and sums of two codes need it."""
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, 500)
    codes[:2] = 0, k - 1
    words = [f"w{i}" for i in range(k)]
    np.testing.assert_array_equal(codes, truth(codes, range(k)))
    assert [words[c] for c in codes] == truth([words[c] for c in codes], words)
    series = pd.Series([words[c] for c in codes])
    assert same(series.tolist(), truth(series, words).tolist())


@pytest.mark.parametrize("shape", [(), (1,), (6,), (2, 3), (2, 1, 3), (0, 4), (3, 0)])
def test_an_array_keeps_its_shape(shape):
    """Arrays of any shape come back in that shape."""
    answers = (np.arange(int(np.prod(shape))) % 3).reshape(shape)
    out = truth(answers, [0, 1, 2])
    assert isinstance(out, np.ndarray)
    assert shape == out.shape
    np.testing.assert_array_equal(answers, out)


def test_strided_reversed_fortran_and_read_only_arrays_are_served():
    """How an array lies in memory does not matter, and it is not written to."""
    base = np.arange(24).reshape(4, 6) % 3
    for answers in (base[::2, ::-1], base.T, np.asfortranarray(base), np.broadcast_to(1, (3, 2))):
        before = answers.copy()
        np.testing.assert_array_equal(before, truth(answers, [0, 1, 2]))
        np.testing.assert_array_equal(before == 1, truth(answers == 1, [False, True]))
    frozen = base.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(base, truth(frozen, [0, 1, 2]))


@pytest.mark.parametrize(
    ("value", "categories"),
    [
        ("often", ["never", "often"]),
        (b"a", [b"a", b"b"]),
        (True, [True, False]),
        (2, [1, 2]),
        (np.str_("a"), ["a", "b"]),
        (datetime.date(2020, 1, 1), [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
        (CATEGORIES["Enum"][0], CATEGORIES["Enum"]),
        (CATEGORIES["Decimal"][0], CATEGORIES["Decimal"]),
        (None, ["a", None]),
        (float("nan"), ["a", None]),
        (pd.NA, [1, None]),
    ],
)
def test_one_answer_gives_one_report(value, categories):
    """A scalar gives a scalar: the category object itself; a str is one answer."""
    out = truth(value, categories)
    assert any(out is c for c in categories)
    assert open_column(value).shape == ()


@pytest.mark.parametrize(
    ("own", "categories", "expected"),
    [
        ("bool", [False, True], "bool"),
        ("object", [False, True], "bool"),
        ("bool", [False, True, None], "object"),
        ("object", [False, True, None], "object"),
        ("int8", [0, 127], "int8"),
        ("int8", [0, 128], "int64"),
        ("uint8", [0, 255], "uint8"),
        ("uint8", [-1, 0], "int64"),
        ("int64", [0, 2**63], "uint64"),
        ("int64", [-1, 2**63], "object"),
        ("uint64", [-1, 1], "int64"),
        ("uint64", [0, 2**63], "uint64"),
        ("float64", [0, 1], "int64"),
        ("object", [0, 1], "int64"),
        ("int8", [0, None], "float64"),
        ("object", [0, None], "float64"),
        ("int64", [0, 2**60, None], "object"),
        ("int64", [0.0, 1.0], "float64"),
        ("object", [0.5, 1], "float64"),
        ("float32", [0.5, 1], "float32"),
        ("float16", [0.5, None], "float16"),
    ],
)
def test_categories_choose_the_dtype(own, categories, expected):
    """Integers: the column's type if all fit, else int64, uint64, objects; floats: a float type."""
    for make in (np.array, pd.Series, pd.Index):
        if make is pd.Index and own == "float16":
            continue  # pandas has no such Index
        answers = make([0, 1], dtype=own)
        out = truth(answers, categories, unknown="uniform")
        assert np.dtype(expected) == out.dtype
        assert out[0] == (0 if 0 in categories else categories[0])


@pytest.mark.parametrize(
    ("own", "categories", "expected"),
    [
        ("Int8", [0, 127], "Int8"),
        ("Int8", [0, 128], "Int64"),
        ("UInt16", [0, None], "UInt16"),
        ("UInt64", [0, 1], "UInt64"),
        ("Float32", [0, 1], "Int64"),
        ("Float32", [0.5, 0], "Float32"),
        ("Int64", [0.5, 0], "Float64"),
        ("boolean", [False, True], "boolean"),
        ("boolean", [False, True, None], "boolean"),
    ],
)
def test_masked_dtypes_stay_masked(own, categories, expected):
    """pandas' nullable dtypes follow the same rules among themselves."""
    out = truth(pd.Series([0, pd.NA], dtype=own), categories, unknown="uniform")
    assert expected == str(out.dtype)


def test_text_is_as_wide_as_the_widest_category():
    """The width of U and S arrays says nothing of the longest answer."""
    assert (
        np.dtype("U5")
        == truth(np.array(["no", "maybe maybe"]), ["no", "maybe"], unknown="uniform").dtype
    )
    assert np.dtype("S3") == truth(np.array([b"a"]), [b"a", b"bcd"]).dtype
    assert np.dtype(object) == truth(np.array(["no"]), ["no", None]).dtype
    assert np.dtypes.StringDType() == truth(np.array(["no"], dtype="T"), ["no", "x"]).dtype


@pytest.mark.parametrize("own", ["string[python]", "str", object, "category"])
def test_word_columns_keep_their_string_kind(own):
    """A string dtype stays itself; an object column gets what pandas makes of the categories."""
    answers = pd.Series(["no", "maybe"], dtype=own)
    expected = pd.Series(["no", "yes"]).dtype if answers.dtype == object else answers.dtype
    out = truth(answers, ["no", "yes"], unknown="uniform")
    if own == "category":
        assert out.cat.categories.tolist() == ["no", "yes"]
    else:
        assert expected == out.dtype


def test_reports_of_mixed_categories_are_never_inferred():
    """Objects stay objects, also where all reports happen to be of one type."""
    for make in (pd.Series, pd.Index):
        for answers in ([1, 1], ["a", "a"], [2.5, 2.5]):
            out = truth(make(answers, dtype=object), ["a", 1, 2.5])
            assert np.dtype(object) == out.dtype
            assert answers == out.tolist()


def test_keeping_missing_answers_takes_a_dtype_that_can_hold_them():
    """Under missing="keep" the dtype does not tell whether anybody was missing."""
    for dtype, values in (("int64", [1, 2]), ("float64", [1, np.nan]), (object, [1, None])):
        out = truth(pd.Series(values, dtype=dtype), [1, 2], missing="keep")
        assert np.dtype(np.float64) == out.dtype
    for dtype, values in ((bool, [True, False]), (object, [True, None])):
        out = truth(pd.Series(values, dtype=dtype), [True, False], missing="keep")
        assert np.dtype(object) == out.dtype
    assert truth(["a", float("nan")], ["a", "b"], missing="keep") == ["a", None]
    dates = CATEGORIES["date"]
    kept = truth(np.array([dates[1], None], "M8[D]"), dates, missing="keep")
    assert kept.tolist() == [dates[1], None]
    for dtype in ("Int64", "string[python]", "category"):
        column = pd.Series([1, 2, None], dtype="Int64").astype(
            "string" if "str" in dtype else "Int64"
        )
        categories = ["1", "2"] if "str" in dtype else [1, 2]
        out = truth(column.astype(dtype), categories, missing="keep")
        assert out.isna().tolist() == [False, False, True]
        assert categories == out.tolist()[:2]


def test_a_date_column_takes_dates_and_datetimes():
    """A date is its midnight, in a column of datetimes and among objects alike."""
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    stamps = [pd.Timestamp("2021-01-01"), pd.Timestamp("2021-01-01 00:00:01")]
    for own in (None, object):
        out = truth(pd.Series(stamps, dtype=own), days, unknown="uniform")
        assert [pd.Timestamp(days[1]), pd.Timestamp(days[0])] == [pd.Timestamp(v) for v in out]
    fine = [pd.Timestamp(1), pd.Timestamp(2)]  # nanoseconds
    assert [1, 2] == truth(np.array([1, 2], "M8[ns]"), fine).view(np.int64).tolist()
    array = np.array(["2021-01", "2020-02"], dtype="M8[M]")
    with pytest.raises(ArgumentTypeError):
        truth(array, [datetime.date(2020, 1, 15), days[0]])
    np.testing.assert_array_equal(
        np.array(["2021-01", "2020-01"], "M8[M]"), truth(array, days, unknown="uniform")
    )


@pytest.mark.parametrize(
    ("answers", "categories"),
    [
        (np.array([1, 2]), ["1", "2"]),
        (pd.Series([1, 2]).astype("category"), ["1", "2"]),
        (pd.Series([True, False]), [1, 0]),
        (pd.Series(["1", "2"], dtype="string"), [1, 2]),
        (pd.Series([1, 2], dtype="Int8"), ["1", "2"]),
        (pd.Series([True], dtype="boolean"), ["1", "2"]),
        (np.array(["1"], dtype="T"), [1, 2]),
        (np.array([b"1"]), ["1", "2"]),
        (np.array([1], "m8[s]"), [1, 2]),
        (np.array(["1"]), [1, 2]),
        (np.array(["1"]), [b"1", b"2"]),
        (np.array(["2020"], "M8[D]"), ["2020", "2021"]),
        (pd.Series(pd.to_datetime(["2020"])), CATEGORIES["instant"]),
        (pd.Series(pd.to_datetime(["2020"], utc=True)), CATEGORIES["datetime"]),
    ],
)
def test_kinds_that_cannot_match_are_refused_from_the_dtypes_alone(answers, categories):
    """Of an integer column and categories "1", "2" the error says so, also without any answer."""
    refused(ArgumentTypeError, "kind", rr.privatize, answers, categories, 0.75)
    refused(ArgumentTypeError, "kind", rr.privatize, answers[:0], categories, 0.75)


def test_kinds_of_arrow_that_cannot_match_are_refused(pa):
    """The same for Arrow's types, as such and in pandas."""
    words = ["1", "2"]
    for answers, categories in (
        (pa.array([1, 2], pa.int8()), words),
        (pa.array([True]), [1, 0]),
        (pa.array(words), [1, 2]),
        (pa.array(words).dictionary_encode(), [1, 2]),
        (pa.array([b"1"]), words),
        (pa.array([1], pa.date32()), words),
        (pa.array([1], pa.timestamp("s")), CATEGORIES["instant"]),
        (pa.array([1], pa.timestamp("s", "UTC")), CATEGORIES["datetime"]),
        (pa.array([1], pa.duration("s")), [1, 2]),
    ):
        for held in (answers, pd.Series(answers, dtype=pd.ArrowDtype(answers.type))):
            refused(ArgumentTypeError, "kind", rr.privatize, held, categories, 0.75)


@pytest.mark.parametrize("kind", ["str", "bool", "bytes", "date", "str or missing"])
def test_a_float_column_is_never_refused_because_it_may_be_all_missing(kind):
    """pandas makes float64 of a column in which everybody is missing: no error, same dtype."""
    categories = CATEGORIES[kind]
    declared = pd.Series([c for c in categories if c is not None])
    full = truth(declared, categories)
    for answers in (pd.Series([np.nan, np.nan]), pd.Series([1.0, np.nan])):
        out = truth(answers, categories, unknown="uniform")
        assert full.dtype == out.dtype
    empty = truth(pd.Series([None, None]).astype("category"), categories, unknown="uniform")
    assert [c for c in categories if c is not None] == empty.cat.categories.tolist()


@pytest.mark.parametrize(
    ("answers", "categories"),
    [
        (np.array([1.0], "float16"), [2048.5, 2048.25]),
        (np.array([1.0], "float16"), [1e10, 1.0]),
        (np.array([1.0], "float32"), [1e-300, 1.0]),
        (np.array(["a"]), ["a", "a\0"]),
        (np.array([b"a"]), [b"a\0", b"b"]),
        (np.array(["2020-01-01"], "M8[D]"), CATEGORIES["datetime"]),
    ],
)
def test_a_type_that_cannot_tell_categories_apart_is_refused(answers, categories):
    """Rounded, cut or overflowing categories would be wrong reports: an error, before noise."""
    refused(ArgumentTypeError, r"cannot be distinguished|stored", truth, answers, categories)


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1},
        {"a", "b"},
        iter(["a"]),
        pd.MultiIndex.from_tuples([("a", 1)]),
        np.ma.array(["a", "b"], mask=[False, True]),
        object(),
    ],
    ids=lambda v: type(v).__name__,
)
def test_other_containers_are_refused_by_type(values):
    """What rrstats could not give back is an error that names the type."""
    refused(ArgumentTypeError, "values must", rr.privatize, values, ["a", "b"], 0.75)


def test_a_frame_without_names_of_columns_is_refused():
    """The second argument of a frame names its columns: the error shows the order."""
    data = pd.DataFrame({"a": ["a"]})
    words = r"categories must be those of the columns.* rr.privatize\(df, 'health', categories"
    refused(ArgumentTypeError, words, rr.privatize, data, ["a", "b"], 0.75)


@pytest.mark.parametrize(("build", "kind"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_reports_share_no_memory_with_the_answers(build, kind):
    """Nothing of a report is a view of a true answer (T20)."""
    categories = CATEGORIES[kind]
    answers = build(categories[::-1])
    out = truth(answers, categories)
    if isinstance(out, list):
        assert out is not answers
        return
    if not hasattr(out, "__array__"):
        return
    left, right = np.asarray(out), np.asarray(answers)
    assert not np.shares_memory(left, right)
    if isinstance(out, np.ndarray):
        assert out.flags.writeable
        before = right.copy()
        out[:] = out[::-1].copy()
        np.testing.assert_array_equal(before, right)


def test_objects_of_the_answers_do_not_come_back():
    """A report is the declared object, never the answer's own one, which may carry more."""

    class Telling(str):
        source = "the respondent's file"

    out = truth([Telling("a"), Telling("b")], ["a", "b"])
    assert [str, str] == [type(v) for v in out]
    series = truth(pd.Series([Telling("a")], dtype=object), ["a", "b"])
    assert str is type(series[0])


def test_a_pickled_slice_holds_only_its_own_reports(pa):
    """Arrow reports own their buffers (T21): no true answer lies behind a short slice."""
    words = [f"private answer number {i:06d}" for i in range(20_000)]
    for whole in (
        pa.array(words),
        pa.chunked_array([words]),
        pa.array(words).dictionary_encode(),
        pd.Series(words, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(words, dtype="string[pyarrow]"),
    ):
        control = pickle.dumps(whole[:3])
        assert b"number 000002" in control
        out = pickle.dumps(truth(whole[:3], ["x", "y"], unknown="uniform"))
        assert b"private" not in out
        assert len(out) < 3_000


def test_arrow_containers_come_back_as_they_are(pa):
    """Array, ChunkedArray with 0, 1 or more chunks, dictionary and scalar, with nulls."""
    words = ["b", "a", None, "b"]
    categories = ["a", "b", None]
    for chunks in ([], [words], [words, [], words[:1]]):
        answers = pa.chunked_array(chunks, type=pa.large_string())
        out = truth(answers, categories)
        assert isinstance(out, pa.ChunkedArray)
        assert answers.type == out.type
        assert answers.to_pylist() == out.to_pylist()
    one = truth(pa.scalar("b", pa.large_string()), categories)
    assert pa.scalar("b", pa.large_string()) == one
    assert not truth(pa.scalar(None, pa.string()), categories).is_valid
    sliced = pa.array(["z", *words, "z"])[1:-1]
    assert words == truth(sliced, categories).to_pylist()


def test_an_arrow_dictionary_holds_exactly_the_categories(pa):
    """The old dictionary goes, also its unused words, nulls and double entries."""
    dictionary = pa.array(["b", "SECRET", "a", None, "a"])
    answers = pa.DictionaryArray.from_arrays(pa.array([0, 2, 4, 3, None, 1], pa.int8()), dictionary)
    out = truth(answers, ["a", "b", "c", None], unknown="uniform")
    assert out.to_pylist() == ["b", "a", "a", None, None, "a"]
    assert out.dictionary.to_pylist() == ["a", "b", "c"]
    assert pa.int32() == out.type.index_type
    chunked = pa.chunked_array([answers, answers.take(pa.array([0]))])
    assert truth(chunked, ["a", "b", None], unknown="uniform").to_pylist()[-1] == "b"
    column = pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))
    kept = truth(column, ["a", "b"], missing="keep")
    assert [None if v is pd.NA else v for v in kept] == ["b", None, "a"]
    assert pa.types.is_dictionary(kept.dtype.pyarrow_dtype)
    numbers = truth(pa.array([1, 2]).dictionary_encode(), [1, 2])
    assert pa.dictionary(pa.int32(), pa.int64()) == numbers.type


def test_an_arrow_column_of_nulls_gets_the_type_of_the_categories(pa):
    """What Arrow infers where everybody is missing does not decide the reports' type."""
    assert pa.string() == truth(pa.array([None, None]), ["a", "b"], unknown="uniform").type
    series = pd.Series([None, None], dtype=pd.ArrowDtype(pa.null()))
    assert pa.int64() == truth(series, [1, 2], unknown="uniform").dtype.pyarrow_dtype


@pytest.mark.parametrize(
    ("own", "categories", "expected"),
    [
        ("int8", [0, 127], "int8"),
        ("int8", [0, 128], "int64"),
        ("uint64", [0, 1], "uint64"),
        ("double", [0, 1], "int64"),
        ("int32", [0.5, 1], "double"),
        ("float", [0.5, 1], "float"),
        ("halffloat", [0.5, 1], "halffloat"),
        ("bool", [False, True, None], "bool"),
    ],
)
def test_arrow_numbers_follow_the_same_rules(own, categories, expected, pa):
    """Integers widen where a category does not fit, and nothing else changes the type."""
    if own == "halffloat" and pa.__version__ < "18":
        pytest.skip("pyarrow 17 makes half floats only from half floats of NumPy")
    values = np.array([0, 1], dtype={"halffloat": "f2", "bool": "?"}.get(own, "i1"))
    answers = pa.array(values).cast(own) if own != "halffloat" else pa.array(values)
    out = truth(answers, categories, unknown="uniform")
    assert expected == str(out.type)
    assert [categories[0]] == out.to_pylist()[:1]


@pytest.mark.parametrize(
    "categories",
    [
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
        [datetime.timedelta(1), datetime.timedelta(2)],
        [b"a", b"b"],
        [Decimal("0.5"), Decimal("1.5")],
    ],
    ids=lambda categories: type(categories[0]).__name__,
)
def test_many_cells_of_arrow_become_few_objects(monkeypatch, categories, pa):
    """Dates, bytes and the like are looked up once for each distinct one: cells are many."""
    sizes, real = [], cell_types.arrow_objects
    monkeypatch.setattr(
        cell_types, "arrow_objects", lambda cells: sizes.append(len(cells)) or real(cells)
    )
    answers = pa.array([*categories * 1000, None])
    assert categories * 1000 == truth(answers, categories, missing="keep").to_pylist()[:-1]
    assert sizes
    assert max(sizes) <= 3


def test_arrow_types_without_a_kernel_are_refused_before_noise(pa):
    """A type that cannot hold the categories is an RRStatsError, not one of Arrow's."""
    for answers in (
        pa.array([{"a": 1}]),
        pa.array([[1, 2]]),
        pa.array([datetime.time(1, 2)]),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ):
        refused(ArgumentTypeError, "cannot be stored", truth, answers, ["a", "b"])


def test_the_guard_notices_a_table_that_changes_a_category(monkeypatch):
    """Planted fault: a table in the wrong order is refused before it can label reports."""
    container = open_column(objects(["a"]))
    domain = Categories(["a", "b"])
    planted = objects(["b", "a"])
    monkeypatch.setattr("rrstats.data.codecs.numpy_table", lambda *declared: planted)
    with pytest.raises(ArgumentTypeError, match="or distinguished as"):
        codec_of(domain).layout(container, keep_missing=False)


def test_scalars_of_arrow_are_answers_in_a_list(pa):
    """A list of an Arrow array's scalars holds the answers that the array holds."""
    listed = list(pa.array(["yes", None, "no"]))
    assert encode(Categories(["no", "yes"]), listed).codes.tolist() == [1, 3, 0]
    assert encode(Categories([1, 2]), list(pa.array([2, 1]))).codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("dtype", "categories"),
    [
        ("String", ["no", "yes"]),
        ("Int16", [3, 1]),
        ("Float32", [0.5, 1.5]),
        ("Boolean", [True, False]),
        ("Date", CATEGORIES["date"]),
        ("Duration", CATEGORIES["duration"]),
        ("Binary", [b"a", b"bc"]),
    ],
)
def test_a_polars_series_comes_back(dtype, categories, pl):
    """An eager Polars Series gives one of its name and type, with missing answers kept or not."""
    answers = pl.Series("answer", [*categories, categories[0]]).cast(getattr(pl, dtype))
    out = truth(answers, categories)
    assert (answers.name, answers.dtype) == (out.name, out.dtype)
    assert answers.to_list() == out.to_list()
    gaps = pl.concat([answers, pl.Series("answer", [None], dtype=answers.dtype)])
    assert gaps.to_list() == truth(gaps, categories, missing="keep").to_list()
    assert rr.tally(answers, categories, 0.75).reported.tolist() == [2, 1]


def test_a_polars_enum_holds_the_declared_categories(pl):
    """It says nothing of what else the column held, as codes of a Categorical would."""
    for dtype in (pl.Enum(["SECRET", "no", "yes"]), pl.Categorical):
        answers = pl.Series("answer", ["yes", "no"], dtype=dtype)
        out = truth(answers, ["no", "yes"])
        assert pl.Enum(["no", "yes"]) == out.dtype
        assert ["yes", "no"] == out.to_list()
    with pytest.raises(ArgumentTypeError, match=r"categories must be those of the columns"):
        rr.privatize(answers.to_frame(), ["no", "yes"], 0.75)


class OfCapsules:
    """A column of a library that has nothing but Arrow's PyCapsule interface."""

    def __init__(self, held):
        self.held = pytest.importorskip("pyarrow").chunked_array(held)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.held.__arrow_c_stream__(requested_schema)


class OneWay(OfCapsules):
    """One that cannot be built of Arrow."""

    def __init__(self, held):
        assert held == "words"


def test_anything_with_capsules_comes_back(pa):
    """A class with Arrow's PyCapsule interface gives one of its own, if Arrow can build it."""
    answers = OfCapsules([pa.array(["no"]), pa.array(["yes", None])])
    out = truth(answers, ["no", "yes"], missing="keep")
    assert type(answers) is type(out)
    assert answers.held.to_pylist() == out.held.to_pylist()
    assert rr.tally(out, ["no", "yes"], 0.75).reported.tolist() == [1, 1]
    lost = OneWay("words")
    lost.held = answers.held
    with pytest.raises(ArgumentTypeError, match=r"OneWay .* convert them to an array of pyarrow"):
        rr.privatize(lost, ["no", "yes"], 0.75)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("kind", ["string_view", "binary_view", "run ends", "run ends of numbers"])
def test_views_and_run_ends_of_arrow_are_read(kind, chunked, pa):
    """Arrow's newer layouts are read; reports are plain arrays."""
    if kind.endswith("view") and pa.__version__ < "18":
        pytest.skip("pyarrow 17 cannot cast to string or binary views")
    values = {"binary_view": [b"a", b"b", None], "run ends of numbers": [1, 2, None]}
    answers = pa.array(values.get(kind, ["a", "b", None]))
    if kind.startswith("run ends"):
        answers = pa.compute.run_end_encode(answers, pa.int16())
    else:
        answers = answers.cast(getattr(pa, kind)())
    answers = pa.chunked_array([answers, answers[1:]]) if chunked else answers
    categories = list(dict.fromkeys(answers.to_pylist()))[:2]
    assert answers.to_pylist() == truth(answers, categories, missing="keep").to_pylist()
    series = pd.Series(pd.array(answers, dtype=pd.ArrowDtype(answers.type)))
    out = truth(series, categories, missing="keep")
    assert answers.to_pylist() == out.array.__arrow_array__().to_pylist()


@pytest.mark.parametrize("votes", [["Clinton", "Dole", "Dole"], ["Clinton"], [None, "Dole"]])
def test_a_categorical_without_a_declared_category_is_unknown_like_any_other(votes):
    """`astype("category")` lists the answers, so that list alone must not decide."""
    votes = pd.Series(votes, dtype="category")
    declared = ["clinton", "dole", "perot"]
    assert set(rr.privatize(votes, declared, 0.75, unknown="uniform")) <= set(declared)
    unknown = f"{votes.notna().sum()} of {len(votes)} answers"
    refused(rr.errors.UnknownAnswersError, unknown, rr.privatize, votes, declared, 0.75)
    refused(rr.errors.RRStatsError, "reports", rr.estimate, votes, declared, 0.75)


def test_a_categorical_is_read_by_its_labels():
    """Labels that are declared are answers, in whatever order the column lists them."""
    votes = pd.Series(["Clinton", "Dole", "Dole"], dtype="category")
    assert truth(votes, ["Clinton", "Dole", "Perot"]).tolist() == votes.tolist()
    assert truth(votes, ["Clinton", "Perot"], unknown="uniform").tolist() == ["Clinton"] * 3
    nobody = pd.Series([None, None], dtype="category")
    assert truth(nobody, ["a", "b"], unknown="uniform").tolist() == ["a", "a"]


def test_a_released_frame_is_a_plain_one():
    """What a subclass has counted of the answers stays behind, also in a pickle."""

    class Counting(pd.DataFrame):
        _metadata = ("counts",)

        @property
        def _constructor(self):
            return Counting

    data = Counting({"answer": ["no", "yes", "no"], "age": [1, 2, 3]})
    data.counts = {"SECRET": 2}
    data.attrs["survey"] = "spring"
    released = data.rr.privatize("answer", ["no", "yes"], 0.75)
    assert type(released) is pd.DataFrame
    assert released.attrs["survey"] == "spring"
    assert b"SECRET" not in pickle.dumps(released)
