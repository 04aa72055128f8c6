"""Variances of weighted sums of scores: strata, clusters, weights and finite populations.

Variances come from the spread of the clusters' sums within strata, as if clusters had been drawn
with replacement.  A finite population, or known probabilities, take something off the sampling, and
off nothing else: coins are thrown for everybody.  With f the share of a stratum's clusters that
are in the sample,

    variance = (1 - f) * (variance between clusters) + f * (variance of the randomization)

Where probabilities differ, a cluster that was sure to be in the sample counts nothing in the first
part, and others 1 - probability.  A `SampleDesign` says what to do with strata of one cluster.
Two groups of one sample go together as far as their clusters do: people of one cluster are alike
whichever group they are in, and a stratum with more of one group has fewer of the other.  Both are
read as one sample with report cells of their own, so that the covariance is that of two sums.
Sources: Arnab (1994); Deville (1999) for unequal probabilities; Binder (1983) for ratios and
groups, as the covariance matrix of `svyby` in R's survey package.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from rrstats._cached import cached_property
from rrstats._checks import check_number, check_one_of
from rrstats._display import HeaderLines
from rrstats._frozen import fixed
from rrstats._typing import Array, Booleans, Floats, Indices
from rrstats.errors import ArgumentValueError
from rrstats.estimation.report_columns.replicates import ReplicateSums, Replication, replicate_df
from rrstats.estimation.report_columns.sample_design import SampleDesign
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.arrays import MeanRates
from rrstats.estimation.tallies.deck_moments import deck_moments
from rrstats.estimation.tallies.moments import (
    LAST_DIGITS,
    PRECISION,
    ROUNDING,
    EffectiveMoments,
    MeanChannelMoments,
    Moments,
    RowMoments,
    Scored,
    WeightedRowMoments,
    channel_moments,
    contrast_errors,
    root,
)
from rrstats.estimation.tallies.score_sums import RowSums
from rrstats.estimation.tallies.tally import Tally, no_design_by_row
from rrstats.inference.contrasts import Interval
from rrstats.mechanisms.channel import (
    Channel,
    has_latent_classes,
    transition_matrix,
)

_MIN_DF = 8
"""With fewer degrees of freedom a variance estimate is very noisy."""

_TOO_SMALL = 2.0
"""A note warns of a standard error where intervals use more than this multiple of its square."""

_ALIKE = 1e-9
"""Relative difference up to which probabilities are the same but for rounding."""


class SampleCells:
    """The u units of a tally with rows, as floats; without weights they have those of a population.

    units : all units of the sample.  drawn : (all units,) sampled rows in each.
    places : (u,) which of all units.  strata : (u,) the number of each one's stratum, ascending.
    row_is_cluster : (u,) whether every row is a cluster by itself.
    rows, inverse, inverse2 : (u,) the number of rows, and sums of 1/w and 1/w^2.
    reported, first, second : (u, m) counts, sums of w and of w^2 by report cell.
    channel : P(report | truth); of a plan pooled.
    table : (m, k) the score of each report cell, and of which category it is one: ``speaks``.
    split : whether reports name several categories.  Then each category has two report cells of
        its own, named and not named; what is known of two categories together is not there.
    sampled : (strata,) the share of its clusters that are in the sample.
    design : whether probabilities are known, and what to do with strata of one cluster.
    """

    def __init__(self, tally: Tally, design: SampleDesign) -> None:
        channel = arrays.pooled(tally.mechanism.channel, tally.plan)
        counts = tally.counts
        m = len(channel.samples)
        self.channel = channel
        self.units = counts.units
        self.drawn = counts.drawn  # shared by all groups of the sample
        self.rows = counts.rows.astype(np.float64)
        self.set_places(counts.places)
        self.reported = counts.reported.astype(np.float64)
        self.first, self.second = counts.sums
        weight, weight2, self.inverse, self.inverse2 = counts.totals
        self.design = design
        self.by_chance = design.probabilities is not None
        self.split = not channel.is_multinomial
        self.cells_each = channel.k if self.split else 1  # in which every report is
        self.sampled = np.zeros(len(self.labels))
        if self.split:
            self.speaks = np.vstack([np.eye(channel.k)] * 2)
            each = [np.diag(channel.solve(np.full(m, rate))) for rate in (1.0, 0.0)]
            self.table = np.vstack(each)
            self.reported = np.hstack([self.reported, self.rows[:, None] - self.reported])
            self.first = np.hstack([self.first, weight[:, None] - self.first])
            self.second = np.hstack([self.second, weight2[:, None] - self.second])
        else:
            self.table = self._scores()
            self.speaks = np.ones_like(self.table)
        if design.population is not None:
            self.sampled = _sampled_shares(self, design.population)
            if counts.weights is None:
                sampled = self.sampled[self.strata, None]
                scale = np.divide(1, sampled, out=np.ones_like(sampled), where=sampled > 0)
                self.first = self.first * scale
                self.second = self.second * scale**2

    def _scores(self) -> Floats:
        """(m, k) the score of each report cell; of pooled samples as if all were of one sample."""
        channel = self.channel
        if arrays.has_scores(channel):
            return channel.scores(np.arange(len(channel.samples)))
        sampled = self.first.sum(axis=0)
        return arrays.expanded_scores(channel, sampled, sampled)

    def set_places(self, places: Indices) -> None:
        """Say which of all units these are, in ascending order."""
        self.places = places
        self.strata = self.units.strata[places]
        self.row_is_cluster = self.units.row_is_cluster[places]
        self._occurring, self._starts = np.unique(self.strata, return_index=True)

    @property
    def labels(self) -> Sequence[Hashable]:
        """The labels of the strata."""
        return self.units.stratum_labels

    @property
    def clusters(self) -> int:
        """The number of clusters in the sample, also those that have no report here."""
        return int(self.clusters_of_strata.sum())

    @property
    def clusters_of_strata(self) -> Floats:
        """(strata,) the number of clusters of each, also those that have no report here."""
        clusters = np.where(self.units.row_is_cluster, self.drawn, np.minimum(self.drawn, 1.0))
        counts = np.bincount(self.units.strata, clusters, len(self.labels))
        return counts.astype(np.float64)

    def by_stratum(self, values: Floats) -> Floats:
        """(strata, ...) sums of what each unit has."""
        sums = np.zeros((len(self.labels), *values.shape[1:]))
        if len(values):
            sums[self._occurring] = np.add.reduceat(values, self._starts)
        return sums


@dataclass(frozen=True)
class VarianceForm:
    """The variance of the sum of w g over a sample, for any values g of the m report cells.

    mass : (m,).  points, coefficients : (p, m) and (p,).  The variance between clusters is the sum
        of mass g^2 and of coefficients (points g)^2; a point is a cluster's or a stratum's sums.
    within : (m,) sums of the squared weights whose randomization these two leave out, where a part
        of the population is in the sample; `SurveyMoments` adds its variance.
    """

    mass: Floats
    points: Floats
    coefficients: Floats
    within: Floats

    def variance(self, values: Floats) -> Floats:
        """(k,) for (m, k) values, without that of ``within``."""
        sums = self.points @ values
        return np.asarray(self.mass @ values**2 + self.coefficients @ sums**2)

    def between(self, values: Floats, others: Floats) -> Floats:
        """(k, l) covariance of the sums of (m, k) and of (m, l) values, without ``within``."""
        weighted = self.coefficients[:, None] * (self.points @ others)
        return np.asarray((values.T * self.mass) @ others + (self.points @ values).T @ weighted)


def variance_form(cells: SampleCells) -> VarianceForm:
    """The variance of a weighted sum over the cells.

    Each cluster counts 1 - its probability in the mean and in the squares of its stratum; without
    known probabilities all count 1, which makes the n / (n - 1) of sampling with replacement.
    Raises ArgumentValueError for strata with one cluster, unless ``lonely_psu`` names what to do.
    """
    lonely = cells.design.lonely_psu
    left = 1 - cells.sampled
    drawn = _sampling_squares(cells)
    each, sums, count, squares = _cluster_counts(cells)
    centre = cells.by_stratum(sums)

    open_ = (count > 0) & (left > 0)
    room = np.zeros_like(count)  # (n - 1) / n, or what stands for it where clusters count less
    np.divide(squares, count**2, out=room, where=open_)
    room = np.where(open_, 1 - room, 0.0)
    single = open_ & (room < _ALIKE)
    if lonely == "raise" and single.any():
        raise ArgumentValueError(
            f"strata must have two clusters (or rows) in the sample, found one in {single.sum()} "
            f"of {len(single)}: merge similar strata, or give lonely_psu='adjust' (variance around "
            "the grand mean) or 'certainty' (the cluster was sampled with certainty)"
        )
    stretch = np.zeros_like(count)
    np.divide(1.0, room, out=stretch, where=open_ & ~single)

    of_cell = stretch[cells.strata]
    clustered = ~cells.row_is_cluster
    points = [cells.first[clustered], centre[stretch > 0]]
    coefficients = [
        (of_cell * left[cells.strata] * each)[clustered],
        -(stretch * left)[stretch > 0] / count[stretch > 0],
    ]
    within = (cells.second - drawn).sum(axis=0)
    if lonely == "certainty":  # then the coins are all that is left of it
        within = within + drawn[single[cells.strata]].sum(axis=0)
    elif single.any():
        grand = centre.sum(axis=0) / count.sum()
        points.append(centre[single] / count[single, None] - grand)
        coefficients.append((count * left)[single])
    mass = (of_cell * cells.row_is_cluster) @ drawn
    return VarianceForm(mass, np.vstack(points), np.concatenate(coefficients), within)


def _cluster_counts(cells: SampleCells) -> tuple[Floats, Floats, Floats, Floats]:
    """Count of each cluster in its stratum: 1, or 1 - its probability where that is known.

    (c,) the counts, (c, m) the sums of weights with these counts, and (strata,) each the sums of
    the counts and of their squares.
    """
    if not cells.by_chance:
        clusters = cells.clusters_of_strata
        return np.ones(len(cells.rows)), cells.first, clusters, clusters
    counts, squares = chances_missed(cells)
    row_sums = cells.first - cells.reported
    sums = np.where(cells.row_is_cluster[:, None], row_sums, counts[:, None] * cells.first)
    return counts, sums, cells.by_stratum(counts), cells.by_stratum(squares)


def _sampling_squares(cells: SampleCells) -> Floats:
    """(c, m) the squared weights that count for sampling; the randomization has the rest alone."""
    if cells.by_chance:
        return np.asarray(cells.second - cells.first)
    return np.asarray((1 - cells.sampled)[cells.strata, None] * cells.second)


def plain_form(cells: SampleCells) -> VarianceForm:
    """The variance if clusters made no difference and weights had nothing to do with reports.

    Rows within strata, and the squared weights spread over the report cells as the weights are.
    It has more degrees of freedom than `variance_form`, which by luck may come out far below it:
    few clusters that happen to be alike, or a rare report whose weights happen to be small.
    """
    drawn = _sampling_squares(cells)
    rows = cells.by_stratum(cells.rows)
    weight = cells.by_stratum(cells.first)
    total = weight.sum(axis=1)
    varies = (rows > 1) & (total > 0)
    n = rows[varies]
    first = weight[varies]
    size = total[varies]
    factor = cells.by_stratum(drawn)[varies].sum(axis=1) / size * n / (n - 1)
    within = (cells.second - drawn).sum(axis=0)
    # In split cells every report is in k cells, so that a category's own weights sum to 1 / k.
    return VarianceForm(factor @ first, first, -factor / size * cells.cells_each, within)


def chances_missed(cells: SampleCells) -> tuple[Floats, Floats]:
    """(c,) sums over clusters of 1 - probability and of its square, from weights 1 / probability.

    Clusters without a report here count as the others of their stratum do.
    Raises ArgumentValueError where rows of one cluster differ.
    """
    rows = np.maximum(cells.rows, 1.0)
    chance = cells.inverse / rows
    if (chance > 1 + _ALIKE).any():
        raise ArgumentValueError(
            "weights must be 1 / probability, at least 1, in a design with probabilities; found "
            "less"
        )
    uneven = ~cells.row_is_cluster & (cells.inverse2 / rows - chance**2 > _ALIKE * chance**2)
    if uneven.any():
        raise ArgumentValueError(
            f"probabilities must be equal within clusters, found {int(uneven.sum())} of "
            f"{int((~cells.row_is_cluster).sum())} clusters whose rows differ; give weights instead"
        )
    clusters = np.where(cells.row_is_cluster, cells.rows, np.minimum(cells.rows, 1.0))
    missed = clusters * (1 - chance)
    squares_of_rows = cells.rows - 2 * cells.inverse + cells.inverse2
    squares = np.where(cells.row_is_cluster, squares_of_rows, missed * (1 - chance))
    # Rounding must not leave something to sample of a census.
    is_certain = missed <= _ALIKE * rows
    # All clusters of the stratum for each with a report here.
    expansion = cells.clusters_of_strata / np.maximum(cells.by_stratum(clusters), 1.0)
    factor = expansion[cells.strata]
    return np.where(is_certain, 0.0, missed) * factor, np.where(is_certain, 0.0, squares) * factor


def degrees_of_freedom(cells: SampleCells) -> int:
    """Clusters (rows, where there are none) with reports here, less strata with some.

    A group that is in few clusters has a variance that rests on these, however many others the
    sample has: they all add the same, nothing.  So do clusters without any weight.  A stratum that
    is in the sample as a whole counts its rows: their coins are what is random.
    """
    counts = np.where(cells.first.any(axis=1), cells.rows, 0.0)
    is_census = cells.sampled >= 1
    if cells.by_chance:
        missed, _ = chances_missed(cells)
        is_census = cells.by_stratum(missed) == 0
    rows = cells.by_stratum(counts)
    units = cells.by_stratum(np.where(cells.row_is_cluster, counts, np.minimum(counts, 1.0)))
    return int(np.where(is_census, rows, np.maximum(units - 1, 0.0)).sum())


def _sampled_shares(cells: SampleCells, population: Any) -> Floats:
    """(strata,) the share of each stratum's clusters that are in the sample."""
    by_stratum: Any = {}
    if isinstance(population, Mapping | pd.Series):
        by_stratum = population
    elif len(cells.labels) == 1:
        by_stratum = {cells.labels[0]: population}
    name = "population, a mapping from each stratum of the sample to its size,"
    sizes = np.array(
        [
            check_number(by_stratum.get(stratum), name, 0, np.inf, ends="()")
            for stratum in cells.labels
        ]
    )
    units = cells.clusters_of_strata
    small = int((sizes < units).sum())
    if small:
        raise ArgumentValueError(
            "population must be at least the number of clusters (or rows) in the sample, found "
            f"less in {small} of {len(sizes)} strata"
        )
    return np.asarray(units / sizes)


