"""Regression behind a channel: derivatives, maxima, covariances and words, each checked plainly."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy
from refusals import refused

import rrstats as rr
from rrstats import logit
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    LowPrecisionWarning,
    MissingPackageError,
    RRStatsWarning,
)
from rrstats.regression.likelihood import profile_end

NO_YES = ["no", "yes"]
DICE = rr.KRR(NO_YES, 0.75)
WARNER = rr.surveys.warner([0, 1], 0.7, yes=1)
FORCED = rr.surveys.forced_response([0, 1], 2 / 3, [1 / 6, 1 / 6])

INVERSE = {
    "logit": lambda eta: 1 / (1 + np.exp(-eta)),
    "probit": scipy.special.ndtr,
    "cloglog": lambda eta: 1 - np.exp(-np.exp(eta)),
}


def world(n=600, seed=5, mechanism=DICE, slope=0.8):
    """Covariates and the reports of a logistic world, the same in every run."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": draw.normal(45, 12, n).round(), "club": draw.integers(0, 3, n)})
    eta = -0.6 + slope * (frame["age"] - 45) / 12 + 0.5 * (frame["club"] == 2)
    truth = np.where(draw.random(n) < INVERSE["logit"](eta), *mechanism.categories[::-1])
    frame["answer"] = rr.simulate(truth, mechanism, seed=seed)
    return frame


def plain(theta, link, transitions, codes, columns, weights):
    """The log-likelihood of two categories, written down once more."""
    event = INVERSE[link](columns @ theta)
    return weights @ np.log(transitions[codes, 0] * (1 - event) + transitions[codes, 1] * event)


def climbed(function, start):
    """The maximum of a function by a general optimizer, started from somewhere."""
    found = scipy.optimize.minimize(
        lambda theta: -function(theta), start, method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000},
    )  # fmt: skip
    return found.x, -found.fun


def hessian(function, at, step=1e-4):
    """Second derivatives by differences."""
    eye = step * np.eye(len(at))
    return np.array(
        [
            [
                function(at + a + b) - function(at + a - b)
                - function(at - a + b) + function(at - a - b)
                for b in eye
            ]
            for a in eye
        ]
    ) / (4 * step**2)  # fmt: skip


# -- the maximum, and what is known there ------------------------------------------------------


@pytest.mark.parametrize("link", INVERSE)
def test_estimates_maximize_the_plain_likelihood(link):
    """A general optimizer on the likelihood written out finds the same, with the same Hessian."""
    draw = np.random.default_rng(1)
    columns = np.column_stack([np.ones(300), draw.normal(size=300), draw.integers(0, 2, 300)])
    codes = (draw.random(300) < 0.45).astype(int)
    weights = draw.integers(1, 4, 300).astype(float)

    def likelihood(theta):
        return plain(theta, link, WARNER.channel.matrix, codes, columns, weights)

    found = logit(codes, columns[:, 1:], mechanism=WARNER, frequencies=weights, link=link)
    best, value = climbed(likelihood, np.zeros(3))
    assert value == pytest.approx(found.llf, abs=1e-9)
    assert best == pytest.approx(found.params.to_numpy(), abs=2e-5)
    curved = np.linalg.inv(-hessian(likelihood, found.params.to_numpy()))
    assert curved == pytest.approx(found.cov_params().to_numpy(), rel=1e-4, abs=1e-6)


def test_the_other_event_turns_the_signs():
    """Modelling the first category instead of the last turns every sign and nothing else."""
    frame = world()
    yes = logit(frame["answer"], frame[["age"]], mechanism=DICE)
    no = logit(frame["answer"], frame[["age"]], mechanism=DICE, baseline="yes")
    assert (-yes.params).tolist() == pytest.approx(no.params.tolist(), rel=1e-9)
    assert yes.bse.tolist() == pytest.approx(no.bse.tolist(), rel=1e-9)


def test_two_categories_of_a_multinomial_logit_are_a_logit():
    """With a third category that nobody has, or with another baseline, the fit is the same one."""
    mechanism = rr.KRR(list("abc"), 0.8)
    draw = np.random.default_rng(8)
    reports, x = draw.choice(list("abc"), 500, p=[0.5, 0.3, 0.2]), draw.normal(size=500)
    one = logit(reports, x, mechanism=mechanism)
    other = logit(reports, x, mechanism=mechanism, baseline="b")
    assert one.llf == pytest.approx(other.llf, abs=1e-9)
    turned = (one.params["c"] - one.params["b"]).to_numpy()
    assert turned == pytest.approx(other.params["c"].to_numpy(), abs=1e-6)
    assert one.predict().to_frame()["proportion"].to_numpy().reshape(-1, 3) == pytest.approx(
        other.predict().to_frame()["proportion"].to_numpy().reshape(-1, 3)[:, [1, 0, 2]], abs=1e-7
    )


def test_direct_answers_give_the_ordinary_regression():
    """Without noise a saturated multinomial logit repeats the shares of the table."""
    x = np.repeat([0, 1], 3)
    counts = np.array([30, 50, 20, 10, 60, 30])
    found = logit(
        list("abcabc"), x, mechanism=rr.surveys.direct(list("abc")),
        frequencies=counts,
    )  # fmt: skip
    expected = [
        np.log(5 / 3),
        np.log(6 / 1) - np.log(5 / 3),
        np.log(2 / 3),
        np.log(3) - np.log(2 / 3),
    ]
    assert expected == pytest.approx(found.params.tolist(), abs=1e-9)
    assert np.sqrt(1 / 30 + 1 / 50) == pytest.approx(found.bse.iloc[0], rel=1e-9)
    for kind in ("expected", "opg"):  # saturated: they coincide
        assert found.bse.to_numpy() == pytest.approx(
            np.sqrt(np.diag(found.with_vcov(kind).cov_params())), rel=1e-6
        )


@pytest.mark.parametrize("people", [[15, 5, 14, 2], [75, 25, 80, 20]])
def test_an_intercept_at_the_floor_is_infinite_with_few_people_too(people):
    """5 of 20 and 2 of 16 reports are no more than a design of 0.75 makes of nobody at all."""
    how = {"mechanism": rr.KRR([0, 1], 0.75), "frequencies": people}
    with pytest.warns(ConvergenceWarning, match="fewer reports of the event than noise alone"):
        found = logit([0, 1, 0, 1], [[0], [0], [1], [1]], **how)
    assert -np.inf == found.params["Intercept"]
    assert "Intercept: -inf, without interval and p-value" in found.interpret()
    assert found.bse.isna().all()


