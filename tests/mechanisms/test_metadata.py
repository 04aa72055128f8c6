"""What data say of themselves: one JSON document, a default and never evidence."""

import copy
import dataclasses
import json
import math
import operator
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats._frozen import frozen
from rrstats.data.category_json import categories_digest, categories_to_json
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError, UnrecordedWarning
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.attrs import Mechanisms
from rrstats.mechanisms.documents import MAX_LEVELS
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import ColumnRecord, check_rates
from rrstats.mechanisms.row_privacy import row_epsilon

YES_NO = rr.KRR(["yes", "no"], 0.75)


@pytest.fixture
def frame():
    """A privatized frame of two columns and a public one."""
    data = pd.DataFrame(
        {"answer": ["yes", "no", "no", "yes"] * 25, "age": range(100), "often": [0, 1, 2, 1] * 25}
    )
    plan = {"answer": YES_NO, "often": rr.KRR([0, 1, 2], epsilon=1.0)}
    return rr.privatize(data, plan, rng=Counting(1))


PLAN = {"epsilon": 1, "parts": [["answer"]], "chances": [1]}


def document_of(record, **changes):
    """A valid document with something changed in its one column."""
    column = {"name": "answer", "mechanism": YES_NO.to_dict(), **record}
    return {"v": 1, "columns": [column], **changes}


def test_fingerprints():
    """The fingerprint of 1, 2 is written here for good; types and order change it."""
    # GNU coreutils 9: printf '[{"int":1},{"int":2}]' | sha256sum
    known = "85dcf69b7241a798f85705653665393d189eeb72469c052c204444f49a3e751b"
    assert categories_digest(categories_to_json([1, 2])) == f"sha256:{known}"
    different = [[1, 2], [2, 1], [1.0, 2.0], ["1", "2"], [True, 2], [(1,), 2], [1, 2, None]]
    assert len({categories_digest(categories_to_json(values)) for values in different}) == len(
        different
    )


def test_version_two():
    """Only a plan of the frame, or probabilities by row, need version 2; both come back."""
    plain = ColumnRecord.of("answer", YES_NO)
    plan = FramePlan(
        {"answer": [0, 1], ("t", 1): [0, 1]}, 2, [("answer", ("t", 1))], asked="q"
    ).recorded
    planned = [dataclasses.replace(plain, name=name, plan=plan) for name in ("answer", ("t", 1))]
    by_row = dataclasses.replace(plain, name="other", by_row={"prob": ("p", 2)})
    for records, version in (([plain], 1), (planned, 2), ([*planned, by_row], 2)):
        document = json.loads(json.dumps(column_records.write(records)))
        assert document["v"] == version
        assert column_records.read({"rrstats": document}) == records
    assert row_epsilon(planned) == 2.0
    assert row_epsilon([*planned, by_row]) == total_epsilon([2.0, YES_NO.epsilon])


@pytest.mark.parametrize(
    ("by_row", "fits", "too_large"),
    [
        ({"prob": "p"}, [0.5, 0.75, math.nan], [0.5, 0.76, math.nan]),
        ({"epsilon": "p"}, [0.0, 1.0, math.nan], [0.0, 1.2, math.nan]),
    ],
)
def test_no_row_is_above_the_recorded_largest(by_row, fits, too_large):
    """A row above it would have lost more privacy than is recorded; rows at or below it fit."""
    record = dataclasses.replace(ColumnRecord.of("answer", YES_NO), by_row=by_row)
    check_rates(record, pd.DataFrame({"p": fits}))
    check_rates(record, pd.DataFrame({"p": []}, dtype=float))
    check_rates(record, pd.DataFrame({"other": too_large}))
    with pytest.raises(MetadataError, match="of some row in column 'p' is above the largest"):
        check_rates(record, pd.DataFrame({"p": too_large}))


