"""`rr.privacy.instructions`: the page of a design says its probabilities, in words for all."""

import re
import runpy
import shutil
import subprocess
import warnings
from fractions import Fraction
from itertools import chain, product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from catalogue import NUMBERS

import rrstats as rr
from rrstats import surveys
from rrstats._display import as_markdown
from rrstats.mechanisms.serialization import from_dict
from rrstats.privacy import fieldwork, instructions
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
        trait = [t for t in trait if isinstance(t, int)]  # of a list the number of items
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
    of_control = getattr(part(name, group), "design", "") == "list_experiment_control"
    assert (QUESTION in " ".join(text.split())) != of_control
    assert "{" not in text.partition("The design is this line")[0]
    office = " ".join(text.partition("Cut here.")[2].split())
    assert rr.explain(part(name, group)) in office
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
        rr.mechanisms.UnaryEncoding.symmetric(["a", "b"], 0.75),
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


def steps_of(name, group=None):
    """The numbered steps of a page, from its text."""
    text = " ".join(str(instructions(DESIGNS[name], QUESTION, group=group)).split())
    steps = text.partition("The respondent, in secret")[2].partition(" Write down ")[0]
    return [step.strip() for step in re.split(r" \d+\. ", steps)[1:]]


def test_the_steps_in_full():
    """A coin is drawn first, then what it means; each step is a sentence of its own."""
    assert steps_of("crosswise") == [
        'Second answer: toss a coin twice where nobody else sees it: "yes" for two heads and "no" '
        "for heads then tails, tails then heads, two tails.",
        "Now you have two answers: your true answer and the second answer.",
        'Say "same" if they are the same: "yes" and "yes", or "no" and "no".',
        'Say "different" if they are different: "yes" and "no", or "no" and "yes".',
    ]
    assert steps_of("warner")[0] == "Draw a card where nobody else sees it, and put it back."


def test_the_second_question_comes_before_the_answers():
    """Respondents who answer one of two questions have thought of both before."""
    steps = steps_of("unrelated_question_two_samples", "A")
    assert steps[1].startswith("Think of your answer to a second question")
    assert steps[2].startswith("If you got 1")
    assert len(steps) == 4


def at_the_door(page):
    """All that stands above the line to cut."""
    return " ".join(str(page).partition("- - -")[0].split())


@pytest.mark.parametrize(("name", "group"), PAGES)
def test_nobody_hears_numbers_or_code_at_the_door(name, group):
    """Odds, epsilon and Python stand below the cut; sentences above it are short."""
    page = instructions(DESIGNS[name], QUESTION, group=group)
    door = at_the_door(page)
    for word in ("odds", "factor", "probab", "epsilon", "%", "=", "report", "sensitive", "design"):
        assert word not in door.lower(), word
    html = page.to_html()
    assert html.index('<hr class="cut">') < html.index("Epsilon is")
    assert html.index('<hr class="cut">') < html.index("<pre>")
    assert "---" in as_markdown(page.blocks)
    kinds = [kind for kind, _ in page.blocks]
    blocks = [b for b in page.blocks[: kinds.index("cut")] if b[0] in ("text", "steps")]
    spoken = ". ".join(text if kind == "text" else ". ".join(text) for kind, text in blocks)
    clauses = re.split(r"[.?:]", re.sub(r'"[^"]*"', "x", spoken.replace(QUESTION, "")))
    assert max(len(clause.split()) for clause in clauses) <= 20


CROSSWISE = {
    "crosswise": (0.25,),
    "extended_crosswise": ({"A": 0.25, "B": 0.75},),
    "crosswise_with_anchor": (0.25, 0.25),
}


@pytest.mark.parametrize("behaviour", [{}, {"behaviour": "no"}])
@pytest.mark.parametrize("name", CROSSWISE)
@pytest.mark.parametrize("categories", [["no", "yes"], ["yes", "no"]])
def test_crosswise_says_same_and_different(name, categories, behaviour):
    """Without labels nobody says yes or no; the data keep the answers, and the office is told."""
    if behaviour and name != "extended_crosswise":
        return
    design = getattr(surveys, name)(categories, *CROSSWISE[name], yes="yes", **behaviour)
    group = None if design.groups is None else "A"
    for second in (None, "Were you born in spring?"):
        page = instructions(design, QUESTION, group=group, unrelated=second)
        door = at_the_door(page)
        assert not re.search('[Ss]ay "(yes|no)"', door)
        assert door.count('ay "same"') == door.count('ay "different"') == 1 + ("anchor" in name)
        assert "Only what the respondent says (" in door
        assert "same" in door.partition("Write down")[2]
        office = " ".join(str(page).partition("- - -")[2].split())
        assert 'enter "yes" for "same" and "no" for "different"' in office
        labels = [{"no": "different", "yes": "same"}[category] for category in categories]
        assert f"reports={labels}" in office
    pair = name == "crosswise_with_anchor"
    marks = ("yes", "no") if pair else ("yes",)
    assert page.rule(True, *marks) == (("yes", "yes") if pair else "yes")  # no birth on the Moon


