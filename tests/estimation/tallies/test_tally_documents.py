"""JSON documents of tallies: every form comes back, and impossible documents are refused."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from catalogue import FAMILIES

import rrstats as rr
from rrstats.errors import ArgumentValueError, MetadataError

COIN = rr.KRR(["no", "yes"], 0.75)
MECHANISMS = {f"{family}, {name}": m for family, ms in FAMILIES.items() for name, m in ms.items()}


def stored(tally):
    """The tally after a stay in JSON."""
    return rr.Tally.from_dict(json.loads(json.dumps(tally.to_dict(), allow_nan=False)))


def without_form(mechanism):
    """True for labels that have no JSON form, which mechanisms refuse, too."""
    try:
        mechanism.to_dict()
    except ArgumentValueError:
        return True
    return False


@pytest.mark.parametrize("name", MECHANISMS)
def test_counts_of_each_mechanism_come_back(name):
    """Counts, mechanism and missing reports, also of bits and of several samples."""
    mechanism = MECHANISMS[name]()
    if without_form(mechanism):
        m = rr.Tally.from_counts([0] * mechanism.k, mechanism)
        with pytest.raises(ArgumentValueError):
            m.to_dict()
        return
    rng = np.random.default_rng(1)
    group = None if mechanism.groups is None else rng.choice(list(mechanism.groups), 60)
    answers = list(rng.choice(np.arange(mechanism.k), 60))
    words = [mechanism.domain.categories[code] for code in answers]
    reports = rr.simulate(words, mechanism, seed=3, group=group, unknown="uniform")
    counted = rr.tally(reports, mechanism, group=group)
    again = stored(counted)
    assert counted == again
    assert (counted.n, counted.n_missing) == (again.n, again.n_missing)
    assert (2 * counted.reported).tolist() == (again + counted).reported.tolist()


@pytest.mark.parametrize(
    "parts", [{}, {"strata": "s"}, {"clusters": "c"}, {"strata": "s", "clusters": "c"}]
)
@pytest.mark.parametrize("weights", [None, "w"])
def test_counts_of_a_design_come_back_exactly(parts, weights):
    """Units, sampled rows outside a group, and sums of weights to the last bit; they still add.

    Estimates add the units in another order, which moves the last digits.
    """
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "x": rng.choice(["no", "yes"], 90),
            "g": rng.choice(["a", "b"], 90),
            "s": rng.choice(["n", "s"], 90),
            "c": rng.choice(12, 90),
            "w": rng.random(90) + 0.1,
        }
    )
    frame["c"] = frame["s"] + frame["c"].astype(str)
    design = rr.SampleDesign(weights=weights, **parts)
    for by in (None, "g"):
        counted = rr.tally(frame, COIN, columns="x", by=by, design=design)
        for tally in [counted] if by is None else counted.values():
            again = stored(tally)
            assert tally == again
            assert tally.sampled == again.sampled
            expected = rr.estimate(tally).std_error.tolist()
            assert expected == pytest.approx(rr.estimate(again).std_error.tolist(), rel=1e-12)
    halves = [rr.tally(part, COIN, columns="x", design=design) for part in (frame[:40], frame[40:])]
    whole = stored(halves[0]) + stored(halves[1])
    assert halves[0] + halves[1] == whole


def test_weights_of_zero_and_a_sample_without_rows_come_back():
    """1/0 is no number of JSON; an empty sample with weights has no units."""
    frame = pd.DataFrame({"x": ["no", "yes", None, "no"], "w": [0.0, 2.0, 0.0, 1.0]})
    frame["c"] = [1, 1, 2, 3]
    for design in (rr.SampleDesign(weights="w"), rr.SampleDesign(weights="w", clusters="c")):
        for rows in (frame, frame[:0]):
            counted = rr.tally(rows, COIN, columns="x", design=design)
            again = stored(counted)
            assert counted == again
            assert counted + counted == again + counted
            expected = rr.estimate(counted).covariance
            np.testing.assert_array_equal(expected, rr.estimate(again).covariance)


def test_a_week_of_counts_is_estimated_as_one_file():
    """A service stores a day's counts; the sum of the week gives the estimate of all reports."""
    reports = rr.simulate(["no", "yes", "no"] * 70, COIN, seed=1)
    days = [json.dumps(rr.tally(reports[at : at + 30], COIN).to_dict()) for at in range(0, 210, 30)]
    week = sum(rr.Tally.from_dict(json.loads(day)) for day in days)
    assert rr.tally(reports, COIN) == week
    expected = rr.estimate(reports, COIN).to_frame()
    pd.testing.assert_frame_equal(expected, rr.estimate(week).to_frame())


