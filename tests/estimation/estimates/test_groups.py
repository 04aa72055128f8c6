"""Estimates of groups, means of numbers, and shares among those who answered."""

import time

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.groups import Estimates, GroupEstimates
from rrstats.mechanisms.channel import expected_rates

M = rr.KRR(["no", "yes", "often"], 0.75)
ASYMMETRIC = rr.surveys.forced_response(["no", "yes", "often"], 0.5, [0.25, 0.125, 0.125])
FRAME = pd.DataFrame(
    {
        "answer": ["no", "yes", "often", "yes", None, "no", "yes", "no"],
        "region": ["north", "south", "south", None, "north", "north", "south", "south"],
        "sex": list("fmfmfmmf"),
    }
)
COLUMNS = ["n", "reported", "naive", "proportion", "std_error", "low", "high", "count"]


@pytest.mark.parametrize(
    "mechanism",
    [M, ASYMMETRIC, rr.mechanisms.UnaryEncoding.optimized(M.categories, epsilon=2.0)],
    ids=["k-RR", "a matrix", "subsets"],
)
def test_each_group_is_the_estimate_of_its_rows(mechanism):
    """The mapping and its frame say what the group alone says."""
    rng = np.random.default_rng(3)
    truths = rng.choice(["no", "yes", "often"], 300)
    region = pd.Series(rng.choice(["north", "south", "west"], 300), name="region")
    reports = pd.Series(rr.privatize(list(truths), mechanism))
    found = rr.estimate(reports, mechanism, by=region)
    assert isinstance(found, GroupEstimates)
    assert list(found) == ["north", "south", "west"]
    frame = found.to_frame()
    for label in found:
        alone = rr.estimate(reports[region == label].tolist(), mechanism)
        assert found[label].tally == alone.tally
        mine = frame[frame["region"] == label]
        pd.testing.assert_frame_equal(
            mine[COLUMNS].reset_index(drop=True), alone.to_frame()[COLUMNS], rtol=1e-12
        )


