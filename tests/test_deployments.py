"""Numbers of docs/deployments.md, computed again from the parameters of each deployment."""

import math
from pathlib import Path

import pytest

import rrstats as rr

FILE = Path(__file__).parents[1] / "docs" / "deployments.md"
if not FILE.exists():
    pytest.skip("the tests were copied away from the documents", allow_module_level=True)
PAGE = FILE.read_text("utf-8")


def forced(truth, no, yes):
    return rr.surveys.forced_response(["no", "yes"], truth, [no, yes]).epsilon


def replaced(rate, k):
    """A report that with this rate is drawn from all k outcomes, the true one among them."""
    return rr.privacy.epsilon_from_prob(1 - rate * (k - 1) / k, k)


def rate(epsilon, k):
    return k / (k + math.exp(epsilon) - 1)


def firefox(epsilon, n):
    """The code keeps the truth as k-RR does, and draws its lie from all n articles."""
    return replaced(1 - math.exp(epsilon) / (math.exp(epsilon) + n - 1), n)


def rappor(**noise):
    """Two hashes set two bits, so both epsilons are twice those of one bit a category."""
    m = rr.mechanisms.Rappor(range(32), **noise)
    return 2 * m.epsilon, 2 * m.epsilon_lifetime


PAPER, NORMAL, SPARSE = (
    rappor(f=f, p=p, q=0.75) for f, p in [(0.5, 0.5), (0.5, 0.25), (0.25, 0.25)]
)


@pytest.mark.parametrize(
    ("deployment", "epsilon"),
    [
        ("two coins", forced(1 / 2, 1 / 4, 1 / 4)),
        ('one coin, "heads: say yes"', forced(1 / 2, 0, 1 / 2)),
        ("die of the Nigeria survey", forced(2 / 3, 1 / 6, 1 / 6)),
        ("Chromium navigation timing", replaced(0.4994798, 2)),
        ("Attribution Reporting, clicks", replaced(rate(14, 2925), 2925)),
        ("Attribution Reporting, views", replaced(rate(14, 3), 3)),
        ("Firefox New Tab, 10 items", firefox(14.7, 10)),
        ("Firefox New Tab, 200 items", firefox(14.7, 200)),
        ("RAPPOR, paper", PAPER[0]),
        ("RAPPOR, Chrome, normal noise", NORMAL[0]),
        ("RAPPOR, Chrome, sparse noise", SPARSE[0]),
    ],
)
def test_the_table_of_epsilons_is_right(deployment, epsilon):
    """The table has the epsilon of one report, to three decimals."""
    stored = rr.privacy.deployments().loc[deployment, "epsilon"]
    assert f"{epsilon:.3f}" == f"{stored:.3f}"


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("by a factor of at most {:.3f}", [math.exp(1.1)]),
        ("allows a factor of {:,.0f}", [math.exp(14)]),
        ("proportion is $2 \\times 0.35 - 0.5 = {:.0f}\\%$", [100 * (2 * 0.35 - 0.5)]),
        ("= {:.7f} .$$", [rate(1.1, 2)]),
        ("it is {:.3f} for `high` and {:.3f} for `low`",
         [(1 - 0.4994798 / 2) / (1 - 0.4994798), -(0.4994798 / 2) / (1 - 0.4994798)]),
        ("The mean is 2500/11 = {:.1f} ms", [(4 * 100 + 4 * 200 - 300 + 4 * 400) / 11]),
        ("75th percentile is {:.2f} ms", [300 + (0.75 * 11 - 7) / 4 * 100]),
        ("{:.2f}% for a click with $k = 2{{,}}925$", [100 * rate(14, math.comb(3 * 8 + 3, 3))]),
        ("{:.5f}% for a view", [100 * rate(14, 3)]),
        ("corresponds to {:.3f} for clicks", [replaced(0.0024, 2925)]),
        ("it is {:.3f} with 10 articles and {:.3f} with 200",
         [firefox(14.7, 10), firefox(14.7, 200)]),
        ("10 articles it is {:.3f} instead of 1", [firefox(1, 10)]),
        ("of {:.3f}, not {:.3f}", [NORMAL[0], PAPER[0]]),
        ("is the same, {:.3f}", [NORMAL[1]]),
        ("is the same, {:.3f}", [PAPER[1]]),
        ("a bound of {:.3f}", [SPARSE[1]]),
        ("flipped with probability {:.3f}",
         [1 - rr.mechanisms.UnaryEncoding.symmetric(range(100), epsilon=4).prob_own]),
    ],
)  # fmt: skip
def test_numbers_in_sentences_are_right(sentence, numbers):
    """Each sentence stands on the page with the number that the formula gives."""
    assert sentence.format(*numbers) in " ".join(PAGE.split())


def test_two_coins_are_debiased_as_the_page_says():
    """35% of yes are 20%."""
    coins = rr.surveys.forced_response(["no", "yes"], 1 / 2, [1 / 4, 1 / 4])
    found = rr.estimate(rr.Tally.from_counts({"no": 1300, "yes": 700}, coins))
    assert [0.8, 0.2] == pytest.approx(found.proportions.tolist())
