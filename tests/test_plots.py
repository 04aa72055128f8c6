"""Pictures show the numbers they are given, to colour-blind readers, in grey, on dark styles."""

import io
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats import plots
from rrstats.errors import ArgumentTypeError, ArgumentValueError

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

HEALTH = ["excellent", "good", "fair", "poor"]
TRUTH = [0.545, 0.362, 0.077, 0.016]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def health():
    return rr.estimate(rr.Tally.from_counts([480, 310, 150, 60], rr.KRR(HEALTH, 0.8)))


def rows(estimate, low, high, **columns):
    held = {"estimate": estimate, "low": low, "high": high, **columns}
    return pd.DataFrame(held, index=list("abcdef"[: len(estimate)]))


def drawn_intervals(ax):
    """Low, high and height of each line, of all series."""
    from matplotlib.collections import LineCollection

    lines = [c.get_segments() for c in ax.collections if isinstance(c, LineCollection)]
    return [(s[0, 0], s[1, 0], s[0, 1]) for s in itertools.chain(*lines)]


def dots(ax):
    """The offsets of the dots and whether they are hollow."""
    from matplotlib.collections import PathCollection

    found = [c for c in ax.collections if isinstance(c, PathCollection)]
    offsets = np.concatenate([np.asarray(c.get_offsets()) for c in found])
    hollow = np.concatenate([c.get_facecolors()[:, 3] == 0 for c in found])
    return offsets[:, 0].tolist(), hollow.tolist()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


# -- dots and intervals ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"level": 0.8}])
def test_an_estimate_is_drawn_as_it_is(options):
    """Lines reach from low to high, dots and bars are the two proportions, crosses the truth."""
    est = health()
    for truth in (TRUTH, dict(zip(HEALTH, TRUTH, strict=True)), pd.Series(TRUTH, HEALTH)):
        ax = est.plot(truth=truth, **options)
        low, high = est.interval(**options)
        assert list(zip(low, high, range(4), strict=True)) == drawn_intervals(ax)
        assert est.proportions.tolist() == dots(ax)[0]
        assert est.naive.tolist() == [bar.get_width() for bar in ax.patches]
        (cross,) = (line for line in ax.lines if line.get_label() == "true value")
        assert TRUTH == pytest.approx(list(cross.get_xdata()))
        assert HEALTH == labels(ax)
        assert f"{100 * options.get('level', 0.95):g}% interval" in legend(ax)
        assert "1,000 reports" == ax.get_title(loc="left")


@pytest.mark.parametrize("name", ["crosswise", "labelled"])
def test_same_is_no_naive_yes(name):
    """Reports that name no category, or come most often from others, have no grey bar."""
    reports = {"labelled": ["different", "same"], "crosswise": None}[name]
    m = rr.surveys.crosswise(["no", "yes"], 0.25, yes="yes", reports=reports)
    ax = rr.estimate(rr.Tally.from_counts([600, 400], m)).plot()
    assert not ax.patches
    assert "naive" not in " ".join(legend(ax))


def test_grey_bars_are_called_what_they_are():
    """A raw or uncorrected estimate is no naive proportion."""
    m = rr.KRR(["no", "yes"], 0.75)
    counts = {"a": [60, 40], "b": [52, 48], "c": [66, 34]}
    answers = [r for n, y in counts.values() for r in ["no"] * n + ["yes"] * y]
    groups = rr.estimate(answers, m, by=[name for name in counts for _ in range(100)])
    assert "estimate of the group alone" in legend(groups.pooled().plot())
    assert "uncorrected estimate" in legend(groups["a"].corrected((5, 100)).plot())
    assert "naive, among the reports" in legend(groups["a"].plot())


def test_ticks_of_odds_ratios_differ():
    """Narrow intervals around 1 have ticks with as many digits as tell them apart."""
    numbers = rows([0.0], [-0.006], [0.012])
    ax = plots.plot_intervals(numbers, bounds=None, exponential=True)
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in ax.get_xticklabels()]
    assert len(texts) == len({*texts}) >= 4
    exact = [math.exp(place) for place in ax.get_xticks()]
    assert exact == pytest.approx([float(text) for text in texts], abs=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"excellent": 55}, [55, 36, 8, 1], {"poor": -0.1}, [1.5, 0, 0, 0]]
)
def test_true_proportions_lie_between_0_and_1(wrong):
    """A percentage is refused before crosses are drawn at 5,500%."""
    refused(
        ArgumentValueError, r"each number of truth must be in \[0, 1\]", health().plot, truth=wrong
    )


