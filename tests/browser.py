"""A headless Chromium, driven through a pipe: pages as a reader sees them.

    with Browser() as browser:
        browser.open(path, width=390, dark=True)
        browser.evaluate("document.title")

From the command line, PNGs of pages at 1280 and 390 pixels, light and dark, beside each other:

    python tests/browser.py FOLDER page.html ...
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Browser:
    """One tab of a Chromium of its own, without a network but this machine."""

    def __enter__(self) -> Browser:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4, whatever they are here.
        command = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        quiet = [
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--disable-background-networking",
        ]
        folder = [f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", PROGRAM, *options, *quiet, *folder],
            pass_fds=(to_child, from_child),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self.read)
        os.close(self.write)
        self.profile.cleanup()

    def message(self) -> dict[str, Any]:
        """The next message, each of which ends with a zero byte."""
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method: str, **parameters: Any) -> Any:
        """What a command of the DevTools protocol answers; events are kept in `events`."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        while True:
            told = self.message()
            if told.get("id") != self.number:
                self.events.append(told)
            elif "error" in told:
                raise RuntimeError(f"{method}: {told['error']['message']}")
            else:
                return told["result"]

    def open(self, page: Path | str, *, width: int = 1280, dark: bool = False) -> None:
        """Load a file or an address, in a window of some width, and wait until it is drawn."""
        mobile = width < 600
        size = {"width": width, "height": 844 if mobile else 900, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=mobile, **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        address = page.resolve().as_uri() if isinstance(page, Path) else page
        self.call("Page.navigate", url=address)
        until = time.monotonic() + 60
        while not any(told.get("method") == "Page.loadEventFired" for told in self.events):
            if time.monotonic() > until:
                raise TimeoutError(address)
            self.events.append(self.message())
        self.evaluate(
            "Promise.resolve(window.MathJax?.startup?.promise)"
            ".then(() => document.fonts.ready).then(() => new Promise(requestAnimationFrame))"
            ".then(() => true)"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, waited for where it is a promise."""
        told = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["exception"]["description"])
        return told["result"].get("value")

    def screenshot(self, path: Path | str, height: int = 6000) -> None:
        """A PNG of the page from its top, at most so many pixels high."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height)}
        told = self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1}
        )
        Path(path).write_bytes(base64.b64decode(told["data"]))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for name in sys.argv[2:]:
            for width in (1280, 390):
                for dark in (False, True):
                    browser.open(Path(name), width=width, dark=dark)
                    shade = "dark" if dark else "light"
                    browser.screenshot(folder / f"{Path(name).stem}-{width}-{shade}.png")
