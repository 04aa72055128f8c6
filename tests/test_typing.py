"""Type checkers see the types that users read: they run on the script beside this file.

pandas' own types do not know the accessor ``df.rr``; ``FrameAccessor(df)`` is the same object,
and checkers know its methods.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("typed_script.py")
ROOT = SCRIPT.parents[1]

pytestmark = pytest.mark.slow


def short(text):
    """A revealed type without modules; NumPy's arrays as NDArray."""
    text = re.sub(r"\b\w+\.(?=\w)", "", text)
    return re.sub(r"ndarray\[[^\[\]]*(?:\[[^\[\]]*\])?, dtype\[(\w+)\]\]", r"NDArray[\1]", text)


def expected():
    """The type that the script's comment says, by line."""
    lines = enumerate(SCRIPT.read_text("utf-8").splitlines(), start=1)
    return {
        number: line.rpartition("  # ")[2] for number, line in lines if line.startswith("reveal")
    }


def test_mypy_reveals_the_types_that_users_read(tmp_path):
    """Without Any, in strict mode, and without an error."""
    pytest.importorskip("mypy")
    pytest.importorskip("matplotlib")
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path}"]
    command = [sys.executable, "-m", "mypy", *options, "--ignore-missing-imports", str(SCRIPT)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    notes = re.findall(r':(\d+): note: Revealed type is "(.*)"', run.stdout)
    assert expected() == {int(number): short(text) for number, text in notes}


def test_pyright_reveals_the_types_that_users_read(tmp_path):
    """The same types, and no error."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed (npm install pyright)")
    pytest.importorskip("matplotlib")
    shutil.copy(SCRIPT, tmp_path)
    config = {"include": [SCRIPT.name], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [pyright, "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    diagnostics = json.loads(run.stdout)["generalDiagnostics"]
    errors = [each["message"] for each in diagnostics if each["severity"] == "error"]
    assert not errors
    revealed = {}
    for each in diagnostics:
        match = re.fullmatch(r'Type of ".*" is "(.*)"', each["message"], re.DOTALL)
        if match:
            revealed[each["range"]["start"]["line"] + 1] = short(match[1])
    assert expected() == revealed
