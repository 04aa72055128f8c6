"""Names of array types that annotations share, and signatures that functions share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

Call = TypeVar("Call", bound=Callable[..., Any])


def options_of(function: Callable[..., Any], *hidden: str) -> Callable[[Call], Call]:
    """Show a function's keyword arguments in the place of another's ``**options``."""

    def shown(call: Call) -> Call:
        own = list(inspect.signature(call).parameters.values())[:-1]
        known = {*hidden, *(one.name for one in own)}
        told = inspect.signature(function).parameters.values()
        added = [one for one in told if one.kind is one.KEYWORD_ONLY and one.name not in known]
        vars(call)["__signature__"] = inspect.Signature([*own, *added])
        return call

    return shown
