"""Comparison of designs: with a direct question, and with each other at one epsilon.

`relative_variance` is the ratio of the sample sizes of a mechanism and of a direct question for the
same precision, if everybody is honest; `compliance.break_even` counts people who are not.
`compare_designs` sets the free parameter of each survey design so that its exact epsilon is the
largest allowed one: the same parameter value gives different epsilons in different designs.
Warner's cards, forced response, the crosswise question and one card of Kuk then have the same
matrix, so the respondents' trust decides between them, not statistics.
`recommend` compares mechanisms for k categories by their exact variance at that k and epsilon.  The
variance of one category depends on its true proportion.  Its mean over the categories does not,
except for the sampling variance, (1 - sum of f^2) / k in every design; so the order of designs is
the same for all proportions and both targets.

deff = v(f) / (f (1 - f)), n_eff = n / deff.
Sources: Warner (1965), sect. 4; Lensvelt-Mulders, Hox, van der Heijden and Maas (2005); Wang,
Blocki, Li and Jha (2017), table 1 (variances); Ye and Barg (2018) (subset selection).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_epsilon,
    check_instance,
    check_k,
    check_level,
    check_number,
    check_one_of,
    check_probability,
    check_proportions,
)
from rrstats._display import FrameTable, Notes, SummaryTable, wrap
from rrstats._names import checked_keywords, checked_options
from rrstats._typing import CategoriesLike, Floats, NumbersByCategory
from rrstats.data.categories import Categories, category_numbers
from rrstats.errors import ArgumentValueError
from rrstats.estimation.estimates.posterior import proportions_of
from rrstats.inference.contrasts import normal_quantile
from rrstats.inference.optimize import first_accepted
from rrstats.mechanisms import surveys
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.channel import (
    TARGETS,
    Channel,
    SupportChannel,
    check_target,
    expected_rates,
    report_contrast_covariance,
    report_variance,
)
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.krr import KRR, MechanismLike
from rrstats.mechanisms.optimal_matrices import GOALS, MIN_EPSILON, least_variance
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.unary import UnaryEncoding
from rrstats.planning.chances import CRITERIA, best_chances
from rrstats.planning.designs import optimal_matrix
from rrstats.planning.precision import (
    MAX_PEOPLE,
    ask,
    ask_about,
    check_people,
    numbered,
    sample_size,
)
from rrstats.plots import PlotOptions, plot_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEAR_LIMIT = 0.99
"""Part of the largest sample size from which on a design is left out, before it is computed."""

_EQUAL_RATIO = 1e-9
"""Excess of a ratio over 1 that is rounding."""

Family = tuple[Callable[[float], Any], float, float]
"""A design by its parameter, and the parameters with no information and with no noise."""

# The first of several designs with equal variance is used: subset selection of size 1 is k-RR.
_DESIGNS: dict[str, Callable[..., Any]] = {
    "KRR": KRR,
    "SubsetSelection": SubsetSelection,
    "OptimizedUnary": UnaryEncoding.optimized,
    "SymmetricUnary": UnaryEncoding.symmetric,
}


# -- compared with a direct question ---------------------------------------------------------------


@checked_keywords
def relative_variance(
    proportion: float,
    mechanism: MechanismLike | int = 2,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    category: Hashable = None,
) -> float:
    """Calculate the ratio of the variance to that of a direct question of as many people.

    Parameters
    ----------
    proportion : float
        The expected true proportion.
    mechanism, prob, epsilon, category
        As in `half_width`.

    Returns
    -------
    float
        The ratio of variances, or of sample sizes for the same precision, if everybody is honest;
        infinite at a proportion of 0 or 1, where a direct question has no variance.

    Examples
    --------
    >>> round(relative_variance(0.2, 10, epsilon=1.0), 1)
    29.5
    >>> round(1000 / relative_variance(0.2, 10, epsilon=1.0))
    34

    With 10 categories at epsilon 1, 1,000 reports are worth 34 direct answers for a
    proportion of 20%.
    """
    question, expected = ask_about(proportion, (mechanism, prob, epsilon), category)
    check_probability(expected, "proportion")
    direct_variance = expected * (1 - expected)
    return question.variance(expected) / direct_variance if direct_variance else math.inf


# -- survey designs at one epsilon -----------------------------------------------------------------


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class DesignTable(FrameTable):
    """A table of designs, the best first.

    Attributes
    ----------
    title : str
        The title of the table.
    table : DataFrame
        One row for each design, with its name in the first column.
    mechanisms : mapping from str to Mechanism
        The mechanisms by name, each with at most the given epsilon.
    notes : tuple of str
        Sentences below the table.
    left_out : tuple of str
        Designs that would need more than 2**40 people.
    """

    title: str
    table: pd.DataFrame
    mechanisms: Mapping[str, Mechanism]
    notes: Notes = ()
    left_out: tuple[str, ...] = ()

    _bars: ClassVar[str] = "people"
    _across: ClassVar[bool] = False

    @property
    def best(self) -> str:
        """The name of the design that needs the fewest people."""
        return str(self.table.iloc[0, 0])

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table.

        Returns
        -------
        DataFrame
            One row for each design.
        """
        return self.table.copy()

    def summary(self) -> SummaryTable:
        """Format the table with four digits, and whole numbers with separators.

        Returns
        -------
        SummaryTable
            Text in a terminal and HTML in a notebook.
        """

        def cell(value: Any) -> str:
            if isinstance(value, str):
                return value
            return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:.4g}"

        table = self._by_name.astype(object)  # so that integers stay integers when transposed
        if self._across:
            table = table.T
        heads = list(map(str, table))
        notes = list(map(wrap, self.notes))
        return SummaryTable(self.title, (), table, heads, dict.fromkeys(heads, cell), notes)

    @property
    def _by_name(self) -> pd.DataFrame:
        return self.table.set_index(self.table.columns[0]).rename_axis(None)

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    @checked_options(PlotOptions)
    def plot(self, ax: Axes | None = None, **options: Unpack[PlotOptions]) -> Axes:
        """Draw the sample size of each design, or its ratio to that of the best design.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        **options
            figsize, title, sort and top; see `PlotOptions`.

        Returns
        -------
        Axes
            One bar for each design.
        """
        return plot_bars(self._by_name[self._bars], ax, **({"title": self.title} | options))


