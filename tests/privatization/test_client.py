"""One answer at a time: the distribution, the same work for every answer, reports as text."""

import math
import os
import pickle
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from answers import hostile
from catalogue import AWKWARD, EXAMPLES
from refusals import refused
from scripted import Counting, Recorded

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError, UnknownAnswersError
from rrstats.privatization import single as client

NAMES = list(EXAMPLES)
M = rr.KRR(["never", "once", "often"], 0.75)


def groups_of(mechanism):
    """The options that say which sample an answer is in, one for each sample."""
    return [{}] if mechanism.groups is None else [{"group": label} for label in mechanism.groups]


# -- the distribution ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_one_sampler(name):
    """Under the same words a report is what `privatize` makes of the answer, for all mechanisms."""
    mechanism = EXAMPLES[name]()
    answers = [*mechanism.domain.categories, "no category", float("nan"), 2**70]
    for seed, answer in enumerate(answers):
        for options in groups_of(mechanism):
            given = {name: [label] for name, label in options.items()}
            (expected,) = rr.privatize(
                [answer], mechanism, unknown="uniform", rng=Counting(seed), **given
            )
            found = rr.client.report(
                mechanism, answer, unknown="uniform", rng=Counting(seed), **options
            )
            assert expected == found
            assert type(expected) is type(found)


# -- the same work for every answer ----------------------------------------------------------------


class HostileType(type):
    """A type that raises when it is looked up."""

    def __hash__(cls):
        raise ValueError("secret")


class OfHostileType(metaclass=HostileType):
    """An answer of such a type."""


class OfNoModule:
    """An answer whose type names no module."""

    __module__ = 5


@pytest.mark.parametrize("name", NAMES)
def test_words_do_not_depend_on_the_answer(name):
    """Known, unknown, missing and hostile answers ask for the same words."""
    mechanism = EXAMPLES[name]()
    odd = [OfHostileType(), OfNoModule(), pd.Series(["a"]), M, Fraction]
    answers = [*mechanism.domain.categories, None, "no category", *hostile().values(), *odd]
    for options in groups_of(mechanism):
        logs = []
        for answer in answers:
            source = Recorded(Counting(5))
            rr.client.report(mechanism, answer, unknown="uniform", rng=source, **options)
            logs.append(source.log)
        assert len(logs[0]) >= 1
        assert all(log == logs[0] for log in logs)


def lines_of(call):
    """The lines of rrstats that a call runs, in their order."""
    ran, before = [], sys.gettrace()

    def trace(frame, event, _):
        if "rrstats" not in frame.f_code.co_filename:
            return None
        if event == "line":
            ran.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return ran


@pytest.mark.parametrize(
    "categories",
    [AWKWARD[kind] for kind in AWKWARD if kind != "mixed"] + [range(40)],
    ids=[kind for kind in AWKWARD if kind != "mixed"] + ["forty"],
)
def test_lines_do_not_depend_on_the_answer(categories):
    """Every category, and an unknown answer of their type, runs the same lines of code."""
    mechanism = rr.KRR(categories, 0.5)
    unknown = {"str": "zz", "bytes": b"zz", "tuple": ("zz",), "int": 77, "float": 77.5}
    answers = list(mechanism.categories)
    answers += [unknown[kind] for kind in (type(answers[0]).__name__,) if kind in unknown]
    rr.client.report(mechanism, answers[0])  # prepares the client

    def ran(answer, words):
        return lines_of(lambda: rr.client.report(mechanism, answer, unknown="uniform", rng=words))

    for seed in range(3):
        paths = [ran(answer, Counting(seed)) for answer in answers]
        assert len(paths[0]) > 20
        assert all(path == paths[0] for path in paths)


def test_an_answer_may_be_a_container():
    """A tuple is one answer, as designs of two questions need, and so is a scalar of Arrow."""
    m = rr.surveys.unrelated_question_two_samples([False, True], [0.7, 0.25])
    assert rr.client.report(m, (True, False), group=1) in (True, False)
    pa = pytest.importorskip("pyarrow")
    for seed in range(5):
        expected = rr.client.report(M, "once", rng=Counting(seed))
        assert expected == rr.client.report(M, pa.scalar("once"), rng=Counting(seed))


