"""Regressions with privatized columns: `logit`, `ordinal`, `mixed` and `linear`.

The outcome, the covariates, or both are privatized.  Coefficients have the same meaning as in a
direct survey, and standard errors include the noise: the likelihood sums over the unknown true
categories,

    P(y, reports | z) = sum_x P(reports | x) P(x | z; gamma) f(y | x, z; beta).

P(x | z) is a multinomial logit on the ordinary covariates ("logistic", the default).  "constant"
proportions, the same for all z (as in RRreg), are simpler, and wrong where x depends on z: then the
effects of z and x are biased, and more reports do not help.
The likelihood of a linear regression assumes normal errors, and skewed errors look like groups of
people: with exponential errors, prob 0.75 and an effect of half a standard deviation the estimate
is four times the effect.  So `linear` solves equations of scores by default, which assume neither a
distribution of errors nor a model of the covariate.
When not to use it: the reports must come from the given mechanism, whose noise does not depend on
the covariates; respondents who do not follow the instructions bias every coefficient.
Sources: Magder and Hughes (1997); van den Hout and Kooiman (2006); van den Hout, van der Heijden
and Gilchrist (2007); Blair, Imai and Zhou (2015) for the forced design and the logistic form;
Nakamura (1990) for corrected scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from rrstats._checks import check_instance, check_one_of
from rrstats._display import label
from rrstats._names import checked_keywords
from rrstats._typing import Booleans, Floats, Labels
from rrstats.data.columns import numbers
from rrstats.errors import ArgumentTypeError, ArgumentValueError, LowPrecisionWarning, warn
from rrstats.estimation.report_columns.report_columns import (
    ReportColumn,
    ordinary,
    report_column,
)
from rrstats.estimation.report_columns.report_frames import check_asked, plan_records
from rrstats.estimation.report_columns.sample_design import SampleDesign
from rrstats.estimation.tallies.part_scores import in_parts
from rrstats.mechanisms.base import Mechanism
from rrstats.mechanisms.survey_design import truthful_categories
from rrstats.regression.behaviours import (
    BehavedOutcome,
    BehaviourModel,
    behaved,
    open_behaviours,
)
from rrstats.regression.design_matrix import INTERCEPT
from rrstats.regression.formula_terms import split_classes, split_intercepts
from rrstats.regression.likelihood import (
    Likelihood,
    check_size,
    fitted,
)
from rrstats.regression.links import LINKS, check_two, family_of
from rrstats.regression.ordered import OrderedOutcome, ordered_outcome
from rrstats.regression.outcomes import NormalOutcome, Outcome, ReportedOutcome, outcome_of
from rrstats.regression.part_equations import part_fit, planned_outcome, with_plan
from rrstats.regression.private_covariates import (
    ClassColumns,
    ModelData,
    ModelRequest,
    open_class_columns,
    open_model,
)
from rrstats.regression.random_intercepts import (
    Groups,
    RandomInterceptsResult,
    open_groups,
    random_intercepts_result,
)
from rrstats.regression.results import LikelihoodResult
from rrstats.regression.scores import MIN_SIGNAL, ScoreResult, score_fit
from rrstats.regression.survey_people import DESIGN_KINDS, default_kind

_MAX_DIFFERENCE = 4.0
"""Difference of two methods, in standard errors, above which errors are not normal."""

_MAX_NUMBERS = 12
"""Distinct numbers of an ordinary outcome that are fitted as categories; more are a quantity."""


_VALUES = "a mapping from column to the numbers of its categories"


@checked_keywords
def logit(
    outcome: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    group: Any = None,
    mechanisms: Any = None,
    weights: Any = None,
    frequencies: Any = None,
    design: SampleDesign | None = None,
    offset: Any = None,
    baseline: Hashable = None,
    link: str = "logit",
    missing: str = "raise",
    vcov: str | None = None,
) -> LikelihoodResult:
    """Logistic regression of the true answer on covariates, from reports of it.

    Parameters
    ----------
    outcome : str or array-like of shape (n,)
        A formula such as ``"smoker ~ age + C(region)"``, whose left side is a column of reports in
        ``data`` (needs formulaic); or n reports in any container.  With privatized covariates it
        may be ordinary answers.  ``^`` and column names with dots are read as in R.  A formula is
        a program, which may run any command: never take a formula from somebody else.
    data : DataFrame, mapping of columns, or array-like of shape (n, p), optional
        The frame of a formula; or covariates, to which an intercept is added (for a model without
        one use a formula with ``- 1``).  None means that there are no covariates.
    mechanism : Mechanism, list of n Mechanisms, or mapping from group to Mechanism, optional
        The mechanism of the reports; not needed if the column has a record of it.  Where rows were
        made by different mechanisms, such as k-RR whose prob differs, one for each row.
    group : array-like of shape (n,), or str, optional
        The sample of each row, for mechanisms with several samples.
    mechanisms : mapping from column to mechanism, optional
        Of privatized covariates, columns of ``data``; not needed if the frame has a record of them.
    weights : array-like of shape (n,), or str, optional
        Probability weights: at least 0, on any scale.  The likelihood is then an estimate of the
        population's, and the default vcov is "robust".
    frequencies : array-like of shape (n,), or str, optional
        The number of people that each row stands for, in whole numbers.
    design : SampleDesign, optional
        Weights, strata, clusters and replicate weights of a survey.  With clusters the default vcov
        is "clustered", with strata "linearized" and with replicates "replicates"; intervals and
        tests are by Student's t with clusters (less strata, plus 1) minus parameters degrees of
        freedom, or by the rank of the replicates.
    offset : array-like of shape (n,), or str, optional
        Numbers added to the linear predictor.
    baseline : hashable, optional
        The reference category, by default the first; of two the probability of the other one is
        modelled.
    link : {"logit", "probit", "cloglog"}
        The probability is 1 / (1 + exp(-x b)), or Phi(x b) of the normal distribution, or
        1 - exp(-exp(x b)) (hazards in one period).  More than two categories need "logit".
    missing : {"raise", "drop"}
        Whether rows with missing values raise an error or are dropped.
    vcov : {"observed", "expected", "opg", "robust", "clustered", "linearized", "replicates"}
        Inverse Hessian (the default), inverse mean Hessian, inverse products of gradients, sandwich
        (HC0), sandwich of clusters: CR2 (Bell and McCaffrey 2002) with Satterthwaite's degrees of
        freedom for up to 100 clusters, for more CR1, times G/(G-1) (n-1)/(n-p); of clusters within
        strata, as R's `svyglm`; or the spread of fits by replicate weights.

    Returns
    -------
    LikelihoodResult
        Coefficients of the true answer; ``print(result.summary())``.  Ordered categories are those
        of `rrstats.regression.ordinal`, groups such as counties of `rrstats.regression.mixed`.

    Raises
    ------
    ArgumentValueError
        Covariates are collinear, all reports are the same, or columns have different lengths; there
        are more than 500 parameters; or an ordinary outcome has more than 12 distinct numbers
        (`linear` is for a number).

    Warns
    -----
    ConvergenceWarning
        The likelihood has its maximum only at proportions of 0 or 1 (of all people, or for some
        covariates): such coefficients are infinite.  Or no maximum was found in 200 steps, or the
        search ended after 5,000 steps (fewer, at least 200, for many rows or parameters) before
        all starts were tried.

    Notes
    -----
    What follows ``|`` in a formula explains the classes of people that nobody saw.  In a design
    with people who do not follow the instructions (`rrstats.surveys.extended_crosswise`,
    `cheater_detection`, `crosswise_with_anchor`) ``"smoker ~ age | sex"`` models their proportions,
    as logits against those who do; coefficients are then of the answers of people who follow.
    Without it each class counts as a category of the outcome.  The true categories of privatized
    covariates depend on the ordinary ones; with ``| 1`` their proportions are the same for all.

    log L = sum log sum_j P(report | j) P(j | x); Magder and Hughes (1997).
    With few reports and much noise there are often several maxima.  The result is the highest
    interior maximum from a few fixed starts, with a note if a higher likelihood was found at the
    edge.  It may miss maxima (above 5,000 rows there is one start).

    Examples
    --------
    >>> import numpy as np, rrstats as rr
    >>> from rrstats import logit
    >>> x = np.repeat([0, 1, 2, 3, 4], 2)
    >>> reports = np.tile([1, 0], 5)
    >>> people = [70, 130, 78, 122, 86, 114, 97, 103, 110, 90]
    >>> dice = rr.surveys.warner([0, 1], 0.7, yes=1)
    >>> found = logit(reports, x, mechanism=dice, frequencies=people)
    >>> found.params.round(3).to_dict()
    {'Intercept': -1.904, 'x1': 0.597}

    Each step of x multiplies the odds of a true yes by exp(0.597) = 1.8.  Other links are other
    scales of the same proportion, here of 20%:

    >>> m, reports = rr.KRR(["no", "yes"], 0.75), ["no"] * 650 + ["yes"] * 350
    >>> links = ["logit", "probit", "cloglog"]
    >>> fits = [rr.logit(reports, mechanism=m, link=link) for link in links]
    >>> [round(fit.params.item(), 2) for fit in fits]
    [-1.39, -0.84, -1.5]
    """
    outcome, classes = split_classes(outcome)
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanism=mechanism,
        group=group,
        baseline=baseline,
        weights=weights,
        frequencies=frequencies,
        design=design,
        offset=offset,
        missing=missing,
        vcov=vcov,
        mechanisms=mechanisms,
        classes=classes,
    )
    return _categorical_fit(link, request, _opened_outcome(link, request))


class _Opened(NamedTuple):
    """The outcome of a regression of categories, over all rows of the data.

    outcome : over all rows.  column : of the data.  absent : rows where it is missing, by name.
    behaviours : the model of people who do not follow, or None.
    """

    outcome: ReportedOutcome
    column: ReportColumn
    absent: Mapping[str, Booleans]
    behaviours: BehaviourModel | None


def _opened_outcome(link: str, request: ModelRequest) -> _Opened:
    """The outcome from reports or, with privatized covariates, ordinary answers."""
    check_one_of(link, "link", tuple(LINKS))
    request.check_mechanism()
    if request.has_private and not request.described:
        column = _ordinary_outcome(request)
    else:
        column = _reported_outcome(request)
    _check_no_list_experiment(column.mechanism)
    answers = _possible_answers(request, column)
    k = len(answers)
    family = family_of(link, k)
    check_size(k - 1, f"{k} categories of the outcome")
    outcome = outcome_of(column, family, request.baseline)
    absent = {"the outcome" if request.has_private else "the reports": column.missing()}
    behaviours = None
    if request.classes is not None and not request.has_private:
        behaviours = open_behaviours(request, column.categories, answers, column.rows)
        outcome = behaved(outcome, answers)
        absent |= behaviours.missing()
    return _Opened(outcome, column, absent, behaviours)


def _categorical_fit(link: str, request: ModelRequest, opened: _Opened) -> LikelihoodResult:
    """A regression of categories."""
    outcome, data = _used_rows(request, opened)
    class_columns = None
    if opened.behaviours is not None:
        class_columns = opened.behaviours.columns(data.keep)
    title = _title(link, outcome, data, opened.column.name)
    return _fit(title, outcome, data, request, class_columns=class_columns)


def _used_rows(request: ModelRequest, opened: _Opened) -> tuple[ReportedOutcome, ModelData]:
    """The outcome and the columns of the rows that are used."""
    data = open_model(request, opened.column.rows, opened.absent, opened.column)
    outcome = opened.outcome
    if data.keep is not None:
        outcome = outcome.take(data.keep)
    if not request.has_private:
        _check_reports_differ(outcome)
    _check_intercept(outcome, data)
    return outcome, data


@checked_keywords
def ordinal(
    outcome: Any,
    data: Any = None,
    *,
    mechanism: Any = None,
    mechanisms: Any = None,
    group: Any = None,
    weights: Any = None,
    frequencies: Any = None,
    design: SampleDesign | None = None,
    offset: Any = None,
    missing: str = "raise",
    vcov: str | None = None,
) -> LikelihoodResult:
    """Proportional odds of three or more ordered categories, from reports of them.

    Categories are ordered as declared, and each covariate has one coefficient: a positive one moves
    people up (McCullagh 1980).

    Parameters
    ----------
    outcome : str or array-like of shape (n,)
        A formula with an intercept, such as ``"health ~ age"``, or n reports, as in `logit`.  A
        formula is a program, which may run any command: never take a formula from somebody else.
    data : DataFrame, mapping of columns, or array-like of shape (n, p), optional
        The frame of a formula; or covariates, to which an intercept is added.
    mechanism : Mechanism, list of n Mechanisms, or mapping from group to Mechanism, optional
        The mechanism of the reports, as in `logit`.
    mechanisms : mapping from column to mechanism, optional
        Of privatized covariates without a record.
    group, weights, frequencies, design, offset, missing, vcov
        As in `logit`.

    Returns
    -------
    LikelihoodResult
        The intercept stands for the first threshold, and the others are distances from it;
        `LikelihoodResult.thresholds` has all.

    Raises
    ------
    ArgumentValueError
        There are fewer than three categories, or no intercept.

    Examples
    --------
    >>> import numpy as np, rrstats as rr
    >>> reports = ["low"] * 90 + ["middle"] * 60 + ["high"] * 50
    >>> reports += ["low"] * 60 + ["middle"] * 60 + ["high"] * 80
    >>> trained = np.repeat([0, 1], 200)
    >>> grades = rr.KRR(["low", "middle", "high"], 0.8)
    >>> fit = rr.regression.ordinal(reports, trained, mechanism=grades)
    >>> fit.params.round(2).to_dict()
    {'Intercept': -0.01, 'x1': 0.96, 'threshold middle|high': 1.25}
    """
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanism=mechanism,
        group=group,
        weights=weights,
        frequencies=frequencies,
        design=design,
        offset=offset,
        missing=missing,
        vcov=vcov,
        mechanisms=mechanisms,
    )
    opened = _opened_outcome("logit", request)
    opened = opened._replace(outcome=ordered_outcome(opened.outcome))
    return _categorical_fit("logit", request, opened)


@checked_keywords
def mixed(
    outcome: str,
    data: Any,
    *,
    mechanism: Any = None,
    group: Any = None,
    frequencies: Any = None,
    offset: Any = None,
    baseline: Hashable = None,
    link: str = "logit",
    missing: str = "raise",
) -> RandomInterceptsResult:
    """Logistic regression of the true answer with a random intercept of each group.

    Groups are counties, or persons with several items: each has a normal intercept of its own.

    Parameters
    ----------
    outcome : str
        A formula such as ``"smoker ~ age + (1 | county)"``, with one random intercept as in R's
        lme4; the groups are the values of that column.  A formula is a program, which may run any
        command: never take a formula from somebody else.
    data : DataFrame or mapping of columns
        The columns of the formula; covariates, also of groups, are ordinary ones.
    mechanism : Mechanism, list of n Mechanisms, or mapping from group to Mechanism, optional
        The mechanism of the reports, which have two categories, as in `logit`.
    group, baseline, link, frequencies, offset, missing
        As in `logit`.

    Returns
    -------
    RandomInterceptsResult
        Coefficients and the standard deviation of the intercepts; `predict` and `poststratify`.

    Raises
    ------
    ArgumentValueError
        The formula has no ``(1 | column)``, or others; there are three categories; a covariate is
        privatized; there is one group, or one person in each.

    Warns
    -----
    LowPrecisionWarning
        There are fewer than 10 groups.

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
    >>> fit.params.round(2).to_dict()
    {'Intercept': -1.04, 'sd(town)': 1.29}
    """
    rest, column = split_intercepts(outcome)
    request = ModelRequest(
        outcome=rest,
        data=data,
        mechanism=mechanism,
        group=group,
        baseline=baseline,
        frequencies=frequencies,
        offset=offset,
        missing=missing,
    )
    opened = _opened_outcome(link, request)
    groups = open_groups(request, column, opened.column.rows)
    check_two(
        opened.outcome.k, "(1 | group)", "rr.logit with clusters in design=, or groups.pooled()"
    )
    opened = opened._replace(absent={**opened.absent, **groups.missing()})
    reports, used = _used_rows(request, opened)
    title = _title(link, reports, used, opened.column.name)
    return _random_intercepts_fit(title, reports, used, groups)


def _check_no_list_experiment(mechanism: Mechanism | None) -> None:
    """Raise for counts of a list experiment, whose model also has the control items."""
    designs = {getattr(part, "design", None) for part in getattr(mechanism, "parts", ())}
    if designs & {"list_experiment_control", "list_experiment_treatment"}:
        raise ArgumentTypeError(
            "the outcome holds counts of a list experiment, whose control items need a model, too: "
            'use rr.regression.list_regression("count ~ age", df, mechanism=m, group="treat")'
        )


def _possible_answers(request: ModelRequest, column: ReportColumn) -> Labels:
    """The categories that people may truly be of; with behaviours, some of the declared ones."""
    if request.classes is None or request.has_private or column.mechanism is None:
        return tuple(column.categories)
    return truthful_categories(column.mechanism)


def _check_reports_differ(outcome: ReportedOutcome) -> None:
    """Raise if all reports of the used rows are equal."""
    reports = outcome.table if outcome.cells is None else outcome.cells
    if (reports == reports[0]).all():
        raise ArgumentValueError(
            f"reports must differ for a regression; all {len(reports)} are equal"
        )


def _check_intercept(outcome: ReportedOutcome, data: ModelData) -> None:
    """Raise for ordered categories without a first threshold."""
    if isinstance(outcome, OrderedOutcome) and INTERCEPT not in data.names:
        raise ArgumentValueError(
            "ordered categories need an intercept, which stands for the first threshold; leave "
            "out - 1"
        )


def _title(link: str, outcome: ReportedOutcome, data: ModelData, name: Hashable) -> str:
    """The title of a regression of categories; name : of the outcome's column, or None."""
    answer = "the answer" if name is None else repr(name)
    first = outcome.categories[0]
    last = outcome.categories[-1]
    source = data.private.listed if data.private.columns else "from reports"
    if isinstance(outcome, OrderedOutcome):
        return f"Proportional odds of {answer}, up to {last!r}, {source}"
    if outcome.k > 2:
        return f"Multinomial logit of {answer}, against {first!r}, {source}"
    return f"{link.capitalize()} regression of {answer} being {last!r}, {source}"


