"""The private ledger beside a source: the releases of its columns, with time and target.

    {"v": 2, "source": "survey.parquet", "key": "...", "releases": [
        {"when": "2026-11-21T08:00:00+00:00", "columns": [{...}], "epsilon": {"smoker": 1.0987},
         "target": "out.parquet", "digest": "hmac-sha256:...", "rows": 1000, "rrstats": "0.1.0"}]}

Two releases of one column reveal more together than each alone, and many releases reveal the true
answers: their epsilons add up.  So a second release is refused unless ``again`` is given.  Epsilons
also add up over waves of the same people, so a source that has changed is refused too.  If a
released column is absent, or a new one is not in the source, it may have been renamed: that is
refused until ``again`` says that it is meant.  Simulated releases have an infinite epsilon.
A folder and the files in it hold the same answers, so the ledger of one also applies to the other;
that of a symbolic link in a folder is the ledger of the file that it leads to.
A ledger does not know releases of a copy of the source, of a hard link to it, of a source that was
renamed or moved without its ledger, or releases that were recorded elsewhere.

The ledger holds no counts of answers.  Its fingerprint of the source is keyed by random bytes, so
that a fingerprint alone cannot confirm a guess at an answer.  The ledger is private nevertheless
(mode 0600), because it shows all releases.  A damaged ledger is never ignored and never replaced.
A ledger of version 1 was written before the first release of rrstats, and is refused.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import itertools
import json
import math
import os
import stat
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rrstats._checks import cut, quote_list
from rrstats._typing import JsonObject, Labels
from rrstats._version import __version__
from rrstats.data.category_json import categories_to_json
from rrstats.errors import DamagedDocumentError, FileError, SecondReleaseError
from rrstats.files.atomic import (
    LEDGER,
    close,
    done,
    is_ledger_file,
    is_published,
    let_through,
    named,
    open_lock,
    replace_private,
    uninterrupted,
)
from rrstats.mechanisms.documents import parse_json
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import ColumnRecord
from rrstats.mechanisms.row_privacy import VOID, row_epsilon, together
from rrstats.randomness.sources import secret_bytes

VERSION = 2
MAX_BYTES = 1 << 28
"""Size beyond which a file is no ledger, so that reading it needs bounded memory."""

KEY_BYTES = 32
LOCK_POLL_SECONDS = 0.01
MAX_EPSILONS_SHOWN = 10


@dataclass(frozen=True)
class _Book:
    """Contents of a ledger: its text, the key of its fingerprints, and its releases."""

    text: bytes | None
    key: bytes
    releases: list[LedgerEntry]

    def sealed(self, digest: str) -> str:
        """The keyed fingerprint that the ledger stores."""
        return f"hmac-sha256:{hmac.new(self.key, digest.encode(), 'sha256').hexdigest()}"


class Ledger:
    """The ledger of one source; see the module.  Make it by `of`.

    source : the file or directory that holds the true answers.  path : the ledger's file.
    """

    def __init__(self, source: Path, path: Path) -> None:
        self.source = source
        self.path = path

    @classmethod
    def of(cls, source: Path, path: Path | None = None) -> Ledger:
        """The ledger of a source: beside it, or at ``path``.

        Symbolic links are followed, so that a source has one ledger under all its names.
        """
        real = Path(os.path.realpath(source))
        usual_path = real.with_name(real.name + LEDGER)
        return cls(real, usual_path if path is None else Path(path))

    @property
    def releases(self) -> list[LedgerEntry]:
        """All releases so far, the oldest first.

        Raises FileError if the ledger cannot be read, DamagedDocumentError if it is damaged.
        """
        return self._read().releases

    @property
    def books(self) -> dict[Path, list[LedgerEntry]]:
        """All releases by the ledger they are in, this one first.

        The others are those of folders around the source and of files in it.
        """
        return {
            self.path: self.releases,
            **{other.path: other.releases for other in self._others()},
        }

    @property
    def known(self) -> list[LedgerEntry]:
        """All releases, also those of folders around the source and of files in it."""
        return [release for releases in self.books.values() for release in releases]

    @property
    def parts(self) -> list[Ledger]:
        """The ledgers of the files of a folder that has no release of its own, or the own one."""
        inside = [other for other in self._others() if other.source not in self.source.parents]
        released = [other for other in inside if other.releases]
        if self.releases or not released:
            return [self]
        return sorted(released, key=lambda other: other.path)

    def epsilon(self, column: Hashable) -> float:
        """Total epsilon of all known releases of a column, rounded up; 0 without releases."""
        return total_epsilon(spent(self.known, column))

    def refuse(
        self,
        records: Sequence[ColumnRecord],
        again: bool,
        *,
        present: Iterable[Hashable] | None = None,
    ) -> None:
        """Raise SecondReleaseError if a column was or may have been released, unless ``again``.

        present : the columns of the source, if known; others were renamed or left out.
        Also raises, before anything is drawn, if the ledger is damaged or cannot be
        written.
        """
        with self._locked():
            book = self._read()
        self._check_release(book, records, again, present=present)

    @contextmanager
    def entry(
        self,
        records: Sequence[ColumnRecord],
        *,
        target: Path,
        digest: str,
        rows: int,
        again: bool,
        release: str = "",
        present: Iterable[Hashable] | None = None,
    ) -> Iterator[list[LedgerEntry]]:
        """Write the release into the ledger, around the block that publishes it.

        The ledger is locked and checked again, so that of two simultaneous runs the second is
        refused.  The entry is written before the block publishes, and removed if the block fails,
        unless the error says that it published nevertheless.  A crash in between, or an error of
        removing it, leaves an entry without a release, which may refuse one release too many, never
        one too few.  Ctrl-C is delayed until both are done, or neither.
        Yields all known releases, including this one and related ones.
        """
        with self._locked():
            book = self._read()
            # Saving the same reports again spends no epsilon.
            is_saved = release != "" and release in [entry.release for entry in book.releases]
            sealed = book.sealed(digest)
            new = LedgerEntry.of(records, target=target, digest=sealed, rows=rows, release=release)
            releases = book.releases if is_saved else [*book.releases, new]

            def check(allowed: bool) -> None:
                self._check_release(book, records, allowed, digest=digest, present=present)

            if not is_saved:
                check(again)
            try:
                if not is_saved:
                    self._write(replace(book, releases=releases))
                # Check again: of two runs for a folder and a file in it, which have separate
                # locks, at least one sees the entry of the other.
                check(again or is_saved)
                yield [*releases, *(release for _, release in self._related())]
            except BaseException as error:
                if not is_saved and not is_published(error):
                    self._take_back(book.text, error)
                raise
            done()

    # -- the file --

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the ledger's lock, a file beside it that exists as long as the lock.

        Signals are delayed meanwhile, except while waiting for a lock that another run holds.
        """
        path = self.path.with_name(self.path.name + ".lock")
        with uninterrupted():
            descriptor = None
            while descriptor is None or descriptor < 0:
                let_through()
                with named(
                    f"the ledger {self.path} cannot be written",
                    "; give another place with ledger= (--ledger FILE), the same one for every "
                    "release of this source",
                ):
                    descriptor = open_lock(path)
                if descriptor is None:
                    time.sleep(LOCK_POLL_SECONDS)
            try:
                yield
            finally:
                with suppress(Exception):
                    path.unlink()
                close(descriptor)

    def _read(self) -> _Book:
        """Contents of the ledger; empty, with a new key, if it does not exist."""
        try:
            with named(f"the ledger {self.path} cannot be read"):
                if not stat.S_ISREG(self.path.lstat().st_mode):
                    raise FileError(f"the ledger {self.path} is no regular file; give another")
                with self.path.open("rb") as file:
                    # Reading MAX_BYTES would reserve them, however short the file is.
                    size = min(os.fstat(file.fileno()).st_size, MAX_BYTES)
                    text = file.read(size + 1)
        except FileError as error:
            if getattr(error.__cause__, "errno", None) in (errno.ENOENT, errno.ENAMETOOLONG):
                return _Book(None, secret_bytes(KEY_BYTES), [])
            raise
        try:
            return self._parse(text)
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:300]
            raise DamagedDocumentError(
                f"the ledger {self.path} is damaged, so earlier releases are not known: "
                f"{why}; restore it from a backup, or move it away if you know that nothing was "
                "released"
            ) from None

    def _parse(self, text: bytes) -> _Book:
        _need(len(text) <= MAX_BYTES, "it is too large")
        document = parse_json(text)
        version = document.get("v") if isinstance(document, dict) else None
        _need(
            version == VERSION,
            f"its version is not {VERSION}; a newer rrstats may read it, and version 1 was never "
            "released",
        )
        _need(
            len(document) == 4 and isinstance(document["releases"], list),
            "it must hold v, source, key and a list of releases, nothing else",
        )
        _need(
            document["source"] == self.source.name,
            f"it belongs to another source, {document['source'][:200]!r} (if that is the old name "
            f'of {self.source.name!r}, change "source" in it)',
        )
        key = bytes.fromhex(document["key"])
        _need(len(key) == KEY_BYTES, f"'key' must be {KEY_BYTES} bytes")
        return _Book(text, key, [LedgerEntry.from_dict(item) for item in document["releases"]])

    def _write(self, book: _Book) -> None:
        document = {
            "v": VERSION,
            "source": self.source.name,
            "key": book.key.hex(),
            "releases": [release.to_dict() for release in book.releases],
        }
        text = json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"
        replace_private(self.path, text)

    def _take_back(self, before: bytes | None, error: BaseException) -> None:
        """Restore the ledger; if that fails, its entry remains and the error says so."""
        try:
            if before is None:
                self.path.unlink(missing_ok=True)
            elif self.path.read_bytes() != before:
                replace_private(self.path, before)
        except Exception:
            error.add_note(
                f"the ledger {self.path} could not be restored: its last entry may remain and "
                "counts as a release, although nothing was published"
            )

    # -- the rule --

    def _check_release(
        self,
        book: _Book,
        records: Sequence[ColumnRecord],
        again: bool,
        *,
        digest: str | None = None,
        present: Iterable[Hashable] | None = None,
    ) -> None:
        """Raise SecondReleaseError with all reasons against the release, unless ``again``."""
        related = self._related()  # raises for damaged ledgers, also with again
        if again:
            return
        earlier = [*((self.path, release) for release in book.releases), *related]
        reasons = self._reasons(book, records, earlier, digest=digest)
        if present is not None:
            released = {name: None for _, release in earlier for name in release.epsilon}
            renamed = _tell_renamed(records, released, {*present})
            if renamed:
                reasons.append(renamed)
        if reasons:
            new_files = ""
            if self.source.is_dir():
                new_files = (
                    "; new files are released one by one, from outside this folder, under names of "
                    "their own"
                )
            raise SecondReleaseError(
                f"{'; '.join(reasons)}; to release it nevertheless, give again=True "
                f"(--again){new_files}"
            )

    def _reasons(
        self,
        book: _Book,
        records: Sequence[ColumnRecord],
        earlier: Iterable[tuple[Path, LedgerEntry]],
        *,
        digest: str | None,
    ) -> list[str]:
        """Earlier releases of these columns in words, and what they say about the source.

        earlier : all known releases, each with its ledger.  digest : of the source, if known.
        """
        columns = {record.name for record in records}
        earlier = [(path, release) for path, release in earlier if columns & set(release.epsilon)]
        reasons = []
        for record in records:
            releases = [release for _, release in earlier if record.name in release.epsilon]
            if releases:
                reasons.append(_tell(record, releases))
        others = {str(path): None for path, _ in earlier if path != self.path}
        if others:
            reasons.append(
                "a folder and the files in it hold the same answers, so the releases in "
                f"{', '.join(list(others)[:3])} count too"
            )
        in_this_ledger = [release for path, release in earlier if path == self.path]
        if in_this_ledger:
            sealed = book.sealed(digest or digest_of(self.source))
            if sealed != in_this_ledger[-1].digest:
                reasons.append(
                    "the source has changed since, but releases about the same people add up "
                    "nevertheless"
                )
        return reasons

    def _related(self) -> list[tuple[Path, LedgerEntry]]:
        """Releases of folders around the source and of files in it, each with its ledger."""
        return [(other.path, release) for other in self._others() for release in other.releases]

    def _others(self) -> list[Ledger]:
        """The ledgers of folders around the source and of files in it, if there are any."""
        ledgers = _ledgers_around(self.source)
        if self.source.is_dir():
            with named(f"{self.source} cannot be read"):
                for path in files_in(self.source):
                    if path.name.endswith(LEDGER):
                        ledgers.append(path)
                    elif path.is_symlink():  # the same answers as the file that it leads to
                        linked = Ledger.of(path)
                        ledgers += [linked.path, *_ledgers_around(linked.source)]
        return [
            Ledger(path.with_name(path.name.removesuffix(LEDGER)), path)
            for path in dict.fromkeys(ledgers)
            if path != self.path
        ]


