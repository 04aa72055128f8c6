"""k-ary randomized response: what the catalogue's battery does not ask of every mechanism."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scripted import Counting

import rrstats as rr
from rrstats import mechanisms
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.epsilon import epsilon_from_prob
from rrstats.mechanisms.krr import RowRates


def test_by_prob():
    """prob is P(report = truth), taken as it is; epsilon follows."""
    m = rr.KRR(["never", "once", "often"], 0.75)
    assert (m.k, m.prob, m.categories) == (3, 0.75, ("never", "once", "often"))
    assert m.epsilon == 1.7917594692280552  # ln 6, rounded up
    assert m.channel.prob_truth == Fraction(3, 4)
    assert m.channel.prob_other == Fraction(1, 8)
    assert m.report_space == m.domain


@pytest.mark.parametrize("k", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.log(3), 5.0])
def test_by_epsilon(k, epsilon):
    """epsilon= takes the largest prob within the request."""
    m = rr.KRR(range(k), epsilon=epsilon)
    assert m.epsilon <= epsilon
    assert rr.KRR(range(k), math.nextafter(m.prob, 1)).epsilon > epsilon
    assert m == rr.KRR(range(k), m.prob)


def test_epsilon_zero():
    """Epsilon 0 is uniform noise where the double 1/k is exact, and refused elsewhere."""
    assert rr.KRR(range(4), epsilon=0).prob == 0.25
    refused(ArgumentValueError, r"epsilon must be at least 8\.3", rr.KRR, range(3), epsilon=0)


def test_equal_by_parameters():
    """Equal parameters give equal mechanisms and hashes; type, order and prob tell them apart."""
    m = rr.KRR(["a", "b"], 0.75)
    assert m == rr.KRR(("a", "b"), Fraction(3, 4))
    assert m == rr.KRR(["a", "b"], np.float32(0.75))
    assert m == rr.KRR({"b", "a"}, 0.75)
    assert hash(m) == hash(rr.KRR(pd.Index(["a", "b"]), 0.75))
    assert rr.KRR([1, 2], 0.75) == rr.KRR(np.array([1, 2], dtype=np.int8), 0.75)
    labels = (
        ["b", "a"],
        ["a", "b", "c"],
        [b"a", b"b"],
        [1, 0],
        [True, False],
        [1.0, 0.0],
        [1, 0.0],
        ["1", "0"],
    )
    others = [rr.KRR(["a", "b"], math.nextafter(0.75, 1)), *(rr.KRR(one, 0.75) for one in labels)]
    assert len({m, *others}) == len(others) + 1
    assert sum(m == other for other in others) == 0


def test_parameters_are_the_numbers_of_a_design():
    """By their names in calls; a matrix or a chain is no number."""
    m = rr.KRR(["a", "b"], 0.75)
    assert m.parameters == {"prob": 0.75}
    assert rr.mechanisms.SubsetSelection(list("abcd"), size=2, prob_own=0.75).parameters == {
        "size": 2,
        "prob_own": 0.75,
    }
    assert rr.MatrixDesign(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).parameters == {}
    assert m.then(m).parameters == {}


@pytest.mark.parametrize("k", [2, 3, 127, 128, 129, 255, 256, 257, 32768, 32769, 70_000])
def test_noise_does_not_look_at_the_data(k):
    """With the same words the report is (truth + noise) mod k, for every truth and code type."""
    m = rr.KRR(range(k), 0.5)
    dtype = m.domain.dtype
    noise = m.randomize(np.zeros(3_000, dtype=dtype), Counting(1), 0).astype(np.int64)
    assert noise.min() == 0
    assert 0 < np.count_nonzero(noise) < 3_000
    for truth in {1, k // 2, k - 2, k - 1}:
        found = m.randomize(np.full(3_000, truth, dtype=dtype), Counting(1), 0)
        assert found.dtype == dtype
        assert np.array_equal((truth + noise) % k, found)


@pytest.mark.parametrize(
    ("prob", "counts", "shares", "errors"),
    [
        # RRreg 0.7.6, RRuni(y, model = "custom", p = P, MLest = FALSE); its SE divides by n - 1.
        (0.75, [640, 360], [0.78, 0.22], [0.030373055864079967] * 2),
        (
            0.8,
            [500, 300, 200],
            [0.5714285714285714, 0.2857142857142857, 0.14285714285714288],
            [0.022598999898869022, 0.02071232553337333, 0.018079199919095217],
        ),
        # RRreg 0.7.6, RRuni(y, model = "Warner", p = pp, MLest = FALSE): yes is the second
        (0.7, [588, 412], [0.72, 0.28], [0.03893090823003769] * 2),
        (0.6, [28, 22], [0.8, 0.2], [0.3545621041711674] * 2),
        (0.9, [8700, 1300], [0.9625, 0.0375], [0.004204003135612106] * 2),
    ],
)
def test_rrreg(prob, counts, shares, errors):
    """Shares and standard errors are those of R's RRreg."""
    m = rr.KRR(range(len(counts)), prob)
    estimate = rr.estimate(rr.Tally.from_counts(counts, m))
    assert shares == pytest.approx(estimate.proportions, rel=1e-12, abs=1e-14)
    assert errors == pytest.approx(estimate.std_error, rel=1e-12)


