"""The package starts light, names what is public, and asks no mechanism for its type."""

import ast
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import rrstats

PACKAGE = Path(rrstats.__file__).parent

FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.fixture(scope="module")
def trees():
    """The syntax of every module, parsed once for all tests."""
    return {path: ast.parse(path.read_text("utf-8")) for path in FILES}


def test_import_loads_no_optional_package():
    """`import rrstats` stays light: no plots, no Arrow of its own, no special functions, no AES."""
    code = (
        "import sys, pandas; before = set(sys.modules); import rrstats;"
        "print(sorted({m for m in set(sys.modules) - before}"
        " & {'matplotlib', 'pyarrow', 'scipy.special', 'scipy.stats', 'cryptography', 'tqdm'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_loads_no_room():
    """Names are imported where they are first used, and so are ``df.rr`` and ``s.rr``."""
    code = (
        "import sys, pandas as pd, rrstats;"
        "print(sorted(m for m in sys.modules if m.startswith('rrstats')));"
        "print(type(pd.DataFrame().rr).__name__);"
        "print(type(pd.Series(['a']).rr).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['rrstats']", "FrameAccessor", "SeriesAccessor"]


def test_places_of_public_names_are_those_of_the_stub():
    """Type checkers read the stub, Python the table: they name the same objects."""
    places = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            places |= {each.asname: (node.module, each.name) for each in node.names}
        elif isinstance(node, ast.Assign):
            places[ast.unparse(node.targets[0])] = places[ast.unparse(node.value)]
    private = {name for name in places if name[0] == "_" and name != "__version__"}
    assert places.keys() - private == rrstats._PLACES.keys()
    for name, place in rrstats._PLACES.items():
        module, inner = places[name]
        assert place in (f"{module}:{inner}", f"{module}.{inner}"), name


def test_the_top_fits_a_screen():
    """Verbs, the few things that people build, and modules: each new name is a decision."""
    listed = """
        privatize simulate check tally estimate crosstab means quantiles difference correlations
        linear logit audit explain KRR MatrixDesign SampleDesign Tally number mechanisms surveys
        planning hypotheses regression privacy files client datasets estimators errors
    """
    assert sorted(listed.split()) == dir(rrstats)


def test_no_constant_is_written_twice_in_a_module(trees):
    """The second one would replace the first, also where the first is meant."""
    twice = []
    for file, tree in trees.items():
        assigned = [
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        twice += [(file.name, name) for name in {*assigned} if assigned.count(name) > 1]
    assert [] == twice


def test_completion_shows_public_names_alone(pa):
    """``rr.<Tab>`` and that of every public module list what is public, and no import."""
    found = [getattr(rrstats, name) for name in rrstats.__all__]
    modules = [rrstats, *(one for one in found if isinstance(one, types.ModuleType))]
    assert len(modules) > 10
    for engine, package in (("dask", "dask"), ("polars", "polars"), ("spark", "pyspark")):
        if importlib.util.find_spec(package):
            modules.append(importlib.import_module(f"rrstats.engines.{engine}"))
    for module in modules:
        assert sorted(module.__all__) == dir(module), module.__name__
        assert "check_" not in " ".join(module.__all__).replace("check_file", "")


def test_public_names_are_documented(pa):
    """Each public name exists and says what it is."""
    names = set(rrstats.__all__) - {"__version__"}
    assert [] == [name for name in names if not getattr(rrstats, name).__doc__]


def test_docstring_of_a_package_names_its_modules(trees):
    """A reader who looks for code reads which module holds it, also of modules added later."""
    packages = sorted(PACKAGE.glob("*/__init__.py"))
    assert len(packages) > 10
    for package in packages:
        words = re.findall(r"\w+", ast.get_docstring(trees[package]))
        modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__"}
        assert sorted(modules - set(words)) == [], package.parent.name


def test_each_door_aligns_its_columns_once(trees):
    """Rows go by position where nobody compares an index: five doors do, each in one place."""
    calls = [
        path.relative_to(PACKAGE).as_posix()
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "aligned"
    ]
    assert sorted(calls) == [
        "estimation/report_columns/report_columns.py",
        "estimation/report_columns/sample_design.py",
        "privatization/column.py",
        "privatization/frame.py",
        "regression/design_matrix.py",
    ]


def test_only_design_columns_know_the_words_of_surveys():
    """The floor below, columns that are private or ordinary, serves samples of any design."""
    room = PACKAGE / "estimation" / "report_columns"
    below = [room / f"{name}.py" for name in ("report_columns", "report_frames", "engine_frames")]
    words = re.compile("(?i)weight|strat(a|um)|cluster|replicate")
    for file in [*below, *(PACKAGE / "data").glob("*.py")]:
        assert words.findall(file.read_text("utf-8")) == [], file.name
    assert words.search((room / "sample_design.py").read_text("utf-8"))


def test_no_mechanism_is_asked_for_its_type(trees):
    """Who needs to know asks the channel: no module tests for a class of mechanisms.

    The classes are read from the code, with those that are not public.
    """
    bases, questions = {}, []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                questions.append((path.name, asked))
    described, count = {"Mechanism"}, 0
    while count < len(described):
        count = len(described)
        described |= {name for name, parents in bases.items() if parents & described}
    assert {"KRR", "Samples", "SurveyDesign"} < described
    described.remove("Mechanism")
    assert len(questions) > 100
    for name, asked in questions:
        assert not asked & described, name


def test_no_requirement_names_a_distribution_of_somebody_else():
    """On the public index ``rrstats`` is another project: ours is ``randomized-response``."""
    found = importlib.metadata.metadata("randomized-response")
    assert rrstats.__version__ == found["Version"]
    named = found.get_all("Requires-Dist")
    assert named
    assert [] == [line for line in named if line.lower().startswith("rrstats")]
