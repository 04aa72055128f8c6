"""Plans of a frame: a public coin picks what a row reports, with the whole budget of the row."""

import itertools
import json
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting, EveryStream, Scripted

import rrstats as rr
from rrstats._display import chance
from rrstats.data.categories import Categories
from rrstats.estimation.report_columns.report_frames import plan_records
from rrstats.mechanisms.epsilon import allowed_ratio
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.plans import part_label, part_mechanism, plan_mechanisms
from rrstats.mechanisms.records import read
from rrstats.mechanisms.row_privacy import row_epsilon, row_mechanisms
from rrstats.privatization.frame_release import FrameRelease
from rrstats.randomness.sources import BLOCK_ROWS
from rrstats.statement import describe

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


# -- the distribution of a row: exact ----------------------------------------------------------

PARTS = {"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False]}
ANSWERS = {"a": [0, 1, None, 7], "b": ["x", "y", "z", None, "w"], "c": [True, False, None]}
SINGLES = rr.planning.FramePlan(
    {"a": PARTS["a"], "c": PARTS["c"]}, 1.25, ["a", "c"], chances=[1, 3]
)
PAIR = rr.planning.FramePlan({"a": PARTS["a"], "b": PARTS["b"]}, 1.25, [("b", "a")])
MIXED = rr.planning.FramePlan(
    PARTS, 0.75, [("a", "b"), "c", ("c", "a"), "a"], chances=[0.3, 2, 1e-3, 5]
)


def truths_of(plan):
    """All answers of a row, with missing ones and unknown ones."""
    return list(itertools.product(*(ANSWERS[name] for name in plan.categories)))


def distribution_of(plan, truth):
    """P(row of reports | answers) as fractions: a report is (part, its answers)."""
    whole, distribution = sum(map(Fraction, plan.chances)), Counter()
    answers = dict(zip(plan.categories, truth, strict=True))
    for part, number, mechanism in zip(plan.parts, plan.chances, plan.part_mechanisms, strict=True):
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
            distribution[part, report] = Fraction(number) / whole * cell
    return distribution


@pytest.mark.parametrize("plan", [SINGLES, PAIR, MIXED], ids=["singles", "pair", "mixed"])
def test_a_row_has_the_epsilon_that_was_asked_for(plan):
    """For any two rows of answers, in all columns at once, each row of reports: exact bound."""
    distributions = [distribution_of(plan, truth) for truth in truths_of(plan)]
    assert all(sum(distribution.values()) == 1 for distribution in distributions)
    worst = max(
        max(distribution[y] for distribution in distributions)
        / min(distribution[y] for distribution in distributions)
        for y in distributions[0]
    )
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
def test_rows_are_drawn_from_that_distribution(plan, depths):
    """All streams of tiny words through `privatize` give the distribution of each row."""
    for truth in truths_of(plan):
        source = EveryStream(4, depths)
        answers = zip(plan.categories, truth, strict=True)
        frame = pd.DataFrame(
            {name: pd.Series([one] * source.rows, dtype=object) for name, one in answers}
        )
        released = frame.rr.privatize(plan, rng=source, unknown="uniform")
        distribution = distribution_of(plan, truth)
        codes, outcomes = np.full(source.rows, -1), list(distribution)
        for code, (part, report) in enumerate(outcomes):
            mine = released["rr_asked"] == " & ".join(part)
            for name in plan.categories:
                held = released[name].isna()
                if name in part:
                    held = released[name] == report[part.index(name)]
                mine &= held
            codes[mine] = code
        found = source.distribution(codes, len(outcomes))
        assert found.undecided < Fraction(1, 4)
        assert found.brackets(list(distribution.values()))


# -- plans: what is asked for, and what cannot be ---------------------------------------------


def test_planning_chooses_the_parts():
    """Proportions ask one column of a row, pairs two; a list is taken as it is."""
    frame = rr.planning.plan
    assert frame(PARTS, 2).parts == (("a",), ("b",), ("c",))
    assert frame(PARTS, 2, "pairs").parts == (("a", "b"), ("a", "c"), ("b", "c"))
    mixed = frame(PARTS, 2, [("c", "a"), "b", ["a", "b"]], chances=[1, 2, 5], asked="which")
    assert mixed.labels == ("c & a", "b", "a & b")
    assert (mixed.chances, mixed.asked, mixed.epsilon) == ((1.0, 2.0, 5.0), "which", 2.0)
    refused(rr.errors.ArgumentValueError, "want must be one of", frame, PARTS, 2, "tables")


BAD = {
    "no parts": ({"parts": []}, "found 0 parts of 3 columns"),
    "a column in no part": (
        {"parts": ["a", "b"]},
        "is in none; add them to a part",
    ),
    "an unknown column": ({"parts": ["a", "b", "c", "d"]}, "1 names that are no column"),
    "a column twice": ({"parts": ["a", "b", "c", "a"]}, "no part twice"),
    "a pair turned": ({"parts": [("a", "b"), "c", ("b", "a")]}, "no part twice"),
    "three together": ({"parts": [("a", "b", "c")]}, "pairs of two"),
    "parts as text": ({"parts": "abc"}, "parts must be a list"),
    "a chance of 0": ({"chances": [1, 0, 1]}, "chances must be in "),
    "a huge chance": ({"chances": [1, 1, 1e308]}, r"chances must be in \(0, 1e\+100\]"),
    "few chances": ({"chances": [1, 2]}, "chances must have 3 numbers, found 2"),
    "a tiny epsilon": ({"epsilon": 1e-300}, "epsilon must be a finite number of at least 1e-15"),
    "a huge epsilon": ({"epsilon": 50}, "the largest possible is"),
    "asked is a list": ({"asked": ["b"]}, "asked must be the name"),
    "asked is private": ({"asked": "b"}, "asked must be the name of a new column"),
    "no mapping": ({"columns": ["a", "b", "c"]}, "columns must be a mapping"),
}


@pytest.mark.parametrize("case", BAD)
def test_plans_that_cannot_be_are_refused(case):
    """Each rule of a plan, with what is wrong."""
    change, text = BAD[case]
    given = {"columns": PARTS, "epsilon": 2, "parts": ["a", "b", "c"]} | change
    with pytest.raises((rr.errors.ArgumentValueError, rr.errors.ArgumentTypeError), match=text):
        rr.planning.FramePlan(
            given.pop("columns"), given.pop("epsilon"), given.pop("parts"), **given
        )


def test_asked_fractions_and_variances_by_hand():
    """Shares of the chances, and rate (1 - rate) / (p - q)^2 over the share of rows asked.

    The cells of a 2 x 2 table have three contrasts of equal variance; that of a's margin is taken
    from the pair and from a alone, weighted by (p - q)^2 of equal chances.
    """
    coin = [0, 1]
    plan = rr.planning.FramePlan(
        dict.fromkeys("abc", coin), 2, [("a", "b"), "c", "a"], chances=[1, 2, 1]
    )
    fractions = {"a": 0.5, "b": 0.25, "c": 0.5}
    assert {name: plan.asked_fraction(name) for name in "abc"} == fractions
    assert plan.asked_fraction("a", "b") == plan.asked_fraction("b", "a") == 0.25
    assert plan.asked_fraction("a", "c") == 0
    table = plan.variances(0.2).set_index("estimate")

    def variance(mechanism, proportion):
        p, q = mechanism.prob, (1 - mechanism.prob) / (mechanism.k - 1)
        rate = q + proportion * (p - q)
        return rate * (1 - rate) / (p - q) ** 2

    single, pair = rr.KRR(coin, epsilon=2), rr.KRR(range(4), epsilon=2)
    divided = rr.KRR(coin, epsilon=2 / 3)
    assert table["variance"]["c"] == pytest.approx(variance(single, 0.2) / 0.5)
    gap, gap_alone = ((each.prob * each.k - 1) / (each.k - 1) for each in (pair, single))
    contrast = variance(pair, 0.25) / 0.25 / 3
    expected = contrast * (2 + gap**2 / (gap**2 + gap_alone**2))
    assert table["variance"]["a & b"] == pytest.approx(expected)
    assert table["divided"]["c"] == pytest.approx(variance(divided, 0.2))
    # A cell of two independent columns: E[x^2] E[y^2] - 1/16, where E[x] = E[y] = 1/2.
    assert table["divided"]["a & b"] == pytest.approx((variance(divided, 0.5) + 0.25) ** 2 - 1 / 16)
    assert table["asked"].tolist() == [0.5, 0.25, 0.5, 0.25]


def test_parts_are_equally_likely_by_default():
    """Each part has the chance 1 of as many as there are parts."""
    assert rr.planning.FramePlan({"a": [0, 1], "b": [0, 1]}, 1, ["a", "b"]).chances == (1.0, 1.0)


def test_labels_that_clash_are_refused():
    """A label of the public column must say one part, however it is spelled."""
    for columns, parts in (
        ({"a": [0, 1], "b": [0, 1], "a & b": [0, 1]}, [("a", "b"), "a & b"]),
        ({1: [0, 1], "1": [0, 1]}, [1, "1"]),
        ({"\u00e9": [0, 1], "e\u0301": [0, 1]}, ["\u00e9", "e\u0301"]),
    ):
        with pytest.raises(rr.errors.ArgumentValueError, match="with the label of another"):
            rr.planning.FramePlan(columns, 1, parts)


def test_plans_go_through_json():
    """Names and categories of every kind, chances and the public column come back."""
    plan = rr.planning.FramePlan(
        {("x", 1): {1: "low", 2: "high"}, 2020: [None, True], "d": [0.5, b"x"]},
        1.5,
        [(("x", 1), 2020), "d", [2020, "d"]],
        chances=[0.1, 3, 1e-9],
        asked=("rr", "asked"),
    )
    document = json.loads(json.dumps(plan.to_dict()))
    assert rr.planning.FramePlan.from_dict(document) == plan
    by_hand = {"type": "FramePlan", "columns": [{"name": "a", "categories": [0, 1]}]}
    by_hand |= {"epsilon": 2, "parts": [["a"]]}
    assert rr.planning.FramePlan.from_dict(by_hand) == rr.planning.FramePlan(
        {"a": [0, 1]}, 2, ["a"]
    )
    columns = by_hand["columns"]
    for wrong in (
        {"type": "KRR"},
        {"epsilon": None},
        {"parts": [[]]},
        {"parts": [["b"]]},
        {"columns": columns * 2},
        {"columns": {"a": [0, 1]}},
        {"chances": [0]},
        {"asked": {"strange": 1}},
        {"more": 1},
    ):
        with pytest.raises(rr.errors.MetadataError):
            rr.planning.FramePlan.from_dict(by_hand | wrong)
    for other in (None, [], "FramePlan", {}):
        with pytest.raises(rr.errors.MetadataError, match="plan of a frame cannot be used"):
            rr.planning.FramePlan.from_dict(other)


def test_the_document_of_a_release_holds_its_plan():
    """A plan is read from what its release says of itself; a lost column is an error."""
    released = FRAME.rr.privatize(MIXED, unknown="uniform")
    document = json.loads(json.dumps(released.attrs["rrstats"]))
    assert rr.planning.FramePlan.from_dict(document) == MIXED
    document["columns"].pop()
    with pytest.raises(rr.errors.MetadataError, match="exactly the columns of its parts"):
        rr.planning.FramePlan.from_dict(document)


def test_a_record_has_the_plan_without_the_categories_of_other_columns():
    """It is a FramePlan with equal facts; what needs all categories names the way to them."""
    records = read(FRAME.rr.privatize(MIXED, unknown="uniform").attrs)
    (plan,) = {record.plan for record in records}
    assert (FramePlan, MIXED.recorded) == (type(plan), plan)
    assert (MIXED.asked, MIXED.epsilon) == (plan.asked, plan.epsilon)
    assert (MIXED.parts, MIXED.chances) == (plan.parts, plan.chances)
    assert MIXED != plan
    assert {} == plan.categories
    assert repr(plan).startswith("FramePlan(asked='rr_asked', epsilon=")
    for call in (
        plan.variances,
        plan.to_dict,
        lambda: plan.half_width(99, "a"),
        plan.asked_fraction,
    ):
        refused(rr.errors.MetadataError, "FramePlan.from_dict", call)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "it has unknown keys \\['more'\\]; known are"),
        ({"columns": [{"name": "a"}]}, "a column needs \\['categories'\\]"),
        ({"columns": [{"name": "a", "categories": [0, 1], "k": 2}]}, "unknown keys \\['k'\\]"),
        ({"type": "KRR"}, "its type is 'KRR', not 'FramePlan'"),
        ({"parts": "a"}, "parts must be a list"),
    ],
)
def test_a_document_is_read_strictly(change, message):
    """The error names the key: an unknown one may change what the plan does."""
    document = {"type": "FramePlan", "columns": [{"name": "a", "categories": [0, 1]}]}
    document |= {"epsilon": 2, "parts": [["a"]]}
    assert rr.planning.FramePlan({"a": [0, 1]}, 2, ["a"]) == FramePlan.from_dict(document)
    with pytest.raises(rr.errors.MetadataError, match=message):
        FramePlan.from_dict(document | change)


