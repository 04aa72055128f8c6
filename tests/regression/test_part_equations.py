"""Linear regression of columns of which a plan asked each row a part."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from chance import assert_at_least
from refusals import refused
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentValueError, LowPrecisionWarning, NotIdentifiableError
from rrstats.regression.part_equations import PartOutcome, moment_fit
from rrstats.regression.private_covariates import ModelRequest, open_model
from rrstats.regression.scores import score_fit

pytestmark = pytest.mark.usefixtures("formulaic")

NAMES = ["a", "b", "c"]
COLUMNS = {"a": [0, 1], "b": ["low", "mid", "high"], "c": ["u", "v"]}


def answers(n, seed=1):
    """True answers that go together, an outcome, weights and villages."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    frame = pd.DataFrame({"a": (z + rng.normal(size=n) > 0).astype(int)})
    codes = np.digitize(z + rng.normal(size=n), [-0.5, 0.7])
    frame["b"] = np.array(COLUMNS["b"])[codes]
    frame["c"] = np.where(frame["a"] + rng.normal(size=n) > 1, "u", "v")
    frame["age"] = 3 + z + rng.normal(size=n)
    frame["pay"] = 10 + 2 * frame["a"] + codes + 0.5 * frame["age"] + rng.normal(size=n)
    frame["weight"] = rng.uniform(1, 4, n)
    frame["village"] = rng.integers(0, n // 20, n)
    frame["region"] = rng.choice(["n", "s"], n)
    frame["nested"] = frame["region"] + (frame["village"] % 15).astype(str)
    left_out = frame["village"].to_numpy()[:, None] % 20 == np.arange(20)
    replicates = frame["weight"].to_numpy()[:, None] * np.where(left_out, 0, 20 / 19)
    return frame.assign(**{f"left_{place}": column for place, column in enumerate(replicates.T)})


@pytest.fixture(scope="module")
def survey():
    """Reports of a plan with a column alone and all pairs."""
    plan = rr.planning.FramePlan(COLUMNS, 3, ["b", *itertools.combinations(NAMES, 2)])
    return rr.simulate(answers(20_000), plan, seed=1)


def direct(truth, formula):
    """The regression of the true answers."""
    from formulaic import model_matrix

    y, x = model_matrix(formula, truth)
    return np.linalg.lstsq(np.asarray(x), np.asarray(y)[:, 0], rcond=None)[0]


# -- against the regression by scores ----------------------------------------------------------


WEIGHTED, CLUSTERED = {"weights": "weight"}, {"clusters": "village"}
STRATIFIED = {"strata": "region", "clusters": "nested"}
REPLICATED = {"replicates": [f"left_{place}" for place in range(20)], "method": "JK1"}
LONG = "pay ~ a*age + C(region):b + c"


@pytest.mark.parametrize(
    ("formula", "design"),
    [
        *(("pay ~ a + b + age", design) for design in ({}, WEIGHTED, CLUSTERED, "both")),
        (LONG, {}),
        pytest.param(LONG, WEIGHTED, marks=pytest.mark.slow),
        pytest.param(LONG, CLUSTERED, marks=pytest.mark.slow),
        (LONG, "both"),
        ("pay ~ a + b + age", {"strata": "region"}),
        ("pay ~ a + b + age", WEIGHTED | STRATIFIED),
        ("pay ~ a + b + age", WEIGHTED | REPLICATED),
    ],
)
def test_columns_that_all_rows_have_give_the_regression_by_scores(formula, design):
    """Coefficients, standard errors and signals are those of corrected scores, to rounding."""
    frame = answers(1000)
    for name, categories in COLUMNS.items():
        frame = frame.rr.simulate(name, categories, epsilon=3, seed=2)
    if design == "both":
        design = WEIGHTED | CLUSTERED
    arguments = {"outcome": formula, "data": frame, "design": rr.SampleDesign(**design)}
    absent = {"the outcome": np.zeros(len(frame), dtype=bool)}
    y = frame["pay"].to_numpy()
    expected = score_fit(y, open_model(ModelRequest(**arguments), len(frame), absent), "fit")
    data = open_model(ModelRequest(**arguments, in_parts=True), len(frame), absent)
    found = moment_fit(PartOutcome(None, np.empty(0), y), data, "fit")
    assert np.allclose(expected.params, found.params)
    assert np.allclose(expected.bse, found.bse)
    assert np.allclose(expected.df, found.df)
    assert (expected.vcov, expected.nobs) == (found.vcov, found.nobs)
    assert np.allclose(expected.signal, found.signal)
    assert found.sigma2 == pytest.approx(expected.sigma2)


# -- of a plan ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "pay ~ a + b + age",
        "pay ~ a*age + b + c",
        "a ~ b + c + age",
        "a ~ age + C(region)",
        "a ~ C(b, contr.sum) + age",
        "pay ~ a + b - 1",
        "a ~ b:age + c",
    ],
)
def test_coefficients_are_near_those_of_the_answers(survey, formula):
    """Private outcomes and covariates, factors, interactions with ordinary columns, contrasts."""
    found = rr.linear(formula, survey)
    truth = answers(20_000)
    truth["b"] = pd.Categorical(truth["b"], COLUMNS["b"])
    truth["c"] = pd.Categorical(truth["c"], COLUMNS["c"])
    expected = direct(truth.astype({"a": "category"} if formula.startswith("pay") else {}), formula)
    assert (np.abs(found.params - expected) < 4 * found.bse).all()
    assert (found.bse < 0.5).all()
    assert found.nobs == 20_000


