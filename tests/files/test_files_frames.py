"""A released frame of pandas becomes a file that speaks for itself, and is spent once."""

import json

import pandas as pd
import pytest
from refusals import refused

pytest.importorskip("pyarrow")

import rrstats as rr
from rrstats import files
from rrstats.errors import ArgumentValueError, FileError, MetadataError, RRStatsError
from rrstats.errors import SecondReleaseError as Second
from rrstats.mechanisms import records as column_records

WORDS = ["never", "once", "often"]
ENDINGS = [".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "survey.csv"
    frame = pd.DataFrame({"answer": WORDS * 100, "age": range(300)})
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def released(source):
    return pd.read_csv(source).rr.privatize("answer", WORDS, 0.75)


def entries(source):
    return json.loads(source.with_name(f"{source.name}.rrstats-ledger.json").read_text())[
        "releases"
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_saved_frame_is_estimated_without_parameters(released, tmp_path, ending):
    """The estimate of the file is that of the frame; other columns stay."""
    path = tmp_path / f"out{ending}"
    save = released.rr.to_parquet if ending == ".parquet" else released.rr.to_csv
    receipt = save(path)
    assert (300, None) == (receipt.rows, receipt.ledger)
    assert "entered in no ledger" in repr(receipt)
    found = files.estimate_file(path)["answer"]
    assert released.rr.estimate("answer").proportions.tolist() == found.proportions.tolist()
    assert column_records.read(released.attrs) == files.describe_file(path)
    if ending == ".parquet":
        pd.testing.assert_frame_equal(released, pd.read_parquet(path), check_dtype=False)
    beside = path.with_name(f"{path.name}.rrstats.json")
    assert beside.exists() == (ending != ".parquet")


def test_saving_one_release_twice_is_one_spending(released, source, tmp_path):
    """In either format, and from a file that was read back; another draw is another release."""
    first = released.rr.to_csv(tmp_path / "a.csv", source=source)
    again = released.rr.to_parquet(tmp_path / "a.parquet", source=source)
    back = pd.read_parquet(tmp_path / "a.parquet")
    back.rr.to_csv(tmp_path / "b.csv", source=source)
    assert 1 == len(entries(source))
    assert (1, 1) == (first.account["answer"][0], again.account["answer"][0])
    other = pd.read_csv(source).rr.privatize("answer", WORDS, 0.75)
    with pytest.raises(Second):
        other.rr.to_csv(tmp_path / "c.csv", source=source)
    assert not (tmp_path / "c.csv").exists()
    receipt = other.rr.to_csv(tmp_path / "c.csv", source=source, again=True)
    assert 2 == receipt.account["answer"][0] == len(entries(source))
    with pytest.raises(Second):
        files.privatize_file(source, tmp_path / "d.csv", {"answer": rr.KRR(WORDS, 0.75)})


def test_a_frame_with_one_more_private_column_is_another_release(source, tmp_path):
    """Though pandas hands the id on with the attrs."""
    frame = pd.read_csv(source).assign(smoker=["yes", "no"] * 150)
    one = frame.rr.privatize("answer", WORDS, 0.75)
    one.rr.to_csv(tmp_path / "a.csv", source=source)
    two = one.rr.privatize("smoker", ["yes", "no"], 0.75)
    refused(Second, "answer", two.rr.to_csv, tmp_path / "b.csv", source=source)


def test_a_ledger_may_be_named_alone(released, tmp_path):
    """For a frame that was read from no file."""
    book = tmp_path / "people.rrstats-ledger.json"
    receipt = released.rr.to_csv(tmp_path / "a.csv", ledger=book)
    assert book == receipt.ledger
    released.rr.to_csv(tmp_path / "b.csv", ledger=book)
    assert 1 == len(json.loads(book.read_text())["releases"])


def test_a_failed_save_leaves_nothing(released, source, tmp_path):
    """No file, no sidecar, no entry."""
    before = sorted(tmp_path.iterdir())
    unary = pd.read_csv(source).rr.privatize(
        "answer", rr.mechanisms.UnaryEncoding(WORDS, 0.75, 0.25)
    )
    for save in (
        lambda: unary.rr.to_csv(tmp_path / "a.csv", source=source),
        lambda: released.rr.to_csv(tmp_path / "none" / "a.csv", source=source),
        lambda: released.rr.to_csv(tmp_path / "a.xlsx"),
        lambda: released.rr.to_csv(tmp_path / "a.feather"),
    ):
        with pytest.raises(RRStatsError):
            save()
    assert before == sorted(tmp_path.iterdir())
    released.rr.to_csv(tmp_path / "a.csv")
    refused(FileError, "exists", released.rr.to_csv, tmp_path / "a.csv")
    released.rr.to_csv(tmp_path / "a.csv", overwrite=True)


def test_a_frame_that_says_nothing_is_refused(source, tmp_path):
    """It may hold true answers."""
    raw = pd.read_csv(source)
    refused(MetadataError, "has no record", raw.rr.to_csv, tmp_path / "a.csv")
    refused(MetadataError, "has no record", files.statement_of, raw)
    with pytest.raises(ArgumentValueError):
        raw.rr.privatize("answer", WORDS, 0.75).rr.to_csv(tmp_path / "a.json")


def test_the_page_of_a_frame_is_that_of_its_file(released, tmp_path):
    """But for the file's name."""
    released.rr.to_parquet(tmp_path / "a.parquet")
    page = files.statement_of(released, made="2026-11-22")
    of_file = files.statement_of(tmp_path / "a.parquet", made="2026-11-22")
    assert "300" in page
    assert [] == [
        line for line in page.splitlines() if line.startswith("## ") and line not in of_file
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.rename(columns={"s": "t"}), "'s' that is not there"),
        (lambda frame: frame.assign(s=[0, 1] * 10), "the record of column 's' does not fit it"),
        (lambda frame: frame.assign(prob=0.9), "above the largest with which column 's'"),
        (lambda frame: frame.assign(rr_asked="t"), "it needs its name and the public column"),
    ],
    ids=["renamed", "numbers", "prob", "plan"],
)
def test_the_page_of_a_frame_is_refused_where_its_epsilon_is(change, words):
    """A page to publish promises nothing of a column that does not fit its record."""
    frame = pd.DataFrame({"s": ["yes", "no"] * 10, "t": ["no", "yes"] * 10, "prob": 0.6})
    design = rr.planning.FramePlan({"s": ["yes", "no"], "t": ["yes", "no"]}, 1.0, [["s"], ["t"]])
    by_plan = frame.rr.privatize(design)
    by_row = frame.rr.privatize("s", ["yes", "no"], prob="prob")
    changed = change(by_plan if "needs its name" in words else by_row)
    refused(MetadataError, words, lambda: changed.rr.epsilon)
    refused(MetadataError, words, files.statement_of, changed)


