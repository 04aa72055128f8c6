"""Epsilon and the probability of a true report, each rounded towards privacy.

A double is a rational number, so the odds p(k-1)/(1-p) are an exact fraction; epsilon is the
absolute value of their logarithm.  It is computed with `decimal`, whose ``ln`` and ``exp`` are
correctly rounded, enclosed between two decimals and stepped outward to a double (Ziv's
strategy: twice the digits when both ends do not round alike).  Never understated, never
more than one double above the exact value.

Three numbers are all called p in the literature.  Ours is ``prob``, P(report = truth), as in
OpenDP.  The derivation of k-RR by epsilon, and RAPPOR's f, use the probability of a uniform
draw that may hit the truth; Google's dp-accounting calls that one ``noise_parameter``.
Sources: OpenDP, proof of make_randomized_response; Kairouz, Bonawitz and Ramage (2016);
Evfimievski, Gehrke and Srikant (2003) for the odds.
"""

from __future__ import annotations

import decimal
import math
import numbers
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rrstats.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from rrstats.mechanisms.protocol import Mechanism

__all__ = [
    "check_epsilon",
    "check_k",
    "check_prob",
    "epsilon_from_odds",
    "epsilon_from_prob",
    "explain",
    "largest_epsilon",
    "noise_parameter_from_prob",
    "posterior",
    "prob_from_epsilon",
    "prob_from_noise_parameter",
    "prob_from_uniform_draw",
    "total_epsilon",
    "uniform_draw_from_prob",
]

_LARGEST_PROB = math.nextafter(1.0, 0.0)


# -- arguments -----------------------------------------------------------------------------


def as_number(value: object, name: str) -> float:
    """A finite or infinite real number as a double; raises for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        item = getattr(value, "item", None)  # a NumPy scalar or an array of one element
        if (
            item is None
            or getattr(value, "ndim", 0) != 0
            or type(value).__name__.startswith("bool")
        ):
            raise ArgumentTypeError(f"{name} must be a number, found {type(value).__name__}")
        return as_number(item(), name)
    try:
        return float(value)
    except OverflowError:
        raise ArgumentValueError(f"{name} is too large for a double") from None


def check_k(k: object) -> int:
    """The number of categories as an int; raises unless it is a whole number of at least 2."""
    if isinstance(k, bool) or not isinstance(k, numbers.Integral):
        raise ArgumentTypeError(
            f"k, the number of categories, must be an integer, found {type(k).__name__}"
        )
    if k < 2:
        raise ArgumentValueError(f"k, the number of categories, must be at least 2, got {k}")
    return int(k)


def check_prob(prob: object, k: int, *, lowest: float | None = None) -> float:
    """``prob`` as a double in [1/k, 1); raises with the allowed range otherwise.

    lowest : another lower end, excluded, where a function allows less than 1/k.
    """
    value = as_number(prob, "prob")
    if lowest is not None and lowest < value < 1:
        return value
    if lowest is None and 1 / k <= value < 1:
        return value
    if value == 1:
        why = "at 1 every report is the truth: no privacy"
    elif lowest is None and 0 < value < 1:
        why = f"below 1/{k} each other answer is likelier than the truth"
    else:
        why = "it is the probability that a report is the truth"
    allowed = f"[1/{k}, 1) for {k} categories" if lowest is None else f"({lowest:g}, 1)"
    raise ArgumentValueError(f"prob must be in {allowed}, got {value!r}; {why}")


def check_epsilon(epsilon: object) -> float:
    """``epsilon`` as a double; raises unless it is at least 0 and finite."""
    value = as_number(epsilon, "epsilon")
    if not 0 <= value < math.inf:
        raise ArgumentValueError(
            f"epsilon must be a finite number of at least 0 (nats), got {value!r}"
        )
    return value


# -- outward rounding ----------------------------------------------------------------------


def _double_above(number: Decimal | Fraction) -> float:
    """The smallest double that is not below an exact number."""
    nearest = float(number)
    exact = Decimal(nearest) if isinstance(number, Decimal) else Fraction(nearest)
    return nearest if exact >= number else math.nextafter(nearest, math.inf)  # type: ignore[operator]


def _enclose_log(odds: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals around ln(odds), for odds above 1."""
    with decimal.localcontext(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX):
        log = (Decimal(odds.numerator) / Decimal(odds.denominator)).ln()
        # The quotient is off by at most 10**(1-digits) relatively, hence its logarithm by
        # little more than that absolutely; the logarithm itself is correctly rounded.
        error = (1 + abs(log)) * Decimal(10) ** (3 - digits)
        return log - error, log + error