def test_a_plan_says_what_it_cannot_give():
    """The parts with their chances, regressions, and the tables of what is never asked together."""
    shown = repr(MIXED)
    assert "epsilon 0.75 for a whole row" in shown
    assert "a logit with two: no row reports them all" in " ".join(shown.split())
    assert "never asked together: b & c" in " ".join(shown.split())
    assert "never asked together" not in repr(PAIR)
    assert "<td>c &amp; a</td>" in MIXED._repr_html_()
    many = rr.planning.plan({f"q{i}": [0, 1] for i in range(40)}, 1)
    assert len(repr(many).splitlines()) < 40


@pytest.mark.parametrize(("columns", "listed"), [(12, 12), (13, 12)])
def test_twelve_parts_are_listed(columns, listed):
    """A plan in words lists up to twelve parts, and of more the first twelve and their number."""
    plan = rr.planning.plan({f"q{i}": [0, 1] for i in range(columns)}, 1)
    (rows,) = (content[1] for kind, content in plan._blocks if kind == "table")
    assert [row[0] for row in rows[:listed]] == [f"q{i}" for i in range(listed)]
    assert [row[0] for row in rows[listed:]] == (["... 13 parts"] if columns > 12 else [])


# -- what a release says of itself ------------------------------------------------------------

FRAME = pd.DataFrame(
    {"a": [0, 1] * 30, "b": ["x", "y", "z"] * 20, "c": [True, False, None] * 20, "age": range(60)}
)


