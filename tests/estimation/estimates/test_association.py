"""Association between columns once the noise is taken out."""

import itertools

import chance
import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.estimation.estimates.association import correlations
from rrstats.estimation.estimates.crosstab import Crosstab, crosstab

NO_YES = ["no", "yes"]
LETTERS = ["a", "b", "c"]

pytestmark = pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")

# -- golden: RRreg 0.7.6, RRcor ------------------------------------------------------------

# Reports (a, b) = (1, 1), (1, 0), (0, 1), (0, 0): 230, 190, 210, 370 rows.
PAIR = [[370, 210], [190, 230]]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        # RRcor(x = ww, models = c("Warner", "Warner"), p.list = list(0.8, 0.75))
        (rr.surveys.warner([0, 1], 0.75, yes=1), 0.6441361136984074),
        # RRcor(x = ww, models = c("Warner", "FR"), p.list = list(0.8, c(0.1, 0.15)))
        (rr.surveys.forced_response([0, 1], 0.75, [0.1, 0.15]), 0.42801341520788094),
    ],
)
def test_correlations_of_two_columns_are_those_of_rrreg(second, expected):
    """From a table by phi and by the categories' numbers, and from the rows."""
    first = rr.surveys.warner([0, 1], 0.8, yes=1)
    table = Crosstab.from_counts(PAIR, {"a": first, "b": second})
    assert np.isclose(expected, table.association("phi").value, rtol=0, atol=1e-12)
    assert np.isclose(expected, table.association("correlation").value, rtol=0, atol=1e-12)
    rows = [(i, j) for i, j in itertools.product([0, 1], repeat=2) for _ in range(PAIR[i][j])]
    frame = pd.DataFrame(rows, columns=["a", "b"])
    found = correlations(frame, "a", "b", mechanisms={"a": first, "b": second})
    assert np.isclose(expected, found.values[0, 1], rtol=0, atol=1e-12)
    assert np.isclose(table.association("correlation").std_error, found.std_error[0, 1], rtol=1e-9)


# HorvitzDataRealSurvey of RRTCS 0.0.4, 710 rows: how often each combination of the yes (1) and no
# (0) reported for copied, fought, bullied, bullying, drug and sex occurs, as a binary number.
HORVITZ = {
    0: 128, 2: 30, 3: 1, 4: 7, 5: 1, 6: 6, 7: 1, 8: 67, 9: 4, 10: 21, 11: 1, 12: 7, 13: 3, 14: 1,
    16: 34, 17: 3, 18: 12, 19: 2, 20: 3, 21: 2, 22: 3, 23: 1, 24: 30, 25: 2, 26: 9, 30: 2, 31: 1,
    32: 88, 33: 9, 34: 28, 35: 4, 36: 12, 37: 1, 38: 3, 39: 3, 40: 71, 41: 2, 42: 12, 43: 2, 44: 14,
    45: 2, 46: 1, 48: 25, 49: 5, 50: 13, 52: 2, 53: 1, 54: 2, 56: 20, 57: 1, 58: 5, 60: 1, 61: 1,
}  # fmt: skip


def test_a_matrix_of_correlations_is_that_of_rrreg():
    """RRcor(x = H, models = rep("UQTknown", 6), p.list = rep(list(c(0.5, 1/12)), 6))."""
    bits = [[code >> shift & 1 for shift in range(5, -1, -1)] for code in HORVITZ]
    names = ["copied", "fought", "bullied", "bullying", "drug", "sex"]
    frame = pd.DataFrame(np.repeat(bits, list(HORVITZ.values()), axis=0), columns=names)
    made = dict.fromkeys(names, rr.surveys.unrelated_question([0, 1], 0.5, 1 / 12, yes=1))
    found = correlations(frame, *names, mechanisms=made)
    upper = [
        -0.22285624333310206, 0.0894003445622554, 0.24404378272190436, -0.08768600685821673,
        0.40400891020896185, 0.025362177407560242, -0.04973389476242553, 0.19797263811935742,
        0.25553777372272757, 0.037094326202243184, -0.24653635670993432, -0.09466992433047716,
        0.1745909602924193, 0.7064188735831464, 0.1758385255670059,
    ]  # fmt: skip
    assert np.allclose(upper, found.values[np.triu_indices(6, 1)], rtol=0, atol=1e-12)
    assert np.array_equal(found.values, found.values.T)
    assert names == list(found.table().columns)
    assert np.allclose(upper, found.to_frame()["correlation"], rtol=0, atol=1e-12)
    assert 710 == found.n


