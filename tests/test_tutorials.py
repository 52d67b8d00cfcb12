"""Every command and every piece of Python in the tutorials runs, and prints what is shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blocks import blocks, run_page

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [*TUTORIALS, ROOT / "docs" / "quickstart.md", ROOT / "docs" / "faq.md"]


def test_there_are_tutorials():
    assert len(TUTORIALS) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path):
    """One folder for each page, with what a checkout has."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert any(block.language in ("sh", "python") for block in blocks(page))
    done = run_page(page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_few_blocks_are_only_for_show(page):
    assert sum(block.language == "console" for block in blocks(page)) <= 4
