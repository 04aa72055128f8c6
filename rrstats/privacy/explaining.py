"""What an epsilon means for one person: odds, chances before and after, in plain words.

Law: after a report the odds of any true answer have changed by a factor of at most e^epsilon.
Computed in fractions and rounded so that no number flatters.
Source: Evfimievski, Gehrke and Srikant (2003).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rrstats._checks import check_number
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.epsilon import magnitude, round_up, rounded, written

if TYPE_CHECKING:
    from rrstats.mechanisms.base import Mechanism

__all__ = ["explain", "posterior"]


def _check_prior(prior: object) -> float:
    value = check_number(prior, "prior")
    if not 0 < value < 1:
        raise ArgumentValueError(
            f"prior must be in (0, 1), got {value!r}; it is what somebody believed before seeing "
            "the report, as a probability"
        )
    return value


def posterior(prior: float, odds: float) -> float:
    """P(truth is v) after a report whose likelihood ratio for v is ``odds``, from P before.

    prior : in (0, 1).  odds : P(report | v) / P(report | not v), at least 0; may be infinite.
    Formula: prior odds / (prior odds + 1 - prior).

    >>> round(posterior(0.01, 3.0), 6)
    0.029412
    """
    before, ratio = _check_prior(prior), check_number(odds, "odds")
    if not ratio >= 0:
        raise ArgumentValueError(f"odds must be at least 0, got {ratio!r}")
    return before * ratio / (before * ratio + 1 - before) if ratio < math.inf else 1.0


def explain(mechanism: Mechanism, prior: float = 0.05) -> str:
    """What a mechanism's epsilon means for one person, in odds and in plain words.

    mechanism : any mechanism.  prior : what somebody believed before seeing the report:
    the probability, in (0, 1), that this person's true answer is a given one.
    Returns one paragraph; computed exactly and rounded so that no number flatters.
    Source: Evfimievski, Gehrke and Srikant (2003), sect. 2.

    >>> import rrstats as rr
    >>> print(rr.privacy.explain(rr.KRR(["yes", "no"], 0.75), prior=0.01))
    Epsilon is 1.099 per report. Seeing a report changes the odds of any true answer by a \
factor of at most 3. Somebody who gave a certain answer a chance of 1% before seeing the \
report can give it at most 3% afterwards, and at least 0.33%.
    """
    channel = getattr(mechanism, "channel", None)
    if channel is None or isinstance(mechanism, type):
        raise ArgumentTypeError(
            f"mechanism must be a mechanism such as rr.KRR(['yes', 'no'], 0.75), found "
            f"{mechanism.__name__ if isinstance(mechanism, type) else type(mechanism).__name__}"
        )
    # The decimal that was typed, not the double behind it: 5% is 1/20.
    typed = Decimal(repr(_check_prior(prior)))
    before, chance = Fraction(typed), f"{written(typed.scaleb(2))}%"
    factor = channel.max_likelihood_ratio
    if not isinstance(factor, Fraction):
        return (
            "Epsilon is infinite: some report proves, or rules out, a true answer. "
            "This is no protection for the person who gives that report."
        )
    if factor == 1:
        return (
            "Epsilon is 0 per report: every true answer makes every report equally likely, so "
            f"whoever gave a certain answer a chance of {chance} before seeing the "
            "report has no reason to change that. Nothing can be estimated from such reports."
        )
    highest = before * factor / (before * factor + 1 - before)
    lowest = before / (before + factor * (1 - before))
    return (
        f"Epsilon is {round_up(Fraction(mechanism.epsilon))} per report. Seeing a report changes "
        f"the odds of any true answer by a factor of at most {_factor(factor)}. Somebody who gave "
        f"a certain answer a chance of {chance} before seeing the report can give it "
        f"at most {_percent(highest, up=True)} afterwards, and at least "
        f"{_percent(lowest, up=False)}."
    )


def _factor(factor: Fraction) -> str:
    """A factor above 1, rounded up: three digits, and two of what it is above 1."""
    if factor >= 2:
        return round_up(factor, 3)
    return written(rounded(factor, min(6, 1 - magnitude(factor - 1)), up=True))


def _percent(share: Fraction, *, up: bool) -> str:
    """A share in percent, with two digits of itself or of what is missing to 100%."""
    percent = share * 100
    places = 1 - magnitude(min(percent, 100 - percent))
    if percent > 50:
        places = min(places, 6)
    return f"{written(rounded(percent, places, up=up))}%"