@pytest.mark.parametrize("truth", [[0.5], {"z": 1.0}, "ab", 3])
def test_a_truth_that_does_not_fit_is_refused(truth):
    """It is named before anything is drawn."""
    refused(ArgumentValueError, "truth", health().plot, truth=truth)


def test_a_category_that_the_truth_leaves_out_has_nobody():
    """As in the value counts of a column; a group that it leaves out is not marked."""
    assert [0.7, 0.3, 0.0] == plots.check_truth({"a": 0.7, "b": 0.3}, ["a", "b", "c"], 0.0)
    assert np.isnan(plots.check_truth({"a": 0.7}, ["a", "b"])[1])


def test_what_is_impossible_is_hollow_and_an_infinite_end_is_an_arrow():
    """A dot outside the bounds is where it is; nothing is hollow where there are no bounds."""
    numbers = rows([-0.02, 0.4, 1.1], [0.0, 0.3, 0.9], [0.03, 0.5, 1.0])
    ax = plots.plot_intervals(numbers)
    assert ([-0.02, 0.4, 1.1], [True, False, True]) == dots(ax)
    assert "hollow: outside 0% to 100%" in legend(ax)
    left, right = ax.get_xlim()
    assert left < -0.02
    assert right > 1.1
    endless = rows([0.5, -np.inf, np.nan], [-1.0, -np.inf, np.nan], [np.inf, 2.0, np.nan])
    ax = plots.plot_intervals(endless, bounds=None, xlabel="log odds")
    assert dots(ax)[1][0] is False
    assert not any("hollow" in name for name in legend(ax))
    arrows = {line.get_marker(): np.asarray(line.get_xdata()) for line in ax.lines}
    assert np.isfinite(arrows[">"][0])
    assert np.isfinite(arrows["<"][1])
    left, right = ax.get_xlim()
    assert left <= arrows["<"][1] < -1
    assert 2 < arrows[">"][0] <= right
    ax.figure.canvas.draw()


def test_a_dot_never_hides_its_interval():
    """Caps are taller than the largest dot, and above it, however short the interval is."""
    ax = plots.plot_intervals(rows([0.5, 0.2], [0.4999, 0.1], [0.5001, 0.3], n=[10**6, 10]))
    caps = [line for line in ax.lines if line.get_marker() == "|"]
    found = ax.collections[-1]
    assert min(line.get_markersize() for line in caps) > 1.2 * max(found.get_sizes()) ** 0.5
    assert min(line.get_zorder() for line in caps) > found.get_zorder()
    assert found.get_sizes()[0] > found.get_sizes()[1]
    assert ["a (n=1,000,000)", "b (n=10)"] == labels(ax)


def test_rows_are_sorted_and_the_top_ones_kept():
    """The whole row moves; the axis says how many there are."""
    numbers = rows([0.1, -0.5, 0.3], [0.0, -0.6, 0.2], [0.2, -0.4, 0.4], truth=[1, 2, 3])
    ax = plots.plot_intervals(numbers, sort=True, bounds=(-1, 1))
    assert ["c", "a", "b"] == labels(ax)
    assert [(0.2, 0.4, 0), (0.0, 0.2, 1), (-0.6, -0.4, 2)] == drawn_intervals(ax)
    ax = plots.plot_intervals(numbers, top=2, bounds=(-1, 1), xlabel="difference", title="mine")
    assert ["b", "c"] == labels(ax)
    assert "difference (top 2 of 3)" == ax.get_xlabel()
    assert "mine" == ax.get_title(loc="left")
    for frame, top in ((numbers, 0), (numbers[:0], None)):
        refused(ArgumentValueError, "at least one row", plots.plot_intervals, frame, top=top)


