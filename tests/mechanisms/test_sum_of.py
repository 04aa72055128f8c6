"""Sum scores of several items: exact matrices, and the maxima of published sums."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.mechanisms.serialization import from_dict

DIE = rr.surveys.forced_response([0, 1], Fraction(2, 3), [Fraction(1, 6), Fraction(1, 6)])


@pytest.mark.parametrize("yes", [0, 1])
def test_the_sum_by_all_reports(yes):
    """P(sum of yes | number of attributes), over all reports of all items, in fractions."""
    item = rr.surveys.triangular([0, 1], Fraction(1, 5), yes=yes)
    m = rr.surveys.sum_of(item, 3)
    entries = item.channel.entries
    for traits in range(4):
        truths = [yes] * traits + [1 - yes] * (3 - traits)
        masses = [Fraction(0)] * 4
        for reports in product([0, 1], repeat=3):
            mass = Fraction(1)
            for report, truth in zip(reports, truths, strict=True):
                mass *= entries[report][truth]
            masses[reports.count(yes)] += mass
        assert [row[traits] for row in m.channel.entries] == masses
    assert from_dict(m.to_dict()) == m


@pytest.mark.parametrize(
    ("item", "counts", "expected", "deviance"),
    [
        # zapstRR's hunters, three birds; maximum by EM on the simplex, to 1e-15.
        (DIE, [96, 68, 23, 2], [0.8579392988947684, 0.07987874, 0.06218196, 0], 384.29397422733655),
        # zapstRR's students, items 2 and 4.
        (
            rr.MatrixDesign([0, 1], [[0.95, 0.45], [0.05, 0.55]]),
            [468, 223, 19],
            [0.5083098591549345, 0.4481690140844966, 0.04352112676056873],
            1044.222641191758,
        ),
    ],
    ids=["hunters", "students"],
)
def test_published_sums(item, counts, expected, deviance):
    """The maximum of the likelihood where R's package stops at 385.61 for the hunters."""
    m = rr.surveys.sum_of(item, len(counts) - 1)
    est = rr.estimate(rr.Tally.from_counts(counts, m))
    found = est.mle().proportions
    assert found == pytest.approx(expected, abs=1e-8)
    assert -2 * np.array(counts) @ np.log(m.channel.matrix @ found) == pytest.approx(
        deviance, abs=1e-8
    )


def test_the_mean_is_the_sum_of_the_items():
    """The mean of the sum is the sum of the unbiased proportions of the items."""
    rng = np.random.default_rng(1)
    items = rng.random((500, 4)) < 0.3
    m = rr.surveys.sum_of(DIE, 4)
    mean = rr.estimate(items.sum(axis=1).tolist(), m).mean(range(5)).value
    each = [rr.estimate(column.astype(int).tolist(), DIE).proportions[1] for column in items.T]
    assert mean == pytest.approx(sum(each), abs=1e-9)


def test_items_are_tested_for_independence():
    """Pearson's statistic of three items, by hand, and two in pairs."""
    rng = np.random.default_rng(3)
    trait = rng.random(900) < 0.4
    columns = {
        name: np.where(rng.random(900) < 0.7, trait, rng.random(900) < 0.4).astype(int)
        for name in "abc"
    }
    frame = pd.DataFrame({name: rr.simulate(c, DIE, seed=1) for name, c in columns.items()})
    designs = dict.fromkeys("abc", DIE)
    with pytest.warns(rr.errors.LowPrecisionWarning):
        table = rr.crosstab(frame, *"abc", mechanisms=designs)
    with pytest.warns(rr.errors.LowPrecisionWarning):
        weighted = rr.crosstab(frame.assign(w=2.0), *"abc", mechanisms=designs, weights="w")
    counts = frame.groupby(list("abc")).size().unstack().to_numpy().reshape(2, 2, 2)
    shares = [frame[name].value_counts(normalize=True).sort_index().to_numpy() for name in "abc"]
    expected = 900 * np.einsum("i,j,k->ijk", *shares)
    test = rr.hypotheses.independence(table)
    assert test.df == 4
    assert test.statistic == pytest.approx(((counts - expected) ** 2 / expected).sum())
    pair = rr.hypotheses.independence(table.margin("a", "b"))
    assert (pair.df, pair.null) == (1, "independence")
    with pytest.raises(ArgumentValueError, match="test them in pairs"):
        rr.hypotheses.independence(weighted)


@pytest.mark.slow
def test_level_of_the_test_of_items():
    """Independent items are rejected in 5% of 2,000 surveys of 300, up to 4 standard errors."""
    rng = np.random.default_rng(4)
    rate = DIE.channel.matrix[1] @ [0.7, 0.3]
    rejected = 0
    for _ in range(2000):
        reports = rng.random((300, 3)) < rate
        cells = np.bincount(reports @ [4, 2, 1], minlength=8).reshape(2, 2, 2)
        table = rr.estimators.Crosstab.from_counts(cells, dict.fromkeys("abc", DIE))
        rejected += rr.hypotheses.independence(table).p_value < 0.05
    assert abs(rejected / 2000 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_items_up_to_60():
    """The largest number that the docstring names is taken, and its epsilon is that of 60 reports.

    A list experiment's limit of 20 had replaced it.
    """
    m = rr.surveys.sum_of(DIE, 60)
    assert m.k == 61
    assert m.epsilon == pytest.approx(60 * DIE.epsilon, rel=1e-12)


@pytest.mark.parametrize(
    ("design", "items", "error", "message"),
    [
        ("die", 2, ArgumentTypeError, "design must be"),
        (rr.KRR(list("abc"), 0.5), 2, ArgumentValueError, "two categories and two reports"),
        (rr.surveys.kuk([0, 1], 0.8, 0.2, draws=2, yes=1), 2, ArgumentValueError, "two reports"),
        (rr.surveys.extended_crosswise([0, 1], 0.2, yes=1), 2, ArgumentValueError, "one sample"),
        (DIE, 1, ArgumentValueError, "items must be"),
        (DIE, 61, ArgumentValueError, "items must be"),
    ],
)
def test_bad_input(design, items, error, message):
    """Designs whose yes reports cannot be counted are refused."""
    with pytest.raises(error, match=message):
        rr.surveys.sum_of(design, items)