def test_by_hand():
    """A plan typed by hand needs no tags, and facts have defaults."""
    text = """{"v": 1, "columns": [{"name": "smoker", "mechanism":
        {"type": "KRR", "categories": [true, false, null], "prob": 0.75}}]}"""
    (record,) = column_records.read({"rrstats": json.loads(text)})
    assert (record.name, record.unknown, record.missing) == ("smoker", "raise", "unknown")
    assert not record.simulated
    assert rr.KRR([True, False, None], 0.75) == record.resolve()
    assert rr.KRR([True, False, None], 0.75) == record.resolve(rr.KRR([True, False, None], 0.75))


def test_the_policy_of_old_records_is_read():
    """It replaced answers with a warning; the document comes back byte for byte."""
    kept = ColumnRecord("smoker", YES_NO.to_dict(), unknown="warn").to_dict()
    (record,) = column_records.read({"rrstats": {"v": 1, "columns": [kept]}})
    assert (record.unknown, record.to_dict()) == ("warn", kept)
    with pytest.raises(MetadataError, match=r"must be one of \['raise', 'uniform'\]"):
        column_records.read({"rrstats": {"v": 1, "columns": [{**kept, "unknown": "warned"}]}})


def test_numpy_names_are_recorded():
    """A column's name may be a NumPy integer, as the columns of a frame are when iterated."""
    data = pd.DataFrame(np.array([["yes", "no"], ["no", "no"]]))
    name = np.int64(1)
    out = rr.privatize(data, {name: YES_NO}, rng=Counting(1))
    assert {1: YES_NO} == out.rr.mechanisms
    assert out.rr.tally(1).n == 2


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (document_of({}, v=3), "version 3, this rrstats reads 1 to 2; a newer"),
        (document_of({}, v=True), "version True"),
        ({"v": 1, "columns": {}}, "list of 'columns'"),
        (document_of({}, extra=1), "list of 'columns', no more"),
        ("{not json", "not JSON"),
        ({"v": 1, "columns": [3]}, "needs a name and a mechanism"),
        (document_of({"by_row": {"prob": "p"}}), "need version 2"),
        (document_of({"by_row": {"p": "p"}}, v=2), "by_row of a column must be"),
        *[
            (
                document_of({"plan": {"asked": "q"} | rest}, v=2),
                "plan of a frame",
            )
            for rest in (
                *({}, PLAN | {"parts": [["other"]]}, PLAN | {"epsilon": 10**400}),
                *(PLAN | {"parts": [["answer", "b", "c"]]}, PLAN | {"parts": [["answer"] * 2]}),
                PLAN | {"parts": [["answer"]] * 2, "chances": [1, 1]},
            )
        ],
        ({"v": 1, "columns": [{"name": "answer"}]}, "needs a name and a mechanism"),
        (document_of({"name": ["answer"]}), "one tag"),
        (document_of({"unknown": 3}), "'unknown' of column 'answer' must be one of .*, found 3"),
        (document_of({"simulate": True}), "'simulate' of column 'answer' is unknown; known are"),
        ({"v": 1, "columns": document_of({})["columns"] * 2}, "column 'answer' twice"),
    ],
)
def test_malformed_documents(document, message):
    """What cannot be read is refused wherever it would be used, never passed over."""
    refused(MetadataError, message, column_records.read, {"rrstats": document})
    reports = pd.Series(["yes", "no"], name="answer")
    reports.attrs["rrstats"] = document
    for use in (lambda: rr.tally(reports, YES_NO), lambda: rr.privatize(reports, YES_NO)):
        refused(MetadataError, message, use)


def nested(levels):
    """Documents nested in every place where one can be: as they are, and as JSON text."""
    chain = YES_NO.to_dict()
    label = "yes"
    rows = []
    for _ in range(levels):
        chain = {"type": "Chain", "first": chain, "second": YES_NO.to_dict()}
        label = {"tuple": [label]}
        rows = [rows]
    yield document_of({"mechanism": chain})
    yield document_of({"mechanism": {**YES_NO.to_dict(), "categories": [label, "no"]}})
    yield document_of({"name": label})
    yield document_of({"unknown": rows})
    yield {"v": rows, "columns": []}
    yield rows
    yield '{"v": 1, "columns": ' + "[" * levels + "]" * levels + "}"


