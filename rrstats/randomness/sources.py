"""The one door to entropy: addressed words, and exact coins, integers and table cells.

Nothing here sees data.  A *source* answers `words(stream, block, rows, round, bits)` with
uniform words of ``bits`` bits; the address makes the result independent of the order of
the calls, so blocks may run in any number of threads.  Fresh noise takes one 32-byte key from
the operating system for each call of `SecureGenerator.open` and never outlives that call.

Law: the sampled probability *is* the rational number asked for.  A coin compares the binary
expansion of the probability, digit by digit, with random digits; integers come from equal runs
of words, with rejection.  Tests enumerate every stream of tiny words through this code.
Sources: Lemire (2019), "Fast random integer generation in an interval", who compares the ways.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rrstats.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError

__all__ = [
    "BLOCK_ROWS",
    "FreshWords",
    "SecureGenerator",
    "SimulatedWords",
    "Source",
    "Substream",
    "cipher_blocks",
    "open_source",
    "secret_bytes",
    "seeded",
    "simulated_words",
]

BLOCK_ROWS = 1 << 18
"""Rows of one block: what is drawn at once, and a part of every address."""

SMALL_CALL_ROWS = 4096
"""Below this many rows a tie of the first digit could be timed, so that digit has 64 bits."""

STREAMS_PER_STAGE = 16
"""Streams that one mechanism may use; a second stage starts behind them."""

STAGES_PER_COLUMN = 1 << 16
"""Stages that one column may use; the next column's streams start behind them."""

REPLACEMENT_STREAM = 0xFFFF
"""The stream that replaces answers outside the categories, for all mechanisms alike."""

_WORD_TYPES: dict[int, np.dtype[Any]] = {b: np.dtype(f"uint{b}") for b in (8, 16, 32, 64)}

_FEW_BYTES = 128
"""Up to here the key stream is made from its counters one by one."""

# What the key stream is added to; the largest request of one block, never written to.
_ZEROS = memoryview(bytes(BLOCK_ROWS * 8))