# -- covariances ---------------------------------------------------------------------------


def test_frequencies_are_rows_written_once():
    """Every covariance of grouped rows is that of the rows one by one."""
    frame = world()
    counted = frame.groupby(["age", "club", "answer"], observed=True).size().reset_index(name="n")
    for kind in ("observed", "expected", "opg", "robust"):
        rows = logit(frame["answer"], frame[["age", "club"]], mechanism=DICE, vcov=kind)
        few = logit(
            counted["answer"], counted[["age", "club"]], mechanism=DICE,
            frequencies=counted["n"], vcov=kind,
        )  # fmt: skip
        assert rows.params.to_numpy() == pytest.approx(few.params.to_numpy(), rel=1e-8)
        assert rows.bse.to_numpy() == pytest.approx(few.bse.to_numpy(), rel=1e-8)
        assert (rows.nobs, rows.bic) == (few.nobs, pytest.approx(few.bic, abs=1e-8))


def test_the_sandwich_is_the_one_written_out():
    """robust and clustered are inverse Hessian, sums of gradients, inverse Hessian."""
    frame = world(n=200)
    weights = 1 + frame["club"].to_numpy() / 2
    columns = np.column_stack([np.ones(200), frame["age"]])
    codes = (frame["answer"] == "yes").to_numpy().astype(int)
    found = logit(frame["answer"], columns[:, 1:], mechanism=DICE, weights=weights * 7)
    assert "robust" == found.vcov
    beta, transitions = found.params.to_numpy(), DICE.channel.matrix
    event = INVERSE["logit"](columns @ beta)
    slope = (transitions[codes, 1] - transitions[codes, 0]) * event * (1 - event)
    slope = slope / (transitions[codes, 0] * (1 - event) + transitions[codes, 1] * event)
    scores = columns * (weights * slope)[:, None]

    def likelihood(theta):
        return plain(theta, "logit", transitions, codes, columns, weights)

    scale = np.array([0.01, 0.0002])
    bent = hessian(lambda step: likelihood(beta + step * scale), np.zeros(2), 1e-2)
    bread = np.linalg.inv(-bent) * np.outer(scale, scale)
    assert bread @ scores.T @ scores @ bread == pytest.approx(
        found.cov_params().to_numpy(), rel=1e-3
    )
    reported = transitions[1, 0] * (1 - event) + transitions[1, 1] * event
    information = weights * ((transitions[1, 1] - transitions[1, 0]) * event * (1 - event)) ** 2
    information /= reported * (1 - reported)
    for labels, reduced in ((np.arange(200) % 17, True), (np.arange(200) % 120, False)):
        grouped = logit(
            frame["answer"], columns[:, 1:], mechanism=DICE,
            design=rr.SampleDesign(weights, clusters=labels),
        )  # fmt: skip
        assert "clustered" == grouped.vcov
        errors = []
        for label in np.unique(labels):
            its = labels == label
            outer = bread
            raised = np.eye(2)
            if reduced:  # CR2 takes the inverse root of I - expected information by its bread
                outer = np.linalg.inv((columns.T * information) @ columns)
                left = np.eye(2) - (columns[its].T * information[its]) @ columns[its] @ outer
                raised = np.linalg.inv(scipy.linalg.sqrtm(left))
            errors.append(outer @ raised @ scores[its].sum(axis=0))
        factor = 1 if reduced else 120 / 119 * 199 / 198
        assert factor * np.transpose(errors) @ errors == pytest.approx(
            grouped.cov_params().to_numpy(), rel=1e-3
        )


def test_few_clusters_are_allowed_for():
    """CR2 of least squares: a cluster's residuals are multiplied by (I - its hat matrix)^(-1/2)."""
    rng = np.random.default_rng(7)
    labels = np.repeat(np.arange(6), [1, 3, 5, 8, 20, 23])
    x = np.column_stack([np.ones(60), rng.normal(size=6)[labels], rng.normal(size=60)])
    y = x @ [1, 2, 3] + rng.normal(size=6)[labels] + rng.normal(size=60)
    design = rr.SampleDesign(clusters=labels)
    with pytest.warns(LowPrecisionWarning, match="few clusters"):
        found = rr.linear(y, x[:, 1:], design=design)
    bread = np.linalg.inv(x.T @ x)
    residual = y - x @ bread @ x.T @ y
    errors = []
    for label in range(6):
        its = x[labels == label]
        raised = np.linalg.inv(scipy.linalg.sqrtm(np.eye(len(its)) - its @ bread @ its.T))
        errors.append(bread @ its.T @ raised @ residual[labels == label])
    expected = np.transpose(errors) @ errors
    assert expected == pytest.approx(found.cov_params().to_numpy(), rel=1e-8)


@pytest.mark.parametrize("method", ["logit", "scores", "likelihood"])
def test_clusters_are_judged_by_students_t(method):
    """Intervals, p-values and predictions have the degrees of freedom of their statistic."""
    frame = world(n=400)
    frame["x"] = np.random.default_rng(2).normal(size=400)
    how = {"design": rr.SampleDesign(clusters=np.arange(400) % 8)}
    fits = {
        "logit": lambda: logit(frame["answer"], frame[["age", "x"]], mechanism=DICE, **how),
        "scores": lambda: rr.linear(frame["x"] + frame["club"], frame[["age", "x"]], **how),
        "likelihood": lambda: rr.linear(frame["x"], frame[["age"]], method="likelihood", **how),
    }
    found = fits[method]()
    df = found.df.to_numpy()
    assert (df > 4).all()
    assert (df <= 8).all()
    for level in (0.95, 0.99):
        half = (found.conf_int(level)["high"] - found.params) / found.bse
        assert scipy.stats.t(df).ppf((1 + level) / 2) == pytest.approx(half.to_numpy())
    z = found.zvalues.to_numpy()
    assert 2 * scipy.stats.t(df).sf(np.abs(z)) == pytest.approx(found.pvalues.to_numpy())
    assert found.wald_test("age").p_value == pytest.approx(found.pvalues["age"])
    assert f"t with {df.min():.3g} to {df.max():.3g} df" in str(found.summary())
    if method != "logit":
        told = found.predict(
            pd.DataFrame({"age": [0.0], "x": [0.0], "Intercept": [1.0]})
        ).to_frame()
        reach = (told["high"] - told["prediction"]) / told["std_error"]
        assert scipy.stats.t(df[0]).ppf(0.975) == pytest.approx(reach[0])


