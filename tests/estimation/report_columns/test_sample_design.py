"""Groups, strata, clusters and weights of rows, and tallies counted by them."""

import numpy as np
import pandas as pd
import pytest
from tally_cells import cells_of

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.report_columns.report_columns import ordinary
from rrstats.estimation.report_columns.sample_design import check_weights, numbered

M = rr.KRR(["no", "yes", "often"], 0.75)
U = rr.mechanisms.UnaryEncoding.optimized(["no", "yes", "often"], epsilon=2.0)


def test_groups_of_several_columns_are_numbered_by_the_labels_that_occur():
    """A label is a tuple; a row with a missing part has no label."""
    first = ordinary(["b", "a", "b", None])
    second = ordinary([1, 1, 2, 2])
    found = numbered([first, second])
    assert found.labels == [("a", 1), ("b", 1), ("b", 2)]
    assert found.codes.tolist() == [1, 0, 2, -1]


def test_many_columns_of_many_labels_are_numbered_by_what_occurs():
    """Where combinations go into the millions only those that occur are kept."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 900, 2000) for _ in range(4)]
    found = numbered([ordinary(column) for column in columns])
    expected = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [found.labels[code] for code in found.codes] == expected
    assert found.labels == sorted(set(expected))


def test_a_tally_by_groups_strata_and_clusters_is_what_a_loop_counts():
    """Every sum of every cell is that of its rows; what does not count is under others."""
    hypothesis = pytest.importorskip("hypothesis")
    st = hypothesis.strategies
    row = st.tuples(
        st.sampled_from(["no", "yes", "often", None]),
        st.sampled_from(["north", "south", None]),
        st.sampled_from(["s1", "s2"]),
        st.integers(0, 2),
        st.integers(0, 4),
    )
    rows = st.lists(row, min_size=1, max_size=30)
    hypothesis.given(rows.filter(lambda found: any(row[4] for row in found)))(_check_tally)()


def _check_tally(found):
    reports, region, strata, clusters, weights = map(list, zip(*found, strict=True))
    parts = rr.tally(
        reports,
        M,
        by=region,
        design=rr.SampleDesign(strata=strata, clusters=clusters, weights=weights),
    )
    assert set(parts) == {label for label in region if label is not None}
    for label, part in parts.items():
        assert part.n_missing == sum(row[0] is None and row[1] == label for row in found)
        for (stratum, cluster), cell in cells_of(part).items():
            everybody = [row for row in found if (row[2], row[3]) == (stratum, cluster)]
            mine = [row for row in everybody if row[1] == label and row[0] is not None]
            assert (cell.rows, cell.others) == (len(mine), len(everybody) - len(mine))
            for code, category in enumerate(M.categories):
                held = [row[4] for row in mine if row[0] == category]
                assert cell.reported[code] == len(held)
                assert cell.sums[0][code] == sum(held)
                assert cell.sums[1][code] == sum(w * w for w in held)
            assert cell.totals[0] == sum(row[4] for row in mine)


def test_reports_of_several_categories_are_weighted_by_what_they_support():
    """Each category of a report gets the report's weight; the total is that of the rows."""
    reports = rr.privatize(["no", "yes", "often", "no"], U)
    found = cells_of(rr.tally(reports, U, weights=[1.0, 2.0, 0.5, 4.0]))[(None, None)]
    support = np.array([rr.tally([one], U).reported for one in reports])
    np.testing.assert_allclose(found.sums[0], [1.0, 2.0, 0.5, 4.0] @ support)
    assert found.powers.tolist() == [7.5, 21.25, 3.75, 5.3125]


OUTSIDE = "found 1 of 2 missing, negative or beyond"


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("weights", [1.0, -2.0], OUTSIDE),
        ("weights", [0.0, 0.0], "must not all be 0"),
        ("weights", [1.0, np.nan], OUTSIDE),
        ("weights", [1.0, np.inf], OUTSIDE),
        ("weights", [1.0], "one number for each of the 2 rows"),
        ("weights", [1.0, 1e160], "rescale weights by a constant"),
        ("weights", [1e-170, 1e-170], "rescale weights by a constant"),
        ("weights", ["heavy", "light"], "must be numbers"),
        ("probabilities", [0.5, 0.0], "found 1 of 2 outside or missing"),
        ("probabilities", [1.5, np.nan], "found 2 of 2 outside or missing"),
    ],
)
def test_weights_and_probabilities_that_cannot_be_are_refused(name, given, said):
    """Negative, missing, infinite or all zero: with the count, and never the weight."""
    with pytest.raises((ArgumentValueError, ArgumentTypeError), match=said):
        check_weights(given, 2, name=name)


def test_rows_belong_together_by_index_and_length():
    """Series of another index are refused, as their rows would be matched by position."""
    reports = pd.Series(["no", "yes"], index=[1, 2])
    with pytest.raises(ArgumentValueError, match="by must have the same index"):
        rr.tally(reports, M, by=pd.Series(["a", "b"]))
    with pytest.raises(ArgumentValueError, match="by must have one value for each of the 2"):
        rr.tally(reports, M, by=["a", "b", "c"])
    by = pd.Series(["a", "b"], index=[1, 2])
    with pytest.raises(ArgumentValueError, match="weights must have the same index"):
        rr.tally(["no", "yes"], M, by=by, weights=pd.Series([1.0, 2.0]))
    with pytest.raises(ArgumentValueError, match="found 1 of 2 missing"):  # under the mask
        rr.tally(["no", "yes"], M, weights=np.ma.array([1.0, 1e6], mask=[False, True]))
    with pytest.raises(ArgumentValueError, match="must be known for every row, found 1 of 2"):
        rr.tally(reports, M, design=rr.SampleDesign(strata=["a", None]))


def test_groups_and_clusters_cost_what_occurs_of_them():
    """Of 36 million pairs of groups and clusters the 6,000 that occur are counted."""
    n = 6000
    each = rr.SampleDesign(clusters=list(range(n)))
    parts = rr.tally(["no"] * n, M, by=list(range(n)), design=each)
    assert n == len(parts)
    assert [1] == parts[17].counts.rows.tolist()
    assert n == parts[17].counts.drawn.sum()


def test_counts_beyond_memory_are_refused():
    """A cluster for each report, of which 10,000 are possible, would be counts without end."""
    n, mechanism = 3400, rr.KRR(range(10_000), epsilon=9)
    with pytest.raises(ArgumentValueError, match="too many to count together"):
        rr.tally([0] * n, mechanism, design=rr.SampleDesign(clusters=list(range(n))))
