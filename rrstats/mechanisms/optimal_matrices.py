"""Matrices made for a question: proportions, the mean of scores, or a distribution over brackets.

"proportions": k-ary randomized response, or Hadamard response where that has the smaller variance
(many categories, small epsilon).  A report of Hadamard response is a column of a Hadamard matrix;
for each category half of the columns are e^epsilon times as likely as the others.

"mean": a linear programme.  Reports stand on a grid of values y; the unknown P(y | x) >= 0 sum to 1
for each true answer x, sum_y y P(y | x) is the score of x, and the probabilities of one y differ by
at most e^epsilon.  The least variance is sought, at a prior or at the worst answer.  Rows that are
multiples of one another say the same and are merged.  Then the values are set anew: those of the
left inverse with the least variance, so that the mean is unbiased up to rounding.  Where the
programme's matrix says (nearly) nothing about some proportion, another design takes a part of the
reports: k-ary randomized response, or a random threshold between two scores, above or below which
the answer is by Warner's coin (Duchi's mechanism, with its threshold told).  Below epsilon 0.05
random thresholds alone are within 1% of the least variance, which is (range / epsilon)^2.

"distribution": the square wave on k brackets.  The b nearest brackets on both sides are as likely
as the true one, those farther away e^epsilon times less; reports go b brackets beyond both ends.
With b = 0 it is k-ary randomized response.

Epsilon is certified from the stored numbers: the matrix is mixed with the uniform one until its
largest ratio is at most that of k-ary randomized response at the epsilon asked for.
Sources: Acharya, Sun and Zhang (2019) (Hadamard response); Duchi, Jordan and Wainwright (2018);
Wang, Xiao, Yang et al. (2019) (piecewise mechanism); Kairouz, Oh and Viswanath (2016) (linear
programmes of private matrices); Li, Wang, Lopuhaa-Zwakenberg, Skoric and Li (2020) (square wave).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_epsilon, check_number, check_one_of, check_proportions
from rrstats._typing import Array, Booleans, Floats
from rrstats.data.categories import Categories, category_numbers
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.channel import normalized, numbers
from rrstats.mechanisms.epsilon import krr_prob
from rrstats.mechanisms.matrix_channel import MatrixChannel, left_inverse
from rrstats.mechanisms.matrix_design import MatrixDesign

GOALS = ("proportions", "mean", "distribution")

WORST = "worst-case"

MIN_EPSILON = 1e-5
"""Below this every design needs more than 2**40 people."""

_THRESHOLDS_EPSILON = 0.05
"""Below this epsilon random thresholds are as good as any matrix."""

_KRR_EPSILON = 12.0
"""From this epsilon on k-ary randomized response is nearly a direct question."""

_KRR_TOLERANCE = 1e-3
"""k-ary randomized response is preferred where it is within this of the programme."""


@dataclass(frozen=True)
class _ProgrammeConstants:
    """Constants of the linear programme.

    max_points, min_points : of the grid of values.  cells : of its matrix, if the points allow.
    linear, power, exponent : the grid is linear x + power x^exponent, times Duchi's value, for x
        from 0 to 1: the best values reach beyond his, the farther the more prior is one-sided.
    time_limit : seconds; a programme of a thousand categories or so that takes longer is given up.
    equal_rows : difference of rows that are equal; the tolerance of the solver is 1e-7.
    min_probability : rows that no answer gives more often are left out.
    """

    max_points: int = 121
    min_points: int = 41
    cells: int = 4000
    linear: float = 1.6
    power: float = 2.4
    exponent: int = 12
    time_limit: float = 120.0
    equal_rows: float = 1e-6
    min_probability: float = 1e-4


_PROGRAMME = _ProgrammeConstants()


@dataclass(frozen=True)
class _MixtureConstants:
    """Constants of the mixture with a design in which all proportions can be estimated.

    max_part : of the reports.  max_cost : growth of the variance for it.
    max_condition : largest condition number of a matrix without it, in those of thresholds.
    evenness, small_epsilon_evenness : weight of even thresholds, in general and below
        `_THRESHOLDS_EPSILON`.
    """

    max_part: float = 0.5
    max_cost: float = 0.005
    max_condition: float = 2.0
    evenness: float = 0.25
    small_epsilon_evenness: float = 0.01


_MIXTURE = _MixtureConstants()


@dataclass(frozen=True)
class _PriorConstants:
    """Constants of the search for the worst prior.

    steps : then the worst variance is within 0.05% of the programme's.
    rate, decay : a step multiplies weights by exp(rate (v / max v - 1) / (1 + step / decay)).
    uniform : part of the uniform distribution at the start, so that each answer can gain weight.
    """

    steps: int = 200
    rate: float = 30.0
    decay: float = 30.0
    uniform: float = 0.01


_PRIOR = _PriorConstants()

_MIN_WEIGHT = 0.001
"""Part of the uniform distribution in a prior, so that no row's weight is almost infinite."""

