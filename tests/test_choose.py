"""The page "Choose an epsilon": its numbers are Python's, and it works in a browser."""

import functools
import http.server
import json
import math
import re
import shutil
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from browser import PROGRAM, Browser
from node import DOCS, in_node, needs_node

import rrstats as rr
from rrstats.inference import binomial
from rrstats.mechanisms.epsilon import round_up
from rrstats.planning.precision import binomial_counts

PAGE = DOCS / "choose.md"
STATIC = DOCS / "_static"
CLIENT = DOCS / "client"
FILES = {
    STATIC / "choose.mjs",
    STATIC / "choosing.mjs",
    STATIC / "rrstats.css",
    CLIENT / "estimate.mjs",
    CLIENT / "rrstats.mjs",
}
CHOOSING = STATIC / "choosing.mjs"

needs_chromium = pytest.mark.skipif(
    PROGRAM is None or shutil.which("bash") is None, reason="Chromium, or bash, is not installed"
)
pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the tests were copied away from the documents"
)


# -- the numbers -----------------------------------------------------------------------------------


def choices():
    """50 choices: the ends of all sliders, and random ones; 7 of them of a width."""
    for k in (2, 100):
        for n in (20, 50, 1_000_000):
            for epsilon in (0.05, 1.0, 8.0):
                yield {"k": k, "n": n, "proportion": 0.1, "epsilon": epsilon}
    for proportion in (0.001, 0.5, 0.999):
        yield {"k": 4, "n": 2000, "proportion": proportion, "epsilon": 1.1}
    rng = np.random.default_rng(3)
    for _ in range(22):
        yield {
            "k": int(rng.integers(2, 101)),
            "n": round(50 * 20_000 ** rng.random()),
            "proportion": round(rng.random(), 3),
            "epsilon": round(0.05 * 160 ** rng.random(), 3),
        }
    wishes = (0.0123, 0.03, 0.08, 0.2, 0.45, 0.45, 0.05)
    for half_width, n, k in zip(
        wishes, (9000, 2500, 300, 50, 20, 1000, 700), (2, 3, 7, 2, 7, 2, 20), strict=True
    ):
        yield {"k": k, "n": n, "proportion": 0.15, "half_width": half_width}


def plain(value):
    """A number as JavaScript writes it."""
    return repr(value).removesuffix(".0")


def mean_ends(n, proportion, mechanism):
    """The mean ends of the default interval, over the counts at which rr.planning computes it."""
    rates = mechanism.channel.binomial_rates
    q = rates.false_positive_rate[0]
    p = rates.true_positive_rate[0]
    counts, weights = binomial_counts(n, q + proportion * (p - q), 2000)
    ends = binomial.population_interval(counts, n, q, p)
    return [float(end @ weights / weights.sum()) for end in ends]


def in_python(k, n, proportion, epsilon=None, half_width=None):
    """The texts of a choice, from Python's functions."""
    note = call = ""
    if half_width is not None:
        least = rr.planning.least_epsilon(half_width, n, proportion, k)
        epsilon = max(float(round_up(least, 3)), 0.05)
        note = f"rounded up: {plain(epsilon)}"
        wish = ""
        if least <= 0.05:
            note = "at most 0.05"
            wish = " Epsilon 0.05, the smallest of this page, is enough."
        call = f"least_epsilon({plain(half_width)}, {n}, {plain(proportion)}, {k})  # {note}"
    mechanism = rr.KRR(range(k), epsilon=epsilon)
    width = rr.planning.half_width(n, proportion, mechanism)
    if half_width is None:
        wish = ""
        call = f"half_width({n}, {plain(proportion)}, {k}, epsilon={plain(epsilon)})  # {width:.4f}"
    low, high = mean_ends(n, proportion, mechanism)
    assert math.isclose(width, (high - low) / 2, rel_tol=1e-12)
    answers = n / rr.planning.relative_variance(proportion, mechanism)
    worth = f"{answers:.1f}" if answers < 10 else f"{answers:,.0f}"
    explained = str(rr.privacy.explain(mechanism, 0.05))
    others = "the other answer" if k == 2 else f"each of the {k - 1} other answers"
    other = float(mechanism.channel.prob_other)
    return {
        "result": f"At epsilon {plain(epsilon)}, the reports of {n:,} people give an interval of ± "
        f"{100 * width:.2f} percentage points on average.{wish}",
        "interval": f"{low:.2%} to {high:.2%}",
        "posterior": "A true answer that had 5% before has at most "
        f"{re.search('probability at most (.*?%)', explained)[1]} after.",
        "report": f"One report is the true answer with probability {mechanism.prob:.2%}, and "
        f"{others} with {other:.2%}.",
        "worth": f"{n:,} reports tell as much as {'less than 1' if answers < 1 else worth} direct "
        "answers would, if all were honest.",
        "explain": explained,
        "python": f"import rrstats as rr\n\nrr.planning.{call}\nreleased = people.rr.privatize("
        f'"answer", categories, epsilon={plain(epsilon)})  # {k} categories',
    }


