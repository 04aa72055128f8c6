"""Regression of list experiments agrees with R's list 9.2.6, with enumeration and with the truth.

Counts of rows with equal values are facts of the data sets of that package.  Fits with age have
nearly as many patterns as people, so their rows are not here: these tests read a folder that the
environment variable RRSTATS_GOLDEN names, and are skipped without it.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    NotIdentifiableError,
    UnknownAnswersError,
)

LIST = rr.surveys.list_experiment(3, groups=(0, 1))

# Data set race: people with 0 to 4 items by treat.
RACE = [[8, 132, 222, 227, 0], [19, 123, 229, 219, 34]]

# Data set affirm: people with 0 to 4 items by (treat, south).
AFFIRM = {
    (0, 0): [5, 92, 159, 186, 0],
    (0, 1): [3, 40, 63, 41, 0],
    (1, 0): [8, 58, 135, 143, 94],
    (1, 1): [1, 20, 37, 41, 45],
}

# Data set combinedListExps, directsfirst == 1: people by (treat, direct) and number of items.
COMBINED = {
    1: (
        4,
        {
            (0, 0): [0, 3, 30, 36, 27, 0],
            (0, 1): [0, 2, 35, 69, 53, 0],
            (1, 0): [0, 0, 26, 31, 17, 2],
            (1, 1): [0, 0, 7, 42, 40, 80],
        },
    ),
    3: (
        4,
        {
            (0, 0): [2, 33, 103, 54, 12, 0],
            (0, 1): [1, 4, 6, 8, 2, 0],
            (1, 0): [6, 48, 112, 66, 12, 1],
            (1, 1): [0, 0, 7, 14, 7, 2],
        },
    ),
}


def patterns(table, name):
    """A frame of the patterns of a table, with the number of people of each."""
    rows = [
        (treat, other, y, people)
        for (treat, other), counts in table.items()
        for y, people in enumerate(counts)
        if people
    ]
    return pd.DataFrame(rows, columns=["treat", name, "y", "people"])


def race_table():
    return patterns({(treat, 0): counts for treat, counts in enumerate(RACE)}, "none")


def fit(frame, formula="y", **options):
    """A fit of patterns, without formulaic: covariates are columns."""
    names = [name for name in frame.columns if name in ("south", "x")]
    return rr.regression.list_regression(
        frame["y"],
        frame[names] if names else None,
        mechanism=LIST,
        group=frame["treat"],
        frequencies=frame["people"],
        **options,
    )


# -- golden values -------------------------------------------------------------------------------


def test_the_difference_in_means_has_hc3_errors():
    """R: ictreg(y ~ 1, data = race, treat = "treat", J = 3, method = "lm")."""
    found = fit(race_table(), method="linear")
    assert [0.067797440250751878, 2.1341256366723047] == pytest.approx(found.params.tolist())
    assert [0.049619120560159422, 0.033169983389958815] == pytest.approx(found.bse.tolist())
    covariance = [
        [0.0024620571251636352, -0.0011002477980901547],
        [-0.0011002477980901547, 0.0011002477980901436],
    ]
    assert np.allclose(covariance, found.cov_params(), rtol=1e-9)
    assert found.nobs == 1213
    assert list(found.index) == [("sensitive", "Intercept"), ("control", "Intercept")]


def test_rows_and_their_frequencies_give_the_same_errors():
    """A row of 8 people is 8 rows; HC3 leaves out one person, and not all of a row."""
    grouped = race_table()
    rows = grouped.loc[grouped.index.repeat(grouped["people"])].assign(people=1)
    for method in ("linear", "likelihood"):
        both = [fit(frame, method=method, vcov=None) for frame in (grouped, rows)]
        assert np.allclose(both[0].estimates, both[1].estimates, atol=1e-7)
        assert np.allclose(both[0].covariance, both[1].covariance, rtol=1e-6)


def test_maximum_likelihood_of_affirmative_action_by_region():
    """R: ictreg(y ~ south, affirm, J = 3, method = "ml", constrained = TRUE).

    The numbers are the maximum by BFGS and Newton; the EM algorithm of list stops at 1.1036300 and
    the same log-likelihood, -1495.89666.
    """
    found = fit(patterns(AFFIRM, "south"))
    coefficients = [
        -0.04223137067351168,
        1.103742693059016,
        0.9179791742438368,
        -0.24020011556470747,
    ]
    errors = [0.17942794694170372, 0.4518378279901354, 0.053012863790163435, 0.10312998631352158]
    assert coefficients == pytest.approx(found.params.tolist(), abs=1e-6)
    assert errors == pytest.approx(found.bse.tolist(), abs=1e-6)
    assert -1495.896655822461 == pytest.approx(found.llf, abs=1e-8)
    # posterior.mean of list, of an EM that stops early
    assert 0.552442935 == pytest.approx(
        found.predict(average=True).to_frame()["proportion"][0], abs=1e-4
    )


@pytest.fixture(scope="module")
def survey():
    """The data sets race and affirm by name, where a folder has them."""
    folder = os.environ.get("RRSTATS_GOLDEN")
    if not folder or not Path(folder, "turn3_list_race.csv").exists():
        pytest.skip("RRSTATS_GOLDEN names no folder with turn3_list_race.csv: rows are not ours")
    pytest.importorskip("formulaic")
    return lambda name: pd.read_csv(Path(folder, f"turn3_list_{name}.csv"))


FULL = "y ~ south + age + male + college"
OF_AFFIRM = "y ~ age + college + male + south"
REFERENCES = {
    # method = "lm"
    "linear": (
        "race",
        FULL,
        {"method": "linear"},
        [
            *(-0.43429898365583924, 0.20197511814453617, 0.07309382368925056),
            *(0.18022889911139553, 0.11446158475485761),
            *(2.4060641954122013, -0.18020732641484208, 0.02047343837216772),
            *(-0.20176710525890545, -0.3940769297004619),
        ],
        [
            *(0.1603255620678176, 0.117596245247929, 0.030508104498672892),
            *(0.09846403734758591, 0.09775270742427869),
            *(0.10511376278704013, 0.07449674961103803, 0.019980187105133707),
            *(0.06521814537756662, 0.06405675968157955),
        ],
        None,
        1e-9,
    ),
    # method = "ml", constrained = TRUE; the maximum by BFGS and Newton
    "constrained": (
        "race",
        FULL,
        {},
        [
            *(-5.508159754001523, 1.6755331689519923, 0.6358474194511566),
            *(0.8463678730353517, -0.31532885807400074),
            *(1.1913952836725643, -0.2920268728893716, 0.03322365773382784),
            *(-0.2505940685339089, -0.5164105388069927),
        ],
        [
            *(1.0210683775669551, 0.5585318268317605, 0.16333438102030962),
            *(0.49373451581094036, 0.4735963927036637),
            *(0.14368435498500173, 0.09692362603246556, 0.027676288579509992),
            *(0.08194184248098021, 0.08368226514864321),
        ],
        -1444.3941715006774,
        1e-6,
    ),
    # method = "ml", constrained = FALSE
    "unconstrained": (
        "affirm",
        OF_AFFIRM,
        {"constrained": False},
        [
            *(-1.3296001989395996, 0.2573290825012813, -0.40083196689719364),
            *(0.08181384616291983, 1.149714946606838),
            *(1.716933672387712, -0.1049329004192923, -0.608585537465724),
            *(-0.3264337317129707, -0.3446726971182327),
            *(1.372910297420512, 0.12701810577625663, -0.6725161251153183),
            *(-0.4525644446364114, -0.4173945242386232),
        ],
        [
            *(0.7627021860484628, 0.11693841470764219, 0.39046755446202386),
            *(0.43754692224356107, 0.5627457816957072),
            *(0.23898129960392048, 0.05007019094862812, 0.14010662876051994),
            *(0.13280248422783494, 0.19596790622296198),
            *(0.5933317148497723, 0.08220067769116492, 0.26667413783122834),
            *(0.2893832050299753, 0.32176951711270696),
        ],
        -1421.6689467942501,
        1e-6,
    ),
}


@pytest.mark.parametrize("case", REFERENCES)
def test_fits_with_covariates_agree_with_r(case, survey):
    """list 9.2.6: ictreg(formula, data, treat = "treat", J = 3, ...), with the rows of its data."""
    name, formula, options, coefficients, errors, llf, tolerance = REFERENCES[case]
    found = rr.regression.list_regression(
        formula, survey(name), mechanism=LIST, group="treat", **options
    )
    assert coefficients == pytest.approx(found.params.tolist(), abs=tolerance)
    assert errors == pytest.approx(found.bse.tolist(), abs=2 * tolerance)
    if llf is not None:
        assert llf == pytest.approx(found.llf, abs=1e-6)
    if case == "constrained":
        mean = found.predict(average=True).to_frame()
        assert 0.15532905137194025 == pytest.approx(mean["proportion"][0], abs=1e-4)
        assert 0.027216916221198387 == pytest.approx(mean["std_error"][0], abs=1e-4)
        posterior = found.posterior()["yes"].head(3).tolist()
        reference = [0.67816165266240769, 0.014290115121415205, 0.053207494930814996]
        assert reference == pytest.approx(posterior, abs=1e-4)


def test_weights_agree_with_r(survey):
    """list 9.2.6 with weights = "w": the same maximum; its errors take weights for people."""
    frame = survey("race")
    found = rr.regression.list_regression(FULL, frame, mechanism=LIST, group="treat", weights="w")
    coefficients = [
        *(-5.302179965118095, 1.162276074799515, 0.6012053866046522),
        *(1.052510011838691, 0.041285199177010005),
        *(1.1770161692370744, -0.26775209355290647, 0.03406333548216252),
        *(-0.26721907561913427, -0.5087445276874345),
    ]
    assert coefficients == pytest.approx(found.params.tolist(), abs=1e-6)
    assert -2104.2343172537794 == pytest.approx(found.llf * frame["w"].mean(), abs=1e-6)
    assert found.vcov == "robust"


@pytest.mark.parametrize(
    ("case", "estimates", "errors", "truly", "same"),
    [
        # combinedListDirect(list1N ~ list1treat, cl1, "list1treat", "direct1"): comb, direct, conv
        (
            1,
            [0.6656184210526318, 0.656, 0.7477390956382576],
            [0.04840343151169622, 0.021265758037978796, 0.08441010011221303],
            [1.05396151985412, 0.09452733798518581, 0.5680971026037434, 328],
            [0.06626650660264104, 0.042439747185471624, 0.11842337172584866, 500],
        ),
        # list3N and direct3
        (
            3,
            [0.04247470988395296, 0.102, 0.03474747474747491],
            [0.07353875812567665, 0.01354839910234685, 0.07928596603057116],
            [0.8476190476190474, 0.27881096461888216, 0.5846957665334538, 51],
            [0.015757575757575658, 0.027064480571361207, 0.5604161673281254, 500],
        ),
    ],
)
def test_a_direct_question_beside_the_list(case, estimates, errors, truly, same):
    """Estimates, errors and both placebo tests of list 9.2.6, combinedListDirect."""
    items, table = COMBINED[case]
    frame = patterns(table, "direct")
    frame = frame.loc[frame.index.repeat(frame["people"])]
    m = rr.surveys.list_experiment(items, groups=(0, 1))
    found = rr.regression.list_with_direct("y", "direct", frame, mechanism=m, group="treat")
    assert estimates == pytest.approx(found.estimates.tolist(), abs=1e-10)
    assert errors == pytest.approx(found.std_errors.tolist(), abs=1e-10)
    columns = ["estimate", "std_error", "p_value", "n"]
    assert np.allclose([truly, same], found.placebos[columns].to_numpy(), atol=1e-10)
    z = [(truly[0] - 1) / truly[1], same[0] / same[1]]
    assert z == pytest.approx(found.placebos["z"].tolist())
    assert ["null", "estimate", "std_error", "z", "p_value", "n"] == list(found.placebos)
    assert (found.proportion, found.std_error) == (found.estimates[0], found.std_errors[0])
    low, high = (estimates[0] + sign * 1.6448536 * errors[0] for sign in (-1, 1))
    sentence = f"{estimates[0]:.1%} yes by both questions, 90% interval {low:.1%} to {high:.1%}"
    assert f"about {sentence}" == found.interpret(level=0.9)
    words = ["yes" if answer else "no" for answer in frame["direct"]]
    other = rr.regression.list_with_direct(
        frame["y"].tolist(), words, mechanism=m, group=frame["treat"].tolist()
    )
    assert other.estimates.tolist() == found.estimates.tolist()


# -- the likelihood against enumeration, and fits against the truth ------------------------------


def enumerated(theta, frame, controls):
    """The log-likelihood, from binomial coefficients and the two answers of each person."""
    beta, *gammas = theta.reshape(1 + controls, 2)
    x, y, treat = (frame[name].to_numpy() for name in ("x", "y", "treat"))
    prob = 1 / (1 + np.exp(-beta[0] - beta[1] * x))
    likelihood = np.zeros(len(frame))
    for sensitive in (0, 1):
        gamma = gammas[sensitive * (controls - 1)]
        control = 1 / (1 + np.exp(-gamma[0] - gamma[1] * x))
        count = y - treat * sensitive
        ways = np.array([{0: 1, 1: 3, 2: 3, 3: 1}.get(each, 0) for each in count])
        of_count = ways * control**count * (1 - control) ** (3 - count)
        likelihood += of_count * (prob if sensitive else 1 - prob)
    return frame["people"] @ np.log(likelihood)


def expected_people(beta, gammas, size=10**7):
    """Numbers of people that just follow the model, for a covariate of three values."""
    rows = []
    for x, treat, y in product((-1.0, 0.0, 2.0), (0, 1), range(5)):
        chance = 0.0
        for sensitive in (0, 1):
            prob = scipy.special.expit(beta[0] + beta[1] * x)
            gamma = gammas[sensitive * (len(gammas) - 1)]
            control = scipy.special.expit(gamma[0] + gamma[1] * x)
            of_count = scipy.stats.binom.pmf(y - treat * sensitive, 3, control)
            chance += of_count * (prob if sensitive else 1 - prob)
        rows.append((treat, x, y, round(size * chance)))
    frame = pd.DataFrame(rows, columns=["treat", "x", "y", "people"])
    return frame[frame["people"] > 0].reset_index(drop=True)


@pytest.mark.parametrize("constrained", [True, False])
def test_the_likelihood_and_its_curvature_are_those_of_enumeration(constrained):
    """The log-likelihood is that of all counts; the errors come from its numeric Hessian."""
    frame = expected_people([-0.5, 0.4], [[0.2, -0.3], [0.6, 0.1]], size=300)
    found = fit(frame, constrained=constrained)
    controls = 1 if constrained else 2
    theta = found.estimates
    assert enumerated(theta, frame, controls) == pytest.approx(found.llf, abs=1e-9)
    step = 1e-3
    size = len(theta)
    hessian = np.empty((size, size))
    for i, j in product(range(size), repeat=2):
        moves = [(a, b) for a in (1, -1) for b in (1, -1)]
        hessian[i, j] = sum(
            a
            * b
            * enumerated(
                theta + step * (a * np.eye(size)[i] + b * np.eye(size)[j]), frame, controls
            )
            for a, b in moves
        ) / (4 * step**2)
    assert np.allclose(np.linalg.inv(-hessian), found.covariance, rtol=1e-3, atol=1e-5)
    for place in range(size):
        sides = [
            enumerated(theta + a * step * np.eye(size)[place], frame, controls) for a in (1, -1)
        ]
        assert abs(sides[0] - sides[1]) / (2 * step) < 1e-3  # a maximum


@pytest.mark.parametrize(
    ("gammas", "options"),
    [
        ([[0.2, -0.3]], {}),
        ([[0.2, -0.3], [0.9, 0.2]], {"constrained": False}),
        ([[0.2, -0.3]], {"constrained": False}),
    ],
)
def test_people_who_just_follow_the_model_give_its_coefficients(gammas, options):
    """Fitted to expected counts, each method finds the coefficients that made them."""
    beta = [-0.8, 0.5]
    found = fit(expected_people(beta, gammas), **options)
    controls = gammas if options.get("constrained", True) else [gammas[0], gammas[-1]]
    assert np.ravel([beta, *controls]) == pytest.approx(found.params.tolist(), abs=2e-4)


def test_the_order_of_samples_and_categories_does_not_matter():
    """Other labels, and a sensitive category that comes first, give the same fit."""
    frame = patterns(AFFIRM, "south")
    m = rr.surveys.list_experiment(3, ["has", "not"], yes="has", groups=["c", "t"])
    found = rr.regression.list_regression(
        frame["y"],
        frame[["south"]],
        mechanism=m,
        group=frame["treat"].map({0: "c", 1: "t"}),
        frequencies=frame["people"],
    )
    assert found.estimates == pytest.approx(fit(frame).estimates)
    assert list(found.posterior().columns) == ["not", "has"]
    assert np.allclose(found.posterior().sum(axis=1), 1)


def test_a_profile_interval_ends_where_the_enumerated_likelihood_has_fallen():
    """With the slope at an end, the others at their best: twice the loss is chi-squared's 3.84."""
    frame = expected_people([-0.8, 0.5], [[0.2, -0.3], [0.9, 0.2]], size=600)
    found = fit(frame, constrained=False)
    place = list(found.index).index(("sensitive", "x"))
    ends = found.conf_int(method="profile-likelihood").to_numpy()[place]
    assert ends[0] < found.estimates[place] < ends[1]
    wald = found.conf_int().to_numpy()[place]
    assert not np.allclose(ends, wald, rtol=0.02)  # here Wald's interval is another one
    rest = np.delete(found.estimates, place)
    for end in ends:
        best = scipy.optimize.minimize(
            lambda others, end=end: -enumerated(np.insert(others, place, end), frame, 2), rest
        )
        loss = 2 * (enumerated(found.estimates, frame, 2) + best.fun)
        assert scipy.stats.chi2.isf(0.05, 1) == pytest.approx(loss, abs=1e-4)


