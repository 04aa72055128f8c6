"""Planned widths are those of the intervals that come out, and people those that it takes."""

import math

import numpy as np
import pytest
import scipy
from catalogue import EXAMPLES, SILENT
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.estimation.tallies.arrays import weights as weights_of
from rrstats.inference import binomial as intervals
from rrstats.mechanisms.channel import expected_rates, recode_matrix
from rrstats.planning import half_width, least_epsilon, sample_size
from rrstats.planning.precision import _counts_of_rows, ask

NO_YES = ["no", "yes"]
WARNER = rr.surveys.warner(NO_YES, 0.7, yes="yes")
MIRRORED = rr.surveys.warner(NO_YES, 0.25, yes="yes")
DIRECT = rr.surveys.direct(NO_YES)
KUK = rr.surveys.kuk(NO_YES, 0.7, 0.2, 2, yes="yes")


def pmf(n, rate):
    return [math.comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(n + 1)]


def enumerated(mechanism, code, n, share, target="population", level=0.95, method=None):
    """Every count with its probability and the half-width of the estimate's own interval."""
    rates = mechanism.channel.binomial_rates
    base, top = rates.false_positive_rate[code], rates.true_positive_rate[code]
    if target == "population":
        distribution = pmf(n, base + share * (top - base))
    else:
        ones = round(share * n)
        distribution = np.convolve(pmf(ones, top), pmf(n - ones, base))
    widths = []
    for count in range(n + 1):
        counts = [0] * mechanism.channel.m
        counts[code] = count
        if mechanism.channel.is_multinomial:
            counts[code - 1] += n - count
        reports = rr.Tally.from_counts(counts, mechanism, n=n)
        ends = rr.estimators.Estimate(reports, target).interval(level, method=method)
        widths.append((ends.high[code] - ends.low[code]) / 2)
    return np.array(distribution), np.array(widths)


# -- how wide ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(
    ("mechanism", "share"),
    [
        (WARNER, 0.1),
        (MIRRORED, 0.35),
        (DIRECT, 0.0),
        (rr.KRR(list("abc"), 0.6), 0.9),
        (rr.surveys.forced_response(list("abc"), 0.5, [0.1, 0.1, 0.3]), 0.2),
        (rr.mechanisms.UnaryEncoding.optimized(list("abcd"), epsilon=1.5), 0.3),
    ],
    ids=["warner", "mirrored", "direct", "k-RR", "forced", "unary"],
)
def test_the_width_is_the_mean_of_the_intervals_that_come_out(mechanism, share, target):
    """Of all counts by their exact distribution, at both targets, in each design."""
    distribution, widths = enumerated(mechanism, mechanism.k - 1, 23, share, target)
    assert distribution @ widths == pytest.approx(
        half_width(23, share, mechanism, target=target), rel=1e-12
    )


@pytest.mark.parametrize("method", ["wilson", "wald", "blaker"])
def test_the_width_follows_method_and_level(method):
    """A width by another method, at another level, is that method's."""
    distribution, widths = enumerated(WARNER, 1, 17, 0.2, level=0.8, method=method)
    assert distribution @ widths == pytest.approx(
        half_width(17, 0.2, WARNER, level=0.8, method=method)
    )


def test_an_assured_width_is_kept_as_often_as_asked():
    """It is the least width kept with at least that probability: by the exact distribution."""
    distribution, widths = enumerated(WARNER, 1, 60, 0.2)
    for assurance in (0.5, 0.8, 0.99):
        found = half_width(60, 0.2, WARNER, assurance=assurance)
        assert distribution[widths <= found + 1e-12].sum() >= assurance
        assert distribution[widths < found - 1e-12].sum() < assurance


def test_a_grid_stands_for_all_counts_of_many_people():
    """Where there are too many counts some stand for all: nothing is lost of the width."""
    for n, share in ((60_000, 0.1), (3_000_000, 0.003)):
        rate = 0.3 + 0.4 * share
        counts = np.arange(int(n * rate - 9 * (n / 4) ** 0.5), int(n * rate + 9 * (n / 4) ** 0.5))
        logs = scipy.special.xlogy(counts, rate) + scipy.special.xlog1py(n - counts, -rate)
        logs = logs - scipy.special.gammaln(counts + 1) - scipy.special.gammaln(n - counts + 1)
        weights = np.exp(logs - logs.max())
        z = scipy.special.ndtri(0.975)
        low, high = intervals.population_interval(counts, n, 0.3, 0.7, method="wilson")
        mean = weights @ (high - low) / weights.sum() / 2
        assert mean == pytest.approx(half_width(n, share, WARNER, method="wilson"), rel=1e-7)
        assert z * math.sqrt(rate * (1 - rate) / n) / 0.4 == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(
    ("n", "share", "mechanism"),
    [
        (30, 0.1, rr.KRR(NO_YES, 0.75)),
        (60, 0.2, WARNER),
        (100, 0.0, rr.KRR(range(12), epsilon=4.0)),
    ],
    ids=["30", "60", "rare"],
)
def test_rows_up_to_some_hundreds_are_planned_by_every_count(n, share, mechanism):
    """An assured width is kept with the probability asked, by the exact distribution."""
    distribution, widths = enumerated(mechanism, mechanism.k - 1, n, share, "sample")
    options = {"target": "sample"}
    assert distribution @ widths == pytest.approx(
        half_width(n, share, mechanism, **options), rel=1e-5
    )
    for assurance in (0.5, 0.9):
        found = half_width(n, share, mechanism, assurance=assurance, **options)
        assert distribution[widths <= found + 1e-12].sum() >= assurance
        assert distribution[widths < found - 1e-12].sum() < assurance


