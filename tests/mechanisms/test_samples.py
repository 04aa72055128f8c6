"""Several samples: mixed designs, two-sample designs, classes, the column of samples."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import chance
import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tally_cells import Cell, tally_of

import rrstats as rr
from rrstats import mechanisms
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    NotIdentifiableError,
)
from rrstats.estimation.tallies.arrays import covariance, debias
from rrstats.estimation.tallies.tally import Tally
from rrstats.mechanisms import Samples
from rrstats.mechanisms.channel import expected_rates, recode_matrix
from rrstats.mechanisms.matrix_design import MatrixDesign

YES_NO = ["no", "yes"]
LIARS = {"truthful": "yes", "lying": "yes", "none": "no"}


def warner(prob):
    return rr.KRR(YES_NO, prob)


def lie_detector(first=Fraction(1, 6), second=Fraction(5, 6)):
    """Two groups of a stochastic lie detector: carriers say yes or, lying, no; others by dice."""
    return Samples(
        {
            group: MatrixDesign(list(LIARS), [[0, 1, p], [1, 0, 1 - p]], reports=YES_NO)
            for group, p in (("one", first), ("two", second))
        },
        shows=LIARS,
    )


def counted(mechanism, *cells):
    reported = np.array(cells)
    return rr.estimate(tally_of(mechanism, {(None, None): Cell(int(reported.sum()), reported)}))


MIXED = {"dice": warner(0.75), "cards": warner(0.9)}
MIXED_DESIGN = Samples(MIXED)


def test_mixed_designs_are_the_mean_of_scores():
    """Each respondent is debiased by their own design, and the scores are averaged."""
    reports = ["yes"] * 60 + ["no"] * 40 + ["yes"] * 15 + ["no"] * 35
    group = ["dice"] * 100 + ["cards"] * 50
    est = rr.estimate(reports, MIXED, group=group)
    first, second = (
        rr.estimate(reports[:100], warner(0.75)),
        rr.estimate(reports[100:], warner(0.9)),
    )
    expected = (100 * first.proportions + 50 * second.proportions) / 150
    assert est.proportions == pytest.approx(expected, abs=1e-14)
    scores = np.concatenate(
        [
            rr.estimators.debias_reports(reports[:100], warner(0.75)),
            rr.estimators.debias_reports(reports[100:], warner(0.9)),
        ]
    )
    assert est.covariance == pytest.approx(np.cov(scores.T) / 150, rel=1e-12)
    assert est.variance == pytest.approx(scores.var(axis=0, ddof=1) / 150, rel=1e-12)
    assert est.n == 150
    assert est.tally.reported.tolist() == [40, 60, 35, 15]
    assert est.naive.tolist() == [0.4, 0.6, 0.7, 0.3]


def test_rows_variance_of_mixed_designs():
    """Among just these rows only each sample's own noise counts."""
    est = replace(counted(Samples(MIXED), 40, 60, 35, 15), target="sample")
    first = rr.estimate(Tally.from_counts([40, 60], warner(0.75)), target="sample")
    second = rr.estimate(Tally.from_counts([35, 15], warner(0.9)), target="sample")
    expected = (100**2 * first.covariance + 50**2 * second.covariance) / 150**2
    assert est.covariance == pytest.approx(expected, rel=1e-12)


def worlds(mechanism, theta, sizes):
    """Every count of every sample at these class shares, with its probability."""
    ways = []
    for part, n in zip(mechanism.channel.parts, sizes, strict=True):
        listed = chance.tables(n, part.m)
        ways.append(zip(listed, chance.chances(listed, expected_rates(part, theta)), strict=True))
    for world in itertools.product(*ways):
        counts, each = zip(*world, strict=True)
        yield np.concatenate(counts), math.prod(each)


