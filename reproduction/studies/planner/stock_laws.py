"""Samples at which a small transformer recalls one half, over d and L, and what moves them.

    planner/stock_laws run 0 2     # every second point, from the first: two at once
    planner/stock_laws run 1 2
    planner/stock_laws report      # writes stock_laws.csv and docs/stock-laws.png

One size varies at a time around V = 64, d = 32, L = 8. Each point is a search with at most ten
trainings. In the model with one layer each feature is switched off at two points. The line of three
steps and that of the trained law are of the paper's model at the same sizes.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from recallscope import CriticalSize, Problem, Store, critical, solve
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from recallscope.statistics.power_law import fit_law, read_points

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
TABLE = HERE / "stock_laws.csv"
STORES = Path(tempfile.gettempdir()) / "recallscope-stock-laws"
DIMS, LENGTHS, BASE = (8, 16, 32, 64), (4, 8, 16, 32), {"dim": 32, "length": 8}
OFF: dict[str, dict[str, Any]] = {
    "positions": {"positions": False},
    "layer norm": {"layer_norm": False},
    "residual": {"residual": False},
    "MLP": {"mlp_ratio": 0.0},
    "embeddings": {"freeze_embeddings": True},
}
OFF["all of them"] = {name: value for each in OFF.values() for name, value in each.items()}


def problem(layers: int, sizes: dict[str, int], off: str = "") -> Problem:
    """A training of a small transformer, whose number of samples is sought."""
    return Problem(
        **{"vocab": 64, "samples": 64, **BASE, **sizes},
        model="gpt",
        layers=layers,
        learner="adamw",
        learning_rate=0.003,
        batch=128,
        steps=300,
        **OFF.get(off, {}),
    )


def points() -> list[tuple[int, dict[str, int], str]]:
    """Layers, sizes that are not those in the middle, and the feature that is off."""
    sizes: list[dict[str, int]] = [{"dim": dim} for dim in DIMS]
    sizes += [{"length": length} for length in LENGTHS if length != BASE["length"]]
    found = [(layers, each, "") for layers in (1, 2) for each in sizes]
    return found + [
        (1, {"length": length}, off) for length in (BASE["length"], LENGTHS[-1]) for off in OFF
    ]


def searched(number: int) -> CriticalSize:
    """The search at a point; what is in the store is not run again."""
    return critical(
        problem(*points()[number]),
        "samples",
        0.5,
        low=8,
        high=8192,
        budget=10,
        prior=100,
        precision=0.2,
        test_samples=1024,
        store=STORES / f"point-{number}",
        executor="serial",
        progress=False,
    )


def paper_samples(sizes: dict[str, int], learner: str) -> float | None:
    """What laws say of the paper's model at the same sizes; None if no number will do."""
    asked = Problem(**{"vocab": 64, "samples": 64, **BASE, **sizes}, learner=learner)
    return solve(asked, "samples", 0.5, progress=False).value


def report() -> None:
    """The table, the exponents and the figure."""
    rows: list[dict[str, Any]] = []
    for number, (layers, sizes, off) in enumerate(points()):
        found = searched(number)
        records = Store(STORES / f"point-{number}").records()
        slowest = max(record.provenance.elapsed_seconds for record in records)
        row = {"layers": layers, **BASE, **sizes, "off": off, "status": str(found.status)}
        row |= {name: getattr(found, name) for name in ("value", "low", "high")}
        rows.append(row | {"runs": found.evaluations, "slowest_seconds": round(slowest, 1)})
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    panels = [size_panel(rows, size) for size in ("dim", "length")]
    picture = Picture(caption="", panels=[*panels, feature_panel(rows)])
    figure = picture_figure(picture, "", width=6.75, caption=False)
    save(figure, ROOT / "docs" / "stock-laws.png")


def size_panel(rows: list[dict[str, Any]], size: str) -> Panel:
    """Samples along one size; the exponents are printed."""
    middle = {name: value for name, value in BASE.items() if name != size}
    every: list[Series] = []
    for layers in (1, 2):
        mine = [row for row in rows if row["layers"] == layers and not row["off"]]
        mine = [row for row in mine if all(row[name] == middle[name] for name in middle)]
        mine.sort(key=lambda row: row[size])
        law = fit_law(read_points(mine, [size]))
        print(f"{layers} layers, {size}: {law.exponents[size]}, p {law.p_value:.2f}")
        x = [row[size] * 1.04 ** (layers - 1) for row in mine]  # next to each other, to be seen
        ends = ([row[name] for row in mine] for name in ("value", "low", "high"))
        every.append(Series(f"{layers} layer{'s' * (layers > 1)}", Kind.MEASURED, x, *ends))
    values = DIMS if size == "dim" else LENGTHS
    for label, learner in (("paper, three steps", "three-step"), ("paper, trained", "adam")):
        there = {value: paper_samples({size: value}, learner) for value in values}
        known = {value: found for value, found in there.items() if found is not None}
        slopes = [
            math.log(known[b] / known[a]) / math.log(b / a) for a, b in itertools.pairwise(known)
        ]
        print(f"{label}, {size}:", there, [round(each, 2) for each in slopes])
        every.append(Series(label, Kind.THEORY, list(known), list(known.values())))
    title, called = {
        "dim": ("d hardly matters", "dimensions d"),
        "length": ("long sequences take more", "length L"),
    }[size]
    return Panel(title=title, x=called, y="samples", series=every, log_x=True, log_y=True)


def feature_panel(rows: list[dict[str, Any]]) -> Panel:
    """Samples with a feature switched off, at two lengths."""
    every = []
    for length in (BASE["length"], LENGTHS[-1]):
        mine = [row for row in rows if row["layers"] == 1 and row["length"] == length]
        mine = [row for row in mine if row["dim"] == BASE["dim"]]
        x = [row["off"] or "all on" for row in mine]
        ends = ([row[name] for row in mine] for name in ("value", "low", "high"))
        every.append(Series(f"L = {length}", Kind.MEASURED, x, *ends))
    return Panel(title="without positions, fewer", x="", y="samples", series=every, log_y=True)


def run(first: int, step: int) -> None:
    """Search at some of the points."""
    for number in range(first, len(points()), step):
        print(number, points()[number], searched(number), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(int(sys.argv[2]), int(sys.argv[3]))
    else:
        report()
