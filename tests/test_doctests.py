"""Every example in a docstring gives what it shows."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest
from test_names import public_methods

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


INNER = [
    *("check_new", "in_record", "asking", "labels_asking", "question", "questions"),
    *("cells", "count", "join", "pack", "unpack", "randomize", "randomize_kept", "showing"),
    *("replication", "with_columns", "without_rows"),
]
"""Methods that other parts of the package call."""

ABSTRACT = {"Result.interpret", "Result.to_frame", "_Several.interpret", "ListResult.posterior"}
"""Methods that results write, or refuse."""


def test_public_methods_have_an_example():
    """Each method that a user calls shows one, but pictures, which need matplotlib."""
    without = {
        method.__qualname__
        for method in public_methods().values()
        if ">>>" not in (inspect.getdoc(method) or "")
        and method.__name__ not in [*INNER, "plot", "plot_scale"]
    }
    assert without - ABSTRACT == set()
