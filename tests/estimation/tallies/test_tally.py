"""Tallies: counts that add, from any container, and what is refused."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tally_cells import Cell, cells_of, tally_of

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.tallies.tally import EVERYONE

M = rr.KRR(["never", "once", "often"], 0.75)
REPORTS = ["once", "never", "once", "often", "once", "never"]
COUNTS = [2, 3, 1]

# -- counting -----------------------------------------------------------------------------------


CONTAINERS = [
    REPORTS,
    np.array(REPORTS).reshape(2, 3),
    pd.Series(REPORTS, index=range(5, 11)),
    pd.Series(pd.Categorical(REPORTS, ["x", "often", "once", "never"])),
]


@pytest.mark.parametrize("reports", CONTAINERS, ids=["list", "array", "Series", "Categorical"])
def test_containers(reports):
    """Counts in the declared order, from every container of reports."""
    found = rr.tally(reports, M)
    assert found.reported.tolist() == COUNTS
    assert (found.n, found.n_missing) == (6, 0)
    assert found == rr.Tally.from_counts(COUNTS, M)
    assert found == rr.tally(reports, M)


def test_arrow_containers(pa):
    """Arrow arrays and chunks count alike."""
    array = pa.array([*REPORTS, None])
    chunks = pa.chunked_array([array[:2], array[2:2], array[2:]])
    for reports in (array, chunks, array.dictionary_encode(), pd.Series(array.to_pandas())):
        assert rr.Tally.from_counts(COUNTS, M, n_missing=1) == rr.tally(reports, M)


@pytest.mark.parametrize(
    "reports",
    [
        [*REPORTS, None, None],
        [*REPORTS, None, math.nan],
        pd.Series([*REPORTS, pd.NA, None], dtype="string[python]"),
        pd.Series(pd.Categorical([*REPORTS, None, None])),
    ],
)
def test_missing_reports_stand_apart(reports):
    """Missing reports are counted apart, outside n, of whatever kind they are."""
    found = rr.tally(reports, M)
    assert (found.n, found.n_missing, found.reported.tolist()) == (6, 2, COUNTS)
    assert cells_of(found)[EVERYONE].rows == 6


def test_missing_may_be_a_category():
    """Where a missing value is a category, it is counted as one."""
    found = rr.tally(["yes", None, math.nan, pd.NA], ["yes", None], 0.75)
    assert (found.reported.tolist(), found.n, found.n_missing) == ([1, 3], 4, 0)
    found = rr.Tally.from_counts({"yes": 1, math.nan: 3}, rr.KRR(["yes", None], 0.75))
    assert (found.reported.tolist(), found.n, found.n_missing) == ([1, 3], 4, 0)


def test_mechanism_by_arguments():
    """A mechanism, or categories with prob or epsilon: the same tally."""
    by_epsilon = rr.KRR(M.categories, epsilon=1.0)
    assert rr.tally(REPORTS, M) == rr.tally(REPORTS, M.categories, 0.75)
    assert rr.tally("yes", ["no", "yes"], 0.75).reported.tolist() == [0, 1]
    assert rr.tally(REPORTS, by_epsilon) == rr.tally(REPORTS, M.categories, epsilon=1.0)
    refused(ArgumentTypeError, "no record of (its|their) mechanism", rr.tally, REPORTS)


def test_reports_outside_the_categories():
    """They are counted in the error and never quoted: they may be answers never privatized."""
    reports = [*REPORTS, "my secret", "another secret", None]
    for values in (reports, pd.Series(reports), np.array(reports, dtype=object)):
        with pytest.raises(ArgumentValueError, match="2 of 9 reports are not among") as caught:
            rr.tally(values, M)
        assert "secret" not in str(caught.value)
        assert "['never', 'once', 'often']" in str(caught.value)


def test_not_a_column():
    """A frame is asked for its column, whatever its columns are called."""
    frame = pd.DataFrame({"name": REPORTS, "attrs": REPORTS})
    frame["name"] = rr.privatize(frame["name"], M)
    frame.attrs["rrstats"] = {"v": 1, "columns": []}
    for mechanism in (None, M):
        refused(
            ArgumentTypeError, "found a frame; name one column after it", rr.tally, frame, mechanism
        )
    assert frame.rr.tally("name", M).n == 6


# -- counts from elsewhere ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "counts",
    [
        {"never": 2, "once": 3, "often": 1},
        pd.Series(REPORTS).value_counts(),
        pd.Series([2, 3, 1], index=["never", "once", "often"], dtype="Int64"),
        pd.Series([2, 3.0, 1], index=pd.CategoricalIndex(["never", "once", "often"])),
        COUNTS,
        np.array(COUNTS),
        np.array(COUNTS, dtype=float),
        pd.array(COUNTS, dtype="Int8"),
        [2.0, Fraction(3), Decimal("1")],
    ],
    ids=lambda value: type(value).__name__,
)
def test_from_counts(counts):
    """Mappings and Series go by label, other counts by the categories' order."""
    found = rr.Tally.from_counts(counts, M)
    assert rr.tally(REPORTS, M) == found
    assert found.reported.dtype == np.int64
    assert found == rr.Tally.from_counts(counts, M.categories, 0.75)


