"""New files of a folder that was released: added alone, or refused with the rule that is broken."""

import json
import shutil

import pandas as pd
import pytest

import rrstats as rr

pytest.importorskip("pyarrow")
from rrstats import files
from rrstats.files.atomic import Publication
from rrstats.files.ledger import Ledger
from rrstats.files.privatize_file import preview_file

COIN = rr.KRR(["no", "yes"], 0.75)


def put(folder, name, rows=40):
    """A file of answers; its name stands in it, so that no two files are equal."""
    data = pd.DataFrame({"answer": ["no", "yes"] * (rows // 2), "day": name})
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    data.to_parquet(folder / name)


@pytest.fixture
def released(tmp_path):
    """A folder of two files, released to ``out``."""
    for name in ("a.parquet", "deep/b.parquet"):
        put(tmp_path / "daily", name)
    files.privatize_file(tmp_path / "daily", tmp_path / "out", {"answer": COIN})
    return tmp_path


def release(folder, **options):
    """The same call again."""
    return files.privatize_file(folder / "daily", folder / "out", {"answer": COIN}, **options)


def contents(folder):
    """The bytes of all files of the target, and of the ledger."""
    target = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: data for name, data in target.items() if name.parts[0] != "daily"}


def test_only_new_files_are_released_and_old_reports_stay(released):
    """Old files keep every byte; the new ones enter the ledger with their own digests."""
    before = contents(released)
    put(released / "daily", "c.parquet", 60)
    put(released / "daily", "deep/d.parquet", 20)
    receipt = release(released)
    after = contents(released)
    assert 80 == receipt.rows
    assert {k: after[k] for k in before if k.parts[0] == "out"} == {
        k: data for k, data in before.items() if k.parts[0] == "out"
    }
    frame = files.read(released / "out")
    assert {"a.parquet", "deep/b.parquet", "c.parquet", "deep/d.parquet"} == set(frame["day"])
    assert 160 == frame.rr.estimate()["answer"].n
    first, second = Ledger.of(released / "daily").releases
    assert {"a.parquet", "deep/b.parquet"} == set(first.files)
    assert {"c.parquet", "deep/d.parquet"} == set(second.files)
    assert (80, 80) == (first.rows, second.rows)
    put(released / "daily", "e.parquet")
    assert 40 == release(released).rows


def test_the_receipt_has_the_epsilon_of_a_person_in_each_release(released):
    """Two releases of the same people add up; the note says what was added."""
    put(released / "daily", "c.parquet")
    receipt = release(released)
    assert (2, receipt.epsilon_per_row) == receipt.account["answer"]
    assert 2 * COIN.epsilon == pytest.approx(receipt.epsilon_per_row)
    (note,) = receipt.notes
    assert note.startswith("1 file was added to the 2 released before")
    assert "a person with a row in each of the 2 releases" in note
    assert [note] == receipt.to_dict()["notes"]


def changed(folder):
    put(folder / "daily", "a.parquet", 44)


def renamed(folder):
    (folder / "daily/a.parquet").rename(folder / "daily/z.parquet")


def removed(folder):
    (folder / "daily/a.parquet").unlink()


def compacted(folder):
    parts = [folder / "daily/a.parquet", folder / "daily/deep/b.parquet"]
    pd.concat(map(pd.read_parquet, parts), ignore_index=True).to_parquet(
        folder / "daily/all.parquet"
    )
    for part in parts:
        part.unlink()


def copied(folder):
    shutil.copy(folder / "daily/a.parquet", folder / "daily/z.parquet")


def twice(folder):
    shutil.copy(folder / "daily/c.parquet", folder / "daily/y.parquet")


def by_itself(folder):
    source = folder / "daily/c.parquet"
    files.privatize_file(source, folder / "c.parquet", {"answer": COIN}, again=True)


def there_already(folder):
    shutil.copy(folder / "out/a.parquet", folder / "out/c.parquet")


def gone(folder):
    shutil.rmtree(folder / "out")


def without_files(folder):
    path = folder / "daily.rrstats-ledger.json"
    document = json.loads(path.read_text())
    for entry in document["releases"]:
        del entry["files"]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (changed, "every released file is there unchanged, and 1 of 2 are not"),
        (renamed, "every released file is there unchanged, and 1 of 2 are not"),
        (removed, "every released file is there unchanged, and 1 of 2 are not"),
        (compacted, "every released file is there unchanged, and 2 of 2 are not"),
        (copied, "each new file has new content, found 1 copy of another"),
        (twice, "each new file has new content, found 1 copy of another"),
        (by_itself, "the ledger of the folder alone knows the released files"),
        (there_already, "the target has no file of a new name"),
        (gone, "the target is that of the earlier release"),
        (without_files, "the ledger of the folder alone knows the released files"),
    ],
)
def test_everything_else_is_refused_and_nothing_changes(released, change, rule):
    """Noise of rows that were released before would average out."""
    put(released / "daily", "c.parquet")
    change(released)
    before = contents(released)
    for attempt in (release, lambda folder: release(folder, unknown="raise")):
        with pytest.raises(
            rr.errors.RRStatsError, match=r"was released (once|2 times) before"
        ) as error:
            attempt(released)
        if attempt is release:
            assert rule in str(error.value)
    assert before == contents(released)


