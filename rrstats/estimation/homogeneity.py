"""The result of a test of proportions, and the test of equal proportions in several samples.

A `TestResult` says its null in words, and how much the noise left of the sample: randomized
response never makes a right test wrong, it makes it weak, and a large p-value from the equivalent
of forty direct answers is no evidence that nothing is there.

*Homogeneity*: independent samples, each asked by a design of its own.  One vector of proportions is
fitted to all reports and each sample is compared with it; where all designs are the same this is
Pearson's test of the table of samples by reports.  Groups of one survey with weights or a design
are compared by Wald's test, with their joint covariance.
Sources: Rao (1948); Cochran (1954) for the counts that chi-squared needs; Krishnamoorthy and Yu
(2004) for the degrees of freedom of several covariances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rrstats._checks import check_one_of, check_probability
from rrstats._display import wrap
from rrstats._typing import Floats
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation import arrays
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.result import FORMATS, Result
from rrstats.estimation.tally import Tally, tally
from rrstats.inference.contingency import (
    chi_squared_tail,
    hotelling_tail,
    simulated_table_p_value,
)
from rrstats.inference.contrasts import (
    known_sum_map,
    project_to_simplex,
    raise_covariance,
    wald_statistic,
    with_known_sum,
)
from rrstats.inference.multinomial import distance, fit_rates, score_statistic, start_inside
from rrstats.mechanisms.channel import (
    Channel,
    expected_rates,
    has_latent_classes,
    transition_matrix,
)

__all__ = ["TestResult", "homogeneity"]

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
        The null hypothesis in words.
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
        The number of direct answers that would tell as much about the null, averaged over all
        ways in which it can fail; None where it is not known.
    notes : tuple of str
        Sentences that a reader must know.
    """

    __test__: ClassVar[bool] = False  # its name is no invitation to pytest
    formats: ClassVar[Any] = {
        **FORMATS,
        **dict.fromkeys(("statistic", "p_value"), "{:.6g}".format),
    }

    null: str
    statistic: float
    df: int
    p_value: float
    method: str
    n: int
    effective_n: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The p-value first."""
        return ("p_value", "statistic", "df", "n", "effective_n")

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
            A p-value of at most this speaks against the null.

        Returns
        -------
        str
            Whether the reports speak against the null, with the p-value.

        Examples
        --------
        >>> TestResult("the coin is fair", 4.0, 1, 0.0455, "Pearson's test", 100).interpret()
        'the reports speak against it that the coin is fair (p = 0.0455)'
        """
        if np.isnan(self.p_value):
            return f"nothing can be said of whether {self.null}"
        p = "p < 0.0001" if self.p_value < 1e-4 else f"p = {self.p_value:.4f}"
        against = self.p_value <= check_probability(alpha, "alpha")
        verb = "speak against it" if against else "do not contradict"
        return f"the reports {verb} that {self.null} ({p})"

    def __repr__(self) -> str:
        lines = [
            f"TestResult: {self.interpret()}",
            f"{self.method}: statistic {self.statistic:.6g}, df {self.df}, n = {self.n:,}",
        ]
        if self.effective_n is not None and self.n:
            digits = ".1f" if self.effective_n < 10 else ",.0f"
            lines.append(
                f"the reports tell as much as {self.effective_n:{digits}} direct answers "
                f"({self.effective_n / self.n:.2g} of n)"
            )
        return "\n".join([*lines, *map(wrap, self.notes)])


# -- shared by all tests ---------------------------------------------------------------------


def draft_of(null: str, n: int, effective_n: float = np.nan) -> TestResult:
    """A result before its test, and what stays where there are no reports."""
    effective = None if np.isnan(effective_n) else float(effective_n)
    return TestResult(null, np.nan, 0, np.nan, "none", int(n), effective)


def untested(draft: TestResult, df: int, *notes: str) -> TestResult:
    """The result where there is nothing to test."""
    return replace(draft, df=df, notes=(*draft.notes, *(notes or ("there are no reports",))))


