"""OpenDP's JSON of randomized response: the same law there and here, or a refusal."""

import json
from collections import Counter
from fractions import Fraction

import chance
import pytest
from catalogue import EXAMPLES, SILENT
from refusals import refused

import rrstats as rr
from rrstats import opendp
from rrstats.errors import ArgumentTypeError, ArgumentValueError

# What `dp.serialize` of OpenDP 0.16.0 gives, letter by letter.
WORDS = (
    '{"__function__": "make_randomized_response", "__module__": "measurements", "__kwargs__": '
    '{"categories": ["a", "b", "c"], "prob": 0.75, "T": "String"}, "__version__": "0.16.0"}'
)
NUMBERS = (
    '{"__function__": "make_randomized_response", "__module__": "measurements", "__kwargs__": '
    '{"categories": {"__tuple__": [1, 2, 3]}, "prob": 0.75, "T": "i32"}, "__version__": "0.16.0"}'
)
BOOL = (
    '{"__function__": "make_randomized_response_bool", "__module__": "measurements", "__kwargs__": '
    '{"prob": 0.75, "constant_time": true}, "__version__": "0.16.0"}'
)

KRRS = (
    "coin",
    "three",
    "five",
    "not dyadic",
    "no information, k=2",
    "no information, k=3",
    "nearly all truth",
    "by epsilon",
    "labels: bool",
    "labels: int",
    "labels: str",
)
EXPRESSIBLE = {
    *(f"KRR, {name}" for name in KRRS),
    *(f"Chain, {name}" for name in ("two rounds", "three rounds", "nested behind")),
    *(f"SurveyDesign, {name}" for name in ("warner", "two coins")),
}
"""The examples whose law and labels OpenDP has; each other one is refused."""


def changed(text, **kwargs):
    """A measurement's JSON with other arguments; None leaves one out."""
    document = json.loads(text)
    document["__kwargs__"] |= kwargs
    return json.dumps(document)


def test_what_opendp_wrote_is_read():
    """Text, numbers in a tuple, and booleans come back as k-RR with their order."""
    assert rr.KRR(["a", "b", "c"], 0.75) == opendp.from_json(WORDS)
    assert rr.KRR(["a", "b", "c"], 0.75) == opendp.from_json(WORDS.encode())
    assert rr.KRR([1, 2, 3], 0.75) == opendp.from_json(NUMBERS)
    assert rr.KRR([False, True], 0.75) == opendp.from_json(BOOL)
    # OpenDP's user guide: epsilon of prob 0.75 over two and four categories.
    assert opendp.from_json(BOOL).epsilon == 1.0986122886681098
    four = changed(WORDS, categories=["A", "B", "C", "D"])
    assert opendp.from_json(four).epsilon == 2.1972245773362196


def test_what_is_written_is_what_opendp_writes():
    """The text is OpenDP's own, and the version may be another."""
    m = rr.KRR(["a", "b", "c"], 0.75)
    assert opendp.to_json(m) == WORDS
    assert json.loads(opendp.to_json(m, version="0.17.0"))["__version__"] == "0.17.0"


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_same_law_or_refused(name):
    """A mechanism is written in OpenDP's words and comes back with its law; others are refused."""
    m = EXAMPLES[name]()
    if name not in EXPRESSIBLE:
        refused(ArgumentValueError, "OpenDP", opendp.to_json, m)
        return
    text = opendp.to_json(m)
    prob = float(m.channel.entries[0][0])
    kind = {bool: "bool", int: "i64", str: "String"}[type(m.categories[0])]
    assert text == changed(WORDS, categories=list(m.categories), prob=prob, T=kind)
    back = opendp.from_json(text)
    assert m.channel.entries == back.channel.entries
    assert m.domain == back.domain
    assert m.epsilon == back.epsilon
    if type(m) is rr.KRR:
        assert m == back


def test_near_misses_are_refused():
    """A prob that no double is, lies that are not alike, and no privacy at all are other laws."""
    third = Fraction(1, 3)
    for law in (
        [[1 - third, third], [third, 1 - third]],
        [[Fraction(3, 4), Fraction(1, 8)], [Fraction(1, 4), Fraction(7, 8)]],
        [[1, 0], [0, 1]],
        [[Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]],  # lies are likelier
    ):
        with pytest.raises(ArgumentValueError, match="other probabilities: MatrixDesign over 2"):
            opendp.to_json(rr.MatrixDesign(["a", "b"], law))
    even = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    assert rr.KRR(["a", "b"], 0.75) == opendp.from_json(
        opendp.to_json(rr.MatrixDesign(["a", "b"], even))
    )
    # The double nearest to 1/3 is below it, so that a lie is likelier than the truth.
    thirds = rr.KRR(["a", "b", "c"], 1 / 3)
    same = rr.MatrixDesign(["a", "b", "c"], thirds.channel.entries)
    assert thirds == opendp.from_json(opendp.to_json(same))
    with pytest.raises(ArgumentValueError, match="other probabilities"):
        opendp.to_json(rr.MatrixDesign(["a", "b"], even, reports=["b", "a"]))
    refused(ArgumentTypeError, "found dict", opendp.to_json, {"a": 1})


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["yes", None], "none may be missing"),
        ([1, "1"], "found int and str"),
        ([0.5, 1.5], "found float"),
        ([0, 2**64], "64 bits"),
        ([-1, 2**63], "64 bits"),
        (["a\0b", "c"], "cuts text at a zero byte"),
        (["\ud800", "c"], "valid Unicode"),
    ],
)
def test_categories_that_opendp_lacks(categories, message):
    """Types that OpenDP has no categories of are named."""
    refused(ArgumentValueError, message, opendp.to_json, rr.KRR(categories, 0.75))


