"""People who do not follow the instructions: published cases, brute force, coverage, bad input.

WADA 2011: Ulrich et al. (2018), unrelated question with probability 2/3 of the sensitive question
and a neutral question with 1/2; counts of yes 550 of 1,202, 528 of 965 and 612 of 965.
"""

import contextlib
import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, REPORTS_LABELS, SILENT
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.estimation.tallies.moments import outer_interval

WADA = rr.surveys.unrelated_question(["no", "yes"], 2 / 3, 1 / 2, yes="yes")
DOPING = rr.surveys.extended_crosswise(
    ["no", "yes"], {"A": 0.2, "B": 0.8}, yes="yes", reports=["different", "same"]
)
CROSSWISE = rr.surveys.crosswise(["no", "yes"], 0.2, yes="yes", reports=["different", "same"])


def wada(yes=550, n=1202):
    return rr.estimate(rr.Tally.from_counts({"no": n - yes, "yes": yes}, WADA))


def doping(a=(60, 109), b=(139, 46)):
    names = ("different", "same")
    counts = {"A": dict(zip(names, a, strict=True)), "B": dict(zip(names, b, strict=True))}
    return rr.estimate(rr.Tally.from_counts(counts, DOPING))


def crosswise(different, same):
    return rr.estimate(rr.Tally.from_counts([different, same], CROSSWISE))


# -- published ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "behaviour", "expected"),
    [(0.144, "yes", 0.300), (0.216, "yes", 0.212), (0.10, "no", 0.513)],
)
def test_wada_2011_under_one_behaviour(share, behaviour, expected):
    """43.6% becomes 30.0% and 21.2% if 14.4% and 21.6% always say yes, 51.3% if 10% say no."""
    bounds = wada().noncompliance(share, behaviour)
    assert bounds.proportions[1] == pytest.approx(expected, abs=6e-4)


def test_the_share_that_explains_a_claim():
    """21.6% who always say yes explain 21.2%; 25.1% at random explain 3.12% for 14.88%."""
    tip = wada().tipping_point("yes", 0.212, "yes")
    assert tip.value == pytest.approx(0.216, abs=5e-4)
    assert tip.low < tip.value < tip.high
    assert "respondents who always report yes that explains 21.2% yes among" in repr(tip)
    estimate = wada()
    assert tip.std_error == pytest.approx(estimate.std_error[1] / abs(1.25 - 0.212), rel=1e-12)
    # Dice cheating: the crosswise model found 14.88%, the direct question 3.12%.
    same = round(1e8 * (0.1488 * 0.2 + 0.8512 * 0.8))
    tip = crosswise(10**8 - same, same).tipping_point("yes", 0.0312)
    assert tip.value == pytest.approx(0.2508, abs=1e-4)


@pytest.mark.parametrize(
    ("control", "random", "error", "expected"),
    [((45, 354), 0.2542372881355932, 0.035408750298751554, 0.0518)],
)
def test_a_control_question_corrects_a_published_survey(control, random, error, expected):
    """Survey A of Cruyff et al. (2024): 16.6% doped becomes 5.2%, with 25.4% random answers."""
    found = doping().corrected(control)
    assert found.noncompliance == pytest.approx(random, abs=1e-12)
    assert found.control.std_error == pytest.approx(error, abs=1e-12)
    assert found.proportions[1] == pytest.approx(expected, abs=5e-5)
    assert "25.4% do, and without the correction it is 16.6%" in found.interpret()


# cWise 0.0.0.9000, cmBound(lambda.hat = 0.6385, p = 0.25, N = 310): percent at random, mean.
CM_BOUND = {0: 0.2230000000000001, 10: 0.1922222222222223, 20: 0.1537500000000001}
CM_BOUND |= {30: 0.10428571428571443, 40: 0.0383333333333}


@pytest.mark.parametrize(("percent", "expected"), CM_BOUND.items())
def test_random_answers_of_cwise(percent, expected):
    """The bounds of R's cWise for a crosswise survey with 63.85% same."""
    m = rr.surveys.crosswise(["no", "yes"], 0.25, yes="yes")
    est = rr.estimate(rr.Tally.from_counts([3615, 6385], m))
    assert est.noncompliance(percent / 100).proportions[1] == pytest.approx(expected, abs=1e-12)


