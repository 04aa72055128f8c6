"""Documents are read strictly: each key of an object stands once."""

import json

import pytest

import rrstats as rr
from rrstats.errors import MetadataError
from rrstats.mechanisms.documents import parse_json, parse_object
from rrstats.mechanisms.records import ColumnRecord, read, write

RECORD = json.dumps(write([ColumnRecord.of("answer", rr.KRR(["no", "yes"], 0.75))]))


@pytest.mark.parametrize("key", ["v", "columns", "prob", "type", "simulated", "str"])
def test_a_key_that_stands_twice_is_refused(key):
    """JSON keeps the last of two values, and another reader the first: neither is believed."""
    twice = RECORD.replace(f'"{key}"', f'"{key}": 1, "{key}"', 1)
    assert json.loads(RECORD) == json.loads(twice)
    assert [] != read({"rrstats": RECORD})
    for text in (twice, twice.encode()):
        with pytest.raises(MetadataError, match=r"rrstats document .* has a key twice"):
            read({"rrstats": text})
        with pytest.raises(MetadataError, match="has a key twice"):
            parse_json(text)
    with pytest.raises(MetadataError, match=r"pandas: .* has a key twice"):
        parse_object({b"pandas": twice.encode()}, b"pandas")
