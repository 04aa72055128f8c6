"""Frames of Polars and Arrow tables come in, and go back as what they were."""

import json
import math

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.mechanisms import Chain
from rrstats.mechanisms import records as column_records

pa = pytest.importorskip("pyarrow")
KRR = rr.KRR(["a", "b"], 1 - 2**-45)
"""Of a few reports one is a lie with a chance below 1e-11."""


def table():
    return pa.table({"v": ["a", "b", "a"], "x": [1, 2, 3], "w": ["b", "b", "a"]})


def test_an_arrow_table_stays_one_and_says_how_it_was_made():
    """Reports stand in their columns, and the document in the metadata of the table."""
    source = table().replace_schema_metadata({"pandas": '{"of": "answers"}'})
    released = rr.privatize(source, {"v": KRR, "w": KRR})
    assert source.to_pydict() == released.to_pydict()
    assert source.schema.types == released.schema.types
    assert [b"rrstats"] == list(released.schema.metadata)
    records = column_records.read({"rrstats": json.loads(released.schema.metadata[b"rrstats"])})
    assert {"v": KRR, "w": KRR} == {record.name: record.resolve() for record in records}
    assert 2 == rr.estimate(released, columns="v").tally.reported[0]


@pytest.mark.parametrize("columns", [["v", "w"], "v"])
def test_one_design_for_several_columns_of_a_table(columns):
    """As of a pandas frame: a name or a list of names, each with draws of its own."""
    released = rr.privatize(table(), columns, ["a", "b"], 1 - 2**-45)
    assert table().to_pydict() == released.to_pydict()


def test_a_polars_frame_stays_one(pl):
    """Types stay, but a Categorical becomes the Enum of the declared categories."""
    frame = pl.from_arrow(table()).with_columns(pl.col("w").cast(pl.Categorical))
    released = rr.privatize(frame, {"v": KRR, "w": KRR})
    assert isinstance(released, pl.DataFrame)
    assert frame.to_dict(as_series=False) == released.to_dict(as_series=False)
    assert [pl.String, pl.Int64, pl.Enum(["a", "b"])] == released.dtypes
    simulated = rr.simulate(frame, {"v": rr.KRR(["a", "b"], 0.5)}, seed=1)
    assert simulated.equals(rr.simulate(frame, {"v": rr.KRR(["a", "b"], 0.5)}, seed=1))
    key = rr.client.new_key()
    keyed = [rr.privatize(frame, {"v": KRR}, key=rr.client.Keyed(key, "x")) for _ in range(2)]
    assert keyed[0].equals(keyed[1])


def test_two_columns_of_a_table_have_noise_of_their_own():
    """Equal columns get unequal reports: 200 fair coins agree with a chance of 2**-200."""
    same = pa.table({"v": ["a"] * 200, "w": ["a"] * 200})
    released = rr.privatize(same, ["v", "w"], ["a", "b"], 0.5).to_pydict()
    assert released["v"] != released["w"]
    assert math.isclose(0.5, released["v"].count("a") / 200, abs_tol=0.4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: rr.privatize(t, {"u": KRR}), "column 'u' is not there"),
        (
            lambda t: rr.privatize(t, {"v": KRR}, key=rr.client.Keyed(rr.client.new_key(), "v")),
            "must be a public",
        ),
        (lambda t: rr.privatize(t, KRR), "columns must be the name of a column"),
        (lambda t: rr.privatize(t, {}), "at least one column"),
    ],
)
def test_what_a_table_cannot_do_is_said(call, words):
    """The errors are those of a pandas frame."""
    refused(rr.errors.RRStatsError, words, call, table())


def test_a_table_remembers_what_was_made_before():
    """Both columns are declared, and reports are refused without again."""
    one = rr.privatize(table(), {"v": KRR})
    both = rr.privatize(one, {"w": KRR})
    records = column_records.read({"rrstats": json.loads(both.schema.metadata[b"rrstats"])})
    assert {"v", "w"} == {record.name for record in records}
    refused(rr.errors.MetadataError, "holding reports already", rr.privatize, both, {"v": KRR})
    again = rr.privatize(both, {"v": KRR}, again=True)
    said = column_records.read({"rrstats": json.loads(again.schema.metadata[b"rrstats"])})
    assert isinstance({r.name: r for r in said}["v"].resolve(), Chain)


def test_an_index_of_pandas_in_a_table_is_refused():
    """It may hold the answers once more, under a name that says nothing."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"v": ["a", "b"]}, index=pd.Index(["a", "b"], name="v"))
    with pytest.raises(rr.errors.ArgumentValueError, match="__index_level_0__"):
        rr.privatize(pa.Table.from_pandas(frame), {"v": KRR})
    frame.index.name = "V"
    refused(rr.errors.ArgumentValueError, "the index is also named", frame.rr.privatize, "v", KRR)


def test_reports_with_a_probability_of_each_row_are_final():
    """They, and those of a plan of the frame, are not randomized once more."""
    raw = pd.DataFrame({"v": ["a", "b"], "w": ["a", "a"], "p": [0.75, 0.6]})
    by_row = raw.rr.privatize("v", ["a", "b"], "p")
    planned = raw.rr.privatize(
        rr.planning.FramePlan({"v": ["a", "b"], "w": ["a", "b"]}, 1, ["v", "w"])
    )
    for released in (by_row, planned):
        for again in (True, False):
            with pytest.raises(rr.errors.MetadataError, match="are not randomized once more"):
                released.rr.privatize("v", KRR, again=again)


def test_samples_are_for_designs_that_have_them():
    """A group for a design of one sample is refused, not ignored."""
    with pytest.raises(rr.errors.RRStatsError, match="group"):
        rr.privatize(["a", "b"], KRR, group=["x", "y"])
    assert rr.privatize(["a", "b"], KRR) == ["a", "b"]


def test_one_question_names_one_column():
    """Two columns under one question would share their noise."""
    raw = pd.DataFrame({"v": ["a", "b"], "w": ["a", "a"], "who": [1, 2]})
    keyed = rr.client.Keyed(bytes(range(32)), "who", question="smokes")
    pytest.importorskip("cryptography")
    with pytest.raises(rr.errors.RRStatsError, match="question must be"):
        raw.rr.privatize(["v", "w"], KRR, key=keyed)
    assert len(raw.rr.privatize(["v"], KRR, key=keyed)) == 2


@pytest.mark.parametrize("name", ["v", ("v", ""), ("v", "x")])
def test_an_index_of_the_same_name_may_hold_the_answers(name):
    """Also where only the first level of a column's name is filled, and in other cases."""
    answers = pd.Series(["a", "b"], name=name)
    for index_name in (name, "V"):
        indexed = answers.set_axis(pd.Index(["a", "b"], name=index_name))
        if name == ("v", "x") and index_name == "V":
            assert rr.privatize(indexed, KRR).tolist() == ["a", "b"]
            continue
        with pytest.raises(rr.errors.ArgumentValueError, match="may release the answers"):
            rr.privatize(indexed, KRR)
