"""What files and directories say of how they were made: found wherever it lies, and it must fit."""

import json

import numpy as np
import pandas as pd
import pytest
from refusals import refused

pytest.importorskip("pyarrow")  # rrstats.files reads and writes with it

import pyarrow as pa
import pyarrow.parquet as pq
from answers import QUIET
from file_samples import KRR, WORDS, document, simulate_file

import rrstats as rr
from rrstats import files
from rrstats.errors import DamagedDocumentError, MetadataError
from rrstats.mechanisms.records import ColumnRecord, write

N = 300
REPORTS = pa.table({"id": np.arange(N), "answer": WORDS * 100, "grade": [0, 1] * 150})
GRADE = rr.KRR([0, 1], 0.75)
SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def footer(said):
    return None if said is None else {b"rrstats": json.dumps(said).encode()}


def directory(path, said=None, parts=(None, None)):
    """A directory as an engine leaves it: parts, ``_SUCCESS`` and the document."""
    path.mkdir()
    size = N // len(parts)
    for place, own in enumerate(parts):
        part = REPORTS.slice(place * size, size).replace_schema_metadata(footer(own))
        pq.write_table(part, path / f"part-{place}.parquet")
    if said is not None:
        (path / "_rrstats.json").write_text(said if isinstance(said, str) else json.dumps(said))
    (path / "_SUCCESS").touch()
    return path


# -- the form of what is written ------------------------------------------------------------------

RECORD = {
    "name": {"str": "answer"},
    "mechanism": {
        "type": "KRR",
        "categories": [{"str": "never"}, {"str": "once"}, {"str": "often"}],
        "prob": 0.75,
    },
    "unknown": "raise",
    "missing": "unknown",
    "simulated": True,
    "keyed": False,
}


def types_of(value):
    """A document with a type in place of each value."""
    if isinstance(value, dict):
        return {key: types_of(each) for key, each in value.items()}
    return [types_of(each) for each in value] if isinstance(value, list) else type(value).__name__


@pytest.mark.filterwarnings("ignore::rrstats.errors.SimulationWarning")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_documents_ledgers_and_receipts_keep_their_form(tmp_path, ending):
    """Other programs read them: to the byte as version 1 wrote them, keys in their order."""
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    frame = pd.DataFrame({"answer": WORDS * 10})
    frame.to_csv(source, index=False) if ending == ".csv" else frame.to_parquet(source)
    made = rr.KRR(WORDS, 0.75)
    receipt = simulate_file(source, target, {"answer": made}, rng=np.random.default_rng(1))
    whole = {"v": 1, "columns": [RECORD]}
    if ending == ".csv":
        written = (tmp_path / "out.csv.rrstats.json").read_text()
        assert json.dumps(whole, indent=1) + "\n" == written
    else:
        assert json.dumps(whole) == pq.read_schema(target).metadata[b"rrstats"].decode()
        assert json.dumps({"rrstats": whole}) == json.dumps(pd.read_parquet(target).attrs)
    assert [json.dumps(RECORD)] == [json.dumps(r.to_dict()) for r in files.describe_file(target)]
    form, text = types_of(RECORD), "str"
    release = {
        "when": text, "columns": [form], "epsilon": {"answer": text}, "target": text,
        "digest": text, "rows": "int", "rrstats": text,
    }  # fmt: skip
    ledger = {"v": "int", "source": text, "key": text, "releases": [release]}
    found = json.loads((tmp_path / f"in{ending}.rrstats-ledger.json").read_text())
    assert json.dumps(ledger) == json.dumps(types_of(found))
    spent = form | {"epsilon": text, "releases": "int", "epsilon_of_all_releases": text}
    told = {
        "target": text, "rows": "int", "columns": [spent], "epsilon_per_row": text, "void": [text],
    }  # fmt: skip
    assert json.dumps(told) == json.dumps(types_of(receipt.to_dict()))


# -- directories --------------------------------------------------------------------------------


def test_directory_document_speaks_for_all_files(tmp_path):
    """Where footers say nothing, all that reads the directory finds its document."""
    path = directory(tmp_path / "reports", document("answer"))
    assert files.describe_file(path) == [ColumnRecord.of("answer", KRR)]
    assert rr.tally(REPORTS["answer"], KRR) == files.tally_file(path, "answer")
    found = files.estimate_file(path)
    assert list(found) == ["answer"]
    assert found["answer"].mechanism == KRR
    page = files.statement_of(path)
    assert "300" in page
    assert all(word in page for word in WORDS)