def test_nested_fits_are_compared_by_their_likelihoods():
    """Whether control items depend on the sensitive one: twice the gain, 1 parameter a column."""
    frame = expected_people([-0.8, 0.5], [[0.2, -0.3], [0.9, 0.2]], size=2000)
    small, large = fit(frame), fit(frame, constrained=False)
    test = large.compare(small)
    assert (test.df, test.statistic) == (2, pytest.approx(2 * (large.llf - small.llf)))
    assert small.compare(large).p_value == test.p_value
    constant = fit(frame.drop(columns="x"))
    assert small.compare(constant).df == 2
    with pytest.raises(ArgumentValueError, match="must be of the same reports"):
        small.compare(fit(expected_people([-0.8, 0.5], [[0.2, -0.3]], size=2000)))


def test_a_constrained_fit_with_more_columns_is_not_nested():
    """It has more parameters than an unconstrained one, of which it still is no general case."""
    frame = sample()
    powers = pd.DataFrame({f"x{power}": frame["x"] ** power for power in (1, 2, 3)})
    options = {"mechanism": LIST, "group": frame["treat"]}
    wide = rr.regression.list_regression(frame["y"], powers, **options)
    narrow = rr.regression.list_regression(frame["y"], powers[["x1"]], constrained=False, **options)
    assert wide.df_model > narrow.df_model
    with pytest.raises(ArgumentValueError, match="must be nested"):
        wide.compare(narrow)