def test_weights_have_no_scale_and_no_likelihood():
    """Ten times the weights are the same weights, and likelihood methods refuse them."""
    frame = world(n=200)
    fits = [
        logit(frame["answer"], frame[["age"]], mechanism=DICE, weights=weights)
        for weights in (frame["club"] + 0.5, 10 * frame["club"] + 5)
    ]
    assert fits[0].params.tolist() == pytest.approx(fits[1].params.tolist(), rel=1e-9)
    assert fits[0].bse.tolist() == pytest.approx(fits[1].bse.tolist(), rel=1e-9)
    refused(ArgumentValueError, "probability weights", fits[0].with_vcov, "observed")
    refused(ArgumentValueError, "needs a likelihood", fits[0].conf_int, method="profile-likelihood")


def test_people_of_weight_zero_are_not_there():
    """Rows of frequency 0 change neither the fit nor the number of people; nor do missing ones."""
    frame = world(n=200)
    gap, counts = frame["age"].where(frame.index > 4), (frame["club"] > 0).astype(int)
    how = {"mechanism": DICE}
    both = logit(frame["answer"], gap, missing="drop", frequencies=counts, **how)
    rest = frame[(frame["club"] > 0) & (frame.index > 4)]
    without = logit(rest["answer"], rest[["age"]], **how)
    assert without.nobs == both.nobs
    assert without.params.tolist() == pytest.approx(both.params.tolist(), rel=1e-10)
    assert without.bse.tolist() == pytest.approx(both.bse.tolist(), rel=1e-10)


# -- the edge ----------------------------------------------------------------------------------


def test_fewer_reports_than_the_design_makes_are_said():
    """10% yes where dice alone make 16.7%: no number with an enormous standard error."""
    reports, x = np.repeat([0, 1], [900, 100]), np.tile([0.0, 1.0, 2.0, 3.0], 250)
    with pytest.warns(ConvergenceWarning, match="fewer reports of the event than noise alone"):
        found = logit(reports, x, mechanism=FORCED)
    assert -np.inf == found.params["Intercept"]
    assert np.isnan(found.params["x1"])
    assert found.bse.isna().all()
    assert found.predict(average=True).to_frame()["proportion"].item() < 1e-6
    # The likelihood of a prevalence of 0.
    assert 100 * np.log(1 / 6) + 900 * np.log(5 / 6) == pytest.approx(found.llf, abs=1e-6)
    assert "no finite maximum" in str(found.summary())


