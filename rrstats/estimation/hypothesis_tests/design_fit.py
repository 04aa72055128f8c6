"""Test whether people followed a design that has more report cells than proportions."""

from __future__ import annotations

from typing import Any

import numpy as np

from rrstats._names import checked_keywords
from rrstats._typing import ColumnLike, Floats
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_tests.counted_reports import (
    CountedDistance,
    Sample,
    as_estimate,
    cells_of,
    fit_proportions,
)
from rrstats.estimation.hypothesis_tests.test_result import TestResult, result_of, untested
from rrstats.inference.multinomial import (
    likelihood_ratio,
)
from rrstats.mechanisms.krr import MechanismLike

_FOLLOWED = "everybody followed the instructions"


@checked_keywords
def design_fit(
    reports: Any,
    mechanism: MechanismLike | None = None,
    prob: float | None = None,
    *,
    epsilon: float | None = None,
    group: ColumnLike | None = None,
) -> TestResult:
    """Test whether the design explains the reports: whether people did what they were told.

    A design whose reports can take more values than its proportions explain has something left to
    test, for example the two samples of `surveys.extended_crosswise`, which must give the same
    proportion.  A significant result says that the design does not hold; a result that is not
    significant does not show that everybody followed, because random answers may leave no trace.

    Parameters
    ----------
    reports : Estimate, Tally or array-like
        An Estimate or a Tally; or reports, with their design in ``mechanism`` (or categories with
        ``prob`` or ``epsilon``) and ``group``.
    mechanism, prob, epsilon, group : optional
        As for `rrstats.estimate`.

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
    estimate = as_estimate(reports, mechanism=mechanism, prob=prob, epsilon=epsilon, group=group)
    if estimate.moments.designed or not estimate.moments.channel.is_multinomial:
        raise ArgumentValueError(
            "design_fit compares counts of report cells, which a sample with weights, strata or "
            "clusters, and reports that name several categories, do not have; estimate by= the "
            "sample and compare these groups by hypotheses.homogeneity"
        )
    sample = cells_of(estimate)
    df = free_cells(sample)
    if not estimate.n:
        return result_of(_FOLLOWED, 0, untested(df))
    value, expected = distance_to_design(sample)
    method = "likelihood ratio of the reports against the design"
    outcome = CountedDistance(method, value, df, expected).by_chi_squared("merge samples")
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


def distance_to_design(sample: Sample) -> tuple[float, Floats]:
    """The likelihood ratio of counts against those of the likeliest proportions, and these counts.

    Proportions may lie outside [0, 1], as under a null hypothesis.
    """
    matrix, counts, sizes = sample
    start = np.full(matrix.shape[1], 1 / matrix.shape[1])
    expected = sizes * (matrix @ fit_proportions([sample], start))
    return float(likelihood_ratio(counts, expected)), expected
