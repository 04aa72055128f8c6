"""The command line, as a person in a terminal and as a shell script see it."""

import re
from pathlib import Path

import cli_calls
import pytest
from cli_calls import run

import rrstats as rr
from rrstats import cli

TABLE_ROW = re.compile(
    r"^  (?P<answer>\w[\w .]*[\w.]) +(?P<true>[\d.]+)% +(?P<reported>[\d,]+) +(?P<naive>[\d.]+)% +"
    r"(?P<debiased>-?[\d.]+)% +"
    r"(?P<low>[\d.]+)% to (?P<high>[\d.]+)% +(?P<count>-?[\d,]+)$",
    re.MULTILINE,
)


def demo(capsys, *arguments):
    """Run the demonstration; returns what it printed; warns of nothing but a hopeless design."""
    assert cli.main(["demo", *arguments]) == 0
    printed = capsys.readouterr()
    told = [line for line in printed.err.splitlines() if "ill-conditioned" not in line]
    assert [] == told
    return printed.out


def refused(capsys, *arguments):
    """Exit code and the one line of a demonstration that must fail."""
    return cli_calls.refused(capsys, "demo", *arguments)


# -- what it prints ------------------------------------------------------------------------


def test_demo_shows_the_true_shares_of_the_embedded_data(capsys):
    """The true column holds the shares of the 944 people, and their mean age.

    Counted in statsmodels 0.14's anes96 (PID 0 to 6, vote 0 and 1, age).
    """
    page = demo(capsys)
    shown = {row["answer"]: row["true"] for row in TABLE_ROW.finditer(page)}
    counts = [200, 180, 108, 37, 94, 150, 175, 551, 393]
    sides = ["strong dem.", "weak dem.", "indep. dem.", "independent", "indep. rep.", "weak rep."]
    answers = [*sides, "strong rep.", *rr.datasets.CATEGORIES["vote"]]
    expected = {name: f"{count / 9.44:.2f}" for name, count in zip(answers, counts, strict=True)}
    assert expected == shown
    assert re.search(r"^  mean  47\.04 ", page, re.MULTILINE)


def test_demo_estimates_from_the_reports(capsys):
    """Debiased shares lie near the truth, naive ones where the noise puts them, counts agree.

    At epsilon 2 the standard error of a share among these people is at most 0.034 (k = 7); 0.28
    is 8 of them.  The mean age has one of 1.2 years, of which 10 are 8.
    """
    page = demo(capsys)
    rows = list(TABLE_ROW.finditer(page))
    assert 9 == len(rows)
    for row in rows:
        k = 2 if row["answer"] in rr.datasets.CATEGORIES["vote"] else 7
        prob = 100 * rr.KRR(range(k), epsilon=2).prob
        true, naive, debiased = (float(row[name]) for name in ("true", "naive", "debiased"))
        assert true == pytest.approx(debiased, abs=28)
        other = (100 - prob) / (k - 1)
        assert other + (prob - other) * debiased / 100 == pytest.approx(naive, abs=0.02)
        assert float(row["low"]) <= max(debiased, 0) < float(row["high"])
        assert 9.44 * debiased == pytest.approx(float(row["count"].replace(",", "")), abs=0.6)
    mean, low, high = re.search(
        r"^  mean  47\.04 +(.*)  (.*) to (.*)$", page, re.MULTILINE
    ).groups()
    assert float(mean) == pytest.approx(47.04, abs=10)
    assert float(low) < float(mean) < float(high)
    words = " ".join(page.split())
    assert "of the population behind these 944 reports." in words
    assert "944 people, one row each" in words


def test_demo_states_the_epsilon_of_each_column_and_of_a_row(capsys):
    """2 of each column, their sum, and the odds of a row: they change by exp(6) = 403.4 at most.

    403.43 x 0.05 / (403.43 x 0.05 + 0.95) = 0.95504.
    """
    words = " ".join(demo(capsys).split())
    for said in (
        "vote: 2 categories; a report is true with probability 88.08%, epsilon 2 ",
        "party: 7 categories; a report is true with probability 55.19%, epsilon 2 ",
        "age: numbers from 18 to 95; the mean of the reports estimates the mean, epsilon 2 ",
        "Epsilon of a whole row, all its reports together: 6.",
        "a factor of at most 404: a true answer with probability 5% before",
        "has probability at most 95.51% afterwards",
    ):
        assert said in words
    words = " ".join(demo(capsys, "--prob", "0.75").split())
    assert "vote: 2 categories; a report is true with probability 75%, epsilon 1.099 " in words
    assert "estimates the mean, epsilon 1.099 " in words
    # Rounding never turns a report that may be a lie into a true one, or the reverse.
    assert "true with probability 99.999%," in demo(capsys, "--prob", "0.99999")


