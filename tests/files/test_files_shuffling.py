"""All rows in a uniformly random order: proved on every stream of tiny words."""

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scripted

from rrstats.errors import FileError

pa = pytest.importorskip("pyarrow")
shuffling = pytest.importorskip("rrstats.files.shuffle")
Shuffle = shuffling.Shuffle

ROWS = pa.schema([("row", pa.int64())])


def shuffled(folder, table, expected=0, rng=None, size=None, **options):
    """The table's rows as they come out, one table."""
    with Shuffle(folder, table.schema, expected, rng=rng, **options) as shuffle:
        for batch in table.to_batches(max_chunksize=size):
            shuffle.add(batch)
        schema = shuffle.finish()
        batches = list(shuffle.batches())
    assert all(batch.schema.equals(schema, check_metadata=True) for batch in batches)
    return pa.Table.from_batches(batches, schema)


def numbered(rows):
    return pa.table({"row": pa.array(range(rows), pa.int64())})


def order(folder, rows, **options):
    return tuple(shuffled(folder, numbered(rows), **options)["row"].to_pylist())


def tiny_buckets(monkeypatch, rows, size=8):
    """Buckets of about so many rows (of ``size`` bytes), so that a few rows are spilled."""
    monkeypatch.setattr(shuffling, "BUCKET_BYTES", rows * (size + shuffling.ORDER_BYTES))


# -- exactly ----------------------------------------------------------------------------------


class Streams:
    """Words for one shuffle of 3 rows: the buckets first, then each bucket's order."""

    bits = 2
    secure = True

    def __init__(self, words):
        self._words = iter(words)

    def words(self, stream, block, rows, round, bits):
        assert round == 0
        return np.array([next(self._words) for _ in range(rows)], dtype=np.uint8)


def shuffle_distribution(folder):
    """How often each order of 3 rows comes, over all words for 2 buckets and their orders."""
    found, table = Counter(), numbered(3)
    for words in itertools.product(range(4), repeat=6):
        # 2-bit words below 2: the words 0, 1 and 2, 3 are the same bucket.
        if any(word % 2 for word in words[:3]):
            continue
        try:
            found[order(folder, 3, rng=Streams(words), expected=table.nbytes)] += 1
        except AssertionError:
            found["tied"] += 1
    return found


def test_spilled_rows_come_in_every_order_equally_often(tmp_path, monkeypatch):
    """Through files and two buckets, on every stream of words, exactly.

    All words of the order are different with probability 4 * 3 * 2 / 64 for 3 rows in one
    bucket (2 of 8 ways), and 4 * 3 / 16 for 2 and 1 (6 of 8 ways).
    """
    tiny_buckets(monkeypatch, 2)
    spilled = []
    real = shuffling.tempfile.TemporaryFile
    monkeypatch.setattr(
        shuffling.tempfile, "TemporaryFile", lambda **o: spilled.append(real(**o)) or spilled[-1]
    )
    found = shuffle_distribution(tmp_path)
    assert 8 * 64 == len(spilled)
    tied = found.pop("tied")
    decided = Fraction(1, 4) * Fraction(24, 64) + Fraction(3, 4) * Fraction(12, 16)
    assert decided == 1 - Fraction(tied, 8 * 64)
    assert set(itertools.permutations(range(3))) == set(found)
    assert {decided / 6} == {Fraction(count, 8 * 64) for count in found.values()}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["order", "buckets", "one bucket's order"])
def test_a_fault_in_the_shuffle_would_be_found(tmp_path, monkeypatch, fault):
    """Planted: buckets not permuted, rows dealt out in turn, one bucket left as it is."""
    tiny_buckets(monkeypatch, 2)
    real, calls = shuffling.permutation, itertools.count()

    def faulty(source, stream, block, rows):
        drawn = real(source, stream, block, rows)
        left = fault == "order" or (fault.startswith("one") and next(calls) % 2)
        return np.arange(rows) if left else drawn

    if fault == "buckets":
        monkeypatch.setattr(
            shuffling, "below", lambda s, t, b, rows, bound: np.arange(rows, dtype=np.uint8) % bound
        )
    else:
        monkeypatch.setattr(shuffling, "permutation", faulty)
    found = shuffle_distribution(tmp_path)
    del found["tied"]
    assert len(found) < 6 or 1 < len(set(found.values()))


# -- what the order depends on ----------------------------------------------------------------


