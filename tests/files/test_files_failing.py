"""Any operation of a release may fail: then nothing is released, or everything, and it is said.

Each operation of the file system and each large allocation of one release fails in turn
(`failing.Failing`), once or from then on.  Afterwards there is either no target, no sidecar and no
entry in the ledger, or all three and a call that returned or an error that says so.  If the ledger
itself cannot be restored, its entry stays, counts as a release, and the error says that.
"""

import errno
import io
import os
import shutil
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_calls import run
from failing import ERRORS, Failing

import rrstats as rr

pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # after importorskip
from file_samples import names, simulate_file  # after importorskip

from rrstats import cli, files
from rrstats.errors import RRStatsWarning, SimulationWarning
from rrstats.files import formats
from rrstats.files.atomic import Publication, is_published
from rrstats.files.ledger import Ledger
from rrstats.files.privatize_file import privatize_file
from rrstats.mechanisms.records import ColumnRecord

# Files that an abandoned generator closes may fail to close; nobody is there to be told.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MECHANISM = rr.KRR(["no", "yes"], 0.75)
ROWS = 40
KINDS = ["parquet", "arrow", "csv", "csv.gz", "folder"]


@pytest.fixture
def source(tmp_path, request):
    """A file, or a folder of two, with one unknown answer."""
    kind = request.getfixturevalue("kind")
    answers = ["no", "yes"] * (ROWS // 2 - 1) + ["no", "maybe"]
    frame = pd.DataFrame({"answer": answers, "age": range(ROWS)})
    path = tmp_path / f"in.{kind}"
    if kind == "folder":
        path = tmp_path / "in"
        path.mkdir()
        frame[:25].to_parquet(path / "a.parquet")
        frame[25:].to_parquet(path / "b.parquet")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "arrow":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def fast_and_fallible(monkeypatch):
    """Reads of pyarrow go through Python, so that they may fail; nothing waits for the disk."""

    class Read(pq.ParquetFile):
        def __init__(self, path, **options):
            # It stays open while ParquetFile reads from it.
            super().__init__(Path(path).open("rb"), **options)  # noqa: SIM115

    monkeypatch.setattr(formats.pq, "ParquetFile", Read)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # counted, but not waited for


class World:
    """The folder of a source before and after a release."""

    def __init__(self, source, overwrite):
        self.source, self.overwrite = source, overwrite
        self.target = source.with_name(source.name.replace("in", "out", 1))
        self.sidecar = self.target.with_name(self.target.name + ".rrstats.json")
        self.ledger = Ledger.of(source)
        self.before = names(source.parent)
        self.old = None
        if overwrite:
            self.release(again=True)
            self.old = self.contents()
            self.saved = source.parent.with_name(f"{source.parent.name}, old")
            shutil.copytree(source.parent, self.saved)

    def release(self, *, again, overwrite=None):
        overwrite = self.overwrite if overwrite is None else overwrite
        columns = {"answer": MECHANISM}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RRStatsWarning)
            return privatize_file(
                self.source,
                self.target,
                columns,
                unknown="uniform",
                again=again,
                overwrite=overwrite,
            )

    def contents(self):
        """The bytes of the target and its sidecar, by name; None where there is no target."""
        if not os.path.lexists(self.target):
            return None
        paths = [self.target, *self.target.rglob("*")] if self.target.is_dir() else [self.target]
        paths += [self.sidecar] if self.sidecar.exists() else []
        return {path: path.read_bytes() for path in paths if path.is_file()}

    def check_complete(self):
        """The target is a whole release that says how it was made."""
        estimate = files.estimate_file(self.target)["answer"]
        assert (ROWS, MECHANISM) == (estimate.n, estimate.mechanism)

    def forget(self):
        """The folder as it was before all releases but the old one."""
        for path in self.source.parent.iterdir():
            if path.name not in self.before:
                remove(path)
        for path in self.saved.iterdir() if self.overwrite else ():
            if path.name not in self.before:
                copy = shutil.copytree if path.is_dir() else shutil.copy2
                copy(path, self.source.parent / path.name)


