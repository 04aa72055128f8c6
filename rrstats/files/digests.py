"""The fingerprint of a source: of a file, or of a directory's names and contents."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rrstats.errors import FileError
from rrstats.files.claims import is_ledger_file

__all__ = ["digest_of", "files_in", "is_data", "reading"]


def digest_of(path: Path, stop: threading.Event | None = None) -> str:
    """A fingerprint of a file, or of the names and contents of a directory's data files.

    Returns "sha256:...".  Files that readers of data sets pass over, those whose name or folder
    begins with a dot or an underscore, do not count, nor do ledgers.  Raises FileError where one
    cannot be read, and soon after ``stop`` is set.
    """
    path = Path(path)
    with reading(path):
        if not path.is_dir():
            return f"sha256:{_sha256(path, stop)}"
        whole = hashlib.sha256()
        found = {file.relative_to(path).as_posix(): file for file in files_in(path)}
        for name, file in sorted(found.items()):
            if not is_ledger_file(file.name):
                # A name holds no zero byte, so that no two directories give the same text.
                whole.update(os.fsencode(name) + b"\0" + _sha256(file, stop).encode() + b"\n")
        return f"sha256:{whole.hexdigest()}"


@contextmanager
def reading(source: Path) -> Iterator[None]:
    """Errors of the operating system become a FileError that names the source."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FileError(f"{source} cannot be read: {why}") from error


def _sha256(path: Path, stop: threading.Event | None) -> str:
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(1 << 20))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            if stop is not None and stop.is_set():
                raise InterruptedError("the release ended before the source was read")
            digest.update(buffer[:count])
    return digest.hexdigest()


def files_in(directory: Path) -> Iterator[Path]:
    """All files of a directory that readers of data sets do not pass over."""
    for folder, folders, files in os.walk(directory, onerror=_give_up):
        folders[:] = [name for name in folders if is_data(Path(name))]
        yield from (Path(folder, name) for name in files if is_data(Path(name)))


def is_data(inside: Path) -> bool:
    """Whether readers of data sets look at a path inside a directory."""
    return not any(part[0] in "._" for part in inside.parts)


def _give_up(error: OSError) -> None:
    raise error
