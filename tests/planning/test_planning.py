"""Which design a plan recommends, and what a few liars can do to each."""

import itertools
import math
import re
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from catalogue import ASYMMETRIC
from refusals import refused
from subset_probabilities import reports

import rrstats as rr
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.channel import KRRChannel
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import UnaryEncoding
from rrstats.planning import (
    half_width,
    people_for_power,
    recommend,
    relative_variance,
)
from rrstats.planning.compliance import influence, worst_case_bias

NAMES = ["KRR", "SubsetSelection", "OptimizedUnary", "SymmetricUnary"]


def by_name(advice):
    return advice.table.set_index("mechanism")


# -- the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon", "name", "column", "expected"),
    [
        # theory_cases.json, var-GRR-k16-e1, var-SUE-k16-e1, var-OUE-k16-e1 (Wang et al. 2017,
        # table 1, at f = 0) and var-SS-* (Ye and Barg 2018, at f = 1/k), 30-digit arithmetic.
        (16, 1.0, "KRR", "variance_at_0", 5.662430016946315),
        (16, 1.0, "SymmetricUnary", "variance_at_0", 3.917698089032764),
        (16, 1.0, "OptimizedUnary", "variance_at_0", 3.682694376831169),
        (16, 1.0, "SubsetSelection", "variance_sample", 3.1860245661240425),
        (100, 1.0, "SubsetSelection", "variance_sample", 3.599534851840938),
        (100, 3.0, "SubsetSelection", "variance_sample", 0.20644167525466972),
        # Table 2 there, recomputed to four digits by (k - 2 + e) / (e - 1)^2 and the like.
        (2, 0.5, "KRR", "variance_at_0", 3.9177),
        (2, 4.0, "KRR", "variance_at_0", 0.019006),
        (32, 0.5, "OptimizedUnary", "variance_at_0", 15.671),
        (32, 2.0, "SymmetricUnary", "variance_at_0", 0.92067),
    ],
)
def test_variances_golden(k, epsilon, name, column, expected):
    """The table holds the published variances of one report."""
    digits = 1e-12 if len(str(expected)) > 12 else 1e-4
    assert expected == pytest.approx(by_name(recommend(k, epsilon))[column][name], rel=digits)