@pytest.mark.parametrize(
    ("mechanism", "theta"),
    [
        (Samples(MIXED), [0.7, 0.3]),
        (Samples({1: rr.KRR(list("abc"), 0.8), 2: rr.KRR(list("abc"), 0.5)}), [0.5, 0.3, 0.2]),
        (lie_detector(), [0.2, 0.1, 0.7]),
        (lie_detector(Fraction(1, 3), Fraction(7, 8)), [0.5, 0.25, 0.25]),
    ],
    ids=["mixed", "mixed of three", "lie detector", "another lie detector"],
)
def test_unbiased_with_the_right_variance(mechanism, theta):
    """Over every possible count: the mean is the truth, and the variance's mean the variance."""
    theta = np.array(theta)
    truth = recode_matrix(mechanism.channel) @ theta
    mean, second, claimed, total = 0.0, 0.0, 0.0, 0.0
    for counts, prob in worlds(mechanism, theta, (4, 3)):
        shares = debias(mechanism.channel, counts, 7)
        mean = mean + prob * shares
        second = second + prob * np.outer(shares - truth, shares - truth)
        claimed = claimed + prob * covariance(mechanism.channel, counts, 7, "population")
        total += prob
    assert total == pytest.approx(1)
    assert mean == pytest.approx(truth, abs=1e-12)
    assert claimed == pytest.approx(second, abs=1e-12)


def test_a_column_of_mechanisms():
    """Rows may each name their mechanism; equal ones are one sample."""
    rows = pd.DataFrame({"answer": ["yes", "no", "yes", "no"]})
    rows["design"] = [warner(0.75), warner(0.9), warner(0.75), warner(0.75)]
    est = rr.estimate(rows["answer"], rows["design"])
    same = rr.estimate(rows["answer"], MIXED, group=["dice", "cards", "dice", "dice"])
    assert same.proportions == pytest.approx(est.proportions, abs=1e-15)
    assert rows.rr.estimate("answer", rows["design"]).to_frame()[
        "proportion"
    ].tolist() == pytest.approx(est.proportions)
    expected = est.proportions.tolist()
    assert expected == rr.estimate(rows["answer"], mechanism=rows["design"]).proportions.tolist()
    by_name = rows.rr.estimate("answer", mechanism="design").to_frame()
    assert expected == by_name["proportion"].tolist()
    alike = rr.estimate(rows["answer"], [warner(0.75)] * 4)
    assert warner(0.75) == alike.mechanism
    refused(ArgumentTypeError, "found both", rr.estimate, ["yes"], YES_NO, mechanism=warner(0.75))
    with pytest.raises(ArgumentValueError, match="found 2, 1 of them no mechanism"):
        rr.tally(["yes", "no"], [warner(0.75), None])


def test_maximum_likelihood_by_name():
    """`mle` uses all samples at once, and differs from the mean of scores."""
    est = counted(Samples(MIXED), 40, 60, 35, 15)
    likeliest = est.mle().proportions
    grid = np.linspace(0, 1, 100_001)

    def log_likelihood(yes):
        first, second = 0.25 + 0.5 * yes, 0.1 + 0.8 * yes
        return (
            60 * np.log(first)
            + 40 * np.log1p(-first)
            + 15 * np.log(second)
            + 35 * np.log1p(-second)
        )

    assert likeliest[1] == pytest.approx(grid[log_likelihood(grid).argmax()], abs=1e-5)
    assert abs(likeliest[1] - est.proportions[1]) > 0.01
    half = 3.841458820694124 / 2
    profiled = grid[log_likelihood(grid) >= log_likelihood(likeliest[1]) - half]
    assert est.moments.default_method == "empirical-likelihood"
    assert est.interval().low.tolist() == est.interval(method="empirical-likelihood").low.tolist()
    low, high = est.interval(method="profile-likelihood")
    assert low[1] <= profiled.min() + 1e-4
    assert high[1] >= profiled.max() - 1e-4


def test_samples_that_are_empty():
    """Mixed designs do without an empty sample; designs that need both say nothing."""
    mixed = counted(Samples(MIXED), 40, 60, 0, 0)
    alone = rr.estimate(Tally.from_counts([40, 60], warner(0.75)))
    assert mixed.proportions == pytest.approx(alone.proportions)
    assert mixed.variance == pytest.approx(alone.variance)
    with pytest.raises(NotIdentifiableError, match=r"no reports in the samples \['two'\]"):
        counted(lie_detector(), 40, 60, 0, 0)
    tally = tally_of(lie_detector(), {(None, None): Cell(100, np.array([40, 60, 0, 0]))})
    detector = rr.estimators.Estimate(tally)
    assert np.isnan(detector.proportions).all()
    assert np.isnan(detector.std_error).all()
    assert np.isnan(detector.project().proportions).all()
    low, high = detector.interval()
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])
    assert "no cannot be estimated: no reports are in" in detector._repr_html_()
    nobody = counted(Samples(MIXED), 0, 0, 0, 0)
    assert np.isnan(nobody.proportions).all()
    assert nobody.interval().high.tolist() == [1, 1]


