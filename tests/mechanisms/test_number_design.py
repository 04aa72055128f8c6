"""Numbers between bounds: their exact distribution, epsilon, and reports in every container."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting, EveryStream, Recorded

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)
from rrstats.mechanisms import from_dict
from rrstats.mechanisms.number_design import NumberDesign

SMALL = NumberDesign(
    [-1.0, 0.0, 1.0],
    [[0.5, 0.25, 0.125], [0.25, 0.25, 0.125], [0.125, 0.25, 0.25], [0.125, 0.25, 0.5]],
    [-2.5, -0.5, 0.5, 2.5],
)
"""A design whose probabilities are short binary fractions."""

AGE = rr.number(18, 90).mechanism(epsilon=1)


# -- the distribution ----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [-1, -0.75, -0.5, 0, 0.125, 0.5, 0.875, 1, 7, -math.inf])
def test_reports_are_the_mixture_of_two_columns(answer):
    """Rounding and the matrix, by all streams of tiny words through the shipped code."""
    code = SMALL.domain.code(answer)
    source = EveryStream(4, {0: 2, 1: 1})
    codes = np.full(source.rows, code, dtype=SMALL.domain.dtype)
    found = source.distribution(SMALL.randomize(codes, source, 0), 4)
    place = Fraction(min(max(answer, -1), 1)) + 1
    lower = min(int(place), 1)
    upper_chance = place - lower
    rows = SMALL.channel.entries
    expected = [(1 - upper_chance) * row[lower] + upper_chance * row[lower + 1] for row in rows]
    assert (found.probs, found.undecided) == (expected, 0)
    mean = sum(p * Fraction(value) for p, value in zip(expected, SMALL.values, strict=True))
    assert mean == place - 1


def test_a_forgotten_rounding_is_caught(monkeypatch):
    """The test above fails where answers go to the lower point."""
    monkeypatch.setattr(
        "rrstats.mechanisms.number_design.coins", lambda *words: np.zeros(len(words[-1]), bool)
    )
    with pytest.raises(AssertionError):
        test_reports_are_the_mixture_of_two_columns(0.5)


@pytest.mark.parametrize(
    ("declared", "epsilon"),
    [
        *((rr.number(0, 10), epsilon) for epsilon in (0.01, 0.1, 1, 4, 13)),
        (rr.number(18, 90), 1),
        (rr.number(18, 90), 4),
        (rr.number(-2.5, 7.5, points=5), 0.5),
        (rr.number(0, 100, goal="distribution"), 1),
        (rr.number(0, 10, prior="worst-case"), 1),
        (rr.number(0, 1, points=4, prior=[0.7, 0.1, 0.1, 0.1]), 2),
    ],
    ids=repr,
)
def test_epsilon_and_the_mean_are_exact(declared, epsilon):
    """The worst ratio of exact probabilities, and the mean of the values at each grid point."""
    m = declared.mechanism(epsilon=epsilon)
    rows = m.channel.entries
    worst = max(max(row) / min(row) for row in rows)
    assert Decimal(worst.numerator) / Decimal(worst.denominator) <= Decimal(epsilon).exp()
    assert m.epsilon <= epsilon
    spread = m.domain.points[-1] - m.domain.points[0]
    values = np.array(m.values)
    for point, column in zip(m.domain.points, zip(*rows, strict=True), strict=True):
        mean = sum(p * Fraction(value) for p, value in zip(column, m.values, strict=True))
        assert abs(mean - Fraction(point)) <= 1e-9 * spread + 1e-11 * abs(values).max()
    assert np.diff(values).min() >= 0.001 * spread
    assert all(float(f"{value:.12g}") == value for value in m.values)
    # The mean of the table of grid points is the plain mean of reports.
    assert m.domain.points @ m.channel.left_inverse == pytest.approx(values, rel=1e-9)
    assert from_dict(json.loads(json.dumps(m.to_dict()))) == m


# n Var of the mean given the truths on [-1, 1]: uniform truths, and the worst.
VARIANCES = {1: (3.9, 4.3), 2: (0.78, 1.0), 4: (0.107, 0.161)}


@pytest.mark.parametrize("epsilon", VARIANCES)
def test_variances_are_those_of_the_page(epsilon):
    """Beside Duchi's, the piecewise and the hybrid mechanism and Laplace noise, at their worst."""
    m = rr.number(-1, 1, points=21).mechanism(epsilon=epsilon)
    found = variance_given_truth(m, np.linspace(-1, 1, 4_001))
    uniform, worst = VARIANCES[epsilon]
    assert found.mean() == pytest.approx(uniform, abs=0.05 * uniform**0.5 / 3)
    assert found.max() <= worst
    assert worst < min(others(epsilon).values()) * 1.01


