"""The ledger beside a source: a second release of a column is refused until somebody insists."""

import hashlib
import hmac
import json
import math
import os
import random
import shutil
import signal
import stat
import threading
import warnings
from datetime import UTC, datetime
from functools import partial

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import (
    DamagedDocumentError,
    FileError,
    MetadataError,
    SecondReleaseError,
    SimulationWarning,
)
from rrstats.mechanisms import Chain
from rrstats.mechanisms.epsilon import round_up, total_epsilon
from rrstats.mechanisms.records import ColumnRecord

pytest.importorskip("pyarrow")
ledgers = pytest.importorskip("rrstats.files.ledger")
atomic = pytest.importorskip("rrstats.files.atomic")
from file_samples import names  # after importorskip

preview_file = pytest.importorskip("rrstats.files.privatize_file").preview_file
Ledger, digest_of = ledgers.Ledger, ledgers.digest_of

posix = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX")

YES_NO = ColumnRecord.of("smoker", rr.KRR(["yes", "no"], 0.75))
OFTEN = ColumnRecord.of("drinks", rr.KRR(["never", "once", "often"], 0.5))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("smoker,drinks\nyes,never\n")
    return path


def sealed(document, digest):
    """A fingerprint under the key of a ledger."""
    key = bytes.fromhex(document["key"])
    return "hmac-sha256:" + hmac.new(key, digest.encode(), "sha256").hexdigest()


def release(ledger, *records, again=False, target="out.csv", digest=None):
    """A release that publishes nothing but the entry."""
    digest = digest or digest_of(ledger.source)
    with ledger.entry(records, target=target, digest=digest, rows=1, again=again):
        pass


# -- what it holds ---------------------------------------------------------------------------


def test_the_ledger_lies_beside_its_source_and_is_private(source):
    """One document, readable by its owner only, and nothing else is left there."""
    ledger = Ledger.of(source)
    assert [] == ledger.releases
    before = datetime.now(UTC).replace(microsecond=0)
    release(ledger, YES_NO, OFTEN)
    path = source.with_name("survey.csv.rrstats-ledger.json")
    assert ["survey.csv", path.name] == names(source.parent)
    assert path == ledger.path
    assert 0o600 == stat.S_IMODE(path.stat().st_mode) or os.name != "posix"
    document = json.loads(path.read_text())
    (entry,) = document["releases"]
    assert before <= datetime.fromisoformat(entry.pop("when")) <= datetime.now(UTC)
    assert {
        "columns": [YES_NO.to_dict(), OFTEN.to_dict()],
        "epsilon": {"smoker": YES_NO.epsilon, "drinks": OFTEN.epsilon},
        "target": str((source.parent.cwd() / "out.csv").absolute()),
        "digest": sealed(document, digest_of(source)),
        "rows": 1,
        "rrstats": rr.__version__,
    } == entry
    key = document.pop("key")
    assert 32 == len(bytes.fromhex(key))
    assert {"v": 2, "source": "survey.csv", "releases": [entry]} == document


def test_releases_come_back_as_they_were_written(source):
    """Through a new object, and in order; columns with labels of any kind too."""
    odd = ColumnRecord.of(("wave", 2), rr.KRR([1, 2, None], 0.5), missing="unknown", simulated=True)
    chained = ColumnRecord.of("twice", Chain(rr.KRR([0, 1], 0.75), rr.KRR([0, 1], 0.75)))
    long = ColumnRecord.of("region", rr.KRR(list(range(200)), 0.5))
    release(Ledger.of(source), odd, chained, long)
    release(Ledger.of(source), YES_NO, target="second.csv")
    first, second = Ledger.of(source).releases
    assert (odd, chained, long) == first.records
    assert {r.name: r.epsilon for r in (odd, chained, long)} == first.epsilon
    assert ((YES_NO,), "second.csv") == (second.records, second.target.rpartition(os.sep)[2])
    assert first.when.tzinfo is not None
    assert first.when <= second.when
    digest = sealed(json.loads(Ledger.of(source).path.read_text()), digest_of(source))
    assert (1, digest, rr.__version__) == (second.rows, second.digest, second.rrstats)


def test_an_infinite_epsilon_can_be_written(source, monkeypatch):
    """JSON has no infinity, so it is a word; no such mechanism exists today."""
    monkeypatch.setattr(ColumnRecord, "epsilon", math.inf)
    release(Ledger.of(source), YES_NO)
    assert '"smoker": "inf"' in Ledger.of(source).path.read_text()
    assert math.inf == Ledger.of(source).epsilon("smoker")