def _random_intercepts_fit(
    title: str, outcome: ReportedOutcome, data: ModelData, groups: Groups
) -> RandomInterceptsResult:
    """A regression with random intercepts, which starts from one without."""
    model = _likelihood(outcome, data, None)
    check_size(model.size, f"{len(data.names)} covariates")
    plain = fitted(model, data.ordered, data.order)
    return _warned(random_intercepts_result(title, outcome, data, plain, groups=groups))


def _ordinary_outcome(request: ModelRequest) -> ReportColumn:
    """Ordinary answers as a column; raises where they look like a quantity."""
    request.check_outcome()
    values = request.values
    is_categorical = isinstance(getattr(values, "dtype", None), pd.CategoricalDtype)
    if is_categorical:
        values = pd.Series(values).cat.remove_unused_categories()
    column = ordinary(values)
    if column.k < 2:
        raise ArgumentValueError(f"the outcome must have two categories, found {column.k}")
    is_number = not is_categorical and pd.Index(column.categories).dtype.kind in "iuf"
    if is_number and column.k > _MAX_NUMBERS:
        raise ArgumentValueError(
            f"the outcome has {column.k} distinct numbers, more than the {_MAX_NUMBERS} that "
            "are fitted as categories; for a number use linear, for codes of categories make "
            "them texts or a Categorical"
        )
    return column


