"""Proportions of small groups that borrow strength from all groups (Fay and Herriot 1979).

The unbiased estimates y of the groups have known covariances V, and the true proportions vary
between groups around a mean that may depend on covariates x of the groups:

    y = theta + e,    theta = B'x + u,    Var(e) = V,    Var(u) = rho (diag(p) - p p').

With p the mean proportions, rho is 0 where all groups are alike and 1 where everybody in a group
answers alike, whatever the number of categories.  rho is estimated by restricted maximum
likelihood, and the pooled proportions are the best linear predictors at that rho.  Their mean
squared error includes the estimation of B and rho (Prasad and Rao 1990).  Intervals are integrated
over rho with a flat prior, because an estimated rho of 0 would make them far too short.

Pooled proportions are biased for each group, towards the mean, and have a smaller error on average
over groups; so their intervals cover on average over groups, and not for each.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._cached import cached_property
from rrstats._checks import check_level
from rrstats._display import HeaderLines, counted, label, percent_range
from rrstats._names import checked_options
from rrstats._typing import Floats, Indices, Labels
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.estimation.estimates.group_labels import label_text, with_labels
from rrstats.estimation.estimates.result import (
    Result,
    formats_of,
    label_column,
    place_or_last,
    proportion_rows,
    titled,
)
from rrstats.inference.contrasts import Interval, project_to_simplex
from rrstats.inference.multinomial import chi_squared_test
from rrstats.inference.optimize import ValuesAndSlopes, last_accepted
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class _PosteriorConstants:
    """Constants of the posterior of rho.

    points : values of rho, equally far on the scale of its root.
    refinements : times that the grid is narrowed to where the likelihood has its mass.
    negligible : difference of the log-likelihood from its maximum beyond which rho is left out.
    """

    points: int = 60
    refinements: int = 2
    negligible: float = 12.0


_GRID = _PosteriorConstants()

_FEW_GROUPS = 5
"""A note warns where so few groups, or fewer, say how much groups differ."""


@dataclass(frozen=True, eq=False)
class _Model:
    """Groups with reports, their covariates, and the likelihood of rho.

    Proportions are without the last category, which is 1 minus the others.

    estimates : (G, d) for d = k - 1.  errors : (G, d, d) covariances V.
    columns : (G, q) covariates.  spread : (d, d) diag(p) - p p'.
    """

    estimates: Floats
    errors: Floats
    columns: Floats
    spread: Floats

    def total(self, rho: float) -> Floats:
        """(G, d, d) covariances of the estimates around the mean."""
        return self.errors + rho * self.spread

    def coefficients(self, rho: float) -> tuple[Floats, Floats]:
        """(d q,) coefficients B by generalized least squares, and their covariance."""
        inverse = np.linalg.inv(self.total(rho))
        columns = self._design
        information = np.einsum("gda,gde,geb->ab", columns, inverse, columns)
        covariance = np.linalg.inv(information)
        sums = np.einsum("gda,gde,ge->a", columns, inverse, self.estimates)
        return covariance @ sums, covariance

    @cached_property
    def _design(self) -> Floats:
        """(G, d, d q) the design of all coefficients of each group."""
        return self.design_of(self.columns)

    def design_of(self, columns: Floats) -> Floats:
        """(H, d, d q) the design of groups with (H, q) covariates."""
        d = self.estimates.shape[1]
        return np.asarray(np.kron(np.eye(d), columns[:, None]), dtype=np.float64)

    def log_likelihood(self, rho: float) -> float:
        """The restricted log-likelihood."""
        total = self.total(rho)
        inverse = np.linalg.inv(total)
        coefficients, covariance = self.coefficients(rho)
        rest = self.estimates - self._design @ coefficients
        quadratic = np.einsum("gd,gde,ge->", rest, inverse, rest)
        logs = np.linalg.slogdet(total)[1].sum() - np.linalg.slogdet(covariance)[1]
        return float(-(logs + quadratic) / 2)

    def information(self, rho: float) -> float:
        """The expected information on rho."""
        inverse = np.linalg.inv(self.total(rho)) @ self.spread
        return float(np.einsum("gde,ged->", inverse, inverse) / 2)


@dataclass(frozen=True, eq=False, repr=False)
class PooledGroups(Result):
    """Pooled proportions of groups; coverage of intervals holds on average over groups.

    A ``shrinkage`` of 1 means that a group's estimate is the mean, of 0 that it is its own alone.

    Attributes
    ----------
    names : tuple of hashables
        The columns that make the groups.
    groups : tuple
        Labels of the groups, those without reports last.
    categories : tuple of k hashables
    sizes : ndarray of shape (groups,)
        Numbers of reports.
    raw : ndarray of shape (groups, k)
        The unbiased proportions; NaN without reports.
    rho : float
        Variance between groups, as a part of that of single people: 0 where groups are alike.
    name : hashable
        The column of the reports; None if it has no name.
    """

    _shown = ("proportion", "low", "high", "raw", "shrinkage", "n")
    _formats = formats_of("{:.4f}", "raw", "std_error") | formats_of("{:.2f}", "shrinkage")

    names: Labels
    groups: tuple[Any, ...]
    categories: Labels
    sizes: Floats
    raw: Floats
    rho: float
    model: _Model
    columns: Floats
    grid: Floats
    weights: Floats
    name: Hashable

    # -- the variance between groups -----------------------------------------------------------

    @property
    def between_std(self) -> Floats:
        """(k,) standard deviation of the true proportions between groups."""
        spread = np.diagonal(self.model.spread)
        last = self.model.spread.sum()
        return np.sqrt(self.rho * np.append(spread, last))

    def rho_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval of rho: all values that a likelihood-ratio test does not reject.

        Parameters
        ----------
        level : float
            Confidence.

        Returns
        -------
        tuple of 2 floats

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no", "yes", "no", "no"] * 25 + ["yes", "no"] * 50
        >>> reports += ["no"] * 70 + ["yes"] * 30
        >>> areas = ["a"] * 100 + ["b"] * 100 + ["c"] * 100
        >>> pooled = rr.estimate(reports, ["no", "yes"], 0.8, by=areas).pooled()
        >>> [round(end, 3) for end in pooled.rho_interval()]
        [0.029, 1.0]
        """
        limit = scipy.special.chdtri(1, 1 - check_level(level)) / 2
        logs = np.array([self.model.log_likelihood(rho) for rho in self.grid])
        inside = self.grid[logs >= self.model.log_likelihood(self.rho) - limit]
        low = min(float(inside.min(initial=self.rho)), self.rho)
        return low, max(float(inside.max(initial=self.rho)), self.rho)

    @property
    def p_value(self) -> float:
        """The p-value of the likelihood-ratio test of rho = 0: half of chi-squared with one df."""
        gain = self.model.log_likelihood(self.rho) - self.model.log_likelihood(0.0)
        return 0.5 * chi_squared_test(2 * gain, 1)[1] if self.rho else 1.0

    # -- the groups ------------------------------------------------------------------------------

    def _predicted(self, rho: float) -> tuple[Floats, Floats, Floats]:
        """(H, d) predictors at a rho, their (H, d, d) covariance, and the weight of the mean.

        Groups without reports have the mean of the model.
        """
        model = self.model
        d = model.estimates.shape[1]
        coefficients, covariance = model.coefficients(rho)
        design = model.design_of(self.columns)
        mean = design @ coefficients
        shrinkage = np.broadcast_to(np.eye(d), (len(design), d, d)).copy()
        observed = len(model.estimates)  # these groups come first
        inverse = np.linalg.inv(model.total(rho))
        shrinkage[:observed] = model.errors @ inverse
        predicted = mean.copy()
        residuals = model.estimates - mean[:observed]
        predicted[:observed] += residuals - np.einsum("gde,ge->gd", shrinkage[:observed], residuals)
        between = np.broadcast_to(rho * model.spread, (len(design), d, d))
        conditional = shrinkage @ between  # with the coefficients known
        of_mean = shrinkage @ design
        return predicted, conditional + of_mean @ covariance @ of_mean.swapaxes(1, 2), shrinkage

    @cached_property
    def _at_rho(self) -> tuple[Floats, Floats, Floats]:
        return self._predicted(self.rho)

    @property
    def shrinkage(self) -> Floats:
        """(groups,) the part of each estimate that comes from the mean; 1 without reports."""
        return np.asarray(np.trace(self._at_rho[2], axis1=1, axis2=2) / self.model.spread.shape[0])

    @cached_property
    def proportions(self) -> Floats:
        """(groups, k) pooled proportions, inside the simplex."""
        predicted = _with_last(self._at_rho[0])
        outside = (predicted < 0).any(axis=1)
        for row in np.flatnonzero(outside):
            predicted[row] = project_to_simplex(predicted[row])
        return predicted

    @property
    def std_error(self) -> Floats:
        """(groups, k) root mean squared errors, with those of the estimates of B and rho."""
        _, variance, shrinkage = self._at_rho
        model = self.model
        extra = np.zeros_like(variance)
        observed = len(model.estimates)
        if observed:
            inverse = np.linalg.inv(model.total(self.rho))
            slope = shrinkage[:observed] @ model.spread @ inverse
            change = slope @ model.total(self.rho) @ slope.swapaxes(1, 2)
            extra[:observed] = 2 * change / model.information(self.rho)
        return np.sqrt(_variances(variance + extra))

    def interval(self, level: float = 0.95) -> Interval:
        """Intervals of the true proportions, which cover on average over groups.

        Parameters
        ----------
        level : float
            Confidence.

        Returns
        -------
        Interval
            (groups, k) ends, cut to [0, 1]: quantiles of the normal distributions given rho, mixed
            over the posterior of rho under a flat prior.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no", "yes", "no", "no"] * 25 + ["yes", "no"] * 50
        >>> reports += ["no"] * 70 + ["yes"] * 30
        >>> areas = ["a"] * 100 + ["b"] * 100 + ["c"] * 100
        >>> pooled = rr.estimate(reports, ["no", "yes"], 0.8, by=areas).pooled()
        >>> [end.round(2).tolist() for end in pooled.interval(0.9)]
        [[[0.78, 0.0], [0.4, 0.35], [0.7, 0.05]], [[1.0, 0.22], [0.65, 0.6], [0.95, 0.3]]]
        """
        tail = (1 - check_level(level)) / 2
        parts = [self._predicted(rho)[:2] for rho in self.grid]
        means = np.stack([_with_last(mean).ravel() for mean, _ in parts])
        errors = np.sqrt(np.stack([_variances(variance).ravel() for _, variance in parts]))
        least = (means - 12 * errors).min(axis=0)
        largest = (means + 12 * errors).max(axis=0)

        def end(probability: float) -> Floats:
            def excess(which: Indices, point: Floats) -> ValuesAndSlopes:
                z = (point - means[:, which]) / errors[:, which]
                densities = np.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * errors[:, which])
                below = self.weights @ scipy.special.ndtr(z)
                return below - probability, self.weights @ densities

            quantiles = last_accepted(excess, least, largest, close=0.0)
            return np.clip(quantiles, 0, 1).reshape(-1, len(self.categories))

        return Interval(end(tail), end(1 - tail))

    # -- tables, words, pictures -------------------------------------------------------------------

    @property
    def _n_labels(self) -> int:
        """The columns of the groups and the category."""
        return len(self.names) + 1

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each group and category.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            The columns of the groups, category, n, raw (the unbiased proportion), proportion,
            std_error, low, high, and shrinkage, the part of the estimate that comes from the mean.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no", "yes", "no", "no"] * 25 + ["yes", "no"] * 50
        >>> reports += ["no"] * 70 + ["yes"] * 30
        >>> areas = ["a"] * 100 + ["b"] * 100 + ["c"] * 100
        >>> pooled = rr.estimate(reports, ["no", "yes"], 0.8, by=areas).pooled()
        >>> list(pooled.to_frame().columns)
        ['group', 'category', 'n', 'raw', 'proportion', 'std_error', 'low', 'high', 'shrinkage']
        """
        low, high = self.interval(level)
        shape = self.proportions.shape
        numbers = {
            "n": self.sizes[:, None],
            "raw": self.raw,
            "proportion": self.proportions,
            "std_error": self.std_error,
            "low": low,
            "high": high,
            "shrinkage": self.shrinkage[:, None],
        }
        arrays = {name: np.broadcast_to(array, shape).ravel() for name, array in numbers.items()}
        table = pd.DataFrame(
            {"category": label_column(self.categories * len(self.groups)), **arrays}
        )
        return with_labels(table, self.names, self.groups)

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The pooled proportions of one category in sentences.

        Parameters
        ----------
        category : hashable
            By default the last one.
        level : float
            Confidence.

        Returns
        -------
        str
            One line for each group.

        Examples
        --------
        >>> import rrstats as rr
        >>> reports = ["no", "yes", "no", "no"] * 25 + ["yes", "no"] * 50
        >>> reports += ["no"] * 70 + ["yes"] * 30
        >>> areas = ["a"] * 100 + ["b"] * 100 + ["c"] * 100
        >>> pooled = rr.estimate(reports, ["no", "yes"], 0.8, by=areas).pooled()
        >>> print(pooled.interpret())
        a: about 10.4% yes, 95% interval 0.0% to 24.8%, 12% from all groups
        b: about 46.9% yes, 95% interval 32.4% to 62.9%, 12% from all groups
        c: about 17.7% yes, 95% interval 2.6% to 32.2%, 12% from all groups
        """
        place = place_or_last(category, self.categories, "these groups")
        low, high = (end[:, place] for end in self.interval(level))
        lines = []
        for row, group in enumerate(self.groups):
            lines.append(
                f"{label_text(group)}: about {self.proportions[row, place]:z.1%} "
                f"{label(self.categories[place])}, {level * 100:.10g}% interval "
                f"{percent_range(low[row], high[row])}, {self.shrinkage[row]:.0%} from all groups"
            )
        return "\n".join(lines)

    @checked_options(PlotOptions)
    def plot(
        self,
        ax: Axes | None = None,
        *,
        category: Hashable = ...,
        level: float = 0.95,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the pooled proportion of one category in each group, beside the raw one.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        category : hashable
            By default the last one.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            Groups in the order of their pooled proportions; grey bars are the raw ones.  The
            groups that are truly the most extreme are covered less often than the level.
        """
        place = place_or_last(category, self.categories, "these groups")
        order = np.argsort(self.proportions[:, place], kind="stable")
        low, high = (end[order, place] for end in self.interval(level))
        labels = [self.groups[row] for row in order]
        rows = proportion_rows(labels, self.proportions[order, place], (low, high))
        rows["comparison"] = self.raw[order, place]
        rows["n"] = self.sizes[order]
        what = label(self.categories[place])
        title = f"proportion of {what} by {', '.join(map(str, self.names))}, pooled"
        title += "\nintervals hold on average over groups, and less for extreme ones"
        options = {"title": titled(self.name, title), **options}
        return plot_intervals(
            rows,
            ax,
            xlabel=f"proportion of {what}",
            level=level,
            comparison="estimate of the group alone",
            **options,
        )

    @property
    def _title(self) -> str:
        """The kind of result, and the columns of the groups."""
        return (
            f"Pooled proportions of {len(self.groups)} groups by {', '.join(map(str, self.names))}"
        )

    @property
    def _header(self) -> HeaderLines:
        """The variance between groups with its interval, and the test that it is 0."""
        low, high = self.rho_interval()
        rho = f"{self.rho:.3g} ({low:.3g} to {high:.3g}, p = {self.p_value:.3g})"
        return [("n", f"{int(self.sizes.sum()):,}"), ("rho", rho)]

    @property
    def notes(self) -> Sequence[str]:
        """The assumptions of pooling, and the number of groups without reports of their own."""
        notes = [
            "Pooled proportions are drawn towards the mean of the groups; coverage of their "
            "intervals holds on average over groups.",
            "It does not hold for the most extreme groups at the ends of a sorted list: the 95% "
            "interval of the group whose true proportion is the largest or the smallest covered "
            "in 64% to 87% of simulated surveys.",
        ]
        nobody = int((self.sizes == 0).sum())
        if nobody:
            notes.append(
                f"Without reports: {counted(nobody, 'group')}, with the mean of the model."
            )
        if len(self.model.estimates) <= _FEW_GROUPS:
            notes.append(
                f"{len(self.model.estimates)} groups say little about how much groups differ."
            )
        return notes


def _with_last(values: Floats) -> Floats:
    """(..., k) proportions from those without the last category."""
    return np.concatenate([values, 1 - values.sum(axis=-1, keepdims=True)], axis=-1)


def _variances(covariance: Floats) -> Floats:
    """(..., k) variances of all categories from (..., d, d) without the last one."""
    each = np.diagonal(covariance, axis1=-2, axis2=-1)
    last = covariance.sum(axis=(-2, -1))[..., None]
    return np.asarray(np.maximum(np.concatenate([each, last], axis=-1), 0.0))


def pool(
    names: Labels, estimates: Mapping[Any, Any], covariates: pd.DataFrame | None
) -> PooledGroups:
    """Pooled proportions of groups.

    estimates : by label.  covariates : of the groups, indexed by label; others have no reports.
    """
    labels = list(estimates)
    sizes = np.array([estimates[group].n for group in labels], dtype=np.float64)
    first = estimates[labels[0]] if labels else None
    has_reports = np.array(
        [each.n >= 2 and np.isfinite(each.proportions).all() for each in estimates.values()],
        dtype=np.bool_,
    )
    observed = int(has_reports.sum())
    if first is None or observed < 2:
        raise ArgumentValueError(
            f"pooled needs at least two groups with two reports each, found {observed}; estimate "
            "without by="
        )
    order = [*np.flatnonzero(has_reports), *np.flatnonzero(~has_reports)]
    ordered = [labels[place] for place in order]
    columns, added = _columns_of(covariates, ordered)
    raw = np.array([estimates[group].proportions for group in ordered])
    model = _model([estimates[group] for group in ordered[:observed]], columns[:observed])
    grid, weights, rho = _posterior_of_rho(model)
    k = raw.shape[1]
    return PooledGroups(
        names=names,
        groups=(*ordered, *added),
        categories=tuple(first.categories),
        sizes=np.concatenate([sizes[order], np.zeros(len(added))]),
        raw=np.vstack([raw, np.full((len(added), k), np.nan)]),
        rho=rho,
        model=model,
        columns=columns,
        grid=grid,
        weights=weights,
        name=first.name,
    )


def _columns_of(covariates: pd.DataFrame | None, groups: list[Any]) -> tuple[Floats, list[Any]]:
    """(H, q) a column of ones and the covariates; and groups that only these have."""
    if covariates is None:
        return np.ones((len(groups), 1)), []
    if not isinstance(covariates, pd.DataFrame):
        raise ArgumentTypeError(
            "covariates must be a DataFrame with a row for each group, indexed by its label, found "
            f"{type(covariates).__name__}"
        )
    if not covariates.index.is_unique:
        raise ArgumentValueError("covariates must have one row for each group, found more")
    absent = [group for group in groups if group not in covariates.index]
    if absent:
        raise ArgumentValueError(
            f"covariates must have a row for each group, found none for {len(absent)} of "
            f"{len(groups)}; its index must hold the labels of the groups"
        )
    added = [group for group in covariates.index if group not in set(groups)]
    frame = pd.get_dummies(covariates.loc[[*groups, *added]], drop_first=True, dtype=float)
    try:
        numbers = frame.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full((1, 1), np.nan)
    if not np.isfinite(numbers).all():
        raise ArgumentValueError(
            "covariates must be finite numbers or factors without missing values, found others"
        )
    columns = np.column_stack([np.ones(len(numbers)), numbers])
    width = columns.shape[1]
    if len(groups) <= width or np.linalg.matrix_rank(columns[: len(groups)]) < width:
        raise ArgumentValueError(
            f"covariates must be fewer than groups and not collinear, found {width} "
            f"columns, with the constant, of {len(groups)} groups"
        )
    return columns, added


def _model(estimates: Sequence[Any], columns: Floats) -> _Model:
    """The model of groups with reports, with covariances that groups of equal size share.

    A group's own covariance goes with its estimate, which would bias the weights; so all groups
    have the mean covariance of a report within groups, over their effective sizes.
    """
    proportions = np.array([estimate.proportions for estimate in estimates])
    d = proportions.shape[1] - 1
    n = np.array([estimate.n for estimate in estimates], dtype=np.float64)
    effective = np.array([np.nanmin(estimate.effective_n) for estimate in estimates])
    covariances = np.array([estimate.covariance[:d, :d] for estimate in estimates])
    of_report = np.einsum("g,gde->de", n / n.sum() * effective, covariances)
    mean = project_to_simplex(n @ proportions / n.sum())
    inside = (mean + 1 / (2 * n.sum())) / (1 + len(mean) / (2 * n.sum()))
    spread = np.diag(inside[:d]) - np.outer(inside[:d], inside[:d])
    errors = of_report / effective[:, None, None]
    return _Model(proportions[:, :d], errors, columns, spread)


def _posterior_of_rho(model: _Model) -> tuple[Floats, Floats, float]:
    """A grid of rho, its posterior weights, and the most likely rho.

    The prior is flat on rho.
    """
    roots = np.linspace(0.0, 1.0, _GRID.points)
    for _ in range(_GRID.refinements):  # to where the likelihood has its mass
        logs = np.array([model.log_likelihood(root**2) for root in roots])
        likely = np.flatnonzero(logs > logs.max() - _GRID.negligible)
        low = roots[max(likely[0] - 1, 0)]
        high = roots[min(likely[-1] + 1, _GRID.points - 1)]
        roots = np.linspace(low, high, _GRID.points)
    logs = np.array([model.log_likelihood(root**2) for root in roots])
    weights = np.exp(logs - logs.max()) * roots  # flat in rho: d rho = 2 root d root
    best = int(np.argmax(logs))
    ends = roots[max(best - 1, 0)], roots[min(best + 1, _GRID.points - 1)]
    optimum = scipy.optimize.minimize_scalar(
        lambda root: -model.log_likelihood(root**2), bounds=ends, method="bounded"
    )
    root = float(optimum.x) if -optimum.fun > logs[best] else float(roots[best])
    return roots**2, weights / weights.sum(), root**2
