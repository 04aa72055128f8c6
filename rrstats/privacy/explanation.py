"""The meaning of an epsilon for one person, in plain words.

Source: Evfimievski, Gehrke and Srikant (2003).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pandas as pd

from rrstats._checks import check_number, check_probability
from rrstats._display import Text, counted
from rrstats._names import checked_keywords
from rrstats.mechanisms.attrs import released_records
from rrstats.mechanisms.base import HasMechanism, Mechanism, mechanism_of
from rrstats.mechanisms.epsilon import magnitude, round_up, rounded, written
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.plans import dominating
from rrstats.mechanisms.row_privacy import VOID, row_epsilon


def probability_after(prior: float, likelihood_ratio: float) -> float:
    """Return the probability of a true answer after a report, by Bayes' rule.

    Parameters
    ----------
    prior : float
        Probability of the true answer v before the report, in (0, 1).
    likelihood_ratio : float
        P(report | v) / P(report | not v), at least 0; may be infinite.

    Returns
    -------
    float
        The probability of v after the report.

    Examples
    --------
    >>> round(probability_after(0.01, 3.0), 6)
    0.029412
    """
    before = check_probability(prior, "prior", "()")
    ratio = check_number(likelihood_ratio, "likelihood_ratio", 0.0, math.inf)
    if ratio == math.inf:
        return 1.0
    return before * ratio / (before * ratio + 1 - before)


@checked_keywords
def explain(
    mechanism: Mechanism | HasMechanism | FramePlan | pd.DataFrame, prior: float = 0.05
) -> Text:
    """Explain what a mechanism's epsilon means for one person, in plain words.

    Parameters
    ----------
    mechanism : Mechanism, Estimate, Tally, FramePlan or DataFrame
        Any mechanism, an estimate or a tally of its reports, or a plan or a released frame, whose
        epsilon is that of all answers of a person together.
    prior : float, default 0.05
        The probability of a true answer of this person before the report is seen, in (0, 1).

    Returns
    -------
    Text
        One paragraph.  Its numbers are computed exactly and never rounded towards more privacy.

    References
    ----------
    Evfimievski, Gehrke and Srikant (2003), sect. 2.

    Examples
    --------
    >>> import rrstats as rr
    >>> print(rr.privacy.explain(rr.KRR(["yes", "no"], 0.75), prior=0.01))
    Epsilon is 1.099 per report. A report changes the odds of any true answer by a factor of at \
most 3. A true answer that had probability 1% before the report has probability at most 3% \
afterwards, and at least 0.33%.
    """
    if isinstance(mechanism, pd.DataFrame):
        return Text(_of_row(mechanism, prior))
    if not isinstance(mechanism, FramePlan):
        return Text("".join(explanation_parts(mechanism_of(mechanism), prior)))
    count = counted(len(mechanism.parts), "part")
    together = f"A person reports one of {count} of the plan. "
    # All parts have one epsilon, up to the rounding of their prob.
    weakest = max(mechanism.part_mechanisms, key=lambda part: part.max_likelihood_ratio)
    return Text(together + "".join(explanation_parts(weakest, prior)))


def _of_row(frame: pd.DataFrame, prior: float) -> str:
    """The meaning of a row's epsilon: its reports are as one of a mechanism of this epsilon."""
    records = released_records(frame)
    if any(record.simulated for record in records):
        return f"The privacy of a row is {VOID}."
    columns = counted(len(records), "private column")
    together = f"A row has reports of {columns}, which are taken together as one report. "
    return together + "".join(explanation_parts(dominating(row_epsilon(records)), prior))


def explanation_parts(mechanism: Mechanism, prior: float = 0.05) -> tuple[str, str]:
    """The sentence with epsilon, empty if it is 0 or infinite, and what it means for one person."""
    # The decimal that was typed, not the double behind it: 5% is 1/20.
    typed = Decimal(repr(check_probability(prior, "prior", "()")))
    before = Fraction(typed)
    chance = f"{written(typed.scaleb(2))}%"
    if mechanism.deck is not None:
        return "", (
            "Epsilon is infinite: cards are dealt without replacement, so people who know the "
            "other true answers of a block may learn this one for certain."
        )
    factor = mechanism.max_likelihood_ratio
    if not isinstance(factor, Fraction):
        return "", (
            "Epsilon is infinite: some report proves, or rules out, a true answer. "
            "This is no protection for the person who gives that report."
        )
    if factor == 1:
        return "", (
            "Epsilon is 0 per report: every true answer makes every report equally likely, so "
            f"a true answer that had probability {chance} before the report has the same "
            "probability afterwards. Nothing can be estimated from such reports."
        )
    highest = before * factor / (before * factor + 1 - before)
    lowest = before / (before + factor * (1 - before))
    return f"Epsilon is {round_up(Fraction(mechanism.epsilon))} per report. ", (
        f"A report changes the odds of any true answer by a factor of at most {_factor(factor)}. "
        f"A true answer that had probability {chance} before the report has probability "
        f"at most {_percent(highest, up=True)} afterwards, and at least "
        f"{_percent(lowest, up=False)}."
    )


def _factor(factor: Fraction) -> str:
    """A factor above 1, rounded up to three digits; near 1, to two digits of its excess over 1."""
    if factor >= 2:
        return round_up(factor, 3)
    return written(rounded(factor, min(6, 1 - magnitude(factor - 1)), up=True))


def _percent(proportion: Fraction, *, up: bool) -> str:
    """A proportion in percent, with two digits of itself or of its distance to 100%."""
    percent = proportion * 100
    places = 1 - magnitude(min(percent, 100 - percent))
    if percent > 50:
        places = min(places, 6)
    return f"{written(rounded(percent, places, up=up))}%"
