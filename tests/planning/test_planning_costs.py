"""The price of protection, its break-even, and designs at one epsilon."""

import math
from functools import cache

import numpy as np
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.planning import compare_designs, relative_variance, sample_size
from rrstats.planning.compliance import break_even

NO_YES = ["no", "yes"]
WARNER = rr.surveys.warner(NO_YES, 0.75, yes="yes")


# -- beside a direct question ------------------------------------------------------------------


def test_variance_ratio_golden():
    """theory_cases.json, deff: 29.5 at k = 10, epsilon 1 and f = 0.2."""
    e = math.e
    p, q = e / (e + 9), 1 / (e + 9)
    s = q + 0.2 * (p - q)
    expected = s * (1 - s) / ((p - q) ** 2 * 0.16)
    assert 29.5 == pytest.approx(expected, abs=0.05)
    assert expected == pytest.approx(relative_variance(0.2, 10, epsilon=1.0), rel=1e-9)


def error_of(n, rate, base, top, truth):
    """The mean squared error of (count / n - base) / (top - base), over every count."""
    found = 0.0
    for x in range(n + 1):
        chance = math.comb(n, x) * rate**x * (1 - rate) ** (n - x)
        found += chance * ((x / n - base) / (top - base) - truth) ** 2
    return found


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize(("accusing", "denying"), [(0, 0), (0.02, 0), (0, 0.1), (0.01, 0.2)])
def test_at_the_break_even_both_are_equally_far_off(n, accusing, denying):
    """Mean squared errors by adding up all counts: the same there, and the direct one grows."""
    m, f = rr.surveys.warner(NO_YES, 0.9, yes="yes"), 0.3
    t = break_even(n, f, m, accusing=accusing, still_denying=denying)
    assert 0 < t < 1
    seen = f * (1 - denying)
    ours = error_of(n, 0.1 + 0.8 * seen, 0.1, 0.9, f)
    direct = [error_of(n, f * (1 - lying) + (1 - f) * accusing, 0, 1, f) for lying in (t, t + 0.01)]
    assert ours == pytest.approx(direct[0], rel=1e-9)
    assert direct[1] > ours


def test_a_few_people_are_better_asked_directly_and_many_are_not():
    """The bias stays while noise falls: with more people ever fewer liars are needed."""
    found = [break_even(n, 0.1, epsilon=1.0) for n in (1, 50, 200, 1000, 10**6, 2**40)]
    assert [math.inf, math.inf] == found[:2]
    assert all(np.diff(found[2:]) < 0)
    # At many people f t = sqrt((v - f (1 - f)) / n): 0.1 t = sqrt((1.0108 - 0.09) / 10^6).
    assert 0.009596 == pytest.approx(found[4], rel=0.001)
    assert 0 < found[-1] < 1e-4


def test_false_accusations_alone_may_decide():
    """Where the others say yes often enough, no denial is needed; a few are made up for."""
    assert 0.0 == break_even(10**6, 0.01, epsilon=3.0, accusing=0.5)
    plain = break_even(10**5, 0.1, epsilon=1.0)
    assert plain + 0.9 * 0.01 / 0.1 == pytest.approx(
        break_even(10**5, 0.1, epsilon=1.0, accusing=0.01), abs=1e-3
    )


def test_where_all_carry_it():
    """Everybody a carrier, one person asked: still an answer."""
    assert 0 < break_even(1000, 1, epsilon=1.0) < 0.05
    # One person: the direct error is t, that of the report s (1 - s) / (p - q)^2 at s = p.
    p = math.e / (math.e + 1)
    assert p * (1 - p) / (2 * p - 1) ** 2 == pytest.approx(break_even(1, 1, epsilon=1.0))


def test_one_person_asked_directly():
    """The direct error is f^2 + g (1 - 2 f): it falls with t, and at t = 1 is 0.37 > 0.21."""
    direct = rr.surveys.direct(NO_YES)
    assert 0.0 == break_even(1, 0.3, direct, accusing=1)
    assert math.inf == break_even(1, 0.3, direct)
    # f = 0.7: errors are equal where 0.49 - 0.4 g = 0.7 * 0.3, g = 0.7: nobody denies it.
    assert 0.0 == pytest.approx(break_even(1, 0.7, direct), abs=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: break_even(100, 0, epsilon=1), "proportion must be in"),
        (lambda: break_even(100, 0.1, epsilon=1, accusing=2), "accusing must be in"),
        (lambda: break_even(100, 0.1, epsilon=1, still_denying=-1), "still_denying must be in"),
        (lambda: relative_variance(1.5, epsilon=1), "proportion must be in"),
    ],
)
def test_what_cannot_be_planned_is_refused(call, words):
    """The argument is named, with its rule."""
    refused(ArgumentValueError, words, call)


