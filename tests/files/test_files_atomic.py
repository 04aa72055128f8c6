"""A target appears whole or not at all, whatever ends the run that writes it."""

import contextlib
import os
import shutil
import signal
import stat
import threading
from pathlib import Path

import pytest
from cli_calls import run
from refusals import refused

from rrstats.errors import FileError

# Publishing itself does without pyarrow; the package that it is in does not.
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
atomic = pytest.importorskip("rrstats.files.atomic")
from file_samples import names  # after importorskip

Publication = atomic.Publication

posix = pytest.mark.skipif(os.name != "posix", reason="signals, locks and modes of POSIX")


@pytest.fixture(autouse=True)
def usual_umask():
    """New files are readable by all and writable by their owner, whatever runs the tests."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def publish(target, data=b"new", sidecar=None, **options):
    with Publication(target, **options) as publication:
        publication.open().write(data)
        if sidecar is not None:
            publication.add_sidecar(sidecar)
        publication.publish()


def publish_directory(target, files, **options):
    with Publication(target, directory=True, **options) as publication:
        for name, data in files.items():
            with publication.open(name) as file:
                file.write(data)
        publication.publish()


def tree(folder):
    """All that is in a folder: names and contents."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# -- what is published -----------------------------------------------------------------------


def test_a_file_appears_only_when_it_is_published(tmp_path):
    """Until then it is in a folder closed to others; afterwards it is a file as any other."""
    target = tmp_path / "out.csv"
    with Publication(target) as publication:
        file = publication.open()
        file.write(b"a,b\n")
        file.flush()
        assert [".out.csv.part"] == names(tmp_path)
        assert 0o700 == mode(tmp_path / ".out.csv.part")
        publication.publish()
        assert {"out.csv": b"a,b\n"} == tree(tmp_path)
    assert {"out.csv": b"a,b\n"} == tree(tmp_path)
    assert 0o644 == mode(target)
    assert 1 == target.stat().st_nlink


def test_a_directory_appears_only_when_it_is_published(tmp_path):
    """Until then a folder hides it; afterwards files and folders are as any others."""
    target = tmp_path / "out"
    with Publication(target, directory=True) as publication:
        with publication.open("year=1/a.parquet") as file:
            file.write(b"1")
        publication.open("b.parquet").write(b"2")
        assert 0o700 == mode(tmp_path / ".out.part")
        assert not target.exists()
        publication.publish()
    assert {"out/b.parquet": b"2", "out/year=1/a.parquet": b"1"} == tree(tmp_path)
    assert [0o755, 0o755] == [mode(target), mode(target / "year=1")]
    assert [0o644, 0o644] == [mode(target / "b.parquet"), mode(target / "year=1" / "a.parquet")]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_files_follow_the_umask(tmp_path, mask):
    """The mode is the one that any new file of this user has."""
    os.umask(mask)
    publish(tmp_path / "out")
    publish_directory(tmp_path / "folder", {"a.parquet": b""})
    assert 0o666 & ~mask == mode(tmp_path / "out") == mode(tmp_path / "folder" / "a.parquet")
    assert 0o777 & ~mask == mode(tmp_path / "folder")


# -- overwriting -----------------------------------------------------------------------------


def test_overwriting_keeps_the_mode(tmp_path):
    """Who could read the old file can read the new one, and nobody else."""
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    publish(target, overwrite=True)
    assert {"out.csv": b"new"} == tree(tmp_path)
    assert 0o640 == mode(target)


@pytest.mark.parametrize("new", [b"new", b"old"])
def test_an_overwritten_target_never_stands_without_its_sidecar(tmp_path, monkeypatch, new):
    """At every step the target has its own sidecar; it is absent for a moment if that changes."""
    target, sidecar = tmp_path / "out.csv", tmp_path / "out.csv.rrstats.json"
    publish(target, b"old", sidecar=b"old")
    pairs = []

    def watched(step):
        def run(*args):
            done = step(*args)
            if target.exists():
                pairs.append((target.read_bytes(), sidecar.read_bytes()))
            else:
                pairs.append(None)
            return done

        return run

    for name in ("replace", "rename", "unlink"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))
    monkeypatch.setattr(os, "link", watched(os.link))
    publish(target, b"new", sidecar=new, overwrite=True)
    assert (None in pairs) == (new != b"old")
    assert set(pairs) - {None} <= {(b"old", b"old"), (b"new", new)}


