"""The vectors of docs/vectors: the shipped code and a client written from docs/client.md agree."""

import copy
import functools
import itertools
import json
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import make_vectors
import plain_client
import pytest
from make_vectors import VECTORS, Told
from node import NODE, needs_node

import rrstats as rr
from rrstats import mechanisms
from rrstats.data.category_json import categories_from_json, categories_to_json
from rrstats.privatization import single as client
from rrstats.randomness import samplers

FILES = {path.name: json.loads(path.read_text("ascii")) for path in sorted(VECTORS.glob("*.json"))}
KEYED = FILES.pop("keyed.json")
DESIGNS = {
    f"{name[:-5]}: {design['name']}": design
    for name, document in FILES.items()
    for design in document.get("designs", [])
}
KEYED_DESIGNS = {design["name"]: design for design in KEYED["designs"]}
PRIMITIVES = FILES["primitives.json"]


def told(vector):
    """The shipped form of a vector's words; a word that is not told is an error."""
    words = {}
    for address, digits in vector["words"].items():
        stream, turn = map(int, address.split("/"))
        words[stream, turn] = int(digits, 16)
    return Told("", words, strict=True)


def test_the_files_are_what_the_code_makes(cryptography):
    """Making the vectors anew changes no file: the sampler draws as it did when they were made."""
    made = make_vectors.documents()
    assert set(made) == {*FILES, "keyed.json"}
    for name, document in made.items():
        assert (VECTORS / name).read_text("ascii") == make_vectors.as_text(document)
        assert {**FILES, "keyed.json": KEYED}[name] == json.loads(json.dumps(document))


# -- the shipped code ------------------------------------------------------------------------------


def check_shipped(design, *vectors):
    mechanism = mechanisms.from_dict(design["mechanism"])
    for vector in vectors:
        answer = vector["answer"]
        value = object() if answer is None else categories_from_json([answer])[0]
        options = {}
        if "group" in vector:
            options["group"] = categories_from_json([vector["group"]])[0]
        source = told(vector)
        report = rr.client.report(mechanism, value, unknown="uniform", rng=source, **options)
        assert categories_from_json([vector["report"]]) == [report]
        assert vector["words"] == source.asked, "other words are asked for, or in another order"
        assert vector["text"] == rr.client.encode_report(mechanism, report)
        assert report == rr.client.decode_report(mechanism, vector["text"])


# -- a client in another language ------------------------------------------------------------------


def check_plain(design, *vectors):
    described = design.get("drawn_as", design["mechanism"])
    for vector in vectors:
        words = plain_client.Words(vector["words"])
        found = plain_client.report(
            described,
            design["fingerprint"],
            vector["answer"],
            words,
            vector.get("group"),
            unknown="uniform",
        )
        assert (vector["report"], vector["text"]) == found
        assert set(vector["words"]) == words.used


PRIMITIVE = {
    "coin": (
        "heads",
        lambda words, v: samplers.coin(words, 0, 0, 1, prob=Fraction(v["prob"])),
        lambda words, v: plain_client.coin(words, 0, Fraction(v["prob"])),
        "rr.coin(words, 0, rr.exact(one.prob))",
    ),
    "below": (
        "value",
        lambda words, v: samplers.below(words, 0, 0, 1, bound=v["bound"]),
        lambda words, v: plain_client.below(words, 0, v["bound"]),
        "rr.below(words, 0, one.bound)",
    ),
    "cells": (
        "cell",
        lambda words, v: samplers.cells(words, 0, 0, 1, cuts=[*map(Fraction, v["cuts"])]),
        lambda words, v: plain_client.cells(words, 0, [*map(Fraction, v["cuts"])]),
        "rr.cells(words, 0, one.cuts.map(rr.exact))",
    ),
}


@pytest.mark.parametrize("kind", PRIMITIVE)
def test_primitives(kind):
    """Both make what the vectors say, of the words that they say, and use all of these."""
    result, shipped, plain, _ = PRIMITIVE[kind]
    for vector in PRIMITIVES[kind]:
        source, words = told(vector), plain_client.Words(vector["words"])
        assert [vector[result]] == shipped(source, vector).tolist()
        assert vector["words"] == source.asked
        assert vector[result] == plain(words, vector)
        assert set(vector["words"]) == words.used


# -- the module for browsers ---------------------------------------------------------------------

MODULE = VECTORS.parent / "client" / "rrstats.mjs"

