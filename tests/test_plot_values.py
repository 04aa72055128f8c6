"""Every picture has the numbers of its table, artist by artist.

The data are generic: unequal numbers, categories in no order, several columns of other categories,
a missing category, groups of other sizes.  A picture is read back from its artists into a frame,
and compared with `to_frame`.  A new class with ``plot``, or a new function of `rrstats.plots`,
needs a case here.
"""

import importlib
import inspect
import itertools
import pkgutil
import re
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats import planning, plots
from rrstats._display import label, percent_range
from rrstats.errors import ArgumentValueError, LowPrecisionWarning
from rrstats.estimation.estimates.groups import Estimates, label_text

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.patches import Rectangle

MOOD = rr.KRR(["good", None, "_bad", "fair"], 0.8)
DRINK = rr.KRR(["wine", "beer"], 0.9)
SMOKES = rr.KRR(["beer", "gin", "wine"], 0.7)
MECHANISMS = {"drink": DRINK, "mood": MOOD, "smokes": SMOKES}


@pytest.fixture(autouse=True)
def _close():
    with plt.rc_context({"figure.max_open_warning": 0}):
        yield
    plt.close("all")


def reports(n=997):
    """Reports of three columns, two groups of unequal sizes, weights and numbers."""
    rng = np.random.default_rng(7)

    def drawn(labels, shares):
        return np.array(labels, dtype=object)[rng.choice(len(labels), n, p=shares)]

    return pd.DataFrame(
        {
            "drink": drawn(["wine", "beer"], [0.14, 0.86]),
            "mood": drawn(["good", None, "_bad", "fair"], [0.45, 0.11, 0.08, 0.36]),
            "smokes": drawn(["beer", "gin", "wine"], [0.3, 0.24, 0.46]),
            "region": drawn(["south", "north", "east"], [0.2, 0.7, 0.1]),
            "sex": drawn(["m", "f"], [0.41, 0.59]),
            "age": rng.normal(40, 9, n),
            "weight": rng.uniform(1, 3, n),
        }
    )


# -- reading a picture -------------------------------------------------------------------------


def tick_labels(axis):
    """The text at each place of an axis."""
    places = [round(place) for place in axis.get_ticklocs()]
    texts = [" ".join(text.get_text().split()) for text in axis.get_ticklabels()]
    return dict(zip(places, texts, strict=True))


def plain(values):
    """Numbers of an artist; NaN for what is masked."""
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)


def read_intervals(ax):
    """The rows of a picture of intervals: series, label, estimate, low, high, and more columns."""
    names, keys = tick_labels(ax.yaxis), {}
    legend = ax.get_legend()
    handles = zip(legend.legend_handles, legend.get_texts(), strict=True)
    for handle, text in handles:
        if isinstance(handle, mpl.lines.Line2D) and handle.get_marker() in "os^DvPX":
            keys[to_hex(handle.get_color()), handle.get_marker()] = text.get_text()
    dots = [each for each in ax.collections if isinstance(each, PathCollection)]
    segments = [each for each in ax.collections if isinstance(each, LineCollection)]
    marks = {
        mark: [line for line in ax.lines if line.get_marker() == mark] for mark in ("|", "<", ">")
    }
    truth = [line for line in ax.lines if line.get_label() == "true value"]
    bars = [each for each in ax.containers if isinstance(each, BarContainer)]
    rows = []
    for series, (cloud, lines) in enumerate(zip(dots, segments, strict=True)):
        color = to_hex(cloud.get_edgecolor()[0])
        marker = "os^DvPX"[series % 7]
        offsets = plain(cloud.get_offsets())
        lows, highs = (plain(line.get_xdata()) for line in marks["|"][2 * series :][:2])
        left, right = (plain(marks[mark][series].get_xdata()) for mark in "<>")
        for at, estimate in enumerate(offsets[:, 0]):
            y = np.ma.getdata(cloud.get_offsets())[at, 1]
            low = -np.inf if np.isfinite(left[at]) else lows[at]
            high = np.inf if np.isfinite(right[at]) else highs[at]
            segment = plain(lines.get_segments()[at])
            assert {y} == {*segment[:, 1]}
            ends = np.where(np.isinf([low, high]), [left[at], right[at]], [low, high])
            assert np.array_equal(ends, segment[:, 0], equal_nan=True)
            row = {"series": keys[color, marker], "label": names[round(y)], "estimate": estimate}
            row |= {"low": low, "high": high, "hollow": hollow_at(cloud, at)}
            row |= {"area": np.resize(cloud.get_sizes(), len(offsets))[at]}
            if truth:
                (row["truth"],) = truth[0].get_xdata()[truth[0].get_ydata() == y]
            if bars:
                (bar,) = [bar for bar in bars[series] if np.isclose(bar.get_y() + 0.31, y)]
                row["comparison"] = bar.get_x() + bar.get_width()
            rows.append(row)
    return pd.DataFrame(rows)


