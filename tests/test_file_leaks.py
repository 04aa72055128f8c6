"""No true answer occurs in what is published, nor in any error: not in any byte of any file."""

from __future__ import annotations

import base64
import gzip
import traceback

import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")

import file_samples as samples  # noqa: E402  # they need pyarrow
import pyarrow.parquet as pq  # noqa: E402
from file_samples import KRR, WORDS, written  # noqa: E402

import rrstats as rr  # noqa: E402
from rrstats import files  # noqa: E402

MARK = "PRIVATE-7c1f"
N = 300


def marked(n=N):
    return [f"{MARK}-{i}" for i in range(n)]


def dictionary(words, indices=None):
    indices = range(len(words)) if indices is None else indices
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(words))


PRIVATE = {
    "text": pa.array(marked()),
    "nulls": pa.array([*marked(N - 1), None]),
    "large text": pa.array(marked(), pa.large_string()),
    "dictionary": dictionary(marked()),
    "unused categories": dictionary(["never", *marked()], [0] * N),
    "categories of pandas": pd.Categorical(["never"] * N, ["never", *marked()]),
    "slice": pa.array(marked() + ["never"] * N).slice(N),
}


def write_parquet(data, path, **options):
    options = {"compression": "none", "write_page_index": True} | options
    pq.write_table(data, path, row_group_size=70, **options)


def write_sorted(data, path):
    write_parquet(data, path, sorting_columns=[pq.SortingColumn(0)], use_dictionary=False)


def write_frame(data, path):
    frame = data.to_pandas()
    frame.attrs = {"note": "mine"}
    frame.to_parquet(path, compression=None)


def write_parts(data, path):
    (path / "a=1").mkdir(parents=True)
    write_parquet(data, path / "a=1" / "x.parquet")
    write_parquet(data, path / "y.parquet")


def write_csv(data, path):
    text = data.to_pandas().to_csv(index=False).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_quoted(data, path):
    path.write_text(data.to_pandas().to_csv(index=False, quoting=1, lineterminator="\r\n"))


WRITERS = {
    "plain": (".parquet", write_parquet),
    "sorted": (".parquet", write_sorted),
    "pandas": (".parquet", write_frame),
    "directory": ("", write_parts),
    "feather": (".feather", lambda data, path: samples.write_feather(data, path)),
    "feather of pandas": (
        ".feather",
        lambda data, path: data.to_pandas().to_feather(path, compression="uncompressed"),
    ),
    "csv": (".csv", write_csv),
    "quoted csv": (".csv", write_quoted),
    "gzipped csv": (".csv.gz", write_csv),
}


def contents(path):
    """The bytes of all files, decompressed and decoded wherever something could hide."""
    found = sorted(p for p in [path, *path.rglob("*")] if p.is_file())
    found += [p for p in path.parent.glob(path.name + ".*") if p.is_file()]
    for file in found:
        raw = file.read_bytes()
        yield raw
        if file.suffix == ".gz":
            yield gzip.decompress(raw)
        if file.suffix in (".parquet", ".pq"):
            meta = pq.read_metadata(file)
            yield repr(meta.to_dict()).encode()
            yield base64.b64decode((meta.metadata or {}).get(b"ARROW:schema", b""))
            yield from (meta.metadata or {}).values()


def holds_mark(path):
    return any(MARK.encode() in content for content in contents(path))


CASES = [
    *((kind, form, "keep", False) for kind in PRIVATE for form in WRITERS),
    *((kind, form, "unknown", True) for kind in ("nulls", "dictionary") for form in WRITERS),
]


