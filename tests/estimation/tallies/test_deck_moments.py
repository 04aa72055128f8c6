"""Estimates of designs whose cards are dealt without replacement."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Chain

CATEGORIES = ["no", "yes"]


def tally_of(mechanism, blocks, yes):
    """The tally of blocks of people (their sizes) with so many yes."""
    reports, labels = [], []
    for number, (size, told) in enumerate(zip(blocks, yes, strict=True)):
        reports += ["yes"] * told + ["no"] * (size - told)
        labels += [number] * size
    return rr.tally(reports, mechanism, blocks=labels)


DESIGNS = [
    pytest.param(rr.surveys.garbling(CATEGORIES, 0.25), 12, id="garbling"),
    pytest.param(rr.surveys.garbling(CATEGORIES, 0.25, deck=16), 11, id="incomplete"),
    pytest.param(rr.surveys.warner(CATEGORIES, 0.75, yes="yes", deck=12), 12, id="Warner"),
    pytest.param(
        rr.surveys.forced_response(CATEGORIES, 0.5, [0.25, 0.25], deck=12), 12, id="forced"
    ),
    pytest.param(
        rr.surveys.forced_response(CATEGORIES, 0.75, [0.25, 0], deck=16), 9, id="forced no"
    ),
]


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize(("mechanism", "n"), DESIGNS)
@pytest.mark.parametrize("target", ["population", "sample"])
def test_proportions_and_variances_are_unbiased(mechanism, n, target):
    """Over the exact distribution of one block: means of the estimates and of their variance."""
    found = [rr.estimate(tally_of(mechanism, [n], [told]), target=target) for told in range(n + 1)]
    proportions = np.array([estimate.proportions[1] for estimate in found])
    variances = np.array([estimate.variance[1] for estimate in found])
    blocks = found[0].moments.blocks
    truths = [0, 1, 4, n] if target == "sample" else [0.0, 0.1, 0.37, 1.0]
    for truth in truths:
        if target == "sample":
            below = [blocks.rows_tails(told, truth)[0] for told in range(n + 1)]
            share = truth / n
        else:
            below = [blocks.population_tails(told, truth)[0] for told in range(n + 1)]
            share = truth
        chances = np.diff(below, prepend=0.0)
        assert chances @ proportions == pytest.approx(share, abs=1e-10)
        expected = chances @ (proportions - share) ** 2
        assert chances @ variances == pytest.approx(expected, abs=1e-10)


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize(
    ("people", "deck", "rate"),
    [([5, 3], 8, 0.25), ([2, 4], None, 0.5), ([3, 3], None, 1 / 3), ([3, 2, 1], 4, 0.75)],
)
def test_variances_of_several_blocks_are_never_too_small(people, deck, rate):
    """Over all deals, whatever the blocks' true answers; unbiased where each block is of its kind.

    Of blocks of one card that asks the variance has no unbiased estimate, and is the largest.
    """
    mechanism = rr.surveys.garbling(CATEGORIES, rate, deck=deck)
    sizes = people if deck is None else [deck] * len(people)
    garbled = [round(size * rate) for size in sizes]
    n = sum(people)
    found = {}
    for told in np.ndindex(*(size + 1 for size in people)):
        estimate = rr.estimate(tally_of(mechanism, people, told), target="sample")
        found[told] = estimate.proportions[1], estimate.variance[1]
    is_unbiased = len(set(people)) == len(people) and min(np.subtract(sizes, garbled)) > 1
    for filled in np.ndindex(*(size + 1 for size in people)):
        chances = [
            stats.hypergeom.pmf(np.arange(person + 1) - true, size, cards, person - true)
            for person, size, cards, true in zip(people, sizes, garbled, filled, strict=True)
        ]
        expected = np.zeros(3)
        for told, (proportion, variance) in found.items():
            chance = np.prod([chances[block][number] for block, number in enumerate(told)])
            expected += chance * np.array([proportion, proportion**2, variance])
        mean, square, variance = expected
        assert sum(filled) / n == pytest.approx(mean)
        assert variance >= square - mean**2 - 1e-9
        if is_unbiased:
            assert variance == pytest.approx(square - mean**2, abs=1e-9)


def test_tests_of_a_full_block_are_those_of_a_direct_question():
    """Both tests have the statistic, p-value and effective size of the 150 who were asked."""
    garbled, direct = rr.surveys.garbling(CATEGORIES, 0.25), rr.surveys.direct(CATEGORIES)
    first, second = (rr.estimate(["yes"] * t + ["no"] * (200 - t), garbled) for t in (60, 70))
    asked, other = (rr.estimate(["yes"] * t + ["no"] * (150 - t), direct) for t in (10, 20))
    pairs = [
        (rr.hypotheses.goodness_of_fit(each, [0.9, 0.1]) for each in (asked, first)),
        (rr.hypotheses.homogeneity(asked, other), rr.hypotheses.homogeneity(first, second)),
    ]
    for expected, found in pairs:
        assert expected.statistic == pytest.approx(found.statistic)
        assert expected.p_value == pytest.approx(found.p_value)
        assert expected.effective_n == pytest.approx(found.effective_n)


def test_decks_dealt_to_one_person_each_are_coins():
    """Every member of the result is that of forced response, to the last digit."""
    reports = ["yes"] * 60 + ["no"] * 140
    dealt = rr.surveys.garbling(CATEGORIES, 0.25, deck=4)
    coins = rr.surveys.forced_response(CATEGORIES, 0.75, [0, 0.25])
    found = rr.estimate(reports, dealt, blocks=range(200))
    pd.testing.assert_frame_equal(
        rr.estimate(reports, coins).to_frame(), found.to_frame(), check_exact=True
    )


def test_a_full_block_is_a_direct_question_to_fewer_people():
    """Interval, standard error and difference are those of 150 and of 75 direct answers."""
    garbled = rr.surveys.garbling(CATEGORIES, 0.25)
    direct = rr.surveys.direct(CATEGORIES)
    large = rr.estimate(["yes"] * 60 + ["no"] * 140, garbled)
    small = rr.estimate(["yes"] * 50 + ["no"] * 50, garbled)
    large_direct = rr.estimate(["yes"] * 10 + ["no"] * 140, direct)
    small_direct = rr.estimate(["yes"] * 25 + ["no"] * 50, direct)
    assert large_direct.std_error == pytest.approx(large.std_error)
    assert np.array(large_direct.interval()) == pytest.approx(np.array(large.interval()), abs=1e-9)
    for method in ("melded", "mover"):
        expected = rr.difference(small_direct, large_direct, method=method).interval()
        found = rr.difference(small, large, method=method).interval()
        assert np.array(expected) == pytest.approx(np.array(found), abs=1e-9)


def test_blocks_of_a_frame_in_groups_and_parts():
    """Blocks are a column; groups hold whole blocks; tallies of parts add, and are JSON."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25, deck=4)
    frame = pd.DataFrame(
        {
            "answer": ["yes", "no", "no", "yes"] * 20,
            "block": np.arange(80) // 4,
            "town": np.arange(80) // 40,
        }
    )
    whole = rr.estimate(frame, mechanism, columns="answer", blocks="block")
    assert 0.25 / 0.75 == pytest.approx(
        frame.rr.estimate("answer", mechanism, blocks="block")["yes"].value
    )
    groups = rr.estimate(frame, mechanism, columns="answer", blocks="block", by="town")
    assert [40, 40] == [estimate.n for estimate in groups.values()]
    assert groups[0].std_error == pytest.approx(whole.std_error * np.sqrt(59 / 29), rel=0.01)
    parts = [
        rr.tally(part, mechanism, columns="answer", blocks="block")
        for _, part in frame.groupby("town")
    ]
    stored = [rr.Tally.from_dict(json.loads(json.dumps(part.to_dict()))) for part in parts]
    assert rr.estimate(sum(stored)).std_error == pytest.approx(whole.std_error)
    message = refused(
        ArgumentValueError,
        "by needs blocks=",
        rr.estimate,
        frame,
        mechanism,
        columns="answer",
        by="town",
    )
    assert "yes" not in message


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize(("deck", "parts"), [(None, (3, 5)), (10, (4, 3))])
def test_groups_that_cut_a_block_have_a_covariance(deck, parts):
    """The variance of their difference is unbiased over all deals; it is not that of coins.

    Given the true answers, N_A N_B g (1 - g) / (b - 1) is what the garbled answers of two groups
    take from each other.
    """
    size = deck or sum(parts)
    rate = 2 / size
    mechanism = rr.surveys.garbling(CATEGORIES, rate, deck=deck)
    groups = np.repeat(["a", "b"], parts)
    true = np.array([1] + [0] * (parts[0] - 1) + [1, 1] + [0] * (parts[1] - 2), dtype=bool)
    found = []
    for cards in combinations(range(size), 2):
        reports = true | np.isin(np.arange(sum(parts)), cards)
        frame = pd.DataFrame(
            {"answer": np.where(reports, "yes", "no"), "group": groups, "block": 1}
        )
        options = {"columns": "answer", "by": "group", "blocks": "block", "target": "sample"}
        difference = rr.difference(*rr.estimate(frame, mechanism, **options).values())
        found.append([difference.differences[1], difference.variance[1], difference.shared[1, 1]])
    differences, variances, shared = np.array(found).T
    lies = np.array([parts[0] - 1, parts[1] - 2])
    expected = -lies.prod() * rate * (1 - rate) / (size - 1) / np.prod(parts) / (1 - rate) ** 2
    assert 1 / parts[0] - 2 / parts[1] == pytest.approx(differences.mean())
    assert expected == pytest.approx(shared.mean())
    assert differences.var() == pytest.approx(variances.mean())


