"""Files of answers in every format, and ways to read them back.

WRITERS   from an ending to a function that writes a table to a path, with options
privatize `rr.files.privatize_file` under words that keep every known answer: what is left to
          test is that all else stays as it is
"""

import gzip
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from answers import QUIET

import rrstats as rr
from rrstats.files.plan import wanted_columns
from rrstats.files.privatize_file import release_file
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord


class _Reversing:
    """As QUIET, and a shuffle, which needs words that differ, turns the rows of a bucket round."""

    bits = None
    secure = True

    def words(self, stream, block, rows, round, bits):
        if stream & 0xFFFF != 0xFFF1:
            return QUIET.words(stream, block, rows, round=round, bits=bits)
        count = rows if isinstance(rows, int) else len(rows)
        return np.arange(count)[::-1].astype(f"uint{bits}")


REVERSING = _Reversing()

WORDS = ["never", "once", "often"]
KRR = rr.KRR(WORDS, 0.75)


def table(n=500):
    """Answers among columns of many types."""
    numbers = np.arange(n)
    return pa.table(
        {
            "id": pa.array(numbers * 7),
            "answer": pa.array([WORDS[i % 3] for i in range(n)]),
            "note": pa.array([None if i % 5 == 0 else f"x{i}, {i}" for i in range(n)]),
            "when": pa.array(numbers, pa.timestamp("ms", "UTC")),
            "list": pa.array([[i, None] if i % 3 else None for i in range(n)]),
            "kind": pa.array([f"kind {i % 4}" for i in range(n)]).dictionary_encode(),
            "tiny": pa.array(numbers % 100, pa.uint8()),
        }
    )


def write_feather(data, path, **options):
    with pa.ipc.new_file(path, data.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in data.to_batches(max_chunksize=100):
            writer.write_batch(batch)


def write_text(data, path, sep=","):
    text = data.to_pandas().to_csv(index=False, sep=sep, lineterminator="\n").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_directory(data, path):
    for place, name in enumerate(["region=a/part-0.parquet", "region=b/x/part-0.pq", "z.parquet"]):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        third = -(-len(data) // 3)
        pq.write_table(data.slice(place * third, third), file)
    (path / "_SUCCESS").touch()
    (path / ".hidden").mkdir()
    (path / ".hidden" / "x.parquet").write_bytes(b"no data")


def read_directory(path):
    found = sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".pq"))
    found = [file for file in found if ".hidden" not in file.parts]
    return pa.concat_tables([pq.ParquetFile(file).read() for file in found])


def read_feather(path):
    return pa.ipc.open_file(path).read_all()


def rows_of(path):
    """The numbers of rows of a file's groups or batches."""
    if path.suffix == ".parquet":
        footer = pq.read_metadata(path)
        return [footer.row_group(place).num_rows for place in range(footer.num_row_groups)]
    with pa.ipc.open_file(path) as reader:
        return [reader.get_batch(n).num_rows for n in range(reader.num_record_batches)]


def read_text(path):
    text = path.read_bytes()
    return gzip.decompress(text) if path.suffix == ".gz" else text


# From an ending to a writer and a reader of the whole.
FORMATS = {
    ".parquet": (lambda data, path: pq.write_table(data, path, row_group_size=170), pq.read_table),
    ".pq": (pq.write_table, pq.read_table),
    "": (write_directory, read_directory),
    ".feather": (write_feather, read_feather),
    ".arrow": (lambda data, path: write_feather(data, path, compression="zstd"), read_feather),
    ".ipc": (lambda data, path: write_feather(data, path, compression="lz4"), read_feather),
    ".csv": (write_text, read_text),
    ".csv.gz": (write_text, read_text),
    ".tsv": (lambda data, path: write_text(data, path, "\t"), read_text),
    ".tsv.gz": (lambda data, path: write_text(data, path, "\t"), read_text),
}


def written(folder, ending, data=None):
    """A source of this format."""
    path = folder / f"source{ending}"
    FORMATS[ending][0](table() if data is None else data, path)
    return path


def privatize(source, columns=None, **options):
    """The source privatized to a target beside it, every known answer kept."""
    target = source.with_name("target" + source.name.removeprefix("source"))
    options = {"rng": REVERSING, "unknown": "uniform"} | options
    simulate_file(source, target, columns or {"answer": KRR}, **options)
    return target


def simulate_file(source, target, columns, *, rng, unknown="raise", missing="unknown", **options):
    """`privatize_file` with a source of words, which only its inside takes; returns the receipt."""
    requests = wanted_columns(columns, unknown, missing)
    return release_file(source, target, requests, rng=rng, **options)


def parquet_with(schema_metadata=None, frame=None, **options):
    """The bytes of a Parquet file."""
    data = table() if frame is None else pa.Table.from_pandas(frame)
    sink = io.BytesIO()
    pq.write_table(data.replace_schema_metadata(schema_metadata), sink, **options)
    return sink.getvalue()


def document(*names, **facts):
    """The metadata document of columns that KRR made."""
    return column_records.write([ColumnRecord.of(name, KRR, **facts) for name in names])


def with_document(data, *names, **facts):
    """The table, saying of columns that they hold reports."""
    metadata = dict(data.schema.metadata or {})
    return data.replace_schema_metadata(
        metadata | {b"rrstats": json.dumps(document(*names, **facts)).encode()}
    )


def frame(n=500):
    """A frame with an index, attrs and types of pandas."""
    data = pd.DataFrame(
        {
            "answer": [WORDS[i % 3] for i in range(n)],
            "grade": pd.Categorical(["b"] * n, ["a", "b", "unused"], ordered=True),
            "count": pd.array([i % 3 for i in range(n)], dtype="Int8"),
            "age": np.arange(n, dtype=np.int16),
        },
        index=pd.Index(np.arange(n) * 2, name="person"),
    )
    data.attrs = {"source": "survey 7"}
    return data


def names(folder):
    """The names of all that lies in a folder."""
    return sorted(path.name for path in Path(folder).iterdir())


def paths_in(folder):
    """All files below a folder, by relative name."""
    found = Path(folder).rglob("*")
    return sorted(p.relative_to(folder).as_posix() for p in found if p.is_file())


def in_turn(calls):
    """The plain engine; what goes over to a machine is pickled, as engines do."""
    for place, call in enumerate(calls):
        yield place, pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(call))()))
