"""A mapping from column to declaration: categories, dtypes, codebooks, numbers and mechanisms."""

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError

HEALTH = rr.datasets.CATEGORIES["health"]
CODES = {1: "never", 2: "once", 3: "often"}
SURVEY = pd.DataFrame(
    {
        "smokes": ["no", "yes"] * 60,
        "drinks": pd.Categorical(["never", "often"] * 60, ["never", "often"]),
        "visits": [1, 2, 3] * 40,
        "age": list(range(20, 80)) * 2,
        "vote": ["a", "b"] * 60,
        "wave": ["first", "second"] * 60,
    }
)
VOTE = rr.KRR(["a", "b"], 0.75)


def test_each_kind_of_declaration_in_one_mapping():
    """Those without a mechanism have the one epsilon; the frame's total adds all up."""
    declared = {
        "smokes": ["no", "yes"],
        "drinks": SURVEY["drinks"].dtype,
        "visits": CODES,
        "age": rr.number(18, 90),
        "vote": VOTE,
    }
    released = SURVEY.rr.privatize(declared, epsilon=1)
    expected = {
        "smokes": rr.KRR(["no", "yes"], epsilon=1),
        "drinks": rr.KRR(["never", "often"], epsilon=1),
        "visits": rr.KRR(CODES, epsilon=1),
        "age": rr.number(18, 90).mechanism(epsilon=1),
        "vote": VOTE,
    }
    assert expected == dict(released.rr.mechanisms)
    assert released.rr.epsilon == pytest.approx(4 + VOTE.epsilon)
    assert released.rr.epsilon <= 4 + VOTE.epsilon
    assert "Epsilon of a row: 5.099 " in repr(released.rr)
    assert max(map(len, repr(released.rr).splitlines())) < 300
    assert ["never", "once", "often"] == released.rr.estimate("visits").to_frame()[
        "category"
    ].tolist()


def test_a_mapping_in_the_mapping_is_what_it_holds():
    """From sample to mechanism it is a design of several samples; from code to label a codebook."""
    samples = {"first": VOTE, "second": rr.KRR(["a", "b"], 0.9)}
    released = SURVEY.rr.privatize({"vote": samples, "visits": CODES}, epsilon=1, group="wave")
    assert rr.mechanisms.Samples(samples) == released.rr.mechanisms["vote"]
    assert rr.KRR(CODES, epsilon=1) == released.rr.mechanisms["visits"]


def test_a_plan_shares_one_epsilon():
    """A codebook of categories is a plan's columns; a number is refused with its reason."""
    declared = {"smokes": ["no", "yes"], "visits": CODES}
    released = SURVEY.rr.privatize(rr.planning.plan(declared, 2))
    assert 2 == released.rr.epsilon
    words = "rr.number cannot stand here"
    refused(ArgumentTypeError, words, rr.planning.plan, {**declared, "age": rr.number(18, 90)}, 2)


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (pd.Series([1, 2, 3], dtype="int8"), "codes"),
        (pd.Series([1.0, 2.0, 3.0]), "codes"),
        (pd.Series([1, 2, 3], dtype="Int64"), "codes"),
        (pd.Series([1, 2, 3]).astype("category"), "codes of a Categorical"),
        (pd.Series(pd.Categorical(["never", "once", "often"])), "labels, as pandas reads them"),
    ],
)
def test_the_dtype_says_whether_a_column_holds_codes_or_labels(answers, kind):
    """Reports are codes in both cases; one of these is a lie with a chance below 1e-12."""
    nearly_true = rr.KRR(CODES, 1 - 2**-45)
    frame = pd.DataFrame({"visits": answers})
    assert [1, 2, 3] == frame.rr.privatize({"visits": nearly_true})["visits"].tolist(), kind


BAD = {
    "an empty list": ([], "column 'visits': categories must have at least two .* found 0"),
    "an empty codebook": ({}, "column 'visits': categories must have at least two .* found 0"),
    "a dtype without categories": (
        pd.CategoricalDtype(),
        "column 'visits': categories must have at least two .* found 0",
    ),
    "one label twice": (
        {1: "never", 2: "once", 3: "never"},
        "column 'visits': categories in a codebook must each have a different label, .* number 1 "
        "and number 3 are the same text: merge the two codes",
    ),
    "a label that is another code": (
        {"a": "x", "b": "a"},
        "categories in a codebook must each have a different label, that is not another category",
    ),
    "codes and labels swapped in the codebook": (
        {"never": 1, "once": 2, "often": 3},
        "column 'visits': .* labels that are text, .*; codes and labels are swapped$",
    ),
    "a label of another type": (
        {1: "never", 2: "once", 3: None},
        "column 'visits': .* labels that are text, .*; found one of type NoneType$",
    ),
    "labels for a column of codes": (
        ["never", "once", "often"],
        "column 'visits': .* answers are of kind int; if they are codes, map each code",
    ),
    "codes as text for a column of numbers": (
        {"1": "never", "2": "once", "3": "often"},
        "column 'visits': .* map each code, in the answers' type, to its label",
    ),
}


