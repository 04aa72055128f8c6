"""What protection costs beside a direct question, and when it is worth its price.

`design_effect` is how many times the people of a direct question a mechanism takes for the same
precision, if everybody tells the truth to both.  They do not: who would lie to a direct
question biases it by f t, whatever the number of people.  `break_even` is the share t of liars from
which on randomized response has the smaller mean squared error.
Law: deff = v(f) / (f (1 - f)), n_eff = n / deff; g = f (1 - t) + (1 - f) u says yes directly, and
MSE = (g - f)^2 + g (1 - g) / n, against v(f) / n.
Nothing here knows how many lie: that takes a validation study.
Source: Warner (1965), sect. 4; Lensvelt-Mulders, Hox, van der Heijden and Maas (2005).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from rrstats.errors import ArgumentValueError
from rrstats.planning.questions import ask, check_people, check_share

__all__ = ["break_even", "design_effect"]


def design_effect(
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    category: Hashable = None,
    mix: Any = None,
) -> float:
    """How many times the people of a direct question it takes for the same precision.

    share : the true share that one expects; at 0 and 1, where a direct question has no variance,
        the effect is infinite.  The other arguments as in `half_width`.
    Everybody is taken to tell the truth to both: see `break_even`.

    >>> round(design_effect(0.2, 10, epsilon=1.0), 1)
    29.5
    >>> round(1000 / design_effect(0.2, 10, epsilon=1.0))
    34

    With 10 categories at epsilon 1, a thousand reports say as much of a share of 20% as 34 people
    who are asked directly.
    """
    question = ask(mechanism, prob, epsilon, category=category, mix=mix)
    expected = check_share(share, "share")
    spread, direct = question.spread(expected), expected * (1 - expected)
    return spread / direct if direct else math.inf


def break_even(
    n: int,
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    accusing: float = 0.0,
    still_denying: float = 0.0,
    category: Hashable = None,
    mix: Any = None,
) -> float:
    """How many liars a direct question must have before randomized response is nearer the truth.

    n : people asked in either way.  share : the true share of carriers, in [0, 1].
    mechanism, prob, epsilon, category, mix : as in `half_width`.
    accusing : the share of the others who say yes to the direct question, against the truth.
    still_denying : the share of carriers who follow the instructions as if they were none.
    Returns t in [0, 1]: where more than this share of carriers deny it when asked directly, the
    mean squared error of the direct question is the larger one.  Infinite where it never is:
    then even a question that everybody lies to is nearer, for so few people.
    Formula: the larger root of (g - f)^2 + g (1 - g) / n = MSE of randomized response.

    >>> round(break_even(1000, 0.1, epsilon=1.0), 3)
    0.308
    >>> round(break_even(10_000, 0.1, epsilon=1.0), 3)
    0.096
    >>> break_even(50, 0.1, epsilon=1.0)
    inf

    With 1,000 people and 10% carriers, epsilon 1 pays if more than 31% of carriers would deny
    it; with 10,000 if more than 10% would; with 50 people never.
    """
    size = check_people(n)
    question = ask(mechanism, prob, epsilon, category=category, mix=mix)
    f, u = check_share(share, "share"), check_share(accusing, "accusing")
    kept = check_share(still_denying, "still_denying")
    seen = f * (1 - kept)
    error = question.spread(seen) / size + (f - seen) ** 2
    if f == 0:
        raise ArgumentValueError("share must be above 0: where nobody has it, nobody denies it")
    return _liars(size, f, u, error)


def _liars(n: int, f: float, u: float, error: float) -> float:
    """The largest t at which a direct question still has no larger mean squared error."""

    def direct(t: float) -> float:
        g = f * (1 - t) + (1 - f) * u
        return (g - f) ** 2 + g * (1 - g) / n

    if direct(1.0) <= error:
        return math.inf
    # a g^2 + 2 b g + c = 0; the smaller g is the larger t.
    a, b, c = 1 - 1 / n, 1 / (2 * n) - f, f * f - error
    inside = b * b - a * c
    # False accusations alone are worse, however many deny; or one person is asked, and for a share
    # of up to 1/2 every yes is an error.
    if inside < 0 or b >= 0:
        return 0.0
    g = c / (-b + math.sqrt(inside))
    t = 1 - (g - (1 - f) * u) / f
    return t if 0 <= t <= 1 else 0.0  # beyond 1: so many accuse that denials would mend it
