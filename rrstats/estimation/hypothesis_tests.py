"""Hypothesis tests of proportions.

    rr.hypotheses.goodness_of_fit(reports, proportions, mechanism)  the given proportions
    rr.hypotheses.independence(crosstab)                            two columns
    rr.hypotheses.homogeneity(by_group)                             several samples
    rr.hypotheses.change(before, after)                             two waves
    rr.hypotheses.design_fit(estimate)                              did people do as told?
    rr.hypotheses.no_design_effect(estimate)                        the same for a list experiment

Tests compare the reports with the probabilities of reports under the null hypothesis, not debiased
with given proportions.  Counts are then multinomial under the null, so noise reduces the power and
does not change the level.  Reports that name several categories have no small table of counts:
their debiased proportions are compared, with the covariance under the null.  Each test returns a
`TestResult`, which has the effective sample size.

*Columns privatized separately*: their noise is independent, so reports are independent if and only
if the true answers are, and the ordinary chi-squared test of the reported table keeps its level.
*A pair privatized as one answer*: the noise of its two parts is dependent, and the ordinary test
would mistake it for dependence of the answers; both margins are fitted through the channel.
*Homogeneity*: independent samples, each with its own design.  One vector of proportions is fitted
to all reports and each sample is compared with it; if all designs are the same this is Pearson's
test of the table of samples by reports.  Two small samples of two categories have an exact p-value,
that of the melded interval of their difference.  Groups of one survey with weights or a design are
compared by Wald's test, with their joint covariance.
Sources: Gaboardi and Rogers (2018), LocalGenRRGOF and LocalGenRRIND; Pearson (1900); Stuart
(1955), Maxwell (1970), Bhapkar (1966) for two waves of the same people; Rao (1948) for score
tests; Cochran (1954) for the counts that chi-squared needs; Krishnamoorthy and Yu (2004) for the
degrees of freedom of several covariances; Blair and Imai (2012) for list experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import log, prod, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, cast

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._checks import (
    check_alpha,
    check_instance,
    check_left_out,
    check_numbers,
    check_one_of,
)
from rrstats._display import label, wrap
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import ColumnLike, Floats, NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation import arrays
from rrstats.estimation.crosstab import Crosstab, check_two_way
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.posterior import proportions_of
from rrstats.estimation.result import (
    Result,
    formats_of,
)
from rrstats.estimation.tally import Tally, tally
from rrstats.inference.cone import MOST_EXACT, distance_to_orthant, orthant_p_value
from rrstats.inference.contrasts import (
    known_sum_map,
    project_to_simplex,
    raise_covariance,
    wald_statistic,
    with_known_sum,
)
from rrstats.inference.melded import BinomialCounts, melded_p_value
from rrstats.inference.multinomial import (
    chi_squared_test,
    distance,
    exact_p_value,
    fit_margins,
    fit_rates,
    score_statistic,
    start_inside,
)
from rrstats.inference.multiplicity import CORRECTIONS, adjusted_p_values
from rrstats.mechanisms.base import is_mechanism
from rrstats.mechanisms.channel import (
    expected_rates,
    has_latent_classes,
    transition_matrix,
)
from rrstats.mechanisms.krr import MechanismLike
from rrstats.mechanisms.survey_design import list_samples

__all__ = [
    "adjust",
    "change",
    "design_fit",
    "goodness_of_fit",
    "homogeneity",
    "independence",
    "no_design_effect",
]

_PLAIN = (
    "statistic='likelihood-ratio' and exact need as many report cells as categories, one sample "
    "without a design, and target 'population'; leave them out"
)

STATISTICS = {"pearson": "Pearson's", "likelihood-ratio": "likelihood ratio"}

_SMALL_SAMPLE = 24
"""With at most so many reports in the smallest sample, homogeneity's level is off by over 1%."""

_LEVEL = "with samples of this size the false-positive rate of chi-squared at 5% is up to 9%"

_EXACT_LEVEL = "the p-value is exact, because chi-squared's false-positive rate at 5% is up to 9%"


@dataclass(frozen=True)
class _ExpectedCounts:
    """Cochran (1954): no expected count below 1, and at most a fifth of them below 5."""

    min_expected: float = 1
    expected: float = 5
    max_proportion: float = 0.2


_CHI_SQUARED = _ExpectedCounts()

_ZERO_RATE = 1e-9
"""A fitted probability of reports that is not larger is 0 up to the tolerance of the fit."""

_RANK_TOLERANCE = 1e-10
"""Relative tolerance of the rank of a covariance."""

_MOST_IN_WORDS = 6
"""Maximum number of proportions in the words of a null hypothesis."""


@dataclass(frozen=True, repr=False)
class TestResult(Result):
    """Result of a hypothesis test.

    Attributes
    ----------
    null : str
        The null hypothesis, such as "independence".
    statistic : float
        The test statistic; its distribution is chi-squared unless ``method`` names F or exact
        p-values.
    df : int
        Degrees of freedom.
    p_value : float
        Probability, under the null hypothesis, of a statistic at least as large as this one.
    method : str
        The test in words.
    n : int
        The number of reports.
    effective_n : float or None
        Effective sample size: the number of direct answers with the same power, averaged over
        all alternatives; None where it is not known.
    notes : tuple of str
        Sentences that a reader must know.
    """

    __test__: ClassVar[bool] = False  # pytest must not collect this class
    _formats = formats_of("{:.6g}", "statistic", "p_value")
    _shown = ("p_value", "statistic", "df", "n", "effective_n")

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
            Not used: a test has no interval.

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
            Significance level: the null hypothesis is rejected if the p-value is at most alpha.

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
        rejected = self.p_value <= check_alpha(alpha)
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
    """The result of a test; notes of the outcome come last."""
    method, statistic, df, p_value, outcome_notes = outcome
    return TestResult(
        null=null,
        statistic=statistic,
        df=df,
        p_value=p_value,
        method=method,
        n=int(n),
        effective_n=None if np.isnan(effective_n) else float(effective_n),
        notes=notes + outcome_notes,
    )


def untested(df: int, note: str = "there are no reports") -> Outcome:
    """The outcome of a test that is not possible."""
    return "none", np.nan, df, np.nan, (note,)


def by_wald(
    method: str,
    shift: Floats,
    covariance: Floats,
    df: float = np.inf,
    *,
    notes: Notes = (),
    scale: float = 0.0,
) -> Outcome:
    """The outcome of Wald's test of a shift that sums to 0.

    df : degrees of freedom of the covariance; if finite, the p-value is from Hotelling's F.
    scale : the size of the terms that were summed to the covariance, where they are larger.
    """
    value, rank = wald_statistic(shift, covariance, scale)
    value, p_value = chi_squared_test(value, rank, df)
    if df < np.inf:
        method += f", F with {rank} and {max(df - rank + 1, 0):.4g} degrees of freedom"
    if np.isnan(p_value):
        notes += ("too few different clusters, rows or reports for this test",)
    return method, value, rank, p_value, notes


Sample = tuple[Floats, Floats, Floats]
"""Transition matrix, counts and sizes of the samples of the report cells of an estimate."""