# -- algebra -----------------------------------------------------------------------------------


def _behaviours(m, rng):
    """Vertices, and points inside, of the distributions over m reports."""
    return np.vstack([np.eye(m), rng.dirichlet(np.ones(m), 40)])


SMALL = [
    name
    for name, make in EXAMPLES.items()
    if name not in SILENT and isinstance(make(), REPORTS_LABELS) and make().k <= 4
    if len(make().channel.samples) <= 16
]


@pytest.mark.parametrize("name", SMALL)
def test_bounds_are_those_of_brute_force(name):
    """For every design: the extremes over behaviours, each taken out of the rates of reports."""
    mechanism = EXAMPLES[name]()
    channel = mechanism.channel
    rng = np.random.default_rng(5)
    samples = len(mechanism.groups or [None])
    m = len(channel.samples) // samples
    truth = np.linspace(1, 2, channel.matrix.shape[1])
    rates = channel.matrix @ (truth / truth.sum())
    counts = np.round(rates.reshape(samples, m) * np.arange(600, 600 + samples)[:, None]).astype(
        int
    )
    reports = list(mechanism.report_space.categories)
    table = dict(zip(reports, counts[0].tolist(), strict=True))
    if mechanism.groups is not None:
        table = {
            group: dict(zip(reports, row.tolist(), strict=True))
            for group, row in zip(mechanism.groups, counts, strict=True)
        }
    est = rr.estimate(rr.Tally.from_counts(table, mechanism))
    share = 0.2
    sizes = np.repeat(counts.sum(axis=1), m).astype(float)
    rates = counts.ravel() / sizes
    behaviours = itertools.product(_behaviours(m, rng), repeat=min(samples, 2))
    others = np.array(
        [np.concatenate([*chosen, *[chosen[0]] * (samples - len(chosen))]) for chosen in behaviours]
    )
    left = (rates - share * others) / (1 - share)
    without = channel.solve(*((left, sizes) if mechanism.groups is not None else (left,)))
    bounds = est.noncompliance(share, "any").bounds
    assert bounds.low == pytest.approx(np.min(without, axis=0), abs=1e-9)
    assert bounds.high == pytest.approx(np.max(without, axis=0), abs=1e-9)
    nobody = est.noncompliance(0, "any").bounds
    assert nobody.low.tolist() == nobody.high.tolist() == est.proportions.tolist()


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.mechanisms.UnaryEncoding(list("abc"), 0.75, 0.25),
        rr.mechanisms.SubsetSelection(list("abcde"), epsilon=1.0, size=2),
        rr.KRR(list("abc"), 0.6),
        WADA,
        DOPING,
    ],
    ids=["unary", "subsets", "krr", "unrelated", "samples"],
)
def test_random_answers_are_the_mean_over_all_reports(mechanism):
    """The mean score of random answers is the mean of the scores of all possible reports."""
    space = mechanism.report_space
    if mechanism is DOPING:
        scores = np.full(2, 0.5)
        est = doping()
    elif hasattr(space, "domain"):
        sizes = [space.size] if space.size else range(space.k + 1)
        sets = [s for size in sizes for s in itertools.combinations(range(space.k), size)]
        named = np.array([[code in s for code in range(space.k)] for s in sets], dtype=float)
        scores = mechanism.channel.solve(named).mean(axis=0)
        est = rr.estimate(rr.privatize([space.categories[0]] * 50, mechanism), mechanism)
    else:
        scores = mechanism.channel.scores(np.arange(space.k)).mean(axis=0)
        est = rr.estimate(list(space.categories) * 30, mechanism)
    expected = (est.proportions - 0.3 * scores) / 0.7
    assert est.noncompliance(0.3).proportions == pytest.approx(expected, abs=1e-12)


def test_one_report_and_a_mixture():
    """A mapping of one report with probability 1 is that report; sets name their members."""
    est = wada()
    always = est.noncompliance(0.2, "yes").proportions
    assert est.noncompliance(0.2, {"yes": 1.0}).proportions.tolist() == always.tolist()
    mixed = est.noncompliance(0.2, {"yes": 0.25, "no": 0.75}).proportions
    never = est.noncompliance(0.2, "no").proportions
    assert mixed == pytest.approx(0.25 * always + 0.75 * never)
    unary = rr.mechanisms.UnaryEncoding(list("abc"), 0.75, 0.25)
    est = rr.estimate(rr.privatize(list("aabbc"), unary), unary)
    whole = est.noncompliance(0.1, {"a", "c"}).proportions
    assert whole == pytest.approx((est.proportions - 0.1 * np.array([1.5, -0.5, 1.5])) / 0.9)


