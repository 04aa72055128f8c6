"""The audit catches planted faults, lets right functions pass, and says what it cannot see."""

import dataclasses
import itertools
import math
from collections import Counter
from fractions import Fraction

import faulty
import numpy as np
import pandas as pd
import pytest
from by_hand import missed
from scipy import stats

import rrstats as rr
from rrstats import auditing
from rrstats.auditing import AuditResult, audit, excess_seen, lower_epsilon
from rrstats.errors import ArgumentTypeError, ArgumentValueError

SURE = 1 - 1e-6
EVENTS = len(auditing.EVENTS) + 2
CATEGORIES = list(faulty.CATEGORIES)

# -- the distribution: exact -------------------------------------------------------------------


def krr_distribution(prob):
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


def dependent_distribution():
    """Two rows whose reports depend on each other, with odds of at most 3 for each record."""
    noisy, rows = krr_distribution(Fraction(3, 5)), {}
    for truths, distribution in noisy.items():
        both = {(0, 0): Fraction(0), (0, 1): Fraction(0), (1, 0): Fraction(0), (1, 1): Fraction(0)}
        for reports, prob in distribution.items():
            # One shared coin: both rows say what the first did, half the time.
            both[reports] += prob / 2
            both[(reports[0], reports[0])] += prob / 2
        rows[truths] = both
    return rows


def odds_of(distribution):
    """The worst ratio over truths that differ in one record."""
    near = [
        (a, b)
        for a in distribution
        for b in distribution
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]
    return max(
        distribution[a][reports] / distribution[b][reports]
        for a, b in near
        for reports in distribution[a]
    )


@pytest.mark.parametrize(
    "distribution", [krr_distribution(Fraction(3, 4)), dependent_distribution()]
)
def test_no_way_of_guessing_beats_the_binomial_bound(distribution):
    """Whatever is guessed from the reports, and however rows depend, right ones are dominated."""
    share = odds_of(distribution) / (1 + odds_of(distribution))
    for reports in next(iter(distribution.values())):
        posterior = {truths: distribution[truths][reports] for truths in distribution}
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
    assert lower_epsilon(0, trials, 0.01) == lower_epsilon(0, 0, 0.01) == 0.0


@pytest.mark.parametrize(("epsilon", "trials"), [(0.0, 400), (1.0, 3000), (3.0, 100_000)])
def test_the_smallest_fault_is_seen_about_half_the_time(epsilon, trials):
    """A fault of the stated excess refutes the claim with probability near 1/2."""
    share = 1 / (1 + math.exp(-epsilon - excess_seen(epsilon, trials, 1e-4)))
    needed = stats.binom.isf(1e-4, trials, 1 / (1 + math.exp(-epsilon))) + 1
    assert float(stats.binom.sf(needed - 1, trials, share)) == pytest.approx(0.5, abs=0.06)


def test_too_few_trials_are_said_to_be_blind():
    """Where even all guesses right would not refute, the excess is infinite."""
    least = math.ceil(math.log(1e-6) / -math.log1p(math.exp(-1)))
    assert lower_epsilon(least - 1, least - 1, 1e-6) <= 1.0 < lower_epsilon(least, least, 1e-6)
    assert excess_seen(1.0, least - 1, 1e-6) == excess_seen(1.0, 0, 1e-6) == math.inf
    assert excess_seen(1.0, least, 1e-6) < math.inf


def alarms(times, error):
    """How often cells that say nothing of the coins gave a bound above 0."""
    lows = []
    for _ in range(times):
        coins = auditing._random(300, 2)
        views = [(auditing._random(300, count), coins) for count in (3, 100)]
        bound = auditing._judge("", views, str, claimed=0.0, error=error, choosers=3)
        lows.append(bound.epsilon_low)
    return sum(low > 0 for low in lows)


def test_choosing_what_to_look_at_does_not_flatter():
    """Pure noise alarms at most at its error rate; wrongly fails once in 1e9."""
    times, error = 400, 0.05
    assert alarms(times, error) <= stats.binom.isf(1e-9, times, error)