def test_footers_and_document_add_up(tmp_path):
    """Footers and the document may each speak of what the other does not; equal ones agree."""
    grade = write([ColumnRecord.of("grade", GRADE)])
    path = directory(tmp_path / "reports", document("answer"), parts=(grade, grade))
    assert {r.name: r.resolve() for r in files.describe_file(path)} == {
        "grade": GRADE,
        "answer": KRR,
    }
    both = document("answer")
    path = directory(tmp_path / "same", both, parts=(both, None))
    assert files.describe_file(path) == [ColumnRecord.of("answer", KRR)]


OTHER = write([ColumnRecord.of("answer", rr.KRR(WORDS, 0.8))])


def test_footer_against_document(tmp_path):
    """A part that says something else than the directory is named, whatever is asked."""
    path = directory(tmp_path / "reports", document("answer"), parts=(None, OTHER))
    for use in (files.describe_file, files.estimate_file, files.statement_of):
        with pytest.raises(
            MetadataError,
            match=r"_rrstats.json and part-1.parquet say two different things .* 'answer'",
        ):
            use(path)
    refused(MetadataError, "two different things", files.tally_file, path, "answer", KRR)
    with pytest.raises(MetadataError, match="two different things"):
        files.privatize_file(path, tmp_path / "target", {"answer": KRR}, again=True)
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"v": 3, "columns": []}', "version 3, this rrstats reads 1 to 2"),
        ('{"v": 1, "columns": [{}]}', "needs a name and a mechanism"),
    ],
)
def test_damaged_documents(tmp_path, text, message):
    """A document that cannot be read is refused by name, not passed over."""
    path = directory(tmp_path / "reports", text)
    refused(DamagedDocumentError, f"_rrstats.json: .*{message}", files.describe_file, path)
    with pytest.raises(DamagedDocumentError):
        files.tally_file(path, "answer", KRR)


# -- what no longer fits ------------------------------------------------------------------------

ABSENT = write([ColumnRecord.of("answer", KRR), ColumnRecord.of("reply", KRR)])
UNFIT = {
    "answer": write([ColumnRecord.of("answer", rr.KRR([1, 2, 3], 0.75))]),
    "grade": write([ColumnRecord.of("grade", rr.KRR(WORDS, 0.75))]),
    "id": write(
        [ColumnRecord.of("id", rr.mechanisms.UnaryEncoding.optimized([1, 2, 3], epsilon=1.0))]
    ),
}


def in_footer(path, said):
    pq.write_table(REPORTS.replace_schema_metadata(footer(said)), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


PLACES = pytest.mark.parametrize("place", [directory, in_footer])


@PLACES
def test_columns_that_are_not_there(tmp_path, place):
    """A document that speaks of a column that is not there is refused for the whole; each column
    that is there can be asked for by its name."""
    path = place(tmp_path / "reports", ABSENT)
    for use in (files.describe_file, files.estimate_file, files.statement_of):
        refused(MetadataError, r"column 'reply' does not fit: there is no such", use, path)
    assert files.tally_file(path, "answer").n == N


@PLACES
@pytest.mark.parametrize("name", list(UNFIT))
def test_columns_of_another_kind(tmp_path, place, name):
    """A document whose categories no value of the column can be is refused."""
    path = place(tmp_path / "reports", UNFIT[name])
    target = path.with_name(f"target{path.suffix}")
    for use in (
        files.describe_file,
        files.estimate_file,
        lambda path: files.tally_file(path, name),
        lambda path: files.privatize_file(path, target, {name: KRR}, again=True),
    ):
        refused(MetadataError, f"of column '{name}' does not fit: ", use, path)
    assert not target.exists()


@PLACES
def test_fingerprints_fit(tmp_path, place):
    """Of many categories only a fingerprint is kept, which fits any type; so does a mechanism
    that a newer rrstats wrote."""
    m = rr.KRR([*WORDS, *map(str, range(100))], 0.75)
    newer = {"v": 1, "columns": [{"name": "grade", "mechanism": {"type": "Newer"}}]}
    said = write([ColumnRecord.of("answer", m)])
    said = {**said, "columns": [*said["columns"], *newer["columns"]]}
    path = place(tmp_path / "reports", said)
    assert [record.name for record in files.describe_file(path)] == ["answer", "grade"]
    assert files.tally_file(path, "answer", m).n == N
    refused(MetadataError, "found 'Newer'", files.tally_file, path, "grade")


# -- Spark's own place --------------------------------------------------------------------------


def spark_part(path, *columns):
    """A part as Spark writes it: each column's document is text in its description."""
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": said}
        for name, said in columns
    ]
    extra = {SPARK: json.dumps({"type": "struct", "fields": fields}).encode()}
    with pq.ParquetWriter(path, REPORTS.schema, store_schema=False) as writer:
        writer.write_table(REPORTS)
        writer.add_key_value_metadata(extra)
    return path


