"""Metadata of privatized columns: `read` and `find` records, and `carry` them over a merge."""

from rrstats.mechanisms.serialization import carry, find, read
from rrstats.mechanisms.serialization import (
    write as write,  # unlisted: a record is made by privatize
)

__all__ = ["carry", "find", "read"]


def __dir__() -> list[str]:
    return __all__
