"""Moments of columns of which a plan asked each row a part, and their correlations."""

import itertools

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentValueError, MetadataError
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.estimation.tallies.part_scores import PartScores
from rrstats.estimation.tallies.score_moments import ColumnGroup, GroupMoments

NAMES = ["a", "b", "c"]
PAIRS = list(itertools.combinations(NAMES, 2))
COLUMNS = {"a": [0, 1], "b": [1, 2, 4], "c": ["u", "v"]}


def answers(n, seed=1):
    """True answers that go together, and an ordinary number."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    frame = pd.DataFrame({"a": (z + rng.normal(size=n) > 0).astype(int)})
    frame["b"] = np.array([1, 2, 4])[np.digitize(z + rng.normal(size=n), [-0.5, 0.7])]
    frame["c"] = np.where(frame["a"] + rng.normal(size=n) > 1, "u", "v")
    return frame.assign(age=30 + 5 * z + rng.normal(size=n))


@pytest.fixture(scope="module")
def mixed():
    """Reports of a plan with two columns alone, all pairs, and unequal chances."""
    plan = rr.planning.FramePlan(COLUMNS, 2, ["a", "c", *PAIRS], chances=[2, 1, 1, 2, 3])
    return rr.simulate(answers(2000), plan, seed=1)


def influence_of(moments, coefficients):
    """(n, p) the influence of each row on the second moments times coefficients."""
    return np.hstack(list(moments.all_pairs().influences(coefficients))).T


def influence_of_means(moments):
    """(n, p) the influence of each row on the means."""
    every_row = slice(0, len(moments.weights))
    return np.vstack([group.influence(every_row) for group in moments.groups]).T


def opened(frame, *names):
    """Private columns of a frame."""
    return ReportFrame.of(frame).joint(names, parts=True)


# -- the kernel --------------------------------------------------------------------------------


def test_moments_of_columns_asked_of_all_are_the_ordinary_ones():
    """Where each row has all columns, moments and their covariances are those without a plan."""
    frame = answers(500)
    for name, categories in COLUMNS.items():
        frame = frame.rr.simulate(name, categories, epsilon=2, seed=2)
    columns = opened(frame, *NAMES)
    numbers = [np.array([-1.0, 1.0]), np.array([-1.0, -1 / 3, 1.0]), np.array([-1.0, 1.0])]
    scores = [column.scores() for column in columns]
    x, squares = (
        [score @ number**power for score, number in zip(scores, numbers, strict=True)]
        for power in (1, 2)
    )
    n = len(frame)
    groups = [ColumnGroup(place, x[:, None], None) for place, x in enumerate(numbers)]
    parts = GroupMoments.of(PartScores.of(columns), groups, np.ones(n))
    for i, j in itertools.combinations(range(3), 2):
        of_rows = np.array([x[i] * x[j], x[i], x[j], squares[i], squares[j]])
        mean = of_rows.mean(axis=1)
        covariance = np.cov(of_rows) / n
        second = [parts.all_pairs().second[place] for place in ((i, j), (i, i), (j, j))]
        assert np.allclose(mean, [second[0], *parts.mean[[i, j]], *second[1:]])
        influence = [
            influence_of(parts, np.eye(3)[j])[:, i],
            *influence_of_means(parts)[:, [i, j]].T,
        ]
        influence += [influence_of(parts, np.eye(3)[place])[:, place] for place in (i, j)]
        assert np.allclose(covariance, np.array(influence) @ np.transpose(influence) * n / (n - 1))


def test_the_influence_of_a_row_is_the_slope_by_its_weight(mixed):
    """Of means and second moments, with ordinary factors and a row in any part."""
    frame = mixed.head(60)
    columns = opened(frame, *NAMES)
    scores = PartScores.of(columns)
    rng = np.random.default_rng(3)
    ordinary = rng.normal(size=(60, 2)) + 1
    groups = [
        ColumnGroup(None, np.empty((0, 2)), ordinary),
        ColumnGroup(0, np.array([[0.0, 2.0], [1.0, 1.0]]), rng.normal(size=(60, 2))),
        ColumnGroup(1, np.array([[1.0], [2.0], [4.0]]), None),
        ColumnGroup(2, np.array([[0.0], [1.0]]), rng.normal(size=(60, 1))),
    ]
    weights = rng.uniform(1, 2, 60)
    gamma = rng.normal(size=6)
    parts = GroupMoments.of(scores, groups, weights)
    influence = influence_of(parts, gamma)
    assert np.allclose(0, influence.sum(axis=0))
    for row in range(0, 60, 7):
        step = 1e-5 * (np.arange(60) == row)
        up, down = (GroupMoments.of(scores, groups, weights + sign * step) for sign in (1, -1))
        slope = (up.all_pairs().second @ gamma - down.all_pairs().second @ gamma) / 2e-5
        assert np.allclose(influence[row], weights[row] * slope, atol=1e-9)
        slope = (up.mean - down.mean) / 2e-5
        assert np.allclose(influence_of_means(parts)[row], weights[row] * slope, atol=1e-9)


def test_moments_of_parts_are_written_out(mixed):
    """Means over all rows that were asked, covariances over the pair's rows around these."""
    plan = rr.planning.FramePlan.from_dict(mixed.attrs["rrstats"])
    parts_of_rows = mixed["rr_asked"].to_numpy()
    groups = [ColumnGroup(place, np.array(x)[:, None], None)
              for place, x in enumerate([[0.0, 1.0], [1.0, 2.0, 4.0], [1.0, 0.0]])]  # fmt: skip
    weights = np.random.default_rng(4).uniform(1, 3, len(mixed))
    found = GroupMoments.of(PartScores.of(opened(mixed, *NAMES)), groups, weights)
    numbers = {"a": {0: 0, 1: 1}, "b": {1: 1, 2: 2, 4: 4}, "c": {"u": 1, "v": 0}}
    value = {name: np.full(len(mixed), np.nan) for name in NAMES}
    weight = {name: np.zeros(len(mixed)) for name in NAMES}
    product = {}
    for label, part, mechanism in zip(plan.labels, plan.parts, plan.part_mechanisms, strict=True):
        rows = parts_of_rows == label
        p = mechanism.prob
        q = (1 - p) / (mechanism.k - 1)
        reported = [mixed.loc[rows, name].map(numbers[name]).to_numpy(float) for name in part]
        for name, x in zip(part, reported, strict=True):
            k = len(numbers[name])
            others = mechanism.k // k
            value[name][rows] = (x - others * q * sum(numbers[name].values())) / (p - q)
            rate = 1 / k
            weight[name][rows] = weights[rows] * (p - q) ** 2 / (rate * (1 - rate))
        if len(part) == 2:
            total = np.prod([sum(numbers[name].values()) for name in part])
            product[part] = (rows, (reported[0] * reported[1] - q * total) / (p - q))
    means = {name: np.average(np.nan_to_num(value[name]), weights=weight[name]) for name in NAMES}
    assert np.allclose(list(means.values()), found.mean)
    for (i, first), (j, second) in itertools.combinations(enumerate(NAMES), 2):
        rows, xy = product[first, second]
        around = xy - means[first] * value[second][rows] - value[first][rows] * means[second]
        around += 2 * means[first] * means[second]
        assert np.average(around, weights=weights[rows]) == pytest.approx(
            found.all_pairs().second[i, j]
        )


