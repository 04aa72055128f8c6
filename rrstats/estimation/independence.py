"""Independence of two private answers, or of a private and an ordinary one.

*Columns privatized apart*: each report's noise is its own, so reports are independent exactly where
the truths are, and the ordinary chi-squared test of the reported table keeps its level; only its
power falls.  Designs with more kinds of reports than categories, latent classes or reports that
name several categories: the same on the debiased scores, whose covariance between the columns
is 0 under the null.
*A pair privatized as one answer* is another matter, and goes to `pairs`.
Source: Pearson (1900).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrstats._typing import Counts, Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.crosstab_results import Crosstab
from rrstats.estimation.goodness_of_fit import estimate_of
from rrstats.estimation.hypothesis_results import (
    NAMES,
    TestResult,
    check_statistic,
    few_expected,
    known,
    simulated,
    upper_tail,
)
from rrstats.estimation.null_distributions import distance, information_left
from rrstats.estimation.pair_independence import NULL, independence_of_pairs
from rrstats.mechanisms.channel import Channel
from rrstats.mechanisms.serialization import as_mechanism

__all__ = ["Table", "independence", "simulated_tables", "table_of"]


_FEW = "simulations= with seed= draws tables with the same margins"


@dataclass(frozen=True, eq=False)
class Table:
    """Two columns of the same people, each through a channel of its own.

    reported : (m1, m2) counts, where each report is one cell; else None.
    channels : of both columns; None for an ordinary one.
    joint : (k1, k2) unbiased joint shares.  margins : of both, the shares, and the covariance of
        one debiased answer.
    """

    n: int
    reported: Floats | None
    channels: tuple[Channel | None, Channel | None]
    joint: Floats
    margins: tuple[Floats, Floats]
    spreads: tuple[Floats, Floats]
    categories: tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]

    @property
    def as_reported(self) -> bool:
        """Whether the table of reports has as many cells as that of the categories."""
        return self.reported is not None and self.reported.shape == self.joint.shape


def _scores(channel: Channel | None, m: int) -> Floats:
    """(m, k) the debiased answer of each cell."""
    return np.eye(m) if channel is None else channel.scores(np.arange(len(channel.samples)))


def table_of(given: Any, mechanisms: Any = None) -> Table:
    """A Crosstab of two columns, or a table of counts with the mechanism of each axis."""
    if isinstance(given, Crosstab):
        return _of_crosstab(given)
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        counts = np.empty(0)
    if counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any():
        raise ArgumentValueError(
            "table must be a crosstab of two columns, or counts of reports, one row for each "
            "report of the first column and one column for each of the second"
        )
    if (counts != np.round(counts)).any():
        raise ArgumentValueError("table must hold whole counts of reports, not shares or weights")
    if not isinstance(mechanisms, tuple | list) or len(mechanisms) != 2:
        raise ArgumentTypeError(
            "mechanisms must be two, of the rows and of the columns of the counts; None for a "
            "column that is not private"
        )
    described = [None if one is None else as_mechanism(one, None, None) for one in mechanisms]
    channels = tuple(None if one is None else one.channel for one in described)
    for axis, channel in enumerate(channels):
        if channel is not None and not channel.is_multinomial:
            raise ArgumentValueError(
                "reports that name several categories make no table of counts; give a crosstab"
            )
        if channel is not None and len(channel.samples) != counts.shape[axis]:
            raise ArgumentValueError(
                f"axis {axis} of table must have {len(channel.samples)} entries, one for each kind "
                f"of report of its mechanism, found {counts.shape[axis]}"
            )
    named = tuple(None if one is None else tuple(one.categories) for one in described)
    return _of_counts(counts, (channels[0], channels[1]), (named[0], named[1]))


def _of_counts(counts: Floats, channels: Any, categories: Any) -> Table:
    n = int(counts.sum())
    scores = [_scores(channel, m) for channel, m in zip(channels, counts.shape, strict=True)]
    with np.errstate(invalid="ignore"):
        rates = counts / np.float64(n)
    margins, spreads = [], []
    for axis, table in enumerate(scores):
        rate = rates.sum(axis=1 - axis)
        mean = rate @ table
        margins.append(mean)
        spreads.append((table.T * rate) @ table - np.outer(mean, mean))
    joint = scores[0].T @ rates @ scores[1]
    pair = (margins[0], margins[1]), (spreads[0], spreads[1])
    return Table(n, counts, channels, joint, *pair, categories)


def _of_crosstab(given: Crosstab) -> Table:
    if len(given.axes) != 2:
        raise ArgumentValueError(
            f"table must be of two columns, found {len(given.axes)}; make a crosstab of the two, "
            "or take a margin"
        )
    channels = [None if axis.mechanism is None else axis.mechanism.channel for axis in given.axes]
    if all(axis.one_cell_each for axis in given.axes):
        return _of_counts(given.counted.astype(np.float64), channels, given.categories)
    apart = [given.margin(name).with_target("population") for name in given.names]
    margins = [np.asarray(one.proportions) for one in apart]
    spreads = [np.asarray(one.covariance() * one.divisor) for one in apart]
    return Table(
        given.n,
        None,
        (channels[0], channels[1]),
        np.asarray(given.proportions),
        (margins[0], margins[1]),
        (spreads[0], spreads[1]),
        (given.categories[0], given.categories[1]),
    )


def independence(
    table: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanisms: Any = None,
    pairs: Mapping[Any, tuple[Any, Any]] | None = None,
    statistic: str = "pearson",
    simulations: int | None = None,
    seed: int | None = None,
) -> TestResult:
    """Test whether two answers are independent.

    table : of columns privatized apart (or one of them ordinary), a Crosstab of the two, or counts
        of reports with ``mechanisms``, that of the rows and that of the columns (None for a
        column that is not private).  Of a pair privatized as one answer, its reports with
        ``mechanism`` (or categories with ``prob`` or ``epsilon``), a Tally or an Estimate.
    pairs : of a pair as one answer, a mapping from category to its two parts; by default the
        categories are tuples of two.
    statistic : "pearson" or "likelihood-ratio", of the table of reports.
    simulations, seed : the p-value from so many simulated tables with the same margins; for
        columns privatized apart.
    Returns a TestResult with (r - 1)(c - 1) degrees of freedom.  Categories that nobody reported
    are left out of the table, and of the degrees of freedom.
    Warns where expected counts are too small for chi-squared.

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> found = independence([[330, 270], [170, 230]], mechanisms=(m, m))
    >>> round(found.statistic, 2), found.df, round(found.effective_n)
    (15.0, 1, 55)
    >>> one = rr.KRR([("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")], epsilon=1)
    >>> found = independence(rr.Tally.from_counts([330, 270, 170, 230], one))
    >>> round(found.statistic, 2), found.df
    (12.25, 1)

    The same counts say less where the pair went through one k-RR: part of their dependence is
    the noise's.
    """
    kind = check_statistic(statistic)
    apart = mechanisms is not None or isinstance(table, Crosstab)
    if not apart:
        if simulations is not None:
            raise ArgumentValueError(
                "simulated p-values are there for columns privatized apart; leave simulations out"
            )
        return independence_of_pairs(estimate_of(table, mechanism, prob, epsilon), pairs, kind)
    if mechanism is not None or prob is not None or epsilon is not None or pairs is not None:
        raise ArgumentTypeError(
            "a table of two columns takes mechanisms=(of the rows, of the columns); mechanism, "
            "prob, epsilon and pairs are for a pair privatized as one answer"
        )
    return _apart(table_of(table, mechanisms), kind, simulations, seed)


def _apart(table: Table, kind: str, simulations: int | None, seed: int | None) -> TestResult:
    if not table.n:
        df = (table.joint.shape[0] - 1) * (table.joint.shape[1] - 1)
        return TestResult(NULL, np.nan, df, np.nan, "none", 0, None, ("there are no reports",))
    left = [
        information_left(channel, margin, _margin(table, axis), table.n)
        for axis, (channel, margin) in enumerate(zip(table.channels, table.margins, strict=True))
    ]
    effective = float(left[0] * left[1] * table.n)
    notes: tuple[str, ...] = ()
    if table.as_reported and table.reported is not None:
        observed = table.reported[table.reported.any(axis=1)][:, table.reported.any(axis=0)]
        if dropped := sum(table.reported.shape) - sum(observed.shape):
            notes = (f"{dropped} categories that nobody reported are left out",)
        expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / table.n
        value = float(distance(observed.ravel(), expected.ravel(), kind))
        df = (observed.shape[0] - 1) * (observed.shape[1] - 1)
        method = f"{NAMES[kind]} test of the reported table"
        if simulations is not None:
            p_value = simulated_tables(observed, expected, kind, value, simulations, seed)
            method += f", {simulations:,} simulations"
        else:
            notes += few_expected(expected, _FEW)
            p_value = upper_tail(value, df)
        return TestResult(NULL, value, df, p_value, method, table.n, known(effective), notes)
    if kind != "pearson" or simulations is not None:
        raise ArgumentValueError(
            "the likelihood ratio and simulations need tables of reports with as many cells as "
            "categories; leave them out for the score test"
        )
    value, df = _score_covariance(table)
    method = "test of the covariance of debiased answers"
    return TestResult(NULL, value, df, upper_tail(value, df), method, table.n, known(effective))


def _margin(table: Table, axis: int) -> Floats:
    if table.reported is not None:
        return np.asarray(table.reported.sum(axis=1 - axis))
    channel = table.channels[axis]
    return np.zeros(0 if channel is None else len(channel.samples))


def _score_covariance(table: Table) -> tuple[float, int]:
    """The statistic n tr(S1^- C S2^- C') of the covariance C of both debiased answers.

    Where tables are square this is Pearson's X2 of the reports.
    """
    first, second = (_root(spread) for spread in table.spreads)
    shift = table.joint - np.outer(*table.margins)
    return float(table.n * ((first @ shift @ second.T) ** 2).sum()), len(first) * len(second)


def _root(spread: Floats) -> Floats:
    """(rank, k) R with R' R the inverse of a covariance among shifts that sum to 0."""
    with_sum = spread.sum(axis=1)
    keep = np.eye(len(spread))
    if with_sum.sum() > 1e-10 * np.trace(spread):
        keep -= np.outer(with_sum, np.ones(len(spread))) / with_sum.sum()
    values, vectors = np.linalg.eigh(keep @ spread @ keep.T)
    kept = values > 1e-10 * max(values[-1], 0.0)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ keep)


