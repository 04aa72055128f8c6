"""Regression on privatized covariates: exact, golden, brute force, by property, by chance."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy import optimize, special, stats

import rrstats as rr
from rrstats import linear, logit
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
)
from rrstats.estimation.estimates.means import means
from rrstats.estimation.report_columns.report_columns import report_column
from rrstats.mechanisms import surveys
from rrstats.regression import likelihood
from rrstats.regression.behaviours import BehavedOutcome
from rrstats.regression.likelihood import Likelihood
from rrstats.regression.links import family_of
from rrstats.regression.outcomes import NormalOutcome, ReportedOutcome
from rrstats.regression.varying_columns import VaryingColumns

COIN = rr.KRR(["no", "yes"], 0.75)
THREE = rr.KRR(["a", "b", "c"], 0.7)


def _reported(codes, mechanism, seed=1):
    labels = pd.Series([mechanism.categories[code] for code in codes])
    return rr.simulate(labels, mechanism, seed=seed)


def _world(n=600, mechanism=THREE, seed=2, effect=1.5):
    """Ordinary z, a category that goes with z, an outcome of both, and reports of the category."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    logits = np.outer(z, np.linspace(0, 1, mechanism.k)) + np.linspace(0, -0.5, mechanism.k)
    shares = special.softmax(logits, axis=1)
    codes = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    y = 1 + 0.5 * z + effect * codes + rng.normal(size=n)
    frame = pd.DataFrame({"z": z, "x": np.array(_reported(codes, mechanism, seed), dtype=object)})
    return frame, y, codes


def _plain(theta, frame, y, mechanism, model, reported=None):
    """Log-likelihoods of rows, written out: intercept, z, effects; own; logits on 1 and z."""
    k = mechanism.k
    z, codes = frame["z"].to_numpy(), [mechanism.categories.index(x) for x in frame["x"]]
    beta, rest = theta[: k + 1], theta[k + 1 :]
    eta = beta[0] + beta[1] * z[:, None] + np.r_[0, beta[2:]]
    if model == "linear":
        density, rest = stats.norm.pdf(y[:, None], eta, rest[0]), rest[1:]
    else:
        prob_yes = 1 / (1 + np.exp(-eta))
        yes = np.asarray(y, dtype=float)[:, None]
        keep = 1.0 if reported is None else reported
        p_yes = (1 - keep) + (2 * keep - 1) * prob_yes
        density = yes * p_yes + (1 - yes) * (1 - p_yes)
    logits = np.column_stack([np.zeros(len(z)), *(rest.reshape(k - 1, 2) @ [np.ones_like(z), z])])
    joint = mechanism.channel.matrix[codes] * special.softmax(logits, axis=1) * density
    return np.log(joint.sum(axis=1))


def _slopes(function, theta, step=1e-5):
    """Central differences, one column a parameter."""
    return np.stack(
        [
            (function(theta + step * one) - function(theta - step * one)) / (2 * step)
            for one in np.eye(len(theta))
        ],
        axis=-1,
    )


# -- the likelihood ------------------------------------------------------------------------------


def _channel(rng, n, link="logit", k=2, classes=0, exact=False):
    """Reports of an outcome by row, with so many finer classes of its first category."""
    table = rng.random((n, k + classes))
    if exact:
        table = (np.arange(k + classes) == rng.integers(0, k + classes, n)[:, None]) * 1.0
    class_of = np.array([*range(k), *[0] * classes])
    labels = tuple(range(k + classes))
    return ReportedOutcome(labels[:k], table, None, class_of, labels, family_of(link, k))


def _behaved(rng, n):
    """Reports in four cells, of people who follow the instructions and of two behaviours."""
    return BehavedOutcome(
        categories=(0, 1),
        table=rng.random((4, 2)),
        cells=rng.integers(0, 4, n),
        class_of=np.arange(2),
        labels=(0, 1),
        family=family_of("logit", 2),
        behaviours=rng.random((4, 2)),
        names=("always yes", "at random"),
    )


OUTCOMES = {
    "normal": lambda rng, n: NormalOutcome(rng.normal(size=n)),
    "binary": lambda rng, n: _channel(rng, n, exact=True),
    "noisy": _channel,
    "probit": lambda rng, n: _channel(rng, n, "probit"),
    "three": lambda rng, n: _channel(rng, n, k=3),
    "liars": lambda rng, n: _channel(rng, n, "cloglog", classes=2),
    "behaved": _behaved,
}


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize(("classes", "alike"), [(1, True), (3, True), (3, False)])
def test_derivatives_are_those_of_the_likelihood(kind, classes, alike):
    """Gradient and Hessian are what differences of the log-likelihood and of the gradient give."""
    rng = np.random.default_rng(3)
    n = 60
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    varying = np.broadcast_to(rng.normal(size=(classes, 1, 2)), (classes, n, 2))
    varying = varying if alike else rng.normal(size=(classes, n, 2))
    varying = varying if classes > 1 else np.empty((1, n, 0))
    weights, given = rng.random(n) + 0.5, rng.random((n, classes))
    model = Likelihood(
        OUTCOMES[kind](rng, n), given, z, varying, z, weights, weights, rng.normal(size=n)
    )
    theta = rng.normal(size=model.size) * 0.5
    _, gradient, hessian = model.derivatives(theta)
    assert _slopes(lambda t: model.derivatives(t)[0], theta) == pytest.approx(gradient, abs=1e-5)
    assert _slopes(lambda t: model.derivatives(t)[1], theta) == pytest.approx(hessian, abs=1e-5)
    assert weights @ model.scores(theta) == pytest.approx(gradient)


def test_blocks_of_rows_add_up(monkeypatch):
    """Rows that are worked on ten by ten, of three classes, give the same as all at once."""
    rng = np.random.default_rng(3)
    n = 150
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    outcome = NormalOutcome(rng.normal(size=n))
    varying, given = rng.normal(size=(3, n, 2)), rng.random((n, 3))
    model = Likelihood(outcome, given, z, varying, z, np.ones(n), np.ones(n))
    theta = rng.normal(size=model.size) * 0.5
    at_once = model.derivatives(theta)
    monkeypatch.setattr(likelihood, "_BLOCK_SIZE", 30)
    monkeypatch.setattr(likelihood, "_MIN_BLOCK_ROWS", 1)
    assert [slice(start, start + 10) for start in range(0, n, 10)] == list(model.blocks())
    for expected, value in zip(at_once, model.derivatives(theta), strict=True):
        assert expected == pytest.approx(value, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "keep"), [("linear", None), ("logit", None), ("logit", 0.8)])
