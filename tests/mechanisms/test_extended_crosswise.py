"""The extended crosswise model: exact matrices, the published surveys, its test, its regression.

Counts are those of Cruyff, Sayed, Petroczi and van der Heijden (2024), data of R's RRsp1 1.0 (MIT);
numbers are the maxima of the likelihood of these counts, by Newton's method in R, unless it is said
otherwise.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.serialization import from_dict

LABELS = {"yes": "yes", "reports": ["different", "same"]}
PROB = {"A": 0.2, "B": 0.8}
PLAIN = rr.surveys.extended_crosswise(["no", "yes"], PROB, **LABELS)
ONE_SAYERS = rr.surveys.extended_crosswise(["no", "yes"], PROB, behaviour="different", **LABELS)

# Survey: reports different and same in the sample with p = 0.2, then in that with 0.8.
SURVEYS = {
    "samples": {
        "A": (103, 82, 82, 87),
        "B": (95, 66, 105, 59),
        "C": (272, 181, 204, 258),
        "D": (173, 238, 285, 117),
        "E": (76, 95, 76, 50),
    },
    "doping": {
        "A": (60, 109, 139, 46),
        "B": (79, 85, 102, 59),
        "C": (192, 270, 324, 129),
        "D": (137, 265, 307, 104),
        "E": (45, 81, 121, 50),
    },
    "medicine": {"A": (95, 90, 80, 89), "C": (283, 170, 230, 232)},
}

# Prevalence and G2 if everybody follows; prevalence among the others and share of one-sayers.
MAXIMA = [
    ("samples", "A", 0.561205273, 0.62555515, 0.562236393, 0.041963857),
    ("samples", "C", 0.632058288, 1.65617276, 0.638207246, 0.041999943),
    ("samples", "E", 0.373737374, 0.67478209, 0.361111111, 0.047619048),
    ("medicine", "A", 0.532956685, 0.0608516, 0.533017627, -0.013113706),
    ("medicine", "C", 0.604735883, 14.00430426, 0.62051014, 0.12255956),
    ("doping", "A", 0.165725047, 4.76899521, 0.130415071, 0.106380937),
    ("doping", "C", 0.25136612, 17.27246123, 0.21271192, 0.130816204),
    ("doping", "E", 0.199775533, 1.39215413, 0.187732619, 0.064745196),
]


def counted(counts, mechanism):
    """The estimate of four counts."""
    rare, common = counts[:2], counts[2:]
    pairs = {"A": rare, "B": common}
    table = {name: dict(zip(LABELS["reports"], pair, strict=True)) for name, pair in pairs.items()}
    return rr.estimate(rr.Tally.from_counts(table, mechanism))


def people(question):
    """A row for each report of a question that was given, with the number of people."""
    cells = [(sample, report) for sample in "AB" for report in LABELS["reports"]]
    rows = [
        (survey, *cell, count)
        for survey, counts in SURVEYS[question].items()
        for cell, count in zip(cells, counts, strict=True)
    ]
    return pd.DataFrame(rows, columns=["survey", "sample", "report", "n"])


@pytest.mark.parametrize("behaviour", [None, "different", "same"])
def test_the_matrix_is_that_of_the_instructions(behaviour):
    """P(same) is p of a yes and 1 - p of a no, in each sample; a one-sayer says one thing."""
    p = Fraction(1, 5)
    m = rr.surveys.extended_crosswise(["no", "yes"], p, behaviour=behaviour, **LABELS)
    assert m.groups == (1, 2)
    for part, prob in zip(m.parts, [p, 1 - p], strict=True):
        different, same = part.channel.entries
        assert same[:2] == (1 - prob, prob)
        assert different[:2] == (prob, 1 - prob)
        if behaviour is not None:
            assert (different[2], same[2]) == (behaviour == "different", behaviour == "same")
    assert from_dict(m.to_dict()) == m


@pytest.mark.parametrize(("question", "survey", "pi", "g2", "among", "share"), MAXIMA)
def test_published_surveys(question, survey, pi, g2, among, share):
    """Prevalence, its test and the one-sayers agree with the maxima of R to nine digits."""
    counts = SURVEYS[question][survey]
    est = counted(counts, PLAIN)
    assert est["yes"].value == pytest.approx(pi, abs=1e-9)
    test = rr.hypotheses.design_fit(est)
    assert (test.df, test.statistic) == (1, pytest.approx(g2, abs=1e-7))
    assert test.p_value == pytest.approx(stats.chi2.sf(g2, 1), rel=1e-6)
    one_sayers = counted(counts, ONE_SAYERS)
    assert one_sayers["always different"].value == pytest.approx(share, abs=1e-9)
    others = one_sayers.among(["no", "yes"])["yes"]
    assert others.value == pytest.approx(among, abs=1e-9)


def test_moment_estimator_of_ecwm():
    """The estimate and its error are those of R's ecwm 1.0, prev(dop, Q1, P1)."""
    est = counted((163, 438, 378, 232), PLAIN)
    assert est["yes"].value == pytest.approx(0.21029452243325103, abs=1e-12)
    by_n = rr.estimate(est.tally, ddof=0)
    assert by_n["yes"].std_error == pytest.approx(0.022453092322458543, abs=1e-12)
    assert rr.hypotheses.design_fit(est).statistic == pytest.approx(16.46408555, abs=1e-7)