def test_the_distribution_of_many_rows_is_normal():
    """Where it is added up no longer, its mean and spread are those of the two binomials."""
    few, many = (_counts_of_rows(n, n // 5, 0.3, 0.7) for n in (40_000, 4_000_000))
    for n, (counts, weights) in ((40_000, few), (4_000_000, many)):
        weights = weights / weights.sum()
        mean = weights @ counts
        assert 0.38 * n == pytest.approx(mean, abs=1e-3 * math.sqrt(n))
        assert 0.21 * n == pytest.approx(weights @ (counts - mean) ** 2, rel=1e-3)
    counts, weights = _counts_of_rows(800, 160, 0.3, 0.7)
    low, high = intervals.rows_interval(counts, 800, 0.3, 0.7)
    mean = weights @ (high - low) / weights.sum() / 2  # of some 40 counts instead
    assert mean == pytest.approx(half_width(800, 0.2, WARNER, target="sample"), rel=2e-3)


def test_designs_without_binomial_counts_take_the_interval_at_the_expected_reports():
    """Kuk's number of red cards is no binomial: the estimate's own interval tells the width."""
    kuk = rr.surveys.kuk(NO_YES, 0.75, 0.25, draws=2, yes="yes")
    assert expected_rates(kuk.channel, [0.8, 0.2]) == pytest.approx([0.4625, 0.375, 0.1625])
    expected = rr.Tally.from_counts([185, 150, 65], kuk)
    low, high = rr.estimate(expected).interval()
    assert (high[1] - low[1]) / 2 == half_width(400, 0.2, kuk)
    rows = rr.estimate(expected, target="sample").interval()
    assert (rows.high[1] - rows.low[1]) / 2 == half_width(400, 0.2, kuk, target="sample")


def test_two_samples_are_planned_at_equal_sizes():
    """An unrelated question of unknown prevalence needs the sizes of all classes."""
    m = rr.surveys.unrelated_question_two_samples(NO_YES, [0.7, 0.2], yes="yes")
    mix = {("no", True): 9, ("no", False): 27, ("yes", True): 1, ("yes", False): 3}
    one, two = 0.7 * 0.1 + 0.3 * 0.25, 0.2 * 0.1 + 0.8 * 0.25
    distribution = (0.8**2 * one * (1 - one) + 0.3**2 * two * (1 - two)) / 0.5**2
    assert 2 * distribution == pytest.approx(ask(m, mix=mix).variance(0.1), rel=1e-9)
    z = float(scipy.special.ndtri(0.975))
    assert z * math.sqrt(2 * distribution / 50_000) == pytest.approx(
        half_width(50_000, mix, m), rel=0.01
    )
    refused(ArgumentTypeError, "proportion must give the sizes", half_width, 1000, 0.1, m)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - SILENT))
def test_one_report_varies_as_its_scores_do(name):
    """The variance that plans rest on, in every design: that of the weights of its cells."""
    mechanism = EXAMPLES[name]()
    channel = mechanism.channel
    mix = np.arange(2.0, 2 + mechanism.domain.k)
    question = ask(mechanism, mix=mix)
    theta = question.theta(0.3)
    assert recode_matrix(channel)[question.code] @ theta == pytest.approx(0.3)
    assert theta.sum() == pytest.approx(1)
    rates, samples = expected_rates(channel, theta), channel.samples
    if not channel.is_multinomial:  # the category's own coin is all that its share is from
        base, top = question.rates
        rate = base + 0.3 * (top - base)
        expected = rate * (1 - rate) / (top - base) ** 2
    else:
        parts = [samples == sample for sample in range(samples.max() + 1)]
        equal = np.concatenate([np.full(part.sum(), 1e6 / part.sum()) for part in parts])
        weights = weights_of(channel, equal)[question.code]
        spread = [(weights[p] ** 2 @ rates[p] - (weights[p] @ rates[p]) ** 2) for p in parts]
        expected = sum(spread) * len(parts)
    assert expected == pytest.approx(question.variance(0.3), rel=1e-6)