# -- the moments of an estimate --------------------------------------------------------------


class SurveyMoments(EffectiveMoments):
    """Proportions and totals of a sample with a design, and their variances.

    Every report has a score, the debiased answer, whose mean over the randomization is the truth;
    so surveys treat scores as they treat answers.  The total of a category is the sum of w s
    (Horvitz-Thompson), its proportion that total over the sum of w (Hajek).  The variance that the
    respondents' coins add is the sum of w^2 (s^2 - s), unbiased because a true answer of 0 or 1 is
    its own square; drawing the sample adds the rest, a difference that may come out negative.
    A cluster belongs to its stratum.  Rows without a report, or outside the group at hand, are
    rows of the sample that add nothing.

    cells : those of the tally, with the weights that the population gives.
    form, least_form : the variance of a weighted sum; and if clusters, and who has which weight,
        made no difference.
    first, cell_shares : (m,) sums of the weights by report cell, and as shares.
    size : the sum of the weights as a divisor, NaN where that is nobody.
    centred : (m, k) the change of the proportions by one more report of weight 1.
    """

    designed = True
    _df_rule = "clusters minus strata"

    def __init__(self, tally: Tally, design: SampleDesign) -> None:
        self._tally = tally
        channel = arrays.pooled(tally.mechanism.channel, tally.plan)
        if not (arrays.has_scores(channel) or arrays.is_pooled(channel)):
            raise ArgumentValueError(
                "weights, strata and clusters need a score for each report, and the samples of "
                "this design have none, because they identify the proportions only together; "
                "leave them out, or estimate groups separately; of a list experiment "
                "rr.regression.list_regression(..., method='linear') takes them"
            )
        self.n = tally.n
        self.k = channel.k
        self.cells = cells = SampleCells(tally, design)
        self.least_form = plain_form(cells)
        self.first = np.asarray(cells.first.sum(axis=0))
        self.size = self.weight or np.nan
        self.cell_shares = self.first / self.size
        self.centred = (cells.table - self._expected_scores()) / self.size
        self.form = self._sampling_form()

    def _sampling_form(self) -> VarianceForm:
        """The variance of weighted means, before the scores are put in."""
        return variance_form(self.cells)

    def _expected_scores(self) -> Floats:
        """(m, k) the mean score in the sample of each cell."""
        return np.asarray(self.cells.speaks * self.proportions)

    @property
    def channel(self) -> Channel:
        """P(report | truth)."""
        return self.cells.channel

    @cached_property
    def reported(self) -> Array:
        """(m,) counts of the reports."""
        return self._tally.reported

    @cached_property
    def proportions(self) -> Floats:
        """(k,) unbiased true proportions, over the sum of the weights."""
        return fixed(self.totals / self.size)

    @cached_property
    def weight(self) -> float:
        """The sum of the weights: an estimate of the population's size."""
        return float(self.first.sum()) / self.cells.cells_each

    @cached_property
    def totals(self) -> Floats:
        """(k,) unbiased totals, in the units of the weights."""
        return np.asarray(self.first @ self.cells.table)

    @cached_property
    def df(self) -> float:
        """Clusters (rows, where there are none) less strata; of a group those that it is in."""
        return degrees_of_freedom(self.cells)

    @property
    def has_no_variance(self) -> bool:
        """True where too few clusters or reports leave no estimate of a variance."""
        return self.df < 1 or self.n < 2

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and weighted proportions of reports that support each category, or NaN."""
        counts = self.channel.support_counts(self.reported)
        weights = self.channel.support_counts(self.first[: len(self.reported)])
        return counts, np.asarray(weights / self.size)

    @property
    def effective_support(self) -> Floats:
        """(k,) proportions of supporting reports in a sample of `effective_n`."""
        return self.support[1]

    @cached_property
    def implausible(self) -> Booleans:
        """(k,) True where reports are rarer or commoner than any truth explains."""
        return arrays.implausible(self.channel, self.reported, self.n)

    @cached_property
    def variance(self) -> Floats:
        """(k,) variance of the proportions, linearized: of sampling and of randomization."""
        return fixed(self._variance(self.form))

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors; NaN where a variance is negative by more than rounding."""
        return root(self.variance, self._size_of_terms(self.form, self.centred, self.size))

    @property
    def total_std_error(self) -> Floats:
        """(k,) standard errors of the totals; NaN where a variance is negative, too."""
        terms = self._size_of_terms(self._total_form, self._total_scores, 1.0)
        return root(self._total_variance, terms)

    @property
    def _total_scores(self) -> Floats:
        """(m, k) the change of the totals by one more report of weight 1."""
        return self.cells.table

    def _size_of_terms(self, form: VarianceForm, values: Floats, divisor: float) -> float:
        """The largest sum of the absolute terms of a variance, which rounding goes with.

        values : (m, k) as for `VarianceForm.variance`.  divisor : of the scores.
        """
        values = np.abs(values)
        table = np.abs(self.cells.table)
        sums = np.abs(form.points) @ values
        drawn = form.mass @ values**2 + np.abs(form.coefficients) @ sums**2
        noise = np.abs(form.within) @ (table**2 + table)
        return float((drawn + noise / divisor**2).max())

    @cached_property
    def least_variance(self) -> Floats:
        """(k,) `variance` if answers did not depend on cluster and weight."""
        return fixed(self._variance(self.least_form))

    @cached_property
    def covariance(self) -> Floats:
        """(k, k) covariance of the proportions."""
        return self._covariance_of_all(self.form)

    @cached_property
    def _least_covariance(self) -> Floats:
        """(k, k) `covariance` with the variances of `least_variance`."""
        return self._covariance_of_all(self.least_form)

    def contrast_covariances(self, contrasts: Floats) -> list[Floats]:
        """(j, j) covariance of (j, k) contrasts of the proportions; and the least."""
        forms = [self.form, self.least_form] if self.is_multinomial else [self.form]
        return [self._contrast_covariance(form, contrasts) for form in forms]

    def scored(self, level: float, df: Floats | float | None = None) -> Scored:
        """The scores of the report cells, and (k, m) counts of samples of effective size."""
        return self._scored(self.effective_sizes(level, df)[:, None])

    def scored_sums(self, contrast: Floats, sums: Floats, level: float) -> Scored:
        """(j, m) scores for (j, k) sums of the proportions, and (m,) counts at effective size."""
        size = self._effective_size(contrast)
        if size is None:
            size = float(self._effective_n.min())
        scored = self._scored(size * self.shrinkage(level, self.df))
        return scored._replace(scores=sums @ scored.scores)

    def _scored(self, sizes: Any) -> Scored:
        """Counts of cells in a simple random sample of a size; all one sample."""
        counts = sizes * self.cell_shares
        return Scored(self.cells.table.T, counts, np.zeros(len(self.first), dtype=np.intp))

    def _general_interval(self, level: float, method: str | None, target: str) -> Interval:
        """Intervals where no count is binomial; Wald's where a variance says nothing."""
        method = check_one_of(method or self.default_method, "method", arrays.GENERAL_METHODS)
        if not (self.effective_sizes(level) > 0).all():
            method = "wald"
        return super()._general_interval(level, method, target)

    def _variance(self, form: VarianceForm) -> Floats:
        """(k,) variance of the proportions: that of a form, and of the randomization it lacks."""
        return form.variance(self.centred) + self._noise(form.within) / self.size**2

    @cached_property
    def _total_variance(self) -> Floats:
        """(k,) variance of the totals; NaN where they are nobody's."""
        if not self.weight:
            return fixed(np.full(self.k, np.nan))
        form = self._total_form
        return fixed(form.variance(self._total_scores) + self._noise(form.within))

    @property
    def _total_form(self) -> VarianceForm:
        """The variance of weighted sums."""
        return self.form

    @cached_property
    def randomization_variance(self) -> Floats:
        """(k,) the part that the respondents' coins add."""
        return self._noise(self.cells.second.sum(axis=0)) / self.size**2

    def _noise(self, mass: Floats) -> Floats:
        """(k,) the randomization's variance of reports whose squared weights sum to ``mass``."""
        squares = self._fitted(mass) @ self.cells.table**2
        return np.asarray(squares - np.diagonal(self._truths(mass)))

    def _truths(self, mass: Floats) -> Floats:
        """(k, k) what true answers alone would make of the products of scores: their squares."""
        return np.diag(mass @ self.cells.table)

    def _fitted(self, mass: Floats) -> Floats:
        """(m,) sums by report cell, replaced by what true answers would make of them on average.

        Where there are more reports than categories, the variance of a score given the truth is
        then estimated without the noise of its own report, as R's RRTCS does for Kuk's and
        Christofides' designs.  Otherwise nothing changes.
        """
        channel = self.channel
        cells = self.cells
        if cells.split or has_latent_classes(channel) or len(channel.samples) == channel.k:
            return mass
        fitted = np.empty_like(mass)
        matrix = transition_matrix(channel)
        for sample in np.unique(channel.samples):
            of_sample = channel.samples == sample
            fitted[of_sample] = matrix[of_sample] @ (mass[of_sample] @ cells.table[of_sample])
        return fitted

    def _covariance_of_all(self, form: VarianceForm) -> Floats:
        means = self._truths(form.within)
        return self._covariance(form, self.centred, self.cells.table, means)

    def _contrast_covariance(self, form: VarianceForm, contrasts: Floats) -> Floats:
        """(j, j) covariance of (j, k) contrasts of the proportions."""
        table = self.cells.table
        means = contrasts @ self._truths(form.within) @ contrasts.T
        return self._covariance(form, self.centred @ contrasts.T, table @ contrasts.T, means)

    def _covariance(
        self, form: VarianceForm, values: Floats, scores: Floats, means: Floats
    ) -> Floats:
        """(j, j) covariance of sums of the proportions.

        values, scores : (m, j) the changes of the sums by a report, and its scores for them.
        means : (j, j) what true answers alone would make of the squares of the scores.
        """
        if self.cells.split and (form.mass.any() or form.within.any()):
            raise ArgumentValueError(
                "covariances are not known for reports that name several categories, because each "
                "category is counted separately, unless clusters are sampled with replacement"
            )
        noise = (scores.T * self._fitted(form.within)) @ scores - means
        return form.between(values, values) + noise / self.size**2

    @cached_property
    def design_effect(self) -> Floats:
        """(k,) variance over that of as many unweighted reports of a simple random sample.

        The larger of both forms'.  Where all reports are the same, so that variances say nothing,
        Kish's: n times the sum of the squared weights over the square of their sum.
        """
        n = self.n
        variation = np.asarray(self.first @ self.centred**2 * self.size)
        kish = n * float(self.cells.second.sum()) / self.cells.cells_each / self.size**2
        effects = []
        for form in (self.form, self.least_form):
            with np.errstate(invalid="ignore", divide="ignore"):
                variance = self._variance(form)
                rounding = LAST_DIGITS * self._size_of_terms(form, self.centred, self.size)
                effect = np.where(variance > rounding, variance, 0.0) * (n - 1) / variation
            effects.append(np.where((variation > ROUNDING) & (effect > 0), effect, kish))
        return fixed(np.maximum(*effects))

    def _effective_size(self, contrast: Floats) -> float | None:
        """Reports of a simple random sample in which a sum of the proportions has its variance.

        contrast : (k,) the weights of the sum.  None where nothing varies.
        """
        variance = contrast_errors(self, contrast)[1] ** 2
        values = self.size * self.centred @ contrast
        variation = float(self.cell_shares @ values**2)
        return 1 + variation / variance if variation > ROUNDING and variance > 0 else None

    def covariance_with(self, other: Moments) -> Floats | None:
        """(k, l) covariance with another group of the same sample; None where it is not one."""
        if not isinstance(other, SurveyMoments):
            return None
        both = self._joined(self.cells, other)
        if both is None:
            return None
        form = variance_form(both)
        self_zeros = np.zeros((len(other.centred), self.centred.shape[1]))
        other_zeros = np.zeros((len(self.centred), other.centred.shape[1]))
        self_values = np.vstack([self.centred, self_zeros])
        other_values = np.vstack([other_zeros, other.centred])
        return form.between(self_values, other_values)

    def df_with(self, *others: Moments) -> int | None:
        """Degrees of freedom of all groups together; None where they are not of one sample."""
        cells: SampleCells | None = self.cells
        for other in others:
            if cells is None or not isinstance(other, SurveyMoments):
                return None
            cells = self._joined(cells, other)
        return None if cells is None else degrees_of_freedom(cells)

    @property
    def _header(self) -> HeaderLines:
        """The numbers of strata and clusters, and the sum of the weights."""
        cells = self.cells
        lines = []
        if len(cells.labels) > 1:
            lines.append(("strata", f"{len(cells.labels):,}"))
        if not cells.units.row_is_cluster.all():
            lines.append(("clusters", f"{cells.clusters:,}"))
        return [*lines, ("sum of weights", f"{self.weight:,.1f}")]

    @property
    def notes(self) -> Sequence[str]:
        """Limits of the standard errors of this sample."""
        notes = [*self._shared_notes]
        sampling_variance = self.variance - self.randomization_variance
        rounding = ROUNDING * self._size_of_terms(self.form, self.centred, self.size)
        below = int((sampling_variance < -rounding).sum())
        if below:
            notes.append(
                f"The estimated sampling variance is negative for {below} of {self.k} categories: "
                "next to the randomization variance it is too small to distinguish from 0."
            )
        if self.n and self.df < _MIN_DF:
            notes.append(
                f"The standard errors have {max(self.df, 0)} degrees of freedom ({self._df_rule}) "
                "and are imprecise; the intervals are wider for this reason."
            )
        too_small = self.least_variance > _TOO_SMALL * np.maximum(self.variance, 0.0)
        if self.n and too_small.any():
            notes.append(
                f"The standard errors of {int(too_small.sum())} of {self.k} categories are smaller "
                "than the weights and any strata alone allow, by chance or because few reports "
                "have nearly all the weight: do not use them. Intervals (but method='wald'), "
                "tests, effective_n and design_effect do not use them."
            )
        floored = int((self.least_variance > (1 + ROUNDING) * self.variance).sum())
        if self.n and floored and not too_small.any():
            notes.append(
                f"The standard errors of {floored} of {self.k} categories are by chance below what "
                "the weights and any strata alone give, which intervals (but method='wald'), "
                "tests, effective_n and design_effect use."
            )
        return notes

    def _joined(self, first: SampleCells, group: SurveyMoments) -> SampleCells | None:
        """The rows of both, with report cells of their own; None where no sample has them."""
        second = group.cells
        if first.by_chance != second.by_chance:
            return None
        if first.design.lonely_psu != second.design.lonely_psu:
            return None
        order = _same_units(first, second)
        if order is None:
            return None
        first_sampled = first.sampled[first.units.strata]
        second_sampled = second.sampled[second.units.strata[order]]
        if not np.allclose(first_sampled, second_sampled, rtol=_ALIKE, atol=0):
            return None
        return _merged(first, second, np.argsort(order)[second.places])


