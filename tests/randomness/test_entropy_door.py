"""One door to entropy: the operating system, through `randomness`; seeds only to simulate."""

import ast
import hashlib
import os
import random
import re
import secrets
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.mechanisms import records as column_records
from rrstats.randomness import sources

CATEGORIES = ["never", "once", "often"]
DRAWING = {"rvs", "random_state", "sample", "shuffle", "permutation"}


def test_nothing_draws_by_another_name():
    """ruff bans modules of entropy (pyproject.toml); here is what it does not see."""
    # Formatted code has no space between a dot and a name, and one after each import statement.
    suspicious = re.compile(rf"\.({'|'.join(DRAWING)})\b|import(?! )")
    texts = {file: file.read_text("utf-8") for file in Path(rr.__file__).parent.rglob("*.py")}
    suspects = [file for file, text in texts.items() if suspicious.search(text)]
    assert suspects
    for file in suspects:
        for node in ast.walk(ast.parse(texts[file])):
            if isinstance(node, ast.Attribute):
                assert node.attr not in DRAWING, file.name
            elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
                assert not re.search(r"random|secrets|uuid", ast.unparse(node)), file.name


def urandom_of(start):
    """Reproducible stand-in bytes for os.urandom."""
    calls = iter(range(10**6))
    return lambda size: hashlib.shake_128(f"{start} {next(calls)}".encode()).digest(size)


@pytest.mark.parametrize("rows", [10, 10_000])
def test_all_noise_comes_from_the_operating_system(monkeypatch, rows):
    """The reports are a function of what os.urandom gives, and of nothing else."""
    monkeypatch.setattr(secrets, "token_bytes", None)

    def reports(start):
        monkeypatch.setattr(os, "urandom", urandom_of(start))
        return rr.privatize([0] * rows, range(1000), 0.001)

    assert reports("one") == reports("one")
    assert reports("one") != reports("other")


@pytest.mark.parametrize("returned", [0, 31, 33])
def test_too_few_bytes_of_the_system_are_an_error(monkeypatch, returned):
    """A key of no bytes could be guessed, and so could noise."""
    monkeypatch.setattr(os, "urandom", lambda size: bytes(returned))
    for draw in (rr.client.new_key, lambda: rr.privatize(["a"] * 9, ["a", "b"], 0.75)):
        refused(OSError, f"random bytes, but returned {returned}", draw)
    with pytest.raises(OSError, match="random bytes"):
        rr.client.report(rr.KRR(["a", "b"], 0.75), "a")


# -- seeds of simulations -------------------------------------------------------------------------


def simulated_twice(call):
    """Which of 300 answers are lies in two columns or waves of one seed."""
    frame = pd.DataFrame({"a": ["no"] * 300, "b": ["no"] * 300})
    return [tuple(np.asarray(reports) == "yes") for reports in call(frame)]


YES_NO = ["no", "yes"]


def waves(frame):
    """Two rounds of one column under one seed."""
    first = frame.rr.simulate("a", YES_NO, 0.6, seed=1)
    second = first.rr.simulate("a", YES_NO, 0.6, seed=1, again=True)
    return first["a"], (first["a"] != second["a"]).map({True: "yes", False: "no"})


def advancing(frame):
    """Two arrays that one Generator serves."""
    rng = np.random.default_rng(1)
    return [rr.simulate(frame[name].to_numpy(), YES_NO, 0.6, seed=rng) for name in "ab"]


INDEPENDENT = {
    "calls": lambda f: [f.rr.simulate(c, YES_NO, 0.6, seed=1)[c] for c in "ab"],
    "one call": lambda f: [f.rr.simulate(["a", "b"], YES_NO, 0.6, seed=1)[c] for c in "ab"],
    "Series": lambda f: [f[c].rr.simulate(YES_NO, 0.6, seed=1) for c in "ab"],
    "rounds": waves,
    "Generator": advancing,
    "plans": lambda f: [
        f.rr.simulate(rr.planning.FramePlan({c: YES_NO, "x": YES_NO}, 1.0, [(c, "x")]), seed=1)[c]
        for c, f in ((c, f.assign(x="no")) for c in "ab")
    ],
}


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_columns_and_rounds_of_one_seed_share_no_noise(kind):
    """Independent coins of 0.4 agree in 52% of 300 rows; shared ones in all."""
    first, second = simulated_twice(INDEPENDENT[kind])
    assert 0.3 < np.mean(np.equal(first, second)) < 0.8


def test_equal_name_and_seed_share_noise(pa):
    """In whatever container, alone or among others; arrays have no name."""
    frame = pd.DataFrame({"a": ["no"] * 300, "b": ["no"] * 300, 1: "no"})
    expected = frame.rr.simulate("a", YES_NO, 0.6, seed=1)["a"].tolist()
    assert expected == frame.rr.simulate(["b", "a"], YES_NO, 0.6, seed=1)["a"].tolist()
    assert expected == frame["a"].rr.simulate(YES_NO, 0.6, seed=1).tolist()
    assert expected != frame.rr.simulate("a", YES_NO, 0.6, seed=2)["a"].tolist()
    table = rr.simulate(pa.table(frame[["a"]]), {"a": YES_NO}, prob=0.6, seed=1)
    assert expected == table["a"].to_pylist()
    assert rr.simulate(["no"] * 300, YES_NO, 0.6, seed=1) != expected
    by_number = frame.rr.simulate([1], YES_NO, 0.6, seed=1)[1]
    assert by_number.equals(frame[[1]].set_axis([np.int64(1)], axis=1).rr.simulate(
        [1], YES_NO, 0.6, seed=1)[1])  # fmt: skip


