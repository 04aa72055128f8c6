"""Plans of a frame: a public coin picks what a row reports, with the whole budget of the row."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scripted import EveryStream

import rrstats as rr
from rrstats.data.categories import Categories
from rrstats.mechanisms.epsilon import allowed_ratio
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


# -- the law of a row: exact ------------------------------------------------------------------

PARTS = {"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False]}
ANSWERS = {"a": [0, 1, None, 7], "b": ["x", "y", "z", None, "w"], "c": [True, False, None]}
SINGLES = rr.FramePlan({"a": PARTS["a"], "c": PARTS["c"]}, 1.25, ["a", "c"], chances=[1, 3])
PAIR = rr.FramePlan({"a": PARTS["a"], "b": PARTS["b"]}, 1.25, [("b", "a")])
MIXED = rr.FramePlan(PARTS, 0.75, [("a", "b"), "c", ("c", "a"), "a"], chances=[0.3, 2, 1e-3, 5])


def truths_of(plan):
    """All answers of a row, with missing ones and unknown ones."""
    return list(itertools.product(*(ANSWERS[name] for name in plan.categories)))


def law_of(plan, truth):
    """P(row of reports | answers) as fractions: a report is (part, its answers)."""
    whole, law = sum(map(Fraction, plan.chances)), Counter()
    answers = dict(zip(plan.categories, truth, strict=True))
    for part, chance, mechanism in zip(plan.parts, plan.chances, plan.part_mechanisms, strict=True):
        p, k = Fraction(mechanism.prob), mechanism.domain.k
        domains = [plan.categories[name].categories for name in part]
        own = [
            [answers[name]] if answers[name] in domain else domain
            for name, domain in zip(part, domains, strict=True)
        ]
        every = list(itertools.product(*own))  # equally likely, where an answer is replaced
        for report in itertools.product(*domains):
            same = Fraction(every.count(report), len(every))
            cell = p * same + (1 - p) / (k - 1) * (1 - same)
            law[part, report] = Fraction(chance) / whole * cell
    return law


@pytest.mark.parametrize("plan", [SINGLES, PAIR, MIXED], ids=["singles", "pair", "mixed"])
def test_a_row_has_the_epsilon_that_was_asked_for(plan):
    """For any two rows of answers, in all columns at once, each row of reports: exact bound."""
    laws = [law_of(plan, truth) for truth in truths_of(plan)]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
    assert worst <= allowed_ratio(plan.epsilon)
    assert float(worst) == pytest.approx(np.exp(plan.epsilon), rel=1e-12)


@pytest.mark.parametrize(
    ("plan", "depths"),
    [
        (SINGLES, {0: 1, 1 << 20: 1, (1 << 20) + 0xFFFF: 1}),
        (PAIR, {1 << 20: 1, (1 << 20) + 1: 1, (1 << 20) + 0xFFFF: 1, (1 << 20) + 0xFFFE: 1}),
    ],
    ids=["singles", "pair"],
)
def test_rows_are_drawn_from_that_law(plan, depths):
    """All streams of tiny words through `privatize` give the law of every row of answers."""
    for truth in truths_of(plan):
        source = EveryStream(4, depths)
        answers = zip(plan.categories, truth, strict=True)
        frame = pd.DataFrame(
            {name: pd.Series([one] * source.rows, dtype=object) for name, one in answers}
        )
        released = frame.rr.privatize(plan, rng=source, unknown="uniform")
        law = law_of(plan, truth)
        codes, outcomes = np.full(source.rows, -1), list(law)
        for code, (part, report) in enumerate(outcomes):
            mine = released["rr_asked"] == " & ".join(part)
            for name in plan.categories:
                held = released[name].isna()
                if name in part:
                    held = released[name] == report[part.index(name)]
                mine &= held
            codes[mine] = code
        found = source.law(codes, len(outcomes))
        assert found.undecided < Fraction(1, 4)
        assert found.brackets(list(law.values()))
