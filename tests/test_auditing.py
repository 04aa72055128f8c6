"""The audit catches planted faults, lets right functions pass, and says what it cannot see."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections import Counter
from fractions import Fraction

import faulty
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import rrstats as rr
from rrstats.auditing import AuditResult, audit, columns, games, guesses, places
from rrstats.auditing.guesses import (
    Dice,
    Event,
    Look,
    Told,
    excess_seen,
    least_guesses,
    lower_epsilon,
    play,
)
from rrstats.auditing.runs import Coder, Inputs, Subject, container_of, opened
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError

SURE = 1 - 1e-6
EVENTS = len([*games.SHORT_EVENTS, *columns.LONG_EVENTS, *columns.WORKER_EVENTS])
CATEGORIES = list(faulty.CATEGORIES)
LINUX = sys.platform.startswith("linux")

# -- the law: exact -----------------------------------------------------------------------------


def krr_law(prob):
    """P(reports | truths) of two rows of binary randomized response, independent of each other."""
    return {
        truths: {
            reports: math.prod(
                prob if y == x else 1 - prob for x, y in zip(truths, reports, strict=True)
            )
            for reports in itertools.product((0, 1), repeat=2)
        }
        for truths in itertools.product((0, 1), repeat=2)
    }


def dependent_law():
    """Two rows whose reports depend on each other, with odds of at most 3 for each record."""
    noisy, rows = krr_law(Fraction(3, 5)), {}
    for truths, law in noisy.items():
        both = {(0, 0): Fraction(0), (0, 1): Fraction(0), (1, 0): Fraction(0), (1, 1): Fraction(0)}
        for reports, prob in law.items():
            # One shared coin: both rows say what the first did, half the time.
            both[reports] += prob / 2
            both[(reports[0], reports[0])] += prob / 2
        rows[truths] = both
    return rows


def odds_of(law):
    """The worst ratio over truths that differ in one record."""
    near = [(a, b) for a in law for b in law if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    return max(law[a][reports] / law[b][reports] for a, b in near for reports in law[a])


@pytest.mark.parametrize("law", [krr_law(Fraction(3, 4)), dependent_law()])
def test_no_way_of_guessing_beats_the_binomial_bound(law):
    """Whatever is guessed from the reports, and however rows depend, right ones are dominated."""
    share = odds_of(law) / (1 + odds_of(law))
    for reports in next(iter(law.values())):
        posterior = {truths: law[truths][reports] for truths in law}
        whole = sum(posterior.values())
        for rule in itertools.product((None, 0, 1), repeat=2):
            told = [at for at, guess in enumerate(rule) if guess is not None]
            right = Counter()
            for truths, prob in posterior.items():
                right[sum(truths[at] == rule[at] for at in told)] += prob / whole
            for least in range(len(told) + 1):
                tail = sum(
                    math.comb(len(told), hits) * share**hits * (1 - share) ** (len(told) - hits)
                    for hits in range(least, len(told) + 1)
                )
                assert sum(right[hits] for hits in right if hits >= least) <= tail


@pytest.mark.parametrize(("right", "trials"), [(8, 10), (73, 100), (10, 10), (1, 1), (9990, 9999)])
def test_the_bound_inverts_the_exact_binomial_tail(right, trials):
    """At the bound, so many right guesses have exactly the error's probability."""
    low = lower_epsilon(right, trials, 0.01)
    tail = float(stats.binom.sf(right - 1, trials, 1 / (1 + math.exp(-low))))
    assert (low, tail) == (0.0, tail) if tail > 0.011 else tail == pytest.approx(0.01, rel=1e-9)


def test_the_bound_of_all_right_is_known():
    """N right guesses of N: the share is error ** (1 / N), and nothing right says nothing."""
    share = 0.01 ** (1 / 50)
    assert math.log(share / (1 - share)) == pytest.approx(lower_epsilon(50, 50, 0.01), rel=1e-12)
    assert lower_epsilon(0, 50, 0.01) == 0.0
    assert lower_epsilon(0, 0, 0.01) == 0.0