@pytest.mark.parametrize(("declared", "words"), BAD.values(), ids=list(BAD))
def test_a_bad_declaration_has_one_sentence_that_names_the_column(declared, words):
    """The sentence depends on the declaration and the column's dtype, never on its values."""
    errors = (ArgumentTypeError, ArgumentValueError)
    message = refused(errors, words, SURVEY.rr.privatize, {"visits": declared}, epsilon=1)
    nobody = SURVEY.iloc[:0]
    assert message == refused(errors, words, nobody.rr.privatize, {"visits": declared}, epsilon=1)


def test_labels_in_the_data_and_codes_in_the_codebook():
    """A column of text cannot hold the codes: the next step is the list of the labels."""
    text = pd.DataFrame({"visits": pd.Series(["never", "once", "often"], dtype="string")})
    declared = {"visits": CODES}
    words = r"column 'visits': .* declare list\(codebook.values\(\)\)"
    refused(ArgumentTypeError, words, text.rr.privatize, declared, epsilon=1)
    released = text.rr.privatize({"visits": list(CODES.values())}, epsilon=1)
    assert {*released["visits"]} <= {*CODES.values()}


def test_the_real_frames_with_their_numbers():
    """RAND and ANES: two categories and a number in one call, and one to estimate all."""
    rand = rr.datasets.load_rand_health().iloc[::20]
    declared = {
        "health": HEALTH,
        "visited_doctor": [False, True],
        "doctor_visits": rr.number(0, 20),
    }
    released = rand.rr.privatize(declared, epsilon=1)
    assert 2.99 < released.rr.epsilon <= 3
    assert ["health", "visited_doctor", "doctor_visits"] == list(released.rr.estimate())
    anes = rr.datasets.load_anes96()
    named = {name: anes[name].dtype for name in ("vote", "party")}
    released = anes.rr.privatize({**named, "age": rr.number(18, 95)}, epsilon=1)
    assert 2.99 < released.rr.epsilon <= 3
    assert "float64" == str(released["age"].dtype)


def test_several_estimates_print_the_mean_of_a_number_and_not_its_grid():
    """The line above the table has the mean, and `to_frame` the grid; alone it has its rows."""
    declared = {"smokes": ["no", "yes"], "age": rr.number(18, 90)}
    released = SURVEY.rr.privatize(declared, epsilon=1)
    estimates = released.rr.estimate()
    first, _heads, *rows = repr(estimates).splitlines()
    assert f", mean of age={estimates['age'].mean().value:.4g} (" in first
    assert ["smokes", "smokes"] == [row.split()[0] for row in rows[:2]]
    assert not any(row.startswith("  age") for row in rows)
    assert 2 + 21 == len(estimates.to_frame())
    assert "  age     18.0" in repr(released.rr.estimate(["age"]))


@pytest.mark.parametrize(
    ("answers", "categories", "words"),
    [
        (["never", "once", None], {1: "never", 2: "once"}, r"declare list\(codebook.values\(\)\)"),
        ([1, 2, None], ["never", "once"], "map each code, in the answers' type, to its label"),
    ],
)
def test_swapped_codes_and_labels_of_objects(answers, categories, words):
    """Where no object fits, codes and labels may be swapped; where one fits, they are not."""
    frame = pd.DataFrame({"visits": pd.Series(answers, dtype=object)})
    refused(
        UnknownAnswersError,
        f"2 of 3 .*{words}",
        frame.rr.privatize,
        {"visits": categories},
        epsilon=1,
    )
    frame.loc[0, "visits"] = next(iter(categories))
    message = refused(
        UnknownAnswersError, "1 of 3 ", frame.rr.privatize, {"visits": categories}, epsilon=1
    )
    assert "codebook" not in message
    assert "map each" not in message
