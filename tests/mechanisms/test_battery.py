"""What every mechanism must be, proved by enumeration for each example of the catalogue.

Each property is a function of one mechanism, so that `test_faults_are_caught` can show that it
fails for a mechanism with a planted fault.
"""

import copy
import datetime
import itertools
import json
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from catalogue import EXAMPLES, FAMILIES, REPORTS_LABELS, SILENT, WITH_MATRIX, simulated
from scripted import BLOCK_ROWS, Counting, EveryStream, Recorded, Scripted

import rrstats as rr
from rrstats import mechanisms
from rrstats.errors import NotIdentifiableError
from rrstats.estimation.tallies.arrays import most_likely
from rrstats.mechanisms import Mechanism, from_dict, serialization
from rrstats.mechanisms.channel import expected_rates, recode_matrix, report_variance
from rrstats.mechanisms.matrix_channel import chained
from rrstats.mechanisms.number_design import NumberDesign

INFORMATIVE = [name for name in WITH_MATRIX if name not in SILENT]
# Where classes are the categories; the others tell people apart more finely than they estimate.
PLAIN = [n for n in INFORMATIVE if recode_matrix(EXAMPLES[n]().channel).shape[1] == EXAMPLES[n]().k]


def each_of(names):
    return pytest.fixture(params=names)(lambda request: EXAMPLES[request.param]())


mechanism, with_matrix = each_of(list(EXAMPLES)), each_of(WITH_MATRIX)
informative, plain = each_of(INFORMATIVE), each_of(PLAIN)


def truth_codes(mechanism):
    """(k,) the code of each true answer: its place, but for numbers that have others between."""
    return np.array(list(map(mechanism.domain.code, mechanism.domain.categories)))


def codes_of(mechanism, rows, seed=0):
    codes = np.random.default_rng(seed).integers(0, mechanism.domain.k, rows)
    codes = truth_codes(mechanism)[codes]
    if mechanism.groups is not None:
        return mechanism.join(codes, samples_of(mechanism, rows))
    return codes.astype(mechanism.domain.dtype)


def samples_of(mechanism, rows):
    return np.arange(rows) % len(mechanism.groups)


def group_of(mechanism, rows, start=0):
    """The argument `group` for some rows, if the mechanism has several samples."""
    if mechanism.groups is None:
        return {}
    samples = samples_of(mechanism, start + rows)[start:]
    return {"group": [mechanism.groups[sample] for sample in samples]}


def answers_of(mechanism, rows, seed=0):
    codes = np.random.default_rng(seed).integers(0, mechanism.domain.k, rows)
    return [mechanism.domain.categories[code] for code in codes]


def streams_of(mechanism):
    """The streams of words that a mechanism asks for."""
    recorded = Recorded(Counting(0))
    mechanism.randomize(codes_of(mechanism, 100), recorded, 0)
    return recorded.streams()


# -- the distribution --------------------------------------------------------------------------


def check_law(mechanism, bits=None, depth=None, most_undecided=Fraction(1, 3)):
    """All streams of tiny words, through the shipped code: the distribution of each truth."""
    matrix, k, streams = mechanism.channel.entries, mechanism.k, streams_of(mechanism)
    bits = bits or max(2, (k - 1).bit_length())
    depth = depth or max(1, 18 // (bits * max(len(streams), 1)))
    for truth, code in enumerate(truth_codes(mechanism)):
        source = EveryStream(bits, dict.fromkeys(streams, depth))
        codes = np.full(source.rows, code, dtype=mechanism.domain.dtype)
        distribution = source.distribution(
            mechanism.randomize(codes, source, 0), mechanism.report_space.k
        )
        assert distribution.brackets([row[truth] for row in matrix])
        assert distribution.undecided <= most_undecided
        assert (codes == code).all(), "the true codes were changed"


def test_distribution(with_matrix):
    """Reports follow the channel's matrix exactly, as rational numbers."""
    check_law(with_matrix)


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.KRR(["no", "yes"], 0.75),
        rr.KRR(list("abc"), 0.5),
        rr.KRR(range(5), 0.375),
        mechanisms.Chain(rr.KRR(list("abc"), 0.75), rr.KRR(list("abc"), 0.5)),
        rr.KRR(["no", "yes"], 0.75).then(rr.KRR(["no", "yes"], 0.875)),
    ],
    ids=repr,
)
def test_distribution_without_remainder(mechanism):
    """Where probabilities are short binary fractions, no stream is left undecided."""
    check_law(mechanism, bits=3, depth=1, most_undecided=0)