def hollow_at(cloud, at):
    """Whether a dot has no face."""
    faces = cloud.get_facecolors()
    return bool(faces[at % len(faces), 3] == 0)


def read_cells(ax):
    """The cells of a heat map: labels, shade, text, and the interval as text and as a bar."""
    rows, columns = tick_labels(ax.yaxis), tick_labels(ax.xaxis)
    (mesh,) = (each for each in ax.collections if isinstance(each, QuadMesh))
    shades = mesh.get_array().reshape(len(rows), len(columns))
    hatched = {
        (round(p.get_y() + 0.48), round(p.get_x() + 0.48))
        for p in ax.patches
        if isinstance(p, Rectangle) and p.get_hatch()
    }
    cells = []
    for i, j in itertools.product(rows, columns):
        texts = [t for t in ax.texts if (round(t.get_position()[1]), t.get_position()[0]) == (i, j)]
        texts.sort(key=lambda text: text.get_position()[1])
        cell = {"row": rows[i], "column": columns[j], "shade": shades[i, j]}
        cell |= {"text": texts[0].get_text(), "hatched": (i, j) in hatched}
        if len(texts) > 1:
            cell["range"] = texts[1].get_text()
        cells.append(cell)
    frame = pd.DataFrame(cells)
    span = re.search(r"bar from 0 to (\d+)%", ax.get_title(loc="left"))
    if span:
        lines = [c.get_segments()[0] for c in ax.collections if isinstance(c, LineCollection)]
        for place in np.flatnonzero(frame["text"] == "unknown"):  # it has no tick
            lines.insert(3 * place + 2, np.full((2, 2), np.nan))
        bars = np.array(lines).reshape(len(frame), 3, 2, 2)  # background, interval, tick
        starts = bars[:, 0, 0, 0]
        length = bars[:, 0, 1, 0] - starts
        for name, place in (
            ("low", bars[:, 1, 0]),
            ("high", bars[:, 1, 1]),
            ("tick", bars[:, 2, 0]),
        ):
            frame[name] = (place[:, 0] - starts) / length * int(span[1]) / 100
        frame["span"] = int(span[1]) / 100
    return frame


def compare_intervals(ax, expected, *, bounds=(0.0, 1.0)):
    """Raise unless the rows of a picture are exactly those of a frame, in their order."""
    drawn = read_intervals(ax)
    several = "series" in expected
    keys = ["series", "label"] if several else ["label"]
    wanted = expected.reset_index(drop=True)
    if several:
        drawn, wanted = (frame.sort_values(keys, ignore_index=True) for frame in (drawn, wanted))
    for name in (name for name in wanted if name not in keys):
        assert np.array_equal(wanted[name].astype(float), drawn[name], equal_nan=True), name
    for key in keys:
        assert wanted[key].tolist() == drawn[key].tolist()
    outside = [bool(bounds) and not bounds[0] <= x <= bounds[1] for x in wanted["estimate"]]
    assert [out and x == x for out, x in zip(outside, wanted["estimate"], strict=True)] == (
        drawn["hollow"].tolist()
    )
    return drawn


def check_order(draw, expected, **options):
    """The largest rows, sorted, keep their numbers; test_plots has each option alone."""
    if "series" in expected:
        return
    two = expected["estimate"].abs().sort_values(ascending=False, kind="stable").index[:2]
    largest = expected.loc[sorted(two)].sort_values("estimate", ascending=False, kind="stable")
    compare_intervals(draw(sort=True, top=2), largest, **options)


# -- cases -------------------------------------------------------------------------------------


def expected_of(frame, value, *, labels):
    """The rows of a table as a picture has them."""
    found = pd.DataFrame({"label": list(labels), "estimate": frame[value].to_numpy()})
    for name in ("low", "high", "naive"):
        if name in frame:
            found["comparison" if name == "naive" else name] = frame[name].to_numpy()
    return found


def some_estimate(kind):
    """An estimate of each kind, which has its own code."""
    frame = reports()
    if kind == "target":
        return rr.estimate(frame["mood"], MOOD, target="sample")
    if kind == "design":
        design = rr.SampleDesign(weights="weight", strata="region")
        return rr.estimate(frame, MOOD, columns="mood", design=design)
    if kind == "by row":
        prob = np.where(frame["sex"] == "f", 0.9, 0.7)
        return rr.estimate(frame["smokes"], list(SMOKES.categories), prob)
    if kind == "bits":
        made = rr.mechanisms.UnaryEncoding(["x", "z", "y"], 0.8, 0.3)
        truth = np.repeat(["y", "x", "z"], [500, 300, 90])
        return rr.estimate(rr.simulate(truth, made, seed=3), made)
    if kind == "samples":
        made = rr.mechanisms.Samples({"b": rr.KRR(["u", "t"], 0.9), "a": rr.KRR(["u", "t"], 0.7)})
        groups = np.resize(["a", "b", "a"], 997)
        return rr.estimate(np.where(frame["sex"] == "f", "u", "t"), made, group=groups)
    return rr.estimate(frame["mood"], MOOD)


