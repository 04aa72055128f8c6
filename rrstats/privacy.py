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

_MOST_CATEGORIES = 2**63
_LARGEST_PROB = math.nextafter(1.0, 0.0)


# -- arguments -----------------------------------------------------------------------------


def as_number(value: object, name: str) -> float:
    """A finite or infinite real number as a double; raises for anything else."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a NumPy scalar, or an array without axes
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise ArgumentTypeError(f"{name} must be a number, found {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentValueError(f"{name} is too large for a double") from None
    except ValueError:  # a signaling NaN
        raise ArgumentValueError(f"{name} must be a number, found NaN") from None


def check_k(k: object) -> int:
    """The number of categories as an int; raises unless it is a whole number of at least 2."""
    if isinstance(k, bool) or not isinstance(k, numbers.Integral):
        raise ArgumentTypeError(
            f"k, the number of categories, must be an integer, found {type(k).__name__}"
        )
    count = int(k)
    if count < 2:
        raise ArgumentValueError(f"k, the number of categories, must be at least 2, got {count}")
    if count > _MOST_CATEGORIES:
        raise ArgumentValueError("k, the number of categories, must be at most 2**63")
    return count


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
    elif 1 < value < 100:
        why = f"write {value / 100:g} for {value:g}%"
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
    try:
        nearest = float(number)
    except OverflowError:  # a fraction beyond all doubles
        return math.inf
    exact = Decimal(nearest) if isinstance(number, Decimal) else Fraction(nearest)
    return nearest if exact >= number else math.nextafter(nearest, math.inf)


def _context(digits: int) -> decimal.Context:
    """Decimal arithmetic that no setting of the caller changes."""
    return decimal.Context(
        prec=digits,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[],
    )


def _enclose_log(odds: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals around ln(odds), for odds above 1."""
    with decimal.localcontext(_context(digits)):
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
    if isinstance(epsilons, str | bytes) or not isinstance(epsilons, Iterable):
        raise ArgumentTypeError(
            f"epsilons must be a list of numbers, found {type(epsilons).__name__}"
        )
    parts = [as_number(e, "epsilons") for e in epsilons]
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
    with decimal.localcontext(_context(40)):
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


# -- in plain words ------------------------------------------------------------------------


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
    with decimal.localcontext(_context(max(28, len(number.as_tuple().digits)))):
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
