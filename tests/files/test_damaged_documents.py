"""Damaged documents end in an error of rrstats: short, printable, with the rule that they break.

Each part of a document in turn is replaced by something else: text and lists that are very long,
half of a surrogate pair, numbers that are no numbers, other types; keys are renamed, added and left
out.  Every reader must read the result, or refuse it in at most 600 characters, whatever it quotes.
"""

import contextlib
import copy
import io
import itertools
import json
import random
import warnings

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats import cli
from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError, RRStatsError
from rrstats.mechanisms import Samples, from_dict, surveys
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import read

LONGEST = 600
HALF = "\ud800"
"""Half of a surrogate pair: JSON can write it, UTF-8 cannot."""

LONG = "x" * 6000
INSTEAD = [
    LONG,
    HALF,
    [LONG] * 3,
    list(range(800)),
    {LONG: 1},
    {"str": LONG},
    {"tuple": [LONG] * 9},
    [{"str": LONG}, {"str": LONG + "y"}],
    [{"str": HALF}, {"str": "b"}],
    [[LONG]],
    None,
    True,
    -1,
    1.5,
    10**400,
    float("nan"),
    float("inf"),
    [],
    {},
    "",
]


def parts_of(document, path=()):
    """The paths of all parts of a document."""
    yield path
    if isinstance(document, dict):
        inside = document.items()
    else:
        inside = enumerate(document if isinstance(document, list) else [])
    for key, value in inside:
        yield from parts_of(value, (*path, key))


def replaced(document, path, value):
    """A copy of a document with another value in one place."""
    if not path:
        return value
    document = copy.deepcopy(document)
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return document


def variants(part):
    """What a part is replaced by."""
    yield from INSTEAD
    if isinstance(part, dict):
        yield {**part, LONG: 1}
        yield part | {f"key {place}": 1 for place in range(900)}
        for name in part:
            yield {key: value for key, value in part.items() if key != name}
            yield {LONG if key == name else key: value for key, value in part.items()}
    if isinstance(part, list) and part:
        yield part * 300
        yield part[1:]


SAMPLE = pytest.mark.parametrize("most", [12, pytest.param(300, marks=pytest.mark.slow)])
"""The number of damaged copies that slow readers try."""


def damaged(document, most=None):
    """Damaged copies of a document, or a sample of them that is always the same."""
    changes = []
    for path in parts_of(document):
        part = document
        for key in path:
            part = part[key]
        changes += [(path, value) for value in variants(part)]
    random.Random(1).shuffle(changes)
    return [replaced(document, path, value) for path, value in changes[:most]]


def check_readable(call, *args):
    """Call; an error must be of rrstats, short, and text that can be printed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*args)
    except RRStatsError as error:
        text = str(error)
        assert 0 < len(text) <= LONGEST
        text.encode()


FRAME = pd.DataFrame(
    {
        "a": [0, 1, 2, 1] * 5,
        "b": ["x", "y"] * 10,
        "c": ["no", "yes"] * 10,
        "p": [0.7, 0.8] * 10,
        "n": ["u", "v"] * 10,
    }
)
PLAN = FramePlan({"a": [0, 1, 2], "b": ["x", "y"]}, 2.0, ["a", ("b", "a")])
NEW = rr.KRR(["u", "v"], 0.7)


def released(kind):
    """A released frame whose document has a plan and rows with their own prob, or a codebook."""
    if kind == "plan":
        return FRAME.rr.privatize(PLAN).rr.privatize("c", ["no", "yes"], prob="p")
    numbered = FRAME.assign(c=[1, 2] * 10)
    return numbered.rr.privatize("c", {1: "no", 2: "yes"}, 0.7).rr.privatize("a", [0, 1, 2], 0.8)


MECHANISMS = [
    rr.KRR({1: "a", 2: "b"}, 0.7),
    rr.mechanisms.UnaryEncoding(["x", "y"], 0.8, 0.3),
    rr.mechanisms.SubsetSelection(["a", "b", "c"], epsilon=1),
    rr.MatrixDesign(["a", "b"], [[0.7, 0.3], [0.3, 0.7]]),
    Samples({"s": rr.KRR(["no", "yes"], 0.8), "t": rr.KRR(["no", "yes"], 0.7)}),
    surveys.warner(["no", "yes"], 0.7, yes="yes"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: type(made).__name__)
def test_a_damaged_description_of_a_mechanism(mechanism):
    """It is read or refused."""
    for document in damaged(mechanism.to_dict()):
        check_readable(from_dict, document)


def test_a_damaged_plan_of_a_frame():
    """It is read or refused."""
    for document in damaged(PLAN.to_dict()):
        check_readable(FramePlan.from_dict, document)


def use_frame(frame):
    """All that reads the records of a frame."""
    repr(frame.rr.mechanisms)
    _ = frame.rr.epsilon
    frame.rr.estimate()


@SAMPLE
@pytest.mark.parametrize("kind", ["plan", "codebook"])
def test_a_damaged_document_of_a_frame(kind, most):
    """It is read or refused, also when its records are carried to another frame."""
    frame = released(kind)
    whole = json.loads(json.dumps(frame.attrs["rrstats"]))
    frame.attrs = {}
    calls = itertools.cycle([use_frame, lambda told: told.rr.privatize("n", ["u", "v"], 0.7)])
    for document in damaged(whole, 4 * most):
        check_readable(read, {"rrstats": document})
        told = frame.copy()
        told.attrs = {"rrstats": document}
        check_readable(next(calls), told)
        check_readable(frame.rr.carry, document)


# -- files -------------------------------------------------------------------------------------


def run(*args):
    """Run a command; its output must be text, and its complaint is raised as an error."""
    output, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaint):
        code = cli.main([str(arg) for arg in args])
    output.getvalue().encode()
    if code:
        text = complaint.getvalue().removeprefix("rrstats: ").strip()
        assert "unexpected" not in text, text
        raise RRStatsError(text) if len(text) <= LONGEST else AssertionError(text)


def write_file(folder, ending, frame, document):
    """A file with a document beside it, or in it."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, text = folder / f"source{ending}", json.dumps(document)
    if ending == ".csv":
        frame.to_csv(path, index=False)
        (folder / "source.csv.rrstats.json").write_text(text)
    else:
        table = pa.Table.from_pandas(pd.DataFrame(frame), preserve_index=False)
        pq.write_table(table.replace_schema_metadata({"rrstats": text}), path)
    return path


