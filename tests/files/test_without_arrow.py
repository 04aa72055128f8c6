"""`rrstats.files` without pyarrow: records are read, all else names the package to install."""

import inspect
import subprocess
import sys

import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import ArgumentTypeError

WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
import rrstats as rr
released = pd.DataFrame({"a": ["x", "y"]}).rr.privatize("a", ["x", "y"], 0.75)
print([record.name for record in rr.files.records(released.attrs)])
names = set(rr.files.__all__) - set(rr.files.WITHOUT_ARROW)
calls = {name: getattr(rr.files, name) for name in sorted(names)}
calls["df.rr.to_csv"] = released.rr.to_csv
for name, call in calls.items():
    try:
        call("in.csv")
    except rr.errors.MissingPackageError as error:
        print(name, "pip install pyarrow" in str(error))
"""


def run(code):
    """The words that a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_without_pyarrow_a_call_says_what_to_install():
    """The module is imported, records are read, and each other function names the package."""
    records, *calls = run(WITHOUT_ARROW)
    assert "['a']" == records
    names = [name for name in rr.files.__all__ if name not in rr.files.WITHOUT_ARROW]
    assert [f"{name} True" for name in [*names, "df.rr.to_csv"]] == calls


def test_without_pyarrow_engines_say_what_to_install():
    """An engine needs pyarrow, and says so before it asks for its own package."""
    words = run(
        "import sys; sys.modules['pyarrow'] = None\n"
        "try:\n    import rrstats.engines.polars\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    assert words == [
        "MissingPackageError rrstats.engines needs pyarrow; install pyarrow (pip install pyarrow)"
    ]


def test_records_of_attrs_and_of_the_metadata_of_a_schema(pa):
    """One function reads both; a schema without metadata, and plain attrs, record nothing."""
    released = pd.DataFrame({"a": ["x", "y"]}).rr.privatize("a", ["x", "y"], 0.75)
    (record,) = rr.files.records(released.attrs)
    assert ("a", rr.KRR(["x", "y"], 0.75)) == (record.name, record.resolve())
    table = rr.privatize(pa.table({"a": ["x", "y"]}), "a", ["x", "y"], 0.75)
    assert [record] == rr.files.records(table.schema.metadata)
    for nothing in ({}, None, pa.schema([("a", pa.string())]).metadata):
        assert [] == rr.files.records(nothing)


@pytest.mark.parametrize("given", [[], "released.parquet", pd.DataFrame({"a": ["x"]})])
def test_records_are_not_those_of_data(given):
    """A frame has them in its attrs; looking into its columns would find none."""
    refused(ArgumentTypeError, "metadata must be a mapping: the attrs", rr.files.records, given)


def test_functions_of_files_are_functions(pa):
    """With pyarrow, none of them is the one that says what to install."""
    for name in rr.files.__all__:
        assert name == inspect.unwrap(getattr(rr.files, name)).__name__
