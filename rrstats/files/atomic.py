"""A file or directory that appears whole or not at all.

    with Publication(target) as publication:
        write_to(publication.open())
        publication.publish()

Everything is written in a staging directory beside the target, ``.TARGET.part``, which is closed
to others (mode 0700) and locked.  When all is complete and on the disk it gets its name in one
step.  Leaving the block in any other way removes it.  After a kill the target is whole or not
there, and the staging directory remains without its lock; the next run takes it over, and only
where it gets that lock.  A second run to the same target fails at once.

A new target gets its sidecars first, so that it is never seen without them.  One that is
overwritten loses its old sidecars first and gets the new ones last, so that it never stands
beside those of another release.  An old directory has to make room for a moment: where a kill
falls into it, the next run puts it back.

Signals that Python handles wait in `uninterrupted` blocks: between "the ledger says so" and "the
file is there" Ctrl-C would leave one without the other.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from rrstats.errors import FileError
from rrstats.randomness.sources import secret_bytes

with suppress(ImportError):  # elsewhere than on POSIX systems
    import fcntl

POSIX = os.name == "posix"
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_BINARY", 0)
BUFFER_BYTES = 1 << 20

LEDGER = ".rrstats-ledger.json"
"""Ending of a ledger's name; one may lie in a directory of data."""

DATA_SUFFIXES = frozenset(
    {".parquet", ".parq", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".gz", ".json", ".crc"}
)
"""Endings of files in a directory of data.  One that holds anything else is never removed."""