# rr 1.4.2, data(nigeria), 2423 rows complete in six covariates: answers no and yes to rr.q1 by age.
AGES = [*range(16, 89), 90, 91, 95, 98, 99]
NO = [
    58, 40, 69, 42, 77, 44, 65, 47, 56, 67, 55, 52, 66, 41, 70, 19, 34, 20, 22, 23, 19, 19, 21, 16,
    56, 10, 24, 23, 11, 24, 19, 17, 30, 17, 42, 10, 23, 15, 17, 22, 12, 11, 21, 13, 16, 18, 7, 10,
    8, 14, 4, 5, 6, 6, 12, 2, 5, 1, 0, 4, 2, 0, 2, 0, 1, 2, 0, 0, 0, 1, 2, 2, 2, 1, 1, 1, 1, 2,
]  # fmt: skip
YES = [
    22, 30, 56, 19, 74, 16, 24, 19, 28, 34, 27, 37, 30, 21, 37, 8, 12, 6, 6, 18, 11, 7, 12, 8, 22,
    3, 8, 13, 5, 14, 11, 9, 11, 8, 15, 12, 8, 7, 2, 9, 2, 7, 10, 7, 14, 8, 5, 4, 1, 4, 3, 3, 4, 1,
    2, 2, 2, 1, 2, 4, 1, 2, 0, 1, 1, 3, 1, 2, 2, 2, 1, 2, 3, 0, 0, 0, 0, 0,
]  # fmt: skip


@pytest.mark.parametrize(
    ("levels", "no", "yes", "expected"),
    [
        (AGES, NO, YES, -0.031034880234654578),
        (
            range(10),
            [70, 131, 212, 244, 280, 261, 232, 108, 53, 6],
            [35, 42, 76, 138, 171, 165, 109, 49, 39, 2],
            0.07721142624259307,
        ),
        (
            range(1, 11),
            [130, 55, 186, 299, 643, 67, 87, 45, 80, 5],
            [53, 32, 47, 192, 376, 29, 45, 13, 33, 6],
            0.027782385569357977,
        ),
        (range(2), [813, 784], [494, 332], -0.13694043035488396),
    ],
    ids=["age", "asset index", "education", "female"],
)
def test_correlations_with_ordinary_numbers_are_those_of_rrreg(levels, no, yes, expected):
    """RRcor(x = nn, models = c("FR", rep("direct", 4)), p.list = list(c(1/6, 1/6)))."""
    made = rr.surveys.forced_response([0, 1], 2 / 3, [1 / 6, 1 / 6])
    table = Crosstab.from_counts([no, yes], {"q1": made, "x": list(levels)})
    frame = pd.DataFrame({"q1": np.repeat([0, 1], [sum(no), sum(yes)])})
    frame["x"] = np.concatenate([np.repeat(levels, no), np.repeat(levels, yes)])
    found = correlations(frame, "q1", "x", mechanisms={"q1": made})
    assert np.isclose(expected, table.association("correlation").value, rtol=0, atol=1e-12)
    assert np.isclose(expected, found.values[0, 1], rtol=0, atol=1e-12)


# -- standard errors -----------------------------------------------------------------------


def numeric_error(table, measure):
    """The delta method's standard error with slopes by differences, of a function of shares."""
    share = table.proportions.ravel()
    slopes = []
    for cell in range(share.size):
        step = np.zeros(share.size)
        step[cell] = 1e-6
        sides = [measure((share + sign * step).reshape(table.shape)) for sign in (1, -1)]
        slopes.append((sides[0] - sides[1]) / 2e-6)
    return float(np.sqrt(np.array(slopes) @ table.covariance @ np.array(slopes)))


def plain_phi(f):
    f = f / f.sum()
    rows, columns = f.sum(axis=1), f.sum(axis=0)
    return (f[1, 1] - rows[1] * columns[1]) / np.sqrt(rows.prod() * columns.prod())


