"""Matrices made for a question: their tables, their privacy, and the estimates from them."""

import json
import math
import re
import time
from fractions import Fraction

import chance
import numpy as np
import pandas as pd
import pytest
import scipy
from refusals import refused
from scipy import stats

import rrstats as rr
from rrstats import planning
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning
from rrstats.mechanisms import from_dict
from rrstats.mechanisms.optimal_matrices import least_variance
from rrstats.planning import optimal_matrix

QUESTIONS = ("proportions", "mean", "distribution")


def exact(m):
    """The exact matrix of the stored numbers: each column divided by its sum."""
    columns = [[Fraction(x) for x in column] for column in zip(*m.matrix, strict=True)]
    columns = [[x / sum(column) for x in column] for column in columns]
    return list(zip(*columns, strict=True))


def variance(m, scores, prior=None):
    """n Var of the mean, and the variances of the value at each true answer."""
    matrix, value = m.channel.matrix, scores @ m.channel.left_inverse
    rates = matrix.mean(axis=1) if prior is None else matrix @ prior
    return rates @ value**2 - (rates @ value) ** 2, value**2 @ matrix - scores**2


# -- the mean ------------------------------------------------------------------------------------

# n Var of the mean of scores from -1 to 1, uniform answers: k-RR, Duchi's mechanism, the piecewise
# mechanism, and the matrix.
MEANS = {
    (5, 1): (7.64, 4.68, 4.95, 4.47),
    (5, 2): (1.59, 1.72, 1.44, 1.30),
    (11, 0.5): (129, 16.7, 19.5, 16.4),
    (11, 1): (21.9, 4.68, 4.70, 4.32),
    (11, 2): (2.96, 1.72, 1.28, 1.20),
    (11, 4): (0.58, 1.08, 0.55, 0.51),
}


@pytest.mark.parametrize(("k", "epsilon"), MEANS)
def test_the_variance_of_the_mean_is_that_of_the_table(k, epsilon):
    """Also in the standard error of `Estimate.mean`; the other columns by their formulas."""
    scores, e = np.linspace(-1, 1, k), math.exp(epsilon)
    square, root = (scores**2).mean(), math.exp(epsilon / 2)
    krr = square * ((e + k - 1) / (e - 1)) ** 2
    duchi = ((e + 1) / (e - 1)) ** 2
    piecewise = square * (1 + 1 / (root - 1)) + (root + 3) / (3 * (root - 1) ** 2)
    m = optimal_matrix(k, epsilon, "mean", scores)
    counts = (1e7 * m.channel.matrix.mean(axis=1)).round().astype(int)
    mean = rr.estimate(rr.Tally.from_counts(counts, m)).mean(scores)
    best = counts.sum() * mean.std_error**2
    assert MEANS[k, epsilon] == pytest.approx((krr, duchi, piecewise, best), rel=0.02)
    assert mean.value == pytest.approx(0, abs=1e-6)
    assert variance(m, scores)[0] == pytest.approx(best, rel=1e-5)


CASES = [
    (k, epsilon, question, prior)
    for k in (2, 3, 5)
    for epsilon in (1e-4, 0.049, 0.05, math.log(3), 2.5, 8, 13)
    for question, prior in [
        *((question, None) for question in QUESTIONS),
        ("mean", "worst-case"),
        ("mean", [0.4, *[0.6 / (k - 1)] * (k - 1)]),
    ]
]


def test_no_design_passes_its_epsilon_and_no_mean_is_biased():
    """By exact fractions of the stored numbers, after a round trip of the document.

    The certified epsilon is hardly less than the one asked. The doubles that the estimate uses
    give each answer its score, unordered and with a tie, to 1e-9 of the range.
    """
    for k, epsilon, question, prior in CASES:
        scores = np.array([1.0, 10, 0, 3, 3])[:k]
        m = optimal_matrix(k, epsilon, question, scores if question == "mean" else None, prior)
        assert m == from_dict(json.loads(json.dumps(m.to_dict())))
        ratio = max(max(row) / min(row) for row in exact(m))
        assert ratio == m.channel.max_likelihood_ratio
        assert epsilon * (1 - 1e-9) - 1e-12 <= m.epsilon <= epsilon, (k, question, prior)
        assert ratio <= math.exp(epsilon) * (1 + 1e-13)
        if question == "mean" and epsilon > 0.01:
            value = [Fraction(x) for x in scores @ m.channel.left_inverse]
            for column, score in zip(zip(*exact(m), strict=True), scores, strict=True):
                found = sum(x * y for x, y in zip(column, value, strict=True))
                assert abs(found - Fraction(score)) < Fraction(1, 10**8), (k, epsilon, prior)
            assert np.linalg.matrix_rank(m.channel.matrix) == k
            if m.channel.m != k:
                assert np.diff(value).min() > -1e-6