def _reported_outcome(request: ModelRequest) -> ReportColumn:
    """Reports of the outcome as a column.

    With privatized covariates the argument ``group`` may be theirs, so it is used only by an
    outcome that has several samples, or that a plan asked of some rows.
    """
    rows = request.rows
    mechanism = request.mechanism
    if mechanism is None and request.record is not None:
        mechanism = request.record.mechanism
    has_samples = isinstance(mechanism, dict) or getattr(mechanism, "groups", None) is not None
    group = request.group
    if request.formula is not None:
        group = request.source.group(group)
    is_planned = group != request.group
    if request.has_private and not has_samples and not is_planned:
        samples = None
    else:
        samples = request.column("group", group, rows)
    column = report_column(
        request.values, mechanism=request.mechanism, group=samples, **request.rates(rows)
    )
    if column.mechanism is not None and column.mechanism.is_number:
        raise ArgumentValueError(f"the outcome {column.name!r} is a number; use linear")
    return column


@checked_keywords
def linear(
    outcome: Any,
    data: Any = None,
    *,
    mechanisms: Any = None,
    group: Any = None,
    weights: Any = None,
    design: SampleDesign | None = None,
    method: str = "scores",
    missing: str = "raise",
    vcov: str | None = None,
    values: Mapping[Any, Any] | None = None,
) -> ScoreResult | LikelihoodResult:
    """Linear regression with privatized covariates, and among columns of one plan.

    Parameters
    ----------
    outcome : str or array-like of shape (n,)
        A formula such as ``"income ~ age + smoker"``, or the numbers.  A formula is a program,
        which may run any command: never take a formula from somebody else.
    data : DataFrame, mapping of columns, or array-like, optional
        The columns of the formula; without a formula, the covariates, used unchanged.
    mechanisms : mapping from column to mechanism, or FramePlan, optional
        Mechanisms of privatized columns, or their plan; not needed if the frame has a record of
        them.  Effects compare each category with the first.
    group : array-like of shape (n,), or str, optional
        The sample of each row, for mechanisms with several samples.
    weights : array-like of shape (n,), or str, optional
        Sampling weights.
    design : SampleDesign, optional
        Weights, strata, clusters and replicate weights.
    method : {"scores", "likelihood"}
        "scores" solves normal equations with the unbiased score of each report: it is valid for any
        distribution of the errors and any dependence of x and z.  "likelihood" assumes normal
        errors, and may be far off if they are skewed.  With normal errors it is more precise, the
        more so the further groups are apart, and estimates proportions and each person's category.
    missing : {"raise", "drop"}
        Whether rows with missing values raise an error or are dropped.
    vcov : {"observed", "opg", "robust", "clustered", "linearized", "replicates"}, optional
        By scores all but the first two; by likelihood as in `logit`.
    values : mapping, optional
        From a privatized column to the numbers of its categories (a mapping from category to
        number, or a list): the covariate is then a number and no factor.  By default the numbers of
        a privatized outcome are its categories, or 0 and 1 for two words.

    Returns
    -------
    ScoreResult or LikelihoodResult
        Coefficients of the true categories.

    Raises
    ------
    NotIdentifiableError
        The reports carry no information.
    ArgumentValueError
        Columns are collinear, or have different lengths; or a plan never asked two of the columns
        of the same row.

    Warns
    -----
    LowPrecisionWarning
        The noise is too large for an effect, or errors are not normal.
    ConvergenceWarning
        The likelihood has no finite maximum.

    Notes
    -----
    sum_i sum_x s_ix D_ix (y_i - D_ix' beta) = 0, with s the scores of the report and D the row of
    the design matrix for category x (corrected scores, Nakamura 1990).
    Of several columns of one `FramePlan` (by method="scores", from a formula and the frame with its
    public column) each row has a part.  Then the normal equations are of moments: those of two
    private columns from the rows that were asked both, those of one from the rows that were asked
    it, others from all rows.  The outcome may be a column of the plan, too.

    Examples
    --------
    >>> import rrstats as rr
    >>> rng = np.random.default_rng(1)
    >>> true = rng.integers(0, 2, 2000)
    >>> pay = 10.0 + 3.0 * true + rng.normal(size=2000)
    >>> reports = np.where(rng.random(2000) < 0.75, true, 1 - true)
    >>> frame = pd.DataFrame({"smoker": np.array(["no", "yes"])[reports]})
    >>> fit = linear(
    ...     pay, frame, mechanisms={"smoker": rr.KRR(["no", "yes"], 0.75)}
    ... )
    >>> fit.params.round(1).to_dict()
    {'Intercept': 10.0, 'smoker[T.yes]': 3.1}

    The estimated effect of the true answer is 3.1; with the reports as answers it is about 1.5.
    """
    check_one_of(method, "method", ("scores", "likelihood"))
    if plan_records(mechanisms):
        data = with_plan(data, mechanisms)
        mechanisms = None
    outcome, classes = split_classes(outcome)
    request = ModelRequest(
        outcome=outcome,
        data=data,
        mechanisms=mechanisms,
        classes=classes,
        group=group,
        weights=weights,
        design=design,
        missing=missing,
        vcov=vcov,
        numbers=dict(check_instance(values or {}, "values", Mapping, _VALUES)),
    )
    return _numeric(request, method)


