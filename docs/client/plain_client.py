"""A client written from docs/client.md alone, without rrstats and without NumPy.

It stands for a client in another language: whole numbers, fractions and JSON are all it needs.

    Words          the words of a vector, asked for by stream, round and bits
    coin, below, cells      the three primitives
    report         (report as tagged JSON, its text) of one answer under a design
    keyed_word     one word of a keyed report, from the key, the id and the value

AES is not written here: ``aes(key, block)`` is given, as every language has it.
"""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction
from itertools import accumulate

REPLACEMENT_STREAM = 65535


class Words:
    """The words of a vector; each must be asked for with the bits that it has, and used."""

    def __init__(self, told, bits=None):
        self.told, self.bits, self.used, self.offset = told, bits, set(), 0

    def take(self, stream, turn, bits):
        address = f"{stream + self.offset}/{turn}"
        digits = self.told[address]
        assert len(digits) == (self.bits or bits) // 4, f"{address} has other bits than {bits}"
        self.used.add(address)
        return int(digits, 16)


def exact(number):
    """The rational number that a JSON number or a string such as "1/6" is."""
    return Fraction(number)


def coin(words, stream, prob):
    if prob <= 0 or prob >= 1:
        return prob >= 1
    bits, turn, rest = words.bits or 64, 0, prob
    while rest:
        digit, rest = divmod(rest * 2**bits, 1)
        word = words.take(stream, turn, bits)
        if word != digit:
            return word < digit
        turn += 1
    return False


def below(words, stream, bound):
    if bound == 1:
        return 0
    fits = [b for b in (8, 16) if bound <= 2**b and 2**b % bound <= 2 ** (b - 6)]
    bits, turn = words.bits or [*fits, 32][0], 0
    length = 2**bits // bound
    while (word := words.take(stream, turn, bits)) >= length * bound:
        turn += 1
    return word // length


def cells(words, stream, cuts):
    bits, turn, found = words.bits or 64, 0, 0
    while cuts:
        word = words.take(stream, turn, bits)
        cuts = [cut * 2**bits - word for cut in cuts]
        found += sum(cut <= 0 for cut in cuts)
        cuts = [cut for cut in cuts if 0 < cut < 1]
        turn += 1
    return found


# -- mechanisms: the code of an answer to the code of a report, or to bits -----------------------


def krr(design, code, words):
    k = len(design["categories"])
    lie = not coin(words, 0, exact(design["prob"]))
    shift = 1 if k == 2 else 1 + below(words, 1, k - 1)
    return (code + shift * lie) % k


def matrix(design, code, words):
    columns = []
    for column in zip(*design["matrix"], strict=True):
        entries = [exact(entry) for entry in column]
        columns.append([top / sum(entries) for top in accumulate(entries)])
    cuts = sorted({top for column in columns for top in column if 0 < top < 1})
    cell = cells(words, 0, cuts)
    edge = 0 if cell == 0 else cuts[cell - 1]
    return sum(top <= edge for top in columns[code][:-1])


def chain(design, code, words):
    start = words.offset
    for place, part in enumerate(rounds(design)):
        words.offset = start + 16 * place
        code = randomized(part, code, words)
    words.offset = start
    return code


def rounds(design):
    if design["type"] != "Chain":
        return [design]
    return rounds(design["first"]) + rounds(design["second"])


