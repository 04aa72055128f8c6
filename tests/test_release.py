"""What is published agrees: the version in three files; the paper, its code and its literature."""

import doctest
import re
from pathlib import Path

import pytest

import rrstats as rr

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "docs" / "paper" / "paper.md"

pytestmark = pytest.mark.skipif(
    not PAPER.exists(), reason="the tests were copied away from the documents"
)


def test_the_version_is_the_same_everywhere():
    """The citation file and the top of the changelog have the version of the package."""
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)[1]
    changed = re.search(r"^## ([^\s,]+), ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    assert (rr.__version__, rr.__version__) == (cited, changed)


def test_the_code_of_the_paper_prints_what_the_paper_shows():
    """Each example of the paper runs, and its output is the one that is shown."""
    failures, examples = doctest.testfile(str(PAPER), module_relative=False, encoding="utf-8")
    assert (0, True) == (failures, examples >= 8)


def test_the_paper_cites_what_its_literature_has():
    """No citation lacks its entry, and no entry is without a citation."""
    cited = set(re.findall(r"\[@(\w+)\]", PAPER.read_text("utf-8")))
    entries = re.findall(r"^@\w+\{(\w+),$", PAPER.with_suffix(".bib").read_text("utf-8"), re.M)
    assert sorted(cited) == sorted(entries)
    assert len(cited) > 5


def test_the_measured_speed_in_the_paper_is_that_of_the_benchmarks():
    """The two times and the count of targets stand in the page of the stored run."""
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    met, targets = re.search(r"^(\d+) of (\d+) targets were met", benchmarks, re.M).groups()
    row = r"^\| uint8, k = 4, ns/row \| ([\d.]+) \([^|]*\| textbook NumPy \| ([\d.]+) "
    ours, textbook = re.search(row, benchmarks, re.M).groups()
    text = " ".join(PAPER.read_text("utf-8").split())
    assert f"met {met} of its {targets} targets" in text
    assert f"took {ours} ns a row" in text
    assert f"neither exact nor secure, {textbook} ns." in text