@dataclass(frozen=True)
class Counting:
    """The statistic of counts of reports, and how its p-value is computed."""

    statistic: str
    exact: bool = False
    p_value: float | None = None  # where it is computed without the statistic

    def __post_init__(self) -> None:
        check_one_of(self.statistic, "statistic", STATISTICS)

    def check(self, has_counts: bool) -> None:
        """Raise for options that need counts of reports with simple distributions."""
        if not has_counts and (self.exact or self.statistic != "pearson"):
            raise ArgumentValueError(_PLAIN)

    def test(
        self,
        method: str,
        value: float,
        df: int,
        expected: Floats,
        *,
        remedy: str = "merge categories",
    ) -> Outcome:
        """The outcome by chi-squared or by enumerated counts."""
        value, p_value = chi_squared_test(value, df)
        if self.exact:
            n = expected.sum()
            p_value = exact_p_value(expected / n, round(n), value, self.statistic)
            return f"{method}, exact", value, df, p_value, ()
        if self.p_value is not None and df > 0:
            return f"{method}, exact p-value", value, df, self.p_value, ()
        notes = few_expected(expected, remedy)
        if df < 1:
            notes += ("all reports are the same, so there is nothing to test",)
        return method, value, df, p_value, notes

    def test_table(self, name: str, table: NDArray[Any]) -> Outcome:
        """The outcome of the ordinary test of a table of counts."""
        observed = table[table.any(axis=1)][:, table.any(axis=0)].astype(np.float64)
        rows = observed.sum(axis=1)
        columns = observed.sum(axis=0)
        expected = np.outer(rows, columns).ravel() / observed.sum()
        method, value, df, p_value, notes = self.test(
            f"{STATISTICS[self.statistic]} test of {name}",
            float(distance(observed.ravel(), expected, self.statistic)),
            (len(rows) - 1) * (len(columns) - 1),
            expected,
        )
        dropped = sum(table.shape) - sum(observed.shape)
        if dropped:
            notes = (f"{dropped} categories that nobody reported are left out", *notes)
        return method, value, df, p_value, notes

    def test_rates(
        self,
        method: str,
        samples: list[Sample],
        rates: list[Floats],
        slopes: Floats,
        *,
        remedy: str = "merge categories",
    ) -> Outcome:
        """The outcome for reports and their probabilities under the null hypothesis.

        slopes : (cells, p) derivatives of the rates by fitted parameters.
        """
        value = 0.0
        df = -slopes.shape[1]
        for sample, sample_rates in zip(samples, rates, strict=True):
            sample_value, sample_df = self._distance_to(sample, sample_rates)
            value += sample_value
            df += sample_df
        # A rate that was fitted as 0 takes away a cell and a parameter.
        all_rates = np.concatenate(rates)
        slopes_at_zero = slopes[all_rates <= _ZERO_RATE]
        if slopes_at_zero.size:
            df += int(np.linalg.matrix_rank(slopes_at_zero))
        sizes = np.concatenate([sizes for *_, sizes in samples])
        return self.test(method, value, df, sizes * all_rates, remedy=remedy)

    def _distance_to(self, sample: Sample, rates: Floats) -> tuple[float, int]:
        """The statistic of one sample at some probabilities of reports, and its df."""
        matrix, counts, sizes = sample
        value, df = score_statistic(matrix, counts, rates, sizes)
        if self.statistic == "pearson":
            return value, df
        value = float(distance(counts, sizes * rates, self.statistic))
        cells, k = matrix.shape
        if cells != k:
            best = fit_proportions([sample], np.full(k, 1 / k))
            value -= float(distance(counts, sizes * (matrix @ best), self.statistic))
        return value, df


def fit_proportions(samples: list[Sample], start: Floats) -> Floats:
    """(k,) the maximum likelihood proportions of all reports; may lie outside [0, 1]."""
    matrix, counts, sizes = (np.concatenate(part) for part in zip(*samples, strict=True))
    slopes = matrix[:, :-1] - matrix[:, -1:]
    last = matrix[:, -1]
    others = fit_rates(
        lambda x: (slopes @ x + last, slopes), counts, sizes, start_inside(matrix, start)[:-1]
    )
    return np.append(others, 1 - others.sum())


def as_estimate(
    reports: Any,
    *,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    epsilon: float | None = None,
    group: Any = None,
) -> Estimate:
    """An estimate, from an estimate, a Tally, or reports and their mechanism."""
    if isinstance(reports, Tally | Estimate):
        check_left_out(
            "a tally or an estimate holds its mechanism",
            mechanism=mechanism,
            prob=prob,
            epsilon=epsilon,
            group=group,
        )
    else:
        reports = tally(reports, mechanism, prob, epsilon=epsilon, group=group)
    return Estimate(reports) if isinstance(reports, Tally) else reports


def has_cells(estimate: Estimate) -> bool:
    """True where the distribution of counts depends only on the categories' proportions."""
    channel = estimate.channel
    simple = not estimate.designed and estimate.target == "population"
    return simple and channel.is_multinomial and not has_latent_classes(channel)


def is_square(estimate: Estimate) -> bool:
    """True for `has_cells` in one sample with as many report cells as categories."""
    samples = estimate.channel.samples
    return has_cells(estimate) and not samples.any() and len(samples) == estimate.k


def cells_of(estimate: Estimate) -> Sample:
    """The report cells of an estimate."""
    channel = estimate.channel
    arrays.check_possible(channel, estimate.reported)
    counts = estimate.reported.astype(np.float64)
    return transition_matrix(channel), counts, arrays.sample_sizes(channel, counts, estimate.n)


def null_covariance(estimate: Estimate, proportions: Floats) -> Floats:
    """The covariance of an estimate under the null, where it is known, or else the estimated one.

    With weights or a design, no contrast gets a smaller variance than strata and weights alone
    give, because a smaller one is mostly chance.
    """
    channel = estimate.channel
    if not estimate.designed and not has_latent_classes(channel) and not channel.samples.any():
        return np.asarray(channel.covariance(proportions, estimate.target) / estimate.n)
    if estimate.designed and channel.is_multinomial:
        return raise_covariance(estimate.covariance, estimate.moments.least_covariance)
    return estimate.covariance


def few_expected(expected: Floats, remedy: str) -> tuple[str, ...]:
    """A note, also issued as a warning, where expected counts are too small for chi-squared."""
    cells = np.asarray(expected)[np.asarray(expected) > 0]
    limits = _CHI_SQUARED
    small = int((cells < limits.expected).sum())
    is_small = small > limits.max_proportion * cells.size
    if not cells.size or (cells.min() >= limits.min_expected and not is_small):
        return ()
    text = (
        f"{small} of {cells.size} expected counts of reports are below {limits.expected}, "
        f"the smallest is {cells.min():.2g}: the chi-squared p-value may be inaccurate; {remedy}"
    )
    warn(text, LowPrecisionWarning)
    return (text,)


def information(estimate: Estimate, proportions: Floats) -> Floats | None:
    """(k, k) the Fisher information of one report: a quadratic form for shifts that sum to 0.

    proportions : inside the simplex.  None with a design, latent classes or target "rows".
    """
    channel = estimate.channel
    if estimate.designed or estimate.target != "population" or has_latent_classes(channel):
        return None
    if not estimate.n or not np.isfinite(proportions).all():
        return None
    if channel.is_multinomial:
        rates = expected_rates(channel, proportions)
        sizes = arrays.sample_sizes(channel, estimate.reported, estimate.n)
        possible = rates > 0
        matrix = transition_matrix(channel)[possible]
        return np.asarray((matrix.T * (sizes[possible] / estimate.n / rates[possible])) @ matrix)
    _, covariance = with_known_sum(proportions, channel.covariance(proportions, "population"))
    # The added constant makes the matrix invertible and does not matter for shifts that sum to 0.
    return np.asarray(np.linalg.inv(covariance + np.trace(covariance) / channel.k**2))


def effective_n(estimate: Estimate, proportions: Floats) -> float:
    """Effective sample size of one sample, averaged over all shifts of proportions; or NaN.

    A random shift with the covariance of one direct answer has information k - 1 on average in one
    direct answer; the effective sample size is its information in all reports divided by k - 1.
    """
    pi = project_to_simplex(proportions)
    fisher = information(estimate, pi)
    positive = int((pi > 0).sum())
    if fisher is None or positive < 2:  # one direct answer may disprove a proportion of 0
        return float("nan")
    covariance = np.diag(pi) - np.outer(pi, pi)
    return float(estimate.n * np.sum(fisher * covariance) / (positive - 1))