# -- seeds are refused ----------------------------------------------------------------------------

FRAME = pd.DataFrame({"answer": ["never", "often", "once", "never"]})
MECHANISM = rr.KRR(CATEGORIES, 0.75)
CALLS = {
    "privatize": lambda **o: rr.privatize(["never"], MECHANISM, **o),
    "frame": lambda **o: FRAME.rr.privatize("answer", MECHANISM, **o),
    "frame mapping": lambda **o: FRAME.rr.privatize({"answer": MECHANISM}, **o),
    "series": lambda **o: FRAME["answer"].rr.privatize(MECHANISM, **o),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "rng",
    [
        0,
        "secure",
        np.random.RandomState(1),
        random.Random(1),
        np.random.PCG64(1),
        rr.client.SecureGenerator,
        rr.randomness.sources.FreshWords,
    ],
    ids=lambda rng: getattr(rng, "__name__", type(rng).__name__),
)
def test_an_rng_that_is_none_is_refused(call, rng):
    """Seeds, old generators, classes: the message names rng, what fits, and simulate."""
    rule = (
        r"rng must be None, an rr\.client\.SecureGenerator\(\) or"
        r".*numpy\.random\.Generator.*rr\.simulate"
    )
    refused(rr.errors.ArgumentTypeError, rule, CALLS[call], rng=rng)


@pytest.mark.parametrize("call", CALLS)
def test_no_rng_and_a_secure_generator_are_silent(call):
    """The two secure ways draw without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call]()
        CALLS[call](rng=None)
        CALLS[call](rng=rr.client.SecureGenerator())


# -- simulation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
def test_a_numpy_generator_warns(call):
    """NumPy's generator is accepted for teaching, and says so at the caller's line."""
    with pytest.warns(rr.errors.SimulationWarning, match="never release") as caught:
        CALLS[call](rng=np.random.default_rng(1))
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore::rrstats.errors.SimulationWarning")
def test_a_numpy_generator_moves_on():
    """Equal generators give equal noise; the same generator gives other noise in the next call."""
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    first, second = (rr.privatize([0] * 100, range(50), 0.02, rng=rng) for _ in range(2))
    assert first == rr.privatize([0] * 100, range(50), 0.02, rng=same)
    assert first != second


def test_simulate_repeats_and_is_silent():
    """The same seed gives the same reports, in every container and for NumPy's integers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = rr.simulate(FRAME["answer"], MECHANISM, seed=3)
        again = FRAME.rr.simulate("answer", MECHANISM, seed=np.int64(3))
        many = rr.simulate([0] * 100, range(50), 0.03, seed=4)
    assert rr.simulate(FRAME["answer"], CATEGORIES, 0.75, seed=3).tolist() == one.tolist()
    unnamed = rr.simulate(FRAME["answer"].rename(None), MECHANISM, seed=3).tolist()
    assert rr.simulate(FRAME["answer"].tolist(), MECHANISM, seed=3) == unnamed
    assert FRAME.rr.simulate("answer", MECHANISM, seed=3).equals(again)
    assert rr.simulate([0] * 100, range(50), 0.03, seed=5) != many


@pytest.mark.filterwarnings("ignore::rrstats.errors.SimulationWarning")
def test_what_is_simulated_is_marked():
    """Metadata say simulated for every way of simulating, and only then."""
    made = {
        True: [
            rr.simulate(FRAME["answer"], MECHANISM, seed=3),
            FRAME.rr.simulate("answer", MECHANISM, seed=3),
            FRAME.rr.privatize("answer", MECHANISM, rng=np.random.default_rng(3)),
            FRAME["answer"].rr.privatize(MECHANISM, rng=np.random.default_rng(3)),
        ],
        False: [
            FRAME.rr.privatize("answer", MECHANISM),
            FRAME["answer"].rr.privatize(MECHANISM, rng=rr.client.SecureGenerator()),
        ],
    }
    for simulated, results in made.items():
        for result in results:
            assert column_records.find(result.attrs, "answer").simulated is simulated


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"seed": "1"}, TypeError, "seed must be a whole number, found str"),
        ({"seed": True}, TypeError, "seed must be a whole number, found bool"),
        ({"seed": 1.0}, TypeError, "seed must be a whole number, found float"),
        ({"seed": None}, TypeError, "seed must be a whole number, found None"),
        ({"seed": -1}, ValueError, "at least 0"),
        ({"seed": 1, "rng": None}, TypeError, "simulate takes no rng; give seed"),
        ({"seed": 1, "random_state": 2}, TypeError, "takes no random_state; give seed"),
        ({}, TypeError, "seed"),
    ],
)
def test_simulate_checks_its_seed(options, error, match):
    """A seed is an integer from 0, and always given."""
    refused(error, match, rr.simulate, ["never"], MECHANISM, **options)
    refused(error, match, FRAME.rr.simulate, "answer", MECHANISM, **options)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_simulated_words_are_addressed_and_cover_their_width(bits):
    """The same address gives the same words, another address others, over the whole width."""
    source = sources.open_source(np.random.default_rng(7))
    words = source.words(1, 2, 5000, round=3, bits=bits)
    assert np.dtype(f"uint{bits}") == words.dtype
    assert words.tolist() == source.words(1, 2, np.arange(5000), round=3, bits=bits).tolist()
    for other in ((2, 2, 3), (1, 3, 3), (1, 2, 4)):
        stream, block, round = other
        assert words.tolist() != source.words(stream, block, 5000, round=round, bits=bits).tolist()
    top = words >> np.array(bits - 4, dtype=words.dtype)
    assert set(range(16)) == set(top.tolist())
    assert not source.secure