def test_a_range_is_the_hull_of_its_ends():
    """Proportions are monotone in the share, so a range has the bounds of all its members."""
    est = wada()
    grid = est.noncompliance(np.linspace(0.1, 0.4, 31), "any")
    hull = est.noncompliance((0.1, 0.4), "any")
    assert hull.bounds.low == pytest.approx(grid.bounds.low.min(axis=0))
    assert hull.bounds.high == pytest.approx(grid.bounds.high.max(axis=0))
    assert hull.everybody.high == pytest.approx(grid.everybody.high.max(axis=0))
    with pytest.raises(NotIdentifiableError, match="use bounds"):
        _ = hull.proportions


def test_everybody_is_the_mixture_with_any_answers():
    """Among all, people who did not follow add nothing or their whole share."""
    bounds = wada().noncompliance(0.25, "yes")
    assert bounds.everybody.low == pytest.approx(0.75 * bounds.proportions)
    assert bounds.everybody.high == pytest.approx(0.75 * bounds.proportions + 0.25)


def test_sharp_bounds_are_those_of_a_grid():
    """Inside the simplex: all proportions and behaviours of a fine grid that make the reports."""
    m = rr.KRR(list("abc"), 0.8)
    counts = [70, 20, 10]
    est = rr.estimate(rr.Tally.from_counts(counts, m))
    rates = m.channel.matrix @ est.mle().proportions
    share = 0.2
    steps = np.linspace(0, 1, 201)
    a, b = (axis.ravel() for axis in np.meshgrid(steps, steps))
    inside = a + b <= 1 + 1e-12
    pi = np.stack([a, b, 1 - a - b])[:, inside]
    others = (rates[:, None] - (1 - share) * m.channel.matrix @ pi) / share
    possible = pi[:, (others >= -1e-12).all(axis=0)]
    sharp = est.noncompliance(share, "any").sharp_bounds()
    assert sharp.low == pytest.approx(possible.min(axis=1), abs=0.006)
    assert sharp.high == pytest.approx(possible.max(axis=1), abs=0.006)
    assert (sharp.low <= possible.min(axis=1) + 1e-9).all()
    plain = est.noncompliance(share, "any").bounds
    assert (sharp.low >= plain.low - 1e-9).all()
    assert (sharp.high <= plain.high + 1e-9).all()


def test_sharp_bounds_where_the_estimate_is_outside():
    """Warner with 20% yes has an estimate below 0: the sharp bounds start from 0."""
    est = rr.estimate(rr.Tally.from_counts([80, 20], rr.surveys.warner([0, 1], 0.75, yes=1)))
    assert est.proportions[1] < 0
    sharp = est.noncompliance(0, "any").sharp_bounds()
    assert sharp.low == pytest.approx([1, 0], abs=1e-9)
    plain = est.noncompliance(0, "any").bounds
    assert plain.low.tolist() == est.proportions.tolist()
    with pytest.raises(ArgumentValueError, match="no proportions explain the reports"):
        est.noncompliance(0.5, 1).sharp_bounds()


