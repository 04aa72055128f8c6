"""What a regression takes for its rows, its outcome and its covariates, and what it refuses.

How these could be wrong and nobody notice: rows matched by position, a column of reports taken for
the truth, a cell of the data in an error.
"""

import inspect
import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import rrstats as rr
from rrstats.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConvergenceWarning,
    MetadataError,
    RRStatsError,
)
from rrstats.regression import likelihood
from rrstats.regression.formula_terms import split_classes

COIN = rr.KRR(["no", "yes"], 0.8)
SECRET = "S3CR3T"


def given(name, column):
    """A column of the sample as an argument."""
    return {"design": rr.SampleDesign(clusters=column)} if name == "clusters" else {name: column}


@pytest.fixture(scope="module")
def people():
    """Pay that rises by 2 for smokers and by 1 for drinkers; of both only reports are seen."""
    rng = np.random.default_rng(1)
    n = 3000
    smokes, drinks = rng.integers(0, 2, (2, n))
    answers = np.array(["no", "yes"])
    frame = pd.DataFrame(
        {
            "pay": 10 + 2 * smokes + drinks + rng.normal(size=n),
            "smoker": answers[smokes],
            "drinker": answers[drinks],
            "age": rng.normal(size=n),
            "weight": rng.uniform(1, 2, n),
            "region": rng.choice(list("abc"), n),
            "voted": answers[rng.integers(0, 2, n)],
        }
    )
    for name in ("smoker", "drinker"):
        frame = frame.rr.simulate(name, COIN, seed=3)
    return frame


def bare(frame):
    """The frame without what it says of itself."""
    return pd.DataFrame(frame.to_dict("list"))


# -- which rows belong together ------------------------------------------------------------------


@pytest.mark.parametrize(
    "fit",
    [
        lambda f, turned: rr.linear(turned.pay, f[["drinker"]]),
        lambda f, turned: rr.linear(turned.pay, {"d": f.age}),
        lambda f, turned: rr.logit(turned.voted, f[["drinker"]]),
        lambda f, turned: rr.logit(turned.smoker, f.age),
        lambda f, turned: rr.logit(f.smoker, f[["age"]].to_numpy(), weights=turned.weight),
        lambda f, turned: rr.logit(
            f.smoker, f[["age"]].to_numpy(), design=rr.SampleDesign(clusters=turned.region)
        ),
        lambda f, turned: rr.logit(f.smoker, f[["age"]].to_numpy(), offset=turned.weight),
        lambda f, turned: rr.logit(f.smoker, f[["age"]].to_numpy(), frequencies=turned.pay),
        lambda f, turned: rr.linear(f.pay, f[["age"]].to_numpy(), weights=turned.weight),
        lambda f, turned: rr.linear(
            f.pay.tolist(),
            f[["age"]],
            design=rr.SampleDesign(f.weight, replicates=turned[["weight"] * 2], method="JK1"),
        ),
    ],
)
def test_series_of_another_order_are_refused(people, fit):
    """Outcome, weights, clusters, offset and frequencies are never matched by position."""
    turned = people.sample(frac=1, random_state=1)
    refused(ArgumentValueError, "must have the same index as", fit, people, turned)


@pytest.mark.parametrize("name", ["weights", "clusters", "offset"])
def test_names_of_columns_need_data(people, name):
    """Without data there is no column to look up."""
    words = f"{name} must be a column of values, found a name"
    refused(ArgumentTypeError, words, rr.logit, people.smoker, **given(name, "age"))


