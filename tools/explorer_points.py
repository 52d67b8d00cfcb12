"""Write the measured points that the explorer shows: `python -m tools.explorer_points`.

From the runs of the reproduction, and from the phase diagrams of the study phase_diagram.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import read_csv
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.experiment.summary import summarise
from recallscope.measure.planes import from_rows
from recallscope.problem.problem import Problem
from reproduction.evidence import BUNDLE, Evidence
from reproduction.recorded_names import with_todays_names
from reproduction.statements import STATEMENTS

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src" / "recallscope" / "explorer" / "measured.json"
OPTIONS = ("width", "activation", "embedding", "trigger_in_values")
SIZES = ("vocab", "samples", "dim", "length", *OPTIONS)
LEFT_OUT = ("mlp-plane", "equal-size")  # so many points that the page would double
NAMES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")
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
    evidence = Evidence.at(BUNDLE)
    runs: dict[Problem, list[Record]] = defaultdict(list)
    source: dict[Problem, str] = {}
    crossings = []
    sweeps = {sweep.name: sweep for each in STATEMENTS.values() for sweep in each.sweeps}
    for name, sweep in sorted(sweeps.items()):
        if sweep.measure is not None or name in LEFT_OUT:
            continue
        if "critical" in sweep.full:
            for size in evidence.critical_sizes(sweep):
                if plain(size.problem) and size.status is Status.OK:
                    place = fields(size.problem) | {size.quantity: None}
                    ends = [round(math.exp(end)) for end in size.shown]
                    row = [size.quantity, size.accuracy, size.target, *ends]
                    crossings.append([*place.values(), f"statements, {name}", *row])
            continue
        for record in evidence.runs(sweep):
            if plain(record.problem):
                runs[record.problem].append(record)
                source[record.problem] = f"statements, {name}"
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
    table = ROOT / "reproduction" / "studies" / "phase_diagram" / "phase_diagram.csv"
    rows = with_todays_names(read_csv(table))
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