def by_chi_squared(
    draft: TestResult, value: float, df: int, *, expected: Floats, remedy: str
) -> TestResult:
    """The result by chi-squared, which needs expected counts of some size."""
    notes = draft.notes + few_expected(expected, remedy)
    return replace(draft, statistic=value, df=df, p_value=chi_squared_tail(value, df), notes=notes)


def by_wald(
    draft: TestResult, shift: Floats, covariance: Floats, covariance_df: float = np.inf
) -> TestResult:
    """The result of Wald's test of a shift that sums to 0.

    By Hotelling's F distribution where the covariance rests on so many degrees of freedom.
    """
    value, df = wald_statistic(shift, covariance)
    draft = replace(draft, statistic=value, df=df)
    if covariance_df == np.inf:
        return replace(draft, p_value=chi_squared_tail(value, df))
    p_value, left = hotelling_tail(value, df, covariance_df), max(covariance_df - df + 1, 0)
    few = ("too few clusters, or rows, for this test",) if np.isnan(p_value) else ()
    method = f"{draft.method}, F with {df} and {left:.4g} degrees of freedom"
    return replace(draft, p_value=p_value, method=method, notes=draft.notes + few)


def by_table(
    draft: TestResult, table: Floats, kind: str, *, simulations: int | None, seed: Any
) -> TestResult:
    """The result of the ordinary test of a table of counts, by chi-squared or simulated."""
    observed = table[table.any(axis=1)][:, table.any(axis=0)]
    if dropped := sum(table.shape) - sum(observed.shape):
        note = f"{dropped} categories that nobody reported are left out"
        draft = replace(draft, notes=(*draft.notes, note))
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    value = float(distance(observed.ravel(), expected.ravel(), kind))
    df = (observed.shape[0] - 1) * (observed.shape[1] - 1)
    draft = replace(draft, method=f"{STATISTICS[kind]} test of {draft.method}")
    if simulations is None:
        remedy = "simulations= with seed= draws tables with these margins"
        return by_chi_squared(draft, value, df, expected=expected, remedy=remedy)
    p_value = simulated_table_p_value(observed, expected, kind, simulations=simulations, seed=seed)
    method = f"{draft.method}, {simulations:,} simulations"
    return replace(draft, statistic=value, df=df, p_value=p_value, method=method)


def check_statistic(statistic: object) -> str:
    """One of "pearson" and "likelihood-ratio"."""
    return str(check_one_of(statistic, "statistic", STATISTICS))


def as_estimate(given: Any, **design: Any) -> Any:
    """An estimate, from one, from a Tally, or from reports and what made them."""
    made = {name: value for name, value in design.items() if value is not None}
    counted = isinstance(given, Tally)
    if counted or hasattr(given, "covariance"):
        if made:
            raise ArgumentTypeError(
                f"a tally or an estimate knows its mechanism; leave {', '.join(made)} out"
            )
    elif not counted:
        given = tally(given, **made)
    if not isinstance(given, Tally):
        return given
    return Estimate(given)


def is_simple(estimate: Any) -> bool:
    """True of an estimate from a simple random sample, without weights or a design."""
    return isinstance(estimate, Estimate) and not estimate.designed


def has_cells(estimate: Any) -> bool:
    """True where counts of reports follow from the proportions of the categories alone."""
    if not is_simple(estimate) or estimate.target != "population":
        return False
    channel = estimate.mechanism.channel
    return bool(channel.is_multinomial and not has_latent_classes(channel))


def cells_of(estimate: Any) -> tuple[Floats, Floats, Floats]:
    """Transition matrix, counts and sizes of the samples of an estimate's report cells."""
    channel, counts = estimate.mechanism.channel, estimate.reported.astype(np.float64)
    arrays.check_possible(channel, estimate.reported)
    sizes = arrays.sample_sizes(channel, counts, estimate.n)
    return transition_matrix(channel), counts, sizes


