"""k-ary randomized response: tell the truth, or name one of the others.

A respondent reports their own category with probability ``prob``, otherwise one of the
other k - 1, each equally likely.  1 is no privacy; 1/k is no information.
Report probabilities: p of the truth, q = (1 - p) / (k - 1) elsewhere; epsilon = ln(p / q).
For many categories and little epsilon other mechanisms need far fewer people: k-RR's
variance grows with k.
Sources: Warner (1965) for k = 2; Kairouz, Bonawitz and Ramage (2016); OpenDP, proof of
make_randomized_response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_epsilon, check_exactly_one, check_prob
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.base import Chain, Mechanism, check_codes
from rrstats.mechanisms.epsilon import LARGEST_PROB, epsilon_from_ratio, krr_prob, last_double
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.support_channel import KRRChannel
from rrstats.randomness.samplers import below, coin
from rrstats.randomness.sources import Source

COIN_STREAM, LIE_STREAM = 0, 1


@dataclass(frozen=True, init=False, repr=False)
class KRR(Mechanism):
    """k-ary randomized response over declared categories.

    Parameters
    ----------
    categories : sequence of k hashables
        At least 2 distinct answers, in the order of the design; a missing value may be one of
        them.  Declared, never inferred from data.  A codebook, ``{1: "never", 2: "once"}``, has
        value labels: reports are its codes, and results show the labels.
    prob : float, optional
        P(report = truth), in [1/k, 1), taken as the exact rational number that the double is.
    epsilon : float, optional
        Instead of prob: nats; the largest double prob whose exact epsilon is at most the
        request, so that ``m.epsilon <= epsilon``.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        From these arguments alone, never from data.

    Notes
    -----
    The promise: for every two truths and every report y,
    P(y | truth) <= exp(m.epsilon) P(y | other truth), with ``m.epsilon`` rounded up.
    A value outside the categories is first replaced by a uniform category, so that its
    report is uniform over all k.
    Frozen and hashable; equal to another with the same categories (in type and order) and prob.

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
        self, categories: object, prob: float | None = None, *, epsilon: float | None = None
    ) -> None:
        domain = Categories(categories)
        if check_exactly_one(prob=prob, epsilon=epsilon) == "prob":
            value = check_prob(prob, domain.k)
        else:
            value = krr_prob(epsilon, domain.k)
        vars(self).update(domain=domain, prob=value)

    @cached_property
    def channel(self) -> KRRChannel:
        """Each report supports one category: the truth with probability ``prob``."""
        return KRRChannel.of(self.k, Fraction(self.prob))

    def randomize(self, codes: NDArray[Any], source: Source, block: int = 0) -> NDArray[Any]:
        """Reports of one block of true codes (each below k), as new codes of the same type.

        Parameters
        ----------
        codes : array of shape (rows,)
            Of ``domain.dtype``, which holds every sum up to 2k - 2.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows,)

        Notes
        -----
        The noise is a shift mod k drawn without looking at the codes: 0 with probability
        ``prob``, otherwise one of 1 .. k-1.
        """
        check_codes(codes, self.domain)
        rows, k = len(codes), self.domain.k
        lie = ~coin(source, COIN_STREAM, block, rows, prob=Fraction(self.prob))
        if k == 2:
            # The other of 0 and 1.
            return codes ^ lie.view(np.uint8)
        shift = below(source, LIE_STREAM, block, rows, bound=k - 1).astype(codes.dtype, copy=False)
        shift += codes.dtype.type(1)  # a lie is never the truth
        shift *= lie.view(np.uint8)
        shift += codes
        # Modulo k: below k the difference wraps around to more than the sum, never to less.
        np.minimum(shift, shift - codes.dtype.type(k), out=shift)
        return shift


