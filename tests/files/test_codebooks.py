"""Codebooks of files: each reader, each bad column, and that rows are never read."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FileError,
    MetadataError,
    MissingPackageError,
)

VISITS = {1: "never", 2: "once", 3: "often"}
SURVEY = pd.DataFrame(
    {
        "visits": [1, 2, 3, 3] * 50,
        "opinion": [1.0, 2.0, np.nan, 9.0] * 50,
        "region": ["n", "s", "s", "n"] * 50,
        "age": range(200),
    }
)
OPINION = {1: "for", 2: "against", 9: "Refused"}
FRAMES = {
    "vote": ["Clinton", "Dole"],
    "party": rr.datasets.CATEGORIES["party"],
    "age": {"low": 18, "high": 95},
}


@pytest.fixture
def stata(tmp_path):
    """The path of a Stata file that pandas wrote."""
    path = tmp_path / "survey.dta"
    labels = {"visits": VISITS, "opinion": OPINION}
    SURVEY.to_stata(path, write_index=False, value_labels=labels, version=118)
    return path


@pytest.fixture
def spss(tmp_path):
    """The path of an SPSS file that pyreadstat wrote; code 9 of a column is declared as missing."""
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        SURVEY,
        path,
        variable_value_labels={
            "visits": VISITS,
            "opinion": OPINION,
            "region": {"n": "North", "s": "South"},
        },
        missing_ranges={"opinion": [{"lo": 8, "hi": 9}]},
    )
    return path


@pytest.fixture
def xlsform(tmp_path):
    """The path of an XLSForm with choices of several kinds."""
    pytest.importorskip("openpyxl")
    questions = [
        ("begin group", "health", None),
        ("select_one yn", "smokes", "Do you smoke?"),
        ("select_one often or_other", "visits", "How often?"),
        ("select_multiple yn", "several", "Which?"),
        ("integer", "age", "Your age?"),
        ("select one from codes", "coded", "Which code?"),
        ("select_one lost", "lost", "No list"),
        ("select_one_from_file towns.csv", "town", "Town?"),
        ("end group", None, None),
    ]
    choices = [
        ("yn", "NA", "Neither"),
        ("yn", "yes", "Yes"),
        (None, None, None),
        ("often", "rare", "Rarely"),
        ("often", "always", None),
        ("codes", "1", "One"),
        ("codes", "2", "Two"),
    ]
    path = tmp_path / "form.xlsx"
    with pd.ExcelWriter(path) as book:
        survey = pd.DataFrame(questions, columns=["type", "name", "label::English (en)"])
        survey.to_excel(book, sheet_name="survey", index=False)
        listed = pd.DataFrame(choices, columns=["list name", "Name", "label::English (en)"])
        listed.assign(**{"label::French (fr)": "?"}).to_excel(
            book, sheet_name="choices", index=False
        )
    return path


def written(folder, document):
    """The path of a JSON file with a document."""
    path = folder / "book.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


# -- readers ---------------------------------------------------------------------------------------


def test_value_labels_of_stata(stata):
    """Labelled columns alone, codes as whole numbers; pandas' codes and its labels both fit."""
    book = rr.files.codebook(stata, no_answer="category")
    assert {"visits": VISITS, "opinion": OPINION} == dict(book)
    chosen = {"visits": book["visits"]}
    for answers in (pd.read_stata(stata), pd.read_stata(stata, convert_categoricals=False)):
        released = answers.rr.privatize(chosen, epsilon=1)
        assert {*released["visits"]} <= {1, 2, 3}
        assert rr.KRR(VISITS, epsilon=1) == released.rr.mechanisms["visits"]


def test_label_sets_that_columns_share_and_missing_codes_of_stata(stata):
    """Two columns may name one set of labels; ``.a`` with a label is missing, no category."""
    labels = {"visits": {**VISITS, 2_147_483_622: "refused by letter"}}
    SURVEY.to_stata(stata, write_index=False, value_labels=labels, version=118)
    content = bytearray(stata.read_bytes())
    first = content.index(b"<value_label_names>") + len(b"<value_label_names>")
    last = first + 3 * 129  # of the fourth column, in the bytes of a name in this format
    content[last : last + 6] = b"visits"
    stata.write_bytes(content)
    assert {"visits": VISITS, "age": VISITS} == dict(rr.files.codebook(stata))


