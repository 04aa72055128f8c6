"""What a frame says of itself through the operations of pandas: right, or missing and told.

One table of operations.  What pandas keeps is right; what it loses is named with the way out;
what it leaves standing although it is no longer true is refused where a type or a name shows it.
"""

import io
import itertools
import pickle

import pandas as pd
import pytest
from catalogue import EXAMPLES
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    MetadataError,
)
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.records import ColumnRecord, check_fits

YES_NO = rr.KRR(["yes", "no"], 0.75)
OFTEN = rr.KRR([0, 1, 2], epsilon=1.0)
ANSWERS = {
    "id": list(range(100)),
    "answer": ["yes", "no", "no", "yes"] * 25,
    "often": [0, 1, 2, 1] * 25,
    "region": list("abcd") * 25,
}


def carry(data, *earlier, **options):
    """``df.rr.carry`` or ``s.rr.carry``."""
    return data.rr.carry(*earlier, **options)


def released(seed=1, answer=YES_NO):
    """A frame with two privatized columns, an id and a region."""
    plan = {"answer": answer, "often": OFTEN}
    return rr.privatize(pd.DataFrame(ANSWERS), plan, rng=Counting(seed))


def plain():
    """A frame of the same people that says nothing."""
    return pd.DataFrame({"id": range(100), "sex": ["f", "m"] * 50})


def silent(frame):
    """The frame without what it says."""
    other = frame.copy()
    other.attrs.clear()
    return other


def by_parquet(frame):
    """The frame written into memory and read back."""
    pytest.importorskip("pyarrow")
    return pd.read_parquet(io.BytesIO(frame.to_parquet()))


KEPT = {
    "copy": lambda f: f.copy(),
    "slice": lambda f: f.iloc[10:50],
    "assign another column": lambda f: f.assign(x=1),
    "sort": lambda f: f.sort_values("answer", kind="stable"),
    "set and reset index": lambda f: f.set_index("id").reset_index(),
    "select columns": lambda f: f[["answer", "often"]],
    "rename another column": lambda f: f.rename(columns={"region": "land"}),
    "concat of one wave's parts": lambda f: pd.concat([f.head(40), f.tail(60)]),
    "concat with the like": lambda f: pd.concat([f, released(2)]),
    "as a Categorical": lambda f: f.astype({"answer": "category"}),
    "as another integer": lambda f: f.astype({"often": "Int16"}),
    "pickle": lambda f: pickle.loads(pickle.dumps(f)),
    "Parquet": by_parquet,
}


@pytest.mark.parametrize("name", list(KEPT))
def test_kept(name):
    """What pandas keeps is right: mechanisms, epsilon, and estimates without arguments."""
    frame = released()
    other = KEPT[name](frame)
    assert {"answer": YES_NO, "often": OFTEN} == other.rr.mechanisms
    assert frame.rr.epsilon == other.rr.epsilon
    for column, m in [("answer", YES_NO), ("often", OFTEN)]:
        expected = rr.estimate(list(other[column]), m).to_frame()
        pd.testing.assert_frame_equal(expected, other.rr.estimate(column).to_frame())
        assert m == other[column].rr.estimate().mechanism
        check_fits(other[column], column_records.find(other.attrs, column))


LOST = {
    "merge with a plain frame": lambda f: f.merge(plain(), on="id"),
    "merge into a plain frame": lambda f: plain().merge(f, on="id"),
    "concat with one that says nothing": lambda f: pd.concat([f, silent(released(2))]),
    "a frame of the frame": lambda f: pd.DataFrame(f),
    "a frame of its columns": lambda f: pd.DataFrame({c: f[c] for c in ("answer", "often")}),
    "columns put into a plain frame": lambda f: plain().assign(
        answer=f["answer"], often=f["often"]
    ),
    "CSV": lambda f: pd.read_csv(io.StringIO(f.to_csv(index=False))),
}


@pytest.mark.parametrize("name", list(LOST))
def test_lost(name):
    """What pandas loses is unknown and not nothing; the mechanism helps, or `carry` does."""
    frame = released()
    other = LOST[name](frame)
    assert other.rr.mechanisms == {}
    with pytest.raises(MetadataError, match="epsilon is unknown"):
        _ = other.rr.epsilon
    with pytest.raises(ArgumentTypeError, match=r"no record of (its|their) mechanism.* give"):
        other.rr.estimate("answer")
    expected = rr.estimate(list(other["answer"]), YES_NO).to_frame()
    pd.testing.assert_frame_equal(expected, other.rr.estimate("answer", YES_NO).to_frame())
    carried = carry(other, frame)
    assert frame.attrs == carried.attrs
    assert other.attrs == {}
    assert frame.rr.epsilon == carried.rr.epsilon
    pd.testing.assert_frame_equal(expected, carried.rr.estimate("answer").to_frame())
    pd.testing.assert_frame_equal(silent(carried), other)


