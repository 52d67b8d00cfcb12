"""Write the measured points that the explorer shows: `python tools/explorer_points.py`.

From the runs that come with the package, and from the phase diagrams of studies/phase_diagram.csv.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import read_csv
from recallscope.measurement.phase import from_rows
from recallscope.measurement.summary import summarise
from recallscope.paper.bundle import bundled_evidence
from recallscope.paper.evidence import NotMeasuredError
from recallscope.paper.presets import sweep_of
from recallscope.paper.registry import CLAIMS
from recallscope.problem import Problem
from recallscope.record import Record, Status

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src" / "recallscope" / "explorer" / "measured.json"
OPTIONS = ("width", "activation", "embedding", "trigger_in_values")
SIZES = ("vocab", "samples", "dim", "length", *OPTIONS)
NAMES = ("lock_accuracy", "recall_accuracy", "one_step_accuracy")
POINT = (*SIZES, "source", "seeds", *NAMES)
CROSSING = (*SIZES, "source", "size", "accuracy", "target", "value", "low", "high")


def measured() -> dict[str, Any]:
    """Points with the interval of each accuracy, and where an accuracy crosses a target."""
    points, crossings = of_bundle()
    for more, into in zip(of_study(), (points, crossings), strict=True):
        into += more
    return {
        "point": POINT,
        "points": points,
        "crossing": CROSSING,
        "crossings": crossings,
    }


def of_bundle() -> tuple[list[Any], list[Any]]:
    evidence = bundled_evidence()
    runs: dict[Problem, list[Record]] = defaultdict(list)
    source: dict[Problem, str] = {}
    crossings = []
    for name in sorted({name for claim in CLAIMS.values() for name in claim.sweeps}):
        if sweep_of(name, "full").critical is None:
            try:
                found = evidence.runs(name)
            except NotMeasuredError:  # a sweep of measures, which are no runs
                continue
            for record in found:
                if plain(record.problem):
                    runs[record.problem].append(record)
                    source[record.problem] = f"claims, {name}"
            continue
        for search in evidence.searches(name):
            each = search.result()
            if plain(each.problem) and each.status is Status.OK:
                place = fields(each.problem) | {each.quantity: None}
                row = [each.quantity, each.accuracy, each.target, each.value, each.low, each.high]
                crossings.append([*place.values(), f"claims, {name}", *row])
    points = [
        [*fields(problem).values(), source[problem], len(records), *intervals(records)]
        for problem, records in runs.items()
    ]
    return points, crossings


def plain(problem: Problem) -> bool:
    """Whether the closed forms, and so the page, are about it."""
    return (
        problem.learner == "three-step" and problem.regime == "limit" and problem.task == "recall"
    )


def fields(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in SIZES} | {
        "samples": None if problem.samples == float("inf") else problem.samples
    }


def intervals(records: list[Record]) -> list[list[float]]:
    found = summarise(records)
    return [[short(value) for value in found[name]] for name in NAMES]


def short(value: float) -> float:
    return float(f"{value:.4g}")


def of_study() -> tuple[list[Any], list[Any]]:
    rows = read_csv(ROOT / "studies" / "phase_diagram.csv")
    source = "a phase diagram of 512 facts"
    points = [
        [
            *(row[name] for name in ("vocab", "samples", "dim", "length")),
            *(None, None, row["embedding"], row["trigger_in_values"], source),
            *(len(row["right"].split()), None),
            [short(row[name]) for name in ("mean", "low", "high")],
            None,
        ]
        for row in rows
    ]
    crossings = []
    for diagram in from_rows(rows):
        drawn = diagram.to_dict()
        problem = {name: drawn["problem"].get(name) for name in SIZES}
        for crossing in drawn["boundary"]:
            if crossing["value"] is None:
                continue
            place = problem | {drawn["x"]["name"]: crossing["x"], drawn["y"]["name"]: None}
            ends = [short(crossing[name]) if crossing[name] else None for name in ENDS]
            result = [drawn["y"]["name"], drawn["accuracy"], drawn["target"], *ends]
            crossings.append([*place.values(), source, *result])
    return points, crossings


ENDS = ("value", "low", "high")

if __name__ == "__main__":
    text = json.dumps(measured(), separators=(",", ":"))
    TARGET.write_text(text.replace("],[", "],\n[") + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size:,} bytes")
