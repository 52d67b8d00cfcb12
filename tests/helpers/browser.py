"""A real browser for tests: Chromium without a window, which can reach no host.

It records every request of a page, and every error and warning.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass
class Tab:
    """A page with its requests and its errors and warnings."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def barriers(self, impacts: Collection[str] | None = None) -> list[str]:
        """Accessibility problems that axe-core finds, of the given impacts only."""
        return [
            f"{found['id']}: {node['html'][:120]}"
            for found in Axe().run(self.page).response["violations"]
            if impacts is None or found["impact"] in impacts
            for node in found["nodes"]
        ]


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium, and end it."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise RuntimeError("there is no browser: apt-get install chromium")
    nowhere = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=nowhere)
        yield chromium
        chromium.close()


def open_tab(chromium: Browser, address: str, width: int, mobile: bool = False) -> Tab:
    """A page in a new tab, when it has loaded."""
    size = {"width": width, "height": 900}
    page = chromium.new_page(viewport=size, is_mobile=mobile, has_touch=mobile)
    tab = Tab(page)
    page.on("request", lambda request: tab.requests.append(request.url))
    page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    page.on(
        "console",
        lambda said: said.type in ("error", "warning") and tab.complaints.append(said.text),
    )
    page.goto(address)
    return tab