def _numeric(request: ModelRequest, method: str) -> ScoreResult | LikelihoodResult:
    """Regression of ordinary numbers on ordinary and privatized covariates."""
    private_outcome = planned_outcome(request)
    if private_outcome is None:
        request.check_outcome()
    values = request.values
    rows = len(values if request.frame is None else request.frame)
    if method == "scores":
        _check_score_arguments(request)
    private = request.opened.columns
    name = getattr(values, "name", None)
    privatized = [column.name for column in private]
    if private_outcome is not None:
        privatized.append(name)
    check_asked(request.numbers, privatized, "values")
    if method == "likelihood" and request.record is not None and request.record.is_number:
        raise ArgumentValueError(
            "with reports of a number as the outcome method must be 'scores', found 'likelihood': "
            "their noise is not normal"
        )
    if method == "likelihood" and request.numbers:
        raise ArgumentValueError("with method='likelihood' values must be left out")
    title = f"Linear regression of {'the outcome' if name is None else repr(name)}"
    if private_outcome is not None or in_parts(private):
        if method == "likelihood":
            raise ArgumentValueError(
                "with several columns of one plan method must be 'scores', found 'likelihood': no "
                "row has all of them"
            )
        return _warned(part_fit(request, private_outcome, title))
    y = numbers(values, "the outcome", rows)
    data = open_model(request, len(y), {"the outcome": np.isnan(y)})
    y = y if data.keep is None else y[data.keep]
    if method == "scores":
        return _warned(
            score_fit(y, data, f"{title} by scores, {data.private.listed}", request.vcov)
        )
    fit = _fit(f"{title}, {data.private.listed}", NormalOutcome(y), data, request)
    note = _skew_note(fit, y, data)
    if note is not None:
        warn(note, LowPrecisionWarning)
        fit = replace(fit, skew_note=note)
    return fit


