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
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import check_epsilon, check_number, check_one_of, check_proportions
from rrstats._typing import Floats
from rrstats.data.categories import Categories, category_numbers
from rrstats.errors import ArgumentValueError
from rrstats.mechanisms.epsilon import krr_prob
from rrstats.mechanisms.matrix_channel import left_inverse
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.planning.precision import numbered

QUESTIONS = ("proportions", "mean", "distribution")

WORST = "worst-case"

LEAST_EPSILON = 1e-5
"""Below this every design needs more than 2**40 people."""

_NO_GAIN, _NO_LOSS = 0.05, 12.0
"""Below the first epsilon thresholds are as good as any matrix; above the second k-ary randomized
response is nearly a direct question."""

_GRID, _LEAST_GRID, _CELLS = 121, 41, 4000
"""Points of the grid, if few categories leave them; at least so many; and cells of a matrix."""

_SECONDS = 120.0
"""A programme that takes longer, of a thousand categories or so, is given up."""

_CLOSE = 1e-6
"""Rows of the programme are equal up to this: the tolerance of its solver is 1e-7."""

_RARE = 1e-4
"""Rows that no answer gives more often than this are left out."""

_PART, _COST = 0.5, 0.005
"""Part of the reports that another design may take, and the growth of the variance it may cost."""

_ROUNDS = 30
"""Rounds of raising the smallest entries and scaling columns; each leaves a smaller excess."""

_REWEIGHTED = 200
"""Steps towards the worst prior; then the worst variance is within 0.05% of the programme's."""

_SAME = 1e-3
"""k-ary randomized response is preferred where it is within this of the programme."""


def design(
    categories: Any,
    epsilon: float,
    question: str = "proportions",
    scores: Any = None,
    prior: Any = None,
) -> MatrixDesign:
    """Make the transition matrix for a question about one column.

    Parameters
    ----------
    categories : sequence of hashables or int
        The categories, or only their number; for a distribution in their order.
    epsilon : float
        Epsilon of one report in nats, at least 1e-5.
    question : {"proportions", "mean", "distribution"}
        The proportion of each category; the mean of scores; or the distribution over ordered
        brackets of equal width.
    scores : sequence or mapping of k floats, optional
        The number that each category stands for; by default the categories themselves.  Only for
        the mean.
    prior : sequence or mapping of k floats, or "worst-case", optional
        True proportions at which the variance of the mean is least, by default equal ones; or the
        least variance of a report's score at the worst true answer.

    Returns
    -------
    MatrixDesign
        Its epsilon, rounded up, is at most the one asked for.  For the mean the reports are
        0 .. m-1, in the order of their values, and ``rr.estimate(reports, m).mean(scores)`` has
        the variance of the programme; proportions can be estimated, too, and less well than with
        k-ary randomized response.  For a distribution report r is bracket r, from -b to k - 1 + b;
        ``rr.estimate(reports, m).mle(smoothing=True)`` suits a smooth distribution over many
        brackets.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        Wrong scores or prior; an epsilon at which no matrix of doubles is private and informative.

    Notes
    -----
    For the mean: the linear programme of least variance over P(report | truth), with reports on a
    grid of values, unbiased at every true answer.

    References
    ----------
    Duchi, Jordan and Wainwright (2018); Kairouz, Oh and Viswanath (2016); Li et al. (2020);
    Acharya, Sun and Zhang (2019).

    Examples
    --------
    >>> import rrstats as rr
    >>> m = design(range(11), 1.0, question="mean")
    >>> m.epsilon <= 1.0
    True
    >>> score = np.arange(11) @ m.channel.left_inverse
    >>> rates = m.channel.matrix.mean(axis=1)
    >>> round(float(rates @ score**2 - (rates @ score) ** 2), 1)
    108.0

    With 11 equally common answers from 0 to 10 the variance of the mean is 108 / n at epsilon 1,
    that of k-ary randomized response 548 / n.
    """
    domain = Categories(numbered(categories))
    check_one_of(question, "question", QUESTIONS)
    hint = "below it every design needs more than 2**40 people"
    asked = check_number(check_epsilon(epsilon), "epsilon", LEAST_EPSILON, hint=hint)
    prob = Fraction(krr_prob(asked, domain.k))
    ratio = prob * (domain.k - 1) / (1 - prob)
    if question == "mean":
        number = category_numbers(scores, domain.labels, "scores")
        weights = _prior(prior, domain)
        if number.min() < number.max():
            return _for_mean(domain, asked, ratio, number, prior=weights)
        raise ArgumentValueError("scores must differ, found one number for all categories")
    if scores is not None or prior is not None:
        raise ArgumentValueError(
            f"scores and prior belong to question 'mean'; leave them out for {question!r}"
        )
    if question == "proportions":
        return _for_proportions(domain, ratio)
    reach = _reach(asked, domain.k)
    rows = np.arange(-reach, domain.k + reach)
    inside = abs(rows[:, None] - np.arange(domain.k)) <= reach
    return MatrixDesign(
        domain.declared, _two_level(inside, ratio), reports=rows.tolist() if reach else None
    )