def _ledgers_around(source: Path) -> list[Path]:
    """The usual places of the ledgers of all folders that a source is in."""
    return [
        folder.with_name(folder.name + LEDGER)
        for folder in source.parents
        if folder.name and is_data(source.relative_to(folder))
    ]


def spent(releases: Iterable[LedgerEntry], column: Hashable) -> list[float]:
    """Epsilon of each release of a column."""
    return [release.epsilon[column] for release in releases if column in release.epsilon]


def _tell_renamed(
    records: Iterable[ColumnRecord], released: Collection[Hashable], present: Collection[Hashable]
) -> str:
    """The question whether a new column is one that was released under another name, or "".

    records : to release.  released : columns released before.  present : those of the source.
    """
    new = [record.name for record in records if record.name not in released]
    absent = [name for name in released if name not in present]
    if not (new and released) or (not absent and all(name in present for name in new)):
        return ""
    before = (
        f"{quote_list(absent)}, released before, are no columns of the source any more"
        if absent
        else f"{quote_list(released)} were released before"
    )
    return (
        f"{before}: {quote_list(new)} may hold the same answers under another name, and epsilons "
        "of the same answers add up"
    )


def _tell(record: ColumnRecord, earlier: list[LedgerEntry]) -> str:
    """The earlier releases of a column in words, and the total epsilon with one more."""
    epsilons = spent(earlier, record.name)
    times = "once" if len(epsilons) == 1 else f"{len(epsilons)} times"
    shown = ", ".join(round_up(epsilon) for epsilon in epsilons[:MAX_EPSILONS_SHOWN])
    if len(epsilons) > MAX_EPSILONS_SHOWN:
        shown += ", ..."
    when = max(release.when for release in earlier).astimezone(UTC)
    listed = [record, *(other for release in earlier for other in release.records)]
    is_void = any(other.simulated for other in listed if other.name == record.name)
    why = VOID if is_void else "because noise averages out"
    return (
        f"column {record.name!r} was released {times} before, last on {when:%Y-%m-%d %H:%M} UTC "
        f"(epsilon {shown}); with this one ({round_up(record.epsilon)}) the total is epsilon "
        f"{round_up(total_epsilon([*epsilons, record.epsilon]))}, {why}"
    )


