"""The main privacy test: whatever one person answers, only their own report can change.

Two runs under the same words, on data that differ in one record.  Everything that a result
shows is compared, apart from that record's cell: type, dtype, categories and their order, index,
name, attrs, nulls, warnings, log records, the words that were drawn, pandas' blocks, and all other
cells.  Frames with equal reports have equal pickles.
"""

import importlib
import io
import json
import logging
import pickle
import warnings
from functools import cache
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from answers import CATEGORIES, MISSING, hostile, objects
from scripted import Counting, Recorded

import rrstats as rr
from rrstats.errors import ArgumentTypeError, UnrecordedWarning

try:
    import pyarrow as pa
except ImportError:
    pa = None

PLACE = 2


class _Logs(logging.Handler):
    def __init__(self):
        super().__init__(level=0)
        self.records = []

    def emit(self, record):
        self.records.append(record.getMessage())


def _cells(out):
    """The cells of a result as a flat list; missing ones as None."""
    if isinstance(out, np.ndarray):
        out = out.reshape(-1)
    cells = out.to_pylist() if hasattr(out, "to_pylist") else list(out)
    return [None if rr.data.categories.is_missing(c) else (type(c).__name__, c) for c in cells]


def footprint(values, categories, run=rr.privatize, place=PLACE, **options):
    """All that a result shows apart from the cell at ``place``."""
    source, logs, root = Recorded(Counting(7)), _Logs(), logging.getLogger()
    level = root.level
    root.addHandler(logs)
    root.setLevel(0)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = run(values, categories, 0.75, rng=source, **options)
    finally:
        root.removeHandler(logs)
        root.setLevel(level)
    cells = _cells(out)
    dtype = out.dtype if hasattr(out, "dtype") else getattr(out, "type", None)
    shown = {
        "type": type(out),
        "dtype": repr(dtype),
        "shape": getattr(out, "shape", len(out)),
        "index": repr(getattr(out, "index", None)) if isinstance(out, pd.Series) else None,
        "name": getattr(out, "name", None),
        "attrs": json.dumps(getattr(out, "attrs", None), default=repr),
        "nulls": [i for i, c in enumerate(cells) if c is None and i != place],
        "warnings": [
            str(w.message) for w in caught if not issubclass(w.category, UnrecordedWarning)
        ],
        "unrecorded": sum(issubclass(w.category, UnrecordedWarning) for w in caught),
        "logs": logs.records,
        "words": source.log,
        "cells": [c for i, c in enumerate(cells) if i != place],
    }
    if isinstance(dtype, pd.CategoricalDtype):
        shown["categories"] = list(dtype.categories)
        shown["category dtype"] = repr(dtype.categories.dtype)
    if pa is not None and isinstance(out, pa.DictionaryArray):
        shown["dictionary"] = out.dictionary.to_pylist()
    return shown


def replaced(answers, value):
    """The same answers, with another one at ``PLACE``."""
    return [*answers[:PLACE], value, *answers[PLACE + 1 :]]


def base_of(categories, rows=6):
    """Answers of all categories; the first ones fix what pandas infers.

    The second category comes first: the list is not in the order of the data, which alone warns.
    """
    return [categories[i % len(categories)] for i in range(1, rows + 1)]


def quietly(function, *arguments, **options):
    """A call whose warnings are not the question: pandas' own, and those of missing JSON forms."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


# -- any container of Python objects, any replacement --------------------------------------

LOOSE = {
    "list": list,
    "tuple": tuple,
    "object array": objects,
    "2-d object array": lambda v: objects(v).reshape(2, 3),
    "object Series": lambda v: pd.Series(objects(v), dtype=object, name="a"),
    "object Index": lambda v: pd.Index(objects(v), dtype=object, name="a", tupleize_cols=False),
    "inferred Series": lambda v: pd.Series(v, name="a"),
    "inferred categorical": lambda v: pd.Series(v, name="a").astype("category"),
}


# Cells of these are read as those of a list and of an object Series are, whatever they hold.
READ_ALIKE = {"tuple", "object array", "2-d object array", "object Index"}
FEW_KINDS = ("str", "int or missing", "datetime", "tuple", "mixed")


@pytest.mark.parametrize(
    ("form", "kind"),
    [(f, k) for f, k in product(LOOSE, CATEGORIES) if f not in READ_ALIKE or k in FEW_KINDS],
)
def test_one_record_changes_nothing_but_its_own_report(form, kind):
    """Any category, missing of every kind, unknown or hostile answer in one record's place."""
    build, categories = LOOSE[form], CATEGORIES[kind]
    base = base_of(categories)
    expected = footprint(quietly(build, base), categories, unknown="uniform")
    others = {f"category {i}": c for i, c in enumerate(categories)} | MISSING | hostile()
    others |= {"unknown str": "no such answer", "one": 1, "true": True, "half": 0.5, "wide": 2**64}
    tried = 0
    for name, value in others.items():
        try:
            answers = quietly(build, replaced(base, value))
        except Exception:
            continue  # pandas itself cannot build it
        tried += 1
        assert expected == footprint(answers, categories, unknown="uniform"), name
    assert tried >= len(categories) + 10
    assert expected["warnings"] == expected["logs"] == []