@pytest.mark.parametrize("rows_of_a_bucket", [1000, 20])
def test_the_order_does_not_depend_on_values(tmp_path, monkeypatch, rows_of_a_bucket):
    """Under the same words, other values come in the same order, and the same words are asked."""
    tiny_buckets(monkeypatch, rows_of_a_bucket, size=16)
    orders, asked = [], []
    rows = np.arange(300)
    for values in (rows, -rows, np.zeros(300, int), np.sort(rows % 7)):
        source = scripted.Recorded(scripted.Counting(5))
        table = pa.table({"row": rows, "value": values})
        out = shuffled(tmp_path, table, expected=300 * 16, rng=source, size=64)
        assert values[out["row"].to_numpy()].tolist() == out["value"].to_pylist()
        orders.append(out["row"].to_pylist())
        asked.append(source.log)
    assert sorted(orders[0]) == rows.tolist()
    assert orders[0] != rows.tolist()
    assert orders[:1] * 4 == orders
    assert asked[:1] * 4 == asked


def test_no_word_is_used_twice(tmp_path, monkeypatch):
    """Every draw has a block of its own, also where buckets are shuffled again."""
    tiny_buckets(monkeypatch, 20)
    source = scripted.Recorded(scripted.Counting(5))
    assert 3000 == len(set(order(tmp_path, 3000, expected=8 * 200, rng=source, size=100)))
    addresses = [(asked.stream, asked.block, asked.round) for asked in source.log]
    assert len(addresses) == len(set(addresses))
    assert {shuffling.BUCKET_STREAM, shuffling.ORDER_STREAM} == source.streams()


# -- all rows, whatever they hold -------------------------------------------------------------


def of_every_type(rows):
    """A table with a column of each type that files hold, nulls in all of them."""
    numbers = list(range(rows))

    def some(make):
        return [None if number % 7 == 3 else make(number) for number in numbers]

    words = some(lambda n: f"word {n % 5}" * (n % 4))
    return pa.table(
        {
            "row": pa.array(numbers, pa.int64()),
            "flag": pa.array(some(lambda n: n % 2 == 0)),
            "text": pa.array(words),
            "large": pa.array(words, pa.large_string()),
            "bytes": pa.array(some(lambda n: bytes([n % 256] * (n % 3)))),
            "time": pa.array(some(lambda n: n), pa.timestamp("us", tz="UTC")),
            "list": pa.array(some(lambda n: list(range(n % 3))), pa.list_(pa.int16())),
            "struct": pa.array(some(lambda n: {"a": n, "b": str(n)})),
            "category": pa.array(words).dictionary_encode(),
            "nothing": pa.nulls(rows),
        }
    ).replace_schema_metadata({"pandas": "{}"})


@pytest.mark.parametrize("rows_of_a_bucket", [10_000, 40, 2])
def test_rows_of_every_type_stay_whole(tmp_path, monkeypatch, rows_of_a_bucket):
    """Each row comes out once with all its cells; types and metadata stay."""
    tiny_buckets(monkeypatch, rows_of_a_bucket, size=100)
    table = of_every_type(500)
    out = shuffled(tmp_path, table, expected=table.nbytes, size=70)
    assert table["row"].to_pylist() != out["row"].to_pylist()
    assert table.to_pylist() == out.sort_by("row").to_pylist()
    place = table.schema.get_field_index("category")
    plain = table.schema.set(place, pa.field("category", pa.string()))
    assert plain.equals(out.schema, check_metadata=True)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(tmp_path, rows):
    """Nothing comes of nothing."""
    assert tuple(range(rows)) == order(tmp_path, rows)
    with Shuffle(tmp_path, ROWS, 0) as shuffle:
        assert [] == list(shuffle.batches())


# -- dictionaries -----------------------------------------------------------------------------


def dictionary(values, indices, type=None, ordered=False):
    type = type or pa.int8()
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, type), pa.array(values), ordered=ordered
    )


@pytest.mark.parametrize("ordered", [False, True])
def test_metadata_of_a_dictionary_column_is_dropped(tmp_path, ordered):
    """Polars lists the words of an Enum there, in their order; field numbers are kept."""
    facts = {"_PL_ENUM_VALUES2": "2;zz1;b1;a", "PARQUET:field_id": "7"}
    column = dictionary(["zz", "b", "a"], [0, 1, 2], ordered=ordered)
    schema = pa.schema([pa.field("a", column.type, metadata=facts)])
    out = shuffled(tmp_path, pa.table([column], schema=schema))
    assert {b"PARQUET:field_id": b"7"} == out.schema.field("a").metadata


