"""Orthonormal columns that span the covariates, and the coefficients that they stand for.

With them neither units of measurement nor polynomials disturb a fit, and covariates that say the
same twice are found before anything else, by name.
By products of columns where these lose nothing, else by QR over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rrstats.errors import ArgumentValueError

__all__ = ["Basis", "blocks", "orthonormal"]

Floats = NDArray[np.float64]

BLOCK = 16_384
"""Rows worked on at once, so that what is computed of them stays in cache."""

_WELL = 1e-6
"""Where squared lengths stay above this, products of columns lose no digits that matter."""

_COLLINEAR = 1e-9
"""Columns of length 1 have a combination this short: the covariates say the same twice."""


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
        raise ArgumentValueError(f"the covariates {large} are too large to square; rescale them")
    if not lengths.all():
        zero = [name for name, length in zip(names, lengths, strict=True) if not length]
        raise ArgumentValueError(f"the covariates {zero} are 0 in all rows; leave them out")
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
            f"the covariates {told} are collinear over the {len(matrix)} rows: {count} of them "
            f"follow{'s' * (count == 1)} from the others, so their coefficients cannot be told "
            "apart; leave out as many"
        )
    return np.asarray(np.linalg.inv(triangle) / lengths[:, None])


def blocks(rows: int) -> Iterator[slice]:
    """All rows, in blocks."""
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))