class ReplicateMoments(SurveyMoments):
    """Moments of a sample with replicate weights.

    The R estimates by the replicates are proportions themselves, so that their spread is that of
    the ratio, without linearization, and has the randomization in it.  Replicates tell no strata:
    the least variance is that of the weights alone.

    replicates : of the tally.
    deviations : (R, k) of the proportions; NaN for replicates in which nobody has a weight.
    """

    _df_rule = "the rank of the replicate weights minus 1"

    @property
    def replicates(self) -> ReplicateSums:
        """The sums of the replicate weights."""
        return cast(ReplicateSums, self._tally.counts.replicates)

    @property
    def replication(self) -> Replication:
        """The rule by which variances follow from the replicates."""
        return self.replicates.replication

    @cached_property
    def _replicate_sums(self) -> tuple[Floats, Floats]:
        """(R, m) sums of the replicate weights by report cell, and (R, 1) over all rows."""
        sums = self.replicates.sums.sum(axis=0)
        totals = self.replicates.totals.sum(axis=0)[:, None]
        if self.cells.split:
            sums = np.hstack([sums, totals - sums])
        return sums, totals

    @cached_property
    def _share_deviations(self) -> Floats:
        """(R, m) deviations of the shares of the report cells, times the sum of the weights."""
        sums, totals = self._replicate_sums
        shares = np.full_like(sums, np.nan)
        np.divide(sums, totals, out=shares, where=totals > 0)
        return self.replication.deviations(shares, self.cell_shares) * self.size

    @cached_property
    def deviations(self) -> Floats:
        """(R, k) deviations of the proportions; NaN where nobody has a weight."""
        return np.asarray(self._share_deviations @ self.centred)

    def _sampling_form(self) -> VarianceForm:
        return self._form_of(self._share_deviations)

    @cached_property
    def _total_form(self) -> VarianceForm:
        sums, _ = self._replicate_sums
        return self._form_of(self.replication.deviations(sums, self.first))

    def _form_of(self, deviations: Floats) -> VarianceForm:
        """The sum of squared deviations of replicates; NaN where there are none."""
        usable = self.replication.usable(deviations)
        nothing = np.zeros(deviations.shape[1])
        if not usable.any():
            return VarianceForm(nothing * np.nan, deviations[:0], np.zeros(0), nothing)
        coefficients = self.replication.coefficients[usable]
        return VarianceForm(nothing, deviations[usable], coefficients, nothing)

    @cached_property
    def df(self) -> float:
        """The rank of the replicate weights minus 1."""
        return replicate_df(self.replicates.products.sum(axis=0))

    def covariance_with(self, other: Moments) -> Floats | None:
        """(k, l) covariance with another group of the same sample; None where it is not one."""
        if not isinstance(other, ReplicateMoments) or not self._same_sample(other):
            return None
        usable = self.replication.usable(np.hstack([self.deviations, other.deviations]))
        weighted = self.replication.coefficients[usable, None] * other.deviations[usable]
        return np.asarray(self.deviations[usable].T @ weighted)

    def df_with(self, *others: Moments) -> int | None:
        """Degrees of freedom of all groups together; None where they are not of one sample."""
        products = self.replicates.products.sum(axis=0)
        for other in others:
            if not isinstance(other, ReplicateMoments) or not self._same_sample(other):
                return None
            products = products + other.replicates.products.sum(axis=0)
        return replicate_df(products)

    def _same_sample(self, other: ReplicateMoments) -> bool:
        """True for groups of one sample, whose rows they share out."""
        drawn = int(self.cells.drawn.sum())
        rows = self.cells.rows.sum() + other.cells.rows.sum()
        same_rows = drawn == int(other.cells.drawn.sum()) and rows <= drawn
        return same_rows and self.replication == other.replication

    @property
    def _header(self) -> HeaderLines:
        """The number of replicates, and the sum of the weights."""
        count = len(self.replication.coefficients)
        return [("replicates", f"{count:,} ({self.replication.method})"), *super()._header]

    @property
    def notes(self) -> Sequence[str]:
        """Limits of the standard errors of this sample."""
        notes = list(super().notes)
        unused = int((~self.replication.usable(self._share_deviations)).sum())
        if self.n and unused:
            notes.append(
                f"In {unused} of {len(self.replication.coefficients)} replicates nobody here has a "
                "weight; they are left out, so that the standard errors are too small."
            )
        return notes