@checked_keywords
def compare_designs(
    epsilon: float,
    categories: CategoriesLike = ("no", "yes"),
    *,
    category: Hashable = None,
    proportion: float = 0.1,
    half_width: float = 0.03,
    target: str = "population",
    level: float = 0.95,
) -> DesignTable:
    """Compare survey designs at one epsilon: their free parameter and their sample size.

    Parameters
    ----------
    epsilon : float
        Epsilon of one report in nats, at least 1e-5.
    categories, category
        Two answers, or 2, and the sensitive one of them; by default True, or the last one.
    proportion, half_width, target, level
        The expected proportion and the precision; see `sample_size`.

    Returns
    -------
    DesignTable
        ``mechanisms`` by name, ``plot()`` and ``table``: design, number (its free parameter),
        epsilon (exact, rounded up), variance (of one report at the proportion), people.  A design
        that needs more than 2**40 people is ``left_out``.  With two answers k-RR is
        ``warner``.  Designs in which one report proves the
        answer (triangular, Mangat, Devore) are not compared: their epsilon is infinite.

    Notes
    -----
    The parameter is found by bisection over doubles, and its epsilon is at most the given one.

    Examples
    --------
    >>> found = compare_designs(1.0, proportion=0.1, half_width=0.03)
    >>> found.table[["design", "number", "people"]].head(3)
                design    number  people
    0           warner  0.731059    4383
    1  forced_response  0.462117    4383
    2        crosswise  0.731059    4383
    >>> found.mechanisms["warner"].epsilon <= 1.0
    True

    At epsilon 1, 73% of Warner's cards ask the sensitive question, and 4,383 people give an
    interval of 10% ± 3 points.
    """
    hint = "below it every design needs more than 2**40 people"
    epsilon = check_number(check_epsilon(epsilon), "epsilon", MIN_EPSILON, hint=hint)
    expected = check_probability(proportion, "proportion")
    width = check_number(half_width, "half_width", 0, 0.5, ends="()")
    answers = list(Categories(numbered(categories)).categories)
    if category is None and answers:
        category = _default_yes(answers)
    target = check_target(target)
    level = check_level(level)
    mechanisms: dict[str, Mechanism] = {}
    rows = []
    left_out = []
    for name, family in _families(answers, category).items():
        mechanism, number = _solve(*family, epsilon)
        variance = ask(mechanism, category=category).variance(expected, target)
        if normal_quantile(level) ** 2 * variance / width**2 >= _NEAR_LIMIT * MAX_PEOPLE:
            left_out.append(name)
            continue
        size = sample_size(
            width, expected, mechanism, category=category, target=target, level=level
        )
        rows.append((name, number, mechanism.epsilon, variance, size))
        mechanisms[name] = mechanism
    table = pd.DataFrame(rows, columns=["design", "number", "epsilon", "variance", "people"])
    table = table.sort_values("people", kind="stable", ignore_index=True)
    title = (
        f"designs at epsilon {round_up(epsilon)}: people for a proportion of "
        f"{100 * expected:g}% ± {100 * width:g} points"
    )
    notes: Notes = ("with two answers k-RR is warner",)
    if left_out:
        absent = f"left out, because they need more than 2**40 people: {', '.join(left_out)}"
        notes = (*notes, absent)
    return DesignTable(title, table, mechanisms, notes, tuple(left_out))


