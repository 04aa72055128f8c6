"""What rrstats gave when it was rebuilt: numbers, columns, draws, codes of exit.

`CALLS` are calls by name, and frozen.json has what each gave.  Floats are compared to 1e-9, those
of fits to 1e-6, near which they stop, and all else exactly; of errors and sentences nothing is
recorded but the numbers.

    python tests/test_freeze.py            records the calls that are new, and forgets old ones
    python tests/test_freeze.py "fit, "    records anew also those whose names begin so
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache, partial
from io import StringIO
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from catalogue import EXAMPLES, SILENT, WITH_MATRIX, simulated

import rrstats as rr
from rrstats import cli, crosstab, estimate, estimators, hypotheses, planning, privacy
from rrstats.errors import RRStatsError
from rrstats.inference.contrasts import project_to_simplex
from rrstats.mechanisms.epsilon import total_epsilon
from rrstats.planning.power import fit_distance
from rrstats.privacy import posterior
from rrstats.privacy.explanation import probability_after

FROZEN = Path(__file__).with_name("frozen.json")
NEEDS = {"formula": "formulaic", "file, ": "pyarrow", "command": "pyarrow"}
FITS = ("fit", "formula", "likeliest")
CALLS = {}


# -- any result as JSON, and compared ------------------------------------------------------------


def plain(value):
    """A result as JSON: frames with their dtypes, floats with 12 digits."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, pd.Series):
        return [str(value.dtype), plain(list(value))]
    if isinstance(value, pd.DataFrame):
        index = [] if isinstance(value.index, pd.RangeIndex) else list(map(str, value.index))
        columns = [[str(name), *plain(value.iloc[:, i])] for i, name in enumerate(value.columns)]
        return [index, *columns]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else repr(value)


