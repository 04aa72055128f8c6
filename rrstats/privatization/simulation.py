"""Simulation, for teaching and tests: reproducible noise that must never be released.

NumPy's generators are not cryptographic: a seed that can be guessed, or enough of their output,
gives every true answer back.  Simulated reports are marked ``simulated`` in their metadata; the
seed is never stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from rrstats.errors import ArgumentTypeError, SimulationWarning
from rrstats.privatization.frame import privatize, privatize_frame
from rrstats.randomness.sources import seeded

__all__ = ["simulate", "simulate_frame"]


def simulate(
    values: Any, categories: Any, prob: float | None = None, *, seed: int, **options: Any
) -> Any:
    """`privatize` with reproducible noise, for teaching and tests.  Never release the result.

    seed : an integer of at least 0; it is not stored.  The other arguments are those of
        `privatize`, without rng.  A Series or
    frame says in its metadata that it is simulated; a list or an array cannot.
    Raises ArgumentTypeError or ArgumentValueError for a bad seed, else as `privatize`.

    >>> simulate(["yes", "no", "yes", "no"], ["yes", "no"], 0.75, seed=1)
    ['no', 'yes', 'no', 'no']
    """
    rng = _generator(seed, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return privatize(values, categories, prob, rng=rng, **options)


def simulate_frame(
    data: pd.DataFrame, columns: Mapping[Hashable, Any], *, seed: int, **options: Any
) -> pd.DataFrame:
    """`privatize_frame` with reproducible noise, for teaching and tests.  Never release the result.

    data, columns, options : as for `privatize_frame`, without rng.
    seed : an integer of at least 0; it is not stored.
    Returns a new frame, marked as simulated.  Raises as `simulate`.

    >>> import rrstats as rr
    >>> df = pd.DataFrame({"smoker": ["yes", "no", "yes", "no"]})
    >>> out = simulate_frame(df, {"smoker": rr.KRR(["yes", "no"], 0.75)}, seed=1)
    >>> rr.metadata.find(out.attrs, "smoker").simulated
    True
    """
    rng = _generator(seed, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return privatize_frame(data, columns, rng=rng, **options)


def _generator(seed: Any, options: dict[str, Any]) -> Any:
    if "rng" in options:
        raise ArgumentTypeError("simulate takes a seed, not rng")
    return seeded(seed)