def test_value_labels_of_spss(spss):
    """Codes of numbers are whole numbers, those of text are text; missing ones are left out."""
    book = rr.files.codebook(spss)
    expected = {
        "visits": VISITS,
        "opinion": {1: "for", 2: "against"},
        "region": {"n": "North", "s": "South"},
    }
    assert expected == dict(book)
    for labels in (True, False):
        answers = pd.read_spss(spss, convert_categoricals=labels)
        released = answers.rr.privatize(book, epsilon=1, missing="uniform")
        assert released.rr.epsilon == pytest.approx(3)
        assert {*released["visits"]} <= {1, 2, 3}
        assert {*released["region"]} <= {"n", "s"}


def test_choices_of_an_xlsform(xlsform):
    """Questions with one choice; "NA" is a name, "other" a choice, and whole names are numbers."""
    book = rr.files.codebook(xlsform)
    assert ["smokes", "visits", "coded", "lost"] == list(book)
    assert {"NA": "Neither", "yes": "Yes"} == book["smokes"]
    assert {"rare": "Rarely", "always": "always", "other": "Other"} == book["visits"]
    assert {1: "One", 2: "Two"} == book["coded"]
    refused(ArgumentValueError, "column 'lost': .* at least two .* found 0", book.get, "lost")


CAMTRAP = {
    "fields": [
        {"name": "observationID", "type": "string", "constraints": {"unique": True}},
        {"name": "count", "type": "integer", "constraints": {"minimum": 1}},
        {
            "name": "lifeStage",
            "type": "string",
            "constraints": {"enum": ["adult", "subadult", "juvenile"]},
        },
        {
            "name": "individualPositionAngle",
            "type": "number",
            "constraints": {"minimum": -90, "maximum": 90},
        },
    ],
    "missingValues": ["", "NaN", "nan"],
}
"""Facts of the table of observations in Camtrap DP, the standard of camera traps."""


@pytest.mark.parametrize("place", ["schema", "resource", "package"])
def test_a_table_schema_of_a_public_package(tmp_path, place):
    """Alone, in a resource, or in a package: lists and two bounds declare, one bound does not."""
    resource = {"name": "observations", "schema": CAMTRAP}
    package = {"resources": [{"name": "readme", "path": "readme.md"}, resource]}
    document = {"schema": CAMTRAP, "resource": resource, "package": package}[place]
    book = rr.files.codebook(written(tmp_path, document))
    assert {
        "lifeStage": ["adult", "subadult", "juvenile"],
        "individualPositionAngle": rr.number(-90, 90),
    } == dict(book)


FIELDS = {
    "text as integers": ({"type": "integer", "constraints": {"enum": ["1", "2"]}}, [1, 2]),
    "dates": (
        {"type": "date", "constraints": {"enum": ["2020-01-01", "2020-02-01"]}},
        [pd.Timestamp(2020, month, 1).date() for month in (1, 2)],
    ),
    "booleans": ({"type": "boolean"}, [False, True]),
    "missing values": (
        {"constraints": {"enum": ["a", "b", "", "-"]}, "missingValues": ["-", ""]},
        ["a", "b"],
    ),
    "missing values with labels": (
        {"constraints": {"enum": ["a", "b", "-"]}, "missingValues": [{"value": "-", "label": "x"}]},
        ["a", "b"],
    ),
    "categories": ({"type": "string", "categories": ["apple", "pear"]}, ["apple", "pear"]),
    "categories with labels": (
        {"type": "integer", "categories": [{"value": 0, "label": "apple"}, {"value": 1}]},
        {0: "apple", 1: "1"},
    ),
    "categories and their subset": (
        {
            "type": "integer",
            "categories": [{"value": place, "label": f"l{place}"} for place in range(3)],
            "constraints": {"enum": [0, 2]},
        },
        {0: "l0", 2: "l2"},
    ),
    "bounds as text": (
        {"type": "integer", "constraints": {"minimum": "0", "maximum": "10"}},
        rr.number(0, 10),
    ),
}


