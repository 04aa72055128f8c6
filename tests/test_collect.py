"""docs/client/collect.py: reports are kept once, whatever breaks, and nothing else is kept."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import collect
import pytest
from browser import PROGRAM, Browser

import rrstats as rr

SERVER = Path(collect.__file__)
QUESTION = "Have you ever copied homework?"
NO_YES = ["no", "yes"]
MECHANISM = rr.KRR(NO_YES, 0.75)
TEXTS = {answer: rr.client.encode_report(MECHANISM, answer) for answer in NO_YES}

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")


@pytest.fixture
def path(tmp_path):
    """The file of a poll."""
    return tmp_path / "reports.txt"


@pytest.fixture
def poll(path):
    """A poll that runs in a thread."""
    with collect.Poll(("127.0.0.1", 0), path, QUESTION, NO_YES, 0.75) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def line(answer, number):
    """What a telephone sends."""
    return f"{TEXTS[answer]} {number:032x}".encode()


def ask(port, method, path, body=None, **headers):
    """The status, the headers and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def send(poll, body, **headers):
    """The status of a report."""
    return ask(poll.server_port, "POST", "/reports", body, **headers)[0]


def counts(poll):
    """The counts that the page of results reads."""
    return json.loads(ask(poll.server_port, "GET", "/counts")[2])["counts"]


def start(path, *options):
    """A poll of its own process, and its port."""
    process = subprocess.Popen(
        [sys.executable, SERVER, "--file", path, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    first = process.stdout.readline()
    second = process.stdout.readline()
    assert "demonstration" in first
    return process, int(re.search(r":(\d+)/", second)[1])


def options_of(port):
    """The class poll at a port of this machine."""
    asked = ["--question", QUESTION, "--categories", *NO_YES, "--prob", "0.75"]
    return [*asked, "--port", str(port)]


@pytest.mark.parametrize(
    ("categories", "prob"),
    [(NO_YES, 0.75), (["nie", "einmal", "öfter"], 0.6), (["</script>", "b", "c", "d"], 1 / 3)],
)
def test_the_design_of_its_form_is_that_of_rrstats(path, categories, prob):
    """The page has the question, the mechanism and the fingerprint; no label ends the block."""
    with collect.Poll(("127.0.0.1", 0), path, QUESTION, categories, prob) as server:
        page = server.pages["/"][1].decode()
    design = json.loads(re.search(r'<script type="application/json".*?>(.*?)</script>', page)[1])
    mechanism = rr.mechanisms.from_dict(design["mechanism"])
    assert rr.KRR(categories, prob) == mechanism
    texts = [rr.client.encode_report(mechanism, answer).encode() for answer in categories]
    assert texts == server.reports.texts
    assert texts[0].decode().split(".")[1] == design["fingerprint"]
    assert (QUESTION, "/reports") == (design["question"], design["collector"])


def test_a_report_is_counted_once(poll, path):
    """The same line again is confirmed again; another number is another report."""
    for body in (line("yes", 1), line("yes", 1), line("yes", 2), line("no", 3), line("yes", 1)):
        assert send(poll, body) == 200
    assert counts(poll) == [1, 2]
    assert path.read_bytes().count(b"\n") == 3


def test_half_a_line_is_dropped_and_order_is_not_kept(path):
    """What a kill left half written was not confirmed; sorted, nothing says who came first."""
    written = [line("yes", 9), line("no", 5), line("yes", 7)]
    path.write_bytes(b"\n".join([*written, line("no", 8)[:-1]]))
    reports = collect.Reports(path, [text.encode() for text in TEXTS.values()])
    assert reports.counts() == [1, 2]
    reports.add(line("no", 1))
    assert path.read_bytes().splitlines() == [*sorted(written), line("no", 1)]
    reports.close()
    assert path.read_bytes().splitlines() == sorted([*written, line("no", 1)])


def test_a_file_of_another_poll_is_left_alone(path):
    """Another design does not take its reports, and does not delete them."""
    path.write_bytes(line("yes", 1) + b"\nrr1.0123456789abcdef.00 " + b"0" * 32 + b"\n")
    before = path.read_bytes()
    with pytest.raises(SystemExit, match="another poll"):
        collect.Reports(path, [text.encode() for text in TEXTS.values()])
    assert path.read_bytes() == before


def test_a_running_poll_keeps_its_file(poll, path):
    """A second server at the address starts not, and writes not."""
    before = path.stat().st_ino
    with pytest.raises(OSError, match="in use"):
        collect.Poll(("127.0.0.1", poll.server_port), path, QUESTION, NO_YES, 0.75)
    assert path.stat().st_ino == before


@pytest.mark.parametrize("broken", ["write", "fsync"])
def test_what_is_not_on_the_disk_is_not_confirmed(poll, path, monkeypatch, broken):
    """A full disk is told, leaves no half line, and the same report is kept later."""
    assert send(poll, line("no", 1)) == 200
    with monkeypatch.context() as patch:
        if broken == "fsync":

            def fail(_):
                raise OSError

            patch.setattr(collect.os, "fsync", fail)
        else:

            class Full:
                fileno = poll.reports.file.fileno
                truncate = poll.reports.file.truncate

                def write(self, data):
                    os.write(self.fileno(), data[:9])
                    return 9

            patch.setattr(poll.reports, "file", Full())
        assert send(poll, line("yes", 2)) == 503
        assert path.read_bytes() == line("no", 1) + b"\n"
    assert counts(poll) == [1, 0]
    assert send(poll, line("yes", 2)) == 200
    assert path.read_bytes().splitlines() == [line("no", 1), line("yes", 2)]


def test_it_refuses_what_is_no_report(poll, path, monkeypatch):
    """Other lengths, texts, designs, paths and pages; nothing of them is kept."""
    sound = line("yes", 1)
    assert send(poll, sound + b"\n") == 413
    assert send(poll, sound, Origin="http://elsewhere.example") == 404
    assert send(poll, sound[:-1] + b"\n") == 400
    assert send(poll, sound[:-1] + b"G") == 400
    assert send(poll, sound.replace(b".01 ", b".02 ")) == 400
    assert send(poll, sound.replace(b"rr1.", b"rr1.0", 1)[:-1]) == 400
    huge = {"Content-Length": str(10**12)}
    assert ask(poll.server_port, "POST", "/reports", b"", **huge)[0] == 413
    assert ask(poll.server_port, "POST", "/", sound)[0] == 404
    assert ask(poll.server_port, "PUT", "/reports", sound)[0] == 501
    for name in ("/collect.py", "/reports", "/reports.txt", "/../client.md", "/results?x", "/%2e"):
        assert ask(poll.server_port, "GET", name)[0] == 404
    monkeypatch.setattr(collect, "MAX_REPORTS", 0)
    assert send(poll, sound) == 507
    assert path.read_bytes() == b""


def test_its_pages_say_what_a_browser_may_do(poll):
    """Every answer forbids other places, frames and caches, and names no version of Python."""
    for name in ("/", "/results", "/form.mjs", "/counts", "/nowhere"):
        status, headers, _ = ask(poll.server_port, "GET", name)
        assert (status == 200) == (name != "/nowhere")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Python" not in headers["Server"]


def test_an_answer_that_gets_lost_does_not_count_twice(poll):
    """A telephone that hangs up before it is told sends the same line again."""
    body = line("yes", 1)
    head = f"POST /reports HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", poll.server_port)) as connection:
        connection.sendall(head + body)
    until = time.monotonic() + 20
    while counts(poll) != [0, 1]:
        assert time.monotonic() < until
    assert send(poll, body) == 200
    assert counts(poll) == [0, 1]