def null_covariance(estimate: Any, proportions: Floats) -> Floats:
    """The covariance of an estimate where these are the true proportions, or else as it is.

    Of a sample with weights or a design no contrast has less variance than strata and
    weights by themselves give it: mostly that is luck.
    """
    channel = estimate.mechanism.channel
    if is_simple(estimate) and not has_latent_classes(channel) and not channel.samples.any():
        return np.asarray(channel.covariance(proportions, estimate.target) / estimate.n)
    found = np.asarray(estimate.covariance(), dtype=np.float64)
    if isinstance(estimate, Estimate) and estimate.designed and channel.is_multinomial:
        return raise_covariance(found, estimate.least_covariance())
    return found


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


def information(channel: Channel, proportions: Floats, counts: Floats, n: int) -> Floats | None:
    """(k, k) the information of one report: a quadratic form for shifts that sum to 0.

    proportions : inside the simplex.  counts : of which only the sizes of the samples matter.
    None where the channel has finer classes than categories.
    """
    if has_latent_classes(channel) or not n:
        return None
    if channel.is_multinomial:
        rates = expected_rates(channel, proportions)
        sizes = arrays.sample_sizes(channel, counts, n)
        possible = rates > 0
        matrix = transition_matrix(channel)[possible]
        return np.asarray((matrix.T * (sizes[possible] / n / rates[possible])) @ matrix)
    _, covariance = with_known_sum(proportions, channel.covariance(proportions, "population"))
    # Of full rank, and the inverse is the same for shifts that sum to 0.
    return np.asarray(np.linalg.inv(covariance + np.trace(covariance) / channel.k**2))


def information_left(channel: Channel | None, proportions: Floats, counts: Floats, n: int) -> float:
    """Direct answers worth one report, averaged over all shifts of proportions; NaN if unknown.

    A shift drawn with the covariance of one direct answer has k - 1 squared standard errors of
    direct answers on average; this is how many it has of reports, divided by k - 1.
    """
    if channel is None:
        return 1.0
    if not n or not np.isfinite(proportions).all():
        return float("nan")
    near = project_to_simplex(proportions)
    form = information(channel, near, counts, n)
    if form is None:
        return float("nan")
    one = np.diag(near) - np.outer(near, near)
    return float(np.sum(form * one) / max(int((near > 0).sum()) - 1, 1))


def category_difference(first: tuple[Any, ...], second: tuple[Any, ...]) -> str:
    """The difference of two lists of categories, for an error."""
    both = [Categories(labels).describe() for labels in (first, second)]
    only = [
        f"{', '.join(map(repr, own[:6]))}{', ...' * (len(own) > 6)} only in the {name}"
        for name, mine, others in (("first", first, second), ("second", second, first))
        if (own := [label for label in mine if label not in set(others)])
    ]
    if not only:
        return f"the order {both[0]} and the order {both[1]}"
    return f"{both[0]} and {both[1]}: {', '.join(only)}"


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
    kind = check_statistic(statistic)
    given, notes = _samples(samples, others)
    g, n = len(given), sum(int(one.n) for one in given)
    null = f"all {g} samples have the same shares"
    if g < 2:
        draft = replace(draft_of(null, n), notes=notes)
        return untested(draft, 0, "fewer than two samples have reports")
    effective = float(np.sum([_effective_n(one, given) for one in given]))
    draft = replace(draft_of(null, n, effective), notes=notes)
    cells, channel = all(map(has_cells, given)), given[0].mechanism.channel
    alike = cells and all(one.mechanism == given[0].mechanism for one in given)
    plain = alike and not channel.samples.any() and len(channel.samples) == channel.k
    if (simulations is not None and not plain) or (kind != "pearson" and not cells):
        raise ArgumentValueError(
            "the likelihood ratio needs reports that fall into one cell each, of designs without "
            "latent classes and a population as target, and simulations need samples of one such "
            "design with as many kinds of reports as categories; leave them out"
        )
    if not cells:
        return _against_common(draft, given)
    if plain:
        table = np.stack([one.reported for one in given]).astype(np.float64)
        draft = replace(draft, method="samples by reports")
        found = by_table(draft, table, kind, simulations=simulations, seed=seed)
    else:
        method = "score test" if kind == "pearson" else "likelihood ratio test"
        method += " against one vector of shares fitted to all samples"
        value, df, expected = _different_designs(given, kind)
        draft = replace(draft, method=method)
        found = by_chi_squared(draft, value, df, expected=expected, remedy="merge some")
    few = min(int(one.n) for one in given)
    note = f"a sample has only {few} reports: {_LEVEL}"
    return found if few > _SMALL or simulations else replace(found, notes=(*found.notes, note))


