"""A row that stands for several counts as so many rows, for every mechanism; frames give columns.

What engines answer is in test_engine_counting; here no engine is needed.
"""

import dataclasses
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES
from refusals import refused

import rrstats as rr
from rrstats.data.codecs import codec_of
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.axes import count_rows
from rrstats.estimation.report_columns.report_columns import ordinary, report_column
from rrstats.estimation.report_columns.report_frames import ReportFrame
from rrstats.estimation.report_columns.sample_design import rows_of
from rrstats.estimation.tallies.tally import count_groups, count_units, tally
from rrstats.mechanisms import KRR, Samples, surveys

M = KRR(["never", "once", "often"], 0.75)
PAIRS = surveys.crosswise_with_anchor(["no", "yes"], 0.25, 0.125, yes="yes")

ROWS = 150


@pytest.fixture(params=list(EXAMPLES))
def mechanism(request):
    return EXAMPLES[request.param]()


def _reports(mechanism):
    """Some possible reports, one of them missing where that is no report."""
    codec = codec_of(mechanism.report_space)
    if codec.is_label:
        found = list(codec.domain.categories)
        return found if None in found else [*found, None]
    return [*rr.simulate(list(mechanism.categories) * 3, mechanism, seed=5), None]


def _rows(mechanism):
    """(report, group, stratum, cluster, sample, weight) of rows, some of them alike."""
    reports, samples = _reports(mechanism), mechanism.groups or [None]
    return [
        (
            reports[row * row % len(reports)],
            [0, 1, None, 2][row % 4],
            row % 2,
            row % 6,
            samples[row // 3 % len(samples)],
            [0.5, 1.0, 2.0, 0.0, 0.25][row % 5],
        )
        for row in range(ROWS)
    ]


def _condensed(rows):
    """The combinations, and how often each occurs."""
    held = defaultdict(list)
    for row in rows:
        held[tuple(map(repr, row))].append(row)
    combinations = [alike[0] for alike in held.values()]
    return combinations, np.array([len(alike) for alike in held.values()], dtype=np.int64)


def _columns(rows):
    return [pd.Series(list(column), dtype=object) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("design", [("by",), ("by", "strata", "clusters")])
def test_multiples_are_so_many_rows(mechanism, design, weighted):
    """Combinations with their multiplicity make the tally of the rows."""
    rows = _rows(mechanism)
    combinations, often = _condensed(rows)
    found = []
    for held, times in ((rows, None), (combinations, often)):
        reports, by, strata, clusters, samples, weights = _columns(held)
        beside = {"by": by, "strata": strata, "clusters": clusters}
        group = samples if mechanism.groups else None
        opened = report_column(reports, mechanism, group=group, times=times)
        named = {name: beside[name] for name in design}
        by, own = named.pop("by"), weights if weighted else None
        sample = rr.SampleDesign(weights=own, **named)
        placed = rows_of(reports, opened.rows, by=by, design=sample, times=times)
        found.append(count_groups(opened, placed).by_label())
    assert found[0] == found[1]
    assert list(found[0]) == list(found[1])


def test_tables_of_multiples(mechanism):
    """Joint tables count combinations as often as they occur, of labels and of subsets alike."""
    rows = _rows(mechanism)
    counted = []
    for held, times in ((rows, None), _condensed(rows)):
        reports, by, *_, samples = _columns([row[:5] for row in held])
        asked = {"group": samples} if mechanism.groups else {}
        columns = [report_column(reports, mechanism, times=times, **asked), ordinary(by)]
        for chosen in (columns, columns[:1]):
            counted.append(count_rows(chosen, keep=True, times=times)[1])
    for expected, actual in zip(counted[:2], counted[2:], strict=True):
        assert expected.dtype == actual.dtype
        assert np.array_equal(expected, actual)


def test_unknown_reports_are_counted_as_rows():
    """The error counts rows of the data, of all their rows, and not combinations."""
    reports, times = pd.Series(["secret", "once", None]), np.array([5, 7, 11])
    opened = report_column(reports, M, times=times)
    with pytest.raises(ArgumentValueError, match="5 of 23 reports") as caught:
        count_units(opened, rows_of(reports, 3))
    assert "secret" not in str(caught.value)
    frame = pd.DataFrame({"answer": reports})
    counted = dataclasses.replace(ReportFrame.of(frame), times=times)
    columns = counted.joint(["answer"], {"answer": M})
    with pytest.raises(ArgumentValueError, match="5 of 23 reports"):
        count_rows(columns, times=times)
    with pytest.raises(ArgumentValueError, match="found 11 of 23 missing"):
        rows_of(reports, 3, design=rr.SampleDesign(strata=reports), times=times)


# -- frames of pandas ----------------------------------------------------------------------------


def _frame():
    held = {
        "answer": ["never", "once", None, "often", "once"] * 4,
        "other": ["once", "never", "never", "often"] * 5,
        "region": ["north", "south", None, "south"] * 5,
        "weight": [1.0, 2.0, 0.5, 1.0, 4.0] * 4,
        "chance": [0.5, 1.0, 0.25, 1.0, 0.5] * 4,
        "stratum": [1, 2] * 10,
        "cluster": [row // 3 for row in range(20)],
    }
    return pd.DataFrame(held, index=range(7, 27))


DESIGN = {"weights": "weight", "strata": "stratum", "clusters": "cluster"}


@pytest.mark.parametrize("by", [None, "region"])
@pytest.mark.parametrize("names", [{}, DESIGN, {"probabilities": "chance"}, {"population": 500}])
def test_names_stand_for_columns(by, names):
    """A frame with names counts and estimates as its columns do, and knows who is in no group."""
    data = _frame()
    sample = {key: data[name] if isinstance(name, str) else name for key, name in names.items()}
    names = {"by": by, "design": rr.SampleDesign(**names)}
    columns = {"by": by and data[by], "design": rr.SampleDesign(**sample)}
    assert tally(data["answer"], M, **columns) == tally(data, M, columns="answer", **names)
    expected = rr.estimate(data["answer"], M, **columns)
    actual = rr.estimate(data, M, columns="answer", **names)
    pd.testing.assert_frame_equal(expected.to_frame(), actual.to_frame())
    if by is not None:
        assert (("region",), 5) == (actual.names, actual.left_out)


def test_lists_of_columns():
    """A list gives a dict by column, with a mechanism for each or one for all."""
    data, names, half = _frame(), ["answer", "other"], KRR(M.categories, 0.5)
    found = tally(data, {"answer": M, "other": half}, columns=names)
    assert {"answer": tally(data["answer"], M), "other": tally(data["other"], half)} == found
    assert {name: tally(data[name], M) for name in names} == tally(data, M, columns=names)
    assert {"other": tally(data["other"], M)} == tally(data, M, columns=["other"])
    by = tally(data, M, columns=names, by=["region", "stratum"])
    assert tally(data["other"], M, by=[data["region"], data["stratum"]]) == by["other"]
    estimates = rr.estimate(data, M.categories, 0.75, columns=names)
    assert rr.estimate(data["other"], M).counts.tolist() == estimates["other"].counts.tolist()


def test_two_columns_of_one_report():
    """Where a report is a pair, two columns are one tally, and a missing half is a missing pair."""
    pairs = [("no", "yes"), ("yes", "yes"), ("no", "no"), ("no", "yes")]
    first, last = (list(part) for part in zip(*pairs, strict=True))
    data = pd.DataFrame({"first": [*first, None], "last": [*last, "no"]})
    found = tally(data, PAIRS, columns=["first", "last"])
    assert tally([*pairs, None], PAIRS) == found
    assert 1 == found.n_missing


def test_the_one_column_spoken_of():
    """Without columns it is the one that a mapping, or the frame, speaks of; else an error."""
    data = _frame()
    assert tally(data["answer"], M) == tally(data, {"answer": M})
    data = data[["answer", "other"]].dropna()
    privatized = data.rr.simulate("answer", M, seed=2)
    assert tally(privatized["answer"]) == tally(privatized)
    both = privatized.rr.simulate("other", M, seed=3)
    refused(ArgumentTypeError, r"reports are in the columns \['answer', 'other'", tally, both)
    refused(ArgumentTypeError, "its columns are", tally, data, M)
    assert {"answer", "other"} == set(tally(both, columns=["answer", "other"]))


def test_a_mapping_of_samples_is_one_mechanism():
    """A mapping whose keys are no columns is from sample to mechanism, as with a column."""
    parts = {"dice": KRR(["no", "yes"], 0.75), "cards": KRR(["no", "yes"], 0.5625)}
    data = pd.DataFrame({"answer": ["no", "yes", "no"], "sample": ["dice", "cards", "cards"]})
    expected = tally(data["answer"], Samples(parts), group=data["sample"])
    assert expected == tally(data, parts, columns="answer", group="sample")
    assert expected == tally(data, {"answer": parts}, columns="answer", group="sample")


def test_what_is_asked_of_a_frame():
    """Arguments that fit no frame are refused before anything is counted."""
    data = _frame()
    cases = [
        ({"columns": "answer", "by": data["region"]}, ArgumentTypeError, "found Series"),
        ({"columns": "answer", "weights": data}, ArgumentTypeError, "found DataFrame"),
        ({"columns": []}, ArgumentValueError, "at least one column"),
        ({"columns": "unheard"}, ArgumentValueError, "'unheard' is not there"),
        ({"columns": ["answer", ["other"]]}, ArgumentTypeError, "found list"),
    ]
    for arguments, kind, words in cases:
        refused(kind, words, tally, data, M, **arguments)
    with pytest.raises(ArgumentTypeError, match="a mechanism already has its prob"):
        tally(data, {"answer": M}, 0.75, columns="answer")


@pytest.mark.parametrize("call", [tally, rr.estimate])
def test_columns_stand_after_a_frame(call):
    """As privatize takes them: a name, or a list of names, and then what made the reports."""
    frame = pd.DataFrame({"no": ["no", "yes"], "other": ["yes", "yes"]})
    categories = ["no", "yes"]
    mechanism = KRR(categories, 0.75)
    by_name = call(frame, mechanism, columns="no")
    assert repr(by_name) == repr(call(frame, "no", mechanism))
    assert repr(by_name) == repr(call(frame, "no", categories, epsilon=mechanism.epsilon))
    both = call(frame, ["no", "other"], mechanism)
    assert ["no", "other"] == list(both)
    assert repr(call(frame, mechanism, columns=["no", "other"])) == repr(both)
    one = frame[["no"]]
    released = one.rr.simulate("no", mechanism, seed=1)
    assert repr(call(released, "no")) == repr(call(released, categories, mechanism.prob))
    refused(ArgumentValueError, "column 'unheard' is not there", call, frame, "unheard")
    refused(ArgumentTypeError, "rr.estimate.df, 'smoker', ", call, frame, "no", columns="other")


def test_the_mechanism_after_a_column_may_be_a_keyword():
    """A column in the place of categories is none."""
    frame = pd.DataFrame({"answer": ["never", "once"]})
    by_keyword = rr.estimate(frame, "answer", mechanism=M)
    assert repr(rr.estimate(frame, M, columns="answer")) == repr(by_keyword)
    refused(ArgumentTypeError, "found both", rr.estimate, frame, "answer", M, mechanism=M)


def test_a_path_is_no_frame():
    """The path of a file is refused, and so are lists and what nobody knows; text is an answer."""
    for call in (tally, rr.estimate):
        refused(ArgumentTypeError, "rr.files.estimate_file", call, Path("x"), M, columns="answer")
        refused(ArgumentTypeError, "found a list; give a f", call, ["once"], M, columns="answer")
        refused(ArgumentTypeError, "values must be a list", call, object(), M)
