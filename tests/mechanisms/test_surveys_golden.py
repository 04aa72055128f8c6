"""Survey designs against the packages of R: RRreg, GLMMRR, RRTCS and cWise.

Every number has its origin beside it.  Where a package is wrong, the test says what is right.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from guide_designs import by_matrix
from scipy import stats

import rrstats as rr
from rrstats import MatrixDesign, surveys
from rrstats.errors import ArgumentValueError, ImplausibleReportsWarning
from rrstats.estimation.tallies.arrays import most_likely
from rrstats.mechanisms.channel import report_variance

NO_YES = [0, 1]
F = Fraction


def of_counts(mechanism, counts):
    return rr.estimate(rr.Tally.from_counts(counts, mechanism))


def warner(p):
    return surveys.warner(NO_YES, p, yes=1)


def unrelated(p, q):
    return surveys.unrelated_question(NO_YES, p, q, yes=1)


# -- RRreg --------------------------------------------------------------------------------------

# RRreg 0.7.6, RRuni(y, model, p); (design, n, yes, pi, piSE).
RRREG = {
    # RRuni(WarnerData$z, model = "Warner", p = 0.7)
    "WarnerData": (warner(0.7), 125, 60, 0.44999999999999996, 0.11216347516589492),
    # RRuni(y, model = "Warner", p = pp, MLest = FALSE)
    "warner 0.7": (warner(0.7), 1000, 412, 0.27999999999999975, 0.03893090823003769),
    "warner 0.6": (warner(0.6), 50, 22, 0.20000000000000023, 0.3545621041711674),
    "warner at 0": (warner(0.6), 50, 20, 0.0, 0.34992710611188266),
    "warner 0.9": (warner(0.9), 10000, 1300, 0.03750000000000003, 0.004204003135612106),
    "warner 0.75": (warner(0.75), 200, 61, 0.10999999999999988, 0.06527483450841146),
    # RRuni(y, model = "Triangular", p = 2/12)
    "triangular": (
        surveys.triangular(NO_YES, F(2, 12), yes=1),
        1000,
        290,
        0.14800000000000013,
        0.017227675199886744,
    ),
    # RRuni(y, model = "FR", p = c(1/6, 1/6)) on nigeria$rr.q1
    "forced, nigeria": (
        surveys.forced_response(NO_YES, F(4, 6), [F(1, 6), F(1, 6)]),
        2435,
        831,
        0.2619096509240246,
        0.01441566563304473,
    ),
    # RRuni(ForcedResponseData$z, model = "FR", p = c(0.2, 0.2))
    "ForcedResponseData": (
        surveys.forced_response(NO_YES, 0.6, [0.2, 0.2]),
        1000,
        508,
        0.5133333333333333,
        0.02636212488201514,
    ),
    # RRuni(z, model = "UQTknown", p = c(0.5, 1/12), MLest = FALSE) on HorvitzDataRealSurvey
    "copied": (unrelated(0.5, 1 / 12), 710, 328, 0.8406103286384976, 0.03744700879220422),
    "fought": (unrelated(0.5, 1 / 12), 710, 180, 0.42370892018779344, 0.032675535725673444),
    "bullied": (unrelated(0.5, 1 / 12), 710, 280, 0.7053990610328638, 0.036708088731137074),
    "bullying": (unrelated(0.5, 1 / 12), 710, 81, 0.1448356807511737, 0.02387901242487789),
    "drug": (unrelated(0.5, 1 / 12), 710, 164, 0.3786384976525822, 0.03165678267078599),
    "sex": (unrelated(0.5, 1 / 12), 710, 53, 0.06596244131455399, 0.019741000019257205),
    # RRuni(y, model = "Mangat", p = 0.7)
    "mangat": (
        surveys.mangat(NO_YES, 0.7, yes=1),
        1000,
        450,
        0.21428571428571416,
        0.022485720990548456,
    ),
    # RRuni(y, model = "Kuk", p = c(0.6, 0.2))
    "kuk": (
        surveys.kuk(NO_YES, 0.6, 0.2, yes=1),
        1000,
        340,
        0.3500000000000001,
        0.03746870566090993,
    ),
}


@pytest.mark.parametrize("case", RRREG)
def test_rrreg(case):
    """Shares and standard errors are those of RRreg."""
    design, n, yes, share, error = RRREG[case]
    est = of_counts(design, [n - yes, yes])
    assert share == pytest.approx(est.proportions[1], rel=1e-12, abs=1e-14)
    assert error == pytest.approx(est.std_error[1], rel=1e-12)
    assert est.proportions[0] == pytest.approx(1 - share, rel=1e-12)


@pytest.mark.parametrize(
    ("case", "value"),
    [
        # RRuni()$logLik of the calls above
        ("WarnerData", -2.6411518325656402),
        ("triangular", -3.58295523398192),
        ("mangat", -3.6748971911674744),
        ("kuk", -3.6259416472821613),
    ],
)
def test_log_likelihood(case, value):
    """The log-likelihood is that of RRreg, where RRreg's is right."""
    design, n, yes, _, _ = RRREG[case]
    assert value == pytest.approx(
        of_counts(design, [n - yes, yes]).moments.log_likelihood(), rel=1e-9
    )


