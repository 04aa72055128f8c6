"""Wrong names, answered with the right ones: keywords of calls, and attributes of modules.

`checked_keywords` decorates every public function and class.  It keeps signatures as they are and
does nothing until a call fails; then `_ANSWERS`, the one table of wrong keywords, has the right
keyword and the reason.  `checked_options` does the same for ``**options`` of a TypedDict.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from rrstats.errors import ArgumentTypeError

Public = TypeVar("Public", bound=Callable[..., Any])

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class _Answer:
    """An answer to a wrong keyword, for the functions that it fits.

    Attributes
    ----------
    instead : str
        The right keyword; the answer fits functions that have it.  Empty for a reason alone.
    reason : str
        The sentence after it.
    calls : frozenset of str
        The functions that the answer fits; empty for all.
    """

    instead: str = ""
    reason: str = ""
    calls: frozenset[str] = frozenset()

    def fits(self, call: str, keywords: Sequence[str]) -> bool:
        """True where this answers a call of a function with these keywords."""
        has_keyword = not self.instead or self.instead in keywords
        return has_keyword and (not self.calls or call in self.calls)


_RELEASES = frozenset({"privatize", "privatize_file", "report", "instantaneous"})
"""Functions whose noise protects respondents."""

_ESTIMATES = frozenset(
    {
        "estimate",
        "tally",
        "crosstab",
        "means",
        "quantiles",
        "difference",
        "mean",
        "among",
        "tipping_point",
    }
)
"""Functions whose results have intervals."""

_REGRESSIONS = frozenset({"linear", "list_regression", "logit", "mixed", "ordinal"})

_FIT_TABLES = frozenset(
    {"predict", "marginal_effects", "odds_ratios", "intercepts", "poststratify", "proportions"}
)
"""Methods of fits whose tables have intervals of any level."""

_PLOT = frozenset({"plot"})

_SEED = (
    _Answer("seed"),
    _Answer(
        reason="a reader who learns the seed can undo the noise; rr.simulate takes one, for "
        "teaching and tests",
        calls=_RELEASES,
    ),
    _Answer(reason="it draws no random numbers"),
)
_SIGNIFICANCE = _Answer("alpha", "the significance: alpha=0.05 goes with a confidence of 0.95")
_INTERVALS = (
    _Answer(
        reason="the result has intervals of any level, as in result.interval(level=0.95)",
        calls=_ESTIMATES,
    ),
    _Answer(reason="the result has it, as in fit.conf_int(level=0.95)", calls=_REGRESSIONS),
)
_CONFIDENCE = (
    _Answer("level", "the confidence, as in level=0.95"),
    _SIGNIFICANCE,
    *_INTERVALS,
)
_ALPHA = (
    _Answer("level", "the confidence: level=0.95 for alpha=0.05"),
    *_INTERVALS,
)
_OF_FIT_TABLE = _Answer(
    reason="the table has it, as in to_frame(level=0.95) and plot(level=0.95)",
    calls=_FIT_TABLES,
)
_PICTURES = {
    "effects": [_Answer(reason="fit.marginal_effects().plot() draws them", calls=_PLOT)],
    "odds_ratios": [_Answer(reason="fit.odds_ratios().plot() draws them", calls=_PLOT)],
}
_IN_PLACE = (
    _Answer(
        reason="it returns new data and leaves the true answers as they are; assign the result, "
        "and delete the answers when they are no longer needed",
        calls=_RELEASES | {"simulate"},
    ),
    _Answer(reason="it returns a new object and changes nothing"),
)
_FIELDWORK = _Answer(
    "fieldwork", "as in fieldwork=rr.planning.Fieldwork(response_rate=0.6, design_effect=1.3)"
)
_DESIGN_EFFECT = (
    _Answer("design_effect"),
    _FIELDWORK,
    _Answer(reason="the result has it, as result.design_effect", calls=_ESTIMATES),
)
_EFFECT_SIZE = (
    _Answer(
        "proportion", "the proportions themselves, with against= or other=, have no effect size"
    ),
)
_QUANTILES = (
    _Answer("q", "the quantiles, as in q=[0.25, 0.5, 0.75]"),
    _Answer("prob", "the probability that a report is the true answer"),
)
_TABLE = (
    _Answer(
        reason="the table has it, as to_frame(normalize='index') for rows or 'columns', and "
        "conditional() with intervals",
        calls=frozenset({"crosstab"}),
    ),
)


_POWER = _Answer(
    reason="rr.planning.people_for_power has the people for a test",
    calls=frozenset({"sample_size"}),
)
_EXACT = (
    _Answer("exact", "as in exact=True, which lists all counts"),
    _Answer(reason="nothing is simulated; merge categories whose expected counts are small"),
)


_BY_MECHANISM = _Answer(
    reason="each column has it in its mechanism, as in {column: rr.KRR(categories, epsilon=1)}",
    calls=frozenset({"privatize_parquet", "sink_privatized"}),
)
_LIKELIHOOD = (
    "every row counts the same; where true proportions do not depend on prob, the likelihood is "
    "more precise: df.rr.logit('smoker ~ 1')"
)
_KEYED = (
    _Answer("id"),
    _Answer("key", "as in key=rr.client.Keyed(key, id='person', question='smoker')"),
)
_KEEP_ORDER = (
    _Answer(
        reason="categories of public columns are written as plain values when rows are shuffled; "
        "read them with pd.Categorical(column, categories=[...], ordered=True)",
        calls=frozenset({"privatize", "privatize_file", "privatize_parquet"}),
    ),
)
_CLAIM = _Answer(reason="the claimed proportion is claim", calls=frozenset({"tipping_point"}))
_PAGE_FORMAT = _Answer(
    reason="the ending of the file has it, as in page.save('page.html'), .md or .txt",
    calls=frozenset({"statement_of", "sign_off"}),
)


_KRR_OF_FIT = _Answer(
    reason="give mechanism, as in mechanism=rr.KRR(categories, 0.75), or one for each row",
    calls=_REGRESSIONS,
)
_LIST_ITEMS = _Answer("mechanism", "as in mechanism=rr.surveys.list_experiment(items=4)")


_GROUPS_OF_MIXED = _Answer(
    reason="rr.regression.mixed has groups, as in mixed('y ~ x + (1 | group)', df)",
    calls=frozenset({"logit", "mixed"}),
)
_CROSSED = _Answer(
    reason="name the column beside the others, as in crosstab('answer', 'region')",
    calls=frozenset({"crosstab", "means", "quantiles"}),
)
_ALGORITHM = _Answer(
    reason="it ends where the likelihood is largest, and warns if it cannot", calls=_REGRESSIONS
)
_BY_EPSILON = _Answer(
    reason="its epsilon follows from its probabilities; "
    "rr.mechanisms.UnaryEncoding.optimized(categories, epsilon=1) has the best ones",
    calls=frozenset({"Rappor", "UnaryEncoding"}),
)
_STYLE = _Answer(
    reason="plot() returns matplotlib's Axes, whose methods and lines have it", calls=_PLOT
)
_ORDERED = _Answer(reason="use rr.regression.ordinal", calls=frozenset({"logit"}))
_DECLARED_ORDER = _Answer(
    reason="ordered categories have their declared order", calls=frozenset({"ordinal"})
)
_BASELINE = _Answer("baseline", "of two categories the other one, whose probability is modelled")
_ADDED_INTERCEPT = _Answer(
    reason="arrays get an intercept, and a formula has one unless it says - 1", calls=_REGRESSIONS
)
_MECHANISMS = _Answer("mechanisms", "a mapping from privatized covariate to mechanism")
_AFTER_BAR = _Answer(
    reason="what explains classes that nobody saw follows | in the formula: 'y ~ age | sex' for "
    "people who do not follow, 'y ~ x | 1' for equal proportions of a privatized covariate",
    calls=frozenset({"linear", "logit"}),
)
_NO_SURVEY_OF_GROUPS = _Answer(
    reason="weights of people do not say what those of groups are, on which random intercepts "
    "depend; rr.logit takes them, with clusters",
    calls=frozenset({"mixed"}),
)


def _of_design(keyword: str) -> tuple[_Answer, ...]:
    """Answers to a column of the survey's design, which is an argument of SampleDesign."""
    return (
        _Answer(keyword),
        _Answer("design", f"as in design=rr.SampleDesign({keyword}=...)"),
    )


