"""Answers in every container that rrstats takes, and words that leave them as they are.

QUIET       a source under which every report is the truth, and an unknown answer becomes
            the first category: what is left to test is the way to codes and back
CATEGORIES  declared categories of every kind
FORMS       ways to put a list of answers into a container, by kind of category
hostile()   answers that raise when they are compared, hashed, printed or looked at
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rrstats.data.categories import Categories
from rrstats.data.encoders import Encoded, reader

try:
    import pyarrow as pa
except ImportError:
    pa = None


class Quiet:
    """Words that are all 1: the coin keeps the truth, and integers are all 0."""

    bits = None
    secure = True

    def words(self, stream: int, block: int, rows: Any, round: int, bits: int) -> np.ndarray:
        return np.ones(rows if isinstance(rows, int) else len(rows), dtype=f"uint{bits}")


QUIET = Quiet()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


UTC = datetime.UTC

CATEGORIES: dict[str, list[Any]] = {
    "str": ["never", "once", "often"],
    "accents": ["né", "ne", "日本", "a b", ""],
    "bool": [False, True],
    "int": [3, 1, 2],
    "huge int": [10**30, 7, -(10**25)],
    "float": [0.5, -1.0, float("inf")],
    "int and float": [1, 2.5, 4],
    "bytes": [b"ab", b"c"],
    "date": [datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)],
    "datetime": [datetime.datetime(2020, 2, 29, 12, 30), datetime.datetime(2001, 1, 1)],
    "instant": [
        datetime.datetime(2020, 2, 29, tzinfo=UTC),
        datetime.datetime(2001, 1, 1, tzinfo=UTC),
    ],
    "duration": [datetime.timedelta(days=1), datetime.timedelta(seconds=-5)],
    "tuple": [(1, 2), ("a",)],
    "mixed": ["a", 1, False, None, b"a"],
    "Decimal": [Decimal("1.5"), Decimal(2)],
    "frozenset": [frozenset({1}), frozenset()],
    "Enum": [Colour.RED, Colour.BLUE],
    "str or missing": ["yes", None, "no"],
    "bool or missing": [True, False, None],
    "int or missing": [1, 2, None],
    "float or missing": [1.5, None, 2.5],
    "date or missing": [datetime.date(2020, 2, 29), None],
}

SMALL_INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]


class Form(NamedTuple):
    """A container: its name, how it is built from a list, and the categories it can hold."""

    name: str
    build: Callable[[list[Any]], Any]
    kinds: tuple[str, ...]

    def cases(self) -> list[tuple[str, Callable[[list[Any]], Any], str]]:
        return [(f"{self.name}: {kind}", self.build, kind) for kind in self.kinds]


def encode(domain: Categories, cells: Any) -> Encoded:
    """Codes of a flat array of answers."""
    return reader(domain, cells)(cells)


def objects(values: list[Any]) -> np.ndarray:
    """An object array that does not look into its elements."""
    return np.fromiter(values, dtype=object, count=len(values))


def series_of_objects(values: list[Any]) -> pd.Series:
    return pd.Series(objects(values), dtype=object)


def _numpy(dtype: str) -> Callable[[list[Any]], Any]:
    return lambda values: np.array(values, dtype=dtype)


def _series(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pd.Series(values, dtype=dtype, name="answer")


def _categorical(values: list[Any], ordered: bool) -> pd.Series:
    """A Categorical whose own categories are sorted otherwise, with one that nobody has."""
    labels = list(dict.fromkeys(v for v in values if v is not None))
    unused = {str: "unused", int: 99, bytes: b"unused"}.get(type(labels[0]))
    labels = [*([] if unused is None else [unused]), *reversed(labels)]
    return pd.Series(pd.Categorical(values, categories=labels, ordered=ordered))


EVERYTHING = tuple(CATEGORIES)
WORDS = ("str", "accents")

FORMS = [
    Form("list", list, EVERYTHING),
    Form("tuple", tuple, EVERYTHING),
    Form("bool array", _numpy("bool"), ("bool",)),
    *(Form(f"{t} array", _numpy(t), ("int",)) for t in [*SMALL_INTS, ">i4"]),
    Form("float16 array", _numpy("float16"), ("float", "float or missing")),
    Form("float32 array", _numpy("float32"), ("float", "float or missing")),
    Form("float64 array", _numpy("float64"), ("float", "float or missing", "int and float")),
    Form("U array", _numpy("U"), WORDS),
    Form("S array", _numpy("S"), ("bytes",)),
    Form("StringDType array", lambda v: np.array(v, np.dtypes.StringDType()), WORDS),
    Form("object array", objects, ("str", "huge int", "bytes", "date", "tuple", "mixed", "Enum")),
    Form("datetime64[D] array", _numpy("M8[D]"), ("date", "date or missing")),
    Form("datetime64[s] array", _numpy("M8[s]"), ("date", "datetime")),
    Form("datetime64[ns] array", _numpy("M8[ns]"), ("datetime",)),
    Form("timedelta64[ms] array", _numpy("m8[ms]"), ("duration",)),
    Form("Series", lambda v: pd.Series(v, name="answer"), tuple(
        kind for kind in EVERYTHING if kind not in ("huge int", "int and float", "mixed")
    )),
    Form("object Series", series_of_objects, (
        "huge int", "bytes", "tuple", "mixed", "Decimal", "frozenset", "Enum", "bool or missing",
    )),
    *(Form(f"{t} Series", _series(t), ("int",)) for t in SMALL_INTS),
    Form("float32 Series", _series("float32"), ("float", "float or missing")),
    Form("string[python] Series", _series("string[python]"), (*WORDS, "str or missing")),
    Form("boolean Series", _series("boolean"), ("bool", "bool or missing")),
    Form("Int64 Series", _series("Int64"), ("int", "int or missing")),
    Form("UInt8 Series", _series("UInt8"), ("int", "int or missing")),
    Form("Float32 Series", _series("Float32"), ("float", "float or missing")),
    Form("Float64 Series", _series("Float64"), ("float", "float or missing")),
    Form("Index", lambda v: pd.Index(v, name="answer"), ("str", "int", "float", "bool", "date")),
    Form("object Index", lambda v: pd.Index(objects(v), dtype=object, tupleize_cols=False), (
        "tuple", "mixed",
    )),
    Form("CategoricalIndex", lambda v: pd.CategoricalIndex(v, categories=CATEGORIES["str"]), (
        "str",
    )),
    Form("Int64 pandas array", lambda v: pd.array(v, dtype="Int64"), ("int", "int or missing")),
    Form("object pandas array", lambda v: pd.array(objects(v), dtype=object), ("tuple",)),
]  # fmt: skip

if pa is not None:
    FORMS += [
        Form("string[pyarrow] Series", _series("string[pyarrow]"), (*WORDS, "str or missing")),
        *(
            Form(f"{name} ArrowDtype Series", _series(pd.ArrowDtype(arrow_type)), kinds)
            for name, arrow_type, kinds in [
                ("string", pa.string(), (*WORDS, "str or missing")),
                ("large_string", pa.large_string(), WORDS),
                ("bool", pa.bool_(), ("bool", "bool or missing")),
                ("int8", pa.int8(), ("int", "int or missing")),
                ("double", pa.float64(), ("float", "float or missing")),
                ("binary", pa.binary(), ("bytes",)),
                ("date32", pa.date32(), ("date", "date or missing")),
                ("timestamp", pa.timestamp("us"), ("datetime",)),
                ("timestamp in UTC", pa.timestamp("ms", tz="UTC"), ("instant",)),
                ("duration", pa.duration("s"), ("duration",)),
            ]
        ),
        *(
            Form(f"{name} Arrow array", lambda v, t=arrow_type: pa.array(v, type=t), kinds)
            for name, arrow_type, kinds in [
                ("inferred", None, (*WORDS, "bool", "int or missing", "float", "date or missing")),
                ("float16", pa.float16(), ()),
                ("decimal", pa.decimal128(5, 1), ("Decimal",)),
                ("large_binary", pa.large_binary(), ("bytes",)),
            ]
        ),
        Form(
            "chunked Arrow array",
            lambda v: pa.chunked_array([pa.array(v)[:1], pa.array(v)[1:]]),
            ("str", "int", "bool", "str or missing"),
        ),
    ]

CASES = [case for form in FORMS for case in form.cases()]


class _Raises:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared: PRIVATE")

    def __hash__(self) -> int:
        raise RuntimeError("hashed: PRIVATE")

    def __repr__(self) -> str:
        raise RuntimeError("printed: PRIVATE")

    def __bool__(self) -> bool:
        raise RuntimeError("asked: PRIVATE")

    def __len__(self) -> int:
        raise RuntimeError("measured: PRIVATE")


class _Poses(_Raises):
    """Has the hash of a category, and raises when compared with it."""

    def __hash__(self) -> int:
        return hash("never")


class _HidesItsClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("looked at: PRIVATE")


class _OddFloat(float):
    def __ne__(self, other: object) -> bool:
        raise RuntimeError("compared: PRIVATE")

    __hash__ = float.__hash__


def hostile() -> dict[str, Any]:
    """Answers that nobody declared, the more awkward the better."""
    return {
        "raises": _Raises(),
        "poses": _Poses(),
        "hides its class": _HidesItsClass(),
        "odd float": _OddFloat(7.5),
        "list": [1, 2],
        "dict": {"PRIVATE": 1},
        "set": {1},
        "array": np.arange(3),
        "empty array": np.array([]),
        "frame": pd.DataFrame({"PRIVATE": [1]}),
        "inf": float("inf"),
        "huge int": 10**400,
        "bytes": b"\xff",
        "half a surrogate": "\udc80",
        "long text": "PRIVATE" * 200,
        "tuple": ("never",),
        "type": int,
        "complex": 1j,
        "fraction": Fraction(1, 3),
        "far date": datetime.date(9999, 12, 31),
        "far datetime64": np.datetime64(2**62, "D"),
        "duration": np.timedelta64(3, "ns"),
        "lambda": lambda: None,
    }


MISSING = {
    "None": None,
    "NaN": float("nan"),
    "numpy NaN": np.float32("nan"),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "numpy NaT": np.datetime64("NaT", "ns"),
    "complex NaN": complex("nan"),
    "Decimal NaN": Decimal("NaN"),
    "signalling NaN": Decimal("sNaN"),
}
