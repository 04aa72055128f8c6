"""Weighted samples: variances are unbiased over all samples and all coins, intervals cover."""

import importlib.util
import itertools
import json

import chance
import numpy as np
import pandas as pd
import pytest
from catalogue import ASYMMETRIC, EXAMPLES, SILENT
from refusals import refused
from scipy import stats
from subset_probabilities import reports
from tally_cells import Cell, cells_of, tally_of

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.tallies.arrays import score_variances
from rrstats.estimation.tallies.tally import Tally, tally
from rrstats.mechanisms import KRR, MatrixDesign, Samples, UnaryEncoding, surveys

COIN = KRR(["no", "yes"], 0.75)
THREE = KRR(["a", "b", "c"], 0.625)
GENERIC = MatrixDesign(["a", "b", "c"], ASYMMETRIC.entries, reports=["w", "x", "y", "z"])
CARDS = surveys.kuk(["no", "yes"], 0.75, 0.25, yes="yes", draws=2)
BITS = UnaryEncoding.optimized(["a", "b"], epsilon=1.0)
MIXED = Samples({"dice": KRR(["a", "b", "c"], 0.75), "cards": KRR(["a", "b", "c"], 0.5)})


def survey_estimate(tally, population=None, probabilities=None, lonely_psu="raise"):
    """An estimate of a sample with a design; a tally that says nothing of it is one stratum."""
    if not tally.sampled:
        cells = {("all", key[1]): cell for key, cell in cells_of(tally).items()}
        tally = tally_of(tally.mechanism, cells, tally.n_missing)
    sizes = {"population": population, "probabilities": probabilities, "lonely_psu": lonely_psu}
    return Estimate(tally, design=rr.SampleDesign(**sizes))


def weighed(n, reported, w):
    """A cell of n reports of the weight w."""
    powers = w ** np.array([1.0, 2.0, -1.0, -2.0])
    return Cell(n, reported, np.outer(powers[:2], reported), n * powers)


def scores_of(mechanism, codes):
    """(n, k) the scores of coded reports."""
    return mechanism.channel.scores(np.asarray(codes))


def counted(mechanism, codes, weights=None, strata=None, clusters=None):
    """A tally of coded reports, made row by row and added up."""
    n, channel = len(codes), mechanism.channel
    parts = []
    for row in range(n):
        named = np.zeros(channel.m, dtype=np.int64)
        if channel.is_multinomial:
            named[codes[row]] = 1
        else:
            named += np.asarray(codes[row], dtype=np.int64)
        key = (
            None if strata is None else strata[row],
            None if clusters is None else clusters[row],
        )
        cell = Cell(1, named) if weights is None else weighed(1, named, float(weights[row]))
        parts.append(tally_of(mechanism, {key: cell}))
    return sum(parts)


# -- all samples and all coins ---------------------------------------------------------------


def outcomes(mechanism, truths):
    """Every list of coded reports of these true answers, with its probability."""
    channel = mechanism.channel
    if channel.is_multinomial:
        options = [(code, channel.matrix[code]) for code in range(channel.m)]
    else:
        options = [
            (list(bits), np.array(distribution, dtype=float))
            for bits, distribution in reports(mechanism)
        ]
    for picked in itertools.product(options, repeat=len(truths)):
        chances = [
            distribution[truth] for (_, distribution), truth in zip(picked, truths, strict=True)
        ]
        yield [code for code, _ in picked], float(np.prod(chances))


def noise_of(mechanism, truths):
    """(n, k) the exact variance of the score of each person's report."""
    found = np.zeros((len(truths), mechanism.k))
    for row, truth in enumerate(truths):
        for codes, prob in outcomes(mechanism, [truth]):
            unit = np.arange(mechanism.k) == truth
            found[row] += prob * (scores_of(mechanism, codes)[0] - unit) ** 2
    return found


def expected(mechanism, truths, samples, estimate_of):
    """Means over all samples and coins, and the variance of the totals and shares."""
    names = ("totals", "proportions", "_total_variance", "variance", "randomization_variance")
    sums = {name: np.zeros(mechanism.k) for name in names}
    squares = {name: np.zeros(mechanism.k) for name in names[:2]}
    for rows, chance_of in samples:
        for codes, prob in outcomes(mechanism, [truths[row] for row in rows]):
            found = estimate_of(rows, codes)
            for name in names:
                value = getattr(found.moments, name)
                sums[name] += chance_of * prob * value
                if name in squares:
                    squares[name] += chance_of * prob * value**2
    return sums, {name: squares[name] - sums[name] ** 2 for name in squares}


def all_samples(size, n):
    """Simple random samples of n of these rows."""
    found = list(itertools.combinations(range(size), n))
    return [(list(rows), 1 / len(found)) for rows in found]


def small(mechanism):
    """Four people's true answers, all categories among them."""
    return [0, 1, 1, mechanism.k - 1]


SMALL = {"coin": COIN, "generic": GENERIC, "three": THREE, "cards": CARDS, "bits": BITS}


@pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
def test_variances_are_unbiased_in_a_finite_population(mechanism):
    """Over all samples of 2 of 4 people and all coins, estimates and variances are right."""
    truths = small(mechanism)

    def estimate_of(rows, codes):
        return survey_estimate(counted(mechanism, codes), population=4)

    means, variances = expected(mechanism, truths, all_samples(4, 2), estimate_of)
    true = np.bincount(truths, minlength=mechanism.k)
    assert np.allclose(true, means["totals"], atol=1e-12)
    assert np.allclose(true / 4, means["proportions"], atol=1e-12)
    assert np.allclose(variances["totals"], means["_total_variance"], rtol=1e-10)
    assert np.allclose(variances["proportions"], means["variance"], rtol=1e-10)
    # w^2 = 4, half of the people at a time
    exact = noise_of(mechanism, truths).sum(axis=0) * 4 / 2 / 4**2
    assert np.allclose(exact, means["randomization_variance"], rtol=1e-10)


@pytest.mark.parametrize("mechanism", [COIN, BITS], ids=["coin", "bits"])
def test_variances_are_unbiased_where_whole_clusters_are_drawn(mechanism):
    """Two of three clusters of different sizes, everybody in them asked: exact on average."""
    truths, clusters = [0, 1, 1, 0], ["x", "y", "y", "z"]
    samples = [
        ([row for row in range(4) if clusters[row] in pair], 1 / 3)
        for pair in itertools.combinations("xyz", 2)
    ]

    def estimate_of(rows, codes):
        found = counted(mechanism, codes, clusters=[clusters[row] for row in rows])
        return survey_estimate(found, population=3)

    means, variances = expected(mechanism, truths, samples, estimate_of)
    assert np.allclose([2, 2], means["totals"])
    assert np.allclose(variances["totals"], means["_total_variance"], rtol=1e-10)