def _default_yes(answers: Sequence[Hashable]) -> Hashable:
    """The sensitive answer: True, or the last one."""
    return True if any(answer is True for answer in answers) else answers[-1]


def _families(categories: Sequence[Hashable], yes: Hashable) -> dict[str, Family]:
    """The survey designs of two answers with a finite epsilon, by their free parameter."""

    def forced(p: float) -> Any:
        return surveys.forced_response(categories, p, [(1 - p) / 2] * 2)

    def unrelated(p: float, one_in: int) -> Any:
        return surveys.unrelated_question(categories, p, 1 / one_in, yes=yes)

    def kuk(p: float, cards: int) -> Any:
        return surveys.kuk(categories, p, 1 - p, cards, yes=yes)

    warner = partial(surveys.warner, categories, yes=yes)
    crosswise = partial(surveys.crosswise, categories, yes=yes)
    return {
        "warner": (warner, 0.5, 1.0),
        "forced_response": (forced, 0.0, 1.0),
        "crosswise": (crosswise, 0.5, 1.0),
        **{
            f"unrelated_question, 1 in {n} yes": (partial(unrelated, one_in=n), 0.0, 1.0)
            for n in (2, 4, 12)
        },
        **{f"kuk, {n} cards": (partial(kuk, cards=n), 0.5, 1.0) for n in (2, 4)},
    }


def _solve(
    make: Callable[[float], Mechanism], private: float, exact: float, epsilon: float
) -> tuple[Any, float]:
    """The mechanism with the least noise at an epsilon of at most this, and its parameter.

    private, exact : parameters with no information and with no noise, between which it lies.
    """
    best = None
    while (middle := (private + exact) / 2) not in (private, exact):  # a step for a binary digit
        mechanism = make(middle)
        if mechanism.epsilon <= epsilon:
            private = middle
            best = mechanism
        else:
            exact = middle
    return best, private