def test_another_covariance_is_that_of_a_fit_with_it():
    """with_vcov of a fit, without climbing again; least squares name the way to it."""
    frame = sample()
    design = rr.SampleDesign(clusters=frame["cluster"])
    found = fit_of(frame, "likelihood", design=design)
    for kind in ("observed", "robust", "opg"):
        other = found.with_vcov(kind)
        assert (kind, found.llf) == (other.vcov, other.llf)
        again = fit_of(frame, "likelihood", design=design, vcov=kind)
        assert np.allclose(again.covariance, other.covariance, rtol=1e-9)
    with pytest.raises(AttributeError, match=r"ListResult has no compare: .*'likelihood'"):
        fit_of(frame, "linear").compare(found)


# -- weights, clusters, predictions --------------------------------------------------------------


def sample(n=300):
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"x": rng.normal(size=n), "treat": np.arange(n) % 2})
    has_item = rng.random(n) < scipy.special.expit(-0.5 + frame["x"])
    frame["y"] = rng.binomial(3, 0.5, n) + frame["treat"] * has_item
    frame["weight"] = rng.uniform(0.5, 2, n)
    frame["cluster"] = rng.integers(0, 30, n)
    frame["direct"] = (has_item & (rng.random(n) < 0.5)).astype(int)
    return frame


