"""Tests of proportions seen through randomized response: fit, independence, homogeneity, change.

    rr.hypotheses.goodness_of_fit(reports, proportions, mechanism)  the given proportions
    rr.hypotheses.independence(crosstab)                            two columns
    rr.hypotheses.homogeneity(by_group)                             several samples
    rr.hypotheses.change(before, after)                             two waves

The null is carried through the channel and compared with the reports, never debiased proportions
with proportions: so the counts are multinomial under the null, noise costs power and not the level.
Reports that name several categories have no small table of counts; their debiased proportions are
compared by the covariance that they have under the null.  Each test gives a `TestResult`, which
says how much of the sample the noise has left; `rrstats.difference` has intervals.

*Columns privatized apart*: each report's noise is its own, so reports are independent exactly where
the truths are, and the ordinary chi-squared test of the reported table keeps its level.  *A pair
privatized as one answer*: the noise of such a report is not independent between its parts, and the
ordinary test takes it for the answers' dependence; both margins are fitted through the channel.
Sources: Gaboardi and Rogers (2018), LocalGenRRGOF and LocalGenRRIND; Pearson (1900); Stuart
(1955), Maxwell (1970), Bhapkar (1966) for two waves of the same people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_numbers, check_probability, check_whole_number
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.crosstab import Crosstab
from rrstats.estimation.difference import difference
from rrstats.estimation.homogeneity import (
    STATISTICS,
    TestResult,
    as_estimate,
    by_chi_squared,
    by_table,
    by_wald,
    cells_of,
    check_statistic,
    draft_of,
    few_expected,
    has_cells,
    homogeneity,
    information,
    information_left,
    is_simple,
    joint_covariance,
    null_covariance,
    untested,
)
from rrstats.estimation.result import said
from rrstats.inference.contingency import (
    exact_p_value,
    fit_margins,
    simulated_p_value,
)
from rrstats.inference.contrasts import (
    known_sum_map,
    project_to_simplex,
    wald_statistic,
    with_known_sum,
)
from rrstats.inference.multinomial import distance, score_statistic, start_inside
from rrstats.mechanisms.channel import (
    expected_rates,
    has_latent_classes,
    transition_matrix,
)
from rrstats.mechanisms.serialization import as_mechanism

__all__ = [
    "TestPower",
    "TestResult",
    "change",
    "goodness_of_fit",
    "goodness_of_fit_power",
    "homogeneity",
    "independence",
]

_PLAIN = (
    "the likelihood ratio, exact and simulated p-values need a table of reports with as many cells "
    "as categories, of one sample, and a population as target; leave them out"
)


@dataclass(frozen=True)
class TestPower:
    """Power of a test under one alternative.

    Attributes
    ----------
    power : float
        The proportion of surveys with a p-value of at most ``alpha``, by the noncentral
        chi-squared distribution, which is good where all expected counts are some fives.
    noncentrality : float
        Its parameter, proportional to n.
    df : int
        Degrees of freedom of the test.
    n : int
        The number of reports.
    alpha : float
        Significance level.
    """

    __test__ = False

    power: float
    noncentrality: float
    df: int
    n: int
    alpha: float


# -- goodness of fit -------------------------------------------------------------------------


def _proportions(given: Any, categories: tuple[Any, ...], name: str) -> Floats:
    """(k,) proportions that sum to 1, from a mapping or in the categories' order."""
    if isinstance(given, Mapping | pd.Series):
        space, pairs = Categories(categories), dict(given.items())
        if strange := sum(space.code(label) >= space.k for label in pairs):
            raise ArgumentValueError(
                f"{strange} of the {len(pairs)} labels in {name} are not among the categories "
                f"{space.describe()}"
            )
        given = [pairs.get(label, 0.0) for label in categories]
    found = check_numbers(given, name, size=len(categories), low=0.0)
    if abs(found.sum() - 1) > 1e-6:
        raise ArgumentValueError(f"{name} must sum to 1, got {found.sum():.6g}")
    return np.asarray(found / found.sum())