_SCALING_ROUNDS = 30
"""Rounds of raising the smallest entries and scaling columns; each leaves a smaller excess."""

_FIRST_UNIFORM = 1e-15
"""The smallest part of the uniform matrix that makes a matrix private; it is then doubled."""


def matrix_for(
    domain: Categories, epsilon: float, goal: str, scores: Any, prior: Any
) -> MatrixDesign:
    """The matrix for a question about one column; see `planning.optimal_matrix`."""
    check_one_of(goal, "goal", GOALS)
    hint = "below it every design needs more than 2**40 people"
    epsilon = check_number(check_epsilon(epsilon), "epsilon", MIN_EPSILON, hint=hint)
    ratio = exact_ratio(epsilon, domain.k)
    if goal == "mean":
        number = category_numbers(scores, domain.labels, "scores")
        weights = _prior(prior, domain)
        if number.min() < number.max():
            return _for_mean(domain, epsilon, ratio, number, prior=weights)
        raise ArgumentValueError("scores must differ, found one number for all categories")
    if scores is not None or prior is not None:
        raise ArgumentValueError(
            f"scores and prior belong to goal 'mean'; leave them out for {goal!r}"
        )
    if goal == "proportions":
        return _for_proportions(domain, ratio)
    return _for_distribution(domain, epsilon, ratio)


def exact_ratio(epsilon: float, k: int) -> Fraction:
    """The largest ratio of k-ary randomized response, whose exact epsilon is at most this one."""
    prob = Fraction(krr_prob(epsilon, k))
    return prob * (k - 1) / (1 - prob)


def _prior(prior: Any, domain: Categories) -> Any:
    """(k,) weights of the categories, or "worst-case"."""
    if isinstance(prior, str):
        return check_one_of(prior, "prior", [WORST])
    if prior is None:
        return np.full(domain.k, 1 / domain.k)
    if isinstance(prior, Mapping | pd.Series):
        prior = category_numbers(prior, domain.labels, "prior")
    return check_proportions(prior, "prior", domain.k)


def _for_distribution(domain: Categories, epsilon: float, ratio: Fraction) -> MatrixDesign:
    """The square wave on brackets."""
    half_width = _wave_half_width(epsilon, domain.k)
    reports = np.arange(-half_width, domain.k + half_width)
    inside = abs(reports[:, None] - np.arange(domain.k)) <= half_width
    labels = reports.tolist() if half_width else None
    return MatrixDesign(domain.declared, _two_level(inside, ratio), reports=labels)


def _wave_half_width(epsilon: float, k: int) -> int:
    """Whole brackets on both sides of the true one: k b, with b of Li et al. (2020), eq. 6."""
    if k == 2:
        return 0
    if (
        epsilon < _THRESHOLDS_EPSILON
    ):  # b = 1/2 - epsilon / 6 + ...; the formula would lose its digits
        return round(k * (0.5 - epsilon / 6))
    growth = math.exp(epsilon)
    return round(k * (epsilon * growth - growth + 1) / (2 * growth * (growth - 1 - epsilon)))


def _two_level(inside: Booleans, ratio: Fraction) -> list[list[Fraction]]:
    """The exact matrix whose entries are `ratio` times as likely inside as outside."""
    columns = []
    for column in inside.T.tolist():
        total = sum(column) * (ratio - 1) + len(column)
        columns.append([(ratio if is_inside else Fraction(1)) / total for is_inside in column])
    return [list(row) for row in zip(*columns, strict=True)]


