"""Two rounds: what one report tells, what a lifetime of them tells, and what it costs."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting, EveryStream, Recorded

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, SimulationWarning
from rrstats.mechanisms.krr import two_rounds
from rrstats.mechanisms.matrix_channel import MatrixChannel
from rrstats.mechanisms.unary import Rappor


def log_is_at_most(ratio, limit):
    with localcontext(prec=60):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() <= Decimal(limit)


def matrix_of(prob, k):
    """The exact distribution of k-RR, written out: matrix[report][truth]."""
    prob = Fraction(prob)
    return [[prob if r == t else (1 - prob) / (k - 1) for t in range(k)] for r in range(k)]


def worst_of(distributions):
    """The worst ratio of two truths over all outcomes, from rows of P(outcome | truth)."""
    return max(max(row) / min(row) for row in distributions)


def two_in_a_row(first, second):
    """P(report | truth) by the sum over all kept answers."""
    k = len(first)
    return [
        [sum(second[r][kept] * first[kept][t] for kept in range(k)) for t in range(k)]
        for r in range(k)
    ]


LIFETIMES = [(2, 4.0, 1.0), (3, 2.0, 0.5), (5, 1.0, 0.99), (7, 8.0, 0.01), (4, 0.3, 0.1)]


@pytest.mark.parametrize(("k", "lifetime", "first_report"), LIFETIMES)
def test_the_product_meets_the_request_and_no_larger_double_does(k, lifetime, first_report):
    """One report's exact epsilon, summed over all kept answers, is at most the request, tightly."""
    chain = two_rounds(range(k), epsilon_lifetime=lifetime, epsilon_first_report=first_report)
    first, second = chain.rounds
    distribution = two_in_a_row(matrix_of(first.prob, k), matrix_of(second.prob, k))
    more = matrix_of(math.nextafter(second.prob, 1.0), k)
    assert first.then(second).channel.entries == tuple(map(tuple, distribution))
    assert log_is_at_most(worst_of(distribution), first_report)
    assert not log_is_at_most(worst_of(two_in_a_row(matrix_of(first.prob, k), more)), first_report)
    assert first.then(second).epsilon <= first_report


@pytest.mark.parametrize(
    ("k", "lifetime", "first_report", "prob", "variance"),
    [
        # theory_cases.json, lgrr-p2-k2-4-1, lgrr-p2-k10-4-1, lgrr-p2-k100-2-1: 30-digit arithmetic;
        # prob = (b (a + k - 1) / (b + k - 1) - 1) / (a - 1), a = e^lifetime, b = e^first_report.
        (2, 4, 1, 0.7396804649632878, 0.9206735942077923),
        (10, 4, 1, 0.2565913076674318, 3.6302486929155195),
        (100, 2, 1, 0.28847796105693513, 34.11296855337745),
    ],
)
def test_second_stage_golden(k, lifetime, first_report, prob, variance):
    """The second round has the derived probability, and its product the derived variance."""
    chain = two_rounds(range(k), epsilon_lifetime=lifetime, epsilon_first_report=first_report)
    assert prob == pytest.approx(chain.second.prob, rel=1e-12)
    assert variance == pytest.approx(chain.channel.variance(0.0, "population"), rel=1e-12)


def test_the_published_second_round_costs_ninety_times_the_people():
    """L-GRR at k = 100, lifetime 2, first report 1 has an epsilon of 0.166, not 1.

    multi-freq-ldpy, L_GRR.py: its second probability leaves out third answers;
    theory_cases.json, lgrr-p2-k100-2-1.
    """
    first = rr.KRR(range(100), epsilon=2.0)
    published = first.then(rr.KRR(range(100), 0.039638310509427066))
    ours = two_rounds(range(100), epsilon_lifetime=2.0, epsilon_first_report=1.0)
    assert 0.16560824337260854 == pytest.approx(published.epsilon, rel=1e-9)
    people = published.channel.variance(0.0, "population") / ours.channel.variance(
        0.0, "population"
    )
    assert 3057.3529981151178 / 34.11296855337745 == pytest.approx(people, rel=1e-9)


def test_variance_of_two_rounds_away_from_zero():
    """The variance holds at every share: 0.934 at one half, where multi-freq-ldpy has 0.315.

    theory_cases.json, long-var-krr-twice: k = 10, lifetime 4, second prob 0.6.
    """
    chain = rr.KRR(range(10), epsilon=4.0).then(rr.KRR(range(10), 0.6))
    expected = 0.9340266326487559
    assert expected == pytest.approx(chain.channel.variance(0.5, "population"), rel=1e-12)


