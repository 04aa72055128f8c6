"""The proof, validation and paper: the tests that they name exist; and two steps of the proof."""

import re
from pathlib import Path

import numpy as np
import pytest
from catalogue import EXAMPLES
from scripted import Counting, Recorded

from rrstats.data.encoders import Encoded
from rrstats.privatization.column import randomize_block

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
ROWS = 5_000


@pytest.mark.parametrize(
    ("page", "least"), [("proof.md", 41), ("validation.md", 25), ("paper/paper.md", 8)]
)
def test_the_tests_that_the_proof_names_exist(page, least):
    """Each step of the proof, and each claim of the validation, names the test that checks it."""
    if not (DOCS / page).exists():
        pytest.skip("the documentation is not here")
    named = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", (DOCS / page).read_text("utf-8")))
    assert len(named) >= least
    for file, test in sorted(named):
        (path,) = HERE.rglob(file)
        assert f"def {test}(" in path.read_text("utf-8"), f"{file}::{test}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_words_are_asked_once_and_without_a_look_at_the_answers(name):
    """No two requests of one block share an address, and all answers make the same requests."""
    mechanism = EXAMPLES[name]()
    k, groups = mechanism.domain.answers, mechanism.groups
    samples = None if groups is None else np.arange(ROWS) % len(groups)
    logs = []
    for answers in (np.zeros(ROWS), np.arange(ROWS) * 7_919_993 % k, np.full(ROWS, k + 1)):
        source = Recorded(Counting(8))
        encoded = Encoded.of(answers.astype(mechanism.domain.dtype), k)
        randomize_block(mechanism, encoded, source, 3, samples=samples)
        logs.append(source.log)
    addresses = [(asked.stream, asked.block, asked.round) for asked in logs[0]]
    assert len(addresses) == len(set(addresses))
    assert logs[0] == logs[1] == logs[2]