def plain_odds(f):
    return f[0, 0] * f[1, 1] / (f[0, 1] * f[1, 0])


@pytest.mark.parametrize("target", ["population", "sample"])
def test_standard_errors_are_those_of_the_delta_method(target):
    """With slopes by differences, for both targets; smaller among just these rows."""
    columns = {"x": rr.KRR(NO_YES, 0.8), "y": rr.KRR(NO_YES, 0.85)}
    table = Crosstab.from_counts([[900, 500], [400, 800]], columns, target=target)
    found = table.association("phi")
    assert np.isclose(plain_phi(table.proportions), found.value)
    assert np.isclose(numeric_error(table, plain_phi), found.std_error, rtol=1e-5)
    found = table.association("odds_ratio")
    assert np.isclose(plain_odds(table.proportions), found.value)
    assert np.isclose(numeric_error(table, plain_odds), found.std_error, rtol=1e-5)


@pytest.mark.parametrize("target", ["population", "sample"])
def test_phi_is_at_its_ends_as_far_away_as_95_percent_allow(target):
    """C - r S is 1.96 of its standard errors from 0 at both ends, with slopes by differences."""
    columns = {"x": rr.KRR(NO_YES, 0.8), "y": rr.KRR(NO_YES, 0.85)}
    table = Crosstab.from_counts([[900, 500], [400, 800]], columns, target=target)
    found = table.association("phi")
    assert -1 < found.low < found.value < found.high < 1
    for end, sign in ((found.low, 1), (found.high, -1)):

        def gap(f, end=end):
            margins = np.sqrt(f.sum(axis=1).prod() * f.sum(axis=0).prod())
            return (plain_phi(f) - end) * margins / f.sum() ** 2

        errors = gap(table.proportions) / numeric_error(table, gap)
        assert np.isclose(sign * stats.norm.ppf(0.975), errors, rtol=1e-5)


@pytest.mark.parametrize("target", ["population", "sample"])
def test_odds_ratios_end_at_the_outer_of_two_intervals(target):
    """That of ad - r bc, and that of the logarithm, by slopes from differences."""
    columns = {"x": rr.KRR(NO_YES, 0.8), "y": rr.KRR(NO_YES, 0.85)}
    table = Crosstab.from_counts([[900, 500], [400, 800]], columns, target=target)
    found = table.association("odds_ratio")
    z = stats.norm.ppf(0.975)
    factor = np.exp(z * numeric_error(table, plain_odds) / found.value)
    by_logarithm, by_products = [], []
    for end, far in ((found.low, found.value / factor), (found.high, found.value * factor)):

        def gap(f, end=end):
            return f[0, 0] * f[1, 1] - end * f[0, 1] * f[1, 0]

        distance = abs(gap(table.proportions)) / numeric_error(table, gap)
        by_logarithm.append(np.isclose(far, end, rtol=1e-5))
        by_products.append(np.isclose(z, distance, rtol=1e-5))
        assert distance > z - 1e-5
    assert ([True, False], [False, True]) == (by_logarithm, by_products)


def test_cramers_v_is_a_sum_of_squares_without_its_noise():
    """Its residuals' noise by slopes from differences; a gamma distribution of the sum's moments.

    Ends are true sums for which the observed one is the 97.5% and the 2.5% quantile (Patnaik).
    """
    columns = {"x": rr.KRR(LETTERS, 0.8), "y": rr.KRR([1, 2, 3], 0.75)}
    table = Crosstab.from_counts([[600, 250, 210], [200, 500, 240], [150, 260, 590]], columns)

    def residuals(share):
        f = share.reshape(3, 3)
        expected = np.outer(f.sum(axis=1), f.sum(axis=0))
        return ((f - expected) / np.sqrt(expected)).ravel()

    share = table.proportions.ravel()
    steps = 1e-6 * np.eye(9)
    slopes = np.array([residuals(share + step) - residuals(share - step) for step in steps]) / 2e-6
    covariance = slopes.T @ table.covariance @ slopes
    r = residuals(share)
    noise, central, along = np.trace(covariance), (covariance**2).sum(), r @ covariance @ r
    found = table.association("cramers_v")
    assert np.isclose(np.sqrt((r @ r - noise) / 2), found.value, rtol=1e-6)
    error = np.sqrt(2 * central + 4 * along) / (4 * found.value)
    assert np.isclose(error, found.std_error, rtol=1e-5)
    for end, prob in ((found.low, 0.975), (found.high, 0.025)):
        mean = 2 * end**2 + noise
        scale = (2 * central + 4 * along / (r @ r) * 2 * end**2) / mean
        assert np.isclose(prob, stats.gamma.cdf(r @ r, mean / scale, scale=scale), rtol=1e-4)