# -- typed containers ----------------------------------------------------------------------


def _series(dtype):
    return lambda values: pd.Series(values, dtype=dtype, name="a")


def _categorical(ordered):
    def build(values):
        labels = sorted({v for v in values if isinstance(v, str)} | {"unused"}, reverse=True)
        return pd.Series(pd.Categorical(values, categories=labels, ordered=ordered))

    return build


WORDS = [None, "never", "once", "often", "elsewhere", "", "x" * 500]
NUMBERS = [3, 1, 2, 0, 100]
TYPED = {
    "U array": (np.array, "str", [w for w in WORDS if w is not None]),
    "StringDType array": (
        lambda v: np.array(v, dtype=np.dtypes.StringDType(na_object=None)),
        "str",
        WORDS,
    ),
    "S array": (np.array, "bytes", [b"ab", b"c", b"other", b""]),
    "bool array": (np.array, "bool", [True, False]),
    "int8 array": (lambda v: np.array(v, "int8"), "int", NUMBERS),
    "inferred int array": (np.array, "int", [*NUMBERS, 2**62, -(2**62), 2**64, 10**30]),
    "float64 array": (lambda v: np.array(v, float), "int", [*NUMBERS, 0.5, np.nan, np.inf]),
    "float16 array": (lambda v: np.array(v, "f2"), "float", [0.5, -1, np.nan, np.inf, 60_000]),
    "datetime64 array": (
        lambda v: np.array(v, "M8[D]"),
        "date",
        [*CATEGORIES["date"], "NaT", np.datetime64(2**60, "D"), np.datetime64(-(2**60), "D")],
    ),
    "timedelta64 array": (
        lambda v: np.array(v, "m8[s]"),
        "duration",
        [*CATEGORIES["duration"], np.timedelta64("NaT", "ns"), np.timedelta64(2**60, "s")],
    ),
    "categorical": (_categorical(False), "str", WORDS),
    "ordered categorical": (_categorical(True), "str", WORDS),
    "string[python]": (_series("string[python]"), "str", WORDS),
    "boolean": (_series("boolean"), "bool", [True, False, None]),
    "Int64": (_series("Int64"), "int", [*NUMBERS, None, 2**62]),
    "Float32": (_series("Float32"), "float", [0.5, -1.0, None, 7.0]),
    "str": (_series("str"), "str", WORDS),
    "pandas array": (lambda v: pd.array(v, dtype="Int64"), "int", [*NUMBERS, None]),
    "datetime Series": (
        lambda v: pd.Series(pd.to_datetime(pd.Series(v, dtype=object))),
        "datetime",
        [*CATEGORIES["datetime"], None, pd.Timestamp("2020-01-01 00:00:00.000000001")],
    ),
    "category or missing": (_series("Int64"), "int or missing", [1, 2, 5, None]),
}
if pa is not None:
    TYPED |= {
        "string[pyarrow]": (_series("string[pyarrow]"), "str", WORDS),
        "Arrow array": (pa.array, "str", WORDS),
        "Arrow dictionary": (lambda v: pa.array(v).dictionary_encode(), "str", WORDS),
        "Arrow int8": (lambda v: pa.array(v, pa.int8()), "int", [*NUMBERS, None]),
        "Arrow bool": (pa.array, "bool", [True, False, None]),
        "Arrow timestamp": (
            lambda v: pa.array(np.array(v, "M8[s]")),
            "datetime",
            [*CATEGORIES["datetime"], None, np.datetime64(2**55, "s")],
        ),
        "chunked Arrow array": (
            lambda v: pa.chunked_array([pa.array(part, pa.string()) for part in (v[:3], v[3:])]),
            "str",
            WORDS,
        ),
        "chunked dictionaries": (
            lambda v: pa.chunked_array(
                [pa.array(part, pa.string()).dictionary_encode("encode") for part in (v[:3], v[3:])]
            ),
            "str",
            WORDS,
        ),
        **{
            f"ArrowDtype {name}": (_series(pd.ArrowDtype(arrow)), kind, others)
            for name, arrow, kind, others in [
                ("string", pa.string(), "str", WORDS),
                ("large_string", pa.large_string(), "str", WORDS),
                ("dictionary", pa.dictionary(pa.int32(), pa.string()), "str", WORDS),
                ("int16", pa.int16(), "int", [*NUMBERS, None]),
                ("double", pa.float64(), "float", [0.5, -1.0, None, 7.0]),
                ("date32", pa.date32(), "date", [*CATEGORIES["date"], None]),
            ]
        },
    }  # fmt: skip


