"""A file or directory that appears whole or not at all.

    with Publication(target) as publication:
        write_to(publication.open())
        publication.publish()

Everything is written beside the target, to ``TARGET.part`` with mode 0600, and gets its name in
one step when it is complete and on the disk.  Leaving the block in any other way removes it.
After a kill the target has not appeared, or it is whole (and closed to others, where its mode
was still to come); the ``.part`` that may remain is removed by the next run, which tells it by
its lock from one that another run is writing.

A new target gets its sidecars first, so that it is never seen without them.  One that is
overwritten loses its old sidecars first and gets the new ones last, so that it never
stands beside those of another release; a kill in between leaves what was there before in a
folder ``.TARGET.old-....rrstats``, which goes when the target has been published anew.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from rrstats.errors import ArgumentValueError, FileError
from rrstats.files.aside import Aside, bring_back, sweep_old
from rrstats.files.claims import (
    NO_FOLLOW,
    POSIX,
    Part,
    claim,
    discard,
    holds_foreign_files,
    make,
    naming,
)
from rrstats.files.interrupts import let_through, uninterrupted
from rrstats.randomness.sources import secret_bytes

__all__ = ["Publication"]

BUFFER_BYTES = 1 << 20


class Publication:
    """A target that is being written, and appears when `publish` is called in its block.

    target : the path of the file or, with ``directory=True``, of the directory.
    overwrite : replace what is there, keeping its mode; without it, an existing target is
        refused when the block is entered, and one that somebody made meanwhile at the end.
    private : publish with mode 0600 (0700) instead of the mode of any new file.
    Raises FileError, always before anything has appeared.  `published` says whether it has.
    """

    def __init__(
        self,
        target: Path,
        *,
        overwrite: bool = False,
        directory: bool = False,
        private: bool = False,
    ) -> None:
        self.target = Path(target)
        self.published = False
        self._overwrite = overwrite
        self._directory = directory
        self._private = private
        self._part: Part | None = None
        self._workshop: Path | None = None
        self._beside: dict[Path, Part] = {}
        self._files: list[tuple[_PartFile, BinaryIO]] = []

    def __enter__(self) -> Publication:
        _check_target(self.target, self._overwrite, self._directory)
        try:
            with uninterrupted(), naming(self.target):
                self._part = claim(_part_of(self.target), directory=self._directory)
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._abandon()

    def open(self, name: str | None = None) -> BinaryIO:
        """A binary file to write to: the target itself or, in a directory, one of its files.

        name : the file's path in the directory, with ``/``; its folders are made.
        """
        part = self._writable()
        if self._directory != (name is not None):
            raise ArgumentValueError("name must be given for a directory, and only for one")
        if name is None and self._files:
            raise ArgumentValueError("the file of this publication was opened already")
        with naming(self.target):
            if name is None:
                # A duplicate: whoever closes the file must not give the lock back.
                descriptor = os.dup(part.descriptor)
            else:
                descriptor = make(_inside(part.path, name))
                self._files = [pair for pair in self._files if not pair[0].closed]
        raw = _PartFile(descriptor, self.target)
        file = _Buffered(raw, BUFFER_BYTES)
        self._files.append((raw, file))
        return file

    def workshop(self) -> Path:
        """A folder where other processes may write, in a directory that is being written.

        It goes before the directory is published, and what is still in it goes too, however long
        such a process writes on; `accept` takes a file out of it.
        """
        part = self._writable()
        if not self._directory:
            raise ArgumentValueError("only a publication of a directory has a workshop")
        if self._workshop is None:
            with naming(self.target), uninterrupted():
                folder = part.path / f".attempts-{secret_bytes(8).hex()}"
                folder.mkdir(mode=0o700)
                self._workshop = folder
        return self._workshop

    def accept(self, path: Path, name: str) -> None:
        """Give a file of the workshop its name in the directory, where there is none yet."""
        part = self._writable()
        with naming(self.target):
            there = _inside(part.path, name)
            if os.path.lexists(there):
                raise ArgumentValueError(f"{name!r} was written twice")
            path.rename(there)

    def _close_workshop(self) -> None:
        """Remove the workshop.  Under another name nobody else makes anything in it any more."""
        if self._workshop is None:
            return
        closed = self._workshop.with_name(f"{self._workshop.name}-closed")
        self._workshop.rename(closed)
        self._workshop = None
        shutil.rmtree(closed)

    def beside(self, suffix: str, data: bytes) -> None:
        """A small file ``TARGET + suffix`` that is published together with the target.

        Without its target a sidecar describes nothing, so an orphan of that name is replaced.
        """
        self._writable()
        path = self.target.with_name(self.target.name + suffix)
        _check_target(path, overwrite=True, directory=False)
        with naming(path), uninterrupted():
            part = self._beside[path] = claim(_part_of(path))
            with open(part.descriptor, "wb", closefd=False) as file:
                file.write(data)

    def publish(self) -> None:
        """Bring all to the disk and let it appear under its name, at once.

        Files that are still open are closed.  Raises FileError where something fails; then
        nothing has appeared, and what was there before is there again.  A signal that comes
        too late to prevent it is delivered when all is done.
        """
        part = self._writable()
        with naming(self.target):
            for raw, file in self._files:
                if not raw.closed:
                    file.close()
            self._close_workshop()
            for each in (part, *self._beside.values()):
                _settle(each.path, self._mode(each) & 0o666)
            if not POSIX:
                self._close()
            with uninterrupted():
                let_through()
                self._appear()
                self.published = True
                sweep_old(self.target)

    def _writable(self) -> Part:
        if self._part is None or self.published:
            raise ArgumentValueError("a publication is written inside its block, and only once")
        return self._part

    def _close(self) -> None:
        """Close all that is open, where the system does not rename open files."""
        assert self._part is not None
        for part in (self._part, *self._beside.values()):
            if part.descriptor >= 0:
                os.close(part.descriptor)
        self._part = self._part._replace(descriptor=-1)
        self._beside = {path: p._replace(descriptor=-1) for path, p in self._beside.items()}

    def _abandon(self) -> None:
        """Remove what has no name of its own yet; after publishing only the locks are left."""
        with uninterrupted():
            for raw, _ in self._files:
                if not raw.closed:
                    raw.sink()
            self._files.clear()
            with suppress(OSError):
                self._close_workshop()
            while self._beside:
                discard(self._beside.popitem()[1])
            if self._part is not None:
                discard(self._part)
            self._part = None

    def _mode(self, part: Part) -> int:
        """The mode that a file of this publication will have."""
        if self._private:
            return 0o600
        if self._overwrite and part is self._part:
            with suppress(FileNotFoundError):
                return stat.S_IMODE(self.target.lstat().st_mode) & 0o777
        return 0o666 & ~_umask()

    def _appear(self) -> None:
        """The steps of publishing, each with its way back, taken where a later one fails.

        The module tells the reason of their order.
        """
        assert self._part is not None
        replaced = os.path.lexists(self.target)
        if replaced and not self._overwrite:
            raise _meanwhile(self.target)
        with Aside(self.target) as aside, ExitStack() as back:
            mode = self._mode(self._part)
            for path in self._beside:
                if os.path.lexists(path):
                    aside.move(path, back)
            # Closed to others until it has its name: so a .part of ours is told from any other.
            if replaced:
                aside.keep(self.target, back)
                _replace(self._part, self.target, back)
                _open_up(self.target, mode, self._part.descriptor)
            for path, part in self._beside.items():
                _place(part, path, back)
                _open_up(path, self._mode(part), part.descriptor)
            if not replaced:
                _place(self._part, self.target, back)
                _open_up(self.target, mode, self._part.descriptor)
            _sync(self.target.parent.resolve())
            back.pop_all()


class _PartFile(io.FileIO):
    """An unbuffered file of a publication; a write that fails names the target."""

    def __init__(self, descriptor: int, target: Path) -> None:
        super().__init__(descriptor, "wb")
        self._target = target

    def write(self, data: Any, /) -> int:
        with naming(self._target):
            return super().write(data)

    def sink(self) -> None:
        """Let the rest vanish: whoever still holds this file may close it, or write on."""
        with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), self.fileno(), inheritable=False)


class _Buffered(io.BufferedWriter):
    """A file of a publication; one that was abandoned may go without being closed."""

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


# -- steps ---------------------------------------------------------------------------------


def _part_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _meanwhile(path: Path) -> FileError:
    return FileError(f"{path} was made by somebody meanwhile; nothing was published")


def _check_target(target: Path, overwrite: bool, directory: bool) -> None:
    """Refuse a target that cannot or must not be written, before anything is made."""
    if target.name in ("", ".."):
        raise FileError(f"cannot write {target}: the path ends in no name")
    with naming(target):
        if not target.parent.is_dir():
            raise FileError(f"cannot write {target}: the folder {target.parent} is not there")
        try:
            mode = target.lstat().st_mode
        except FileNotFoundError:
            return
        if stat.S_ISLNK(mode):
            raise FileError(f"{target} is a symbolic link; name the file that it stands for")
        if not (stat.S_ISDIR(mode) if directory else stat.S_ISREG(mode)):
            found = next(
                (kind for kind, has in _KINDS.items() if has(mode)), "neither file nor directory"
            )
            wanted = "a directory" if directory else "a file"
            raise FileError(f"{target} is {found}, and {wanted} is to be written; name another")
        if not overwrite:
            raise FileError(
                f"{target} exists; choose another name, or overwrite=True (--overwrite) replaces it"
            )
        if directory and holds_foreign_files(target):
            raise FileError(
                f"{target} holds more than data files, and overwriting would remove all of it; "
                "choose another name, or remove it yourself"
            )


_KINDS = {"a directory": stat.S_ISDIR, "a file": stat.S_ISREG}


def _inside(part: Path, name: str) -> Path:
    """The path of one file in a directory that is being written, with its folders made."""
    relative = PurePosixPath(name)
    if not relative.name or relative.is_absolute() or ".." in relative.parts:
        raise ArgumentValueError(f"name must be a path inside the directory, got {name!r}")
    folder = part
    for each in relative.parts[:-1]:
        folder = folder / each
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    return folder / relative.name


def _umask() -> int:
    """The process's mask for new files, without changing it where the system tells it."""
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("\nUmask:", 1)[1].split()[0], 8)
    # For a moment files of other threads are too private, never too open.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _settle(part: Path, mode: int) -> None:
    """Bring a file, or a directory and all in it, to the disk.

    What is inside gets its mode here; the part itself stays closed to others.
    """
    for folder, _, files in os.walk(part, topdown=False):
        for name in files:
            path = Path(folder, name)
            _sync(path)
            _open_up(path, mode)
            let_through()
        if Path(folder) != part:
            _open_up(Path(folder), mode)
        _sync(Path(folder))
    if part.is_file():
        _sync(part)


