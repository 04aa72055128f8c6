"""The notebooks run, are stored as they ran, and their text says what their numbers say.

The published numbers that they quote are golden in test_sources, test_epsilon, test_privacy,
test_rounds, test_surveys_golden and test_planning_power.  After a change run `jupyter execute
--inplace`.
"""

import ast
import base64
import contextlib
import importlib.util
import io
import json
import re
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = [path.stem for path in sorted(FOLDER.glob("*.ipynb"))]  # none beside copied tests
FRESH = "05_at_scale"  # its noise is fresh

CLAIMS = {
    "01_randomized_response": """
        assert holds(*survey.interval(), [0.8, 0.2]) == [1, 1]
        true_health = data["health"].value_counts(normalize=True)
        assert holds(*health.interval(), true_health) == [1, 1, 1, 0]
        assert estimate.proportions[8] < 0
    """,
    "02_survey_designs": """
        assert designs.table["people"].head(4).nunique() == 1
        assert (people[shown].loc[0.5] / people[shown].loc[1]).round().tolist() == [6, 4, 4, 4]
        assert holds(rows["low"], rows["high"], rows["truth"]) == [1] * 5
        assert ratio["KRR"].loc[[5, 100, 1000]].round(1).tolist() == [1, 9.6, 92.4]
        for design, points in ((rr.KRR, 59), (rr.mechanisms.SubsetSelection, 3)):
            mechanism = design(pages, epsilon=1)
            bias = planning.compliance.worst_case_bias(mechanism, proportion_of_attackers=0.01)
            assert round(100 * bias) == points
        assert sum(low > 0) == 13 and holds(low, high, shares) == [1] * 100
        assert coverage.min().round(2).tolist() == [0.95, 0.45]
    """,
    "03_analysis": """
        ends = [np.transpose(one.interval())[1] for one in groups.values()]
        assert holds(*np.transpose(ends), truth) == [1] * 5
        assert [round(100 * (groups[bill]["seen"].value - truth[bill]), 1)
                for bill in (0, 95)] == [1.2, -2.3]
        assert holds(by_health["low"], by_health["high"], by_health["truth"]) == [1] * 4
        assert round((true["health"] == "poor")[rand["health"] == "poor"].mean(), 2) == 0.11
        assert people["vote"].eq("Dole").mean() > dole.high > 0.373 > dole.low
        ratio = weighted["Dole"].std_error / plain["Dole"].std_error
        assert round(ratio, 1) == 1.4
        for found in (plain, weighted):
            assert holds(*found.interval(), [0.584, 0.416]) == [1, 1]
        within = table.to_frame(normalize="columns").set_index(["health", "plan", "doctor"])
        known = true.groupby("health")[["plan", "doctor"]].value_counts(normalize=True)
        assert holds(within["low"], within["high"], known[within.index]) == [1] * 16
        assert round(true_fit.marginal_effects().to_frame()["effect"].iloc[1], 3) == 0.03
        assert holds(*fit.conf_int().to_numpy().T, true_fit.params) == [1] * 3
        assert round((naive_fit.params / fit.params)["school"], 2) == 0.76
        direct = len(panel) * (true_fit.bse / fit.bse) ** 2
        assert direct[["age", "school"]].between(525, 540).all()
        three = coefs[["naive", "estimate", "truth"]]
        assert three.loc["health[T.poor]"].round(1).tolist() == [0.2, 2.3, 2]
        assert three.loc["chronic_diseases"].round(3).tolist() == [0.141, 0.134, 0.135]
        assert sum(holds(low, high, share)) == 192
        assert abs(np.mean([each["seen"].value for each in releases]) - share) < 0.001
    """,
    "04_planning": """
        half = [planning.half_width(n, 0.10, NO_YES, epsilon=1) for n in (needed, needed - 1)]
        assert half[0] <= 0.03 < half[1] and round(direct / needed, 1) == 0.1
        assert planning.sample_size(0.03, 0.10, NO_YES, epsilon=least) == ours
        assert everybody < needed
        assert designs.table["people"].head(4).eq(2477).all() and abs(planned / 2477 - 1) < 0.03
        assert days == 99 and field.epsilon <= 1
        power = [planning.power(n, 0.15, against=0.10, epsilon=1) for n in (enough, enough - 1)]
        assert power[0] >= 0.8 > power[1]
        yes = 0.10 * (1 - ours_liars)
        error = (0.10 - yes) ** 2 + yes * (1 - yes) / ours
        variance = rr.KRR(NO_YES, epsilon=1).channel.variance(0.10, "population") / ours
        assert abs(error / variance - 1) < 1e-9
    """,
    "05_at_scale": """
        assert engines == ["pandas"]
        missed = (shares["pandas"] - shares["truth"]).abs()
        assert missed.max() < 7 * min(each["often"].std_error for each in districts.values())
        assert right > 0.95 and not differs[~changed].any() and differs[changed].mean() > 0.5
    """,
    "06_teaching": """
        assert holds(rows["low"], rows["high"], 0.3) == [1] * 21
        width = (rows["high"] - rows["low"])[:20].round(2)
        assert [width.min(), width.max()] == [0.3, 0.67]
        assert np.round(np.exp([die.epsilon, coins.epsilon]), 9).tolist() == [5, 3]
        inferred = rr.privacy.posterior(["yes"], coins, [0.65, 0.35]).probabilities
        assert inferred.round(2)[0, 1] == 0.62
        assert widths.loc[30].round(2).tolist() == [0.32, 0.26, 0.17]
        assert holds(growing["low"], growing["high"], 0.3) == [1] * 4
        assert growing["high"].iloc[3] - growing["low"].iloc[3] < 0.13
        for proportion, n in ((0.6, 1000), (0.5, 1000), (0.6, 2000)):
            for _, (t_a, t_b, bias, *ratios) in mse_ratios(proportion, n).iterrows():
                lies = proportion * (1 - t_a) - (1 - proportion) * (1 - t_b)  # how far yes is off
                assert round(-lies, 2) == bias
                lying = lies**2 + (proportion - lies) * (1 - proportion + lies) / n
                for p, ratio in zip((0.6, 0.7, 0.8, 0.9), ratios):
                    warner = 1 / (16 * (p - 1 / 2) ** 2) - (proportion - 1 / 2) ** 2  # eq. 6
                    assert abs(warner / n / lying - ratio) < 0.005 + 1e-9
        better = [mse_ratios(0.6, n).lt(1).sum().sum() for n in (1000, 2000)]
        assert better[0] < better[1]
        of_beliefs = 0.21**2 / (table["A after yes"] - 0.3) / (0.3 - table["A after no"])
        assert np.allclose(of_beliefs, table["n variance"])  # Anderson (1976), theorem 1
        after_yes = np.linspace(0.35, 0.69, 35)  # on the border: the smallest variance is Z's
        on_border = 0.21**2 / (after_yes - 0.3) / (0.3 - (after_yes - 0.4))
        assert after_yes[on_border.argmin()].round(2) == table["A after yes"]["Z"].round(9) == 0.5
        assert np.allclose(table["A after yes"] - table["A after no"] > 0.4 + 1e-9, [0, 0, 0, 1, 1])
        both = measures[["jeopardy of yes", "jeopardy of no"]].max(axis=1)
        assert np.allclose(np.log(both), table["epsilon"])
        assert hazards["limited, A"].idxmin() == hazards["limited, not A"].idxmin() == "say no"
    """,
    "07_did_they_follow": """
        assert round(dice.tipping_point("yes", 0.0312).value, 2) == 0.25
        assert round(dice.noncompliance(0.2976).proportions[1], 3) == 0
        disagree = [p < 0.05 for *_, p, _, _ in rows]
        assert disagree == [True] * 4 + [False]
        lower = [row[2] - row[4] for row in rows]
        assert 0.01 < min(lower) < max(lower) < 0.05
        assert corrected.interval().high[1] > est.proportions[1] > 3 * corrected.proportions[1]
        ends = wada.noncompliance(0.05, "any").bounds
        assert [round(float(end[1]), 2) for end in ends] == [0.39, 0.47]
    """,
}


