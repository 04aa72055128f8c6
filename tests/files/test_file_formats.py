"""Each format is read and written so that only the private column changes."""

import datetime
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import file_samples as samples  # they need pyarrow
import pyarrow.feather as feather  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from answers import QUIET  # after importorskip
from file_samples import FORMATS, KRR, WORDS, privatize, written  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.files import batches  # after importorskip
from rrstats.files import csv as delimited  # after importorskip
from rrstats.mechanisms import records as column_records

NEW_PYARROW = int(pa.__version__.partition(".")[0]) >= 22


@pytest.fixture(params=[None, 7])
def small(request, monkeypatch):
    """Pieces of all rows at once, and pieces so small that their borders are exercised."""
    if request.param:
        monkeypatch.setattr(batches, "BATCH_ROWS", 64)
        monkeypatch.setattr(batches, "GROUP_ROWS", 90)
        monkeypatch.setattr(delimited, "BLOCK_BYTES", 300)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", FORMATS)
def test_only_the_private_column_changes(tmp_path, ending):
    """Where every report is the truth, the target is the source: cells, types, order, bytes."""
    source = written(tmp_path, ending)
    read = FORMATS[ending][1]
    before, after = read(source), read(privatize(source))
    if isinstance(before, bytes):
        assert before == after
    else:
        assert before.schema.equals(after.schema)
        assert before.equals(after)


# -- Parquet -------------------------------------------------------------------------------


def chunks(path):
    """The columns of each row group of a Parquet file, by path."""
    found = pq.read_metadata(path)
    return [
        {c["path_in_schema"]: c for c in found.row_group(g).to_dict()["columns"]}
        for g in range(found.num_row_groups)
    ]


def test_codecs_are_kept(tmp_path):
    """Each column keeps its codec; row groups are constant, and no order is claimed."""
    source = tmp_path / "source.parquet"
    names = [field.name for field in samples.table().schema]
    codecs = dict(zip(names, ["zstd", "gzip", "none", "snappy"] * 2, strict=False))
    codecs["list.list.element"] = codecs.pop("list")
    sorting = [pq.SortingColumn(0), pq.SortingColumn(1)]
    pq.write_table(
        samples.table(), source, row_group_size=123, compression=codecs, sorting_columns=sorting
    )
    before, after = chunks(source), chunks(privatize(source))
    assert [500] == [group["id"]["num_values"] for group in after]
    for key in ("compression", "physical_type"):
        assert {n: c[key] for n, c in before[0].items()} == {n: c[key] for n, c in after[0].items()}
    meta = pq.read_metadata(tmp_path / "target.parquet")
    assert () == tuple(meta.row_group(0).sorting_columns)


@pytest.mark.parametrize("row_group_size", [500, 123])
def test_row_groups_have_a_constant_number_of_rows(tmp_path, monkeypatch, row_group_size):
    """Whatever the source's; fewer where rows are wide; the rows stay in order."""
    source = tmp_path / "source.parquet"
    pq.write_table(samples.table(), source, row_group_size=row_group_size)
    monkeypatch.setattr(batches, "EVEN_ROWS", 10)
    monkeypatch.setattr(batches, "BATCH_ROWS", 64)
    monkeypatch.setattr(batches, "GROUP_ROWS", 150)
    target = privatize(source)
    assert [150, 150, 150, 50] == samples.rows_of(target)
    monkeypatch.setattr(batches, "GROUP_ROWS", 10**6)
    monkeypatch.setattr(batches, "GROUP_BYTES", 15_000)
    target = privatize(source, overwrite=True, again=True)
    sizes = samples.rows_of(target)
    assert 500 == sum(sizes)
    assert {sizes[0]} == set(sizes[:-1])
    assert 500 > sizes[0]
    assert pq.read_table(source).equals(pq.read_table(target))