def check_columns(mechanism):
    rows = mechanism.channel.entries
    assert len(rows) == mechanism.channel.m
    for truth in range(mechanism.k):
        column = [row[truth] for row in rows]
        assert sum(column) == 1
        assert min(column) >= 0
    assert mechanism.channel.matrix == pytest.approx(np.array(rows, dtype=float), rel=1e-15)


def test_columns_sum_to_one(with_matrix):
    """matrix[report, truth]: every truth has some report, exactly."""
    check_columns(with_matrix)


def check_epsilon(mechanism):
    """Epsilon against the worst ratio over all reports and pairs of truths."""
    possible = [row for row in mechanism.channel.entries if any(row)]
    if any(0 in row for row in possible):
        assert mechanism.epsilon == np.inf
        assert mechanism.channel.max_likelihood_ratio == np.inf
        return
    worst = max(
        row[truth] / row[other]
        for row in possible
        for truth, other in itertools.permutations(range(mechanism.k), 2)
    )
    assert mechanism.channel.max_likelihood_ratio == worst
    with localcontext(prec=80):
        exact = (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()
        assert Decimal(mechanism.epsilon) >= exact
        if mechanism.epsilon == 0:
            return
        assert Decimal(float(np.nextafter(mechanism.epsilon, -np.inf))) < exact


def test_epsilon_is_the_worst_ratio(with_matrix):
    """Epsilon is the tightest double above the logarithm of the worst ratio."""
    check_epsilon(with_matrix)


# -- estimation ---------------------------------------------------------------------------------


def check_unbiased(mechanism):
    channel, k = mechanism.channel, mechanism.k
    scores = channel.scores(np.arange(channel.m))
    close = Fraction(float(1e-15 * k * np.abs(scores).max()))
    shown = recode_matrix(channel)
    for truth, value in itertools.product(range(shown.shape[1]), range(k)):
        # In fractions: what is left over is the rounding of the scores alone.
        mean = sum(
            row[truth] * Fraction(float(score))
            for row, score in zip(channel.entries, scores[:, value], strict=True)
        )
        assert abs(mean - int(shown[value, truth])) <= close


def test_scores_are_unbiased(informative):
    """The mean score of the reports of a truth is 1 for that truth and 0 for the others."""
    check_unbiased(informative)


def check_moments(mechanism, n=2):
    """Covariance for both targets against the sum over all worlds of n people."""
    channel, k = mechanism.channel, mechanism.k
    scores, matrix = channel.scores(np.arange(channel.m)), channel.matrix
    shown = recode_matrix(channel)
    c = shown.shape[1]
    theta = np.arange(1.0, c + 1) / (c * (c + 1) / 2)
    sampled = np.zeros((k, k))
    for truths in itertools.product(range(c), repeat=n):
        share = np.bincount(truths, minlength=c) / n
        rows = np.zeros((k, k))
        for reports in itertools.product(range(channel.m), repeat=n):
            chance = np.prod(matrix[list(reports), list(truths)])
            estimate = scores[list(reports)].mean(axis=0)
            apart = estimate - shown @ share
            rows += chance * np.outer(apart, apart)
            off = estimate - shown @ theta
            sampled += np.prod(theta[list(truths)]) * chance * np.outer(off, off)
        close = {"rtol": 1e-9, "atol": 1e-12 * np.abs(rows).max()}
        assert np.allclose(rows, channel.covariance(share, "sample") / n, **close)
        assert np.allclose(rows.diagonal(), report_variance(channel, share, "sample") / n, **close)
    close = {"rtol": 1e-9, "atol": 1e-12 * np.abs(sampled).max()}
    assert np.allclose(sampled, channel.covariance(theta, "population") / n, **close)
    variance = report_variance(channel, theta, "population") / n
    assert np.allclose(sampled.diagonal(), variance, **close)


@pytest.mark.parametrize("name", [n for n in INFORMATIVE if EXAMPLES[n]().k <= 4])
def test_variance_and_covariance(name):
    """Both targets equal brute force over every world of two people."""
    check_moments(EXAMPLES[name]())


BITS = [name for name in EXAMPLES if not isinstance(EXAMPLES[name](), REPORTS_LABELS)]
SEVERAL = [name for name in EXAMPLES if EXAMPLES[name]().groups is not None]


def check_estimate(estimate, proportions, covariances):
    """The numbers of an estimate are these, and what follows from them, of both targets."""
    assert np.allclose(proportions, estimate.proportions, rtol=1e-9, atol=1e-12)
    assert np.allclose(estimate.n * proportions, estimate.counts, rtol=1e-9, atol=1e-12)
    for target, expected in zip(("population", "sample"), covariances, strict=True):
        found = replace(estimate, target=target)
        assert np.allclose(expected, found.covariance, rtol=1e-9, atol=1e-15)
        variances = np.maximum(expected.diagonal(), 0)
        assert np.allclose(variances, np.maximum(found.variance, 0), rtol=1e-9, atol=1e-15)
        assert np.allclose(np.sqrt(variances), found.std_error, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", INFORMATIVE + BITS)
def test_estimates_are_mean_scores_with_the_covariance_of_their_channel(name):
    """From 60 reports; n - 1 for a population, n for these rows alone."""
    mechanism = EXAMPLES[name]()
    reports, _ = simulated(mechanism, 60)
    means = rr.estimators.debias_reports(reports, mechanism).mean(axis=0)
    covariances = [
        mechanism.channel.covariance(means, target) / divisor
        for target, divisor in (("population", 59), ("sample", 60))
    ]
    check_estimate(rr.estimate(reports, mechanism), means, covariances)


@pytest.mark.parametrize("name", SEVERAL)
def test_estimates_of_several_samples_are_sums_over_samples(name):
    """From 60 reports: a mean of scores if each sample knows the truth, else all are solved."""
    mechanism = EXAMPLES[name]()
    reports, group = simulated(mechanism, 60)
    codes = np.array([mechanism.report_space.code(report) for report in reports])
    samples = np.array([mechanism.groups.index(label) for label in group["group"]])
    matrices = [part.channel.matrix for part in mechanism.parts]
    n = 60
    sizes = np.bincount(samples)
    rates = [
        np.bincount(codes[samples == s], minlength=len(matrix)) / sizes[s]
        for s, matrix in enumerate(matrices)
    ]
    recode = recode_matrix(mechanism.channel)
    alone = all(np.linalg.matrix_rank(matrix) == len(recode.T) for matrix in matrices)
    if alone:
        scores = [recode @ np.linalg.inv(matrix) for matrix in matrices]
        parts = list(zip(sizes, scores, rates, strict=True))
        proportions = sum(size * score @ rate for size, score, rate in parts) / n
        squares = [(score * rate) @ score.T for score, rate in zip(scores, rates, strict=True)]
        square = sum(size * each for size, each in zip(sizes, squares, strict=True)) / n
        population = (square - np.outer(proportions, proportions)) / (n - 1)
        rows = (square - np.diag(proportions)) / n
    else:
        weights = np.split(recode @ np.linalg.pinv(np.vstack(matrices)), len(matrices), axis=1)
        parts = list(zip(sizes, weights, rates, strict=True))
        proportions = sum(weight @ rate for _, weight, rate in parts)
        within = [w @ (np.diag(f) - np.outer(f, f)) @ w.T for _, w, f in parts]
        population = sum(each / (size - 1) for each, size in zip(within, sizes, strict=True))
        # Neyman (1923): people came to samples by chance, so their own spread is taken off.
        spread = np.diag(proportions) - np.outer(proportions, proportions)
        rows = ((n - 1) * population - spread) / n
    check_estimate(rr.estimate(reports, mechanism, **group), proportions, [population, rows])


def plain_channel(channel):
    """The channel that a bare matrix has, whatever form this one takes."""
    inverse = getattr(channel, "inverse", None)
    reports = range(channel.m)
    design = rr.MatrixDesign(range(channel.k), channel.entries, reports=reports, inverse=inverse)
    return design.channel


def check_fast_equals_plain(mechanism):
    fast = mechanism.channel
    plain = plain_channel(fast)
    k, reports = mechanism.k, np.array([0, 1, 1, mechanism.channel.m - 1])
    theta = np.random.default_rng(1).dirichlet(np.ones(k), size=(2, 3))
    close = {"rtol": 1e-8, "atol": 1e-10}
    assert (plain.k, plain.m) == (fast.k, fast.m)
    assert plain.max_likelihood_ratio == fast.max_likelihood_ratio
    assert np.array_equal(plain.matrix, fast.matrix)
    assert np.allclose(plain.scores(reports), fast.scores(reports), **close)
    plain_rates, fast_rates = (expected_rates(channel, theta) for channel in (plain, fast))
    assert np.allclose(plain_rates, fast_rates, **close)
    assert np.allclose(plain.solve(plain_rates), fast.solve(fast_rates), **close)
    for target in ("population", "sample"):
        expected, found = (report_variance(c, theta, target) for c in (plain, fast))
        assert np.allclose(expected, found, **close)
        expected, found = (c.covariance(theta, target) for c in (plain, fast))
        assert np.allclose(expected, found, **close)
    likelihoods = [c.likelihood(reports) for c in (plain, fast)]
    ratios = [x / x.sum(axis=1, keepdims=True) for x in likelihoods]
    assert np.allclose(*ratios, **close)
    if fast.m == fast.k:
        assert chained(plain, plain).entries == chained(fast, fast).entries


def test_fast_channel_equals_its_matrix(plain):
    """The support form answers like the explicit matrix, for everything a channel answers."""
    check_fast_equals_plain(plain)


def log_likelihood(channel, counts, shares):
    return float(counts @ np.log(np.maximum(channel.matrix @ shares, 1e-300)))


def check_most_likely(mechanism):
    channel, k = mechanism.channel, mechanism.k
    plain = plain_channel(channel)
    inside = expected_rates(channel, np.arange(1.0, k + 1) / (k * (k + 1) / 2)) * 10_000
    outside = np.array([900.0] + [50.0] * (channel.m - 2) + [1.0])
    outside[~channel.matrix.any(axis=1)] = 0
    # Two truths only: both shares stay inside or one is 0.
    for counts in (inside, outside, outside[::-1]):
        found = most_likely(channel, counts)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, abs=1e-12)
        steps = most_likely(plain, counts)
        assert np.allclose(steps, found, rtol=0, atol=2e-5)
        best = log_likelihood(channel, counts, found)
        assert best >= log_likelihood(channel, counts, steps) - 1e-9 * counts.sum()
        for moved in np.random.default_rng(3).dirichlet(np.ones(k), size=50):
            near = 0.999 * found + 0.001 * moved
            assert best >= log_likelihood(channel, counts, near) - 1e-12 * counts.sum()
    assert np.allclose(channel.solve(inside / inside.sum()), most_likely(channel, inside))


def test_most_likely_equals_em(plain):
    """The closed form is where EM goes, and no shares nearby are likelier."""
    check_most_likely(plain)


def test_no_information_is_said():
    """Where every truth is reported alike, randomizing works and estimating refuses."""
    for name in sorted(SILENT):
        silent = EXAMPLES[name]()
        reports = rr.privatize(answers_of(silent, 20), silent, rng=Counting(1))
        assert rr.tally(reports, silent).n == 20
        for ask in (
            lambda m: m.channel.solve(np.full(m.k, 1 / m.k)),
            lambda m: m.channel.scores(np.array([0])),
            lambda m: m.channel.covariance(np.full(m.k, 1 / m.k), "sample"),
            lambda m: most_likely(m.channel, np.ones(m.k)),
            lambda m: plain_channel(m.channel).solve(np.full(m.k, 1 / m.k)),
        ):
            with pytest.raises(NotIdentifiableError):
                ask(silent)


# -- blocks, threads, parts ---------------------------------------------------------------------


def check_blocks(mechanism, monkeypatch):
    rng = np.random.default_rng(4)
    table = {s: rng.integers(0, 1 << 16, (8, 200)) for s in streams_of(mechanism)}
    codes = codes_of(mechanism, 200)
    whole = mechanism.randomize(codes, Scripted(table, 16), 0)
    monkeypatch.setattr("scripted.BLOCK_ROWS", 64)
    parts = [
        mechanism.randomize(codes[start : start + 64], Scripted(table, 16), block)
        for block, start in enumerate(range(0, 200, 64))
    ]
    assert np.array_equal(whole, np.concatenate(parts))
    assert whole.dtype == mechanism.report_space.dtype


def test_blocks_equal_the_whole(with_matrix, monkeypatch):
    """The report of a row depends on its answer and its words, not on how rows are cut."""
    check_blocks(with_matrix, monkeypatch)


@pytest.mark.parametrize(
    "name", ["KRR, coin", "KRR, five", "KRR, labels: mixed", "Chain, three rounds"]
)
def test_threads_change_nothing(name):
    """The same words give the same reports, in any number of threads."""
    mechanism = EXAMPLES[name]()
    answers = answers_of(mechanism, 2 * BLOCK_ROWS + 1_000)
    one, many = (
        rr.privatize(answers, mechanism, rng=Counting(5), threads=threads) for threads in (1, 4)
    )
    assert one == many


def test_rounds_share_no_words(mechanism):
    """Every round of a chain asks for streams of its own."""
    rounds = getattr(mechanism, "rounds", (mechanism,))
    recorded = Recorded(Counting(6))
    mechanism.randomize(codes_of(mechanism, 1_000), recorded, 0)
    assert len(streams_of(mechanism)) == sum(len(streams_of(part)) for part in rounds)
    first_draws = [asked.stream for asked in recorded.log if asked.round == 0]
    assert len(first_draws) == len(set(first_draws))


def test_parts_merge_to_the_whole(mechanism):
    """Tallies of any cut of the reports add up to the tally of all, in any order."""
    group = group_of(mechanism, 60)
    reports = rr.privatize(answers_of(mechanism, 60), mechanism, rng=Counting(7), **group)
    whole = rr.tally(reports, mechanism, **group)
    parts = [
        rr.tally(reports[a:b], mechanism, **group_of(mechanism, b - a, a))
        for a, b in ((0, 0), (0, 7), (7, 41), (41, 60))
    ]
    assert whole == sum(parts)
    assert whole == sum(reversed(parts))
    assert whole.n == 60
    if mechanism.groups is not None or not isinstance(mechanism, REPORTS_LABELS):
        return
    # Counted by hand: NaN and None are one label, so codes are compared, not labels.
    by_hand = [
        sum(mechanism.report_space.code(report) == code for report in reports)
        for code in range(mechanism.report_space.k)
    ]
    assert by_hand == whole.reported.tolist()


# -- descriptions -------------------------------------------------------------------------------


def test_json_round_trip(mechanism):
    """A mechanism is plain JSON and comes back equal, with its types."""
    text = json.dumps(mechanism.to_dict(), allow_nan=False)
    back = from_dict(json.loads(text))
    assert mechanism == back
    assert hash(mechanism) == hash(back)
    assert type(mechanism) is type(back)
    types = [type(c) for c in mechanism.categories]
    assert types == [type(c) for c in back.categories]
    assert mechanism.to_dict() == back.to_dict()
    assert mechanism.epsilon == back.epsilon


def test_copies_are_equal(mechanism):
    """Pickles, copies and a second construction are equal, used or not."""
    used = copy.copy(mechanism)
    assert used.epsilon == mechanism.epsilon  # fills what is computed when asked
    for again in (
        pickle.loads(pickle.dumps(used)),
        copy.deepcopy(used),
        copy.copy(used),
        pickle.loads(pickle.dumps(mechanism, protocol=2)),
    ):
        assert mechanism == again
        assert hash(mechanism) == hash(again)
        assert repr(mechanism) == repr(again)
        assert {mechanism: 1}[again] == 1


def test_repr_is_code(mechanism):
    """What is printed can be pasted, says the epsilon, and never understates it."""
    shown = repr(mechanism)
    scope = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    scope |= {
        "Chain": mechanisms.Chain,
        "NumberDesign": NumberDesign,
        "SurveyDesign": mechanisms.SurveyDesign,
        "inf": float("inf"),
        "datetime": datetime,
        "Fraction": Fraction,
        "surveys": rr.surveys,
    }
    assert mechanism == eval(shown, scope)
    text = re.search(r"# epsilon (\S+) per report", shown).group(1)
    if mechanism.epsilon == np.inf:
        assert text == "inf"
        return
    said = Fraction(text)
    assert said >= Fraction(mechanism.epsilon)
    assert said <= Fraction(mechanism.epsilon) * Fraction(1001, 1000)


def test_examples_differ():
    """No two examples are equal, and none equals anything that is no mechanism."""
    made = [make() for make in EXAMPLES.values()]
    assert len(set(made)) == len(made)
    for one in made:
        assert one != one.to_dict()
        assert sum(one == other for other in made) == 1


def test_frozen(mechanism):
    """A mechanism cannot be changed after it is made (T19), nor can its channel."""
    for target in (mechanism, mechanism.channel):
        for name in ("prob", "domain", "first", "epsilon", "channel", "entries", "new"):
            with pytest.raises((FrozenInstanceError, AttributeError)):
                setattr(target, name, 0.9)
            with pytest.raises((FrozenInstanceError, AttributeError)):
                delattr(target, name)
    with pytest.raises(AttributeError):
        mechanism.domain.k = 7


def test_awkward_labels_survive(mechanism):
    """Reports are categories of the declared types, from a list and from a tuple."""
    answers, group = answers_of(mechanism, 50), group_of(mechanism, 50)
    for values in (answers, tuple(answers)):
        reports = rr.privatize(values, mechanism, rng=Counting(8), **group)
        assert type(values) is type(reports)
        if not isinstance(mechanism, REPORTS_LABELS):
            assert {(type(r), len(r)) for r in reports} == {(bytes, -(-mechanism.k // 8))}
            continue
        declared = {(type(c), repr(c)) for c in mechanism.report_space.categories}
        assert {(type(r), repr(r)) for r in reports} <= declared


def test_nobody_answered(mechanism):
    """No answers: no reports, a tally of nothing, and shares that are not numbers."""
    group = group_of(mechanism, 0)
    assert rr.privatize([], mechanism, **group) == []
    nothing = rr.tally([], mechanism, **group)
    assert (nothing.n, nothing.n_missing, nothing.reported.sum()) == (0, 0, 0)
    assert nothing.reported.shape == (mechanism.channel.m,)
    empty = codes_of(mechanism, 0)
    assert len(mechanism.randomize(empty, Counting(9), 0)) == 0


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in SILENT])
def test_nobody_to_estimate(name):
    """An estimate from no reports has no shares and intervals that say nothing."""
    mechanism = EXAMPLES[name]()
    estimate = rr.estimate([], mechanism, **group_of(mechanism, 0))
    assert np.isnan(estimate.proportions).all()
    low, high = estimate.interval()
    assert (low == 0).all()
    assert (high == 1).all()


def test_the_catalogue_is_complete():
    """Every mechanism that a document may name has examples, and the other way round."""
    made = {family: [make() for make in examples.values()] for family, examples in FAMILIES.items()}
    public = (getattr(mechanisms, name) for name in mechanisms.__all__ if name[0].isupper())
    types = {c for c in public if hasattr(c, "randomize") and c is not Mechanism}
    # Made by calls, and in no list.
    types |= {mechanisms.Chain, mechanisms.SurveyDesign, NumberDesign}
    assert types == {type(m) for every in made.values() for m in every}
    assert set(serialization._TYPES) == set(FAMILIES)


# -- planted faults -----------------------------------------------------------------------------


class Broken(rr.KRR):
    """A k-RR in which one thing is wrong."""


class LieMayBeTrue(Broken):
    def randomize(self, codes, source, block=0):
        more = self.prob + (1 - self.prob) / self.k
        return rr.KRR(self.categories, more).randomize(codes, source, block)


class LieIsTheNeighbour(Broken):
    def randomize(self, codes, source, block=0):
        lies = super().randomize(codes, source, block) != codes
        return ((codes + lies) % self.k).astype(codes.dtype)


class SameWordsTwice(mechanisms.Chain):
    def randomize(self, codes, source, block=0):
        return self.second.randomize(self.first.randomize(codes, source, block), source, block)


class BlockIsForgotten(Broken):
    def randomize(self, codes, source, block=0):
        return super().randomize(codes, source, 0)


class EpsilonForOneMore(Broken):
    @property
    def epsilon(self):
        return rr.privacy.epsilon_from_prob(self.prob, self.k - 1)


class EpsilonRoundedDown(Broken):
    @property
    def epsilon(self):
        return float(np.nextafter(super().epsilon, 0))


class Wrong:
    """A channel in which one thing is wrong."""

    def __init__(self, right):
        self.right = right

    def __getattr__(self, name):
        return getattr(self.right, name)


class SwappedTargets(Wrong):
    def covariance(self, shares, target):
        other = {"sample": "population", "population": "sample"}[target]
        return self.right.covariance(shares, other)


class GapOfOneMore(Wrong):
    """Divides by the probability of the truth, and not by how much it exceeds another's."""

    @property
    def gap(self):
        truth, other = self.right.matrix[0, :2]
        return (truth - other) / truth

    def scores(self, reports):
        return self.right.scores(reports) * self.gap

    def solve(self, rates):
        return self.right.solve(rates) * self.gap


class DoubledRatio(Wrong):
    @property
    def max_likelihood_ratio(self):
        return 2 * self.right.max_likelihood_ratio


def planted(wrong):
    class Planted(Broken):
        @cached_property
        def channel(self):
            return wrong(super().channel)

    return Planted(list("abc"), 0.75)


@pytest.mark.parametrize(
    ("check", "fault"),
    [
        (check_law, LieMayBeTrue(list("abc"), 0.75)),
        (check_law, LieIsTheNeighbour(list("abc"), 0.75)),
        (check_law, SameWordsTwice(rr.KRR(["0", "1"], 0.75), rr.KRR(["0", "1"], 0.75))),
        (check_epsilon, EpsilonForOneMore(list("abc"), 0.75)),
        (check_epsilon, EpsilonRoundedDown(list("abc"), 0.75)),
        (check_epsilon, planted(DoubledRatio)),
        (check_unbiased, planted(GapOfOneMore)),
        (check_moments, planted(SwappedTargets)),
        (check_fast_equals_plain, planted(DoubledRatio)),
        (check_fast_equals_plain, planted(GapOfOneMore)),
        (check_most_likely, planted(GapOfOneMore)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_faults_are_caught(check, fault):
    """Each property fails for a mechanism that lacks it."""
    with pytest.raises(AssertionError):
        check(fault)


def test_a_forgotten_block_is_caught(monkeypatch):
    """The blocks property fails for a mechanism that draws the same words for every block."""
    with pytest.raises(AssertionError):
        check_blocks(BlockIsForgotten(list("abc"), 0.75), monkeypatch)
