"""The only module that reads entropy: addressed random words, fresh or simulated.

It never sees data.  The method `words(stream, block, rows, round=, bits=)` of a *source* returns
uniform words of ``bits`` bits.  They depend on the address, not on the order of the calls, so
blocks may run in any number of threads.  Fresh noise takes one 32-byte key from the operating
system for each call of `SecureGenerator.open`; the key exists only during that call.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_whole_number
from rrstats._typing import Array, Indices
from rrstats.errors import ArgumentTypeError, EntropyError, MissingPackageError

BLOCK_ROWS = 1 << 18
"""The number of rows of one block; a block is drawn at once and is part of every address."""

SMALL_CALL_ROWS = 4096
"""Below this many rows a tie of the first digit could be timed, so that digit has 64 bits."""

STREAMS_PER_STAGE = 16
"""The number of streams of one mechanism; a second stage starts after them."""

STAGES_PER_COLUMN = 1 << 16
"""The number of stages of one column; the next column's streams start after them."""

REPLACEMENT_STREAM = 0xFFFF
"""The stream that replaces answers outside the categories, for all mechanisms alike."""

Rows = int | NDArray[np.intp]
"""The number of rows of a whole block, or the indices of some rows of a block."""

_WORD_TYPES: dict[int, np.dtype[Any]] = {b: np.dtype(f"uint{b}") for b in (8, 16, 32, 64)}

_MAX_ECB_BYTES = 128
"""Up to this size the key stream is computed as ECB of the counters, which starts faster."""

_CIPHER_BLOCK_BYTES = 16
"""The block size of AES; `update_into` asks for one block more than it writes."""

# What the key stream is added to; the largest request of one block, never written to.
_ZEROS = memoryview(bytes(BLOCK_ROWS * 8))


@runtime_checkable
class Source(Protocol):
    """A source of addressed words.

    Attributes
    ----------
    bits : int or None
        The width of every word (scripted words, keyed words); None for a source that serves
        words of any width in {8, 16, 32, 64}.
    secure : bool
        Whether reports drawn from it may be released.
    """

    bits: int | None
    secure: bool

    def words(self, stream: int, block: int, rows: Rows, *, round: int, bits: int) -> Array:
        """Return uniform words at an address.

        Parameters
        ----------
        stream, block, round : int
            The address; no two share a word.
        rows : int or ndarray of int
            The number of rows of the block, or the indices of those that need a word.
        bits : int
            The width of a word.

        Returns
        -------
        ndarray of shape (rows,)
            Unsigned words below 2**bits, one for each row.
        """
        ...


@cache
def _ciphers() -> Any:
    """The ciphers of the `cryptography` package; None without it."""
    try:
        from cryptography.hazmat.primitives import ciphers
        from cryptography.hazmat.primitives.ciphers import algorithms, modes
    except ImportError:
        return None
    return ciphers.Cipher, algorithms.AES, modes


def is_stretched() -> bool:
    """True if AES-256 stretches the bits of the operating system in this environment."""
    return _ciphers() is not None


def secret_bytes(count: int) -> bytes:
    """Bytes from the operating system, never fewer: a shorter secret could be guessed."""
    secret = os.urandom(count)
    if len(secret) != count:
        raise EntropyError(
            f"the operating system must return {count} random bytes, but returned {len(secret)}; "
            "nothing was drawn: mend its source of randomness"
        )
    return secret


