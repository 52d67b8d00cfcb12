"""Does the beginning decide? Training after first steps of every size.

    saturation run [--processes 2]   # saturation.csv
    saturation report

The first two of three steps leave attention at scores of standard deviation s; gradient descent
continues there. For s from 0.1 to 100, and for a third of the samples at which three steps find
the trigger half of the time, as many, and three times as many: what later steps add to attention
accuracy, and whether the cosine of attention with the trigger after the first steps predicts which
seeds find it at the end.
Runs are saved one by one in saturation.jsonl, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from recallscope import Problem, run, solve
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import Row, kept, run_and_keep, write_table

HERE = Path(__file__).parent
KEPT, TABLE = HERE / "saturation.jsonl", HERE / "saturation.csv"
BASE = Problem(vocab=128, samples=128, dim=32, length=32, learner="gd", steps=300)
SATURATIONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SHARES = (1 / 3, 1.0, 3.0)
SEEDS = 32


def problems() -> list[Problem]:
    """Of every s and every number of samples."""
    three_steps = Problem(
        **{name: getattr(BASE, name) for name in ("vocab", "dim", "length")}, samples=1
    )
    critical = solve(three_steps, "samples", 0.5, "attention").value
    assert critical is not None
    return [
        BASE.replace(samples=round(share * critical), saturation=s)
        for share in SHARES
        for s in SATURATIONS
    ]


def measured(problem: Problem, seed: int) -> list[Row]:
    """One training, as a row."""
    torch.set_num_threads(1)
    record = run(problem, seed, test_samples=1024)
    if record.status != "ok":
        raise RuntimeError(f"{problem}: {record.reason}")
    metrics = record.metrics
    row = {
        "samples": problem.samples,
        "saturation": problem.saturation,
        "seed": seed,
        "early_attention": metrics["curve_attention"][0],
        "early_cosine": metrics["curve_cosine"][0],
        "late_attention": record.attention_accuracy,
        "late_recall": record.recall_accuracy,
        "steps": metrics["steps_taken"],
        "ended": metrics["ended"],
        "final_loss": metrics["final_loss"],
    }
    return [row]


def run_study(processes: int) -> None:
    """Train what is not among the runs kept from before."""
    key = ("samples", "saturation", "seed")
    done = {tuple(row[name] for name in key) for row in kept(KEPT)}
    tasks = [
        (problem, seed)
        for seed in range(SEEDS)
        for problem in problems()
        if (problem.samples, problem.saturation, seed) not in done
    ]
    run_and_keep(measured, tasks, processes, KEPT)
    write_table(sorted(kept(KEPT), key=lambda row: [row[name] for name in key]), TABLE)


def area(scores: np.ndarray, happened: np.ndarray) -> float:
    """How often a seed where it happened has the higher score than one where it did not."""
    yes, no = scores[happened], scores[~happened]
    if not len(yes) or not len(no):
        return float("nan")
    above = yes[:, None] - no
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of what was found by drawing seeds again; nothing of nothing."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


class Point(NamedTuple):
    """What 32 seeds of one number of samples and one s came to; intervals of 95 %."""

    samples: float
    saturation: float
    seeds: int
    early: float
    late: float
    gain: tuple[float, float, float]
    found: float
    area: tuple[float, float, float]
    """Not a number where all seeds find the trigger, or none."""


def points() -> Iterator[Point]:
    """For each number of samples and s."""
    with TABLE.open() as file:
        table = with_todays_names(csv.DictReader(file))
    rows = [{name: float(value) for name, value in row.items()} for row in table]
    rng = np.random.default_rng(0)
    for samples in sorted({row["samples"] for row in rows}):
        for s in SATURATIONS:
            chosen = [row for row in rows if (row["samples"], row["saturation"]) == (samples, s)]
            early, late, cosine = (
                np.array([row[name] for row in chosen])
                for name in ("early_attention", "late_attention", "early_cosine")
            )
            drawn = [rng.integers(len(chosen), size=len(chosen)) for _ in range(2000)]
            gain, found = late - early, late > 0.5
            areas = [area(cosine[each], found[each]) for each in drawn]
            yield Point(
                samples,
                s,
                len(chosen),
                float(early.mean()),
                float(late.mean()),
                (float(gain.mean()), *interval([float(gain[each].mean()) for each in drawn])),
                float(found.mean()),
                (area(cosine, found), *interval(areas)),
            )


def report() -> None:
    """A line for each of them."""
    print(
        "samples saturation seeds | early attention, late attention | gain | late above 0.5 | AUC"
    )
    for point in points():
        gain, low, high = point.gain
        auc, auc_low, auc_high = point.area
        print(
            f"{point.samples:g} {point.saturation:g} {point.seeds} | {point.early:.2f} "
            f"{point.late:.2f} | {gain:+.2f} ({low:+.2f} to {high:+.2f}) | {point.found:.2f} | "
            f"{auc:.2f} ({auc_low:.2f} to {auc_high:.2f})"
        )


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.processes)
    else:
        report()


if __name__ == "__main__":
    main()
