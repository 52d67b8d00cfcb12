"""The figures of docs/plan.md: planned against measured recall, and bits for each parameter.

planner/planner_figures
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.theory.laws.small_transformers import spread_near
from recallscope.theory.recorded_error import SMALL_MODELS, recorded
from reproduction.studies.end_of_training.end_figures import draw
from reproduction.studies.planner.planner import judged, runs_of

NAMES = ("load", "exposures", "examples", "dim", "layers", "rank", "bits", "context", "trained")
LINES = {"lower: 2 bits (Allen-Zhu and Li)": 2.0, "upper: 3.64 bits (Morris and others)": 3.64}


def left_out() -> list[tuple[str, float, float, float, float]]:
    """Of the sixty by today's law, each left out: method, measured, predicted and its interval."""
    rows = recorded(SMALL_MODELS)
    found = []
    for place in np.flatnonzero(rows["study"] == "planned"):
        sizes = {name: float(rows[name][place]) for name in NAMES}
        others = (rows["method"] == rows["method"][place]) & (rows["study"] != "first")
        others &= rows["partial"] == rows["partial"][place]
        others[place] = False
        value = float(rows["expected"][place])
        most = spread_near(sizes, value, others)
        ends = max(value - most, 0.0), min(value + most, 1.0)
        found.append((str(rows["method"][place]), float(rows["recall"][place]), value, *ends))
    return found


def as_planned(name: str, kind: str) -> list[tuple[str, float, float, float, float]]:
    """Of a set as it was planned: its law or method, measured, planned and its interval."""
    rows, recall = judged(name)
    numbers = ("value", "low", "high")
    return [
        (row[kind], float(measured), *(float(row[each]) for each in numbers))
        for row, measured in zip(rows, recall, strict=True)
    ]


def panel(title: str, points: list[tuple[str, float, float, float, float]]) -> Panel:
    """Planned over measured recall, with a diagonal."""
    series = []
    for name in dict.fromkeys(each[0] for each in points):
        _, x, y, low, high = zip(*(each for each in points if each[0] == name), strict=True)
        series.append(Series(name, Kind.MEASURED, x, y, low, high))
    series.append(Series("equal", Kind.REFERENCE, [0.0, 1.0], [0.0, 1.0]))
    return Panel(title=title, x="measured recall", y="planned recall", series=series)


def bits_panel(rows: list[dict[str, Any]], along: str, label: str) -> Panel:
    """Bits for each trained parameter, along a size."""
    series = []
    for name, some in (("from scratch", "0"), ("LoRA", "")):
        mine = [row for row in rows if (row["rank"] == "0") == (some == "0")]
        x = [float(row[along]) for row in mine]
        y = [max(row["stored"], 1e-3) for row in mine]
        series.append(Series(name, Kind.MEASURED, x, y))
    ends = [min(min(each.x) for each in series), max(max(each.x) for each in series)]
    series += [Series(name, Kind.REFERENCE, ends, [bits, bits]) for name, bits in LINES.items()]
    return Panel(
        x=label, y="bits for each trained parameter", series=series, log_x=True, log_y=True
    )


def main() -> None:
    """Draw both."""
    panels = [
        panel("as planned before", as_planned("planned", "law")),
        panel("today's law, each left out", left_out()),
        panel("20 others, planned by it", as_planned("again", "method")),
    ]
    draw("plan-errors.png", Picture(caption="", panels=panels))
    rows, _ = judged("planned")
    with runs_of("planned").open() as file:
        bits = {row["model"]: float(row["bits_per_parameter"]) for row in csv.DictReader(file)}
    stored = [{**row, "stored": bits[row["model"]]} for row in rows]
    sizes = {"trained": "trained parameters", "exposures": "exposures of each fact"}
    panels = [bits_panel(stored, along, label) for along, label in sizes.items()]
    draw("plan-bits.png", Picture(caption="", panels=panels))


if __name__ == "__main__":
    main()
