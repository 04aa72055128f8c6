"""The benchmark runs, compares like with like, and does not time a wrong law."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "krr.py"

pytestmark = pytest.mark.skipif(
    not FILE.exists(), reason="the tests were copied away from the benchmarks"
)


@pytest.fixture(scope="module")
def krr():
    spec = importlib.util.spec_from_file_location("benchmark_of_krr", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_prints_machine_versions_and_ratios(krr, capsys, monkeypatch):
    """A small run prints where it ran and a row for each way and k, with OpenDP or without."""
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    assert krr.main(["--rows", "20000", "--quick"]) == 0
    page = capsys.readouterr().out
    assert "numpy " in page
    assert "20,000 codes" in page
    for k in krr.CATEGORIES:
        assert f"k = {k}, epsilon " in page
    for name in ("rrstats ", "rrstats, threads", "rrstats, kernel", "textbook NumPy", "copy"):
        assert page.count(f"\n  {name}") == len(krr.CATEGORIES)
    assert page.count("OpenDP is not installed") == len(krr.CATEGORIES)
    assert "1 x\n" in page
    assert max(map(len, page.splitlines())) <= 90


def test_times_opendp_where_it_is_installed(krr):
    """OpenDP gets its own, smaller number of rows, and its reports follow the law too."""
    pytest.importorskip("opendp")
    times = krr.measure(4, rows=1000, rounds=1, opendp_rows=200)
    assert list(times)[-1] == "OpenDP"


@pytest.mark.parametrize("k", [2, 4, 100])
def test_all_ways_follow_the_law(krr, k):
    """Every way gives reports of the published law: six standard errors in each lie.

    Two-sided normal tail beyond 6: 2e-9; at most 100 lies and 4 ways each.
    """
    truth = (np.arange(100_000) % k).astype(np.uint8)
    for name, way in krr.ways(k).items():
        if name != "copy":
            krr.check_law(name, truth, way(truth), k)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda truth, k, rng: truth.copy(), id="no noise"),
        pytest.param(lambda truth, k, rng: rng.integers(0, k, len(truth)), id="only noise"),
        pytest.param(
            lambda truth, k, rng: np.where(
                rng.random(len(truth)) < 0.75, truth, rng.integers(0, k, len(truth))
            ),
            id="lies may hit the truth",
        ),
        pytest.param(
            lambda truth, k, rng: np.where(rng.random(len(truth)) < 0.75, truth, (truth + 1) % k),
            id="lies to the neighbour",
        ),
    ],
)
def test_a_wrong_law_is_not_timed(krr, wrong):
    """A way that does not follow the law stops the run."""
    truth = (np.arange(100_000) % 4).astype(np.uint8)
    reports = wrong(truth, 4, np.random.default_rng(1)).astype(np.uint8)
    with pytest.raises(SystemExit, match="do not follow the law"):
        krr.check_law("wrong", truth, reports, 4)


def test_refuses_too_few_rows(krr, capsys):
    """So few rows that nothing can be timed are refused."""
    with pytest.raises(SystemExit):
        krr.main(["--rows", "10"])
    assert "at least 1000" in capsys.readouterr().err