def _alike(answers: Sequence[_Answer], *words: str) -> dict[str, Sequence[_Answer]]:
    """A table in which several words have one list of answers."""
    return dict.fromkeys(words, answers)


_ANSWERS: dict[str, Sequence[_Answer]] = {
    **_alike(_SEED, "seed", "random_state", "rng", "random_seed", "generator"),
    **_alike(
        [_Answer("epsilon"), _BY_MECHANISM, _BY_EPSILON, _KRR_OF_FIT],
        *("eps", "e", "budget", "privacy_budget"),
    ),
    **_alike(
        [_QUANTILES[1], _BY_MECHANISM, _KRR_OF_FIT], "p", "probability", "prob_truth", "p_truth"
    ),
    **_alike([_BY_MECHANISM, _BY_EPSILON, _KRR_OF_FIT], "epsilon", "prob", "categories"),
    **_alike(_CONFIDENCE, "confidence", "conf", "conf_level", "confidence_level", "ci"),
    **_alike([_OF_FIT_TABLE, _SIGNIFICANCE, *_INTERVALS], "level"),
    **_alike([_OF_FIT_TABLE, *_ALPHA], "alpha"),
    **_PICTURES,
    **_alike(_IN_PLACE, "inplace"),
    **_alike(_DESIGN_EFFECT, "deff", "design_effect"),
    **_alike(
        _of_design("replicates"),
        *("replicates", "repweights", "replicate_weights", "repwts"),
    ),
    **_alike(
        [_Answer("response_rate"), _FIELDWORK],
        *("response_rate", "response", "nonresponse", "completion_rate"),
    ),
    **_alike([_Answer("pooled", "as in pooled=(50, 0.05)")], "between_std", "n_groups"),
    **_alike([_Answer("proportion", "the sizes of all latent classes")], "mix"),
    **_alike([_Answer("against", "of both groups under the null hypothesis")], "null"),
    **_alike([_Answer("n", "the number of people")], "nobs", "nobs1", "sample_size"),
    **_alike(_EFFECT_SIZE, "effect_size"),
    **_alike([_Answer("proportion")], "prop", "prop1", "prevalence"),
    **_alike([_Answer("other", "the proportion of the second group")], "prop2"),
    **_alike(_of_design("strata"), "strata", "stratum", "stratify"),
    **_alike(_of_design("clusters"), "clusters", "cluster", "psu", "ids"),
    **_alike(_of_design("population"), "population", "population_size", "fpc"),
    **_alike(_of_design("probabilities"), "probabilities"),
    **_alike(_of_design("lonely_psu"), "lonely_psu"),
    **_alike(
        [*_of_design("weights"), _NO_SURVEY_OF_GROUPS],
        *("weights", "weight", "wt", "sample_weight"),
    ),
    **_alike([_NO_SURVEY_OF_GROUPS], "design"),
    **_alike([_GROUPS_OF_MIXED], "random_intercepts", "random", "random_effects"),
    **_alike([_ORDERED], "ordered"),
    **_alike([_DECLARED_ORDER, _BASELINE], "baseline", "event"),
    **_alike([_ADDED_INTERCEPT], "intercept", "add_constant", "fit_intercept"),
    **_alike([_MECHANISMS], "covariates"),
    **_alike([_AFTER_BAR], "behaviour", "covariate_model"),
    **_alike([_Answer("mechanisms", "a mapping from column to mechanism")], "mechanism"),
    **_alike([_Answer("mechanism"), _Answer("categories")], "mechanisms"),
    **_alike([_Answer("categories")], "labels", "choices", "cats", "domain"),
    **_alike(
        [_Answer("by"), _GROUPS_OF_MIXED, _CROSSED],
        *("groupby", "group_by", "groups", "by"),
    ),
    **_alike([_Answer("columns")], "column", "cols", "variables", "subset"),
    **_alike(_QUANTILES, "probs", "quantiles", "quantile", "percentiles", "tau"),
    **_alike([_Answer("destination")], "target", "output", "out"),
    **_alike([_Answer("wording"), *_KEYED], "question", "questions", "text"),
    **_alike([_Answer("category", "the sensitive one")], "yes"),
    **_alike([_Answer("threads")], "n_jobs", "workers"),
    **_alike([_Answer("missing")], "na", "na_action", "dropna", "skipna"),
    **_alike(
        [_Answer(reason="groups that occur are counted; result.to_frame() can be reindexed")],
        "observed",
    ),
    **_alike([_Answer(reason=_LIKELIHOOD)], "weighting"),
    **_alike([*_KEYED, *_of_design("clusters")], "id", "person", "user_id"),
    **_alike([_Answer("link")], "family"),
    **_alike([_Answer("vcov", "the kind of covariance")], "cov_type", "covariance_type", "robust"),
    **_alike([_Answer("group", "the column of the sample")], "treat", "treatment", "arm"),
    **_alike(
        [_FIELDWORK, _Answer("items", "the number of other statements"), _LIST_ITEMS], "items", "J"
    ),
    **_alike(
        [_Answer("outcome", "an array, or a formula such as 'smoker ~ age'")],
        *("formula", "y", "endog"),
    ),
    **_alike([_Answer("data", "a frame, or an array of covariates")], "X", "x", "exog", "df"),
    **_alike([_Answer("mechanism", "as in mechanism=rr.surveys.crosswise(...)")], "model"),
    **_alike([_Answer("design", "as in design=rr.SampleDesign(clusters=...)")], "cov_kwds"),
    **_alike(
        [_ALGORITHM], "method", "maxiter", "max_iter", "disp", "start_params", "tol", "solver"
    ),
    **_alike([_STYLE], "color", "colors", "palette", "hue", "linewidth", "xlabel", "ylabel"),
    **_alike([_Answer("half_width", "half of it")], "width"),
    **_alike([_Answer("half_width")], "margin_of_error", "margin", "moe", "error", "precision"),
    **_alike(_TABLE, "normalize"),
    **_alike(_EXACT, "simulations", "simulate_p_value"),
    **_alike(_KEEP_ORDER, "keep_order"),
    **_alike([_PAGE_FORMAT], "format"),
    **_alike([_POWER], "power", "against", "other"),
    **_alike([_CLAIM], "value"),
}
"""The answers to wrong keywords, of which the first that fits is used."""