@pytest.mark.parametrize("mechanism", SMALL.values(), ids=SMALL)
def test_a_census_has_the_variance_of_the_coins(mechanism):
    """With every probability 1 nothing is sampled: the variance is that of the randomization."""
    truths = small(mechanism)[1:]

    def estimate_of(rows, codes):
        found = counted(mechanism, codes, weights=[1.0] * 3)
        estimate = survey_estimate(found, probabilities=True)
        assert estimate.variance == pytest.approx(
            estimate.moments.randomization_variance, rel=1e-12
        )
        whole = survey_estimate(counted(mechanism, codes), population=3)
        assert estimate.variance == pytest.approx(whole.variance, rel=1e-12)
        return estimate

    means, variances = expected(mechanism, truths, [([0, 1, 2], 1.0)], estimate_of)
    exact = noise_of(mechanism, truths).sum(axis=0)
    assert np.allclose(exact, variances["totals"], rtol=1e-10)
    assert np.allclose(exact, means["_total_variance"], rtol=1e-10)


def test_the_coins_part_is_unbiased_for_unequal_probabilities():
    """Whatever the design, the sum of w^2 (s^2 - s) is the coins' part of the total's variance."""
    truths, design = [0, 1, 1, 0], [([0, 1], 0.5), ([0, 2], 0.2), ([1, 2, 3], 0.3)]
    chances = [sum(p for rows, p in design if row in rows) for row in range(4)]

    def estimate_of(rows, codes):
        found = counted(COIN, codes, weights=[1 / chances[row] for row in rows])
        return survey_estimate(found, probabilities=True)

    def coins(found):
        return found.moments.randomization_variance * found.moments.weight**2

    total, mean = np.zeros(2), np.zeros(2)
    for rows, p in design:
        for codes, prob in outcomes(COIN, [truths[row] for row in rows]):
            found = estimate_of(rows, codes)
            total += p * prob * coins(found)
            mean += p * prob * found.counts
    assert np.allclose([2, 2], mean)
    exact = (noise_of(COIN, truths) / np.array(chances)[:, None]).sum(axis=0)
    assert np.allclose(exact, total, rtol=1e-10)


# -- against the definitions, row by row -----------------------------------------------------


