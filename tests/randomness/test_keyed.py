"""Keyed reports are the same whenever they are computed, and differ wherever they must."""

import itertools
import json
import os
import pickle
import stat

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES
from chance import assert_distribution

import rrstats as rr
from rrstats.data.codecs import open_reports
from rrstats.data.identifiers import identity
from rrstats.randomness import keyed
from rrstats.randomness import sources as randomness

Keyed = rr.client.Keyed

pytest.importorskip("cryptography")

try:
    import pyarrow as pa
except ImportError:
    pa = None

KEY = rr.client.Key(bytes(range(32)))
M = rr.KRR(["a", "b", "c", "d"], 0.7)


def answers_of(mechanism, rows):
    """Answers of all categories in turn, one unknown and one missing among them."""
    picked = [mechanism.categories[-1 - row % mechanism.k] for row in range(rows)]
    picked[7], picked[11] = object(), None
    return picked


def released(mechanism, answers, ids, **options):
    if mechanism.groups is not None:
        options["group"] = [mechanism.groups[i % len(mechanism.groups)] for i in ids]
    options = {"unknown": "uniform", "question": "answer", "key": KEY, **options}
    keyed = Keyed(options.pop("key"), list(ids), question=options.pop("question"))
    return rr.privatize(list(answers), mechanism, key=keyed, **options)


def test_reports_of_version_1_never_change():
    """Frozen: the reports of ten ids under a known key, as first computed on 2026-11-21."""
    found = rr.privatize(list("abcdabcdab"), M, key=Keyed(KEY, list(range(10)), question="answer"))
    assert "".join(found) == "abcdabbdab"
    names = [f"P{i:03}" for i in range(10)]
    found = rr.privatize(list("abcdabcdab"), M, key=Keyed(KEY, names, question="answer"))
    assert "".join(found) == "aaddccabdc"


@pytest.mark.parametrize("name", EXAMPLES)
def test_reports_do_not_depend_on_order_or_partition(name):
    """Shuffled, cut into parts, or one by one: each row's report is its own."""
    mechanism, n = EXAMPLES[name](), 60
    try:
        mechanism.to_dict()
    except rr.errors.ArgumentValueError:
        pytest.skip("without a JSON form a mechanism has no keyed words")
    answers, ids = answers_of(mechanism, n), list(range(n))
    whole = released(mechanism, answers, ids)
    order = np.random.default_rng(1).permutation(n).tolist()
    shuffled = released(mechanism, [answers[i] for i in order], order)
    assert shuffled == [whole[i] for i in order]
    parts = [released(mechanism, answers[s:e], ids[s:e]) for s, e in [(0, 1), (1, 20), (20, n)]]
    assert list(itertools.chain(*parts)) == whole


def test_small_and_large_calls_agree():
    """The width of the first word does not depend on how many rows there are."""
    n = randomness.BLOCK_ROWS + 5000
    ids = np.arange(n)
    for m in (
        M,
        rr.KRR(range(1000), 0.5),
        rr.mechanisms.UnaryEncoding.optimized(range(9), epsilon=1.0),
    ):
        answers = np.resize(np.array(m.categories), n)
        whole = rr.privatize(answers, m, key=Keyed(KEY, ids, question="q"))
        for part in (slice(0, 10), slice(n - 4500, n)):
            again = rr.privatize(answers[part], m, key=Keyed(KEY, ids[part], question="q"))
            assert np.array_equal(again, whole[part])
    threads = rr.privatize(answers, m, key=Keyed(KEY, ids, question="q"), threads=3)
    assert np.array_equal(threads, whole)


def test_every_container_gives_the_same_reports():
    """List, tuple, array, Series, frame and accessor agree under one key."""
    n = 500
    answers, ids = [M.categories[i % 4] for i in range(n)], list(range(n))
    whole = released(M, answers, ids)
    frame = pd.DataFrame({"id": ids, "answer": answers, "age": 1})
    found = [
        rr.privatize(tuple(answers), M, key=Keyed(KEY, ids, question="answer")),
        rr.privatize(np.array(answers), M, key=Keyed(KEY, np.array(ids), question="answer")),
        rr.privatize(frame["answer"], M, key=Keyed(KEY, frame["id"])),
        rr.privatize(frame["answer"].astype("category"), M, key=Keyed(KEY, frame["id"])),
        frame["answer"].rr.privatize(M, key=Keyed(KEY, frame["id"])),
        rr.privatize(frame, {"answer": M}, key=Keyed(KEY, "id"))["answer"],
        frame.rr.privatize("answer", M, key=Keyed(KEY, "id"))["answer"],
        frame.rr.privatize("answer", M, key=Keyed(KEY, ["id"]))["answer"],
    ]
    for one in found:
        assert list(one) == whole