def test_a_directory_is_overwritten_as_a_whole(tmp_path):
    """No file of the old one is left in it, nor beside it."""
    target = tmp_path / "out"
    publish_directory(target, {"a.parquet": b"1", "b.parquet": b"2"})
    target.chmod(0o750)
    publish_directory(target, {"a.parquet": b"3"}, overwrite=True)
    assert {"out/a.parquet": b"3"} == tree(tmp_path)
    assert ["out"] == names(tmp_path)
    assert 0o750 == mode(target)


@pytest.mark.parametrize(
    "foreign",
    ["thesis.docx", ".ssh/id", "sub/notes.txt", "a.rrstats-ledger.json", "link.parquet", "link"],
)
def test_a_directory_that_holds_anything_else_is_never_replaced(tmp_path, foreign):
    """A slip of the pen must not remove a home folder."""
    target = tmp_path / "home"
    path = target / foreign
    path.parent.mkdir(parents=True)
    if foreign.startswith("link"):
        path.symlink_to("/" if foreign == "link" else tmp_path / "elsewhere")
    else:
        path.write_bytes(b"dear")
    (target / "data.parquet").write_bytes(b"")
    with pytest.raises(FileError, match="more than data files"):
        publish_directory(target, {"a.parquet": b""}, overwrite=True)
    assert os.path.lexists(path)
    assert ["home"] == names(tmp_path)


# -- refusals --------------------------------------------------------------------------------


def put(path, kind):
    if kind == "file":
        path.write_bytes(b"old")
    elif kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")


@posix
@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("file", {}, "exists; .*overwrite"),
        ("file", {"directory": True, "overwrite": True}, "exists and is not a directory"),
        ("directory", {}, "exists and is not a file"),
        ("directory", {"overwrite": True}, "exists and is not a file"),
        ("directory", {"directory": True}, "exists"),
        ("fifo", {"overwrite": True}, "exists and is not a file"),
        ("link", {}, "symbolic link"),
        ("link", {"overwrite": True}, "symbolic link"),
    ],
)
def test_what_is_in_the_way_is_refused_and_left_alone(tmp_path, kind, options, says):
    """Before anything is made."""
    target = tmp_path / "out"
    put(target, kind)
    before = target.lstat()
    with pytest.raises(FileError, match=says), Publication(target, **options):
        raise AssertionError("entered")
    assert before.st_ino == target.lstat().st_ino
    assert ["out"] == names(tmp_path)


def test_a_folder_that_refuses_the_part_names_the_target(tmp_path, monkeypatch):
    """As on a disk that is mounted for reading only."""

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(atomic.os, "open", refuse)
    with pytest.raises(FileError, match=r"out.csv: read-only file system; nothing was published"):
        publish(tmp_path / "out.csv")


# -- failures --------------------------------------------------------------------------------


STEPS = [("os", "link"), ("Path", "replace"), ("os", "fsync")]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_a_step_that_fails_takes_all_back(tmp_path, monkeypatch, step, directory, overwrite):
    """Wherever publishing fails, the folder is as it was before."""
    target = tmp_path / "out"
    owner = {"os": os, "Path": Path}[step[0]]
    real = getattr(owner, step[1])
    failed = 0
    for number in range(12):
        for path in tmp_path.iterdir():
            remove(path)
        if overwrite:
            file = target / "sub" / "a.parquet" if directory else target
            file.parent.mkdir(parents=True, exist_ok=True)
            for old in (file, tmp_path / "out.rrstats.json"):
                old.write_bytes(b"old")
        before = tree(tmp_path)
        calls = []

        def sometimes(*args, _calls=calls, _number=number, **options):
            _calls.append(args)
            if len(_calls) == _number + 1:
                raise OSError(5, "Input/output error")
            return real(*args, **options)

        with Publication(target, directory=directory, overwrite=overwrite) as publication:
            publication.open("sub/a.parquet" if directory else None).write(b"new")
            publication.add_sidecar(b"new")
            with monkeypatch.context() as patched:
                patched.setattr(owner, step[1], sometimes)
                try:
                    publication.publish()
                except FileError:
                    failed += 1
                else:
                    before = None
        after = tree(tmp_path)
        expected = {"out/sub/a.parquet" if directory else "out": b"new", "out.rrstats.json": b"new"}
        assert (expected if before is None else before) == after
        assert not [name for name in names(tmp_path) if "part" in name]
    assert failed or step[1] == "link"