def _samples(samples: Any, others: tuple[Any, ...]) -> tuple[list[Any], tuple[str, ...]]:
    """The estimates that have reports, and a note about the others."""
    listed = samples.values() if isinstance(samples, Mapping) else samples
    listed = [*(listed if isinstance(samples, Mapping | list | tuple) else [listed]), *others]
    if len(listed) < 2:
        raise ArgumentTypeError(f"samples must be two or more, found {len(listed)}")
    for one in listed:
        if not isinstance(one, Tally) and not hasattr(one, "covariance"):
            raise ArgumentTypeError(
                f"samples must be Estimates or Tallies, found {type(one).__name__}; "
                "make them with estimate() or tally()"
            )
    given = [as_estimate(one) for one in listed]
    check_comparable(given)
    there = [one for one in given if one.n]
    empty = len(given) - len(there)
    note = f"{empty} of {len(given)} samples have no reports and are left out"
    return there or given[:1], (note,) if empty else ()


def check_comparable(given: list[Any]) -> None:
    """Raise unless estimates have the same categories and target."""
    lists = list(dict.fromkeys(tuple(one.categories) for one in given))
    if len(lists) > 1:
        raise ArgumentValueError(
            "all samples must have the same categories in the same order, found "
            f"{len(lists)} different lists, among them {category_difference(*lists[:2])}"
        )
    if len({one.target for one in given}) > 1:
        raise ArgumentValueError("all samples must be about the same target; use with_target")


def _effective_n(one: Any, given: list[Any]) -> float:
    """Direct answers worth the reports of one sample, at the proportions of all."""
    if not is_simple(one) or one.target != "population":
        return float("nan")
    n = sum(int(each.n) for each in given)
    pooled = np.sum([each.proportions * (each.n / n) for each in given], axis=0)
    counts = one.reported.astype(np.float64)
    return float(one.n) * information_left(one.mechanism.channel, pooled, counts, one.n)


def _fitted(cells: list[tuple[Floats, Floats, Floats]], given: list[Any]) -> Floats:
    """(k,) the proportions that make all reports likeliest; may leave [0, 1]."""
    matrix, counts, sizes = (np.concatenate(part) for part in zip(*cells, strict=True))
    pooled = np.sum([one.proportions * (one.n / counts.sum()) for one in given], axis=0)
    slopes, last = matrix[:, :-1] - matrix[:, -1:], matrix[:, -1]
    found = fit_rates(
        lambda x: (slopes @ x + last, slopes), counts, sizes, start_inside(matrix, pooled)[:-1]
    )
    return np.append(found, 1 - found.sum())


def _different_designs(given: list[Any], kind: str) -> tuple[float, int, Floats]:
    """The statistic, its degrees of freedom, and all expected counts."""
    cells = [cells_of(one) for one in given]
    common = _fitted(cells, given)
    value, df, expected, held = 0.0, 1 - len(common), [], 0
    bound = np.empty((0, len(common) - 1))
    for one, (matrix, counts, sizes) in zip(given, cells, strict=True):
        rates = np.maximum(matrix @ common, 0.0)
        if kind == "pearson":
            part, own_df = score_statistic(matrix, counts, rates, sizes)
            # A rate that came down to 0 is a cell less, and a parameter less.
            bound = np.vstack([bound, (matrix[:, :-1] - matrix[:, -1:])[rates <= 1e-9]])
        else:
            own, seen = matrix @ _fitted([(matrix, counts, sizes)], [one]), counts > 0
            part = 2 * float(counts[seen] @ np.log(own[seen] / rates[seen]))
            own_df = len(common) - 1
        value, df = value + part, df + own_df
        expected.append(sizes * rates)
    held = int(np.linalg.matrix_rank(bound)) if bound.size else 0
    return value, df + held, np.concatenate(expected)