def test_wide_rows_are_read_in_small_pieces(tmp_path):
    """The rows of a piece follow from their width."""
    source = tmp_path / "source.parquet"
    data = samples.table(2000).append_column("wide", pa.array(["w" * 50_000] * 2000))
    pq.write_table(data, source)
    part = files.formats.open_source(source).files[0]
    sizes = [piece.rows for piece in part.pieces({})]
    assert 2000 == sum(sizes)
    assert max(sizes) * 50_000 <= batches.GROUP_BYTES


def test_all_metadata_of_others_is_kept(tmp_path):
    """Key-values of anybody, field metadata, field ids, nullability and the pandas description."""
    fields = [
        pa.field("answer", pa.string(), nullable=False, metadata={"PARQUET:field_id": "41"}),
        pa.field("id", pa.int32(), nullable=False,
                 metadata={"PARQUET:field_id": "42", "note": "q 17", "é": "ü"}),
    ]  # fmt: skip
    extra = {"org.apache.spark.sql.parquet.row.metadata": '{"type":"struct"}', "mine": "\u00fc"}
    data = pa.table([pa.array(WORDS), pa.array([1, 2, 3], pa.int32())], pa.schema(fields, extra))
    source = tmp_path / "source.parquet"
    pq.write_table(data, source)
    before, after = pq.read_schema(source), pq.read_schema(privatize(source))
    assert before.equals(after)
    for field, kept in zip(before, after, strict=True):
        assert field.metadata == kept.metadata
        assert field.nullable == kept.nullable
    said = dict(after.metadata)
    assert {b"rrstats", b"PANDAS_ATTRS"} == set(said) - set(before.metadata)
    assert before.metadata == {k: said[k] for k in before.metadata}


def feather_schema(path):
    return pa.ipc.open_file(path).schema


SAID = {
    "avro.schema": {"fields": [{"name": "answer", "type": {"symbols": ["seen-in-data"]}}]},
    "huggingface": {"info": {"features": {"ANSWER": {"names": ["seen-in-data"]}}}},
    "org.apache.spark.sql.parquet.row.metadata": {
        "type": "struct",
        "fields": [
            {"name": "answer", "metadata": {"ml_attr": {"vals": ["seen-in-data"]}}},
            {"name": "id", "metadata": {"comment": "of a person"}},
        ],
    },
    "PANDAS_ATTRS": {
        "labels": {"answer": ["seen-in-data"]},
        "values": {"answer": ["seen-in-data"]},
        "wave": 3,
    },
    "r": "levels of\nanswer\nseen-in-data",
    "answer.levels": ["seen-in-data"],
    "text in text": [json.dumps("levels\nAnswer\nseen-in-data")],
    "mine": "wave 3",
}


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_what_was_said_of_the_private_column_stays_behind(tmp_path, ending):
    """Its field metadata and file-level descriptions may list answers; those of others stay."""
    fields = [
        pa.field("answer", pa.string(), metadata={"ml_attr": '{"vals": ["seen-in-data"]}'}),
        pa.field("id", pa.int64(), metadata={"note": "of a person"}),
    ]
    extra = {key: said if isinstance(said, str) else json.dumps(said) for key, said in SAID.items()}
    source = written(tmp_path, ending, pa.table([WORDS, [1, 2, 3]], pa.schema(fields, extra)))
    target = privatize(source)
    assert b"seen-in-data" in source.read_bytes()
    assert b"seen-in-data" not in target.read_bytes()
    schema = (pq.read_schema if ending == ".parquet" else feather_schema)(target)
    spark = json.loads(schema.metadata[b"org.apache.spark.sql.parquet.row.metadata"])
    assert schema.field("answer").metadata is None
    assert b"of a person" == schema.field("id").metadata[b"note"]
    assert [{}, {"comment": "of a person"}] == [field["metadata"] for field in spark["fields"]]
    assert b"wave 3" == schema.metadata[b"mine"]
    assert 3 == json.loads(schema.metadata[b"PANDAS_ATTRS"])["wave"]


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_a_column_becomes_nullable_only_where_reports_can_be_missing(tmp_path, ending):
    """By declaration: also where nobody is missing."""
    schema = pa.schema([pa.field("answer", pa.string(), nullable=False)])
    source = written(tmp_path, ending, pa.table([WORDS], schema=schema))
    found = []
    for columns, missing in (
        (KRR, "unknown"), (KRR, "keep"), (rr.KRR([*WORDS, None], 0.75), "unknown")
    ):  # fmt: skip
        options = {"missing": missing, "again": True, "overwrite": True}
        target = privatize(source, {"answer": columns}, **options)
        found.append(FORMATS[ending][1](target).schema.field("answer").nullable)
    assert [False, True, True] == found


