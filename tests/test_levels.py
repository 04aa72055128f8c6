"""Each door that takes a level of confidence or of significance refuses what is none."""

import inspect
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats._checks import check_alpha, check_level
from rrstats.errors import ArgumentTypeError, ArgumentValueError

COIN = rr.KRR(["no", "yes"], epsilon=2)
ARGUMENTS = {
    "association": {"kind": "phi"},
}
"""What methods need besides the level."""


@pytest.fixture(scope="module")
def results():
    """A result of each common kind."""
    rng = np.random.default_rng(1)
    answers = rng.choice(["no", "yes"], (400, 2))
    people = pd.DataFrame(answers, columns=["a", "b"]).assign(
        group=rng.choice(["p", "q", "r"], 400), amount=rng.normal(size=400)
    )
    released = people.rr.simulate({"a": COIN, "b": COIN}, seed=1)
    groups = released.rr.estimate("a", by="group")
    fits = {}
    if find_spec("formulaic"):
        fits["logit"] = released.rr.logit("a ~ amount")
        fits["linear"] = released.rr.linear("amount ~ a")
    return fits | {
        "estimate": released.rr.estimate("a"),
        "groups": groups,
        "pooled": groups.pooled(),
        "difference": rr.difference(groups["p"], groups["q"]),
        "crosstab": released.rr.crosstab("a", "b"),
        "mean": released.rr.means("amount", "a"),
        "bounds": released.rr.estimate("a").noncompliance(0.1),
        "category": released.rr.estimate("a")["yes"],
        "difference of means": released.rr.means("amount", "a").difference("no", "yes"),
        "tipping point": released.rr.estimate("a").tipping_point("yes", 0.4),
    }


@pytest.mark.parametrize("check", [check_level, check_alpha])
@pytest.mark.parametrize("value", [95, 1, 0, -0.1, float("nan"), float("inf")])
def test_levels_lie_between_0_and_1(check, value):
    """A level is a number between 0 and 1; a percentage is named as such."""
    with pytest.raises(ArgumentValueError, match=r"must be in \(0, 1\)"):
        check(value)


@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
@pytest.mark.parametrize("wrong", [95, 1, 0, float("nan"), "x", None])
def test_each_method_with_a_level_checks_it(results, wrong):
    """Every method of every result that takes a level refuses what is none, by its name."""
    doors = 0
    for result in results.values():
        for name, method in inspect.getmembers(result, inspect.ismethod):
            if name.startswith("_") or name in ("satterthwaite", "predict"):
                continue  # the last two need clusters and profiles
            parameters = inspect.signature(method).parameters
            for argument in {"level", "alpha"} & set(parameters):
                doors += 1
                arguments = ARGUMENTS.get(name, {})
                with pytest.raises((ArgumentValueError, ArgumentTypeError), match=argument):
                    method(**arguments, **{argument: wrong})
    assert doors > 30


@pytest.mark.parametrize("level", [95, 1, 0, float("nan")])
def test_anytime_intervals_check_their_level(results, level):
    """An interval that holds at every look has a level like any other."""
    with pytest.raises(ArgumentValueError, match="level must be"):
        results["estimate"].interval(level, anytime=True)
