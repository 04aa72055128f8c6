"""`rr.privacy.instructions`: the page of a design says its probabilities, and fits on one sheet."""

import re
import runpy
import shutil
import subprocess
from fractions import Fraction
from itertools import chain, product
from math import prod
from pathlib import Path

import pytest
from catalogue import NUMBERS

import rrstats as rr
from rrstats import surveys
from rrstats.privacy import instructions
from rrstats.privacy.fieldwork import examples

QUESTION = "Have you ever driven a car after more than two drinks?"
NAMED = {"yes": "yes"}
DESIGNS = {
    **examples(),
    "direct": surveys.direct(["no", "yes"]),
    "forced_response": surveys.forced_response(["no", "yes"], 4 / 6, [1 / 6, 1 / 6]),
    "forced_response of three": surveys.forced_response(
        ["never", "once", "often"], 0.7, {"never": 0.05, "once": 0.1, "often": 0.15}
    ),
    "two_coin": surveys.two_coin(["no", "yes"], **NAMED),
    "warner": surveys.warner(["no", "yes"], 0.7, **NAMED),
    "crosswise": surveys.crosswise(["yes", "no"], 0.25, reports=["same", "different"], **NAMED),
    "triangular": surveys.triangular(["no", "yes"], 0.25, reports=["circle", "triangle"], **NAMED),
    "unrelated_question, by month": surveys.unrelated_question(["no", "yes"], 0.7, 1 / 12, **NAMED),
    **{
        name: getattr(surveys, name)(["not", "has"], *numbers, yes="has")
        for name, numbers in NUMBERS.items()
    },
    "kuk": surveys.kuk(["no", "yes"], 0.7, 0.3, draws=2, **NAMED),
    "kuk, one card": surveys.kuk(["no", "yes"], 0.7, 0.3, reports=["black", "red"], **NAMED),
    "crosswise_with_anchor": surveys.crosswise_with_anchor(["no", "yes"], 0.15, 1 / 6, **NAMED),
    "unrelated_question_two_samples": surveys.unrelated_question_two_samples(
        ["no", "yes"], {"A": 0.7, "B": 0.3}, **NAMED
    ),
    "cheater_detection": surveys.cheater_detection(
        ["yes", "no"], {"A": 0.2, "B": 0.5}, {"A": 0.1, "B": 0.25}, **NAMED
    ),
    "extended_crosswise": surveys.extended_crosswise(
        ["no", "yes"], {"A": 0.2, "B": 0.75}, behaviour="same", reports=["other", "same"], **NAMED
    ),
    "stochastic_lie_detector": surveys.stochastic_lie_detector(
        ["no", "yes"], {"A": 1 / 6, "B": 5 / 6}, **NAMED
    ),
    "KRR": rr.KRR(["never", "once", "often"], 0.5),
    "KRR of six": rr.KRR(range(6), 0.75),
    "MatrixDesign": rr.MatrixDesign(
        ["a", "b"], [[0.9, 0], [0.05, 0.5], [0.05, 0.5]], reports=["x", "y", "z"]
    ),
    "Chain": rr.KRR(["no", "yes"], 0.9).then(rr.KRR(["no", "yes"], 0.8)),
}
PAGES = [(name, group) for name, m in DESIGNS.items() for group in m.groups or [None]]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


def part(name, group):
    mechanism = DESIGNS[name]
    return mechanism if group is None else mechanism.parts[mechanism.groups.index(group)]


def truths_of(mechanism):
    """For each class that follows the page its place and what the rule takes."""
    for place, one in enumerate(mechanism.domain.categories):
        if one in ("cheater", "inattentive", "always same") or (
            isinstance(one, tuple) and one[1] == "lying"
        ):
            continue
        answer, *trait = one if isinstance(one, tuple) else (one,)
        yes = getattr(mechanism, "yes", None)
        trait = [t for t in trait if isinstance(t, bool)]
        yield place, [place if yes is None else answer == yes, *trait]


@pytest.mark.parametrize(("name", "group"), PAGES)
def test_draws_and_rule_have_the_probabilities_of_the_design(name, group):
    """All outcomes of all draws, in fractions, give the matrix; doubles stand for small ones."""
    mechanism = part(name, group)
    page = instructions(DESIGNS[name], QUESTION, group=group)
    reports = mechanism.report_space.categories
    draws = list(chain.from_iterable([draw.outcomes] * draw.times for draw in page.draws))
    assert all(sum(p for _, p in outcomes) == 1 for outcomes in draws)
    assert all(p.denominator <= 1000 for outcomes in draws for _, p in outcomes)
    for place, truth in truths_of(mechanism):
        if name == "cheater_detection":
            truth = [place]
        found = dict.fromkeys(reports, Fraction(0))
        for drawn in product(*draws):
            found[page.rule(*truth, *(mark for mark, _ in drawn))] += prod(p for _, p in drawn)
        exact = [row[place] for row in mechanism.channel.entries]
        assert max(abs(a - b) for a, b in zip(found.values(), exact, strict=True)) < 2**-49
        assert all((a == 0) == (b == 0) for a, b in zip(found.values(), exact, strict=True))


