"""Critical sample sizes along every axis, by simulation alone: the data behind docs/laws.md.

    laws                 # search what is not there yet, then report and draw
    laws --report        # fit and draw what is there: docs/laws.png,
                                           # docs/random-or-orthogonal.png

Each law is measured about several base problems, each larger than the one before, with five values
along each axis and the others at the base. Searches know nothing of the closed forms. Runs go to
laws-runs.csv as they are made, critical sizes to laws.csv; a search that is there is not repeated.
The searches are in law_searches.py, which the tests use too.
"""

from __future__ import annotations

import argparse
import csv
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from recallscope import run
from recallscope.common.csv_files import write_csv
from recallscope.plot.labels import LETTERS
from recallscope.plot.layout import explain, handle
from recallscope.plot.style import (
    COLOURS,
    MARKERS,
    label_size_axes,
    log_bars,
    look,
    new_figure,
    save,
    style_axes,
)
from reproduction.studies.laws.law_searches import (
    FACTORIAL,
    KEY,
    LAWS,
    RESULTS,
    RUNS,
    along_axes,
    collapsed,
    factorial,
    problems,
    read_search,
    read_table,
    search_of,
    sizes_of,
)

DOCS = Path(__file__).parents[3] / "docs"
AXES = ("vocab", "dim", "length")


def searched(number: int) -> list[dict[str, Any]]:
    """The runs of one search, as rows."""
    import torch

    torch.set_num_threads(1)
    law, scale, accuracy, problem, *_ = problems()[number]
    search = search_of(number)
    rows = []
    while not search.done:
        records = [run(p, seed, dtype="float32") for p, seed in search.ask()]
        search.tell(records)
        rows += [
            {"law": law, "scale": scale, **sizes_of(problem), "samples": record.problem.samples}
            | {"seed": record.seed, "rate": getattr(record, accuracy)}
            for record in records
        ]
    return rows


def simulate() -> None:
    """Search for what is not there yet, then read all runs."""
    there = read_table(RUNS) if RUNS.exists() else []
    done = {tuple(row[name] for name in KEY) for row in there}
    keys = [(law, scale, *sizes_of(problem).values()) for law, scale, _, problem, *_ in problems()]
    wanted = [number for number, key in enumerate(keys) if key not in done]
    with ProcessPoolExecutor(2) as pool:
        for count, rows in enumerate(pool.map(searched, wanted), start=1):
            _append(RUNS, rows)
            print(f"{count} of {len(wanted)} searches", flush=True)
    read_all()