def test_expected_errors_beside_infinite_coefficients_are_those_without_their_levels():
    """What levels of proportion 0 or 1 tell in rounding alone is no information."""
    x, level = np.random.default_rng(7).normal(size=600), np.arange(600) % 3
    reports = np.select([level == 0, level == 1], [np.arange(600) // 3 % 2, np.ones(600)], 0)
    one, two = level == 1, level == 2
    columns = np.column_stack([np.ones(600), x, one, two, one * x, two * x])
    weak = rr.KRR([0, 1], epsilon=1.0)
    with pytest.warns(ConvergenceWarning, match="keeps rising"):
        found = logit(reports.astype(int), columns[:, 1:], mechanism=weak, vcov="expected")
    few = level == 0
    alone = logit(reports[few].astype(int), x[few], mechanism=weak, vcov="expected")
    assert found.params[:2].to_numpy() == pytest.approx(alone.params.to_numpy(), abs=1e-6)
    assert found.bse[:2].to_numpy() == pytest.approx(alone.bse.to_numpy(), rel=1e-6)


@pytest.mark.parametrize("link", INVERSE)
def test_a_group_below_the_floor_leaves_the_others_alone(link):
    """One level without any true yes: its coefficients are infinite, the rest as without it."""
    draw = np.random.default_rng(3)
    group = np.repeat([0, 1, 2], 300)
    x = draw.normal(size=900)
    rate = np.choose(group, [0.1, 0.4, 0.6])
    reports = (draw.random(900) < rate).astype(int)
    reports[:300] = np.arange(300) % 10 == 0
    columns = np.column_stack([np.ones(900), group == 1, group == 2, x])
    with pytest.warns(ConvergenceWarning, match="keeps rising with the .* of Intercept, x1, x2"):
        found = logit(reports, columns[:, 1:], mechanism=FORCED, link=link)
    assert [-np.inf, np.inf, np.inf] == found.params.tolist()[:3]
    rest = logit(reports[300:], columns[300:, 2:], mechanism=FORCED, link=link)
    assert rest.params["x2"] == pytest.approx(found.params["x3"], abs=1e-3)
    assert rest.bse["x2"] == pytest.approx(found.bse["x3"], rel=1e-3)
    told = found.predict().to_frame()
    assert rest.predict().to_frame()["high"].to_numpy() == pytest.approx(
        told["high"].to_numpy()[300:], abs=1e-3
    )
    assert told["std_error"][:300].isna().all()


@pytest.mark.parametrize(
    ("prob", "places"),
    [
        (0.6, [0, 1, 11]),  # the first two come to parameters without any information
        pytest.param(0.6, range(20), marks=pytest.mark.slow),
        pytest.param(0.75, range(20), marks=pytest.mark.slow),
    ],
    ids=["0.6, some", "0.6", "0.75"],
)
def test_profile_intervals_end_where_the_likelihood_has_no_curvature(prob, places):
    """Near the design's floor a profile comes to parameters with no information at all."""
    random = np.random.default_rng(7)
    surveys = [
        (n, *np.clip(round(n * (1 - prob)) + random.integers(-4, 4, 2), 1, None).tolist())
        for n in (20, 100)
        for _ in range(10)
    ]
    for n, first, second in [surveys[place] for place in places]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RRStatsWarning)
            found = rr.logit(
                [0, 1, 0, 1],
                [[0], [0], [1], [1]],
                mechanism=rr.KRR([0, 1], prob),
                frequencies=[n - first, first, n - second, second],
            )
            ends = found.conf_int(method="profile-likelihood")
        inside = np.isfinite(found.params)
        assert (ends["low"][inside] <= found.params[inside]).all()
        assert (ends["high"][inside] >= found.params[inside]).all()


def test_a_profile_bounds_what_is_infinite_on_one_side():
    """The interval of an infinite intercept begins at infinity and ends where reports object."""
    reports = np.repeat([0, 1], [170, 30])
    with pytest.warns(ConvergenceWarning):
        found = logit(reports, mechanism=FORCED)
    low, high = found.conf_int(method="profile").loc["Intercept"]
    assert -np.inf == low

    def loss(value):
        column = np.ones((200, 1))
        there = plain(
            np.array([value]), "logit", FORCED.channel.matrix, reports, column, np.ones(200)
        )
        return 2 * (found.llf - there)

    assert scipy.stats.chi2.ppf(0.95, 1) == pytest.approx(loss(high), abs=1e-5)


def test_separation_of_direct_answers_is_said():
    """A covariate that tells the answer has an infinite coefficient."""
    x = np.arange(40) - 19.5
    with pytest.warns(ConvergenceWarning, match="separation"):
        found = logit((x > 0).astype(int), x, mechanism=rr.surveys.direct([0, 1]))
    assert np.inf == found.params["x1"]
    assert 0 == pytest.approx(found.llf, abs=1e-6)


def test_one_distant_row_is_no_separation():
    """A row a hundred thousand times as far out as the others changes no coefficient."""
    frame = world(n=300)
    x = (frame["age"].to_numpy() - 45) / 12
    x[0], reports = 1e5, frame["answer"].to_numpy(copy=True)
    reports[0] = "yes"
    found = logit(reports, x, mechanism=DICE)
    rest = logit(reports[1:], x[1:], mechanism=DICE)
    assert rest.params.tolist() == pytest.approx(found.params.tolist(), abs=1e-6)


# -- what the model says -----------------------------------------------------------------------


def test_effects_are_those_written_out():
    """Marginal effects follow from the coefficients, errors too."""
    frame = world(n=300)
    data = frame[["age", "club"]].assign(club=lambda d: (d["club"] == 2).astype(float))
    found = logit(frame["answer"], data, mechanism=DICE, link="probit")
    columns = np.column_stack([np.ones(300), data])
    beta, spread = found.params.to_numpy(), found.cov_params().to_numpy()

    def error(function):
        slopes = [
            (function(beta + h) - function(beta - h)) / (2 * np.abs(h).sum())
            for h in np.diag(1e-5 / np.abs(columns).max(axis=0))
        ]
        return np.sqrt(np.array(slopes) @ spread @ np.array(slopes))

    def slope(b):
        return (np.exp(-0.5 * (columns @ b) ** 2) / np.sqrt(2 * np.pi)).mean() * b[1]

    def jump(b):
        with_it, without = columns.copy(), columns.copy()
        with_it[:, 2], without[:, 2] = 1, 0
        return (scipy.special.ndtr(with_it @ b) - scipy.special.ndtr(without @ b)).mean()

    effects = found.marginal_effects().to_frame().set_index("covariate")
    for name, function in (("age", slope), ("club", jump)):
        expected = (function(beta), error(function))
        assert expected == pytest.approx(
            tuple(effects.loc[name, ["effect", "std_error"]]), rel=1e-5
        )


def test_formulas_are_made_again_for_new_data(formulaic):
    """Predictions use the means, levels and squares of the fit, not of the new rows."""
    frame = world()
    formula = "answer ~ center(age) + I(age**2) + C(club)"
    found = logit(formula, frame, mechanism=DICE)
    again = found.predict(frame.drop(columns="answer").iloc[[5, 17]]).to_frame()
    assert ["age", "club", "proportion", "std_error", "low", "high"] == list(again)
    assert frame.loc[[5, 17], "age"].tolist() == again["age"].tolist()
    same = found.predict().to_frame().iloc[[5, 17]]
    assert same.to_numpy() == pytest.approx(again[list(same)].to_numpy(), abs=1e-10)
    assert [5, 17] == again.index.tolist()
    gap = frame.iloc[[5, 17]].assign(age=[np.nan, 50.0])
    assert [True, False] == found.predict(gap).to_frame()["proportion"].isna().tolist()
    with pytest.raises(ArgumentValueError, match="that were not among those of the fit"):
        found.predict(frame.iloc[:3].assign(club=9))


def test_effects_of_a_square_move_together(formulaic):
    """The effect of age is that of age and its square, and of a factor one for each level."""
    frame = world()
    found = logit("answer ~ age + I(age**2) + C(club)", frame, mechanism=DICE)
    effects = found.marginal_effects().to_frame()
    beta = found.params
    moved = [
        found.predict(frame.assign(age=frame["age"] + h)).to_frame()["proportion"].mean()
        for h in (-1e-3, 1e-3)
    ]
    assert (moved[1] - moved[0]) / 2e-3 == pytest.approx(effects["effect"].iloc[0], rel=1e-5)
    assert ["slope", "0 to 1", "0 to 2"] == effects["change"].tolist()
    assert 5 == len(beta)


def stepped(n=700):
    """A world with a number of few values beside the age."""
    return world(n=n).assign(days=lambda d: ((d["age"] * 7 + d["club"] * 3) % 8).astype(int))


@pytest.mark.parametrize(
    "term", ["C(days > 3)", "C(days // 3)", "I(days > 3)", "age:C(days > 2)", "np.floor(days)"]
)
def test_a_transform_that_jumps_has_no_slope(term, formulaic):
    """It is refused by name, and the step as a column of the frame has an effect."""
    frame = stepped()
    found = logit(f"answer ~ age + {term}", frame, mechanism=DICE)
    refused(ArgumentValueError, r"'days' has no slope, because '.*' is not", found.marginal_effects)
    frame["step"] = (frame["days"] > 3).astype(int)
    found = logit("answer ~ age + step", frame, mechanism=DICE)
    effects = found.marginal_effects().to_frame().set_index("covariate")["effect"]
    ends = [found.predict(frame.assign(step=end)).to_frame()["proportion"].mean() for end in (0, 1)]
    assert ends[1] - ends[0] == pytest.approx(effects["step"])


def test_a_spline_has_one_slope_within_the_values_seen(formulaic):
    """Steps end where the fit has seen nothing, as there a spline is not known."""
    frame = stepped()
    found = logit("answer ~ bs(age, df=4)", frame, mechanism=DICE)
    row = found.marginal_effects().to_frame().set_index("change").loc[["slope"]]
    ages, h = frame["age"], 1e-4
    before, after = ((ages + move).clip(ages.min(), ages.max()).to_numpy() for move in (-h, h))
    told = [
        found.predict(frame.assign(age=age)).to_frame()["proportion"] for age in (before, after)
    ]
    slope = ((told[1] - told[0]) / (after - before)).mean()
    assert slope == pytest.approx(row["effect"].item(), rel=1e-4)
    assert 1 == len(row)


def test_kinks_have_slopes(formulaic):
    """A continuous transform has a slope, also of a covariate with some far values."""
    frame = stepped().assign(pay=lambda d: np.exp(np.linspace(-6, 6, len(d))))
    for formula in (
        "answer ~ np.maximum(age - 50, 0)",
        "answer ~ np.log(pay)",
        "answer ~ poly(age, 3)",
    ):
        found = logit(formula, frame, mechanism=DICE).marginal_effects().to_frame()
        assert ["slope"] == found["change"].tolist()


def test_only_nested_fits_of_the_same_reports_compare():
    """Other rows, other links and fits that are no special cases are refused."""
    frame = world(n=200)

    def fitted(columns, rows=slice(None), **options):
        part = frame[rows]
        return logit(part["answer"], part[columns], mechanism=DICE, **options)

    both, age, club = fitted(["age", "club"]), fitted(["age"]), fitted(["club"])
    assert age.compare(both).statistic == both.lr_test(age).statistic > 0
    refused(ArgumentValueError, "special case", age.compare, club)
    refused(ArgumentValueError, "same reports", both.compare, fitted(["age"], slice(1, None)))
    refused(ArgumentValueError, "same link", both.compare, fitted(["age"], link="probit"))
    refused(ArgumentTypeError, "another fit", both.compare, "age")


def test_clustered_people_have_no_likelihood_ratio():
    """Whatever needs independent people is refused, and not in the summary."""
    frame = world(n=300)
    homes, columns = np.arange(300) % 50, frame[["age", "club"]]
    how = {"mechanism": DICE}
    found = logit(frame["answer"], columns, design=rr.SampleDesign(clusters=homes), **how)
    less = logit(frame["answer"], columns[["age"]], design=rr.SampleDesign(clusters=homes), **how)
    for call in (
        lambda: found.compare(less),
        lambda: found.conf_int(method="profile-likelihood"),
        lambda: found.with_vcov("observed").goodness_of_fit(),
    ):
        refused(ArgumentValueError, "clusters are not independent; use wald_test", call)
    assert not {"AIC", "against constant proportion"} & {name for name, _ in found.summary().header}
    robust = logit(frame["answer"], columns, vcov="robust", **how)
    assert robust.compare(logit(frame["answer"], columns[["age"]], **how)).df == 1


def test_a_test_of_fit_with_a_profile_for_each_person_has_no_p_value():
    """Where most expected counts are small p-values are left out, with a warning and the way."""
    frame = world(n=400)
    x = np.linspace(-1, 1, 400)
    with pytest.warns(LowPrecisionWarning, match="800 of 800 .* left out .* coarser covariates"):
        found = logit(frame["answer"], x, mechanism=DICE).goodness_of_fit()
    assert np.isnan([found.pearson_p_value, found.deviance_p_value]).all()
    assert "coarser covariates" in repr(found)
    coarse = logit(frame["answer"], x.round(), mechanism=DICE).goodness_of_fit()
    assert () == coarse.notes
    assert 0 < coarse.deviance_p_value < 1
    assert f"Pearson: chi2({coarse.df}) = {coarse.pearson:.2f}" in repr(coarse)


def test_tests_read_as_sentences():
    """A test says its numbers and what the reports say of the null."""
    frame = world(n=400)
    large, small = (
        logit(frame["answer"], frame[columns], mechanism=DICE)
        for columns in (["age", "club"], ["club"])
    )
    for test, null in (
        (large.compare(small), "The smaller model"),
        (large.wald_test("age"), "A coefficient of 0"),
        (large.wald_test(["age", "club"]), "Equality of 2 coefficients with 0"),
        (large.wald_test([[0, 1, 0], [0, 1, 1]]), "The given linear hypothesis"),
    ):
        assert 400 == test.n
        assert test.interpret().startswith(f"{null} is rejected (p ")
    assert large.zvalues["age"] ** 2 == pytest.approx(large.wald_test("age").statistic)
    assert large.pvalues["age"] == pytest.approx(large.wald_test("age").p_value)
    age = next(line for line in large.interpret().splitlines() if line.startswith("age: "))
    low, high = large.conf_int().loc["age"]
    assert f"{large.params['age']:.4f}, 95% interval {low:.4f} to {high:.4f}" in age


@pytest.mark.parametrize(
    ("of", "ask"),
    [
        *[(None, ask) for ask in ("conf_int", "summary", "interpret", "to_frame")],
        *[(of, "interpret") for of in ("predict", "marginal_effects", "odds_ratios")],
        *[(of, "to_frame") for of in ("predict", "marginal_effects", "odds_ratios")],
    ],
)
def test_a_level_that_is_an_alpha_is_refused(of, ask):
    """An interval of 5% is nobody's wish; the message says what to give."""
    found = logit(world(n=100)["answer"], world(n=100)[["age"]], mechanism=DICE)
    result = found if of is None else getattr(found, of)()
    with pytest.raises(ArgumentValueError, match=r"not alpha; for alpha = 0.05 give level=0.95"):
        getattr(result, ask)(level=0.05)
    assert getattr(result, ask)(level=0.5) is not None


def test_predictions_stand_beside_their_profiles():
    """Columns of the profiles come first, renamed where they clash, a row for each category."""
    frame = world(n=100)
    found = logit(frame["answer"], frame[["age"]], mechanism=DICE)
    told = found.predict(
        pd.DataFrame({"income": [1, 2], "age": [30, 60]}, index=["x", "y"])
    ).to_frame()
    assert ["age", "proportion", "std_error", "low", "high"] == list(told)
    assert {"x": 30, "y": 60} == told["age"].to_dict()
    assert [30, 60] == found.predict([[30], [60]]).to_frame()["age"].tolist()
    assert "age" not in found.predict().to_frame()
    assert "age" not in found.predict({"age": [30]}, average=True).to_frame()
    draw, three = np.random.default_rng(1), rr.KRR(list("abc"), 0.8)
    low = pd.DataFrame({"low": draw.normal(size=90)})
    several = logit(draw.choice(list("abc"), 90), low, mechanism=three)
    told = several.predict(pd.DataFrame({"low": [0.5, 1.5]})).to_frame()
    assert [0.5] * 3 + [1.5] * 3 == told["profile_low"].tolist()
    assert list("abcabc") == told["category"].tolist()
    assert [0, 0, 0, 1, 1, 1] == told.index.tolist()
    assert [1, 1] == pytest.approx(told.groupby("profile_low")["proportion"].sum().tolist())


@pytest.mark.parametrize("link", INVERSE)
def test_intervals_of_predictions_are_those_of_the_linear_predictor(link):
    """Both ends are the inverse link of a Wald interval of the linear predictor."""
    frame = world(n=300)
    found = logit(frame["answer"], frame[["age"]], mechanism=DICE, link=link)
    columns = np.array([[1, 30], [1, 60]])
    eta = columns @ found.params.to_numpy()
    half = 1.6448536 * np.sqrt(np.diag(columns @ found.cov_params().to_numpy() @ columns.T))
    told = found.predict({"age": columns[:, 1]}).to_frame(level=0.9)
    assert INVERSE[link](eta - half) == pytest.approx(told["low"].to_numpy(), rel=1e-6)
    assert INVERSE[link](eta + half) == pytest.approx(told["high"].to_numpy(), rel=1e-6)


def test_the_summary_says_what_was_fitted(formulaic):
    """The table names the outcome, every covariate, the kind of errors and what is missing."""
    frame = world(n=200)
    text = logit("answer ~ age - 1", frame, mechanism=DICE, vcov="opg").summary()
    text = str(text)
    for word in ("'answer' being 'yes'", "age", "opg", "200", "No intercept"):
        assert word in text
    assert "No intercept" not in str(logit(frame["answer"], mechanism=DICE).summary())


# -- arguments ---------------------------------------------------------------------------------


def test_a_formula_and_arrays_agree(formulaic):
    """A formula is the arrays that it makes; columns may be named for every option."""
    frame = world().assign(n=lambda d: d["club"] + 1, home=lambda d: d["age"] % 29)
    one = logit("answer ~ age", frame, mechanism=DICE, design=rr.SampleDesign("n", clusters="home"))
    other = logit(
        frame["answer"].to_numpy(), frame["age"].to_numpy(), mechanism=DICE,
        design=rr.SampleDesign(frame["n"].to_numpy(), clusters=frame["home"].to_numpy()),
    )  # fmt: skip
    assert one.params.tolist() == pytest.approx(other.params.tolist(), rel=1e-10)
    assert one.bse.tolist() == pytest.approx(other.bse.tolist(), rel=1e-10)


def test_covariates_that_hold_reports_are_not_taken_for_the_truth():
    """A frame that says a covariate was privatized is fitted as such, or refused, never naively."""
    frame = world(n=300)
    made = rr.simulate(frame.assign(smokes=NO_YES * 150), {"smokes": DICE}, seed=1)
    data = made[["smokes", "age"]]
    by_frame = logit(frame["answer"], data, mechanism=DICE)
    given = logit(
        frame["answer"], pd.DataFrame(data.to_dict("list")), mechanism=DICE,
        mechanisms={"smokes": DICE},
    )  # fmt: skip
    assert given.llf == pytest.approx(by_frame.llf, abs=1e-8)
    twice = logit(frame["answer"], data, mechanism=DICE, frequencies=np.full(300, 2))
    assert twice.params.tolist() == pytest.approx(by_frame.params.tolist(), rel=1e-5)
    assert twice.bse.tolist() == pytest.approx((by_frame.bse / np.sqrt(2)).tolist(), rel=1e-4)
    for link in INVERSE:
        fit = logit(frame["answer"], data, mechanism=DICE, link=link)
        assert ("smokes",) == tuple(fit.private.names)


def test_missing_rows_are_refused_or_dropped():
    """missing="raise" counts what is missing and where; "drop" is the fit of the other rows."""
    frame = world(n=200)
    frame.loc[frame.index[:3], "answer"] = None
    frame["age"] = frame["age"].where(frame.index != 10)
    with pytest.raises(ArgumentValueError, match="3 in the reports, 1 in covariate 'age'"):
        logit(frame["answer"], frame[["age"]], mechanism=DICE)
    found = logit(frame["answer"], frame[["age"]], mechanism=DICE, missing="drop")
    whole = frame.dropna()
    rest = logit(whole["answer"], whole[["age"]], mechanism=DICE)
    assert (196, rest.params.tolist()) == (found.nobs, pytest.approx(found.params.tolist()))
    assert whole.index.equals(found.predict().to_frame().index)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"data": lambda f: f[["age"]].assign(days=f["age"] * 365)},
            r"'age', 'days'\] are collinear",
        ),
        ({"data": lambda f: f[["age"]].assign(age=0)}, r"\['age'\] are collinear, or 0"),
        ({"data": lambda f: f[["age"]].iloc[:5]}, "must have the same index"),
        ({"data": lambda f: f[["age"]].to_numpy()[:5]}, "one row for each of the 200"),
        ({"data": lambda f: f[["age"]] / 0}, r"finite, found others in \['age'\]"),
        ({"weights": lambda f: f["club"] - 1.5}, "weights must be 0 or between"),
        ({"weights": lambda f: 0 * f["club"]}, "weights must not all be 0"),
        ({"frequencies": lambda f: 0 * f["club"]}, "no row is left"),
        ({"frequencies": lambda f: f["club"] + 0.5}, "whole numbers"),
        ({"frequencies": lambda f: f["answer"]}, "must be numbers"),
        ({"design": lambda f: rr.SampleDesign(clusters=0 * f["club"])}, "at least 2, found 1"),
        ({"vcov": lambda f: "clustered"}, "needs a design with clusters"),
        (
            {"design": lambda f: rr.SampleDesign(strata=f["club"], population=1e9)},
            "strata, clusters and replicates, found population",
        ),
        ({"baseline": lambda f: "maybe"}, "baseline must be one of"),
        ({"missing": lambda f: "skip"}, "missing must be one of"),
        ({"offset": lambda f: [1.0]}, "one value for each of the 200 rows"),
        ({"weights": lambda f: "club"}, "not there"),
    ],
)
def test_what_cannot_be_fitted_is_said(options, words):
    """Each bad argument has an error of its own that names it."""
    frame = world(n=200)
    given = {name: make(frame) for name, make in options.items()}
    given.setdefault("data", frame[["age"]])
    with pytest.raises((ArgumentValueError, ArgumentTypeError), match=words):
        logit(frame["answer"], mechanism=DICE, **given)


