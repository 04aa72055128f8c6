"""Tables of columns whose prob differs by row: sums of products of the rows' own scores."""

import itertools
import warnings

import chance
import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentValueError, NotIdentifiableError

XY, RST = ["x", "y"], ["r", "s", "t"]


def released(n=1500, probs=(0.7, 0.8, 0.95), seed=0):
    """Reports of two columns, one with its own prob by row, and public columns."""
    rng = np.random.default_rng(seed)
    a = rng.choice(XY, n, p=[0.7, 0.3])
    g = np.where(rng.random(n) < np.where(a == "y", 0.8, 0.4), "u", "v")
    columns = {"a": a, "g": g, "b": rng.choice(RST, n), "p": rng.choice(probs, n)}
    columns |= {"w": rng.uniform(1, 3, n), "c": np.arange(n) // 5, "h": np.arange(n) % 4}
    first = pd.DataFrame(columns).rr.simulate("a", XY, prob="p", seed=seed + 1)
    return first.rr.simulate("b", RST, 0.8, seed=seed + 2)


def scores_of(frame, names):
    """(rows, cells) products of the scores of each row, by the formula."""
    p = frame["p"].to_numpy()[:, None]
    is_x, is_r, is_u = (
        np.asarray(frame[name].tolist())[:, None] == np.array(labels)
        for name, labels in (("a", XY), ("b", RST), ("g", ["u", "v"]))
    )
    scores = {"a": (is_x - (1 - p)) / (2 * p - 1), "b": (is_r - 0.1) / 0.7, "g": is_u.astype(float)}
    joint = np.ones((len(frame), 1))
    for name in names:
        joint = (joint[:, :, None] * scores[name][:, None, :]).reshape(len(frame), -1)
    return joint


@pytest.mark.parametrize("names", [("a", "g"), ("g", "a"), ("b", "a", "g")], ids="-".join)
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_means_of_products_of_the_rows_scores(names, weighted):
    """Proportions and variances are those of the scores by themselves, with weights or without."""
    frame = released()
    table = frame.rr.crosstab(*names, **({"weights": "w"} if weighted else {}))
    scores = scores_of(frame, names)
    n = len(frame)
    w = frame["w"].to_numpy() if weighted else np.ones(n)
    mean = w @ scores / w.sum()
    errors = w[:, None] * (scores - mean) / w.sum()
    assert np.allclose(mean, table.proportions.ravel(), rtol=1e-10, atol=1e-13)
    assert np.allclose((errors**2).sum(axis=0) * n / (n - 1), table.std_error.ravel() ** 2)
    margin = table.margin("a")
    assert np.allclose(w @ scores_of(frame, ["a"]) / w.sum(), margin.proportions, atol=1e-13)
    low, high = table.interval()
    assert (low <= table.proportions).all()
    assert (table.proportions <= high).all()


def test_clusters_and_strata_count():
    """With strata and clusters the variance is that of the clusters' sums within strata."""
    frame = released()
    design = rr.SampleDesign(weights="w", clusters="c", strata="h")
    table = frame.assign(h=frame["c"] % 4).rr.crosstab("a", "g", design=design)
    scores = scores_of(frame, ["a", "g"])
    w, cluster = frame["w"].to_numpy(), frame["c"].to_numpy()
    errors = w[:, None] * (scores - w @ scores / w.sum()) / w.sum()
    sums = pd.DataFrame(errors).groupby(cluster).sum()
    by_stratum = sums.groupby(sums.index % 4)
    expected = (by_stratum.var() * by_stratum.count()).sum()
    larger = np.maximum(expected, 0)
    assert np.allclose(larger, table.std_error.ravel() ** 2, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"weights": "w"}, {"target": "sample"}])
def test_rows_of_one_prob_have_the_table_of_one_mechanism(options):
    """A column recorded by row, whose prob is always 0.8, has the ordinary table."""
    frame = released(probs=(0.8,))
    plain = pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    rows = frame.rr.crosstab("a", "b", **options)
    mechanisms = {"a": rr.KRR(XY, 0.8), "b": rr.KRR(RST, 0.8)}
    expected = rr.crosstab(plain, "a", "b", mechanisms=mechanisms, **options)
    assert np.array_equal(expected.proportions, rows.proportions)
    assert np.array_equal(expected.variance, rows.variance)
    assert np.array_equal(expected.interval(), rows.interval())


def test_tables_are_unbiased():
    """All 2^4 reports of four people: the mean table is that of the truth, weighted."""
    truth, level = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    frame = released(4, probs=(0.7,)).assign(p=[0.6, 0.9, 0.6, 0.75], w=[1.0, 2.0, 5.0, 3.0])
    frame = frame.assign(g=np.array(["u", "v"])[level])
    frame.attrs["rrstats"] = released(4, probs=(0.9,)).attrs["rrstats"]
    mean = np.zeros((2, 2))
    p = frame["p"].to_numpy()
    for reports in itertools.product([0, 1], repeat=4):
        probability = np.where(np.array(reports) == truth, p, 1 - p).prod()
        made = frame.copy()
        made["a"] = [XY[code] for code in reports]
        mean += probability * made.rr.crosstab("a", "g", weights="w").proportions
    expected = np.zeros((2, 2))
    np.add.at(expected, (truth, level), frame["w"] / frame["w"].sum())
    assert np.allclose(expected, mean, atol=1e-12)


def test_what_stays_refused_says_why():
    """Too many different probabilities, and rows without information."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.choice(XY, 300), "p": rng.uniform(0.6, 0.9, 300), "g": 1})
    many = frame.rr.privatize("a", XY, prob="p")
    refused(ArgumentValueError, "at most 100 different probabilities", many.rr.crosstab, "a", "g")
    none = frame.assign(p=[0.5] + [0.9] * 299).rr.privatize("a", XY, prob="p")
    refused(NotIdentifiableError, "1 of 300 reports", none.rr.crosstab, "a", "g")


@pytest.mark.slow
def test_intervals_of_cells_cover():
    """In 400 surveys of 1,500 with weights and three probs, 95% intervals cover 90% or more."""
    exact = np.array([[0.28, 0.42], [0.24, 0.06]])
    hits = np.zeros((2, 2))
    for seed in range(400):
        frame = released(seed=seed)
        low, high = frame.rr.crosstab("a", "g", weights="w").interval()
        hits += (low <= exact) & (exact <= high)
    for hit in hits.ravel():
        chance.assert_at_least(int(hit), 400, 0.90, tests=4)


@pytest.mark.parametrize("options", [{}, {"weights": "w"}])
def test_no_rows_are_an_empty_table(options):
    """As for other columns: cells are NaN, intervals [0, 1], and nothing warns of the prob."""
    frame = released(50).assign(g=lambda rows: pd.Categorical(rows["g"], ["u", "v"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = frame[:0].rr.crosstab("a", "g", **options)
        estimate = frame[:0].rr.estimate("a", **options)
    assert (table.n, table.shape) == (0, (2, 2))
    assert np.isnan(table.proportions).all()
    low, high = table.interval()
    assert (low == 0).all()
    assert (high == 1).all()
    assert estimate.n == 0
