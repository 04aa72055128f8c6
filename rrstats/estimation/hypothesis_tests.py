"""Tests of proportions seen through randomized response, and differences of two estimates.

    rr.hypotheses.goodness_of_fit(reports, proportions, mechanism)  the given proportions
    rr.hypotheses.independence(crosstab)                            two columns
    rr.hypotheses.homogeneity(by_group)                             several samples
    rr.hypotheses.change(before, after)                             two waves

The null is carried through the channel and compared with the reports, never debiased proportions
with proportions: so the counts are multinomial under the null, noise costs power and not the level.
Reports that name several categories have no small table of counts; their debiased proportions are
compared by the covariance that they have under the null.  Each test gives a `TestResult`, which
says how much of the sample the noise has left.

*Columns privatized apart*: each report's noise is its own, so reports are independent exactly where
the truths are, and the ordinary chi-squared test of the reported table keeps its level.  *A pair
privatized as one answer*: the noise of such a report is not independent between its parts, and the
ordinary test takes it for the answers' dependence; both margins are fitted through the channel.
*Homogeneity*: independent samples, each asked by a design of its own.  One vector of proportions is
fitted to all reports and each sample is compared with it; where all designs are the same this is
Pearson's test of the table of samples by reports.  Groups of one survey with weights or a design
are compared by Wald's test, with their joint covariance.
*Differences*: of two independent samples, asked by any two designs with the same categories; of two
groups of one sample with weights, strata or clusters, whose proportions are correlated; or of the
same people twice, where a table of both columns has the correlation of their answers.
Intervals are MOVER's: the distances from each proportion to the ends of its own interval, uncut,
are put together like standard errors; only the difference is cut to [-1, 1].  The p-value of a
category is the level at which its interval comes to exclude 0, and z the normal quantile
of that, so that neither contradicts the interval.  A difference in standard errors would: where
a category is not reported at all in a small sample, its standard error is 0.
Sources: Gaboardi and Rogers (2018), LocalGenRRGOF and LocalGenRRIND; Pearson (1900); Stuart
(1955), Maxwell (1970), Bhapkar (1966) for two waves of the same people; Rao (1948) for score
tests; Cochran (1954) for the counts that chi-squared needs; Krishnamoorthy and Yu (2004) for the
degrees of freedom of several covariances; Newcombe (1998), method 10, and Zou and Donner (2008),
with their correlation for pairs, for differences.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import check_instance, check_numbers, check_one_of, check_probability
from rrstats._display import label, percent_range, wrap
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation import arrays
from rrstats.estimation.crosstab import Crosstab, check_two_way
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.posterior import proportions_of
from rrstats.estimation.result import (
    FORMATS,
    LabelledInterval,
    Result,
    label_column,
    proportion_rows,
)
from rrstats.estimation.tally import Tally, tally
from rrstats.inference.binomial import carry, rows_variance_interval, wilson_rates
from rrstats.inference.contrasts import (
    Interval,
    known_sum_map,
    mover_difference,
    normal_quantile,
    project_to_simplex,
    raise_covariance,
    student_quantile,
    wald,
    wald_statistic,
    with_known_sum,
)
from rrstats.inference.empirical_likelihood import mean_interval
from rrstats.inference.multinomial import (
    distance,
    exact_p_value,
    fit_margins,
    fit_rates,
    random_tables,
    score_statistic,
    simulated_p_value,
    start_inside,
    wald_tail,
)
from rrstats.mechanisms.base import is_mechanism
from rrstats.mechanisms.channel import (
    expected_rates,
    has_latent_classes,
    recode_matrix,
    transition_matrix,
)
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "change",
    "goodness_of_fit",
    "homogeneity",
    "independence",
]

_PLAIN = (
    "the likelihood ratio, exact and simulated p-values need a table of reports with as many cells "
    "as categories, of one sample without a design, and a population as target, and simulated ones "
    "of two answers columns privatized apart; leave them out"
)

STATISTICS = {"pearson": "Pearson's", "likelihood-ratio": "likelihood ratio"}

_SMALL = 24
"""Reports of the smallest sample, up to which the level of homogeneity is off by more than 1%."""

_LEVEL = "with two samples of so few the test rejects up to 6.5% of true nulls at 5%"

_EXPECTED, _LEAST, _PART = 5, 1, 0.2
"""Cochran: no expected count below 1, and at most a fifth of them below 5."""


@dataclass(frozen=True, repr=False)
class TestResult(Result):
    """Outcome of a test.

    Attributes
    ----------
    null : str
        The null hypothesis, such as "independence".
    statistic : float
        Compared with chi-squared, unless ``method`` says that the p-value is from F, exact or
        simulated.
    df : int
        Degrees of freedom.
    p_value : float
        Probability, under the null, of reports at least as far from it as these.
    method : str
        The test in words.
    n : int
        The number of reports.
    effective_n : float or None
        Effective sample size: the number of direct answers with the same power, averaged over
        all ways in which the null can fail; None where it is not known.
    notes : tuple of str
        Sentences that a reader must know.
    """

    __test__: ClassVar[bool] = False  # its name is no invitation to pytest
    formats: ClassVar[Any] = {
        **FORMATS,
        **dict.fromkeys(("statistic", "p_value"), "{:.6g}".format),
    }
    shown = ("p_value", "statistic", "df", "n", "effective_n")

    null: str
    statistic: float
    df: int
    p_value: float
    method: str
    n: int
    effective_n: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def header(self) -> list[tuple[str, str]]:
        """The method."""
        return [("method", self.method)]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The result as one row.

        Parameters
        ----------
        level : float
            Of no effect: a test has no interval.

        Returns
        -------
        DataFrame
            Columns null, statistic, df, p_value, n, effective_n and method.
        """
        names = ("null", "statistic", "df", "p_value", "n", "effective_n", "method")
        return pd.DataFrame({name: [getattr(self, name)] for name in names})

    def interpret(self, alpha: float = 0.05) -> str:
        """The result in a sentence.

        Parameters
        ----------
        alpha : float
            Significance level: a p-value of at most this rejects the null hypothesis.

        Returns
        -------
        str
            Whether the null hypothesis is rejected, with the p-value.

        Examples
        --------
        >>> TestResult("independence", 4.0, 1, 0.0455, "Pearson's test", 100).interpret()
        'Independence is rejected (p = 0.0455)'
        """
        if np.isnan(self.p_value):
            return f"there is no p-value for {self.null}"
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.4f}"
        rejected = self.p_value <= check_probability(alpha, "alpha")
        return (
            f"{self.null[0].upper()}{self.null[1:]} is {'' if rejected else 'not '}rejected ({p})"
        )

    def __repr__(self) -> str:
        lines = [
            f"TestResult: {self.interpret()}",
            f"{self.method}: statistic {self.statistic:.6g}, df {self.df}, n = {self.n:,}",
        ]
        if self.effective_n is not None and self.n:
            digits = ".1f" if self.effective_n < 10 else ",.0f"
            lines.append(
                f"effective sample size {self.effective_n:{digits}} of {self.n:,} "
                f"({self.effective_n / self.n:.2g})"
            )
        return "\n".join([*lines, *map(wrap, self.notes)])