def test_nested_documents():
    """However deep a document is nested, it is refused before anything walks down into it."""
    for levels in (MAX_LEVELS, 5_000):
        for document in nested(levels):
            frame = pd.DataFrame({"answer": ["yes"]})
            with pytest.raises(MetadataError, match=r"nested too deeply|must hold 'v'"):
                column_records.read({"rrstats": document})
            # pandas itself copies attrs by recursion, and so cannot hold the deepest.
            frame.attrs["rrstats"] = document if levels < 1000 else "[" * 200_000
            with pytest.raises(MetadataError, match=r"nested too deeply|must hold 'v'"):
                _ = frame.rr.mechanisms
    shared = []
    for _ in range(60):
        shared = [shared] * 60  # looked at once each, not 60**60 times
    assert column_records.read({"rrstats": document_of({"mechanism": {"type": shared}})})
    with pytest.raises(MetadataError, match="nested too deeply, more than 100 levels"):
        ColumnRecord.from_dict(next(nested(200))["columns"][0])


def test_what_is_written_can_be_read():
    """As many rounds as a document holds are recorded; of more it is said that they are not."""
    m = rr.KRR(["yes", "no"], 1 - 2**-20)
    chain = m
    for _ in range(90):
        chain = chain.then(m)
    record = ColumnRecord.of("answer", chain)
    (back,) = column_records.read({"rrstats": json.dumps(column_records.write([record]))})
    assert chain == back.resolve()
    for _ in range(20):
        chain = chain.then(m)
    with pytest.warns(UnrecordedWarning, match="nested too deeply, more than 100 levels"):
        reports = rr.privatize(pd.Series(["yes", "no"], name="answer"), chain)
    assert reports.attrs == {}


def test_mechanisms_of_a_newer_version():
    """A mechanism that this version does not know is named when it is needed."""
    document = document_of({"mechanism": {"type": "Kuk", "draws": 3}})
    (record,) = column_records.read({"rrstats": document})
    for use in (record.resolve, lambda: record.resolve(YES_NO), lambda: record.epsilon):
        refused(MetadataError, "found 'Kuk'; a newer rrstats may know it", use)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (rr.KRR(["yes", "no"], 0.8), "prob 0.8 instead of 0.75;"),
        (rr.KRR(["no", "yes"], 0.75), "the order of the categories;"),
        (rr.KRR(["yes", "no", None], 0.75), "other categories;"),
        (rr.KRR(["yes", "no"], 0.75).then(rr.KRR(["yes", "no"], 0.75)), "Chain instead of KRR;"),
        (rr.KRR([pd.Timestamp("2020-01-01"), "no"], 0.75), "no JSON form instead of KRR;"),
    ],
    ids=repr,
)
def test_contradictions_raise(frame, given, words):
    """A mechanism other than the recorded one is refused, and the message says what differs."""
    for use in (
        lambda: frame.rr.estimate("answer", given),
        lambda: frame.rr.tally("answer", given),
        lambda: frame["answer"].rr.estimate(given),
        lambda: rr.tally(frame["answer"], given),
    ):
        refused(MetadataError, f"contradicts the column.s record: {words}", use)
    same = frame.rr.estimate("answer", ["yes", "no"], 0.75).to_frame()
    pd.testing.assert_frame_equal(same, frame.rr.estimate("answer").to_frame())


def test_categories_without_a_json_form():
    """They privatize in memory; that nothing was recorded is said once, with the reason."""
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    data = pd.DataFrame({"day": list(days) * 5, "answer": ["yes", "no"] * 5})
    plan = {"day": rr.KRR(list(days), 0.75), "answer": YES_NO}
    with pytest.warns(UnrecordedWarning, match="no record .*Timestamp.* no JSON form") as caught:
        out = rr.privatize(data, plan, rng=Counting(1))
    assert len(caught) == 1
    with pytest.raises(MetadataError, match="epsilon is unknown"):  # not that of one column
        _ = out.rr.epsilon
    assert out.rr.tally("day", list(days), 0.75).n == 10
    refused(ArgumentTypeError, "no record of (its|their) mechanism", out.rr.tally, "day")