@pytest.mark.parametrize("prior", [None, "worst-case"])
def test_the_mean_has_a_design_at_the_least_epsilon(prior):
    """At 1e-5, for 2 to 20 categories and 60, the programme of the mean is private and unbiased.

    The information matrix has a condition number of about (2 k / epsilon)^2, 1e13 for k = 17.
    """
    for k in (*range(2, 21), 60):
        m = optimal_matrix(range(k), 1e-5, "mean", prior=prior)
        assert 1e-5 * (1 - 1e-6) <= m.epsilon <= 1e-5
        value = np.arange(k) @ m.channel.left_inverse
        assert np.arange(k) == pytest.approx(value @ m.channel.matrix, abs=1e-7 * k)
    with pytest.raises(ArgumentValueError, match="epsilon must be at least 1e-05"):
        optimal_matrix(range(11), 0.9e-5, "mean")


def test_the_variance_is_least_where_it_was_asked_for():
    """At its own prior, or at the worst answer, each design is better than the other two."""
    k, scores = 11, np.arange(11.0)
    prior = np.array([0.3, 0.2, 0.1, *[0.05] * 8])
    made = [optimal_matrix(k, 2, "mean", scores, one) for one in (None, prior, "worst-case")]
    found = [(*variance(m, scores), variance(m, scores, prior)[0]) for m in made]
    found = [(at_equal, at_prior, each.max()) for at_equal, each, at_prior in found]
    assert [0, 1, 2] == np.argmin(found, axis=0).tolist()
    # 0.86377: the worst variance of a programme over 241 points from -1.6 to 1.6 times Duchi's.
    assert found[2][2] == pytest.approx(25 * 0.86377, rel=0.005)
    labels = list("abcdefghijk")
    by_label = pd.Series(prior, index=labels)[::-1]  # not by place
    by_name = optimal_matrix(labels, 2, "mean", dict(zip(labels, scores, strict=True)), by_label)
    assert by_name.matrix == made[1].matrix


def test_the_worst_answer_has_the_variance_of_the_programme():
    """Also where k-RR is not much worse, 1.7 times with 5 categories at epsilon 2."""
    scores, e = np.linspace(-1, 1, 5), math.exp(2)
    found = variance(optimal_matrix(5, 2, "mean", scores, "worst-case"), scores)[1].max()
    # 0.85654: of a programme over 481 points from -1.6 to 1.6 times Duchi's, written separately.
    assert found == pytest.approx(0.85654, rel=0.005)
    krr = (e + 4) * (e + scores @ scores - 1) / (e - 1) ** 2 - 1  # at both ends
    assert found < 0.6 * krr


@pytest.mark.parametrize("epsilon", [1, 5, 8])
def test_values_are_the_best_for_a_prior_of_rare_answers(epsilon):
    """By generalized least squares with the rates at the prior, in a left inverse it keeps."""
    scores, prior = np.arange(5.0), np.array([0.9964, *[0.0009] * 4])
    m = optimal_matrix(5, epsilon, "mean", scores, prior)
    matrix = m.channel.matrix
    rates = matrix @ prior
    least = scores @ np.linalg.inv(matrix.T @ np.diag(1 / rates) @ matrix) @ scores
    expected = least - (prior @ scores) ** 2
    assert expected == pytest.approx(variance(m, scores, prior)[0], rel=1e-3)


@pytest.mark.parametrize(
    ("k", "epsilon", "prior"), [(3, 0.5, None), (3, 1, "worst-case"), (4, 2, None), (5, 2, None)]
)
def test_no_two_reports_say_the_same(k, epsilon, prior):
    """The programme's equal rows, at neighbouring values, are one report: none are multiples."""
    rows = optimal_matrix(k, epsilon, "mean", prior=prior).channel.matrix
    rows = rows / rows.sum(axis=1, keepdims=True)
    apart = abs(rows[:, None] - rows).max(axis=2)
    assert apart[~np.eye(len(rows), dtype=bool)].min() > 1e-3


