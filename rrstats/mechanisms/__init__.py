"""Mechanisms, one file for each family; read `krr` first, the others follow its structure.

The families are `krr`, `unary` (with RAPPOR), `subset_selection`, `matrix_design`, `surveys` and
`samples`; `base` has their base class, `optimal_matrices` makes matrices for
a question, and `number_design` has numbers between bounds.
Statistics use only a mechanism's `channel`, in the form of `channel` or `matrix_channel`.
`epsilon` converts probabilities, rounded towards privacy, and `deployments` has the epsilon of
known ones; `documents` reads JSON strictly, and `serialization` that of mechanisms.  `plans` has
the mechanisms of a frame's plan, `plan_tables` those of a table of its columns, and `frame_plans`
the plan itself; `records` has the records of privatized columns, `row_privacy` the epsilon of a
row, and `attrs` the records in frames of pandas.  `surveys` is the catalogue of survey designs;
`survey_design` has their class and its JSON, `survey_builder` makes their matrices, and `decks` has
cards that are dealt without replacement.
`instantaneous_round` draws RAPPOR's reports of one wave.  Public: the list below, `rr.surveys`,
`rr.planning.FramePlan`, and in `rr.privacy` the conversions of `epsilon` and `deployments`.
docs/contributing.md lists what a new mechanism needs.
"""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.mechanisms.base import Chain as Chain  # unlisted: made by `again=True`
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.instantaneous_round import instantaneous
from rrstats.mechanisms.krr import KRR, two_rounds
from rrstats.mechanisms.matrix_design import MatrixDesign
from rrstats.mechanisms.samples import Samples
from rrstats.mechanisms.serialization import from_dict as from_dict  # unlisted: Mechanism has it
from rrstats.mechanisms.subset_selection import SubsetSelection
from rrstats.mechanisms.survey_design import SurveyDesign as SurveyDesign  # unlisted: of samples
from rrstats.mechanisms.unary import Rappor, UnaryEncoding

__all__ = [
    "KRR",
    "MatrixDesign",
    "Mechanism",
    "Rappor",
    "Samples",
    "SubsetSelection",
    "UnaryEncoding",
    "instantaneous",
    "two_rounds",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
