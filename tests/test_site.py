"""The site: every public name has a page, and pages look to a reader as they are meant."""

import importlib
import importlib.util
import inspect
import operator
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from browser import PROGRAM, Browser
from node import NODE, needs_node

import rrstats
from rrstats.accessor import FrameAccessor, SeriesAccessor
from rrstats.datasets import book

DOCS = Path(__file__).resolve().parent.parent / "docs"
SITE = DOCS.parent / "build" / "site"
ENGINES = {"dask": "dask", "polars": "polars", "spark": "pyspark"}

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the tests were copied away from the documents"
)
CHROMIUM = pytest.mark.skipif(
    PROGRAM is None or shutil.which("bash") is None, reason="Chromium, or bash, is not installed"
)

BUILT = pytest.mark.skipif(
    not (SITE / "index.html").exists(),
    reason="no site; python -m sphinx -W -b html docs build/site",
)


def public_names():
    """The names of rrstats, of its public modules and engines, and of the accessors."""
    places = {f"rrstats.{name}": getattr(rrstats, name) for name in rrstats.__all__}
    places["rrstats.planning.compliance"] = rrstats.planning.compliance
    yield from (name for name, one in places.items() if not inspect.ismodule(one))
    for engine, package in ENGINES.items():
        if importlib.util.find_spec(package):
            places[f"rrstats.engines.{engine}"] = importlib.import_module(
                f"rrstats.engines.{engine}"
            )
    for name, one in places.items():
        if inspect.ismodule(one):
            inner_names = {f"{name}.{inner}" for inner in one.__all__}
            yield from inner_names - places.keys()
    for kind in (FrameAccessor, SeriesAccessor):
        name = f"rrstats.accessor.{kind.__name__}"
        yield name
        yield from (f"{name}.{inner}" for inner in vars(kind) if inner[0] != "_")


def test_every_public_name_has_a_page(monkeypatch, pa):
    """The pages of the reference list all public names, once each, and each module."""
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("reference_pages")
    listed = [name for names in pages.listed(DOCS / "reference").values() for name in names]
    assert len(listed) == len(set(listed))
    assert [] == sorted(set(public_names()) - set(listed))
    text = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    for name in [*rrstats.__all__, "planning.compliance"]:
        if inspect.ismodule(operator.attrgetter(name)(rrstats)):
            assert re.search(rf"(py:|auto)module(::|}}) rrstats.{name}\n", text)
    for name in listed:
        if not name.startswith("rrstats.engines"):
            assert pages.page(name)


def test_members_of_a_class_stand_by_use(monkeypatch):
    """What users type first comes first; nothing is lost, and accessors keep their own order."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("reference_pages")
    attributes, methods = pages.members(rrstats.estimators.Estimate)
    assert methods[:3] == ["interval", "conf_int", "to_frame"]
    assert attributes[:4] == ["proportions", "counts", "low", "high"]
    assert len(attributes) + len(methods) == len({*attributes, *methods})
    named = {name for name, _ in inspect.getmembers(rrstats.estimators.Estimate) if name[0] != "_"}
    assert named >= {*attributes, *methods} >= {"mle", "mechanism", "design_effect", "naive"}
    _, methods = pages.members(FrameAccessor)
    assert methods[:3] == ["privatize", "simulate", "estimate"]


def test_members_with_pages_of_their_own_are_described_once(monkeypatch):
    """Two descriptions of one name fail the build."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("reference_pages")
    names = [name for names in pages.listed(DOCS / "reference").values() for name in names]
    assert "rrstats.estimators.Crosstab.association" in names
    text = pages.page("rrstats.estimators.Crosstab", names)
    assert ".. automethod:: rrstats.estimators.Crosstab.interval\n" in text
    assert ".. automethod:: rrstats.estimators.Crosstab.association\n" not in text
    assert ".. automethod:: rrstats.estimators.Crosstab.association\n" in pages.page(
        "rrstats.estimators.Crosstab.association"
    )


@pytest.mark.parametrize("page", ["cheatsheet.md", "guide/own_model.md", "citing.md"])
def test_names_of_short_pages_exist(page, pa):
    """Every rr.name on the page is one; the cells run when the site is built."""
    text = (DOCS / page).read_text("utf-8")
    names = set(re.findall(r"(?<!\.)\brr\.(\w+(?:\.\w+)*)", text))
    assert names
    for name in sorted(names):
        place = rrstats
        for part in name.split("."):
            place = getattr(place, part)
    for owner, mark in ((rrstats.estimators.Estimate, "est"), (FrameAccessor, r"\w+\.rr")):
        for name in re.findall(rf"\b{mark}\.([a-z_]+)\(", text):
            assert hasattr(owner, name), name


@needs_node
@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Intro. The tally\n counts, e.g. reports. It adds. Yes.", "counts", "The tally counts,"),
        ("Intro. The tally counts. It adds! Really? Yes.", "Really", "Really? Yes."),
        ("No end here", "end", "No end here"),
        ("a " * 300 + "needle " + "b " * 300, "needle", "\u2026 a"),
    ],
)
def test_search_excerpts_are_sentences(text, word, expected):
    """An excerpt begins with the sentence that holds the word; endless ones are cut."""
    script = "const {sentencesAt} = require(process.argv[1]);" + (
        "console.log(sentencesAt(process.argv[2], process.argv[2].indexOf(process.argv[3])));"
    )
    call = [NODE, "-e", script, str(DOCS / "_static" / "excerpts.js"), text, word]
    shown = subprocess.run(call, check=True, capture_output=True, text=True, timeout=60).stdout
    assert shown.startswith(expected)
    assert word in shown
    assert len(shown) < 330


