"""`privatize` and its kin: policies, noise, errors and what is recorded beside the reports."""

import contextlib
import enum
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from answers import hostile, objects
from refusals import refused
from scripted import Counting, Recorded

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError
from rrstats.mechanisms import records as column_records

ANSWERS = ["a", "b", "zz", None, "a"]


def caught_by(function, *arguments, **options):
    """The result of a call, and the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = function(*arguments, **options)
    return out, caught


REFUSAL = (
    "{} of {} answers{} are not among the 2 categories (answer type: {}), and {} more missing; {}"
    "{} lists them for the data curator; unknown='uniform' replaces each by a random category, as "
    "OpenDP does; for missing ones give missing='uniform' or missing='keep' (which publishes who "
    "did not answer), or declare None among the categories (--with-missing)"
)

CODES_MAY_BE_MEANT = (
    "if they are codes, map each code, in the answers' type, to its label, as in "
    "{1: 'never', 2: 'once'}; "
)


def test_the_refusal_counts_names_the_column_and_says_the_ways_on():
    """The same sentence for any answers: counts and declarations, no value.

    Where the counts say that no answer of a column of objects fits, codes may be meant.
    """
    for answers, unknown, missing in (
        (ANSWERS, 1, 1),
        (["zz"] * 99 + [None], 99, 1),
        (objects([*hostile().values(), None]), len(hostile()), 1),
    ):
        text = refused(UnknownAnswersError, "answers", rr.privatize, answers, ["a", "b"], 0.75)
        kind = text.split("answer type: ")[1].split(")")[0]
        call = "rr.check(answers, ['a', 'b'])"
        way_on = CODES_MAY_BE_MEANT if unknown + missing == len(answers) else ""
        counts = (unknown, len(answers), "", kind, missing, way_on, call)
        assert REFUSAL.format(*counts) == text


def test_the_refusal_has_the_call_that_shows_more():
    """Of a frame, a Series and a table; it runs as it is printed."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    declared = ["clinton", "dole"]
    answers = ["Clinton"] * 9 + ["Dole"] * 8 + [None]
    frame = pd.DataFrame({"vote": answers, "sure": ["no", "yes"] * 9})
    plan = {"vote": rr.KRR(declared, 0.75), "sure": rr.KRR(["no", "yes"], 0.75)}
    for values, design, call in (
        (frame, plan, f"df.rr.check('vote', {declared})"),
        (frame["vote"], plan["vote"], f"s.rr.check({declared})"),
        (pa.Table.from_pandas(frame), plan, f"rr.check(df, 'vote', {declared})"),
    ):
        text = refused(UnknownAnswersError, "answers", rr.privatize, values, design)
        is_object = not isinstance(values, pa.Table) and frame["vote"].dtype == object  # pandas 2
        kind = "any" if is_object else "str"
        way_on = CODES_MAY_BE_MEANT if is_object else ""
        assert REFUSAL.format(17, 18, " of column 'vote'", kind, 1, way_on, call) == text
    assert eval(f"frame.rr.check('vote', {declared})")["count"].tolist() == [9, 8, 1]
    wide = rr.KRR([f"a long name of category {i}" for i in range(12)], 0.75)
    text = refused(UnknownAnswersError, "answers", frame.rr.privatize, "vote", wide)
    assert "df.rr.check('vote', categories) lists" in text
    assert len(text) < 600