@pytest.mark.parametrize("missing", ["unknown", "keep"])
@pytest.mark.parametrize("form", TYPED)
def test_one_record_of_a_typed_column_changes_nothing_but_its_own_report(form, missing):
    """The same for columns that declare their type, and where missing answers are kept."""
    build, kind, others = TYPED[form]
    categories = CATEGORIES[kind]
    if missing == "keep" and None in categories:
        return  # refused: missing is an answer there
    base = base_of(categories)
    expected = footprint(build(base), categories, unknown="uniform", missing=missing)
    for value in [c for c in categories if c not in others] + others:
        answers = build(replaced(base, value))
        assert expected == footprint(answers, categories, unknown="uniform", missing=missing)


@pytest.mark.parametrize("kind", ["str", "int", "bool", "float", "date", "datetime", "tuple"])
@pytest.mark.parametrize("form", LOOSE)
def test_keeping_missing_answers_shows_who_is_missing_and_nothing_else(form, kind):
    """With missing="keep", the one thing that changes is the null at that place."""
    build, categories = LOOSE[form], CATEGORIES[kind]
    base = base_of(categories)
    options = {"unknown": "uniform", "missing": "keep"}
    expected = footprint(quietly(build, base), categories, **options)
    assert expected["nulls"] == []
    for name, value in MISSING.items():
        if name.startswith("signalling") and form == "inferred categorical":
            continue  # pandas cannot hash it
        answers = quietly(build, replaced(base, value))
        assert expected == footprint(answers, categories, **options), name
        out = quietly(rr.privatize, answers, categories, 0.75, rng=Counting(1), **options)
        assert _cells(out)[PLACE] is None


@pytest.mark.parametrize("k", [2, 3, 257, 1000, 70_000])
def test_the_words_drawn_depend_on_n_and_k_alone(k):
    """Addresses and numbers of words are those of any other data of this size (T16)."""
    data = [
        np.zeros(5000, dtype=np.int64),
        np.full(5000, k - 1),
        np.arange(5000) % k,
        np.full(5000, -1),
        np.where(np.arange(5000) % 2, -1, 1),
    ]
    logs = []
    for answers in data:
        source = Recorded(Counting(3))
        rr.privatize(answers, range(k), max(0.6, 1 / k), rng=source, unknown="uniform")
        logs.append(source.log)
    assert all(logs[0] == log for log in logs)
    assert logs[0]


def test_chains_and_frames_do_not_interfere_either():
    """Two rounds, and several columns of a frame: other columns, index and attrs stay equal."""
    first = rr.KRR(["a", "b", "c"], 0.8)
    plan = {"x": first.then(rr.KRR(["a", "b", "c"], 0.7)), "y": rr.KRR([1, 2], 0.75)}
    base = pd.DataFrame(
        {"x": list("abcab"), "y": [1, 2, 1, 2, 1], "z": range(5)}, index=list("vwxyz")
    )

    def shown(frame, column):
        source = Recorded(Counting(5))
        out = frame.rr.privatize(plan, unknown="uniform", rng=source)
        other = out.copy()
        other[column] = None
        cells = [c for i, c in enumerate(out[column]) if i != PLACE]
        facts = repr(out.dtypes), repr(out.attrs), source.log, cells, blocks(out)
        return other, facts

    for column, values in (("x", ["a", None, 7, "z"]), ("y", [2, None, 99, "z", 10**30])):
        before, facts = shown(base, column)
        for value in values:
            changed = base.copy()
            changed[column] = replaced(base[column].tolist(), value)
            after, other_facts = shown(changed, column)
            pd.testing.assert_frame_equal(before, after)
            assert facts == other_facts


