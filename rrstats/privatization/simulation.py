"""Simulation, for teaching and tests: reproducible noise that must never be released.

The only module that touches NumPy's generators.  They are not cryptographic: a seed that can
be guessed, or enough of their output, gives every true answer back.  What is made here is
marked ``simulated`` in its metadata; the seed is never stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.errors import ArgumentTypeError, SimulationWarning
from rrstats.privatization.frame import privatize, privatize_frame
from rrstats.randomness.sources import Source, seeded

__all__ = ["simulate", "simulate_frame", "simulated_words"]


class SimulatedWords:
    """Addressed words from a NumPy generator: the same address gives the same words."""

    bits: int | None = None
    secure = False

    def __init__(self, entropy: int) -> None:
        self._entropy = entropy  # from the caller's generator; never shown or stored elsewhere

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Pseudo-random words of this address."""
        seed = np.random.SeedSequence(self._entropy, spawn_key=(stream, block, round))
        size = rows if isinstance(rows, int) else len(rows)
        generator = np.random.Generator(np.random.PCG64DXSM(seed))
        return generator.integers(0, 1 << bits, size=size, dtype=f"uint{bits}", endpoint=False)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError("words cannot be pickled: two copies would share their noise")


def simulated_words(rng: Any) -> Source:
    """Words drawn from a numpy.random.Generator, whose state moves on.

    Raises ArgumentTypeError for anything else.
    """
    if not isinstance(rng, np.random.Generator):
        found = f"the class {rng.__name__}" if isinstance(rng, type) else type(rng).__name__
        raise ArgumentTypeError(
            "rng must be None, an rr.SecureGenerator() or, for teaching, a numpy.random.Generator, "
            f"found {found}; for reproducible teaching use rr.simulate(..., seed=...)"
        )
    return SimulatedWords(int.from_bytes(rng.bytes(32), "little"))


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


def _generator(seed: Any, options: dict[str, Any]) -> np.random.Generator:
    if "rng" in options:
        raise ArgumentTypeError("simulate takes a seed, not rng")
    return seeded(seed)