def check_estimate(kind):
    """Proportions, naive shares and the truth of each category."""
    est = some_estimate(kind)
    table = est.to_frame(0.9)
    labels = [label(category) for category in est.categories]
    expected = expected_of(table, "proportion", labels=labels)
    if np.isnan(est.moments.support[0]).any():
        del expected["comparison"]
    truth = {category: 0.1 + place / 7 for place, category in enumerate(est.categories)}
    backwards = dict(reversed(list(truth.items())))
    draw = partial(est.plot, level=0.9, truth=backwards)
    compare_intervals(draw(), expected.assign(truth=list(truth.values())))
    check_order(draw, expected)


def category_rows(table, levels, category):
    """The row of a category in the part of a table of each column or group, by its label."""
    rows = {}
    for labels, part in table.groupby(levels, sort=False):
        if category is not ...:
            part = part[[label(each) == label(category) for each in part["category"]]]
        if len(part):
            rows[labels if len(levels) > 1 else labels[0]] = part.iloc[-1]
    return rows


def check_several(result, levels):
    """The rows of one category of a mapping, as `to_frame` has them, for each choice of it."""
    table = result.to_frame(0.9)
    for category in (..., None, "wine"):
        rows = category_rows(table, levels, category)
        if not rows:
            continue
        frame = pd.DataFrame(list(rows.values()))
        last = frame["category"].map(label)
        differ = last.nunique() > 1
        what = "the last category" if differ else last.iloc[0]
        texts = [
            f"{label_text(key)}{f': {text}' if differ else ''} (n={n:,})"
            for key, text, n in zip(rows, last, frame["n"], strict=True)
        ]
        expected = expected_of(frame, "proportion", labels=texts).drop(columns="comparison")
        truth = {key: place / 99 for place, key in enumerate(rows)}
        draw = partial(result.plot, category=category, level=0.9)
        ax = draw(truth=dict(reversed(truth.items())))
        drawn = compare_intervals(ax, expected.assign(truth=list(truth.values())))
        assert np.array_equal(np.argsort(frame["n"]), np.argsort(drawn["area"]))
        column = "" if levels[0] == "column" else "mood: "
        assert f"{column}proportion of {what} by {', '.join(levels)}" == ax.get_title(loc="left")
        assert ax.get_xlabel().startswith(f"proportion of {what} among ")
        starts = [f"{label_text(key)}: " for key in rows]
        lines = result.interpret(category).splitlines()
        assert starts == [line[: len(start)] for line, start in zip(lines, starts, strict=True)]
        if category is ...:
            check_order(draw, expected)


def check_estimates(kind):
    """Columns of other categories and orders, with and without groups."""
    frame, options = reports(), {"columns": list(MECHANISMS)}
    by = {"groups": "region", "two": ["region", "sex"]}.get(kind)
    if kind == "same":
        options["columns"] = ["drink", "smokes"]
    made = {name: MECHANISMS[name] for name in options["columns"]}
    result = rr.estimate(frame, made, by=by, **options)
    assert isinstance(result, Estimates)
    check_several(result, ["column", *([by] if isinstance(by, str) else by or [])])


def check_groups(kind):
    """Groups of one column and of two."""
    by = ["region"] if kind == "one" else ["region", "sex"]
    check_several(rr.estimate(reports(), MOOD, columns="mood", by=by), by)


def check_difference(kind):
    """The differences of each category."""
    frame = reports()
    pair = [rr.estimate(part["mood"], MOOD) for _, part in frame.groupby("sex")]
    result = rr.difference(*pair)
    labels = map(label, result.categories)
    expected = expected_of(result.to_frame(0.9), "difference", labels=labels)
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected, bounds=(-1.0, 1.0))
    check_order(draw, expected, bounds=(-1.0, 1.0))


def check_among(kind):
    """The proportions among some categories."""
    est = rr.estimate(reports()["mood"], MOOD)
    result = est.among(est.categories[:-1])
    labels = list(map(label, result.categories))
    expected = expected_of(result.to_frame(0.9), "proportion", labels=labels)
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected)
    check_order(draw, expected)


def check_corrected(kind):
    """The corrected proportions, and the uncorrected ones as bars."""
    est = rr.estimate(reports()["mood"], MOOD)
    result = est.corrected((11, 200))
    labels = list(map(label, result.categories))
    expected = expected_of(result.to_frame(0.9), "proportion", labels=labels)
    expected["comparison"] = est.proportions
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected)
    check_order(draw, expected)


def area_ends(area):
    """The least and the largest height of an area at each place."""
    ends = {}
    for x, y in area.get_paths()[0].vertices:
        low, high = ends.get(x, (y, y))
        ends[x] = min(low, y), max(high, y)
    return ends