def test_a_fit_is_the_maximum_that_brute_force_finds(model, keep):
    """Coefficients, log-likelihood and all three covariances against scipy on the plain formula."""
    frame, y, _ = _world(n=600 if keep is None else 2000, effect=1.0)
    if model == "linear":
        fits = {
            kind: linear(y, frame, mechanisms={"x": THREE}, method="likelihood", vcov=kind)
            for kind in ("observed", "opg", "robust")
        }
    else:
        rng = np.random.default_rng(1)
        y = y > 2
        y = y if keep is None else np.where(rng.random(len(y)) < keep, y, ~y)
        how = {} if keep is None else {"mechanism": rr.KRR([False, True], keep)}
        fits = {
            kind: logit(y, frame, mechanisms={"x": THREE}, vcov=kind, **how)
            for kind in ("observed", "opg", "robust")
        }
    fit = fits["observed"]
    start = fit.estimates + 0.05

    def each(theta):
        return _plain(theta, frame, y, THREE, model, keep)

    found = optimize.minimize(
        lambda t: -each(t).sum(), start, method="BFGS", options={"gtol": 1e-4}
    )
    assert each(found.x).sum() == pytest.approx(fit.llf, abs=1e-5)
    assert found.x == pytest.approx(fit.estimates, abs=2e-3)
    rows = _slopes(each, fit.estimates)
    hessian = _slopes(lambda t: _slopes(each, t).sum(axis=0), fit.estimates, 1e-4)
    bread, meat = np.linalg.inv(-hessian), rows.T @ rows
    plain = {"observed": bread, "opg": np.linalg.inv(meat), "robust": bread @ meat @ bread}
    for kind, covariance in plain.items():
        scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        assert covariance / scale == pytest.approx(fits[kind].covariance / scale, abs=2e-4)


# RRreg 0.7.6, RRlin(cov.asset.index ~ rr.q1 [+ cov.female], data = d, models = "FR",
# p.list = list(c(1/6, 1/6)), fit.n = 5) on its Nigeria data, 2423 complete rows: how many have an
# asset index of 0 .. 9, by female and rr.q1.
NIGERIA = {
    (0, 0): [26, 61, 113, 105, 149, 151, 121, 53, 30, 4],
    (0, 1): [23, 17, 38, 87, 118, 99, 58, 30, 22, 2],
    (1, 0): [44, 70, 99, 139, 131, 110, 111, 55, 23, 2],
    (1, 1): [12, 25, 38, 51, 53, 66, 51, 19, 17, 0],
}
RRLIN = {
    "rr.q1": {
        "coef": [3.9499152342665997, 0.3335322656742463],
        "sigma": 1.9895096628868896,
        "pi": 0.738469045160558,
        "log": -6663.440539780841,
        "se": [0.055476470825938415, 0.14530134213242593, 0.028809752673783936],
    },
    "rr.q1 and female": {
        "coef": [4.044357868702514, -0.1894831186334241, 0.3060044602735112],
        "sigma": 1.9877611656049339,
        "pi": 0.7385020806820995,
        "log": -6660.734755711329,
        "se": [
            0.06870610504076397,
            0.08139407051509455,
            0.14582266365544208,
            0.028749589855061507,
        ],
    },
}


def _nigeria():
    rows = [
        (index, female, report)
        for (female, report), counts in NIGERIA.items()
        for index, count in enumerate(counts)
        for _ in range(count)
    ]
    return pd.DataFrame(rows, columns=["assets", "female", "q1"])


@pytest.mark.parametrize("case", RRLIN)
def test_constant_shares_agree_with_rrlin(case, formulaic):
    """RRreg's RRlin is the likelihood with constant shares.  Its tolerance is 5e-4."""
    frame, golden = _nigeria(), RRLIN[case]
    forced = surveys.forced_response([0, 1], 2 / 3, [1 / 6, 1 / 6])
    columns = ["q1"] if case == "rr.q1" else ["female", "q1"]
    formula = f"assets ~ {' + '.join(columns)} | 1"
    fit = linear(formula, frame, mechanisms={"q1": forced}, method="likelihood")
    q = len(golden["coef"])
    assert golden["coef"] == pytest.approx(fit.estimates[:q].tolist(), abs=5e-4)
    assert golden["sigma"] == pytest.approx(fit.params["sigma"], abs=5e-4)
    assert golden["log"] == pytest.approx(fit.llf, abs=5e-6)
    assert golden["pi"] == pytest.approx(fit.proportions().to_frame()["proportion"][0], abs=5e-4)
    assert golden["se"] == pytest.approx(fit.bse.iloc[: q + 1].tolist(), rel=5e-3)


# -- what the methods are for ----------------------------------------------------------------------


def _population(keep=0.75):
    """All cells of (z, x, report, y) with their exact probabilities; x goes with z."""
    rows = []
    for z in (0, 1):
        share = (0.2, 0.6)[z]
        for x in (0, 1):
            p_yes = special.expit(-1 + 0.5 * z + 1.5 * x)
            for report in (0, 1):
                for y in (0, 1):
                    chance = 0.5 * (share if x else 1 - share) * (p_yes if y else 1 - p_yes)
                    chance *= keep if report == x else 1 - keep
                    rows.append((z, "yes" if report else "no", bool(y), chance))
    return pd.DataFrame(rows, columns=["z", "x", "y", "chance"])


def test_a_logistic_model_of_the_covariate_is_right_where_constant_shares_are_not(formulaic):
    """With exact probabilities as weights the fit is the truth; constant shares are 0.28 off."""
    cells = pd.concat([_population()] * 40)
    columns, options = cells[["z", "x"]], {"weights": cells["chance"].to_numpy()}
    fit = logit(cells["y"], columns, mechanisms={"x": COIN}, **options)
    assert [-1, 0.5, 1.5] == pytest.approx(fit.estimates[:3].tolist(), abs=1e-6)
    logits = [special.logit(0.2), special.logit(0.6) - special.logit(0.2)]
    assert logits == pytest.approx(fit.estimates[3:].tolist(), abs=1e-6)
    constant = logit("y ~ z + x | 1", cells, mechanisms={"x": COIN}, **options)
    assert 0.2 < np.abs(constant.estimates[:3] - [-1, 0.5, 1.5]).max()
    assert "effects are biased" in str(constant.summary())


