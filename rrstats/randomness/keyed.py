"""Random words that depend on a secret key, an id and a value, so reports can be recomputed.

They serve lazy frames that are computed many times, data curators who must recreate a release, and
panel members who give the same answer in every wave.  At (id, value) the word of
(stream, round) is a fourth of

    AES-256 under K2 of  ( AES-256 under K1 of id   xor   value | round | stream // 4 | kind of id )

where each of the four has 32 bits, little-endian; K1 and K2 come from HMAC-SHA256 of the key over
this version, the question and the mechanism; the question is a name (`Keyed.question`), by default
the column's name.
So questions, mechanisms and ids never share words, and neither do two values of one person, whose
reports would otherwise show by how much the answer changed.

Keyed noise has these costs.  It hides a value, but not whether or when it changed: if the report of
a person changed, the answer changed.  Epsilon counts for every distinct value that a person ever
has in a column.  Two rows with the same id and value have the same report, so an id must name one
person in all releases under a key.  If two people share an id and their reports differ, their
answers certainly differ (a household number is not an id).  Reports that are randomized again under
the same key need ``again=True``; otherwise the second round would repeat the noise of the first.
For data without a record (lists, Polars) take another key for each round.  The key reveals nearly
all answers: keep it apart from the data, and destroy it when nothing has to be recomputed.
Fresh noise, the default, has none of these costs.
Sources: Erlingsson, Pihur and Korolova (2014), sect. 3, for permanent reports; Bellare, Kilian and
Rogaway (2000) for the chained blocks of fixed length; RFC 2104 for HMAC.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_instance, check_whole_number, cut
from rrstats._names import checked_keywords
from rrstats._typing import Array, FilePath
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError
from rrstats.randomness.sources import Rows, Unpicklable, cipher_blocks, secret_bytes

VERSION = 1
KEY_BYTES = 32
WORD_BITS = 32
MAX_ID_COLUMNS = 4

_MIN_DISTINCT_BYTES = 10
"""A random key has fewer different bytes with probability below 10**-24."""

_WORDS_OF_A_BLOCK = 4

Blocks = NDArray[np.uint64]


@checked_keywords
class Key(bytes):
    """A secret key: bytes that are not shown when printed.

    ``bytes(key)`` is the secret; ``save`` and ``read`` store it in a separate file.

    Examples
    --------
    >>> import rrstats as rr
    >>> rr.client.new_key()
    <secret key of 32 bytes>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<secret key of {len(self)} bytes>"

    __str__ = __repr__

    def save(self, path: FilePath) -> None:
        """Write the key to a new file that only its owner may read.

        Keep this file apart from the data, and out of their backups.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        OSError
            The file exists, or cannot be written.

        Examples
        --------
        >>> import rrstats as rr, tempfile
        >>> path = f"{tempfile.mkdtemp()}/key"
        >>> key = rr.client.new_key()
        >>> key.save(path)
        >>> rr.client.Key.read(path) == key
        True
        """
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(self)

    @classmethod
    def read(cls, path: FilePath) -> Key:
        """Read the key in a file that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Key

        Raises
        ------
        OSError
            The file cannot be read.
        """
        try:
            key = Path(path).read_bytes()
        except OSError as error:
            raise FileError(
                f"path must be a file that Key.save wrote; {cut(str(path))} cannot be read: "
                f"{error.strerror}"
            ) from None
        return check_key(key)


@checked_keywords
def new_key() -> Key:
    """Draw a new secret key of 32 bytes from the operating system, for keyed reports.

    Do not store it beside the data, in a notebook or in a repository: it reveals nearly every
    answer.  ``key.save(path)`` writes it to a separate file; `Key.read` reads it.

    Returns
    -------
    Key

    Examples
    --------
    >>> len(new_key()), new_key() == new_key()
    (32, False)
    """
    return Key(secret_bytes(KEY_BYTES))


def check_key(key: bytes | bytearray) -> Key:
    """Check that a value can be a key; no error quotes it."""
    hint = "a password or a number is not a key"
    check_instance(
        key, "key", bytes | bytearray, "32 secret bytes from rr.client.new_key()", hint=hint
    )
    if len(key) < KEY_BYTES or len(set(key)) < _MIN_DISTINCT_BYTES:
        raise ArgumentValueError(
            f"key must be at least {KEY_BYTES} random bytes, found {len(key)}, of which "
            f"{len(set(key))} differ; make one with rr.client.new_key()"
        )
    return Key(key)


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class Keyed:
    """Keyed noise: a secret key, the person of each row, and the question that was asked.

    Attributes
    ----------
    key : bytes
        32 secret bytes from `rr.client.new_key`: the same in every call.
    id : array-like, list of array-likes, or column names
        The persons, as whole numbers, 16 bytes or text; of a frame the column, or the columns,
        that identify the person.
    question : hashable or mapping, optional
        The question's name, on which the noise depends; by default the column's name.  For
        several columns, a mapping from column to question.  Two questions with the same name,
        design, key and ids share their noise: different reports then prove different answers.

    Examples
    --------
    >>> import rrstats as rr
    >>> keyed = rr.client.Keyed(rr.client.new_key(), id=[101, 102, 103], question="smoker")
    >>> first = rr.privatize(["no", "yes", "no"], ["no", "yes"], 0.75, key=keyed)
    >>> first == rr.privatize(["no", "yes", "no"], ["no", "yes"], 0.75, key=keyed)
    True
    """

    key: bytes
    id: Any
    question: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", check_key(self.key))
        if self.id is None or (isinstance(self.id, list) and not self.id):
            raise ArgumentTypeError(
                "keyed reports need the person of each answer: give id= (or leave key= out for "
                "fresh noise)"
            )

    def questions(self, names: Sequence[Hashable]) -> Mapping[Any, Any]:
        """Return the question of the private columns that have one beside their name.

        Parameters
        ----------
        names : sequence of hashables
            All private columns.

        Returns
        -------
        mapping
            From column to question.
        """
        is_mapping = isinstance(self.question, Mapping)
        questions = dict(self.question) if is_mapping else dict.fromkeys(names, self.question)
        is_shared = not is_mapping and self.question is not None and len(names) > 1
        if is_shared or set(questions) - set(names):
            raise ArgumentTypeError(
                "question must be a mapping from the private columns to questions"
            )
        return questions

    def __repr__(self) -> str:
        return "<keyed noise>"