def test_several_series_share_a_row():
    """Conditional proportions: each series has its colour, marker and height."""
    numbers = rows([0.5, 0.3, 0.6, 0.1], [0.4, 0.2, 0.5, 0.0], [0.6, 0.4, 0.7, 0.2])
    numbers = numbers.assign(series=["left", "right"] * 2).set_axis(["n", "n", None, None])
    ax = plots.plot_intervals(numbers, sort=True)
    assert ["(no answer)", "n"] == labels(ax)
    assert ["left", "right", "95% interval"] == legend(ax)
    heights = [round(place) for *_, place in drawn_intervals(ax)]
    assert [0, 1, 0, 1] == heights
    assert 4 == len({place for *_, place in drawn_intervals(ax)})


def test_labels_are_text_in_a_few_short_lines():
    """Long ones are wrapped, and in full where cut ones would be alike; `$` is no mathematics."""
    long = "word " * 60
    est = rr.estimate(rr.Tally.from_counts([5, 3, 2], rr.KRR([r"$\over$", long, None], 0.75)))
    first, second, third = labels(est.plot())
    assert (r"$\over$", "(no answer)") == (first, third)
    assert 3 == len(second.splitlines())
    assert second.endswith("…")
    est = rr.estimate(rr.Tally.from_counts([5, 3], rr.KRR([long + "a", long + "b"], 0.75)))
    ax = est.plot(title="a long title " * 20)
    assert 2 == len(set(labels(ax)))
    assert max(map(len, ax.get_title(loc="left").splitlines())) < 110
    ax.figure.savefig(io.BytesIO())


def test_groups_name_their_category():
    """Groups stand from top to bottom with their sizes; the title says whose proportion it is."""
    frame = pd.DataFrame({"answer": list("nynynyy"), "sex": list("ffmfmmf")})
    found = rr.estimate(frame["answer"], rr.KRR(list("ny"), 0.75), by=frame["sex"])
    ax = found.plot(category="y", truth={"f": 0.2})
    assert ["f (n=4)", "m (n=3)"] == labels(ax)
    assert "answer: proportion of y by sex" == ax.get_title(loc="left")
    assert [one.proportions[1] for one in found.values()] == pytest.approx(dots(ax)[0])
    refused(ArgumentValueError, "not among the categories", found.plot, category="never")