def test_what_needs_both_samples():
    """No score of one report, no reports that name a category; the rest is said as ever."""
    est = counted(lie_detector(), 10, 20, 20, 10)
    refused(ArgumentValueError, "no score", est.mechanism.channel.scores, np.array([0]))
    assert np.isnan(est.to_frame()["naive"]).all()
    population = est.interval()
    frame = est.to_frame()
    assert frame["count_low"].tolist() == pytest.approx((population.low * 60).tolist())
    rows = replace(est, target="sample")
    assert "sample" in repr(rows)
    refused(ArgumentValueError, "has one interval", rows.interval, method="wald")


def test_rows_of_two_samples():
    """For fixed people who came into samples by chance, the claimed variance is the true one."""
    m = lie_detector(Fraction(1, 4), Fraction(3, 4))
    channel, people = m.channel, np.array([0, 1, 2, 2])
    share = recode_matrix(channel) @ np.bincount(people, minlength=3) / 4
    true, claimed, ways = 0.0, 0.0, 0
    for first in itertools.combinations(range(4), 2):
        order = [*first, *(set(range(4)) - set(first))]
        ways += 1
        for reports in itertools.product((0, 1), repeat=4):
            counts, prob = np.zeros(4), 1.0
            for place, (person, report) in enumerate(zip(order, reports, strict=True)):
                part = place // 2
                prob *= channel.parts[part].matrix[report, people[person]]
                counts[2 * part + report] += 1
            shares = debias(channel, counts, 4)
            true = true + prob * np.outer(shares - share, shares - share)
            claimed = claimed + prob * covariance(channel, counts, 4, "sample")
    assert claimed / ways == pytest.approx(true / ways, abs=1e-12)


def test_a_third_sample_counts_by_its_size():
    """Ten people more in a third sample do not make a large survey worse; nor does an empty one."""
    three = rr.surveys.unrelated_question_two_samples([False, True], {"A": 0.8, "B": 0.2, "C": 0.5})
    two = rr.surveys.unrelated_question_two_samples([False, True], {"A": 0.8, "B": 0.2})
    large = {"A": [6000, 4000], "B": [7000, 3000]}
    plain = rr.estimate(Tally.from_counts(large, two))
    for more in ([0, 0], [6, 4], [0, 1]):
        est = rr.estimate(Tally.from_counts({**large, "C": more}, three))
        assert est.proportions == pytest.approx(plain.proportions, abs=0.002)
        if sum(more) != 1:  # of one person there is no variance
            assert est.std_error == pytest.approx(plain.std_error, rel=0.01)


def test_classes_may_be_out_of_reach():
    """An unrelated question of unknown prevalence: both margins are known, not both together."""
    m = rr.surveys.unrelated_question_two_samples(
        YES_NO, [Fraction(7, 10), Fraction(3, 10)], yes="yes"
    )
    est = counted(m, 600, 400, 700, 300)
    # (0.7 l1 - 0.3 l2) / 0.4 by hand: l1 = 0.7 pi + 0.3 u, l2 = 0.3 pi + 0.7 u
    assert est["yes"].value == pytest.approx((0.7 * 0.4 - 0.3 * 0.3) / 0.4)
    variance = (0.7**2 * 0.4 * 0.6 + 0.3**2 * 0.3 * 0.7) / (999 * 0.4**2)
    assert est["yes"].std_error == pytest.approx(math.sqrt(variance))
    other = est.merge(
        {
            value: [pair for pair in m.domain.categories if pair[1] == value]
            for value in (True, False)
        }
    )
    assert other[True].value == pytest.approx((0.7 * 0.3 - 0.3 * 0.4) / 0.4)
    with pytest.raises(NotIdentifiableError):
        est.merge()
    assert m.epsilon == math.inf


