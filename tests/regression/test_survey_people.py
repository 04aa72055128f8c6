"""Regressions with strata, clusters and replicate weights.

Beside these tests, coefficients, standard errors and degrees of freedom were compared with
`svyglm` of R's survey 4.1-1 (six designs with replicate weights, two linearized, and a logit of
randomized reports): all agree within 1e-7, where R's iterations end.  Satterthwaite's degrees of
freedom and CR2 errors of linear models agree with clubSandwich 0.5.8 within 1e-13; of logits, where
its square roots are on another scale, within 7e-4.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import rrstats as rr
from rrstats.errors import ArgumentValueError

pytest.importorskip("formulaic")
FORCED = rr.surveys.forced_response(["no", "yes"], 4 / 6, [1 / 6, 1 / 6])
DIRECT = rr.surveys.direct(["no", "yes"])
CLUSTERS = 40


def people(seed=2, rows=400, count=20):
    """A frame with a randomized outcome, covariates, the design and bootstrap weights."""
    generator = np.random.default_rng(seed)
    cluster = generator.integers(0, CLUSTERS, rows)
    frame = pd.DataFrame({"x": generator.normal(size=rows) + cluster / CLUSTERS})
    frame["z"] = generator.normal(size=rows)
    rate = 1 / (1 + np.exp(0.4 - 0.8 * frame["x"]))
    frame["answer"] = np.where(generator.random(rows) < rate, "yes", "no")
    forced = generator.random(rows) < 1 / 3
    frame["report"] = np.where(forced, generator.choice(["no", "yes"], rows), frame["answer"])
    frame["y"] = 1 + frame["x"] + generator.normal(size=rows)
    frame["district"] = cluster
    frame["region"] = np.where(cluster < 15, "north", "south")
    frame["weight"] = generator.uniform(1, 3, rows)
    draws = generator.multinomial(CLUSTERS, np.full(CLUSTERS, 1 / CLUSTERS), count).T
    names = [f"rep{place}" for place in range(count)]
    replicates = frame["weight"].to_numpy()[:, None] * draws[cluster]
    return pd.concat([frame, pd.DataFrame(replicates, columns=names)], axis=1), names


def spread(fits, scale):
    """The covariance of the parameters of some fits around their mean."""
    parameters = np.array([fit.params for fit in fits])
    around = parameters - parameters.mean(axis=0)
    return scale * around.T @ around


FITS = {
    "logit": lambda frame, **sample: rr.logit("report ~ x + z", frame, mechanism=FORCED, **sample),
    "linear": lambda frame, **sample: rr.linear("y ~ x + z", frame, **sample),
}


@pytest.mark.parametrize("model", FITS)
def test_covariances_are_the_spread_of_fits_by_replicates(model):
    """A model is fitted again by each replicate, and R's degrees of freedom are used."""
    frame, names = people()
    by_name = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    fit = FITS[model](frame, design=by_name)
    again = [FITS[model](frame, weights=name) for name in names]
    expected = spread(again, 1 / 19)
    assert_allclose(fit.cov_params(), expected, rtol=1e-6, atol=1e-12)
    assert fit.vcov == "replicates"
    assert fit.df == 19 + 1 - 3  # 20 replicates that differ
    by_array = rr.SampleDesign(
        weights="weight", replicates=frame[names].to_numpy() * 1.5, method="bootstrap", scale=0.5
    )
    other = FITS[model](frame, design=by_array)
    assert_allclose(other.cov_params(), 9.5 * fit.cov_params(), rtol=1e-6, atol=1e-12)


def test_a_privatized_covariate_has_the_variance_of_replicates():
    """Corrected scores are solved again by each replicate."""
    frame, names = people()
    frame["group"] = frame["report"]
    mechanism = {"group": FORCED}

    def fit(**sample):
        return rr.linear("y ~ group + z", frame, covariates=mechanism, **sample)

    by_name = rr.SampleDesign(weights="weight", replicates=names, method="bootstrap")
    expected = spread([fit(weights=name) for name in names], 1 / 19)
    assert_allclose(fit(design=by_name).cov_params(), expected, rtol=1e-8, atol=1e-12)


def linearized(frame, strata, clusters):
    """The covariance of a weighted logit of true answers, written out."""
    fit = rr.logit("answer ~ x + z", frame, mechanism=DIRECT, weights="weight", missing="drop")
    used = frame.dropna()
    matrix = np.column_stack([np.ones(len(used)), used["x"], used["z"]])
    rate = 1 / (1 + np.exp(-matrix @ fit.params.to_numpy()))
    w = used["weight"].to_numpy()
    bread = np.linalg.inv((matrix.T * w * rate * (1 - rate)) @ matrix)
    scores = matrix * (w * ((used["answer"] == "yes").to_numpy() - rate))[:, None]
    meat = np.zeros((3, 3))
    for _, stratum in frame.groupby(strata):
        sums = [
            scores[used.index.isin(cluster.index)].sum(axis=0)
            for _, cluster in stratum.groupby(clusters)
        ]
        around = np.array(sums) - np.mean(sums, axis=0)
        meat += len(sums) / (len(sums) - 1) * around.T @ around
    return bread @ meat @ bread


def test_strata_are_linearized():
    """With strata the covariance is that of svyglm; clusters without a used row count."""
    frame, _ = people()
    frame = frame[["answer", "x", "z", "weight", "region", "district"]]
    frame.loc[frame["district"] == 3, "z"] = np.nan
    design = rr.SampleDesign(weights="weight", strata="region", clusters="district")
    fit = rr.logit("answer ~ x + z", frame, mechanism=DIRECT, design=design, missing="drop")
    expected = linearized(frame, "region", "district")
    assert_allclose(fit.cov_params(), expected, rtol=1e-6, atol=1e-12)
    assert fit.vcov == "linearized"
    assert fit.df == (CLUSTERS - 1) - 2 + 1 - 3