def goodness_of_fit(
    reports: Any,
    proportions: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: Any = None,
    statistic: str = "pearson",
    exact: bool = False,
    simulations: int | None = None,
    seed: int | None = None,
) -> TestResult:
    """Test the null that the true proportions are given ones.

    Parameters
    ----------
    reports : array-like, Tally or Estimate
        Reports, with what made them in ``mechanism`` (or categories with ``prob`` or ``epsilon``)
        and ``group``, or what was counted or estimated of them.
    proportions : sequence of k floats, or mapping
        They sum to 1; in the categories' order, or by category.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`.
    statistic : {"pearson", "likelihood-ratio"}
        The second where a report is one of as many cells as there are categories.
    exact : bool
        The p-value from all possible counts, for few reports of few kinds.
    simulations, seed : int, optional
        The p-value from so many simulated surveys.

    Returns
    -------
    TestResult
        With k - 1 degrees of freedom.  Of an Estimate with target "rows" only the noise is random:
        the null is about these rows.  With weights, strata or clusters: Wald's test with the
        sample's covariance, by an F distribution.

    Warns
    -----
    LowPrecisionWarning
        Where expected counts are too small for chi-squared.

    Notes
    -----
    T = sum (H - n r)^2 / (n r) with r the reports' rates at these proportions; for k-RR GenRR of
    Gaboardi and Rogers (2018).  A design with more kinds of reports than categories: the part of T
    that proportions can explain (the score test).

    Examples
    --------
    >>> import rrstats as rr
    >>> counts = rr.Tally.from_counts([260, 270, 250, 220], rr.KRR(list("abcd"), epsilon=1))
    >>> found = goodness_of_fit(counts, [0.4, 0.3, 0.2, 0.1])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4), round(found.effective_n)
    (6.3317, 3, 0.0965, 82)

    The reports do not contradict these proportions, but a thousand of them tell what 82 direct
    answers would.
    """
    kind = check_statistic(statistic)
    made = {"mechanism": mechanism, "prob": prob, "epsilon": epsilon, "group": group}
    found = as_estimate(reports, **made)
    wanted = _proportions(proportions, tuple(found.categories), "proportions")
    channel, simple = found.mechanism.channel, is_simple(found) and found.target == "population"
    effective = np.nan
    if simple:
        effective = found.n * information_left(channel, wanted, found.reported, found.n)
    pairs = [f"{x:.1%} {said(label)}" for label, x in zip(found.categories, wanted, strict=True)]
    listed = ", ".join(pairs) if len(pairs) <= 6 else "the given ones"
    draft = draft_of(f"the shares are {listed}", found.n, effective)
    if not found.n:
        return untested(draft, len(wanted) - 1)
    cells = has_cells(found)
    plain = cells and not channel.samples.any() and len(channel.samples) == channel.k
    if (exact or simulations is not None or kind != "pearson") and not plain:
        raise ArgumentValueError(_PLAIN)
    if not cells:
        return _wald_fit(draft, found, wanted)
    if exact:
        if simulations is not None:
            raise ArgumentTypeError("give exact=True or simulations, found both")
        return _exact_fit(draft, found, wanted, kind)
    return _fit(draft, found, wanted, kind, simulations=simulations, seed=seed)


def _statistic(
    draft: TestResult, found: Any, wanted: Floats, kind: str
) -> tuple[TestResult, Floats, Floats]:
    """The result without its p-value, the rates under the null, and the expected counts."""
    matrix, counts, sizes = cells_of(found)
    rates = expected_rates(found.mechanism.channel, wanted)
    value, df = score_statistic(matrix, counts, rates, sizes)
    square = matrix.shape[0] == matrix.shape[1]
    method = "Pearson's test of the reports" if square else "score test of the reports"
    if kind != "pearson":
        value, method = float(distance(counts, sizes * rates, kind)), "likelihood ratio of reports"
    return replace(draft, statistic=value, df=df, method=method), rates, sizes * rates


def _exact_fit(draft: TestResult, found: Any, wanted: Floats, kind: str) -> TestResult:
    """The test by all tables of as many reports."""
    draft, rates, _ = _statistic(draft, found, wanted, kind)
    p_value = exact_p_value(rates, found.n, draft.statistic, kind)
    return replace(draft, p_value=p_value, method=f"{draft.method}, exact")


def _fit(
    draft: TestResult, found: Any, wanted: Floats, kind: str, *, simulations: Any, seed: Any
) -> TestResult:
    """The test by chi-squared, or by simulated surveys."""
    draft, rates, expected = _statistic(draft, found, wanted, kind)
    if simulations is None:
        remedy = "exact=True lists all tables, simulations= with seed= draws some"
        if draft.method.startswith("score"):
            remedy = "merge categories"
        return by_chi_squared(draft, draft.statistic, draft.df, expected=expected, remedy=remedy)
    p_value = simulated_p_value(
        lambda generator, size: generator.multinomial(found.n, rates, size=size),
        lambda drawn: distance(drawn, expected, kind),
        draft.statistic,
        cells=len(rates),
        simulations=simulations,
        seed=seed,
    )
    return replace(draft, p_value=p_value, method=f"{draft.method}, {simulations:,} simulations")


