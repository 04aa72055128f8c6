"""Weighted estimates agree with R: RRTCS, survey and cWise.

Data of these packages are condensed to counts: (probability or stratum ..., no, yes).
"""

from fractions import Fraction

import numpy as np
import pytest
from guide_designs import by_matrix

from rrstats import SampleDesign, estimate, surveys

ANSWERS = [0, 1]


def rows_of(mechanism, counts):
    """One row a person: reports, as many of each as were counted."""
    labels = mechanism.report_space.categories
    return [label for label, count in zip(labels, counts, strict=True) for _ in range(count)]


def column(values, lines):
    """A value for each person of counted lines, which end in two or more counts."""
    return [value for value, counts in zip(values, lines, strict=True) for _ in range(sum(counts))]


def of_counts(mechanism, lines, **columns):
    """An estimate of people counted in lines; each column has a value for every line."""
    reports = [report for counts in lines for report in rows_of(mechanism, counts)]
    held = {
        name: value if name == "population" else column(value, lines)
        for name, value in columns.items()
    }
    return estimate(reports, mechanism, design=SampleDesign(**held) if held else None)


def by_probability(mechanism, rows):
    """An estimate of rows (probability, counts ...), each weighted by its inverse."""
    chances, *_ = zip(*rows, strict=True)
    return of_counts(mechanism, [counts for _, *counts in rows], probabilities=chances)


# RRTCS 0.0.4 on its own data sets; in R, <design>(data$z, ..., data$Pi, type, cl, N).
# Means are totals over N, and their variances those of totals over N^2.
WARNER = [(0.155860349127182, 65, 60)]
MANGAT = [
    (0.29878048780487798, 21, 77),
    (0.29943502824858798, 33, 20),
    (0.30281690140845102, 32, 11),
    (0.29677419354838702, 34, 12),
]
# SoberanisCruzData by cluster (no, yes), all with probability 0.2
SOBERANIS = [
    (18, 2),
    (16, 4),
    (14, 1),
    (10, 0),
    (13, 2),
    (10, 5),
    (7, 3),
    (14, 1),
    (8, 2),
    (6, 4),
    (12, 8),
    (13, 2),
    (16, 4),
    (8, 7),
    (14, 6),
    (6, 4),
    (13, 7),
    (6, 4),
    (8, 2),
    (7, 3),
]

RRTCS = {
    # Warner(WarnerData$z, 0.7, WarnerData$Pi, "total", 0.95)
    "warner": (
        surveys.warner(ANSWERS, 0.7, yes=1),
        WARNER,
        1,
        360.90000000000003,
        7883.336612903236,
    ),
    # Warner(..., "mean", 0.95, N = 802)
    "warner mean": (
        surveys.warner(ANSWERS, 0.7, yes=1),
        WARNER,
        802,
        0.45,
        0.012256355080041846,
    ),
    # ForcedResponse(ForcedResponseData$z, 0.2, 0.2, ForcedResponseData$Pi, "total", 0.95)
    "forced": (
        surveys.forced_response(ANSWERS, 0.6, [0.2, 0.2]),
        [(0.1, 492, 508)],
        1,
        5133.333333333333,
        66990.99099099098,
    ),
    # Horvitz(HorvitzData$z, 0.5, 0.6666667, HorvitzData$Pi, "mean", 0.95, 10777)
    "horvitz": (
        surveys.unrelated_question(ANSWERS, 0.5, 0.6666667, yes=1),
        [(0.038136772999999999, 246, 165)],
        10777,
        0.13625300716029418,
        0.0023331532563668207,
    ),
    # MangatSingh(MangatSinghData$z, 0.7, 0.55, MangatSinghData$Pi, "mean", 0.95, 802)
    "mangat singh": (
        by_matrix.mangat_singh(0.55, 0.7),
        MANGAT,
        802,
        0.5004562268105743,
        0.0016501145573350935,
    ),
    # Mangat(MangatSinghData$z, 0.7, 0.5, 0.55, MangatSinghData$Pi, "mean", 0.95, 802)
    "mangat unrelated": (
        by_matrix.mangat_unrelated_question(0.55, 0.7, 0.5),
        MANGAT,
        802,
        0.5003850237823343,
        0.0010857131596358886,
    ),
    # MangatSinghSingh(MangatSinghSinghData$z, 0.6, 0.5, MangatSinghSinghData$Pi, "total", 0.95)
    "mangat singh singh": (
        by_matrix.mangat_singh_singh(0.6, 0.5),
        [
            (0.048387096774193498, 72, 38),
            (0.033333333333333298, 49, 10),
            (0.032786885245901599, 51, 19),
            (0.038461538461538498, 162, 56),
            (0.046875, 48, 16),
            (0.046511627906976702, 62, 18),
            (0.057692307692307702, 28, 17),
            (0.060606060606060601, 127, 29),
        ],
        1,
        1206.5000000000002,
        126905.7660400277,
    ),
    # MangatSinghSinghUB(data$I, data$J, 0.6, 0.8, data$Pi, "mean", 0.95, 802); pairs (I, J)
    # in the order (0, 0), (0, 1), (1, 0), (1, 1)
    "mangat singh singh, two answers": (
        by_matrix.mangat_singh_singh_two_answers(0.6, 0.8),
        [(0.62344139650872799, 113, 11, 35, 341)],
        802,
        0.6560000000000002,
        0.0005385697279846476,
    ),
    # Christofides(ChristofidesData$z, 1:5, c(0.1, 0.2, 0.3, 0.2, 0.2), data$Pi, "mean", 0.95, 802)
    "christofides": (
        by_matrix.christofides([0.1, 0.2, 0.3, 0.2, 0.2]),
        [(0.18703241895261799, 21, 27, 49, 34, 19)],
        802,
        0.45000000000000123,
        0.062385590832761684,
    ),
    # SoberanisCruz(SoberanisCruzData$z, 0.7, 0.5, SoberanisCruzData$Pi, "total", 0.9)
    "soberanis cruz": (
        surveys.unrelated_question(ANSWERS, 0.7, 0.5, yes=1),
        [(0.2, *np.sum(SOBERANIS, axis=0))],
        1,
        196.42857142857144,
        2573.3272720853056,
    ),
    # Horvitz(HorvitzDataStCl$z, 0.6, 0.5, HorvitzDataStCl$Pi, "mean", 0.95, 1500)
    "horvitz, two strata": (
        surveys.unrelated_question(ANSWERS, 0.6, 0.5, yes=1),
        [(0.28, 114, 81), (0.22, 91, 79)],
        1500,
        0.393939393939394,
        0.0016881513142514985,
    ),
}


