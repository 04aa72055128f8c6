"""Every mechanism once, in several examples: what the battery proves, it proves of each of these.

A new mechanism is one line in `FAMILIES`.  Examples are small, so that everything about them can
be enumerated; labels that have made trouble elsewhere are in `AWKWARD`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import rrstats
from rrstats import surveys
from rrstats.mechanisms import (
    KRR,
    Chain,
    MatrixDesign,
    Mechanism,
    Rappor,
    Samples,
    SubsetSelection,
    UnaryEncoding,
)
from rrstats.mechanisms.number_design import NumberDesign
from rrstats.mechanisms.survey_design import SurveyDesign

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

ASYMMETRIC = MatrixDesign(
    ["a", "b", "c"],
    [
        # truths:  a     b     c
        [0.60, 0.05, 0.10],
        [0.20, 0.70, 0.15],
        [0.15, 0.05, 0.50],
        [0.05, 0.20, 0.25],
    ],
    reports=["w", "x", "y", "z"],
).channel
"""A generic channel of four reports and three truths: a transposed or swapped axis shows."""

NUMBERS: dict[str, list[object]] = {
    "unrelated_question": [0.7, 0.25],
    "mangat": [0.7],
}
"""Designs of yes and no with the numbers of their cards."""

FAMILIES: dict[str, dict[str, Callable[[], Mechanism]]] = {
    "KRR": {
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
    "Chain": {
        "two rounds": lambda: Chain(KRR(["a", "b", "c"], 0.75), KRR(["a", "b", "c"], 0.5)),
        "three rounds": lambda: KRR(["01", "10"], 0.75).then(_coin(0.875)).then(_coin(0.625)),
        "nested behind": lambda: KRR(["01", "10"], 0.75).then(_coin(0.875).then(_coin(0.625))),
        "after a matrix": lambda: _generic().then(KRR(["w", "x", "y", "z"], 0.75)),
    },
    "MatrixDesign": {
        "three truths, four reports": lambda: _generic(),
        "square, no two alike": lambda: MatrixDesign(
            ["a", "b", "c"],
            [
                [Fraction(5, 8), Fraction(1, 8), Fraction(1, 4)],
                [Fraction(1, 4), Fraction(3, 4), Fraction(1, 8)],
                [Fraction(1, 8), Fraction(1, 8), Fraction(5, 8)],
            ],
        ),
        "thirds": lambda: MatrixDesign(
            [False, True], [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
        ),
        "no information": lambda: MatrixDesign(["a", "b"], [[0.25, 0.25], [0.75, 0.75]]),
        "labels: mixed": lambda: MatrixDesign(
            AWKWARD["mixed"], KRR(AWKWARD["mixed"], 0.5).channel.entries
        ),
    },
    "NumberDesign": {
        "two points": lambda: NumberDesign([0, 1], [[0.75, 0.25], [0.25, 0.75]], [-0.5, 1.5]),
        "three points, four reports": lambda: NumberDesign(
            [-1, 0, 1],
            [[0.5, 0.25, 0.125], [0.25, 0.25, 0.125], [0.125, 0.25, 0.25], [0.125, 0.25, 0.5]],
            [-2.5, -0.5, 0.5, 2.5],
        ),
    },
    "SurveyDesign": {
        "warner": lambda: surveys.warner(["no", "yes"], 0.7, yes="yes"),
        "two coins": lambda: surveys.two_coin([True, False]),
        "forced response of four": lambda: surveys.forced_response(
            list("abcd"), Fraction(1, 2), [Fraction(1, 8), Fraction(1, 4), 0, Fraction(1, 8)]
        ),
        "crosswise": lambda: surveys.crosswise(["no", "yes"], 0.25, yes="no"),
        "triangular": lambda: surveys.triangular(["no", "yes"], 0.25, yes="yes"),
        "three cards": lambda: surveys.kuk(["no", "yes"], 0.75, 0.25, yes="yes", draws=3),
        "direct": lambda: surveys.direct(["a", "b", "c"]),
        **{
            name: lambda name=name, numbers=numbers: getattr(surveys, name)(
                ["not", "has"], *numbers, yes="has"
            )
            for name, numbers in NUMBERS.items()
        },
        "anchor": lambda: surveys.crosswise_with_anchor([True, False], 0.25, 0.125),
    },
    "Samples": {
        "mixed": lambda: Samples({"dice": _coin(0.75), "cards": _coin(0.9)}),
        "mixed of three": lambda: Samples(
            {1: KRR(["a", "b", "c"], 0.75), 2: KRR(["a", "b", "c"], 0.5).then(_three())}
        ),
        "lie detector": lambda: surveys.stochastic_lie_detector(
            ["no", "yes"], [Fraction(1, 6), Fraction(5, 6)], yes="yes"
        ),
        "cheaters": lambda: surveys.cheater_detection(
            ["no", "yes"], [0.25, 0.75], [0.125, 0.0], yes="yes"
        ),
        "extended crosswise": lambda: surveys.extended_crosswise(
            ["no", "yes"], Fraction(1, 5), yes="yes", reports=["different", "same"]
        ),
        "one-sayers": lambda: surveys.extended_crosswise(
            ["no", "yes"], [0.25, 0.625], yes="yes", behaviour="no"
        ),
        "unknown prevalence": lambda: surveys.unrelated_question_two_samples(
            [False, True], [0.7, 0.25]
        ),
        "list": lambda: surveys.list_experiment(2),
    },
    "UnaryEncoding": {
        "any pair": lambda: UnaryEncoding(["a", "b", "c"], 0.75, 0.25),
        "eight": lambda: UnaryEncoding(range(8), 0.7, 0.1),
    },
    "SymmetricUnary": {"by epsilon": lambda: UnaryEncoding.symmetric(["a", "b", "c"], epsilon=1.0)},
    "OptimizedUnary": {
        "by epsilon": lambda: UnaryEncoding.optimized(["a", "b"], epsilon=1.0),
        "labels: mixed": lambda: UnaryEncoding.optimized(AWKWARD["mixed"], epsilon=2.0),
    },
    "Rappor": {"published": lambda: Rappor(["a", "b", "c"], f=0.5, p=0.5, q=0.75)},
    "SubsetSelection": {
        "two of five": lambda: SubsetSelection(list("abcde"), epsilon=1.0, size=2),
        "one of three": lambda: SubsetSelection(list("abc"), epsilon=1.0, size=1),
    },
}


def channel_of(matrix: Any) -> Any:
    """The channel of a bare ``matrix[report, truth]``."""
    return MatrixDesign(range(len(matrix[0])), matrix, reports=range(len(matrix))).channel


def answers_of(mechanism: Mechanism, rows: int = 12) -> tuple[list[Any], dict[str, Any]]:
    """Answers of all categories, and the sample of each where there are several.

    Where the categories are not the answers, as in a list experiment, they are replaced.
    """
    labels, groups = mechanism.categories, mechanism.groups
    group = {} if groups is None else {"group": [groups[i % len(groups)] for i in range(rows)]}
    return [labels[i * i % len(labels)] for i in range(rows)], group


def simulated(mechanism: Mechanism, rows: int = 12) -> tuple[Any, dict[str, Any]]:
    """Reports of a fixed seed, and the group of each."""
    values, group = answers_of(mechanism, rows)
    return rrstats.simulate(values, mechanism, seed=rows, unknown="uniform", **group), group


def _three() -> KRR:
    return KRR(["a", "b", "c"], 0.875)


def _generic() -> MatrixDesign:
    return MatrixDesign(["a", "b", "c"], ASYMMETRIC.entries, reports=["w", "x", "y", "z"])


def _coin(prob: float) -> KRR:
    return KRR(["01", "10"], prob)


EXAMPLES: dict[str, Callable[[], Mechanism]] = {
    f"{family}, {name}": make
    for family, examples in FAMILIES.items()
    for name, make in examples.items()
}

SILENT = {name for name in EXAMPLES if "no information" in name}
"""Examples whose reports carry no information: they randomize, and nothing can be estimated."""

REPORTS_LABELS = (KRR, Chain, MatrixDesign, NumberDesign, SurveyDesign, Samples)
"""Mechanisms whose reports are labels; those of the others are subsets of the categories."""

WITH_MATRIX = [
    name
    for name, make in EXAMPLES.items()
    if isinstance(make(), REPORTS_LABELS) and not isinstance(make(), Samples)
]
"""Examples with one matrix; the others are several of these, or report subsets."""
