"""Problems that studies recorded, with their measurements; studies and tests read them."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from recallscope import Problem, solve
from reproduction.recorded_names import with_todays_names

HERE = Path(__file__).parent


def load_summary(study: str) -> tuple[list[Problem], list[dict[str, str]]]:
    """The problems of a study with their measurements."""
    with (HERE / f"{study}.csv").open() as file:
        lines = with_todays_names(csv.DictReader(file))
    return [problem_of(line, int(line["samples"])) for line in lines], lines


def problem_of(line: dict[str, str], samples: int) -> Problem:
    """The problem that a line of a study is about."""
    return Problem(
        samples=samples,
        **{name: int(line[name]) for name in ("vocab", "dim", "length")},
        width=int(line["width"]) if line["width"] else None,
        activation=line["activation"] or None,
        embedding=line["embedding"],
        trigger_in_values=line["trigger_in_values"] == "True",
    )


def ratios(target: float) -> list[float]:
    """Solved over simulated N* of every problem of critical.csv, at a target of recall."""
    with (HERE / "critical.csv").open() as file:
        rows = list(csv.DictReader(file))
    solved = [solve(problem_of(row, samples=1), "samples", target).value for row in rows]
    return [
        (value or math.inf) / int(row["simulated"]) for value, row in zip(solved, rows, strict=True)
    ]
