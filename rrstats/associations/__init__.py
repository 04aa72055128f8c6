"""How columns go together once the noise is taken out: two by two, or all of several.

`phi`, `odds_ratio`, `cramers_v` and `correlation` read a `Crosstab` of two columns;
`correlations` reads the rows of a frame, privatized categories beside ordinary numbers.
"""

from rrstats.associations.correlations import Correlations, correlations
from rrstats.associations.measures import (
    Association,
    correlation,
    cramers_v,
    odds_ratio,
    phi,
)

__all__ = [
    "Association",
    "Correlations",
    "correlation",
    "correlations",
    "cramers_v",
    "odds_ratio",
    "phi",
]
