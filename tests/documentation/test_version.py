"""The version is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import recallscope

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere():
    version = recallscope.__version__
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["dynamic"] == ["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\ncopyright: recallscope {version}," in (ROOT / "mkdocs.yml").read_text()
    citation = (ROOT / "src/recallscope/cli/citation.bib").read_text(encoding="utf-8")
    assert f"\n  version = {{{version}}},\n" in citation
    assert f"```bibtex\n{citation}```\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d+\.\d+\.\d+)", changes, re.MULTILINE)[0] == version
