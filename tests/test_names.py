"""Wrong names are answered: keywords of public calls, options of plots, names in modules."""

import inspect
import re
import tomllib
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rrstats as rr
from rrstats import plots
from rrstats._names import answers, checked_keywords, checked_options
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.errors import ArgumentTypeError
from rrstats.estimation.estimates.result import Result
from rrstats.planning.power import PowerOptions
from rrstats.plots import PlotOptions
from rrstats.regression.results import RegressionResult

M = rr.KRR(["no", "yes"], 0.75)
REPORTS = ["no"] * 64 + ["yes"] * 36
PRIVATE = rr.simulate(pd.DataFrame({"a": REPORTS, "g": [0, 1] * 50}), "a", M, seed=1)

WITHOUT_ARGUMENTS = {"mechanisms.Mechanism", "client.SecureGenerator"}
"""Classes whose constructor is that of Python's object."""

RESULTS = {
    f"estimators.{name}"
    for name in rr.estimators.__all__
    if inspect.isclass(getattr(rr.estimators, name))
}
"""Results stand in a list for annotations; functions make them, with arguments of their own."""


def public_calls():
    """All functions and classes of the package and of its public modules, by their path."""
    calls = {}
    waiting = [("", rr)]
    for path, module in waiting:
        for name in module.__all__:
            if name == "files":
                continue  # needs pyarrow; see below
            public = getattr(module, name)
            if inspect.ismodule(public):
                waiting.append((f"{path}{name}.", public))
            elif path or callable(public):
                calls[f"{path}{name}"] = public
    return {
        path: call
        for path, call in calls.items()
        if not (inspect.isclass(call) and issubclass(call, BaseException))
    }


def descendants(kind):
    """A class and all classes that inherit from it."""
    return {kind}.union(*map(descendants, kind.__subclasses__()))


def public_methods():
    """The public methods of public classes and of results, by their path."""
    classes = {call for call in public_calls().values() if inspect.isclass(call)}
    classes |= {FrameAccessor, SeriesAccessor}
    classes.discard(rr.client.SecureGenerator)  # its method is for Mechanisms
    for kind in (Result, RegressionResult):
        classes |= {each for each in descendants(kind) if each.__module__.startswith("rrstats.")}
    return {
        f"{kind.__name__}.{name}": method
        for kind in classes
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if name[0] != "_" and method.__module__.startswith("rrstats.")
    }


def takes_any_keyword(call):
    """Whether a function hands unknown keywords to another package, such as pandas."""
    try:
        kinds = [each.kind for each in inspect.signature(call).parameters.values()]
    except ValueError:
        return True
    return inspect.Parameter.VAR_KEYWORD in kinds


@pytest.mark.parametrize("path", sorted(public_calls().keys() - WITHOUT_ARGUMENTS - RESULTS))
def test_every_public_call_answers_a_wrong_keyword(path):
    """A keyword that a public function or class does not take is refused by its name."""
    call = public_calls()[path]
    if takes_any_keyword(call) and path.partition(".")[0] != "planning":
        pytest.skip("its options are those of another function")
    with pytest.raises(ArgumentTypeError, match=f"^{call.__name__} takes no frobnicate"):
        call(frobnicate=1)


