"""Fresh words come from AES in counter mode, or from the operating system, and are used once."""

import hashlib
import os

import chance
import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.randomness import sources as randomness
from rrstats.randomness.sources import BLOCK_ROWS, REPLACEMENT_STREAM, FreshWords

ADDRESSES = [
    (stream, block, round)
    for stream in (0, 1, 16, REPLACEMENT_STREAM)
    for block in (0, 1, 2**47)
    for round in (0, 1, 17)
]


@pytest.fixture
def no_cryptography(monkeypatch):
    monkeypatch.setattr(randomness, "_ciphers", lambda: None)


@pytest.fixture(params=["cryptography", "os.urandom"])
def words_from(request):
    """Both ways to words; the first needs the package cryptography, which is optional."""
    if request.param == "cryptography":
        pytest.importorskip("cryptography")
    else:
        request.getfixturevalue("no_cryptography")
    return request.param


class Urandom:
    """A stand-in for os.urandom: reproducible bytes, and a log of the sizes asked."""

    def __init__(self, start):
        self.start, self.sizes = start, []

    def __call__(self, size):
        self.sizes.append(size)
        return hashlib.shake_128(f"{self.start}:{len(self.sizes)}".encode()).digest(size)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("rows", [0, 1, 15, 16, 4097])
def test_words_have_the_length_and_type_asked(words_from, bits, rows):
    """One unsigned word a row, whether rows are a number or indices."""
    source = FreshWords()
    for asked in (rows, np.arange(rows)):
        words = source.words(1, 2, asked, round=3, bits=bits)
        assert (rows,) == words.shape
        assert np.dtype(f"uint{bits}") == words.dtype
    assert source.bits is None
    assert source.secure


def test_keystream_is_aes_256_in_counter_mode(monkeypatch):
    """Words are the AES-256-CTR key stream at (stream, round, block, 0) in 2+2+6+6 bytes."""
    ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers")
    monkeypatch.setattr(os, "urandom", Urandom("a"))
    key = Urandom("a")(32)
    source = FreshWords()
    for stream, block, round in ADDRESSES:
        counter = (stream << 112 | round << 96 | block << 48).to_bytes(16, "big")
        aes = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CTR(counter)).encryptor()
        expected = aes.update(bytes(1000)) + aes.finalize()
        assert expected == source.words(stream, block, 125, round=round, bits=64).tobytes()
    assert os.urandom.sizes == [32]


@pytest.mark.parametrize(
    ("stream", "block", "round"), [(2**16, 0, 0), (0, 2**48, 0), (0, 0, 2**16), (-1, 0, 0)]
)
def test_an_address_that_does_not_fit_is_an_error(stream, block, round, cryptography):
    """A field that overflows raises instead of running into the next address."""
    with pytest.raises(OverflowError):
        FreshWords().words(stream, block, 1, round=round, bits=8)


def test_the_zeros_stay_zero(words_from):
    """Key stream is never written over what it is added to; a larger request works too."""
    words = FreshWords().words(0, 0, BLOCK_ROWS + 100, round=0, bits=64)
    assert np.count_nonzero(words[-100:]) > 90
    assert randomness._ZEROS.readonly
    assert not any(randomness._ZEROS[:1000])


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_few_words_are_the_first_of_many(bits, cryptography):
    """Counters taken one by one give the same key stream as counter mode."""
    source = FreshWords()
    for stream, block, round in ADDRESSES:
        many = source.words(stream, block, 5000, round=round, bits=bits)
        for rows in (1, 3, 128 * 8 // bits, 128 * 8 // bits + 1):
            assert (
                many[:rows].tolist()
                == source.words(stream, block, rows, round=round, bits=bits).tolist()
            )


def test_every_call_has_a_key_of_its_own(monkeypatch, cryptography):
    """Two calls, and two columns of one call, take 32 fresh bytes each, and nothing else."""
    monkeypatch.setattr(os, "urandom", Urandom("c"))
    keys = []
    cipher, aes, modes = randomness._ciphers()

    def spy(key):
        keys.append(key)
        return aes(key)

    monkeypatch.setattr(randomness, "_ciphers", lambda: (cipher, spy, modes))
    for rng in (None, rr.client.SecureGenerator()):
        first = rr.privatize([0] * 200, range(100), 0.01, rng=rng)
        assert first != rr.privatize([0] * 200, range(100), 0.01, rng=rng)
    assert os.urandom.sizes == [32] * 4
    mechanism = rr.KRR([0, 1], 0.75)
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]})
    frame.rr.privatize({"a": mechanism, "b": mechanism})
    assert len(keys) == len(set(keys)) >= 6
    assert {32} == set(os.urandom.sizes)


def test_reports_follow_the_distribution_with_real_entropy(words_from):
    """The real source is wired to the distribution: shares, pairs of neighbours, and spread.

    Three comparisons at 1e-9 in total each; a share off by 0.01 escapes once in 1e9 runs.
    """
    k, prob = 4, 0.7
    distribution = np.full((k, k), (1 - prob) / (k - 1)) + np.eye(k) * (prob - (1 - prob) / (k - 1))
    n = chance.sample_size(gap=0.01, cells=k * k)
    reports = np.array([rr.privatize(np.full(n, truth), range(k), prob) for truth in range(k)])
    chance.assert_distribution(
        np.array([np.bincount(row, minlength=k) for row in reports]), distribution
    )
    first = reports[0][: n // 2 * 2]
    chance.assert_product(first[::2], first[1::2], distribution[0], distribution[0])
    chance.assert_product(reports[0], reports[1], distribution[0], distribution[1])
    chance.assert_spread(chance.batches(first, 1000, k), distribution[0])


def test_unknown_answers_are_uniform_with_real_entropy(words_from):
    """Missing and unknown answers are reported uniformly, each once in k = 3."""
    n = chance.sample_size(gap=0.01, cells=6)
    for answer in (None, "else"):
        answers = np.full(n, answer, dtype=object)
        reports = rr.privatize(answers, ["a", "b", "c"], 0.8, unknown="uniform")
        chance.assert_distribution([np.count_nonzero(reports == c) for c in "abc"], [1 / 3] * 3)


def test_a_small_call_follows_the_distribution_too(words_from):
    """Calls of one answer, with 64-bit coins, have the same distribution."""
    n = 3000
    reports = [rr.privatize("a", ["a", "b"], 0.75) for _ in range(n)]
    chance.assert_distribution([reports.count("a"), reports.count("b")], [0.75, 0.25])


@pytest.mark.parametrize("which", ["counter mode", "blocks"])
def test_a_cipher_that_writes_less_than_it_was_asked_is_noticed(monkeypatch, which, cryptography):
    """What lies behind its last byte is memory, not noise."""
    cipher, aes, modes = randomness._ciphers()

    class Short:
        def __init__(self, *given):
            self.real = cipher(*given).encryptor()

        def encryptor(self):
            return self

        def update(self, data):
            return self.real.update(data)

        def update_into(self, data, room):
            return self.real.update_into(data, room) - 16

    monkeypatch.setattr(randomness, "_ciphers", lambda: (Short, aes, modes))
    encrypt, words = randomness.cipher_blocks(bytes(32)), FreshWords()
    with pytest.raises(RuntimeError, match="the cipher wrote"):
        encrypt(np.zeros((4, 2), dtype=np.uint64)) if which == "blocks" else words.words(
            0, 0, 100_000, round=0, bits=64
        )