HARNESS = """
import { readFileSync } from "node:fs";
import * as rr from MODULE;
globalThis.crypto ??= (await import("node:crypto")).webcrypto; // Node.js before 19
const asked = JSON.parse(readFileSync(0, "utf8"));
class Words {
  constructor(told) { this.told = told; this.used = []; }
  take(stream, round, bits) {
    const address = `${stream}/${round}`, digits = this.told[address];
    if (digits?.length !== bits / 4) throw new Error(`no word of ${bits} bits for ${address}`);
    this.used.push(address);
    return BigInt(`0x${digits}`);
  }
}
const results = asked.map((one, i) => {
  const words = new Words(one.words ?? {});
  return [CODE, words.used];
});
console.log(JSON.stringify(results));
"""


def in_node(code, asked):
    """[result, words used] of an expression about `one` of what is asked, in one process."""
    program = HARNESS.replace("MODULE", json.dumps(MODULE.as_uri())).replace("CODE", code)
    command = [NODE, "--input-type=module", "--eval", program]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def document(design):
    """What a collector gives out, as text: JavaScript would read 1.0 as 1."""
    keys = ("mechanism", "drawn_as", "fingerprint")
    return json.dumps({key: design[key] for key in keys if key in design})


def made_by_module(pairs):
    """The report, its text and the words used of each (design, vector), in one process."""
    asked = [
        {
            "design": document(design),
            "answer": json.dumps(vector["answer"] or {}),  # {} is no category, null is missing
            "group": json.dumps(vector["group"]) if "group" in vector else None,
            "words": vector["words"],
        }
        for design, vector in pairs
    ]
    return in_node(
        "((d) => ((report) => [d.reports ? report : [...report], rr.encode(report, d)])"
        "(rr.privatize(rr.parseExactly(one.answer), d, { words, unknown: 'uniform' })))"
        "(rr.readDesign(one.design, one.group ? rr.parseExactly(one.group) : undefined))",
        asked,
    )


def compare_with_module(design, vectors, made):
    described = design.get("drawn_as", design["mechanism"])
    for vector, ((found, text), used) in zip(vectors, made, strict=True):
        if isinstance(found, list):
            report = {"bytes": bytes(found).hex()}
        else:
            report = plain_client.reports_of(described)[found]
        assert (json.dumps(vector["report"]), vector["text"]) == (json.dumps(report), text)
        assert sorted(vector["words"]) == sorted(used), "words have addresses, and no order"


def check_module(design, *vectors):
    made = made_by_module([(design, vector) for vector in vectors])
    compare_with_module(design, vectors, made)


@functools.cache
def all_made_by_module():
    """What the module makes of the vectors of each design."""
    sizes = [len(design["vectors"]) for design in DESIGNS.values()]
    made = iter(made_by_module([(d, v) for d in DESIGNS.values() for v in d["vectors"]]))
    return {name: [*itertools.islice(made, n)] for name, n in zip(DESIGNS, sizes, strict=True)}


CASES = [(check, name) for name in DESIGNS for check in (check_shipped, check_plain)]


@pytest.mark.parametrize(("check", "name"), CASES)
def test_reports(check, name):
    """The shipped code and a client from docs/client.md alone make each vector's."""
    design = DESIGNS[name]
    assert design["fingerprint"] == client.fingerprint(mechanisms.from_dict(design["mechanism"]))
    check(design, *design["vectors"])


@needs_node
@pytest.mark.parametrize("name", DESIGNS)
def test_module_reports(name):
    """The module for browsers makes each vector's report."""
    compare_with_module(DESIGNS[name], DESIGNS[name]["vectors"], all_made_by_module()[name])


@needs_node
@pytest.mark.parametrize("kind", PRIMITIVE)
def test_module_primitives(kind):
    """The module's primitives make what the vectors say, of the words that they say."""
    result, _, _, code = PRIMITIVE[kind]
    expected = [[vector[result], list(vector["words"])] for vector in PRIMITIVES[kind]]
    assert expected == in_node(code, PRIMITIVES[kind])