# -- how many ----------------------------------------------------------------------------------


def test_the_textbook_number_and_the_true_one():
    """theory_cases.json, sample-size: k = 2, epsilon ln 3, f = 0.1, h = 0.02, 95%: 8068.

    That is z^2 s (1 - s) / ((p - q)^2 h^2), rounded up; the default interval takes more.
    """
    z = float(scipy.special.ndtri(0.975))
    assert 8068 == math.ceil(z**2 * ask(2, epsilon=math.log(3)).variance(0.1) / 0.02**2)
    assert 8164 == sample_size(0.02, 0.1, epsilon=math.log(3))
    assert half_width(8164, 0.1, epsilon=math.log(3)) <= 0.02
    assert half_width(8163, 0.1, epsilon=math.log(3)) > 0.02


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(
    ("mechanism", "share", "wanted"),
    [(WARNER, 0.3, 0.35), (MIRRORED, 0.0, 0.2), (DIRECT, 0.02, 0.08), (DIRECT, 0.5, 0.14)],
    ids=["warner", "mirrored", "rare", "half"],
)
def test_people_are_the_fewest(mechanism, share, wanted, target):
    """No smaller number has so narrow an interval, by asking each of them."""
    found = sample_size(wanted, share, mechanism, target=target)
    reached = [
        half_width(n, share, mechanism, target=target) <= wanted for n in range(1, found + 1)
    ]
    assert [False] * (found - 1) + [True] == reached


@pytest.mark.parametrize(
    ("mechanism", "share", "wanted", "level"),
    [
        (DIRECT, 0.02, 0.1, 0.9),
        (DIRECT, 0.05, 0.2, 0.6),  # 8 and 9 people keep it, 10 and 11 do not
        pytest.param(WARNER, 0.02, 0.12, 0.6, marks=pytest.mark.slow),
    ],
    ids=["direct", "ahead", "warner"],
)
def test_with_an_assurance_larger_surveys_keep_it_too(mechanism, share, wanted, level):
    """Counts are whole, so the probability goes up and down: n is beyond its last low."""
    found = sample_size(wanted, share, mechanism, assurance=level)
    kept = [
        half_width(n, share, mechanism, assurance=level) <= wanted for n in range(1, found + 100)
    ]
    assert all(kept[found - 1 :])
    assert not kept[found - 2]
    assert kept.index(True) < found - 2


def test_awkward_plans_are_answered():
    """Nobody, everybody, many categories, next to no protection, next to no information."""
    # 1 - 0.025^(1/n) is the upper end when none of n has it: its half is below 0.02 from n = 91.
    assert math.ceil(math.log(0.025) / math.log(0.96)) == sample_size(0.02, 0.0, DIRECT)
    assert sample_size(0.02, 0.0, DIRECT) == sample_size(0.02, 1.0, DIRECT)
    assert sample_size(0.02, 0.0, DIRECT) == sample_size(0.02, 0.0, epsilon=36)
    z2 = float(scipy.special.ndtri(0.975)) ** 2
    for mechanism in (rr.KRR(range(1000), epsilon=1.0), rr.KRR(range(2), epsilon=1e-4)):
        about = z2 * ask(mechanism).variance(0.1) / 0.02**2
        assert about == pytest.approx(sample_size(0.02, 0.1, mechanism), rel=1e-2)
    assert half_width(2**40, 0.1, epsilon=1) == pytest.approx(
        half_width(2**34, 0.1, epsilon=1) / 8, rel=1e-5
    )
    assert half_width(1, 0.1, epsilon=1) <= 0.5


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sample_size(0.02, 0.1, epsilon=1e-9), ArgumentValueError, "about 9.6e.21 people"),
        (lambda: sample_size(0.02, 10, epsilon=1), ArgumentValueError, "write 0.1 for 10%"),
        (lambda: sample_size(0.02, 0.1, 2, 0.5), NotIdentifiableError, "no information"),
        (lambda: sample_size(0.02, 0.1, epsilon=1, method="exact"), ArgumentValueError, "one of"),
        (lambda: half_width(2**40 + 1, 0.1, epsilon=1), ArgumentValueError, "must be in"),
        (lambda: half_width(9, 0.1, WARNER, category="maybe"), ArgumentValueError, "category"),
        (lambda: half_width(9, [1, 0], WARNER), ArgumentValueError, "class outside it"),
        (lambda: half_width(9, {"no": 1, "x": 2}, WARNER), KeyError, "yes"),
        (
            lambda: half_width(9, 0.1, WARNER, target="sample", method="wilson"),
            ArgumentValueError,
            "must be None for target 'sample'",
        ),
        (lambda: half_width(9, 0.1, KUK, assurance=0.9), ArgumentValueError, "counts are binomial"),
    ],
)
def test_what_cannot_be_planned_is_refused(call, error, words):
    """The argument is named, with its rule."""
    refused(error, words, call)