# -- shared by all tests ---------------------------------------------------------------------

Notes = tuple[str, ...]

Outcome = tuple[str, float, int, float, Notes]
"""The method in words, the statistic, its degrees of freedom, the p-value, and notes."""


def result_of(
    null: str, n: int, outcome: Outcome, effective_n: float = np.nan, *, notes: Notes = ()
) -> TestResult:
    """The result of a test; notes of the outcome stand last."""
    method, value, df, p_value, more = outcome
    effective = None if np.isnan(effective_n) else float(effective_n)
    return TestResult(null, value, df, p_value, method, int(n), effective, notes + more)


def untested(df: int, note: str = "there are no reports") -> Outcome:
    """The outcome where there is nothing to test."""
    return "none", np.nan, df, np.nan, (note,)


def by_wald(
    method: str, shift: Floats, covariance: Floats, df: float = np.inf, *, notes: Notes = ()
) -> Outcome:
    """The outcome of Wald's test of a shift that sums to 0.

    df : of the covariance; where they are few, by Hotelling's F distribution.
    """
    value, rank = wald_statistic(shift, covariance)
    p_value = wald_tail(value, rank, df)
    if df < np.inf:
        method += f", F with {rank} and {max(df - rank + 1, 0):.4g} degrees of freedom"
    few = ("too few clusters, rows or reports that differ for this test",)
    return method, value, rank, p_value, notes + few * bool(np.isnan(p_value))


Sample = tuple[Floats, Floats, Floats]
"""Transition matrix, counts and sizes of the samples of the report cells of an estimate."""


@dataclass(frozen=True)
class Counting:
    """The statistic of counts of reports, and the tables from which a p-value may come."""

    statistic: str
    simulations: int | None
    seed: Any
    exact: bool = False

    def __post_init__(self) -> None:
        check_one_of(self.statistic, "statistic", STATISTICS)

    def check(self, ratio: bool, tables: bool) -> None:
        """Raise for a likelihood ratio, or tables, that these reports do not have."""
        listed = self.exact or self.simulations is not None
        if (self.statistic != "pearson" and not ratio) or (listed and not tables):
            raise ArgumentValueError(_PLAIN)

    def test(
        self,
        method: str,
        value: float,
        df: int,
        expected: Floats,
        *,
        draw: Callable[[Any, int], NDArray[Any]] | None = None,
        remedy: str = "merge categories",
    ) -> Outcome:
        """The outcome of a distance of counts: by chi-squared, or by all or simulated counts.

        draw : see `simulated_p_value`.
        """
        if self.exact:
            n = expected.sum()
            p_value = exact_p_value(expected / n, round(n), value, self.statistic)
            return f"{method}, exact", value, df, p_value, ()
        if self.simulations is None or draw is None:
            few = few_expected(expected, remedy)
            few += ("all reports are alike, and nothing is left to test",) * (df < 1)
            return method, value, df, wald_tail(value, df), few
        drawn = {"simulations": self.simulations, "seed": self.seed}
        p_value = simulated_p_value(draw, expected, value, self.statistic, **drawn)
        return f"{method}, {self.simulations:,} simulations", value, df, p_value, ()

    def test_table(self, name: str, table: NDArray[Any]) -> Outcome:
        """The outcome of the ordinary test of a table of counts."""
        observed = table[table.any(axis=1)][:, table.any(axis=0)].astype(np.float64)
        rows, columns = observed.sum(axis=1), observed.sum(axis=0)
        expected = np.outer(rows, columns).ravel() / observed.sum()
        method, value, df, p_value, few = self.test(
            f"{STATISTICS[self.statistic]} test of {name}",
            float(distance(observed.ravel(), expected, self.statistic)),
            (len(rows) - 1) * (len(columns) - 1),
            expected,
            draw=lambda generator, size: random_tables(generator, size, rows, columns),
            remedy="simulations= with seed= draws tables with these margins",
        )
        dropped = sum(table.shape) - sum(observed.shape)
        left_out = (f"{dropped} categories that nobody reported are left out",) * bool(dropped)
        return method, value, df, p_value, left_out + few

    def test_rates(
        self, method: str, samples: list[Sample], rates: list[Floats], slopes: Floats, **more: Any
    ) -> Outcome:
        """The outcome for reports beside their rates under a null.

        slopes : (cells, p) derivatives of the rates in what was fitted.  more : as for `test`.
        """
        value, df = 0.0, -slopes.shape[1]
        for (matrix, counts, sizes), null in zip(samples, rates, strict=True):
            part, own_df = score_statistic(matrix, counts, null, sizes)
            if self.statistic != "pearson":
                part = float(distance(counts, sizes * null, self.statistic))
                if len(matrix) != (k := matrix.shape[1]):
                    best = fit_proportions([(matrix, counts, sizes)], np.full(k, 1 / k))
                    part -= float(distance(counts, sizes * (matrix @ best), self.statistic))
            value, df = value + part, df + own_df
        # A rate that came down to 0 is a cell less, and a parameter less.
        null = np.concatenate(rates)
        held = slopes[null <= 1e-9]
        df += int(np.linalg.matrix_rank(held)) if held.size else 0
        sizes = np.concatenate([sizes for *_, sizes in samples])
        return self.test(method, value, df, sizes * null, **more)


def fit_proportions(samples: list[Sample], start: Floats) -> Floats:
    """(k,) the proportions that make all reports likeliest; may leave [0, 1]."""
    matrix, counts, sizes = (np.concatenate(part) for part in zip(*samples, strict=True))
    slopes, last = matrix[:, :-1] - matrix[:, -1:], matrix[:, -1]
    found = fit_rates(
        lambda x: (slopes @ x + last, slopes), counts, sizes, start_inside(matrix, start)[:-1]
    )
    return np.append(found, 1 - found.sum())


