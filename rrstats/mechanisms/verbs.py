"""What people say of a mechanism in one breath: privatize with it, tally, estimate, chain.

Conveniences over public functions, and what descriptions share; nothing of the law is here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rrstats.errors import MetadataError
from rrstats.mechanisms.epsilon import round_up

if TYPE_CHECKING:
    from rrstats.mechanisms.base import Mechanism
    from rrstats.mechanisms.chain import Chain
    from rrstats.privatization.single import Client

__all__ = ["Verbs", "as_code", "check_keys", "count_codes", "rounds_of"]

_AT_ONCE = 1 << 16
_FEW = 8


def count_codes(codes: NDArray[Any], k: int) -> NDArray[np.int64]:
    """How often each of 0 .. k-1 occurs; shape (k,).  In parts: no 64-bit copy of the column."""
    counts = np.zeros(k, dtype=np.int64)
    for start in range(0, len(codes), _AT_ONCE):
        part = codes[start : start + _AT_ONCE]
        if k > _FEW:
            counts += np.bincount(part, minlength=k)
            continue
        # A comparison reads 30 codes in the time in which bincount counts one.
        for code in range(k):
            counts[code] += np.count_nonzero(part == code)
    return counts


def check_keys(
    document: Mapping[str, Any], needed: Collection[str], allowed: Collection[str] = ()
) -> None:
    """Raise MetadataError unless a description has the needed keys and no unknown ones.

    A key that this version does not know may change the law, so it is not passed over.
    """
    if not isinstance(document, Mapping):
        raise MetadataError(
            f"the description of a mechanism must be a mapping, found {type(document).__name__}"
        )
    name = document.get("type")
    missing = [key for key in needed if key not in document]
    unknown = [key for key in document if key not in {"type", *needed, *allowed}]
    if missing:
        raise MetadataError(f"the description of a {name} needs {missing}")
    if unknown:
        raise MetadataError(
            f"the description of a {name} has unknown keys {unknown}; "
            f"known are {[*needed, *allowed]}; a newer rrstats may know them"
        )


def as_code(mechanism: object) -> str:
    """The call that makes a mechanism, without the comment that its repr adds."""
    call = getattr(mechanism, "_call", None)
    return str(call()) if callable(call) else repr(mechanism)


def rounds_of(mechanism: Mechanism) -> int:
    """How many rounds a mechanism draws words for, each from streams of its own."""
    return len(getattr(mechanism, "rounds", (mechanism,)))


class Verbs:
    """The verbs of a mechanism, each a call of the public function of that name."""

    groups: tuple[Hashable, ...] | None = None
    """The labels of the samples, where a mechanism has several."""

    def __repr__(self) -> str:
        return f"{as_code(self)}  # epsilon {round_up(self._loss())} per report"

    def _loss(self) -> Fraction | float:
        epsilon = cast("Mechanism", self).epsilon
        return Fraction(epsilon) if epsilon < math.inf else epsilon

    def _call(self) -> str:
        return f"{type(self).__name__}(...)"

    def privatize(self, values: Any, **options: Any) -> Any:
        """`rrstats.privatize` with this mechanism; same options, same container back."""
        from rrstats.privatization.frame import privatize

        return privatize(values, self, **options)

    @cached_property
    def _client(self) -> Client:
        from rrstats.privatization.single import Client

        return Client(self)

    def report(self, value: object, **options: Any) -> Any:
        """The report of one answer, by the same work for every answer: `client.Client.report`.

        value : the answer, whatever it is; a missing or unknown one is answered uniformly, without
            a word.  Never raises because of it, unless ``unknown="raise"``.
        group : the label of its sample, where the mechanism has several.
        Returns what `rrstats.privatize` gives for one value.

        >>> import rrstats as rr
        >>> rr.KRR(["no", "yes"], 0.75).report("yes") in ("no", "yes")
        True
        """
        return self._client.report(value, **options)

    def encode_report(self, report: Any) -> str:
        """A report as text, which for one mechanism is always as long: `client.ReportText`.

        >>> import rrstats as rr
        >>> m = rr.KRR(["no", "yes"], 0.75)
        >>> m.decode_report(m.encode_report("yes")), len(m.encode_report("no"))
        ('yes', 23)
        """
        return self._client.text.encode(report)

    def decode_report(self, text: str) -> Any:
        """The report of a text; ArgumentValueError for one of another design or version.

        For many texts use `rr.client.decode_reports`.
        """
        return self._client.text.decode(text)

    def tally(self, reports: Any, **options: Any) -> Any:
        """`rrstats.tally` of reports that this mechanism made."""
        from rrstats.estimation.tally import tally

        return tally(reports, self, **options)

    def estimate(self, reports: Any, **options: Any) -> Any:
        """`rrstats.estimate` from reports that this mechanism made."""
        from rrstats.estimation.estimator import estimate

        return estimate(reports, self, **options)

    def posterior(self, reports: Any, prior: Any, **options: Any) -> NDArray[np.float64]:
        """P(true answer | report), from what somebody believed before.

        reports : n reports.  prior : (classes,) shares of the true answers, in their order, which
            sum to 1; or a mapping from answer to share.
        Returns (n, classes); a missing report leaves the prior as it is.
        Formula: P(report | truth) prior / P(report).

        >>> import rrstats as rr
        >>> rr.KRR(["no", "yes"], 0.75).posterior(["yes"], [0.99, 0.01]).round(4)
        array([[0.9706, 0.0294]])
        """
        from rrstats.estimation.posterior import posterior

        return posterior(reports, cast("Mechanism", self), prior, **options)

    def then(self, second: Mechanism) -> Chain:
        """This mechanism followed by another on its reports; the channel is their product."""
        from rrstats.mechanisms.chain import Chain

        return Chain(cast("Mechanism", self), second)