def test_a_factor_of_two_is_a_number_of_two(survey):
    """Dummies and the numbers 0 and 1 are one column; other numbers change the unit."""
    dummies = rr.linear("pay ~ a + c + age", survey)
    numbers = rr.linear("pay ~ a + c + age", survey, values={"a": [0, 1], "c": {"v": 3, "u": 1}})
    assert list(numbers.params.index) == ["Intercept", "a", "c", "age"]
    shift = np.array([numbers.params["c"], 0, 0, 0])  # u is 1 and not 0
    assert np.allclose(dummies.params * [1, 1, 0.5, 1], numbers.params + shift)
    assert np.allclose((dummies.bse * [1, 1, 0.5, 1])[1:], numbers.bse[1:])


def test_values_are_the_numbers_of_the_outcome(survey):
    """Two words are 0 and 1; other numbers are given, and change the unit."""
    found = rr.linear("c ~ a + age", survey)
    shifted = rr.linear("c ~ a + age", survey, values={"c": [1990, 1992]})
    assert np.allclose(2 * found.params[1:], shifted.params[1:])
    assert np.allclose(2 * found.bse, shifted.bse)
    trend = rr.linear("b ~ a + age", survey, values={"b": [1, 2, 3]})
    truth = answers(20_000)
    truth["b"] = truth["b"].map({"low": 1, "mid": 2, "high": 3})
    assert (np.abs(trend.params - direct(truth, "b ~ a + age")) < 4 * trend.bse).all()
    refused(rr.errors.ArgumentTypeError, r"'b'.* must map each of the",
            rr.linear, "b ~ a + age", survey)  # fmt: skip


def test_a_number_may_be_transformed(survey):
    """A transform by row stands for other numbers; one that learns from rows is refused."""
    found = rr.linear("pay ~ c + I(b**2)", survey, values={"b": [1, 2, 3]})
    squares = rr.linear("pay ~ c + b", survey, values={"b": [1, 4, 9]})
    assert np.allclose(found.params, squares.params)
    refused(ArgumentValueError, "takes its mean or knots from a column that was not seen",
            rr.linear, "pay ~ c + center(b)", survey, values={"b": [1, 2, 3]})  # fmt: skip


