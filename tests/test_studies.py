"""The book of studies: every published number computed again, by two routes.

Counts are facts of the sources that each row names.  A number of the authors is compared to its
last digit, one of another program to the digits that it printed; the second route is the moment
estimator written out in fractions, which shares no code with the package.
"""

import dataclasses
import json
import subprocess
import sys
import tomllib
from decimal import Decimal
from fractions import Fraction
from importlib import resources

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.datasets import book
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.serialization import from_dict

QUESTIONS = book.questions()
PUBLISHED = [name for name, each in QUESTIONS.items() if each.published is not None]
RECOMPUTED = [name for name, each in QUESTIONS.items() if each.software is not None]
COLUMNS = (
    "id study year question design n counts_from published published_error computed agrees "
    "source licence note"
)


# -- the numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_numbers_are_ours_to_their_last_digit(name):
    """The estimate, its error and its interval are those that the authors printed."""
    question = QUESTIONS[name]
    assert question.agrees is True or "differs" in question.note
    assert book.same_digits(question.computed, question.published)


@pytest.mark.parametrize("name", RECOMPUTED)
def test_numbers_of_other_programs_are_ours(name):
    """The estimate and its error are what a package of R prints for the same counts."""
    question = QUESTIONS[name]
    share = question.estimate()[question.category]
    assert book.same_digits(share.value, question.software.estimate)
    assert book.same_digits(share.std_error, question.software.error)


def line_of(document, category):
    """P(report that speaks for the category) = c + d times its proportion, of one sample.

    Each formula is that of the paper: see the table of (c, d) in GLMMRR's getRRparameters.
    """
    if document["type"] == "KRR":
        prob, k = Fraction(document["prob"]), len(document["categories"])
        other = (1 - prob) / (k - 1)
        return other, prob - other
    numbers = document["parameters"]
    if document["design"] == "unrelated_question":
        sensitive = Fraction(numbers["prob_sensitive"])
        return (1 - sensitive) * Fraction(numbers["prob_yes_unrelated"]), sensitive
    if document["design"] == "forced_response":
        forced = dict(zip(["no", "yes"], numbers["prob_forced"], strict=True))
        return Fraction(forced[category]), Fraction(numbers["prob_truth"])
    assert document["design"] == "crosswise"
    prob = Fraction(numbers["prob_unrelated"])
    return 1 - prob, 2 * prob - 1


def by_hand(question, design):
    """The moment estimator in fractions: samples count by their sizes."""
    parts = design.get("parts", [design])
    counts = list(question.counts.values()) if "parts" in design else [question.counts]
    total, people = Fraction(0), 0
    for document, reports in zip(parts, counts, strict=True):
        n = sum(reports.values())
        base, slope = line_of(document, question.category)
        hits = reports.get("same", reports.get(question.category))
        total += n * (Fraction(hits, n) - base) / slope
        people += n
    return total / people


RECORDED = tomllib.loads(
    resources.files("rrstats.datasets").joinpath("studies.toml").read_text("utf-8")
)
LINES = [
    (f"{key}.{name}", facts["design"])
    for key, recorded in RECORDED["studies"].items()
    for name, facts in recorded["questions"].items()
    if facts["design"] != "lie-detector"  # its samples identify the proportion only together
]


@pytest.mark.parametrize(("name", "design"), LINES)
def test_every_question_has_a_second_route(name, design):
    """Fractions of the recorded counts and chances give the computed proportion."""
    expected = by_hand(QUESTIONS[name], RECORDED["designs"][design])
    assert float(expected) == pytest.approx(QUESTIONS[name].computed, abs=1e-12)


