"""The notebook of planning runs, is stored as it ran, and its plan holds."""

import pytest
from stored_notebook import Notebook

NOTEBOOK = Notebook("04_planning.ipynb")

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists, reason="the tests were copied away from the notebooks"
)


def test_every_cell_runs_without_a_warning():
    """From top to bottom, with its assertions; only the pictures' fonts may be others."""
    pytest.importorskip("matplotlib")
    NOTEBOOK.check_it_runs()


def test_it_is_stored_executed_and_clean():
    """Outputs are there, in order, without errors, warnings or machine paths."""
    NOTEBOOK.check_it_is_clean()


def test_its_pictures_are_small():
    """Pictures are stored with few colours: all of them in less than 100 kB."""
    NOTEBOOK.check_its_pictures_are_small(100_000)


def test_it_answers_the_four_questions():
    """Which epsilon, how many people, which design, is it worth it: each with an assertion."""
    headings = [
        line
        for cell in NOTEBOOK.cells("markdown")
        for line in "".join(cell["source"]).splitlines()
        if line.startswith("## ")
    ]
    for heading in ("Which epsilon?", "How many people?", "Which design?", "Is it worth it?"):
        assert f"## {heading}" in headings
    asserted = "\n".join(NOTEBOOK.asserted())
    for name in ("half_width(", "least", "people(", "power(", "epsilon <= 1", "0.7903", "holds"):
        assert name in asserted
    assert "simulated" in "".join(NOTEBOOK.cells("markdown")[0]["source"])
    assert ".privatize(" not in NOTEBOOK.source