def test_concat_of_different_waves():
    """Rows of different mechanisms lose it; a column of mechanisms estimates, `carry` refuses."""
    second = rr.KRR(["yes", "no"], 0.8)
    waves = [released(1), released(2, second)]
    both = pd.concat(waves, ignore_index=True)
    assert both.rr.mechanisms == {}
    with pytest.raises(MetadataError, match=r"different records .* column of mechanisms when you"):
        carry(both, *waves)
    both["how"] = [YES_NO] * 100 + [second] * 100
    assert both.rr.estimate("answer", mechanism="how").to_frame()["n"].tolist() == [200, 200]


GONE = {
    "drop": lambda f: f.drop(columns="often"),
    "del": lambda f: (f.pop("often"), f)[1],
}


@pytest.mark.parametrize("name", list(GONE))
def test_dropped(name):
    """Of a frame with a column less epsilon is unknown, until someone says that it was dropped."""
    frame = released()
    other = GONE[name](frame.copy())
    with pytest.raises(
        MetadataError, match=r"'often' that is not there|several columns named 'often'"
    ):
        _ = other.rr.epsilon
    assert other.rr.tally("answer").n == 100
    assert {"answer": YES_NO} == carry(other, frame).rr.mechanisms
    assert carry(other, dropped=["often"]).rr.epsilon == YES_NO.epsilon
    assert carry(other, dropped="often").rr.epsilon == YES_NO.epsilon


WAVES = {
    "rename": (lambda f: f.rename(columns={"answer": "reply"}), "reply"),
    "merge of two waves": (lambda f: f.merge(released(2), on="id"), "answer_x"),
    "join of two waves": (lambda f: f.join(released(2)[["answer"]].add_suffix("_2")), "answer_2"),
    "prefix": (lambda f: f.add_prefix("w1_"), "w1_answer"),
}


@pytest.mark.parametrize("name", list(WAVES))
def test_renamed(name):
    """A renamed column is not passed over: its new name is asked for, and then it is right."""
    operation, new = WAVES[name]
    frame = released()
    other = operation(frame)
    words = f"column '{new}' has no record of its mechanism"
    refused(ArgumentTypeError, words, other.rr.estimate, new)
    expected = rr.estimate(list(other[new]), YES_NO).to_frame()
    pd.testing.assert_frame_equal(expected, other.rr.estimate(new, YES_NO).to_frame())
    if "answer" in other.columns:  # the first wave, under its old name
        assert {"answer": YES_NO, "often": OFTEN} == carry(other, frame).rr.mechanisms
        return
    refused(MetadataError, "may be this column: give names=", carry, other, frame)
    often = next(column for column in other.columns if "often" in column)
    carried = carry(other, frame, names={"answer": new, "often": often})
    assert {new: YES_NO, often: OFTEN} == carried.rr.mechanisms
    pd.testing.assert_frame_equal(expected, carried.rr.estimate(new).to_frame())


def test_two_waves_side_by_side():
    """Each wave's names are told once, and epsilon adds up over both."""
    first, second = released(1), released(2, rr.KRR(["yes", "no"], 0.8))
    both = first.merge(second[["id", "answer"]], on="id", suffixes=("_1", "_2"))
    both = carry(both, first, names={"answer": "answer_1"})
    refused(MetadataError, "'answer' that these data do not have from them", carry, both, second)
    answers = second[["id", "answer"]]
    with pytest.raises(MetadataError, match=r"'often' that .*one of .*'region'\] may be this"):
        carry(both, answers, names={"answer": "answer_2"})  # it may have been renamed before
    both = carry(both, answers, names={"answer": "answer_2"}, dropped=["often"])
    assert list(both.rr.mechanisms) == ["answer_1", "often", "answer_2"]
    assert both.rr.mechanisms["answer_2"].prob == 0.8
    expected = total_epsilon([YES_NO.epsilon, OFTEN.epsilon, rr.KRR(["a", "b"], 0.8).epsilon])
    assert both.rr.epsilon == expected


UNFIT = {
    "other values": (lambda f: f.assign(answer=range(100)), "of kind int"),
    "text of numbers": (lambda f: f.assign(answer=0, often=f["often"].astype(str)), "of kind"),
    "other categories": (
        lambda f: f.assign(
            answer=f["answer"].astype("category").cat.rename_categories({"yes": "ja"})
        ),
        "1 of its 2 categories are not among the reports",
    ),
}


