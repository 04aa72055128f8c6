"""List experiments as samples: exact matrices, the difference in means, joint types, errors."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.mechanisms.serialization import from_dict
from rrstats.mechanisms.survey_design import list_samples

pytest.importorskip("hypothesis")
from hypothesis import given  # after importorskip
from hypothesis import strategies as st  # after importorskip

# Counts of 0 to 4 items in R's list 9.2.6, data set race (Kuklinski and others, 1997).
RACE = {"control": [8, 132, 222, 227, 0], "treatment": [19, 123, 229, 219, 34]}


def counted(control, treatment, **options):
    """A tally of a list of as many control items as the counts allow."""
    m = rr.surveys.list_experiment(len(control) - 2, **options)
    counts = {
        group: dict(enumerate(counts))
        for group, counts in zip(m.groups, (control, treatment), strict=True)
    }
    return rr.Tally.from_counts(counts, m)


def test_a_person_reports_the_number_of_items_that_apply():
    """Each class has one report: control items, and in the treatment sample the sensitive one."""
    m = rr.surveys.list_experiment(2, ["has", "not"], yes="has")
    classes = [("has", 0), ("has", 1), ("has", 2), ("not", 0), ("not", 1), ("not", 2)]
    assert m.domain.categories == tuple(classes)
    for part, more in zip(m.parts, (0, 1), strict=True):
        matrix = np.array(part.channel.entries, dtype=object)
        for column, (category, items) in zip(matrix.T, classes, strict=True):
            reported = items + more * (category == "has")
            assert column.tolist() == [Fraction(reported == count) for count in range(4)]
    assert m.epsilon == np.inf
    assert from_dict(m.to_dict()) == m


def test_the_estimate_is_the_difference_in_means():
    """R: ictreg(y ~ 1, race, J = 3, method = "lm"), 0.0677974402; Welch's error is .0495783."""
    estimate = rr.estimate(counted(**RACE))
    assert 0.067797440250751878 == pytest.approx(estimate["yes"].value, abs=1e-12)
    variances = []
    for counts in RACE.values():
        counts = np.array(counts)
        n = counts.sum()
        mean = counts @ np.arange(5) / n
        variances.append(counts @ (np.arange(5) - mean) ** 2 / (n - 1) / n)
    assert np.sqrt(sum(variances)) == pytest.approx(estimate["yes"].std_error, abs=1e-12)
    assert round(estimate["yes"].std_error, 7) == 0.0495783


@given(
    control=st.lists(st.integers(1, 40), min_size=4, max_size=4),
    treatment=st.lists(st.integers(1, 40), min_size=5, max_size=5),
)
def test_joint_types_follow_from_the_distribution_functions(control, treatment):
    """pi(yes, y) = F0(y) - F1(y), pi(no, y) = F1(y) - F0(y - 1), and yes is the sum."""
    estimate = rr.estimate(counted([*control, 0], treatment))
    below = [np.cumsum(counts) / sum(counts) for counts in ([*control, 0], treatment)]
    yes = (below[0] - below[1])[:4]
    no = below[1][:4] - np.append(0, below[0][:3])
    assert estimate.merge().proportions == pytest.approx([*no, *yes], abs=1e-9)
    assert ("no", "yes") == estimate.categories
    assert yes.sum() == pytest.approx(estimate.proportions[1], abs=1e-9)


def test_groups_of_a_column_are_estimated_each_by_itself():
    """by= gives the difference in means of each group."""
    frame = pd.DataFrame(
        {
            "count": [0, 1, 2, 1, 2, 3, 0, 1, 1, 0, 2, 2],
            "group": [0, 0, 0, 1, 1, 1] * 2,
            "region": ["north"] * 6 + ["south"] * 6,
        }
    )
    m = rr.surveys.list_experiment(2, groups=(0, 1))
    estimates = rr.estimate(frame["count"], m, group=frame["group"], by=frame["region"])
    table = estimates.to_frame().set_index(["region", "category"])["proportion"]
    assert table["north", "yes"] == pytest.approx(2 - 1)
    assert table["south", "yes"] == pytest.approx(4 / 3 - 2 / 3)


def test_items_groups_and_categories_are_checked():
    """A wrong number of items, one label for both samples and a wrong yes are refused."""
    make = rr.surveys.list_experiment
    for wrong in (0, 21):
        with pytest.raises(ArgumentValueError, match="items must be in"):
            make(wrong)
    with pytest.raises(ArgumentTypeError, match="items must be a whole number"):
        make(["a", "b"])
    for wrong in (("a", "a"), ("a",), "ab", (1, 2, 3)):
        with pytest.raises(ArgumentValueError, match="groups must be two different labels"):
            make(3, groups=wrong)
    with pytest.raises(ArgumentValueError, match="yes must be the sensitive one"):
        make(3, [False, True])


def test_impossible_counts_and_a_missing_sample_are_errors():
    """Nobody of the control sample counts all items and one more; one sample identifies nothing."""
    m = rr.surveys.list_experiment(2)
    with pytest.raises(rr.errors.UnknownAnswersError, match="1 of 3 reports are impossible"):
        rr.estimate([3, 1, 2], m, group=["control", "control", "treatment"])
    with pytest.raises(rr.errors.UnknownAnswersError, match="1 of 3 reports are not among"):
        rr.estimate([4, 1, 2], m, group=["control", "control", "treatment"])
    with pytest.raises(NotIdentifiableError, match="no reports in the samples"):
        rr.estimate([1, 1, 2], m, group=["control"] * 3)


def test_the_samples_of_a_list_are_recognized():
    """`list_samples` says which sample is which, and refuses other mechanisms."""
    found = list_samples(rr.surveys.list_experiment(4, ["y", "n"], yes="y", groups=(1, 0)))
    assert (4, 0, 1, ("n", "y")) == found
    for other in (
        rr.KRR(["no", "yes"], 0.75),
        rr.surveys.cheater_detection([False, True], [0.2, 0.5]),
        None,
    ):
        with pytest.raises(ArgumentValueError, match="mechanism must be a list experiment"):
            list_samples(other)