def blocks(frame):
    """How pandas holds a frame: for each block its dtype, columns and layout, in their order."""
    return [
        (str(block.dtype), block.mgr_locs.as_array.tolist(), block.shape, _layout(block.values))
        for block in frame._mgr.blocks
    ]


def _layout(values):
    if isinstance(values, np.ndarray):
        return values.flags.c_contiguous, values.flags.f_contiguous
    return type(values).__name__, len(getattr(getattr(values, "_pa_array", None), "chunks", ()))


NUMBERED = [1, 2, 3]
FRAME_DESIGNS = {
    "k-RR": rr.KRR(NUMBERED, 0.7),
    "matrix": rr.MatrixDesign(NUMBERED, np.full((3, 3), 0.25) + np.eye(3) / 4),
    "matrix with other reports": rr.MatrixDesign(
        NUMBERED, [[0.5, 0.25, 0.25], [0.5, 0.75, 0.75]], reports=[0, 1]
    ),
    "subset selection": rr.mechanisms.SubsetSelection([1, 2, 3, 4], epsilon=1.0),
    "symmetric unary": rr.mechanisms.UnaryEncoding.symmetric(NUMBERED, epsilon=1.0),
    "optimized unary": rr.mechanisms.UnaryEncoding.optimized(NUMBERED, epsilon=1.0),
    "RAPPOR": rr.mechanisms.Rappor(NUMBERED, f=0.5, p=0.5, q=0.75),
    "plan": rr.planning.FramePlan({"q": NUMBERED, "p": ["yes", "no"]}, 1.5, ["q", ("q", "p"), "p"]),
}
FRAME_ANSWERS = {
    "inferred": (None, [1, 2, 3, None, np.nan, "x", 2.5, True, 2**70]),
    "float64": ("float64", [1, 2, 3, None, 7.5]),
    "Int64": ("Int64", [1, 2, 3, None, 7]),
    "object": (object, [1, 2, 3, None, np.nan, pd.NA, "x", 2.5]),
}


@cache
def public_columns():
    """Public columns of many dtypes, and answers to another question."""
    return pd.DataFrame({
        "id": range(6),
        "half": [0.5] * 6,
        "text": pd.Series(["t"] * 6, dtype=object),
        "p": ["yes", "no"] * 3,
        "flag": [True, False] * 3,
        "weight": [1.5] * 6,
        "size": pd.Series(range(6), dtype="Int64"),
        "when": pd.to_datetime(["2020-01-01"] * 6),
        "count": range(6, 12),
    })  # fmt: skip


def framed(value, dtype, place, *, fragmented):
    """A frame with columns of many dtypes around the private one, which holds ``value``."""
    frame = public_columns().copy(deep=False)
    answers = quietly(pd.Series, replaced([1, 2, 3, 1, 2, 3], value), dtype=dtype, name="q")
    frame.insert(place, "q", answers)
    return frame if fragmented else frame.copy()  # pandas joins the blocks of a copy


@pytest.mark.parametrize(
    ("name", "form", "place"),
    [
        # Every form of answers becomes the same codes, of which each design makes its reports.
        *product(FRAME_DESIGNS, ["inferred", "Int64"], [4]),
        *product(["k-RR", "plan"], ["float64", "object"], [4]),
        *product(["k-RR", "plan"], FRAME_ANSWERS, [0]),
    ],
)
def test_equal_reports_make_equal_frames_down_to_their_blocks_and_pickles(name, form, place):
    """Neither pandas' blocks nor the bytes of a pickle tell more of an answer than its report."""
    design, (dtype, values) = FRAME_DESIGNS[name], FRAME_ANSWERS[form]
    design = design if isinstance(design, rr.planning.FramePlan) else {"q": design}
    layouts, pickles, others = set(), {}, set()
    for value, fragmented in product(values, (False, True)):
        answers = framed(value, dtype, place, fragmented=fragmented)
        released = quietly(rr.privatize, answers, design, unknown="uniform", rng=Counting(5))
        layouts.add(repr(blocks(released)))
        reports = repr([released[column].tolist() for column in ("q", "p")])
        pickles.setdefault(reports, set()).add(pickle.dumps(released))
        # The frame, too, that a reader makes by leaving the reports out.
        others.add(pickle.dumps(released.drop(columns=["q", "p"])))
    assert len(layouts) == 1
    assert len(pickles) < len(values)  # some answers have the same report
    assert {len(versions) for versions in pickles.values()} == {1}
    assert len(others) == 1


