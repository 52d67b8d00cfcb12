"""Rows of the page on the paper's statements name functions, figures and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from blocks import run_page

import recallscope

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"
FOLLOWED = "function, figure, test"
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def rows() -> list[dict[str, str]]:
    """The rows of the tables that have a column of functions."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(), re.MULTILINE):
        head, _, *lines = (
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in table.strip().split("\n")
        )
        if FOLLOWED in head:
            found += [dict(zip(head, line, strict=True)) for line in lines]
    return found


def test_there_are_rows_for_sizes_and_for_statements():
    assert len(rows()) == 7 + 15


@pytest.mark.parametrize("row", rows(), ids=lambda row: next(iter(row.values()))[:30])
def test_a_row_names_what_exists(row):
    functions = re.findall(r"`(\w+)[(`]", row[FOLLOWED].partition("<br>")[0])
    assert functions
    assert all(hasattr(recallscope, name) for name in functions)
    (figure,) = re.findall(r"\(([^)]+\.png)\)", row[FOLLOWED])
    assert (PAGE.parent / figure).exists()
    (test,) = re.findall(r"`(test_\w+)`", row[FOLLOWED])
    assert f"\ndef {test}(" in TESTS


def test_the_table_of_constants_is_what_the_functions_say(tmp_path):
    done = run_page(PAGE, tmp_path)
    assert done.returncode == 0, done.stderr