# -- homogeneity -----------------------------------------------------------------------------


@checked_keywords
def homogeneity(
    samples: Any,
    *others: Any,
    statistic: str = "pearson",
) -> TestResult:
    """Test that independent samples, or groups of one sample, have equal proportions.

    Parameters
    ----------
    samples, *others : Estimate or Tally
        Two or more samples with the same categories, as separate arguments, as a list, or as a
        mapping (for example the groups of `estimate`); designs may differ.
    statistic : {"pearson", "likelihood-ratio"}
        With different designs "pearson" is the score test.

    Returns
    -------
    TestResult
        It has (g - 1)(k - 1) degrees of freedom for g samples.  Samples without reports are left
        out, with a note.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

    Notes
    -----
    For two samples of two categories, of which one has at most 24 reports, the p-value is exact: by
    melded confidence distributions (Fay, Proschan and Brittain 2015), which for one design is twice
    the smaller one-sided p-value of Fisher's test.  Its false-positive rate at 5% is at most 3.8%,
    by enumeration; chi-squared's is 6.4% with 12 and 12 reports and 9.0% with 5 and 20, mid-p's up
    to 6.2%.

    For reports that name several categories, latent classes, estimates with weights and target
    "rows", it is Wald's test of the debiased proportions against their common value.  Groups of one
    sample with weights, strata or clusters have a joint covariance, and the F distribution allows
    for few clusters.  False-positive rates at 5% in 1,000 simulations for each case: two groups in
    3 to 12 clusters 2.0% to 4.1%, two independent samples of 4 to 30 clusters that differ 4.5% to
    5.4%, of 2 clusters 1.3%; less where clusters do not differ (chi-squared: 6% to 20%).  For 4 to
    10 regions of 3 clusters each the rate is 0% to 0.3%, so the power is low there.

    Examples
    --------
    >>> import rrstats as rr
    >>> a = rr.Tally.from_counts([640, 360], rr.KRR(["no", "yes"], 0.75))
    >>> b = rr.Tally.from_counts([620, 380], rr.KRR(["no", "yes"], 0.9))
    >>> found = homogeneity(a, b)
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (12.78, 1, 0.0003)
    """
    counting = Counting(statistic)
    estimates, notes = _samples(samples, others)
    sizes = [estimate.n for estimate in estimates]
    n = sum(sizes)
    if len(estimates) < 2:
        null = "equality of the proportions of the samples"
        return result_of(null, n, untested(0, "fewer than two samples have reports"), notes=notes)
    null = f"equality of the proportions of {len(estimates)} samples"
    proportions = [estimate.proportions for estimate in estimates]
    pooled = np.average(proportions, axis=0, weights=sizes)
    effective = float(np.sum([effective_n(estimate, pooled) for estimate in estimates]))
    all_cells = all(map(has_cells, estimates))
    same_design = len({estimate.mechanism for estimate in estimates}) == 1
    is_table = all_cells and same_design and is_square(estimates[0])
    counting.check(all_cells)
    if not all_cells:
        return result_of(null, n, _against_common(estimates, pooled), effective, notes=notes)
    smallest = min(sizes)
    is_small = smallest <= _SMALL_SAMPLE
    p_value = _exact_p_value(estimates) if is_small else None
    counting = replace(counting, p_value=p_value)
    if is_table:
        table = np.stack([estimate.reported for estimate in estimates])
        outcome = counting.test_table("samples by reports", table)
    else:
        outcome = _different_designs(estimates, pooled, counting)
    if is_small:
        level = _LEVEL if p_value is None else _EXACT_LEVEL
        notes += (f"a sample has only {smallest} reports: {level}",)
    return result_of(null, n, outcome, effective, notes=notes)


def _exact_p_value(estimates: list[Estimate]) -> float | None:
    """The melded p-value of two samples of two categories, whose counts are binomial; else None."""
    counts = [estimate.moments.binomial_counts for estimate in estimates]
    if len(estimates) != 2 or estimates[0].k != 2 or None in counts:
        return None
    first, second = (cast(BinomialCounts, each).take(np.array([1])) for each in counts)
    return float(melded_p_value(first, second)[0])


def _samples(samples: Any, others: tuple[Any, ...]) -> tuple[list[Estimate], Notes]:
    """The estimates with reports, and a note about the others."""
    if isinstance(samples, Mapping):
        samples = list(samples.values())
    if not isinstance(samples, list | tuple):
        samples = [samples]
    samples = [*samples, *others]
    if len(samples) < 2:
        raise ArgumentTypeError(f"samples must be two or more, found {len(samples)}")
    rule = "Estimates or Tallies, from rr.estimate or rr.tally"
    estimates = [
        as_estimate(check_instance(sample, "samples", (Tally, Estimate), rule))
        for sample in samples
    ]
    check_comparable(estimates)
    with_reports = [estimate for estimate in estimates if estimate.n]
    empty = len(estimates) - len(with_reports)
    if not empty:
        return estimates, ()
    note = f"{empty} of {len(estimates)} samples have no reports and are left out"
    return with_reports or estimates[:1], (note,)


def check_comparable(estimates: Sequence[Estimate]) -> None:
    """Raise unless estimates have the same categories and target."""
    first, *others = dict.fromkeys(tuple(estimate.categories) for estimate in estimates)
    if others:
        second = others[0]
        differing = [label for label in (*first, *second) if (label in first) != (label in second)]
        both = " and ".join(Categories(labels).describe() for labels in (first, second))
        difference = f", which differ in {differing[:6]}" if differing else ""
        raise ArgumentValueError(
            f"all samples must have the same categories in the same order, found {both}{difference}"
        )
    if len({estimate.target for estimate in estimates}) > 1:
        raise ArgumentValueError(
            "all samples must have the same target, found 'population' and 'rows'; use with_target"
        )


def _different_designs(estimates: list[Estimate], pooled: Floats, counting: Counting) -> Outcome:
    """The test against one vector of proportions, fitted to all reports."""
    samples = [cells_of(estimate) for estimate in estimates]
    common = fit_proportions(samples, pooled)
    rates = [np.maximum(matrix @ common, 0.0) for matrix, *_ in samples]
    slopes = np.vstack([matrix[:, :-1] - matrix[:, -1:] for matrix, *_ in samples])
    method = "score test" if counting.statistic == "pearson" else "likelihood ratio test"
    method += " against proportions fitted to all samples"
    return counting.test_rates(method, samples, rates, slopes)


def _against_common(estimates: list[Estimate], pooled: Floats) -> Outcome:
    """Wald's test of all proportions against common proportions."""
    k = estimates[0].k
    g = len(estimates)
    pi = project_to_simplex(pooled)
    covariances = [null_covariance(estimate, pi) for estimate in estimates]
    moved = [
        with_known_sum(estimate.proportions, covariance)
        for estimate, covariance in zip(estimates, covariances, strict=True)
    ]
    joint = scipy.linalg.block_diag(*(covariance for _, covariance in moved))
    method = "Wald test against common proportions"
    for i, j in permutations(range(g), 2):
        shared = estimates[i].covariance_with(estimates[j])
        if shared is not None:
            block = known_sum_map(covariances[i]) @ shared @ known_sum_map(covariances[j]).T
            joint[i * k : (i + 1) * k, j * k : (j + 1) * k] = block
            method = "Wald test against common proportions of groups of one sample"
    contrast = np.kron(np.hstack([-np.ones((g - 1, 1)), np.eye(g - 1)]), np.eye(k))
    shift = contrast @ np.concatenate([proportions for proportions, _ in moved])
    total = contrast @ joint @ contrast.T
    contrasts = np.split(contrast, g, axis=1)
    parts = [
        part @ covariance @ part.T for part, (_, covariance) in zip(contrasts, moved, strict=True)
    ]
    return by_wald(method, shift, total, covariance_df(estimates, parts))