def test_a_released_frame_keeps_what_is_public():
    """Labels that repeat, their index, flags, attrs, dtypes and a name of the columns stay."""
    index = pd.MultiIndex.from_tuples([(1, "a"), (1, "a"), (2, "b")], names=["wave", "place"])
    frame = pd.DataFrame({"q": ["no", "yes", "no"], "x": [1, 2, 3], "y": [0.5, 1.5, 2.5]}, index)
    frame["kind"] = pd.Categorical(["b", "a", "b"], categories=["b", "a"], ordered=True)
    frame["when"] = pd.Series([pd.Timestamp("2020-01-01")] * 3, dtype=object, index=index)
    frame = frame.set_axis(pd.Index(["q", "x", "x", "kind", "when"], name="question"), axis=1)
    frame.attrs["source"] = {"wave": [1]}
    released = frame.rr.privatize("q", ["no", "yes"], 0.75)
    pd.testing.assert_frame_equal(frame.iloc[:, 1:], released.iloc[:, 1:])
    assert {"wave": [1]} == released.attrs["source"] is not frame.attrs["source"]
    assert released.columns.equals(frame.columns)
    assert released.columns.name == "question"
    assert released.index.equals(frame.index)
    assert not np.shares_memory(frame.iloc[:, 1].to_numpy(), released.iloc[:, 1].to_numpy())
    strict = pd.DataFrame({"q": ["no"], "x": [1]}).set_flags(allows_duplicate_labels=False)
    released = strict.rr.privatize("q", ["no", "yes"], 0.75)
    assert not released.flags.allows_duplicate_labels


