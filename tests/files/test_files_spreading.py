"""Parts written by tasks of an engine: however often each is tried, one attempt is published.

The engines here are plain functions that run tasks in this process, and misbehave as engines do.
"""

import json
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from refusals import refused

pa = pytest.importorskip("pyarrow")

import file_samples as samples  # all that follows needs pyarrow
import pyarrow.parquet as pq  # after importorskip
from catalogue import EXAMPLES  # after importorskip
from file_samples import KRR, WORDS, in_turn, paths_in, written  # after importorskip

import rrstats as rr  # after importorskip
from rrstats import files  # after importorskip
from rrstats.errors import (
    ArgumentValueError,
    FileError,
    RRStatsError,
    SecondReleaseError,
    UnknownAnswersError,
)
from rrstats.files.batches import anew  # after importorskip
from rrstats.files.privatize_file import (  # after importorskip
    TaskOutcome,
    privatize_by_tasks,  # after importorskip
)
from rrstats.mechanisms import records as column_records
from rrstats.mechanisms.epsilon import total_epsilon

PARTS = ["region=a/part-0.parquet", "region=b/x/part-0.pq", "z.parquet"]
OURS = ["_SUCCESS", "_rrstats.json"]


def release(source, run=in_turn, columns=None, **options):
    target = source.with_name("target")
    return privatize_by_tasks(source, target, columns or {"answer": KRR}, run, **options)


def nothing_there(source):
    """Whether a release left nothing: no target, nothing half-written, no entry."""
    return samples.names(source.parent) == [source.name]


# -- what is published ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".parquet"])
def test_the_directory_holds_each_part_once_and_says_how_it_was_made(tmp_path, ending):
    """Parts of the same names, the document in each and beside them, and _SUCCESS."""
    source = written(tmp_path, ending)
    seen = []
    receipt = release(source, progress=lambda rows, total: seen.append((rows, total)))
    target = tmp_path / "target"
    assert sorted([*OURS, *(PARTS if ending == "" else ["source.parquet"])]) == paths_in(target)
    before = samples.table()
    after = samples.read_directory(target)
    assert before.drop_columns("answer").equals(after.drop_columns("answer"))
    assert set(WORDS) == set(after.column("answer").to_pylist())
    assert before.column("answer") != after.column("answer")
    assert 500 == receipt.rows
    assert (500, 500) == seen[-1]
    assert {"answer": (1, KRR.epsilon)} == receipt.account
    assert json.loads((target / "_rrstats.json").read_text()) == column_records.write(
        receipt.records
    )
    assert receipt.records == files.describe_file(target)
    assert 500 == files.estimate_file(target)["answer"].tally.n
    assert {0o644} == {p.stat().st_mode & 0o777 for p in target.rglob("*") if p.is_file()}


def test_parts_share_no_noise_and_follow_the_distribution(tmp_path):
    """The same answers in two parts get independent reports.

    A correct sampler fails once in 1e9 runs for each of the two comparisons.
    """
    import chance

    source = tmp_path / "source"
    source.mkdir()
    truth = pa.table({"answer": pa.array(["no", "yes"] * 40_000)})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(truth, source / name)
    release(source, columns={"answer": rr.KRR(["no", "yes"], 0.75)})
    lies = [
        pa.compute.not_equal(
            pq.read_table(tmp_path / "target" / name).column("answer"), truth.column("answer")
        ).to_numpy()
        for name in ("a.parquet", "b.parquet")
    ]
    chance.assert_product(*(each.astype(int) for each in lies), [0.75, 0.25], [0.75, 0.25])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_mechanism_is_served_as_it_is_file_by_file(tmp_path, name):
    """What `privatize_file` does or refuses, tasks do or refuse, with the same words."""
    mechanism = EXAMPLES[name]()
    values = [v for v in mechanism.domain.categories if v is not None]
    try:
        cells = pa.array(values[::-1] * 4)
    except (pa.ArrowException, TypeError):
        cells = pa.array(["x"] * 4)
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"answer": cells}), source)
    found = []
    plain = partial(files.privatize_file, source, tmp_path / "alone.parquet")
    spread = partial(privatize_by_tasks, source, tmp_path / "target", run=in_turn)
    for call, ledger in ((plain, "alone.json"), (spread, "spread.json")):  # each has the first
        own: dict = {"columns": {"answer": mechanism}, "ledger": tmp_path / ledger}
        try:
            receipt = call(**own, unknown="uniform")
            place = receipt.target
            file = place if place.is_file() else place / "source.parquet"
            shape = pq.read_schema(file).remove_metadata()
            found.append((receipt.rows, receipt.records, receipt.epsilon_per_row, shape))
        except RRStatsError as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_what_all_parts_say_of_other_columns_is_said_of_the_directory(tmp_path):
    """An earlier column of reports counts for the epsilon of a row."""
    source = tmp_path / "source"
    source.mkdir()
    data = samples.with_document(
        samples.table().append_column("old", pa.array(["never"] * 500)), "old"
    )
    pq.write_table(data, source / "a.parquet")
    receipt = release(source)
    assert total_epsilon([KRR.epsilon] * 2) == receipt.epsilon_per_row
    document = json.loads((tmp_path / "target" / "_rrstats.json").read_text())
    assert ["old", "answer"] == [
        record.name for record in column_records.read({"rrstats": document})
    ]