ROWS = 100_000


def codes_of(answers, ids=None, mechanism=M, column="answer", key=KEY):
    ids = np.arange(ROWS) if ids is None else ids
    reports = rr.privatize(answers, mechanism, key=Keyed(key, ids, question=column))
    _, read = open_reports(reports, mechanism.report_space)
    return read(reports).codes.astype(int)


def share_that_cancels(one, other, shift):
    """How many rows have y1 - y2 = x1 - x2 modulo 4, under independent noise and in truth."""
    p, q = 0.7, 0.1
    cancels = int(np.count_nonzero((one - other) % 4 == shift % 4))
    return [cancels, ROWS - cancels], [p * p + 3 * q * q, 1 - p * p - 3 * q * q]


SAME = np.resize(np.array(M.categories), ROWS)
OTHER = np.roll(SAME, -1)

SEPARATED = {
    "another value of the same person": {"answers": OTHER},
    "another column": {"column": "other"},
    "another key": {"key": rr.client.Key(bytes(range(1, 33)))},
    "another prob": {"mechanism": rr.KRR(M.categories, np.nextafter(0.7, 1))},
    "other categories": {"mechanism": rr.KRR(["a", "b", "c", "e"], 0.7)},
    "other persons": {"ids": np.arange(ROWS) + ROWS},
    "text for numbers": {"ids": np.arange(ROWS).astype(str)},
}


@pytest.mark.parametrize("what", SEPARATED)
def test_noise_is_no_two_time_pad(what):
    """P(y1 - y2 = x1 - x2) is p^2 + (k-1) q^2, and not 1, over 100,000 ids; false alarm 1e-9."""
    given = {"answers": SAME, **SEPARATED[what]}
    answers = given.pop("answers")
    if "other categories" in what:
        answers = np.where(answers == "d", "e", answers)
    one, other = codes_of(SAME), codes_of(answers, **given)
    assert_distribution(*share_that_cancels(one, other, -1 if answers is OTHER else 0))


def test_a_question_separates_columns_of_one_name():
    """`question=` names what is asked; by default it is the column's name, with its words."""
    frame = pd.DataFrame({"q": SAME[:500], "r": SAME[:500], "who": range(500)})

    def given(question=None):
        return Keyed(KEY, "who", question=question)

    plain = frame.rr.privatize("q", M, key=given())
    named = frame.rr.privatize("q", M, key=given("q"))
    other = frame.rr.privatize("q", M, key=given("smokes"))
    pd.testing.assert_frame_equal(plain, named)
    assert plain["q"].tolist() != other["q"].tolist()
    both = frame.rr.privatize(["q", "r"], M, key=given({"r": "smokes"}))
    assert plain["q"].tolist() == both["q"].tolist()
    assert other["q"].tolist() == both["r"].tolist()
    alone = frame["r"].rr.privatize(M, key=Keyed(KEY, frame["who"], question="smokes"))
    assert other["q"].tolist() == alone.tolist()
    assert both.rr.mechanisms == {"q": M, "r": M}
    for wrong in ("smokes", {"z": "smokes"}):
        with pytest.raises(rr.errors.RRStatsError, match="question must be"):
            frame.rr.privatize(["q", "r"], M, key=given(wrong))


def test_a_planted_two_time_pad_is_seen(monkeypatch):
    """Without the value among what the words depend on, every row cancels."""
    words = keyed.KeyedColumn.words
    monkeypatch.setattr(
        keyed.KeyedColumn, "words", lambda self, ids, rows, x: words(self, ids, rows, x * 0)
    )
    counts, distribution = share_that_cancels(codes_of(SAME), codes_of(OTHER), -1)
    assert counts == [ROWS, 0]
    with pytest.raises(AssertionError):
        assert_distribution(counts, distribution)