def test_weights_and_groups():
    """Weights enter through the estimate; groups have a result each and a common table."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "y": rng.choice(["no", "yes"], 400),
            "w": rng.uniform(0.5, 2, 400),
            "g": np.repeat(["a", "b"], 200),
        }
    )
    weighted = rr.estimate(frame.y, WADA, weights=frame.w)
    r = WADA.channel.scores(np.arange(2)).mean(axis=0)
    expected = (weighted.proportions - 0.1 * r) / 0.9
    assert weighted.noncompliance(0.1).proportions == pytest.approx(expected)
    assert weighted.corrected((5, 400)).interval().low.shape == (2,)
    groups = rr.estimate(frame.y, WADA, by=frame.g)
    found = groups.noncompliance({"a": 0.1, "b": 0.2})
    table = found.to_frame()
    assert table.columns[:3].tolist() == ["g", "assumed", "category"]
    assert table.assumed.tolist() == [0.1, 0.1, 0.2, 0.2]
    corrected = groups.corrected({"a": (10, 200), "b": (20, 200)})
    assert corrected["b"].noncompliance == pytest.approx(0.2)
    assert corrected.to_frame().noncompliance.tolist() == [0.1, 0.1, 0.2, 0.2]
    assert "a: about" in corrected.interpret()
    assert "assumed to answer both" in repr(corrected)
    with pytest.raises(
        ArgumentValueError, match="control must be for each group, found none for 1"
    ):
        groups.corrected({"a": (10, 200)})


def test_two_samples_and_weights_by_sample():
    """With weights the samples count by their weights, in the estimate and in the correction."""
    reports = ["different"] * 60 + ["same"] * 109 + ["different"] * 139 + ["same"] * 46
    sample = ["A"] * 169 + ["B"] * 185
    est = rr.estimate(reports, DOPING, group=sample, weights=np.full(354, 2.0))
    assert est.corrected((45, 354)).proportions == pytest.approx(
        doping().corrected((45, 354)).proportions
    )
    low = est.noncompliance(0.1, "any").bounds.low
    assert low == pytest.approx(doping().noncompliance(0.1, "any").bounds.low)


def test_a_control_of_known_prevalence():
    """All say no to the control: the part of the way to 1/2 that its estimate went."""
    control = crosswise(26, 74)  # 74% same: an estimate of 10% yes
    found = crosswise(30, 70).corrected(control, proportion=0)
    assert found.noncompliance == pytest.approx(2 * 0.1)
    uncorrected = crosswise(30, 70).proportions[1]
    assert found.proportions[1] == pytest.approx((uncorrected - 0.1) / 0.8)
    by_category = crosswise(30, 70).corrected(control, proportion={"no": 1.0})
    assert by_category.proportions.tolist() == found.proportions.tolist()
    low, high = found.control.interval(0.95)
    ends = outer_interval(control.moments, 0.95)
    assert (low, high) == pytest.approx((2 * ends.low[1], 2 * ends.high[1]))


def test_paired_reports_have_the_covariance_of_their_table():
    """Joined rows give the covariance: that of the scores and of the wrong reports, over n."""
    rng = np.random.default_rng(4)
    random = rng.random(3000) < 0.3
    wrong = random & (rng.random(3000) < 0.5)
    same = rng.random(3000) < np.where(random, 0.5, 0.7)
    frame = pd.DataFrame({"y": np.where(same, "same", "different"), "wrong": wrong})
    est = rr.estimate(frame.y, CROSSWISE)
    table = rr.crosstab(frame, "y", "wrong", mechanisms={"y": CROSSWISE})
    found = est.corrected((int(wrong.sum()), 3000), paired=table)
    scores = CROSSWISE.channel.scores((frame.y == "same").to_numpy().astype(int))[:, 1]
    expected = np.corrcoef(scores, wrong)[0, 1]
    assert found.correlation[1] == pytest.approx(expected, abs=1e-9)
    bounded = est.corrected((int(wrong.sum()), 3000))
    alone = est.corrected((int(wrong.sum()), 3000), paired=False)
    assert found.std_error[1] < bounded.std_error[1]
    assert alone.std_error[1] < bounded.std_error[1]
    for result, words in (
        (found, "the correlation is estimated"),
        (bounded, "the largest that any"),
        (alone, "Other people answered"),
    ):
        assert words in " ".join(repr(result).split())


# -- intervals ---------------------------------------------------------------------------------


def test_without_noncompliance_the_interval_is_that_of_the_estimate():
    """A share of 0 leaves the default interval, and 0 wrong of many is close to it."""
    est = wada()
    low, high = est.noncompliance(0, "any").interval()
    assert low == pytest.approx(est.interval().low)
    assert high == pytest.approx(est.interval().high)
    nearly = est.corrected((0, 10**9), paired=False).interval()
    assert nearly.low == pytest.approx(low, abs=1e-4)


def _surveys(mechanism, pi, share, n, count, rng):
    """Counts of yes of surveys in which some answer at random, and of wrong control reports."""
    rate = mechanism.channel.matrix[1]
    is_random = rng.random((count, n)) < share
    is_yes = rng.random((count, n)) < pi
    chance = np.where(is_random, 0.5, np.where(is_yes, rate[1], rate[0]))
    reported = rng.random((count, n)) < chance
    wrong = is_random & (rng.random((count, n)) < 0.5)
    return reported, wrong


@pytest.mark.slow
@pytest.mark.parametrize(("pi", "share"), [(0.05, 0.05), (0.05, 0.25), (0.2, 0.05), (0.2, 0.25)])
def test_corrected_intervals_cover(pi, share):
    """At least 94% of 95% intervals of 500 people cover, whatever is known of the covariance.

    4,000 surveys have a standard error of .34%: true coverage of 95% fails with 1e-3 at 93.9%.
    """
    rng = np.random.default_rng(11)
    reported, wrong = _surveys(CROSSWISE, pi, share, 500, 4000, rng)
    yes, wrong_reports = reported.sum(axis=1), wrong.sum(axis=1)
    both = (reported & wrong).sum(axis=1)
    hits = dict.fromkeys(["bounded", "paired", "other people"], 0)
    others = rng.permutation(wrong_reports)

    @functools.cache
    def covers(yes, wrong, joint=None, *, paired=True):
        """Whether the interval of these counts covers; joint : people who gave both."""
        if joint is not None:
            cells = [[500 - yes - wrong + joint, wrong - joint], [yes - joint, joint]]
            paired = rr.estimators.Crosstab.from_counts(
                cells, {"y": CROSSWISE, "wrong": [False, True]}
            )
        low, high = crosswise(500 - yes, yes).corrected((wrong, 500), paired=paired).interval()
        return low[1] <= pi <= high[1]

    for y, w, joint, other in np.column_stack([yes, wrong_reports, both, others]).tolist():
        hits["bounded"] += covers(y, w)
        hits["paired"] += covers(y, w, joint)
        hits["other people"] += covers(y, other, paired=False)
    assert {name: hit / 4000 for name, hit in hits.items() if hit < 0.939 * 4000} == {}


@functools.cache
def _all_counts(n, prob):
    """The estimates from all counts of yes among n reports."""
    m = rr.KRR(["no", "yes"], prob)
    return [rr.estimate(rr.Tally.from_counts([n - yes, yes], m)) for yes in range(n + 1)]


@functools.cache
def _ends_of_bounds(n, prob, share, behaviour):
    """(n + 1, 2) ends of "yes" for all counts: of those who followed, and of everybody."""
    bounds = [each.noncompliance(share, behaviour) for each in _all_counts(n, prob)]
    followed = np.array([each.interval() for each in bounds])[:, :, 1]
    return followed, np.array([each.interval(everybody=True) for each in bounds])[:, :, 1]


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize("prob", [0.75, 0.9])
@pytest.mark.parametrize(
    ("share", "behaviour", "rate"),
    [
        (0.0, "any", 0.0),
        (0.1, "random", 0.5),
        (0.1, "yes", 1.0),
        (0.3, "no", 0.0),
        # the truth at either bound, and between them
        (0.1, "any", 0.0),
        (0.1, "any", 1.0),
        (0.3, "any", 0.0),
        (0.3, "any", 0.5),
    ],
)
def test_bounds_cover_at_least_their_level(prob, share, behaviour, rate):
    """By enumeration of 50 reports; with Wilson's ends the worst coverage of 100 was 93.0%.

    rate : of a yes among those who did not follow.
    """
    n = 50
    followed, everybody = _ends_of_bounds(n, prob, share, behaviour)
    for pi in np.linspace(0, 1, 101):
        chance = (1 - share) * (1 - prob + (2 * prob - 1) * pi) + share * rate
        weights = stats.binom.pmf(np.arange(n + 1), n, chance)
        # of all people the others are no, or all of them yes
        for ends, truth in (
            (followed, pi),
            (everybody, (1 - share) * pi),
            (everybody, (1 - share) * pi + share),
        ):
            covers = (ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])
            assert weights @ covers >= 0.95 - 1e-9


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
def test_tipping_points_have_the_ends_of_the_bounds():
    """The ends are shares at which the bounds' interval has the claim as its end."""
    est = _all_counts(100, 0.75)[60]
    point = est.tipping_point("yes", 0.3, "yes")
    for share, end in ((point.low, 0), (point.high, 1)):
        ends = est.noncompliance(share, "yes").interval()
        assert ends[end][1] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_corrections_cover_at_least_their_level(share):
    """By enumeration of 30 reports to each question; with Wilson's ends it was 93.4%."""
    n = 30
    ends = np.tile([0.0, 1.0], (n + 1, n + 1, 1))
    for yes, est in enumerate(_all_counts(n, 0.75)):
        for wrong in range(n + 1):
            with contextlib.suppress(ArgumentValueError, NotIdentifiableError):
                low, high = est.corrected((wrong, n), paired=False).interval()
                ends[yes, wrong] = low[1], high[1]
    for pi in np.linspace(0, 1, 41):
        chance = (1 - share) * (0.25 + 0.5 * pi) + share / 2
        of_reports, of_control = (
            stats.binom.pmf(np.arange(n + 1), n, rate) for rate in (chance, share / 2)
        )
        covers = (ends[:, :, 0] <= pi + 1e-12) & (pi - 1e-12 <= ends[:, :, 1])
        assert of_reports @ covers @ of_control >= 0.95


