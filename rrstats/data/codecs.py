"""Codecs: reports of one space in containers, how they are read and the form they get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rrstats._typing import Array
from rrstats.data.arrow import arrow_type, category_array
from rrstats.data.builders import ReportLayout, layout_of, numpy_layout, numpy_table, pandas_table
from rrstats.data.categories import Categories, Codes
from rrstats.data.columns import Column, open_column
from rrstats.data.encoders import Reader, reader
from rrstats.data.number_spaces import NumberValues
from rrstats.errors import ArgumentTypeError


@dataclass(frozen=True)
class ReportCodec:
    """Reports of one space in containers: how they are read, and the form they are given.

    This one is of reports that are categories; another space inherits and changes it.

    Parameters
    ----------
    domain : Categories
        The declared categories: labels of the cells of a tally.
    """

    domain: Categories
    is_label = True
    """True where a report is one of the labels, so that their counts sum to n."""

    @property
    def report_bytes(self) -> int:
        """About the bytes of a report in memory, at most."""
        texts = [c for c in self.domain.categories if isinstance(c, str | bytes)]
        sizes = [len(t.encode(errors="replace") if isinstance(t, str) else t) for t in texts]
        return 16 + max(sizes, default=0)

    def rows(self, column: Column) -> Column:
        """Return the column with one row for each report."""
        return column

    def reader(self, like: Any) -> Reader:
        """Return a function from cells of the type of ``like`` to coded reports."""
        return reader(self.domain, like)

    def decode(self, codes: Codes) -> Array:
        """Return coded reports as a channel's ``scores`` and ``likelihood`` take them."""
        return codes

    def layout(self, column: Column, keep_missing: bool) -> ReportLayout:
        """Form of the reports in a container; comes before anything is drawn.

        Parameters
        ----------
        column : Column
            The container; its declarations alone count.
        keep_missing : bool
            Whether reports may be left missing.

        Returns
        -------
        ReportLayout

        Raises
        ------
        ArgumentTypeError
            The container cannot hold such reports.
        """
        categories = self.domain
        if column.family == "list":  # it holds the objects themselves
            table: Any = categories.objects
            return numpy_layout(table, table.dtype, lambda reports, _: reports.tolist())
        holds_missing = keep_missing or categories.missing_code is not None
        try:
            with np.errstate(all="ignore"):
                if column.family == "numpy":
                    table = numpy_table(categories, column.dtype, holds_missing)
                elif column.family == "arrow":
                    table = category_array(categories, column.dtype)
                else:
                    table = pandas_table(categories, column.dtype, holds_missing)
                layout = layout_of(table, column)
                # Whatever a type does to a value (cut, round, wrap), it must come back as itself.
                codes = reader(categories, table)(table).codes
                if np.array_equal(codes, np.arange(categories.k)):
                    return layout
        except (ValueError, TypeError, ArithmeticError, NotImplementedError, KeyError):
            pass
        raise ArgumentTypeError(
            f"categories {categories.describe()} cannot be stored or distinguished as reports "
            f"of answers of type {column.dtype}; convert the answers to another type"
        )


@dataclass(frozen=True)
class NumberCodec(ReportCodec):
    """Reports that are some of the real numbers: doubles in every container."""

    def layout(self, column: Column, keep_missing: bool) -> ReportLayout:
        """Form of the reports, as `ReportCodec.layout`: it never depends on a column's type."""
        table: Any = np.array(self.domain.categories, dtype=np.float64)
        if column.family == "list":
            return super().layout(column, keep_missing)
        if arrow_type(column.dtype) is not None:
            import pyarrow as pa

            table = pa.array(table)
            if column.family == "pandas":
                table = pd.array(table, dtype=pd.ArrowDtype(pa.float64()))
        return layout_of(table, column)


def codec_of(space: Any) -> ReportCodec:
    """Codec of the reports of a space: of `Categories`, or of a space that is its own codec."""
    if isinstance(space, NumberValues):
        return NumberCodec(space)
    codec: ReportCodec = ReportCodec(space) if isinstance(space, Categories) else space
    return codec


def open_reports(values: Any, space: Any) -> tuple[Column, Reader]:
    """Open reports in any container that `privatize` gives back.

    Parameters
    ----------
    values : container
        The reports.
    space : Categories or another report space
        The possible reports.

    Returns
    -------
    column, reader
        The column, and what reads its cells.

    Raises
    ------
    ArgumentTypeError
        The container cannot hold reports of the space.
    """
    codec = codec_of(space)
    column = codec.rows(open_column(values))
    return column, codec.reader(column.cells)
