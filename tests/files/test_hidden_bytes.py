"""No file shows how the public columns of its source were cut, or bytes that no cell shows."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

import planted  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from file_samples import simulate_file  # after importorskip
from scripted import Counting  # after importorskip

import rrstats as rr  # after importorskip
from rrstats.files import batches  # after importorskip

MECHANISMS = {"q": rr.KRR(["no", "yes"], 0.75)}


def _write_ipc(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _write_parquet(table, path):
    with pq.ParquetWriter(path, table.schema) as writer:
        for batch in table.to_batches():
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=len(batch))


@pytest.fixture
def equal_reports(monkeypatch):
    """Each piece draws its own words; with equal reports everything else can be compared."""
    monkeypatch.setattr(
        batches.ReleasedColumns,
        "column_reports",
        lambda release, name, cells: pa.array(["no"] * len(cells), release.columns[name].type),
    )


@pytest.mark.usefixtures("equal_reports")
@pytest.mark.parametrize("shuffle_rows", [False, True])
@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize("name", planted.TYPES)
def test_no_public_column_keeps_the_chunks_and_hidden_bytes_of_its_file(
    tmp_path, name, ending, shuffle_rows
):
    """Batches, row groups, and bytes under nulls and behind views do not reach the target."""
    sources = []
    targets = []
    for variant in planted.TAGS:
        answers = ["no", "yes", "yes", "no"] * (planted.ROWS // 4)
        table = pa.table({"public": planted.column(name, variant), "q": answers})
        source = tmp_path / f"{variant}.{ending}"
        try:
            (_write_ipc if ending == "arrow" else _write_parquet)(table, source)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            pytest.skip(f"{ending} has no {name} ({type(error).__name__})")
        target = tmp_path / f"out-{variant}.{ending}"
        options = {"shuffle_rows": shuffle_rows, "rng": Counting(5)}
        if shuffle_rows and name == "run_end_encoded":
            with pytest.raises(rr.errors.FileError, match="cannot be shuffled"):
                simulate_file(source, target, MECHANISMS, **options)
            return
        simulate_file(source, target, MECHANISMS, **options)
        sources.append(source.read_bytes())
        targets.append(target.read_bytes())
    assert sources[0] != sources[1]  # control
    assert targets[0] == targets[1]
    assert b"SECRET" not in targets[0]


@pytest.mark.usefixtures("equal_reports")
@pytest.mark.parametrize("rows", [(10, 30), (25, 15), (39, 1)])
def test_dictionaries_of_row_groups_do_not_show_the_row_groups(tmp_path, rows):
    """Words that a writer collected for each row group are collected anew; declared ones stay."""
    words = pa.array([f"word {row // 6}" for row in range(40)])
    declared = pa.DictionaryArray.from_arrays([2, 0] * 20, ["z", "a", "m", "unused"], ordered=True)
    targets = []
    for place, sizes in enumerate([rows, (40,)]):
        starts = np.cumsum([0, *sizes[:-1]])
        parts = [words.slice(*part).dictionary_encode() for part in zip(starts, sizes, strict=True)]
        columns = {"public": pa.chunked_array(parts), "kept": declared, "q": ["no", "yes"] * 20}
        source = tmp_path / f"{place}.parquet"
        _write_parquet(pa.table(columns), source)
        target = tmp_path / f"out{place}.parquet"
        simulate_file(source, target, MECHANISMS, rng=Counting(5))
        targets.append(target.read_bytes())
    assert targets[0] == targets[1]
    kept = pq.read_table(target)["kept"]
    assert kept.type.value_type == declared.type.value_type
    assert kept.type.ordered
    assert ["z", "a", "m", "unused"] == kept.chunk(0).dictionary.to_pylist()
