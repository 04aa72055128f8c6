"""The other libraries, each as a function from one code to one report, where installed.

All have k-ary randomized response as a call for one value.  OpenDP is exact and secure;
diffprivlib draws from a secure generator; the others do not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.measuring import PROB

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Rival:
    """A library's call for one value, and the values it takes for codes 0 .. k-1.

    ``values[code]`` goes in; ``codes[report]`` is what came out.
    """

    call: Call
    values: list[Any]
    codes: dict[Any, int]


def _epsilon(k: int) -> float:
    return math.log(PROB * (k - 1) / (1 - PROB))


def opendp(k: int) -> Rival:
    """OpenDP's measurement over strings."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    labels = [f"c{code:05d}" for code in range(k)]
    measurement = dp.m.make_randomized_response(labels, prob=PROB)
    return Rival(measurement, labels, {label: code for code, label in enumerate(labels)})


def pure_ldp(k: int) -> Rival:
    """pure-ldp's direct encoding: 1 .. k go in, 0 .. k-1 come out."""
    from pure_ldp.frequency_oracles import DEClient

    client = DEClient(epsilon=_epsilon(k), d=k)
    return Rival(client.privatise, list(range(1, k + 1)), {code: code for code in range(k)})


def multi_freq_ldpy(k: int) -> Rival:
    """multi-freq-ldpy's GRR, which numba compiles at its first call."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    epsilon = _epsilon(k)
    codes = list(range(k))
    return Rival(lambda code: GRR_Client(code, k, epsilon), codes, {code: code for code in codes})


def diffprivlib(k: int) -> Rival:
    """The Binary of diffprivlib; for more answers its exponential mechanism over a flat tree."""
    from diffprivlib.mechanisms import Binary, ExponentialHierarchical

    labels = [f"c{code:05d}" for code in range(k)]
    if k == 2:
        mechanism = Binary(epsilon=_epsilon(k), value0=labels[0], value1=labels[1])
    else:
        mechanism = ExponentialHierarchical(epsilon=_epsilon(k), hierarchy=labels)
    return Rival(mechanism.randomise, labels, {label: code for code, label in enumerate(labels)})


RIVALS: dict[str, Callable[[int], Rival]] = {
    "opendp": opendp,
    "pure-ldp": pure_ldp,
    "multi-freq-ldpy": multi_freq_ldpy,
    "diffprivlib": diffprivlib,
}

NAMES = {"opendp": "OpenDP"}

NOT_INSTALLED = 'not installed (in a clone: pip install ".[rivals]")'


def find(name: str, k: int) -> Rival | str:
    """The library's call over k categories, or why there is none, in a few words."""
    if find_spec(name.replace("-", "_")) is None:
        return NOT_INSTALLED
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RIVALS[name](k)
    except Exception as error:  # whatever another package does where it does not fit the others
        return f"does not load here: {type(error).__name__}: {error}"[:70]
