"""What made the reports of a file: what it says, what is given, and where these disagree."""

import json

import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import file_samples as samples  # after importorskip
from file_samples import KRR  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.errors import ArgumentTypeError, FileError, MetadataError  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord

ENDINGS = [".parquet", ".feather", ".csv", ".tsv.gz", ""]
REPORTS = (["never"] * 3 + ["once"] * 2 + ["often"]) * 50


def reports(folder, ending, answers=REPORTS, **facts):
    """A file of reports that says how they were made; without facts it says nothing."""
    data = pa.table({"answer": pa.array(answers, pa.string()), "id": range(len(answers))})
    if facts:
        data = samples.with_document(data, "answer", **facts)
    path = samples.written(folder, ending, data)
    if facts and ending.startswith((".csv", ".tsv")):
        beside = path.with_name(path.name + ".rrstats.json")
        beside.write_text(json.dumps(samples.document("answer", **facts)))
    return path


# -- missing reports -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("policy", ["unknown", "raise"])
def test_missing_reports_contradict_a_document_that_has_none(tmp_path, ending, policy):
    """Unless missing answers were kept, 30 of 330 missing reports are not of this release."""
    path = reports(tmp_path, ending, [*REPORTS, *[None] * 30], missing=policy)
    where = "beside" if ".csv" in ending or ".tsv" in ending else "in"
    said = rf"30 of 330 reports in column 'answer' .* \(its missing is '{policy}', not 'keep'\): "
    said += f"the document {where} the file does not describe these reports"
    for call in (lambda: files.tally_file(path, "answer"), lambda: files.estimate_file(path)):
        refused(MetadataError, said, call)
    refused(MetadataError, "30 of 330 reports", files.tally_file, path, "answer", KRR)


@pytest.mark.parametrize("ending", ENDINGS)
def test_missing_reports_that_nothing_contradicts(tmp_path, ending):
    """Where they were kept, or nothing is said of them, they are counted apart from the reports."""
    for said in ({}, {"missing": "keep"}):
        folder = tmp_path / str(len(said))
        folder.mkdir()
        path = reports(folder, ending, [*REPORTS, *[None] * 30], **said)
        counted = files.tally_file(path, "answer", None if said else KRR)
        assert (300, 30) == (counted.n, counted.n_missing)


def test_a_document_that_is_given_is_held_to_its_word(tmp_path):
    """As that of the file: 30 missing reports contradict it, unless it says they were kept."""
    path = reports(tmp_path, ".csv", [*REPORTS, *[None] * 30])
    with pytest.raises(MetadataError, match="the document given does not describe these reports"):
        files.tally_file(path, "answer", ColumnRecord.of("answer", KRR))
    kept = ColumnRecord.of("answer", KRR, missing="keep")
    assert 30 == files.tally_file(path, "answer", kept).n_missing


# -- what is given -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_made_the_reports_in_every_form(tmp_path, ending):
    """A mechanism, a record, a document, or a path to one give the same estimates."""
    path = reports(tmp_path, ending)
    record = ColumnRecord.of("answer", KRR)
    document = column_records.write([record])
    (tmp_path / "made.json").write_text(json.dumps(document))
    (tmp_path / "made.toml").write_text(
        'v = 1\n[[columns]]\nname = "answer"\n'
        'mechanism = { type = "KRR", categories = ["never", "once", "often"], prob = 0.75 }\n'
    )
    expected = files.tally_file(path, "answer", KRR)
    assert [150, 100, 50] == expected.reported.tolist()
    forms = [record, [record], document, tmp_path / "made.json", str(tmp_path / "made.toml")]
    for given in forms:
        assert expected == files.tally_file(path, "answer", given)
        assert expected == files.estimate_file(path, mechanism=given)["answer"].tally
        assert expected == files.estimate_file(path, ["answer"], given)["answer"].tally
        assert files.check_file(path, "answer", given).empty


def test_several_columns_of_one_document(tmp_path):
    """A document may speak of all columns; without names those are estimated."""
    data = pa.table({"a": REPORTS, "b": REPORTS, "c": REPORTS})
    path = samples.written(tmp_path, ".parquet", data)
    document = samples.document("c", "a")
    assert ["c", "a"] == list(files.estimate_file(path, mechanism=document))
    assert ["a"] == list(files.estimate_file(path, "a", document))
    with pytest.raises(MetadataError, match=r"describes \['c', 'a'\], not column 'b'"):
        files.estimate_file(path, ["a", "b"], document)
    refused(MetadataError, "not column 'b'", files.check_file, path, "b", document)


def test_fingerprints_are_compared_too(tmp_path):
    """A document of more than 100 categories cannot be resolved, but it can contradict."""
    mechanism = rr.KRR([f"c{i}" for i in range(150)], 0.75)
    data = pa.table({"answer": ["c1", "c2"] * 50})
    record = ColumnRecord.of("answer", mechanism)
    text = json.dumps(column_records.write([record]))
    path = samples.written(tmp_path, ".parquet", data)
    refused(MetadataError, "fingerprint", files.tally_file, path, "answer", record)
    path = samples.written(tmp_path, ".parquet", data.replace_schema_metadata({"rrstats": text}))
    refused(MetadataError, "fingerprint", files.tally_file, path, "answer", record)
    assert 100 == files.tally_file(path, "answer", mechanism).n
    full = column_records.write([ColumnRecord("answer", mechanism.to_dict())])
    assert 100 == files.tally_file(path, "answer", full).n
    data = samples.with_document(pa.table({"answer": REPORTS}), "answer")
    path = samples.written(tmp_path, ".feather", data)
    refused(MetadataError, "contradicts", files.tally_file, path, "answer", record)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv"])
def test_a_text_file_without_its_sidecar_says_what_is_missing(tmp_path, ending):
    """The error names the file that should lie beside it, and the option that takes it."""
    path = reports(tmp_path, ending)
    said = rf"because source{ending}\.rrstats\.json is not beside it; put it there, or .* --plan"
    for call in (lambda: files.estimate_file(path), lambda: files.tally_file(path, "answer")):
        refused(ArgumentTypeError, said, call)
    refused(FileError, said, files.statement_of, path)
    whole = reports(tmp_path, ".parquet")
    for column in (None, "answer"):
        with pytest.raises(ArgumentTypeError) as found:
            files.estimate_file(whole, column)
        assert "rrstats.json" not in str(found.value)


# -- the page ------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("format", ["markdown", "html"])
def test_the_page_of_a_file(tmp_path, ending, format):
    """It tells the file, its 300 rows (counted in text files), and what lies beside it."""
    path = reports(tmp_path, ending, missing="unknown")
    page = files.statement_of(path, title="Wave two", made="2026-11-21")
    page = page.to_html() if format == "html" else page
    assert f"File: source{ending}. Rows: 300. Page of 2026-11-21, written by rrstats" in page
    assert ("# Wave two\n" if format == "markdown" else "<h1>Wave two</h1>") in page
    is_text = ending.startswith((".csv", ".tsv"))
    assert is_text == (f"source{ending}.rrstats.json" in page.replace("\\", ""))


def test_the_document_on_the_page_is_taken_again(tmp_path):
    """Saved from the page, it stands in for the sidecar that was lost."""
    path = reports(tmp_path, ".csv", missing="unknown")
    expected, page = files.tally_file(path, "answer"), files.statement_of(path)
    (tmp_path / "source.csv.rrstats.json").unlink()
    made = tmp_path / "made.json"
    made.write_text(page[page.rindex('{"v"') :].removesuffix("```\n"))
    assert expected == files.tally_file(path, "answer", made)