def test_a_column_of_a_plan_keeps_its_plan():
    """The plan is part of the tally, and decides with which others it adds up."""
    frame = pd.DataFrame({"x": ["no", "yes"] * 50, "y": ["a", "b"] * 50})
    plan = rr.planning.FramePlan({"x": ["no", "yes"], "y": ["a", "b"]}, 1, ["x", ("x", "y")])
    counted = rr.tally(frame.rr.privatize(plan), columns=["x", "y"])
    for tally in counted.values():
        again = stored(tally)
        assert (tally, tally.plan) == (again, again.plan)
        assert 2 * tally.n == (tally + again).n
        assert rr.estimate(tally).std_error.tolist() == rr.estimate(again).std_error.tolist()


def test_the_document_of_a_plain_tally_is_short():
    """The format, which never changes its meaning."""
    counted = rr.tally(["no", "yes", "no", None], COIN)
    expected = {"v": 1, "mechanism": COIN.to_dict(), "n": 3, "reported": [2, 1], "n_missing": 1}
    assert expected == counted.to_dict()


def test_other_documents_are_refused_with_their_reason():
    """Versions, keys, shapes, and counts that no reports can have."""
    plain = rr.tally(["no", "yes", "no"], COIN).to_dict()
    design = rr.SampleDesign(strata=[1, 1, 2], weights=[1, 2, 3])
    designed = rr.tally(["no", "yes", "no"], COIN, design=design).to_dict()

    def weighted(**changes):
        return {**designed["units"], **changes}

    bits = rr.Tally.from_counts(
        [3, 0, 0], rr.mechanisms.UnaryEncoding(list("abc"), 0.75, 0.25), n=5
    ).to_dict()
    cases = [
        (plain, {"v": 2}, "v is not 1"),
        (plain, {"extra": 1}, "unknown keys"),
        (plain, {"reported": [2, 1, 0]}, "shape"),
        (plain, {"reported": [2.5, 0.5]}, "whole numbers"),
        (plain, {"reported": [-1, 4]}, "at least 0"),
        (plain, {"reported": [[2, 1]]}, "dimension"),
        (plain, {"reported": "many"}, "numbers"),
        (plain, {"n": 4}, "n must be the number of reports"),
        (plain, {"n": None}, "n must be a number"),
        (plain, {"n_missing": -1}, "n_missing"),
        (plain, {"mechanism": {"type": "Other"}}, "type must be one of"),
        (plain, {"plan": {"v": 1}}, "plan"),
        (bits, {"n": 2}, "n must be the number of reports"),
        (designed, {"n": [2]}, "shape"),
        (designed, {"n": [2, 9]}, "more reports than sampled"),
        (designed, {"units": {**designed["units"], "weights": [[1.0]]}}, "weights must have"),
        (designed, {"units": {**designed["units"], "other": 1}}, "units must have"),
        (designed, {"units": {"strata": [1]}}, "units must have"),
        (
            designed,
            {"units": weighted(weights=[[[9.0, 2], [3, 0]], [[1, 4], [9, 0]]])},
            "same rows",
        ),
        (designed, {"units": weighted(weights=[[[0.0, 0], [0, 0]]] * 2)}, "same rows"),
        (designed, {"units": weighted(weights=[[[1.0, 2], [2, 1]], [[1, 4], [8, 1]]])}, "nobody"),
        (
            designed,
            {"units": weighted(powers=[[3, None], [5, 9], [1.5, 1 / 3], [1.25, 1 / 9]])},
            "null",
        ),
        (designed, {"units": {**designed["units"], "strata": [1, 1]}}, "units must differ"),
    ]
    for document, change, reason in cases:
        changed = copy.deepcopy(document) | change
        with pytest.raises(MetadataError, match=reason):
            rr.Tally.from_dict(changed)
    for document in (None, [], "text", {key: plain[key] for key in ("v", "mechanism")}):
        with pytest.raises(MetadataError):
            rr.Tally.from_dict(document)
