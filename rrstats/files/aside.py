"""The folder ``.TARGET.old-....rrstats`` in which what is replaced waits until all is done.

Its name begins with a dot, so that in a folder of data no reader takes what is in it for data.
A run that is killed leaves it behind, without its lock; the next one that publishes the same
target removes it.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from rrstats.files.claims import POSIX, holds_foreign_files, is_private, lock, remove_unlocked

__all__ = ["Aside", "bring_back", "sweep_old"]

SUFFIX = ".rrstats"  # so that nobody's own backup is taken for one of ours


class Aside:
    """A folder for what is replaced: made when it is needed, and removed when all is done."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._folder: Path | None = None
        self._descriptor = -1

    def __enter__(self) -> Aside:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._folder is None:
            return
        if kind is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            # Empty, unless something could not be brought back: then it stays.
            with suppress(OSError):
                self._folder.rmdir()
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)

    def _place_for(self, path: Path) -> Path:
        if self._folder is None:
            prefix = f".{self._target.name}.old-"
            self._folder = Path(tempfile.mkdtemp(SUFFIX, prefix, self._target.parent))
            if POSIX:  # so that no other run takes it for a leftover
                self._descriptor = os.open(self._folder, os.O_RDONLY)
                lock(self._descriptor, wait=False)
        return self._folder / path.name

    def move(self, path: Path, back: ExitStack) -> None:
        """Take a file or directory away; ``back`` returns it."""
        kept = self._place_for(path)
        path.rename(kept)
        back.callback(bring_back, kept, path)

    def keep(self, path: Path, back: ExitStack) -> None:
        """Keep a file that is about to be replaced; a directory has to be moved."""
        if path.is_dir():
            self.move(path, back)
            return
        kept = self._place_for(path)
        try:
            os.link(path, kept)
        except OSError:  # no hard links here
            self.move(path, back)
        else:
            back.callback(bring_back, kept, path)


def bring_back(here: Path, there: Path) -> None:
    """Return a file to its name, as well as it can be done: other steps back follow."""
    with suppress(OSError):
        here.replace(there)
        # Two names of one file: then a rename changes nothing, and both are still there.
        here.unlink(missing_ok=True)


def sweep_old(target: Path) -> None:
    """Remove the folders that killed runs left beside a target that stands again.

    Only those that look like ours: private, and in them nothing but the target and its sidecars.
    """
    ours = re.compile(re.escape(f".{target.name}.old-") + r"[a-z0-9_]+" + re.escape(SUFFIX))
    with suppress(OSError):
        for folder in list(target.parent.iterdir()):
            with suppress(OSError):
                if ours.fullmatch(folder.name) and _is_leftover(folder, target.name):
                    remove_unlocked(folder)


def _is_leftover(folder: Path, name: str) -> bool:
    """Whether a folder is ours and holds a target, its sidecars, and nothing else."""
    if not is_private(folder) or not folder.is_dir():
        return False
    for inside in folder.iterdir():
        if inside.is_symlink() or not inside.name.startswith(name):
            return False
        if inside.is_dir() and (inside.name != name or holds_foreign_files(inside)):
            return False
    return True