@needs_node
def test_fifty_choices_print_as_python_does():
    """Every text with a number is the same, and the drawn ends are, too."""
    asked = list(choices())
    assert 50 == len(asked)
    for choice, told in zip(asked, in_node(CHOOSING, "module.shown(one)", asked), strict=True):
        expected = in_python(**choice)
        assert expected == told["texts"], choice
        mechanism = rr.KRR(range(choice["k"]), epsilon=told["epsilon"])
        assert mechanism.prob == told["prob"]
        ends = mean_ends(choice["n"], choice["proportion"], mechanism)
        np.testing.assert_allclose([told["low"], told["high"]], ends, rtol=1e-9, atol=1e-11)


@needs_node
def test_prob_and_epsilon_are_exact():
    """The prob of an epsilon is the very double of rr.KRR, and so is the epsilon of it."""
    rng = np.random.default_rng(6)
    asked = [[0.05 * 160 ** rng.random(), int(rng.integers(2, 101))] for _ in range(200)]
    asked += [[epsilon, k] for epsilon in (0.05, 0.5, 1, math.log(3), 8) for k in (2, 3, 100)]
    code = "((prob) => [prob, module.epsilonOf(prob, one[1])])(module.probOf(...one))"
    mechanisms = [rr.KRR(range(k), epsilon=epsilon) for epsilon, k in asked]
    assert [[each.prob, each.epsilon] for each in mechanisms] == in_node(CHOOSING, code, asked)


@needs_node
def test_numbers_are_rounded_up_as_python_does():
    """Powers of ten, thousands, and what is just above them."""
    values = [(1, 1), (10, 1), (999, 1), (9991, 10), (1_000_001, 1000), (1, 3), (1, 1000), (2, 19)]
    asked = [[a, b, digits] for a, b in values for digits in (2, 3, 4)]
    code = "module.roundUp([BigInt(one[0]), BigInt(one[1])], one[2])"
    expected = [round_up(Fraction(a, b), digits) for a, b, digits in asked]
    assert expected == in_node(CHOOSING, code, asked)


@needs_node
def test_a_width_beyond_all_epsilons_is_said():
    """Of a wish that no epsilon of the page reaches the largest epsilon is shown, and why."""
    (told,) = in_node(
        CHOOSING,
        "module.shown(one)",
        [{"k": 3, "n": 100, "proportion": 0.2, "half_width": 0.02}],
    )
    width = rr.planning.half_width(100, 0.2, 3, epsilon=8.0)
    expected = (
        "At epsilon 8, the reports of 100 people give an interval of "
        f"± {100 * width:.2f} percentage points on average. No epsilon up to 8 makes it "
        "± 2.00 points: ask more people, accept a wider interval, or ask directly."
    )
    assert expected == told["texts"]["result"]
    assert f"half_width(100, 0.2, 3, epsilon=8)  # {width:.4f}" in told["texts"]["python"]


@needs_node
def test_a_link_keeps_the_choice():
    """What a link says is read again; what is missing or outside of the bounds is the default."""
    defaults = {"k": 2, "n": 2000, "proportion": 0.1, "epsilon": 1}
    code = f"module.readFragment(one, {json.dumps(defaults)})"
    asked = list(choices())
    links = in_node(CHOOSING, "module.fragmentOf(one)", asked)
    assert asked == in_node(CHOOSING, code, [f"#{link}" for link in links])
    wrong = ["", "#how-to-read-it", "#k=1&n=1e9&proportion=0&epsilon=-1", "#k=2.5&epsilon=x&n="]
    assert [defaults] * len(wrong) == in_node(CHOOSING, code, wrong)


@needs_node
def test_the_line_of_python_runs():
    """The calls give what stands behind them, and the reports have that epsilon."""
    asked = [
        {"k": 3, "n": 500, "proportion": 0.2, "epsilon": 1.5},
        {"k": 3, "n": 500, "proportion": 0.2, "half_width": 0.1},
    ]
    categories = ["never", "once", "often"]
    for told in in_node(CHOOSING, "module.shown(one)", asked):
        lines = told["texts"]["python"].splitlines()
        names = {"people": pd.DataFrame({"answer": categories * 4}), "categories": categories}
        exec("\n".join(lines), names)  # the page's own lines
        value = eval(lines[2].partition("#")[0], names)
        shown = lines[2].rpartition(" ")[2]
        assert shown in (f"{value:.4f}", round_up(value, 3))
        assert told["prob"] == names["released"].rr.estimate("answer").mechanism.prob


# -- the page --------------------------------------------------------------------------------------


