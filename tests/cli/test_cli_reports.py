"""``rrstats estimate``, ``check`` and ``describe``: documents that are given, and what is said."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")

import cli_calls  # after importorskip
import pandas as pd  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from cli_calls import call  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.cli import command_line  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord

WORDS = ["never", "once", "often"]
KRR = rr.KRR(WORDS, 0.75)
REPORTS = ["never"] * 60 + ["once"] * 25 + ["often"] * 15
TEXT = "answer\n" + "\n".join(REPORTS) + "\n"
TOML = """
v = 1
[[columns]]
name = "answer"
mechanism = { type = "KRR", categories = ["never", "once", "often"], prob = 0.75 }
"""
ANSWER = ["--column", "answer", "--categories", "never,once,often", "--prob", "0.75"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with reports that say nothing, as CSV and Parquet, and ones that do."""
    monkeypatch.chdir(tmp_path)
    Path("bare.csv").write_text(TEXT)
    Path("out.csv").write_text(TEXT)
    Path("out.csv.rrstats.json").write_text(json.dumps(said()))
    table = pa.table({"answer": REPORTS})
    pq.write_table(table, "bare.parquet")
    pq.write_table(table.replace_schema_metadata({"rrstats": json.dumps(said())}), "out.parquet")
    Path("plan.toml").write_text(TOML)
    return tmp_path


def said(mechanism=KRR, **facts):
    return column_records.write([ColumnRecord.of("answer", mechanism, **facts)])


def done(capsys, *words):
    code, out, err = call(capsys, *words)
    assert (0, "") == (code, err)
    return out


def refused(capsys, *words):
    """The one line of a command whose arguments are wrong."""
    code, line = cli_calls.refused(capsys, *words)
    assert 2 == code
    return line


# -- documents -----------------------------------------------------------------------------


@pytest.mark.parametrize("plan", ["out.csv.rrstats.json", "described.json", "plan.toml"])
@pytest.mark.parametrize("file", ["bare.csv", "bare.parquet", "out.csv", "out.parquet"])
def test_estimate_takes_what_says_how_reports_were_made(folder, capsys, file, plan):
    """A sidecar, what describe printed, and a plan written by hand; beside what a file says."""
    Path("described.json").write_text(done(capsys, "describe", "out.parquet", "--format", "json"))
    expected = done(capsys, "estimate", "bare.csv", *ANSWER)
    assert expected == done(capsys, "estimate", file, "--plan", plan)
    assert expected == done(capsys, "estimate", file, "--plan", plan, "--column", "answer")


# -- check ---------------------------------------------------------------------------------


def test_check_takes_the_options_of_privatize(folder, capsys):
    """--prob and --epsilon, before or after a column, are taken and change nothing."""
    expected = done(capsys, "check", "bare.csv", *ANSWER[:-2])
    for options in (ANSWER, [*ANSWER[:-2], "--epsilon", "1"], ["--epsilon", "1", *ANSWER[:-2]]):
        assert expected == done(capsys, "check", "bare.csv", *options)


def test_check_names_columns_that_give_the_answers_away(folder, capsys):
    """In words, beside the answers that fit no category, of a CSV and of a Parquet file."""
    rows = "never,1\noften,2\nonce,3\n" * 20 + "sometimes,4\nsometimes,4\n"
    Path("true.csv").write_text("answer,drug\n" + rows)
    frame = pd.read_csv("true.csv").assign(cells=[[1, 2]] * 62).astype({"drug": "category"})
    pq.write_table(pa.Table.from_pandas(frame), "true.parquet", row_group_size=20)
    for file in ("true.csv", "true.parquet"):
        page = " ".join(done(capsys, "check", file, *ANSWER).split())
        assert "sometimes unknown 2" in page
        assert "answer: column drug determines it (62 rows), so noise in answer alone" in page
    assert "determines" not in done(capsys, "check", "bare.csv", *ANSWER)


def test_check_takes_a_plan(folder, capsys):
    """Its columns, or those that are named, are checked against its categories."""
    Path("true.csv").write_text('answer\nnever\nsometimes\n""\n')
    page = done(capsys, "check", "true.csv", "--plan", "plan.toml")
    assert re.search(r"^  sometimes +unknown +1$", page, re.M)
    assert page == done(capsys, "check", "true.csv", "--plan", "plan.toml", "--column", "answer")
    Path("true.csv").write_text("answer,x\nnever,1\n")
    line = refused(capsys, "check", "true.csv", "--plan", "plan.toml", "--column", "x")
    assert "describes ['answer'], not column 'x'" in line


@pytest.mark.parametrize("file", ["out.csv", "out.parquet"])
def test_check_of_reports_says_so(folder, capsys, file):
    """Somebody who names the released file instead of the source is told."""
    told = "this column already holds randomized reports (epsilon 1.792), not true"
    assert f"according to {file}, {told}" in " ".join(done(capsys, "check", file, *ANSWER).split())
    assert told not in " ".join(done(capsys, "check", "bare.csv", *ANSWER).split())


