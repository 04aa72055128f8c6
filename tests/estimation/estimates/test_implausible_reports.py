"""Reports that no true proportions explain: judged exactly, and said before every number."""

import io
import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from cli_calls import call

import rrstats as rr
from rrstats.errors import ImplausibleReportsWarning
from rrstats.estimation.tallies.arrays import FALSE_ALARM, implausible
from rrstats.mechanisms.channel import transition_matrix

YES_NO = rr.KRR(["no", "yes"], 0.75)
RAW = ["no"] * 2475 + ["yes"] * 525
"""Answers that were not privatized: 82.5% no, so that the estimate is 115%."""

WORDS = "are rarer or commoner than any true proportions explain"


def compositions(n, m):
    """All counts of n reports in m cells."""
    for bars in itertools.combinations(range(n + m - 1), m - 1):
        ends = (-1, *bars, n + m - 1)
        yield [high - low - 1 for low, high in itertools.pairwise(ends)]


# -- the false alarm ---------------------------------------------------------------------------


def fixed_answers(rates, sizes):
    """Probabilities of all counts of binary reports, if that many people have each true answer."""
    pmfs = [
        scipy.stats.binom.pmf(np.arange(n + 1), n, rate)
        for n, rate in zip(sizes, rates, strict=True)
    ]
    return np.convolve(*pmfs)


@pytest.mark.parametrize("false_alarm", [0.2, 1e-3, FALSE_ALARM])
@pytest.mark.parametrize("prob", [0.55, 0.75, 0.9])
def test_right_reports_of_fixed_answers_are_seldom_doubted(prob, false_alarm):
    """Over all counts and every number of true answers: exact, by convolution of binomials."""
    n, channel = 400, rr.KRR(["no", "yes"], prob).channel
    doubted = np.array(
        [implausible(channel, np.array([x, n - x]), n, false_alarm).any() for x in range(n + 1)]
    )
    assert doubted.any()
    for true in range(0, n + 1, 20):
        chance = fixed_answers((prob, 1 - prob), (true, n - true))[doubted].sum()
        assert chance <= false_alarm
    # The bound is no excuse for never doubting: the nearest world comes within a factor of 10.
    assert fixed_answers((prob, 1 - prob), (n, 0))[doubted].sum() >= false_alarm / 10