# -- where words come from -------------------------------------------------------------------------


def test_words_are_those_of_the_operating_system(monkeypatch):
    """Each word is asked of the operating system; nothing is drawn ahead or kept."""
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(size)  # all coins are the truth, all integers 0

    monkeypatch.setattr(os, "urandom", urandom)
    assert ["never", "once", "often"] == [rr.client.report(M, answer) for answer in M.categories]
    # A replacement below 3, a coin, a lie below 2: a byte, 8 bytes, a byte.
    assert 3 * [1, 8, 1] == asked
    assert rr.client.report(M, "no category", unknown="uniform") == "never"
    assert 4 * [1, 8, 1] == asked


def test_other_sources():
    """A SecureGenerator is silent; NumPy's generators are for teaching, and say so."""
    assert rr.client.report(M, "once", rng=rr.client.SecureGenerator()) in M.categories
    with pytest.warns(rr.errors.SimulationWarning, match="never release") as caught:
        rr.client.report(M, "once", rng=np.random.default_rng(1))
    assert caught[0].filename == __file__
    refused(ArgumentTypeError, "rng must be None", rr.client.report, M, "once", rng=7)


def test_a_used_mechanism_can_be_pickled():
    """What a mechanism prepared for its reports hinders neither copies nor equality."""
    rr.client.report(M, "once")
    rr.client.encode_report(M, "once")
    again = pickle.loads(pickle.dumps(M))
    assert again == M
    assert rr.client.decode_report(again, rr.client.encode_report(M, "often")) == "often"


# -- arguments -------------------------------------------------------------------------------------


def test_an_answer_that_is_no_category_is_refused():
    """The default; the error quotes nothing, draws nothing, and says the two ways on."""
    with pytest.raises(UnknownAnswersError, match="among the 2 categories"):
        rr.client.report(rr.KRR(["a", "b"], 0.75), "A")
    for answer in ("maybe secret", None, float("nan")):
        source = Recorded(Counting(1))
        with pytest.raises(UnknownAnswersError, match="missing or not among") as caught:
            rr.client.report(M, answer, rng=source)
        assert "secret" not in str(caught.value)
        assert "when it is built" in str(caught.value)
        assert "unknown='uniform'" in str(caught.value)
        assert source.log == []
    assert rr.client.report(M, "once", unknown="raise") in M.categories


def test_the_old_policy_is_answered():
    """It warned of unknown answers; the sentence says what there is."""
    text = "unknown='warn' is no longer taken: 'raise', the default, .* 'uniform'"
    refused(ArgumentValueError, text, rr.client.report, M, "once", unknown="warn")
    refused(ArgumentValueError, text, rr.privatize, ["once"], M, unknown="warn")
    refused(AttributeError, "unknown='uniform'", getattr, rr.errors, "UnknownAnswersWarning")


@pytest.mark.parametrize("unknown", ["silent", 1, None])
def test_other_policies_are_refused(unknown):
    """The error lists what there is, for any answer."""
    for answer in ("once", "secret"):
        with pytest.raises((TypeError, ValueError), match="unknown must be one of") as caught:
            rr.client.report(M, answer, unknown=unknown)
        assert "secret" not in str(caught.value)


def test_samples_need_their_label():
    """A mechanism of several samples needs group=, one of a single sample has none."""
    m = EXAMPLES["Samples, mixed"]()
    assert rr.client.report(m, "01", group="dice") in m.report_space.categories
    for group in (None, "darts", 1):
        refused((TypeError, ValueError), r"one of \['dice'", rr.client.report, m, "01", group=group)
    refused(ArgumentTypeError, "has only one", rr.client.report, M, "once", group="dice")


# -- reports as text -------------------------------------------------------------------------------