def test_the_offset_of_profiles_goes_with_them(people):
    """A Series of another order is refused; a column's name, values and a number mean the same."""
    fit = rr.logit(people.smoker, people[["age"]], offset=people.weight)
    few = people.head(4)
    with pytest.raises(ArgumentValueError, match="offset must have the same index as"):
        fit.predict(few, offset=few.weight[::-1])
    expected = fit.predict(few, offset=few.weight).to_frame()["proportion"].tolist()
    assert fit.predict(few, offset="weight").to_frame()["proportion"].tolist() == expected
    with pytest.raises(ArgumentTypeError, match="without data predictions are of the rows"):
        fit.predict(offset=people.weight)
    array = few[["age"]].to_numpy()
    assert (
        fit.predict(array, offset=few.weight.to_numpy()).to_frame()["proportion"].tolist()
        == expected
    )
    assert fit.predict(array, offset=few.weight).to_frame()["proportion"].tolist() == expected
    ones = fit.predict(few, offset=1).to_frame()["proportion"].tolist()
    assert fit.predict(few, offset=[1.0] * 4).to_frame()["proportion"].tolist() == ones
    with pytest.raises(ArgumentTypeError, match="offset must be numbers") as caught:
        fit.predict(few, offset=pd.Series([SECRET] * 4))
    assert SECRET not in str(caught.value)
    with pytest.raises(ArgumentValueError, match="one value for each of the 4 rows, found 3"):
        fit.predict(few, offset=[1.0, 2.0, 3.0])


# -- reports are not taken for the truth ---------------------------------------------------------


@pytest.mark.parametrize("key", [2020, "2020"])
def test_covariates_are_found_by_any_label(people, key):
    """A column that is called by a number is unmixed as one that is called by a text."""
    frame = bare(people)
    expected = rr.linear(frame.pay, frame[["smoker"]], mechanisms={"smoker": COIN})
    data = frame[["smoker"]].set_axis([2020], axis=1)
    found = rr.linear(frame.pay, data, mechanisms={key: COIN})
    assert found.params.tolist() == pytest.approx(expected.params.tolist())
    assert list(found.params.index) == ["Intercept", "2020[T.yes]"]
    assert rr.logit(frame.voted, data, mechanisms={key: COIN}).private.names
    assert next(iter(found.predict(data.head(3)).to_frame())) == 2020


@pytest.mark.parametrize("given", [{2021: COIN}, {2020: COIN, "2020": COIN}, {"smoker": COIN}])
def test_every_mechanism_must_be_of_a_column(people, given):
    """A mechanism that no column was found for is not passed over."""
    data = people[["smoker"]].set_axis([2020], axis=1)
    data.attrs.clear()
    with pytest.raises(ArgumentValueError, match=r"each once, \[2020\], found"):
        rr.linear(people.pay, data, mechanisms=given)


def test_series_of_reports_are_what_their_frame_is(people):
    """A Series, and a mapping of them, says of itself what the frame of one column says."""
    for fit in (rr.linear, rr.logit):
        outcome = people.pay if fit is rr.linear else people.smoker
        expected = fit(outcome, people[["drinker"]]).params.tolist()
        for data in (people.drinker, {"d": people.drinker}, {"drinker": people.drinker}):
            assert fit(outcome, data).params.tolist() == pytest.approx(expected)


def test_reports_are_no_weights_and_no_clusters(people):
    """Weights, clusters, offsets and frequencies are of people, and reports are not."""
    data = people[["age"]]
    for name in ("weights", "clusters", "offset", "frequencies"):
        with pytest.raises(ArgumentValueError, match=f"{name} must be ordinary values"):
            rr.logit(people.smoker, data, **given(name, people.drinker))
        with pytest.raises(ArgumentValueError, match=f"{name} must be ordinary values"):
            rr.logit(people.smoker, people[["age", "drinker"]], **given(name, "drinker"))
    for name in ("weights", "clusters"):
        with pytest.raises(ArgumentValueError, match=f"{name} must be ordinary values"):
            rr.linear(people.pay, data, **given(name, people.drinker))
    with pytest.raises(ArgumentValueError, match=r"'smoker' is privatized.* use rr.logit"):
        rr.linear(people.smoker, data)


@pytest.mark.parametrize("formula", ["pay ~ s", "s ~ drinker", "s ~ age", "voted ~ drinker + s"])
def test_renamed_reports_are_refused(people, formula, formulaic):
    """Reports under another name are no truth, neither as covariate nor as outcome."""
    renamed = people.rename(columns={"smoker": "s"})
    fit = rr.linear if formula.startswith("pay") else rr.logit
    if formula == "s ~ age":  # nothing else is privatized: then a mechanism is asked for
        refused(ArgumentTypeError, "give their mechanism", fit, formula, renamed)
        return
    refused(MetadataError, "column 's' may hold reports", fit, formula, renamed)


