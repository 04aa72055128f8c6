"""`rr.files`: whole files are privatized as asked, or not at all, and estimated from."""

import inspect
import json
import traceback
import warnings
from unittest import mock

import numpy as np
import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import chance  # all that follows needs pyarrow
import file_samples as samples  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from answers import QUIET  # after importorskip
from cli_calls import run  # after importorskip
from file_samples import FORMATS, KRR, WORDS, paths_in, privatize, simulate_file, written

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError
from rrstats.files import batches  # after importorskip
from rrstats.files import csv as delimited  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.epsilon import total_epsilon


def release(source, columns=None, target=None, **options):
    """As a user calls it, with fresh noise."""
    target = target or source.with_name("target" + source.name.removeprefix("source"))
    return files.privatize_file(source, target, columns or {"answer": KRR}, **options)


# -- the distribution ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_reports_follow_the_distribution_over_pieces(tmp_path, monkeypatch, ending):
    """In pieces of a file the reports of each truth have the published shares, independently.

    A correct sampler fails once in 1e9 runs; a share off by 0.02 escapes once in 1e9.
    """
    n = 3 * chance.sample_size(gap=0.02, cells=9)
    n += -n % 3
    monkeypatch.setattr(batches, "BATCH_ROWS", 50_000)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 300_000)
    truth = np.tile([0, 1, 2], n // 3)
    source = written(tmp_path, ending, pa.table({"answer": pa.array(WORDS).take(pa.array(truth))}))
    release(source)
    target = source.with_name("target" + ending)
    if ending == ".csv":
        found = pa.array(target.read_text().split()[1:])
    else:
        found = FORMATS[ending][1](target).column("answer")
    reports = pa.compute.index_in(found, value_set=pa.array(WORDS)).to_numpy()
    counts = [np.bincount(reports[truth == t], minlength=3) for t in range(3)]
    distribution = [[0.75 if a == t else 0.125 for a in range(3)] for t in range(3)]
    chance.assert_distribution(counts, distribution)
    changed = (reports != truth).astype(np.int64)
    chance.assert_spread(chance.batches(changed, 500, 2), [0.75, 0.25])
    chance.assert_product(changed[:-1], changed[1:], [0.75, 0.25], [0.75, 0.25])


def test_shuffled_rows_stay_whole(tmp_path):
    """Each row keeps its cells, in a new order."""
    source = written(tmp_path, ".parquet")
    before = samples.table().to_pandas()
    after_table = pq.read_table(privatize(source, shuffle_rows=True, rng=None, missing="unknown"))
    after = after_table.to_pandas()
    assert before["id"].tolist() != after["id"].tolist()
    ordered = after.sort_values("id", ignore_index=True)
    assert before["note"].tolist() == ordered["note"].tolist()
    same = (before["answer"] == ordered["answer"]).sum()
    assert 250 < same < 450
    whole = written(tmp_path, "")
    target = privatize(whole, shuffle_rows=True, rng=None)
    assert paths_in(target) == ["region=a/part-0.parquet", "region=b/x/part-0.pq", "z.parquet"]
    first = pq.read_table(target / "z.parquet").column("id").to_pylist()
    assert sorted(first) == before["id"].tolist()[-166:]


# -- what comes back -----------------------------------------------------------------------


def test_the_receipt_tells_what_may_be_told(tmp_path):
    """Printed: rows, columns, epsilons; counts of answers are apart, and not in its repr."""
    data = samples.table().set_column(
        1, "answer", pa.array(["never", "odd", None, "once", "once"] * 100)
    )
    source = written(tmp_path, ".parquet", data)
    seen = []
    receipt = release(
        source, unknown="uniform", progress=lambda done, total: seen.append((done, total))
    )
    told = receipt.to_dict()
    assert 500 == told["rows"]
    assert KRR.epsilon == told["columns"][0]["epsilon"] == told["epsilon_per_row"]
    assert {"str": "answer"} == told["columns"][0]["name"]
    assert {"answer": {"unknown": 100, "missing": 100}} == receipt.private
    assert "private" not in json.dumps(told) + repr(receipt)
    assert "100" not in json.dumps({**told, "target": ""}) + repr(receipt.records)
    assert "seconds" not in told
    assert len(repr(receipt)) < 300
    assert "'answer' at epsilon" in repr(receipt)
    assert (500, 500) == seen[-1]
    assert sorted(seen) == seen


@pytest.mark.parametrize("saved", [False, True])
def test_the_receipt_says_how_long_the_release_took(tmp_path, monkeypatch, saved):
    """Of a file and of a frame that is saved: the clock at its end less that at its start."""
    source = written(tmp_path, ".parquet")
    frame = rr.privatize(samples.table().to_pandas(), {"answer": KRR})
    clock = mock.Mock(monotonic=mock.Mock(side_effect=[2.0, 7.5]))
    monkeypatch.setattr(inspect.getmodule(files.privatize_file), "time", clock)
    receipt = frame.rr.to_csv(tmp_path / "target.csv") if saved else release(source)
    assert 5.5 == receipt.seconds


@pytest.mark.parametrize("ending", FORMATS)
def test_estimates_need_no_parameters(tmp_path, ending):
    """The file says how it was made; arguments may agree with it and not contradict it."""
    source = written(tmp_path, ending)
    release(source)
    target = source.with_name("target" + ending)
    found = files.estimate_file(target)
    assert ["answer"] == list(found)
    assert KRR == found["answer"].tally.mechanism
    assert 500 == found["answer"].tally.n
    assert found["answer"].proportions.tolist() == (
        files.estimate_file(target, "answer", KRR)["answer"].proportions.tolist()
    )
    assert files.tally_file(target, "answer").reported.sum() == 500
    (record,) = files.describe_file(target)
    assert ("answer", "raise", "unknown", False) == (
        record.name, record.unknown, record.missing, record.simulated
    )  # fmt: skip
    with pytest.raises(rr.errors.MetadataError, match="contradicts"):
        files.estimate_file(target, "answer", rr.KRR(WORDS, 0.8))
    assert "sample" == files.estimate_file(target, target="sample")["answer"].target


def test_estimates_of_files_that_say_nothing(tmp_path):
    """Then the column and its mechanism are needed."""
    source = written(tmp_path, ".csv")
    refused(ArgumentTypeError, "which columns hold reports", files.estimate_file, source)
    refused(ArgumentTypeError, "give the mechanism", files.tally_file, source, "answer")
    with pytest.raises(ArgumentTypeError, match="for one column"):
        files.estimate_file(source, ["answer", "kind"], KRR)
    assert [167, 167, 166] == files.tally_file(source, "answer", KRR).reported.tolist()
    refused(ArgumentValueError, "not among the categories", files.tally_file, source, "kind", KRR)


def test_check_lists_what_matches_no_category(tmp_path, monkeypatch):
    """For the data curator: unknown values with counts, the missing ones, and how many more."""
    answers = ["never", "odd", None, "odd", "ODD"] * 100
    for ending in (".parquet", ".csv", ".feather"):
        data = pa.table({"answer": answers, "x": range(500)})
        source = written(tmp_path, ending, data)
        found = files.check_file(source, "answer", WORDS)
        rows = found.itertuples(index=False)
        assert {("odd", "unknown", 200), ("ODD", "unknown", 100), (None, "missing", 100)} == {
            tuple(row)[:3] for row in rows
        }
        monkeypatch.setitem(inspect.unwrap(files.check_file).__globals__, "MAX_LISTED", 1)
        found = files.check_file(source, "answer", KRR)
        assert [(None, "not listed", 100, None)] == list(found.itertuples(index=False, name=None))[
            -1:
        ]
        monkeypatch.undo()
        misspelt = written(tmp_path, ending, pa.table({"answer": ["Never", "odd"], "x": [1, 2]}))
        meant = files.check_file(misspelt, "answer", WORDS).set_index("value")["did_you_mean"]
        assert [meant["Never"], meant["odd"]] == ["never", None]
    assert 0 == len(files.check_file(written(tmp_path, ".pq"), "answer", WORDS))


# -- plans, policies, noise ----------------------------------------------------------------


def test_plans_in_every_form(tmp_path):
    """A document, its records, or a file of it: policies are the plan's."""
    plan = samples.document("answer", missing="keep", unknown="uniform")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    data = samples.table().set_column(1, "answer", pa.array(["never", None] * 250))
    source = written(tmp_path, ".parquet", data)
    for form in (plan, column_records.read({"rrstats": plan}), path, str(path)):
        receipt = release(source, form, again=True, overwrite=True)
        assert [("keep", "uniform")] == [(r.missing, r.unknown) for r in receipt.records]
        assert 250 == pq.read_table(receipt.target).column("answer").null_count
    with pytest.raises(ArgumentTypeError, match="must not be given with a plan"):
        release(source, plan, unknown="uniform", again=True, overwrite=True)
    with pytest.raises(rr.errors.MetadataError, match="which a plan cannot set"):
        release(source, samples.document("answer", simulated=True), again=True, overwrite=True)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("shuffle_rows", [False, True])
def test_refused_answers_leave_nothing(tmp_path, ending, shuffle_rows):
    """By default a file is refused for one answer or one missing; target and ledger stay."""
    data = samples.table().set_column(1, "answer", pa.array(["never"] * 499 + ["secret"]))
    source = written(tmp_path, ending, data)
    options = {"shuffle_rows": shuffle_rows}
    with pytest.raises(rr.errors.UnknownAnswersError, match="1 of 500") as error:
        release(source, **options)
    assert "secret" not in "".join(traceback.format_exception(error.value))
    assert [source.name] == paths_in(tmp_path)
    release(source, unknown="uniform", missing="raise", **options)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    again = {"again": True, "overwrite": True, **options}
    refused(rr.errors.UnknownAnswersError, "1 of 500", release, source, **again)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    data = data.set_column(1, "answer", pa.array(["never"] * 499 + [None]))
    source = written(tmp_path, ".pq", data)
    refused(rr.errors.UnknownAnswersError, "1 of 500 .* are missing", release, source, **options)
    assert release(source, missing="uniform", **options).private["answer"]["missing"] == 1


def test_simulated_noise_is_marked(tmp_path):
    """A NumPy generator warns and marks; the same seed gives the same file."""
    source = written(tmp_path, ".parquet")
    found = []
    for _ in range(2):
        options = {"rng": np.random.default_rng(3), "again": True, "overwrite": True}
        with pytest.warns(rr.errors.SimulationWarning):
            receipt = simulate_file(source, tmp_path / "target.parquet", {"answer": KRR}, **options)
        found.append(pq.read_table(receipt.target))
    assert found[0].equals(found[1])
    assert [True] == [r.simulated for r in files.describe_file(receipt.target)]
    with pytest.raises(rr.errors.MetadataError, match="simulated"):
        release(receipt.target, target=tmp_path / "b.parquet", again=True)


@pytest.mark.parametrize("ending", FORMATS)
def test_reports_are_privatized_again_only_on_request(tmp_path, ending):
    """Refused, or recorded as both rounds."""
    source = written(tmp_path, ending)
    first = privatize(source)
    second = first.with_name("second" + ending)
    refused(rr.errors.MetadataError, "again=True", release, first, target=second)
    receipt = release(first, {"answer": rr.KRR(WORDS, 0.6)}, target=second, again=True)
    (record,) = files.describe_file(second)
    assert KRR.then(rr.KRR(WORDS, 0.6)) == record.resolve()
    assert receipt.epsilon_per_row == record.epsilon < KRR.epsilon


def test_documents_are_found_wherever_they_lie(tmp_path):
    """In any of the three places; two that disagree are refused."""
    said = json.dumps({"rrstats": samples.document("kind")}).encode()
    data = samples.table()
    source = written(tmp_path, ".parquet", data.replace_schema_metadata({"PANDAS_ATTRS": said}))
    target = privatize(source)
    assert ["kind", "answer"] == [r.name for r in files.describe_file(target)]
    other = samples.with_document(data.replace_schema_metadata({"PANDAS_ATTRS": said}), "kind",
                                  unknown="uniform")  # fmt: skip
    with pytest.raises(rr.errors.MetadataError, match="two different things"):
        privatize(written(tmp_path, ".pq", other))


# -- bad files and arguments ---------------------------------------------------------------


def bad_files():
    good = samples.parquet_with()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, samples.table().schema) as writer:
        writer.write_table(samples.table())
    text = b"id,answer\n1,never\n2,once\n"
    return {
        "truncated.parquet": good[:-20],
        "cut in the middle.parquet": good[:100] + good[400:],
        "damaged.parquet": good[:30] + bytes(600) + good[630:],
        "encrypted.parquet": good[:-4] + b"PARE",
        "stream.arrow": sink.getvalue().to_pybytes(),
        "text.feather": text,
        "empty.csv": b"",
        "latin.csv": b"id,answer\n1,never\xef\n",
        "utf16.csv": text.decode().encode("utf-16"),
        "nul.csv": b"id,answer\n1,\0never\n",
        "longer.csv": text + b"3,never,4\n",
        "open quote.csv": text + b'3,"never\n',
        "stray quote.csv": text + b'3,ne"ver\n',
        "after quote.csv": text + b'3,"ne"ver\n',
        "old mac.csv": b"id,answer\r1,never\r",
        "long header.csv": b'id,"answer\n1,never\n"2,once\n',
        "not zipped.csv.gz": text,
        "cut.csv.gz": __import__("gzip").compress(text * 100)[:-15],
    }


