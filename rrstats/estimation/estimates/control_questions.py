"""Estimates corrected for people who answer at random, by a question whose true answer is known.

The right report to a control question is known for each person (a number sequence, a known
birthday), or its true proportion is.  The proportion of people who answer it at random corrects the
estimate of the sensitive question, and the interval has the errors of both.  It assumes that the
same proportion answers both questions at random.
Sources: Atsusaka and Stevenson (2023); Cruyff, Sayed, Petroczi and van der Heijden (2024); Zou and
Donner (2008) for intervals of functions of two estimates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._checks import (
    check_left_out,
    check_level,
    check_number,
    check_proportions,
    check_whole_number,
    quote_list,
)
from rrstats._display import HeaderLines, counted, label, percent_range
from rrstats._names import checked_options
from rrstats._typing import Floats, Labels, Limits
from rrstats.data.bitsets import Subsets
from rrstats.errors import ArgumentTypeError, ArgumentValueError, NotIdentifiableError
from rrstats.estimation.estimates.noncompliance import (
    OUTSIDE,
    RANDOM,
    Reported,
    followers,
    outside_caution,
    outside_unit_interval,
    reported_of,
)
from rrstats.estimation.estimates.result import (
    LabelledInterval,
    Result,
    formats_of,
    label_column,
    place_or_last,
    proportion_rows,
    titled,
)
from rrstats.estimation.tallies.moments import Moments, contrast_errors, outer_interval
from rrstats.inference.binomial import clopper_pearson_rates
from rrstats.inference.contrasts import normal_quantile, student_quantile
from rrstats.plots import PlotOptions, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_RANDOM = 1 - 1e-6
"""Largest proportion of random answers in an interval: beyond it nothing is left to estimate."""

_MAX_REPORTS = 2**53
"""Reports to a control question; more are no whole doubles."""

_CONTRADICTION = 1e-4
"""A control question contradicts its known answer if chance explains it less often than this."""


class Control(ABC):
    """A question whose true answer is known, and what it says of people who answer at random."""

    @property
    @abstractmethod
    def proportion(self) -> float:
        """The estimated proportion of people who answer at random; not cut."""

    @property
    @abstractmethod
    def std_error(self) -> float:
        """The standard error of the proportion."""

    @abstractmethod
    def interval(self, level: float) -> tuple[float, float]:
        """An interval of the proportion; not cut."""

    @abstractmethod
    def contradiction(self) -> str | None:
        """The contradiction in words, if chance does not explain these reports; else None."""

    @abstractmethod
    def contrast(self, categories: Sequence[Hashable]) -> Floats:
        """Weights of the categories of the control column whose mean rises with the proportion.

        Raises where these are not the categories of the control question.
        """


@dataclass(frozen=True)
class WrongReports(Control):
    """Reports to a control question whose right report is known for each person.

    Somebody who answers at random is wrong with probability (m - 1) / m.
    """

    wrong: int
    n: int
    m: int

    @property
    def proportion(self) -> float:
        """The proportion of wrong reports times m / (m - 1)."""
        return self.wrong / self.n * self._factor

    @property
    def _factor(self) -> float:
        return self.m / (self.m - 1)

    @property
    def std_error(self) -> float:
        """The binomial standard error."""
        rate = self.wrong / self.n
        return float(np.sqrt(rate * (1 - rate) / self.n)) * self._factor

    def interval(self, level: float) -> tuple[float, float]:
        """The exact binomial interval."""
        low, high = clopper_pearson_rates(self.wrong, self.n, level)
        return float(low) * self._factor, float(high) * self._factor

    def contradiction(self) -> str | None:
        """More wrong reports than random answers of everybody give."""
        chance = float(scipy.special.bdtrc(self.wrong - 1, self.n, 1 / self._factor))
        if self.wrong and chance < _CONTRADICTION:
            return f"{self.wrong} of {self.n} reports are wrong"
        return None

    def contrast(self, categories: Sequence[Hashable]) -> Floats:
        """1 for wrong reports."""
        if set(categories) != {False, True}:
            raise ArgumentValueError(
                "paired must be the crosstab of the reports with a column that is True where the "
                f"control report was wrong, found the levels {quote_list(categories)}"
            )
        return np.array([float(bool(category)) for category in categories])


@dataclass(frozen=True, eq=False)
class KnownProportions(Control):
    """Reports to a question of known proportions, of a design of the same kind.

    moments : of its estimate.  known, scores : (k,) the true proportions, and the mean scores
        of random answers.
    """

    moments: Moments
    categories: Labels
    known: Floats
    scores: Floats

    @property
    def _slope(self) -> Floats:
        """(k,) the change of the estimate if all answered at random."""
        return self.scores - self.known

    def contrast(self, categories: Sequence[Hashable]) -> Floats:
        """The change of the estimate, scaled so that the mean is the proportion but for a shift."""
        if tuple(categories) != self.categories:
            raise ArgumentValueError(
                "paired must be the crosstab of the reports with those of the control question, of "
                f"the categories {quote_list(self.categories)}, found {quote_list(categories)}"
            )
        return self._slope / (self._slope @ self._slope)

    @property
    def proportion(self) -> float:
        """The part of the way from the known proportion to random answers."""
        shift = self.moments.proportions - self.known
        return float(self.contrast(self.categories) @ shift)

    @property
    def std_error(self) -> float:
        """The standard error of that contrast."""
        return contrast_errors(self.moments, self.contrast(self.categories))[1]

    def interval(self, level: float) -> tuple[float, float]:
        """Of two categories the interval of their proportions; of more by the standard error."""
        if len(self.known) == 2:
            ends = outer_interval(self.moments, level)
            random_parts = [(end[1] - self.known[1]) / self._slope[1] for end in ends]
            return float(min(random_parts)), float(max(random_parts))
        half = student_quantile(level, self.moments.df) * self.std_error
        return self.proportion - half, self.proportion + half

    def contradiction(self) -> str | None:
        """A proportion below 0, or above 1, by more than chance."""
        distance = max(-self.proportion, self.proportion - 1)
        if distance > normal_quantile(1 - 2 * _CONTRADICTION) * self.std_error:
            return f"the reports imply that {self.proportion:z.1%} answered at random"
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Corrected(Result):
    """Proportions corrected for people who answer at random, by a control question.

    The correction assumes that the same proportion answers both questions at random.

    Attributes
    ----------
    categories : tuple of k hashables
    moments : Moments
        Those of the estimate that is corrected.
    scores : ndarray of shape (k,)
        Mean scores of random reports.
    control : Control
    correlation : ndarray of shape (k,), or None
        Correlation of the estimate with the control's proportion; None where it is not known, and
        errors are then the largest possible.
    name : hashable
        The column of the reports; None if it has no name.
    """

    _shown = ("proportion", "low", "high", "std_error", "uncorrected")
    _formats = formats_of("{:.4f}", "uncorrected")

    categories: Labels
    moments: Moments
    scores: Floats
    control: Control
    correlation: Floats | None
    name: Hashable

    @property
    def n(self) -> int:
        """The number of reports to the sensitive question."""
        return int(self.moments.n)

    @property
    def noncompliance(self) -> float:
        """The estimated proportion of people who answer at random."""
        return self.control.proportion

    @property
    def proportions(self) -> Floats:
        """(k,) proportions among people who do not answer at random; may lie outside [0, 1]."""
        return np.asarray(followers(self.moments.proportions, self.scores, self.noncompliance))

    @property
    def std_error(self) -> Floats:
        """(k,) standard errors by the delta method, of both questions."""
        kept = 1 - self.noncompliance
        by_control = (self.moments.proportions - self.scores) / kept**2 * self.control.std_error
        return self._combined(self.moments.std_error / kept, by_control)

    def _combined(self, of_estimate: Floats, of_control: Floats) -> Floats:
        """(k,) the length of the sum of two errors, the second with the sign of its effect."""
        if self.correlation is None:
            return of_estimate + np.abs(of_control)
        cross = 2 * self.correlation * of_estimate * of_control
        return np.sqrt(np.maximum(of_estimate**2 + of_control**2 + cross, 0.0))

    def interval(self, level: float = 0.95) -> LabelledInterval:
        """Intervals of the corrected proportions.

        Parameters
        ----------
        level : float
            Confidence.

        Returns
        -------
        LabelledInterval
            (k,) ends, cut to [0, 1]: the margins of both estimates' own intervals together (MOVER,
            Zou and Donner 2008); [0, 1] without reports.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> control = rr.estimate(["no"] * 730 + ["yes"] * 270, ["no", "yes"], 0.75)  # truly no
        >>> corrected = est.corrected(control, proportion={"no": 1, "yes": 0}, paired=False)
        >>> [end.round(2).tolist() for end in corrected.interval(0.9)]
        [[0.74, 0.13], [0.87, 0.26]]
        """
        low, high = np.clip(self._uncut_interval(check_level(level)), 0, 1)
        low = np.nan_to_num(low, nan=0.0)
        high = np.nan_to_num(high, nan=1.0)
        return LabelledInterval(low, high, self.categories)

    def _uncut_interval(self, level: float) -> Limits:
        """(k,) ends of the intervals, which may leave [0, 1]."""
        estimate = self.moments.proportions
        ends = outer_interval(self.moments, level)
        random_parts = [min(max(end, 0.0), _MAX_RANDOM) for end in self.control.interval(level)]
        kept = 1 - self.noncompliance
        center = self.proportions
        moved = [followers(estimate, self.scores, part) - center for part in random_parts]
        rises = np.sign(estimate - self.scores)
        below = self._combined((estimate - ends.low) / kept, rises * np.abs(np.minimum(*moved)))
        above = self._combined((ends.high - estimate) / kept, rises * np.abs(np.maximum(*moved)))
        return center - below, center + above

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each category.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            category, n, uncorrected, proportion, std_error, low, high, and noncompliance, the
            proportion of people who answer at random.

        Examples
        --------
        >>> import rrstats as rr
        >>> est = rr.estimate(["no"] * 640 + ["yes"] * 360, ["no", "yes"], 0.75)
        >>> control = rr.estimate(["no"] * 730 + ["yes"] * 270, ["no", "yes"], 0.75)  # truly no
        >>> corrected = est.corrected(control, proportion={"no": 1, "yes": 0}, paired=False)
        >>> corrected.to_frame()["proportion"].round(3).tolist()
        [0.804, 0.196]
        """
        low, high = self.interval(level)
        return pd.DataFrame(
            {
                "category": label_column(self.categories),
                "n": self.n,
                "uncorrected": self.moments.proportions,
                "proportion": self.proportions,
                "std_error": self.std_error,
                "low": low,
                "high": high,
                "noncompliance": self.noncompliance,
            }
        )

    def interpret(self, category: Hashable = ..., level: float = 0.95) -> str:
        """The corrected proportion of one category in a sentence.

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
        >>> control = rr.estimate(["no"] * 730 + ["yes"] * 270, ["no", "yes"], 0.75)  # truly no
        >>> corrected = est.corrected(control, proportion={"no": 1, "yes": 0}, paired=False)
        >>> print(corrected.interpret())  # doctest: +NORMALIZE_WHITESPACE
        about 19.6% yes, 95% interval 11.8% to 26.7%, among people who do not answer at random;
        8.0% do, and without the correction it is 22.0%
        """
        place = place_or_last(category, self.categories, "this result")
        low, high = self.interval(level)
        is_outside = outside_unit_interval(*self._uncut_interval(level))[place]
        return (
            f"about {self.proportions[place]:z.1%} {label(self.categories[place])}, "
            f"{level * 100:.10g}% interval {percent_range(low[place], high[place])}"
            f"{OUTSIDE if is_outside else ''}, among people "
            f"who do not answer at random; {self.noncompliance:z.1%} do, and without the "
            f"correction it is {self.moments.proportions[place]:z.1%}"
        )

    @checked_options(PlotOptions)
    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, **options: Unpack[PlotOptions]
    ) -> Axes:
        """Draw the corrected proportions with their intervals, and the uncorrected ones.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top; see `rrstats.plots.PlotOptions`.

        Returns
        -------
        Axes
            Grey bars are the uncorrected proportions.
        """
        rows = proportion_rows(self.categories, self.proportions, self.interval(level))
        rows["comparison"] = self.moments.proportions
        xlabel = "proportion among people who do not answer at random"
        options = {"title": titled(self.name, counted(self.n, "report")), **options}
        return plot_intervals(
            rows, ax, xlabel=xlabel, level=level, comparison="uncorrected estimate", **options
        )

    @property
    def _header(self) -> HeaderLines:
        """The proportion of random answers with its interval, and the number of reports."""
        low, high = self.control.interval(0.95)
        share = f"{self.noncompliance:.4f} ({max(low, 0.0):.4f} to {min(high, 1.0):.4f})"
        return [("answer at random", share), ("n", f"{self.n:,}")]

    @property
    def _cautions(self) -> Sequence[str]:
        """A sentence that opens the printed result if the correction does not fit the reports."""
        return outside_caution(*self._uncut_interval(0.95), self.categories)

    @property
    def notes(self) -> Sequence[str]:
        """The assumption, and what is known of the errors of both questions."""
        errors = "The same people answered both questions, and the correlation is estimated."
        if self.correlation is None:
            errors = (
                "The same people answered both questions: errors are the largest that any "
                "correlation allows; paired= has narrower ones."
            )
        elif not self.correlation.any():
            errors = "Other people answered the control question."
        return ["The same proportion is assumed to answer both questions at random.", errors]