# -- engines that try again, die, or lie ---------------------------------------------------


def test_of_two_attempts_one_is_published(tmp_path):
    """A speculative attempt that ends too leaves nothing, nor does one that never ends."""
    answers = pa.array(["never", "odd", None, "once", "once"] * 100)
    source = written(tmp_path, "", samples.table().set_column(1, "answer", answers))
    files_of = {}

    def run(calls):
        for place, call in reversed(list(enumerate(calls))):
            call()  # its worker is lost with the outcome
            first, second = call(), call()
            files_of[place] = first.file, second.file
            yield place, first
            yield place, second

    receipt = release(source, run, unknown="uniform")
    target = tmp_path / "target"
    assert sorted([*OURS, *PARTS]) == paths_in(target)
    assert [] == [p for p in target.rglob("*") if p.is_dir() and p.name.startswith(".")]
    assert (500, {"answer": {"unknown": 100, "missing": 100}}) == (receipt.rows, receipt.private)
    assert samples.table().column("id").equals(samples.read_directory(target).column("id"))
    assert all(one != other for one, other in files_of.values())


def test_a_late_attempt_changes_nothing(tmp_path):
    """An attempt that begins, or goes on, after the release finds no place to write to."""
    source = written(tmp_path, "")
    late = []

    def run(calls):
        late.extend(calls)
        yield from in_turn(calls)

    release(source, run)
    before = {p: p.read_bytes() for p in (tmp_path / "target").rglob("*") if p.is_file()}
    outcomes = [call() for call in late]
    assert [FileError] * 3 == [type(outcome.error) for outcome in outcomes]
    assert before == {p: p.read_bytes() for p in (tmp_path / "target").rglob("*") if p.is_file()}
    assert not (tmp_path / ".target.part").exists()


def _raises(calls):
    yield 0, calls[0]()
    raise RuntimeError("PRIVATE never")


def _forgets(calls):
    yield from list(in_turn(calls))[:-1]


def _lies(calls):
    for place, outcome in in_turn(calls):
        yield place, TaskOutcome(outcome.seen, "nothing.parquet")


def _truncates(calls):
    for place, call in enumerate(calls):
        outcome = call()
        path = call.args[1] / outcome.file
        path.write_bytes(path.read_bytes()[:-20])
        yield place, outcome


def _swaps(calls):
    outcomes = dict(in_turn(calls))
    yield from zip([1, 2, 0], outcomes.values(), strict=True)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (_raises, "RuntimeError; its message is not shown"),
        (_forgets, "1 of 3 parts were not written, for example z.parquet"),
        (_lies, r"(?i)cannot read .*nothing\.parquet: .*no such file"),
        (_truncates, "truncated, damaged"),
        (_swaps, "^z.parquet has 167 rows instead of 166; nothing was published$"),
    ],
)
def test_an_engine_that_fails_leaves_nothing(tmp_path, run, why):
    """No target, nothing half-written, and no entry in the ledger; and no cell in the error."""
    source = written(tmp_path, "")
    with pytest.raises(FileError, match=why) as caught:
        release(source, run)
    assert nothing_there(source)
    assert "PRIVATE" not in str(caught.value)
    assert caught.value.__context__ is None or "PRIVATE" not in str(caught.value.__context__)