def gaps(expected, found, rel, where=""):
    """The places at which two JSON values differ."""
    if type(expected) is type(found) is dict and list(expected) == list(found):
        return [gap for k in expected for gap in gaps(expected[k], found[k], rel, f"{where}.{k}")]
    if type(expected) is type(found) is list and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [gap for i, pair in pairs for gap in gaps(*pair, rel, f"{where}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float | int):
        same = found == pytest.approx(expected, rel=rel, abs=1e-12, nan_ok=True)
    else:  # pandas 2 has no dtype of its own for text
        of_text = (expected, found, pd.__version__[0]) == ("str", "object", "2")
        same = found == expected or of_text
    return [] if same else [f"{where}: recorded {expected!r}, found {found!r}"]


def run(name):
    """What a call gives now, as JSON has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(plain(CALLS[name]())))


def record(group, calls, read=lambda result: result):
    """Let what some calls give, as it is read, be recorded under names."""
    for name, call in calls.items():
        CALLS[f"{group}, {name}"] = lambda call=call: read(call())


def of(names, result):
    """Some attributes of a result, by the last part of their names; methods are called."""
    found = {name.rpartition(".")[2].strip("_"): attrgetter(name)(result) for name in names.split()}
    return {name: value() if callable(value) else value for name, value in found.items()}


def table(result, *args, **options):
    """The frame of a result, or a frame."""
    return result if isinstance(result, pd.DataFrame) else result.to_frame(*args, **options)


def either(call, *args, **options):
    """What a call gives, or that it is refused."""
    try:
        return call(*args, **options)
    except RRStatsError:
        return "refused"


# -- mechanisms: reports, estimates --------------------------------------------------------------


def both_targets(mechanism, names):
    """Parts of an estimate, of the people's population and of these rows."""
    reports, group = simulated(mechanism, 60)
    estimated = estimate(reports, mechanism, **group)
    return {
        target: of(names, replace(estimated, target=target)) for target in ("population", "sample")
    }


def every(read):
    """One call for each mechanism of the catalogue."""
    return {name: lambda make=make: read(make()) for name, make in EXAMPLES.items()}


record("reports", every(lambda m: simulated(m)[0]))
# test_battery holds the covariances behind each matrix, by enumeration and by another channel.
PARTS = "tally.reported proportions counts std_error interval"
PARTS_WITHOUT_MATRIX = "tally.reported proportions counts std_error covariance interval"
record("estimate", {
    name: partial(lambda make, names: both_targets(make(), names), make, names)
    for name, make in EXAMPLES.items()
    for names in [PARTS if name in WITH_MATRIX else PARTS_WITHOUT_MATRIX]
    if name not in SILENT
})  # fmt: skip

# -- estimates, tables of them, intervals --------------------------------------------------------

COIN = rr.KRR(["no", "yes"], 0.75)
THREE = rr.KRR(["never", "once", "often"], 0.6)
CARDS = rr.surveys.kuk(["no", "yes"], 0.75, 0.25, yes="yes", draws=3)
METHODS = ("clopper-pearson", "wilson", "agresti-coull", "blaker", "likelihood-ratio", "wald")
METHODS += ("profile-likelihood",)


def number(name, result):
    """An estimated number, under the name that its value was recorded by."""
    return {name: result.value, **of("std_error low high", result)}


@cache
def counted(*counts, mechanism=THREE, **options):
    return estimate(rr.Tally.from_counts(list(counts), mechanism), **options)


few = partial(counted, 9, 3, 28)
many = partial(counted, 3000, 5200, 9100)
cards = partial(counted, 41, 60, 22, 7, mechanism=CARDS)


def intervals(found, method):
    asked = {"0.95": {}, "0.8": {"level": 0.8}, "all": {"simultaneous": True}}
    whom = [replace(found(), target=target) for target in ("population", "sample")]
    return {n: [either(x.interval, method=method, **o) for x in whom] for n, o in asked.items()}


for method in METHODS:
    made = {"few": few, "many": many, "cards": cards}
    record(f"interval, {method}", {n: partial(intervals, f, method) for n, f in made.items()})
record("estimate", {"few": few, "wilson": lambda: table(many(), 0.8, method="wilson")}, table)
record("estimate", {"likeliest": lambda: few().mle(), "projected": lambda: few().project()}, table)
record("likeliest", {"many": lambda: many().mle(), "cards": lambda: cards().mle()}, table)
record("estimate", {
    "one category": lambda: {
        **few().to_frame().iloc[2][["n", "reported", "naive", "count"]].to_dict(),
        **number("proportion", few()["often"]),
    },
    "counts": lambda: [few().count_interval(), many().count_interval(simultaneous=True)],
    "ddof": lambda: few(ddof=0).variance,
    "among": lambda: table(few().among(["once", "often"])),
    "share among": lambda: number("proportion", few().among(["once", "often"])["often"]),
    "mean": lambda: number("mean", few(mechanism=rr.KRR([0, 1, 5], 0.6)).mean()),
    "log-likelihood": lambda: [x.moments.log_likelihood() for x in (many(), cards())],
    "posterior": lambda: np.asarray(posterior(["often", "never"], THREE, [0.2, 0.3, 0.5])),
})  # fmt: skip
record("estimators", {
    "proportions": lambda: estimators.debias_proportions([0.165, 0.349, 0.284, 0.202], 0.75),
    "counts": lambda: estimators.debias_counts([165, 349, 284, 202], 0.75),
    "reports": lambda: estimators.debias_reports([3, 0], range(10), epsilon=1.0),
    "variance": lambda: estimators.proportion_variance(0.1, 2000, epsilon=1.0, k=4),
    "count variance": lambda: estimators.count_variance(0.1, 2000, 0.6, k=4),
    "interval": lambda: estimators.confidence_interval([165, 349, 284], 0.75),
    "count interval": lambda: estimators.count_interval([165, 349, 284], 0.75),
    "projected": lambda: project_to_simplex(np.array([-0.2, 0.5, 0.7])),
})  # fmt: skip

# -- a survey: designs, groups, means, differences -----------------------------------------------

PARTY = rr.KRR(rr.datasets.CATEGORIES["party"], 0.7)
VOTE = rr.KRR(rr.datasets.CATEGORIES["vote"], 0.75)
SCORES = {"vote": {"Clinton": 0, "Dole": 1}}


@cache
def survey():
    """Simulated reports of party and vote, and ordinary columns."""
    data = rr.datasets.load_anes96()
    data = rr.simulate(data, {"party": PARTY, "vote": VOTE}, seed=np.random.default_rng(1))
    news = data["tv_news_days"]
    return data.assign(
        tv=news > 3, weights=1 + news / 4, probabilities=0.1 + news / 20,
        strata=data["age"] // 25, clusters=np.arange(len(data)) // 16,
    )  # fmt: skip


def fresh():
    """Reports of party and vote with real noise: a simulated frame has no finite epsilon."""
    return rr.datasets.load_anes96().rr.privatize({"party": PARTY, "vote": VOTE})


def sampled(names, **others):
    """The arguments that say how the survey was sampled."""
    columns = {name: survey()[name] for name in names.split()} | others
    return {"design": rr.SampleDesign(**columns)} if columns else {}


def of_votes(names, **others):
    return estimate(survey()["vote"], **sampled(names, **others))


@cache
def groups(names=""):
    return estimate(survey()["vote"], by=survey()["tv"], **sampled(names))


def gap(names=""):
    return rr.difference(groups(names)[True], groups(names)[False])


def mover_gap():
    return rr.difference(groups()[True], groups()[False], method="mover")


def ages(**options):
    return rr.means(survey()["age"], survey()["party"], **options)


def all_of_sample(found):
    names = (
        "covariance interval counts moments.total_std_error count_interval df "
        "design_effect effective_n moments.randomization_variance moments.sampling_variance"
    )
    return [table(found), of(names, found)]


for names in ("weights", "probabilities", "clusters", "strata weights", "strata clusters weights"):
    record("survey", {names: partial(of_votes, names)}, all_of_sample)
record("survey", {"population": partial(of_votes, "weights", population=5000)}, all_of_sample)
record("groups", {"alone": groups, "survey": partial(groups, "weights clusters")}, table)
record("difference", {"groups": gap, "survey": partial(gap, "weights clusters")}, table)
record("difference", {"mover": mover_gap}, table)
record("means", {"all": ages, "rows": partial(ages, target="sample")}, table)
record("accessor", {
    "estimate": lambda: survey().rr.estimate("party"),
    "by": lambda: survey().rr.estimate("vote", by="tv"),
    "Series": lambda: survey()["vote"].rr.estimate(),
    "crosstab": lambda: survey().rr.crosstab("vote", "tv"),
    "means": lambda: survey().rr.means("age", by="vote"),
    "check": lambda: rr.check(["no", "maybe", None, "no", "maybe"], COIN),
}, table)  # fmt: skip
record("survey", {
    "tally": lambda: [
        [group, one.reported]
        for group, one in rr.tally(survey()["party"], PARTY, by=survey()["tv"]).items()
    ],
    "simultaneous": lambda: rr.difference(few(), many()).interval(simultaneous=True),
    "simultaneous, mover": lambda: rr.difference(few(), many(), method="mover").interval(
        simultaneous=True
    ),
    "means": lambda: [of("covariance interval", ages()), table(ages(weights=survey()["weights"]))],
    "means apart": lambda: list(
        of("value std_error low high p_value", ages().difference(*PARTY.categories[:2])).values()
    ),
    "epsilon": lambda: [fresh().rr.epsilon, fresh().rr.budget(max_rows_per_person=2).epsilon],
})  # fmt: skip

# -- joint tables, association, tests ------------------------------------------------------------


@cache
def joint(*names, **options):
    return crosstab(survey(), *(names or ("party", "vote", "tv")), **options)


pair = partial(joint, "vote", "tv")
record("crosstab", {
    "all": joint,
    "rows": partial(joint, target="sample"),
    "wide": lambda: pair().to_frame(wide="proportion"),
    "conditional": lambda: pair().conditional("vote", given="tv"),
    "conditional, wide": lambda: pair().conditional("tv", given="vote").wide(),
    "margin": lambda: joint().margin("vote"),
    "one": lambda: joint()._estimate("party"),
    "projected": lambda: joint().project(),
}, table)  # fmt: skip
record("likeliest", {"crosstab": lambda: pair().mle()}, table)
record("crosstab", {
    "interval": lambda: [either(pair().interval, method=m) for m in (None, *METHODS)],
    "moments": lambda: of("counts covariance effective_n _effective_size", joint("party", "vote")),
})  # fmt: skip
record("association", {
    "phi": lambda: pair().association("phi"),
    "odds ratio": lambda: pair().association("odds_ratio"),
    "Cramer's V": lambda: joint("party", "tv").association("cramers_v"),
    "correlation": lambda: pair().association("correlation", values=SCORES),
}, partial(of, "value std_error low high"))  # fmt: skip
record("association", {
    "correlations": lambda: table(rr.correlations(survey(), "vote", "age", "tv", values=SCORES))
})  # fmt: skip

BOTH = rr.KRR([(a, b) for a in ("no", "yes") for b in ("no", "yes")], 0.7)
NULL = [0.2, 0.3, 0.5]
fit_of = hypotheses.goodness_of_fit
record("test", {
    "fit": lambda: fit_of(many(), NULL),
    "exact": lambda: fit_of(few(), NULL, exact=True),
    "independence": lambda: hypotheses.independence(joint("party", "vote")),
    "pairs": lambda: hypotheses.independence(
        rr.Tally.from_counts([300, 90, 80, 200], BOTH), pairs={p: p for p in BOTH.categories}
    ),
    "homogeneity": lambda: hypotheses.homogeneity(groups()),
    "homogeneity, survey": lambda: hypotheses.homogeneity(groups("weights clusters")),
    "change": lambda: hypotheses.change([[500, 120], [80, 300]], mechanisms=(COIN, COIN)),
    "waves": lambda: hypotheses.change(groups()[True], groups()[False]),
    "difference": lambda: gap().test(),
    "difference, survey": lambda: gap("weights clusters").test(),
}, partial(of, "statistic df p_value n"))  # fmt: skip


def power_of_fit():
    """The power of a test of goodness of fit, with its noncentrality."""
    distance, df = fit_distance(500, COIN, [0.6, 0.4], [0.7, 0.3])
    found = planning.power(500, [0.6, 0.4], COIN, against=[0.7, 0.3])
    return SimpleNamespace(power=found, noncentrality=distance, df=df, n=500)


record("test", {"power": power_of_fit}, partial(of, "power noncentrality df n"))

# -- regression ----------------------------------------------------------------------------------

NUMBERS = "params bse pvalues llf aic bic nobs df_model df_resid cov_params conf_int"
TERMS = "vote ~ age + C(tv)"


@cache
def arrays(names="", column="vote", **options):
    """A regression on age and news, in arrays."""
    data = survey()[["age", "tv_news_days"]] / 10
    return rr.logit(survey()[column], data, **options, **sampled(names))


@cache
def formula(text=TERMS):
    return rr.logit(text, survey())


@cache
def private(law="linear", **options):
    """A regression on a column of reports."""
    outcome = survey()["tv_news_days" if law == "linear" else "tv"]
    data = survey()[["age", "vote"]].assign(age=survey()["age"] / 10)
    options |= {"mechanisms": {"vote": VOTE}}
    return getattr(rr, law)(outcome, data, **options)


by_likelihood = partial(private, method="likelihood")
links = {link: partial(arrays, link=link) for link in ("logit", "probit", "cloglog")}
record("fit", links | {"by formula": formula}, partial(of, NUMBERS))
kinds = {v: partial(arrays, vcov=v) for v in ("observed", "expected", "opg", "robust")}
kinds |= {"survey": partial(arrays, names="weights clusters")}
record("fit", kinds | {"party": partial(arrays, column="party")}, partial(of, "params bse"))
laws = {"scores": private, "likelihood": by_likelihood, "logit": partial(private, "logit")}
record("fit, private", laws, partial(of, "params bse cov_params effective_n"))
record("fit", {
    "frame": arrays,
    "profile": lambda: arrays().conf_int(method="profile-likelihood"),
    "private, shares": lambda: by_likelihood().proportions().to_frame(),
    "private, effects": lambda: private("logit").marginal_effects().to_frame(),
    "private, prevalence": lambda: private("logit").predict(average=True).to_frame(),
    "private, posterior": lambda: private("logit").posterior().head(3),
}, table)  # fmt: skip
PROFILES = pd.DataFrame({"age": [20, 60], "tv": [True, False]})
record("formula", {
    "effects": lambda: formula().marginal_effects().to_frame(),
    "prevalence": lambda: formula().predict(average=True).to_frame(),
    "predictions": lambda: formula().predict(PROFILES).to_frame(),
    "posterior": lambda: formula().posterior().head(3),
}, table)  # fmt: skip
record("formula", {
    "Wald": lambda: formula().wald_test(["age", "C(tv)[T.True]"]),
    "ratio": lambda: formula().compare(formula("vote ~ age")),
}, partial(of, "statistic df p_value"))  # fmt: skip
fit_of_formula = {"goodness": lambda: formula().goodness_of_fit()}
record("formula", fit_of_formula, partial(of, "pearson deviance df groups"))

# -- privacy and planning ------------------------------------------------------------------------


def curve(*mechanisms, **options):
    """Epsilon and delta of several releases together."""
    found = rr.privacy.compose(list(mechanisms), **options)
    deltas = [found.delta(epsilon) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    return of("epsilon is_exact by_release to_frame", found), deltas, found.epsilon_at(1e-3)


record("privacy", {
    "epsilons": lambda: [privacy.epsilon_from_prob(p, k) for p in (0.5, 0.75, 0.9) for k in (2, 7)],
    "probs": lambda: [privacy.prob_from_epsilon(e, k) for e in (0.1, 1.0, 5.0) for k in (2, 7)],
    "posterior": lambda: probability_after(0.05, 3.0),
    "sum": lambda: total_epsilon([0.1, 0.2, 0.3]),
    "curve, alike": partial(curve, COIN, COIN, COIN, COIN),
    "curve, unlike": partial(curve, COIN, THREE, max_rows_per_person=3),
})  # fmt: skip
record("planning", {
    "people": lambda: [planning.sample_size(0.05, 0.1, m) for m in (COIN, CARDS)],
    "width": lambda: planning.half_width(800, 0.1, COIN),
    "width, rows": lambda: planning.half_width(300, 0.1, COIN, target="sample"),
    "width, assured": lambda: planning.half_width(500, 0.1, COIN, assurance=0.9),
    "least epsilon": lambda: planning.least_epsilon(0.05, 2000, 0.1),
    "power": lambda: planning.power(400, 0.3, COIN, against=0.2, alpha=0.01),
    "power of two": lambda: planning.power(400, 0.3, COIN, other=0.2, exact=False),
    "people for power": lambda: planning.people_for_power(0.8, 0.3, COIN, against=0.2),
    "detectable": lambda: planning.detectable_difference(500, COIN, against=0.2),
    "variance ratio": lambda: planning.relative_variance(0.1, COIN),
    "break even": lambda: planning.compliance.break_even(1000, 0.1, COIN, still_denying=0.5),
    "influence": lambda: planning.compliance.influence(COIN, 1000),
    "bias": lambda: planning.compliance.worst_case_bias(COIN, 0.05),
    "best": lambda: [planning.recommend(k, 1.0).best for k in (2, 5, 40)],
    "designs": lambda: table(planning.recommend(5, 1.0, 2000).table),
    "at epsilon": lambda: table(planning.compare_designs(1.0)),
})  # fmt: skip

# -- files, ledger and command line --------------------------------------------------------------


def shape(value):
    """A document with a type in place of each value."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else type(value).__name__


def in_folder(call, *args):
    """What a call gives in a folder of its own, where a survey lies as CSV and as Parquet."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        people = rr.datasets.load_anes96().head(80)[["vote", "age"]].astype({"vote": object})
        people.to_csv("in.csv", index=False)
        people.to_parquet("in.parquet")
        return call(*args)


def released(ending):
    """A file privatized with fixed draws: its reports, and all that is said of it."""
    source, target = f"in{ending}", f"out{ending}"
    rng = np.random.default_rng(1)
    samples = pytest.importorskip("file_samples")
    receipt = samples.simulate_file(Path(source), Path(target), {"vote": VOTE}, rng=rng)
    said = {path.name: path.read_text() for path in Path().glob("out*.json")}
    if ending == ".parquet":
        schema = pytest.importorskip("pyarrow.parquet").read_schema(target)
        said["metadata"] = schema.metadata[b"rrstats"].decode()
        said["attrs"] = json.dumps(pd.read_parquet(target).attrs)
    return said | {
        "ledger": shape(json.loads(Path(f"{source}.rrstats-ledger.json").read_text())),
        "receipt": shape(receipt.to_dict()),
        "described": [json.dumps(record.to_dict()) for record in rr.files.describe_file(target)],
        "estimate": table(rr.files.estimate_file(target)["vote"]),
        "check": table(rr.files.check_file(source, "vote", ["Clinton", "Perot"])),
    }


VOTED = "--column vote --categories Clinton,Dole --prob 0.75"
COMMANDS = f"""
--version
--help
nothing
check in.csv --column vote --categories Clinton,Dole
check in.csv --column nobody --categories Clinton,Dole
privatize in.csv out.csv {VOTED} --dry-run
privatize in.csv out.csv {VOTED}
privatize in.csv out.csv {VOTED}
privatize in.csv out.csv {VOTED} --again
privatize in.csv out.csv {VOTED} --again --overwrite --quiet
privatize in.parquet out.parquet {VOTED} --shuffle-rows --unknown uniform
privatize in.parquet out.csv {VOTED}
privatize in.csv other.csv --column vote --categories Clinton --prob 0.75
privatize in.csv other.csv --column vote --categories Clinton,Dole --prob 0.4
privatize in.csv other.csv --column vote --categories Clinton,Perot --prob 0.8 --unknown raise
privatize in.csv other.csv --column vote --categories Clinton,Dole
privatize none.csv other.csv {VOTED}
estimate out.csv
estimate out.parquet --format json --level 0.8
estimate out.csv --format csv --target sample --method wilson
estimate out.csv --column vote --categories Clinton,Dole --prob 0.8
estimate in.csv
estimate in.csv {VOTED}
describe out.parquet
describe out.csv --statement page.html --format json
describe out.csv --statement page.html
describe in.csv
demo --prob 0.9
demo --prob 1.5
"""


def code_of(arguments):
    """The exit code of a command line."""
    try:
        return cli.main(arguments)
    except SystemExit as stop:
        return stop.code


def exit_codes():
    """The code of each command line, one after the other in one folder."""
    found = []
    for line in COMMANDS.strip().splitlines():
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            found.append([line, code_of(line.split())])
    return found


record("file", {ending: partial(in_folder, released, ending) for ending in (".csv", ".parquet")})
record("command line", {"codes": partial(in_folder, exit_codes)})


# -- the test ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frozen():
    return json.loads(FROZEN.read_text("utf-8"))


@pytest.mark.parametrize("name", CALLS)
def test_as_recorded(frozen, name):
    """Each call gives what it gave."""
    for start, package in NEEDS.items():
        if start in name:
            pytest.importorskip(package)
    assert [] == gaps(frozen[name], run(name), 1e-6 if name.startswith(FITS) else 1e-9)


def test_nothing_else_is_recorded(frozen):
    """The file has no record of a call that is not made any more."""
    assert list(CALLS) == list(frozen)


if __name__ == "__main__":
    known = json.loads(FROZEN.read_text("utf-8")) if FROZEN.exists() else {}
    anew = tuple(sys.argv[1:])
    kept = {n: known[n] for n in CALLS if n in known and not n.startswith(anew)}
    lines = [f"{json.dumps(n)}: {json.dumps(kept[n] if n in kept else run(n))}" for n in CALLS]
    FROZEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
