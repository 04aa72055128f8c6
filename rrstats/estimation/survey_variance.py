"""How a weighted sum of scores varies over samples: strata, clusters, finite populations.

Variances come from the spread of the clusters' sums within strata, as if clusters had been drawn
with replacement.  A finite population, or known probabilities, take something off the sampling, and
off nothing else: coins are thrown for everybody.  With f the share of a stratum's clusters that
are in the sample,

    variance = (1 - f) * (variance between clusters) + f * (variance of the randomization)

Where probabilities differ, a cluster that was sure to be in the sample counts nothing in the first
part, and others 1 - probability.  Strata with one cluster have no such variance: see `LONELY`.
Sources: Arnab (1994); Deville (1999) for unequal probabilities; Binder (1983) for ratios.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.tally import Tally

__all__ = [
    "LONELY",
    "Form",
    "SampleCells",
    "chances_missed",
    "degrees_of_freedom",
    "plain_form",
    "read_cells",
    "sampled_shares",
    "variance_form",
]


LONELY = ("raise", "adjust", "certainty")
"""Strata with one cluster: refused, centred at the grand mean, or sure to be in the sample."""

_ALIKE = 1e-9
"""Relative difference up to which probabilities are the same but for rounding."""


@dataclass(frozen=True)
class SampleCells:
    """The c cells of a tally as arrays.

    keys : (stratum, cluster) of each.  labels : of the strata.
    strata : (c,) the number of each cell's stratum.
    alone : (c,) whether every row is a cluster by itself.
    rows, others, inverse, inverse2 : (c,) as in a tally's `Cell`.
    reported, first, second : (c, m) counts, sums of w and of w^2 by report cell.
    table : (m, k) the score of each report cell, and of which category it is one: ``speaks``.
    split : whether reports name several categories.  Then each category has two report cells of
        its own, named and not named; what is known of two categories together is not there.
    """

    keys: list[tuple[Hashable, Hashable]]
    labels: list[Hashable]
    strata: NDArray[np.intp]
    alone: NDArray[np.bool_]
    rows: Floats
    others: Floats
    inverse: Floats
    inverse2: Floats
    reported: Floats
    first: Floats
    second: Floats
    table: Floats
    speaks: Floats
    split: bool

    @property
    def units(self) -> Floats:
        """(c,) clusters in the sample, also those that have no report here."""
        present = self.rows + self.others
        return np.where(self.alone, present, np.minimum(present, 1.0))

    def by_stratum(self, values: Floats) -> Floats:
        """(strata, ...) sums of what each cell has."""
        found = np.zeros((len(self.labels), *values.shape[1:]))
        np.add.at(found, self.strata, values)
        return found


def read_cells(tally: Tally, weights: Mapping[Hashable, float] | None = None) -> SampleCells:
    """The cells of a tally, with all weights multiplied by those of the strata."""
    channel = tally.mechanism.channel
    kept = {key: cell for key, cell in tally.cells.items() if cell.rows or cell.others}
    labels = list(dict.fromkeys(stratum for stratum, _ in kept))
    number = {label: place for place, label in enumerate(labels)}
    scale = np.array([weights[stratum] if weights else 1.0 for stratum, _ in kept])[:, None]
    m = len(channel.samples)
    shape = (len(kept), m)
    counted = [
        np.array(values, dtype=np.float64).reshape(shape)
        for values in (
            [cell.reported for cell in kept.values()],
            [cell.sums[0] for cell in kept.values()],
            [cell.sums[1] for cell in kept.values()],
        )
    ]
    powers = np.array([cell.powers for cell in kept.values()]).reshape(-1, 4)
    rows, others = (
        np.array([getattr(cell, name) for cell in kept.values()], dtype=np.float64)
        for name in ("rows", "others")
    )
    if channel.is_multinomial:
        table = channel.scores(np.arange(m))
        speaks = np.ones_like(table)
    else:
        speaks = np.vstack([np.eye(channel.k)] * 2)
        named, not_named = (channel.solve(np.full(m, rate)) for rate in (1.0, 0.0))
        table = np.vstack([np.diag(named), np.diag(not_named)])
        whole = (rows, powers[:, 0], powers[:, 1])
        counted = [
            np.hstack([part, total[:, None] - part])
            for part, total in zip(counted, whole, strict=True)
        ]
    return SampleCells(
        keys=list(kept),
        labels=labels,
        strata=np.array([number[stratum] for stratum, _ in kept], dtype=np.intp),
        alone=np.array([cluster is None for _, cluster in kept], dtype=bool),
        rows=rows,
        others=others,
        inverse=powers[:, 2] / scale[:, 0],
        inverse2=powers[:, 3] / scale[:, 0] ** 2,
        reported=counted[0],
        first=counted[1] * scale,
        second=counted[2] * scale**2,
        table=table,
        speaks=speaks,
        split=not channel.is_multinomial,
    )


@dataclass(frozen=True)
class Form:
    """The variance of the sum of w g over a sample, for any values g of the m report cells.

    mass : (m,).  points, coefficients : (p, m) and (p,).  The variance is the sum of mass g^2 and
        of coefficients (points g)^2, and the randomization's variance of ``within``.
    within : (m,) sums of squared weights of which the form has the randomization left out.
    """

    mass: Floats
    points: Floats
    coefficients: Floats
    within: Floats

    def variance(self, values: Floats) -> Floats:
        """(k,) for (m, k) values, without that of ``within``."""
        sums = self.points @ values
        return np.asarray(self.mass @ values**2 + self.coefficients @ sums**2)

    def covariance(self, values: Floats) -> Floats:
        """(k, k) for (m, k) values, without that of ``within``."""
        return self.between(values, values)

    def between(self, values: Floats, others: Floats) -> Floats:
        """(k, l) covariance of the sums of (m, k) and of (m, l) values, without ``within``."""
        weighted = self.coefficients[:, None] * (self.points @ others)
        return np.asarray((values.T * self.mass) @ others + (self.points @ values).T @ weighted)


def variance_form(
    cells: SampleCells, sampled: Floats, *, probabilities: bool = False, lonely: str = LONELY[0]
) -> Form:
    """How a weighted sum over the cells varies.

    sampled : (strata,) the share of its clusters that are in the sample.
    Each cluster counts 1 - its probability in the mean and in the squares of its stratum; without
    known probabilities all count 1, which makes the n / (n - 1) of sampling with replacement.
    Raises ArgumentValueError for strata with one cluster, unless ``lonely`` names what to do.
    """
    left, free = 1 - sampled, _free(cells, sampled, probabilities)
    if probabilities:
        keep, keep2 = chances_missed(cells)
        each, alone_sums = keep, cells.first - cells.reported
    else:
        keep = keep2 = cells.units
        each, alone_sums = np.ones(len(keep)), cells.first
    sums = np.where(cells.alone[:, None], alone_sums, each[:, None] * cells.first)
    count, squares = cells.by_stratum(keep), cells.by_stratum(keep2)
    centre = cells.by_stratum(sums)

    open_ = (count > 0) & (left > 0)
    room = np.zeros_like(count)  # (n - 1) / n, or what stands for it where clusters count less
    np.divide(squares, count**2, out=room, where=open_)
    room = np.where(open_, 1 - room, 0.0)
    single = open_ & (room < _ALIKE)
    _check_lonely(int(single.sum()), len(single), lonely)
    stretch = np.zeros_like(count)
    np.divide(1.0, room, out=stretch, where=open_ & ~single)

    of_cell, clustered = stretch[cells.strata], ~cells.alone
    points = [cells.first[clustered], centre[stretch > 0]]
    coefficients = [
        (of_cell * left[cells.strata] * each)[clustered],
        -(stretch * left)[stretch > 0] / count[stretch > 0],
    ]
    within = (cells.second - free).sum(axis=0)
    if lonely == "certainty":  # then the coins are all that is left of it
        within = within + free[single[cells.strata]].sum(axis=0)
    elif single.any():
        grand = centre.sum(axis=0) / count.sum()
        points.append(centre[single] / count[single, None] - grand)
        coefficients.append((count * left)[single])
    mass = (of_cell * cells.alone) @ free
    return Form(mass, np.vstack(points), np.concatenate(coefficients), within)


def _free(cells: SampleCells, sampled: Floats, probabilities: bool) -> Floats:
    """(c, m) the squared weights that count for sampling; the randomization has the rest alone."""
    if probabilities:
        return cells.second - cells.first
    return np.asarray((1 - sampled)[cells.strata, None] * cells.second)


def plain_form(cells: SampleCells, sampled: Floats, *, probabilities: bool = False) -> Form:
    """The variance if clusters made no difference and weights had nothing to do with reports.

    Rows within strata, and the squared weights spread over the report cells as the weights are.
    It has more degrees of freedom than `variance_form`, which by luck may come out far below it:
    few clusters that happen to be alike, or a rare report whose weights happen to be small.
    """
    free = _free(cells, sampled, probabilities)
    rows, weight = cells.by_stratum(cells.rows), cells.by_stratum(cells.first)
    size = weight.sum(axis=1)
    some = (rows > 1) & (size > 0)
    first, each = weight[some], size[some]
    factor = cells.by_stratum(free)[some].sum(axis=1) / each * rows[some] / (rows[some] - 1)
    within = (cells.second - free).sum(axis=0)
    # In split cells every report is in k cells, so that a category's own weights sum to 1 / k.
    cells_each = cells.table.shape[1] if cells.split else 1
    return Form(factor @ first, first, -factor / each * cells_each, within)


def chances_missed(cells: SampleCells) -> tuple[Floats, Floats]:
    """(c,) sums over clusters of 1 - probability and of its square, from weights 1 / probability.

    Clusters without a report here count as the others of their stratum do.
    Raises ArgumentValueError where rows of one cluster differ.
    """
    rows = np.maximum(cells.rows, 1.0)
    chance = cells.inverse / rows
    if (chance > 1 + _ALIKE).any():
        raise ArgumentValueError(
            "weights must be 1 / probability, at least 1, where they stand for probabilities; "
            "found less"
        )
    uneven = ~cells.alone & (cells.inverse2 / rows - chance**2 > _ALIKE * chance**2)
    if uneven.any():
        raise ArgumentValueError(
            f"probabilities must be those of whole clusters, found {int(uneven.sum())} of "
            f"{int((~cells.alone).sum())} clusters whose rows differ; give weights instead, for "
            "the variance of sampling with replacement"
        )
    seen = np.where(cells.alone, cells.rows, np.minimum(cells.rows, 1.0))
    keep = np.where(cells.alone, cells.rows - cells.inverse, seen * (1 - chance))
    keep2 = np.where(
        cells.alone, cells.rows - 2 * cells.inverse + cells.inverse2, seen * (1 - chance) ** 2
    )
    # Rounding must not leave something to sample of a census.
    certain = keep <= _ALIKE * rows
    unseen = cells.by_stratum(cells.units) / np.maximum(cells.by_stratum(seen), 1.0)
    keep, keep2 = (np.where(certain, 0.0, kept) * unseen[cells.strata] for kept in (keep, keep2))
    return keep, keep2


def degrees_of_freedom(cells: SampleCells, sampled: Floats, *, probabilities: bool = False) -> int:
    """Clusters (rows, where there are none) with reports here, less strata with some.

    A group that is in few clusters has a variance that rests on these, however many others the
    sample has: they all add the same, nothing.  So do clusters without any weight.  A stratum that
    is in the sample as a whole counts its rows: their coins are what is random.
    """
    counts = np.where(cells.first.any(axis=1), cells.rows, 0.0)
    whole = sampled >= 1
    if probabilities:
        whole = cells.by_stratum(chances_missed(cells)[0]) == 0
    rows = cells.by_stratum(counts)
    units = cells.by_stratum(np.where(cells.alone, counts, np.minimum(counts, 1.0)))
    return int(np.where(whole, rows, np.maximum(units - 1, 0.0)).sum())


def _check_lonely(single: int, strata: int, lonely: str) -> None:
    if single and lonely == "raise":
        raise ArgumentValueError(
            f"strata must have two clusters (or rows) in the sample, found one in {single} of "
            f"{strata}: nothing is known of the variance between them; join strata that are alike, "
            "or say lonely='adjust' (take its distance from the grand mean) or lonely='certainty' "
            "(it was sure to be in the sample)"
        )


def sampled_shares(cells: SampleCells, population: Any) -> Floats:
    """(strata,) the share of each stratum's clusters that are in the sample; 0 for None."""
    if population is None:
        return np.zeros(len(cells.labels))
    if isinstance(population, pd.Series):
        population = population.to_dict()
    sizes = np.array([_size(population, label, len(cells.labels)) for label in cells.labels])
    units = cells.by_stratum(cells.units)
    small = int((sizes < units).sum())
    if small:
        raise ArgumentValueError(
            "population must be at least the number of clusters (rows, where there are none) in "
            f"the sample, found less in {small} of {len(sizes)} strata; it counts those in the "
            "sample too"
        )
    return np.asarray(units / sizes)


def _size(population: Any, label: Hashable, strata: int) -> float:
    """The number of clusters, or rows, that a stratum of the population has."""
    if isinstance(population, Mapping):
        if label not in population:
            raise ArgumentValueError(
                "population must have a number for each stratum of the sample (the key None where "
                "there are no strata), found none for some of them"
            )
        population = population[label]
    elif strata > 1:
        raise ArgumentValueError(
            f"population must be a mapping from stratum to number for these {strata} strata, found "
            "one number"
        )
    if isinstance(population, bool) or not isinstance(population, int | float | np.number):
        raise ArgumentTypeError(
            "population must be a number, or a mapping from stratum to number, found "
            f"{type(population).__name__}"
        )
    if not 0 < population < np.inf:
        raise ArgumentValueError("population must be finite numbers above 0")
    return float(population)