def test_renamed_columns_of_covariates_are_refused(people):
    """Without a formula too; other columns of a part of the frame stand as they are."""
    renamed = people.rename(columns={"smoker": "s"})
    for data in (renamed[["s"]], renamed[["age", "s"]]):
        for fit in (rr.linear, rr.logit):
            with pytest.raises(MetadataError, match="column 's' may hold reports"):
                fit(people.pay if fit is rr.linear else people.voted, data)
        with pytest.raises(MetadataError, match="column 's' may hold reports"):
            rr.logit(people.drinker, data, link="probit")
    expected = rr.linear(people.pay, people[["smoker"]]).params.tolist()
    found = rr.linear(people.pay, renamed[["s"]], mechanisms={"s": COIN})
    assert found.params.tolist() == pytest.approx(expected)
    assert rr.linear(people.pay, people[["age"]]).nobs == len(people)
    assert rr.logit(people.smoker, people[["age"]]).nobs == len(people)


# -- what a formula takes ------------------------------------------------------------------------


def test_factors_of_any_text_type_are_factors(people, formulaic):
    """Nullable texts make the columns that plain ones make, and no error that quotes them."""
    frame = people[["smoker", "region"]]
    expected = rr.logit("smoker ~ region", frame).params
    kinds = ["string[python]", "category", object]
    try:
        import pyarrow as pa
    except ImportError:
        pass
    else:
        kinds += ["string[pyarrow]", pd.ArrowDtype(pa.string())]
        kinds += [pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))]
    for kind in kinds:
        if "dictionary" in str(kind):
            coded = pa.array(frame.region.tolist()).dictionary_encode()
            column = pd.Series(pd.arrays.ArrowExtensionArray(coded))
        else:
            column = frame.region.astype(kind)
        for formula in ("smoker ~ region", "smoker ~ C(region)"):
            found = rr.logit(formula, frame.assign(region=column))
            assert found.params.tolist() == pytest.approx(expected.tolist())
            again = found.predict(pd.DataFrame({"region": column.head(3)})).to_frame()
            assert again["proportion"].tolist() == pytest.approx(
                found.predict().to_frame()["proportion"].head(3).tolist()
            )


def test_numbers_of_any_type_are_numbers(people, formulaic):
    """Nullable numbers and truth values make one column, as plain ones do."""
    plain = (people.age > 0).astype(int)
    expected = rr.logit("smoker ~ x", people.assign(x=plain)).params.tolist()
    for kind in ("Int64", "Float64", "boolean"):
        found = rr.logit("smoker ~ x", people.assign(x=plain.astype(kind)))
        assert list(found.params.index) == ["Intercept", "x"]
        assert found.params.tolist() == pytest.approx(expected)


def _dated(frame):
    days = pd.Series(pd.date_range("2020-01-01", periods=len(frame)))
    return {"day": days, "span": days - days[0], "period": days.dt.to_period("D"), "wave": 1j}


@pytest.mark.parametrize("name", ["day", "span", "period", "wave"])
def test_dates_and_complex_numbers_are_refused(people, name):
    """They are no numbers of a model, in a formula or out of it, in a fit or in a profile."""
    frame = people.assign(**_dated(people))
    with pytest.raises(ArgumentTypeError, match=f"'{name}' must hold numbers"):
        rr.logit(frame.smoker, frame[[name]])
    pytest.importorskip("formulaic")
    with pytest.raises(ArgumentTypeError, match=f"'{name}' must hold numbers or texts"):
        rr.logit(f"smoker ~ {name}", frame)
    fit = rr.logit("smoker ~ age", frame)
    with pytest.raises(ArgumentTypeError, match="'age' must hold numbers"):
        fit.predict(pd.DataFrame({"age": frame[name].head(3)}))