def test_the_steps_that_fail_are_really_taken(tmp_path, monkeypatch):
    """The test above would pass if nothing was called: fsync is, for file, sidecar and folder."""
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), real(fd)))
    publish(tmp_path / "out", sidecar=b"{}")
    inodes = [path.stat().st_ino for path in (tmp_path / "out", tmp_path / "out.rrstats.json")]
    assert [*inodes, tmp_path.stat().st_ino] == synced
    synced.clear()
    publish_directory(tmp_path / "folder", {"a.parquet": b"", "sub/b.parquet": b""})
    inside = {path.stat().st_ino for path in (tmp_path / "folder").rglob("*")}
    assert 3 == len(inside)
    assert inside | {(tmp_path / "folder").stat().st_ino} == set(synced[:-1])
    assert tmp_path.stat().st_ino == synced[-1]


def test_without_hard_links_it_is_published_too(tmp_path, monkeypatch):
    """As on memory sticks; a target that somebody made meanwhile is left alone there as well."""

    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    publish(tmp_path / "out", sidecar=b"{}")
    assert {"out": b"new", "out.rrstats.json": b"{}"} == tree(tmp_path)
    assert 0o644 == mode(tmp_path / "out.rrstats.json")
    publish(tmp_path / "out", b"newer", overwrite=True, sidecar=b"{1}")
    assert {"out": b"newer", "out.rrstats.json": b"{1}"} == tree(tmp_path)
    assert 0o644 == mode(tmp_path / "out")