_OF_TABLE = "a table of two columns has it: rr.crosstab(...).association('{}')"
_OF_FRAME = "the frame has it, with all options of pandas: result.to_frame().{}(...)"
_OF_MOMENTS = "an estimate has it among its second moments, as est.moments.{}"
_OF_LINK = "give its name to logit: rr.logit(..., link='{}')"
_BY_MATRIX = "the guide's page 'Designs by their matrix' makes it of rr.MatrixDesign"
_OF_PANDAS = "to_frame() is a frame of pandas, which has it"
_SAVED = "to_parquet and to_csv keep the records of columns"
_SAMPLE_SIZE = "it is rr.planning.sample_size for a width, people_for_power for a power"

_TESTS = "rr.difference compares two groups or two estimates"
_INTERVAL = "interval(level=0.95) has the intervals of a result, conf_int() the same as a frame"
_STD_ERROR = "std_error has the standard errors of a result; of a fit it is bse, as in statsmodels"
_PROPORTION = (
    "proportions has them all, and result[category] one of them with its interval; of a fit it is "
    "fit.predict(average=True)"
)
_P_VALUE = "a test has it: rr.hypotheses.goodness_of_fit, rr.difference; of a fit it is pvalues"
_MEMBER = "the result of estimate() has it, as in df.rr.estimate(column).proportions"
_PARAMS = "params has the coefficients of a fit, summary() prints them with errors and p-values"
_EFFECTS = "marginal_effects() has the average ones of a fit"
_PRIVATIZE = "privatize() replaces true answers by reports"
_LOGIT = "rr.logit is logistic regression of a private outcome"
_LINEAR = "rr.linear is linear regression with private columns"
_MIXED = "rr.regression.mixed('y ~ x + (1 | group)', df) has random intercepts"
_ORDINAL = "rr.regression.ordinal is for ordered categories"
_KRR = "rr.KRR(categories, prob) is the mechanism, rr.privatize(answers, categories, prob) uses it"
_NUMBERS = "it adds noise to numbers, and rrstats is for categories"
_CROSSTAB = "rr.hypotheses.independence(table) tests a table, goodness_of_fit one estimate"
_SURVEY = "rr.SampleDesign has weights, strata and clusters: estimate(..., design=design)"
_UNRELATED = "it is rr.surveys.unrelated_question"
_LIST = "it is rr.surveys.list_experiment; rr.regression.list_regression has covariates"
_COUNTS = "estimate() has the estimated counts, and naive has the reported proportions"
_EPSILON = "a mechanism has it, as in rr.KRR(categories, 0.75).epsilon; rr.privacy.compose adds up"
_POSTERIOR = "rr.privacy.posterior has P(true answer | report)"
_LOCAL_HASHING = "rr.planning.recommend names the mechanism that needs the fewest people"


