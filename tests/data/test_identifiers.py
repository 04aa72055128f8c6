"""Ids of people: the same 128 bits and kind in every container, and what is no id."""

import uuid
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest

from rrstats.data.identifiers import identity
from rrstats.errors import ArgumentTypeError, ArgumentValueError

try:
    import pyarrow as pa
except ImportError:
    pa = None

WHOLE = [3, 0, 2**40, 7]
TEXT = ["P3", "", "Zoë", "P7"]
SIXTEEN = [bytes(16), b"0123456789abcdef", b"fedcba9876543210", b"\xff" * 16]

IDS = {
    "int64": (WHOLE, lambda v: np.array(v)),
    "uint64": (WHOLE, lambda v: np.array(v, dtype=np.uint64)),
    "Series": (WHOLE, lambda v: pd.Series(v)),
    "objects": (WHOLE, lambda v: np.array(v, dtype=object)),
    "categorical": (WHOLE, lambda v: pd.Categorical(v)),
    "category": (TEXT, lambda v: pd.Series(v, dtype="category")),
    "str": (TEXT, lambda v: pd.Series(v)),
    "text objects": (TEXT, lambda v: pd.Series(v, dtype=object)),
    "python strings": (TEXT, lambda v: pd.array(v, dtype="string[python]")),
    "UUIDs": (SIXTEEN, lambda v: [uuid.UUID(bytes=sixteen) for sixteen in v]),
    "V16": (SIXTEEN, lambda v: np.frombuffer(b"".join(v), dtype="V16")),
}
ARROW_IDS = {
    "Arrow integers": (WHOLE, lambda v: pa.array(v)),
    "ArrowDtype": (WHOLE, lambda v: pd.Series(v, dtype="int64[pyarrow]")),
    "Arrow strings": (TEXT, lambda v: pa.array(v)),
    "Arrow chunks": (TEXT, lambda v: pa.chunked_array([v[:1], v[1:]])),
    "Arrow dictionary": (TEXT, lambda v: pa.array(v).dictionary_encode()),
    "Arrow binary": (SIXTEEN, lambda v: pa.array(v, pa.binary())),
    "Arrow 16 bytes": (SIXTEEN, lambda v: pa.array(v, pa.binary(16))),
    "a slice of Arrow": (SIXTEEN, lambda v: pa.array([v[0], *v], pa.binary(16))[1:]),
}


@pytest.mark.parametrize("form", [*IDS, *ARROW_IDS])
def test_an_id_is_the_same_person_in_every_container(form):
    """The 16 bytes and the kind of an id do not depend on the column that holds it."""
    if form in ARROW_IDS:
        pytest.importorskip("pyarrow")
    ids, make = (IDS | ARROW_IDS)[form]
    blocks, kinds = identity(ids).read(slice(1, 4))
    same_blocks, same_kinds = identity(make(ids)).read(slice(1, 4))
    assert np.array_equal(same_blocks, blocks)
    assert np.array_equal(same_kinds, kinds)


def test_a_place_that_no_row_uses_does_not_count():
    """Missing or odd entries of a dictionary are no ids unless a row has them."""
    categorical = pd.Categorical.from_codes([0, 1], pd.Index(["P1", "P2", 3.5], dtype=object))
    plain = identity(["P1", "P2"]).read(slice(0, 2))
    assert np.array_equal(identity(categorical).read(slice(0, 2))[0], plain[0])
    assert len(identity(categorical[:0]).read(slice(0, 0))[0]) == 0
    if pa is not None:
        spare = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["P1", "P2", None]))
        assert np.array_equal(identity(spare).read(slice(0, 2))[0], plain[0])


def test_blocks_and_kinds_of_ids_never_change():
    """Numbers in two's complement, 16 bytes as they stand, a digest of other text and bytes."""
    ids = [5, -1, 2**127 - 1, 1 - 2**127, bytes(range(16)), "P3", b"P3"]
    blocks, kinds = identity(ids).read(slice(0, len(ids)))
    expected = [
        *(number.to_bytes(16, "little", signed=True) for number in ids[:4]),
        bytes(range(16)),
        blake2b(b"P3", digest_size=16).digest(),
        blake2b(b"P3", digest_size=16).digest(),
    ]
    assert [row.astype("<u8").tobytes() for row in blocks] == expected
    assert kinds.tolist() == [1, 1, 1, 1, 2, 3, 4]
    small, _ = identity(np.array([-3, 7], dtype=np.int8)).read(slice(0, 2))
    assert np.array_equal(small, identity([-3, 7]).read(slice(0, 2))[0])


MISSING = {
    "list": [1, None, None],
    "objects": np.array(["a", None, np.nan], dtype=object),
    "categorical": pd.Categorical(["a", None, None]),
    "Int64": pd.array([1, None, None], dtype="Int64"),
    "Series": pd.Series(["a", None, None]),
}


@pytest.mark.parametrize("form", MISSING)
def test_no_id_may_be_missing(form):
    """They are counted, in every container."""
    with pytest.raises(ArgumentValueError, match="found 2 of 3 missing"):
        identity(MISSING[form], "who")


@pytest.mark.parametrize("text", [" PRIVATE", "PRIVATE\t", "PRIVATE e\u0301", "\u212b"])
def test_text_has_one_spelling(text):
    """Text with surrounding space, or that is not in composed form, is refused, not quoted."""
    with pytest.raises(ArgumentValueError, match="surrounding space") as caught:
        identity([text]).read(slice(0, 1))
    assert "PRIVATE" not in str(caught.value)
    assert len(identity(["\xe9 a"]).read(slice(0, 1))[0]) == 1


@pytest.mark.parametrize("number", [2**127, -(2**127), True, 1.5])
def test_other_numbers_are_no_ids(number):
    """128 bits hold whole numbers below 2**127; booleans and floats are no ids."""
    with pytest.raises(ArgumentTypeError, match="whole numbers below"):
        identity([number]).read(slice(0, 1))


@pytest.mark.parametrize("ids", [np.array([1.0]), np.array([b"a"]), np.array([True])])
def test_a_type_that_holds_no_ids_is_refused_at_once(ids):
    """A column's declared type is enough, before any row is read."""
    with pytest.raises(ArgumentTypeError, match="must hold whole numbers"):
        identity(ids[:0])