@needs_node
def test_module_reads_numbers_exactly():
    """JSON's 1 and 1.0 stay apart, whole numbers and doubles are not rounded."""
    numbers = ["1", "1.0", "-0.0", "9007199254740993", "0.7", "5e-324", "1e300", "-12", "1.5E+3"]
    text = json.dumps({'a "1"\\': ["1", "\\u0031", True, None, "n1"]})
    shown = (
        "JSON.stringify(rr.parseExactly(one.text), (_, v) => typeof v === 'bigint' ? `${v}n` : v)"
    )
    (known, _), *found = in_node(
        f"one.text[0] === '{{' ? {shown} : ((v) => [typeof v, ...rr.exact(v).map(String)])"
        "(rr.parseExactly(one.text))",
        [{"text": text}, *({"text": number} for number in numbers)],
    )
    assert json.loads(text) == json.loads(known)
    for number, (value, _) in zip(numbers, found, strict=True):
        whole = number.lstrip("-").isdecimal()
        exact = Fraction(int(number) if whole else float(number))
        assert ["bigint" if whole else "number", *map(str, exact.as_integer_ratio())] == value


MIXED = """{"fingerprint": "0123456789abcdef", "mechanism": {"type": "KRR", "prob": 0.5,
    "categories": [{"int": 1}, {"str": "1"}, {"bool": true}, {"missing": true}, {"bytes": "31"},
    {"float": 2.5}, {"tuple": [{"int": 1}, {"label": "A", "str": "a"}]}, {"float": "inf"},
    {"int": 9}]}}"""
SAME = [  # answers of JavaScript, and the code of their category
    *[
        ("1", 0),
        ("1n", 0),
        ("{float: 1}", 0),
        ("'1'", 1),
        ("true", 2),
        ("null", 3),
        ("undefined", 3),
    ],
    *[("NaN", 3), ("{bytes: '31'}", 4), ("{tuple: [{float: 1}, {str: 'a'}]}", 6), ("2.5", 5)],
    *[("Infinity", 7), ("'2.5'", None), ("false", None), ("{str: 1}", None), ("Symbol()", None)],
    *[
        ("{toString: 1}", None),
        ("[]", None),
        ("() => 1", None),
        ("{tuple: 'a'}", None),
        ("2n", None),
    ],
]


@needs_node
def test_module_tells_answers_apart():
    """Numbers are equal by value, types of JavaScript are types of labels, all else is unknown."""
    words = {"65535/0": "e0", "0/0": "0" * 16, "1/0": "00"}  # the truth; the replacement is 8
    answers = ", ".join(answer for answer, _ in SAME)
    given = f"[{answers}][i], rr.readDesign(one.text)"
    code = f"rr.privatize({given}, {{ words, unknown: 'uniform' }})"
    expected = [[8 if code is None else code, list(words)] for _, code in SAME]
    assert expected == in_node(code, [{"text": MIXED, "words": words}] * len(SAME))


@needs_node
def test_module_refuses_what_is_no_category():
    """The default; the error quotes nothing, and no word is drawn.  Other policies are refused."""
    words = {"65535/0": "e0", "0/0": "0" * 16, "1/0": "00"}
    answers = ", ".join(answer for answer, _ in SAME)
    given = f"[{answers}][i], rr.readDesign(one.text)"
    code = (
        f"(() => {{ try {{ return rr.privatize({given}, {{ words, ...one.options }}); }}"
        "catch (error) { return [error.name, error.message]; } })()"
    )
    asked = [{"text": MIXED, "words": words, "options": {}} for _ in SAME]
    for (_, expected), (found, used) in zip(SAME, in_node(code, asked), strict=True):
        if expected is not None:
            assert (expected, list(words)) == (found, used)
            continue
        name, text = found
        assert (name, used) == ("RangeError", [])
        assert text.startswith("the answer is missing or not among the 9 categories; check the")
        assert 'pass { unknown: "uniform" }' in text
    (((name, text), used),) = in_node(code, [{**asked[0], "options": {"unknown": "warn"}}])
    assert ("TypeError", 'unknown must be "raise" or "uniform"', []) == (name, text, used)


def test_the_plain_client_refuses_what_is_no_category():
    """Its default, too."""
    design = DESIGNS["krr: a coin"]
    (vector, *_) = [one for one in design["vectors"] if one["answer"] is None]
    words = plain_client.Words(vector["words"])
    with pytest.raises(ValueError, match="matches no category"):
        plain_client.report(design["mechanism"], design["fingerprint"], None, words)