def test_a_file_without_an_arrow_schema_gets_none(tmp_path):
    """As other engines write: key-values are kept, and types stay those of Parquet."""
    source = tmp_path / "source.parquet"
    data = samples.table().select(["answer", "id"])
    with pq.ParquetWriter(source, data.schema, store_schema=False) as writer:
        writer.write_table(data)
        writer.add_key_value_metadata({"spark": "1"})
    target = privatize(source)
    kept = pq.read_metadata(target).metadata
    assert {b"spark", b"rrstats", b"PANDAS_ATTRS"} == set(kept)
    assert "answer" in pd.read_parquet(target).rr.mechanisms


# -- pandas --------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["unknown", "keep"])
def test_plain_pandas_reads_the_frame_back(tmp_path, missing):
    """Index, dtypes, attrs: as they were, and the reports speak for themselves."""
    before = samples.frame()
    source = tmp_path / "source.parquet"
    before.to_parquet(source)
    columns = {"answer": KRR, "count": rr.KRR([0, 1, 2], 0.75), "grade": rr.KRR(["b", "a"], 0.75)}
    target = privatize(source, columns, missing=missing)
    after = pd.read_parquet(target)
    assert {"source": "survey 7"} == {k: v for k, v in after.attrs.items() if k != "rrstats"}
    grade = pd.CategoricalDtype(["b", "a"], ordered=True)
    expected = pd.read_parquet(source).astype({"grade": grade})
    pd.testing.assert_frame_equal(expected, after)
    assert set(columns) == set(after.rr.mechanisms)
    assert 3 == len(after[["answer"]].rr.estimate("answer").to_frame())  # no noise was drawn
    described = json.loads(pq.read_schema(target).metadata[b"pandas"])
    kinds = {c["name"]: c["metadata"] for c in described["columns"]}
    assert {"num_categories": 2, "ordered": True} == kinds["grade"]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("Int8", "Int64"), ("int8", "int64"), ("UInt8", "UInt8"), ("int8[pyarrow]", "int64[pyarrow]")],
)
def test_the_description_of_pandas_follows_a_wider_type(tmp_path, dtype, expected):
    """Categories that do not fit widen the type; pandas is told."""
    largest = 200 if expected == "UInt8" else 2**40
    source = tmp_path / "source.parquet"
    pd.DataFrame({"x": pd.array([1, 2, 1], dtype=dtype)}).to_parquet(source)
    target = privatize(source, {"x": rr.KRR([1, 2, largest], 0.75)})
    if "pyarrow" not in dtype:
        assert expected == str(pd.read_parquet(target)["x"].dtype)
    assert [1, 2, 1] == pd.read_parquet(target)["x"].tolist()


def test_feather_files_of_pandas_speak_too(tmp_path):
    """`pd.read_feather` finds attrs and types; where pyarrow is too old, rr.files still does."""
    source = tmp_path / "source.feather"
    samples.frame().reset_index().to_feather(source)
    target = privatize(source, {"answer": KRR, "grade": rr.KRR(["a", "b"], 0.75)})
    after = pd.read_feather(target)
    if NEW_PYARROW:
        assert "survey 7" == after.attrs["source"]
        assert 3 == len(after[["answer"]].rr.estimate("answer").to_frame())  # no noise was drawn
    assert ["a", "b"] == after["grade"].cat.categories.tolist()
    assert {"answer", "grade"} == {record.name for record in files.describe_file(target)}


