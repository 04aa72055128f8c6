"""Replicate weights: variances of estimates, groups, tables and differences.

Golden numbers are of R 4.2.2, survey 4.1-1, on counts of its samples of Californian schools with a
simulated forced response (P(yes) = 1/6 + 4/6 truth); tolerances are those of doubles.
"""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError

FORCED = rr.surveys.forced_response(["no", "yes"], 4 / 6, [1 / 6, 1 / 6])
DIRECT = rr.surveys.direct(["no", "yes"])
EXACT = 1e-10

# (no, yes) of the 15 clusters of apiclus1, all of weight 33.846996307373 (6194 / 183)
CLUSTERS = [
    *[(1, 10), (1, 3), (0, 2), (7, 6), (0, 2), (4, 0), (1, 3), (3, 13), (5, 4), (11, 23)],
    *[(10, 11), (14, 23), (4, 9), (0, 1), (1, 11)],
]
# the same of middle schools
MIDDLE = [
    *[(0, 2), (0, 1), (0, 1), (3, 0), (0, 0), (1, 0), (0, 1), (0, 3), (1, 0), (0, 0)],
    *[(1, 2), (1, 3), (3, 0), (0, 0), (1, 1)],
]
# weight, no and yes of two districts in each of nine counties of apipop
PAIRS = [
    *[(26.9167, 0, 12), (8.5, 3, 8), (31.1667, 4, 8), (8.5, 2, 4), (14.0, 3, 2), (14.0, 1, 3)],
    *[(19.0, 0, 5), (30.0833, 6, 6), (36.5, 3, 4), (36.5, 2, 10), (7.5, 2, 5), (7.5, 3, 1)],
    *[(8.5, 1, 3), (15.5833, 3, 9), (14.375, 2, 10), (27.7917, 1, 11), (8.5, 1, 3), (8.5, 1, 4)],
]
# the half-samples of as.svrepdesign(type = "BRR"): 1 where the first district is in
HALVES = [
    *["100100011101", "111010010001", "110100100011", "101000111010", "110001110100"],
    *["100011101001", "100111010010", "101110100100", "111101001000"],
]


def rows_of(clusters, weights, replicates):
    """Reports, weights, replicate weights and cluster of each row, from counts by cluster."""
    sizes = np.sum(clusters, axis=1)
    reports = np.concatenate([["no"] * no + ["yes"] * yes for no, yes in clusters])
    cluster = np.repeat(np.arange(len(clusters)), sizes)
    return reports, np.asarray(weights)[cluster], np.asarray(replicates)[cluster], cluster


def jackknife(count):
    """(count, count) factors: each cluster left out once."""
    return (1 - np.eye(count)) * count / (count - 1)


def single_stage(**constants):
    """The one-stage cluster sample with its jackknife."""
    weights = np.full(15, 6194 / 183)
    reports, weights, replicates, _ = rows_of(CLUSTERS, weights, weights * jackknife(15))
    return reports, rr.SampleDesign(weights=weights, replicates=replicates, **constants)


def paired(low, **constants):
    """The sample of pairs; a left-out district keeps ``low`` of its weight."""
    first = np.array([[int(digit) for digit in half] for half in HALVES])
    half = np.stack([first, 1 - first], axis=1).reshape(18, 12)
    factors = np.where(half, 2 - low, low)
    weights = np.array([weight for weight, _, _ in PAIRS])
    counts = [(no, yes) for _, no, yes in PAIRS]
    reports, weights, replicates, _ = rows_of(counts, weights, weights[:, None] * factors)
    return reports, rr.SampleDesign(weights=weights, replicates=replicates, **constants)


def stratified():
    """The stratified sample, whose rows are left out one by one."""
    weights = [44.2099990844727, 20.3600006103516, 15.1000003814697]
    sizes = np.array([100, 50, 50])
    stratum = np.repeat(np.arange(3), sizes)
    reports, weights, _, _ = rows_of([(41, 59), (28, 22), (33, 17)], weights, np.zeros((3, 2)))
    same = stratum[:, None] == stratum
    factors = np.where(same, (sizes / (sizes - 1))[stratum], 1.0)
    np.fill_diagonal(factors, 0.0)
    design = rr.SampleDesign(
        weights=weights,
        replicates=weights[:, None] * factors,
        method="JKn",
        rscales=((sizes - 1) / sizes)[stratum],
    )
    return reports, design


