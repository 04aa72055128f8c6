"""What mechanisms, plans and records share cannot be changed, at any depth."""

import contextlib
import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, simulated

import rrstats as rr
from rrstats._frozen import FrozenDict, FrozenList
from rrstats.errors import ArgumentTypeError
from rrstats.mechanisms.records import ColumnRecord, read

BOOK = {1: "no", 2: "yes", 3: "often"}
PLAN = rr.planning.FramePlan({"a": [0, 1], "b": BOOK}, 2, ["a", ("a", "b")])
OBJECTS = EXAMPLES | {
    "a codebook": lambda: rr.KRR(BOOK, 0.75),
    "a number": lambda: rr.number(0, 1),
    "a plan": lambda: PLAN,
    "a record of a plan": lambda: recorded(PLAN),
    "a record of rows": lambda: recorded("a", [0, 1], prob="p"),
    "a record by hand": lambda: ColumnRecord("a", {"type": "KRR"}, by_row={"prob": "p"}),
}


def recorded(*design, **options):
    """The record of a column that is privatized."""
    frame = pd.DataFrame({"a": [0, 1] * 9, "b": [1, 2, 3] * 6, "p": [0.7, 0.8] * 9})
    return read(frame.rr.privatize(*design, **options).attrs)[0]


def parts_of(thing):
    """The attributes of an object of this package that are the same at each look."""
    properties = [name for kind in type(thing).__mro__ for name in vars(kind) if name[:2] != "__"]
    for name in {*properties, *vars(thing)}:
        with contextlib.suppress(Exception):  # a property of other mechanisms
            part = getattr(thing, name)
            if part is getattr(thing, name):
                yield name, part


def changeable(thing, where="", known=None):
    """Arrays, dictionaries, lists and sets that an object shares and that can be changed."""
    known = {} if known is None else known
    if id(thing) in known:
        return
    known[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        if thing.flags.writeable:
            yield where
    elif isinstance(thing, dict | list | set) and not isinstance(thing, FrozenDict | FrozenList):
        yield where
    elif isinstance(thing, dict | list | tuple | frozenset):
        for part in [*(thing.values() if isinstance(thing, dict) else thing)][:20]:
            yield from changeable(part, where, known)
    elif type(thing).__module__.startswith("rrstats") and hasattr(thing, "__dict__"):
        for name, part in parts_of(thing):
            yield from changeable(part, f"{where} {type(thing).__name__}.{name}", known)


@pytest.mark.parametrize("name", OBJECTS)
def test_nothing_that_is_shared_can_be_changed(name):
    """A caller who changed an array or a dictionary would change a mechanism for all others.

    So also in a worker process, where a mechanism is unpickled, and in a copy.
    """
    thing = OBJECTS[name]()
    if name in EXAMPLES:
        simulated(thing)  # makes what is made at the first draw
    assert [] == list(changeable(thing))
    for twin in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
        assert thing == twin
        assert [] == list(changeable(twin))


@pytest.mark.parametrize("name", EXAMPLES)
def test_documents_of_mechanisms_are_copies(name):
    """Whoever changes what `to_dict` gave changes no mechanism."""
    mechanism = EXAMPLES[name]()
    before = json.dumps(mechanism.to_dict())
    spoil(mechanism.to_dict())
    assert before == json.dumps(mechanism.to_dict())


def spoil(document):
    """Change every list and dictionary of a document."""
    parts = document.values() if isinstance(document, dict) else document
    for part in [*parts]:
        if isinstance(part, dict | list):
            spoil(part)
    document.clear()


def test_a_codebook_refuses_changes_and_copies_of_it_do_not():
    """The error names the way: a copy."""
    declared = rr.KRR(BOOK, 0.75).domain.declared
    assert (BOOK, repr(BOOK)) == (declared, repr(declared))
    with pytest.raises(ArgumentTypeError, match="change a copy"):
        declared[1] = "yes"
    dict(declared)[1] = "yes"
