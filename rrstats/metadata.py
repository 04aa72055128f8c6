"""Metadata of privatized columns: `read` records, and `carry` them over a merge."""

from typing import TYPE_CHECKING, NoReturn

from rrstats._names import missing_attribute
from rrstats.mechanisms.attrs import carry
from rrstats.mechanisms.records import find as find  # unlisted: one of those of `read`
from rrstats.mechanisms.records import read
from rrstats.mechanisms.records import write as write  # unlisted: a record is made by privatize

__all__ = ["carry", "read"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(missing_attribute(__name__, name, __all__))


def __dir__() -> list[str]:
    return __all__
