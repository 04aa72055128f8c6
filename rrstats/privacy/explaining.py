"""What an epsilon means for one person: odds, chances before and after, in plain words.

Law: after a report the odds of any true answer have changed by a factor of at most e^epsilon.
Computed in fractions and rounded so that no number flatters.
Source: Evfimievski, Gehrke and Srikant (2003).
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.privacy.outward import context
from rrstats.privacy.ranges import as_number

if TYPE_CHECKING:
    from rrstats.mechanisms.protocol import Mechanism

__all__ = ["explain", "posterior", "round_up"]


def _check_prior(prior: object) -> float:
    value = as_number(prior, "prior")
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
    before, ratio = _check_prior(prior), as_number(odds, "odds")
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
    before, chance = Fraction(typed), f"{_written(typed.scaleb(2))}%"
    odds = channel.odds
    if odds <= 0:
        return (
            "Epsilon is infinite: some report proves, or rules out, a true answer. "
            "This is no protection for the person who gives that report."
        )
    factor = odds if odds >= 1 else 1 / odds
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


def round_up(value: float | Fraction, digits: int = 4) -> str:
    """A number in ``digits`` significant digits, rounded up, as shown to people.

    A fraction is taken exactly; of a double, which comes from arithmetic, 12 digits count, so
    that 3.0000000000000004 is 3.

    >>> round_up(1.0986122886681098), round_up(0.0), round_up(float("inf"))
    ('1.099', '0', 'inf')
    >>> round_up(Fraction(1.0000000000000002)), round_up(8.3e-17)
    ('1.001', '8.3e-17')
    """
    if value == 0 or math.isinf(value):
        return f"{float(value):g}"
    exact = value if isinstance(value, Fraction) else Fraction(f"{value:.12g}")
    return _written(_rounded(exact, digits - 1 - _magnitude(exact), up=True))


def _magnitude(exact: Fraction) -> int:
    """The power of ten of the first digit of a positive fraction."""
    power = math.floor(math.log10(exact.numerator) - math.log10(exact.denominator))
    while Fraction(10) ** power > exact:
        power -= 1
    while Fraction(10) ** (power + 1) <= exact:
        power += 1
    return power


def _rounded(exact: Fraction, places: int, *, up: bool) -> Decimal:
    """A fraction with so many decimal places; one integer division, so rounded just once."""
    scaled = exact * Fraction(10) ** places
    digits = math.ceil(scaled) if up else math.floor(scaled)
    return Decimal(f"{digits}e{-places}")


def _written(number: Decimal) -> str:
    """A decimal as people write it, without needless zeros; plain where that is short."""
    with decimal.localcontext(context(max(28, len(number.as_tuple().digits)))):
        number = number.normalize()
    if number and not -6 <= number.adjusted() < 15:
        return f"{number:e}".replace("e+", "e")
    return f"{number:,f}"


def _factor(factor: Fraction) -> str:
    """A factor above 1, rounded up: three digits, and two of what it is above 1."""
    if factor >= 2:
        return round_up(factor, 3)
    return _written(_rounded(factor, min(6, 1 - _magnitude(factor - 1)), up=True))


def _percent(share: Fraction, *, up: bool) -> str:
    """A share in percent, with two digits of itself or of what is missing to 100%."""
    percent = share * 100
    places = 1 - _magnitude(min(percent, 100 - percent))
    if percent > 50:
        places = min(places, 6)
    return f"{_written(_rounded(percent, places, up=up))}%"
