"""What data say of themselves: the JSON document of how columns were made.

    {"v": 1, "columns": [{"name": ..., "mechanism": {...}, "unknown": "warn",
                          "missing": "unknown", "simulated": false, "keyed": false}]}

The same document lies in ``df.attrs["rrstats"]``, as JSON text in files, and in a plan.
`records` holds its form; `carrying` puts it back where pandas lost it:

    merged = rr.metadata.carry(people.merge(reports, on="id"), reports)
"""

from rrstats.metadata.carrying import carry, check_fits
from rrstats.metadata.records import (
    KEY,
    MOST_CATEGORIES,
    MOST_LEVELS,
    VERSION,
    Mechanisms,
    Record,
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
