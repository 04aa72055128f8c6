"""The maximum of a mixture's likelihood: standard units, fixed starts, and what is known there.

Columns are made orthonormal and the outcome is freed of what ordinary columns explain, so that no
unit of measurement matters.  Five starts: effects of the unseen class as a regression on its
expected value gives them, none, the opposite, and both ways so large that classes lie far apart.
More than one maximum is common where errors are skewed; there may be further ones.
What the data leave open (a class that nobody is in, a share that runs to 0) shows as a direction
without information, and is marked.
Source of the first start: regression calibration (Carroll et al. 2006, chapter 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentValueError
from rrstats.regression.design_matrix import by_source, orthonormal
from rrstats.regression.mixtures import NO_ERROR, Climb, Mixture, NormalOutcome, climb

__all__ = ["VCOVS", "Fitted", "fitted"]


VCOVS = ("observed", "opg", "robust")
"""Kinds of covariance: of the inverse Hessian, of the outer products, and of both."""

_FIRST_LOOK = 10_000
"""About so many rows are enough to compare starts."""

_NO_INFORMATION = 1e-6
"""Of a direction in standard units; the standard error would be 1000."""

_FADED = 1e-5
"""Of the largest information: less is none where a direction has none already."""

_RUN_OFF = 6.0
"""A coefficient without information beyond this, in standard units, is on its way to infinity."""

_COLLINEAR = 1e-9
"""Columns of length 1 with a combination this short say the same twice."""

_APART = 2.5
"""How far apart in deviations of the outcome the last starts put the classes."""

_NARROW = -0.5
"""The logarithm of the errors' deviation there."""

_SAME = 1e-6
"""Log-likelihoods per person that differ by less are one maximum."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted mixture.

    mixture : in the units of the user.  theta : (p,) its parameters there, finite.
    estimates : (p,) the same, infinite or NaN where the data say nothing.
    covariance : (p, p) of theta, NaN there.  lost : (p,) where that is.
    log_likelihood : at the maximum.  others : log-likelihoods of other maxima, descending.
    known : (b,) the variances of the outcome's coefficients if all classes were known.
    bread : (p, p) the inverse information, NaN where there is none.
    """

    mixture: Mixture
    theta: Floats
    estimates: Floats
    covariance: Floats
    lost: NDArray[np.bool_]
    log_likelihood: float
    others: tuple[float, ...]
    converged: bool
    iterations: int
    known: Floats
    bread: Floats


def fitted(
    mixture: Mixture,
    names: Sequence[str],
    share_names: Sequence[str],
    vcov: str,
    clusters: NDArray[np.intp] | None = None,
) -> Fitted:
    """Maximize the likelihood.

    names : of the outcome's columns.  share_names : of the columns of the model of the class.
    clusters : (rows,) codes of the clusters that people belong to.
    Raises ArgumentValueError for collinear columns and an outcome that has no error.
    """
    check_columns(mixture.same, mixture.varying, names, mixture.size)
    standard, back, base, added = _standard(mixture, tuple(names), tuple(share_names))
    ends = _ends(standard)
    best = ends[0]
    if standard.outcome.own and standard.split(best.theta)[1][0] < NO_ERROR:
        raise ArgumentValueError(
            "the outcome is a linear function of its covariates without any error, so that there "
            "is no likelihood to maximize; leave out what determines it"
        )
    theta = base + back @ best.theta
    values, vectors = np.linalg.eigh(-best.sums.hessian)
    flat = values < _NO_INFORMATION
    if flat.any():  # the climb ended on its way to the edge, where other directions fade, too
        flat = values < max(_NO_INFORMATION, _FADED * float(values[-1]))
    bread = (vectors[:, ~flat] / values[~flat]) @ vectors[:, ~flat].T
    covariance = back @ _covariance(standard, best.theta, bread, vcov, clusters) @ back.T
    lost = _lost(back @ vectors[:, flat], _units(mixture))
    inverse = back @ bread @ back.T
    covariance[lost] = covariance[:, lost] = inverse[lost] = inverse[:, lost] = np.nan
    moments = np.linalg.pinv(standard.known(best.theta), hermitian=True)
    b = mixture.columns
    inner = back[:b, :b]
    return Fitted(
        mixture,
        theta,
        _marked(mixture, theta, lost),
        covariance,
        lost,
        best.sums.log_likelihood + added,
        tuple(end.sums.log_likelihood + added for end in ends[1:]),
        best.converged,
        best.iterations,
        np.einsum("ij,jk,ik->i", inner, moments[:b, :b], inner),
        inverse,
    )