def test_the_category_asked_for_is_the_sensitive_one():
    """In a design that treats answers differently, the one that the mechanism calls yes."""
    m = rr.surveys.unrelated_question(["yes", "no"], 0.6, 0.1, yes="yes")
    assert half_width(50, 0.1, m) == half_width(50, 0.1, m, category="yes")
    assert half_width(50, 0.1, m) == pytest.approx(half_width(50, 0.9, m, category="no"))
    uneven = rr.surveys.forced_response(list("abc"), 0.5, [0.05, 0.05, 0.4])
    assert half_width(50, 0.1, uneven) > half_width(50, 0.1, uneven, category="a")


# -- which epsilon -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "design", [rr.KRR, rr.mechanisms.UnaryEncoding.optimized, rr.mechanisms.SubsetSelection]
)
def test_the_least_epsilon_suffices_and_less_does_not(design):
    """A mechanism at that epsilon reaches the width and keeps within it; a millionth less fails."""
    found = least_epsilon(0.05, 3000, 0.1, 6, design=design)
    made = design(range(6), epsilon=found)
    assert made.epsilon <= found
    assert half_width(3000, 0.1, made) <= 0.05
    assert half_width(3000, 0.1, design(range(6), epsilon=found * (1 - 1e-6))) > 0.05


def test_one_person_is_a_person():
    """The number of people agrees with its noun."""
    with pytest.raises(ArgumentValueError, match="for 1 person, even without noise"):
        least_epsilon(0.1, 1, 0.2)


def test_an_epsilon_that_does_not_exist_is_refused():
    """Too few people even for a direct question: the width they give is said."""
    with pytest.raises(
        ArgumentValueError, match=r"at least 0\.0134 for 2,000 people, even without noise"
    ):
        least_epsilon(0.001, 2000, 0.1)
    with pytest.raises(ArgumentTypeError, match="design must be made by"):
        least_epsilon(0.1, 2000, 0.1, design="KRR")


def test_sample_sizes_take_an_estimate_a_list_and_a_plan():
    """What an estimate knows of latent classes is planned with; of a plan the widest column."""
    mechanism = rr.KRR(["no", "yes"], 0.75)
    estimate = rr.estimate(["no", "yes"] * 20, mechanism)
    assert half_width(1000, 0.2, estimate) == half_width(1000, 0.2, mechanism)
    listed = rr.surveys.list_experiment(2)
    counts = {"control": [40, 110, 50, 0], "treatment": [30, 100, 60, 10]}
    pilot = rr.estimate(rr.Tally.from_counts(counts, listed))
    sizes = pilot.merge().project().proportions
    by_sizes = dict(zip(listed.domain.categories, sizes, strict=True))
    expected = half_width(3000, by_sizes, listed)
    assert expected == pytest.approx(half_width(3000, pilot.project().proportions[1], pilot))
    assert sample_size(expected, by_sizes, pilot) == pytest.approx(3000, abs=2)
    plan = rr.planning.FramePlan({"a": [0, 1], "b": [0, 1, 2]}, 1, ["a", "b"])
    widths = [plan.half_width(1000, name) for name in "ab"]
    assert half_width(1000, 0.2, plan) == max(widths) > min(widths)
    assert sample_size(max(widths), 0.2, plan) == pytest.approx(1000, abs=1)
    for options in ({"epsilon": 1.0}, {"pooled": (50, 0.1)}):
        with pytest.raises(rr.errors.ArgumentTypeError, match="a plan has the mechanisms"):
            sample_size(0.1, 0.2, plan, **options)
    with pytest.raises(rr.errors.ArgumentTypeError, match=r"one of plan\.part_mechanisms"):
        rr.planning.power(1000, 0.2, plan, against=0.1)


def test_half_of_the_people_is_the_worst_case_of_two_categories_alone():
    """With more, a report of k-RR varies most where its own rate, not the proportion, is 1/2."""
    proportions = np.arange(1, 100) / 100
    worst = {
        k: proportions[np.argmax([half_width(2000, p, k, epsilon=1) for p in proportions])]
        for k in (2, 4)
    }
    assert worst == {2: 0.5, 4: 0.84}