def test_an_outcome_of_three_categories_goes_with_a_privatized_covariate():
    """With exact probabilities of the reports of both, and an offset, the truth comes back."""
    three, rows = rr.KRR(list("abc"), 0.7), []
    truth = np.array([[-0.3, 0.8, 1.0], [0.2, -0.5, -0.7]])
    for z, x, report, told in np.ndindex(2, 2, 2, 3):
        eta = np.r_[0, truth @ [1, z, x] + 0.4 * z]
        chance = 0.5 * ((0.2, 0.6)[z] if x else 1 - (0.2, 0.6)[z])
        chance *= 0.75 if x == report else 0.25
        chance *= three.channel.matrix[told] @ special.softmax(eta)
        rows.append((z, "yes" if report else "no", "abc"[told], 0.4 * z, chance))
    cells = pd.DataFrame(rows * 20, columns=["z", "x", "y", "offset", "chance"])
    fit = logit(
        cells["y"], cells[["z", "x"]], mechanisms={"x": COIN}, mechanism=three,
        offset=cells["offset"], weights=cells["chance"],
    )  # fmt: skip
    assert truth.ravel() == pytest.approx(fit.estimates[:6], abs=1e-5)
    logits = [special.logit(0.2), special.logit(0.6) - special.logit(0.2)]
    assert logits == pytest.approx(fit.estimates[6:].tolist(), abs=1e-5)
    profile = fit.predict({"z": [1], "x": ["yes"]}, offset=0.4).to_frame()
    expected = special.softmax(np.r_[0, truth @ [1, 1, 1] + 0.4])
    assert expected == pytest.approx(profile["proportion"].to_numpy(), abs=1e-5)
    assert 1 == pytest.approx(fit.predict(average=True).to_frame(level=0.9)["proportion"].sum())
    assert ["a", "b", "c"] * 2 == fit.marginal_effects().to_frame()["category"].tolist()
    assert "b, x[T.yes] " in str(fit.summary())


def test_scores_give_the_true_coefficients_whatever_the_errors():
    """Exact probabilities of exponential errors: scores are right, the normal likelihood is not."""
    errors = stats.expon.ppf((np.arange(200) + 0.5) / 200)
    rows = []
    for z, x, report, error in np.ndindex(2, 2, 2, 200):
        chance = 0.5 * ((0.2, 0.6)[z] if x else 1 - (0.2, 0.6)[z])
        chance *= 0.75 if x == report else 0.25
        y = 2 + z + 0.5 * x + errors[error] - errors.mean()
        rows.append((z, "yes" if report else "no", y, chance))
    cells = pd.DataFrame(rows, columns=["z", "x", "y", "chance"])
    options = {"weights": cells["chance"].to_numpy(), "mechanisms": {"x": COIN}}
    fit = linear(cells["y"], cells[["z", "x"]], **options)
    assert [2, 1, 0.5] == pytest.approx(fit.estimates.tolist(), abs=1e-9)
    with pytest.warns(LowPrecisionWarning, match=r"gives 0.5 for x\[T.yes\] .*use method='scores'"):
        by_likelihood = linear(cells["y"], cells[["z", "x"]], method="likelihood", **options)
    assert 1.5 < by_likelihood.params["x[T.yes]"]
    assert all(other < by_likelihood.llf for other in by_likelihood.other_maxima)
    assert "2 maxima were found" in str(by_likelihood.summary())


def test_scores_without_covariates_are_the_means_of_the_groups():
    """The intercept is the mean of the first group, effects are differences, errors nearly so."""
    frame, y, _ = _world()
    fit = linear(y, frame[["x"]], mechanisms={"x": THREE})
    found = means(y, frame["x"], THREE)
    centres = found.means
    assert [centres[0], *(centres[1:] - centres[0])] == pytest.approx(fit.estimates.tolist())
    apart = [found.difference(group, "a").std_error for group in ("b", "c")]
    assert apart == pytest.approx((fit.bse.to_numpy() * np.sqrt(597 / 599))[1:])
    profiles = fit.predict({"x": ["a", "b", "c"]}).to_frame()
    assert centres.tolist() == pytest.approx(profiles["prediction"].tolist())


def test_the_covariance_of_scores_is_that_of_the_equations():
    """Sandwich of the weighted equations of people, or of clusters, written out."""
    frame, y, _ = _world()
    w = np.random.default_rng(3).uniform(0.5, 1.5, 600)
    w = w / w.mean()
    groups = np.arange(600) // 4
    s = report_column(frame["x"], THREE).scores()
    z = frame["z"].to_numpy()
    designs = [np.column_stack([np.ones(600), z, np.full(600, k == 1), np.full(600, k == 2)])
               for k in range(3)]  # fmt: skip
    gram = sum((d.T * (w * s[:, k])) @ d for k, d in enumerate(designs))
    beta = np.linalg.solve(gram, sum((d.T * (w * s[:, k])) @ y for k, d in enumerate(designs)))
    each = sum(d * (w * s[:, k] * (y - d @ beta))[:, None] for k, d in enumerate(designs))
    summed = np.stack([each[groups == group].sum(axis=0) for group in range(150)])
    bread = np.linalg.inv(gram)
    options = {"mechanisms": {"x": THREE}, "weights": w}
    fit = linear(y, frame, **options)
    assert beta == pytest.approx(fit.estimates)
    assert bread @ each.T @ each @ bread * 600 / 596 == pytest.approx(fit.covariance)
    del options["weights"]
    fit = linear(y, frame, **options, design=rr.SampleDesign(w, clusters=groups))
    factor = 150 / 149 * 599 / 596
    assert bread @ summed.T @ summed @ bread * factor == pytest.approx(fit.covariance)


FOUR = rr.KRR(["p", "q", "r", "s"], 0.8)


