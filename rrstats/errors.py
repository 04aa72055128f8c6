"""Errors and warnings, in one tree.

Every error of rrstats is an `RRStatsError` and also the built-in kind that Python users
expect (`ValueError` or `TypeError`).  No message ever quotes a respondent's answer: messages
count answers, name types, and list the declared categories.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "ConvergenceWarning",
    "ImplausibleReportsWarning",
    "LowPrecisionWarning",
    "MetadataError",
    "NotIdentifiableError",
    "RRStatsError",
    "RRStatsWarning",
    "SimulationWarning",
    "UnknownAnswersError",
    "UnknownAnswersWarning",
]


class RRStatsError(Exception):
    """The root of all errors that rrstats raises on purpose."""


class ArgumentValueError(RRStatsError, ValueError):
    """An argument has the right type and a value outside its rule."""


class ArgumentTypeError(RRStatsError, TypeError):
    """An argument has a type that the function cannot serve."""


class UnknownAnswersError(ArgumentValueError):
    """Answers outside the declared categories, where the caller asked for an error."""


class NotIdentifiableError(ArgumentValueError):
    """The reports carry no information about the truth, so nothing can be estimated."""


class MetadataError(ArgumentValueError):
    """The metadata of a column contradict the data or an argument.

    Documents may hold labels and keys of any length, so long messages are cut in the middle.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(text if len(text) <= 700 else f"{text[:500]} ... {text[-200:]}")


class DamagedDocumentError(MetadataError):
    """A document in or beside a file, or the ledger of releases, cannot be read."""


class FileError(RRStatsError, OSError):
    """A file cannot be read or written as asked; nothing was published."""


class SecondReleaseError(RRStatsError, ValueError):
    """The same column of the same source was released before: both together tell more."""


class MissingPackageError(RRStatsError, ImportError):
    """An optional package is needed for this call; the message says how to install it."""


class RRStatsWarning(UserWarning):
    """The root of all warnings of rrstats."""


class UnknownAnswersWarning(RRStatsWarning):
    """Some answers were outside the categories and were answered uniformly at random."""


class ImplausibleReportsWarning(RRStatsWarning):
    """Reports lie further off than noise goes: the mechanism given did not make them."""


class LowPrecisionWarning(RRStatsWarning):
    """Noise or small counts leave little information, so a result is imprecise or approximate."""


class ConvergenceWarning(RRStatsWarning):
    """No finite maximum of the likelihood was found: it may lie at a probability of 0 or 1."""


class SimulationWarning(RRStatsWarning):
    """The noise came from a generator that is not cryptographic: do not release."""


class UnrecordedWarning(RRStatsWarning):
    """The reports are right, but how they were made could not be recorded beside them."""


def warn(text: str, category: type[RRStatsWarning]) -> None:
    """Warn with a fixed text, as if the first caller outside this package had."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rrstats":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def __dir__() -> list[str]:
    return __all__