def test_correlations_know_both_targets_as_the_table_does():
    """From rows, in blocks, and from counts: the same numbers, also for reports of several."""
    drawn = np.random.default_rng(4)
    levels = [1, 2, 5]
    made = {"x": rr.KRR(levels, 0.7), "y": rr.KRR(levels, 0.8)}
    truth = drawn.choice(levels, (3_000, 2), p=[0.5, 0.3, 0.2])
    truth[:1_000, 1] = truth[:1_000, 0]
    frame = pd.DataFrame(truth, columns=["x", "y"]).assign(z=drawn.normal(size=3_000))
    frame = frame.rr.simulate(made, seed=1)
    for target in ("population", "sample"):
        table = crosstab(frame, "x", "y", target=target)
        found, rows = (
            table.association("correlation"),
            correlations(frame, "x", "y", "z", target=target),
        )
        for name in ("value", "std_error", "low", "high"):
            held = rows.table("values" if name == "value" else name).iloc[0, 1]
            assert np.isclose(getattr(found, name), held, rtol=1e-9)
    assert ("x", "y") == rows.private
    alone = correlations(frame, "z", "x").values[0, 1]
    assert np.isclose(alone, rows.values[2, 0])


def test_ordinary_columns_have_pearsons_correlation():
    """Numbers, bools and two words; rows with anything missing are left out and counted."""
    drawn = np.random.default_rng(6)
    frame = pd.DataFrame({"x": drawn.normal(50, 9, 300), "y": drawn.integers(0, 5, 300)})
    frame["y"] += (frame.x > 50).astype(int)
    frame["b"] = frame.x > 55
    frame["w"] = np.where(frame.y > 2, "more", "less")
    found = correlations(frame, "x", "y", "b", "w")
    plain = frame.assign(w=(frame.w == "more").astype(float)).astype(float)
    assert np.allclose(plain.corr(), found.values, rtol=0, atol=1e-12)
    frame.loc[:9, "x"] = np.nan
    again = correlations(frame, ["x", "y"])
    assert again.to_frame().equals(frame.rr.correlations("x", "y").to_frame())
    assert (290, 10) == (again.n, again.n_missing)
    none = correlations(frame[:10], "x", "y")
    assert (0, 10, True) == (none.n, none.n_missing, np.isnan(none.values[0, 1]))
    assert np.isclose(plain.iloc[10:].corr().loc["x", "y"], again.values[0, 1])
    exact = correlations(frame, "x", "y", target="sample")
    assert np.allclose(0, exact.std_error, rtol=0, atol=1e-7)


# -- intervals and what lies outside -------------------------------------------------------


def test_a_correlation_beyond_1_is_said_and_not_cut():
    """Its interval stays inside, and is not a point."""
    columns = {"x": rr.KRR(NO_YES, 0.7), "y": rr.KRR(NO_YES, 0.7)}
    found = Crosstab.from_counts([[360, 140], [140, 360]], columns).association("phi")
    assert found.value > 1
    assert found.low < found.high == 1
    assert "noise around a strong association" in repr(found)


