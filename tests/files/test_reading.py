"""`files.read`: a released file as a frame with its records, and the types of text files."""

import numpy as np
import pandas as pd
import pytest

import rrstats as rr

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.feather
from file_samples import QUIET, simulate_file

from rrstats import files

DESIGNS = {
    "smoker": rr.KRR([False, True], 0.75),
    "score": rr.KRR([0.5, 1, 1.5], 0.75),
    "visits": rr.KRR([1, 2, 3], 0.75),
    "vote": rr.KRR(["yes, sure", "no"], 0.75),
    "ever": rr.KRR([True, False, None], 0.75),
}
N = 300


def answers():
    """One column of each kind that text can hold, and two public columns."""
    rng = np.random.default_rng(1)
    columns = {name: rng.choice(m.categories, N) for name, m in DESIGNS.items()}
    columns["visits"] = columns["visits"].astype(np.int64)
    columns["ever"] = pd.array(columns["ever"].tolist(), dtype="boolean")
    return pd.DataFrame({**columns, "age": rng.integers(18, 90, N), "town": ["é", "b"] * (N // 2)})


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_a_saved_frame_comes_back_with_its_types_and_its_record(tmp_path, ending):
    """One call gives what was saved: types, reports, public columns and the design."""
    released = answers().rr.privatize(DESIGNS)
    save = released.rr.to_parquet if ending == ".parquet" else released.rr.to_csv
    save(tmp_path / f"released{ending}")
    frame = files.read(tmp_path / f"released{ending}")
    pd.testing.assert_frame_equal(released, frame, check_dtype=ending != ".tsv.gz")
    assert released.rr.epsilon == frame.rr.epsilon
    assert DESIGNS == dict(frame.rr.mechanisms)
    expected = released.rr.estimate().to_frame()
    pd.testing.assert_frame_equal(expected, frame.rr.estimate().to_frame())


@pytest.mark.parametrize("plan", [["smoker", "score", "vote"], [("smoker", "visits"), "vote"]])
def test_plans_of_booleans_and_decimals_go_through_text(tmp_path, plan):
    """Cells that were not asked are missing, and the public column has its labels."""
    data = answers().drop(columns="ever")
    categories = {name: DESIGNS[name].categories for part in plan for name in np.atleast_1d(part)}
    designed = rr.planning.FramePlan(categories, 2, plan)
    released = data.rr.privatize(designed)
    released.rr.to_csv(tmp_path / "saved.csv")
    pd.testing.assert_frame_equal(released, files.read(tmp_path / "saved.csv"))
    data.to_csv(tmp_path / "in.csv", index=False)
    files.privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", designed)
    frame = files.read(tmp_path / "out.csv")
    assert list(map(str, released.dtypes)) == list(map(str, frame.dtypes))
    expected = files.estimate_file(tmp_path / "out.csv")
    found = frame.rr.estimate()
    for name, estimate in expected.items():
        assert estimate.proportions.tolist() == found[name].proportions.tolist()


@pytest.mark.parametrize("ending", [".parquet", ".feather", "folder"])
def test_files_of_arrow_types_and_folders_are_read(tmp_path, ending):
    """Types, index and attrs are those of the file; parts of a folder come one after another."""
    data = answers()[["smoker", "vote", "age"]].astype({"vote": "category"})
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    if ending == "folder":
        source.mkdir()
        data[:100].to_parquet(source / "a.parquet")
        data[100:].to_parquet(source / "b.parquet")
    else:
        data.to_parquet(source) if ending == ".parquet" else data.to_feather(source)
    designs = {name: DESIGNS[name] for name in ("smoker", "vote")}
    files.privatize_file(source, target, designs)
    frame = files.read(target)
    assert ["bool", "category", "int64"] == list(map(str, frame.dtypes))
    assert data["age"].tolist() == frame["age"].tolist()
    found = frame.rr.estimate()
    for name, estimate in files.estimate_file(target).items():
        assert estimate.tally.reported.tolist() == found[name].tally.reported.tolist()


def test_answers_of_text_files_are_booleans_and_decimals_in_their_usual_spellings(tmp_path):
    """TRUE, 1.50 and .5 are categories; 1 is no boolean, and 1_5 and nan are no numbers."""
    text = "a,b\nTrue,1.50\nfalse,.5\nTRUE,1e0\n1,1_5\n,nan\nyes,0.5000001\nFalse, 1\n"
    (tmp_path / "in.csv").write_text(text, "utf-8")
    designs = {"a": rr.KRR([False, True], 0.75), "b": rr.KRR([0.5, 1, 1.5], 0.75)}
    receipt = simulate_file(
        tmp_path / "in.csv", tmp_path / "out.csv", designs, rng=QUIET, unknown="uniform"
    )
    assert {"a": {"unknown": 2, "missing": 1}, "b": {"unknown": 3, "missing": 0}} == receipt.private
    frame = files.read(tmp_path / "out.csv")
    assert [np.dtype(bool), np.dtype(float)] == frame.dtypes.tolist()
    assert [True, False, True] == frame["a"].tolist()[:3]
    assert [1.5, 0.5, 1.0, 1.0] == frame["b"].tolist()[:3] + frame["b"].tolist()[-1:]
    assert (tmp_path / "out.csv").read_text("utf-8").startswith("a,b\nTrue,1.5\nFalse,0.5\n")
    unknown = files.check_file(tmp_path / "in.csv", "a", designs["a"])
    assert {"1", "yes", None} == set(unknown["value"])


def test_files_that_do_not_say_how_they_were_made_are_not_read(tmp_path):
    """The document that is missing is named; a cell that is no report is counted, not quoted."""
    released = answers()[["smoker", "age"]].rr.privatize("smoker", DESIGNS["smoker"])
    released.rr.to_csv(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text("utf-8")
    (tmp_path / "copy.csv").write_text(text, "utf-8")
    with pytest.raises(rr.errors.RRStatsError, match=r"copy\.csv\.rrstats\.json is not beside it"):
        files.read(tmp_path / "copy.csv")
    header, _, *rest = text.splitlines()
    for cell in ("SECRET", ""):
        (tmp_path / "out.csv").write_text("\n".join([header, f"{cell},31", *rest]), "utf-8")
        with pytest.raises(
            rr.errors.MetadataError, match=r"^1 of 300 cells in column 'smoker'"
        ) as e:
            files.read(tmp_path / "out.csv")
        assert "SECRET" not in str(e.value)
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "plain.parquet")
    with pytest.raises(rr.errors.RRStatsError, match="does not say that any column was privatized"):
        files.read(tmp_path / "plain.parquet")


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("kind", ["str", "category"])
def test_true_answers_under_a_record_are_not_read_as_reports(tmp_path, ending, kind):
    """pandas keeps the record when a column is filled anew; Arrow files are checked like text."""
    released = answers()[["vote", "age"]].rr.privatize("vote", DESIGNS["vote"])
    changed = released.assign(vote=["SECRET", *released["vote"][1:]]).astype({"vote": kind})
    assert "rrstats" in changed.attrs
    path = tmp_path / f"out{ending}"
    changed.to_parquet(path) if ending == ".parquet" else changed.to_feather(path)
    if ending == ".feather" and pd.__version__ < "3":
        pytest.skip("pandas 2 writes no attrs into Arrow files")
    with pytest.raises(rr.errors.MetadataError, match=r"^1 of 300 cells in column 'vote'") as e:
        files.read(path)
    assert "SECRET" not in str(e.value)


def test_reports_that_became_the_index_are_read(tmp_path):
    """The frame is as it was saved; its accessor says that the column is gone."""
    released = answers()[["vote", "age"]].rr.privatize("vote", DESIGNS["vote"])
    indexed = released.set_index("vote")
    indexed.to_parquet(tmp_path / "out.parquet")
    frame = files.read(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(indexed, frame)
    with pytest.raises(rr.errors.MetadataError, match="'vote' that is not there"):
        _ = frame.rr.epsilon


@pytest.mark.parametrize("missing", ["keep", "uniform"])
@pytest.mark.parametrize("name", ["smoker", "score", "visits", "vote"])
def test_reports_that_may_be_missing_are_reports(tmp_path, name, missing):
    """Missing cells are those of missing="keep"; pandas makes decimals of whole numbers then."""
    data = pa.table({name: pa.array([*answers()[name], None]), "age": range(N + 1)})
    pa.parquet.write_table(data, tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    files.privatize_file(tmp_path / "in.parquet", target, {name: DESIGNS[name]}, missing=missing)
    frame = files.read(target)
    assert (missing == "keep") == frame[name].isna().any()
    assert frame.rr.estimate()[name].n == N + (missing != "keep")


def test_a_boolean_column_beside_a_column_of_0_and_1_prints_true():
    """Labels of a combined table keep their types; pandas would make 1 of True."""
    frame = pd.DataFrame({"smoker": [True, False] * 50, "hiv": [0, 1] * 50})
    designs = {"smoker": rr.KRR([False, True], 0.75), "hiv": rr.KRR([0, 1], 0.75)}
    together = frame.rr.simulate(designs, seed=1).rr.estimate()
    assert ["False", "True", "0", "1"] == list(map(str, together.to_frame()["category"]))
    assert "smoker  True " in str(together)


# -- several files -----------------------------------------------------------------------------


@pytest.fixture
def days(tmp_path, request):
    """Two daily files that were released one by one, and the folder of their targets."""
    ending = request.getfixturevalue("ending")
    (tmp_path / "out").mkdir()
    for day in ("monday", "tuesday"):
        frame = answers()[["vote", "visits", "age", "town"]].assign(day=day)
        source = tmp_path / f"{day}{ending}"
        if ending == ".feather":
            frame.to_feather(source)
        elif ending == ".parquet":
            frame.to_parquet(source)
        else:
            frame.to_csv(source, index=False)
        release(source, tmp_path / "out" / f"{day}{ending}")
    return tmp_path / "out"


def release(source, target, vote=DESIGNS["vote"]):
    files.privatize_file(source, target, {"vote": vote, "visits": DESIGNS["visits"]}, again=True)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv", ".csv.gz"])
def test_files_that_were_released_one_by_one_are_read_as_one(days, ending):
    """A folder of them, or their paths: the same frame, estimates and records."""
    paths = [days / f"monday{ending}", days / f"tuesday{ending}"]
    each = pd.concat(map(files.read, paths), ignore_index=True)
    sums = {
        name: sum(files.tally_file(path, name) for path in paths) for name in ("vote", "visits")
    }
    for path in (days, paths, map(str, paths)):
        path = list(path) if isinstance(path, map) else path
        frame = files.read(path)
        pd.testing.assert_frame_equal(each, frame)
        estimates = files.estimate_file(path)
        for name, counted in sums.items():
            expected = rr.estimate(counted).proportions
            assert expected.tolist() == estimates[name].proportions.tolist()
            assert expected.tolist() == frame.rr.estimate(name).proportions.tolist()
            assert counted == files.tally_file(path, name)
        assert files.describe_file(paths[0]) == files.describe_file(path)
        groups = files.estimate_file(path, "vote", by="day")["vote"]
        assert ["monday", "tuesday"] == list(groups)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_files_with_unequal_records_are_named_with_what_differs(days, ending):
    """The mechanism's prob, a record that one file lacks, other columns, another format."""
    monday, tuesday = days / f"monday{ending}", days / f"tuesday{ending}"
    tuesday.unlink()
    release(days.with_name(tuesday.name), tuesday, rr.KRR(DESIGNS["vote"].categories, 0.8))
    unequal = (
        r"monday.* and tuesday.* of .* different records of column 'vote' \(prob 0.75 and 0.8\)"
    )
    for path in (days, [monday, tuesday]):
        for call in (files.read, files.estimate_file, files.describe_file):
            with pytest.raises(rr.errors.MetadataError, match=unequal):
                call(path)
        files.estimate_file(path, "visits")
    public = days.with_name(monday.name)  # not privatized
    with pytest.raises(rr.errors.MetadataError, match=rf"only out/monday\{ending} has one"):
        files.read([monday, public])
    other = days.with_name("other.csv")
    answers()[["vote", "visits"]].to_csv(other)
    if ending == ".csv":
        with pytest.raises(rr.errors.FileError, match="do not have the same columns"):
            files.read([monday, other])


@pytest.mark.parametrize("ending", [".csv"])
def test_a_file_that_is_named_twice_or_of_another_format_is_refused(days, ending):
    """Its rows would count twice; files of two formats are estimated separately."""
    monday = days / "monday.csv"
    with pytest.raises(rr.errors.ArgumentValueError, match=r"monday\.csv is named twice"):
        files.estimate_file([monday, days])
    with pytest.raises(rr.errors.ArgumentValueError, match="at least one file"):
        files.estimate_file([])
    files.read(monday).rr.to_parquet(days / "wednesday.parquet")
    with pytest.raises(rr.errors.FileError, match=r"wednesday\.parquet has another than"):
        files.estimate_file(days)


def test_a_day_without_people_changes_no_type(tmp_path):
    """A CSV file without rows has no types, whichever file comes first."""
    (tmp_path / "out").mkdir()
    for day, rows in (("1", 0), ("2", 20), ("3", 0), ("4", 20)):
        source = tmp_path / f"{day}.csv"
        answers().head(rows)[["vote", "visits", "age", "town"]].to_csv(source, index=False)
        release(source, tmp_path / "out" / source.name)
    some = [tmp_path / "out" / f"{day}.csv" for day in "124"]
    expected = files.read(some[1])
    frame = files.read(tmp_path / "out")
    assert 40 == len(frame)
    assert expected.dtypes.tolist() == frame.dtypes.tolist()
    pd.testing.assert_frame_equal(expected, files.read(some[:2]))
    assert 40 == files.estimate_file(some)["vote"].n
    assert [0, 2] == [len(files.read(some[0])), len(files.estimate_file(some))]