@pytest.mark.parametrize("name", list(UNFIT))
def test_unfit(name):
    """A column of another type or of other categories is no longer what is said of it."""
    operation, message = UNFIT[name]
    other = operation(released())
    record = column_records.find(other.attrs, "answer")
    refused(MetadataError, message, check_fits, other["answer"], record)
    refused(MetadataError, "'answer' does not fit it: ", carry, other, released())
    with pytest.raises((ArgumentTypeError, ArgumentValueError)):
        other.rr.estimate("answer")


RESHAPED = {
    "value_counts": lambda f: f["answer"].value_counts().to_frame(),
    "crosstab": lambda f: pd.crosstab(f["answer"], f["region"]),
    "pivot": lambda f: f.pivot(index="id", columns="region", values="answer"),
    "melt": lambda f: f.melt(id_vars="id", value_vars=["answer"]),
}


@pytest.mark.parametrize("name", RESHAPED)
def test_reshaped(name):
    """What is no longer a row for each person has no epsilon, and estimating names the columns."""
    other = RESHAPED[name](released())
    with pytest.raises(MetadataError, match="epsilon is unknown"):
        _ = other.rr.epsilon
    refused((ArgumentTypeError, ArgumentValueError), "answer", other.rr.estimate, "answer")


def test_unnoticed():
    """What no type shows is a limit: a default is no evidence.  Only wild reports are noticed."""
    raw = released().assign(answer=ANSWERS["answer"])
    assert raw.rr.mechanisms["answer"] == YES_NO
    mapped = released().replace({"yes": "no"})
    with pytest.warns(ImplausibleReportsWarning, match="check that these answers were privatized"):
        mapped.rr.estimate("answer")


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_carries_every_mechanism(name):
    """Whatever made a column is carried over a merge, and fits the reports that it made."""
    m = EXAMPLES[name]()
    # Not in the order of the list.
    truths = list(itertools.islice(itertools.cycle(m.domain.categories[::-1]), 12))
    column = pd.Series(pd.array(truths, dtype=object), name="answer")
    group = None if m.groups is None else [m.groups[i % len(m.groups)] for i in range(12)]
    reports = rr.privatize(column, m, group=group, rng=Counting(1)).to_frame()
    lost = pd.DataFrame({"answer": reports["answer"]})
    for source in (reports, reports["answer"], column_records.read(reports.attrs)):
        carried = carry(lost, source)
        assert reports.attrs == carried.attrs
        assert m == carried.rr.mechanisms["answer"]


def test_sources_of_every_kind():
    """Frames, columns, documents and records say it; what a Series' frame said of others is not
    about it."""
    frame = released()
    lost = silent(frame)
    records = column_records.read(frame.attrs)
    for sources in (
        [frame],
        [frame["answer"], frame["often"]],
        [frame.attrs["rrstats"]],
        [records],
        records,
    ):
        assert frame.attrs == carry(lost, *sources).attrs
    assert ["answer"] == list(carry(lost, frame["answer"]).rr.mechanisms)
    with pytest.raises(ArgumentTypeError, match=r"earlier data must be a frame, .* found str"):
        carry(lost, "reports.parquet")
    refused(ArgumentTypeError, "found list", carry, lost, [frame])
    for silent_sources in ([], [plain()], [[]]):
        refused(MetadataError, "nothing to carry", carry, lost, *silent_sources)


def test_an_assigned_column_names_the_call_that_helps():
    """``df["v"] = df["vote"].rr.privatize(...)`` and ``.assign`` lose it; two sentences help."""
    df = pd.DataFrame({"vote": ["yes", "no", "no"] * 9})
    reports = df["vote"].rr.privatize(YES_NO)
    df["v"] = reports
    for lost in (df, df[["vote"]].assign(v=reports)):
        for use in (lambda lost=lost: lost.rr.estimate("v"), lost["v"].rr.estimate):
            with pytest.raises(ArgumentTypeError, match="column 'v' has no record") as caught:
                use()
            assert "df = df.rr.carry(released)" in str(caught.value)
            assert "names={reports.name: 'v'}" in str(caught.value)
            assert len(str(caught.value)) <= 300
        kept = carry(lost, reports, names={"vote": "v"})
        assert {"v": YES_NO} == kept.rr.mechanisms
        column = carry(lost["v"], reports, names={"vote": "v"})
        assert column.attrs == kept.attrs
        assert column.rr.estimate().n == len(df)
    assert df.attrs == df["v"].attrs == {}
    with pytest.raises(ArgumentTypeError, match=r"names=\{'v': 'w'\}"):
        kept.rename(columns={"v": "w"}).rr.estimate("w")


def test_carrying_changes_nothing_else():
    """Target and sources stay as they are; other attrs, index and order are kept."""
    frame, lost = released(), silent(released())
    lost.attrs["source"] = {"wave": 3}
    before = frame.copy()
    carried = carry(lost, frame)
    carried["answer"] = "x"
    carried.attrs["source"]["wave"] = 4
    del carried.attrs["rrstats"]
    assert lost.attrs == {"source": {"wave": 3}}
    assert before.attrs == frame.attrs
    pd.testing.assert_frame_equal(silent(before), silent(lost))


