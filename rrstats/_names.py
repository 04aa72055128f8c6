"""Wrong names, answered with the right ones: keywords of calls, and attributes of modules.

`checked_keywords` decorates every public function and class.  It keeps signatures as they are and
does nothing until a call fails; then `_ANSWERS`, the one table of wrong keywords, has the right
keyword and the reason.  `checked_options` does the same for ``**options`` of a TypedDict.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType
from typing import Any, TypeVar, cast
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

_ESTIMATES = frozenset({"estimate", "tally", "crosstab", "means", "quantiles", "difference"})
"""Functions whose results have intervals."""

_REGRESSIONS = frozenset({"logit", "linear"})

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
_IN_PLACE = (
    _Answer(
        reason="it returns new data and leaves the true answers as they are; assign the result, "
        "and delete the answers when they are no longer needed",
        calls=_RELEASES | {"simulate"},
    ),
    _Answer(reason="it returns a new object and changes nothing"),
)
_DESIGN_EFFECT = (
    _Answer("design_effect"),
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
        reason="the table has it, as table(normalize='index') for rows or 'columns', and "
        "conditional() with intervals",
        calls=frozenset({"crosstab"}),
    ),
)


_EXACT = (
    _Answer("exact", "as in exact=True, which lists all counts"),
    _Answer(reason="nothing is simulated; merge categories whose expected counts are small"),
)


_BY_MECHANISM = _Answer(
    reason="each column has it in its mechanism, as in {column: rr.KRR(categories, epsilon=1)}",
    calls=frozenset({"privatize_file", "privatize_parquet", "sink_privatized"}),
)
_KEEP_ORDER = (
    _Answer(
        reason="categories of public columns are written as plain values when rows are shuffled; "
        "read them with pd.Categorical(column, categories=[...], ordered=True)",
        calls=frozenset({"privatize", "privatize_file", "privatize_parquet"}),
    ),
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
    **_alike([_Answer("epsilon"), _BY_MECHANISM], "eps", "e", "budget", "privacy_budget"),
    **_alike([_QUANTILES[1], _BY_MECHANISM], "p", "probability", "prob_truth", "p_truth"),
    **_alike([_BY_MECHANISM], "epsilon", "prob", "categories"),
    **_alike(_CONFIDENCE, "confidence", "conf", "conf_level", "confidence_level", "ci"),
    **_alike([_SIGNIFICANCE, *_INTERVALS], "level"),
    **_alike(_ALPHA, "alpha"),
    **_alike(_IN_PLACE, "inplace"),
    **_alike(_DESIGN_EFFECT, "deff", "design_effect"),
    **_alike(
        _of_design("replicates"),
        *("replicates", "repweights", "replicate_weights", "repwts"),
    ),
    **_alike([_Answer("response_rate")], "response", "nonresponse", "completion_rate"),
    **_alike([_Answer("n", "the number of people")], "nobs", "nobs1", "sample_size"),
    **_alike(_EFFECT_SIZE, "effect_size"),
    **_alike([_Answer("proportion")], "prop", "prop1", "prevalence"),
    **_alike([_Answer("other", "the proportion of the second group")], "prop2"),
    **_alike(_of_design("strata"), "strata", "stratum", "stratify"),
    **_alike(_of_design("clusters"), "clusters", "cluster", "psu", "ids"),
    **_alike(_of_design("population"), "population", "population_size", "fpc"),
    **_alike(_of_design("probabilities"), "probabilities"),
    **_alike(_of_design("lonely_psu"), "lonely_psu"),
    **_alike(_of_design("weights"), "weights", "weight", "wt", "sample_weight"),
    **_alike([_Answer("mechanisms", "a mapping from column to mechanism")], "mechanism"),
    **_alike([_Answer("mechanism"), _Answer("categories")], "mechanisms"),
    **_alike([_Answer("categories")], "labels", "choices", "cats", "domain"),
    **_alike([_Answer("by"), _Answer("group")], "groupby", "group_by", "groups"),
    **_alike([_Answer("columns")], "column", "cols", "variables", "subset"),
    **_alike(_QUANTILES, "probs", "quantiles", "quantile", "percentiles", "tau"),
    **_alike([_Answer("threads")], "n_jobs", "workers"),
    **_alike([_Answer("missing")], "na", "na_action", "dropna", "skipna"),
    **_alike([_Answer("id")], "person", "user_id"),
    **_alike([_Answer("link")], "family"),
    **_alike(_TABLE, "normalize"),
    **_alike(_EXACT, "simulations", "simulate_p_value"),
    **_alike(_KEEP_ORDER, "keep_order"),
}
"""The answers to wrong keywords, of which the first that fits is used."""

_OF_TABLE = "it is a method of a table: rr.crosstab(...).{}()"
_OF_FRAME = "the frame has it, with all options of pandas: result.to_frame().{}(...)"
_OF_LINK = "give its name to logit: rr.logit(..., link='{}')"
_BY_MATRIX = "the guide's page 'Designs by their matrix' makes it of rr.MatrixDesign"
_SAMPLE_SIZE = "rr.planning.people is the sample size for a width, people_for_power for a power"

_ELSEWHERE = {
    **{name: _OF_TABLE.format(name) for name in ("correlation", "cramers_v", "odds_ratio", "phi")},
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
    **dict.fromkeys(("sample_size", "samplesize", "required_n"), _SAMPLE_SIZE),
    **{name: _OF_FRAME.format(name) for name in ("to_csv", "to_excel", "to_markdown")},
    "opendp": "the page 'Coming from OpenDP' reads and writes its JSON in ten lines",
    "design_effect": "rr.planning.relative_variance compares the noise of a mechanism with a "
    "direct question; people(design_effect=...) takes that of weights and clusters",
    "credible_interval": "interval needs no prior, and the guide's page 'Your own model' has one",
}
"""Names of the field for what the package has under another name, with the next step."""


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


def missing_attribute(module: str, name: str, names: Iterable[str], home: str | None = None) -> str:
    """The message about an attribute that a module does not have; home : where it is instead.

    Each public module ends with a `__getattr__` that raises it, hidden from type checkers, which
    would otherwise believe that every attribute exists.

    >>> missing_attribute("rrstats.surveys", "croswise", ["warner", "crosswise"])
    "module 'rrstats.surveys' has no attribute 'croswise'; did you mean crosswise?"
    """
    # Names with two underscores are asked for by Python's own tools.
    near = None if name.startswith("__") else nearest(name, names)
    hint = f"; did you mean {near}?" if near else ""
    if name in _ELSEWHERE:
        hint = f"; {_ELSEWHERE[name]}"
    if home is not None:
        hint = f"; it is {home}"
    return f"module {module!r} has no attribute {name!r}{hint}"


def missing_member(kind: str, name: str) -> str:
    """The message about an attribute that a result does not have.

    Python itself adds the nearest of its attributes.

    >>> missing_member("Estimate", "proportion")
    "'Estimate' object has no attribute 'proportion'"
    """
    hint = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    return f"{kind!r} object has no attribute {name!r}{hint}"
