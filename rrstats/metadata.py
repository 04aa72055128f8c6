"""Metadata of privatized columns: `read` records, and `carry` them over a merge."""

from rrstats._names import answer_names
from rrstats.mechanisms.attrs import carry
from rrstats.mechanisms.records import find as find  # unlisted: one of those of `read`
from rrstats.mechanisms.records import read
from rrstats.mechanisms.records import write as write  # unlisted: a record is made by privatize

__all__ = ["carry", "read"]


answer_names(__name__, __all__)
