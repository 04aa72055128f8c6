"""docs/client/form.html in Chromium: what it sends, what it shows, and what the reports say."""

import http.server
import json
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from browser import PROGRAM, Browser

import rrstats as rr
from rrstats import mechanisms

FOLDER = Path(__file__).parents[1] / "docs" / "client"
FORM = (FOLDER / "form.html").read_text("utf-8")
DESIGN = json.loads(re.search(r'<script type="application/json".*?>(.*?)</script>', FORM, re.S)[1])
MECHANISM = mechanisms.from_dict(DESIGN["mechanism"])
TYPES = {".html": "text/html; charset=utf-8", ".mjs": "text/javascript"}

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")

# One page answers for many: opened anew each time, 4,000 would take minutes.
ASK = """async (answers) => {
  const frame = document.body.appendChild(document.createElement("iframe")), shown = [];
  await new Promise((loaded) => { frame.onload = loaded; frame.src = "/form.html"; });
  const page = frame.contentDocument, part = (id) => page.getElementById(id);
  for (const answer of answers) {
    part("fields").disabled = false;
    page.querySelectorAll("input")[answer].click();
    page.querySelector("button").click();
    while (part("outcome").textContent === "Sending") await new Promise((wait) => setTimeout(wait));
    const kept = page.querySelectorAll("input:checked").length + localStorage.length;
    shown.push([part("outcome").textContent, part("report").textContent, kept]);
  }
  frame.remove();
  return shown;
}"""


class Collector(http.server.ThreadingHTTPServer):
    """Serves the form with itself as collector; keeps requests, refuses the first reports."""

    daemon_threads = True

    def __init__(self, refused=0):
        self.requests, self.refused, self.lock = [], refused, threading.Lock()
        super().__init__(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Say nothing."""

    def answer(self, status, body=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "person=7")
        self.send_header("Cache-Control", "no-store" if kind == "text/plain" else "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def keep(self, body=""):
        with self.server.lock:
            self.server.requests.append((self.command, self.path, body, dict(self.headers)))

    def do_GET(self):
        self.keep()
        if self.path == "/":
            return self.answer(200, b"<link rel=icon href='data:,'><body>", "text/html")
        file = FOLDER / self.path[1:]
        if not file.is_file():
            return self.answer(404)
        text = file.read_text("utf-8").replace('"collector": null', '"collector": "/reports"')
        return self.answer(200, text.encode(), TYPES[file.suffix])

    def do_POST(self):
        self.keep(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.refused -= 1
        self.answer(503 if self.server.refused >= 0 else 204)


def test_the_form_has_the_fingerprint_of_its_design():
    """The design that stands in the page is one of rrstats, and no collector is set."""
    text = rr.client.encode_report(MECHANISM, MECHANISM.categories[0])
    assert (None, text.split(".")[1]) == (DESIGN["collector"], DESIGN["fingerprint"])


@needs_chromium
@pytest.mark.slow
def test_reports_of_the_form_are_estimated():
    """Only reports leave the page, and the estimate of 4,000 holds the true proportions.

    The intervals are exact for binomial counts, and wider than needed for fixed answers (Hoeffding
    1956): all three miss together in less than 3e-7 of runs.  A page that sends the answer itself
    gives 0.75 for 0.5, more than twice the interval away.
    """
    answers = [0, 1, 0, 2, 0, 1, 0, 2, 0, 1] * 20
    with Collector() as collector, Browser() as browser:
        browser.open(f"{collector.address}/")
        shown = [one for _ in range(20) for one in browser.evaluate(f"({ASK})({answers})")]
    reports = [body for method, _, body, _ in collector.requests if method == "POST"]
    assert reports == [text for _, text, _ in shown]
    assert {("This was sent", 0)} == {(outcome, kept) for outcome, _, kept in shown}
    sent = {(method, path) for method, path, _, _ in collector.requests}
    pages = {("GET", path) for path in ("/", "/form.html", "/form.mjs", "/rrstats.mjs")}
    assert {*pages, ("POST", "/reports")} == sent
    for method, _, _, headers in collector.requests:
        assert method == "GET" or not {"Cookie", "Referer"} & set(headers)
    opened = {
        told["params"]["request"]["url"].rpartition("/")[0]
        for told in browser.events
        if told["method"] == "Network.requestWillBeSent"
    }
    assert {collector.address} == opened
    texts, numbers = zip(*(line.split(" ") for line in reports), strict=True)
    assert len(set(numbers)) == len(reports)
    assert {True} == {re.fullmatch("[0-9a-f]{32}", number) is not None for number in numbers}
    found = rr.estimate(rr.client.decode_report(MECHANISM, texts), MECHANISM)
    low, high = found.interval(1 - 1e-7)
    shares = np.bincount(answers) / len(answers)
    assert ((low < shares) & (shares < high) & (high - low < 0.3)).all()


@needs_chromium
@pytest.mark.slow
def test_the_form_by_keyboard_on_a_small_screen():
    """Keys answer it; a refused report is sent again, the same one; no answer is kept or lost."""
    with Collector(refused=1) as collector, Browser() as browser:
        browser.open(f"{collector.address}/form.html", width=390)

        def press(key, text=""):
            for kind in ("keyDown", "keyUp"):
                browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text)

        def wait(outcome):
            browser.evaluate(
                "new Promise((done) => setInterval(() => document.getElementById('outcome')"
                f".textContent === {outcome!r} && done(), 5))"
            )

        assert "60% your answer" in browser.evaluate("document.body.innerText")
        assert "at most 3 times as likely" in browser.evaluate("document.body.innerText")
        press("Tab")
        press("ArrowDown")
        assert "once" == browser.evaluate("document.querySelector(':checked').labels[0].innerText")
        press("Enter", "\r")
        wait("The report could not be sent")
        assert "result" == browser.evaluate("document.activeElement.id")
        press("Tab")
        press("Enter", "\r")
        wait("This was sent")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        unlabelled = "[...document.querySelectorAll('input')].filter((one) => !one.labels.length)"
        assert 0 == browser.evaluate(f"{unlabelled}.length")
        browser.evaluate("document.getElementById('form').requestSubmit()")  # sends no third one
        browser.open(f"{collector.address}/form.html")
        press("Tab")
        press("ArrowDown")
        browser.open(f"{collector.address}/")
        browser.evaluate("history.back()")
        shown = "document.querySelectorAll('input%s').length"
        while browser.evaluate(shown % "") != 3:
            time.sleep(0.01)
        assert 0 == browser.evaluate(shown % ":checked")  # an answer that was not sent is forgotten
        browser.evaluate("crypto.getRandomValues = null")
        browser.evaluate(
            "document.querySelector('input').click(); document.forms.form.requestSubmit()"
        )
        assert "Nothing was sent" in browser.evaluate("document.body.innerText")
        assert 0 == browser.evaluate(shown % ":checked")
    first, second = (body for method, _, body, _ in collector.requests if method == "POST")
    assert first == second
    assert rr.client.decode_report(MECHANISM, first.split(" ")[0]) in MECHANISM.categories


@needs_chromium
@pytest.mark.slow
def test_the_form_without_its_script():
    """Opened as a file, where Chromium starts no modules, the form is closed and says why."""
    with Browser() as browser:
        browser.open(FOLDER / "form.html", width=390)
        assert "The form is closed" in browser.evaluate("document.body.innerText")
        visible = "document.querySelector('form').checkVisibility()"
        assert [False, True] == browser.evaluate(
            f"[{visible}, document.querySelector(':disabled') !== null]"
        )
