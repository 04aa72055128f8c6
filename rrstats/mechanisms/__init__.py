"""Mechanisms, one file for each family; read `krr` first, the others follow its structure.

The families are `krr`, `unary` (with RAPPOR), `subset_selection`, `matrix_design`, `surveys` and
`samples`; `base` has their base class.  Statistics use only a mechanism's `channel`, in the form of
`channel` or `matrix_channel`.  `epsilon` converts probabilities, rounded towards privacy;
`serialization` reads the JSON of mechanisms.  `plans` has the mechanisms of a frame's plan, and
`plan_tables` those of a table of its columns; `records` has the records of privatized columns,
`row_privacy` the epsilon of a row, and `attrs` the records in frames of pandas.  `surveys` is the
catalogue of survey designs; `survey_design` has their class and its JSON, `survey_builder` makes
their matrices.
Public: `rr.surveys`, `rr.two_rounds`, the conversions of `epsilon`, and the classes below except
`Chain` and `SurveyDesign`.
docs/contributing.md lists what a new mechanism needs.
"""

from rrstats.mechanisms.base import Chain, Mechanism, is_mechanism
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.serialization import from_dict
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.survey_design import SurveyDesign
from rrstats.mechanisms.unary import Rappor, UnaryEncoding

__all__ = [
    "KRR",
    "Chain",
    "MatrixDesign",
    "Mechanism",
    "Rappor",
    "Samples",
    "SubsetSelection",
    "SurveyDesign",
    "UnaryEncoding",
    "as_mechanism",
    "from_dict",
    "is_mechanism",
]