@runtime_checkable
class Source(Protocol):
    """Where words come from.

    ``bits`` is None for a source that serves words of any width in {8, 16, 32, 64}, and a
    number where every word has that many bits (scripted words, keyed words).  ``secure``
    says whether reports drawn from it may be released.
    """

    bits: int | None
    secure: bool

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Uniform unsigned words below 2**bits, one for each row.

        ``rows`` is a number of rows (all rows of the block) or the indices of those rows
        of the block that need a word in this round.
        """
        ...


def _row_count(rows: int | NDArray[np.intp]) -> int:
    return rows if isinstance(rows, int) else len(rows)


@cache
def _ciphers() -> Any:
    """The ciphers of the `cryptography` package; None without it."""
    try:
        from cryptography.hazmat.primitives import ciphers
        from cryptography.hazmat.primitives.ciphers import algorithms, modes
    except ImportError:
        return None
    return ciphers.Cipher, algorithms.AES, modes


def secret_bytes(count: int) -> bytes:
    """Bytes from the operating system, for a secret that is to be kept."""
    return os.urandom(count)


def cipher_blocks(key: bytes) -> Callable[[NDArray[np.uint64]], NDArray[np.uint64]]:
    """AES-256 of 16-byte blocks, each by itself; (n, 2) in and out, bytes as they stand.

    Raises MissingPackageError without the `cryptography` package.
    """
    if (ciphers := _ciphers()) is None:
        raise MissingPackageError(
            "keyed reports need AES; install cryptography (pip install cryptography)"
        )
    cipher, aes, modes = ciphers
    prepared = cipher(aes(key), modes.ECB())

    def encrypt(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        # update_into asks for one cipher block more than it writes.
        room = np.empty(blocks.size + 2, dtype="<u8")
        given = np.ascontiguousarray(blocks, dtype="<u8").reshape(-1).view(np.uint8)
        prepared.encryptor().update_into(given, room.view(np.uint8))
        return room[: blocks.size].reshape(-1, 2)

    return encrypt


class FreshWords:
    """Words of one call: AES-256 in counter mode under a key that nobody else ever has.

    The counter is (stream, round, block, position), so no two addresses share a word.
    Without the `cryptography` package, or where nothing is to be stretched, each word comes from
    `os.urandom`: slower but for a handful of words, same law, and asking twice gives two answers.
    """

    bits: int | None = None
    secure = True

    def __init__(self, *, stretched: bool = True) -> None:
        self._aes = None
        if stretched and (ciphers := _ciphers()) is not None:
            self._cipher, aes, self._modes = ciphers
            self._aes = aes(os.urandom(32))
            # Counter mode is this on the counters one by one: cheaper where there are few.
            self._one_by_one = self._cipher(self._aes, self._modes.ECB()).encryptor()
            self._alone = threading.Lock()

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Uniform words of 8, 16, 32 or 64 bits at this address."""
        dtype = _WORD_TYPES[bits]
        size = _row_count(rows) * dtype.itemsize
        if self._aes is None:
            return np.frombuffer(os.urandom(size), dtype=dtype)
        # to_bytes raises where a field is full, so that no address runs into another.
        address = stream.to_bytes(2) + round.to_bytes(2) + block.to_bytes(6)
        if size <= _FEW_BYTES:
            counters = b"".join(address + at.to_bytes(6) for at in range(-(-size // 16)))
            with self._alone:
                stream_bytes = self._one_by_one.update(counters)
            return np.frombuffer(stream_bytes, dtype=dtype, count=_row_count(rows))
        zeros = _ZEROS[:size] if size <= len(_ZEROS) else bytes(size)
        # update_into asks for one cipher block more than it writes.
        buffer = np.empty(size + 16, dtype=np.uint8)
        counter = self._modes.CTR(address + bytes(6))
        self._cipher(self._aes, counter).encryptor().update_into(zeros, buffer)
        return buffer[:size].view(dtype)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError("words cannot be pickled: two copies would share their noise")


class SecureGenerator:
    """The default source of noise, as an object: keyed afresh by the operating system.

    It holds no state.  Every call that uses it takes a new 32-byte key, so forked, spawned
    and threaded workers never share noise, and there is nothing to seed, log or recover.

    >>> import rrstats as rr
    >>> len(rr.privatize(["yes", "no"], ["yes", "no"], 0.75, rng=rr.SecureGenerator()))
    2
    """

    __slots__ = ()

    def open(self) -> Source:
        """A source of words under a new key, for one call."""
        return FreshWords()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a SecureGenerator cannot be pickled or copied; create one where it is used"
        )

    def __repr__(self) -> str:
        return "SecureGenerator()"


class Substream:
    """The streams of a later stage, or of some rows: the same source behind an offset.

    mine : (n,) indices of the rows of the block that this is for; all of them by default.
    """

    def __init__(self, source: Source, stage: int, mine: NDArray[np.intp] | None = None) -> None:
        self._source = source
        self._offset = stage * STREAMS_PER_STAGE
        self._mine = mine
        self.bits = source.bits
        self.secure = source.secure

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """The words of ``stream`` in this stage."""
        if self._mine is not None:
            rows = self._mine if isinstance(rows, int) else self._mine[rows]
        return self._source.words(stream + self._offset, block, rows, round, bits)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError("words cannot be pickled: two copies would share their noise")


class SimulatedWords:
    """Addressed words from a NumPy generator: the same address gives the same words."""

    bits: int | None = None
    secure = False

    def __init__(self, entropy: int) -> None:
        self._entropy = entropy  # from the caller's generator; never shown or stored elsewhere

    def words(
        self, stream: int, block: int, rows: int | NDArray[np.intp], round: int, bits: int
    ) -> NDArray[Any]:
        """Pseudo-random words of this address."""
        seed = np.random.SeedSequence(self._entropy, spawn_key=(stream, block, round))
        size = rows if isinstance(rows, int) else len(rows)
        generator = np.random.Generator(np.random.PCG64DXSM(seed))
        return generator.integers(0, 1 << bits, size=size, dtype=f"uint{bits}", endpoint=False)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError("words cannot be pickled: two copies would share their noise")


def simulated_words(rng: Any) -> Source:
    """Words drawn from a numpy.random.Generator, whose state moves on.

    Raises ArgumentTypeError for anything else.
    """
    if not isinstance(rng, np.random.Generator):
        found = f"the class {rng.__name__}" if isinstance(rng, type) else type(rng).__name__
        raise ArgumentTypeError(
            "rng must be None, an rr.SecureGenerator() or, for teaching, a numpy.random.Generator, "
            f"found {found}; for reproducible teaching use rr.simulate(..., seed=...)"
        )
    return SimulatedWords(int.from_bytes(rng.bytes(32), "little"))


def seeded(seed: Any) -> np.random.Generator:
    """NumPy's generator of a seed, an integer of at least 0; for simulation alone."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ArgumentTypeError(f"seed must be an integer, found {type(seed).__name__}")
    if seed < 0:
        raise ArgumentValueError("seed must be at least 0")
    return np.random.default_rng(int(seed))


def open_source(rng: object = None, *, column: int = 0) -> Source:
    """The source of words for one column of one call.

    rng : None or a SecureGenerator (a fresh key), a numpy.random.Generator, which is for
        teaching only and marks what it makes, or a source (scripted, keyed), which is believed
        when it says of itself that it is secure.
    column : the place of the column in the call; columns never share words.
    Raises ArgumentTypeError for anything else: a seed above all, and the words of an earlier
    call, which would give both calls the same noise.
    """
    if rng is None:
        return SecureGenerator().open()
    if isinstance(rng, SecureGenerator):
        return rng.open()
    if isinstance(rng, FreshWords | Substream):
        raise ArgumentTypeError(
            "rng must not be the words of another call: two columns with the same noise show "
            "their difference; pass rr.SecureGenerator()"
        )
    if isinstance(rng, Source) and not isinstance(rng, type):
        return Substream(rng, column * STAGES_PER_COLUMN)
    return simulated_words(rng)