class PooledSurveyMoments(SurveyMoments):
    """Moments of samples to which a coin assigned people, parts of a plan, with a design.

    The samples' gains count as known, like weights: a report moves the estimate by its distance
    from what the estimate expects in its sample.
    """

    def _expected_scores(self) -> Floats:
        table = self.cells.table
        samples = self.channel.samples
        rates = transition_matrix(self.channel) @ self.proportions
        expected = np.zeros((int(samples.max()) + 1, self.k))
        np.add.at(expected, samples, rates[:, None] * table)
        return np.asarray(expected[samples])

    @property
    def _total_scores(self) -> Floats:
        """(m, k) the change of the totals by one more report of weight 1."""
        return self.size * self.centred + self.proportions

    def _truths(self, mass: Floats) -> Floats:
        """(k, k) what true answers alone would make of the products of scores."""
        total = np.zeros((self.k, self.k))
        matrix = transition_matrix(self.channel)
        for sample in np.unique(self.channel.samples):
            cells = self.channel.samples == sample
            scores = self.cells.table[cells].T @ matrix[cells]
            total += mass[cells].sum() * (scores * self.proportions) @ scores.T
        return total

    def _fitted(self, mass: Floats) -> Floats:
        """(m,) the sums by report cell, as they are."""
        return mass

    @cached_property
    def support(self) -> tuple[Floats, Floats]:
        """(k,) counts and weighted proportions of reports that name one category, or NaN."""
        counts, _ = arrays.pooled_support(self.channel, self.reported)
        weights, size = arrays.pooled_support(self.channel, self.first)
        return counts, weights / (size or np.nan)

    def _scored(self, sizes: Any) -> Scored:
        """Counts of cells in a simple random sample of a size, by sample."""
        gains = arrays.weights(self.channel, self.first)
        return Scored(gains, sizes * self.cell_shares, self.channel.samples)


