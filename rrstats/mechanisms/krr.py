"""k-ary randomized response: report the true category, or one of the others.

A respondent reports their own category with probability ``prob``, otherwise one of the
other k - 1, each equally likely.  prob = 1 gives no privacy; prob = 1/k gives no information.
Report probabilities: p for the truth, q = (1 - p) / (k - 1) for each other category;
epsilon = ln(p / q).  The variance grows with k: for many categories and a small epsilon other
mechanisms need far fewer people.
Sources: Warner (1965) for k = 2; Kairouz, Bonawitz and Ramage (2016); OpenDP, proof of
make_randomized_response.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from rrstats._cached import cached_property
from rrstats._checks import check_epsilon, check_exactly_one, check_left_out, check_prob
from rrstats._names import checked_keywords
from rrstats._typing import Array, CategoriesLike, Floats, Indices
from rrstats.data.categories import Categories
from rrstats.data.columns import numbers
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LowPrecisionWarning,
    NotIdentifiableError,
    warn,
)
from rrstats.mechanisms.base import Chain, Mechanism, check_codes, is_mechanism
from rrstats.mechanisms.channel import KRRChannel
from rrstats.mechanisms.epsilon import (
    LARGEST_PROB,
    epsilon_from_ratio,
    krr_prob,
    largest_epsilon,
    last_double,
)
from rrstats.mechanisms.number_design import NumberRange
from rrstats.mechanisms.samples import Samples
from rrstats.randomness.samplers import below, coin, coins
from rrstats.randomness.sources import Source

COIN_STREAM = 0
LIE_STREAM = 1

_MIN_EPSILON = 1e-12
"""The least epsilon of a row whose prob, rounded towards privacy, is not below 1/k."""


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class KRR(Mechanism):
    """k-ary randomized response over declared categories.

    Parameters
    ----------
    categories : sequence of k hashables
        At least 2 distinct answers, in the order of the design; a missing value may be one of
        them.  They are declared, never inferred from data.  A codebook such as
        ``{1: "never", 2: "once"}`` adds value labels: reports are codes, results show labels.
    prob : float, optional
        P(report = truth), in [1/k, 1); the double is used as an exact rational number.
    epsilon : float, optional
        The privacy loss in nats, instead of prob.  The prob is then the largest double whose exact
        epsilon is at most this value, so that ``m.epsilon <= epsilon``.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        These depend on the arguments alone, never on data.

    Warns
    -----
    LowPrecisionWarning
        If prob is 1/k: the reports carry no information.

    Notes
    -----
    The promise: for every two true answers and every report y,
    P(y | truth) <= exp(m.epsilon) P(y | other truth), with ``m.epsilon`` rounded up.
    With ``unknown="uniform"`` a value outside the categories is first replaced by a uniformly
    random category, so its report is uniform over all k; by default it is refused.
    A KRR is immutable and hashable; two are equal if categories (type and order) and prob are.

    References
    ----------
    Kairouz, Bonawitz and Ramage (2016), sect. 2; OpenDP make_randomized_response.

    Examples
    --------
    >>> m = KRR(["never", "once", "often"], prob=0.75)
    >>> m.k, m.epsilon
    (3, 1.7917594692280552)
    >>> KRR(["yes", "no"], epsilon=1.0).prob
    0.7310585786300048
    """

    domain: Categories
    prob: float

    def __init__(
        self, categories: CategoriesLike, prob: float | None = None, *, epsilon: float | None = None
    ) -> None:
        domain = Categories(categories)
        if check_exactly_one(prob=prob, epsilon=epsilon) == "prob":
            value = check_prob(prob, domain.k)
        else:
            value = krr_prob(epsilon, domain.k)
        vars(self).update(domain=domain, prob=value)
        if value <= 1 / domain.k:
            warn(
                f"this design carries no information: at prob {value:.3g} each of the "
                f"{domain.k} reports is equally likely, whatever the answer; choose a larger prob "
                "or epsilon",
                LowPrecisionWarning,
            )

    @cached_property
    def channel(self) -> KRRChannel:
        """The transition probabilities: a report supports the true category with prob."""
        return KRRChannel.of(self.k, Fraction(self.prob))

    def randomize(
        self, codes: Array, source: Source, block: int = 0, probs: Floats | None = None
    ) -> Array:
        """Randomize one block of true codes (each below k) into new codes of the same type.

        Parameters
        ----------
        codes : array of shape (rows,)
            The dtype is ``domain.dtype``, which holds every sum up to 2k - 2.
        source, block
            As for `Mechanism.randomize`.
        probs : array of shape (rows,), optional
            P(report = truth) of each row, where it differs; by default ``prob``.

        Returns
        -------
        array of shape (rows,)

        Notes
        -----
        The noise is a shift modulo k, drawn independently of the codes: 0 with probability
        ``prob``, otherwise uniform on 1 .. k-1.
        """
        check_codes(codes, self.domain)
        rows = len(codes)
        k = self.domain.k
        if probs is None:
            lie = ~coin(source, COIN_STREAM, block, rows, prob=Fraction(self.prob))
        else:
            lie = ~coins(source, COIN_STREAM, block, probs)
        if k == 2:
            return codes ^ lie.view(np.uint8)
        shift = below(source, LIE_STREAM, block, rows, bound=k - 1).astype(codes.dtype, copy=False)
        shift += codes.dtype.type(1)  # a lie is never the truth
        shift *= lie.view(np.uint8)
        shift += codes
        # Modulo k: below k the difference wraps around to more than the sum, never to less.
        np.minimum(shift, shift - codes.dtype.type(k), out=shift)
        return shift


MechanismLike: TypeAlias = Mechanism | NumberRange | CategoriesLike
"""A mechanism, a mapping from sample or column to mechanism, a number, or categories of a k-RR."""


def as_mechanism(categories: Any, prob: Any = None, epsilon: Any = None) -> Mechanism:
    """The mechanism that the arguments categories, prob and epsilon describe.

    Parameters
    ----------
    categories : Mechanism, mapping from sample to Mechanism, NumberRange, or sequence of hashables
        A mechanism by itself, a number with ``epsilon``, or the categories of a k-RR with ``prob``
        or ``epsilon``.
    prob, epsilon : float, optional
        As for `KRR`.

    Returns
    -------
    Mechanism

    Raises
    ------
    ArgumentTypeError
        For categories without exactly one of prob and epsilon, or a mechanism with one of them.
    """
    if isinstance(categories, Mapping) and has_mechanism(categories):
        categories = Samples(categories)
    if isinstance(categories, Mechanism):
        check_left_out("a mechanism already has its prob and epsilon", prob=prob, epsilon=epsilon)
        return categories
    if isinstance(categories, NumberRange):
        return categories.mechanism(prob, epsilon)
    if hasattr(categories, "__opendp_dict__"):
        raise ArgumentTypeError(
            "a measurement of OpenDP is not a mechanism; give its categories and its prob, as in "
            "rr.KRR(categories, prob)"
        )
    return KRR(categories, prob, epsilon=epsilon)


def has_mechanism(categories: Any) -> bool:
    """True for a mechanism or a mapping from sample to mechanism, which need no prob or epsilon.

    A mapping without a mechanism in it is a codebook, from code to label.
    """
    if isinstance(categories, Mapping):
        return any(map(is_mechanism, categories.values()))
    return is_mechanism(categories)


def answers_of(categories: Any) -> Categories:
    """The possible true answers of a mechanism, of a number, or categories by themselves."""
    if isinstance(categories, Mechanism):
        return categories.domain
    return categories.grid if isinstance(categories, NumberRange) else Categories(categories)


@dataclass(frozen=True, eq=False)
class RowRates:
    """P(report = truth) of k-RR where it differs from row to row, so that there is no one channel.

    base : the k-RR of the largest epsilon; it has the categories, and the epsilon of all rows.
    probs : (rows,) P(report = truth); public.
    columns : {"prob": name} or {"epsilon": name} of the public column; empty where it is not known.
    """

    base: KRR
    probs: Floats
    columns: Mapping[str, Hashable] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        categories: CategoriesLike,
        rows: int,
        *,
        prob: Any = None,
        epsilon: Any = None,
        columns: Mapping[str, Hashable] | None = None,
    ) -> RowRates:
        """The rates of rows from a column of ``rows`` numbers, prob or epsilon.

        An epsilon is rounded towards privacy by 2**-49, more than all errors of the formula.
        """
        k = as_mechanism(categories, LARGEST_PROB).domain.k
        name = check_exactly_one(prob=prob, epsilon=epsilon)
        rates = numbers(prob if name == "prob" else epsilon, name, rows, finite=False)
        low, high = (1 / k, 1.0) if name == "prob" else (_MIN_EPSILON, largest_epsilon(k))
        missing = int(np.isnan(rates).sum())
        wrong = rows - int(((rates >= low) & (rates < high)).sum())
        if wrong:
            raise ArgumentValueError(
                f"{name} of each row must be in [{low:.4g}, {high:.4g}) for {k} categories, found "
                f"{missing} of {rows} rows where it is missing, and {wrong - missing} where it is "
                "outside"
            )
        # Without rows any rate serves; that of no information would warn.
        largest = float(rates.max()) if rows else (low + min(high, 1.0)) / 2
        base = KRR(categories, **{name: largest})
        if name == "epsilon":
            lies = (k - 1) * np.exp(-rates)  # over the truth; two bounds, near p = 0 and near 1
            near_one = np.nextafter(1 - (1 + 2.0**-49) * lies / (1 + lies), 0)
            rates = np.maximum((1 - 2.0**-49) / (1 + lies), near_one)
        return cls(base, np.minimum(rates, base.prob), columns or {})

    def gaps(self, rows: slice | Indices = slice(None)) -> Floats:
        """(rows,) prob less that of each other category; 0 at 1/k, whatever rounding leaves."""
        prob = self.probs[rows]
        gaps = prob - (1 - prob) / (self.base.k - 1)
        return np.where(gaps > NO_INFORMATION, gaps, 0.0)

    def scores(self, codes: Array, part: slice) -> Floats:
        """(rows, k) unbiased values of some rows, (1[report] - q) / (p - q); infinite at p = 1/k.

        codes : (rows,) of reports; those outside the categories are meaningless.
        """
        k = self.base.k
        other = (1 - self.probs[part, None]) / (k - 1)
        with np.errstate(divide="ignore"):
            return np.asarray(((codes[:, None] == np.arange(k)) - other) / self.gaps(part)[:, None])

    def likelihood(self, codes: Array, part: slice) -> Floats:
        """(rows, k) P(report | truth) of some rows: p of the report itself, q of the others.

        codes : as for `scores`.
        """
        k = self.base.k
        prob = self.probs[part, None]
        return np.where(codes[:, None] == np.arange(k), prob, (1 - prob) / (k - 1))

    def check_informative(self, used: slice | Indices = slice(None), *, every: bool) -> None:
        """Raise NotIdentifiableError if no report, or if not every one, carries information.

        used : which rows must.
        """
        rows = len(self.probs)
        without = int((self.gaps(used) == 0).sum())
        if without and (every or without == rows):
            raise NotIdentifiableError(
                f"{without} of {rows} reports carry no information, because their prob is "
                f"1/{self.base.k}: leave these rows out"
            )


def no_common_channel() -> ArgumentValueError:
    """The error of what needs one channel, where prob differs from row to row."""
    return ArgumentValueError(
        "the prob of these reports differs from row to row, so that no transition matrix is "
        "common to them; rr.estimate (also by= and weights=), rr.crosstab, rr.means, "
        "rr.quantiles and regressions take such reports, others do not: select rows of equal prob "
        "for these"
    )


NO_INFORMATION = 2.0**-51
"""Gap of prob and prob_other that rounding alone may leave at prob 1/k."""


@checked_keywords
def two_rounds(
    categories: CategoriesLike, *, epsilon_lifetime: float, epsilon_first_report: float
) -> Chain:
    """Two rounds of k-RR for a panel: one permanent draw, and a new draw for each report.

    A respondent who is asked every week randomizes the answer once and keeps the result.  Each
    report randomizes the kept answer again, so averaging reports reveals at most the kept answer.

    Parameters
    ----------
    categories : sequence of hashables
        As for `KRR`.
    epsilon_lifetime : float
        The privacy loss in nats of all reports of one unchanged answer together.
    epsilon_first_report : float
        The privacy loss in nats of one report alone; below the lifetime epsilon.

    Returns
    -------
    Chain
        ``chain.first`` is the permanent round, ``chain.second`` the round of each report.
        ``chain.epsilon`` is for one report, ``chain.first.epsilon`` for the lifetime.

    Raises
    ------
    ArgumentValueError
        For epsilons outside these ranges.

    Notes
    -----
    Each wave is ``rr.privatize(kept, chain.second, again=True)`` and is estimated with ``chain``.
    ``rr.privatize(values, chain)`` draws both rounds and keeps nothing.  A second such call draws
    a second permanent answer and costs the lifetime epsilon again; so does each new true answer of
    a person.  A kept answer can make its owner recognizable.
    Two rounds of k-RR are again a k-RR, with p - q = (p1 - q1)(p2 - q2).  The published second
    round (Arcolezi et al., L-GRR) omits k - 2 paths through other categories to each report: its
    promise holds, but it needs up to 90 times the people (k = 100).
    Source: Erlingsson, Pihur and Korolova (2014), RAPPOR.

    Examples
    --------
    >>> chain = two_rounds(["no", "yes"], epsilon_lifetime=4.0, epsilon_first_report=1.0)
    >>> import rrstats as rr
    >>> kept = rr.privatize(["no", "yes", "no"], chain.first)
    >>> wave = rr.privatize(kept, chain.second, again=True)
    >>> rr.tally(wave, chain).n, chain.epsilon <= 1.0, chain.first.epsilon <= 4.0
    (3, True, True)
    """
    first = KRR(categories, epsilon=epsilon_lifetime)
    request = check_epsilon(epsilon_first_report)
    k = first.domain.k

    def is_private(prob: float) -> bool:
        both = first.channel.then(KRRChannel.of(k, Fraction(prob)))
        return epsilon_from_ratio(both.max_likelihood_ratio) <= request

    # More truth in the second round is more epsilon in the product.
    uniform = 1 / k
    prob = uniform
    if 0 < request < first.epsilon and is_private(uniform):
        prob = last_double(uniform, LARGEST_PROB, is_private)
    if prob == uniform:
        raise ArgumentValueError(
            "epsilon_first_report must be above 0, by as much as a double prob can express, and "
            f"below the lifetime epsilon {first.epsilon!r}, got {request!r}; to give each report "
            "the lifetime epsilon, use one KRR"
        )
    return Chain(first, KRR(categories, prob))
