"""P-values of several tests, adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rrstats._checks import (
    check_one_of,
)
from rrstats._names import checked_keywords
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.inference.multiplicity import CORRECTIONS, adjusted_p_values


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
