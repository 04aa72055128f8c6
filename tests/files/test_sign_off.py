"""The page on which releases are signed off: all of the ledger, and what it adds up to."""

import math

import pytest

import rrstats as rr
from rrstats.mechanisms.epsilon import round_up
from rrstats.mechanisms.records import ColumnRecord

pytest.importorskip("pyarrow")
ledgers = pytest.importorskip("rrstats.files.ledger")

SMOKER = ColumnRecord.of("smo|ker", rr.KRR(["yes", "no"], 0.75))
DRINKS = ColumnRecord.of("drinks", rr.KRR(["never", "once", "often"], 0.5))
TRIED = ColumnRecord.of("tried", rr.KRR(["yes", "no"], 0.75), simulated=True)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("smoker,drinks\nyes,never\n")
    return path


def release(source, *records, target="out.csv", ledger=None):
    """A release that publishes nothing but the entry."""
    book = ledgers.Ledger.of(source, ledger)
    digest = ledgers.digest_of(book.source)
    with book.entry(records, target=target, digest=digest, rows=1234, again=True):
        pass


def rows_of(page, title):
    """The rows of the table below a heading, as lists of cells."""
    lines = page.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    lines = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_releases_and_columns_add_up(source):
    """Two columns, one of them twice: each column's sum, and the sum of the rows' epsilons."""
    release(source, SMOKER, DRINKS)
    release(source, SMOKER, target="again.csv")
    page = rr.files.sign_off(source, made="2026-11-23", contact="Data *office*")
    assert page.startswith("# Releases of survey.csv\n")
    assert f"Page of 2026-11-23, written by rrstats {rr.__version__}. Contact: Data " in page
    assert "for those who decide, not to publish" in page
    first, second = rows_of(page, "Releases")
    assert first[1:4] == ["out.csv", "1,234", "smo\\|ker, drinks"]
    # ln 3 and ln 2: one report of each.
    assert first[4] == round_up(math.log(6))
    assert second[1:] == ["again.csv", "1,234", "smo\\|ker", round_up(math.log(3))]
    columns = {name: rest for name, *rest in rows_of(page, "Columns")}
    assert columns == {
        "smo\\|ker": ["2", round_up(2 * math.log(3))],
        "drinks": ["1", round_up(math.log(2))],
    }
    text = "would have stopped a release of smo\\|ker, drinks: that it exists says that there were"
    assert text in " ".join(page.split())
    total = round_up(math.log(18))
    assert f"all its reports in all releases together: {total}." in page
    assert "a person if each person has one row" in " ".join(page.split())
    deployments = rows_of(page, "Known deployments beside it")
    assert ["these releases together", "a row", total] in deployments
    assert len(deployments) == len(rr.privacy.deployments()) + 1
    epsilons = [float(cell.replace("infinite", "inf")) for _, _, cell in deployments]
    assert epsilons == sorted(epsilons)


def test_a_release_that_replaces_answers_tells_nothing_of_them(source):
    """The sentence on refused answers names the columns that refuse, and no others."""
    facts = {"unknown": "uniform"}
    release(source, ColumnRecord.of("drinks", rr.KRR(["never", "once"], 0.7), **facts))
    assert "would have stopped" not in rr.files.sign_off(source)
    release(source, SMOKER)
    page = " ".join(rr.files.sign_off(source).split())
    assert "would have stopped a release of smo\\|ker: that it exists" in page


def test_a_simulated_release_is_void(source):
    """Nothing adds up to a number once the noise of a column was simulated."""
    release(source, SMOKER)
    release(source, TRIED)
    page = rr.files.sign_off(source)
    assert "NOT PROTECTED" in page
    assert rows_of(page, "Releases")[1][-1].startswith("void")
    assert {name: cells[-1][:4] for name, *cells in rows_of(page, "Columns")}["tried"] == "void"
    assert "together: infinite: no protection is proven." in page
    assert "No contact is named." in page


