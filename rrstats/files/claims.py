"""The ``.part`` that a run writes to: private, locked, and its alone.

A run that is killed leaves it behind, without its lock.  Who finds one takes the lock first,
looks again whether the file is still the one of that name, and only then removes it; nobody
removes a file whose lock somebody else has, and nobody follows a link.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rrstats.errors import FileError

__all__ = [
    "Part",
    "claim",
    "discard",
    "holds_foreign_files",
    "is_at",
    "is_ledger_file",
    "is_private",
    "lock",
    "make",
    "naming",
    "remove_unlocked",
]

CLAIM_SECONDS = 2.0

# What a directory of data may hold.  One that holds anything else is never removed.
DATA_SUFFIXES = frozenset(
    {".parquet", ".parq", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".gz", ".json", ".crc"}
)

LEDGER = ".rrstats-ledger.json"
"""What the name of a ledger ends in; one may lie in a directory of data."""

POSIX = os.name == "posix"
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)  # elsewhere line ends would be translated


@contextmanager
def naming(target: Path) -> Iterator[None]:
    """Errors of the operating system become a FileError that names the target."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FileError(f"cannot write {target}: {why}; nothing was published") from error


# -- locks ---------------------------------------------------------------------------------


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file for this run; False where another run has it.

    True also where the system or the file system has no locks: then nothing tells two runs
    apart.  The lock ends with the last descriptor, and so with the process, however it ends.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one that has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


# -- the .part -----------------------------------------------------------------------------


class Part(NamedTuple):
    """A path that this run made, and the descriptor that holds its lock (-1: there is none)."""

    path: Path
    descriptor: int


def make(path: Path, *, directory: bool = False) -> int:
    """A new private file or directory, opened; FileExistsError where there is something."""
    if not directory:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | _BINARY
        return os.open(path, flags, 0o600)
    path.mkdir(mode=0o700)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW) if POSIX else -1


def claim(path: Path, *, directory: bool = False) -> Part:
    """A new ``.part`` that is this run's alone, locked; what a killed run left goes.

    Between making and locking it another run may take it for a leftover and remove it: then
    the descriptor is no longer the one at the path, and all begins again.
    Raises FileError where another run is writing, or where something else is in the way.
    """
    until = time.monotonic() + CLAIM_SECONDS
    while True:
        with suppress(FileNotFoundError):
            _clear(path)
        try:
            part = Part(path, make(path, directory=directory))
        except (FileExistsError, FileNotFoundError):
            part = None
        if part is not None:
            if part.descriptor < 0:
                return part
            if lock(part.descriptor, wait=False) and is_at(part.descriptor, path):
                return part
            os.close(part.descriptor)
        elif not path.parent.is_dir():
            raise FileError(f"cannot write {path}: the folder {path.parent} is not there")
        if time.monotonic() > until:
            raise _in_use(path)
        time.sleep(0.01)


def discard(part: Part) -> None:
    """Remove a ``.part`` of ours where it still has its name, and give its lock back."""
    with suppress(OSError):
        if part.descriptor < 0 or is_at(part.descriptor, part.path):
            _remove(part.path)
    if part.descriptor >= 0:
        with suppress(OSError):
            os.close(part.descriptor)


def _in_use(path: Path) -> FileError:
    return FileError(f"another run is writing {path}; wait for it, or choose another target")


def _clear(path: Path) -> None:
    """Remove what a killed run left at ``path``; FileError where it is not that, or in use."""
    if not os.path.lexists(path):
        return
    if not _is_leftover(path):
        raise FileError(
            f"{path} is in the way: it was not left by an interrupted run of yours; move it "
            "away, or choose another target"
        )
    if not remove_unlocked(path):
        raise _in_use(path)


def remove_unlocked(path: Path) -> bool:
    """Remove a file or directory of ours; False where another run has its lock."""
    if not POSIX:  # there, a file that somebody has open cannot be removed
        _remove(path)
        return True
    # Some network file systems lock a file only for who may write it.
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR
    descriptor = os.open(path, access | os.O_NONBLOCK | NO_FOLLOW)
    try:
        if not lock(descriptor, wait=False):
            return False
        if is_at(descriptor, path):
            _remove(path)
    finally:
        os.close(descriptor)
    return True


def _is_leftover(path: Path) -> bool:
    """Whether something looks as a killed run leaves it: ours, private, nothing foreign in it."""
    return is_private(path) and not (path.is_dir() and holds_foreign_files(path))


def is_private(path: Path) -> bool:
    """Whether this is a file or directory of ours that is closed to others."""
    found = path.lstat()
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        return False
    mode = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
    ours = not POSIX or found.st_uid == os.geteuid()
    return ours and (not POSIX or stat.S_IMODE(found.st_mode) & 0o777 == mode)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def holds_foreign_files(directory: Path) -> bool:
    """Whether a directory holds anything that is no file of a data set, or a ledger."""
    for folder, folders, files in os.walk(directory, onerror=_give_up):
        inside = [Path(folder, name) for name in files]
        if any(_is_foreign(path) for path in inside):
            return True
        if any(Path(folder, name).is_symlink() for name in folders):
            return True
    return False


def _is_foreign(path: Path) -> bool:
    belongs = path.name.startswith("_") or path.suffix.lower() in DATA_SUFFIXES
    belongs = belongs and not is_ledger_file(path.name)
    return not belongs or not stat.S_ISREG(path.lstat().st_mode)


def is_ledger_file(name: str) -> bool:
    """Whether a file is a ledger, or what stands beside one while it is written."""
    return name.endswith((LEDGER, f"{LEDGER}.lock", f"{LEDGER}.part"))


def _give_up(error: OSError) -> None:
    """What cannot be looked into is not passed over."""
    raise error
