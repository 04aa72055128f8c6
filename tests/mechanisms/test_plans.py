"""Plan files, and category words cast to the type of their column."""

import datetime
import json

import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")

import catalogue  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.data.declared import whole_words
from rrstats.files import plan as plans  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord

KRR = {"type": "KRR", "categories": ["never", "once", "often"], "prob": 0.75}


def write(folder, document, name="plan.json"):
    file = folder / name
    file.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return file


def plan(**changes):
    """A plan of one column, with some keys changed; None takes a key out."""
    column = {"name": "answer", "mechanism": KRR} | changes
    return {"v": 1, "columns": [{key: item for key, item in column.items() if item is not None}]}


# -- reading -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.EXAMPLES)
def test_every_document_is_a_plan(tmp_path, name):
    """What `records.write` says of any mechanism can be followed as it is."""
    mechanism = catalogue.EXAMPLES[name]()
    record = ColumnRecord.of("answer", mechanism, unknown="raise")
    (found,) = plans.read_plan(write(tmp_path, column_records.write([record])))
    assert mechanism == found.resolve()
    assert ("answer", "raise", "unknown") == (found.name, found.unknown, found.missing)


def test_an_old_plan_is_followed_as_uniform(tmp_path):
    """ "warn" replaced each answer as "uniform" does; a plan of a frame, too."""
    mechanism = rr.KRR(["no", "yes"], 0.75)
    column = {"name": "a", "mechanism": mechanism.to_dict(), "unknown": "warn"}
    file = write(tmp_path, json.dumps({"v": 1, "columns": [column]}), "plan.json")
    assert ["uniform"] == [record.unknown for record in plans.read_plan(file)]
    (request,) = plans.wanted_columns(file, "raise", "unknown")
    assert ("uniform", "unknown") == (request.unknown, request.missing)
    document = {**rr.planning.FramePlan({"a": [0, 1]}, 1, ["a"]).to_dict(), "unknown": "warn"}
    (request,) = plans.wanted_columns(document, "raise", "unknown")
    assert "uniform" == request.unknown


def test_a_plan_written_by_hand_in_toml(tmp_path):
    """TOML may hold bare words, numbers and dates, epsilon for prob, and leave policies out."""
    file = write(
        tmp_path,
        """
        v = 1

        [[columns]]
        name = "answer"
        mechanism = { type = "KRR", categories = ["never", "once", "often"], epsilon = 1.5 }

        [[columns]]
        name = "visits"
        unknown = "uniform"

        [columns.mechanism]
        type = "KRR"
        categories = [0, 1, 2, { missing = true }]
        prob = 0.5

        [[columns]]
        name = "day"
        mechanism = { type = "KRR", categories = [2026-01-31, { date = "2026-02-01" }], prob = 0.9 }
        """,
        "plan.toml",
    )
    answer, visits, day = plans.read_plan(file)
    assert rr.KRR(["never", "once", "often"], epsilon=1.5) == answer.resolve()
    assert ("raise", "unknown") == (answer.unknown, answer.missing)
    assert rr.KRR([0, 1, 2, None], 0.5) == visits.resolve()
    assert "uniform" == visits.unknown
    dates = [datetime.date(2026, 1, 31), datetime.date(2026, 2, 1)]
    assert rr.KRR(dates, 0.9) == day.resolve()


def test_a_plan_keeps_long_lists_of_categories(tmp_path):
    """Above 100 categories metadata hold a fingerprint; a plan that was read holds the list."""
    mechanism = rr.KRR(range(300), 0.5)
    (found,) = plans.read_plan(write(tmp_path, plan(mechanism=mechanism.to_dict())))
    assert mechanism == found.resolve()


def test_a_plan_may_begin_with_a_byte_order_mark(tmp_path):
    """Editors on Windows write one."""
    assert "answer" == plans.read_plan(write(tmp_path, "\ufeff" + json.dumps(plan())))[0].name