def planned(values, plan, seed):
    """All that a release by a plan shows, apart from the reports of the row at ``PLACE``."""
    others = ["yes", "no", None, "yes", "what", "no"]
    table = hasattr(values, "to_pylist")
    data = pa.table({"q": values, "p": others}) if table else pd.DataFrame({"p": others})
    if not table:
        data["q"] = values
    source = Recorded(Counting(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnrecordedWarning)
        out = rr.privatize(data, plan, unknown="uniform", rng=source)
    columns = {name: out[name] for name in ("q", "p", "rr_asked")}
    cells = {name: _cells(column) for name, column in columns.items()}
    masked = getattr(getattr(columns["q"], "array", None), "_mask", np.zeros(6, bool))
    under = set(columns["q"].array._data[masked].tolist()) if masked.any() else set()
    return {
        "types": [str(getattr(one, "dtype", getattr(one, "type", ""))) for one in columns.values()],
        "levels": [list(c.cat.categories) for c in columns.values() if hasattr(c, "cat")],
        "names": list(getattr(out, "column_names", out.columns)),
        "index": repr(getattr(out, "index", None)),
        "attrs": repr(getattr(out, "attrs", None) or getattr(out, "schema", None)),
        "nulls": [
            None in plan.categories[name].categories or [cell is None for cell in cells[name]]
            for name in plan.categories
        ],
        "under a mask": under,
        "asked": cells["rr_asked"],
        "words": source.log,
        "blocks": blocks(out) if isinstance(out, pd.DataFrame) else [],
        "cells": [column[:PLACE] + column[PLACE + 1 :] for column in cells.values()],
    }


@pytest.mark.parametrize("form", [*TYPED, "object Series", "list"])
def test_one_record_changes_only_what_its_row_was_asked(form):
    """With a plan: the coin, who was asked, types, and all other rows, whatever one row answers."""
    build, kind, others = TYPED.get(form, (lambda v: pd.Series(v, dtype=object), "str", WORDS))
    categories = CATEGORIES[kind]
    plan = rr.planning.FramePlan({"q": categories, "p": ["yes", "no"]}, 1.5, ["q", ("q", "p"), "p"])
    base = base_of(categories)
    values = [c for c in categories if c not in others] + others
    # What the words of a seed pick; asked alone, a column has the path of one without a plan.
    for seed, asked, tried in ((4, "q", values[::3]), (1, "q & p", values), (0, "p", values)):
        expected = planned(build(base), plan, seed)
        assert expected["asked"][PLACE][1] == asked
        for value in tried:
            try:
                found = planned(build(replaced(base, value)), plan, seed)
            except pd.errors.OutOfBoundsDatetime:
                continue  # pandas itself cannot build it
            assert expected == found


# -- public columns: nothing of the chunks and the bytes in which they came -----------------

planted = None if pa is None else importlib.import_module("planted")

TYPES = [] if planted is None else [*planted.TYPES]

YES_NO = {"q": rr.KRR(["no", "yes"], 0.75)}

DOORS = {
    "privatize": lambda data: rr.privatize(data, YES_NO, rng=Counting(5)),
    "simulate": lambda data: rr.simulate(data, YES_NO, seed=5),
    "keyed": lambda data: rr.privatize(data, YES_NO, key=rr.client.Keyed(bytes(range(32)), "id")),
    "plan": lambda data: rr.privatize(
        data, rr.planning.FramePlan({"q": ["no", "yes"]}, 1, ["q"]), rng=Counting(5)
    ),
}


def with_answers(public):
    """An Arrow table of ids, answers and a public column."""
    answers = ["no", "yes", "yes", "no"] * (planted.ROWS // 4)
    return pa.table({"id": range(planted.ROWS), "q": answers, "public": public})


def frame_of_arrow(table):
    return pd.DataFrame({
        "id": range(len(table)),
        "q": table["q"].to_pylist(),
        "public": pd.arrays.ArrowExtensionArray(table["public"]),
    })  # fmt: skip


def polars_frame(table):
    pl = pytest.importorskip("polars")
    try:
        return pl.from_arrow(table)
    except Exception as error:
        pytest.skip(f"Polars has no such type ({type(error).__name__})")


def _polars_bytes(write):
    def serialize(frame):
        sink = io.BytesIO()
        getattr(frame, write)(sink, compression="uncompressed")
        return sink.getvalue()

    return serialize


def _pandas_bytes(write):
    def serialize(frame):
        sink = io.BytesIO()
        getattr(frame, write)(sink, compression="uncompressed" if "fe" in write else None)
        return sink.getvalue()

    return serialize


HOLDERS = {
    "Arrow": (lambda table: table, {} if planted is None else planted.TABLE_WRITERS),
    "pandas": (
        frame_of_arrow,
        {
            "pickle": pickle.dumps,
            "feather": _pandas_bytes("to_feather"),
            "parquet": _pandas_bytes("to_parquet"),
        },
    ),
    "Polars": (
        polars_frame,
        {
            "pickle": pickle.dumps,
            "ipc": _polars_bytes("write_ipc"),
            "parquet": _polars_bytes("write_parquet"),
            "chunks": lambda frame: repr(frame["public"].n_chunks()).encode(),
        },
    ),
}


def released_forms(holder, door, public):
    """The bytes that each writer makes of a release with this public column."""
    build, writers = HOLDERS[holder]
    data = build(with_answers(public))
    return planted.written(quietly(DOORS[door], data), writers), planted.written(data, writers)


@pytest.mark.parametrize("inside", ["text", "dictionary"])
@pytest.mark.parametrize("kind", ["list_view", "sparse_union", "dense_union"])
def test_public_unions_and_views_of_lists_are_refused(kind, inside, pa):
    """Their buffers hold values that no cell shows; the error says which types leave."""
    words = pa.array(["shown"] * planted.ROWS)
    words = words if inside == "text" else words.dictionary_encode()
    places = pa.array(range(planted.ROWS), pa.int32())
    kinds = pa.array([0] * planted.ROWS, pa.int8())
    if kind == "list_view":
        sizes = pa.array([1] * planted.ROWS, pa.int32())
        public = pa.ListViewArray.from_arrays(places, sizes, words)
    elif kind == "sparse_union":
        public = pa.UnionArray.from_sparse(kinds, [words])
    else:
        public = pa.UnionArray.from_dense(kinds, places, [words])
    with pytest.raises(rr.errors.ArgumentTypeError, match="cast it to text, numbers, lists"):
        rr.privatize(with_answers(public), YES_NO)


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", TYPES)
def test_no_public_column_leaves_in_its_chunks_or_with_hidden_bytes(name, holder):
    """One column cut in two ways, with other bytes under nulls, outside slices, behind views."""
    for door in DOORS if name in ("string_view", "struct", "dictionary") else ["privatize"]:
        columns = [planted.column(name, variant) for variant in planted.TAGS]
        forms, raw_forms = zip(
            *(released_forms(holder, door, column) for column in columns), strict=True
        )
        for form, content in forms[0].items():
            assert content == forms[1][form], form
            assert b"SECRET" not in content, form
        if holder == "Arrow":  # control: the search can find both
            assert raw_forms[0] != raw_forms[1]
    table = DOORS["privatize"](with_answers(columns[0]))
    assert columns[0].to_pylist() == table["public"].to_pylist()
    assert columns[0].type == table["public"].type
    for chunk in table["public"].chunks:
        chunk.validate(full=True)


@pytest.mark.parametrize("cut", [(1,), (10, 11, 30), (39,)])
def test_dictionaries_that_a_reader_made_of_each_chunk_do_not_show_the_chunks(cut):
    """A declared dictionary stays whole; those that differ hold the words of the rows."""
    pytest.importorskip("pyarrow")
    words = pa.array([f"word {row % 7}" for row in range(planted.ROWS)])
    bounds = [0, *cut, planted.ROWS]
    cut_words = [words.slice(start, stop - start) for start, stop in pairwise(bounds)]
    public = pa.chunked_array([part.dictionary_encode() for part in cut_words])
    (whole,) = DOORS["privatize"](with_answers(words.dictionary_encode()))["public"].chunks
    (parts,) = DOORS["privatize"](with_answers(public))["public"].chunks
    assert pickle.dumps(whole) == pickle.dumps(parts)
    declared = pa.DictionaryArray.from_arrays([1, 0] * 20, ["z", "a", "unused"], ordered=True)
    kept = DOORS["privatize"](with_answers(declared))["public"].chunk(0)
    assert (declared.type, ["z", "a", "unused"]) == (kept.type, kept.dictionary.to_pylist())


def test_a_type_whose_cells_arrow_cannot_take_is_refused_with_the_way_on():
    """Arrow takes no run-end encoded cells; under a null between two lists lie some."""
    pa = pytest.importorskip("pyarrow")
    cells = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), ["a", "hidden", "b"])
    mask = pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), cells, mask=mask)
    table = pa.table({"lists": lists, "answer": ["no", "yes", "no"]})
    with pytest.raises(ArgumentTypeError, match="cast it to text"):
        rr.privatize(table, {"answer": rr.KRR(["no", "yes"], epsilon=1)})


