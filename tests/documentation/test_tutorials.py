"""Every command and Python block in the tutorials runs, and prints the output shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from blocks import blocks, run_page

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [
    *TUTORIALS,
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "quickstart",
            "plan",
            "extending",
            "tables",
            "setting",
            "theory",
            "derivation",
            "performance",
        )
    ),
]

FAST = ("quickstart", "embedding-matrix", "setting", "derivation")
"""Run on every change, as the README is; the slow lane runs every block of every page."""

EVERY_PAGE = [
    ROOT / "README.md",
    # Commands are compared with --help by another test.
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.stem != "commands"),
    *TUTORIALS,
]


def test_there_are_tutorials():
    assert len(TUTORIALS) >= 4


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem in FAST], ids=lambda page: page.stem
)
def test_page(page, tmp_path):
    """One folder for each page, with the files of a checkout."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert any(block.language in ("sh", "python") for block in blocks(page))
    done = run_page(page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.stem)
def test_every_block_of_every_page(page, tmp_path, monkeypatch):
    """Console blocks as well, in a folder with the files that they name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BROWSER", "true")
    for folder in ("examples", "reproduction", "docs", "src", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = run_page(page, tmp_path, "--console")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_few_blocks_are_only_for_show(page):
    assert sum(block.language == "console" for block in blocks(page)) <= 4


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "page.md, line 5: shown is"),
        ("```sh\necho 1\nfalse\n```\n", "page.md, line 1: exit code 1"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
    ],
)
def test_a_page_that_is_wrong_fails(page, complaint, tmp_path):
    (tmp_path / "page.md").write_text(page)
    done = run_page(tmp_path / "page.md", tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_a_page_that_is_right_passes(tmp_path):
    page = "```python\nx = 1\n```\n\n```sh\necho 2\n```\n\n```python\nprint(x, 'of', 2)\n```\n"
    (tmp_path / "page.md").write_text(page + "\n```text\n1 ... 2\n```\n")
    assert run_page(tmp_path / "page.md", tmp_path).returncode == 0