@SAMPLE
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("kind", ["plan", "codebook"])
def test_a_damaged_document_of_a_file(tmp_path, kind, ending, most):
    """It is read or refused by all that reads a file, in Python and on the command line.

    The two endings take turns, so that together they try twice as many copies.
    """
    pytest.importorskip("pyarrow")
    from rrstats import files

    frame, target = released(kind), tmp_path / f"target{ending}"
    columns = ("--column", "n", "--categories", "u,v")
    again = ("--prob", "0.7", "--again", "--overwrite")
    whole = json.loads(json.dumps(frame.attrs["rrstats"]))
    calls = [
        files.describe_file,
        files.estimate_file,
        lambda path: str(files.statement_of(path)),
        lambda path: files.privatize_file(path, target, {"n": NEW}, again=True, overwrite=True),
        lambda path: run("describe", path),
        lambda path: run("describe", path, "--format", "json"),
        lambda path: run("estimate", path),
        lambda path: run("privatize", path, target, *columns, *again),
        lambda path: run("check", path, *columns),
    ]
    turns = slice([".csv", ".parquet"].index(ending), None, 2)
    for place, document in enumerate(damaged(whole, 2 * most)[turns]):
        path = write_file(tmp_path, ending, frame, document)
        for call in (calls[place % len(calls)], calls[0], calls[1]):
            check_readable(call, path)


@SAMPLE
def test_a_damaged_plan_file(tmp_path, most):
    """It is read or refused: to privatize, to try, to check and to estimate."""
    pytest.importorskip("pyarrow")
    source, target, plan = (tmp_path / name for name in ("s.csv", "t.csv", "p.json"))
    FRAME.to_csv(source, index=False)
    listed = json.loads(json.dumps(released("codebook").attrs["rrstats"]))
    calls = [
        ("privatize", source, target, "--again", "--overwrite"),
        ("privatize", source, target, "--again", "--overwrite", "--dry-run"),
        ("check", source),
        ("estimate", source),
    ]
    for document in (PLAN.to_dict(), listed):
        for place, other in enumerate(damaged(document, 2 * most)):
            plan.write_text(json.dumps(other))
            check_readable(run, *calls[place % len(calls)], "--plan", plan)


@SAMPLE
def test_a_damaged_ledger(tmp_path, most):
    """It is read or refused, also to enter one more release, which writes it again."""
    pytest.importorskip("pyarrow")
    from rrstats import files
    from rrstats.files.ledger import Ledger

    source, target = tmp_path / "s.csv", tmp_path / "t.csv"
    FRAME.to_csv(source, index=False)
    ledger = files.privatize_file(source, target, {"n": NEW}).ledger
    options = {"again": True, "overwrite": True}
    for document in damaged(json.loads(ledger.read_text()), 3 * most):
        ledger.write_text(json.dumps(document))
        check_readable(Ledger.of(source).epsilon, "n")
        check_readable(lambda: files.privatize_file(source, target, {"n": NEW}))
        ledger.write_text(json.dumps(document))
        check_readable(lambda: files.privatize_file(source, target, {"n": NEW}, **options))


