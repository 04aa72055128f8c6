"""The base of results: each prints its answer first, in a table, and says it in a sentence.

A result is a frozen dataclass that holds what was counted and computes the rest when asked.  To
make one, subclass `Result` with ``@dataclass(frozen=True, eq=False, repr=False)`` and give

- ``to_frame(level=0.95)``: unrounded numbers, one row a statement, with the columns that label a
  row first, as many as ``n_labels``; further options are keywords;
- ``interval(level=0.95)``: a `LabelledInterval`, or an `Interval` where there is one number;
- ``interpret(...)``: a sentence;
- ``covariance``, ``n`` and ``effective_n``: properties or fields;
- ``shown``: the columns of the frame that people read, the answer first; ``title`` and ``header``,
  pairs of text: what stands above the table;
- ``notes``: sentences that a reader of the table must know;
- ``plot(ax=None, ...)``: a call of `rrstats.plots` with a frame.

The base adds ``summary()``, ``__repr__`` and ``_repr_html_``.  A column is written as `FORMATS`
says of its name, or the ``formats`` of the class; counts that are all whole print as such.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._display import WIDTH, SummaryTable, as_fragment, columns, label, wrap
from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.inference.contrasts import Interval

_LONGEST = 30
"""Letters of a label in a terminal."""


def write_count(number: float) -> str:
    """A count, or a sum of weights."""
    return f"{number:,.1f}"


FORMATS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("naive", "proportion", "std_error", "low", "high"), "{:.4f}".format),
    **dict.fromkeys(("n", "reported", "count", "count_low", "count_high"), write_count),
    **dict.fromkeys(("effective_n", "total", "total_std_error"), write_count),
    "design_effect": "{:.2f}".format,
}
"""Writers of columns by name."""


class Result(ABC):
    """Base of all results; the module says what a subclass gives."""

    formats: ClassVar[Mapping[str, Callable[[Any], str]]] = FORMATS
    # The columns of the frame that people read, the answer first.
    shown: ClassVar[Sequence[str]] = ("proportion", "low", "high", "std_error")

    @abstractmethod
    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame of unrounded numbers, one row a statement."""

    @abstractmethod
    def interpret(self) -> str:
        """The answer in a sentence."""

    @property
    def n_labels(self) -> int:
        """The number of columns of the frame that label a row."""
        return 1

    @property
    def _leading(self) -> int:
        """The number of columns of the printed table that label a row."""
        return self.n_labels

    @property
    def title(self) -> str:
        """The kind of result."""
        return type(self).__name__

    @property
    def header(self) -> Sequence[tuple[str, str]]:
        """Names and values that stand above the table."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        return ()

    def _table(self, level: float = 0.95) -> pd.DataFrame:
        """The frame as people read it: labels as text, the answer first, nothing unknown."""
        frame = self.to_frame(level)
        shown = [name for name in self.shown if name in frame and frame[name].notna().any()]
        return pd.concat([frame.iloc[:, : self.n_labels].map(label), frame[shown]], axis=1)

    def summary(self, level: float = 0.95) -> SummaryTable:
        """The result as a table for people.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        SummaryTable
            Text in a terminal and HTML in a notebook; its ``as_latex()`` is for a paper and its
            ``to_frame()`` has the unrounded numbers.
        """
        table = self._table(level)
        names = [table.pop(name) for name in list(table.columns[: self.n_labels])]
        table.index = pd.Index(names[0]) if len(names) == 1 else pd.MultiIndex.from_arrays(names)
        table.index.names = [None] * len(names)
        written = {str(name): self._writer(table[name]) for name in table}
        return SummaryTable(self.title, self.header, table, list(written), written, self.notes)

    def _writer(self, column: pd.Series[Any]) -> Callable[[Any], str]:
        """The writer of a column's cells."""
        found = self.formats.get(str(column.name), str)
        near = (column - column.round()).abs() < 1e-9  # of a count that was computed
        whole = found is write_count and (column.isna() | near).all()
        return "{:,.0f}".format if whole else found

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows as text; of a long table as many rows as pandas shows."""
        table, most = self._table(), pd.get_option("display.max_rows")
        half = most // 2 if most and len(table) > most else 0
        if half:
            table = pd.concat([table.head(half), table.tail(half)])
        labels = [list(table.iloc[:, place]) for place in range(self.n_labels)]
        numbers = (table.iloc[:, place] for place in range(self.n_labels, table.shape[1]))
        cells = [*labels, *(list(map(self._writer(column), column)) for column in numbers)]
        rows = [list(row) for row in zip(*cells, strict=True)]
        if half:
            rows.insert(half, ["..."] * len(cells))
        return list(map(str, table)), rows

    def __repr__(self) -> str:
        heads, rows = self._cells()
        for row in rows:
            row[: self._leading] = [_shortened(text) for text in row[: self._leading]]
        widths = [2 + max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        kept = max(int((np.cumsum(widths) <= WIDTH).sum()), self._leading + 3)
        body = columns([line[:kept] for line in (heads, *rows)], left=self._leading)
        more = [f"to_frame() has also {', '.join(heads[kept:])}"] if heads[kept:] else []
        said = ", ".join(f"{name}={value}" for name, value in self.header)
        return "\n".join([f"{self.title}: {said}", body, *map(wrap, [*more, *self.notes])])

    def _repr_html_(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.header)
        lines = [f"{self.title}: {said}", *self.interpret().splitlines(), *self.notes]
        return as_fragment([("table", self._cells()), *(("text", line) for line in lines if line)])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class LabelledInterval(Interval):
    """Both ends of an interval for each of some labels; unpacks to ``low, high``.

    Attributes
    ----------
    low, high : ndarray
        The ends.
    labels : sequence of hashables
        Their categories, in order.
    """

    labels: Sequence[Hashable]

    def __new__(cls, low: Any, high: Any, labels: Sequence[Hashable] = ()) -> LabelledInterval:
        """Ends with their labels."""
        found = super().__new__(cls, low, high)
        found.labels = labels
        return found

    def to_frame(self) -> pd.DataFrame:
        """Columns category, low and high."""
        labels = label_column(tuple(self.labels))
        return pd.DataFrame({"category": labels, "low": self.low, "high": self.high})

    def __repr__(self) -> str:
        ends = zip(self.labels, self.low, self.high, strict=True)
        rows = [[_shortened(label(one)), f"{low:.6g}", f"{high:.6g}"] for one, low, high in ends]
        return columns([["category", "low", "high"], *rows])


# -- small results ---------------------------------------------------------------------------


class Rounded:
    """Shows its fields with four digits; they hold all."""

    def __repr__(self) -> str:
        fields = (
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in vars(self).items()
        )
        return f"{type(self).__name__}({', '.join(fields)})"


class ShareEstimate(Rounded, SimpleNamespace):
    """One category of an estimate, with 95% intervals: the columns of its frame as attributes."""


@dataclass(frozen=True, repr=False)
class RatioEstimate(Rounded):
    """A proportion among some people: the ratio of two estimated proportions."""

    proportion: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class MeanEstimate(Rounded):
    """The mean of a number that the categories stand for."""

    mean: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedProportions(Result):
    """Proportions made to lie in [0, 1] and to sum to 1, for a table or a whole distribution.

    They have no variance and no interval, on purpose: proportions that were pushed inside are
    biased (the largest shrink), and no standard error repairs that.  For inference use the
    result that they came from.

    Attributes
    ----------
    categories : tuple of k hashables
        Of a table of several columns a tuple of them for each.
    proportions : ndarray of shape (k,) or (k1, ..., kd)
    n : int
        The number of reports.
    method : str
        The way in which they were made.
    names : tuple of hashables
        The columns of a table.
    """

    shown = ("proportion", "count")

    categories: tuple[Any, ...]
    proportions: Floats
    n: int
    method: str
    names: tuple[Hashable, ...] = ()

    @property
    def _axes(self) -> tuple[tuple[Hashable, ...], tuple[tuple[Hashable, ...], ...]]:
        """Names and categories of each axis."""
        return (self.names, self.categories) if self.names else (("category",), (self.categories,))

    @property
    def n_labels(self) -> int:
        """One column of labels for each axis."""
        return len(self._axes[0])

    @property
    def header(self) -> Sequence[tuple[str, str]]:
        """The method and the number of reports."""
        return [("method", self.method), ("n", f"{self.n:,}")]

    @property
    def counts(self) -> Floats:
        """The proportions times the number of rows."""
        return np.asarray(self.proportions * self.n) if self.n else np.zeros(self.proportions.shape)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each category or cell.

        Parameters
        ----------
        level : float
            Of no effect: there are no intervals.

        Returns
        -------
        DataFrame
            The labels, proportion and count.
        """
        return long_frame(*self._axes, {"proportion": self.proportions, "count": self.counts})

    def table(self) -> pd.DataFrame:
        """The proportions with the last column's categories side by side."""
        return wide_frame(*self._axes, self.proportions)

    def interpret(self) -> str:
        """The largest proportion in a sentence."""
        place = np.unravel_index(int(np.argmax(self.proportions)), self.proportions.shape)
        largest = [label(one[at]) for one, at in zip(self._axes[1], place, strict=True)]
        return (
            f"the largest of {self.proportions.size} proportions by {self.method} is "
            f"{self.proportions[place]:.1%} {', '.join(largest)}; it has no interval"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("variance", "std_error", "covariance", "interval"):
            raise AttributeError(
                f"proportions inside the simplex have no {name}: pushing them inside biases them; "
                "use the estimate they came from"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# -- frames of several columns -----------------------------------------------------------------


def long_frame(
    names: Sequence[Hashable],
    categories: Sequence[tuple[Hashable, ...]],
    held: Mapping[str, NDArray[Any]],
) -> pd.DataFrame:
    """One row a cell: the categories of each axis, then the numbers of the cells.

    An axis with the name of a number has "_group" behind its name, as a column of groups has.
    """
    shape = tuple(map(len, categories))
    places = np.indices(shape).reshape(len(shape), -1)
    columns: list[Any] = [
        label_column(labels).take(at).reset_index(drop=True)
        for labels, at in zip(categories, places, strict=True)
    ]
    columns += [pd.Series(np.asarray(values).ravel()) for values in held.values()]
    taken = {*names, *held}
    free = [_free_name(name, taken) if name in held else name for name in names]
    frame: pd.DataFrame = pd.concat(columns, axis=1)
    frame.columns = pd.Index([*free, *held], dtype=object, tupleize_cols=False)
    return frame


def _free_name(name: Hashable, taken: Collection[Hashable]) -> str:
    found = f"{name}_group"
    return _free_name(found, taken) if found in taken else found


def wide_frame(
    names: Sequence[Hashable],
    categories: Sequence[tuple[Hashable, ...]],
    values: NDArray[Any],
    *,
    text: bool = False,
) -> pd.DataFrame:
    """The last axis side by side, the others below one another; one axis alone has one column.

    text : categories as people read them.
    """
    labels = [
        pd.Index(list(map(label, own)) if text else label_column(own), name=name)
        for name, own in zip(names, categories, strict=True)
    ]
    if len(labels) == 1:
        return pd.DataFrame({"proportion": np.asarray(values)}, index=labels[0])
    rows = labels[0] if len(labels) == 2 else pd.MultiIndex.from_product(labels[:-1])
    held = np.asarray(values).reshape(len(rows), len(labels[-1]))
    # A copy: what is done to the frame is not done to the table.
    return pd.DataFrame(held, index=rows, columns=labels[-1], copy=True)


# -- labels ----------------------------------------------------------------------------------


def label_column(categories: tuple[Hashable, ...]) -> pd.Series[Any]:
    """The categories as pandas would hold them; as they are where a missing one is among them."""
    labels = np.fromiter(categories, dtype=object, count=len(categories))
    column: pd.Series[Any] = pd.Series(labels, dtype=object)
    return column if None in categories else column.infer_objects()


def place_of(category: Hashable, categories: Sequence[Hashable], whose: str) -> int:
    """The place of a category; raises where it is none."""
    if category not in categories:
        raise ArgumentValueError(f"{category!r} is not among the categories of {whose}")
    return categories.index(category)


def proportion_rows(labels: Iterable[Hashable], estimates: Any, ends: Any) -> pd.DataFrame:
    """Estimates and the ends of their intervals as `rrstats.plots` draws them."""
    index = pd.Index(list(labels), dtype=object, tupleize_cols=False)
    low, high = ends
    return pd.DataFrame({"estimate": estimates, "low": low, "high": high}, index=index)
