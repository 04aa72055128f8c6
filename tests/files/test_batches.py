"""Streams of Arrow batches: what the tasks of every engine run."""

import pickle
from collections import Counter

import numpy as np
import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import scripted  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.files.batches import BatchRelease, Seen, careful  # as above
from rrstats.mechanisms.records import read  # as above
from rrstats.randomness.sources import BLOCK_ROWS  # as above

WORDS = ["never", "once", "often"]
M = rr.KRR(WORDS, 0.75)
COIN = rr.KRR([False, True], 0.75)
SCHEMA = pa.schema({"id": pa.int64(), "answer": pa.string(), "yes": pa.bool_(), "age": pa.int8()})


def batch(n=600, start=0):
    """Some rows; every tenth answer is unknown, every twentieth missing."""
    numbers = range(start, start + n)
    words = ["dunno" if i % 10 == 9 else None if i % 20 == 0 else WORDS[i % 3] for i in numbers]
    columns = [numbers, words, [i % 2 == 0 for i in numbers], [i % 100 for i in numbers]]
    arrays = [pa.array(cells, kind) for cells, kind in zip(columns, SCHEMA.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def test_batches_are_what_the_columns_would_be():
    """Under given words batches of whole blocks have the reports of `privatize`."""
    words = [WORDS[i % 3] for i in range(BLOCK_ROWS + 100)]
    schema = pa.schema({"one": pa.string(), "two": pa.string()})
    whole = pa.record_batch([words, words], schema=schema)
    rng = scripted.Counting(7)
    release = BatchRelease(schema, {"one": M, "two": M}, rng=rng)
    made = [release.reports(whole.slice(0, BLOCK_ROWS)), release.reports(whole.slice(BLOCK_ROWS))]
    expected = rr.privatize(pa.array(words), M, rng=scripted.Counting(7))
    found = pa.concat_arrays([part.column("one") for part in made])
    assert expected.equals(found)


def test_other_columns_stay_and_the_schema_says_how_columns_were_made():
    """Types and names stay, and the document names each private column."""
    release = BatchRelease(SCHEMA, {"answer": M, "yes": COIN}, unknown="uniform")
    made = release.reports(batch())
    assert release.schema.equals(made.schema, check_metadata=True)
    assert SCHEMA.types == made.schema.types
    assert batch().column("age").equals(made.column("age"))
    assert [M, COIN] == [record.resolve() for record in read(made.schema.metadata)]
    assert ["answer", "yes"] == [record.name for record in release.records]


def test_what_was_seen_adds_up_and_is_refused_at_the_end():
    """Counts of two releases add; nothing raises while a task draws, and the one who asked does."""
    tasks = [BatchRelease(SCHEMA, {"answer": M, "yes": COIN}) for _ in range(2)]
    for start, task in enumerate(tasks):
        task.reports(batch(100, 100 * start))
        task.reports(batch(0))
    seen = [task.seen() for task in tasks]
    total = Seen(200, Counter(answer=20), Counter(answer=10))
    assert total == seen[0] + seen[1] == Seen() + seen[1] + seen[0]
    assert "Seen(rows=200)" == repr(total)
    asked = BatchRelease(SCHEMA, {"answer": M, "yes": COIN})
    asked.add(pickle.loads(pickle.dumps(total)))
    assert total == asked.seen()
    text = "^20 of 200 answers of column 'answer' are not .* and 10 more missing; CALL lists them"
    refused(rr.errors.UnknownAnswersError, text, asked.refuse, "CALL")
    served = BatchRelease(SCHEMA, {"answer": M, "yes": COIN}, unknown="uniform")
    served.add(total)
    served.refuse("CALL")


def test_two_releases_never_share_noise():
    """Two tasks with the same answers draw under keys of their own; so do two columns of one.

    Equal reports of equal truths: 0.75**2 + 2 * 0.125**2 = 0.594 of 20,000; 0.62 or more with a
    chance below 3 exp(-2 * 20000 * 0.026**2) < 6e-12 (Hoeffding).
    """
    schema = pa.schema({"one": pa.string(), "two": pa.string()})
    alike = pa.record_batch([["once"] * 20_000] * 2, schema=schema)
    made = [BatchRelease(schema, {"one": M, "two": M}).reports(alike) for _ in range(2)]
    cells = [part.column(name).to_numpy(False) for part in made for name in ("one", "two")]
    shares = [np.mean(cells[0] == other) for other in cells[1:]]
    assert [] == [share for share in shares if share >= 0.62]


def keyed_by(column):
    """Keyed noise of a known key."""
    return rr.client.Keyed(bytes(range(32)), column)


def test_keyed_batches_do_not_depend_on_where_they_are_cut():
    """Under a key and ids any batches, in any order, have the reports of `privatize`."""
    key, whole = rr.client.new_key(), batch(300)
    options = {"unknown": "uniform", "key": rr.client.Keyed(key, "id")}
    frame = rr.privatize(whole.to_pandas(), {"answer": M}, **options)
    release = BatchRelease(SCHEMA, {"answer": M}, **options)
    parts = [whole.slice(200), whole.slice(0, 7), whole.slice(7, 193)]
    made = pa.Table.from_batches([release.reports(part) for part in parts]).sort_by("id")
    assert frame["answer"].tolist() == made["answer"].to_pylist()
    assert release.records[0].keyed
    two = {**options, "key": rr.client.Keyed(key, ["id", "age"])}
    both = BatchRelease(SCHEMA, {"answer": M}, **two).reports(whole)
    again = BatchRelease(SCHEMA, {"answer": M}, **two)
    assert both.slice(50).equals(again.reports(whole.slice(50)))
    assert not both.column("answer").equals(made["answer"].combine_chunks())


def test_a_claim_that_a_column_holds_reports_is_heard():
    """Reports are privatized again only with again=True, and both rounds are recorded."""
    made = BatchRelease(SCHEMA, {"answer": M}).schema
    refused(rr.errors.MetadataError, "holding reports already", BatchRelease, made, {"answer": M})
    twice = BatchRelease(made, {"answer": M, "yes": COIN}, again=True)
    assert [rr.mechanisms.Chain(M, M), COIN] == [record.resolve() for record in twice.records]
    other = BatchRelease(made, {"yes": COIN})
    assert ["answer", "yes"] == [record.name for record in other.records]


@pytest.mark.parametrize(
    ("plan", "options", "kind", "text"),
    [
        ({"answr": M}, {}, ValueError, "did you mean 'answer'"),
        ({1: M}, {}, ValueError, "column 1 is not there"),
        ({}, {}, ValueError, "at least one column"),
        (5, {}, TypeError, "mapping from column to mechanism"),
        ({"answer": M}, {"key": bytes(range(32))}, TypeError, "key and person together"),
        (
            {"answer": M},
            {"key": keyed_by("answer")},
            ValueError,
            "public column",
        ),
        (
            {"answer": M},
            {"key": keyed_by("no")},
            ValueError,
            "is not there",
        ),
        ({"answer": M}, {"unknown": "skip"}, ValueError, "unknown must be one of"),
    ],
)
def test_what_cannot_be_is_refused_from_declarations(plan, options, kind, text):
    """A wrong column, plan, key, id or policy is refused before there is a batch."""
    refused(kind, text, BatchRelease, SCHEMA, plan, **options)


def test_a_column_that_is_not_there_is_answered_with_twenty_names():
    """A wide file does not flood the error with all its names."""
    wide = pa.schema([(f"q{i}", pa.string()) for i in range(22)])
    error = refused(ValueError, "^column 'answer' is not there;", BatchRelease, wide, {"answer": M})
    assert ", ".join(f"'q{i}'" for i in range(20)) == error.partition("; the columns are ")[2]


def test_a_batch_of_another_schema_is_refused():
    """Names and types must be those declared."""
    release = BatchRelease(SCHEMA, {"answer": M})
    with pytest.raises(rr.errors.ArgumentTypeError, match="columns of the schema"):
        release.reports(batch().select(["answer"]))
    wide = batch().set_column(1, "answer", batch().column(1).cast(pa.large_string()))
    refused(rr.errors.ArgumentTypeError, "large_string", release.reports, wide)


def test_a_release_does_not_travel():
    """Pickled it would draw the same noise in two places."""
    with pytest.raises(rr.errors.ArgumentTypeError, match="cannot be pickled"):
        pickle.dumps(BatchRelease(SCHEMA, {"answer": M}))


def test_an_error_with_a_cell_in_it_does_not_get_out():
    """Whatever fails, its text and what it carries along stay inside; errors of ours pass."""

    def broken(text):
        raise KeyError(text)

    with pytest.raises(rr.errors.FileError, match="KeyError") as caught:
        careful(broken, "a secret cell")
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)
