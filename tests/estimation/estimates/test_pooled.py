"""Pooled groups: the model by hand, restricted likelihood by brute force, errors and coverage."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

import rrstats as rr
from rrstats.errors import ArgumentTypeError, ArgumentValueError

COIN = rr.KRR(["no", "yes"], epsilon=1.0)


def groups_of(counts, mechanism=COIN):
    """Estimates by group, from counts of reports by group."""
    reports, labels = [], []
    for group, row in counts.items():
        for category, count in zip(mechanism.categories, row, strict=True):
            reports += [category] * count
            labels += [group] * count
    return rr.estimate(reports, mechanism, by=labels)


def simulated(sizes, deviation, rng, mechanism=COIN, mean=0.3):
    """Counts of groups of these sizes whose true proportions vary, and these proportions."""
    truth = np.clip(rng.normal(mean, deviation, len(sizes)), 0, 1)
    rate = mechanism.channel.matrix[1]
    yes = rng.binomial(sizes, rate[0] + truth * (rate[1] - rate[0]))
    pairs = zip(sizes, yes, strict=True)
    return {place: (int(n - y), int(y)) for place, (n, y) in enumerate(pairs)}, truth


UNEVEN = {"a": (180, 120), "b": (150, 150), "c": (40, 20), "d": (70, 130), "e": (20, 30)}


def test_the_model_by_hand():
    """Two categories: restricted likelihood and predictors as Fay and Herriot's, in scalars."""
    groups = groups_of(UNEVEN)
    pooled = groups.pooled()
    y = np.array([groups[name].proportions[1] for name in pooled.groups])
    v = pooled.model.errors[:, 0, 0]
    spread = pooled.model.spread[0, 0]

    def parts(variance):
        weight = 1 / (variance + v)
        return weight, (weight @ y) / weight.sum()

    def minus_log_likelihood(root):
        weight, mean = parts(root**2 * spread)
        return (-np.log(weight).sum() + np.log(weight.sum()) + weight @ (y - mean) ** 2) / 2

    best = optimize.minimize_scalar(minus_log_likelihood, bounds=(0, 1), options={"xatol": 1e-10})
    assert pooled.rho == pytest.approx(best.x**2, abs=1e-6)
    weight, mean = parts(pooled.rho * spread)
    shrinkage = v * weight
    expected = shrinkage * mean + (1 - shrinkage) * y
    assert pooled.proportions[:, 1] == pytest.approx(expected, abs=1e-9)
    assert pooled.shrinkage == pytest.approx(shrinkage, abs=1e-9)
    # Prasad and Rao (1990): g1 + g2 + 2 g3.
    g1 = pooled.rho * spread * shrinkage
    g2 = shrinkage**2 / weight.sum()
    g3 = v**2 * weight**3 * 2 / (weight**2).sum()
    assert pooled.std_error[:, 1] == pytest.approx(np.sqrt(g1 + g2 + 2 * g3), abs=1e-9)


@pytest.mark.parametrize("yes", [(120, 150, 95), (105, 150, 140), (100, 160, 120), (140, 170, 110)])
def test_rho_is_the_maximum_and_no_point_of_the_grid(yes):
    """The likelihood falls on both sides of it."""
    counts = {group: (300 - n, n) for group, n in enumerate(yes)}
    pooled = groups_of(counts).pooled()
    root = np.sqrt(pooled.rho)
    low, top, high = (pooled.model.log_likelihood((root + h) ** 2) for h in (-1e-4, 0.0, 1e-4))
    assert root > 1e-3
    assert top > max(low, high)
    assert abs(high - low) < 0.01 * (2 * top - low - high)


def test_errors_of_groups_are_those_of_a_report():
    """Groups of one size have one error: the mean covariance of a report, over the size."""
    groups = groups_of({"a": (60, 40), "b": (45, 55), "c": (70, 30)})
    errors = groups.pooled().model.errors[:, 0, 0]
    own = [groups[name].variance[0] for name in "abc"]
    assert errors == pytest.approx(np.full(3, np.mean(own)))


