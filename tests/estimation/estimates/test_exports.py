"""Results leave the session: ends of intervals, frames, and what prints of designs and frames."""

import functools
import math
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest

import rrstats as rr

M = rr.KRR(["no", "yes"], 0.75)
PEOPLE = pd.DataFrame(
    {"a": ["no", "yes", "no", "no"] * 60, "b": ["yes", "no"] * 120, "age": range(240)}
)
REPORTS = PEOPLE.rr.simulate({"a": M, "b": M}, seed=4)
ESTIMATE = rr.estimate(rr.Tally.from_counts([640, 360], M))


@functools.cache
def tables():
    """One result of each kind that has a table, by its name."""
    groups = rr.estimate(REPORTS["a"], by=["u", "v"] * 120)
    results = [
        ESTIMATE,
        groups,
        REPORTS.rr.estimate(["a", "b"]),
        ESTIMATE.mle(),
        ESTIMATE.interval(),
        rr.difference(groups["u"], groups["v"]),
        REPORTS.rr.crosstab("a", "b"),
        REPORTS.rr.crosstab("a", "b").conditional("a", given="b"),
        rr.correlations(REPORTS, "a", "b"),
        REPORTS.rr.means("age", "a"),
        REPORTS.rr.quantiles("age", "a"),
        rr.privacy.posterior(["no"], M, 0.2),
        rr.hypotheses.goodness_of_fit(REPORTS["a"], [0.5, 0.5]),
        rr.logit(REPORTS["a"], REPORTS[["age"]], mechanism=M),
        rr.privacy.compose({"a": M}),
        rr.planning.compare_designs(1, proportion=0.2, half_width=0.05),
    ]
    return {type(result).__name__: result for result in results}


ENDS = "proportion std_error low high"
COLUMNS = {
    "Estimate": f"category n reported naive {ENDS} count count_low count_high",
    "of a survey": f"category n reported naive {ENDS} effective_n design_effect "
    "randomization_variance sampling_variance total total_std_error",
    "GroupEstimates": f"old category n reported naive {ENDS} count",
    "ConstrainedProportions": "category proportion count",
    "ProportionsAmong": f"category {ENDS}",
    "Difference": "category first second difference std_error low high z p_value",
    "Means": "category n proportion effective_n naive mean std_error low high",
    "Crosstab": f"a b reported naive {ENDS} count",
    "ConditionalProportions": f"a b {ENDS}",
    "Correlations": "first second correlation std_error low high",
    "logit": "coef std_error z p_value low high",
    "effects": "covariate change effect std_error z p_value low high",
    "check": "value status count did_you_mean",
    "recommend": "mechanism parameters epsilon bytes names variance_at_0 variance_population "
    "variance_sample std_error ratio people times_direct influence",
    "compare_designs": "design number epsilon variance people",
}
"""The columns of tables, in their order, which scripts of users rely on."""
WHOLE = {"n", "reported", "bytes", "people"}
LABELS = {"category", "old", "a", "b", "first", "second", "covariate", "change", "value", "status"}
LABELS |= {"did_you_mean", "mechanism", "parameters", "design"}


@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
def test_columns_have_their_names_order_and_types():
    """Numbers of people and of bytes are whole, labels are labels, and all else is a float."""
    frame = REPORTS.assign(old=REPORTS["age"] > 100)
    groups = frame.rr.estimate("a", by="old")
    table = frame.rr.crosstab("a", "b")
    fit = rr.logit(frame["a"], frame[["age"]], mechanism=M)
    survey = rr.SampleDesign(weights=1 + frame["age"])
    results = [
        ESTIMATE,
        rr.estimate(frame["a"], design=survey),
        groups,
        ESTIMATE.mle(),
        ESTIMATE.among(["no", "yes"]),
        rr.difference(groups[True], groups[False]),
        frame.rr.means("age", "a"),
        table,
        table.conditional("a", given="b"),
        rr.correlations(frame, "a", "b"),
        fit,
        fit.marginal_effects(),
        rr.check(["no", "maybe"], M),
        rr.planning.recommend(5, 1.0, 2000).table,
        rr.planning.compare_designs(1.0).table,
    ]
    for (name, columns), result in zip(COLUMNS.items(), results, strict=True):
        found = result if isinstance(result, pd.DataFrame) else result.to_frame()
        assert columns.split() == list(found.columns), name
        for column in found.columns.difference(LABELS):
            is_whole = column in WHOLE or (name, column) == ("check", "count")
            assert ("i" if is_whole else "f") == found[column].dtype.kind, (name, column)


