"""What a regression on privatized covariates answers.

Besides coefficients: the shares of the true categories, what is known of each person's, and
predictions for people whose category is known or is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rrstats._typing import Floats
from rrstats.errors import ArgumentTypeError, ArgumentValueError
from rrstats.regression.covariate_effects import (
    average,
    check_nested,
    framed,
    marginal,
    means,
    others,
)
from rrstats.regression.doubts import Doubt
from rrstats.regression.fitted import LikelihoodRatioTest
from rrstats.regression.frames import Design, table_of
from rrstats.regression.maxima import Fitted
from rrstats.regression.mixtures import Mixture
from rrstats.regression.results import RegressionResult, beside_profiles, confidence
from rrstats.regression.share_columns import ShareColumns
from rrstats.regression.unseen import Unseen
from rrstats.regression.wording import ConvergenceWarning

__all__ = ["CovariateResult"]


_FEW_PEOPLE = 5.0
"""A class of fewer people, by the fit, deserves a word."""

_FEW_ANSWERS = 10.0
"""So does a coefficient that rests on fewer known answers' worth of information."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CovariateResult(RegressionResult):
    """A fitted regression on covariates of which only reports were seen.

    params : the outcome's coefficients, for numbers ``sigma`` (the errors' standard deviation),
    then the logits of each class against the first, named as ``smoker=yes: age``.
    unseen : the covariates.  covariate_model : "logistic" or "constant".
    event : the category whose probability is modelled; None where the outcome is a number.
    other_maxima : log-likelihoods of lower maxima that other starts led to.
    """

    fit: Fitted
    unseen: Unseen
    design: Design
    names: tuple[str, ...]
    order: list[int]
    share_columns: ShareColumns
    covariate_model: str
    from_formula: bool
    event: Hashable

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "goodness_of_fit": "it is for ordinary covariates of few values; compare this fit with a "
        "larger one (compare), of interactions say"
    }

    @classmethod
    def of(
        cls,
        fit: Fitted,
        title: str,
        unseen: Unseen,
        design: Design,
        names: tuple[str, ...],
        order: list[int],
        share_columns: ShareColumns,
        covariate_model: str,
        vcov: str,
        from_formula: bool,
        event: Hashable = None,
    ) -> CovariateResult:
        """The result in the order and the units of the user."""
        b, own = fit.mixture.columns, fit.mixture.outcome.own
        place = np.argsort(order)
        turn = np.concatenate([place, np.arange(b, len(fit.theta))])
        values, scale = fit.estimates[turn], np.ones(len(turn))
        if own:
            values[b] = scale[b] = np.exp(fit.theta[b])
        covariance = fit.covariance[np.ix_(turn, turn)] * np.outer(scale, scale)
        classes = [
            f"{one}: {column}" for one in unseen.class_names()[1:] for column in share_columns.names
        ]
        found = cls(
            title=title,
            index=pd.Index([*names, *["sigma"] * own, *classes], dtype=object),
            estimates=values,
            covariance=covariance,
            vcov=vcov,
            nobs=fit.mixture.rows,
            log_likelihood=fit.log_likelihood,
            converged=fit.converged,
            iterations=fit.iterations,
            fit=fit,
            unseen=unseen,
            design=design,
            names=names,
            order=order,
            share_columns=share_columns,
            covariate_model=covariate_model,
            from_formula=from_formula,
            event=event,
        )
        return found

    @property
    def other_maxima(self) -> tuple[float, ...]:
        """Log-likelihoods of lower maxima, descending; empty where all starts led to one."""
        return self.fit.others

    @property
    def effective_n(self) -> pd.Series[float]:
        """For each coefficient that rests on reports: from how many known answers it is as good.

        People times the variance if all classes were known, over the variance as it is.
        """
        mixture, same = self.fit.mixture, self.fit.mixture.same.shape[1]
        names = [self.names[self.order[place]] for place in range(same, mixture.columns)]
        own = np.diagonal(self.fit.bread)[same : mixture.columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.nobs * self.fit.known[same:] / own
        return pd.Series(worth, index=pd.Index(names, dtype=object), name="effective_n")

    def sizes(self) -> pd.Series[float]:
        """How many of these people are in each combination of true categories, by the fit."""
        after = self.fit.mixture.posterior(self.fit.theta).sum(axis=0)
        totals = np.bincount(self.unseen.shows, after, minlength=len(self.unseen.profiles))
        names = [self.unseen.told(profile) for profile in self.unseen.profiles]
        return pd.Series(totals, index=pd.Index(names, dtype=object), name="people")

    def doubts(self) -> list[Doubt]:
        """Sentences on what the data leave open."""
        found = []
        if not self.converged and not self.fit.lost.any():
            text = f"no maximum of the likelihood was reached in {self.iterations} steps."
            found.append(Doubt(text, ConvergenceWarning))
        if self.fit.lost.any():
            lost = self.index[~np.isfinite(np.diagonal(self.covariance))].tolist()
            text = (
                f"the likelihood rises to the edge, so that {len(lost)} parameters have no finite "
                f"maximum or nothing is known of them ({', '.join(map(str, lost[:6]))}"
                f"{', ...' * (len(lost) > 6)}): the data are likeliest where a true category, or "
                "an answer, has nobody in it for some people."
            )
            found.append(Doubt(text, ConvergenceWarning))
        sizes = self.sizes()
        if len(small := sizes[sizes < _FEW_PEOPLE]):
            names = ", ".join(f"{name}: {size:.1f}" for name, size in small.items())
            found.append(
                Doubt(
                    f"of {self.nobs:,} people, next to none are put into some true categories "
                    f"({names}): what is said of these rests on single outcomes."
                )
            )
        worth = self.effective_n
        thin = worth[worth < _FEW_ANSWERS]
        if len(thin):
            found.append(
                Doubt(
                    f"{len(thin)} coefficients of privatized covariates rest on reports that tell "
                    f"as much as {thin.min():.1f} known answers at the least: the design adds too "
                    "much noise for them."
                )
            )
        return found

    def remarks(self) -> list[str]:
        """What stands under the table."""
        found = [*(doubt.text for doubt in self.doubts()), *self.notes]
        if len(self.fit.others):
            found.append(
                f"{len(self.fit.others) + 1} maxima were found from 5 starts; the others are lower "
                f"by {self.log_likelihood - self.fit.others[0]:.2f} or more."
            )
        if self.unseen.columns:
            worth = "; ".join(f"{name} {n:,.0f}" for name, n in self.effective_n.dropna().items())
            found.append(
                f"{self.nobs:,} reports tell as much as so many known answers: {worth or 'none'}."
            )
        if self.unseen.columns and self.covariate_model == "constant" and self._has_ordinary():
            found.append(
                "Shares of the true categories are taken to be the same whatever the ordinary "
                "covariates are; where they are not, effects are biased "
                "(covariate_model='logistic')."
            )
        if self.fit.mixture.outcome.own and self.unseen.columns:
            found.append("Errors are taken for normal: skewed ones pass for groups of people.")
        return found

    def _has_ordinary(self) -> bool:
        mixture = self.fit.mixture
        alone = mixture.same.shape[1] <= 1
        return not alone or bool((mixture.varying != mixture.varying[:, :1]).any())

    # -- the covariates ----------------------------------------------------------------------

    def shares(self, level: float = 0.95) -> pd.DataFrame:
        """Shares of the true categories: columns covariate, category, share, std_error, low, high.

        The mean over these people of P(category | covariates), for the population they come from:
        the standard error holds the sampling of the people.  Intervals on the logit scale.
        """
        half = _half(level)
        mixture, rows = self.fit.mixture, []
        for place, column in enumerate(self.unseen.columns):
            for code, category in enumerate(column.categories):
                mine = self._mine(place, code)
                share, error = _share(mixture, self.fit, mine)
                with np.errstate(divide="ignore", invalid="ignore"):
                    middle = scipy.special.logit(share)
                    reach = half * error / (share * (1 - share))
                low, high = scipy.special.expit([middle - reach, middle + reach])
                rows.append((column.name, category, share, error, low, high))
        heads = ["covariate", "category", "share", "std_error", "low", "high"]
        return pd.DataFrame(rows, columns=heads)

    def _mine(self, place: int, code: int) -> NDArray[np.bool_]:
        """(C,) the classes in which a covariate has one category."""
        profiles = np.array(self.unseen.profiles)[self.unseen.shows]
        return np.asarray(profiles[:, place] == code)

    def posterior(self) -> pd.DataFrame:
        """P(true category | report, outcome, covariates) of each person, one column a category.

        With several covariates the columns are pairs of covariate and category.
        """
        after = self.fit.mixture.posterior(self.fit.theta)
        found: dict[Any, Floats] = {}
        single = len(self.unseen.columns) == 1
        for place, (column, labels) in enumerate(
            zip(self.unseen.columns, self.unseen.labels, strict=True)
        ):
            for code, label in enumerate(labels):
                name = label if single else (column.name, label)
                found[name] = after[:, self._mine(place, code)].sum(axis=1)
        return pd.DataFrame(found, index=self.design.frame.index)

    # -- predictions -------------------------------------------------------------------------

    def predict(self, data: Any = None, level: float = 0.95) -> pd.DataFrame:
        """The expected outcome of people: columns prediction, std_error, low, high.

        data : a frame of covariates.  Where it has the columns of the privatized ones, these hold
            *true* categories (profiles: "a smoker of 40"); without them, and for the people of the
            fit (None), it is the mean over the true categories by P(category | covariates).
        Standard errors by the delta method; of a probability the interval is made on the logit
        scale.  The covariates of the profiles given stand in front.
        """
        half = _half(level)
        mixture, frame, known = self._again(data)
        value, gradient = means(self.fit, mixture, known)
        found = framed(self.fit, value, gradient, half, bool(mixture.outcome.own))
        if frame is None:
            return found.set_axis(self.design.frame.index)
        shown = [*self.design.sources, *self.unseen.names]
        columns = [name for name in dict.fromkeys(shown) if name in frame.columns]
        return beside_profiles(frame[columns], found.set_axis(frame.index))

    def prevalence(self, level: float = 0.95) -> pd.DataFrame:
        """The mean of P(event) over the people of the fit, with its interval by the delta method.

        Raises ArgumentTypeError where the outcome is a number.
        """
        if self.fit.mixture.outcome.own:
            raise ArgumentTypeError(
                "prevalence is of a yes or no, and this outcome is a number: predict gives its mean"
            )
        found = average(self.fit, _half(level)).rename(columns={"prediction": "prevalence"})
        found.insert(0, "category", pd.Series([self.event], dtype=object))
        return found

    def marginal_effects(self, level: float = 0.95) -> pd.DataFrame:
        """Average marginal effects: by how much the mean outcome changes with each covariate.

        Of an ordinary covariate as in `OutcomeResult.marginal_effects`, people's true categories
        being what they are; of a privatized one the mean difference to its first category, the
        other covariates being what they are.  Columns: effect, std_error, z, p, low, high.
        """
        return marginal(self, confidence(level))

    # -- likelihood --------------------------------------------------------------------------

    def compare(self, other: CovariateResult) -> LikelihoodRatioTest:
        """A likelihood-ratio test of two nested fits, whichever is given first.

        Both must have the same privatized covariates, whose reports are part of the likelihood;
        for the effect of one of these use `wald_test`.  An ordinary covariate that is left out is
        left out of the model of the true categories, too, and the test is of both.
        Raises ArgumentValueError for fits of other data, where neither is a special case of the
        other, and where there is no likelihood: with weights, or with people in clusters.
        """
        if not isinstance(other, CovariateResult):
            raise ArgumentTypeError(
                "compare needs another fit by likelihood of the same reports, found "
                f"{type(other).__name__}"
            )
        large, small = sorted((self, other), key=lambda one: -one.df_model)
        for one in (large, small):
            if one._no_likelihood:
                raise ArgumentValueError(
                    "a likelihood-ratio test needs people who are independent and count alike, and "
                    "with weights= or clusters= they are not; use wald_test"
                )
            if not one.converged:
                raise ArgumentValueError("a likelihood-ratio test needs a fit that converged")
        check_nested(large, small)
        statistic = max(0.0, 2 * (large.log_likelihood - small.log_likelihood))
        df = large.df_model - small.df_model
        return LikelihoodRatioTest(statistic, df, float(scipy.special.chdtrc(df, statistic)))

    lr_test = compare

    @property
    def _no_likelihood(self) -> bool:
        return self.fit.mixture.weights is not None or self.vcov == "clustered"

    def facts(self) -> list[tuple[str, str]]:
        """What stands above the table; the likelihood, AIC and BIC where they are of the data."""
        dropped = ("log-likelihood", "AIC", "BIC") if self._no_likelihood else ()
        return [one for one in super().facts() if one[0] not in dropped]

    def _first(self, profiles: NDArray[np.intp]) -> NDArray[np.intp]:
        """(rows,) the first class that shows each person's profile."""
        count = len(self.unseen.profiles)
        first = [int(np.argmax(self.unseen.shows == profile)) for profile in range(count)]
        return np.asarray(np.array(first)[profiles])

    def _again(self, data: Any) -> tuple[Mixture, pd.DataFrame | None, NDArray[np.intp] | None]:
        """The mixture of other people, their frame, and their classes where these are known."""
        if data is None:
            return self.fit.mixture, None, None
        frame = table_of(data)
        if not isinstance(frame, pd.DataFrame):
            frame = pd.DataFrame(np.asarray(data), columns=list(self.design.sources))
        there = [name in frame.columns for name in self.unseen.names]
        if any(there) and not all(there):
            raise ArgumentValueError(
                f"data must have all of the privatized covariates {list(self.unseen.names)} (their "
                "true categories), or none"
            )
        known = self._first(self.unseen.codes(frame)) if there and all(there) else None
        return others(self, frame), frame, known


def _half(level: float) -> float:
    """Half the width of an interval in standard errors."""
    return float(scipy.special.ndtri(0.5 + confidence(level) / 2))


def _share(mixture: Mixture, fit: Fitted, mine: NDArray[np.bool_]) -> tuple[float, float]:
    """The mean of P(some classes | z) and its standard error, people being a sample."""
    shares = np.exp(mixture.log_shares(fit.theta, slice(None)))
    weight = np.ones(mixture.rows) if mixture.weights is None else mixture.weights
    each = shares[mine].sum(axis=0)
    value = float(each @ weight / weight.sum())
    gains = shares[1:] * (mine[1:, None] - each)
    gradient = ((gains * weight) @ mixture.shares / weight.sum()).ravel()
    cut = mixture.size - len(gradient)
    inner = np.where(np.isfinite(fit.covariance), fit.covariance, 0)[cut:, cut:]
    sampling = float((weight**2) @ (each - value) ** 2) / weight.sum() ** 2
    return value, float(np.sqrt(max(gradient @ inner @ gradient, 0.0) + sampling))
