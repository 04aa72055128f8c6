"""Fitted regressions: coefficients with their covariance, tests, predictions and notes.

Names follow statsmodels: `params`, `bse`, `zvalues`, `pvalues`, `conf_int`, `cov_params`, `aic`,
`bic`, `summary`.  Coefficients are about the true answer, not about the report.  A coefficient
without a finite maximum likelihood estimate is infinite and has no standard error.
Predictions and marginal effects are means, which `effects` computes.  Intervals of probabilities
are computed on a scale where they are nearly normal and transformed back, so that they stay in
[0, 1]: the scale of the link where the class is known, else (means, several categories) the logit.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np
import pandas as pd
import scipy

from rrstats._cached import cached_property
from rrstats._checks import (
    check_instance,
    check_left_out,
    check_level,
    check_one_of,
    quote,
    quote_list,
)
from rrstats._display import FrameTable, HeaderLines, Notes, SummaryTable, counted, label
from rrstats._names import MissingMembers, checked_keywords, checked_options
from rrstats._typing import Booleans, Floats, Indices, Labels
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    LowPrecisionWarning,
    WarningArguments,
)
from rrstats.estimation.hypothesis_tests.counted_reports import few_expected
from rrstats.estimation.hypothesis_tests.test_result import TestResult
from rrstats.inference.contrasts import student_quantile
from rrstats.inference.multinomial import chi_squared_test, distance
from rrstats.plots import PlotOptions, plot_intervals
from rrstats.regression.behaviours import BehavedOutcome
from rrstats.regression.design_matrix import by_source, offset_as_in_fit, table_of
from rrstats.regression.effects import FittedMeans
from rrstats.regression.fit_tables import (
    Ends,
    FitTable,
    logit_ends,
    ratio_ends,
    wald_ends,
    written,
)
from rrstats.regression.likelihood import (
    Fit,
    Likelihood,
    check_nested,
    fitted,
    profile_intervals,
    ratio_statistic,
    uneven,
)
from rrstats.regression.ordered import OrderedOutcome
from rrstats.regression.outcomes import NormalOutcome
from rrstats.regression.private_covariates import ClassColumns, ModelData, PrivateCovariates
from rrstats.regression.survey_people import NORMAL, Reference, design_df

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RegressionResult(FrameTable):
    """Coefficients of a fitted regression.

    Attributes
    ----------
    title : str
        The model in a line.
    index : Index
        Names of the parameters; for more than two categories pairs of category and covariate.
    estimates : ndarray of shape (p,)
        Values of the parameters.
    covariance : ndarray of shape (p, p)
        Covariance of the parameters, NaN where it is not known.
    vcov : str
        The kind of covariance.
    data : ModelData
        The columns of the model, except the reports.
    reference : Reference
        The normal distribution or Student's t with the degrees of freedom of a statistic.
    """

    title: str
    index: pd.Index[Any]
    estimates: Floats
    covariance: Floats
    vcov: str
    data: ModelData
    reference: Reference = NORMAL

    # The name of the first part of pairs that name parameters.
    _first_label: ClassVar[str] = "category"
    # What this kind of fit has in the place of attributes that only `LikelihoodResult` has.
    _alternative: ClassVar[str] = ""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise with the alternative for attributes that only fits by likelihood have."""
            if self._alternative and hasattr(LikelihoodResult, name):
                raise AttributeError(f"{type(self).__name__} has no {name}: {self._alternative}")
            return super().__getattr__(name)

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return self.data.people

    @property
    def llf(self) -> float:
        """Log-likelihood at the maximum; NaN without one."""
        return np.nan

    @property
    def converged(self) -> bool:
        """Convergence; scores are solved in one step."""
        return True

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return 1

    @cached_property
    def df(self) -> pd.Series[float]:
        """Degrees of freedom of Student's t of each coefficient; infinite for the normal.

        With up to 100 clusters, also within strata, Satterthwaite's (Bell and McCaffrey 2002);
        they are few where few clusters decide a coefficient.  With more clusters their number
        minus that of parameters; with strata and replicates as in `svyglm` of R's survey package.
        NaN, and intervals are infinite, where one cluster alone decides a coefficient.
        """
        df = self.reference.df(np.eye(self.df_model))
        return pd.Series(df, index=self.index, name="df")

    @property
    def _is_normal(self) -> bool:
        """Statistics are compared with the normal distribution."""
        return self.reference.sandwich is None and np.isinf(self.reference.design_df)

    @property
    def warnings(self) -> tuple[WarningArguments, ...]:
        """Texts and classes of the warnings of this fit."""
        if self._is_normal:
            return ()
        units = "replicates that differ" if self.vcov == "replicates" else "clusters"
        is_reduced = self.vcov == "clustered" and self.reference.sandwich is not None
        text = ""
        decided = list(self.index[self.df.isna() & np.isfinite(self.estimates)])
        if self.reference.sandwich is not None and decided:
            text = (
                f"one cluster alone decides {quote_list(decided)}: no other cluster shows how "
                "far these are off, so their standard errors are too small and their intervals "
                "infinite; leave covariates out that differ only in one cluster"
            )
        elif is_reduced and self.df.min() < _MIN_DF:
            fewest = float(self.df.min())
            count = int((self.df < _MIN_DF).sum())
            text = (
                f"few clusters decide {count} of {counted(self.df_model, 'coefficient')}, with "
                f"as few as {fewest:.2g} degrees of freedom: their intervals are wide, and "
                "p-values not reliable; use more clusters, or leave covariates out that few of "
                "them have"
            )
        elif not is_reduced and self.reference.design_df < _FEW_DF:
            more = self.reference.design_df
            text = (
                f"there are few {units}, only {more:.0f} more than parameters: intervals by "
                f"Student's t are somewhat too short; use more {units} or fewer covariates"
            )
        return ((text, LowPrecisionWarning),) if text else ()

    @property
    def notes(self) -> Notes:
        """Sentences below the table."""
        return tuple(text for text, _ in self.warnings)

    def _effective_n_note(self, effective_n: pd.Series[float]) -> str:
        """The effective sample sizes of the coefficients of privatized covariates."""
        sizes = "; ".join(f"{_named(name)} {n:,.0f}" for name, n in effective_n.dropna().items())
        sizes = sizes or "not known because of noise"
        return f"Effective sample size, of {self.nobs:,} reports: {sizes}."

    @property
    def private(self) -> PrivateCovariates:
        """The privatized covariates."""
        return self.data.private

    @property
    def params(self) -> pd.Series[float]:
        """The coefficients, by name."""
        return pd.Series(self.estimates, index=self.index, name="coef")

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients.

        Returns
        -------
        DataFrame
            (p, p); NaN where there is none.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.cov_params().round(3)
                   Intercept     x1
        Intercept      0.098 -0.042
        x1            -0.042  0.027
        """
        return pd.DataFrame(self.covariance, index=self.index, columns=self.index)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of the coefficients."""
        return pd.Series(standard_errors(self.covariance), index=self.index, name="std err")

    @property
    def zvalues(self) -> pd.Series[float]:
        """Coefficients divided by their standard errors."""
        return (self.params / self.bse).rename("z")

    tvalues = zvalues

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of the null hypothesis of 0, by the normal or Student's t."""
        tail = scipy.special.stdtr(self.df, -self.zvalues.astype(np.float64).abs())
        return pd.Series(2 * tail, index=self.index, name="P>|z|")

    @property
    def df_model(self) -> int:
        """The number of parameters."""
        return len(self.estimates)

    @property
    def df_resid(self) -> int:
        """The number of people minus the number of parameters."""
        return self.nobs - self.df_model

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log L + 2 p."""
        return -2 * self.llf + 2 * self.df_model

    @property
    def bic(self) -> float:
        """Schwarz's criterion, -2 log L + p log n."""
        return -2 * self.llf + self.df_model * float(np.log(self.nobs))

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Wald intervals of the coefficients.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            Columns low and high; by Student's t with clusters, else by the normal distribution.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.conf_int(level=0.9).round(2).to_numpy().tolist()
        [[-1.13, -0.1], [-0.11, 0.43]]
        """
        half = student_quantile(check_level(level), self.df) * self.bse
        return pd.DataFrame({"low": self.params - half, "high": self.params + half})

    def wald_test(self, terms: Any) -> TestResult:
        """Test that some coefficients are all 0.

        Parameters
        ----------
        terms : hashable, list of hashables, or array-like of shape (r, p)
            Names of parameters, or a matrix whose product with the coefficients is 0 under the null
            hypothesis, such as ``[[0, 1, -1]]`` for two equal ones.  With more than two categories
            names are pairs of category and covariate; one of them alone stands for all parameters
            that have it.

        Returns
        -------
        TestResult
            By chi-squared; with clusters by F, of up to 100 clusters with the degrees of freedom of
            Pustejovsky and Tipton (2018).  There is no p-value where clusters are too few for so
            many coefficients at once.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> round(fit.wald_test("x1").p_value, 3)
        0.338
        """
        contrasts = self._contrasts(terms)
        value = contrasts @ self.estimates
        used = (contrasts != 0).any(axis=0)
        weights = contrasts[:, used]  # others may have no errors, and NaN times 0 is NaN
        covariance = weights @ self.covariance[np.ix_(used, used)] @ weights.T
        rank = len(contrasts)
        if not (np.isfinite(covariance).all() and np.linalg.matrix_rank(covariance) == rank):
            raise ArgumentValueError(
                "terms must be linearly independent coefficients with standard errors; some of "
                "these have none, or follow from the others"
            )
        statistic, p = chi_squared_test(float(value @ np.linalg.solve(covariance, value)), rank)
        method = "Wald test"
        if not self._is_normal:
            df, scale = self.reference.joint_df(contrasts)
            number = f"{df:.3g}" if df > 0 else "no"
            method += f", F with {rank} and {number} degrees of freedom"
            p = scipy.special.fdtrc(rank, df, scale * statistic / rank) if df > 0 else np.nan
        null = "a coefficient of 0" if rank == 1 else f"equality of {rank} coefficients with 0"
        if (contrasts != 0).sum(axis=1).max() > 1:
            null = "the given linear hypothesis"
        return TestResult(null, statistic, rank, float(p), method, self.nobs)

    def _contrasts(self, terms: Any) -> Floats:
        """(contrasts, parameters) rows of names, or a matrix as it is."""
        is_several = isinstance(terms, list | set | pd.Index | np.ndarray)
        names = list(terms) if is_several else [terms]
        places = [self._places(name) for name in names]
        if names and all(places):
            return np.eye(self.df_model)[list(dict.fromkeys(itertools.chain(*places)))]
        try:
            matrix = np.atleast_2d(np.array(names, dtype=np.float64))
        except (TypeError, ValueError):
            matrix = np.empty((0, 0))
        if matrix.shape[1] == self.df_model and np.isfinite(matrix).all():
            return matrix
        raise ArgumentValueError(
            f"terms must be names of parameters, {list(self.index)}, or a matrix of "
            f"{self.df_model} finite columns, in which a row of 0, 1 and -1 says that two are "
            f"equal, found {quote(terms)}"
        )

    def _places(self, name: Any) -> list[int]:
        """Indices of the parameters with that name, or with a pair that contains it."""
        if not isinstance(name, Hashable):
            return []
        levels = (self.index.get_level_values(place) for place in range(self.index.nlevels))
        for labels in (self.index, *levels):
            places = [place for place, text in enumerate(labels) if text == name]
            if places:
                return places
        return []

    # -- the table --------------------------------------------------------------------------

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The coefficients as a frame.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        DataFrame
            One row for each parameter, with columns coef, std_error, z, p_value, low, high.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.to_frame().round(2).iloc[:, :4]
                   coef  std_error     z  p_value
        Intercept -0.62       0.31 -1.97     0.05
        x1         0.16       0.16  0.96     0.34
        """
        columns = {
            "coef": self.params,
            "std_error": self.bse,
            "z": self.zvalues,
            "p_value": self.pvalues,
        }
        return pd.DataFrame({**columns, **self.conf_int(level)})

    @property
    def _header(self) -> HeaderLines:
        """Names and values above the table."""
        return [("people", f"{self.nobs:,}"), ("standard errors", self._errors)]

    def _likelihood_rows(self, *tests: tuple[str, str]) -> HeaderLines:
        """Rows of the header about the maximum of the likelihood, with tests against others."""
        return [
            ("log-likelihood", f"{self.llf:.3f}"),
            *tests,
            ("AIC", f"{self.aic:.2f}"),
            ("BIC", f"{self.bic:.2f}"),
        ]

    @property
    def _convergence(self) -> tuple[str, str]:
        """The row of the header about the search."""
        converged = "yes" if self.converged else "no"
        return "converged", f"{converged}, {counted(self.iterations, 'iteration')}"

    @property
    def _errors(self) -> str:
        if self._is_normal:
            return self.vcov
        ends = dict.fromkeys(f"{df:.3g}" for df in (self.df.min(), self.df.max()))
        return f"{self.vcov}, t with {' to '.join(ends)} df"

    def summary(self, level: float = 0.95) -> SummaryTable:
        """The fit as a table: the model, its coefficients and notes.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        SummaryTable
            Text in a terminal, HTML in a notebook; ``as_latex()`` and ``to_frame()``.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> print(str(fit.summary()).splitlines()[-2])
        x1         0.1572  0.1640  0.96 0.338 -0.1643  0.4787
        """
        checked = check_level(level)
        low, high = (f"{0.5 + sign * checked / 2:.4g}" for sign in (-1, 1))
        z = "z" if self._is_normal else "t"
        formats = dict.fromkeys(("coef", "std_error", "low", "high"), written)
        return SummaryTable(
            self.title,
            self._header,
            self.to_frame(level),
            ["coef", "std err", z, f"P>|{z}|", f"[{low}", f"{high}]"],
            {**formats, "z": partial(_rounded, digits=2), "p_value": partial(_rounded, digits=3)},
            self.notes,
        )

    def interpret(self, level: float = 0.95) -> str:
        """The coefficients in sentences.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str
            A line for each coefficient: its value, interval and p-value, if it has these.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> print(fit.interpret())
        Intercept: -0.6185, 95% interval -1.2325 to -0.0045 (p = 0.0484)
        x1: 0.1572, 95% interval -0.1643 to 0.4787 (p = 0.338)
        """
        table = self.to_frame(level)[["coef", "low", "high", "p_value"]]
        sentences = []
        for name, (value, low, high, p) in zip(self.index, table.to_numpy(), strict=True):
            interval = f"{level * 100:.10g}% interval {written(low)} to {written(high)}"
            if np.isfinite(p):
                rest = f"{interval} (p = {p:.3g})"
            elif np.isnan(low):
                rest = "without interval and p-value"
            else:
                rest = interval
            sentences.append(f"{_named(name)}: {written(value) or 'not known'}, {rest}")
        return "\n".join(sentences)

    @property
    def _of_outcome(self) -> Booleans:
        """True for coefficients of the outcome, not of a model of private covariates."""
        return np.ones(len(self.index), dtype=bool)

    @property
    def _is_slope(self) -> Booleans:
        """True for coefficients of the outcome but intercepts, unless there are no others."""
        is_slope = self._of_outcome & (self.index.get_level_values(-1) != "Intercept")
        return is_slope if is_slope.any() else self._of_outcome

    @property
    def _is_logit(self) -> bool:
        """True where exponentials of coefficients are odds ratios."""
        return False

    def odds_ratios(self) -> FitTable:
        """The exponentials of the coefficients of a logit, without intercepts.

        Returns
        -------
        FitTable
            Columns covariate (with more than two categories, or items, these first), odds_ratio, z,
            p_value, low and high: the intervals are those of the coefficients.

        Raises
        ------
        ArgumentTypeError
            The regression has another link.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.odds_ratios().to_frame().round(2)
          covariate  odds_ratio     z  p_value   low  high
        0        x1        1.17  0.96     0.34  0.85  1.61
        """
        if not self._is_logit:
            raise ArgumentTypeError(
                f"odds_ratios are of regressions with the logit link, found {self.title!r}; its "
                "coefficients are in params"
            )
        rows = self._is_slope
        labels = self.index[rows].to_frame(index=False)
        labels.columns = pd.Index([self._first_label, "covariate"][-labels.shape[1] :])
        slopes = self.estimates[rows]
        errors = standard_errors(self.covariance)[rows]
        df = self.df.to_numpy()[rows]
        tests = {"z": self.zvalues.to_numpy()[rows], "p_value": self.pvalues.to_numpy()[rows]}
        return FitTable(
            kind="odds ratios",
            model=self.title,
            n=self.nobs,
            estimate="odds_ratio",
            labels=labels,
            numbers=pd.DataFrame({"odds_ratio": np.exp(slopes), **tests}),
            ends=partial(ratio_ends, slopes, errors, df),
            reference=0.0,
        )

    def _predictions(
        self,
        profiles: pd.DataFrame | None,
        labels: pd.DataFrame,
        numbers: dict[str, Any],
        ends: Ends,
    ) -> FitTable:
        """A table of predictions, with the covariates of profiles, if there are any, in front.

        labels : further columns that name the rows, with their index.
        numbers : the columns before the intervals.
        """
        if profiles is not None:
            labels = self.data.with_covariates(profiles, labels)
        return FitTable(
            kind="predictions",
            model=self.title,
            n=self.nobs,
            estimate="proportion" if "proportion" in numbers else "prediction",
            labels=labels,
            numbers=pd.DataFrame(numbers, index=labels.index),
            ends=ends,
        )

    @checked_options(PlotOptions)
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the coefficients with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default new ones.
        level : float
            Confidence level of the intervals.
        **options
            figsize, title, sort and top.

        Returns
        -------
        Axes
            One row for each coefficient of the outcome except intercepts, unless there are no
            others, and a line at zero.  Coefficients of the model of a private covariate are in
            `to_frame` alone.  `odds_ratios` and marginal effects have pictures of their own.
        """
        rows = self.to_frame(level)[self._is_slope].rename(columns={"coef": "estimate"})
        intervals = rows[["estimate", "low", "high"]].set_axis(rows.index.to_flat_index())
        options = {"title": self.title, **options}
        return plot_intervals(
            intervals, ax, xlabel="coefficient", level=level, bounds=None, **options
        )

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def standard_errors(covariance: Floats) -> Floats:
    """Square roots of the diagonal; NaN where it is negative or not known."""
    diagonal = np.diagonal(covariance)
    return np.sqrt(np.where(diagonal >= 0, diagonal, np.nan))


def _named(name: Any) -> str:
    """The name of a parameter as text."""
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _rounded(number: float, digits: int) -> str:
    return "" if np.isnan(number) else f"{number:.{digits}f}"


_SMALL = 5
"""If most expected counts are below this there is no p-value: for true models with a profile for
each of 800 people, the false-positive rate at 5% was 100% (deviance) and 0% (Pearson)."""

_LEFT_OUT = "here it is left out (NaN); "

_COARSER = (
    "use coarser covariates (for example age groups), so that more people share a profile, or "
    "compare the model with a larger one (compare)"
)


_FEW_DF = 15
"""Fewer degrees of freedom of linearized covariances and replicates cause a warning: with 12
clusters in 3 strata 90% of the 95% intervals of a slope covered it."""

_MIN_DF = 4.0
"""Fewer of Satterthwaite's degrees of freedom cause a warning (Tipton 2015)."""

