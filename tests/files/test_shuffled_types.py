"""No type of Arrow shows the order of the source's rows after a shuffle, in any format.

Each type is a public column of a file that is sorted by the answer.  Its cells are tokens in an
order that nothing but the source's rows has.  The released file is searched for tokens that follow
one another as in the source: in its bytes, and in all buffers that a reader gets, also behind
views and in dictionaries.  A column may be refused by its name instead.
"""

import datetime
import hashlib
import itertools
import re
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

import pyarrow.compute as pc  # after importorskip
import pyarrow.parquet as pq  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.data import compact  # after importorskip
from rrstats.errors import (  # after importorskip
    ArgumentTypeError,
    FileError,
    RRStatsWarning,
)
from rrstats.files import batches  # after importorskip
from rrstats.files import shuffle as shuffling  # after importorskip

N = 200
"""Rows, each with a token of its own; as many as one byte can tell apart."""

LONGEST_RUN = 20
"""A listing of tokens in random order has so long a rise with probability 200 / 20! < 1e-16."""

TOKENS = [int(token) for token in np.random.default_rng(8).permutation(N) + 1]
"""In the order of the source; sorting them tells nothing."""


def scattered(token, bits):
    """A token as a number that fills its bytes."""
    return int.from_bytes(hashlib.sha256(bytes([token])).digest()[:8], "little") >> (65 - bits)


def word(token):
    """Longer than the 12 letters that a view holds itself."""
    return f"w{hashlib.sha256(bytes([token])).hexdigest()[:20]}"


def cells(make, type):
    return pa.array([make(token) for token in TOKENS], type)


def signed(token):
    """One byte, neither 0 nor 255, which fill wider numbers."""
    return token if token < 128 else token - 256


def days(token):
    return datetime.date(1990, 1, 1) + datetime.timedelta(days=scattered(token, 15))


def numbers(bits, type):
    return lambda: cells(lambda token: scattered(token, bits), type)


def views(kind):
    """Views of each row's own value, in the order of the rows."""
    offsets = np.arange(N, dtype=np.int32)
    values = cells(word, pa.string())
    large = kind is pa.LargeListViewArray
    offsets = offsets.astype(np.int64) if large else offsets
    return kind.from_arrays(pa.array(offsets), pa.array(np.ones_like(offsets)), values)


def shared_views():
    """Views that overlap, and leave a hole."""
    starts = pa.array(range(1, N + 1), pa.int32())
    sizes = pa.array([2] * N, pa.int32())
    values = pa.array(["hole", *map(word, TOKENS), "end"])
    return pa.ListViewArray.from_arrays(starts, sizes, values)


def dictionaries(values=None, ordered=False):
    values = cells(word, pa.string()) if values is None else values
    codes = pa.array(range(len(values)), pa.int16())
    return pa.DictionaryArray.from_arrays(codes, values, ordered=ordered)


def unions(dense):
    kinds = pa.array(np.arange(N) % 2, pa.int8())
    texts = cells(word, pa.string())
    numbers_ = numbers(63, pa.int64())()
    if dense:
        places = pa.array(np.arange(N) // 2, pa.int32())
        children = [texts.take(pa.array(range(0, N, 2))), numbers_.take(pa.array(range(1, N, 2)))]
        return pa.UnionArray.from_dense(kinds, places, children)
    return pa.UnionArray.from_sparse(kinds, [texts, numbers_])


def newer(name, *arguments):
    """A type of a newer pyarrow, looked up by name."""
    factory = getattr(pa, name, None)
    if factory is None:
        pytest.skip(f"pyarrow {pa.__version__} has no type {name}")
    return factory(*arguments)


def extension(storage, name, *arguments):
    return pa.ExtensionArray.from_storage(newer(name, *arguments), storage)


def sixteen(token):
    return hashlib.sha256(bytes([token])).digest()[:16]


def lists_of(leaf, kind=pa.ListArray):
    return kind.from_arrays(pa.array(range(len(leaf) + 1), pa.int32()), leaf)


def decimals(factory, digits):
    type = newer(factory, digits, 2)
    return cells(lambda token: Decimal(scattered(token, digits * 3)).scaleb(-2), type)


def tensors():
    values = numbers(31, pa.int32())()
    storage = pa.FixedSizeListArray.from_arrays(values, 1)
    return extension(storage, "fixed_shape_tensor", pa.int32(), [1])


def as_view(array, factory):
    try:
        return array.cast(newer(factory))
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} cannot make a {factory}")