# -- which design for k categories -----------------------------------------------------------------


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recommendation(DesignTable):
    """Recommended design for a question about one column, with a table of designs.

    Attributes
    ----------
    epsilon : float
        Epsilon of one report.
    categories : sequence of hashables
        The categories, or numbers if only their number was given.
    makers : mapping from str to callable
        A function of categories and epsilon for each design.
    """

    epsilon: float
    categories: Sequence[Hashable]
    makers: Mapping[str, Callable[..., Any]]

    _bars: ClassVar[str] = "ratio"
    _across: ClassVar[bool] = True

    @property
    def reason(self) -> str:
        """The reason in sentences: variance, standard error, report size and influence."""
        return self.notes[0]

    def mechanism(self, categories: Any = None) -> Mechanism:
        """Build the recommended design at the given epsilon.

        Parameters
        ----------
        categories : sequence of k hashables, optional
            By default the categories of `recommend`.

        Returns
        -------
        Mechanism
            The design for these categories.

        Raises
        ------
        ArgumentValueError
            The number of categories is not k.
        """
        k = len(self.categories)
        if categories is None:
            categories = self.categories
        mechanism: Mechanism = self.makers[self.best](categories, epsilon=self.epsilon)
        if mechanism.k != k:
            raise ArgumentValueError(
                f"categories must be {k}, as in this recommendation, found {mechanism.k}; use "
                f"recommend({mechanism.k}, {self.epsilon!r})"
            )
        return mechanism


@checked_keywords
def recommend(
    categories: CategoriesLike,
    epsilon: float,
    n: int | None = None,
    *,
    proportions: NumbersByCategory | None = None,
    target: str = "population",
    goal: str = "proportions",
    scores: NumbersByCategory | None = None,
) -> Recommendation:
    """Recommend the design with the smallest variance for a question about one column.

    Parameters
    ----------
    categories : sequence of hashables or int
        The categories, or only their number, 2 to 32,768.
    epsilon : float
        Epsilon of one report in nats, above 0.
    n : int, optional
        The number of respondents, for standard errors.
    proportions : sequence or mapping of floats, optional
        The expected true proportions, by default equal.  They change the standard errors, but not
        the order of the designs.
    target : {"population", "sample"}
        Estimates are about the population, or about just these rows.
    goal : {"proportions", "mean", "distribution"}
        The proportions of a nominal column; the mean of scores, or the distribution over ordered
        brackets: these compare k-RR and the matrix of `design` at the proportions.
    scores : sequence or mapping of floats, optional
        For the mean, as in `design`.

    Returns
    -------
    Recommendation
        ``best``, ``mechanism()``, ``reason``, ``plot()`` and ``table``.  For a mean or a
        distribution ``reason`` says from which whole epsilon k-RR is as good (it needs at most 15%
        more people), and it is then the best; columns: mechanism, epsilon, reports (their number),
        variance (n times that of the mean, or the squared expected distance W1, on [0, 1], of the
        unbiased distribution), std_error (with n: of the mean, or that distance), ratio, people
        (with n), and variance_of_proportions, the mean over the categories.
        For proportions one row for each design: mechanism, parameters;
        epsilon, of one report, rounded up;
        bytes, the stored size of one report: the number of a category, or one bit for each;
        names, the mean number of categories that one report names;
        variance_at_0, of one report for a category that nobody has, for both targets;
        variance_population, variance_sample, means over the categories, at the proportions;
        std_error, of a proportion, for the given target (with n);
        ratio, of the variance to that of the best design, for that target;
        people, the sample size for the best design's std_error at n (with n);
        times_direct, the ratio of the variance to that of a direct survey of the population;
        influence, the largest increase of an estimated count by one report.

    Notes
    -----
    The designs are k-RR, subset selection of the best size, and optimized and symmetric unary
    encoding, each with the best probabilities for epsilon.  They are compared by the mean variance
    over the categories.  For crosstabs or regression another design may be better.  The distance
    of a distribution is that of unbiased proportions: where many brackets are nearly empty, maximum
    likelihood, with smoothing above all, gains more from the matrix.

    Examples
    --------
    >>> advice = recommend(100, 1.0, n=10_000)
    >>> advice.best, advice.mechanism().k
    ('SubsetSelection', 100)
    >>> advice.table.set_index("mechanism")["people"].to_dict()
    {'SubsetSelection': 10000, 'OptimizedUnary': 10259, 'SymmetricUnary': 10882, 'KRR': 96119}
    """
    listed = Categories(categories).categories if np.iterable(categories) else None
    hint = "at 0 no report of any design carries information"
    epsilon = check_number(check_epsilon(epsilon), "epsilon", 0, ends="(]", hint=hint)
    k = check_k(categories if listed is None else len(listed))
    size = None if n is None else check_people(n)
    target = check_target(target)
    theta = np.array([1 / k])
    if isinstance(proportions, Mapping | pd.Series):
        domain = Categories(range(k) if listed is None else categories)
        theta = proportions_of(proportions, domain, "proportions")
    elif proportions is not None:
        theta = check_proportions(proportions, "proportions", k)
    if check_one_of(goal, "goal", GOALS) != "proportions" or scores is not None:
        domain = Categories(range(k) if listed is None else categories)
        weights = np.broadcast_to(theta, domain.k)
        if goal == "mean":
            number = category_numbers(scores, domain.labels, "scores")
            comparison = _Comparison(goal, domain, weights, target, number, number)
        else:
            comparison = _Comparison(goal, domain, weights, target, scores)
        return _for_question(comparison, epsilon, size)
    return _for_proportions(
        range(k) if listed is None else listed, epsilon, size, theta, target=target
    )