@pytest.mark.parametrize("path", sorted(public_methods()))
def test_every_method_of_a_result_answers_a_wrong_keyword(path):
    """A keyword that a method does not take is refused by its name."""
    method = public_methods()[path]
    if takes_any_keyword(method) and not path.endswith(".plot"):
        pytest.skip("its options are those of another function")
    with pytest.raises(ArgumentTypeError, match="takes no frobnicate"):
        method(types.SimpleNamespace(_data=None), frobnicate=1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rr.privatize(REPORTS, M, seed=1), "privatize takes no seed: a reader who learns"),
        (lambda: rr.privatize(REPORTS, M, random_state=1), "rr.simulate takes one"),
        (lambda: rr.simulate(REPORTS, M, random_state=1), "takes no random_state; give seed"),
        (lambda: rr.estimate(REPORTS, M, seed=1), "it draws no random numbers"),
        (lambda: rr.privatize(REPORTS, ["no"], eps=1), "takes no eps; give epsilon"),
        (lambda: rr.KRR(["no", "yes"], p=0.75), "KRR takes no p; give prob, the probability"),
        (lambda: rr.privatize(REPORTS, M, inplace=True), "takes no inplace: it returns new data"),
        (lambda: rr.estimate(REPORTS, M).interval(alpha=0.05), "level=0.95 for alpha=0.05"),
        (lambda: rr.estimate(REPORTS, M).interval(confidence=0.9), "give level"),
        (lambda: rr.estimate(REPORTS, M, level=0.9), r"result.interval\(level=0.95\)"),
        (lambda: rr.estimate(REPORTS, M, alpha=0.1), r"result.interval\(level=0.95\)"),
        (lambda: rr.logit("a ~ b", None, alpha=0.1), r"fit.conf_int\(level=0.95\)"),
        (lambda: rr.planning.power(9, 0.3, M, level=0.95), "takes no level; give alpha"),
        (lambda: rr.estimate(REPORTS, M, strata=[1]), r"design=rr.SampleDesign\(strata=...\)"),
        (lambda: rr.estimate(REPORTS, M, cluster=[1]), r"design=rr.SampleDesign\(clusters=...\)"),
        (lambda: rr.SampleDesign(weight=[1]), "SampleDesign takes no weight; give weights"),
        (lambda: rr.estimate(REPORTS, M, deff=True), "the result has it, as result.design_effect"),
        (lambda: rr.crosstab(None, "a", "b", mechanism=M), "give mechanisms, a mapping"),
        (lambda: rr.estimate(REPORTS, mechanisms=M), "takes no mechanisms; give mechanism"),
        (lambda: rr.crosstab(None, "a", "b", normalize="rows"), r"to_frame\(normalize='index'\)"),
        (lambda: rr.estimate(REPORTS, M, tagret="sample"), "did you mean target?"),
        (lambda: rr.estimate(REPORTS, M, zzz=1), "takes no zzz; its arguments are reports, cat"),
        (lambda: rr.estimate(REPORTS, M, None, 1), "takes only reports, categories, prob by posi"),
        (lambda: rr.surveys.list_experiment(J=4), "give items"),
        (lambda: rr.mechanisms.Rappor(["no", "yes"], epsilon=1), "epsilon follows from its"),
        (lambda: rr.regression.mixed("y ~ x", None, groups="g"), r"\(1 \| group\)"),
        (lambda: rr.logit("y ~ x", None, groups="g"), r"rr.regression.mixed has groups"),
        (lambda: rr.crosstab(None, "a", groups="g"), "name the column beside the others"),
        (lambda: rr.logit("y ~ x", None, id="g"), r"design=rr.SampleDesign\(clusters=...\)"),
        (lambda: rr.logit("y ~ x", None, cov_type="HC1"), "give vcov"),
        (lambda: rr.logit(formula="y ~ x"), "give outcome, an array, or a formula"),
        (lambda: rr.logit("y ~ x", None, maxiter=9), "ends where the likelihood is largest"),
        (lambda: rr.planning.sample_size(0.1, 0.1, power=0.8), "rr.planning.people_for_power"),
        (lambda: rr.Tally([64, 36], M), r"rr.Tally.from_counts\(counts, mechanism\)"),
        (lambda: rr.surveys.list_experiment(4, treat="t"), r"rr.regression.list_regression takes"),
        (
            lambda: rr.surveys.list_experiment([2, 3], [0, 1]),
            r"data go to rr.estimate\(.*list_regression\(",
        ),
        (lambda: rr.regression.list_regression([2, 3], [0, 1]), r"give mechanism=rr.*\(3, groups"),
        (
            lambda: rr.logit(pd.DataFrame(), "y ~ x"),
            r"'smoker ~ age', df\), found DataFrame and st",
        ),
        (lambda: rr.planning.power(9, p1=0.1, p2=0.2), "no p1; give proportion.  It takes no p2"),
        (lambda: rr.means(REPORTS, "a", by="b"), r"by='smoker'\); .*by='sex'\).mean\(\[0, 1"),
        (lambda: PRIVATE.rr.means("a"), r"needs by; .*released.rr.estimate\('income'\).mean\("),
        (lambda: rr.means(pd.DataFrame(), "a", "b"), r"df.rr.means\('age', 'smoker'\)"),
        (lambda: rr.difference(0.3, 0.3), r"goodness_of_fit\(estimate, 0.3\) tests a number"),
        (lambda: rr.privatize(None, "a", total_epsilon=2), r"rr.planning.plan\(columns, 2\)"),
        (lambda: rr.privatize(None, "a", budget=2), "epsilon is that of each column"),
        (lambda: rr.privatize(None, "a", low=0, high=9), r"no low and no high: .*rr.number\(0, 50"),
        (lambda: rr.planning.sample_size(0.1, 0.1, k=4), "give mechanism, .* as in mechanism=4"),
        (lambda: rr.planning.half_width(9, 0.1, categories=4), "give mechanism, which may be"),
        (lambda: rr.surveys.forced_response(yes=4, n=10), r"no yes and no n: .*from_counts\(\{"),
        (lambda: rr.surveys.crosswise(yes=4, n=10), r"go to rr.estimate\(rr.Tally.from_c"),
        (lambda: rr.surveys.forced_response(4, 10), r"go to rr.estimate\(rr.Tally.from_counts"),
        (lambda: rr.surveys.two_coin(4, 10), r"go to rr.estimate\(rr.Tally.from_counts"),
        (lambda: rr.surveys.warner(4, 0.3), r"go to rr.estimate\(rr.Tally.from_counts"),
        (lambda: rr.KRR(4, epsilon=1), r"4 categories without names are range\(4\), counts of"),
        (lambda: rr.estimate(4, 10), r"go to rr.estimate\(rr.Tally.from_counts"),
        (lambda: rr.estimate(counts={"no": 4}, mechanism=M), r"go to rr.estimate\(rr.Tally.from_c"),
        (lambda: rr.estimate({"no": 4, "yes": 6}, M), r"go to rr.estimate\(rr.Tally.from_counts"),
        (lambda: rr.planning.compare_designs(["warner"], epsilon=1), r"compare_designs\(1, prop"),
        (lambda: rr.SampleDesign(nest=True), "takes no nest: clusters are nested in strata"),
        (lambda: rr.estimate(REPORTS, M).mean(scores=[0, 1]), "takes no scores; give values"),
        (lambda: rr.estimate(REPORTS, M, group=REPORTS), "groups to compare are by=, as in"),
        (
            lambda: rr.difference(rr.estimate(REPORTS, M).mean([0, 1]), None),
            r"rr.difference\(a, b\).mean\(values\)",
        ),
        (
            lambda: rr.hypotheses.independence(rr.estimate(REPORTS, M, by=REPORTS)),
            r"rr.hypotheses.homogeneity\(groups\)",
        ),
        (
            lambda: rr.privatize(pd.DataFrame(), ["a"], {"a": ["no"]}, epsilon=1),
            "a mapping from column to categories stands in the place of columns",
        ),
        (lambda: rr.privatize(pd.DataFrame(), epsilon=4), r"one epsilon for all, rr.planning.plan"),
        (lambda: rr.client.new_key(1), "new_key takes nothing by position, found 1 argument$"),
    ],
)
def test_wrong_keyword_is_answered_by_name_and_reason(call, words):
    """A word of another package is answered with ours, and with the reason."""
    with pytest.raises(TypeError, match=words) as caught:
        call()
    assert isinstance(caught.value, rr.errors.RRStatsError)
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize("name", ["means", "quantiles"])
def test_a_private_column_in_public_groups_is_sent_to_estimate(name):
    """Both functions have the groups private; by= of an estimate has them public."""
    match = r"private column .*, found \['g'\]; .*estimate\('a', by=...\).mean\(\)"
    with pytest.raises(rr.errors.ArgumentValueError, match=match):
        getattr(PRIVATE.rr, name)("a", "g")