def _check_score_arguments(request: ModelRequest) -> None:
    """Raise for arguments that scores do not have."""
    has_kind = request.vcov in (None, "robust", *DESIGN_KINDS)
    if request.classes is not None or not has_kind:
        raise ArgumentValueError(
            "with method='scores' vcov must be 'robust', 'clustered', 'linearized' or "
            "'replicates', and the formula without |; both are for method='likelihood'"
        )


def _skew_note(fit: LikelihoodResult, y: Floats, data: ModelData) -> str | None:
    """A sentence if corrected scores, which do not need normal errors, give another result."""
    if not data.private.columns or not data.private.has_scores:
        return None
    by_scores = score_fit(y, data, "the outcome")
    names = by_scores.signal.index[by_scores.signal >= MIN_SIGNAL]
    with np.errstate(invalid="ignore", divide="ignore"):
        differences = (fit.params[names] - by_scores.params[names]) / by_scores.bse[names]
    differences = differences.abs()
    if not (differences > _MAX_DIFFERENCE).any():
        return None
    worst = str(differences.idxmax())
    return (
        f"method='scores' gives {by_scores.params[worst]:.4g} for {worst} instead of "
        f"{fit.params[worst]:.4g}, {differences[worst]:.1f} standard errors apart: errors are not "
        "normal; use method='scores'."
    )


