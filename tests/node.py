"""JavaScript of docs in Node.js, without a browser."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

PROGRAM = """
import { readFileSync } from "node:fs";
import * as module from MODULE;
const told = JSON.parse(readFileSync(0, "utf8")).map((one) => CODE);
const isNamed = (value) => typeof value === "number" && !Number.isFinite(value);
console.log(JSON.stringify(told, (_, value) => (isNamed(value) ? `${value}` : value)));
"""


def in_node(module: Path, code: str, asked: list) -> list:
    """The values of an expression about `module` and each `one` of what is asked, in one process.

    Numbers that are not finite come back as doubles, too.
    """
    program = PROGRAM.replace("MODULE", json.dumps(module.as_uri())).replace("CODE", code)
    command = [NODE, "--input-type=module", "--eval", program]
    done = subprocess.run(
        command,
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return _finite(json.loads(done.stdout))


def _finite(value):
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    names = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return names.get(value, value) if isinstance(value, str) else value