def test_raw_column_of_that_name_is_not_claimed():
    """A source that lost a column itself says nothing of another's column with that name."""
    reports = released().drop(columns=["often", "region"])  # what it says of "often" is still there
    raw = pd.DataFrame({"id": range(100), "often": [0, 1, 2, 1] * 25})
    merged = raw.merge(reports, on="id")
    assert ["answer"] == list(carry(merged, reports, raw).rr.mechanisms)
    renamed = released()[["id", "often"]].rename(columns={"often": "freq"})
    merged = plain().merge(renamed, on="id")
    with pytest.raises(MetadataError, match=r"one of \['freq'\] may be this column"):
        carry(merged, plain(), renamed, dropped=["answer"])
    carried = carry(merged, plain(), renamed, names={"often": "freq"}, dropped=["answer"])
    assert {"freq": OFTEN} == carried.rr.mechanisms


@pytest.mark.parametrize(
    "changes",
    [
        {"mechanism": rr.KRR(["yes", "no"], 0.8).to_dict()},
        {"mechanism": rr.KRR(["no", "yes"], 0.75).to_dict()},
        {"missing": "keep"},
    ],
)
def test_contradicting_sources(changes):
    """Sources that say different things of a column are refused, in either order."""
    frame = released()
    one = column_records.find(frame.attrs, "answer")
    facts = {"mechanism": one.mechanism, "unknown": one.unknown, "missing": one.missing} | changes
    other = ColumnRecord("answer", **facts)
    for target, sources in [
        (silent(frame), [one, other]),
        (silent(frame), [other, frame]),
        (frame, [other]),
    ]:
        refused(MetadataError, "two different records", carry, target, *sources)


def test_facts_that_rows_may_differ_in():
    """Of rows from two sources the weaker claim holds: simulated or keyed if any of them is."""
    frame = released()
    strict = ColumnRecord.of("answer", YES_NO, unknown="raise", simulated=True)
    keyed = ColumnRecord.of("answer", YES_NO, unknown="raise", keyed=True)
    for sources in ([strict, keyed], [keyed, strict]):
        (found,) = column_records.read(carry(silent(frame), *sources).attrs)
        assert (
            ColumnRecord.of("answer", YES_NO, unknown="raise", simulated=True, keyed=True) == found
        )
    replaced = ColumnRecord.of("answer", YES_NO, unknown="uniform")
    (found,) = column_records.read(carry(silent(frame), keyed, replaced).attrs)
    assert ColumnRecord.of("answer", YES_NO, unknown="uniform", keyed=True) == found


def test_names_that_do_not_help():
    """names and dropped speak of columns that the sources speak of, to columns that are there."""
    frame = released()
    other = silent(frame.rename(columns={"answer": "reply"}))
    refused(ArgumentValueError, "found 'anwser'", carry, other, frame, names={"anwser": "reply"})
    refused(ArgumentValueError, "found 2 others", carry, other, frame, dropped=["region", "town"])
    with pytest.raises(ArgumentValueError, match="column 'replies' is not there; did you mean"):
        carry(other, frame, names={"answer": "replies"})
    twice = pd.concat([other, other[["reply"]]], axis=1)
    with pytest.raises(ArgumentValueError, match="'reply' is there 2 times"):
        carry(twice, frame, names={"answer": "reply"})


def test_fingerprints_are_carried():
    """Of more than 100 categories the fingerprint is carried, and the mechanism still needed."""
    m = rr.KRR(range(101), 0.75)
    frame = pd.DataFrame({"town": range(101)}).rr.privatize("town", m, rng=Counting(1))
    carried = carry(pd.DataFrame(frame), frame)
    assert frame.attrs == carried.attrs
    assert m == carried.rr.tally("town", m).mechanism


def test_a_source_that_says_nothing_of_a_column_speaks_against_a_claim():
    """Raw answers beside reports of the same name are not declared to be reports."""
    people = pd.DataFrame({"id": [1, 2, 3], "answer": ["yes", "no", "no"]})
    reports = people.rr.privatize("answer", ["yes", "no"], 0.75)
    merged = people.merge(reports, on="id", suffixes=("", "_report"))
    stacked = pd.concat([people, reports])
    for target in (merged, stacked):
        with pytest.raises(rr.errors.MetadataError, match="may hold true answers"):
            target.rr.carry(people, reports)
    carried = merged.rr.carry(people, reports, names={"answer": "answer_report"})
    assert list(carried.rr.mechanisms) == ["answer_report"]