def test_a_task_that_fails_leaves_nothing_and_stops_the_engine(tmp_path):
    """A damaged part is told by its name, and the engine is closed before its end."""
    source = written(tmp_path, "")
    path = source / PARTS[1]
    damaged = bytearray(path.read_bytes())
    damaged[60:400] = bytes(340)
    path.write_bytes(damaged)
    told = []

    def run(calls):
        try:
            yield from in_turn(calls)
        finally:
            told.append("closed")

    with pytest.raises(FileError, match=r"part-0\.pq as a Parquet file: it is truncated, damaged"):
        release(source, run)
    assert nothing_there(source)
    assert ["closed"] == told


# -- refused before anything is published --------------------------------------------------


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        ({}, "^100 of 500 answers of column 'answer' are not among the 3 .*100 more missing"),
        ({"missing": "keep"}, "^100 of 500 answers of column 'answer' are not among the 3 "),
        (
            {"unknown": "uniform", "missing": "raise"},
            "^100 of 500 answers of column 'answer' are missing",
        ),
    ],
)
def test_refused_answers_are_counted_over_all_parts(tmp_path, policies, why):
    """Each task runs once; the error counts, quotes none, and leaves nothing."""
    data = samples.table().set_column(
        1, "answer", pa.array(["never", "PRIVATE", None, "once", "once"] * 100)
    )
    source = written(tmp_path, "", data)
    calls_made = []

    def run(calls):
        calls_made.extend(calls)
        return in_turn(calls)

    assert "PRIVATE" not in refused(UnknownAnswersError, why, release, source, run, **policies)
    assert len(calls_made) == 3
    assert nothing_there(source)
    for part, name in zip(PARTS, "abc", strict=True):
        pq.write_table(pa.table({"answer": [WORDS["abc".index(name)]]}), source / part)
    assert 3 == release(source, unknown="raise", missing="raise").rows


def test_a_second_release_needs_a_word(tmp_path):
    """The ledger beside the source knows releases by engines and by files alike."""
    source = written(tmp_path, "")
    release(source)
    with pytest.raises(SecondReleaseError, match="released once before"):
        files.privatize_file(source, tmp_path / "other", {"answer": KRR})
    refused(SecondReleaseError, "released once before", release, source, overwrite=True)
    again = release(source, overwrite=True, again=True, unknown="uniform")
    assert 2 == again.account["answer"][0]
    assert sorted([*OURS, *PARTS]) == paths_in(tmp_path / "target")


def test_places_that_tasks_cannot_share_are_refused(tmp_path):
    """Remote names, files as targets, and other formats, each with a next step."""
    source = written(tmp_path, ".parquet")
    go = partial(privatize_by_tasks, columns={"answer": KRR}, run=in_turn)
    with pytest.raises(ArgumentValueError, match=r"source must end in .*s3:/bucket/in"):
        go("s3://bucket/in", tmp_path / "target")
    refused(FileError, r"the folder .* is not there", go, source, "s3://bucket/out")
    refused(TypeError, "PathLike", go, source, 7)
    with pytest.raises(ArgumentValueError, match="without the ending of a file"):
        go(source, tmp_path / "out.parquet")
    refused(ArgumentValueError, "nor contain it", go, source, tmp_path)
    refused(TypeError, "rng", go, source, tmp_path / "target", rng=np.random.default_rng(1))


def test_errors_of_others_are_told_without_their_text():
    """Ours come anew, an error of the system with its reason, any other by its type."""
    try:
        raise FileError("the disk is full")
    except FileError as error:
        ours = anew(error, "it")
    assert ("the disk is full", None) == (str(ours), ours.__traceback__)
    assert "it failed: no space left on device; nothing was published" == str(
        anew(OSError(28, "PRIVATE"), "it")
    )
    told = str(anew(KeyError("PRIVATE"), "it"))
    assert "KeyError" in told
    assert "PRIVATE" not in told
    assert "all workers see" in str(anew(FileNotFoundError(2, "No such file"), "it"))


def test_a_task_says_nothing_of_data_or_keys(tmp_path):
    """What goes to an engine holds declarations alone; nothing is warned where a task runs."""
    data = samples.table().set_column(1, "answer", pa.array(["PRIVATE"] * 500))
    source = written(tmp_path, "", data)

    def run(calls):
        for place, call in enumerate(calls):
            assert b"PRIVATE" not in pickle.dumps(call)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                outcome = call()
            assert "500" not in repr(outcome.seen.unknown)
            assert "PRIVATE" not in repr(outcome) + repr(call)
            assert b"PRIVATE" not in pickle.dumps(outcome)
            yield place, outcome

    release(source, run, unknown="uniform")
