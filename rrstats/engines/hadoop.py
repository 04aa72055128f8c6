"""A directory on any file system that Hadoop knows, which appears whole or not at all.

    with Staging(spark, "hdfs://cluster/out") as staging:
        reports.write.mode("append").parquet(staging.data)
        staging.close()
        staging.write("_rrstats.json", document)
        staging.publish()

What is written lies in ``.TARGET.<random>.part/data`` beside the target, closed to others, until
one rename gives it its name; leaving the block in any other way removes it.  A task that Spark
has given up may write on: so what counts is moved, file by file, into a folder that no task
knows, and what such a task makes later is removed when the block is left.
A rename is one step on HDFS, on disks and on Azure's.  On S3 and other stores of objects it is a
copy of each file, in no certain order: read a target there when the call has returned.
After a kill a ``.part`` may remain, and so may one that a task makes after the block (open to
others, as far as the file system's mask lets).  Remove it: it may hold a second draw.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from rrstats.errors import ArgumentTypeError, FileError, RRStatsError
from rrstats.randomness.sources import secret_bytes

REMOVALS, PAUSE_SECONDS = 10, 0.1

MADE = re.compile(r"part-(\d+)(\D.*)", re.DOTALL)


def location(path: object, argument: str) -> str:
    """A path as Spark takes it: text is Spark's own, a `Path` is of this machine."""
    if isinstance(path, Path):
        return f"file://{path.absolute().as_posix()}"
    if isinstance(path, str) and path:
        return path
    if isinstance(path, os.PathLike):
        return location(Path(path), argument)
    raise ArgumentTypeError(
        f"{argument} must be a path, found "
        + ("an empty one" if path == "" else type(path).__name__)
    )


Result = TypeVar("Result")


def retold(text: str, work: Callable[[], Result]) -> Result:
    """The result of the work; an error of Spark or Java as FileError, by its kind alone.

    Their messages may quote cells, and so may the errors that they carry along.
    """
    try:
        return work()
    except RRStatsError:
        raise
    except Exception as error:
        kind, step = _kind(error), _next_step(error)
    # Raised out here, so that it does not carry the other one along.
    raise FileError(
        f"{text}: {kind}, whose message may quote an answer and is not told (Spark's own log has "
        f"it){step}; nothing was published"
    )


def _kind(error: Any) -> str:
    kind = type(error).__name__
    with suppress(Exception):
        kind = str(error.java_exception.getClass().getSimpleName())
    with suppress(Exception):  # an identifier of Spark's own, such as PATH_NOT_FOUND
        kind += f" ({error.getCondition()})" if error.getCondition() else ""
    return kind


def _next_step(error: Any) -> str:
    """Help against the commonest causes, told by words that no cell can bring in."""
    with suppress(Exception):
        said = str(error)
        for package in ("rrstats", "pyarrow", "numpy", "pandas", "cryptography"):
            if f"ModuleNotFoundError: No module named '{package}'" in said:
                return (
                    f"; an executor cannot import {package}: install it there, and set "
                    "PYSPARK_PYTHON to a Python that has it before the session starts"
                )
    return ""


def full(spark: Any, place: str) -> str:
    """A path with its file system and all its folders."""
    return str(_opened(spark, place)[0])


def read_bytes(spark: Any, folder: str, name: str) -> bytes | None:
    """A small file in a directory; None where there is no such file."""
    path, system = _opened(spark, folder)
    file = spark._jvm.org.apache.hadoop.fs.Path(path, name)
    if not system.exists(file):
        return None
    stream = system.open(file)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def _opened(spark: Any, place: str) -> tuple[Any, Any]:
    """A path in full, and its file system."""
    path = spark._jvm.org.apache.hadoop.fs.Path(place)
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    return system.makeQualified(path), system