@pytest.mark.parametrize("numbers", [range(9), range(9, 0, -1), [1.5, 2, 8], ["a", "b"]])
def test_a_watched_column_that_rises_or_falls_is_listed(tmp_path, numbers):
    """It restores the order of the rows; a column with equal, mixed or missing cells does not."""
    for cells, listed in (
        (list(numbers), True),
        ([*numbers, numbers[-1]], False),
        ([numbers[1], numbers[0], *numbers[1:]], False),
        ([*numbers, None], False),
        (list(numbers)[:1], False),
    ):
        table = pa.table({"a": cells})
        with Shuffle(tmp_path, table.schema, 0, watched=["a"]) as shuffle:
            for batch in table.to_batches(max_chunksize=1 if len(cells) < 9 else 4):
                shuffle.add(batch)
            shuffle.finish()
        assert (["a"] if listed else []) == shuffle.numbering


@pytest.mark.parametrize("rows_of_a_bucket", [1000, 2])
def test_public_dictionaries_become_plain_values(tmp_path, monkeypatch, rows_of_a_bucket):
    """Also those that change, as in Parquet, where each row group has its own; a note says so."""
    tiny_buckets(monkeypatch, rows_of_a_bucket)
    parts = [
        dictionary(["a", "b"], [0, 1, 1, None], ordered=True),
        dictionary(["b", "a", "c"], [0, 1, 2, 2], ordered=True),
        dictionary(["d", None], [0, 1, 0, None], ordered=True),
        dictionary(pa.array([], pa.string()), [None], ordered=True),
    ]
    with Shuffle(tmp_path, pa.schema([("a", parts[0].type)]), 10**6) as shuffle:
        for part in parts:
            shuffle.add(pa.record_batch([part], ["a"]))
        out = list(shuffle.batches())
    expected = Counter(itertools.chain.from_iterable(part.to_pylist() for part in parts))
    assert expected == Counter(cell for batch in out for cell in batch["a"].to_pylist())
    assert {pa.string()} == {batch["a"].type for batch in out}
    (note,) = shuffle.notes
    assert "categories of column 'a' were written as plain values" in note


@pytest.mark.parametrize("rows_of_a_bucket", [1000, 2])
def test_declared_dictionaries_stay_as_they_were(tmp_path, monkeypatch, rows_of_a_bucket):
    """Those of reports follow from the design: their order, and the words that no row has."""
    tiny_buckets(monkeypatch, rows_of_a_bucket)
    column = dictionary(["often", "never", "once"], [2, 0, None, 0] * 5, ordered=True)
    out = shuffled(tmp_path, pa.table({"a": column}), expected=10**6, size=3, declared=["a"])["a"]
    assert column.type == out.type
    for chunk in out.chunks:
        assert column.dictionary.equals(chunk.dictionary)
    assert Counter(column.to_pylist()) == Counter(out.to_pylist())


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["b", "a"], ["c"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.StructArray.from_arrays([dictionary(["x"], [0, 0])], ["inside"]),
    ],
)
def test_dictionaries_inside_of_a_column_are_refused(tmp_path, column):
    """They cannot be put into another order, and so they would tell that of the rows."""
    with pytest.raises(FileError, match="'a' cannot be shuffled: a dictionary inside"):
        shuffled(tmp_path, pa.table({"a": column}))


# -- the files --------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at open files")
def test_spilled_rows_lie_in_a_nameless_file_of_the_folder(tmp_path, monkeypatch):
    """Nothing remains, even after a kill; only the owner can read them; closed in the end."""
    tiny_buckets(monkeypatch, 20)

    def spilled():
        found = []
        for fd in Path("/proc/self/fd").iterdir():
            try:
                link = str(fd.readlink())
            except FileNotFoundError:
                continue
            if link.startswith(str(tmp_path)):
                found.append(fd.stat())
        return found

    def broken():
        with Shuffle(tmp_path, ROWS, 8 * 1000) as shuffle:
            shuffle.add(numbered(1000).to_batches()[0])
            assert [] == list(tmp_path.iterdir())
            found = spilled()
            assert {(0o600, 0)} == {(stat.st_mode & 0o777, stat.st_nlink) for stat in found}
            assert 1 == len(found)
            next(shuffle.batches())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert [] == spilled()
    order(tmp_path, 1000, expected=8000)
    assert [] == spilled()


def test_a_few_rows_are_not_spilled(tmp_path, monkeypatch):
    """What fits into one bucket stays in memory, whatever was expected."""
    monkeypatch.setattr(shuffling.tempfile, "TemporaryFile", lambda **_: pytest.fail("spilled"))
    assert 1000 == len(set(order(tmp_path, 1000, expected=10**12)))


def test_errors_of_arrow_quote_no_cell(tmp_path, monkeypatch):
    """They may hold a cell, so only the types are named, and the cause is dropped."""

    def refuse(*_):
        raise pa.ArrowInvalid("cannot move 'secret'")

    monkeypatch.setattr(shuffling, "permutation", refuse)
    with pytest.raises(FileError, match=r"one of their types \(int64\)") as caught:
        order(tmp_path, 10)
    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)
