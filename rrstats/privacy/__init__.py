"""The privacy of one person: what an epsilon means, and what several releases spend together.

`epsilon_from_prob` and its inverse (`probabilities`) are rounded towards privacy (`outward`);
`explain` says in plain words what an epsilon means; `compose` adds up all reports of one
person: the plain sum, and the exact curve of epsilon and delta (`losses`, `convolving`).
"""

from __future__ import annotations

from rrstats._checks import check_epsilon, check_k, check_number, check_prob
from rrstats.mechanisms.epsilon import (
    epsilon_from_prob,
    epsilon_from_ratio,
    largest_epsilon,
    noise_parameter_from_prob,
    prob_from_epsilon,
    prob_from_noise_parameter,
    prob_from_uniform_draw,
    round_up,
    total_epsilon,
    uniform_draw_from_prob,
)
from rrstats.privacy.composing import Composition, Release, compose
from rrstats.privacy.explaining import explain, posterior
from rrstats.privacy.persons import check_rows_per_person
from rrstats.privacy.privacy_loss import PrivacyLoss

__all__ = [
    "Composition",
    "PrivacyLoss",
    "Release",
    "check_epsilon",
    "check_k",
    "check_number",
    "check_prob",
    "check_rows_per_person",
    "compose",
    "epsilon_from_prob",
    "epsilon_from_ratio",
    "explain",
    "largest_epsilon",
    "noise_parameter_from_prob",
    "posterior",
    "prob_from_epsilon",
    "prob_from_noise_parameter",
    "prob_from_uniform_draw",
    "round_up",
    "total_epsilon",
    "uniform_draw_from_prob",
]