def _for_proportions(domain: Categories, ratio: Fraction) -> MatrixDesign:
    """k-ary randomized response, or Hadamard response if its variance is smaller.

    Compared is the variance of an absent category: q (1 - q) / (p - q)^2 of both.
    """
    k = domain.k
    size = 1 << k.bit_length()
    krr_variance = (float(ratio) + k - 2) / float(ratio - 1) ** 2
    hadamard_variance = ((ratio + 1) / (ratio - 1)) ** 2
    if hadamard_variance >= krr_variance:
        return MatrixDesign(domain.declared, _two_level(np.eye(k) > 0, ratio))
    inside = scipy.linalg.hadamard(size)[:, 1 : k + 1] > 0
    return MatrixDesign(domain.declared, _two_level(inside, ratio), reports=range(size))


# -- the mean of scores ----------------------------------------------------------------------------


def _for_mean(
    domain: Categories, epsilon: float, ratio: Fraction, number: Floats, *, prior: Any
) -> MatrixDesign:
    """The matrix with the least variance of the mean of some numbers, and its left inverse."""
    scores = 2 * (number - number.min()) / (number.max() - number.min()) - 1
    k = domain.k
    is_worst = isinstance(prior, str)
    krr = _two_level(np.eye(k) > 0, ratio)
    if k == 2 or epsilon >= _KRR_EPSILON:
        return MatrixDesign(domain.declared, krr)
    if epsilon < _THRESHOLDS_EPSILON:
        exact = _thresholds(scores, ratio, _MIXTURE.small_epsilon_evenness)
        return _certified(domain, exact, ratio, scores, prior=np.full(k, 1 / k))
    matrix, least, prior = _programme(scores, epsilon, prior, _PROGRAMME.max_points)
    thresholds = _thresholds(scores, math.exp(epsilon), _MIXTURE.evenness)
    others = [np.array(krr, dtype=np.float64), thresholds]
    variances = [_variance(other, scores, prior, is_worst) for other in others]
    if variances[0] <= (1 + _KRR_TOLERANCE) * least:
        return MatrixDesign(domain.declared, krr)
    max_condition = _MIXTURE.max_condition * np.linalg.cond(thresholds)
    if len(matrix) < k or np.linalg.cond(matrix) > max_condition:
        cheapest = int(np.argmin(variances))
        cost = max(variances[cheapest] / least - 1, _MIXTURE.max_cost)
        part = min(_MIXTURE.max_part, _MIXTURE.max_cost / cost)
        matrix = np.vstack([(1 - part) * matrix, part * others[cheapest]])
    if is_worst:
        prior = _least_favourable(matrix, scores, prior)
    return _certified(domain, matrix, ratio, scores, prior=prior)


def least_variance(number: Floats, epsilon: float, prior: Floats) -> float:
    """The least mean variance of a report's value about the number of the truth, to 3%."""
    half = float(np.ptp(number)) / 2
    scores = (number - number.min()) / half - 1
    return half**2 * _programme(scores, epsilon, prior, _PROGRAMME.min_points)[1]