def fit_of(frame, method, **options):
    return rr.regression.list_regression(
        frame["y"],
        frame[["x"]],
        mechanism=LIST,
        group=frame["treat"],
        method=method,
        **options,
    )


@pytest.mark.parametrize("method", ["linear", "likelihood"])
def test_weights_have_no_scale_and_whole_ones_are_people(method):
    """Ten times the weights are the same; weights 1 and 2 give the estimates of repeated rows."""
    frame = sample()
    found = fit_of(frame, method, weights=frame["weight"])
    scaled = fit_of(frame, method, weights=10 * frame["weight"])
    assert np.allclose(found.estimates, scaled.estimates, atol=1e-6)
    assert np.allclose(found.covariance, scaled.covariance, rtol=1e-4)
    twice = 1 + frame["cluster"] % 2
    weighted = fit_of(frame, method, weights=twice)
    repeated = fit_of(frame.loc[frame.index.repeat(twice)], method)
    assert np.allclose(weighted.estimates, repeated.estimates, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "weights", "vcov"),
    [
        ("linear", None, "hc3"),
        ("linear", "weight", "hc3"),
        ("likelihood", None, "observed"),
        ("likelihood", "weight", "robust"),
    ],
)
def test_the_errors_of_a_method_have_a_name(method, weights, vcov):
    """The covariance by default is the one that is asked for by its name."""
    frame = sample()
    weights = None if weights is None else frame[weights]
    found = fit_of(frame, method, weights=weights)
    named = fit_of(frame, method, weights=weights, vcov=vcov)
    assert vcov == found.vcov == named.vcov
    assert np.array_equal(found.covariance, named.covariance)