def test_what_is_not_defined_is_said():
    """Where a column's variance, or a cell, is not above 0."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}
    table = Crosstab.from_counts([[420, 410], [70, 60]], columns)
    found = table.association("phi")
    assert np.isnan(found.value)
    assert (-1, 1) == (found.low, found.high)
    assert "not defined" in found.note
    assert "not defined" in table.association("cramers_v").note
    found = table.association("odds_ratio")
    assert np.isnan(found.value)
    assert (0, np.inf) == (found.low, found.high)


@pytest.mark.parametrize(("empty", "is_defined"), [((0, 0), True), ((1, 1), True), ((0, 1), False)])
def test_an_odds_ratio_needs_what_it_is_divided_by(empty, is_defined):
    """A cell estimated below 0 makes it negative, or not defined if it stands below the line."""
    forward = np.array([[0.75, 0.25], [0.25, 0.75]])
    true = np.full((2, 2), 0.34)
    true[empty] = -0.02
    counts = np.rint(forward @ true @ forward * 1600).astype(int)
    found = Crosstab.from_counts(counts, dict.fromkeys("xy", rr.KRR(NO_YES, 0.75))).association(
        "odds_ratio"
    )
    if is_defined:
        assert found.value == pytest.approx(-0.02 / 0.34)
        assert "below 0 because of noise" in found.note
    else:
        assert np.isnan(found.value)
        assert found.note.startswith("not defined")


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("phi", (-1, 1)),
        ("correlation", (-1, 1)),
        ("odds_ratio", (0, np.inf)),
        ("cramers_v", (0, 1)),
    ],
)
@pytest.mark.parametrize("levels", [[], ["no"]], ids=["no level", "one level"])
def test_a_column_that_does_not_vary_goes_with_nothing(kind, ends, levels):
    """As where rows were picked by it: NaN with a note, and an interval that is anything."""
    frame = pd.DataFrame({"x": levels * 6, "y": NO_YES * 3 * len(levels)}, dtype=object)
    table = crosstab(frame, "x", "y", mechanisms={"y": rr.KRR(NO_YES, 0.75)})
    found = table.association(kind)
    assert np.isnan(found.value)
    assert found.note.startswith("not defined")
    assert ends == (found.low, found.high)


def test_odds_ratios_of_ordinary_columns_hold_the_textbooks_interval():
    """The hull with exp(log r +- z sqrt(sum 1 / count)), which n - 1 widens a little."""
    table = Crosstab.from_counts([[30, 20], [15, 40]], {"x": NO_YES, "y": NO_YES})
    found = table.association("odds_ratio")
    assert np.isclose(30 * 40 / (20 * 15), found.value)
    error = np.sqrt(1 / 30 + 1 / 20 + 1 / 15 + 1 / 40) * np.sqrt(105 / 104)
    assert np.isclose(found.value * error, found.std_error)
    assert found.low <= found.value * np.exp(-1.959964 * error) * (1 + 1e-6)
    assert found.high >= found.value * np.exp(1.959964 * error) * (1 - 1e-6)


def test_an_empty_cell_leaves_one_end_of_the_odds_ratio_open():
    """Where a product may be 0, 0 or infinity is not refused."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}
    counts = np.array([[300, 360], [200, 125]])
    low = Crosstab.from_counts(counts, columns).association("odds_ratio")
    assert 0 == low.low < low.high < np.inf
    high = Crosstab.from_counts(counts[:, ::-1], columns).association("odds_ratio")
    assert 0 < high.low < high.high == np.inf
    assert np.isclose(1 / high.low, low.high, rtol=1e-9)


def test_a_category_is_set_against_all_others():
    """Of more than two categories one is named; the others are merged."""
    columns = {"x": LETTERS, "y": rr.KRR(NO_YES, 0.8)}
    counts = np.array([[30, 20], [15, 40], [35, 60]])
    merged = np.array([[30 + 35, 20 + 60], [15, 40]])
    table = Crosstab.from_counts(counts, columns)
    plain = Crosstab.from_counts(merged, {"x": ["other", "b"], "y": rr.KRR(NO_YES, 0.8)})
    for kind in ("phi", "odds_ratio"):
        found = table.association(kind, categories=("b", "yes"))
        expected = plain.association(kind)
        for name in ("value", "std_error", "low", "high"):
            assert np.isclose(getattr(expected, name), getattr(found, name))
        refused(ArgumentValueError, "name one category of each column", table.association, kind)