@pytest.mark.slow
def test_the_worst_case_prior_is_nearly_flat():
    """With prior="worst-case" no true answer has a variance above 4.01 at epsilon 1."""
    m = rr.number(-1, 1, points=21, prior="worst-case").mechanism(epsilon=1)
    assert variance_given_truth(m, np.linspace(-1, 1, 4_001)).max() <= 4.01


def variance_given_truth(m, truths):
    """Var(report | truth), with the variance of rounding."""
    points = m.domain.points
    squares = np.array(m.values) ** 2 @ m.channel.matrix
    return np.interp(truths, points, squares) - truths**2


def others(epsilon):
    """The worst variances of other mechanisms of the mean on [-1, 1], by their formulas."""
    half = math.exp(epsilon / 2)
    duchi = ((math.exp(epsilon) + 1) / math.expm1(epsilon)) ** 2
    piecewise = 4 * half / (3 * (half - 1) ** 2)
    part = 1 - 1 / half  # of the piecewise mechanism in the hybrid one, above epsilon .61
    at_zero = part * (half + 3) / (3 * (half - 1) ** 2) + (1 - part) * duchi
    at_one = part * piecewise + (1 - part) * (duchi - 1)
    return {
        "duchi": duchi,
        "piecewise": piecewise,
        "hybrid": max(at_zero, at_one),
        "laplace": 8 / epsilon**2,
    }


# -- answers -------------------------------------------------------------------------------------


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "int64": lambda x: np.array(x, dtype=np.int64),
    "uint8": lambda x: np.array(x, dtype=np.uint8),
    "float32": lambda x: np.array(x, dtype=np.float32),
    "objects": lambda x: np.array(x, dtype=object),
    "decimals": lambda x: [Decimal(v) for v in x],
    "Series": pd.Series,
    "Int64": lambda x: pd.Series(x, dtype="Int64"),
    "Float64": lambda x: pd.Series(x, dtype="Float64"),
    "categorical": lambda x: pd.Series(x, dtype="category"),
    "matrix": lambda x: np.array(x).reshape(2, -1),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_changes_nothing(container):
    """The same words give the same doubles from all numbers that are equal."""
    answers = [0, 3, 10, 4, 10, 7, 2, 9]
    m = rr.number(0, 10).mechanism(epsilon=2)
    expected = rr.privatize(answers, m, rng=Counting(1))
    found = rr.privatize(CONTAINERS[container](answers), m, rng=Counting(1))
    assert np.ravel(found).tolist() == expected
    if hasattr(found, "dtype"):
        assert found.dtype == np.float64


@pytest.mark.parametrize("dtype", ["int64[pyarrow]", "double[pyarrow]", "uint8[pyarrow]"])
def test_arrow_gets_doubles(dtype):
    pa = pytest.importorskip("pyarrow")
    m = rr.number(0, 10).mechanism(epsilon=2)
    answers = pd.Series([0, 3, None, 4], dtype=dtype)
    kept = rr.privatize(answers, m, missing="keep", rng=Counting(2))
    assert kept.dtype == pd.ArrowDtype(pa.float64())
    assert kept.isna().tolist() == [False, False, True, False]
    array = rr.privatize(pa.array([1, 2, 3]), m)
    assert array.type == pa.float64()


def test_clipping_infinity_and_missing():
    """Answers beyond the bounds are at the bounds; NaN and None follow missing=."""
    m = rr.number(0, 10).mechanism(epsilon=2)
    clipped = [math.inf, -math.inf, 11, -5, 10**400, Fraction(21, 2)]
    inside = [10, 0, 10, 0, 10, 10]
    pairs = [rr.privatize(x, m, rng=Counting(3)) for x in (clipped, inside)]
    assert pairs[0] == pairs[1]
    for absent in (None, math.nan, pd.NA, Decimal("NaN")):
        kept = rr.privatize([1, absent], m, missing="keep")
        assert kept[1] is None
        with pytest.raises(UnknownAnswersError, match="1 of 2 answers are missing"):
            rr.privatize([1, absent], m)


