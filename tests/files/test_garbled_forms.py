"""Forms whose answers an app garbled: designs and blocks."""

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentValueError


def form(covariate, rate=0.4):
    """The sheet of a form with one garbled question and one that is not."""
    return pd.DataFrame(
        {
            "type": ["select_one yn", "text"],
            "name": ["bribe", "town"],
            "garbling::rate": [rate, None],
            "garbling::answer": ["yes", None],
            "garbling::covariate": [covariate, None],
        }
    )


ANSWERS = pd.DataFrame(
    {
        "bribe": ["yes", "no", "no", "yes", "no", "no", "yes", "no", "yes", "no"] * 2,
        "town": ["north", "south", "south", "north", None] * 4,
    }
)


def test_an_empty_covariate_means_coins():
    """The design is forced response, without blocks."""
    asked = rr.files.garbled_question(form(None), "bribe", ANSWERS)
    assert asked.blocks is None
    assert asked.mechanism == rr.surveys.forced_response(["no", "yes"], 0.6, {"yes": 0.4, "no": 0})


def test_a_star_means_one_stream_of_decks():
    """At a rate of .4 two of every five answers are garbled, in the order of the data."""
    asked = rr.files.garbled_question(form("*"), "bribe", ANSWERS)
    assert [place // 5 for place in range(20)] == asked.blocks
    assert asked.mechanism == rr.surveys.garbling(["no", "yes"], 0.4, deck=5)
    found = rr.estimate(asked.reports, asked.mechanism, blocks=asked.blocks)
    assert found["yes"].value == pytest.approx((8 - 8) / 12)


def test_a_name_means_a_stream_for_each_value():
    """8 people a town make a full and an incomplete deck; the others are missing."""
    asked = rr.files.garbled_question(form("town"), "bribe", ANSWERS)
    assert [0, 2, 2, 0, -1] == asked.blocks[:5]
    found = rr.estimate(asked.reports, asked.mechanism, blocks=asked.blocks)
    assert (16, 4) == (found.n, found.n_missing)
    assert [5, 3, 5, 3] == found.moments.blocks.people.tolist()


def test_people_who_were_not_asked_draw_no_card():
    """The app draws a card for each answer that it stores, so a gap does not count in a deck."""
    answers = ANSWERS.assign(bribe=ANSWERS["bribe"].where(ANSWERS.index % 4 != 1))
    asked = rr.files.garbled_question(form("*"), "bribe", answers)
    assert [0, -1, 0, 0, 0, -1, 0, 1] == asked.blocks[:8]
    found = rr.estimate(asked.reports, asked.mechanism, blocks=asked.blocks)
    assert ([5, 5, 5], 5) == (found.moments.blocks.people.tolist(), found.n_missing)


def test_cells_of_other_types_mean_the_same():
    """Sheets that were read as text, numbers as names of choices, and categorical covariates."""
    asked = rr.files.garbled_question(form("town"), "bribe", ANSWERS)
    text = form("town").astype(object).fillna("").astype(str)
    categorical = ANSWERS.assign(town=ANSWERS["town"].astype("category"))
    again = rr.files.garbled_question(text, "bribe", categorical)
    assert (asked.mechanism, asked.blocks) == (again.mechanism, again.blocks)
    assert rr.files.garbled_question(form(""), "bribe", ANSWERS).blocks is None
    coded = ANSWERS.replace({"bribe": {"yes": "1", "no": "0"}})
    numbered = form("*")
    cells = [1 if answer == "yes" else answer for answer in numbered["garbling::answer"]]
    numbered["garbling::answer"] = pd.Series(cells, dtype=object)
    assert "1" == rr.files.garbled_question(numbered, "bribe", coded, ["0", "1"]).mechanism.yes


def test_a_form_is_read_from_a_file(tmp_path):
    """The sheet "survey" of a spreadsheet gives the same."""
    pytest.importorskip("openpyxl")
    form("*").to_excel(tmp_path / "form.xlsx", sheet_name="survey", index=False)
    asked = rr.files.garbled_question(tmp_path / "form.xlsx", "bribe", ANSWERS)
    assert asked.blocks == rr.files.garbled_question(form("*"), "bribe", ANSWERS).blocks


def test_what_is_no_garbled_question():
    """A sheet without the columns, and a question that is not garbled."""
    read = rr.files.garbled_question
    refused(ArgumentValueError, "without \\['name', 'garb", read, pd.DataFrame(), "bribe", ANSWERS)
    refused(ArgumentValueError, "found 0 such rows", read, form("*"), "town", ANSWERS)
    refused(ArgumentValueError, "found 0 such rows", read, form("*"), "age", ANSWERS)
    refused(ArgumentValueError, "'city' is not there", read, form("city"), "bribe", ANSWERS)
    options = {"categories": ["nein", "ja"]}
    refused(
        ArgumentValueError, "must hold the garbled", read, form("*"), "bribe", ANSWERS, **options
    )