THIRD = Fraction(1, 3)
SURVEY = DESIGNS["matrix: two coins"]["mechanism"]
DRAWN_ANEW = {  # what no file has: a subset in blocks, a rounded third, texts of two bytes
    "a subset of 4,200": lambda: rr.mechanisms.SubsetSelection(range(4200), size=4, prob_own=0.5),
    "a subset of two": lambda: rr.mechanisms.SubsetSelection(["a", "b"], size=1, prob_own=0.75),
    "nine thirds": lambda: rr.mechanisms.UnaryEncoding(range(9), 2 * THIRD, THIRD),
    "two hundred bits": lambda: rr.mechanisms.UnaryEncoding.optimized(range(200), epsilon=1.5),
    "RAPPOR by a third": lambda: rr.mechanisms.Rappor(range(20), f=THIRD, p=0.25, q=0.75),
    "300 reports": lambda: rr.MatrixDesign([*"ab"], [[THIRD / 100, 0.5 / 300 + THIRD / 200]] * 300),
    "zeros and a sure report": lambda: rr.MatrixDesign(
        [*"abc"], [[1, 0.1, 0], [0, 0.9, 0.3], [0, 0, 0.7]]
    ),
    "crosswise": lambda: rr.surveys.crosswise(["no", "yes"], THIRD, yes="yes"),
    "forced response": lambda: rr.surveys.forced_response([1, 2, 3], 0.7, [0.1, 0.1, 0.1]),
    "a survey, then k-RR": lambda: rr.surveys.forced_response([*"ab"], 0.7, [0.1, 0.2]).then(
        rr.KRR([*"ab"], 0.8)
    ),
    "four rounds": lambda: rr.KRR([*"ab"], 0.9).then(
        rr.KRR([*"ab"], 0.8).then(rr.KRR([*"ab"], 0.7).then(rr.KRR([*"ab"], 0.6)))
    ),
    "a lie detector": lambda: rr.surveys.stochastic_lie_detector([*"ab"], [0.8, 0.3], yes="b"),
    "Kuk": lambda: rr.surveys.kuk(["no", "yes"], 0.8, 0.2, yes="yes"),
}


def with_matrices(document):
    """The document of a mechanism, with its matrix in the place of each survey design."""
    if isinstance(document, list):
        return [with_matrices(item) for item in document]
    if not isinstance(document, dict):
        return document
    if document.get("type") == "SurveyDesign":
        return mechanisms.from_dict(document).showing(None).to_dict()
    return {name: with_matrices(item) for name, item in document.items()}


@needs_node
@pytest.mark.parametrize("name", DRAWN_ANEW)
def test_module_draws_as_the_shipped_code(name):
    """From the same words the module makes the reports and texts of the shipped code."""
    mechanism = DRAWN_ANEW[name]()
    design = {
        "mechanism": mechanism.to_dict(),
        "fingerprint": client.fingerprint(mechanism),
    }
    if "SurveyDesign" in json.dumps(design):
        design["drawn_as"] = with_matrices(mechanism.to_dict())
    samples = mechanism.groups or [None]
    answers = [mechanism.categories[0], mechanism.categories[-1], None]
    vectors = []
    turns = 1 if len(mechanism.categories) > 4096 else 4
    for turn in range(turns):
        for answer, sample in itertools.product(answers, samples):
            source = Told(f"{name}, {turn}, {answer}, {sample}")
            options = {} if sample is None else {"group": sample}
            value = object() if answer is None else answer
            report = rr.client.report(mechanism, value, unknown="uniform", rng=source, **options)
            vector = {
                "answer": None if answer is None else categories_to_json([answer])[0],
                "words": source.asked,
                "report": categories_to_json([report])[0],
                "text": rr.client.encode_report(mechanism, report),
            }
            if sample is not None:
                vector["group"] = categories_to_json([sample])[0]
            vectors.append(vector)
    check_module(design, *vectors)