@pytest.mark.parametrize("option", ["tittle", "kind", "xlabel"])
def test_plots_refuse_unknown_options(option):
    """An option that a plot does not draw is refused, not left out."""
    pytest.importorskip("matplotlib")
    groups = rr.estimate(REPORTS, M, by=["a", "b"] * 50)
    for result in (rr.estimate(REPORTS, M), groups, rr.difference(groups["a"], groups["b"])):
        with pytest.raises(ArgumentTypeError, match=f"plot takes no {option}"):
            result.plot(**{option: "x"})


def test_signatures_stay():
    """Tools see the arguments of a decorated function, and types and pickles are its own."""
    for path, call in public_calls().items():
        if inspect.isfunction(call):
            assert list(inspect.signature(call).parameters)[0:1] != ["args"], path
    assert "weights" in inspect.signature(rr.estimate).parameters
    assert "alpha" not in inspect.signature(rr.estimators.Estimate.interval).parameters
    assert rr.estimate.__name__ == "estimate"
    assert inspect.getdoc(rr.estimators.Estimate.interval).startswith(
        "Intervals of the true proportions"
    )


def test_errors_inside_a_call_pass_unchanged():
    """A TypeError of the function's own lines is not taken for a wrong keyword."""

    @checked_keywords
    def fails(first, *, second=None):
        return first + second

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        fails(1, second="a")
    assert not isinstance(caught.value, rr.errors.RRStatsError)

    @checked_keywords
    def calls_wrongly(first):
        return (lambda: first)(seed=1)

    with pytest.raises(TypeError, match=r"lambda.* unexpected keyword argument 'seed'"):
        calls_wrongly(1)
    with pytest.raises(TypeError, match=r"calls_wrongly needs first$"):
        calls_wrongly()