@dataclass(frozen=True)
class LedgerEntry:
    """One release: its time, columns, target, and the state of the source.

    records : how each column was made.  epsilon : for each column, the epsilon of one report.
    digest : of the source.  rows : the number of records.  rrstats : the version that made it.
    release : the id of a saved frame, which identifies it when it is saved again.
    """

    when: datetime
    records: tuple[ColumnRecord, ...]
    epsilon: Mapping[Hashable, float]
    target: str
    digest: str
    rows: int
    rrstats: str = __version__
    release: str = ""

    @classmethod
    def of(
        cls,
        records: Sequence[ColumnRecord],
        *,
        target: Path,
        digest: str,
        rows: int,
        release: str = "",
    ) -> LedgerEntry:
        """The release of some columns, now."""
        epsilon = {record.name: record.epsilon for record in records}
        place = str(Path(target).absolute())
        when = datetime.now(UTC)
        return cls(when, tuple(records), epsilon, place, digest, rows, release=release)

    @property
    def row_epsilon(self) -> float:
        """The total epsilon of one row; the columns of one plan share one."""
        parts = together(self.records)
        return total_epsilon(max(self.epsilon[record.name] for record in part) for part in parts)

    def to_dict(self) -> JsonObject:
        """The release as plain JSON."""
        return {
            "when": self.when.isoformat(timespec="seconds"),
            "columns": [record.to_dict() for record in self.records],
            "epsilon": {_key(name): plain_epsilon(value) for name, value in self.epsilon.items()},
            "target": self.target,
            "digest": self.digest,
            "rows": self.rows,
            "rrstats": self.rrstats,
        } | ({"release": self.release} if self.release else {})

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> LedgerEntry:
        """The release from the result of `to_dict`; raises various errors for anything else."""
        facts = dict(document)
        when = datetime.fromisoformat(facts.pop("when"))
        records = tuple(ColumnRecord.from_dict(item) for item in facts.pop("columns"))
        stored = {key: _number(value) for key, value in dict(facts.pop("epsilon")).items()}
        _need(
            when.tzinfo is not None and isinstance(facts["target"] + facts["digest"], str),
            "'when' must name its time zone, 'target' and 'digest' must be text",
        )
        names = sorted(_key(record.name) for record in records)
        same = bool(records) and names == sorted(stored)
        _need(same, "'columns' and 'epsilon' must name the same columns, each once")
        texts = all(isinstance(facts.get(key, ""), str) for key in ("rrstats", "release"))
        _need(
            texts and type(facts.get("rows")) is int and facts["rows"] >= 0,
            "'rows' must be a whole number, 'rrstats' and 'release' must be text",
        )
        unknown = {*facts} - {field.name for field in fields(cls)}
        _need(not unknown, f"a release has unknown keys {cut(sorted(unknown))}")
        # The larger of the stored epsilon and the one computed now counts.
        epsilon = {
            record.name: max(record.epsilon, stored[_key(record.name)]) for record in records
        }
        return cls(when, records, epsilon, **facts)


