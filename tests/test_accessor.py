"""``df.rr`` and ``s.rr``: the public functions on frames and columns."""

import copy
import inspect
import json
import math
import pickle
import pydoc
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from answers import QUIET
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats.accessor import FrameAccessor
from rrstats.mechanisms import Chain
from rrstats.mechanisms.epsilon import round_up, total_epsilon

YES = rr.KRR(["a", "b"], 0.75)
CATEGORIES = ["a", "b", "c"]
M = rr.KRR(CATEGORIES, 0.75)


def frame_of(n=6, **options):
    return pd.DataFrame(
        {
            "id": range(n),
            "answer": [CATEGORIES[i % 3] for i in range(n)],
            "smoker": [i % 2 == 0 for i in range(n)],
            "when": pd.date_range("2020-01-01", periods=n),
            "group": pd.Categorical(["x", "y"] * (n // 2) + ["x"] * (n % 2)),
        },
        **options,
    )


# -- privatizing ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 6])
def test_one_column_changes_and_all_else_stays(n):
    """Index, other columns, column order and dtypes are kept; the original is untouched."""
    frame = frame_of(index=pd.Index(list("uvwxyz"), name="row")).iloc[:n]
    frame.attrs["note"] = ["mine"]
    before = frame.copy()
    out = frame.rr.privatize("answer", CATEGORIES, 0.75)
    pd.testing.assert_frame_equal(before, frame)
    assert frame.attrs == {"note": ["mine"]}
    pd.testing.assert_frame_equal(before.drop(columns="answer"), out.drop(columns="answer"))
    assert list(frame.columns) == list(out.columns)
    assert frame.dtypes.astype(str).to_dict() == out.dtypes.astype(str).to_dict()
    assert set(out["answer"]) <= set(CATEGORIES)
    assert out.attrs["note"] == ["mine"]
    assert out.attrs["note"] is not frame.attrs["note"]
    assert list(out.rr.mechanisms) == ["answer"]


def test_the_three_forms_give_the_same_reports():
    """Function, frame method and Series method are one, for arguments or a mechanism."""
    frame = frame_of(50)
    expected = rr.privatize(frame["answer"], CATEGORIES, 0.75, rng=Counting(1))
    for out in (
        frame.rr.privatize("answer", CATEGORIES, 0.75, rng=Counting(1))["answer"],
        frame.rr.privatize("answer", M, rng=Counting(1))["answer"],
        frame.rr.privatize({"answer": M}, rng=Counting(1))["answer"],
        rr.privatize(frame, {"answer": M}, rng=Counting(1))["answer"],
        frame["answer"].rr.privatize(CATEGORIES, 0.75, rng=Counting(1)),
        frame["answer"].rr.privatize(M, rng=Counting(1)),
        rr.privatize(frame["answer"], M, rng=Counting(1)),
    ):
        pd.testing.assert_series_equal(expected, out)
        assert expected.attrs == out.attrs
    simulated = frame["answer"].rr.simulate(CATEGORIES, 0.75, seed=4)
    pd.testing.assert_series_equal(rr.simulate(frame["answer"], M, seed=4), simulated)
    by_epsilon = frame.rr.privatize("answer", CATEGORIES, epsilon=1.0)
    assert by_epsilon.rr.mechanisms["answer"] == rr.KRR(CATEGORIES, epsilon=1.0)


def test_a_mapping_privatizes_several_columns():
    """Each column with its mechanism; epsilons add up, and a later column adds to the record."""
    smoker = rr.KRR([True, False], epsilon=1)
    out = frame_of().rr.privatize({"answer": M, "smoker": smoker})
    assert out.rr.mechanisms == {"answer": M, "smoker": smoker}
    assert out.rr.epsilon == total_epsilon([M.epsilon, smoker.epsilon])
    step = frame_of().rr.privatize("answer", M).rr.privatize("smoker", smoker)
    assert step.rr.mechanisms == out.rr.mechanisms
    assert list(out["answer"].attrs["rrstats"]) == list(step["answer"].attrs["rrstats"])


def test_again_records_the_chain():
    """A privatized column is refused on frame and Series, until asked for a second round."""
    out = frame_of().rr.privatize("answer", M)
    for call in (
        lambda **o: out.rr.privatize("answer", M, **o),
        lambda **o: out["answer"].rr.privatize(M, **o),
        lambda **o: rr.privatize(out["answer"], M, **o),
    ):
        refused(rr.errors.MetadataError, "again=True", call)
        call(again=True)
    twice = out.rr.privatize("answer", M, again=True)
    assert twice.rr.mechanisms == {"answer": Chain(M, M)}
    assert twice.rr.epsilon == Chain(M, M).epsilon < out.rr.epsilon
    thrice = twice.rr.privatize("answer", M, again=True)
    assert thrice.rr.mechanisms == {"answer": Chain(Chain(M, M), M)}


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1, 1, 1, 2, 2, 2]),
        pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["g", "i"]),
        pd.Index([np.nan, None, "a", "a", 1, 2], dtype=object),
        pd.date_range("2020", periods=6, name="day"),
        pd.CategoricalIndex(list("xyxyxy")),
    ],
    ids=["duplicates", "MultiIndex", "odd", "dates", "categorical"],
)
def test_any_index_stays_and_aligns_nothing(index):
    """Reports stay in their rows, whatever the labels."""
    frame = frame_of(index=index)
    out = frame.rr.privatize("answer", CATEGORIES, 0.99, rng=QUIET)
    pd.testing.assert_frame_equal(frame, out)
    pd.testing.assert_index_equal(index, out.index, exact=True)
    series = frame["answer"].rr.privatize(CATEGORIES, 0.99, rng=QUIET)
    pd.testing.assert_index_equal(index, series.index, exact=True)


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (pd.MultiIndex.from_tuples([("q", 1), ("q", 2), ("r", 1)], names=["a", "b"]), ("q", 2)),
        (pd.RangeIndex(3), 1),
        (pd.Index([0.5, 1.5, 2.5]), 1.5),
        (pd.Index([None, "x", 3], dtype=object), "x"),
        (pd.Index(["x", None, 3], dtype=object), None),
        (pd.Index(["d", "x", "d"]), "x"),
        (pd.Index(["y", "rr", "x"], name="kind"), "rr"),
        (pd.CategoricalIndex(["u", "v", "w"]), "v"),
        (pd.Index([True, False, "x"], dtype=object), False),
        (pd.date_range("2020", periods=3), pd.Timestamp("2020-01-02")),
    ],
    ids=repr,
)
def test_any_column_label_is_served(columns, name):
    """MultiIndex, numbers, None, doubled other labels, a column called rr, dates."""
    frame = pd.DataFrame([["p", "a", 1.5], ["q", "b", 2.5]])
    frame.columns = columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.errors.UnrecordedWarning)  # a Timestamp has no JSON form
        out = frame.rr.privatize([name], CATEGORIES, 0.99, rng=QUIET)
    pd.testing.assert_index_equal(columns, out.columns, exact=True)
    pd.testing.assert_frame_equal(frame, out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rr.errors.UnrecordedWarning)
        changed = frame.rr.privatize({name: M}, rng=Counting(2), unknown="uniform")
    assert changed.iloc[:, [0, 2]].equals(frame.iloc[:, [0, 2]])


