"""Critical sample sizes along every axis, by simulation alone: the data behind docs/laws.md.

    python studies/laws.py                 # search what is not there yet, then report and draw
    python studies/laws.py --report        # fit and draw what is there: docs/laws.png,
                                           # docs/random-or-orthogonal.png

Each law is measured about several base problems, each larger than the one before, with five values
along each axis and the others at the base. Searches know nothing of the closed forms. Runs go to
laws-runs.csv as they are made, critical sizes to laws.csv; a search that is there is not repeated.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from recallscope import Problem, Record, Status, run, solve
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.measurement.critical import CriticalSearch
from recallscope.plotting.labels import LETTERS
from recallscope.plotting.style import (
    COLOURS,
    MARKERS,
    label_size_axes,
    log_bars,
    new_figure,
    save,
    style_axes,
)
from recallscope.statistics import power_law as fitted
from recallscope.statistics.power_law import Collapse, Exponent, collapse, fit_law, read_points

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from planted_searches import MADE_UP, TESTS

RESULTS = Path(__file__).with_name("laws.csv")
RUNS = Path(__file__).with_name("laws-runs.csv")
DOCS = Path(__file__).parents[1] / "docs"
_SIGNS = ("●", "■", "▲")  # of the scales, as the markers of the figure
_KEY = ("law", "scale", "vocab", "dim", "length")


class Law(NamedTuple):
    """What is measured, about which base problems, how far to each side, and how precisely."""

    accuracy: str
    bases: tuple[dict[str, Any], ...]
    axes: dict[str, float]  # the factor to either side of the base
    far: dict[str, float]  # the exponents that the closed forms tend to, far into the regime
    precision: float
    budget: int


LAWS = {
    "one step": Law(
        "one_step_accuracy",
        (
            {"vocab": 256, "dim": 100, "length": 16},
            {"vocab": 1024, "dim": 256, "length": 32},
            {"vocab": 4096, "dim": 640, "length": 64},
        ),
        {"vocab": 1.6, "dim": 1.6, "length": 2.0},
        {"vocab": 2.0, "dim": -2.0, "length": 1.0},
        0.04,
        40,
    ),
    "lock": Law(
        "lock_accuracy",
        (
            {"vocab": 256, "dim": 32, "length": 64},
            {"vocab": 512, "dim": 48, "length": 128},
            {"vocab": 1024, "dim": 64, "length": 256},
        ),
        {"vocab": 2.0, "dim": 2.0, "length": 2.0},
        {"vocab": 0.5, "dim": -1.5, "length": 2.0},
        0.15,
        120,
    ),
    "trigger in values": Law(
        "recall_accuracy",
        tuple(
            {"vocab": vocab, "dim": dim, "length": 4, "trigger_in_values": True}
            for vocab, dim in ((512, 256), (1024, 406), (2048, 645))
        ),
        {"vocab": 1.6, "dim": 1.6},
        {"vocab": 2.0, "dim": -1.0},
        0.04,
        48,
    ),
    "one step, longer": Law(
        "one_step_accuracy",
        (
            {"vocab": 256, "dim": 100, "length": 32},
            {"vocab": 1024, "dim": 256, "length": 64},
            {"vocab": 2048, "dim": 403, "length": 90},
        ),
        {"length": 2.0},
        {"length": 1.0},
        0.04,
        40,
    ),
}
FACTORIAL = {
    # Every dimension with every length: does what N must be depend on both?
    "random": ("sphere", (96, 128, 160, 192, 256), (64, 96, 128, 192, 256)),
    "orthogonal": ("orthogonal", (513, 600, 700, 850, 1024), (64, 96, 128, 192, 256)),
}


def problems() -> list[tuple[str, int, str, Problem, float, int]]:
    """Law, scale, accuracy, problem, precision and budget of every search, small ones first."""
    listed = []
    for name, (embedding, dims, lengths) in FACTORIAL.items():
        for dim in dims:
            for length in lengths:
                sizes = {"vocab": 512, "dim": dim, "length": length, "embedding": embedding}
                listed.append((name, 0, "recall_accuracy", Problem(samples=1, **sizes), 0.1, 64))
    # What comes first keeps its seeds when more is added after it.
    *first, last = LAWS
    for names in (first, [last]):
        for scale in range(3):
            for name in names:
                law = LAWS[name]
                base = law.bases[scale]
                along = [base] + [
                    base | {axis: round(base[axis] * factor**step)}
                    for axis, factor in law.axes.items()
                    for step in (-1.0, -0.5, 0.5, 1.0)
                ]
                for sizes in along:
                    problem = Problem(samples=1, **sizes)
                    listed.append((name, scale, law.accuracy, problem, law.precision, law.budget))
    return listed


def search_of(number: int) -> CriticalSearch:
    _, _, accuracy, problem, precision, budget = problems()[number]
    return CriticalSearch(
        problem,
        accuracy=accuracy,
        low=max(problem.vocab // 16, 4),
        high=256 * problem.vocab,
        precision=precision,
        budget=budget,
        prior=None,
        first_seed=1000 * number,  # instances of their own, so that errors are independent
    )


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
            {"law": law, "scale": scale, **_sizes(problem), "samples": record.problem.samples}
            | {"seed": record.seed, "rate": getattr(record, accuracy)}
            for record in records
        ]
    return rows


def read(number: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the runs of a search say, as a row of the table of critical sizes."""
    law, scale, accuracy, problem, *_ = problems()[number]
    search = search_of(number)
    search.tell(
        Record(
            problem=problem.replace(samples=each["samples"]),
            seed=each["seed"],
            status=Status.OK,
            provenance=MADE_UP,
            test_samples=TESTS,
            **{accuracy: each["rate"]},
        )
        for each in runs
    )
    found = search.result()
    row = {"law": law, "scale": scale, **_sizes(problem), "status": str(found.status)}
    row |= {name: getattr(found, name) for name in ("value", "low", "high")}
    return row | {
        "log_mean": found.log_mean,
        "log_sd": found.log_sd,
        "evaluations": found.evaluations,
    }