@pytest.mark.parametrize("case", ["forced, nigeria", "ForcedResponseData"])
def test_log_likelihood_of_forced_response(case):
    """It is the binomial one; RRreg 0.7.6 shifts its parameters and prints another."""
    design, n, yes, _, _ = RRREG[case]
    expected = stats.binom.logpmf(yes, n, yes / n)
    assert expected == pytest.approx(
        of_counts(design, [n - yes, yes]).moments.log_likelihood(), rel=1e-9
    )


def test_outside_of_the_simplex():
    """An estimate below 0 keeps its value and its error.

    RRreg 0.7.6, RRuni(y, model = "Warner", p = 0.75) with 20 of 100 yes: 1e-8 with SE 2e-6.
    """
    est = of_counts(warner(0.75), [80, 20])
    assert est.proportions[1] == pytest.approx(-0.1)
    assert est.std_error[1] == pytest.approx(math.sqrt(0.2 * 0.8 / 99) / 0.5)
    low, high = est.interval()
    assert low[1] == 0
    assert high[1] > 0.04


def test_forced_response_of_five():
    """RRreg 0.7.6, RRuni(y, model = "FR", p = rep(0.08, 5))."""
    m = surveys.forced_response(range(5), F(6, 10), [F(8, 100)] * 5)
    est = of_counts(m, [620, 410, 380, 310, 280])
    shares = [0.3833333333333333, 0.20833333333333331, 0.18333333333333335, 0.125, 0.1]
    errors = [
        0.017240416158201845,
        0.015048833854051619,
        0.014623847936307055,
        0.01349076434393226,
        0.01293467723446558,
    ]
    assert shares == pytest.approx(est.proportions, rel=1e-12)
    assert errors == pytest.approx(est.std_error, rel=1e-12)
    as_krr = rr.KRR(range(5), 0.68)
    assert as_krr.channel.matrix == pytest.approx(m.channel.matrix, rel=1e-15)


def test_matrices_outside_of_the_simplex():
    """A matrix has an estimate and an error there, and a likeliest table inside.

    RRreg 0.7.6, RRuni(y, model = "custom", p = P) with k-RR of 0.6 gives NA and logLik 1e6.
    """
    m = MatrixDesign(range(3), np.where(np.eye(3), 0.6, 0.2))
    with pytest.warns(ImplausibleReportsWarning):
        est = of_counts(m, [640, 330, 30])
    assert est.proportions == pytest.approx([1.1, 0.325, -0.425])
    assert est.std_error == pytest.approx(
        [math.sqrt(x * (1 - x) / 999) / 0.4 for x in (0.64, 0.33, 0.03)]
    )
    table = most_likely(m.channel, est.tally.reported)
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("m", "counts", "share", "error", "draws"),
    [
        # RRuni(KukData$z, model = "Kuk", p = c(0.6, 0.2), Kukrep = 25); the counts of KukData$z
        (
            surveys.kuk(NO_YES, 0.6, 0.2, 25, yes=1),
            [0, 4, 8, 32, 28, 37, 28, 21, 7, 5, 4, 0, 3, 4, 4, 2, 6, 2, 2, 2, 1, *[0] * 5],
            0.1335,
            0.028188229345894388,
            25,
        ),
        # RRuni(y, model = "Kuk", p = c(0.7, 0.3), Kukrep = 4)
        (
            surveys.kuk(NO_YES, 0.7, 0.3, 4, yes=1),
            [120, 260, 300, 210, 110],
            0.45625000000000004,
            0.024010305062934445,
            4,
        ),
    ],
)
def test_kuk_of_several_draws(m, counts, share, error, draws):
    """The mean number of red cards estimates; the distribution's variance is that of RRreg.

    RRreg divides the part of the cards by draws * n - 1 and the part of the people by n - 1.
    """
    n = sum(counts)
    est = of_counts(m, counts)
    assert share == pytest.approx(est.proportions[1], rel=1e-12)
    people = (1 - 1 / draws) * share * (1 - share)
    cards = report_variance(m.channel, [1 - share, share], "population")[1] - people
    variance = cards * draws / (draws * n - 1) + people / (n - 1)
    assert error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_cheater_detection():
    """RRreg 0.7.6, RRuni(y, model = "CDMsym", p = c(0.2, 0.1, 0.5, 0.2), group = g)."""
    m = surveys.cheater_detection(NO_YES, [0.2, 0.5], [0.1, 0.2], yes=1)
    reports = [1] * 195 + [0] * 305 + [1] * 270 + [0] * 230
    est = rr.estimate(reports, m, group=[1] * 500 + [2] * 500)
    assert est.proportions == pytest.approx([0.6, 0.3, 0.1], rel=1e-12)  # beta, pi, gamma
    assert 0.040669223450148013 == pytest.approx(est.std_error[1], rel=1e-12)
    assert 0.0583999551364215 == pytest.approx(est.std_error[2], rel=1e-12)


