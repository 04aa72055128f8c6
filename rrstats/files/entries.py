"""One entry of a ledger: a release of some columns, as it is kept in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rrstats._version import __version__
from rrstats.data import labels
from rrstats.mechanisms.records import Record

__all__ = ["Release"]

_KEYS = {"when", "columns", "epsilon", "target", "digest", "rows", "rrstats"}


@dataclass(frozen=True)
class Release:
    """One release: when, which columns and how, to where, from which state of the source.

    records : how each column was made.  epsilon : for each column, what one report of it
    spends.  digest : of the source.  rows : how many records.  rrstats : the version that made it.
    """

    when: datetime
    records: tuple[Record, ...]
    epsilon: Mapping[Hashable, float]
    target: str
    digest: str
    rows: int
    rrstats: str

    @classmethod
    def of(cls, records: Iterable[Record], target: Path, digest: str, rows: int) -> Release:
        """The release that happens now."""
        made = tuple(records)
        epsilon = {record.name: record.epsilon for record in made}
        where = str(Path(target).absolute())
        return cls(datetime.now(UTC), made, epsilon, where, digest, int(rows), __version__)

    def to_dict(self) -> dict[str, Any]:
        """The release as plain JSON."""
        return {
            "when": self.when.isoformat(timespec="seconds"),
            "columns": [record.to_dict() for record in self.records],
            "epsilon": {
                _key(name): "inf" if math.isinf(value) else value
                for name, value in self.epsilon.items()
            },
            "target": self.target,
            "digest": self.digest,
            "rows": self.rows,
            "rrstats": self.rrstats,
        }

    @classmethod
    def from_dict(cls, document: Any) -> Release:
        """The release that `to_dict` described; raises one of several errors for anything else."""
        if not isinstance(document, dict) or set(document) != _KEYS:
            raise ValueError(f"each release needs just {', '.join(sorted(_KEYS))}")
        for key in ("when", "target", "digest", "rrstats"):
            if not isinstance(document[key], str):
                raise ValueError(f"{key!r} must be text")
        when = datetime.fromisoformat(document["when"])
        if when.tzinfo is None:
            raise ValueError("'when' must name its time zone")
        rows = document["rows"]
        if type(rows) is not int or rows < 0:
            raise ValueError("'rows' must be a whole number of at least 0")
        if not isinstance(document["columns"], list) or not document["columns"]:
            raise ValueError("'columns' must list at least one column")
        columns = tuple(Record.from_dict(item) for item in document["columns"])
        if len({record.name for record in columns}) < len(columns):
            raise ValueError("a release names a column twice")
        said = document["epsilon"]
        if not isinstance(said, dict) or set(said) != {_key(record.name) for record in columns}:
            raise ValueError("'epsilon' must have a number for each column")
        # What was said then counts too, where it is more than what is computed now.
        epsilon = {
            record.name: max(record.epsilon, _number(said[_key(record.name)])) for record in columns
        }
        return cls(
            when,
            columns,
            epsilon,
            document["target"],
            document["digest"],
            rows,
            document["rrstats"],
        )


def _key(name: Hashable) -> str:
    """A column's label as a key of JSON."""
    return name if isinstance(name, str) else json.dumps(labels.encode([name])[0])


def _number(value: Any) -> float:
    if value == "inf":
        return math.inf
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError("an epsilon must be a number of at least 0")
    return float(value)