def holds(low, high, truth):
    """For each interval whether it holds the truth."""
    return ((np.asarray(low) <= truth) & (truth <= np.asarray(high))).astype(int).tolist()


def code_of(name):
    """The code cells of a notebook."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def stored(cell):
    """The words and the pictures of a cell."""
    words, pictures = [], []
    for out in cell["outputs"]:
        data = out.get("data", {})
        if "image/png" in data:
            pictures.append(base64.b64decode(data["image/png"]))
        else:
            words += "".join(out.get("text") or data["text/plain"]).split()
    return words, pictures


def printed(cell, names):
    """Run a cell; the words that it prints and those of its result."""
    source, page = "".join(cell["source"]), io.StringIO()
    lines = ast.parse(source)
    result = isinstance(lines.body[-1], ast.Expr) and not source.endswith(";")
    last = ast.Expression(lines.body.pop().value) if result else None
    with contextlib.redirect_stdout(page):
        exec(compile(lines, "<notebook>", "exec"), names)
        if last and (value := eval(compile(last, "<notebook>", "eval"), names)) is not None:
            print(repr(value))
    return page.getvalue().split()


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_as_it_is_stored(name, monkeypatch, tmp_path):
    """Every cell, without a warning: the same words, as many pictures, and all claims hold."""
    for package in ("matplotlib", "formulaic", "pyarrow"):
        pytest.importorskip(package)
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if name == FRESH:  # without engines, which have tests of their own
        find = importlib.util.find_spec
        absent = {"polars", "distributed", "pyspark"}
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda one: one not in absent and find(one)
        )
    plt.switch_backend("agg")
    names = {}
    try:
        with (
            warnings.catch_warnings(),
            pd.option_context("display.width", 80, "display.max_columns", 20),
        ):
            warnings.simplefilter("error")
            for cell in code_of(name):
                words, pictures = stored(cell)
                found = printed(cell, names)
                assert words == found or name == FRESH
                assert len(pictures) == len(plt.get_fignums())
                plt.close("all")
    finally:
        plt.close("all")
    exec(textwrap.dedent(CLAIMS.get(name, "")), names | {"holds": holds})


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_stored_clean(name):
    """In order, without errors or machine paths; small pictures, each with a text for the blind."""
    cells = code_of(name)
    assert list(range(1, len(cells) + 1)) == [cell["execution_count"] for cell in cells]
    outputs = [out for cell in cells for out in cell["outputs"]]
    assert {out["output_type"] for out in outputs} <= {"stream", "execute_result", "display_data"}
    assert {out["name"] for out in outputs if "name" in out} <= {"stdout"}
    size = 0
    for cell in cells:
        _, pictures = stored(cell)
        assert cell["metadata"].keys() <= {"tags", "mystnb"}
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        assert bool(pictures) == (len(alt) > 50)
        size += sum(map(len, pictures))
    assert size < 120_000, "few colours make pictures small: Pillow's Image.quantize(48)"
    text = (FOLDER / f"{name}.ipynb").read_text("utf-8")
    assert not re.search(r"Warning|/(home|root|tmp|Users|work)/|C:\\\\|object at 0x", text)
    assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"


def test_cells_of_the_lesson_are_short():
    """At most eight lines of code each, so that a class can read one from a screen."""
    cells = code_of("06_teaching") if "06_teaching" in NOTEBOOKS else []
    assert [cell["id"] for cell in cells if len(cell["source"]) > 8] == []


def test_all_engines_ran_when_it_was_stored():
    """None was left out; all counted alike, and all keyed reports were those of pandas."""
    if FRESH not in NOTEBOOKS:
        pytest.skip("the tests were copied away from the notebooks")
    outputs = [" ".join(stored(cell)[0]) for cell in code_of(FRESH)]
    assert outputs[0] == "engines here: pandas Polars Dask Spark"
    assert sum(output.count("100% as on pandas") for output in outputs) == 3
    (counts,) = [output for output in outputs if re.search(r"north( \d{5}){4}", output)]
    rows = re.findall(r"(\d{5}) (\d{5}) (\d{5}) (\d{5})", counts)
    assert [1] * 4 == [len(set(row)) for row in rows]