def test_the_columns_of_a_plan_count_once():
    """Epsilon of a row, budget, composition: the plan once, other columns beside it."""
    released = FRAME.rr.privatize(MIXED, unknown="uniform")
    assert released.rr.epsilon == 0.75
    assert list(released.rr.mechanisms) == ["a", "b", "c"]
    both = released.rr.privatize("age", list(range(60)), epsilon=1.25)
    assert (both.rr.epsilon, both.rr.budget(max_rows_per_person=3).epsilon) == (2.0, 6.0)
    budget = released.rr.budget()
    assert (budget.epsilon, budget.reports) == (0.75, 1)
    assert budget.by_release()["name"].tolist() == ["rr_asked"]
    assert rr.privacy.compose([MIXED.dominating]).epsilon == 0.75
    assert MIXED.dominating.channel.max_likelihood_ratio == allowed_ratio(0.75)


def test_the_page_of_a_release_says_who_was_asked():
    """The coin, the share of rows, the pairs, and one epsilon for the columns of the plan."""
    released = FRAME.rr.privatize(MIXED, unknown="uniform").rr.privatize("age", range(60), 0.75)
    page = " ".join(describe(read(released.attrs)).split())
    told = "the column rr_asked says what. This column was asked in"
    assert page.count(told) == 3
    share = chance(0.3 / (0.3 + 2 + 1e-3 + 5))
    assert f"{told} {share} of the rows, in the pairs \u201ca & b\u201d. In all" in page
    assert "\u201ca\u201d, \u201cb\u201d, \u201cc\u201d share one" in page
    assert "more than one round" not in page
    assert "samples" not in page
    assert "by a factor of at most 375: a true answer" in page  # e^0.75 x 3 x 59 is 374.7