class Staging:
    """A directory that is being written, and appears when `publish` is called in its block.

    target : where it is to appear, as `location` gives it.  overwrite : replace what is there.
    data : where Spark writes its files, and from `close` on where they are.
    Raises FileError, before anything has appeared.
    """

    def __init__(self, spark: Any, target: str, *, overwrite: bool = False) -> None:
        self._jvm, self._overwrite, self._name = spark._jvm, overwrite, target
        self._target, self._system = self._retold(lambda: _opened(spark, target))
        parent, name = self._target.getParent(), self._target.getName()
        if parent is None or not name:
            raise FileError(f"cannot write {target}: the path ends in no name")
        self.target = str(self._target)
        mark = secret_bytes(8).hex()
        self._part = self._path(parent, f".{name}.{mark}.part")
        self._old = self._path(parent, f".{name}.{mark}.old")
        self._data = self._path(self._part, "data")
        self._closed = self._path(self._part, secret_bytes(8).hex())
        self.data = str(self._data)

    def _retold(self, work: Callable[[], Result]) -> Result:
        return retold(f"cannot write {self._name}", work)

    def _path(self, folder: Any, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(folder, name)

    def __enter__(self) -> Staging:
        self._retold(self._make)
        return self

    def _make(self) -> None:
        self._check()
        permission = self._jvm.org.apache.hadoop.fs.permission.FsPermission
        # While tasks are tried again, two draws of the same rows lie here.
        if not self._system.mkdirs(self._part, permission("700")):
            raise FileError(f"cannot write {self._name}: its folder cannot be written to")

    def __exit__(self, kind: object, *_: object) -> None:
        # A task that was given up may still be making its file, and the folder with it.
        for _again in range(REMOVALS):
            with suppress(Exception):
                self._system.delete(self._part, True)
            time.sleep(PAUSE_SECONDS)
            with suppress(Exception):
                if kind is None and not self._system.exists(self._part):
                    break

    def close(self, places: Mapping[int, int] | None = None) -> None:
        """Take the parts that the job wrote, and nothing else, to where no task writes.

        places : for each task the number that its part is to have; others' are dropped.
        """
        self._retold(lambda: self._close(places))

    def _close(self, places: Mapping[int, int] | None) -> None:
        if not self._system.mkdirs(self._closed):
            raise FileError(f"cannot write {self._name}: its folder cannot be written to")
        for entry in self._system.listStatus(self._data):
            name = _kept(entry.getPath().getName(), places)
            if name is None or not entry.isFile():
                continue
            if not self._system.rename(entry.getPath(), self._path(self._closed, name)):
                raise FileError(f"cannot write {self._name}: renaming failed")
        self._data, self.data = self._closed, str(self._closed)

    def write(self, name: str, data: bytes) -> None:
        """A small file in the directory."""

        def work() -> None:
            stream = self._system.create(self._path(self._data, name), False)
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()

        self._retold(work)

    def publish(self) -> None:
        """Give the directory, which is closed, its name."""
        self._retold(self._publish)

    def _publish(self) -> None:
        replaced = self._check()
        if replaced:
            self._rename(self._target, self._old)
        try:
            self._rename(self._closed, self._target)
        except BaseException:
            if replaced:
                self._system.rename(self._old, self._target)
            raise
        if replaced:
            self._system.delete(self._old, True)

    def _rename(self, one: Any, other: Any) -> None:
        if not self._system.rename(one, other):
            raise FileError(f"cannot write {self._name}: renaming failed; nothing was published")
        # Where somebody made a directory of that name meanwhile, Hadoop moves into it.
        inside = self._path(other, one.getName())
        if self._system.exists(inside):
            self._system.delete(inside, True)
            raise FileError(f"{self._name} was made by somebody meanwhile; nothing was published")

    def _check(self) -> bool:
        """True where there is something to be replaced; FileError where nothing may be."""
        if not self._system.exists(self._target.getParent()):
            raise FileError(
                f"cannot write {self._name}: the folder {self._target.getParent()} is not there"
            )
        if not self._system.exists(self._target):
            return False
        if not self._overwrite:
            raise FileError(
                f"{self._name} exists; choose another name, or overwrite=True replaces it"
            )
        if not self._system.getFileStatus(self._target).isDirectory():
            raise FileError(
                f"{self._name} is a file, and a directory is to be written; name another"
            )
        names = [entry.getPath().getName() for entry in self._system.listStatus(self._target)]
        if not all(name.startswith(("_", ".")) or name.endswith(".parquet") for name in names):
            raise FileError(
                f"{self._name} holds more than Parquet files, and overwriting would remove all of "
                "it; choose another name, or remove it yourself"
            )
        return True


def _kept(name: str, places: Mapping[int, int] | None) -> str | None:
    """The name under which a file of the job is published; None for one that is not."""
    if name == "_SUCCESS":
        return name
    found = MADE.fullmatch(name)
    if found is None or places is None:
        return name if found else None
    place = places.get(int(found[1]))
    return None if place is None else f"part-{place:05}{found[2]}"
