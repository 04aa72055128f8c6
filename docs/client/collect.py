"""A demonstration, and no collector for a survey: a poll of the people in one room.

    python collect.py                    # the form on this computer, as form.html asks it
    python collect.py --host 0.0.0.0     # for the telephones in this network
    python collect.py --question "Have you ever copied homework?" --categories no yes --prob 0.75

Serves form.html, appends reports to a file and shows the estimate.  It needs no package.
Each line of the file is a report and a random number by which a report that is sent again is
counted once.  docs/guide/poll.md says what a real collector needs.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DESIGN = re.compile(r'(?<=<script type="application/json" id="design">).*?(?=</script>)', re.DOTALL)
MAX_REPORTS = 10_000
PAGES = {"/results": "results.html"}
PAGES |= {f"/{name}": name for name in ("form.mjs", "rrstats.mjs", "results.mjs", "estimate.mjs")}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Reports:
    """The lines of a file: none lost that was confirmed, none twice, none half written."""

    def __init__(self, path, texts):
        self.path = path
        self.texts = texts
        self.lock = threading.Lock()
        written = path.read_bytes() if path.exists() else b""
        self.lines = set(written.split(b"\n")[:-1])  # a last line without its end: not confirmed
        if not all(map(self.is_report, self.lines)):
            raise SystemExit(f"{path} has lines of another poll: name another file with --file")
        self.sort()
        self.file = path.open("ab", buffering=0)

    def is_report(self, line):
        return line[:-33] in self.texts and re.fullmatch(rb" [0-9a-f]{32}", line[-33:])

    def sort(self):
        """Write the file anew, sorted: the order of arrival is gone, and half a line, too."""
        new = self.path.with_name(f"{self.path.name}.new")
        with new.open("wb") as file:
            file.writelines(line + b"\n" for line in sorted(self.lines))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
        if os.name == "posix":  # the name in its folder, too
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def add(self, line):
        """Append a line; on return it is on the disk, whole."""
        size = os.fstat(self.file.fileno()).st_size
        try:
            if self.file.write(line + b"\n") <= len(line):
                raise OSError("the disk is full")
            os.fsync(self.file.fileno())
        except OSError:
            self.file.truncate(size)
            raise
        self.lines.add(line)

    def take(self, line):
        """Keep what a telephone sends; 200 says that it is on the disk, perhaps already."""
        with self.lock, suppress(OSError):
            if not self.is_report(line):
                return 400
            if line not in self.lines and len(self.lines) < MAX_REPORTS:
                self.add(line)
            return 200 if line in self.lines else 507
        return 503

    def counts(self):
        with self.lock:
            counts = Counter(line[:-33] for line in self.lines)
        return [counts[text] for text in self.texts]

    def close(self):
        with self.lock:  # what comes later is not confirmed
            self.file.close()
            self.sort()


class Answers(BaseHTTPRequestHandler):
    """What the server says; all reports of a poll are equally long."""

    timeout = 10  # seconds without a word
    server_version = "poll"
    sys_version = ""

    def log_message(self, *_):
        """Log nothing: no addresses, no times."""

    def end_headers(self):
        for header in HEADERS.items():
            self.send_header(*header)
        super().end_headers()

    def answer(self, status, body=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/counts":
            state = {**self.server.asked, "counts": self.server.reports.counts()}
            self.answer(200, json.dumps(state).encode(), "application/json")
        else:
            self.answer(*self.server.pages.get(self.path, (404,)))

    def do_POST(self):
        own = (None, "null", f"http://{self.headers['Host']}")
        length = len(self.server.reports.texts[0]) + 33
        if self.path != "/reports" or self.headers["Origin"] not in own:  # a page elsewhere
            self.answer(404)
        elif self.headers["Content-Length"] != str(length):
            self.answer(413)
        else:
            self.answer(self.server.reports.take(self.rfile.read(length)))


class Poll(ThreadingHTTPServer):
    """One question, its pages and its reports."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere two polls could share an address

    def __init__(self, address, path, question, categories, prob):
        super().__init__(address, Answers)  # first: where it runs already, no file is touched
        labels = [{"str": category} for category in categories]
        mechanism = {"type": "KRR", "categories": labels, "prob": prob}
        plain = json.dumps(mechanism, sort_keys=True, separators=(",", ":"))
        fingerprint = hashlib.sha256(plain.encode()).hexdigest()[:16]
        texts = [f"rr1.{fingerprint}.{code:02x}".encode() for code in range(len(categories))]
        self.reports = Reports(path, texts)
        self.asked = {"question": question, "categories": categories, "prob": prob}
        design = {"question": question, "collector": "/reports", "mechanism": mechanism}
        block = json.dumps({**design, "fingerprint": fingerprint}).replace("<", "\\u003c")
        form = DESIGN.sub(lambda _: block, (FOLDER / "form.html").read_text("utf-8"))
        self.pages = {"/": (200, form.encode(), "text/html")}
        for name, file in PAGES.items():
            kind = "text/javascript" if file.endswith(".mjs") else "text/html"
            self.pages[name] = (200, (FOLDER / file).read_bytes(), kind)

    def __exit__(self, *error):
        super().__exit__(*error)
        self.reports.close()

    def handle_error(self, *_):
        """Name the error alone: the usual message has the address of the telephone."""
        print("a request failed:", sys.exc_info()[0].__name__, file=sys.stderr)


def main():
    found = DESIGN.search((FOLDER / "form.html").read_text("utf-8"))
    form = json.loads(found[0])
    names = [label["str"] for label in form["mechanism"]["categories"]]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--question", default=form["question"])
    parser.add_argument("--categories", nargs="+", default=names)
    parser.add_argument("--prob", type=float, default=form["mechanism"]["prob"])
    parser.add_argument("--file", type=Path, default="reports.txt", help="where reports are kept")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 is every network")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    k = len(set(options.categories))
    if not 2 <= k == len(options.categories) <= 256:
        parser.error("--categories must be 2 to 256 different answers")
    if not 1 / k < options.prob < 1:
        parser.error(f"--prob must be between 1/{k} and 1 for {k} categories")
    address = (options.host, options.port)
    with Poll(address, options.file, options.question, options.categories, options.prob) as poll:
        print(__doc__.splitlines()[0])
        print(f"form: http://{options.host}:{poll.server_port}/  estimate: /results", flush=True)
        if options.host not in ("127.0.0.1", "localhost"):
            print("Without TLS others in this network can read reports, or change the form.")
        with suppress(KeyboardInterrupt):
            poll.serve_forever()


if __name__ == "__main__":
    main()