SERIES = pd.Series(["a", "b", "zz", "a"], name="x")
RATES = [0.6, 0.75, 0.8, 0.9]
KEYED = {"key": rr.client.Keyed(bytes(range(32)), [1, 2, 3, 4])}
DOORS = {
    "list": lambda **o: rr.privatize(list(SERIES), ["a", "b"], 0.75, **o),
    "tuple": lambda **o: rr.privatize(tuple(SERIES), ["a", "b"], epsilon=1, **o),
    "one answer": lambda **o: rr.privatize("zz", ["a", "b"], 0.75, **o),
    "array": lambda **o: rr.privatize(SERIES.to_numpy().reshape(2, 2), ["a", "b"], 0.75, **o),
    "Series": lambda **o: SERIES.rr.privatize(["a", "b"], 0.75, **o),
    "Index": lambda **o: rr.privatize(pd.Index(SERIES), ["a", "b"], 0.75, **o),
    "Categorical": lambda **o: rr.privatize(SERIES.astype("category"), ["a", "b"], 0.75, **o),
    "300 categories": lambda **o: rr.privatize([7, 300], range(300), 0.5, **o),
    "70,000 categories": lambda **o: rr.privatize(np.array([-1, 2]), range(70_000), 0.5, **o),
    "bits": lambda **o: rr.privatize(
        SERIES, rr.mechanisms.UnaryEncoding.optimized(["a", "b", "c"], epsilon=1), **o
    ),
    "samples": lambda **o: rr.privatize(
        ["a", "zz"], {1: rr.KRR(["a", "b"], 0.6), 2: rr.KRR(["a", "b"], 0.7)}, group=[1, 2], **o
    ),
    "rates by row": lambda **o: rr.privatize(SERIES, ["a", "b"], RATES, **o),
    "rates of a frame": lambda **o: (
        SERIES.to_frame().assign(p=RATES).rr.privatize("x", ["a", "b"], "p", **o)
    ),
    "keyed": lambda **o: rr.privatize(SERIES, ["a", "b"], 0.75, **KEYED, **o),
    "again": lambda **o: rr.privatize(list(SERIES), ["a", "b"], 0.75, again=True, **o),
    "simulate": lambda **o: rr.simulate(SERIES, ["a", "b"], 0.75, seed=1, **o),
    "frame, simulate": lambda **o: SERIES.to_frame().rr.simulate(
        "x", ["a", "b"], 0.75, seed=1, **o
    ),
    "frame": lambda **o: SERIES.to_frame().rr.privatize("x", ["a", "b"], 0.75, **o),
    "columns": lambda **o: rr.privatize(
        pd.DataFrame({"x": SERIES, "y": SERIES}), ["x", "y"], ["a", "b"], 0.75, **o
    ),
    "plan": lambda **o: rr.privatize(
        SERIES.to_frame(), rr.planning.FramePlan({"x": ["a", "b"]}, 1, ["x"]), **o
    ),
    "Arrow": lambda **o: rr.privatize(_arrow(SERIES), ["a", "b"], 0.75, **o),
    "Arrow table": lambda **o: rr.privatize(_table(SERIES), {"x": rr.KRR(["a", "b"], 0.75)}, **o),
    "Polars": lambda **o: rr.privatize(_polars(SERIES), {"x": rr.KRR(["a", "b"], 0.75)}, **o),
}


def _arrow(series):
    return pytest.importorskip("pyarrow").array(series)


def _table(series):
    return pytest.importorskip("pyarrow").table({"x": list(series)})


def _polars(series):
    return pytest.importorskip("polars").DataFrame({"x": list(series)})


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_answers_that_are_no_category(door):
    """The default; unknown="uniform" replaces them without a word."""
    if door == "keyed":
        pytest.importorskip("cryptography")
    text = refused(UnknownAnswersError, "answers", DOORS[door])
    assert "zz" not in text
    assert text == refused(UnknownAnswersError, "answers", DOORS[door], unknown="raise")
    assert caught_by(DOORS[door], unknown="uniform")[1] == []


@pytest.mark.parametrize(
    ("options", "refuses"),
    [
        ({}, (1, 2)),
        ({"missing": "raise"}, (1, 2)),
        ({"missing": "keep"}, (1, 0)),
        ({"missing": "uniform"}, (1, 0)),
        ({"unknown": "uniform", "missing": "raise"}, (0, 2)),
        ({"unknown": "uniform"}, (0, 0)),
        ({"unknown": "uniform", "missing": "keep"}, (0, 0)),
    ],
)
def test_missing_answers_follow_the_policy_for_unknown_ones(options, refuses):
    """Unless they have one of their own; each refused kind is counted, and has its ways on."""
    for answers in (["a", "zz", None, None, "a"], pd.Series(["a", "zz", None, float("nan"), "a"])):
        if refuses == (0, 0):
            reports = rr.privatize(answers, ["a", "b"], 0.75, **options)
            kept = [None, None] if "missing" in options else []
            assert kept == [None for report in reports if pd.isna(report)]
            continue
        text = refused(
            UnknownAnswersError, "answers", rr.privatize, answers, ["a", "b"], 0.75, **options
        )
        unknown, missing = refuses
        assert bool(unknown) == text.startswith("1 of 5 answers are not among the 2 categories")
        assert bool(unknown) == ("unknown='uniform'" in text)
        counted = "2 more missing" if unknown else "2 of 5 answers are missing"
        assert bool(missing) == (counted in text) == ("missing='uniform'" in text)


