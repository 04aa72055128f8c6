"""Joint tables of columns privatized apart and of ordinary ones."""

import itertools
from functools import reduce

import chance
import numpy as np
import pandas as pd
import pytest
from catalogue import ASYMMETRIC, EXAMPLES, SILENT
from subset_probabilities import reports

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ImplausibleReportsWarning,
    LowPrecisionWarning,
    NotIdentifiableError,
)
from rrstats.estimation.estimates.axes import Axis, declared_axis
from rrstats.estimation.estimates.crosstab import Crosstab, crosstab
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.inference import multinomial as likelihood
from rrstats.inference.binomial import clopper_pearson_rates
from rrstats.inference.multinomial import contract

NO_YES = ["no", "yes"]
REGIONS = ["north", "south", "west"]

# Small tables are wanted here, whatever the noise leaves of them.
pytestmark = pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")


def generic():
    return rr.MatrixDesign(["a", "b", "c"], ASYMMETRIC.entries, reports=["w", "x", "y", "z"])


def surveyed(rows=3_000, seed=1, **columns):
    """A frame of reports, made by these mechanisms or drawn from these levels."""
    drawn = np.random.default_rng(seed)
    frame = pd.DataFrame({"index": range(rows)})
    for name, made in columns.items():
        labels = list(made.categories) if hasattr(made, "categories") else list(made)
        distribution = drawn.dirichlet(np.full(len(labels), 3.0))
        frame[name] = pd.Series(
            [labels[code] for code in drawn.choice(len(labels), rows, p=distribution)], dtype=object
        )
        if hasattr(made, "categories"):
            frame = frame.rr.simulate(name, made, seed=seed)
    return frame.drop(columns="index")


# -- golden --------------------------------------------------------------------------------


def test_a_table_of_two_private_columns_is_debiased_by_both():
    """F = M1^-1 (O / n) M2^-T; theory case joint-kron: k-RR with p = .75 (k = 2), .6 (k = 3)."""
    columns = {"a": rr.KRR(NO_YES, 0.75), "b": rr.KRR(REGIONS, 0.6)}
    found = Crosstab.from_counts([[200, 150, 120], [180, 190, 160]], columns)
    expected = [[0.305, 0.105, 0.03], [0.145, 0.245, 0.17]]
    assert np.allclose(expected, found.proportions, rtol=0, atol=1e-14)


def test_the_variance_of_a_cell_is_that_of_the_theory():
    """n Var of cell (0, 1) is 1.73375; theory case joint-var, by brute force over all reports."""
    truth = np.array([[0.2, 0.15, 0.15], [0.1, 0.1, 0.3]])
    first = np.array([[0.75, 0.25], [0.25, 0.75]])
    second = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    counts = np.rint(first @ truth @ second.T * 2_000).astype(int)  # exact: 20 x 4 x 5 divides it
    columns = {"a": rr.KRR(NO_YES, 0.75), "b": rr.KRR(REGIONS, 0.6)}
    found = Crosstab.from_counts(counts, columns)
    assert np.allclose(truth, found.proportions, rtol=0, atol=1e-14)
    assert np.isclose(1.73375, found.variance[0, 1] * 1_999, rtol=1e-12)
    rows = found._with_target("sample").variance[0, 1] * 2_000
    assert np.isclose(1.73375 - 0.15 * 0.85, rows, rtol=1e-12)


def test_the_variance_of_an_empty_cell_grows_by_a_factor_a_column():
    """Theory case joint-var-growth: k = 4 and epsilon 1 for each column."""
    mechanism = rr.KRR(list("abcd"), epsilon=1.0)
    axis = Axis("x", mechanism.categories, mechanism)
    distribution = axis.likelihood_table[:, 0]  # everybody is an a, the cell is of b throughout
    golden = 1.598067368884724, 2.553819315494145, 4.081175314118715, 6.521993096190982
    for columns, expected in enumerate(golden, 1):
        rates = reduce(np.multiply.outer, [distribution] * columns)
        second = contract(rates, [axis.squares] * columns)
        assert np.isclose(expected, second[(1,) * columns], rtol=1e-9)


# -- exact ---------------------------------------------------------------------------------


def outcomes(axis):
    """What one report adds to an axis, with its probability given each category."""
    if axis.is_multinomial:
        return [(np.eye(axis.m)[r], axis.likelihood_table[r]) for r in range(axis.m)]
    listed = reports(axis.mechanism)
    return [
        (np.array([*bits, 1.0]), np.array(distribution, dtype=float))
        for bits, distribution in listed
    ]


