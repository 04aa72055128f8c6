"""Epsilon and the probability of a true report, each rounded towards privacy.

Law: epsilon is abs(ln(p (k-1) / (1-p))), the tightest double above it, and its inverse the
largest p whose exact epsilon is at most the request (`outward`).

Three numbers are all called p in the literature.  Ours is ``prob``, P(report = truth), as in
OpenDP.  The derivation of k-RR by epsilon, and RAPPOR's f, use the probability of a uniform
draw that may hit the truth; Google's dp-accounting calls that one ``noise_parameter``.
Sources: OpenDP, proof of make_randomized_response; Kairouz, Bonawitz and Ramage (2016).
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

from rrstats.errors import ArgumentValueError
from rrstats.privacy.outward import context, enclose_log, epsilon_from_odds
from rrstats.privacy.ranges import as_number, check_epsilon, check_k, check_prob

__all__ = [
    "epsilon_from_prob",
    "largest_epsilon",
    "noise_parameter_from_prob",
    "prob_from_epsilon",
    "prob_from_noise_parameter",
    "prob_from_uniform_draw",
    "uniform_draw_from_prob",
]

_LARGEST_PROB = math.nextafter(1.0, 0.0)


def _epsilon_at_most(prob: float, k: int, epsilon: float) -> bool:
    """Whether the exact epsilon of ``prob`` is at most the exact number ``epsilon``."""
    odds = _odds(prob, k)
    if odds == 1:
        return True
    if odds < 1:
        odds = 1 / odds
    digits, limit = 40, Decimal(epsilon)
    while True:
        low, high = enclose_log(odds, digits)
        if high <= limit:
            return True
        if low > limit:
            return False
        digits *= 2  # never endless: the log of a rational other than 1 is irrational


def _odds(prob: float, k: int) -> Fraction:
    exact = Fraction(prob)
    return exact * (k - 1) / (1 - exact)


def epsilon_from_prob(prob: float, k: int) -> float:
    """The privacy loss of k-ary randomized response, rounded up.

    prob : P(report = truth), in (0, 1).  k : number of categories, at least 2.
    Returns epsilon in nats: the smallest double not below abs(ln(prob (k-1) / (1-prob))),
    where ``prob`` is the exact rational number that the double is.
    Raises ArgumentValueError outside these ranges.
    Source: OpenDP, proof of make_randomized_response; abs() covers prob below 1/k.

    >>> epsilon_from_prob(0.75, 2)
    1.0986122886681098
    """
    k = check_k(k)
    return epsilon_from_odds(_odds(check_prob(prob, k, lowest=0.0), k))


def largest_epsilon(k: int) -> float:
    """The epsilon of the largest double below 1, rounded up: no double expresses more.

    >>> largest_epsilon(2)
    36.73680056967711
    """
    return epsilon_from_odds(_odds(_LARGEST_PROB, check_k(k)))


def prob_from_epsilon(epsilon: float, k: int) -> float:
    """The largest P(report = truth) whose exact epsilon is at most the request.

    epsilon : nats, finite, at least 0.  k : number of categories, at least 2.
    Returns a double in [1/k, 1); the double below 1 where the request is beyond all doubles
    (`KRR` refuses such a request).  Raises ArgumentValueError where no double is private
    enough: only for requests of the size of one rounding error.
    Formula: e^epsilon / (e^epsilon + k - 1), then rounded towards privacy.

    >>> prob_from_epsilon(1.0, 2)
    0.7310585786300048
    >>> epsilon_from_prob(0.7310585786300048, 2) <= 1.0
    True
    """
    k = check_k(k)
    epsilon = check_epsilon(epsilon)
    if epsilon > 64 + math.log(k):  # beyond the largest double below 1, by far
        return _LARGEST_PROB
    with decimal.localcontext(context(40)):
        grown = Decimal(epsilon).exp()
        prob = min(float(grown / (grown + k - 1)), _LARGEST_PROB)
    if _epsilon_at_most(prob, k, epsilon):
        while prob < _LARGEST_PROB:
            following = math.nextafter(prob, 1.0)
            if not _epsilon_at_most(following, k, epsilon):
                break
            prob = following
        return prob
    lowest = 1 / k
    while prob > lowest:
        prob = math.nextafter(prob, 0.0)
        if _epsilon_at_most(prob, k, epsilon):
            return prob
    raise ArgumentValueError(
        f"epsilon {epsilon!r} is below what a double can express for {k} categories; "
        f"the smallest possible is {epsilon_from_odds(_odds(lowest, k))!r}"
    )


# -- the other meanings of p ---------------------------------------------------------------


def prob_from_uniform_draw(prob_uniform_draw: float, k: int) -> float:
    """P(report = truth) where the report is a uniform draw over all k with a given probability.

    prob_uniform_draw : P(a draw replaces the truth), in (0, 1]; the draw may hit the truth.
    Returns the nearest double to 1 - d + d/k that is below 1; the derivation by epsilon has
    d = k / (k - 1 + e^epsilon), and `prob_from_epsilon` rounds that towards privacy.

    >>> prob_from_uniform_draw(0.5, 2)
    0.75
    """
    k = check_k(k)
    draw = as_number(prob_uniform_draw, "prob_uniform_draw")
    if not 0 < draw <= 1:
        raise ArgumentValueError(f"prob_uniform_draw must be in (0, 1], got {draw!r}")
    return min(float(1 - Fraction(draw) * (k - 1) / k), _LARGEST_PROB)


def uniform_draw_from_prob(prob: float, k: int) -> float:
    """The probability of a uniform draw, which may hit the truth, behind P(report = truth).

    Formula: k (1 - prob) / (k - 1).

    >>> uniform_draw_from_prob(0.75, 2)
    0.5
    """
    k = check_k(k)
    return float((1 - Fraction(check_prob(prob, k))) * k / (k - 1))


def prob_from_noise_parameter(noise_parameter: float, k: int) -> float:
    """P(report = truth) for dp-accounting's ``noise_parameter`` with k buckets.

    The same number as the probability of a uniform draw, under Google's name.

    >>> prob_from_noise_parameter(0.5, 2)
    0.75
    """
    return prob_from_uniform_draw(noise_parameter, k)


def noise_parameter_from_prob(prob: float, k: int) -> float:
    """dp-accounting's ``noise_parameter`` (k buckets) for P(report = truth).

    >>> noise_parameter_from_prob(0.75, 2)
    0.5
    """
    return uniform_draw_from_prob(prob, k)