class PartSurveyMoments(MeanChannelMoments, PooledSurveyMoments):
    """Moments of one column that a plan asks in several parts; see `moments.PartMoments`.

    The weights of reports are those of the rows times the precisions of the parts.
    """

    @cached_property
    def _squares(self) -> Floats:
        """(parts,) sums of the squared weights of the reports, which sum to 1."""
        parts = arrays.krr_parts(self.channel) or []
        precisions = np.array([part.gap**2 for part in parts])[self.channel.samples]
        total = float(self.first @ precisions) or np.nan
        squares = self.cells.second.sum(axis=0) * (precisions / total) ** 2
        return fixed(np.bincount(self.channel.samples, squares).astype(np.float64))

    @property
    def squared_weights(self) -> float:
        """The sum of the squares of the reports' weights, which sum to 1."""
        return float(self._squares.sum())

    @cached_property
    def mean_rates(self) -> MeanRates:
        """The binomial channel with the mean variance of the reports."""
        return arrays.mean_rates(arrays.krr_parts(self.channel) or [], self._squares)

    @property
    def _drawn_variance(self) -> Floats:
        """(k,) variance of the proportions, the larger of both forms'."""
        return np.fmax(self.variance, self.least_variance)

    @property
    def _shared_notes(self) -> Sequence[str]:
        """A sentence on how the parts count."""
        return [PRECISION]