def test_feather_files_of_others_speak_too(tmp_path):
    """Without any description of pandas one is begun; the types are read as before."""
    source = written(tmp_path, ".feather", samples.table().select(["answer", "tiny"]))
    after = pd.read_feather(privatize(source))
    assert ["answer", "tiny"] == list(after)
    assert "uint8" == str(after["tiny"].dtype)
    if NEW_PYARROW:
        assert 3 == len(after[["answer"]].rr.estimate("answer").to_frame())  # no noise was drawn


@pytest.mark.parametrize("name", ["answer", "Answer", "ANSWER"])
def test_an_index_that_copies_the_answers_is_refused(tmp_path, name):
    """pandas keeps an index of the same name apart, and with it every true answer."""
    source = tmp_path / "source.parquet"
    samples.frame().set_index("answer", drop=False).rename_axis(name).to_parquet(source)
    refused(rr.errors.ArgumentValueError, "reset_index", privatize, source)


def test_a_column_of_a_like_name_is_another_column(tmp_path):
    """Only an index is taken for a copy; and the index itself may be what is privatized."""
    source = tmp_path / "source.parquet"
    frame = samples.frame()
    frame["Answer"] = "x"
    frame.to_parquet(source)
    assert {"x"} == set(pd.read_parquet(privatize(source))["Answer"])
    frame.drop(columns="Answer").set_index("answer").to_parquet(source)
    target = privatize(source, again=True, overwrite=True)
    assert frame["answer"].tolist() == pd.read_parquet(target).index.tolist()


TYPES = {
    "inferred": ([True, False], "bool"),
    "boolean": ([True, False], "boolean"),
    "bool[pyarrow]": ([True, False], "bool[pyarrow]"),
    "Int8": ([1, 2], "Int8"),
    "Float32": ([0.5, 2.5], "Float32"),
    "double[pyarrow]": ([0.5, 2.5], "double[pyarrow]"),
    "string": (["a", "b"], "string"),
    "category": (["a", "b"], "category"),
}


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("dtype", TYPES)
def test_the_description_of_pandas_tells_nothing_of_answers(tmp_path, dtype, ending):
    """With a missing answer among them it is what it is without; pandas' own, where it can be."""
    categories, plain = TYPES[dtype]
    found = []
    for place, last in enumerate([categories[0], None]):
        folder = tmp_path / str(place)
        folder.mkdir()
        source = folder / f"source{ending}"
        chosen = None if dtype == "inferred" else dtype
        data = pd.DataFrame({"x": pd.Series([*categories, last], dtype=chosen)})
        getattr(data, "to_parquet" if ending == ".parquet" else "to_feather")(source)
        target = privatize(source, {"x": rr.KRR(categories, 0.75)})
        found.append(target.read_bytes())
        pandas = "read_parquet" if ending == ".parquet" else "read_feather"
        if "pyarrow" not in dtype or NEW_PYARROW:
            assert plain == str(getattr(pd, pandas)(target)["x"].dtype)
    assert found[0] == found[1]
    # Booleans that may be missing are objects without any missing one, too.
    kept = privatize(source, {"x": rr.KRR(categories, 0.75)}, missing="keep", again=True,
                     overwrite=True)  # fmt: skip
    after = getattr(pd, pandas)(kept)["x"]
    assert [*categories, True] == [*after[:2], after.isna()[2]]