def _sizes(problem: Problem) -> dict[str, int]:
    return {name: getattr(problem, name) for name in ("vocab", "dim", "length")}


def simulate() -> None:
    """Search for what is not there yet, then read all runs."""
    there = read_csv(RUNS) if RUNS.exists() else []
    done = {tuple(row[name] for name in _KEY) for row in there}
    keys = [(law, scale, *_sizes(problem).values()) for law, scale, _, problem, *_ in problems()]
    wanted = [number for number, key in enumerate(keys) if key not in done]
    with ProcessPoolExecutor(2) as pool:
        for count, rows in enumerate(pool.map(searched, wanted), start=1):
            _append(RUNS, rows)
            print(f"{count} of {len(wanted)} searches", flush=True)
    read_all()


def read_all() -> None:
    """Critical sizes from all runs that are there."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in read_csv(RUNS):
        by_key.setdefault(tuple(row[name] for name in _KEY), []).append(row)
    rows = []
    for number, (law, scale, _, problem, *_) in enumerate(problems()):
        runs = by_key.get((law, scale, *_sizes(problem).values()))
        if runs:
            rows.append(read(number, runs))
    write_csv(rows, RESULTS)


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        if new:
            writer.writeheader()
        writer.writerows(rows)


class Along(NamedTuple):
    """One axis of one law at one scale: five critical sizes and what closed forms give there."""

    law: str
    scale: int
    axis: str
    rows: list[dict[str, Any]]
    theory: list[int]

    @property
    def measured(self) -> Exponent:
        return fit_law(read_points(self.rows, [self.axis])).exponents[self.axis]

    @property
    def predicted(self) -> float:
        """The exponent of the closed forms, fitted with the weights of the measured points."""
        rows = [
            {"status": "ok", "log_mean": math.log(theory)}
            | {name: row[name] for name in (self.axis, "log_sd")}
            for row, theory in zip(self.rows, self.theory, strict=True)
        ]
        return fit_law(read_points(rows, [self.axis])).exponents[self.axis].value


def closed_form(row: dict[str, Any], accuracy: str, **options: Any) -> int:
    sizes = {name: row[name] for name in ("vocab", "dim", "length")}
    found = solve(Problem(samples=1, **sizes, **options), "samples", 0.5, accuracy).value
    assert found is not None
    return found


def along_axes(rows: list[dict[str, Any]]) -> list[Along]:
    """Every axis of every law at every scale that is there in full."""
    found = []
    for name, law in LAWS.items():
        for scale, base in enumerate(law.bases):
            at = [row for row in rows if (row["law"], row["scale"]) == (name, scale)]
            for axis in law.axes:
                others = [each for each in ("vocab", "dim", "length") if each != axis]
                mine = [row for row in at if all(row[each] == base[each] for each in others)]
                mine = sorted(mine, key=lambda row: row[axis])
                if len(mine) < 5:
                    continue
                options = {"trigger_in_values": base.get("trigger_in_values", False)}
                theory = [closed_form(row, law.accuracy, **options) for row in mine]
                found.append(Along(name, scale, axis, mine, theory))
    return found


def factorial(rows: list[dict[str, Any]], name: str) -> fitted.Law:
    """The law in d and L of one family of embeddings."""
    return fit_law(read_points([row for row in rows if row["law"] == name], ["dim", "length"]))


def collapsed(
    rows: list[dict[str, Any]], runs: list[dict[str, Any]], name: str, scale: int
) -> tuple[fitted.Law, Collapse]:
    """The law of all axes together, and how nearly its runs lie on one curve."""
    at = [row for row in rows if (row["law"], row["scale"]) == (name, scale)]
    law = fit_law(read_points(at, list(LAWS[name].axes)))
    place = {tuple(row[name] for name in _KEY): number for number, row in enumerate(at)}
    numbered = [(place.get(tuple(run[name] for name in _KEY)), run) for run in runs]
    mine = [(number, run) for number, run in numbered if number is not None]
    return law, collapse(
        np.log([run["samples"] for _, run in mine]),
        np.array([run["rate"] for _, run in mine]),
        np.array([number for number, _ in mine]),
        {number: law.predict(row) for number, row in enumerate(at)},
        {number: row["log_mean"] for number, row in enumerate(at)},
    )


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
            f"{each.law:17} {sizes:22} {LETTERS[each.axis]}: {power.value:6.3f} "
            f"({power.low:6.3f} to {power.high:6.3f})  {each.predicted:6.3f}  "
            f"{LAWS[each.law].far[each.axis]:4.1f}   measured/closed form "
            f"{ratio.min():.2f} to {ratio.max():.2f}"
        )
    runs = read_csv(RUNS)
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
                f"of the law {found.law:.3f}, of its own {found.own:.3f}; each its own curve "
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
    """Each law a row, each axis a column, each scale a colour."""
    figure = new_figure(7.2, 8.4)
    panels = figure.subplots(3, 3)
    titles: dict[Any, list[str]] = {}
    for each in along_axes(rows):
        row, column = list(LAWS).index(each.law), ("vocab", "dim", "length").index(each.axis)
        axes = panels[min(row, 2), column]  # no law of the third row goes by L
        colour, marker = COLOURS[each.scale], MARKERS[each.scale]
        size = [row[each.axis] for row in each.rows]
        value, bars = _with_bars(each.rows)
        axes.errorbar(
            size, value, yerr=bars, fmt=marker, color=colour, markersize=3.5, linewidth=0.8
        )
        axes.plot(size, each.theory, color=colour, linewidth=1, linestyle="--")
        _dress(axes, each.axis, f"N* of {each.law}")
        power = each.measured
        far = LAWS[each.law].far[each.axis]
        titles.setdefault(axes, [f"{LETTERS[each.axis]}: measured (95 %); theory; far {far:g}"])
        titles[axes].append(
            f"{_SIGNS[each.scale]} {power.value:.2f} ({power.low:.2f} to {power.high:.2f}); "
            f"{each.predicted:.2f}"
        )
    for axes, lines in titles.items():
        axes.set_title("\n".join(lines), fontsize=6.5)
    runs = sum(row["evaluations"] for row in rows if row["law"] in LAWS)
    scales = "; ".join(
        f"{name} "
        + ", ".join(
            f"{sign} " + " ".join(f"{LETTERS[k]}={base[k]}" for k in ("vocab", "dim", "length"))
            for sign, base in zip(_SIGNS, law.bases, strict=True)
        )
        for name, law in LAWS.items()
    )
    caption = (
        "Exponents of the batch size N* at which accuracy crosses 0.5, against V, d and L, the "
        f"other sizes as in the base problem. Points: measured, with 95 % intervals, {runs} runs "
        "of 4096 tests in all. Dashed: closed forms, nothing fitted. Attention alone, sphere "
        f"embeddings. Base problems: {scales}."
    )
    figure.suptitle(fill(caption, 130), fontsize=6.5)
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
    """Random beside orthogonal: N* against L, a colour for each d."""
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
    rows = read_csv(RESULTS)
    print(report(rows))
    draw_laws(rows)
    draw_factorial(rows)


if __name__ == "__main__":
    main()