def _programme(
    scores: Floats, epsilon: float, prior: Any, points: int
) -> tuple[Floats, float, Floats]:
    """The matrix of the linear programme, its variance, and the prior at which it is least.

    Unknown are (m, k) probabilities, the (m,) smallest of each row, and the worst variance.
    """
    k = len(scores)
    grid = _value_grid(epsilon, scores, points)
    m = len(grid)
    is_worst = isinstance(prior, str)
    sparse = scipy.sparse
    ratios = _ratio_constraints(epsilon, m, k)
    sums = sparse.kron(np.stack([np.ones(m), grid]), sparse.identity(k))
    cost = np.zeros(m * k + m + 1)
    if is_worst:
        cost[-1] = 1.0
        squares = sparse.kron(grid[None] ** 2, sparse.identity(k))
        variances = sparse.hstack([squares, sparse.csr_matrix((k, m)), -np.ones((k, 1))])
        upper = sparse.vstack([ratios, variances])
        bounds = np.concatenate([np.zeros(2 * m * k), scores**2])
    else:
        cost[: m * k] = np.kron(grid**2, prior)
        upper = ratios
        bounds = np.zeros(2 * m * k)
    solution = scipy.optimize.linprog(
        cost,
        A_ub=upper.tocsr(),
        b_ub=bounds,
        A_eq=sparse.hstack([sums, sparse.csr_matrix((2 * k, m + 1))]).tocsr(),
        b_eq=np.concatenate([np.ones(k), scores]),
        options={"time_limit": _PROGRAMME.time_limit},
    )
    if not solution.success:
        raise ArgumentValueError(
            f"no matrix was found for the mean of {k} scores at epsilon {epsilon:g}: the linear "
            f"programme ended with {solution.message!r}; use goal='proportions', which is "
            "always possible, or fewer categories"
        )
    matrix = _merged(np.maximum(solution.x[: m * k].reshape(m, k), 0.0))
    if not is_worst:
        return matrix, float(solution.fun - prior @ scores**2), prior
    dual = np.maximum(-solution.ineqlin.marginals[-k:], 0.0)
    return matrix, solution.fun, dual / dual.sum()


