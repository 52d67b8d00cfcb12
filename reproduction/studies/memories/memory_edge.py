"""How many parameters a trained memory needs: predictions, then the measured capacity threshold.

    memories/memory_edge predict    # memory-edge-predictions.csv, to be committed
    memories/memory_edge run linear # every fact equally often, attention given
    memories/memory_edge run mlp    # over a frozen random MLP of relu units
    memories/memory_edge run reach  # what optimisers reach of it in 10,000 steps
    memories/memory_edge report     # c = parameters/(V ln V) with 95 % intervals

`linear` and `mlp` are the minimum of the loss, by the learner converged. Seeds come from the hash
of the file of predictions. Runs are saved one by one in memory-edge.jsonl, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import brentq

from recallscope import Problem, Record
from recallscope.experiment.experiment import run_together
from recallscope.theory.end_capacity import Edge, edge
from recallscope.theory.memory_recall import equally_often, memory_recall
from reproduction.studies.kept_runs import Row, kept, run_and_keep, seed_from, write_table

HERE = Path(__file__).parent
PREDICTIONS = HERE / "memory-edge-predictions.csv"
KEPT = HERE / "memory-edge.jsonl"
TABLE = HERE / "memory-edge.csv"
TARGETS = (0.5, 0.99)
SEEDS = {64: 60, 128: 60, 256: 40, 512: 24, 1024: 12, 2048: 6, 4096: 3}
RATIOS = (1, 2, 4, 8)
MLP_SEEDS = {256: 16, 512: 8}
OPTIMISERS = ("gd", "adam", "muon", "polar")
REACH_SEEDS = {128: 4, 512: 1}  # where they are trained in one tensor, else one
STEPS = (101, 1024, 10_000)  # looks of a training near 100 and 1,000 steps, and its last

Task = tuple[str, Problem, tuple[int, ...]]
"""A study, a problem, and the numbers of its seeds: tiny trainings take no longer together."""


def predict() -> None:
    """Parameters at which recall is expected to cross each target."""
    with PREDICTIONS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["vocab", "target", "dim", "dim_if_independent"])
        for vocab in SEEDS:
            for target in TARGETS:
                sizes = at_target(vocab, target), full_square(vocab).independent
                row = [vocab, target, *map(math.sqrt, sizes)]
                writer.writerow([f"{each:.6g}" for each in row])


def full_square(vocab: int) -> Edge:
    """Where a memory of all facts is full, with as many inputs as outputs."""
    dim = math.sqrt(vocab)
    for _ in range(40):
        dim = math.sqrt(edge(vocab, vocab, dim).parameters)
    return edge(vocab, vocab, dim)


def at_target(vocab: int, target: float) -> float:
    """Parameters at which recall of all facts, equally often, is derived to be the target."""
    full = full_square(vocab)
    low, high = 0.5 * full.parameters, full.parameters + 4 * full.spread
    return float(
        brentq(
            lambda parameters: derived(vocab, parameters) - target,
            low,
            high,
            xtol=1e-3 * full.parameters,
        )
    )


def facts_of(vocab: int, dim: int, **more: object) -> Problem:
    """Every fact once, one token to a sequence."""
    return Problem(vocab=vocab, samples=vocab, dim=dim, length=1, task="memory", **more)


def linear() -> Iterator[Task]:
    """Dimensions around the capacity threshold, one by one where that is fine enough."""
    for vocab, seeds in SEEDS.items():
        at = math.sqrt(full_square(vocab).parameters)
        apart = max(1, round(at / 80))
        first = math.floor(0.955 * at - 1)
        for dim in range(first, math.ceil(at + 3 * apart) + 1, apart):
            problem = facts_of(vocab, dim, learner="converged")
            yield from (("linear", problem, (seed,)) for seed in range(seeds))


def mlp() -> Iterator[Task]:
    """Widths around the capacity threshold, at the dimension that gives the ratio m/d."""
    for vocab, seeds in MLP_SEEDS.items():
        at = full_square(vocab).parameters
        for ratio in RATIOS:
            dim = round(math.sqrt(at / ratio))
            for share in (0.86, 0.9, 0.94, 0.98, 1.02, 1.06, 1.1, 1.15, 1.2):
                width = round(share * at / dim)
                problem = facts_of(vocab, dim, width=width, activation="relu", learner="converged")
                yield from (("mlp", problem, (seed,)) for seed in range(seeds))


def reach() -> Iterator[Task]:
    """Trainings from below the capacity threshold to where a hundred steps suffice."""
    for vocab, seeds in REACH_SEEDS.items():
        at = math.sqrt(full_square(vocab).parameters)
        for share in (1.0, 1.1, 1.3, 1.8):
            for learner in OPTIMISERS:
                problem = facts_of(vocab, round(share * at), learner=learner, steps=STEPS[-1])
                together = seeds if learner in ("gd", "adam") else 1
                yield "reach", problem, tuple(range(together))


def measured(study: str, problem: Problem, numbers: tuple[int, ...]) -> list[Row]:
    """Some runs, as rows."""
    torch.set_num_threads(1)
    seeds = [seed_from(PREDICTIONS) + number for number in numbers]
    records = run_together(problem, seeds, test_samples=problem.vocab)
    return [
        row_of(study, problem, number, record)
        for number, record in zip(numbers, records, strict=True)
    ]


def row_of(study: str, problem: Problem, number: int, record: Record) -> dict[str, object]:
    """One run, as a row."""
    if record.status != "ok":
        raise RuntimeError(f"{problem}: {record.reason}")
    row = {
        "study": study,
        **{name: getattr(problem, name) for name in ("vocab", "dim", "width", "learner")},
        "number": number,
        "seed": record.seed,
        "recall": record.recall_accuracy,
        "certified": record.metrics.get("certified"),
        "separable": record.metrics.get("separable"),
        "steps": record.metrics.get("steps_taken"),
        "seconds": round(record.provenance.elapsed_seconds, 2),
    }
    steps, recalls = (record.metrics.get(name) for name in ("curve_step", "curve_recall"))
    for step in STEPS[:-1]:
        # A training that ended before stays as it is.
        row[f"recall_{step}"] = (
            None
            if steps is None
            else recalls[max(place for place, each in enumerate(steps) if each <= step)]
        )
    return row


STUDIES = {"linear": linear, "mlp": mlp, "reach": reach}
KEY = ("study", "vocab", "dim", "width", "learner", "number")


def keys_of(task: Task) -> list[tuple[object, ...]]:
    """What distinguishes runs."""
    study, problem, numbers = task
    sizes = [getattr(problem, name) for name in KEY[1:-1]]
    return [(study, *sizes, number) for number in numbers]


def run_study(name: str, processes: int) -> None:
    """Run what is not among the runs kept from before."""
    done = {tuple(row[each] for each in KEY) for row in kept(KEPT)}
    tasks = [task for task in STUDIES[name]() if done.isdisjoint(keys_of(task))]
    run_and_keep(measured, tasks, processes, KEPT)
    rows = sorted(kept(KEPT), key=lambda row: [str(row[each]).zfill(8) for each in KEY])
    write_table(rows, TABLE)


def crossing(by_size: dict[float, list[float]], target: float) -> tuple[float, float, float]:
    """Where the mean over seeds crosses a target, with a 95 % interval by drawing seeds again."""
    rng = np.random.default_rng(0)
    sizes = sorted(by_size)

    def cross(means: list[float]) -> float:
        rising = np.maximum.accumulate(means)
        return float(np.interp(target, rising, sizes, left=math.nan, right=math.inf))

    drawn = [
        cross([float(rng.choice(by_size[size], len(by_size[size])).mean()) for size in sizes])
        for _ in range(2000)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975], method="nearest")
    return cross([float(np.mean(by_size[size])) for size in sizes]), float(low), float(high)


def linear_recalls() -> dict[int, dict[int, list[float]]]:
    """Of linear memories, by facts and dimension."""
    found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with TABLE.open() as file:
        for row in csv.DictReader(file):
            if row["study"] == "linear":
                found[int(row["vocab"])][int(row["dim"])].append(float(row["recall"]))
    return found


def report() -> None:
    """c at each target, next to its prediction."""
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    with PREDICTIONS.open() as file:
        predicted = {(int(row["vocab"]), float(row["target"])): row for row in csv.DictReader(file)}
    groups: dict[tuple[str, int, str, str], dict[float, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        vocab, dim = int(row["vocab"]), int(row["dim"])
        parameters = dim * int(row["width"] or dim)
        if row["study"] == "reach":
            for step in STEPS:
                recall = row["recall"] if step == STEPS[-1] else row[f"recall_{step}"]
                groups["reach", vocab, row["learner"], str(step)][parameters].append(float(recall))
        else:
            ratio = ""
            if row["width"]:  # the one of the ratios that the dimension was chosen for
                at = full_square(vocab).parameters / dim**2
                ratio = f"m/d={min(RATIOS, key=lambda each: abs(math.log(at / each)))}"
            groups[row["study"], vocab, ratio, ""][parameters].append(float(row["recall"]))
    for (study, vocab, kind, step), by_size in groups.items():
        unit = vocab * math.log(vocab)
        shown = []
        for target in TARGETS:
            at, low, high = (each / unit for each in crossing(by_size, target))
            shown.append(f"{target:g}: {at:.3f} ({low:.3f} to {high:.3f})")
            if study == "linear":
                guess = predicted[vocab, target]
                shown.append(f"predicted {float(guess['dim']) ** 2 / unit:.3f}")
        print(study, vocab, kind, step, *shown)
    errors = [
        (float(np.mean(recalls)), abs(float(np.mean(recalls)) - derived(vocab, parameters)))
        for (study, vocab, _, _), by_size in groups.items()
        if study == "linear"
        for parameters, recalls in by_size.items()
    ]
    hard = [error for recall, error in errors if 0.1 < recall < 0.9]
    print(f"recall as derived: {np.mean([error for _, error in errors]):.4f} ({len(errors)} sizes)")
    print(f"where it is between 0.1 and 0.9: {np.mean(hard):.4f} ({len(hard)} sizes)")


def derived(vocab: int, parameters: float) -> float:
    """Recall of all facts, equally often, by a square memory."""
    return memory_recall(vocab, parameters, equally_often(vocab), math.sqrt(parameters))


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("predict", "run", "report"))
    parser.add_argument("study", nargs="?", choices=STUDIES)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "predict":
        predict()
    elif asked.what == "run":
        run_study(asked.study, asked.processes)
    else:
        report()


if __name__ == "__main__":
    main()
