"""Documents are read strictly: each key once, and no plan states less than its parts spend."""

import json
import math
from fractions import Fraction

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import MetadataError
from rrstats.estimation.report_columns.report_frames import plan_records
from rrstats.files.file_records import records
from rrstats.mechanisms.documents import parse_json, parse_object
from rrstats.mechanisms.frame_plans import FramePlan
from rrstats.mechanisms.records import ColumnRecord, read, write
from rrstats.mechanisms.row_privacy import row_epsilon

RECORD = json.dumps(write([ColumnRecord.of("answer", rr.KRR(["no", "yes"], 0.75))]))


@pytest.mark.parametrize("key", ["v", "columns", "prob", "type", "simulated", "str"])
def test_a_key_that_stands_twice_is_refused(key):
    """JSON keeps the last of two values, and another reader the first: neither is believed."""
    twice = RECORD.replace(f'"{key}"', f'"{key}": 1, "{key}"', 1)
    assert json.loads(RECORD) == json.loads(twice)
    assert [] != read({"rrstats": RECORD})
    for text in (twice, twice.encode()):
        with pytest.raises(MetadataError, match=r"rrstats document .* has a key twice"):
            read({"rrstats": text})
        with pytest.raises(MetadataError, match="has a key twice"):
            parse_json(text)
    with pytest.raises(MetadataError, match=r"pandas: .* has a key twice"):
        parse_object({b"pandas": twice.encode()}, b"pandas")


COLUMNS = {"a": list("xyz"), "b": [1, 2, 3, 4, 5], "c": [False, True]}
PLANS = {
    "a pair": ({"a": COLUMNS["a"], "b": COLUMNS["b"]}, [("a", "b")]),
    "pairs": (COLUMNS, [("a", "b"), ("b", "c"), ("c", "a")]),
    "all kinds": (COLUMNS, ["c", ("a", "b"), ("c", "a"), "b"]),
}


def stated(plan, epsilon):
    """The document of a release of a plan, with another epsilon of the plan."""
    document = json.loads(json.dumps(write(plan_records(plan))))
    for column in document["columns"]:
        column["plan"]["epsilon"] = epsilon
    return document


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("share", [0.6, 0.9, 0.999, 1 - 1e-9])
def test_a_plan_that_states_less_than_its_parts_spend_is_refused(name, share):
    """The reports of a pair reveal more than those of each column: the pair's epsilon counts."""
    columns, parts = PLANS[name]
    plan = FramePlan(columns, 2.0, parts)
    assert [] != read({"rrstats": stated(plan, 2.0)})
    document = stated(plan, 2.0 * share)
    frame = pd.DataFrame({name: pd.Series(dtype=object) for name in [*columns, plan.asked]})
    frame.attrs["rrstats"] = document
    rows = json.dumps(document).encode()
    places = {
        "document": {"rrstats": document},
        "file": {b"rrstats": rows},
        "attrs in a file": {b"PANDAS_ATTRS": b'{"rrstats": %s}' % rows},
        "pandas in a file": {b"pandas": b'{"attributes": {"rrstats": %s}}' % rows},
        "Spark": {b"org.apache.spark.sql.parquet.row.metadata": of_spark(document)},
    }
    for place in places.values():
        refused(MetadataError, "the plan of column '.' has epsilon", records, place)
    for look in (lambda: frame.rr.epsilon, frame.rr.budget, frame.rr.estimate):
        refused(MetadataError, "the plan of column '.' has epsilon", look)
    refused(MetadataError, "each with its mechanism", FramePlan.from_dict, document)


def of_spark(document):
    """The document as Spark has it: one for each column."""
    fields = [
        {
            "name": column["name"]["str"],
            "metadata": {"rrstats": json.dumps({"v": 2, "columns": [column]})},
        }
        for column in document["columns"]
    ]
    return json.dumps({"fields": fields}).encode()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_of_one_column_of_a_pair_the_other_has_two_categories_or_more(k):
    """Where only one column is left, the least epsilon is that of a pair with two categories."""
    plan = FramePlan({"a": list("xyz"), "b": range(k)}, 2.0, [("a", "b")])
    alone = stated(plan, 2.0)["columns"][0]
    prob = Fraction(alone["mechanism"]["prob"])
    # p = (e + k2 - 1) / (e + 3 k2 - 1) of a pair with ratio e, solved for e at k2 = 2
    least = math.log1p(2 * (3 * prob - 1) / (1 - prob))
    assert (k == 2) == (least == pytest.approx(2.0, rel=1e-12))
    for epsilon, fits in ((least * (1 + 1e-9), True), (least * (1 - 1e-9), False)):
        alone["plan"]["epsilon"] = epsilon
        if fits:
            assert epsilon == ColumnRecord.from_dict(alone).epsilon
        else:
            refused(MetadataError, "the plan of column 'a'", ColumnRecord.from_dict, alone)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.5, 1.0, 2.0, 5.0, 12.0, 25.0, 33.0])
@pytest.mark.parametrize("k", [2, 3, 10, 101])
def test_no_plan_is_refused_for_rounding(epsilon, k):
    """Probabilities are rounded to doubles, also where few of them are left below 1."""
    plan = FramePlan({"a": range(k), "b": range(2)}, epsilon, ["b", ("a", "b")])
    assert epsilon == row_epsilon(read({"rrstats": stated(plan, epsilon)}))


def test_a_column_of_a_plan_has_krr_in_each_part():
    """Another mechanism of a smaller epsilon could not be compared with the plan's."""
    document = stated(FramePlan({"a": [0, 1], "b": [0, 1]}, 1.0, [("a", "b")]), 1.0)
    krr = rr.KRR([0, 1], 0.6)
    for mechanism in (
        rr.MatrixDesign([0, 1], [[0.6, 0.4], [0.4, 0.6]]),
        rr.mechanisms.Samples({"another part": krr, "a": krr}),
    ):
        document["columns"][0]["mechanism"] = mechanism.to_dict()
        refused(MetadataError, "a k-RR in each part", read, {"rrstats": document})