def test_types_of_numbers():
    """Numbers are of 64 bits, so that OpenDP answers at random for any other number too."""
    for categories, expected in [([1, 2], "i64"), ([-(2**63), 0], "i64"), ([0, 2**63], "u64")]:
        text = opendp.to_json(rr.KRR(categories, 0.75))
        assert expected == json.loads(text)["__kwargs__"]["T"]
        assert rr.KRR(categories, 0.75) == opendp.from_json(text)
    codebook = rr.KRR({1: "never", 2: "once"}, 0.75)
    assert rr.KRR([1, 2], 0.75) == opendp.from_json(opendp.to_json(codebook))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, "must be the JSON of OpenDP's make_randomized_response .*; for a chain")
            for text in (
                "{",
                "[" * 100_000,
                "[]",
                '{"v": 1}',
                WORDS.replace("make_randomized_response", "make_laplace"),
                WORDS.replace('"make_randomized_response"', "[1]"),
                WORDS.replace("__version__", "__verzion__"),
                changed(WORDS, delta=1e-6),
                changed(BOOL, categories=[1]),
                changed(WORDS, categories=[]),
            )
        ),
        (object(), r"serialize\(measurement\), found object"),
        (changed(WORDS, prob="0.75"), "must be a number"),
        (changed(WORDS, prob=True), "must be a number"),
        (changed(WORDS, prob=1.0), "prob must be in"),
        (changed(WORDS, categories=["a", "a", "b"]), "distinct|twice|same|duplicate"),
        (changed(WORDS, categories=["a", 1]), "found int and str"),
    ],
)
def test_other_json_is_refused(text, message):
    """What is no randomized response of OpenDP, or no text, says why."""
    refused((ArgumentTypeError, ArgumentValueError), message, opendp.from_json, text)


@pytest.fixture
def dp():
    """OpenDP, where it is installed."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


@pytest.mark.parametrize("name", sorted(EXPRESSIBLE))
def test_opendp_makes_it(dp, name):
    """OpenDP makes a measurement of our text, whose epsilon is not below ours, and of its own text
    we make the same again."""
    m = EXAMPLES[name]()
    measurement = dp.deserialize(opendp.to_json(m))
    if name not in SILENT:  # at the double nearest to 1/3 OpenDP says 0, and we 8e-17
        assert measurement.map(1) >= m.epsilon
        assert measurement.map(1) == pytest.approx(m.epsilon, rel=1e-13)
    assert m.channel.entries == opendp.from_json(dp.serialize(measurement)).channel.entries


def test_opendp_own_measurements_are_read(dp):
    """What OpenDP's constructors give is read, whatever the container of the categories."""
    make, boolean = dp.m.make_randomized_response, dp.m.make_randomized_response_bool
    assert rr.KRR(["a", "b"], 0.75) == opendp.from_json(dp.serialize(make(("a", "b"), 0.75)))
    assert rr.KRR([1, 2**40], 0.7) == opendp.from_json(dp.serialize(make([1, 2**40], 0.7, "i64")))
    assert rr.KRR([False, True], 0.75) == opendp.from_json(dp.serialize(boolean(0.75)))


def test_opendp_releases_by_the_law(dp):
    """Reports of OpenDP's measurement follow our channel, also for a value that is no category.

    A correct sampler fails once in 1e9 runs, one with a share off by 0.05 escapes once in 1e9.
    """
    m = rr.KRR(["a", "b", "c"], 0.75)
    measurement = dp.deserialize(opendp.to_json(m))
    laws = {"a": [0.75, 0.125, 0.125], "c": [0.125, 0.125, 0.75], "elsewhere": [1 / 3] * 3}
    n = chance.sample_size(gap=0.05, cells=9)
    found = {truth: Counter(measurement(truth) for _ in range(n)) for truth in laws}
    counts = [[each[category] for category in m.categories] for each in found.values()]
    chance.assert_law(counts, list(laws.values()))