def test_long_columns_leave_in_constant_chunks(monkeypatch):
    """Text in pieces of a constant number of rows, or in halves if 32 bits are too few."""
    arrow_rebuild = pytest.importorskip("rrstats.data.arrow_rebuild")
    monkeypatch.setattr(arrow_rebuild, "PIECE_ROWS", 16)
    joined = arrow_rebuild._joined
    monkeypatch.setattr(arrow_rebuild, "_joined", lambda chunks: joined(too_long(chunks)))

    def too_long(chunks):
        if sum(map(len, chunks)) > limit:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return chunks

    for limit, sizes in ((16, [16, 16, 8]), (10, [8, 8, 8, 8, 8])):  # noqa: B007  # read above
        for variant in planted.TAGS:
            released = arrow_rebuild.rebuilt(planted.column("string", variant))
            assert sizes == [len(chunk) for chunk in released.chunks]


def masked(secret, dtype):
    """An array of pandas with a mask, under which a secret stays."""
    values = np.array([1, 0, 1, secret, 1, 0], dtype=dtype.numpy_dtype)
    mask = np.array([False, False, False, True, False, False])
    return dtype.construct_array_type()(values, mask)


def shared_words(secret):
    """Text as objects, of which some equal ones are the same object."""
    words = [f"a word {row % 2}" for row in range(6)]
    return objects([words[row % 2] if row > secret else "".join([*words[row]]) for row in range(6)])