def _written_out(fit, y, scores, weights):
    """Estimates, their meat, noise and signals, from (profiles, rows, columns) arrays."""
    frame = fit.data.design.frame.drop(columns=list(fit.data.private.names))
    design = np.stack(fit.data.matrices(frame.assign(y=0.0)))
    heavy = (scores.T * weights)[:, :, None] * design
    gram = np.einsum("crb,crd->bd", heavy, design)
    bread = np.linalg.inv((gram + gram.T) / 2)
    beta = bread @ np.einsum("crb,r->b", heavy, y)
    errors = y - design @ beta
    each = np.einsum("crb,cr->rb", heavy, errors)
    known = np.einsum("crb,crd->bd", heavy * (weights * errors**2)[:, :, None], design)
    beside = design @ (bread / np.diag(bread))
    residuals = np.einsum("cr,crb->rb", scores.T, beside**2)
    mean = np.average(residuals, axis=0, weights=weights)
    influence = weights[:, None] / weights.sum() * (residuals - mean)
    signal = mean / np.sqrt((influence**2).sum(axis=0))
    factor = len(y) / (len(y) - len(beta))
    covariance = factor * bread @ each.T @ each @ bread
    parts = 1 - np.diag(bread @ (each.T @ each - known) @ bread) * factor / np.diag(covariance)
    effective_n = np.where(parts > 0, len(y) * np.minimum(parts, 1), np.nan)
    sigma2 = (scores.T * errors**2 * weights).sum() / (len(y) - len(beta))
    return beta, covariance, dict(zip(fit.params.index, signal, strict=True)), effective_n, sigma2


SCORED = [
    "y ~ C(a) + x",
    "y ~ x:C(a) + w",
    "y ~ C(a, contr.poly) * x",
    "y ~ 0 + C(a, contr.sum):C(w) + x",
    "y ~ C(a) * C(b) + x",
    "y ~ a:b:x + C(w):b",
    "y ~ np.exp(-x * (a == 'q')) + I(x * (a == 'r'))",
    "y ~ C(a) + I(b == 'yes') + poly(x, 2)",
]


@pytest.mark.parametrize(
    ("formula", "weighted"),
    [*((formula, True) for formula in SCORED), (SCORED[0], False), (SCORED[4], False)],
)
def test_scores_of_any_formula_are_those_written_out(formula, weighted, formulaic):
    """Sums over rows of the ordinary columns give the sums over profiles, rows and columns."""
    rng = np.random.default_rng(5)
    n = 800
    truth = rng.integers(0, 4, n)
    coins = rng.integers(0, 2, n)
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "x": x,
            "w": rng.integers(0, 2, n) + 1,
            "a": np.array(_reported(truth, FOUR), dtype=object),
            "b": np.array(_reported(coins, COIN), dtype=object),
            "y": 1 + 0.3 * truth + x * (1 + coins) + rng.normal(size=n),
        }
    )
    mechanisms = {name: one for name, one in (("a", FOUR), ("b", COIN)) if name in formula}
    weights = rng.uniform(0.5, 1.5, n) if weighted else np.ones(n)
    weights = weights / weights.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowPrecisionWarning)
        fit = linear(formula, frame, mechanisms=mechanisms, weights=weights)
    scores = np.ones((n, 1))
    for name in fit.data.private.names:
        each = report_column(frame[name], mechanisms[name]).scores()
        scores = (scores[:, :, None] * each[:, None, :]).reshape(n, -1)
    beta, covariance, signal, effective_n, sigma2 = _written_out(
        fit, frame["y"].to_numpy(), scores, weights
    )
    assert beta == pytest.approx(fit.estimates, rel=1e-9)
    assert covariance == pytest.approx(fit.covariance, rel=1e-8)
    assert sigma2 == pytest.approx(fit.sigma2)
    assert {name: signal[name] for name in fit.signal.index} == pytest.approx(fit.signal.to_dict())
    places = fit.params.index.get_indexer(fit.effective_n.index)
    assert effective_n[places] == pytest.approx(fit.effective_n.to_numpy(), nan_ok=True)


def test_scores_take_no_memory_for_each_profile(formulaic):
    """20 categories in 20,000 rows: less than a third of an array by profile, row and column."""
    rng = np.random.default_rng(6)
    n, k = 20_000, 20
    mechanism = rr.KRR([f"c{code:02d}" for code in range(k)], 0.8)
    truth = rng.integers(0, k, n)
    frame = pd.DataFrame({"a": _reported(truth, mechanism), "x": rng.normal(size=n)})
    frame["y"] = 0.1 * truth + frame["x"] + rng.normal(size=n)
    tracemalloc.start()
    try:
        linear("y ~ C(a) + x", frame, mechanisms={"a": mechanism})
        assert tracemalloc.get_traced_memory()[1] < k * n * (k + 1) * 8 / 3
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_the_order_of_terms_changes_nothing(method, formulaic):
    """A privatized column in the middle of a formula is that at its end."""
    frame, y, _ = _world()
    frame = frame.assign(y=y, w=np.cos(np.arange(600)), v=np.arange(600) % 5)
    how = {"mechanisms": {"x": THREE}, "method": method}
    one, other = (
        linear(f"y ~ {terms}", frame, **how) for terms in ("z + w + v + x", "x + w + z + v")
    )
    assert one.params.to_dict() == pytest.approx(other.params.to_dict(), rel=1e-5)
    assert one.bse.to_dict() == pytest.approx(other.bse.to_dict(), rel=1e-5)


@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_without_noise_a_fit_is_least_squares(method):
    """A direct answer is an ordinary covariate."""
    frame, y, codes = _world()
    frame["x"] = np.array(["a", "b", "c"])[codes]
    direct = surveys.direct(["a", "b", "c"])
    fit = linear(y, frame, mechanisms={"x": direct}, method=method)
    matrix = np.column_stack([np.ones(len(y)), frame["z"], codes == 1, codes == 2])
    plain, squares = np.linalg.lstsq(matrix, y, rcond=None)[:2]
    assert plain == pytest.approx(fit.estimates[:4], abs=1e-8)
    assert [600, 600] == pytest.approx(fit.effective_n.tolist(), rel=0.15)
    if method == "likelihood":
        assert np.sqrt(squares[0] / 600) == pytest.approx(fit.params["sigma"])
    else:
        assert squares[0] / 596 == pytest.approx(fit.sigma2)