def as_estimate(given: Any, **design: Any) -> Estimate:
    """An estimate, from one, from a Tally, or from reports and what made them."""
    made = {name: value for name, value in design.items() if value is not None}
    if not isinstance(given, Tally | Estimate):
        given = tally(given, **made)
    elif made:
        raise ArgumentTypeError(
            f"a tally or an estimate knows its mechanism; leave {', '.join(made)} out"
        )
    return Estimate(given) if isinstance(given, Tally) else given


def has_cells(one: Estimate) -> bool:
    """True where counts of reports follow from the proportions of the categories alone."""
    channel = one.mechanism.channel
    simple = not one.designed and one.target == "population"
    return simple and channel.is_multinomial and not has_latent_classes(channel)


def is_square(one: Estimate) -> bool:
    """True where they do, in one sample with as many kinds of reports as categories."""
    samples = one.mechanism.channel.samples
    return has_cells(one) and not samples.any() and len(samples) == one.k


def cells_of(one: Estimate) -> Sample:
    """The report cells of an estimate."""
    channel, counts = one.mechanism.channel, one.reported.astype(np.float64)
    arrays.check_possible(channel, one.reported)
    return transition_matrix(channel), counts, arrays.sample_sizes(channel, counts, one.n)


def null_covariance(one: Estimate, proportions: Floats) -> Floats:
    """The covariance of an estimate where these are the true proportions, or else as it is.

    Of a sample with weights or a design no contrast has less variance than strata and
    weights by themselves give it: mostly that is luck.
    """
    channel = one.mechanism.channel
    if not one.designed and not has_latent_classes(channel) and not channel.samples.any():
        return np.asarray(channel.covariance(proportions, one.target) / one.n)
    if one.designed and channel.is_multinomial:
        return raise_covariance(one.covariance, one.least_covariance)
    return one.covariance


def few_expected(expected: Floats, remedy: str) -> tuple[str, ...]:
    """A note, also given as a warning, where expected counts are too small for chi-squared."""
    cells = np.asarray(expected)[np.asarray(expected) > 0]
    small = int((cells < _EXPECTED).sum())
    if not cells.size or (cells.min() >= _LEAST and small <= _PART * cells.size):
        return ()
    text = (
        f"{small} of {cells.size} expected counts of reports are below {_EXPECTED}, the least is "
        f"{cells.min():.2g}: the p-value from chi-squared may be far off; {remedy}"
    )
    warn(text, LowPrecisionWarning)
    return (text,)


def information(one: Estimate, proportions: Floats) -> Floats | None:
    """(k, k) the information of one report: a quadratic form for shifts that sum to 0.

    proportions : inside the simplex.  None of a design, of just these rows, and of latent classes.
    """
    channel, simple = one.mechanism.channel, not one.designed and one.target == "population"
    known = bool(one.n) and bool(np.isfinite(proportions).all())
    if not (simple and known) or has_latent_classes(channel):
        return None
    if channel.is_multinomial:
        rates = expected_rates(channel, proportions)
        sizes = arrays.sample_sizes(channel, one.reported, one.n)
        possible = rates > 0
        matrix = transition_matrix(channel)[possible]
        return np.asarray((matrix.T * (sizes[possible] / one.n / rates[possible])) @ matrix)
    _, covariance = with_known_sum(proportions, channel.covariance(proportions, "population"))
    # Of full rank, and the inverse is the same for shifts that sum to 0.
    return np.asarray(np.linalg.inv(covariance + np.trace(covariance) / channel.k**2))


def effective_n(one: Estimate, proportions: Floats) -> float:
    """Direct answers worth the reports of one sample, over all shifts of proportions; or NaN.

    A shift drawn with the covariance of one direct answer has k - 1 squared standard errors of
    direct answers on average; this is how many it has of the reports, divided by k - 1.
    """
    near = project_to_simplex(proportions)
    form = information(one, near)
    if form is None:
        return float("nan")
    spread = np.diag(near) - np.outer(near, near)
    return float(one.n * np.sum(form * spread) / max(int((near > 0).sum()) - 1, 1))


# -- homogeneity -----------------------------------------------------------------------------


def homogeneity(
    samples: Any,
    *others: Any,
    statistic: str = "pearson",
    simulations: int | None = None,
    seed: int | None = None,
) -> TestResult:
    """Test the null that independent samples, or groups of one sample, have equal proportions.

    Parameters
    ----------
    samples, *others : Estimate or Tally
        Two or more, one by one, as a list, or as a mapping (as `estimate` gives by groups), with
        the same categories; designs may differ.
    statistic : {"pearson", "likelihood-ratio"}
        With different designs "pearson" is the score test.
    simulations, seed : int, optional
        The p-value from so many simulated tables; where all designs are the same.

    Returns
    -------
    TestResult
        With (g - 1)(k - 1) degrees of freedom for g samples.  Samples without reports are left
        out, and that is noted.

    Warns
    -----
    LowPrecisionWarning
        Where expected counts are too small for chi-squared.

    Notes
    -----
    Reports that name several categories, latent classes, estimates with weights and the target
    "rows": Wald's test of the debiased proportions against their common value.  Groups of one
    sample with weights, strata or clusters have a joint covariance, and few clusters an F
    distribution.  Of 1,000 simulated true nulls a case it rejected at 5%: two groups in 3 to 12
    clusters 2.0% to 4.1%, two independent samples of 4 to 30 clusters that differ 4.5% to 5.4%, of
    2 clusters 1.3%; less where clusters do not differ (chi-squared: 6% to 20%).  4 to 10 regions
    of 3 clusters each: 0% to 0.3%, so that little can be found there.

    Examples
    --------
    >>> import rrstats as rr
    >>> a = rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75))
    >>> b = rr.Tally.from_counts([620, 380], rr.KRR(["no", "yes"], 0.9))
    >>> found = homogeneity(a, b)
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (12.78, 1, 0.0003)
    """
    how = Counting(statistic, simulations, seed)
    given, notes = _samples(samples, others)
    sizes = [one.n for one in given]
    n, few, null = (
        sum(sizes),
        min(sizes),
        f"equality of the proportions of all {len(given)} samples",
    )
    if len(given) < 2:
        return result_of(null, n, untested(0, "fewer than two samples have reports"), notes=notes)
    pooled = np.average([one.proportions for one in given], axis=0, weights=sizes)
    effective = float(np.sum([effective_n(one, pooled) for one in given]))
    cells, one_design = all(map(has_cells, given)), len({one.mechanism for one in given}) == 1
    plain = cells and one_design and is_square(given[0])
    how.check(cells, plain)
    if not cells:
        return result_of(null, n, _against_common(given, pooled), effective, notes=notes)
    if plain:
        table = np.stack([one.reported for one in given])
        outcome = how.test_table("samples by reports", table)
    else:
        outcome = _different_designs(given, pooled, how)
    if few <= _SMALL and simulations is None:
        notes += (f"a sample has only {few} reports: {_LEVEL}",)
    return result_of(null, n, outcome, effective, notes=notes)


