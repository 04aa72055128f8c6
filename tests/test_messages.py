"""Errors that newcomers meet say what happened and what to type, and what they typed works."""

import re

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats._checks import FROM_COUNTS
from rrstats._names import answers
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MetadataError,
    UnknownAnswersError,
)

M = rr.KRR(["no", "yes"], 0.75)
ANSWERS = pd.DataFrame(
    {
        "vote": ["no", "yes"] * 60,
        "health": ["good", "fair", "poor"] * 40,
        "age": range(120),
        "region": ["north", "south", "south", "north"] * 30,
    }
)
CATEGORIES = {"vote": ["no", "yes"], "health": ["poor", "fair", "good"]}
REPORTS = ANSWERS.rr.privatize(CATEGORIES, epsilon=1)
PLAN = rr.planning.plan(CATEGORIES, 2)
DIRECT = rr.surveys.direct(CATEGORIES["health"])
ESTIMATE = rr.estimate(rr.Tally.from_counts([640, 200, 160], rr.KRR(CATEGORIES["health"], 0.75)))


def test_a_mapping_to_categories_takes_one_epsilon():
    """Each column has the given epsilon or prob, and the epsilon of a row is their sum."""
    for column, mechanism in REPORTS.rr.mechanisms.items():
        assert mechanism == rr.KRR(CATEGORIES[column], epsilon=1)
    assert REPORTS.rr.epsilon == pytest.approx(2)
    assert 1.9 < REPORTS.rr.epsilon <= 2
    by_function = rr.privatize(ANSWERS, CATEGORIES, prob=0.75)
    assert by_function.rr.mechanisms["health"] == rr.KRR(CATEGORIES["health"], 0.75)
    with pytest.raises(ArgumentTypeError, match="give prob or epsilon, found neither"):
        ANSWERS.rr.privatize(CATEGORIES)
    with pytest.raises(ArgumentTypeError, match=r"column 'vote' has a mechanism, .* epsilon out"):
        ANSWERS.rr.privatize({"vote": M}, epsilon=1)


def test_a_mapping_may_mix_declarations():
    """A mechanism keeps its own epsilon; the other columns have the given one; they add up."""
    mixed = {"vote": M, "health": pd.CategoricalDtype(CATEGORIES["health"])}
    released = ANSWERS.rr.privatize(mixed, epsilon=1)
    assert {"vote": M, "health": rr.KRR(CATEGORIES["health"], epsilon=1)} == released.rr.mechanisms
    assert released.rr.epsilon == pytest.approx(M.epsilon + 1)


def planned():
    """A release by a plan."""
    return ANSWERS.rr.privatize(PLAN)


CROSSWISE = rr.surveys.crosswise(["no", "yes"], 0.25, yes="yes")

