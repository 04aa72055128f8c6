"""`privatize` and its kin: policies, noise, errors and what is recorded beside the reports."""

import contextlib
import inspect
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from answers import QUIET, hostile, objects
from refusals import refused
from scripted import Counting, Recorded

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError

ANSWERS = ["a", "b", "zz", None, "a"]


def caught_by(function, *arguments, **options):
    """The result of a call, and the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = function(*arguments, **options)
    return out, caught


def test_unknown_answers_warn_once_with_a_text_of_the_declaration():
    """The default says that there are some: no count, no value, the same text for any of them."""
    texts = set()
    for answers in (["zz"], ANSWERS, [None], ["zz"] * 100, objects(list(hostile().values()))):
        out, caught = caught_by(rr.privatize, answers, ["a", "b"], 0.75)
        assert [rr.errors.UnknownAnswersWarning] == [w.category for w in caught]
        assert set(out) <= {"a", "b"}
        assert caught[0].filename == __file__
        texts.add(str(caught[0].message))
    assert texts == {
        "some answers are missing or none of the categories ['a', 'b'], and were replaced by "
        "noise. rr.check(answers, ['a', 'b']) shows them to the data curator; unknown='raise' "
        "refuses them"
    }


def test_the_warning_names_the_column_its_categories_and_the_call_that_shows_more():
    """One misspelt answer and a whole misspelt column warn alike, in two sentences."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    text = "in column 'vote' some answers are missing or none of the categories {}, and were "
    text += "replaced by noise. {} shows them to the data curator; unknown='raise' refuses them"
    declared = ["clinton", "dole"]
    frame = pd.DataFrame({"vote": ["Clinton", "Dole"] * 9, "sure": ["no", "yes"] * 9})
    plan = {"vote": rr.KRR(declared, 0.75), "sure": rr.KRR(["no", "yes"], 0.75)}
    for values, design, call in (
        (frame, plan, f"df.rr.check('vote', {declared})"),
        (frame.assign(vote=["dole"] * 17 + [None]), plan, f"df.rr.check('vote', {declared})"),
        (frame["vote"], plan["vote"], f"s.rr.check({declared})"),
        (pa.Table.from_pandas(frame), plan, f"rr.check(df['vote'], {declared})"),
    ):
        _, caught = caught_by(rr.privatize, values, design)
        assert [text.format(declared, call)] == [str(w.message) for w in caught]
    assert eval(f"frame.rr.check('vote', {declared})")["count"].tolist()[:2] == [9, 9]
    _, caught = caught_by(rr.privatize, frame, dict.fromkeys(frame, plan["vote"]))
    assert str(caught[0].message).startswith(
        "in the columns ['vote', 'sure'] some answers are missing or none of their categories, and "
    )


def test_the_accessor_says_what_became_of_other_answers_whether_or_not_there_were_any():
    """The note of a released frame follows from the declaration; no answer changes it."""
    notes = set()
    for answer in ("clinton", "Clinton"):
        frame = pd.DataFrame({"vote": [answer] * 9})
        released, _ = caught_by(frame.rr.privatize, "vote", ["clinton", "dole"], 0.75)
        notes.add(repr(released.rr))
    (note,) = notes
    assert "df.rr.check('vote', ['clinton', 'dole']) of the true answers shows" in note
    refusing = frame.rr.simulate("vote", ["Clinton", "dole"], 0.75, seed=1, unknown="raise")
    assert "replaced by noise" not in repr(refusing.rr)
    assert "replaced by noise" not in repr(frame.rr)
    released.attrs["rrstats"] = "damaged"
    assert "replaced by noise" not in repr(released.rr)


def test_designs_without_information_warn_when_they_are_built():
    """At prob 1/k, or epsilon 0, reports are pure noise, which is said before anything is asked."""
    for options in ({"prob": 1 / 3}, {"prob": 0.5, "k": 2}, {"epsilon": 0.0, "k": 2}):
        k = options.pop("k", 3)
        with pytest.warns(rr.errors.LowPrecisionWarning, match=f"no information: .* {k} reports"):
            rr.KRR(list("abc")[:k], **options)
    assert [] == caught_by(rr.KRR, ["a", "b"], 0.5001)[1]