def test_intervals_integrate_over_rho():
    """The ends have tails of 2.5% in the mixture over the posterior of rho, by quadrature."""
    pooled = groups_of(UNEVEN).pooled()
    low, high = pooled.interval()

    def density(rho):
        return np.exp(pooled.model.log_likelihood(rho) - pooled.model.log_likelihood(pooled.rho))

    def below(rho, end):
        mean, variance, _ = pooled._predicted(rho)
        z = (end - mean[0, 0]) / np.sqrt(variance[0, 0, 0])
        return density(rho) * stats.norm.cdf(z)

    points = {"points": [0, 1e-3, 1e-2, 0.1], "limit": 200}
    total = integrate.quad(density, 0, 1, **points)[0]
    for end, tail in ((low[0, 0], 0.025), (high[0, 0], 0.975)):
        assert integrate.quad(below, 0, 1, args=(end,), **points)[0] / total == pytest.approx(
            tail, abs=1.5e-3
        )


def test_many_categories_keep_their_sum():
    """Pooled proportions of k categories are inside the simplex; errors are of each category."""
    m = rr.KRR(list("abcd"), epsilon=1.5)
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([8, 6, 4, 2], 30)
    rates = truth @ m.channel.matrix.T
    counts = {g: tuple(rng.multinomial(120, rate).tolist()) for g, rate in enumerate(rates)}
    pooled = groups_of(counts, m).pooled()
    assert pooled.proportions.sum(axis=1) == pytest.approx(np.ones(30))
    assert (pooled.proportions >= 0).all()
    assert pooled.std_error.shape == (30, 4)
    raw_error = ((pooled.raw - truth[list(pooled.groups)]) ** 2).mean()
    assert ((pooled.proportions - truth[list(pooled.groups)]) ** 2).mean() < raw_error / 2
    assert pooled.to_frame().shape == (120, 9)


def test_the_order_of_categories_does_not_matter():
    """The last category is no reference: the same numbers in another order."""
    rng = np.random.default_rng(2)
    counts = {g: tuple(rng.multinomial(90, [0.5, 0.3, 0.2]).tolist()) for g in range(12)}
    ab = groups_of(counts, rr.KRR(list("abc"), 0.6)).pooled()
    swapped = {g: (row[2], row[0], row[1]) for g, row in counts.items()}
    ca = groups_of(swapped, rr.KRR(list("cab"), 0.6)).pooled()
    assert ca.proportions[:, [1, 2, 0]] == pytest.approx(ab.proportions, abs=1e-6)
    assert ca.std_error[:, [1, 2, 0]] == pytest.approx(ab.std_error, abs=1e-6)


def test_covariates_explain_groups_and_predict_others():
    """With a covariate the mean follows it; a group without reports has the model's value."""
    rng = np.random.default_rng(3)
    income = np.linspace(-1, 1, 40)
    rate = COIN.channel.matrix[1]
    truth = 0.4 + 0.2 * income
    yes = rng.binomial(2000, rate[0] + truth * (rate[1] - rate[0]))
    counts = {g: (2000 - int(y), int(y)) for g, y in enumerate(yes)}
    covariates = pd.DataFrame({"income": np.append(income, 2.0)})
    pooled = groups_of(counts).pooled(covariates)
    assert pooled.rho < 0.01
    assert pooled.groups[-1] == 40
    assert pooled.sizes[-1] == 0
    assert np.isnan(pooled.raw[-1]).all()
    assert pooled.shrinkage[-1] == 1
    assert pooled.proportions[-1, 1] == pytest.approx(0.8, abs=0.05)
    assert "Without reports: 1 group, with" in repr(pooled)
    region = pd.DataFrame({"region": ["n", "s"] * 20})
    assert groups_of(counts).pooled(region).columns.shape == (40, 2)


def test_groups_that_are_alike_are_pooled_wholly():
    """Without variance between groups rho is 0, and all have nearly the mean; it says so."""
    counts = dict.fromkeys("abcdef", (130, 70))
    pooled = groups_of(counts).pooled()
    assert pooled.rho == pytest.approx(0, abs=1e-6)
    assert pooled.p_value > 0.4
    low, high = pooled.interval()
    raw = groups_of(counts)["a"].interval()
    assert (high - low)[0, 1] < 0.75 * (raw.high - raw.low)[1]
    assert "not" not in pooled._title
    assert "on average over groups" in " ".join(repr(pooled).split())