def test_from_counts_left_out():
    """A category without a count has none; a missing label counts missing reports."""
    found = rr.Tally.from_counts({"once": 3}, M)
    assert (found.reported.tolist(), found.n) == ([0, 3, 0], 3)
    assert rr.Tally.from_counts({}, M).n == 0
    reports = pd.Series([*REPORTS, None, None])
    counts = reports.value_counts(dropna=False)
    assert rr.tally(reports, M) == rr.Tally.from_counts(counts, M)
    assert rr.Tally.from_counts(counts, M, n_missing=3).n_missing == 5


def test_a_label_twice():
    """A Series may carry a label twice, as counts of two waves do: both count."""
    counts = pd.Series([1, 2, 1, 1, 1], index=["never", "once", "once", "often", "never"])
    assert rr.tally(REPORTS, M) == rr.Tally.from_counts(counts, M)


def test_labels_are_typed():
    """1 is not "1" and not True, in counts as in reports."""
    m = rr.KRR([1, 2], 0.75)
    assert rr.Tally.from_counts({np.int64(1): 4, 2: 1}, m).reported.tolist() == [4, 1]
    for labels in (["1", "2"], [True, 2]):
        with pytest.raises(ArgumentValueError, match="of 2 labels that are not"):
            rr.Tally.from_counts(dict.fromkeys(labels, 3), m)


@pytest.mark.parametrize(
    ("counts", "kind", "message"),
    [
        ([2, -1, 1], ValueError, "counts must be a whole number of at least 0, found -1"),
        ([2, 1.5, 1], ValueError, "counts must be a whole number of at least 0, found 1.5"),
        ([2, 2**53 + 1, 1], ValueError, "counts must be at most"),
        ([2, "3", 1], TypeError, "counts must be a number, found str"),
        ([2, True, 1], TypeError, "counts must be a number, found bool"),
        ([2, 3], ValueError, "a mapping from category to number, or 3 numbers"),
        (pd.DataFrame({"n": COUNTS}), ValueError, "a mapping from category to number"),
        ({"never": 2, "ever": 1, "0nce": 1}, ValueError, "found 2 of 3 labels that are not"),
    ],
)
def test_bad_counts(counts, kind, message):
    """Counts are whole numbers of at least 0, by label or k of them in order."""
    with pytest.raises(kind, match=message) as caught:
        rr.Tally.from_counts(counts, M)
    assert isinstance(caught.value, rr.errors.RRStatsError)
    refused(ArgumentValueError, "n_missing must be", rr.Tally.from_counts, COUNTS, M, n_missing=-1)


# -- adding -------------------------------------------------------------------------------------


def test_unequal_mechanisms_do_not_add():
    """Reports of other mechanisms mean something else."""
    for other in (
        rr.KRR(M.categories, 0.8),
        rr.KRR(["once", "never", "often"], 0.75),
        rr.KRR(["never", "once"], 0.75),
        M.then(M),
    ):
        with pytest.raises(ArgumentValueError, match="must have the same mechanism"):
            _ = rr.tally([], M) + rr.tally([], other)
    # An equal one that was made elsewhere is the same.
    assert rr.tally(REPORTS, M) + rr.tally([], rr.KRR(list(M.categories), 0.75)) == rr.tally(
        REPORTS, M
    )


@pytest.mark.parametrize("other", [1, None, "x", [1, 2, 3], 0.0])
def test_only_tallies_add(other):
    """Numbers are not tallies; the 0 that sum starts from is the one exception."""
    whole = rr.tally(REPORTS, M)
    with pytest.raises(TypeError):
        _ = whole + other
    with pytest.raises(TypeError):
        _ = other + whole
    assert whole == 0 + whole
    assert sum([]) == 0


def cells(*parts):
    return tally_of(M, dict(parts))


NORTH, SOUTH = ("north", 1), ("south", None)


def test_strata_and_clusters():
    """Cells of the same stratum and cluster add, others stand side by side."""
    first = cells((NORTH, Cell(3, np.array([1, 2, 0]))), (SOUTH, Cell(1, np.array([0, 0, 1]))))
    second = cells(
        (NORTH, Cell(2, np.array([1, 0, 1]))), (("north", 2), Cell(1, np.array([1, 0, 0])))
    )
    total = first + second
    assert set(cells_of(total)) == {NORTH, SOUTH, ("north", 2)}
    assert cells_of(total)[NORTH] == Cell(5, np.array([2, 2, 1]))
    assert total.reported.tolist() == [3, 2, 2]
    assert total.n == 7
    assert total == second + first
    assert cells_of(first)[NORTH].rows == 3, "a part was changed by adding"
    assert total == total + rr.tally([], M), "an empty part changes nothing"
    assert 2 == sum(rr.tally([None, report], M) for report in ("once", "never")).n_missing