def epsilon_from_odds(odds: Fraction) -> float:
    """The tightest double not below abs(ln(odds)); infinite for odds of 0.

    odds : the worst ratio of the probabilities of one report under two truths, exact.
    """
    if odds <= 0:
        return math.inf
    if odds == 1:
        return 0.0
    if odds < 1:
        odds = 1 / odds
    digits = 40
    while True:
        low, high = _enclose_log(odds, digits)
        above_low, above_high = _double_above(low), _double_above(high)
        if above_low == above_high:
            return above_high
        digits *= 2


def _epsilon_at_most(prob: float, k: int, epsilon: float) -> bool:
    """Whether the exact epsilon of ``prob`` is at most the exact number ``epsilon``."""
    odds = _odds(prob, k)
    if odds == 1:
        return True
    if odds < 1:
        odds = 1 / odds
    digits, limit = 40, Decimal(epsilon)
    while True:
        low, high = _enclose_log(odds, digits)
        if high <= limit:
            return True
        if low > limit:
            return False
        digits *= 2  # never endless: the log of a rational other than 1 is irrational


def _odds(prob: float, k: int) -> Fraction:
    exact = Fraction(prob)
    return exact * (k - 1) / (1 - exact)


def total_epsilon(epsilons: Iterable[float]) -> float:
    """The sum of several epsilons, rounded up: what they spend together on one person.

    >>> total_epsilon([0.1, 0.2])
    0.30000000000000004
    """
    parts = [as_number(e, "epsilon") for e in epsilons]
    if any(math.isnan(e) or e < 0 for e in parts):
        raise ArgumentValueError("epsilons must be numbers of at least 0")
    if math.inf in parts:
        return math.inf
    return _double_above(sum(map(Fraction, parts), Fraction(0)))


# -- epsilon and prob ----------------------------------------------------------------------


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
    with decimal.localcontext(prec=40):
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
    Formula: 1 - d + d/k.  The derivation by epsilon has d = k / (k - 1 + e^epsilon).

    >>> prob_from_uniform_draw(0.5, 2)
    0.75
    """
    k = check_k(k)
    draw = as_number(prob_uniform_draw, "prob_uniform_draw")
    if not 0 < draw <= 1:
        raise ArgumentValueError(f"prob_uniform_draw must be in (0, 1], got {draw!r}")
    return float(1 - Fraction(draw) * (k - 1) / k)


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


# -- in plain words ------------------------------------------------------------------------


def posterior(prior: float, odds: float) -> float:
    """P(truth is v) after a report whose likelihood ratio for v is ``odds``, from P before.

    >>> round(posterior(0.01, 3.0), 6)
    0.029412
    """
    before = as_number(prior, "prior")
    if not 0 < before < 1:
        raise ArgumentValueError(f"prior must be in (0, 1), got {before!r}")
    return before * odds / (before * odds + 1 - before) if odds < math.inf else 1.0


def explain(mechanism: Mechanism, prior: float = 0.05) -> str:
    """What a mechanism's epsilon means for one person, in odds and in plain words.

    mechanism : any mechanism.  prior : what somebody believed before seeing the report:
    the probability, in (0, 1), that this person's true answer is a given one.
    Returns one paragraph; numbers are rounded so that they never flatter.
    Source: Evfimievski, Gehrke and Srikant (2003), sect. 2.

    >>> import rrstats as rr
    >>> print(rr.privacy.explain(rr.KRR(["yes", "no"], 0.75), prior=0.01))
    Epsilon is 1.099 per report. Seeing a report changes the odds of any true answer by a \
factor of at most 3. Somebody who gave a certain answer a chance of 1% before seeing the \
report can give it at most 3% afterwards, and at least 0.33%.
    """
    epsilon = mechanism.epsilon
    if epsilon == math.inf:
        return (
            "Epsilon is infinite: some report proves, or rules out, a true answer. "
            "This is no protection for the person who gives that report."
        )
    factor = math.exp(epsilon)
    highest, lowest = posterior(prior, factor), posterior(prior, 1 / factor)
    return (
        f"Epsilon is {round_up(epsilon)} per report. Seeing a report changes the odds of any "
        f"true answer by a factor of at most {round_up(factor, 3)}. Somebody who gave a certain "
        f"answer a chance of {prior * 100:.3g}% before seeing the report can give it at most "
        f"{round_up(highest * 100, 2)}% afterwards, and at least {lowest * 100:.2g}%."
    )


def round_up(value: float, digits: int = 4) -> str:
    """A number in ``digits`` significant digits, rounded up, as shown to people.

    >>> round_up(1.0986122886681098), round_up(0.0), round_up(float("inf"))
    ('1.099', '0', 'inf')
    """
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    with decimal.localcontext(prec=digits, rounding=decimal.ROUND_CEILING):
        # A double such as 3.0000000000000004 is 3 for people.
        shown = +Decimal(f"{value:.12g}")
    return f"{shown.normalize():f}"