@pytest.mark.parametrize(("name", "group"), PAGES)
def test_the_words_say_the_chances_of_the_draws(name, group):
    """Cards are counted, and runs of a die are as long, as the chances in the data say."""
    page = instructions(DESIGNS[name], QUESTION, group=group)
    for draw in page.draws:
        cards = re.match(r"(\d+) cards.*?: (.*)\.", draw.prepare)
        if cards:
            said = {
                m: Fraction(int(n), int(cards[1]))
                for n, m in re.findall(r'(\d+) "(.*?)"', cards[2])
            }
            assert said == dict(draw.outcomes)
        size = 6 if "die" in draw.prepare else 4 if "twice" in draw.step else 2
        for mark, run in re.findall(r'"([^"]*)" for (.*?)(?= and "|\.$)', draw.step):
            assert Fraction(run.count(",") + 1, size) == dict(draw.outcomes)[mark]
    text = str(page)
    assert QUESTION in text
    assert "{" not in text.partition("Write down")[0]
    spoken = rr.explain(part(name, group)).rpartition(" per report. ")[2]
    assert spoken in " ".join(text.split())
    assert page._repr_html_().partition("<ol>")[2].partition("<h3>")[0] in page.to_html()


def test_the_guide_lists_a_page_for_every_design():
    """There is a page to print for each name of `rr.surveys`, and the guide links all of them."""
    docs = Path(__file__).parents[2] / "docs"
    if not (docs / "cards").exists():
        pytest.skip("the documentation is not here")
    cards = runpy.run_path(str(docs / "cards" / "make_cards.py"))
    pages = {}
    for files in cards["pages"]().values():
        pages |= {stem: page for stem, (_, page) in files.items()}
    assert sorted(pages) == sorted(re.findall(r"cards/(\w+)\.html", cards["table"]()))
    assert "{include} ../cards/pages.md" in (docs / "guide" / "field_cards.md").read_text("utf-8")
    assert all(page.rule for page in pages.values())
    assert all(f"`{name}`" in cards["pages"]() for name in examples())


def test_every_design_has_words():
    """Every name of `rr.surveys` that makes a design is carried out by hand."""
    assert set(surveys.__all__) - {"by_row", "sum_of"} == set(examples())
    by_hand = [n for n, g in PAGES if hasattr(part(n, g), "design")]
    assert all(instructions(DESIGNS[n], "?", group=g).rule for n, g in PAGES if n in by_hand)


def test_what_no_deck_has_is_left_to_a_device():
    """Bits, and probabilities that are no small fraction; three digits make a table."""
    for mechanism in (
        rr.UnaryEncoding.symmetric(["a", "b"], 0.75),
        rr.KRR(["no", "yes"], epsilon=1.0),
        surveys.warner([False, True], 0.7310585786300048),
        rr.KRR(range(50), 0.51),
        rr.MatrixDesign(["a", "b"], [[0.5, 1.0], [0.5, 2**-60]]),
    ):
        page = instructions(mechanism, QUESTION)
        assert page.rule is None
        assert not page.draws
        assert "device" in str(page)
    assert "1 to 717" in str(instructions(surveys.warner([False, True], 0.717), QUESTION))


def test_arguments():
    """A birthday in the place of a draw, the sample, and what is refused."""
    page = instructions(DESIGNS["crosswise"], QUESTION, unrelated="Were you born in spring?")
    assert page.draws[0].step.endswith('tell it to nobody: "Were you born in spring?"')
    assert "25%" in page.draws[0].prepare
    assert "nobody who sees a report knows that answer" in page.draws[0].prepare
    for wrong in (
        {"question": 3},
        {"mechanism": "warner"},
        {"mechanism": DESIGNS["cheater_detection"]},
    ):
        with pytest.raises(rr.errors.RRStatsError):
            instructions(**{"mechanism": DESIGNS["warner"], "question": QUESTION, **wrong})
    with pytest.raises(rr.errors.RRStatsError, match="no second question"):
        instructions(DESIGNS["warner"], QUESTION, unrelated="Were you born in spring?")
    two = surveys.cheater_detection(["no", "yes"], [0.2, 0.5], **NAMED)  # the samples 1 and 2
    assert instructions(two, "?", group=2).draws[0].outcomes == (("truth", 0.5), ("say yes", 0.5))
    nasty = instructions(rr.KRR(["<b>", "{x}"], 0.75), "<script>")
    assert "<script>" not in nasty.to_html()
    assert "&lt;b&gt;" in nasty.to_html()


def steps_of(name):
    """The numbered steps of a page, from its text."""
    text = " ".join(str(instructions(DESIGNS[name], QUESTION)).split())
    steps = text.partition("The respondent, in secret")[2].partition(" Write down ")[0]
    return [step.strip() for step in re.split(r" \d+\. ", steps)[1:]]


def test_the_steps_in_full():
    """A coin is drawn first, then what it means; each step is a sentence of its own."""
    assert steps_of("crosswise") == [
        'Second answer: toss a coin twice where nobody else sees it: "yes" for two heads and "no" '
        "for heads then tails, tails then heads, two tails.",
        'Say "same" if your true answer is "yes" and the second answer is yes.',
        'Say "same" also if your true answer is "no" and the second answer is no.',
        'Say "different" in the two other cases.',
    ]
    assert steps_of("warner")[0] == "Draw a card where nobody else sees it, and put it back."


def test_the_second_question_comes_before_the_answers():
    """Respondents who answer one of two questions have thought of both before."""
    steps = steps_of("unrelated_question_two_answers")
    assert steps[4].startswith("Think of your answer to a second question")
    assert steps[5].startswith("You answer twice.")
    assert len(steps) == 7


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium to print")
@pytest.mark.parametrize(
    "name", ["crosswise_with_anchor", "unrelated_question_two_answers", "KRR of six"]
)
def test_a_page_prints_on_one_sheet(name, tmp_path):
    """The longest pages, with a long question, are one page of Letter paper."""
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(instructions(DESIGNS[name], " ".join([QUESTION] * 3)).to_html(), "utf-8")
    done = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    subprocess.run(
        [CHROMIUM, *done, f"--print-to-pdf={paper}", page.as_uri()], check=True, timeout=120
    )
    assert len(re.findall(rb"/Type\s*/Page[^s]", paper.read_bytes())) == 1