def test_unlike_statements_identify_one_sayers():
    """Two statements that are not complementary give the one-sayers exactly, in fractions."""
    m = rr.surveys.extended_crosswise(["no", "yes"], [0.125, 0.75], yes="yes", behaviour="no")
    truth = np.array([0.5, 0.25, 0.25])
    rates = m.channel.matrix @ truth
    assert m.channel.solve(rates) == pytest.approx(truth, abs=1e-14)


def test_random_answers_are_not_identified():
    """Random answering is refused with what would identify it."""
    with pytest.raises(NotIdentifiableError, match="a control question can"):
        rr.surveys.extended_crosswise(["no", "yes"], 0.2, yes="yes", behaviour="random")
    labels = {"yes": "yes", "reports": ["random", "same"]}
    m = rr.surveys.extended_crosswise(["no", "yes"], 0.2, behaviour="random", **labels)
    assert m.categories == ("no", "yes", "always random")


# -- the test of the design ----------------------------------------------------------------------


def test_design_fit_is_the_difference_of_the_samples():
    """G2 of two complementary samples is that of the table of samples by reports, as in SciPy."""
    test = rr.hypotheses.design_fit(counted((60, 109, 139, 46), PLAIN))
    table = [[60, 109], [46, 139]]  # "same" in the second sample has the prob of "different"
    ratio = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert (ratio.statistic, ratio.dof) == (pytest.approx(test.statistic, abs=1e-7), test.df)


def test_design_fit_of_cells_that_proportions_do_not_explain():
    """Kuk's two cards leave one degree of freedom in one sample; its fit is the likeliest."""
    m = rr.surveys.kuk(["no", "yes"], 0.8, 0.2, draws=2, yes="yes")
    counts = np.array([300, 420, 280])
    test = rr.hypotheses.design_fit(rr.Tally.from_counts(counts.tolist(), m))

    def loss(yes):
        return -counts @ np.log(m.channel.matrix @ [1 - yes, yes])

    best = optimize.minimize_scalar(loss, bounds=(0, 1), options={"xatol": 1e-12})
    saturated = counts @ np.log(counts / counts.sum())
    assert (test.df, test.statistic) == (1, pytest.approx(2 * (saturated + best.fun), rel=1e-8))