def test_designs_without_information_warn_when_they_are_built():
    """At prob 1/k, or epsilon 0, reports are pure noise, which is said before anything is asked."""
    for options in ({"prob": 1 / 3}, {"prob": 0.5, "k": 2}, {"epsilon": 0.0, "k": 2}):
        k = options.pop("k", 3)
        with pytest.warns(rr.errors.LowPrecisionWarning, match=f"no information: .* {k} reports"):
            rr.KRR(list("abc")[:k], **options)
    assert [] == caught_by(rr.KRR, ["a", "b"], 0.5001)[1]


def test_the_refusal_comes_after_the_draw():
    """The words have been drawn as for any other data; every answer is looked at once."""
    logs = []
    for answers in (ANSWERS, ["a"] * 5):
        source = Recorded(Counting(1))
        with contextlib.suppress(UnknownAnswersError):
            rr.privatize(answers, ["a", "b"], 0.75, rng=source)
        logs.append(source.log)
    assert logs[0] == logs[1] != []


def test_a_refused_release_leaves_nothing():
    """Neither the data nor their records change; the next call releases as if it were the first."""
    frame = pd.DataFrame({"x": ["a"] * 5, "y": ANSWERS})
    before = frame.copy(deep=True)
    plan = {"x": rr.KRR(["a", "b"], 0.75), "y": rr.KRR(["a", "b"], 0.75)}
    refused(UnknownAnswersError, "answers", frame.rr.privatize, plan)
    assert frame.equals(before)
    assert frame.attrs == before.attrs == {}
    assert list(frame.rr.privatize(plan, unknown="uniform").rr.mechanisms) == ["x", "y"]


def test_served_answers_are_silent():
    """Nothing is said where all answers are categories, or where silence was asked for."""
    for answers, categories, options in (
        (["a", "b"], ["a", "b"], {}),
        (["a", None], ["a", None], {}),
        (ANSWERS, ["a", "b"], {"unknown": "uniform"}),
        (["a", None], ["a", "b"], {"missing": "keep"}),
        (["a", None], ["a", "b"], {"missing": "uniform"}),
    ):
        assert [] == caught_by(rr.privatize, answers, categories, 0.75, **options)[1]


