"""Atomic publication: a file or directory appears complete or not at all.

    with Publication(target) as publication:
        write_to(publication.open())
        publication.publish()

Everything is written in a staging directory beside the target, ``.TARGET.part``, which only the
user can open (mode 0700) and which is locked.  When all is complete and on the disk, it is renamed
to the target in one step.  If the block ends in any other way, it is removed.  After a kill the
target is complete or absent, and the staging directory remains, unlocked.  The next run takes it
over if it gets the lock.  A second run to the same target at the same time fails at once.

The sidecar, which records how the target was made, appears before it, so that the target is never
seen without it.  An overwritten target whose sidecar changes is moved away first, so that it is
never seen with that of another release; so is an old directory.  If a kill happens then, the next
run to this target puts both back before anything else, by `repair`.

Signals that Python handles wait in `uninterrupted` blocks: an interrupt between the entry in the
ledger and the publication would leave one without the other.
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
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from rrstats.errors import FileError
from rrstats.randomness.sources import secret_bytes

with suppress(ImportError):  # not a POSIX system
    import fcntl

POSIX = os.name == "posix"
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_BINARY", 0)
BUFFER_BYTES = 1 << 20

LEDGER = ".rrstats-ledger.json"
"""Ending of a ledger's name; a directory of data may contain a ledger."""

SIDECAR = ".rrstats.json"
"""Ending of the document beside a target whose format has no place for it."""

DATA_SUFFIXES = frozenset(
    {".parquet", ".parq", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".gz", ".json", ".crc"}
)
"""Endings of files in a directory of data.  A directory with other files is never removed."""

LOCK = "lock"
REPLACED = "replaced"
DATA = "data"
ATTEMPTS = "attempts-"
"""Names in a staging directory, which also holds the sidecars."""

