"""Two rounds: a permanent answer that a person keeps, and a new report of it each time.

A person who is asked every week draws once, with a lifetime's epsilon, keeps what was drawn, and
randomizes that anew for each report.  Whoever sees one report learns what the product of both
rounds tells; whoever sees all reports of a lifetime learns at most what the kept answer tells.
Averaging stops there.  It holds as long as the true answer stays the same: each further answer of
a person costs a lifetime's epsilon again, and a kept answer makes its owner recognizable.

    two_rounds(...)          k-RR kept, k-RR each time, for a lifetime's and a report's epsilon
    instantaneous(...)       kept bits of `rr.Rappor`, turned round each time

The channel is the product of both rounds; two k-RR are one, with p - q = (p1 - q1)(p2 - q2).
The published second round of k-RR (Arcolezi et al., L-GRR) leaves out the k - 2 ways by which a
report returns to the truth or comes to another answer over a third: it keeps its promise
and needs up to 90 times the people (k = 100).  Do not copy it.
Source: Erlingsson, Pihur and Korolova (2014), RAPPOR.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import check_epsilon, check_instance
from rrstats.data.columns import open_reports
from rrstats.errors import ArgumentValueError, SimulationWarning, warn
from rrstats.mechanisms.base import Chain
from rrstats.mechanisms.epsilon import LARGEST_PROB, epsilon_from_ratio, last_double
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.records import find, record_columns
from rrstats.mechanisms.support_channel import KRRChannel
from rrstats.mechanisms.unary import Rappor
from rrstats.randomness.sources import BLOCK_ROWS, SIMULATED_TEXT, open_source

__all__ = ["instantaneous", "two_rounds"]


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


def instantaneous(kept: Any, mechanism: Rappor, *, rng: Any = None) -> Any:
    """The reports of one wave, from the kept reports of the permanent round.

    Parameters
    ----------
    kept : array, Series or list of reports
        Reports of ``mechanism.permanent``, in any container that `privatize` gives back.
    mechanism : Rappor
        Both rounds; estimate from the new reports with it.
    rng : optional
        As for `rrstats.privatize`.

    Returns
    -------
    array, Series or list
        New reports in the same container; missing ones stay missing.

    Raises
    ------
    ArgumentValueError
        For values that are no such report, and for missing ones in NumPy, whose booleans have no
        place for them.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.Rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75)
    >>> kept = rr.privatize(["red", "blue", "red"], m.permanent)
    >>> m.unpack(instantaneous(kept, m)).shape
    (3, 3)
    """
    check_instance(mechanism, "mechanism", Rappor, "a Rappor")
    space = mechanism.report_space
    container, read = open_reports(kept, space)
    # Booleans of NumPy have no place for missing reports; all other containers have one.
    keeps_missing = container.family != "numpy"
    layout = space.layout(container, keep_missing=keeps_missing)
    found = read(container.cells)
    lost = found.unknown + len(found.absent) * (not keeps_missing)
    if lost:
        raise ArgumentValueError(
            f"{lost} of {container.rows} kept reports are not {space.describe()}, or missing where "
            "NumPy has no place for that; give the reports of ``permanent``"
        )
    source, builder = open_source(rng), layout.builder(container.rows)
    absent = np.zeros(container.rows, dtype=np.bool_)
    absent[found.absent] = True
    for block, start in enumerate(range(0, container.rows, BLOCK_ROWS)):
        rows = slice(start, min(start + BLOCK_ROWS, container.rows))
        reports = mechanism.randomize_kept(found.codes[rows], source, block)
        builder.write(rows, reports, np.flatnonzero(absent[rows]))
    made = container.wrap(builder.reports())
    if isinstance(made, pd.Series):
        said, facts = find(kept.attrs, kept.name), dict[str, Any](simulated=not source.secure)
        if said is not None:
            said.resolve(mechanism.permanent)
            facts["simulated"] |= said.simulated
            facts |= {"unknown": said.unknown, "missing": said.missing, "keyed": said.keyed}
        record_columns(made.attrs, {kept.name: (mechanism, facts)})
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)
    return made


def __dir__() -> list[str]:
    return __all__
