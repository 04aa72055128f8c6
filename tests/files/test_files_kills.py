"""A release that dies or is interrupted at any operation of the file system: whole or not at all.

Deaths are those of `crashing`, before each operation of releases of files.  For interrupts a child
gets Ctrl-C before or after call number 1, 2, 3 and so on of publishing a target and its entry in
the ledger; then the folder is looked at, and the release is made once more.
"""

import os

import pytest
from cli_calls import run

pytest.importorskip("pyarrow")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and forks of POSIX"),
]

DRIVER = """
import json, os, shutil, signal, stat, sys
from pathlib import Path
import rrstats as rr
from rrstats.files.ledger import Ledger
from rrstats.files.atomic import Publication
from rrstats.mechanisms.records import ColumnRecord

folder, kind, overwrite = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
source, target = folder / "in.csv", folder / "out.csv"
ledger = Ledger.of(source)
records = [ColumnRecord.of("smoker", rr.KRR(["yes", "no"], 0.75))]
os.umask(0o022)


def release(text, again):
    there = overwrite or os.path.lexists(target)
    with Publication(target, overwrite=there, directory=kind == "directory") as publication:
        if kind == "directory":
            for name in ("a.parquet", "sub/b.parquet"):
                with publication.open(name) as file:
                    file.write(text)
        else:
            publication.open().write(text)
        if kind == "sidecar":
            publication.add_sidecar(text)
        with ledger.entry(records, target=target, digest="sha256:1", rows=1, again=again):
            publication.publish()


def tree():
    return {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}


def contents(name):
    path = folder / name
    return path.read_bytes() if path.is_file() else None


def data():
    names = ["out.csv/a.parquet", "out.csv/sub/b.parquet"]
    return {contents(name) for name in (names if kind == "directory" else ["out.csv"])}


def entries():
    return len(ledger.releases)


os.fsync = lambda descriptor: None  # a kill of the process loses nothing that was written


def interrupted(number):
    calls = 0

    def hit():
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGINT)

    for name in (
        "link", "rename", "replace", "unlink", "fsync", "open", "close", "chmod", "fchmod",
        "mkdir", "rmdir", "dup", "dup2",
    ):
        def patched(*args, _real=getattr(os, name), **options):
            hit()
            done = _real(*args, **options)
            hit()
            return done

        setattr(os, name, patched)


def child(number):
    process = os.fork()
    if process:
        status = os.waitpid(process, 0)[1]
        return os.waitstatus_to_exitcode(status)
    code = 99
    try:
        interrupted(number)
        release(b"new", again=overwrite)
        code = 0
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:
        print("child", number, type(error).__name__, error, flush=True)
    finally:
        os._exit(code)


def check(number, code):
    def wrong(*what):
        print("call", number, code, *what, sorted(tree()))

    found, old = data(), b"old" if overwrite else None
    if found not in ({b"new"}, {old}):
        wrong("half a target", found)
    new = found == {b"new"}
    if new and kind == "sidecar" and contents("out.csv.rrstats.json") != b"new":
        wrong("no sidecar")
    if entries() != new + overwrite:
        wrong("entries", entries())
    only_what_belongs(number, code, new or overwrite, entries())


def only_what_belongs(number, code, there, entry):
    expected = {"in.csv"}
    if there:
        expected |= {"out.csv", "out.csv.rrstats.json"} if kind == "sidecar" else {"out.csv"}
    if entry:
        expected.add(ledger.path.name)
    names = {path.name for path in folder.iterdir()}
    if names != expected:
        print("call", number, code, "there is", names, "not", expected)


number = 0
while True:
    number += 1
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    source.write_text("smoker")
    if overwrite:
        release(b"old", again=True)
    code = child(number)
    check(number, code)
    if code == 0:
        break
    try:
        release(b"new", again=True)
    except Exception as error:
        print("call", number, code, "next run", type(error).__name__, error)
        continue
    if data() != {b"new"}:
        print("call", number, code, "next run", data())
    only_what_belongs(number, "next run", True, True)
    mode = stat.S_IMODE(target.stat().st_mode) | 0o111
    if mode not in (0o755, 0o711):
        print("call", number, code, "mode", oct(mode))
print("interrupted", number - 1)
"""


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["file", "sidecar", "directory"])
def test_interrupted_at_any_call_a_release_is_whole_or_not_there(tmp_path, kind, overwrite):
    """Never half a target, never one without its entry; the next run works and tidies up."""
    ended = run("-W", "ignore", "-c", DRIVER, tmp_path, kind, overwrite)
    assert "" == ended.stderr
    (line,) = ended.stdout.splitlines()
    word, number = line.split()
    assert "interrupted" == word
    assert 40 < int(number)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "folder"])
def test_wherever_a_release_dies_nothing_is_lost(tmp_path, kind):
    """The target is the old one or the new one with its record, or the next run puts it back."""
    ended = run("-m", "tests.crashing", tmp_path, kind)
    assert "" == ended.stderr
    (line,) = ended.stdout.splitlines()
    word, number = line.split()
    assert "died" == word
    assert 30 < int(number)