def check_columns(same: Floats, varying: Floats, names: Sequence[str], parameters: int) -> None:
    """Raise for columns that follow from others over all rows and profiles, and for few rows."""
    if not names:
        raise ArgumentValueError("there is nothing to fit: no covariate and no intercept")
    parts = [np.linalg.qr(np.hstack([same, part]), mode="r") for part in varying]
    triangle = np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))
    lengths = np.sqrt((triangle**2).sum(axis=0))
    _, sizes, directions = np.linalg.svd(triangle / np.where(lengths > 0, lengths, 1.0))
    short = directions[np.arange(len(names)) >= (sizes > _COLLINEAR).sum()]
    if len(short):
        involved = np.abs(short).max(axis=0) > 1e-6
        told = [name for name, one in zip(names, involved, strict=True) if one]
        raise ArgumentValueError(
            f"the columns {by_source(told)} are collinear, or 0, over the {len(same)} rows and all "
            f"true categories: leave out {len(short)} of them"
        )
    if len(same) <= max(parameters, len(names)):
        raise ArgumentValueError(
            f"{len(same)} rows cannot tell {max(parameters, len(names))} parameters apart; leave "
            "covariates out"
        )


def _standard(
    mixture: Mixture, names: tuple[str, ...], share_names: tuple[str, ...]
) -> tuple[Mixture, Floats, Floats, float]:
    """The mixture in standard units; its parameters are base + back @ those of the new one.

    Also what the new log-likelihood lacks.
    """
    rows = mixture.rows
    everyone = np.ones(rows) if mixture.weights is None else mixture.weights
    root = np.sqrt(rows)
    parts, same = [], mixture.same
    if same.shape[1]:
        basis = orthonormal(same, names[: same.shape[1]])
        same = basis.columns * root
        parts.append(basis.back * root)
    lengths = np.sqrt((mixture.varying**2).mean(axis=(0, 1)))
    parts.append(np.diag(1 / lengths))
    shares = orthonormal(mixture.shares, share_names)
    base, added, outcome = np.zeros(mixture.size), 0.0, mixture.outcome
    b = mixture.columns
    if isinstance(outcome, NormalOutcome):
        heavy = np.sqrt(everyone)
        first = np.linalg.lstsq(same * heavy[:, None], outcome.y * heavy, rcond=None)[0]
        left = outcome.y - same @ first
        scale = float(np.sqrt((left**2 * everyone).sum() / everyone.sum())) or 1.0
        outcome = NormalOutcome(left / scale)
        if same.shape[1]:
            base[: same.shape[1]] = parts[0] @ first
        parts = [part * scale for part in parts]
        base[b], added = np.log(scale), -float(everyone.sum()) * np.log(scale)
        parts.append(np.ones((1, 1)))
    parts += [shares.back * root] * (mixture.classes - 1)
    back = np.zeros((mixture.size, mixture.size))
    place = 0
    for part in parts:
        back[place : place + len(part), place : place + len(part)] = part
        place += len(part)
    varying = mixture.varying / lengths
    if not mixture.varying.strides[1]:  # alike in all rows: keep it small
        varying = np.broadcast_to(mixture.varying[:, :1] / lengths, mixture.varying.shape)
    standard = replace(
        mixture, outcome=outcome, same=same, varying=varying, shares=shares.columns * root
    )
    return standard, back, base, added