def test_a_source_has_one_ledger_under_all_its_names(source, tmp_path):
    """A link or a detour leads to the same ledger, or a second release could hide behind it."""
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "other.csv"
    link.symlink_to(source)
    detour = tmp_path / "folder" / ".." / "survey.csv"
    assert {Ledger.of(source).path} == {Ledger.of(link).path, Ledger.of(detour).path}


# -- refusals --------------------------------------------------------------------------------


def test_a_second_release_is_refused_with_the_summed_epsilon(source):
    """How often, when last, each epsilon, what all sum to, and how to insist."""
    ledger = Ledger.of(source)
    ledger.refuse([YES_NO], again=False)
    release(ledger, YES_NO)
    release(ledger, ColumnRecord.of("smoker", rr.KRR(["yes", "no"], epsilon=0.5)), again=True)
    when = ledger.releases[-1].when
    with pytest.raises(SecondReleaseError) as caught:
        ledger.refuse([OFTEN, YES_NO], again=False)
    # 2 ln 3 + 0.5 = 2.69722..., rounded up
    assert (
        f"column 'smoker' was released 2 times before, last on {when:%Y-%m-%d %H:%M} UTC "
        "(epsilon 1.099, 0.5); with this one (1.099) the total is epsilon 2.698, because noise "
        "averages out; to release it nevertheless, give again=True (--again)"
    ) == str(caught.value)
    assert 2 == len(ledger.releases)
    with pytest.raises(SecondReleaseError):
        release(ledger, YES_NO)
    assert 2 == len(ledger.releases)


def test_a_new_wave_of_the_same_people_adds_up_too(source):
    """A source that has changed since is no excuse, and the message says so."""
    ledger = Ledger.of(source)
    release(ledger, YES_NO)
    source.write_text("smoker,drinks\nno,never\n")
    with pytest.raises(SecondReleaseError, match=r"the source has changed since.* add up"):
        ledger.refuse([YES_NO], again=False)
    refused(SecondReleaseError, "changed since", release, ledger, YES_NO)


