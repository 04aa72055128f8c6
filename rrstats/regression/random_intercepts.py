"""Logistic regression of reports with random intercepts of groups: small areas, repeated items.

    P(event) = F(x b + sd u_g), with u_g standard normal, one for each group g,

and each person's report has P(report | answer) as without groups.  Coefficients are about people of
one group; means over groups are nearer to 1/2.  `predict` and `poststratify` integrate over the
intercepts, given the reports of a group or, for groups without reports, over all groups
(multilevel regression and poststratification).  Intercepts that are not normal are the assumption;
their errors hold on average over groups.
Their errors and intervals average over the standard deviations that the reports leave possible, by
a flat prior, and intervals are quantiles: with the estimate alone, of 60 groups of 40 people behind
k-RR of 0.75, 92% of normal 95% intervals of cells covered, with quantiles of it 91%.
Sources: Fox (2005), of randomized response; Pinheiro and Bates (1995), quadrature; Self and Liang
(1987), the test of no variance; Kass and Steffey (1989) and Gelman (2006), errors of predictions;
Park, Gelman and Bafumi (2004), poststratification.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy

from rrstats._cached import cached_property
from rrstats._checks import check_left_out, check_level
from rrstats._display import HeaderLines, Notes
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, Floats, Indices, Limits
from rrstats.data.columns import blocks, column_of, numbers
from rrstats.errors import (
    ArgumentValueError,
    ConvergenceWarning,
    LowPrecisionWarning,
    WarningArguments,
    warn,
)
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.estimation.report_columns.report_columns import ReportSource
from rrstats.inference.optimize import Maximum, split_information
from rrstats.regression.design_matrix import (
    called,
    offset_as_in_fit,
    table_of,
    values_of_profiles,
)
from rrstats.regression.fit_tables import Ends, FitTable, logit_ends
from rrstats.regression.grouped_likelihood import GroupedLikelihood, GroupPosterior, even_nodes
from rrstats.regression.likelihood import Fit, ProfileLoss, profile_end
from rrstats.regression.outcomes import ReportedOutcome
from rrstats.regression.private_covariates import ModelData, ModelRequest
from rrstats.regression.results import RegressionResult, verdict

_FEW_GROUPS = 10
"""Fewer groups cause a warning: their standard deviation is then mostly estimated too small."""

_CELLS = 1024
"""Cells that are worked on at once."""

_NOISE_PLACES, _NOISE_WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
"""Errors of coefficients in quantiles, in standard errors, and their weights."""


@dataclass(frozen=True)
class _DeviationSearch:
    """Constants of the search for the standard deviation of intercepts.

    min_start : from which it starts at least, so that the likelihood has a slope.
    further_start, max_two_start_rows : a second start of up to so many rows, where the likelihood
        may have several maxima.
    min_gain : of the log-likelihood over equal intercepts, below which the deviation is 0.
    extreme_probability : where one standard deviation moves 1/2 to this there is no finite maximum.
    singular : information below this part of that at the start is none.
    end_tolerance : error of the lower end of an interval.
    """

    min_start: float = 0.3
    further_start: float = 1.5
    max_two_start_rows: int = 5000
    min_gain: float = 1e-8
    extreme_probability: float = 1e-9
    singular: float = 1e-7
    end_tolerance: float = 1e-7


_DEVIATION = _DeviationSearch()


@dataclass(frozen=True)
class _AveragingConstants:
    """Standard deviations of intercepts that predictions average over.

    step : their distance, in standard errors.
    max_deviations : so many on each side at most; mostly there are 4.
    min_weight : relative to the estimate's, below which no further ones are taken.
    """

    step: float = 0.75
    max_deviations: int = 12
    min_weight: float = 0.02


_AVERAGING = _AveragingConstants()


# -- the groups ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of the rows of the data.

    name : of their column, if it has one.  labels : of the groups, in order.
    codes : (rows,) the group of each row; -1 where it is missing.
    """

    name: Hashable
    labels: pd.Index[Any]
    codes: Indices

    def missing(self) -> dict[str, Booleans]:
        """Rows without a group."""
        return {f"(1 | {self.name})": self.codes < 0}

    def kept(self, keep: Booleans | None, people: Floats) -> Groups:
        """The groups of the rows that are used; raises where they tell nothing of a variance."""
        codes = self.codes if keep is None else self.codes[keep]
        used, codes = np.unique(codes, return_inverse=True)
        if len(used) < 2:
            raise ArgumentValueError(
                f"(1 | {self.name}) must have at least two groups, found {len(used)}; use rr.logit"
            )
        if np.bincount(codes, people).max() < 2:
            raise ArgumentValueError(
                f"(1 | {self.name}) must have groups of several people, found {len(used)} groups "
                "of one, whose variance is not known; name a coarser column"
            )
        return Groups(self.name, self.labels[used], codes)


def open_groups(request: ModelRequest, column: str, rows: int) -> Groups:
    """The groups of a column of the data; raises for privatized covariates."""
    if request.private.columns:
        raise ArgumentValueError(
            "with random intercepts covariates must be ordinary, found privatized ones "
            f"{list(request.private.names)}; leave them out"
        )
    if ReportSource.of(column_of(request.frame, column)).record is not None:
        raise ArgumentValueError(
            f"(1 | {column}) must have groups that are known, found reports, whose groups nobody "
            "knows; name a public column"
        )
    codes, labels = _numbered(request.column(f"(1 | {column})", column, rows))
    return Groups(column, labels, codes)