def test_blocks_of_one_label_are_parts_where_they_fit_into_a_deck():
    """Two estimates of people of one block depend; full blocks of the same label do not."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25, deck=8)
    half, full = (
        rr.estimate(["yes", "no"] * pairs, mechanism, blocks=["a"] * 2 * pairs) for pairs in (2, 4)
    )
    assert rr.difference(half, half).shared[1, 1] < 0
    assert rr.difference(half, full).shared is None


def test_two_small_full_blocks_have_an_exact_p_value():
    """It is that of the difference, and of 15 and 15 direct answers."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25)
    first, second = (rr.estimate(["yes"] * t + ["no"] * (20 - t), mechanism) for t in (5, 11))
    found = rr.hypotheses.homogeneity(first, second)
    assert rr.difference(first, second).p_value[1] == pytest.approx(found.p_value)
    direct = rr.surveys.direct(CATEGORIES)
    asked, other = (rr.estimate(["yes"] * t + ["no"] * (15 - t), direct) for t in (0, 6))
    assert rr.hypotheses.homogeneity(asked, other).p_value == pytest.approx(found.p_value)


def test_missing_reports_leave_a_block_incomplete():
    """A person without a report drew a card, too: the block has a deck for all."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25)
    reports = ["yes", "yes", None, "no", "no", "no", "no", "no"]
    found = rr.estimate(reports, mechanism)
    blocks = found.moments.blocks
    assert ([7], [8], [2]) == (blocks.people.tolist(), blocks.sizes.tolist(), blocks.yes.tolist())
    same = rr.estimate(reports, mechanism, blocks=["a"] * 8)
    assert same.std_error == pytest.approx(found.std_error)


@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
@pytest.mark.parametrize("target", ["population", "sample"])
def test_impossible_and_absent_reports(target):
    """Fewer yes than garbled ones warn; no interval is a sliver; without reports it is [0, 1]."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25)
    few = rr.estimate(["yes"] * 5 + ["no"] * 35, mechanism, target=target)
    low, high = few.interval()
    assert few.proportions[1] < 0 == low[1]
    assert high[1] > 0.01
    none = rr.estimate([], mechanism, target=target)
    assert (0, 1) == (none.interval().low[1], none.interval().high[1])
    assert np.isnan(none.proportions).all()