def test_records_stay_with_the_public_column():
    """A merge keeps the plan; without its own public column, or renamed, a record is refused."""
    released = FRAME.rr.privatize(MIXED, unknown="uniform").assign(id=range(60))
    another = FRAME.rr.privatize(MIXED, unknown="uniform")
    first, *others = released.attrs["rrstats"]["columns"]
    assert all(first["plan"] is other["plan"] for other in others)  # pandas copies it once
    plain = pd.DataFrame({"id": range(60), "sex": ["f", "m"] * 30})
    merged = plain.merge(released, on="id")
    carried = merged.rr.carry(released)
    assert carried.rr.epsilon == 0.75
    assert carried.rr.mechanisms == released.rr.mechanisms
    for broken in (
        lambda: released.drop(columns="rr_asked").rr.epsilon,
        lambda: released.drop(columns="rr_asked").rr.budget(),
        lambda: merged.drop(columns="rr_asked").rr.carry(released),
        lambda: merged.rename(columns={"a": "z"}).rr.carry(released, names={"a": "z"}),
        lambda: released.assign(a=another["a"]).rr.epsilon,  # of two releases
        lambda: released.assign(rr_asked=another["rr_asked"].astype(str)).rr.budget(),
    ):
        refused(rr.errors.MetadataError, "the public column 'rr_asked' of ", broken)
    some = merged[["b", "rr_asked"]].rr.carry(released, dropped=["a", "c"])
    assert some.rr.epsilon == 0.75


