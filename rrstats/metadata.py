"""Metadata of privatized columns, and `carry` after a merge."""

from rrstats.mechanisms.records import (
    KEY,
    MOST_CATEGORIES,
    MOST_LEVELS,
    VERSION,
    Mechanisms,
    Record,
    carry,
    check_fits,
    find,
    read,
    record_columns,
    write,
)

__all__ = [
    "KEY",
    "MOST_CATEGORIES",
    "MOST_LEVELS",
    "VERSION",
    "Mechanisms",
    "Record",
    "carry",
    "check_fits",
    "find",
    "read",
    "record_columns",
    "write",
]
