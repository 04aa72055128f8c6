"""Numbers of yes in blocks with cards dealt without replacement: all deals of small blocks."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, perm, prod

import numpy as np
import pytest
from scipy import stats

from rrstats.inference.dealt_cards import DealtBlocks

KINDS = ("truth", "opposite", "yes", "no")


def blocks_of(people, sizes, **cards):
    """Blocks from numbers of people and of the cards of each kind."""
    arrays = [np.asarray(cards.get(kind, np.zeros(len(people))), dtype=np.int64) for kind in KINDS]
    return DealtBlocks(np.array(people), np.array(sizes), *arrays)


def deals(people, cards):
    """Each sequence of cards that people may hold, with the number of ways to deal it."""
    for dealt in product(cards, repeat=people):
        counts = Counter(dealt)
        ways = prod(perm(cards[kind], times) for kind, times in counts.items())
        if ways:
            yield dealt, ways


def yes_of(dealt, truths):
    """The number of yes of people with these true answers and cards."""
    report = {"t": lambda x: x, "f": lambda x: 1 - x, "y": lambda x: 1, "n": lambda x: 0}
    return sum(report[card](true) for card, true in zip(dealt, truths, strict=True))


def exact_distribution(size, people, true_yes, cards):
    """P(so many yes) of one block, as fractions, from every deal."""
    truths = [1] * true_yes + [0] * (people - true_yes)
    counts = Counter()
    for dealt, ways in deals(people, cards):
        counts[yes_of(dealt, truths)] += ways
    total = perm(size, people)
    assert total == sum(counts.values())
    return {reported: Fraction(times, total) for reported, times in counts.items()}


BLOCKS = [
    pytest.param(8, 8, {"t": 6, "y": 2}, id="garbling"),
    pytest.param(8, 5, {"t": 6, "y": 2}, id="garbling, incomplete"),
    pytest.param(6, 4, {"t": 4, "n": 2}, id="forced no, incomplete"),
    pytest.param(6, 6, {"t": 3, "y": 2, "n": 1}, id="forced response"),
    pytest.param(6, 6, {"t": 4, "f": 2}, id="Warner"),
]


def block(size, people, cards):
    """One block."""
    names = dict(zip("tfyn", KINDS, strict=True))
    return blocks_of([people], [size], **{names[kind]: [n] for kind, n in cards.items()})


@pytest.mark.parametrize(("size", "people", "cards"), BLOCKS)
def test_numbers_of_yes_follow_every_deal(size, people, cards):
    """Tails and variance given the true answers are those of all deals."""
    found = block(size, people, cards)
    for true_yes in range(people + 1):
        exact = exact_distribution(size, people, true_yes, cards)
        for reported in range(people + 1):
            below = float(sum(p for number, p in exact.items() if number <= reported))
            above = float(sum(p for number, p in exact.items() if number >= reported))
            assert (below, above) == pytest.approx(found.rows_tails(reported, true_yes))
        mean = sum(number * p for number, p in exact.items())
        expected = sum(number**2 * p for number, p in exact.items()) - mean**2
        assert float(expected) == pytest.approx(found.rows_variance(true_yes), abs=1e-12)


@pytest.mark.parametrize(("size", "people", "cards"), BLOCKS)
@pytest.mark.parametrize("proportion", [Fraction(0), Fraction(1, 7), Fraction(2, 3)])
def test_numbers_of_yes_in_people_of_a_population(size, people, cards, proportion):
    """Tails and variance are the binomial mixture over the true answers of the people."""
    found = block(size, people, cards)
    exact = Counter()
    for true_yes in range(people + 1):
        drawn = (
            comb(people, true_yes) * proportion**true_yes * (1 - proportion) ** (people - true_yes)
        )
        for number, p in exact_distribution(size, people, true_yes, cards).items():
            exact[number] += drawn * p
    for reported in range(people + 1):
        below = float(sum(p for number, p in exact.items() if number <= reported))
        above = float(sum(p for number, p in exact.items() if number >= reported))
        assert (below, above) == pytest.approx(
            found.population_tails(reported, float(proportion)), abs=1e-12
        )
    mean = sum(number * p for number, p in exact.items())
    expected = float(sum(number**2 * p for number, p in exact.items()) - mean**2)
    powers = [1, float(proportion), float(proportion) ** 2]
    assert expected == pytest.approx(found.population_variance @ powers)


def test_tails_of_several_blocks_are_those_of_the_sum():
    """Blocks of two sizes: the transformed distribution is the convolution."""
    found = blocks_of([4, 4, 3], [4, 4, 6], truth=[3, 3, 4], yes=[1, 1, 2])
    # 5 true yes over 4, 4 and 3 people: 1.8, 1.8 and 1.4, so 2, 2 and 1
    exact = {0: Fraction(1)}
    for size, people, true_yes, cards in [
        (4, 4, 2, {"t": 3, "y": 1}),
        (4, 4, 2, {"t": 3, "y": 1}),
        (6, 3, 1, {"t": 4, "y": 2}),
    ]:
        part = exact_distribution(size, people, true_yes, cards)
        exact = {
            number: sum(p * part.get(number - left, 0) for left, p in exact.items())
            for number in range(12)
        }
    for reported in range(12):
        below = float(sum(p for number, p in exact.items() if number <= reported))
        assert below == pytest.approx(found.rows_tails(reported, 5)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("n", "true_yes", "rate", "most"),
    [(200, 10, 0.25, 7.0), (200, 10, 0.4, 10.9), (60, 3, 0.2, 2.91), (1000, 20, 0.25, 10.4)],
)
def test_widths_for_the_people_surveyed(n, true_yes, rate, most):
    """The mean width of one block is at most this many people; coverage at least 95%."""
    asked = round(n * (1 - rate))
    found = blocks_of([n], [n], truth=[asked], yes=[n - asked])
    told = np.arange(max(0, asked - n + true_yes), min(asked, true_yes) + 1)
    chances = stats.hypergeom.pmf(told, n, true_yes, asked)
    reported = [int(number) + n - asked for number in told]
    ends = np.array([found.rows_interval(number, number, 0.95) for number in reported])
    assert chances @ (ends[:, 1] - ends[:, 0]) <= most
    assert chances[(ends[:, 0] <= true_yes) & (true_yes <= ends[:, 1])].sum() >= 0.95


FILLED = [  # people, cards and garbled cards of each block
    pytest.param([2] * 6, [2] * 6, [1] * 6, id="pairs"),
    pytest.param([4] * 3, [4] * 3, [1] * 3, id="fours"),
    pytest.param([4] * 3, [4] * 3, [2] * 3, id="fours, half"),
    pytest.param([12], [12], [3], id="one"),
    pytest.param([2, 2, 2, 8], [2, 2, 2, 8], [1, 1, 1, 4], id="full, unequal"),
    pytest.param([8, 6, 1], [8, 8, 8], [4, 4, 4], id="incomplete"),
    pytest.param([8, 2, 2], [8, 8, 8], [2, 2, 2], id="incomplete, two alike"),
    pytest.param([10, 2, 2, 1], [10] * 4, [4] * 4, id="incomplete, small"),
]


@pytest.mark.parametrize(("people", "sizes", "yes"), FILLED)
def test_coverage_and_variance_however_true_answers_fall_into_blocks(people, sizes, yes):
    """Each way to fill blocks is covered in 95%, and the variance is the largest of all ways.

    With true answers spread in proportion to the people, coverage was 92% of 8, 6 and 1 people.
    """
    n = sum(people)
    asked = np.subtract(sizes, yes)
    found = blocks_of(people, sizes, truth=asked, yes=yes)
    ends = [found.rows_interval(reported, reported, 0.95) for reported in range(n + 1)]
    largest = np.zeros(n + 1)
    for filled in product(*(range(size + 1) for size in people)):
        weights = np.ones(1)
        for size, cards, garbled, true_yes in zip(people, sizes, yes, filled, strict=True):
            # The garbled cards that fall on a true no.
            numbers = np.arange(size + 1) - true_yes
            weights = np.convolve(
                weights, stats.hypergeom.pmf(numbers, cards, garbled, size - true_yes)
            )
        told = np.arange(n + 1)
        true_yes = sum(filled)
        inside = [low <= true_yes <= high for low, high in ends]
        assert weights[inside].sum() >= 0.95 - 1e-12
        variance = weights @ told**2 - (weights @ told) ** 2
        largest[true_yes] = max(largest[true_yes], variance)
    assert [found.rows_variance(true_yes) for true_yes in range(n + 1)] == pytest.approx(
        largest, abs=1e-9
    )


@pytest.mark.parametrize(("people", "size", "yes"), [(12, 12, 3), (9, 12, 3), (10, 20, 5)])
def test_coverage_for_a_population(people, size, yes):
    """Intervals of a full and an incomplete block cover at least 95% on a grid of proportions."""
    found = blocks_of([people], [size], truth=[size - yes], yes=[yes])
    low, high = (round(people * rate) for rate in (yes / size, 1.0))
    ends = np.array(
        [
            found.population_interval(min(reported, high), max(reported, low), 0.95)
            for reported in range(people + 1)
        ]
    )
    for proportion in np.linspace(0, 1, 101):
        below = np.array([found.population_tails(r, proportion)[0] for r in range(people + 1)])
        chances = np.diff(below, prepend=0.0)
        inside = (ends[:, 0] <= proportion + 1e-12) & (proportion - 1e-12 <= ends[:, 1])
        assert chances[inside].sum() >= 0.95 - 1e-12


def test_a_full_block_has_the_interval_of_a_direct_question():
    """10 of 150 asked: the ends of Clopper and Pearson."""
    found = blocks_of([200], [200], truth=[150], yes=[50])
    low, high = stats.beta.ppf(0.025, 10, 141), stats.beta.ppf(0.975, 11, 140)
    assert (low, high) == pytest.approx(found.population_interval(60, 60, 0.95), rel=1e-12)