@pytest.mark.parametrize(("field", "declared"), FIELDS.values(), ids=list(FIELDS))
def test_fields_of_a_table_schema(tmp_path, field, declared):
    """Values are those of the field's type, without missing ones."""
    book = rr.files.codebook(written(tmp_path, {"fields": [{"name": "a", **field}]}))
    assert {"a": declared} == dict(book)
    if isinstance(declared, list):
        assert list(map(type, declared)) == list(map(type, book["a"]))


def test_a_json_object_by_hand(tmp_path):
    """Lists (bare, tagged, labelled), objects from code to label, and bounds with options."""
    document = {
        "smokes": ["no", "yes", None],
        "since": [{"date": "2020-01-01"}, {"date": "2021-01-01"}],
        "vote": [{"int": 1, "label": "for"}, {"int": 2, "label": "against"}],
        "visits": {"1": "never", "2": "once"},
        "size": {"low": "Low", "high": "High"},
        "age": {"low": 18, "high": 90, "goal": "distribution"},
    }
    expected = {
        "smokes": ["no", "yes", None],
        "since": [pd.Timestamp(year, 1, 1).date() for year in (2020, 2021)],
        "vote": {1: "for", 2: "against"},
        "visits": {1: "never", 2: "once"},
        "size": {"low": "Low", "high": "High"},
        "age": rr.number(18, 90, goal="distribution"),
    }
    assert expected == dict(rr.files.codebook(written(tmp_path, document)))


def test_one_codebook_for_two_categories_and_a_number_of_a_real_frame(tmp_path):
    """ANES: the columns that are selected are privatized, and estimated in one call."""
    book = rr.files.codebook(written(tmp_path, FRAMES))
    anes = rr.datasets.load_anes96()
    released = anes.rr.privatize({name: book[name] for name in ("vote", "age")}, epsilon=1)
    assert ["vote", "age"] == list(released.rr.mechanisms)
    assert anes["party"].equals(released["party"])
    assert released.rr.epsilon == pytest.approx(2)


# -- laziness --------------------------------------------------------------------------------------


def test_rows_of_stata_are_never_read(stata, monkeypatch):
    """With other bytes in the place of all rows the codebook is the same."""
    whole = dict(rr.files.codebook(stata, no_answer="category"))
    content = stata.read_bytes()
    start = content.index(b"<data>") + len(b"<data>")
    end = content.index(b"</data>")
    stata.write_bytes(content[:start] + b"\xff" * (end - start) + content[end:])
    with pytest.warns(UnicodeWarning):
        pd.read_stata(stata, convert_categoricals=False)

    def read(*_arguments, **_options):
        pytest.fail("rows were read")

    monkeypatch.setattr(pd.io.stata.StataReader, "read", read)
    assert whole == dict(rr.files.codebook(stata, no_answer="category"))


def test_rows_of_spss_are_never_read(spss):
    """A file that ends within its first rows has its codebook all the same."""
    pyreadstat = pytest.importorskip("pyreadstat")
    whole = dict(rr.files.codebook(spss))
    content = spss.read_bytes()
    spss.write_bytes(content[:-600])
    with pytest.raises(Exception, match=r"(?i)file|read"):
        pyreadstat.read_sav(spss)
    assert whole == dict(rr.files.codebook(spss))