def _merged(first: SampleCells, second: SampleCells, second_places: Indices) -> SampleCells | None:
    """The rows of two groups of one sample; None where units have more rows than were sampled.

    second_places : the places of the second's units among those of the first.
    """
    places = np.union1d(first.places, second_places)
    size = len(places)
    first_index = np.searchsorted(places, first.places)
    second_index = np.searchsorted(places, second_places)

    def scattered(first_values: Floats, second_values: Floats) -> tuple[Floats, Floats]:
        return (
            _scattered(first_values, first_index, size),
            _scattered(second_values, second_index, size),
        )

    both = copy(first)
    both.set_places(places)
    both.rows = np.add(*scattered(first.rows, second.rows))
    if (both.rows > both.drawn[places]).any():
        return None
    both.inverse = np.add(*scattered(first.inverse, second.inverse))
    both.inverse2 = np.add(*scattered(first.inverse2, second.inverse2))
    both.reported = np.hstack(scattered(first.reported, second.reported))
    both.first = np.hstack(scattered(first.first, second.first))
    both.second = np.hstack(scattered(first.second, second.second))
    return both


def _same_units(first: SampleCells, second: SampleCells) -> Indices | None:
    """The places of the second's units in the order of the first's; None where they differ."""
    if first.units is second.units:
        order = np.arange(len(first.units))
    elif {*first.units.keys} == {*second.units.keys}:
        order = second.units.places_of(first.units.keys)
    else:
        return None
    return order if np.array_equal(first.drawn, second.drawn[order]) else None