@pytest.mark.parametrize(
    ("cells", "formula"),
    [
        ([[SECRET]], "smoker ~ x"),
        ([[SECRET]], "smoker ~ C(x)"),
        ([SECRET, 1.5], "smoker ~ x - 1 + I(x + 1)"),
        ([SECRET, "b"], "smoker ~ np.log(x)"),
        ([SECRET, "b"], "smoker ~ bs(x, df=4)"),
        ([SECRET, "b"], "smoker ~ center(x)"),
    ],
)
def test_errors_of_a_formula_quote_no_private_cell(people, cells, formula, formulaic):
    """The reason of formulaic or pandas is given, and a private column is never shown to them."""
    column = pd.Series([cells[place % len(cells)] for place in range(len(people))], dtype=object)
    with pytest.raises(ArgumentValueError, match=r"cannot be made of .*\(\w+Error"):
        rr.logit(formula, people.assign(x=column))
    with pytest.raises(RRStatsError) as caught:
        rr.logit(formula, people.assign(x=column), mechanisms={"x": rr.KRR([1, 2], 0.75)})
    assert SECRET not in str(caught.value)


def test_errors_of_profiles_name_the_column(people, formulaic):
    """A text for a number, and a level that the fit has not seen, are refused."""
    fit = rr.logit("smoker ~ age + region", people)
    for changed in ({"age": SECRET}, {"region": SECRET}, {"region": [[SECRET]] * 2}):
        with pytest.raises(ArgumentValueError, match=next(iter(changed))):
            fit.predict(people.head(2).assign(**changed))


@pytest.mark.slow
def test_errors_of_many_levels_name_the_column(people, formulaic):
    """Collinear and separated factors are told by name and number of columns."""
    levels = [f"{SECRET}{place % 50}" for place in range(len(people))]
    frame = people.assign(one=levels, two=[f"{level}!" for level in levels])
    with pytest.raises(ArgumentValueError, match=r"\['one \(49 columns\)', 'two \(49 c") as caught:
        rr.logit("smoker ~ one + two", frame)
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 300
    few = frame.head(150)
    grows = r"rising with the coefficients of (Intercept, )?one \(\d+ columns\)"
    with pytest.warns(ConvergenceWarning, match=grows) as told:
        rr.logit("smoker ~ one", few)
    assert not any(SECRET in str(one.message) for one in told)
    with pytest.raises(ArgumentValueError, match=r"others in \['one \(50 col") as caught:
        rr.logit("smoker ~ one:x", frame.assign(x=np.inf))
    assert SECRET not in str(caught.value)


def test_many_collinear_covariates_are_not_all_listed():
    """After a dozen names the others are counted."""
    text, ones = r"'x11', '19 more'\] are collinear", np.ones((40, 30))
    refused(ArgumentValueError, text, rr.logit, ["no", "yes"] * 20, ones, mechanism=COIN)


def test_an_unknown_event_is_not_answered_with_cells(people):
    """Categories are listed where a mechanism declares them, and those of plain answers are not."""
    outcome = people.voted.replace("no", SECRET)
    with pytest.raises(ArgumentValueError, match="baseline must be one of the 2") as caught:
        rr.logit(outcome, people[["drinker"]], baseline="maybe")
    assert SECRET not in str(caught.value)
    with pytest.raises(ArgumentValueError, match=r"2 categories \['no', 'yes'\]"):
        rr.logit(people.smoker, people[["age"]], baseline="maybe")


def test_masked_cells_are_missing(people):
    """What stands behind a mask is no value, in an array and in a mapping."""
    values = people[["age"]].to_numpy()
    masked = np.ma.masked_array(values, mask=values > 2)
    count = int((values > 2).sum())
    for data, name in ((masked, "x1"), ({"x": masked[:, 0]}, "x")):
        with pytest.raises(ArgumentValueError, match=f"{count} in covariate '{name}'"):
            rr.logit(people.smoker, data)
    fit = rr.logit(people.smoker, np.ma.masked_array(values))
    assert count == fit.predict(masked).to_frame()["proportion"].isna().sum()