def check_noncompliance(kind):
    """The edges of the areas, and the line, at the shares of the table, for each category."""
    result = rr.estimate(reports()["mood"], MOOD).noncompliance([0, 0.25, 0.5], kind)
    frame = result.to_frame(0.9)
    for category in (..., None, "_bad"):
        text = label(result.categories[-1] if category is ... else category)
        part = frame[[label(each) == text for each in frame["category"]]]
        ax = result.plot(category=category, level=0.9)
        assert f"proportion of {text} among the others" == ax.get_ylabel()
        assert 3 == len(part)
        band, *bounds = map(area_ends, ax.collections)
        for line in ax.lines:
            bounds.append({x: (y, y) for x, y in zip(*line.get_data(), strict=True)})
        (bounds,) = bounds
        for row in part.itertuples():
            for ends, numbers in ((band, row[5:7]), (bounds, np.clip(row[3:5], 0, 1))):
                (at,) = (x for x in ends if abs(x - row.assumed) < 1e-3)
                assert tuple(numbers) == pytest.approx(ends[at], abs=0.01)


def check_pooled(kind):
    """The pooled proportions in their order, and the raw ones as bars."""
    result = rr.estimate(reports(), MOOD, columns="mood", by=["region", "sex"]).pooled()
    table = result.to_frame(0.9)
    for category in (..., "good", None):
        text = label(result.categories[-1] if category is ... else category)
        part = table[[label(each) == text for each in table["category"]]]
        part = part.sort_values("proportion", kind="stable")
        groups = zip(part["region"], part["sex"], part["n"], strict=True)
        labels = [f"{region}, {sex} (n={n:,.0f})" for region, sex, n in groups]
        expected = expected_of(part, "proportion", labels=labels)
        expected["comparison"] = part["raw"].to_numpy()
        ax = result.plot(category=category, level=0.9)
        compare_intervals(ax, expected)
        title, note = ax.get_title(loc="left").split("\n")
        assert f"mood: proportion of {text} by region, sex, pooled" == title
        assert "less for extreme ones" in note


def check_quantiles(kind):
    """A series for each probability, and arrows where an end is infinite."""
    frame = reports()
    q = 0.5 if kind == "median" else (0.25, 0.999)
    if kind == "median":
        result = rr.quantiles(frame["age"], frame["smokes"], SMOKES, q=q)
    else:
        with pytest.warns(rr.errors.LowPrecisionWarning):
            result = rr.quantiles(frame["age"], frame["smokes"], SMOKES, q=q)
    table = result.to_frame(0.9)
    assert (kind == "two") == np.isinf(table["high"]).any()
    expected = expected_of(table, "quantile", labels=map(label, table["category"]))
    expected = expected.drop(columns="comparison")
    expected["series"] = [f"{prob:.10g} quantile" for prob in table["q"]]
    compare_intervals(result.plot(level=0.9), expected, bounds=None)


def check_means(kind):
    """The mean of each true group, and ends at infinity."""
    frame = reports()
    if kind == "rare":
        made = rr.KRR(["beer", "gin", "rare", "wine"], 0.7)
        with pytest.warns(rr.errors.LowPrecisionWarning):
            result = rr.means(frame["age"], frame["smokes"], made)
        assert np.isinf(result.to_frame(0.9)[["low", "high"]]).any(axis=None)
    else:
        result = rr.means(frame["age"], frame["smokes"], SMOKES)
    expected = expected_of(result.to_frame(0.9), "mean", labels=map(label, result.categories))
    expected["estimate"] = expected["estimate"].where(np.isfinite(expected["estimate"]))
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected.drop(columns="comparison"), bounds=None)


def table(*names):
    """A table of privatized and ordinary columns."""
    mechanisms = {name: MECHANISMS[name] for name in names if name in MECHANISMS}
    return rr.crosstab(reports(), *names, mechanisms=mechanisms)


def joined(row):
    """Labels of a row or a column of a table."""
    return ", ".join(map(label, row))


def check_conditional(kind):
    """A series for each given combination."""
    names, given = {
        "pair": (("mood", "region"), ["region"]),
        "back": (("mood", "drink"), ["mood"]),
        "three": (("drink", "smokes", "region"), ["region", "drink"]),
    }[kind]
    result = table(*names).conditional(*[n for n in names if n not in given], given=given)
    frame = result.to_frame(0.9)
    labels = frame[[name for name in result.names if name not in given]].apply(joined, axis=1)
    expected = expected_of(frame, "proportion", labels=labels)
    series = frame[[name for name in result.names if name in given]].apply(joined, axis=1)
    compare_intervals(result.plot(level=0.9), expected.assign(series=series.tolist()))