def _samples(samples: Any, others: tuple[Any, ...]) -> tuple[list[Any], tuple[str, ...]]:
    """The estimates that have reports, and a note about the others."""
    listed = samples.values() if isinstance(samples, Mapping) else samples
    listed = [*(listed if isinstance(samples, Mapping | list | tuple) else [listed]), *others]
    if len(listed) < 2:
        raise ArgumentTypeError(f"samples must be two or more, found {len(listed)}")
    rule = "Estimates or Tallies, as estimate() and tally() make them"
    given = [as_estimate(check_instance(one, "samples", (Tally, Estimate), rule)) for one in listed]
    check_comparable(given)
    there = [one for one in given if one.n]
    empty = len(given) - len(there)
    note = f"{empty} of {len(given)} samples have no reports and are left out"
    return there or given[:1], (note,) if empty else ()


def check_comparable(given: list[Any]) -> None:
    """Raise unless estimates have the same categories and target."""
    first, *others = dict.fromkeys(tuple(one.categories) for one in given)
    if others:
        apart = [one for one in (*first, *others[0]) if (one in first) != (one in others[0])]
        both = " and ".join(Categories(labels).describe() for labels in (first, others[0]))
        raise ArgumentValueError(
            f"all samples must have the same categories in the same order, found {both}"
            + (f", which differ in {apart[:6]}" if apart else "")
        )
    if len({one.target for one in given}) > 1:
        raise ArgumentValueError("all samples must be about the same target; use with_target")


def _different_designs(given: list[Estimate], pooled: Floats, how: Counting) -> Outcome:
    """The test against one vector of proportions, fitted to all reports."""
    samples = [cells_of(one) for one in given]
    common = fit_proportions(samples, pooled)
    rates = [np.maximum(matrix @ common, 0.0) for matrix, *_ in samples]
    slopes = np.vstack([matrix[:, :-1] - matrix[:, -1:] for matrix, *_ in samples])
    method = "score test" if how.statistic == "pearson" else "likelihood ratio test"
    method += " against one vector of shares fitted to all samples"
    return how.test_rates(method, samples, rates, slopes)