@pytest.mark.parametrize("term", ["name", "C(name)"])
def test_a_level_for_each_row_is_refused_by_name(people, term, formulaic):
    """A column of text with as many levels as rows took minutes; its cells are not quoted."""
    frame = people.assign(name=[f"{SECRET}{place}" for place in range(len(people))])
    with pytest.raises(ArgumentValueError, match="'name' has 3000 levels in 3000 rows") as caught:
        rr.logit(f"smoker ~ age + {term}", frame)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "changed", "words"),
    [
        ("smoker ~ Intercept", {"Intercept": 1.5}, r"names twice, found \['Intercept'\]"),
        ("smoker ~ age + `1`", {"1": 1.5}, "takes `1` for its intercept"),
        ("`1` ~ age", {"1": 1.5}, "takes `1` for its intercept"),
        ("smoker ~ C(x)", {"x": ["b", 1, "1"] * 1000}, "levels of 'x' read alike"),
    ],
)
def test_names_that_a_formula_reads_otherwise_are_refused(people, formula, changed, words):
    """A column that formulaic would drop, or name as another, is refused."""
    pytest.importorskip("formulaic")
    frame = people.assign(**{k: v if np.iterable(v) else people.age for k, v in changed.items()})
    refused(ArgumentValueError, words, rr.logit, formula, frame)


def test_columns_that_are_there_twice_are_refused(people, formulaic):
    """Which of the two a formula means cannot be known."""
    frame = people.copy()
    frame.insert(0, "age", 1.0, allow_duplicates=True)
    for fit in (rr.logit, rr.linear):
        with pytest.raises(ArgumentValueError, match="column 'age' is there 2 times"):
            fit("smoker ~ age" if fit is rr.logit else "pay ~ age", frame)
    assert rr.logit("smoker ~ weight", frame).nobs == len(people)


def test_columns_called_by_numerals_are_columns(people, formulaic):
    """Only `1` is read otherwise; an Intercept of one's own goes without the formula's."""
    expected = rr.logit("smoker ~ age", people).params.tolist()
    for name in ("0", "2020", "a b"):
        found = rr.logit(f"smoker ~ `{name}`", people.assign(**{name: people.age}))
        assert found.params.tolist() == pytest.approx(expected)
    ones = people.assign(Intercept=1.0)
    assert rr.logit("smoker ~ Intercept + age - 1", ones).params.tolist() == pytest.approx(expected)


def test_frames_without_rows_are_refused(people):
    """Without people there is nothing to fit."""
    empty = people.head(0)
    with pytest.raises(ArgumentValueError, match="at least one row, found none"):
        rr.linear(empty.age, empty[["drinker"]])
    pytest.importorskip("formulaic")
    for formula in ("age ~ weight", "age ~ drinker", "age ~ 1"):
        refused(ArgumentValueError, "at least one row, found none", rr.linear, formula, empty)
    refused(ArgumentValueError, "at least one row, found none", rr.logit, "smoker ~ age", empty)


# -- levels that a fit has not seen --------------------------------------------------------------

FACTORS = [
    "region",
    "C(region)",
    "C(region, Treatment('b'))",
    "C(`the region`)",
    "C(region + 'x')",
    "region.str.upper()",
    "C(region, levels=['c', 'b', 'a'])",
]


@pytest.mark.parametrize("factor", FACTORS)
def test_levels_that_were_not_seen_are_refused(people, factor, formulaic):
    """A level of its own is never the first level, and formulaic has nothing to warn of."""
    frame = people.assign(**{"the region": people.region})
    fit = rr.logit(f"smoker ~ {factor}", frame)
    few = frame.head(3)
    assert fit.predict(few).to_frame()["proportion"].tolist() == pytest.approx(
        fit.predict().to_frame()["proportion"].head(3).tolist()
    )
    strange = few.assign(**{"region": SECRET, "the region": SECRET})
    unseen = "that were not among those of the fit"
    assert SECRET not in refused(ArgumentValueError, unseen, fit.predict, strange)


# -- results that travel -------------------------------------------------------------------------


def _same(fit, data):
    """A fit that was pickled says and predicts the same."""
    again = pickle.loads(pickle.dumps(fit))
    assert again.params.equals(fit.params)
    assert str(again.summary()) == str(fit.summary())
    pd.testing.assert_frame_equal(again.predict(data).to_frame(), fit.predict(data).to_frame())
    return again


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_results_can_be_pickled(people, link):
    """Of every link, and what is computed of the fit afterwards is the same."""
    fit = rr.logit(people.smoker, people[["age"]], link=link)
    again = _same(fit, people[["age"]].head(3))
    pd.testing.assert_frame_equal(
        again.marginal_effects().to_frame(), fit.marginal_effects().to_frame()
    )
    assert again.compare(rr.logit(people.smoker, None, link=link)).df == 1
    if link == "logit":
        reports = people.region.rr.simulate(rr.KRR(["a", "b", "c"], 0.7), seed=1)
        _same(rr.logit(reports, people[["age"]]), people[["age"]].head(3))