def test_every_study_has_a_page(monkeypatch, tmp_path):
    """It has each question with both numbers, the citation and a picture; the table links to it."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("study_pages")
    studies = pages.by_study()
    table = pages.table(studies)
    assert [each.id for listed in studies.values() for each in listed] == list(book.questions())
    for key, listed in studies.items():
        text = " ".join(pages.page(key, listed, "a picture").split())
        for question in listed:
            assert f"| {question.id} |" in text
            assert f"| {pages.published(question)} | {question.computed:.4f} |" in text
            assert f"| [{question.id}](studies/{key}.md) |" in table
        assert listed[0].citation.replace("_", "\\_") in text.replace("\\.", ".")
        assert f"```{{image}} {key}.svg :alt: a picture" in text
    alternative = pages.draw(studies["hunters2018"], tmp_path / "hunters2018.svg")
    assert "hunters2018.bulbul: computed 19.44%, published 0.194" in alternative
    first = (tmp_path / "hunters2018.svg").read_bytes()
    pages.draw(studies["hunters2018"], tmp_path / "hunters2018.svg")
    assert (tmp_path / "hunters2018.svg").read_bytes() == first


class Links(HTMLParser):
    """The names of a page's elements, and what its links and pictures refer to."""

    def __init__(self, page):
        super().__init__()
        self.names, self.targets = set(), []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note one element."""
        for key, value in attributes:
            if key in ("id", "name"):
                self.names.add(value)
            elif (tag, key) in {("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")}:
                self.targets.append(value)


@BUILT
@pytest.mark.slow
def test_no_link_of_the_site_is_broken():
    """What a page refers to within the site is there, and so is the place in it."""
    pages = {page: Links(page) for page in SITE.rglob("*.html") if "_static" not in page.parts}
    assert len(pages) > 150
    broken = []
    for page, links in pages.items():
        for target in map(urlsplit, links.targets):
            if target.scheme or target.netloc:
                continue
            there = (page.parent / unquote(target.path)).resolve() if target.path else page
            place = unquote(target.fragment)
            if not there.exists() or (place and there in pages and place not in pages[there].names):
                broken.append((page.relative_to(SITE).as_posix(), target.geturl()))
    assert [] == broken


@BUILT
@CHROMIUM
@pytest.mark.slow
def test_pages_fit_a_telephone():
    """No page scrolls sideways at 390 pixels, every picture is drawn, and no script fails."""
    generated = SITE / "reference" / "generated"
    pages = [page for page in SITE.rglob("*.html") if "_static" not in page.parts]
    pages = [page for page in pages if page.parent != generated or page.stem.endswith("-class")]
    faulty = []
    with Browser() as browser:
        for page in sorted(pages):
            browser.open(page, width=390)
            wide = browser.evaluate(
                "Math.max(...[...document.querySelectorAll('html, .bd-article-container')]"
                ".map(one => one.scrollWidth))"
            )
            unseen = browser.evaluate(
                "[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)"
            )
            errors = [e for e in browser.events if e.get("method") == "Runtime.exceptionThrown"]
            if wide > 390 or unseen or errors:
                faulty.append((page.relative_to(SITE).as_posix(), wide, unseen, errors))
    assert [] == faulty


@BUILT
@CHROMIUM
@pytest.mark.slow
def test_search_leads_to_the_guide():
    """The page of a task is among the first eight results for the words a reader would type."""
    expected = {
        "confidence interval": "guide/estimate.html",
        "sample size": "guide/planning.html",
        "crosswise": "guide/survey_designs.html",
        "SPSS": "guide/files.html",
        "weights": "guide/groups_and_weights.html",
    }
    with Browser() as browser:
        for words, page in expected.items():
            browser.open(f"{(SITE / 'search.html').as_uri()}?q={quote(words)}")
            found = browser.evaluate(
                "new Promise(done => setInterval(() => document.querySelector('.search-summary')"
                "?.textContent.startsWith('Search finished') && done([...document.querySelectorAll("
                "'ul.search li > a')].map(a => a.getAttribute('href').split('#')[0])), 200))"
            )
            assert page in found[:8], words


@BUILT
@CHROMIUM
@pytest.mark.slow
def test_playground_says_what_it_could_not_load():
    """Without a network the button of the playground names what is missing, and stays usable."""
    with Browser() as browser:
        browser.open(SITE / "playground.html")
        browser.evaluate("document.querySelector('#playground button').click()")
        shown = browser.evaluate(
            "new Promise(done => setInterval(() => document.querySelector('#playground-output')"
            ".textContent && done(document.querySelector('#playground').textContent), 50))"
        )
        assert browser.evaluate("!document.querySelector('#playground button').disabled")
    assert "It did not run" in shown
    assert "pyodide.js could not be loaded" in shown
    assert (SITE / "_static" / "rrstats.zip").stat().st_size > 100_000