def _for_words(answer: str, words: str) -> dict[str, str]:
    """A table in which several words have one answer."""
    return dict.fromkeys(words.split(), answer)


_ELSEWHERE = {
    **{name: _OF_TABLE.format(name) for name in ("correlation", "cramers_v", "odds_ratio", "phi")},
    **{
        name: _OF_MOMENTS.format(name)
        for name in (
            "channel",
            "covariance_with",
            "designed",
            "df_with",
            "implausible",
            "log_likelihood",
            "randomization_variance",
            "sampling_variance",
        )
    },
    "effective_size": "the table prints it; effective_n has that of each cell",
    "Crosstab.table": "to_frame(wide='proportion') has one number of each cell, side by side",
    "Crosstab.merge": "merge those of one column, as in table.margin(column).merge(...)",
    "Crosstab.test": _CROSSTAB,
    **{f"{kind}Accessor.proportion": _MEMBER for kind in ("Frame", "Series")},
    **{f"FrameTable.{name}": _INTERVAL for name in ("confidence_interval", "half_width")},
    **{
        f"FrameTable.{name}": answer
        for name, answer in _for_words(
            _OF_PANDAS,
            "head tail describe loc iloc index columns to_numpy values transpose T groupby "
            "sort_values round pivot unstack stack query shape",
        ).items()
    },
    "reported": "the tally has it, as est.tally.reported; of a crosstab its moments",
    "FrameTable.plan": "the tally has it, as est.tally.plan",
    "FrameTable.estimate": "proportions has the estimates",
    "RegressionResult.estimate": _PARAMS,
    "RegressionResult.anova": "compare() tests it against a nested fit, wald_test() coefficients",
    **dict.fromkeys(
        ("RegressionResult.t_test", "RegressionResult.f_test", "RegressionResult.test"),
        "wald_test() tests coefficients, compare() tests a fit against a nested one",
    ),
    "RegressionResult.model": "print the fit, or take its title",
    "k": "len(est.categories) is their number",
    "code_of": "it is est.categories.index(category)",
    "ddof": "give it to rr.estimate, as in ddof=1",
    **dict.fromkeys(("header", "title", "cautions"), "print the result; notes has its sentences"),
    "about": "merge has other categories for the same reports, or latent classes: est.merge(...)",
    "share_among": "give the people to among, and look the category up: est.among([...])['yes']",
    "summary": "print the result; to_frame() has its numbers",
    "with_target": "give target to rr.estimate, as in rr.estimate(est.tally, target='sample'), or "
    "to rr.crosstab",
    **{name: _OF_LINK.format(name) for name in ("cloglog", "probit")},
    "cauchit": "logit has the links 'logit', 'probit' and 'cloglog'",
    **dict.fromkeys(
        (
            "christofides",
            "mangat_singh",
            "mangat_singh_singh",
            "mangat_singh_singh_two_answers",
            "mangat_unrelated_question",
            "singh_joarder",
            "unrelated_question_two_answers",
        ),
        _BY_MATRIX,
    ),
    "satterthwaite": "fit.df has these degrees of freedom, which intervals and p-values use",
    "devore": "mangat has its matrix, and forced_response that forces only a yes its words",
    "disguised_response": "warner has its matrix, and kuk with one card its words",
    "soberanis_cruz": "unrelated_question has its matrix",
    **dict.fromkeys(("samplesize", "required_n", "people"), _SAMPLE_SIZE),
    "at_epsilon": "it is rr.planning.compare_designs",
    "planning.design": "it is rr.planning.optimal_matrix",
    "planning.design_effect": "relative_variance compares the noise of a mechanism with a direct "
    "question; sample_size(design_effect=...) takes that of weights and clusters",
    "design": _SURVEY,
    "rrstats.engines": "import rrstats.engines.polars, .dask or .spark by name",
    "detectable": "it is rr.planning.detectable_difference",
    **{name: _OF_FRAME.format(name) for name in ("to_csv", "to_excel", "to_markdown")},
    "FrameAccessor": "it is the type of df.rr, rrstats.accessor.FrameAccessor",
    "SeriesAccessor": "it is the type of s.rr, rrstats.accessor.SeriesAccessor",
    "frame": "it is rr.planning.plan",
    "metadata": "df.rr.mechanisms and rr.files.records(df.attrs) read it, df.rr.carry(*earlier) "
    "restores it after a merge",
    "carry": "df.rr.carry(*earlier) restores the records of a frame, s.rr.carry those of a column",
    "opendp": "the page 'Coming from OpenDP' reads and writes its JSON in ten lines",
    "design_effect": "rr.planning.relative_variance compares the noise of a mechanism with a "
    "direct question; est.design_effect is that of weights and clusters",
    "not_following": "it is value",
    "credible_interval": "interval needs no prior, and the guide's page 'Your own model' has one",
    # -- words of R, statsmodels, scikit-learn, OpenDP and pure-ldp, without case ------------
    **_for_words(_SAVED, "save to_stata to_feather to_pickle to_sql to_hdf"),
    **_for_words("n is the number of people, of a fit nobs", "nobs n_obs size sample_n"),
    **_for_words("llf is the log-likelihood of a fit", "loglik loglike log_lik"),
    **_for_words("1 - llf / llnull is McFadden's", "prsquared pseudo_r2 rsquared r2"),
    **_for_words(
        "one report says little about one person; goodness_of_fit() tests a fit", "resid residuals"
    ),
    **_for_words("covariance has it; of a fit it is cov_params()", "cov cov_matrix vcov_ var_cov"),
    **_for_words("with_vcov(kind) has other errors", "robust get_robustcov_results sandwich"),
    **_for_words("intercepts() has those of a fit with groups", "random_effects ranef blup"),
    **_for_words("sd and sd_interval() have it of a fit with groups", "varcorr icc"),
    **_for_words("to_frame() has one row for each coefficient", "tidy glance summary_frame"),
    **_for_words("odds_ratios() has those of a fit", "odds or or_ oddsratio exp_coef"),
    **_for_words("design_effect is that of an estimate", "deff deft"),
    **_for_words("groups.pooled() borrows strength for small groups", "shrink shrunk pool pooling"),
    **_for_words(
        "intervals need no draws; replicate weights go to rr.SampleDesign(replicates=...)",
        "bootstrap jackknife replicate",
    ),
    **_for_words("rr.correlations(df, columns) has those of columns", "corr cor rrcor pearsonr"),
    **_for_words("it is rr.crosstab", "table xtabs ftable cross_tab contingency_table pivot_table"),
    **_for_words("it is rr.simulate", "rrsimu synth synthesize sample"),
    **_for_words("a fit has it, as in rr.logit(...).predict()", "predict"),
    **_for_words("rr.logit and rr.linear fit, rr.regression has more", "fit rrmulti rrreg"),
    **_for_words(
        "rr.logit(..., design=rr.SampleDesign(clusters=...)) has errors of clusters", "gee"
    ),
    **_for_words("it is rr.files.read", "load read_file open"),
    **_for_words("it is rr.files.statement_of", "statement"),
    **_for_words("rr.privacy.methods has the paragraph and BibTeX", "cite citation bibtex"),
    **_for_words("it is rr.__version__", "version"),
    **_for_words("it is rr.privacy.instructions", "sheet questionnaire"),
    **_for_words(
        _INTERVAL,
        "ci confint confidence_interval confidence_intervals lower upper moe margin_of_error "
        "proportion_confint",
    ),
    **_for_words(
        _STD_ERROR, "se stderr std_err sem sd std bse std_errors standard_error standard_errors"
    ),
    **_for_words(
        _PROPORTION, "prob p_hat p proportion estimates share shares prevalence prevalences percent"
    ),
    **_for_words(
        _PARAMS, "coef coef_ coefs coefficients coefficient intercept_ beta betas params fixef"
    ),
    **_for_words(_EFFECTS, "get_margeff margeff margins ame slopes"),
    **_for_words("predict() has the probabilities", "predict_proba predicted fitted fittedvalues"),
    **_for_words(
        "compare() tests a fit against a nested one", "deviance lrtest anova_lm llr llr_pvalue"
    ),
    **_for_words("it is rr.hypotheses.homogeneity", "anova"),
    **_for_words(_P_VALUE, "pvalue p_value p_values pvalues"),
    **_for_words("rr.quantiles has the quantiles of a number in true groups", "median"),
    **_for_words(_MEMBER, "proportions counts interval low high variance covariance"),
    **_for_words(_PRIVATIZE, "anonymize anonymise randomize randomise perturb sanitize obfuscate"),
    **_for_words(_COUNTS, "value_counts frequencies tabulate tab freq"),
    **_for_words(
        _LOGIT,
        "logistic logisticregression logistic_regression glm rrlog rrglm rrlogit mnlogit svyglm",
    ),
    **_for_words(_LINEAR, "ols lm linearregression linear_regression rrlin"),
    **_for_words(
        _MIXED, "mixed glmm glmmrr glmer rrglmm rrglmer rrmixed lmer mixedlm random_intercepts"
    ),
    **_for_words(_ORDINAL, "ordinal polr orderedmodel proportional_odds"),
    **_for_words(
        _KRR,
        "grr krr k_rr krandomizedresponse randomized_response randomizedresponse "
        "make_randomized_response make_randomized_response_bool directencoding "
        "de_client de_server measurement",
    ),
    **_for_words("it is rr.mechanisms.UnaryEncoding", "oue sue ue unary ue_client ue_server"),
    **_for_words("it is rr.mechanisms.SubsetSelection", "ss subset"),
    **_for_words(
        _LOCAL_HASHING,
        "olh blh lh lh_client lh_server he he_client she the hadamard hadamardresponse cms",
    ),
    **_for_words(_NUMBERS, "laplace gaussian make_laplace make_gaussian piecewise duchi"),
    **_for_words("rr.estimate has the proportions of one column", "rruni rr_est"),
    **_for_words("rr.surveys.cheater_detection is the design", "rrcheat"),
    **_for_words(_LIST, "ictreg ictregbayes ict item_count itemcount unmatched_count list_count"),
    **_for_words(
        _SURVEY,
        "svydesign as_survey svymean svytable survey weights weight strata cluster clusters",
    ),
    **_for_words(_UNRELATED, "greenberg simmons uqm unrelated"),
    **_for_words("it is rr.surveys.forced_response", "forced boruch"),
    **_for_words(_TESTS, "ttest t_test ztest prop_test proportions_ztest test compare fisher"),
    **_for_words("it is rr.hypotheses.change", "mcnemar stuart_maxwell"),
    **_for_words(_CROSSTAB, "chi2 chisq chisq_test chisquare chi2_contingency chi_square"),
    **_for_words(_POSTERIOR, "posterior bayes"),
    **_for_words(_EPSILON, "eps epsilon delta budget accountant composition privacy_loss"),
    **_for_words("it is rr.planning.power", "power_of powerplot"),
    **_for_words("groups.pairwise() compares all pairs of groups", "pairwise posthoc"),
    **_for_words("a fit with random intercepts has it", "poststratify mrp"),
    **_for_words("estimate(...).noncompliance(...) has them", "bounds"),
    **_for_words("results have it, as in result.plot()", "plot"),
    **_for_words("pandas reads it; rr.files.read keeps the records", "read_csv read_parquet"),
    **{name: _OF_FRAME.format(name) for name in ("to_latex", "to_html", "to_json", "to_dict")},
}
"""Names of the field, and of other packages, for what rrstats has under another name."""