def test_other_reports_are_another_release(tmp_path):
    """Fresh reports in a saved frame are refused as a release of their own."""
    source = tmp_path / "src.csv"
    frame = pd.DataFrame({"s": ["yes", "no"] * 50})
    frame.to_csv(source, index=False)
    released = frame.rr.privatize("s", ["yes", "no"], 0.55)
    released.rr.to_csv(tmp_path / "one.csv", source=source)
    released["s"] = frame["s"].rr.privatize(["yes", "no"], 0.55)
    with pytest.raises(rr.errors.SecondReleaseError):
        released.rr.to_csv(tmp_path / "other.csv", source=source)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_answers_in_the_place_of_reports_are_refused(tmp_path, ending):
    """Where a column was overwritten, and holds what no report is, its claim is not saved."""
    frame = pd.DataFrame({"s": ["yes", "no", "PRIVATE"] * 10, "age": range(30)})
    released = frame.rr.privatize("s", ["yes", "no"], 0.55, unknown="uniform")
    released["s"] = frame["s"]
    with pytest.raises(MetadataError, match="10 of 30 values in column 's' are none of") as caught:
        released.rr.to_csv(tmp_path / f"out{ending}")
    assert "PRIVATE" not in str(caught.value)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_reports_of_many_categories_are_saved_with_their_mechanism(tmp_path, ending):
    """Of more than 100 categories the frame has a fingerprint, which no answer can be held to."""
    many = rr.KRR([f"c{place}" for place in range(150)], 0.75)
    frame = pd.DataFrame({"s": ["c1", "c2", "PRIVATE"] * 10})
    released = frame.rr.privatize("s", many, unknown="uniform")
    with pytest.raises(MetadataError, match=r"'s' has more than 100 .* give the mechanism"):
        released.rr.to_csv(tmp_path / f"out{ending}")
    overwritten = released.assign(s=frame["s"])
    with pytest.raises(MetadataError, match="10 of 30 values in column 's' are none of"):
        overwritten.rr.to_csv(tmp_path / f"out{ending}", mechanisms={"s": many})
    assert [] == list(tmp_path.iterdir())
    released.rr.to_csv(tmp_path / f"out{ending}", mechanisms={"s": many})
    assert 30 == files.tally_file(tmp_path / f"out{ending}", "s", many).n


def test_what_no_bit_report_or_missing_one_is_refused(tmp_path):
    """Raw answers in the place of packed bits, or missing ones where the policy leaves none."""
    frame = pd.DataFrame({"q": ["no", "yes"] * 20})
    bits = frame.rr.privatize("q", rr.mechanisms.UnaryEncoding(["no", "yes"], 0.75, 0.25))
    bits["q"] = frame["q"].str.encode("ascii")
    with pytest.raises(MetadataError, match="40 of 40 values in column 'q' are none of its rep"):
        bits.rr.to_parquet(tmp_path / "bits.parquet")
    gone = frame.rr.privatize("q", ["no", "yes"], 0.75)
    gone.loc[3, "q"] = None
    refused(MetadataError, "1 of 40 values", gone.rr.to_csv, tmp_path / "gone.csv")
    assert [] == list(tmp_path.iterdir())


def test_bits_that_are_no_text_are_saved(tmp_path):
    """Eight categories and more: bytes from 128 on."""
    frame = pd.DataFrame({"q": list(range(8)) * 50})
    released = frame.rr.privatize("q", rr.mechanisms.UnaryEncoding(list(range(8)), 0.75, 0.25))
    released.rr.to_parquet(tmp_path / "bits.parquet")
    found = rr.files.estimate_file(tmp_path / "bits.parquet")["q"]
    assert released.rr.estimate("q").proportions.tolist() == found.proportions.tolist()
