"""Every mechanism once, in several examples: what the battery proves, it proves of each of these.

A new mechanism is one line in `FAMILIES`.  Examples are small, so that everything about them can
be enumerated; labels that have made trouble elsewhere are in `AWKWARD`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable

from rrstats.channel import MatrixChannel
from rrstats.mechanisms import KRR, Chain, Mechanism

AWKWARD: dict[str, list[Hashable]] = {
    "bool": [True, False],
    "bool and missing": [False, None, True],
    "int": [-1, 0, 2**60],
    "float": [0.5, float("inf"), -3.0],
    "int and float": [1, 2.5],
    "str": ["", "None", "nan", "  ", "<b>", "a\nb", "\N{SNOWMAN}", "e\N{COMBINING ACUTE ACCENT}"],
    "str and missing": ["yes", "no", None],
    "bytes": [b"", b"\x00\xff"],
    "date": [datetime.date(2020, 2, 29), datetime.date(1, 1, 1)],
    "tuple": [("a", 1), ("a", (True, None)), ()],
    "mixed": [1, "1", b"1", None, (1,), datetime.date(1, 1, 1)],
}
"""Categories that JSON, Python and pandas confuse, each list allowed and each with a JSON form."""

FAMILIES: dict[type[Mechanism], dict[str, Callable[[], Mechanism]]] = {
    KRR: {
        "coin": lambda: KRR(["no", "yes"], 0.75),
        "three": lambda: KRR(["never", "once", "often"], 0.5),
        "five": lambda: KRR([10, 20, 30, 40, 50], 0.375),
        "not dyadic": lambda: KRR(["a", "b", "c", "d"], 0.7),
        "no information, k=2": lambda: KRR([True, False], 0.5),
        "no information, k=3": lambda: KRR(["a", "b", "c"], 1 / 3),
        "nearly all truth": lambda: KRR(["a", "b", "c"], 1 - 2**-40),
        "by epsilon": lambda: KRR(["a", "b", "c"], epsilon=1.0),
        **{
            f"labels: {kind}": lambda labels=labels: KRR(labels, 0.625)
            for kind, labels in AWKWARD.items()
        },
    },
    Chain: {
        "two rounds": lambda: Chain(KRR(["a", "b", "c"], 0.75), KRR(["a", "b", "c"], 0.5)),
        "three rounds": lambda: KRR(["01", "10"], 0.75).then(_coin(0.875)).then(_coin(0.625)),
        "nested behind": lambda: KRR(["01", "10"], 0.75).then(_coin(0.875).then(_coin(0.625))),
    },
}


def _coin(prob: float) -> KRR:
    return KRR(["01", "10"], prob)


EXAMPLES: dict[str, Callable[[], Mechanism]] = {
    f"{family.__name__}, {name}": make
    for family, examples in FAMILIES.items()
    for name, make in examples.items()
}

SILENT = {name for name in EXAMPLES if "no information" in name}
"""Examples whose reports carry no information: they randomize, and nothing can be estimated."""

ASYMMETRIC = MatrixChannel.from_floats(
    [
        # truths:  a     b     c
        [0.60, 0.05, 0.10],
        [0.20, 0.70, 0.15],
        [0.15, 0.05, 0.50],
        [0.05, 0.20, 0.25],
    ]
)
"""A generic channel of four reports and three truths: a transposed or swapped axis shows."""
