"""The lint that finds comparisons with names of parts and laws."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
PACKAGES = ("api", "theory", "measurement", "experiment", "cli", "audits")


@pytest.fixture(scope="module")
def part_names():
    sys.path.insert(0, str(TOOLS))
    import part_names

    return part_names


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("if problem.learner == 'adam': pass", 1),
        ("if 'sphere' != embedding: pass", 1),
        ("x = options['task'] in ('memory', 'recall')", 1),
        ("if problem.learner == other: pass", 0),
        ("if stage == 'recall': pass", 0),
        ("if problem.learner == 'nobody': pass", 0),
    ],
)
def test_a_comparison_with_the_name_of_a_part_is_found(part_names, text, count):
    found = list(part_names.places(text, "file.py", part_names.known_names()))
    assert len(found) == count


def test_few_places_are_allowed():
    with (TOOLS / "part-names-allowed.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["file"].split("/")[0] in PACKAGES for row in rows) <= 5
    assert all(row["why"] for row in rows)
