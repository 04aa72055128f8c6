"""The notebook of an analyst's day has its parts, and stands beside the truth."""

import pytest
from stored_notebook import Notebook

NOTEBOOK = Notebook("03_analysis.ipynb")

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists, reason="the tests were copied away from the notebooks"
)


def test_it_goes_through_an_analysts_day():
    """Each step has its heading, in order; every estimate of it is held beside the truth."""
    headings = [
        line.removeprefix("## ")
        for cell in NOTEBOOK.cells("markdown")
        for line in "".join(cell["source"]).splitlines()
        if line.startswith("## ")
    ]
    steps = [
        "What came in",
        "Shares in groups",
        "The difference of two groups",
        "Means of a number in privatized groups",
        "People who did not answer",
        "Weights and clusters",
        "A table of three columns",
        "What the noise leaves",
        "Do two answers go together?",
        "A regression of a privatized vote",
        "A privatized covariate",
        "Was that luck?",
    ]
    assert steps == headings
    assert NOTEBOOK.source.count("beside(") >= 11
    for call in (
        *(".rr.estimate(", ".plot(truth=", "rr.difference(", ".rr.means(", ".share_among("),
        *("weights=", "clusters=", ".rr.crosstab(", ".effective_size", "rr.phi("),
        *("rr.odds_ratio(", "hypotheses.independence(", ".rr.logit(", "surveys.direct("),
        *(".prevalence()", ".marginal_effects()", ".posterior()", ".rr.linear("),
    ):
        assert call in NOTEBOOK.source, call


def test_the_numbers_of_its_text_are_asserted():
    """Those of which the text speaks: misses, effective numbers, coefficients, releases."""
    asserted = "\n".join(NOTEBOOK.asserted())
    assert len(NOTEBOOK.asserted()) >= 30
    for number in (
        *("20_190", "944", "302", "0.11", "[20.1, 16.6, 1.2, -2.3]", "[3.2, 6.0]", "5.8"),
        *("[0.37, 0.42]", "59", "[2749, 23, 324]", "933", "[27, 43]", "[0.2, 2.3, 2.0]", "192"),
    ):
        assert number in asserted, number
    assert "held.all()" in asserted


def test_it_says_that_its_noise_is_simulated_and_what_is_made_up():
    """The first cell says so; nothing is privatized with a seed; made-up columns are named so."""
    assert "the noise is simulated" in "".join(NOTEBOOK.cells("markdown")[0]["source"])
    assert ".privatize(" not in NOTEBOOK.source
    assert NOTEBOOK.source.count("# made up") == 3
