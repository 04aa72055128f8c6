"""Releases that die before each operation of the file system, and once at a random moment.

    python -m tests.crashing FOLDER KIND

Python raises an audit event before each operation: a forked child dies there, at event number 1, 2,
3 and so on, as by a kill.  Then its parent looks at the folder, makes a call that is refused, looks
again, and makes the release once more.  It prints each fault, and at the end the number of deaths.
Writers in C++ raise no event, so one child dies at a random moment.
"""

import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

import rrstats as rr
from rrstats.errors import SecondReleaseError
from rrstats.files.ledger import Ledger

DIED = 7
CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
DESIGN = {"answer": rr.KRR(["no", "yes"], 0.75)}
OTHER = {"answer": rr.KRR(["no", "yes"], 0.6)}


class World:
    """A source of one kind in a folder, with releases to one target."""

    def __init__(self, folder, kind, rows=40):
        self.folder = folder
        ending = "" if kind == "folder" else f".{kind}"
        self.source = folder / f"in{ending}"
        self.target = folder / f"out{ending}"
        self.ledger = Ledger.of(self.source)
        self.rows = rows
        frame = pd.DataFrame({"answer": ["no", "yes"] * (rows // 2), "age": range(rows)})
        if kind == "folder":
            self.source.mkdir()
            frame[: rows // 2].to_parquet(self.source / "a.parquet")
            frame[rows // 2 :].to_parquet(self.source / "b.parquet")
        elif kind == "parquet":
            frame.to_parquet(self.source)
        elif kind == "arrow":
            frame.to_feather(self.source)
        else:
            frame.to_csv(self.source, index=False)
        self.sidecar = Path(f"{self.target}.rrstats.json")
        self.start = folder.with_name(f"{folder.name}-start")

    def release(self, design, **options):
        rr.files.privatize_file(self.source, self.target, design, **options)

    def remember(self):
        """Let `reset` come back to what is there now."""
        shutil.rmtree(self.start, ignore_errors=True)
        shutil.copytree(self.folder, self.start)
        self.old = self.contents()
        self.entries = len(self.ledger.releases)

    def reset(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.start, self.folder)

    def contents(self):
        """The bytes of the target's files and of its sidecar, by name; empty without a target."""
        if not os.path.lexists(self.target):
            return {}
        paths = [self.target, *self.target.rglob("*"), self.sidecar]
        return {path.name: path.read_bytes() for path in paths if path.is_file()}

    def fault(self, design):
        """What is wrong with the folder; None if the target is absent, the old or the new one."""
        contents = self.contents()
        if contents in ({}, self.old):
            return None
        if len(self.ledger.releases) == self.entries:
            return "a new target is not in the ledger"
        try:
            estimate = rr.files.estimate_file(self.target)["answer"]
        except rr.errors.RRStatsError as error:
            return f"a target without its record: {error}"
        if estimate.mechanism != design["answer"] or estimate.n != self.rows:
            return "a new target with the record of another, or a part of it"
        return None

    def next_runs(self, design):
        """What is wrong after a run that is refused, and after one that is not."""
        entries = len(self.ledger.releases)
        try:
            self.release(design)
        except SecondReleaseError:
            fault = self.fault(design)
            if fault or (self.old and not self.contents()):
                return fault or "a refused run did not put the old target back"
        else:
            if entries:
                return "a run was not refused"
        self.release(design, again=True, overwrite=os.path.lexists(self.target))
        expected = {self.source.name, self.target.name, self.ledger.path.name}
        expected |= {self.sidecar.name} if ".csv" in self.source.name else set()
        left = {path.name for path in self.folder.iterdir()} ^ expected
        if left:
            return f"left or lost: {sorted(left)}"
        return self.fault(design)


def child(work):
    """The process of a child that works and ends."""
    process = os.fork()
    if process:
        return process
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print("the release failed:", repr(error), flush=True)
        os._exit(1)


def dying(number, folder):
    """Let this process die before operation ``number`` that changes the file system."""
    count = 0

    def before(event, arguments):
        nonlocal count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if event in CHANGES or (writes and str(arguments[0]).startswith(folder)):
            count += 1
            if count == number:
                os._exit(DIED)

    sys.addaudithook(before)


def sweep(world, design, **options):
    """Die before each operation; return the number of deaths."""
    world.remember()
    number = 0
    died = True
    while died:
        number += 1
        world.reset()

        def work(number=number):
            dying(number, str(world.folder))
            world.release(design, again=True, **options)

        died = os.waitstatus_to_exitcode(os.waitpid(child(work), 0)[1]) == DIED
        fault = world.fault(design) or world.next_runs(design)
        if fault:
            print(f"{options}, operation {number}: {fault}", flush=True)
    return number - 1


def kill_once(world, design):
    """Kill a release that replaces a target at a random moment."""
    world.release(design, again=True)
    world.remember()
    began = time.monotonic()
    world.release(design, again=True, overwrite=True)
    seconds = time.monotonic() - began
    world.reset()
    process = child(lambda: world.release(design, again=True, overwrite=True))
    moment = random.SystemRandom().random() * seconds
    time.sleep(moment)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    fault = world.fault(design) or world.next_runs(design)
    if fault:
        print(f"killed after {moment:.6f} of {seconds:.6f} seconds: {fault}", flush=True)


def main(folder, kind):
    warnings.simplefilter("ignore")
    os.fsync = lambda descriptor: None  # a kill of the process loses nothing that was written
    folder = Path(folder)
    small = folder / "small"
    small.mkdir()
    world = World(small, kind)
    deaths = sweep(world, DESIGN)
    world.reset()
    world.release(DESIGN)
    deaths += sweep(world, DESIGN, overwrite=True)
    if kind == "csv":  # its record is in a file of its own
        deaths += sweep(world, OTHER, overwrite=True)
    large = folder / "large"
    large.mkdir()
    kill_once(World(large, kind, rows=100_000), DESIGN)
    print("died", deaths)


if __name__ == "__main__":
    main(*sys.argv[1:])