def test_text_among_covariates_asks_for_a_formula_and_is_not_quoted():
    """A column of text is refused by its name and type, without a word of its cells."""
    frame = world(n=50).assign(town=["Secretville"] * 50)
    with pytest.raises(ArgumentTypeError, match=r"C\(town\)") as caught:
        logit(frame["answer"], frame[["town"]], mechanism=DICE)
    assert "Secretville" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("age + club", "outcome"),
        ("answer + club ~ age", "name of the column"),
        ("answer ~ age ~ club", "is no formula"),
        (
            "answer ~ height",
            r"at the factor 'height' .*; the columns are \['age', 'club', 'answer'",
        ),
        ("answer ~ aeg", "did you mean 'age'"),
        ("answer ~ as.factor(club)", r"a factor is C\(column\)"),
        ("answer ~ ns(age, 3)", r"a natural spline is cr\(column, df=4\)"),
        ("answer ~ offset(age)", "an offset is the argument offset="),
        ("answer ~ .", "a dot for all other columns"),
        ("answer ~ age +", r"is no formula \(Operator `\+` has"),
        ("answer ~ np.log(word)", r"at the factor 'np.log\(word\)' \(TypeError: loop of ufunc"),
        ("answer ~ np.log(age - 1000)", "finite"),
        ("answer ~ 0", "no covariates"),
        ("answers ~ age", "did you mean 'answer'"),
        ("answer ~ C(answer) + age", "'answer' stands on both sides"),
    ],
)
def test_formulas_that_are_none(formula, words, formulaic):
    """A formula that cannot be used says which part of it."""
    frame = world(n=50)
    frame = frame if "~ height" in formula else frame.assign(word="a")
    refused(ArgumentValueError, words, logit, formula, frame, mechanism=DICE)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("an.answer ~ my.age + I((my.age/10)^2)", "`an.answer` ~ `my.age` + I((`my.age`/10)**2)"),
        ("an.answer ~ C(my.club) + np.log(my.age)", "an.answer ~ C(`my.club`) + np.log(`my.age`)"),
        ("an.answer ~ C(my.club != 'my.age^2')", "an.answer ~ C(`my.club` != 'my.age^2')"),
    ],
)
def test_formulas_of_r_are_read_as_they_stand(typed, read, formulaic):
    """Names with dots also inside functions; ``^`` is a power, for whole numbers too."""
    frame = world(n=200).rename(columns={"answer": "an.answer", "age": "my.age", "club": "my.club"})
    found, wanted = (logit(one, frame, mechanism=DICE) for one in (typed, read))
    assert wanted.params.tolist() == found.params.tolist()
    assert (
        wanted.predict(frame)
        .to_frame()["proportion"]
        .equals(found.predict(frame).to_frame()["proportion"])
    )


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint64"])
def test_small_whole_numbers_do_not_overflow_in_formulas(kind, formulaic):
    """In int8 60^2 is 16, and in uint8 20 - 50 is 226: fits of other covariates, silently."""
    wide = world(n=400).assign(
        age=lambda frame: (20 + 60 * frame["age"].rank(pct=True)).astype(int)
    )
    formula = "answer ~ I(age^2) + I(age - 50) + C(age > 40)"
    found, wanted = (
        logit(formula, frame, mechanism=DICE) for frame in (wide.astype({"age": kind}), wide)
    )
    assert wanted.params.equals(found.params)
    powers = "answer ~ I(age^-1) + I((age / 10)^2) + I(age^11)"
    real = logit(powers, wide.astype({"age": float}), mechanism=DICE)
    assert real.params.equals(logit(powers, wide.astype({"age": kind}), mechanism=DICE).params)