PAIRS = {
    "k-RR and ordinary": (rr.KRR(NO_YES, 0.75), REGIONS),
    "k-RR and k-RR": (rr.KRR(NO_YES, 0.75), rr.KRR(["a", "b", "c"], 0.625)),
    "matrix and k-RR": (generic(), rr.KRR(NO_YES, 0.75)),
    "subset and k-RR": (
        rr.mechanisms.SubsetSelection(["a", "b", "c", "d"], epsilon=1.0, size=2),
        rr.KRR(NO_YES, 0.75),
    ),
    "unary and ordinary": (rr.mechanisms.UnaryEncoding(["a", "b", "c"], 0.75, 0.25), NO_YES),
    "unary and unary": (
        rr.mechanisms.UnaryEncoding(NO_YES, 0.75, 0.25),
        rr.mechanisms.UnaryEncoding(NO_YES, 0.7, 0.1),
    ),
}


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize("pair", PAIRS)
def test_shares_variances_and_covariances_are_unbiased(pair, target):
    """Over all reports of two rows, weighted by their chance, the estimates average the truth."""
    axes = [declared_axis(name, made) for name, made in zip("xy", PAIRS[pair], strict=True)]
    joint = np.random.default_rng(5).dirichlet(np.ones(axes[0].k * axes[1].k))
    joint = joint.reshape(axes[0].k, axes[1].k)
    told = [
        (np.outer(one, other), np.outer(distribution, distribution_))
        for (one, distribution), (other, distribution_) in itertools.product(*map(outcomes, axes))
    ]
    everyone = [joint, joint]
    if target == "sample":
        everyone = [np.zeros_like(joint) for _ in range(2)]
        everyone[0][0, 0] = everyone[1][1, 1] = 1.0
    truth = sum(everyone) / 2
    mean, second, variance, covariance, total = 0.0, 0.0, 0.0, 0.0, 0.0
    for (one, distribution), (other, distribution_) in itertools.product(told, repeat=2):
        weight = (distribution * everyone[0]).sum() * (distribution_ * everyone[1]).sum()
        if not weight:
            continue
        table = Crosstab(tuple(axes), (one + other).astype(np.int64), 0, target)
        assert table.n == 2
        share = table.proportions
        total += weight
        mean = mean + weight * share
        second = second + weight * np.outer(share, share)
        covariance = covariance + weight * table.covariance
        variance = variance + weight * table.variance
    true_covariance = second - np.outer(mean, mean)
    assert np.isclose(1.0, total)
    assert np.allclose(truth, mean, rtol=0, atol=1e-10)
    assert np.allclose(true_covariance, covariance, rtol=0, atol=1e-10)
    assert np.allclose(np.diagonal(true_covariance).reshape(truth.shape), variance, atol=1e-10)


# -- counting ------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [7, 1 << 18])
def test_rows_are_counted_as_pandas_counts_them(block, monkeypatch):
    """By cell, in blocks of any size; a row with anything missing is outside n."""
    monkeypatch.setattr("rrstats.estimation.estimates.axes.BLOCK_ROWS", block)
    frame = surveyed(500, x=rr.KRR(list("abc"), 0.6), y=REGIONS, z=rr.KRR([True, False], 0.75))
    frame.loc[::9, "y"] = None
    attrs = frame.attrs
    frame["y"] = frame["y"].astype("category")
    frame.attrs = attrs
    found = crosstab(frame, "x", "y", "z")
    whole = frame.dropna()
    expected = [
        [[((whole.x == a) & (whole.y == b) & (whole.z == c)).sum() for c in (True, False)]
         for b in REGIONS]
        for a in "abc"
    ]  # fmt: skip
    assert np.array_equal(expected, found.moments.reported)
    assert (len(whole), len(frame) - len(whole)) == (found.n, found.n_missing)


@pytest.mark.parametrize("rows_at_once", [256, 1 << 21])
def test_reports_of_several_categories_are_counted_by_what_they_name(rows_at_once, monkeypatch):
    """The shares are the mean of the rows' products of scores, and missing rows are outside."""
    monkeypatch.setattr("rrstats.estimation.estimates.axes._AT_ONCE", rows_at_once)
    made = {
        "x": rr.mechanisms.UnaryEncoding.optimized(list("abc"), epsilon=2.0),
        "z": rr.KRR(NO_YES, 0.75),
    }
    frame = surveyed(2_000, y=REGIONS, **made)
    attrs = frame.attrs
    frame.loc[::7, "y"] = None
    frame.attrs = attrs
    found = crosstab(frame, "x", "y", "z")
    x, y, z = (column.scores() for column in ReportFrame.of(frame).joint(["x", "y", "z"]))
    there = ~np.isnan(y).any(axis=1)
    rows = np.einsum("na,nb,nc->nabc", x[there], y[there], z[there])
    assert found.n == there.sum()
    assert np.allclose(rows.mean(axis=0), found.proportions, rtol=0, atol=1e-12)
    assert np.allclose(rows.var(axis=0, ddof=1) / found.n, found.variance, rtol=1e-9)


def test_parts_of_the_rows_add_to_the_whole():
    """Where they have the same columns, mechanisms, levels and targets; others are refused."""
    frame = surveyed(900, x=rr.KRR(list("abc"), 0.6), y=REGIONS)
    parts = [crosstab(part, "x", "y") for part in (frame[:200], frame[200:500], frame[500:])]
    found, whole = sum(parts), crosstab(frame, "x", "y")
    assert whole.moments.axes == found.moments.axes
    assert np.array_equal(whole.moments.counted, found.moments.counted)
    assert found.n == whole.n
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}
    one = Crosstab.from_counts([[1, 2], [3, 4]], columns)
    for other in (
        Crosstab.from_counts([[1, 2], [3, 4]], {"x": rr.KRR(NO_YES, 0.8), "y": NO_YES}),
        Crosstab.from_counts([[1, 2], [3, 4]], {"x": rr.KRR(NO_YES, 0.75), "y": ["no", "maybe"]}),
        one._with_target("sample"),
        one.margin("x"),
    ):
        with pytest.raises(ArgumentValueError, match="added"):
            one + other


