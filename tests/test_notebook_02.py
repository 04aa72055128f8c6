"""The notebook of survey designs has its parts, and keeps its published numbers."""

import re

import pytest
from stored_notebook import Notebook

NOTEBOOK = Notebook("02_survey_designs.ipynb")

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists, reason="the tests were copied away from the notebooks"
)


def test_it_checks_the_published_numbers():
    """Two-coin survey, RRreg's lie detector, RAPPOR's epsilons and the border are asserted."""
    asserted = NOTEBOOK.asserted()
    assert len(asserted) >= 15
    for number in (
        "2 * yes / 50_000 - 0.5",
        "0.8706954864100357",
        "0.04111840737438816",
        "0.6358063927585619",
        "0.01734368110422092",
        "4.394",
        "1.0743",
        "34.113",
        "0.0804",
    ):
        assert any(number in line for line in asserted), number


def test_it_says_that_its_data_are_simulated():
    """The first cell says so, and nothing in it is privatized with a seed."""
    assert "simulated" in "".join(NOTEBOOK.cells("markdown")[0]["source"])
    assert not re.search(r"^[^#\n]*\.privatize\(", NOTEBOOK.source, re.M)