@pytest.mark.parametrize(("epsilon", "trials"), [(0.0, 400), (1.0, 3000), (3.0, 100_000)])
def test_the_smallest_fault_is_seen_about_half_the_time(epsilon, trials):
    """A fault of the stated excess refutes the claim with probability near 1/2."""
    share = 1 / (1 + math.exp(-epsilon - excess_seen(epsilon, trials, 1e-4)))
    needed = stats.binom.isf(1e-4, trials, 1 / (1 + math.exp(-epsilon))) + 1
    assert float(stats.binom.sf(needed - 1, trials, share)) == pytest.approx(0.5, abs=0.06)


def test_too_few_trials_are_said_to_be_blind():
    """Where even all guesses right would not refute, the excess is infinite."""
    least = int(least_guesses(1.0, 1e-6))
    assert lower_epsilon(least - 1, least - 1, 1e-6) <= 1.0 < lower_epsilon(least, least, 1e-6)
    assert excess_seen(1.0, least - 1, 1e-6) == math.inf
    assert excess_seen(1.0, 0, 1e-6) == math.inf
    assert least_guesses(math.inf, 1e-6) == math.inf


def nothing_to_see(dice, trials, cells):
    """An event whose cells say nothing of the coins."""
    views = tuple(dice.integers(trials, count) for count in cells)
    record = np.zeros(trials, dtype=np.intp)
    return Event("", "", np.array([[0, 1]]), record, dice.coins(trials), views, str)


def alarms(times, error):
    """How often events without news gave a bound above 0."""
    dice = Dice()
    return sum(
        play(nothing_to_see(dice, 300, (3, 100)), dice, error).epsilon_low > 0 for _ in range(times)
    )


def test_choosing_what_to_look_at_does_not_flatter():
    """Pure noise alarms at most at its error rate; wrongly fails once in 1e9."""
    times, error = 400, 0.05
    assert alarms(times, error) <= stats.binom.isf(1e-9, times, error)


def told(dice, trials, most):
    """Guesses that say nothing of the coins, in one look with many cells and one with few."""
    looks = [Look(dice.integers(trials, 20), str), Look(dice.integers(trials, 3) - 1, str)]
    return Told(
        "",
        "",
        np.array([[0, 1]]),
        np.zeros(trials, dtype=np.intp),
        dice.coins(trials),
        (),
        str,
        guess=dice.integers(trials, 3) - 1,
        looks=lambda: iter(looks),
        least=10,
        most=most,
    )


def test_looking_at_many_places_does_not_flatter():
    """The best of all cells alarms at most at the error rate, and would not without its share."""
    dice, times, error = Dice(), 400, 0.05
    best = [told(dice, 400, most=2).bound(dice, error).epsilon_low > 0 for _ in range(times)]
    assert sum(best) <= stats.binom.isf(1e-9, times, error)
    best = [told(dice, 400, most=0.05).bound(dice, error).epsilon_low > 0 for _ in range(times)]
    assert sum(best) > stats.binom.isf(1e-9, times, error)


def test_judging_by_the_trials_that_chose_would_flatter(monkeypatch):
    """The test above would see events judged by the trials that chose them."""
    choose = guesses._chosen
    monkeypatch.setattr(guesses, "_chosen", lambda c, coins, on, *o: choose(c, coins, ~on, *o))
    assert alarms(100, 0.05) > stats.binom.isf(1e-9, 100, 0.05)


# -- planted faults -----------------------------------------------------------------------------


def missed(judging, rate, share, claimed, error):
    """How often a fault stays unseen that says something in a share ``rate`` of judging trials.

    Of what it says a share ``share`` is right.  Exact, up to guesses beyond ten deviations.
    """
    middle, width = judging * rate, 10 * math.sqrt(judging * rate) + 10
    said = np.arange(max(0, int(middle - width)), min(judging, int(middle + width)) + 1)
    chance_of = stats.binom.pmf(said, judging, rate)
    needed = stats.binom.isf(error, said, 1 / (1 + math.exp(-claimed))) + 1
    return float((chance_of * stats.binom.cdf(needed - 1, said, share)).sum())


