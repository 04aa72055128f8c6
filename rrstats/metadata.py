"""Metadata of privatized columns: read, find, and `carry` after a merge."""

from rrstats.mechanisms.serialization import carry, find, read
from rrstats.mechanisms.serialization import (
    write as write,  # unlisted: a record is made by privatize
)

__all__ = ["carry", "find", "read"]


def __dir__() -> list[str]:
    return __all__