def as_mechanism(
    categories: Any, prob: float | None = None, epsilon: float | None = None
) -> Mechanism:
    """The mechanism that three arguments name: one rule for the whole package.

    Parameters
    ----------
    categories : Mechanism, mapping from sample to Mechanism, or sequence of hashables
        A design (then nothing else), or the categories of a k-RR with ``prob`` or ``epsilon``.
    prob, epsilon : float, optional
        As for `KRR`.

    Returns
    -------
    Mechanism

    Raises
    ------
    ArgumentTypeError
        Where neither or both are given, or a mechanism and more.
    """
    if isinstance(categories, Mapping) and any(
        isinstance(one, Mechanism) for one in categories.values()
    ):
        categories = Samples(categories)
    if isinstance(categories, Mechanism):
        if prob is not None or epsilon is not None:
            raise ArgumentTypeError(
                "a mechanism knows its prob and epsilon; give either a mechanism, or categories "
                "with prob or epsilon"
            )
        return categories
    return KRR(categories, prob, epsilon=epsilon)


def two_rounds(
    categories: object, *, epsilon_lifetime: float, epsilon_first_report: float
) -> Chain:
    """k-RR drawn once and kept, and k-RR of what was kept for each report of a panel.

    A respondent who is asked every week draws once, with a lifetime's epsilon, keeps the result,
    and randomizes it anew for each report: averaging the reports shows the kept answer at most.

    Parameters
    ----------
    categories : sequence of hashables
        As for `KRR`.
    epsilon_lifetime : float
        Nats; for all reports of one unchanged answer together.
    epsilon_first_report : float
        Nats, below the lifetime's; for one report, seen alone.

    Returns
    -------
    Chain
        ``chain.first`` is the permanent round, ``chain.second`` the one of each report.
        ``chain.epsilon`` is that of one report, ``chain.first.epsilon`` the lifetime's.

    Raises
    ------
    ArgumentValueError
        For epsilons outside these ranges.

    Notes
    -----
    Each wave is ``rr.privatize(kept, chain.second, again=True)`` and is estimated with ``chain``.
    ``rr.privatize(values, chain)`` draws both rounds and keeps nothing: a second call of that is a
    second permanent answer, and costs the lifetime's epsilon again, as does each further answer of
    a person whose true answer changed.  A kept answer makes its owner recognizable.
    The product of two k-RR is one, with p - q = (p1 - q1)(p2 - q2).  The published second round
    (Arcolezi et al., L-GRR) leaves out the k - 2 ways by which a report returns to the truth or
    comes to another answer over a third: it keeps its promise and needs up to 90 times the people
    (k = 100).  Source: Erlingsson, Pihur and Korolova (2014), RAPPOR.

    Examples
    --------
    >>> chain = two_rounds(["no", "yes"], epsilon_lifetime=4.0, epsilon_first_report=1.0)
    >>> import rrstats as rr
    >>> kept = rr.privatize(["no", "yes", "no"], chain.first)
    >>> wave = rr.privatize(kept, chain.second, again=True)
    >>> rr.tally(wave, chain).n, chain.epsilon <= 1.0, chain.first.epsilon <= 4.0
    (3, True, True)
    """
    first, request = KRR(categories, epsilon=epsilon_lifetime), check_epsilon(epsilon_first_report)
    k = first.domain.k

    def is_private(prob: float) -> bool:
        both = first.channel.then(KRRChannel.of(k, Fraction(prob)))
        return epsilon_from_ratio(both.max_likelihood_ratio) <= request

    # More truth in the second round is more epsilon in the product.
    least = prob = 1 / k
    if 0 < request < first.epsilon and is_private(least):
        prob = last_double(least, LARGEST_PROB, is_private)
    if prob == least:
        raise ArgumentValueError(
            "epsilon_first_report must be above 0, by as much as a double prob can express, and "
            f"below the lifetime's epsilon {first.epsilon!r}, got {request!r}; without a second "
            "round each report has the lifetime's"
        )
    return Chain(first, KRR(categories, prob))