def times(type, bits):
    return lambda: numbers(bits, pa.int64())().cast(type)


LEAVES = {
    "bool": lambda: pa.array(np.random.default_rng(9).random(N) < 0.5),
    "int8": lambda: cells(signed, pa.int8()),
    "int16": numbers(15, pa.int16()),
    "int32": numbers(31, pa.int32()),
    "int64": numbers(63, pa.int64()),
    "uint8": lambda: cells(int, pa.uint8()),
    "uint16": numbers(16, pa.uint16()),
    "uint32": numbers(32, pa.uint32()),
    "uint64": numbers(64, pa.uint64()),
    "float16": lambda: pa.array(np.array([token * 7.5 for token in TOKENS], np.float16)),
    "float32": lambda: pa.array(np.array([1 / token for token in TOKENS], np.float32)),
    "float64": lambda: pa.array([1 / token for token in TOKENS]),
    "decimal32": lambda: decimals("decimal32", 9),
    "decimal64": lambda: decimals("decimal64", 18),
    "decimal128": lambda: decimals("decimal128", 20),
    "decimal256": lambda: decimals("decimal256", 20),
    "date32": lambda: cells(days, pa.date32()),
    "date64": lambda: cells(days, pa.date64()),
    "time32": lambda: cells(lambda token: scattered(token, 16), pa.time32("s")),
    "time64": lambda: cells(lambda token: scattered(token, 36), pa.time64("us")),
    "timestamp[ns]": times(pa.timestamp("ns"), 62),
    "timestamp[us, UTC]": times(pa.timestamp("us", "UTC"), 50),
    "duration": times(pa.duration("ms"), 50),
    "interval": lambda: cells(
        lambda token: (token, scattered(token, 14), scattered(token, 40)),
        pa.month_day_nano_interval(),
    ),
    "string": lambda: cells(word, pa.string()),
    "large_string": lambda: cells(word, pa.large_string()),
    "string_view": lambda: as_view(cells(word, pa.string()), "string_view"),
    "binary": lambda: cells(sixteen, pa.binary()),
    "large_binary": lambda: cells(sixteen, pa.large_binary()),
    "fixed_size_binary": lambda: cells(sixteen, pa.binary(16)),
    "binary_view": lambda: as_view(cells(sixteen, pa.binary()), "binary_view"),
    "uuid": lambda: extension(cells(sixteen, pa.binary(16)), "uuid"),
    "bool8": lambda: extension(cells(signed, pa.int8()), "bool8"),
    "json": lambda: extension(cells(lambda token: f'"{word(token)}"', pa.string()), "json_"),
    "opaque": lambda: extension(
        cells(sixteen, pa.binary()), "opaque", pa.binary(), "type", "vendor"
    ),
    "fixed_shape_tensor": tensors,
    "null": lambda: pa.nulls(N),
    "dictionary": dictionaries,
    "ordered dictionary": lambda: dictionaries(ordered=True),
    "dictionary of numbers": lambda: dictionaries(numbers(63, pa.int64())()),
    "dictionary of dates": lambda: dictionaries(cells(days, pa.date32()).unique()),
    "dictionary of views": lambda: dictionaries(as_view(cells(word, pa.string()), "string_view")),
    "dictionary of lists": lambda: dictionaries(lists_of(cells(word, pa.string()))),
    "run_end_encoded": lambda: pc.run_end_encode(cells(word, pa.string())),
    "dense_union": lambda: unions(dense=True),
    "sparse_union": lambda: unions(dense=False),
    "list_view": lambda: views(pa.ListViewArray),
    "large_list_view": lambda: views(pa.LargeListViewArray),
    "overlapping list_view": shared_views,
    "list_view of list_view": lambda: pa.ListViewArray.from_arrays(
        pa.array(range(N), pa.int32()),
        pa.array([1] * N, pa.int32()),
        views(pa.ListViewArray),
    ),
    "list_view of string_view": lambda: pa.ListViewArray.from_arrays(
        pa.array(range(N), pa.int32()),
        pa.array([1] * N, pa.int32()),
        as_view(cells(word, pa.string()), "string_view"),
    ),
}