@pytest.mark.parametrize(
    "other", ["7", True, np.bool_(False), b"1", 1j, (1,), np.timedelta64(3, "D")], ids=repr
)
def test_what_is_no_number_follows_unknown(other):
    """It is counted and not quoted, or replaced by a random number between the bounds."""
    m = rr.number(0, 10).mechanism(epsilon=2)
    with pytest.raises(UnknownAnswersError, match=r"1 of 2 answers are not among numbers"):
        rr.privatize([3, other], m)
    reports = rr.privatize([3, other], m, unknown="uniform")
    assert set(reports) <= set(m.values)
    with pytest.raises(UnknownAnswersError, match="numbers"):
        rr.client.report(m, other)


@pytest.mark.parametrize(("column", "dtype"), [(["a", "b"], "string"), ([True, False], "bool")])
def test_other_types_are_refused_from_the_dtype(column, dtype):
    with pytest.raises(ArgumentTypeError, match="but the answers are of kind"):
        rr.privatize(pd.Series(column, dtype=dtype), AGE)


def test_few_rows():
    m = rr.number(0, 10).mechanism(epsilon=2)
    assert rr.privatize([], m) == []
    assert rr.privatize(7, m) in m.values
    assert rr.client.report(m, 7.5) in m.values
    kept = [
        rr.privatize(column, m, missing="keep", rng=Counting(5))
        for column in (pd.Series([1, None, 3], dtype="Int64"), pd.Series([1, np.nan, 3]))
    ]
    pd.testing.assert_series_equal(*kept)
    nobody = rr.privatize(np.full(3, np.nan), m, missing="keep")
    assert np.isnan(nobody).all()
    assert rr.estimate(nobody, m).n == 0
    text = rr.client.encode_report(m, m.values[2])
    assert rr.client.decode_report(m, text) == m.values[2]


@pytest.mark.parametrize("rows", [10, 5_000])
def test_words_do_not_depend_on_answers(rows):
    """Equal requests for grid points, numbers between them, and what is no number."""
    logs = []
    for answers in ([21.6] * rows, [18.01 + x % 70 for x in range(rows)], ["x"] * rows):
        source = Recorded(Counting(4))
        rr.privatize(answers, AGE, unknown="uniform", rng=source)
        logs.append(source.log)
    assert logs[0] == logs[1] == logs[2]


def test_keyed_reports_repeat_for_equal_numbers():
    """The rounding coin is keyed, too; another number of a person has other words."""
    pytest.importorskip("cryptography")
    frame = pd.DataFrame({"id": range(400), "age": [31.3] * 400})
    key = rr.client.Keyed(rr.client.new_key(), id="id")
    waves = [rr.privatize(frame, "age", AGE, key=key)["age"].tolist() for _ in range(2)]
    assert waves[0] == waves[1]
    assert len(set(waves[0])) > 10
    older = rr.privatize(frame.assign(age=31.4), "age", AGE, key=key)["age"]
    assert (older != waves[0]).mean() > 0.5


# -- reports -------------------------------------------------------------------------------------


def test_reports_come_back_from_other_programs():
    """32-bit floats and text of 12 digits are read as the nearest value; others are counted."""
    reports = pd.Series(rr.privatize(np.full(500, 40.0), AGE))
    counted = rr.tally(reports, AGE)
    assert rr.tally(reports.astype("float32"), AGE) == counted
    assert rr.tally([float(f"{x:.12g}") for x in reports], AGE) == counted
    with pytest.raises(UnknownAnswersError, match="2 of 3 reports are not among the possible"):
        rr.tally([*reports[:1], 41.0, 1e9], AGE)