# -- awkward input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wada().noncompliance(1), ArgumentValueError, r"in \[0, 1\).*somebody must have"),
        (lambda: wada().noncompliance(-0.1), ArgumentValueError, r"proportion must be in \[0, 1\)"),
        (lambda: wada().noncompliance([]), ArgumentValueError, "at least one number"),
        (lambda: wada().noncompliance((0.3, 0.1)), ArgumentValueError, r"must be \(low, high\)"),
        (lambda: wada().noncompliance((0.1, 0.2, 0.3)), ArgumentValueError, "a tuple of 3"),
        (lambda: wada().noncompliance(0.1, "maybe"), ArgumentValueError, "behaviour must be"),
        (lambda: wada().noncompliance(0.1, {"yes": 0.5}), ArgumentValueError, "sum to 1"),
        (lambda: wada().corrected((5, 4)), ArgumentValueError, "wrong of control"),
        (lambda: wada().corrected(0.1), ArgumentTypeError, r"control must be \(wrong, n\)"),
        (lambda: wada().corrected((390, 400)), ArgumentValueError, "contradicts its reports"),
        (lambda: wada().corrected((200, 400)), NotIdentifiableError, "100.0% answer at random"),
        (lambda: wada().corrected(wada()), ArgumentTypeError, "proportion= must give"),
        (lambda: wada().corrected((1, 9), proportion=0), ArgumentTypeError, "proportion"),
        (lambda: wada().corrected((1, 9), paired="yes"), ArgumentValueError, "paired must be True"),
        (
            lambda: crosswise(300, 700).corrected(crosswise(150, 850), proportion=0),
            ArgumentValueError,
            "-.*answered at random",
        ),
        (
            lambda: wada().corrected(wada(), proportion=0.5),
            NotIdentifiableError,
            "nobody who answers at random shows",
        ),
        (lambda: wada().tipping_point("yes", 2), ArgumentValueError, r"claim must be in \[0, 1\]"),
        (
            lambda: wada().tipping_point("maybe", 0.1),
            ArgumentValueError,
            "not among the categories",
        ),
    ],
)
def test_bad_input(call, error, message):
    """Proportions, behaviours and controls outside their range are refused with the rule."""
    with pytest.raises(error, match=message):
        call()