def test_not_answering_has_one_name(folder, capsys):
    """Tables of check, estimate and describe say (no answer), where a column of JSON has null."""
    Path("x.csv").write_text('answer\nnever\nnever\n""\n""\n')
    page = done(capsys, "check", "x.csv", *ANSWER)
    assert re.search(r"^  \(no answer\) +missing +2$", page, re.M)
    options = ["--column", "answer", "--categories", "never,often", "--with-missing"]
    page = done(capsys, "estimate", "x.csv", *options, "--prob", "0.75")
    assert re.search(r"^  \(no answer\) +2 ", page, re.M)
    assert "missing" not in page
    assert re.search(r"In words: .*\boften\b", " ".join(page.split()))
    page = done(capsys, "estimate", "x.csv", *ANSWER)
    assert "answer: 2 reports and 2 times (no answer); " in " ".join(page.split())


# -- estimate ------------------------------------------------------------------------------


def test_csv_says_how_it_was_computed(folder, capsys):
    """Each row has its level, target, method, epsilon and the missing reports, as JSON does."""
    Path("out.csv").write_text(TEXT + '""\n' * 3)
    Path("out.csv.rrstats.json").write_text(json.dumps(said(missing="keep")))
    for target, method in [("sample", "clopper-pearson"), ("population", "wilson")]:
        options = ["--level", "0.9", "--target", target, "--method", method]
        page = done(capsys, "estimate", "out.csv", *options, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(page)))
        facts = {"level": "0.9", "target": target, "method": method, "missing": "3", "n": "100"}
        for row in rows:
            assert facts == {key: row[key] for key in facts}
            assert KRR.epsilon == float(row["epsilon"])
        page = done(capsys, "estimate", "out.csv", *options, "--format", "json")
        (found,) = json.loads(page)["columns"]
        assert set(found) - {"shares"} == set(rows[0]) - set(found["shares"][0])


def test_table_and_reading_show_one_interval(folder, capsys):
    """The row of the category that is read has the interval of the sentence, letter by letter."""
    page = done(capsys, "estimate", "out.csv", "--level", "0.9")
    (row,) = [line for line in page.splitlines() if line.startswith("  often")]
    (read,) = re.findall(r"interval (\S+ to \S+),", " ".join(page.split()))
    assert f"  {read}  " in row
    estimate = files.estimate_file("out.csv")["answer"]
    for end, shown in zip(estimate.interval(0.9), read.split(" to "), strict=True):
        digits = len(shown.rstrip("%").partition(".")[2])
        assert round(100 * end[2], digits) == float(shown.rstrip("%"))


def test_a_reading_by_another_method_says_so(folder, capsys):
    """The sentence has the exact interval; beside a table of another method it is named."""
    page = done(capsys, "estimate", "out.csv", "--method", "wald")
    assert "In words, by clopper-pearson: " in page
    assert "In words: " in done(capsys, "estimate", "out.csv")


def test_describe_names_the_file_beside(folder, capsys):
    """The words of a CSV file say that two files belong together; those of others do not."""
    told = "The file beside it, out.csv.rrstats.json, records how the reports were made. The two"
    assert told in " ".join(done(capsys, "describe", "out.csv").split())
    assert "belong together" not in done(capsys, "describe", "out.parquet")


def test_several_files_count_together(tmp_path, capsys, monkeypatch):
    """Daily files, by their paths or by their folder; the statement is written for each."""
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    for day in ("1", "2"):
        Path(f"{day}.csv").write_text("smoker\n" + "yes\nno\n" * 20)
        design = ["--column", "smoker", "--categories", "yes,no", "--epsilon", "1", "--quiet"]
        done(capsys, "privatize", f"{day}.csv", f"out/{day}.csv", *design)
    page = done(capsys, "estimate", "out")
    assert page.startswith("smoker: 80 reports")
    assert page == done(capsys, "estimate", "out/1.csv", "out/2.csv")
    assert done(capsys, "describe", "out").startswith("  column")
    line = refused(capsys, "describe", "out/1.csv", "out/2.csv", "--statement", "page.md")
    assert "--statement is for one file or folder, found 2; write one for each" in line


# -- arguments -----------------------------------------------------------------------------


def test_help_lists_the_exit_codes(capsys):
    """In six lines, and they are those that the command line returns."""
    page = call(capsys, "--help")[1]
    assert page.endswith(command_line.EXIT_CODES)
    codes = [line.split()[0] for line in page.split("exit codes:\n")[1].splitlines()]
    names = ("DONE", "FAILED", "BAD_ARGUMENTS", "REFUSED", "UNFIT_DATA", "INTERRUPTED")
    assert [str(getattr(command_line, name)) for name in names] == codes
    assert ["143", "129", "141"] == re.findall(r"\d+", page.splitlines()[-1])[1:]
    assert "exit codes:" not in call(capsys, "check", "--help")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--categories", "yes,", "no"], "must be words separated by commas without spaces"),
        (["--columns", "answer"], "did you mean column?"),
        (["--categories", "yes", ",no"], "unrecognized arguments: ,no;"),
        (["--categories", " ,yes"], "none of them empty"),
        (["--categories", "a,,b"], "none of them empty"),
        (["--categories", " "], "none of them empty"),
    ],
)
def test_words_that_a_space_parted(folder, capsys, words, said):
    """The line says how words are joined, and where the help of this command is."""
    for command in (["privatize", "bare.csv", "o.csv"], ["estimate", "bare.csv"]):
        line = refused(capsys, *command, "--column", "answer", *words, "--prob", "0.75")
        assert said in line
        assert f"see rrstats {command[0]} --help" in line
        assert line.startswith(f"rrstats {command[0]}: ")