@pytest.mark.parametrize(("k", "epsilon"), [(3, 0.05), (4, 0.05), (5, 0.1)])
def test_proportions_can_be_estimated_from_a_design_for_the_mean(k, epsilon):
    """The condition number is at most twice that of Warner's coin for each threshold alike."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + 1)
    is_above = np.arange(k) > np.arange(k - 1)[:, None]
    above = np.where(is_above, truth, 1 - truth) / (k - 1)
    thresholds = np.vstack([above, 1 / (k - 1) - above])
    for prior in (None, "worst-case"):
        matrix = optimal_matrix(k, epsilon, "mean", prior=prior).channel.matrix
        assert np.linalg.cond(matrix) <= 2 * np.linalg.cond(thresholds)


def test_a_design_for_the_mean_works_everywhere(tmp_path):
    """Frames, groups, crosstabs, files, posteriors, field pages and single reports."""
    m = optimal_matrix(range(11), 2, "mean")
    answers = pd.DataFrame({"a": [0, 3, 7, 10] * 600, "g": ["x", "y"] * 1200})
    frame = answers.rr.privatize({"a": m})
    assert frame.rr.epsilon == m.epsilon <= 2
    mean = frame.rr.estimate("a").mean()
    assert abs(mean.value - 5) < 6.5 * mean.std_error < 6.5 * 0.2
    by = frame.rr.estimate("a", by="g")
    assert by["x"].mean().value < by["y"].mean().value
    with pytest.warns(LowPrecisionWarning):
        table = frame.rr.crosstab("a", "g").to_frame()
    assert table["proportion"].sum() == pytest.approx(1)
    assert rr.privacy.posterior([0], m, prior=[1 / 11] * 11).probabilities.argmax() == 0
    assert "device" in str(rr.privacy.instructions(m, "How often?"))
    assert rr.client.report(m, 3) in range(m.channel.m)
    assert mean.low == frame.rr.estimate("a").mean(range(11)).low
    pytest.importorskip("pyarrow")
    frame.rr.to_csv(tmp_path / "a.csv")
    read = rr.files.estimate_file(tmp_path / "a.csv")["a"]
    assert (mean.value, mean.std_error) == (read.mean().value, read.mean().std_error)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "epsilon", "prior"), [(5, 1, None), (11, 2, "worst-case")])
def test_the_interval_of_the_mean_covers(k, epsilon, prior):
    """At least 94.5% (95% at 1 in 1e9 of chance), for people of one answer, of two, and of all.

    1,000 surveys each: a coverage of 86% escapes once in 3,000.
    """
    scores = np.linspace(-1, 1, k)
    m, rng = optimal_matrix(k, epsilon, "mean", scores, prior), np.random.default_rng(2)
    for theta in (np.eye(k)[0], np.eye(k)[0] * 0.9 + np.eye(k)[-1] * 0.1, np.full(k, 1 / k)):
        drawn = rng.multinomial(400, m.channel.matrix @ theta, size=1000)
        ends = [rr.estimators.Estimate(rr.Tally.from_counts(one, m)).mean(scores) for one in drawn]
        hits = sum(end.low <= theta @ scores <= end.high for end in ends)
        chance.assert_at_least(hits, len(ends), 0.945)


# -- proportions and distributions ---------------------------------------------------------------


def test_proportions_are_by_label_reports():
    """k-RR to the last digit; for many categories Hadamard response, with the smaller variance."""
    for k, epsilon in [(2, 1), (5, 1), (11, 2), (32, 3)]:
        krr = rr.KRR(range(k), epsilon=epsilon)
        assert tuple(map(tuple, exact(optimal_matrix(k, epsilon)))) == krr.channel.entries
    m, krr = optimal_matrix(32, 1), rr.KRR(range(32), epsilon=1)
    absent = [one.channel.covariance(np.eye(32)[0], "population")[1, 1] for one in (m, krr)]
    assert absent[0] == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2, rel=0.05)
    assert absent[0] < absent[1] / 2
    assert {max(row) / min(row) for row in exact(m)} == {1, m.channel.max_likelihood_ratio}


def test_the_square_wave_is_exact():
    """Entries by the formula, brackets beyond both ends, and k-RR where it reaches none."""
    found = [
        optimal_matrix(k, e, "distribution").channel.m - k for k, e in [(32, 1), (32, 2), (11, 3)]
    ]
    assert [16, 8, 2] == found  # twice 32 b for b = 0.2562 and 0.1296; 11 b = 0.97
    assert [optimal_matrix(*one, "distribution") for one in [(5, 3), (11, 4)]] == [
        optimal_matrix(5, 3),
        optimal_matrix(11, 4),
    ]
    m = optimal_matrix(8, 1, "distribution")
    ratio, b = m.channel.max_likelihood_ratio, 2
    assert m.report_space.categories == tuple(range(-b, 8 + b))
    for report, row in zip(m.report_space.categories, exact(m), strict=True):
        for truth, x in enumerate(row):
            assert x * (5 * (ratio - 1) + 12) == (ratio if abs(report - truth) <= b else 1)


def test_smoothing_is_a_fixed_point_and_never_the_default():
    """The equation of EMS holds; with exact rates the maximum is the truth, which it is not."""
    k, m = 11, optimal_matrix(11, 1, "distribution")
    theta = np.diff(stats.beta(5, 2).cdf(np.linspace(0, 1, k + 1)))
    counts = (1e12 * m.channel.matrix @ theta).round().astype(int)
    est = rr.estimate(rr.Tally.from_counts(counts, m))
    plain, smooth = est.mle().proportions, est.mle(smoothing=True).proportions
    step = smooth * (counts / counts.sum() / (m.channel.matrix @ smooth) @ m.channel.matrix)
    inner = np.pad(step, 1)
    again = inner[:-2] / 4 + inner[1:-1] / 2 + inner[2:] / 4
    again[[0, 1, -2, -1]] += np.array([2 * step[0], step[0], step[-1], 2 * step[-1]]) / 12
    assert smooth == pytest.approx(again / again.sum(), abs=1e-8)
    assert smooth.sum() == pytest.approx(1)
    assert plain == pytest.approx(theta, abs=1e-4)
    assert abs(np.cumsum(smooth - theta)).sum() / k > 0.04
    assert est.mle(smoothing=True).method == "EM with smoothing"
    nobody = rr.estimators.Estimate(rr.Tally.from_counts(0 * counts, m)).mle(smoothing=True)
    assert np.isnan(nobody.proportions).all()
    classes = rr.MatrixDesign([0, 1, 2], np.eye(3), shows={0: "a", 1: "a", 2: "b"})
    with pytest.raises(ArgumentValueError, match="smoothing needs ordered categories"):
        rr.estimators.Estimate(rr.Tally.from_counts([3, 2, 1], classes)).mle(smoothing=True)


# Mean distance W1 on [0, 1] from Beta(5, 2) in 32 brackets, 5,000 people.
DISTANCES = {1: (0.088, 0.048, 0.024), 2: (0.027, 0.021, 0.010)}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", DISTANCES)
def test_the_distances_of_distributions_are_those_of_the_table(epsilon):
    """k-RR, subset selection and the square wave with smoothing, 300 surveys: within 10%."""
    k, n, rng = 32, 5000, np.random.default_rng(3)
    theta = np.diff(stats.beta(5, 2).cdf(np.linspace(0, 1, k + 1)))
    krr, subset = (
        rr.KRR(range(k), epsilon=epsilon),
        rr.mechanisms.SubsetSelection(range(k), epsilon=epsilon),
    )
    wave, found = optimal_matrix(k, epsilon, "distribution"), []
    for seed in range(300):
        answers = rng.choice(k, n, p=theta)
        kept = [rr.estimate(rr.simulate(answers, m, seed=seed), m) for m in (krr, subset, wave)]
        shares = kept[0].mle(), kept[1], kept[2].mle(smoothing=True)
        found.append([abs(np.cumsum(one.proportions - theta)).sum() / k for one in shares])
    assert DISTANCES[epsilon] == pytest.approx(np.mean(found, axis=0), rel=0.1)


# -- planning ------------------------------------------------------------------------------------


def test_the_interval_of_a_mean_is_planned():
    """Near 1.96 standard errors at large n; people is the inverse; ordinary designs, too."""
    theta, scores = np.array([0.1, 0.2, 0.3, 0.2, 0.2]), np.array([0, 1, 2, 5, 9])
    prices = []
    for m in (rr.KRR(range(5), epsilon=1), optimal_matrix(5, 1, "mean", scores)):
        covariance = m.channel.covariance(theta, "population") / 4000
        width = planning.half_width(4000, theta, m, scores=scores)
        assert width == pytest.approx(1.96 * np.sqrt(scores @ covariance @ scores), rel=0.01)
        assert abs(planning.sample_size(width, theta, m, scores=scores) - 4000) <= 3
        assert planning.half_width(4000, theta, m, scores=scores, target="sample") < width
        prices.append(planning.sample_size(0.5, theta, m, scores=dict(enumerate(scores))))
    assert prices[0] > 1.5 * prices[1]
    found = planning.least_epsilon(1, 2000, theta, 5, scores=scores)
    krr = rr.KRR(range(5), epsilon=found)
    assert planning.half_width(2000, theta, krr, scores=scores) == pytest.approx(1)
    z = 1.959963984540054  # 1e-5: beyond 2**40 people, about z^2 v / h^2
    many = z**2 * 4000 * (scores @ covariance @ scores) / 1e-5**2
    with pytest.raises(ArgumentValueError, match=re.escape(f"about {many:.2g} people")):
        planning.sample_size(1e-5, theta, m, scores=scores)
    for wrong in ({"half_width": 4.5}, {"proportion": [0.5, 0.5]}, {"scores": [1, 2]}):
        given = {"half_width": 1, "proportion": theta, "scores": scores} | wrong
        with pytest.raises(ArgumentValueError, match=f"{next(iter(wrong))} must"):
            planning.sample_size(mechanism=m, **given)


@pytest.mark.parametrize(("k", "first"), [(5, 3), (11, 4)])
def test_krr_is_recommended_from_where_it_is_as_good(k, first):
    """The mean: from epsilon 3 for 5 categories, from 4 for 11, as the variances say."""
    for epsilon in (first - 1, first):
        advice = planning.recommend(k, epsilon, 1000, goal="mean")
        table = advice.table.set_index("mechanism")
        assert ("KRR" if epsilon >= first else "MatrixDesign") == advice.best
        assert f"From epsilon {first} on KRR is as good" in " ".join(advice.reason.split())
        krr, matrix = table["variance"]["KRR"], table["variance"]["MatrixDesign"]
        assert (krr <= 1.15 * matrix) == (epsilon >= first)
        assert matrix == pytest.approx(
            variance(optimal_matrix(k, epsilon, "mean"), np.arange(k))[0]
        )
        price = table["people"]["KRR"] / table["people"]["MatrixDesign"]
        assert price == pytest.approx(krr / matrix, rel=0.01)
        more = f"{100 * (krr / matrix - 1):.2g}% more people, compared with"
        needs = more if krr > 1.001 * matrix else "no more people than"
        assert f"KRR needs {needs} MatrixDesign" in " ".join(advice.reason.split())
        assert advice.mechanism([f"level {i}" for i in range(k)]).epsilon <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "best", "ratio"), [(11, "MatrixDesign", 60 / 32), (12, "KRR", 1)]
)
def test_krr_is_as_good_from_epsilon_12_at_the_latest(epsilon, best, ratio):
    """If all give the middle answer of 9: k-RR has 60 / 32 times the variance of the two ends.

    Its lies are at -4 to 4, with squares that sum to 60; those of a report of the ends to 32.
    """
    advice = planning.recommend(9, epsilon, goal="mean", proportions=np.eye(9)[4])
    assert "From epsilon 12 on KRR is as good" in " ".join(advice.reason.split())
    assert best == advice.best
    found = advice.table.set_index("mechanism")["ratio"]["KRR"]
    assert ratio == pytest.approx(found, rel=0.05)


def test_the_distance_of_a_distribution_is_that_of_simulated_surveys():
    """Unbiased proportions of 500 surveys, W1 on [0, 1]; k-RR for few brackets."""
    k, n, rng = 32, 3000, np.random.default_rng(4)
    theta = np.linspace(1, 3, k) / np.linspace(1, 3, k).sum()
    advice = planning.recommend(k, 1, n, proportions=theta, goal="distribution")
    assert advice.best == "MatrixDesign"
    few = planning.recommend(5, 0.5, goal="distribution")
    assert few.best == "KRR"
    assert "From epsilon 0.5 on KRR is as good" in " ".join(few.reason.split())
    for name, m in advice.mechanisms.items():
        rates = rng.multinomial(n, m.channel.matrix @ theta, size=500) / n
        distance = abs(np.cumsum(m.channel.solve(rates) - theta, axis=1)).sum(axis=1).mean() / k
        expected = advice.table.set_index("mechanism")["std_error"][name]
        assert distance == pytest.approx(expected, rel=0.06)
    for question in ("distribution", "proportions"):
        with pytest.raises(ArgumentValueError, match="scores and prior belong to goal 'mean'"):
            planning.recommend(3, 1, goal=question, scores=[1, 2, 3])


# -- bad input -----------------------------------------------------------------------------------

SCORED = {"scores": [1, 2, 3]}
WRONG = [
    ({"epsilon": 1e-7}, "epsilon must be at least 1e-05"),
    ({"epsilon": 800.0}, "the largest possible is"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"goal": "median"}, "goal must be one of"),
    ({"scores": [1, 2]}, "scores must have 3 numbers"),
    ({"scores": [1, 2, math.inf]}, "scores must be finite"),
    ({"scores": [2, 2, 2]}, "scores must differ"),
    ({"scores": {"a": 1, "b": 2}}, "scores must map each of the"),
    ({"scores": {"a": 1, "b": 2, "c": 3, "d": 4}}, "scores must map each of the"),
    ({}, "scores must map each of the"),
    (SCORED | {"prior": [0.5, 0.5]}, "prior must have 3 numbers"),
    (SCORED | {"prior": [0.5, 0.6, 0.1]}, "prior must sum to 1"),
    (SCORED | {"prior": [-0.5, 1, 0.5]}, "prior must be finite numbers of at least 0"),
    (SCORED | {"prior": "worst"}, "prior must be one of ..worst-case"),
    (SCORED | {"goal": "proportions"}, "belong to goal 'mean'"),
    ({"prior": [1, 0, 0], "goal": "distribution"}, "belong to goal 'mean'"),
]


@pytest.mark.parametrize(("wrong", "match"), WRONG)
def test_wrong_arguments_are_named(wrong, match):
    """The argument, the rule and what was found."""
    given = {"categories": list("abc"), "epsilon": 1.0, "goal": "mean"} | wrong
    with pytest.raises((ArgumentValueError, ArgumentTypeError), match=match):
        optimal_matrix(**given)


def test_a_programme_that_fails_says_what_is_possible(monkeypatch):
    """The solver's message, what was asked, and what to do."""
    ended = scipy.optimize.OptimizeResult(success=False, message="out of time")
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: ended)
    with pytest.raises(ArgumentValueError, match=r"of 5 scores at epsilon 1: .*'out of time'; use"):
        optimal_matrix(5, 1, "mean")