def test_a_claim_that_nothing_explains():
    """A tipping point that does not exist is NaN, and the estimate itself needs nobody."""
    tip = wada().tipping_point("yes", 0.9)
    assert np.isnan(tip.value)
    assert "no proportion of respondents who answer at random explains 90.0% yes" in repr(tip)
    share = wada()["yes"].value
    assert wada().tipping_point("yes", share).value == 0
    assert wada().tipping_point("yes", 0.3, "any").value == pytest.approx(
        wada().tipping_point("yes", 0.3, "yes").value
    )


def test_nobody_and_one_report():
    """Without reports bounds are NaN and intervals [0, 1]; one report gives wide intervals."""
    nobody = rr.estimate([], WADA).noncompliance(0.1, "any")
    assert np.isnan(nobody.bounds.low).all()
    low, high = nobody.interval()
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])
    low, high = rr.estimate(["yes"], WADA).noncompliance(0.1).interval()
    assert (high - low > 0.5).all()
    none = rr.estimate([], WADA)
    sharp = none.noncompliance([0, 0.1], "any").sharp_bounds()
    assert np.isnan([sharp.low, sharp.high]).all()
    low, high = none.corrected((3, 40)).interval()
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])
    with pytest.raises(ArgumentValueError, match="control must have reports"):
        wada().corrected(none, proportion=0)