def covariance_df(estimates: Sequence[Estimate], parts: Sequence[Floats]) -> float:
    """Degrees of freedom of the covariance of some contrasts; infinite without a design.

    parts : (c, c) the contribution of each sample.  The degrees of freedom match the variance of
    the trace of the sum, and of its square (Krishnamoorthy and Yu).  They are at most those of all
    reports together; groups in the same clusters count once.
    """
    if not any(estimate.designed for estimate in estimates):
        return np.inf
    dfs = [_sample_df(estimate) for estimate in estimates]
    total = np.sum(parts, axis=0)
    if min(dfs) < 1 or not np.isfinite(total).all():
        return 0.0
    inverse = np.linalg.pinv(total, rcond=_RANK_TOLERANCE, hermitian=True)
    squares = 0.0
    for part, df in zip(parts, dfs, strict=True):
        scaled = part @ inverse
        squares += (float(np.trace(scaled @ scaled)) + float(np.trace(scaled)) ** 2) / df
    tolerance = _RANK_TOLERANCE * np.trace(total)
    rank = int(np.linalg.matrix_rank(total, tol=tolerance, hermitian=True))
    if squares > 0:
        return min((rank + rank**2) / squares, _total_df(estimates))
    return min(dfs)


def _sample_df(estimate: Estimate) -> float:
    """Degrees of freedom of one sample."""
    return float(estimate.df if estimate.designed else estimate.n - 1)


def _total_df(estimates: Sequence[Estimate]) -> float:
    """Degrees of freedom of all reports together; groups in the same clusters count once."""
    total = 0.0
    remaining = list(estimates)
    while remaining:
        first, *others = remaining
        groups = [other for other in others if first.covariance_with(other) is not None]
        shared = first.df_with(*groups) if groups else None
        if shared is None:
            total += sum(_sample_df(estimate) for estimate in (first, *groups))
        else:
            total += shared
        remaining = [other for other in others if all(other is not group for group in groups)]
    return total


# -- goodness of fit -------------------------------------------------------------------------


@checked_keywords
def goodness_of_fit(
    reports: Any,
    proportions: NumbersByCategory,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: ColumnLike | None = None,
    statistic: str = "pearson",
    exact: bool = False,
) -> TestResult:
    """Test that the true proportions equal given proportions.

    Parameters
    ----------
    reports : array-like, Tally or Estimate
        Reports, with their design in ``mechanism`` (or categories with ``prob`` or ``epsilon``) and
        ``group``; or a Tally or an Estimate of them.
    proportions : sequence of k floats, or mapping
        Proportions that sum to 1, in the order of the categories or by category.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`.
    statistic : {"pearson", "likelihood-ratio"}
        The second needs a design with as many report cells as categories.
    exact : bool
        Compute the p-value from all possible counts; for few reports and few report cells.

    Returns
    -------
    TestResult
        It has k - 1 degrees of freedom.  For an Estimate with target "rows" the null hypothesis is
        about these rows, and only the noise is random.  With weights, strata or clusters it is
        Wald's test with the sample's covariance and an F distribution.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

    Notes
    -----
    T = sum (H - n r)^2 / (n r) with r the probabilities of the reports at these proportions; for
    k-RR it is GenRR of Gaboardi and Rogers (2018).  For a design with more report cells than
    categories it is the score test: the part of T that proportions can explain.

    Examples
    --------
    >>> import rrstats as rr
    >>> counts = rr.Tally.from_counts([260, 270, 250, 220], rr.KRR(list("abcd"), epsilon=1))
    >>> found = goodness_of_fit(counts, [0.4, 0.3, 0.2, 0.1])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4), round(found.effective_n)
    (6.3317, 3, 0.0965, 82)

    These proportions are not rejected, but the effective sample size of the 1,000 reports is 82.
    """
    counting = Counting(statistic, exact)
    estimate = as_estimate(reports, mechanism=mechanism, prob=prob, epsilon=epsilon, group=group)
    pi = proportions_of(proportions, Categories(estimate.categories), "proportions")
    null = "agreement with the given proportions"
    if len(pi) <= _MOST_IN_WORDS:
        pairs = zip(pi, estimate.categories, strict=True)
        null += f" ({', '.join(f'{value:z.1%} {label(category)}' for value, category in pairs)})"
    counting.check(is_square(estimate))
    if not estimate.n:
        return result_of(null, 0, untested(estimate.k - 1))
    outcome = _fit(estimate, pi, counting) if has_cells(estimate) else _wald_fit(estimate, pi)
    return result_of(null, estimate.n, outcome, effective_n(estimate, pi))


def _fit(estimate: Estimate, pi: Floats, counting: Counting) -> Outcome:
    """The test of counts: by enumeration or chi-squared."""
    rates = expected_rates(estimate.channel, pi)
    method = "Pearson's test of the reports"
    remedy = "merge categories, or use exact=True where all counts can be listed"
    if not is_square(estimate):
        method = "score test of the reports"
        remedy = "merge categories"
    elif counting.statistic != "pearson":
        method = "likelihood ratio of reports"
    return counting.test_rates(
        method,
        [cells_of(estimate)],
        [rates],
        np.empty((len(rates), 0)),
        remedy=remedy,
    )


def _wald_fit(estimate: Estimate, pi: Floats) -> Outcome:
    """Wald's test of unbiased proportions, with the covariance under the null where known."""
    channel = estimate.channel
    notes = Notes()
    if not estimate.designed and not channel.is_multinomial:
        rates = expected_rates(channel, pi)
        notes = few_expected(estimate.n * np.minimum(rates, 1 - rates), "merge categories")
    shift = estimate.proportions - pi
    covariance = null_covariance(estimate, pi)
    return by_wald("Wald test of the proportions", shift, covariance, estimate.df, notes=notes)


# -- fit of the design -----------------------------------------------------------------------

_FOLLOWED = "everybody followed the instructions"


@checked_keywords
def design_fit(
    reports: Any,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: ColumnLike | None = None,
    statistic: str = "likelihood-ratio",
) -> TestResult:
    """Test whether the design explains the reports: whether people did what they were told.

    A design whose reports can take more values than its proportions explain has something left to
    test, for example the two samples of `surveys.extended_crosswise`, which must give the same
    prevalence.  A significant result says that the design does not hold; a result that is not
    significant does not show that everybody followed, because random answers may leave no trace.

    Parameters
    ----------
    reports : Estimate, Tally or array-like
        An Estimate or a Tally; or reports, with their design in ``mechanism`` (or categories with
        ``prob`` or ``epsilon``) and ``group``.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`.
    statistic : {"likelihood-ratio", "pearson"}
        The distance between reports and the probabilities of the best proportions.

    Returns
    -------
    TestResult
        Degrees of freedom are the cells of reports, minus one for each sample, minus the
        proportions that were estimated.

    Raises
    ------
    ArgumentValueError
        Proportions explain any reports of this design, so that nothing is left to test; or the
        sample has weights or a design.

    Notes
    -----
    G2 = 2 sum H log(H / E), with E from the maximum likelihood proportions, which may lie outside
    [0, 1]: then the test keeps its level where a true proportion is 0.
    Heck, Hoffmann and Moshagen (2018), eq. 6, for the extended crosswise model.

    Examples
    --------
    >>> import rrstats as rr
    >>> prob = {"A": 0.2, "B": 0.8}
    >>> m = rr.surveys.extended_crosswise(
    ...     ["no", "yes"], prob, yes="yes", reports=["different", "same"]
    ... )
    >>> counts = {"A": {"different": 60, "same": 109}, "B": {"different": 139, "same": 46}}
    >>> test = design_fit(rr.Tally.from_counts(counts, m))
    >>> round(test.statistic, 2), test.df, round(test.p_value, 3)
    (4.77, 1, 0.029)

    These athletes did not all follow the instructions.
    """
    counting = Counting(statistic)
    estimate = as_estimate(reports, mechanism=mechanism, prob=prob, epsilon=epsilon, group=group)
    if estimate.designed or not estimate.channel.is_multinomial:
        raise ArgumentValueError(
            "design_fit compares counts of report cells, which a sample with weights, strata or "
            "clusters, and reports that name several categories, do not have; estimate by= the "
            "sample and compare these groups by hypotheses.homogeneity"
        )
    sample = cells_of(estimate)
    df = free_cells(sample)
    if not estimate.n:
        return result_of(_FOLLOWED, 0, untested(df))
    value, expected = distance_to_design(sample, statistic)
    method = f"{STATISTICS[statistic]} of the reports against the design"
    outcome = counting.test(method, value, df, expected, remedy="merge samples")
    return result_of(_FOLLOWED, estimate.n, outcome)