def _for_proportions(
    categories: Sequence[Hashable], epsilon: float, size: int | None, theta: Floats, *, target: str
) -> Recommendation:
    """All designs compared by the mean variance of the proportions.

    theta : (k,) proportions, or (1,) if they are equal.
    """
    k = len(categories)
    mechanisms = {name: make(range(k), epsilon=epsilon) for name, make in _DESIGNS.items()}
    table = pd.DataFrame([_costs(name, each, theta) for name, each in mechanisms.items()])
    variance = table[f"variance_{target}"]
    ratio = (variance / variance[table["variance_sample"].argmin()]).clip(1)
    table.insert(8, "ratio", ratio)
    if size is not None:
        table.insert(8, "std_error", np.sqrt(variance / size))
        table.insert(10, "people", np.ceil(size * ratio).astype(np.int64))
    table = table.sort_values("ratio", kind="stable", ignore_index=True)
    title = (
        f"{table.iloc[0, 0]!s} for {k} categories at epsilon {epsilon:g}"
        f"{'' if size is None else f', n={size:,}'}, target {target!r}"
    )
    return Recommendation(
        title,
        table,
        mechanisms,
        (_reason(table, k, epsilon, size),),
        epsilon=epsilon,
        categories=categories,
        makers=_DESIGNS,
    )


_MAX_RATIO = 1.15
"""k-RR is as good as another design if it needs at most this ratio of people."""

_MAX_EPSILON = 12
"""The largest epsilon at which k-RR is compared with another design."""

_WHOLE_PEOPLE = 1e-6
"""Excess of a sample size over a whole number that is rounding."""


