"""The front fits a screen: the number, the words and the order of public parameters."""

import ast
import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_names import public_calls, public_methods

import rrstats as rr
from rrstats.accessor import FrameAccessor, SeriesAccessor

MAX_PARAMETERS = 13
MANY = {"SampleDesign", "datasets.StudyQuestion"}

WORDS = {
    "proportion": {"prevalence", "share", "shares", "prevalences"},
    "std_error": {"std", "stderr", "se", "sd_error", "rmse", "bse"},
    "p_value": {"pvalue", "pval", "p_val"},
    "level": {"confidence", "conf_level", "conf", "ci"},
    "low, high": {"lower", "upper", "ci_low", "ci_high"},
    "by, group": {"groups", "groupby", "group_by"},
    "weights, design": {"deff", "w", "wt", "strata_", "survey_design"},
    "epsilon": {"eps", "budget_"},
}
"""The one word of each thing, and those that are not used for it in signatures and columns."""

ORDER = {
    "mechanism": ("epsilon", "mechanism", "mechanisms", "group"),
    "design": ("weights", "frequencies", "design", "blocks"),
    "options": ("target", "ddof", "level", "alpha", "method", "missing", "vcov", "unknown"),
}
"""Arguments by name stand in this order; those by position come first, and data before all."""


def parameters_of(call):
    """The parameters of a function, a method or a class, with the keys of a TypedDict."""
    try:
        signature = inspect.signature(call)
    except ValueError:  # a class of another language
        return []
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    kinds = [each for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD]
    for packed in kinds:
        names.remove(packed.name)
        if "Unpack[" in str(packed.annotation):
            kind = str(packed.annotation).partition("[")[2].rstrip("]").rpartition(".")[2]
            names += list(vars(sys.modules[inspect.unwrap(call).__module__])[kind].__annotations__)
    return names


def everything():
    """All public functions, classes and methods with their parameters, by their path."""
    calls = public_calls() | public_methods()
    calls |= {f"files.{name}": getattr(rr.files, name) for name in rr.files.__all__}
    return {path: parameters_of(call) for path, call in calls.items() if path not in MANY}


def test_nothing_has_more_than_13_parameters(pa):
    """Keys of options count one by one; options that go together are one object."""
    assert {} == {path: n for path, n in everything().items() if len(n) > MAX_PARAMETERS}


def test_few_names_of_parameters_occur_once(pa):
    """A name that one function alone has is one more word to learn; designs apart."""
    functions = {
        path: names
        for path, names in everything().items()
        if inspect.isfunction((public_calls() | vars(rr.files)).get(path.removeprefix("files.")))
        and not path.startswith(("surveys.", "mechanisms.", "planning.compliance."))
    }
    counts = Counter(name for names in functions.values() for name in names)
    assert len(functions) > 60
    assert 40 >= sum(count == 1 for count in counts.values())


def test_classes_show_what_was_asked():
    """Estimate and Crosstab fit a screen; kernels and second moments are in their moments."""
    for kind, limit in ((rr.estimators.Estimate, 36), (rr.estimators.Crosstab, 26)):
        members = {*dir(kind), *kind.__dataclass_fields__}
        assert limit >= len([name for name in members if name[0] != "_"])


def test_parameters_have_one_vocabulary(pa):
    """No public parameter has a second word for what has one."""
    others = set().union(*WORDS.values())
    results = {each.__name__ for each in vars(rr.estimators).values() if inspect.isclass(each)}
    results |= {each.__name__ for each in vars(rr.regression).values() if inspect.isclass(each)}
    found = {
        path: set(names) & others
        for path, names in everything().items()
        if path.partition(".")[2] not in results and set(names) & others
    }
    # A survey design's groups are its own; fits predict for new groups, of several names.
    allowed = {"surveys.list_experiment", "Samples", "RandomInterceptsResult"}
    assert {} == {
        path: words
        for path, words in found.items()
        if path not in allowed and path.partition(".")[0] not in allowed
    }