def test_who_draws_nothing_hears_nothing_about_it():
    """A birthday, a direct question and a device have no draw to hide, and none to ask for."""
    birthday = instructions(DESIGNS["crosswise"], QUESTION, unrelated="Were you born in spring?")
    direct = instructions(DESIGNS["direct"], QUESTION)
    device = instructions(rr.KRR(["no", "yes"], epsilon=1.0), QUESTION)
    for page in (birthday, direct, device):
        door = at_the_door(page)
        assert "by chance" not in door.replace("may change your answer by chance", "")
        assert "draw" not in door
    assert "Prepare" not in at_the_door(birthday)
    assert "Never ask for the answer to the second question." in at_the_door(birthday)
    assert "Prepare" not in at_the_door(direct)
    assert "second question" not in at_the_door(device)
    drawn = at_the_door(instructions(DESIGNS["crosswise"], QUESTION))
    assert "Do not show or tell anybody what you get by chance." in drawn
    assert "second question" not in drawn


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (surveys.warner(["no", "yes"], 0.75, **NAMED), "Nobody who hears what you say can be sure"),
        (surveys.warner(["no", "yes"], 0.9, **NAMED), "and they will often be right."),
        (rr.KRR(["no", "yes"], 0.5), "shows nothing about your true answer"),
        (
            surveys.triangular(["no", "yes"], 0.25, **NAMED),
            'If you say "circle", people can know that your true answer is "no". Otherwise nobody '
            "can be sure.",
        ),
        (
            surveys.triangular(["no", "yes"], 0.05, **NAMED),
            'is "no". Otherwise people can guess it, and they will often be right.',
        ),
        (
            surveys.forced_response(["a", "b", "c"], 0.5, [0.2, 0.3, 0]),
            '"c", people can know that your',
        ),
        (
            rr.MatrixDesign(["a", "b", "c"], [[0, 0.5, 0.2], [1, 0.5, 0.8]], reports=["x", "y"]),
            'If you say "x", people can know that your true answer is not "a". Otherwise nobody',
        ),
        (surveys.direct(range(5)), "Some of what you may say shows your true answer for sure"),
        (surveys.direct(range(50)), "Some of what you may say shows your true answer for sure"),
        (rr.mechanisms.UnaryEncoding.symmetric(["a", "b"], 0.9), "they will often be right"),
        (
            surveys.list_experiment(3).parts[1],
            'If you say "0" or "4", people can know which statements are true for you.',
        ),
        (
            surveys.list_experiment(3).parts[0],
            'If you say "0" or "3", people can know which statements are true for you.',
        ),
    ],
)
def test_what_is_said_on_protection_is_true(design, said):
    """Reports that prove something are named, and likely guesses are called so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert said in at_the_door(instructions(design, QUESTION))


def test_a_page_is_saved(tmp_path):
    """`save` writes the page of `to_html`; other endings are refused before anything is written."""
    page = instructions(DESIGNS["warner"], QUESTION)
    page.save(tmp_path / "page.html")
    page.save(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text("utf-8") == page.to_html()
    with pytest.raises(rr.errors.ArgumentValueError, match=r"path must end in \.md"):
        page.save(tmp_path / "page.pdf")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_all_words_of_a_page_are_in_the_toml(monkeypatch):
    """A translator who changes the words there leaves no English word at the door."""

    def foreign(words, key=""):
        if key in ("parameter", "same", "marks", "says") or not isinstance(
            words, str | list | dict
        ):
            return words
        if isinstance(words, dict):
            return {name: foreign(text, name) for name, text in words.items()}
        if isinstance(words, list):
            return [foreign(text) for text in words]
        parts = re.split(r"(\{\w+\})", words)
        return "".join(p if p[:1] == "{" else re.sub("[A-Za-z]", "\u00e6", p) for p in parts)

    words = fieldwork._words()
    changed = {k: w if k == "examples" else foreign(w) for k, w in words.items()}
    monkeypatch.setattr(fieldwork, "_words", lambda: changed)
    for name, group in PAGES:
        door = at_the_door(instructions(DESIGNS[name], "?", group=group))
        mechanism = part(name, group)
        labels = [*mechanism.domain.categories, *mechanism.report_space.categories]
        own = {str(text) for text in labels} | {"A", "B", "yes", "no", "not", "has"}
        door = re.sub(r'"[^"]*"', "", door)
        assert not set(re.findall(r"[A-Za-z]+", door)) - own, name


@pytest.mark.parametrize(("name", "group"), PAGES)
def test_a_page_offers_what_its_sample_may_report(name, group):
    """The reports to write down are those that the sample's matrix makes possible, and all of them.

    A design that is said in words of the page, and a pair of reports, are checked by the office's
    sentence and the rule.
    """
    mechanism = part(name, group)
    page = instructions(DESIGNS[name], QUESTION, group=group)
    offered = re.search(r"respondent says \((.*?)\)\.", at_the_door(page))[1].split(", ")
    matrix = zip(mechanism.report_space.categories, mechanism.channel.entries, strict=True)
    possible = [str(report) for report, row in matrix if any(row)]
    office = " ".join(str(page).partition("Cut here.")[2].split())
    for answer, said in re.findall(r'"(\w+)" for "(\w+)"', office):
        offered = [answer if text == said else text for text in offered]
    if isinstance(mechanism.report_space.categories[0], tuple):
        assert {str((a, b)) for a in offered for b in offered} == set(possible)
    else:
        assert offered == possible


@pytest.mark.parametrize("items", [1, 3, 20])
def test_the_statements_of_a_list_are_as_many_as_its_counts(items):
    """Each sheet has one statement less than numbers to say; nobody reads the question aloud."""
    m = surveys.list_experiment(items)
    for group, statements in (("control", items), ("treatment", items + 1)):
        page = instructions(m, QUESTION, group=group)
        door = at_the_door(page)
        assert set(re.findall(r"(\d+) statements?", door)) == {str(statements)}
        assert f'"0" or "{statements}"' in door
        material, _, spoken = door.partition("Read aloud")
        assert (QUESTION in material) == (group == "treatment")
        assert QUESTION not in spoken
        assert "true answer" not in door


@pytest.mark.parametrize("name", ["crosswise", "direct", "kuk, one card"])
def test_a_sum_has_no_page(name):
    """The items of a sum are answered one by one; its matrix is no procedure, also read back."""
    for items in (2, 7):
        total = surveys.sum_of(DESIGNS[name], items)
        for mechanism in (total, from_dict(total.to_dict())):
            with pytest.raises(rr.errors.ArgumentValueError, match="design of one item"):
                instructions(mechanism, QUESTION)
            text = rr.privacy.methods(mechanism)
            assert f"Each of {items} questions was answered" in text
            assert "Warner" not in text
    assert instructions(rr.MatrixDesign([0, 1, 2], THIRDS, reports=[0, 1, 2]), QUESTION).rule


THIRDS = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]


def test_the_anchor_has_a_question_of_its_own():
    """The anchor question and the one compared with it are arguments; others have no such place."""
    pair = DESIGNS["crosswise_with_anchor"]
    moon = instructions(pair, QUESTION)
    assert "Were you born on the Moon?" in at_the_door(moon)
    prize = "Have you won the Nobel prize?"
    page = instructions(pair, QUESTION, anchor=prize, unrelated_anchor="Was she born in May?")
    door = at_the_door(page)
    assert f'think of this question: "{prize}"' in door
    assert 'a third question, and tell it to nobody: "Was she born in May?"' in door
    assert "Moon" not in door
    assert [draw.is_question for draw in page.draws] == [False, True]
    for name in ("anchor", "unrelated_anchor"):
        with pytest.raises(rr.errors.ArgumentTypeError, match=f"{name} must be left out"):
            instructions(DESIGNS["crosswise"], QUESTION, **{name: prize})


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium to print")
@pytest.mark.parametrize("name", ["crosswise_with_anchor", "KRR of six"])
def test_a_page_prints_on_a_sheet_for_the_field_and_one_for_the_office(name, tmp_path):
    """The longest pages, with a long question, are one sheet of Letter paper above the cut."""
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    instructions(DESIGNS[name], " ".join([QUESTION] * 3)).save(page)
    done = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    subprocess.run(
        [CHROMIUM, *done, f"--print-to-pdf={paper}", page.as_uri()], check=True, timeout=120
    )
    assert len(re.findall(rb"/Type\s*/Page[^s]", paper.read_bytes())) == 2


def test_a_design_printed_in_short_is_not_called_python():
    """A large matrix is printed as its size, which nobody can paste; the page says what to keep."""
    crosswise = rr.surveys.crosswise(["no", "yes"], 0.2, yes="yes")
    matrix = str(rr.privacy.instructions(rr.KRR(range(8), 0.5).then(rr.KRR(range(8), 0.5)), "?"))
    assert "line of Python" in matrix
    large = rr.MatrixDesign(range(20), (0.5 * np.eye(20) + 0.025).tolist(), reports=range(20))
    scores = str(rr.privacy.instructions(large, "How many?"))
    assert "line of Python" not in scores
    assert "JSON of its to_dict()" in scores
    assert "line of Python" in str(rr.privacy.instructions(crosswise, "Have you ever?"))


def test_decks_end_the_assurance_with_its_exception():
    """People of the group may find out, which follows that nobody else can be sure."""
    dealt = rr.surveys.warner(["no", "yes"], 0.75, yes="yes", deck=8)
    page = " ".join(str(rr.privacy.instructions(dealt, "Q?")).split())
    assert "sure of your true answer. But people who know what all others of your group" in page