@pytest.mark.parametrize(
    ("columns", "name", "message"),
    [
        (["x", "y", "z"], "answer", "is not there"),
        (["x", "x", "z"], "x", "is there 2 times"),
        (["x", "y", "x"], "x", "is there 2 times"),
        (pd.MultiIndex.from_tuples([("q", 1), ("q", 2), ("r", 1)]), "q", "is there 2 times"),
        (pd.MultiIndex.from_tuples([("q", 1), ("q", 2), ("r", 1)]), ("q", 3), "is not there"),
        ([0, 1, 2], "x", "is not there"),
        (["x", "y", "z"], float("nan"), "is not there"),
    ],
)
def test_a_column_must_be_there_just_once(columns, name, message):
    """Missing and doubled names are errors that list the columns."""
    frame = pd.DataFrame([["p", "a", 1.5]])
    frame.columns = columns
    for call in (
        lambda: frame.rr.privatize(name, CATEGORIES, 0.75),
        lambda: frame.rr.estimate(name, CATEGORIES, 0.75),
        lambda: frame.rr.tally(name, CATEGORIES, 0.75),
        lambda: frame.rr.check(name, CATEGORIES),
    ):
        refused(rr.errors.RRStatsError, message, call)


def test_methods_show_every_argument():
    """Signatures are written out, for completion and help; none takes what it does not know."""
    frame = frame_of().rr.privatize("answer", M)
    for accessor in (frame.rr, frame["answer"].rr):
        assert "privatize" in repr(accessor)
        assert {"privatize", "estimate", "tally", "check", "simulate"} <= set(dir(accessor))
        for name in dir(accessor):
            if name[0] != "_" and callable(method := getattr(accessor, name)):
                parameters = inspect.signature(method).parameters.values()
                loose = [one.name for one in parameters if one.kind is one.VAR_KEYWORD]
                assert [] == loose or name in ("to_csv", "to_parquet")  # pandas' own
                assert "Parameters\n" in method.__doc__
                assert "Returns\n" in method.__doc__
    assert "formula" == next(iter(inspect.signature(frame.rr.logit).parameters))
    with pytest.raises(TypeError, match="logit takes no famly"):
        frame.rr.logit("answer ~ age", famly="logit")