BAD = {
    "another version": (plan() | {"v": 3}, "version 3"),
    "no version": ({"columns": plan()["columns"]}, "add v = 1 at the beginning"),
    "a key too many": (plan() | {"rows": 3}, "no more"),
    "no columns": ({"v": 1, "columns": []}, "at least one column"),
    "a column twice": ({"v": 1, "columns": plan()["columns"] * 2}, "'answer' twice"),
    "an unknown key": (plan(missng="keep"), "'missng' of column 'answer'"),
    "a policy misspelt": (plan(unknown="drop"), "'unknown' of column 'answer' must be one of"),
    "simulated": (plan(simulated=True), "'simulated' of column 'answer'"),
    "keyed": (plan(keyed=True), "'keyed' of column 'answer'"),
    "no mechanism": (plan(mechanism=None), "a name and a mechanism"),
    "another mechanism": (plan(mechanism={"type": "KRRR"}), "'answer': a mechanism's type"),
    "prob too large": (plan(mechanism=KRR | {"prob": 75}), "'answer': .*prob must be in"),
    "prob and epsilon": (plan(mechanism=KRR | {"epsilon": 1}), "'answer': .*found prob and"),
    "a fingerprint": (
        plan(mechanism={"type": "KRR", "prob": 0.5, "k": 3, "categories_digest": "sha256:0"}),
        "'answer' .*fingerprint",
    ),
    "no JSON": ('{"v": 1,\n "columns": [}', "not JSON: .* line 2 column"),
    "a list": ([], "must hold 'v'"),
    "deep": ("[" * 100_000, "too deep|not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_plan_names_file_column_and_key(tmp_path, name):
    """A plan that cannot be followed is refused with its file's name and what is wrong where."""
    document, said = BAD[name]
    with pytest.raises(rr.errors.MetadataError, match=said) as found:
        plans.read_plan(write(tmp_path, document))
    assert "plan.json" in str(found.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v = 1\ncolumns = [", "not TOML: "),
        ("v = 1\nv = 1\nw = 2", "not TOML: .*line 2"),
        (
            'v = 1\n[[columns]]\nname = "a"\n'
            'mechanism = { type = "KRR", categories = [2026-01-31T08:00:00, "b"], prob = 0.5 }',
            "column 'a': a category in a document",
        ),
    ],
)
def test_bad_toml_is_named(tmp_path, text, said):
    """TOML errors come with their line; times are no categories."""
    with pytest.raises(rr.errors.MetadataError, match=said) as found:
        plans.read_plan(write(tmp_path, text, "plan.toml"))
    assert "plan.toml" in str(found.value)


def test_plans_that_are_no_files(tmp_path):
    """A plan that is not there is a FileError; another ending is a bad argument."""
    with pytest.raises(rr.errors.FileError, match=r"cannot read .*none\.json: no such"):
        plans.read_plan(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(rr.errors.FileError, match="directory"):
        plans.read_plan(tmp_path / "folder.json")
    with pytest.raises(
        rr.errors.ArgumentValueError, match=r"must end in \.json or \.toml.*one column is"
    ):
        plans.read_plan(tmp_path / "plan.yaml")
    (tmp_path / "latin.toml").write_bytes(b"\xe4 = 1")
    with pytest.raises(rr.errors.MetadataError, match=r"latin\.toml .* is not TOML: 'utf-8'"):
        plans.read_plan(tmp_path / "latin.toml")


# -- words ---------------------------------------------------------------------------------

DAY = datetime.date(2026, 1, 31)
FITTING = [
    (pa.string(), ["never", "", " a", "1"], ["never", "", " a", "1"]),
    (pa.large_string(), ["a", None], ["a", None]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"], ["a", "b"]),
    (pa.dictionary(pa.int8(), pa.int64()), ["1", "2"], [1, 2]),
    (pa.int8(), ["-128", "127", "0", None], [-128, 127, 0, None]),
    (pa.uint64(), ["18446744073709551615"], [2**64 - 1]),
    (pa.int64(), ["-9223372036854775808"], [-(2**63)]),
    (pa.float64(), ["0.1", "1", "-2.5e3", "inf"], [0.1, 1.0, -2500.0, float("inf")]),
    (pa.float32(), ["0.1", "16777216"], [0.10000000149011612, 16777216.0]),
    (pa.bool_(), ["true", "False", None], [True, False, None]),
    (pa.date32(), ["2026-01-31"], [DAY]),
    (pa.date64(), ["2026-01-31"], [DAY]),
]
"""0.1 is 13421773 / 2**27 as a 32-bit float, by hand."""


@pytest.mark.parametrize(("type", "words", "values"), FITTING, ids=lambda item: str(item)[:30])
def test_words_become_values_of_the_type(type, words, values):
    """Each word is the value that the column would hold, in Python's own type."""
    found = plans.cast_words(words, type, "answer")
    assert values == found
    assert [value.__class__ for value in values] == [value.__class__ for value in found]


WRONG = [
    (pa.int8(), ["128", "-129", "1.0", "07", "+7", "-0", " 7", "7 ", "", "1_0", "\u0661", "x"]),
    (pa.uint8(), ["-1", "256"]),
    (pa.uint64(), ["18446744073709551616", "9" * 5000]),
    (pa.float64(), ["nan", "1e400", "0x1p3", "1,5", "9007199254740993", ".", "infinity", ""]),
    (pa.float32(), ["1e39", "16777217"]),
    (pa.bool_(), ["1", "0", "yes", "t", ""]),
    (pa.date32(), ["20260131", "2026-02-30", "2026-W05-6", "31.01.2026", "2026-1-31", ""]),
]


@pytest.mark.parametrize(
    ("type", "word"), [(type, word) for type, words in WRONG for word in words], ids=str
)
def test_words_that_the_type_cannot_hold_are_refused(type, word):
    """Nothing is rounded, trimmed or guessed; the error names column, type and the word's start."""
    with pytest.raises(rr.errors.ArgumentValueError, match="must be") as found:
        plans.cast_words([word], type, "answer")
    for named in ("'answer'", str(type), repr(word)[:100]):
        assert named in str(found.value)


@pytest.mark.parametrize(
    "type",
    [pa.timestamp("us"), pa.decimal128(5, 2), pa.list_(pa.string()), pa.null(), pa.binary()],
    ids=str,
)
def test_types_that_words_cannot_say_are_refused(type):
    """The error names the column and its type, and what words can say."""
    with pytest.raises(rr.errors.ArgumentTypeError, match="'answer' has the type") as found:
        plans.cast_words(["a"], type, "answer")
    assert str(type) in str(found.value)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", None], [1, None]),
        (["1", "02"], ["1", "02"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "a"], ["1", "a"]),
        (["1", "2.0"], ["1", "2.0"]),
        ([None], [None]),
    ],
)
def test_words_of_a_file_without_types(words, values):
    """Whole numbers, if all words are, written as every reader of CSV writes them back."""
    assert values == whole_words(words)


@pytest.mark.parametrize("epsilon", [3e7, 20.0, 1e-3, 1.4999])
def test_a_plan_of_another_epsilon_than_its_mechanisms_is_refused_when_read(epsilon):
    """Above it an exact epsilon would take hours; below it the record would promise too much."""
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": [1, 2] * 50})
    plan = rr.planning.FramePlan({"a": ["x", "y"], "b": [1, 2]}, 1.5, [("a", "b"), ("a",)])
    released = frame.rr.privatize(plan)
    assert 1.5 == released.rr.epsilon
    document = json.loads(json.dumps(released.attrs["rrstats"]))
    document["columns"][0]["plan"]["epsilon"] = epsilon
    released.attrs["rrstats"] = document
    with pytest.raises(rr.errors.MetadataError, match="the plan of column 'a' has epsilon"):
        rr.files.statement_of(released)