# -- properties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_units_and_the_order_of_categories_change_nothing_else(method):
    """Other units of y and z, and another first category, give the same fit in other words."""
    frame, y, _ = _world()
    options = {"method": method}
    one = linear(y, frame, mechanisms={"x": THREE}, **options)
    moved = frame.assign(z=1e4 + 100 * frame["z"])
    other = linear(1e3 * y - 7e5, moved, mechanisms={"x": THREE}, **options)
    assert one.params["z"] * 10 == pytest.approx(other.params["z"], rel=1e-6)
    assert one.bse["x[T.b]"] * 1e3 == pytest.approx(other.bse["x[T.b]"], rel=1e-6)
    turned = linear(y, frame, mechanisms={"x": rr.KRR(["c", "a", "b"], 0.7)}, **options)
    assert one.params["x[T.c]"] == pytest.approx(-turned.params["x[T.a]"], rel=1e-5)
    apart = one.params["x[T.b]"] - one.params["x[T.c]"]
    assert apart == pytest.approx(turned.params["x[T.b]"], rel=1e-5)
    if method == "likelihood":
        assert one.llf == pytest.approx(turned.llf, abs=1e-7)
        lost = 600 * np.log(1e3)
        assert one.llf - lost == pytest.approx(other.llf, abs=1e-6)


def test_a_formula_and_columns_say_the_same(formulaic):
    """A formula names the privatized column as any other, with interactions if wanted."""
    frame, y, _ = _world()
    frame["y"] = y
    one = linear("y ~ z + x", frame, mechanisms={"x": THREE})
    other = linear(y, frame[["z", "x"]], mechanisms={"x": THREE})
    assert other.params.to_dict() == pytest.approx(one.params.to_dict())
    crossed = linear("y ~ z * x", frame, mechanisms={"x": THREE}, method="likelihood")
    assert {"x[T.b]:z", "z:x[T.b]"} & set(crossed.params.index)
    profile = crossed.predict({"z": [1.0], "x": ["b"]}).to_frame()["prediction"][0]
    p = crossed.params
    cross = p[[name for name in p.index if ":" in name and "T.b" in name and "=" not in name]].sum()
    assert p["Intercept"] + p["z"] + p["x[T.b]"] + cross == pytest.approx(profile)


def test_reports_that_name_several_categories_serve():
    """Unary reports, by scores and by likelihood, come near the truth that k-RR finds."""
    frame, y, codes = _world(n=4000)
    unary = rr.mechanisms.UnaryEncoding.optimized(["a", "b", "c"], epsilon=3.0)
    seen = report_column(_reported(codes, unary), unary)
    for method in ("scores", "likelihood"):
        fit = linear(y, frame[["z", "x"]], mechanisms={"x": seen}, method=method)
        distance = (fit.params["x[T.c]"] - 3.0) / fit.bse["x[T.c]"]
        assert abs(distance) < 5


def test_samples_that_need_one_another_are_fitted_by_likelihood():
    """Liars and honest carriers are classes of one category; scores refuse and say the way."""
    design = surveys.stochastic_lie_detector(["no", "yes"], [1 / 6, 5 / 6], yes="yes")
    rng = np.random.default_rng(5)
    classes = rng.integers(0, 3, 4000)
    group = np.array(design.groups)[rng.integers(0, 2, 4000)]
    truth = pd.Series([design.domain.categories[code] for code in classes])
    y = 1 + 2 * (classes > 0) + rng.normal(size=4000)
    frame = pd.DataFrame({"x": rr.simulate(truth, design, seed=1, group=group)})
    fit = linear(y, frame, mechanisms={"x": design}, group=group, method="likelihood")
    assert abs(fit.params["x[T.yes]"] - 2) < 5 * fit.bse["x[T.yes]"]
    assert 2 / 3 == pytest.approx(fit.proportions().to_frame()["proportion"][1], abs=0.1)
    assert 1 == pytest.approx(fit.posterior().sum(axis=1).to_numpy())
    with pytest.raises(ArgumentValueError, match="use method='likelihood'"):
        linear(y, frame, mechanisms={"x": design}, group=group)


def test_two_privatized_covariates_are_told_apart():
    """Joint shares: each effect is found beside the other, for both methods and posteriors."""
    frame, y, _ = _world(n=4000)
    rng = np.random.default_rng(8)
    other = rng.integers(0, 2, 4000)
    frame["w"] = np.array(_reported(other, COIN), dtype=object)
    y = y - 2.0 * other
    for method in ("scores", "likelihood"):
        fit = linear(y, frame, mechanisms={"x": THREE, "w": COIN}, method=method)
        found = fit.params[["x[T.c]", "w[T.yes]"]]
        assert (np.abs(found - [3.0, -2.0]) < 5 * fit.bse[found.index]).all()
    posterior = fit.posterior()
    assert [("x", "a"), ("x", "b"), ("x", "c"), ("w", "no"), ("w", "yes")] == list(posterior)
    assert 1 == pytest.approx(posterior["w"].sum(axis=1).to_numpy())
    assert 5 == len(fit.proportions().to_frame())
    wide = rr.KRR([f"c{place}" for place in range(65)], 0.9)
    with pytest.raises(ArgumentValueError, match="at most 64 combinations"):
        linear([1.0, 2.0], pd.DataFrame({"x": ["c0", "c1"]}), mechanisms={"x": wide})


# -- results ---------------------------------------------------------------------------------------


def test_predictions_average_over_the_category_or_take_it_as_known():
    """With the true category a profile; without it the mean by P(category | z)."""
    frame, y, _ = _world()
    fit = logit(y > 2, frame, mechanisms={"x": THREE})
    new = pd.DataFrame({"z": [0.3, -1.0]})
    p = fit.estimates

    def averaged(theta):
        logits = np.column_stack([np.zeros(2), *(theta[4:].reshape(2, 2) @ [[1, 1], new["z"]])])
        eta = theta[0] + theta[1] * new["z"].to_numpy()[:, None] + np.r_[0, theta[2:4]]
        return (special.softmax(logits, axis=1) * special.expit(eta)).sum(axis=1)

    found = fit.predict(new).to_frame()
    slopes = _slopes(averaged, p)
    assert averaged(p) == pytest.approx(found["proportion"].to_numpy())
    errors = np.sqrt(np.diag(slopes @ fit.covariance @ slopes.T))
    assert errors == pytest.approx(found["std_error"].to_numpy(), rel=1e-5)
    known = fit.predict(new.assign(x=["b", "a"])).to_frame()["proportion"]
    assert special.expit([p[0] + 0.3 * p[1] + p[2], p[0] - p[1]]) == pytest.approx(known.to_numpy())
    assert len(frame) == len(fit.predict().to_frame())
    with pytest.raises(ArgumentValueError, match="1 of 2 rows of 'x' are none") as caught:
        fit.predict(new.assign(x=["b", "secret"]))
    assert "secret" not in str(caught.value)


