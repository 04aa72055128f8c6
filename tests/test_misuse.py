"""Honest mistakes and hostile input that once told too much, or claimed too little."""

import decimal
import pathlib

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError
from rrstats.mechanisms import records as column_records
from rrstats.randomness.sources import FreshWords, Substream

YES_NO = rr.KRR(["yes", "no"], 0.75)


@pytest.mark.parametrize("wrap", [np.asarray, pd.Series])
def test_bool_arrays_with_other_bytes_are_answers_like_any_other(wrap):
    """A file read as bool may hold a 9: unknown, without an error that quotes it."""
    answers = wrap(np.array([0, 1, 1, 9], np.uint8).view(bool))
    reports = rr.privatize(answers, rr.KRR([False, True], 0.75), unknown="uniform")
    assert 4 == len(reports)
    with pytest.raises(rr.errors.UnknownAnswersError, match="1 of 4 answers"):
        rr.privatize(answers, rr.KRR([False, True], 0.75), unknown="raise")


@pytest.mark.parametrize("label", ["a", ("a", "")])
def test_an_index_with_the_answers_is_refused_in_every_form(label):
    """A Series whose index carries its name would release the answers in the index."""
    data = pd.DataFrame({"a": ["yes", "no", "yes"]}).set_index("a", drop=False)
    series = data["a"].rename(label)
    for call in (
        lambda: rr.privatize(series, YES_NO),
        lambda: series.rr.privatize(YES_NO),
        lambda: data.rr.privatize("a", YES_NO),
        lambda: data.set_index(["a", "a"], drop=False).rr.privatize("a", YES_NO),
    ):
        with pytest.raises(rr.errors.RRStatsError, match="the index is also named"):
            call()


def test_the_type_in_an_error_does_not_tell_the_longest_answer():
    """NumPy calls text of at most 18 letters <U18; the error says text."""
    answers = np.array(["yes", "a very long answer"])
    with pytest.raises(rr.errors.UnknownAnswersError, match="answer type: str") as caught:
        rr.privatize(answers, YES_NO, unknown="raise")
    assert "18" not in str(caught.value)


def test_reports_that_were_simulated_are_not_released_by_a_second_round():
    """Who knows the seed sees through the first round, so the chain's epsilon would be a lie."""
    frame = pd.DataFrame({"a": ["yes", "no"] * 50})
    simulated = frame.rr.simulate("a", rr.KRR(["yes", "no"], 0.6), seed=1)
    with pytest.raises(rr.errors.MetadataError, match="holds simulated reports"):
        simulated.rr.privatize("a", rr.KRR(["yes", "no"], 0.99), again=True)
    twice = simulated.rr.simulate("a", YES_NO, seed=2, again=True)
    assert column_records.find(twice.attrs, "a").simulated


def test_missing_kept_once_stays_out_of_the_counts():
    """A second round over reports with kept missing ones must keep them too."""
    frame = pd.DataFrame({"a": ["yes", None] * 50})
    once = frame.rr.privatize("a", YES_NO, missing="keep")
    with pytest.raises(rr.errors.RRStatsError, match="give missing='keep' again"):
        once.rr.privatize("a", YES_NO, again=True)
    twice = once.rr.privatize("a", YES_NO, again=True, missing="keep")
    assert 50 == twice["a"].isna().sum()


def test_two_waves_side_by_side_are_not_one():
    """Merged or concatenated releases keep equal attrs; their epsilon is then unknown."""
    frame = pd.DataFrame({"id": range(4), "a": ["yes", "no"] * 2})
    first, second = (frame.rr.privatize("a", YES_NO) for _ in range(2))
    for both in (
        first.merge(second, on="id", suffixes=("_1", "_2")),
        pd.concat([first[["a"]], second[["a"]]], axis=1),
    ):
        with pytest.raises(rr.errors.MetadataError, match="epsilon is unknown"):
            _ = both.rr.epsilon


def test_the_real_label_of_a_column_is_recorded():
    """pandas finds a Timestamp label by a string; the document names the label itself."""
    frame = pd.DataFrame({pd.Timestamp("2020-01-01"): ["yes", "no"]})
    with pytest.warns(rr.errors.UnrecordedWarning):
        out = frame.rr.privatize("2020-01-01", YES_NO)
    assert frame.columns.equals(out.columns)
    assert {} == out.attrs


@pytest.mark.parametrize("path", ["ill.csv", "ill.CSV.gz", "ill.dta", pathlib.Path("ill")])
def test_a_path_in_the_place_of_data_is_told_the_call_for_files(path):
    """A text may be one answer: it is never quoted, and others stay answers."""
    calls = {
        "privatize_file": lambda: rr.privatize(path, "a", ["no", "yes"], 0.75),
        r"privatize_file\(source, ": lambda: rr.simulate(path, ["no", "yes"], 0.75, seed=1),
        "check_file": lambda: rr.check(path, "a", ["no", "yes"]),
        r"estimate_file\(path, column": lambda: rr.estimate(path, "a"),
        "estimate_file": lambda: rr.tally(path, "a"),
    }
    for words, call in calls.items():
        with pytest.raises(ArgumentTypeError, match=f"of a file .*rr.files.{words}") as raised:
            call()
        assert "ill" not in str(raised.value)
    assert rr.simulate("yes", ["no", "yes"], 0.75, seed=1) in ("no", "yes")