def test_means_are_those_of_estimates(mixed):
    """First moments of indicators are the proportions that `estimate` gives, by precision."""
    columns = opened(mixed, *NAMES)
    groups = [ColumnGroup(place, np.eye(column.k), None) for place, column in enumerate(columns)]
    found = GroupMoments.of(PartScores.of(columns), groups, np.ones(len(mixed)))
    expected = [mixed.rr.estimate(name).proportions for name in NAMES]
    assert np.allclose(np.concatenate(expected), found.mean)


# -- correlations ------------------------------------------------------------------------------


def test_correlations_of_one_pair_are_those_of_its_table():
    """A plan that asks everybody one pair gives the correlation of the pair's crosstab."""
    plan = rr.planning.FramePlan({"a": [0, 1], "b": [1, 2, 4]}, 1.5, [("a", "b")])
    frame = rr.simulate(answers(3000), plan, seed=2)
    expected = frame.rr.crosstab("a", "b").association("correlation")
    found = rr.correlations(frame, "a", "b").to_frame().loc[0]
    assert found["correlation"] == pytest.approx(expected.value)
    assert found["std_error"] == pytest.approx(expected.std_error, rel=1e-6)
    assert found[["low", "high"]].tolist() == pytest.approx([expected.low, expected.high])


@pytest.mark.parametrize("seed", range(6))
def test_ordinary_columns_of_these_rows_have_no_error(seed):
    """About the rows alone two columns that were seen have an interval of one point."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=700)}).assign(a=rng.integers(0, 2, 700))
    frame["y"] = frame["x"] + rng.normal(size=700)
    frame = frame.rr.simulate("a", [0, 1], epsilon=2, seed=seed)
    found = rr.correlations(frame, "a", "x", "y", target="sample").to_frame().loc[2]
    expected = np.corrcoef(frame["x"], frame["y"])[0, 1]
    ends = found[["correlation", "low", "high"]].tolist()
    assert ends == pytest.approx([expected] * 3)
    assert found["std_error"] == 0


def test_correlations_of_a_plan_are_near_those_of_the_answers():
    """All columns with ordinary ones in one matrix; each within 5 standard errors."""
    truth = answers(40_000)
    plan = rr.planning.plan(COLUMNS, 2, want="pairs")
    frame = rr.simulate(truth, plan, seed=5)
    found = rr.correlations(frame, *NAMES, "age", values={"c": {"u": 1, "v": 0}})
    expected = truth.assign(c=truth["c"] == "u")[[*NAMES, "age"]].astype(float).corr().to_numpy()
    errors = np.abs(found.values - expected)[np.triu_indices(4, 1)]
    assert (errors < 5 * found.std_error[np.triu_indices(4, 1)]).all()
    assert found.std_error.max() < 0.05
    assert (found.n, found.n_missing) == (40_000, 0)
    assert found.private == tuple(NAMES)


def test_correlations_do_not_see_units_order_or_how_the_plan_came(mixed):
    """Numbers times a constant plus another one, columns turned, a plan beside a bare frame."""
    found = rr.correlations(mixed, *NAMES, "age")
    values = {"a": [1980, 1990], "b": {1: 0.1, 2: 0.2, 4: 0.4}}
    again = rr.correlations(mixed, *NAMES, "age", values=values)
    assert np.allclose(found.to_frame().iloc[:, 2:], again.to_frame().iloc[:, 2:])
    turned = rr.correlations(mixed, "age", *NAMES[::-1])
    assert np.allclose(found.values, turned.values[::-1, ::-1])
    assert np.allclose(found.std_error, turned.std_error[::-1, ::-1])
    plan = rr.planning.FramePlan.from_dict(mixed.attrs["rrstats"])
    bare = mixed.copy()
    bare.attrs.clear()
    given = rr.correlations(bare, *NAMES, "age", mechanisms=plan)
    assert np.allclose(found.values, given.values)


def test_precise_reports_count_more():
    """A column that is asked alone and in far noisier pairs is no worse for its pairs."""
    plan = rr.planning.plan({"a": range(4), "b": range(6)}, 1.2, want=["a", "b", ("a", "b")])
    rng = np.random.default_rng(6)
    truth = pd.DataFrame({"a": rng.integers(0, 4, 9000), "b": rng.integers(0, 6, 9000)})
    frame = rr.simulate(truth.assign(age=truth["a"] + rng.normal(size=9000)), plan, seed=6)
    single = rr.correlations(frame[frame["rr_asked"] == "a"], "a", "age").std_error[0, 1]
    found = rr.correlations(frame, "a", "b", "age").std_error[0, 2]
    assert 0.9 * single < found < single


def test_columns_that_were_privatized_otherwise_go_along():
    """One of its own epsilon, and one of another plan; their noise is independent of the plan's."""
    truth = answers(30_000).rename(columns={"c": "d"})
    truth["e"] = np.where(truth["a"] == 1, "x", "y")
    first = rr.planning.FramePlan({"a": [0, 1], "b": [1, 2, 4]}, 3, ["a", ("a", "b")])
    second = rr.planning.FramePlan({"e": ["x", "y"], "f": [0, 1]}, 3, ["e", "f"], asked="second")
    frame = rr.simulate(truth.assign(f=truth["a"]), first, seed=1)
    frame = rr.simulate(frame, second, seed=2).rr.simulate("d", ["u", "v"], epsilon=3, seed=3)
    names = ["a", "b", "d", "e", "age"]
    found = rr.correlations(frame, *names)
    numbers = truth.assign(d=truth["d"] == "v", e=truth["e"] == "y")[names].astype(float)
    errors = np.abs(found.values - numbers.corr().to_numpy())[np.triu_indices(5, 1)]
    assert (errors < 5 * found.std_error[np.triu_indices(5, 1)]).all()
    assert found.std_error.max() < 0.05


