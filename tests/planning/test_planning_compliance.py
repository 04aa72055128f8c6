"""Planning for people who do not follow: bias by expectation, power by enumeration."""

import numpy as np
import pytest
from scipy import stats

import rrstats as rr
from rrstats.errors import ArgumentValueError
from rrstats.planning.compliance import (
    design_fit_power,
    people_for_design_fit,
    tolerable_noncompliance,
)

LABELS = {"yes": "yes", "reports": ["different", "same"]}
PAIR = rr.surveys.extended_crosswise(["no", "yes"], 0.2, **LABELS)


@pytest.mark.parametrize("behaviour", ["random", "yes", "no", {"yes": 0.9, "no": 0.1}])
def test_the_tolerable_share_has_just_that_bias(behaviour):
    """Expected reports with that share of others give an estimate that is off by the bias."""
    m = rr.surveys.forced_response(["no", "yes"], 0.5, [0.125, 0.375])
    share = tolerable_noncompliance(0.03, 0.3, m, behaviour=behaviour)
    others = {"random": [0.5, 0.5], "yes": [0, 1], "no": [1, 0]}
    others = [0.1, 0.9] if isinstance(behaviour, dict) else others[behaviour]
    rates = (1 - share) * (m.channel.matrix @ [0.7, 0.3]) + share * np.array(others)
    assert abs(m.channel.solve(rates)[1] - 0.3) == pytest.approx(0.03, abs=1e-12)


def test_the_worst_behaviour_allows_least():
    """ "any" is the smallest share of all reports; nothing moves where r is the proportion."""
    m = rr.KRR(["a", "b", "c"], 0.6)
    each = [tolerable_noncompliance(0.01, 0.2, m, behaviour=report) for report in "abc"]
    assert tolerable_noncompliance(0.01, 0.2, m, behaviour="any") == min(each)
    assert tolerable_noncompliance(0.01, 1 / 3, m) == 1.0
    assert tolerable_noncompliance(0.01, 0.2, 3, epsilon=1.0) == pytest.approx(0.01 / (1 / 3 - 0.2))
    with pytest.raises(ArgumentValueError, match="category must be one of"):
        tolerable_noncompliance(0.01, 0.2, m, category="d")


def test_power_is_that_of_all_pairs_of_counts():
    """The exact power of the likelihood-ratio test, over all counts of both samples."""
    n, share, pi = 200, 0.15, 0.2
    same = [(1 - share) * (p * pi + (1 - p) * (1 - pi)) for p in (0.2, 0.8)]
    a = np.arange(n + 1)[:, None]  # who said "same" where the statement is rare
    b = np.arange(n + 1)[None]  # who said "different" where it is common
    prob = stats.binom.pmf(a, n, same[0]) * stats.binom.pmf(b, n, 1 - same[1])
    pooled = (a + b) / (2 * n)

    def log_likelihood(count, rate):
        return stats.binom.logpmf(count, n, rate)

    free = log_likelihood(a, a / n) + log_likelihood(b, b / n)
    g2 = 2 * (free - log_likelihood(a, pooled) - log_likelihood(b, pooled))
    exact = prob[stats.chi2.sf(g2, 1) < 0.05].sum()
    power = design_fit_power(2 * n, [1 - pi, pi], PAIR, noncompliance=share, behaviour="different")
    assert power == pytest.approx(exact, abs=0.01)


def test_people_are_the_smallest_number_with_the_power():
    """One person fewer has less power."""
    truth, behaved = ([0.9, 0.1], PAIR), {"noncompliance": 0.1, "behaviour": "different"}
    n = people_for_design_fit(0.9, *truth, **behaved)
    assert (
        design_fit_power(n, *truth, **behaved) >= 0.9 > design_fit_power(n - 1, *truth, **behaved)
    )
    assert people_for_design_fit(0.01, *truth, **behaved) == 1


def test_errors_of_extended_crosswise_for_large_samples():
    """The standard errors of R's RRsp1 1.0, se(n = 1000, p = 0.2, theta = 0.1, pi = 0.2)."""
    m = rr.surveys.extended_crosswise(["no", "yes"], 0.2, behaviour="different", **LABELS)
    scale = 10**9
    rates = m.channel.matrix @ [0.9 * 0.8, 0.9 * 0.2, 0.1]
    counts = np.round(rates.reshape(2, 2) * scale / 2).astype(int)
    table = {
        group: dict(zip(LABELS["reports"], row.tolist(), strict=True))
        for group, row in zip(m.groups, counts, strict=True)
    }
    est = rr.estimate(rr.Tally.from_counts(table, m))
    factor = np.sqrt(scale / 1000)
    error = est.among(["no", "yes"])["yes"].std_error
    assert error * factor == pytest.approx(0.02858498613081289, rel=1e-6)
    assert est["always different"].std_error * factor == pytest.approx(
        0.029749352934139595, rel=1e-6
    )


def _power(truth=(0.8, 0.2), mechanism=PAIR, noncompliance=0.1, behaviour="same"):
    return design_fit_power(99, truth, mechanism, noncompliance=noncompliance, behaviour=behaviour)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: people_for_design_fit(
                0.8, [0.8, 0.2], PAIR, noncompliance=0.1, behaviour="random"
            ),
            "the test can see",
        ),
        (
            lambda: people_for_design_fit(
                0.8, [0.8, 0.2], PAIR, noncompliance=0, behaviour="different"
            ),
            "noncompliance must be above 0",
        ),
        (lambda: _power(mechanism=rr.KRR([0, 1], 0.7), behaviour=1), "more free cells"),
        (lambda: _power(behaviour="any"), "one behaviour; found 'any'"),
        (lambda: _power(noncompliance=1), r"in \[0, 1\)"),
        (lambda: _power([0.8, 0.3]), "sum to 1"),
        (lambda: tolerable_noncompliance(0, 0.2), r"bias must be in \(0, 1\]"),
    ],
)
def test_bad_input(call, message):
    """Behaviours that no test sees, and numbers outside their range, are refused."""
    with pytest.raises(ArgumentValueError, match=message):
        call()