def test_two_releases_do_not_count_as_one():
    """A column of a second release, two plans with one public column, and a record that lies."""
    plan = FramePlan({"a": [0, 1], "b": [0, 1]}, 2, ["a", "b"])
    data = pd.DataFrame({"a": [0, 1] * 30, "b": [1, 0] * 30}, dtype="Int64")
    one, two = (rr.simulate(data, plan, seed=seed) for seed in (1, 2))
    with pytest.raises(rr.errors.MetadataError, match="which rows have a report"):
        one.assign(b=two["b"]).rr.carry(one, two)
    other = FramePlan({"c": [0, 1], "rr_asked": [0, 1]}, 3, ["c", "rr_asked"], asked="other")
    third = FramePlan({"d": [0, 1]}, 4, ["d"])
    for plans, expected in ([plan, third], 6.0), ([plan, other], 5.0), ([other, third], 7.0):
        records = [record for each in plans for record in plan_records(each)]
        assert row_epsilon(records) == expected
        assert rr.privacy.compose(row_mechanisms(records)).epsilon == expected
    rated = data.assign(q=0.75).rr.privatize("a", [0, 1], "q")
    for released, name in ((one, "rr_asked"), (rated, "q")):  # what estimates need stays public
        for again in (
            (name, ["a", "b"], 0.75),
            (FramePlan({name: ["a", "b"]}, 1, [name], asked="z"),),
        ):
            with pytest.raises(rr.errors.ArgumentValueError, match="must be a public column"):
                released.rr.privatize(*again)
    lying = {"v": 2, "columns": [each.to_dict() for each in plan_records(plan)]}
    lying["columns"][0]["plan"]["epsilon"] = lying["columns"][1]["plan"]["epsilon"] = 0.5
    one.attrs = {"rrstats": lying}
    for look in (lambda: one.rr.epsilon, one.rr.budget, one.rr.estimate):
        refused(rr.errors.MetadataError, "the plan of column 'a' has epsilon", look)


def test_parts_of_whole_blocks_are_the_whole():
    """Under given words a frame has the same reports in one part, in several, and in threads."""
    rows = BLOCK_ROWS + 700
    columns = {
        "a": np.arange(rows) % 2,
        "b": pd.Series(pd.Categorical.from_codes(np.arange(rows) % 3, ["x", "y", "z"])),
        "c": np.arange(rows) % 7 == 3,
    }
    frame = pd.DataFrame(columns).astype({"a": "Int64", "c": "boolean"})
    whole = frame.rr.privatize(MIXED, rng=Counting(3))
    assert whole.equals(pd.DataFrame(columns).rr.privatize(MIXED, rng=Counting(3)))
    assert whole.equals(frame.rr.privatize(MIXED, rng=Counting(3), threads=3))
    release = FrameRelease(frame[:0], MIXED, frame.columns, rng=Counting(3))
    made = [release.reports(frame[:BLOCK_ROWS]), release.reports(frame[BLOCK_ROWS:])]
    assert whole.equals(pd.concat([pd.DataFrame(one) for one in made]))
    assert {column.rows for column in release.columns.values()} == {rows}
    refused(rr.errors.ArgumentTypeError, "cannot be pickled", pickle.dumps, release)
    shares = whole["rr_asked"].value_counts(normalize=True)[list(MIXED.labels)]
    expected = np.array(MIXED.chances) / 7.301
    assert (abs(shares - expected) < 5 * np.sqrt(expected / rows)).all()  # fixed words


