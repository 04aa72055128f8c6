"""Randomization of single answers, and reports as short text.

It serves web forms, collectors and devices, where each answer is randomized as it comes.  A call
does the same work for every answer: it looks the answer up by its hash, draws the same words, and
draws a replacement whether or not it is needed.  A coin uses a word of 64 bits; it needs a second
word only after a tie, which has probability 2**-64.
The distribution is that of the mechanism, drawn by the same code as a column.  An answer that
matches no category is refused.  The error is one person's bit, so check the form's choices when it
is built; where nobody is at hand give ``unknown="uniform"``, which replaces such answers.
For columns use `rrstats.privatize`, which is much faster.  For a client in another language see
docs/client.md: it describes how words become reports, the text of a report, and test vectors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_one_of
from rrstats._names import checked_keywords, missing_attribute
from rrstats._typing import Booleans
from rrstats.data.categories import Categories
from rrstats.data.codecs import codec_of
from rrstats.data.columns import open_column
from rrstats.errors import ArgumentValueError, SimulationWarning, UnknownAnswersError, warn
from rrstats.mechanisms.krr import MechanismLike, as_mechanism
from rrstats.mechanisms.records import check_policies
from rrstats.mechanisms.samples import sample_codes
from rrstats.randomness.keyed import Key, Keyed, new_key
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import (
    REPLACEMENT_STREAM,
    SIMULATED_TEXT,
    FreshWords,
    RandomSource,
    SecureGenerator,
    Source,
    open_source,
)

__all__ = ["Key", "Keyed", "SecureGenerator", "decode_report", "encode_report", "new_key", "report"]

VERSION = 1
"""The version of the text of reports."""

_FINGERPRINT_BYTES = 8
"""The length of a design's fingerprint: enough to tell designs apart; it proves nothing."""

# Types with Python's own hash and equality, for which one dictionary lookup is enough.
_HASHED_BY_PYTHON = frozenset({str, bool, int, float, bytes, type(None)})

_SHAPE = re.compile(r"rr([0-9]{1,9})\.([0-9a-f]+)\.([0-9a-f]+)", re.ASCII)


@checked_keywords
def report(
    mechanism: MechanismLike,
    answer: object,
    *,
    group: object = None,
    unknown: str = "raise",
    rng: RandomSource | None = None,
) -> Any:
    """Randomize one answer; the call does the same work for every answer.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design.
    answer : object
        Any object; a list or tuple also counts as one value here.
    group : hashable, optional
        The label of the answer's sample, for mechanisms with several; it is public.
    unknown : {"raise", "uniform"}
        "raise" refuses a missing or unknown answer; the error reveals that to its reader.
        "uniform" replaces it by a uniformly random category, and nothing reveals it.
    rng : numpy.random.Generator, optional
        As for `rrstats.privatize`; by default each word comes from the operating system.

    Returns
    -------
    hashable or bytes
        As `rrstats.privatize` returns it for one value: a category, or a packed subset.

    Raises
    ------
    UnknownAnswersError
        For a missing or unknown answer with ``unknown="raise"``; no other error depends on it.

    Examples
    --------
    >>> import rrstats as rr
    >>> report(rr.KRR(["no", "yes"], 0.75), "yes") in ("no", "yes")
    True
    """
    design = as_mechanism(mechanism)
    domain = design.domain
    space = design.report_space
    sample = None
    if group is not None or design.groups is not None:
        sample = sample_codes(design, None if group is None else [group], 1)
    code = _code(domain, answer)
    answers = domain.answers
    check_policies(unknown)
    if unknown == "raise" and code >= answers:
        raise UnknownAnswersError(
            f"the answer is missing or not among {domain.in_words} (answer type: "
            f"{type(answer).__name__}); check the form's choices when it is built, and where "
            "nobody is at hand give unknown='uniform', which replaces the answer by a random "
            "category: this error is one person's bit"
        )
    source: Source = FreshWords(stretched=False) if rng is None else open_source(rng)
    # Drawn for every answer, and taken where it matches no category.
    replacement = below(source, REPLACEMENT_STREAM, 0, 1, bound=answers)
    codes = np.array([(code, replacement[0])[code >= answers]], dtype=domain.dtype)
    drawn = design.randomize(design.join(codes, sample), source, 0)
    if not source.secure:
        warn(SIMULATED_TEXT, SimulationWarning)
    return space.categories[drawn[0]] if codec_of(space).is_label else drawn.tobytes()