_NEAR_ATTRIBUTE = 0.75
"""Similarity from which an attribute is near another; at .7 'bounds' is near 'two_rounds'."""

_VERY_NEAR_ATTRIBUTE = 0.88
"""Similarity from which the attribute itself comes before the answer to a word of the field."""

_DECORATED: WeakSet[Callable[..., Any]] = WeakSet()
"""The functions that answer wrong keywords already."""


def nearest(name: object, names: Iterable[object]) -> str | None:
    """The right name that a wrong one resembles most, if any; case matters only in a tie.

    >>> nearest("Fair", ["poor", "fair"]), nearest("anwser", ["answer"]), nearest("x", ["yes"])
    ('fair', 'answer', None)
    """
    listed = [str(right) for right in names]
    near = difflib.get_close_matches(str(name), listed, n=1)
    if near:
        return near[0]
    by_case = {right.casefold(): right for right in listed}
    return by_case.get(str(name).casefold())


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """The end of a message about a wrong name: the nearest right one, or nothing.

    >>> did_you_mean("anwser", ["answer", "age"]), did_you_mean("x", ["answer"])
    ("; did you mean 'answer'?", '')
    """
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near is not None else ""


def wrong_keyword(call: str, wrong: str, keywords: Sequence[str]) -> ArgumentTypeError:
    """The error of a keyword that a function does not take.

    >>> print(wrong_keyword("interval", "alpha", ["level", "method"]))
    interval takes no alpha; give level, the confidence: level=0.95 for alpha=0.05
    >>> print(wrong_keyword("interval", "metod", ["level", "method"]))
    interval takes no metod; did you mean method?
    """
    for answer in _ANSWERS.get(wrong, ()):
        if answer.fits(call, keywords):
            reason = f", {answer.reason}" if answer.instead and answer.reason else answer.reason
            text = f"; give {answer.instead}{reason}" if answer.instead else f": {reason}"
            return ArgumentTypeError(f"{call} takes no {wrong}{text}")
    near = nearest(wrong, keywords)
    if near is not None:
        return ArgumentTypeError(f"{call} takes no {wrong}; did you mean {near}?")
    listed = ", ".join(keywords)
    hint = f"its arguments are {listed}" if keywords else "it takes no arguments"
    return ArgumentTypeError(f"{call} takes no {wrong}; {hint}")


