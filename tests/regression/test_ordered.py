"""Proportional odds from reports: R's polr, the likelihood written out, slopes by differences."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError

pytest.importorskip("formulaic")
GRADES = list("abcd")
COUNTS = [50, 30, 15, 5, 40, 30, 20, 10, 30, 28, 25, 17, 20, 25, 30, 25]
TABLE = pd.DataFrame({"x": np.repeat(range(4), 4), "y": GRADES * 4, "n": COUNTS})

# MASS in R 4.2.2, polr(y ~ x, weights = n, Hess = TRUE, control = list(reltol = 1e-14)).
POLR = {
    "x": (0.49870226738, 0.08432700431),
    "a|b": (0.07397320194, 0.15805260822),
    "b|c": (1.32025634819, 0.17193633735),
    "c|d": (2.64622907023, 0.20980812154),
    "log-likelihood": -516.968932257,
    "x = 2": [0.284259253, 0.295759850, 0.258713016, 0.161267880],
}


def people(n=1500, seed=1, mechanism=None):
    """People whose grade rises with x, and their reports."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    grade = np.searchsorted([-1, 0.3, 1.2], 0.8 * x + rng.logistic(size=n))
    frame = pd.DataFrame({"x": x, "y": np.array(GRADES)[grade]})
    if mechanism is not None:
        frame["y"] = rr.simulate(frame.y, mechanism, seed=seed).to_numpy()
    return frame


def test_direct_answers_as_in_polr():
    """At prob 1 the fit is that of R's polr, thresholds and predictions too."""
    direct = rr.surveys.direct(GRADES)
    fit = rr.regression.ordinal("y ~ x", TABLE, mechanism=direct, frequencies="n")
    assert fit.params["x"] == pytest.approx(POLR["x"][0], abs=1e-6)
    assert fit.bse["x"] == pytest.approx(POLR["x"][1], abs=1e-6)
    table = fit.thresholds()
    assert table.index.tolist() == ["a|b", "b|c", "c|d"]
    for name, (estimate, error) in table.iterrows():
        assert (estimate, error) == pytest.approx(POLR[name], abs=1e-6)
    assert fit.llf == pytest.approx(POLR["log-likelihood"], abs=1e-6)
    shares = fit.predict(pd.DataFrame({"x": [2]})).to_frame().proportion
    assert shares.to_numpy() == pytest.approx(POLR["x = 2"], abs=1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.KRR(GRADES, epsilon=2.0),
        rr.surveys.forced_response(GRADES, 0.7, [0.1, 0.1, 0.05, 0.05]),
        rr.mechanisms.UnaryEncoding(GRADES, 0.75, 0.25),
    ],
    ids=["krr", "forced", "unary"],
)
def test_the_likelihood_written_out(mechanism):
    """The maximum of the likelihood of the reports, by scipy from another start."""
    frame = people()
    if isinstance(mechanism, rr.mechanisms.UnaryEncoding):
        reports = rr.simulate(frame.y.tolist(), mechanism, seed=2)
        bits = np.asarray(mechanism.unpack(reports), dtype=float)
        given = mechanism.channel
        p, q = given.binomial_rates.true_positive_rate, given.binomial_rates.false_positive_rate
        likelihood = np.stack(
            [
                np.prod(
                    np.where(bits > 0, rates, 1 - rates),
                    axis=1,
                )
                for rates in np.where(np.eye(4) > 0, p, q)
            ],
            axis=1,
        )
        arguments = (reports, frame[["x"]])
    else:
        reports = rr.simulate(frame.y, mechanism, seed=2)
        cells = pd.Categorical(reports, GRADES).codes
        likelihood = mechanism.channel.matrix[cells]
        arguments = (reports, frame[["x"]])
    fit = rr.regression.ordinal(*arguments, mechanism=mechanism)

    def loss(theta):
        zeta = np.cumsum(np.append(theta[1], np.exp(theta[2:])))
        below = special.expit(zeta - theta[0] * frame.x.to_numpy()[:, None])
        edges = np.column_stack([np.zeros(len(frame)), below, np.ones(len(frame))])
        return -np.log((likelihood * np.diff(edges, axis=1)).sum(axis=1)).sum()

    best = optimize.minimize(loss, [0.3, -0.5, 0.1, 0.1], options={"gtol": 1e-7})
    scale = 0.0
    if isinstance(mechanism, rr.mechanisms.UnaryEncoding):  # likelihoods of sets are up to a factor
        scale = fit.llf + best.fun
    assert fit.llf == pytest.approx(-best.fun + scale, abs=1e-6)
    assert fit.params["x"] == pytest.approx(best.x[0], abs=1e-4)
    zeta = np.cumsum(np.append(best.x[1], np.exp(best.x[2:])))
    assert fit.thresholds().estimate.to_numpy() == pytest.approx(zeta, abs=1e-4)