def check_keyed(key: Any) -> Keyed:
    """Check that a value can be the ``key`` of keyed reports; no error quotes it."""
    keyed: Keyed = check_instance(
        key, "key", Keyed, "key and person together, as rr.client.Keyed(key, id='person')"
    )
    return keyed


@dataclass(frozen=True, eq=False)
class Identity:
    """One column of ids.

    Parameters
    ----------
    rows : int
        Their number.
    read : callable
        From a slice of rows to their (n, 2) words of 64 bits, which are the 16 bytes of each id,
        and their (n,) kinds.
    """

    rows: int
    read: Callable[[slice], tuple[Blocks, NDArray[np.uint32]]]


class KeyedColumn(Unpicklable):
    """The keyed words of one question.

    Parameters
    ----------
    key : bytes
        The secret.
    column, mechanism : dict
        JSON forms of the question, by default the column's name, and of the mechanism.
    before : JSON value, optional
        For a second round, the description of the earlier ones, so that no words are reused.
    """

    def __init__(
        self,
        key: bytes | bytearray,
        column: dict[str, Any],
        mechanism: dict[str, Any],
        before: Any = None,
    ) -> None:
        self._key = check_key(key)
        self._question = {"column": column, "mechanism": mechanism, "rrstats keyed": VERSION}
        if before is not None:
            self._question["before"] = before

    def _subkey(self, purpose: str, ids: int) -> bytes:
        """The key of one purpose: HMAC-SHA256 of the question under the secret."""
        document = {**self._question, "ids": ids, "purpose": purpose}
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hmac.new(self._key, text.encode("ascii"), hashlib.sha256).digest()

    def words(self, ids: Sequence[Identity], rows: slice, values: Array) -> KeyedWords:
        """Return the source of words of some rows.

        Parameters
        ----------
        ids : sequence of Identity
            The person of each row; several columns of ids identify a person together.
        rows : slice
            The rows.
        values : ndarray of int of shape (n,)
            The number of each row's value, below 2**32.

        Returns
        -------
        KeyedWords
        """
        check_whole_number(len(ids), "the number of columns in id", 1, MAX_ID_COLUMNS)
        encrypt_id = cipher_blocks(self._subkey("id", len(ids)))
        state, kinds = ids[0].read(rows)
        for identity in ids[1:]:
            blocks, next_kinds = identity.read(rows)
            state = encrypt_id(state) ^ blocks
            kinds = kinds << np.uint32(8) | next_kinds
        state = encrypt_id(state)
        state[:, 0] ^= values.astype(np.uint64)
        state[:, 1] ^= kinds.astype(np.uint64) << np.uint64(32)
        return KeyedWords(cipher_blocks(self._subkey("words", len(ids))), state)

    def __repr__(self) -> str:
        return "KeyedColumn()"


class KeyedWords(Unpicklable):
    """Words of one block of rows; those of a row do not depend on order or on other rows."""

    bits: int | None = WORD_BITS
    secure = True

    def __init__(self, encrypt: Callable[[Blocks], Blocks], state: Blocks) -> None:
        self._encrypt = encrypt
        self._state = state
        self._last: tuple[tuple[int, int], NDArray[np.uint32]] | None = None

    def words(
        self, stream: int, block: int, rows: Rows, *, round: int, bits: int
    ) -> NDArray[np.uint32]:
        """Return words of 32 bits at (id, value, stream, round); ``block`` does not matter."""
        address = (stream // _WORDS_OF_A_BLOCK, round)
        place = stream % _WORDS_OF_A_BLOCK
        if not isinstance(rows, int):
            return self._blocks(self._state[rows], address)[:, place]
        if self._last is None or self._last[0] != address:
            self._last = (address, self._blocks(self._state, address))
        return self._last[1][:, place]

    def _blocks(self, state: Blocks, address: tuple[int, int]) -> NDArray[np.uint32]:
        """(n, 4) words of 32 bits at one address: a group of four streams, and a round."""
        group, round_number = address
        blocks = state ^ np.array([round_number << 32, group], dtype=np.uint64)
        words: NDArray[np.uint32] = self._encrypt(blocks).view("<u4")
        return words.reshape(-1, _WORDS_OF_A_BLOCK)