OTHER_DESIGNS = [
    ("krr: three, thirds rejected", {"type": "KRRByRow"}, "SurveyDesign only"),
    ("krr: three, thirds rejected", {"type": "toString"}, "SurveyDesign only"),
    ("krr: three, thirds rejected", {"prob": 1}, "prob must be in"),
    ("krr: three, thirds rejected", {"prob": 0.2}, "prob must be in"),
    ("krr: three, thirds rejected", {"prob": "1/0"}, "finite"),
    ("krr: three, thirds rejected", {"categories": [{"int": 1}, {"float": 1.0}]}, "different"),
    ("krr: three, thirds rejected", {"categories": [{"int": 1}, {"complex": 1}]}, "different"),
    ("krr: three, thirds rejected", {"categories": [{"str": "a"}]}, "two or more"),
    ("matrix: thirds", {"type": "SurveyDesign"}, "drawn_as must be"),
    ("samples: dice and cards", {}, "group must be"),
    ("chain: two rounds", {"first": SURVEY}, "draws designs of type"),
    ("matrix: thirds", {"matrix": [["2/3", "1/3"]]}, "two or more rows"),
    ("matrix: thirds", {"matrix": [["2/3"], ["1/3"]]}, "for each of 2 categories"),
    ("matrix: thirds", {"matrix": [["2/3", "1/3"], ["2/3", "1/3"]]}, "sum to 1"),
    ("matrix: thirds", {"matrix": [[1.5, 0.5], [-0.5, 0.5]]}, "negative"),
    ("matrix: thirds", {"reports": [{"str": "a"}]}, "one label for each row"),
    ("unary: three", {"prob_own": 0.2}, "other <= own"),
    ("unary: three", {"prob_other": 0}, "other <= own"),
    ("unary: RAPPOR", {"f": 1.5}, "f must be in"),
    ("subset: two of five", {"size": 5}, "size must be in 1..4"),
    ("subset: two of five", {"prob_own": 1}, "prob_own must be in"),
]


@functools.cache
def told_of_other_designs():
    """What the module says of each, in one process."""
    asked = []
    for name, change, _ in OTHER_DESIGNS:
        design = DESIGNS[name]
        changed = {**design, "mechanism": {**design["mechanism"], **change}}
        asked.append({"text": document(changed)})
    answers = in_node(
        "(() => { try { rr.readDesign(one.text); } catch (e) { return e.message; } })()", asked
    )
    return [told for told, _ in answers]


@needs_node
@pytest.mark.parametrize(
    "place", range(len(OTHER_DESIGNS)), ids=[f"{one[0]}-{one[2]}" for one in OTHER_DESIGNS]
)
def test_module_refuses_other_designs(place):
    """A design that this module cannot draw exactly is refused before an answer is asked."""
    assert OTHER_DESIGNS[place][2] in told_of_other_designs()[place]


@needs_node
@pytest.mark.parametrize("report", ["3", "-1", "0.5", "new Uint8Array(1)"])
def test_module_encodes_no_report_of_another_design(report):
    """A code beyond the labels gets no text, nor do bits of another length."""
    names = "krr: three, thirds rejected", "subset: the best size of twenty"
    answers = in_node(
        f"(() => {{ try {{ return rr.encode({report}, rr.readDesign(one.text)); }}"
        " catch (e) { return e.message; } })()",
        [{"text": document(DESIGNS[name])} for name in names],
    )
    assert ["report is none of this design"] * 2 == [message for message, _ in answers]


@needs_node
def test_module_has_a_type_for_each_of_its_names():
    """rrstats.d.mts declares what the module exports, and no other value."""
    ((exported, _),) = in_node("Object.keys(rr)", [{}])
    types = MODULE.with_suffix(".d.mts").read_text("utf-8")
    declared = re.findall(r"^export (?:function|const) (\w+)", types, re.MULTILINE)
    assert sorted(exported) == sorted(set(declared))


# -- keyed reports -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEYED_DESIGNS)
def test_shipped_keyed_reports(name, cryptography):
    """`privatize` with the key and the id of a vector makes its report."""
    design, key = KEYED_DESIGNS[name], bytes.fromhex(KEYED["key"])
    mechanism = mechanisms.from_dict(design["mechanism"])
    (column,) = categories_from_json([KEYED["column"]])
    for vector in design["vectors"]:
        value = (
            object() if vector["answer"] is None else categories_from_json([vector["answer"]])[0]
        )
        options = {"unknown": "uniform"}
        if "group" in vector:
            options["group"] = categories_from_json([vector["group"]])
        ids = [[one] for one in categories_from_json(vector["id"])]
        keyed = rr.client.Keyed(key, ids if len(ids) > 1 else ids[0], question=column)
        found = rr.privatize([value], mechanism, key=keyed, **options)
        assert categories_from_json([vector["report"]]) == found
        assert vector["text"] == rr.client.encode_report(mechanism, found[0])