LOCK, REPLACED, DATA, ATTEMPTS = "lock", "replaced", "data", "attempts-"
"""Names in a staging directory; sidecars stand beside the data."""

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of a disk that takes no more."""


class Publication:
    """A target that is being written, and appears when `publish` is called in its block.

    target : the path of the file or, with ``directory=True``, of the directory.
    overwrite : replace what is there, keeping its mode; without it, an existing target is
        refused when the block is entered, and one that was made meanwhile at the end.
    Raises FileError, always before anything has appeared.
    """

    def __init__(self, target: Path, *, overwrite: bool = False, directory: bool = False) -> None:
        self.target = Path(target)
        self._overwrite, self._directory = overwrite, directory
        self._staging = self.target.parent / f".{self.target.name}.part"
        self._data = self._staging / DATA
        self._lock: int | None = None
        self._beside: dict[Path, Path] = {}
        self._files = ExitStack()

    def __enter__(self) -> Publication:
        check_overwrite(self.target, self._overwrite, self._directory)
        try:
            with uninterrupted(), _naming(self.target):
                self._lock = _take(self._staging, self.target)
                # Once more: what a killed run took away may be there again.
                check_overwrite(self.target, self._overwrite, self._directory)
                if self._directory:
                    self._data.mkdir()
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._abandon()
        if isinstance(error, OSError) and error.errno in FULL:
            with _naming(self.target):
                raise error

    def open(self, name: str | None = None) -> BinaryIO:
        """A binary file to write to: the target itself or, in a directory, one of its files.

        name : the file's path in the directory, with ``/``; its folders are made.
        """
        with _naming(self.target):
            path = self._data if name is None else self._inside(name)
            return self._files.enter_context(os.fdopen(make(path), "wb", BUFFER_BYTES))

    def attempts(self) -> Path:
        """A folder where other processes may write; `accept` takes a file out of it."""
        # Never a name of an earlier run, to which a lost process may write on.
        folder = self._staging / f"{ATTEMPTS}{secret_bytes(8).hex()}"
        with _naming(self.target):
            folder.mkdir()
        return folder

    def accept(self, path: Path, name: str) -> None:
        """Give a file that another process wrote its name in the directory, once."""
        with _naming(self.target):
            path.rename(self._inside(name))

    def _inside(self, name: str) -> Path:
        path = self._data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def beside(self, suffix: str, data: bytes) -> None:
        """A small file ``TARGET + suffix`` that is published together with the target.

        Without its target a sidecar describes nothing, so an orphan of that name is replaced.
        """
        path = self.target.with_name(self.target.name + suffix)
        check_overwrite(path, overwrite=True, directory=False)
        with _naming(path):
            here = self._beside[path] = self._data.with_name(DATA + suffix)
            with os.fdopen(make(here), "wb") as file:
                file.write(data)

    def publish(self) -> None:
        """Bring all to the disk and let it appear under its name, at once.

        Files that are still open are closed.  Raises FileError where something fails; then
        nothing has appeared, and what was there before is there again.  A signal that comes
        too late to prevent it is delivered when all is done.
        """
        with _naming(self.target):
            self._files.close()
            for path in (*_within(self._data), *self._beside.values()):
                _sync(path)
                let_through()
            if self._overwrite and os.path.lexists(self.target):
                self._data.chmod(stat.S_IMODE(self.target.lstat().st_mode) & 0o777)
            with uninterrupted():
                let_through()
                self._appear()
                self._abandon()

    def _appear(self) -> None:
        """Rename all into place; where a step fails, those before it are taken back."""
        target, old = self.target, self._staging / REPLACED
        steps: list[tuple[Path, Path]] = []

        def move(here: Path, there: Path) -> None:
            here.replace(there)
            steps.append((here, there))

        replaced = os.path.lexists(target)
        if replaced and not self._overwrite:
            raise FileError(
                f"{target} was made by another program meanwhile; nothing was published"
            )
        old.mkdir()
        try:
            for path in self._beside:
                if os.path.lexists(path):
                    move(path, old / path.name)
            if replaced:
                try:
                    os.link(target, old / target.name)
                    steps.append((target, old / target.name))
                except OSError:  # a directory, or no hard links here
                    move(target, old / target.name)
                move(self._data, target)
            for path, here in self._beside.items():
                move(here, path)
            if not replaced:
                move(self._data, target)
            _sync(target.parent.resolve())
        except BaseException:
            for here, there in reversed(steps):
                with suppress(OSError):
                    there.replace(here)
            raise

    def _abandon(self) -> None:
        """Remove what has no name of its own yet; after publishing only the lock is left."""
        with uninterrupted():
            with suppress(OSError):
                self._files.close()
            if self._lock is not None:
                _give_back(self._staging, self._lock)
                self._lock = None


# -- the staging directory -------------------------------------------------------------------


def _take(staging: Path, target: Path) -> int:
    """The lock of a staging directory that is this run's alone; what a killed run left goes.

    Raises FileError where another run has the lock, or where something else is in the way.
    """
    while True:
        with suppress(FileExistsError):
            staging.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # removed between two steps: all begins again
            _check_ours(staging)
            descriptor = open_lock(staging / LOCK)
            if descriptor is None:
                raise FileError(
                    f"another run is writing {target}; wait for it, or choose another target"
                )
            if descriptor >= 0:
                break
    old = staging / REPLACED / target.name
    if old.exists() and not os.path.lexists(target):
        # A run was killed between taking the old one away and giving the new one its name.
        old.rename(target)
    _empty(staging)
    return descriptor


def _check_ours(staging: Path) -> None:
    """Raise FileError unless a folder is as a run of this user makes it."""
    found, known = staging.lstat(), (LOCK, REPLACED, DATA, ATTEMPTS)
    private = not POSIX or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    if not (
        stat.S_ISDIR(found.st_mode)
        and private
        and all(inside.name.startswith(known) for inside in staging.iterdir())
    ):
        raise FileError(
            f"{staging} is in the way: it was not left by an interrupted run of yours; move it "
            "away, or choose another target"
        )


def _give_back(staging: Path, descriptor: int) -> None:
    """Remove a staging directory and give its lock back, which others look at: so it goes last."""
    with suppress(OSError):
        _empty(staging)
    if not POSIX:
        os.close(descriptor)
    with suppress(OSError):
        (staging / LOCK).unlink()
    if POSIX:
        os.close(descriptor)
    with suppress(OSError):
        staging.rmdir()


def _empty(staging: Path) -> None:
    """Remove all but the lock.

    A folder gets another name first, so that no process that writes on makes anything in it.
    """
    for path in list(staging.iterdir()):
        if path.is_dir():
            shutil.rmtree(path.rename(staging / f"{ATTEMPTS}{secret_bytes(8).hex()}"))
        elif path.name != LOCK:
            path.unlink()


def open_lock(path: Path) -> int | None:
    """The descriptor of a locked file of this name; None where another run has it.

    -1 where the file lost its name meanwhile: its owner was done, and it must be made anew.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
    held = lock(descriptor)
    if held and is_at(descriptor, path):
        return descriptor
    os.close(descriptor)
    return -1 if held else None


