"""The map of the package holds: who may import whom, and who may import what when."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rrstats
from rrstats import mechanisms

PACKAGE = Path(rrstats.__file__).parent

# From top to bottom: a module imports only modules above it.
ORDER = [
    "errors",
    "columns",
    "labels",
    "domain",
    "encoding",
    "rooms",
    "containers",
    "identities",
    "randomness",
    "keyed",
    "privacy",
    "likelihood",
    "intervals",
    "general_intervals",
    "channel",
    "matrices",
    "stacks",
    "subsets",
    "mechanisms",
    "metadata",
    "opendp",
    "variables",
    "rows",
    "condensed",
    "cells",
    "tallies",
    "posteriors",
    "column_release",
    "privatizing",
    "client",
    "debiasing",
    "results",
    "combinations",
    "estimates",
    "weighted",
    "groups",
    "group_means",
    "estimators",
    "differences",
    "crosstabs",
    "associations",
    "hypotheses",
    "regression",
    "planning",
    "simulation",
    "auditing",
    "accessor",
    "plots",
    "datasets",
    "pages",
    "statements",
    "files",
    "engines",
    "__init__",
    "cli",
    "__main__",
]

# Conveniences that reach down the list, each inside a function.
DOWNWARD = {
    ("domain", "encoding"): "Domain.encode",
    ("channel", "matrices"): "SupportChannel.then",
    ("mechanisms", "privatizing"): "m.privatize",
    ("mechanisms", "client"): "m.report",
    ("mechanisms", "metadata"): "Rappor.instantaneous",
    ("mechanisms", "posteriors"): "m.posterior",
    ("mechanisms", "tallies"): "m.tally",
    ("mechanisms", "estimators"): "m.estimate",
    ("randomness", "simulation"): "a numpy generator given as rng",
    ("estimates", "plots"): "Estimate.plot",
    ("weighted", "plots"): "SurveyEstimate.plot",
    ("groups", "plots"): "GroupEstimates.plot",
    ("planning", "plots"): "PlanTable.plot",
    ("crosstabs", "plots"): "Crosstab.plot",
    ("differences", "hypotheses"): "Difference.test",
    ("hypotheses", "simulation"): "simulated p-values",
}

HEAVY = {"matplotlib", "pyarrow", "cryptography", "hypothesis", "narwhals", "joblib"}
HEAVY |= {"dask", "distributed", "duckdb", "polars", "pyspark"}


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def _imports(path: Path) -> list[tuple[str, bool]]:
    """(imported module, whether it is imported at the top) of one file, type checking aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for statement in block.body
        for node in ast.walk(statement)
    }
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [node.module or ""]
            if node.module == "rrstats":
                names = [f"rrstats.{alias.name}" for alias in node.names]
        found += [(name, id(node) not in lazy) for name in names]
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_a_place_in_the_order():
    """A new module says where it stands."""
    assert {_module(path) for path in FILES} - set(ORDER) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    """No module imports one below it, but for the few conveniences that are named."""
    here = _module(path)
    for name, at_top in _imports(path):
        root, _, rest = name.partition(".")
        if root != "rrstats":
            continue
        there = rest.partition(".")[0] or "__init__"
        if (PACKAGE / f"{there}.py").exists() or (PACKAGE / there).is_dir():
            if there == here:
                continue
            upward = ORDER.index(there) < ORDER.index(here)
            named = (here, there) in DOWNWARD and not at_top
            assert upward or named, f"{here} imports {there}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_optional_and_heavy_packages_are_imported_where_used(path):
    """At the top of a module stand only numpy, pandas, scipy and the standard library."""
    at_top = {name.partition(".")[0] for name, top in _imports(path) if top}
    # `rr.files` is itself imported where it is used.
    allowed = {"pyarrow"} if _module(path) in ("files", "engines") else set()
    if _module(path) == "engines":
        engine = path.stem.partition("_")[0]  # spark.py and spark_columns.py
        allowed |= {engine, "distributed", "pyspark"} if engine != "polars" else {engine}
    assert (at_top & HEAVY) - allowed == set()


def test_the_rule_catches_a_downward_import(tmp_path):
    """The reader of imports sees imports at the top and inside functions."""
    file = tmp_path / "domain.py"
    file.write_text("import rrstats.cli\ndef f():\n    from rrstats import estimators\n")
    assert _imports(file) == [("rrstats.cli", True), ("rrstats.estimators", False)]


def test_import_loads_no_optional_package():
    """`import rrstats` stays light: no plots, no Arrow of its own, no special functions, no AES."""
    code = (
        "import sys, pandas; before = set(sys.modules); import rrstats;"
        "print(sorted({m for m in set(sys.modules) - before}"
        " & {'matplotlib', 'pyarrow', 'scipy.special', 'scipy.stats', 'cryptography', 'tqdm'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(set(rrstats.__all__) - {"__version__"}))
def test_public_names_are_documented(name):
    """Each public name exists and says what it is."""
    if name == "files":
        pytest.importorskip("pyarrow")
    assert getattr(rrstats, name).__doc__


def test_no_mechanism_is_asked_for_its_type():
    """Who needs to know asks the channel: no module tests for a mechanism's class."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                described = set(mechanisms.__all__) - {"Mechanism"}
                assert not asked & described, path.name