def _scattered(values: Floats, places: Indices, size: int) -> Floats:
    """(size, ...) values at their places, 0 elsewhere."""
    spread = np.zeros((size, *values.shape[1:]))
    spread[places] = values
    return spread


def moments_of(counted: Tally | RowSums, target: str, ddof: int, design: SampleDesign) -> Moments:
    """The moments of counted reports: the only place that asks what kind they are."""
    deck = counted.mechanism.deck
    if isinstance(counted, Tally) and deck is not None:
        return deck_moments(counted, target, ddof, design, deck)
    if isinstance(counted, RowSums):
        if design.finite:
            raise no_design_by_row()
        return (WeightedRowMoments if counted.sampled else RowMoments)(counted, target, ddof)
    if counted.sampled or design.finite:
        channel = arrays.pooled(counted.mechanism.channel, counted.plan)
        replicated = counted.counts.replicates is not None
        if not arrays.is_pooled(channel):
            return (ReplicateMoments if replicated else SurveyMoments)(counted, design)
        if replicated:
            raise ArgumentValueError(
                "replicates need one sample of reports, found a column that a plan asks in several "
                "parts, whose weights differ by replicate; give weights alone"
            )
        is_column = arrays.krr_parts(channel) is not None
        return (PartSurveyMoments if is_column else PooledSurveyMoments)(counted, design)
    return channel_moments(counted, target, ddof)
