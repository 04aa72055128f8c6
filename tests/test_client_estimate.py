"""docs/client/estimate.mjs: estimates and intervals in JavaScript are those of rr.estimate."""

import re
from decimal import Decimal, localcontext
from math import comb
from xml.etree import ElementTree

import numpy as np
import pytest
from node import DOCS, in_node, needs_node

import rrstats as rr
from rrstats.inference import binomial

pytestmark = needs_node

MODULE = DOCS / "client" / "estimate.mjs"
PROBS = [(2, 0.75), (2, 0.51), (3, 0.4), (5, 0.9), (4, 1 - 2**-20), (100, 0.011), (100, 0.97)]


def settings():
    """Counts, and a prob: no reports, one, few, many; estimates inside of [0, 1] and outside."""
    rng = np.random.default_rng(4)
    for k, prob in PROBS:
        yield [0] * k, prob
        yield [1] + [0] * (k - 1), prob
        for n in (7, 50, 2000, 1_000_000):
            yield [n] + [0] * (k - 1), prob
            true = rng.multinomial(n, rng.dirichlet(np.full(k, 0.3)))
            kept = rng.binomial(true, prob)
            lies = rng.multinomial(n - kept.sum(), np.full(k, 1 / k))
            yield (kept + lies).tolist(), prob
    yield [5, 15], 0.75  # the estimate is 0, and is not outside


def in_python(counts, prob):
    mechanism = rr.KRR(range(len(counts)), prob)
    est = rr.estimate(rr.Tally.from_counts(counts, mechanism))
    return {name: getattr(est, name) for name in ("proportions", "std_error", "low", "high")}


@pytest.mark.filterwarnings("ignore::rrstats.errors.LowPrecisionWarning")
@pytest.mark.filterwarnings("ignore::rrstats.errors.ImplausibleReportsWarning")
def test_estimates_are_those_of_python():
    """Proportions, standard errors and ends, and each as it is printed.

    Python finds the ends of the likelihood-ratio interval up to 1e-10 standard errors.
    """
    asked = list(settings())
    told = in_node(MODULE, "module.estimate(...one)", asked)
    shown = in_node(
        MODULE,
        "((e) => [e.proportions, e.std_error, e.low, e.high].map((all) => "
        "all.map((value) => module.percent(value, 2))))(module.estimate(...one))",
        asked,
    )
    outside = 0
    for (counts, prob), found, texts in zip(asked, told, shown, strict=True):
        expected = in_python(counts, prob)
        assert sum(counts) == found["n"]
        for (name, values), printed in zip(expected.items(), texts, strict=True):
            np.testing.assert_allclose(found[name], values, rtol=3e-10, atol=1e-15, err_msg=name)
            assert [f"{value:.2%}" for value in values] == printed
        outside += int((expected["proportions"] < 0).sum() + (expected["proportions"] > 1).sum())
    assert outside > 20


def test_exact_rates_are_those_of_scipy():
    """Clopper and Pearson's ends to 1e-12, relative to themselves: all counts of few, some of many.

    Except upper ends of less than 1e-4, where SciPy's are off by 1e-11; see the next test.
    """
    cases = [(count, n) for n in (1, 2, 3, 10, 50) for count in range(n + 1)]
    rng = np.random.default_rng(5)
    for n in (1000, 30_000, 1_000_000):
        counts = {0, 1, 2, 5, n // 100, n // 3, n // 2, n - 2, n - 1, n}
        cases += [(count, n) for count in sorted(counts | set(rng.integers(0, n, 20).tolist()))]
    cases += [(0.5, 10), (2.5, 1000), (300_000.5, 1_000_000)]
    told = np.array(in_node(MODULE, "module.clopperPearson(...one)", cases))
    low, high = binomial.clopper_pearson_rates(*np.array(cases, dtype=float).T)
    np.testing.assert_allclose(told[:, 0], low, rtol=1e-12, atol=0)
    assert (np.abs(told[:, 1] / high - 1) < np.where(high < 1e-4, 1e-10, 1e-12)).all()


def test_ends_of_rare_counts_are_exact():
    """At the ends both tails of a few reports of many are (1 - 0.95) / 2, in 50 digits."""
    cases = [(count, n) for n in (10**6, 10**9) for count in (1, 2, 5)]
    ends = in_node(MODULE, "module.clopperPearson(...one)", cases)
    with localcontext(prec=50):
        tail = Decimal((1 - 0.95) / 2)
        for (count, n), (low, high) in zip(cases, ends, strict=True):

            def at_most(most, rate, n=n):
                terms = (comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(most + 1))
                return sum(terms, Decimal(0))

            assert abs(1 - at_most(count - 1, Decimal(low)) - tail) < Decimal("1e-13")
            assert abs(at_most(count, Decimal(high)) - tail) < Decimal("1e-13")


def test_numbers_are_written_as_python_does():
    """Ties, which doubles can be, go to the even digit."""
    values = [0, 0.125, 0.375, -0.125, 2.5, 0.5, 1.5, 1e-9, 123456.789, 0.1 + 0.2, -0.0, 1 / 3]
    asked = [[value, places] for value in values for places in (0, 1, 2, 3)]
    expected = [f"{value:.{places}f}" for value, places in asked]
    assert expected == in_node(MODULE, "module.fixed(...one)", asked)
    expected = [f"{value:.{places}%}" for value, places in asked]
    assert expected == in_node(MODULE, "module.percent(...one)", asked)


@pytest.mark.parametrize(
    ("counts", "prob"), [([1, 2], 0.5), ([1, 2], 1), ([1, -2], 0.75), ([1, 2.5], 0.75), ([3], 0.9)]
)
def test_what_is_no_count_is_refused(counts, prob):
    """A RangeError for counts that are none, and for a prob outside (1/k, 1)."""
    code = "(() => { try { module.estimate(...one); } catch (error) { return error.name; } })()"
    assert ["RangeError"] == in_node(MODULE, code, [[counts, prob]])


def test_types_name_all_exports():
    """estimate.d.mts declares what the module exports, and nothing else."""
    (exported,) = in_node(MODULE, "Object.keys(module)", [{}])
    declared = re.findall(r"^export function (\w+)", MODULE.with_suffix(".d.mts").read_text(), re.M)
    assert sorted(declared) == sorted(exported)


def test_drawing_says_all_that_it_draws():
    """The picture is well-formed, its label has every number, and names are no markup."""
    rows = [
        {"name": "yes & <b>", "proportion": -0.02, "low": 0, "high": 0.034, "truth": 0.01},
        {"name": "no", "proportion": 1.02, "low": 0.9, "high": 1},
    ]
    (text,) = in_node(MODULE, "module.drawIntervals(one, { title: 'A poll', width: 358 })", [rows])
    svg = ElementTree.fromstring(text)
    label = "A poll. yes & <b>: -2.0%, 0.0% to 3.4% (truth 1.0%); no: 102.0%, 90.0% to 100.0%"
    assert label == svg.attrib["aria-label"]
    written = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert label == f"A poll. {'; '.join(written[-2:])}"
    places = [float(place) for place in re.findall(r"(?:cx=\"|[MH])([\d.]+)", text)]
    assert 0 <= min(places) < max(places) <= 358