def _open_up(path: Path, mode: int, descriptor: int = -1) -> None:
    """Give a file its mode; a folder may also be entered by whoever may read it."""
    here = path if descriptor < 0 else descriptor
    found = os.stat(here).st_mode  # noqa: PTH116  # a Path has no descriptor
    if stat.S_ISDIR(found):
        mode |= (mode & 0o444) >> 2 | (found & stat.S_ISGID)
    os.chmod(here, mode)  # noqa: PTH101  # a Path has no descriptor


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


def _place(part: Part, path: Path, back: ExitStack) -> None:
    """Give a part its name where there is nothing; FileError where somebody made something."""
    if part.path.is_dir():
        # A rename takes the place of an empty directory, and of nothing else.
        _replace(part, path, back)
        return
    try:
        try:
            os.link(part.path, path)
        except FileExistsError:
            raise
        except OSError:
            # No hard links here: an empty file takes the name, then the part its place.
            os.close(make(path))
            back.callback(_take_back, path)
            part.path.replace(path)
        else:
            back.callback(_take_back, path)
            part.path.unlink()
    except FileExistsError:
        raise _meanwhile(path) from None


def _replace(part: Part, path: Path, back: ExitStack) -> None:
    """Give a part its name, which the file of that name loses."""
    part.path.replace(path)
    back.callback(bring_back, path, part.path)


def _take_back(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
