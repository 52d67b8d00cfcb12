"""A real browser for tests: Chromium without a window, driven through a pipe.

It can reach no host, tells of every request a page makes and of all that it complains about.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4.
_LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, wanted in zip(ends, (3, 4)):
    os.dup2(end, wanted)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """The pipe to a running browser.

    with browser() as chromium:
        page = chromium.open("file:///tmp/report.html", width=390)
        print(page.evaluate("document.title"), page.requests, page.complaints)
    """

    def __init__(self, commands: int, answers: int, patience: float) -> None:
        self._commands, self._answers, self._patience = commands, answers, patience
        self._sent, self._unread, self._pages = 0, b"", dict[str, "Page"]()

    def open(self, url: str, width: int, height: int = 900, mobile: bool = False) -> Page:
        """A page in a tab of its own, when it has loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        if mobile:
            page.call("Emulation.setTouchEmulationEnabled", enabled=True)
        if problem := page.call("Page.navigate", url=url).get("errorText"):
            raise RuntimeError(f"{url}: {problem}")
        while not page.loaded:
            self._read()
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._sent += 1
        asked = {"id": self._sent, "method": method, "params": parameters}
        message = {**asked, "sessionId": session} if session else asked
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._commands, unsent) :]
        while (answer := self._read()).get("id") != self._sent:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select([self._answers], [], [], self._patience)[0]:
                raise TimeoutError(f"the browser said nothing for {self._patience} s")
            if not (more := os.read(self._answers, 1 << 20)):
                raise RuntimeError("the browser is gone")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if page := self._pages.get(message.get("sessionId", "")):
            page.hear(message)
        return message


class Page:
    """A tab: what it asked for, what it complained about, and what it looks like."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.loaded = False
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, for this tab."""
        return self._browser.call(method, self._session, **parameters)

    def hear(self, message: dict[str, Any]) -> None:
        """Note an event."""
        told = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self.loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(told["url"])
            case "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                thrown = details.get("exception", {}).get("description")
                self.complaints.append(f"exception: {thrown or details['text']}")
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                words = [str(each.get("value", each.get("description"))) for each in told["args"]]
                self.complaints.append(f"console: {' '.join(words)}")
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"log: {told['entry']['text']}")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def screenshot(self, path: Path, top: float = 0, height: float | None = None) -> None:
        """A PNG of the whole page, or of a part of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            **{"x": 0, "y": top, "width": size["width"], "scale": 1},
            "height": min(height or size["height"], size["height"] - top),
        }
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it prints."""
        found = self.call("Page.printToPDF", preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser(patience: float = 60) -> Iterator[Browser]:
    """Start Chromium with a profile of its own, and end it."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise RuntimeError("there is no browser: apt-get install chromium")
    their_in, commands = os.pipe()
    answers, their_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        launch = [sys.executable, "-c", _LAUNCH, str(their_in), str(their_out), program, *FLAGS]
        process = subprocess.Popen(
            [*launch, f"--user-data-dir={profile}"],
            pass_fds=(their_in, their_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        chromium = Browser(commands, answers, patience)
        try:
            yield chromium
        finally:
            os.close(commands)  # it ends when no one can command it any more
            os.close(answers)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
