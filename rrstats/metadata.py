"""Metadata of privatized columns: read, write, find, and `carry` after a merge."""

from rrstats.mechanisms.records import carry, find, read, write

__all__ = ["carry", "find", "read", "write"]


def __dir__() -> list[str]:
    return __all__
