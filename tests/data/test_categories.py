"""Declared categories, and the exact code of any answer."""

import copy
import datetime
import enum
import itertools
import json
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from answers import CATEGORIES, FORMS, MISSING, encode, hostile, objects
from refusals import refused

import rrstats as rr
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories, is_missing
from rrstats.data.category_json import categories_from_json
from rrstats.data.columns import open_column, place_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.serialization import from_dict

Keyed = rr.client.Keyed


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_keep_their_order_and_their_objects(kind):
    """Codes 0 .. k-1 follow the declared order, whatever the type of the categories."""
    domain = Categories(CATEGORIES[kind])
    assert tuple(CATEGORIES[kind]) == domain.categories
    assert list(range(domain.k)) == [domain.code(c) for c in domain.categories]
    assert domain == Categories(domain.categories) == pickle.loads(pickle.dumps(domain))
    assert hash(domain) == hash(copy.deepcopy(domain))


@pytest.mark.parametrize(
    "categories",
    [
        [1, True],
        [1, 1.0],
        [0.0, -0.0],
        [0, False],
        ["a", "a"],
        ["\u00e9", "e\u0301"],
        [("\u00e9",), ("e\u0301",)],
        [(1,), (True,)],
        [None, float("nan")],
        [pd.NA, pd.NaT],
        [None, Decimal("NaN")],
        [1, Decimal(1)],
        [np.int8(1), np.float64(1.0)],
        [np.str_("a"), "a"],
        [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)],
        [pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01", "ns")],
        [2**53, float(2**53)],
    ],
    ids=repr,
)
def test_categories_that_could_be_confused_are_refused_together(categories):
    """Equal, or taken for one another by Python, pandas or a reader of the text (T18)."""
    refused(ArgumentValueError, r"categories must be distinct.*1 .*2", Categories, categories)


def test_confused_categories_are_not_quoted():
    """Who passes the data as categories by mistake sees places and types, not answers."""
    with pytest.raises(ArgumentValueError) as caught:
        Categories(["x", "SECRET", "SECRET"])
    assert "number 2 (str) and number 3 (str)" in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        pytest.param({"b", "a"}, ("a", "b"), id="set"),
        (frozenset({3, 1, 2}), (1, 2, 3)),
        (np.array([1, 2], dtype=np.int8), (1, 2)),
        (np.array([-0.5, np.inf]), (-0.5, float("inf"))),
        (np.array([0, 1], "M8[ns]"), (pd.Timestamp(0), pd.Timestamp(1))),
        (np.array([1, 2], "m8[ns]"), (pd.Timedelta(1), pd.Timedelta(2))),
        (pd.Index(["b", "a"]), ("b", "a")),
        (pd.CategoricalDtype(["b", "a"]), ("b", "a")),
        (pd.Index([2, 1]), (2, 1)),
        (pd.Series(["b", "a"], dtype="category").cat.categories, ("a", "b")),
        (range(2, 4), (2, 3)),
        pytest.param((c for c in "xy"), ("x", "y"), id="generator"),
        ({"b": 1, "a": 2}.keys(), ("b", "a")),
    ],
    ids=repr,
)  # fmt: skip
def test_categories_come_from_any_sequence(categories, expected):
    """Lists, arrays, an Index, a dtype; a set is sorted; NumPy scalars become Python's."""
    domain = Categories(categories)
    assert expected == domain.categories
    assert [type(c) for c in expected] == [type(c) for c in domain.categories]


def test_enum_members_that_are_words_or_numbers_become_plain():
    """An Enum of str or int equals its plain value, so that is what is declared and reported."""

    # Users have enums of the older form too, whose str() is not the value.
    class Word(str, enum.Enum):  # noqa: UP042
        YES = "y"
        NO = "n"

    class Number(enum.IntEnum):
        ONE = 1
        TWO = 2

    assert Categories(list(Word)).categories == ("y", "n")
    assert Categories(list(Number)).categories == (1, 2)
    assert [type(c) for c in Categories([*Word, *Number]).categories] == [str, str, int, int]
    assert Categories(list(Word)).code(Word.NO) == Categories(["y", "n"]).code(Word.NO) == 1