def unary(design, code, words):
    own, other = unary_probs(design)
    k = len(design["categories"])
    own_bit = coin(words, 0, own)
    width = -(-k // 8)
    sizes = [64] * (width // 8) + [bits for bits in (32, 16, 8) if width & bits // 8]
    if words.bits:
        sizes = [words.bits] * -(-k // words.bits)
    bits = []
    for column, size in enumerate(sizes):
        bits += unary_word(words, other, column, len(sizes), size)
    return [own_bit if place == code else bit for place, bit in enumerate(bits[:k])]


def unary_word(words, prob, column, columns, size):
    """Bits, each 1 with ``prob``, from one word for each binary digit of ``prob``."""
    found, turn, more = [None] * size, 0, 64
    while True:
        digits, prob = divmod(prob * 2**more, 1)
        listed = f"{int(digits):0{more}b}"
        if not prob:
            listed = listed.rstrip("0") or "0"
        for place, digit in enumerate(listed):
            word = words.take(1, (turn + place) * columns + column, size)
            for bit in range(size):
                if found[bit] is None and word >> bit & 1 == int(digit):
                    found[bit] = int(digit)
        if not prob or None not in found:
            return [bit or 0 for bit in found]
        turn, more = turn + len(listed), 8


def unary_probs(design):
    if design["type"] == "OptimizedUnary":
        return exact(0.5), exact(design["prob_other"])
    if design["type"] == "SymmetricUnary":
        return exact(design["prob"]), 1 - exact(design["prob"])
    if design["type"] == "Rappor":
        kept = exact(float(1 - exact(design["f"]) / 2))
        p, q = exact(design["p"]), exact(design["q"])
        return kept * q + (1 - kept) * p, (1 - kept) * q + kept * p
    return exact(design["prob_own"]), exact(design["prob_other"])


def subset(design, code, words):
    others = len(design["categories"]) - 1
    own = coin(words, 0, exact(design["prob_own"]))
    left, bits = design["size"] - own, []
    for place in range(others):
        taken = subset_coin(words, place, others, left)
        left -= taken
        bits.append(taken)
    # Of each eight (or the last few) the first coin is that of the last category.
    bits = [bit for start in range(0, others, 8) for bit in reversed(bits[start : start + 8])]
    return [*bits[:code], own, *bits[code:]]


def subset_coin(words, place, others, left):
    come, width = others - place, min(others, 4096)
    if come == 1:
        return left == 1
    stream, within = 1 + place // 4096, place % 4096
    bits, turn, rest = words.bits or 64, 0, left
    while True:
        digit, rest = divmod(rest * 2**bits, come)
        word = words.take(stream, turn * width + within, bits)
        if word != digit or not rest:
            return word < digit
        bits, turn = 32, turn + 1


LAWS = {
    "KRR": krr,
    "MatrixDesign": matrix,
    "Chain": chain,
    "UnaryEncoding": unary,
    "SymmetricUnary": unary,
    "OptimizedUnary": unary,
    "Rappor": unary,
    "SubsetSelection": subset,
}


def randomized(design, code, words):
    return LAWS[design["type"]](design, code, words)


# -- one answer ----------------------------------------------------------------------------------


def classes_of(design):
    """The true answers of a design, as tagged JSON."""
    if design["type"] == "Chain":
        return classes_of(design["first"])
    if design["type"] == "Samples":
        return classes_of(design["parts"][0])
    return design["categories"]


def reports_of(design):
    """The reports of a design whose reports are single labels, as tagged JSON."""
    if design["type"] == "Chain":
        return reports_of(design["second"])
    if design["type"] == "Samples":
        return reports_of(design["parts"][0])
    if design["type"] == "MatrixDesign" and "reports" not in design:
        m = len(design["matrix"])
        return design["categories"] if m == len(design["categories"]) else whole_numbers(m)
    return design.get("reports", design["categories"])


def whole_numbers(m):
    return [{"int": number} for number in range(m)]


def is_same(label, answer):
    """Whether an answer is a label: whole and other numbers by value, all else as it is tagged."""
    numbers = [one.get("int", one.get("float")) for one in (label, answer or {})]
    if None in numbers or "inf" in str(numbers):
        return label == answer
    return float(numbers[0]) == float(numbers[1]) and Fraction(numbers[0]) == Fraction(numbers[1])


def report(design, fingerprint, answer, words, group=None, *, unknown="raise"):
    """The report of an answer (tagged JSON; None if it matches no category), and its text.

    unknown : "raise" refuses an answer that matches no category, "uniform" replaces it.
    """
    classes = classes_of(design)
    code = next((place for place, label in enumerate(classes) if is_same(label, answer)), None)
    if code is None and unknown == "raise":
        raise ValueError("the answer matches no category")
    replacement = below(words, REPLACEMENT_STREAM, len(classes))
    code = replacement if code is None else code
    if design["type"] == "Samples":
        sample = design["groups"].index(group)
        words.offset = 16 * sum(len(rounds(part)) for part in design["parts"][:sample])
        found = randomized(design["parts"][sample], code, words)
    else:
        found = randomized(design, code, words)
    if isinstance(found, list):
        number = sum(1 << place for place, bit in enumerate(found) if bit)
        payload = number.to_bytes(-(-len(found) // 8), "little").hex()
        return {"bytes": payload}, f"rr1.{fingerprint}.{payload}"
    labels = reports_of(design)
    width = 2 * -(-(len(labels) - 1).bit_length() // 8)
    return labels[found], f"rr1.{fingerprint}.{found:0{width}x}"


# -- keyed words ---------------------------------------------------------------------------------


def keyed_word(aes, key, column, design, ids, value, stream, turn):
    """The word of 32 bits at (ids, value, stream, turn), as hexadecimal digits.

    column, design : as JSON text.  ids : tagged JSON.
    """

    def subkey(purpose):
        said = (
            f'{{"column":{column},"ids":{len(ids)},"mechanism":{design},'
            f'"purpose":"{purpose}","rrstats keyed":1}}'
        )
        return hmac.new(key, said.encode("ascii"), hashlib.sha256).digest()

    state, kinds = bytes(16), 0
    for one in ids:
        block, kind = id_block(one)
        state = aes(subkey("id"), exclusive_or(state, block))
        kinds = kinds << 8 | kind
    address = (value, turn, stream // 4, kinds)
    state = exclusive_or(state, b"".join(part.to_bytes(4, "little") for part in address))
    words = aes(subkey("words"), state)
    place = 4 * (stream % 4)
    return words[place : place + 4][::-1].hex()


def id_block(tagged):
    """The 16 bytes of an id, and its kind."""
    ((tag, value),) = tagged.items()
    if tag == "int":
        return (value % 2**128).to_bytes(16, "little"), 1
    held = value.encode("utf-8") if tag == "str" else bytes.fromhex(value)
    if tag == "bytes" and len(held) == 16:
        return held, 2
    return hashlib.blake2b(held, digest_size=16).digest(), 3 if tag == "str" else 4


def exclusive_or(one, other):
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