def test_margins_are_tables_of_fewer_columns():
    """In the order asked for, also where a report names several categories."""
    made = {
        "x": rr.mechanisms.UnaryEncoding.optimized(list("abc"), epsilon=2.0),
        "z": rr.KRR(NO_YES, 0.75),
    }
    frame = surveyed(800, y=REGIONS, **made)
    found = crosstab(frame, "x", "y", "z")
    for names in (("z", "x"), ("y",), ("y", "z"), ("x", "y", "z"), ("z", "x", "y")):
        assert np.array_equal(
            crosstab(frame, *names).moments.counted, found.margin(*names).moments.counted
        )
    alone = found.margin("z")
    est = rr.estimate(frame["z"], made["z"])
    assert est.tally == found._estimate("z").tally
    assert np.array_equal(rr.tally(frame["x"]).reported, found._estimate("x").tally.reported)
    with pytest.raises(ArgumentValueError, match="the ordinary column"):
        found._estimate("y")
    assert np.allclose(est.proportions, alone.proportions, rtol=0, atol=1e-12)
    assert np.allclose(est.std_error, alone.std_error, rtol=1e-12)


def test_missing_values_can_be_a_level_or_an_error():
    """Ordinary ones become the level None; the policy is named and counted."""
    frame = surveyed(300, x=rr.KRR(NO_YES, 0.75), y=REGIONS)
    attrs = frame.attrs
    frame.loc[:29, "y"] = None
    frame.loc[25:34, "x"] = None
    frame.attrs = attrs
    assert (265, 35) == ((found := crosstab(frame, "x", "y")).n, found.n_missing)
    kept = crosstab(frame, "x", "y", missing="keep")
    assert (290, 10) == (kept.n, kept.n_missing)
    assert (*REGIONS, None) == kept.categories[1]
    with pytest.raises(ArgumentValueError, match="35 of 300 rows have something missing"):
        crosstab(frame, "x", "y", missing="raise")


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - SILENT))
def test_every_mechanism_stands_beside_an_ordinary_column(name):
    """Its shares within a level are those of `estimate` there; or a reason is given."""
    mechanism = EXAMPLES[name]()
    size = 240
    drawn = np.random.default_rng(2)
    codes = drawn.integers(0, len(mechanism.domain.categories), size)
    truth = pd.Series([mechanism.domain.categories[code] for code in codes], dtype=object)
    frame = pd.DataFrame({"x": truth, "y": np.where(np.arange(size) % 3, "u", "v")})
    options = {}
    if mechanism.groups is not None:
        frame["g"] = [mechanism.groups[i % len(mechanism.groups)] for i in range(size)]
        options["group"] = "g"
    made = frame.rr.simulate("x", mechanism, seed=3, **options)
    if mechanism.groups is not None and not mechanism.channel.is_separable:
        with pytest.raises(ArgumentValueError, match="all samples together"):
            crosstab(made, "x", "y", **options)
        return
    found = crosstab(made, "x", "y", **options)
    share = found.conditional("x", given="y").proportions
    for j, level in enumerate(found.categories[1]):
        part = made[made.y == level]
        groups = part["g"] if options else None
        est = rr.estimate(part["x"], mechanism, group=groups)
        assert np.allclose(est.proportions, share[:, j], rtol=0, atol=1e-9)
    assert found.to_frame().shape[0] == mechanism.k * 2


# -- conditional shares --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["population", "sample"])
def test_conditional_shares_have_the_delta_methods_error(target):
    """Computed axis by axis, and equal to the gradient times the whole covariance."""
    frame = surveyed(4_000, x=rr.KRR(list("abc"), 0.7), y=rr.KRR(REGIONS, 0.8), z=NO_YES)
    table = crosstab(frame, "x", "y", "z", target=target)
    found = table.conditional(["x"], given=["y", "z"])
    share, cov = table.proportions, table.covariance
    people = share.sum(axis=0)
    assert np.allclose(share / people, found.proportions, rtol=1e-12)
    for cell in np.ndindex(share.shape):
        slope = np.zeros(share.shape)
        slope[(slice(None), *cell[1:])] = -share[cell] / people[cell[1:]] ** 2
        slope[cell] += 1 / people[cell[1:]]
        expected = np.sqrt(slope.ravel() @ cov @ slope.ravel())
        assert np.isclose(expected, found.std_error[cell], rtol=1e-9)


def test_shares_among_nobody_are_unknown():
    """Where the given people are estimated to be fewer than none, the interval is [0, 1]."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": rr.KRR(NO_YES, 0.75)}
    found = Crosstab.from_counts([[40, 8], [35, 9]], columns).conditional("x", given="y")
    low, high = found.interval()
    assert np.isnan(found.proportions[:, 1]).all()
    assert [0.0, 0.0, 1.0, 1.0] == [*low[:, 1], *high[:, 1]]


# -- intervals -----------------------------------------------------------------------------


def test_an_interval_never_shrinks_to_a_point():
    """Where an estimate lies far below 0, deviances are taken from 0."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}
    table = Crosstab.from_counts([[400, 410], [95, 95]], columns)
    low, high = table.interval()
    assert (table.interval(method="wald").high[1] < 0).all()
    assert (low[1] == 0).all()
    # Of a normal estimate z standard errors below 0 it would be sqrt(z^2 + 1.96^2) - z of them.
    below = -table.proportions[1] / table.std_error[1]
    expected = table.std_error[1] * (np.sqrt(below**2 + 1.959964**2) - below)
    assert np.allclose(expected, high[1], rtol=0.25)  # the scores are skewed


def test_ordinary_columns_have_the_exact_interval():
    """Their counts are binomial; among just these rows nothing is uncertain."""
    table = Crosstab.from_counts([[3, 40], [0, 7]], {"x": NO_YES, "y": NO_YES})
    expected = clopper_pearson_rates(table.moments.counted, np.full((2, 2), 50))
    assert np.allclose(expected, table.interval())
    low, high = table._with_target("sample").interval()
    assert np.allclose(table.proportions, low)
    assert np.allclose(table.proportions, high)