def test_judging_by_the_trials_that_chose_would_flatter(monkeypatch):
    """The test above would see events judged by the trials that chose them."""
    choose = auditing._guesses
    monkeypatch.setattr(auditing, "_guesses", lambda c, coins, on, *a: choose(c, coins, ~on, *a))
    assert alarms(100, 0.05) > stats.binom.isf(1e-9, 100, 0.05)


# -- planted faults -----------------------------------------------------------------------------


EVERY = {"unknown": True, "missing": True}
PLAIN = {"unknown": False, "missing": False}
P, Q = faulty.PROB, (1 - faulty.PROB) / 2
WRONG = faulty.prob_of(1.0, 2)
TRIALS, FEW, CALLS = 21_000, 2000, 1500
LONG, SHORT = TRIALS * 2 // 3, CALLS // 2

# Of the pairs of answers half are of categories, in long calls 3 in 4; of the others 3 in 5 have an
# unknown value, and as many a missing one.  Name: options, judging trials, what gives it away, its
# rate and share.
FAULTS = {
    # A report that names either answer, on a pair of categories.
    "k_minus_2": ({}, LONG, "report", 3 / 4 * (1 + WRONG) / 2, 2 * WRONG / (1 + WRONG)),
    "asymmetric": (PLAIN, LONG, "report", 0.8 / 3 + 0.1 / 3 + Q / 3, 0.8 / (0.8 + Q)),
    # Half the records that may hold it do.
    "unknown_raw": ({}, LONG, "report", 1 / 4 * 3 / 5 / 2, 1),
    "missing_left": ({}, LONG, "report", 1 / 4 * 3 / 5 / 2, 1),
    # The two known rows tell whether the third lies.
    "one_coin": (PLAIN, SHORT, "all reports", P / 2, 1),
    "same_seed": (PLAIN, SHORT, "all reports", P / 2, 1),
    "dtype_of_missing": ({}, SHORT, "type and dtype", 0.5 * 3 / 5 / 2, 1),
    "quoting_error": ({}, SHORT, "type and dtype", 0.5 * 3 / 5 / 2, 1),
    "drops_unknown": ({}, SHORT, "length", 0.5 * 3 / 5 / 2, 1),
    # Of the short calls a third has it in the changed record.
    "first_row": (PLAIN, SHORT, "report in place", 1 / 3 / 2, 1),
    "last_row": (PLAIN, SHORT, "report in place", 1 / 3 / 2, 1),
}


def audited(name, **options):
    settings = {"epsilon": 1.0, "trials": FEW, "calls": CALLS, "level": SURE, **EVERY, **options}
    return audit(getattr(faulty, name), CATEGORIES, **settings)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name):
    """Each fault refutes the claim, by what gives it away; with the best guesses 1e-6 escape."""
    options, judging, event, rate, share = FAULTS[name]
    assert missed(judging, rate, share, 1.0, 1e-6 / EVENTS) < 1e-6
    found = audited(name, trials=TRIALS if judging == LONG else FEW, **options)
    assert not found.passed
    assert found.tried.set_index("event")["epsilon_low"][event] > 1.0


def test_rows_in_the_order_of_the_answers_are_caught():
    """The index of a sorted Series says whose rows they are, whatever the reports."""

    def fn(answers):
        return faulty.sorted_index(pd.Series(answers, dtype=object))

    found = audit(fn, CATEGORIES, 1.0, trials=1000, calls=1500, level=SURE, **PLAIN)
    assert not found.passed
    assert found.worst.startswith("index")