def test_demo_takes_epsilon_and_shares_below_zero(capsys):
    """With next to no information shares leave [0, 1], intervals do not, and the page says why.

    At epsilon 0.000001 no mean can be estimated.  The standard error of a share of party is
    above 1e5, so all seven lie in [0, 1] with a chance below 1e-30.
    """
    page = demo(capsys, "--epsilon", "0.000001")
    assert "epsilon 0.000001" in page
    assert "answers to party, vote are privatized" in " ".join(page.split())
    assert "not clipped" in page
    assert re.search(r"-[\d.e+]+%", page)
    assert "0.0% to 100.0%" in page


@pytest.mark.parametrize(
    "arguments", ["", "--prob 0.5000001", "--epsilon 1e-9", "--prob 0.9999999", "--epsilon 36"]
)
def test_pages_fit_a_terminal(capsys, arguments):
    """No line is wider than 80 columns or ends in a blank, and text has no double spaces."""
    page = demo(capsys, *arguments.split())
    for line in page.splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()
        if not line.startswith("  "):
            assert "  " not in line
    assert "\n\n\n" not in page
    assert page.endswith(".\n")


HELP = {
    "": "privatize estimate check describe demo studies --version",
    "privatize": "--column --plan SurveyDesign --again --ledger example",
    "estimate": "--level --method --target --format example",
    "check": "--categories release example",
    "describe": "--statement --format example",
    "demo": "--prob --epsilon default example",
    "studies": "wada2011.wca example",
}


@pytest.mark.parametrize("command", HELP)
def test_help_fits_a_terminal(capsys, command):
    """Help is at most 80 columns wide and names what can be done."""
    with pytest.raises(SystemExit) as stop:
        cli.main([*command.split(), "--help"])
    assert 0 == stop.value.code
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    for word in HELP[command].split():
        assert word in page


# -- bad arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prob", "0.5"], "choose a larger prob or epsilon"),
        (["--prob", "0.3"], "--prob must be in [1/2, 1)"),
        (["--prob", "1"], "--prob must be in ["),
        (["--prob", "nan"], "--prob must be in ["),
        (["--prob", "three"], "invalid float value: 'three'"),
        (["--prob"], "expected one argument"),
        (["--epsilon", "0"], "--epsilon must be at least 6.476"),
        (["--epsilon", "1e-17"], "--epsilon must be at least 6.476"),
        (["--epsilon", "-1"], "--epsilon must be"),
        (["--epsilon", "inf"], "--epsilon must be"),
        (["--epsilon", "nan"], "--epsilon must be"),
        (["--epsilon", "50"], "the largest possible is"),
        (["--prob", "0.75", "--epsilon", "1"], "not allowed with"),
        (["--pro", "0.75"], "did you mean prob?"),
        (["--eps", "1"], "takes no eps; give epsilon"),
        (["more"], "unrecognized"),
    ],
)
def test_bad_values_are_one_line_and_code_2(capsys, tmp_path, monkeypatch, arguments, said):
    """A bad value prints one line that names it, and nothing else; the exit code is 2."""
    monkeypatch.chdir(tmp_path)
    code, line = refused(capsys, *arguments)
    assert 2 == code
    assert said in line


def test_no_command_is_help(capsys):
    """Without a command the help is printed, and nothing has gone wrong."""
    assert 0 == cli.main([])
    shown = capsys.readouterr()
    assert "commands:" in shown.out
    assert "" == shown.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["privatize in.csv out.csv", "estimate", "check", "describe"])
def test_without_pyarrow_files_are_code_1(tmp_path, command):
    """Without pyarrow the file commands say in one line what to install, and write nothing."""
    words = command.split() if " " in command else [command, "in.csv"]
    words += [] if command == "describe" else ["--column", "a", "--categories", "x,y"]
    words += ["--prob", "0.75"] if words[0] in ("privatize", "estimate") else []
    (tmp_path / "in.csv").write_text("a\nx\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None; from rrstats import cli;"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    done = run("-c", code, *words, cwd=tmp_path)
    assert (1, "") == (done.returncode, done.stdout)
    assert "pip install pyarrow" in done.stderr
    assert 1 == done.stderr.count("\n")
    assert ["in.csv"] == [path.name for path in tmp_path.iterdir()]


def test_the_command_line_loads_pyarrow_only_for_files():
    """`rrstats --help` starts without pyarrow of its own, matplotlib and tqdm."""
    code = (
        "import sys, pandas; before = set(sys.modules); import rrstats.cli;"
        "print(sorted({m for m in set(sys.modules) - before}"
        " & {'matplotlib', 'pyarrow', 'tqdm', 'rrstats.files'}))"
    )
    assert ("[]\n", "") == ((done := run("-c", code)).stdout, done.stderr)


# -- as a process --------------------------------------------------------------------------


def test_version_of_the_module():
    """``python -m rrstats --version`` prints the version."""
    done = run("-m", "rrstats", "--version")
    assert (0, f"rrstats {rr.__version__}\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_code_1():
    """A full disk behind ``>`` gives one line and code 1."""
    with Path("/dev/full").open("w") as full:
        done = run("-m", "rrstats", "studies", stdout=full)
    assert 1 == done.returncode
    assert done.stderr.startswith("rrstats: cannot write the output: ")
    assert 1 == done.stderr.count("\n")