@pytest.mark.parametrize("report", [[], ["a"], ["a", "a"], ["a", "b", "c"], None, 3, ["a", "x"]])
def test_a_behaviour_is_a_possible_report(report):
    """Reports of subset selection are sets of one size, and no others."""
    mechanism = rr.mechanisms.SubsetSelection(list("abcdef"), size=2, epsilon=1)
    estimate = rr.estimate(rr.simulate(list("abcdef") * 20, mechanism, seed=1), mechanism)
    with pytest.raises(ArgumentValueError, match="reports are sets of 2 of the categories"):
        estimate.noncompliance(0.1, report)
    scores = estimate.noncompliance(0.1, ["a", "b"]).scores.low
    assert scores.sum() == pytest.approx(1)


def test_tables_of_groups_are_written_like_those_of_one():
    """Bounds and uncorrected proportions have four decimals."""
    frame = pd.DataFrame({"x": ["no", "yes", "no"] * 40, "g": ["a", "b"] * 60})
    groups = rr.estimate(frame, WADA, columns="x", by="g")
    for result in (groups.noncompliance(0.1), groups.corrected((3, 50))):
        assert set(result["a"]._cells()[1][0][-5:]) <= set(result._cells()[1][0])
    nobody = rr.estimate(frame[:0], WADA, columns="x", by="g")
    for call in (lambda: nobody.noncompliance(0.1), lambda: nobody.corrected((3, 50))):
        with pytest.raises(ArgumentValueError, match="at least one group"):
            call()


def test_pictures_have_the_numbers_of_the_table():
    """The band of the picture ends where the table's interval ends."""
    pytest.importorskip("matplotlib")
    bounds = wada().noncompliance(0.5, "any")
    ax = bounds.plot()
    band = ax.collections[0].get_paths()[0].vertices
    low, high = bounds.interval()
    at_end = band[np.isclose(band[:, 0], 0.5), 1]
    assert at_end.min() == pytest.approx(low[1])
    assert at_end.max() == pytest.approx(high[1])
    line = wada().noncompliance(0.5).plot().lines[0]
    assert line.get_ydata()[0] == pytest.approx(wada().proportions[1])
    assert doping().corrected((45, 354)).plot() is not None


# -- assumptions that the reports contradict -----------------------------------------------------


def test_an_interval_cut_to_one_point_opens_with_a_caution():
    """0% to 0% would read as certainty; the table says that the assumption hardly fits.

    43.6% yes with half of the people always saying yes leaves -65% among the others; a control
    question that nobody failed changes nothing.
    """
    contradicted = wada().noncompliance([0.1, 0.5], "yes")
    assert contradicted.interval().high[1, 1] == 0
    assert str(contradicted).startswith("Warning: before it is cut, the 95% interval of no, yes")
    assert not wada().noncompliance([0, 0.1, 0.2], "yes")._cautions
    assert not wada().noncompliance(0.5, "any")._cautions
    common = crosswise(780, 220)  # 96.7% yes, where random reports mean 50%
    assert not common.corrected((0, 1000))._cautions
    (caution,) = common.corrected((300, 1000))._cautions
    assert "interval of no, yes lies outside" in caution
    sentences = contradicted.interpret().splitlines()
    assert ["lies outside [0, 1]" in sentence for sentence in sentences] == [False, True]
    assert "lies outside [0, 1]" in common.corrected((300, 1000)).interpret()
    assert "lies outside [0, 1]" not in common.corrected((0, 1000)).interpret()


def test_a_pair_among_numbers_is_refused_with_a_sentence():
    """Only one pair (low, high) is an assumption; a list holds numbers."""
    with pytest.raises(TypeError, match="proportion must be a number"):
        wada().noncompliance([0, (0, 0.5)], "yes")
