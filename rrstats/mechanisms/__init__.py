"""Mechanisms: one file a family; `krr` is the model that the others imitate.

Families: `krr`, `unary` (RAPPOR too), `subset_selection`, `matrix_design`, `surveys` and
`samples`, on the base class in `base`.  `channel` is all that statistics need of them, in the forms
of `support_channel` and `matrix_channel`.  `epsilon` rounds towards privacy;
`serialization` reads a mechanism's document and the records of how columns were made.
A new mechanism is one file here, its name in ``__all__``, one line in `serialization`, one public
name in ``rrstats/__init__.pyi``, one line in the tests' catalogue, and golden values.
"""

from rrstats.mechanisms.base import Chain, Mechanism, is_mechanism
from rrstats.mechanisms.krr import KRR, as_mechanism
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.serialization import from_dict
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.surveys import SurveyDesign
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