def drawn(mechanism, n, seed):
    """Generic reports with weights, strata and clusters; no two weights are alike."""
    rng = np.random.default_rng(seed)
    channel = mechanism.channel
    if channel.is_multinomial:
        codes = rng.integers(0, channel.m, n)
    else:
        codes = rng.integers(0, 2, (n, channel.k))
    strata = np.where(np.arange(n) < 2 * n // 3, "north", "south")
    return codes, rng.uniform(1, 5, n), strata, rng.permutation(np.arange(n) % 4)


def by_hand(scores, weights, strata, clusters, n_h=None):
    """(k, k) covariance of totals by the textbook: between clusters within strata."""
    found = np.zeros((scores.shape[1],) * 2)
    for stratum in np.unique(strata):
        mine = strata == stratum
        sums = np.array(
            [
                (weights[mine & (clusters == c), None] * scores[mine & (clusters == c)]).sum(axis=0)
                for c in np.unique(clusters[mine])
            ]
        )
        size = len(sums) if n_h is None else n_h[stratum]
        spread = sums.T @ sums - np.outer(sums.sum(axis=0), sums.sum(axis=0)) / size
        found += size / (size - 1) * spread
    return found


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("mechanism", [*SMALL.values(), MIXED], ids=[*SMALL, "mixed"])
def test_variances_follow_the_textbook(mechanism, clustered):
    """Shares, totals, variances and covariances equal those computed row by row."""
    codes, weights, strata, labels = drawn(mechanism, 30, 5)
    found = survey_estimate(
        counted(mechanism, codes, weights, strata, labels if clustered else None)
    )
    scores, size = scores_of(mechanism, codes), weights.sum()
    clusters = labels if clustered else np.arange(30)
    total = weights @ scores
    assert found.moments.weight == pytest.approx(size)
    assert np.allclose(total, found.counts, rtol=1e-12)
    assert np.allclose(total / size, found.proportions, rtol=1e-12)
    exact = by_hand(scores, weights, strata, clusters)
    assert np.allclose(np.diag(exact), found.moments._total_variance, rtol=1e-10)
    exact = by_hand((scores - total / size) / size, weights, strata, clusters)
    assert np.allclose(np.diag(exact), found.variance, rtol=1e-10)
    assert np.allclose(found.variance, found.std_error**2)
    if mechanism is not BITS or clustered:
        assert np.allclose(exact, found.covariance, atol=1e-14)


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
def test_a_finite_population_takes_its_share_off_the_sampling_alone(clustered):
    """(1 - f) of the variance between clusters and f of the randomization's, in every stratum."""
    codes, weights, strata, labels = drawn(THREE, 30, 6)
    clusters = labels if clustered else np.arange(30)
    population = {"north": 40, "south": 25}
    found = survey_estimate(
        counted(THREE, codes, weights, strata, labels if clustered else None), population
    )
    scores = scores_of(THREE, codes)
    noise = np.einsum("ni,nj->nij", scores, scores)
    noise -= np.einsum("ni,ij->nij", scores, np.eye(3))
    exact = np.zeros((3, 3))
    for stratum, size in population.items():
        mine = strata == stratum
        f = len(np.unique(clusters[mine])) / size
        exact += (1 - f) * by_hand(scores[mine], weights[mine], strata[mine], clusters[mine])
        exact += f * (weights[mine, None, None] ** 2 * noise[mine]).sum(axis=0)
    assert np.allclose(np.diag(exact), found.moments._total_variance, rtol=1e-10)


def test_unequal_probabilities_have_devilles_variance():
    """The sum of v / pi and Deville's variance of the scores, in every stratum."""
    codes, weights, strata, _ = drawn(COIN, 30, 7)
    weights[:3] = 1.0  # sure to be in the sample
    found = survey_estimate(counted(COIN, codes, weights, strata), probabilities=True)
    scores, exact = scores_of(COIN, codes), np.zeros(2)
    for stratum in ("north", "south"):
        mine = strata == stratum
        r, w = scores[mine], weights[mine, None]
        c = 1 - 1 / w
        middle = (c * w * r).sum(axis=0) / c.sum()
        exact += (w * (r**2 - r)).sum(axis=0)
        exact += (c * (w * r - middle) ** 2).sum(axis=0) / (1 - (c**2).sum() / c.sum() ** 2)
    assert np.allclose(exact, found.moments._total_variance, rtol=1e-10)


def test_a_group_is_a_domain_of_its_sample():
    """Rows outside a group are rows of the sample that add nothing to it."""
    codes, weights, strata, labels = drawn(THREE, 60, 9)
    inside = np.arange(60) % 3 > 0
    reports = np.array(THREE.categories)[codes]
    for clusters in (None, labels):
        parts = tally(
            reports.tolist(),
            THREE,
            by=inside,
            design=rr.SampleDesign(weights=weights, strata=strata, clusters=clusters),
        )
        found = survey_estimate(parts[True])
        places = np.arange(60) if clusters is None else labels
        size, scores = weights[inside].sum(), scores_of(THREE, codes)
        share = (weights * inside) @ scores / size
        values = (scores - share) / size * inside[:, None]
        exact = by_hand(values, weights, strata, places)
        assert np.allclose(share, found.proportions)
        assert np.allclose(np.diag(exact), found.variance, rtol=1e-10)
        assert np.allclose(exact, found.covariance, atol=1e-14)


def groups_by_hand(mechanism, codes, inside, weights, strata, places):
    """(2k, 2k) the textbook's covariance of the shares inside and outside of a group."""
    scores, values = scores_of(mechanism, codes), []
    for mine in (inside, ~inside):
        size = weights[mine].sum()
        share = (weights * mine) @ scores / size
        values.append((scores - share) / size * mine[:, None])
    return by_hand(np.hstack(values), weights, strata, places)


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("mechanism", [THREE, GENERIC, BITS], ids=["three", "generic", "bits"])
def test_two_groups_of_one_sample_go_together(mechanism, clustered):
    """Their covariance is that of the linearized sums of all rows, and turns with their order."""
    codes, weights, strata, labels = drawn(mechanism, 60, 9)
    inside = np.random.default_rng(1).random(60) < 0.4
    places = labels if clustered else np.arange(60)
    space = mechanism.report_space
    reports = codes.astype(bool) if mechanism is BITS else np.array(space.categories)[codes]
    design = rr.SampleDesign(weights, strata=strata, clusters=labels if clustered else None)
    parts = tally(reports, mechanism, by=inside, design=design)
    one = survey_estimate(parts[True])
    other = parts[False]
    turned = dict(reversed(cells_of(other).items()))
    other = survey_estimate(tally_of(other.mechanism, turned, other.n_missing))
    k = mechanism.k
    exact = groups_by_hand(mechanism, codes, inside, weights, strata, places)
    assert abs(exact[:k, k:]).max() > 1e-4
    assert np.allclose(
        exact[:k, k:], one.moments.covariance_with(other.moments), rtol=1e-9, atol=1e-14
    )
    assert np.allclose(
        exact[k:, :k], other.moments.covariance_with(one.moments), rtol=1e-9, atol=1e-14
    )


def test_groups_of_a_finite_population_share_what_sampling_adds():
    """The sampled share is taken off the covariance of two groups, by number or probability."""
    codes, _, _, labels = drawn(THREE, 60, 5)
    reports = np.array(THREE.categories)[codes].tolist()
    parts = tally(
        reports,
        THREE,
        by=np.arange(60) % 3 > 0,
        design=rr.SampleDesign(weights=np.full(60, 2.5), clusters=labels),
    )
    one, other = parts[True], parts[False]
    free = survey_estimate(one).moments.covariance_with(survey_estimate(other).moments)
    by_size, by_chance = (
        survey_estimate(one, **drawn_so).moments.covariance_with(
            survey_estimate(other, **drawn_so).moments
        )
        for drawn_so in ({"population": 10}, {"probabilities": True})
    )
    assert abs(free).max() > 1e-4
    assert np.allclose(free * (1 - 4 / 10), by_size, rtol=1e-10)
    assert np.allclose(by_size, by_chance, rtol=1e-10)


def test_only_groups_of_one_sample_are_known_to_go_together():
    """Another sample, another design and the same rows again are no groups of this one."""
    codes, weights, _, labels = drawn(COIN, 60, 2)
    reports = np.array(COIN.categories)[codes].tolist()

    def sampled(by=None, clusters=labels, **options):
        design = rr.SampleDesign(weights=weights, clusters=clusters, **options)
        return rr.estimate(reports, COIN, by=by, design=design)

    sexes, whole = np.arange(60) % 2, sampled()
    groups = sampled(sexes)
    assert groups[0].moments.covariance_with(groups[1].moments) is not None
    plain, half = rr.estimate(reports, COIN), rr.estimate(reports[:30], COIN, weights=[1] * 30)
    for one in (whole, plain, half):
        assert groups[0].moments.covariance_with(one.moments) is None
    for others in (
        sampled(sexes, labels + 9),
        sampled(sexes, population=50),
        sampled(sexes, lonely_psu="certainty"),
    ):
        assert groups[0].moments.covariance_with(others[1].moments) is None
    assert whole.moments.covariance_with(whole.moments) is None


# -- ratios and means ------------------------------------------------------------------------

SILENT_TOO = KRR(["no", "yes", None], 0.8)


def answered(n=300, seed=4):
    """Reports with silence among them, weights and clusters."""
    rng = np.random.default_rng(seed)
    reports = np.array(["no", "yes", None], dtype=object)[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    return reports, rng.uniform(1, 3, n), np.arange(n) * 15 // n


def test_a_ratio_has_the_linearized_variance():
    """The standard error is the textbook's of the sum of part less ratio times whole."""
    reports, weights, clusters = answered()
    found = rr.estimate(
        reports, SILENT_TOO, design=rr.SampleDesign(weights=weights, clusters=clusters)
    )
    ratio = found.among(["no", "yes"])["yes"]
    scores = scores_of(SILENT_TOO, [SILENT_TOO.categories.index(one) for one in reports])
    whole = scores[:, 0] + scores[:, 1]
    exact = (weights @ scores[:, 1]) / (weights @ whole)
    values = ((scores[:, 1] - exact * whole) / (weights @ whole))[:, None]
    variance = by_hand(values, weights, np.zeros(300), clusters)[0, 0]
    assert np.isclose(exact, ratio.value, rtol=1e-12)
    assert np.isclose(np.sqrt(variance), ratio.std_error, rtol=1e-10)
    assert ratio.low < exact < ratio.high
    # at least Fieller's with 14 degrees of freedom, whose length is about this
    assert ratio.high - ratio.low > 1.99 * 2.145 * ratio.std_error


def test_equal_weights_leave_ratios_and_means_as_they_are():
    """With weights of 1 and no clusters they are those of `Estimate`, but for t quantiles."""
    reports, _, _ = answered()
    plain = rr.estimate(reports, SILENT_TOO)
    found = rr.estimate(reports, SILENT_TOO, weights=np.ones(300))
    values = {"no": 0, "yes": 1, None: 2.5}
    pairs = [
        (plain.among(["yes", "no"]).to_frame(), found.among(["yes", "no"]).to_frame()),
        (plain.mean(values), found.mean(values)),
    ]
    for one, other in pairs:
        assert np.allclose(one.std_error, other.std_error, rtol=1e-9)
        for name in ("low", "high"):
            assert np.allclose(getattr(one, name), getattr(other, name), atol=1.5e-3)
    frames = pairs[0]
    assert list(frames[0].columns) == list(frames[1].columns)
    assert np.allclose(frames[0]["proportion"], frames[1]["proportion"], rtol=1e-12)
    assert ["yes", "no"] == frames[1]["category"].tolist()
    assert ["no", "yes"] == found.among().to_frame(0.5)["category"].tolist()


def test_ratios_and_means_say_what_they_cannot():
    """Unknown categories, nobody, too few clusters and words that are no numbers."""
    reports, weights, _ = answered(40)
    found = rr.estimate(reports, SILENT_TOO, weights=weights)
    refused(ArgumentValueError, "'maybe' is not among", found.among, ["maybe"])
    refused(ArgumentValueError, "'yes' is not among", lambda: found.among(["no"])["yes"])
    nobody = survey_estimate(tally_of(SILENT_TOO, {("a", 1): Cell(0, np.zeros(3, dtype=np.int64))}))
    ratio, mean = (
        nobody.among(["no", "yes"])["yes"],
        nobody.mean({"no": 0, "yes": 1, None: 2}),
    )
    assert (0, 1, 0, 2) == (ratio.low, ratio.high, mean.low, mean.high)
    one = rr.estimate(
        reports, SILENT_TOO, design=rr.SampleDesign(clusters=np.zeros(40), lonely_psu="certainty")
    )
    assert (0, 1) == (one.among(["no", "yes"])["yes"].low, one.among(["no"])["no"].high)


def test_ratios_and_means_outside_their_range_are_no_points():
    """An estimate beyond what is possible has an interval that reaches as far in as its noise."""
    weights, clusters = np.tile([1.0, 2.0], 30), np.arange(60) // 3
    reports = np.array(["no"] * 40 + [None] * 16 + ["yes"] * 4, dtype=object)
    reports = reports[np.random.default_rng(1).permutation(60)]
    found = rr.estimate(
        reports,
        KRR(["no", "yes", None], 0.6),
        design=rr.SampleDesign(weights=weights, clusters=clusters),
    )
    for code, name in enumerate(("no", "yes")):
        ratio = found.among(["no", "yes"])[name]
        mean = found.mean({"no": 1 - code, "yes": code, None: 0})
        for one, share in ((ratio, ratio.value), (mean, mean.value)):
            assert 0 <= one.low < one.high <= 1
            if not 0 <= share <= 1:
                reach = one.high if share < 0 else 1 - one.low
                assert reach > 2.09 * one.std_error * 0.999  # t with 19 degrees of freedom
    assert found.proportions[1] < 0
    alike = rr.estimate(["no"] * 20, KRR(["no", "yes", "x"], 0.6), weights=weights[:20])
    mean = alike.mean({"no": 0, "yes": 1, "x": 0})
    assert 0 == mean.low < mean.high


def test_ratios_of_reports_of_several_categories_need_clusters():
    """What was named together is known of clusters alone; a number of each category has a mean."""
    codes, weights, strata, labels = drawn(BITS, 60, 7)
    rows = survey_estimate(counted(BITS, codes, weights))
    refused(ArgumentValueError, "name several categories", lambda: rows.among(["a", "b"])["a"])
    with pytest.raises(ArgumentValueError, match="each category is counted"):
        _ = rows.covariance
    found = survey_estimate(counted(BITS, codes, weights, strata, labels))
    ratio, mean = found.among(["a", "b"])["a"], found.mean({"a": 0, "b": 1})
    assert ratio.std_error > 0
    assert 0 <= ratio.low <= ratio.high <= 1
    assert np.isclose(found.proportions[1], mean.value)
    assert np.isclose(found.std_error[1], mean.std_error)


# -- special cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - SILENT))
def test_equal_weights_change_nothing(name):
    """A sample with equal weights and no design is the ordinary estimate, interval and all."""
    mechanism = EXAMPLES[name]()
    channel = mechanism.channel
    reported = np.arange(20, 20 + 3 * channel.m, 3)
    n = int(reported.sum()) if channel.is_multinomial else int(reported.max()) + 7
    if not channel.is_multinomial and (fixed := channel.support_sizes)[0] == fixed[1]:
        n = 60 if name.endswith("two of five") else 69
        reported = np.array([26, 23, 25, 24, 22]) if n == 60 else np.array([20, 23, 26])
    plain = tally_of(mechanism, {(None, None): Cell(n, reported)})
    w = 7.0
    weighted = tally_of(mechanism, {(None, None): weighed(n, reported, w)})
    if not channel.is_multinomial or score_variances(channel, reported) is not None:
        ordinary, found = rr.estimate(plain), survey_estimate(weighted)
        assert np.allclose(ordinary.proportions, found.proportions, rtol=1e-9)
        assert np.allclose(ordinary.moments.support[1], found.moments.support[1], equal_nan=True)
        if channel.m == mechanism.k:
            assert np.allclose(ordinary.variance, found.variance, rtol=1e-6, atol=1e-15)
            assert np.allclose(1, found.design_effect, rtol=1e-6)
            assert n == pytest.approx(found.effective_n, rel=1e-6)
        if channel.binomial_rates is not None:
            assert np.allclose(ordinary.interval(), found.interval(), atol=1e-7)
        return
    refused(ArgumentValueError, "proportions only together", survey_estimate, weighted)


def test_shares_do_not_depend_on_the_unit_of_the_weights():
    """Weights times a number change totals and nothing else."""
    codes, weights, strata, labels = drawn(THREE, 40, 11)
    one, other = (
        survey_estimate(counted(THREE, codes, scale * weights, strata, labels))
        for scale in (1.0, 1000.0)
    )
    columns = ["naive", "proportion", "std_error", "low", "high", "effective_n", "design_effect"]
    assert np.allclose(one.to_frame()[columns], other.to_frame()[columns])
    assert np.allclose(1000 * one.counts, other.counts)
    assert np.allclose(1000 * one.moments.total_std_error, other.moments.total_std_error)


def test_one_label_in_two_strata_is_two_clusters():
    """Clusters are nested: relabelling those of one stratum changes nothing."""
    codes, weights, strata, labels = drawn(COIN, 40, 12)
    relabelled = np.where(strata == "south", labels + 100, labels)
    one = survey_estimate(counted(COIN, codes, weights, strata, labels))
    other = survey_estimate(counted(COIN, codes, weights, strata, relabelled))
    assert 8 - 2 == one.df == other.df
    assert np.allclose(one.variance, other.variance)


def test_strata_with_one_cluster_are_refused_or_treated_as_named():
    """Refused; or by name the distance from the grand mean, or nothing but the coins."""
    codes, weights = [0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0]
    lonely = counted(COIN, codes, weights, strata=["a", "a", "a", "b"])
    refused(ArgumentValueError, r"two clusters .* found one in 1 of 2", survey_estimate, lonely)
    # scores of "yes" are -1/2 and 3/2; weighted -0.5, 3, 4.5 in a (mean 7/3) and 6 in b
    spread = 3 / 2 * sum((z - 7 / 3) ** 2 for z in (-0.5, 3.0, 4.5))
    grand = (-0.5 + 3 + 4.5 + 6) / 4
    adjusted = survey_estimate(lonely, lonely_psu="adjust")
    assert spread + (6 - grand) ** 2 == pytest.approx(adjusted.moments._total_variance[1])
    certain = survey_estimate(lonely, lonely_psu="certainty")
    assert spread + 4**2 * 0.75 == pytest.approx(
        certain.moments._total_variance[1]
    )  # s^2 - s = 3/4
    # of a population with one cluster in b nothing is left to sample there
    known = survey_estimate(lonely, {"a": 6, "b": 1})
    noise = 0.75 * (1 + 4 + 9)
    assert spread / 2 + noise / 2 + 4**2 * 0.75 == pytest.approx(known.moments._total_variance[1])
    # probabilities: one row of b is sure to be in the sample, the other alone with its chance
    alone = counted(COIN, [0, 1], [1.0, 2.0])
    refused(ArgumentValueError, "found one in 1 of 1", survey_estimate, alone, probabilities=True)
    certain = survey_estimate(alone, probabilities=True, lonely_psu="certainty")
    assert 0.75 * (1 + 4) == pytest.approx(certain.moments._total_variance[1])


def test_all_reports_alike_have_kishs_effective_n():
    """Where no report differs from another, the weights alone say what the sample is worth."""
    found = survey_estimate(counted(COIN, [1] * 4, [1.0, 1.0, 1.0, 3.0]))
    assert 36 / 12 == pytest.approx(found.effective_n[1])
    assert 4 * 12 / 36 == pytest.approx(found.design_effect[1])
    low, high = found.interval()
    assert (low <= 1).all()
    assert (high - low > 0.1).all()


def test_negative_sampling_variance_is_said_in_plain_words():
    """The coins' part may exceed the whole; then the rest is negative and the table says so."""
    found = survey_estimate(counted(COIN, [0, 1, 0, 1], clusters=[1, 1, 2, 2]))
    assert found.variance[1] < found.moments.randomization_variance[1]
    assert found.moments.sampling_variance[1] == pytest.approx(
        -found.moments.randomization_variance[1]
    )
    assert "sampling variance is negative for 2 of 2 categories" in repr(found)
    assert "1 degrees of freedom" in repr(found)
    assert "sampling variance is negative" in found._repr_html_()


@pytest.mark.parametrize("mechanism", [COIN, THREE, GENERIC, CARDS, BITS])
@pytest.mark.parametrize("w", [0.1, 0.7, 1e6])
def test_variances_that_are_0_but_for_rounding_have_standard_error_0(mechanism, w):
    """Clusters that are all alike: no standard error is NaN because rounding left -1e-34."""
    code = [1, 0] if mechanism is BITS else mechanism.channel.m - 1
    codes, clusters = [code] * 21, np.arange(21) % 7
    found = survey_estimate(counted(mechanism, codes, [w] * 21, clusters=clusters))
    assert [0] * len(found.categories) == pytest.approx(found.std_error, abs=1e-6)
    assert (found.moments.total_std_error >= 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"by": []}, {"strata": []}, {"clusters": []}])