@pytest.mark.parametrize("columns", [pd.Index(["answer"]), {"answer"}, ["answer"]])
def test_any_list_of_names_names_columns(columns):
    """An Index, a set or a list; no name is refused, and a column of answers is not quoted."""
    frame = frame_of()
    released = frame.rr.privatize(columns, CATEGORIES, 0.75)
    assert ["answer"] == list(released.rr.mechanisms)
    for wrong in ([], frame["answer"].tolist(), pd.Index(frame["answer"])):
        with pytest.raises(rr.errors.RRStatsError, match="columns must") as caught:
            frame.rr.privatize(wrong, CATEGORIES, 0.75)
        assert not any(repr(answer) in str(caught.value) for answer in frame["answer"])


def test_a_list_of_columns_has_one_design():
    """The same as a mapping of the one mechanism, by the frame and by the function."""
    frame = pd.DataFrame({"q1": ["a", "b"] * 50, "q2": ["b", "b"] * 50, "id": range(100)})
    expected = frame.rr.privatize(dict.fromkeys(("q1", "q2"), YES), rng=Counting(1))
    listed = frame.rr.privatize(["q1", "q2"], ["a", "b"], 0.75, rng=Counting(1))
    called = rr.privatize(frame, ["q1", "q2"], ["a", "b"], 0.75, rng=Counting(1))
    for found in (listed, called):
        pd.testing.assert_frame_equal(expected, found)
        assert found.attrs == expected.attrs
    assert [*listed.rr.mechanisms] == ["q1", "q2"]
    seeded = rr.simulate(frame, ["q1", "q2"], ["a", "b"], 0.75, seed=1)
    pd.testing.assert_frame_equal(seeded, frame.rr.simulate(["q1", "q2"], YES, seed=1))
    refused(rr.errors.RRStatsError, "'health', categories", rr.privatize, frame, ["a", "b"], 0.75)


def test_arguments_beside_a_mapping_or_without_categories_are_refused():
    """A mapping says all; one column needs its categories."""
    frame = frame_of()
    for arguments, options, words in (
        (({"answer": M}, CATEGORIES), {}, "a mapping by column has the categories"),
        (({"answer": M}, None, 0.75), {}, "has a mechanism, which is its whole design"),
        (({"answer": M},), {"epsilon": 1.0}, "leave epsilon out"),
    ):
        refused(rr.errors.RRStatsError, words, frame.rr.privatize, *arguments, **options)
    refused(rr.errors.RRStatsError, "categories must be", frame.rr.privatize, "answer")
    refused(rr.errors.RRStatsError, "categories must be", frame.rr.privatize, "answer", prob=0.75)
    with pytest.raises(TypeError):
        frame["answer"].rr.privatize()


def test_wide_frames_and_slices_give_no_warning_of_pandas():
    """Hundreds of columns go in one go, and a filtered frame leaves its parent alone."""
    frame = pd.DataFrame({f"q{i}": [True, False] for i in range(150)})
    out = frame.rr.privatize({name: rr.KRR([True, False], 0.75) for name in frame})
    assert len(out.rr.mechanisms) == 150
    out["new"] = 1
    frame = frame_of(12)
    before = frame.copy()
    frame[frame["smoker"]].rr.privatize("answer", CATEGORIES, 0.75, rng=Counting(1))
    pd.testing.assert_frame_equal(before, frame)