def test_the_page_is_small():
    """Scripts and styles have less than 100 kB together, and load nothing else."""
    assert sum(file.stat().st_size for file in FILES) < 100_000
    for file in FILES:
        text = file.read_text("utf-8")
        imported = re.findall(r'^(?:import|export) .* from "(.*)";$', text, re.M)
        assert {(file.parent / name).resolve() for name in imported} <= FILES
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|sendBeacon|@import|url\(", text)


def test_every_part_of_the_page_is_used():
    """The script finds each part that it fills, and no part stays empty."""
    named = re.findall(r'data-part="([^"]+)"', PAGE.read_text("utf-8"))
    assert len(set(named)) == len(named)
    script = (STATIC / "choose.mjs").read_text("utf-8")
    choosing = CHOOSING.read_text("utf-8")
    texts = re.search(r"const texts = {(.*?)\n  };", choosing, re.S)[1]
    filled = {*re.findall(r"^    (\w+):", texts, re.M), *re.findall(r'part\("([\w-]+)"\)', script)}
    bounds = re.search(r"BOUNDS = {(.*?)\n};", choosing, re.S)[1]
    sliders = set(re.findall(r"^  (\w+):", bounds, re.M))
    assert {*filled, *sliders, *(f"{name}-slider" for name in sliders)} == set(named)


# -- in a browser ----------------------------------------------------------------------------------


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves docs, and the page as its Markdown has it, with the list of deployments."""

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        if self.path != "/choose.html":
            return super().do_GET()
        blocks = re.findall(r"```{raw} html\n(.*?)```", PAGE.read_text("utf-8"), re.S)
        head = (
            '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            '<link rel="stylesheet" href="_static/rrstats.css">'
        )
        listed = rr.privacy.deployments().to_html()
        body = f"{head}{''.join(blocks)}{listed}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def served():
    handler = functools.partial(Files, directory=str(DOCS))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Page:
    """The page in a browser: what stands in its parts, and its keys."""

    def __init__(self, browser):
        self.browser = browser

    def text(self, name):
        return self.browser.evaluate(f"document.querySelector('[data-part={name}]').textContent")

    def value(self, name):
        return self.browser.evaluate(f"document.querySelector('[data-part={name}]').value")

    def drawn(self):
        """Wait until all that was asked is shown."""
        frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.browser.evaluate(f"{frame}.then(() => true)")

    def press(self, *keys):
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                text = key if len(key) == 1 else ""
                self.browser.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    text=text,
                    **CODES.get(key, {}),
                )
        self.drawn()

    def fits(self):
        return self.browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


CODES = {
    "Backspace": {"windowsVirtualKeyCode": 8},
    "Tab": {"windowsVirtualKeyCode": 9},
    "ArrowRight": {"windowsVirtualKeyCode": 39},
}


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_by_keyboard(served, width):
    """Keys move epsilon, that moves the width, and the other way round; a link keeps the choice."""
    with Browser() as browser:
        page = Page(browser)
        browser.open(f"{served}/choose.html", width=width)
        assert page.text("result") == in_python(2, 2000, 0.1, 1.0)["result"]
        page.press("Tab", "ArrowRight")  # the slider of categories
        assert "3" == page.value("k")
        page.press(*["Tab"] * 6, "ArrowRight")  # that of epsilon
        assert "1.1" == page.value("epsilon")
        expected = in_python(3, 2000, 0.1, 1.1)
        for name, text in expected.items():
            assert text == page.text(name)
        assert f"{100 * rr.planning.half_width(2000, 0.1, 3, epsilon=1.1):.2f}" == page.value(
            "half_width"
        )
        page.press("Tab", "Tab", "Tab", *["Backspace"] * 4, "3")  # the number of the width
        expected = in_python(3, 2000, 0.1, half_width=0.03)
        assert expected["result"] == page.text("result")
        assert plain(float(re.search(r"epsilon ([\d.]+)", expected["result"])[1])) == page.value(
            "epsilon"
        )
        page.press("Tab")
        link = browser.evaluate("document.querySelector('[data-part=link]').href")
        assert link.endswith("#k=3&n=2000&proportion=0.1&half_width=0.03")
        browser.open("about:blank")
        browser.open(link, width=width)
        assert expected["result"] == page.text("result")
        browser.evaluate("location.hash = 'how-to-read-it'")  # a place on the page, no choice
        page.drawn()
        assert expected["result"] == page.text("result")
        assert page.fits()
        unlabelled = (
            "[...document.querySelectorAll('#choose :is(input, pre)')].filter((each) => "
            "!each.labels?.length && !each.ariaLabel).length"
        )
        assert 0 == browser.evaluate(unlabelled)
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        page.press("Tab")
        assert "solid" == browser.evaluate(outline)
        failed = [e for e in browser.events if e["method"] == "Runtime.exceptionThrown"]
        assert [] == failed


@needs_chromium
@pytest.mark.slow
def test_the_page_loads_its_own_files_alone(served):
    """No other address is asked for, also when reports are drawn and sliders moved."""
    with Browser() as browser:
        page = Page(browser)
        browser.open(f"{served}/choose.html#k=5&n=300&proportion=0.25&epsilon=2")
        before = page.text("reports")
        assert {str(1 + code) for code in range(5)} >= set(before.split(", "))
        drawn = {before}
        for _ in range(20):
            browser.evaluate("document.querySelector('[data-part=again]').click()")
            drawn.add(page.text("reports"))
        assert len(drawn) > 1
        page.press("Tab", "ArrowRight", "ArrowRight")
        opened = {
            told["params"]["request"]["url"].partition("#")[0].removeprefix(f"{served}/")
            for told in browser.events
            if told["method"] == "Network.requestWillBeSent"
        }
        files = {file.relative_to(DOCS).as_posix() for file in FILES}
        assert {"choose.html", "data:,", *files} >= opened >= {"choose.html", *files}


@needs_chromium
@pytest.mark.slow
def test_the_page_places_the_choice_among_deployments(served):
    """The list is sorted by epsilon with the choice in it, and says how many are smaller."""
    listed = rr.privacy.deployments()["epsilon"]
    with Browser() as browser:
        for epsilon in (0.5, 1.2, 8):
            browser.open("about:blank")
            browser.open(f"{served}/choose.html#epsilon={epsilon}")
            shown = browser.evaluate(
                "[...document.querySelectorAll('tbody tr')].map((row) => "
                "[row.className, row.lastElementChild.textContent])"
            )
            values = [float(text) for _, text in shown]
            assert sorted([*listed, epsilon]) == values
            assert [epsilon] == [float(text) for kind, text in shown if kind == "chosen"]
            smaller = browser.evaluate("document.getElementById('compared').textContent")
            expected = f"{(listed < epsilon).sum()} of {len(listed)}."
            assert f"Deployments with a smaller epsilon than {epsilon}: {expected}" == smaller


@needs_chromium
@pytest.mark.slow
def test_what_is_typed_wrongly_is_said(served):
    """A number outside its bounds changes nothing, is marked and named, and goes away."""
    with Browser() as browser:
        page = Page(browser)
        browser.open(f"{served}/choose.html", width=390)
        before = page.text("result")
        page.press("Tab", "Tab", "2", "1", "1")  # 21 categories are some, 211 are not
        assert page.text("result") == in_python(21, 2000, 0.1, 1.0)["result"] != before
        assert page.text("wrong").startswith("Not taken: ")
        invalid = "document.querySelectorAll('[aria-invalid=true]').length"
        assert 1 == browser.evaluate(invalid)
        page.press("Tab")
        assert ("21", "", 0) == (page.value("k"), page.text("wrong"), browser.evaluate(invalid))


@needs_chromium
@pytest.mark.slow
def test_the_page_on_paper_and_in_the_dark(served):
    """Sliders and buttons are not printed, numbers are; the drawing has the colour of the text."""
    stroke = "getComputedStyle(document.querySelector('#choose svg .truth')).stroke"
    with Browser() as browser:
        colours = {}
        for dark in (False, True):
            browser.open(f"{served}/choose.html", width=390, dark=dark)
            colours[dark] = browser.evaluate(stroke)
        assert {False: "rgb(0, 0, 0)", True: "rgb(255, 255, 255)"} == colours
        browser.call("Emulation.setEmulatedMedia", media="print")
        seen = (
            "[...document.querySelectorAll('#choose %s')].filter((e) => e.checkVisibility()).length"
        )
        assert 0 == browser.evaluate(seen % "input[type=range]")
        assert 0 == browser.evaluate(seen % "button")
        assert 5 == browser.evaluate(seen % "input[type=number]")
        assert 1 == browser.evaluate(seen % "svg")
        browser.evaluate("document.documentElement.dataset.theme = 'dark'")  # as the site's theme
        for event, theme in (("beforeprint", "light"), ("afterprint", "dark")):
            browser.evaluate(f"dispatchEvent(new Event('{event}'))")
            assert theme == browser.evaluate("document.documentElement.dataset.theme")


@needs_chromium
@pytest.mark.slow
def test_the_page_without_its_script(tmp_path):
    """Opened as a file, where Chromium starts no modules, it says how to open it."""
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```{raw} html\n(.*?)```", text, re.S)
    (tmp_path / "choose.html").write_text("<!doctype html>" + "".join(blocks), "utf-8")
    with Browser() as browser:
        browser.open(tmp_path / "choose.html")
        assert "python -m http.server" in browser.evaluate("document.body.innerText")
        assert 0 == browser.evaluate(
            "[...document.querySelectorAll('input')].filter((e) => e.checkVisibility()).length"
        )