BAD = bad_files()


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_and_leave_nothing(tmp_path, name, capsys):
    """A FileError that names the file and quotes no cell, nor does what it arose from."""
    source = tmp_path / name
    source.write_bytes(BAD[name])
    ending = name[name.index(".") :]
    with pytest.raises(FileError) as error:
        release(source, target=tmp_path / f"target{ending}")
    assert name in str(error.value)
    assert "never" not in "".join(traceback.format_exception(error.value))
    assert ("", "") == tuple(capsys.readouterr())
    assert [name] == paths_in(tmp_path)


BAD_COLUMNS = {
    "nothing": ({}, ArgumentValueError, "at least one"),
    "no such column": ({"anwser": KRR}, ArgumentValueError, "did you mean 'answer'"),
    "nested": ({"list": KRR}, ArgumentTypeError, "one plain value"),
    "type": ({"id": KRR}, ArgumentTypeError, "kind str"),
    "no mechanism": ({"answer": WORDS}, ArgumentTypeError, "prob"),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_bad_columns_are_refused(tmp_path, name):
    """Before anything is read; the next step is named."""
    columns, kind, said = BAD_COLUMNS[name]
    source = written(tmp_path, ".parquet")
    refused(kind, said, files.privatize_file, source, tmp_path / "target.parquet", columns)
    assert ["source.parquet"] == paths_in(tmp_path)


@pytest.mark.parametrize("name", ["answer", "HIV-positiv"])
def test_the_first_line_of_a_text_is_not_quoted(tmp_path, name):
    """It may be no header, but the first respondent."""
    source = tmp_path / "source.csv"
    source.write_text("17,HIV-positive,Doe\n18,never,Roe\n")
    with pytest.raises(ArgumentValueError, match="has 3 cells: is that line a header") as error:
        release(source, {name: KRR})
    text = str(error.value).replace(str(tmp_path), "")
    assert not [cell for cell in ("17", "HIV-positive", "Doe") if cell in text]


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_a_column_that_is_there_twice_is_refused(tmp_path, ending):
    """Which of them is meant cannot be known; the twice-named others are no matter."""
    data = pa.table([["never"], ["x"], ["once"]], names=["answer", "x", "answer"])
    if ending == ".csv":
        source = tmp_path / "source.csv"
        source.write_text("answer,x,answer\nnever,x,once\n")
    else:
        source = written(tmp_path, ending, data)
    refused(ArgumentValueError, "2 times", release, source)


@pytest.mark.parametrize("ending", FORMATS)
def test_files_without_rows_are_released_without_rows(tmp_path, ending):
    """Zero rows, and zero row groups, are no error; the columns say how they were made."""
    source = written(tmp_path, ending, samples.table(0))
    for shuffle in (False, True):
        receipt = release(source, shuffle_rows=shuffle, again=shuffle, overwrite=shuffle)
        assert 0 == receipt.rows
        assert 0 == files.tally_file(receipt.target, "answer").n
    assert ["answer"] == [r.name for r in files.describe_file(receipt.target)]


def test_zero_row_groups(tmp_path):
    """A Parquet file of a footer alone."""
    source = tmp_path / "source.parquet"
    with pq.ParquetWriter(source, samples.table().schema):
        pass
    assert 0 == pq.read_metadata(source).num_row_groups
    assert 0 == simulate_file(source, tmp_path / "target.parquet", {"answer": KRR}, rng=QUIET).rows


BAD_TARGETS = {
    "format": ("source.parquet", "target.csv", r"format .*rr.files.read\(released\).rr.to_parquet"),
    "ending": ("source.parquet", "target.txt", "must end in"),
    "same": ("source.parquet", "source.parquet", "another path"),
    "same in other words": ("source.parquet", "x/../source.parquet", "another path"),
    "file for a directory": ("source", "target.parquet", "must be a directory"),
    "inside": ("source", "source/target", "inside a source directory"),
    "around": ("folder/source", "folder", "nor contain"),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_bad_targets_are_refused(tmp_path, name):
    """Nothing is converted, and the source is never written to."""
    source, target, said = BAD_TARGETS[name]
    source = tmp_path / source
    (tmp_path / "x").mkdir()
    FORMATS[source.suffix][0](samples.table(), source)
    before = paths_in(tmp_path)
    refused(ArgumentValueError, said, release, source, target=tmp_path / target, overwrite=True)
    assert before == paths_in(tmp_path)


def test_links_to_the_source_are_the_source(tmp_path):
    """A hard link or a symbolic link as target would overwrite the true answers."""
    source = written(tmp_path, ".parquet")
    for name, link in (("a.parquet", "symlink_to"), ("b.parquet", "hardlink_to")):
        target = tmp_path / name
        getattr(target, link)(source)
        refused(ArgumentValueError, "another path", release, source, target=target, overwrite=True)


def spoil_directory(path, how):
    file = path / "z.parquet"
    data = samples.table(3)
    if how == "names":
        pq.write_table(data.rename_columns(["x", *data.schema.names[1:]]), file)
    elif how == "types":
        pq.write_table(data.set_column(0, "id", pa.array([1, 2, 3], pa.int16())), file)
    elif how == "text":
        (path / "notes.txt").touch()
    elif how == "reports":
        pq.write_table(samples.with_document(data, "answer"), file)
    elif how == "link":
        (path / "more").symlink_to(path / "region=a")
    elif "=" in how:
        (path / how).mkdir()
        pq.write_table(data, path / how / "part-0.parquet")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("names", r"z\.parquet differs"),
        ("types", r"z\.parquet differs.*column 'id'"),
        ("text", r"notes\.txt"),
        ("reports", r"z\.parquet .* have different records"),
        ("link", "more is not a Parquet file"),
        ("answer=never", "shows column 'answer'"),
        ("ANSWER=never", "shows column 'answer'"),
        ("%61nswer=never", "shows column 'answer'"),
    ],
)
def test_bad_directories_are_refused(tmp_path, how, said):
    """The file is named, and nothing is written."""
    source = written(tmp_path, "")
    spoil_directory(source, how)
    before = paths_in(tmp_path)
    with pytest.raises(rr.errors.RRStatsError, match=said) as error:
        release(source, again=how == "reports")
    assert "never" not in str(error.value)
    assert before == paths_in(tmp_path)