def moments(mechanism, shares):
    """The variance of each debiased share for both targets, by the sum over all reports."""
    k, found = len(shares), []
    p, q = mechanism.channel.prob_truth, mechanism.channel.prob_other
    bits, distributions = zip(*reports(mechanism), strict=True)
    for v in range(k):
        score = [(held[v] - q) / (p - q) for held in bits]
        means = [
            sum(distribution[t] * s for distribution, s in zip(distributions, score, strict=True))
            for t in range(k)
        ]
        assert means == [int(t == v) for t in range(k)]
        second = [
            sum(
                distribution[t] * s * s
                for distribution, s in zip(distributions, score, strict=True)
            )
            for t in range(k)
        ]
        population = sum(f * x for f, x in zip(shares, second, strict=True)) - shares[v] ** 2
        rows = sum(f * (x - m * m) for f, x, m in zip(shares, second, means, strict=True))
        found.append((population, rows))
    return [float(sum(pair[i] for pair in found) / k) for i in (0, 1)]


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(("k", "epsilon"), [(3, 0.4), (4, 1.0), (5, 0.7)])
def test_variances_equal_the_sum_over_all_reports(k, epsilon, target):
    """Every variance, standard error and ratio, from each design's reports written out."""
    n, shares = 1234, [Fraction(i + 1, k * (k + 1) // 2) for i in range(k)]
    advice = recommend(k, epsilon, n, proportions=[float(f) for f in shares], target=target)
    table, expected = by_name(advice), {}
    for name, m in zip(NAMES, each_design(k, epsilon), strict=True):
        population, rows = moments(m, shares)
        assert population == pytest.approx(table["variance_population"][name], rel=1e-9)
        assert rows == pytest.approx(table["variance_sample"][name], rel=1e-9)
        expected[name] = population if target == "population" else rows
    least = min(expected.values())
    for name, variance in expected.items():
        assert math.sqrt(variance / n) == pytest.approx(table["std_error"][name], rel=1e-9)
        assert variance / least == pytest.approx(table["ratio"][name], rel=1e-9)
        assert abs(table["people"][name] - n * variance / least) < 1 + 1e-6
    assert expected[advice.best] == least


def each_design(k, epsilon):
    made = (
        rr.KRR,
        SubsetSelection,
        UnaryEncoding.optimized,
        UnaryEncoding.symmetric,
    )
    return [design(range(k), epsilon=epsilon) for design in made]


# -- the recommendation -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "largest"),
    # theory.md, section 1: "k-RR is the best subset size for k up to", computed there.
    [(0.5, 3), (1.0, 5), (1.5, 7), (2.0, 11), (3.0, 29), (4.0, 78), (5.0, 211)],
)
def test_where_krr_is_the_best(epsilon, largest):
    """k-RR is recommended up to the k where subsets of one are the best, and no further."""
    last, next_ = recommend(largest, epsilon), recommend(largest + 1, epsilon)
    assert [last.best, next_.best] == ["KRR", "SubsetSelection"]
    assert by_name(last)["ratio"]["SubsetSelection"] == 1
    assert by_name(next_)["ratio"]["KRR"] > 1


@pytest.mark.parametrize(
    ("epsilon", "largest"),
    # theory.md, section 1: "k-RR beats OUE (uniform f) for k up to".
    [(0.5, 6), (1.0, 9), (1.5, 13), (2.0, 20), (3.0, 51), (4.0, 134), (5.0, 360)],
)
def test_where_krr_beats_optimized_unary(epsilon, largest):
    """The order of k-RR and optimized unary encoding turns at the published k."""
    for k, krr_is_better in ((largest, True), (largest + 1, False)):
        ratio = by_name(recommend(k, epsilon))["ratio"]
        assert krr_is_better == (ratio["KRR"] < ratio["OptimizedUnary"])


@pytest.mark.parametrize(
    ("k", "epsilon", "krr", "unary"),
    # theory.md, section 1, "Variance over the optimum, k-RR / OUE, uniform f".
    [
        *[(2, e, "1.00", u) for e, u in [(0.5, "4.13"), (1, "4.54"), (2, "6.76"), (4, "30.3")]],
        *[(5, e, x, u) for e, x, u in [(0.5, "1.21", "1.60"), (1, "1.00", "1.70")]],
        *[(10, e, x, u) for e, x, u in [(0.5, "1.91", "1.25"), (1, "1.41", "1.30")]],
        *[(32, e, x, u) for e, x, u in [(2, "1.64", "1.16"), (3, "1.03", "1.39")]],
        *[(100, e, x, u) for e, x, u in [(0.5, "15.5", "1.02"), (1, "9.6", "1.03")]],
        *[(100, e, x, u) for e, x, u in [(3, "1.82", "1.12"), (4, "1.10", "1.33")]],
        *[(1000, e, x, u) for e, x, u in [(0.5, "152", "1.00"), (4, "5.1", "1.03")]],
    ],
)
def test_ratios_golden(k, epsilon, krr, unary):
    """Variance over the best design's, to the digits of the published table."""
    ratio = by_name(recommend(k, epsilon, target="sample"))["ratio"]
    for name, expected in (("KRR", krr), ("OptimizedUnary", unary)):
        digits = len(expected.partition(".")[2])
        assert expected == f"{ratio[name]:.{digits}f}"


def test_the_order_does_not_depend_on_shares_or_target():
    """Shares and target change the standard errors, not the order nor the rows' mean variance."""
    rng = np.random.default_rng(8)
    for k, epsilon in ((3, 1.0), (12, 0.5), (40, 3.0)):
        plain = recommend(k, epsilon)
        for target in ("population", "sample"):
            shares = rng.dirichlet(np.full(k, 0.3))
            other = recommend(k, epsilon, proportions=shares, target=target)
            assert list(plain.table["mechanism"]) == list(other.table["mechanism"])
            assert np.allclose(
                plain.table["variance_sample"], other.table["variance_sample"], rtol=1e-9
            )
            gap = other.table["variance_population"] - other.table["variance_sample"]
            assert np.allclose((1 - (shares**2).sum()) / k, gap, rtol=1e-6)


def test_many_categories_take_little_memory():
    """20,000 categories need no square matrix, and a number beyond reason is refused at once."""
    tracemalloc.start()
    try:
        assert half_width(10**6, 0.1, 20_000, epsilon=5.0) < 0.02
        assert relative_variance(0.1, 20_000, epsilon=5.0) > 1
        for call in (half_width, people_for_power):
            with pytest.raises(ArgumentValueError, match=r"k, the number of categories, must be"):
                call(0.9 if call is people_for_power else 100, 0.1, 10**10, epsilon=1.0)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_the_best_is_built_over_categories():
    """The recommended design at the epsilon asked for, and never above it."""
    labels = [f"town {i}" for i in range(50)]
    made = recommend(50, 0.7).mechanism(labels)
    assert SubsetSelection(labels, epsilon=0.7) == made
    assert made.epsilon <= 0.7
    assert rr.KRR(["no", "yes"], epsilon=0.7) == recommend(2, 0.7).mechanism(["no", "yes"])
    with pytest.raises(ArgumentValueError, match="must be 50, as in this recommendation, found 2"):
        recommend(50, 0.7).mechanism(["no", "yes"])


def test_what_a_report_costs():
    """Bytes, named categories and influence of each design, at k = 100 and epsilon 1."""
    table = by_name(recommend(100, 1.0))
    assert {"KRR": 1, "SubsetSelection": 13, "OptimizedUnary": 13, "SymmetricUnary": 13} == dict(
        table["bytes"]
    )
    # k-RR names one; subsets have their size; unary p + (k - 1) q = 0.5 + 99 / (e + 1).
    assert 1 == pytest.approx(table["names"]["KRR"], rel=1e-12)
    assert 27 == pytest.approx(table["names"]["SubsetSelection"], rel=1e-12)
    assert 0.5 + 99 / (math.e + 1) == pytest.approx(table["names"]["OptimizedUnary"], rel=1e-12)
    # theory_cases.json, influence: (1 - q) / (p - q) for k-RR; 2 e / (e - 1) for OUE.
    assert 58.61569398006332 == pytest.approx(table["influence"]["KRR"], rel=1e-12)
    assert 2 * math.e / (math.e - 1) == pytest.approx(
        table["influence"]["OptimizedUnary"], rel=1e-9
    )
    assert 2 == by_name(recommend(300, 4.0))["bytes"]["KRR"]
    assert 1 == by_name(recommend(256, 4.0))["bytes"]["KRR"]


def test_times_direct_is_the_variance_ratio():
    """theory_cases.json, deff: s(1-s) / ((p-q)^2 f(1-f)), 25 for a coin of 0.6 at f = 1/2."""
    table = by_name(recommend(2, math.log(0.6 / 0.4)))
    assert 0.25 / 0.2**2 / 0.25 == pytest.approx(table["times_direct"]["KRR"], rel=1e-9)


def test_without_n_there_are_no_standard_errors():
    """Standard errors and numbers of people stand in the table only where n was given."""
    assert {"std_error", "people"} & set(recommend(5, 1.0).table.columns) == set()
    assert {"std_error", "people"} <= set(recommend(5, 1.0, 10).table.columns)


# -- how it reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon", "n", "says"),
    [
        (100, 1.0, 10_000, "use SubsetSelection|2.6% more with OptimizedUnary"),
        (100, 1.0, 10_000, "9.61 times as many with KRR|about 0.019 with n = 10,000."),
        (100, 1.0, None, "A 13-byte report of SubsetSelection, honest or not, names 27 of"),
        (100, 1.0, None, "by 3.13 people|by 58.6 people"),
        (3, 1.0, 1_000, "use KRR|looks like an answer|is the same design"),
        (32, 3.0, None, "need more people: 2.6% more with KRR|needs 15% more people"),
        (1000, 0.5, None, "152 times as many with KRR|by 1,540"),
    ],
)
def test_reasons(k, epsilon, n, says):
    """The reason gives the winner, the others' people, the report, and what one report can do."""
    reason = recommend(k, epsilon, n).reason
    for words in says.split("|"):
        assert words in reason
    assert "hardly anybody" not in recommend(3, 1.0).reason