def test_privatizing_follows_each_sample():
    """Every row gets the distribution of its sample.

    A right sampler fails once in 1e9 runs; a cell off by 0.02 escapes once in 1e9.
    """
    m = Samples({1: rr.KRR(list("abc"), 0.9), 2: rr.KRR(list("abc"), 0.4)})
    n = chance.sample_size(gap=0.02, false_alarm=1e-9, false_pass=1e-9, cells=6)
    group = np.tile([1, 2], n)
    reports = np.array(rr.privatize(np.array(["a"] * (2 * n)), m, group=group))
    counts = [[np.count_nonzero(reports[group == g] == c) for c in "abc"] for g in m.groups]
    chance.assert_distribution(counts, [part.channel.matrix[:, 0] for part in m.parts])


def test_frames_name_the_column_of_samples():
    """In pandas `group` is a column; reports, metadata and estimate fit together."""
    df = pd.DataFrame({"version": ["dice", "cards"] * 50, "answer": ["yes", "no"] * 50})
    out = df.rr.privatize("answer", MIXED_DESIGN, group="version")
    assert out.rr.mechanisms == {"answer": MIXED_DESIGN}
    table = out.rr.estimate("answer", group="version").to_frame()
    assert table["n"].tolist() == [100, 100]
    assert out.rr.tally("answer", group="version").n == 100
    assert out["answer"].rr.estimate(group=df["version"]).n == 100
    assert out.rr.epsilon == warner(0.9).epsilon


def test_missing_reports_stay_with_their_sample():
    """Who did not answer is outside n of their own sample."""
    found = rr.tally(["yes", None, "no"], MIXED, group=["dice", "cards", "cards"])
    assert (found.n, found.n_missing) == (2, 1)
    assert found.reported.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (None, "each of 2 rows, one of .*, found None"),
        (["dice"], "each of 2 rows, one of .*, found 1 labels"),
        ("dice", "each of 2 rows, one of .*, found"),
        (["dice", "coins"], "found 1 missing or unknown labels"),
        (["dice", None], "found 1 missing or unknown"),
    ],
)
def test_bad_groups(group, text):
    """A group that is missing, of another length or no sample is refused, before anything else."""
    for ask in (
        lambda: rr.tally(["yes", "no"], MIXED, group=group),
        lambda: rr.privatize(["yes", "no"], MIXED_DESIGN, group=group),
    ):
        refused((ArgumentValueError, ArgumentTypeError), text, ask)


def test_group_without_samples():
    """A group where the mechanism has one sample only is no slip to pass over."""
    with pytest.raises(ArgumentTypeError, match=r"only one .*; leave group out"):
        rr.tally(["yes"], warner(0.75), group=["dice"])
    df = pd.DataFrame({"version": [1, 2], "answer": ["yes", "no"]})
    with pytest.raises(ArgumentValueError, match="must be a public column"):
        df.rr.privatize(
            {"version": Samples({1: rr.KRR([1, 2], 0.75), 2: rr.KRR([1, 2], 0.9)})}, group="version"
        )


@pytest.mark.parametrize(
    ("parts", "shows", "text"),
    [
        ({}, None, "at least two samples.* found 0"),
        ({1: warner(0.75)}, None, "at least two samples.* found 1"),
        ({1: warner(0.75), 2: 0.9}, None, "each of parts must be a mechanism such as"),
        ([warner(0.75)], None, "parts must be a mapping"),
        ({1: warner(0.75), 2: rr.KRR(["yes", "no"], 0.75)}, None, "the same true answers"),
        ({1: warner(0.75), 2: Samples(MIXED)}, None, "one sample each"),
        (MIXED, {"no": "a"}, "shows must give each of the classes"),
        (MIXED, {"no": "a", "yes": "a"}, "at least two distinct values"),
    ],
)
def test_bad_samples(parts, shows, text):
    """Parts that do not fit together are refused when the design is made."""
    refused((ArgumentValueError, ArgumentTypeError), text, Samples, parts, shows=shows)