@pytest.mark.parametrize("method", ["linear", "likelihood"])
@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_one_person_give_robust_errors(method, weighted):
    """Many clusters of one person: the robust covariance times n / (n - p), weighted or not."""
    frame = sample()
    weights = frame["weight"] if weighted else None
    robust = fit_of(frame, method, weights=weights, vcov="robust")
    design = rr.SampleDesign(weights, clusters=np.arange(len(frame)))
    clustered = fit_of(frame, method, design=design)
    assert clustered.vcov == "clustered"
    ratio = len(frame) / (len(frame) - 4)
    assert np.allclose(ratio * robust.covariance, clustered.covariance, rtol=1e-9)


def test_clusters_widen_errors_where_people_are_alike():
    """Each person five times, as a cluster: errors are about those of single people."""
    frame = sample(80)
    single = fit_of(frame, "linear", vcov="robust")
    repeated = frame.loc[frame.index.repeat(5)]
    found = fit_of(repeated, "linear", design=rr.SampleDesign(clusters=repeated.index.to_numpy()))
    assert found.df.between(10, 80).all()
    assert (found.bse / single.bse).between(0.95, 1.15).all()


@pytest.mark.parametrize("method", ["linear", "likelihood"])
@pytest.mark.parametrize("weighted", [False, True])
def test_strata_that_are_one_give_robust_errors(method, weighted):
    """One stratum of single people: the robust covariance times n / (n - 1), weighted or not."""
    frame = sample()
    weights = frame["weight"] if weighted else None
    robust = fit_of(frame, method, weights=weights, vcov="robust")
    design = rr.SampleDesign(weights, strata=np.zeros(len(frame)))
    found = fit_of(frame, method, design=design)
    assert found.vcov == "linearized"
    n = len(frame)
    assert np.allclose(n / (n - 1) * robust.covariance, found.covariance, rtol=1e-4)


