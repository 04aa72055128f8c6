"""The vectors of docs/vectors: scripted words, and the reports that the shipped code makes of them.

    python docs/vectors/make_vectors.py      writes docs/vectors/*.json anew

A vector that changes is a change of the sampler: clients in other languages would no longer
agree.  `test_vectors` fails where the files and the code differ.
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np

import rrstats as rr
from rrstats.data.category_json import categories_to_json
from rrstats.data.identifiers import identity
from rrstats.privatization import single as client
from rrstats.randomness import keyed, samplers

VECTORS = Path(__file__).parent

REPLACED, COIN, LIE, CELL, BITS, SUBSET = 0xFFFF, 0, 1, 0, 1, 1
TOP = 2**64 - 1


class Told:
    """Words of one row: those that are told, all others a hash of the address; and a log.

    strict : whether a word that is not told is an error.
    """

    secure = True

    def __init__(self, seed, told=None, bits=None, strict=False):
        self.bits, self.asked = bits, {}
        self._seed, self._told, self._strict = seed, told or {}, strict

    def words(self, stream, block, rows, round, bits):
        count = rows if isinstance(rows, int) else len(rows)
        if not count:
            return np.empty(0, dtype=f"uint{bits}")
        assert (block, count) == (0, 1), "a client has one row"
        word = self._told.get((stream, round))
        assert word is not None or not self._strict, f"no word for {stream}/{round}"
        if word is None:
            address = f"{self._seed} {stream} {round}".encode()
            word = int.from_bytes(hashlib.sha256(address).digest()[: bits // 8])
        self.asked[f"{stream}/{round}"] = f"{word:0{bits // 4}x}"
        return np.array([word], dtype=f"uint{bits}")


def digits(prob, count, bits=64):
    """The first digits of a probability in base 2**bits."""
    found = []
    for _ in range(count):
        digit, prob = divmod(prob * 2**bits, 1)
        found.append(int(digit))
    return found


def near(stream, prob):
    """Words around the first digits of a probability: below, a tie each way, a long tie, above."""
    one, two, three = digits(prob, 3)
    yield {(stream, 0): one - 1}
    yield {(stream, 0): min(one + 1, TOP)}
    for second in (max(two - 1, 0), two + 1):
        yield {(stream, 0): one, (stream, 1): second}
    yield {(stream, 0): one, (stream, 1): two, (stream, 2): three + 1}


def rejected(stream, bound, bits):
    """Words that are drawn again, and the largest that is not."""
    first = 2**bits // bound * bound
    yield {(stream, 0): first - 1}
    if first < 2**bits:
        yield {(stream, 0): first, (stream, 1): 2**bits - 1, (stream, 2): 0}
        yield {(stream, 0): 2**bits - 1, (stream, 1): first - 1}


# -- designs and their corners -------------------------------------------------------------------


def _krr():
    half = rr.KRR(["no", "yes"], 0.75)
    yield "a coin", half, [{(COIN, 0): 0xC << 60}, {(COIN, 0): (0xC << 60) - 1}]
    lies = [{(COIN, 0): TOP, (LIE, 0): word} for word in (255, 127)]
    three = rr.KRR(["never", "once", "often"], 0.5)
    yield "three, thirds rejected", three, [*rejected(REPLACED, 3, 8), *lies]
    seven = rr.KRR(list("abcd"), 0.7)
    yield "not dyadic", seven, [*near(COIN, Fraction(0.7)), lies[0]]
    tiny = rr.KRR(list("abc"), 1 - 2**-40)
    yield "nearly all truth", tiny, [{(COIN, 0): TOP}, {(COIN, 0): digits(1 - 2**-40, 1)[0]}]
    small = rr.KRR(range(1000), epsilon=1.0)
    corners = [{(COIN, 0): TOP, **told} for told in rejected(LIE, 999, 16)]
    corners = [*near(COIN, Fraction(small.prob)), *corners, *rejected(REPLACED, 1000, 16)]
    yield "a thousand", small, corners
    yield "labels of all kinds", rr.KRR([1, "1", b"1", None, (1, True), 2.5, False], 0.625), []
    yield "numbers by value", rr.KRR([0, 1, 2], 0.75), [], [1.0, -0.0, 2.5, True, "1"]
    yield "floats by value", rr.KRR([0.5, 1.0, 2.5], 0.75), [], [1, 2, False]


def _matrix():
    thirds = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    one, two = digits(Fraction(1, 3), 2)
    corners = [
        {(CELL, 0): one, (CELL, 1): two, (CELL, 2): 5},
        {(CELL, 0): one, (CELL, 1): two + 1},
        {(CELL, 0): digits(Fraction(2, 3), 1)[0], (CELL, 1): 0},
        {(CELL, 0): one + 1},
    ]
    yield "thirds", rr.MatrixDesign([False, True], thirds), corners
    matrix = [[0.6, 0.05, 0.1], [0.2, 0.7, 0.15], [0.15, 0.05, 0.5], [0.05, 0.2, 0.25]]
    generic = rr.MatrixDesign(["a", "b", "c"], matrix, reports=["w", "x", "y", "z"])
    column = [Fraction(row[0]) for row in generic.matrix]
    corners = [{(CELL, 0): 0}, {(CELL, 0): TOP}, *near(CELL, column[0] / sum(column))]
    yield "three truths, four reports", generic, corners
    quarters = [{(CELL, 0): quarter << 62} for quarter in range(4)]
    yield "two coins", rr.surveys.two_coin([True, False]), quarters
    unrelated = rr.surveys.unrelated_question(["no", "yes"], 0.7, 0.25, yes="yes")
    yield "an unrelated question", unrelated, []


def _chain():
    first, second = rr.KRR(["a", "b", "c"], 0.75), rr.KRR(["a", "b", "c"], 0.6)
    yield "two rounds", first.then(second), [{(COIN, 0): TOP, (16 + COIN, 0): TOP}]
    matrix = rr.MatrixDesign(["no", "yes"], [[0.75, 0.25], [0.25, 0.75]], reports=["0", "1"])
    last = rr.KRR(["0", "1"], 0.9).then(rr.KRR(["0", "1"], 0.8))
    yield "after a matrix, three rounds", matrix.then(last), []


def _samples():
    dice, cards = rr.KRR(["no", "yes"], 0.75), rr.KRR(["no", "yes"], 0.9)
    yield "dice and cards", rr.mechanisms.Samples({"dice": dice.then(cards), "cards": cards}), []


def _unary():
    yield "three", rr.mechanisms.UnaryEncoding(["a", "b", "c"], 0.75, 0.25), []
    yield "symmetric, eight", rr.mechanisms.UnaryEncoding.symmetric(range(8), epsilon=1.0), []
    seventy = rr.mechanisms.UnaryEncoding.optimized(range(70), epsilon=1.0)
    bits = digits(Fraction(seventy.prob_other), 64, bits=1)
    ties = {(BITS, 2 * place): TOP * (1 - bit) for place, bit in enumerate(bits)}
    yield "optimized, seventy", seventy, [ties]
    # Where a bit ties at all digits, further ones decide: 2**-80 has more than 64.
    corners = [
        {(BITS, place): 3 for place in range(80)},
        {(BITS, place): 0 if place == 66 else 3 for place in range(67)},
        {(BITS, place): 2 if place > 66 else 3 for place in range(80)},
        {(BITS, place): 1 if place == 79 else 3 for place in range(80)},
    ]
    yield "a rare bit", rr.mechanisms.UnaryEncoding(["a", "b"], 0.5, 2**-80), corners
    # The probabilities of two rounds have about a hundred binary digits: coins that can tie.
    mixed = rr.mechanisms.Rappor(["red", "green", "blue"], f=0.3, p=0.4, q=0.7)
    yield "RAPPOR", mixed, [*near(COIN, Fraction(mixed.prob_own))]


def _subset():
    corners = [
        {(COIN, 0): TOP},
        {(COIN, 0): 0},
        # One of four is a quarter, which ends; two of three goes on for ever.
        {(COIN, 0): TOP, (SUBSET, 0): TOP, (SUBSET, 1): digits(Fraction(2, 3), 1)[0]},
        {(COIN, 0): 0, (SUBSET, 0): 1 << 62, (SUBSET, 1): digits(Fraction(1, 3), 1)[0]},
    ]
    yield "two of five", rr.mechanisms.SubsetSelection(list("abcde"), epsilon=1.0, size=2), corners
    yield "the best size of twenty", rr.mechanisms.SubsetSelection(range(20), epsilon=1.0), []


# -- documents -----------------------------------------------------------------------------------


def vector(mechanism, seed, answer, told=None, group=None, given=()):
    """One answer (its code; None for one that matches no category), its words and its report.

    given : the value itself, where it is not the category as declared.
    """
    source = Told(seed, told)
    value = object() if answer is None else mechanism.domain.categories[answer]
    if given:
        (value,), answer = given, 0
    options = {} if group is None else {"group": group}
    report = rr.client.report(mechanism, value, unknown="uniform", rng=source, **options)
    made = {
        "answer": None if answer is None else categories_to_json([value])[0],
        "words": source.asked,
        "report": categories_to_json([report])[0],
        "text": rr.client.encode_report(mechanism, report),
    }
    return made if group is None else {"group": categories_to_json([group])[0], **made}


def design(name, mechanism, corners, others=()):
    """A design and its vectors: first, last and unknown answers, then the corners.

    others : answers that are given as they stand, of other types than the categories.
    """
    k, groups = mechanism.domain.k, mechanism.groups or [None]
    answers = [*(range(k) if k < 5 else (0, k // 2, k - 1)), None]
    made = [
        vector(mechanism, f"{name} {answer} {turn}", answer, group=group)
        for group in groups
        for answer in answers
        for turn in range(2)
    ]
    for place, told in enumerate(corners):
        answer = None if any(stream == REPLACED for stream, _ in told) else place % k
        made.append(vector(mechanism, f"{name} corner {place}", answer, told))
    made += [
        vector(mechanism, f"{name} {value!r} {turn}", None, given=(value,))
        for value in others
        for turn in range(2)
    ]
    document = {"name": name, "mechanism": mechanism.to_dict()}
    if mechanism.to_dict()["type"] == "SurveyDesign":
        document["drawn_as"] = mechanism.showing(None).to_dict()
    return {**document, "fingerprint": client.fingerprint(mechanism), "vectors": _once(made)}


def primitives():
    """Coins, integers and cells by themselves."""
    coins, integers, cut = [], [], []
    for prob in (Fraction(3, 4), Fraction(0.7), Fraction(1, 3), Fraction(2**-70), Fraction(1)):
        for told in [{}, *(near(0, prob) if 1 > prob > 1 / 8 else [{(0, 0): 0, (0, 1): 0}])]:
            source = Told(f"coin {prob}", told)
            heads = bool(samplers.coin(source, 0, 0, 1, prob=prob)[0])
            coins.append({"prob": _written(prob), "words": source.asked, "heads": heads})
    for bound in (1, 2, 3, 5, 100, 129, 256, 257, 999, 65_536, 65_537, 10**6):
        bits = next((b for b in (8, 16) if bound <= 2**b and 2**b % bound <= 2 ** (b - 6)), 32)
        for told in [{}, *(rejected(0, bound, bits) if bound > 1 else [])]:
            source = Told(f"below {bound}", told)
            value = int(samplers.below(source, 0, 0, 1, bound=bound)[0])
            integers.append({"bound": bound, "words": source.asked, "value": value})
    cuts = [Fraction(1, 5), Fraction(1, 3), Fraction(1, 3) + Fraction(1, 2**70), Fraction(1, 2)]
    third = digits(Fraction(1, 3), 2)
    ties = [{(0, 0): third[0], (0, 1): third[1] + step} for step in (-1, 0, 1, 2**58, 2**59)]
    for told in [{}, {(0, 0): 0}, {(0, 0): 1 << 63}, {(0, 0): (1 << 63) - 1}, *ties]:
        source = Told("cells", told)
        cell = int(samplers.cells(source, 0, 0, 1, cuts=cuts)[0])
        cut.append({"cuts": [_written(c) for c in cuts], "words": source.asked, "cell": cell})
    return {"version": 1, "coin": _once(coins), "below": _once(integers), "cells": _once(cut)}


def _once(listed):
    """Without repetitions, which are words that were told and not needed."""
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, listed))]


def _written(number):
    assert math.gcd(number.numerator, number.denominator) == 1
    return f"{number.numerator}/{number.denominator}"


# -- keyed reports -------------------------------------------------------------------------------

KEY = bytes(range(32))
COLUMN = "answer"
IDS = [0, 7, -1, 2**64 + 3, bytes(range(16)), b"another length", "person 1", "\N{SNOWMAN}"]


class Logged:
    """A source of one row, and a log of the words that were asked for."""

    def __init__(self, source):
        self.source, self.bits, self.secure, self.asked = source, source.bits, True, {}

    def words(self, stream, block, rows, round, bits):
        found = self.source.words(stream, block, rows, round=round, bits=bits)
        for word in found.tolist():
            self.asked[f"{stream}/{round}"] = f"{word:0{self.bits // 4}x}"
        return found


def keyed_vector(mechanism, answer, ids, group=None):
    """The report of one answer (its code; None: unknown) of one person, from the key."""
    k = mechanism.domain.k
    value = object() if answer is None else mechanism.domain.categories[answer]
    sample = 0 if group is None else mechanism.groups.index(group)
    number = (k if answer is None else answer) + sample * (k + 1)
    column = keyed.KeyedColumn(KEY, categories_to_json([COLUMN])[0], mechanism.to_dict())
    words = column.words([identity([i]) for i in ids], slice(0, 1), np.array([number]))
    source = Logged(words)
    options = {} if group is None else {"group": group}
    report = rr.client.report(mechanism, value, unknown="uniform", rng=source, **options)
    made = {
        "id": categories_to_json(ids),
        "answer": None if answer is None else categories_to_json([value])[0],
        "value": number,
        "words": source.asked,
        "report": categories_to_json([report])[0],
        "text": rr.client.encode_report(mechanism, report),
    }
    return made if group is None else {"group": categories_to_json([group])[0], **made}


def keyed_document():
    """Keyed reports of four designs; the words follow from the key, the id and the value."""
    four, coins = rr.KRR(list("abcd"), 0.7), rr.KRR(["no", "yes"], 0.75)
    chained = coins.then(rr.KRR(["no", "yes"], 0.9))
    designs = []
    for name, mechanism, people in (
        ("k-RR", four, [[one] for one in IDS] + [[7, "person 1"], ["person 1", 7]]),
        ("k-RR of 300", rr.KRR(range(300), 0.01), [[1], [2]]),
        ("two samples", rr.mechanisms.Samples({"dice": chained, "cards": coins}), [[7]]),
        ("unary", rr.mechanisms.UnaryEncoding.optimized(range(40), epsilon=1.0), [[7]]),
        ("subset", rr.mechanisms.SubsetSelection(range(5), epsilon=1.0, size=2), [[7], [8]]),
    ):
        made = [
            keyed_vector(mechanism, answer, ids, group)
            for group in mechanism.groups or [None]
            for ids in people
            for answer in (0, mechanism.domain.k - 1, None)
        ]
        document = {"name": name, "mechanism": mechanism.to_dict()}
        document["json"] = json.dumps(mechanism.to_dict(), sort_keys=True, separators=(",", ":"))
        designs.append({**document, "fingerprint": client.fingerprint(mechanism), "vectors": made})
    facts = {"version": 1, "key": KEY.hex(), "column": categories_to_json([COLUMN])[0]}
    return {**facts, "designs": designs}


FAMILIES = (_krr, _matrix, _chain, _samples, _unary, _subset)


def documents():
    """Every file by its name."""
    files = {"primitives": primitives()}
    for family in FAMILIES:
        designs = [design(*entry) for entry in family()]
        files[family.__name__[1:]] = {"version": 1, "designs": designs}
    files["keyed"] = keyed_document()
    return {f"{name}.json": document for name, document in files.items()}


def as_text(document):
    """A document as it is stored: one line for each vector, so that a change can be read."""
    if "designs" in document:
        shown = ",\n".join(_with_list(one, "vectors") for one in document["designs"])
        head = json.dumps({key: value for key, value in document.items() if key != "designs"})
        return f'{head[:-1]}, "designs": [\n{shown}\n]}}\n'
    lists = [f'"{name}": [\n{_lines(document[name])}\n]' for name in ("coin", "below", "cells")]
    return f'{{"version": {document["version"]},\n' + ",\n".join(lists) + "}\n"


def _with_list(document, name):
    head = {key: value for key, value in document.items() if key != name}
    return f'{json.dumps(head)[:-1]}, "{name}": [\n{_lines(document[name])}\n]}}'


def _lines(listed):
    return ",\n".join(map(json.dumps, listed))


if __name__ == "__main__":
    VECTORS.mkdir(parents=True, exist_ok=True)
    for file, document in documents().items():
        (VECTORS / file).write_text(as_text(document), encoding="ascii")
