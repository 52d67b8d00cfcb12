"""The site builds without a warning, its links work, and it fetches nothing from other hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from inline_code import inline_code

import recallscope
from browser import browser, open_tab

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))


class Reference(NamedTuple):
    """A reference of a page, and its element."""

    element: str
    target: str


class Page(HTMLParser):
    """The references, the anchors and the prose of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.references: list[Reference] = []
        self.anchors: set[str] = set()
        self.prose: list[str] = []
        self._verbatim = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src", "srcset", "data", "poster") and value:
                self.references.append(Reference(tag, value))
            if name in ("id", "name") and value:
                self.anchors.add(value)
        self._verbatim += tag in ("code", "pre", "script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._verbatim -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self._verbatim:
            self.prose.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built from a copy, so the checkout is not changed."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_built_and_in_the_menu(site):
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert sorted(re.findall(r"(\S+\.md)$", menu, re.MULTILINE)) == sorted(map(str, PAGES))
    for page in PAGES:
        assert (site / page.with_suffix(".html")).exists(), page


def test_every_public_name_has_its_place(site):
    anchors = Page(site / "api.html").anchors
    assert {f"recallscope.{name}" for name in recallscope.__all__} <= anchors


def test_links_lead_somewhere(site, pages):
    for path, page in pages.items():
        for element, target in page.references:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                continue
            # Absolute for 404.html, which is served at any address.
            root = site if url.path.startswith("/") else path.parent
            there = (root / unquote(url.path).lstrip("/")).resolve() if url.path else path
            there = there / "index.html" if there.is_dir() else there
            assert there.is_relative_to(site), f"{path.name}: {element} {target}"
            assert there.exists(), f"{path.name}: {element} {target}"
            if url.fragment and there.suffix == ".html":
                anchor = unquote(url.fragment)
                assert anchor in pages[there].anchors, f"{path.name}: {element} {target}"


def test_only_links_lead_elsewhere(pages):
    """And only to the paper."""
    for path, page in pages.items():
        for element, target in page.references:
            url = urlsplit(target)
            if url.scheme == "data":  # in the page itself
                continue
            if url.scheme or url.netloc:
                assert (element, url.netloc) == ("a", "arxiv.org"), f"{path.name}: {target}"


def test_styles_and_pages_fetch_nothing(site):
    fetched = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"]?)(?:https?:)?//")
    for path in [*site.rglob("*.css"), *site.rglob("*.html"), *site.rglob("*.svg")]:
        assert not fetched.search(path.read_text(encoding="utf-8")), path
    assert not [path for path in site.rglob("*") if path.suffix in (".woff", ".woff2", ".ttf")]


def test_pages_have_nothing_that_makes_the_theme_fetch_scripts(site):
    """Its bundle would fetch these for diagrams, galleries, editors and repositories."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for wish in ('class="mermaid"', "glightbox", "pyodide", "ace_editor", "source_link"):
            assert wish not in text, f"{path.name}: {wish}"
        assert 'data-md-component="source"' not in text, path.name


def test_pages_have_no_code_in_their_attributes(site):
    found = {path.name: inline_code(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert {name: code for name, code in found.items() if code} == {}


def test_formulas_are_drawn(pages):
    for path, page in pages.items():
        prose = "".join(page.prose)
        assert "$" not in prose, path.name
        assert "\\" not in prose, path.name


@pytest.mark.parametrize("width", [1000, 1300])
def test_formulas_of_the_derivation_are_not_cut_off(site, width):
    wider = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.id)"
    with browser() as chromium:
        tab = open_tab(chromium, (site / "derivation.html").as_uri(), width)
        assert tab.page.eval_on_selector_all(".formula", wider) == []


SCHEMES = ("light", "dark")


def serious(site, names, scheme):
    """Accessibility problems that axe-core finds in pages."""
    found = []
    with browser() as chromium:
        for name in names:
            tab = open_tab(chromium, (site / name).as_uri(), 1280)
            tab.page.emulate_media(color_scheme=scheme)
            tab.page.reload()
            tab.page.wait_for_timeout(200)
            found += [f"{name}: {each}" for each in tab.barriers(("serious", "critical"))]
            tab.page.close()
    return found


def test_a_page_with_tables_and_formulas_can_be_read_by_all(site):
    assert serious(site, ["lower-bound.html"], "light") == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_page_can_be_read_by_all(site, scheme):
    names = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    assert serious(site, names, scheme) == []


def test_search_finds_a_word_of_the_glossary(site):
    """Its index is there, and has every page."""
    index = (site / "search.json").read_text(encoding="utf-8")
    for page in PAGES:
        assert str(page.with_suffix(".html")) in index or page.name == "index.md", page
    assert "exposures per fact" in index
