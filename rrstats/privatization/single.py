"""One record at a time: one answer in, one report out; and reports as short text.

For a form on a web page, a collector or a device at the edge, where each answer is randomized as
it comes.  A call does the same work for every answer: it looks the answer up by its hash, draws
the same words (of 64 bits where a coin is thrown, so that a tie, which takes a second one, has a
chance of 2**-64), and draws a replacement whether or not it is needed.  No message tells that an
answer was unknown.
Law: that of the mechanism, drawn by the same code as a column; an answer that no category serves
is first replaced by a uniform one.
For columns use `privatizing`, which is faster by far.  For a client in another language see
docs/client.md: how words become reports, the text of a report, and vectors to check it by.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rrstats._checks import check_one_of
from rrstats.data.categories import Categories
from rrstats.data.columns import codec_of, open_column
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    SimulationWarning,
    UnknownAnswersError,
    warn,
)
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.krr import as_mechanism
from rrstats.mechanisms.samples import Samples
from rrstats.randomness.samplers import below
from rrstats.randomness.sources import (
    REPLACEMENT_STREAM,
    SIMULATED_TEXT,
    FreshWords,
    Source,
    open_source,
)

__all__ = ["decode_report", "encode_report", "report"]

VERSION = 1
"""Of the text of reports."""

_FINGERPRINT_BYTES = 8

# Types whose hash and equality are Python's own, so that one look into a table serves them.
_HASHED_BY_PYTHON = frozenset({str, bool, int, float, bytes, type(None)})

_SHAPE = re.compile(r"rr([0-9]{1,9})\.([0-9a-f]+)\.([0-9a-f]+)", re.ASCII)


class Client:
    """A mechanism, prepared for one answer at a time; `report` uses it.

    Holds no noise and no answers, so that threads and forked processes may share it.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design.

    Examples
    --------
    >>> import rrstats as rr
    >>> client = Client(rr.KRR(["never", "once", "often"], 0.75))
    >>> client.report("once") in ("never", "once", "often")
    True
    """

    def __init__(self, mechanism: Any) -> None:
        self.mechanism: Mechanism = as_mechanism(mechanism)
        self._domain: Categories = self.mechanism.domain
        self._samples: Categories | None = getattr(self.mechanism, "group_space", None)
        self._is_label = codec_of(self.mechanism.report_space).is_label

    def report(
        self, value: object, *, group: object = None, unknown: str = "uniform", rng: Any = None
    ) -> Any:
        """Randomize one answer.

        Parameters
        ----------
        value : object
            The answer, whatever it is: a list or tuple is one value here, too.
        group : hashable, optional
            The label of its sample, where the mechanism has several; it is public.
        unknown : {"uniform", "raise"}
            A missing or unknown answer is answered uniformly and without a word; "raise" refuses
            it before anything is drawn, which tells whoever sees the error.
        rng : numpy.random.Generator, optional
            As for `rrstats.privatize`; by default each word is the operating system's own.

        Returns
        -------
        hashable or bytes
            As `rrstats.privatize` gives it for one value: a category, or a packed subset.

        Raises
        ------
        UnknownAnswersError
            Because of the value, where it was asked for; nothing else depends on the value.
        """
        sample = self._sample(group)
        code, k = self._code(value), self._domain.k
        # No warning: for one answer it would tell that it is none of the categories.
        if check_one_of(unknown, "unknown", ("uniform", "raise")) == "raise" and code >= k:
            raise UnknownAnswersError(
                f"the answer is missing or not among the categories {self._domain.describe()} "
                f"(answer type: {type(value).__name__})"
            )
        source: Source = FreshWords(stretched=False) if rng is None else open_source(rng)
        # Drawn for every answer, and taken where no category serves it.
        replacement = below(source, REPLACEMENT_STREAM, 0, 1, bound=k)
        codes = np.array([(code, replacement[0])[code >= k]], dtype=self._domain.dtype)
        if sample is not None:
            codes = cast(Samples, self.mechanism).join(codes, sample)
        drawn = self.mechanism.randomize(codes, source, 0)
        if not source.secure:
            warn(SIMULATED_TEXT, SimulationWarning)
        if self._is_label:
            return self.mechanism.report_space.categories[drawn[0]]
        return drawn.tobytes()

    def _code(self, value: object) -> int:
        """The code of an answer, k or more where no category serves it; never raises."""
        try:
            kind, domain = type(value), self._domain
            if kind in _HASHED_BY_PYTHON:
                codes: Any = (domain.value_codes, domain.bool_codes)[kind is bool]
                # NaN differs from itself, and is missing.
                return cast(int, codes.get(None if value != value else value, domain.k))
            return domain.code(value)
        except Exception:  # an answer may be an object that raises when it is looked at
            return self._domain.k

    def _sample(self, group: object) -> NDArray[np.intp] | None:
        """(1,) the code of the sample, for mechanisms that have several."""
        space = self._samples
        if space is None:
            if group is not None:
                raise ArgumentTypeError(
                    "group says which sample an answer is in, and this mechanism has only one; "
                    "leave it out"
                )
            return None
        code = space.code(group)
        if code >= space.k:
            raise ArgumentValueError(
                f"group must be one of the samples {space.describe()} of this mechanism, found "
                f"{'none' if group is None else 'another ' + type(group).__name__}"
            )
        return np.array([code], dtype=np.intp)

    @cached_property
    def text(self) -> ReportText:
        """The text form of the reports."""
        return ReportText(self.mechanism)


class ReportText:
    """Reports of one mechanism as text of one length: ``rr1.<fingerprint>.<report>``.

    The fingerprint has 16 hexadecimal digits and tells the design.  The report is its place
    among the reports, as a hexadecimal number with two digits for each byte that the last place
    needs; or the bytes of a packed subset, two digits each.  All letters are small.
    The sample of a mechanism with several is public and goes beside the text.

    Parameters
    ----------
    mechanism : Mechanism
        The design; its categories need a JSON form.

    Examples
    --------
    >>> import rrstats as rr
    >>> ReportText(rr.KRR(["never", "once", "often"], 0.75)).encode("often")
    'rr1.4d02246957e5fa49.02'
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.fingerprint = fingerprint(mechanism)
        self._space = mechanism.report_space
        self._codec = codec_of(self._space)
        self._width = (
            -(-(self._codec.labels.k - 1).bit_length() // 8)
            if self._codec.is_label
            else self._space.empty(0).shape[1]
        )
        self._prefix = f"rr{VERSION}.{self.fingerprint}."
        self._ours = re.compile(
            re.escape(self._prefix) + f"([0-9a-f]{{{2 * self._width}}})", re.ASCII
        ).fullmatch

    def encode(self, report: Any) -> str:
        """Write one report.

        Parameters
        ----------
        report : hashable or bytes
            As `report` gives it; anything else raises ArgumentValueError.

        Returns
        -------
        str
        """
        found = self._codec.reader([report])([report])
        if found.outside.size:
            raise ArgumentValueError(
                f"report must be one that this mechanism makes, {self._space.describe()}"
                f"{'' if self._codec.is_label else f', as {self._width} bytes'}; found another "
                f"{type(report).__name__}"
            )
        if not self._codec.is_label:
            return self._prefix + found.codes.tobytes().hex()
        return f"{self._prefix}{found.codes[0]:0{2 * self._width}x}"

    def decode(self, text: Any) -> Any:
        """Read one text.

        Parameters
        ----------
        text : str
            Of this mechanism; anything else raises ArgumentValueError.

        Returns
        -------
        hashable or bytes
        """
        reports, bad = self._read([text])
        if bad.any():
            raise ArgumentValueError(f"text must be {self._rule}; it is {self._finding(text)}")
        return reports[0]

    def decode_all(self, texts: list[Any], invalid: str = "raise") -> NDArray[np.object_]:
        """Read many texts.

        Parameters
        ----------
        texts : list of str
            Of this mechanism.
        invalid : {"raise", "missing"}
            As for `decode_report`.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_one_of(invalid, "invalid", ("raise", "missing"))
        if invalid == "missing" and self._space.missing_code is not None:
            raise ArgumentValueError(
                'invalid="missing" contradicts the categories, which have a missing value: a '
                "missing report would be taken for it; leave invalid= out"
            )
        reports, bad = self._read(texts)
        if bad.any() and invalid == "raise":
            raise ArgumentValueError(f"texts must be {self._rule}; {self._findings(texts, bad)}")
        reports[bad] = None
        return reports

    def _read(self, texts: list[Any]) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
        """(n,) reports, and (n,) where there is none, of which the report does not matter."""
        found = [self._ours(text) if isinstance(text, str) else None for text in texts]
        bad = np.array([match is None for match in found], dtype=np.bool_)
        blank = "0" * (2 * self._width)
        shown = [blank if match is None else match[1] for match in found]
        if self._codec.is_label:
            codes = np.array([int(digits, 16) for digits in shown], dtype=np.int64)
            bad |= codes >= self._codec.labels.k
            return self._codec.labels.objects[np.where(bad, 0, codes)], bad
        packed = np.frombuffer(bytes.fromhex("".join(shown)), dtype=np.uint8)
        packed = packed.reshape(len(texts), self._width)
        bad[self._codec.reader(packed)(packed).outside] = True
        return np.fromiter(map(bytes, packed), dtype=object, count=len(texts)), bad

    @property
    def _rule(self) -> str:
        return f"{self._prefix}, then {2 * self._width} hexadecimal digits of one of the reports"

    def _finding(self, text: Any) -> str:
        """The reason why a text is no report of this mechanism; never quotes it."""
        if not isinstance(text, str):
            return "not text"
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return "malformed"
        if shape[1] != str(VERSION):
            return "of another version of the text"
        if shape[2] != self.fingerprint and len(shape[2]) == len(self.fingerprint):
            return "of another design"
        return "malformed" if self._ours(text) is None else "beyond the reports of this design"

    def _findings(self, texts: list[Any], bad: NDArray[np.bool_]) -> str:
        """The number of texts that are wrong, by reason."""
        found = Counter(self._finding(texts[place]) for place in np.flatnonzero(bad).tolist())
        why = ", ".join(f"{count} {rule}" for rule, count in found.most_common())
        return (
            f"of {len(texts)} there are {why}; another design is a client with other categories or "
            'probabilities; invalid="missing" leaves them out'
        )


def fingerprint(mechanism: Any) -> str:
    """Return the 16 hexadecimal digits that tell a design.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design; its categories need a JSON form.

    Returns
    -------
    str
        The same for equal mechanisms: the first 8 bytes of the SHA-256 of ``m.to_dict()`` as
        JSON with sorted keys, no spaces, and nothing but ASCII.

    Examples
    --------
    >>> import rrstats as rr
    >>> fingerprint(rr.KRR(["never", "once", "often"], 0.75))
    '4d02246957e5fa49'
    """
    document = as_mechanism(mechanism).to_dict()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[: 2 * _FINGERPRINT_BYTES]


def report(
    mechanism: Any,
    answer: object,
    *,
    group: object = None,
    unknown: str = "uniform",
    rng: Any = None,
) -> Any:
    """The report of one answer, by the same work for every answer.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design.
    answer : object
        The answer, whatever it is; a missing or unknown one is answered uniformly, without a
        word.
    group, unknown, rng
        As for `Client.report`.

    Returns
    -------
    hashable or bytes
        As `rrstats.privatize` gives it for one value.

    Examples
    --------
    >>> import rrstats as rr
    >>> report(rr.KRR(["no", "yes"], 0.75), "yes") in ("no", "yes")
    True
    """
    return _client(mechanism).report(answer, group=group, unknown=unknown, rng=rng)


def encode_report(mechanism: Any, report: Any) -> str:
    """A report as text, which for one mechanism is always as long.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design that made the report.
    report : hashable or bytes
        As `report` gives it.

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
    return _client(mechanism).text.encode(report)


def decode_report(mechanism: Any, text: Any, *, invalid: str = "raise") -> Any:
    """The report of a text, or the reports of many, as `rrstats.tally` takes them.

    Parameters
    ----------
    mechanism : Mechanism, or mapping from sample to Mechanism
        The design that made the reports.
    text : str, or array-like of shape (n,)
        As `encode_report` wrote it, or a client in another language.
    invalid : {"raise", "missing"}
        Many texts of which some are malformed, of another version or design, beyond its reports,
        or missing.  "raise" counts them by kind; "missing" leaves their reports missing, so that
        a tally counts them apart.

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
    container, ours = open_column(text), _client(mechanism).text
    if container.shape == ():
        return ours.decode(text)
    cells = container.cells
    if not isinstance(cells, list):
        cells = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.tolist()
    return ours.decode_all(cells, invalid)


def _client(mechanism: Any) -> Client:
    """The client of a mechanism, prepared once: a description is frozen."""
    described = as_mechanism(mechanism)
    kept: Client | None = vars(described).get("_client")
    if kept is None:
        kept = vars(described)["_client"] = Client(described)
    return kept


def __dir__() -> list[str]:
    return __all__