def test_a_target_that_cannot_be_moved_back_waits_for_the_next_run(tmp_path, monkeypatch):
    """If undoing fails too, the staging folder stays with the old target, and the error says so."""
    target, moves, replace = tmp_path / "out", [], Path.replace
    publish_directory(target, {"a.parquet": b"old"})

    def breaks(path, new_path):
        moves.append(path)
        if len(moves) > 1:  # the old target was moved away, and then the disk broke
            raise OSError(5, "Input/output error")
        return replace(path, new_path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", breaks)
        with pytest.raises(FileError, match="nothing was published, but not every file could be"):
            publish_directory(target, {"a.parquet": b"new"}, overwrite=True)
    assert [".out.part"] == names(tmp_path)
    assert b"old" == (tmp_path / ".out.part" / "replaced" / "out" / "a.parquet").read_bytes()
    with Publication(target, directory=True, overwrite=True):
        assert b"old" == (target / "a.parquet").read_bytes()
    assert {"out/a.parquet": b"old"} == tree(tmp_path)


@pytest.mark.parametrize("directory", [False, True])
def test_a_target_made_meanwhile_is_left_alone(tmp_path, directory):
    """By another program, while the file is written."""
    target = tmp_path / "out"
    theirs = target / "theirs" if directory else target
    with Publication(target, directory=directory) as publication:
        publication.open("a.parquet" if directory else None).write(b"mine")
        theirs.parent.mkdir(exist_ok=True)
        theirs.write_bytes(b"theirs")
        refused(FileError, "in the meantime", publication.publish)
    assert {theirs.relative_to(tmp_path).as_posix(): b"theirs"} == tree(tmp_path)


# -- the staging directory of other runs ------------------------------------------------------


@posix
def test_a_run_without_standard_input_is_published(tmp_path):
    """Where a daemon has closed it, the lock is file 0, a lock as any other."""
    stdin = os.dup(0)
    os.close(0)
    try:
        publish(tmp_path / "out")
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
    assert {"out": b"new"} == tree(tmp_path)


@posix
def test_two_runs_at_once_do_not_mix(tmp_path):
    """The second is refused while the first writes, and the first is not disturbed."""
    target = tmp_path / "out"
    with Publication(target) as first:
        with first.open() as file:  # who closes it does not give the lock back
            file.write(b"first")
        refused(FileError, "another run is writing", publish, target, b"second")
        first.publish()
    assert {"out": b"first"} == tree(tmp_path)


@posix
@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("was_directory", [False, True])
def test_what_a_killed_run_left_is_removed(tmp_path, directory, was_directory):
    """Whatever it was writing, and however far it came."""
    part = tmp_path / ".out.part"
    for folder in (part, part / "replaced", part / "attempts-01"):
        folder.mkdir(mode=0o700)
    (part / "lock").touch(0o600)
    (part / "data.rrstats.json").write_bytes(b"stale")
    (part / "attempts-01" / "b.parquet").write_bytes(b"stale")
    if was_directory:
        (part / "data" / "sub").mkdir(parents=True)
    (part / "data" / "sub" / "a" if was_directory else part / "data").write_bytes(b"stale")
    if directory:
        publish_directory(tmp_path / "out", {"a.parquet": b"new"})
    else:
        publish(tmp_path / "out")
    assert [b"new"] == list(tree(tmp_path).values())
    assert ["out"] == names(tmp_path)


@posix
@pytest.mark.parametrize("before", [b"old", None])
def test_a_target_that_a_killed_run_took_away_comes_back_with_its_sidecar(tmp_path, before):
    """Also if the next run publishes nothing; without a sidecar if it had none."""
    target, sidecar = tmp_path / "out", tmp_path / "out.rrstats.json"
    replaced = tmp_path / ".out.part" / "replaced"
    replaced.mkdir(parents=True)
    replaced.parent.chmod(0o700)
    (replaced / "out").write_bytes(b"old")
    (replaced / sidecar.name).write_bytes(before or b"")
    sidecar.write_bytes(b"new")
    atomic.repair(target)
    expected = {"out": b"old"} if before is None else {"out": b"old", sidecar.name: b"old"}
    assert expected == tree(tmp_path)
    atomic.repair(target)
    assert expected == tree(tmp_path)


@posix
def test_an_old_directory_that_a_killed_run_took_away_is_put_back(tmp_path):
    """Before anything else happens, so that it is there whatever becomes of the next run."""
    old = tmp_path / ".out.part" / "replaced" / "out"
    old.mkdir(parents=True)
    (tmp_path / ".out.part").chmod(0o700)
    (old / "a.parquet").write_bytes(b"old")
    with Publication(tmp_path / "out", directory=True, overwrite=True):
        assert {"out/a.parquet": b"old"} == {
            name: data for name, data in tree(tmp_path).items() if "lock" not in name
        }
    assert {"out/a.parquet": b"old"} == tree(tmp_path)


@posix
@pytest.mark.parametrize("kind", ["link", "link to a folder", "file", "open", "foreign", "fifo"])
def test_a_staging_directory_that_is_not_ours_is_left_alone(tmp_path, kind):
    """A link laid as a trap, somebody's folder: none is followed, and nothing in it removed."""
    part, precious = tmp_path / ".out.part", tmp_path / "precious"
    precious.mkdir(mode=0o700)
    if kind.startswith("link"):
        part.symlink_to("nowhere" if kind == "link" else precious)
    elif kind == "file":
        part.touch(0o600)
    elif kind == "fifo":
        os.mkfifo(part, 0o600)
    else:
        part.mkdir()
        part.chmod(0o700 if kind == "foreign" else 0o755)
        (part / ("thesis.docx" if kind == "foreign" else "data")).write_bytes(b"theirs")
    before, inode = sorted(tmp_path.rglob("*")), part.lstat().st_ino
    refused(FileError, "does not come from an interrupted run", publish, tmp_path / "out")
    assert inode == part.lstat().st_ino
    assert before == sorted(tmp_path.rglob("*"))


@posix
@pytest.mark.parametrize("step", ["mkdir", "lock"])
def test_a_staging_directory_taken_away_before_it_was_locked_is_made_again(
    tmp_path, monkeypatch, step
):
    """Another run may take it for a leftover in that moment; nothing is written to a lost file."""
    real, calls = getattr(atomic, "lock" if step == "lock" else "_check_ours"), []

    def slow(given):
        if not calls:  # the other run removes what it found without a lock
            remove(tmp_path / ".out.part")
        calls.append(given)
        return real(given)

    monkeypatch.setattr(atomic, "lock" if step == "lock" else "_check_ours", slow)
    publish(tmp_path / "out")
    assert {"out": b"new"} == tree(tmp_path)
    assert 2 == len(calls)


# -- signals, kills and full disks, for real --------------------------------------------------

FULL_DISK = """
import os, resource, sys
from pathlib import Path
from rrstats.files.atomic import Publication
target = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from rrstats.errors import FileError
try:
    with Publication(target) as publication:
        file = publication.open()
        for _ in range(int(sys.argv[2])):
            file.write(bytes(50_000))
        print("written", flush=True)
        publication.publish()
except FileError as error:
    print(error)
    print(os.listdir(target.parent))
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("pieces", [3, 40])
def test_a_full_disk_names_the_target_and_leaves_nothing(tmp_path, pieces):
    """RLIMIT_FSIZE, noticed while writing or not before the last bytes leave the buffer."""
    done = run("-c", FULL_DISK, tmp_path / "out", pieces)
    assert "" == done.stderr
    lines = done.stdout.splitlines()
    if pieces == 3:
        assert "written" == lines.pop(0)
    assert f"cannot write {tmp_path / 'out'}: file too large; nothing was published" == lines[0]
    assert "[]" == lines[1]


def test_no_signal_is_lost_where_handlers_come_back(monkeypatch):
    """Neither one that comes between two handlers, nor one after a handler that raises."""
    got, real = [], signal.signal

    def during(number, handler):
        if number == signal.SIGTERM and handler is term:
            signal.raise_signal(signal.SIGINT)
        return real(number, handler)

    def term(*_):
        got.append("term")
        raise SystemExit

    def interrupt(*_):
        got.append("interrupt")

    mine = {signal.SIGTERM: term, signal.SIGINT: interrupt}
    before = {number: real(number, handler) for number, handler in mine.items()}
    try:
        monkeypatch.setattr(signal, "signal", during)
        with pytest.raises(SystemExit), atomic.uninterrupted():
            signal.raise_signal(signal.SIGTERM)
        assert ["term", "interrupt"] == got
    finally:
        for number, handler in before.items():
            real(number, handler)


def test_signals_wait_and_are_delivered_once():
    """The outermost block counts, handlers come back, other threads are not concerned."""
    got, of_interrupts = [], signal.getsignal(signal.SIGINT)  # Spark sets one of its own
    before = signal.signal(signal.SIGTERM, lambda *_: got.append("term"))
    try:
        with atomic.uninterrupted():
            with atomic.uninterrupted():
                signal.raise_signal(signal.SIGTERM)
            assert [] == got
            atomic.let_through()
            assert ["term"] == got
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
        assert ["term", "term"] == got

        def interrupted():
            with atomic.uninterrupted():
                signal.raise_signal(signal.SIGINT)
                got.append("still here")

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert "still here" == got[-1]
        signal.raise_signal(signal.SIGTERM)
        assert "term" == got[-1]
    finally:
        signal.signal(signal.SIGTERM, before)
    with contextlib.ExitStack() as stack:
        worker = threading.Thread(target=stack.enter_context, args=[atomic.uninterrupted()])
        worker.start()
        worker.join()
        assert signal.getsignal(signal.SIGINT) is of_interrupts