@pytest.mark.parametrize("formula", ["age*drinker + C(region)", "drinker + bs(age, df=4)"])
def test_results_of_formulas_and_private_covariates_can_be_pickled(people, formula, formulaic):
    """The columns of new data are made as the fit made them; reports do not travel along."""
    data = people.head(3).assign(drinker="yes")
    _same(rr.linear(f"pay ~ {formula}", people), data)
    _same(rr.linear(f"pay ~ {formula}", people, method="likelihood"), data)
    again = _same(rr.logit(f"voted ~ {formula}", people), data)
    assert again.private.columns[0].mechanism == COIN
    assert again.private.columns[0].rows == len(people)
    _same(rr.logit(f"smoker ~ {formula.replace('drinker', 'weight')}", people), data)


# -- levels that nobody has ----------------------------------------------------------------------


def test_a_level_that_no_row_has_is_no_column(formulaic):
    """Of a cut, and where rows with missing values held it alone; its column would be 0."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=600)
    frame = pd.DataFrame({"y": np.array(["no", "yes"])[rng.integers(0, 2, 600)], "x": z})
    frame["g"] = pd.cut(z, [-5, -1, 0, 1, 5, 9])
    cut = rr.logit("y ~ g", frame, mechanism=COIN)
    plain = rr.logit("y ~ g", frame.assign(g=frame.g.astype(str)), mechanism=COIN)
    assert 4 == len(cut.params)
    assert plain.llf == pytest.approx(cut.llf)
    again = cut.predict(frame.head(9)).to_frame()["proportion"]
    assert cut.predict().to_frame()["proportion"].head(9).tolist() == pytest.approx(again.tolist())
    frame["x"] = frame.x.where(z < 1)
    dropped = rr.logit("y ~ g + x", frame, mechanism=COIN, missing="drop")
    assert ["Intercept", "g[T.(-1, 0]]", "g[T.(0, 1]]", "x"] == list(dropped.params.index)


def test_a_private_covariate_keeps_categories_that_the_rows_might_not_show(formulaic):
    """The classes are those of the mechanism, whatever rows are left (here each second one)."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"s": np.array(["no", "yes"])[rng.integers(0, 2, 400)]})
    frame["y"] = rng.normal(size=400)
    frame["x"] = np.where(np.arange(400) % 2, np.nan, rng.normal(size=400))
    fit = rr.linear("y ~ s + x", frame, mechanisms={"s": COIN}, missing="drop")
    assert ["Intercept", "s[T.yes]", "x"] == list(fit.params.index)


def test_an_ordinary_outcome_has_the_categories_that_somebody_has():
    """An unused one made three of two."""
    rng = np.random.default_rng(3)
    codes, x = rng.integers(0, 2, (2, 400))
    frame = pd.DataFrame({"s": np.array(["no", "yes"])[x]})
    fits = [
        rr.logit(outcome, frame, mechanisms={"s": COIN})
        for outcome in (
            pd.Series(pd.Categorical.from_codes(codes, ["u", "v", "w"])),
            pd.Categorical.from_codes(codes, ["u", "v", "w"]),
            pd.Series(np.array(["u", "v"])[codes]),
        )
    ]
    assert fits[2].params.tolist() == fits[0].params.tolist() == fits[1].params.tolist()


# -- formulas are programs -----------------------------------------------------------------------

WARNING = "never take a formula from somebody else"


def test_a_formula_is_a_program(formulaic, tmp_path):
    """It does what it says, with the rights of the process; the documentation warns of this."""
    path = tmp_path / "made by a formula"
    frame = pd.DataFrame({"y": ["no", "yes"] * 20, "x": range(40)})
    rr.logit(
        f"y ~ I(x * len(__import__('os').makedirs({str(path)!r}) or 'a'))", frame, mechanism=COIN
    )
    assert path.is_dir()