def test_how_it_is_shown():
    """A text for terminals and a table for notebooks, both with the reason."""
    advice = recommend(10, 1.0, 500, proportions=[0.1] * 10, target="sample")
    text, page = repr(advice), advice._repr_html_()
    assert text.startswith(
        "SubsetSelection for 10 categories at epsilon 1, n=500, target 'sample'\n"
    )
    assert max(map(len, text.splitlines())) <= 100
    assert re.sub(r"\s+", " ", text).endswith(advice.reason)
    assert page.count("<tr") == len(advice.table.columns)
    assert "target &#x27;sample&#x27;" in page


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((1, 1.0), {}, ArgumentValueError, "k, the number of categories, must be in .2, "),
        (("ab", 1.0), {}, ArgumentTypeError, "must be a list"),
        ((10**9, 1.0), {}, ArgumentValueError, "categories must be at most"),
        ((5, 0.0), {}, ArgumentValueError, "above 0, got 0"),
        ((5, 100.0), {}, ArgumentValueError, "largest possible is 3[0-9]"),
        ((5, 1.0, 0), {}, ArgumentValueError, "n, a number of people, must be in"),
        ((2, 1.0), {"proportions": [0.5, 0.6]}, ArgumentValueError, "sum to 1, got 1.1"),
    ],
)
def test_bad_questions(arguments, options, error, words):
    """Each argument out of its range is named, with the rule."""
    refused(error, words, recommend, *arguments, **options)


