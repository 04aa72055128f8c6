"""Estimates where some people do not follow the instructions of the design.

The unbiased estimate is linear in the reports.  If a proportion g of the respondents gave reports
of another distribution (at random, always the same one), it has the mean (1 - g) pi + g r, with pi
the proportions among those who followed and r the mean score of the others' reports.  So

    pi = (estimate - g r) / (1 - g).

`NoncomplianceBounds` takes g as assumed, `Corrected` (in `control_questions`) from a control
question, and `Reported.tipping_point` is the g that explains a claim.  The true answers of those
who did not follow may be anything.  Nothing here is moved into [0, 1] except the ends of intervals.
Sources: Walzenbach and Hinz (2019) and Atsusaka and Stevenson (2023) for random answers in the
crosswise model; Horowitz and Manski (1995) for bounds over all behaviours; Imbens and Manski (2004)
for their intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import (
    check_level,
    check_number,
    check_proportions,
    quote,
)
from rrstats._display import HeaderLines, counted, label, percent_range
from rrstats._typing import Booleans, Floats, Indices, Labels, Limits
from rrstats.data.bitsets import Subsets
from rrstats.data.categories import Categories
from rrstats.errors import ArgumentValueError, NotIdentifiableError
from rrstats.estimation.estimates.estimated_number import EstimatedNumber
from rrstats.estimation.estimates.result import (
    Result,
    formats_of,
    label_column,
    place_or_last,
    titled,
)
from rrstats.estimation.tallies import arrays
from rrstats.estimation.tallies.moments import Moments, outer_interval
from rrstats.inference.contrasts import Interval, normal_quantile
from rrstats.inference.optimize import ValuesAndSlopes, last_accepted
from rrstats.mechanisms.channel import transition_matrix
from rrstats.plots import FigureSize, plot_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANDOM = "random"
ANY = "any"

_PICTURE = 61
"""Assumed proportions of a picture."""


# -- behaviours ----------------------------------------------------------------------------------


class MeanScores(NamedTuple):
    """(k,) smallest and largest mean score of the reports of people who did not follow."""

    low: Floats
    high: Floats


def behaviour_scores(moments: Moments, space: Categories | Subsets, behaviour: Any) -> MeanScores:
    """The mean scores of the reports of people with a behaviour.

    moments : of the estimate.  space : of its reports.
    behaviour : "random", "any", a report, or a mapping from report to probability.
    """
    if isinstance(behaviour, str) and behaviour == ANY:
        return _extreme_scores(moments)
    rates = rates_of(behaviour, space)
    if moments.is_multinomial:
        samples = len(moments.channel.samples) // len(rates)
        scores = _weights(moments) @ np.tile(rates, samples)
    else:
        scores = moments.channel.solve(rates)
    return MeanScores(scores, scores)


def _weights(moments: Moments) -> Floats:
    """(k, m) the estimate is these weights times the rates within each sample."""
    sums = getattr(moments, "first", moments.reported)  # of weights, where there are any
    return arrays.weights(moments.channel, np.asarray(sums, dtype=np.float64))


def _extreme_scores(moments: Moments) -> MeanScores:
    """The smallest and the largest mean scores over all behaviours, another one in each sample."""
    channel = moments.channel
    if not moments.is_multinomial:
        ends = [channel.solve(np.full(moments.k, rate)) for rate in (0.0, 1.0)]
        return MeanScores(np.minimum(*ends), np.maximum(*ends))
    weights = _weights(moments)
    of_samples = [weights[:, channel.samples == sample] for sample in np.unique(channel.samples)]
    low = np.sum([part.min(axis=1) for part in of_samples], axis=0)
    high = np.sum([part.max(axis=1) for part in of_samples], axis=0)
    return MeanScores(low, high)


def rates_of(behaviour: Any, space: Categories | Subsets) -> Floats:
    """(m,) the probability of each report; of sets that each category is a member."""
    if isinstance(behaviour, str) and behaviour == RANDOM:
        if isinstance(space, Subsets):
            rate = 0.5 if space.size is None else space.size / space.k
        else:
            rate = 1 / space.k
        return np.full(space.k, rate)
    if not isinstance(behaviour, Mapping):
        return _report_of(behaviour, space)
    probabilities = check_proportions(
        list(behaviour.values()), "the probabilities of behaviour", len(behaviour)
    )
    reports = np.array([_report_of(report, space) for report in behaviour])
    return np.asarray(probabilities @ reports)


def _report_of(report: Any, space: Categories | Subsets) -> Floats:
    """(m,) 1 at a report, or at the members of a set."""
    domain = space if isinstance(space, Categories) else space.domain
    members = [report]
    reports = domain.describe()
    if isinstance(space, Subsets):
        members = list(report) if isinstance(report, Iterable) else [report]
        size = "sets" if space.size is None else f"sets of {space.size}"
        reports = f"{size} of the categories {reports}"
    codes = [domain.code(member) for member in members]
    is_report = all(code < domain.k for code in codes)
    if isinstance(space, Subsets) and space.size is not None:
        is_report &= len(set(codes)) == space.size
    if not is_report:
        raise ArgumentValueError(
            "behaviour must be 'random', 'any', a report, or a mapping from report to probability; "
            f"the reports are {reports}, found {quote(report)}"
        )
    indicator = np.zeros(domain.k)
    indicator[codes] = 1.0
    return indicator


def behaviour_text(behaviour: Any) -> str:
    """A behaviour in words: what the people who did not follow did."""
    if isinstance(behaviour, str) and behaviour in (RANDOM, ANY):
        return {RANDOM: "answer at random", ANY: "report anything"}[behaviour]
    if isinstance(behaviour, Mapping):
        return f"report {', '.join(f'{p:.4g} {label(r)}' for r, p in behaviour.items())}"
    return f"always report {label(behaviour)}"


# -- bounds --------------------------------------------------------------------------------------


def followers(estimate: Any, scores: Any, proportion: Any) -> Any:
    """The proportions among people who followed, from the mean of all scores."""
    return (estimate - proportion * scores) / (1 - proportion)


def _check_share(value: Any, name: str) -> float:
    """A proportion of people who did not follow: in [0, 1)."""
    return check_number(value, name, 0, 1, ends="[)", hint="somebody must have followed")


def assumed_proportions(proportion: Any) -> Floats:
    """(g, 2) the smallest and largest proportion of each row: numbers, or one pair (low, high)."""
    if isinstance(proportion, tuple):
        if len(proportion) != 2:
            raise ArgumentValueError(
                "proportion must be a number, a list of numbers, or a pair (low, high), found a "
                f"tuple of {len(proportion)}"
            )
        low, high = (_check_share(end, "each end of proportion") for end in proportion)
        if low > high:
            raise ArgumentValueError(f"proportion must be (low, high), found ({low:g}, {high:g})")
        return np.array([[low, high]])
    if not np.iterable(proportion) or isinstance(proportion, str):
        proportion = [proportion]
    values = [_check_share(value, "proportion") for value in proportion]
    if not values:
        raise ArgumentValueError("proportion must have at least one number, found none")
    return np.column_stack([values, values])


@dataclass(frozen=True, eq=False, repr=False)
class NoncomplianceBounds(Result):
    """Proportions if some of the respondents did not follow the instructions.

    Attributes
    ----------
    categories : tuple of k hashables
    assumed : ndarray of shape (g, 2)
        The smallest and the largest assumed proportion of people who did not follow, by row.
    behaviour : object
        What they did: "random", "any", a report, or a mapping from report to probability.
    behaviour_rates : ndarray of shape (m,), or None
        The probabilities of their reports; None for "any".
    moments : Moments
        Those of the estimate.
    scores : MeanScores
        (k,) smallest and largest mean scores of the reports of people who did not follow.
    name : hashable
        The column of the reports; None if it has no name.
    """

    _shown = ("low_bound", "high_bound", "low", "high", "all_low", "all_high")
    _formats = formats_of("{:.4f}", "low_bound", "high_bound", "all_low", "all_high", "assumed")

    categories: Labels
    assumed: Floats
    behaviour: Any
    behaviour_rates: Floats | None
    moments: Moments
    scores: MeanScores
    name: Hashable

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.moments.n)

    @property
    def _n_labels(self) -> int:
        """The assumed proportion, and the category."""
        return 2

    @property
    def bounds(self) -> Interval:
        """(g, k) or, of one row, (k,) bounds of the proportions among people who followed.

        They may lie outside [0, 1]; without noncompliance both are the estimate.
        """
        low, high = self._bounds
        return Interval(self._squeezed(low), self._squeezed(high))

    @property
    def proportions(self) -> Floats:
        """(k,) or (g, k) proportions among people who followed, where they are identified.

        Raises
        ------
        NotIdentifiableError
            The assumption leaves a range: ``behaviour="any"``, or an interval of proportions.
        """
        low, high = self._bounds
        if (low != high).any():
            raise NotIdentifiableError(
                "this assumption gives a range of proportions, not one; use bounds"
            )
        return self._squeezed(low)

    @property
    def everybody(self) -> Interval:
        """(g, k) or (k,) bounds among all: people who did not follow may be of any category."""
        low, high = self._everybody
        return Interval(self._squeezed(low), self._squeezed(high))

    @property
    def _bounds(self) -> Limits:
        """(g, k) bounds among people who followed; ends of the assumed range suffice.

        The proportion is monotone in the assumed proportion.
        """
        ends = self.assumed.T[:, :, None]
        estimate = self.moments.proportions
        low = np.min([followers(estimate, self.scores.high, end) for end in ends], axis=0)
        high = np.max([followers(estimate, self.scores.low, end) for end in ends], axis=0)
        return low, high

    @property
    def _everybody(self) -> tuple[Floats, Floats]:
        """(g, k) bounds among all respondents."""
        ends = self.assumed.T[:, :, None]
        estimate = self.moments.proportions
        low = np.min([estimate - end * self.scores.high for end in ends], axis=0)
        high = np.max([estimate - end * self.scores.low + end for end in ends], axis=0)
        return low, high

    def _squeezed(self, values: Floats) -> Floats:
        return values[0] if len(values) == 1 else values

    def interval(self, level: float = 0.95, *, everybody: bool = False) -> Interval:
        """Intervals that cover the true proportions, whatever they are between the bounds.

        Parameters
        ----------
        level : float
            Confidence.
        everybody : bool
            Of all respondents; by default of people who followed.

        Returns
        -------
        Interval
            (k,) or (g, k) ends, cut to [0, 1].

        Notes
        -----
        Imbens and Manski (2004): both bounds are moved outward by c standard errors, with c between
        the one-sided and the two-sided quantile, by the distance of the bounds.  Instead of errors
        the margins are those of the estimate's own intervals before they are cut, between the
        one-sided and the two-sided one as c is.  Lowest exact coverage at 95%, of 100 reports of
        k-RR with prob 0.75 and 0.9 and up to 30% who do not follow: 95.0%.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> bounds = est.noncompliance([0, 0.1])
        >>> [end.round(2).tolist() for end in bounds.interval(0.9)]
        [[[0.73, 0.17], [0.75, 0.13]], [[0.83, 0.27], [0.87, 0.25]]]
        """
        low, high = self._uncut_interval(check_level(level), everybody)
        low = np.nan_to_num(np.clip(low, 0, 1), nan=0)
        high = np.nan_to_num(np.clip(high, 0, 1), nan=1)
        return Interval(self._squeezed(low), self._squeezed(high))

    def _uncut_interval(self, level: float, everybody: bool) -> Limits:
        """(g, k) ends of the intervals, which may leave [0, 1]."""
        estimate = self.moments.proportions
        low, high = self._everybody if everybody else self._bounds
        scale = 1.0 if everybody else 1 / (1 - self.assumed.max(axis=1))[:, None]
        one_sided = max(2 * level - 1, level / 2)
        narrow, wide = (outer_interval(self.moments, each) for each in (one_sided, level))
        fewest, most = map(normal_quantile, (one_sided, level))
        errors = np.fmax(estimate - wide.low, wide.high - estimate) / most
        quantiles = _imbens_manski(level, (high - low) / (errors * scale))
        weight = (quantiles - fewest) / (most - fewest)
        below = estimate - narrow.low + weight * (narrow.low - wide.low)
        above = narrow.high - estimate + weight * (wide.high - narrow.high)
        return low - scale * below, high + scale * above

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each assumed proportion and category.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            assumed (the proportion, as text if it is a range), category, then
            low_bound and high_bound among people who followed with the interval low and high, and
            all_low and all_high, the bounds among all respondents.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> bounds = est.noncompliance([0, 0.1])
        >>> bounds.to_frame().round(2).iloc[:, :3]
           assumed category  low_bound
        0      0.0       no       0.78
        1      0.0      yes       0.22
        2      0.1       no       0.81
        3      0.1      yes       0.19
        """
        rows = len(self.assumed)
        k = len(self.categories)
        low, high = (np.reshape(end, (rows, k)) for end in self.interval(level))
        columns = [*self._bounds, low, high, *self._everybody]
        assumed: list[Any] = [
            a if a == b else f"{a:g} to {b:g}" for a, b in self.assumed.tolist() for _ in range(k)
        ]
        table = {"assumed": assumed, "category": label_column(self.categories * rows)}
        return pd.DataFrame(table | dict(zip(self._shown, map(np.ravel, columns), strict=True)))

    def sharp_bounds(self) -> Interval:
        """Bounds over all proportions inside the simplex that could make these reports.

        They start from the maximum likelihood proportions, so that reports and proportions agree,
        and use what the other categories' proportions rule out; where all proportions are inside
        the simplex and ``behaviour`` is one distribution, both ends are the same.

        Returns
        -------
        Interval
            (g, k) or (k,) sharp bounds among people who followed, by linear programming; NaN
            without reports.

        Raises
        ------
        ArgumentValueError
            The sample has weights or a design, reports name several categories, or no behaviour
            of so many people explains the reports.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> bounds = est.noncompliance([0, 0.1])
        >>> [end.round(2).tolist() for end in bounds.sharp_bounds()]
        [[[0.78, 0.22], [0.81, 0.19]], [[0.78, 0.22], [0.81, 0.19]]]
        """
        if self.moments.designed or not self.moments.is_multinomial:
            raise ArgumentValueError(
                "sharp bounds need counts of reports, without weights or a design and of one label "
                "each; bounds has the others"
            )
        rows = [self._sharp(low, high) for low, high in self.assumed.tolist()]
        low, high = np.moveaxis(np.array(rows), 2, 0) + 0.0  # no -0.0
        return Interval(self._squeezed(low), self._squeezed(high))

    def _sharp(self, fewest: float, most: float) -> Floats:
        """(k, 2) sharp bounds for a range of assumed proportions.

        With g people who did not follow, t = 1 / (1 - g) and v = (t - 1) times the probabilities of
        their reports, reports have the rates r where P pi + v = t r: linear in pi, v and t.
        """
        channel = self.moments.channel
        if not self.n:
            return np.full((channel.k, 2), np.nan)
        matrix = transition_matrix(channel)
        m, classes = matrix.shape
        rates = matrix @ arrays.most_likely(channel, self.moments.reported)
        equations = [np.hstack([matrix, np.eye(m), -rates[:, None]])]
        values = [np.zeros(m)]
        equations.append(np.append(np.ones(classes), np.zeros(m + 1))[None])
        values.append(np.ones(1))
        if self.behaviour_rates is not None:
            of_cells = np.tile(self.behaviour_rates, m // len(self.behaviour_rates))
            equations.append(np.hstack([np.zeros((m, classes)), np.eye(m), -of_cells[:, None]]))
            values.append(-of_cells)
        limits = [(0, None)] * (classes + m) + [(1 / (1 - fewest), 1 / (1 - most))]
        ends = []
        for code in range(self.moments.k):
            is_category = np.asarray(channel.class_of) == code
            goal = np.append(is_category.astype(np.float64), np.zeros(m + 1))
            ends.append([sign * _least(sign * goal, equations, values, limits) for sign in (1, -1)])
        return np.array(ends)

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The proportions of one category in a sentence for each assumed proportion.

        Parameters
        ----------
        category : hashable
            By default the last one.
        level : float
            Confidence.

        Returns
        -------
        str

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> bounds = est.noncompliance([0, 0.1])
        >>> print(bounds.interpret())
        if 0.0% answer at random, 22.0% yes among the others, 95% interval 16.0% to 28.1%
        if 10.0% answer at random, 18.9% yes among the others, 95% interval 12.3% to 25.7%
        """
        place = place_or_last(category, self.categories, "this result")
        shape = (len(self.assumed), len(self.categories))
        low, high = (np.reshape(end, shape)[:, place] for end in self.interval(level))
        uncut = self._uncut_interval(level, everybody=False)
        is_outside = outside_unit_interval(*uncut).reshape(shape)[:, place]
        low_bounds, high_bounds = (bound[:, place] for bound in self._bounds)
        lines = []
        for row, (fewest, most) in enumerate(self.assumed.tolist()):
            share = f"{fewest:z.1%}" if fewest == most else f"{fewest:z.1%} to {most:z.1%}"
            about = f"{low_bounds[row]:z.1%}"
            if low_bounds[row] != high_bounds[row]:
                about = f"{about} to {high_bounds[row]:z.1%}"
            lines.append(
                f"if {share} {behaviour_text(self.behaviour)}, {about} "
                f"{label(self.categories[place])} among the others, {level * 100:.10g}% interval "
                f"{percent_range(low[row], high[row])}{OUTSIDE if is_outside[row] else ''}"
            )
        return "\n".join(lines)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        category: Hashable = ...,
        level: float = 0.95,
        title: str | None = None,
        figsize: FigureSize | None = None,
    ) -> Axes:
        """Draw the proportion of one category against the assumed proportion.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        category : hashable
            By default the last one.
        level : float
            Confidence level of the band.
        title : str, optional
            Text above the picture.
        figsize : (float, float), optional
            Width and height of new Axes in inches.

        Returns
        -------
        Axes
            From 0 to the largest assumed proportion, at least to 50%: bounds among people who
            followed as a line or a dark area, their interval as a light one.
        """
        place = place_or_last(category, self.categories, "this result")
        most = max(0.5, float(self.assumed.max()))
        grid = np.linspace(0, most, _PICTURE)
        drawn = replace(self, assumed=np.stack([grid, grid], axis=1))
        ends = [*drawn.bounds, *drawn.interval(level)]
        names = ("low_bound", "high_bound", "low", "high")
        lines = {name: end[:, place] for name, end in zip(names, ends, strict=True)}
        frame = pd.DataFrame(
            lines, index=pd.Index(grid, name=f"people who {behaviour_text(self.behaviour)}")
        )
        return plot_bounds(
            frame,
            ax,
            level=level,
            ylabel=f"proportion of {label(self.categories[place])} among the others",
            title=titled(self.name, counted(self.n, "report")) if title is None else title,
            figsize=figsize,
        )

    @property
    def _header(self) -> HeaderLines:
        """The behaviour of people who did not follow, and the number of reports."""
        return [("those who did not follow", behaviour_text(self.behaviour)), ("n", f"{self.n:,}")]

    @property
    def _cautions(self) -> Sequence[str]:
        """A sentence that opens the printed result if an assumption does not fit the reports."""
        return outside_caution(*self._uncut_interval(0.95, everybody=False), self.categories)

    @property
    def notes(self) -> Sequence[str]:
        """Words for the columns."""
        return [
            "low_bound and high_bound are about the people who followed, low and high their "
            "interval; all_low and all_high about all, where those who did not follow "
            "may be of any category."
        ]


OUTSIDE = " (before it is cut, it lies outside [0, 1]: the reports hardly fit the assumption)"
"""What a sentence adds to an interval that was cut to one point."""


def outside_unit_interval(low: Floats, high: Floats) -> Booleans:
    """True where an interval that is not cut has no point in [0, 1]."""
    return np.asarray((high < 0) | (low > 1))


def outside_caution(low: Floats, high: Floats, categories: Sequence[Hashable]) -> Sequence[str]:
    """A sentence if intervals of categories, (k,) or (g, k) and not cut, miss [0, 1]; or none."""
    is_outside = outside_unit_interval(low, high).reshape(-1, len(categories)).any(axis=0)
    if not is_outside.any():
        return []
    names = ", ".join(label(categories[code]) for code in np.flatnonzero(is_outside).tolist())
    return [
        f"Warning: before it is cut, the 95% interval of {names} lies outside [0, 1], so the "
        "reports hardly fit the assumption."
    ]


def _imbens_manski(level: float, distance: Floats) -> Floats:
    """The quantile c with Phi(c + distance) - Phi(-c) = level, for bounds some errors apart."""
    errors_apart = np.nan_to_num(distance, nan=0.0).ravel()
    one_sided = np.full(errors_apart.shape, scipy.special.ndtri(level))
    two_sided = np.full(errors_apart.shape, normal_quantile(level))

    def excess(which: Indices, c: Floats) -> ValuesAndSlopes:
        upper = c + errors_apart[which]
        covered = scipy.special.ndtr(upper) - scipy.special.ndtr(-c)
        density = (np.exp(-(upper**2) / 2) + np.exp(-(c**2) / 2)) / np.sqrt(2 * np.pi)
        return covered - level, density

    return last_accepted(excess, one_sided, two_sided, close=0.0).reshape(distance.shape)


def _least(
    goal: Floats,
    equations: Sequence[Floats],
    values: Sequence[Floats],
    limits: Sequence[tuple[float, float | None]],
) -> float:
    """The least value of a linear function under linear equations and limits."""
    solved = scipy.optimize.linprog(
        goal, A_eq=np.vstack(equations), b_eq=np.concatenate(values), bounds=limits
    )
    if not solved.success:
        raise ArgumentValueError(
            "no proportions explain the reports if so many people behaved so; assume fewer people "
            "or behaviour='any'"
        )
    return float(solved.fun)


# -- from an estimate ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reported:
    """An estimate as bounds and corrections read it.

    categories : (k,).  moments : its moments.  space : of its reports.  sensitive : the code of the
    sensitive category.  name : of the column, or None.
    """

    categories: Labels
    moments: Moments
    space: Categories | Subsets
    sensitive: int
    name: Hashable

    def scores(self, behaviour: Any) -> MeanScores:
        """The mean scores of the reports of people with a behaviour."""
        return behaviour_scores(self.moments, self.space, behaviour)

    def bounds(self, proportion: Any, behaviour: Any) -> NoncomplianceBounds:
        """The proportions if some people did not follow the instructions."""
        is_any = isinstance(behaviour, str) and behaviour == ANY
        return NoncomplianceBounds(
            self.categories,
            assumed_proportions(proportion),
            behaviour,
            None if is_any else rates_of(behaviour, self.space),
            self.moments,
            self.scores(behaviour),
            self.name,
        )

    def tipping_point(self, code: int, claim: float, behaviour: Any) -> EstimatedNumber:
        """The proportion of people who did not follow that explains a claimed proportion."""
        claim = check_number(claim, "claim", 0, 1)
        estimate = float(self.moments.proportions[code])
        scores = self.scores(behaviour)
        score = float((scores.high if estimate > claim else scores.low)[code])
        proportion = _explaining(estimate, claim, score)
        behaved = behaviour_text(behaviour)
        claimed = f"{claim:.1%} {label(self.categories[code])} among the others"
        name = f"proportion of respondents who {behaved} that explains {claimed}"
        if not 0 <= proportion < 1:
            none = f"no proportion of respondents who {behaved} explains {claimed}"
            return EstimatedNumber(name, np.nan, np.nan, _absence=none)
        distance = abs(score - claim)
        std_error = float(self.moments.std_error[code]) / distance if distance else np.inf
        ends = partial(_tipping_interval, moments=self.moments, code=code, claim=claim, score=score)
        return EstimatedNumber(name, proportion, std_error, ends)


def _tipping_interval(
    level: float, *, moments: Moments, code: int, claim: float, score: float
) -> Interval:
    """The proportions in [0, 1] that explain the ends of the interval of a category."""
    ends = outer_interval(moments, level)
    explained = (_explaining(float(end[code]), claim, score) for end in ends)
    low, high = sorted(min(max(limit, 0.0), 1.0) for limit in explained)
    return Interval(low, high)


def reported_of(estimate: Any) -> Reported:
    """An estimate, read; without a named sensitive category the last one is it."""
    mechanism = estimate.mechanism
    part = getattr(mechanism, "parts", (mechanism,))[0]
    categories = tuple(estimate.categories)
    yes = getattr(part, "yes", None)
    sensitive = categories.index(yes) if yes in categories else len(categories) - 1
    return Reported(
        categories=categories,
        moments=estimate.moments,
        space=mechanism.report_space,
        sensitive=sensitive,
        name=estimate.name,
    )


def _explaining(estimate: float, claim: float, score: float) -> float:
    """The g with (estimate - g score) / (1 - g) = claim."""
    if estimate == claim:
        return 0.0
    return (estimate - claim) / (score - claim) if score != claim else np.inf
