"""The site: every public name has a page, and pages look to a reader as they are meant."""

import importlib
import importlib.util
import inspect
import shutil
from pathlib import Path

import pytest
from browser import PROGRAM, Browser

import rrstats

DOCS = Path(__file__).resolve().parent.parent / "docs"
ENGINES = {"dask": "dask", "polars": "polars", "spark": "pyspark"}

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the tests were copied away from the documents"
)
CHROMIUM = pytest.mark.skipif(
    PROGRAM is None or shutil.which("bash") is None, reason="Chromium, or bash, is not installed"
)


def public_names():
    """The names of rrstats, of its public modules and engines, and of the accessors."""
    places = {f"rrstats.{name}": getattr(rrstats, name) for name in rrstats.__all__}
    yield from (name for name, one in places.items() if not inspect.ismodule(one))
    for engine, package in ENGINES.items():
        if importlib.util.find_spec(package):
            places[f"rrstats.engines.{engine}"] = importlib.import_module(
                f"rrstats.engines.{engine}"
            )
    for name, one in places.items():
        if inspect.ismodule(one):
            yield from (f"{name}.{inner}" for inner in one.__all__)
        elif name.endswith("Accessor"):
            yield from (f"{name}.{inner}" for inner in vars(one) if inner[0] != "_")


def test_every_public_name_has_a_page(monkeypatch):
    """The pages of the reference list all public names, once each, and each module."""
    pytest.importorskip("pyarrow")  # for `rrstats.files`
    monkeypatch.syspath_prepend(DOCS)
    pages = importlib.import_module("reference_pages")
    listed = [name for names in pages.listed(DOCS / "reference").values() for name in names]
    assert len(listed) == len(set(listed))
    assert [] == sorted(set(public_names()) - set(listed))
    text = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    for name in rrstats.__all__:
        if inspect.ismodule(getattr(rrstats, name)):
            assert f"py:module:: rrstats.{name}\n" in text
    for name in listed:
        if not name.startswith("rrstats.engines"):
            assert pages.page(name)


@CHROMIUM
@pytest.mark.slow
def test_browser_shows_a_page_in_each_width_and_shade(tmp_path):
    """A window has the width and the shade that were asked for; a picture of it is a PNG."""
    page = tmp_path / "page.html"
    page.write_text("<meta name=viewport content='width=device-width'><p>one")
    with Browser() as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(page, width=width, dark=dark)
            assert width == browser.evaluate("innerWidth")
            assert dark == browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
            browser.screenshot(tmp_path / "page.png")
            assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