def test_a_lifetime_of_reports_tells_no_more_than_the_kept_answer():
    """All sequences of three reports: more than one report tells, never more than the lifetime."""
    k, waves = 3, 3
    chain = two_rounds(list("abc"), epsilon_lifetime=1.5, epsilon_first_report=0.5)
    kept, shown = (matrix_of(part.prob, k) for part in (chain.first, chain.second))
    distributions = [
        [
            sum(
                kept[z][t] * math.prod((shown[r][z] for r in seen), start=Fraction(1))
                for z in range(k)
            )
            for t in range(k)
        ]
        for seen in itertools.product(range(k), repeat=waves)
    ]
    assert all(sum(column) == 1 for column in zip(*distributions, strict=True))
    assert not log_is_at_most(worst_of(distributions), chain.epsilon)
    assert log_is_at_most(worst_of(distributions), chain.first.epsilon)
    assert chain.first.epsilon <= 1.5


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (0.0, "above 0, by as much as a double prob can express"),
        (2.0, "use one KRR"),
        (-1.0, "finite number of at least 0"),
        (5e-324, "above 0, by as much"),
    ],
)
def test_epsilons_out_of_range(request_, words):
    """A first report's epsilon is above 0 and below the lifetime epsilon; the message says so."""
    with pytest.raises(ArgumentValueError, match=words):
        two_rounds(list("abc"), epsilon_lifetime=2.0, epsilon_first_report=request_)


PARAMETERS = [(0.5, 0.5, 0.75), (0.25, 0.125, 0.875), (0.3, 0.4, 0.6), (0.9, 0.01, 0.99)]


def rappor_distributions(m, waves=1):
    """P(reports of all waves | truth), by the sum over all kept reports, in fractions.

    Returns {reports: [for each truth]}, and {kept report: [for each truth]}.
    """
    k, p, q = m.k, Fraction(m.p), Fraction(m.q)
    own = Fraction(m.permanent.prob_own)
    every = list(itertools.product((0, 1), repeat=k))
    one_hot = [tuple(int(v == t) for v in range(k)) for t in range(k)]

    def kept_distribution(bits):
        return [
            math.prod((own if b == x else 1 - own) for b, x in zip(bits, truth, strict=True))
            for truth in one_hot
        ]

    def shown(report, kept):
        chances = [(q if z else p) for z in kept]
        return math.prod((c if b else 1 - c) for b, c in zip(report, chances, strict=True))

    first = {kept: kept_distribution(kept) for kept in every}
    second = {pair: shown(*pair) for pair in itertools.product(every, repeat=2)}
    both = {
        reports: [
            sum(
                first[kept][t] * math.prod(second[report, kept] for report in reports)
                for kept in every
            )
            for t in range(k)
        ]
        for reports in itertools.product(every, repeat=waves)
    }
    return both, first


def test_rappor_golden():
    """The published parameters: per hash, half of the published epsilons of two hashes.

    theory_cases.json, rappor-eps (CCS 2014): f = .5, p = .5, q = .75, h = 2: 4.394 and 1.0743;
    q* = .6875, p* = .5625.  A Bloom filter sets h bits for an answer; here each has one bit.
    """
    m, hashes = Rappor(range(5), f=0.5, p=0.5, q=0.75), 2
    assert (0.6875, 0.5625) == (m.channel.prob_truth, m.channel.prob_other)
    assert 4.394449154672439 == pytest.approx(hashes * m.epsilon_lifetime, rel=1e-12)
    assert 1.074285864166728 == pytest.approx(hashes * m.epsilon, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("f", "p", "q"), PARAMETERS)
def test_rappor_distribution_and_epsilons(k, f, p, q):
    """Both epsilons are the worst ratios of the two rounds written out, rounded up."""
    m = Rappor(range(k), f, p, q)
    both, first = rappor_distributions(m)
    assert all(sum(column) == 1 for column in zip(*both.values(), strict=True))
    own, other = m.channel.prob_truth, m.channel.prob_other
    for (
        bits,
    ), distribution in both.items():  # the bits of a report are independent, given the truth
        for truth in range(k):
            chances = [own if v == truth else other for v in range(k)]
            expected = math.prod(c if b else 1 - c for b, c in zip(bits, chances, strict=True))
            assert expected == distribution[truth]
    for distributions, epsilon in ((both, m.epsilon), (first, m.epsilon_lifetime)):
        worst = worst_of(distributions.values())
        assert log_is_at_most(worst, epsilon)
        assert not log_is_at_most(worst, math.nextafter(epsilon, 0.0))