def _numbered(values: Any) -> tuple[Indices, pd.Index[Any]]:
    """(rows,) places of values among the different ones, -1 if missing; and these, in order.

    Of a Categorical it is that of its categories.
    """
    is_pandas = isinstance(values, pd.Series | pd.Index | pd.Categorical)
    is_categorical = is_pandas and isinstance(values.dtype, pd.CategoricalDtype)
    column = values if is_categorical else pd.Series(np.asarray(values, dtype=object))
    codes, labels = pd.factorize(column, sort=True)
    return np.asarray(codes, dtype=np.intp), pd.Index(labels, dtype=object)


def _people_of_cells(counts: Any, data: Any, cells: int) -> Floats:
    """(cells,) people of the population in each census cell."""
    people = numbers(values_of_profiles(counts, data, cells, "counts"), "counts", cells)
    if not ((people >= 0).all() and people.sum() > 0):
        raise ArgumentValueError(
            f"counts must be numbers of at least 0 that are not all 0, found "
            f"{int((~(people >= 0)).sum())} others of {cells}"
        )
    return people


def _areas(values: Any, cells: int) -> tuple[Indices, pd.Index[Any]]:
    """(cells,) numbers of the areas of census cells, and their labels; one area without values."""
    if values is None:
        return np.zeros(cells, dtype=np.intp), pd.Index([0])
    areas, names = _numbered(values)
    if (areas < 0).any():
        raise ArgumentValueError("by must not have missing values; leave these cells out")
    return areas, names


# -- the fit -------------------------------------------------------------------------------------


class Deviation(NamedTuple):
    """A standard deviation of the intercepts that the reports leave possible.

    parameters : (p + 1,) with the best coefficients.  covariance : (p + 1, p + 1) of these.
    weight : its posterior probability among several, by a flat prior.
    """

    parameters: Floats
    covariance: Floats
    weight: float


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """Maximum of the likelihood of groups.

    model : in columns of mean square 1, with rows sorted by group.
    plain : the fit with equal intercepts.  maximum : its last parameter is at least 0.
    is_finite : there is a maximum.  limit : of the standard deviation.
    """

    model: GroupedLikelihood
    plain: Fit
    maximum: Maximum
    is_finite: bool
    limit: float

    @property
    def sd(self) -> float:
        """The standard deviation of the intercepts."""
        return float(self.maximum.parameters[-1])

    @property
    def gain(self) -> float:
        """Twice the gain of the log-likelihood over equal intercepts."""
        return max(0.0, 2 * (self.maximum.value - self.plain.maximum.value))

    @cached_property
    def covariance(self) -> Floats:
        """(p + 1, p + 1) of the parameters; 0 for a standard deviation of 0."""
        covariance = np.zeros_like(self.maximum.hessian)
        if self.sd == 0:
            covariance[:-1, :-1] = self.plain.bread
            return covariance
        return split_information(-self.maximum.hessian)[0]

    def _fixed(self, sd: float, _: float, start: Floats) -> Maximum:
        """The best coefficients for a standard deviation, from those for one nearby."""
        inside = np.eye(len(start))[:, :-1]
        return self.model.climb(np.append(start[:-1], sd), np.inf, inside)

    @cached_property
    def _loss(self) -> ProfileLoss:
        """Twice the loss of log-likelihood by the standard deviation."""
        return ProfileLoss(self.maximum, self.sd, self._fixed)

    @cached_property
    def deviations(self) -> list[Deviation]:
        """Standard deviations to average errors over, equally spaced, with weights of sum 1.

        The estimate of the deviation is too small more often than too large, and at 0 it says that
        groups are alike; its own standard error says little of that.  The posterior by a flat
        prior, with normal coefficients, does.
        """
        if self.sd > 0:
            step = _AVERAGING.step * float(np.sqrt(self.covariance[-1, -1]))
        else:
            step = (
                _AVERAGING.step
                * _DEVIATION.min_start
                / max(self.root_loss(_DEVIATION.min_start), 0.1)
            )
        step = min(step, self.sd / 2) if self.sd > 0 else step
        middle = self._weighed(self.maximum)
        every = [middle]
        for sign in (1, -1):
            maximum = self.maximum
            for place in range(1, _AVERAGING.max_deviations + 1):
                sd = self.sd + sign * place * step
                if sd < 0:
                    break
                maximum = self._fixed(sd, self.sd, maximum.parameters)
                every.append(self._weighed(maximum))
                if every[-1].weight < np.log(_AVERAGING.min_weight) + middle.weight:
                    break
        log_weights = np.array([each.weight for each in every])
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        return [
            each._replace(weight=float(weight)) for each, weight in zip(every, weights, strict=True)
        ]

    @property
    def is_bounded(self) -> bool:
        """The largest standard deviation that errors average over has next to no weight."""
        largest = max(self.deviations, key=lambda deviation: deviation.parameters[-1])
        estimated = self.deviations[0]
        return largest.weight < _AVERAGING.min_weight * estimated.weight

    def _weighed(self, maximum: Maximum) -> Deviation:
        """A deviation with the logarithm of its posterior density, up to a constant."""
        information = -maximum.hessian[:-1, :-1]
        covariance = np.zeros_like(maximum.hessian)
        covariance[:-1, :-1] = np.linalg.inv(information)
        log_density = maximum.value - np.linalg.slogdet(information)[1] / 2
        return Deviation(maximum.parameters, covariance, float(log_density))

    def root_loss(self, sd: float) -> float:
        """The profile likelihood: root of twice the log-likelihood lost at a standard deviation.

        The coefficients are those of the maximum there; nearly linear in the deviation.
        """
        if sd == 0:
            return float(np.sqrt(self.gain))
        return float(np.sqrt(max(0.0, self._loss(sd))))

    def profile_interval(self, level: float) -> tuple[float, float]:
        """Standard deviations that a likelihood-ratio test on one degree of freedom leaves."""
        limit = float(np.sqrt(scipy.special.chdtri(1, 1 - level)))
        half = _DEVIATION.min_start
        low = 0.0
        if self.sd > 0:
            half = limit * float(np.sqrt(self.covariance[-1, -1]))
        if self.root_loss(0.0) > limit:
            ends = (0.0, self.sd)
            low = float(
                scipy.optimize.brentq(
                    lambda sd: self.root_loss(sd) - limit, *ends, xtol=_DEVIATION.end_tolerance
                )
            )
        return low, profile_end(self.root_loss, self.sd, half, limit)