def test_a_sample_of_nobody_has_no_weight_whatever_its_population(options):
    """The share of 0 rows in a population is 0; nothing is divided by it."""
    by = {"by": options.pop("by")} if "by" in options else {}
    population = {} if "strata" in options else 500
    design = rr.SampleDesign(population=population, **options)
    found = rr.estimate([], COIN, design=design, **by)
    assert by or 0 == found.moments.weight
    assert by or [0, 0] == found.counts.tolist()


@pytest.mark.filterwarnings("error")
def test_a_share_that_does_not_vary_has_no_narrow_interval():
    """All categories are 100% of themselves; rounding of 1e-19 gives no effective sample size."""
    mechanism = KRR(list("abcdefg"), 0.625)
    rng = np.random.default_rng(1)
    for weights in rng.gamma(2.0, size=(20, 4)):
        found = survey_estimate(counted(mechanism, [0, 1, 2, 2], weights))
        ratio = found.among("fg")["f"]
        assert (0, 0, 1) == (ratio.std_error, ratio.low, ratio.high)
        assert 0 == found.among(mechanism.categories[4:])["f"].std_error
    for prob in np.linspace(0.4, 0.95, 23).tolist():
        found = rr.estimate(Tally.from_counts([2, 0, 0], KRR(["a", "b", "c"], prob)))
        ratio = found.among("abc")["c"]
        assert (0, 0, 1) == (ratio.std_error, ratio.low, ratio.high)