def reports_of(mechanism):
    """All reports of a mechanism, or many where there are more."""
    if mechanism.report_space.empty(0).ndim == 1:
        return list(mechanism.report_space.categories)
    options = groups_of(mechanism)[0]
    return [
        rr.client.report(mechanism, a, rng=Counting(seed), **options)
        for seed in range(20)
        for a in mechanism.categories
    ]


@pytest.mark.parametrize("name", NAMES)
def test_text_round_trip(name):
    """Every report comes back, one by one and together; all texts of a mechanism are as long."""
    mechanism = EXAMPLES[name]()
    reports = reports_of(mechanism)
    texts = [rr.client.encode_report(mechanism, report) for report in reports]
    assert reports == [rr.client.decode_report(mechanism, text) for text in texts]
    decoded = client.decode_report(mechanism, texts)
    assert reports == decoded.tolist()
    assert [type(r) for r in reports] == [type(r) for r in decoded]
    assert {len(text) for text in texts} == {len(texts[0])}
    assert all(text.isascii() and text.replace(".", "").isalnum() for text in texts)
    options = {} if mechanism.groups is None else {"group": [mechanism.groups[0]] * len(texts)}
    expected = rr.tally(reports, mechanism, **options)
    assert expected == rr.tally(decoded, mechanism, **options)


def test_the_text():
    """The text is the version, the fingerprint, and the place of the report in hexadecimal."""
    assert [rr.client.encode_report(M, report) for report in M.categories] == [
        f"rr1.{client.fingerprint(M)}.0{place}" for place in range(3)
    ]
    # printf '{"categories":[{"str":"never"},{"str":"once"},{"str":"often"}],"prob":0.75,
    # "type":"KRR"}' | sha256sum, in one line
    assert client.fingerprint(M) == "4d02246957e5fa49"
    for k, digits in [(2, 2), (256, 2), (257, 4), (65_537, 6)]:
        text = rr.client.encode_report(rr.KRR(range(k), 0.9), k - 1)
        assert text[21:] == f"{k - 1:0{digits}x}"
    packed = rr.client.encode_report(
        rr.mechanisms.UnaryEncoding.optimized(range(9), epsilon=1.0), bytes([0x80, 0x01])
    )
    assert packed[21:] == "8001"


def test_designs_have_different_fingerprints():
    """All examples differ; equal mechanisms agree, and order, type and probability count."""
    every = {client.fingerprint(make()) for make in EXAMPLES.values()}
    assert len(every) == len({make() for make in EXAMPLES.values()})
    assert client.fingerprint(rr.KRR(["a", "b"], 0.75)) == client.fingerprint(
        rr.KRR(("a", "b"), np.float64(0.75))
    )
    others = [(["b", "a"], 0.75), (["a", "b"], math.nextafter(0.75, 1)), ([1, 0], 0.75)]
    others += [([True, False], 0.75), (["1", "0"], 0.75)]
    assert len({client.fingerprint(rr.KRR(*other)) for other in others}) == len(others)


OTHER = rr.KRR(["never", "once", "often"], 0.5)
GOOD = rr.client.encode_report(M, "once")
BAD = {
    "": "malformed",
    "once": "malformed",
    GOOD[:-1]: "malformed",
    GOOD + "0": "malformed",
    GOOD + "\n": "malformed",
    GOOD.upper(): "malformed",
    GOOD[:-1] + "\N{ARABIC-INDIC DIGIT ONE}": "malformed",
    GOOD[:-2] + "+1": "malformed",
    GOOD[:-2] + "_1": "malformed",
    GOOD[:-2] + " 1": "malformed",
    "rr1.00." + GOOD[-2:]: "malformed",
    "rr2" + GOOD[3:]: "of another version of the text",
    "rr01" + GOOD[3:]: "of another version of the text",
    rr.client.encode_report(OTHER, "once"): "of another design",
    GOOD[:-2] + "03": "beyond the reports of this design",
    GOOD[:-2] + "ff": "beyond the reports of this design",
    None: "not text",
    7: "not text",
    GOOD.encode(): "not text",
}