# -- designs at one epsilon --------------------------------------------------------------------


@cache
def plain(epsilon):
    """The designs at one epsilon; several tests look at the same ones."""
    return compare_designs(epsilon, proportion=0.1, half_width=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, math.log(3)])
def test_designs_keep_within_the_epsilon_and_use_it_up(epsilon):
    """No design exceeds it, and each is within a billionth of it."""
    found = plain(epsilon)
    epsilons = found.table["epsilon"].to_numpy()
    assert (epsilons <= epsilon).all()
    assert (epsilons > epsilon * (1 - 1e-9)).all()
    assert list(found.table["design"]) != []
    assert {m.epsilon for m in found.mechanisms.values()} == set(epsilons)


def test_warner_forced_response_and_crosswise_become_one_design():
    """At one epsilon their matrices are equal, and so are the people; others take more."""
    found = plain(math.log(3))
    matrix = found.mechanisms["warner"].channel.matrix
    assert matrix == pytest.approx(np.array([[3, 1], [1, 3]]) / 4, rel=1e-12)
    needed = found.table.set_index("design")["people"]
    for name in ("forced_response", "crosswise"):
        assert matrix == pytest.approx(found.mechanisms[name].channel.matrix, rel=1e-12)
        assert needed["warner"] == needed[name]
    assert needed["kuk, 4 cards"] > needed["kuk, 2 cards"] > needed["warner"]
    assert [5, 3] == [found.mechanisms[f"kuk, {n} cards"].channel.m for n in (4, 2)]
    assert needed["warner"] == sample_size(0.3, 0.1, 2, epsilon=math.log(3))
    for name, mechanism in found.mechanisms.items():
        assert needed[name] == sample_size(0.3, 0.1, mechanism, category="yes")


def test_the_numbers_of_the_designs_are_the_known_ones():
    """At ln 3: Warner 3/4, forced response 1/2, and the unrelated question by its formula."""
    found = plain(math.log(3)).table.set_index("design")["number"]
    assert 0.75 == pytest.approx(found["warner"])
    assert 0.5 == pytest.approx(found["forced_response"])
    # (p + c) / c = 3 with c = (1 - p) / 4: p = 1/3.
    assert 1 / 3 == pytest.approx(found["unrelated_question, 1 in 4 yes"])


def test_designs_that_take_too_many_people_are_left_out_with_a_word():
    """At a tiny epsilon people cannot be counted."""
    found = compare_designs(1e-4)
    kept = set(found.table["design"])
    assert "kuk, 2 cards" in kept
    assert kept == set(found.mechanisms)
    assert not kept & set(found.left_out)
    assert "kuk, 4 cards" == found.left_out[-1]
    for shown in (repr(found), found._repr_html_()):
        assert "2**40 people: unrelated_question, 1 in 4 yes" in " ".join(shown.split())
    assert () == plain(0.5).left_out
    assert ("with two answers k-RR is warner",) == plain(0.5).notes
    assert "left out" not in repr(plain(0.5)) + plain(0.5)._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0,), ArgumentValueError, "at least 1e-05"),
        ((1.0, ["a", "b", "c"]), ArgumentValueError, "two"),
        ((1.0, 0.1), ArgumentTypeError, "categories must be a list"),
    ],
)
def test_designs_that_cannot_be_compared_are_refused(arguments, error, words):
    """What is wrong with the request is said."""
    refused(error, words, compare_designs, *arguments)


# -- how it is shown -----------------------------------------------------------------------------


def test_a_table_of_designs_is_text_html_and_bars():
    """The same table in both, and bars are as long as the numbers say."""
    found = compare_designs(1.0, half_width=0.3)
    assert "crosswise" in repr(found)
    assert "crosswise" in found._repr_html_()
    frame = found.to_frame()
    frame["people"] = 0
    assert (found.table["people"] > 0).all()
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    try:
        ax = found.plot()
        assert found.table["people"].tolist() == [bar.get_width() for bar in ax.patches]
    finally:
        plt.close("all")