def test_numbers_of_covariates_work_without_a_plan():
    """A covariate that was privatized by itself may be a number, too."""
    truth = answers(3000)
    frame = truth.rr.simulate("b", COLUMNS["b"], epsilon=3, seed=2)
    found = rr.linear("pay ~ b + age", frame, values={"b": [0, 1, 2]})
    truth["b"] = truth["b"].map({"low": 0, "mid": 1, "high": 2})
    assert list(found.params.index) == ["Intercept", "b", "age"]
    assert (np.abs(found.params - direct(truth, "pay ~ b + age")) < 4 * found.bse).all()
    profile = pd.DataFrame({"b": ["low", "high"], "age": [3.0, 3.0]})
    predictions = found.predict(profile).to_frame()["prediction"]
    assert np.diff(predictions)[0] == pytest.approx(2 * found.params["b"])


def test_a_plan_stands_for_records_that_were_lost(survey):
    """The plan in place of the mechanisms of covariates, for a frame from a file."""
    plan = rr.planning.FramePlan.from_dict(survey.attrs["rrstats"])
    bare = survey.drop(columns="c")
    bare.attrs.clear()
    found = rr.linear("pay ~ a + b + age", bare, mechanisms=plan)
    assert np.allclose(found.params, rr.linear("pay ~ a + b + age", survey).params)
    assert not bare.attrs


def test_slopes_do_not_see_where_numbers_begin(survey):
    """Years instead of ages, and any numbers of private columns, only move the intercept."""
    values = {"a": [0, 1], "b": [1, 2, 3]}
    found = rr.linear("a ~ b + age", survey, values=values)
    later = survey.assign(age=survey["age"] + 2000)
    moved = rr.linear("a ~ b + age", later, values={"a": [5, 6], "b": [101, 102, 103]})
    assert np.allclose(found.params[1:], moved.params[1:], rtol=1e-6)
    assert np.allclose(found.bse[1:], moved.bse[1:], rtol=1e-6)


def test_weights_repeat_rows(survey):
    """A weight of 2 gives the coefficients of two equal rows; missing rows are left out."""
    head = survey.head(2000)
    weights = np.where(np.arange(2000) % 3 > 0, 1.0, 2.0)
    twice = head.iloc[np.repeat(np.arange(2000), weights.astype(int))]
    found = rr.linear("a ~ b + age", head, weights=weights)
    assert np.allclose(found.params, rr.linear("a ~ b + age", twice).params)
    lost = head.assign(age=head["age"].where(weights < 2))
    rest = rr.linear("a ~ b + age", head[weights < 2])
    assert np.allclose(rest.params, rr.linear("a ~ b + age", lost, missing="drop").params)
    refused(ArgumentValueError, "667 in covariate 'age'", rr.linear, "a ~ b + age", lost)


def test_predictions_are_of_true_categories(survey):
    """The mean outcome of profiles, with the errors of all coefficients; after a pickle, too."""
    fit = pickle.loads(pickle.dumps(rr.linear("a ~ b + age", survey)))
    profiles = pd.DataFrame({"b": ["low", "high"], "age": [2.0, 4.0]})
    found = fit.predict(profiles).to_frame()
    matrix = np.array([[1, 0, 0, 2.0], [1, 0, 1, 4.0]])
    assert np.allclose(matrix @ fit.params, found["prediction"])
    assert np.allclose(np.sqrt(np.diag(matrix @ fit.cov_params() @ matrix.T)), found["std_error"])
    assert "privatized: b" in str(fit.summary())


def test_few_clusters_have_students_t(survey):
    """Clusters are those of the house's regression: CR2 with Satterthwaite's df, CR1 for many."""
    grouped = survey.head(4000).assign(town=np.arange(4000) % 25)
    fit = rr.linear("a ~ b + age", grouped, design=rr.SampleDesign(clusters="town"))
    assert fit.vcov == "clustered"
    assert fit.df.between(10, 25).all()
    plain = rr.linear("a ~ b + age", grouped)
    assert np.allclose(fit.params, plain.params)
    assert (np.abs(np.log(fit.bse / plain.bse)) < 0.8).all()