def _value_grid(epsilon: float, scores: Floats, points: int) -> Floats:
    """(m,) values of the reports, in ascending order.

    At most the number of points, symmetric about 0; and Duchi's value times each score, unless
    there are as many scores as points: with little noise the best values are near these.
    """
    k = len(scores)
    m = min(points, max(_PROGRAMME.min_points, _PROGRAMME.cells // k // 2 * 2 + 1))
    duchi = (math.exp(epsilon) + 1) / math.expm1(epsilon)
    x = np.linspace(0, 1, m // 2 + 1)[1:]
    half = duchi * (_PROGRAMME.linear * x + _PROGRAMME.power * x**_PROGRAMME.exponent)
    anchors = duchi * scores if k < m else scores[:0]
    return np.unique(np.concatenate([-half[::-1], [0.0], half, anchors]))


def _ratio_constraints(epsilon: float, m: int, k: int) -> Any:
    """(2 m k, m k + m + 1) rows: smallest <= P(y | x) <= e^epsilon times the smallest of y."""
    sparse = scipy.sparse
    cells = sparse.identity(m * k)
    repeat = sparse.kron(sparse.identity(m), np.ones((k, 1)))
    ratios = sparse.bmat([[-cells, repeat], [cells, -math.exp(epsilon) * repeat]])
    return sparse.hstack([ratios, sparse.csr_matrix((2 * m * k, 1))])


def _merged(matrix: Floats) -> Floats:
    """The rows that occur, with one for each direction: multiples of a row say the same."""
    rows = matrix[matrix.max(axis=1) > _PROGRAMME.min_probability]
    directions = rows / rows.sum(axis=1, keepdims=True)
    first = [
        int((abs(directions - direction).max(axis=1) <= _PROGRAMME.equal_rows).argmax())
        for direction in directions
    ]
    merged = np.zeros_like(rows)
    np.add.at(merged, first, rows)
    merged = merged[merged.any(axis=1)]
    return np.asarray(merged / merged.sum(axis=0))


def _thresholds(scores: Floats, ratio: Fraction | float, evenness: float) -> Array:
    """Warner's coin for "at or above this score", for a random one of k - 1 thresholds.

    Thresholds are drawn by the gaps between scores, and in part evenly: scores may be equal.
    The matrix is of Fractions if the ratio is one.
    """
    order = np.argsort(scores, kind="stable")
    gaps = np.diff(scores[order])
    chances = (gaps + evenness * gaps.mean()) / ((1 + evenness) * gaps.sum())
    is_above = np.argsort(order)[None, :] > np.arange(len(scores) - 1)[:, None]
    is_exact = isinstance(ratio, Fraction)
    number: Callable[[float], Any] = Fraction if is_exact else float
    truth = ratio / (ratio + 1)
    lie = 1 / (ratio + 1)
    above_rows = []
    below_rows = []
    for chance, row in zip(map(number, chances.tolist()), is_above, strict=True):
        above_rows.append([chance * (truth if above else lie) for above in row])
        below_rows.append([chance * (lie if above else truth) for above in row])
    return np.array([*above_rows, *below_rows], dtype=object if is_exact else np.float64)


def _values(matrix: Floats, prior: Floats) -> Floats:
    """(k, m) the left inverse with the least variance at (nearly) these true proportions."""
    prior = (1 - _MIN_WEIGHT) * prior + _MIN_WEIGHT / len(prior)
    return left_inverse(matrix, np.eye(matrix.shape[1]), matrix.mean(axis=1) / (matrix @ prior))


def _variances(matrix: Floats, scores: Floats, prior: Floats) -> Floats:
    """(k,) variances of a report's score about that of each true answer."""
    return np.asarray((scores @ _values(matrix, prior)) ** 2 @ matrix - scores**2)


def _variance(matrix: Floats, scores: Floats, prior: Floats, is_worst: bool) -> float:
    """The variance of a report's score about the truth's, at the prior or at the worst answer."""
    variances = _variances(matrix, scores, prior)
    return float(variances.max() if is_worst else variances @ prior)


def _least_favourable(matrix: Floats, scores: Floats, prior: Floats) -> Floats:
    """The least favourable prior: the largest variance with its best values is the smallest.

    prior : that of the programme's dual, where the search starts.
    The programme's values are on a grid, and the best ones are not.  So answers with a larger
    variance than others gain weight, by a factor in each step, until all are nearly equal.
    """
    least = math.inf
    best = prior
    prior = (1 - _PRIOR.uniform) * prior + _PRIOR.uniform / len(prior)
    for step in range(_PRIOR.steps):
        variances = _variances(matrix, scores, prior)
        worst = float(variances.max())
        if worst < least:
            least = worst
            best = prior
        exponent = _PRIOR.rate * (variances / worst - 1) / (1 + step / _PRIOR.decay)
        prior = prior * np.exp(exponent)
        prior = prior / prior.sum()
    return best


def private_rows(matrix: Array, ratio: Fraction) -> Array:
    """A matrix mixed with the uniform one until its exact ratio is small enough."""
    if matrix.dtype != object:
        for _ in range(_SCALING_ROUNDS):
            matrix = np.maximum(matrix, matrix.max(axis=1, keepdims=True) / float(ratio))
            matrix = matrix / matrix.sum(axis=0)
    mixed = matrix
    uniform = _FIRST_UNIFORM
    while _exact_ratio(mixed) > ratio:
        mixed = (1 - uniform) * matrix + uniform / len(matrix)
        uniform = 2 * uniform
    return mixed


def _exact_ratio(matrix: Array) -> Fraction | float:
    """The largest ratio within a row, of the stored numbers with columns that sum to 1."""
    columns = [normalized(numbers(column, "column"), "column") for column in matrix.T.tolist()]
    return MatrixChannel(tuple(zip(*columns, strict=True))).max_likelihood_ratio


def _certified(
    domain: Categories, matrix: Array, ratio: Fraction, scores: Floats, *, prior: Floats
) -> MatrixDesign:
    """The design of a matrix whose exact ratio is small enough."""
    certified = _ordered_design(domain, private_rows(matrix, ratio), scores, prior)
    if np.ptp(prior) == 0:
        return certified
    exact = certified.channel.matrix
    inverse = _values(exact, prior)
    inverse = inverse + (np.eye(domain.k) - inverse @ exact) @ inverse  # a Newton step
    return MatrixDesign(
        domain.declared,
        certified.matrix,
        reports=certified.report_space.categories,
        inverse=inverse,
    )


def _ordered_design(
    domain: Categories, matrix: Array, scores: Floats, prior: Floats
) -> MatrixDesign:
    """The design of a matrix, its reports 0 .. m-1 in the order of their values."""
    floats = matrix.astype(np.float64)
    values = scores @ _values(floats / floats.sum(axis=0), prior)
    rows = matrix[np.argsort(values, kind="stable")].tolist()
    return MatrixDesign(domain.declared, rows, reports=range(len(rows)))
