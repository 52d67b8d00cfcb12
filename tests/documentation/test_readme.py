"""Every command and Python block in the README runs, and prints the output shown."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from blocks import blocks, run_page

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_readme_runs(tmp_path):
    languages = [block.language for block in blocks(README)]
    assert (languages.count("sh"), languages.count("text")) == (1, 3)
    assert languages.count("python") == 2
    assert languages.count("console") == 1  # the installation
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # the files of a checkout
    done = run_page(README, tmp_path)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text()):
        path = README.parent / target.partition("#")[0]
        assert target.startswith("https://arxiv.org/") or path.exists(), target


def test_the_readme_shows_the_three_steps_of_the_reference():
    (shown,) = (block.code for block in blocks(README) if block.language == "py")
    reference = (ROOT / "src/recallscope/three_step/reference.py").read_text()
    for line in shown.splitlines():
        assert f"    {line}\n" in reference