def test_shares_and_posteriors_are_those_of_the_model():
    """Shares are means of P(category | z); without z they are the unbiased estimate."""
    frame, y, _ = _world(n=3000)
    fit = linear(y, frame[["x"]], mechanisms={"x": THREE}, method="likelihood")
    found = fit.proportions().to_frame()
    plain = rr.estimate(frame["x"], THREE)
    assert plain.proportions == pytest.approx(found["proportion"].to_numpy(), abs=0.03)
    assert (found["std_error"].to_numpy() < plain.std_error).all()
    after = fit.posterior()
    assert found["proportion"].to_numpy() == pytest.approx(after.mean().to_numpy(), abs=1e-6)
    assert ["a", "b", "c"] == list(after)


def test_marginal_effects_are_those_written_out():
    """Slopes with the category as it is, differences between categories; errors, too."""
    frame, y, _ = _world(n=500)
    fit = logit(y > 2, frame, mechanisms={"x": THREE})
    z, p = frame["z"].to_numpy(), fit.estimates

    def eta(theta):
        return theta[0] + theta[1] * z[:, None] + np.r_[0, theta[2:4]]

    def slope(theta):
        logits = [np.zeros_like(z), *(theta[4:].reshape(2, 2) @ [np.ones_like(z), z])]
        shares, yes = special.softmax(np.column_stack(logits), axis=1), special.expit(eta(theta))
        return (shares * yes * (1 - yes)).sum(axis=1).mean() * theta[1]

    def jumps(theta):
        yes = special.expit(eta(theta)).mean(axis=0)
        return np.array([slope(theta), yes[1] - yes[0], yes[2] - yes[0]])

    found, slopes = fit.marginal_effects().to_frame(), _slopes(jumps, p)
    assert [("z", "slope"), ("x", "a to b"), ("x", "a to c")] == list(
        zip(found["covariate"], found["change"], strict=True)
    )
    assert jumps(p) == pytest.approx(found["effect"].to_numpy(), rel=1e-6)
    errors = np.sqrt(np.diag(slopes @ fit.covariance @ slopes.T))
    assert errors == pytest.approx(found["std_error"].to_numpy(), rel=1e-4)
    mean = fit.predict(average=True).to_frame()
    assert fit.predict().to_frame()["proportion"].mean() == pytest.approx(mean["proportion"].item())
    assert mean["category"].item() is True
    assert mean["low"].item() < mean["proportion"].item() < mean["high"].item()


def test_effects_of_a_line_are_its_coefficients():
    """Without interactions; with two privatized covariates each is told beside the other."""
    frame, y, _ = _world()
    frame["w"] = np.array(_reported(np.arange(600) % 2, COIN), dtype=object)
    how = {"mechanisms": {"x": THREE, "w": COIN}, "method": "likelihood"}
    fit = linear(y, frame, **how)
    found, names = fit.marginal_effects().to_frame(), ["z", "x[T.b]", "x[T.c]", "w[T.yes]"]
    assert fit.params[names].tolist() == pytest.approx(found["effect"].tolist(), rel=1e-6)
    assert fit.bse[names].tolist() == pytest.approx(found["std_error"].tolist(), rel=1e-5)


