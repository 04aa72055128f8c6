"""Regressions of reports whose prob differs by row: the likelihood of each row by itself."""

import chance
import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.estimation.report_columns.report_columns import report_column

NO_YES = ["no", "yes"]
ABC = list("abc")


def people(n=600, k=2, seed=0, probs=(0.6, 0.75, 0.95)):
    """Covariates, reports of an answer that depends on them, the prob of each row, weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    if k == 2:
        truth = (rng.random(n) < 1 / (1 + np.exp(0.5 - x))).astype(int)
    else:
        truth = np.clip(np.round(x + 1 + rng.normal(size=n) / 2), 0, 2).astype(int)
    prob = rng.choice(probs, n)
    lie = (truth + rng.integers(1, k, n)) % k
    codes = np.where(rng.random(n) < prob, truth, lie)
    labels = np.array(NO_YES if k == 2 else ABC)
    return x, labels[codes], prob, rng.uniform(0.5, 2, n)


def recorded(reports, prob, x, weights):
    """A frame with the record of a prob of each row."""
    categories = NO_YES if len(set(reports)) == 2 else ABC
    frame = pd.DataFrame({"a": "no" if len(categories) == 2 else "a", "p": prob})
    made = frame.rr.privatize("a", categories, prob="p")
    made["a"] = reports
    return made.assign(x=x, w=weights)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_of_one_prob_are_one_mechanism(k):
    """Coefficients, standard errors and log-likelihood are those of the ordinary fit."""
    pytest.importorskip("formulaic")
    x, reports, _, weights = people(k=k)
    rows = rr.logit("a ~ x", recorded(reports, np.full(len(x), 0.75), x, weights), weights="w")
    mechanism = rr.KRR(NO_YES if k == 2 else ABC, 0.75)
    plain = rr.logit(reports, x[:, None], mechanism=mechanism, weights=weights)
    assert np.allclose(plain.params, rows.params, rtol=1e-10)
    assert np.allclose(plain.bse, rows.bse, rtol=1e-10)
    assert plain.llf == pytest.approx(rows.llf, rel=1e-13)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_three_probs_are_three_samples(k, weighted):
    """A mechanism for each row, counted as samples, has the same likelihood."""
    pytest.importorskip("formulaic")
    x, reports, prob, weights = people(k=k, seed=1)
    categories = NO_YES if k == 2 else ABC
    frame = recorded(reports, prob, x, weights)
    rows = rr.logit("a ~ x", frame, weights="w" if weighted else None)
    each = {value: rr.KRR(categories, value) for value in np.unique(prob)}
    options = {"weights": weights if weighted else None}
    samples = rr.logit(reports, x[:, None], mechanism=[each[value] for value in prob], **options)
    assert np.allclose(samples.params, rows.params, rtol=1e-6)
    assert np.allclose(samples.bse, rows.bse, rtol=1e-6)
    assert rows.llf == pytest.approx(samples.llf, rel=1e-12)


def test_the_likelihood_of_a_row_is_that_of_its_own_channel():
    """P(report | truth) of each row is the row of its own matrix, up to nothing."""
    _, reports, prob, _ = people(n=40, k=3, seed=2)
    column = report_column(reports, ABC, prob)
    expected = [
        rr.KRR(ABC, value).channel.matrix[ABC.index(report)]
        for report, value in zip(reports, prob, strict=True)
    ]
    assert np.allclose(expected, column.likelihood(), rtol=1e-14)
    missing = report_column([None, *reports], ABC, [0.7, *prob]).likelihood()
    assert np.isnan(missing[0]).all()
    assert np.array_equal(missing[1:], column.likelihood())


def _released(n=500, prob=None):
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(4)
    answer = np.where(rng.random(n) < 0.4, "yes", "no")
    x = rng.normal(size=n)
    number = x + 2 * (answer == "yes") + rng.normal(size=n)
    probs = rng.choice([0.6, 0.9], n) if prob is None else np.full(n, prob)
    frame = pd.DataFrame({"a": answer, "x": x, "y": number, "p": probs, "w": rng.uniform(1, 2, n)})
    frame["b"] = np.where(number > 1, "high", "low")
    return frame.rr.privatize("a", NO_YES, prob="p")


def test_formulas_use_the_public_column_of_the_record():
    """The record names the column; a mechanism for each row gives the same fit."""
    made = _released()
    each = [rr.KRR(NO_YES, prob) for prob in made["p"]]
    plain = pd.DataFrame({name: made[name].to_numpy() for name in made.columns})
    values = rr.logit(plain["a"], plain[["x"]], mechanism=each)
    assert np.allclose(rr.logit("a ~ x", made).params, values.params, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "formula", "options"),
    [
        (rr.logit, "b ~ x + a", {}),
        (rr.linear, "y ~ x + a", {"weights": "w"}),
        (rr.linear, "y ~ x + a", {"method": "likelihood"}),
    ],
)
def test_privatized_covariates_of_one_prob_are_of_one_mechanism(model, formula, options):
    """A covariate whose prob is recorded by row, but always 0.8, has the ordinary fit."""
    made = _released(prob=0.8)
    plain = pd.DataFrame({name: made[name].to_numpy() for name in made.columns})
    rows = model(formula, made, **options)
    expected = model(formula, plain, mechanisms={"a": rr.KRR(NO_YES, 0.8)}, **options)
    assert np.allclose(expected.params, rows.params, rtol=1e-6)
    assert np.allclose(expected.bse, rows.bse, rtol=1e-6)


@pytest.mark.slow
def test_intervals_of_coefficients_cover():
    """In 400 surveys of 1,500 with three probs and weights, 95% intervals cover 90% or more."""
    hits = np.zeros(2)
    for seed in range(400):
        x, reports, prob, weights = people(n=1500, seed=seed)
        options = {"weights": weights}
        made = {value: rr.KRR(NO_YES, value) for value in set(prob.tolist())}
        each = [made[value] for value in prob.tolist()]
        fit = rr.logit(reports, x[:, None], mechanism=each, **options)
        ends = fit.conf_int().to_numpy()
        hits += (ends[:, 0] <= [-0.5, 1]) & ([-0.5, 1] <= ends[:, 1])
    for hit in hits:
        chance.assert_at_least(int(hit), 400, 0.90, tests=2)