def _against_common(draft: TestResult, given: list[Any]) -> TestResult:
    """Wald's test of all proportions against a common vector."""
    together = _joint_covariances(given)
    of_groups = " of groups of one sample" if together else ""
    draft = replace(draft, method=f"Wald test against common shares{of_groups}")
    k, g = len(given[0].categories), len(given)
    found = [np.asarray(one.proportions, dtype=np.float64) for one in given]
    n = np.array([float(one.n) for one in given])
    near = project_to_simplex(np.average(found, axis=0, weights=n))
    own = [null_covariance(one, near) for one in given]
    moved = [with_known_sum(*pair) for pair in zip(found, own, strict=True)]
    keep = [known_sum_map(spread) for spread in own]
    joint = np.zeros((g, k, g, k))
    for place, (_, spread) in enumerate(moved):
        joint[place, :, place] = spread
    for (one, other), both in together.items():
        joint[one, :, other] = keep[one] @ both @ keep[other].T
        joint[other, :, one] = joint[one, :, other].T
    contrast = np.kron(np.hstack([-np.ones((g - 1, 1)), np.eye(g - 1)]), np.eye(k))
    shift = contrast @ np.concatenate([values for values, _ in moved])
    blocks, total = contrast.reshape(-1, g, k), contrast @ joint.reshape(g * k, g * k) @ contrast.T
    parts = [blocks[:, i] @ spread @ blocks[:, i].T for i, (_, spread) in enumerate(moved)]
    return by_wald(draft, shift, total, covariance_df(given, parts))


def covariance_df(given: list[Any], parts: list[Floats]) -> float:
    """Degrees of freedom of the covariance of some contrasts; infinite without a design.

    parts : (c, c) what each sample adds to it.  The number that gives the sum's trace, and that of
    its square, the right spread, and never more than all reports together have: groups in the same
    clusters have no more than one.
    """
    if all(map(is_simple, given)):
        return np.inf
    own = [float(one.n - 1 if is_simple(one) else one.df) for one in given]
    total = np.sum(parts, axis=0)
    if min(own) < 1 or not np.isfinite(total).all():
        return 0.0
    inverse, spread = np.linalg.pinv(total, rcond=1e-10, hermitian=True), 0.0
    for part, its in zip(parts, own, strict=True):
        scaled = part @ inverse
        spread += (float(np.trace(scaled @ scaled)) + float(np.trace(scaled)) ** 2) / its
    most, left = 0.0, list(range(len(given)))
    while left:
        first, *rest = left
        alike = [one for one in rest if joint_covariance(given[first], given[one]) is not None]
        together = given[first].df_with(*(given[one] for one in alike)) if alike else None
        most += sum(own[one] for one in (first, *alike)) if together is None else together
        left = [one for one in rest if one not in alike]
    rank = int(np.linalg.matrix_rank(total, tol=1e-10 * np.trace(total), hermitian=True))
    return min((rank + rank**2) / spread, most) if spread > 0 else min(own)


def joint_covariance(one: Any, other: Any) -> Floats | None:
    """The covariance of two groups of one sample with a design; None where they are not."""
    found: Floats | None = None if is_simple(one) else one.covariance_with(other)
    return found


def _joint_covariances(given: list[Any]) -> dict[tuple[int, int], Floats]:
    """The covariances of those samples that are groups of one sample with a design."""
    pairs = combinations(enumerate(given), 2)
    found = {(i, j): joint_covariance(one, other) for (i, one), (j, other) in pairs}
    return {places: both for places, both in found.items() if both is not None}