TITLED = {
    "an estimate": (lambda frame: frame.rr.estimate("vote"), "vote: 80 reports"),
    "a Series": (lambda frame: rr.estimate(frame["vote"]), "vote: 80 reports"),
    "reports without a name": (
        lambda frame: rr.estimate(frame["vote"].to_numpy(), rr.KRR(list("ny"), 0.75)),
        "80 reports",
    ),
    "groups": (
        lambda frame: frame.rr.estimate("vote", by="sex"),
        "vote: proportion of y by sex",
    ),
    "columns": (lambda frame: frame.rr.estimate(), "proportion of y by column"),
    "pooled groups": (
        lambda frame: frame.rr.estimate("vote", by="sex").pooled(),
        "vote: proportion of y by sex, pooled\nintervals hold on average over groups, and "
        "less for extreme ones",
    ),
    "bounds": (
        lambda frame: frame.rr.estimate("vote").noncompliance(0.2, "random"),
        "vote: 80 reports",
    ),
    "corrected": (lambda frame: frame.rr.estimate("vote").corrected((4, 80)), "vote: 80 reports"),
    "a margin of a table": (
        lambda frame: frame.rr.crosstab("vote", "sex")._estimate("vote"),
        "vote: 80 reports",
    ),
    "conditional": (
        lambda frame: frame.rr.crosstab("vote", "sex").conditional("vote", "sex"),
        "Proportions of vote within sex",
    ),
    "means": (lambda frame: frame.rr.means("age", "vote"), "Means of age by vote"),
    "quantiles": (lambda frame: frame.rr.quantiles("age", "vote"), "Quantiles of age by vote"),
    "means of arrays": (
        lambda frame: rr.means(range(80), frame["vote"].to_numpy(), rr.KRR(list("ny"), 0.75)),
        "Means",
    ),
    "two columns": (
        lambda frame: rr.difference(frame.rr.estimate("vote"), frame.rr.estimate("abroad")),
        "vote minus abroad",
    ),
    "two groups": (
        lambda frame: rr.difference(*frame.rr.estimate("vote", by="sex").values()),
        "vote: sex f minus sex m",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", TITLED)
def test_titles_name_the_column(case):
    """Of the reports, wherever it has a name; a title that is given stays."""
    columns = {"vote": list("nyny") * 20, "abroad": list("nnny") * 20, "sex": list("ffmm") * 20}
    columns["age"] = range(80)
    answers = pd.DataFrame(columns)
    frame = answers.rr.simulate(["vote", "abroad"], list("ny"), 0.75, seed=1)
    call, title = TITLED[case]
    found = call(frame)
    assert title == found.plot().get_title(loc="left")
    assert "mine" == found.plot(title="mine").get_title(loc="left")


# -- tables, lines, bars -----------------------------------------------------------------------


def comparison(name):
    """A result with rows besides estimates, and its labels."""
    design = rr.KRR(["no", "yes"], 0.9)
    if name == "difference":
        pair = [rr.Tally.from_counts([n, 1000 - n], design) for n in (600, 450)]
        return rr.difference(*map(rr.estimate, pair)), ["no", "yes"]
    if name == "means":
        values, reports = np.arange(900.0), ["no", "no", "yes"] * 300
        return rr.means(values, reports, design), ["no", "yes"]
    counts, columns = [[300, 350], [200, 150]], {"smoker": design, "region": ["north", "south"]}
    table = rr.estimators.Crosstab.from_counts(counts, columns)
    return table.conditional("smoker", given="region"), ["no", "yes"]


@pytest.mark.parametrize("name", ["difference", "means", "conditional"])
def test_results_draw_their_own_intervals(name):
    """A line from low to high for each row, and what is printed, shown and said is the same."""
    found, categories = comparison(name)
    ax = found.plot(level=0.9, title="ours")
    ends = zip(*(np.ravel(end) for end in found.interval(0.9)), strict=True)
    lines = [line[:2] for line in drawn_intervals(ax)]
    assert np.allclose(sorted(ends), sorted(lines))
    assert categories == labels(ax)
    assert "90% interval" in legend(ax)
    assert ("north" in legend(ax)) == (name == "conditional")
    for text in (repr(found), found._repr_html_()):
        assert all(category in text for category in categories)
    assert found.interpret() in found._repr_html_()
    assert "yes" in found.interpret()


def test_a_table_without_intervals_is_figures_on_shades():
    """Posterior probabilities: black or white figures, whichever is read on its cell."""
    index, columns = pd.Index(["no", "yes"], name="report"), pd.Index(["no", "yes"], name="truth")
    ax = plots.plot_cells(pd.DataFrame([[0.99, 0.01], [0.5, np.nan]], index, columns), title="P")
    assert ["99.0%", "1.0%", "50.0%", "unknown"] == [text.get_text() for text in ax.texts]
    assert ["white", "black", "black", "black"] == [text.get_color() for text in ax.texts]
    assert ("truth", "report", "P") == (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left"))
    for size in (0, 21):
        with pytest.raises(ArgumentValueError, match=f"1 to 400 cells, found {size * size}"):
            plots.plot_cells(pd.DataFrame(np.zeros((size, size))))


def curves(k=5, n=4):
    """Lines that end close together."""
    x = pd.Index([100, 200, 500, 1000][:n], name="people")
    return pd.DataFrame({f"e {i}": 1 - 0.5 ** (x / 100 + i) for i in range(k)}, index=x)


def test_lines_are_named_in_the_order_of_their_ends():
    """Finite numbers are drawn; the names stand beside the Axes, and none of a line without any."""
    frame = curves().assign(late=[np.inf, 0.2, 0.4, 0.5], higher=[np.inf, 0.4, 0.4, 0.4999999])
    frame["never"] = np.nan
    ax = plots.plot_lines(frame, log="x", percent="y", ylabel="power", title="power of a test")
    for line, name in zip(ax.lines, frame, strict=False):
        finite = frame[name][np.isfinite(frame[name])]
        assert finite.tolist() == list(line.get_ydata())
        assert finite.index.tolist() == list(line.get_xdata())
    assert ["e 4", "e 3", "e 2", "e 1", "e 0", "higher", "late"] == legend(ax)
    ax.figure.canvas.draw()
    left = ax.get_legend().get_window_extent().x0
    assert ax.get_window_extent().x1 <= left < ax.figure.get_window_extent().x1
    assert ("people", "power", "log") == (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale())
    assert {"100", "1,000"} <= {text.get_text() for text in ax.get_xticklabels()}
    assert "50%" == ax.yaxis.get_major_formatter()(0.5)


def test_bars_are_as_long_as_the_numbers():
    """With their numbers at the end, and the first on top."""
    values = pd.Series([1200, 30, 7.125], ["a", "b", "c"], name="people")
    ax = plots.plot_bars(values, top=2)
    assert [1200, 30] == [bar.get_width() for bar in ax.patches]
    assert ["1,200", "30"] == [text.get_text() for text in ax.texts]
    assert "people (top 2 of 3)" == ax.get_xlabel()
    assert "7.12" == plots.plot_bars(values).texts[2].get_text()


# -- for all readers, on all styles ------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as these readers see it.
SEEN = {
    "trichromacy": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(color):
    encoded = np.array(to_rgb(color))
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear sRGB, white point D65."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = matrix @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SEEN)
def test_colours_are_told_apart(sight):
    """Any two are 15 or more apart in CIELAB, as each reader sees them (2.3 is just seen)."""
    seen = [lab(SEEN[sight] @ linear(color)) for color in plots.COLORS]
    gaps = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(gaps) > 15
    old = [lab(SEEN[sight] @ linear(color)) for color in ("#1f5fa8", "#7b4fa3")]
    assert sight != "protanopia" or np.linalg.norm(old[0] - old[1]) < 2.3  # the test can fail


def test_lines_differ_without_colour():
    """Dash and marker together are others for each of a dozen lines."""
    ax = plots.plot_lines(curves(12))
    assert 12 == len({(line.get_marker(), line.get_linestyle()) for line in ax.lines[:12]})


PICTURES = {
    "estimate": lambda ax: health().plot(ax, truth=TRUTH),
    "lines": lambda ax: plots.plot_lines(curves(), ax),
    "bars": lambda ax: plots.plot_bars(pd.Series([1, 2], ["a", "b"]), ax),
    "cells": lambda ax: plots.plot_cells(pd.DataFrame([[0.2, 0.4]]), ax, title="cells"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_used_in_their_style(name):
    """Nothing else is made or set; text stands out from a dark ground that the caller chose."""
    with plt.style.context("dark_background"):
        figure = Figure()
        given = figure.subplots()
    before, settings = plt.get_fignums(), dict(plt.rcParams)
    ax = PICTURES[name](given)
    assert ax is given
    assert (before, settings) == (plt.get_fignums(), dict(plt.rcParams))
    texts = [*ax.get_yticklabels(), ax.title, ax.xaxis.label]
    texts += [] if name == "cells" else ax.texts  # those stand on cells of their own
    texts += ax.get_legend().get_texts() if ax.get_legend() else []
    figure.canvas.draw()
    for text in texts:
        light = [0.2126, 0.7152, 0.0722] @ linear(text.get_color())
        assert (light + 0.05) / 0.05 > 4.5
    PICTURES[name](None)
    assert 1 + len(before) == len(plt.get_fignums())
    refused(ArgumentTypeError, "ax must be matplotlib Axes, found str", PICTURES[name], "picture")


def test_a_size_may_be_asked_for():
    """Of new Axes; without it there is more room for more rows."""
    ax = health().plot(figsize=(3, 2))
    assert (3, 2) == tuple(ax.figure.get_size_inches())
    many = rr.estimate([3, 7, 7], range(100), 0.5).plot()
    assert many.figure.get_size_inches()[1] > 20
    rr.estimate([], range(600), 0.5).plot().figure.canvas.draw()


def test_a_regression_draws_its_coefficients_and_its_effects():
    """Without the intercept, whose size says nothing beside the others; effects on request."""
    x = pd.DataFrame({"age": np.arange(300.0) % 7, "sex": np.arange(300) % 2})
    reports = np.array(list("abc"))[(np.arange(300) * 7 % 11) % 3]
    found = rr.logit(reports, x, mechanism=rr.KRR(list("abc"), 0.8))
    low, high = found.conf_int(0.9).drop("Intercept", level=1).to_numpy().T
    drawn = drawn_intervals(found.plot(level=0.9))
    assert np.allclose([(a, b) for a, b, _ in drawn], np.transpose([low, high]))
    effects = found.marginal_effects()
    ax = effects.plot()
    assert dots(ax)[0] == effects.to_frame()["effect"].tolist()
    assert "age, slope, a" in [text.get_text() for text in ax.get_yticklabels()]