def test_a_ledger_elsewhere_and_html(source, tmp_path):
    """The place of the ledger is an argument; the HTML loads nothing and escapes markup."""
    place = tmp_path / "elsewhere.json"
    release(source, SMOKER, ledger=place)
    with pytest.raises(rr.errors.FileError, match="records no release"):
        rr.files.sign_off(source)
    page = rr.files.sign_off(source, ledger=place, contact="<b>").to_html()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    with pytest.raises(rr.errors.ArgumentTypeError, match="takes no format: the ending"):
        rr.files.sign_off(source, ledger=place, format="html")


@pytest.fixture
def days(tmp_path):
    """Three daily files, two of them released one by one, the first of these twice."""
    folder = tmp_path / "days"
    for name in ("monday.csv", "late/tuesday.csv", "wednesday.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"smoker,drinks\nyes,never\n{name},once\n")
    release(folder / "monday.csv", SMOKER)
    release(folder / "monday.csv", SMOKER)
    release(folder / "late/tuesday.csv", DRINKS)
    return folder


def test_files_of_a_folder_add_up_for_a_person(days):
    """Each file has its epsilon, and a person the sum, unless nobody is in two of them."""
    expected = [["late/tuesday.csv", math.log(2)], ["monday.csv", 2 * math.log(3)]]
    files = [days / "late/tuesday.csv", days / "monday.csv"]
    for path in (days, files, [days / "late", days / "monday.csv"]):
        page = rr.files.sign_off(path)
        assert page.startswith("# Releases of 2 files\n")
        assert rows_of(page, "Files") == [[name, round_up(epsilon)] for name, epsilon in expected]
        assert 3 == len(rows_of(page, "Releases"))
        total = round_up(math.log(18))
        assert f"over all files and releases: {total}." in page
        assert "one row in each file" in page
        assert ["these releases together", "a person", total] in rows_of(
            page, "Known deployments beside it"
        )
        page = rr.files.sign_off(path, one_file_per_person=True)
        assert f"over all files and releases: {round_up(math.log(9))}." in page
        assert "the caller of this page says that nobody has rows in two files" in " ".join(
            page.split()
        )


def test_a_release_of_the_folder_counts_for_each_of_its_files(days):
    """A folder with a release of its own is one source, whose files count in its total."""
    release(days, SMOKER)
    assert f"together: {round_up(math.log(54))}." in rr.files.sign_off(days)
    page = rr.files.sign_off([days / "late/tuesday.csv", days / "monday.csv"])
    assert 4 == len(rows_of(page, "Releases"))
    told = dict(rows_of(page, "Files"))
    assert told["late/tuesday.csv"] == round_up(math.log(6))
    assert told["monday.csv"] == round_up(math.log(27))


def test_a_file_without_a_release_is_named(days):
    """Of several, too; and one ledger is for one source."""
    with pytest.raises(rr.errors.FileError, match=r"no release of .*wednesday\.csv"):
        rr.files.sign_off([days / "monday.csv", days / "wednesday.csv"])
    with pytest.raises(rr.errors.ArgumentTypeError, match="ledger is for one source, found 2"):
        rr.files.sign_off([days / "monday.csv", days / "late"], ledger=days / "book.json")
    with pytest.raises(rr.errors.ArgumentValueError, match="at least one source"):
        rr.files.sign_off([])


def test_a_source_that_cannot_be_read_is_said(days):
    """Its ledger is there, but nobody knows which reports it held before."""
    assert "cannot be read here" not in rr.files.sign_off(days)
    (days / "monday.csv").unlink()
    page = rr.files.sign_off(days / "monday.csv")
    assert "Some source cannot be read here" in page
    assert f"together: {round_up(math.log(9))}." in page


def test_a_source_that_is_not_there_is_said(tmp_path):
    """A misspelt path is no source without releases: the message says that the file is absent."""
    with pytest.raises(rr.errors.FileError, match=r"found no file .*nothere\.csv and no ledger"):
        rr.files.sign_off(tmp_path / "nothere.csv")