def test_without_formulaic_arrays_are_named_as_the_way(monkeypatch):
    """A formula without the package says what to install, and what else to do."""
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingPackageError, match=r"pip install formulaic.*arrays"):
        logit("answer ~ age", world(n=50), mechanism=DICE)


def test_an_outcome_that_was_answered_directly_names_the_way():
    """Reports without a mechanism may be answers: the message names the design for these."""
    frame = world(n=60)
    with pytest.raises(ArgumentTypeError, match=r"True answers: rr.surveys.direct"):
        logit(frame["answer"], frame[["age"]])
    direct = rr.surveys.direct(NO_YES)
    assert 60 == logit(frame["answer"], frame[["age"]], mechanism=direct).nobs
    with pytest.raises(ArgumentTypeError) as caught:  # what was given is wrong, and said alone
        logit(frame["answer"], frame[["age"]], mechanism=3)
    assert "direct(" not in str(caught.value)


def test_groups_that_agree_with_the_fit_have_a_p_value_of_1():
    """The deviance of counts that equal their expectations is 0, which rounding made negative."""
    for yes in range(30, 70):
        x = np.repeat([0.0, 1.0, 2.0], 2)
        options = {"mechanism": DICE, "frequencies": [yes, 100 - yes] * 3}
        found = logit(["yes", "no"] * 3, x, **options)
        test = found.goodness_of_fit()
        assert test.deviance >= 0
        assert test.deviance_p_value == pytest.approx(1)
        smaller = logit(["yes", "no"] * 3, None, **options)
        assert found.compare(smaller).p_value == pytest.approx(1)