def test_posterior():
    """What a report says depends on the sample it comes from."""
    found = rr.privacy.posterior(["yes", "yes"], MIXED_DESIGN, [0.5, 0.5], group=["dice", "cards"])
    assert [0, 1] == found.reports.tolist()
    assert found.probabilities == pytest.approx(np.array([[0.25, 0.75], [0.1, 0.9]]))
    detector = rr.privacy.posterior(["no"], lie_detector(), [0.25, 0.25, 0.5], group=["one"])
    assert np.asarray(detector) == pytest.approx(np.array([[0, 0.75, 0.25]]), abs=1e-12)


def test_a_posterior_reads():
    """Each different report has a row in the table and the picture; the array holds every one."""
    prior = {"yes": 0.2, "no": 0.8}
    found = rr.privacy.posterior(pd.Series(["yes", "no", "yes", None]), warner(0.75), prior)
    assert (4, 2) == found.probabilities.shape == found.to_frame().shape
    head, *rows = repr(found).splitlines()[1:]
    assert ["P(answer", "|", "report)", *map(str, found.categories)] == head.split()
    assert ["yes", "no", "(missing)"] == [row.split()[0] for row in rows]
    assert "given the report yes, the true answer is" in found.interpret()
    assert "42.86%; the prior was 20%" in found.interpret()
    assert "(missing)" in found._repr_html_()
    assert "there is no report" == rr.privacy.posterior([], warner(0.75), prior).interpret()
    pytest.importorskip("matplotlib")
    assert ["yes", "no", "(missing)"] == [t.get_text() for t in found.plot().get_yticklabels()]


def test_posterior_refuses():
    """A prior is a distribution over the true answers, and reports are reports."""
    m = warner(0.75)
    given = rr.privacy.posterior([None], m, {"yes": 0.25, "no": 0.75})
    assert given.probabilities.tolist() == [[0.75, 0.25]]
    for prior in ([1.0], [0.5, 0.6], [-1, 2], {"yes": 0.5}, ["a", "b"]):
        refused(
            (ArgumentValueError, ArgumentTypeError),
            "prior",
            rr.privacy.posterior,
            ["yes"],
            m,
            prior,
        )
    with pytest.raises(ArgumentValueError, match="1 of 1 reports are not among"):
        rr.privacy.posterior(["maybe"], m, [0.5, 0.5])
    reports = rr.privatize(pd.Series(["no", "yes"], name="answer"), m)  # which say how
    assert sorted(rr.privacy.posterior(reports, None, [0.5, 0.5]).probabilities[0]) == [0.25, 0.75]
    refused(MetadataError, "prob", rr.privacy.posterior, reports, warner(0.9), [0.5, 0.5])


def test_files_do_not_tell_samples_apart(tmp_path, pa):
    """A file is refused before anything is written, with the way that works."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    df = pd.DataFrame({"version": ["dice", "cards"], "answer": ["yes", "no"]})
    df.to_parquet(source)
    with pytest.raises(ArgumentValueError, match=r"use group= there"):
        rr.files.privatize_file(source, target, {"answer": MIXED_DESIGN})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]
    df.rr.simulate("answer", MIXED_DESIGN, group="version", seed=1).to_parquet(target)
    refused(ArgumentValueError, r"use group= there", rr.files.estimate_file, target)
    assert pd.read_parquet(target).rr.estimate("answer", group="version").to_frame()[
        "n"
    ].tolist() == [2, 2]


def test_rows_are_matched_by_index():
    """Series with another order of rows are refused: by position they would be other people."""
    df = pd.DataFrame({"answer": ["yes", "no", "no"], "version": ["dice", "cards", "dice"]})
    mixed_up = df["version"].iloc[::-1]
    for ask in (
        lambda: rr.estimate(df["answer"], MIXED, group=mixed_up),
        lambda: rr.privatize(df["answer"], MIXED_DESIGN, group=mixed_up),
        lambda: rr.estimate(df["answer"], df["version"].map(MIXED).iloc[::-1]),
    ):
        refused(ArgumentValueError, "must have the same index as the values", ask)
    by_place = rr.estimate(df["answer"], MIXED, group=mixed_up.to_numpy())
    assert by_place.n == 3


def test_frames_do_not_print_what_was_taken_for_a_name():
    """A Series given where a column's name belongs may hold answers; only its type is named."""
    df = pd.DataFrame({"answer": ["yes"], "version": ["dice"]}, index=["Alice"])
    with pytest.raises(ArgumentTypeError, match="found Series") as caught:
        df.rr.privatize("answer", MIXED_DESIGN, group=df["answer"])
    assert "Alice" not in str(caught.value)