def test_one_error_counts_the_answers_of_all_columns(tmp_path):
    """In frames, plans and files; of many columns the first are counted."""
    answers = ["b", None, "b", "b", "b"]
    frame = pd.DataFrame({"x": ["a"] * 5, "y": ANSWERS, "z": answers})
    plan = {name: rr.KRR(["a", "b"], 0.75) for name in frame}
    text = (
        "^1 of 5 answers of column 'y' are not among the 2 categories .answer type: .{3}., and 1 "
        "more missing; 1 of 5 answers of column 'z' are missing; "
    )
    refused(UnknownAnswersError, text + r"df.rr.check\('y', ", frame.rr.privatize, plan)
    refused(
        UnknownAnswersError,
        "^1 of 5 answers of column 'z' are missing; for missing ones",
        frame[["x", "z"]].rr.privatize,
        {name: plan[name] for name in "xz"},
    )
    many = pd.DataFrame({f"c{i}": ["?", "a"] for i in range(9)})
    found = refused(UnknownAnswersError, "answers", many.rr.privatize, list(many), ["a", "b"], 0.75)
    assert found.count("1 of 2 answers of column") == 3
    assert "; and so in 6 more columns; df.rr.check('c0', ['a', 'b']) lists" in found
    assert len(found) < 600
    together = rr.planning.FramePlan({"y": ["a", "b"], "z": ["a", "b"]}, 1, [("y", "z")])
    of_plan = text.replace("5 answers of column 'y'", "the answers of column 'y' that were asked "
        "for in 5 rows").replace("5 answers of column 'z'", "the answers of column 'z' that were "
        "asked for in 5 rows")  # fmt: skip
    found = refused(UnknownAnswersError, of_plan, frame.rr.privatize, together)
    assert "'keep'" not in found
    pytest.importorskip("pyarrow")
    frame.to_csv(tmp_path / "in.csv", index=False)
    refused(
        UnknownAnswersError,
        text + r"rr.files.check_file\('.*in.csv', 'y', \['a', 'b'\]\) \(rrstats check\) lists",
        rr.files.privatize_file,
        tmp_path / "in.csv",
        tmp_path / "out.csv",
        plan,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_missing_as_a_category_is_an_answer_like_any_other():
    """None can be reported by anybody, and whoever is missing may report another answer."""
    n = 4000
    out = rr.privatize(["a"] * n + [None] * n, ["a", "b", None], 0.5, rng=Counting(5))
    assert {"a", "b", None} == set(out[:n]) == set(out[n:])
    for policy in ("keep", "raise"):
        with pytest.raises(ArgumentValueError, match="contradicts the categories"):
            rr.privatize(["a"], ["a", None], 0.75, missing=policy)


def test_columns_of_one_call_never_share_noise():
    """Two equal columns get different reports, also from one scripted source."""
    frame = pd.DataFrame({"x": [0] * 500, "y": [0] * 500})
    plan = {name: rr.KRR([0, 1], 0.5) for name in frame}
    for rng in (None, Counting(1), rr.client.SecureGenerator()):
        out = rr.privatize(frame, plan, rng=rng)
        assert out["x"].tolist() != out["y"].tolist()


def test_every_call_is_a_new_release():
    """Nothing is cached: the same call gives other reports (equal by chance: 2 ** -2000)."""
    answers = [True] * 2000
    assert rr.privatize(answers, [False, True], 0.5) != rr.privatize(answers, [False, True], 0.5)


def test_a_series_of_reports_carries_our_document_and_nothing_else():
    """The input's attrs do not come along; a Series is one column and says how it was made."""
    series = pd.Series(["a", "b"], name="x")
    series.attrs.update(source="PRIVATE", rrstats_note=1)
    out = rr.privatize(series, ["a", "b"], 0.75, unknown="uniform", missing="keep")
    (column,) = out.attrs["rrstats"]["columns"]
    assert list(out.attrs) == ["rrstats"]
    assert column_records.find(out.attrs, "x").resolve() == rr.KRR(["a", "b"], 0.75)
    assert (column["unknown"], column["missing"]) == ("uniform", "keep")
    assert series.attrs == {"source": "PRIVATE", "rrstats_note": 1}


def test_what_cannot_be_recorded_is_said_once():
    """Categories without a JSON form privatize all the same; one warning for each column."""
    categories = [frozenset({1}), frozenset({2})]
    series = pd.Series(categories, name="x")
    out, caught = caught_by(rr.privatize, series, categories, 0.75)
    assert [rr.errors.UnrecordedWarning] == [w.category for w in caught]
    assert out.attrs == {}
    _, caught = caught_by(rr.privatize, series.to_frame(), {"x": rr.KRR(categories, 0.75)})
    assert [rr.errors.UnrecordedWarning] == [w.category for w in caught]
    _, caught = caught_by(rr.privatize, categories, categories, 0.75)
    assert caught == []


@pytest.mark.parametrize(
    "wrap", [list, tuple, objects, pd.Series, lambda v: pd.Index(v, dtype=object)]
)
def test_check_lists_the_answers_that_match_no_category(wrap):
    """One row for each distinct one, the most frequent first, with what it is."""
    answers = ["a", "x", 3, "x", None, float("nan"), "x", 3.0, True, (1, 2)]
    found = rr.check(wrap(answers), ["a", "b"])
    assert list(found.columns) == ["value", "status", "count", "did_you_mean"]
    assert set(found.pop("did_you_mean")) == {None}
    expected = [("x", "unknown", 3), (None, "missing", 2), (3, "unknown", 1), (3.0, "unknown", 1)]
    expected += [(True, "unknown", 1), ((1, 2), "unknown", 1)]
    assert expected == list(found.itertuples(index=False, name=None))
    assert [str, type(None), int, float, bool, tuple] == [type(v) for v in found["value"]]
    assert [np.dtype(object), np.dtype(object), np.dtype(np.int64)] == list(found.dtypes)


def test_check_names_the_category_that_an_answer_seems_to_mean():
    """Case, spaces, types and slips are recognized; other answers have no such category."""
    answers = ["Clinton", " dole ", "clintom", "perot", "", None, 7]
    meant = rr.check(answers, ["clinton", "dole"]).set_index("value")["did_you_mean"]
    expected = ["clinton", "dole", "clinton", None, None, None, None]
    assert expected == meant[answers].tolist()
    assert rr.check(["1", 2.0, "3"], [1, 2])["did_you_mean"].tolist() == [1, None]
    assert rr.check(["True", "no"], [True, False])["did_you_mean"].tolist() == [True, None]
    assert rr.check(["Never"], {1: "never", 2: "often"})["did_you_mean"].tolist() == [1]
    assert rr.check(["15"], range(2000))["did_you_mean"].tolist() == [None]


def test_check_serves_every_container_and_hostile_answers():
    """It takes what privatize takes, a mechanism or categories, and never raises for an answer."""
    nothing = rr.check(["a", "b"], rr.KRR(["a", "b"], 0.75))
    columns = ["value", "status", "count", "did_you_mean"]
    assert (nothing.shape, list(nothing.columns)) == ((0, 4), columns)
    assert np.dtype(np.int64) == nothing["count"].dtype
    for answers, categories in (
        (np.array([[1, 2], [3, 3]]), [1, 2]),
        (pd.Series([1, 3, 3], dtype="Int64"), [1, 2]),
        (pd.Series(["p", "q", "q"], dtype="category"), ["p", "x"]),
        (pd.Series(["p", "q", "q"], dtype="string"), ["p", "x"]),
    ):
        assert rr.check(answers, categories)["count"].tolist() == [2]
    everything = rr.check(list(hostile().values()) * 2, ["a", "b"])
    assert (everything["status"] == "unknown").all()
    assert everything["count"].sum() == 2 * len(hostile())
    assert rr.check("x", ["a", "b"])["value"].tolist() == ["x"]
    pa = pytest.importorskip("pyarrow")
    words = pa.array(["p", "q", "q", None])
    for answers in (words, pa.chunked_array([words[:2], words[2:]]), words.dictionary_encode()):
        found = rr.check(answers, ["p", "x"])
        assert [["q", "unknown", 2, None], [None, "missing", 1, None]] == found.to_numpy().tolist()


class _Untouchable(pd.Series):
    """Data that must not be looked at."""

    @property
    def array(self):
        raise AssertionError("the data were touched")

    def to_numpy(self, *arguments, **options):
        raise AssertionError("the data were touched")


def test_the_categories_must_be_declared_and_data_are_not_touched_without():
    """No domain is a TypeError before any access to data (T1); it is never inferred."""
    data = _Untouchable(["a", "b"])
    for arguments in ((), (None,), (None, 0.75), ("ab", 0.75), (["a", "b"],)):
        with pytest.raises(TypeError):
            rr.privatize(data, *arguments)


BAD = [
    ({"prob": None}, "prob or epsilon"),
    ({"epsilon": 1.0}, "prob or epsilon"),
    ({"prob": 0.2}, "prob"),
    ({"prob": None, "epsilon": -1.0}, "epsilon"),
    ({"categories": rr.KRR(["a", "b"], 0.75)}, "mechanism"),
    ({"categories": rr.KRR}, "categories"),
    ({"categories": ["a"]}, "categories"),
    ({"categories": ["a", "a"]}, "categories"),
    ({"unknown": "ignore"}, "unknown"),
    ({"missing": "drop"}, "missing"),
    ({"rng": 5}, "rng"),
    ({"rng": rr.client.SecureGenerator}, "rng"),
    ({"threads": 0}, "threads"),
    ({"values": {"a": 1}}, "values"),
    ({"values": pd.DataFrame({"a": ["a"]})}, "found a number"),
    ({"columns": ["a"]}, "columns once, found it by position and by name"),
]


@pytest.mark.parametrize(
    ("change", "named"), BAD, ids=[f"{i}-{next(iter(b[0]))}" for i, b in enumerate(BAD)]
)
def test_bad_arguments_give_a_clear_error_of_the_tree(change, named):
    """Wrong type, range or combination: an RRStatsError that names the argument, before noise."""
    source = Recorded(Counting(1))
    given = {"values": ["a", "b"], "categories": ["a", "b"], "prob": 0.75, "rng": source} | change
    values, categories, prob = (given.pop(name) for name in ("values", "categories", "prob"))
    with pytest.raises(rr.errors.RRStatsError, match=f"(?s){named}") as caught:
        rr.privatize(values, categories, prob, **given)
    assert isinstance(caught.value, ValueError | TypeError)
    assert source.log == []
    if not {"values", "columns"} & set(change):
        frame = pd.DataFrame({"x": ["a", "b"]})
        for call in (partial(frame.rr.privatize, "x"), frame["x"].rr.privatize):
            refused(rr.errors.RRStatsError, f"(?s){named}", call, categories, prob, **given)


@pytest.mark.parametrize(
    ("data", "columns", "named"),
    [
        (pd.DataFrame({"x": ["a"]}), ["x"], "categories"),
        (pd.DataFrame({"x": ["a"]}), "x", "categories"),
        (pd.DataFrame({"x": ["a"]}), None, "columns"),
        (pd.DataFrame({"x": ["a"]}), {}, "columns"),
        (pd.DataFrame({"x": ["a"]}), {"y": rr.KRR(["a", "b"], 0.75)}, "'y' is not there"),
        (pd.DataFrame({"x": ["a"]}), {"x": ["a", "b"]}, "prob or epsilon"),
        (pd.DataFrame({"x": ["a"]}), {"x": None}, "categories"),
    ],
)
def test_bad_frames_and_plans_are_refused(data, columns, named):
    """The errors name data, columns, or the column that is not there."""
    with pytest.raises(rr.errors.RRStatsError, match=named) as caught:
        rr.privatize(data, columns)
    assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize("categories", [None, "ab", ["a"], rr.KRR, 3])
def test_check_refuses_what_is_no_declaration(categories):
    """check needs categories or a mechanism as well."""
    refused(rr.errors.RRStatsError, "categories", rr.check, ["a"], categories)
    refused(ArgumentTypeError, "values", rr.check, {"a": 1}, ["a", "b"])


class _Answer(enum.StrEnum):
    NO = "no"
    YES = "yes"


def test_the_name_of_an_answer_does_not_name_its_column():
    """A member of an Enum has a name, which is private: keyed noise must not depend on it."""
    with pytest.raises(rr.errors.ArgumentTypeError, match="a name of the question"):
        rr.privatize(_Answer.NO, ["no", "yes"], 0.75, key=rr.client.Keyed(rr.client.new_key(), [1]))


def test_check_of_a_frame_says_when_all_answers_fit():
    """A frame takes its column before the categories; no rows are a sentence, as in a notebook."""
    frame = pd.DataFrame({"vote": ["a", "b", "x"], "n": [1, 2, 3]})
    assert rr.check(frame, "vote", ["a", "b"]).equals(frame.rr.check("vote", ["a", "b"]))
    fits = rr.check(frame, "vote", ["a", "b", "x"])
    assert repr(fits) == fits._repr_html_() == "all answers are among the categories"
    assert "Empty DataFrame" in repr(fits[["value"]])
    polars = pytest.importorskip("polars")
    assert ["x"] == rr.check(polars.from_pandas(frame), "vote", ["a", "b"])["value"].tolist()