# -- a folder and the files in it -----------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    """A folder of data with a file in a folder of its own."""
    folder = tmp_path / "data"
    for name in ("a.parquet", "y=1/b.parquet", "_x/c.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    return folder


SOURCES = [".", "y=1", "y=1/b.parquet"]


@pytest.mark.parametrize("first", SOURCES)
@pytest.mark.parametrize("second", SOURCES)
def test_a_folder_and_a_file_in_it_are_one_source(data, first, second):
    """Whichever was released first; the error names the ledger that knows, and the sum."""
    release(Ledger.of(data / first), YES_NO)
    other = Ledger.of(data / second)
    with pytest.raises(SecondReleaseError, match=r"epsilon 2\.198") as caught:
        other.refuse([YES_NO], again=False)
    assert (first != second) == (str(Ledger.of(data / first).path) in str(caught.value))
    assert "changed since" not in str(caught.value)
    with pytest.raises(SecondReleaseError):
        release(other, YES_NO)
    assert YES_NO.epsilon == other.epsilon("smoker")
    other.refuse([OFTEN], again=False)
    release(other, OFTEN)
    release(other, YES_NO, again=True)
    assert 2 * YES_NO.epsilon == pytest.approx(other.epsilon("smoker"))
    assert other.epsilon("smoker") == Ledger.of(data / first).epsilon("smoker")


@pytest.mark.parametrize("second", ["a.parquet", "_x/c.parquet", "../data.csv"])
def test_sources_beside_each_other_have_accounts_of_their_own(data, second):
    """Nor does what readers of the folder pass over belong to it."""
    (data / second).touch()
    release(Ledger.of(data / "y=1"), YES_NO)
    release(Ledger.of(data / "_x"), OFTEN)
    Ledger.of(data / second).refuse([YES_NO], again=False)
    release(Ledger.of(data / second), YES_NO)
    if "_x" in second:
        Ledger.of(data / "a.parquet").refuse([OFTEN], again=False)
        with pytest.raises(SecondReleaseError):
            Ledger.of(data / second).refuse([OFTEN], again=False)


@pytest.mark.parametrize("released", ["file", "folder of the file"])
def test_a_link_in_a_folder_counts_as_the_file_that_it_leads_to(data, tmp_path, released):
    """Its releases, and those of the folders around it, are of the same answers."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.parquet").write_bytes((data / "a.parquet").read_bytes())
    release(Ledger.of(elsewhere / "c.parquet" if released == "file" else elsewhere), YES_NO)
    folder = Ledger.of(data)
    folder.refuse([YES_NO], again=False)
    for name in ("c.parquet", "d.parquet"):
        (data / name).symlink_to(elsewhere / "c.parquet")
    with pytest.raises(SecondReleaseError, match=r"released once before.*elsewhere"):
        folder.refuse([YES_NO], again=False)
    assert YES_NO.epsilon == folder.epsilon("smoker")
    release(folder, YES_NO, again=True)
    (data / "e.parquet").symlink_to(data / "a.parquet")
    assert 2 * YES_NO.epsilon == pytest.approx(folder.epsilon("smoker"))


def test_of_two_runs_for_a_folder_and_its_file_one_is_refused(data, monkeypatch):
    """Their locks are two, so each looks once more when its entry stands."""
    folder, file = Ledger.of(data), Ledger.of(data / "a.parquet")
    write = Ledger._write

    def late(ledger, releases):
        monkeypatch.setattr(Ledger, "_write", write)
        release(folder, YES_NO)
        write(ledger, releases)

    monkeypatch.setattr(Ledger, "_write", late)
    with pytest.raises(
        SecondReleaseError, match=r"the releases in .*data\.rrstats-ledger\.json count"
    ):
        release(file, YES_NO)
    assert ([], 1) == (file.releases, len(folder.releases))
    assert not file.path.exists()


def test_a_ledger_around_or_inside_that_is_damaged_is_not_passed_over(data):
    """What it knows is not known, and ``again`` does not help."""
    for bad, source in (("data", "data/a.parquet"), ("data/a.parquet", "data")):
        path = data.parent / f"{bad}.rrstats-ledger.json"
        path.write_text("{")
        for again in (False, True):
            with pytest.raises(MetadataError, match="is damaged"):
                Ledger.of(data.parent / source).refuse([YES_NO], again=again)
        path.unlink()


def test_a_folder_with_a_very_long_name_is_served(tmp_path):
    """No ledger can have its name, so there is none."""
    source = tmp_path / ("x" * 250) / "a.csv"
    source.parent.mkdir()
    source.touch()
    release(Ledger.of(source), YES_NO)
    assert 1 == len(Ledger.of(source).releases)


def test_a_ledger_of_before_the_first_release_is_refused(source):
    """Version 1 had no key; its releases count as unknown, so nothing more is released."""
    ledger = Ledger.of(source)
    release(ledger, YES_NO)
    document = json.loads(ledger.path.read_text())
    del document["key"]
    document["v"], document["releases"][0]["digest"] = 1, digest_of(source)
    ledger.path.write_text(json.dumps(document))
    refused(DamagedDocumentError, "version 1 was never released", ledger.refuse, [YES_NO], True)
    assert document == json.loads(ledger.path.read_text())


def test_new_files_of_a_released_folder_are_not_added(tmp_path):
    """The same call again is a second release; the error says how new files are released."""
    folder = tmp_path / "days"
    folder.mkdir()
    frame = pd.DataFrame({"smoker": ["yes", "no"] * 20})
    frame.to_parquet(folder / "monday.parquet")
    again = partial(rr.files.privatize_file, folder, tmp_path / "out", {"smoker": TWO["smoker"]})
    again()
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    frame.to_parquet(folder / "tuesday.parquet")
    message = "new files are released one by one, from outside this folder, under names of their"
    for options in ({}, {"overwrite": True}):
        with pytest.raises(SecondReleaseError, match=message):
            again(**options)
    assert before == {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    wednesday = tmp_path / "wednesday.parquet"
    frame.to_parquet(wednesday)
    target = tmp_path / "out/wednesday.parquet"
    rr.files.privatize_file(wednesday, target, {"smoker": TWO["smoker"]})
    assert 80 == rr.files.estimate_file(tmp_path / "out")["smoker"].n


# -- the entry and what it stands for -----------------------------------------------------------


def test_the_entry_stands_before_anything_is_published(source):
    """Whatever ends the run then, no release is without its entry."""
    ledger = Ledger.of(source)
    with ledger.entry([YES_NO], target="out", digest="sha256:1", rows=5, again=False) as known:
        (entry,) = Ledger.of(source).releases
    assert [entry] == ledger.releases
    assert ["out"] == [os.path.relpath(known.target) for known in known]
    assert 5 == entry.rows


@pytest.mark.parametrize("error", [FileError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("earlier", [False, True])
def test_the_entry_is_taken_back_where_publishing_fails(source, earlier, error):
    """Then the ledger is as it was, to the byte, or not there."""
    ledger = Ledger.of(source)
    if earlier:
        release(ledger, OFTEN)
    before = {path.name: path.read_bytes() for path in source.parent.iterdir()}

    def run():
        with ledger.entry([YES_NO], target="out", digest="sha256:1", rows=1, again=False):
            assert YES_NO.epsilon == ledger.epsilon("smoker")
            raise error

    with pytest.raises(error):
        run()
    assert before == {path.name: path.read_bytes() for path in source.parent.iterdir()}
    ledger.refuse([YES_NO], again=False)


def test_an_entry_that_cannot_be_taken_back_stands(source, monkeypatch):
    """A release too many is refused, never one too few; the error says what happened."""
    ledger = Ledger.of(source)
    release(ledger, OFTEN)

    def run():
        with ledger.entry([YES_NO], target="out", digest="sha256:1", rows=1, again=False):
            monkeypatch.setattr(atomic, "make", lambda *_: (_ for _ in ()).throw(OSError()))
            raise FileError("the disk is full")

    with pytest.raises(FileError, match="disk is full") as caught:
        run()
    assert "last entry may remain and counts as a release" in caught.value.__notes__[0]
    assert YES_NO.epsilon == ledger.epsilon("smoker")


def test_ctrl_c_while_it_is_taken_back_waits(source, monkeypatch):
    """Impatience does not leave half of it."""
    ledger = Ledger.of(source)
    release(ledger, OFTEN)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)

    def run():
        with ledger.entry([YES_NO], target="out", digest="sha256:1", rows=1, again=False):
            signal.raise_signal(signal.SIGINT)
            raise FileError("the disk is full")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert ["drinks"] == [r.name for release in ledger.releases for r in release.records]


@posix
def test_runs_at_once_wait_for_each_other_and_of_two_alike_one_is_refused(source):
    """All were told at their start that there was no release; no entry is lost."""
    records = [ColumnRecord.of(f"q{number}", rr.KRR([0, 1], 0.75)) for number in range(8)]
    late = []

    def run(ledger, record):
        try:
            release(ledger, record)
        except SecondReleaseError:
            late.append(record)

    threads = []
    for record in [*records, YES_NO, YES_NO]:
        ledger = Ledger.of(source)
        ledger.refuse([record], again=False)
        threads.append(threading.Thread(target=run, args=(ledger, record)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [record for entry in Ledger.of(source).releases for record in entry.records]
    assert [YES_NO] == late
    assert sorted(r.name for r in [*records, YES_NO]) == sorted(r.name for r in found)


@posix
def test_ctrl_c_ends_the_wait_for_a_lock(source, monkeypatch):
    """A run that was stopped while it had the lock does not hold up others for ever."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)
    monkeypatch.setattr(ledgers.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    path = source.with_name("survey.csv.rrstats-ledger.json.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    assert atomic.lock(descriptor)
    with pytest.raises(KeyboardInterrupt):
        Ledger.of(source).refuse([YES_NO], again=False)
    assert atomic.is_at(descriptor, path)
    os.close(descriptor)


@posix
def test_a_lock_that_went_with_its_holder_is_taken_anew(source, monkeypatch):
    """Who waited for it holds a file that has no name any more: two could think they have it."""
    ledger, real, taken = Ledger.of(source), atomic.lock, []
    path = ledger.path.with_name(ledger.path.name + ".lock")

    def slow(descriptor):
        if not taken:
            path.unlink()  # the holder is done
        taken.append(descriptor)
        return real(descriptor)

    monkeypatch.setattr(atomic, "lock", slow)
    with ledger.entry([YES_NO], target="out", digest="sha256:1", rows=1, again=False):
        assert path.exists()
        assert atomic.is_at(taken[-1], path)
    assert 2 <= len(taken)


# -- ledgers that cannot be trusted, read or written --------------------------------------------


ENTRY = ("releases", 0)
MECHANISM = (*ENTRY, "columns", 0, "mechanism")

DAMAGES = [
    "",
    '{"v": 2, "source": "survey.csv"',
    "PAR1\x00\x01",
    "[]",
    "[" * 100_000,
    '{"v": ' + "1" * 5000 + "}",
    ("v", 3),
    ("key", "ab"),
    ("source", "other.csv"),
    ("releases", {}),
    (*ENTRY, "counts", {"yes": 1}),
    (*ENTRY, "files", {"a.parquet": "hmac-sha256:1"}),
    (*ENTRY, "when", "2026-11-21T08:00:00"),
    (*ENTRY, "columns", []),
    (*ENTRY, "columns", [{"name": "smoker"}]),
    (*ENTRY, "columns", [YES_NO.to_dict()] * 2),
    (*ENTRY, "epsilon", {}),
    (*ENTRY, "epsilon", {"smoker": -1.0}),
    (*ENTRY, "epsilon", {"smoker": math.nan}),
    (*MECHANISM, "type", "Later"),
    (*MECHANISM, "prob", 10**400),
    (*MECHANISM, {"type": "KRR", "prob": 0.5, "categories_digest": "0", "k": 10**30}),
]
"""Ways to spoil a good ledger: its text, or the way to a part of it and another value."""


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage)[-30:])
def test_a_damaged_ledger_is_never_passed_over_nor_replaced(source, damage):
    """The error names it, also with ``again``, and it stays as it is, to the byte."""
    ledger = Ledger.of(source)
    release(ledger, YES_NO)
    text = damage
    if not isinstance(damage, str):
        part = document = json.loads(ledger.path.read_text())
        *way, last, value = damage
        for key in way:
            part = part[key]
        part[last] = value
        text = json.dumps(document)
    text = text.encode()
    ledger.path.write_bytes(text)
    for again in (False, True):
        with pytest.raises(MetadataError, match=r"survey\.csv\.rrstats-ledger\.json is damaged"):
            ledger.refuse([OFTEN], again=again)
        refused(MetadataError, "is damaged", release, ledger, OFTEN, again=again)
    refused(MetadataError, "is damaged", ledger.epsilon, "smoker")
    assert text == ledger.path.read_bytes()
    assert [source.name, ledger.path.name] == names(source.parent)


def test_a_ledger_with_a_key_twice_is_refused(source):
    """JSON keeps the last: a second list of releases, or a second prob, would hide the first."""
    ledger = Ledger.of(source)
    release(ledger, YES_NO)
    text = ledger.path.read_text()
    for key in ("releases", "prob", "name"):
        ledger.path.write_text(text.replace(f'"{key}":', f'"{key}": 0.5, "{key}":', 1))
        refused(MetadataError, "damaged.* a key twice", ledger.epsilon, "smoker")


def test_a_good_ledger_is_not_called_damaged(source):
    """The test above would pass if everything was; also written by hand, without defaults."""
    ledger = Ledger.of(source)
    release(ledger, YES_NO)
    document = json.loads(ledger.path.read_text())
    (entry,) = document["releases"]
    entry["columns"] = [{"name": "smoker", "mechanism": entry["columns"][0]["mechanism"]}]
    entry["epsilon"] = {"smoker": 2}
    ledger.path.write_text(json.dumps(document))
    assert 2.0 == ledger.epsilon("smoker")
    entry["epsilon"] = {"smoker": 0.1}  # said too little: what is computed counts
    ledger.path.write_text(json.dumps(document))
    assert YES_NO.epsilon == ledger.epsilon("smoker")


@posix
@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_a_ledger_that_is_no_file_is_refused(source, tmp_path, kind):
    """A link could lead anywhere, and a pipe would never answer."""
    path = tmp_path / "ledger.json"
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(FileError, match=r"ledger\.json is no regular file"):
        Ledger.of(source, path).refuse([YES_NO], again=True)
    assert not (tmp_path / "elsewhere").exists()


def test_a_ledger_that_is_much_too_large_is_refused(source, monkeypatch):
    """As when somebody gives a data file as the ledger: it is not read to its end."""
    monkeypatch.setattr(ledgers, "MAX_BYTES", 10)
    ledger = Ledger.of(source)
    ledger.path.write_bytes(bytes(11))
    refused(MetadataError, "too large", ledger.refuse, [YES_NO], again=True)


def test_a_ledger_that_cannot_be_written_says_so_before_anything_is_drawn(source, tmp_path):
    """And names the way out."""
    ledger = Ledger.of(source, tmp_path / "nowhere" / "ledger.json")
    with pytest.raises(FileError, match=r"cannot be written: no such .*--ledger FILE"):
        ledger.refuse([YES_NO], again=True)


# -- digests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (5 << 20) + 7])
def test_the_digest_of_a_file_is_its_sha256(tmp_path, size):
    """Read in pieces, at their edges too."""
    data = bytes(range(251)) * (size // 251 + 1)
    (tmp_path / "a").write_bytes(data[:size])
    expected = "sha256:" + hashlib.sha256(data[:size]).hexdigest()
    assert expected == digest_of(tmp_path / "a") == digest_of(str(tmp_path / "a"))


def test_the_digest_of_a_directory_tells_names_and_contents(tmp_path, monkeypatch):
    """Any change of a data file changes it; the order on the disk and other files do not."""

    def made(files):
        shutil.rmtree(tmp_path / "d", ignore_errors=True)
        for name, data in files:
            path = tmp_path / "d" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return digest_of(tmp_path / "d")

    files = [("a.parquet", b"1"), ("b.parquet", b"2"), ("y=1/a.parquet", b"3")]
    digest = made(files)
    assert digest == made(files[::-1])
    others = ["_SUCCESS", ".a.crc", "_log/a.parquet", "a.parquet.rrstats-ledger.json"]
    assert digest == made([*files, *((name, b"x") for name in others)])
    assert digest.startswith("sha256:")
    others = [
        made(files[:2]),
        made([("a.parquet", b"2"), ("b.parquet", b"1"), files[2]]),
        made([("c.parquet", b"1"), *files[1:]]),
        made([*files[:2], ("y=2/a.parquet", b"3")]),
        made([*files, ("z.parquet", b"")]),
    ]
    assert len(others) == len({*others, digest}) - 1
    made(files)
    walk = os.walk
    monkeypatch.setattr(
        os, "walk", lambda *a, **o: ((f, d, files[::-1]) for f, d, files in walk(*a, **o))
    )
    assert digest == digest_of(tmp_path / "d")


# -- what a receipt adds up ------------------------------------------------------------------------

TWO = {"smoker": rr.KRR(["yes", "no"], 0.75), "drinks": rr.KRR(["never", "once", "often"], 0.5)}


def published(source, name, target, **options):
    """The receipt of one column of a file."""
    path = source.with_name(target)
    return rr.files.privatize_file(source, path, {name: TWO[name]}, unknown="uniform", **options)


@pytest.fixture
def survey(tmp_path):
    """A file of 40 people."""
    path = tmp_path / "survey.csv"
    path.write_text("smoker,drinks,age\n" + "yes,never,31\nno,once,42\n" * 20)
    return path


def test_a_receipt_adds_up_all_columns_that_were_released_before(survey):
    """In other files too, each release once, and those that the source itself records."""
    smoker, drinks = (mechanism.epsilon for mechanism in TWO.values())
    assert smoker == published(survey, "smoker", "one.csv").epsilon_per_row
    columns = {"drinks": TWO["drinks"]}
    planned = preview_file(survey, survey.with_name("two.csv"), columns)["epsilon_per_row"]
    second = published(survey, "drinks", "two.csv")
    assert total_epsilon([smoker, drinks]) == second.epsilon_per_row == planned
    assert second.to_dict()["epsilon_per_row"] == second.epsilon_per_row
    assert f"a row spends epsilon {round_up(smoker + drinks)}; " in repr(second)
    third = published(survey, "drinks", "three.csv", again=True)
    assert total_epsilon([smoker, drinks, drinks]) == third.epsilon_per_row
    # One more step: what the source records was released before, by another ledger.
    chained = published(survey.with_name("one.csv"), "drinks", "four.csv")
    assert total_epsilon([smoker, drinks]) == chained.epsilon_per_row


def test_a_receipt_counts_one_plan_once_and_a_frame_with_its_ledger(survey):
    """Columns of a plan share one epsilon in the total of the ledger, too; saving again is free."""
    columns = {"smoker": ["yes", "no"], "drinks": TWO["drinks"].categories}
    plan = rr.planning.FramePlan(columns, 1.5, ["smoker", ("smoker", "drinks")])
    receipt = rr.files.privatize_file(survey, survey.with_name("one.csv"), plan)
    assert 1.5 == receipt.epsilon_per_row
    frame = pd.read_csv(survey).astype({"age": object})
    released = frame.rr.privatize("age", ["31", "42"], 0.75, unknown="uniform")
    for _ in range(2):
        saved = released.rr.to_csv(survey.with_name("two.csv"), source=survey, overwrite=True)
        assert total_epsilon([1.5, YES_NO.epsilon]) == saved.epsilon_per_row
    assert YES_NO.epsilon == released.rr.to_csv(survey.with_name("three.csv")).epsilon_per_row


@pytest.mark.parametrize("seed", range(3))
def test_no_receipt_is_below_the_epsilon_of_its_target(tmp_path, seed):
    """Whatever was released before, from whichever file: the target tells its own epsilon."""
    choose = random.Random(seed)
    columns = ["a", "b", "c"]
    pd.DataFrame(dict.fromkeys(columns, ["x", "y"] * 4)).to_parquet(tmp_path / "0.parquet")
    for number in range(1, 10):
        source = tmp_path / f"{choose.randrange(number)}.parquet"
        target = tmp_path / f"{number}.parquet"
        mechanisms = {
            name: rr.KRR(["x", "y"], epsilon=choose.choice([0.01, 0.1, 1, 10]))
            for name in choose.sample(columns, choose.randint(1, 2))
        }
        preview = preview_file(source, target, mechanisms, again=True)
        receipt = rr.files.privatize_file(source, target, mechanisms, again=True)
        told = rr.files.read(target).rr.epsilon
        assert told <= receipt.epsilon_per_row
        assert receipt.epsilon_per_row == receipt.to_dict()["epsilon_per_row"]
        assert receipt.epsilon_per_row == preview["epsilon_per_row"]
        page = rr.files.sign_off(source)
        assert f"together: {round_up(receipt.epsilon_per_row)}." in page


def test_a_receipt_counts_what_a_target_takes_along_under_a_name_of_the_ledger(survey):
    """Of a file with reports at epsilon 10, one column was released again, then another."""
    answers = rr.KRR(["yes", "no"], epsilon=10)
    first = survey.with_name("one.csv")
    rr.files.privatize_file(survey, first, {"smoker": answers})
    weaker = {"smoker": rr.KRR(["yes", "no"], epsilon=0.01)}
    rr.files.privatize_file(first, survey.with_name("two.csv"), weaker, again=True)
    third = published(first, "drinks", "three.csv")
    assert answers.epsilon + TWO["drinks"].epsilon <= third.epsilon_per_row < 11


# -- columns under other names ---------------------------------------------------------------------


def test_a_renamed_column_of_a_known_source_is_asked_about(survey):
    """The source has lost a released column and has a new one: they may be the same answers."""
    published(survey, "smoker", "one.csv")
    before = Ledger.of(survey).path.read_bytes()
    survey.write_text(survey.read_text().replace("smoker", "smokes"))
    columns = {"smokes": TWO["smoker"]}
    target = survey.with_name("two.csv")
    release_it = partial(rr.files.privatize_file, survey, target, columns)
    message = (
        r"\['smoker'\], released before, are no columns of the source any more: \['smokes'\] may "
        r"hold the same answers under another name.*give again=True"
    )
    with pytest.raises(SecondReleaseError, match=message):
        release_it()
    assert before == Ledger.of(survey).path.read_bytes()
    assert not target.exists()
    receipt = release_it(again=True)
    assert total_epsilon([YES_NO.epsilon] * 2) == receipt.epsilon_per_row
    # Known by both names now, so that each is refused by its own.
    with pytest.raises(SecondReleaseError, match="'smokes' was released once before"):
        release_it(overwrite=True)


@pytest.mark.parametrize("how", ["source", "ledger", "unreadable source"])
def test_a_column_renamed_in_a_frame_is_asked_about(survey, how):
    """By the columns of the source, or by those of the frame if the source cannot be read."""
    frame = pd.read_csv(survey)
    told = {"source": survey}
    if how == "ledger":
        told = {"ledger": survey.with_name("book.json")}
    if how == "unreadable source":
        told = {"source": survey.rename(survey.with_name("survey.sav"))}
    frame.rr.privatize("smoker", TWO["smoker"]).rr.to_csv(survey.with_name("one.csv"), **told)
    renamed = frame.rename(columns={"smoker": "smokes"}).rr.privatize("smokes", TWO["smoker"])
    target = survey.with_name("two.csv")
    with pytest.raises(SecondReleaseError, match=r"\['smokes'\] may hold the same answers under"):
        renamed.rr.to_csv(target, **told)
    assert not target.exists()
    renamed.rr.to_csv(target, **told, again=True)
    renamed.rr.to_csv(target, **told, overwrite=True)  # saved once more, not released again


def test_other_columns_of_a_known_source_are_not_asked_about(survey):
    """Of the file, of a frame with all columns, and of a frame with some of them."""
    published(survey, "smoker", "one.csv")
    published(survey, "drinks", "two.csv")
    frame = pd.read_csv(survey)[["age"]].astype(str)
    saved = frame.rr.privatize("age", ["31", "42"], 0.75)
    saved.rr.to_csv(survey.with_name("three.csv"), source=survey)
    assert 3 == len(Ledger.of(survey).releases)


# -- simulated noise -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("ledger", ["source", None])
def test_a_simulated_release_is_void_in_receipt_and_ledger_and_saving_it_warns(
    survey, ending, ledger
):
    """A few known answers give the seed, and then all others: no finite epsilon holds."""
    simulated = pd.read_csv(survey).rr.simulate("smoker", TWO["smoker"], seed=1)
    target = survey.with_name(f"out{ending}")
    told = {} if ledger is None else {"source": survey}
    with pytest.warns(SimulationWarning, match="never release these reports"):
        receipt = getattr(simulated.rr, f"to_{ending[1:]}")(target, **told)
    assert (math.inf, ("smoker",)) == (receipt.epsilon_per_row, receipt.void)
    assert math.inf == receipt.account["smoker"][1]
    document = json.loads(json.dumps(receipt.to_dict(), allow_nan=False))
    (column,) = document["columns"]
    assert {"inf"} == {column["epsilon"], column["epsilon_of_all_releases"]}
    assert ("inf", ["smoker"]) == (document["epsilon_per_row"], document["void"])
    assert 2 == repr(receipt).count("void: the noise was simulated, so it protects nobody")
    if ledger is None:
        return
    assert math.inf == Ledger.of(survey).epsilon("smoker")
    assert '"smoker": "inf"' in Ledger.of(survey).path.read_text()
    with pytest.raises(SecondReleaseError, match="epsilon inf, void: the noise was simulated"):
        published(survey, "smoker", "two.csv")
    other = published(survey, "drinks", "two.csv")  # of the same people
    assert (math.inf, ("smoker",)) == (other.epsilon_per_row, other.void)


def test_a_release_warns_of_simulated_reports_that_its_source_holds(survey):
    """They are in the target too; with warnings as errors nothing is published."""
    simulated = pd.read_csv(survey).rr.simulate("smoker", TWO["smoker"], seed=1)
    source = survey.with_name("simulated.csv")
    with pytest.warns(SimulationWarning):
        simulated.rr.to_csv(source)
    before = names(survey.parent)
    release_drinks = partial(published, source, "drinks", "out.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(SimulationWarning, "never release these reports", release_drinks)
    assert before == names(survey.parent)
    with pytest.warns(SimulationWarning) as caught:
        receipt = release_drinks()
    assert (1, math.inf, ("smoker",)) == (len(caught), receipt.epsilon_per_row, receipt.void)


def test_with_warnings_as_errors_a_simulated_release_is_not_saved(survey):
    """The warning comes before anything is published or entered."""
    simulated = pd.read_csv(survey).rr.simulate("smoker", TWO["smoker"], seed=1)
    save = partial(simulated.rr.to_csv, survey.with_name("out.csv"), source=survey)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(SimulationWarning, "never release these reports", save)
    assert ["survey.csv"] == names(survey.parent)


def test_a_ledger_that_says_a_finite_epsilon_of_simulated_noise_is_read_as_void(survey):
    """Entries of earlier versions did; the larger number counts."""
    simulated = ColumnRecord.of("smoker", TWO["smoker"], simulated=True)
    release(Ledger.of(survey), simulated)
    path = Ledger.of(survey).path
    path.write_text(path.read_text().replace('"inf"', str(YES_NO.epsilon)))
    assert math.inf == Ledger.of(survey).epsilon("smoker")