PUBLISHED = "was published before this error"
"""Ending of the note on an error that came too late to prevent the publication."""

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of a disk that is full or cannot be written."""


class Publication:
    """A target that is being written, and appears when `publish` is called in its block.

    target : the path of the file or, with ``directory=True``, of the directory.
    overwrite : replace an existing target and keep its mode.  Without it, an existing target is
        refused at the start of the block, and one that was made in the meantime at the end.
    Raises FileError, always before anything is published.
    """

    def __init__(self, target: Path, *, overwrite: bool = False, directory: bool = False) -> None:
        self.target = Path(target)
        self._overwrite = overwrite
        self._directory = directory
        self._staging = _staging_of(self.target)
        self._data = self._staging / DATA
        self._lock: int | None = None
        self._sidecar: Path | None = None
        self._files = ExitStack()
        self._synced = False
        self._is_stuck = False
        self.published = False

    def __enter__(self) -> Publication:
        check_overwrite(self.target, self._overwrite, self._directory)
        try:
            with uninterrupted(), _naming(self.target):
                self._lock = _take(self._staging, self.target)
                # Check again: `_take` may have put back the target that a killed run moved away.
                check_overwrite(self.target, self._overwrite, self._directory)
                if self._directory:
                    self._data.mkdir()
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self.published and error is not None and not is_published(error):
            error.add_note(f"{self.target} {PUBLISHED}")
        with suppress(Exception):  # an error of tidying up hides no other, and no publication
            self._abandon()
        if isinstance(error, OSError) and error.errno in FULL:
            with _naming(self.target):
                raise error

    def open(self, name: str | None = None) -> BinaryIO:
        """A binary file to write to: the target itself or, in a directory, one of its files.

        name : the file's path in the directory, with ``/``; its folders are created.
        """
        with _naming(self.target):
            path = self._data if name is None else self._inside(name)
            return self._files.enter_context(os.fdopen(make(path), "wb", BUFFER_BYTES))

    def attempts(self) -> Path:
        """A folder where other processes may write; `accept` moves a file out of it."""
        # A new name each time, because a lost process may still write to the folder of an old run.
        folder = self._staging / f"{ATTEMPTS}{secret_bytes(8).hex()}"
        with _naming(self.target):
            folder.mkdir()
        return folder

    def accept(self, path: Path, name: str) -> None:
        """Move a file that another process wrote to its name in the directory, once."""
        with _naming(self.target):
            path.rename(self._inside(name))

    def _inside(self, name: str) -> Path:
        path = self._data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def add_sidecar(self, data: bytes) -> None:
        """The target's sidecar, a small file that is published together with it.

        A sidecar without its target has no meaning, so an existing one is replaced.
        """
        path = _sidecar_of(self.target)
        check_overwrite(path, overwrite=True, directory=False)
        with _naming(path):
            self._sidecar = _sidecar_of(self._data)
            with os.fdopen(make(self._sidecar), "wb") as file:
                file.write(data)

    def sync(self) -> None:
        """Close all files and write them to the disk; no file is written after that."""
        with _naming(self.target):
            self._files.close()
            sidecars = () if self._sidecar is None else (self._sidecar,)
            for path in (*_within(self._data), *sidecars):
                _sync(path)
                let_through()
        self._synced = True

    def publish(self) -> None:
        """Write everything to the disk and rename it to the target in one step.

        Files that are still open are closed.  Raises FileError if a step fails; then nothing is
        published, and the earlier target is restored, or the error says that it could not be.
        Once the target is there, nothing is raised but a signal that arrived too late to prevent
        the publication.
        """
        if not self._synced:
            self.sync()
        with _naming(self.target):
            if self._overwrite and os.path.lexists(self.target):
                self._data.chmod(stat.S_IMODE(self.target.lstat().st_mode) & 0o777)
            with uninterrupted():
                let_through()
                self._appear()
                self.published = True
                with suppress(Exception):  # only the lock and the old target remain to remove
                    self._abandon()

    def _appear(self) -> None:
        """Rename all into place; if a step fails, the steps before it are undone.

        Whenever there is a target, its own sidecar is beside it; `_put_back` relies on that.
        """
        target = self.target
        sidecar = _sidecar_of(target)
        old = self._staging / REPLACED
        steps: list[tuple[Path, Path]] = []

        def move(path: Path, new_path: Path) -> None:
            path.replace(new_path)
            steps.append((path, new_path))

        replaced = os.path.lexists(target)
        if replaced and not self._overwrite:
            raise FileError(f"another program made {target} in the meantime; nothing was published")
        new_sidecar = self._sidecar
        if new_sidecar is not None and _are_equal(new_sidecar, sidecar):
            new_sidecar = None
        old.mkdir()
        try:
            if replaced and new_sidecar is None:
                try:
                    os.link(target, old / target.name)
                    steps.append((target, old / target.name))
                except OSError:  # a directory, or no hard links here
                    move(target, old / target.name)
            elif replaced:
                move(target, old / target.name)
            if new_sidecar is not None:
                if os.path.lexists(sidecar):
                    move(sidecar, old / sidecar.name)
                else:
                    (old / sidecar.name).touch()  # there was none, see `_put_back`
                move(new_sidecar, sidecar)
            move(self._data, target)
            _sync(target.parent.resolve())
        except BaseException as error:
            try:
                for path, new_path in reversed(steps):
                    new_path.replace(path)
            except Exception:
                raise self._stuck(error, data_moved=(self._data, target) in steps) from error
            raise

    def _stuck(self, error: BaseException, *, data_moved: bool) -> FileError:
        """The error of a publication that failed and could not be undone either."""
        self._is_stuck = True
        self.published = data_moved and not os.path.lexists(self._data)
        doing = f"the last steps of writing {self.target} failed ({type(error).__name__})"
        if self.published:
            stuck = FileError(f"{doing}, and it could not be withdrawn")
            stuck.add_note(f"{self.target} {PUBLISHED}")
            return stuck
        return FileError(
            f"{doing}; nothing was published, but not every file could be put back from "
            f"{self._staging}; the next run to this target does it"
        )

    def _abandon(self) -> None:
        """Remove what is not published; after publishing, only the lock remains to remove."""
        with uninterrupted():
            with suppress(Exception):
                self._files.close()
            descriptor = self._lock
            self._lock = None
            if descriptor is not None and self._is_stuck:
                close(descriptor)
            elif descriptor is not None:
                _give_back(self._staging, descriptor)


# -- the staging directory -------------------------------------------------------------------


def repair(target: Path) -> None:
    """Put back what a killed run moved away; call it before anything may refuse a new run.

    Raises FileError if another run is writing the target.
    """
    staging = _staging_of(target)
    if os.path.lexists(staging):
        with uninterrupted(), _naming(target):
            _give_back(staging, _take(staging, target))


def _staging_of(target: Path) -> Path:
    return target.parent / f".{target.name}.part"


def _sidecar_of(target: Path) -> Path:
    return target.with_name(target.name + SIDECAR)


def _are_equal(staged: Path, sidecar: Path) -> bool:
    """True if a sidecar is there and has the contents of a staged one."""
    return sidecar.is_file() and staged.read_bytes() == sidecar.read_bytes()


def _take(staging: Path, target: Path) -> int:
    """Lock a staging directory for this run alone, and empty it of a killed run's files.

    Raises FileError if another run holds the lock, or if the name is taken by something else.
    """
    while True:
        with suppress(FileExistsError):
            staging.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # removed between two steps: start again
            _check_ours(staging)
            descriptor = open_lock(staging / LOCK)
            if descriptor is None:
                raise FileError(
                    f"another run is writing {target}; wait for it, or choose another target"
                )
            if descriptor >= 0:
                break
    try:
        _put_back(staging / REPLACED, target)
        _empty(staging)
    except BaseException:
        close(descriptor)
        raise
    return descriptor


def _put_back(replaced: Path, target: Path) -> None:
    """Put back what a run moved away, if it ended before its new target was there.

    A kill may end this, too: then the next run finds what is left to do.
    """
    if os.path.lexists(target):
        return
    sidecar = _sidecar_of(target)
    old_sidecar = replaced / sidecar.name
    if old_sidecar.exists():
        if old_sidecar.stat().st_size:
            old_sidecar.replace(sidecar)
        else:  # there was none
            sidecar.unlink(missing_ok=True)
    old = replaced / target.name
    if old.exists():
        old.rename(target)


def _check_ours(staging: Path) -> None:
    """Raise FileError unless the folder looks like one that a run of this user made."""
    state = staging.lstat()
    is_private = not POSIX or (state.st_uid == os.geteuid() and not state.st_mode & 0o077)
    our_names = (LOCK, REPLACED, DATA, ATTEMPTS)
    if not (
        stat.S_ISDIR(state.st_mode)
        and is_private
        and all(inside.name.startswith(our_names) for inside in staging.iterdir())
    ):
        raise FileError(
            f"{staging} exists and does not come from an interrupted run of yours; move it away, "
            "or choose another target"
        )


def _give_back(staging: Path, descriptor: int) -> None:
    """Remove a staging directory; the lock goes last, because other runs check it."""
    with suppress(Exception):
        _empty(staging)
    if not POSIX:
        close(descriptor)
    with suppress(Exception):
        (staging / LOCK).unlink()
    if POSIX:
        close(descriptor)
    with suppress(Exception):
        staging.rmdir()


def _empty(staging: Path) -> None:
    """Remove everything except the lock.

    Folders are renamed first, so that a process that is still running cannot write into them.
    """
    for path in list(staging.iterdir()):
        if path.is_dir():
            shutil.rmtree(path.rename(staging / f"{ATTEMPTS}{secret_bytes(8).hex()}"))
        elif path.name != LOCK:
            path.unlink()


def open_lock(path: Path) -> int | None:
    """The descriptor of a locked file of this name; None if another run holds the lock.

    -1 if the file was removed in the meantime, because its owner finished: then try again.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600)
    try:
        locked = lock(descriptor)
        if locked and is_at(descriptor, path):
            return descriptor
    except BaseException:
        close(descriptor)
        raise
    close(descriptor)
    return -1 if locked else None