@pytest.mark.parametrize("name", [math.nan, pd.Timestamp("2020-01-01"), ("a", frozenset())])
def test_names_without_a_json_form(name):
    """A column's name must have one too; nothing that is no JSON is ever written."""
    with pytest.warns(UnrecordedWarning, match="have no JSON form"):
        reports = rr.privatize(pd.Series(["yes", "no"], name=name), YES_NO)
    assert reports.attrs == {}


def test_many_categories():
    """Above 100 categories attrs hold a fingerprint, and the mechanism is needed."""
    for k in (100, 101):
        m = rr.KRR([f"town {i}" for i in range(k)], 0.75)
        data = pd.DataFrame({"town": m.categories[::-1]})
        out = rr.privatize(data, {"town": m}, rng=Counting(1))
        assert len(json.dumps(out.attrs)) < 3_000
        assert m.epsilon == out.rr.epsilon
        assert m == out.rr.tally("town", m).mechanism
        for other in (
            rr.KRR([f"town {i}" for i in range(k)], 0.8),
            rr.KRR([f"town {i}" for i in range(k, 0, -1)], 0.75),
            rr.KRR([pd.Timestamp(i) for i in range(k)], 0.75),
        ):
            refused(MetadataError, "contradicts", out.rr.tally, "town", other)
        if k == 100:
            assert {"town": m} == out.rr.mechanisms
        else:
            assert "town 7" not in json.dumps(out.attrs)
            refused(MetadataError, "only a fingerprint of them; give", out.rr.tally, "town")
            refused(MetadataError, "contradicts", out.rr.tally, "town", YES_NO)


def test_again():
    """again=True records the product of both channels, which is estimated with."""
    second = rr.KRR(["yes", "no"], 0.9)
    first = rr.privatize(pd.Series(["yes", "no"] * 50, name="answer"), YES_NO, rng=Counting(1))
    twice = first.rr.privatize(second, again=True, rng=Counting(2))
    (record,) = column_records.read(twice.attrs)
    chain = record.resolve()
    assert YES_NO.then(second) == chain
    # .75 .9 + .25 .1 = .7, with .9 the double
    assert chain.channel.prob_truth == Fraction(3, 4) * Fraction(0.9) + Fraction(1, 4) * (
        1 - Fraction(0.9)
    )
    assert record.epsilon == chain.epsilon
    assert chain.epsilon < YES_NO.epsilon
    expected = (np.mean(twice == "yes") - 0.3) / 0.4
    assert twice.rr.estimate()["yes"].value == pytest.approx(expected)
    with pytest.raises(ArgumentValueError, match="must have the reports of the first"):
        first.rr.privatize(["no", "yes"], 0.9, again=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(v=2),
        lambda document: document.pop("columns"),
        lambda document: document["columns"].append({}),
        lambda document: document["columns"].sort(),
        lambda document: operator.setitem(document["columns"], 0, {}),
        lambda document: operator.delitem(document["columns"][0], "name"),
        lambda document: operator.ior(document["columns"][0], {"keyed": True}),
        lambda document: document["columns"][0]["mechanism"].setdefault("prob", 0.9),
        lambda document: document["columns"][0]["mechanism"].__setitem__("prob", 0.9),
        lambda document: document["columns"][0]["mechanism"]["categories"].clear(),
        lambda document: document["columns"][0]["mechanism"]["categories"].reverse(),
    ],
)
def test_documents_cannot_be_changed(frame, change):
    """Copies of a frame share its document, which refuses changes at every depth."""
    text = json.dumps(frame.attrs["rrstats"])
    assert frame["answer"].attrs["rrstats"] is frame.attrs["rrstats"]
    assert frame.copy().attrs["rrstats"] is frame.attrs["rrstats"]
    with pytest.raises(ArgumentTypeError, match=r"cannot be changed.*df.attrs.pop\('rrstats'\)"):
        change(frame.attrs["rrstats"])
    assert text == json.dumps(frame.attrs["rrstats"])