def _wald_fit(draft: TestResult, found: Any, wanted: Floats) -> TestResult:
    """Wald's test of unbiased proportions, with their covariance under the null where known."""
    channel = found.mechanism.channel
    draft = replace(draft, method="Wald test of the shares")
    if is_simple(found) and not channel.is_multinomial:
        rates = expected_rates(channel, wanted)
        notes = few_expected(found.n * np.minimum(rates, 1 - rates), "merge categories")
        draft = replace(draft, notes=notes)
    shift = np.asarray(found.proportions) - wanted
    return by_wald(draft, shift, null_covariance(found, wanted), found.df)


def goodness_of_fit_power(
    mechanism: Any, proportions: Any, alternative: Any, n: int, *, alpha: float = 0.05
) -> TestPower:
    """Power of `goodness_of_fit` against given proportions where others are true.

    Parameters
    ----------
    mechanism : Mechanism
        Of one sample, without latent classes.
    proportions : sequence of k floats, or mapping
        Of the null.
    alternative : sequence of k floats, or mapping
        The true ones.
    n : int
        The number of reports.
    alpha : float
        Significance level.

    Returns
    -------
    TestPower
        The power with its noncentrality.

    Notes
    -----
    Noncentrality n sum (r1 - r0)^2 / r0 of the reports' rates; for k-RR with proportions
    p0 + D / sqrt(n) it is (e-1)^2 / (e+k-1) sum D^2 / ((e-1) p0 + 1), e = exp(epsilon), Gaboardi
    and Rogers (2018).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> found = goodness_of_fit_power(m, [0.8, 0.2], [0.7, 0.3], n=1000)
    >>> round(found.power, 3), round(found.noncentrality, 2)
    (0.912, 10.99)

    Of a hundred such surveys, 91 would notice that 30% and not 20% say yes.
    """
    described = as_mechanism(mechanism, None, None)
    channel, size = described.channel, check_whole_number(n, "n", 0)
    alpha = check_probability(alpha, "alpha", "()")
    null = _proportions(proportions, described.categories, "proportions")
    other = _proportions(alternative, described.categories, "alternative")
    if has_latent_classes(channel) or channel.samples.any():
        raise ArgumentValueError(
            "the power is there for designs of one sample without latent classes"
        )
    if channel.is_multinomial:
        rates = expected_rates(channel, null)
        expected = size * expected_rates(channel, other)
        sizes = np.full_like(rates, size)
        noncentrality, df = score_statistic(transition_matrix(channel), expected, rates, sizes)
    else:
        noncentrality, df = wald_statistic(other - null, channel.covariance(null, "population"))
        noncentrality *= size
    power = 1.0
    if np.isfinite(noncentrality):
        power -= float(scipy.special.chndtr(scipy.special.chdtri(df, alpha), df, noncentrality))
    return TestPower(power, noncentrality, df, size, alpha)


# -- independence ----------------------------------------------------------------------------

