"""Whether a survey will notice: the power of a test, the people it takes, the least difference.

Two questions: whether one share differs from a value that is known (``against``), and whether
it differs from the share of a second group, asked by the same mechanism (``other``).
Law: the binomial law of the reports over the region of rejection of the exact test that belongs
to the default interval; for two groups, of the z test of two reported shares with their pooled
variance.  Where no count is binomial, for more people than that is added up for, and by request
(``exact=False``) the normal formula: with v(f) = s (1 - s) / (p - q)^2, or the channel's variance
of one report, 1 - Phi((f0 + z sqrt(v(f0) / n) - f) / sqrt(v(f) / n)), and both tails for two
sides; two groups add their variances, and f0 is a difference.  The formula says too few people
where few reports are expected: a value near 0 and a large epsilon, 5 instead of 29.
The people returned reach the power that was asked: R's rr (1.4.2) stops at .790 for .80.
Not for intervals: `people` plans a width.  For more than two categories at once see the
power of the tests of goodness of fit.
Source: Blair, Imai and Zhou (2015), sect. 4; rr's `power.rr.test`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from rrstats.errors import ArgumentValueError
from rrstats.planning.questions import ask, check_open, check_people, check_share
from rrstats.planning.rejecting import check_pair, described
from rrstats.planning.widths import first

__all__ = ["detectable", "people_for_power", "power"]


def power(
    n: int,
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    against: float | None = None,
    other: float | None = None,
    null: float | None = None,
    ratio: float = 1.0,
    alternative: str = "two-sided",
    significance: float = 0.05,
    exact: bool | None = None,
    category: Hashable = None,
    mix: Any = None,
) -> float:
    """The probability that a test will notice what is there.

    n : people who report; with ``other`` people in the first group.
    share : the true share that one expects.
    mechanism, prob, epsilon, category, mix : as in `half_width`.
    against : the value that the share is tested against; or
    other : the share that one expects in the second group, which has n times ``ratio`` people.
    null : for two groups, the share of both if they do not differ, by default their mean; for
        the normal formula, which is taken where it is given.
    alternative : "two-sided", "greater" (the share than the value, or than the other) or "less".
    significance : the probability of a false alarm, in (0, 1).
    exact : True: by the binomial law of the reports, of the exact test (two-sided: half of the
        significance to each side) or the pooled z test.  False: by the normal formula, as R's
        rr.  By default the law where counts are binomial and n is at most 1,000,000,000, in the
        first of two groups 20,000; else the formula.
    Raises ArgumentTypeError unless one of against and other is given.

    >>> die = {"prob_truth": 2/3, "prob_forced": [1/6, 1/6]}
    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], **die)
    >>> round(power(1000, 0.15, m, against=0.10), 3)
    0.669
    >>> round(power(1000, 0.15, m, against=0.10, exact=False), 3)
    0.695
    >>> round(power(1000, 0.25, m, other=0.15), 3)
    0.903

    If 15% did it, 1,000 people notice in 2 of 3 surveys that it is not 10%.
    """
    size = check_people(n)
    question = ask(mechanism, prob, epsilon, category=category, mix=mix)
    test = described(question, share, against, other, null, ratio, alternative, significance, exact)
    return float(test.power(np.array([size]))[0])


def people_for_power(
    power: float,
    share: float,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    against: float | None = None,
    other: float | None = None,
    null: float | None = None,
    ratio: float = 1.0,
    alternative: str = "two-sided",
    significance: float = 0.05,
    exact: bool | None = None,
    category: Hashable = None,
    mix: Any = None,
) -> int:
    """How many people it takes to notice with this probability; truly reached.

    power : in (0, 1); 0.8 and 0.9 are usual.  The other arguments as in `power`.
    Returns the smallest n from which on the power is at least that; of two groups the
    people of the first.  By the exact law power goes up and down with n, as counts are whole:
    it holds for larger n too, up to where its waves have died away, at most a million ahead.
    Raises ArgumentValueError where no n does: the share is not on the side of the alternative.

    >>> import rrstats as rr
    >>> m = rr.surveys.forced_response(["no", "yes"], 2/3, [1/6, 1/6])
    >>> n = people_for_power(0.8, 0.1, m, against=0, alternative="greater")
    >>> n, round(power(n, 0.1, m, against=0, alternative="greater"), 4)
    (241, 0.8079)
    >>> people_for_power(0.8, 0.1, m, against=0, alternative="greater", exact=False)
    212

    241 people, one in ten of whom did it, show that somebody did in 4 of 5 surveys; by the normal
    formula 212 would be enough.
    """
    wanted = check_open(power, "power", why="; no number of people makes it certain" * (power == 1))
    question = ask(mechanism, prob, epsilon, category=category, mix=mix)
    test = described(question, share, against, other, null, ratio, alternative, significance, exact)
    test.check_possible(wanted)

    def reached(n: int) -> bool:
        return bool(test.power(np.array([n]))[0] >= wanted)

    start = test.guess(wanted)
    if start > test.most:
        raise ArgumentValueError(
            f"a power of {wanted:g} takes about {start:.2g} people, more than "
            f"{'the exact law is added up for: leave exact out' if exact else '2**53'}"
        )
    found = first(reached, max(1, math.ceil(start)))
    return test.settle(found, wanted)


def detectable(
    n: int,
    mechanism: Any = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    against: float | None = None,
    other: float | None = None,
    ratio: float = 1.0,
    power: float = 0.8,
    alternative: str = "two-sided",
    significance: float = 0.05,
    exact: bool | None = None,
    category: Hashable = None,
    mix: Any = None,
) -> float:
    """The least difference from a value, or between two groups, that n people will notice.

    against, other : the value, or the share of the other group, in [0, 1].
    alternative : "less" looks below it, the others above.  The other arguments as in `power`.
    Returns the distance of the share from ``against`` or ``other``, at which the power is reached.
    Raises ArgumentValueError where no share does, and says what power the farthest one has.

    >>> round(detectable(1000, epsilon=1.0, against=0.1), 4)
    0.0911
    >>> round(detectable(1000, epsilon=1.0, other=0.1), 4)
    0.1286

    At epsilon 1 a survey of 1,000 will see that a share is not 10% once it is 19%; of two groups
    of 1,000 that one has 10% and the other 23%.
    """
    size, wanted = check_people(n), check_open(power, "power")
    question = ask(mechanism, prob, epsilon, category=category, mix=mix)
    check_pair(against, other)
    from_here = check_share(other if against is None else against, "against or other")

    def reached(share: float) -> float:
        test = described(
            question, share, against, other, None, ratio, alternative, significance, exact
        )
        return float(test.power(np.array([size]))[0])

    near, far = from_here, 0.0 if alternative == "less" else 1.0
    if near == far or reached(far) < wanted:
        most = significance if near == far else reached(far)
        raise ArgumentValueError(
            f"{size:,} people reach a power of {most:.3g} even at a share of {far:g}, less than "
            f"{wanted:g}; take more people, or a larger epsilon"
        )
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (near, middle) if reached(middle) >= wanted else (middle, far)
    return abs(far - from_here)
