"""No true answer occurs in what is published, nor in any error: not in any byte of any file."""

import base64
import gzip
from functools import partial

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")

import file_samples as samples  # they need pyarrow
import pyarrow.feather as feather  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from answers import QUIET  # after importorskip
from file_samples import KRR, WORDS, written  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.files import (  # after importorskip
    batches,
    formats,
)
from rrstats.files import csv as delimited  # after importorskip
from rrstats.files import shuffle as shuffling  # after importorskip

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


def write_quoted(data, path):
    path.write_text(data.to_pandas().to_csv(index=False, quoting=1, lineterminator="\r\n"))


WRITERS = {
    "plain": (".parquet", write_parquet),
    "sorted": (".parquet", write_sorted),
    "pandas": (".parquet", write_frame),
    "directory": ("", write_parts),
    "feather": (".feather", samples.write_feather),
    "feather of pandas": (
        ".feather",
        lambda data, path: data.to_pandas().to_feather(path, compression="uncompressed"),
    ),
    "csv": (".csv", samples.write_text),
    "quoted csv": (".csv", write_quoted),
    "gzipped csv": (".csv.gz", samples.write_text),
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
    assert rows == found.n + found.n_missing
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
    part = files.formats.open_source(source).files[0]
    piece = next(part.pieces({"answer": KRR.domain}))
    batch = piece.replaced({"answer": pa.array(["never"] * piece.rows)}, part.schema)
    assert MARK.encode() in piece.cells("answer").buffers()[2].to_pybytes()
    for column in batch.columns:
        assert not any(b and MARK.encode() in b.to_pybytes() for b in column.buffers())


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


# -- the layout ----------------------------------------------------------------------------


class Scripted:
    """Words that keep every known answer; a shuffle gets the same pseudorandom ones each time."""

    bits = None
    secure = True

    def words(self, stream, block, rows, round, bits):
        if stream & 0xFFFF not in (0xFFF0, 0xFFF1):
            return QUIET.words(stream, block, rows, round=round, bits=bits)
        generator = np.random.default_rng([stream, block, round, bits])
        places = np.arange(rows) if isinstance(rows, int) else rows
        return generator.integers(0, 1 << bits, 1 << 15, dtype=f"uint{bits}")[places]


M = 3000

LAYOUTS = {
    "plain": (".parquet", partial(pq.write_table, row_group_size=1700)),
    "page index": (".parquet", write_parquet),
    "no dictionary": (
        ".parquet",
        partial(write_parquet, use_dictionary=False, data_page_size=2000),
    ),
    "statistics of the answers": (".parquet", partial(pq.write_table, write_statistics=["answer"])),
    "only answers": (".parquet", lambda data, path: pq.write_table(data.select([0]), path)),
    "pandas": (".parquet", write_frame),
    "directory": ("", write_parts),
    "feather": (".feather", samples.write_feather),
    "one batch": (".feather", partial(feather.write_feather, compression="uncompressed")),
    "lz4": (".arrow", partial(samples.write_feather, compression="lz4")),
    "feather of pandas": (".feather", lambda data, path: data.to_pandas().to_feather(path)),
    "csv": (".csv", samples.write_text),
    "quoted csv": (".csv", write_quoted),
    "gzipped csv": (".csv.gz", samples.write_text),
}


def neighbours():
    """Answers that match no category, in the place of others that match none either."""
    plain = [WORDS[i * i % 3] for i in range(M)]
    many = [M - 1, *range(0, M, 3)]
    for places, words in (
        (many, ["x"]), (many, ["y" * 1_000_000, *["z" * 300] * 1000]), (many, [None]),
    ):  # fmt: skip
        answers = list(plain)
        for i, place in enumerate(places):
            answers[place] = words[min(i, len(words) - 1)]
        yield answers


def small_pieces(monkeypatch, ending):
    """Pieces, groups, pages and buckets of a large file, for a small one."""
    for name, value in {"BATCH_ROWS": 512, "GROUP_ROWS": 1024, "GROUP_BYTES": 40_000}.items():
        monkeypatch.setattr(batches, name, value)
    monkeypatch.setattr(batches, "EVEN_ROWS", 64)
    monkeypatch.setattr(formats, "PROBE_ROWS", 16)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(delimited, "ZIPPED_BYTES", 3000)
    if ".csv" not in ending:  # of lines nothing shows how they were shuffled
        monkeypatch.setattr(shuffling, "BUCKET_BYTES", 50_000)
        monkeypatch.setattr(shuffling, "BLOCK_ROWS", 256)


def public_columns(n=M):
    numbers = np.arange(n)
    return {
        "id": pa.array(numbers * 7919 % 10007),
        "text": pa.array([None if i % 7 == 0 else f"text {i}" * (i % 5) for i in range(n)]),
        "list": pa.array([[i, None] if i % 3 else None for i in range(n)]),
        "kind": pa.array([f"kind {i % 4}" for i in range(n)]).dictionary_encode(),
        "yes": pa.array(numbers % 3 == 0),
    }


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("form", LAYOUTS)
def test_no_byte_of_the_output_follows_from_an_unknown_answer(tmp_path, monkeypatch, form, shuffle):
    """Under the same words: whether they are short, long, 1 MB, or missing (T5)."""
    ending, write = LAYOUTS[form]
    small_pieces(monkeypatch, ending)
    columns, found = public_columns(), []
    if ending in (".csv", ".csv.gz"):
        del columns["list"]
    for place, answers in enumerate(neighbours()):
        source = tmp_path / str(place) / f"source{ending}"
        source.parent.mkdir()
        write(pa.table({"answer": answers, **columns}), source)
        target = samples.privatize(source, rng=Scripted(), shuffle_rows=shuffle)
        files_of = [target, *target.rglob("*"), *target.parent.glob("target*.json")]
        found.append([p.read_bytes() for p in sorted(files_of) if p.is_file()])
    assert found[0] == found[1]
    assert found[0] == found[2]


def public_bytes(path):
    """The rows of each row group, and the bytes of each column chunk that is not private."""
    meta, raw, found = pq.read_metadata(path), path.read_bytes(), []
    for number in range(meta.num_row_groups):
        group = meta.row_group(number)
        found.append(group.num_rows)
        for chunk in (group.column(i) for i in range(group.num_columns)):
            if chunk.path_in_schema != "answer":
                start = chunk.data_page_offset
                if chunk.dictionary_page_offset is not None:
                    start = min(start, chunk.dictionary_page_offset)
                found.append(raw[start : start + chunk.total_compressed_size])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("change", ["one", "many", "one long", "all long"])
def test_other_columns_are_written_as_if_the_answers_were_others(tmp_path, monkeypatch, change):
    """Known answers too: row groups, pages and bytes of all other columns stay as they are."""
    monkeypatch.setattr(batches, "GROUP_BYTES", 4 << 20)
    monkeypatch.setattr(formats, "PROBE_ROWS", 16)
    n = 150_000
    rng = np.random.default_rng(4)
    before = rng.choice(["no", "yes"], n).tolist()
    after = list(before)
    changed = {"one": [7], "many": range(500), "one long": [7], "all long": range(n)}[change]
    for place in changed:
        after[place] = "z" * {"one long": 2_000_000, "all long": 90}.get(change, 3 + place % 2)
    # Longest at first, so that the first rows tell the width.
    text = pa.array([f"text {i}" for i in range(n, 0, -1)])
    others = {"id": rng.integers(0, 1 << 60, n), "text": text}
    found = []
    for place, answers in enumerate([before, after]):
        source = tmp_path / f"source{place}.parquet"
        data = pa.table({"answer": answers, **others})
        pq.write_table(data, source, row_group_size=n, compression="none", use_dictionary=False)
        target = tmp_path / f"target{place}.parquet"
        mechanism = rr.KRR(["no", "yes"], 0.75)
        files.privatize_file(source, target, {"answer": mechanism}, unknown="uniform")
        found.append(public_bytes(target))
    assert len(found[0]) > 3
    assert found[0] == found[1]


def test_the_private_column_of_the_source_has_no_say_in_the_layout(tmp_path):
    """Its statistics, dictionary and encoding may follow from answers, and are not looked at."""
    found = []
    data = pa.table({"answer": ["never"] * M, **public_columns()})
    for place, options in enumerate([
        {"write_statistics": ["answer"], "use_dictionary": ["answer", "id"]},
        {"write_statistics": False, "use_dictionary": ["id"]},
        {"write_statistics": False, "use_dictionary": ["id"],
         "column_encoding": {"answer": "DELTA_BYTE_ARRAY"}},
    ]):  # fmt: skip
        source = tmp_path / str(place) / "source.parquet"
        source.parent.mkdir()
        pq.write_table(data, source, **options)
        found.append(samples.privatize(source).read_bytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_groups_of_the_source_are_hidden(tmp_path, monkeypatch, ending, shuffle):
    """A file written group by group shows in their sizes how many gave each answer."""
    monkeypatch.setattr(batches, "EVEN_ROWS", 64)
    monkeypatch.setattr(batches, "GROUP_ROWS", 700)
    monkeypatch.setattr(shuffling, "BUCKET_BYTES", 30_000)
    sizes = []
    for place, counts in enumerate([(M,), (1000, 1700, 300), (1, 2, M - 3)]):
        source = tmp_path / f"source{place}{ending}"
        groups = [
            pa.record_batch({"answer": [word] * count, "id": range(count)})
            for word, count in zip(WORDS, counts, strict=False)
        ]
        schema = groups[0].schema
        with (
            pq.ParquetWriter(source, schema)
            if ending == ".parquet"
            else pa.ipc.new_file(source, schema)
        ) as writer:
            for batch in groups:
                writer.write_batch(batch)
        target = tmp_path / f"target{place}{ending}"
        files.privatize_file(source, target, {"answer": KRR}, shuffle_rows=shuffle)
        sizes.append(samples.rows_of(target))
    expected = [640] * 4 + [440] if ending == ".parquet" else [128] * 23 + [56]
    assert expected == sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize("dictionary", [False, True])
def test_the_width_of_rows_does_not_tell_the_groups_of_the_source(
    tmp_path, monkeypatch, dictionary
):
    """A writer that cuts by bytes makes the first group the shorter, the longer its answers."""
    monkeypatch.setattr(batches, "EVEN_ROWS", 1)
    monkeypatch.setattr(batches, "GROUP_BYTES", 100_000)
    letters = pa.array(["x" * (7 * row % 1000) for row in range(M)])
    data = pa.table(
        {
            "answer": [WORDS[row % 3] for row in range(M)],
            "text": letters.dictionary_encode() if dictionary else letters,
        }
    )
    sizes = []
    for rows in (M, 50, 1500):
        source = tmp_path / f"source{rows}.parquet"
        with pq.ParquetWriter(source, data.schema) as writer:
            writer.write_table(data.slice(0, rows))
            writer.write_table(data.slice(rows))
        target = tmp_path / f"target{rows}.parquet"
        files.privatize_file(source, target, {"answer": KRR})
        sizes.append(samples.rows_of(target))
    assert sizes[0] == sizes[1] == sizes[2]
    assert len(sizes[0]) > 2


@pytest.mark.parametrize("chunk", [N, 40])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_dictionaries_of_shuffled_files_do_not_tell_how_rows_stood(tmp_path, ending, chunk):
    """A file sorted by the answer, with ids in a dictionary: they become plain text."""
    answers = np.repeat([0, 1], N // 2)
    ids = [f"id {number:05d}" for number in np.random.default_rng(3).permutation(N)]
    data = pa.table({"id": pa.array(ids).dictionary_encode(), "answer": answers})
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    if ending == "parquet":
        pq.write_table(data, source, row_group_size=chunk)
    else:
        with pa.ipc.new_file(source, data.schema) as writer:
            writer.write_table(data, max_chunksize=chunk)
    rr.files.privatize_file(source, target, {"answer": rr.KRR([0, 1], 0.55)}, shuffle_rows=True)
    read = pq.read_table if ending == "parquet" else feather.read_table
    column = read(target)["id"]
    assert pa.string() == column.type
    assert ids != column.to_pylist()
    assert sorted(ids) == sorted(column.to_pylist())


def test_what_is_gzipped_comes_in_even_pieces(tmp_path, monkeypatch):
    """A compressor may pack the same bytes otherwise where they come in other pieces."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 700)
    monkeypatch.setattr(delimited, "ZIPPED_BYTES", 1000)
    sizes = []
    write = gzip.GzipFile.write

    def spy(self, data):
        sizes[-1].append(len(data))
        return write(self, data)

    for place, word in enumerate(["x", "y" * 5000]):
        source = tmp_path / f"source{place}.csv.gz"
        source.write_bytes(gzip.compress(b"answer,id\n" + f"{word},1\nnever,2\n".encode() * 300))
        sizes.append([])
        with monkeypatch.context() as patched:
            patched.setattr(gzip.GzipFile, "write", spy)
            samples.privatize(source, rng=QUIET)
    assert {1000} == set(sizes[0][:-1])
    assert sizes[0] == sizes[1]