def test_a_document_is_read_once(frame, monkeypatch):
    """One that cannot be changed, for all copies of the frame; a plain one at every use."""
    reads = []
    read_one = column_records.read_release
    monkeypatch.setattr(
        column_records,
        "read_release",
        lambda document: reads.append(document) or read_one(document),
    )
    plain = json.loads(json.dumps(frame.attrs["rrstats"]))
    frame.attrs["rrstats"] = frozen(plain)
    for data in (frame, frame.copy(), frame[["answer"]]):
        data.rr.estimate("answer")
        column_records.read(data.attrs).clear()
    assert [plain] == reads
    assert frame.copy().rr.mechanisms["answer"] is frame.rr.mechanisms["answer"]
    frame.attrs["rrstats"] = plain
    for prob in (0.9, 0.8):
        plain["columns"][0]["mechanism"]["prob"] = prob
        assert prob == frame.rr.mechanisms["answer"].prob


def test_documents_look_and_pickle_as_plain_ones(frame):
    """They equal and print like plain dictionaries, and leave the session as such."""
    document = frame.attrs["rrstats"]
    plain = json.loads(json.dumps(document))
    assert plain == document
    assert document == plain
    assert repr(plain) == repr(document)
    for copied in (pickle.loads(pickle.dumps(document)), copy.copy(document)):
        assert type(copied) is dict
    back = pickle.loads(pickle.dumps(frame)).attrs["rrstats"]
    assert plain == back
    assert {dict, list} == {type(back), type(back["columns"]), type(back["columns"][0])}
    both = pd.concat([frame, frame])
    assert document == both.attrs["rrstats"]


def test_documents_share_nothing_with_mechanisms(frame):
    """What a mechanism writes may be changed; a record and the mechanism stay."""
    (record, _) = column_records.read(frame.attrs)
    described = YES_NO.to_dict()
    described["prob"] = 0.9
    assert record.resolve() == YES_NO
    assert YES_NO.to_dict()["prob"] == 0.75
    document = json.loads(json.dumps(frame.attrs["rrstats"]))
    frame.attrs["rrstats"] = document
    (record, _) = column_records.read(frame.attrs)
    document["columns"][0]["mechanism"]["prob"] = 0.9
    assert record.resolve() == YES_NO


def test_one_fingerprint_holds_nothing_up():
    """All names are there; only a column of which a fingerprint is kept asks for its mechanism."""
    found = Mechanisms([ColumnRecord.of("town", rr.KRR(range(101), 0.75))])
    assert ["town"] == list(found)
    with pytest.raises(MetadataError, match=r"'town' has more than 100 categories.* give the"):
        found["town"]
    assert "'town': 'only a fingerprint of its categories is kept'" in repr(found)


@pytest.mark.parametrize("text", [b"{", b"9" * 5000, b"[" * 100_000])
def test_a_table_whose_document_is_no_json_is_refused(text, pa):
    """An Arrow table says so as a frame does."""
    table = pa.table({"q": ["a", "b"]}).replace_schema_metadata({b"rrstats": text})
    refused(MetadataError, "not JSON", rr.privatize, table, {"q": rr.KRR(["a", "b"], 0.75)})


def test_long_categories_are_not_quoted():
    """An error names their number."""
    with pytest.raises(ArgumentValueError, match="2 categories of long names") as caught:
        rr.estimate(["a"], rr.KRR(["x" * 100_000, "y" * 100_000], 0.75))
    assert len(str(caught.value)) < 300


def test_a_fingerprint_does_not_look_at_each_of_its_categories(monkeypatch):
    """Epsilon needs their number: 4,194,304 of them took 5 s to read."""
    mechanism = {"type": "KRR", "k": 1 << 22, "categories_digest": "sha256:", "prob": 0.75}
    record = ColumnRecord("answer", mechanism)
    monkeypatch.setattr("rrstats.data.categories._plain", lambda category: 1 / 0)
    assert record.epsilon == rr.privacy.epsilon_from_prob(0.75, 1 << 22)