def check_crosstab(kind):
    """The proportions, of all, of rows and of columns, and their intervals."""
    result = table(*kind.split())
    for normalize in ("all", "index", "columns"):
        frame = result.to_frame(0.9, normalize=normalize)
        *rows, column = (frame[name].map(label) for name in result.names)
        expected = pd.DataFrame({"row": [", ".join(row) for row in zip(*rows, strict=True)]})
        expected = expected.assign(column=column, **frame[["proportion", "low", "high"]])
        ax = result.plot(level=0.9, normalize=normalize)
        assert ", ".join(map(label, result.names[:-1])) == ax.get_ylabel()
        assert label(result.names[-1]) == ax.get_xlabel()
        compare_cells(ax, expected)


def compare_cells(ax, expected):
    """Raise unless the cells of a picture are those of a frame, by their row and column."""
    both = read_cells(ax).merge(expected, on=["row", "column"], suffixes=("_drawn", ""))
    assert len(expected) == len(both) == len(read_cells(ax))
    values = both["proportion"]
    known = np.isfinite(values)
    assert [f"{x:z.1%}" if fine else "unknown" for x, fine in zip(values, known, strict=True)] == (
        both["text"].tolist()
    )
    shades = (values.fillna(0) / np.clip(values.max(), 0.05, 1)).clip(lower=0)
    if "low" in expected:
        unsure = (both["low"] <= 0) | (both["high"] - both["low"] > 0.9)
        assert unsure.tolist() == both["hatched"].tolist()
        shades = shades.where(~unsure, shades.clip(upper=0.15))
        ranges = itertools.starmap(percent_range, zip(both["low"], both["high"], strict=True))
        assert list(ranges) == both["range"].tolist()
        for name in ("low", "high"):
            drawn = both[f"{name}_drawn"]
            assert both[name].clip(0, both["span"]).tolist() == pytest.approx(drawn.tolist())
        ticks = values.clip(0, both["span"])
        assert ticks[known].tolist() == pytest.approx(both["tick"][known].tolist())
    assert shades.tolist() == pytest.approx(both["shade"].tolist())


def check_posterior(kind):
    """A row for each distinct report, in the order in which they come."""
    made, group = (MOOD, None)
    given = reports()["mood"][:40].to_numpy()
    if kind == "samples":
        made = rr.mechanisms.Samples({"b": rr.KRR(["u", "t"], 0.9), "a": rr.KRR(["u", "t"], 0.7)})
        given, group = np.array(["u", "t", "t", "u"]), np.array(["a", "b", "a", "b"])
    prior = np.arange(1, made.k + 1) / np.arange(1, made.k + 1).sum()
    result = rr.privacy.posterior(given, made, prior, group=group)
    frame = result.to_frame()
    frame = frame[~frame.index.duplicated()]
    stacked = [
        (label(row), label(column), frame.iloc[i, j])
        for i, row in enumerate(frame.index)
        for j, column in enumerate(frame.columns)
    ]
    expected = pd.DataFrame(stacked, columns=["row", "column", "proportion"])
    compare_cells(result.plot(), expected)


def compare_bars(ax, values):
    """Raise unless bars, their labels and their numbers are those of a Series, in its order."""
    names = tick_labels(ax.yaxis)
    drawn = {names[round(bar.get_y() + 0.31)]: bar.get_width() for bar in ax.patches}
    expected = {label(name): float(value) for name, value in values.items()}
    assert list(expected.items()) == list(drawn.items())
    numbers = [float(text.get_text().replace(",", "")) for text in ax.texts]
    assert list(expected.values()) == pytest.approx(numbers, rel=0.005)


def check_design_table(kind):
    """A bar for each design: the people that it takes."""
    result = planning.compare_designs(1.3)
    frame = result.to_frame()
    values = pd.Series(frame["people"].to_numpy(), frame.iloc[:, 0])
    compare_bars(result.plot(), values)
    compare_bars(result.plot(sort=True), values.sort_values(ascending=False, kind="stable"))


def check_recommendation(kind):
    """A bar for each design: the ratio of its variance to the best."""
    options = {"goal": kind} | ({"scores": [1, 9, 4, 2]} if kind == "mean" else {})
    result = planning.recommend(["d", "a", "c", "b"], 1.1, 500, **options)
    frame = result.to_frame()
    compare_bars(result.plot(), pd.Series(frame["ratio"].to_numpy(), frame.iloc[:, 0]))