def _prior(prior: Any, domain: Categories) -> Any:
    if isinstance(prior, str):
        return check_one_of(prior, "prior", [WORST])
    if prior is None:
        return np.full(domain.k, 1 / domain.k)
    if isinstance(prior, Mapping | pd.Series):
        prior = category_numbers(prior, domain.labels, "prior")
    return check_proportions(prior, "prior", domain.k)


def _reach(epsilon: float, k: int) -> int:
    """Whole brackets on both sides of the true one: k b, with b of Li et al. (2020), eq. 6."""
    if k == 2:
        return 0
    if epsilon < _NO_GAIN:  # b = 1/2 - epsilon / 6 + ...; the formula would lose its digits
        return round(k * (0.5 - epsilon / 6))
    growth = math.exp(epsilon)
    return round(k * (epsilon * growth - growth + 1) / (2 * growth * (growth - 1 - epsilon)))


def _two_level(inside: Any, ratio: Fraction) -> list[list[Fraction]]:
    """The exact matrix whose entries are `ratio` times as likely inside as outside."""
    columns = []
    for column in np.asarray(inside).T.tolist():
        whole = sum(column) * (ratio - 1) + len(column)
        columns.append([(ratio if within else Fraction(1)) / whole for within in column])
    return [list(row) for row in zip(*columns, strict=True)]


def _for_proportions(domain: Categories, ratio: Fraction) -> MatrixDesign:
    """k-ary randomized response, or Hadamard response if its variance is smaller.

    Compared is the variance of an absent category: q (1 - q) / (p - q)^2 of both.
    """
    k, size = domain.k, 1 << domain.k.bit_length()
    plain = (float(ratio) + k - 2) / float(ratio - 1) ** 2
    if ((ratio + 1) / (ratio - 1)) ** 2 >= plain:
        return MatrixDesign(domain.declared, _two_level(np.eye(k) > 0, ratio))
    inside = scipy.linalg.hadamard(size)[:, 1 : k + 1] > 0
    return MatrixDesign(domain.declared, _two_level(inside, ratio), reports=range(size))


# -- the mean of scores ----------------------------------------------------------------------------


def _for_mean(
    domain: Categories, epsilon: float, ratio: Fraction, number: Floats, *, prior: Any
) -> MatrixDesign:
    """The matrix with the least variance of the mean of some numbers, and its left inverse."""
    scores = 2 * (number - number.min()) / (number.max() - number.min()) - 1
    k, worst = domain.k, isinstance(prior, str)
    krr = _two_level(np.eye(k) > 0, ratio)
    if k == 2 or epsilon > _NO_LOSS:
        return MatrixDesign(domain.declared, krr)
    if epsilon < _NO_GAIN:
        found, prior = _thresholds(scores, ratio, 0.01), np.full(k, 1 / k)
        return _certified(domain, found, ratio, scores, prior=prior)
    found, least, prior = _programme(scores, epsilon, prior, _GRID)
    others = [np.array(krr, dtype=np.float64), _thresholds(scores, math.exp(epsilon), 0.25)]
    variances = [_variance(other, scores, prior, worst) for other in others]
    if variances[0] <= (1 + _SAME) * least:
        return MatrixDesign(domain.declared, krr)
    if len(found) < k or np.linalg.cond(found) > 2 * np.linalg.cond(others[1]):
        cheapest = int(np.argmin(variances))
        cost = max(variances[cheapest] / least - 1, _COST)
        part = min(_PART, _COST / cost)
        found = np.vstack([(1 - part) * found, part * others[cheapest]])
    if worst:
        prior = _least_favourable(found, scores, prior)
    return _certified(domain, found, ratio, scores, prior=prior)