@pytest.mark.parametrize(
    "categories",
    [
        [], ["a"], (None,), set(), np.array([]), pd.CategoricalDtype(["a"]),
        pd.CategoricalDtype([]),
    ],
    ids=repr,
)  # fmt: skip
def test_fewer_than_two_categories_are_refused(categories):
    """One possible answer would be no question."""
    refused(ArgumentValueError, "at least two", Categories, categories)


@pytest.mark.parametrize(
    "categories",
    [
        None, 3, 0.5, "yes", b"yes", {"a": 1, "b": 2}, object(), float("nan"), str, len,
        pd.Categorical(["a", "b"]), pd.Series(["a", "b"]), pd.DataFrame({"a": [1, 2]}),
        np.array("a"), np.array([["a", "b"]]), [["a"], ["b"]], [{}, []],
        {"a", 1}, {None, "a"}, {1.0, float("nan")}, {frozenset({1}), frozenset({2})},
    ],
    ids=lambda v: f"{type(v).__name__}",
)  # fmt: skip
def test_what_is_no_list_of_categories_is_refused_by_type(categories):
    """The error is a TypeError of the tree and names the argument."""
    refused(ArgumentTypeError, "categories", Categories, categories)


def test_a_domain_cannot_be_changed():
    """A declaration is fixed (T19)."""
    domain = Categories(["a", "b"])
    with pytest.raises(AttributeError):
        domain.k = 3
    assert Categories([1, 2]) != Categories([1.0, 2.0])
    assert Categories([1, 2]) != Categories([2, 1])
    assert Categories(["a", "b"]) != ["a", "b"]


def test_a_long_domain_is_described_briefly():
    """Errors list a few categories and say how many there are."""
    assert Categories(["a", "b", "c"]).describe() == "['a', 'b', 'c']"
    text = repr(Categories(range(10_000)))
    assert "10000 categories" in text
    assert len(text) < 80


@pytest.mark.parametrize(
    ("k", "expected"),
    [(2, "uint8"), (128, "uint8"), (129, "uint16"), (32_768, "uint16"), (32_769, "uint32")],
)
def test_codes_have_the_smallest_type_that_holds_a_sum_of_two(k, expected):
    """Both sentinels and 2k - 2 fit; empty codes are of that type."""
    domain = Categories(range(k))
    assert np.dtype(expected) == domain.dtype == domain.empty(3).dtype
    assert max(k + 1, 2 * k - 2) <= np.iinfo(domain.dtype).max


@pytest.mark.parametrize("name", MISSING)
def test_every_missing_value_is_the_same(name):
    """None, NaN, NaT and NA have one code: that of the category, or k + 1."""
    assert is_missing(MISSING[name])
    assert Categories(["a", "b"]).code(MISSING[name]) == 3
    assert Categories(["a", None, "b"]).code(MISSING[name]) == 1


@pytest.mark.parametrize("name", hostile())
def test_hostile_values_are_unknown_and_never_raise(name):
    """Objects that raise when compared, hashed, printed or looked at have code k."""
    value = hostile()[name]
    assert not is_missing(value)
    for kind in CATEGORIES:
        domain = Categories(CATEGORIES[kind])
        if kind == "float" and name == "inf":
            continue  # declared there
        assert domain.k == domain.code(value)