def test_lies_of_another_type_are_caught():
    """Lies drawn by NumPy are np.str_ beside the str of true reports: a list shows which lie."""

    def fn(answers):
        return [
            r if r == a else np.str_(r) for a, r in zip(answers, faulty.right(answers), strict=True)
        ]

    found = audit(fn, CATEGORIES, 3.0, trials=10_000, calls=100, level=SURE, **PLAIN)
    assert not found.passed
    assert found.worst.startswith("report,")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sorted_truth", {"epsilon": 2.0, "level": 0.99, "calls": 14_000}),
        ("lies_last", {"calls": 8000}),
    ],
)
def test_reports_in_the_order_of_the_answers_are_caught(name, options):
    """The order of the reports follows the truth."""
    found = audited(name, **PLAIN, **options)
    assert not found.passed
    assert found.worst.startswith(("all reports", "report in place"))


def test_a_wrong_formula_of_ten_categories_is_caught(monkeypatch):
    """k - 2 for k - 1 adds 0.118 at k = 10.

    The best guesses miss it in these trials once in 1e6, but the audit chooses poor ones in more
    than one run of a hundred: all coins are from a fixed seed.
    """
    k, trials, rng = 10, 240_000, np.random.default_rng(1)
    monkeypatch.setattr(auditing, "_random", lambda count, bound: rng.integers(bound, size=count))
    prob, error = faulty.prob_of(1.0, k - 1), 1e-6 / EVENTS
    rate, share = prob + (1 - prob) / (k - 1), prob / (prob + (1 - prob) / (k - 1))
    assert missed(trials * 2 // 3, rate, share, 1.0, error) < 1e-6

    def fn(answers):
        lies = rng.random(len(answers)) >= prob
        return (answers + lies * rng.integers(1, k, len(answers))) % k

    found = audit(fn, range(k), 1.0, trials=trials, calls=100, level=SURE, **PLAIN)
    assert not found.passed
    assert 1.0 < found.epsilon_low <= rr.KRR(range(k), prob).epsilon


# -- right functions ----------------------------------------------------------------------------

# Each audit of a right function refutes it wrongly at most once in 1e8.
RARELY = {"level": 1 - 1e-8, "trials": 20_000, "calls": 100, **EVERY}
FORMS = {
    "list": list,
    "array": lambda answers: np.array(answers, dtype=object),
    "series": lambda answers: pd.Series(answers, dtype="string"),
}


def silently(mechanism, form=list):
    return lambda answers: rr.privatize(form(answers), mechanism, unknown="uniform")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [2, 10])
def test_ours_pass(k, form):
    """k-RR through the public functions passes, and the bound comes near what is claimed."""
    m = rr.KRR([f"answer {c}" for c in range(k)], epsilon=1.0)
    # With 20,000 trials of ten categories the guesses that are chosen may prove nothing.
    found = audit(silently(m, FORMS[form]), m, **RARELY | {"trials": 60_000})
    assert found.passed
    assert found.claimed == m.epsilon
    assert 0.0 < found.epsilon_low <= m.epsilon
    assert found.notes == ()


def test_frames_and_functions_that_warn_pass():
    """The rows of a frame are reports beside public columns; warnings are no part of a release."""
    m = rr.KRR(CATEGORIES, epsilon=1.0)

    def fn(answers):
        frame = pd.DataFrame({"answer": pd.Series(answers, dtype="string"), "row": 1})
        return frame.rr.privatize("answer", m, unknown="uniform")

    assert audit(fn, m, **RARELY).passed