def laws_of_short_calls(law, inputs):
    """(mass, right) of all that may come back from a short call, the most telling first.

    law : from three true codes to the probabilities of what comes back.
    """
    pairs, settings = games.Pairs.of(inputs, few=True), games._settings(inputs.k)
    cells = []
    for (place, others), pair in itertools.product(
        settings, zip(pairs.first, pairs.second, strict=True)
    ):
        sides = [law((*others[:place], int(code), *others[place:])) for code in pair]
        weight = 1 / (len(settings) * len(pairs.first)) / 2
        for seen in {*sides[0], *sides[1]}:
            both = [weight * side.get(seen, 0.0) for side in sides]
            cells.append((sum(both), max(both)))
    return sorted(cells, key=lambda cell: -cell[1] / cell[0])


def best_telling(law, judging, error):
    """The rate and share of the guesses that give the highest bound."""
    inputs = Inputs.of(Categories(CATEGORIES), unknown=False, missing=False)
    mass, right = np.cumsum(laws_of_short_calls(law, inputs), axis=0).T
    bounds = [
        lower_epsilon(int(judging * r), math.ceil(judging * m), error)
        for m, r in zip(mass, right, strict=True)
    ]
    at = int(np.argmax(bounds))
    return float(mass[at]), float(right[at] / mass[at])


def reports_law(truths, epsilon):
    """All reports of three rows with their probabilities."""
    prob = faulty.prob_of(epsilon, 3)
    return {
        reports: math.prod(
            prob if y == x else (1 - prob) / 2 for x, y in zip(truths, reports, strict=True)
        )
        for reports in itertools.product(range(3), repeat=3)
    }


def sorted_law(truths):
    """Codes sorted as their words are, then reported."""
    return reports_law(sorted(truths, key=CATEGORIES.__getitem__), 2.0)


def lies_last_law(truths):
    """Reports, the true ones first."""
    law = Counter()
    for reports, prob in reports_law(truths, 1.0).items():
        lies = [y != x for x, y in zip(truths, reports, strict=True)]
        law[tuple(y for _, y in sorted(zip(lies, reports, strict=True), key=lambda b: b[0]))] += (
            prob
        )
    return law


def index_law(truths):
    """The index alone, which is certain."""
    return {tuple(sorted(range(3), key=lambda at: CATEGORIES[truths[at]])): 1.0}


PLAIN = {"unknown": False, "missing": False}
P, Q = faulty.PROB, (1 - faulty.PROB) / 2
WRONG = faulty.prob_of(1.0, 2)
TRIALS, FEW, CALLS = 20_000, 2000, 1500
LONG, BESIDE, SHORT = TRIALS * 3 // 4, FEW // 2 * 3 // 4, CALLS // 2

# Of the pairs of answers half are of categories, in long calls 3 in 4; of the others 3 in 5 have an
# unknown value, and as many a missing one.  Name: options, calls, what gives it away, its rate
# and share.
FAULTS = {
    # A report that names either answer, on a pair of categories.
    "k_minus_2": ({}, LONG, "report", 3 / 4 * (1 + WRONG) / 2, 2 * WRONG / (1 + WRONG)),
    "asymmetric": (PLAIN, LONG, "report", 0.8 / 3 + 0.1 / 3 + Q / 3, 0.8 / (0.8 + Q)),
    # Half the records that may hold it do.
    "unknown_raw": ({}, LONG, "report", 1 / 4 * 3 / 5 / 2, 1),
    "missing_left": ({}, LONG, "report", 1 / 4 * 3 / 5 / 2, 1),
    "one_coin": (PLAIN, LONG, "report", 1 / 2, 1),
    "block_coin": (PLAIN, BESIDE, "report, beside", P / 2, 1),
    "inherited": (PLAIN, BESIDE, "report, beside", P / 2, 1),
    "same_seed": (PLAIN, BESIDE, ("report", "all reports"), P / 2, 1),
    "dtype_of_missing": ({}, SHORT, "type and dtype", 0.5 * 3 / 5 / 2, 1),
    "quoting_error": ({}, SHORT, "exception", 0.5 * 3 / 5 / 2, 1),
    "drops_unknown": ({}, SHORT, "length", 0.5 * 3 / 5 / 2, 1),
    "warns": ({}, SHORT, "warnings", 0.5 * 3 / 5 / 2, 1),
    "logs": (PLAIN, SHORT, "log records", 2 / 3 / 2, 1),
}
BY_PLACE = {
    "sorted_index": ({"form": "series"}, 1000, "index", index_law),
    "sorted_truth": ({"epsilon": 2.0, "confidence": 0.99}, 14_000, "all reports", sorted_law),
    "lies_last": ({}, 8000, "all reports", lies_last_law),
}
EVERY_TIME = {"dtype_of_missing", "quoting_error", "drops_unknown", "warns", "logs"}
OF_WORKERS = {"block_coin", "inherited", "same_seed"}