MESSAGES = {
    "a number as text": (
        lambda: ANSWERS.rr.privatize("vote", ["no", "yes"], epsilon="1"),
        ArgumentTypeError,
        "epsilon must be a number, or the name of a column, found the text '1'; write epsilon=1",
    ),
    "a number as text, to estimate": (
        lambda: REPORTS.rr.estimate("vote", ["no", "yes"], "0.75"),
        ArgumentTypeError,
        "found the text '0.75'; write prob=0.75",
    ),
    "a column in no part": (
        lambda: rr.planning.plan(CATEGORIES, 2, want=["health"]),
        ArgumentValueError,
        "['vote'] is in none; add them to a part, or leave them out of the plan",
    ),
    "a plan of reports": (
        lambda: planned().rr.privatize(PLAN),
        ArgumentValueError,
        "a plan takes true answers, and the columns ['vote', 'health'] hold reports already",
    ),
    "no public column, to estimate": (
        lambda: planned().drop(columns="rr_asked").rr.estimate("vote"),
        MetadataError,
        "needs the public column 'rr_asked' of its release, which is not there: it says which rows",
    ),
    "no public column, in a table": (
        lambda: planned().drop(columns="rr_asked").rr.crosstab("vote", "region"),
        MetadataError,
        "needs the public column 'rr_asked' of its release",
    ),
    "no public column, for epsilon": (
        lambda: planned().drop(columns="rr_asked").rr.epsilon,
        MetadataError,
        "df['rr_asked'] = reports['rr_asked']",
    ),
    "another case": (
        lambda: ESTIMATE["Fair"],
        ArgumentValueError,
        "'Fair' is not among the categories ['poor', 'fair', 'good']; did you mean 'fair'?",
    ),
    "another case of a group": (
        lambda: rr.means(range(120), ANSWERS["health"], DIRECT).interpret("Fair"),
        ArgumentValueError,
        "did you mean 'fair'?",
    ),
    "counts as reports": (
        lambda: rr.estimate([120, 880], M),
        UnknownAnswersError,
        f"counts of reports go to {FROM_COUNTS}",
    ),
    "names of carry": (
        lambda: REPORTS.rr.carry(names=["vote"]),
        ArgumentTypeError,
        "names must be a mapping from the earlier name to the new one, found list",
    ),
    "no key": (
        lambda: rr.client.Key.read("there/is/no.key"),
        OSError,
        "path must be a file that Key.save wrote; 'there/is/no.key' cannot be read: No such file",
    ),
    "no group": (
        lambda: REPORTS.rr.means("age", []),
        ArgumentValueError,
        "by must name at least one column",
    ),
    "no group of quantiles": (
        lambda: REPORTS.rr.quantiles("age", []),
        ArgumentValueError,
        "by must name at least one column",
    ),
    "columns of a table": (
        lambda: rr.estimators.Crosstab.from_counts([[1, 2], [3, 4]], 3),
        ArgumentTypeError,
        "columns must be a mapping from each column's name to its mechanism or its levels",
    ),
    "a wrong label": (
        lambda: rr.Tally.from_counts({"no": 3, "secret": 4}, M),
        ArgumentValueError,
        "possible reports ['no', 'yes'], found 1 of 2 labels that are not; ['yes'] have no",
    ),
    "a long target": (
        lambda: rr.estimate(["no"], M, target="x" * 300),
        ArgumentValueError,
        "target must be one of ['population', 'sample'], got str of 302 letters",
    ),
    "one column of a frame by its name": (
        lambda: rr.privatize(ANSWERS, ["no", "yes"], 0.75),
        ArgumentTypeError,
        "rr.privatize(df, 'health', categories, 0.75), found a number; with a mapping",
    ),
    "a sheet without its sample": (
        lambda: rr.privacy.instructions(rr.surveys.list_experiment(3), "Did you?"),
        ArgumentTypeError,
        "group= must give the sample, one of ['control', 'treatment'], found None",
    ),
    "reports in no file": (
        lambda: rr.files.estimate_file("nothing"),
        ArgumentValueError,
        "got 'nothing'; no folder has this name either",
    ),
    "reports of a crosswise model without labels": (
        lambda: rr.estimate(["same", "different", "same"], CROSSWISE),
        UnknownAnswersError,
        "rr.surveys.crosswise(..., reports=['different', 'same'])",
    ),
    "a number without its bounds": (
        lambda: ANSWERS.rr.privatize("age", epsilon=1),
        ArgumentTypeError,
        "of a number give its bounds, as in rr.number(0, 5000)",
    ),
    "phi of a larger table": (
        lambda: rr.estimators.Crosstab.from_counts(
            [[25, 15], [16, 14], [9, 21]], {"health": ["poor", "fair", "good"], "sex": ["f", "m"]}
        ).association("phi"),
        ArgumentValueError,
        "phi and odds_ratio are for two by two categories, found 3 categories in column 'health'; "
        "take cramers_v",
    ),
    "a policy to audit": (
        lambda: rr.audit(M, unknown="warn"),
        ArgumentTypeError,
        "unknown must be True or False, found str",
    ),
    "a prior of three": (
        lambda: rr.privacy.posterior(["poor"], rr.KRR(CATEGORIES["health"], 0.75), 0.2),
        ArgumentValueError,
        "prior must have dimension 1",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_one_clear_sentence(name):
    """The error names the argument and the next step, in at most 300 letters, and is ours."""
    call, error, words = MESSAGES[name]
    if "file" in name:
        pytest.importorskip("pyarrow")
    with pytest.raises(error, match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, rr.errors.RRStatsError)
    assert len(str(caught.value)) <= 300
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_two_columns_of_one_name_cannot_be_saved(pa, tmp_path, ending):
    """The name is in the error, and nothing is written."""
    path = tmp_path / f"released.{ending}"
    frame = REPORTS.set_axis(["vote", "health", "age", "age"], axis=1)
    with pytest.raises(ArgumentValueError, match="'age' is the name of several; rename them"):
        frame.rr.to_parquet(path) if ending == "parquet" else frame.rr.to_csv(path)
    assert list(tmp_path.iterdir()) == []


def test_the_call_for_counts_of_reports_runs():
    """All who give counts elsewhere are told one call, by code and by the table of wrong names."""
    estimate = eval(FROM_COUNTS, {"rr": rr, "mechanism": M})  # the text is our own
    assert 1000 == estimate.n
    assert FROM_COUNTS in answers().keywords["counts"][0].reason


def test_crosstab_takes_a_list_of_columns():
    """A list names the columns as the names alone do."""
    by_list = REPORTS.rr.crosstab(["vote", "region"])
    by_names = REPORTS.rr.crosstab("vote", "region")
    np.testing.assert_array_equal(by_names.proportions, by_list.proportions)


def test_prior_of_two_answers_may_be_a_number():
    """It is the proportion of the last answer, as for an estimate."""
    by_number = rr.privacy.posterior(["no", "yes"], M, 0.2)
    by_name = rr.privacy.posterior(["no", "yes"], M, {"yes": 0.2, "no": 0.8})
    np.testing.assert_allclose(by_number.probabilities, by_name.probabilities, rtol=1e-12)
    with pytest.raises(ArgumentValueError, match="prior must be in"):
        rr.privacy.posterior(["no"], M, 1.2)


def test_audit_of_a_mechanism():
    """A mechanism stands for the function that privatizes with it, with its own epsilon."""
    for mechanism in (M, rr.mechanisms.UnaryEncoding.symmetric(["a", "b", "c"], epsilon=1)):
        audited = rr.audit(mechanism, trials=1000, level=1 - 1e-6)
        assert audited.passed
        assert audited.claimed == mechanism.epsilon
    with pytest.raises(ArgumentTypeError, match="a mechanism has its own categories; leave"):
        rr.audit(M, ["no", "yes"])
    assert not rr.audit(M, epsilon=0.1, trials=4000).passed


def test_wald_test_takes_no_equations():
    """Text such as "age = height" is answered with the names, and how a matrix says it."""
    pytest.importorskip("formulaic")
    people = ANSWERS.assign(height=[2, 3, 5, 7, 11, 13] * 20)
    fit = people.rr.logit("vote ~ age + height", mechanism=M)  # as if the answers were reports
    for text in ("age = 0", "age = height"):
        with pytest.raises(ArgumentValueError, match=r"'height'\], or a matrix .* 0, 1 and -1"):
            fit.wald_test(text)
    assert fit.wald_test([[0, 1, -1]]).null == "the given linear hypothesis"