def _code(domain: Categories, answer: object) -> int:
    """The code of an answer, k or more where it matches no category; never raises."""
    try:
        kind = type(answer)
        if kind not in _HASHED_BY_PYTHON or domain.answers > domain.k:
            return domain.code(answer)
        codes: Any = (domain.value_codes, domain.bool_codes)[kind is bool]
        # NaN differs from itself, and is missing.
        code: int = codes.get(None if answer != answer else answer, domain.k)
        return code
    except Exception:  # even the type of an answer may raise when it is looked at
        return domain.k


# -- reports as text -----------------------------------------------------------------------


class _Text(NamedTuple):
    """The text form of one mechanism's reports, of fixed length: ``rr1.<fingerprint>.<report>``.

    The fingerprint has 16 hexadecimal digits and identifies the design.  The report is its place
    among the reports, as a hexadecimal number with two digits for each byte that the last place
    needs; or the bytes of a packed subset, two digits each.  All letters are lower case.
    The sample, for mechanisms with several, is public and is transmitted beside the text.
    """

    codec: Any
    prefix: str
    digits: int

    @classmethod
    def of(cls, mechanism: MechanismLike) -> _Text:
        """The text form of a mechanism, prepared once and cached."""
        design = as_mechanism(mechanism)
        form: _Text | None = vars(design).get("_text")
        if form is None:
            codec: Any = codec_of(design.report_space)
            last = codec.domain.k - 1
            width = -(-last.bit_length() // 8) if codec.is_label else codec.width
            form = cls(codec, f"rr{VERSION}.{fingerprint(design)}.", 2 * width)
            vars(design)["_text"] = form
        return form

    def reason(self, text: object) -> str:
        """The reason why a text is not a report of this mechanism; it never quotes the text."""
        if not isinstance(text, str):
            return "not text"
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return "malformed"
        if shape[1] != str(VERSION):
            return "of another version of the text"
        if not text.startswith(self.prefix) and len(shape[2]) == 2 * _FINGERPRINT_BYTES:
            return "of another design"
        return "beyond the reports of this design" if self.payload(text) else "malformed"

    def payload(self, text: object) -> str:
        """The digits of the report; empty if the text does not have the form."""
        if not isinstance(text, str) or not text.startswith(self.prefix):
            return ""
        shape = _SHAPE.fullmatch(text)
        if shape is None or len(shape[3]) != self.digits:
            return ""
        return shape[3]

    def read(self, texts: list[Any]) -> tuple[NDArray[np.object_], Booleans]:
        """(n,) reports, and (n,) True where the text holds none (the report there is arbitrary)."""
        payloads = [self.payload(text) for text in texts]
        bad = np.array([not digits for digits in payloads], dtype=np.bool_)
        zeros = "".ljust(self.digits, "0")
        payloads = [digits or zeros for digits in payloads]
        if self.codec.is_label:
            codes = np.array([int(digits, 16) for digits in payloads], dtype=np.int64)
            bad |= codes >= self.codec.domain.k
            return self.codec.domain.objects[np.where(bad, 0, codes)], bad
        packed = np.frombuffer(bytes.fromhex("".join(payloads)), dtype=np.uint8)
        packed = packed.reshape(len(texts), self.codec.width)
        bad[self.codec.reader(packed)(packed).outside] = True
        return np.fromiter(map(bytes, packed), dtype=object, count=len(texts)), bad


def fingerprint(mechanism: MechanismLike) -> str:
    """Return the 16 hexadecimal digits that identify a design.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design; its categories need a JSON form.

    Returns
    -------
    str
        The first 8 bytes of the SHA-256 of ``m.to_dict()`` as JSON with sorted keys, no spaces and
        only ASCII; equal mechanisms have the same fingerprint.

    Examples
    --------
    >>> import rrstats as rr
    >>> fingerprint(rr.KRR(["never", "once", "often"], 0.75))
    '4d02246957e5fa49'
    """
    document = as_mechanism(mechanism).to_dict()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[: 2 * _FINGERPRINT_BYTES]


@checked_keywords
def encode_report(mechanism: MechanismLike, report: Any) -> str:
    """Return a report as text; all texts of one mechanism have the same length.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design that made the report.
    report : hashable or bytes
        A report as `report` returns it.

    Returns
    -------
    str

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> decode_report(m, encode_report(m, "yes")), len(encode_report(m, "no"))
    ('yes', 23)
    """
    codec, prefix, digits = _Text.of(mechanism)
    encoded = codec.reader([report])([report])
    if encoded.outside.size:
        raise ArgumentValueError(
            "report must be a report of this mechanism, "
            f"{as_mechanism(mechanism).report_space.describe()}; found another value of type "
            f"{type(report).__name__}"
        )
    if codec.is_label:
        return f"{prefix}{encoded.codes[0]:0{digits}x}"
    return f"{prefix}{encoded.codes.tobytes().hex()}"


@checked_keywords
def decode_report(mechanism: MechanismLike, report: Any, *, invalid: str = "raise") -> Any:
    """Return the report of a text, or the reports of many texts, for `rrstats.tally`.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design that made the reports.
    report : str, or array-like of shape (n,)
        Text from `encode_report`, or from a client in another language.
    invalid : {"raise", "missing"}
        Treatment of texts that are malformed, of another version or design, outside the reports
        of the design, or missing.  "raise" raises an error that counts them by kind; "missing"
        gives them missing reports, which a tally counts separately.

    Returns
    -------
    hashable or bytes, or ndarray of shape (n,)
        Categories, or packed subsets as bytes.

    Raises
    ------
    ArgumentValueError
        No message quotes a text.

    Examples
    --------
    >>> import rrstats as rr
    >>> m = rr.KRR(["no", "yes"], 0.75)
    >>> texts = [encode_report(m, "yes"), encode_report(m, "no"), "spam"]
    >>> decode_report(m, texts[0])
    'yes'
    >>> rr.tally(decode_report(m, texts, invalid="missing"), m).n_missing
    1
    """
    container = open_column(report)
    form = _Text.of(mechanism)
    check_one_of(invalid, "invalid", ("raise", "missing"))
    if invalid == "missing" and form.codec.is_label and form.codec.domain.missing_code is not None:
        raise ArgumentValueError(
            'invalid="missing" contradicts the categories, which have a missing value: an '
            "invalid text would count as that category; leave invalid= out"
        )
    texts = container.cells
    if not isinstance(texts, list):
        texts = texts.to_pylist() if hasattr(texts, "to_pylist") else texts.tolist()
    reports, bad = form.read(texts)
    if bad.any() and invalid == "raise":
        reasons = Counter(form.reason(texts[place]) for place in np.flatnonzero(bad).tolist())
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        raise ArgumentValueError(
            f"texts must be {form.prefix}, then {form.digits} hexadecimal digits of one of the "
            f"reports; of {len(texts)} there are {why}; a client of another design has other "
            'categories or probabilities; invalid="missing" leaves these texts out'
        )
    reports[bad] = None
    return reports if container.shape else reports[0]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute("rrstats.client", name, __all__))


def __dir__() -> list[str]:
    return __all__
