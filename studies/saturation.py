"""Does the beginning decide? Training after first steps of every size.

    python studies/saturation.py run [--processes 2]   # studies/saturation.csv
    python studies/saturation.py report

The first two of three steps leave attention at scores of standard deviation s; gradient descent
continues there. For s from 0.1 to 100, and for a third of the samples at which three steps lock
half of the time, as many, and three times as many: what later steps add to lock, and whether the
cosine of attention with the trigger after the first steps tells which seeds lock at the end. Runs
are kept as they come in studies/saturation.jsonl, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run, solve

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
    critical = solve(three_steps, "samples", 0.5, "lock").value
    assert critical is not None
    return [
        BASE.replace(samples=round(share * critical), saturation=s)
        for share in SHARES
        for s in SATURATIONS
    ]


def measured(problem: Problem, seed: int) -> dict[str, object]:
    """One training, as a row."""
    torch.set_num_threads(1)
    record = run(problem, seed, test_samples=1024)
    if record.status != "ok":
        raise RuntimeError(f"{problem}: {record.reason}")
    metrics = record.metrics
    return {
        "samples": problem.samples,
        "saturation": problem.saturation,
        "seed": seed,
        "early_lock": metrics["curve_lock"][0],
        "early_cosine": metrics["curve_cosine"][0],
        "late_lock": record.lock_accuracy,
        "late_recall": record.recall_accuracy,
        "steps": metrics["steps_taken"],
        "ended": metrics["ended"],
        "final_loss": metrics["final_loss"],
    }


def run_study(processes: int) -> None:
    """Train what is not among the runs kept from before."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    key = ("samples", "saturation", "seed")
    done = {tuple(row[name] for name in key) for row in map(json.loads, lines)}
    tasks = [
        (problem, seed)
        for seed in range(SEEDS)
        for problem in problems()
        if (problem.samples, problem.saturation, seed) not in done
    ]
    with ProcessPoolExecutor(processes) as pool, KEPT.open("a") as file:
        for number, future in enumerate(as_completed(pool.submit(measured, *t) for t in tasks)):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()
            print(f"{number + 1} of {len(tasks)}", end="\r", flush=True)
    rows = [json.loads(line) for line in KEPT.read_text().splitlines()]
    rows.sort(key=lambda row: [row[name] for name in key])
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def area(scores: np.ndarray, happened: np.ndarray) -> float:
    """How often a seed where it happened has the higher score than one where it did not."""
    yes, no = scores[happened], scores[~happened]
    if not len(yes) or not len(no):
        return float("nan")
    above = yes[:, None] - no
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of what was found by drawing seeds again."""
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


def report() -> None:
    """A line for each number of samples and s."""
    with TABLE.open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    rng = np.random.default_rng(0)
    print("samples saturation seeds | early lock, late lock | gain | late above 0.5 | AUC")
    for samples in sorted({row["samples"] for row in rows}):
        for s in SATURATIONS:
            chosen = [row for row in rows if (row["samples"], row["saturation"]) == (samples, s)]
            early, late, cosine = (
                np.array([row[name] for row in chosen])
                for name in ("early_lock", "late_lock", "early_cosine")
            )
            drawn = [rng.integers(len(chosen), size=len(chosen)) for _ in range(2000)]
            gain = interval([float((late - early)[each].mean()) for each in drawn])
            found = late > 0.5
            auc = interval([area(cosine[each], found[each]) for each in drawn])
            print(
                f"{samples:g} {s:g} {len(chosen)} | {early.mean():.2f} {late.mean():.2f} | "
                f"{(late - early).mean():+.2f} ({gain[0]:+.2f} to {gain[1]:+.2f}) | "
                f"{found.mean():.2f} | {area(cosine, found):.2f} ({auc[0]:.2f} to {auc[1]:.2f})"
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