def test_the_mean_of_large_numbers_keeps_its_standard_error():
    """Scores that differ by 1 part in 2 million: far more than rounding leaves of them."""
    reports = np.array(["no", "yes", "no"] * 30)
    for options in ({}, {"weights": np.linspace(1, 2, 90)}):
        found = rr.estimate(reports, COIN, **options)
        small, large = found.mean([0, 1]), found.mean([2_000_000, 2_000_001])
        assert small.std_error == pytest.approx(large.std_error, rel=0.01)


def test_groups_of_a_sample_share_the_counts_of_its_units():
    """No array has groups times units: 1,000 groups of 20,000 clusters took 160 MB for these."""
    design = rr.SampleDesign(clusters=np.arange(60) % 20)
    found = rr.estimate(["no", "yes", "no"] * 20, COIN, by=np.arange(60) % 3, design=design)
    drawn = [group.moments.cells.drawn for group in found.values()]
    assert all(np.shares_memory(drawn[0], each) for each in drawn)


def test_effective_sizes_do_not_depend_on_the_order_of_categories():
    """A least variance of 0 but for rounding is 0 for each category: Kish's effect then holds."""
    rng = np.random.default_rng(2)
    mechanism = KRR(list("abcdef"), 0.5)
    for weights in rng.gamma(2.0, size=(60, 4)):
        strata = [0, 0, 1, 1]
        sizes = [
            survey_estimate(counted(mechanism, [a, a, b, b], weights, strata)).effective_n[[a, b]]
            for a, b in ((0, 1), (4, 2), (3, 5))
        ]
        assert sizes[0] == pytest.approx(sizes[1])
        assert sizes[0] == pytest.approx(sizes[2])