def test_a_missing_argument_is_shown_in_a_call():
    """All that are missing, and a call that fits."""
    with pytest.raises(ArgumentTypeError, match=r"needs proportion; for example rr.*size\(half_"):
        rr.planning.sample_size(0.02)
    with pytest.raises(ArgumentTypeError, match=r"needs prob_statement; for example rr.*warner\("):
        rr.surveys.warner(["no", "yes"])
    with pytest.raises(ArgumentTypeError, match=r"needs prob_statement; for example rr.*mangat\("):
        rr.surveys.mangat(["no", "yes"])
    with pytest.raises(ArgumentTypeError, match=r"^KRR needs categories; for example rr.KRR\("):
        rr.KRR()


def test_all_wrong_and_missing_names_are_told_at_once():
    """So that a second try can be right: each fault, in the order in which it was typed."""
    with pytest.raises(ArgumentTypeError) as raised:
        rr.planning.sample_size(margin=0.03, p=0.75, qqq=1)
    told = "no margin; give half_width|no p; give prob,|no qqq; its arg|needs proportion; for"
    places = [str(raised.value).find(words) for words in told.split("|")]
    assert -1 not in places
    assert places == sorted(places)
    with pytest.raises(ArgumentTypeError, match="takes half_width once") as raised:
        rr.planning.sample_size(rr.KRR(["no", "yes"], 0.75), half_width=0.03)
    assert "needs proportion" in str(raised.value)
    with pytest.raises(ArgumentTypeError, match=r"takes no levle; .*  It takes only reports, "):
        rr.estimate(REPORTS, M, None, 1, levle=0.9)


def told(call):
    """The message about a call without arguments, or nothing if it needs none."""
    try:
        call()
    except ArgumentTypeError as error:
        return str(error)
    return ""


def test_every_public_call_without_arguments_shows_one_that_fits():
    """A function that needs arguments tells them all, and an example of its own."""
    made_by_functions = WITHOUT_ARGUMENTS | RESULTS
    made_by_functions |= {"datasets.SoftwareResult", "datasets.StudyQuestion"}
    messages = {
        path: told(call)
        for path, call in public_calls().items()
        if path not in made_by_functions and not path.startswith("regression.")
    }
    needing = {path: text for path, text in messages.items() if " needs " in text}
    assert len(needing) > 70
    assert {} == {path: text for path, text in needing.items() if "; for example rr." not in text}