def test_nested_fits_on_privatized_covariates_compare(formulaic):
    """Twice the gain in log-likelihood; other reports, weights and clusters are refused."""
    frame, y, _ = _world()
    frame["v"] = np.cos(np.arange(600))
    how = {"mechanisms": {"x": THREE}}

    frame["more"] = y > 2

    def fitted(columns, classes="", **options):
        return logit(f"more ~ {' + '.join(columns)}{classes}", frame, **how | options)

    large, small = fitted(["z", "v", "x"]), fitted(["z", "x"])
    test = small.compare(large)
    assert 2 * (large.llf - small.llf) == pytest.approx(test.statistic)
    assert 3 == test.df  # v explains the outcome and the two logits of the category
    assert test == large.lr_test(small)
    assert 2 == small.compare(fitted(["z", "x"], "| 1")).df
    refused(ArgumentValueError, "special case", fitted(["v", "x"]).compare, small)
    # nested in the model of the category, and not in that of the outcome
    constant = fitted(["v", "x"], "| 1")
    refused(ArgumentValueError, "special case", constant.compare, small)
    with pytest.raises(ArgumentValueError, match="must be of the same reports"):
        large.compare(logit(y > 1, frame[["z", "x"]], **how))
    clustered = fitted(["z", "x"], design=rr.SampleDesign(clusters=np.arange(600) // 4))
    refused(ArgumentValueError, "use wald_test", large.compare, clustered)
    assert "AIC" not in str(clustered.summary())
    with pytest.raises(ArgumentTypeError, match="found ScoreResult"):
        large.compare(linear(y, frame[["z", "x"]], **how))


def test_what_a_fit_has_not_names_the_way():
    """Scores have no likelihood and no model of the categories: the message says what has."""
    frame, y, _ = _world()
    fit = linear(y, frame, mechanisms={"x": THREE})
    for name in ("compare", "marginal_effects", "posterior"):
        refused(AttributeError, f"ScoreResult has no {name}: .*'likelihood'", getattr, fit, name)
        assert not hasattr(fit, name)
    with pytest.raises(AttributeError, match=r"no attribute .colour.$"):
        _ = fit.colour
    refused(ArgumentTypeError, r"true categories .* \['x'\]", fit.predict)
    told = fit.predict(pd.DataFrame({"x": ["a", "c"], "z": [0.0, 1.0]}, index=[7, 3])).to_frame()
    assert ["z", "x", "prediction", "std_error", "low", "high"] == list(told)
    assert [7, 3] == told.index.tolist()
    refused(ArgumentValueError, "not alpha", fit.conf_int, 0.05)


def test_a_summary_says_what_was_fitted():
    """The table names the privatized columns, what they are worth, and what was assumed."""
    frame, y, _ = _world()
    how = {"mechanisms": {"x": THREE}}
    text = str(linear(y, frame, method="likelihood", **how).summary())
    assert "Linear regression of the outcome, privatized: x" in text
    assert "privatized: x" in text
    assert "Effective sample size, of " in text
    assert "Errors are assumed normal" in text
    assert "x=c: z" in text
    text = str(linear(pd.Series(y, name="pay"), frame, **how).summary())
    assert "Linear regression of 'pay' by scores, privatized: x" in text


# -- edges -----------------------------------------------------------------------------------------


def test_a_category_that_nobody_holds_is_said_and_not_printed_as_a_number():
    """Below the floor of the design the share runs to 0: infinite, no error, a warning."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": np.where(rng.random(500) < 0.15, "yes", "no")})
    y = rng.normal(size=500)
    with (
        pytest.warns(ConvergenceWarning, match="no finite maximum .* of 2 parameters"),
        pytest.warns(LowPrecisionWarning, match="x=yes: 0.0"),
    ):
        fit = linear(y, frame, mechanisms={"x": COIN}, method="likelihood")
    assert fit.converged
    assert -np.inf == fit.params["x=yes: Intercept"]
    assert np.isnan(fit.params["x[T.yes]"])
    assert np.isnan(fit.bse["x[T.yes]"])
    assert y.mean() == pytest.approx(fit.params["Intercept"], abs=1e-5)
    with pytest.warns(LowPrecisionWarning, match="are not reliable"):
        linear(y, frame, mechanisms={"x": COIN})


def test_a_covariate_that_by_its_reports_is_one_category_is_refused():
    """Every "yes" of the triangular model means nobody's "no": the equations are singular."""
    frame = pd.DataFrame({"x": ["yes"] * 50})
    y = np.random.default_rng(1).normal(size=50)
    design = surveys.triangular(["no", "yes"], 0.25, yes="yes")
    with pytest.raises(NotIdentifiableError, match=r"\['x'\] do not over these 50 rows"):
        linear(y, frame, mechanisms={"x": design})


def test_a_column_that_varies_without_any_doubt_is_not_called_unreliable():
    """Rows that add the same to the variation of a column: its error is 0, or 1e-17 below it."""
    design = surveys.direct(["no", "yes"])
    rng = np.random.default_rng(1)
    for scale in rng.gamma(2.0, size=50):
        frame = pd.DataFrame({"x": ["no", "yes"] * 20})
        weights = np.full(40, scale)
        options = {"mechanisms": {"x": design}, "weights": weights}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = linear(rng.normal(size=40), frame, **options)
        assert (fit.signal > 1e6).all()


def test_separation_is_said():
    """An outcome that the category decides has infinite coefficients, not large ones."""
    x = np.repeat([0, 1], 40)
    told = np.where(np.arange(80) % 4 > 0, x, 1 - x)
    frame = pd.DataFrame({"x": np.where(told, "yes", "no")})
    with pytest.warns(ConvergenceWarning, match="no finite maximum"):
        fit = logit(x > 0, frame, mechanisms={"x": COIN})
    assert [-np.inf, np.inf] == fit.estimates[:2].tolist()
    assert np.isfinite(fit.params["x=yes: Intercept"])


def test_the_higher_of_two_maxima_is_found():
    """Clear groups and faint reports: turned round, the groups are a lower maximum."""
    y = np.repeat([0.0, 4.0], 50) + np.tile([-0.4, -0.2, 0.0, 0.2, 0.4], 20)
    frame = pd.DataFrame({"x": ["no", "yes", "no"] * 16 + ["yes", "no", "yes"] * 17 + ["yes"]})
    fit = linear(y, frame, mechanisms={"x": rr.KRR(["no", "yes"], 0.6)}, method="likelihood")
    turned = fit.fit.model.maximize(np.linalg.solve(fit.fit.back, [4.0, -4.0, -1.0, 0.0]))
    assert turned.converged
    assert -4 == pytest.approx((fit.fit.back @ turned.parameters)[1], abs=0.01)
    assert turned.value < fit.llf - 1
    assert 4 == pytest.approx(fit.params["x[T.yes]"], abs=0.01)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"mechanisms": {"x": rr.KRR(["a", "b", "c"], 1 / 3)}},
            NotIdentifiableError,
            "no information",
        ),
        ({"mechanisms": {"w": THREE}}, ArgumentValueError, r"columns that the model uses"),
        ({"mechanisms": [THREE]}, ArgumentTypeError, "mapping from column to mechanism"),
        ({"method": "moments"}, ArgumentValueError, "method must be one of"),
    ],
)
def test_bad_arguments_are_refused_with_the_rule(options, error, words):
    """Errors name the argument and what it may be."""
    frame, y, _ = _world()
    given = {"mechanisms": {"x": THREE}} | options
    refused(error, words, linear, y, frame, **given)


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("y ~ z + x | 1", {}, "are for method='likelihood'"),
        ("y ~ z + x | z", {"method": "likelihood"}, r"\| 1 alone may end a formula"),
        ("y ~ z | 1", {"method": "likelihood"}, "no column here is privatized"),
    ],
)
def test_formulas_with_wrong_classes_are_refused(formula, options, words, formulaic):
    """Scores have no classes, those of covariates are equal or free, and some models have none."""
    frame, y, _ = _world()
    mechanisms = {"x": THREE} if "x" in formula else None
    with pytest.raises(ArgumentValueError, match=words):
        linear(formula, frame.assign(y=y), mechanisms=mechanisms, **options)