def close(descriptor: int) -> None:
    """Close a lock; its file holds nothing that an error of closing could lose."""
    with suppress(OSError):
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file for this run; False if another run holds the lock.

    Also True where the system or the file system has no locks: then two runs are not kept apart.
    The lock ends when the last descriptor closes, so at the latest with the process.
    """
    try:
        if POSIX:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """True if an open file is still the one with this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


# -- steps -----------------------------------------------------------------------------------


def make(path: Path, mode: int = 0o666) -> int:
    """Create and open a file; raise FileExistsError if the name is taken."""
    return os.open(path, NEW, mode)


def replace_private(path: Path, data: bytes) -> None:
    """Replace the contents of a file of mode 0600 atomically; the caller must hold its lock."""
    part = path.with_name(f"{path.name}.part")
    with _naming(path):
        part.unlink(missing_ok=True)
        try:
            with os.fdopen(make(part, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            with suppress(Exception):
                part.unlink()
            raise
        _sync(path.parent.resolve())


@contextmanager
def named(doing: str, then: str = "") -> Iterator[None]:
    """Turn errors of the operating system into a FileError: what failed, why, what follows."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        named_error = FileError(f"{doing}: {why}{then}")
        for note in getattr(error, "__notes__", ()):
            named_error.add_note(note)
        raise named_error from error


def is_published(error: BaseException) -> bool:
    """True for an error that came after the publication, so that its note says so."""
    return any(note.endswith(PUBLISHED) for note in getattr(error, "__notes__", ()))


def _naming(target: Path) -> AbstractContextManager[None]:
    return named(f"cannot write {target}", "; nothing was published")


def check_overwrite(target: Path, overwrite: bool, directory: bool) -> None:
    """Refuse a target that cannot or must not be written, before anything is created."""
    with _naming(target):
        if not target.parent.is_dir():
            raise FileError(f"cannot write {target}: the folder {target.parent} is not there")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            return
    why = ""
    if stat.S_ISLNK(mode):
        why = "is a symbolic link; give the file that it points to"
    elif not (stat.S_ISDIR if directory else stat.S_ISREG)(mode):
        why = f"exists and is not a {'directory' if directory else 'file'}; choose another name"
    elif not overwrite:
        why = "exists; choose another name, or replace it with overwrite=True (--overwrite)"
    elif directory and _holds_foreign_files(target):
        why = (
            "holds more than data files, and overwriting would remove everything; choose another "
            "name, or remove the directory yourself"
        )
    if why:
        raise FileError(f"{target} {why}")


def _holds_foreign_files(directory: Path) -> bool:
    """True if a directory holds a ledger or anything else that is not a data file."""
    for path in directory.rglob("*"):
        mode = path.lstat().st_mode
        is_data_name = path.name.startswith("_") or path.suffix.lower() in DATA_SUFFIXES
        ours = stat.S_ISREG(mode) and is_data_name and not is_ledger_file(path.name)
        if not (ours or stat.S_ISDIR(mode)):
            return True
    return False


def is_ledger_file(name: str) -> bool:
    """True for a ledger, and for the temporary files beside a ledger."""
    return name.endswith((LEDGER, f"{LEDGER}.lock", f"{LEDGER}.part"))


def _within(path: Path) -> list[Path]:
    """Everything in a directory, then the directory itself; or a single file."""
    return [*(path.rglob("*") if path.is_dir() else ()), path]


def _sync(path: Path) -> None:
    """Write a file to the disk, or the names in a folder."""
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
"""Signals from outside.  A signal that Python does not handle ends the process."""

_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_waiting: list[int] = []
_blocks: list[bool] = []
"""For each open block, True if it delays signals."""


@contextmanager
def uninterrupted(*, when_done: bool = False) -> Iterator[None]:
    """Delay Ctrl-C and similar signals within this block; of nested blocks the outermost counts.

    when_done : delay them only after `done` was called in the block.
    Only the main thread receives signals, so in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    depth = len(_blocks)
    try:
        _blocks.append(not when_done)
        for number in () if when_done or _handlers else SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                _handlers[number] = handler
                signal.signal(number, lambda number, _: _waiting.append(number))
        yield
    finally:
        del _blocks[depth:]
        if not any(_blocks):
            _restore()


def done() -> None:
    """From now on delay signals until the outermost `uninterrupted` block ends."""
    if threading.current_thread() is threading.main_thread() and _blocks:
        _blocks[0] = True


def let_through() -> None:
    """Deliver delayed signals now; usually this raises KeyboardInterrupt."""
    while _waiting and threading.current_thread() is threading.main_thread():
        number = _waiting.pop(0)
        _handlers[number](number, None)


def _restore() -> None:
    """Restore the handlers, that of Ctrl-C last, then deliver the delayed signals."""
    while _handlers:
        number, handler = _handlers.popitem()
        signal.signal(number, handler)
    with ExitStack() as each:  # also those after one whose handler raises
        for number in reversed(dict.fromkeys(_waiting)):
            each.callback(signal.raise_signal, number)
        _waiting.clear()