def test_other_forms_of_interval():
    """Wald's by name, all cells together wider, and everything where nothing is known."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}
    table = Crosstab.from_counts([[300, 350], [200, 150]], columns)
    low, high = table.interval(method="wald")
    assert np.allclose(1.959964 * table.std_error, high - table.proportions, rtol=1e-6)
    assert np.allclose(1.959964 * table.std_error, table.proportions - low, rtol=1e-6)
    narrow, wide = table.interval(), table.interval(simultaneous=True)
    assert (wide.low <= narrow.low).all()
    assert (wide.high > narrow.high).all()
    with pytest.raises(ArgumentValueError, match="method must be one of"):
        table.interval(method="wilson")
    for nothing in ([[0, 0], [0, 0]], [[1, 0], [0, 0]]):
        low, high = Crosstab.from_counts(nothing, columns).interval()
        assert np.array_equal(np.zeros((2, 2)), low)
        assert np.array_equal(np.ones((2, 2)), high)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "sample"])
def test_intervals_cover_what_they_promise(target):
    """Every cell's 95% interval covers in at least 90% of tables, rare and empty cells too.

    200 tables of 200 rows: one that covers 90% fails once in 1e9 runs or less.
    """
    drawn = np.random.default_rng(7)
    columns = {"x": rr.KRR(list("abc"), 0.75), "y": rr.KRR(NO_YES, 0.85)}
    truth = np.array([[0.55, 0.2], [0.15, 0.07], [0.03, 0.0]])
    empty = Crosstab.from_counts(np.zeros((3, 2), dtype=int), columns, target=target)
    first, second = (axis.likelihood_table for axis in empty.moments.axes)
    hits = np.zeros((3, 2))
    within = np.zeros((3, 2))
    for _ in range(200):
        true = drawn.multinomial(200, truth.ravel()).reshape(3, 2)
        counts = sum(
            drawn.multinomial(true[i, j], np.outer(first[:, i], second[:, j]).ravel())
            for i, j in np.ndindex(3, 2)
        )
        table = Crosstab(empty.moments.axes, counts.reshape(3, 2), 0, target)
        aim = truth if target == "population" else true / 200
        low, high = table.interval()
        hits += (low <= aim + 1e-12) & (aim <= high + 1e-12)
        low, high = table.conditional("x", given="y").interval()
        aim = aim / aim.sum(axis=0)
        within += (low <= aim + 1e-12) & (aim <= high + 1e-12)
    for hit in [*hits.ravel(), *within.ravel()]:
        chance.assert_at_least(int(hit), 200, 0.90, tests=24)


# -- inside the simplex --------------------------------------------------------------------


def test_the_likeliest_table_is_that_of_the_kronecker_product():
    """Also where the unbiased shares leave [0, 1], and in a matrix that is not square."""
    columns = {"x": generic(), "y": rr.KRR(NO_YES, 0.75)}
    counts = np.array([[50, 12], [10, 11], [30, 9], [3, 20]])
    table = Crosstab.from_counts(counts, columns)
    whole = np.kron(*(axis.likelihood_table for axis in table.moments.axes))
    expected = likelihood.most_likely(whole, counts.ravel()).reshape(3, 2)
    assert (table.proportions < 0).any()
    assert np.array_equal(expected, table.mle().proportions)


def test_steps_inside_the_simplex_reach_the_same_maximum():
    """Accelerated EM, for tables too large for Newton's method, climbs to its log-likelihood."""
    drawn = np.random.default_rng(3)
    sides = [rr.KRR(list("abcd"), 0.6).channel.matrix, generic().channel.matrix]
    whole = np.kron(*sides)
    truth = drawn.dirichlet(np.full(12, 0.5))
    counts = drawn.multinomial(2_000, whole @ truth)
    exact = likelihood.most_likely(whole, counts)
    found = likelihood._climb_table(sides, counts.reshape(4, 4).astype(float))
    assert np.allclose(exact, found.ravel(), rtol=0, atol=1e-5)
    value = counts @ np.log(whole @ found.ravel())
    assert counts @ np.log(whole @ exact) - value <= 1e-9 * 2_000


def test_shares_inside_are_their_own_maximum():
    """Then nothing is moved; a table inside the simplex has no interval."""
    columns = {"x": rr.KRR(NO_YES, 0.75), "y": REGIONS}
    table = Crosstab.from_counts([[300, 350, 200], [200, 150, 180]], columns)
    assert np.array_equal(table.proportions, table.mle().proportions)
    assert np.allclose(table.proportions, table.project().proportions)
    assert "maximum likelihood" in repr(table.mle())
    assert ["x", "y", "proportion", "count"] == list(table.mle().to_frame().columns)
    with pytest.raises(AttributeError, match="biased"):
        _ = table.mle().interval


# -- what is left --------------------------------------------------------------------------


def test_the_effective_size_is_that_of_direct_answers():
    """n for ordinary columns; for private ones n times the direct variance over the actual one."""
    counts = [[300, 350], [200, 150]]
    plain = Crosstab.from_counts(counts, {"x": NO_YES, "y": NO_YES})
    assert np.allclose(1_000, plain.effective_n)
    assert plain._effective_size == 1_000
    noisy = Crosstab.from_counts(counts, {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES})
    share = noisy.proportions
    expected = 1_000 * share * (1 - share) / (noisy.variance * 999)
    assert np.allclose(expected, noisy.effective_n, rtol=1e-12)
    spread = noisy.variance.sum() * 999
    direct = 1 - (share**2).sum() + spread / 1_000
    assert np.isclose(1_000 * direct / spread, noisy._effective_size, rtol=1e-12)


