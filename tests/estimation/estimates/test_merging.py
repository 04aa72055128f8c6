"""Merged categories: the sums of their proportions, for every design of one matrix."""

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.estimate import Estimate
from rrstats.estimation.tallies.tally import Tally, UnitCounts
from rrstats.mechanisms.channel import expected_rates

ANSWERS = ["never", "sometimes", "often"]
MERGED = {"no": ["never"], "yes": ["sometimes", "often"]}
SUMS = np.array([[1, 0, 0], [0, 1, 1]])
EST = rr.estimate(rr.Tally.from_counts([600, 250, 150], rr.KRR(ANSWERS, 0.8)))


def test_merged_proportions_are_sums():
    """Proportions and covariance are those of sums, for both targets."""
    for target in ("population", "sample"):
        est = rr.estimate(EST.tally, target=target)
        merged = est.merge(MERGED)
        assert ("no", "yes") == merged.categories
        assert merged.proportions == pytest.approx(SUMS @ est.proportions, abs=1e-12)
        assert merged.covariance == pytest.approx(SUMS @ est.covariance @ SUMS.T, abs=1e-12)
        assert (target, est.n) == (merged.target, merged.n)


def test_a_single_name_and_none_need_no_list():
    """A category by itself, or non-response, keeps its place in the sums."""
    est = rr.estimate(rr.Tally.from_counts([500, 300, 200], rr.KRR(["no", "yes", None], 0.8)))
    merged = est.merge({"answered": ["no", "yes"], None: None})
    assert merged.proportions == pytest.approx([est.proportions[:2].sum(), est.proportions[2]])


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in SILENT])
def test_every_design_of_one_matrix_merges(name):
    """The first category keeps its proportion, with no larger variance; the others are summed."""
    mechanism = EXAMPLES[name]()
    channel = mechanism.channel
    if not channel.is_multinomial or mechanism.k < 2:
        pytest.skip("its reports name several categories, or it has one category")
    classes = len(channel.class_of)
    reported = np.rint(expected_rates(channel, np.full(classes, 1 / classes)) * 1e6).astype(int)
    est = Estimate(Tally(mechanism, UnitCounts.of_sample(int(reported.sum()), reported)))
    first, *others = est.categories
    merged = est.merge({"first": [first], "others": others})
    assert merged.proportions == pytest.approx(
        [est.proportions[0], est.proportions[1:].sum()], abs=1e-9
    )
    # Less where a design has an estimator of its own, which is not the one of least variance.
    assert merged.variance[0] <= est.variance[0] * 1.001


def test_categories_that_are_left_out_stay():
    """Also those of a design with latent classes, whose classes stay in their category."""
    merged = EST.merge({"yes": ["sometimes", "often"]})
    assert ("never", "yes") == merged.categories
    assert merged.proportions == pytest.approx(SUMS @ EST.proportions)
    design = rr.surveys.unrelated_question_two_samples(["no", "yes"], [0.7, 0.2], yes="yes")
    counts = dict(zip(design.groups, ([60, 40], [50, 50]), strict=True))
    est = rr.estimate(rr.Tally.from_counts(counts, design))
    trait = [each for each in design.domain.categories if each[0] == "yes"]
    kept = est.merge({"has it": trait})
    assert kept.proportions == pytest.approx(est.proportions)


def test_groups_and_designs_merge():
    """Groups are merged one by one; weights and clusters stay."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"answer": rng.choice(ANSWERS, 300), "sex": ["f", "m"] * 150})
    weights = rng.uniform(1, 3, 300)
    mechanism = rr.KRR(ANSWERS, 0.8)
    groups = rr.estimate(frame, mechanism, columns="answer", by="sex")
    merged = groups.merge(MERGED)
    assert merged["f"].proportions == pytest.approx(SUMS @ groups["f"].proportions)
    assert ["no", "yes"] * 2 == merged.to_frame()["category"].tolist()
    design = rr.SampleDesign(weights=weights, clusters=np.arange(300) // 10)
    est = rr.estimate(frame["answer"], mechanism, design=design)
    found = est.merge(MERGED)
    assert found.proportions == pytest.approx(SUMS @ est.proportions)
    assert found.covariance == pytest.approx(SUMS @ est.covariance @ SUMS.T, rel=1e-9)


def test_merging_refuses():
    """Categories in none or two of the new ones; reports of several; other containers."""
    for wrong in (
        {"never": ["often"]},
        {"a": ["x"]},
        {"a": ANSWERS, "b": ["often"]},
        {"a": [*ANSWERS, "x"]},
    ):
        with pytest.raises(ArgumentValueError, match="in one new category"):
            EST.merge(wrong)
    with pytest.raises(ArgumentTypeError, match="a mapping from new category"):
        EST.merge([ANSWERS])
    bits = rr.mechanisms.UnaryEncoding(ANSWERS, 0.75, 0.25)
    named = rr.estimate(rr.simulate(ANSWERS * 50, bits, seed=1), bits)
    with pytest.raises(ArgumentValueError, match=r"est\.mean"):
        named.merge(MERGED)