@pytest.mark.slow
def test_32_categories_are_solved_in_time():
    """All questions in under 5 seconds of the processor (here a fifth of that)."""
    begin = time.process_time()
    for question in QUESTIONS:
        optimal_matrix(32, 1, question)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("question", ["proportions", "mean", "distribution"])
def test_expected_proportions_belong_to_their_categories(question):
    """A mapping or a Series in another order recommends the same as the list in theirs."""
    labels, shares = ["d", "a", "c", "b"], [0.6, 0.25, 0.1, 0.05]
    options = {"goal": question} | ({"scores": [1, 9, 4, 2]} if question == "mean" else {})
    expected = planning.recommend(labels, 1.1, proportions=shares, **options).to_frame()
    backwards = dict(reversed(list(zip(labels, shares, strict=True))))
    for proportions in (backwards, pd.Series(backwards)):
        advice = planning.recommend(labels, 1.1, proportions=proportions, **options)
        pd.testing.assert_frame_equal(expected, advice.to_frame())
    refused(ArgumentValueError, "labels in proportions are not among", planning.recommend,
            labels, 1.1, proportions={"z": 1.0}, **options)  # fmt: skip


@pytest.mark.parametrize("epsilon", [1, 3, 5, 7, 9, 11])
@pytest.mark.parametrize("k", [3, 5, 9])
def test_the_least_variance_of_one_answer_is_that_of_two_reports(k, epsilon):
    """Everybody at one end: 4 e^epsilon / (e^epsilon - 1)^2, of reports of Duchi's value."""
    least = least_variance(np.linspace(-1, 1, k), epsilon, np.eye(k)[0])
    assert least == pytest.approx(4 * np.exp(epsilon) / np.expm1(epsilon) ** 2, rel=2e-3)


@pytest.mark.parametrize("k", [3, 5, 9])
def test_krr_is_not_as_good_before_it_is_the_design(k):
    """For answers at one end k-RR needs more people up to epsilon 12, from which it is taken."""
    everybody = np.eye(k)[0]
    advice = planning.recommend(k, 2, goal="mean", proportions=everybody)
    assert "From epsilon 12 on KRR is as good" in " ".join(advice.reason.split())
    scores = np.arange(k, dtype=float)
    prob = float(rr.KRR(range(k), epsilon=11).prob)
    other = (1 - prob) / (k - 1)
    values = (scores - other * scores.sum()) / (prob - other)  # of the reports; the truth is 0
    krr_variance = prob * values[0] ** 2 + other * (values[1:] ** 2).sum()
    assert krr_variance > 1.15 * least_variance(scores, 11, everybody)