@pytest.mark.parametrize("text", BAD, ids=repr)
def test_texts_that_are_no_report(text):
    """Each kind of bad text is refused with its reason, and never quoted."""
    with pytest.raises(ArgumentValueError, match=f"of 1 there are 1 {BAD[text]};") as caught:
        rr.client.decode_report(M, text)
    assert len(str(text)) < 8 or str(text) not in str(caught.value)
    with pytest.raises(ArgumentValueError, match=f"of 3 there are 1 {BAD[text]};"):
        client.decode_report(M, [GOOD, text, GOOD])
    found = client.decode_report(M, [GOOD, text, GOOD], invalid="missing")
    assert found.tolist() == ["once", None, "once"]
    counted = rr.tally(found, M)
    assert (counted.n, counted.n_missing) == (2, 1)


def test_all_bad_texts_are_counted_by_kind():
    """Many bad texts give one error with their numbers."""
    match = (
        "of 20 there are 11 malformed, 3 not text, 2 of another version of the text, 2 beyond the "
        "reports of this design, 1 of another design"
    )
    refused(ArgumentValueError, match, client.decode_report, M, [*BAD, GOOD])


@pytest.mark.parametrize(
    ("mechanism", "payload"),
    [
        (
            rr.mechanisms.UnaryEncoding.symmetric(["a", "b", "c"], 0.75),
            "08",
        ),  # a bit behind the last category
        (rr.mechanisms.SubsetSelection(list("abcde"), epsilon=1.0, size=2), "07"),  # three of them
        (rr.mechanisms.SubsetSelection(list("abcde"), epsilon=1.0, size=2), "30"),
    ],
)
def test_packed_reports_that_are_none(mechanism, payload):
    """Packed subsets that the mechanism never makes are refused."""
    text = f"rr1.{client.fingerprint(mechanism)}.{payload}"
    refused(ArgumentValueError, "beyond the reports", rr.client.decode_report, mechanism, text)
    good = rr.client.encode_report(mechanism, bytes([3]))
    found = client.decode_report(mechanism, [text, good], invalid="missing")
    assert found.tolist() == [None, bytes([3])]
    assert rr.tally(found, mechanism).n_missing == 1


@pytest.mark.parametrize("report", ["secret answer", None, 1, ["once"], b"\x01", float("nan")])
def test_what_is_no_report_is_not_encoded(report):
    """Anything else than a report is refused by its type alone."""
    for mechanism in (M, rr.mechanisms.SubsetSelection(list("abcde"), epsilon=1.0, size=2)):
        with pytest.raises(ArgumentValueError, match="report must be a report of this") as caught:
            rr.client.encode_report(mechanism, report)
        assert "secret" not in str(caught.value)


def test_texts_come_in_any_column():
    """Lists, arrays, Series and Arrow hold texts."""
    texts = [rr.client.encode_report(M, report) for report in ("often", "never")]
    for column in (texts, tuple(texts), np.array(texts), pd.Series(texts), pd.Index(texts)):
        assert client.decode_report(M, column).tolist() == ["often", "never"]
    pa = pytest.importorskip("pyarrow")
    assert client.decode_report(M, pa.chunked_array([texts])).tolist() == ["often", "never"]
    assert client.decode_report(M, []).shape == (0,)


def test_invalid_is_checked():
    """invalid= has two values, and no meaning where a missing value is a category."""
    with pytest.raises(ArgumentValueError, match=r"invalid must be one of .*'drop'"):
        client.decode_report(M, [GOOD], invalid="drop")
    m = rr.KRR(["yes", "no", None], 0.75)
    assert client.decode_report(m, [rr.client.encode_report(m, None)]).tolist() == [None]
    with pytest.raises(ArgumentValueError, match="contradicts the categories"):
        client.decode_report(m, [], invalid="missing")


def test_labels_without_a_json_form_have_no_text():
    """A design that cannot be written down reports, and says why it has no text."""
    m = rr.KRR([Fraction(1, 2), Fraction(1, 3)], 0.75)
    assert rr.client.report(m, Fraction(1, 2)) in m.categories
    refused(ArgumentValueError, "no JSON form", rr.client.encode_report, m, Fraction(1, 2))