def random_tables(generator: Any, size: int, rows: Counts, columns: Counts) -> Counts:
    """(size, r, c) tables with these margins, as likely as shuffled pairs make them.

    Cell by cell: what a row takes from a column is hypergeometric, given what is left of both.
    """
    found = np.zeros((size, len(rows), len(columns)), dtype=np.int64)
    left = np.tile(columns, (size, 1))
    for row, total in enumerate(rows[:-1]):
        wanted = np.full(size, total)
        for column in range(len(columns) - 1):
            beyond = left[:, column + 1 :].sum(axis=1)
            taken = generator.hypergeometric(left[:, column], beyond, wanted)
            found[:, row, column] = taken
            wanted -= taken
        found[:, row, -1] = wanted
        left -= found[:, row]
    found[:, -1] = left
    return found


def simulated_tables(
    observed: Floats, expected: Floats, kind: str, value: float, simulations: int, seed: Any
) -> float:
    """The exact test's p-value by Monte Carlo: tables with both margins as they are."""
    margins = [observed.sum(axis=axis).astype(np.int64) for axis in (1, 0)]
    flat = expected.ravel()
    return simulated(
        lambda generator, size: random_tables(generator, size, *margins).reshape(size, -1),
        lambda drawn: distance(drawn, flat, kind),
        value,
        observed.size,
        simulations,
        seed,
    )