def test_a_lifetime_of_rappor_tells_no_more_than_the_kept_bits():
    """All pairs of two waves: they tell more than one report, never more than the lifetime."""
    m = Rappor(range(2), 0.5, 0.25, 0.75)
    worst = worst_of(rappor_distributions(m, waves=2)[0].values())
    assert not log_is_at_most(worst, m.epsilon)
    assert log_is_at_most(worst, m.epsilon_lifetime)


@pytest.mark.parametrize("kept", list(itertools.product((0, 1), repeat=2)))
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.75), (0.25, 0.625)])
def test_distribution_of_the_instantaneous_round(kept, p, q):
    """Every stream of tiny words: a kept 1 is reported with q, a kept 0 with p, independently."""
    m = Rappor(["a", "b"], 0.5, p, q)
    recorded = Recorded(Counting(0, 2))
    rr.mechanisms.instantaneous(np.array([kept], dtype=bool), m, rng=recorded)
    source = EveryStream(2, dict.fromkeys(recorded.streams(), 2))
    reports = rr.mechanisms.instantaneous(
        np.tile(np.array(kept, dtype=bool), (source.rows, 1)), m, rng=source
    )
    distribution = source.distribution(reports @ [2, 1], 4)
    chances = [Fraction(q) if bit else Fraction(p) for bit in kept]
    expected = [
        math.prod(c if bit else 1 - c for bit, c in zip(bits, chances, strict=True))
        for bits in itertools.product((0, 1), repeat=2)
    ]
    assert distribution.undecided == 0
    assert expected == distribution.probs


@pytest.mark.parametrize("truth", [0, 1])
def test_distribution_of_both_rounds_at_once(truth):
    """Every stream of tiny words: what `randomize` draws is the distribution of both rounds."""
    m = Rappor(["a", "b"], 0.5, 0.5, 0.75)
    recorded = Recorded(Counting(0, 2))
    m.randomize(np.zeros(50, dtype=np.uint8), recorded, 0)
    source = EveryStream(2, dict.fromkeys(recorded.streams(), 4))
    packed = m.randomize(np.full(source.rows, truth, dtype=np.uint8), source, 0)
    distribution = source.distribution(packed[:, 0], 4)
    both = rappor_distributions(m)[0]
    expected = [both[((code & 1, code >> 1),)][truth] for code in range(4)]
    assert distribution.brackets(expected)
    assert distribution.undecided < Fraction(1, 20)


def test_instantaneous_reports_come_in_the_same_container():
    """Lists, arrays and Series come back as they were; the kept reports are not changed."""
    m = Rappor(range(11), 0.5, 0.25, 0.75)
    bits = np.random.default_rng(3).random((40, 11)) < 0.4
    before = bits.copy()
    expected = rr.mechanisms.instantaneous(bits, m, rng=Counting(5))
    assert (bits == before).all()
    assert not np.shares_memory(bits, expected)
    packed = [row.tobytes() for row in m.pack(bits)]
    again = [row.tobytes() for row in m.pack(expected)]
    assert again == rr.mechanisms.instantaneous(packed, m, rng=Counting(5))
    assert (
        expected.reshape(4, 10, 11)
        == rr.mechanisms.instantaneous(bits.reshape(4, 10, 11), m, rng=Counting(5))
    ).all()
    held = pd.Series(packed, index=range(5, 45), name="wave", dtype=object)
    found = rr.mechanisms.instantaneous(held, m, rng=Counting(5))
    assert ("wave", list(range(5, 45))) == (found.name, list(found.index))
    assert (expected == m.unpack(found)).all()
    pa = pytest.importorskip("pyarrow")
    wave = rr.mechanisms.instantaneous(pa.array(packed, pa.binary(2)), m, rng=Counting(5))
    assert (pa.binary(2), again) == (wave.type, wave.to_pylist())