def test_an_error_is_a_note_unless_the_claim_covers_it():
    """The default of `privatize` refuses an unknown answer: no evidence between declared ones."""
    m = rr.KRR(CATEGORIES, epsilon=1.0)

    def refusing(answers):
        return rr.privatize(answers, m)

    def half(answers):
        return rr.privatize(answers, m, missing="keep")

    plain = {**RARELY, **PLAIN, "trials": 2_000}  # notes do not depend on them
    found = audit(refusing, m, **plain)
    assert found.passed
    names = "an unknown value ('no category')", "a missing value"
    text = "fn raises for {} and for {}; that a release exists says that there is none."
    assert found.notes == (text.format(*names),)
    assert text.format(*names) in repr(found)
    assert not audit(refusing, m, **RARELY | {"calls": 1500}).passed
    found = audit(half, m, **plain)
    assert found.passed
    assert found.notes == (
        f"fn raises for {names[0]}; that a release exists says that there is none.",
        f"Not compared with the answers: {names[1]}.",
    )
    assert not audit(half, m, **plain | {"calls": 1500, "missing": True}).passed
    served = audit(silently(m), m, **plain)
    assert served.notes == (f"Not compared with the answers: {names[0]} and {names[1]}.",)
    with_missing = rr.KRR(["a", None], epsilon=1.0)
    found = audit(silently(with_missing), with_missing, **plain)
    assert found.notes == (f"Not compared with the answers: {names[0]}.",)