def free_cells(sample: Sample) -> int:
    """Degrees of freedom that proportions leave to the reports; raises where there are none."""
    matrix, _, sizes = sample
    sampled = sizes > 0
    slopes = (matrix[:, :-1] - matrix[:, -1:])[sampled]
    fitted = int(np.linalg.matrix_rank(slopes)) if slopes.size else 0
    # The cells of a sample have rates that sum to 1 for every truth.
    samples = round(float(matrix[sampled, 0].sum()))
    free = int((sampled & matrix.any(axis=1)).sum()) - samples
    if sampled.any() and free <= fitted:
        raise ArgumentValueError(
            f"the design must have more free cells of reports than proportions to be tested, found "
            f"{free} and {fitted}: proportions explain any reports; samples with other "
            "probabilities (surveys.extended_crosswise) or a control question can test it"
        )
    return free - fitted


def distance_to_design(sample: Sample, statistic: str) -> tuple[float, Floats]:
    """The distance of counts from those of the likeliest proportions, and these counts.

    Proportions may lie outside [0, 1], as under a null hypothesis.
    """
    matrix, counts, sizes = sample
    start = np.full(matrix.shape[1], 1 / matrix.shape[1])
    expected = sizes * (matrix @ fit_proportions([sample], start))
    return float(distance(counts, expected, statistic)), expected


# -- independence ----------------------------------------------------------------------------

_INDEPENDENT = "independence"


@checked_keywords
def independence(
    table: Any,
    mechanism: Any = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    mechanisms: Any = None,
    pairs: Mapping[Any, tuple[Any, Any]] | None = None,
    statistic: str = "pearson",
) -> TestResult:
    """Test that two answers, or the items of a battery, are independent.

    Parameters
    ----------
    table : Crosstab, counts, reports, Tally or Estimate
        For columns privatized separately (or one of them ordinary): a Crosstab of the two, or
        counts of reports with ``mechanisms``.  A Crosstab of more columns tests that all of them
        together are independent, such as the items of `rrstats.surveys.sum_of`.  For a pair
        privatized as one answer: its reports
        with ``mechanism`` (or categories with ``prob`` or ``epsilon``), a Tally or an Estimate.
    mechanism, prob, epsilon : optional
        As for `rrstats.estimate`, for a pair privatized as one answer.
    mechanisms : (Mechanism or None, Mechanism or None), optional
        The mechanism of the rows and that of the columns; None for a column that is not private.
    pairs : mapping from category to two parts, optional
        For a pair privatized as one answer; by default the categories are tuples of two.
    statistic : {"pearson", "likelihood-ratio"}
        The statistic of the table of reports.

    Returns
    -------
    TestResult
        It has (r - 1)(c - 1) degrees of freedom.  Categories that nobody reported are left out of
        the table and do not count for the degrees of freedom.

    Warns
    -----
    LowPrecisionWarning
        Expected counts are too small for chi-squared.

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

    The same counts give a smaller statistic for a pair that went through one k-RR, because its
    noise is dependent too.
    """
    counting = Counting(statistic)
    if mechanisms is None and not isinstance(table, Crosstab):
        estimate = as_estimate(table, mechanism=mechanism, prob=prob, epsilon=epsilon)
        return _pair_independence(estimate, pairs, counting)
    reason = (
        "a table of two columns takes mechanisms=(of the rows, of the columns), and not the design "
        "of a pair privatized as one answer"
    )
    check_left_out(reason, mechanism=mechanism, prob=prob, epsilon=epsilon, pairs=pairs)
    if isinstance(table, Crosstab) and len(table.shape) > 2:
        return _mutual_independence(table, counting)
    crossed = two_way(table, mechanisms)
    if crossed.combined is not None:
        return _pair_independence(crossed.combined, None, counting)
    return _column_independence(crossed, counting)


def _mutual_independence(crossed: Crosstab, counting: Counting) -> TestResult:
    """The test that more than two columns are independent, from the table of their reports.

    The noise of columns that were privatized separately is independent, so their reports are
    independent if and only if the answers are.
    """
    null = f"independence of {len(crossed.shape)} columns"
    all_cells = all(axis.is_multinomial for axis in crossed.axes)
    if crossed.combined is not None or not all_cells or crossed.counted.shape != crossed.shape:
        raise ArgumentValueError(
            "independence of more than two columns needs columns that were privatized separately, "
            "with as many reports as categories, without weights or a design; test them in pairs"
        )
    observed = crossed.counted.astype(np.float64)
    if not crossed.n:
        return result_of(null, 0, untested(_mutual_df(observed.shape)))
    expected = np.array(float(crossed.n))
    for place in range(observed.ndim):
        others = tuple(axis for axis in range(observed.ndim) if axis != place)
        margin = observed.sum(axis=others)
        observed = np.compress(margin > 0, observed, axis=place)
        expected = np.multiply.outer(expected, margin[margin > 0] / crossed.n)
    value = float(distance(observed.ravel(), expected.ravel(), counting.statistic))
    df = _mutual_df(observed.shape)
    method = f"{STATISTICS[counting.statistic]} of the reported table"
    outcome = counting.test(method, value, df, expected.ravel(), remedy="leave columns out")
    estimates = [crossed.estimate(name) for name in crossed.private]
    parts = [effective_n(estimate, estimate.proportions) / crossed.n for estimate in estimates]
    return result_of(null, crossed.n, outcome, crossed.n * prod(parts))


def _mutual_df(shape: Sequence[int]) -> int:
    """Cells less 1, less the free proportions of each column."""
    return prod(shape) - 1 - sum(size - 1 for size in shape)


def _column_independence(crossed: Crosstab, counting: Counting) -> TestResult:
    """The test of columns that were privatized separately."""
    n = crossed.n
    rows, columns = crossed.shape
    if not n:
        return result_of(_INDEPENDENT, 0, untested((rows - 1) * (columns - 1)))
    estimates = [crossed.estimate(name) for name in crossed.private]
    effective = n * prod(effective_n(estimate, estimate.proportions) / n for estimate in estimates)
    all_cells = all(axis.is_multinomial for axis in crossed.axes)
    is_table = all_cells and crossed.counted.shape == crossed.shape
    counting.check(is_table)
    if is_table:
        outcome = counting.test_table("the reported table", crossed.counted)
    else:
        # n tr(S1^- C S2^- C') of the covariance C of both debiased answers
        margins, covariances = _margins(crossed)
        first, second = map(_inverse_root, covariances)
        shift = crossed.proportions - np.outer(*margins)
        value = float(n * ((first @ shift @ second.T) ** 2).sum())
        df = len(first) * len(second)
        method = "test of the covariance of debiased answers"
        outcome = counting.test(method, value, df, np.empty(0))
    return result_of(_INDEPENDENT, n, outcome, effective)


def two_way(table: Any, mechanisms: Any = None) -> Crosstab:
    """A Crosstab of two columns, also from counts with the mechanism of each axis."""
    if not isinstance(table, Crosstab):
        counts = check_numbers(table, "table, a crosstab or counts of reports,", axes=2)
        table = Crosstab.from_counts(counts, _columns_of_counts(counts.shape, mechanisms))
    return check_two_way(table).with_target("population")


