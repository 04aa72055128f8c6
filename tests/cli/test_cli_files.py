"""The commands for whole files, as a person in a terminal and as a shell script see them."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pa = pytest.importorskip("pyarrow")

import pandas as pd  # after importorskip
import pyarrow.parquet as pq  # after importorskip
from cli_calls import call, done, refused, run  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import cli, files  # after importorskip
from rrstats.cli import file_commands  # after importorskip
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.records import ColumnRecord

WORDS = ["never", "once", "often"]
NEARLY_ALL_TRUTH = str(1 - 2**-45)
"""Of a few hundred reports one is a lie with a chance below 1e-11."""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")
ANSWER = ["--column", "answer", "--categories", "never,once,often", "--prob", "0.75"]
FREE = [*ANSWER, "--unknown", "uniform"]
"""The answers hold a word that is no category."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with one survey as Parquet and as CSV."""
    monkeypatch.chdir(tmp_path)
    survey = pd.DataFrame(
        {
            "id": range(200),
            "answer": (["never"] * 3 + ["once"] * 2 + ["often"] + ["maybe", None]) * 25,
            "smoker": [True, False, False, False] * 50,
            "visits": pd.Series([0, 1, 2, 1] * 50, dtype="int8"),
        }
    )
    survey.to_parquet("in.parquet")
    survey.to_csv("in.csv", index=False)
    return tmp_path


VOTED = "--column vote --categories Clinton,Dole --prob 0.75"
CODES = f"""
0 --version
0 --help
2 nothing
0 check in.csv --column vote --categories Clinton,Dole
2 check in.csv --column nobody --categories Clinton,Dole
0 privatize in.csv out.csv {VOTED} --dry-run
0 privatize in.csv out.csv {VOTED}
3 privatize in.csv out.csv {VOTED}
1 privatize in.csv out.csv {VOTED} --again
0 privatize in.csv out.csv {VOTED} --again --overwrite --quiet
0 privatize in.parquet out.parquet {VOTED} --shuffle-rows --unknown uniform
2 privatize in.parquet out.csv {VOTED}
2 privatize in.csv other.csv --column vote --categories Clinton --prob 0.75
2 privatize in.csv other.csv --column vote --categories Clinton,Dole --prob 0.4
3 privatize in.csv other.csv --column vote --categories Clinton,Perot --prob 0.8 --unknown raise
2 privatize in.csv other.csv --column vote --categories Clinton,Dole
1 privatize none.csv other.csv {VOTED}
0 estimate out.csv
0 estimate out.parquet --format json --level 0.8
2 estimate out.csv --format csv --target sample --method wilson
2 estimate out.csv --column vote --categories Clinton,Dole --prob 0.8
2 estimate in.csv
0 estimate in.csv {VOTED}
0 describe out.parquet
0 describe out.csv --statement page.html --format json
1 describe out.csv --statement page.html
1 describe in.csv
0 demo --prob 0.9
2 demo --prob 1.5
"""
"""The exit codes of commands, one after the other in one folder."""


def test_exit_codes(tmp_path, monkeypatch, capsys):
    """Scripts rely on them: 0 done, 1 files, 2 arguments, 3 refused, 4 data that do not fit."""
    monkeypatch.chdir(tmp_path)
    people = rr.datasets.load_anes96().head(80)[["vote", "age"]].astype({"vote": object})
    people.to_csv("in.csv", index=False)
    people.to_parquet("in.parquet")
    for line in CODES.strip().splitlines():
        code, *arguments = line.split()
        assert int(code) == call(capsys, *arguments)[0], line


def released(path):
    """How the columns of a file were made, by name."""
    return {record.name: record for record in files.describe_file(path)}


# -- privatize -----------------------------------------------------------------------------


def test_privatize_writes_reports_and_a_report(folder, capsys):
    """OUT holds reports among the categories, says how it was made, and stdout says it too."""
    report = json.loads(
        done(capsys, "privatize", "in.parquet", "out.parquet", *FREE, "--format", "json")
    )
    frame = pd.read_parquet("out.parquet")
    assert set(WORDS) >= set(frame["answer"])
    assert list(range(200)) == frame["id"].tolist()
    mechanism = rr.KRR(WORDS, 0.75)
    assert mechanism == released("out.parquet")["answer"].resolve()
    assert (200, "out.parquet") == (report["rows"], report["target"])
    (column,) = report["columns"]
    assert mechanism.epsilon == column["epsilon"] == report["epsilon_per_row"]
    assert mechanism.to_dict() == column["mechanism"]


def test_simulated_reports_are_void_in_words(folder, capsys):
    """A row with such a column has no finite epsilon, in the summary and in what check says."""
    frame = pd.read_parquet("in.parquet").assign(vote=["yes", "no"] * 100)
    simulated = frame.rr.simulate("vote", ["yes", "no"], 0.75, seed=1)
    with pytest.warns(rr.errors.SimulationWarning):
        simulated.rr.to_parquet("simulated.parquet", ledger="simulated.parquet.rrstats-ledger.json")
    void = "void: the noise was simulated, so it protects nobody"
    code, text, err = call(capsys, "privatize", "simulated.parquet", "out.parquet", *FREE)
    assert (0, 1) == (code, " ".join(err.split()).count("never release these reports"))
    assert f"Epsilon of a row: inf, {void}." in " ".join(text.split())
    design = ("--column", "vote", "--categories", "yes,no")
    page = " ".join(done(capsys, "check", "simulated.parquet", *design).split())
    assert f"already holds randomized reports (epsilon inf, {void}), not true answers" in page
    assert f"released once before, with epsilon inf in total, {void}: " in page


