"""Chances of a plan's parts that are best for what is wanted, and the people that a plan needs."""

import math

import numpy as np
import pytest
import scipy
from refusals import refused

import rrstats as rr

COLUMNS = {"a": range(4), "b": range(6)}
WANT = ["a", "b", ("a", "b")]


def variances(chances):
    """n Var of all three, at some chances."""
    return (
        rr.planning.FramePlan(COLUMNS, 1.2, WANT, chances=chances)
        .variances()["variance"]
        .to_numpy()
    )


@pytest.mark.parametrize(("criterion", "value"), [("minimax", np.max), ("total", np.sum)])
def test_no_other_chances_are_better(criterion, value):
    """The criterion grows in every direction of the simplex, and equal chances are worse."""
    best = rr.planning.plan(COLUMNS, 1.2, WANT, chances=criterion)
    least = value(variances(best.chances))
    assert least < 0.97 * value(variances([1, 1, 1]))
    for direction in ([1, -1, 0], [0, 1, -1], [1, 0, -1]):
        for step in (-0.02, 0.02):
            moved = np.array(best.chances) + step * np.array(direction)
            assert value(variances(moved)) > least
    if criterion == "minimax":
        assert np.allclose(variances(best.chances), least, rtol=1e-4)


def test_equal_questions_have_equal_chances():
    """All pairs of like columns, and proportions of like columns: the chances stay equal."""
    columns = {name: range(3) for name in "abc"}
    for want in ("pairs", "proportions"):
        plan = rr.planning.plan(columns, 1, want, chances="minimax")
        assert np.allclose(plan.chances, 1 / 3, atol=1e-4)
    assert rr.planning.plan(columns, 1, chances="equal").chances == (1.0, 1.0, 1.0)


def test_people_and_half_width_are_those_of_variances():
    """Both follow from n Var by the normal quantile, and each is the inverse of the other."""
    plan = rr.planning.plan(COLUMNS, 1.2, WANT, chances=[1, 2, 3])
    table = plan.variances(0.3).set_index("estimate")["variance"]
    for names, label in (
        (("a",), "a"),
        (("b",), "b"),
        (("a", "b"), "a & b"),
        (("b", "a"), "a & b"),
    ):
        half = plan.half_width(5000, *names, proportion=0.3)
        assert half == pytest.approx(1.959964 * math.sqrt(table[label] / 5000), rel=1e-6)
        n = plan.sample_size(half * 0.999, *names, proportion=0.3)
        assert 5000 < n < 5020
        assert plan.half_width(n, *names, proportion=0.3) <= half * 0.999
        assert plan.half_width(n - 1, *names, proportion=0.3) > half * 0.999


@pytest.mark.parametrize("chances", [[0.98, 0.01, 0.01], [math.nan] * 3], ids=["worse", "nan"])
@pytest.mark.parametrize("criterion", ["minimax", "total"])
def test_chances_that_are_no_better_than_equal_ones_are_refused(monkeypatch, criterion, chances):
    """A programme that ends at worse chances, or at no numbers, says what to do."""
    ended = scipy.optimize.OptimizeResult(x=np.array([*chances, 1.0]))
    monkeypatch.setattr(scipy.optimize, "minimize", lambda *_, **__: ended)
    with pytest.raises(rr.errors.ArgumentValueError, match="better than equal ones; give a list"):
        rr.planning.plan(COLUMNS, 1.2, WANT, chances=criterion)


def test_what_cannot_be_planned_is_refused():
    """Pairs that are never asked, unknown criteria and widths say what to do."""
    plan = rr.planning.plan({"a": range(2), "b": range(3)}, 1)
    error = rr.errors.ArgumentValueError
    refused(error, "two that it asks together.*want=", plan.sample_size, 0.02, "a", "b")
    refused(error, "names must be one column", plan.half_width, 100)
    refused(error, "column 'c' is not there", plan.sample_size, 0.02, "c")
    refused(error, "half_width must be in", plan.sample_size, 0.7, "a")
    refused(error, "people must be", plan.half_width, 0, "a")
    refused(error, "chances must be one of", rr.planning.plan, COLUMNS, 1, WANT, chances="best")