def test_the_documentation_of_formulas_says_whose_formulas_to_take():
    """Every public function that takes one, the methods of frames, and both pages."""
    public = [getattr(rr.regression, name) for name in dir(rr.regression)]
    functions = [one for one in public if inspect.isfunction(one)]
    with_outcome = [
        one for one in functions if {"outcome", "formula"} & {*inspect.signature(one).parameters}
    ]
    taking = [
        one for one in with_outcome if one is not rr.regression.list_with_direct
    ]  # takes names alone
    assert {"logit", "linear", "list_regression", "mixed", "ordinal"} == {
        one.__name__ for one in taking
    }
    accessor = type(pd.DataFrame().rr)
    texts = {f"rr.{one.__name__}": one.__doc__ for one in taking}
    texts |= {f"df.rr.{name}": getattr(accessor, name).__doc__ for name in ("logit", "linear")}
    root = Path(__file__).parents[2]
    for page in ("SECURITY.md", "docs/guide/regression.md"):
        texts[page] = (root / page).read_text("utf-8").replace("**", "")
    silent = [name for name, text in texts.items() if WARNING not in " ".join(text.lower().split())]
    assert [] == silent


# -- sizes and mechanisms -----------------------------------------------------------------------


def _sizes(k, n=240):
    """A column of reports beside k numbers, each as often."""
    rng = np.random.default_rng(5)
    y = rng.permutation(np.arange(n) % k)
    return pd.DataFrame({"y": y, "g": rng.choice(["no", "yes"], n)})


def test_an_ordinary_outcome_of_many_numbers_is_for_linear(formulaic):
    """Thirteen numbers of any type are a quantity, and so are 59."""
    frame = _sizes(13)
    rule = "the outcome has 13 distinct numbers.* for a number use linear"
    for y in (frame["y"], frame["y"].astype(float), frame["y"].astype("Int64")):
        numeric = frame.assign(y=y)
        refused(ArgumentValueError, rule, rr.logit, "y ~ g", numeric, mechanisms={"g": COIN})
    assert 59 == len(set(_sizes(59)["y"]))
    with pytest.raises(ArgumentValueError, match="has 59 distinct numbers"):
        rr.logit("y ~ g", _sizes(59), mechanisms={"g": COIN})
    assert rr.linear("y ~ g", _sizes(59), mechanisms={"g": COIN}).params.notna().all()


@pytest.mark.slow
def test_codes_of_categories_are_fitted(formulaic):
    """Twelve numbers, and more of them as a Categorical."""
    coded = _sizes(13, 600).astype({"y": "category"})
    for k, allowed in ((13, coded), (12, _sizes(12, 600))):
        fit = rr.logit("y ~ g", allowed, mechanisms={"g": COIN})
        assert 2 * (k - 1) + 1 == len(fit.params)


def test_a_fit_has_a_bound_on_parameters(formulaic):
    """Refused with the number before tables are made, of 75 GiB for 100,000 categories."""
    many = rr.KRR(range(100_000), 0.5)
    rule = "at most 500 parameters, found 99999 or more .100000 categories of the outcome"
    with pytest.raises(ArgumentValueError, match=rule):
        rr.logit(np.arange(100), mechanism=many)
    texts = _sizes(300, 1200)
    with pytest.raises(ArgumentValueError, match="at most 500 parameters, found 599 or more"):
        rr.logit("y ~ g", texts.assign(y=texts["y"].astype(str)), mechanisms={"g": COIN})