def _columns_of_counts(shape: tuple[int, ...], mechanisms: Any) -> dict[str, Any]:
    """The mechanisms of the rows and columns of counts; labels of a column without one."""
    pair = mechanisms if isinstance(mechanisms, tuple | list) else ()
    if len(pair) != 2 or not all(part is None or is_mechanism(part) for part in pair):
        raise ArgumentTypeError(
            "mechanisms must be a pair, the mechanism of the rows and that of the columns of "
            "the counts; None for a column that is not private"
        )
    labels: Any = next((part.categories for part in pair if part is not None), ())
    columns = {}
    for name, mechanism, size in zip(("rows", "columns"), pair, shape, strict=True):
        levels = labels if len(labels) == size else range(size)
        columns[name] = levels if mechanism is None else mechanism
    return columns


def _margins(table: Crosstab) -> tuple[list[Floats], list[Floats]]:
    """The proportions of both columns, and the covariances of one debiased answer."""
    margins = [table.margin(name) for name in table.names]
    covariances = [np.nan_to_num(margin.covariance * margin.moments.divisor) for margin in margins]
    return [margin.proportions for margin in margins], covariances


def _inverse_root(covariance: Floats) -> Floats:
    """(rank, k) R with R' R the inverse of a covariance among shifts that sum to 0."""
    _, moved = with_known_sum(np.zeros(len(covariance)), covariance)
    values, vectors = np.linalg.eigh(moved)
    kept = values > _RANK_TOLERANCE * max(values[-1], 0.0)
    root = (vectors[:, kept] / np.sqrt(values[kept])).T
    return np.asarray(root @ known_sum_map(covariance))


# -- a pair privatized as one answer ---------------------------------------------------------


def _pair_independence(
    estimate: Estimate, pairs: Mapping[Any, tuple[Any, Any]] | None, counting: Counting
) -> TestResult:
    """The test of the two parts of the categories."""
    counting.check(is_square(estimate))
    cells, shape = _grid(tuple(estimate.categories), pairs)
    if not estimate.n:
        return result_of(_INDEPENDENT, 0, untested((shape[0] - 1) * (shape[1] - 1)))
    if not has_cells(estimate) or arrays.is_pooled(estimate.channel):
        return result_of(_INDEPENDENT, estimate.n, _wald_pairs(estimate, cells, shape))
    matrix_by_category, counts, sizes = cells_of(estimate)
    matrix = matrix_by_category[:, cells]
    start = start_inside(matrix, estimate.proportions[cells]).reshape(shape)
    first, second, slopes = fit_margins(matrix, counts, sizes, start)
    rates = matrix @ np.outer(first, second).ravel()
    method = f"{STATISTICS[counting.statistic]} test with both margins fitted through the channel"
    outcome = counting.test_rates(method, [(matrix, counts, sizes)], [rates], slopes)
    effective = _effective_n_of_pairs(estimate, cells, first, second)
    return result_of(_INDEPENDENT, estimate.n, outcome, effective)


def _effective_n_of_pairs(
    estimate: Estimate, cells: NDArray[np.intp], first: Floats, second: Floats
) -> float:
    """Effective sample size for dependence of a pair with these margins; or NaN."""
    margins = [project_to_simplex(margin) for margin in (first, second)]
    proportions = np.empty(estimate.k)
    proportions[cells] = np.outer(*margins).ravel()
    fisher = information(estimate, proportions)
    if fisher is None or not (proportions > 0).all():
        return np.nan
    return estimate.n * _interaction_information(fisher[np.ix_(cells, cells)], *margins)


def _grid(
    categories: tuple[Any, ...], pairs: Mapping[Any, tuple[Any, Any]] | None
) -> tuple[NDArray[np.intp], tuple[int, int]]:
    """The category of each cell of the table, row by row, and the table's shape."""
    parts: list[Any] = [label if pairs is None else pairs.get(label) for label in categories]
    rows: list[Any] = []
    columns: list[Any] = []
    if all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        rows, columns = (list(dict.fromkeys(side)) for side in zip(*parts, strict=True))
    cells = list(product(rows, columns))
    shape = (len(rows), len(columns))
    if not len(set(parts)) == len(parts) == len(cells) or min(shape) < 2:
        raise ArgumentValueError(
            "the categories of a pair privatized as one answer must be tuples of two parts, or "
            f"pairs must map each of the {len(parts)} to such a tuple, each combination of two or "
            "more parts once; for columns privatized separately give their crosstab, or counts "
            "with mechanisms"
        )
    return np.array([parts.index(cell) for cell in cells], dtype=np.intp), shape


def _interaction_information(fisher: Floats, first: Floats, second: Floats) -> float:
    """Effective sample size of one report, averaged over all kinds of dependence."""
    rows = _contrasts(first)
    columns = _contrasts(second)
    margins = [np.kron(rows, second[:, None]), np.kron(first[:, None], columns)]
    nuisance = np.concatenate(margins, axis=1)
    interaction = np.kron(rows, columns)
    # The information of the interaction that is orthogonal to that of the margins.
    mixed = nuisance.T @ fisher @ interaction
    explained = mixed.T @ np.linalg.solve(nuisance.T @ fisher @ nuisance, mixed)
    residual = interaction.T @ fisher @ interaction - explained
    return float(np.trace(residual) / interaction.shape[1])


def _contrasts(proportions: Floats) -> Floats:
    """(k, k - 1) shifts that sum to 0 and have unit information in direct answers."""
    root = np.sqrt(proportions)
    return np.asarray(root[:, None] * np.linalg.svd(root[None])[2][1:].T)


def _wald_pairs(estimate: Estimate, cells: NDArray[np.intp], shape: tuple[int, int]) -> Outcome:
    """Wald's test of the joint proportions against the product of their margins."""
    r, c = shape
    unbiased = estimate.proportions[cells]
    margins = [project_to_simplex(unbiased.reshape(shape).sum(axis=axis)) for axis in (1, 0)]
    null = np.empty(estimate.k)
    null[cells] = np.outer(*margins).ravel()
    of_cells = null_covariance(estimate, null)[np.ix_(cells, cells)]
    joint, covariance = with_known_sum(unbiased, of_cells)
    rows = joint.reshape(shape).sum(axis=1)
    columns = joint.reshape(shape).sum(axis=0)
    slope = np.eye(r * c) - np.kron(np.eye(r), np.outer(columns, np.ones(c)))
    slope -= np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    shift = joint - np.outer(rows, columns).ravel()
    method = "Wald test of the joint proportions against the product of their margins"
    return by_wald(method, shift, slope @ covariance @ slope.T, estimate.df)


# -- two waves -------------------------------------------------------------------------------

_UNCHANGED = "equality of the proportions of both waves"


@checked_keywords
def change(
    before: Any, after: Any = None, *, pairs: Any = None, mechanisms: Any = None
) -> TestResult:
    """Test that proportions did not change between two waves.

    Parameters
    ----------
    before, after : Estimate or Tally
        The two waves.  Without ``pairs`` they are treated as independent samples, as for different
        respondents.  If ``before`` is given alone, it is the crosstab of both waves, or counts of
        reports with ``mechanisms``: Stuart and Maxwell's test of the people who answered both.
    pairs : Crosstab, optional
        The first wave's column by the second's, of the people in both: all reports are used, and
        those of the same people are correlated (Wald's test).
    mechanisms : (Mechanism or None, Mechanism or None), optional
        The mechanisms of the rows and of the columns of counts.

    Returns
    -------
    TestResult
        It has k - 1 degrees of freedom; for the size of the change see `rrstats.difference`.

    Notes
    -----
    Each wave must have its own, independent randomization.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.9)
    >>> found = change([[500, 120], [80, 300]], mechanisms=(m, m))
    >>> round(found.statistic, 2), found.df, round(found.p_value, 4)
    (8.0, 1, 0.0047)

    Equal proportions are rejected: more people changed to yes than to no.
    """
    unused = pairs if after is None else mechanisms
    if unused is not None:
        raise ArgumentTypeError(
            "give before and after, with pairs if the same people answered; or a crosstab of both; "
            "or counts with mechanisms"
        )
    if after is None:
        return _equal_margins(two_way(before, mechanisms))
    first = as_estimate(before)
    second = as_estimate(after)
    if pairs is not None:
        return _paired_change(first, second, pairs)
    test = homogeneity([first, second])
    note = "the waves are treated as independent samples; if the same people answered, give pairs"
    if first.covariance_with(second) is not None:
        note = "the waves are groups of one sample, and different people answered in each"
    return replace(test, null=_UNCHANGED, notes=(*test.notes, note))