@dataclass(frozen=True)
class RowTotal:
    """The total epsilon of one row, and the columns in it whose noise was simulated."""

    epsilon: float
    void: Labels = ()

    @classmethod
    def of(
        cls, source_records: Sequence[Sequence[ColumnRecord]], releases: Iterable[LedgerEntry] = ()
    ) -> RowTotal:
        """The total over all known releases of a source, and over what their targets took along.

        source_records : for each file of the source, the records of the reports that it holds.  A
        target has those of the columns that its own release did not make, whatever others made.
        """
        entries = list(releases)
        taken_along = [
            [record for record in records if record.name not in released]
            for released in [entry.epsilon for entry in entries] or [{}]
            for records in source_records
        ]
        largest = max(map(row_epsilon, taken_along), default=0.0)
        total = total_epsilon([*(entry.row_epsilon for entry in entries), largest])
        made_here = (record for entry in entries for record in entry.records)
        listed = itertools.chain(made_here, *taken_along)
        void = dict.fromkeys(record.name for record in listed if record.simulated)
        return cls(total, tuple(void))

    def to_dict(self) -> JsonObject:
        """The total as plain JSON; ``void`` only where noise was simulated."""
        void = {"void": list(self.void)} if self.void else {}
        return {"epsilon_per_row": plain_epsilon(self.epsilon), **void}