Fitted = TypeVar("Fitted", ScoreResult, LikelihoodResult, RandomInterceptsResult)


def _warned(result: Fitted) -> Fitted:
    """The result, after its warnings."""
    for text, category in result.warnings:
        warn(text, category)
    return result


def _fit(
    title: str,
    outcome: Outcome,
    data: ModelData,
    request: ModelRequest,
    *,
    class_columns: ClassColumns | None = None,
) -> LikelihoodResult:
    """A regression by likelihood.

    class_columns : covariates of behaviours; those of privatized covariates follow from the data.
    """
    private = data.private
    covariate_model = None
    if private.columns:
        covariate_model = _covariate_model(request)
        class_columns = open_class_columns(data, covariate_model)
    elif request.classes is not None and class_columns is None:
        raise ArgumentValueError(
            f"'| {request.classes}' explains classes of people that nobody saw, and no column here "
            "is privatized; leave it out"
        )
    class_column_names = () if class_columns is None else class_columns.names
    model = _likelihood(outcome, data, class_columns)
    check_size(model.size, f"{len(data.names)} covariates, {private.listed}")
    fit = fitted(model, data.ordered, data.order, class_column_names)
    vcov = request.vcov or default_kind(data, "observed")
    result = LikelihoodResult(
        title=title,
        index=_parameter_names(outcome, data, class_column_names),
        estimates=fit.estimates,
        covariance=fit.bread,
        inner=fit.bread,
        vcov=vcov,
        fit=fit,
        data=data,
        class_columns=class_columns,
        covariate_model=covariate_model,
    )
    return _warned(result.with_vcov(vcov))


