"""Goodness of fit: whether the true shares are some given ones.

Reports are compared with the reports that those shares would give through the channel, never
debiased shares with shares: so the counts are multinomial under the null, and Pearson's statistic
is the right one.  For k-RR it is GenRR of Gaboardi and Rogers.  Reports that name several
categories have no small table of counts; their debiased shares are compared by the covariance
that they have under the null.
Source: Gaboardi and Rogers (2018), LocalGenRRGOF and its noncentrality.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rrstats._checks import check_count, check_level
from rrstats._typing import Floats
from rrstats.data.categories import Domain
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation import debiasing
from rrstats.estimation.difference import sum_to_zero
from rrstats.estimation.estimate import Estimate
from rrstats.estimation.hypothesis_results import (
    TestPower,
    TestResult,
    check_statistic,
    few_expected,
    known,
    simulated,
    upper_f,
    upper_tail,
)
from rrstats.estimation.null_distributions import (
    at_least,
    distance,
    information_left,
    score_statistic,
)
from rrstats.estimation.result import said
from rrstats.estimation.survey_estimate import SurveyEstimate, survey_estimate
from rrstats.estimation.tally import Tally, tally
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    Channel,
    expected_rates,
    has_latent_classes,
    transition_matrix,
)
from rrstats.mechanisms.serialization import as_mechanism

__all__ = ["goodness_of_fit", "goodness_of_fit_power"]


_MOST_TABLES = 2_000_000
"""Tables of counts that are enumerated in about a second."""


def shares_of(given: Any, categories: tuple[Any, ...], name: str) -> Floats:
    """(k,) shares in [0, 1] that sum to 1, from a mapping or in the categories' order."""
    if isinstance(given, Mapping) or (hasattr(given, "items") and hasattr(given, "index")):
        space, values = Domain(categories), np.zeros(len(categories))
        pairs = [(space.code(label), number) for label, number in given.items()]
        if strange := sum(code >= space.k for code, _ in pairs):
            raise ArgumentValueError(
                f"{strange} of the {len(pairs)} labels in {name} are not among the categories "
                f"{space.describe()}"
            )
        for code, number in pairs:
            values[code] = number
    else:
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"{name} must be numbers or a mapping from category to share"
            ) from None
    if values.shape != (len(categories),):
        raise ArgumentValueError(
            f"{name} must hold {len(categories)} shares, one for each category, found the shape "
            f"{values.shape}"
        )
    if not np.isfinite(values).all() or values.min() < 0 or abs(values.sum() - 1) > 1e-6:
        raise ArgumentValueError(
            f"{name} must be shares of at least 0 that sum to 1, found a sum of {values.sum():.6g} "
            f"and a least share of {values.min():.6g}"
        )
    return np.asarray(values / values.sum())


def estimate_of(
    given: Any,
    mechanism: Any = None,
    prob: float | None = None,
    epsilon: float | None = None,
    group: Any = None,
) -> Any:
    """An Estimate, from one, from a Tally, or from reports; a SurveyEstimate of a sampled tally."""
    if hasattr(given, "proportions") and hasattr(given, "covariance"):
        if mechanism is not None or prob is not None or epsilon is not None:
            raise ArgumentTypeError("an estimate knows its mechanism; leave mechanism out")
        return given
    if isinstance(given, Tally):
        if mechanism is not None or prob is not None or epsilon is not None:
            raise ArgumentTypeError("a tally knows its mechanism; leave mechanism out")
        return survey_estimate(given) if given.sampled else Estimate(given)
    return Estimate(tally(given, mechanism, prob, epsilon=epsilon, group=group))


def has_cells(estimate: Any) -> bool:
    """Whether the counts of reports follow from the shares of the categories alone."""
    if not isinstance(estimate, Estimate) or estimate.target != "population":
        return False
    channel = estimate.mechanism.channel
    return bool(channel.is_multinomial and not has_latent_classes(channel))


def null_covariance(estimate: Any, shares: Floats) -> Floats:
    """The covariance of an estimate where these are the true shares, or else as it is.

    Of a sample with weights or a design no contrast has less variance than strata and
    weights by themselves give it: mostly that is luck, as `weighted.intervals` says.
    """
    if isinstance(estimate, Estimate):
        channel = estimate.mechanism.channel
        if not has_latent_classes(channel) and not channel.samples.any():
            return np.asarray(channel.covariance(shares, estimate.target) / estimate.n)
    found = np.asarray(estimate.covariance(), dtype=np.float64)
    if isinstance(estimate, SurveyEstimate) and estimate.mechanism.channel.is_multinomial:
        return at_least(found, estimate.least_covariance())
    return found


def wald_tail(value: float, df: int, free: float | None) -> tuple[float, str, tuple[str, ...]]:
    """The p-value of a Wald statistic, what to add to the method's name, and notes.

    free : degrees of freedom of the covariance; None for chi-squared.
    """
    if free is None:
        return upper_tail(value, df), "", ()
    left = free - df + 1
    p_value = upper_f(value, df, left)
    notes = ("too few clusters, or rows, for this test",) if np.isnan(p_value) else ()
    return p_value, f", F with {df} and {max(left, 0):.4g} degrees of freedom", notes


