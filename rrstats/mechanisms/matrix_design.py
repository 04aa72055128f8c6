"""Designs given by any transition matrix.

A respondent whose true answer is the category of a column gives the report of a row with the
probability ``matrix[report, truth]``; columns sum to 1.  There may be more or fewer reports than
categories, and more latent classes than categories.
Epsilon is the logarithm of the largest ratio within a row; it is infinite if a report rules out an
answer.  For survey designs by name see `surveys`; for many categories the structured mechanisms
are faster.
Source: van den Hout and van der Heijden (2002); sampling is exact, see `randomness.samplers.cells`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_instance, check_rows, quote, quote_list
from rrstats._names import checked_keywords
from rrstats._typing import Array, CategoriesLike, JsonObject, Labels
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentTypeError, ArgumentValueError, MetadataError
from rrstats.mechanisms.base import Mechanism, check_codes, warn_if_uninformative
from rrstats.mechanisms.channel import Entries, Number, normalized, numbers, recode_matrix
from rrstats.mechanisms.matrix_channel import MatrixChannel
from rrstats.mechanisms.samples import shown_codes
from rrstats.randomness.samplers import TableSampler
from rrstats.randomness.sources import Source

_NAME = "matrix[report, truth]"

_INVERSE_TOLERANCE = 1e-9
"""Tolerance of inverse @ matrix: that of the sums of columns."""

_FRACTION = re.compile(r"-?[0-9]{1,4000}/(?!0+$)[0-9]{1,4000}")

Rows = tuple[tuple[Number, ...], ...]


@checked_keywords
@dataclass(frozen=True, init=False, repr=False)
class MatrixDesign(Mechanism):
    """A design given by the user's transition matrix.

    It is immutable and hashable; two are equal if their labels and numbers are.

    Parameters
    ----------
    categories : sequence of hashables
        The true answers (columns), in their order.
    matrix : sequence of m rows, array or DataFrame
        ``matrix[report, truth]``, one number for each category.  Every column must sum to 1
        within 1e-9 and is then normalized exactly.  A DataFrame has the categories as columns and
        the reports as index, in any order.  Fractions stay exact.
    reports : sequence of m hashables, optional
        The labels of the rows; by default the index of a DataFrame, the categories if m == k,
        otherwise 0 .. m-1.
    shows : mapping or list, optional
        For a design with latent classes, the category of each class.  ``categories`` are then the
        classes, which `privatize` takes, and ``m.categories`` are the categories.
    inverse : sequence of k rows of m numbers, optional
        The design's own left inverse of the matrix; it is checked.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        The message gives the broken rule.

    Warns
    -----
    LowPrecisionWarning
        For a singular matrix, such as one with equal columns; an estimate then raises
        NotIdentifiableError.

    References
    ----------
    van den Hout and van der Heijden (2002).

    Examples
    --------
    >>> m = MatrixDesign(["no", "yes"], [[0.8, 0.1], [0.1, 0.6], [0.1, 0.3]],
    ...                  reports=["no", "yes", "refused"])
    >>> m.epsilon
    2.079441541679836
    >>> import rrstats as rr
    >>> rr.estimate(["no"] * 60 + ["yes"] * 25 + ["refused"] * 15, m).proportions.round(3)
    array([0.713, 0.287])
    """

    domain: Categories
    matrix: Rows
    reports: Categories
    shown: Categories
    codes_shown: tuple[int, ...]
    inverse: Rows | None

    def __init__(
        self,
        categories: CategoriesLike,
        matrix: Any,
        *,
        reports: Any = None,
        shows: Mapping[Hashable, Hashable] | None = None,
        inverse: Any = None,
    ) -> None:
        domain = Categories(categories)
        if isinstance(matrix, pd.DataFrame):
            matrix, reports = _aligned(matrix, domain, reports)
        rows = _rows(matrix, _NAME)
        _check_matrix(rows, domain)
        shown, codes = shown_codes(domain, shows)
        vars(self).update(
            domain=domain,
            matrix=rows,
            reports=_report_space(domain, len(rows), reports),
            shown=shown,
            codes_shown=codes,
            inverse=None if inverse is None else _rows(inverse, "inverse[category, report]"),
        )
        if inverse is not None:
            _check_inverse(self.channel)
        warn_if_uninformative(self.channel)

    @property
    def categories(self) -> Labels:
        """The categories to estimate, in their order; latent classes are merged into them."""
        return self.shown.labels

    @property
    def report_space(self) -> Categories:
        """The reports, which are the rows of the matrix."""
        return self.reports

    @cached_property
    def channel(self) -> MatrixChannel:
        """The matrix, with columns that sum to 1 exactly."""
        columns = [
            normalized(column, f"{_NAME} has rows for reports; the column of category {truth!r}")
            for truth, column in zip(
                self.domain.categories, zip(*self.matrix, strict=True), strict=True
            )
        ]
        inverse = None if self.inverse is None else _exact(self.inverse)
        return MatrixChannel(tuple(zip(*columns, strict=True)), inverse, self.codes_shown)

    @cached_property
    def _sampler(self) -> TableSampler:
        return TableSampler(self.channel.entries, self.report_space.dtype)

    def randomize(self, codes: Array, source: Source, block: int = 0) -> Array:
        """Randomize one block of true codes into codes of the reports' type.

        Parameters
        ----------
        codes : array of shape (rows,)
            The dtype is ``domain.dtype``; words are drawn independently of the codes.
        source, block
            As for `Mechanism.randomize`.

        Returns
        -------
        array of shape (rows,)
        """
        check_codes(codes, self.domain)
        return self._sampler.draw(codes, source, block)

    def showing(self, shows: Mapping[Any, Hashable] | None) -> MatrixDesign:
        """Return the same design with other categories for its classes.

        Parameters
        ----------
        shows : mapping from class to category, or None
            None makes each class a category.

        Returns
        -------
        MatrixDesign
        """
        return MatrixDesign(
            self.domain.declared,
            self.matrix,
            reports=self.report_space.declared,
            shows=shows,
            # The design's own scores stay if it estimates the classes.
            inverse=self.inverse if shows is None and self.shown == self.domain else None,
        )

    @property
    def _arguments(self) -> JsonObject:
        """The arguments that differ from their defaults."""
        arguments: JsonObject = {"categories": self.domain, "matrix": self.matrix}
        if self.reports != _report_space(self.domain, len(self.matrix), None):
            arguments["reports"] = self.reports
        if self.shown != self.domain:
            arguments["shows"] = [self.shown.categories[code] for code in self.codes_shown]
        if self.inverse is not None:
            arguments["inverse"] = self.inverse
        return arguments


def _exact(rows: Rows) -> Entries:
    return tuple(tuple(Fraction(number) for number in row) for row in rows)


def _check_inverse(channel: MatrixChannel) -> None:
    """Raise unless the design's own inverse is a left inverse up to rounding."""
    fits = [len(row) for row in channel.inverse or ()] == [channel.m] * channel.k
    product = channel.left_inverse @ channel.matrix if fits else 0.0
    if not np.allclose(product, recode_matrix(channel), rtol=0, atol=_INVERSE_TOLERANCE):
        raise ArgumentValueError(
            f"inverse must have {channel.k} rows (categories) of {channel.m} numbers (reports); "
            "inverse @ matrix must be 1 where a class belongs to a category and 0 elsewhere"
        )