def test_a_share_of_nobody_is_not_known():
    """The size of a whole that is 0 but for rounding: no ratio of 1e15, and any interval."""
    mechanism = KRR(list("abc"), 0.7)
    found = rr.estimate(Tally.from_counts([14, 3, 3], mechanism))
    assert 0 == pytest.approx(found.proportions[1:].sum(), abs=1e-12)
    ratio = found.among("bc")["c"]
    assert np.isnan(ratio.value)
    assert (0, 1) == (ratio.low, ratio.high)


@pytest.mark.filterwarnings("error")
def test_a_mean_without_degrees_of_freedom_is_not_multiplied_with_infinity():
    """One report: the quantile of Student's t is infinite, and the standard error may be 0."""
    tally = counted(surveys.direct(["no", "yes"]), [0], [2.0])
    found = survey_estimate(tally, lonely_psu="adjust")
    mean = found.mean([0, 1])
    assert (0, 1) == (mean.low, mean.high)


def test_no_note_calls_rounding_a_negative_variance():
    """A report that nobody gives, and nothing forces: both variances are 0 but for rounding."""
    design = surveys.forced_response(list("abcd"), 0.5, [0.125, 0.25, 0, 0.125])
    rng = np.random.default_rng(1)
    for weights in rng.gamma(2.0, size=(20, 24)):
        codes, strata = rng.choice([0, 1, 3], 24), np.arange(24) % 5
        found = survey_estimate(counted(design, codes, weights, strata=strata))
        assert 0 == pytest.approx(found.moments.sampling_variance[2], abs=1e-15)
        below = int((found.moments.sampling_variance < -1e-15).sum())
        notes = [note for note in found.notes if "sampling variance is negative" in note]
        assert bool(below) == bool(notes)
        assert not notes or f"negative for {below} of 4 categories" in notes[0]


def test_no_reports_say_nothing():
    """Of nobody, and of reports without weight, shares are NaN and intervals [0, 1]."""
    empty = Cell(0, np.zeros(2, dtype=np.int64))
    without = Cell(3, np.array([1, 2]), np.zeros((2, 2)), np.array([0, 0, np.inf, np.inf]))
    for cell in (empty, without):
        found = survey_estimate(tally_of(COIN, {(None, None): cell}, n_missing=2))
        assert np.isnan(found.proportions).all()
        assert np.isnan(found.std_error).all()
        assert np.isnan(found.moments._total_variance).all()
        low, high = found.interval()
        assert ([0, 0], [1, 1]) == (low.tolist(), high.tolist())
        low, high = found.interval(method="wald")
        assert ([0, 0], [1, 1]) == (low.tolist(), high.tolist())
        assert found.interpret().startswith("yes cannot be estimated")
        assert "missing=2" in repr(found)
        assert 2 == len(found.to_frame())


# -- intervals -------------------------------------------------------------------------------


def test_few_clusters_widen_intervals():
    """The effective n shrinks by the squared ratio of t quantiles (Korn and Graubard)."""
    codes, _, _, _ = drawn(COIN, 60, 13)
    clusters = np.arange(60) % 4
    found = survey_estimate(counted(COIN, codes, clusters=clusters))
    effect = max(found.design_effect[1], 1.0)  # not less than without clusters
    ratio = stats.t.ppf(0.975, 59) / stats.t.ppf(0.975, 3)
    size = 60 / effect * ratio**2
    share = found.moments.support[1][1]
    low = (stats.beta.ppf(0.025, share * size, size - share * size + 1) - 0.25) / 0.5
    high = (stats.beta.ppf(0.975, share * size + 1, size - share * size) - 0.25) / 0.5
    assert max(low, 0) == pytest.approx(found.interval().low[1], abs=1e-9)
    assert min(high, 1) == pytest.approx(found.interval().high[1], abs=1e-9)


def test_no_variance_counts_for_less_than_that_of_strata_and_weights():
    """Clusters that happen to be alike do not make intervals shorter than rows in strata would."""
    # half of each cluster says yes, so that clusters seem not to differ at all
    codes, strata, clusters = [0, 1] * 20, ["a"] * 24 + ["b"] * 16, np.arange(40) // 4
    weights = np.where(np.arange(40) < 24, 1.0, 2.0)
    found = survey_estimate(counted(COIN, codes, weights, strata, clusters))
    assert np.allclose(0, found.variance)
    # the score's variance is 1 in both strata; weights sum to 24 + 32, their squares to 24 + 64
    least = (24 * 24 / 23 + 64 * 16 / 15) / 56**2
    assert np.allclose(least, found.moments.least_variance)
    low, high = found.interval()
    assert (high - low > 2 * 1.96 * least**0.5).all()
    # varying weights within strata count by their squares, whoever has them
    alone = survey_estimate(counted(COIN, [0, 0, 0, 1], [1.0, 2.0, 3.0, 1.0]))
    spread = 4 * (1 / 7) * (6 / 7)  # of a score that is -1/2 or 3/2
    assert np.allclose(15 / 7**2 * spread * 4 / 3, alone.moments.least_variance)
    bits = survey_estimate(counted(BITS, [[0, 1], [0, 0], [0, 1], [1, 1]], [1.0, 2.0, 3.0, 1.0]))
    gap = float(BITS.channel.prob_truth - BITS.channel.prob_other)
    assert 15 / 7**2 / gap**2 * 6 / 49 * 4 / 3 == pytest.approx(bits.moments.least_variance[0])


def test_degrees_of_freedom_are_clusters_less_strata():
    """Rows count where there are no clusters, and where nothing was left to sample."""
    codes = [0, 1, 1, 0, 1]
    assert 4 == survey_estimate(counted(COIN, codes)).df
    assert 3 == survey_estimate(some()).df
    assert 5 == survey_estimate(counted(COIN, codes), population=5).df
    assert 1 + 3 == survey_estimate(some(), pd.Series({"a": 9, "b": 3})).df
    census = counted(COIN, codes, [1.0] * 5, clusters=[1, 1, 2, 2, 3])
    assert 5 == survey_estimate(census, probabilities=True).df
    # a probability of 1 but for rounding is 1
    nearly = counted(COIN, codes, [1 / (1 - 1e-14)] * 5)
    found = survey_estimate(nearly, probabilities=True)
    assert 5 == found.df
    assert np.allclose(found.moments.randomization_variance, found.variance)


