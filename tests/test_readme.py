"""What a newcomer reads and pastes works: README and guide."""

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rrstats as rr

ROOT = Path(__file__).resolve().parent.parent
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide.md"

pytestmark = pytest.mark.skipif(
    not README.exists(), reason="the tests were copied away from the documents"
)


def blocks(file, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", file.read_text("utf-8"), re.M | re.S)


def printed(code, names):
    """What a block of code prints."""
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        exec(compile(code, "<document>", "exec"), names)
    return page.getvalue()


def form(page):
    """A page with each number replaced by its kind, and runs of blanks by one."""
    numbers = re.sub(r"-?\d+\.\d*", "#", page)
    return [re.sub(r" (?=[],])", "", " ".join(line.split())) for line in numbers.splitlines()]


def test_readme_opens_with_six_lines_of_code_and_their_output():
    """After the title come six lines of Python, then what they print, then words."""
    lines = README.read_text("utf-8").splitlines()
    assert ["# rrstats", "", "```python"] == lines[:3]
    assert 6 == len(blocks(README, "python")[0].splitlines())
    after = README.read_text("utf-8").split("```\n", 1)[1].lstrip()
    assert after.startswith("```text\n")


def test_readme_output_is_what_the_code_prints():
    """The shown output has the form of a real one, and its numbers are possible ones."""
    code, shown = blocks(README, "python")[0], blocks(README, "text")[0]
    page = printed(code, {})
    assert form(shown) == form(page)
    for row in re.findall(r"^\d .*?((?: +-?[\d.]+){4})$", shown, re.M):
        naive, share, low, high = map(float, row.split())
        assert low <= share <= high
        # k = 7 at epsilon 2: p = e^2 / (e^2 + 6), q = 1 / (e^2 + 6), share (naive - q) / (p - q).
        unbiased = (naive * (math.exp(2) + 6) - 1) / (math.exp(2) - 1)
        assert share == pytest.approx(unbiased, abs=0.002)  # both were rounded to 3 digits


def test_readme_output_is_compared_and_not_waved_through():
    """The comparison above sees another column, category or number of lines."""
    shown = blocks(README, "text")[0]
    assert form(shown) != form(shown.replace("naive", "share"))
    assert form(shown) != form(shown.replace("weak democrat", "democrat"))
    assert form(shown) != form(shown + "\nmore")


@pytest.mark.parametrize("file", [README, GUIDE], ids=lambda file: file.name)
def test_every_block_of_python_runs(file):
    """Blocks run from top to bottom in one session, each without a warning."""
    names = {}
    for code in blocks(file, "python"):
        if " ~ " in code:
            pytest.importorskip("formulaic")
        printed(code, names)
    assert "rr" in names


def test_readme_has_the_two_commands_in_one_line_each():
    """`Run it` and `Test it` are each followed by one command of one line, as CI extracts them."""
    text = README.read_text("utf-8")
    commands = {
        title: re.search(rf"^## {title}$.*?^```sh\n(.*?)^```$", text, re.M | re.S)[1]
        for title in ("Run it", "Test it")
    }
    assert {
        "Run it": "pip install . && rrstats demo\n",
        "Test it": 'pip install ".[test]" && python -m pytest\n',
    } == commands


@pytest.mark.parametrize("name", ["README.md", "docs/guide.md", "docs/contributing.md"])
def test_links_lead_somewhere(name):
    """Every relative link names a file that is there."""
    file = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text("utf-8")):
        assert "://" in target or (file.parent / target).exists(), target


@pytest.mark.parametrize("files", [False, True], ids=["memory", "files"])
def test_readme_names_only_what_exists(files):
    """Each rr.name, df.rr.name and s.rr.name in README and guide is there."""
    if files:
        pytest.importorskip("pyarrow")
    for file in (README, GUIDE):
        text = file.read_text("utf-8")
        for path in set(re.findall(r"(?<![\w.])rr\.([a-zA-Z_][\w.]*\w)", text)):
            if (path.split(".")[0] == "files") != files:
                continue
            found = rr
            for part in path.split("."):
                found = getattr(found, part)
        for owner, name in re.findall(r"\b(df|s)\.rr\.(\w+)", text):
            assert hasattr({"df": rr.FrameAccessor, "s": rr.SeriesAccessor}[owner], name)


@pytest.mark.slow
def test_the_commands_for_files_work_as_they_stand(tmp_path):
    """README's block about a file, line by line, installing aside; each does what it says."""
    pytest.importorskip("pyarrow")
    (block,) = [text for text in blocks(README, "sh") if "rrstats privatize" in text]
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("pip "):
            continue
        words = shlex.split(line)
        start = {"rrstats": [sys.executable, "-m", "rrstats"], "python": [sys.executable]}
        subprocess.run(
            [*start[words[0]], *words[1:]],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=True,
            capture_output=True,
        )
    made = {path.name for path in tmp_path.iterdir()}
    ledger = "health.parquet.rrstats-ledger.json"
    assert {"health.parquet", "released.parquet", "released.html", ledger} == made