def test_noise_that_leaves_nothing_is_said_with_numbers():
    """Three private columns at epsilon 1 leave 2,000 rows next to nothing of 64 cells."""
    made = {name: rr.KRR(list("abcd"), epsilon=1.0) for name in "xyz"}
    frame = surveyed(2_000, **made)
    with pytest.warns(LowPrecisionWarning, match=r"sample size of \d+ of 2,000 rows for 64 cells"):
        crosstab(frame, "x", "y", "z")
    crosstab(frame, "x")


def test_answers_that_nobody_privatized_are_noticed():
    """As `estimate` does, by the column's own reports."""
    frame = pd.DataFrame({"x": ["no"] * 990 + ["yes"] * 10, "y": ["u", "v"] * 500})
    with pytest.warns(ImplausibleReportsWarning, match=r"columns \['x'\]"):
        crosstab(frame, "x", "y", mechanisms={"x": rr.KRR(NO_YES, 0.75)})


# -- samples with weights and a design -------------------------------------------------------


@pytest.fixture(scope="module")
def sampled():
    """A frame of reports with weights, strata and clusters."""
    made = {"x": rr.KRR(list("abc"), 0.8), "y": rr.KRR(NO_YES, 0.75)}
    frame = surveyed(900, z=REGIONS, **made)
    drawn, attrs = np.random.default_rng(3), frame.attrs
    frame = frame.assign(
        times=drawn.integers(0, 4, 900), weight=drawn.uniform(1, 3, 900),
        cluster=np.arange(900) // 15, stratum=np.arange(900) // 450,
    )  # fmt: skip
    frame.attrs = attrs
    return frame, made, rr.SampleDesign(weights="weight", strata="stratum", clusters="cluster")


def test_whole_weights_are_so_many_rows(sampled):
    """Weight 2 counts as two rows do; equal weights change no error and no end."""
    frame, *_ = sampled
    repeated = frame.loc[frame.index.repeat(frame["times"])]
    repeated.attrs = frame.attrs
    found, rows = crosstab(frame, "x", "y", weights="times"), crosstab(repeated, "x", "y")
    assert np.allclose(rows.proportions, found.proportions, rtol=0, atol=1e-12)
    assert np.allclose(rows.counts, found.counts)
    even, plain = (
        crosstab(frame.assign(one=2.0), "x", "y", weights="one"),
        crosstab(frame, "x", "y"),
    )
    assert np.allclose(plain.std_error, even.std_error, rtol=1e-12)
    assert np.allclose(plain.interval(), even.interval(), atol=1e-9)
    assert "weights sum to=1,800.0" in repr(even)


def test_a_table_of_a_design_is_that_of_one_combined_column(sampled):
    """Variance, covariance and conditional proportions are those of `estimate`."""
    frame, made, design = sampled
    matrix = np.kron(*(one.channel.matrix for one in made.values()))
    cells = list(itertools.product(*(one.categories for one in made.values())))
    column = pd.Series(list(zip(frame["x"], frame["y"], strict=True)))
    held = rr.SampleDesign(
        weights=frame["weight"], strata=frame["stratum"], clusters=frame["cluster"]
    )
    expected = rr.estimate(column, rr.MatrixDesign(cells, matrix, reports=cells), design=held)
    found = crosstab(frame, "x", "y", design=design)
    assert np.allclose(expected.proportions, found.proportions.ravel(), rtol=1e-12)
    assert np.allclose(expected.variance, found.variance.ravel(), rtol=1e-12)
    assert np.allclose(expected.covariance, found.covariance, rtol=1e-9)
    assert (58, 58) == (expected.df, found.df)
    among = expected.among([("b", "no"), ("b", "yes")]).to_frame()
    within = found.conditional("y", given="x")
    for name in ("proportion", "std_error", "low", "high"):
        rows = within.to_frame().set_index("x").loc["b", name]
        assert np.allclose(among[name], rows, rtol=1e-9), name
    assert np.allclose(
        found.margin("y", "x").association("odds_ratio", categories=("yes", "b")).value,
        found.association("odds_ratio", categories=("b", "yes")).value,
    )


def test_margins_of_a_design_are_tables_of_fewer_columns(sampled):
    """Of tables and of single columns, with the same errors; and parts of the rows add up."""
    frame, _, design = sampled
    whole = crosstab(frame, "x", "y", "z", design=design)
    for names in (("z", "x"), ("y",)):
        direct, margin = crosstab(frame, *names, design=design), whole.margin(*names)
        assert np.allclose(direct.proportions, margin.proportions, rtol=0, atol=1e-12)
        assert np.allclose(direct.std_error, margin.std_error, rtol=1e-9)
    alone = rr.estimate(frame, columns="x", design=design)
    assert np.allclose(alone.variance, whole._estimate("x").variance, rtol=1e-9)
    parts = [crosstab(frame[at], "x", "y", design=design) for at in (slice(450), slice(450, None))]
    assert np.allclose(sum(parts).variance, crosstab(frame, "x", "y", design=design).variance)