def _paired_change(before: Estimate, after: Estimate, pairs: Crosstab) -> TestResult:
    """Wald's test of equal proportions in two waves, some people in both."""
    for name, wave in (("before", before), ("after", after)):
        check_instance(wave, name, Estimate, "reports of one column, or an Estimate of it")
    check_comparable([after, before])
    shared = paired_covariance(after, before, pairs)
    return wald_of_pairs(
        _UNCHANGED,
        after.n + before.n,
        after.proportions - before.proportions,
        after.covariance + before.covariance - shared - shared.T,
    )


def wald_of_pairs(null: str, n: int, differences: Floats, covariance: Floats) -> TestResult:
    """Wald's test that the differences of two estimates are 0, whose people are partly the same."""
    method = "Wald test of a difference of proportions, some people in both samples"
    return result_of(null, n, by_wald(method, differences, covariance))


def _equal_margins(table: Crosstab) -> TestResult:
    """Stuart and Maxwell's test of equal margins of debiased answers."""
    k, other = table.shape
    if len(set(table.categories)) > 1:
        raise ArgumentValueError(
            f"both waves must have the same categories in the same order, found {k} and {other}"
        )
    if not table.n:
        outcome = untested(k - 1)
    elif table.combined is not None:
        contrast = np.kron(np.ones((1, k)), np.eye(k)) - np.kron(np.eye(k), np.ones((1, k)))
        shift = contrast @ table.proportions.ravel()
        covariance = table.covariance
        scale = float(np.abs(contrast).sum(axis=1).max() ** 2 * np.diagonal(covariance).max())
        of_margins = contrast @ covariance @ contrast.T
        method = "Wald test of equal margins"
        outcome = by_wald(method, shift, of_margins, table.df, scale=scale)
    else:
        (first, second), (first_covariance, second_covariance) = _margins(table)
        shift = second - first
        cross = table.proportions - np.outer(first, second)
        # E[(s1 - s2)(s1 - s2)'], the covariance under the null
        moments = first_covariance + second_covariance - cross - cross.T + np.outer(shift, shift)
        method = "Stuart and Maxwell's test of equal margins, on debiased answers"
        outcome = by_wald(method, shift, moments / table.n)
    return result_of(_UNCHANGED, table.n, outcome)


def paired_covariance(first: Estimate, second: Estimate, table: Crosstab) -> Floats:
    """(k, k) covariance of the proportions of the first with those of the second."""
    k = first.k
    check_instance(table, "paired", Crosstab, "the crosstab of both columns")
    one_noise = table.combined is not None  # a pair of a plan
    designed = table.combined is not None and table.combined.designed
    if designed or first.designed or second.designed:
        raise ArgumentValueError(
            "paired is for estimates and a crosstab without weights or a design; test a crosstab "
            "of both columns with rr.hypotheses.change"
        )
    if table.combined is not None and arrays.is_pooled(table.combined.channel):
        return _pooled_paired(first, second, table)
    if table.shape != (k, k) or table.n > min(first.n, second.n):
        raise ArgumentValueError(
            f"paired must be the crosstab of both columns, {k} by {k} categories, of people in "
            f"both estimates ({first.n} and {second.n} reports), found the shape {table.shape} and "
            f"{table.n} people"
        )
    if one_noise:
        eye = np.eye(k)
        ones = np.ones((1, k))
        joint = table.with_target(first.target).covariance
        covariance = np.kron(eye, ones) @ joint @ np.kron(ones, eye).T
        return np.asarray(covariance * (table.n**2 / (first.n * second.n)))
    if first.target == "rows" or table.n < 2:  # the noise of both columns is independent
        return np.zeros((k, k))
    rows, columns = (table.margin(name).proportions for name in table.names)
    # The people in the table are a part of those in each estimate.
    covariance = table.proportions - np.outer(rows, columns)
    unbiased = table.n / (table.n - first.ddof)
    return np.asarray(covariance * (unbiased * table.n / (first.n * second.n)))


def _pooled_paired(first: Estimate, second: Estimate, table: Crosstab) -> Floats:
    """The covariance of two columns of a plan, whose estimates are the margins of their table."""
    k = first.k
    margins = [table.estimate(name).proportions for name in table.names]
    same = [
        len(margin) == k and np.allclose(margin, estimate.proportions, rtol=0, atol=1e-9)
        for margin, estimate in zip(margins, (first, second), strict=True)
    ]
    if not all(same) or first.target != "population":
        raise ArgumentValueError(
            "paired must be the crosstab of the same rows of a plan as both estimates, in their "
            f"order and for target 'population', found target {first.target!r} and "
            f"{sum(same)} of 2 estimates that are margins of the table"
        )
    ones = np.ones((1, k))
    sums = np.kron(np.eye(k), ones), np.kron(ones, np.eye(k))
    return np.asarray(sums[0] @ table.covariance @ sums[1].T)


# -- several tests ---------------------------------------------------------------------------


@checked_keywords
def adjust(tests: Any, correction: str = CORRECTIONS[0]) -> Any:
    """Adjust the p-values of several tests, so that each may be compared with alpha.

    Parameters
    ----------
    tests : sequence or mapping of TestResults or floats
        The tests, or their p-values; NaN is no test and is not counted.
    correction : {"holm", "bonferroni", "benjamini-hochberg", "benjamini-yekutieli"}
        "holm" bounds the probability of any false rejection; "benjamini-hochberg" the expected part
        of false rejections among all of them, where tests are independent or positively dependent.

    Returns
    -------
    Series
        The adjusted p-values, by the labels of the mapping.

    Notes
    -----
    As `p.adjust` in R and `scipy.stats.false_discovery_control`.

    Examples
    --------
    >>> adjust({"north": 0.01, "south": 0.04, "west": 0.03}).round(3).to_dict()
    {'north': 0.03, 'south': 0.06, 'west': 0.06}

    At alpha 5% only the north differs.
    """
    check_one_of(correction, "correction", CORRECTIONS)
    labels = list(tests) if isinstance(tests, Mapping) else None
    values = [tests[label] for label in labels] if labels is not None else list(tests)
    p_values = [test.p_value if isinstance(test, TestResult) else test for test in values]
    numbers = np.array(p_values, dtype=np.float64)
    wrong = int(((numbers < 0) | (numbers > 1)).sum())
    if numbers.ndim != 1 or wrong:
        raise ArgumentValueError(
            f"tests must be TestResults or p-values in [0, 1], found {wrong} others among "
            f"{numbers.size}"
        )
    index = None if labels is None else pd.Index(labels, tupleize_cols=False)
    return pd.Series(adjusted_p_values(numbers, correction), index=index, name="p_adjusted")


# -- list experiments --------------------------------------------------------------------------

_SAME_ANSWERS = "absence of a design effect"


