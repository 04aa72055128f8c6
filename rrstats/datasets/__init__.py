"""Survey data in the public domain, and a book of published studies, with counts of reports.

SOURCES.md gives origin and licence of the data, ``studies.toml`` those of the studies, which `book`
reads and computes again.
"""

from __future__ import annotations

import gzip
import io
from importlib import resources
from typing import TYPE_CHECKING, NoReturn

import pandas as pd

from rrstats._names import checked_keywords, missing_attribute
from rrstats.datasets.book import SoftwareResult, StudyQuestion, studies, study

__all__ = [
    "SoftwareResult",
    "StudyQuestion",
    "load_anes96",
    "load_rand_health",
    "studies",
    "study",
]

CATEGORIES = {
    "health": ["excellent", "good", "fair", "poor"],
    "party": [
        "strong democrat",
        "weak democrat",
        "independent democrat",
        "independent",
        "independent republican",
        "weak republican",
        "strong republican",
    ],
    "vote": ["Clinton", "Dole"],
    "education": [
        "grades 1-8",
        "some high school",
        "high school",
        "some college",
        "college degree",
        "master's degree",
        "PhD",
    ],
}
"""The answers of each Categorical column, in their order."""


def _read(name: str) -> pd.DataFrame:
    packed = resources.files(__name__).joinpath(name).read_bytes()
    data = pd.read_csv(io.BytesIO(gzip.decompress(packed)))
    for column in CATEGORIES.keys() & data.columns:
        ordered = column != "vote"
        data[column] = pd.Categorical(data[column], CATEGORIES[column], ordered=ordered)
    return data


@checked_keywords
def load_rand_health() -> pd.DataFrame:
    """Load the RAND Health Insurance Experiment: 20,190 person-years, several for most persons.

    No column identifies the person, so estimates are about rows, and an epsilon is for one report.
    Columns: health (Categorical: excellent, good, fair, poor, as rated by the person),
    visited_doctor (bool: at least one outpatient visit in the year), doctor_visits (int),
    coinsurance_percent (int: the share of the bill paid by the person), deductible_plan (bool),
    chronic_diseases (float: the experiment's index of chronic conditions).
    Source: RAND Corporation; public domain, by way of statsmodels' ``randhie``.

    >>> load_rand_health()["health"].value_counts().tolist()
    [11019, 7309, 1560, 302]
    """
    data = _read("rand_health.csv.gz")
    data.insert(1, "visited_doctor", data["doctor_visits"] > 0)
    data["deductible_plan"] = data["deductible_plan"] == 1
    return data


@checked_keywords
def load_anes96() -> pd.DataFrame:
    """Load the American National Election Study of 1996: 944 people, one row each.

    Columns: party (Categorical, k = 7, from strong democrat to strong republican), vote
    (Categorical: Clinton, Dole; the expected vote), age (int, years), education (Categorical, 7
    levels), tv_news_days (int: days a week with TV news).
    Source: American National Election Studies; public domain, by way of statsmodels' ``anes96``.

    >>> load_anes96()["vote"].value_counts().tolist()
    [551, 393]
    """
    return _read("anes96.csv.gz")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