def test_one_design_holds_for_all_columns(folder, capsys):
    """--column may be repeated; the words are cast to the type of each column."""
    pd.DataFrame({"a": [1, 2], "b": ["1", "2"]}).to_parquet("two.parquet")
    options = ["--categories", "1,2", "--prob", "0.7", "--column", "a", "--column", "b"]
    done(capsys, "privatize", "two.parquet", "out.parquet", *options, "--with-missing")
    found = {name: record.resolve() for name, record in released("out.parquet").items()}
    assert {"a": rr.KRR([1, 2, None], 0.7), "b": rr.KRR(["1", "2", None], 0.7)} == found


def test_the_plan_of_the_options_makes_the_same_release(folder, capsys):
    """--write-plan writes nothing; the plan it prints is the design that was typed."""
    before = sorted(folder.iterdir())
    options = ["--column", "smoker", "--categories", "true,false", "--epsilon", "1"]
    plan = done(capsys, "privatize", "in.parquet", "out.parquet", *options, "--write-plan")
    assert before == sorted(folder.iterdir())
    Path("plan.json").write_text(plan)
    done(capsys, "privatize", "in.parquet", "one.parquet", "--plan", "plan.json")
    done(capsys, "privatize", "in.parquet", "two.parquet", *options, "--again")
    assert released("one.parquet") == released("two.parquet")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", ["a", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        ('"say ""no""",c', ['say "no"', "c"]),
        ("a, b ,c", ["a", "b ", "c"]),
        ('a," b"', ["a", " b"]),
        ("\N{SNOWMAN},-", ["\N{SNOWMAN}", "-"]),
        ("-1,0,1", [-1, 0, 1]),
    ],
)
def test_words_are_quoted_as_in_csv(folder, capsys, text, expected):
    """Commas within quotes are part of a word; ``-1,0,1`` needs no equals sign."""
    pd.DataFrame({"a": [expected[0]] * 20}).to_parquet("w.parquet")
    options = ["--column", "a", "--categories", text, "--prob", NEARLY_ALL_TRUTH]
    done(capsys, "privatize", "w.parquet", "out.parquet", *options)
    assert expected == list(released("out.parquet")["a"].resolve().categories)
    assert [expected[0]] * 20 == pd.read_parquet("out.parquet")["a"].tolist()


def test_csv_in_csv_out(folder, capsys):
    """Whole numbers are recorded as numbers, and other columns stay letter by letter."""
    options = ["--prob", NEARLY_ALL_TRUTH, "--column", "visits", "--categories", "0,1,2"]
    done(capsys, "privatize", "in.csv", "visits.csv", *options)
    options = ["--prob", NEARLY_ALL_TRUTH, "--column", "smoker", "--categories", "True,False"]
    done(capsys, "privatize", "visits.csv", "out.csv", *options)
    assert Path("in.csv").read_text() == Path("out.csv").read_text()
    found = released("out.csv")
    assert (0, 1, 2) == found["visits"].resolve().categories
    assert ("True", "False") == found["smoker"].resolve().categories


def test_private_counts_go_to_stderr_and_nowhere_else(folder, capsys):
    """Of 200 answers 25 are unknown and 25 missing: the curator reads it, the report is silent."""
    json_options = [*FREE, "--format", "json"]
    code, out, err = call(capsys, "privatize", "in.parquet", "out.parquet", *json_options)
    assert 0 == code
    counts = "column answer: 25 unknown and 25 missing of 200"
    assert f"private, for the data curator only: {counts}" in err
    assert 1 == err.count("\n")
    clean = pd.DataFrame({"answer": WORDS * 20 + WORDS * 20 + WORDS * 26 + WORDS[:2]})
    clean.to_parquet("clean.parquet")
    code, other, err = call(capsys, "privatize", "clean.parquet", "c.parquet", *json_options)
    assert "0 unknown and 0 missing of 200" in err
    first, second = json.loads(out), json.loads(other)
    for report in (first, second):
        del report["target"]
    assert first == second


def test_quiet_keeps_only_warnings(folder, capsys):
    """--quiet leaves out the private counts, not what may be wrong."""
    _, _, err = call(capsys, "privatize", "in.parquet", "out.parquet", *FREE, "--quiet")
    assert err == ""
    frame = pd.read_parquet("in.parquet").assign(vote=["yes", "no"] * 100)
    simulated = frame.rr.simulate("vote", ["yes", "no"], 0.75, seed=1)
    with pytest.warns(rr.errors.SimulationWarning):
        simulated.rr.to_parquet("simulated.parquet")
    _, _, err = call(capsys, "privatize", "simulated.parquet", "o.parquet", *FREE, "--quiet")
    assert err.startswith("rrstats: warning: ")
    assert 1 == err.count("\n")


def test_quiet_leaves_out_warnings_for_the_curator(folder, capsys):
    """A bound that is the largest answer is private: it is told without --quiet alone."""
    pd.DataFrame({"age": [20.5, 61.5, 44.25] * 20}).to_parquet("ages.parquet")
    design = ["--column", "age", "--number", "0.5,61.5", "--epsilon", "1"]
    _, _, told = call(capsys, "privatize", "ages.parquet", "first.parquet", *design)
    assert "warning: the declared bound 61.5 of column 'age' is also its smallest or" in told
    design += ["--quiet", "--ledger", "another.json"]
    code, _, told = call(capsys, "privatize", "ages.parquet", "second.parquet", *design)
    assert (0, "") == (code, told)


def test_refused_answers_are_code_4(folder, capsys):
    """The default writes nothing and counts, also for a dry run; it quotes no answer."""
    before = sorted(folder.iterdir())
    unknown = "25 of 200 answers of column 'answer' are not among the 3 categories"
    ways = "rrstats check lists them for the data curator; --unknown uniform replaces each by a"
    for options, text in (
        (ANSWER, f"{unknown} (answer type: str), and 25 more missing; {ways}"),
        ([*ANSWER, "--unknown", "raise"], "--missing uniform or --missing keep (which"),
        ([*ANSWER, "--missing", "keep"], f"{unknown} (answer type: str); {ways}"),
        ([*FREE, "--missing", "raise"], "25 of 200 answers of column 'answer' are missing; for"),
        ([*ANSWER, "--dry-run"], unknown),
    ):
        code, line = refused(capsys, "privatize", "in.parquet", "o.parquet", *options)
        assert 4 == code
        assert text in line
        assert "maybe" not in line
    assert before == sorted(folder.iterdir())


def test_the_old_policy_is_no_choice(folder, capsys):
    """--unknown warn is refused with what there is."""
    options = [*ANSWER, "--unknown", "warn"]
    code, line = refused(capsys, "privatize", "in.parquet", "o.parquet", *options)
    assert (2, True) == (code, "--unknown: invalid choice: 'warn' (choose from" in line)


@pytest.mark.parametrize("ledger", ["in.parquet.rrstats-ledger.json", "elsewhere.json"])
def test_a_second_release_needs_again(folder, capsys, ledger):
    """The same column once more is refused with the sum of both epsilons; --again allows it."""
    options = [*FREE, "--ledger", ledger] if ledger == "elsewhere.json" else FREE
    done(capsys, "privatize", "in.parquet", "one.parquet", *options)
    assert [ledger] == [p.name for p in folder.iterdir() if p.suffix == ".json"]
    code, line = refused(capsys, "privatize", "in.parquet", "two.parquet", *options)
    assert 3 == code
    assert "epsilon 3.584" in line  # 2 ln 6 = 3.58352
    assert "--again" in line
    assert not Path("two.parquet").exists()
    done(capsys, "privatize", "in.parquet", "two.parquet", *options, "--again")


def test_rows_may_be_shuffled(folder, capsys):
    """--shuffle-rows keeps each row together and forgets the order (200! orders)."""
    options = ["--column", "visits", "--categories", "0,1,2", "--prob", NEARLY_ALL_TRUTH]
    done(capsys, "privatize", "in.parquet", "out.parquet", *options, "--shuffle-rows")
    frame = pd.read_parquet("out.parquet")
    assert list(range(200)) != frame["id"].tolist()
    assert pd.read_parquet("in.parquet").equals(frame.sort_values("id", ignore_index=True))


def test_shuffled_categories_are_plain_values(folder, capsys):
    """The report tells it, and what was --keep-order is answered."""
    kinds = pd.Categorical(["nine", "zero"] * 100, categories=["zero", "nine"], ordered=True)
    pd.read_parquet("in.parquet").assign(kind=kinds).to_parquet("kinds.parquet")
    arguments = ["privatize", "kinds.parquet", "out.parquet", *FREE, "--shuffle-rows"]
    text = done(capsys, *arguments)
    assert "The categories of column 'kind' were written as plain values" in text
    assert pd.api.types.is_string_dtype(pd.read_parquet("out.parquet")["kind"].dtype)
    code, line = refused(capsys, *arguments, "--keep-order", "kind")
    assert 2 == code
    assert "takes no keep_order: categories of public columns are written as plain values" in line


def test_a_dry_run_reads_no_answer_and_writes_nothing(folder, capsys):
    """--dry-run prints the report of the release that would be made, and leaves no trace."""
    before = sorted(folder.iterdir())
    arguments = ["privatize", "in.parquet", "out.parquet", *FREE, "--format", "json"]
    report = json.loads(done(capsys, *arguments, "--dry-run"))
    assert (True, 200) == (report["dry_run"], report["rows"])
    assert rr.KRR(WORDS, 0.75).epsilon == report["epsilon_per_row"]
    data = [path for path in folder.iterdir() if "ledger" not in path.name]
    assert before == sorted(data)
    assert not Path("in.parquet.rrstats-ledger.json").exists()
    done(capsys, "privatize", "in.parquet", "out.parquet", *FREE)
    made = json.loads(
        done(capsys, *arguments[:2], "o.parquet", *arguments[3:], "--again", "--dry-run")
    )
    assert files.describe_file("out.parquet") == [
        ColumnRecord.from_dict({k: v for k, v in column.items() if k != "epsilon"})
        for column in made["columns"]
    ]


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ("in.parquet", [], 2),
        ("there.parquet", ["--again"], 1),
        ("there.parquet", ["--again", "--overwrite"], 0),
        ("out.parquet", ["--missing", "keep", "--again"], 0),
        ("out.parquet", [], 3),
    ],
)
def test_a_dry_run_refuses_what_the_run_would(folder, capsys, target, options, code):
    """Wrong targets and second releases are found without writing."""
    Path("there.parquet").write_bytes(b"")
    done(capsys, "privatize", "in.parquet", "before.parquet", *FREE)
    arguments = ["privatize", "in.parquet", target, *FREE, *options, "--dry-run"]
    assert code == call(capsys, *arguments)[0]


# -- plans ---------------------------------------------------------------------------------


def test_a_plan_in_the_place_of_columns(folder, capsys):
    """Types, amounts and policies are those of the plan."""
    Path("plan.toml").write_text(
        """
        v = 1
        [[columns]]
        name = "smoker"
        mechanism = { type = "KRR", categories = [true, false], epsilon = 1.0 }
        unknown = "raise"
        [[columns]]
        name = "visits"
        mechanism = { type = "KRR", categories = [0, 1, 2], prob = 0.5 }
        """
    )
    done(capsys, "privatize", "in.parquet", "out.parquet", "--plan", "plan.toml")
    found = released("out.parquet")
    assert rr.KRR([True, False], epsilon=1) == found["smoker"].resolve()
    assert ("raise", "raise") == (found["smoker"].unknown, found["visits"].unknown)
    assert {"unknown"} == {record.missing for record in found.values()}


def test_the_description_of_a_release_is_a_plan(folder, capsys):
    """``describe --format json`` of one release makes the next; the 25 missing ones may be kept."""
    done(capsys, "privatize", "in.parquet", "one.parquet", *FREE, "--missing", "keep")
    assert 25 == pd.read_parquet("one.parquet")["answer"].isna().sum()
    assert "keep" == released("one.parquet")["answer"].missing
    Path("plan.json").write_text(done(capsys, "describe", "one.parquet", "--format", "json"))
    options = ["--plan", "plan.json", "--again"]
    done(capsys, "privatize", "in.parquet", "two.parquet", *options)
    assert released("one.parquet") == released("two.parquet")


@pytest.mark.parametrize("command", ["privatize in.parquet o.parquet", "estimate x", "check x"])
def test_nothing_stands_beside_a_plan(folder, capsys, command):
    """Two sources of one design could contradict each other, so one is refused."""
    options = ["--prob 0.5", "--with-missing", "--categories a,b"]
    if command.startswith("privatize"):
        options += ["--column smoker", "--unknown raise", "--missing keep"]
    for option in options:
        words = [*command.split(), "--plan", "p.toml", *option.split()]
        code, line = refused(capsys, *words)
        assert (2, True) == (code, f"so {option.split()[0]} cannot be given with it" in line)


# -- codebooks -----------------------------------------------------------------------------

BOOK = {
    "answer": ["never", "once", "often", "maybe", None],
    "smoker": [False, True],
    "visits": {"0": "none", "1": "one", "2": "more"},
    "id": {"1": "yes", "2": "no", "9": "refused"},
}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_codebook_in_the_place_of_categories(folder, capsys, ending):
    """Columns that are named are privatized, each with the epsilon; and estimated, and checked."""
    Path("book.json").write_text(json.dumps(BOOK))
    design = ["--codebook", "book.json", "--column", "answer", "--column", "visits"]
    out = f"out.{ending}"
    page = done(capsys, "privatize", f"in.{ending}", out, *design, "--epsilon", "1")
    assert "Epsilon of a row: 2." in page
    mechanisms = {name: record.resolve() for name, record in released(out).items()}
    codes = {0: "none", 1: "one", 2: "more"}
    expected = {"answer": rr.KRR(BOOK["answer"], epsilon=1), "visits": rr.KRR(codes, epsilon=1)}
    assert expected == mechanisms
    assert "more" in done(capsys, "estimate", out)
    checked = done(capsys, "check", f"in.{ending}", *design)
    assert 2 == checked.count("all answers fit the categories")


def test_a_codebook_declares_all_its_columns(folder, capsys):
    """Without --column all of them; one that cannot be used stops it, or is decided on purpose."""
    Path("book.json").write_text(json.dumps(BOOK))
    design = ["--codebook", "book.json", "--epsilon", "1", "--write-plan"]
    code, said = refused(capsys, "privatize", "in.parquet", "out.parquet", *design)
    assert 2 == code
    assert "column 'id': category number 3, labelled 'refused', says" in said
    assert "(--no-answer missing, and such answers" in said
    design += ["--no-answer", "missing"]
    plan = json.loads(done(capsys, "privatize", "in.parquet", "out.parquet", *design))
    assert list(BOOK) == [column["name"]["str"] for column in plan["columns"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--column", "region"], "declares, ['answer', 'smoker', 'visits', 'id'], found"),
        (["--categories", "a,b"], "so --categories cannot be given with it"),
        (["--column", "answer", "--with-missing"], "so --with-missing cannot be given with it"),
        (["--plan", "book.json"], "--plan holds the design of each column, so --codebook"),
    ],
)
def test_what_goes_with_no_codebook(folder, capsys, options, said):
    """One line names the option and the next step."""
    Path("book.json").write_text(json.dumps(BOOK))
    call_of = [
        "privatize",
        "in.parquet",
        "out.parquet",
        "--codebook",
        "book.json",
        "--epsilon",
        "1",
    ]
    code, line = refused(capsys, *call_of, *options)
    assert 2 == code
    assert said in line


# -- bad arguments and bad files -----------------------------------------------------------

A = ["--column", "answer"]
PRIVATIZE = "privatize in.parquet out.parquet --column "
ALL = "--column answer --categories never,once,often --prob 0.75"
BAD = [
    ("privatize in.parquet out.parquet --prob 0.5", 2, "at least one --column"),
    (f"privatize in.csv out.csv {ALL} --no-answer missing", 2, "--no-answer needs --codebook"),
    ("check in.csv --column id --number 0,9 --with-missing", 2, "--with-missing needs --cat"),
    (PRIVATIZE + "answer --prob 0.5", 2, "and its --categories, which"),
    (PRIVATIZE + "answer --categories a,b", 2, "give --prob, the probability"),
    (PRIVATIZE + "answer --prob 0.5 --epsilon 1", 2, "not allowed with argument --prob"),
    (PRIVATIZE + "answer --prob 0.5 --prob 0.5", 2, "--prob must be given once"),
    (PRIVATIZE + "answer --categories a,b --prob 75", 2, "write 0.75 for 75%"),
    (PRIVATIZE + "answer --categories a,a --prob .5", 2, "distinct"),
    (PRIVATIZE + "answer --categories a,,b --prob .5", 2, "--with-missing"),
    (PRIVATIZE + "answer --categories '\"a,b' --prob .5", 2, "quoted as in CSV"),
    (PRIVATIZE + "visits --categories a,b --prob .5", 2, "'a' is not a value of column 'visits'"),
    (PRIVATIZE + "visits --categories 1,300 --prob .5", 2, "which has the type int8"),
    (PRIVATIZE + "anwser --categories a,b --prob .5", 2, "did you mean 'answer'"),
    (f"privatize in.parquet x/o.parquet {ALL}", 1, "x"),
    (f"privatize bad.parquet out.parquet {ALL}", 1, "bad.parquet"),
    (f"privatize in.csv o.csv {ALL} --with-missing --missing keep", 2, "contradicts the cat"),
    ("privatize in.parquet o.parquet --plan none.toml", 1, "none.toml"),
    ("privatize in.parquet o.parquet --plan bad.toml", 2, "bad.toml"),
    (f"privatize '' o.parquet {ALL}", 2, "the name of a file"),
    ("estimate in.parquet", 2, "does not say"),
    (
        "estimate in.parquet --column smoker --categories true,false --prob .75 --level 95",
        2,
        "--level must be in [0.5, 1), got 95",
    ),
    ("check x.parquet --column answer --categories a,b", 1, "x.parquet"),
    ("describe in.parquet", 1, "does not say"),
    ("describe in.parquet --statement a.pdf", 2, ".md or .markdown"),
    ("describe in.parquet --title a", 2, "--statement"),
    ("describe in.parquet --overwrite", 2, "--statement"),
    ("describe in.parquet --contact a", 2, "--statement"),
    ("describe in.parquet --wording answer=a", 2, "--statement"),
]


@pytest.mark.parametrize(("command", "code", "said"), BAD)
def test_what_is_wrong_is_one_line_with_its_code(folder, capsys, command, code, said):
    """No traceback, nothing on stdout, nothing written; the code says whose mistake it is."""
    Path("bad.parquet").write_bytes(Path("in.parquet").read_bytes()[:-100])
    Path("bad.toml").write_text("v = 1\n[[columns]]\n")
    before = sorted(folder.iterdir())
    found, line = refused(capsys, *shlex.split(command))
    assert said in line
    assert code == found
    assert before == [path for path in sorted(folder.iterdir()) if "ledger" not in path.name]


def test_an_unexpected_error_shows_no_text(folder, capsys, monkeypatch):
    """A defect ends with its place; its text may quote an answer and is not shown."""

    def broken(*_arguments, **_options):
        raise ValueError("invalid value 'SECRET'")

    monkeypatch.setattr(file_commands, "estimate_file", broken)
    code, line = refused(capsys, "estimate", "in.parquet")
    assert 1 == code
    assert "unexpected ValueError at " in line
    assert "SECRET" not in line


# -- estimate ------------------------------------------------------------------------------


@pytest.fixture
def out(folder, capsys):
    """A released file of two columns, with fixed reports: 60 never, 25 once, 15 often."""
    answers = ["never"] * 60 + ["once"] * 25 + ["often"] * 15
    records = [
        ColumnRecord.of("answer", rr.KRR(WORDS, 0.75)),
        ColumnRecord.of("smoker", rr.KRR([True, False], 0.75)),
    ]
    table = pa.table({"answer": answers, "smoker": [True] * 30 + [False] * 70})
    document = json.dumps(column_records.write(records))
    pq.write_table(table.replace_schema_metadata({"rrstats": document}), "out.parquet")
    return "out.parquet"


def test_estimate_needs_no_parameters(out, capsys):
    """A table for each column the file names; shares by hand from the reports.

    k = 3: (0.60 - 0.125) / 0.625 = 76.00%; k = 2: (0.30 - 0.25) / 0.5 = 10.00%.
    """
    page = done(capsys, "estimate", out)
    rows = {line.split()[0]: line.split() for line in page.splitlines() if line.startswith("  ")}
    assert ["never", "60", "60.00%", "76.00%"] == rows["never"][:4]
    assert ["True", "30", "30.00%", "10.00%"] == rows["True"][:4]
    assert "95% interval" in page
    assert max(map(len, page.splitlines())) <= 80
    assert "answer: 100 reports; estimated proportions of the population behind them; " in " ".join(
        page.split()
    )


@pytest.mark.parametrize("bare", [False, True])
def test_estimates_of_simulated_reports_say_that_their_epsilon_is_void(folder, capsys, bare):
    """In words, as CSV and as JSON; the file says it, or the document in --plan."""
    frame = pd.DataFrame({"vote": ["yes", "no"] * 20})
    simulated = frame.rr.simulate("vote", ["yes", "no"], 0.75, seed=1)
    with pytest.warns(rr.errors.SimulationWarning):
        simulated.rr.to_csv("simulated.csv")
    options = ["simulated.csv"]
    if bare:
        Path("simulated.csv.rrstats.json").rename("said.json")
        options += ["--plan", "said.json"]
    text = " ".join(done(capsys, "estimate", *options).split())
    assert "epsilon inf per report, void: the noise was simulated, so it protects nobody" in text
    table = pd.read_csv(io.StringIO(done(capsys, "estimate", *options, "--format", "csv")))
    assert {float("inf")} == set(table["epsilon"])
    (column,) = json.loads(done(capsys, "estimate", *options, "--format", "json"))["columns"]
    assert "inf" == column["epsilon"]


def test_estimate_takes_columns_level_method_and_target(out, capsys):
    """Each option reaches the estimate that Python gives."""
    options = ["--column", "smoker", "--format", "json", "--level", "0.9"]
    page = done(capsys, "estimate", out, *options, "--method", "wilson")
    (found,) = json.loads(page)["columns"]
    low, high = files.estimate_file(out)["smoker"].interval(0.9, method="wilson")
    assert ("wilson", "population") == (found["method"], found["target"])
    assert low.tolist() == [row["low"] for row in found["shares"]]
    (found,) = json.loads(done(capsys, "estimate", out, *options, "--target", "sample"))["columns"]
    expected = files.estimate_file(out, "smoker", target="sample")["smoker"]
    low, high = expected.interval(0.9)
    assert low.tolist() == [row["low"] for row in found["shares"]]
    assert high.tolist() == [row["high"] for row in found["shares"]]
    assert [True, False] == [row["category"] for row in found["shares"]]
    assert expected.std_error.tolist() == [row["std_error"] for row in found["shares"]]
    assert [30, 70] == [row["reported"] for row in found["shares"]]
    assert ("sample", 0.9, 100, 0) == tuple(
        found[key] for key in ("target", "level", "n", "missing")
    )
    assert "90% interval" in done(capsys, "estimate", out, "--level", "0.9")


def test_estimate_as_csv_has_all_columns(out, capsys):
    """One row for each category, numbers in full, as pandas and R read them."""
    page = done(capsys, "estimate", out, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(page)))
    assert ["answer"] * 3 + ["smoker"] * 2 == [row["column"] for row in rows]
    expected = files.estimate_file(out)["answer"].to_frame()
    assert ["column", *expected.columns] == list(rows[0])[: 1 + len(expected.columns)]
    assert [*WORDS, "True", "False"] == [row["category"] for row in rows]
    for name in expected.columns[1:]:
        assert expected[name].tolist() == [float(row[name]) for row in rows[:3]]


def test_estimate_takes_the_mechanism_of_a_file_that_says_nothing(folder, capsys):
    """Reports of other programs are estimated with categories and prob, cast to their type."""
    pd.DataFrame({"n": [1, 1, 1, 2]}).to_parquet("other.parquet")
    Path("other.csv").write_text("n\n1\n1\n1\n2\n")
    for file in ("other.parquet", "other.csv"):
        options = ["--column", "n", "--categories", "1,2", "--prob", "0.75", "--format", "csv"]
        first, second = csv.DictReader(io.StringIO(done(capsys, "estimate", file, *options)))
        assert (1.0, 0.0) == (float(first["proportion"]), float(second["proportion"]))


def test_estimate_refuses_contradictions(out, capsys):
    """An argument that does not fit what the file says is refused; one that fits is taken."""
    fewer = [*A, "--categories", "never,often", "--prob", "0.75"]
    for options in ([*ANSWER[:-1], "0.8"], fewer):
        assert 2 == refused(capsys, "estimate", out, *options)[0]
    assert done(capsys, "estimate", out, *A) == done(capsys, "estimate", out, *ANSWER)


def test_estimate_warns_of_true_answers(folder, capsys):
    """Reports that no mechanism like this makes are estimated, with code 4 and one line."""
    pd.DataFrame({"answer": ["never"] * 5000 + ["once"]}).to_parquet("raw.parquet")
    code, out, err = call(capsys, "estimate", "raw.parquet", *ANSWER)
    assert 4 == code
    assert "noise does not explain it" in " ".join(out.split())
    assert err.startswith("rrstats: column answer: some reports are rarer or commoner than")
    assert 1 == err.count("\n")
    assert "is due to noise: estimates are" not in " ".join(out.split())


def test_json_holds_only_what_json_knows(folder, capsys):
    """Infinite categories and NaN of an empty file are text and null."""
    table = pa.table({"x": pa.array([], pa.float64())})
    pq.write_table(table, "empty.parquet")
    options = ["--column", "x", "--categories", "0.5,inf", "--prob", "0.75", "--format", "json"]

    def refuse(constant):
        raise AssertionError(constant)

    page = done(capsys, "estimate", "empty.parquet", *options)
    (found,) = json.loads(page, parse_constant=refuse)["columns"]
    assert [0.5, "inf"] == [row["category"] for row in found["shares"]]
    assert [None, None] == [row["proportion"] for row in found["shares"]]
    assert "cannot be estimated" in done(capsys, "estimate", "empty.parquet", *options[:-2])


# -- check ---------------------------------------------------------------------------------


def test_check_lists_what_matches_no_category(folder, capsys):
    """25 answers "maybe" and 25 missing, on a private page; where all fit, it says so."""
    page = done(capsys, "check", "in.parquet", *A, "--categories", "never,once,often")
    assert page.startswith("PRIVATE, for the data curator only")
    assert re.search(r"^  maybe +unknown +25$", page, re.M)
    assert re.search(r"^  \(no answer\) +missing +25$", page, re.M)
    assert "no earlier release of this column" in page
    options = [*A, "--categories", "never,once,often,maybe", "--with-missing"]
    page = done(capsys, "check", "in.parquet", *options)
    assert "answer: all answers fit the categories." in page


def test_check_tells_of_earlier_releases(folder, capsys):
    """How often, where to, and with which epsilon in all: 2 ln 6, rounded up."""
    done(capsys, "privatize", "in.parquet", "one.parquet", *FREE)
    done(capsys, "privatize", "in.parquet", "two.parquet", *FREE, "--again")
    page = done(capsys, "check", "in.parquet", *A, "--categories", "never,once,often,maybe")
    words = " ".join(page.split())
    assert "answer: released 2 times before, with epsilon 3.584 in total" in words
    assert "two.parquet on 20" in words


def test_answers_cannot_steer_the_terminal(folder, capsys):
    """Control characters in an answer or a name are shown, not obeyed."""
    name = "a\x1b[31m"
    pd.DataFrame({name: ["\x1b[2J", "\x07\r", "ok", "\u202e"]}).to_parquet("nasty.parquet")
    options = ["--column", name, "--categories", "ok,no"]
    code, page, err = call(capsys, "check", "nasty.parquet", *options)
    assert 0 == code
    assert "\\x1b[2J" in page
    options += ["--prob", "0.9", "--unknown", "uniform"]
    code, report, err = call(capsys, "privatize", "nasty.parquet", "o.parquet", *options)
    shown = page + report + err + done(capsys, "describe", "o.parquet")
    shown += done(capsys, "estimate", "o.parquet")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", shown)


# -- describe ------------------------------------------------------------------------------


def test_describe_tells_in_words_and_as_json(out, capsys):
    """Words for people; the metadata document, complete, for programs."""
    words = " ".join(done(capsys, "describe", out).split())
    assert "A report is the true answer with probability 75%, and each of the other 2" in words
    assert "Epsilon of a whole row, all its reports together: 2.891." in words
    document = json.loads(done(capsys, "describe", out, "--format", "json"))
    assert files.describe_file(out) == column_records.read({"rrstats": document})


@pytest.mark.parametrize("name", ["page.md", "page.html"])
def test_describe_writes_the_page(out, capsys, name):
    """--statement writes the page, names it, and does not overwrite unasked."""
    shown = done(capsys, "describe", out, "--statement", name, "--title", "Wave two")
    assert shown.endswith(f"Statement written: {name}; it names no contact, which --contact adds\n")
    contact = ("--contact", "Data office", "--overwrite", "--title", "Wave two")
    shown = done(capsys, "describe", out, "--statement", name, *contact)
    assert shown.endswith(f"Statement written: {name}\n")
    page = Path(name).read_text("utf-8")
    assert ("# Wave two\n" if name == "page.md" else "<h1>Wave two</h1>") in page
    assert 1 == refused(capsys, "describe", out, "--statement", name)[0]
    done(capsys, "describe", out, "--statement", name, "--overwrite")
    assert "Wave two" not in Path(name).read_text("utf-8")


def test_the_code_on_the_page_works(out, capsys):
    """The lines for Python and for the terminal give the estimates, as they stand."""
    done(capsys, "describe", out, "--statement", "page.md")
    blocks = re.findall(r"^```\n(.*?)^```$", Path("page.md").read_text("utf-8"), re.M | re.S)
    python, line = blocks[:2]
    exec(compile(python, "page.md", "exec"), {})
    assert "0.7600" in capsys.readouterr().out
    command, *arguments = shlex.split(line)
    assert "rrstats" == command
    assert "76.00%" in done(capsys, *arguments)


def test_help_has_examples_that_work(folder, capsys):
    """The examples in each --help run as they stand, on a survey of their kind."""
    survey = pd.read_parquet("in.parquet").assign(
        smoker="yes", drinker="no", answer="never", region="north", age=42
    )
    survey.to_parquet("in.parquet")
    survey.to_csv("in.csv", index=False)
    visits = {"visits": {0: "none", 1: "one", 2: "more"}}
    survey[["visits"]].to_stata("survey.dta", write_index=False, value_labels=visits)
    Path("reports.csv").write_text("answer\nyes\nno\n")
    for command in ("privatize", "estimate", "check", "describe"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        page = capsys.readouterr().out
        plan = re.search(r"^  v = 1\n(?:  .*\n)+", page, re.M)
        if plan:
            Path("plan.toml").write_text(plan[0])
        examples = re.search(r"^examples?:\n((?:  .*\n)+)", page, re.M)[1].replace("\\\n", "")
        lines = [line.split("      ")[0] for line in examples.splitlines()]
        assert lines
        for line in lines:
            arguments = shlex.split(line)[1:]
            if arguments[0] == "privatize":
                arguments += ["--again", "--overwrite"]
                arguments += [] if "--plan" in arguments else ["--unknown", "uniform"]
            code, _, err = call(capsys, *arguments)
            assert 0 == code, (line, err)


# -- as a process --------------------------------------------------------------------------


def test_progress_is_tqdm_on_a_terminal(folder, capsys, monkeypatch):
    """The bar gets the total and what each step adds; none with --quiet, a pipe, or no tqdm."""
    shown = []

    class Bar:
        n, total = 0, None

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            shown.append("closed")

        def update(self, rows):
            self.n += rows
            shown.append((rows, self.n, self.total))

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=lambda **_options: Bar()))
    command = ["privatize", "in.parquet", "out.parquet", *FREE, "--again", "--overwrite"]
    done(capsys, *command)
    assert [] == shown
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    assert 0 == cli.main([*command, "--quiet"])
    assert [] == shown
    assert 0 == cli.main(command)
    assert [(200, 200, 200), "closed"] == shown
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert 0 == cli.main(command)


SLOW = """
import sys, time
from rrstats import cli
from rrstats.privatization.column import ColumnRelease
def slow(release, values):
    print("ready", flush=True)
    time.sleep(60)