def _ends(standard: Mixture) -> list[Climb]:
    """Maxima, the highest first, from all starts."""
    stride = max(standard.rows // _FIRST_LOOK, 1)
    small = standard.every(stride)
    ends = _apart([climb(small, start) for start in _starts(small)], small.rows)
    if stride == 1:
        return ends
    best = ends[0].sums.log_likelihood
    near = [end for end in ends if end.sums.log_likelihood > best - 20]
    return _apart([climb(standard, end.theta) for end in near], standard.rows)


def _apart(ends: list[Climb], rows: int) -> list[Climb]:
    """Maxima that differ, the highest first."""
    ends = sorted(ends, key=lambda end: -end.sums.log_likelihood)
    kept = ends[:1]
    for end in ends[1:]:
        if kept[-1].sums.log_likelihood - end.sums.log_likelihood > _SAME * rows:
            kept.append(end)
    return kept


def _starts(mixture: Mixture) -> list[Floats]:
    """Effects of the class by its expected value, none, the opposite, and large ones."""
    start = np.zeros(mixture.size)
    if mixture.classes == 1:
        return [start]
    alone = mixture.alone()
    gamma = np.clip(climb(alone, np.zeros(alone.size), steps=20).theta, -4.0, 4.0)
    after = alone.posterior(gamma)
    expected = np.einsum("rc,crv->rv", after, mixture.varying)
    single = replace(
        mixture,
        given=np.ones((mixture.rows, 1)),
        same=np.hstack([mixture.same, expected]),
        varying=np.empty((1, mixture.rows, 0)),
        shares=np.empty((mixture.rows, 0)),
    )
    outcome = np.clip(climb(single, np.zeros(single.size), steps=30).theta, -8.0, 8.0)
    start = np.concatenate([outcome, gamma])
    cut, effects = mixture.same.shape[1], slice(mixture.same.shape[1], mixture.columns)
    # The ordinary columns take over what the class no longer explains.
    moved = np.linalg.lstsq(mixture.same, expected @ start[effects], rcond=None)[0]
    spread = float(np.abs(mixture.varying @ start[effects]).max(initial=0.0))
    apart = _APART / spread if spread > 0 else 1.0
    found = []
    for factor in (1.0, 0.0, -1.0, apart, -apart):
        other = start.copy()
        other[effects] *= factor
        if abs(factor) != apart:
            other[:cut] += (1 - factor) * moved
        else:  # the first class is the bulk, and the others are its tail
            other[mixture.columns : mixture.columns + mixture.outcome.own] = _NARROW
        found.append(other)
    return found


def _covariance(
    mixture: Mixture, theta: Floats, bread: Floats, vcov: str, clusters: NDArray[np.intp] | None
) -> Floats:
    """(p, p) of one kind; clustered ones with the factor of CR1, G/(G-1) (n-1)/(n-p)."""
    if vcov == "observed" and clusters is None:
        return bread
    meat = np.zeros_like(bread)
    total = None if clusters is None else np.zeros((int(clusters.max()) + 1, len(theta)))
    for rows, scores in mixture.scores(theta):
        if vcov == "opg":
            weight: Any = 1.0 if mixture.weights is None else mixture.weights[rows, None]
            meat += scores.T @ (weight * scores)
            continue
        heavy = scores if mixture.weights is None else scores * mixture.weights[rows, None]
        if total is None or clusters is None:
            meat += heavy.T @ heavy
        else:
            np.add.at(total, clusters[rows], heavy)
    if vcov == "opg":
        return np.asarray(np.linalg.pinv(meat, rcond=1e-12, hermitian=True))
    if total is not None:
        n, p = mixture.rows, mixture.size
        meat = total.T @ total * (len(total) / (len(total) - 1) * (n - 1) / (n - p))
    return np.asarray(bread @ meat @ bread)


def _units(mixture: Mixture) -> Floats:
    """(p,) how much a unit of each parameter moves a predictor."""
    columns = np.concatenate(
        [(mixture.same**2).mean(axis=0), (mixture.varying**2).mean(axis=(0, 1))]
    )
    shares = np.tile((mixture.shares**2).mean(axis=0), mixture.classes - 1)
    return np.asarray(np.sqrt(np.concatenate([columns, np.ones(mixture.outcome.own), shares])))


def _lost(directions: Floats, units: Floats) -> NDArray[np.bool_]:
    """(p,) the parameters that directions without information move."""
    if not directions.shape[1]:
        return np.zeros(len(units), dtype=np.bool_)
    moved = np.abs(directions * units[:, None])
    return np.asarray((moved > 1e-3 * moved.max(axis=0)).any(axis=1))


def _marked(mixture: Mixture, theta: Floats, lost: NDArray[np.bool_]) -> Floats:
    """Parameters, infinite where they run off and NaN where nothing is known of them."""
    far = np.abs(theta * _units(mixture)) > _RUN_OFF
    if mixture.outcome.own:
        far[: mixture.columns] = False
    return np.where(lost, np.where(far, np.copysign(np.inf, theta), np.nan), theta)