def test_two_answers_of_each_person():
    """Designs with two answers take the names of two columns; who left one out is missing."""
    m = rr.surveys.crosswise_with_anchor(["no", "yes"], 0.25, 0.125, yes="yes")
    first, second = list("ynyn") * 5, list("yynn") * 5
    words = {"y": "yes", "n": "no"}
    df = pd.DataFrame({"one": [words[x] for x in first], "two": [words[x] for x in second]})
    pairs = list(zip(df["one"], df["two"], strict=True))
    expected = rr.estimate(pairs, m).proportions.tolist()
    assert expected == df.rr.estimate(["one", "two"], m).to_frame()["proportion"].tolist()
    df.loc[0, "one"] = None
    assert (df.rr.tally(["one", "two"], m).n, df.rr.tally(["one", "two"], m).n_missing) == (19, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [1, 1, 2], "parts": [warner(p).to_dict() for p in (0.9, 0.6, 0.6)]},
        {"groups": [1]},
        {"parts": 5},
        {"parts": []},
        {"shows": ["no"]},
    ],
)
def test_hostile_documents(change):
    """Descriptions that do not fit together raise MetadataError, and nothing is dropped."""
    with pytest.raises(MetadataError):
        mechanisms.from_dict({**lie_detector().to_dict(), **change})


def test_reports_of_several_categories_are_no_parts():
    """Subsets cannot be put together with others, nor randomized again, also of size one."""
    one = rr.mechanisms.SubsetSelection(list("abc"), epsilon=1.0, size=1)
    refused(ArgumentValueError, "single labels", Samples, {1: one, 2: one})
    for first, second in ((rr.KRR(list("abc"), 0.5), one), (one, rr.KRR(list("abc"), 0.5))):
        refused(ArgumentValueError, "single labels", first.then, second)
    reports = rr.privatize(pd.Series(["a", "b"]), list("abc"), 0.5)
    refused(ArgumentValueError, "single labels", rr.privatize, reports, one, again=True)


@pytest.mark.slow
def test_mixed_designs_in_the_corner():
    """Counts of many rare categories keep intervals that hold, inside [0, 1].

    Coverage over 40 surveys of 100 + 100 people, 300 categories, three of which hold everybody.
    """
    k, rng = 300, np.random.default_rng(7)
    m = Samples({1: rr.KRR(range(k), 0.9), 2: rr.KRR(range(k), 0.95)})
    theta = np.zeros(k)
    theta[:3] = (0.5, 0.3, 0.2)
    covered = 0
    for _ in range(40):
        counts = [rng.multinomial(100, expected_rates(part, theta)) for part in m.channel.parts]
        low, high = counted(m, *np.concatenate(counts)).interval()
        assert low.min() >= 0
        assert high.max() <= 1
        covered += ((low <= theta) & (theta <= high)).mean()
    assert covered / 40 > 0.95


@pytest.mark.parametrize("dtype", ["str", "category", "int64", "bool", "boolean"])
def test_designs_of_pairs_refuse_single_answers(dtype):
    """Where the true answers are tuples, a column of words would all be noise: refused by type."""
    answers = {"str": ["no"], "category": ["no"]}.get(dtype, [0])
    column = pd.Series(answers * 2, dtype=dtype)
    # Older pandas holds text as objects, which may hold tuples.
    if column.dtype == object:
        column = column.astype("string")
    if dtype == "category" and column.cat.categories.dtype == object:
        column = column.astype(pd.CategoricalDtype(pd.Index(["no"], dtype="string")))
    lie_design = rr.surveys.stochastic_lie_detector(YES_NO, [0.2, 0.8], yes="yes")
    with pytest.raises(ArgumentTypeError, match="are tuples, but the answers are"):
        rr.privatize(column, lie_design, group=[1, 2])
