"""Privacy of one person: the meaning of an epsilon, pages for the field, and sums of releases.

`explain` says in plain words what an epsilon means (in `explanation`), `methods` writes the
paragraph for a paper (in `methods`, its words in `methods.toml`), and `instructions` writes
the page for using a design by hand, with dice and cards (in `fieldwork`, its words in
`fieldwork.toml`, what respondents hear about protection in `assurance`).  `compose` adds up all
reports of one person: columns, waves and rows (in `composition`).  The distribution of the privacy
loss of one report is in `loss_distribution`, the delta of many reports at an epsilon in
`delta_curve`.  Epsilon and its inverse are those of `rrstats.mechanisms.epsilon`, the epsilon of
known deployments is in `rrstats.mechanisms.deployments`, and `posterior` is what one report says
about its respondent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.estimation.estimates.posterior import posterior
from rrstats.mechanisms.deployments import deployments
from rrstats.mechanisms.epsilon import epsilon_from_prob, prob_from_epsilon
from rrstats.privacy.composition import Composition as Composition
from rrstats.privacy.composition import Release as Release
from rrstats.privacy.composition import compose
from rrstats.privacy.explanation import explain
from rrstats.privacy.fieldwork import Draw as Draw
from rrstats.privacy.fieldwork import Instructions as Instructions
from rrstats.privacy.fieldwork import instructions
from rrstats.privacy.loss_distribution import PrivacyLoss as PrivacyLoss
from rrstats.privacy.methods import methods

__all__ = [
    "compose",
    "deployments",
    "epsilon_from_prob",
    "explain",
    "instructions",
    "methods",
    "posterior",
    "prob_from_epsilon",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
