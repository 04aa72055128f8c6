"""The notebook of planning has its parts, and its plan holds."""

import pytest
from stored_notebook import Notebook

NOTEBOOK = Notebook("04_planning.ipynb")

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists, reason="the tests were copied away from the notebooks"
)


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
