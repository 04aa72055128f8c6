"""Whether several samples, or two waves, have the same shares.

*Homogeneity*: independent samples, each asked by a design of its own.  One vector of shares is
fitted to all reports and each sample is compared with it; where all designs are the same this is
Pearson's test of the table of samples by reports.  Groups of one survey with weights or a design
are compared by Wald's test, with their joint covariance.
*Change*: two waves.  Of the same people, who answered twice with fresh noise, by the table of both
answers (Stuart and Maxwell's test of equal margins, on debiased answers); of different people it
is homogeneity.
Sources: Rao (1948); Stuart (1955), Maxwell (1970), Bhapkar (1966).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.estimation.arrays import project_to_simplex
from rrstats.estimation.difference import (
    categories_apart,
    difference,
    keeping_sum,
    sum_to_zero,
    summing,
)
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.goodness_of_fit import estimate_of, has_cells, null_covariance, wald_tail
from rrstats.estimation.hypothesis_results import (
    NAMES,
    TestResult,
    check_statistic,
    few_expected,
    known,
    upper_tail,
)
from rrstats.estimation.independence import Table, simulated_tables, table_of
from rrstats.estimation.null_distributions import (
    distance,
    fit,
    information_left,
    inside,
    score_statistic,
)
from rrstats.mechanisms.channel import transition_matrix

__all__ = ["change", "homogeneity"]


def homogeneity(
    samples: Any,
    *others: Any,
    statistic: str = "pearson",
    simulations: int | None = None,
    seed: int | None = None,
) -> TestResult:
    """Test whether independent samples, or groups of one sample, have the same shares.

    samples : Estimates or Tallies, two or more, one by one, as a list, or as a mapping (what
        `estimate` gives by groups); the same categories, designs may differ.  A Tally with
        weights, strata or clusters is what `estimate` makes of it.
    statistic : "pearson" (with different designs, the score test) or "likelihood-ratio".
    simulations, seed : the p-value from so many simulated tables; where all designs are the same.
    Returns a TestResult with (g - 1)(k - 1) degrees of freedom for g samples.  Samples without
    reports are left out, and that is noted.
    Reports that name several categories, latent classes, estimates with weights and the target
    "rows": Wald's test of the debiased shares against their common value.  Groups of one sample
    with weights, strata or clusters go together, and that is taken into account (see
    `SurveyEstimate.covariance_with`); so is that clusters are few, by an F distribution.  Of 1,000
    simulated true nulls a case it rejected at 5%: two groups in 3 to 12 clusters 2.0% to 4.1%, two
    independent samples of 4 to 30 clusters that differ 4.5% to 5.4%, of 2 clusters 1.3%; less where
    clusters do not differ (chi-squared: 6% to 20%).  4 to 10 regions of 3 clusters each: 0% to
    0.3%, so that little can be found there.
    Warns where expected counts are too small for chi-squared.

    >>> import rrstats as rr
    >>> a = rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75))
    >>> b = rr.Tally.from_counts([620, 380], rr.KRR(["no", "yes"], 0.9))
    >>> found = homogeneity(a, b)
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (12.78, 1, 0.0003)
    """
    kind = check_statistic(statistic)
    given, notes = _samples(samples, others)
    k, g = len(given[0].categories), len(given)
    null, n = f"all {g} samples have the same shares", sum(int(one.n) for one in given)
    if g < 2:
        note = (*notes, "fewer than two samples have reports")
        return TestResult(null, np.nan, 0, np.nan, "none", n, None, note)
    left = [_left(one, given) for one in given]
    effective = known(float(np.sum(left)))
    if not all(map(has_cells, given)):
        if kind != "pearson" or simulations is not None:
            raise ArgumentValueError(
                "the likelihood ratio and simulations need reports that fall into one cell each, "
                "of designs without latent classes and a population as target; leave them out"
            )
        together = _together(given)
        value, df, free = _against_common(given, together)
        p_value, name, doubts = wald_tail(value, df, free)
        method = "Wald test against common shares" + " of groups of one sample" * bool(together)
        return TestResult(null, value, df, p_value, method + name, n, effective, notes + doubts)
    channels = [one.mechanism.channel for one in given]
    alike = all(one.mechanism == given[0].mechanism for one in given)
    one_sample = not channels[0].samples.any()
    plain = alike and one_sample and len(channels[0].samples) == channels[0].k
    if plain:
        table = np.stack([one.reported for one in given]).astype(np.float64)
        table = table[:, table.any(axis=0)]
        if table.shape[1] < k:
            notes += (f"{k - table.shape[1]} categories that nobody reported are left out",)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
        value = float(distance(table.ravel(), expected.ravel(), kind))
        df, method = (g - 1) * (table.shape[1] - 1), f"{NAMES[kind]} test of samples by reports"
        if simulations is not None:
            p_value = simulated_tables(table, expected, kind, value, simulations, seed)
            method += f", {simulations:,} simulations"
            return TestResult(null, value, df, p_value, method, n, effective, notes)
    else:
        if simulations is not None:
            raise ArgumentValueError("simulated p-values are there where all designs are the same")
        value, df, expected = _different_designs(given, kind)
        method = "score test" if kind == "pearson" else "likelihood ratio test"
        method += " against one vector of shares fitted to all samples"
    remedy = "simulations= with seed= draws tables with the same margins" if plain else "merge some"
    notes += few_expected(expected, remedy)
    return TestResult(null, value, df, upper_tail(value, df), method, n, effective, notes)


def _samples(samples: Any, others: tuple[Any, ...]) -> tuple[list[Any], tuple[str, ...]]:
    """The estimates that have reports, and what is to be said of the others."""
    if isinstance(samples, Mapping):
        listed = [*samples.values(), *others]
    elif isinstance(samples, list | tuple):
        listed = [*samples, *others]
    else:
        listed = [samples, *others]
    if len(listed) < 2:
        raise ArgumentTypeError(f"samples must be two or more, found {len(listed)}")
    for one in listed:
        if not hasattr(one, "proportions") and not hasattr(one, "cells"):
            raise ArgumentTypeError(
                f"samples must be Estimates or Tallies, found {type(one).__name__}; "
                "make them with estimate() or tally()"
            )
    given = [estimate_of(one) for one in listed]
    lists = list(dict.fromkeys(tuple(one.categories) for one in given))
    if len(lists) > 1:
        raise ArgumentValueError(
            "all samples must have the same categories in the same order, found "
            f"{len(lists)} different lists, among them {categories_apart(*lists[:2])}"
        )
    if len({getattr(one, "target", "population") for one in given}) > 1:
        raise ArgumentValueError("all samples must be about the same target; use with_target")
    there = [one for one in given if one.n]
    empty = len(given) - len(there)
    notes = (f"{empty} of {len(given)} samples have no reports and are left out",) if empty else ()
    return there or given[:1], notes


def _left(one: Any, given: list[Any]) -> float:
    """Direct answers worth the reports of one sample, at the shares of all."""
    if not isinstance(one, Estimate) or one.target != "population":
        return float("nan")
    n = sum(int(each.n) for each in given)
    pooled = sum(np.asarray(each.proportions) * (each.n / n) for each in given)
    if not np.isfinite(pooled).all():
        return float("nan")
    channel = one.mechanism.channel
    counts = one.reported.astype(np.float64)
    return information_left(channel, np.asarray(pooled), counts, one.n) * one.n


def common_shares(given: list[Any]) -> Floats:
    """(k,) the shares that make the reports of all samples likeliest; may leave [0, 1]."""
    return _fitted([_cells(one) for one in given], given)


def _cells(one: Any) -> tuple[Floats, Floats, Floats]:
    """Matrix, counts and sizes of one sample."""
    channel, counts = one.mechanism.channel, one.reported.astype(np.float64)
    debiasing.check_possible(channel, one.reported)
    sizes = debiasing.sample_sizes(channel, counts, one.n)
    return transition_matrix(channel), counts, sizes


def _fitted(cells: list[tuple[Floats, Floats, Floats]], given: list[Any]) -> Floats:
    matrix = np.concatenate([each[0] for each in cells])
    counts, sizes = (np.concatenate([each[i] for each in cells]) for i in (1, 2))
    n = counts.sum()
    pooled = sum(one.proportions * (one.n / n) for one in given)
    slopes, last = matrix[:, :-1] - matrix[:, -1:], matrix[:, -1]

    def law(x: Floats) -> tuple[Floats, Floats]:
        return slopes @ x + last, slopes

    shares = fit(law, counts, sizes, inside(matrix, np.asarray(pooled))[:-1])
    return np.append(shares, 1 - shares.sum())


def _different_designs(given: list[Any], kind: str) -> tuple[float, int, Floats]:
    """The statistic, its degrees of freedom, and all expected counts."""
    cells = [_cells(one) for one in given]
    shares = _fitted(cells, given)
    value, df, expected = 0.0, 0, []
    empty = []
    for one, (matrix, counts, sizes) in zip(given, cells, strict=True):
        rates = np.maximum(matrix @ shares, 0.0)
        if kind == "pearson":
            part, free = score_statistic(matrix, counts, rates, sizes)
        else:
            own = matrix @ _fitted([(matrix, counts, sizes)], [one])
            seen = counts > 0
            part = 2 * float(counts[seen] @ np.log(own[seen] / rates[seen]))
            free = len(shares) - 1
        value, df = value + part, df + free
        expected.append(sizes * rates)
        if kind == "pearson":
            empty.append((matrix[:, :-1] - matrix[:, -1:])[rates <= 1e-9])
    bound = np.concatenate(empty) if empty else np.empty((0, 1))
    held = int(np.linalg.matrix_rank(bound)) if bound.size else 0
    return value, df - (len(shares) - 1 - held), np.concatenate(expected)


def _against_common(
    given: list[Any], together: dict[tuple[int, int], Floats]
) -> tuple[float, int, float | None]:
    """The distance of all shares from one common vector, weighed by their covariances.

    And its degrees of freedom; and those of the covariance, None where it is of samples
    without a design.
    """
    k, g = len(given[0].categories), len(given)
    shares = [np.asarray(one.proportions, dtype=np.float64) for one in given]
    n = np.array([float(one.n) for one in given])
    near = project_to_simplex(np.average(shares, axis=0, weights=n))
    own = [null_covariance(one, near) for one in given]
    moved = [summing(found, spread) for found, spread in zip(shares, own, strict=True)]
    keep = [keeping_sum(spread) for spread in own]
    joint = np.zeros((g, k, g, k))
    for place, (_, spread) in enumerate(moved):
        joint[place, :, place] = spread
    for (one, other), both in together.items():
        joint[one, :, other] = keep[one] @ both @ keep[other].T
        joint[other, :, one] = joint[one, :, other].T
    contrast = np.kron(np.hstack([-np.ones((g - 1, 1)), np.eye(g - 1)]), np.eye(k))
    shift = contrast @ np.concatenate([found for found, _ in moved])
    value, df = sum_to_zero(shift, contrast @ joint.reshape(g * k, g * k) @ contrast.T)
    blocks = contrast.reshape(-1, g, k)
    parts = [blocks[:, i] @ spread @ blocks[:, i].T for i, (_, spread) in enumerate(moved)]
    return value, df, _degrees(given, parts, np.sum(parts, axis=0), df)


def _degrees(given: list[Any], own: list[Floats], total: Floats, df: int) -> float | None:
    """Of the covariance of all contrasts; None where no sample has weights or a design.

    own : (c, c) what each sample adds to the covariance of the contrasts.  total : their sum.
    The number that gives the sum's trace, and that of its square, the right spread, and never more
    than all reports together have: groups in the same clusters have no more than one.
    Source: Krishnamoorthy and Yu (2004); Satterthwaite's for one contrast.
    """
    designed = [hasattr(one, "degrees_of_freedom") for one in given]
    if not any(designed):
        return None
    free = [
        float(one.degrees_of_freedom if known_ else one.n - 1)
        for one, known_ in zip(given, designed, strict=True)
    ]
    if min(free) < 1 or not np.isfinite(total).all():
        return 0.0
    inverse = np.linalg.pinv(total, rcond=1e-10, hermitian=True)
    spread = 0.0
    for each, d in zip(own, free, strict=True):
        part = each @ inverse
        spread += (float(np.trace(part @ part)) + float(np.trace(part)) ** 2) / d
    most, left = 0.0, list(range(len(given)))
    while left:
        first, *rest = left
        alike = [one for one in rest if _both(given[first], given[one]) is not None]
        together = given[first].free_with(*(given[one] for one in alike)) if alike else None
        most += sum(free[one] for one in (first, *alike)) if together is None else together
        left = [one for one in rest if one not in alike]
    return min((df + df**2) / spread, most) if spread > 0 else most


def _both(one: Any, other: Any) -> Floats | None:
    """The covariance of two groups of one sample with a design; None where they are not."""
    together = getattr(one, "covariance_with", None)
    return None if together is None else together(other)


def _together(given: list[Any]) -> dict[tuple[int, int], Floats]:
    """The covariances of those samples that are groups of one sample with a design."""
    found = {}
    for (i, one), (j, other) in combinations(enumerate(given), 2):
        if (both := _both(one, other)) is not None:
            found[i, j] = both
    return found


def change(
    before: Any, after: Any = None, *, pairs: Any = None, mechanisms: Any = None
) -> TestResult:
    """Test whether shares changed between two waves.

    before, after : Estimates or Tallies of the waves.  Without ``pairs`` the samples are taken
        for independent, as they are where different people answered.
    pairs : of a panel, the crosstab of the first wave's column with the second's: all reports
        count, and those of the same people go together (Wald's test).
    before alone : the crosstab itself, or counts of reports with ``mechanisms`` (of the rows
        and of the columns): Stuart and Maxwell's test of the people who answered both.
    Each wave must have been answered with fresh noise.
    Returns a TestResult with k - 1 degrees of freedom; for the size of the change see
    `difference`.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.9)
    >>> found = change([[500, 120], [80, 300]], mechanisms=(m, m))
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (8.0, 1, 0.0047)

    More people changed to yes than to no, and the noise alone would not look like that.
    """
    if after is None:
        if pairs is not None:
            raise ArgumentTypeError("give before and after with pairs, or the crosstab alone")
        return _margins(table_of(before, mechanisms))
    if mechanisms is not None:
        raise ArgumentTypeError("mechanisms is for a table of counts; waves know their mechanism")
    null = "the shares did not change"
    if pairs is not None:
        found = difference(estimate_of(after), estimate_of(before), paired=pairs).test()
        parts = (found.statistic, found.df, found.p_value, found.method, found.n)
        return TestResult(null, *parts, None, found.notes)
    waves = [estimate_of(one) for one in (before, after)]
    found = homogeneity(waves)
    note = "the waves are taken for independent samples: give pairs= where the same people answered"
    if _both(*waves) is not None:
        note = "the waves are groups of one sample, and different people answered in each"
    return TestResult(
        null,
        found.statistic,
        found.df,
        found.p_value,
        found.method,
        found.n,
        found.effective_n,
        (*found.notes, note),
    )


def _margins(table: Table) -> TestResult:
    """Stuart and Maxwell's test of equal margins, of debiased answers."""
    k, other = table.joint.shape
    named = [categories for categories in table.categories if categories is not None]
    if k != other or len(set(named)) > 1:
        raise ArgumentValueError(
            f"both waves must have the same categories in the same order, found {k} and {other}"
        )
    null = "the shares did not change"
    if not table.n:
        note = ("there are no reports",)
        return TestResult(null, np.nan, k - 1, np.nan, "none", 0, None, note)
    shift = table.margins[1] - table.margins[0]
    cross = table.joint - np.outer(*table.margins)
    # E[(s1 - s2)(s1 - s2)'], as it is where nothing changed
    moments = table.spreads[0] + table.spreads[1] - cross - cross.T + np.outer(shift, shift)
    value, df = sum_to_zero(shift, moments / table.n)
    method = "Stuart and Maxwell's test of equal margins, on debiased answers"
    notes = () if not np.isnan(value) else ("too few reports differ for this test",)
    return TestResult(null, value, df, upper_tail(value, df), method, table.n, None, notes)
