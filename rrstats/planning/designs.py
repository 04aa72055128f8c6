"""The matrix for a question about one column; `mechanisms.optimal_matrices` has the programmes."""

from __future__ import annotations

from rrstats._names import checked_keywords
from rrstats._typing import CategoriesLike, NumbersByCategory
from rrstats.data.categories import Categories
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.optimal_matrices import matrix_for
from rrstats.planning.precision import numbered


@checked_keywords
def optimal_matrix(
    categories: CategoriesLike,
    epsilon: float,
    goal: str = "proportions",
    scores: NumbersByCategory | None = None,
    prior: NumbersByCategory | None = None,
) -> MatrixDesign:
    """Make the transition matrix for a question about one column.

    Parameters
    ----------
    categories : sequence of hashables or int
        The categories, or only their number; for a distribution in their order.
    epsilon : float
        Epsilon of one report in nats, at least 1e-5.
    goal : {"proportions", "mean", "distribution"}
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
    >>> import numpy as np
    >>> m = optimal_matrix(range(11), 1.0, goal="mean")
    >>> m.epsilon <= 1.0
    True
    >>> score = np.arange(11) @ m.channel.left_inverse
    >>> rates = m.channel.matrix.mean(axis=1)
    >>> round(float(rates @ score**2 - (rates @ score) ** 2), 1)
    108.0

    With 11 equally common answers from 0 to 10 the variance of the mean is 108 / n at epsilon 1,
    that of k-ary randomized response 548 / n.
    """
    return matrix_for(Categories(numbered(categories)), epsilon, goal, scores, prior)
