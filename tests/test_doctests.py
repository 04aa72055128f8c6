"""Every example in a docstring gives what it shows."""

import doctest
import importlib
from pathlib import Path

import pytest

import rrstats

PACKAGE = Path(rrstats.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    """The examples of this module run and print what is written."""
    needing_arrow = (
        "rrstats.files",
        "rrstats.accessor",
        "rrstats.data.compact",
        "rrstats.data.arrow_",
    )
    if name.startswith(needing_arrow):  # frames are saved in some
        pytest.importorskip("pyarrow")
    if name.startswith("rrstats.engines."):
        pytest.importorskip("pyarrow")
        engine = name.rpartition(".")[2].partition("_")[0]
        pytest.importorskip({"spark": "pyspark"}.get(engine, engine))
    if name == "rrstats.randomness.keyed":
        pytest.importorskip("cryptography")
    if name == "rrstats.plots":
        pytest.importorskip("matplotlib")
    if name.startswith("rrstats.regression."):
        pytest.importorskip("formulaic")
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


def test_public_functions_have_an_example():
    """Each public function and class of the top level shows one example."""
    without = [
        name
        for name in set(rrstats.__all__) - {"files"}  # a module, imported where it is used
        if callable(getattr(rrstats, name))
        and not isinstance(getattr(rrstats, name), type)
        and ">>>" not in (getattr(rrstats, name).__doc__ or "")
    ]
    assert without == []