@dataclass(frozen=True, repr=False)
class ListDesignTest(TestResult):
    """Result of `no_design_effect`.

    Attributes
    ----------
    table : DataFrame
        The joint types: category, count of control items, proportion and standard error.
    """

    table: pd.DataFrame | None = None

    def __repr__(self) -> str:
        written = "" if self.table is None else self.table.to_string(index=False)
        return f"{super().__repr__()}\n{written}"


@checked_keywords
def no_design_effect(
    reports: Any, mechanism: Any = None, *, group: Any = None, selection: bool = True
) -> ListDesignTest:
    """Test whether the sensitive item of a list leaves the other answers as they are.

    If it changes how many control items people count, some estimated proportions of joint types
    (category and number of control items) are below 0 by more than chance.  A result that is not
    significant does not show that there is no such effect.  This is not the design effect of
    survey sampling, which compares variances.

    Parameters
    ----------
    reports : Estimate, Tally or array-like
        An Estimate or a Tally of a list experiment; or counts, with ``mechanism`` and ``group``.
    mechanism, group : optional
        As for `rrstats.estimate`.
    selection : bool
        Whether proportions far above 0, by more than sqrt(log n) standard errors, are left out of
        the test (generalized moment selection), which gives power.

    Returns
    -------
    ListDesignTest
        The p-value is twice the smaller one of the two categories (Bonferroni); ``statistic`` and
        ``df`` (the number of proportions) are of that category.  ``table`` has all joint types.

    Raises
    ------
    ArgumentValueError
        It is no list experiment, a sample is missing or gave only one count, or it has weights.

    Notes
    -----
    The statistic of a category is the distance of its estimated proportions from those of at least
    0, by their covariance; its distribution is a mixture of chi-squared ones (`inference.cone`), or
    Student's t for one proportion.  R's list 9.2.6 selects by the spread of the proportions among
    themselves, instead of by their standard errors; so its p-values may differ.

    References
    ----------
    Blair and Imai (2012); Andrews and Soares (2010).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.surveys.list_experiment(3)
    >>> control = {0: 60, 1: 90, 2: 110, 3: 40}
    >>> treatment = {0: 100, 1: 60, 2: 80, 3: 40, 4: 20}
    >>> counts = rr.Tally.from_counts({"control": control, "treatment": treatment}, m)
    >>> test = no_design_effect(counts)
    >>> test.interpret(), test.table["proportion"].round(3).tolist()[4:]
    ('Absence of a design effect is rejected (p = 0.0009)', [-0.133, -0.033, 0.067, 0.067])

    A third of the treatment sample says that no item applies, but only a fifth of the control
    sample does: people hide more than the sensitive item.
    """
    estimate = as_estimate(reports, mechanism=mechanism, group=group)
    samples = list_samples(estimate.tally.mechanism)
    if estimate.designed:
        raise ArgumentValueError(
            "no_design_effect compares counts, found a sample with weights, strata or clusters; "
            "leave them out"
        )
    cells = estimate.reported.reshape(2, samples.items + 2)
    arrays.check_possible(estimate.channel, estimate.reported)
    types = _JointTypes.of(cells[samples.control], cells[samples.treatment])
    types_of_category = samples.items + 1
    table = pd.DataFrame(
        {
            "category": np.repeat(np.array(samples.categories, dtype=object), types_of_category),
            "control_items": np.tile(np.arange(types_of_category), 2),
            "proportion": types.proportions.ravel(),
            "std_error": types.errors.ravel(),
        }
    )
    limit = sqrt(log(estimate.n)) if selection else None
    outcomes = [types.dominance(code, types.selected(code, limit)) for code in (0, 1)]
    statistic, df, p_value = min(outcomes, key=lambda outcome: outcome[2])
    notes: tuple[str, ...] = ()
    if df > MOST_EXACT:
        notes = (f"the p-value is an upper bound, as {df} proportions are compared",)
    return ListDesignTest(
        null=_SAME_ANSWERS,
        statistic=statistic,
        df=df,
        p_value=min(1.0, 2 * p_value),
        method="joint types of a list experiment against 0, chi-bar-squared",
        n=estimate.n,
        notes=notes,
        table=table,
    )


class _JointTypes(NamedTuple):
    """Estimated proportions of the joint types of a list: of the category no, and of yes.

    proportions : (2, items + 1).
    covariances : (2, 2, items + 1, items + 1) their parts from the control and treatment sample.
    moments : for each category the places of the proportions that may be below 0.
    sizes : people of the control and treatment sample.
    """

    proportions: Floats
    covariances: Floats
    moments: tuple[NDArray[np.intp], NDArray[np.intp]]
    sizes: tuple[int, int]

    @classmethod
    def of(cls, control: NDArray[Any], treatment: NDArray[Any]) -> _JointTypes:
        """The types from the counts of each number of items, 0 to all."""
        for name, counts in (("control", control), ("treatment", treatment)):
            if np.count_nonzero(counts) < 2:
                raise ArgumentValueError(
                    f"the {name} sample must have at least two different counts, found "
                    f"{np.count_nonzero(counts)} among {counts.sum()} people: it has no variance"
                )
        sizes = int(control.sum()), int(treatment.sum())
        at_control, at_treatment = (
            np.cumsum(counts)[:-1] / counts.sum() for counts in (control, treatment)
        )
        before = np.append(0.0, at_control[:-1])  # F_control(y - 1)
        covariances = [
            [_covariance_of_steps(before, sizes[0]), _covariance_of_steps(at_treatment, sizes[1])],
            [
                _covariance_of_steps(at_control, sizes[0]),
                _covariance_of_steps(at_treatment, sizes[1]),
            ],
        ]
        places = np.arange(len(before))
        return cls(
            proportions=np.array([at_treatment - before, at_control - at_treatment]),
            covariances=np.array(covariances),
            moments=(places[1:], places[:-1]),
            sizes=sizes,
        )

    @property
    def errors(self) -> Floats:
        """(2, items + 1) standard errors."""
        variances = np.diagonal(self.covariances.sum(axis=1), axis1=1, axis2=2)
        return np.asarray(np.sqrt(variances))

    def selected(self, code: int, limit: float | None) -> NDArray[np.intp]:
        """The moments of a category, of those at most so many standard errors above 0."""
        kept = self.moments[code]
        if limit is None:
            return kept
        is_close = self.proportions[code][kept] <= limit * self.errors[code][kept]
        return np.asarray(kept[is_close])

    def dominance(self, code: int, kept: NDArray[np.intp]) -> tuple[float, int, float]:
        """Statistic, number of moments and p-value of a category, from some of its moments."""
        joint = self.covariances[code].sum(axis=0)
        kept = _independent(joint, kept)
        estimates = self.proportions[code][kept]
        covariance = joint[np.ix_(kept, kept)]
        if (estimates >= 0).all():
            return 0.0, len(kept), 1.0
        distance = distance_to_orthant(estimates, covariance)
        if len(kept) > 1:
            return distance, len(kept), orthant_p_value(distance, covariance)
        # One proportion is a difference of two: Welch's test.
        freedom = np.array(self.sizes) - 1.0
        parts = self.covariances[code][:, kept[0], kept[0]] * self.sizes / freedom
        df = parts.sum() ** 2 / (parts**2 / freedom).sum()
        z = float(estimates[0] / np.sqrt(parts.sum()))
        return z**2, 1, float(scipy.special.stdtr(df, z))


def _independent(covariance: Floats, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places of estimates that do not follow from those before, as where nobody has a count."""
    kept: list[int] = []
    for place in places.tolist():
        extended = [*kept, place]
        if np.linalg.matrix_rank(covariance[np.ix_(extended, extended)]) == len(extended):
            kept = extended
    return np.array(kept, dtype=np.intp)


def _covariance_of_steps(distribution: Floats, n: int) -> Floats:
    """Covariance of an empirical distribution function at several points."""
    lower = np.minimum.outer(distribution, distribution)
    upper = np.maximum.outer(distribution, distribution)
    return np.asarray(lower * (1 - upper) / n)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