# -- dictionaries --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".feather", ""])
def test_a_dictionary_column_stays_one(tmp_path, ending):
    """Its values are exactly the declared categories, whatever the source's were."""
    data = samples.table()
    private = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 2, 3] * 100, pa.int16()), pa.array(["often", "x", "never", "zz"])
    )
    source = written(tmp_path, ending, data.set_column(1, "answer", private))
    after = FORMATS[ending][1](privatize(source))
    column = after.column("answer").unify_dictionaries()
    assert WORDS == column.chunk(0).dictionary.to_pylist()
    assert ["often", "never"] == [column[0].as_py(), column[3].as_py()]
    assert data.column("kind").to_pylist() == after.column("kind").to_pylist()


def test_growing_dictionaries_are_read_whole(tmp_path):
    """An IPC file may add to a dictionary from batch to batch."""
    words = pa.array([f"kind {i}" for i in range(9)])
    batches = [
        pa.record_batch(
            [pa.array(WORDS), pa.DictionaryArray.from_arrays(pa.array([0, n, n]), words[: n + 1])],
            names=["answer", "kind"],
        )
        for n in (2, 5, 8)
    ]
    source = tmp_path / "source.arrow"
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_file(source, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    for shuffle in (False, True):
        target = privatize(source, shuffle_rows=shuffle, overwrite=True, again=True)
        found = samples.read_feather(target).column("kind").to_pylist()
        assert sorted(f"kind {i}" for n in (2, 5, 8) for i in (0, n, n)) == sorted(found)


# -- text ----------------------------------------------------------------------------------

KEPT = {
    "numbers": b"id,answer,n\n007,never,1.10\n1e5,once,-0\n",
    "empty": b'id,answer,n\n"",never,\n,once,""\n',
    "quotes": b'id,answer,n\n"a,""b""\nc",never,"x"\n"""",once,"\n"\n',
    "returns": b'id,answer\r\n"a\rb",never\r\n2,once\r\n',
    "returns at last": b"answer,id\r\nnever,1\r\nonce,2",
    "mark": b"\xef\xbb\xbfanswer,id\nnever,1\n",
    "quoted mark": b'\xef\xbb\xbf"answer","id"\nnever,1\n',
    "no end": b"id,answer\n1,never\n2,once",
    "blank lines": b"\n\nid,answer\n\n1,never\n\n\n2,once\n\n",
    "blank lines with returns": b"id,answer\r\n\r\n1,never\r\n\r\n2,once\r\n\r\n",
    "header in two lines": b'"i\nd",answer\n1,never\n',
    "semicolons": b"id;answer;n\n1;never;1,5\n2;once;2,5\n",
    "tabs": b"id\tanswer\n1\tnever\n",
    "unicode": "id,answer\né日本,never\n\u2028,once\n".encode(),
    "only answers": b"answer\nnever\nonce\n",
    "last": b"a,b,answer\n,,never\n,,once\n",
    "no rows": b"id,answer\n",
    "spaces": b"id , answer,answer\n 1 , x ,never\n",
}


@pytest.mark.parametrize("size", [1 << 20, 5])
@pytest.mark.parametrize("name", KEPT)
def test_text_stays_as_it_is(tmp_path, monkeypatch, name, size):
    """Not one byte changes where every report is the truth, however the file is cut in blocks."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", size)
    source = tmp_path / "source.csv"
    source.write_bytes(KEPT[name])
    target = privatize(source)
    assert KEPT[name] == target.read_bytes()
    rows = files.tally_file(target, "answer").n
    assert KEPT[name].count(b"never") + KEPT[name].count(b"once") == rows


def test_quoted_answers_are_answers(tmp_path):
    """A private cell is matched without its quotes, and written with quotes where needed."""
    source = tmp_path / "source.csv"
    source.write_bytes(b'answer,id\n"never",1\n"a ""b"", c",2\n"x\ny",3\n z,4\n')
    words = ["never", 'a "b", c', "x\ny", " z"]
    declared = words[::-1]  # not in the order of the data, which warns
    target = privatize(source, {"answer": rr.KRR(declared, 0.75)})
    assert words == pd.read_csv(target)["answer"].tolist()
    assert target.read_bytes().startswith(b'answer,id\nnever,1\n"a ""b"", c",2\n')
    assert [1, 1, 1, 1] == files.tally_file(target, "answer").reported.tolist()


def test_empty_cells_are_missing_answers(tmp_path):
    """A missing category is an empty cell, also a quoted one."""
    source = tmp_path / "source.csv"
    source.write_bytes(b'answer,id\nyes,1\n,2\n"",3\nno,4\n')
    target = privatize(source, {"answer": rr.KRR(["yes", "no", None], 0.75)})
    assert b"answer,id\nyes,1\n,2\n,3\nno,4\n" == target.read_bytes()
    assert [1, 1, 2] == files.tally_file(target, "answer").reported.tolist()
    target = privatize(source, {"answer": rr.KRR(["yes", "no"], 0.75)}, missing="keep", again=True,
                       overwrite=True)  # fmt: skip
    found = files.tally_file(target, "answer")
    assert (2, 2) == (found.n, found.n_missing)


def test_a_file_of_one_column_keeps_its_rows(tmp_path):
    """A missing report is quoted there: readers take an empty line for no row."""
    source = tmp_path / "source.csv"
    source.write_bytes(b'answer\nyes\n""\nno\n')
    target = privatize(source, {"answer": rr.KRR(["yes", "no", None], 0.75)})
    assert b'answer\nyes\n""\nno\n' == target.read_bytes()
    source.write_bytes(b"answer\nyes\n\nno\n")
    with pytest.raises(rr.files.formats.FileError, match="blank lines"):
        privatize(source, again=True, overwrite=True)


def test_whole_numbers_are_matched_in_their_plain_form(tmp_path):
    """5 is a category and 05 is not; the reports are numbers for every reader."""
    source = tmp_path / "source.csv"
    source.write_bytes(b"answer\n5\n05\n-1\n5.0\n 5\n")
    mechanism = rr.KRR([7, -1, 5], 0.75)
    receipt = samples.simulate_file(
        source, tmp_path / "target.csv", {"answer": mechanism}, rng=QUIET, unknown="uniform"
    )
    assert {"answer": {"unknown": 3, "missing": 0}} == receipt.private
    after = pd.read_csv(tmp_path / "target.csv")
    assert [5, 7, -1, 7, 7] == after["answer"].tolist()
    assert 5 == rr.estimate(after["answer"], mechanism).tally.n


@pytest.mark.parametrize(
    "categories", [["a", ""], [2**70, 1], [b"a", b"b"], ["a", 1], [datetime.date(2020, 1, 1), None]]
)
def test_other_categories_are_refused_in_text(tmp_path, categories):
    """Words that text cannot tell apart, or that have no one spelling; the next step is named."""
    source = tmp_path / "source.csv"
    source.write_bytes(b"answer\nTrue\n")
    with pytest.raises(rr.errors.ArgumentTypeError, match="CSV"):
        privatize(source, {"answer": rr.KRR(categories, 0.75)})


def test_two_private_columns_stand_in_their_places(tmp_path):
    """Whatever their order in the call, first and last column included."""
    source = tmp_path / "source.csv"
    text = b"a,x,b\nno,1,3\nyes,2,1\n"
    source.write_bytes(text)
    columns = {"b": rr.KRR([1, 3], 0.75), "a": rr.KRR(["yes", "no"], 0.75)}
    assert text == privatize(source, columns).read_bytes()
    shuffled = privatize(source, columns, shuffle_rows=True, overwrite=True, again=True)
    lines = shuffled.read_bytes().splitlines()
    assert b"a,x,b" == lines[0]
    assert sorted(text.splitlines()[1:]) == sorted(lines[1:])


@pytest.mark.parametrize("size", [1 << 20, 5])
@pytest.mark.parametrize("columns", ["id,answer,age", "answer,id", "id,answer"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_shuffled_lines_end_alike_without_blank_lines(tmp_path, monkeypatch, end, columns, size):
    """A line end of another kind, or a blank line after a row, would show where the row stood."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", size)
    cells = {"answer": "never", "age": '"4 2"'}
    rows = [",".join({**cells, "id": f"r{n}"}[name] for name in columns.split(",")) for n in "abcd"]
    ends = ["\n", "\r\n\n", "\n", "\r\n\r\n"]
    text = columns + end + "\n" + "".join(map("".join, zip(rows, ends, strict=True))) + rows[0]
    source = tmp_path / "in.csv"
    source.write_bytes(text.encode())
    out = privatize(source, shuffle_rows=True).read_bytes().decode()
    lines = out.split(end)
    assert [columns, ""] == [lines[0], lines.pop()]
    assert 6 == len(lines) == out.count("\n")
    assert sorted([*rows, rows[0]]) == sorted(lines[1:])