def test_stochastic_lie_detector():
    """RRreg 0.7.6, RRuni(ym, model = "SLD", p = c(2/12, 10/12), group = gm, MLest = FALSE)."""
    m = surveys.stochastic_lie_detector(NO_YES, [F(2, 12), F(10, 12)], yes=1)
    reports = [1] * 373 + [0] * 191 + [1] * 398 + [0] * 294
    est = rr.estimate(reports, m, group=[1] * 564 + [2] * 692)
    assert 0.8706954864100357 == pytest.approx(est.proportions[1], rel=1e-12)
    assert 0.04111840737438816 == pytest.approx(est.std_error[1], rel=1e-12)
    honest, lying = (1, "honest"), (1, "lying")
    truthful = est.merge().among([honest, lying])[honest]
    assert 0.6358063927585619 == pytest.approx(truthful.value, rel=1e-12)
    assert 0.01734368110422093 == pytest.approx(truthful.std_error, rel=1e-9)


def binary(if_no, if_yes):
    return [[1 - if_no, 1 - if_yes], [if_no, if_yes]]


@pytest.mark.parametrize(
    ("m", "matrix"),
    [
        # RRreg 0.7.6, getPW(model, p): P[report, true], columns sum to 1
        (warner(F(2, 12)), binary(0.8333333333333334, 0.16666666666666666)),
        (surveys.kuk(NO_YES, 0.6, 0.2, yes=1), binary(0.2, 0.6)),
        (
            surveys.kuk(NO_YES, 0.6, 0.2, 3, yes=1),
            [[0.512, 0.064], [0.384, 0.288], [0.096, 0.432], [0.008, 0.216]],
        ),
        (
            surveys.forced_response(NO_YES, F(4, 6), [F(1, 6)] * 2),
            binary(0.16666666666666666, 0.8333333333333334),
        ),
        (
            surveys.forced_response(range(4), 0.7, [0.1, 0.05, 0.05, 0.1]),
            [
                [0.8, 0.1, 0.1, 0.1],
                [0.05, 0.75, 0.05, 0.05],
                [0.05, 0.05, 0.75, 0.05],
                [0.1, 0.1, 0.1, 0.8],
            ],
        ),
        (surveys.crosswise(NO_YES, 0.25, yes=1), binary(0.75, 0.25)),
        (surveys.triangular(NO_YES, F(2, 12), yes=1), binary(0.16666666666666666, 1)),
    ],
)
def test_matrices(m, matrix):
    """Matrices are those of RRreg: which answer is which, and what each number means."""
    assert np.array(matrix) == pytest.approx(m.channel.matrix, rel=1e-14)


def test_matrices_of_two_samples():
    """getPW with groups: the share of the unknown parameter mixes our classes."""
    # getPW("CDM", c(0.25, 0.75), group = 1): true 1, 0, cheater
    m = surveys.cheater_detection([1, 0], [0.25, 0.75], yes=1)
    first = m.parts[0].channel.matrix[::-1]
    assert np.array([[0, 0.75, 1], [1, 0.25, 0]]) == pytest.approx(first)
    # getPW("UQTunknown", c(0.7, 0.3), group = 2, par2 = 0.4)
    m = surveys.unrelated_question_two_samples(NO_YES, [0.7, 0.3], yes=1)
    mixed = m.parts[1].channel.matrix @ np.kron(np.eye(2), [[0.4], [0.6]])
    assert np.array([[0.72, 0.42], [0.28, 0.58]]) == pytest.approx(mixed)
    # getPW("SLD", c(2/12, 10/12), group, par2 = 0.9)
    m = surveys.stochastic_lie_detector(NO_YES, [F(2, 12), F(10, 12)], yes=1)
    mix = np.array([[1, 0], [0, 0.9], [0, 0.1]])
    for part, no in zip(m.parts, (1 / 6, 5 / 6), strict=True):
        assert binary(1 - no, 0.9) == pytest.approx(part.channel.matrix @ mix)