def example_names():
    """Data, reports and results that the examples of the table name."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"smoker": rng.choice(["no", "yes"], 600, p=[0.7, 0.3])})
    data["region"] = rng.choice(["north", "south"], 600)
    data["health"] = rng.choice(["bad", "fair", "good"], 600)
    data["age"] = rng.integers(18, 80, 600).astype(float)
    data["treat"] = [0, 1] * 300
    data["direct"] = rng.choice([0, 1], 600, p=[0.9, 0.1])
    data["count"] = rng.integers(0, 4, 600) + (data["treat"] * rng.choice([0, 1], 600))
    released = data.rr.simulate("smoker", ["no", "yes"], 0.75, seed=1)
    released = released.rr.simulate("health", ["bad", "fair", "good"], 0.75, seed=2)
    often = rng.choice(["never", "once", "often"], 600)
    return {
        "df": data,
        "released": released,
        "reports": released["smoker"].tolist(),
        "groups": released.rr.estimate("smoker", by="region"),
        "est": rr.estimate(often, ["never", "once", "often"], 0.75),
        "reds": rng.integers(0, 5, 600),
        "table": released.rr.crosstab("smoker", "region"),
        "means": released.rr.means("age", "smoker"),
        "fit": rr.logit("smoker ~ age", released),
        "mixed": rr.regression.mixed("smoker ~ age + (1 | region)", released),
        "cells": pd.DataFrame({"region": ["north", "south"], "age": 50.0, "people": [900, 800]}),
        "control": rr.estimate(
            ["never"] * 590 + ["once", "often"] * 5, ["never", "once", "often"], 0.99
        ),
        "kept": np.zeros((2, 3), dtype=np.uint8),
        "text": rr.client.encode_report(M, "yes"),
        "collect": lambda values: rr.privatize(values, ["no", "yes"], epsilon=1),
        "rr": rr,
    }


@pytest.mark.filterwarnings("ignore::rrstats.errors.RRStatsWarning")
def test_examples_of_the_table_run(tmp_path, monkeypatch):
    """Each call that an error shows fits; files, and a long audit, take these arguments."""
    pytest.importorskip("formulaic")
    monkeypatch.chdir(tmp_path)
    names = example_names()
    for call, example in answers().examples.items():
        function, _, arguments = example.partition("(")
        if function.startswith("rr.files.") or call == "audit":
            home = rr if call == "audit" else rr.files
            if hasattr(home, call):  # one without pyarrow, too
                bound = inspect.signature(getattr(home, call)).bind
                eval(f"bound({arguments}", {**names, "bound": bound})  # the text is our own
        else:
            eval(example, dict(names))  # the text is our own


def test_options_of_a_typed_dict():
    """A function with options takes their names, its own arguments, and nothing else."""

    @checked_options(PlotOptions)
    def draw(self, ax=None, *, level=0.95, **options):
        return level, options

    assert draw(None, level=0.9, top=3) == (0.9, {"top": 3})
    with pytest.raises(ArgumentTypeError, match="draw takes no titel; did you mean title"):
        draw(None, titel="x")


def test_answers_name_arguments_that_exist():
    """Each keyword that the table proposes is an argument of some public function."""
    arguments = {"q", "pooled", "destination"}  # of planning and of files
    for call in public_calls().values():
        if not takes_any_keyword(call):
            arguments.update(inspect.signature(call).parameters)
    arguments |= PowerOptions.__optional_keys__
    of_words = answers().keywords.values()
    proposed = {answer.instead for listed in of_words for answer in listed}
    assert proposed - {"", "alpha"} <= arguments


@pytest.mark.parametrize(
    ("module", "wrong", "right"),
    [
        (rr, "estimat", "estimate"),
        (rr.estimators, "Crosstabs", "Crosstab"),
        (rr.surveys, "croswise", "crosswise"),
        (rr.planning, "plann", "plan"),
        (rr.files, "record", "records"),
        (rr.privacy, "compse", "compose"),
        (rr.datasets, "load_anes", "load_anes96"),
        (rr.client, "reports", "report"),
        (rr.estimators, "debias_count", "debias_counts"),
        (rr.hypotheses, "independance", "independence"),
        (rr, "correlation", "correlations"),
        (rr, "krr", "KRR"),
        (rr.surveys, "Warner", "warner"),
    ],
)
def test_unknown_attribute_of_a_module_names_the_nearest(module, wrong, right):
    """A misspelt function is answered with the public name that resembles it most."""
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; did you mean {right}?"):
        getattr(module, wrong)
    assert not hasattr(module, "__no_such_name__")


@pytest.mark.parametrize(
    ("module", "names", "answer"),
    [
        (
            rr,
            "phi odds_ratio cramers_v",
            r"a table of two columns has it: .*association\('{}'\)",
        ),
        (rr, "cauchit", "links 'logit', 'probit' and 'cloglog'"),
        (rr, "probit cloglog", r"rr.logit\(..., link='{}'\)"),
        (rr.surveys, "disguised_response", "warner has its matrix, and kuk"),
        (rr, "crosswise warner two_coin", "it is rr.surveys.{}(, as in|$)"),
        (rr, "power sample_size recommend", "it is rr.planning.{}(, as in|$)"),
        (rr, "independence", "it is rr.hypotheses.{}(, as in|$)"),
        (
            rr,
            "Rappor Mechanism Samples SubsetSelection UnaryEncoding two_rounds instantaneous",
            "it is rr.mechanisms.{}(, as in|$)",
        ),
        (rr, "epsilon_from_prob prob_from_epsilon posterior", "it is rr.privacy.{}(, as in|$)"),
        (rr, "list_regression list_with_direct", "it is rr.regression.{}(, as in|$)"),
        (rr, "Estimate Crosstab", "it is rr.estimators.{}(, as in|$)"),
        (rr, "Key new_key SecureGenerator", "it is rr.client.{}(, as in|$)"),
        (rr, "FrameAccessor SeriesAccessor", "rrstats.accessor.{}$"),
        (rr, "FramePlan", "it is rr.planning.FramePlan$"),
        (rr.planning, "frame", "it is rr.planning.plan$"),
        (rr.planning, "break_even influence", "it is rr.planning.compliance.{}(, as in|$)"),
        (
            rr,
            "sample_size",
            r"it is rr.planning.sample_size, as in rr.*size\(half_width=0.02, .*mechanism=4, eps",
        ),
        (rr.planning, "people at_epsilon design detectable", "it is rr.planning"),
        (
            rr,
            "item_count",
            r"list_regression\('count ~ age', df, mechanism=design, group='treat'\) takes covariat",
        ),
        (rr.planning, "compare", r"compare_designs\(1\) compares survey designs"),
        (rr, "compare", r"compare_designs\(1\) .*, rr.difference\(a, b\) two estimates$"),
        (rr, "noncompliance tipping_point", r"an estimate has it, as est.{}\(...\)$"),
        (rr, "small_area", r"groups.pooled\(\) borrows strength"),
        (rr, "raking", r"rr.SampleDesign\(weights=...\) takes them"),
        (rr, "ecwm", "it is rr.surveys.extended_crosswise$"),
        (rr, "direct_question", "it is rr.surveys.direct$"),
        (rr, "privacy_budget", "rr.privacy.compose adds up$"),
        (
            rr.mechanisms,
            "ForcedResponse",
            "it is rr.surveys.forced_response, .* rr.surveys.two_coin$",
        ),
        (rr, "forced_response", "it is rr.surveys.forced_response, .* rr.surveys.two_coin$"),
        (rr, "survey SurveyDesign", "rr.SampleDesign has weights, strata and clusters"),
        (rr, "mean mean_by", r"estimate\('score', by='sex'\).mean\("),
        (rr, "small_area_estimation", r"groups.pooled\(\) borrows strength"),
        (rr, "budget total_epsilon", r"a frame df.rr.epsilon and df.rr.budget\(\)"),
        (rr, "budget_plan", r"rr.planning.plan\(columns, 2\)"),
        (rr, "privatize_number", r"rr.privatize\(df, 'income', rr.number\("),
        (M, "fit_transform", r"rr.privatize\(answers, mechanism\)"),
        (M, "get_params", "parameters has the numbers"),
        (rr.estimate(REPORTS, M), "table params", r"to_frame\(\) has the "),
        (rr, "opendp", "page 'Coming from OpenDP' reads and writes its JSON in ten lines$"),
        (rr.surveys, "devore", "mangat has its matrix, and forced_response"),
        (rr.surveys, "soberanis_cruz", "unrelated_question has its matrix"),
        (
            rr.surveys,
            "christofides mangat_singh mangat_singh_singh mangat_unrelated_question",
            "'Designs by their matrix' makes it of rr.MatrixDesign",
        ),
    ],
)
def test_a_name_of_the_field_says_where_its_thing_is(module, names, answer):
    """Not the name that is spelt alike, such as mangat for another design."""
    for name in names.split():
        with pytest.raises(AttributeError, match=answer.format(name)):
            getattr(module, name)


def frames_and_results():
    """One object of each kind that people look attributes up on."""
    data = pd.DataFrame({"a": ["yes", "no"] * 50, "g": ["x", "x", "y", "y"] * 25})
    released = data.rr.simulate("a", ["no", "yes"], 0.75, seed=1)
    return {
        "df.rr": released.rr,
        "s.rr": released["a"].rr,
        "estimate": released.rr.estimate("a"),
        "groups": released.rr.estimate("a", by="g"),
        "tally": released.rr.tally("a"),
        "table": released.rr.crosstab("a", "g"),
        "fit": rr.logit(np.tile([0, 1], 50), mechanism=rr.KRR([0, 1], 0.75)),
        "mechanism": M,
        "design": rr.surveys.warner(["no", "yes"], 0.75, yes="yes"),
        "rr": rr,
        "hypotheses": rr.hypotheses,
        "surveys": rr.surveys,
    }


@pytest.mark.parametrize(
    ("kind", "names", "answer"),
    [
        ("tally", "estimate", "rr.estimate(tally) has it"),
        ("groups", "small_area", "groups.pooled() borrows strength"),
        ("estimate", "tidy", "to_frame() has one row for each category"),
        ("estimate", "cov_params", "it is covariance"),
        ("df.rr", "privatise", "did you mean privatize?"),
        ("df.rr", "anonymize randomise", "privatize() replaces true answers by reports"),
        ("df.rr", "list_regression", "it is rr.regression.list_regression"),
        ("df.rr", "logistic glm", "rr.logit is logistic regression"),
        ("df.rr", "proportions interval", "df.rr.estimate(column).proportions"),
        ("s.rr", "value_counts", "naive has the reported proportions"),
        ("estimate groups", "ci lower", "interval(level=0.95) has the intervals"),
        ("estimate", "proportion", "did you mean proportions?"),
        ("estimate table", "to_latex", "result.to_frame().to_latex(...)"),
        ("estimate", "se stderr", "std_error has the standard errors"),
        ("estimate", "pvalue", "a test has it: rr.hypotheses.goodness_of_fit"),
        ("table", "margins", "did you mean margin?"),
        ("fit", "get_margeff", "marginal_effects() has the average ones"),
        ("fit", "coef_ coef intercept_", "params has the coefficients"),
        ("fit", "predict_proba", "predict() has the probabilities"),
        ("fit", "pvalue", "did you mean pvalues?"),
        ("rr", "methods", "it is rr.privacy.methods"),
        ("rr", "power", "it is rr.planning.power"),
        ("rr", "Warner", "it is rr.surveys.warner"),
        ("rr", "rappor", "it is rr.mechanisms.Rappor"),
        ("rr", "glmm GLMMRR", "random intercept"),
        ("rr", "poststratify", "a fit with random intercepts has it"),
        ("rr", "bounds", "noncompliance"),
        ("rr", "plot", "result.plot()"),
        ("rr", "GRR make_randomized_response", "rr.KRR(categories, prob) is the mechanism"),
        ("rr", "OUE", "it is rr.mechanisms.UnaryEncoding"),
        ("rr", "RRlog", "rr.logit"),
        ("rr", "ictreg", "rr.surveys.list_experiment"),
        ("rr df.rr", "list_experiment", "rr.estimate(df, 'count', design, group='treat') is"),
        ("mechanism design", "eps budget", "it is epsilon"),
        ("mechanism", "p probability", "of KRR prob is its probability"),
        ("mechanism", "matrix transition_matrix", "channel.matrix has P(report | truth)"),
        ("design", "prob_statement p", "parameters has the numbers of a mechanism by name"),
        ("mechanism design", "privatize", "rr.privatize(answers, mechanism)"),
        ("mechanism design", "estimate", "rr.estimate(reports, mechanism)"),
        ("mechanism design", "randomiz", "did you mean randomize?"),
        ("mechanism", "labels", "it is categories"),
        ("estimate", "test", "rr.hypotheses.goodness_of_fit(est, 0.3)"),
        ("rr", "Warner sample_size posterior", ", as in rr."),
        ("df.rr", "compare", "rr.difference(groups['a'], groups['b'])"),
        ("df.rr", "mrp", "fit.poststratify(cells, 'people', by='area')"),
        ("rr", "ict_test", "it is rr.hypotheses.no_design_effect"),
        ("rr", "svydesign", "rr.SampleDesign"),
        ("rr hypotheses", "chi2", "rr.hypotheses.independence(table)"),
        ("hypotheses", "mcnemar", "it is rr.hypotheses.change"),
        ("surveys", "simmons", "it is rr.surveys.unrelated_question"),
        # All public modules are looked up, from results, accessors and other modules.
        ("df.rr estimate fit", "sample_size", "it is rr.planning.sample_size"),
        ("table", "independence", "it is rr.hypotheses.independence"),
        ("table", "table", "to_frame(wide='proportion')"),
        ("df.rr", "table xtabs", "it is rr.crosstab"),
        ("df.rr s.rr", "methods", "it is rr.privacy.methods"),
        ("df.rr", "plan", "it is rr.planning.plan"),
        ("estimate", "plan", "est.tally.plan"),
        ("hypotheses surveys", "logit KRR", "it is rr."),
        ("df.rr", "mechanism", "did you mean mechanisms?"),
        ("df.rr", "save to_feather", "to_parquet and to_csv keep the records"),
        ("estimate", "moe half_width confidence_interval", "interval(level=0.95) has"),
        ("estimate table fit", "head iloc columns", "to_frame() is a frame of pandas"),
        ("estimate", "nobs", "n is the number of people"),
        ("fit", "t_test f_test", "wald_test()"),
        ("fit", "anova", "compare()"),
        ("groups", "test", "rr.hypotheses.homogeneity(groups)"),
        ("estimate", "save", "result.to_frame().to_csv(path)"),
        ("fit", "resid", "goodness_of_fit()"),
        ("fit", "random_effects ranef", "intercepts()"),
        ("fit", "loglik logLik", "llf is"),
        ("rr", "RRcor cor", "rr.correlations"),
        ("rr", "RRmixed RRglmer", "random intercepts"),
        ("rr", "weights strata cluster", "rr.SampleDesign"),
        ("rr", "DE_Client UE_Client LH_Client Measurement", "rr."),
    ],
)
def test_plausible_attributes_are_answered(kind, names, answer):
    """Words of R, statsmodels, scikit-learn and OpenDP lead to what does it here."""
    objects = frames_and_results()
    for each in kind.split():
        for name in names.split():
            with pytest.raises(AttributeError) as raised:
                getattr(objects[each], name)
            assert answer in str(raised.value)


def test_a_question_for_an_attribute_looks_no_words_up(monkeypatch):
    """Mechanisms are asked what they are: the answer is made only where it is shown."""
    monkeypatch.setattr("rrstats._names._hint", lambda *args: pytest.fail("words were looked up"))
    assert not hasattr(M, "eps")
    assert getattr(M, "parts", None) is None
    assert rr.planning.sample_size(0.02, 0.1, M) > 0
    assert str(rr.explain(M))
    with pytest.raises(AttributeError) as raised:
        _ = M.eps
    monkeypatch.undo()
    assert "it is epsilon" in str(raised.value)
    assert "it is epsilon" in repr(raised.value)


@pytest.mark.parametrize(
    "name", ["_repr_mimebundle_", "xyz", "quantum", "__deepcopy__", "transform", "clone", "noise"]
)
def test_nothing_is_said_where_nothing_is_near(name):
    """No attribute of another meaning is proposed, and Python's own tools get no words."""
    for each in frames_and_results().values():
        with pytest.raises(AttributeError) as raised:
            getattr(each, name)
        assert str(raised.value).endswith(f"has no attribute {name!r}")