def test_ends_of_intervals_are_attributes():
    """low and high are the ends of the 95% intervals; conf_int has those of any level."""
    low, high = ESTIMATE.interval()
    np.testing.assert_array_equal(low, ESTIMATE.low)
    np.testing.assert_array_equal(high, ESTIMATE.high)
    frame = ESTIMATE.conf_int(0.8)
    assert (["low", "high"], ["no", "yes"]) == (list(frame), list(frame.index))
    np.testing.assert_array_equal(ESTIMATE.interval(0.8), frame.to_numpy().T)
    with pytest.raises(ValueError, match="read-only"):
        ESTIMATE.low[0] = 0.5


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("to_csv to_excel to_markdown", r"the frame has it, .*: result.to_frame\(\).{}\(...\)$"),
        ("credible_interval", "interval needs no prior, and the guide's page 'Your own model'"),
    ],
)
def test_every_table_says_where_what_it_had_is(name, answer):
    """The name of what was cut is answered with the way on; other names are not."""
    for kind, result in tables().items():
        for cut in name.split():
            with pytest.raises(
                AttributeError,
                match=f"^.{kind}. object has no attribute .{cut}.; {answer.format(cut)}",
            ):
                getattr(result, cut)
        assert not hasattr(result, "nothing")
        assert isinstance(result.to_frame(), pd.DataFrame)


@pytest.mark.parametrize("k", [2, 5, 10, 40, 200])
def test_design_prints_in_ten_lines(k):
    """A small matrix prints in full and can be typed; of a large one the shape is printed."""
    matrix = np.full((k, k), 0.5 / k) + 0.5 * np.eye(k)
    design = rr.MatrixDesign(range(k), matrix)
    assert len(textwrap.wrap(repr(design), 80)) <= 10
    assert ("matrix>" in repr(design)) == (k >= 10)
    if k == 2:
        assert design == eval(repr(design), {"MatrixDesign": rr.MatrixDesign})


def test_accessor_prints_columns_designs_and_epsilon():
    """df.rr says which columns are private, by which design, and what a row has lost."""
    released = PEOPLE.rr.privatize({"a": M, "b": M}, unknown="uniform")
    text = repr(released.rr)
    assert f"  a               {M!r}" in text.splitlines()
    assert f"  b               {M!r}" in text.splitlines()
    note = released.rr.epsilon.note
    assert f"Epsilon of a row: 2.198 ({note})" in text.splitlines()  # rounded up, as in receipts
    assert 2 * math.log(3) == pytest.approx(released.rr.epsilon)
    assert "private column" not in repr(PEOPLE.rr)
    assert "does not fit: the frame records" in repr(released.drop(columns="a").rr)
    wide = pd.DataFrame({f"q{place}": ["no"] for place in range(50)})
    wide = wide.rr.privatize(list(wide), ["no", "yes"], 0.75)
    assert len(repr(wide.rr).splitlines()) < 20
    assert "50 in all" in repr(wide.rr)


def test_a_warning_comes_once():
    """Columns, and groups of columns, whose reports are implausible warn once together."""
    answers = pd.DataFrame({name: ["yes"] * 900 for name in "abc"} | {"g": ["u", "v"] * 450})
    mechanisms = dict.fromkeys("abc", M)
    for by in (None, "g"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers.rr.estimate(list("abc"), mechanisms, by=by)
        assert [rr.errors.ImplausibleReportsWarning] == [each.category for each in caught]
    with warnings.catch_warnings(record=True) as caught:  # the next call warns again
        warnings.simplefilter("always")
        answers.rr.estimate("a", M)
        answers.rr.estimate("a", M)
    assert 2 == len(caught)