def _call_name(function: FunctionType) -> str:
    """The name of a function in messages; of a constructor that of its class."""
    names = function.__qualname__.split(".")
    return names[-2] if names[-1] in ("__init__", "__new__") else names[-1]


def _refused(
    function: FunctionType, args: Sequence[Any], keywords: Iterable[str]
) -> ArgumentTypeError | None:
    """The error of arguments that a function does not take; None if some are only missing."""
    listed = list(inspect.signature(function).parameters.values())
    kinds = {each.kind for each in listed}
    if Parameter.VAR_KEYWORD in kinds:
        return None
    if listed and listed[0].name in ("self", "cls"):
        listed = listed[1:]
        args = args[1:]
    by_place = [each.name for each in listed if each.kind in _BY_PLACE]
    by_name = [each.name for each in listed if each.kind in _BY_NAME]
    call = _call_name(function)
    for name in keywords:
        if name not in by_name:
            return wrong_keyword(call, name, by_name)
        if name in by_place[: len(args)]:
            order = ", ".join(by_place)
            return ArgumentTypeError(
                f"{call} takes {name} once, found it by position and by name; the order is {order}"
            )
    if len(args) > len(by_place) and Parameter.VAR_POSITIONAL not in kinds:
        named_only = [name for name in by_name if name not in by_place]
        rule = f"takes only {', '.join(by_place)}" if by_place else "takes nothing"
        hint = f"; give {', '.join(named_only)} by name" if named_only else ""
        return ArgumentTypeError(f"{call} {rule} by position, found {len(args)} arguments{hint}")
    return None