@pytest.mark.parametrize(
    ("categories", "value", "expected"),
    [
        ([0, 1], True, 2),
        ([0, 1], np.bool_(True), 2),
        ([True, False], 1, 2),
        ([True, False], np.True_, 0),
        ([True, False], 0.0, 2),
        ([1, "1"], "1", 1),
        ([1, 2], 1.0, 0),
        ([1, 2], np.float32(2), 1),
        ([1, 2], Decimal(2), 1),
        ([1, 2], 1 + 0j, 0),
        ([2**53 + 1, 5], float(2**53), 2),
        (["\u00e9", "e"], "e\u0301", 2),
        ([b"a", b"b"], "a", 2),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], pd.Timestamp("2021-01-01"), 1),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], np.datetime64("2021-01-01"), 1),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], np.datetime64("2021-01-01T01"), 2),
        ([pd.Timedelta(1, "D"), pd.Timedelta(2, "D")], np.timedelta64(48, "h"), 1),
    ],
)
def test_values_match_as_in_python_but_bool_matches_only_bool(categories, value, expected):
    """1 is 1.0, a date is its midnight, True is never 1, and text matches to the code point."""
    domain = Categories(categories)
    assert expected == domain.code(value)
    assert expected == encode(domain, objects([value, value])).codes[1]


CASES = [case for form in FORMS for case in form.cases()]