@cache
def some_regression(kind):
    """A model of each class."""
    frame = reports()
    x = frame[["age"]].assign(sex=(frame["sex"] == "f") * 1.0)
    if kind == "multinomial":
        return rr.logit(frame["smokes"], x, mechanism=SMOKES)
    if kind == "intercepts":
        nothing = x.iloc[:, :0]
        return rr.logit(frame["smokes"], nothing, mechanism=SMOKES)
    if kind == "groups":
        pytest.importorskip("formulaic")
        people = x.assign(drink=frame["drink"], group=np.arange(len(frame)) % 20)
        formula = "drink ~ age + sex + (1 | group)"
        return rr.regression.mixed(formula, people, mechanism=DRINK)
    if kind.startswith("list"):
        counts = np.repeat([0, 1, 2, 3, 0, 1, 2, 3, 4], [8, 132, 222, 227, 19, 123, 229, 219, 34])
        treated = np.repeat([0, 1], [589, 624])
        others = pd.DataFrame({"even": np.arange(1213) % 2, "third": np.arange(1213) % 3})
        return rr.regression.list_regression(
            counts,
            others,
            mechanism=rr.surveys.list_experiment(3, groups=(0, 1)),
            group=treated,
            method="linear" if kind == "list" else "likelihood",
        )
    if kind == "scores":
        columns = x.assign(smokes=frame["smokes"])
        covariates = {"smokes": SMOKES}
        return rr.linear(frame["weight"], columns, mechanisms=covariates)
    if kind == "ordered":
        return rr.regression.ordinal(frame["smokes"], x, mechanism=SMOKES)
    return rr.logit(frame["drink"], x, mechanism=DRINK)


def check_regression(kind):
    """Coefficients without intercepts, unless there are no others; marginal effects."""
    result = some_regression(kind)
    frame = result.to_frame(0.9)
    texts = [joined(name) if isinstance(name, tuple) else label(name) for name in frame.index]
    expected = expected_of(frame, "coef", labels=texts)
    own = ("threshold ", "sd(", "sigma")  # parameters that are no coefficients
    others = ["Intercept" not in text and not text.startswith(own) for text in texts]
    if any(others):
        expected = expected[others].reset_index(drop=True)
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected, bounds=None)
    check_order(draw, expected, bounds=None)


def check_pairwise(kind):
    """All pairs of four regions: of one category of two, and of each of several."""
    column, categories = ("drink", DRINK) if kind == "one category" else ("mood", MOOD)
    result = rr.estimate(reports(), categories, columns=column, by="region").pairwise()
    frame = result.to_frame(0.9)
    names = [
        f"{first} minus {second}"
        for first, second in zip(frame.iloc[:, 0], frame.iloc[:, 1], strict=True)
    ]
    if frame["category"].nunique() > 1:
        names = [
            f"{name}: {label(each)}" for name, each in zip(names, frame["category"], strict=True)
        ]
    expected = expected_of(frame, "difference", labels=names)
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected, bounds=(-1.0, 1.0))
    check_order(draw, expected, bounds=(-1.0, 1.0))


def check_correlations(kind):
    """All pairs of three columns; values without limits, for a noisy one may lie outside."""
    frame = reports().assign(number=np.arange(997.0), square=np.arange(997.0) ** 2)
    result = rr.correlations(
        frame, ["drink", "number", "square"], mechanisms={"drink": DRINK}, values={"drink": [0, 1]}
    )
    table = result.to_frame(0.9)
    names = [f"{a} and {b}" for a, b in zip(table["first"], table["second"], strict=True)]
    expected = expected_of(table, "correlation", labels=names)
    draw = partial(result.plot, level=0.9)
    compare_intervals(draw(), expected, bounds=None)
    check_order(draw, expected, bounds=None)


def check_fit_table(kind):
    """Effects and odds ratios of a fit, its predictions, intercepts and areas."""
    warnings.simplefilter("ignore", LowPrecisionWarning)  # these groups are alike
    fit = some_regression("groups" if kind in ("areas", "intercepts") else "multinomial")
    if kind == "areas":
        cells = pd.DataFrame({"age": 30.0, "sex": 1.0, "group": fit.groups})
        result = fit.poststratify(cells, np.ones(len(cells)), by="group")
    else:
        made_by = {"effects": "marginal_effects", "ratios": "odds_ratios", "predictions": "predict"}
        arguments = ([[30.0, 1], [50, 0]],) if kind == "predictions" else ()
        result = getattr(fit, made_by.get(kind, kind))(*arguments)
    bounds = (0.0, 1.0)
    frame = result.to_frame(0.9)
    names = frame[list(result.labels)].apply(joined, axis=1)
    expected = expected_of(frame, result.estimate, labels=names)
    if kind == "ratios":
        expected[["estimate", "low", "high"]] = np.log(expected[["estimate", "low", "high"]])
    if kind in ("effects", "ratios", "intercepts"):
        bounds = None
    draw = partial(result.plot, level=0.9, sort=False)
    ax = draw()
    compare_intervals(ax, expected, bounds=bounds)
    assert result.estimate.replace("_", " ") == ax.get_xlabel()
    check_order(partial(result.plot, level=0.9), expected, bounds=bounds)
    if kind in ("areas", "intercepts"):  # a caterpillar
        largest_first = expected.sort_values("estimate", ascending=False, kind="stable")
        compare_intervals(result.plot(level=0.9), largest_first, bounds=bounds)