_FEW_PEOPLE = 5.0
"""A class with a smaller estimated number of people causes a warning."""

_FEW_ANSWERS = 10.0
"""A coefficient with a smaller effective sample size causes a warning."""

_MAX_PROFILED_ROWS = 5000
"""Maximum rows times classes for profile intervals under a table."""

_MAX_PROFILES = 10
"""Maximum number of profile intervals under a table."""

_EDGE = 0.01
"""A note appears if the likelihood is higher by more than this at the edge."""


def verdict(statistic: float, df: int, p: float) -> str:
    """A chi-squared test in a line."""
    return f"chi2({df}) = {statistic:.2f}, p = {p:.3g}"


@checked_keywords
@dataclass(frozen=True, repr=False)
class GoodnessOfFit(MissingMembers):
    """Observed and expected counts of reports, compared in groups of equal covariates.

    Attributes
    ----------
    pearson, deviance : float
        Chi-squared statistics with ``df`` degrees of freedom.
    pearson_p_value, deviance_p_value : float
        P-values; NaN where most expected counts are small.
    groups : int
        The number of groups.
    smallest_expected : float
        The smallest expected count.
    notes : tuple of str
        A sentence if expected counts are too small for these p-values.
    """

    pearson: float
    deviance: float
    df: int
    pearson_p_value: float
    deviance_p_value: float
    groups: int
    smallest_expected: float
    notes: Notes = ()

    def __repr__(self) -> str:
        lines = (
            f"Goodness of fit in {self.groups:,} groups of equal covariates (smallest expected "
            f"count {self.smallest_expected:.2g}):",
            f"Pearson: {verdict(self.pearson, self.df, self.pearson_p_value)}",
            f"deviance: {verdict(self.deviance, self.df, self.deviance_p_value)}",
        )
        return "\n".join([*lines, *self.notes])


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MaximumResult(RegressionResult):
    """A regression whose coefficients are the maximum of a likelihood."""

    fit: Fit
    inner: Floats

    @property
    def llf(self) -> float:
        """Log-likelihood at the maximum."""
        return self.fit.maximum.value

    @property
    def converged(self) -> bool:
        """The search ended at a maximum."""
        return self.fit.maximum.converged

    @property
    def iterations(self) -> int:
        """Number of iterations of the search."""
        return self.fit.maximum.iterations

    # -- parameters and their covariance ------------------------------------------------------

    def with_vcov(self, kind: str) -> Self:
        """Return this fit with another covariance.

        Parameters
        ----------
        kind : {"observed", "expected", "opg", "robust", "clustered", "linearized", "replicates"}
            The kind of covariance.

        Returns
        -------
        MaximumResult
            A new result.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.with_vcov("robust").bse.round(2).tolist()
        [0.32, 0.17]
        """
        inner, sandwich = self.fit.covariance(kind, self.data)
        covariance = self.fit.natural(inner)
        model = self.fit.model
        # the deviation of normal errors is no coefficient
        is_number = isinstance(model.outcome, NormalOutcome)
        df = design_df(kind, self.data, model.head if is_number else self.df_model)
        reference = Reference(df, sandwich, self.fit.slopes)
        return replace(self, inner=inner, covariance=covariance, vcov=kind, reference=reference)

    def conf_int(self, level: float = 0.95, method: str = "wald") -> pd.DataFrame:
        """Intervals of the coefficients.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.
        method : {"wald", "profile-likelihood"}
            From the standard errors, or all values that a likelihood-ratio test does not reject
            (also "profile", as in R), which are better with few reports or a proportion near 0 or
            1.  An end is infinite where the likelihood does not fall enough, or has another maximum
            in between.

        Returns
        -------
        DataFrame
            Columns low and high.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.conf_int(level=0.9).round(2)
                    low  high
        Intercept -1.13 -0.10
        x1        -0.11  0.43
        """
        if check_one_of(method, "method", ("wald", "profile-likelihood", "profile")) == "wald":
            return super().conf_int(level)
        self._check_likelihood("a profile likelihood interval")
        ends = profile_intervals(self.fit, check_level(level))
        return pd.DataFrame({"low": ends[:, 0], "high": ends[:, 1]}, index=self.index)

    # -- likelihood ---------------------------------------------------------------------------

    def compare(self, other: MaximumResult) -> TestResult:
        """Compare two nested fits by a likelihood-ratio test, in either order.

        Both must have the same privatized covariates, because their reports are part of the
        likelihood; for the effect of a privatized covariate use `wald_test`.  If one fit lacks an
        ordinary covariate, its model of the true categories lacks it too, and the test is of both.

        Parameters
        ----------
        other : MaximumResult
            The larger or the smaller fit.

        Returns
        -------
        TestResult
            Twice the gain in log-likelihood, by chi-squared.

        Raises
        ------
        ArgumentValueError
            The data differ, neither fit is a special case of the other, or there is no likelihood,
            because of weights or clusters.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> smaller = rr.logit(reports, mechanism=rr.KRR([0, 1], 0.9))
        >>> print(fit.compare(smaller))
        TestResult: The smaller model is not rejected (p = 0.3353)
        likelihood-ratio test: statistic 0.928291, df 1, n = 200
        """
        check_instance(other, "other", MaximumResult, "another fit by likelihood")
        large, small = sorted((self, other), key=lambda fit: -fit.df_model)
        for fit in (large, small):
            fit._check_likelihood("a likelihood-ratio test")
        check_nested(large.fit, small.fit, f"compare aic: {large.aic:.2f} and {small.aic:.2f}")
        df = large.df_model - small.df_model
        statistic, p = chi_squared_test(2 * (large.llf - small.llf), df)
        null = "the smaller model"
        return TestResult(null, statistic, df, p, "likelihood-ratio test", self.nobs)

    lr_test = compare

    @property
    def _why_no_likelihood(self) -> str:
        """The reason why the likelihood of these people is not known; empty if it is."""
        if self.data.weighted:
            return "there is none with probability weights"
        if self.data.clusters is not None:
            return "people in clusters are not independent"
        return "" if self.converged else "this fit did not converge"

    def _check_likelihood(self, what: str) -> None:
        why = self._why_no_likelihood
        if why:
            raise ArgumentValueError(f"{what} needs a likelihood, but {why}; use wald_test")

    @property
    def _number(self) -> bool:
        return isinstance(self.fit.model.outcome, NormalOutcome)


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LikelihoodResult(MaximumResult):
    """A regression by likelihood, with a privatized outcome, privatized covariates, or both.

    Coefficients of the outcome come first; then, for a linear regression, ``sigma`` (the standard
    deviation of the errors), or proportions of latent classes within a category; then the logits of
    each true category of the covariates against the first, with names like ``smoker=yes: age``.

    Attributes
    ----------
    private : PrivateCovariates
        The privatized covariates.
    covariate_model : {"logistic", "constant"} or None
        The model of their proportions.
    """

    class_columns: ClassColumns | None
    covariate_model: str | None
    skew_note: str | None = None

    @cached_property
    def llnull(self) -> float:
        """The maximum log-likelihood of a model with one proportion for everyone."""
        if self.fit.model.classes > 1:
            raise ArgumentTypeError(
                "llnull is for fits on ordinary covariates, without classes of people"
            )
        ones = np.ones((self.fit.model.rows, 1))
        return fitted(replace(self.fit.model, same=ones), ["Intercept"], [0]).maximum.value

    @property
    def _of_outcome(self) -> Booleans:
        model = self.fit.model
        return np.asarray(np.arange(len(self.index)) < model.head)

    @property
    def _is_logit(self) -> bool:
        family = self.fit.model.outcome.family
        return family is not None and family.name == "logit"

    @property
    def _latent(self) -> bool:
        return bool(self.private.columns)

    @property
    def _behaviours(self) -> Labels:
        """The classes of people who do not follow the instructions, if they are modelled."""
        outcome = self.fit.model.outcome
        return outcome.names if isinstance(outcome, BehavedOutcome) else ()

    @property
    def event(self) -> Hashable:
        """The category whose probability is modelled; None if there are not two."""
        categories = self.fit.model.outcome.categories
        return categories[1] if len(categories) == 2 else None

    # -- means and probabilities of people ----------------------------------------------------

    @cached_property
    def _fitted_means(self) -> FittedMeans:
        reference = replace(self.reference, slopes=None)
        return FittedMeans(self.fit, self.data, self.class_columns, self.inner, reference)

    def predict(
        self,
        data: Any = None,
        *,
        average: bool = False,
        offset: Any = None,
    ) -> FitTable:
        """The expected outcome, or the probability of the true answer, for profiles of covariates.

        Parameters
        ----------
        data : DataFrame, mapping or array-like, optional
            Profiles, by default the rows of the fit.  Columns of privatized covariates hold *true*
            categories ("a smoker of 40"); without these columns the prediction is the mean over the
            true categories, weighted by P(category | covariates).
        average : bool
            Whether to return the mean over the profiles instead.
        offset : float, array-like or str, optional
            Offset of the profiles, if the fit has one.

        Returns
        -------
        FitTable
            One row for each profile (with more than two categories, for each profile and category):
            the covariates of the profiles, then proportion (of a number prediction) and std_error.
            Intervals are computed on the scale of the link or the logit, with the covariates fixed.
            Missing values give NaN.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.predict([0, 3]).to_frame()["proportion"].round(2).tolist()
        [0.35, 0.46]
        """
        frame, model, classes = self._profiles(data, offset)
        means = self._fitted_means
        shown = list(self._categories)
        if average:
            weights = means.weights if frame is None else np.full(model.rows, 1 / model.rows)
            predictions = means.mean_prediction(model, weights, shown)
            labels = pd.DataFrame(index=range(len(shown)))
            frame = None
        else:
            predictions = means.predictions(model, shown, classes)
            index = self.data.design.frame.index if frame is None else frame.index
            places = np.arange(len(index)).repeat(len(shown))
            labels = pd.DataFrame(index=index if len(shown) == 1 else index[places])
            frame = frame if frame is None else frame.iloc[places]
        if not self._number and (average or len(shown) > 1):
            categories = [*self._categories.values()] * (len(labels) // len(shown))
            labels["category"] = pd.Series(categories, labels.index, dtype=object)
        name = "prediction" if self._number else "proportion"
        numbers = {name: predictions.values, "std_error": predictions.errors}
        return self._predictions(frame, labels, numbers, predictions.ends)

    @property
    def _categories(self) -> dict[int, Hashable]:
        """The categories in tables, by index; of two categories only the event."""
        categories = dict(enumerate(self.fit.model.outcome.categories or [None]))
        return categories if self.event is None else {1: categories[1]}

    def _profiles(
        self, data: Any, offset: Any
    ) -> tuple[pd.DataFrame | None, Likelihood, Indices | None]:
        """The profiles, their likelihood, and their classes if the data have them."""
        model = self.fit.model
        if data is None:
            check_left_out("without data predictions are of the rows of the fit", offset=offset)
            return None, model, None
        private = self.private
        design = self.data.design
        private_names = set(map(str, private.names))
        names = [name for name in design.sources if name not in private_names]
        frame = table_of(data, names) if private.columns else design.framed(data)
        classes = None
        if any(name in frame.columns for name in private.names):
            classes = private.first_class[private.codes(frame)]
        shift = offset_as_in_fit(offset, data, len(frame), model.offset is not None)
        return frame, self._fitted_means.likelihood_of(frame, shift), classes

    def marginal_effects(self) -> FitTable:
        """Average marginal effects: the change of the mean outcome with each covariate.

        The effect of a number is the mean slope, that of a factor or a 0/1 column the mean
        difference to its first level.  The formula is evaluated again for each change, so squares
        and interactions change too, while true categories stay the same.  The effect of a
        privatized covariate is the mean difference to its first category.

        Returns
        -------
        FitTable
            Columns covariate, change, (category,) effect, std_error, z, p_value, low, high.

        Raises
        ------
        ArgumentValueError
            A number is in a transform that is not continuous (``I(age > 50)``, ``x // 3``): make
            the transform a column of the frame.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.marginal_effects().to_frame().round(3)
          covariate change  effect  std_error      z  p_value    low   high
        0        x1  slope   0.038      0.039  0.973    0.331 -0.038  0.113
        """
        changes = list(self._fitted_means.marginal_effects())
        shown = list(self._categories)
        effect = np.ravel([change.effect[shown] for change in changes])
        error = np.ravel([change.std_error[shown] for change in changes])
        df = np.ravel([change.df[shown] for change in changes])
        if self.fit.unknown.size and not self._latent:
            error = np.full_like(error, np.nan)
        labels = pd.DataFrame(
            [
                (change.covariate, change.change, category)
                for change in changes
                for category in self._categories.values()
            ],
            columns=["covariate", "change", "category"],
        )
        z = effect / error
        numbers = {
            "effect": effect,
            "std_error": error,
            "z": z,
            "p_value": 2 * scipy.special.stdtr(df, -np.abs(z)),
        }
        return FitTable(
            kind="average marginal effects",
            model=self.title,
            n=self.nobs,
            estimate="effect",
            labels=labels if len(shown) > 1 else labels.drop(columns="category"),
            numbers=pd.DataFrame(numbers),
            ends=partial(wald_ends, effect, error, df),
        )

    def posterior(self) -> pd.DataFrame:
        """P(true category | reports, outcome, covariates) for each row of the fit; sums to 1.

        This is what an observer infers about a person from the model; it is not an answer.

        Returns
        -------
        DataFrame
            One column for each category, of people who follow, and for each behaviour; with several
            privatized covariates, for each pair of covariate and category.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.posterior().round(2).head(2)
              0     1
        0  0.94  0.06
        1  0.94  0.06
        """
        model = self.fit.model
        theta = self.fit.theta
        index = self.data.design.frame.index
        if not self._latent:
            every = slice(None)
            psi = model.split(theta)[1]
            posterior = model.reports.posterior(every, model.eta(theta, every), psi)
            if self._behaviours:
                classes = model.posterior(theta)
                posterior = np.hstack([posterior * classes[:, :1], classes[:, 1:]])
            names = pd.Index([*model.outcome.categories, *self._behaviours], dtype=object)
            return pd.DataFrame(posterior, index=index, columns=names)
        posterior = model.posterior(theta)
        private = self.private
        is_single = len(private.names) == 1
        columns = {
            label if is_single else (name, label): posterior @ (private.shown[:, place] == code)
            for place, (name, labels) in enumerate(zip(private.names, private.labels, strict=True))
            for code, label in enumerate(labels)
        }
        return pd.DataFrame(columns, index=index)

    def thresholds(self) -> pd.DataFrame:
        """Thresholds of ordered categories, as R's polr prints them.

        Returns
        -------
        DataFrame
            One row for each pair of neighbours, with estimate and std_error: the logit of being at
            most the lower one, where all covariates are 0.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> reports = ["low", "middle", "high"] * 60
        >>> x = np.repeat([0, 1], 90)
        >>> grades = rr.KRR(["low", "middle", "high"], 0.8)
        >>> fit = rr.regression.ordinal(reports, x, mechanism=grades)
        >>> fit.thresholds()
                     estimate  std_error
        low|middle  -0.693147   0.298807
        middle|high  0.693147   0.298807
        """
        outcome = self.fit.model.outcome
        if not isinstance(outcome, OrderedOutcome):
            raise ArgumentTypeError("thresholds are for fits of rr.regression.ordinal")
        distances = range(self.fit.ancillary.start, self.fit.ancillary.stop)
        places = [list(self.index).index("Intercept"), *distances]
        combine = np.eye(len(places))  # a threshold is its distance minus the intercept
        combine[:, 0] = -1.0
        covariance = combine @ self.covariance[np.ix_(places, places)] @ combine.T
        pairs = zip(outcome.categories[:-1], outcome.categories[1:], strict=True)
        names = pd.Index([f"{label(below)}|{label(above)}" for below, above in pairs], dtype=object)
        columns = {
            "estimate": combine @ self.estimates[places],
            "std_error": np.sqrt(np.diagonal(covariance)),
        }
        return pd.DataFrame(columns, index=names)

    def proportions(self) -> FitTable:
        """Proportions of the true categories of privatized covariates, or of behaviours.

        They are means over these people of P(category | covariates), for the population: the
        standard errors include sampling.  Intervals are computed on the logit scale.

        Returns
        -------
        FitTable
            Columns covariate, category, proportion, std_error, low, high; of behaviours without
            the first.

        Examples
        --------
        >>> import numpy as np, pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "no", "yes", "no"] * 25, "y": [0, 1, 1, 0, 1] * 20})
        >>> m = rr.KRR(["no", "yes"], 0.9)
        >>> fit = rr.logit("y ~ a", frame, mechanism=rr.surveys.direct([0, 1]), mechanisms={"a": m})
        >>> fit.proportions().to_frame().round(2)
          covariate category  proportion  std_error   low  high
        0         a       no        0.81       0.05  0.68  0.90
        1         a      yes        0.19       0.05  0.10  0.32
        """
        classes = [
            ((column.name, category), self.private.shown[:, place] == code)
            for place, column in enumerate(self.private.columns)
            for code, category in enumerate(column.categories)
        ]
        for code, name in enumerate(self._behaviours, start=1):
            classes.append(((None, name), np.arange(self.fit.model.classes) == code))
        values = [self._fitted_means.class_proportion(selected) for _, selected in classes]
        value, error, df = np.array(values, dtype=np.float64).reshape(-1, 3).T
        names = [name for name, _ in classes]
        labels = pd.DataFrame(names, columns=["covariate", "category"])
        return FitTable(
            kind="proportions of behaviours" if self._behaviours else "proportions of covariates",
            model=self.title,
            n=self.nobs,
            estimate="proportion",
            labels=labels.drop(columns="covariate") if self._behaviours else labels,
            numbers=pd.DataFrame({"proportion": value, "std_error": error}),
            ends=partial(logit_ends, value, error, df),
        )

    def goodness_of_fit(self) -> GoodnessOfFit:
        """Pearson's test and the deviance test over groups of equal covariates.

        They need covariates with few different values.

        Returns
        -------
        GoodnessOfFit
            Both statistics; p-values are NaN if more than half of the expected counts are below 5.

        Warns
        -----
        LowPrecisionWarning
            Groups are too small for chi-squared: an expected count is below 1, or more than a fifth
            are below 5.

        Examples
        --------
        >>> import numpy as np, rrstats as rr
        >>> x = np.repeat([0, 1, 2, 3], 50)
        >>> reports = np.tile([0, 0, 1, 0, 1], 40)
        >>> reports[150:] = np.tile([0, 1], 25)
        >>> fit = rr.logit(reports, x, mechanism=rr.KRR([0, 1], 0.9))
        >>> fit.goodness_of_fit().df
        2
        """
        model = self.fit.model
        if model.classes > 1 or not model.outcome.has_cells:
            raise ArgumentTypeError(
                "goodness_of_fit is for ordinary covariates and reports with one cell, without "
                "classes of people; use compare"
            )
        self._check_likelihood("a test of fit")
        return _goodness(self)

    # -- precision, and what is open ----------------------------------------------------------

    @property
    def other_maxima(self) -> tuple[float, ...]:
        """Log-likelihoods of lower maxima, descending; empty if all starts led to one maximum."""
        return self.fit.others

    @property
    def effective_n(self) -> pd.Series[float]:
        """Effective sample size of each coefficient of privatized covariates.

        It is the number of people times the ratio of the variance with known true categories to the
        variance of the fit.
        """
        fit = self.fit
        model = fit.model
        s = model.same.shape[1]
        b = model.columns
        cut = model.head + model.outcome.ancillary
        back = fit.back[:cut, :cut]
        inner = np.linalg.pinv(model.known_classes(fit.theta), hermitian=True)
        noiseless_variance = np.diag(back @ inner @ back.T)
        variance = np.diag(fit.natural(fit.bread))
        predictors = range(model.outcome.predictors)
        places = [a * b + self.data.order[place] for a in predictors for place in range(s, b)]
        with np.errstate(divide="ignore", invalid="ignore"):
            effective_n = self.nobs * noiseless_variance[places] / variance[places]
        return pd.Series(effective_n, index=self.index[places], name="effective_n")

    def sizes(self) -> pd.Series[float]:
        """Estimated number of these people in each combination of true categories.

        Returns
        -------
        Series
            The number of people for each combination.

        Examples
        --------
        >>> import pandas as pd, rrstats as rr
        >>> frame = pd.DataFrame({"a": ["no", "no", "yes", "no"] * 25, "y": [0, 1, 1, 0, 1] * 20})
        >>> m = rr.KRR(["no", "yes"], 0.9)
        >>> fit = rr.logit("y ~ a", frame, mechanism=rr.surveys.direct([0, 1]), mechanisms={"a": m})
        >>> fit.sizes().round().tolist()
        [81.0, 19.0]
        """
        people = self.fit.model.posterior(self.fit.theta).T @ self.fit.model.weights
        private = self.private
        names = pd.Index(private.joined(private.labels), dtype=object)
        return pd.Series(np.bincount(private.class_of, people), index=names, name="people")

    @property
    def _header(self) -> HeaderLines:
        """Rows above the table: a label and a text each."""
        people, errors = super()._header
        if self.data.weighted or self.data.clusters is not None:
            return [people, errors, self._convergence]
        tests = []
        df = self.df_model - 1 - self.fit.model.outcome.ancillary
        is_binary = self.event is not None and self.fit.model.classes == 1
        has_null_model = is_binary and self.index[0] == "Intercept"
        if df and has_null_model and self.vcov != "robust":
            gain, p = chi_squared_test(2 * (self.llf - self.llnull), df)
            tests.append(("against constant proportion", verdict(gain, df, p)))
        return [people, *self._likelihood_rows(*tests), errors, self._convergence]

    @cached_property
    def warnings(self) -> tuple[WarningArguments, ...]:
        """Texts and classes of the warnings of this fit."""
        return (*_edge_warnings(self), *_thin_warnings(self), *super().warnings)

    @cached_property
    def notes(self) -> Notes:
        """Sentences below the table."""
        skew = [self.skew_note] if self.skew_note else []
        return (
            *super().notes,
            *skew,
            *_model_notes(self),
            *_maximum_notes(self),
            *_class_notes(self),
            *uneven_notes(self, range(self.fit.model.head)),
        )


def _model_notes(result: LikelihoodResult) -> Iterator[str]:
    """Sentences on the meaning of the parameters of the answers."""
    model = result.fit.model
    level = model.same.mean(axis=0)
    if not result._latent and float(level @ level) < 1 - 1e-9:
        yield (
            "No intercept: the model fixes the proportion where all covariates are 0 "
            "(a formula has one without - 1)."
        )
    if isinstance(model.outcome, OrderedOutcome):
        yield (
            "One coefficient for all thresholds (proportional odds): a positive one moves people "
            "up.  The intercept is minus the first threshold; the others are distances from it."
        )
    elif model.outcome.ancillary and not result._number:
        yield "A share of a class is its proportion within its category, the same for everyone."


def _maximum_notes(result: LikelihoodResult) -> Iterator[str]:
    """Sentences on maxima at infinity, in the interior, and besides the highest."""
    fit = result.fit
    others = result.other_maxima
    yield from infinite_notes(result)
    if fit.edge > _EDGE:
        yield (
            f"This is an interior maximum.  The log-likelihood is higher by {fit.edge:.1f} where "
            "each proportion is 0 or 1; such a fit follows the noise of few reports."
        )
    if others:
        yield (
            f"{len(others) + 1} maxima were found from 5 starts; the log-likelihood of the others "
            f"is lower by {result.llf - others[0]:.2f} or more."
        )


def _class_notes(result: LikelihoodResult) -> Iterator[str]:
    """Sentences on the model of the latent classes: behaviours, or true categories."""
    if result._behaviours:
        yield (
            "Coefficients with the name of a behaviour are logits of its proportion against people "
            "who follow the instructions; the others are of the answers of people who follow."
        )
    if result._latent:
        yield result._effective_n_note(result.effective_n)
        if result._number:
            yield "Errors are assumed normal: skewed errors bias the effects."
    if result.covariate_model == "constant" and len(result.data.names) > 1:
        yield (
            "True categories are assumed independent of the ordinary covariates; if they are not, "
            "effects are biased (leave | 1 out of the formula)."
        )


def infinite_notes(result: MaximumResult) -> Iterator[str]:
    """The way to the limits of infinite parameters, where `conf_int` has them."""
    if (result.fit.signs != 0).any() and not result._why_no_likelihood:
        yield (
            "conf_int(method='profile-likelihood') gives one-sided limits of infinite parameters, "
            "where there are any."
        )


def uneven_notes(result: MaximumResult, among: Iterable[int]) -> Iterator[str]:
    """Profile intervals and likelihood-ratio tests where Wald's are inaccurate.

    among : the places of the coefficients that are tried.
    """
    fit = result.fit
    if (
        result._why_no_likelihood
        or result._number
        or fit.model.rows * fit.model.classes > _MAX_PROFILED_ROWS
    ):
        return
    places = uneven(fit, among)[:_MAX_PROFILES]
    if places:
        yield (
            "Wald intervals and tests are inaccurate near a proportion of 0 or 1, or with few "
            "reports; 95% profile-likelihood intervals and likelihood-ratio p-values:"
        )
    for place, (low, high) in zip(places, profile_intervals(fit, 0.95, places), strict=True):
        _, p = chi_squared_test(ratio_statistic(fit, place), 1)
        yield f"  {_named(result.index[place])}: {written(low)} to {written(high)}, p = {p:.3g}"


def _edge_warnings(result: LikelihoodResult) -> Iterator[WarningArguments]:
    """Warnings if no maximum was found, and about infinite parameters."""
    fit = result.fit
    is_infinite = fit.signs != 0
    if not result.converged:
        size = float(np.abs(fit.maximum.gradient).max())
        yield (
            f"no maximum of the likelihood was found in {result.iterations} steps (the gradient is "
            f"still {size:.3g}); these numbers are not estimates: leave covariates out",
            ConvergenceWarning,
        )
    if fit.stopped:
        yield (
            f"the search ended after {fit.stopped:,} steps, before all starts and directions were "
            "tried: the likelihood may have a higher maximum; merge categories or levels, or leave "
            "covariates out",
            ConvergenceWarning,
        )
    if not is_infinite.any():
        return
    # With more than two categories names are pairs; those of factors end with a level.
    names = [
        str(name[-1] if isinstance(name, tuple) else name) for name in result.index[is_infinite]
    ]
    sources = ", ".join(by_source(dict.fromkeys(names)))
    yield (
        "there is no finite maximum likelihood estimate of "
        f"{counted(int(is_infinite.sum()), 'parameter')}: the likelihood keeps rising with the "
        f"coefficients of {sources} (separation, or fewer reports of the event than noise alone "
        "gives).  Such estimates are infinite or unknown, without standard errors; merge levels, "
        "leave the covariate out, or check that answers were privatized by this mechanism",
        ConvergenceWarning,
    )


def _thin_warnings(result: LikelihoodResult) -> Iterator[WarningArguments]:
    """Warnings about rare true categories of privatized covariates."""
    if not result._latent:
        return
    sizes = result.sizes()
    effective_n = result.effective_n
    if len(small := sizes[sizes < _FEW_PEOPLE]):
        names = ", ".join(f"{name}: {size:.1f}" for name, size in small.items())
        yield (
            f"the estimated number of people in some true categories is very small ({names}): "
            "estimates for these categories depend on single outcomes.",
            LowPrecisionWarning,
        )
    if len(thin := effective_n[effective_n < _FEW_ANSWERS]):
        yield (
            f"the effective sample size of {counted(len(thin), 'coefficient')} of privatized "
            f"covariates is very small (smallest {thin.min():.1f}): the design adds too much "
            "noise.",
            LowPrecisionWarning,
        )


# -- goodness of fit ---------------------------------------------------------------------------


def _goodness(result: LikelihoodResult) -> GoodnessOfFit:
    """Observed and expected reports in groups of rows with equal predictors and sample."""
    model = result.fit.model
    theta = result.fit.theta
    outcome = model.reports
    assert outcome.cells is not None
    first = outcome.first
    cells = outcome.width
    offset = np.zeros(model.rows) if model.offset is None else model.offset
    keys = np.column_stack([result.data.design.matrix, first, offset])
    _, row, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = group.ravel() * cells + (outcome.cells - first)
    observed = np.bincount(place, model.weights, minlength=len(row) * cells)
    rates = np.stack([np.exp(model.supposed(cell).each(theta))[row] for cell in range(cells)])
    sizes = np.bincount(group.ravel(), model.weights)
    expected = np.asarray((rates * sizes).T.ravel(), dtype=np.float64)
    used = expected > 0
    observed = observed[used]
    expected = expected[used]
    df = int(used.sum()) - len(row) - model.size
    if df <= 0:
        raise ArgumentValueError(
            f"a test of fit needs more groups of equal covariates, found {len(row)} for "
            f"{model.size} parameters"
        )
    pearson, pearson_p = chi_squared_test(float(distance(observed, expected)), df)
    deviance = 2 * float(scipy.special.xlogy(observed, observed / expected).sum())
    deviance, deviance_p = chi_squared_test(deviance, df)
    sparse = float((expected < _SMALL).mean()) > 0.5
    if sparse:
        pearson_p = deviance_p = np.nan
    notes = few_expected(expected, _LEFT_OUT * sparse + _COARSER)
    least = float(expected.min())
    return GoodnessOfFit(pearson, deviance, df, pearson_p, deviance_p, len(row), least, notes)