def test_a_document_is_checked():
    """Values, matrix and grid must fit one another."""
    document = SMALL.to_dict()
    for name, value, message in (
        ("values", [-2.5, -0.5, 0.5, 2.6], "values must have at each number"),
        ("values", [-2.5, 0.5, -0.5, 2.5], "values must be in ascending order"),
        ("values", [-2.5, 2.5], "values must have 4 numbers"),
        ("categories", [-1.0, 0.0, 2.0], "evenly spaced"),
        ("categories", ["a", "b", "c"], "categories must be numbers"),
        ("matrix", 7, "must be rows"),
        ("values", "x", "values must be numbers"),
    ):
        with pytest.raises(MetadataError, match=message):
            from_dict({**document, name: value})


def test_reports_of_a_number_are_final():
    """The refusal of a second round offers none; the same numbers would be refused, too."""
    reports = rr.privatize(pd.Series([1, 3, 9], name="x"), rr.number(0, 10), epsilon=2)
    for again in (False, True):
        with pytest.raises(MetadataError, match=r"already; reports of a number, .* not r"):
            rr.privatize(reports, rr.number(0, 10), epsilon=1, again=again)


# -- the declaration -----------------------------------------------------------------------------


def test_the_grid_follows_from_the_bounds():
    assert rr.number(0, 10).grid.categories == tuple(range(11))
    assert rr.number(0, 20).grid.k == 21
    assert rr.number(0, 100).grid.categories == tuple(range(0, 101, 5))
    assert rr.number(0.0, 10.0).grid.k == 21
    assert rr.number(0, 1, points=3).grid.categories == (0.0, 0.5, 1.0)
    assert rr.number(1, 7).mechanism(epsilon=1) is rr.number(1, 7).mechanism(epsilon=1.0)
    integers, floats = (rr.number(*b, points=11).mechanism(epsilon=1) for b in ((0, 10), (0.0, 10)))
    assert [type(m.categories[1]) for m in (integers, floats)] == [int, float]


def test_bounds_of_numpy_come_from_data():
    age = pd.Series([18, 42, 90])
    for low, high in ((age.min(), 90), (18, age.max()), (np.float64(0), 1), (np.array(0), 1)):
        with pytest.raises(ArgumentTypeError, match="declared, not taken from data"):
            rr.number(low, high)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rr.number(1, 1), "low must be below high"),
        (lambda: rr.number(0, math.inf), "high must be finite"),
        (lambda: rr.number(10**6, 10**6 + 1), "subtract a public number"),
        (lambda: rr.number(0, 1, points=1), "points must be"),
        (lambda: rr.number(0, 1, goal="median"), "goal must be one of"),
        (lambda: rr.number(0, 1, points=2, prior=[1]), "prior must have 2 numbers"),
        (lambda: rr.number(0, 1).mechanism(0.75), "a number takes epsilon="),
        (lambda: rr.privatize([1], rr.number(0, 1)), "a number takes epsilon="),
        (lambda: rr.KRR(rr.number(0, 1), 0.75), "rr.number cannot stand here"),
        (lambda: rr.planning.plan({"a": rr.number(0, 1)}, epsilon=1), "rr.number cannot stand"),
        (lambda: rr.mechanisms.Samples({"a": AGE, "b": AGE}), "found a number"),
    ],
)
def test_wrong_declarations_are_refused(call, message):
    refused((ArgumentTypeError, ArgumentValueError), message, call)


def test_check_counts_what_is_clipped():
    shown = rr.check([5, 20, 95, 99, "x", None], rr.number(18, 90))
    rows = shown.set_index("status")
    assert rows.loc["clipped", ["value", "count"]].to_numpy().tolist() == [[90.0, 2], [18.0, 1]]
    assert rows.loc["unknown", "count"] == 1
    assert rows.loc["missing", "count"] == 1


@pytest.mark.parametrize("answers", [[18, 40, 55], [20, 40, 90.0]])
def test_a_bound_that_is_the_extreme_answer_is_warned_of(answers):
    """It may be of the data; not so where answers lie beyond, or each integer is a point."""
    with pytest.warns(rr.errors.CuratorWarning, match="is also its smallest or largest answer"):
        rr.privatize(answers, AGE)
    rr.privatize([*answers, 17, 91], AGE)
    rr.privatize([0, 5, 10], rr.number(0, 10), epsilon=1)