@pytest.mark.parametrize("name", KEYED_DESIGNS)
def test_plain_keyed_reports(name):
    """A client that knows only docs/client.md finds the same words, and makes the same reports."""
    aes_module = pytest.importorskip("cryptography.hazmat.primitives.ciphers")

    def aes(key, block):
        cipher = aes_module.Cipher(aes_module.algorithms.AES(key), aes_module.modes.ECB())
        return cipher.encryptor().update(block)

    design, key = KEYED_DESIGNS[name], bytes.fromhex(KEYED["key"])
    column = json.dumps(KEYED["column"], separators=(",", ":"))
    for vector in design["vectors"]:
        for address, digits in vector["words"].items():
            stream, turn = map(int, address.split("/"))
            asked = (column, design["json"], vector["id"], vector["value"], stream, turn)
            assert digits == plain_client.keyed_word(aes, key, *asked)
        words = plain_client.Words(vector["words"], bits=32)
        found = plain_client.report(
            design["mechanism"],
            design["fingerprint"],
            vector["answer"],
            words,
            vector.get("group"),
            unknown="uniform",
        )
        assert (vector["report"], vector["text"]) == found
        assert set(vector["words"]) == words.used


def test_the_plain_client_stands_alone():
    """It imports neither rrstats nor NumPy."""
    text = Path(plain_client.__file__).read_text(encoding="utf-8")
    imported = re.findall(r"^\s*(?:from|import) (\S+)", text, re.MULTILINE)
    assert set(imported) <= {"__future__", "fractions", "itertools", "hashlib", "hmac", "json"}


def test_the_module_stands_alone():
    """The module for browsers imports nothing, keeps nothing, and has one source of words."""
    text = re.sub(r"(?s:/\*.*?\*/)|//.*", "", MODULE.read_text("utf-8"))
    assert re.findall(r"\b(?:import|require|random|Date|fetch|eval|Function)\b", text) == []
    assert (
        re.findall(r"\b(?:console|document|window|globalThis|\w*Storage|indexedDB)\b", text) == []
    )
    assert re.findall(r"^(?:let|var)\b", text, re.MULTILINE) == [], "state between two answers"
    assert 1 == text.count("crypto.")


# -- the vectors can fail, and cover what they promise -----------------------------------------


@pytest.mark.parametrize(
    "check", [check_shipped, check_plain, pytest.param(check_module, marks=needs_node)]
)
def test_a_changed_vector_is_caught(check):
    """A report, a text or a deciding word that is changed makes both checks fail."""
    design = DESIGNS["krr: not dyadic"]
    vector = next(v for v in design["vectors"] if v["answer"] and v["report"] != v["answer"])
    check(design, vector)
    changes = [
        ("report", vector["answer"]),
        ("text", vector["text"][:-1] + "f"),
        ("words", {**vector["words"], "0/0": "0" * 16}),
        ("words", {k: w for k, w in vector["words"].items() if k != "1/0"}),
    ]
    for key, value in changes:
        changed = copy.deepcopy(vector)
        changed[key] = value
        with pytest.raises((AssertionError, KeyError)):
            check(design, changed)


def _addresses(name):
    return [set(vector["words"]) for vector in DESIGNS[name]["vectors"]]


def test_the_vectors_hold_the_rare_turns():
    """Ties, long ties, rejections, unknown answers, and every kind of mechanism are among them.

    Numbers are not: clients have categories alone, and `number` refuses to be a list of them.
    """
    assert {"0/1"} <= set.union(*_addresses("unary: RAPPOR"))
    assert {"0/2"} <= set.union(*_addresses("matrix: thirds"))
    assert {"1/1", "1/2", "65535/2"} <= set.union(*_addresses("krr: a thousand"))
    assert {"65535/1"} <= set.union(*_addresses("krr: three, thirds rejected"))
    assert {"1/5"} <= set.union(*_addresses("subset: two of five"))
    assert {"1/79"} <= set.union(*_addresses("unary: a rare bit"))
    assert {"0/0", "16/0", "32/0"} <= set.union(*_addresses("chain: after a matrix, three rounds"))
    for design in DESIGNS.values():
        answers = [vector["answer"] for vector in design["vectors"]]
        assert None in answers
        assert len({json.dumps(answer) for answer in answers}) > 2
    kinds = {design["mechanism"]["type"] for design in DESIGNS.values()}
    assert kinds | {"NumberDesign"} == set(mechanisms.serialization._TYPES)