def test_outcomes_that_cannot_be_fitted_are_refused():
    """One that is constant, three categories by another link than the logit, unknown links."""
    with pytest.raises(ArgumentValueError, match="all 20 are equal"):
        logit(["no"] * 20, np.arange(20.0), mechanism=DICE)
    three = {"mechanism": rr.KRR(list("abc"), 0.8)}
    with pytest.raises(ArgumentValueError, match="link='probit' is for two categories, found 3"):
        logit(list("abc"), link="probit", **three)
    with pytest.raises(ArgumentValueError, match=r"one of .*'probit'.*, got 'cauchit'"):
        logit(["no", "yes"], mechanism=DICE, link="cauchit")
    with pytest.raises(ArgumentTypeError, match="link must be one of"):
        logit(["no", "yes"], mechanism=DICE, link=None)


def test_reports_that_name_several_categories_have_no_expected_information():
    """Unary reports can be fitted; the one covariance that needs all reports says so."""
    mechanism = rr.mechanisms.UnaryEncoding.optimized(list("abc"), epsilon=3.0)
    reports = rr.simulate(list("aabbc") * 60, mechanism, seed=1)
    found = logit(reports, mechanism=mechanism)
    assert [0.4, 0.4, 0.2] == pytest.approx(
        found.predict(average=True).to_frame()["proportion"].tolist(), abs=0.15
    )
    refused(ArgumentValueError, "one cell a report; use 'observed'", found.with_vcov, "expected")


