"""One run of a function under audit: what goes in, and all that can be seen of what comes out.

Inputs are lists of declared categories and, where wanted, one value that is none and a missing
one, in a container whose type does not depend on which of them occur.  Of what comes back the
audit sees the reports and everything around them: type, dtype, length, index, name, attrs,
warnings, log records, and the exception, if there was one.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats.data.categories import Categories, is_missing
from rrstats.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "COLUMN",
    "FACTS",
    "FORMS",
    "NO_REPORTS",
    "Coder",
    "Inputs",
    "Run",
    "Subject",
    "container_of",
]

COLUMN = "answer"
"""The name of the Series, or of the frame's column, that holds the answers."""

FORMS = ("list", "array", "series", "frame")

FACTS = ("exception", "warnings", "log records", "type and dtype", "length", "index")
"""What is seen of a short call beside its reports."""

NO_REPORTS = "fn must give back"
"""How the error begins where what came back holds no reports."""

_MISSING = ("a missing value",)


def _key(value: Any) -> Hashable:
    """What tells reports apart: True is not 1, and all missing values are one."""
    if is_missing(value):
        return _MISSING
    if isinstance(value, np.ndarray):
        return np.packbits(value, bitorder="little").tobytes()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return ("bool", value)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value if isinstance(value, Hashable) else repr(value)


@dataclass(frozen=True)
class Inputs:
    """What a record may hold: the k categories, and then what else is tried.

    values : all of them.  names : the same in words.  k : how many are categories.
    """

    values: tuple[Any, ...]
    names: tuple[str, ...]
    k: int

    @classmethod
    def of(cls, domain: Categories, *, unknown: bool, missing: bool) -> Inputs:
        """The categories of a domain, one value that is none of them, and a missing one."""
        values: list[Any] = list(domain.categories)
        names = ["a missing value" if value is None else repr(value) for value in values]
        if unknown:
            values.append(_outside(domain))
            names.append(f"an unknown value ({values[-1]!r})")
        if missing and domain.missing_code is None:
            values.append(None)
            names.append("a missing value")
        return cls(tuple(values), tuple(names), domain.k)

    @property
    def others(self) -> range:
        """The places of what is no category."""
        return range(self.k, len(self.values))

    def taken(self, places: Iterable[int]) -> list[Any]:
        """The values at some places."""
        return [self.values[place] for place in places]


def _outside(domain: Categories) -> Any:
    """A value like the categories that is none of them."""
    taken = set(map(_key, domain.categories))
    stem: Any = {"int": 1, "float": 1.5, "bytes": b"no category"}.get(domain.kind, "no category")
    value = stem
    while _key(value) in taken:
        value = value + stem
    return value


def container_of(form: Any, inputs: Inputs) -> Callable[[list[Any]], Any]:
    """What makes the container that ``fn`` takes, of the same declared type every time.

    form : "list", "array", "series", "frame", or a function from a list to any container.
    """
    if callable(form):
        return cast("Callable[[list[Any]], Any]", form)
    if form not in FORMS:
        raise ArgumentValueError(f"form must be one of {list(FORMS)} or a function, got {form!r}")
    if form == "list":
        return list
    plain = list(inputs.values)
    if form == "array":
        dtype = _kept(np.array(plain) if len(set(map(type, plain))) == 1 else None, plain)
        return lambda values: _array(values, dtype)
    kind = _kept(pd.Series(plain), plain)
    if form == "series":
        return lambda values: pd.Series(values, dtype=kind, name=COLUMN)
    return lambda values: pd.DataFrame(
        {COLUMN: pd.Series(values, dtype=kind), "row": range(len(values))}
    )


def _kept(column: Any, values: list[Any]) -> Any:
    """The dtype of a column, where it gives all values back; else that of objects."""
    held = [] if column is None or column.ndim != 1 else column.tolist()
    return column.dtype if list(map(_key, held)) == list(map(_key, values)) else np.dtype(object)