def test_bad_data_is_refused_with_counts():
    """Collinear columns, exact outcomes, missing rows and strangers are told, never quoted."""
    frame, y, codes = _world()
    how = {"mechanisms": {"x": THREE}}
    with pytest.raises(ArgumentValueError, match=r"\['z', 'v'\] are collinear"):
        linear(y, frame.assign(v=2 * frame["z"]), **how)
    with pytest.raises(ArgumentValueError, match="without any error"):
        linear(1.0 + 2.0 * codes, frame[["x"]], **how, method="likelihood")
    for constant in (0.0, 3.7):  # rounding is no error
        with pytest.raises(ArgumentValueError, match="without any error"):
            linear(np.full(600, constant), frame, **how, method="likelihood")
    y[:3] = np.nan
    told = frame.assign(x=frame["x"].where(frame.index != 5))
    refused(ArgumentValueError, "3 in the outcome, 1 in covariate 'x'", linear, y, told, **how)
    assert 596 == linear(y, told, **how, missing="drop").nobs
    with pytest.raises(ArgumentValueError, match="1 of 600 reports") as caught:
        linear(np.ones(600), frame.assign(x=["secret", *frame["x"][1:]]), **how)
    assert "secret" not in str(caught.value)
    with pytest.raises(ArgumentValueError, match="two categories, found 1"):
        logit(np.ones(600, dtype=bool), frame, **how)
    refused(ArgumentValueError, "cannot tell", linear, [1.0, 2.0], frame[:2], **how)


# -- what the shares go with ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["y ~ x + x:z", "y ~ x / z", "y ~ 0 + x + x:z"])
@pytest.mark.parametrize("mechanism", [COIN, THREE], ids=["two", "three"])
def test_shares_go_with_a_covariate_that_only_interacts(formula, mechanism, formulaic):
    """``x + x:z`` is ``x * z`` in other words; its shares were constant, and its effects biased."""
    frame, y, _ = _world(400, mechanism)
    frame["y"] = (y > np.median(y)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [rr.logit(one, frame, mechanisms={"x": mechanism}) for one in ("y ~ x * z", formula)]
    whole, other = fits
    assert whole.llf == pytest.approx(other.llf, abs=1e-6)
    assert whole.df_model == other.df_model
    shares = [name for name in whole.params.index if "=" in name]
    assert whole.params[shares].tolist() == pytest.approx(other.params[shares].tolist(), abs=1e-4)
    for data in (frame[["z"]].head(5), frame[["z", "x"]].head(5)):
        one, two = (fit.predict(data).to_frame()["proportion"].tolist() for fit in fits)
        assert one == pytest.approx(two, abs=1e-5)
    one, two = (fit.marginal_effects().to_frame()["effect"].tolist() for fit in fits)
    assert one == pytest.approx(two, abs=1e-4)


def test_shares_of_a_factor_in_an_interaction_and_constant_ones(formulaic):
    """Each level has shares of its own; with constant ones that is said."""
    frame, y, _ = _world(500, COIN)
    frame["g"] = np.array(list("pqr"))[np.arange(500) % 3]
    frame["y"] = y
    options = {"mechanisms": {"x": COIN}, "method": "likelihood"}
    fit = rr.linear("y ~ 0 + x:g", frame, **options)
    shares = [name for name in fit.params.index if "x=yes" in name]
    assert ["x=yes: Intercept", "x=yes: g[p]", "x=yes: g[q]"] == shares
    fit = rr.linear("y ~ x + x:z | 1", frame, **options)
    assert 1 == sum("x=yes" in name for name in fit.params.index)
    assert "independent of the ordinary covariates" in str(fit.summary())


# -- how much reports are worth ------------------------------------------------------------------


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noisy", [0, 1])
def test_direct_answers_are_worth_themselves(clustered, weighted, noisy):
    """Also where errors differ between the groups: 699,057 of 20,000 was said of such answers."""
    rng = np.random.default_rng(1)
    n = 2000
    labels = rng.integers(0, 100, n)
    x = ((rng.random(n) < 0.05) | (labels < 5)).astype(int)
    y = 1 + 2 * x + rng.normal(size=n) * np.where(x == noisy, 1, 0.05)
    y += rng.normal(size=100)[labels]
    frame = pd.DataFrame({"x": np.array(["no", "yes"])[x]})
    weights = rng.random(n) if weighted else None
    design = rr.SampleDesign(weights, clusters=labels if clustered else None)
    direct = {"x": surveys.direct(["no", "yes"])}
    fit = linear(y, frame, mechanisms=direct, design=design)
    assert [n] == pytest.approx(fit.effective_n.tolist())
    assert fit.effective_n.iloc[0] <= n


def test_where_the_outcome_is_separated_no_coefficient_has_a_number():
    """Beside a direction without information others fade: they had errors of hundreds."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"z": rng.normal(size=1500)})
    frame["x"] = np.array(["no", "yes"])[rng.integers(0, 2, 1500)]
    y = (frame["z"] > 0).astype(int)
    with pytest.warns(ConvergenceWarning):
        fit = logit(y, frame, mechanisms={"x": COIN})
    assert not np.isfinite(fit.bse[["Intercept", "z", "x[T.yes]"]]).any()
    assert fit.effective_n.isna().all()
    assert (fit.bse.iloc[3:] < 1).all()


def test_answers_of_pairs_are_categories():
    """Profiles hold the tuples themselves."""
    pairs = [("no", 1), ("yes", 2)]
    x = np.arange(400) % 3 == 0
    frame = pd.DataFrame({"x": [pairs[int(one)] for one in x]})
    how = {"mechanisms": {"x": rr.KRR(pairs, 0.9)}}
    fit = linear(2.0 * x + np.sin(np.arange(400)), frame, **how)
    assert fit.predict(frame.head(2)).to_frame()["prediction"].diff().iloc[1] == pytest.approx(
        -fit.params.iloc[1]
    )


@pytest.mark.parametrize("rows", [3, 16_384, 16_385, 40_000])
def test_triangles_of_blocks_have_the_products_of_all_rows(rows):
    """Rows factored block by block, the last of one row perhaps, have the products of columns."""
    rng = np.random.default_rng(rows)
    same = rng.normal(size=(rows, 2))
    base = np.vstack([np.ones(rows), rng.normal(size=(2, rows))])
    places = np.array([[0, 1], [2, 2]])
    varying = VaryingColumns(base, places, np.array([[1.0, 0.5], [0.0, -2.0]]))
    for triangle, columns in zip(varying.triangles(same), varying.dense(), strict=True):
        design = np.hstack([same, columns])
        assert design.T @ design == pytest.approx(triangle.T @ triangle, rel=1e-12, abs=1e-9)
    design = np.hstack([same, base.T])
    triangle = varying.triangle(same)
    assert len(triangle) <= 5
    assert design.T @ design == pytest.approx(triangle.T @ triangle, rel=1e-12, abs=1e-9)