def test_missing_kept_reports_stay_missing():
    """Who keeps no report has none in any wave."""
    m = Rappor(range(3), 0.5, 0.25, 0.75)
    kept = [bytes([1]), None, bytes([6])]
    assert [False, True, False] == [
        report is None for report in rr.mechanisms.instantaneous(kept, m)
    ]
    series = rr.mechanisms.instantaneous(pd.Series(kept, dtype=object), m)
    assert [False, True, False] == list(series.isna())
    with pytest.raises(ArgumentValueError, match=r"1 of 3 kept reports are not .*, or are missing"):
        rr.mechanisms.instantaneous(
            np.array(kept, dtype=object), m
        )  # booleans have no place for it


def test_both_rounds_from_one_source_share_no_words():
    """One addressed source for both rounds: no word is asked for twice."""
    m = Rappor(range(10), 0.3, 0.2, 0.7)
    first, second = Recorded(Counting(7)), Recorded(Counting(7))
    kept = rr.privatize(np.arange(10), m.permanent, rng=first)
    rr.mechanisms.instantaneous(kept, m, rng=second)
    asked = [{(a.stream, a.block, a.round) for a in source.addresses} for source in (first, second)]
    assert all(asked)
    assert set() == asked[0] & asked[1]


def test_words_do_not_depend_on_what_was_kept(monkeypatch):
    """The same words are asked for whatever was kept, in every block."""
    monkeypatch.setattr("rrstats.mechanisms.instantaneous_round.BLOCK_ROWS", 64)
    m, logs = Rappor(range(10), 0.3, 0.2, 0.7), []
    for bits in (np.zeros((150, 10), bool), np.ones((150, 10), bool)):
        recorded = Recorded(Counting(7))
        rr.mechanisms.instantaneous(bits, m, rng=recorded)
        logs.append(recorded.addresses)
    assert logs[0] == logs[1]
    assert {0, 1, 2} == {asked.block for asked in logs[0]}
    first_draws = [(a.stream, a.block, a.round) for a in logs[0]]
    assert len(first_draws) == len(set(first_draws))


def test_simulated_noise_is_said():
    """A generator of NumPy makes reports that warn not to be released."""
    m = Rappor(range(3), 0.5, 0.25, 0.75)
    with pytest.warns(SimulationWarning, match="not cryptographic"):
        rr.mechanisms.instantaneous(np.zeros((2, 3), bool), m, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0.0, 0.25, 0.75), ArgumentValueError, r"f must be in \(0, 1\), got 0.0"),
        ((0.5, 0.75, 0.25), ArgumentValueError, r"q must be in \(0.75, 1\), got 0.25"),
        ((0.5, 0.0, 0.5), ArgumentValueError, r"p must be in \(0, 1\)"),
        ((0.5, True, 0.75), ArgumentTypeError, "p must be a number"),
    ],
)
def test_rappor_parameters(arguments, error, words):
    """Each parameter out of its range is named, with the rule and what it means."""
    refused(error, words, Rappor, ["a", "b"], *arguments)


@pytest.mark.parametrize(
    ("kept", "error", "words"),
    [
        ([b"\x01", b"\x08", b""], ArgumentValueError, "2 of 3 kept reports are not subsets"),
        (np.array(["a", "b"]), ArgumentTypeError, "reports must be"),
        (np.zeros((2, 4), bool), ArgumentTypeError, "last axis of 3 categories"),
    ],
)
def test_what_was_not_kept(kept, error, words):
    """Values that the permanent round never makes are refused, and counted."""
    refused(error, words, rr.mechanisms.instantaneous, kept, Rappor(range(3), 0.5, 0.25, 0.75))


@pytest.mark.parametrize("zeros", [0, 3, 9])
def test_products_with_rare_and_impossible_reports(zeros):
    """Entries of 1e-300 and of 0 in either matrix leave nothing to the bounds."""
    rng = np.random.default_rng(zeros)
    parts = []
    for _ in range(2):
        raw = rng.random((4, 4)) ** 30 * 10.0 ** -rng.integers(0, 300, (4, 4))
        raw.flat[rng.choice(16, zeros, replace=False)] = 0
        raw[0] += 0.1
        parts.append(rr.MatrixDesign(range(4), raw / raw.sum(axis=0)))
    channel = parts[0].then(parts[1]).channel
    exact = MatrixChannel(channel.entries)
    assert (channel.matrix == exact.matrix).all()
    assert channel.max_likelihood_ratio == exact.max_likelihood_ratio