def lock(descriptor: int) -> bool:
    """Lock an open file for this run; False where another run has it.

    True also where the system or the file system has no locks: then nothing tells two runs
    apart.  The lock ends with the last descriptor, and so with the process, however it ends.
    """
    try:
        if POSIX:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """True where an open file is still the one that has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


# -- steps -----------------------------------------------------------------------------------


def make(path: Path, mode: int = 0o666) -> int:
    """A new file, opened; FileExistsError where there is something."""
    return os.open(path, NEW, mode)


def replace_private(path: Path, data: bytes) -> None:
    """Give a file of mode 0600 new contents, at once; for who holds a lock on it."""
    part = path.with_name(f"{path.name}.part")
    with _naming(path):
        part.unlink(missing_ok=True)
        with os.fdopen(make(part, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent.resolve())


@contextmanager
def named(doing: str, then: str = "") -> Iterator[None]:
    """Errors of the operating system become a FileError: what failed, why, and what then."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FileError(f"{doing}: {why}{then}") from error


def _naming(target: Path) -> AbstractContextManager[None]:
    return named(f"cannot write {target}", "; nothing was published")


def check_overwrite(target: Path, overwrite: bool, directory: bool) -> None:
    """Refuse a target that cannot or must not be written, before anything is made."""
    with _naming(target):
        if not target.parent.is_dir():
            raise FileError(f"cannot write {target}: the folder {target.parent} is not there")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            return
    why = ""
    if stat.S_ISLNK(mode):
        why = "is a symbolic link; name the file that it stands for"
    elif not (stat.S_ISDIR if directory else stat.S_ISREG)(mode):
        why = f"is no {'directory' if directory else 'file'}, and one is to be written"
    elif not overwrite:
        why = "exists; choose another name, or overwrite=True (--overwrite) replaces it"
    elif directory and _holds_foreign_files(target):
        why = (
            "holds more than data files, and overwriting would remove all of it; choose another "
            "name, or remove it yourself"
        )
    if why:
        raise FileError(f"{target} {why}")


def _holds_foreign_files(directory: Path) -> bool:
    """True where a directory holds anything that is no file of a data set, or a ledger."""
    for path in directory.rglob("*"):
        mode = path.lstat().st_mode
        known = path.name.startswith("_") or path.suffix.lower() in DATA_SUFFIXES
        ours = stat.S_ISREG(mode) and known and not is_ledger_file(path.name)
        if not (ours or stat.S_ISDIR(mode)):
            return True
    return False


def is_ledger_file(name: str) -> bool:
    """True for a ledger, and for the files beside one while it is written."""
    return name.endswith((LEDGER, f"{LEDGER}.lock", f"{LEDGER}.part"))


def _within(path: Path) -> list[Path]:
    """All in a directory, then itself; or a file alone."""
    return [*(path.rglob("*") if path.is_dir() else ()), path]


def _sync(path: Path) -> None:
    """Bring a file to the disk, or the names in a folder."""
    folder = path.is_dir()
    if folder and not POSIX:
        return
    descriptor = os.open(path, (os.O_RDONLY if folder else os.O_RDWR) | NO_FOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -- signals ---------------------------------------------------------------------------------

SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
"""Those that come from outside at any time.  One that Python does not handle ends the process."""

_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_waiting: list[int] = []
_blocks: list[bool] = []
"""For each block that is open, whether it holds signals back."""


@contextmanager
def uninterrupted(*, when_done: bool = False) -> Iterator[None]:
    """Within this block Ctrl-C and its like wait; blocks may be nested, the outermost counts.

    when_done : only from the moment on in which `done` was called in it.
    Only the main thread receives signals, so in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    depth = len(_blocks)
    try:
        _blocks.append(not when_done)
        for number in () if when_done or _handlers else SIGNALS:
            if callable(handler := signal.getsignal(number)):
                _handlers[number] = handler
                signal.signal(number, lambda number, _: _waiting.append(number))
        yield
    finally:
        del _blocks[depth:]
        if not any(_blocks):
            _restore()


def done() -> None:
    """Say, in an `uninterrupted` block, that signals wait until the outermost block is over."""
    if threading.current_thread() is threading.main_thread() and _blocks:
        _blocks[0] = True


def let_through() -> None:
    """Deliver a signal that is waiting, now: usually this raises KeyboardInterrupt."""
    while _waiting and threading.current_thread() is threading.main_thread():
        number = _waiting.pop(0)
        _handlers[number](number, None)


def _restore() -> None:
    """Give the handlers back, that of Ctrl-C last, then deliver what came meanwhile."""
    while _handlers:
        number, handler = _handlers.popitem()
        signal.signal(number, handler)
    with ExitStack() as each:  # also those after one whose handler raises
        for number in reversed(dict.fromkeys(_waiting)):
            each.callback(signal.raise_signal, number)
        _waiting.clear()
