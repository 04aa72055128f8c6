"""A request to shuffle the rows of a release, and the words of categories that keep an order.

The words of a dictionary may stand in the order in which they first appeared in the rows, and then
they show the order of the rows.  So words are sorted where rows are shuffled, unless the caller
says that their order was declared.  That is checked: a declared order of k words is that of their
first appearance once in k! times.  It is judged over all parts of a release together, because in
one of many parts a few words have that order by chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rrstats.errors import ArgumentTypeError, ArgumentValueError, FileError


@dataclass(frozen=True)
class RowOrder:
    """The order of the rows of a release.

    shuffled : whether rows come in random order.  kept : the public columns of ordered categories
    whose words keep their order.
    """

    shuffled: bool = False
    kept: tuple[str, ...] = ()

    @classmethod
    def of(cls, shuffle_rows: bool, keep_order: Collection[str]) -> RowOrder:
        """From the arguments; raises if ``keep_order`` has no effect or is no list of names."""
        is_list = isinstance(keep_order, list | tuple | set | frozenset)
        if not is_list or not all(isinstance(name, str) for name in keep_order):
            raise ArgumentTypeError(
                f"keep_order must be a list of column names, got {type(keep_order).__name__}"
            )
        if keep_order and not shuffle_rows:
            raise ArgumentValueError(
                "keep_order needs shuffle_rows=True: rows that are not shuffled keep all orders"
            )
        return cls(bool(shuffle_rows), tuple(keep_order))

    def check(
        self,
        type_of: Callable[[str], pa.DataType],
        names: Sequence[str],
        private: Collection[str],
    ) -> None:
        """Raise ArgumentValueError if a column that is kept is no public one of ordered words."""
        for name in self.kept:
            if name in private:
                why = "is private, and its order follows from the design"
            elif name not in names:
                why = "is not there"
            elif not is_ordered(type_of(name)):
                why = f"has the type {type_of(name)}"
            else:
                continue
            raise ArgumentValueError(
                "keep_order must name public columns of ordered categories (ordered dictionaries "
                f"of Arrow), but column {name!r} {why}"
            )


def is_ordered(type: pa.DataType) -> bool:
    """True for the type of ordered categories."""
    return bool(pa.types.is_dictionary(type) and type.ordered)


@dataclass(frozen=True)
class KeptOrder:
    """The words of a public column in one part of a release, and their order in its rows.

    part : the place of the part.  words : a digest of the words in order; empty without words.
    is_sorted : whether they are sorted.  differs : whether the part has several dictionaries
    without a common order.  appeared : places of the words, by the first row that has them.
    """

    column: str
    part: int
    words: str
    is_sorted: bool
    differs: bool
    appeared: tuple[int, ...]


def digest_of_words(words: pa.Array) -> str:
    """A digest of the words of a dictionary, in order."""
    return hashlib.sha256(repr(words.to_pylist()).encode()).hexdigest() if len(words) else ""


def check_kept(orders: Iterable[KeptOrder]) -> None:
    """Raise FileError if the order of a column's words may be that of the rows of all parts."""
    columns: dict[str, list[KeptOrder]] = {}
    for order in sorted(orders, key=lambda order: order.part):
        if order.words:
            columns.setdefault(order.column, []).append(order)
    for column, parts in columns.items():
        appeared: dict[int, None] = {}
        for part in parts:
            appeared |= dict.fromkeys(part.appeared)
        first_rows = list(appeared)
        if any(part.differs or part.words != parts[0].words for part in parts):
            why = "its parts have several dictionaries, which have no common order"
        elif not parts[0].is_sorted and len(first_rows) > 1 and first_rows == sorted(first_rows):
            why = "its words stand in the order in which they first appear in the rows"
        else:
            continue
        raise FileError(
            f"column {column!r} cannot keep the order of its categories: {why}, which may show the "
            "order of the rows; leave it out of keep_order, or sort the rows of the source by a "
            "public column first"
        )