def test_a_missing_answer_may_be_a_category():
    """The public column says which missing cells are reports."""
    plan = rr.planning.FramePlan({"a": [0, 1], "c": ["u", None]}, 3, [("a", "c"), "c"])
    truth = pd.DataFrame({"a": [0, 1, 1] * 4000, "c": ["u", "u", None] * 4000})
    frame = rr.simulate(truth, plan, seed=1)
    found = rr.correlations(frame, "a", "c", values={"c": {"u": 0, None: 1}}).to_frame().loc[0]
    assert abs(found["correlation"] - 0.5) < 5 * found["std_error"] < 0.2


def test_missing_ordinary_values_leave_rows_out(mixed):
    """Rows that were not asked are not missing."""
    lost = mixed.assign(age=mixed["age"].where(np.arange(len(mixed)) % 5 > 0))
    found = rr.correlations(lost, *NAMES, "age")
    rest = rr.correlations(mixed[np.arange(len(mixed)) % 5 > 0], *NAMES, "age")
    assert (found.n, found.n_missing) == (1600, 400)
    assert np.allclose(found.values, rest.values)


@pytest.mark.parametrize(
    ("use", "error", "reason"),
    [
        (lambda frame: rr.correlations(frame, *NAMES, target="sample"), ArgumentValueError,
         "target must be 'population'"),
        (lambda frame: rr.correlations(frame.drop(columns="rr_asked"), "a", "b"), Exception,
         "rr_asked"),
        (lambda frame: rr.correlations(frame.assign(b=frame["b"].fillna(1)), "a", "b"),
         MetadataError, "as they were released"),
        (lambda frame: rr.correlations(frame[frame["rr_asked"] != "a & b"], "a", "b", "c"),
         ArgumentValueError, "no row was asked the pair of 'a' and 'b'"),
        (lambda frame: rr.correlations(frame[frame["rr_asked"] == "a & b"], "b", "c"),
         ArgumentValueError, "no row"),
    ],
)  # fmt: skip
def test_what_moments_of_a_plan_cannot_give_says_why(mixed, use, error, reason):
    """Correlations about the rows, without the public column, of filled or unasked columns."""
    refused(error, reason, use, mixed)


def test_a_pair_that_was_never_asked_is_named():
    """With the plan that would ask it; two plans that share no column are noisy apart."""
    plan = rr.planning.FramePlan(COLUMNS, 2, [("a", "b"), ("b", "c")])
    frame = rr.simulate(answers(500), plan, seed=3)
    refused(
        ArgumentValueError,
        r"never asked the columns 'a' and 'c' of the same row.*want=.*\('a', 'c'\)",
        rr.correlations,
        frame,
        *NAMES,
    )