def test_the_lie_detector_by_hand():
    """Moshagen, Musch and Erdfelder (2012): honest carriers from the difference of the samples.

    P(yes) = pi t + (1 - pi)(1 - p) in a sample with p, so the difference has 1 - pi alone.
    """
    reports = QUESTIONS["minarets2014.vote"].counts
    (low, high) = (Fraction(each["yes"], sum(each.values())) for each in reports.values())
    others = (low - high) / (Fraction(5, 6) - Fraction(1, 6))
    assert float(1 - others) == pytest.approx(QUESTIONS["minarets2014.vote"].computed, abs=1e-12)


@pytest.mark.parametrize("name", ["wca", "pag", "supplements"])
def test_counts_that_were_solved_back_are_unique(name):
    """No other number of yes gives the printed percentage; the interval is no part of this."""
    question = QUESTIONS[f"wada2011.{name}"]
    fits = []
    for yes in range(question.n + 1):
        share = (Fraction(yes, question.n) - Fraction(1, 6)) / Fraction(2, 3)
        if book.same_digits(share, question.published):
            fits.append(yes)
    assert fits == [question.counts["yes"]]


def test_other_readings():
    """One-sayers are RRsp1's (.106, and .131 among the others), the correction the guide's 5.2%.

    With the anchor 10.54% of the attentive are a yes, as cWise 0.0.0.9000 prints.
    """
    doping = rr.datasets.study("cruyff2024.doping-a")
    assert doping.readings == ("plain", "one-sayers")
    one_sayers = doping.estimate("one-sayers")
    assert one_sayers["always different"].value == pytest.approx(0.106380937, abs=1e-9)
    others = one_sayers.among(["no", "yes"])["yes"]
    assert others.value == pytest.approx(0.130415071, abs=1e-9)
    corrected = doping.estimate().corrected(doping.control)
    assert corrected.proportions[1] == pytest.approx(0.0518, abs=5e-5)
    anchored = rr.datasets.study("cwise2023.cmdata").estimate("anchor")
    attentive = anchored.among(["no", "yes"])["yes"]
    assert book.same_digits(attentive.value, Decimal("0.1054"))


def test_simulated_reports_are_drawn_as_their_source_says():
    """rr.simulate with a generator of seed 1 draws the recorded counts again."""
    question = rr.datasets.study("anes1996.vote")
    votes = rr.simulate(
        rr.datasets.load_anes96()["vote"], question.mechanism, seed=np.random.default_rng(1)
    )
    assert question.counts == votes.value_counts().to_dict()
    question = rr.datasets.study("rand1982.poor-health")
    rated = rr.simulate(
        rr.datasets.load_rand_health()["health"], question.mechanism, seed=np.random.default_rng(1)
    )
    assert question.counts == rated.value_counts().to_dict()


# -- a comparison that can fail --------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"counts": {"no": 132, "yes": 57}},
        {"published": Decimal("0.195")},
        {"published_error": Decimal("0.051")},
        {"published_interval": (Decimal("0.097"), Decimal("0.293"))},
    ],
)
def test_a_wrong_fact_is_noticed(change):
    """One report more, and one unit in the last digit of any number, ends the agreement."""
    bulbul = rr.datasets.study("hunters2018.bulbul")
    assert bulbul.agrees is True
    assert dataclasses.replace(bulbul, **change).agrees is False


def test_errors_divide_as_the_authors_did():
    """With n - 1 the barbet's error would be 4.2%, not the printed 4.1%."""
    barbet = rr.datasets.study("hunters2018.barbet")
    assert (barbet.ddof, barbet.agrees) == (0, True)
    assert dataclasses.replace(barbet, ddof=1).agrees is False


# -- the table -------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_question():
    """Its columns are fixed; missing numbers are missing, and agreement then is neither."""
    table = rr.datasets.studies()
    assert table.columns.tolist() == COLUMNS.split()
    assert table["id"].tolist() == list(QUESTIONS)
    assert table["id"].is_unique
    assert len(table) >= 30
    assert table["study"].nunique() >= 10
    assert (str(table["agrees"].dtype), str(table["year"].dtype)) == ("boolean", "Int64")
    assert table["published"].isna().equals(table["agrees"].isna())
    assert table.loc[table["published"].isna(), "published_error"].isna().all()
    assert table["computed"].notna().all()
    for column in ("study", "question", "source", "licence"):
        assert table[column].str.len().gt(0).all()
    for text, question in zip(table["design"], QUESTIONS.values(), strict=True):
        assert from_dict(json.loads(text)) == question.mechanism
    pd.testing.assert_frame_equal(table, rr.datasets.studies())