LIST_VIEWS = tuple(name for name in LEAVES if "list_view" in name)

REFUSED = ("run_end_encoded", "dense_union", "sparse_union", *LIST_VIEWS)

PLACES = {
    "alone": lambda leaf: leaf,
    "in a struct": lambda leaf: pa.StructArray.from_arrays([leaf], ["inside"]),
    "in a list": lists_of,
    "in a large list": lambda leaf: pa.LargeListArray.from_arrays(
        pa.array(range(len(leaf) + 1), pa.int64()), leaf
    ),
    "in a list of structs": lambda leaf: lists_of(pa.StructArray.from_arrays([leaf], ["inside"])),
}


# -- the search -----------------------------------------------------------------------------


def buffers_of(array):
    """All buffers behind an array, with those of dictionaries and storages."""
    if isinstance(array.type, pa.BaseExtensionType):
        return buffers_of(array.storage)
    if pa.types.is_dictionary(array.type):
        return [*array.indices.buffers(), *buffers_of(array.dictionary)]
    return array.buffers()


def leaves_of(array):
    """The arrays without children below an array, in their own types."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return leaves_of(array.storage)
    if pa.types.is_dictionary(type):
        return leaves_of(array.dictionary)
    if pa.types.is_map(type):
        return leaves_of(array.items)
    if pa.types.is_struct(type):
        return leaves_of(array.field(0))
    if pa.types.is_union(type):
        return [*leaves_of(array.field(0)), *leaves_of(array.field(1))]
    if pa.types.is_run_end_encoded(type) or type.num_fields:
        return leaves_of(array.values)
    return [array]


def patterns_of(leaf):
    """The bytes of each cell, in the source's order; also reversed, as Parquet has decimals."""
    if pa.types.is_string_view(leaf.type) or pa.types.is_binary_view(leaf.type):
        leaf = leaf.cast(pa.binary())
    if leaf.type.id in (pa.binary().id, pa.large_binary().id, pa.string().id, pa.large_string().id):
        return [
            cell.as_py() if isinstance(cell.as_py(), bytes) else cell.as_py().encode()
            for cell in leaf
        ]
    width = leaf.type.bit_width // 8
    data = leaf.buffers()[1].to_pybytes()[leaf.offset * width :]
    return [data[place * width : (place + 1) * width] for place in range(len(leaf))]


def longest_run(ranks):
    """The length of the longest stretch that rises, or falls; repeated ranks count once."""
    longest = 1
    for sign in (1, -1):
        run = 1
        for before, after in itertools.pairwise(ranks):
            if before != after:
                run = run + 1 if sign * after > sign * before else 1
            longest = max(longest, run)
    return longest


def shows_order(content, leaf):
    """True if bytes list the cells of a leaf in the order of the source, or in the opposite."""
    if pa.types.is_null(leaf.type):
        return False
    if pa.types.is_boolean(leaf.type):
        bits = "".join("01"[bit] for bit in leaf.to_pylist())
        listed = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
        text = (listed + ord("0")).tobytes().decode()
        return any(bits[start : start + 64] in text for start in range(0, N - 64, 8))
    patterns = patterns_of(leaf)
    for turn in (1, -1):
        turned = [pattern[::turn] for pattern in patterns]
        if len(set(turned[0])) == 1 and len(turned[0]) > 1 and turn == -1:
            continue
        ranks = {pattern: rank for rank, pattern in reversed(list(enumerate(turned)))}
        search = re.compile(b"|".join(re.escape(pattern) for pattern in ranks), re.DOTALL)
        if longest_run([ranks[match[0]] for match in search.finditer(content)]) >= LONGEST_RUN:
            return True
    return False


def contents(path):
    """The bytes of a file, the buffers of the public column as a reader gets it, and metadata."""
    yield path.read_bytes()
    table = read(path)
    for chunk in table["public"].chunks:
        yield from (buffer.to_pybytes() for buffer in buffers_of(chunk) if buffer is not None)
    for facts in (table.schema.metadata, *(field.metadata for field in table.schema)):
        yield from (facts or {}).values()