@pytest.mark.parametrize("name", RRTCS)
def test_totals_are_those_of_rrtcs(name):
    """Horvitz-Thompson totals and their variances for unequal probabilities."""
    mechanism, rows, size, total, variance = RRTCS[name]
    found = by_probability(mechanism, rows)
    assert total == pytest.approx(found.counts[1] / size, rel=1e-10)
    assert variance == pytest.approx(found.moments._total_variance[1] / size**2, rel=1e-10)


# Horvitz(HorvitzDataRealSurvey$<item>, 0.5, 1/12, rep(710/10777, 710), "mean", 0.95, 10777)
REAL_SURVEY = {
    # yes of 710, mean, variance
    "copied": (328, 0.8406103286384978, 0.0013897158913961736),
    "fought": (180, 0.4237089201877935, 0.0010449340828788442),
    "bullied": (280, 0.705399061032864, 0.001328075899522956),
    "bullying": (81, 0.14483568075117373, 0.0005586614875593289),
    "drug": (164, 0.37863849765258223, 0.0009802280199332387),
    "sex": (53, 0.065962441314554, 0.00038395398676800176),
}


@pytest.mark.parametrize("item", REAL_SURVEY)
def test_a_real_survey_is_that_of_rrtcs(item):
    """Six sensitive questions to 710 of 10,777 students; probabilities or population, alike."""
    yes, mean, variance = REAL_SURVEY[item]
    mechanism = surveys.unrelated_question(ANSWERS, 0.5, Fraction(1, 12), yes=1)
    for found in (
        by_probability(mechanism, [(710 / 10777, 710 - yes, yes)]),
        of_counts(mechanism, [(710 - yes, yes)], population=10777),
    ):
        assert mean == pytest.approx(found.proportions[1], rel=1e-10)
        assert variance == pytest.approx(found.variance[1], rel=1e-10)


def test_the_jackknife_of_rrtcs_is_our_sampling_part_in_a_finite_population():
    """The jackknife is the variance between units less their share; it leaves out f of the coins.

    So it is too small by the sampled share of the randomization's part: 13% for Warner's data, a
    sixth of its population.  RRTCS's third jackknife is of a quantitative design.
    """
    # RRTCS 0.0.4: ResamplingVariance(Warner(WarnerData$z, 0.7, Pi, "mean", 0.95, 802), Pi, "mean",
    # 1, 802)
    mechanism = surveys.warner(ANSWERS, 0.7, yes=1)
    found = of_counts(mechanism, [counts for _, *counts in WARNER], population=802)
    coins = 125 / 802 * found.moments.randomization_variance[1]
    assert 0.010619821414206441 == pytest.approx(found.variance[1] - coins, rel=1e-10)
    # ResamplingVariance(SoberanisCruz(z, 0.7, 0.5, Pi, "total", 0.9), Pi, "total", 1, 1500,
    # clu = CL)
    mechanism = surveys.unrelated_question(ANSWERS, 0.7, 0.5, yes=1)
    clusters = range(len(SOBERANIS))
    fifth = [0.2] * len(SOBERANIS)
    for columns in ({"population": 100, "weights": [5] * len(SOBERANIS)}, {"probabilities": fifth}):
        found = of_counts(mechanism, SOBERANIS, clusters=clusters, **columns)
        coins = 0.2 * found.moments.randomization_variance[1] * (5 * found.n) ** 2
        variance = found.moments._total_variance[1]
        assert 3203.5445757250277 == pytest.approx(variance - coins, rel=1e-10)