CHECKS = {
    "Estimate": (check_estimate, ["plain", "target", "design", "bits", "samples"]),
    "GroupEstimates": (check_groups, ["one", "two"]),
    "Estimates": (check_estimates, ["columns", "same", "groups", "two"]),
    "Corrected": (check_corrected, ["plain"]),
    "ProportionsAmong": (check_among, ["plain"]),
    "NoncomplianceBounds": (check_noncompliance, ["random", "any"]),
    "PooledGroups": (check_pooled, ["plain"]),
    "Quantiles": (check_quantiles, ["median", "two"]),
    "Difference": (check_difference, ["plain"]),
    "PairwiseDifferences": (check_pairwise, ["one category", "several"]),
    "Correlations": (check_correlations, ["three"]),
    "Means": (check_means, ["plain", "rare"]),
    "Crosstab": (check_crosstab, ["mood region", "smokes mood", "drink sex smokes"]),
    "ConditionalProportions": (check_conditional, ["pair", "back", "three"]),
    "PosteriorProbabilities": (check_posterior, ["plain", "samples"]),
    "DesignTable": (check_design_table, ["plain"]),
    "Recommendation": (check_recommendation, ["proportions", "mean", "distribution"]),
    "ListResult": (check_regression, ["list"]),
    "ListLikelihoodResult": (check_regression, ["list by likelihood"]),
    "LikelihoodResult": (check_regression, ["binary", "multinomial", "intercepts", "ordered"]),
    "RandomInterceptsResult": (check_regression, ["groups"]),
    "ScoreResult": (check_regression, ["scores"]),
    "FitTable": (check_fit_table, ["effects", "ratios", "predictions", "areas", "intercepts"]),
}
"""For each public class that draws: the function that compares, and its cases."""

BASES = {"MaximumResult", "RegressionResult"}
"""Classes whose subclasses draw."""


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n, (_, ks) in CHECKS.items() for k in ks])
def test_a_picture_has_the_numbers_of_its_table(name, kind):
    """Labels, dots, ends of intervals, bars, shades, texts and legend, for each class and case."""
    CHECKS[name][0](kind)


def test_each_class_that_draws_is_compared_with_its_table():
    """A class with a public plot needs cases above, and a function of `rrstats.plots` a test."""
    drawing = set()
    for module in pkgutil.walk_packages(rr.__path__, "rrstats."):
        if module.name.endswith("__main__"):
            continue
        try:
            members = vars(importlib.import_module(module.name))
        except ImportError:  # an optional package
            continue
        for name, one in members.items():
            ours = inspect.isclass(one) and one.__module__.startswith("rrstats.")
            if ours and hasattr(one, "plot") and not name.startswith("_"):
                drawing.add(one.__name__)
    assert {*CHECKS, *BASES} == drawing
    functions = {name for name in vars(plots) if name.startswith("plot_")}
    others = {"plot_lines", "plot_bars", "plot_bounds", "plot_diverging"}
    assert {"plot_intervals", "plot_cells", *others} == functions


# -- the functions themselves ------------------------------------------------------------------


def test_series_are_told_apart_by_their_labels():
    """Also those whose texts are equal, that begin with "_", or that look like mathematics."""
    names = ["_north", "$a$", 1, "1", None]
    rows = [2, "2", "_x"]
    pairs = list(itertools.product(names, rows))
    values = np.arange(len(pairs)) / 40
    frame = pd.DataFrame({"estimate": values, "low": values - 0.01, "high": values + 0.02})
    frame.index = pd.Index([row for _, row in pairs], dtype=object)
    frame = frame.assign(
        series=pd.Index([name for name, _ in pairs], dtype=object), n=np.arange(len(pairs)) + 5
    )
    ax = plots.plot_intervals(frame)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert ["_north", "$a$", "1", "1", "(no answer)", "95% interval"] == texts
    assert {0: "2", 1: "2", 2: "_x"} == tick_labels(ax.yaxis)
    drawn = read_intervals(ax)
    assert values.tolist() == drawn["estimate"].tolist()
    places = [round(y) for dots in ax.collections[1::2] for y in dots.get_offsets()[:, 1]]
    assert [0, 1, 2] * 5 == places
    ax.figure.canvas.draw()


def test_ends_of_cells_belong_to_the_cells():
    """A table of ends in another order is refused, and not read by its places."""
    values = pd.DataFrame([[0.2, 0.3], [0.4, 0.1]], ["x", "y"], ["a", "b"])
    low, high = values - 0.05, values + 0.07
    expected = values.stack().rename_axis(["row", "column"]).rename("proportion")
    expected = expected.to_frame().assign(low=low.stack(), high=high.stack()).reset_index()
    compare_cells(plots.plot_cells(values, low=low, high=high), expected)
    for other in (low.loc[["y", "x"]], low[["b", "a"]]):
        refused(
            ArgumentValueError, "low must have the rows", plots.plot_cells,
            values, low=other, high=high,
        )  # fmt: skip
        refused(
            ArgumentValueError, "high must have the rows", plots.plot_cells,
            values, low=low, high=other,
        )  # fmt: skip