@pytest.mark.parametrize("ending", [".parquet", "", ".csv"])
def test_a_source_that_changes_meanwhile_is_not_published(tmp_path, ending):
    """Half of one file and half of another is nobody's release; the ledger stays empty."""
    source = written(tmp_path, ending)
    changing = source / "z.parquet" if source.is_dir() else source

    def change(done, total):
        with changing.open("ab") as file:
            file.write(b"\n")

    before = paths_in(tmp_path)
    with pytest.raises(FileError):
        release(source, progress=change)
    assert before == paths_in(tmp_path)
    assert not list(tmp_path.glob("*ledger*"))


@pytest.mark.parametrize("ending", [".parquet", "", ".feather", ".csv.gz"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_after_an_error_nothing_remains(tmp_path, ending, error):
    """Whatever happens on the way: no target, no part, no ledger, no complaint of a writer."""

    def fail(done, total):
        raise error

    source = written(tmp_path, ending)
    before = paths_in(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error):
            release(source, progress=fail)
    assert before == paths_in(tmp_path)


# -- memory --------------------------------------------------------------------------------

MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import rrstats as rr
from rrstats import files

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

source, target, n = sys.argv[1], sys.argv[2], 6_000_000
small = files.privatize_file(sys.argv[3], target, {"answer": rr.KRR(["a", "b"], 0.75)})
before = peak()
done = files.privatize_file(source, target, {"answer": rr.KRR(["a", "b"], 0.75)}, overwrite=True)
assert done.rows == n, done
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """6,000,000 rows, 160 MB as columns, take less than 130 MiB beyond a small file."""
    pytest.importorskip("resource")
    source, small = tmp_path / "source.parquet", tmp_path / "small.parquet"
    schema = pa.schema([("id", pa.int64()), ("answer", pa.string()), ("x", pa.float64())])
    words = pa.array(["a", "b"] * 500_000)
    with pq.ParquetWriter(source, schema) as writer:
        for start in range(0, 6_000_000, 1_000_000):
            ids = np.arange(start, start + 1_000_000)
            writer.write_table(pa.table([ids, words, ids * 0.5], schema=schema))
    pq.write_table(pq.ParquetFile(source).read_row_group(0).slice(0, 10), small)
    done = run("-c", MEMORY, source, tmp_path / "target.parquet", small)
    assert 0 == done.returncode, done.stderr
    assert int(done.stdout) < 130


PYARROW = int(pa.__version__.partition(".")[0])


def test_the_receipt_knows_all_releases_of_a_column(tmp_path):
    """What may be printed says how often a column was released and what that spends together."""
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a": ["x", "y"], "b": ["x", "y"]}), source)
    m = rr.KRR(["x", "y"], 0.75)
    first = rr.files.privatize_file(source, tmp_path / "1.parquet", {"a": m})
    both = rr.files.privatize_file(source, tmp_path / "2.parquet", {"a": m, "b": m}, again=True)
    assert {"a": (1, m.epsilon)} == first.account
    together = total_epsilon([m.epsilon, m.epsilon])
    assert {"a": (2, together), "b": (1, m.epsilon)} == both.account
    said = both.to_dict()["columns"][0]
    assert (2, together) == (said["releases"], said["epsilon_of_all_releases"])


@pytest.mark.parametrize("names", ["12", "21"])
def test_epsilon_of_a_row_is_that_of_the_worst_file(tmp_path, names):
    """Of a directory in which one file alone holds earlier reports, in any order of names."""
    folder = tmp_path / "in"
    folder.mkdir()
    m = rr.KRR(["x", "y"], 0.75)
    table = pa.table({"a": ["x", "y"], "b": ["x", "y"]})
    pq.write_table(table, folder / f"{names[0]}.parquet")
    pq.write_table(table, tmp_path / "raw.parquet")
    made = folder / f"{names[1]}.parquet"
    rr.files.privatize_file(tmp_path / "raw.parquet", made, {"b": m})
    receipt = rr.files.privatize_file(folder, tmp_path / "out", {"a": m})
    assert total_epsilon([m.epsilon, m.epsilon]) == receipt.epsilon_per_row


@pytest.mark.parametrize("shuffled", [False, True])
def test_timestamps_of_96_bits_are_copied_exactly_or_refused(tmp_path, shuffled):
    """What 64 bits of nanoseconds cannot hold is never wrapped around in silence."""
    m = rr.KRR(["x", "y"], 0.75)
    early = "1700-02-03T04:05:06.123456" if PYARROW >= 24 else "1970-01-01T00:00:00.000001"
    days = np.array(["2020-01-01", early, "2262-04-01"], "M8[us]")
    far = np.array(["2020-01-01", "9999-12-31", "2021-01-01"], "M8[us]")
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    for times in (far, days):
        table = pa.table({"a": ["x", "y", "x"], "t": pa.array(times), "none": pa.nulls(3)})
        pq.write_table(table, source, use_deprecated_int96_timestamps=True)
        if times is far:
            with pytest.raises(FileError, match="timestamps of 96 bits outside the years"):
                release(source, {"a": m}, shuffle_rows=shuffled)
            assert not target.exists()
    release(source, {"a": m}, shuffle_rows=shuffled)
    kept = pq.read_table(target, coerce_int96_timestamp_unit="us")["t"].to_numpy()
    assert sorted(days) == sorted(kept)
    assert "int96" in str(pq.ParquetFile(target).schema)
