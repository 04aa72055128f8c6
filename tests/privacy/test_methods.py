"""`rr.privacy.methods`: a paragraph has the numbers of the design, and cites its literature."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES

import rrstats as rr
from rrstats import surveys
from rrstats.privacy import instructions, methods
from rrstats.privacy.fieldwork import examples
from rrstats.privacy.methods import _data

TOP = Path(__file__).parents[2]
QUESTION = "Have you ever cheated?"


@pytest.mark.parametrize("name", examples())
def test_every_survey_design_has_a_paragraph_of_its_own(name):
    """Its numbers, its source, epsilon in words, and no sentence for designs without a name."""
    design = examples()[name]
    paragraph = methods(design, QUESTION)
    text = paragraph.removesuffix(paragraph.bibtex)
    assert QUESTION in text
    assert rr.explain(design) in text
    assert "given by its matrix" not in text
    assert "{" not in text
    groups = design.groups or ()
    assert all(f"In sample {group}: " in text for group in groups)
    is_private = design.epsilon < np.inf
    assert ("is locally differentially private" in text) == is_private
    keys = re.findall(r"^@\w+\{(\w+),$", paragraph.bibtex, re.M)
    assert len(keys) == len(set(keys))
    assert keys[-1] == "rrstats"
    assert len(keys) >= 2 + is_private or name == "direct"
    cited = [_data().references[key]["cited"] for key in keys[:-1]]
    assert all(work in text for work in cited)


def test_items_of_a_list_are_a_count():
    """The number of statements is no probability."""
    assert "read a list of 3 statements" in methods(surveys.list_experiment(3))


@pytest.mark.parametrize(
    ("draws", "words"), [(1, "draw a card from a stack"), (2, "draw 2 cards from a stack")]
)
def test_one_card_is_a_card(draws, words):
    """The number of cards agrees with its noun."""
    assert words in methods(surveys.kuk(["no", "yes"], 0.7, 0.2, draws, yes="yes"))


def test_one_statement_is_a_statement():
    """The number of statements agrees with its noun, in the paragraph and on the page."""
    design = surveys.list_experiment(1)
    text = str(methods(design))
    assert "a list of 1 statement and say" in text
    assert "besides the 1 other." in text
    for sample in design.groups:
        assert "1 statements" not in str(instructions(design, QUESTION, group=sample))


def test_a_sum_says_the_rates_of_its_items():
    """The design of one item is known by its two rates, also from a document."""
    design = surveys.sum_of(surveys.forced_response([0, 1], 2 / 3, [1 / 6, 1 / 6]), 3)
    again = rr.mechanisms.from_dict(design.to_dict())
    for mechanism in (design, again):
        text = methods(mechanism)
        assert "Each of 3 questions" in text
        assert "with probability 83.33% and others with probability 16.67%" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_mechanism_has_a_paragraph(name):
    """All forms of channel have a formula, also those that carry no information."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        design = EXAMPLES[name]()
    paragraph = methods(design)
    text = paragraph.removesuffix(paragraph.bibtex)
    assert rr.explain(design) in text
    formulas = ("estimated without bias", "is estimated by its", "do not determine")
    assert sum(text.count(formula) for formula in formulas) == 1
    assert paragraph.endswith(f"\n\n{paragraph.bibtex}")


@pytest.mark.parametrize(
    "design",
    [
        surveys.warner(["no", "yes"], 0.7, yes="yes"),
        surveys.crosswise(["yes", "no"], 0.25, yes="yes"),
        surveys.triangular(["no", "yes"], 0.25, yes="yes"),
        rr.KRR(["a", "b", "c"], 0.5),
        rr.mechanisms.UnaryEncoding.symmetric(["a", "b", "c"], 0.75),
    ],
)
def test_the_formula_is_that_of_the_estimate(design):
    """The numbers of the sentence, used by hand, give the estimate of `rr.estimate`."""
    text = methods(design)
    numbers = re.search(r"reported proportion - ([\d.]+)\) / (\S+)( - [\d.]+\))?", text)
    base = float(numbers[1])
    slope = float(numbers[2].strip("().")) if not numbers[3] else float(numbers[2][1:]) - base
    if "/ (-" in text:
        assert slope < 0
    channel = design.channel
    rates = np.zeros(len(channel.samples)) + 0.5
    rates[:2] = [0.35, 0.65]
    expected = channel.solve(rates)
    code = design.asked.code(design.yes) if getattr(design, "yes", None) else 0
    assert (rates[code] - base) / slope == pytest.approx(expected[code], abs=1e-5)


def test_the_references_are_those_of_the_designs():
    """Every source is a reference, and every reference is a source or cited by all."""
    data = _data()
    designs = data.designs.values()
    sources = {key for design in designs for key in design.sources}
    sources |= {key for design in designs for key in design.sources_of_samples}
    assert sources | {"evfimievski2003", "rrstats"} == set(data.references)
    assert {name for name in surveys.__all__ if name in data.designs} >= {"warner", "kuk"}


