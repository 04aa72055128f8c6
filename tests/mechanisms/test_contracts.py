"""Documents, fingerprints and keyed reports that stay byte for byte: data elsewhere hold them.

contracts.json has what was written before the package was rebuilt.  None of its values ever
changes: a new meaning gets a new name.

    PYTHONPATH=tests python tests/mechanisms/test_contracts.py    adds those of new examples
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, answers_of, simulated

import rrstats as rr
from rrstats.errors import RRStatsError

CONTRACTS = Path(__file__).with_name("contracts.json")
VECTORS = Path(__file__).parents[2] / "docs" / "vectors"


def attrs(mechanism):
    """What a Series says of the mechanism that made it."""
    values, group = answers_of(mechanism)
    answers = pd.Series(np.fromiter(values, object, 12), dtype=object, name="answer")
    return json.dumps(rr.simulate(answers, mechanism, seed=1, unknown="uniform", **group).attrs)


def texts(mechanism):
    """The fingerprint of a mechanism, and reports as a client sends them."""
    written = [rr.client.encode_report(mechanism, report) for report in simulated(mechanism)[0]]
    return [rr.client.fingerprint(mechanism), *written]


def keyed(mechanism):
    """Reports under a fixed key, or that the mechanism is refused."""
    values, group = answers_of(mechanism)
    key = rr.client.Keyed(rr.client.Key(bytes(range(32))), list(range(12)), question="answer")
    try:
        return list(rr.privatize(values, mechanism, key=key, unknown="uniform", **group))
    except RRStatsError:
        return "refused"


def two_rounds():
    mechanism = rr.mechanisms.two_rounds(["a", "b"], epsilon_lifetime=2, epsilon_first_report=1)
    return json.dumps(mechanism.to_dict())


def as_json(value):
    """A value as JSON has it; labels that JSON does not have by their repr."""
    return json.loads(json.dumps(value, default=label_as_json))


def label_as_json(value):
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else repr(value)


def of_examples(read):
    """One call for each mechanism of the catalogue."""
    return {name: lambda make=make: read(make()) for name, make in EXAMPLES.items()}


CALLS = {
    "records in attrs": {
        **of_examples(attrs),
        "150 labels": lambda: attrs(rr.KRR(range(150), 0.5)),
    },
    "keyed reports": of_examples(keyed),
    "fingerprints and texts of reports": of_examples(texts),
    "SHA-256 of client vectors": {
        path.name: lambda path=path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(VECTORS.glob("*.json"))
    },
    "documents": {"two rounds of two epsilons": two_rounds},
}
"""For each kind of contract, calls by name."""


@pytest.fixture(scope="module")
def contracts():
    return json.loads(CONTRACTS.read_text("utf-8"))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, calls in CALLS.items() for name in calls]
)
def test_a_contract_is_kept(contracts, kind, name):
    """Each call gives what it gave, to the byte."""
    if kind == "keyed reports":
        pytest.importorskip("cryptography")
    assert contracts[kind][name] == as_json(CALLS[kind][name]())


def test_nothing_is_without_its_contract(contracts):
    """Each call has its contract, and the file has no others."""
    names = {kind: list(calls) for kind, calls in CALLS.items()}
    assert names == {kind: list(values) for kind, values in contracts.items()}


if __name__ == "__main__":
    kept = json.loads(CONTRACTS.read_text("utf-8"))
    kinds = []
    for kind, calls in CALLS.items():
        lines = [
            f"{json.dumps(name)}: {json.dumps(kept[kind].get(name) or as_json(call()))}"
            for name, call in calls.items()
        ]
        kinds.append(f"{json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n}")
    CONTRACTS.write_text("{\n" + ",\n".join(kinds) + "\n}\n", "utf-8")