def test_unknown_and_missing_answers_are_uniform():
    """An answer that is no category is answered uniformly, alike for missing; false alarm 1e-9."""
    ids = np.arange(40_000)
    options = {"key": Keyed(KEY, list(ids), question="q"), "unknown": "uniform"}
    unknown = rr.privatize(["?"] * len(ids), M, **options)
    missing = rr.privatize([None] * len(ids), M, **options)
    assert unknown == missing
    assert_distribution([unknown.count(c) for c in M.categories], [0.25] * 4)
    kept = rr.privatize(["a", None], M, key=Keyed(KEY, [1, 2], question="q"), missing="keep")
    assert kept[1] is None


def test_metadata_say_that_reports_are_keyed_and_nothing_of_the_key():
    """The document says keyed; no attrs, repr or error holds a byte of the key."""
    frame = pd.DataFrame({"id": [1, 2], "answer": ["a", "b"]})
    out = frame.rr.privatize("answer", M, key=Keyed(KEY, "id"))
    (column,) = out.attrs["rrstats"]["columns"]
    assert (column["keyed"], column["simulated"]) == (True, False)
    shown = repr(KEY) + str(KEY) + f"{KEY}" + "%s %r" % (KEY, KEY)  # noqa: UP031  # old ways to show must hide it too
    assert repr(bytes(KEY))[2:20] not in shown
    assert KEY.hex()[:8] not in shown + json.dumps(out.attrs)
    assert bytes(KEY) == bytes(range(32))
    assert pickle.loads(pickle.dumps(KEY)) == KEY
    assert type(pickle.loads(pickle.dumps(KEY))) is rr.client.Key


@pytest.mark.parametrize("said", [True, False], ids=["with metadata", "without"])
def test_a_second_round_has_noise_of_its_own(said):
    """Rounds under one key follow the distribution of their chain; false alarm 1e-9."""
    coin = rr.KRR(["no", "yes"], 0.75)
    options = {"key": Keyed(KEY, np.arange(ROWS))}
    answers = rr.privatize(pd.Series(["yes"] * ROWS, name="q"), coin, **options)
    chain = coin
    # Without metadata nothing tells a third round from the second.
    for _ in range(2 if said else 1):
        given = answers if said else pd.Series(answers.to_numpy(), name="q")
        answers, chain = rr.privatize(given, coin, again=True, **options), chain.then(coin)
        counts = np.bincount(answers == "yes", minlength=2)
        assert_distribution(counts, np.array(chain.channel.matrix, dtype=float)[:, 1])
    assert not said or answers.attrs["rrstats"]["columns"][0]["mechanism"] == chain.to_dict()


def test_a_fresh_round_over_keyed_reports_is_still_keyed():
    """Whoever has the first round's key sees through it: the record does not forget it."""
    frame = pd.DataFrame({"id": [1, 2], "answer": ["a", "b"]})
    out = frame.rr.privatize("answer", M, key=Keyed(KEY, "id"))
    twice = out.rr.privatize("answer", M, again=True)
    assert twice.attrs["rrstats"]["columns"][0]["keyed"] is True
    rappor = rr.mechanisms.Rappor(["a", "b"], f=0.5, p=0.5, q=0.75)
    kept = rr.privatize(frame["answer"], rappor.permanent, key=Keyed(KEY, frame["id"]))
    assert rr.mechanisms.instantaneous(kept, rappor).attrs["rrstats"]["columns"][0]["keyed"] is True


def test_a_key_lies_in_a_file_of_its_own(tmp_path):
    """save() makes a private file and never replaces one; read() gives the key back."""
    path = tmp_path / "key"
    key = rr.client.new_key()
    key.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rr.client.Key.read(path) == key
    with pytest.raises(FileExistsError):
        key.save(path)
    with pytest.raises(rr.errors.FileError, match="cannot be read"):
        rr.client.Key.read(tmp_path / "none")


REFUSED = {
    "short": ({"key": b"x" * 31}, "at least 32 random bytes, found 31"),
    "not random": ({"key": b"0" * 32}, "of which 1 differ"),
    "no id": ({"id": None}, "give id="),
    "no key": ({"key": None}, "32 secret bytes"),
    "no name": ({"question": None}, "question="),
    "missing id": ({"id": [1, None]}, "1 of 2 missing"),
    "floats": ({"id": np.array([1.0, 2.0])}, "held as floats"),
    "bools": ({"id": [True, False]}, "found a bool"),
    "NumPy bytes": ({"id": np.array([b"a", b"b"])}, "drops zeros"),
    "too long": ({"id": [1, 2**127]}, "whole numbers below"),
    "many columns": ({"id": [[1, 2]] * 5}, "in id must be in .1, 4., got 5"),
    "generator too": ({"rng": rr.client.SecureGenerator()}, "take no rng"),
    "question": ({"question": object()}, "JSON"),
}


