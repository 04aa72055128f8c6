"""Workers, stages and columns never share noise, and nothing that is kept carries a generator."""

import copy
import io
import multiprocessing
import os
import pickle
import pickletools
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import combinations

import chance
import numpy as np
import pandas as pd
import pytest
import scripted

import rrstats as rr
from rrstats._cached import cached_property
from rrstats.randomness.sources import (
    BLOCK_ROWS,
    REPLACEMENT_STREAM,
    FreshWords,
    SimulatedWords,
    Source,
    Substream,
)

K, ROWS, SEED = 4, 20_000, 987_654_321_987
TRUTH = np.zeros(ROWS, dtype=np.int64)
privatize = partial(rr.privatize, categories=range(K), prob=0.4)
DISTRIBUTION = [0.4, 0.2, 0.2, 0.2]


def assert_no_shared_noise(results):
    """Every two workers' reports of the same truth are independent; 1e-9 in total."""
    pairs = list(combinations(results, 2))
    for one, other in pairs:
        chance.assert_product(one, other, DISTRIBUTION, DISTRIBUTION, false_alarm=1e-9 / len(pairs))


def forked(rng, workers=4):
    """The reports of forked children, which inherit everything that the parent holds."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    context = multiprocessing.get_context("fork")
    pipes, children = [], []
    for _ in range(workers):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=lambda out=sender: out.send(privatize(TRUTH, rng=rng)))
        child.start()
        pipes.append(receiver)
        children.append(child)
    results = [pipe.recv() for pipe in pipes]
    for child in children:
        child.join()
    return results


# Newer Pythons warn that a process with threads forks; numerical libraries start some.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
class TestForked:
    @pytest.mark.parametrize("rng", [None, rr.client.SecureGenerator()])
    def test_forked_workers_share_no_noise(self, rng):
        """Children of a process that has privatized already, and the process itself."""
        before = privatize(TRUTH, rng=rng)
        assert_no_shared_noise([before, *forked(rng), privatize(TRUTH, rng=rng)])

    @pytest.mark.filterwarnings("ignore::rrstats.errors.SimulationWarning")
    def test_inherited_state_would_be_caught(self):
        """A generator with state, or addressed words, inherited by fork, repeats its noise."""
        for shared in (scripted.Counting(1), np.random.default_rng(1)):
            with pytest.raises(AssertionError, match="expected share"):
                assert_no_shared_noise(forked(shared, workers=2))

    def test_a_child_does_not_wait_for_threads_of_its_parent(self):
        """A property that a thread computes while the process forks is not locked in the child.

        The lock of functools.cached_property until Python 3.12 stopped 20 of 20 such children.
        """
        if "fork" not in multiprocessing.get_all_start_methods():
            pytest.skip("this system cannot fork")
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=large_designs) for _ in range(3)]
        ended = threading.Event()
        others = [threading.Thread(target=large_designs, args=(ended.is_set,)) for _ in range(2)]
        for other in others:
            other.start()
        try:
            for child in children:
                child.start()
                time.sleep(0.1)
            for child in children:
                child.join(30)
            assert [child.exitcode for child in children] == [0, 0, 0]
        finally:
            ended.set()
            for child in children:
                child.kill()
            for other in others:
                other.join()


IMPORTED_MEANWHILE = """
import os, signal, sys, threading, time
import pandas as pd
import rrstats as rr

class Slow:
    def find_spec(self, name, path, target=None):
        if name == module:
            begun.set()
            time.sleep(0.5)

uses = {"rrstats.planning": lambda: rr.planning, "rrstats.accessor": lambda: pd.DataFrame().rr}
sys.meta_path.insert(0, Slow())
for module, use in uses.items():
    begun = threading.Event()
    threading.Thread(target=use).start()
    begun.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        use()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, module
"""
"""A process that forks while another thread imports a public name, and while it makes df.rr."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_does_not_wait_for_an_import_of_its_parent():
    """What a thread imports at first use while the process forks can be used in the child."""
    subprocess.run([sys.executable, "-c", IMPORTED_MEANWHILE], check=True, timeout=120)


def large_designs(is_ended=lambda: True):
    """Compute the properties of large matrices, once or until the end."""
    while True:
        matrix = np.full((200, 200), 0.5 / 199)
        np.fill_diagonal(matrix, 0.5)
        inverse = rr.mechanisms.MatrixDesign(range(200), matrix.tolist()).channel.left_inverse
        assert (200, 200) == inverse.shape
        if is_ended():
            return


def test_threads_compute_a_property_at_the_same_time():
    """Two threads that need each other inside a property do not wait for ever; one value stays."""
    both = threading.Barrier(2, timeout=20)

    class Measured:
        @cached_property
        def token(self):
            both.wait()
            return object()

    one = Measured()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: one.token, range(2))
    assert first is second