def test_a_group_has_the_degrees_of_freedom_of_its_own_clusters():
    """Clusters and strata without anybody of a group, or without weight, add nothing to know."""
    region, clusters = np.repeat(np.arange(10), 30), np.repeat(np.arange(30), 10)
    codes, weights, _, _ = drawn(COIN, 300, 21)
    reports = np.array(COIN.categories)[codes]
    options = {"design": rr.SampleDesign(strata=region, clusters=clusters, weights=weights)}
    regions = rr.estimate(reports, COIN, by=region, **options)
    assert [2] * 10 == [regions[label].df for label in range(10)]
    assert 20 == rr.estimate(reports, COIN, **options).df
    # the variance has the factor of the whole sample: here all clusters are of one stratum
    few = rr.estimate(
        reports, COIN, by=clusters < 3, design=rr.SampleDesign(clusters=clusters, weights=weights)
    )[True]
    assert 2 == few.df
    scores = scores_of(COIN, codes)
    inside, size = clusters < 3, weights[clusters < 3].sum()
    values = (scores - few.proportions) / size * inside[:, None]
    exact = by_hand(values, weights, np.zeros(300), clusters)
    assert np.allclose(exact, few.covariance, atol=1e-14)
    # rows without clusters: those of the group less its strata; without weight a cluster is none
    alone = rr.estimate(
        reports, COIN, by=clusters < 4, design=rr.SampleDesign(strata=region, weights=weights)
    )[True]
    assert 40 - 2 == alone.df
    # together: groups in the same clusters have those of one, in others those of all
    assert 2 + 2 == regions[0].moments.df_with(regions[1].moments)
    assert 20 == regions[0].moments.df_with(*(regions[label].moments for label in range(1, 10)))
    sexes = rr.estimate(reports, COIN, by=np.arange(300) % 3, **options)
    assert 20 == sexes[0].df == sexes[0].moments.df_with(sexes[1].moments, sexes[2].moments)
    assert regions[0].moments.df_with(sexes[0].moments) is None
    assert regions[0].moments.df_with(rr.estimate(reports, COIN).moments) is None


def test_clusters_without_weight_have_no_degrees_of_freedom():
    """A group made by weights of 0 rests on the clusters that are left."""
    cells = {
        (None, place): Cell(2, np.array([1, 1]), np.full((2, 2), w), np.array([2 * w, 2 * w, 1, 1]))
        for place, w in enumerate([1.0, 1.0, 0.0, 0.0])
    }
    assert 1 == survey_estimate(tally_of(COIN, cells)).df


def test_a_note_says_where_intervals_use_a_larger_variance_than_the_table_prints():
    """Clusters that vary less than a simple sample by chance; of equal weights alone none does."""
    answers = np.tile(["no", "yes", "no", "no"], 50)
    mechanism = KRR(["no", "yes"], 0.9)
    alike = rr.SampleDesign(clusters=np.repeat(range(10), 20))
    words = "The standard errors of 2 of 2 categories are by chance below what the weights and"
    balanced = rr.estimate(answers, mechanism, design=alike)
    assert (balanced.moments.least_variance > balanced.moments.variance).all()
    uneven = np.where(np.arange(200) < 20, np.tile(["yes", "no"], 100), answers)
    noted = rr.estimate(uneven, mechanism, design=alike)
    assert 1 < (noted.moments.least_variance / noted.moments.variance).max() < 2
    (note,) = [note for note in noted.notes if note.startswith(words)]
    assert "intervals (but method='wald')" in note
    printed = noted.interval(method="wald")
    assert (printed.high - printed.low) / 2 == pytest.approx(
        stats.t.ppf(0.975, 9) * noted.std_error
    )
    simple = rr.estimate(answers, mechanism, weights=np.ones(200))
    assert not any("by chance below" in note for note in simple.notes)


def test_uneven_weights_are_worth_what_intervals_say():
    """Where one report has nearly all the weight, the sample is worth one report (Kish)."""
    codes, weights = np.arange(100) % 2, np.ones(100)
    weights[0] = 1e5
    found = rr.estimate(np.array(["no", "yes"])[codes], COIN, weights=weights)
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert kish == pytest.approx(1.002, abs=1e-3)
    assert [kish, kish] == pytest.approx(found.effective_n.tolist(), rel=0.01)
    assert found.n / found.effective_n == pytest.approx(found.design_effect)
    assert found.interpret().endswith("size 1 of 100 by weights, strata and clusters")
    assert "The standard errors of 2 of 2 categories are smaller than the weights" in repr(found)
    low, high = found.interval()
    assert (high - low > 0.9).all()
    steady = rr.estimate(np.array(["no", "yes"])[codes], COIN, weights=np.arange(1, 101))
    assert "do not use them" not in repr(steady)


def test_methods_are_those_of_the_design():
    """Wald reaches t quantiles; Blaker's needs whole counts; the others take the effective n."""
    codes, weights, strata, labels = drawn(THREE, 60, 14)
    found = survey_estimate(counted(THREE, codes, weights, strata, labels))
    low, high = found.interval(0.9, method="wald")
    assert (high - low) / 2 == pytest.approx(1.9431802803927816 * found.std_error)  # t, 6 df
    refused(ArgumentValueError, "method must be one of", found.interval, method="blaker")
    with pytest.raises(ArgumentValueError, match="method must be one of"):
        found.interval(method="profile-likelihood")
    together, alone = found.interval(0.9, simultaneous=True), found.interval(1 - 0.1 / 3)
    assert np.allclose(alone, together)
    general = survey_estimate(counted(GENERIC, *drawn(GENERIC, 60, 15)[:2]))
    profile, empirical = general.interval(), general.interval(method="empirical-likelihood")
    assert (profile.low <= empirical.low).all()
    assert (empirical.high <= profile.high).all()
    refused(ArgumentValueError, r"one of.*profile-likelihood", general.interval, method="wilson")
    mixed = survey_estimate(counted(MIXED, *drawn(MIXED, 60, 15)[:2]))
    low, high = mixed.interval()
    assert ((low <= mixed.proportions.clip(0, 1)) & (mixed.proportions.clip(0, 1) <= high)).all()


def test_totals_have_t_intervals():
    """Total plus and minus t quantiles of standard errors, in the units of the weights."""
    codes, weights, _, _ = drawn(COIN, 30, 16)
    found = survey_estimate(counted(COIN, codes, weights))
    low, high = found.count_interval(0.95)
    assert 2.045229642132703 * found.moments.total_std_error == pytest.approx(
        (high - low) / 2
    )  # 29 df
    assert found.counts == pytest.approx((high + low) / 2)