# -- estimating ----------------------------------------------------------------------------


def test_estimate_and_tally_take_the_mechanism_from_the_frame():
    """What the frame says is the default; a contradicting argument raises."""
    out = frame_of(300).rr.privatize("answer", M)
    expected = rr.estimate(out["answer"], M)
    pd.testing.assert_frame_equal(expected.to_frame(), out.rr.estimate("answer").to_frame())
    np.testing.assert_array_equal(expected.proportions, out["answer"].rr.estimate().proportions)
    assert rr.tally(out["answer"], M) == out.rr.tally("answer") == out["answer"].rr.tally()
    rows = out.rr.estimate("answer", M, target="sample").to_frame(level=0.9, simultaneous=True)
    wanted = rr.estimate(out["answer"], M, target="sample")
    pd.testing.assert_frame_equal(wanted.to_frame(0.9, simultaneous=True), rows)
    wilson = out.rr.estimate("answer").to_frame(method="wilson")
    pd.testing.assert_frame_equal(expected.to_frame(method="wilson"), wilson)
    with pytest.raises(rr.errors.MetadataError):
        out.rr.estimate("answer", CATEGORIES, 0.6)
    with pytest.raises(rr.errors.RRStatsError):
        out.rr.estimate("smoker")


def test_the_divisor_and_the_rule_for_missing_values_reach_the_estimates():
    """`ddof` of estimates and `missing` of means are those that the accessor was given."""
    answers = pd.Series(["no", "no", "yes"] * 100, dtype=object)
    out = pd.DataFrame({"x": answers, "y": [None, *range(299)]})
    coin = rr.KRR(["no", "yes"], 0.9)
    less, whole = (out.rr.estimate("x", coin, ddof=ddof).variance for ddof in (1, 0))
    assert (299 / 300 * less).tolist() == pytest.approx(whole.tolist(), rel=1e-12)
    assert out.rr.means("y", "x", coin).n == 299
    with pytest.raises(rr.errors.ArgumentValueError, match="missing"):
        out.rr.means("y", "x", coin, missing="raise")


def test_check_names_columns_that_give_the_answers_away():
    """A copy under other names, and one with 2 slips in 90; no id, constant or independent one."""
    answers = ["a", "b", "c"] * 30
    frame = pd.DataFrame({"x": answers, "drug": [f"drug of {x}" for x in answers]})
    frame = frame.assign(near=["drug"] * 2 + answers[2:], id=range(90), one=1, wave=[1, 2] * 45)
    frame["cells"] = [[i] for i in range(90)]
    expected = [["drug", "determines", 90, None], ["near", "nearly determines", 88, None]]
    assert expected == frame.rr.check("x", CATEGORIES).to_numpy().tolist()
    assert frame.assign(x="a").rr.check("x", CATEGORIES).empty
    assert frame[:0].rr.check("x", CATEGORIES).empty


# -- being an accessor ---------------------------------------------------------------------


def test_help_teaches_and_holds_the_promise():
    """help(df.rr) shows the calls and says what is and what is not protected."""
    text = " ".join(pydoc.render_doc(frame_of().rr, renderer=pydoc.plaintext).split()).replace(
        "| ", ""
    )
    for part in (
        "epsilon-LDP for replacing that record's value by any other declared category",
        "that a release exists says that all answers were declared",
        '``unknown="uniform"`` keeps the proof for any input',
        "does not hide that the record exists, its other columns, its index, its position, or "
        "the time the call took",
        "Epsilon adds up over privatized columns, over waves, over the rows of one person, and "
        "over repeated releases",
        "df.rr.privatize(",
        "df.rr.estimate(",
    ):
        assert part in text
    assert "help(df.rr)" in pydoc.render_doc(frame_of()["answer"].rr, renderer=pydoc.plaintext)


def test_the_accessor_keeps_nothing():
    """Two calls share no state; a copied or pickled frame has an accessor of its own."""
    frame = frame_of()
    accessor = frame.rr
    accessor.privatize("answer", CATEGORIES, 0.75)
    assert accessor.mechanisms == {}
    out = accessor.privatize("answer", CATEGORIES, 0.75)
    for other in (out.copy(), copy.deepcopy(out), pickle.loads(pickle.dumps(out))):
        assert other.rr.mechanisms == out.rr.mechanisms
    assert b"Accessor" not in pickle.dumps(out)