def test_weights():
    """Sums of weights and of their squares add; cells without weights weigh 1 a report."""
    sums, powers = np.array([[0.5, 2.0, 0], [0.25, 4.0, 0]]), np.array([2.5, 4.25, 2.5, 4.25])
    weighted, plain = Cell(2, np.array([1, 1, 0]), sums, powers), Cell(3, np.array([1, 0, 2]))
    parts = cells((NORTH, weighted)), cells((NORTH, plain))
    for both in (parts[0] + parts[1], parts[1] + parts[0]):
        total = cells_of(both)[NORTH]
        assert total.rows == 5
        assert total.reported.tolist() == [2, 1, 2]
        assert total.weights.tolist() == [[1.5, 2.0, 2.0], [1.25, 4.0, 2.0]]
        assert total.powers.tolist() == [5.5, 7.25, 5.5, 7.25]
    assert plain == Cell(3, plain.reported, np.array([plain.reported] * 2), np.full(4, 3.0))
    assert cells_of(parts[1] + parts[1])[NORTH].weights is None
    assert weighted != Cell(2, np.array([1, 1, 0]))
    assert parts[0] + parts[1] == parts[1] + parts[0] != parts[0] + parts[0]


# -- equality and copies ------------------------------------------------------------------------


def test_equality():
    """Equal in mechanism, counts, cells and missing; nothing else is equal."""
    whole = rr.tally(REPORTS, M)
    assert whole == rr.tally(REPORTS[::-1], M)
    for other in (
        rr.tally(REPORTS[1:], M),
        rr.Tally.from_counts([3, 2, 1], M),
        rr.Tally.from_counts(COUNTS, M, n_missing=1),
        rr.Tally.from_counts(COUNTS, rr.KRR(M.categories, 0.8)),
        cells((NORTH, Cell(6, np.array(COUNTS)))),
        COUNTS,
        None,
    ):
        assert whole != other
    assert Cell(1, np.array([1, 0])) != "cell"


def test_copies():
    """Pickles and copies are equal, and share no counts that could be changed."""
    whole = rr.tally([*REPORTS, None], M)
    for again in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        assert whole == again
    whole.reported[:] = 0  # an array of its own each time it is asked
    assert whole.reported.tolist() == COUNTS
    assert repr(whole) == f"Tally(n=6, n_missing=1, {M!r})"


@pytest.mark.parametrize("kind", ["strata", "clusters", "a full deck"])
def test_groups_of_one_sample_add_to_the_sample(kind):
    """The rows of the sample count once, however many of its groups are added; of two, twice."""
    reports = ["yes", "no", "yes", "yes", "no", "no"] * 10
    columns = {"r": reports, "by": list("abccba") * 10, "unit": np.repeat([1, 2, 3], 20)}
    frame = pd.DataFrame(columns)
    mechanism = rr.KRR(["no", "yes"], 0.75)
    options = {"blocks": "unit"}
    if kind == "a full deck":
        mechanism = rr.surveys.garbling(["no", "yes"], 0.4, into="yes", deck=20)
    else:
        options = {"design": rr.SampleDesign(**{kind: "unit"})}
    whole = frame.rr.tally("r", mechanism, **options)
    groups = frame.rr.tally("r", mechanism, by="by", **options)
    added = groups["a"] + groups["b"] + groups["c"]
    assert whole == added
    assert rr.estimate(whole).std_error.tolist() == rr.estimate(added).std_error.tolist()
    of_two = [tally.counts.drawn.tolist() for tally in (whole + whole, groups["a"] + groups["a"])]
    assert [[40, 40, 40]] * 2 == of_two


@pytest.mark.parametrize("kind", ["strata", "clusters", "weights"])
def test_groups_of_two_samples_add_in_any_order(kind):
    """Regions over months or months over regions: the rows of each month count once."""
    mechanism = rr.KRR(["no", "yes"], 0.75)
    groups, whole = [], []
    for month, missing in ((1, 0), (2, 7)):
        reports = pd.Series((["yes", "no", "yes", "no", "no"] * 12)[month:], dtype=object)
        reports[:missing] = None
        n = len(reports)
        units = pd.Series(2.0 ** (np.arange(n) * month % 3 + month))
        design = rr.SampleDesign(**{kind: units})
        by = pd.Series(list("abccb") * 12)[:n]
        groups.append(rr.tally(reports, mechanism, by=by, design=design))
        whole.append(rr.tally(reports, mechanism, design=design))
    of_regions = [groups[0][region] + groups[1][region] for region in "abc"]
    expected = rr.estimate(sum(whole)).std_error.tolist()
    for added in (sum(of_regions), of_regions[2] + sum(of_regions[:2]), sum(whole)):
        assert sum(whole) == added
        assert pytest.approx(expected, rel=1e-12) == rr.estimate(added).std_error.tolist()
    twice = of_regions[2] + of_regions[1]
    refused(ArgumentValueError, "a group is in both", lambda: twice + of_regions[1] + twice)