def _against_common(given: list[Estimate], pooled: Floats) -> Outcome:
    """Wald's test of all proportions against a common vector."""
    k, g = given[0].k, len(given)
    own = [null_covariance(one, project_to_simplex(pooled)) for one in given]
    moved = [with_known_sum(one.proportions, its) for one, its in zip(given, own, strict=True)]
    joint = scipy.linalg.block_diag(*(covariance for _, covariance in moved))
    method = "Wald test against common shares"
    for i, j in permutations(range(g), 2):
        if (shared := given[i].covariance_with(given[j])) is not None:
            block = known_sum_map(own[i]) @ shared @ known_sum_map(own[j]).T
            joint[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
            method = "Wald test against common shares of groups of one sample"
    contrast = np.kron(np.hstack([-np.ones((g - 1, 1)), np.eye(g - 1)]), np.eye(k))
    shift = contrast @ np.concatenate([values for values, _ in moved])
    total = contrast @ joint @ contrast.T
    each = zip(np.split(contrast, g, axis=1), moved, strict=True)
    parts = [block @ covariance @ block.T for block, (_, covariance) in each]
    return by_wald(method, shift, total, covariance_df(given, parts))


def covariance_df(given: list[Estimate], parts: list[Floats]) -> float:
    """Degrees of freedom of the covariance of some contrasts; infinite without a design.

    parts : (c, c) what each sample adds to it.  The number that gives the sum's trace, and that of
    its square, the right spread, and never more than all reports together have: groups in the same
    clusters have no more than one.
    """
    if not any(one.designed for one in given):
        return np.inf
    own = [float(one.df if one.designed else one.n - 1) for one in given]
    total = np.sum(parts, axis=0)
    if min(own) < 1 or not np.isfinite(total).all():
        return 0.0
    inverse, squares = np.linalg.pinv(total, rcond=1e-10, hermitian=True), 0.0
    for part, its in zip(parts, own, strict=True):
        scaled = part @ inverse
        squares += (float(np.trace(scaled @ scaled)) + float(np.trace(scaled)) ** 2) / its
    most, left = 0.0, list(range(len(given)))
    while left:
        first, *rest = left
        alike = [one for one in rest if given[first].covariance_with(given[one]) is not None]
        together = given[first].df_with(*(given[one] for one in alike)) if alike else None
        most += sum(own[one] for one in (first, *alike)) if together is None else together
        left = [one for one in rest if one not in alike]
    rank = int(np.linalg.matrix_rank(total, tol=1e-10 * np.trace(total), hermitian=True))
    return min((rank + rank**2) / squares, most) if squares > 0 else min(own)


# -- goodness of fit -------------------------------------------------------------------------


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
    how = Counting(statistic, simulations, seed, exact)
    made = {"mechanism": mechanism, "prob": prob, "epsilon": epsilon, "group": group}
    found = as_estimate(reports, **made)
    wanted = proportions_of(proportions, Categories(found.categories), "proportions")
    pairs = [f"{x:.1%} {label(one)}" for one, x in zip(found.categories, wanted, strict=True)]
    null = "agreement with the given proportions"
    if len(pairs) <= 6:
        null += f" ({', '.join(pairs)})"
    how.check(is_square(found), is_square(found))
    if not found.n:
        return result_of(null, 0, untested(found.k - 1))
    outcome = _fit(found, wanted, how) if has_cells(found) else _wald_fit(found, wanted)
    return result_of(null, found.n, outcome, effective_n(found, wanted))


def _fit(found: Estimate, wanted: Floats, how: Counting) -> Outcome:
    """The test of counts, by all tables of as many reports, simulated ones, or chi-squared."""
    sample, rates = cells_of(found), expected_rates(found.mechanism.channel, wanted)
    method = "Pearson's test of the reports"
    way = "exact=True lists all tables, simulations= with seed= draws some"
    if not is_square(found):
        method, way = "score test of the reports", "merge categories"
    elif how.statistic != "pearson":
        method = "likelihood ratio of reports"
    return how.test_rates(
        method,
        [sample],
        [rates],
        np.empty((len(rates), 0)),
        draw=lambda generator, size: generator.multinomial(found.n, rates, size),
        remedy=way,
    )


def _wald_fit(found: Estimate, wanted: Floats) -> Outcome:
    """Wald's test of unbiased proportions, with their covariance under the null where known."""
    channel, notes = found.mechanism.channel, Notes()
    if not found.designed and not channel.is_multinomial:
        rates = expected_rates(channel, wanted)
        notes = few_expected(found.n * np.minimum(rates, 1 - rates), "merge categories")
    shift, covariance = found.proportions - wanted, null_covariance(found, wanted)
    return by_wald("Wald test of the shares", shift, covariance, found.df, notes=notes)


# -- independence ----------------------------------------------------------------------------

_INDEPENDENT = "independence"


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
    how = Counting(statistic, simulations, seed)
    if mechanisms is None and not isinstance(table, Crosstab):
        found = as_estimate(table, mechanism=mechanism, prob=prob, epsilon=epsilon)
        return _pair_independence(found, pairs, how)
    if mechanism is not None or prob is not None or epsilon is not None or pairs is not None:
        raise ArgumentTypeError(
            "a table of two columns takes mechanisms=(of the rows, of the columns); mechanism, "
            "prob, epsilon and pairs are for a pair privatized as one answer"
        )
    crossed = two_way(table, mechanisms)
    if crossed.combined is not None:
        return _pair_independence(crossed.combined, None, how)
    return _column_independence(crossed, how)


def _column_independence(crossed: Crosstab, how: Counting) -> TestResult:
    """The test of columns that were privatized apart."""
    n, shape = crossed.n, crossed.shape
    if not n:
        return result_of(_INDEPENDENT, 0, untested((shape[0] - 1) * (shape[1] - 1)))
    alone = [crossed.estimate(name) for name in crossed.private]
    effective = n * prod(effective_n(one, one.proportions) / n for one in alone)
    plain = crossed.counted.shape == shape and all(axis.is_multinomial for axis in crossed.axes)
    how.check(plain, plain)
    if plain:
        outcome = how.test_table("the reported table", crossed.counted)
    else:
        # n tr(S1^- C S2^- C') of the covariance C of both debiased answers
        margins, spreads = _moments(crossed)
        first, second = map(_inverse_root, spreads)
        shift = crossed.proportions - np.outer(*margins)
        value = float(n * ((first @ shift @ second.T) ** 2).sum())
        method, df = "test of the covariance of debiased answers", len(first) * len(second)
        outcome = how.test(method, value, df, np.empty(0))
    return result_of(_INDEPENDENT, n, outcome, effective)


def two_way(given: Any, mechanisms: Any = None) -> Crosstab:
    """A Crosstab of two columns, also from counts of reports with the mechanism of each axis."""
    if not isinstance(given, Crosstab):
        counts = check_numbers(given, "table, a crosstab or counts of reports,", axes=2)
        pair = mechanisms if isinstance(mechanisms, tuple | list) else ()
        if len(pair) != 2 or not all(one is None or is_mechanism(one) for one in pair):
            raise ArgumentTypeError(
                "mechanisms must be two, of the rows and of the columns of the counts; None for a "
                "column that is not private"
            )
        labels: Any = next((one.categories for one in pair if one is not None), ())
        levels = [labels if len(labels) == m else range(m) for m in counts.shape]
        columns = {
            name: own if one is None else one
            for name, own, one in zip(("rows", "columns"), levels, pair, strict=True)
        }
        given = Crosstab.from_counts(counts, columns)
    return check_two_way(given).with_target("population")


def _moments(table: Crosstab) -> tuple[list[Floats], list[Floats]]:
    """Of both columns, the proportions and the covariance of one debiased answer."""
    alone = [table.margin(name) for name in table.names]
    spreads = [np.nan_to_num(one.covariance * one.divisor) for one in alone]
    return [one.proportions for one in alone], spreads


def _inverse_root(covariance: Floats) -> Floats:
    """(rank, k) R with R' R the inverse of a covariance among shifts that sum to 0."""
    _, moved = with_known_sum(np.zeros(len(covariance)), covariance)
    values, vectors = np.linalg.eigh(moved)
    kept = values > 1e-10 * max(values[-1], 0.0)
    root = (vectors[:, kept] / np.sqrt(values[kept])).T
    return np.asarray(root @ known_sum_map(covariance))


# -- a pair privatized as one answer ---------------------------------------------------------


def _pair_independence(
    found: Estimate, pairs: Mapping[Any, tuple[Any, Any]] | None, how: Counting
) -> TestResult:
    """The test of the two parts of the categories."""
    how.check(is_square(found), tables=False)
    cells, shape = _grid(tuple(found.categories), pairs)
    if not found.n:
        return result_of(_INDEPENDENT, 0, untested((shape[0] - 1) * (shape[1] - 1)))
    if not has_cells(found):
        return result_of(_INDEPENDENT, found.n, _wald_pairs(found, cells, shape))
    matrix, counts, sizes = cells_of(found)
    matrix, effective = matrix[:, cells], np.nan
    start = start_inside(matrix, found.proportions[cells]).reshape(shape)
    first, second, slopes = fit_margins(matrix, counts, sizes, start)
    rates = matrix @ np.outer(first, second).ravel()
    near = [project_to_simplex(margin) for margin in (first, second)]
    proportions = np.empty(found.k)
    proportions[cells] = np.outer(*near).ravel()
    form = information(found, proportions)
    if form is not None and (proportions > 0).all():
        effective = found.n * _interaction_information(form[np.ix_(cells, cells)], *near)
    method = f"{STATISTICS[how.statistic]} test with both margins fitted through the channel"
    outcome = how.test_rates(method, [(matrix, counts, sizes)], [rates], slopes)
    return result_of(_INDEPENDENT, found.n, outcome, effective)


def _grid(
    categories: tuple[Any, ...], pairs: Mapping[Any, tuple[Any, Any]] | None
) -> tuple[NDArray[np.intp], tuple[int, int]]:
    """The category of each cell of the table, row by row, and the table's shape."""
    parts: list[Any] = [one if pairs is None else pairs.get(one) for one in categories]
    two = all(isinstance(part, tuple) and len(part) == 2 for part in parts)
    sides = [list(dict.fromkeys(side)) for side in zip(*parts, strict=True)] if two else [[], []]
    cells, shape = list(product(*sides)), (len(sides[0]), len(sides[1]))
    if not two or not len(set(parts)) == len(parts) == len(cells) or min(shape) < 2:
        raise ArgumentValueError(
            "the categories of a pair privatized as one answer must be tuples of two parts, or "
            f"pairs= must map each of the {len(parts)} to such a tuple, all combinations of two or "
            "more parts once each; for columns privatized apart give their crosstab, or counts "
            "with mechanisms="
        )
    return np.array([parts.index(cell) for cell in cells], dtype=np.intp), shape


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


def _wald_pairs(found: Estimate, cells: NDArray[np.intp], shape: tuple[int, int]) -> Outcome:
    """Wald's test of the joint proportions less the product of their margins."""
    r, c = shape
    joint, null = found.proportions[cells], np.empty(found.k)
    margins = [project_to_simplex(joint.reshape(shape).sum(axis=axis)) for axis in (1, 0)]
    null[cells] = np.outer(*margins).ravel()
    joint, covariance = with_known_sum(joint, null_covariance(found, null)[np.ix_(cells, cells)])
    rows, columns = joint.reshape(shape).sum(axis=1), joint.reshape(shape).sum(axis=0)
    slope = np.eye(r * c) - np.kron(np.eye(r), np.outer(columns, np.ones(c)))
    slope -= np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    shift = joint - np.outer(rows, columns).ravel()
    method = "Wald test of the joint shares against the product of their margins"
    return by_wald(method, shift, slope @ covariance @ slope.T, found.df)


# -- two waves -------------------------------------------------------------------------------

_UNCHANGED = "equality of the proportions of both waves"


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
    if (pairs if after is None else mechanisms) is not None:
        raise ArgumentTypeError(
            "give before and after, with pairs where the same people answered; or a crosstab of "
            "both; or counts with mechanisms"
        )
    if after is None:
        return _equal_margins(two_way(before, mechanisms))
    waves = [as_estimate(one) for one in (before, after)]
    if pairs is not None:
        return replace(difference(waves[1], waves[0], paired=pairs).test(), null=_UNCHANGED)
    found = homogeneity(waves)
    note = "the waves are taken for independent samples: give pairs= where the same people answered"
    if waves[0].covariance_with(waves[1]) is not None:
        note = "the waves are groups of one sample, and different people answered in each"
    return replace(found, null=_UNCHANGED, notes=(*found.notes, note))


def _equal_margins(table: Crosstab) -> TestResult:
    """Stuart and Maxwell's test of equal margins, of debiased answers."""
    k, other = table.shape
    if len(set(table.categories)) > 1:
        raise ArgumentValueError(
            f"both waves must have the same categories in the same order, found {k} and {other}"
        )
    if not table.n:
        outcome = untested(k - 1)
    elif table.combined is not None:
        contrast = np.kron(np.ones((1, k)), np.eye(k)) - np.kron(np.eye(k), np.ones((1, k)))
        shift, covariance = contrast @ table.proportions.ravel(), contrast @ table.covariance
        outcome = by_wald("Wald test of equal margins", shift, covariance @ contrast.T, table.df)
    else:
        margins, spreads = _moments(table)
        shift, cross = margins[1] - margins[0], table.proportions - np.outer(*margins)
        # E[(s1 - s2)(s1 - s2)'], as it is where nothing changed
        moments = spreads[0] + spreads[1] - cross - cross.T + np.outer(shift, shift)
        method = "Stuart and Maxwell's test of equal margins, on debiased answers"
        outcome = by_wald(method, shift, moments / table.n)
    return result_of(_UNCHANGED, table.n, outcome)


def paired_covariance(first: Estimate, second: Estimate, table: Crosstab) -> Floats:
    """(k, k) covariance of the proportions of the first with those of the second."""
    k = first.k
    check_instance(table, "paired", Crosstab, "the crosstab of both columns")
    if table.combined is not None or first.designed or second.designed:
        raise ArgumentValueError(
            "paired is for estimates and a crosstab without weights or a design; test a crosstab "
            "of both columns with rr.hypotheses.change"
        )
    if table.shape != (k, k) or table.n > min(first.n, second.n):
        raise ArgumentValueError(
            f"paired must be the crosstab of both columns, {k} by {k} categories, of people in "
            f"both estimates ({first.n} and {second.n} reports), found the shape {table.shape} and "
            f"{table.n} people"
        )
    if first.target == "rows" or table.n < 2:  # fresh noise: only the people were the same
        return np.zeros((k, k))
    one, other = (table.margin(name).proportions for name in table.names)
    # The people in the table are some of those in each estimate.
    each = table.proportions - np.outer(one, other)
    unbiased = table.n / (table.n - first.ddof)
    return np.asarray(each * (unbiased * table.n / (first.n * second.n)))


def trusted_variance(one: Estimate) -> Floats:
    """(k,) the variance that intervals take: no less than that of strata and weights."""
    return np.nan_to_num(np.fmax(one.variance, one.least_variance))


# -- differences -----------------------------------------------------------------------------

_LEVELS = (0.25, 0.6, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""Intervals at these are computed for a p-value, and the level of one that ends at 0 lies between.

Simulated with k-RR, z is within 0.03 of the exact one that way; where an interval at one of
these ends at 0 it is exact.
"""

_COVERAGE = ((9, "87%"), (19, "88%"), (70, "91%"))
"""Lowest exact coverage at 95%, with up to so many reports in the smaller sample."""


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """Proportions of one estimate less those of another, category by category.

    Attributes
    ----------
    first, second : Estimate
        The two estimates.
    shared : ndarray of shape (k, k) or None
        Covariance of the proportions of the first with those of the second; None where the samples
        are independent.
    groups : bool
        Whether they are two groups of one sample, and not the same people twice.
    """

    formats: ClassVar[Any] = {
        **FORMATS,
        **dict.fromkeys(("first", "second", "difference", "z", "p_value"), "{:.4f}".format),
    }
    shown = ("difference", "low", "high", "p_value", "first", "second", "std_error")

    first: Estimate
    second: Estimate
    shared: Floats | None = None
    groups: bool = False

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The k categories of both."""
        return self.first.categories

    @property
    def k(self) -> int:
        """The number of categories."""
        return self.first.k

    @property
    def n(self) -> int:
        """The number of reports of both."""
        return self.first.n + self.second.n

    @property
    def target(self) -> str:
        """Target of the difference; for "rows" only the noise is random."""
        return self.first.target

    @property
    def differences(self) -> Floats:
        """(k,) unbiased differences of proportions; may lie outside [-1, 1]."""
        return np.asarray(self.first.proportions - self.second.proportions)

    @property
    def covariance(self) -> Floats:
        """Covariance of the differences.

        Returns
        -------
        ndarray of shape (k, k)
            For the target.
        """
        total = np.asarray(self.first.covariance + self.second.covariance)
        return total if self.shared is None else total - self.shared - self.shared.T

    @property
    def variance(self) -> Floats:
        """(k,) variance of the differences; NaN where there are too few reports."""
        total = self.first.variance + self.second.variance
        if self.shared is not None:
            total = total - 2 * np.diagonal(self.shared)
        return np.maximum(total, 0.0)

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors of the differences."""
        return np.asarray(np.sqrt(self.variance))

    @cached_property
    def df(self) -> Floats:
        """(k,) Satterthwaite's, of the difference; infinite where neither has a design.

        Never more than the reports of both together have, of which two groups in the same
        clusters have no more than one.
        """
        both = [self.first, self.second]
        parts = zip(*(trusted_variance(one)[:, None, None] for one in both), strict=True)
        return np.array([covariance_df(both, list(pair)) for pair in parts])

    @cached_property
    def z(self) -> Floats:
        """(k,) normal quantiles that the interval must reach to end at 0, with a sign.

        Near differences / std_error where there are many reports.  Past the last of the
        levels at which intervals are computed, 99.99%, their length is taken to grow with z.
        """
        shift = self.differences
        margins = np.array([self._margins(level) for level in _LEVELS])
        toward = np.where(shift > 0, margins[:, 0], margins[:, 1])
        quantiles = np.array([normal_quantile(level) for level in _LEVELS])
        return np.sign(shift) * _crossing(quantiles, toward, np.abs(shift))

    @property
    def p_value(self) -> Floats:
        """(k,) two-sided p-values, each category by itself: below 5% where 0 is outside 95%.

        Exact levels at 5% with two samples of 10 to 300 reports of one or two k-RR designs (2 to 7
        categories, epsilon 0.5 to 5, and direct answers), equal proportions from 0 to 1: 4.3% on
        average and at most 6.7%; 9.2% with 5 reports.  Differences in standard errors rejected
        up to 62% there, and 79% with 5 reports.  Simulated, 1,000 true nulls a case: two
        independent samples of 2 to 30 clusters each that differ 0.9% to 5.5%, of clusters that
        do not 0% (2 of them) to 3.8% (30), where differences in standard errors rejected 6%
        to 20%; two groups of one sample of 3 to 12 clusters 4.5% to 5.6%.
        """
        return np.asarray(2 * scipy.special.ndtr(-np.abs(self.z)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> LabelledInterval:
        """Intervals of the differences by MOVER, cut to [-1, 1].

        Parameters
        ----------
        level : float
            Confidence level.
        simultaneous : bool
            Whether all categories together hold at this level (Bonferroni; none for two categories
            that sum to 1).

        Returns
        -------
        LabelledInterval
            (k,) ends; [-1, 1] where there is nothing to compare.

        Notes
        -----
        Lowest exact coverage at 95% on the tests' grid, two categories, 25 to 50 reports each:
        94.1% under noise, 93.0% with next to none (prob 0.95).  Simulated with three categories,
        designs of three and four reports, 50 to 400 of them, either target: 93.2% to 97%.
        """
        sums = [one.proportions.sum() for one in (self.first, self.second)]
        one_number = self.k == 2 and np.allclose(sums, 1, rtol=0, atol=1e-9)
        level = arrays.level_of_each(level, simultaneous, 1 if one_number else self.k)
        below, above = self._margins(level)
        low, high = (np.clip(self.differences + one, -1, 1) for one in (-below, above))
        ends = np.nan_to_num(low, nan=-1.0), np.nan_to_num(high, nan=1.0)
        return LabelledInterval(*ends, self.categories)

    def _margins(self, level: float) -> tuple[Floats, Floats]:
        """(k,) distances from the difference to both ends of the interval."""
        a, b = self.first.proportions, self.second.proportions
        of_a, of_b = (uncut_interval(one, level, self.df) for one in (self.first, self.second))
        correlation = np.zeros(self.k)
        if self.shared is not None:
            product = np.sqrt(trusted_variance(self.first) * trusted_variance(self.second))
            with np.errstate(divide="ignore", invalid="ignore"):
                correlation = np.nan_to_num(np.diagonal(self.shared) / product).clip(-1, 1)
        low, high = mover_difference(a, of_a, b, of_b, correlation=correlation)
        return a - b - low, high - (a - b)

    def test(self) -> TestResult:
        """Test the null that all proportions are the same, with k - 1 degrees of freedom.

        Returns
        -------
        TestResult
            Of independent samples `hypotheses.homogeneity`, whose covariance is that under the
            null: with 50 and 100 reports it keeps its level, where Wald's test rejected 5.7% to
            8.9% of true nulls at 5%.  With weights or a design its F distribution keeps the level
            where clusters are few, and two groups of one sample have their joint covariance.  Of
            pairs, Wald's test.  For two categories `p_value` is another test, inverted intervals,
            and a little different.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> b = rr.estimate(rr.Tally.from_counts([580, 420], m))
        >>> found = difference(a, b).test()
        >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
        (7.57, 1, 0.0059)
        """
        if self.shared is None or self.groups:
            return homogeneity(self.first, self.second)
        method = "Wald test of a difference of shares, some people in both samples"
        outcome = by_wald(method, self.differences, self.covariance)
        return result_of("equality of the proportions of both", self.n, outcome)

    # -- for people ------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> pd.DataFrame:
        """A tidy frame, one row a category.

        Parameters
        ----------
        level, simultaneous
            As for `interval`.

        Returns
        -------
        DataFrame
            Columns category, first, second (the proportions), difference, std_error, low, high, z,
            p_value.
        """
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "first": self.first.proportions,
                "second": self.second.proportions,
                "difference": self.differences,
                "std_error": self.std_error,
                **self.interval(level, simultaneous=simultaneous)._asdict(),
                "z": self.z,
                "p_value": self.p_value,
            }
        )

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The difference of one category in a sentence.

        Parameters
        ----------
        category : hashable, optional
            By default the last.
        level : float
            Confidence level of the interval.

        Returns
        -------
        str
            The difference in percentage points with its interval.

        Examples
        --------
        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
        >>> b = rr.estimate(rr.Tally.from_counts([580, 420], m))
        >>> difference(b, a).interpret("yes")
        'yes: 12.0 points more than in the second, 95% interval 3.4 to 20.5 points'
        """
        place = self.first.code_of(category)
        low, high = (float(end[place]) for end in self.interval(level))
        name, found = label(self.categories[place]), float(self.differences[place])
        if not np.isfinite(found):
            return f"{name}: nothing can be said of a difference, there are too few reports"
        span = percent_range(low, high).replace("%", "")
        word = "more" if found >= 0 else "less"
        doubt = "; it may well be none" if low <= 0 <= high else ""
        return (
            f"{name}: {abs(found) * 100:.1f} points {word} than in the second, "
            f"{level * 100:.10g}% interval {span} points{doubt}"
        )

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the differences with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each category, and a line at no difference.
        """
        rows = proportion_rows(self.categories, self.differences, self.interval(level))
        xlabel = "proportion in the first less that in the second"
        return plot_intervals(rows, ax, xlabel=xlabel, level=level, bounds=(-1.0, 1.0), **options)

    @property
    def header(self) -> list[tuple[str, str]]:
        """The target, the reports, and whether the two are independent."""
        found = [("target", self.target), ("n", f"{self.first.n:,} and {self.second.n:,}")]
        if self.shared is not None:
            kind = "two groups of one sample" if self.groups else "the same people"
            found.append(("of", kind))
        return found

    @property
    def notes(self) -> list[str]:
        """The coverage of intervals with few reports."""
        few = min(self.first.n, self.second.n)
        if not 0 < few <= _COVERAGE[-1][0]:
            return []
        worst = next(coverage for size, coverage in _COVERAGE if few <= size)
        return [
            f"a sample has only {few} reports: in the worst case (two answers, next to no noise, "
            f"rare or common ones) 95% intervals of the difference cover {worst}"
        ]


def _crossing(quantiles: Floats, margins: Floats, shift: Floats) -> Floats:
    """(k,) the quantile at which an interval reaches as far as the shift.

    quantiles : (q,) increasing.  margins : (q, k) at each.  Reach over quantile is nearly
    constant, and taken for linear between two of them.
    """
    slope = margins / quantiles[:, None]
    k = len(shift)
    at = np.minimum((margins < shift).cumprod(axis=0).sum(axis=0), len(quantiles))
    before, after = np.maximum(at - 1, 0), np.minimum(at, len(quantiles) - 1)
    every = np.arange(k)
    z0, z1, h0, h1 = quantiles[before], quantiles[after], slope[before, every], slope[after, every]
    with np.errstate(divide="ignore", invalid="ignore"):
        # z (h0 + s (z - z0)) = shift, between z0 and z1
        s = np.where(z1 > z0, (h1 - h0) / np.where(z1 > z0, z1 - z0, 1.0), 0.0)
        middle = h0 - s * z0
        root = np.sqrt(np.maximum(middle**2 + 4 * s * shift, 0.0))
        found = np.where(shift == 0, 0.0, 2 * shift / (middle + root))
    inside = np.clip(found, z0, z1)
    return np.where(z1 > z0, inside, found)


def difference(first: Any, second: Any, *, paired: Crosstab | None = None) -> Difference:
    """The proportions of one estimate less those of another.

    Parameters
    ----------
    first, second : Estimate
        With the same categories in the same order, by any designs, for the same target.  For
        "population" two independent samples, or two groups of one sample with a design, as
        ``estimate(..., by=)`` makes them (see `Estimate.covariance_with`); for "rows" two sets of
        rows of which only the noise is random.
    paired : Crosstab, optional
        Where the same people gave both reports, the crosstab of the first with the second; people
        who gave only one of them may be in the estimates as well.

    Returns
    -------
    Difference
        With an interval and a p-value for each category, and a test of all.

    Raises
    ------
    ArgumentValueError
        For different categories or targets.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> a = rr.estimate(rr.Tally.from_counts([640, 360], m))
    >>> b = rr.estimate(rr.Tally.from_counts([420, 580], rr.surveys.direct(["no", "yes"])))
    >>> low, high = difference(a, b).interval()
    >>> low.round(3), high.round(3)
    (array([ 0.292, -0.426]), array([ 0.426, -0.292]))
    """
    for name, given in (("first", first), ("second", second)):
        check_instance(given, name, Estimate, "an Estimate, as estimate() makes it")
    check_comparable([first, second])
    if paired is not None:
        return Difference(first, second, paired_covariance(first, second, paired))
    shared = first.covariance_with(second)
    return Difference(first, second, shared, groups=shared is not None)


def uncut_interval(estimate: Estimate, level: float, df: Floats | float = np.inf) -> Interval:
    """(k,) an interval of each proportion by itself that may leave [0, 1], as MOVER needs it.

    df : degrees of freedom whose t quantiles take the place of the normal one.
    Wilson's where the count of each category is binomial, else the empirical likelihood's of the
    unbiased proportions; for just these rows, the score interval.
    """
    found, n, channel = estimate.proportions, estimate.n, estimate.mechanism.channel
    if estimate.designed:
        return estimate.uncut_interval(level, np.broadcast_to(df, found.shape))
    if not np.isfinite(found).all():
        return Interval(found, found)
    counts = estimate.reported.astype(np.float64)
    variances = arrays.score_variances(channel, counts)
    if estimate.target == "rows" and variances is not None:
        ends = rows_variance_interval(found, n, variances, recode_matrix(channel) > 0, level=level)
    elif (rates := channel.binomial_rates) is not None:
        low, high = rates.false_positive_rate, rates.true_positive_rate
        ends = carry(wilson_rates(counts, n, level), low, high)
    elif estimate.default_method == "wald":
        error = estimate.with_target("population").std_error
        ends = wald(found, error, normal_quantile(level))
    else:
        ends = mean_interval(*estimate.scored(level), level)
    stretch = student_quantile(level, df) / normal_quantile(level)
    with np.errstate(invalid="ignore"):
        return Interval(found - stretch * (found - ends.low), found + stretch * (ends.high - found))


def __dir__() -> list[str]:
    return __all__