def test_a_codebook_needs_no_pyarrow(tmp_path):
    """Neither a codebook of JSON nor one of Stata imports it."""
    SURVEY.to_stata(tmp_path / "a.dta", write_index=False, value_labels={"visits": VISITS})
    path = written(tmp_path, FRAMES)
    code = (
        "import sys; sys.modules['pyarrow'] = None; import rrstats as rr; "
        f"print(list(rr.files.codebook({str(path)!r})), "
        f"rr.files.codebook({str(tmp_path / 'a.dta')!r})['visits'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"['vote', 'party', 'age'] {VISITS}" == done.stdout.strip()


# -- the mapping -----------------------------------------------------------------------------------


def test_a_codebook_is_a_mapping_that_cannot_be_changed_and_prints(tmp_path):
    """It shows each column; a bad one with its reason, and it does not stop the others."""
    document = {"smokes": ["no", "yes"], "bad": {"1": "x", "2": "x"}, "c": {"1": "y", "2": "z"}}
    book = rr.files.codebook(written(tmp_path, document))
    assert "bad" in book
    assert "other" not in book
    with pytest.raises(KeyError):
        book["other"]
    with pytest.raises(TypeError):
        book["smokes"] = ["no"]
    first, _header, *rows = repr(book).splitlines()
    assert "Codebook of book.json: 3 columns" == first
    assert "  smokes  ['no', 'yes']" == rows[0]
    assert rows[1].startswith("  bad     cannot be used: categories in a codebook must each have")
    refused(ArgumentTypeError, "^column 'bad': ", book.get, "bad")
    refused(
        ArgumentTypeError,
        "^column 'bad': ",
        pd.DataFrame(columns=[*book]).rr.privatize,
        book,
        epsilon=1,
    )
    many = rr.files.codebook(written(tmp_path, {f"q{i}": ["no", "yes"] for i in range(60)}))
    assert repr(many).splitlines()[-1].split() == ["...", "60", "in", "all"]


@pytest.mark.parametrize(
    ("label", "silent"),
    [
        *((text, True) for text in ("Refused", "-9. No answer", "N/A", "99 = Prefer not to say.")),
        *((text, False) for text in ("no", "Don't know", "not refused", "answer", "", "9")),
    ],
)
def test_a_label_for_no_answer_is_declared_on_purpose(tmp_path, label, silent):
    """By default it is refused, with both ways on; then it is a category, or none."""
    path = written(tmp_path, {"a": {"1": "yes", "2": "never", "9": label}})
    every = {1: "yes", 2: "never", 9: label}
    assert every == rr.files.codebook(path, no_answer="category")["a"]
    without = {1: "yes", 2: "never"} if silent else every
    assert without == rr.files.codebook(path, no_answer="missing")["a"]
    book = rr.files.codebook(path)
    if silent:
        words = "column 'a': category number 3, .* as missing .*, or as a category on purpose"
        refused(ArgumentValueError, words, book.get, "a")
    else:
        assert every == book["a"]


def test_a_label_for_no_answer_in_a_list(tmp_path):
    """Words of a list are their own labels."""
    path = written(tmp_path, {"a": ["yes", "no", "refused"]})
    refused(
        ArgumentValueError, "'refused', says that there is no", rr.files.codebook(path).get, "a"
    )
    assert ["yes", "no"] == rr.files.codebook(path, no_answer="missing")["a"]


# -- errors ----------------------------------------------------------------------------------------


DOCUMENTS = {
    "no JSON": ("{", "cannot be read as a codebook in JSON: JSONDecodeError"),
    "no object": ("[1]", "must hold a JSON object, found list"),
    "a key twice": ('{"a": {"1": "x", "1": "y"}}', "has a key twice"),
    "a column of no kind": ({"a": 3}, "must be a Table Schema, or an object from column"),
    "no column": ({}, "declares the answers of no column"),
    "no field": (
        {"fields": [{"name": "a", "type": "string"}]},
        "declares the answers of no column",
    ),
    "no integers": (
        {"fields": [{"name": "a", "type": "integer", "constraints": {"enum": ["x", "y"]}}]},
        "cannot be read as a codebook in JSON: ValueError",
    ),
    "two tables": ({"resources": [{"schema": CAMTRAP}] * 2}, "describes 2 tables"),
}


@pytest.mark.parametrize(("document", "words"), DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_documents_that_are_no_codebook(tmp_path, document, words):
    """One sentence says what the file must hold."""
    refused(MetadataError, words, rr.files.codebook, written(tmp_path, document))


COLUMNS = {
    "an empty enum": (
        {"fields": [{"name": "a", "constraints": {"enum": []}}]},
        "at least two distinct values, found 0",
    ),
    "bounds in the wrong order": (
        {"fields": [{"name": "a", "type": "number", "constraints": {"minimum": 1, "maximum": 0}}]},
        "low must be below high",
    ),
    "one bound": ({"a": {"low": 3}}, "high must be a number"),
    "another option": ({"a": {"low": 3, "high": 4, "step": 1}}, "number takes no step"),
    "no category": ({"a": [{"float": "x"}, 1]}, "a category in a document must be"),
    "swapped": ({"a": {"never": 1, "once": 2}}, "codes and labels are swapped"),
}


@pytest.mark.parametrize(("document", "words"), COLUMNS.values(), ids=list(COLUMNS))
def test_columns_that_cannot_be_used_say_why_when_they_are_looked_up(tmp_path, document, words):
    """The codebook is read, and the error of the column names it."""
    book = rr.files.codebook(written(tmp_path, document))
    errors = (ArgumentValueError, ArgumentTypeError)
    refused(errors, f"^column 'a': .*{words}", book.get, "a")
    assert "cannot be used" in repr(book)


def test_files_that_cannot_be_read(tmp_path):
    """Another ending, no file, and a file of another format; each names the next step or file."""
    read = rr.files.codebook
    refused(ArgumentValueError, r"path must end in \.dta or \.sav", read, "survey.csv")
    refused(FileError, "cannot read .*none.json: no such file", read, tmp_path / "none.json")
    refused(ArgumentValueError, "no_answer must be one of", read, "a.json", no_answer="drop")
    other = tmp_path / "other.dta"
    other.write_bytes(b"no Stata")
    refused(MetadataError, "other.dta cannot be read as a Stata file", read, other)


@pytest.mark.parametrize("version", [114, 118])
def test_files_of_stata_that_were_cut(tmp_path, version):
    """A file without some of its last bytes is refused, wherever it ends: no label is lost."""
    path = tmp_path / "whole.dta"
    frame = pd.DataFrame({"a": [1, 2], "b": [0, 1], "c": [1, 2]})
    labels = {"a": {1: "no", 2: "yes"}, "b": {0: "low", 1: "high"}, "c": {1: "rare", 2: "often"}}
    frame.to_stata(path, write_index=False, value_labels=labels, version=version)
    assert labels == dict(rr.files.codebook(path))
    content = path.read_bytes()
    cut = tmp_path / "cut.dta"
    for missing in range(1, 250, 4):
        cut.write_bytes(content[:-missing])
        with pytest.raises(MetadataError, match="cut"):
            rr.files.codebook(cut)


def test_two_questions_of_one_name_are_refused(tmp_path):
    """Two lists of one column cannot both be its declaration."""
    pytest.importorskip("openpyxl")
    path = tmp_path / "form.xlsx"
    survey = pd.DataFrame({"type": ["select_one yn", "select_one ab"], "name": ["x", "x"]})
    choices = pd.DataFrame({"list_name": ["yn", "yn", "ab", "ab"], "name": list("ynab")})
    with pd.ExcelWriter(path) as book:
        survey.to_excel(book, sheet_name="survey", index=False)
        choices.to_excel(book, sheet_name="choices", index=False)
    refused(MetadataError, "two with a list are named 'x'", rr.files.codebook, path)


def test_workbooks_that_are_no_form(tmp_path):
    """A workbook without the sheets, or without their columns; and no workbook."""
    pytest.importorskip("openpyxl")
    path = tmp_path / "form.xlsx"
    pd.DataFrame({"a": [1]}).to_excel(path, sheet_name="survey", index=False)
    read = rr.files.codebook
    refused(MetadataError, "the columns type and name in the sheet 'survey'", read, path)
    form = pd.DataFrame({"type": ["select_one a"], "name": ["a"]})
    form.to_excel(path, sheet_name="survey", index=False)
    refused(MetadataError, "a workbook with the sheet 'choices'", read, path)
    path.write_text("no workbook")
    refused(MetadataError, "a workbook with the sheet 'survey'", read, path)


@pytest.mark.parametrize(("name", "package"), [("a.sav", "pyreadstat"), ("a.xlsx", "openpyxl")])
def test_a_missing_reader_is_named(tmp_path, monkeypatch, name, package):
    """The error is that of the optional package, with the line that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"")
    words = re.escape(f"install {package} (pip install {package})")
    refused(MissingPackageError, words, rr.files.codebook, tmp_path / name)