def test_a_column_of_levels_with_an_empty_one_is_there_once():
    """pandas finds ("a", "") as a slice of one column."""
    df = pd.DataFrame([["yes", 1], ["no", 2]] * 50)
    df.columns = pd.MultiIndex.from_tuples([("a", ""), ("b", "x")])
    released = df.rr.privatize(("a", ""), ["yes", "no"], 0.75)
    assert {"yes", "no"} >= set(released[("a", "")])


# -- epsilon and budget say what they count ------------------------------------------------------


def test_epsilon_is_a_float_that_names_the_columns_it_counts():
    """Arithmetic, JSON, pickles and copies are those of a float; only its repr has words."""
    frame = pd.DataFrame({"q1": ["a", "b"] * 5, "q2": ["b", "a"] * 5, "age": range(10)})
    epsilon = frame.rr.privatize("q1", YES).rr.epsilon
    assert isinstance(epsilon, float)
    assert epsilon == YES.epsilon
    words = "counts ['q1'], not ['q2', 'age'], which the frame does not record"
    assert repr(epsilon) == f"{round_up(YES.epsilon)} ({words})"
    assert type(epsilon + 1) is type(2 * epsilon) is type(float(epsilon)) is float
    assert json.loads(json.dumps({"epsilon": epsilon})) == {"epsilon": YES.epsilon}
    assert f"{epsilon:.3f}" == f"{YES.epsilon:.3f}"
    for again in (pickle.loads(pickle.dumps(epsilon)), copy.deepcopy(epsilon)):
        assert (again, repr(again)) == (epsilon, repr(epsilon))
    both = frame[["q1", "q2"]].rr.privatize(["q1", "q2"], YES).rr.epsilon
    assert f"{round_up(both)} (counts ['q1', 'q2'])" == repr(both)
    whole = frame.rr.privatize({"q1": ["a", "b"], "q2": ["a", "b"]}, epsilon=2).rr.epsilon
    assert 3.9 < float(whole) <= 4
    assert repr(whole).startswith("4 (counts")


@pytest.mark.parametrize("put", ["assign", "item", "concat"])
def test_of_two_releases_the_words_tell_which_one_is_not_counted(put):
    """pandas keeps the records of one: its epsilon and budget do not pass for those of both."""
    frame = pd.DataFrame({"q1": ["a", "b"] * 5, "q2": ["b", "a"] * 5, "age": range(10)})
    first, second = frame.rr.privatize("q1", YES), frame.rr.privatize("q2", YES)
    if put == "assign":
        both = first.assign(q2=second["q2"])
    elif put == "item":
        both = first.copy()
        both["q2"] = second["q2"]
    else:
        both = pd.concat([first[["q1", "age"]], second[["q2"]].set_axis(["q2"], axis=1)], axis=1)
        both.attrs = dict(first.attrs)  # as older versions of pandas keep those of the first
    note = r"counts \['q1'\], not \[.*'q2'.*\], which the frame does not record"
    assert re.search(note, repr(both.rr.epsilon))
    assert re.search(note, repr(both.rr.budget(max_rows_per_person=2)))
    assert re.search(note, both.rr.budget().note)
    whole = both.rr.carry(first[["q1", "age"]], second[["q2"]])
    assert whole.rr.epsilon == pytest.approx(2 * YES.epsilon)
    assert "counts ['q1', 'q2'], not ['age'], which" in repr(whole.rr.budget())


def test_public_columns_of_a_release_are_not_named_as_unrecorded():
    """What each row was asked, and its probability, are no answers."""
    frame = pd.DataFrame({"q1": ["a", "b"] * 5, "q2": ["b", "a"] * 5, "p": [0.6, 0.7] * 5})
    rated = frame[["q1", "p"]].rr.privatize("q1", ["a", "b"], prob="p")
    assert repr(rated.rr.epsilon).endswith("(counts ['q1'])")
    plan = rr.planning.FramePlan({"q1": ["a", "b"], "q2": ["a", "b"]}, 1.5, ["q1", "q2"])
    planned = frame.rr.privatize(plan)
    words = "counts ['q1', 'q2'], not ['p'], which the frame does not record"
    assert repr(planned.rr.epsilon) == f"1.5 ({words})"
    assert planned.rr.budget().epsilon == 1.5