def grouped_fit(plain: Fit, groups: Groups) -> GroupedFit:
    """Maximize the likelihood of groups.

    plain : the fit with equal intercepts, from which the search starts.
    """
    order = np.argsort(groups.codes, kind="stable")
    model = plain.model
    if model.outcome.ancillary:
        raise ArgumentValueError(
            "random intercepts are for designs whose classes are the answers, found one that tells "
            "classes within an answer apart; use rr.logit"
        )
    grouped = GroupedLikelihood(
        outcome=model.reports.take(order),
        design=model.same[order],
        weights=model.weights[order],
        firsts=np.searchsorted(groups.codes[order], np.arange(len(groups.labels))),
        offset=None if model.offset is None else model.offset[order],
    )
    ends = np.array([[1 - _DEVIATION.extreme_probability, _DEVIATION.extreme_probability]] * 2)
    limit = float(np.abs(model.reports.family.eta(ends)).max())
    equal = np.append(plain.theta, 0.0)
    start = max(grouped.start_deviation(equal), _DEVIATION.min_start)
    starts = [start]
    if grouped.rows <= _DEVIATION.max_two_start_rows:
        starts.append(_DEVIATION.further_start)
    maxima = [grouped.climb(np.append(plain.theta, sd), limit) for sd in starts]
    # an interior maximum before the edge, where integrals are rough
    maximum = max(maxima, key=lambda each: (each.converged, each.endless is None, each.value))
    if maximum.converged and maximum.value - plain.maximum.value < _DEVIATION.min_gain:
        maximum = _equal_intercepts(plain, maximum)
    elif maximum.parameters[-1] < 0:
        maximum = _mirrored(maximum)
    is_flat = plain.unknown.size > 0
    if maximum.parameters[-1] > 0:
        least = np.linalg.eigvalsh(-maximum.hessian)[0]
        is_flat = bool(least <= _DEVIATION.singular * maximum.scale)
    is_finite = maximum.converged and maximum.endless is None and not is_flat
    return GroupedFit(grouped, plain, maximum, is_finite, limit)


def _equal_intercepts(plain: Fit, maximum: Maximum) -> Maximum:
    """The maximum of the plain fit, with a standard deviation of 0."""
    size = len(plain.theta) + 1
    hessian = np.zeros((size, size))
    hessian[:-1, :-1] = plain.maximum.hessian
    return replace(
        plain.maximum,
        parameters=np.append(plain.theta, 0.0),
        gradient=np.append(plain.maximum.gradient, 0.0),
        hessian=hessian,
        iterations=maximum.iterations,
        endless=None,
        scale=maximum.scale,
    )


def _mirrored(maximum: Maximum) -> Maximum:
    """A maximum with the sign of the intercepts reversed."""
    signs = np.ones(len(maximum.parameters))
    signs[-1] = -1.0
    return replace(
        maximum,
        parameters=signs * maximum.parameters,
        gradient=signs * maximum.gradient,
        hessian=maximum.hessian * np.outer(signs, signs),
    )


# -- the result ----------------------------------------------------------------------------------


class _Mixture(NamedTuple):
    """Normal distributions on a scale without ends, by node of the intercepts.

    means, weights : (n, nodes).  errors : (n,) standard deviations.
    """

    means: Floats
    weights: Floats
    errors: Floats


def _quantiles(mixtures: Sequence[_Mixture], level: float) -> tuple[Floats, Floats]:
    """(n,) ends of intervals of the mixtures together."""
    points = []
    masses = []
    for means, weights, errors in mixtures:
        spread = means[:, :, None] + errors[:, None, None] * _NOISE_PLACES
        points.append(spread.reshape(len(means), -1))
        masses.append((weights[:, :, None] * _NOISE_WEIGHTS).reshape(len(means), -1))
    sorted_points = np.concatenate(points, axis=1)
    mass = np.concatenate(masses, axis=1)
    order = np.argsort(sorted_points, axis=1)
    sorted_points = np.take_along_axis(sorted_points, order, axis=1)
    cumulative = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
    cumulative /= cumulative[:, -1:]
    rows = np.arange(len(order))
    tail = (1 - level) / 2
    low, high = (sorted_points[rows, (cumulative < q).sum(axis=1)] for q in (tail, 1 - tail))
    return low, high