def test_cramers_v_takes_the_noise_off():
    """Plain chi-squared's V with its expected noise subtracted; 0 where there is no more."""
    counts = np.array([[300, 150], [160, 140], [90, 260]])
    table = Crosstab.from_counts(counts, {"x": LETTERS, "y": NO_YES})
    rates = counts / counts.sum()
    even = np.outer(rates.sum(axis=1), rates.sum(axis=0))
    squares = ((rates - even) ** 2 / even).sum()
    found = table.association("cramers_v")
    # Under independence the noise of phi^2 is (r - 1)(c - 1) / n; here it is near that.
    assert np.isclose(np.sqrt(squares - 2 / 1_100), found.value, rtol=0.01)
    assert found.low < found.value < found.high
    independent = Crosstab.from_counts(np.rint(even * 1_100).astype(int), table_columns(table))
    nothing = independent.association("cramers_v")
    assert (0, 0) == (nothing.value, nothing.low)
    assert nothing.high > 0
    assert "noise alone explains" in nothing.note


def table_columns(table):
    return dict(zip(table.names, table.categories, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "prob"),
    [([[0.42, 0.18], [0.28, 0.12]], 0.8), ([[0.6, 0.05], [0.05, 0.3]], 0.85)],
    ids=["independent", "strong"],
)
def test_intervals_of_association_cover(truth, prob):
    """At least 90% of 500 simulated tables of 400 rows, for phi, odds ratio and Cramer's V.

    An interval that covers 90% fails once in 1e9 runs.
    """
    drawn, truth = np.random.default_rng(8), np.array(truth)
    columns = {"x": rr.KRR(NO_YES, prob), "y": rr.KRR(NO_YES, 0.8)}
    sides = [made.channel.matrix for made in columns.values()]
    distribution = (sides[0] @ truth @ sides[1].T).ravel()
    even = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    aims = {
        "phi": plain_phi(truth),
        "odds_ratio": plain_odds(truth),
        "cramers_v": np.sqrt(((truth - even) ** 2 / even).sum()),
    }
    hits = dict.fromkeys(aims, 0)
    for _ in range(500):
        table = Crosstab.from_counts(drawn.multinomial(400, distribution).reshape(2, 2), columns)
        for measure, aim in aims.items():
            found = table.association(measure)
            hits[measure] += bool(found.low <= aim + 1e-9 and aim <= found.high + 1e-9)
    for hit in hits.values():
        chance.assert_at_least(hit, 500, 0.90, tests=6)


# -- bad input -----------------------------------------------------------------------------


def test_bad_input_says_what_to_do():
    """Tables of two columns, numbers for categories, names that are there."""
    plain = {"x": LETTERS, "y": NO_YES}
    table = Crosstab.from_counts([[3, 4], [5, 6], [7, 8]], plain)
    frame = pd.DataFrame({"x": ["p", "q", "r"], "y": [1, 2, 3]})
    numbered = correlations(frame, "y", "x", values={"x": [1, 2, 3]})
    for call, words in (
        (lambda: table.margin("x").association("cramers_v"), r"two columns.*table\.margin"),
        (
            lambda: table.association("correlation"),
            r"values={'x': \.\.\.} must map each of the 3.*\[0, 1, 2\]",
        ),
        (
            lambda: table.association("correlation", values={"x": {"a": 1}}),
            r"'x': \.\.\.} must map each",
        ),
        (
            lambda: table.association("correlation", values={"x": pd.Series([1, 2, 4])}),
            r"'x': \.\.\.} must map each",
        ),
        (
            lambda: table.association("correlation", values={"z": [1, 2]}),
            "values must be of the columns",
        ),
        (lambda: table.association("phi", categories="ab"), "two, one of each column"),
        (lambda: table.association("pearson"), "kind must be one of"),
        (lambda: table.association("phi", values={"x": [1, 2, 3]}), "leave values out"),
        (lambda: table.association("cramers_v", categories=("a", "yes")), "leave categories out"),
        (lambda: table.association("correlation", categories=("a", "yes")), "leave categories out"),
        (
            lambda: table.association("phi", categories=("d", "yes")),
            "'d' is not among the categories of col",
        ),
        (lambda: correlations(frame, ["x", "y"]), r"'x': \.\.\.} must map each.*a list has them"),
        (lambda: correlations([1, 2], "x"), "DataFrame"),
        (lambda: numbered.table("r"), "values must be one of"),
    ):
        refused((ArgumentTypeError, ArgumentValueError), words, call)
    given = table.association("correlation", values={"x": {"a": 1, "b": 2, "c": 4}})
    listed = table.association("correlation", values={"x": [1, 2, 4]})
    assert given == listed
    by_label = pd.Series([4, 2, 1], index=["c", "b", "a"])
    assert given == table.association("correlation", values={"x": by_label})
    assert given == table.association("correlation", values={"x": pd.Series([1, 2, 4], LETTERS)})
    assert "Correlations: target=population" in repr(
        correlations(frame, "y", "x", values={"x": [1, 2, 4]})
    )


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"x": pd.Series(["secret", "b", "c"])}, ArgumentTypeError, r"'x': \.\.\.} must map each"),
        (
            {"x": {"secret": "secret", "b": 2, "c": 3}},
            ArgumentTypeError,
            r"'x': \.\.\.} must map each",
        ),
        ({"x": [1, 2, [3]]}, ArgumentTypeError, r"'x': \.\.\.} must be numbers"),
        ({"x": "secret"}, ArgumentTypeError, r"'x': \.\.\.} must be numbers"),
        (pd.Series(["secret", "b"]), ArgumentTypeError, "values must be a mapping.*found Series"),
    ],
)
def test_values_that_are_no_numbers_are_not_quoted(values, error, words):
    """Somebody may have given the column itself; also from a table."""
    frame = pd.DataFrame({"x": ["secret", "b", "c"], "y": [1, 2, 3]})
    for ask in (
        lambda: correlations(frame, "x", "y", values=values),
        lambda: crosstab(frame, "x", "y").association("correlation", values=values),
    ):
        with pytest.raises(error, match=words) as caught:
            ask()
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)