def test_it_writes_no_address(poll, capfd, monkeypatch):
    """Neither for what is kept or refused, nor where a request fails."""

    def fail(_):
        raise RuntimeError("127.0.0.1")

    assert send(poll, line("yes", 1)) == 200
    assert send(poll, b"spam") == 413
    monkeypatch.setattr(poll.reports, "take", fail)
    with pytest.raises(http.client.RemoteDisconnected):
        send(poll, line("yes", 2))
    assert capfd.readouterr() == ("", "a request failed: RuntimeError\n")


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is an address of Linux")
@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("127.0.0.2", True)])
def test_it_says_what_it_is_and_who_can_read(path, monkeypatch, capsys, host, warns):
    """The first line calls it a demonstration; beyond loopback others can read."""
    monkeypatch.setattr(sys, "argv", ["collect.py", "--host", host, "--port=0", f"--file={path}"])
    monkeypatch.setattr(collect.Poll, "serve_forever", lambda _: signal.raise_signal(signal.SIGINT))
    collect.main()
    first, second, *more = capsys.readouterr().out.splitlines()
    assert first == collect.__doc__.splitlines()[0]
    assert "demonstration" in first
    assert f"http://{host}:" in second
    assert [warns] == [bool(more and "Without TLS" in more[0])]


@pytest.mark.parametrize(
    "options",
    [["--prob", "0.3"], ["--prob", "1"], ["--categories", "a"], ["--categories", "a", "a"]],
)
def test_it_refuses_what_is_no_design(path, monkeypatch, options):
    """Before a file is written."""
    monkeypatch.setattr(sys, "argv", ["collect.py", f"--file={path}", *options])
    with pytest.raises(SystemExit):
        collect.main()
    assert not path.exists()


