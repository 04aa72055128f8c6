"""The notebooks run, and are stored as they ran; what each says has a test file of its own."""

import pytest
from stored_notebook import Notebook

# The most bytes of all pictures together.
NOTEBOOKS = {
    "01_randomized_response.ipynb": 150_000,
    "02_survey_designs.ipynb": 200_000,
    "03_analysis.ipynb": 100_000,
    "04_planning.ipynb": 100_000,
}


@pytest.fixture(params=NOTEBOOKS)
def notebook(request):
    found = Notebook(request.param)
    if not found.exists:
        pytest.skip("the tests were copied away from the notebooks")
    return found


@pytest.mark.slow
def test_every_cell_runs_without_a_warning(notebook):
    """From top to bottom, with its assertions; only the pictures' fonts may be others."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("formulaic")
    notebook.check_it_runs()


def test_it_is_stored_executed_and_clean(notebook):
    """Outputs are there, in order, without errors or machine paths; pictures are small."""
    notebook.check_it_is_clean()
    notebook.check_its_pictures_are_small(NOTEBOOKS[notebook.path.name])