def paired_correlation(
    of_functions: Callable[[Sequence[Floats]], tuple[Floats, Floats]],
    categories: Sequence[Sequence[Hashable]],
    control: Control,
) -> Floats:
    """(k,) correlation of the proportions with the control's, from a table of the same people.

    of_functions : means of products of functions of both columns, and their covariance.
    categories : of the reports, and of the control question.
    """
    first, second = categories
    k = len(first)
    one_and_control = np.zeros((1 + len(second), 2))
    one_and_control[0, 0] = 1.0
    one_and_control[1:, 1] = control.contrast(second)
    _, covariance = of_functions([np.eye(1 + k), one_and_control])
    places = 2 * np.arange(1, k + 1)
    variances = np.diagonal(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = covariance[places, 1] / np.sqrt(variances[places] * variances[1])
    return np.asarray(np.clip(np.nan_to_num(correlation), -1, 1))


# -- from an estimate ------------------------------------------------------------------------------


def corrected(estimate: Reported, control: Any, proportion: Any, paired: Any) -> Corrected:
    """The proportions corrected by a control question."""
    opened = _control(estimate, control, proportion)
    problem = opened.contradiction()
    if problem is not None:
        raise ArgumentValueError(
            f"the known answer of control contradicts its reports: {problem}, more than chance "
            "and random answers explain; check the control question and its design"
        )
    if not opened.proportion < 1:
        raise NotIdentifiableError(
            f"control says that {opened.proportion:z.1%} answer at random, so nobody is left "
            "whose answers could be estimated"
        )
    correlation: Floats | None = None
    if paired is False:
        correlation = np.zeros(len(estimate.categories))
    elif paired is not True:
        of_functions = getattr(getattr(paired, "moments", None), "of_functions", None)
        if (
            of_functions is None
            or len(paired.shape) != 2
            or tuple(paired.categories[0]) != estimate.categories
        ):
            raise ArgumentValueError(
                "paired must be True, False, or the crosstab of the reports with those of the "
                f"control question, in this order, found {type(paired).__name__}"
            )
        correlation = paired_correlation(of_functions, paired.categories, opened)
    random_scores = estimate.scores(RANDOM).low
    return Corrected(
        categories=estimate.categories,
        moments=estimate.moments,
        scores=random_scores,
        control=opened,
        correlation=correlation,
        name=estimate.name,
    )


def _control(estimate: Reported, control: Any, proportion: Any) -> Control:
    """The control question: counts of wrong reports, or an estimate of known proportion."""
    if isinstance(getattr(control, "moments", None), Moments):
        if proportion is None:
            raise ArgumentTypeError(
                "control is an estimate, so proportion= must give its known true proportion, "
                "found None"
            )
        if not control.n:
            raise ArgumentValueError("control must have reports, found an estimate without any")
        question = reported_of(control)
        known = _known(question, proportion)
        scores = question.scores(RANDOM).low
        if np.allclose(scores, known):
            raise NotIdentifiableError(
                "proportion must differ from what random answers give; with this one nobody "
                "who answers at random shows"
            )
        return KnownProportions(question.moments, question.categories, known, scores)
    check_left_out("it is for an estimate as control", proportion=proportion)
    pair = list(control) if isinstance(control, tuple | list) else []
    if len(pair) != 2:
        raise ArgumentTypeError(
            "control must be (wrong, n), the number of wrong reports and of all to the control "
            f"question, or an estimate with proportion=, found {type(control).__name__}"
        )
    n = check_whole_number(pair[1], "n of control", 1, _MAX_REPORTS)
    wrong = check_whole_number(pair[0], "wrong of control", 0, n)
    if isinstance(estimate.space, Subsets):
        raise ArgumentValueError(
            "control as (wrong, n) needs reports of one label each, found sets of categories; "
            "give an estimate of a control question and its proportion="
        )
    return WrongReports(wrong, n, estimate.space.k)


def _known(question: Reported, proportion: Any) -> Floats:
    """(k,) known true proportions; one number is that of the sensitive category."""
    k = len(question.categories)
    if isinstance(proportion, Mapping):
        listed = [proportion.get(category, 0.0) for category in question.categories]
        if not set(proportion) <= set(question.categories):
            raise ArgumentValueError(
                f"proportion must be by category, one of {quote_list(question.categories)}, found "
                f"{quote_list(proportion)}"
            )
        return check_proportions(listed, "proportion", k)
    if np.ndim(proportion):
        return check_proportions(proportion, "proportion", k)
    if k != 2:
        raise ArgumentValueError(
            f"proportion must be the proportions of all {k} categories, found one number"
        )
    proportions = np.empty(2)
    proportions[question.sensitive] = check_number(proportion, "proportion", 0, 1)
    proportions[1 - question.sensitive] = 1 - proportions[question.sensitive]
    return proportions