@pytest.mark.parametrize(("kind", "form", "missing", "shuffle"), CASES)
def test_no_byte_of_the_output_is_an_answer(tmp_path, kind, form, missing, shuffle):
    """No marker in cells, dictionaries, statistics, page indexes, schemas or descriptions (T5)."""
    ending, write = WRITERS[form]
    private = PRIVATE[kind]
    if isinstance(private, pd.Categorical):
        private = pa.array(private)
    source = tmp_path / f"source{ending}"
    write(pa.table({"answer": private, "id": range(N)}), source)
    target = tmp_path / f"target{ending}"
    files.privatize_file(
        source, target, {"answer": KRR}, unknown="uniform", missing=missing, shuffle_rows=shuffle
    )
    assert not holds_mark(target)
    found = files.tally_file(target, "answer")
    rows = 2 * N if form == "directory" else N
    assert rows == found.n + found.missing
    shown = {p.name for p in tmp_path.iterdir()} - {source.name}
    allowed = (target.name, f"{target.name}.rrstats.json", f"{source.name}.rrstats-ledger.json")
    assert shown <= set(allowed)
    ledger = tmp_path / f"{source.name}.rrstats-ledger.json"
    assert MARK not in ledger.read_text()


@pytest.mark.parametrize("form", WRITERS)
def test_the_markers_would_be_found(tmp_path, form):
    """Control: the same search finds them in the source."""
    ending, write = WRITERS[form]
    source = tmp_path / f"source{ending}"
    write(pa.table({"answer": PRIVATE["text"], "id": range(N)}), source)
    assert holds_mark(source)


def test_pieces_of_other_columns_refer_to_no_answer(tmp_path):
    """What goes to a writer or to a shuffle holds no buffer with true answers."""
    source = written(tmp_path, ".parquet", pa.table({"answer": marked(), "id": range(N)}))
    part = files.formats.open_source(source).parts[0]
    piece = next(part.pieces({"answer": KRR.domain}))
    batch = piece.replaced({"answer": pa.array(["never"] * piece.rows)}, part.schema)
    assert MARK.encode() in piece.cells("answer").buffers()[2].to_pybytes()
    for column in batch.columns:
        assert not any(b and MARK.encode() in b.to_pybytes() for b in column.buffers())


TEXTS = {
    "ragged": "answer,id\n{0},1,2\n",
    "stray quote": 'answer,id\n{0}"x,1\n',
    "not text": b"answer,id\nPRIVATE-7c1f\xff,1\n",
    "returns": "answer,id\n{0}\r,1\n",
    "open quote": 'answer,id\n"{0},1\n',
    "unknown": "answer,id\n{0},1\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_error_quotes_a_cell(tmp_path, name, capsys):
    """Not the message, not what it arose from, and nothing is printed."""
    text = TEXTS[name]
    source = tmp_path / "source.csv"
    source.write_bytes(text if isinstance(text, bytes) else text.format(MARK).encode())
    with pytest.raises(rr.RRStatsError) as error:
        files.privatize_file(source, tmp_path / "out.csv", {"answer": KRR}, unknown="raise")
    assert MARK not in "".join(traceback.format_exception(error.value))
    assert ("", "") == tuple(capsys.readouterr())


@pytest.mark.parametrize("missing", ["unknown", "keep"])
@pytest.mark.parametrize("form", WRITERS)
def test_the_shape_of_the_output_depends_on_declarations_alone(tmp_path, form, missing):
    """Other answers in the private column change neither the schema nor the document."""
    ending, write = WRITERS[form]
    shapes = []
    for place, answers in enumerate([["never"] * N, marked(), WORDS * (N // 3)]):
        source = tmp_path / f"source{place}{ending}"
        target = tmp_path / f"target{place}{ending}"
        write(pa.table({"answer": answers, "id": range(N)}), source)
        files.privatize_file(source, target, {"answer": KRR}, unknown="uniform", missing=missing)
        shapes.append(shape_of(target))
    assert shapes[0] == shapes[1] == shapes[2]


def shape_of(path):
    if path.suffix in (".csv", ".gz"):
        return path.with_name(path.name + ".rrstats.json").read_text()
    if path.suffix == ".feather":
        schema = pa.ipc.open_file(path).schema
        return schema.to_string(show_schema_metadata=False), schema.metadata
    first = path / "y.parquet" if path.is_dir() else path
    schema = pq.read_schema(first)
    columns = pq.read_metadata(first).row_group(0).to_dict()["columns"]
    keys = ("compression", "encodings", "has_dictionary_page", "physical_type", "is_stats_set")
    chunks = [tuple(c[key] for key in keys) for c in columns]
    return schema.to_string(show_schema_metadata=False), schema.metadata, chunks