def test_a_fit_has_a_bound_on_steps_and_says_so(monkeypatch, formulaic):
    """Once its steps are used up no climb is begun, and signs that were not tried are unknown."""
    rng = np.random.default_rng(3)
    y = np.array(["a", "b", "c"])[np.append(rng.integers(0, 2, 197), [2, 2, 2])]
    frame = pd.DataFrame({"y": y, "g": ["no", "yes"] * 98 + ["no"] * 4})
    with pytest.warns(ConvergenceWarning):
        whole = rr.logit("y ~ g", frame, mechanisms={"g": COIN})
    monkeypatch.setattr(likelihood, "_SEARCH", replace(likelihood._SEARCH, max_steps=1))
    with pytest.warns(ConvergenceWarning):
        short = rr.logit("y ~ g", frame, mechanisms={"g": COIN})
    ended = [["search ended" in text for text, _ in fit.warnings] for fit in (whole, short)]
    assert [[False], [True, False]] == ended
    assert 0 == whole.fit.stopped
    assert short.iterations <= short.fit.stopped < 201
    assert np.isnan(short.fit.signs).any()
    assert not np.isnan(whole.fit.signs).any()


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_a_mapping_of_mechanisms_by_column_names_the_right_argument(link, formulaic):
    """That of a covariate belongs to mechanisms=, that of the outcome needs no mapping."""
    rng = np.random.default_rng(2)
    fit = partial(rr.logit, link=link)
    frame = pd.DataFrame({"y": rng.choice(["no", "yes"], 60), "g": rng.choice(["no", "yes"], 60)})
    covariate = "those of privatized covariates as mechanisms={'g': ...}"
    outcome = "that of 'y' as mechanism= without the mapping"
    for mechanism, hint in (
        ({"g": COIN}, f"give {covariate}"),
        ({"y": COIN}, f"give {outcome}"),
        ({"y": COIN, "g": COIN}, f"give {outcome} and {covariate}"),
    ):
        with pytest.raises(ArgumentValueError, match=re.escape(hint)):
            fit("y ~ g", frame, mechanism=mechanism)
        with pytest.raises(ArgumentValueError, match=re.escape(hint)):
            fit(frame["y"], (frame[["g"]] == "yes") * 1.0, mechanism=mechanism)
    samples = {"y": COIN, "g": rr.KRR(["no", "yes"], 0.7)}  # samples may be called like columns
    group = np.array(["y", "g"] * 30)
    assert fit(frame["y"], mechanism=samples, group=group).params.notna().all()


def test_a_formula_is_parsed_once(monkeypatch):
    """A regression parses its formula once, for the outcome, the covariates and the design."""
    formulaic = pytest.importorskip("formulaic")
    parsed = []
    formula = formulaic.Formula

    def counted(text):
        parsed.append(text)
        return formula(text)

    monkeypatch.setattr(formulaic, "Formula", counted)
    frame = pd.DataFrame({"y": np.arange(40.0) % 7, "a": list("abca") * 10, "x": np.arange(40.0)})
    rr.linear("y ~ C(a) + x", frame, mechanisms={"a": rr.surveys.direct(list("abc"))})
    assert ["y ~ C(a) + x"] == parsed


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        ("logit", {"ordered": True}, r"rr\.regression\.ordinal"),
        ("logit", {"random_intercepts": "g"}, r"rr\.regression\.mixed"),
        ("logit", {"behaviour": "~ x"}, r"follows \| in the formula"),
        ("linear", {"covariate_model": "constant"}, r"follows \| in the formula"),
        ("linear", {"covariates": {"g": COIN}}, "mechanisms"),
        ("logit", {"event": "no"}, "baseline"),
        ("logit", {"intercept": True}, "arrays get an intercept"),
        ("list_regression", {"intercept": True}, "arrays get an intercept"),
        ("ordinal", {"baseline": "no"}, "declared order"),
        ("mixed", {"weights": "w"}, "weights of people do not say"),
    ],
)
def test_keywords_of_before_are_answered(call, options, words):
    """Each names the function, the argument or the part of the formula that has taken its place."""
    with pytest.raises(ArgumentTypeError, match=words):
        getattr(rr.regression, call)("y ~ x", None, **options)


@pytest.mark.parametrize(
    ("formula", "sides", "classes"),
    [
        ("y ~ x | z", "y ~ x", "z"),
        ("y ~ I(a | b) + `c|d`", "y ~ I(a | b) + `c|d`", None),
        ("y ~ x + (1 | g)", "y ~ x + (1 | g)", None),
        ("y ~ C(x, ['a|b']) | 1", "y ~ C(x, ['a|b'])", "1"),
    ],
)
def test_classes_follow_a_bar_outside_of_brackets(formula, sides, classes):
    """Bars in parentheses, quotes and backticks belong to their terms."""
    assert (sides, classes) == split_classes(formula)
