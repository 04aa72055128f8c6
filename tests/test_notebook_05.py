"""The notebook at scale is stored as it ran, on all engines, and its page names what is there.

It starts engines, so here it runs without any; `jupyter execute notebooks/05_at_scale.ipynb` runs
all of it.
"""

import ast
import importlib
import importlib.util
import inspect
import re
import shutil
from pathlib import Path

import pytest
from stored_notebook import Notebook

NOTEBOOK = Notebook("05_at_scale.ipynb")
GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide"
PAGES = GUIDE / "engines.md", GUIDE / "keyed_reports.md"

ENGINES = {"pandas": "df", "Polars": "lf", "Dask": "ddf", "Spark": "sdf"}
LAZY = ("Polars", "Dask", "Spark")

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists, reason="the tests were copied away from the notebooks"
)


def _shown():
    """All that is printed, and the texts of results."""
    texts = [out.get("text") or out["data"]["text/plain"] for out in NOTEBOOK.outputs()]
    return "\n".join("".join(text) for text in texts)


def test_it_is_stored_executed_and_clean():
    """Outputs are there, in order, without errors, warnings or machine paths."""
    NOTEBOOK.check_it_is_clean()
    assert [] == NOTEBOOK.pictures()


def test_it_is_stored_as_it_ran_on_all_engines():
    """No engine was left out, all counted alike, and all keyed reports were those of pandas."""
    shown = _shown()
    assert "left out" not in shown
    for name in ENGINES:
        assert re.search(rf"^reports on {name}: never [\d,]+, once [\d,]+, often", shown, re.M)
        assert re.search(rf"^{name} +200,000 reports, counted alike$", shown, re.M)
    agreed = re.findall(r"^(\w+), .* reports as on pandas$", shown, re.M)
    assert ["pandas", *["Polars"] * 3, *["Dask"] * 3, *["Spark"] * 3] == agreed


@pytest.mark.slow
def test_without_an_engine_it_says_so_and_goes_on(monkeypatch, tmp_path):
    """Every cell runs without a warning on pandas alone, with its assertions."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("matplotlib")
    find = importlib.util.find_spec
    absent = {"polars", "distributed", "pyspark"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: name not in absent and find(name, *more)
    )
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.chdir(tmp_path)
    printed = []
    monkeypatch.setattr(
        "builtins.print", lambda *words, **_: printed.append(" ".join(map(str, words)))
    )
    NOTEBOOK.check_it_runs()
    assert Path.cwd() == tmp_path
    left_out = [line for line in printed if "left out" in line]
    assert [1, 2, 2] == [sum(line.startswith(name) for line in left_out) for name in LAZY]
    assert "Spark is left out here: it needs pyspark, Java" in left_out


@pytest.mark.parametrize(("name", "frame"), ENGINES.items())
def test_the_five_lines_are_the_same(name, frame):
    """Released and opened by the engine's own names; then the same three calls, word for word."""
    (source,) = [
        "".join(cell["source"])
        for cell in NOTEBOOK.cells("code")
        if f'compare("{name}"' in "".join(cell["source"])
    ]
    lines = [line.strip() for line in source.splitlines()]
    start = next(place for place, line in enumerate(lines) if line.startswith(f"{frame} = "))
    assert re.search(r"(privatize_file|sink_privatized|privatize_parquet)\(", lines[start - 1])
    assert [
        f'tally = rr.tally({frame}, m, columns="drove")',
        f'districts = rr.estimate({frame}, m, columns="drove", by="district", target="rows")',
        f'table = rr.crosstab({frame}, "district", "drove", mechanisms={{"drove": m}}, '
        'target="rows")',
    ] == lines[start + 1 : start + 4]


def test_lazy_engines_refuse_fresh_noise_and_name_their_sinks():
    """The refusals are shown, and so is the ledger's; the key never."""
    shown = _shown()
    for name, sink in (
        ("Dask", "rrstats.engines.dask.privatize_parquet"),
        ("Polars", "rrstats.engines.polars.sink_privatized"),
        ("Spark", "rrstats.engines.spark.privatize_parquet"),
    ):
        (said,) = re.findall(rf"^{name}: +a lazy.*", shown, re.M)
        assert sink in said
    assert "was released once before" in shown
    assert "<secret key of 32 bytes>" in shown


def test_every_claim_is_asserted():
    """Near the truth, counted alike, averaged away, identical when keyed, and its price."""
    asserted = "\n".join(NOTEBOOK.asserted())
    for held in (
        "7 * found.std_error",
        'counted["pandas"]',
        "right > 0.95",
        "found.tolist() == expected",
        "not differs[~changed].any()",
        "differs[changed].mean() >",
    ):
        assert held in asserted


# -- the guide's page on engines -----------------------------------------------------------


def test_the_page_calls_what_spark_has():
    """Its blocks for Spark, which the site's build cannot run, call what takes those arguments."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("pyspark")
    spark = importlib.import_module("rrstats.engines.spark")
    seen = set()
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("rrs."):
                    named = {word.arg: None for word in node.keywords}
                    name = node.func.attr
                    inspect.signature(getattr(spark, name)).bind(*node.args, **named)
                    seen.add(name)
    assert {"privatize_parquet", "privatize"} == seen