WORDS = pd.Series(["zorro", "quux", "zorro"])
RELEASED = pd.DataFrame({"a": ["yes", "no"]}).rr.privatize("a", YES_NO)


@pytest.mark.parametrize(
    "call",
    [
        lambda words: rr.files.read(words),
        lambda words: rr.files.estimate_file(words),
        lambda words: rr.files.tally_file(words, "a"),
        lambda words: rr.files.describe_file(words),
        lambda words: rr.files.sign_off(words),
        lambda words: RELEASED.rr.carry(RELEASED, dropped=words),
        lambda words: RELEASED.rr.carry(RELEASED, names=dict.fromkeys(words, "a")),
        lambda words: RELEASED.rr.privatize(dict.fromkeys(words, 2), epsilon=1),
        lambda words: RELEASED.rr.privatize(dict.fromkeys(words, "x"), epsilon=1),
        lambda words: RELEASED.rr.privatize(dict.fromkeys(words, np.arange(2)), epsilon=1),
        lambda words: RELEASED.rr.privatize({key: [0] for key in words}, epsilon=1),
        lambda words: RELEASED.rr.privatize(dict.fromkeys(words, RELEASED), epsilon=1),
    ],
)
@pytest.mark.parametrize("held", [list, tuple, set, pd.Series, np.array, pd.Index, iter, dict])
def test_answers_in_the_place_of_paths_and_columns_are_not_quoted(held, call):
    """Words given as paths, names of columns, or keys of counts are counted or told by type."""
    words = dict.fromkeys(WORDS, 2) if held is dict else held(WORDS)
    with pytest.raises(rr.errors.RRStatsError) as refused:
        call(words)
    assert "zorro" not in str(refused.value)
    assert "quux" not in str(refused.value)


@pytest.mark.parametrize("shape", [list, tuple, pd.Series, dict, frozenset, "\n".join, "arrow"])
def test_answers_in_the_place_of_columns_of_files_are_not_quoted(shape, tmp_path):
    """Several words, also in one name, are counted or told by type; so are cells of a table."""
    pa = pytest.importorskip("pyarrow")
    from rrstats.files.batches import BatchRelease

    make = pa.array if shape == "arrow" else shape
    words = dict.fromkeys(WORDS, YES_NO) if shape is dict else make([*WORDS] * 20)
    table = pa.table({"a": [*WORDS]})
    path = tmp_path / "a.parquet"
    RELEASED.to_parquet(path)
    calls = {
        "estimate": lambda: rr.files.estimate_file(path, words),
        "table": lambda: rr.files.estimate_file(path, table),
        "by": lambda: rr.files.estimate_file(path, "a", by=words),
        "mapping": lambda: rr.files.privatize_file(
            path, tmp_path / "b.parquet", dict.fromkeys(WORDS, YES_NO)
        ),
        "batches": lambda: BatchRelease(
            pa.schema({"a": pa.string()}), dict.fromkeys(WORDS, YES_NO)
        ),
        "dropped": lambda: RELEASED.rr.carry(RELEASED, dropped=words),
    }
    for call in calls.values():
        with pytest.raises((rr.errors.RRStatsError, TypeError)) as refused:
            call()
        assert "zorro" not in str(refused.value)
        assert "quux" not in str(refused.value)


def test_words_of_another_call_are_refused_in_any_wrapping():
    """Two calls with the same words would show the difference of their answers."""
    for words in (FreshWords(), Substream(FreshWords(), 0)):
        with pytest.raises(rr.errors.RRStatsError, match="words of another call"):
            rr.privatize(["yes"], YES_NO, rng=words)


def test_codes_of_another_type_are_refused():
    """Signed or narrow codes would wrap around in the sum modulo k."""
    source = rr.client.SecureGenerator().open()
    with pytest.raises(rr.errors.RRStatsError, match="codes must be uint8"):
        YES_NO.randomize(np.zeros(4, dtype=np.int64), source)


def test_the_callers_decimal_context_changes_nothing():
    """Traps and exponents of the caller's decimal context do not reach the rounding."""
    expected = rr.privacy.epsilon_from_prob(0.75, 2), rr.privacy.prob_from_epsilon(1.0, 2)
    strict = decimal.Context(prec=3, Emax=5, Emin=-5, traps=[decimal.Inexact])
    with decimal.localcontext(strict):
        assert expected == (
            rr.privacy.epsilon_from_prob(0.75, 2),
            rr.privacy.prob_from_epsilon(1.0, 2),
        )


def test_variances_are_never_negative_at_the_ends():
    """No report, or every report, of one category: the variance is 0 or more, for every design."""
    for k in (2, 3, 5, 10, 37):
        for prob in np.linspace(1 / k, 1, 60)[1:-1]:
            m = rr.KRR(range(k), float(prob))
            for counts in ([100] + [0] * (k - 1), [0] + [100] * (k - 1)):
                tally = rr.Tally.from_counts(counts, m)
                found = rr.estimators.Estimate(tally)
                assert (found.variance >= 0).all()
                assert np.isfinite(found.std_error).all()


def test_near_no_information_is_said_in_one_way():
    """At epsilon 2e-14 the reports tell nothing a double could hold."""
    m = rr.KRR(range(1000), epsilon=2e-14)
    with pytest.raises(rr.errors.NotIdentifiableError):
        rr.estimate(rr.Tally.from_counts([3] + [0] * 998 + [7], m))