# -- what a few can do --------------------------------------------------------------------------


class Field(rr.mechanisms.Mechanism):
    """A mechanism that is no more than its channel."""

    channel = None

    def __init__(self, channel):
        self.channel = channel
        self.domain = Categories(range(channel.k))

    def randomize(self, codes, source, block=0):
        raise NotImplementedError


def test_tables_of_designs_go_with_their_variances():
    """Errors of 2,000 people, direct answers of fifths, names in a report; one report at 10%."""
    advice = rr.planning.recommend(5, 1.0, 2000)
    table = advice.table.set_index("mechanism")
    variance = table["variance_population"].to_numpy()
    assert variance == pytest.approx(2000 * table["std_error"].to_numpy() ** 2, rel=1e-12)
    assert variance == pytest.approx(0.2 * 0.8 * table["times_direct"].to_numpy(), rel=1e-12)
    own = math.exp(0.5) / (1 + math.exp(0.5))
    names = own + 4 * (1 - own)
    assert [1, names] == pytest.approx(table["names"][["KRR", "SymmetricUnary"]].tolist())
    found = rr.planning.compare_designs(1.0)
    for row in found.table.itertuples():
        expected = 0.09 * relative_variance(0.1, found.mechanisms[row.design])
        assert expected == pytest.approx(row.variance, rel=1e-12)