def test_an_unknown_option_is_answered_by_its_command(folder, capsys):
    """Nothing is said of words where none were left over."""
    line = refused(capsys, "estimate", "out.csv", "--colum=answer")
    assert (
        "rrstats estimate: estimate takes no colum; did you mean column?; see rrstats estimate "
        "--help\n" == line
    )
    assert "unrecognized arguments: x;" in refused(capsys, "check", "out.csv", "x")


def test_a_column_in_which_no_answer_fits_is_said_to_the_curator(tmp_path, capsys):
    """Misspelled categories would make noise of every report: the default refuses them."""
    source = tmp_path / "in.csv"
    source.write_text('smoker\nyes\nno\n""\n')
    words = ["privatize", source, tmp_path / "out.csv", "--column", "smoker"]
    words += ["--categories", "oui,non", "--prob", "0.75"]
    code, line = cli_calls.refused(capsys, *words)
    assert (4, True) == (code, "2 of 3 answers of column 'smoker' are not among the 2" in line)
    assert [source] == list(tmp_path.iterdir())
    code, out, err = call(capsys, *words, "--unknown", "uniform")
    assert (0, True, False) == (code, "no answer fits the categories" in err, "fits" in out)


def test_intervals_are_drawn_into_a_new_file(tmp_path, capsys, monkeypatch):
    """--plot of estimate and demo: a picture of each column, in a new file."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": ["no", "yes"] * 50, "y": [True, False] * 50})
    designs = {"x": rr.KRR(["no", "yes"], 0.75), "y": rr.KRR([False, True], 0.75)}
    frame.rr.privatize(designs).rr.to_csv("out.csv")
    for command in (["estimate", "out.csv"], ["demo"]):
        picture = f"{command[0]}.png"
        assert 0 == call(capsys, *command, "--plot", picture)[0]
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
        code, out, err = call(capsys, *command, "--plot", picture)
        assert (1, "") == (code, out)
        assert "exists" in err
        assert 2 == call(capsys, *command, "--plot", "picture.txt")[0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_groups_of_a_file(tmp_path, capsys, monkeypatch, ending):
    """--by has the estimates of `estimate(by=)`, as a table, CSV and JSON, and a picture."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"answer": REPORTS * 3, "region": ["n", "s", None] * 100})
    reports = frame.rr.privatize("answer", WORDS, prob=0.75)
    getattr(reports.rr, f"to_{ending}")(f"out.{ending}")
    expected = reports.rr.estimate("answer", by="region").to_frame()
    printed = call(capsys, "estimate", f"out.{ending}", "--by", "region", "--format", "csv")[1]
    table = pd.read_csv(io.StringIO(printed))
    assert ["column", *expected.columns, "level", "epsilon"] == list(table.columns)
    assert table.proportion.to_numpy() == pytest.approx(expected.proportion.to_numpy())
    assert table.low.to_numpy() == pytest.approx(expected.low.to_numpy())
    assert table.region.tolist() == expected.region.tolist()
    document = json.loads(
        call(capsys, "estimate", f"out.{ending}", "--by", "region", "--format", "json")[1]
    )
    assert document["groups"][0]["column"] == "answer"
    text = call(capsys, "estimate", f"out.{ending}", "--by", "region", "--column", "answer")[1]
    assert "200 reports in 2 groups by region" in text
    groups = files.estimate_file(f"out.{ending}", by="region")["answer"]
    assert groups.left_out == 100
    pytest.importorskip("matplotlib")
    call(capsys, "estimate", f"out.{ending}", "--by", "region", "--plot", "groups.png")
    assert Path("groups.png").stat().st_size > 1000


def test_groups_are_of_ordinary_columns(tmp_path, monkeypatch):
    """A column of reports is no group; the public column of a plan is one."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": WORDS[::-1] * 40, "b": [True, False, True] * 40})
    both = frame.rr.privatize({"a": WORDS, "b": [False, True]}, prob=0.75)
    both.rr.to_parquet("both.parquet")
    with pytest.raises(rr.errors.ArgumentValueError, match="by must be an ordinary column"):
        files.estimate_file("both.parquet", "a", by="b")
    plan = rr.planning.plan({"a": WORDS, "b": [False, True]}, 1.0)
    released = frame.rr.privatize(plan)
    released.rr.to_parquet("plan.parquet")
    groups = files.estimate_file("plan.parquet", "a", by="rr_asked")["a"]
    assert released.rr.estimate("a", by="rr_asked").to_frame().equals(groups.to_frame())