def test_impossible_reports_warn():
    """5 yes of 40 people with 10 garbled answers are explained by no truth."""
    with pytest.warns(rr.errors.ImplausibleReportsWarning):
        rr.estimate(["yes"] * 5 + ["no"] * 35, rr.surveys.garbling(CATEGORIES, 0.25))


REFUSED = [
    ("at most 4 people", ["no"] * 8, {"deck": 4}, {}),
    ("must be whole, found 3/4, 1/4 of 10", ["no"] * 10, {}, {}),
    ("takes blocks= alone", ["no"] * 8, {}, {"weights": [1.0] * 8}),
    ("must have no population", ["no"] * 8, {}, {"design": rr.SampleDesign(population=100)}),
]


@pytest.mark.parametrize(("message", "reports", "options", "arguments"), REFUSED)
def test_what_decks_do_not_take(message, reports, options, arguments):
    """Each refusal names the argument and the rule."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.25, **options)
    refused(ArgumentValueError, message, rr.estimate, reports, mechanism, **arguments)


def test_blocks_are_those_of_decks():
    """Other mechanisms have no blocks, and blocks have no weights."""
    decks = rr.surveys.garbling(CATEGORIES, 0.25)
    options = {"weights": [1.0] * 4, "blocks": [1] * 4}
    refused(ArgumentTypeError, "blocks stand alone", rr.estimate, ["no"] * 4, decks, **options)
    rule = "blocks are those of designs whose cards"
    refused(ArgumentValueError, rule, rr.estimate, ["no"] * 4, CATEGORIES, 0.75, blocks=[1] * 4)
    refused(ArgumentValueError, rule, rr.tally, ["no"] * 4, CATEGORIES, 0.75, blocks=[1] * 4)


def test_errors_speak_of_blocks():
    """Columns of blocks are strata inside, and messages say blocks; tables take no decks."""
    decks = rr.surveys.garbling(CATEGORIES, 0.25, deck=4)
    reports = pd.Series(["no"] * 4)
    estimate = rr.estimate
    rule = "blocks must be known for every row, found 1 of 4"
    refused(ArgumentValueError, rule, estimate, reports, decks, blocks=[1, 1, None, 1])
    rule = "blocks must have one value for each"
    refused(ArgumentValueError, rule, estimate, reports, decks, blocks=[1, 1, 1])
    rule = "blocks must have the same index"
    refused(ArgumentValueError, rule, estimate, reports, decks, blocks=pd.Series([1] * 4, [5] * 4))
    frame = pd.DataFrame({"answer": reports, "town": [1, 1, 2, 2]})
    table = frame.rr.crosstab
    rule = "must not be a deck of cards"
    refused(ArgumentValueError, rule, table, "answer", "town", mechanisms={"answer": decks})


def test_no_part_of_another_mechanism_is_a_deck():
    """Its epsilon would be that of coins, which cards dealt without replacement do not keep."""
    deck = rr.surveys.warner(CATEGORIES, 0.75, yes="yes", deck=8)
    coins = rr.KRR(CATEGORIES, 0.75)
    rule = "must not be a deck of cards"
    refused(ArgumentValueError, rule, rr.mechanisms.Samples, {"a": deck, "b": coins})
    refused(ArgumentValueError, rule, Chain, deck, coins)
    merge = rr.estimate(CATEGORIES * 4, deck).merge
    refused(ArgumentValueError, rule, merge, {"n": ["no"], "y": ["yes"]})


def test_incomplete_blocks_of_other_decks_are_refused():
    """Cards that ask for the opposite need every report of a block."""
    warner = rr.surveys.warner(CATEGORIES, 0.75, yes="yes", deck=12)
    refused(ArgumentValueError, "blocks must be full", rr.estimate, ["no"] * 11, warner)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
def test_population_intervals_of_many_incomplete_blocks():
    """Coverage of 300 blocks of up to 5 people, by their exact distribution, is at least 95%."""
    mechanism = rr.surveys.garbling(CATEGORIES, 0.2, deck=5)
    sizes = [5, 4, 3] * 10
    n = sum(sizes)
    found = [rr.estimate(tally_of(mechanism, sizes, _spread(told, sizes))) for told in range(n + 1)]
    ends = np.array([[end[1] for end in estimate.interval()] for estimate in found])
    blocks = found[0].moments.blocks
    for proportion in np.linspace(0, 1, 41):
        below = np.array([blocks.population_tails(told, proportion)[0] for told in range(n + 1)])
        inside = (ends[:, 0] <= proportion + 1e-9) & (proportion - 1e-9 <= ends[:, 1])
        assert np.diff(below, prepend=0.0)[inside].sum() >= 0.95 - 1e-9


def _spread(total, sizes):
    """A number of yes over blocks, none beyond its size."""
    told = []
    for size in sizes:
        told.append(min(size, total))
        total -= told[-1]
    return told


def test_plans_send_decks_to_a_direct_question():
    """With the part of answers that a full block leaves: (1/2)^2 of Warner's at 3/4."""
    warner = rr.surveys.warner(CATEGORIES, 0.75, yes="yes", deck=8)
    plan = rr.planning.sample_size
    refused(ArgumentTypeError, "direct.* with 0.25 times", plan, 0.03, 0.05, warner)
    full = rr.estimate(tally_of(warner, [8] * 25, [3] * 25))
    fewer = full.proportions.prod() / (200 * 0.25)
    assert fewer * 50 / 49 == pytest.approx(full.variance[1])


def test_a_block_needs_fewer_people_than_coins():
    """At 5% and rate .25 coins need 5.8 times as many people, at 1% 26 times."""
    for share, times in ((0.05, 5.8), (0.01, 26)):
        said = 0.25 + 0.75 * share
        coins = said * (1 - said) / 0.75**2
        block = share * (1 - share) / 0.75
        assert coins / block == pytest.approx(times, rel=0.02)
    assert stats.hypergeom.pmf(0, 4, 1, 1) == pytest.approx(0.75)