@pytest.mark.parametrize("kind", ["float64", "Float64"])
def test_infinite_numbers_are_counted_and_refused(kind):
    """They are no missing values; what is missing beside them is."""
    frame = pd.DataFrame({"x": [1.0, np.inf, -np.inf, 3, None], "y": [1.0, 2, 3, 4, 5]})
    with pytest.raises(
        ArgumentValueError, match="column 'x' must be finite, found 2 infinite of 5"
    ):
        correlations(frame.astype({"x": kind}), "x", "y")
    with pytest.raises(ArgumentTypeError, match="column 'x' must be numbers"):
        correlations(frame.assign(x=[1j] * 5), "x", "y")


@pytest.mark.parametrize("k", [2, 3, 7])
def test_rows_without_information_are_refused(k):
    """Rows at prob 1/k were left out as missing, with NaN for all; without a report they may be."""
    n = 200
    frame = pd.DataFrame({"a": np.arange(n) % k, "y": np.arange(n) ** 2.0, "p": 0.8})
    reports = rr.simulate(frame, "a", list(range(k)), prob="p", seed=1).astype({"a": "Int64"})
    reports.loc[:9, "p"] = 1 / k
    refused(NotIdentifiableError, f"10 of 200 .* 1/{k}", rr.correlations, reports, "a", "y")
    reports.loc[:9, "a"] = pd.NA
    pairs = [rr.correlations(rows, "a", "y").values for rows in (reports[10:], reports)]
    np.testing.assert_allclose(*pairs, rtol=1e-12)


def test_missing_reports_of_several_categories_are_left_out():
    """One missing report of unary encoding made all correlations NaN."""
    mechanism = rr.mechanisms.UnaryEncoding(LETTERS, 0.7, 0.2)
    reports = rr.simulate(pd.Series(LETTERS * 60, dtype=object), mechanism, seed=1)
    frame = pd.DataFrame({"a": reports.astype(object), "y": np.arange(180) ** 2.0})
    frame.loc[:9, "a"] = None
    options = {"mechanisms": {"a": mechanism}, "values": {"a": [1, 2, 4]}}
    pairs = [rr.correlations(rows, "a", "y", **options) for rows in (frame[10:], frame)]
    assert np.isfinite(pairs[0].values).all()
    for name in ("values", "std_error"):
        np.testing.assert_allclose(*(getattr(each, name) for each in pairs), rtol=1e-12)
    assert [(170, 0), (170, 10)] == [(each.n, each.n_missing) for each in pairs]
