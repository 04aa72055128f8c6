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


@pytest.mark.parametrize(
    ("check", "rule"),
    [(check_level, r"level must be in \[0.5, 1\)"), (check_alpha, r"in \(0, 1\)")],
)
@pytest.mark.parametrize("value", [95, 1, 0, -0.1, float("nan"), float("inf")])
def test_levels_and_alphas_are_refused_outside_their_range(check, rule, value):
    """A level is a number from 0.5 to 1, an alpha one between 0 and 1."""
    with pytest.raises(ArgumentValueError, match=rule):
        check(value)


@pytest.mark.parametrize(
    ("value", "hint"), [(95, "write 0.95 for 95%"), (0.1, "for alpha = 0.1 give level=0.9")]
)
def test_a_percentage_and_an_alpha_are_told_as_a_level(value, hint):
    """Words of other packages are answered with the level that was meant."""
    with pytest.raises(ArgumentValueError, match=hint):
        check_level(value)


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