def test_replicate_weights_fit_again():
    """Jackknife weights that leave out one person each are HC3, but for (n - 1) / n."""
    frame = sample(60)
    n = len(frame)
    weights = (1 - np.eye(n)) * n / (n - 1)
    design = rr.SampleDesign(weights=np.ones(n), replicates=weights, method="JK1", mse=True)
    found = fit_of(frame, "linear", design=design)
    assert found.vcov == "replicates"
    expected = fit_of(frame, "linear", vcov="hc3")
    assert np.allclose((n - 1) / n * expected.covariance, found.covariance, rtol=1e-9)
    direct = {"mechanism": LIST, "group": frame["treat"], "design": design}
    with pytest.raises(ArgumentValueError, match="found replicates"):
        rr.regression.list_with_direct(frame["y"], frame["direct"], **direct)


def test_predictions_of_profiles():
    """A prediction is expit(x b), or x b for least squares, with errors by the delta method."""
    frame = sample()
    for method in ("likelihood", "linear"):
        found = fit_of(frame, method)
        table = found.predict(pd.DataFrame({"x": [0.5]})).to_frame()
        beta = found.params["sensitive"].to_numpy()
        covariance = found.covariance[:2, :2]
        x = np.array([1, 0.5])
        linear = x @ beta
        error = np.sqrt(x @ covariance @ x)
        if method == "likelihood":
            prob = scipy.special.expit(linear)
            error *= prob * (1 - prob)
            linear = prob
        assert (linear, error) == pytest.approx(tuple(table.loc[0, ["proportion", "std_error"]]))
        mean = found.predict().to_frame()["proportion"].mean()
        assert mean == pytest.approx(found.predict(average=True).to_frame()["proportion"][0])
    with pytest.raises(ArgumentTypeError, match="posterior is for method 'likelihood'"):
        found.posterior()