DESIGNS = {
    "krr": (rr.KRR(["a", "b", "c"], 0.8), 30, 3),
    "matrix": (rr.MatrixDesign(["a", "b"], [[0.7, 0.2], [0.2, 0.3], [0.1, 0.5]]), 15, 3),
    "forced": (rr.surveys.forced_response(["a", "b", "c"], 0.4, [0.3, 0.2, 0.1]), 30, 3),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("false_alarm", [0.2, 1e-2])
def test_right_reports_of_drawn_answers_are_seldom_doubted(name, false_alarm):
    """Over all counts, at the corners, edges and the middle of the simplex: exact."""
    mechanism, n, cells = DESIGNS[name]
    channel = mechanism.channel
    counts = np.array(list(compositions(n, cells)))
    doubted = np.array([implausible(channel, one, n, false_alarm).any() for one in counts])
    assert doubted.any()
    matrix = np.asarray(transition_matrix(channel))
    for true in compositions(4, mechanism.k):
        rates = matrix @ (np.array(true) / 4)
        assert scipy.stats.multinomial.pmf(counts[doubted], n, rates).sum() <= false_alarm


def test_samples_share_one_false_alarm():
    """A design of two samples is doubted no more often than a design of one."""
    n, false_alarm, probs = 60, 0.1, (0.75, 0.9)
    design = rr.mechanisms.Samples({prob: rr.KRR(["no", "yes"], prob) for prob in probs})
    counts = [np.array([x, n - x, y, n - y]) for x in range(n + 1) for y in range(n + 1)]
    doubted = [implausible(design.channel, one, 2 * n, false_alarm).any() for one in counts]
    pmfs = [scipy.stats.binom.pmf(np.arange(n + 1), n, prob) for prob in probs]  # all say no
    chance = np.outer(*pmfs).ravel()[doubted].sum()
    assert false_alarm / 10 <= chance <= false_alarm


# -- what is said ------------------------------------------------------------------------------


def test_a_warning_opens_everything_that_is_printed():
    """Above the table in text and HTML; nothing stands above it otherwise."""
    with pytest.warns(ImplausibleReportsWarning, match=WORDS):
        estimate = rr.estimate(RAW, YES_NO)
    assert 1.15 == pytest.approx(estimate.proportions[0])
    assert repr(estimate).startswith("Warning: some reports are rarer")
    assert estimate._repr_html_().startswith('<p class="warning">Warning: some reports')
    assert 1 == repr(estimate).count("Warning")
    right = rr.estimate(rr.Tally.from_counts([2000, 1000], YES_NO))
    assert repr(right).startswith("Estimate: ")
    assert "arning" not in right._repr_html_() + repr(right)


def test_groups_and_columns_that_are_implausible_are_named():
    """One group of three; each column; each column of a table."""
    rng = np.random.default_rng(1)
    right = rr.simulate(["no", "yes"] * 1500, YES_NO, seed=1)
    frame = pd.DataFrame({"raw": RAW, "right": list(right)})
    frame["part"] = np.where(np.arange(3000) < 2475, "first", "second")
    frame = frame.iloc[rng.permutation(3000)]
    with pytest.warns(ImplausibleReportsWarning):
        groups = rr.estimate(frame["raw"], YES_NO, by=frame["part"])
    assert ["first", "second"] == groups.implausible
    text = " ".join(repr(groups).split())
    assert text.startswith(f"Warning: in 2 of 2 groups (first; second) some reports {WORDS}")
    with pytest.warns(ImplausibleReportsWarning):
        columns = rr.estimate(frame, YES_NO, columns=["raw", "right"])
    assert repr(columns).startswith("raw: Warning: some reports")
    assert "right: Warning" not in repr(columns)
    with pytest.warns(ImplausibleReportsWarning, match="raw"):
        table = rr.crosstab(
            frame, "raw", "right", mechanisms=dict.fromkeys(["raw", "right"], YES_NO)
        )
    assert ["raw"] == table._implausible
    assert repr(table).startswith("Warning: in the columns raw some reports")


def test_a_difference_says_which_sample_is_implausible():
    """The first, the second, or both."""
    right = rr.Tally.from_counts([2000, 1000], YES_NO)
    with pytest.warns(ImplausibleReportsWarning):
        raw = rr.estimate(rr.Tally.from_counts([2475, 525], YES_NO))
    right = rr.estimate(right)
    assert repr(rr.difference(right, raw)).startswith("Warning: in the second some reports")
    assert repr(rr.difference(raw, raw)).startswith("Warning: in the first and the second some")
    assert repr(rr.difference(right, right)).startswith("Difference: ")


def test_groups_too_small_to_doubt_are_doubted_together():
    """Forty groups of 75 raw answers; right reports of groups that differ are not doubted."""
    group = np.arange(3000) % 40
    with pytest.warns(ImplausibleReportsWarning, match="in all groups together"):
        groups = rr.estimate(RAW, YES_NO, by=group)
    assert [] == groups.implausible
    assert repr(groups).startswith("Warning: in all groups together some reports")
    reports = rr.simulate(np.where(group % 2, "no", "yes"), YES_NO, seed=2)
    groups = rr.estimate(reports, YES_NO, by=group)
    assert repr(groups).startswith("Estimates of 40 groups")


# -- the command line --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file with raw answers and right reports, and another with right reports alone."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    right = list(rr.simulate(["no", "yes"] * 1500, YES_NO, seed=1))
    frame = pd.DataFrame({"raw": RAW, "right": right})
    frame.to_csv("both.csv", index=False)
    frame[["right"]].to_csv("right.csv", index=False)
    return tmp_path


OPTIONS = ["--categories", "no,yes", "--prob", "0.75"]
BOTH = ["--column", "raw", "--column", "right"]


@pytest.mark.parametrize("form", ["text", "json", "csv"])
@pytest.mark.filterwarnings("error")
def test_implausible_reports_end_with_code_4(folder, capsys, form):
    """The numbers are printed all the same, and one line names the column."""
    code, out, err = call(capsys, "estimate", "both.csv", *BOTH, *OPTIONS, "--format", form)
    assert 4 == code
    assert err.startswith(f"rrstats: column raw: some reports {WORDS}")
    assert 1 == err.count("\n")
    if form == "text":
        assert re.search(r"^  no .* 115\.00% ", out, re.M)
        assert out.startswith("Warning: some reports are rarer")
        assert 1 == out.count("Warning")
    elif form == "json":
        first, second = json.loads(out)["columns"]
        assert (True, False) == (first["implausible"], second["implausible"])
        assert 1.15 == pytest.approx(first["shares"][0]["proportion"])
    else:
        rows = pd.read_csv(io.StringIO(out))
        assert [True, True, False, False] == rows["implausible"].tolist()
        assert 1.15 == pytest.approx(rows["proportion"][0])
    code, out, err = call(capsys, "estimate", "right.csv", "--column", "right", *OPTIONS)
    assert (0, "") == (code, err)
    assert out.startswith("right: 3,000 reports")


def test_reports_that_are_no_categories_end_with_code_4(folder, capsys):
    """The data do not fit the declaration, and nothing is printed."""
    options = ["--categories", "never,yes", "--prob", "0.75"]
    code, out, err = call(capsys, "estimate", "right.csv", "--column", "right", *options)
    assert (4, "") == (code, out)
    assert re.search(r"\d+ of 3000 reports are not among", err)


# -- rows that were selected by another private column ---------------------------------------------


def two_columns(rows=6000):
    """Reports of two columns."""
    frame = pd.DataFrame(
        {"health": ["good", "poor"] * (rows // 2), "visited": [True, False, True] * (rows // 3)}
    )
    designs = {
        "health": rr.KRR(["good", "poor"], epsilon=1),
        "visited": rr.KRR([True, False], epsilon=1),
    }
    return frame.rr.simulate(designs, seed=1)


def test_rows_that_another_private_column_selected_are_noticed():
    """Its reports are then all alike, which no truth explains."""
    released = two_columns()
    with pytest.warns(ImplausibleReportsWarning, match="selected by the reports of column 'visi"):
        released[released["visited"]].rr.estimate("health")


@pytest.mark.filterwarnings("error")
def test_other_rows_are_not_noticed():
    """All rows, in the order of that column, a few of them, and a column without its reports."""
    released = two_columns()
    released.rr.estimate("health")
    released.sort_values("visited").rr.estimate("health")
    released[released["visited"]][:5].rr.estimate("health")
    released[released["visited"]].drop(columns="visited").rr.estimate("health")
    released.assign(visited="no report").rr.estimate("health")