def shown_by(path, column):
    """True if a file shows the order of a column's cells."""
    leaves = leaves_of(column)
    return any(shows_order(content, leaf) for content in contents(path) for leaf in leaves)


# -- the files ------------------------------------------------------------------------------


def write_parquet(table, path):
    pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=90)


def write_parquet_dictionaries(table, path):
    pq.write_table(table, path, compression="none", use_dictionary=True)


def write_ipc(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "parquet": (".parquet", write_parquet),
    "parquet with dictionaries": (".parquet", write_parquet_dictionaries),
    "arrow": (".arrow", write_ipc),
}


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return pa.ipc.open_file(path).read_all()


def sorted_by_answer(column):
    answers = np.repeat(["no", "yes"], [len(column) // 2, len(column) - len(column) // 2])
    return pa.table({"answer": answers, "public": column})


def release(source, **options):
    target = source.with_name(f"target{source.suffix}")
    return rr.files.privatize_file(
        source, target, {"answer": rr.KRR(["no", "yes"], 0.75)}, **options
    )


def check_no_order(tmp_path, column, form):
    """Release a column with shuffled rows; it is refused by name, or does not show the order."""
    ending, write = WRITERS[form]
    source = tmp_path / f"source{ending}"
    try:
        write(sorted_by_answer(column), source)
        chunks = read(source)["public"]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError):
        pytest.skip(f"pyarrow {pa.__version__} writes or reads no {column.type} in {form}")
    if leaves_of(column)[0].type in (pa.date64(), pa.time32("s")):  # Parquet has other units
        column = chunks.combine_chunks()
    if pa.types.is_null(leaves_of(column)[0].type):
        assert not shown_by(source, column)
    else:  # control: the search finds the order of the source
        assert shown_by(source, column)
    try:
        receipt = release(source, shuffle_rows=True)
    except FileError as refusal:
        message = str(refusal)
        assert "column 'public' cannot be shuffled" in message
        return "refused"
    except ArgumentTypeError as refusal:  # of a type that is not even copied
        message = str(refusal)
        assert "has the type 'list_view" in message or "'large_list_view" in message
        assert not list(tmp_path.glob("target*"))
        return "refused"
    assert not shown_by(receipt.target, column)
    out = read(receipt.target)["public"]
    assert Counter(map(repr, chunks.to_pylist())) == Counter(map(repr, out.to_pylist()))
    if not pa.types.is_dictionary(chunks.type):
        assert chunks.type == out.type
    return "shuffled"


@pytest.fixture
def spilled(monkeypatch):
    """Buckets and row groups of a large file, for a small one: rows are moved twice."""
    monkeypatch.setattr(shuffling, "BUCKET_BYTES", 2000)
    monkeypatch.setattr(batches, "GROUP_ROWS", 512)
    monkeypatch.setattr(batches, "EVEN_ROWS", 64)


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("leaf", LEAVES)
def test_no_type_shows_the_order_of_the_source(tmp_path, leaf, form):
    """The rows that are in memory at once; few types are refused."""
    outcome = check_no_order(tmp_path, LEAVES[leaf](), form)
    assert ("refused" if leaf in REFUSED else "shuffled") == outcome


@pytest.mark.parametrize("leaf", ["string", "int64", "float64", "date32", "timestamp[ns]"])
def test_lines_of_text_do_not_show_the_order_of_the_source(tmp_path, leaf):
    """Cells of all types are text in a CSV file."""
    source = tmp_path / "source.csv"
    words = LEAVES[leaf]().cast(pa.string())
    answers = ["no"] * (N // 2) + ["yes"] * (N // 2)
    lines = [f"{answer},{cell}" for answer, cell in zip(answers, words.to_pylist(), strict=True)]
    source.write_text("\n".join(["answer,public", *lines]) + "\n")
    assert shows_order(source.read_bytes(), words)
    target = release(source, shuffle_rows=True).target
    assert not shows_order(target.read_bytes(), words)
    cells_of = [line.partition(",")[2] for line in target.read_text().splitlines()[1:]]
    assert sorted(words.to_pylist()) == sorted(cells_of)


@pytest.mark.slow
@pytest.mark.usefixtures("spilled")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("leaf", LEAVES)
def test_no_type_shows_the_order_wherever_it_is(tmp_path, leaf, form, place):
    """Inside other types, and through the file of spilled rows."""
    try:
        column = PLACES[place](LEAVES[leaf]())
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} cannot put {leaf} {place}")
    check_no_order(tmp_path, column, form)


# -- views as text, and back -------------------------------------------------------------------


def nested_views(seed):
    """Views of text inside each nested type that may hold them, some cells missing."""
    generator = np.random.default_rng(seed)
    missing = generator.random(40) < 0.3
    words = ["a word that is longer than a view", "short", "", None]
    leaf = pa.array([words[place] for place in generator.integers(0, 4, 40)])
    leaf = as_view(leaf, "string_view")
    yield leaf
    nulls = pa.array(missing)
    yield pa.StructArray.from_arrays([leaf, pa.array(range(40))], ["a", "b"], mask=nulls)
    offsets = pa.array([0, 3, None, 3, 20, 40], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, leaf)
    yield lists
    yield pa.LargeListArray.from_arrays(pa.array([0, 1, 1, 5], pa.int64()), lists)
    yield pa.FixedSizeListArray.from_arrays(leaf, 4)


@pytest.mark.parametrize("seed", range(5))
def test_views_are_the_same_cells_as_text_and_as_views_again(seed):
    """Also of slices, which begin in the middle of their buffers."""
    for array in nested_views(seed):
        for part in (array, array.slice(2), array.slice(1, 3), array.slice(0, 0)):
            plain = compact.compacted(part)
            plain.validate(full=True)
            assert compact.compact_type(part.type) == plain.type != part.type
            assert part.to_pylist() == plain.to_pylist()
            order = pa.array(range(len(part) - 1, -1, -1), pa.int64())
            again = compact.converted(plain.take(order), part.type)
            again.validate(full=True)
            assert part.type == again.type
            assert part.to_pylist()[::-1] == again.to_pylist()


def test_types_that_are_not_known_are_not_moved():
    """A map of views, views of lists, unions, and whatever is not listed."""
    for type in (
        pa.map_(pa.string(), pa.string_view()),
        pa.list_view(pa.int8()),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.struct([("a", pa.run_end_encoded(pa.int32(), pa.int8()))]),
        pa.dictionary(pa.int8(), pa.string()),
    ):
        assert compact.compact_type(type) is None


# -- words in the order of the rows ------------------------------------------------------------


def cities():
    """A Polars frame sorted by the answer, whose Enum has its words in the order of the rows."""
    pl = pytest.importorskip("polars")
    frame = sorted_by_answer(pa.array([word(token) for token in TOKENS]))
    frame = pl.DataFrame({name: frame[name].to_pylist() for name in frame.column_names})
    words = frame["public"].unique(maintain_order=True)
    return frame.with_columns(public=frame["public"].cast(pl.Enum(words)))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_an_enum_of_polars_does_not_show_the_order_of_the_rows(tmp_path, ending):
    """It is exported as ordered, and its words stand in the metadata of the field, too."""
    frame, source = cities(), tmp_path / f"source.{ending}"
    write = frame.write_parquet if ending == "parquet" else frame.write_ipc
    write(source, compression="uncompressed")
    leaf = pa.array([word(token) for token in TOKENS])
    assert shown_by(source, leaf)
    receipt = release(source, shuffle_rows=True)
    assert not shown_by(receipt.target, leaf)
    out = read(receipt.target)["public"]
    assert sorted(leaf.to_pylist()) == sorted(out.to_pylist())
    assert not pa.types.is_dictionary(out.type)
    (note,) = receipt.notes
    assert "categories of column 'public' were written as plain values" in note
    assert [note] == receipt.to_dict()["notes"]
    assert note in repr(receipt)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_categories_of_pandas_come_back_where_they_were_declared(tmp_path, ending):
    """Public ones are plain text; those of the private column are its declared categories."""
    pd = pytest.importorskip("pandas")
    kinds = pd.Categorical(["low", "high"] * 45, ["low", "middle", "high"], ordered=True)
    answers = pd.Categorical(["yes", "no", "no"] * 30, ["yes", "no", "unused"])
    frame = pd.DataFrame({"answer": answers, "public": kinds})
    source = tmp_path / f"source.{ending}"
    frame.to_parquet(source) if ending == "parquet" else frame.to_feather(source)
    receipt = release(source, shuffle_rows=True)
    for out in (rr.files.read(receipt.target), read(receipt.target).to_pandas()):
        assert ["no", "yes"] == out["answer"].cat.categories.tolist()
        assert pd.api.types.is_string_dtype(out["public"].dtype)
        assert frame["public"].value_counts().loc["low"] == (out["public"] == "low").sum()
    described = read(receipt.target).schema.pandas_metadata["columns"]
    assert ["categorical", "unicode"] == [column["pandas_type"] for column in described]


def test_the_files_of_a_directory_have_one_schema(tmp_path):
    """Whatever words each of them has; the receipt has one note."""
    source = tmp_path / "source"
    source.mkdir()
    for part, words in enumerate([["never", "maybe"], ["often", "never"]]):
        column = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), words, ordered=True)
        pq.write_table(sorted_by_answer(column), source / f"{part}.parquet")
    receipt = release(source, shuffle_rows=True)
    types = {pq.read_table(path)["public"].type for path in receipt.target.glob("*.parquet")}
    assert {pa.string()} == types
    assert 1 == len(receipt.notes)