@pytest.mark.parametrize(
    "mechanism",
    [
        rr.mechanisms.UnaryEncoding.optimized(["a", "b", "c"], epsilon=1.0),
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
    found = audit(silently(mechanism), mechanism, **RARELY)
    assert found.passed
    assert 0.0 < found.epsilon_low <= mechanism.epsilon


def test_one_value_at_a_time_of_another_library_passes():
    """OpenDP's randomized response, one answer a call, under the epsilon that OpenDP claims."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    measure = dp.m.make_randomized_response(categories=CATEGORIES, prob=0.5)
    few = {"level": 1 - 1e-8, "trials": 1000, "calls": 100, "unknown": True}

    def fn(records):
        return [measure(record) for record in records]

    found = audit(fn, CATEGORIES, measure.map(1), **few)
    assert found.passed
    assert found.claimed == pytest.approx(math.log(2))


# -- the report -----------------------------------------------------------------------------------

SMALL = {"trials": 1000, "calls": 100}


def test_the_report_has_verdict_bound_and_three_bullets():
    """A row for each event; a frozen result; its text names bound, claim and limits."""
    private = rr.KRR(CATEGORIES, epsilon=0.1)
    found = audit(lambda answers: rr.privatize(answers, private), CATEGORIES, 1.0, **SMALL)
    assert isinstance(found, AuditResult)
    assert ["event", "trials", "guesses", "right", "epsilon_low"] == list(found.tried.columns)
    assert [*auditing.EVENTS, auditing.PAIR_EVENT, auditing.LONG_EVENT] == found.tried[
        "event"
    ].tolist()
    assert found.epsilon_low == found.tried["epsilon_low"].max()
    verdict, bound, *bullets = repr(found).splitlines()
    assert verdict == "Not refuted: epsilon 1"
    assert bound.startswith("With confidence 0.99 epsilon is at least 0.")
    heads = [
        "- Strongest evidence: ",
        "- Tried: 1,000 records together, 300 short calls. ",
        "- No proof: ",
    ]
    assert all(b.startswith(head) for b, head in zip(bullets, heads, strict=True))
    assert 0 < found.blind_below < math.inf
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.claimed = 2.0


def test_a_refuted_claim_is_told_in_words():
    """The text names the record, and what could not be tried in long calls."""
    text = repr(audit(faulty.quoting_error, CATEGORIES, 1.0, trials=1000, calls=1500, **EVERY))
    assert text.startswith("Refuted: epsilon 1\n")
    assert "the record held" in text
    assert "Long calls omit an unknown value ('no category')" in text


def test_few_trials_are_owned_up_to():
    """Where no fault could be seen, the text says so."""
    text = repr(audit(faulty.right, CATEGORIES, 6.0, **SMALL, level=SURE))
    assert "of any size (so few trials cannot refute epsilon 6)" in text


def test_a_function_that_raises_in_long_calls_alone_is_reported():
    """What cannot be tried is a note, not an end."""

    def impatient(answers):
        if len(answers) > 100:
            raise MemoryError("too many")
        return faulty.right(answers)

    found = audit(impatient, CATEGORIES, 1.0, **SMALL)
    assert any("MemoryError" in note for note in found.notes)
    assert auditing.LONG_EVENT not in found.tried["event"].tolist()
    assert found.blind_below == math.inf


def test_a_function_that_gives_nothing_for_some_inputs_is_refuted():
    """None instead of reports, where a value is missing, is a finding like an exception."""

    def fn(answers):
        return None if None in answers else faulty.right(answers)

    assert not audit(fn, CATEGORIES, 1.0, trials=1000, calls=600, **EVERY).passed


def test_one_output_for_all_is_private_and_the_answers_are_not():
    """What says nothing has epsilon 0, not refuted at 0 (false alarm 1e-6); a copy is refuted."""
    surely = {**SMALL, "level": SURE}
    assert audit(lambda answers: ["never"] * len(answers), CATEGORIES, 0.0, **surely).passed
    assert not audit(lambda answers: answers, CATEGORIES, 5.0, trials=4000, calls=100).passed


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"epsilon": None}, ArgumentTypeError, "epsilon must be a number, found None"),
        ({"epsilon": -1.0}, ArgumentValueError, "epsilon"),
        ({"trials": 10}, ArgumentValueError, "trials must be at least 1000, got 10"),
        ({"level": 99}, ArgumentValueError, "level must be in"),
        ({"fn": "privatize"}, ArgumentValueError, "must return a release.*not callable"),
        ({"categories": ["a", "a"]}, ValueError, "categories"),
        ({"fn": lambda answers: {"a": 1}}, ArgumentValueError, "without reports: dict"),
        ({"fn": lambda answers: {}["nothing"]}, ArgumentValueError, "found KeyError: 'nothing'"),
    ],
)
def test_bad_arguments_are_refused(options, error, match):
    """Each message names the argument and the rule."""
    given = {"fn": faulty.right, "categories": CATEGORIES, "epsilon": 1.0, **options}
    with pytest.raises(error, match=match):
        audit(**given)


def test_reports_that_python_confuses_are_told_apart():
    """True is not 1, and all missing values are one."""
    given = [True, 1, 1.0, "1", None, float("nan"), pd.NA, np.True_, [1], [1]]
    codes = auditing._codes([auditing._key(value) for value in given])
    assert [0, 1, 1, 2, 3, 3, 3, 0, 4, 4] == codes.tolist()


@pytest.mark.parametrize(
    "domain",
    [rr.number(0, 10).grid, rr.number(0.0, 1.0).grid, rr.KRR([0.0, 1.5, 3.0], 0.5).domain],
    ids=["integers", "decimals", "categories"],
)
def test_the_unknown_value_is_no_answer(domain):
    """A number between two points, or beyond the bounds, is an answer like any other."""
    inputs = auditing._Inputs.of(domain, unknown=True, missing=False)
    assert domain.code(inputs.values[-1]) == domain.answers


@pytest.mark.parametrize("k", [2, 3, 40, 1000])
def test_inputs_pair_all_values(k):
    """Every category, the unknown value and the missing one stand in some pair."""
    inputs = auditing._Inputs.of(rr.KRR(range(k), 0.5 if k == 2 else 0.4).domain, unknown=True,
                                 missing=True)  # fmt: skip
    places = set(inputs.first.tolist()) | set(inputs.second.tolist())
    assert len(places) == k + 2 or k >= 1000
    assert {k, k + 1} <= places
    if k > 8:  # records of two columns of ten: both differ
        near = [pair for pair in zip(inputs.first, inputs.second, strict=True) if max(pair) < k]
        assert all(a // 10 != b // 10 and a % 10 != b % 10 for a, b in near)
    record, coins = inputs.draw(5000, 4)
    beyond = np.maximum(inputs.first, inputs.second)[record] >= k
    assert 0.2 < beyond.mean() < 0.3  # 1/4; eight standard deviations
    assert 0.45 < coins.mean() < 0.55
    assert set(inputs.without({k}).codes(*inputs.without({k}).draw(5000, 4))) <= {*range(k), k + 1}