def telephone(port, body, delay):
    """Send a line until it is confirmed."""
    time.sleep(delay)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/reports", body, method="POST")
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.slow
def test_thirty_telephones_and_two_kills(path):
    """Of 30 reports in a few seconds none is lost or counted twice; nothing else is written."""
    answers = ["yes"] * 9 + ["no"] * 21
    bodies = [line(rr.client.report(MECHANISM, answer), n) for n, answer in enumerate(answers)]
    process, port = start(path, *options_of(0))
    telephones = [
        threading.Thread(target=telephone, args=(port, body, random.uniform(0, 2)))
        for body in bodies
    ]
    for each in telephones:
        each.start()
    for enough in (8, 20):
        while path.read_bytes().count(b"\n") < enough:
            time.sleep(0.001)
        process.kill()
        process.communicate(timeout=20)
        process, _ = start(path, *options_of(port))
    for each in telephones:
        each.join(60)
    assert Counter(path.read_bytes().splitlines()) == Counter(bodies)
    tally = json.loads(ask(port, "GET", "/counts")[2])["counts"]
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == ("", None)
    assert process.returncode == 0
    reports = [body.split()[0].decode() for body in path.read_bytes().splitlines()]
    assert (
        rr.tally(rr.client.decode_report(MECHANISM, reports), MECHANISM).reported.tolist() == tally
    )
    assert path.read_bytes().splitlines() == sorted(bodies)
    assert [path] == list(path.parent.iterdir())


# The same random bytes for every answer, so that all that differs comes from the answer.
SCRIPTED = """let state = 7; crypto.getRandomValues = (array) => {
  for (let place = 0; place < array.length; place += 1) {
    state = (state * 1103515245 + 12345) % 2147483648;
    array[place] = state >> 16;
  }
  return array;
};"""
CHOOSE = """(place) => new Promise((done) => {
  document.querySelectorAll("input")[place].click();
  document.querySelector("button").click();
  const outcome = document.getElementById("outcome");
  setInterval(() => outcome.textContent === "This was sent" && done(), 5);
})"""


def answer_in(browser, poll, place):
    """Choose an answer in the form; what the browser sends while the page is open."""
    browser.open(f"http://127.0.0.1:{poll.server_port}/", width=390)
    browser.evaluate(f"({CHOOSE})({place})")
    told = [event["params"] for event in browser.events]
    requests = [each["request"] for each in told if "request" in each]
    return [
        (each["method"], each["url"], each["headers"], each.get("postData", ""))
        for each in requests
    ]


@needs_chromium
@pytest.mark.slow
def test_only_the_report_depends_on_the_answer(poll):
    """With the same random bytes, all requests of two people differ in the report alone."""
    with Browser() as browser:
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=SCRIPTED)
        sent = [answer_in(browser, poll, place) for place in range(2)]
    paths = ["/", "/form.mjs", "/rrstats.mjs", "/reports"]
    for requests in sent:
        assert [url.rpartition(":")[2].partition("/")[2] for _, url, _, _ in requests] == [
            path[1:] for path in paths
        ]
        assert [body for method, _, _, body in requests if method == "GET"] == [""] * 3
    no, yes = (requests[-1][3] for requests in sent)
    assert {no.split()[0], yes.split()[0]} == set(TEXTS.values())  # one coin, two answers
    assert no.split()[1] == yes.split()[1]
    without = [[*map(list, requests)] for requests in sent]
    for requests in without:
        requests[-1][3] = requests[-1][3].split()[1]
    assert without[0] == without[1]
    assert counts(poll) == [1, 1]


def words_of(mechanism, counts):
    """The numbers of rr.estimate, as the screen writes them."""
    found = rr.estimate(rr.Tally.from_counts(counts, mechanism))
    each = zip(mechanism.categories, found.proportions, *found.interval(), strict=True)
    return {f"{name}: {value:.1%}, {low:.1%} to {high:.1%}" for name, value, low, high in each}


@needs_chromium
@pytest.mark.slow
def test_the_screen_shows_the_estimate_of_python(poll):
    """Live, to the printed digit, also outside of 0% to 100%; nothing is wider than the screen."""
    address = f"http://127.0.0.1:{poll.server_port}/results"
    shown = "[...document.querySelectorAll('#drawing text')].map((text) => text.textContent)"
    arriving = iter([line("yes", 1), *[line("no", number) for number in range(29)]])
    with Browser() as browser:
        browser.open(address, width=390)
        for enough, said in ((1, "One report: no 0, yes 1."), (30, "30 reports: no 29, yes 1.")):
            while sum(poll.reports.counts()) < enough:
                poll.reports.take(next(arriving))
            until = time.monotonic() + 20
            while browser.evaluate("document.getElementById('reports').textContent") != said:
                assert time.monotonic() < until
                time.sleep(0.05)
            counts_now = dict(zip(NO_YES, poll.reports.counts(), strict=True))
            assert words_of(MECHANISM, counts_now) <= set(browser.evaluate(shown))
        assert QUESTION == browser.evaluate("document.querySelector('h1').textContent")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert not [event for event in browser.events if event["method"] == "Log.entryAdded"]
