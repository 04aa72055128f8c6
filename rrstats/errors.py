"""Errors and warnings of rrstats.

Every error is an `RRStatsError` and also the built-in error that Python users expect
(`ValueError`, `TypeError`, `OSError` or `ImportError`).  No message ever quotes a respondent's
answer: messages count answers, name types, and list the declared categories.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TypeAlias

__all__ = [  # ArgumentTypeError and ArgumentValueError are caught as TypeError and ValueError
    "ConvergenceWarning",
    "CuratorWarning",
    "ImplausibleReportsWarning",
    "LowPrecisionWarning",
    "MetadataError",
    "NotIdentifiableError",
    "RRStatsError",
    "RRStatsWarning",
    "SimulationWarning",
    "UnknownAnswersError",
]


_MAX_LETTERS = 600
"""The longest text of an error; a longer one is shortened in the middle."""

_FIRST_LETTERS = 400
"""The beginning that is kept of a longer text: it holds the argument and the rule."""

_LAST_LETTERS = 190
"""The end that is kept of a longer text: it holds the next step."""


class RRStatsError(Exception):
    """The root of all errors that rrstats raises on purpose.

    A text may quote names and labels of any length, so long ones are shortened in the middle: the
    argument stands at the beginning, the next step at the end.
    """

    def __init__(self, text: str = "") -> None:
        if len(text) > _MAX_LETTERS:
            text = f"{text[:_FIRST_LETTERS]} ... {text[-_LAST_LETTERS:]}"
        super().__init__(text)


class ArgumentValueError(RRStatsError, ValueError):
    """An argument has the right type, but its value is not allowed."""


class ArgumentTypeError(RRStatsError, TypeError):
    """An argument has a type that the function does not accept."""


class UnknownAnswersError(ArgumentValueError):
    """Reports are outside the declared ones, or answers are, and ``unknown`` refuses these."""


class NotIdentifiableError(ArgumentValueError):
    """The reports carry no information about the true answers, so nothing can be estimated."""


class MetadataError(ArgumentValueError):
    """The metadata of a column contradict the data or an argument."""


class DamagedDocumentError(MetadataError):
    """The metadata in or beside a file, or the ledger of releases, cannot be read."""


class FileError(RRStatsError, OSError):
    """A file cannot be read or written as asked; nothing was published."""


class SecondReleaseError(RRStatsError, ValueError):
    """A column of a source was released before; both releases together reveal more."""


class EntropyError(RRStatsError, OSError):
    """The operating system returned too few random bytes; nothing was drawn."""


class MissingPackageError(RRStatsError, ImportError):
    """An optional package is missing; the message says how to install it."""


class RRStatsWarning(UserWarning):
    """The root of all warnings of rrstats."""


WarningArguments: TypeAlias = tuple[str, type[RRStatsWarning]]
"""The text of a warning and its category, as `warnings.warn` takes them."""


class ImplausibleReportsWarning(RRStatsWarning):
    """The reports are implausible under the given mechanism: another mechanism made them."""


class LowPrecisionWarning(RRStatsWarning):
    """A result is imprecise or approximate because of noise or small counts."""


class ConvergenceWarning(RRStatsWarning):
    """The likelihood has no finite maximum that could be found; a probability may be 0 or 1."""


class SimulationWarning(RRStatsWarning):
    """The noise came from a generator that is not cryptographic: do not release."""


class CuratorWarning(RRStatsWarning):
    """A declaration may be taken from the answers, or not fit them: private, for the curator."""


class UnrecordedWarning(RRStatsWarning):
    """The reports are correct, but the record of how they were made could not be stored."""


_ISSUED: ContextVar[set[str] | None] = ContextVar("issued", default=None)
"""The texts of the warnings inside `warnings_once`; None outside."""


@contextmanager
def warnings_once() -> Iterator[None]:
    """Issue each text once, however many columns or groups the calls inside warn of."""
    token = _ISSUED.set(set())
    try:
        yield
    finally:
        _ISSUED.reset(token)


def warn(text: str, category: type[RRStatsWarning]) -> None:
    """Warn with a fixed text at the line of the first caller outside this package."""
    issued = _ISSUED.get()
    if issued is not None:
        if text in issued:
            return
        issued.add(text)
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rrstats":
        level += 1
        frame = frame.f_back
    warnings.warn(text, category, stacklevel=level)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        hint = ""
        if name == "UnknownAnswersWarning":
            hint = "; UnknownAnswersError refuses such answers, unknown='uniform' replaces them"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__