def test_arguments_by_name_have_one_order():
    """The mechanism, then the design of the survey, then options."""
    ranks = {name: rank for rank, names in enumerate(ORDER.values()) for name in names}
    calls = public_calls() | {
        f"{kind.__name__}.{name}": method
        for kind in (FrameAccessor, SeriesAccessor)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
    }
    for path, call in calls.items():
        if inspect.isfunction(call) and not path.startswith("surveys."):
            named = [
                ranks[each.name]
                for each in inspect.signature(call).parameters.values()
                if each.kind is each.KEYWORD_ONLY and each.name in ranks
            ]
            assert named == sorted(named), path


@pytest.fixture(scope="module")
def tables():
    """Results of all kinds that have a frame, by what makes them."""
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "a": rng.choice(["no", "yes"], 400),
            "b": rng.choice(["x", "y", "z"], 400),
            "age": rng.normal(size=400),
            "county": rng.choice(list("pqrstuvwxyz"), 400),
        }
    )
    designs = {"a": rr.KRR(["no", "yes"], 0.9), "b": rr.KRR(["x", "y", "z"], 0.9)}
    released = data.rr.simulate(designs, seed=1)
    groups = released.rr.estimate("a", by="county")
    fit = released.rr.logit("a ~ age")
    mixed = rr.regression.mixed("a ~ age + (1 | county)", released)
    cells = pd.DataFrame({"county": list("pqrstuvwxyz"), "age": 0.0, "people": 9})
    return {
        "estimate": released.rr.estimate("b"),
        "groups": groups,
        "pairwise": groups.pairwise(),
        "difference": rr.difference(groups["p"], groups["q"]),
        "crosstab": released.rr.crosstab("a", "b"),
        "conditional": released.rr.crosstab("a", "b").conditional("a", "b"),
        "means": released.rr.means("age", "a"),
        "quantiles": released.rr.quantiles("age", "a"),
        "correlations": released.rr.correlations(["a", "age"], values={"a": [0, 1]}),
        "among": released.rr.estimate("b").among(["x", "y"]),
        "fit": fit,
        "odds ratios": fit.odds_ratios(),
        "effects": fit.marginal_effects(),
        "predictions": fit.predict(),
        "mixed": mixed,
        "intercepts": mixed.intercepts(),
        "areas": mixed.poststratify(cells, counts="people", by="county"),
        "ordinal": rr.regression.ordinal("b ~ age", released).odds_ratios(),
    }


def test_columns_have_one_vocabulary(tables):
    """The columns of all tables use the words of the front; a table has the same five members."""
    others = set().union(*WORDS.values())
    for name, table in tables.items():
        frame = table.to_frame()
        assert not others & set(frame.columns), name
        assert not others & set(frame.index.names), name
        for member in ("plot", "interpret", "notes"):
            assert hasattr(table, member), (name, member)


def test_the_page_of_the_front_has_every_name(pa):
    """Its cells run, and what they show has each public name and each member of results."""
    pytest.importorskip("IPython")
    pytest.importorskip("jinja2")
    text = (Path(__file__).parents[1] / "docs" / "reference" / "front.md").read_text("utf-8")
    cells = re.findall(r"```\{code-cell\} python\n:tags: \[remove-input\]\n(.*?)```", text, re.S)
    namespace = {}
    shown = []
    for cell in cells:
        *lines, last = ast.parse(cell).body
        exec(compile(ast.Module(lines, []), "front.md", "exec"), namespace)
        shown.append(eval(compile(ast.Expression(last.value), "front.md", "eval"), namespace).data)
    assert all(f"rr.{name}<" in shown[0] for name in dir(rr))
    names = {path.rpartition(".")[2] for path in public_calls()} | {*dir(rr.files)}
    names -= {*dir(rr)}
    assert [] == sorted(name for name in names if f">{name}<" not in shown[1])
    for kind in (rr.estimators.Estimate, FrameAccessor, rr.regression.LikelihoodResult):
        members = [name for name in dir(kind) if name[0] != "_"]
        assert [] == [name for name in members if not re.search(rf"\b{name}\b", shown[2])]