def test_tests_of_tables_know_the_design(sampled):
    """Wald's with the sample's covariance and an F distribution, of independence and of change."""
    frame, _, design = sampled
    table = crosstab(frame, "x", "y", design=design)
    found = rr.hypotheses.independence(table)
    assert found.df == 2
    assert "F with 2 and 57 degrees" in found.method
    assert found.statistic == rr.hypotheses.independence(table.moments.combined).statistic
    waves = crosstab(frame.assign(v=frame["y"]), "y", "v", design=design, mechanisms={
        "v": rr.KRR(NO_YES, 0.75)
    })  # fmt: skip
    assert np.isnan(rr.hypotheses.change(waves).p_value)  # nobody's report changed
    with pytest.raises(ArgumentValueError, match="without weights or a design"):
        rr.difference(waves._estimate("y"), waves._estimate("v"), paired=waves)


def test_a_design_that_cannot_be_used_is_refused_with_the_rule(sampled):
    """Reports of several categories, just these rows, names that are none, one level alone."""
    frame, _, design = sampled
    made = {"x": rr.mechanisms.UnaryEncoding(NO_YES, 0.75, 0.25)}
    unary = surveyed(50, y=NO_YES, **made).assign(w=1.0)
    wide, never = crosstab(frame, "x", "y", design=design), frame.assign(never=0)
    refused(
        (lambda: crosstab(unary, "x", "y", weights="w"), r"into one cell.* column 'x'"),
        (lambda: crosstab(frame, "x", design=design, target="sample"), "must be 'population'"),
        (lambda: wide._with_target("sample"), "must be 'population'"),
        (lambda: crosstab(frame, "x", weights=frame["weight"]), "name of one of its columns"),
        (lambda: crosstab(frame, "x", weights="weight", design=design), "weights in the design"),
        (lambda: crosstab(frame, "cluster", "z", "x", design=design), "2 to 400 cells"),
        (lambda: crosstab(never, "never", weights="weight"), "1 for columns .'never'.*Categorical"),
        (wide.mle, "samples with a design have no likelihood"),
    )


# -- for people ----------------------------------------------------------------------------

COLUMNS = ["reported", "naive", "proportion", "std_error", "low", "high", "count"]


@pytest.fixture
def smokers():
    columns = {"smoker": rr.KRR(NO_YES, 0.75), "region": ["north", "south"]}
    return Crosstab.from_counts([[300, 350], [200, 150]], columns, n_missing=12)


def test_the_frame_is_tidy(smokers):
    """One row a cell, the columns' labels first."""
    frame = smokers.to_frame()
    assert ["smoker", "region", *COLUMNS] == list(frame.columns)
    assert [("no", "north"), ("no", "south"), ("yes", "north"), ("yes", "south")] == list(
        zip(frame.smoker, frame.region, strict=True)
    )
    assert [300, 350, 200, 150] == frame.reported.tolist()
    assert np.allclose([350, 450, 150, 50], frame["count"])
    within = smokers.to_frame(normalize="columns")
    assert ["smoker", "region", *COLUMNS[2:6]] == list(within.columns)
    assert np.allclose([0.7, 0.9, 0.3, 0.1], within.proportion)


def test_a_column_named_like_a_number_is_renamed_beside_it():
    """By the rule of groups: "_group" behind its name, once more where that is a column too."""
    columns = {"count": NO_YES, "low": NO_YES, "low_group": NO_YES}
    table = Crosstab.from_counts(np.arange(1, 9).reshape(2, 2, 2), columns)
    frame = table.to_frame()
    assert ["count_group", "low_group_group", "low_group", *COLUMNS] == list(frame.columns)
    assert (["no"] * 4 + ["yes"] * 4) == frame["count_group"].tolist()
    assert np.allclose(np.arange(1, 9), frame["count"])
    within = table.conditional("count", given="low").to_frame()
    assert ["count", "low_group", *COLUMNS[2:6]] == list(within.columns)  # counts are not told
    assert ["count_group", "low", "proportion", "count"] == list(
        table.margin("count", "low").project().to_frame().columns
    )


def test_tables_side_by_side(smokers):
    """Rows and columns by their labels; one number of each cell."""
    assert np.allclose([[0.35, 0.45], [0.15, 0.05]], smokers.to_frame(wide="proportion"))
    assert ("smoker", "region") == (
        smokers.to_frame(wide="proportion").index.name,
        smokers.to_frame(wide="proportion").columns.name,
    )
    assert np.allclose(
        [[0.7, 0.9], [0.3, 0.1]], smokers.to_frame(normalize="columns", wide="proportion")
    )
    rows = smokers.to_frame(normalize="index", wide="proportion")
    assert np.allclose([0.4375, 0.75], rows["north"])
    assert np.allclose(smokers.interval().low, smokers.to_frame(wide="low"))
    columns = {"a": NO_YES, "b": REGIONS, "c": NO_YES}
    three = Crosstab.from_counts(np.ones((2, 3, 2), dtype=int), columns)
    assert ["a", "b"] == list(three.to_frame(wide="proportion").index.names)
    assert (6, 2) == three.to_frame(wide="proportion").shape
    assert (2, 1) == three.margin("a").to_frame(wide="proportion").shape
    refused(
        (lambda: smokers.to_frame(wide="share"), "wide must be one of"),
        (lambda: smokers.to_frame(normalize="rows"), "normalize must be"),
        (lambda: smokers.to_frame(normalize="index", wide="count"), "wide must be one of"),
    )