def plain_epsilon(epsilon: float) -> float | str:
    """An epsilon for JSON, which has no infinity."""
    return epsilon if epsilon < math.inf else "inf"


def _key(name: Hashable) -> str:
    """A column's label as a key of JSON."""
    return name if isinstance(name, str) else json.dumps(categories_to_json([name])[0])


def _number(value: Any) -> float:
    """An epsilon of a ledger; raises ValueError if it is none."""
    if value == "inf":
        return math.inf
    is_epsilon = type(value) in (int, float) and 0 <= value < math.inf
    _need(is_epsilon, "an epsilon must be a number of at least 0")
    return float(value)


def _need(condition: bool, otherwise: str) -> None:
    """Raise ValueError, which readers of a ledger take as damage, unless a rule holds."""
    if not condition:
        raise ValueError(otherwise)


def digest_of(path: Path) -> str:
    """A fingerprint of a file, or of the names and contents of a directory's data files.

    Returns "sha256:...".  Ledgers do not count, nor do files that readers of data sets ignore:
    those whose name or folder begins with a dot or an underscore.  Raises FileError if a file
    cannot be read.
    """
    path = Path(path)
    with named(f"{path} cannot be read"):
        if not path.is_dir():
            return f"sha256:{_sha256(path)}"
        files = {file.relative_to(path).as_posix(): file for file in files_in(path)}
        digest = hashlib.sha256()
        for name, file in sorted(files.items()):
            if not is_ledger_file(file.name):
                # Names hold no zero byte, so two different directories never give the same text.
                digest.update(os.fsencode(name) + b"\0" + _sha256(file).encode() + b"\n")
        return f"sha256:{digest.hexdigest()}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_in(directory: Path) -> Iterator[Path]:
    """All files of a directory that readers of data sets do not ignore, and links to folders."""
    for folder, folders, files in os.walk(directory, onerror=_give_up):
        folders[:] = [name for name in folders if is_data(Path(name))]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (Path(folder, name) for name in [*files, *links] if is_data(Path(name)))


def is_data(inside: Path) -> bool:
    """True if readers of data sets do not ignore a path inside a directory."""
    return not any(part[0] in "._" for part in inside.parts)


def _give_up(error: OSError) -> None:
    raise error