def test_design_fit_needs_something_to_test():
    """A design that explains any reports is refused, and so is one sample of two."""
    some = {"different": 60, "same": 109}
    for mechanism, counts in (
        (rr.KRR(["no", "yes"], 0.75), [10, 20]),
        (ONE_SAYERS, {"A": some, "B": some}),
        (PLAIN, {"A": some, "B": dict.fromkeys(some, 0)}),
    ):
        tally = rr.Tally.from_counts(counts, mechanism)
        with pytest.raises(ArgumentValueError, match="more free cells of reports than proportions"):
            rr.hypotheses.design_fit(tally)
    nobody = rr.hypotheses.design_fit([], PLAIN, group=[])
    assert np.isnan(nobody.p_value)


def test_design_fit_of_a_weighted_sample_is_homogeneity_of_the_samples():
    """With weights the error names the comparison of samples, and that comparison works."""
    frame = people("doping")
    frame = frame.loc[frame.index.repeat(frame.n)].reset_index(drop=True)
    weighted = {"weights": np.ones(len(frame)), "group": frame["sample"]}
    with pytest.raises(ArgumentValueError, match=r"by= the sample .* hypotheses\.homogeneity"):
        rr.hypotheses.design_fit(rr.estimate(frame.report, PLAIN, **weighted))
    by_sample = rr.estimate(frame.report, PLAIN, by=frame["sample"], **weighted)
    test = rr.hypotheses.homogeneity(by_sample)
    plain = rr.hypotheses.design_fit(rr.estimate(frame.report, PLAIN, group=frame["sample"]))
    assert test.statistic == pytest.approx(plain.statistic, rel=0.02)


@pytest.mark.slow
def test_level_of_the_test_of_the_design():
    """It rejects 5% of true designs: of 40,000 surveys at most 5 standard errors more or less."""
    rng = np.random.default_rng(7)
    sizes = 177
    same = [rng.binomial(sizes, p * 0.1 + (1 - p) * 0.9, 40_000) for p in (0.2, 0.8)]
    pairs, times = np.unique(np.stack(same, axis=1), axis=0, return_counts=True)
    rejected = 0
    for (a, b), count in zip(pairs.tolist(), times.tolist(), strict=True):
        est = counted((sizes - a, a, sizes - b, b), PLAIN)
        rejected += count * (rr.hypotheses.design_fit(est).p_value < 0.05)
    assert abs(rejected / 40_000 - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 40_000)


# -- regression ----------------------------------------------------------------------------------

# RRsp1, sp_one(Q4 ~ survey, ~ survey) and sp_one(Q1 ~ 1, ~ survey), at the maximum (Newton in R).
REGRESSIONS = [
    (
        ("doping", "report ~ survey", "~ survey"),
        [
            -1.89729378,
            1.30884568,
            0.58863832,
            -0.01278778,
            0.43248292,
            -2.12825318,
            0.09002909,
            0.23449189,
            -0.21311085,
            -0.54210632,
        ],
        [
            0.41310133,
            0.47070954,
            0.45243785,
            0.49552124,
            0.52254072,
            0.51153978,
            0.7394538,
            0.58061386,
            0.64856343,
            1.043362,
        ],
        -1693.1274697596175,
    ),
    (
        ("samples", "report ~ 1", "~ survey"),
        [-0.15399911, -2.90423699, 1.69602599, -0.07240502, 0.89417631, -0.73749869],
        [0.07139888, 1.07156961, 1.1140007, 1.28238027, 1.12589995, 2.55595119],
        -1855.4509757178646,
    ),
]


@pytest.mark.parametrize(("call", "coefficients", "errors", "log_likelihood"), REGRESSIONS)
def test_regression_with_covariates_of_the_behaviour(call, coefficients, errors, log_likelihood):
    """Trait and one-saying have covariates of their own, as in R's RRsp1."""
    pytest.importorskip("formulaic")
    question, formula, behaviour = call
    fit = rr.logit(
        f"{formula} | {behaviour.removeprefix('~')}",
        people(question),
        mechanism=ONE_SAYERS,
        group="sample",
        frequencies="n",
    )
    assert fit.params.to_numpy() == pytest.approx(coefficients, abs=1e-7)
    assert fit.bse.to_numpy() == pytest.approx(errors, abs=1e-6)
    assert fit.llf == pytest.approx(log_likelihood, abs=1e-9)
    assert fit.index[-1] == "always different: survey[T.E]"


