"""Make the operations of a release fail one by one: what SQLite does to its own files.

    with Failing(number, error) as operations:
        release()
    operations.count, operations.failed

Every open, read, write, fsync, close, rename, link and removal that Python code asks for while the
block runs is an operation, and so is every large allocation at the places in `ALLOCATIONS`.
Operation ``number`` raises an error; with ``forever`` all later ones raise it, too.
"""

import builtins
import errno
import hashlib
import io
import json
import os
import threading
from unittest import mock

CALLS = ("open", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "chmod")
CALLS += ("scandir", "urandom")

ALLOCATIONS = ((json, "dumps"), (json, "loads"), (hashlib, "sha256"), (hashlib, "file_digest"))

ERRORS = {
    "full disk": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "broken disk": lambda: OSError(errno.EIO, "Input/output error"),
    "no memory": MemoryError,
}


class Failing:
    """A block in which one operation fails; see the module."""

    def __init__(self, number=0, error=MemoryError, forever=False):
        self.number, self.error, self.forever = number, error, forever
        self.count = 0
        self.failed = False
        self._lock = threading.Lock()
        self._patches = []

    def operation(self):
        """Count an operation, and raise the error if it is its turn."""
        with self._lock:
            self.count += 1
            if self.count != self.number and not (self.failed and self.forever):
                return
            self.failed = True
        raise self.error()

    def __enter__(self):
        for owner, name in [*((os, name) for name in CALLS), *ALLOCATIONS]:
            self._patch(owner, name, self._counted(getattr(owner, name)))
        self._patch(os, "close", self._closing(os.close))
        for owner in (io, builtins):
            self._patch(owner, "open", self._opened)
        return self

    def __exit__(self, *_):
        for patch in self._patches:
            patch.stop()

    def _patch(self, owner, name, function):
        patch = mock.patch.object(owner, name, function)
        patch.start()
        self._patches.append(patch)

    def _counted(self, real):
        def counted(*args, **options):
            self.operation()
            return real(*args, **options)

        return counted

    def _closing(self, real):
        def closing(descriptor):
            real(descriptor)  # as on Linux, a descriptor is closed even if closing it fails
            self.operation()

        return closing

    def _opened(self, file, mode="r", buffering=-1, *args, **options):
        if "b" not in mode:
            return REAL_OPEN(file, mode, buffering, *args, **options)
        self.operation()
        raw = _Raw(self, REAL_OPEN(file, mode, 0))
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        return (io.BufferedReader if "r" in mode else io.BufferedWriter)(raw, size)


REAL_OPEN = io.open


class _Raw(io.RawIOBase):
    """An unbuffered file whose reads, writes and closing are operations."""

    def __init__(self, failing, file):
        self._failing, self._file = failing, file

    def readable(self):
        return self._file.readable()

    def writable(self):
        return self._file.writable()

    def seekable(self):
        return True

    def fileno(self):
        return self._file.fileno()

    def seek(self, *args):
        return self._file.seek(*args)

    def tell(self):
        return self._file.tell()

    def truncate(self, *args):
        return self._file.truncate(*args)

    def readinto(self, buffer):
        self._failing.operation()
        return self._file.readinto(buffer)

    def write(self, data):
        self._failing.operation()
        return self._file.write(data)

    def close(self):
        if self.closed:
            return
        super().close()
        self._file.close()
        self._failing.operation()