# -- GLMMRR -------------------------------------------------------------------------------------


def forced(p, share_yes):
    p, share_yes = F(p), F(share_yes)
    return surveys.forced_response(NO_YES, p, [(1 - p) * (1 - share_yes), (1 - p) * share_yes])


@pytest.mark.parametrize(
    ("m", "c", "d"),
    [
        # GLMMRR 0.6.0: getRRparameters("Warner", 0.7, NA), ("Forced", 0.75, 0.666666666666667),
        # ("Crosswise", 0.25, NA)
        (warner(0.7), 0.30000000000000004, 0.3999999999999999),
        (forced(0.75, 0.666666666666667), 0.16666666666666666, 0.75),
        (surveys.crosswise(NO_YES, 0.25, yes=1), 0.75, -0.5),
    ],
)
def test_glmmrr_parameters(m, c, d):
    """c and d of P(report yes) = c + d * pi."""
    base, top = m.channel.matrix[1]
    assert c == pytest.approx(base, rel=1e-14)
    assert d == pytest.approx(top - base, rel=1e-14)


def test_glmmrr_designs_by_row():
    """The names and numbers of GLMMRR's getRRparameters give its c and d, in each row."""
    p1, p2 = 0.75, 0.25
    expected = {
        "DQ": (0, 1),
        "Warner": (1 - p1, 2 * p1 - 1),
        "Forced": ((1 - p1) * p2, p1),
        "UQM": ((1 - p1) * p2, p1),
        "Crosswise": (1 - p1, 2 * p1 - 1),
        "Triangular": (p1, 1 - p1),
        "Kuk": (p2, p1 - p2),
    }
    names = [*expected, *expected]
    found = surveys.by_row(NO_YES, names, [p1] * 14, [p2] * 14, yes=1)
    for name, m in zip(names, found, strict=True):
        base, top = m.channel.matrix[m.report_space.code(1)]
        assert (base, top - base) == expected[name]
    alone = surveys.by_row(NO_YES, pd.Series(["DQ", "Warner"]), pd.Series([np.nan, 0.75]), yes=1)
    assert [found[0], found[1]] == alone
    with pytest.raises(ArgumentValueError, match="equal lengths, found 2, 1, 1"):
        surveys.by_row(NO_YES, ["DQ", "DQ"], [None], yes=1)
    with pytest.raises(ArgumentValueError, match="design must be one of"):
        surveys.by_row(NO_YES, ["warner"], [0.7], yes=1)
    with pytest.raises(ArgumentValueError, match="p2"):
        surveys.by_row(NO_YES, ["Forced"], [0.7], [2], yes=1)


@pytest.mark.parametrize(
    ("m", "n", "yes", "share", "variance"),
    [
        # GLMMRR 0.6.0, getMLPrevalence(yes/n, n, c, d) on cells of ETHBE mturk: direct,
        # crosswise, unrelated question, forced response; its variance divides by n
        (surveys.direct(NO_YES), 768, 24, 0.03125, 3.9418538411458336e-05),
        (
            surveys.crosswise(NO_YES, 0.1594625, yes=1),
            1150,
            859,
            0.13740186948701616,
            0.0003543257814545284,
        ),
        (
            surveys.crosswise(NO_YES, 0.1971293, yes=1),
            1156,
            816,
            0.16011510367101114,
            0.0004894643432775965,
        ),
        (unrelated(0.778, 0.49), 379, 52, 0.03653363268240737, 0.0005160291942077902),
        (unrelated(0.778, 0.521), 390, 59, 0.04578412761189111, 0.0005439099333660795),
        (forced(0.75, 2 / 3), 1526, 248, -0.005533711955730307, 0.00015856101127597924),
        (unrelated(0.778, 0.49), 393, 156, 0.3703940422692753, 0.0010063199887473625),
        (forced(0.75, 2 / 3), 1521, 815, 0.4922200306815692, 0.00029070475858260583),
    ],
)
def test_glmmrr_prevalence(m, n, yes, share, variance):
    """Shares are those of GLMMRR, and variances too, with n in place of n - 1."""
    est = of_counts(m, [n - yes, yes])
    assert share == pytest.approx(est.proportions[1], rel=1e-11)
    assert variance == pytest.approx(est.variance[1] * (n - 1) / n, rel=1e-11)


