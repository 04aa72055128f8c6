"""Plans with people who do not report, weights, and several questions."""

import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError

planning = rr.planning
Fieldwork = planning.Fieldwork


def test_people_are_asked_until_enough_report():
    """n r / d effective reports come of n people, and one person less is too few."""
    field = {"fieldwork": Fieldwork(response_rate=0.6, design_effect=1.3)}
    reports = planning.sample_size(0.02, 0.1, epsilon=1.0)
    asked = planning.sample_size(0.02, 0.1, epsilon=1.0, **field)
    assert (asked - 1) * 0.6 / 1.3 < reports <= asked * 0.6 / 1.3
    assert planning.half_width(asked, 0.1, epsilon=1.0, **field) <= 0.02
    assert planning.half_width(asked - 1, 0.1, epsilon=1.0, **field) > 0.02


def test_rates_are_read_as_written():
    """57% of 100 people are 57, although 0.57 as a double is less."""
    alone = planning.half_width(57, 0.3, epsilon=1.0)
    assert (
        planning.half_width(100, 0.3, epsilon=1.0, fieldwork=Fieldwork(response_rate=0.57)) == alone
    )
    assert (
        planning.half_width(57, 0.3, epsilon=1.0, fieldwork=Fieldwork(design_effect=1.0)) == alone
    )


def test_power_is_that_of_the_effective_reports():
    """Power, sample size, difference and epsilon take the same words."""
    field = {"fieldwork": Fieldwork(response_rate=0.5, design_effect=2.0)}
    test = {"epsilon": 1.0, "other": 0.1}
    assert planning.power(4000, 0.2, **test, **field) == planning.power(1000, 0.2, **test)
    reports = planning.people_for_power(0.8, 0.25, **test)
    assert planning.people_for_power(0.8, 0.25, **test, **field) == 4 * reports
    assert planning.detectable_difference(4000, **test, **field) == planning.detectable_difference(
        1000, **test
    )
    least = planning.least_epsilon(0.03, 4000, 0.1, **field)
    assert least == planning.least_epsilon(0.03, 1000, 0.1)
    fit = {"against": [0.5, 0.3, 0.2], "epsilon": 1.0}
    expected = planning.power(1000, [0.4, 0.4, 0.2], 3, **fit)
    assert planning.power(4000, [0.4, 0.4, 0.2], 3, **fit, **field) == expected


def test_several_items_hold_together():
    """Items divide alpha, and 1 - level, by their number."""
    together = planning.half_width(1000, 0.2, epsilon=1.0, fieldwork=Fieldwork(items=5))
    assert together == pytest.approx(planning.half_width(1000, 0.2, epsilon=1.0, level=0.99))
    together = planning.sample_size(0.05, 0.2, epsilon=1.0, fieldwork=Fieldwork(items=4), level=0.9)
    assert together == planning.sample_size(0.05, 0.2, epsilon=1.0, level=0.975)
    together = planning.power(
        1000, 0.2, epsilon=1.0, against=0.1, fieldwork=Fieldwork(items=5), alpha=0.1
    )
    assert together == pytest.approx(
        planning.power(1000, 0.2, epsilon=1.0, against=0.1, alpha=0.02)
    )


def test_impossible_fieldwork_is_refused():
    """Rates, effects and items outside their range, and words of other packages, are answered."""
    for options, words in (
        ({"response_rate": 0.0}, r"response_rate must be in \(0, 1\]"),
        ({"response_rate": 1.1}, "response_rate must be in"),
        ({"design_effect": 0.0}, "design_effect must be"),
        ({"items": 0}, "items must be"),
    ):
        with pytest.raises(ArgumentValueError, match=words):
            Fieldwork(**options)
    with pytest.raises(ArgumentValueError, match="design_effect must be left out"):
        planning.half_width(
            100, 0.2, epsilon=1.0, target="sample", fieldwork=Fieldwork(design_effect=2.0)
        )
    with pytest.raises(ArgumentValueError, match="n must be at least 20 people"):
        planning.half_width(10, 0.2, epsilon=1.0, fieldwork=Fieldwork(response_rate=0.05))
    for wrong, right in (
        ({"deff": 2.0}, r"fieldwork=rr.planning.Fieldwork\("),
        ({"items": 2}, "fieldwork"),
        ({"null": 0.2}, "against"),
        ({"nobs1": 3}, "n"),
        ({"effect_size": 0.2}, "proportion"),
        ({"prop2": 0.2}, "other"),
        ({"nonresponse": 0.2}, "response_rate"),
    ):
        with pytest.raises(ArgumentTypeError, match=right):
            planning.power(100, 0.2, **wrong)