def test_each_line_and_each_bar_is_that_of_its_name():
    """The legend names each line by its look; bars have their own numbers."""
    x = pd.Index([10, 20, 40], name="people")
    frame = pd.DataFrame({"b": [0.2, 0.5, 0.6], 2: [0.9, np.nan, 0.1], "a": [0.3, 0.4, np.inf]}, x)
    ax = plots.plot_lines(frame)
    legend = ax.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    samples = dict(zip(texts, legend.legend_handles, strict=True))
    for place, name in enumerate(frame):
        finite = frame[name][np.isfinite(frame[name])]
        line = ax.lines[place]
        assert finite.index.tolist() == list(line.get_xdata())
        assert finite.tolist() == list(line.get_ydata())
        sample = samples[label(name)]
        for look in ("get_color", "get_marker", "get_linestyle"):
            assert getattr(line, look)() == getattr(sample, look)()
    values = pd.Series([3, 1200, -0.25], pd.Index(["z", None, "a"], dtype=object))
    compare_bars(plots.plot_bars(values), values)
    compare_bars(plots.plot_bars(values, top=2), values.iloc[:2])


def test_a_category_that_no_column_has_is_refused():
    """And one that only some columns have is drawn for these."""
    frame = reports()
    result = rr.estimate(frame, MECHANISMS, columns=list(MECHANISMS))
    refused(ArgumentValueError, "not among the categories of any column", result.plot, category="x")
    rows = read_intervals(result.plot(category="gin"))
    assert [f"smokes (n={len(frame):,})"] == rows["label"].tolist()
    assert result["smokes"]["gin"].value == rows["estimate"][0]


def test_items_of_one_scale_diverge_from_its_middle():
    """Parts are maximum likelihood proportions, side by side; the middle of the scale is at 0."""
    scales = (["no", "rather no", "rather yes", "yes"], ["no", None, "yes"], ["no", "yes"])
    for categories in scales:
        rng = np.random.default_rng(len(categories))
        mechanism = rr.KRR(categories, 0.8)
        answers = np.array(categories, dtype=object)[rng.integers(0, len(categories), (997, 3))]
        frame = pd.DataFrame(answers, columns=["pay", "_hours", "chief"]).assign(sex=["m"] * 997)
        for by in (None, "sex"):
            result = rr.estimate(frame, mechanism, columns=["pay", "_hours", "chief"], by=by)
            ax = result.plot_scale()
            items = list(tick_labels(ax.yaxis).values())
            assert [name if by is None else f"{name}, m" for name in result] == items
            handles, texts = ax.get_legend_handles_labels()
            assert list(map(label, categories)) == texts
            for row, name in enumerate(result):
                estimate = result[name] if by is None else result[name]["m"]
                parts = estimate.mle().proportions
                widths = [bars[row].get_width() for bars in handles]
                assert parts.tolist() == pytest.approx(widths)
                starts = [bars[row].get_x() for bars in handles]
                ends = np.add(starts, widths)
                assert ends[:-1].tolist() == pytest.approx(starts[1:])
                half, is_odd = divmod(len(categories), 2)
                middle = starts[half] + (widths[half] / 2 if is_odd else 0)
                assert 0 == pytest.approx(middle, abs=1e-12)
    other = rr.estimate(reports(), MECHANISMS, columns=list(MECHANISMS))
    refused(ArgumentValueError, "columns must have the same categories", other.plot_scale)


def test_coefficients_of_a_private_covariate_are_not_drawn():
    """Only those of the outcome are; the axis of odds ratios shows their exponentials."""
    frame = reports()
    private = {"smokes": SMOKES}
    data = frame[["drink", "smokes", "age"]]
    result = rr.logit("drink ~ smokes + age", data, mechanism=DRINK, mechanisms=private)
    table = result.to_frame(0.9)
    names = ["smokes[T.gin]", "smokes[T.wine]", "age"]
    assert len(table) > len(names) + 1
    expected = expected_of(table.loc[names], "coef", labels=names)
    compare_intervals(result.plot(level=0.9), expected, bounds=None)
    ax = result.odds_ratios().plot(level=0.9)
    drawn = read_intervals(ax)
    for end in ("estimate", "low", "high"):
        assert expected[end].to_numpy() == pytest.approx(drawn[end].to_numpy(), abs=1e-12)
    assert "odds ratio" == ax.get_xlabel()
    ratios = [float(text.get_text()) for text in ax.get_xticklabels()]
    assert len(ratios) > 2
    assert np.exp(ax.get_xticks()) == pytest.approx(ratios, rel=0.005)


def test_a_picture_of_many_rows_is_not_a_scroll():
    """Sixty rows take about half of 31 inches, and their labels do not overlap."""
    rows = pd.DataFrame({"estimate": 0.5, "low": 0.4, "high": 0.6}, index=range(60))
    ax = plots.plot_intervals(rows)
    assert ax.figure.get_size_inches()[1] < 17
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(boxes))