def remove(path):
    if path.is_dir():
        for inside in path.iterdir():
            remove(inside)
        path.rmdir()
    else:
        path.unlink()


def after(world, failure, entries, *, forever):
    """True for everything, False for nothing, and check that the error says which."""
    contents = world.contents()
    old = world.old or {}
    changed = [path for path in contents or () if contents[path] != old.get(path)]
    new = bool(changed)
    published = failure is None or is_published(failure)
    said = "" if failure is None else "; ".join([str(failure), *getattr(failure, "__notes__", [])])
    assert new == published, said
    if new:
        world.check_complete()
    left = len(world.ledger.releases) - entries
    if new:
        assert 1 == left
    elif left:
        assert "may remain and counts as a release" in said
    if not forever:
        assert new or world.old == contents
        assert contents is not None or not world.sidecar.exists()
    return new


def sweep(world, errors, *, forever=False):
    """Fail each operation of the release in turn; return how many there are.

    errors : each for every so many operations.
    """
    number, counted = 0, None
    while counted is None:
        number += 1
        world.forget()
        entries = len(world.ledger.releases)
        failure = None
        with Failing(number, errors[number % len(errors)], forever) as operations:
            try:
                receipt = world.release(again=True)
            except Exception as raised:
                failure = raised
        if not operations.failed:
            assert failure is None
            counted = operations.count
        try:
            new = after(world, failure, entries, forever=forever)
            if failure is None:
                assert (entries + 1, world.ledger.path) == (
                    receipt.account["answer"][0],
                    receipt.ledger,
                )
            with Publication(world.target, overwrite=True, directory=world.source.is_dir()):
                pass  # a run that fails, once the disk works, puts back what was moved away
            if not new:
                assert world.old == world.contents()
            # The next run works, and tidies up.
            world.release(again=True, overwrite=os.path.lexists(world.target))
            world.check_complete()
            tidy = {*world.before, world.target.name, world.ledger.path.name}
            tidy |= {world.sidecar.name} if world.sidecar.exists() else set()
            assert tidy == set(names(world.source.parent))
        except BaseException as wrong:
            wrong.add_note(f"operation {number}, {failure!r}")
            raise
    return counted


