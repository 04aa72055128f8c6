"""The built site: pages that a reader sees as they are meant."""

import shutil

import pytest
from browser import PROGRAM, Browser

pytestmark = pytest.mark.slow

CHROMIUM = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")


@CHROMIUM
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
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