def test_keep_order_is_answered(tmp_path):
    """What was an argument is answered with the way on."""
    with pytest.raises(ArgumentTypeError, match=r"no keep_order: .* pd.Categorical"):
        release(tmp_path / "source.parquet", shuffle_rows=True, keep_order=["public"])


# -- the index of pandas -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_an_index_without_a_name_that_numbers_the_rows_is_left_out(tmp_path, ending):
    """What pandas stores after a filter or a sort; the rows are numbered anew."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"answer": ["no", "yes"] * 50, "public": range(100)})
    table = pa.Table.from_pandas(frame[frame["public"] % 3 > 0])
    assert "__index_level_0__" in table.column_names
    source = tmp_path / f"source.{ending}"
    write = pq.write_table if ending == "parquet" else write_ipc
    write(table, source)
    receipt = release(source, shuffle_rows=True)
    assert receipt.notes == ("column '__index_level_0__' was left out: it numbers the rows",)
    out = read(receipt.target)
    assert ["answer", "public"] == out.column_names
    assert list(range(len(out))) == out.to_pandas().index.tolist()
    kept = release(source, overwrite=True, again=True)  # rows in their order keep their numbers
    assert (
        table["__index_level_0__"].to_pylist() == read(kept.target)["__index_level_0__"].to_pylist()
    )
    assert () == kept.notes


@pytest.mark.parametrize("name", ["id", "Unnamed: 0"])
def test_a_column_that_numbers_the_rows_is_warned_of(tmp_path, name):
    """A named index, or one that was written as a column; ids in random order are not."""
    pd = pytest.importorskip("pandas")
    for place, ids in enumerate([np.arange(90) ** 2, np.random.default_rng(2).permutation(90)]):
        source = tmp_path / f"source{place}.parquet"
        frame = pd.DataFrame({"answer": ["no", "yes"] * 45, name: ids})
        frame = frame.set_index("id") if name == "id" else frame
        frame.to_parquet(source)
        if place:
            receipt = release(source, shuffle_rows=True, overwrite=True)
            assert () == receipt.notes
        else:
            with pytest.warns(RRStatsWarning, match=f"public column '{name}' seems to number"):
                receipt = release(source, shuffle_rows=True)
            assert 1 == len(receipt.notes)
        assert sorted(ids) == sorted(pd.read_parquet(receipt.target).reset_index()[name])


def test_an_index_in_a_text_file_is_warned_of(tmp_path):
    """pandas writes it as a first column without a name."""
    source = tmp_path / "source.csv"
    pytest.importorskip("pandas").DataFrame({"answer": ["no", "yes"] * 45}).to_csv(source)
    with pytest.warns(RRStatsWarning, match="public column '' seems to number the rows"):
        release(source, shuffle_rows=True)