def test_a_direct_question_with_weights_and_clusters():
    """Weights have no scale; clusters of one person cost G / (G - 1); missing rows are dropped."""
    frame = sample()
    options = {"mechanism": LIST, "group": "treat"}
    found = rr.regression.list_with_direct("y", "direct", frame, weights="weight", **options)
    heavier = frame.assign(weight=7 * frame["weight"])
    scaled = rr.regression.list_with_direct("y", "direct", heavier, weights="weight", **options)
    assert found.std_errors == pytest.approx(scaled.std_errors)
    plain = rr.regression.list_with_direct("y", "direct", frame, **options)
    design = rr.SampleDesign(clusters=np.arange(len(frame)))
    clustered = rr.regression.list_with_direct("y", "direct", frame, design=design, **options)
    n = len(frame)
    assert plain.std_errors[0] * np.sqrt(n / (n - 1)) == pytest.approx(clustered.std_error)
    assert plain.estimates.tolist() == clustered.estimates.tolist()
    gaps = frame.assign(direct=frame["direct"].where(frame.index >= 20).astype(object))
    dropped = rr.regression.list_with_direct("y", "direct", gaps, missing="drop", **options)
    rest = rr.regression.list_with_direct("y", "direct", frame[20:], **options)
    assert dropped.estimates.tolist() == rest.estimates.tolist()
    with pytest.raises(ArgumentValueError, match="20 in the direct answers"):
        rr.regression.list_with_direct("y", "direct", gaps, **options)
    low, high = plain.interval()
    assert (high - low) / 2 == pytest.approx(1.959964 * plain.std_error, rel=1e-6)
    assert "placebo test" in repr(plain)


def test_the_combined_estimate_is_more_precise_than_the_list():
    """Where half of the people with the item admit it, the list is needed of fewer."""
    frame = sample(2000)
    found = rr.regression.list_with_direct("y", "direct", frame, mechanism=LIST, group="treat")
    assert found.std_errors[0] < found.std_errors[2]
    assert (found.placebos["p_value"] > 0.001).all()


# -- records, bad input, and maxima that do not exist --------------------------------------------


def test_simulated_counts_know_their_list():
    """A column of `simulate` has a record of its mechanism, so that only the sample is needed."""
    answers = pd.Series([("yes", 1), ("no", 2), ("no", 1), ("yes", 0)] * 100)
    group = ["control", "treatment", "treatment", "control"] * 50 + ["treatment", "control"] * 100
    m = rr.surveys.list_experiment(2)
    counts = rr.simulate(answers, m, group=group, seed=1)
    found = rr.regression.list_regression(counts, group=group, method="linear")
    again = rr.regression.list_regression(
        counts.tolist(), mechanism=m, group=group, method="linear"
    )
    assert found.params.tolist() == again.params.tolist()


def raises(error, match, frame=None, **options):
    frame = sample() if frame is None else frame
    arguments = {"mechanism": LIST, "group": "treat", **options}
    covariates = frame[["x"]]
    group = arguments.pop("group")
    with pytest.raises(error, match=match):
        rr.regression.list_regression(
            frame["y"],
            covariates,
            group=frame[group] if isinstance(group, str) else group,
            **arguments,
        )


def test_bad_input_is_refused():
    """Impossible counts, one sample, no variance and wrong options name what was found."""
    frame = sample()
    beyond = frame["y"].where((frame["treat"] == 1) | (frame.index > 9), 4)
    too_many = frame.assign(y=beyond)
    raises(UnknownAnswersError, "must be at most 3, its number of items, found 5 larger", too_many)
    raises(
        UnknownAnswersError, "reports are not among the possible", frame.assign(y=frame["y"] + 4)
    )
    one_sample = frame.assign(treat=1)
    raises(NotIdentifiableError, "found none of the control sample", one_sample)
    raises(NotIdentifiableError, "found none of the treatment sample", frame[frame["treat"] == 0])
    constant = frame.assign(y=frame["y"].where(frame["treat"] == 1, 2))
    raises(ArgumentValueError, "control sample must have at least two different", constant)
    raises(ArgumentTypeError, "group= must give the sample", group=None)
    raises(ArgumentValueError, "must be a list experiment", mechanism=rr.KRR(range(5), 0.5))
    raises(ArgumentValueError, r"one of \['linear', 'likelihood'\], got 'nls'", method="nls")
    raises(ArgumentValueError, "vcov must be one of", vcov="hc3")
    raises(ArgumentValueError, "vcov must be one of", vcov="opg", method="linear")
    raises(ArgumentValueError, "needs a design with clusters", vcov="clustered")
    weights = frame["weight"]
    raises(ArgumentValueError, "takes weights for numbers", vcov="observed", weights=weights)
    raises(ArgumentValueError, "constrained=False is for", method="linear", constrained=False)
    same = frame.assign(x=frame["treat"])
    raises(ArgumentValueError, "collinear over the 150 rows of the control sample", same)