def test_prob_or_epsilon():
    """One of the two, neither more nor less."""
    refused(ArgumentTypeError, "give prob or epsilon, found neither", rr.KRR, ["a", "b"])
    with pytest.raises(ArgumentTypeError, match="give prob or epsilon, found prob and epsilon"):
        rr.KRR(["a", "b"], 0.75, epsilon=1.0)
    with pytest.raises(ArgumentTypeError, match="a mechanism already has its prob"):
        rr.privatize(["a"], rr.KRR(["a", "b"], 0.75), 0.75)
    refused(ArgumentTypeError, "categories must be a list", rr.privatize, ["a"], rr.KRR)


@pytest.mark.parametrize("prob", [0.3, 0, 1, 1.0, -1, 75, math.nan, math.inf])
def test_bad_prob(prob):
    """prob lies in [1/k, 1), and the message names k; of an epsilon it is finite and from 0."""
    with pytest.raises(ArgumentValueError, match=r"prob must be in \[1/3, 1\) for 3 categories"):
        rr.KRR(list("abc"), prob)
    for epsilon in (-1, math.nan, math.inf, 1e9):
        refused(ArgumentValueError, "epsilon", rr.KRR, list("abc"), epsilon=epsilon)


def test_documents_by_hand():
    """Plain JSON values, and epsilon in place of prob, are understood."""
    by_hand = {"type": "KRR", "categories": ["yes", "no", None], "epsilon": 1.0}
    assert rr.KRR(["yes", "no", None], epsilon=1.0) == mechanisms.from_dict(by_hand)
    by_hand = json.loads('{"type": "KRR", "categories": [1, 2.5, true], "prob": 0.5}')
    refused(MetadataError, "distinct", mechanisms.from_dict, by_hand)
    by_hand["categories"] = [3, 2.5, True]
    assert rr.KRR([3, 2.5, True], 0.5) == mechanisms.from_dict(by_hand)
    subset = {"type": "SubsetSelection", "categories": ["a", "b", "c"], "epsilon": 1.0}
    assert rr.mechanisms.SubsetSelection(["a", "b", "c"], epsilon=1.0) == mechanisms.from_dict(
        subset
    )
    with pytest.raises(MetadataError):
        mechanisms.from_dict({**subset, "prob": 0.5})
    for make in (rr.mechanisms.UnaryEncoding.symmetric, rr.mechanisms.UnaryEncoding.optimized):
        kind = f"{make.__name__.title()}Unary"
        document = {"type": kind, "categories": ["a", "b"]}
        assert make(["a", "b"], epsilon=1.0) == mechanisms.from_dict(document | {"epsilon": 1.0})


AB = {"type": "KRR", "categories": ["a", "b"]}
WARNER = rr.surveys.warner(["no", "yes"], Fraction(2, 3), yes="yes").to_dict()
MATRIX = rr.MatrixDesign(["no", "yes"], [[0.25, 0.5], [0.75, 0.5]]).to_dict()
LABELS = [["b"], {"int": "1"}, {"int": True}, {"float": "nan"}, {"float": True}, {"float": 10**400},
          {"bytes": "zz"}, {"date": "1.5.20"}, {"tuple": "ab"}, {"missing": False}, {"set": [1]},
          {"int": 1, "str": "1"}, {}]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "must be a dict, found None"),
        ({"type": "krr"}, r"type must be one of \[.*'Chain', 'KRR'.*\], found 'krr'"),
        *(({"type": kind}, "type must be one of") for kind in (None, "Mechanism", ["KRR"])),
        ({"type": "KRR", "prob": 0.75}, r"a KRR needs \['categories'\]"),
        (AB, "give prob or epsilon, found neither"),
        (AB | {"prob": 0.7, "epsilon": 1}, "give prob or epsilon, found prob and epsilon"),
        (AB | {"prob": "0.7"}, "prob must be a number"),
        (AB | {"prob": 0.2}, "prob must be in"),
        (AB | {"prob": 0.7, "categories": ["a"]}, "at least two"),
        (AB | {"prob": 0.7, "categories": "ab"}, "must be a list"),
        *((AB | {"prob": 0.7, "categories": [bad, 2]}, "one tag") for bad in LABELS),
        (AB | {"prob": 0.7, "weight": 2}, r"unknown keys \['weight'\]"),
        ({"type": "Chain", "first": {}}, r"a Chain needs \['second'\]"),
        ({"type": "Chain", "first": 1, "second": {}}, "must be a dict"),
        (WARNER | {"type": "warner"}, r'write {"type": "SurveyDesign", "design": "warner"'),
        *(
            (WARNER | changed, message)
            for changed, message in [
                ({"design": ["warner"]}, "design must be one of"),
                ({"parameters": [0.7]}, "parameters must be a mapping"),
                ({"parameters": {}}, "has the parameters"),
                ({"parameters": {"prob_statement": "7"}}, "such as"),
                ({"parameters": {"prob_statement": "7/0"}}, "such as"),
                ({"parameters": {"prob_statement": "7/1"}}, r"must be in \(0, 1\)"),
                ({"yes": {"str": "perhaps"}}, "the sensitive one of"),
                ({"weights": 1}, "unknown keys"),
            ]
        ),
        *(
            (MATRIX | changed, message)
            for changed, message in [
                ({"matrix": [["2/3", "1/0"], ["1/3", 1]]}, "such as"),
                ({"matrix": [[True, 0], [0, 1]]}, "finite numbers"),
                ({"matrix": "identity"}, "such as"),
                ({"matrix": {"0": 1}}, "finite numbers"),
                ({"reports": ["a", "b", "c"]}, "reports must have one label"),
                ({"shows": ["a"]}, "shows must give each"),
                ({"rows": 2}, "unknown keys"),
            ]
        ),
    ],
)
def test_malformed_documents(document, message):
    """Whatever is no description is a MetadataError that says what is wrong."""
    refused(MetadataError, message, mechanisms.from_dict, document)