def simulated(rng, mechanism, shares, clusters):
    """A tally of one sample: strata, clusters whose people are alike, unequal weights."""
    cells, distribution = {}, mechanism.channel.matrix
    for stratum, theta in enumerate(shares):
        for cluster in range(clusters):
            n = int(rng.integers(5, 25))
            w = float((1 + 2 * stratum) * rng.uniform(0.5, 1.5))
            reports = rng.multinomial(n, distribution @ rng.dirichlet(np.asarray(theta) * 20))
            cells[stratum, cluster] = weighed(n, reports, w)
    return tally_of(mechanism, cells)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [12, 4])
def test_intervals_cover_in_a_clustered_sample(clusters):
    """A category of 2% and others are covered 94% of the time, with many clusters and with few.

    A right interval fails once in 1e9; one that covers 87% as Wald's does is found nearly always.
    """
    rng = np.random.default_rng(17)
    shares, trials, k = [[0.02, 0.38, 0.6], [0.02, 0.18, 0.8]], 700, 3
    truth = (1 * np.array(shares[0]) + 3 * np.array(shares[1])) / 4
    hits = np.zeros(k, dtype=int)
    for _ in range(trials):
        low, high = survey_estimate(simulated(rng, THREE, shares, clusters)).interval()
        hits += (low <= truth) & (truth <= high)
    for found in hits:
        chance.assert_at_least(int(found), trials, 0.94, tests=k)


# -- how it is shown -------------------------------------------------------------------------


def test_the_frame_is_tidy():
    """One row a category; parts of the variance add up, and one category reads like its row."""
    codes, weights, strata, labels = drawn(THREE, 60, 18)
    found = survey_estimate(counted(THREE, codes, weights, strata, labels))
    table = found.to_frame()
    assert ["a", "b", "c"] == table["category"].tolist()
    assert np.bincount(codes).tolist() == table["reported"].tolist()
    parts = table["randomization_variance"] + table["sampling_variance"]
    assert np.allclose(table["std_error"] ** 2, parts)
    assert np.allclose(60, table["effective_n"] * table["design_effect"])
    one = found["b"]
    assert (table["proportion"][1], table["low"][1]) == (one.value, one.low)
    with pytest.raises(ArgumentValueError, match="not among the categories"):
        found["d"]
    with pytest.raises(TypeError):
        iter(found)
    assert "n=60, strata=2, clusters=8" in repr(found)
    assert "population behind these 60 reports" in found._repr_html_()
    assert "about" in found.interpret("a")


def test_designs_without_named_reports_show_no_naive_shares():
    """Three cards name no category: the table leaves out what nobody knows."""
    found = survey_estimate(counted(CARDS, *drawn(CARDS, 30, 19)[:2]))
    assert np.isnan(found.moments.support[0]).all()
    assert "naive" not in repr(found)
    assert np.isnan(found.to_frame()["naive"]).all()


def test_estimates_can_be_drawn():
    """The picture of an estimate shows weighted shares and their intervals."""
    matplotlib = pytest.importorskip("matplotlib.figure")
    codes, weights, _, _ = drawn(THREE, 60, 20)
    found = survey_estimate(counted(THREE, codes, weights))
    bars = found.plot(matplotlib.Figure().subplots()).patches
    assert found.moments.support[1] == pytest.approx([bar.get_width() for bar in bars])


# -- bad input -------------------------------------------------------------------------------


def some():
    return counted(COIN, [0, 1, 1, 0, 1], strata=["a", "a", "b", "b", "b"])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"population": {"a": 1, "b": 9}}, ArgumentValueError, "found less in 1 of 2 strata"),
        ({"population": {"a": 4}}, ArgumentTypeError, "mapping from each stratum .* found None"),
        ({"population": 10}, ArgumentTypeError, "mapping from each stratum of the sample"),
        ({"population": {"a": 4, "b": "9"}}, ArgumentTypeError, "found str"),
        ({"population": {"a": 4, "b": -3}}, ArgumentValueError, "a finite number above 0"),
        ({"population": {"a": 4}, "probabilities": True}, ArgumentTypeError, "leave population"),
    ],
)
def test_bad_designs_are_refused(options, error, words):
    """What cannot be is refused with the argument, the rule and what was found."""
    refused(error, words, survey_estimate, some(), **options)


def test_errors_do_not_quote_strata():
    """Labels of strata are cells of a column: they stay out of messages."""
    secret = counted(COIN, [0, 1, 1], strata=["hush", "hush", "psst"])
    for options in ({}, {"population": {"hush": 1, "psst": 1}}, {"population": {"hush": 5}}):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
            survey_estimate(secret, **options)
        assert "hush" not in str(caught.value)
        assert "psst" not in str(caught.value)


def test_probabilities_differ_between_clusters_only():
    """Rows of one cluster come into the sample together, so that they share a probability."""
    uneven = counted(COIN, [0, 1, 1, 0], [2.0, 3.0, 2.0, 2.0], clusters=[1, 1, 2, 2])
    with pytest.raises(ArgumentValueError, match="found 1 of 2 clusters"):
        survey_estimate(uneven, probabilities=True)
    below = counted(COIN, [0, 1, 1], [0.5, 0.5, 0.25])
    refused(ArgumentValueError, "at least 1", survey_estimate, below, probabilities=True)


def test_reports_are_no_weights_and_no_probabilities():
    """A privatized column is refused as weights and as probabilities, on pandas and in Arrow."""
    raw = pd.DataFrame({"a": ["no", "yes"] * 20, "w": [1, 2] * 20})
    frame = raw.rr.privatize({"a": rr.KRR(["no", "yes"], 0.75), "w": rr.KRR([1, 2], 0.75)})
    calls = [frame.rr.estimate, lambda *asked, **more: rr.estimate(frame, columns=asked[0], **more)]
    if importlib.util.find_spec("narwhals") and importlib.util.find_spec("pyarrow"):
        pa = pytest.importorskip("pyarrow")
        said = {"rrstats": json.dumps(frame.attrs["rrstats"])}
        table = pa.Table.from_pandas(frame).replace_schema_metadata(said)
        calls.append(lambda *asked, **more: rr.estimate(table, columns=asked[0], **more))
    for call, argument in itertools.product(calls, ("weights", "probabilities")):
        with pytest.raises(rr.errors.ArgumentValueError, match="found reports of the privatized"):
            call("a", design=rr.SampleDesign(**{argument: "w"}))


@pytest.mark.parametrize("part", ["strata", "clusters"])
def test_what_cannot_be_told_apart_is_no_stratum(part):
    """The error is ours, and says what is asked."""
    design = rr.SampleDesign(**{part: [[1, 2, 3]]})
    with pytest.raises(ArgumentTypeError, match="hashable values"):
        rr.estimate(["n", "y", "y"], rr.KRR(["n", "y"], 0.8), design=design)