def read_all() -> None:
    """Critical sizes from all runs that are there."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in read_table(RUNS):
        by_key.setdefault(tuple(row[name] for name in KEY), []).append(row)
    rows = []
    for number, (law, scale, _, problem, *_) in enumerate(problems()):
        runs = by_key.get((law, scale, *sizes_of(problem).values()))
        if runs:
            rows.append(read_search(number, runs))
    write_csv(rows, RESULTS)


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        if new:
            writer.writeheader()
        writer.writerows(rows)


def report(rows: list[dict[str, Any]]) -> str:
    lines = [
        "N* at accuracy 0.5, exponent along each axis (95 % interval), closed forms, far limit"
    ]
    for each in along_axes(rows):
        base = LAWS[each.law].bases[each.scale]
        sizes = " ".join(f"{LETTERS[k]}={base[k]}" for k in ("vocab", "dim", "length"))
        power = each.measured
        ratio = np.array(
            [
                math.exp(row["log_mean"]) / theory
                for row, theory in zip(each.rows, each.theory, strict=True)
            ]
        )
        lines.append(
            f"{each.law:22} {sizes:22} {LETTERS[each.axis]}: {power.value:6.3f} "
            f"({power.low:6.3f} to {power.high:6.3f})  {each.predicted:6.3f}  "
            f"{LAWS[each.law].far[each.axis]:4.1f}   measured/closed form "
            f"{ratio.min():.2f} to {ratio.max():.2f}"
        )
    runs = read_table(RUNS)
    for name, each in LAWS.items():
        for scale in range(len(each.bases)):
            law, found = collapsed(rows, runs, name, scale)
            powers = ", ".join(
                f"{LETTERS[size]} {power.value:.2f} ({power.low:.2f} to {power.high:.2f})"
                for size, power in law.exponents.items()
            )
            lines.append(
                f"{name}, scale {scale}, all axes: {powers}; {law.status} "
                f"(p = {law.p_value:.2g}, scatter {law.scatter:.1%}); "
                f"rms about one curve against N {found.raw:.3f}, N/N* "
                f"of the law {found.law:.3f}, measured {found.own:.3f}; a curve for each "
                f"{found.seeds:.3f}"
            )
    for name in FACTORIAL:
        law = factorial(rows, name)
        if law.separable is None:
            continue
        powers = ", ".join(
            f"{LETTERS[size]}: {power.value:.3f} ({power.low:.3f} to {power.high:.3f})"
            for size, power in law.exponents.items()
        )
        verdict = "rejected" if law.separable.rejected else "not rejected"
        lines.append(
            f"{name:11} {law.reached} critical sizes, {powers}; fit {law.status} (p = "
            f"{law.p_value:.2g}); separable law {verdict} (p = {law.separable.p_value:.2g})"
        )
    return "\n".join(lines)


def draw_laws(rows: list[dict[str, Any]]) -> None:
    """Each law a row, each axis a column, each scale a colour, all over the base problem's."""
    figure = new_figure(3.25, 3.9)
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    ratios = []
    for each in along_axes(rows):
        # No law of the third row goes by L.
        axes = panels[min(list(LAWS).index(each.law), 2), AXES.index(each.axis)]
        size = np.array([row[each.axis] for row in each.rows]) / each.rows[2][each.axis]
        value, bars = _with_bars(each.rows)
        base, theory = each.theory[2], np.array(each.theory)
        ratios += (value / theory).tolist()
        points = {**look(each.scale), "markersize": 3, "elinewidth": 0.8}
        axes.errorbar(size, value / base, yerr=bars / base, **points)
        axes.plot(size, theory / base, "--", color=COLOURS[each.scale], linewidth=0.9)
        name, _, which = each.law.partition(", ")
        along = f"{which}, along" if which else "along"
        axes.set_title(f"{name}\n{along} {LETTERS[each.axis]}", fontsize=7)
        axes.set_xscale("log")
        axes.set_yscale("log")
        style_axes(axes)
        for axis, ticks in ((axes.xaxis, (0.5, 1, 2)), (axes.yaxis, (0.3, 1, 3))):
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
    scales = ("smallest", "middle", "largest")
    handles = [
        *(handle(f"{name} problem", **look(place)) for place, name in enumerate(scales)),
        handle("closed form", color="0.4", linestyle="--"),
    ]
    panels[2, 1].set_xlabel("V, d or L over the base problem's", fontsize=8)
    panels[1, 0].set_ylabel("N* over the base problem's closed form", fontsize=8)
    explain(figure, handles, "")
    figure.suptitle(
        f"N* is {min(ratios):.2f} to {max(ratios):.2f} times the closed form\n"
        "along V, d and L, with nothing fitted",
        fontsize=9,
    )
    save(figure, DOCS / "laws.png")


def _with_bars(rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Critical sizes and how far their 95 % intervals reach down and up."""
    value = np.exp([row["log_mean"] for row in rows])
    return value, log_bars(value, np.array([row["log_sd"] for row in rows]))


def _dress(axes: Any, along: str, label: str) -> None:
    label_size_axes(axes, along, "samples")
    axes.set_ylabel(label, fontsize=8)
    style_axes(axes)


def draw_factorial(rows: list[dict[str, Any]]) -> None:
    """Random and orthogonal embeddings: N* against L, a colour for each d."""
    figure = new_figure(7.2, 3.4)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, (embedding, dims, _)) in zip(panels, FACTORIAL.items(), strict=True):
        for place, dim in enumerate(dims):
            mine = [row for row in rows if row["law"] == name and row["dim"] == dim]
            # side by side, not on top of each other
            length = np.array([row["length"] for row in mine]) * 1.015 ** (place - 2)
            value, bars = _with_bars(mine)
            axes.errorbar(
                length,
                value,
                yerr=bars,
                marker=MARKERS[place],
                color=COLOURS[place],
                markersize=3.5,
                linewidth=0.8,
                label=f"d={dim}",
            )
        law = factorial(rows, name)
        assert law.separable is not None
        powers = ", ".join(
            f"{LETTERS[size]} {power.value:.2f} ({power.low:.2f} to {power.high:.2f})"
            for size, power in law.exponents.items()
        )
        verdict = "rejected" if law.separable.rejected else "not rejected"
        axes.set_title(
            f"{embedding} embeddings\nexponents: {powers}\nN* depends on neither: {verdict} "
            f"(p = {law.separable.p_value:.2g})",
            fontsize=7,
        )
        _dress(axes, "length", "N* of recall 0.5")
        axes.legend(fontsize=6.5, frameon=False)
    runs = sum(row["evaluations"] for row in rows if row["law"] in FACTORIAL)
    figure.suptitle(
        f"Critical sample size of three-step recall, V=512, attention alone. {runs} runs of 4096 "
        "tests in all; bars are 95 % intervals.",
        fontsize=7,
    )
    save(figure, DOCS / "random-or-orthogonal.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        simulate()
    rows = read_table(RESULTS)
    print(report(rows))
    draw_laws(rows)
    draw_factorial(rows)


if __name__ == "__main__":
    main()