def _covariate_model(request: ModelRequest) -> str:
    """The model of the true categories of privatized covariates, given the ordinary ones."""
    if request.classes is None:
        return "logistic"
    if request.classes != "1":
        raise ArgumentValueError(
            "with privatized covariates | 1 alone may end a formula (proportions of their "
            f"categories are the same for all), found '| {request.classes}'; leave it out"
        )
    return "constant"


def _likelihood(
    outcome: Outcome, data: ModelData, class_columns: ClassColumns | None
) -> Likelihood:
    """The likelihood of an outcome; raises for reports that have probability 0 in each class.

    class_columns : columns of the model of the classes; None without privatized covariates.
    """
    rows = len(data.same)
    varying = data.varying.dense()
    columns = (
        np.empty((rows, 0)) if class_columns is None else class_columns.of(data.same, data.varying)
    )
    if not data.private.columns:
        behaviours = outcome.names if isinstance(outcome, BehavedOutcome) else ()
        classes = 1 + len(behaviours)
        likelihoods = np.broadcast_to(1.0, (rows, classes))
        varying = np.broadcast_to(varying, (classes, *varying.shape[1:]))
    else:
        likelihoods = data.private.likelihood(data.rows, data.keep)
        varying = varying[data.private.class_of]
        if impossible := int((~likelihoods.any(axis=1)).sum()):
            raise ArgumentValueError(
                f"{impossible} of {rows} rows hold reports that these mechanisms never make"
            )
    return Likelihood(
        outcome=outcome,
        class_likelihoods=likelihoods,
        same=data.same,
        varying=varying,
        class_columns=columns,
        weights=data.weights,
        squares=data.squares,
        offset=data.offset,
    )