def test_groups_by_several_columns_leave_out_rows_without_a_label():
    """Labels are tuples in the columns' order; a missing part counts under left_out."""
    found = FRAME.rr.estimate("answer", M, by=["region", "sex"]).to_frame()
    assert list(found.columns[:4]) == ["region", "sex", "category", "n"]
    pairs = found[["region", "sex"]].drop_duplicates().itertuples(index=False, name=None)
    expected = [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    assert list(pairs) == expected
    groups = rr.estimate(FRAME["answer"], M, by=[FRAME["region"], FRAME["sex"]])
    assert groups.left_out == 1
    assert groups["north", "f"].n_missing == 1
    assert "1 report is in no group" in repr(groups)


def test_groups_that_do_not_occur_are_left_out():
    """Also an empty category of a Categorical."""
    region = pd.Series(pd.Categorical(FRAME["region"], categories=["north", "south", "west"]))
    assert ["north", "south"] == list(rr.estimate(FRAME["answer"], M, by=region))


def test_small_groups_are_named():
    """Fewer than five reports are pointed out in text and HTML, which has a line a group."""
    found = rr.estimate(FRAME["answer"], M, by=FRAME["sex"])
    assert found.small == ["f", "m"]
    assert "2 groups have fewer than 5 reports" in repr(found)
    assert "fewer than 5 reports" in found._repr_html_()
    assert found.interpret().replace("\n", "</p>\n<p>") in found._repr_html_()


def test_no_rows_make_no_groups():
    """An empty frame gives an empty mapping and an empty table."""
    found = rr.estimate([], M, by=[])
    assert (len(found), found.n, len(found.to_frame())) == (0, 0, 0)


def test_a_label_that_is_no_group_is_refused():
    """As a mapping does, with KeyError; labels are cells of a column, and are not quoted."""
    found = rr.estimate(FRAME["answer"], M, by=FRAME["sex"])
    with pytest.raises(KeyError, match="must be one of the 2 groups"):
        found["x"]


def test_a_group_column_called_like_a_column_of_the_table_is_renamed():
    """A frame has each name once."""
    found = rr.estimate(FRAME["answer"], M, by=FRAME["sex"].rename("category")).to_frame()
    assert list(found.columns[:2]) == ["category_group", "category"]


def test_target_rows_and_methods_go_to_every_group():
    """What does not follow from counts at once is made group by group."""
    found = rr.estimate(FRAME["answer"], M, by=FRAME["sex"], target="sample")
    alone = rr.estimate(FRAME["answer"][FRAME["sex"] == "f"], M, target="sample")
    assert found.to_frame()["low"].tolist()[:3] == alone.interval().low.tolist()
    wilson = rr.estimate(FRAME["answer"], M, by=FRAME["sex"]).to_frame(method="wilson")
    expected = rr.estimate(FRAME["answer"][FRAME["sex"] == "f"], M).interval(method="wilson")
    assert wilson["high"].tolist()[:3] == expected.high.tolist()


def test_the_mean_of_numbers_is_linear_in_the_shares():
    """The mean of a 0/1 is the share of 1; other numbers weigh the shares."""
    est = rr.estimate(rr.Tally.from_counts([640, 360], rr.KRR([0, 1], 0.75)))
    found = est.mean()
    assert found.value == pytest.approx(est.proportions[1], rel=1e-14)
    assert found.std_error == pytest.approx(est.std_error[1], rel=1e-12)
    assert repr(found).startswith("mean: 0.22, std_error 0.03")
    three = rr.estimate(rr.Tally.from_counts([500, 300, 200], M))
    worth = {"no": 0, "yes": 1, "often": 12}
    numbers = np.array([0, 1, 12])
    again = three.mean(worth)
    assert again.value == pytest.approx(float(numbers @ three.proportions))
    variance = numbers @ three.covariance @ numbers
    assert again.std_error == pytest.approx(float(np.sqrt(variance)))
    assert again.low < again.value < again.high
    for values in (None, {"no": 1}):
        refused(ArgumentTypeError, "unless the categories are numbers", three.mean, values)


@pytest.mark.slow
def test_intervals_of_means_cover():
    """Nominal 95%, in a skewed case: of 200 surveys at least 175.

    A binomial of 200 at 0.95 falls below 175 with probability 3e-5; at 0.8 it reaches 175 with
    probability 0.4%.
    """
    worth = {"no": 0, "yes": 1, "often": 12}
    distribution = expected_rates(M.channel, np.array([0.7, 0.25, 0.05]))
    drawn = np.random.default_rng(11).multinomial(200, distribution, size=200)
    each = [rr.estimators.Estimate(rr.Tally.from_counts(counts, M)).mean(worth) for counts in drawn]
    assert sum(one.low <= 0.25 + 0.6 <= one.high for one in each) >= 175


def test_surveys_warn_of_what_nothing_explains():
    """Reports that no shares explain are as suspicious with weights as without."""
    with pytest.warns(rr.errors.ImplausibleReportsWarning):
        rr.estimate(["no"] * 2000, M, weights=[2.0] * 2000)
    with pytest.raises(ArgumentValueError, match="probabilities must have the same index"):
        rr.estimate(
            pd.Series(["no", "yes"]),
            M,
            design=rr.SampleDesign(probabilities=pd.Series([0.5, 0.5], index=[5, 6])),
        )


def test_reports_are_no_groups_and_no_numbers():
    """A column that says it holds reports is refused where ordinary values are meant."""
    frame = pd.DataFrame({"a": ["no", "yes"] * 20, "b": [0, 1] * 20})
    released = frame.rr.privatize({"a": rr.KRR(["no", "yes"], 0.75), "b": rr.KRR([0, 1], 0.75)})
    with pytest.raises(
        ArgumentValueError,
        match="by must be ordinary values, found reports of the privatized column 'b'",
    ):
        released.rr.estimate("a", by="b")
    refused(ArgumentValueError, "values must be ordinary values", released.rr.means, "b", by="a")
    assert len(rr.estimate(released["a"], by=released["b"].to_numpy())) == 2


def test_shares_among_those_who_answered_stand_by_group():
    """The table of each group's `among`, one below the other."""
    m = rr.KRR(["no", "yes", None], 0.8)
    rng = np.random.default_rng(5)
    reports, sex = rng.choice(np.array(["no", "yes", None], dtype=object), 60), ["f", "m"] * 30
    groups = rr.estimate(list(reports), m, by=sex)
    found = groups.among().to_frame()
    assert found["group"].tolist() == ["f", "f", "m", "m"]
    assert found["category"].tolist() == ["no", "yes"] * 2
    assert found["proportion"].tolist() == pytest.approx(
        (1 - found["proportion"][[1, 0, 3, 2]]).tolist()
    )
    with pytest.raises(ArgumentValueError, match="non-response is not a category"):
        rr.estimate(rr.Tally.from_counts([5, 3, 2], M)).among()
    pd.testing.assert_frame_equal(
        found.iloc[:2].drop(columns="group"), groups["f"].among().to_frame(), check_dtype=False
    )


def test_no_interval_of_a_mean_or_a_ratio_is_a_point():
    """Where the estimate lies outside, the interval reaches as far inward as the noise."""
    est = rr.estimate(rr.Tally.from_counts([785, 215], rr.KRR([0, 1], 0.75)))
    assert (est.mean().low, est.mean().high) == (0, pytest.approx(float(est.interval().high[1])))
    refusing = rr.KRR(["no", "yes", None], 0.8)
    few = rr.estimate(rr.Tally.from_counts([700, 60, 240], refusing))
    found = few.among(["no", "yes"])["yes"]
    assert found.value < 0
    assert found.high >= 1.95 * found.std_error
    scored = rr.estimate(rr.Tally.from_counts([800, 90, 110], M)).mean(
        {"no": 0, "yes": 1, "often": 12}
    )
    assert scored.value < 0 < 1.95 * scored.std_error <= scored.high


def test_among_just_these_rows_nothing_is_random_but_the_noise():
    """Direct answers leave no doubt about the rows that gave them."""
    direct = rr.surveys.direct(["no", "yes", None])
    est = rr.estimate(rr.Tally.from_counts([60, 30, 10], direct), target="sample")
    found = est.among(["no", "yes"])["no"]
    assert (found.low, found.high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_a_group_without_a_sample_that_the_design_needs_says_nothing_and_spoils_nothing():
    """The other groups are estimated; the table names the one that is not."""
    m = rr.surveys.unrelated_question_two_samples([False, True], {"A": 0.7, "B": 0.3})
    found = rr.estimate(
        [True, False] * 100, m, group=["A", "A", "B", "B"] * 50, by=["big"] * 199 + ["x"]
    )
    assert np.isfinite(found["big"].proportions).all()
    assert np.isnan(found["x"].proportions).all()
    assert "1 group lacks a sample that the design needs: x" in repr(found)


def test_several_columns_are_one_long_table():
    """A list of names, even of one, and all privatized columns give Estimates; a name does not."""
    frame = pd.DataFrame({"q1": ["no", "yes"] * 50, "q2": ["no"] * 60 + ["yes"] * 40, "age": 30})
    released = frame.rr.simulate({"q1": M, "q2": M}, seed=1)
    every = released.rr.estimate()
    assert isinstance(every, Estimates)
    assert ["q1", "q2"] == list(every) == every._ipython_key_completions_()
    assert ["q1"] == list(released.rr.estimate(["q1"]))
    alone = released.rr.estimate("q2")
    table = every.to_frame(0.9)
    assert ["column", "category"] == list(table.columns[:2])
    mine = table[table["column"] == "q2"].drop(columns="column").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.to_frame(0.9), mine)
    kept = frame.rr.privatize({"q1": M, "q2": M})  # what is simulated protects nobody
    assert kept.rr.epsilon == kept.rr.estimate().epsilon == every.epsilon
    assert f"epsilon of a row={every.epsilon:.4g}" in repr(every)
    assert list(alone.categories) == alone._ipython_key_completions_()
    groups = released.rr.estimate(["q1", "q2"], by="age")
    assert ["column", "age", "category"] == list(groups.to_frame().columns[:3])
    with pytest.raises(KeyError, match="the column must be one of"):
        every["q3"]


def test_designs_are_given_once():
    """Weights stand alone or in the design; a design is a SampleDesign; a tally has its rows."""
    design = rr.SampleDesign(weights=[1.0, 2.0])
    with pytest.raises(ArgumentTypeError, match="give weights in the design"):
        rr.estimate(["no", "yes"], M, weights=[1.0, 2.0], design=design)
    with pytest.raises(ArgumentTypeError, match=r"design must be a rr\.SampleDesign, found dict"):
        rr.estimate(["no", "yes"], M, design={"weights": [1.0, 2.0]})
    for said in ({"design": design}, {"by": ["a", "b"]}):
        with pytest.raises(ArgumentTypeError, match="a tally, which is counted already"):
            rr.estimate(rr.tally(["no", "yes"], M), **said)
    with pytest.raises(ArgumentValueError, match="target must be 'population'"):
        rr.estimate(["no", "yes"], M, design=design, target="sample")
    with pytest.raises(ArgumentTypeError, match="stand for both weights and population"):
        rr.SampleDesign(weights=[1.0, 2.0], probabilities=[0.5, 0.5])
    refused(ArgumentValueError, "lonely_psu must be one of", rr.SampleDesign, lonely_psu="remove")
    one = rr.estimate(["no", "yes", "yes"], M, weights=[1.0, 2.0, 1.0])
    other = rr.estimate(rr.tally(["no", "yes", "yes"], M, weights=[1.0, 2.0, 1.0]))
    assert one.to_frame().equals(other.to_frame())
    assert other.moments.designed


def test_the_table_of_many_groups_is_that_of_each_and_is_built_once():
    labels = [label for label in range(300) for _ in range(6)]
    found = rr.estimate(["no", "yes", "often"] * 600, M, by=labels)
    found.to_frame(), found[0].to_frame()
    began = time.process_time()
    table = found.to_frame()
    at_once = time.process_time() - began
    began = time.process_time()
    parts = [one.to_frame() for one in found.values()]
    assert time.process_time() - began > 15 * at_once  # 40; one frame a group makes it 6
    expected = pd.concat(parts, ignore_index=True).drop(columns=["count_low", "count_high"])
    pd.testing.assert_frame_equal(table.drop(columns="group"), expected, check_exact=True)


@pytest.mark.parametrize("weights", [None, "w"])
def test_a_difference_names_its_groups(weights):
    """Table, sentence and picture say which groups are compared, also with a design."""
    frame = pd.DataFrame({"y": ["no", "yes", "yes", "no"] * 30, "g": [0, 0, 0, 95] * 30})
    frame["sex"] = np.tile(["f", "m", "m"], 40)
    frame["w"] = 1.5
    coin = rr.KRR(["no", "yes"], 0.75)
    groups = rr.estimate(frame, coin, columns="y", by="g", weights=weights)
    gap = rr.difference(groups[0], groups[95])
    assert "difference=g 0 minus g 95" in repr(gap)
    assert " in g 0 than in g 95, 95% interval" in gap.interpret("yes")
    both = rr.estimate(frame, coin, columns="y", by=["g", "sex"], weights=weights)
    pair = rr.difference(both[0, "m"], both[0, "f"])
    assert "g 0, sex m than in g 0, sex f" in pair.interpret()
    alone = rr.difference(*[rr.estimate(rr.Tally.from_counts([6, 4], coin)) for _ in range(2)])
    assert "than in the second" in alone.interpret()
