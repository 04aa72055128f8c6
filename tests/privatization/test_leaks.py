"""Private strings occur nowhere but in released cells: not in files, texts, errors or warnings."""

import importlib.util
import io
import json
import logging
import pickle
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from answers import objects

import rrstats as rr

MARK = "PRIVATE-7c1f"
CATEGORIES = ["never", "once", "often"]
N = 12


def marked(i):
    return f"{MARK}-{i}"


def private_columns():
    """Columns in which every answer is a marker, or in which markers lie behind the answers."""
    words = [marked(i) for i in range(N)]
    unused = pd.Categorical.from_codes([0] * N, ["never", *words])
    columns = {
        "object": pd.Series(objects(words), dtype=object),
        "inferred": pd.Series(words),
        "string": pd.Series(words, dtype="string[python]"),
        "category": pd.Series(pd.Categorical(words, ["never", *words])),
        "unused categories": pd.Series(unused),
        "ordered": pd.Series(unused.as_ordered()),
        "lists": pd.Series([[w] for w in words]),
    }
    try:
        import pyarrow as pa
    except ImportError:
        return columns
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0] * N), pa.array(["never", *words]))
    columns["arrow"] = pd.Series(words, dtype=pd.ArrowDtype(pa.string()))
    columns["pyarrow"] = pd.Series(words, dtype="string[pyarrow]")
    columns["dictionary"] = pd.Series(pd.arrays.ArrowExtensionArray(dictionary))
    columns["slice"] = pd.Series(["never"] * N + words, dtype=pd.ArrowDtype(pa.string()))[:N]
    return columns


COLUMNS = private_columns()


def serialized(out):
    """Every form in which a result may leave the process, as bytes."""
    frame = out if isinstance(out, pd.DataFrame) else out.to_frame("x")
    forms = {
        "pickle": pickle.dumps(out),
        "csv": frame.to_csv().encode(),
        "json": frame.to_json().encode(),
        "table json": frame.to_json(orient="table").encode(),
        "repr": repr(out).encode(),
        "html": frame._repr_html_().encode(),
        "info": _info(frame),
        "attrs": repr(out.attrs).encode(),
        "dtypes": repr([getattr(d, "categories", d) for d in frame.dtypes]).encode(),
    }
    if importlib.util.find_spec("pyarrow") is None:
        return forms
    parquet, feather = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet, compression=None)
    frame.reset_index(drop=True).to_feather(feather, compression="uncompressed")
    return forms | {"parquet": parquet.getvalue(), "feather": feather.getvalue()}


def _info(frame):
    text = io.StringIO()
    frame.info(buf=text)
    return text.getvalue().encode()


@pytest.mark.parametrize("name", COLUMNS)
def test_no_serialization_of_reports_holds_an_answer(name):
    """No marker in pickle, Parquet, Feather, CSV, JSON, texts and HTML (T5)."""
    column = COLUMNS[name].rename("answer")
    column.attrs["note"] = marked("attrs")
    for missing in ("unknown", "keep"):
        out = rr.privatize(column, CATEGORIES, 0.75, unknown="uniform", missing=missing)
        for form, content in serialized(out).items():
            assert MARK.encode() not in content, form
        frame = pd.DataFrame({"age": range(N), "answer": column.array})
        released = frame.rr.privatize(
            "answer", CATEGORIES, 0.75, unknown="uniform", missing=missing
        )
        for form, content in serialized(released).items():
            assert MARK.encode() not in content, form
    plan = rr.planning.FramePlan(
        {"answer": CATEGORIES, "age": [1, 2]}, 1, ["answer", ("answer", "age"), "age"]
    )
    for form, content in serialized(frame.rr.privatize(plan, unknown="uniform")).items():
        assert MARK.encode() not in content, form


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "slice"])
def test_the_markers_would_be_found(name):
    """Control: the same search finds the markers in the raw column's own serializations."""
    column = COLUMNS[name]
    assert MARK.encode() in pickle.dumps(column)
    if name not in ("unused categories", "ordered", "lists"):
        found = [form for form, content in serialized(column).items() if MARK.encode() in content]
        assert len(found) >= 2


def test_other_columns_keep_no_view_of_the_private_block():
    """No block of the released frame is a view into one that holds true answers."""
    frame = pd.DataFrame({"x": np.arange(N), "y": np.arange(N) + 1000, "z": np.arange(N) + 2000})
    out = frame.rr.privatize("y", [0, 1, 2], 0.75, unknown="uniform")
    for name in out:
        array = out[name].to_numpy()
        while array is not None:
            assert not np.isin(array, frame["y"].to_numpy()).any()
            array = array.base if isinstance(array.base, np.ndarray) else None
        assert not np.shares_memory(out[name].to_numpy(), frame[name].to_numpy())
    assert (frame["y"] == np.arange(N) + 1000).all()