REFUSED = {
    "group": ({"group": "age"}, "leave group out"),
    "again": ({"again": True}, "leave again out"),
    "keyed": ({"key": rr.client.Keyed(bytes(range(32)), "age")}, "leave key out"),
    "prob": ({"prob": 0.75}, "leave prob out"),
    "keep": ({"missing": "keep"}, r"missing must be one of \['unknown', 'uniform', 'raise'\]"),
    "a policy": ({"unknown": "drop"}, "unknown must be one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_plan_excludes_is_refused_before_anything_is_drawn(case):
    """Keys, groups, a second round, kept answers: with the reason, and without a word drawn."""
    given, text = REFUSED[case]
    errors = rr.errors.RRStatsError
    refused(errors, text, FRAME.rr.privatize, MIXED, rng=Scripted({}), **given)


def test_data_that_do_not_fit_a_plan_are_refused():
    """Absent columns, columns that are there twice, reports, and a public column that is there."""
    released = FRAME.rr.privatize(MIXED, unknown="uniform")
    twice = FRAME.set_axis(["a", "b", "c", "a"], axis=1)
    for data, text in (
        (FRAME.drop(columns="b"), "column 'b' is not there"),
        (twice, "column 'a' is there 2 times"),
        (released, "hold reports already"),
        (released.rename(columns={"rr_asked": "x"}), "hold reports already"),
        (FRAME.set_index("a", drop=False), "the index is also named 'a'"),
        ([0, 1], "columns belong to a DataFrame"),
    ):
        refused(rr.errors.RRStatsError, text, rr.privatize, data, MIXED, rng=Scripted({}))


def test_any_frame_keeps_its_rows_and_public_columns():
    """pandas, Arrow and Polars; no rows, an index that repeats, and a public column as text."""
    odd = FRAME.set_axis([7, 7, 8] * 20)
    released = odd.rr.simulate(MIXED, seed=1, unknown="uniform")
    assert released.equals(odd.rr.simulate(MIXED, seed=1, unknown="uniform"))
    assert released.index.equals(odd.index)
    assert released["age"].equals(odd["age"])
    assert [record.simulated for record in read(released.attrs)] == [True] * 3
    empty = FRAME[:0].rr.privatize(MIXED)
    assert empty.dtypes.equals(released.dtypes)
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    table = rr.privatize(pa.Table.from_pandas(FRAME), MIXED, unknown="uniform")
    frame = rr.privatize(pl.DataFrame(FRAME.to_dict("list")), MIXED, unknown="uniform")
    assert table.column_names == frame.columns == [*FRAME.columns, "rr_asked"]
    assert table.schema.field("rr_asked").type == pa.string()
    assert frame["rr_asked"].dtype == pl.String
    for found in (table.to_pandas(), frame.to_pandas()):
        assert set(found["rr_asked"]) <= set(MIXED.labels)
        asked = found["rr_asked"].isin(["a & b"])
        assert found["b"].notna().tolist() == asked.tolist()
    with pytest.raises(rr.errors.ArgumentTypeError, match="asked must be text"):
        rr.privatize(
            table.select(["age"]), rr.planning.FramePlan({"age": [0, 1]}, 1, ["age"], asked=1)
        )


# -- the audit --------------------------------------------------------------------------------

RECORDS = list(itertools.product([0, 1], ["x", "y", "z"]))


def audited(privatize, epsilon):
    """The audit of a function from frames to frames; a record is a row of two answers."""

    def release(records):
        rows = [one if isinstance(one, tuple) else (one, one) for one in records]
        frame = pd.DataFrame({"a": [a for a, _ in rows], "b": [b for _, b in rows]}, dtype=object)
        found = privatize(frame)
        return found.astype(object).where(found.notna(), None).to_numpy().tolist()

    claimed = {"epsilon": epsilon, "trials": 20_000, "calls": 100, "level": 1 - 1e-6}
    claimed |= {"unknown": True, "missing": True}
    return rr.audit(lambda records: [tuple(one) for one in release(records)], RECORDS, **claimed)


@pytest.mark.slow
def test_the_audit_is_silent_on_plans_and_sees_planted_faults():
    """Rows under a plan keep their epsilon; two whole reports, and a coin that looks, do not."""
    singles = rr.planning.plan({"a": [0, 1], "b": ["x", "y", "z"]}, 1.0)
    pairs = rr.planning.plan({"a": [0, 1], "b": ["x", "y", "z"]}, 1.0, "pairs")
    for plan in (singles, pairs):
        found = audited(lambda frame, plan=plan: frame.rr.privatize(plan, unknown="uniform"), 1.0)
        assert found.passed

    def looking(frame):
        released = frame.rr.privatize(singles, unknown="uniform")
        kept = (released["rr_asked"] == "b") & frame["b"].isna()
        return released.assign(rr_asked=released["rr_asked"].astype(str).where(~kept, "a"))

    assert not audited(
        lambda frame: frame.rr.privatize(singles.mechanisms, unknown="uniform"), 1.0
    ).passed
    assert not audited(looking, 1.0).passed