HIDDEN = {
    "Int64": lambda secret: masked(secret, pd.Int64Dtype()),
    "boolean": lambda secret: masked(secret, pd.BooleanDtype()),
    "Float32": lambda secret: masked(secret, pd.Float32Dtype()),
    "object": shared_words,
    "string[python]": lambda secret: pd.array(shared_words(secret), dtype="string[python]"),
    "str": lambda secret: pd.array(["a", None, str(secret)] * 4, dtype="str")[[0, 1] * 3],
    "category": lambda secret: pd.Categorical(shared_words(secret)),
    "category of text": lambda secret: pd.Categorical(
        ["a"] * 6, pd.Index(pd.array(["b", "a", str(secret)], dtype="string")[:2])
    ),
    "sparse": lambda secret: pd.arrays.SparseArray(np.arange(6 + secret)[secret:] * 0 + 1),
    "dates": lambda secret: (
        pd.DatetimeIndex(["2020-01-01"] * (6 + secret), tz="UTC")[secret:].array
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_public_column_of_pandas_leaves_with_hidden_bytes(name):
    """Values under a mask, and which equal words are one object, as a reader by pieces makes it."""
    if name == "str":
        pytest.importorskip("pyarrow")
    pickles = set()
    for secret in (0, 1, 4):
        public = HIDDEN[name](secret)
        dtype = public.dtype  # pandas 3 would make text of objects
        labels = pd.Index(HIDDEN[name](secret), dtype, name="label", tupleize_cols=False)
        frame = pd.DataFrame({"q": ["no", "yes"] * 3, "public": pd.Series(public, dtype=dtype)})
        for index in (None, labels):
            given = frame if index is None else frame.set_axis(index)
            released = DOORS["privatize"](given)
            pickles.add((index is None, pickle.dumps(released)))
            pd.testing.assert_frame_equal(given[["public"]], released[["public"]])
    assert len(pickles) == 2


def test_levels_of_an_index_hold_the_labels_of_its_rows_alone():
    """A filtered MultiIndex keeps the labels of all rows that it had; also of a Series."""
    pairs = [("n", 1), ("n", 2), ("SECRET", 3), ("s", 1)]
    index = pd.MultiIndex.from_tuples(pairs, names=["region", "wave"])
    frame = pd.DataFrame({"q": ["no", "yes", "no", "yes"], "x": range(4)}, index)
    frame = frame[frame["x"] != 2]
    assert b"SECRET" in pickle.dumps(frame)
    released = DOORS["privatize"](frame)
    assert released.index.equals(frame.index)
    assert b"SECRET" not in pickle.dumps(released)
    assert b"SECRET" not in pickle.dumps(rr.privatize(frame["q"], ["no", "yes"], 0.75))


# -- the harness can fail ------------------------------------------------------------------


def _counts_in_attrs(values, categories, prob, **options):
    out = pd.Series(rr.privatize(values, categories, prob, **options))
    out.attrs["distinct"] = len(set(values))
    return out


def _logs(values, categories, prob, **options):
    if None in values:
        logging.getLogger("any").debug("somebody did not answer")
    return rr.privatize(values, categories, prob, **options)


def _warns(values, categories, prob, **options):
    if None in values:
        warnings.warn("somebody did not answer", stacklevel=1)
    return rr.privatize(values, categories, prob, **options)


def _draws_for_the_unknown_only(values, categories, prob, **options):
    rr.privatize([v for v in values if v in categories], categories, prob, **options)
    return list(values)


FAULTS = {
    "domain from data": lambda v, c, p, **o: rr.privatize(v, sorted(set(v), key=repr), p, **o),
    "keeps missing": lambda v, c, p, **o: rr.privatize(v, c, p, **o | {"missing": "keep"}),
    "drops missing": lambda v, c, p, **o: rr.privatize([x for x in v if x is not None], c, p, **o),
    "dtype of the answers": lambda v, c, p, **o: pd.Series(
        rr.privatize(v, c, p, **o), dtype="category" if None in v else object
    ),
    "warns": _warns,
    "logs": _logs,
    "counts in attrs": _counts_in_attrs,
    "draws for the unknown only": _draws_for_the_unknown_only,
    "one cell moves another": lambda v, c, p, **o: rr.privatize(v, c, p, **o)[
        :: -1 if None in v else 1
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_harness_catches_planted_leaks(fault):
    """Classic leaks, each seen by some neighbour; and the real function by none (control)."""
    categories = ["never", "once", "often"]
    base = base_of(["never", "once"])
    neighbours = [replaced(base, value) for value in (None, "often", "zika")]

    def leaks(run):
        kept = run is FAULTS["keeps missing"]
        where = -1 if kept else PLACE  # a null in its own place is a leak as well
        seen = footprint(base, categories, run, place=where, unknown="uniform")
        return any(
            seen["nulls"] != found["nulls"] if kept else seen != found
            for found in (
                footprint(n, categories, run, place=where, unknown="uniform") for n in neighbours
            )
        )

    assert leaks(FAULTS[fault])
    assert not leaks(rr.privatize)