def least_variance(number: Floats, epsilon: float, prior: Floats) -> float:
    """The least mean variance of a report's value about the number of the truth, to 0.5%."""
    half = float(np.ptp(number)) / 2
    scores = (number - number.min()) / half - 1
    return half**2 * _programme(scores, epsilon, prior, _LEAST_GRID)[1]


def _programme(
    scores: Floats, epsilon: float, prior: Any, points: int
) -> tuple[Floats, float, Floats]:
    """The matrix of the linear programme, its variance, and the prior at which it is least.

    Unknown are (m, k) probabilities, the (m,) smallest of each row, and the worst variance.
    """
    k, sparse = len(scores), scipy.sparse
    m = min(points, max(_LEAST_GRID, _CELLS // k // 2 * 2 + 1))
    # Duchi's values are +-top; the best ones reach beyond, the farther the more prior is one-sided.
    top, half = (math.exp(epsilon) + 1) / math.expm1(epsilon), np.linspace(0, 1, m // 2 + 1)[1:]
    half = top * (1.6 * half + 2.4 * half**12)
    grid = np.concatenate([-half[::-1], [0.0], half])
    cells, rows, answers = sparse.identity(m * k), sparse.identity(m), sparse.identity(k)
    repeat, nothing = sparse.kron(rows, np.ones((k, 1))), sparse.csr_matrix((2 * m * k, 1))
    ratios = sparse.bmat([[-cells, repeat], [cells, -math.exp(epsilon) * repeat]])
    sums = sparse.kron(np.stack([np.ones(m), grid]), answers)
    squares = sparse.kron(grid[None] ** 2, answers)
    blank = sparse.csr_matrix((k, m))
    worst = isinstance(prior, str)
    cost = np.zeros(m * k + m + 1)
    cost[-1] = worst
    limits = sparse.hstack([squares, blank, -np.ones((k, 1))])
    if not worst:
        cost[: m * k] = np.kron(grid**2, prior)
    found = scipy.optimize.linprog(
        cost,
        A_ub=sparse.vstack([sparse.hstack([ratios, nothing]), *[limits] * worst]).tocsr(),
        b_ub=np.concatenate([np.zeros(2 * m * k), *[scores**2] * worst]),
        A_eq=sparse.hstack([sums, sparse.csr_matrix((2 * k, m + 1))]).tocsr(),
        b_eq=np.concatenate([np.ones(k), scores]),
        options={"time_limit": _SECONDS},
    )
    if not found.success:
        raise ArgumentValueError(
            f"no matrix was found for the mean of {k} scores at epsilon {epsilon:g}: the linear "
            f"programme ended with {found.message!r}; use question='proportions', which is always "
            "possible, or fewer categories"
        )
    if worst:
        prior = np.maximum(-found.ineqlin.marginals[-k:], 0.0)
        prior = prior / prior.sum()
    matrix = np.maximum(found.x[: m * k].reshape(m, k), 0.0)
    least = found.fun if worst else float(found.fun - prior @ scores**2)
    return _merged(matrix), least, prior


def _merged(matrix: Floats) -> Floats:
    """The rows that occur, with one for each direction: multiples of a row say the same."""
    rows = matrix[matrix.max(axis=1) > _RARE]
    ways = rows / rows.sum(axis=1, keepdims=True)
    first = [int((abs(ways - way).max(axis=1) <= _CLOSE).argmax()) for way in ways]
    found = np.zeros_like(rows)
    np.add.at(found, first, rows)
    found = found[found.any(axis=1)]
    return np.asarray(found / found.sum(axis=0))


def _thresholds(scores: Floats, ratio: Any, even: float) -> Any:
    """Warner's coin for "at or above this score", for a random one of k - 1 thresholds.

    Thresholds are drawn by the gaps between scores, and in part evenly: scores may be equal.
    """
    order, k = np.argsort(scores, kind="stable"), len(scores)
    gaps = np.diff(scores[order])
    chances = (gaps + even * gaps.mean()) / ((1 + even) * gaps.sum())
    above = np.argsort(order)[None, :] > np.arange(k - 1)[:, None]
    kind = Fraction if isinstance(ratio, Fraction) else float
    high, low = ratio / (ratio + 1), 1 / (ratio + 1)
    rows = [(kind(chance), up) for chance, up in zip(chances.tolist(), above, strict=True)]
    found = [[c * (high if x else low) for x in up] for c, up in rows]
    found += [[c * (low if x else high) for x in up] for c, up in rows]
    return np.array(found, dtype=object if kind is Fraction else np.float64)


def _values(matrix: Floats, prior: Floats) -> Floats:
    """(k, m) the left inverse with the least variance at (nearly) these true proportions."""
    prior = 0.999 * prior + 0.001 / len(prior)  # so that no row's weight is almost infinite
    return left_inverse(matrix, np.eye(matrix.shape[1]), matrix.mean(axis=1) / (matrix @ prior))


def _variance(matrix: Floats, scores: Floats, prior: Floats, worst: bool) -> float:
    """The variance of a report's score about the truth's, at the prior or at the worst answer."""
    each = (scores @ _values(matrix, prior)) ** 2 @ matrix - scores**2
    return float(each.max() if worst else each @ prior)


def _least_favourable(matrix: Floats, scores: Floats, prior: Floats) -> Floats:
    """The prior whose best values have the least worst variance, from the programme's dual prior.

    The programme's values stand on a grid, and the best ones do not: answers whose variance is
    above the others' gain weight until all are nearly equal.
    """
    prior, best, found = 0.99 * prior + 0.01 / len(prior), math.inf, prior
    for step in range(_REWEIGHTED):
        each = (scores @ _values(matrix, prior)) ** 2 @ matrix - scores**2
        if each.max() < best:
            best, found = float(each.max()), prior
        prior = prior * np.exp(30 * (each / each.max() - 1) / (1 + step / 30))
        prior = prior / prior.sum()
    return found


def _certified(
    domain: Categories, matrix: Any, ratio: Fraction, scores: Floats, *, prior: Floats
) -> MatrixDesign:
    """The design of a matrix, mixed with the uniform one until its exact ratio is small enough."""
    uniform, equal = 0.0, bool(np.ptp(prior) == 0)
    if matrix.dtype != object:
        for _ in range(_ROUNDS):
            matrix = np.maximum(matrix, matrix.max(axis=1, keepdims=True) / float(ratio))
            matrix = matrix / matrix.sum(axis=0)
    while True:
        mixed = matrix if not uniform else (1 - uniform) * matrix + uniform / len(matrix)
        plain = mixed.astype(np.float64)
        mixed = mixed[np.argsort(scores @ _values(plain / plain.sum(axis=0), prior), kind="stable")]
        made = MatrixDesign(domain.declared, mixed.tolist(), reports=range(len(mixed)))
        if made.channel.max_likelihood_ratio <= ratio:
            break
        uniform = 2 * uniform or 1e-15
    if equal:
        return made
    own, exact = _values(made.channel.matrix, prior), made.channel.matrix
    own = own + (np.eye(domain.k) - own @ exact) @ own  # a Newton step: less rounding
    return MatrixDesign(
        domain.declared, made.matrix, reports=made.report_space.categories, inverse=own
    )
