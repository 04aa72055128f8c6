"""Records of privatized columns after pandas: which survive, and the call that restores the others.

The facts about pandas hold for 2.2.3 and 3.1; the design restores records by hand because of them.
"""

import re

import pandas as pd
import pytest

import rrstats as rr

PEOPLE = pd.DataFrame(
    {"vote": ["a", "b"] * 50, "health": ["x", "y"] * 50, "age": range(100), "g": ["u", "v"] * 50}
)
RELEASED = PEOPLE.rr.privatize({"vote": ["a", "b"], "health": ["x", "y"]}, epsilon=1)
MERGED = PEOPLE[["age"]].merge(RELEASED, on="age")


def message(call):
    """The message of the error of a call, which is ours and short."""
    with pytest.raises(rr.errors.RRStatsError) as caught:
        call()
    assert len(str(caught.value)) <= 300
    return str(caught.value)


def proposed(text):
    """The first assignment that a message proposes."""
    return re.search(r"df = (df\.rr\.carry\([^)]*\))", text)[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.assign(z=1),
        lambda df: df[df["age"] > 10],
        lambda df: df.sort_values("age"),
        lambda df: df.copy(),
        lambda df: pd.concat([df, df]),
    ],
)
def test_records_that_pandas_keeps(change):
    """A column more, a selection, a sort, a copy, and a concat of frames of one release."""
    assert RELEASED.rr.epsilon == change(RELEASED).rr.epsilon


def test_a_merge_loses_the_record_and_the_message_restores_it():
    """The proposed call, with the names that it has, gives the epsilon back."""
    for call in (lambda: MERGED.rr.epsilon, lambda: MERGED.rr.estimate("vote")):
        text = message(call)
        assert "rr.files.read(path)" in text
        restored = eval(proposed(text), {"rr": rr, "df": MERGED, "released": RELEASED})
        assert RELEASED.rr.epsilon == restored.rr.epsilon


def test_a_renamed_column_is_named():
    """The proposed call has the old and the new name, for epsilon and for an estimate."""
    renamed = RELEASED.rename(columns={"vote": "v"})
    for call in (lambda: renamed.rr.epsilon, lambda: renamed.rr.estimate("v")):
        text = message(call)
        assert "names={'vote': 'v'}" in text
        restored = eval(proposed(text), {"rr": rr, "df": renamed})
        assert {"v", "health"} == set(restored.rr.mechanisms)


def test_a_dropped_column_is_named():
    """No other column holds its categories, so none is proposed; dropped= is."""
    kept = RELEASED.drop(columns="vote")
    text = message(lambda: kept.rr.epsilon)
    assert "dropped=['vote']" in text
    assert "'its new name'" in text
    assert 1 == pytest.approx(kept.rr.carry(dropped=["vote"]).rr.epsilon)


def test_of_several_columns_that_may_be_the_renamed_one_none_is_proposed():
    """The first may hold the true answers again, and a record would call them reports."""
    both = RELEASED.rename(columns={"vote": "v"})
    both.insert(0, "truth", PEOPLE["vote"])
    text = message(lambda: both.rr.epsilon)
    assert "names={'vote': 'its new name'}" in text
    assert "truth" not in text


def test_a_copied_column_has_the_mechanism_of_its_original():
    """The proposed mechanism estimates from the copy what it estimates from the original."""
    copied = RELEASED.assign(v=RELEASED["vote"])
    assert "df.rr.mechanisms['vote']" in message(lambda: copied.rr.estimate("v"))
    estimate = copied.rr.estimate("v", mechanism=copied.rr.mechanisms["vote"])
    assert RELEASED.rr.estimate("vote").counts.tolist() == estimate.counts.tolist()


def test_true_answers_are_told_no_mechanism():
    """A formula without a private column, and a plain list, get no call with undefined names."""
    pytest.importorskip("formulaic")
    text = message(lambda: PEOPLE.rr.logit("vote ~ age"))
    assert "True answers: rr.surveys.direct" in text
    assert "old:" not in text
    assert "carry" not in message(lambda: rr.estimate(["a", "b"]))


@pytest.mark.parametrize(
    "change",
    [
        lambda df: df.assign(vote=range(100)),
        lambda df: df.set_axis(["vote", "vote", "age", "g"], axis=1),
        lambda df: df.melt("age"),
        lambda df: pd.concat([df, PEOPLE]),
        lambda df: df.merge(PEOPLE, on="age"),
        lambda df: df.merge(df, on="age"),
    ],
)
def test_no_record_survives_that_cannot_be_true(change):
    """Another type, two of a name, no such column, and rows of true answers have no epsilon."""
    message(lambda: change(RELEASED).rr.epsilon)