def test_long_errors_keep_their_beginning_and_their_end():
    """The argument and the rule stand at the beginning, the next step at the end."""
    for kind in (RRStatsError, ArgumentValueError, ArgumentTypeError, FileError):
        text = str(kind("prob must be 1, found " + LONG + "; give another"))
        assert len(text) <= LONGEST
        assert text.startswith("prob must be 1, found x")
        assert text.endswith("x; give another")
        assert "y" * LONGEST == str(kind("y" * LONGEST))


# -- half of a surrogate pair ------------------------------------------------------------------


def test_a_file_refuses_categories_that_utf_8_cannot_write(tmp_path):
    """In a mechanism, in a document beside the file, and in a frame to save."""
    pytest.importorskip("pyarrow")
    from rrstats import files

    made = rr.KRR([HALF, "v"], 0.7)
    source, target = tmp_path / "s.csv", tmp_path / "t.csv"
    FRAME.to_csv(source, index=False)
    refused(ArgumentTypeError, "valid Unicode", files.privatize_file, source, target, {"n": made})
    record = {"name": "n", "mechanism": made.to_dict()}
    path = write_file(tmp_path, ".csv", FRAME, {"v": 1, "columns": [record]})
    for call in (files.describe_file, files.estimate_file):
        refused(RRStatsError, "valid Unicode", call, path)
    frame = FRAME.assign(n=pd.Series(["v", HALF] * 10, dtype=object)).rr.privatize("n", made)
    for name in ("t.csv", "t.tsv.gz", "t.parquet"):
        refused(RRStatsError, "valid Unicode", frame.rr.to_csv, tmp_path / name)
        assert not (tmp_path / name).exists()
    other = FRAME.assign(note=pd.Series([HALF] * 20, dtype=object)).rr.privatize("n", NEW)
    for name in ("t.csv", "t.parquet"):
        refused(ArgumentValueError, "valid Unicode", other.rr.to_csv, tmp_path / name)
    assert {"s.csv", "source.csv", "source.csv.rrstats.json"} == {
        p.name for p in tmp_path.iterdir()
    }


def test_results_have_tables_of_categories_that_utf_8_cannot_write():
    """pandas may store text in Arrow, which cannot hold them; then the labels are objects."""
    made = rr.KRR(["u", HALF], 0.7)
    reports = pd.Series(["u", HALF] * 50, dtype=object)
    estimate = rr.estimate(reports, made)
    assert ["u", HALF] == estimate.to_frame()["category"].tolist()
    for result in (estimate, rr.difference(estimate, estimate), estimate.mle()):
        for text in (repr(result), result._repr_html_()):
            text.encode()
    table = rr.privacy.posterior(reports, made, [0.5, 0.5])
    assert ["u", HALF] == table.to_frame().columns.tolist()
    repr(table).encode()


def test_a_plan_needs_names_that_a_file_can_hold():
    """The names of its parts are cells of the public column, whose own name is one, too."""
    refused(ArgumentValueError, "valid Unicode", FramePlan, {HALF: [0, 1]}, 1.0, [HALF])
    refused(ArgumentValueError, "valid Unicode", FramePlan, {"a": [0, 1]}, 1.0, ["a"], asked=HALF)
    document = released("plan").attrs["rrstats"]
    text = json.dumps(document).replace('"b"', '"\\ud800"')
    refused(RRStatsError, "valid Unicode", read, {"rrstats": text})


@pytest.mark.parametrize("text", [b"{}", b"x", b"[]", b'{"columns": 3, "index_columns": []}'])
def test_metadata_that_pandas_did_not_write_are_named(tmp_path, text):
    """Instead of an error of the library that reads them."""
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "out.parquet"
    pd.DataFrame({"a": ["x", "y"]}).rr.privatize("a", ["x", "y"], epsilon=1).rr.to_parquet(path)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"pandas": text}), path)
    with pytest.raises(rr.errors.MetadataError, match="metadata of pandas"):
        rr.files.read(path)


def test_a_csv_without_the_public_column_of_its_plan_is_refused(tmp_path, pa):
    """The column says which rows were asked."""
    path = tmp_path / "out.csv"
    plan = rr.planning.FramePlan({"a": ["x", "y"], "b": [1, 2]}, 1.5, [("a", "b")])
    pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}).rr.privatize(plan).rr.to_csv(path)
    pd.read_csv(path).drop(columns="rr_asked").to_csv(path, index=False)
    with pytest.raises(rr.errors.MetadataError, match="needs the public column 'rr_asked'"):
        rr.files.read(path)