def test_a_part_from_spark_says_it(tmp_path):
    """A part that was taken out of Spark's directory says how each column was made, under the
    name that the column has now."""
    said = json.dumps(document("answer"))
    path = spark_part(
        tmp_path / "a.parquet", ("id", {"comment": "x"}), ("answer", {"rrstats": said})
    )
    assert files.describe_file(path) == [ColumnRecord.of("answer", KRR)]
    assert files.tally_file(path, "answer").n == N
    renamed = json.dumps(document("reply"))
    path = spark_part(tmp_path / "b.parquet", ("answer", {"rrstats": renamed}))
    assert files.describe_file(path) == [ColumnRecord.of("answer", KRR)]


def test_spark_is_kept_true(tmp_path):
    """Privatized again, the description that Spark reads says it too, and the rest of it stays."""
    said = json.dumps(document("answer"))
    columns = [("id", {"comment": "x"}), ("answer", {"rrstats": said, "comment": "y"})]
    path, target = spark_part(tmp_path / "a.parquet", *columns), tmp_path / "b.parquet"
    simulate_file(path, target, {"answer": KRR}, again=True, rng=QUIET)
    twice = ColumnRecord.of("answer", KRR.then(KRR))
    assert files.describe_file(target) == [twice]
    described = json.loads(pq.read_metadata(target).metadata[SPARK])
    first, second = (field["metadata"] for field in described["fields"])
    assert first == {"comment": "x"}
    assert ["rrstats"] == list(second)
    assert json.loads(second["rrstats"]) == write([twice])


@pytest.mark.parametrize(
    "described",
    [
        "[]",
        "{",
        '{"fields": 3, "columns": 3, "index_columns": 3, "attributes": 3}',
        '{"fields": [3, {}, {"name": "answer"}, {"metadata": {}}], "columns": [3, {}]}',
    ],
)
def test_descriptions_of_others_are_passed_over(tmp_path, described):
    """What Spark, or someone else, wrote there without a document is none of our business."""
    path, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(REPORTS.replace_schema_metadata({SPARK: described, "pandas": described}), path)
    assert files.describe_file(path) == []
    simulate_file(path, target, {"answer": KRR}, rng=QUIET)
    assert ["answer"] == list(files.estimate_file(target))


# -- nesting, and keys that stand twice ---------------------------------------------------------


def deep(levels):
    inner = "[]"
    return '{"v": 1, "columns": ' + "[" * levels + inner + "]" * levels + "}"


TWICE = json.dumps(document("answer")).replace('"prob"', '"prob": 0.5, "prob"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((deep(levels), "nested too deeply") for levels in (150, 3_000, 100_000)),
        (TWICE, "a JSON object has a key twice"),
    ],
    ids=["150", "3,000", "100,000", "twice"],
)
def test_documents_that_cannot_be_trusted_are_refused_everywhere(tmp_path, text, message):
    """However deep one is nested, or which of two values would count, wherever it lies."""
    fields = [{"name": "answer", "metadata": {"rrstats": text}}]
    places = {
        "key": {b"rrstats": text.encode()},
        "attrs": {b"PANDAS_ATTRS": f'{{"rrstats": {text}}}'.encode()},
        "attributes": {b"pandas": f'{{"attributes": {{"rrstats": {text}}}}}'.encode()},
        "spark": {SPARK: json.dumps({"fields": fields}).encode()},
    }
    for name, metadata in places.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(REPORTS.replace_schema_metadata(metadata), path)
        refused(MetadataError, message, files.describe_file, path)
    path = tmp_path / "reports.csv"
    path.write_text("answer\nnever\n")
    (tmp_path / "reports.csv.rrstats.json").write_text(text)
    refused(DamagedDocumentError, message, files.describe_file, path)
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    with pytest.raises(MetadataError, match=message):
        files.privatize_file(tmp_path / "key.parquet", tmp_path / "x.parquet", plan)


@pytest.mark.parametrize("value", ['"\\u0061nswer"', '{"\\u0061nswer": 1}', '["\\u0061nswer"]'])
def test_no_value_of_a_key_that_stands_twice_is_passed_over(tmp_path, value):
    """Metadata of others that name a private column are not copied, whichever value names it."""
    note = f'{{"note": {value}, "note": 1}}'
    path, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(REPORTS.replace_schema_metadata({"other": note, "kept": "{}"}), path)
    simulate_file(path, target, {"answer": KRR}, rng=QUIET)
    metadata = pq.read_metadata(target).metadata
    assert b"kept" in metadata
    assert b"other" not in metadata
