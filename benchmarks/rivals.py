"""The other libraries, each as a function from one code to one report, where installed.

All have k-ary randomized response as a call for one value.  OpenDP is exact and secure;
diffprivlib draws from a secure generator; the others do not.  Two of them have reports that are
subsets of the categories too, and estimate shares from a list of those.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import PROB

Call = Callable[[Any], Any]

SUBSET_EPSILON = 1.0
"""Nats, of reports that are subsets."""


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

NOT_INSTALLED = "not installed (in a clone: pip install . --group rivals)"


@dataclass(frozen=True)
class SubsetRival:
    """A library's reports that are subsets, and what it estimates from a list of them.

    ``values[code]`` goes in; ``bits`` makes (n, k) booleans of reports, outside the clock.
    """

    call: Call
    values: list[Any]
    bits: Callable[[list[Any]], NDArray[np.bool_]]
    shares: Callable[[list[Any]], Any]


def _vectors(reports: list[Any]) -> NDArray[np.bool_]:
    """Reports that have a 0 or 1 for each category."""
    return np.array(reports) == 1


def pure_ldp_unary(k: int) -> SubsetRival:
    """pure-ldp's optimized unary encoding."""
    from pure_ldp.frequency_oracles import UEClient, UEServer

    client = UEClient(epsilon=SUBSET_EPSILON, d=k, use_oue=True)
    known = range(1, k + 1)

    def shares(reports: list[Any]) -> Any:
        server = UEServer(epsilon=SUBSET_EPSILON, d=k, use_oue=True)
        server.aggregate_all(reports)
        return np.asarray(server.estimate_all(known, suppress_warnings=True)) / len(reports)

    return SubsetRival(client.privatise, list(known), _vectors, shares)


def multi_freq_ldpy_unary(k: int) -> SubsetRival:
    """multi-freq-ldpy's optimized unary encoding."""
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return SubsetRival(
        lambda code: UE_Client(code, k, SUBSET_EPSILON),
        list(range(k)),
        _vectors,
        lambda reports: UE_Aggregator_MI(reports, SUBSET_EPSILON),
    )


def multi_freq_ldpy_selection(k: int) -> SubsetRival:
    """multi-freq-ldpy's subset selection; a report lists the categories that it names."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    def bits(reports: list[Any]) -> NDArray[np.bool_]:
        found = np.zeros((len(reports), k), dtype=np.bool_)
        np.put_along_axis(found, np.array(reports), True, axis=1)
        return found

    return SubsetRival(
        lambda code: SS_Client(code, k, SUBSET_EPSILON),
        list(range(k)),
        bits,
        lambda reports: SS_Aggregator_MI(reports, k, SUBSET_EPSILON),
    )


UNARY_RIVALS: dict[str, Callable[[int], SubsetRival]] = {
    "pure-ldp": pure_ldp_unary,
    "multi-freq-ldpy": multi_freq_ldpy_unary,
}

SELECTION_RIVALS: dict[str, Callable[[int], SubsetRival]] = {
    "multi-freq-ldpy": multi_freq_ldpy_selection,
}


@overload
def find(name: str, k: int) -> Rival | str: ...


@overload
def find(
    name: str, k: int, among: dict[str, Callable[[int], SubsetRival]]
) -> SubsetRival | str: ...


def find(name: str, k: int, among: dict[str, Any] | None = None) -> Any:
    """The library's call over k categories, or why there is none, in a few words."""
    if find_spec(name.replace("-", "_")) is None:
        return NOT_INSTALLED
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (RIVALS if among is None else among)[name](k)
    except Exception as error:  # whatever another package does where it does not fit the others
        return f"does not load here: {type(error).__name__}: {error}"[:70]
