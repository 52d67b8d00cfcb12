"""The figure of docs/performance.md: time and memory against size.

speed/scale_figure
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
WAYS = {"open": "open", "resume": "resume a sweep", "filter": "filter", "compact": "compact"}


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open() as file:
        return list(csv.DictReader(file))


def curve(label: str, found: list[dict[str, str]], size: str, what: str, unit: float) -> Series:
    """The mean over runs of each size."""
    sizes = sorted({float(row[size]) for row in found})
    means = []
    for each in sizes:
        values = [
            float(row[what]) / unit for row in found if float(row[size]) == each and row[what]
        ]
        means.append(sum(values) / len(values) if values else math.nan)
    return Series(label=label, kind=Kind.MEASURED, x=sizes, y=means)


def panel(title: str, x: str, y: str, series: list[Series]) -> Panel:
    return Panel(title=title, x=x, y=y, series=series, log_x=True, log_y="memory" not in y)


def main() -> None:
    runs = rows("large.csv")
    by_vocab = {
        f"V = {vocab}, {workers} process{'es' if workers != '1' else ''}": [
            row for row in runs if (row["vocab"], row["workers"]) == (vocab, workers)
        ]
        for vocab, workers in dict.fromkeys((row["vocab"], row["workers"]) for row in runs)
    }
    stores = [row for row in rows("million.csv") if row["by"] == "store"]
    by_way = {
        label: found
        for way, label in WAYS.items()
        if (found := [row for row in stores if row["what"] == way])
    }
    panels = []
    for what, y, unit, growth in (
        ("cpu_seconds", "CPU time (s)", 1, "time grows with N"),
        ("worker_bytes", "peak memory of a process (GiB)", 2**30, "memory does not"),
    ):
        series = [curve(name, found, "samples", what, unit) for name, found in by_vocab.items()]
        panels.append(panel(f"three steps: {growth}", "samples N", y, series))
    for what, y, unit, growth in (
        ("cpu_seconds", "CPU time (s)", 1, "time grows with records"),
        ("peak_bytes", "peak memory (GiB)", 2**30, "memory grows, but less"),
    ):
        series = [curve(name, found, "records", what, unit) for name, found in by_way.items()]
        panels.append(panel(f"a store: {growth}", "records", y, series))
    figure = picture_figure(Picture(caption="", panels=panels), "", width=6.75, caption=False)
    for axes in figure.axes:
        if axes.get_yscale() == "linear":
            axes.set_ylim(bottom=0)
    save(figure, ROOT / "docs" / "scale.png")


if __name__ == "__main__":
    main()