# -- RRTCS --------------------------------------------------------------------------------------

# RRTCS 0.0.4 with equal inclusion probabilities, ...$TransformedVariable and its variance for an
# answer of 0 and of 1, and the mean of all; counts of 0 and 1 in the package's data.
RRTCS = {
    # Warner(WarnerData$z, 0.7, ...)
    "warner": (warner(0.7), (65, 60), (-0.75, 1.75), (1.3125, 1.3125), 0.44999999999999996),
    # ForcedResponse(ForcedResponseData$z, 0.2, 0.2, ...)
    "forced": (
        surveys.forced_response(NO_YES, 0.6, [0.2, 0.2]),
        (492, 508),
        (-1 / 3, 4 / 3),
        (4 / 9, 4 / 9),
        0.5133333333333333,
    ),
    # Horvitz(HorvitzData$z, 0.5, 0.6666667, ...)
    "horvitz": (
        unrelated(0.5, 0.6666667),
        (246, 165),
        (-0.6666667, 1.3333333),
        (1.1111111888888898, 0.4444443888888901),
        0.13625300802919713,
    ),
    # Horvitz(HorvitzDataRealSurvey[["copied"]], 0.5, 1/12, ...)
    "copied": (
        unrelated(0.5, 1 / 12),
        (382, 328),
        (-0.08333333333333333, 1.9166666666666667),
        (0.09027777777777776, 1.7569444444444446),
        0.8406103286384977,
    ),
    # Horvitz(HorvitzDataStCl$z, 0.6, 0.5, ...): the mean of the answers, without weights
    "StCl": (
        unrelated(0.6, 0.5),
        (205, 160),
        (-1 / 3, 4 / 3),
        (4 / 9, 4 / 9),
        0.3972602739726028,
    ),
    # MangatSingh(MangatSinghData$z, 0.7, 0.55, ...)
    "mangat-singh": (
        by_matrix.mangat_singh(0.55, 0.7),
        (120, 120),
        (-0.18493150684931509, 1.1849315068493151),
        (0.21913116907487337, 0.21913116907487343),
        0.5,
    ),
    # MangatSinghSingh(MangatSinghSinghData$z, 0.6, 0.5, ...)
    "mangat-singh-singh": (
        by_matrix.mangat_singh_singh(0.6, 0.5),
        (599, 203),
        (-0.25, 1),
        (0.3125, 0),
        0.06639650872817955,
    ),
    # Mangat(MangatSinghData$z, 0.7, 0.5, 0.55, ...): Mangat (1992)
    "mangat 1992": (
        by_matrix.mangat_unrelated_question(0.55, 0.7, 0.5),
        (120, 120),
        (-0.07803468208092486, 1.0780346820809248),
        (0.08412409368839587, 0.0841240936883958),
        0.49999999999999994,
    ),
    # SoberanisCruz(SoberanisCruzData$z, 0.7, 0.5, ...): the mean, and 0 as its first answers
    "soberanis-cruz": (
        unrelated(0.7, 0.5),
        (219, 71),
        (-0.21428571428571433, None),
        (0.26020408163265313, None),
        0.1354679802955665,
    ),
}


@pytest.mark.parametrize("case", RRTCS)
def test_rrtcs(case):
    """One debiased answer, its variance r (r - 1), and the mean are those of RRTCS.

    The mean of r (r - 1) over n estimates the variance among just these rows.
    """
    m, counts, values, variances, mean = RRTCS[case]
    scores = m.channel.scores(np.array([0, 1]))[:, 1]
    for score, value, variance in zip(scores, values, variances, strict=True):
        if value is not None:
            assert value == pytest.approx(score, rel=1e-12)
            assert variance == pytest.approx(score * (score - 1), rel=1e-11, abs=1e-12)
    est = of_counts(m, counts)
    assert mean == pytest.approx(est.proportions[1], rel=1e-12)
    within = (counts @ (scores * (scores - 1))) / sum(counts) ** 2
    assert within == pytest.approx(replace(est, target="sample").variance[1], rel=1e-9)