# ForcedResponseDataSt: stratum, probability, no, yes
FORCED = [
    (1, 0.011570057, 7, 1),
    (1, 0.012655024, 7, 1),
    (1, 0.029239766, 6, 0),
    (1, 0.054288817, 14, 5),
    (2, 0.017834849, 7, 1),
    (3, 0.012727504, 4, 2),
    (3, 0.015103459, 6, 2),
    (3, 0.015686275, 7, 1),
    (3, 0.017458101, 4, 4),
    (3, 0.019230769, 7, 1),
    (3, 0.029044438, 6, 2),
    (4, 0.014714538, 6, 1),
    (4, 0.020811655, 5, 2),
    (4, 0.033333333, 6, 2),
    (4, 0.045454545, 6, 2),
    (5, 0.013410219, 6, 2),
    (5, 0.014200511, 4, 2),
    (5, 0.014777597, 3, 2),
    (5, 0.01793722, 5, 3),
    (5, 0.019047619, 6, 2),
    (5, 0.020500205, 7, 0),
    (5, 0.021164021, 8, 0),
    (5, 0.033411293, 7, 1),
    (6, 0.022099448, 7, 1),
    (7, 0.004788584, 1, 1),
    (7, 0.011407712, 5, 5),
    (7, 0.017587056, 7, 1),
    (7, 0.030385901, 6, 2),
    (7, 0.039123631, 5, 4),
    (7, 0.044802867, 7, 1),
    (8, 0.013551972, 4, 4),
    (8, 0.02712968, 7, 1),
    (9, 0.006730834, 4, 0),
    (9, 0.014784151, 5, 3),
    (9, 0.015384615, 6, 2),
    (9, 0.017491691, 8, 0),
    (9, 0.029550827, 3, 7),
    (9, 0.037467216, 14, 2),
    (10, 0.00921659, 5, 3),
    (10, 0.012631047, 2, 2),
    (11, 0.014050864, 6, 2),
    (11, 0.036010083, 11, 0),
    (12, 0.02577984, 6, 2),
    (13, 0.011610356, 5, 3),
    (13, 0.012333498, 6, 2),
    (13, 0.014907573, 7, 1),
    (13, 0.015236934, 4, 4),
    (14, 0.007936508, 4, 1),
    (14, 0.013888889, 6, 2),
    (14, 0.01621534, 6, 2),
    (15, 0.0159821, 7, 1),
    (15, 0.018832392, 4, 3),
    (16, 0.011321182, 3, 0),
    (17, 0.026666667, 3, 7),
    (19, 0.016900456, 4, 4),
    (20, 0.016725205, 7, 1),
]


def test_strata_with_weights_are_those_of_survey():
    """Mean and total of the debiased answer in 19 strata with unequal weights.

    survey 4.1.1: svymean and svytotal(~r, svydesign(ids = ~1, strata = ~ST, weights = ~w,
    data = fs)) with r = (z - .2) / .6 and w = 1 / Pi.
    """
    mechanism = surveys.forced_response(ANSWERS, 0.6, [0.2, 0.2])
    strata, chances, *_ = zip(*FORCED, strict=True)
    lines = [counts for _, _, *counts in FORCED]
    found = of_counts(mechanism, lines, strata=strata, weights=[1 / chance for chance in chances])
    assert 442 == found.n
    assert 0.1045054778463545 == pytest.approx(found.proportions[1], rel=1e-10)
    assert 0.03873438362990233 == pytest.approx(found.std_error[1], rel=1e-10)
    assert 2599.8266581256476 == pytest.approx(found.counts[1], rel=1e-10)
    assert 965.7608330260182 == pytest.approx(found.moments.total_std_error[1], rel=1e-10)


# HorvitzDataStCl: (no, yes) by cluster, in the strata with weights 1 / .28 and 1 / .22
HORVITZ = {
    1: [
        (3, 7),
        (14, 6),
        (8, 2),
        (10, 5),
        (9, 6),
        (3, 7),
        (8, 7),
        (6, 4),
        (12, 3),
        (12, 8),
        (6, 4),
        (7, 3),
        (7, 8),
        (9, 11),
    ],
    2: [
        (10, 10),
        (5, 10),
        (15, 5),
        (7, 3),
        (9, 6),
        (9, 6),
        (5, 5),
        (12, 8),
        (6, 9),
        (5, 5),
        (8, 12),
    ],
}