def test_one_stratum_of_rows_is_the_robust_sandwich():
    """Rows that are clusters of one stratum have HC0 times n / (n - 1)."""
    frame, _ = people()
    design = rr.SampleDesign(weights="weight", strata=np.zeros(len(frame)))
    for fit in (
        rr.logit("report ~ x", frame, mechanism=FORCED, design=design),
        rr.linear("y ~ x", frame, design=design, method="likelihood"),
    ):
        robust = fit.with_vcov("robust").cov_params()
        assert_allclose(fit.cov_params(), robust * 400 / 399, rtol=1e-6, atol=1e-12)


def test_clusters_can_be_linearized():
    """With vcov='linearized' clusters of one stratum are those of svyglm."""
    frame, _ = people()
    design = rr.SampleDesign(weights="weight", clusters="district")
    fit = rr.logit("answer ~ x + z", frame, mechanism=DIRECT, design=design, vcov="linearized")
    everyone = frame.assign(all=0)[["answer", "x", "z", "weight", "all", "district"]]
    assert_allclose(fit.cov_params(), linearized(everyone, "all", "district"), rtol=1e-6)
    assert fit.with_vcov("clustered").df == CLUSTERS - 3


def test_strata_of_one_cluster_need_a_word():
    """A stratum with one cluster is an error, centred at the grand mean, or adds nothing."""
    frame, _ = people()
    lonely = np.where(frame["district"] == 3, "alone", frame["region"])

    def fit(lonely_psu="raise"):
        design = rr.SampleDesign(strata=lonely, clusters="district", lonely_psu=lonely_psu)
        return rr.logit("report ~ x", frame, mechanism=FORCED, design=design)

    with pytest.raises(ArgumentValueError, match="found one in 1 of 3"):
        fit()
    assert (fit("adjust").bse > fit("certainty").bse).all()


def test_covariances_without_their_design_are_refused():
    """A covariance needs its part of the design, and a finite population is no part."""
    frame, names = people()
    fit = rr.logit("report ~ x", frame, mechanism=FORCED)
    for kind, words in (
        ("linearized", "needs a design with strata or clusters"),
        ("clustered", "needs a design with clusters"),
        ("replicates", "needs a design with replicates"),
    ):
        with pytest.raises(ArgumentValueError, match=words):
            fit.with_vcov(kind)
        with pytest.raises(ArgumentValueError, match="needs a design"):
            rr.linear("y ~ x", frame, vcov=kind)
    design = rr.SampleDesign(strata="region", population={"north": 1e6, "south": 1e6})
    with pytest.raises(ArgumentValueError, match="found population"):
        rr.logit("report ~ x", frame, mechanism=FORCED, design=design)
    frame[names[0]] = np.where(frame["answer"] == "yes", frame["weight"] * 2, 0.0)
    design = rr.SampleDesign(weights="weight", replicates=names, method="BRR")
    with pytest.raises(ArgumentValueError, match="found none for 1 of 20"):
        rr.logit("answer ~ x", frame, mechanism=DIRECT, design=design)


def test_satterthwaite_of_two_groups_is_welch():
    """Every row a cluster: unequal-variances errors, and Imbens and Kolesar's (2016) df, 2.4668."""
    y = np.random.default_rng(4).normal(size=30)
    few = np.arange(30) < 3
    frame = pd.DataFrame({"y": y, "d": few.astype(float)})
    design = rr.SampleDesign(clusters=np.arange(30))
    table = rr.linear("y ~ d", frame, method="likelihood", design=design).satterthwaite()
    welch = np.sqrt(y[few].var(ddof=1) / 3 + y[~few].var(ddof=1) / 27)
    assert_allclose(table.loc["d", "std_error"], welch, rtol=1e-10)
    assert_allclose(table.loc["d", "df"], 46800 / 18972, rtol=1e-10)
    assert_allclose(table.loc["Intercept", "df"], 26, rtol=1e-10)


def test_satterthwaite_of_equal_clusters_counts_them():
    """A prevalence from equal clusters has as many degrees of freedom as clusters, less one."""
    frame, _ = people()
    design = rr.SampleDesign(clusters=np.arange(400) // 20)
    fit = rr.logit("report ~ 1", frame, mechanism=FORCED, design=design)
    table = fit.satterthwaite(level=0.9)
    assert_allclose(table["df"], 19, rtol=1e-8)
    narrow = fit.satterthwaite(level=0.8)
    assert (table["low"] < narrow["low"]).all()
    t = table["coef"] / table["std_error"]
    assert_allclose(table["p_value"], 2 * scipy.stats.t.sf(np.abs(t), 19), rtol=1e-8)


def test_satterthwaite_needs_clusters_and_a_working_model():
    """Without clusters, with more than 100, and with weights, it is refused."""
    frame, _ = people()

    def fit(**design):
        return rr.logit("report ~ x", frame, mechanism=FORCED, design=rr.SampleDesign(**design))

    for result, words in (
        (fit(), "needs clusters"),
        (fit(clusters=np.arange(400) // 2), "at most 100"),
        (fit(clusters="district", weights="weight"), "without probability weights"),
    ):
        with pytest.raises(ArgumentValueError, match=words):
            result.satterthwaite()