def test_only_observed_counts_with_the_number_of_an_author_validate():
    """A count that was derived from the published number comes out by construction."""
    validations = [name for name, each in QUESTIONS.items() if each.is_validation]
    assert validations == [
        "hunters2018.barbet",
        "hunters2018.bulbul",
        "hunters2018.partridge",
        "plagiarism2012.partial",
    ]
    origins = {each.counts_from for each in QUESTIONS.values()}
    assert origins <= {"printed", "microdata", "back-solved", "simulated"}
    for question in QUESTIONS.values():
        if question.published is None and question.counts_from == "microdata":
            assert "counted in" in question.source


def test_sizes_are_those_of_the_counts():
    """n is the number of reports of all samples."""
    for question in QUESTIONS.values():
        parts = [each for each in question.counts.values() if isinstance(each, dict)]
        listed = [sum(each.values()) for each in parts] or [sum(question.counts.values())]
        assert question.n == sum(listed)


def test_pages_of_questions_fit_a_terminal():
    """No line is wider than 80 columns, and the page has the facts."""
    for question in QUESTIONS.values():
        page = question.summary()
        assert max(map(len, page.splitlines())) <= 80
        assert str(question) == page
        for heading in ("design", "counts", "published", "computed", "source", "licence", "cite"):
            assert f"\n{heading} " in page
    assert repr(rr.datasets.study("ecwm.q4")).startswith("StudyQuestion('ecwm.q4', ")


# -- what a user may do wrong ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rr.datasets.study("wada2011.wsa"), ArgumentValueError, "mean 'wada2011.wca'"),
        (lambda: rr.datasets.study("wada"), ArgumentValueError, "did you mean 'wada2011'"),
        (lambda: rr.datasets.study("wada2011"), ArgumentValueError, "such as 'wada2011.wca'"),
        (lambda: rr.datasets.study(None), ArgumentTypeError, "id must be text"),
        (lambda: rr.datasets.study(), TypeError, "id"),
        (lambda: rr.datasets.study(name="x"), ArgumentTypeError, "takes no name"),
        (
            lambda: rr.datasets.study("ecwm.q1").estimate("one-sayer"),
            ArgumentValueError,
            r"one of \['plain', 'one-sayers'\] for ecwm.q1.*mean 'one-sayers'",
        ),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(call, error, words):
    """A study, a question or a reading that does not exist: the error names what does."""
    with pytest.raises(error, match=words):
        call()


def test_importing_reads_no_file_and_needs_no_extra():
    """The facts are read when they are first asked for, with numpy, pandas and scipy alone."""
    code = (
        "import sys, pandas; before = set(sys.modules); import rrstats as rr; rr.datasets;"
        "from rrstats.datasets import book; read = book._document.cache_info().currsize;"
        "rr.datasets.study('wada2011.wca').agrees;"
        "print(read, book._document.cache_info().currsize,"
        "sorted({m for m in set(sys.modules) - before} & {'matplotlib', 'pyarrow', 'formulaic'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1", "[]"]


def test_numbers_are_compared_in_decimals():
    """A tie may be rounded either way, and a float's last bits decide nothing."""
    assert book.same_digits(0.1 + 0.2, Decimal("0.3"))
    assert book.same_digits(np.float64(0.4365), Decimal("0.436"))
    assert not book.same_digits(0.43651, Decimal("0.436"))
    assert book.same_digits(-0.00397, Decimal("-0.004"))
    assert not book.same_digits(0.00397, Decimal("-0.004"))