def test_what_is_shown_says_what_was_taken_for_what(smokers):
    """n, the left out, private columns and ordinary ones, and what is left; labels escaped."""
    text = repr(smokers)
    for part in ("n=1,000", "12 left out", "privatized=smoker", "ordinary=region"):
        assert part in text
    assert f"effective sample size={smokers._effective_size:,.0f} of {smokers.n:,}" in text
    odd = Crosstab.from_counts([[1, 2], [3, 4]], {"<b>": NO_YES, "y": ["<i>", "z"]})
    assert "<b>" not in odd._repr_html_()
    assert "<i>" not in odd._repr_html_()
    assert "Proportions of smoker within region" in repr(smokers.conditional("smoker", "region"))


def test_the_picture_shows_every_cell_with_its_interval(smokers):
    """Figures and a bar from low to high below each share; what may be 0 is hatched."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    ax = smokers.plot()
    low, high = smokers.interval()
    lines = [line.get_segments() for line in ax.collections if hasattr(line, "get_segments")]
    ends = [segments[0][:, 0] for segments in lines]
    widths = sorted(right - left for left, right in ends if 0 < right - left < 0.79)
    assert "from 0 to 100%" in ax.get_title(loc="left")
    assert np.allclose(sorted(0.8 * (high - low).ravel()), widths)
    assert {"35.0%", "45.0%", "15.0%", "5.0%"} <= {text.get_text() for text in ax.texts}
    hatched = [one for one in ax.patches if isinstance(one, Rectangle) and one.get_hatch()]
    assert int((low <= 0).sum()) == len(hatched)
    plt.close(ax.figure)


# -- what is kept --------------------------------------------------------------------------


def test_what_a_table_keeps_cannot_be_written_to():
    """Otherwise its numbers could be made to disagree; the user's counts are copied."""
    counts = np.array([[300, 350], [200, 150]])
    table = Crosstab.from_counts(counts, {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES})
    table, within = Crosstab(table.moments.axes, counts), table.conditional("x", given="y")
    kept = table.moments.counted, table.proportions, table.variance, table.project().proportions
    for held in (*kept, within.proportions, within.std_error, table.moments.axes[0].scores):
        assert not held.flags.writeable
    counts[0, 0] = 0
    assert 300 == table.moments.counted[0, 0]


# -- nothing to count ----------------------------------------------------------------------


@pytest.mark.parametrize("mechanisms", [{}, {"x": rr.KRR(NO_YES, 0.75)}], ids=["plain", "private"])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [], "y": []}, dtype=object),
        pd.DataFrame({"x": [None] * 3, "y": [None] * 3}, dtype=object),
        pd.DataFrame({"x": ["no", "yes", None], "y": [None] * 3}, dtype=object),
    ],
    ids=["empty", "all missing", "one column missing"],
)
def test_a_frame_without_a_complete_row_has_an_empty_table(frame, mechanisms):
    """Where a column has no categories there are no cells: frames are empty, a picture is not."""
    table = crosstab(frame, "x", "y", mechanisms=mechanisms)
    assert (0, len(frame)) == (table.n, table.n_missing)
    for found in (table.to_frame(), table.to_frame(simultaneous=True), table.project().to_frame()):
        assert ["x", "y"] == list(found.columns)[:2]
        assert found.empty
    for of, given in ("xy", "yx"):
        assert table.conditional(of, given=given).to_frame().empty
        assert table.conditional(of, given=given).wide().empty
    assert all(end.shape == table.shape for end in table.interval())
    assert table.to_frame(wide="high").empty
    assert 0 == (table + table).n


def test_a_table_without_cells_has_no_picture():
    """There is nothing to draw."""
    pytest.importorskip("matplotlib")
    frame = pd.DataFrame({"x": ["no", "yes"], "y": [None] * 2}, dtype=object)
    refused((crosstab(frame, "x", "y").plot, "found 0"))


def test_a_level_that_nobody_has_is_an_empty_cell():
    """A Categorical keeps its levels: their share may be as large as no row out of n allows."""
    y = pd.Categorical(["u", "v"] * 50, categories=["u", "w", "v"])
    table = crosstab(pd.DataFrame({"x": NO_YES * 50, "y": y}), "x", "y")
    assert (("no", "yes"), ("u", "w", "v")) == table.categories
    low, high = table.interval()
    assert (0, 0) == (table.proportions[1, 1], low[1, 1])
    assert np.isclose(1 - 0.025 ** (1 / 100), high[1, 1])  # 1 - (alpha / 2)^(1 / n)
    assert np.isnan(table.conditional("x", given="y").proportions[:, 1]).all()


# -- bad input -----------------------------------------------------------------------------


def refused(*cases):
    """Each call raises an error of an argument that says these words."""
    for call, words in cases:
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=words):
            call()