def test_answers_to_attributes_name_what_exists():
    """Each rr.name in an answer is there."""
    for answer in answers().attributes.values():
        for path in re.findall(r"(?<![\w.])rr((?:\.[A-Za-z_]\w*)+)", answer):
            place = rr
            for name in path[1:].split("."):
                place = getattr(place, name)


def test_the_table_has_each_attribute_once():
    """A word in two of its entries would have only the later answer."""
    table = tomllib.loads((Path(rr.__file__).parent / "_names.toml").read_text("utf-8"))
    words = [word for entry in table["attributes"] for word in entry["words"].split()]
    assert len(set(words)) == len(words)
    known = {"words", "instead", "reason", "calls", "answer"}
    assert all(entry.keys() <= known for entry in table["keywords"] + table["attributes"])


def test_every_public_module_answers_and_lists_its_names():
    """The answer stands in each public module, and dir() lists the public names."""
    for name in set(rr.__all__) - {"files", "errors"}:
        module = getattr(rr, name)
        if isinstance(module, types.ModuleType):
            assert callable(vars(module).get("__getattr__")), name
            assert dir(module) == sorted(module.__all__), name
    assert dir(plots) == sorted(plots.__all__)


def test_every_public_name_stands_in_one_list(pa):
    """A name at the top may stand in its module, too; no other name has two places."""
    modules = [name for name in rr.__all__ if inspect.ismodule(getattr(rr, name))]
    lists = {name: set(getattr(rr, name).__all__) - set(rr.__all__) for name in modules}
    everywhere = [inner for names in lists.values() for inner in names]
    assert [] == sorted({inner for inner in everywhere if everywhere.count(inner) > 1})
    for module in modules:
        for inner in set(getattr(rr, module).__all__) & set(rr.__all__):
            assert getattr(rr, inner) is getattr(getattr(rr, module), inner), inner


def test_files_answer_wrong_keywords_and_names(pa):
    """The functions of files do as the others; most of them need pyarrow."""
    for name in rr.files.__all__:
        with pytest.raises(ArgumentTypeError, match=f"^{name} takes no frobnicate"):
            getattr(rr.files, name)(frobnicate=1)
    with pytest.raises(AttributeError, match="did you mean privatize_file"):
        _ = rr.files.privatise_file


def test_measurement_of_opendp_is_told_the_way_on():
    """OpenDP's object is not a list of categories; the message has the call that takes these."""
    measurement = types.SimpleNamespace(__opendp_dict__={})
    with pytest.raises(ArgumentTypeError, match=r"OpenDP .*rr.KRR\(categories, prob\)"):
        rr.estimate(REPORTS, measurement)