@pytest.mark.parametrize(("build", "kind"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_fast_codes_equal_those_of_the_values_one_by_one(build, kind):
    """Whatever way a container takes, each answer has the code of its Python value (oracle)."""
    categories = CATEGORIES[kind]
    domain = Categories([*categories[1:], categories[0]])
    container = open_column(build([categories[i % len(categories)] for i in range(50)]))
    values = container.pick(np.arange(50))
    encoded = encode(domain, container.cells)
    assert [domain.code(v) for v in values] == encoded.codes.tolist()
    assert domain.dtype == encoded.codes.dtype
    assert encoded.unknown == len(encoded.absent) == 0


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8", "f2", "f4", "f8"])
def test_codes_of_numbers_are_exact_at_the_edges_of_a_type(dtype):
    """Categories outside a column's type never match; no integer is rounded into another."""
    numbers = [0, 1, -1, 127, 128, 255, 256, 2049, 2**24 + 1, 2**53 + 1, 2**63, 2**64 - 1, 10**400]
    domain = Categories(numbers)
    kind = np.dtype(dtype).kind
    if kind == "f":
        edge = np.finfo(dtype)
        cells = np.array([0, 1, -1, 2048, 255, edge.max, edge.min, np.inf, -np.inf, np.nan], dtype)
    else:
        info = np.iinfo(dtype)
        cells = np.array([0, 1, info.min, info.max, info.max - 1, 100], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = encode(domain, cells).codes
    assert [domain.code(v) for v in cells.tolist()] == codes.tolist()


def test_float_categories_are_rounded_to_a_narrow_column():
    """0.1 stands for the float32 nearest to it; two that round together are refused."""
    cells = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    assert encode(Categories([0.1, 0.2]), cells).codes.tolist() == [0, 1, 2]
    with pytest.raises(ArgumentTypeError, match="cannot be distinguished"):
        encode(Categories([0.1, 0.1 + 1e-12]), cells)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ms", "us", "ns", "ps", "as"])
def test_datetimes_of_every_unit_have_exact_codes(unit):
    """NumPy dates match in their own unit; far ones and NaT neither raise nor match."""
    dates = [datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 5), None]
    domain = Categories(dates)
    cells = np.array([0, 5, 2**62, -(2**62), 7], dtype=np.int64).view(f"M8[{unit}]")
    expected = [0, 1 if unit == "s" else 3, 3, 3, 3]
    assert expected == encode(domain, cells).codes.tolist()
    cells[4] = "NaT"
    assert encode(domain, cells).codes[4] == 2
    spans = Categories([datetime.timedelta(0), datetime.timedelta(seconds=5)])
    assert encode(spans, np.array([0, 5], "m8[s]")).codes.tolist() == [0, 1]
    assert encode(spans, np.array([0, 5000, "NaT"], "m8[ms]")).codes.tolist() == [0, 1, 3]


@pytest.mark.parametrize("kind", ["str", "bool", "int", "bytes", "mixed", "str or missing"])
def test_objects_of_any_mixture_have_the_codes_of_the_slow_way(kind):
    """The dict of plain types and the careful loop agree, for every mixture of answers."""
    domain = Categories(CATEGORIES[kind])
    plain = ["never", "zz", 1, 2, 0, 1.0, 2.5, b"a", b"c", None, float("nan"), np.str_("once")]
    for extra in ([], [True, False], [pd.NA], list(hostile().values()), [True, None]):
        cells = objects([*CATEGORIES[kind], *(plain if extra != [True, None] else []), *extra])
        expected = [domain.code(v) for v in cells]
        assert expected == encode(domain, cells).codes.tolist()
    booleans = objects([True, False, None])
    assert [domain.code(v) for v in booleans] == encode(domain, booleans).codes.tolist()


def test_half_surrogates_are_served_in_every_column_of_words():
    """Text that is not Unicode can be declared; columns that cannot hold it never match it."""
    domain = Categories(["a", "\udc80"])
    assert encode(domain, objects(["\udc80", "a"])).codes.tolist() == [1, 0]
    assert encode(domain, np.array(["a", "\udc80"])).codes.tolist() == [0, 1]
    pa = pytest.importorskip("pyarrow")
    assert encode(domain, pa.array(["a", "b", None])).codes.tolist() == [0, 2, 3]


def test_arrow_values_that_python_cannot_hold_are_unknown(pa):
    """A date beyond the year 9999 inside a list or a struct raises in Arrow, not here."""
    far = pa.array([2**60, 0], pa.int64()).cast(pa.timestamp("s"))
    nested = pa.ListArray.from_arrays(pa.array([0, 1, 2]), far)
    assert encode(Categories([("a",), ("b",)]), nested).codes.tolist() == [2, 2]
    assert encode(Categories([datetime.date(1970, 1, 1), None]), far).codes.tolist() == [2, 0]
    aware = far.cast(pa.timestamp("s", tz="UTC"))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert encode(Categories([epoch, None]), aware).codes.tolist() == [2, 0]


def test_other_pandas_arrays_are_served_as_objects():
    """Periods, intervals and sparse columns encode as the objects they hold."""
    periods = [pd.Period("2020", "Y"), pd.Period("2021", "Y")]
    cells = pd.Series([*periods, None], dtype="period[Y]").array
    assert encode(Categories(periods), cells).codes.tolist() == [0, 1, 3]
    intervals = pd.interval_range(0, 2)
    assert encode(Categories(list(intervals)), intervals.array).codes.tolist() == [0, 1]
    sparse = pd.arrays.SparseArray([1.0, 0.0, np.nan])
    assert encode(Categories([1, 0]), sparse).codes.tolist() == [0, 1, 3]
    zone = pd.Series(pd.to_datetime(["2020-01-01 01:00", None]).tz_localize("Europe/Paris"))
    midnight = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    instants = Categories([midnight, midnight.replace(year=2021)])
    assert encode(instants, zone.array).codes.tolist() == [0, 3]


def test_a_million_words_numbers_or_booleans_take_no_loop_over_rows(monkeypatch):
    """Plain columns never go through the careful one-by-one code."""
    calls, code = [], Categories.code
    monkeypatch.setattr(Categories, "code", lambda *given: calls.append(1) or code(*given))
    words = ["never", "once", "often"]
    for column, categories in (
        (pd.Series(words * 1000), words),
        (pd.Series(words * 1000, dtype=object), words),
        (pd.Series(words * 1000, dtype="string[python]"), words),
        (pd.Series(words * 1000, dtype="category"), words),
        (np.array(words * 1000), words),
        (pd.Series([1, 2] * 1000), [1, 2]),
        (pd.Series([1, 2, None] * 1000, dtype="Int64"), [1, 2]),
        (pd.Series([1, 2] * 1000, dtype=object), [1, 2]),
        (pd.Series([True, False] * 1000), [True, False]),
        (pd.Series([True, None] * 1000), [True, False]),
    ):
        calls.clear()
        encode(Categories(categories), open_column(column).cells)
        assert len(calls) < 100, "a loop over rows"


@pytest.mark.parametrize(
    ("k", "labels"),
    [
        *itertools.product([2, 253, 254, 255, 256, 257], [3, 127, 128, 300]),
        *(
            pytest.param(k, 40_000, marks=pytest.mark.slow)
            for k in (65_533, 65_534, 65_535, 65_537)
        ),
    ],
)
def test_a_missing_place_of_a_categorical_is_never_a_category(k, labels):
    """-1, seen as 255 or 65,535, is the missing answer also where so many categories exist."""
    domain = Categories(range(k))
    places = np.array([-1, 0, labels - 1, 1])
    cells = pd.Categorical.from_codes(places, range(labels))
    expected = [k + 1, 0, min(labels - 1, k), 1]
    assert expected == encode(domain, cells).codes.tolist()
    with_missing = Categories([*range(1, k), None, 0])
    expected = [k - 1, k, k + 1 if labels > k else labels - 2, 0]
    assert expected == encode(with_missing, cells).codes.tolist()


@pytest.mark.parametrize("endless", [range(10**10), iter(int, 1), np.arange(2**22 + 1)])
def test_too_many_categories_are_refused_before_they_take_memory(endless):
    """A range of billions, and an iterator without end, are refused at once."""
    refused(ArgumentValueError, "at most 4,194,304", Categories, endless)


CODEBOOK = {1: "never", 2: "once", 3: "often"}


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.KRR(CODEBOOK, 0.7),
        rr.mechanisms.UnaryEncoding(CODEBOOK, 0.7, 0.2),
        rr.mechanisms.SubsetSelection(CODEBOOK, epsilon=1),
        rr.mechanisms.Rappor(CODEBOOK, f=0.5, p=0.3, q=0.7),
        rr.MatrixDesign(CODEBOOK, np.eye(3) * 0.7 + 0.1),
        rr.KRR(CODEBOOK, 0.7).then(rr.KRR(CODEBOOK, 0.9)),
        rr.surveys.warner({0: "no", 1: "yes"}, prob_statement=0.7, yes=1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_results_show_the_labels_of_a_codebook(mechanism):
    """The answers and the reports are the codes; documents hold both."""
    codes = list(mechanism.domain.categories)
    labels = tuple(mechanism.domain.declared.values())
    reports = rr.simulate(pd.Series(codes * 40), mechanism, seed=1)
    assert labels == mechanism.categories
    assert labels == rr.estimate(reports, mechanism).categories
    read = from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert (read, read.categories) == (mechanism, labels)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    if not isinstance(mechanism.report_space, Subsets):
        assert set(reports) == set(codes)


def test_frames_remember_a_codebook():
    """Of a list of columns too; tables and groups show the labels."""
    frame = pd.DataFrame({"q1": [1, 2, 3] * 300, "q2": [3, 1, 1] * 300})
    released = frame.rr.privatize(["q1", "q2"], CODEBOOK, 0.8)
    assert set(released["q1"]) == {1, 2, 3}
    estimate = released.rr.estimate("q1")
    assert list(estimate.to_frame()["category"]) == list(CODEBOOK.values())
    assert 0.2 < estimate["once"].value < 0.5
    assert "often" in repr(released.rr.crosstab("q1", "q2"))
    assert list(released.rr.estimate().to_frame()["category"]) == [*CODEBOOK.values()] * 2
    assert rr.KRR(CODEBOOK, 0.8) != rr.KRR([1, 2, 3], 0.8)
    twice = [{"int": 1, "label": "a"}, {"int": 1, "label": "b"}]
    refused(MetadataError, "twice", from_dict, {"type": "KRR", "categories": twice, "prob": 0.8})


def test_a_categorical_of_labels_is_read_by_them():
    """As pandas reads SPSS and Stata; reports are the codes, whatever the levels are."""
    m = rr.KRR(CODEBOOK, 0.8)
    labels = pd.Series([3, 1] * 50, name="q").map(CODEBOOK).astype("category")
    stray = labels.cat.add_categories([2])  # a code without a label in the file
    stray.iloc[0] = 2
    assert labels.rr.check(m).empty
    assert stray.rr.check(m).empty
    reports = [rr.simulate(one, m, seed=1) for one in (labels, stray)]
    assert [1, 2, 3] == list(reports[0].cat.categories) == list(reports[1].cat.categories)
    assert reports[0].attrs == reports[1].attrs
    codes = rr.simulate(pd.Series([3, 1] * 50, name="q"), m, seed=1)
    assert codes.tolist() == reports[0].tolist()
    assert list(CODEBOOK.values()) == list(reports[0].rr.estimate().categories)
    assert rr.check(pd.Categorical(["Never"]), m)["status"].tolist() == ["unknown"]
    refused(ArgumentTypeError, "not another category", rr.KRR, {"a": "b", "b": "a"}, 0.8)


def test_keyed_reports_of_labels_are_those_of_their_codes(cryptography):
    """The same answers, key and ids have the same noise, in whatever form the answers stand."""
    m, key, ids = rr.KRR(CODEBOOK, 0.8), rr.client.new_key(), list(range(100))
    codes = pd.Series([3, 1] * 50, name="q")
    labels = codes.map(CODEBOOK).astype("category")
    found = [rr.privatize(one, m, key=Keyed(key, ids)).tolist() for one in (codes, labels)]
    assert found[0] == found[1]


def test_a_missing_category_of_a_codebook_stays_one():
    """A Categorical of labels has it too, so that nothing says who did not answer."""
    m = rr.KRR({1: "never", 2: "once", None: "refused"}, 0.999999)
    labels = pd.Categorical(["never", None] * 20, categories=["never", "once"])
    assert pd.isna(rr.simulate(pd.Series(labels), m, seed=1)).sum() >= 18
    refused(ArgumentValueError, "missing='keep'", rr.privatize, labels, m, missing="keep")


def test_values_without_tags_are_read_from_documents():
    """Documents written by hand may leave the tags of JSON's own types out."""
    assert categories_from_json(["a", 1, True, None, 0.5]) == ["a", 1, True, None, 0.5]


@pytest.mark.parametrize("item", [{"int": "5"}, {"bool": 1}, {"str": 1}, {"bool": "x"}])
def test_a_tag_of_another_type_is_refused(item):
    """A tag and its value must agree."""
    with pytest.raises(MetadataError, match="one tag with a value"):
        categories_from_json([item])


def test_a_column_is_there_just_once():
    """Names are looked up in frames with one or several levels, and refused where they repeat."""
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"])
    assert place_of(frame, "a") == 0
    with pytest.raises(ArgumentValueError, match="column 'b' is there 2 times; the columns are"):
        place_of(frame, "b")
    with pytest.raises(ArgumentValueError, match="is not there; did you mean 'a'"):
        place_of(frame, "aa")
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("q", 1), ("q", 2)]))
    assert place_of(levels, ("q", 2)) == 1
    with pytest.raises(ArgumentValueError, match=r"column \('q', 3\) is not there"):
        place_of(levels, ("q", 3))
    with pytest.raises(ArgumentTypeError, match="a column is given by its name"):
        place_of(levels, (1,))


def test_a_column_of_an_arrow_table_is_looked_up_by_name(pa):
    """A table of Arrow calls its names differently."""
    table = pa.table({"a": [1], "b": [2]})
    assert place_of(table, "b") == 1
    with pytest.raises(ArgumentValueError, match=r"column 'c' is not there; .*'a', 'b'"):
        place_of(table, "c")