@pytest.mark.parametrize("formula", ["pay ~ a + b + age", "a ~ b + c + age"])
def test_designs_of_a_plan_agree(survey, formula):
    """Strata, clusters and the jackknife of the same clusters have like errors, and t."""
    clusters = survey["village"] % 20
    by_clusters = rr.SampleDesign(weights="weight", clusters=clusters)
    expected = rr.linear(formula, survey, design=by_clusters)
    in_one_stratum = rr.SampleDesign(weights="weight", clusters=clusters, strata=0 * clusters)
    linearized = rr.linear(formula, survey, design=in_one_stratum)
    replicated = rr.linear(formula, survey, design=rr.SampleDesign(**WEIGHTED | REPLICATED))
    vcovs = [fit.vcov for fit in (expected, linearized, replicated)]
    assert vcovs == ["clustered", "linearized", "replicates"]
    for fit in (linearized, replicated):
        assert np.allclose(fit.params, expected.params)
        assert np.allclose(fit.bse / expected.bse, 1, atol=0.08)
        assert (fit.df < 20).all()
    by_rows = rr.linear(formula, survey, design=by_clusters, vcov="robust")
    plain = rr.linear(formula, survey, weights="weight")
    assert np.allclose(by_rows.bse, plain.bse)


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda frame: rr.linear("pay ~ a*b", frame), "a product of the private columns"),
        (lambda frame: rr.linear("pay ~ a + b", frame, method="likelihood"), "'scores'"),
        (lambda frame: rr.linear("pay ~ a + b", frame, values={"d": [1]}), "values must be of"),
        (lambda frame: rr.linear(frame["pay"], frame[["a", "b", "rr_asked"]]),
         "need a formula"),
        (lambda frame: rr.linear(frame["a"], frame[["age"]]), "need a formula"),
        (lambda frame: rr.linear("pay ~ a + b + I(2*age) + age", frame), "collinear"),
        (lambda frame: rr.linear("a ~ b", frame[frame["rr_asked"] != "a & b"]),
         "no row was asked the pair"),
        (lambda frame: rr.linear("pay ~ a + b", frame.drop(columns="rr_asked")), "rr_asked"),
        (lambda frame: rr.logit("a ~ b + c", frame), "few rows or none"),
    ],
)  # fmt: skip
def test_what_a_plan_cannot_give_says_why(survey, use, reason):
    """Products of private columns, likelihoods, arrays, rows without the pair."""
    refused(rr.errors.RRStatsError, reason, use, survey)


def test_rows_of_a_pair_that_do_not_count_say_nothing_of_it(survey):
    """Weights of 0 and missing covariates may leave no row of a pair, and then no answer."""
    frame = survey.head(2000).copy()
    is_pair = frame["rr_asked"] == "a & b"
    frame["weight"] = np.where(is_pair, 0.0, 1.0)
    frame["age"] = frame["age"].mask(is_pair)
    for options, formula in (
        ({"weights": "weight"}, "a ~ b"),
        ({"missing": "drop"}, "a ~ b + age"),
    ):
        with pytest.raises(ArgumentValueError, match="no row was asked the pair"):
            rr.linear(formula, frame, **options)
    assert rr.linear("a ~ c + age", frame, missing="drop").nobs == 2000 - is_pair.sum()


def test_a_pair_that_was_never_asked_is_named():
    """Both private covariates and the outcome need their pairs."""
    plan = rr.planning.FramePlan(COLUMNS, 2, [("a", "b"), ("b", "c")])
    frame = rr.simulate(answers(500), plan, seed=3)
    refused(ArgumentValueError, r"columns 'a' and 'c' of the same row.*want=.*\('a', 'c'\)",
            rr.linear, "pay ~ a + c", frame)  # fmt: skip
    assert rr.linear("b ~ a + age", frame, values={"b": [1, 2, 3]}).nobs == 500