def test_chains_must_fit():
    """The second round's categories are the first's reports, in type and order."""
    m = rr.KRR(["a", "b"], 0.75)
    for other in (rr.KRR(["b", "a"], 0.75), rr.KRR(["a", "b", "c"], 0.75), rr.KRR([1, 0], 0.75)):
        refused(ArgumentValueError, "the reports of the first as its categories", m.then, other)
    for no_mechanism in (None, 0.75, ["a", "b"], rr.KRR):
        refused(ArgumentTypeError, "second must be a mechanism", m.then, no_mechanism)


def test_no_seed_anywhere():
    """Nothing public keeps a seed, a key or a generator: not in repr, dict, pickle or attrs."""
    seed = 739_391_251
    series = pd.Series(["a", "b"] * 20, name="answer")
    reports = rr.simulate(series, ["a", "b"], 0.75, seed=seed)
    m = rr.KRR(["a", "b"], 0.75)
    estimate = rr.estimate(reports)
    forms = [str(seed), hex(seed)[2:]]
    for kept in (reports, reports.attrs, m, estimate, estimate.tally, m.channel):
        text = repr(kept) + repr(getattr(kept, "__dict__", "")) + repr(getattr(kept, "attrs", ""))
        pickled = pickle.dumps(kept)
        assert not any(form in text for form in forms)
        assert seed.to_bytes(4, "little") not in pickled
        assert b"enerator" not in pickled
    assert reports.attrs["rrstats"]["columns"][0]["simulated"] is True


# -- a probability of each row ------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 1000])
def test_the_epsilon_of_each_row_is_at_most_what_was_asked(k):
    """The exact epsilon of each row's double: not above the column, and at most 1e-9 below it."""
    epsilons = [1e-12, 1e-6, 0.01, 0.5, 1, 3, 8, 20, 36]
    rates = RowRates.of(range(k), 9, epsilon=epsilons)
    exact = [epsilon_from_prob(prob, k) for prob in rates.probs.tolist()]
    assert all(0 <= asked - got for asked, got in zip(epsilons, exact, strict=True))
    assert all(asked - got < 1e-9 for asked, got in zip(epsilons[:-2], exact, strict=False))
    assert (rates.probs >= 1 / k).all()
    assert rates.base.epsilon == max(rates.base.epsilon, *exact) <= 36
    assert rates.base == rr.KRR(range(k), epsilon=36)


def test_rows_have_the_scores_of_their_own_design():
    """The scores of a row are those of k-RR with its prob; infinite where it says nothing."""
    probs = [0.5, 0.75, 0.9, 0.4, 0.25]
    rates = RowRates.of(list("abcd"), 5, prob=probs)
    assert rates.base == rr.KRR(list("abcd"), 0.9)
    for code in range(4):
        codes = np.full(5, code, dtype=np.int8)
        scores = rates.scores(codes, slice(0, 5))
        for row, prob in enumerate(probs[:-1]):
            expected = rr.KRR(list("abcd"), prob).channel.scores(codes[:1])[0]
            np.testing.assert_allclose(scores[row], expected, rtol=1e-14)
        assert np.isinf(scores[4]).all()
        assert np.array_equal(rates.scores(codes[1:3], slice(1, 3)), scores[1:3])