def test_bad_input_says_what_to_do(smokers):
    """Names, shapes and options; cells of the data are never quoted."""
    frame = surveyed(50, x=rr.KRR(NO_YES, 0.75), y=REGIONS)
    unary = surveyed(
        300, x=rr.mechanisms.UnaryEncoding.optimized(list("abc"), epsilon=2.0), y=REGIONS
    )
    made, of = {"x": rr.KRR(NO_YES, 0.75), "y": NO_YES}, Crosstab.from_counts
    named = {"x": rr.mechanisms.UnaryEncoding.optimized(NO_YES, epsilon=1.0), "y": NO_YES}
    refused(
        (lambda: crosstab([1, 2], "x"), "DataFrame"),
        (lambda: crosstab(frame), "at least one column, and each once, found 0"),
        (lambda: crosstab(frame, "x", "x"), "found 2 names, 1 distinct"),
        (lambda: crosstab(frame, "x", missing="ignore"), "missing must be one of"),
        (lambda: crosstab(frame, "y", mechanisms={"z": made}), r"asked for, \['y'\], found also"),
        (lambda: rr.correlations(frame, "index", mechanisms={"z": made}), r"found also \['z'\]"),
        (lambda: crosstab(frame, "x", target="people"), "target must be"),
        (lambda: smokers.margin("age"), "names among"),
        (lambda: smokers.conditional("smoker", given="smoker"), "distinct names"),
        (lambda: of([[1, 2, 3], [4, 5, 6]], made), r"shape \(2, 2\)"),
        (lambda: of([[1, 2], [3, 4.5]], made), "a whole number"),
        (lambda: of([[1, 2], [3, 4]], {"x": 3, "y": NO_YES}), "a list of its levels"),
        (lambda: of([[1, 2], [3, 4]], named), "named together"),
        (crosstab(unary, "x", "y").mle, "name several categories.* project"),
    )
    assert np.isclose(1.0, crosstab(unary, "x", "y").project().proportions.sum())
    with pytest.raises(NotIdentifiableError, match="no information"):
        crosstab(frame, "x", "y", mechanisms={"y": rr.KRR(REGIONS, 1 / 3)})


def test_a_table_that_is_too_large_is_refused_with_a_way_out():
    """Before anything is counted; the widest column is named, its values are not."""
    frame = pd.DataFrame({"secret": np.arange(3_000) + 700_000, "other": np.arange(3_000)})
    with pytest.raises(ArgumentValueError, match=r"'secret' alone has 3,000 categor") as caught:
        crosstab(frame, "secret", "other")
    assert "700" not in str(caught.value)


def test_columns_instead_of_names_are_refused_without_their_cells():
    """Where a column itself is given, or a Series for a mapping, the type is said and no cell."""
    frame = pd.DataFrame({"x": ["secret", "other"], "y": ["u", "v"]})
    table = Crosstab.from_counts([[3, 4], [5, 6]], {"x": NO_YES, "y": NO_YES})
    for ask in (
        lambda: crosstab(frame, frame["x"], "y"),
        lambda: crosstab(frame, "y", frame["x"]),
        lambda: crosstab(frame, ["secret", "other"]),
        lambda: table.margin(frame["x"]),
        lambda: table.conditional(frame["x"], given="y"),
        lambda: table.conditional("x", given=frame["y"]),
        lambda: crosstab(frame, "x", mechanisms=frame["x"]),
        lambda: rr.correlations(frame, frame["x"], "y"),
        lambda: rr.correlations(frame, "x", "y", mechanisms=frame["x"]),
    ):
        with pytest.raises(ArgumentTypeError, match=r"found (Series|list)") as caught:
            ask()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "levels", "mechanisms", "words"),
    [
        (NO_YES, [["secret"], ["other"]], None, "hashable"),
        (["no", "secret"], ["u", "v"], {"x": rr.KRR(NO_YES, 0.75)}, "1 of 2 reports"),
    ],
    ids=["lists", "true answers that slipped in"],
)
def test_cells_that_are_refused_are_not_quoted(cells, levels, mechanisms, words):
    """What cannot be a level or a report is counted, and its type is said."""
    frame = pd.DataFrame({"x": cells, "y": levels})
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        crosstab(frame, "x", "y", mechanisms=mechanisms)
    assert "secret" not in str(caught.value)


def test_weighted_tables_of_unlike_parts_are_not_added():
    """Nor those of another population, or with other levels."""
    frame = pd.DataFrame(
        {"a": ["n", "n", "y", "n"] * 10, "g": ["u", "v"] * 20, "w": [1, 2, 3, 4] * 10}
    )
    made = {"mechanisms": {"a": rr.KRR(["n", "y"], 0.8)}}
    table, fewer = (
        crosstab(rows, "a", "g", weights="w", **made) for rows in (frame, frame[frame["g"] == "u"])
    )
    parts = [
        crosstab(rows, "a", "g", design=rr.SampleDesign(population=size), **made)
        for rows, size in ((frame[:20], 60), (frame[20:], 3000))
    ]
    refused(
        (lambda: parts[0] + parts[1], "the same population"),
        (lambda: table + fewer, "levels, mechanisms and target"),
        (lambda: fewer + table, "levels, mechanisms and target"),
    )


def test_a_table_prints_where_a_category_is_the_name_of_a_column():
    """The categories of the last column stand beside the names of the others."""
    frame = pd.DataFrame({"a": ["c", "d"] * 2, "b": ["c", "d"] * 2})
    ways = {"a": rr.KRR(list("bcd"), 0.7), "b": rr.KRR(list("cd"), 0.7)}
    text = str(rr.crosstab(frame, "b", "a", mechanisms=ways))
    assert text.splitlines()[1].split() == ["b", "b", "c", "d"]


def test_a_weighted_conditional_proportion_without_variance_has_an_error_of_0():
    """A variance that rounding made negative is none."""
    m, rng = rr.KRR(list("abcdef"), 0.625), np.random.default_rng(0)
    answers = list(rng.choice(list("abcdef"), 30))
    reports = list(rr.simulate(answers, m, seed=0))
    weights = np.random.default_rng(0).gamma(2, 1, 30)
    frame = pd.DataFrame({"a": reports, "z": list("xyz" * 10), "w": weights})
    found = rr.crosstab(frame, "a", "z", mechanisms={"a": m}, weights="w").conditional("a", "z")
    assert np.isfinite(found.std_error).all()