def cipher_blocks(key: bytes) -> Callable[[NDArray[np.uint64]], NDArray[np.uint64]]:
    """Prepare AES-256 of separate 16-byte blocks.

    Parameters
    ----------
    key : bytes
        32 secret bytes.

    Returns
    -------
    callable
        From blocks of shape (n, 2) to their ciphertexts of the same shape.

    Raises
    ------
    MissingPackageError
        The `cryptography` package is missing.
    """
    ciphers = _ciphers()
    if ciphers is None:
        raise MissingPackageError(
            "keyed reports need AES; install cryptography (pip install cryptography)"
        )
    cipher, aes, modes = ciphers
    prepared = cipher(aes(key), modes.ECB())

    def encrypt(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        plain = np.ascontiguousarray(blocks, dtype="<u8").reshape(-1).view(np.uint8)
        encrypted = _encrypted(prepared.encryptor(), plain, plain.size)
        return encrypted.view("<u8").reshape(-1, 2)

    return encrypt


def _encrypted(
    encryptor: Any, plain: NDArray[np.uint8] | memoryview | bytes, size: int
) -> NDArray[np.uint8]:
    """``size`` encrypted bytes; raises if the cipher wrote fewer, because the rest is not noise."""
    encrypted = np.empty(size + _CIPHER_BLOCK_BYTES, dtype=np.uint8)
    written = encryptor.update_into(plain, encrypted)
    if written != size:
        raise RuntimeError(f"the cipher wrote {written} of {size} bytes")
    return encrypted[:size]


class Unpicklable:
    """Base class of objects that may exist only once: two copies would share their noise."""

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            f"a {type(self).__name__} cannot be pickled or copied: two copies would share their "
            "noise; create one where it is used"
        )