def test_moments_of_no_distribution_are_repaired_and_said():
    """Noise can make columns more than collinear: the nearest matrix, a warning and a note."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2, 600)
    truth = pd.DataFrame({"a": x, "b": x, "c": x, "y": x + rng.normal(size=600)})
    columns = {name: [0, 1] for name in NAMES}
    plan = rr.planning.plan(columns, 2, want="pairs")
    repaired = 0
    for seed in range(8):
        frame = rr.simulate(truth, plan, seed=seed)
        with pytest.warns(LowPrecisionWarning):
            fit = rr.linear("y ~ a + b + c", frame)
        if fit.repair is not None:
            repaired += 1
            assert "nearest positive definite" in " ".join(fit.notes)
            assert np.abs(fit.params).max() < 5
            assert fit.params.iloc[1:].sum() == pytest.approx(1, abs=0.8)
    assert repaired > 2


def test_a_column_without_variation_is_refused():
    """Only one category is left, and noise hides it: no coefficient is known."""
    truth = answers(400)
    truth["a"] = 1
    plan = rr.planning.plan(COLUMNS, 1, want="pairs")
    for seed in (0, 3, 6, 7):
        frame = rr.simulate(truth, plan, seed=np.random.default_rng(seed))
        reason = r"must vary beside the ordinary covariates, found that \['a"
        refused(NotIdentifiableError, reason, rr.linear, "pay ~ a + c", frame)
    for seed in (1, 2, 4):
        frame = rr.simulate(truth, plan, seed=np.random.default_rng(seed))
        with pytest.warns(LowPrecisionWarning):
            rr.linear("pay ~ a + c", frame)


# -- chance ------------------------------------------------------------------------------------


def correlated(n, d, rng):
    """Binary columns x_j = 1[0.8 z + e_j > 0] of one standard normal z."""
    z = rng.normal(size=(n, 1))
    return (0.8 * z + rng.normal(size=(n, d)) > 0).astype(int)


def true_slopes(d):
    """Slopes of x_0 on the others: a covariance c of each pair gives c / (1/4 + (d - 2) c)."""
    rho = 0.64 / 1.64
    covariance = np.arcsin(rho) / (2 * np.pi)
    return np.full(d - 1, covariance / (0.25 + (d - 2) * covariance))


def divided_slopes(x, epsilon, rng):
    """The same slopes if each column is privatized by itself with epsilon / d."""
    p = 1 / (1 + np.exp(-epsilon / x.shape[1]))
    u = ((x ^ (rng.random(x.shape) >= p)) - (1 - p)) / (2 * p - 1)
    covariance = np.cov(u.T)
    mean = u.mean(axis=0)
    np.fill_diagonal(covariance, mean * (1 - mean))
    return np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "epsilon", "n", "surveys", "published"),
    [
        (3, 1, 50_000, 24, 0.047),
        (3, 2, 50_000, 24, 0.021),
        (5, 2, 200_000, 12, 0.025),
        (10, 2, 200_000, 4, 0.057),
        (10, 4, 200_000, 4, 0.037),
    ],
)
def test_slopes_have_the_errors_of_the_guide(d, epsilon, n, surveys, published):
    """Root mean squared errors are below those published, and as large as standard errors say.

    Ours are about .7 of the published ones, so that a bound at these fails once in 4,000 runs
    or less; the sum of squared z of all surveys is outside its limits once in 1e6 runs.
    """
    names = list("abcdefghij")[:d]
    plan = rr.planning.plan({name: [0, 1] for name in names}, epsilon, want="pairs")
    rng = np.random.default_rng(d)
    truth = true_slopes(d)
    errors, z, divided = [], [], []
    for seed in range(surveys):
        x = correlated(n, d, rng)
        frame = rr.simulate(pd.DataFrame(x, columns=names), plan, seed=seed)
        fit = rr.linear(f"a ~ {' + '.join(names[1:])}", frame)
        errors.append(fit.params.to_numpy()[1:] - truth)
        error = fit.params.to_numpy()[1:] - truth
        z.append(error @ np.linalg.solve(fit.cov_params().to_numpy()[1:, 1:], error))
        divided.append(divided_slopes(x, epsilon, rng) - truth)
    error, other = (np.sqrt(np.mean(np.square(each))) for each in (errors, divided))
    print(
        f"{d}, {epsilon}, {n}: {error:.4f}, divided {other:.3f}, {np.median(np.abs(divided)):.3f}"
    )
    assert error < published
    assert error < 0.8 * other
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], surveys * (d - 1))
    assert low < sum(z) < high


@pytest.mark.slow
def test_intervals_of_slopes_cover():
    """A private outcome on a private column of three numbers, a factor, and an ordinary number.

    Coverage of 95%, and squared errors of all coefficients in units of their covariance, which
    are chi squared: right errors fail once in 1e9 runs, and errors too small by a sixth, with
    intervals that cover 90%, escape in less than one of 1e4.
    """
    plan = rr.planning.FramePlan(
        {"a": [0, 1], "b": [0, 1, 2], "c": ["u", "v"]}, 3, ["b", ("a", "b"), ("a", "c"), ("c", "b")]
    )
    surveys, n = 400, 4000
    truth = answers(surveys * n, 9)
    truth["b"] = np.digitize(truth["age"], [2, 4])
    truth["weight"] = 1.0 + 2 * (truth["a"] == 1)
    columns = np.column_stack(
        [np.ones(len(truth)), truth["b"], truth["c"] == "v", truth["age"]]
    ).astype(float)
    targets = {}
    for name, weights in ((None, np.ones(len(truth))), ("weight", truth["weight"].to_numpy())):
        weighted = columns.T * weights
        targets[name] = np.linalg.solve(weighted @ columns, weighted @ truth["a"].to_numpy())
    hits = {name: np.zeros(4, dtype=int) for name in targets}
    squares = dict.fromkeys(targets, 0.0)
    for seed in range(surveys):
        part = truth.iloc[n * seed : n * (seed + 1)]
        frame = rr.simulate(part[["a", "b", "c", "age", "weight"]], plan, seed=seed)
        for name, target in targets.items():
            fit = rr.linear("a ~ b + c + age", frame, values={"b": [0, 1, 2]}, weights=name)
            low, high = fit.conf_int().to_numpy().T
            hits[name] += (low <= target) & (target <= high)
            error = fit.params.to_numpy() - target
            squares[name] += error @ np.linalg.solve(fit.cov_params().to_numpy(), error)
    print({name: each / surveys for name, each in hits.items()}, squares)
    low, high = stats.chi2.ppf([2e-10, 1 - 2e-10], 4 * surveys)
    for name in targets:
        assert low < squares[name] < high
        for count in hits[name].tolist():
            assert_at_least(count, surveys, 0.94, tests=16)
            assert_at_least(surveys - count, surveys, 0.04, tests=16)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:there are few replicates that differ")
def test_standard_errors_are_those_of_a_jackknife(survey):
    """Leaving out one of 200 random groups of rows at a time; 5% is two errors of 200 groups.

    A replicate without a group is the fit of the other rows: shown with 8 groups.
    """
    formula = "a ~ b + c + age"
    weights = survey["weight"].to_numpy()
    shuffled = np.random.default_rng(5).permutation(len(survey))

    def by_replicates(groups):
        kept = (shuffled % groups)[:, None] != np.arange(groups)
        replicates = weights[:, None] * kept * groups / (groups - 1)
        design = rr.SampleDesign(weights=weights, replicates=replicates, method="JK1")
        return rr.linear(formula, survey, design=design).bse

    full = rr.linear(formula, survey, weights=weights)
    left_out = [
        rr.linear(formula, survey[kept], weights=weights[kept]).params
        for kept in (shuffled % 8 != group for group in range(8))
    ]
    refitted = 7 / 8 * ((np.array(left_out) - full.params.to_numpy()) ** 2).sum(axis=0)
    assert np.allclose(np.sqrt(refitted), by_replicates(8), rtol=1e-4)
    jackknife = by_replicates(200)
    assert np.allclose(full.bse, jackknife, rtol=0.3)
    assert (jackknife / full.bse).mean() == pytest.approx(1, abs=0.1)