def _parameter_names(
    outcome: Outcome, data: ModelData, class_column_names: tuple[str, ...]
) -> pd.Index[Any]:
    """Names of the parameters; with more than two categories pairs of category and covariate."""
    class_names: Sequence[Any] = data.private.class_names()[1:]
    if isinstance(outcome, BehavedOutcome):
        class_names = outcome.names
    gammas = [(class_name, name) for class_name in class_names for name in class_column_names]
    psis: list[tuple[Hashable, str]] = [("", "sigma")]
    if isinstance(outcome, OrderedOutcome):
        psis = [
            (above, f"threshold {label(below)}|{label(above)}")
            for below, above in outcome.own_names
        ]
    elif isinstance(outcome, ReportedOutcome):
        psis = [
            (outcome.categories[outcome.class_of[place]], f"share of {outcome.labels[place]!r}")
            for place in outcome.free
        ]
        if outcome.k > 2:
            betas = [(category, name) for category in outcome.categories[1:] for name in data.names]
            pairs = [*betas, *psis, *gammas]
            return pd.MultiIndex.from_tuples(pairs, names=["category", "covariate"])
    names = [
        *data.names,
        *(name for _, name in psis),
        *(f"{class_name}: {name}" for class_name, name in gammas),
    ]
    return pd.Index(names, dtype=object)