# -- errors --------------------------------------------------------------------------------

WORDS = [marked(i) for i in range(3)]
FRAME = pd.DataFrame({"x": WORDS, "n": [7_654_321, 7_654_322, 7_654_323], "twice": WORDS})
FRAME.columns = ["x", "n", "twice"]


def _reported():
    return rr.privatize(pd.Series(WORDS, name="x"), CATEGORIES, 0.75, unknown="uniform")


def _raw_with_a_claim():
    reports = _reported()
    raw = pd.Series(WORDS, name="x")
    raw.attrs = dict(reports.attrs)
    return raw


NUMBERS = FRAME["n"].to_numpy()
PLAN = rr.planning.FramePlan({"x": CATEGORIES}, 1, ["x"])
ANSWERS = pd.DataFrame({"answer": CATEGORIES * 100, "age": np.arange(300) % 7})
NOISY = ANSWERS.rr.simulate("answer", CATEGORIES, 0.75, seed=1)
ESTIMATE = NOISY.rr.estimate("answer")
MEANS = NOISY.rr.means("age", "answer")
FIT = rr.logit(NOISY["answer"], NOISY[["age"]])
TABLE = NOISY.assign(sex=["f", "m"] * 150).rr.crosstab("answer", "sex")
FAILING = {
    "unknown": lambda: rr.privatize(WORDS, CATEGORIES, 0.75, unknown="raise"),
    "unknown category": lambda: rr.privatize(
        pd.Series(WORDS, dtype="category"), CATEGORIES, 0.75, unknown="raise"
    ),
    "missing": lambda: rr.privatize([*WORDS, None], CATEGORIES, 0.75, missing="raise"),
    "frame unknown": lambda: FRAME.rr.privatize("x", CATEGORIES, 0.75, unknown="raise"),
    "kind": lambda: rr.privatize(np.array(WORDS), [1, 2], 0.75),
    "kind of category": lambda: rr.privatize(
        pd.Series(NUMBERS, dtype="category"), CATEGORIES, 0.75
    ),
    "kind of number": lambda: rr.privatize(NUMBERS, CATEGORIES, 0.75),
    "kind in frame": lambda: FRAME.rr.privatize("n", CATEGORIES, 0.75),
    "float16": lambda: rr.privatize(NUMBERS.astype(np.float16), [2048.5, 2048.25], 0.75),
    "data as categories": lambda: rr.privatize(WORDS, [*WORDS, WORDS[0]], 0.75),
    "container": lambda: rr.privatize(dict.fromkeys(WORDS, 1), CATEGORIES, 0.75),
    "set": lambda: rr.privatize(set(WORDS), CATEGORIES, 0.75),
    "frame for column": lambda: rr.privatize(FRAME, CATEGORIES, 0.75),
    "masked": lambda: rr.privatize(np.ma.array(WORDS, mask=[0, 1, 0]), CATEGORIES, 0.75),
    "index name": lambda: FRAME.set_index("x", drop=False).rr.privatize("x", CATEGORIES, 0.75),
    "no column": lambda: FRAME.rr.privatize("y", CATEGORIES, 0.75),
    "policy": lambda: rr.privatize(WORDS, CATEGORIES, 0.75, unknown="drop"),
    "rng": lambda: rr.privatize(WORDS, CATEGORIES, 0.75, rng=3),
    "claim": lambda: rr.privatize(_raw_with_a_claim(), CATEGORIES, 0.75),
    "claimed twice": lambda: rr.privatize(_raw_with_a_claim(), ["p", "q"], 0.75, again=True),
    "tally of raw": lambda: rr.tally(WORDS, CATEGORIES, 0.75),
    "tally of raw series": lambda: rr.tally(_raw_with_a_claim()),
    "estimate of raw": lambda: FRAME.rr.estimate("x", CATEGORIES, 0.75),
    "estimate of raw numbers": lambda: rr.estimate(NUMBERS, [1, 2], 0.75),
    "check": lambda: rr.check(NUMBERS, CATEGORIES),
    "frame check": lambda: FRAME.rr.check("y", CATEGORIES),
    "columns of answers": lambda: FRAME.rr.privatize(FRAME["x"], CATEGORIES, 0.75),
    **{
        f"{kind.__name__} of answers": lambda kind=kind: FRAME.rr.privatize(
            kind(WORDS), CATEGORIES, 0.75
        )
        for kind in (list, tuple, set, frozenset, pd.Index, pd.Categorical, np.array)
    },
    "mapping from answers": lambda: FRAME.rr.privatize(dict.fromkeys(WORDS, rr.KRR([1, 2], 0.75))),
    "group of answers": lambda: FRAME.rr.privatize("x", CATEGORIES, 0.75, group=tuple(WORDS)),
    "plan, unknown": lambda: FRAME.rr.privatize(PLAN, unknown="raise"),
    "plan, kind": lambda: FRAME.rr.privatize(rr.planning.FramePlan({"n": CATEGORIES}, 1, ["n"])),
    "plan, no column": lambda: FRAME.rr.privatize(
        rr.planning.FramePlan({"y": CATEGORIES}, 1, ["y"])
    ),
    "plan, parts of answers": lambda: rr.planning.FramePlan({"x": CATEGORIES}, 1, WORDS),
    "plan, columns of answers": lambda: rr.planning.FramePlan(
        dict.fromkeys(WORDS, (0, 1)), 1, ["x"]
    ),
    "plan, list of answers": lambda: rr.privatize(WORDS, PLAN),
    "simulate": lambda: rr.simulate(WORDS, CATEGORIES, 0.75, seed=0.5),
    **{
        f"{kind.__name__} of answers as a category": lambda kind=kind: ESTIMATE[kind(WORDS)]
        for kind in (list, tuple, set, pd.Series, pd.Index, pd.Categorical, pd.DataFrame, np.array)
    },
    "answers as a category of means": lambda: MEANS.interpret(FRAME["x"]),
    "answers as a ratio": lambda: ESTIMATE.among(["never"])[FRAME["x"]],
    "answers as a subpopulation": lambda: ESTIMATE.among(FRAME["x"])["never"],
    "answers as several subpopulations": lambda: ESTIMATE.among(WORDS),
    "answers as columns to estimate": lambda: rr.estimate(FRAME, CATEGORIES, 0.75, columns=WORDS),
    "answers as columns to tally": lambda: NOISY.rr.tally(WORDS),
    "answers as columns that were dropped": lambda: FRAME.rr.carry(NOISY, dropped=FRAME["x"]),
    "answers as columns of a table": lambda: TABLE.margin(tuple(WORDS)),
    "answers as values": lambda: ESTIMATE.mean(WORDS),
    "answers as terms of a test": lambda: FIT.wald_test(FRAME["x"]),
    "answers as data to predict": lambda: FIT.predict(pd.DataFrame({"age": WORDS})),
    "answers as a category to plan for": lambda: rr.planning.sample_size(
        0.1, CATEGORIES, 0.75, category=FRAME["x"]
    ),
    **{
        f"formula {formula}": lambda formula=formula: NOISY.assign(x=WORDS * 100).rr.logit(
            f"answer ~ {formula}"
        )
        for formula in (
            "x.astype(float)",
            "{x.map(int)}",
            "np.float64(x)",
            "x.map({1: 2}.__getitem__)",
            "poly(x, 2)",
        )
    },
}