def test_gzip_of_several_members_is_read_whole(tmp_path):
    """And the target is one member that names no file and no time."""
    source = tmp_path / "source.csv.gz"
    source.write_bytes(gzip.compress(b"answer\nnever\n") + gzip.compress(b"once\n"))
    target = privatize(source)
    assert b"answer\nnever\nonce\n" == gzip.decompress(target.read_bytes())
    assert bytes(4) == target.read_bytes()[4:8]


def test_the_sidecar_says_how_the_file_was_made(tmp_path):
    """Beside a text file lies its document; a second column is added to it."""
    source = tmp_path / "source.csv"
    source.write_bytes(b"answer,smoker\nnever,yes\n")
    first = privatize(source)
    beside = first.with_name("target.csv.rrstats.json")
    assert ["answer"] == [r.name for r in column_records.read({"rrstats": beside.read_text()})]
    second = first.with_name("second.csv")
    receipt = samples.simulate_file(
        first, second, {"smoker": rr.KRR(["yes", "no"], 0.75)}, unknown="uniform", rng=QUIET
    )
    assert ["answer", "smoker"] == [r.name for r in files.describe_file(second)]
    assert receipt.epsilon_per_row > max(KRR.epsilon, rr.KRR(["yes", "no"], 0.75).epsilon)
    beside.write_text("{")
    refused(rr.errors.MetadataError, r"target\.csv\.rrstats\.json", files.describe_file, first)


