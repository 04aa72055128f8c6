"""The base class of results: each has a table with the estimate first, and a sentence.

A result is a frozen dataclass that holds the counts and computes everything else on demand.  To
write one, subclass `Result` with ``@dataclass(frozen=True, eq=False, repr=False)`` and define

- ``to_frame(level=0.95)``: unrounded numbers; the first ``_n_labels`` columns label the row;
  further options are keywords;
- ``interval(level=0.95)``: a `LabelledInterval`, or an `Interval` for a single number;
- ``interpret(...)``: a sentence;
- ``covariance``, ``n`` and ``effective_n``: properties or fields;
- ``_shown``: the columns of the printed table, the estimate first;
- ``_title`` and ``_header``: the text above the table, the header as (name, value) pairs;
- ``_cautions``: sentences that stand above the table, because its numbers are not valid;
- ``notes``: sentences that a reader of the table must know;
- ``plot(ax=None, ...)``: a call of `rrstats.plots` with a frame.

The base class adds ``__repr__`` and ``_repr_html_``.  `COLUMN_FORMATS`, or the ``_formats``
of the class, formats a column by its name; counts print without decimals if all are whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rrstats._checks import check_instance, quote
from rrstats._display import (
    WIDTH,
    CellFormats,
    FrameTable,
    HeaderLines,
    TextTable,
    as_fragment,
    columns,
    label,
    wrap,
)
from rrstats._names import checked_keywords, did_you_mean
from rrstats._typing import Array, Floats, Indices, Labels
from rrstats.errors import ArgumentValueError
from rrstats.inference.contrasts import Interval

_LONGEST = 30
"""The maximum number of characters of a label in a terminal."""

_COUNT_ROUNDING = 1e-9
"""Rounding error of a computed count that is a whole number."""


IMPLAUSIBLE = (
    "some reports are rarer or commoner than any true proportions explain, so the estimates and "
    "intervals are not valid: check that these answers were privatized by this mechanism, and that "
    "no row was dropped or selected by its report"
)
"""What a caution and a warning say of implausible reports."""


def write_count(number: float) -> str:
    """Format a count or a sum of weights."""
    return f"{number:,.1f}"


COLUMN_FORMATS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("naive", "proportion", "std_error", "low", "high"), "{:.4f}".format),
    **dict.fromkeys(("n", "reported", "count", "count_low", "count_high"), write_count),
    **dict.fromkeys(("effective_n", "total", "total_std_error"), write_count),
    "design_effect": "{:.2f}".format,
    "mean": "{:.4g}".format,
}
"""Formatters of columns by name."""


def formats_of(text: str, *names: str) -> dict[str, Callable[[Any], str]]:
    """The formatters, with another format of some columns."""
    return COLUMN_FORMATS | dict.fromkeys(names, text.format)


@checked_keywords
class Result(FrameTable):
    """Base of all results; the module lists what a subclass defines."""

    _formats: ClassVar[CellFormats] = COLUMN_FORMATS
    # The columns of the printed table, the estimate first.
    _shown: ClassVar[Sequence[str]] = ("proportion", "low", "high", "std_error")

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        checked_keywords(cls)

    @abstractmethod
    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """A tidy frame of unrounded numbers."""

    @abstractmethod
    def interpret(self) -> str:
        """The result in a sentence."""

    @property
    def _n_labels(self) -> int:
        """The number of columns of the frame that label a row."""
        return 1

    @property
    def _leading(self) -> int:
        """The number of columns of the printed table that label a row."""
        return self._n_labels

    @property
    def _title(self) -> str:
        """The kind of result."""
        return type(self).__name__

    @property
    def _header(self) -> HeaderLines:
        """Names and values above the table."""
        return ()

    @property
    def _cautions(self) -> Sequence[str]:
        """Sentences that open the printed result, because its numbers are not valid."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Sentences that a reader of the table must know."""
        return ()

    def _table(self) -> pd.DataFrame:
        """The frame for printing: labels as text, the estimate first, no columns of only NaN."""
        frame = self.to_frame()
        shown = [name for name in self._shown if name in frame and frame[name].notna().any()]
        return pd.concat([frame.iloc[:, : self._n_labels].map(label), frame[shown]], axis=1)

    def _writer(self, column: pd.Series[Any]) -> Callable[[Any], str]:
        """The formatter of a column's cells."""
        writer = self._formats.get(str(column.name), str)
        if writer is not write_count:
            return writer
        is_integer = (column - column.round()).abs() < _COUNT_ROUNDING
        return "{:,.0f}".format if (column.isna() | is_integer).all() else writer

    def _cells(self) -> TextTable:
        """Column heads and rows as text; a long table is cut as pandas cuts it."""
        table = self._table()
        max_rows = pd.get_option("display.max_rows")
        half = max_rows // 2 if max_rows and len(table) > max_rows else 0
        if half:
            table = pd.concat([table.head(half), table.tail(half)])
        labels = [list(table.iloc[:, place]) for place in range(self._n_labels)]
        numbers = (table.iloc[:, place] for place in range(self._n_labels, table.shape[1]))
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
        header = ", ".join(f"{name}={value}" for name, value in self._header)
        cautions = map(wrap, self._cautions)
        return "\n".join(
            [*cautions, f"{self._title}: {header}", body, *map(wrap, [*more, *self.notes])]
        )

    def _repr_html_(self) -> str:
        header = ", ".join(f"{name} {value}" for name, value in self._header)
        lines = [f"{self._title}: {header}", *self.interpret().splitlines(), *self.notes]
        cautions = [("warning", caution) for caution in self._cautions]
        texts = [("text", line) for line in lines if line]
        return as_fragment([*cautions, ("table", self._cells()), *texts])