def test_offsets_are_given_again_for_new_rows():
    """A fit with an offset predicts only where the offset is said."""
    frame = world(n=100)
    found = logit(frame["answer"], mechanism=DICE, offset=frame["age"] / 100)
    refused(ArgumentTypeError, "offset is needed", found.predict, frame[[]])
    again = found.predict(frame[[]], offset=frame["age"] / 100).to_frame()
    assert found.predict().to_frame()["proportion"].tolist() == pytest.approx(
        again["proportion"].tolist()
    )


# -- several maxima ----------------------------------------------------------------------------


def noisy(seed, level=-2.0, slope=0.5, prob=0.75, n=300):
    """Few reports of two covariates behind much noise, and their log-likelihood, written out."""
    draw = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(n), draw.normal(size=(n, 2))])
    slopes = np.r_[level, slope * draw.normal(size=2)]
    truth = draw.random(n) < INVERSE["logit"](columns @ slopes)
    reports = np.where(draw.random(n) < prob, truth, ~truth).astype(int)

    def of(b):
        yes = 1 - prob + (2 * prob - 1) * scipy.special.expit(columns @ b)
        return np.log(np.where(reports == 1, yes, 1 - yes)).sum()

    return reports, columns, of


@pytest.mark.parametrize("seed", [18, 293])
def test_an_interior_maximum_is_kept_where_the_edge_is_higher(seed):
    """Of 18 steeper starts that led to the edge (seed 18) each estimate there was the worse one."""
    reports, columns, of = noisy(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = logit(reports, columns[:, 1:], mechanism=rr.KRR([0, 1], 0.75))
    at = found.params.to_numpy()
    assert np.isfinite(at).all()
    assert found.llf == pytest.approx(of(at))
    nearby = np.random.default_rng(0).normal(scale=0.05, size=(50, 3))
    assert max(of(at + step) for step in nearby) < of(at)
    assert "interior maximum.  The log-likelihood is higher by" in str(found.summary())


def test_a_fit_without_an_interior_maximum_stays_at_the_edge():
    """Gentler starts do not make one up."""
    reports, columns, _ = noisy(17)
    with pytest.warns(ConvergenceWarning):
        found = logit(reports, columns[:, 1:], mechanism=rr.KRR([0, 1], 0.75))
    assert np.isinf(found.params).all()


@pytest.mark.parametrize("seed", [14, 30, 44])
def test_a_profile_interval_ends_where_there_are_several_maxima(seed):
    """It holds the estimate, and its ends lose what they should, or are infinite."""
    reports, columns, of = noisy(seed, -1.5, 1.0, 0.7)
    found = logit(reports, columns[:, 1:], mechanism=rr.KRR([0, 1], 0.7))
    ends = found.conf_int(method="profile-likelihood")
    assert ((ends["low"] < found.params) & (found.params < ends["high"])).all()
    for place, name in enumerate(found.params.index):
        rest = [one for one in range(3) if one != place]
        for end in ends.loc[name][np.isfinite(ends.loc[name])]:

            def held(free, end=end, place=place, rest=rest):
                b = np.empty(3)
                b[place], b[rest] = end, free
                return -of(b)

            start = found.params.to_numpy()[rest]
            reached = -scipy.optimize.minimize(held, start).fun
            assert 3.8415 == pytest.approx(2 * (found.llf - reached), abs=0.01)


@pytest.mark.parametrize(
    ("loss", "end"),
    [
        (lambda b: b**2, 2.0),
        (lambda b: b**2 if b < 1.5 else 30.0, np.inf),  # jumps over the limit
        (lambda b: b**2 if b < 1.1 else b - 2.0, np.inf),  # falls: a higher maximum
        (lambda b: 1 - np.exp(-b), np.inf),
    ],
)
def test_the_end_of_a_profile_interval_is_where_its_own_loss_is_the_limit(loss, end):
    """Beyond another maximum nothing is rejected for sure, and no search goes on for ever."""
    assert end == pytest.approx(profile_end(loss, 0.0, 1.0, 4.0), abs=1e-4)


def test_a_category_in_a_wald_test_is_all_its_parameters():
    """It was the last parameter of all; a covariate's name means it in all categories."""
    draw = np.random.default_rng(3)
    x = draw.normal(size=(900, 2))
    reports = np.array(list("abc"))[draw.integers(0, 3, 900)]
    found = logit(reports, x, mechanism=rr.KRR(list("abc"), 0.8))
    whole = np.eye(6)
    for terms, places in [
        ("b", [0, 1, 2]),
        ("x1", [1, 4]),
        (("b", "x1"), [1]),
        (["b", ("c", "x2")], [0, 1, 2, 5]),
        (["b", ("b", "x2")], [0, 1, 2]),
    ]:
        assert found.wald_test(whole[places]) == found.wald_test(terms)
    assert found.wald_test(whole[[1]]) == found.wald_test([[0, 1, 0, 0, 0, 0]])


@pytest.mark.parametrize("terms", [[[0, 1, 2]], [[0], [1, 2]], [["b"]], ["zz"], [], "a"])
def test_a_wald_test_refuses_what_it_does_not_know(terms):
    """A baseline has no parameters."""
    reports = np.array(list("abc"))[np.random.default_rng(3).integers(0, 3, 300)]
    found = logit(reports, None, mechanism=rr.KRR(list("abc"), 0.8))
    refused(ArgumentValueError, "terms must be", found.wald_test, terms)


def test_no_profile_has_no_prediction(formulaic):
    """A frame without rows gives one without rows."""
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "a": [0, 0, 1, 0] * 10})
    found = rr.logit("a ~ x", frame, mechanism=rr.KRR([0, 1], 0.8))
    told = found.predict(frame[:0]).to_frame()
    assert (0, list(found.predict(frame).to_frame().columns)) == (len(told), list(told.columns))
    frame = pd.DataFrame({"x": [0, 0, 0, 1, 1] * 40, "a": [0, 1, 0, 1, 0, 1, 1, 0] * 25})
    m = rr.KRR([0, 1], 0.9)
    both = rr.logit("a ~ x", frame, mechanism=m, mechanisms={"x": m})
    assert both.predict(frame[:0]).to_frame().empty
