"""A stored notebook, as its tests read it: cells, outputs, and a run from top to bottom."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import warnings
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


class Notebook:
    """One notebook of the folder; the tests may have been copied away from it."""

    def __init__(self, name):
        self.path = FOLDER / name
        self.exists = self.path.exists()

    @property
    def text(self):
        return self.path.read_text("utf-8")

    def cells(self, kind):
        return [cell for cell in json.loads(self.text)["cells"] if cell["cell_type"] == kind]

    def outputs(self):
        return [out for cell in self.cells("code") for out in cell["outputs"]]

    def pictures(self):
        """The stored pictures as bytes."""
        stored = [out.get("data", {}).get("image/png") for out in self.outputs()]
        return [base64.b64decode(picture) for picture in stored if picture]

    @property
    def source(self):
        return "\n".join("".join(cell["source"]) for cell in self.cells("code"))

    def asserted(self):
        """The lines of code that assert something."""
        lines = self.source.splitlines()
        return [line for line in lines if line.lstrip().startswith("assert ")]

    def check_it_runs(self):
        """Every cell, without a warning; as many pictures as are stored, each with a title."""
        import matplotlib as mpl
        import matplotlib.pyplot as plt

        backend = mpl.get_backend()
        plt.switch_backend("agg")
        try:
            names = {}
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("error")
                for cell in self.cells("code"):
                    exec(compile("".join(cell["source"]), "<notebook>", "exec"), names)
            figures = [plt.figure(number) for number in plt.get_fignums()]
            assert all(figure.axes[0].get_title(loc="left") for figure in figures)
            assert len(self.pictures()) == len(figures)
        finally:
            plt.close("all")
            plt.switch_backend(backend)

    def check_it_is_clean(self):
        """Executed in order, without errors, warnings, machine paths or leftovers of a tool."""
        counts = [cell["execution_count"] for cell in self.cells("code")]
        assert list(range(1, len(counts) + 1)) == counts
        kinds = {out["output_type"] for out in self.outputs()}
        assert kinds <= {"stream", "execute_result", "display_data"}
        assert {"stdout"} == {out["name"] for out in self.outputs() if "name" in out}
        both = self.cells("code") + self.cells("markdown")
        assert all(cell["metadata"].keys() <= {"tags", "mystnb"} for cell in both)
        text = self.text
        assert not re.search(r"Warning|/(home|root|tmp|Users|work)/|C:\\\\|object at 0x", text)
        assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"

    def check_its_pictures_are_small(self, most=200_000):
        """Pictures are stored with few colours."""
        sizes = [len(picture) for picture in self.pictures()]
        assert sizes
        assert sum(sizes) < most, "few colours make them small: Pillow's Image.quantize(48)"