def audited(name, **options):
    settings = {"epsilon": 1.0, "trials": FEW, "calls": CALLS, "confidence": SURE, **options}
    workers = 2 if name in OF_WORKERS else 0
    return audit(getattr(faulty, name), CATEGORIES, workers=workers, **settings)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name):
    """Each fault refutes the claim, by what gives it away; with the best guesses 1e-6 escape."""
    options, judging, event, rate, share = FAULTS[name]
    assert missed(judging, rate, share, 1.0, 1e-6 / EVENTS) < 1e-6
    found = audited(name, trials=TRIALS if judging == LONG else FEW, **options)
    assert not found.passed
    assert found.epsilon_low > 1.0
    assert found.worst.startswith(event)
    assert math.isinf(found.epsilon_low) == (name in EVERY_TIME)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_PLACE)
def test_a_fault_in_the_order_is_caught(name):
    """Places and order that follow the truth are caught; with the best guesses 1e-6 escape."""
    options, calls, event, law = BY_PLACE[name]
    options = {**PLAIN, "calls": calls, "trials": 1000, **options}
    error = (1 - options.get("confidence", SURE)) / EVENTS
    rate, share = best_telling(law, calls // 2, error)
    assert missed(calls // 2, rate, share, options.get("epsilon", 1.0), error) < 1e-6
    found = audited(name, **options)
    assert not found.passed
    assert found.worst.startswith(event)


@pytest.mark.skipif(not LINUX, reason="only Linux forks by default")
def test_only_workers_show_an_inherited_generator():
    """Within one process its noise is right; the audit without workers has nothing to say."""
    quiet = {"trials": FEW, "calls": 200, "confidence": SURE, "workers": 0}
    assert audit(faulty.inherited, CATEGORIES, 1.0, **quiet).passed


def test_a_wrong_formula_of_ten_categories_is_caught():
    """k - 2 for k - 1 adds 0.118 at k = 10: one fault in 1e6 would escape these trials."""
    k, trials = 10, 240_000
    m = rr.KRR(range(k), faulty.prob_of(1.0, k - 1))
    prob, error = m.prob, 1e-6 / EVENTS
    rate, share = prob + (1 - prob) / (k - 1), prob / (prob + (1 - prob) / (k - 1))
    assert missed(trials * 3 // 4, rate, share, 1.0, error) < 1e-6
    options = {"trials": trials, "calls": 100, "confidence": SURE, "workers": 0, **PLAIN}
    found = audit(lambda answers: rr.privatize(answers, m), range(k), 1.0, form="array", **options)
    assert not found.passed
    assert 1.0 < found.epsilon_low <= m.epsilon


# Name: what gives it away, the rows it has at least, the cells of the look, and the share that is
# right.  Of the rows 3 in 4 are of categories.  Tails: six columns have more than 256 rows, and
# six uniform numbers below 256 add up to fewer than 75 once in 1e6.  One in 2e5 escapes at most.
BY_ROW = {
    "short_path": ("in columns of", 4096, 17, 1),
    "nearly_short_path": ("in columns of", 160, 17, 0.99 + 0.005),
    "block_tail": ("behind the last full block of 256", 75, 1, 1),
    "block_heads": ("in the first row of each block of 1,000", 77, 1, 1),
    "from_some_row_on": ("by place", 1024, 100, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ROW)
def test_a_fault_of_some_lengths_or_rows_is_caught(name):
    """Bare short columns, block tails and heads, and all from some row on, at the usual size."""
    where, rows, cells, share = BY_ROW[name]
    error = 0.01 / EVENTS / places.LOOKS / (2 * cells)
    assert missed(rows, 3 / 4, share, 1.0, error) < 5e-6
    found = audit(getattr(faulty, name), CATEGORIES, 1.0, calls=100, workers=0)
    assert not found.passed
    assert where in found.worst
    beside = found.tried[found.tried["event"] != columns.PLACED]
    assert name != "block_heads" or beside["epsilon_low"].max() <= 1.0


@pytest.mark.parametrize("name", ["first_row", "last_row"])
def test_a_bare_row_at_one_end_is_caught_in_small_audits(name):
    """Of 1,000 judged short calls a tenth at least has it in the changed record; all tell it."""
    assert missed(1000, 0.1, 1, 1.0, 0.01 / EVENTS) < 1e-6
    found = audit(getattr(faulty, name), CATEGORIES, 1.0, trials=20_000, workers=0)
    assert not found.passed
    assert games.OWN in found.worst


@pytest.mark.parametrize(("rows", "least"), [(1000, 48), (20_000, 48), (400_000, 5000)])
def test_columns_have_lengths_of_every_size(rows, least):
    """The lengths sum to the rows; up to the longest of a third each step has two or more."""
    lengths = places.spread(Dice(), rows, least)
    assert rows == lengths.sum()
    assert places.CALL_ROWS >= lengths.max()
    assert rows * 2 // 3 <= lengths[lengths > rows // 5].sum()
    steps = Counter(math.floor(math.log(n, 4) + 1e-9) for n in lengths.tolist())
    assert {*range(max(steps) - 1)} <= {*steps}
    assert all(steps[at] >= 2 for at in range(3))


def test_looks_show_where_rows_stood():
    """Every cell of every look, in a column of 300 rows behind one of 5, from its own words."""
    lengths, beyond = np.array([5, 300]), np.arange(305) % 2 == 1
    rows = [(row, n) for n in lengths.tolist() for row in range(n)]
    found = {}
    for look in places.looks_at(lengths, beyond):
        for cell in set(look.cells[look.cells >= 0].tolist()):
            found[look.say(cell), cell % 2] = np.flatnonzero(look.cells == cell).tolist()
    expected = {
        "in columns of 4 to 7 rows": lambda row, n: n == 5,
        "in columns of 256 to 511 rows": lambda row, n: n == 300,
        "in rows 64 to 127": lambda row, n: 63 <= row < 127,
        "in rows 2 to 3 from the end": lambda row, n: n - row in (2, 3),
        "in 1,024 rows from 1 on": lambda row, n: True,
        "in row 44 of each 64": lambda row, n: row % 64 == 43,
        "in row 100 of each 100": lambda row, n: row % 100 == 99,
        "in the rows behind the last full block of 4": lambda row, n: n == 5 and row == 4,
        "in the rows behind the last full block of 16": lambda row, n: n == 300 and row >= 288,
        "in the rows behind the last full block of 256": lambda row, n: n == 300 and row >= 256,
        "in the first row of each block of 128 but the first": lambda row, n: row in (128, 256),
        "in the last row of each block of 256": lambda row, n: row == 255,
    }
    for text, where in expected.items():
        here = [at for at, place in enumerate(rows) if where(*place)]
        assert here == sorted(found.get((text, 0), []) + found.get((text, 1), []))
        assert all(at % 2 == kind for kind in (0, 1) for at in found.get((text, kind), []))


# -- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "trials"), [(2, 2000), (10, 6000)])
def test_what_a_pass_is_blind_to_is_no_matter_of_chance(k, trials):
    """The number is that of all reports which name one of two answers, up to their own spread.

    Seven deviations of a binomial count: two audits differ by more than twice that once in 1e10.
    """
    m = rr.KRR(range(k), epsilon=1.0)
    options = {"trials": trials, "calls": 100, "workers": 0, "form": "array", "missing": False}
    found = audit(silently(m), m, **options)
    share = 3 / 4 * (m.prob + (1 - m.prob) / (k - 1))
    error = 0.01 / (EVENTS - len(columns.WORKER_EVENTS))
    spread = 7 * math.sqrt(share * (1 - share) / trials)
    most, least = (excess_seen(1.0, int(trials * (share + d)), error) for d in (-spread, spread))
    assert least <= found.blind_below <= most
    assert most < 1.4 * least


# -- right functions ----------------------------------------------------------------------------

# Each audit of a right function refutes it wrongly at most once in 1e8: 16 of them, 2e-7.
RARELY = {"confidence": 1 - 1e-8, "trials": 4000, "calls": 100}


def silently(mechanism):
    return lambda answers: rr.privatize(answers, mechanism, unknown="uniform")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["list", "array", "series", "frame"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_ours_pass(k, form):
    """k-RR through the public functions passes, and the bound comes near what is claimed.

    A right report of two answers names one of them; fewer than 1e-6 of the audits stay so low.
    """
    m = rr.KRR([f"answer {c}" for c in range(k)], epsilon=1.0)
    fn = silently(m)
    if form == "frame":
        fn = lambda df: df.rr.privatize("answer", m, unknown="uniform")  # noqa: E731 # beside its twin
    found = audit(fn, m, form=form, workers=2 if form == "list" else 0, **RARELY)
    assert found.passed
    assert found.claimed == m.epsilon
    assert 0.0 < found.epsilon_low <= m.epsilon
    assert found.notes == ()


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.OptimizedUnary(["a", "b", "c"], epsilon=1.0),
        rr.surveys.two_coin([True, False]),
        rr.KRR(["a", "b", None], epsilon=1.0),
        rr.MatrixDesign(
            ["a", "b"], [[0.25, 0.5], [0.5, 0.25], [0.25, 0.25]], reports=["x", "y", "z"]
        ),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_other_mechanisms_pass(mechanism):
    """Reports that are subsets, other words, or a missing value are events like all others."""
    found = audit(silently(mechanism), mechanism, workers=0, **RARELY)
    assert found.passed
    assert 0.0 < found.epsilon_low <= mechanism.epsilon


def test_one_value_at_a_time_of_another_library_passes():
    """OpenDP's randomized response, one answer a call, under the epsilon that OpenDP claims."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    measure = dp.m.make_randomized_response(categories=CATEGORIES, prob=0.5)
    few = {"confidence": 1 - 1e-8, "trials": 1000, "calls": 100, "workers": 0, "missing": False}
    found = audit(measure, CATEGORIES, measure.map(1), one_by_one=True, **few)
    assert found.passed
    assert found.claimed == pytest.approx(math.log(2))


def test_a_declared_warning_is_seen_and_can_be_left_out():
    """rr.privatize warns of unknown answers by default, which an audit must not overlook."""
    m = rr.KRR(CATEGORIES, epsilon=1.0)
    options = {"trials": 1000, "calls": 600, "confidence": SURE, "workers": 0}
    found = audit(lambda answers: rr.privatize(answers, m), m, **options)
    assert not found.passed
    assert found.worst.startswith("warnings")
    assert audit(lambda answers: rr.privatize(answers, m), m, **options, **PLAIN).passed


# -- what comes back ----------------------------------------------------------------------------

SMALL = {"trials": 1000, "calls": 100, "workers": 0}


def test_the_result_says_what_was_tried_and_what_a_pass_does_not_prove():
    """A row for each event; a frozen result; its text names bound, claim and limits.

    The function has a tenth of the epsilon that it claims: at .99 its own could be refuted.
    """
    private = rr.KRR(CATEGORIES, epsilon=0.1)
    found = audit(lambda answers: rr.privatize(answers, private), CATEGORIES, 1.0, **SMALL)
    assert isinstance(found, AuditResult)
    heads = ["calls", "event", "record", "trials", "guesses", "right", "epsilon_low"]
    assert heads == list(found.tried.columns)
    assert [*games.SHORT_EVENTS, *columns.LONG_EVENTS] == found.tried["event"].tolist()
    assert found.epsilon_low == found.tried["epsilon_low"].max()
    text = repr(found)
    for part in (
        "nothing refutes epsilon 1",
        "no proof, it misses a fault of all reports",
        "most telling",
        f"not looked at: columns above {found.lengths[-1]} rows",
        "time, files",
    ):
        assert part in text
    assert found.blind_below > 0
    assert {1, 3} <= {*found.lengths}
    assert 40 < found.rows_below < 60
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.passed = False


def test_a_refuted_claim_is_told_in_words():
    """The text names the record, both answers, and that epsilon is infinite."""
    found = audit(faulty.quoting_error, CATEGORIES, 1.0, **{**SMALL, "calls": 1500})
    text = repr(found)
    assert text.startswith("AuditResult: epsilon 1 is refuted; with confidence 0.99 it is infinite")
    assert "the record held" in text
    assert "long calls leave out an unknown value ('no category')" in text


def test_few_trials_are_owned_up_to():
    """Where no fault could be seen, the text says so."""
    text = repr(audit(faulty.right, CATEGORIES, 6.0, **{**SMALL, "confidence": SURE}))
    assert "a fault of all reports of any size: so few trials cannot refute epsilon 6" in text
    assert "beside the reports at all: so few calls cannot refute epsilon 6" in text


def test_a_function_that_always_raises_cannot_be_audited():
    """The error says what fn raised and what to look at."""
    with pytest.raises(
        ArgumentValueError, match=r"fn cannot be run.*KeyError.*form and one_by_one"
    ):
        audit(lambda answers: {}["nothing"], CATEGORIES, 1.0, **SMALL)


def test_a_function_that_raises_in_long_calls_alone_is_reported():
    """What cannot be tried is a note, not an end, and shorter columns are judged."""

    def impatient(answers):
        if len(answers) > 100:
            raise MemoryError("too many")
        return faulty.right(answers)

    found = audit(impatient, CATEGORIES, 1.0, **SMALL)
    assert any("MemoryError" in note for note in found.notes)
    tried = found.tried.set_index("event")
    assert 0 < tried["trials"]["report"] < SMALL["trials"]
    assert columns.LONG_EVENTS[-1] not in tried.index


def test_a_function_that_gives_nothing_for_some_inputs_is_refuted():
    """None instead of reports, where a value is missing, is a finding like an exception."""
    fn = lambda answers: None if None in answers else faulty.right(answers)  # noqa: E731 # one line
    found = audit(fn, CATEGORIES, 1.0, **{**SMALL, "calls": 600})
    assert not found.passed
    assert "found NoneType" in found.worst or "nothing" in found.worst


def test_one_output_for_all_is_private():
    """What says nothing of the answers has epsilon 0, not refuted at 0; false alarm 1e-6."""
    surely = {**SMALL, "confidence": SURE}
    found = audit(lambda answers: ["never"] * len(answers), CATEGORIES, 0.0, **surely)
    assert found.passed


def test_no_privacy_at_all_is_seen():
    """Answers given back: every event of reports is certain."""
    assert (
        audit(lambda answers: answers, CATEGORIES, 5.0, **{**SMALL, "trials": 4000}).passed is False
    )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"epsilon": None}, ArgumentTypeError, "epsilon must be given"),
        ({"epsilon": -1.0}, ArgumentValueError, "epsilon"),
        ({"trials": 10}, ArgumentValueError, "trials must be at least 1000, got 10"),
        ({"trials": 1e5}, ArgumentTypeError, "trials must be an integer, found float"),
        ({"calls": 1}, ArgumentValueError, "calls must be at least 100, got 1"),
        ({"confidence": 99}, ArgumentValueError, "level must be in"),
        ({"workers": 3}, ArgumentValueError, "workers must be 0 or 2, got 3"),
        ({"form": "tuple"}, ArgumentValueError, "form must be one of"),
        ({"fn": "privatize"}, ArgumentTypeError, "fn must be a function, found str"),
        ({"categories": ["a", "a"]}, ValueError, "categories"),
        ({"fn": lambda answers: {"a": 1}}, ArgumentTypeError, "found dict.*one_by_one=True"),
        ({"fn": len}, ArgumentTypeError, "found int"),
    ],
)
def test_bad_arguments_are_refused(options, error, match):
    """Each message names the argument and the rule."""
    given = {"fn": faulty.right, "categories": CATEGORIES, "epsilon": 1.0, **options}
    with pytest.raises(error, match=match):
        audit(**given)


def test_what_fn_prints_is_left_alone(capfd):
    """Output passes through, and nothing is printed beside it."""

    def talking(answers):
        print("here")
        return faulty.right(answers)

    audit(talking, CATEGORIES, 1.0, **SMALL)
    out, err = capfd.readouterr()
    assert {"here"} == set(out.split())
    assert err == ""


def test_the_global_generators_are_left_alone():
    """The audit's own coins come from elsewhere, and nobody can seed them."""
    np.random.seed(1)
    state = np.random.get_state()[1].tolist()
    audit(faulty.right, CATEGORIES, 1.0, **SMALL)
    assert state == np.random.get_state()[1].tolist()


@pytest.mark.parametrize("form", ["list", "array", "series", "frame"])
@pytest.mark.parametrize(
    "categories",
    [[True, False], [1, 2, 3], [0.5, 1.5], ["a", "b"], [b"a", b"b"], [2**60, 1], [("a",), ("b",)]],
    ids=str,
)
def test_inputs_have_one_type_whatever_they_hold(form, categories):
    """Unknown and missing values change no dtype, and all values come out as they went in."""
    inputs = Inputs.of(Categories(categories), unknown=True, missing=True)
    make = container_of(form, inputs)
    columns = [make([value, inputs.values[0]]) for value in inputs.values]
    types = {str(getattr(c["answer"] if form == "frame" else c, "dtype", "")) for c in columns}
    assert len(types) == 1
    coder = Coder()
    for value, column in zip(inputs.values, columns, strict=True):
        assert [coder.code(value), coder.code(inputs.values[0])] == [
            coder.code(report) for report in opened(column)
        ]


def test_reports_that_python_confuses_are_told_apart():
    """True is not 1, all missing values are one, and rows of booleans are packed subsets."""
    coder = Coder()
    codes = coder.codes([True, 1, 1.0, "1", None, float("nan"), pd.NA, np.True_, [1], [1]])
    assert [0, 1, 1, 2, 3, 3, 3, 0, 4, 4] == codes.tolist()
    inputs = Inputs.of(Categories(["a", "b", "c"]), unknown=False, missing=False)
    subsets = Coder()
    subsets.codes([np.array([True, False, True]), b"\x02", "c"])
    shown = [[True, False, True], [False, True, False], [False, False, True]]
    assert shown == subsets.shows(inputs).tolist()


def test_a_run_shows_all_that_can_be_seen():
    """Type, dtype, name, index, attrs, warnings, log records and exceptions, each in words."""
    subject = Subject(lambda s: s.rename("x")[::-1], container_of("series", _inputs()), False)
    facts = subject.run(["never", "once"]).facts
    assert "named 'x'" in facts["type and dtype"]
    assert "[1, 0]" in facts["index"]
    assert "2 reports" == facts["length"]
    raised = Subject(lambda s: 1 / 0, list, False).run(["never"])
    assert (None, "ZeroDivisionError: division by zero") == (raised.reports, raised.raised)


def _inputs():
    return Inputs.of(Categories(CATEGORIES), unknown=True, missing=True)