@dataclass(frozen=True, eq=False)
class _Comparison:
    """k-RR and the matrix for the mean of scores, or for a distribution over brackets.

    theta : (k,) proportions at which they are compared.  scores : the argument of the matrix.
    number : (k,) scores as numbers, for the mean; else None.
    """

    goal: str
    domain: Categories
    theta: Floats
    target: str
    scores: Any
    number: Floats | None = None

    @property
    def makers(self) -> dict[str, Callable[..., Any]]:
        """A function of categories and epsilon for each of the two."""
        options: dict[str, Any] = {"goal": self.goal, "scores": self.scores}
        if self.number is not None:
            options["prior"] = self.theta
        return {"KRR": KRR, "MatrixDesign": partial(optimal_matrix, **options)}

    def mechanism(self, name: str, epsilon: float) -> Mechanism:
        """One of the two at an epsilon."""
        mechanism: Mechanism = self.makers[name](self.domain.declared, epsilon=epsilon)
        return mechanism

    def costs(self, mechanism: Mechanism) -> dict[str, Any]:
        """Columns of the table about a mechanism."""
        return _question_costs(mechanism, self.number, self.theta, self.target)

    def krr_is_as_good(self, epsilon: float) -> bool:
        """k-RR needs at most 15% more people than the best matrix at an epsilon."""
        krr_variance = self.costs(self.mechanism("KRR", epsilon))["variance"]
        if self.number is None:
            variance = self.costs(self.mechanism("MatrixDesign", epsilon))["variance"]
            return bool(krr_variance <= _MAX_RATIO * variance)
        variance = least_variance(self.number, epsilon, self.theta)
        if self.target == "population":
            variance += self.theta @ self.number**2 - (self.theta @ self.number) ** 2
        return bool(krr_variance <= _MAX_RATIO * variance)

    def least_good_epsilon(self) -> int:
        """The smallest whole epsilon from which on k-RR is as good."""
        return first_accepted(self.krr_is_as_good, 0, _MAX_EPSILON, _MAX_EPSILON // 2)


def _for_question(comparison: _Comparison, epsilon: float, size: int | None) -> Recommendation:
    """k-RR compared with the matrix for a mean or a distribution."""
    domain = comparison.domain
    mechanisms = {name: comparison.mechanism(name, epsilon) for name in comparison.makers}
    costs = {name: comparison.costs(mechanism) for name, mechanism in mechanisms.items()}
    good_epsilon: float = comparison.least_good_epsilon()
    best = "KRR"
    order = ["KRR", "MatrixDesign"]
    if costs["KRR"]["variance"] > _MAX_RATIO * costs["MatrixDesign"]["variance"]:
        best = "MatrixDesign"
        order.reverse()
    else:
        good_epsilon = min(good_epsilon, epsilon)
    is_mean = comparison.goal == "mean"
    purpose = "mean of scores" if is_mean else "distribution over ordered brackets"
    note = (
        f"For the {purpose} of one column of {domain.k:,} categories at epsilon {epsilon:g} use "
        f"{best}. {_question_reason(costs, good_epsilon)}"
    )
    table = pd.DataFrame([{"mechanism": name, **costs[name]} for name in order])
    table.insert(4, "ratio", table["variance"] / table["variance"].min())
    if size is not None:
        people = size * table["variance"] / table["variance"][0]
        table.insert(5, "people", np.ceil(people - _WHOLE_PEOPLE).astype(np.int64))
        table.insert(4, "std_error", np.sqrt(table["variance"] / size))
    return Recommendation(
        f"{best} for the {purpose}, {domain.k:,} categories, epsilon {epsilon:g}",
        table,
        {name: mechanisms[name] for name in order},
        (note,),
        epsilon=epsilon,
        categories=domain.categories,
        makers=comparison.makers,
    )


def _question_reason(costs: Mapping[str, Mapping[str, Any]], good_epsilon: float) -> str:
    """The reason for k-RR or for the matrix in sentences.

    good_epsilon : the epsilon from which on k-RR is as good.
    """
    krr = costs["KRR"]
    matrix = costs["MatrixDesign"]
    ratio = krr["variance"] / matrix["variance"]
    needs = (
        f"{_more(ratio)} people, compared with"
        if ratio > 1 + _EQUAL_RATIO
        else "no more people than"
    )
    times = _number(matrix["variance_of_proportions"] / krr["variance_of_proportions"])
    return (
        f"KRR needs {needs} MatrixDesign. From epsilon {good_epsilon:g} on KRR is as good: it "
        f"needs at most 15% more people. The proportions of single categories have {times} times "
        "the variance with MatrixDesign, and a report of KRR looks like an answer."
    )


def _question_costs(
    mechanism: Mechanism, number: Floats | None, theta: Floats, target: str
) -> dict[str, Any]:
    """One row of the table for a mean of numbers, or for a distribution."""
    channel = mechanism.channel
    if number is not None:
        variance = report_contrast_covariance(channel, theta, target, number[None]).item()
    else:  # the sum of E|error| of the cumulative proportions, each nearly normal
        covariance = channel.covariance(theta, target)
        cumulated = covariance.cumsum(axis=0).cumsum(axis=1).diagonal()[:-1]
        variance = 2 / math.pi * float(np.sqrt(np.maximum(cumulated, 0)).sum() / len(theta)) ** 2
    return {
        "epsilon": mechanism.epsilon,
        "reports": len(channel.samples),
        "variance": variance,
        "variance_of_proportions": float(report_variance(channel, theta, target).mean()),
    }


def _costs(name: str, mechanism: Mechanism, theta: Floats) -> dict[str, Any]:
    """One row of the table of `recommend`."""
    channel = mechanism.channel
    k = mechanism.k
    population, rows = (float(np.mean(report_variance(channel, theta, t))) for t in TARGETS)
    direct = float(np.mean(theta * (1 - theta)))
    document = mechanism.to_dict().items()
    parameters = [f"{key}={x:.4g}" for key, x in document if key not in ("type", "categories")]
    # One report is the number of its cell, or one bit for each cell.
    cells = len(channel.samples)
    bits = (cells - 1).bit_length() if channel.is_multinomial else cells
    return {
        "mechanism": name,
        "parameters": ", ".join(parameters),
        "epsilon": mechanism.epsilon,
        "bytes": -(-bits // 8),
        "names": float(expected_rates(channel, np.full(k, 1 / k)).sum()),
        "variance_at_0": float(report_variance(channel, np.zeros(k), "sample")[0]),
        "variance_population": population,
        "variance_sample": rows,
        "times_direct": population / direct if direct else math.inf,
        "influence": score_range(channel)[1],
    }


def _reason(table: pd.DataFrame, k: int, epsilon: float, n: int | None) -> str:
    """The reason of a recommendation in sentences."""
    rows: dict[Any, Any] = {row["mechanism"]: row for row in table.to_dict("records")}
    best, *others = rows.values()
    name = best["mechanism"]
    takes = ", ".join(
        f"{_more(row['ratio'])} with {row['mechanism']}" for row in others if row["ratio"] > 1
    )
    sentences = [
        f"For the proportions of one nominal column of {k:,} categories at epsilon {epsilon:g} "
        f"use {name}, which has the smallest variance.",
        f"For the same precision other designs need more people: {takes}.",
    ]
    equal = [row["mechanism"] for row in others if row["ratio"] == 1]
    sentences += [f"{other} of size 1 is the same design." for other in equal]
    if n is not None:
        sentences.append(f"The standard error is about {best['std_error']:.2g} with n = {n:,}.")
    sentences += [
        f"A {row['bytes']:,}-byte report of {mechanism}, honest or not, names "
        f"{_number(row['names'])} of the categories and can raise an estimated count by "
        f"{_number(row['influence'])} people."
        for mechanism, row in rows.items()
        if mechanism in (name, "KRR")
    ]
    sentences.append("A report of KRR looks like an answer.")
    rare = min(rows.values(), key=lambda row: row["variance_at_0"])
    ratio = best["variance_at_0"] / rare["variance_at_0"]
    if ratio >= 1 + _EQUAL_RATIO:
        sentences.append(
            f"For a single, very rare category {rare['mechanism']} is better: {name} needs "
            f"{_more(ratio)} people."
        )
    return " ".join(sentences)


def score_range(channel: Channel, targets: int = 1) -> tuple[float, float]:
    """The smallest and largest sums of the scores of some categories in one report."""
    if not isinstance(channel, SupportChannel):
        scores = np.sort(channel.scores(np.arange(len(channel.samples))), axis=1)
        lowest = scores[:, :targets].sum(axis=1)
        highest = scores[:, -targets:].sum(axis=1)
        return float(lowest.min()), float(highest.max())
    fewest, most = channel.support_sizes
    without, supported = channel.solve([0.0, 1.0]).tolist()
    # The smallest and largest numbers of targets that one report supports.
    counts = (max(0, targets - (channel.k - fewest)), min(targets, most))
    ends = [count * supported + (targets - count) * without for count in counts]
    return min(ends), max(ends)


def _number(value: float) -> str:
    """Three digits, without powers of ten below a million."""
    return f"{float(f'{value:.3g}'):,g}"


def _more(ratio: float) -> str:
    """A ratio above 1 in words: times from 2 on, else per cent."""
    return f"{_number(ratio)} times as many" if ratio >= 2 else f"{100 * (ratio - 1):.2g}% more"


# -- one epsilon for a frame -----------------------------------------------------------------------


@checked_keywords
def plan(
    columns: Mapping[Any, Any],
    epsilon: float,
    want: Any = "proportions",
    *,
    chances: Sequence[float] | str | None = None,
    asked: Hashable = "rr_asked",
) -> FramePlan:
    """Plan one epsilon for all private columns of a frame, so that a row reports one part of it.

    Parameters
    ----------
    columns : mapping
        From the name of each private column to its categories.
    epsilon : float
        The privacy loss of a whole row in nats.
    want : {"proportions", "pairs"} or list
        What is to be estimated: proportions of each column, each row reporting one column; all
        two-way tables, each row reporting one pair of columns; or a list of columns and pairs.
        Proportions and means of a column come from its pairs too, less precisely.  In estimates of
        proportions all reports count, by their precision: see `FramePlan.variances`.
    chances : list of float or {"equal", "minimax", "total"}, default "equal"
        The chance of each part of the plan, in the order of columns, of pairs or of ``want``; they
        need not sum to 1.  "minimax" chooses those that make the largest n Var of what is wanted
        least (of a proportion of 0.2, or of a cell), "total" the sum of all, by a convex programme.
    asked : hashable, default "rr_asked"
        The name of the public column that will say what each row reports.

    Returns
    -------
    FramePlan
        It prints what it cannot give; `rr.privatize` runs it.

    Notes
    -----
    With d columns, splitting epsilon gives each report epsilon / d, and its variance is about
    proportional to the inverse square of that; here a column has n / d reports of the whole
    epsilon.  A two-way table has n / (d (d - 1) / 2) reports of k1 k2 categories, instead of n
    pairs of reports of epsilon / d.

    Examples
    --------
    >>> answers = ["never", "once", "often", "daily"]
    >>> asked = plan({"beer": answers, "wine": answers, "gin": answers}, 2, want="pairs")
    >>> asked.labels, asked.epsilon
    (('beer & wine', 'beer & gin', 'wine & gin'), 2.0)
    >>> columns = {"beer": answers, "age": range(6)}
    >>> best = plan(columns, 1.2, ["beer", "age", ("beer", "age")], chances="minimax")
    >>> [round(chance, 2) for chance in best.chances]
    [0.18, 0.24, 0.59]
    >>> round(best.sample_size(0.02, "beer", "age"), -3)
    60000

    Each of the three estimates then has the same variance.
    """
    check_instance(columns, "columns", Mapping, "a mapping from column to categories")
    if not isinstance(want, list | tuple):
        sizes = {"proportions": 1, "pairs": 2}
        want = [*combinations(columns, sizes[check_one_of(want, "want", sizes)])]
    if not isinstance(chances, str):
        return FramePlan(columns, epsilon, want, chances=chances, asked=asked)
    criterion = check_one_of(chances, "chances", CRITERIA)
    equal = FramePlan(columns, epsilon, want, asked=asked)
    if criterion == "equal":
        return equal
    best = best_chances(equal, criterion)
    return FramePlan(columns, epsilon, want, chances=best, asked=asked)
