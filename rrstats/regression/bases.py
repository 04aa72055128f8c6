"""Orthonormal columns that span the covariates, and the coefficients that they stand for.

With them neither units of measurement nor polynomials disturb a fit, and covariates that say the
same twice are found before anything else, by name.
By products of columns where these lose nothing, else by QR over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError

__all__ = ["Basis", "blocks", "by_source", "orthonormal", "source_of"]


BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_WELL = 1e-6
"""Where squared lengths stay above this, products of columns lose no digits that matter."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""


_MOST_NAMED = 12
"""Covariates that an error names."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal columns that span the covariates.

    columns : (rows, p).  back : (p, p), coefficients of the covariates from those of columns.
    """

    columns: Floats
    back: Floats


def orthonormal(matrix: Floats, names: tuple[str, ...], weights: Floats | None = None) -> Basis:
    """Orthonormal columns; raises ArgumentValueError where covariates are collinear.

    weights : (rows,) of which those of 0 must not decide; by default all rows count.
    """
    whole = matrix
    if weights is not None and not weights.all():
        matrix = matrix[weights > 0]
    lengths = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    if not np.isfinite(lengths).all():
        large = [name for name, one in zip(names, lengths, strict=True) if not np.isfinite(one)]
        raise ArgumentValueError(
            f"the covariates {by_source(large)} are too large to square; rescale them"
        )
    if not lengths.all():
        zero = [name for name, length in zip(names, lengths, strict=True) if not length]
        raise ArgumentValueError(
            f"the covariates {by_source(zero)} are 0 in all rows; leave them out"
        )
    gram = np.zeros((len(names), len(names)))
    for part in blocks(len(matrix)):
        gram += matrix[part].T @ matrix[part]
    sizes, directions = np.linalg.eigh(gram / np.outer(lengths, lengths))
    if sizes[0] > _WELL:
        back = directions / np.sqrt(sizes) / lengths[:, None]
    else:
        back = _triangular(matrix, lengths, names)
    return Basis(whole @ back, back)


def _triangular(matrix: Floats, lengths: Floats, names: tuple[str, ...]) -> Floats:
    """The same by QR; raises ArgumentValueError for collinear covariates."""
    parts = [np.linalg.qr(matrix[part], mode="r") for part in blocks(len(matrix))]
    triangle = np.linalg.qr(np.vstack(parts), mode="r") / lengths
    _, sizes, directions = np.linalg.svd(triangle)
    short = np.arange(len(names)) >= (sizes > _COLLINEAR).sum()
    if short.any():
        involved = np.abs(directions[short]).max(axis=0) > 1e-6
        told = [name for name, one in zip(names, involved, strict=True) if one]
        count = int(short.sum())
        raise ArgumentValueError(
            f"the covariates {by_source(told)} are collinear over the {len(matrix)} rows: {count} "
            f"of them follow{'s' * (count == 1)} from the others, so their coefficients cannot be "
            "told apart; leave out as many"
        )
    return np.asarray(np.linalg.inv(triangle) / lengths[:, None])


def blocks(rows: int) -> Iterator[slice]:
    """All rows, in blocks."""
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))


def source_of(name: str) -> str:
    """What a column of a design is made of, without the level, which is a cell of the data."""
    return name.partition("[")[0] or name


def by_source(names: Iterable[str]) -> list[str]:
    """Columns of a design for an error: of factors their name and how many, and not too many."""
    counts: dict[str, int] = {}
    levels = set()
    for name in names:
        source = source_of(name)
        counts[source] = counts.get(source, 0) + 1
        if source != name:
            levels.add(source)
    told = [
        f"{source} ({count} column{'s' * (count > 1)})" if source in levels else source
        for source, count in counts.items()
    ]
    more = len(told) - _MOST_NAMED
    return [*told[:_MOST_NAMED], f"{more} more"] if more > 1 else told
