"""Plain words: what a reader of international English would stumble over stays out.

Each pattern has the word to use. A word may be right after all in one place, such as a name in
somebody else's code: then that line is listed in `ALLOWED`, with the reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

USE_INSTEAD = {
    r"anew": "again",
    r"nought": "zero",
    r"torn": "corrupt",
    r"endless(ly)?": "population, or infinite",
    r"bent": "curved, or poor fit",
    r"twins?": "Monte Carlo",
    r"goes? on (from|where|with)": "resume",
    r"(?-i:Chance) of": "p-value",
    r"\(chance": "p =",
    r"facts a parameter": "facts per parameter",
    r"(seeds|runs|tests) a (cell|search|seed)": "per",
    r"critical batch(es)?": "critical sample size",
    r"(holds?|held) (\w+ ){0,4}against": "compare with, or check against",
    r"must lie": "expected range",
    r"worlds?": "instance",
    r"keepers?": "writer",
    r"kindly": "(leave it out)",
    r"(carry|carries|carried) out": "run",
    r"whilst|amongst|hitherto|thereof|wherein|herein|betwixt": "(a plainer word)",
}
ALLOWED = {
    ("tests/test_words.py", ""): "the list itself",
    ("CHANGELOG.md", "- Renamed, in"): "names that are no more",
    ("CHANGELOG.md", "`torn` shards are `corrupt`"): "the same",
    ("CHANGELOG.md", "| `World`"): "the same",
    ("CHANGELOG.md", "| a law's `chance`"): "the same",
}
SOURCES = [
    path
    for pattern in (
        "src/**/*.py",
        "src/**/*.j2",
        "src/**/*.toml",
        "src/**/*.css",
        "src/**/*.js",
        "src/**/*.html",
        "tests/*.py",
        "studies/*.py",
        "tools/*",
        "docs/**/*.md",
        "examples/**/*",
        "*.md",
        "pyproject.toml",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.is_file()
]


def found_in(text: str) -> list[tuple[int, str, str]]:
    """Line, word, and what to use instead."""
    return [
        (text.count("\n", 0, match.start()) + 1, match[0], instead)
        for pattern, instead in USE_INSTEAD.items()
        for match in re.finditer(rf"(?<![\w-])(?:{pattern})\b", text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_are_plain(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    lines = path.read_text(encoding="utf-8").splitlines()
    strange = [
        f"{name}:{line}: {word!r}: use {instead}"
        for line, word, instead in found_in("\n".join(lines))
        if not any(name == file and part in lines[line - 1] for file, part in ALLOWED)
    ]
    assert not strange, "\n".join(strange)


def test_the_test_sees_what_it_looks_for() -> None:
    text = "One law is bent.\nRun it anew; the command goes on where it was."
    assert [(line, word) for line, word, _ in found_in(text)] == [
        (2, "anew"),
        (1, "bent"),
        (2, "goes on where"),
    ]


def test_one_class_per_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            if not name.startswith("_"):
                homes.setdefault(name, []).append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_file_is_too_long_and_nothing_lies_loose() -> None:
    package = ROOT / "src" / "recallscope"
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in package.rglob("*.py")}
    assert {str(path): count for path, count in lengths.items() if count > 500} == {}
    loose = {path.name for path in package.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "cell.py", "problem.py", "record.py"}