_INDEPENDENT = "the two answers are independent"


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
    """Test the null that two answers are independent.

    Parameters
    ----------
    table : Crosstab, counts, reports, Tally or Estimate
        Of columns privatized apart (or one of them ordinary), a Crosstab of the two, or counts of
        reports with ``mechanisms``.  Of a pair privatized as one answer, its reports with
        ``mechanism`` (or categories with ``prob`` or ``epsilon``), a Tally or an Estimate.
    mechanism, prob, epsilon : optional
        As for `rrstats.estimate`, of a pair as one answer.
    mechanisms : (Mechanism or None, Mechanism or None), optional
        That of the rows and that of the columns; None for a column that is not private.
    pairs : mapping from category to two parts, optional
        Of a pair as one answer; by default the categories are tuples of two.
    statistic : {"pearson", "likelihood-ratio"}
        Of the table of reports.
    simulations, seed : int, optional
        The p-value from so many simulated tables with the same margins; for columns privatized
        apart.

    Returns
    -------
    TestResult
        With (r - 1)(c - 1) degrees of freedom.  Categories that nobody reported are left out of
        the table, and of the degrees of freedom.

    Warns
    -----
    LowPrecisionWarning
        Where expected counts are too small for chi-squared.

    Examples
    --------
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
    if mechanisms is None and not isinstance(table, Crosstab):
        if simulations is not None:
            raise ArgumentValueError(
                "simulated p-values are there for columns privatized apart; leave simulations out"
            )
        found = as_estimate(table, mechanism=mechanism, prob=prob, epsilon=epsilon)
        return _pair_independence(found, pairs, kind)
    if mechanism is not None or prob is not None or epsilon is not None or pairs is not None:
        raise ArgumentTypeError(
            "a table of two columns takes mechanisms=(of the rows, of the columns); mechanism, "
            "prob, epsilon and pairs are for a pair privatized as one answer"
        )
    crossed = two_way(table, mechanisms)
    if crossed.combined is not None:
        return _pair_independence(crossed.combined, None, kind)
    return _column_independence(crossed, kind, simulations, seed)


def _column_independence(
    crossed: Crosstab, kind: str, simulations: int | None, seed: Any
) -> TestResult:
    """The test of columns that were privatized apart."""
    n, shape, effective = crossed.n, crossed.shape, float(crossed.n)
    for axis in crossed.axes if n else ():
        alone = crossed.margin(axis.name)
        sizes = alone.counted[: axis.m].astype(np.float64)
        effective *= information_left(axis.channel, alone.proportions, sizes, n)
    draft = draft_of(_INDEPENDENT, n, effective)
    if not n:
        return untested(draft, (shape[0] - 1) * (shape[1] - 1))
    if crossed.counted.shape == shape and all(axis.is_multinomial for axis in crossed.axes):
        draft = replace(draft, method="the reported table")
        table = crossed.counted.astype(np.float64)
        return by_table(draft, table, kind, simulations=simulations, seed=seed)
    if kind != "pearson" or simulations is not None:
        raise ArgumentValueError(_PLAIN)
    value, df = score_covariance(crossed)
    draft = replace(draft, method="test of the covariance of debiased answers")
    return by_chi_squared(draft, value, df, expected=np.empty(0), remedy="")


def two_way(given: Any, mechanisms: Any = None) -> Crosstab:
    """A Crosstab of two columns, also from counts of reports with the mechanism of each axis."""
    if not isinstance(given, Crosstab):
        counts = check_numbers(given, "table, a crosstab or counts of reports,", axes=2)
        if not isinstance(mechanisms, tuple | list) or len(mechanisms) != 2:
            raise ArgumentTypeError(
                "mechanisms must be two, of the rows and of the columns of the counts; None for a "
                "column that is not private"
            )
        labels: Any = next((one.categories for one in mechanisms if one is not None), ())
        pairs = zip(("rows", "columns"), mechanisms, counts.shape, strict=True)
        columns = {
            name: (labels if len(labels) == m else range(m)) if one is None else one
            for name, one, m in pairs
        }
        whole = counts.astype(np.int64)
        given = Crosstab.from_counts(whole if (whole == counts).all() else counts, columns)
    if len(given.axes) != 2:
        raise ArgumentValueError(
            f"table must be of two columns, found {len(given.axes)}; make a crosstab of the two, "
            "or take a margin"
        )
    found: Crosstab = given.with_target("population")
    return found


def _moments(table: Crosstab) -> tuple[list[Floats], list[Floats]]:
    """Of both columns, the proportions and the covariance of one debiased answer."""
    alone = [table.margin(name) for name in table.names]
    spreads = [np.nan_to_num(one.covariance() * one.divisor) for one in alone]
    return [one.proportions for one in alone], spreads


def score_covariance(table: Crosstab) -> tuple[float, int]:
    """The statistic n tr(S1^- C S2^- C') of the covariance C of both debiased answers.

    Where tables are square this is Pearson's X2 of the reports.
    """
    margins, spreads = _moments(table)
    first, second = map(_inverse_root, spreads)
    shift = table.proportions - np.outer(*margins)
    return float(table.n * ((first @ shift @ second.T) ** 2).sum()), len(first) * len(second)


def _inverse_root(spread: Floats) -> Floats:
    """(rank, k) R with R' R the inverse of a covariance among shifts that sum to 0."""
    _, moved = with_known_sum(np.zeros(len(spread)), spread)
    values, vectors = np.linalg.eigh(moved)
    kept = values > 1e-10 * max(values[-1], 0.0)
    root = (vectors[:, kept] / np.sqrt(values[kept])).T
    return np.asarray(root @ known_sum_map(spread))


# -- a pair privatized as one answer ---------------------------------------------------------


def _pair_independence(
    found: Any, pairs: Mapping[Any, tuple[Any, Any]] | None, kind: str
) -> TestResult:
    """The test of the two parts of the categories."""
    cells, shape = _grid(tuple(found.categories), pairs)
    draft, channel = draft_of(_INDEPENDENT, found.n), found.mechanism.channel
    if not found.n:
        return untested(draft, (shape[0] - 1) * (shape[1] - 1))
    if kind != "pearson" and (not has_cells(found) or len(channel.samples) != channel.k):
        raise ArgumentValueError(_PLAIN)
    if not has_cells(found):
        return _wald_pairs(draft, found, cells, shape)
    matrix, counts, sizes = cells_of(found)
    matrix = matrix[:, cells]
    start = start_inside(matrix, found.proportions[cells]).reshape(shape)
    first, second = fit_margins(matrix, counts, sizes, start)
    rates = matrix @ np.outer(first, second).ravel()
    if kind == "pearson":
        value, within = score_statistic(matrix, counts, rates, sizes)
    else:
        value, within = float(distance(counts, sizes * rates, kind)), len(rates) - 1
    # A rate that came down to 0 is a cell less, and a parameter less.
    empty = matrix[rates <= 1e-9].reshape(-1, *shape)
    by_first, by_second = empty @ second, np.einsum("mij,i->mj", empty, first)
    held = np.hstack([np.diff(by_first), np.diff(by_second)])
    df = within - (sum(shape) - 2 - (int(np.linalg.matrix_rank(held)) if held.size else 0))
    near = [project_to_simplex(margin) for margin in (first, second)]
    proportions = np.empty(channel.k)
    proportions[cells] = np.outer(*near).ravel()
    form = information(channel, proportions, counts, found.n)
    method = f"{STATISTICS[kind]} test with both margins fitted through the channel"
    draft = replace(draft, method=method)
    if form is not None and (proportions > 0).all():
        effective = found.n * _interaction_information(form[np.ix_(cells, cells)], *near)
        draft = replace(draft, effective_n=effective)
    result = by_chi_squared(draft, value, df, expected=sizes * rates, remedy="merge categories")
    if df < 1:
        result = untested(result, df, "all reports are alike, and nothing is left to test")
    return result


def _grid(
    categories: tuple[Any, ...], pairs: Mapping[Any, tuple[Any, Any]] | None
) -> tuple[NDArray[np.intp], tuple[int, int]]:
    """The category of each cell of the table, row by row, and the table's shape."""
    given = dict(pairs) if pairs is not None else {one: one for one in categories}
    if set(given) != set(categories):
        raise ArgumentValueError(
            f"pairs must name each of the {len(categories)} categories and no other"
        )
    parts = [given[one] for one in categories]
    if not all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        raise ArgumentTypeError(
            "the categories of a pair privatized as one answer must be tuples of two parts, or "
            "pairs= must map each to such a tuple; for columns privatized apart give their "
            "crosstab, or counts with mechanisms="
        )
    rows, columns = (list(dict.fromkeys(part[axis] for part in parts)) for axis in (0, 1))
    places = {part: code for code, part in enumerate(parts)}
    if (
        len(places) != len(parts)
        or len(parts) != len(rows) * len(columns)
        or 1
        in (
            len(rows),
            len(columns),
        )
    ):
        raise ArgumentValueError(
            f"pairs must be all combinations of {len(rows)} and {len(columns)} parts (two or more "
            f"each), once each, found {len(places)} different ones"
        )
    cells = np.array([places[row, column] for row in rows for column in columns], dtype=np.intp)
    return cells, (len(rows), len(columns))


def _interaction_information(form: Floats, first: Floats, second: Floats) -> float:
    """Direct pairs worth one report for a dependence, averaged over all kinds of it."""
    one, other = _contrasts(first), _contrasts(second)
    margins = [np.kron(one, second[:, None]), np.kron(first[:, None], other)]
    nuisance, both = np.concatenate(margins, axis=1), np.kron(one, other)
    mixed = nuisance.T @ form @ both
    own = both.T @ form @ both - mixed.T @ np.linalg.solve(nuisance.T @ form @ nuisance, mixed)
    return float(np.trace(own) / both.shape[1])


def _contrasts(proportions: Floats) -> Floats:
    """(k, k - 1) shifts that sum to 0 and are of unit information in direct answers."""
    root = np.sqrt(proportions)
    return np.asarray(root[:, None] * np.linalg.svd(root[None])[2][1:].T)


def _wald_pairs(
    draft: TestResult, found: Any, cells: NDArray[np.intp], shape: tuple[int, int]
) -> TestResult:
    """Wald's test of the joint proportions less the product of their margins."""
    r, c = shape
    joint = np.asarray(found.proportions)[cells]
    margins = [project_to_simplex(joint.reshape(shape).sum(axis=axis)) for axis in (1, 0)]
    null = np.empty(len(joint))
    null[cells] = np.outer(*margins).ravel()
    joint, covariance = with_known_sum(joint, null_covariance(found, null)[np.ix_(cells, cells)])
    rows, columns = joint.reshape(shape).sum(axis=1), joint.reshape(shape).sum(axis=0)
    sum_rows, sum_columns = np.kron(np.eye(r), np.ones((1, c))), np.kron(np.ones((1, r)), np.eye(c))
    slope = np.eye(r * c) - np.kron(np.eye(r), columns[:, None]) @ sum_rows
    slope -= np.kron(rows[:, None], np.eye(c)) @ sum_columns
    shift = joint - np.outer(rows, columns).ravel()
    method = "Wald test of the joint shares against the product of their margins"
    draft = replace(draft, method=method)
    return by_wald(draft, shift, slope @ covariance @ slope.T, found.df)


# -- two waves -------------------------------------------------------------------------------

_UNCHANGED = "the shares did not change"


def change(
    before: Any, after: Any = None, *, pairs: Any = None, mechanisms: Any = None
) -> TestResult:
    """Test the null that proportions did not change between two waves.

    Parameters
    ----------
    before, after : Estimate or Tally
        Of the waves.  Without ``pairs`` the samples are taken for independent, as they are where
        different people answered.  ``before`` alone: the crosstab of both waves, or counts of
        reports with ``mechanisms``: Stuart and Maxwell's test of the people who answered both.
    pairs : Crosstab, optional
        Of a panel, the first wave's column with the second's: all reports count, and those of the
        same people are correlated (Wald's test).
    mechanisms : (Mechanism or None, Mechanism or None), optional
        Of the rows and of the columns of counts.

    Returns
    -------
    TestResult
        With k - 1 degrees of freedom; for the size of the change see `rrstats.difference`.

    Notes
    -----
    Each wave must have been answered with fresh noise.

    Examples
    --------
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
        return _equal_margins(two_way(before, mechanisms))
    if mechanisms is not None:
        raise ArgumentTypeError("mechanisms is for a table of counts; waves know their mechanism")
    waves = [as_estimate(one) for one in (before, after)]
    if pairs is not None:
        return replace(difference(waves[1], waves[0], paired=pairs).test(), null=_UNCHANGED)
    found = homogeneity(waves)
    note = "the waves are taken for independent samples: give pairs= where the same people answered"
    if joint_covariance(*waves) is not None:
        note = "the waves are groups of one sample, and different people answered in each"
    return replace(found, null=_UNCHANGED, notes=(*found.notes, note))


def _equal_margins(table: Crosstab) -> TestResult:
    """Stuart and Maxwell's test of equal margins, of debiased answers."""
    k, other = table.shape
    if len(set(table.categories)) > 1:
        raise ArgumentValueError(
            f"both waves must have the same categories in the same order, found {k} and {other}"
        )
    method = "Stuart and Maxwell's test of equal margins, on debiased answers"
    draft = replace(draft_of(_UNCHANGED, table.n), method=method)
    if not table.n:
        return untested(draft, k - 1)
    if table.combined is not None:
        draft = replace(draft, method="Wald test of equal margins")
        contrast = np.kron(np.ones((1, k)), np.eye(k)) - np.kron(np.eye(k), np.ones((1, k)))
        shift = contrast @ table.proportions.ravel()
        return by_wald(draft, shift, contrast @ table.covariance() @ contrast.T, table.df)
    margins, spreads = _moments(table)
    shift, cross = margins[1] - margins[0], table.proportions - np.outer(*margins)
    # E[(s1 - s2)(s1 - s2)'], as it is where nothing changed
    moments = spreads[0] + spreads[1] - cross - cross.T + np.outer(shift, shift)
    found = by_wald(draft, shift, moments / table.n)
    if np.isnan(found.p_value):
        found = untested(found, found.df, "too few reports differ for this test")
    return found