ColumnRelease.reports = slow
sys.exit(cli.main(sys.argv[1:]))
"""


@POSIX
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGINT", 130),
        pytest.param("SIGTERM", 143, marks=pytest.mark.slow),
        pytest.param("SIGHUP", 129, marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_nothing_behind(folder, name, code):
    """Ctrl-C, SIGTERM and a closed terminal in the middle end quietly; nothing half remains."""
    before = sorted(folder.iterdir())
    command = [sys.executable, "-c", SLOW, "privatize", "in.parquet", "out.parquet", *FREE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"ready\n" == process.stdout.readline()
    assert (folder / ".out.parquet.part").exists()
    began = time.monotonic()
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 20
    assert (code, b"", b"") == (process.returncode, out, err)
    assert before == sorted(p for p in folder.iterdir() if "ledger" not in p.name)


@POSIX
def test_ignored_signals_stay_ignored(folder):
    """Under nohup a closed terminal ends nothing; another handler stays what it is."""
    ignore = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    short = SLOW.replace("time.sleep(60)", "time.sleep(1); return real(release, values)")
    script = ignore + short.replace("def slow", "real = ColumnRelease.reports\ndef slow")
    command = [sys.executable, "-c", script, "privatize", "in.parquet", "out.parquet", *FREE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"ready\n" == process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=30)
    assert 0 == process.returncode
    assert (folder / "out.parquet").exists()


@POSIX
def test_a_closed_pipe_has_its_exit_code(folder):
    """141, as a shell gives a program that writes to nobody, and no traceback."""
    command = [sys.executable, "-m", "rrstats"]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (141, b"") == (ended.returncode, ended.stderr)


TOO_LATE = """
import os, sys, signal
from rrstats import cli
from rrstats.cli import file_commands as report
from rrstats.files import atomic, ledger
number = getattr(signal, sys.argv.pop(1))
owner, name = {
    "placed": (atomic.Path, "replace"),
    "synced": (atomic, "_give_back"),
    "entered": (ledger, "done"),
    "told": (report, "_report"),
    "printed": (report, "print"),
}[sys.argv.pop(1)]
real = getattr(owner, name, print)
def interrupted(*arguments, **options):
    if "ledger" not in str(arguments[-2:]):
        setattr(owner, name, real)
        os.kill(os.getpid(), number)
    return real(*arguments, **options)