def test_strata_with_clusters_are_those_of_survey():
    """Mean of the debiased answer from 25 clusters in two strata.

    survey 4.1.1: svymean(~r, svydesign(ids = ~CL, strata = ~ST, weights = ~w, data = hs,
    nest = TRUE)) with r = (z - .2) / .6 and w = 1 / Pi.
    """
    mechanism = surveys.unrelated_question(ANSWERS, 0.6, 0.5, yes=1)
    strata = [stratum for stratum, clusters in HORVITZ.items() for _ in clusters]
    found = of_counts(
        mechanism,
        [counts for clusters in HORVITZ.values() for counts in clusters],
        strata=strata,
        clusters=range(len(strata)),
        weights=[1 / {1: 0.28, 2: 0.22}[stratum] for stratum in strata],
    )
    assert 25 - 2 == found.df
    assert 0.40220994475138117 == pytest.approx(found.proportions[1], rel=1e-10)
    assert 0.047417498129509975 == pytest.approx(found.std_error[1], rel=1e-10)


def test_devore_in_strata_is_that_of_survey():
    """Mean of the debiased answer in four strata.

    survey 4.1.1: svymean(~r, svydesign(ids = ~1, strata = ~ST, weights = ~w, data = dv)) with
    r = (z - .3) / .7, w = 1 / Pi of RRTCS's DevoreData.
    """
    chances = [chance for chance, *_ in MANGAT]
    counts = [(7, 91), (5, 48), (4, 39), (6, 40)]
    mechanism = surveys.forced_response(ANSWERS, 0.7, [0, 0.3])
    weights = [1 / chance for chance in chances]
    found = of_counts(mechanism, counts, strata=range(4), weights=weights)
    assert 0.8689822261025155 == pytest.approx(found.proportions[1], rel=1e-10)
    assert 0.026784120764678423 == pytest.approx(found.std_error[1], rel=1e-10)


# nigeria of rr 1.4.2, 2,423 complete rows: (no, yes) of rr.q1 by cov.age mod 7, men then women
NIGERIA = [
    [(102, 56), (95, 51), (155, 78), (129, 76), (108, 85), (111, 52), (113, 96)],
    [(108, 36), (121, 45), (102, 42), (75, 38), (138, 68), (124, 50), (116, 53)],
]


def test_domains_are_those_of_survey():
    """The share among men and women: domains of one weighted sample.

    survey 4.1.1: svyby(~r, ~cov.female, svydesign(ids = ~1, weights = ~w, data = nw), svymean),
    w = 1 + (cov.age mod 7) / 3, r = (y - 1/6) / (2/3).
    """
    sixth = Fraction(1, 6)
    mechanism = surveys.forced_response(ANSWERS, Fraction(2, 3), [sixth, sixth])
    ages = [1 + age / 3 for age in range(7)]
    lines = [*NIGERIA[0], *NIGERIA[1]]
    reports = [report for counts in lines for report in rows_of(mechanism, counts)]
    sexes = column([0] * 7 + [1] * 7, lines)
    found = estimate(reports, mechanism, by=sexes, design=SampleDesign(column(ages * 2, lines)))
    for sex, mean, error in (
        (0, 0.3307360120165227, 0.021298798087590803),
        (1, 0.20532194480946125, 0.02179747288052641),
    ):
        assert mean == pytest.approx(found[sex].proportions[1], rel=1e-10)
        assert error == pytest.approx(found[sex].std_error[1], rel=1e-10)


def test_the_weighted_crosswise_share_is_that_of_cwise():
    """The naive crosswise estimate with weights; cWise rounds to four digits.

    cWise 0.0.0.9000: bc.est(Y = Y, A = A, weight = weight, p = 0.15, p.prime = 0.15, data = cw)
    gives 0.1921; its standard error ignores the weights (0.0144 where 0.0180 is right), so that
    it is not compared.  The sums of weights and of their squares, for Y = 0 and 1, are its data's.
    """
    weights = []
    for n, total, squares in ((573, 1162.5, 3684.375), (1427, 2923.75, 9354.6875)):
        # Of n odd numbers one at the mean, and the others as far from it as their squares need.
        apart = np.sqrt((squares - total**2 / n) / (n - 1))
        weights += [total / n, *(total / n + apart * np.resize([1, -1], n - 1))]
    mechanism = surveys.crosswise(ANSWERS, 0.15, yes=1)
    found = estimate([0] * 573 + [1] * 1427, mechanism, weights=weights)
    assert 0.1921 == round(float(found.proportions[1]), 4)
    assert 0.0180 == round(float(found.std_error[1]), 4)
