"""The test of no design effect of lists agrees with R's list 9.2.6 and holds its level."""

import numpy as np
import pytest

import rrstats as rr
from rrstats.errors import ArgumentValueError
from rrstats.estimation.hypothesis_tests.list_design import _JointTypes

# Counts of 0 to 4 items: data sets race and affirm of R's list 9.2.6, and made-up ones.
RACE = [8, 132, 222, 227, 0], [19, 123, 229, 219, 34]
AFFIRM = [8, 132, 222, 227, 0], [9, 78, 172, 184, 139]
VIOLATED = [60, 90, 110, 40, 0], [100, 60, 80, 40, 20]

# Proportions and errors of (sensitive, y = 0 to 3), then of (not, y = 0 to 3).
RACE_TABLE = [
    [-0.016866374994558356, 0.008370008491689378],
    [0.010126899133690304, 0.02427604721951896],
    [0.02004973662443954, 0.028079612289354718],
    [0.054487179487179516, 0.009086331552814839],
    [0.030448717948717948, 0.00687824440043003],
    [0.21398175960994298, 0.017448306552467166],
    [0.35686028035348916, 0.02634281788229144],
    [0.3309118018370989, 0.022016172614760642],
]
VIOLATED_TABLE = [
    [-0.1333333333333333, 0.03569417423157558],
    [-0.033333333333333326, 0.040779442896672374],
    [0.06666666666666665, 0.030307070437746345],
    [0.06666666666666665, 0.014401645996461909],
    [0.3333333333333333, 0.02721655269759087],
    [0.3333333333333333, 0.03691832827963589],
    [0.30000000000000004, 0.03696845502136473],
    [0.06666666666666665, 0.02434322477800738],
]


def result_for(counts, **options):
    control, treatment = counts
    m = rr.surveys.list_experiment(len(control) - 2)
    tally = rr.Tally.from_counts(
        {"control": dict(enumerate(control)), "treatment": dict(enumerate(treatment))}, m
    )
    return rr.hypotheses.no_design_effect(tally, **options)


@pytest.mark.parametrize(("counts", "expected"), [(RACE, RACE_TABLE), (VIOLATED, VIOLATED_TABLE)])
def test_the_table_of_joint_types(counts, expected):
    """R: ict.test(y, treat, J = 3)$pi.table, at full precision."""
    table = result_for(counts).table
    yes = table[table["category"] == "yes"][["proportion", "std_error"]].to_numpy()
    no = table[table["category"] == "no"][["proportion", "std_error"]].to_numpy()
    assert expected == pytest.approx(np.vstack([yes, no]), abs=1e-10)
    assert table["control_items"].tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize(
    ("counts", "kept_yes", "kept_no", "p_value"),
    [
        # ict.test(race$y, race$treat, J = 3, gms = TRUE), affirm with gms = FALSE, and the
        # violated counts with gms = TRUE; the moments that its selection keeps
        (RACE, [0], [], 0.04431108586513321),
        (AFFIRM, [0, 1, 2], [1, 2, 3], 1.0),
        (VIOLATED, [0, 1], [], 0.0004683285587108383),
    ],
)
def test_p_values_of_the_moments_that_are_kept(counts, kept_yes, kept_no, p_value):
    """The p-value of the same moments is R's; its selection of moments is another."""
    types = _JointTypes.of(*map(np.array, counts))
    yes = types.dominance(1, np.array(kept_yes, dtype=np.intp))[2]
    no = types.dominance(0, np.array(kept_no, dtype=np.intp))[2]
    assert p_value == pytest.approx(min(1, 2 * min(yes, no)), rel=1e-9)


def test_selection_leaves_out_proportions_far_above_0():
    """Moments up to sqrt(log n) standard errors above 0 are kept; without selection all are."""
    types = _JointTypes.of(*map(np.array, VIOLATED))
    limit = np.sqrt(np.log(600))
    assert types.selected(1, limit).tolist() == [0, 1, 2]  # 0.0667 is 2.2 errors above 0
    assert types.selected(0, limit).tolist() == []  # the last is 2.7 above, of a limit of 2.53
    assert types.selected(0, None).tolist() == [1, 2, 3]
    test = result_for(VIOLATED)
    assert test.df == 3
    assert test.p_value == pytest.approx(2 * types.dominance(1, np.arange(3))[2])
    assert "is rejected" in test.interpret()
    assert test.p_value < result_for(VIOLATED, selection=False).p_value * (1 + 1e-12)


def test_one_proportion_is_compared_by_welch():
    """One kept moment is a one-sided Welch test of two proportions."""
    import scipy

    samples = [np.repeat(y, n) for y, n in (([1.0, 0.0], [8, 581]), ([1.0, 0.0], [19, 605]))]
    welch = scipy.stats.ttest_ind(*samples, equal_var=False, alternative="less")
    types = _JointTypes.of(*map(np.array, RACE))
    statistic, df, p_value = types.dominance(1, np.array([0]))
    assert (welch.statistic**2, 1, welch.pvalue) == pytest.approx((statistic, df, p_value))


def test_counts_that_nobody_has_change_nothing():
    """Items that nobody counts give proportions that follow from others; they are not counted."""
    test = result_for(([60, 90, 110, 40, 0, 0, 0], [100, 60, 80, 40, 20, 0, 0]), selection=False)
    assert test.statistic == pytest.approx(result_for(VIOLATED, selection=False).statistic)
    upper = result_for(([0, 0, 60, 90, 110, 40, 0], [0, 0, 100, 60, 80, 40, 20]), selection=False)
    assert upper.statistic == pytest.approx(test.statistic)


def test_many_proportions_have_a_bound():
    """With more than 5 proportions a note says that the p-value is an upper bound."""
    rng = np.random.default_rng(5)
    control, treatment = (np.bincount(rng.binomial(8, p, 400), minlength=10) for p in (0.45, 0.42))
    test = result_for((control.tolist(), treatment.tolist()), selection=False)
    assert test.df > 5
    assert "upper bound" in repr(test)


def test_bad_input_is_refused():
    """Other designs, a sample without variance and a missing sample are errors."""
    with pytest.raises(ArgumentValueError, match="mechanism must be a list experiment"):
        rr.hypotheses.no_design_effect(["no", "yes"], rr.KRR(["no", "yes"], 0.75))
    with pytest.raises(ArgumentValueError, match="control sample must have at least two"):
        result_for(([0, 50, 0, 0], [10, 20, 20, 10]))
    with pytest.raises(ArgumentValueError, match=r"treatment .* found 0 among 0 people"):
        result_for(([10, 50, 0, 0], [0, 0, 0, 0]))


@pytest.mark.slow
def test_the_level_is_kept_where_nobody_has_the_sensitive_item():
    """In the least favourable case, a prevalence of 0, at most 5% of the tests reject.

    2,000 samples; a correct test with level 0.05 has more than 141 rejections once in 1e4 runs.
    """
    rng = np.random.default_rng(20)
    rejected = 0
    for _ in range(2000):
        control, treatment = (np.bincount(rng.binomial(3, 0.4, 300), minlength=5) for _ in range(2))
        types = _JointTypes.of(control, treatment)
        outcomes = [
            types.dominance(code, types.selected(code, np.sqrt(np.log(600))))[2] for code in (0, 1)
        ]
        rejected += 2 * min(outcomes) <= 0.05
    assert rejected <= 141