def test_bad_direct_answers_are_refused():
    """Other answers than the categories, and too few who deny, are errors that quote none."""
    frame = sample()
    options = {"mechanism": LIST, "group": frame["treat"]}
    with pytest.raises(ArgumentValueError, match="found 300 of 300 other answers") as caught:
        rr.regression.list_with_direct(frame["y"], ["perhaps"] * 300, **options)
    assert "perhaps" not in str(caught.value)
    with pytest.raises(NotIdentifiableError, match="at least 2 people who deny"):
        rr.regression.list_with_direct(frame["y"], [1] * 300, **options)
    with pytest.raises(ArgumentValueError, match="found None"):
        rr.regression.list_with_direct(frame["y"], None, **options)
    nobody = rr.regression.list_with_direct(frame["y"], [0] * 300, **options)
    assert nobody.estimates[0] == pytest.approx(nobody.estimates[2])
    assert "cannot be tested" in nobody.notes[0]


def test_a_proportion_of_0_has_no_finite_coefficient():
    """Where the treatment sample counts less than the other, a warning says that nothing fits."""
    frame = sample()
    frame["y"] = frame["y"].where(frame["treat"] == 0, np.minimum(frame["y"], 1))
    with pytest.warns(ConvergenceWarning, match="no finite maximum of 2 of 4 coefficients"):
        found = fit_of(frame, "likelihood")
    assert found.bse["sensitive"].isna().all()
    assert found.bse["control"].notna().all()
    assert found.predict(average=True).to_frame()["proportion"][0] < 1e-6


def test_a_person_who_alone_decides_a_coefficient_has_no_hc3_error():
    """The residual of such a person is only rounding, so that the errors are not known."""
    frame = sample()
    frame["x"] = (frame.index == 1).astype(float) + (frame.index == 0)
    found = fit_of(frame, "linear")
    assert np.isfinite(found.estimates).all()
    assert found.bse.isna().all()
    assert np.isfinite(fit_of(frame, "linear", vcov="robust").bse).all()


def test_logit_refuses_counts_and_names_the_regression_of_lists(formulaic):
    """Their likelihood needs a model of the control items; a logit alone would be another one."""
    design = rr.surveys.list_experiment(3)
    rows = {"count": [1, 2, 3, 0] * 50, "treat": ["control", "treatment"] * 100, "age": range(200)}
    frame = pd.DataFrame(rows)
    with pytest.raises(rr.errors.RRStatsError, match=r"rr\.regression\.list_regression"):
        frame.rr.logit("count ~ age", mechanism=design, group="treat")


@pytest.mark.filterwarnings("ignore::rrstats.errors.RRStatsWarning")
@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_notes_offer_profile_intervals_where_conf_int_has_them(weights):
    """Of infinite coefficients: in lists and logits, and not with probability weights."""
    frame = sample()
    frame["y"] = frame["y"].where(frame["treat"] == 0, np.minimum(frame["y"], 1))
    x = np.repeat([0, 1, 2, 3], 50)
    reports = np.where(np.arange(200) < 150, np.tile([0, 0, 1, 0, 1], 40), np.tile([0, 1], 100))
    several = [None if weights is None else np.resize(weights, n) for n in (len(frame), 200)]
    fits = [
        fit_of(frame, "likelihood", weights=several[0]),
        rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.6), weights=several[1]),
    ]
    for fit in fits:
        assert np.isinf(fit.params).any()
        offered = any("conf_int(method='profile-likelihood')" in note for note in fit.notes)
        assert offered == (weights is None)
        if offered:
            assert np.isfinite(fit.conf_int(method="profile-likelihood").to_numpy()).any()
        else:
            with pytest.raises(ArgumentValueError, match="needs a likelihood"):
                fit.conf_int(method="profile-likelihood")