class FreshWords(Unpicklable):
    """Words of one call: AES-256 in counter mode under a key that is used only once.

    The counter is (stream, round, block, position), so no two addresses share a word.
    Without the `cryptography` package, or with ``stretched=False``, each word comes from
    `os.urandom`: this is slower except for a few words, has the same distribution, and gives
    different words when the same address is requested twice.
    """

    bits: int | None = None
    secure = True

    def __init__(self, *, stretched: bool = True) -> None:
        self._aes = None
        ciphers = _ciphers() if stretched else None
        if ciphers is not None:
            self._cipher, aes, self._modes = ciphers
            self._aes = aes(secret_bytes(32))
            # Counter mode is ECB of the counters; for short requests that is cheaper.
            self._counter_encryptor = self._cipher(self._aes, self._modes.ECB()).encryptor()
            self._encryptor_lock = threading.Lock()

    def words(self, stream: int, block: int, rows: Rows, *, round: int, bits: int) -> Array:
        """Return uniform words of 8, 16, 32 or 64 bits, as `Source.words`."""
        dtype = _WORD_TYPES[bits]
        count = rows if isinstance(rows, int) else len(rows)
        size = count * dtype.itemsize
        if self._aes is None:
            return np.frombuffer(secret_bytes(size), dtype=dtype)
        # to_bytes raises if a field overflows, so that no two addresses are equal.
        address = stream.to_bytes(2) + round.to_bytes(2) + block.to_bytes(6)
        if size <= _MAX_ECB_BYTES:
            blocks = -(-size // _CIPHER_BLOCK_BYTES)
            counters = b"".join(address + at.to_bytes(6) for at in range(blocks))
            with self._encryptor_lock:
                stream_bytes = self._counter_encryptor.update(counters)
            return np.frombuffer(stream_bytes, dtype=dtype, count=count)
        zeros = _ZEROS[:size] if size <= len(_ZEROS) else bytes(size)
        counter = self._modes.CTR(address + bytes(6))
        encryptor = self._cipher(self._aes, counter).encryptor()
        return _encrypted(encryptor, zeros, size).view(dtype)


class SecureGenerator(Unpicklable):
    """The default source of noise, with a fresh key from the operating system in every call.

    It holds no state.  Every call that uses it takes a new 32-byte key, so forked, spawned
    and threaded workers never share noise, and there is nothing to seed, log or recover.

    Examples
    --------
    >>> import rrstats as rr
    >>> len(rr.privatize(["yes", "no"], ["yes", "no"], 0.75, rng=rr.client.SecureGenerator()))
    2
    """

    __slots__ = ()

    def open(self) -> Source:
        """Return a source of words under a new key, for one call.

        Returns
        -------
        Source
        """
        return FreshWords()

    def __repr__(self) -> str:
        return "SecureGenerator()"


class Substream(Unpicklable):
    """The streams of a later stage or of some rows: the same source with an offset.

    Parameters
    ----------
    source : Source
        The source of all stages.
    stage : int
        The number of the stage.
    served_rows : ndarray of int, optional
        Indices of the block's rows that it serves; by default all rows.
    """

    def __init__(self, source: Source, stage: int, served_rows: Indices | None = None) -> None:
        self._source = source
        self._offset = stage * STREAMS_PER_STAGE
        self._served_rows = served_rows
        self.bits = source.bits
        self.secure = source.secure

    def words(self, stream: int, block: int, rows: Rows, *, round: int, bits: int) -> Array:
        """Return the words of ``stream`` in this stage, as `Source.words`."""
        if self._served_rows is not None:
            rows = self._served_rows if isinstance(rows, int) else self._served_rows[rows]
        return self._source.words(stream + self._offset, block, rows, round=round, bits=bits)


SIMULATED_TEXT = (
    "the noise comes from a generator that is not cryptographic: a person who learns its seed or "
    "state can read the true answers; never release these reports"
)


class SimulatedWords(Unpicklable):
    """Addressed words from a NumPy generator: the same address gives the same words."""

    bits: int | None = None
    secure = False

    def __init__(self, entropy: int) -> None:
        self._entropy = entropy  # from the caller's generator; never shown or stored elsewhere

    def words(self, stream: int, block: int, rows: Rows, *, round: int, bits: int) -> Array:
        """Return pseudo-random words of this address, as `Source.words`."""
        seed = np.random.SeedSequence(self._entropy, spawn_key=(stream, block, round))
        generator = np.random.Generator(np.random.PCG64DXSM(seed))
        count = rows if isinstance(rows, int) else len(rows)
        return generator.integers(0, 1 << bits, size=count, dtype=f"uint{bits}")


SeedLike: TypeAlias = int | np.random.Generator
"""The argument ``seed``."""


class Seed:
    """The seed of a simulation, an integer of at least 0, from which each column has its noise."""

    def __init__(self, seed: object) -> None:
        self._seed = check_whole_number(seed, "seed", 0)

    def generator(self, name: Hashable = None, rounds: int = 0) -> np.random.Generator:
        """NumPy's generator for a column by its name, and for the rounds that it had before."""
        if name is None and not rounds:
            return np.random.default_rng(self._seed)
        plain = name.item() if isinstance(name, np.generic) else name
        digest = hashlib.sha256(repr((plain, rounds)).encode(errors="surrogatepass")).digest()
        return np.random.default_rng([self._seed, int.from_bytes(digest, "little")])


def simulation_source(seed: SeedLike) -> np.random.Generator | Seed:
    """The source of a simulation: a Generator itself, which advances, or a seed for columns."""
    return seed if isinstance(seed, np.random.Generator) else Seed(seed)


RandomSource: TypeAlias = SecureGenerator | np.random.Generator | Source
"""The argument ``rng``: where the noise of a call comes from."""


def open_source(rng: object = None, *, column: int = 0) -> Source:
    """Open the source of words for one column of one call.

    Parameters
    ----------
    rng : None, SecureGenerator, numpy.random.Generator or Source
        None and a SecureGenerator take a fresh key.  NumPy's generators are for teaching only; the
        results are marked.  For another source (scripted, keyed) its ``secure`` is trusted.
    column : int, default 0
        The place of the column in the call; columns never share words.

    Returns
    -------
    Source

    Raises
    ------
    ArgumentTypeError
        For any other object, such as a seed, or the words of an earlier call, which would give
        both calls the same noise.
    """
    if rng is None:
        return FreshWords()
    if isinstance(rng, SecureGenerator):
        return rng.open()
    if isinstance(rng, FreshWords | Substream):
        raise ArgumentTypeError(
            "rng must not be the words of another call: two columns with the same noise reveal "
            "their difference; pass rr.client.SecureGenerator()"
        )
    if isinstance(rng, Source) and not isinstance(rng, type):
        return Substream(rng, column * STAGES_PER_COLUMN)
    if isinstance(rng, np.random.Generator):  # its state moves on; nothing else is taken
        return SimulatedWords(int.from_bytes(rng.bytes(32), "little"))
    kind = f"the class {rng.__name__}" if isinstance(rng, type) else type(rng).__name__
    raise ArgumentTypeError(
        "rng must be None, an rr.client.SecureGenerator() or, for teaching, a "
        f"numpy.random.Generator, found {kind}; for reproducible teaching use "
        "rr.simulate(..., seed=...)"
    )