def _rows(matrix: Any, name: str) -> Rows:
    rows = check_instance(matrix, name, Iterable, "rows of numbers or a DataFrame")
    return tuple(numbers(row, name) for row in rows)


def _check_matrix(rows: Rows, domain: Categories) -> None:
    """Raise unless the matrix has a column of probabilities for each true answer."""
    lengths = sorted({len(row) for row in rows})
    if len(rows) < 2 or lengths != [domain.k]:
        raise ArgumentValueError(
            f"{_NAME} must have at least 2 rows (reports) and a column for each of the {domain.k} "
            f"categories {domain.describe()}, found {len(rows)} rows of {quote_list(lengths)}"
        )
    for truth, column in zip(domain.categories, zip(*rows, strict=True), strict=True):
        if not all(0 <= entry <= 2 for entry in column):
            raise ArgumentValueError(
                f"{_NAME} must be probabilities; those of the category {truth!r} are not"
            )


def labels_of(value: Any, name: str) -> Categories:
    """The labels in an argument called ``name``; their order has a meaning.

    Raises ArgumentTypeError for a set, which has no order, and the errors of `Categories`.
    """
    if isinstance(value, set | frozenset):
        raise ArgumentTypeError(
            f"{name} must be a list, because the order of the labels has a meaning; found "
            f"{type(value).__name__}"
        )
    try:
        return Categories(value)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(str(error).replace("categories", name, 1)) from None


def _report_space(domain: Categories, m: int, reports: Any) -> Categories:
    if reports is None:
        return domain if m == domain.k else Categories(range(m))
    space = labels_of(reports, "reports")
    check_rows(space.k, m, "reports", "label", each="rows of the matrix")
    return space


def _places(labels: Any, expected: Categories, name: str, rule: str) -> list[int]:
    """The place of each expected label among ``labels``; raises unless the sets are equal."""
    space = labels_of(labels, name)
    extra = [label for label in space.categories if expected.code(label) >= expected.k]
    absent = [label for label in expected.categories if space.code(label) >= space.k]
    if extra or absent:
        raise ArgumentValueError(
            f"{name} must be {rule}: missing {quote_list(absent)}, not expected "
            f"{quote_list(extra)} (1 and '1' differ; rows are reports, columns true answers)"
        )
    return [space.code(label) for label in expected.categories]


def _aligned(frame: pd.DataFrame, domain: Categories, reports: Any) -> tuple[Any, Any]:
    """The numbers of a labelled matrix in the order of the labels, and the reports."""
    columns = _places(frame.columns, domain, "the columns of matrix", "the categories")
    if reports is not None:
        space = labels_of(reports, "reports")
    else:
        space = labels_of(frame.index, "the index of matrix")
        if sorted(map(domain.code, space.categories)) == list(range(domain.k)):
            space = domain
    rows = _places(frame.index, space, "the index of matrix", "the reports")
    values = frame.to_numpy(dtype=object)
    return values[np.ix_(rows, columns)].tolist(), space.categories


# -- numbers in documents -----------------------------------------------------------------------


def from_json(value: Any) -> Any:
    """The numbers of a JSON document; raises MetadataError for a string that is no fraction."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if isinstance(value, dict):
        return {name: from_json(part) for name, part in value.items()}
    if not isinstance(value, str):
        return value
    if _FRACTION.fullmatch(value):
        return Fraction(value)
    raise MetadataError(
        f'a number in a document must be a number or a text such as "1/6", found {quote(value)}'
    )