class _Setting(NamedTuple):
    """Parameters of the fit, or of a `Deviation`, and the intercepts of the groups by them."""

    parameters: Floats
    covariance: Floats
    weight: float
    groups: GroupPosterior

    def delta(self, slopes: Floats) -> Floats:
        """(...,) variances by the parameters, from (..., p + 1) slopes."""
        return np.asarray(np.einsum("...p,pq,...q->...", slopes, self.covariance, slopes))

    def mean_slopes(self) -> Floats:
        """(groups, p + 1) slopes of the mean intercepts by the parameters."""
        values, weights, scores = self.groups
        means = (weights * values).sum(axis=1)
        centered = weights * (values - means[:, None])
        slopes = self.parameters[-1] * np.einsum("gq,gqp->gp", centered, scores)
        slopes[:, -1] += means
        return np.asarray(slopes)


class _Prediction(NamedTuple):
    """Means that are predicted by one setting.

    means, variances : (n,), given the parameters.  slopes : (n, p + 1) of the means by these.
    mixture : the distribution on the scale of the link.
    """

    means: Floats
    variances: Floats
    slopes: Floats
    mixture: _Mixture


class _Average(NamedTuple):
    """Means by the estimates, and their errors on average over the deviations.

    means, errors : (n,).  mixtures : by deviation.
    """

    means: Floats
    errors: Floats
    mixtures: list[_Mixture]


def _average(
    settings: Sequence[_Setting], predicted: Callable[[_Setting], _Prediction]
) -> _Average:
    """Predictions by all settings, of which the first are the estimates.

    A mean squared error has parts of the parameters, of the intercepts, and of the mean itself.
    """
    predictions = [predicted(setting) for setting in settings]
    means = predictions[0].means
    squares = np.zeros(len(means))
    for setting, prediction in zip(settings, predictions, strict=True):
        error = setting.delta(prediction.slopes) + prediction.variances
        squares += setting.weight * (error + (prediction.means - means) ** 2)
    mixtures = [prediction.mixture for prediction in predictions[1:]]
    return _Average(means, np.sqrt(squares), mixtures)


class _Cells(NamedTuple):
    """Profiles of people, each of a group.

    design : (cells, p) in the columns of the fit.  offset : (cells,).
    codes : (cells,) places of their groups, the last without reports; -1 where missing.
    reports : (cells,) people of that group in the fit.
    """

    design: Floats
    offset: Floats
    codes: Indices
    reports: Floats


