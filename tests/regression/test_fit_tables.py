"""Tables of fits: odds ratios, effects, predictions, intercepts and areas."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats.errors import ArgumentTypeError

COIN = rr.KRR(["no", "yes"], 0.85)
THREE = rr.KRR(["low", "middle", "high"], 0.85)


def frame_of(n=400):
    """Covariates, groups, and reports of two and of three categories."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=n), "town": np.arange(n) % 12})
    yes = rng.random(n) < 1 / (1 + np.exp(-frame["age"] + 0.3 * (frame["town"] % 3 - 1)))
    levels = np.array(["low", "middle", "high"])[np.arange(n) // 3 % 3]
    frame["yes"] = rr.simulate(np.where(yes, "yes", "no"), COIN, seed=1)
    frame["level"] = rr.simulate(levels, THREE, seed=2)
    return frame


def logit(column="yes", mechanism=COIN, **options):
    """A logit on the age of the people."""
    frame = frame_of()
    return rr.logit(frame[column], frame[["age"]], mechanism=mechanism, **options)


def by_town():
    """A logit with random intercepts of towns."""
    pytest.importorskip("formulaic")
    return rr.regression.mixed("yes ~ age + (1 | town)", frame_of(), mechanism=COIN)


def list_fit(method):
    """A list experiment with a covariate."""
    counts = np.repeat([0, 1, 2, 3, 0, 1, 2, 3, 4], [8, 132, 222, 227, 19, 123, 229, 219, 34])
    return rr.regression.list_regression(
        counts,
        pd.DataFrame({"even": np.arange(1213) % 2}),
        mechanism=rr.surveys.list_experiment(3, groups=(0, 1)),
        group=np.repeat([0, 1], [589, 624]),
        method=method,
    )


FITS = {
    "two": logit,
    "several": lambda: logit("level", THREE),
    "ordered": lambda: rr.regression.ordinal(
        frame_of()["level"], frame_of()[["age"]], mechanism=THREE
    ),
    "groups": by_town,
    "list": lambda: list_fit("likelihood"),
}


@pytest.mark.parametrize("kind", FITS)
def test_odds_ratios_are_exponentials_of_the_slopes(kind):
    """With the ends of the intervals and the tests of the coefficients, without intercepts."""
    fit = FITS[kind]()
    table = fit.odds_ratios()
    frame = table.to_frame(0.9)
    slopes = fit.to_frame(0.9)
    slopes = slopes[slopes.index.get_level_values(-1).isin(["age", "even"])]
    assert frame["odds_ratio"].to_numpy() == pytest.approx(np.exp(slopes["coef"].to_numpy()))
    for end in ("low", "high"):
        assert frame[end].to_numpy() == pytest.approx(np.exp(slopes[end].to_numpy()))
    assert frame[["z", "p_value"]].to_numpy().tolist() == slopes[["z", "p_value"]].values.tolist()
    labels = {"several": ["category", "covariate"], "list": ["item", "covariate"]}
    assert labels.get(kind, ["covariate"]) == list(table.labels)


def test_odds_ratios_need_a_logit():
    """The exponential of a probit's coefficient is no odds ratio, nor that of least squares."""
    frame = frame_of()
    line = rr.linear(frame["age"], frame[["yes"]], mechanisms={"yes": COIN})
    for fit in (logit(link="probit"), line, list_fit("linear")):
        with pytest.raises(ArgumentTypeError, match="odds_ratios are of regressions with the log"):
            fit.odds_ratios()


def tables():
    """A table of each kind."""
    fit = logit()
    groups = by_town()
    cells = pd.DataFrame({"age": 0.0, "town": range(13), "people": 10})
    return {
        "predictions": fit.predict([[0.0], [1.0]]),
        "rows": fit.predict(),
        "average": fit.predict(average=True),
        "effects": fit.marginal_effects(),
        "ratios": fit.odds_ratios(),
        "list": list_fit("linear").predict(average=True),
        "intercepts": groups.intercepts(),
        "cells": groups.predict(cells),
        "areas": groups.poststratify(cells, "people", by="town"),
        "population": groups.poststratify(cells, "people"),
    }


@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
def test_tables_of_fits_are_results_like_others():
    """They print, are interpreted, are copied by pickle, and have intervals of any level."""
    for name, table in tables().items():
        frame = table.to_frame()
        narrow = table.to_frame(0.5)
        assert (narrow["low"] > frame["low"]).all()
        assert (narrow["high"] < frame["high"]).all()
        pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(table)).to_frame(), frame)
        assert table.estimate in repr(table), name
        assert "<table>" in table._repr_html_()
        sentences = table.interpret(0.9).splitlines()
        assert len(sentences) == (len(frame) if len(frame) <= 10 else 3)
        assert all("90% interval" in line for line in sentences[-2:])
        assert table.notes == ()


def test_a_long_table_is_told_by_its_ends():
    """Of more than ten rows the smallest and the largest are told, and no row without a number."""
    profiles = pd.DataFrame({"age": [*np.linspace(-1, 1, 11), np.nan]})
    lines = logit().predict(profiles).interpret().splitlines()
    assert lines[0] == "12 predictions; the smallest and the largest:"
    assert lines[1].startswith("-1.0: ")
    assert lines[2].startswith("1.0: ")


def test_areas_have_a_line_at_the_whole_population():
    """The picture of small areas compares them with the mean of their people."""
    found = tables()
    whole = found["population"].to_frame()["proportion"].item()
    assert found["areas"].reference == pytest.approx(whole)


def test_old_words_of_fits_are_answered():
    """Levels are asked of the table, pictures too, and the mean is a prediction."""
    fit = logit()
    with pytest.raises(TypeError, match=r"to_frame\(level=0.95\)"):
        fit.predict(level=0.9)
    with pytest.raises(TypeError, match=r"fit\.marginal_effects\(\)\.plot\(\)"):
        fit.plot(effects=True)
    with pytest.raises(TypeError, match=r"fit\.odds_ratios\(\)\.plot\(\)"):
        fit.plot(odds_ratios=True)
    with pytest.raises(AttributeError, match=r"fit\.predict\(average=True\)"):
        fit.prevalence()