def test_another_design_or_target_or_no_new_file_is_refused(released):
    """The same columns, design and target; a run with nothing new is a second release."""
    before = contents(released)
    with pytest.raises(rr.errors.RRStatsError, match="all 2 were released before"):
        release(released)
    put(released / "daily", "c.parquet")
    for target, columns, options, rule in (
        ("out", {"answer": rr.KRR(["no", "yes"], 0.9)}, {}, "the design is that"),
        ("out", {"answer": COIN}, {"unknown": "raise"}, "the design is that"),
        ("out", {"answer": COIN, "day": rr.KRR(["x", "y"], 0.9)}, {}, "the same columns"),
        ("new", {"answer": COIN}, {}, "the target is that"),
    ):
        with pytest.raises(rr.errors.RRStatsError, match=rule):
            files.privatize_file(released / "daily", released / target, columns, **options)
    assert before == contents(released)
    assert 120 == release(released, again=True, overwrite=True).rows


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_target_and_ledger_are_as_before(released, monkeypatch, error):
    """A new file is released with all of the target, or not at all; the next run does it."""
    before = contents(released)
    put(released / "daily", "c.parquet")

    def fail(publication):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Publication, "publish", fail)
        with pytest.raises(error):
            release(released)
    assert before == contents(released)
    assert 40 == release(released).rows


def test_of_two_simultaneous_runs_one_adds_the_file(released, monkeypatch):
    """The entry of the other run, made after this one looked, refuses this one."""
    put(released / "daily", "c.parquet")
    look = Ledger.addition
    state = {}

    def other_run_first(ledger, *arguments):
        addition = look(ledger, *arguments)
        if not state:
            state["receipt"] = True
            state["receipt"] = release(released)
        return addition

    monkeypatch.setattr(Ledger, "addition", other_run_first)
    with pytest.raises(rr.errors.RRStatsError, match="was released 2 times before"):
        release(released)
    assert 40 == state["receipt"].rows
    assert 2 == len(Ledger.of(released / "daily").releases)


def test_files_of_other_columns_are_named(released):
    """A file with one column more is refused by name; comparing the fields must not fail."""
    pd.DataFrame({"answer": ["no"], "day": ["c"], "more": [1]}).to_parquet(
        released / "daily/c.parquet"
    )
    with pytest.raises(rr.errors.RRStatsError, match=r"c\.parquet differs .*'more'"):
        release(released)


def test_a_preview_and_a_wrong_ledger(released):
    """A dry run shows the rows that would be added; file names of a ledger must have digests."""
    put(released / "daily", "c.parquet", 60)
    arguments = (released / "daily", released / "out", {"answer": COIN})
    preview = preview_file(*arguments)
    assert 60 == preview["rows"]
    path = released / "daily.rrstats-ledger.json"
    document = json.loads(path.read_text())
    document["releases"][0]["files"] = ["a.parquet"]
    path.write_text(json.dumps(document))
    with pytest.raises(rr.errors.RRStatsError, match="'files' must map names to digests"):
        release(released)
