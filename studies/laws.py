"""Critical batch sizes along every axis, by simulation alone: the data behind docs/laws.md.

    python studies/laws.py                 # search what is not there yet, then report
    python studies/laws.py --report        # fit what is there

Each law is measured about several base problems, each larger than the one before, with five values
along each axis and the others at the base. Searches know nothing of the closed forms. Runs go to
laws-runs.csv as they are made, critical sizes to laws.csv; a search that is there is not repeated.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any, NamedTuple

from recallscope import Problem, run
from recallscope.measurement.critical import CriticalSearch
from recallscope.tables import read_csv

RESULTS = Path(__file__).with_name("laws.csv")
RUNS = Path(__file__).with_name("laws-runs.csv")


class Law(NamedTuple):
    """What is measured, about which base problems, how far to each side, and how precisely."""

    accuracy: str
    bases: tuple[dict[str, Any], ...]
    axes: dict[str, float]  # the factor to either side of the base
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
        0.04,
        48,
    ),
}
FACTORIAL = {
    # Every dimension with every length: does what N must be depend on both?
    "random": ("sphere", (80, 96, 128, 160, 192), (64, 96, 128, 192, 256)),
    "orthogonal": ("orthogonal", (257, 320, 384, 448, 512), (64, 96, 128, 192, 256)),
}


def problems() -> list[tuple[str, int, str, Problem, float, int]]:
    """Law, scale, accuracy, problem, precision and budget of every search, small ones first."""
    listed = []
    for name, (embedding, dims, lengths) in FACTORIAL.items():
        for dim in dims:
            for length in lengths:
                sizes = {"vocab": 256, "dim": dim, "length": length, "embedding": embedding}
                listed.append((name, 0, "recall_accuracy", Problem(samples=1, **sizes), 0.1, 64))
    for scale in range(3):
        for name, law in LAWS.items():
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


def simulate() -> None:
    import torch

    torch.set_num_threads(1)
    there = read_csv(RESULTS) if RESULTS.exists() else []
    done = {(row["law"], row["scale"], row["vocab"], row["dim"], row["length"]) for row in there}
    wanted = problems()
    for number, (law, scale, accuracy, problem, precision, budget) in enumerate(wanted):
        if (law, scale, problem.vocab, problem.dim, problem.length) in done:
            continue
        search = CriticalSearch(
            problem,
            accuracy=accuracy,
            low=max(problem.vocab // 16, 4),
            high=256 * problem.vocab,
            precision=precision,
            budget=budget,
            prior=None,
        )
        sizes = {name: getattr(problem, name) for name in ("vocab", "dim", "length")}
        while not search.done:
            records = [run(p, seed, dtype="float32") for p, seed in search.ask()]
            search.tell(records)
            _append(
                RUNS,
                [
                    {"law": law, "scale": scale, **sizes}
                    | {"samples": record.problem.samples, "seed": record.seed}
                    | {"rate": getattr(record, accuracy)}
                    for record in records
                ],
            )
        found = search.result()
        row = {"law": law, "scale": scale, **sizes, "status": str(found.status)}
        row |= {name: getattr(found, name) for name in ("value", "low", "high")}
        row |= {"log_mean": found.log_mean, "log_sd": found.log_sd, "runs": found.evaluations}
        _append(RESULTS, [row])
        print(f"{number + 1} of {len(wanted)}: {row}", flush=True)


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        if new:
            writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        simulate()


if __name__ == "__main__":
    main()