def _predicted_intercepts(setting: _Setting) -> _Prediction:
    """The intercepts of the groups with reports."""
    sd = setting.parameters[-1]
    values = sd * setting.groups.values[:-1]
    weights = setting.groups.weights[:-1]
    means = (weights * values).sum(axis=1)
    variances = (weights * (values - means[:, None]) ** 2).sum(axis=1)
    slopes = setting.mean_slopes()[:-1]
    mixture = _Mixture(values, setting.weight * weights, np.sqrt(setting.delta(slopes)))
    return _Prediction(means, variances, slopes, mixture)


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RandomInterceptsResult(RegressionResult):
    """A logistic regression with random intercepts of groups.

    Coefficients come first, about people of one group; then ``sd(...)``, the standard deviation of
    the intercepts on the scale of the link, with a profile likelihood interval and without a
    z-value: `variance_test` is its test.

    Attributes
    ----------
    group_name : hashable or None
        The column of the groups.
    groups : Index
        Labels of the groups, in order of the categories of a Categorical, else sorted.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rrstats as rr
    >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # reports of 40 people in each town
    >>> towns = pd.DataFrame(
    ...     {
    ...         "town": np.repeat(np.arange(12), 2),
    ...         "report": ["yes", "no"] * 12,
    ...         "people": np.ravel([(count, 40 - count) for count in yes]),
    ...     }
    ... )
    >>> m = rr.KRR(["no", "yes"], 0.85)
    >>> fit = rr.regression.mixed(
    ...     "report ~ 1 + (1 | town)", towns, mechanism=m, frequencies="people"
    ... )
    >>> round(fit.sd, 2), fit.variance_test().p_value < 0.001
    (1.29, True)
    >>> cells = pd.DataFrame({"town": [2, 6, 12]})
    >>> fit.predict(cells).to_frame()["proportion"].round(2).tolist()
    [0.63, 0.78, 0.31]

    Nobody was asked in town 12: its proportion is the mean over towns.
    """

    group_name: Hashable
    groups: pd.Index[Any]
    fit: GroupedFit
    group_codes: Indices
    event: Hashable

    @property
    def llf(self) -> float:
        """Log-likelihood at the maximum; NaN where it is at the end of the parameters."""
        return self.fit.maximum.value if self.fit.is_finite else np.nan

    @property
    def converged(self) -> bool:
        """The search ended at a maximum."""
        return self.fit.maximum.converged

    @property
    def iterations(self) -> int:
        """Number of iterations of the search."""
        return self.fit.maximum.iterations

    _alternative: ClassVar[str] = (
        "with random intercepts there are predict, poststratify, intercepts, variance_test and "
        "wald_test; or fit rr.logit, without groups"
    )

    @property
    def _is_logit(self) -> bool:
        return self.fit.model.outcome.family.name == "logit"

    # -- the standard deviation -------------------------------------------------------------

    @property
    def _of_outcome(self) -> Booleans:
        return np.asarray(np.arange(len(self.index)) < len(self.index) - 1)  # all but sd(...)

    @property
    def sd(self) -> float:
        """Standard deviation of the intercepts; infinite where there is no finite maximum."""
        return float(self.estimates[-1])

    def sd_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Profile likelihood interval of the standard deviation.

        Its squares are that of the variance.  The lower end is 0 where equal intercepts are not
        rejected, the upper one infinite where the likelihood does not fall enough.

        Parameters
        ----------
        level : float
            Confidence level of the interval.

        Returns
        -------
        tuple of float
            The lower and the upper end.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> [round(end, 2) for end in fit.sd_interval()]
        [0.72, 2.52]
        """
        if not self.fit.is_finite:
            return np.nan, np.nan
        return self.fit.profile_interval(check_level(level))

    def variance_test(self) -> TestResult:
        """Test that all groups have the same intercept.

        Returns
        -------
        TestResult
            Twice the gain in log-likelihood.  A variance is not below 0, so that the statistic is 0
            in half of the samples without variance: its p-value is half of that of chi-squared.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> round(fit.variance_test().p_value, 6)
        0.0
        """
        self._check_finite("variance_test")
        statistic = self.fit.gain
        tail = float(scipy.special.chdtrc(1, statistic)) / 2
        return TestResult(
            "equal intercepts of all groups",
            statistic,
            1,
            tail if statistic > 0 else 1.0,
            "likelihood-ratio test, half of chi-squared (a variance is at least 0)",
            self.nobs,
        )

    def _check_finite(self, what: str) -> None:
        """Raise where there are no estimates."""
        if not self.fit.is_finite:
            raise ArgumentValueError(
                f"{what} needs a finite maximum of the likelihood, and this fit has none; leave "
                "the groups or covariates out"
            )

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Wald intervals of the coefficients, and the profile interval of the deviation.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns low and high.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> fit.conf_int(level=0.9).round(2)
                    low  high
        Intercept -1.77 -0.32
        sd(town)   0.79  2.24
        """
        intervals = super().conf_int(level)
        intervals.iloc[-1] = self.sd_interval(level)
        return intervals

    @property
    def zvalues(self) -> pd.Series[float]:
        """Coefficients divided by their standard errors; none of the deviation, which is no z."""
        values = super().zvalues
        values.iloc[-1] = np.nan
        return values

    tvalues = zvalues

    @property
    def _header(self) -> HeaderLines:
        """Rows above the table: a label and a text each."""
        people, errors = super()._header
        sizes = self._sizes
        ends = dict.fromkeys(f"{size:,.0f}" for size in (sizes.min(), sizes.max()))
        range_of_sizes = f"{' to '.join(ends)} people"
        rows = [people, ("groups", f"{len(self.groups):,} of {range_of_sizes}")]
        if self.fit.is_finite:
            test = self.variance_test()
            against = verdict(test.statistic, 1, test.p_value)
            rows += self._likelihood_rows(("against equal intercepts", against))
        return [*rows, errors, self._convergence]

    @property
    def _sizes(self) -> Floats:
        """(groups,) people in each group."""
        model = self.fit.model
        return np.asarray(np.bincount(model.codes, model.weights), dtype=np.float64)

    @property
    def warnings(self) -> tuple[WarningArguments, ...]:
        """Texts and classes of the warnings of this fit."""
        texts: list[WarningArguments] = []
        if not self.converged:
            texts.append(
                (
                    f"no maximum of the likelihood was found in {self.iterations} steps; these "
                    "numbers are not estimates: leave covariates out",
                    ConvergenceWarning,
                )
            )
        elif not self.fit.is_finite:
            texts.append(
                (
                    "the likelihood has no finite maximum: it keeps rising as the standard "
                    "deviation or coefficients grow, because reports of a group agree, or "
                    "covariates separate the answers; there are no estimates: leave "
                    "the groups or covariates out, or name coarser groups",
                    ConvergenceWarning,
                )
            )
        if len(self.groups) < _FEW_GROUPS:
            texts.append(
                (
                    f"there are few groups, only {len(self.groups)}: their standard deviation is "
                    "mostly estimated too small, and intervals of predictions are too short",
                    LowPrecisionWarning,
                )
            )
        return (*texts, *super().warnings)

    @property
    def notes(self) -> Notes:
        """Sentences below the table."""
        notes = [*super().notes]
        if self.fit.is_finite:
            notes.append(
                "Coefficients compare people of one group.  Errors of predicted groups hold on "
                "average over groups."
            )
            if self.sd == 0:
                notes.append(
                    "The estimated standard deviation of the intercepts is 0: all groups are "
                    "predicted alike, and errors say how much they may differ."
                )
        return tuple(notes)

    # -- groups and cells -------------------------------------------------------------------

    def _posterior(self, theta: Floats) -> GroupPosterior:
        """The intercepts of the groups of the fit, and of one without reports at the end."""
        fitted = self.fit.model.posterior(theta)
        prior = even_nodes(np.zeros(1), np.ones(1))
        return GroupPosterior(
            np.vstack([fitted.values, prior.values]),
            np.vstack([fitted.weights, np.exp(prior.log_weights)]),
            np.concatenate([fitted.scores, np.zeros((1, *fitted.scores.shape[1:]))]),
        )

    @cached_property
    def _settings(self) -> list[_Setting]:
        """The estimates first, then the deviations that errors average over."""
        self._check_finite("a prediction")
        if not self.fit.is_bounded:
            largest = max(deviation.parameters[-1] for deviation in self.fit.deviations)
            warn(
                "the reports hardly say how much groups differ at most: errors of predictions "
                f"average over standard deviations of intercepts up to {largest:.3g}, and would "
                "grow with a larger bound; merge groups, or use rr.logit, without groups",
                LowPrecisionWarning,
            )
        theta = self.fit.maximum.parameters
        none = Deviation(theta, self.fit.covariance, 0.0)
        return [
            _Setting(*deviation, self._posterior(deviation.parameters))
            for deviation in (none, *self.fit.deviations)
        ]

    def intercepts(self) -> FitTable:
        """Predicted intercepts of the groups, on the scale of the link.

        Returns
        -------
        FitTable
            One row for each group: people, intercept (its mean given the reports), std_error (which
            includes the errors of the parameters), low and high.  Its picture sorts them.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> fit.intercepts().to_frame().round(2).head(2)
          town  people  intercept  std_error   low  high
        0    0      40      -1.19       1.27 -4.58  0.32
        1    1      40      -0.39       0.97 -2.53  1.32
        """
        average = _average(self._settings, _predicted_intercepts)
        numbers = {
            "people": self._sizes.astype(np.int64),
            "intercept": average.means,
            "std_error": average.errors,
        }
        name = "group" if self.group_name is None else self.group_name
        return FitTable(
            kind="random intercepts",
            model=self.title,
            n=self.nobs,
            estimate="intercept",
            labels=pd.DataFrame({name: self.groups}),
            numbers=pd.DataFrame(numbers),
            ends=partial(_quantiles, average.mixtures),
            sort=True,
        )

    def predict(self, data: Any = None, *, groups: Any = None, offset: Any = None) -> FitTable:
        """The proportion of the event among people of some covariates and groups.

        Parameters
        ----------
        data : DataFrame, mapping or array-like, optional
            Profiles, such as the cells of a census table; by default the rows of the fit.
        groups : array-like or str, optional
            The group of each profile, by default the column of the fit in data.  A group without
            reports is one of all groups, and its error has their variance.  Without any groups the
            proportion is the mean over groups, and its error is that of the mean.
        offset : float, array-like or str, optional
            Offset of the profiles, if the fit has one.

        Returns
        -------
        FitTable
            One row for each profile: covariates and group, reports (people of that group in the
            fit, without groups 0), proportion, std_error, low and high.  Missing values give NaN.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> expected = fit.predict(pd.DataFrame(index=[0, 1]), groups=[2, 3])
        >>> expected.to_frame()["proportion"].round(2).tolist()
        [0.63, 0.13]
        """
        frame, group_labels, cells = self._cells(data, groups, offset)
        in_groups = group_labels is not None
        means = np.zeros(len(cells.codes))
        errors = np.zeros(len(means))
        for rows, average in self._blocks(cells, in_groups):
            means[rows], errors[rows], _ = average
        means[cells.codes < 0] = np.nan
        ends: Ends = partial(logit_ends, means, errors, np.inf)
        labels = pd.DataFrame(index=frame.index)
        if group_labels is not None:
            labels["group" if self.group_name is None else self.group_name] = group_labels
            ends = partial(self._cell_ends, cells, np.isnan(means))
        numbers = {
            "reports": cells.reports.astype(np.int64),
            "proportion": means,
            "std_error": errors,
        }
        return self._predictions(frame, labels, numbers, ends)

    def _blocks(self, cells: _Cells, in_groups: bool) -> Iterator[tuple[slice, _Average]]:
        """Rows of cells, and what is predicted of them."""
        for rows in blocks(len(cells.codes), _CELLS):
            predicted = partial(self._predicted_cells, cells=cells, rows=rows, in_groups=in_groups)
            yield rows, _average(self._settings, predicted)

    def _cell_ends(self, cells: _Cells, is_missing: Booleans, level: float) -> Limits:
        """Ends of intervals of cells of groups; they are computed again, as mixtures are large."""
        ends = np.zeros((2, len(cells.codes)))
        for rows, average in self._blocks(cells, in_groups=True):
            ends[:, rows] = _quantiles(average.mixtures, level)
        family = self.fit.model.outcome.family
        low, high = (family.probabilities(end[None])[1] for end in ends)
        return np.where(is_missing, np.nan, low), np.where(is_missing, np.nan, high)

    def poststratify(
        self,
        data: Any,
        counts: Any,
        *,
        by: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> FitTable:
        """The proportion of the event in a population of known cells, or in its areas.

        Multilevel regression and poststratification: the mean of the predictions of all cells,
        weighted by how many people of the population are in each.

        Parameters
        ----------
        data : DataFrame, mapping or array-like
            The cells of a census table: their covariates, and their groups.
        counts : array-like or str
            People of the population in each cell, or their column.
        by : array-like or str, optional
            The area of each cell, or its column; by default all cells are one area.
        groups, offset
            As for `predict`; cells need groups.

        Returns
        -------
        FitTable
            One row for each area: people, without_reports (the share of them in groups without
            reports, whose proportion is that of the model alone), proportion, std_error, low, high.
            Intervals are for the counts as they are, with the errors of the parameters and of the
            intercepts.  The picture sorts the areas, with a line at the mean of their people.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> yes = [8, 12, 25, 9, 17, 11, 30, 14, 10, 21, 13, 7]  # of 40 people in each town
        >>> towns = pd.DataFrame({"town": np.repeat(range(12), 2), "report": ["yes", "no"] * 12})
        >>> towns["people"] = [n for count in yes for n in (count, 40 - count)]
        >>> m = rr.KRR(["no", "yes"], 0.85)
        >>> formula = "report ~ 1 + (1 | town)"
        >>> fit = rr.regression.mixed(formula, towns, mechanism=m, frequencies="people")
        >>> cells = pd.DataFrame({"town": range(12), "region": ["north", "south"] * 6})
        >>> cells["people"] = 1000
        >>> areas = fit.poststratify(cells, "people", by="region")
        >>> areas.to_frame()[["region", "proportion"]].round(2)
          region  proportion
        0  north        0.38
        1  south        0.23
        """
        frame, labels, cells = self._cells(data, groups, offset)
        if labels is None:
            raise ArgumentValueError(
                "poststratify needs the group of each cell: give groups=, or a frame with the "
                f"column {self.group_name!r}"
            )
        n = len(frame)
        people = _people_of_cells(counts, data, n)
        if (cells.codes < 0).any() or np.isnan(cells.design).any():
            raise ArgumentValueError(
                "the cells of poststratify must not have missing covariates or groups; leave these "
                "cells out"
            )
        by_values = values_of_profiles(by, data, n, "by")
        areas, names = _areas(by_values, n)
        totals = np.bincount(areas, people)
        if not (totals > 0).all():
            raise ArgumentValueError(
                f"by must have areas with people, found {int((totals == 0).sum())} whose counts "
                "are all 0; leave these cells out"
            )
        means, errors, ends = self._area_means(cells, labels, areas, people / totals[areas])
        area_labels = pd.DataFrame({by if isinstance(by, str) else "area": names})
        numbers = {
            "people": totals,
            "without_reports": np.bincount(areas, people * (cells.reports == 0)) / totals,
            "proportion": means,
            "std_error": errors,
        }
        return FitTable(
            kind="poststratified areas",
            model=self.title,
            n=self.nobs,
            estimate="proportion",
            labels=pd.DataFrame({"category": [self.event]}) if by is None else area_labels,
            numbers=pd.DataFrame(numbers),
            ends=ends,
            sort=True,
            reference=float(np.average(means, weights=totals)),
        )

    def _area_means(
        self,
        cells: _Cells,
        labels: pd.Series[Any],
        areas: Indices,
        proportions: Floats,
    ) -> tuple[Floats, Floats, Ends]:
        """Means of cells with these proportions of their area, their errors and intervals."""
        count = int(areas.max()) + 1
        # a group without reports has an intercept of its own, as each of the others
        intercept_codes = pd.factorize(labels)[0]
        pairs, pair = np.unique(
            np.column_stack([areas, intercept_codes]), axis=0, return_inverse=True
        )
        pair = pair.ravel()
        of_area = pairs[:, 0]
        single = np.bincount(of_area)[of_area] == 1

        def predicted(setting: _Setting) -> _Prediction:
            sums = np.zeros((len(pairs), setting.groups.values.shape[1]))
            slopes = np.zeros((count, self.fit.model.columns + 1))
            for rows in blocks(len(areas), _CELLS):
                _, values, _, by_cell = self._expected(setting, cells, rows)
                np.add.at(sums, pair[rows], proportions[rows, None] * values)
                np.add.at(slopes, areas[rows], proportions[rows, None] * by_cell)
            weights = np.empty_like(sums)
            weights[pair] = setting.groups.weights[cells.codes]
            parts = (weights * sums).sum(axis=1)
            variances = (weights * (sums - parts[:, None]) ** 2).sum(axis=1)
            means = np.bincount(of_area, parts, count).astype(np.float64)
            errors = np.sqrt(setting.delta(slopes)) / (means * (1 - means))
            mixture = _Mixture(
                scipy.special.logit(sums[single]),
                setting.weight * weights[single],
                errors[of_area[single]],
            )
            variances = np.bincount(of_area, variances, count).astype(np.float64)
            return _Prediction(means, variances, slopes, mixture)

        means, errors, mixtures = _average(self._settings, predicted)
        return means, errors, partial(_area_ends, means, errors, of_area[single], mixtures)

    def _cells(
        self, data: Any, groups: Any, offset: Any
    ) -> tuple[pd.DataFrame, pd.Series[Any] | None, _Cells]:
        """The profiles, their labels of groups if they have any, and all that predictions need."""
        self._check_finite("a prediction")
        model = self.fit.model
        if data is None:
            check_left_out(
                "without data predictions are of the rows of the fit", groups=groups, offset=offset
            )
            frame = self.data.design.frame
            design = self.fit.plain.model.same
            shift = self.fit.plain.model.offset
            labels: pd.Series[Any] | None = pd.Series(self.groups[self.group_codes], frame.index)
        else:
            frame = self.data.design.framed(data)
            design = self.data.design.again(frame) @ self.fit.plain.back
            shift = offset_as_in_fit(offset, data, len(frame), model.offset is not None)
            labels = self._labels(data, groups, frame)
        n = len(frame)
        last = len(self.groups)
        codes = np.full(n, last)
        if labels is not None:
            codes = self.groups.get_indexer(pd.Index(labels, dtype=object))
            codes = np.where(codes < 0, last, codes)
            codes = np.where(labels.isna(), -1, codes)
        reports = np.append(self._sizes, 0.0)[codes]
        no_offset = np.zeros(n)
        offsets = no_offset if shift is None else shift
        cells = _Cells(design, offsets, codes.astype(np.intp), reports)
        return frame, labels, cells

    def _labels(self, data: Any, groups: Any, frame: pd.DataFrame) -> pd.Series[Any] | None:
        """The groups of profiles; None where they have none."""
        if groups is None:
            name = self.group_name
            table = None if isinstance(data, np.ndarray) else table_of(data)
            if name is None or table is None or str(name) not in map(str, table.columns):
                return None
            groups = called(table, str(name))
        values = values_of_profiles(groups, data, len(frame), "groups")
        return pd.Series(np.asarray(values, dtype=object), frame.index, dtype=object)

    def _predicted_cells(
        self, setting: _Setting, *, cells: _Cells, rows: slice, in_groups: bool
    ) -> _Prediction:
        """Proportions of some cells; the mixture is of their predictors.

        in_groups : cells are each of a group; else the mean is over groups, without their variance.
        """
        eta, values, weights, slopes = self._expected(setting, cells, rows)
        means = (weights * values).sum(axis=1)
        variances = np.zeros(len(means))
        if in_groups:
            variances = (weights * (values - means[:, None]) ** 2).sum(axis=1)
        by_predictor = setting.mean_slopes()[cells.codes[rows]]
        by_predictor[:, :-1] += cells.design[rows]
        errors = np.sqrt(setting.delta(by_predictor))
        mixture = _Mixture(eta, setting.weight * weights, errors)
        return _Prediction(means, variances, slopes, mixture)

    def _expected(
        self, setting: _Setting, cells: _Cells, rows: slice
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """(cells, nodes) predictors, proportions and weights; (cells, p + 1) slopes of the mean."""
        theta = setting.parameters
        groups = setting.groups
        family = self.fit.model.outcome.family
        codes = cells.codes[rows]
        u = groups.values[codes]
        weights = groups.weights[codes]
        design = cells.design[rows]
        fixed = design @ theta[:-1] + cells.offset[rows]
        eta = fixed[:, None] + theta[-1] * u
        probabilities = family.probabilities(eta[None])
        values = probabilities[1]
        density = weights * family.slopes(eta[None], probabilities)[1, 0]
        means = (weights * values).sum(axis=1)
        # the intercept given the reports depends on the parameters, too
        centered = weights * (values - means[:, None])
        slopes = np.zeros((len(codes), len(theta)))
        for code in np.unique(codes):
            is_group = codes == code
            slopes[is_group] = centered[is_group] @ groups.scores[code]
        slopes[:, :-1] += design * density.sum(axis=1)[:, None]
        slopes[:, -1] += (density * u).sum(axis=1)
        return eta, values, weights, slopes


def _area_ends(
    means: Floats,
    errors: Floats,
    single: Indices,
    mixtures: Sequence[_Mixture],
    level: float,
) -> Limits:
    """Ends of intervals of areas: on the logit scale normal, of areas of one group quantiles.

    single : the places of areas of one group, which have the mixtures.
    """
    low, high = logit_ends(means, errors, np.inf, level)
    if single.size:
        low[single], high[single] = scipy.special.expit(_quantiles(mixtures, level))
    return low, high


def random_intercepts_result(
    title: str, outcome: ReportedOutcome, data: ModelData, plain: Fit, *, groups: Groups
) -> RandomInterceptsResult:
    """The result of a fit with random intercepts.

    plain : the fit with equal intercepts of the same rows.
    """
    used = groups.kept(data.keep, data.weights)
    fit = grouped_fit(plain, used)
    size = len(plain.theta) + 1
    back = np.eye(size)
    back[:-1, :-1] = plain.back
    estimates = back @ fit.maximum.parameters
    covariance = back @ fit.covariance @ back.T
    if fit.sd == 0:
        covariance[-1] = np.nan
        covariance[:, -1] = np.nan
    if not fit.is_finite:
        is_endless = abs(fit.sd) > fit.limit
        estimates = np.append(np.full(size - 1, np.nan), np.inf if is_endless else np.nan)
        covariance = np.full((size, size), np.nan)
    name = "group" if groups.name is None else groups.name
    return RandomInterceptsResult(
        title=f"{title}, random intercepts of {name!r}",
        index=pd.Index([*data.names, f"sd({name})"], dtype=object),
        estimates=estimates,
        covariance=covariance,
        vcov="observed",
        data=data,
        group_name=groups.name,
        groups=used.labels,
        fit=fit,
        event=outcome.categories[-1],
        group_codes=used.codes,
    )