def test_the_warning_comes_after_the_result():
    """Where warnings are errors, the words have been drawn as for any other data."""
    logs = []
    for answers in (ANSWERS, ["a"] * 5):
        source = Recorded(Counting(1))
        with contextlib.suppress(rr.errors.UnknownAnswersWarning):
            rr.privatize(answers, ["a", "b"], 0.75, rng=source)
        logs.append(source.log)
    assert logs[0] == logs[1] != []


def test_served_answers_are_silent():
    """Nothing is said where all answers are categories, or where silence was asked for."""
    for answers, categories, options in (
        (["a", "b"], ["a", "b"], {}),
        (["a", None], ["a", None], {}),
        (ANSWERS, ["a", "b"], {"unknown": "uniform"}),
        (["a", None], ["a", "b"], {"missing": "keep"}),
    ):
        assert [] == caught_by(rr.privatize, answers, categories, 0.75, **options)[1]


def test_unknown_raise_gives_the_count_before_anything_is_drawn():
    """The error counts unknown and missing answers; no word has been asked for."""
    source = Recorded(Counting(1))
    with pytest.raises(UnknownAnswersError, match=r"^2 of 5 answers are not among.*\(1 missing"):
        rr.privatize(ANSWERS, ["a", "b"], 0.75, unknown="raise", rng=source)
    with pytest.raises(UnknownAnswersError, match=r"^1 of 5 answers are not among"):
        rr.privatize(ANSWERS, ["a", "b"], 0.75, unknown="raise", missing="keep", rng=source)
    with pytest.raises(UnknownAnswersError, match=r"^1 of 5 answers are missing"):
        rr.privatize(ANSWERS, ["a", "b"], 0.75, missing="raise", rng=source)
    frame = pd.DataFrame({"x": ["a"] * 5, "y": ANSWERS})
    plan = {"x": rr.KRR(["a", "b"], 0.75), "y": rr.KRR(["a", "b"], 0.75)}
    refused(UnknownAnswersError, "2 of 5", rr.privatize, frame, plan, unknown="raise", rng=source)
    assert source.log == []
    assert rr.privatize(["a", None], ["a", None], 0.75, unknown="raise", rng=QUIET) == ["a", None]


def test_of_several_columns_the_refused_one_is_named(tmp_path):
    """The error counts answers of the column that it names, in frames and in files."""
    frame = pd.DataFrame({"x": ["a"] * 5, "y": ANSWERS})
    plan = {"x": rr.KRR(["a", "b"], 0.75), "y": rr.KRR(["a", "b"], 0.75)}
    text = "^2 of 5 answers of column 'y' are not among"
    with pytest.raises(UnknownAnswersError, match=text):
        rr.privatize(frame, plan, unknown="raise")
    with pytest.raises(UnknownAnswersError, match=r"^1 of 5 answers of column 'y' are missing"):
        rr.privatize(frame, plan, missing="raise")
    with pytest.raises(UnknownAnswersError, match=text):
        rr.privatize(
            frame, rr.FramePlan({"x": ["a", "b"], "y": ["a", "b"]}, 1, ["x", "y"]), unknown="raise"
        )
    pytest.importorskip("pyarrow")
    frame.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(UnknownAnswersError, match=text):
        rr.files.privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", plan, unknown="raise")


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
    for rng in (None, Counting(1), rr.SecureGenerator()):
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
    assert rr.metadata.find(out.attrs, "x").resolve() == rr.KRR(["a", "b"], 0.75)
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
    assert (
        inspect.signature(rr.privatize).parameters["categories"].default is inspect.Parameter.empty
    )


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
    ({"rng": rr.SecureGenerator}, "rng"),
    ({"threads": 0}, "threads"),
    ({"values": {"a": 1}}, "values"),
    ({"values": pd.DataFrame({"a": ["a"]})}, "DataFrame"),
    ({"columns": ["a"]}, "columns belong to a DataFrame"),
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
        (pd.DataFrame({"x": ["a"]}), ["x"], "columns"),
        (pd.DataFrame({"x": ["a"]}), "x", "columns"),
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
