"""Columns of the model of the true categories: all that is ordinary in the outcome's model.

P(x | z) must hold each column of z that the outcome goes with: without one of them the effects of x
and z are biased.  In ``x + x:z`` no column is z alone, but that of a profile is; so the columns of
all profiles are looked through, and those that follow from others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rrstats._typing import Floats
from rrstats.regression.bases import source_of

__all__ = ["ShareColumns", "share_columns"]


_FOLLOWS = 1e-7
"""A column of length 1 of which the others leave less says nothing new."""


@dataclass(frozen=True)
class ShareColumns:
    """Which columns explain the shares of the true categories.

    names : of the columns.  ones : whether a column of ones comes first.
    ordinary : whether those follow that are alike for all profiles.
    picked : further ones, as pairs of a profile and the place among the columns that vary.
    """

    names: tuple[str, ...]
    ones: bool
    ordinary: bool
    picked: tuple[tuple[int, int], ...] = ()

    def of(self, same: Floats, varying: Floats) -> Floats:
        """(rows, g) the columns, from (rows, s) and (profiles, rows, v)."""
        parts = [np.ones((len(same), 1))] if self.ones else []
        parts += [same] if self.ordinary else []
        parts += [varying[profile, :, [place]].T for profile, place in self.picked]
        return np.hstack(parts)


def share_columns(
    same: Floats,
    varying: Floats,
    names: Sequence[str],
    unseen: Sequence[Any],
    covariate_model: str,
) -> ShareColumns:
    """The columns: ones, and for "logistic" all that the ordinary covariates make.

    same : (rows, s) columns that are alike for all profiles.  varying : (profiles, rows, v) others.
    names : of all s + v.  unseen : the names of the privatized covariates.
    """
    if covariate_model == "constant":
        return ShareColumns(("Intercept",), True, False)
    rows, s = same.shape
    one = np.ones((rows, 1))
    explained = same @ np.linalg.lstsq(same, one, rcond=None)[0] if s else np.zeros((rows, 1))
    needed = bool(np.abs(explained - 1).max() >= 1e-8)
    told = (["Intercept"] if needed else []) + list(names[:s])
    picked = []
    if rows > 1 and varying.strides[1]:  # else they are alike in all rows
        basis = np.linalg.qr(np.hstack([one, same]) if needed else same)[0]
        for place in range(varying.shape[2]):
            for profile in range(len(varying)):
                column = varying[profile, :, place]
                rest = column - basis @ (basis.T @ column)
                rest -= basis @ (basis.T @ rest)  # twice is enough
                length = float(np.linalg.norm(rest))
                if length > _FOLLOWS * float(np.linalg.norm(column)):
                    basis = np.column_stack([basis, rest / length])
                    picked.append((profile, place))
                    told.append(_name(names[s + place], unseen, told))
    return ShareColumns(tuple(told), needed, True, tuple(picked))


def _name(name: str, unseen: Sequence[Any], taken: Sequence[str]) -> str:
    """What a column is called where the privatized covariates are known: its other factors."""
    private = {str(one) for one in unseen}
    kept = []
    for part in name.split(":"):
        source = source_of(part)
        if source not in private and private.isdisjoint(re.findall(r"\w+", source)):  # C(x)
            kept.append(part)
    rest = ":".join(kept) or name
    found, turn = rest, 1
    while found in taken:
        turn += 1
        found = f"{rest} ({turn})"
    return found