def test_weights_and_designs():
    """Groups of a weighted sample have the errors of their effective sizes."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"y": rng.choice(["no", "yes"], 900), "g": np.arange(900) % 9})
    frame["w"] = rng.uniform(0.2, 3, 900)
    weighted = rr.estimate(frame.y, COIN, by=frame.g, weights=frame.w)
    plain = rr.estimate(frame.y, COIN, by=frame.g)
    ratio = weighted.pooled().model.errors / plain.pooled().model.errors
    assert (ratio > 1.05).all()
    assert len(weighted.pooled().to_frame()) == 18


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: groups_of({"a": (5, 5)}).pooled(), ArgumentValueError, "at least two groups"),
        (
            lambda: groups_of({"a": (1, 0), "b": (0, 1), "c": (5, 5)}).pooled(),
            ArgumentValueError,
            "two reports each, found 1",
        ),
        (lambda: groups_of(UNEVEN).pooled([1, 2]), ArgumentTypeError, "must be a DataFrame"),
        (
            lambda: groups_of(UNEVEN).pooled(pd.DataFrame({"x": [1.0]}, index=["a"])),
            ArgumentValueError,
            "found none for 4 of 5",
        ),
        (
            lambda: groups_of(UNEVEN).pooled(pd.DataFrame({"x": [1.0] * 5}, index=list("abcde"))),
            ArgumentValueError,
            "not collinear",
        ),
        (
            lambda: groups_of(UNEVEN).pooled(
                pd.DataFrame({"x": [1.0, np.nan, 2, 3, 4]}, index=list("abcde"))
            ),
            ArgumentValueError,
            "finite numbers or factors",
        ),
    ],
)
def test_bad_input(call, error, message):
    """One group, groups of one person, and covariates that do not fit are refused."""
    with pytest.raises(error, match=message):
        call()


def test_a_group_of_one_person_gets_the_mean():
    """A group whose variance is unknown is not used, and has the mean of the model."""
    pooled = groups_of(UNEVEN | {"f": (1, 0)}).pooled()
    assert pooled.groups[-1] == "f"
    assert pooled.shrinkage[-1] == 1
    assert pooled.sizes[-1] == 1


def test_the_picture_is_a_caterpillar():
    """Groups stand in the order of their pooled proportions, with the numbers of the table."""
    pytest.importorskip("matplotlib")
    pooled = groups_of(UNEVEN).pooled()
    ax = pooled.plot(category="yes")
    table = pooled.to_frame().query("category == 'yes'").sort_values("proportion")
    names = [text.get_text().split()[0] for text in ax.get_yticklabels()]
    assert names in (table.iloc[:, 0].tolist(), table.iloc[::-1, 0].tolist())
    assert pooled.interpret("yes").count("\n") == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "n", "epsilon", "deviation", "raw", "reached"),
    [
        (50, 200, 1.0, 0.05, 0.0744, 0.0442),
        (50, 200, 2.0, 0.05, 0.0425, 0.0333),
        (50, 100, 1.0, 0.05, 0.106, 0.050),
        (20, 300, 1.0, 0.05, 0.061, 0.043),
        (50, 500, 1.0, 0.10, 0.0466, 0.0425),
        (16, 60, 1.61, 0.08, 0.0925, 0.0660),
    ],
)
def test_reach(groups, n, epsilon, deviation, raw, reached):
    """Root mean squared errors raw and pooled, and the mean coverage of intervals.

    100 surveys: errors have a standard error of about 2%, coverage of .4 to .9%.
    """
    rng = np.random.default_rng(9)
    mechanism = rr.KRR([0, 1], epsilon=epsilon)
    squares, covered = [], []
    for _ in range(100):
        counts, truth = simulated(np.full(groups, n), deviation, rng, mechanism)
        pooled = groups_of(counts, mechanism).pooled()
        true = truth[list(pooled.groups)]
        errors = [each[:, 1] - true for each in (pooled.raw, pooled.proportions)]
        squares.append([(error**2).mean() for error in errors])
        low, high = pooled.interval()
        covered.append(((low[:, 1] <= true) & (true <= high[:, 1])).mean())
    found = np.sqrt(np.mean(squares, axis=0))
    assert found == pytest.approx([raw, reached], rel=0.06)
    assert 0.93 < np.mean(covered) < 0.98