def test_rrtcs_with_replacement():
    """RRTCS 0.0.4, Horvitz(..., "mean", N = 10777): equal probabilities 710 / 10777.

    Its variance is Deville's of the debiased answers and the randomization's share; as N grows
    it goes to ours for the population, which has no term for a finite one.
    """
    est = of_counts(unrelated(0.5, 1 / 12), [382, 328])
    variance, n, size = 0.0013897158913961736, 710, 10777
    within = replace(est, target="sample").variance[1]
    # Deville: (1 - f) times the sample's variance; the randomization adds f times its own.
    f = n / size
    assert variance == pytest.approx((1 - f) * est.variance[1] + f * within, rel=1e-9)


def test_rrtcs_christofides():
    """RRTCS 0.0.4, Christofides(ChristofidesData$z, 1:5, c(0.1, 0.2, 0.3, 0.2, 0.2), ...)."""
    m = by_matrix.christofides([0.1, 0.2, 0.3, 0.2, 0.2])
    scores = m.channel.scores(np.arange(5))[:, 1]
    # first5_transformed of the first answers 3, 4, 2, 3, 5; that of 1 is on the same line
    assert scores == pytest.approx([5.5, 3.0, 0.5, -2.0, -4.5], rel=1e-12)
    est = of_counts(m, [21, 27, 49, 34, 19])
    assert 0.45000000000000007 == pytest.approx(est.proportions[1], rel=1e-12)
    for share in (0.0, 0.3, 1.0):
        # first5_transformed_variance, the same for every answer
        found = report_variance(m.channel, [1 - share, share], "sample")[1]
        assert 9.749999999999975 == pytest.approx(found, rel=1e-11)


def test_second_draw():
    """93 of 170 said yes: (93 / 170 - .4) / (.84 - .4) = .334225, with .84 = .6 + .4 * .6."""
    est = of_counts(by_matrix.singh_joarder(0.6), [77, 93])
    assert est.proportions.round(4).tolist() == [0.6658, 0.3342]


def test_unrelated_question_with_two_answers():
    """Of 188 people 45 said yes to the first box, 39 to the second.

    (.3 * 45 - .4 * 39) / (.6 - .7) / 188 = .111702.
    """
    est = of_counts(by_matrix.unrelated_question_two_answers(0.6, 0.7), [134, 9, 15, 30])
    assert est.proportions.round(4).tolist() == [0.8883, 0.1117]


def test_rrtcs_two_answers():
    """RRTCS 0.0.4, MangatSinghSinghUB(I, J, 0.6, 0.8, ...) on MangatSinghSinghUBData."""
    m = by_matrix.mangat_singh_singh_two_answers(0.6, 0.8)
    pairs = (("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes"))
    assert m.report_space.categories == pairs
    est = of_counts(m, [113, 11, 35, 341])
    assert 0.656 == pytest.approx(est.proportions[1], rel=1e-12)
    # first5_transformed of (1, 1), (0, 0), and the formula for the others
    assert m.channel.scores(np.arange(4))[:, 1] == pytest.approx([0, 2, -1, 1], abs=1e-12)


# -- cWise --------------------------------------------------------------------------------------


def test_cwise():
    """cWise 0.0.0.9000, bc.est(Y, A, p = 0.15, p.prime = 0.15) on cmdata; 4 digits.

    The 2000 pairs (Y, A) of cmdata: 148, 425, 311 and 1116 of (0, 0), (0, 1), (1, 0), (1, 1).
    """
    m = surveys.crosswise_with_anchor(NO_YES, 0.15, 0.15, yes=1)
    assert m.report_space.categories == ((0, 0), (0, 1), (1, 0), (1, 1))
    est = of_counts(m, [148, 425, 311, 1116])
    corrected = est.among([0, 1])[1]
    assert 0.1054 == pytest.approx(corrected.value, abs=5e-5)
    assert 0.7729 == pytest.approx(1 - est["inattentive"].value, abs=5e-5)
    # Its standard error of 0.0208 is a bootstrap of 200.
    assert 0.0208 == pytest.approx(corrected.std_error, rel=0.1)
    naive = of_counts(surveys.crosswise(NO_YES, 0.15, yes=1), [148 + 425, 311 + 1116])
    assert 0.195 == pytest.approx(naive.proportions[1], abs=5e-5)
    assert 0.0144 == pytest.approx(naive.std_error[1], abs=5e-5)
    low, high = naive.interval(method="wald")
    assert 0.1667 == pytest.approx(low[1], abs=5e-5)
    assert 0.2233 == pytest.approx(high[1], abs=5e-5)
