"""Two rounds: a permanent answer that a person keeps, and a new report of it each time.

A person who is asked every week draws once, with a lifetime's epsilon, keeps what was drawn, and
randomizes that anew for each report.  Whoever sees one report learns what the product of both
rounds tells; whoever sees all reports of a lifetime learns at most what the kept answer tells.
Averaging stops there.  It holds as long as the true answer stays the same: each further answer of
a person costs a lifetime's epsilon again, and a kept answer makes its owner recognizable.

    two_rounds(...)          k-RR kept, k-RR each time, for a lifetime's and a report's epsilon
    Rappor(...)              unary encoding kept, its bits turned round each time

The channel is the product of both rounds; two k-RR are one, with p - q = (p1 - q1)(p2 - q2).
The published second round of k-RR (Arcolezi et al., L-GRR) leaves out the k - 2 ways by which a
report returns to the truth or comes to another answer over a third: it keeps its promise
and needs up to 90 times the people (k = 100).  Do not copy it.
Source: Erlingsson, Pihur and Korolova (2014), RAPPOR.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_epsilon, check_number
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.base import Chain
from rrstats.mechanisms.epsilon import LARGEST_PROB, epsilon_from_ratio, last_double
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.support_channel import KRRChannel
from rrstats.mechanisms.unary import UnaryEncoding
from rrstats.randomness.samplers import independent_bits
from rrstats.randomness.sources import Source, Substream


def two_rounds(
    categories: object, *, epsilon_lifetime: float, epsilon_first_report: float
) -> Chain:
    """k-RR drawn once and kept, and k-RR of what was kept for each report.

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
    second permanent answer, and costs the lifetime's epsilon again.

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


# -- unary encoding in two rounds ----------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class Rappor(UnaryEncoding):
    """Basic RAPPOR: a bit for every category, kept once randomized, and randomized each time.

    Parameters
    ----------
    categories : sequence of hashables
        As for `UnaryEncoding`; one bit for each, no Bloom filter.
    f : float
        P(the permanent round replaces a bit by a fair coin), in (0, 1).
    p, q : float
        P(the instantaneous round reports a kept 0 as 1) and P(a kept 1 as 1); 0 < p < q < 1.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        From these arguments alone, never from data.

    Notes
    -----
    ``permanent`` is the mechanism of the first round, whose reports a person keeps;
    `rounds.instantaneous` makes the reports of one wave from them.  As a mechanism of its own it
    is both rounds at once, the unary encoding with P(1 | own bit) = q (1 - f/2) + p f/2 and
    P(1 | other bit) = q f/2 + p (1 - f/2), drawn exactly, with nothing kept.
    ``epsilon`` is that of one report seen alone, ``epsilon_lifetime`` that of all reports of one
    unchanged answer: two people's bits differ in two places, one of each.  Published figures
    are h times these for Bloom filters of h hashes, which set h bits for each answer.

    References
    ----------
    Erlingsson, Pihur and Korolova (2014), sect. 2 and 3.

    Examples
    --------
    >>> m = Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> round(m.epsilon, 4), round(m.epsilon_lifetime, 4)
    (0.5371, 2.1972)
    >>> import rrstats as rr
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(rr.rounds.instantaneous(kept, m)).shape
    (3, 3)
    """

    f: float
    p: float
    q: float
    permanent: UnaryEncoding

    def __init__(self, categories: object, f: float, p: float, q: float) -> None:
        coin = "it is the probability that a kept bit is a coin"
        f = check_number(f, "f", 0.0, 1.0, ends="()", hint=coin)
        p = check_number(p, "p", 0.0, 1.0, ends="()", hint="a kept 0 is reported as 1 with it")
        q = check_number(q, "q", p, 1.0, ends="()", hint="a kept 1 is reported as 1 with it")
        kept = UnaryEncoding.symmetric(categories, float(1 - Fraction(f) / 2))
        mixed = (
            Fraction(bit) * Fraction(q) + (1 - Fraction(bit)) * Fraction(p)
            for bit in (kept.prob_own, kept.prob_other)
        )
        # Fractions, as no double need be the product of both rounds.
        own, other = (cast("float", prob) for prob in mixed)
        self._set(kept.domain.declared, own, other, "Rappor")
        vars(self).update(f=f, p=p, q=q, permanent=kept)

    @property
    def epsilon_lifetime(self) -> float:
        """Epsilon of all reports of one unchanged answer together, in nats, rounded up."""
        return self.permanent.epsilon

    def randomize_kept(
        self, codes: NDArray[np.uint8], source: Source, block: int = 0
    ) -> NDArray[np.uint8]:
        """The second round of one block of packed reports, drawn without looking at them.

        Parameters
        ----------
        codes : array of shape (rows, width)
            Kept reports; see `rounds.instantaneous`.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows, width)

        Notes
        -----
        Stages begin at 1: the first round has drawn in stage 0.
        """
        p, q = Fraction(self.p), Fraction(self.q)
        low, more = (
            independent_bits(Substream(source, stage), block, len(codes), k=self.k, prob=prob)
            for stage, prob in enumerate([p, (q - p) / (1 - p)], start=1)
        )
        # A kept 0 is 1 with p; a kept 1 with p, and else with (q - p) / (1 - p): together q.
        return low | (more & codes)

    @property
    def _arguments(self) -> dict[str, Any]:
        return {"categories": self.domain, "f": self.f, "p": self.p, "q": self.q}
