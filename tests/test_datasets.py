"""The embedded frames: complete, typed as documented, and equal to their origin."""

from importlib import resources

import numpy as np
import pandas as pd
import pytest

import rrstats as rr

FILES = ["rand_health.csv.gz", "anes96.csv.gz"]


@pytest.mark.parametrize(
    ("load", "rows", "kinds"),
    [
        (
            rr.datasets.load_rand_health,
            20_190,
            "health category, visited_doctor bool, doctor_visits int64, coinsurance_percent int64,"
            " deductible_plan bool, chronic_diseases float64",
        ),
        (
            rr.datasets.load_anes96,
            944,
            "party category, vote category, age int64, education category, tv_news_days int64",
        ),
    ],
)
def test_frames_are_as_documented(load, rows, kinds):
    """Rows, columns in their order, and dtypes are those of the docstring; nothing is missing."""
    data = load()
    assert rows == len(data)
    assert kinds == ", ".join(f"{name} {dtype.name}" for name, dtype in data.dtypes.items())
    assert not data.isna().to_numpy().any()
    assert data.index.equals(pd.RangeIndex(rows))
    assert {} == data.attrs


def test_categories_are_declared_in_their_order():
    """Categories are the public lists, ordered where the answers are."""
    frames = (rr.datasets.load_rand_health(), rr.datasets.load_anes96())
    found = {
        name: column.cat
        for data in frames
        for name, column in data.items()
        if hasattr(column, "cat")
    }
    assert rr.datasets.CATEGORIES == {name: list(cat.categories) for name, cat in found.items()}
    assert ["vote"] == [name for name, cat in found.items() if not cat.ordered]


def test_counts_are_those_of_the_origin():
    """Answers occur as often as in the origin: value_counts of statsmodels 0.15.0's frames."""
    health, people = rr.datasets.load_rand_health(), rr.datasets.load_anes96()
    counts = health["health"].value_counts(sort=False)
    assert [11019, 7309, 1560, 302] == counts.tolist()
    assert int(health["visited_doctor"].sum()) == 13_882
    parties = people["party"].value_counts(sort=False)
    assert [200, 180, 108, 37, 94, 150, 175] == parties.tolist()
    assert [551, 393] == people["vote"].value_counts(sort=False).tolist()


def test_origin_and_licence_stand_beside_the_files():
    """SOURCES.md is in the installed package and names each file and its licence."""
    folder = resources.files("rrstats.datasets")
    text = folder.joinpath("SOURCES.md").read_text(encoding="utf-8")
    found = sorted(item.name for item in folder.iterdir() if item.name.endswith(".csv.gz"))
    assert sorted(FILES) == found
    for name in FILES:
        (row,) = [line for line in text.splitlines() if f"`{name}`" in line]
        assert "public domain" in row
        assert "statsmodels" in row


def test_frames_equal_the_origin_row_by_row():
    """Every cell equals what statsmodels distributes, recoded as SOURCES.md says."""
    pytest.importorskip("statsmodels", reason="the origin, installed only by who checks it")
    import statsmodels.api as sm

    raw, data = sm.datasets.randhie.load_pandas().data, rr.datasets.load_rand_health()
    dummies = [raw["hlthg"] == 1, raw["hlthf"] == 1, raw["hlthp"] == 1]
    rated = np.select(dummies, ["good", "fair", "poor"], "excellent")
    assert rated.tolist() == data["health"].tolist()
    assert raw["mdvis"].tolist() == data["doctor_visits"].tolist()
    percent = (np.exp(raw["lncoins"]) - 1).round().astype(int)
    assert percent.tolist() == data["coinsurance_percent"].tolist()
    assert (raw["idp"] == 1).tolist() == data["deductible_plan"].tolist()
    assert np.abs(raw["disea"] - data["chronic_diseases"]).max() <= 0.05

    raw, people = sm.datasets.anes96.load_pandas().data, rr.datasets.load_anes96()
    assert raw["PID"].astype(int).tolist() == people["party"].cat.codes.tolist()
    assert raw["vote"].astype(int).tolist() == people["vote"].cat.codes.tolist()
    assert raw["age"].astype(int).tolist() == people["age"].tolist()
    assert (raw["educ"].astype(int) - 1).tolist() == people["education"].cat.codes.tolist()
    assert raw["TVnews"].astype(int).tolist() == people["tv_news_days"].tolist()