def test_relative_variance_is_that_of_the_reports_over_that_of_the_answers():
    """(.3 x .7 / .5^2) / (.1 x .9) = 28/3: at p = .75 a tenth of yes is reported by 30%."""
    found = relative_variance(0.1, rr.KRR(["no", "yes"], 0.75))
    assert 28 / 3 == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_worst_report_is_found(k, epsilon):
    """Influence and bias equal the best of all reports, for every set of targets."""
    designs = each_design(k, epsilon) + [
        SubsetSelection(range(k), epsilon=epsilon, size=size) for size in range(1, k)
    ]
    for mechanism in designs:
        bits = np.array([bits for bits, _ in reports(mechanism)], dtype=bool)
        scores = mechanism.channel.scores(bits)
        low, high = influence(mechanism, 10)
        assert (scores.min() / 10, scores.max() / 10) == pytest.approx((low, high), rel=1e-9)
        for r in range(1, k + 1):
            gains = [
                scores[:, t].sum(axis=1).max()
                for t in map(list, itertools.combinations(range(k), r))
            ]
            assert max(gains) == pytest.approx(min(gains), rel=1e-9)  # all targets alike
            found = worst_case_bias(mechanism, 0.1, r, true_total=0.3)
            assert 0.1 * (max(gains) - 0.3) == pytest.approx(found, rel=1e-9, abs=1e-12)


def test_the_worst_report_of_a_matrix():
    """Of a channel given by its matrix: the best report for the best set of targets."""
    field, reports = Field(ASYMMETRIC), np.arange(4)
    scores = ASYMMETRIC.scores(reports)
    low, high = influence(field, 1)
    assert (scores.min(), scores.max()) == (low, high)
    for r in (1, 2, 3):
        gains = [
            scores[:, t].sum(axis=1).max() for t in map(list, itertools.combinations(range(3), r))
        ]
        assert 0.2 * max(gains) == pytest.approx(worst_case_bias(field, 0.2, r), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_worst_report_where_the_truth_is_rarer_than_lies(k):
    """Then reports that do not name the targets raise them, and not all targets can be spared."""
    field = Field(KRRChannel.of(k, Fraction(1, 2 * k)))
    scores = field.channel.scores(np.arange(k))
    assert (scores.min(), scores.max()) == pytest.approx(influence(field, 1), rel=1e-12)
    for r in range(1, k + 1):
        best = scores[:, :r].sum(axis=1).max()
        assert best == pytest.approx(worst_case_bias(field, 1.0, r), rel=1e-12)
    assert 1 == pytest.approx(worst_case_bias(field, 1.0, k), rel=1e-12)


def test_poisoning_golden():
    """k-RR is 18 times as manipulable as optimized unary encoding at k = 100, epsilon 1.

    theory_cases.json, influence (n = 1000), poison-mga-kRR and poison-mga-OUE (Cao, Jia and Gong
    2021: beta 5%, one target with a share of 1%).
    """
    krr, unary = rr.KRR(range(100), epsilon=1.0), UnaryEncoding.optimized(range(100), epsilon=1.0)
    expected = (-0.0005819767068693264, 0.05861569398006332)
    assert expected == pytest.approx(influence(krr, 1000), rel=1e-12)
    assert 2.930284699003166 == pytest.approx(
        worst_case_bias(krr, 0.05, true_total=0.01), rel=1e-12
    )
    found = worst_case_bias(unary, 0.05, true_total=0.01)
    assert 0.15769767068693263 == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (
            lambda m: influence(m, 0),
            ArgumentValueError,
            "n, a number of people, must be in",
        ),
        (lambda m: influence(0.75, 10), ArgumentTypeError, "mechanism"),
        (
            lambda m: worst_case_bias(m, 1.2),
            ArgumentValueError,
            r"proportion_of_attackers must be in \[0, 1\]",
        ),
        (lambda m: worst_case_bias(m, 0.1, 4), ArgumentValueError, r"must be in \[1, 3\], got 4"),
        (lambda m: influence(rr.KRR(["a", "b"], 0.5), 10), NotIdentifiableError, "no information"),
    ],
)
def test_bad_attacks(ask, error, words):
    """Each argument out of its range is named, with the rule."""
    refused(error, words, ask, rr.KRR(["a", "b", "c"], 0.6))


def test_several_samples_are_asked_one_by_one():
    """What a report weighs depends on its sample, so a design of several samples is refused."""
    parts = {"dice": rr.KRR(["no", "yes"], 0.75), "cards": rr.KRR(["no", "yes"], 0.9)}
    refused(ArgumentValueError, "have one sample", influence, rr.mechanisms.Samples(parts), 10)