def released_under(key, id, question, **options):
    """Two reports under a key."""
    return rr.privatize(["a", "b"], M, key=Keyed(key, id, question=question), **options)


@pytest.mark.parametrize("what", REFUSED)
def test_bad_keys_and_ids_are_refused(what):
    """The error names the argument and the rule, and quotes neither key nor id."""
    changed, message = REFUSED[what]
    options = {"key": KEY, "id": [1, 2], "question": "q", **changed}
    with pytest.raises(rr.errors.RRStatsError, match=message) as caught:
        released_under(**options)
    assert "password" not in str(caught.value).replace("a password or a number", "")


def test_a_key_has_at_least_ten_different_bytes():
    """Ten different bytes among 32 can be a key, nine cannot: a random key has fewer never."""
    ten, nine = (bytes(byte % differing for byte in range(32)) for differing in (10, 9))
    assert len(rr.privatize(["a"], M, key=Keyed(ten, [1], question="q"))) == 1
    with pytest.raises(rr.errors.ArgumentValueError, match="of which 9 differ"):
        rr.privatize(["a"], M, key=Keyed(nine, [1], question="q"))


def test_several_rows_of_a_person_have_no_budget():
    """Keyed reports show whether two answers of a person differ: no epsilon covers that."""
    frame = pd.DataFrame({"id": [1, 1], "answer": ["a", "b"]})
    out = frame.rr.privatize("answer", M, key=Keyed(KEY, "id"))
    assert out.rr.budget().epsilon == M.epsilon
    with pytest.raises(rr.errors.ArgumentValueError, match="keyed"):
        out.rr.budget(max_rows_per_person=2)


def test_ids_of_a_frame_are_public_and_aligned():
    """The id is no private column, and two Series with other indexes are not matched."""
    frame = pd.DataFrame({"id": [1, 2], "answer": ["a", "b"]})
    with pytest.raises(rr.errors.ArgumentValueError, match="public"):
        frame.rr.privatize("answer", M, key=Keyed(KEY, "answer"))
    with pytest.raises(rr.errors.ArgumentValueError, match="must have the same index"):
        rr.privatize(frame["answer"], M, key=Keyed(KEY, pd.Series([1, 2], index=[5, 6])))


def test_categories_without_a_json_form_are_refused():
    """What the words depend on must be the same tomorrow."""
    odd = rr.KRR([frozenset({1}), frozenset({2})], 0.75)
    with pytest.raises(rr.errors.ArgumentValueError, match="JSON form"):
        rr.privatize([frozenset({1})], odd, key=Keyed(KEY, [1], question="q"))


def test_nothing_is_drawn_from_the_operating_system(monkeypatch):
    """Keyed reports take no entropy, and forked processes agree."""
    monkeypatch.setattr(os, "urandom", lambda n: pytest.fail("entropy was drawn"))
    assert released(M, "abcd", list(range(4))) == released(M, "abcd", list(range(4)))


def test_words_cannot_be_pickled():
    """Neither the column's words nor a block's leave the process."""
    column = keyed.KeyedColumn(KEY, {"str": "answer"}, M.to_dict())
    for one in (column, column.words([identity([1])], slice(0, 1), np.array([0]))):
        with pytest.raises(rr.errors.ArgumentTypeError):
            pickle.dumps(one)
    assert "0x" not in repr(column)


@pytest.mark.parametrize("id", [" PRIVATE", "PRIVATE\t", "PRIVATE e\u0301", "\u212b PRIVATE"])
def test_ids_with_two_spellings_are_refused(id):
    """Text that is not NFC, or has space around it, is neither changed nor quoted."""
    for ids in ([id, "b"], np.array([id, "b"]), pd.Series([id, "b"]), pd.Series([id, 5])):
        with pytest.raises(rr.errors.ArgumentValueError, match="surrounding space") as caught:
            rr.privatize(["a", "b"], M, key=Keyed(KEY, ids, question="q"))
        assert "PRIVATE" not in str(caught.value)
    composed = ["\xe9"]
    assert rr.privatize(["a"], M, key=Keyed(KEY, composed, question="q"))