def test_a_block_is_cut_like_the_csv_module_cuts_it():
    """Random text of tricky characters: the same cells, or refused."""
    import csv
    import io
    from pathlib import Path

    rng = np.random.default_rng(5)
    agreed = 0
    drawn = rng.choice(list('a,"\n\r'), p=[0.35, 0.25, 0.2, 0.15, 0.05], size=(8000, 12))
    for text in map("".join, drawn.tolist()):
        try:
            grid = delimited.Grid(text.encode(), ord(","), 2, Path("x"))
        except rr.errors.RRStatsError:
            continue
        found = [
            [text[a:b] for a, b in zip(starts, ends, strict=True)]
            for starts, ends in zip(
                np.stack([grid.column(i)[0] for i in (0, 1)], axis=1), grid.ends, strict=True
            )
        ]
        plain = [
            [cell[1:-1].replace('""', '"') if cell[:1] == '"' else cell for cell in row]
            for row in found
        ]
        expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        assert expected == plain, repr(text)
        agreed += len(expected) > 0
    assert agreed > 100


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_long_categories_make_short_groups(tmp_path, ending):
    """Reports are as long as the categories that are declared, whatever the answers were."""
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    words = ["a" * 20_000, "b"]
    table = pa.table({"x": ["b"] * 20_000, "age": list(range(20_000))})
    if ending == ".parquet":
        pq.write_table(table, source)
    else:
        feather.write_feather(table, source, compression="uncompressed")
    files.privatize_file(source, target, {"x": rr.KRR(words, 0.75)})
    sizes = samples.rows_of(target)
    assert 20_000 == sum(sizes)
    assert max(sizes) * 20_000 <= batches.GROUP_BYTES