def _whole_text(error):
    """All that an error can show: itself, what caused it, and what it arose in, however deep."""
    seen, texts, pending = set(), [], [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), *getattr(one, "__notes__", [])]
        pending += [one.__cause__, one.__context__]
    return "\n".join([*texts, *traceback.format_exception(error)])


@pytest.mark.parametrize("name", FAILING)
def test_no_error_quotes_an_answer(name, caplog):
    """Neither the message nor any error behind it, nor a warning or a log record (S2)."""
    if name.startswith("formula"):
        pytest.importorskip("formulaic")
    caplog.set_level(0, logging.getLogger().name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(rr.errors.RRStatsError) as error:
            FAILING[name]()
    assert isinstance(error.value, ValueError | TypeError)
    text = _whole_text(error.value) + "".join(str(w.message) for w in caught) + caplog.text
    assert MARK not in text
    assert "76543" not in text
    assert marked(0) not in json.dumps(text)


def test_the_search_for_quotes_can_find_one():
    """Planted fault: pandas' own message behind ours would be found, also behind `from None`."""

    def careless():
        try:
            pd.Series(WORDS).astype(int)
        except ValueError:
            raise rr.errors.MetadataError("no value here") from None

    with pytest.raises(rr.errors.RRStatsError) as error:
        careless()
    assert MARK in _whole_text(error.value)
    assert MARK not in str(error.value)