# mean, its standard error, standard error of the total, prevalence, its standard error, degf
GOLDEN = {
    "BRR": (
        lambda: paired(0.0, method="BRR"),
        (0.749431202206966, 0.05671229689623685, 455.2266943457293),
        (0.8741468033104491, 0.08506844534435529, 9),
    ),
    "Fay": (
        lambda: paired(0.3, method="Fay", rho=0.3),
        (0.749431202206966, 0.0566225947630251, 455.2266943457293),
        (0.8741468033104491, 0.08493389214453766, 9),
    ),
    "JK1 with a finite population": (
        lambda: single_stage(method="JK1", scale=0.9148392778511668),
        (0.6612021857923498, 0.04096988170301477, 951.7744031369475),
        (0.7418032786885248, 0.06145482255452216, 14),
    ),
    "JK1 around the estimate": (
        lambda: single_stage(method="JK1", mse=True),
        (0.6612021857923498, 0.04138394759796331, 961.3466292542731),
        (0.7418032786885248, 0.06207592139694496, 14),
    ),
    "JKn": (
        stratified,
        (0.534874069799938, 0.03806142431043667, None),
        (0.5523111046999071, 0.05709213646565501, 197),
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_estimates_are_those_of_r(case):
    """Means, totals, prevalences and degrees of freedom are those of svymean and svytotal."""
    sample, (mean, error, total_error), (prevalence, prevalence_error, df) = GOLDEN[case]
    reports, design = sample()
    direct = rr.estimate(reports, DIRECT, design=design)
    assert_allclose(direct["yes"].value, mean, rtol=EXACT)
    assert_allclose(direct.std_error, error, rtol=EXACT)
    if total_error is not None:
        assert_allclose(
            direct.moments.total_std_error[1], total_error, rtol=1e-7
        )  # weights have 7 digits
    estimate = rr.estimate(reports, FORCED, design=design)
    assert_allclose(estimate["yes"].value, prevalence, rtol=EXACT)
    assert_allclose(estimate.std_error, prevalence_error, rtol=EXACT)
    assert direct.df == estimate.df == df


def test_groups_are_those_of_r():
    """A group is a domain: svyby's mean and standard error, and the rank of its own weights."""
    others = np.subtract(CLUSTERS, MIDDLE).tolist()
    counts = [*MIDDLE, *map(tuple, others)]
    weights = np.full(15, 6194 / 183)
    factors = np.vstack([jackknife(15)] * 2)
    reports, weights, replicates, line = rows_of(counts, [*weights, *weights], factors * weights[0])
    design = rr.SampleDesign(
        weights=weights, replicates=replicates, method="JK1", scale=0.9148392778511668
    )
    groups = rr.estimate(reports, FORCED, design=design, by=np.where(line < 15, "M", "other"))
    assert_allclose(groups["M"].proportions[1], 0.59, rtol=EXACT)
    assert_allclose(groups["M"].std_error, 0.20477890523628559, rtol=EXACT)
    assert groups["M"].df == 11  # 12 clusters have middle schools
    assert groups["other"].df == 14


def made_up(seed=5, rows=240, count=12):
    """A frame with reports, two columns of labels, weights and bootstrap weights."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"answer": generator.choice(["no", "yes"], rows, p=[0.7, 0.3])})
    frame["region"] = generator.choice(["north", "south"], rows)
    frame["weight"] = generator.uniform(1, 3, rows)
    cluster = generator.integers(0, 30, rows)
    draws = generator.multinomial(30, np.full(30, 1 / 30), count).T
    for place in range(count):
        frame[f"rep{place + 1}"] = frame["weight"] * draws[cluster, place]
    return frame, [f"rep{place + 1}" for place in range(count)]


def spread(estimates, scale):
    """The covariance of (R, k) replicate estimates around their mean."""
    around = estimates - estimates.mean(axis=0)
    return scale * around.T @ around


def weighted(frame, mechanism, weights, **columns):
    """Estimated proportions with one column of weights."""
    return rr.estimate(frame, mechanism, columns="answer", weights=weights, **columns)


def test_names_frames_and_arrays_are_the_same_replicates():
    """Columns are given as names, as an index of names, as a frame or as an array."""
    frame, names = made_up()
    errors = []
    for replicates in (names, pd.Index(names), frame[names], frame[names].to_numpy()):
        design = rr.SampleDesign(weights="weight", replicates=replicates, method="bootstrap")
        estimate = rr.estimate(frame, FORCED, columns="answer", design=design)
        errors.append(estimate.std_error)
    by_hand = np.array([weighted(frame, FORCED, name).proportions for name in names])
    expected = np.sqrt(np.diagonal(spread(by_hand, 1 / 11)))
    assert_allclose(errors, np.tile(expected, (4, 1)), rtol=EXACT)


def test_the_difference_of_groups_has_the_variance_of_replicates():
    """Groups are correlated as their replicate estimates are."""
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    groups = rr.estimate(frame, FORCED, columns="answer", by="region", design=design)
    compared = rr.difference(groups["north"], groups["south"])
    by_hand = []
    for name in names:
        each = weighted(frame, FORCED, name, by="region")
        by_hand.append(each["north"].proportions - each["south"].proportions)
    expected = np.sqrt(np.diagonal(spread(np.array(by_hand), 1 / 11)))
    assert_allclose(compared.std_error, expected, rtol=EXACT)


def test_tables_have_the_variance_of_replicates():
    """Cells of a joint table and its margins vary as their replicates do."""
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    mechanisms = {"answer": FORCED}
    table = rr.crosstab(frame, "answer", "region", mechanisms=mechanisms, design=design)
    by_hand = [
        rr.crosstab(frame, "answer", "region", mechanisms=mechanisms, weights=name).proportions
        for name in names
    ]
    expected = np.diagonal(spread(np.reshape(by_hand, (12, 4)), 1 / 11)).reshape(2, 2)
    assert_allclose(table.variance, expected, rtol=EXACT)
    alone = rr.estimate(frame, FORCED, columns="answer", design=design)
    assert_allclose(table._estimate("answer").std_error, alone.std_error, rtol=EXACT)
    assert table._estimate("answer").df == alone.df


def test_reports_of_several_categories_have_replicates():
    """Unary encoding, whose reports name several categories, varies as its replicates do."""
    frame, names = made_up()
    mechanism = rr.mechanisms.UnaryEncoding(["a", "b", "c"], 0.5, 0.2)
    generator = np.random.default_rng(3)
    truth = generator.choice(["a", "b", "c"], len(frame))
    reports = rr.simulate(truth, mechanism, seed=4)
    weights = frame["weight"].to_numpy()
    replicates = frame[names].to_numpy()
    design = rr.SampleDesign(weights=weights, replicates=replicates, method="bootstrap")
    estimate = rr.estimate(reports, mechanism, design=design)
    by_hand = [rr.estimate(reports, mechanism, weights=each).proportions for each in replicates.T]
    assert_allclose(estimate.covariance, spread(np.array(by_hand), 1 / 11), rtol=EXACT, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_jackknife_of_totals_is_linearization(seed):
    """A total is linear in the weights, so that leaving clusters out gives the same variance."""
    generator = np.random.default_rng(seed)
    counts = np.add(generator.integers(0, 5, (9, 2)), [1, 0])
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    size = np.bincount(stratum)[stratum]
    same = stratum[:, None] == stratum
    factors = np.where(same, (size / (size - 1))[:, None], 1.0)
    np.fill_diagonal(factors, 0.0)
    by_cluster = generator.uniform(1, 4, 9)
    reports, weights, replicates, cluster = rows_of(
        counts.tolist(), by_cluster, by_cluster[:, None] * factors
    )
    jackknifed = rr.SampleDesign(
        weights=weights, replicates=replicates, method="JKn", rscales=(size - 1) / size
    )
    clusters = rr.SampleDesign(weights=weights, strata=stratum[cluster], clusters=cluster)
    estimate = rr.estimate(reports, FORCED, design=jackknifed)
    linearized = rr.estimate(reports, FORCED, design=clusters)
    assert_allclose(
        estimate.moments.total_std_error, linearized.moments.total_std_error, rtol=EXACT
    )
    assert estimate.df == linearized.df == 6


def test_intervals_use_effective_size_and_degrees_of_freedom():
    """An interval is that of an equal design with clusters, if the variances are equal."""
    reports, design = single_stage(method="JK1", mse=True)
    estimate = rr.estimate(reports, FORCED, design=design)
    simple = rr.estimate(reports, FORCED)
    ratio = (estimate.std_error / simple.std_error) ** 2
    assert_allclose(estimate.design_effect, ratio, rtol=EXACT)
    interval = estimate.interval()
    assert (interval.high - interval.low > simple.interval().high - simple.interval().low).all()
    assert "15 (JK1)" in str(estimate)


def test_tallies_with_replicates_add():
    """Tallies of parts add to the tally of the whole."""
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    parts = [
        rr.tally(part, FORCED, columns="answer", design=design)
        for part in (frame[:100], frame[100:])
    ]
    total = rr.estimate(sum(parts))
    alone = rr.estimate(frame, FORCED, columns="answer", design=design)
    assert_allclose(total.covariance, alone.covariance, rtol=EXACT)
    assert total.df == alone.df
    other = rr.SampleDesign(weights="weight", replicates=names, method="BRR")
    balanced = rr.tally(frame, FORCED, columns="answer", design=other)
    with pytest.raises(ArgumentValueError, match="same method and number of replicates"):
        parts[0] + balanced


def test_tallies_with_replicates_are_stored():
    """A tally through JSON is equal, adds and estimates; a changed document is refused."""
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    whole = rr.tally(frame, FORCED, columns="answer", design=design)
    text = json.dumps(whole.to_dict())
    stored = rr.Tally.from_dict(json.loads(text))
    assert stored == whole
    assert_allclose(rr.estimate(stored).covariance, rr.estimate(whole).covariance, rtol=1e-12)
    assert rr.estimate(stored + whole).df == rr.estimate(whole).df
    for name, value in (("method", "JK9"), ("totals", [1.0]), ("mse", 1), ("products", None)):
        document = json.loads(text)
        document["replicates"][name] = value
        with pytest.raises(MetadataError, match="cannot be used"):
            rr.Tally.from_dict(document)
    document = json.loads(text)
    del document["replicates"]["sums"]
    with pytest.raises(MetadataError, match="cannot be used"):
        rr.Tally.from_dict(document)


def test_replicates_without_a_weight_are_left_out_and_counted():
    """A group that is in no cluster of a replicate says so, and has few degrees of freedom."""
    reports, design = single_stage(method="JK1")
    alone = np.arange(len(reports)) < 11  # the first cluster
    groups = rr.estimate(reports, FORCED, design=design, by=alone)
    assert any("In 1 of 15 replicates nobody here has a weight" in n for n in groups[True].notes)
    assert groups[True].df == 0
    interval = groups[True].interval()
    assert interval.low.tolist() == [0, 0]
    assert interval.high.tolist() == [1, 1]


def test_wrong_replicates_are_refused():
    """Each method says what it needs, and factors are not taken for weights."""
    frame, names = made_up()
    weights = frame["weight"].to_numpy()
    replicates = frame[names].to_numpy()

    def design(**options):
        return rr.SampleDesign(**{"weights": weights, "replicates": replicates, **options})

    for options, words in (
        ({}, "need method=, how they were made, as the documentation of the data says"),
        ({"method": "jk1"}, "method must be one of"),
        ({"method": "Fay"}, "needs rho"),
        ({"method": "JKn"}, "needs rscales"),
        ({"method": "BRR", "rho": 0.3}, "rho belongs to"),
        ({"method": "BRR", "weights": None}, "replicates need weights"),
        ({"method": "BRR", "strata": weights}, "replicates stand for all of the design"),
        ({"method": "BRR", "replicates": None}, "need replicates"),
        ({"method": "Fay", "rho": 1.0}, "rho must be in"),
        ({"method": "BRR", "mse": "yes"}, "mse must be True or False"),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=words):
            design(**options)
    reports = frame["answer"]
    missing = replicates.copy()
    missing[3, 2] = np.nan
    for values, words in (
        (replicates / weights[:, None] * 0.1, "multiply factors by the weights"),
        (replicates[:, :1], "at least 2 columns"),
        (replicates[:-1], "240"),
        (missing, "finite numbers"),
        (frame[names].set_axis(range(1, 241)), "same index"),
    ):
        with pytest.raises(ArgumentValueError, match=words):
            rr.estimate(reports, FORCED, design=design(method="BRR", replicates=values))
    with pytest.raises(ArgumentValueError, match="rscales must have 12 numbers"):
        rr.estimate(reports, FORCED, design=design(method="JKn", rscales=[1.0] * 3))


def test_engines_refuse_replicates():
    """An engine returns counts, which have no replicate weights."""
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="BRR")
    with pytest.raises(ArgumentValueError, match="replicates need the rows"):
        rr.estimate(polars.from_pandas(frame), FORCED, columns="answer", design=design)


def test_no_analysis_forgets_replicates():
    """Rows of their own prob have no sums for replicates, and refuse them."""
    frame, names = made_up()
    design = rr.SampleDesign(weights="weight", replicates=names, method="BRR")
    prob = np.where(np.arange(len(frame)) % 2, 0.9, 0.8)
    with pytest.raises(ArgumentValueError, match="replicates are not possible"):
        rr.estimate(frame, ["no", "yes"], prob, columns="answer", design=design)