def test_regression_with_constants_is_the_estimate(formulaic):
    """Without covariates the fit is the estimate: prevalence among the others, one-sayers."""
    counts = SURVEYS["doping"]["A"]
    frame = people("doping").query("survey == 'A'")
    fit = rr.logit("report ~ 1 | 1", frame, mechanism=ONE_SAYERS, group="sample", frequencies="n")
    est = counted(counts, ONE_SAYERS)
    prevalence = est.among(["no", "yes"])["yes"].value
    assert fit.predict(average=True).to_frame()["proportion"].item() == pytest.approx(
        prevalence, abs=1e-9
    )
    table = fit.proportions().to_frame()
    assert table.category.tolist() == ["always different"]
    share = est["always different"].value
    assert table.proportion.item() == pytest.approx(share, abs=1e-9)
    posterior = fit.posterior()
    assert posterior.columns.tolist() == ["no", "yes", "always different"]
    assert posterior.sum(axis=1).to_numpy() == pytest.approx(np.ones(4))
    # Bayes: one-sayers among those who said "different" in sample A.
    different = 0.2 + prevalence * 0.6
    expected = share / (share + (1 - share) * different)
    assert posterior["always different"].iloc[0] == pytest.approx(expected, abs=1e-9)
    assert "people who follow the instructions" in str(fit.summary())


@pytest.mark.parametrize(
    ("mechanism", "reports"),
    [
        (rr.surveys.cheater_detection([False, True], [0.2, 0.5], [0.1, 0.2]), [False, True]),
        (rr.surveys.extended_crosswise([False, True], 0.2, behaviour=True), [False, True]),
    ],
    ids=["cheaters", "one-sayers"],
)
def test_any_design_with_a_behaviour_can_be_modelled(mechanism, reports):
    """The likelihood is the mixture of both kinds of people, by a sum over all cells."""
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "report": rng.permutation(np.repeat(reports, 300)),
            "sample": np.tile([1, 2], 300),
            "x": rng.normal(size=600),
        }
    )
    fit = rr.logit("report ~ x | x", frame, mechanism=mechanism, group="sample")
    assert list(fit.index[:2]) == ["Intercept", "x"]
    beta = fit.params.to_numpy()
    columns = np.column_stack([np.ones(600), frame.x])
    yes = 1 / (1 + np.exp(-columns @ beta[:2]))
    other = 1 / (1 + np.exp(-columns @ beta[2:]))
    cells = (frame["sample"] - 1) * 2 + frame.report
    of_class = mechanism.channel.matrix[cells]
    follows = of_class[:, 0] * (1 - yes) + of_class[:, 1] * yes
    total = np.log(other * of_class[:, 2] + (1 - other) * follows).sum()
    assert fit.llf == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("report ~ 1 | y ~ x", {}, "no formula"),
        ("report ~ 1 | nobody", {}, "nobody"),
        ("report ~ 1 | 1", {"mechanism": PLAIN}, "needs a design with people who do not follow"),
    ],
)
def test_wrong_behaviours_of_a_regression(formula, options, message, formulaic):
    """A behaviour that is no formula, or that the design does not have, is refused."""
    arguments = {"mechanism": ONE_SAYERS, "group": "sample", "frequencies": "n"}
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        rr.logit(formula, people("doping"), **(arguments | options))


def test_reports_do_not_explain_the_behaviour_of_those_who_gave_them():
    """As for the answers, the outcome on the right side is refused: it fits without end."""
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"y": rng.choice(["different", "same"], 200), "x": rng.normal(size=200)})
    frame["s"] = rng.choice(list(ONE_SAYERS.groups), 200)
    for behaviour in ("y", "x + C(y)"):
        with pytest.raises(ArgumentValueError, match="found the outcome 'y' in it"):
            rr.logit(f"y ~ x | {behaviour}", frame, mechanism=ONE_SAYERS, group="s")