def goodness_of_fit(
    reports: Any,
    shares: Any,
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
    """Test whether the true shares are given ones.

    reports : reports with ``mechanism`` (or categories with ``prob`` or ``epsilon``), a Tally, or
        an Estimate.  shares : k shares that sum to 1, in the categories' order, or a mapping.
    statistic : "pearson", or "likelihood-ratio" where a report is one of as many cells as there
        are categories.
    exact : the p-value by listing all possible counts, for few reports of few kinds.
    simulations, seed : the p-value from so many simulated surveys; both or none.
    Returns a TestResult with k - 1 degrees of freedom.  Of an Estimate with target "rows" only
    the noise is random: the null is about these rows.  Of a Tally or an estimate with weights,
    strata or clusters: Wald's test with the sample's covariance, by an F distribution.
    Warns where expected counts are too small for chi-squared.
    Raises ArgumentValueError for shares that are none, and where there are too many tables to
    list.
    Formula: T = sum (H - n r)^2 / (n r) with r the reports' rates at these shares; Gaboardi and
    Rogers (2018).  A design with more kinds of reports than categories: the part of T that
    shares can explain (the score test).

    >>> import rrstats as rr
    >>> counts = rr.Tally.from_counts([260, 270, 250, 220], rr.KRR(list("abcd"), epsilon=1))
    >>> found = goodness_of_fit(counts, [0.4, 0.3, 0.2, 0.1])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4), round(found.effective_n)
    (6.3317, 3, 0.0965, 82)

    The reports do not contradict these shares, but a thousand of them tell what 82 direct
    answers would.
    """
    kind = check_statistic(statistic)
    found = estimate_of(reports, mechanism, prob, epsilon, group)
    wanted = shares_of(shares, tuple(found.categories), "shares")
    null = f"the shares are {_listed(found.categories, wanted)}"
    if not found.n:
        note = ("there are no reports",)
        return TestResult(null, np.nan, len(wanted) - 1, np.nan, "none", 0, None, note)
    if not has_cells(found):
        if exact or simulations is not None or kind != "pearson":
            raise ArgumentValueError(
                "exact, simulations and the likelihood ratio need reports that fall into one cell "
                "each, of a design without latent classes and a population as target; leave them "
                "out for a Wald test"
            )
        return _by_shares(found, wanted, null)
    channel, counts = found.mechanism.channel, found.reported.astype(np.float64)
    debiasing.check_possible(channel, found.reported)
    left = information_left(channel, wanted, counts, found.n)
    sizes = debiasing.sample_sizes(channel, counts, found.n)
    rates = expected_rates(channel, wanted)
    value, df, method, square = _cell_statistic(channel, counts, rates, sizes, kind)
    notes: tuple[str, ...] = ()
    if exact or simulations is not None:
        if exact and simulations is not None:
            raise ArgumentTypeError("give exact=True or simulations, found both")
        if not square:
            raise ArgumentValueError(
                "exact and simulated p-values are there for one sample with as many kinds of "
                "reports as categories"
            )
        p_value = (
            _exact(rates, found.n, value, kind)
            if exact
            else simulated(
                lambda generator, size: generator.multinomial(found.n, rates, size=size),
                lambda drawn: distance(drawn, found.n * rates, kind),
                value,
                len(rates),
                simulations,
                seed,
            )
        )
        method += ", exact" if exact else f", {simulations:,} simulations"
    else:
        remedy = "exact=True lists all tables, simulations= with seed= draws some"
        notes = few_expected(sizes * rates, remedy if square else "merge categories")
        p_value = upper_tail(value, df)
    return TestResult(null, value, df, p_value, method, found.n, left * found.n, notes)


def _listed(categories: Any, shares: Floats) -> str:
    pairs = [f"{share:.1%} {said(label)}" for label, share in zip(categories, shares, strict=True)]
    return ", ".join(pairs) if len(pairs) <= 6 else f"the {len(pairs)} given ones"


def _cell_statistic(
    channel: Channel, counts: Floats, rates: Floats, sizes: Floats, kind: str
) -> tuple[float, int, str, bool]:
    """The statistic, its degrees of freedom, its name, and whether it is of one plain table."""
    samples = int(channel.samples.max()) + 1
    square = samples == 1 and len(counts) == channel.k
    if kind == "likelihood-ratio":
        if not square:
            raise ArgumentValueError(
                "the likelihood ratio is there for one sample with as many kinds of reports as "
                "categories; use statistic='pearson', which is the score test here"
            )
        df = int((rates > 0).sum()) - 1
        return float(distance(counts, sizes * rates, kind)), df, "likelihood ratio of reports", True
    if square:
        value, df = score_statistic(transition_matrix(channel), counts, rates, sizes)
        return value, df, "Pearson's test of the reports", True
    value, df = score_statistic(transition_matrix(channel), counts, rates, sizes)
    return value, df, "score test of the reports", False


def _by_shares(found: Any, wanted: Floats, null: str) -> TestResult:
    """Wald's test of the unbiased shares, with their covariance under the null where known."""
    channel = found.mechanism.channel if isinstance(found, Estimate) else None
    left = float("nan")
    if channel is not None and found.target == "population":
        left = information_left(channel, wanted, found.reported, found.n)
    covariance, method = null_covariance(found, wanted), "Wald test of the shares"
    notes: tuple[str, ...] = ()
    if channel is not None and not channel.is_multinomial:
        rates = expected_rates(channel, wanted)
        notes = few_expected(found.n * np.minimum(rates, 1 - rates), "merge categories")
    value, df = sum_to_zero(np.asarray(found.proportions) - wanted, covariance)
    effective = known(left * found.n)
    p_value, name, doubts = wald_tail(value, df, getattr(found, "degrees_of_freedom", None))
    method, notes = method + name, notes + doubts
    return TestResult(null, value, df, p_value, method, int(found.n), effective, notes)


def _exact(rates: Floats, n: int, value: float, kind: str) -> float:
    """P(statistic >= value) over all tables of n reports."""
    m = len(rates)
    tables = comb(n + m - 1, m - 1)
    if tables > _MOST_TABLES:
        raise ArgumentValueError(
            f"{n} reports of {m} kinds can come out in {tables:,} ways, more than the "
            f"{_MOST_TABLES:,} that are listed; use simulations= with seed="
        )
    limit, total = value - 1e-9 * max(abs(value), 1.0), 0.0
    logs = np.log(rates, out=np.full(m, -np.inf), where=rates > 0)
    for counts in _compositions(n, m):
        with np.errstate(invalid="ignore"):
            terms = np.where(counts > 0, counts * logs, 0.0)
        chance = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
        far = distance(counts, n * rates, kind) >= limit
        total += float(np.exp(chance + terms.sum(axis=1))[far].sum())
    return min(total, 1.0)


def _compositions(n: int, m: int) -> Any:
    """All tables of n in m cells, in batches."""
    if m == 2:
        first = np.arange(n + 1)
        yield np.stack([first, n - first], axis=1)
        return
    bars, batch = combinations(range(n + m - 1), m - 1), []
    for place in bars:
        batch.append(place)
        if len(batch) == 100_000:
            yield _between(batch, n, m)
            batch = []
    if batch:
        yield _between(batch, n, m)


def _between(bars: list[tuple[int, ...]], n: int, m: int) -> NDArray[np.int64]:
    places = np.array(bars, dtype=np.int64)
    walls = np.full((len(places), 1), -1), places, np.full((len(places), 1), n + m - 1)
    return np.asarray(np.diff(np.concatenate(walls, axis=1), axis=1) - 1)


def goodness_of_fit_power(
    mechanism: Any,
    shares: Any,
    alternative: Any,
    n: int,
    level: float = 0.05,
) -> TestPower:
    """How often `goodness_of_fit` rejects given shares where others are true.

    mechanism : one sample's.  shares : of the null.  alternative : the true shares.
    n : reports.  level : at most so small is a p-value that rejects.
    Formula: noncentrality n sum (r1 - r0)^2 / r0 of the reports' rates; for k-RR with shares
    p0 + D / sqrt(n) it is (e-1)^2 / (e+k-1) sum D^2 / ((e-1) p0 + 1), e = exp(epsilon), Gaboardi
    and Rogers (2018).

    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> found = goodness_of_fit_power(m, [0.8, 0.2], [0.7, 0.3], n=1000)
    >>> round(found.power, 3), round(found.noncentrality, 2)
    (0.912, 10.99)

    Of a hundred such surveys, 91 would notice that 30% and not 20% say yes.
    """
    described: Mechanism = as_mechanism(mechanism, None, None)
    channel, size = described.channel, check_count(n, "n")
    null = shares_of(shares, described.categories, "shares")
    other = shares_of(alternative, described.categories, "alternative")
    if has_latent_classes(channel) or int(channel.samples.max()):
        raise ArgumentValueError(
            "the power is there for designs of one sample without latent classes"
        )
    if channel.is_multinomial:
        rates = expected_rates(channel, null)
        sizes = np.full_like(rates, size)
        expected = sizes * expected_rates(channel, other)
        noncentrality, df = score_statistic(transition_matrix(channel), expected, rates, sizes)
    else:
        covariance = channel.covariance(null, "population") / max(size, 1)
        noncentrality, df = sum_to_zero(other - null, covariance)
        noncentrality = noncentrality if size else 0.0
    return TestPower(_power(noncentrality, df, level), noncentrality, df, size, check_level(level))


def _power(noncentrality: float, df: int, level: ArrayLike) -> float:
    limit = scipy.special.chdtri(df, check_level(level))
    if np.isinf(noncentrality):
        return 1.0
    return float(1 - scipy.special.chndtr(limit, df, noncentrality))
