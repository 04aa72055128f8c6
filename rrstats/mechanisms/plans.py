"""Plans of a frame: the mechanism of each part, and of each column over all parts.

A public coin chooses which part, a column or a pair of columns, a row reports with the whole
epsilon of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from rrstats._checks import check_instance
from rrstats.data.categories import Categories
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.epsilon import (
    LARGEST_PROB,
    allowed_ratio,
)
from rrstats.mechanisms.krr import KRR
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.samples import Samples

ASKED = "rr_asked"
"""The public column of a plan, by default: what each row was asked."""


def part_label(part: Sequence[Hashable]) -> str:
    """The label of a part of a plan in the public column: its column, or both, "a & b".

    >>> part_label(["age"]), part_label(("age", 2020))
    ('age', 'age & 2020')
    """
    return " & ".join(map(str, part))


def of_part(mechanism: Mechanism, label: str) -> KRR:
    """The mechanism of a column's reports in the part with a label; of most columns the same."""
    groups = mechanism.groups or ()
    part = mechanism.of_samples[groups.index(label)] if label in groups else mechanism
    what = "the mechanism of a column of a plan"
    krr: KRR = check_instance(part, what, KRR, "a k-RR in each part")
    return krr


def part_mechanism(domains: Sequence[Categories], epsilon: float) -> KRR:
    """The mechanism of a part with one column, or of a pair: k-RR over its k1 k2 pairs.

    Pairs are tuples of categories, the last column's category changing fastest.

    >>> part_mechanism([Categories([1, 2]), Categories(["a", "b", "c"])], 1.0).categories[:4]
    ((1, 'a'), (1, 'b'), (1, 'c'), (2, 'a'))
    """
    if len(domains) == 1:
        return KRR(domains[0].declared, epsilon=epsilon)
    return KRR(list(product(*(domain.categories for domain in domains))), epsilon=epsilon)


def marginal_mechanism(domain: Categories, part: KRR) -> KRR:
    """The mechanism of one column's reports in a part; `part_mechanism` is that of the part.

    Of k1 k2 pairs, each report of a pair but the true one has probability q = (1 - p) / (k1 k2 -
    1); k2 - 1 of them have the true category of the first column: k-RR with p + (k2 - 1) q.
    """
    others = Fraction(part.domain.k, domain.k) - 1
    prob = Fraction(part.prob)
    prob += others * (1 - prob) / (part.domain.k - 1)
    return KRR(domain.declared, min(float(prob), LARGEST_PROB))


def part_ratio(prob: Fraction, k: int, others: int) -> Fraction:
    """The likelihood ratio of a part, from the prob of one column: see `marginal_mechanism`.

    k : the column's categories.  others : those of the other column of a pair; 1 for no pair.

    >>> part_ratio(Fraction(3, 4), 2, 1)
    Fraction(3, 1)
    """
    return 1 + others * (prob * k - 1) / (1 - prob)


def plan_mechanisms(
    categories: Mapping[Any, Categories], parts: Iterable[Sequence[Hashable]], epsilon: float
) -> dict[Hashable, Mechanism]:
    """The marginal mechanism of each column of a plan.

    It is a `KRR` if all parts with that column give the same; otherwise `Samples`, whose groups
    are the labels of these parts.
    """
    by_column: dict[Hashable, dict[str, Mechanism]] = {name: {} for name in categories}
    for part in parts:
        mechanism = part_mechanism([categories[name] for name in part], epsilon)
        for name in part:
            by_column[name][part_label(part)] = marginal_mechanism(categories[name], mechanism)
    return {
        name: Samples(by_part) if len({*by_part.values()}) > 1 else next(iter(by_part.values()))
        for name, by_part in by_column.items()
    }


def dominating(epsilon: float) -> MatrixDesign:
    """Binary randomized response with the largest likelihood ratio that an epsilon allows.

    It dominates all mechanisms made for that epsilon, so it bounds what they compose to.
    For an infinite epsilon it reports the truth.

    >>> dominating(2.0).epsilon, dominating(math.inf).epsilon
    (2.0, inf)
    """
    if epsilon == math.inf:
        return MatrixDesign(["one", "other"], [[1.0, 0.0], [0.0, 1.0]])
    truth = allowed_ratio(epsilon) / (1 + allowed_ratio(epsilon))
    return MatrixDesign(["one", "other"], [[truth, 1 - truth], [1 - truth, truth]])