def _checked(function: FunctionType) -> Any:
    """The function, with an answer to arguments that it does not take."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            trace = error.__traceback__
            # Without a frame below this one the call failed before the function's first line.
            if trace is not None and trace.tb_next is None:
                refused = _refused(function, args, keywords)
                if refused is not None:
                    raise refused from None
            raise

    _DECORATED.add(call)
    return call


def checked_keywords(public: Public) -> Public:
    """Decorate a public function, or a class with all its public methods and its constructor.

    A keyword that it does not take raises ArgumentTypeError with the right one.  Other errors,
    TypeErrors inside the function among them, pass unchanged.
    """
    if isinstance(public, FunctionType):
        return cast("Public", _checked(public))
    for name, member in list(vars(public).items()):
        if name.startswith("_") and name != "__init__":
            continue
        # A base class decorates its heirs, before the constructor of a dataclass is written.
        if isinstance(member, FunctionType) and member not in _DECORATED:
            setattr(public, name, _checked(member))
        elif isinstance(member, classmethod | staticmethod):
            setattr(public, name, type(member)(_checked(cast("FunctionType", member.__func__))))
    return public


def checked_options(options: type) -> Callable[[Public], Public]:
    """Decorate a function with ``**options`` of a TypedDict, whose keys alone it then takes."""

    def decorate(function: Public) -> Public:
        plain = cast("FunctionType", function)
        code = plain.__code__
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        keywords = [name for name in arguments if name != "self"]
        keywords += sorted(vars(options)["__required_keys__"] | vars(options)["__optional_keys__"])
        allowed = frozenset(keywords)

        @functools.wraps(plain)
        def call(*args: Any, **given_keywords: Any) -> Any:
            if not allowed.issuperset(given_keywords):
                wrong = next(name for name in given_keywords if name not in allowed)
                raise wrong_keyword(_call_name(plain), wrong, keywords)
            return plain(*args, **given_keywords)

        _DECORATED.add(call)
        return cast("Public", call)

    return decorate


def _home(name: str) -> str | None:
    """A public name as it is written, such as rr.surveys.warner; in equal case if possible."""
    homes: dict[str, str] = {}
    waiting = [("rr", sys.modules["rrstats"])]
    for path, module in waiting:  # the top first, then its modules, then theirs
        for public_name in module.__all__:
            homes.setdefault(public_name, f"{path}.{public_name}")
            member = getattr(module, public_name)
            if isinstance(member, ModuleType):
                waiting.append((f"{path}.{public_name}", member))
    by_case = {each.casefold(): place for each, place in homes.items()}
    return homes.get(name) or by_case.get(name.casefold())


def _hint(name: str, names: Iterable[str], places: Iterable[str]) -> str:
    """The end of a message about a missing attribute: what is near, or what the field calls so.

    places : names whose words come first: the module, or the class and its bases.
    """
    if name.startswith("_"):  # asked for by Python's own tools, and notebooks'
        return ""
    for place in places:
        if f"{place}.{name}" in _ELSEWHERE:
            return f"; {_ELSEWHERE[f'{place}.{name}']}"
    listed = {each.casefold(): each for each in names}
    home = _home(name)
    word = _ELSEWHERE.get(name) or _ELSEWHERE.get(name.casefold())
    is_known = word is not None or home is not None
    cutoff = _VERY_NEAR_ATTRIBUTE if is_known else _NEAR_ATTRIBUTE
    near = difflib.get_close_matches(name.casefold(), listed, n=1, cutoff=cutoff)
    if near and not (home or "").endswith(f".{name}"):
        return f"; did you mean {listed[near[0]]}?"
    if home is not None:
        return f"; it is {home}"
    return "" if word is None else f"; {word}"


def missing_attribute(module: str, name: str, names: Iterable[str]) -> str:
    """The message about an attribute that a module does not have.

    Each public module ends with a `__getattr__` that raises it, hidden from type checkers, which
    would otherwise believe that every attribute exists.

    >>> missing_attribute("rrstats.surveys", "croswise", ["warner", "crosswise"])
    "module 'rrstats.surveys' has no attribute 'croswise'; did you mean crosswise?"
    """
    hint = _hint(name, names, [module.rpartition(".")[2]])
    return f"module {module!r} has no attribute {name!r}{hint}"


def missing_member(kind: type, name: str) -> str:
    """The message about an attribute that a result or an accessor does not have.

    >>> print(missing_member(str, "coef_"))
    'str' object has no attribute 'coef_'; params has the coefficients of a fit, summary() prints \
them with errors and p-values
    """
    members = [member for member in dir(kind) if not member.startswith("_")]
    hint = _hint(name, members, [base.__name__ for base in kind.__mro__])
    return f"{kind.__name__!r} object has no attribute {name!r}{hint}"


class MissingMembers:
    """A base of results and accessors, which answer names that they do not have."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise with the way on for the name of what is elsewhere."""
            raise AttributeError(missing_member(type(self), name))
