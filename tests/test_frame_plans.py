"""Plans of a frame: a public coin picks what a row reports, with the whole budget of the row."""

from __future__ import annotations

from fractions import Fraction

import pytest

import rrstats as rr
from rrstats.data.categories import Categories
from rrstats.mechanisms.serialization import part_label, part_mechanism, plan_mechanisms

DOMAINS = {
    "a": Categories([0, 1]),
    "b": Categories({1: "low", 2: "middle", 3: "high"}),
    "c": Categories(["x", "y", None]),
}


def test_marginals_of_a_pair_are_its_sums():
    """Each column of a pair has the k-RR that sums the pair's probabilities, for unequal k."""
    for names in (("a", "b"), ("b", "a"), ("b", "c")):
        domains = [DOMAINS[name] for name in names]
        pair = part_mechanism(domains, 1.5)
        assert pair.epsilon <= 1.5 < pair.epsilon + 1e-15
        marginals = plan_mechanisms(dict(zip(names, domains, strict=True)), [names], 1.5)
        assert [marginals[name].domain for name in names] == domains
        p = Fraction(pair.prob)
        for place, name in enumerate(names):
            true = next(iter(pair.domain.categories))  # by symmetry, one pair is all
            agrees = [cell[place] == true[place] for cell in pair.domain.categories]
            q = (1 - p) / (pair.k - 1)
            exact = p + q * (sum(agrees) - 1)
            assert abs(Fraction(marginals[name].prob) - exact) <= Fraction(1, 2**53)


def test_marginals_that_differ_by_part_are_samples():
    """Only a column whose parts differ in distribution has a mechanism for each of them."""
    found = plan_mechanisms(DOMAINS, [("a",), ("b", "a"), ("b", "c")], 2)
    assert found["a"].groups == ("a", "b & a")
    assert found["a"].parts[0] == rr.KRR([0, 1], epsilon=2)
    assert found["b"].groups == ("b & a", "b & c")
    assert found["b"].parts[0] != found["b"].parts[1]
    assert found["c"].groups is None
    assert found["c"].domain == DOMAINS["c"]
    assert plan_mechanisms(DOMAINS, [("a", "b"), ("a", "c")], 2)["a"].groups is None
    assert found["b"].domain.declared == {1: "low", 2: "middle", 3: "high"}
    assert part_label(("b", 3)) == "b & 3"


def test_marginals_at_the_ends_of_the_doubles():
    """An epsilon near the ends of what doubles can give has marginals all the same."""
    for epsilon in (1e-15, 38.0):
        names = ("a", "b")
        found = plan_mechanisms({name: DOMAINS[name] for name in names}, [names], epsilon)
        assert all(1 / one.k <= one.prob < 1 for one in found.values())
    with pytest.raises(rr.errors.ArgumentValueError, match="the largest possible is"):
        part_mechanism([DOMAINS["a"], DOMAINS["b"]], 40.0)