@pytest.mark.parametrize("design", ["k-RR", "plan", "generator", "again"])
def test_simulated_noise_has_no_epsilon(design):
    """Who finds the seed reads the answers: epsilon and budget are infinite and say void."""
    frame = pd.DataFrame({"q1": ["a", "b"] * 5, "q2": ["b", "a"] * 5})
    if design == "plan":
        plan = rr.planning.FramePlan(
            {"q1": ["a", "b"], "q2": ["a", "b"]}, 1.5, ["q1", ("q1", "q2")]
        )
        made = frame.rr.simulate(plan, seed=1)
    elif design == "generator":
        with pytest.warns(rr.errors.SimulationWarning):
            made = frame.rr.privatize("q1", YES, rng=np.random.default_rng(1))
    else:
        made = frame.rr.simulate("q1", YES, seed=1)
    if design == "again":
        made = made.rr.simulate("q1", YES, seed=2, again=True)
    mixed = made if design == "plan" else made.rr.privatize("q2", YES)
    for released in (made, mixed):
        budget = released.rr.budget(max_rows_per_person=2)
        assert math.inf == released.rr.epsilon == budget.epsilon == budget.epsilon_at(1e-6)
        assert 1.0 == budget.delta(5.0)
        for shown in (repr(released.rr.epsilon), repr(budget), budget.note):
            assert "void: the noise was simulated, so it protects nobody" in shown
    assert "void" not in repr(frame.rr.privatize("q1", YES).rr.epsilon)


@pytest.mark.parametrize(
    "name", ["privatize", "simulate", "estimate", "means", "quantiles", "tally"]
)
def test_methods_list_their_own_parameters(name):
    """Each parameter of a method stands in its docstring, with a type."""
    method = getattr(FrameAccessor, name)
    section = (
        inspect.getdoc(method).partition("Parameters\n----------\n")[2].partition("Returns")[0]
    )
    listed = [
        word.strip()
        for names in re.findall(r"^(\S.*?) : ", section, re.M)
        for word in names.split(",")
    ]
    assert listed == [each for each in inspect.signature(method).parameters if each != "self"]


def test_an_estimate_of_all_columns_says_which_it_cannot_find():
    """A frame without a record, also of other libraries, and a renamed column."""
    frame = frame_of()
    with pytest.raises(rr.errors.MetadataError, match=r"no record of a privatized column.*concat"):
        frame.rr.estimate()
    released = frame.rr.privatize("answer", M)
    renamed = released.rename(columns={"answer": "reply"})
    words = r"privatized column 'answer'.*every value of 'reply'"
    with pytest.raises(rr.errors.MetadataError, match=words):
        renamed.rr.estimate()
    with pytest.raises(TypeError, match="merge, join, concat"):
        pd.DataFrame({"vote": ["no"]}).rr.estimate("vote")


def fit_with_intercepts(frame):
    pytest.importorskip("formulaic")
    return rr.regression.mixed("y ~ x + (1 | g)", frame, mechanism=YES)


@pytest.mark.parametrize(
    "call",
    [
        lambda frame: rr.estimate(frame, YES, columns="y"),
        lambda frame: frame.rr.estimate("y", YES),
        lambda frame: frame["y"].rr.estimate(YES),
        lambda frame: rr.estimate(frame["y"], YES, by=frame["g"]),
        lambda frame: frame.rr.crosstab("y", "g", mechanisms={"y": YES}),
        lambda frame: frame.rr.means("x", "y", YES),
        lambda frame: fit_with_intercepts(frame),
    ],
)
def test_warnings_point_at_the_line_of_the_caller(call):
    """Not at a line of the package, of its accessors, or of pandas."""
    frame = pd.DataFrame({"y": ["a"] * 98 + ["b"] * 2, "g": list("vw") * 50})
    frame["x"] = np.sin(range(100))
    with pytest.warns(rr.errors.RRStatsWarning) as caught:
        call(frame)
    assert {warning.filename for warning in caught} == {__file__}
