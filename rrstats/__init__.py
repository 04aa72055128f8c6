"""rrstats: randomized response for sensitive categorical answers.

Privatize a column under local differential privacy, exactly and securely, and estimate the
true proportions from the reports with confidence intervals.

    import rrstats as rr

    reports = rr.privatize(answers, ["never", "once", "often"], 0.75)
    est = rr.estimate(reports, ["never", "once", "often"], 0.75)
    est.interval(0.95)

In pandas: ``df.rr.privatize("answer", ["never", "once", "often"], 0.75)``; see ``help(df.rr)``.
For files of any size: ``rr.files.privatize_file`` (needs pyarrow), or the command ``rrstats``.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pandas as pd


def _public() -> dict[str, tuple[str, str]]:
    """The module and inner name of each public name, as the stub beside this file lists them."""
    places: dict[str, tuple[str, str]] = {}
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            places |= {str(a.asname): (str(node.module), a.name) for a in node.names}
        elif isinstance(node, ast.Assign):
            places[ast.unparse(node.targets[0])] = places[ast.unparse(node.value)]
    return {name: place for name, place in places.items() if name[0] != "_" or name[1] == "_"}


_PUBLIC = _public()
__all__ = sorted(name for name in _PUBLIC if name[0] != "_")  # type checkers read the stub


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used; `rr.files` also needs pyarrow."""
    if name not in _PUBLIC:
        names = importlib.import_module("rrstats._names")
        raise AttributeError(names.missing_attribute("rrstats", name, __all__))
    module, inner = _PUBLIC[name]
    package = importlib.import_module(module)
    if inner not in vars(package):
        importlib.import_module(f"{module}.{inner}")
    public_object = vars(package)[inner]
    globals()[name] = public_object
    return public_object


def __dir__() -> list[str]:
    return __all__


@pd.api.extensions.register_dataframe_accessor("rr")
@pd.api.extensions.register_series_accessor("rr")
def _accessor(data: pd.DataFrame | pd.Series[Any]) -> Any:
    """Put the real ``df.rr`` and ``s.rr`` in place of this when one of them is first used."""
    for kind, name in ((pd.DataFrame, "FrameAccessor"), (pd.Series, "SeriesAccessor")):
        # Replaced at once: no thread finds a frame without an accessor.
        kind.rr = type(vars(kind)["rr"])("rr", __getattr__(name))
    return data.rr