def test_slopes_are_those_of_differences():
    """Gradient and Hessian of the log-likelihood, by central differences."""
    frame = people(300, mechanism=rr.KRR(GRADES, epsilon=2.0))
    fit = rr.regression.ordinal("y ~ x", frame, mechanism=rr.KRR(GRADES, epsilon=2.0))
    model = fit.fit.model
    theta = fit.fit.theta + 0.2
    _, gradient, hessian = model.derivatives(theta)
    for place, step in enumerate(1e-5 * np.eye(len(theta))):
        above, below = model.derivatives(theta + step), model.derivatives(theta - step)
        assert gradient[place] == pytest.approx((above[0] - below[0]) / 2e-5, rel=1e-5)
        assert hessian[place] == pytest.approx((above[1] - below[1]) / 2e-5, rel=1e-4, abs=1e-4)


def test_errors_of_means_include_the_thresholds():
    """The slopes of a mean by all parameters, thresholds too, are those of differences."""
    fit = rr.regression.ordinal("y ~ x", people(400), mechanism=rr.surveys.direct(GRADES))
    means = fit._fitted_means
    model = fit.fit.model
    mean = means.total(model, means.weights)
    for place, step in enumerate(1e-6 * np.eye(model.size)):
        moved = []
        for theta in (fit.fit.theta + step, fit.fit.theta - step):
            eta = model.eta(theta, slice(None))
            values = model.outcome.means(eta, model.split(theta)[1])[0]
            moved.append(values[:, 0] @ means.weights)
        assert mean.slopes[:, place] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-7)
    assert mean.value.sum() == pytest.approx(1)
    assert fit.posterior().sum(axis=1).to_numpy() == pytest.approx(np.ones(400))
    effects = fit.marginal_effects().to_frame()
    assert effects.effect.sum() == pytest.approx(0, abs=1e-9)
    assert effects.effect.iloc[0] < 0 < effects.effect.iloc[-1]


def test_the_number_of_traits():
    """Proportional odds of a sum score: more traits with x, from sums of noisy reports."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=4000)
    die = rr.surveys.forced_response([0, 1], 2 / 3, [1 / 6, 1 / 6])
    traits = rng.random((4000, 3)) < special.expit(x - 1)[:, None]
    reports = np.column_stack(
        [rr.simulate(column.astype(int), die, seed=s) for s, column in enumerate(traits.T)]
    )
    m = rr.surveys.sum_of(die, 3)
    fit = rr.regression.ordinal(reports.sum(axis=1), x, mechanism=m)
    truth = rr.regression.ordinal(traits.sum(axis=1), x, mechanism=rr.surveys.direct(range(4)))
    assert abs(fit.params.iloc[1] - truth.params.iloc[1]) < 4 * fit.bse.iloc[1]


def test_clusters_and_weights():
    """Robust and clustered errors, as in other regressions; weights of 1 change nothing."""
    frame = people(600, mechanism=rr.KRR(GRADES, epsilon=2.0))
    mechanism = rr.KRR(GRADES, epsilon=2.0)
    plain = rr.regression.ordinal("y ~ x", frame, mechanism=mechanism)
    weighted = rr.regression.ordinal("y ~ x", frame.assign(w=1.0), mechanism=mechanism, weights="w")
    assert weighted.params.to_numpy() == pytest.approx(plain.params.to_numpy(), abs=1e-6)
    assert plain.with_vcov("robust").bse["x"] == pytest.approx(weighted.bse["x"], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mechanism": rr.KRR(["a", "b"], 0.7)}, ArgumentValueError, "must be three or more"),
        ({"link": "probit"}, ArgumentTypeError, "takes no link"),
        ({"baseline": "a"}, ArgumentTypeError, "declared order"),
        ({"formula": "y ~ x - 1"}, ArgumentValueError, "need an intercept"),
    ],
)
def test_bad_input(options, error, message):
    """Two categories, other links, a baseline and no intercept are refused."""
    frame = people(50, mechanism=rr.KRR(GRADES, epsilon=2.0))
    options = {"mechanism": rr.KRR(GRADES, epsilon=2.0)} | options
    formula = options.pop("formula", "y ~ x")
    if options["mechanism"].k == 2:
        frame["y"] = np.tile(["a", "b"], 25)
    with pytest.raises(error, match=message):
        rr.regression.ordinal(formula, frame, **options)


def test_thresholds_are_of_ordered_fits():
    """A fit of unordered categories has none."""
    fit = rr.logit("y ~ x", TABLE, mechanism=rr.surveys.direct(GRADES), frequencies="n")
    with pytest.raises(ArgumentTypeError, match=r"rr\.regression\.ordinal"):
        fit.thresholds()