def _array(values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind != "O":
        return np.array(values, dtype=dtype)
    return np.fromiter(values, dtype=object, count=len(values))


class Coder:
    """Numbers for things seen, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self._codes: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.things)

    def code(self, thing: Any) -> int:
        """The number of one thing."""
        found = self._codes.setdefault(_key(thing), len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found

    def codes(self, things: list[Any]) -> NDArray[np.intp]:
        """The numbers of many things."""
        kinds = set(map(type, things)) - {str, bytes, type(None)}
        if len(kinds) <= 1 and kinds <= {int, bool}:  # among these, equal means the same
            numbers = {thing: self.code(thing) for thing in set(things)}
            found: Iterable[int] = map(numbers.__getitem__, things)
        else:
            found = map(self.code, things)
        return np.fromiter(found, dtype=np.intp, count=len(things))

    def shows(self, inputs: Inputs) -> NDArray[np.bool_]:
        """(things, inputs) whether a report is an input, or a packed subset that holds it."""
        width, labels = -(-inputs.k // 8), list(map(_key, inputs.values))
        subsets = not any(isinstance(value, bytes) for value in inputs.values)
        table = np.zeros((len(self), len(labels)), dtype=np.bool_)
        for row, thing in enumerate(map(_key, self.things)):
            if subsets and isinstance(thing, bytes) and len(thing) == width:
                bits = np.unpackbits(np.frombuffer(thing, dtype=np.uint8), bitorder="little")
                table[row, : inputs.k] = bits[: inputs.k]
            else:
                table[row] = [thing == label for label in labels]
        return table


@dataclass(frozen=True)
class Run:
    """What came back from one call: reports, or None where it raised; and facts, in words."""

    reports: list[Any] | None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def raised(self) -> str:
        """The exception in words; empty without one."""
        return self.facts.get("exception", "")


class _Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        self.records.append(f"{record.name} {record.levelname}: {record.getMessage()}")


@dataclass(frozen=True)
class Subject:
    """The function under audit, and how it is called."""

    fn: Callable[[Any], Any]
    container: Callable[[list[Any]], Any]
    one_by_one: bool

    def run(self, values: list[Any], *, facts: bool = True) -> Run:
        """One call, or one a value; whatever it raises is seen, not raised.

        facts : whether to look at more than reports and exceptions.
        """
        listener = _Listener()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            logging.getLogger().addHandler(listener)
            try:
                if self.one_by_one:
                    given: Any = [self.fn(value) for value in values]
                else:
                    given = self.fn(self.container(values))
            except Exception as error:
                return Run(None, {"exception": f"{type(error).__name__}: {error}"})
            finally:
                logging.getLogger().removeHandler(listener)
        try:
            reports = opened(given)
        except ArgumentTypeError as error:
            return Run(None, {"exception": str(error)})
        if not facts:
            return Run(reports)
        told = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
        seen = {"warnings": "; ".join(told), "log records": "; ".join(listener.records)}
        return Run(reports, {**seen, **_facts(given, reports)})


def opened(given: Any) -> list[Any]:
    """The reports in whatever came back, as a list.

    Raises ArgumentTypeError where it holds no column of reports.
    """
    if isinstance(given, pd.DataFrame):
        if COLUMN not in given.columns:
            raise ArgumentTypeError(f"{NO_REPORTS} a frame with the column {COLUMN!r}")
        given = given[COLUMN]
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return list(given)
    for name in ("to_pylist", "tolist", "to_list"):  # Arrow, NumPy and pandas, Polars
        if callable(listed := getattr(given, name, None)) and np.ndim(given) == 1:
            return list(listed())
    if isinstance(given, list | tuple):
        return list(given)
    raise ArgumentTypeError(
        f"{NO_REPORTS} reports as a list, tuple, array, Series, Index, frame or Arrow array, "
        f"found {type(given).__name__}; for a function of one value say one_by_one=True"
    )


def _facts(given: Any, reports: list[Any]) -> dict[str, str]:
    """What can be seen of a result beside its reports."""
    kinds = sorted({type(report).__name__ for report in reports if not is_missing(report)})
    told = [type(given).__name__, str(getattr(given, "dtype", getattr(given, "type", "")))]
    told += ["of", ", ".join(kinds)]
    index = ""
    if isinstance(given, pd.Series | pd.DataFrame):
        index = f"{type(given.index).__name__} {given.index.dtype} {list(given.index)}"
        told.append(f"attrs {given.attrs!r}" if given.attrs else "")
    if isinstance(given, pd.Series | pd.Index):
        told.append(f"named {given.name!r}")
    if isinstance(given, pd.DataFrame):
        told += [f"{name!r} {kind}" for name, kind in given.dtypes.items()]
        index += f", other columns {given.drop(columns=COLUMN).to_numpy().tolist()}"
    if isinstance(getattr(given, "dtype", None), pd.CategoricalDtype):
        told.append(f"categories {list(given.dtype.categories)}")
    return {
        "type and dtype": " ".join(filter(None, told)),
        "length": f"{len(reports)} reports",
        "index": index,
    }
