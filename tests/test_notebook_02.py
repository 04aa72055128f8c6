"""The notebook of survey designs runs, is stored as it ran, and keeps its published numbers."""

import base64
import contextlib
import io
import json
import re
import warnings
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "02_survey_designs.ipynb"

pytestmark = pytest.mark.skipif(
    not NOTEBOOK.exists(), reason="the tests were copied away from the notebooks"
)


def cells(kind):
    read = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return [cell for cell in read if cell["cell_type"] == kind]


def outputs():
    return [out for cell in cells("code") for out in cell["outputs"]]


def test_every_cell_runs_without_a_warning():
    """From top to bottom, with its assertions; only the pictures' fonts may be others."""
    pytest.importorskip("matplotlib")
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    backend = mpl.get_backend()
    plt.switch_backend("agg")
    try:
        names = {}
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("error")
            for cell in cells("code"):
                exec(compile("".join(cell["source"]), "<notebook>", "exec"), names)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert all(figure.axes[0].get_title(loc="left") for figure in figures)
        drawn = sum("image/png" in out.get("data", {}) for out in outputs())
        assert drawn == len(figures)
    finally:
        plt.close("all")
        plt.switch_backend(backend)


def test_it_is_stored_executed_and_clean():
    """Outputs are there, in order, without errors, warnings or machine paths."""
    counts = [cell["execution_count"] for cell in cells("code")]
    assert list(range(1, len(counts) + 1)) == counts
    assert {out["output_type"] for out in outputs()} <= {
        "stream",
        "execute_result",
        "display_data",
    }
    assert {"stdout"} == {out["name"] for out in outputs() if "name" in out}
    assert all({} == cell["metadata"] for cell in cells("code") + cells("markdown"))
    text = NOTEBOOK.read_text("utf-8")
    assert not re.search(r"Warning|/(home|root|tmp|Users|work)/|C:\\\\|object at 0x", text)
    assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"


def test_its_pictures_are_small():
    """Pictures are stored with few colours: all of them in less than 200 kB."""
    pictures = [out["data"]["image/png"] for out in outputs() if "image/png" in out.get("data", {})]
    assert pictures
    size = sum(len(base64.b64decode(picture)) for picture in pictures)
    assert size < 200_000, "store them with few colours, as Pillow's Image.quantize(48) makes them"


def test_it_checks_the_published_numbers():
    """Two-coin survey, RRreg's lie detector, RAPPOR's epsilons and the border are asserted."""
    source = "\n".join("".join(cell["source"]) for cell in cells("code"))
    asserted = [line for line in source.splitlines() if line.lstrip().startswith("assert ")]
    assert len(asserted) >= 15
    for number in (
        "2 * yes / 50_000 - 0.5",
        "0.8706954864100357",
        "0.04111840737438816",
        "0.6358063927585619",
        "0.01734368110422092",
        "4.394",
        "1.0743",
        "34.113",
        "0.0804",
    ):
        assert any(number in line for line in asserted), number


def test_it_says_that_its_data_are_simulated():
    """The first cell says so, and nothing in it is privatized with a seed."""
    assert "simulated" in "".join(cells("markdown")[0]["source"])
    source = "\n".join("".join(cell["source"]) for cell in cells("code"))
    assert not re.search(r"^[^#\n]*\.privatize\(", source, re.M)
