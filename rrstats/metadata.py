"""Metadata of privatized columns: `read` records, and `carry` them over a merge."""

from rrstats.mechanisms.serialization import carry, read
from rrstats.mechanisms.serialization import find as find  # unlisted: one of those of `read`
from rrstats.mechanisms.serialization import (
    write as write,  # unlisted: a record is made by privatize
)

__all__ = ["carry", "read"]


def __dir__() -> list[str]:
    return __all__