setattr(owner, name, interrupted)
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    ("where", "name", "code"),
    [
        *((where, "SIGINT", 130) for where in ("placed", "synced", "entered", "told", "printed")),
        ("placed", "SIGTERM", 143),
        ("told", "SIGHUP", 129),
    ],
)
def test_a_signal_that_comes_too_late_says_what_was_published(folder, where, name, code):
    """The report is on stdout as always, and one line on stderr tells why the code is not 0."""
    before = {path.name for path in folder.iterdir()}
    arguments = ["privatize", "in.csv", "out.csv", *ANSWER, "--quiet", "--format", "json"]
    arguments += ["--unknown", "uniform"]
    found = run("-c", TOO_LATE, name, where, *arguments)
    assert "rrstats: published before the interrupt\n" == found.stderr
    assert code == found.returncode
    assert ("out.csv", 200) == tuple(json.loads(found.stdout)[key] for key in ("target", "rows"))
    new = {"out.csv", "out.csv.rrstats.json", "in.csv.rrstats-ledger.json"}
    assert new == {path.name for path in folder.iterdir()} - before


@pytest.mark.slow
@POSIX
def test_a_reader_that_leaves_is_no_error(folder):
    """A closed pipe is code 141; the file is published all the same."""
    for arguments in (
        ["privatize", "in.parquet", "out.parquet", *FREE],
        ["estimate", "out.parquet"],
    ):
        command = [sys.executable, "-m", "rrstats", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert 141 == process.wait()
        assert b"Traceback" not in err
    assert 200 == len(pd.read_parquet("out.parquet"))


@pytest.mark.slow
def test_output_that_is_no_utf8_still_works(folder):
    """Where stdout has ASCII only, JSON stays JSON and tables show escapes."""
    pd.DataFrame({"a": ["\u00e4", "\N{SNOWMAN}"] * 5}).to_parquet("u.parquet")
    options = ["--column", "a", "--categories", "\u00e4,\N{SNOWMAN}", "--prob", "0.75"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    arguments = ["privatize", "u.parquet", "o.parquet", *options, "--format", "json"]
    report = run("-m", "rrstats", *arguments, env=environment)
    assert 0 == report.returncode
    categories = json.loads(report.stdout)["columns"][0]["mechanism"]["categories"]
    assert [{"str": "\u00e4"}, {"str": "\N{SNOWMAN}"}] == categories
    assert "\\u2603" in run("-m", "rrstats", "estimate", "o.parquet", env=environment).stdout


@pytest.mark.slow
def test_a_warning_as_an_error_does_not_show_source_lines(folder):
    """However Python's warnings are set, the curator reads one plain line, after the release."""
    frame = pd.read_parquet("in.parquet").assign(vote=["yes", "no"] * 100)
    simulated = frame.rr.simulate("vote", ["yes", "no"], 0.75, seed=1)
    with pytest.warns(rr.errors.SimulationWarning):
        simulated.rr.to_parquet("in.parquet", overwrite=True)
    for setting in ("error", "ignore", "always"):
        environment = {**os.environ, "PYTHONWARNINGS": setting}
        arguments = ["privatize", "in.parquet", "out.parquet", *FREE, "--again", "--overwrite"]
        found = run("-m", "rrstats", *arguments, env=environment)
        assert 0 == found.returncode
        assert 1 == found.stderr.count("rrstats: warning: ")
        assert "SimulationWarning" not in found.stderr


def test_one_row_is_not_plural(tmp_path, capsys):
    """One row, one answer and one report are told in the singular."""
    (tmp_path / "one.csv").write_text("answer\nyes\n")
    source, target = str(tmp_path / "one.csv"), str(tmp_path / "out.csv")
    design = ["--column", "answer", "--categories", "yes,no", "--prob", "0.75"]
    assert 0 == cli.main(["privatize", source, target, *design])
    out, err = capsys.readouterr()
    assert "privatized, 1 row\n" in out
    assert "of 1 answer\n" in err
    cli.main(["estimate", target])
    assert "answer: 1 report;" in capsys.readouterr().out
