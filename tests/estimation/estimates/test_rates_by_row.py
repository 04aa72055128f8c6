"""Probabilities that differ by row: the release and the estimate."""

import itertools
import json
from dataclasses import replace

import chance
import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting, Recorded, Scripted

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    NotIdentifiableError,
)
from rrstats.mechanisms import records as column_records
from rrstats.randomness.sources import BLOCK_ROWS, REPLACEMENT_STREAM
from rrstats.statement import statement

XY, XYZ = ["x", "y"], ["x", "y", "z"]
PROBS = [0.5, 0.75, 0.6, 1 / 3, 0.7310585786300048, 1 - 2**-53, 2**-40, 3 * 2**-70]


# -- the release -------------------------------------------------------------------------------


def _frame(answers, **columns):
    return pd.DataFrame({"a": answers, "p": [0.5, 0.75, 0.9, 0.6]} | columns)


def test_a_release_keeps_the_public_column_and_records_the_largest_epsilon():
    """Copied as it is, named in the record, reported by the maximum; of epsilon= as well."""
    frame = _frame(["x", "y", "z", None], e=[1.0, 0.5, 2.0, 0.1])
    for given, largest in (({"prob": "p"}, 0.9), ({"epsilon": "e"}, rr.KRR(XYZ, epsilon=2).prob)):
        released = frame.rr.privatize("a", ["x", "y", "z"], **given, unknown="uniform")
        assert released[["p", "e"]].equals(frame[["p", "e"]])
        (record,) = column_records.read(released.attrs)
        assert (record.by_row, record.mechanism["prob"]) == (given, largest)
        assert column_records.read(json.loads(json.dumps(released.attrs))) == [record]
        most = rr.KRR(["x", "y", "z"], largest)
        assert released.rr.epsilon == most.epsilon == released.rr.estimate(["a"]).epsilon
        assert released.rr.budget(max_rows_per_person=2).epsilon == pytest.approx(2 * most.epsilon)
        assert "differs from row to row, as column" in statement([record])
    series = rr.privatize(frame["a"], ["x", "y", "z"], prob=frame["p"], unknown="uniform")
    assert column_records.find(series.attrs, "a").by_row == {"prob": "p"}


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pd.Categorical, pd.Index])
def test_reports_use_the_probability_of_their_own_row_across_blocks(make):
    """A script: coin words between the thresholds of neighbouring rows, in every container."""
    n = BLOCK_ROWS + 3 if make is np.array else 9
    probs = np.resize([0.5, 0.75], n)
    words = {0: [np.full(n, int(0.6 * 2**64), np.uint64)], REPLACEMENT_STREAM: [np.zeros(n)]}
    made = rr.privatize(make(["no"] * n), ["no", "yes"], prob=probs, rng=Scripted(words, 64))
    assert list(made) == ["yes", "no"] * (n // 2) + ["yes"] * (n % 2)


def test_a_release_tells_nothing_but_reports():
    """The same words, dtypes, attrs and public columns for all answers, missing ones included."""
    seen = []
    for answers in (["x"] * 4, ["y"] * 4, [None, "x", "?", "y"]):
        source = Recorded(Counting(5))
        options = {"prob": "p", "rng": source, "unknown": "uniform"}
        made = _frame(pd.Series(answers, dtype=object)).rr.privatize("a", ["x", "y"], **options)
        seen.append((source.addresses, made.attrs, made.dtypes.tolist(), made["p"].tolist()))
    assert seen[0] == seen[1] == seen[2]


TWO = {"x": rr.KRR(XY, 0.7), "y": rr.KRR(XY, 0.7)}
CLUSTERS = rr.SampleDesign(clusters=[1, 1, 2, 2])
T, V, N = ArgumentTypeError, ArgumentValueError, NotIdentifiableError
BAD = [
    (lambda f: f.rr.privatize("a", XYZ, prob="q"), V, "column 'q' is not there"),
    (lambda f: f.rr.privatize("p", XYZ, prob="p"), V, "must be a public column"),
    (lambda f: f.rr.privatize("a", XYZ, prob="p", epsilon=1.0), T, "found prob"),
    (lambda f: f.rr.privatize("a", XYZ, prob=f["p"]), T, "name of a column of the frame"),
    (lambda f: f.rr.privatize("a", XYZ, prob="a"), T, "prob must be numbers"),
    (lambda f: f.rr.privatize("a", XY, prob="low"), V, "1 of 4 rows .* 2 where"),
    (lambda f: f.rr.privatize("a", XY, epsilon="low"), V, "1 of 4 rows .* 1 w"),
    (lambda f: f.rr.privatize("a", rr.KRR(XY, 0.6), prob="p"), T, "mechanism"),
    (lambda f: f.rr.privatize({"a": rr.KRR(XY, 0.6)}, prob="p"), T, "leave prob"),
    (
        lambda f: f.rr.privatize("a", XY, prob="p", key=rr.client.Keyed(rr.client.new_key(), "p")),
        T,
        "leave key out",
    ),
    (lambda f: f.rr.privatize("a", XY, prob="p", again=True), T, "leave again"),
    (lambda f: rr.privatize(f["a"], XY, prob=[0.6]), V, "each of the 4 rows"),
    (lambda f: rr.privatize(f["a"], XY, prob=f["p"][::-1]), V, "same index"),
    (lambda f: rr.KRR(XY, [0.6, 0.7]), T, "prob must be a number"),
    (lambda f: rr.tally(f["r"], XY, prob=f["p"]), V, "differs from row to row"),
    (lambda f: rr.estimate(f["r"], XY, prob=f["p"]), N, "1 of 4 reports"),
    (lambda f: rr.estimate(f["r"], XY, prob=[0.5] * 4), N, "no inf"),
    (lambda f: rr.estimate(f["r"], XY, prob=f["p"], weighting="precision"), T, "logit"),
    (lambda f: rr.estimate(f["r"], XY, prob=f["p"], design=CLUSTERS), V, "strata"),
    (
        lambda f: rr.estimate(f["r"], XY, prob=f["p"], design=rr.SampleDesign(population=9)),
        V,
        "pop",
    ),
    (lambda f: rr.estimate(f["r"], XY, prob=[0.7] * 4, weights=f["p"], target="sample"), V, "popu"),
    (lambda f: rr.logit(f["r"], f[["p"]], mechanism=XY, prob=0.7), T, "or one for each row"),
    (lambda f: rr.estimate(f["r"], XY, [0.7] * 4, target="sample").interval(method="w"), V, "one"),
    (lambda f: rr.estimate(f["a"], XY, prob=f["p"][:3]), V, "index"),
]


@pytest.mark.parametrize(("call", "error", "match"), BAD)
def test_bad_columns_are_refused(call, error, match):
    """Before anything is drawn, with what was found; never an answer."""
    frame = _frame(["secret"] * 4, low=[0.2, np.nan, -0.1, 0.7], r=["x", "y", "x", "x"])
    assert "secret" not in refused(error, match, call, frame)


def test_analyses_that_need_one_mechanism_refuse_the_record():
    """The mechanism of the largest epsilon is never used for an estimate by silence."""
    made = _frame(["x", "y", "x", "x"], y=[1.0, 2.0, 3.0, 5.0]).rr.privatize("a", XY, prob="p")
    calls = [
        lambda: rr.estimate(made["a"]),
        lambda: made.rr.mechanisms["a"],
        lambda: rr.means(made["y"], made["a"]),
        lambda: rr.logit(made["a"], made[["y"]]),
        lambda: made.rr.estimate("a", rr.KRR(XY, 0.9)),
        lambda: made.rr.estimate("a", ["x", "other"]),
        lambda: made.rr.privatize("a", XY, 0.75, again=True),
    ]
    for call in calls:
        refused(MetadataError, r"in column 'p'|contradicts the col|once more", call)
    refused(ArgumentValueError, "differs from row to row", made.rr.tally, "a")
    refused(ArgumentValueError, "column 'p' is not there", made.drop(columns="p").rr.estimate, "a")
    assert repr(made.rr.mechanisms) == "{'a': 'prob differs by row'}"


# -- the estimate --------------------------------------------------------------------------------


def _worlds(k, states):
    """Rows' states (chance, prob, truth, report), and the chance of each combination of rows."""
    for combination in itertools.product(*states):
        yield combination, float(np.prod([state[0] for state in combination]))


def _reported(prob, truth, k, chance=1.0):
    """The states of a row: its report with the probabilities of k-RR."""
    return [
        (chance * (prob if report == truth else (1 - prob) / (k - 1)), prob, truth, report)
        for report in range(k)
    ]


def _moments(k, states, **options):
    """Mean of the proportions, their covariance, and the mean of both covariances, enumerated."""
    found = []
    for rows, weight in _worlds(k, states):
        _, probs, _, reports = zip(*rows, strict=True)
        one = rr.estimate(list(reports), range(k), prob=list(probs), **options)
        spread = [replace(one, target=target).covariance for target in ("population", "sample")]
        found.append((weight, one.proportions, *spread, one.moments.randomization_variance))
    chances, points, *spreads = (np.array(part) for part in zip(*found, strict=True))
    assert chances.sum() == pytest.approx(1)
    mean = chances @ points
    around = points - mean
    own = np.einsum("c,ci,cj->ij", chances, around, around)
    return mean, own, *(np.tensordot(chances, spread, 1) for spread in spreads)


def test_rows_estimates_and_variances_are_unbiased_by_enumeration():
    """All 27 reports of three people with probabilities of their own."""
    states = [_reported(p, t, 3) for p, t in ((0.5, 0), (0.9, 2), (0.7, 2))]
    mean, own, _, about_rows, _ = _moments(3, states)
    np.testing.assert_allclose(mean, [1 / 3, 0, 2 / 3], atol=1e-12)
    np.testing.assert_allclose(about_rows, own, atol=1e-12)


def test_equal_weights_are_unbiased_where_truth_and_probability_go_together():
    """Two people, drawn with a probability that depends on the answer: 64 worlds of k = 2."""
    one = [
        state
        for prob, truth, chance in ((0.6, 0, 0.4), (0.6, 1, 0.1), (0.9, 0, 0.2), (0.9, 1, 0.3))
        for state in _reported(prob, truth, 2, chance)
    ]
    mean, own, population, _, _ = _moments(2, [one, one])
    np.testing.assert_allclose(mean, [0.6, 0.4], atol=1e-12)
    np.testing.assert_allclose(population, own, atol=1e-12)


@pytest.mark.parametrize("target", ["population", "sample"])
def test_equal_probabilities_give_the_estimate_of_their_mechanism(target):
    """Proportions, covariances and intervals; those of the rows up to their whole numbers."""
    reports = ["a"] * 500 + ["b"] * 300 + ["c"] * 200
    plain = rr.estimate(reports, list("abc"), 0.7, target=target)
    found = rr.estimate(reports, list("abc"), prob=[0.7] * 1000, target=target)
    np.testing.assert_allclose(found.proportions, plain.proportions, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-9, atol=1e-15)
    close = {"atol": 0.0015} if target == "sample" else {"rtol": 1e-9}
    np.testing.assert_allclose(found.interval(), plain.interval(), **close)
    if target == "sample":  # half a report is 0.5 / (1000 * 0.55)
        margin = found.proportions - found.interval().low
        np.testing.assert_allclose(margin, 1.959964 * found.std_error + 0.5 / 550, rtol=1e-6)
    assert found.effective_n.round(6).tolist() == [1000] * 3
    assert found.interpret("c")[:20] == plain.interpret("c")[:20]
    assert repr(found).startswith("Estimate: target")


def test_groups_and_their_differences_are_those_of_separate_estimates():
    """by= on a released frame, a Difference of two, and missing reports counted."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.choice(XYZ, 600), "p": rng.uniform(0.4, 0.9, 600)})
    made = frame.assign(g=np.resize(["f", "m"], 600)).rr.simulate("a", XYZ, "p", seed=5)
    made.loc[:9, "a"] = None
    groups = made.rr.estimate("a", by="g")
    for name, mine in made.groupby("g"):
        alone = rr.estimate(mine["a"].tolist(), XYZ, prob=mine["p"].tolist())
        np.testing.assert_allclose(groups[name].covariance, alone.covariance)
        np.testing.assert_allclose(groups[name].interval(), alone.interval())
        assert (alone.n, alone.n_missing) == (295, 5)
    for one in groups.values():  # no group counts for more than its reports
        assert (one.effective_n <= 295).all()
        assert (one.effective_n < 294).any()
    apart = rr.difference(groups["f"], groups["m"])
    expected = np.sqrt(groups["f"].variance + groups["m"].variance)
    np.testing.assert_allclose(apart.std_error, expected)
    assert len(groups.to_frame()) == 6
    assert "every row counts" in groups.notes[0]


def test_sums_give_the_variances_of_weighted_scores():
    """The plain formulas, row by row; the rows' scores are those of their own k-RR."""
    rng = np.random.default_rng(4)
    probs, reports = rng.uniform(0.4, 0.9, 80), rng.choice([0, 0, 1, 2], 80).tolist()
    scores = rr.estimators.debias_reports(reports, range(3), probs)
    np.testing.assert_allclose(
        scores[7], rr.estimators.debias_reports(reports[7:8], range(3), probs[7])[0]
    )
    w = np.full(80, 1 / 80)
    found = rr.estimate(reports, range(3), prob=probs)
    mean = w @ scores
    around = w[:, None] * (scores - mean)
    noise = (w**2 * scores.T) @ scores - np.diag(w**2 @ scores)
    drawn = (np.sum(w**2) - 1 / 80) * (np.diag(mean) - np.outer(mean, mean))
    np.testing.assert_allclose(found.proportions, mean)
    np.testing.assert_allclose(found.covariance, around.T @ around * 80 / 79, rtol=1e-9)
    np.testing.assert_allclose(replace(found, target="sample").covariance, noise + drawn, rtol=1e-9)
    np.testing.assert_allclose(found.moments.randomization_variance, np.diag(noise), rtol=1e-9)


@pytest.mark.parametrize(("high", "ratio"), [(0.2, 1.02), (0.9, 4.33)])
def test_a_likelihood_is_at_least_as_precise_as_precision_weights(high, ratio):
    """Rates of random answers uniform from 0.02 on (prob = 1 - rate / 2, k = 2), proportion 0.214.

    With gap = 1 - rate a score has variance v = 1/(4 gap^2) - (1/2 - 0.214)^2, and equal weights
    have E(v) E(gap^2)^2 / E(gap^4 v) = 1.024 and 4.336 times the variance of weights gap^2, which
    assume what a logit without covariates assumes; its variance is no larger.
    """
    pytest.importorskip("formulaic")
    n = 40_000
    rates = 0.02 + (np.arange(n) + 0.5) / n * (high - 0.02)
    gap2, v = (1 - rates) ** 2, 0.25 / (1 - rates) ** 2 - 0.286**2
    exact = v.mean() * gap2.mean() ** 2 / (gap2**2 * v).mean()
    assert exact == pytest.approx(ratio, abs=0.01)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": (rng.random(n) < 0.214).astype(int), "p": 1 - rates / 2})
    made = frame.rr.simulate("a", [0, 1], prob="p", seed=2)
    equal = made.rr.estimate("a")
    assert equal.variance[1] == pytest.approx(v.mean() / n, rel=0.02)
    assert abs(equal.proportions[1] - 0.214) < 5 * equal.std_error[1]
    fit = made.rr.logit("a ~ 1", baseline=0)
    proportion = 1 / (1 + np.exp(-fit.params.iloc[0]))
    std_error = fit.bse.iloc[0] * proportion * (1 - proportion)
    assert equal.variance[1] / std_error**2 > 0.97 * exact
    assert abs(proportion - 0.214) < 5 * std_error


def test_reports_that_no_truth_explains_are_said():
    """True answers that were never randomized, all of one category."""
    with pytest.warns(rr.errors.ImplausibleReportsWarning):
        rr.estimate(["a"] * 400, list("ab"), prob=np.linspace(0.6, 0.9, 400))
    assert np.isnan(rr.estimate([], list("ab"), prob=[]).proportions).all()


@pytest.mark.parametrize("k", [2, 3, 4, 6, 7])
def test_rows_at_one_over_k_are_refused_if_they_are_used(k):
    """At 1/3, 1/6 and 1/7 rounding leaves a gap of the probabilities, which is no information."""
    rng = np.random.default_rng(k)
    probs = np.append(np.full(3, 1 / k), rng.uniform(0.6, 0.9, 897))
    reports = rng.integers(0, k, 900)
    values = rng.normal(size=900)
    design = rr.SampleDesign(clusters=np.arange(900) // 5)
    analyses = (
        lambda x: rr.estimate(reports, range(k), probs),
        lambda x: rr.means(x, reports, range(k), probs).to_frame(),
        lambda x: rr.means(x, reports, range(k), probs, design=design).to_frame(),
        lambda x: rr.quantiles(x, reports, range(k), probs).to_frame(),
        lambda x: rr.quantiles(x, reports, range(k), probs, design=design).to_frame(),
    )
    for analyse in analyses:
        refused(NotIdentifiableError, f"3 of 900 reports .* is 1/{k}", analyse, values)
    left_out = np.append(np.full(3, np.nan), values[3:])
    for analyse in analyses[1:]:
        frame = analyse(left_out)
        assert frame["n"].unique().tolist() == [897]
    plain = rr.means(values[3:], reports[3:], range(k), probs[3:]).to_frame()
    for name in ("mean", "std_error", "low", "high"):
        assert np.allclose(plain[name], analyses[1](left_out)[name], rtol=1e-12, atol=0), name


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_missing_report_at_one_over_k_hides_no_implausible_ones(k):
    """Such a row has no score, so that it bounds none: reports are judged without it."""
    rng = np.random.default_rng(k)
    probs = np.append(1 / k, rng.uniform(0.8, 0.9, 400))
    answers = np.append(np.nan, rng.integers(0, k, 400))
    for reports in (np.append(np.nan, np.zeros(400)), answers):
        complete, missing = (
            rr.estimate(reports[rows], range(k), probs[rows])
            for rows in (slice(1, None), slice(None))
        )
        expected = complete.moments.implausible.tolist()
        assert expected == missing.moments.implausible.tolist()
        assert expected[0] == (reports is not answers)


@pytest.mark.slow
def test_intervals_cover():
    """At least 95% up to 1%, small and large n, both targets; also where truth goes with prob.

    Coverage of 94% fails once in 1e9 (all comparisons); one of 85% in a case escapes once
    in 1,200, and one of 92% on the average of the 16 cases of a target once in 3,400.
    """
    rng, trials, total = np.random.default_rng(11), 1000, np.zeros(2, int)
    cases = list(itertools.product((60, 400), (0.03, 0.3), (0.2, 0.9), (False, True)))
    for n, share, high, together in cases:
        hits = np.zeros(2)
        for _ in range(trials):
            rates = rng.uniform(0.02, high, n)
            chance_of = 2 * share * (rates - 0.02) / (high - 0.02) if together else share
            answers = (rng.random(n) < chance_of).astype(int)
            kept = rng.random(n) > rates
            reports = np.where(kept, answers, rng.integers(0, 3, n))
            estimate = rr.estimate(reports, range(3), prob=1 - rates * 2 / 3)
            targets = (("population", share), ("sample", answers.mean()))
            for place, (target, truth) in enumerate(targets):
                low, high_end = replace(estimate, target=target).interval()
                hits[place] += low[1] - 1e-9 <= truth <= high_end[1] + 1e-9
        total += hits.astype(int)
        for hit in hits.astype(int).tolist():
            chance.assert_at_least(hit, trials, 0.94, tests=34)
    for hit in total.tolist():
        chance.assert_at_least(hit, trials * len(cases), 0.94, tests=34)


@pytest.mark.parametrize("given", [{"prob": "p"}, {"epsilon": "e"}])
def test_a_row_above_the_recorded_largest_is_refused(given):
    """Such a column is not that of the release, and epsilon would be understated."""
    frame = _frame(["x", "y", "z", None] * 5, p=[0.5, 0.75, 0.9, 0.6] * 5, e=[1.0, 0.5, 2, 0.1] * 5)
    released = frame.rr.privatize("a", XYZ, **given, unknown="uniform")
    ((key, column),) = given.items()
    known = released.rr.epsilon
    higher = released.assign(**{column: released[column] * 1.05})
    wild = released.assign(**{column: released[column] + 50})
    for changed in (higher, wild):
        for call in (
            lambda frame: frame.rr.epsilon,
            lambda frame: frame.rr.budget(),
            lambda frame: frame.rr.carry(released),
        ):
            rule = f"the {key} of some row in column '{column}' is above"
            refused(MetadataError, rule, call, changed)
    for call in (
        lambda: higher.rr.estimate("a"),
        lambda: higher.rr.estimate("a", by="p"),
        lambda: higher.rr.means("p", by="a"),
        lambda: rr.estimate(released["a"], **{key: higher[column]}),
    ):
        refused(MetadataError, "is above the largest with which", call)
    # Fewer rows, lower values and the last digit of a number read from text are no contradiction.
    most = released[column] == released[column].max()
    assert released[~most].rr.epsilon == known
    text = released.assign(**{column: np.nextafter(released[column], np.inf)})
    assert text.rr.epsilon == known
    assert released.drop(columns=column).rr.epsilon == known
    gaps = released.assign(**{column: released[column].where(released.index > 3)})
    assert gaps.rr.epsilon == known


# -- weights -----------------------------------------------------------------------------------


def _weighted(k, n=300, seed=3):
    """Reports, some missing, with weights and groups."""
    rng = np.random.default_rng(seed)
    categories = list("abc"[:k])
    reports = rng.choice(categories, n).astype(object)
    reports[rng.random(n) < 0.05] = None
    return categories, reports, rng.uniform(1, 4, n), rng.choice(["u", "v"], n)


@pytest.mark.parametrize("k", [2, 3])
def test_weights_of_rows_of_one_prob_are_the_ordinary_ones(k):
    """Rows of one prob have the estimate, variances, totals and intervals of one mechanism."""
    categories, reports, weights, group = _weighted(k)
    rows, plain = (
        rr.estimate(reports, categories, prob, weights=weights) for prob in (np.full(300, 0.7), 0.7)
    )
    for name in ("proportions", "covariance", "std_error", "naive"):
        assert np.allclose(getattr(plain, name), getattr(rows, name), rtol=1e-12, atol=0), name
    # Where the variance is larger than a model's, that model is here one of all rows together.
    assert np.allclose(plain.effective_n, rows.effective_n, rtol=1e-3)
    for name in ("totals", "total_std_error", "support", "df", "weight"):
        expected, value = (getattr(each.moments, name) for each in (plain, rows))
        assert np.allclose(expected, value, rtol=1e-12, atol=0), name
    assert np.allclose(plain.interval(), rows.interval(), rtol=1e-3)
    by_rows, by_plain = (
        rr.estimate(reports, categories, prob, weights=weights, by=group)
        for prob in (np.full(300, 0.7), 0.7)
    )
    assert np.allclose(by_plain["u"].std_error, by_rows["u"].std_error, rtol=1e-12)
    assert np.allclose(by_plain["u"].interval(), by_rows["u"].interval(), rtol=2e-3)
    assert "sum of weights" in repr(rows)
    assert "counts by its weight" in repr(rows)


def test_weights_of_one_are_no_weights():
    """Weights that are all alike change neither the estimate nor its variance."""
    categories, reports, _, _ = _weighted(3)
    probs = np.random.default_rng(1).uniform(0.5, 0.95, 300)
    complete = pd.notna(reports)
    plain, weighted = (
        rr.estimate(reports[complete], categories, probs[complete], **options)
        for options in ({}, {"weights": np.full(int(complete.sum()), 2.5)})
    )
    assert np.allclose(plain.proportions, weighted.proportions, rtol=1e-13)
    assert np.allclose(plain.covariance, weighted.covariance, rtol=1e-12)
    assert np.allclose(plain.interval(), weighted.interval(), rtol=1e-9)


def test_weighted_estimates_are_unbiased_for_the_weighted_rows():
    """All 2^5 reports of five people: the mean is the weighted proportion of the truth."""
    truth = np.array([1, 0, 1, 1, 0])
    probs = np.array([0.6, 0.9, 0.75, 0.55, 0.8])
    weights = np.array([1.0, 3.0, 2.0, 5.0, 0.5])
    mean = 0.0
    for reports in itertools.product([0, 1], repeat=5):
        chance_of = np.where(np.array(reports) == truth, probs, 1 - probs).prod()
        estimate = rr.estimate([XY[code] for code in reports], XY, probs, weights=weights)
        mean += chance_of * estimate.proportions[1]
    assert mean == pytest.approx(weights @ truth / weights.sum(), rel=1e-12)


@pytest.mark.slow
def test_weighted_intervals_cover():
    """In 2,000 surveys of 400 with weights and three probs, 95% intervals cover 93% or more."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(2000):
        rich = rng.random(400) < 0.3
        weights = np.where(rich, 0.5, 2.0)  # the rich were drawn four times as often
        truth = rng.random(400) < np.where(rich, 0.4, 0.1)
        probs = rng.choice([0.6, 0.75, 0.95], 400)
        reports = np.where(rng.random(400) < probs, truth, ~truth)
        estimate = rr.estimate(np.where(reports, "y", "x"), XY, probs, weights=weights)
        low, high = (end[1] for end in estimate.interval())
        exact = (0.3 * 0.5 * 0.4 + 0.7 * 2 * 0.1) / (0.3 * 0.5 + 0.7 * 2)
        hits += low <= exact <= high
    chance.assert_at_least(hits, 2000, 0.93)