@pytest.mark.parametrize("kind", ["csv"])
def test_any_operation_of_a_release_may_fail(source, kind):
    """Of a file with a sidecar: each operation, once, out of space."""
    assert 40 < sweep(World(source, overwrite=False), [ERRORS["full disk"]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "forever", "overwrite"),
    [
        (["full disk", "broken disk"], False, False),  # no code tells them apart: `atomic.FULL`
        (["full disk", "broken disk"], False, True),
        (["no memory"], False, True),  # an overwriting run does all that one to a new place does
        (["broken disk"], True, False),
        (["broken disk"], True, True),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_any_operation_of_any_release_may_fail(source, kind, overwrite, errors, forever):
    """In each format, new and overwritten, with each kind of error, once and from then on."""
    chosen = [ERRORS[error] for error in errors]
    assert 40 < sweep(World(source, overwrite), chosen, forever=forever)


@pytest.mark.parametrize("kind", ["csv", "folder"])
@pytest.mark.parametrize("wrong", [{}, {"unknown": "none of them"}])
def test_a_run_that_is_refused_puts_back_what_a_killed_one_moved(source, kind, wrong):
    """The ledger or an argument refuses it, and the old target is there with its record."""
    world = World(source, overwrite=True)
    replaced = world.target.with_name(f".{world.target.name}.part") / "replaced"
    replaced.mkdir(parents=True)
    replaced.parent.chmod(0o700)
    world.target.rename(replaced / world.target.name)
    if world.sidecar.exists():
        world.sidecar.rename(replaced / world.sidecar.name)
        world.sidecar.write_bytes(b"of another release")
    with pytest.raises(rr.errors.RRStatsError):
        privatize_file(source, world.target, {"answer": MECHANISM}, **wrong)
    assert world.old == world.contents()
    assert not replaced.parent.exists()


# -- warnings, outputs and memory --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_that_is_an_error_publishes_nothing(source, kind):
    """`python -W error`: the warning comes before the release is published."""
    world = World(source, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RRStatsWarning)
        with pytest.raises(SimulationWarning):
            simulate_file(
                source,
                world.target,
                {"answer": MECHANISM},
                unknown="uniform",
                rng=np.random.default_rng(1),
            )
    assert world.before == names(source.parent)
    assert [] == world.ledger.releases


def test_a_saved_frame_is_published_or_not(tmp_path):
    """The same of a frame that is saved: each operation fails in turn."""
    (tmp_path / "in.csv").write_text("answer\nno\n")
    frame = rr.privatize(pd.DataFrame({"answer": ["no", "yes"] * 20}), {"answer": MECHANISM})
    ledger, number, failed = Ledger.of(tmp_path / "in.csv"), 0, True
    while failed:
        number += 1
        path = tmp_path / f"out{number}.csv"
        entries, failure = len(ledger.releases), None
        frame.attrs.pop("rrstats_release", None)  # so that each is another release
        with Failing(number, ERRORS["full disk"]) as operations:
            try:
                frame.rr.to_csv(path, source=tmp_path / "in.csv", again=True)
            except Exception as raised:
                failure = raised
        failed = operations.failed
        published = failure is None or is_published(failure)
        assert published == path.exists() == Path(f"{path}.rrstats.json").exists()
        left = len(ledger.releases) - entries
        stays = "may remain" in "".join(getattr(failure, "__notes__", []))
        assert left == published or stays
    assert 30 < number


class Output(io.StringIO):
    """An output that cannot be written."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))


ARGUMENTS = ["--column", "answer", "--categories", "no,yes", "--prob", "0.75"]
ARGUMENTS += ["--unknown", "uniform"]


@pytest.mark.parametrize("kind", ["csv"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EPIPE])
def test_an_output_that_fails_says_that_the_release_was_published(
    source, kind, number, monkeypatch, capsys
):
    """Code 1, or 141 for a closed pipe; one line says both, besides private counts and warnings."""
    world = World(source, False)
    monkeypatch.setattr(sys, "stdout", Output(number))
    code = cli.main(["privatize", str(source), str(world.target), *ARGUMENTS, "--quiet"])
    world.check_complete()
    assert 1 == len(world.ledger.releases)
    assert (141 if number == errno.EPIPE else 1) == code
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "warning" not in line]
    assert line.startswith(f"rrstats: {world.target} was published and is in the ledger")
    assert "closed the pipe" in line or "cannot write the output" in line


@pytest.mark.parametrize("kind", ["csv"])
def test_an_error_output_that_fails_does_not_stop_the_summary(source, kind, monkeypatch, capsys):
    """Private counts and warnings are lost, the release and its summary are not."""
    world = World(source, False)
    monkeypatch.setattr(sys, "stderr", Output(errno.EIO))
    assert 0 == cli.main(["privatize", str(source), str(world.target), *ARGUMENTS])
    assert "40 rows" in capsys.readouterr().out
    world.check_complete()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("kind", ["csv"])
def test_a_process_with_a_full_output_says_that_it_published(source, kind):
    """One line, code 1 and no message of the interpreter."""
    world = World(source, False)
    arguments = ["-m", "rrstats", "privatize", source, world.target, *ARGUMENTS, "--quiet"]
    with Path("/dev/full").open("w") as full:
        ended = run("-W", "error", *arguments, stdout=full)
    assert 1 == ended.returncode
    assert 1 == ended.stderr.count("\n")
    assert "was published and is in the ledger, but cannot write the output" in ended.stderr
    world.check_complete()


def test_a_ledger_is_read_without_a_large_buffer(tmp_path):
    """A look reserves memory for what the ledger holds, not for what it may hold at most."""
    (tmp_path / "in.csv").write_text("answer\nno\n")
    ledger = Ledger.of(tmp_path / "in.csv")
    records = [ColumnRecord.of("answer", MECHANISM)]
    with ledger.entry(records, target=tmp_path / "o", digest="sha256:1", rows=1, again=False):
        pass
    assert 1 == len(ledger.releases)
    tracemalloc.start()
    try:
        assert 1 == len(ledger.releases)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