def test_rrstats_is_cited_as_its_citation_file_says():
    """Title and version of the entry are those of CITATION.cff."""
    file = TOP / "CITATION.cff"
    if not file.exists():
        pytest.skip("the tests were copied away from the documents")
    citation = file.read_text("utf-8")
    entry = methods(rr.KRR(["no", "yes"], 0.75)).bibtex.partition("@software")[2]
    title = re.search(r'^title: "(.*)"$', citation, re.M)[1]
    assert f"title = {{{title}}}" in entry
    assert f"version = {{{rr.__version__}}}" in entry
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == rr.__version__
    author = re.search(r"^authors:\n  - name: (.*)$", citation, re.M)[1]
    assert f"author = {{{{{author}}}}}" in entry


def test_wrong_arguments_are_named():
    """A name in the place of a mechanism, and a question that is no text."""
    with pytest.raises(rr.errors.ArgumentTypeError, match="mechanism must be a mechanism"):
        methods("warner")
    with pytest.raises(rr.errors.ArgumentTypeError, match=r"a released frame, or its df\.rr\.mech"):
        methods({"smokes": rr.KRR(["no", "yes"], 0.75)})
    with pytest.raises(rr.errors.ArgumentTypeError, match="question must be the wording"):
        methods(rr.KRR(["no", "yes"], 0.75), 3)


def test_an_estimate_has_the_paragraph_of_its_mechanism():
    """What was made of reports is explained as the mechanism that made them."""
    mechanism = rr.KRR(["no", "yes"], 0.75)
    estimate = rr.estimate(["no", "yes"] * 20, mechanism)
    assert str(methods(estimate)) == str(methods(mechanism))
    assert str(rr.privacy.explain(estimate)) == str(rr.privacy.explain(mechanism))


def test_a_plan_has_a_paragraph_of_all_its_parts():
    """The coin, the chance of each part, its procedure, and one epsilon for all answers."""
    columns = {"smokes": ["no", "yes"], "drinks": [0, 1, 2]}
    plan = rr.planning.FramePlan(columns, 2, ["smokes", ("smokes", "drinks")], chances=[3, 1])
    text = str(methods(plan, QUESTION))
    assert "picked one of 2 parts" in text
    assert "The part smokes is picked with probability 75%." in text
    assert "The part smokes & drinks is picked with probability 25%." in text
    assert "one of 2 categories" in text
    assert "one of 6 categories" in text
    explained = str(rr.privacy.explain(plan))
    assert explained.startswith("A person reports one of 2 parts of the plan. Epsilon is 2 ")
    assert explained in text


def test_a_frame_has_a_paragraph_of_its_columns_and_the_epsilon_of_a_row():
    """A paper must not state the loss of one column where a person gives three."""
    frame = pd.DataFrame({"smokes": ["no", "yes"] * 20, "income": 5.0, "age": 40})
    frame = rr.privatize(frame, "smokes", ["no", "yes"], epsilon=0.5)
    frame = rr.privatize(frame, "income", rr.number(0, 10), epsilon=1.5)
    paragraph = methods(frame, QUESTION)
    explained = str(rr.explain(frame))
    assert explained.startswith("A row has reports of 2 private columns, which are taken together")
    assert "Epsilon is 2 per report." in explained
    assert explained in paragraph
    assert "Column smokes: Answers were protected by k-ary randomized response" in paragraph
    assert "Column income: Answers were protected by a mechanism for numbers" in paragraph
    assert "Epsilon is 0.5" not in paragraph
    assert "The columns together are locally differentially private" in paragraph
    assert paragraph.bibtex.count("@") == 3


def test_a_frame_of_a_plan_tells_of_its_coin():
    """The columns of a plan count once."""
    plan = rr.planning.plan({"smokes": ["no", "yes"], "drinks": [0, 1, 2]}, 2)
    frame = pd.DataFrame({"smokes": ["no", "yes"] * 20, "drinks": [0, 1] * 20})
    frame = rr.privatize(frame, plan)
    assert "Epsilon is 2 per report." in rr.explain(frame)
    assert "a public coin" in methods(frame)
    estimate = frame.rr.estimate("smokes")
    for counted in (estimate, estimate.tally):
        assert "a public coin, which depends on no answer, picked one of 2 parts" in methods(
            counted
        )


def test_simulated_columns_are_not_called_private():
    """Their epsilon is infinite."""
    frame = pd.DataFrame({"smokes": ["no", "yes"] * 20})
    paragraph = methods(frame.rr.simulate("smokes", ["no", "yes"], 0.75, seed=1))
    assert "not locally differentially private. The privacy of a row is void" in paragraph


def test_decks_have_numbers_of_cards():
    """Also where each block has a deck of its own; the garbled answer is named."""
    garbled = rr.surveys.garbling(["no", "yes"], 0.25, into="no")
    assert '25% of the answers, drawn without replacement, were turned into "no"' in str(
        rr.privacy.methods(garbled)
    )
    dealt = rr.surveys.warner(["no", "yes"], 0.75, yes="yes", deck=8)
    assert "Of the 8 cards of each block 75% show" in str(rr.privacy.methods(dealt))