@pytest.mark.parametrize("answers", [[0.5, 3, 10], pd.Series([2.0, 7.25])])
def test_decimals_on_a_scale_of_integers_are_warned_of(answers):
    """Random rounding inflates their squares, which correlations would take for exact."""
    scale = rr.number(0, 10)
    with pytest.warns(rr.errors.CuratorWarning, match="are no integers.*declare the bounds as dec"):
        rr.privatize(answers, scale, epsilon=1)
    rr.privatize([2.0, 7.0, np.nan, np.inf, -0.5, 10.5], scale, epsilon=1, missing="keep")
    rr.privatize([*answers, -1, 11], rr.number(0.0, 10.0), epsilon=1)


def test_decimals_in_a_text_file_are_warned_of(tmp_path):
    """Its cells are looked up before they are compared."""
    pytest.importorskip("pyarrow")
    decimals = tmp_path / "decimals.csv"
    integers = tmp_path / "integers.csv"
    scale = {"x": rr.number(0, 10)}
    decimals.write_text("x\n3\n10\n0.5\n")
    with pytest.warns(rr.errors.CuratorWarning, match="column 'x' are no integers"):
        rr.files.privatize_file(decimals, tmp_path / "a.csv", scale, epsilon=1)
    integers.write_text("x\n3\n10.0\n0\n12.5\n")
    rr.files.privatize_file(integers, tmp_path / "b.csv", scale, epsilon=1)


@pytest.mark.slow
def test_the_largest_grid_is_recorded_whole():
    """Beyond 100 categories a record would hold a fingerprint alone."""
    m = rr.number(0, 99, points=100, goal="distribution").mechanism(epsilon=1)
    reports = rr.simulate(pd.Series(range(100), name="x"), m, seed=1)
    assert reports.rr.estimate().mean().value == pytest.approx(reports.mean(), rel=1e-9)
    with pytest.raises(ArgumentValueError, match="points must be"):
        rr.number(0, 100, points=101)


def test_ways_on_can_be_typed():
    """The call of an error declares the number, and none of them declares a missing one."""
    with pytest.raises(UnknownAnswersError) as refused:
        rr.privatize(["x", None], rr.number(0, 10), epsilon=1)
    assert "rr.number(0, 10)) lists them" in str(refused.value)
    assert "declare None" not in str(refused.value)
    with pytest.raises(UnknownAnswersError, match="declare None"):
        rr.privatize(["x", None], ["x", "y"], 0.75)


@pytest.mark.parametrize("bounds", [(0.0, 1e-300), (0, 10**200)])
def test_squares_of_bounds_are_doubles(bounds):
    with pytest.raises(ArgumentValueError, match="in another unit"):
        rr.number(*bounds)


def test_a_prior_from_data_is_refused():
    """The matrix is published, and with it what the prior says of the answers."""
    answers = pd.Series([0, 1, 1, 2])
    for prior in (answers.value_counts(normalize=True), np.array([0.25, 0.5, 0.25])):
        with pytest.raises(ArgumentTypeError, match="prior must be declared, not taken from data"):
            rr.number(0, 2, prior=prior)
    assert rr.number(0, 2, prior={0: 1, 1: 2, 2: 1}) == rr.number(0, 2, prior=[1, 2, 1])


def test_two_bounds_as_categories_are_told_of_numbers():
    """A pair of bounds is a list of two categories: nearly all answers are unknown."""
    ages = pd.DataFrame({"age": [18, 31, 55, 90]})
    with pytest.raises(UnknownAnswersError, match=r"two bounds are rr\.number\(18, 90\)"):
        ages.rr.privatize({"age": (18, 90)}, epsilon=1)
    with pytest.raises(UnknownAnswersError) as refused:
        ages.rr.privatize({"age": (18, 31, 55)}, epsilon=1)
    assert "rr.number" not in str(refused.value)


@pytest.mark.parametrize(
    ("categories", "ways"),
    [([90, 18], 1), ([18, None], 0), ([0, 1], 0), (rr.number(0, 1), 0), (["a", "b"], 0)],
    ids=str,
)
def test_other_pairs_are_not_told_of_numbers(categories, ways):
    """Bounds in any order are; codes, a missing answer, and numbers that are declared are not."""
    with pytest.raises(UnknownAnswersError) as refused:
        rr.privatize(["x", "y"], categories, epsilon=1)
    told = str(refused.value)
    assert ways == told.count("all numbers between two bounds are rr.number(18, 90)")
    assert ways == told.count("between two bounds")