def _shortened(text: str) -> str:
    """A label, cut where it is too long for a terminal."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@checked_keywords
class LabelledInterval(Interval[Floats], FrameTable):
    """Lower and upper ends of intervals, one for each label; unpacks to ``low, high``.

    Attributes
    ----------
    low, high : ndarray
        The ends.
    labels : sequence of hashables
        The categories of the intervals, in order.
    """

    labels: Sequence[Hashable]

    def __new__(
        cls, low: Floats, high: Floats, labels: Sequence[Hashable] = ()
    ) -> LabelledInterval:
        """Ends with their labels."""
        interval = super().__new__(cls, low, high)  # type: ignore[type-var]  # mypy: generic named tuple
        interval.labels = labels
        return interval

    def to_frame(self) -> pd.DataFrame:
        """Columns category, low and high.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> est.interval(0.9).to_frame().round(3)
          category    low   high
        0       no  0.728  0.830
        1      yes  0.170  0.272
        """
        labels = label_column(tuple(self.labels))
        return pd.DataFrame({"category": labels, "low": self.low, "high": self.high})

    def __repr__(self) -> str:
        rows = [
            [_shortened(label(category)), f"{low:.6g}", f"{high:.6g}"]
            for category, low, high in zip(self.labels, self.low, self.high, strict=True)
        ]
        return columns([["category", "low", "high"], *rows])


def sample_header(target: str, n: int, n_missing: int, *, absent: str = "missing") -> HeaderLines:
    """The target and the rows above a table; absent : what the rows without a report are."""
    rows = [("target", target), ("n", f"{n:,}")]
    if n_missing:
        rows.append((absent, f"{n_missing:,}"))
    return rows


@dataclass(frozen=True, eq=False, repr=False)
class GroupResult(Result):
    """Base of estimates of a number in the true groups; ``_what`` names them, such as "means"."""

    _what: ClassVar[str]

    categories: Labels
    n: int
    n_missing: int
    target: str
    naive: Floats
    names: tuple[Hashable, Hashable]

    @property
    def _title(self) -> str:
        """The kind of result, with the columns of the numbers and of the groups."""
        values, groups = self.names
        of_values = "" if values is None else f" of {label(values)}"
        by_groups = "" if groups is None else f" by {label(groups)}"
        return f"{type(self).__name__}{of_values}{by_groups}"

    @property
    def k(self) -> int:
        """The number of groups."""
        return len(self.categories)

    @property
    def _header(self) -> HeaderLines:
        """The target, and the rows."""
        return sample_header(self.target, self.n, self.n_missing)

    @property
    def _whom(self) -> str:
        """The population or the rows that the estimates are about, in words."""
        return "the population behind these rows" if self.target == "population" else "these rows"

    def _place(self, category: Hashable) -> int:
        """The place of a group, by default the last."""
        return place_or_last(category, self.categories, f"these {self._what}")

    def _framed(
        self,
        axes: Mapping[str, Any],
        of_groups: Mapping[str, Floats],
        estimates: Mapping[str, Floats],
    ) -> pd.DataFrame:
        """A tidy frame of numbers of groups, and of arrays of the shape of ``naive``."""
        shape = self.naive.shape[::-1]
        columns: dict[str, Array] = {
            name: np.broadcast_to(numbers, shape).T
            for name, numbers in {"n": np.asarray(self.n), **of_groups}.items()
        }
        columns["naive"] = self.naive
        columns.update(estimates)
        return long_frame(tuple(axes), tuple(axes.values()), columns)

    def _size_notes(self, groups: Indices, effective_n: Floats) -> list[str]:
        """A sentence about groups whose size may be 0, if there are any.

        groups : their places.
        """
        if not groups.size:
            return []
        names = ", ".join(label(self.categories[place]) for place in groups[:5])
        if len(groups) > 5:
            names += ", ..."
        return [
            f"the {self._what} of {len(groups)} of {self.k} groups "
            f"({names}) cannot be estimated, because the size of each "
            f"may be 0 (effective sample size at most {effective_n[groups].max(initial=0):.1f}); "
            "merge groups, or ask more people"
        ]


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedProportions(Result):
    """Proportions constrained to lie in [0, 1] and to sum to 1, for display.

    They have no variance and no interval, on purpose: the constraint makes them biased (the largest
    shrink), and a standard error would not show that.  For inference use the result that they were
    computed from.

    Attributes
    ----------
    categories : tuple of k hashables
        For a table of several columns, a tuple of categories for each column.
    proportions : ndarray of shape (k,) or (k1, ..., kd)
    n : int
        The number of reports.
    method : str
        The method that constrained them.
    names : tuple of hashables
        The columns of a table.
    """

    _shown = ("proportion", "count")

    categories: tuple[Any, ...]
    proportions: Floats
    n: int
    method: str
    names: Labels = ()

    @property
    def _axes(self) -> tuple[Labels, tuple[Labels, ...]]:
        """Names and categories of each axis."""
        if self.names:
            return self.names, self.categories
        return ("category",), (self.categories,)

    @property
    def _n_labels(self) -> int:
        """One column of labels for each axis."""
        return len(self._axes[0])

    @property
    def _header(self) -> HeaderLines:
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
            Not used: there are no intervals.

        Returns
        -------
        DataFrame
            The labels, proportion and count.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 80 + ["yes"] * 20, ["no", "yes"], 0.75)
        >>> likely = est.mle()
        >>> list(likely.to_frame().columns)
        ['category', 'proportion', 'count']
        """
        return long_frame(*self._axes, {"proportion": self.proportions, "count": self.counts})

    def table(self) -> pd.DataFrame:
        """The proportions with the last column's categories side by side.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "yes"] * 50, "g": ["x"] * 60 + ["y"] * 40})
        >>> table = rr.crosstab(frame, "a", "g", mechanisms={"a": rr.KRR(["no", "yes"], 0.75)})
        >>> table.mle().table().round(2).to_numpy().tolist()
        [[0.3, 0.2], [0.3, 0.2]]
        """
        return wide_frame(*self._axes, self.proportions)

    def interpret(self) -> str:
        """The largest proportion in a sentence.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 80 + ["yes"] * 20, ["no", "yes"], 0.75)
        >>> likely = est.mle()
        >>> print(likely.interpret())
        the largest of 2 proportions by maximum likelihood is 100.0% no; it has no interval
        """
        place = np.unravel_index(int(np.argmax(self.proportions)), self.proportions.shape)
        _, categories = self._axes
        largest = [label(labels[code]) for labels, code in zip(categories, place, strict=True)]
        return (
            f"the largest of {self.proportions.size} proportions by {self.method} is "
            f"{self.proportions[place]:z.1%} {', '.join(largest)}; it has no interval"
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("variance", "std_error", "covariance", "interval"):
                raise AttributeError(
                    f"constrained proportions have no {name}, because the constraint makes them "
                    "biased; use the estimate that they were computed from"
                )
            return super().__getattr__(name)


# -- frames of several columns -----------------------------------------------------------------


def long_frame(
    names: Sequence[Hashable],
    categories: Sequence[Labels],
    numbers: Mapping[str, Array],
) -> pd.DataFrame:
    """One row for each cell: the categories of each axis, then the numbers of the cells.

    If an axis has the name of a number, "_group" is appended to its name.
    """
    shape = tuple(map(len, categories))
    codes = np.indices(shape).reshape(len(shape), -1)
    columns: list[Any] = [
        label_column(labels).take(axis_codes).reset_index(drop=True)
        for labels, axis_codes in zip(categories, codes, strict=True)
    ]
    columns += [pd.Series(np.asarray(values).ravel()) for values in numbers.values()]
    taken = {*names, *numbers}
    axes = [_free_name(name, taken) if name in numbers else name for name in names]
    frame: pd.DataFrame = pd.concat(columns, axis=1)
    frame.columns = pd.Index([*axes, *numbers], dtype=object, tupleize_cols=False)
    return frame


def _free_name(name: Hashable, taken: Collection[Hashable]) -> str:
    """A name of a column of groups that no other column has."""
    free = f"{name}_group"
    return _free_name(free, taken) if free in taken else free


def wide_frame(
    names: Sequence[Hashable],
    categories: Sequence[Labels],
    values: Array,
    *,
    text: bool = False,
) -> pd.DataFrame:
    """The last axis as columns, the others as rows; a single axis gives one column.

    text : whether categories are converted to text.
    """
    labels = [
        pd.Index(list(map(label, axis)) if text else label_column(axis), name=name)
        for name, axis in zip(names, categories, strict=True)
    ]
    if len(labels) == 1:
        return pd.DataFrame({"proportion": np.asarray(values)}, index=labels[0])
    rows = labels[0] if len(labels) == 2 else pd.MultiIndex.from_product(labels[:-1])
    cells = np.asarray(values).reshape(len(rows), len(labels[-1]))
    # A copy, so that changes to the frame do not change the table.
    return pd.DataFrame(cells, index=rows, columns=labels[-1], copy=True)


# -- labels ----------------------------------------------------------------------------------


def label_column(categories: Labels) -> pd.Series[Any]:
    """The categories with the dtype that pandas infers; object if one is missing."""
    labels = np.fromiter(categories, dtype=object, count=len(categories))
    column: pd.Series[Any] = pd.Series(labels, dtype=object)
    if None in categories:
        return column
    try:
        return column.infer_objects()
    except UnicodeEncodeError:  # half a surrogate pair is no text of Arrow, which pandas 3 takes
        return column


def place_of(category: Hashable, categories: Sequence[Hashable], whose: str) -> int:
    """The index of a category; raises if it is unknown."""
    check_instance(category, "a category", Hashable, "a label")
    if category not in categories:
        raise ArgumentValueError(
            f"{quote(category)} is not among the categories of {whose}"
            f"{did_you_mean(category, categories)}"
        )
    return categories.index(category)


def place_or_last(category: Hashable, categories: Sequence[Hashable], whose: str) -> int:
    """The index of a category, by default the last; raises if it is unknown."""
    return len(categories) - 1 if category is ... else place_of(category, categories, whose)


def titled(name: Hashable, text: str) -> str:
    """The title of a picture: ``column: text``, or the text where the column has no name."""
    return text if name is None else f"{label(name)}: {text}"


def proportion_rows(
    labels: Iterable[Hashable], estimates: ArrayLike, ends: tuple[ArrayLike, ArrayLike]
) -> pd.DataFrame:
    """Estimates and the ends of their intervals, in the format of `rrstats.plots`."""
    index = pd.Index(list(labels), dtype=object, tupleize_cols=False)
    low, high = (np.asarray(end) for end in ends)  # a Series would be aligned by its own index
    columns = {"estimate": np.asarray(estimates), "low": low, "high": high}
    return pd.DataFrame(columns, index=index)