@pytest.mark.slow
def test_spawned_workers_share_no_noise():
    """Fresh interpreters do not start from a common state."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        assert_no_shared_noise(pool.map(privatize, [TRUTH] * 4, chunksize=1))


def test_threads_share_no_noise():
    """Eight threads, each with its own call, and one SecureGenerator between them."""
    shared = rr.client.SecureGenerator()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: privatize(TRUTH, rng=shared), range(8)))
    assert_no_shared_noise(results)


def test_threads_inside_a_call_share_no_noise():
    """Blocks of one call that run in threads are independent of each other."""
    rows = 3 * BLOCK_ROWS
    reports = rr.privatize(np.zeros(rows, dtype=np.int64), range(K), 0.4, threads=3)
    assert_no_shared_noise(np.split(reports, 3))


# -- stages and columns -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nested", [lambda a, b, c: a.then(b).then(c), lambda a, b, c: a.then(b.then(c))]
)
def test_stages_of_a_chain_share_no_words(nested):
    """A chain, nested in any way, has the product as distribution; stages ask their own streams."""
    parts = [rr.KRR([0, 1], prob) for prob in (0.75, 0.625, 0.5625)]
    mechanism = nested(*parts)
    source = scripted.Recorded(scripted.Counting(1))
    rr.privatize([0, 1], mechanism, rng=source)
    streams = sorted(source.streams() - {REPLACEMENT_STREAM})
    assert len(source.log) == len(set(source.log))
    every = scripted.EveryStream(4, dict.fromkeys(streams, 1))
    distribution = every.distribution(
        mechanism.randomize(np.zeros(every.rows, dtype=np.uint8), every), 2
    )
    # Gaps 2p - 1 multiply: 1/2 * 1/4 * 1/8 = 1/64.
    assert [Fraction(65, 128), Fraction(63, 128)] == distribution.probs


def test_columns_of_a_frame_share_no_words():
    """Each column has streams of its own; the first draws what it would draw alone."""
    data = pd.DataFrame({"b": [0, 1] * 50, "x": range(100), "a": [1, 0] * 50})
    mechanism = rr.KRR([0, 1], 0.75)
    source = scripted.Recorded(scripted.Counting(5))
    out = data.rr.privatize({"a": mechanism, "b": mechanism}, rng=source)
    assert len(source.log) == len({asked[:2] + asked[3:4] for asked in source.log})
    alone = data["a"].rr.privatize(mechanism, rng=scripted.Counting(5))
    assert alone.tolist() == out["a"].tolist()
    moved = data[["a", "x", "b"]]
    again = moved.rr.privatize({"a": mechanism, "b": mechanism}, rng=scripted.Counting(5))
    assert out["b"].tolist() == again["b"].tolist()
    assert (out["a"] == data["a"]).tolist() != (out["b"] == data["b"]).tolist()


# -- nothing is carried along -------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "source",
    [rr.client.SecureGenerator(), FreshWords(), Substream(FreshWords(), 1), SimulatedWords(1)],
)
def test_generators_and_words_cannot_be_duplicated(source, duplicate):
    """Two copies could share their noise, so there is no copy and no pickle."""
    with pytest.raises(rr.errors.ArgumentTypeError, match="cannot be pickled"):
        duplicate(source)


def released():
    """Everything that a user keeps after privatizing, made with a seed and without."""
    data = pd.DataFrame({"answer": ["a", "b", "c", "a"] * 10, "age": range(40)})
    mechanism = rr.KRR(["a", "b", "c"], 0.75)
    kept = {"mechanism": mechanism, "chain": mechanism.then(mechanism)}
    seeded = np.random.default_rng(SEED)
    with pytest.warns(rr.errors.SimulationWarning):
        kept["generator frame"] = data.rr.privatize("answer", mechanism, rng=seeded)
    kept["frame"] = data.rr.privatize("answer", mechanism)
    kept["object frame"] = data.rr.privatize("answer", mechanism, rng=rr.client.SecureGenerator())
    kept["simulated frame"] = data.rr.simulate("answer", mechanism, seed=SEED)
    kept["series"] = data["answer"].rr.privatize(mechanism)
    kept["simulated series"] = rr.simulate(data["answer"], mechanism, seed=SEED)
    kept["simulated list"] = rr.simulate(data["answer"].tolist(), mechanism, seed=SEED)
    kept["tally"] = rr.tally(kept["series"], mechanism)
    kept["estimate"] = rr.estimate(kept["simulated series"], mechanism)
    kept["interval"] = kept["estimate"].interval(0.95)
    return kept


RELEASED = released()


def inside(thing, seen):
    """A thing and whatever it holds, through attributes, slots, attrs and containers."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    yield thing
    held = [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    held.append(getattr(thing, "__dict__", None))
    held.append(getattr(thing, "attrs", None))
    if isinstance(thing, dict):
        held += [*thing, *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        held += thing
    elif callable(thing):
        held += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    for part in held:
        if not isinstance(part, type | type(sys)):
            yield from inside(part, seen)


GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState)


def assert_carries_no_entropy(thing):
    """No generator, source or seed: among what it holds, in its pickle, in what it shows."""
    for part in inside(thing, {}):
        assert not isinstance(part, (*GENERATORS, np.random.SeedSequence))
        assert not isinstance(part, rr.client.SecureGenerator | Source)
        assert not (isinstance(part, int) and part == SEED)
    for _, argument, _ in pickletools.genops(io.BytesIO(pickle.dumps(thing))):
        assert argument != SEED
        if isinstance(argument, str):
            for word in ("numpy.random", "randomness", "simulation", "seed", "Generator"):
                assert word not in argument
    for text in (
        repr(thing),
        str(getattr(thing, "attrs", "")),
        getattr(thing, "_repr_html_", str)(),
    ):
        assert str(SEED) not in text
        assert "seed" not in text


@pytest.mark.parametrize("name", RELEASED)
def test_nothing_kept_carries_a_seed_or_a_generator(name):
    """Mechanisms, reports, tallies and estimates hold no entropy, however they were made."""
    assert_carries_no_entropy(RELEASED[name])


def test_a_seed_that_is_carried_would_be_caught():
    """A seed in attrs, a generator in an attribute, a seed behind a closure: all found."""
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["rrstats"] = {"columns": [{"number": SEED}]}
    holder = rr.KRR([0, 1], 0.75)
    object.__setattr__(holder, "rng", np.random.default_rng(1))
    closure = rr.KRR([0, 1], 0.75)
    seed = SEED
    object.__setattr__(closure, "draw", lambda: seed)
    for thing in (frame, holder, closure):
        with pytest.raises(AssertionError):
            assert_carries_no_entropy(thing)
