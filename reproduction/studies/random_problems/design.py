"""Problems drawn at random, simulated until the error of the mean is small.

    random_problems/design                    # simulate, write design.csv, report
    random_problems/design holdout            # the same for problems the theory had not seen
    random_problems/design --processes 2      # sooner
    random_problems/design --report           # compare the theory with the file that is there

The theory was worked out with the problems of `design` at hand; `holdout` was drawn afterwards.

A record is a pure function of its problem and seed, so the study can be stopped and started at
will: each finished seed is one line of a file of records and is never run again.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from reproduction.studies.random_problems.recorded_problems import load_summary

# How many problems, from which seed, and at most how many instances of each.
STUDIES = {"design": (420, 20261115, 400), "holdout": (150, 20261116, 48)}
ACCURACIES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")
MEASURED = (*ACCURACIES, "score_signal", "score_noise", "trigger_cosine")


def draw_size(rng: np.random.Generator, low: float, high: float) -> int:
    """Log-uniform between two sizes."""
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw_design(count: int, seed: int) -> list[Problem]:
    """Sizes log-uniform in their ranges, options by the toss of a coin."""
    rng = np.random.default_rng(seed)
    problems = []
    for _ in range(count):
        vocab = draw_size(rng, 256, 4096)
        width = draw_size(rng, 64, 4096)
        activation = str(rng.choice(["relu", "gelu", "tanh", "quadratic"]))
        has_mlp = bool(rng.integers(2))
        problems.append(
            Problem(
                vocab=vocab,
                dim=draw_size(rng, 16, min(512, vocab - 1)),
                length=draw_size(rng, 2, 256),
                samples=round(vocab * math.exp(rng.uniform(0, math.log(100)))),
                width=width if has_mlp else None,
                activation=activation if has_mlp else None,
                embedding=str(rng.choice(["sphere", "gaussian"])),
                trigger_in_values=bool(rng.integers(2)),
            )
        )
    return problems


def enough(rows: list[dict[str, float]]) -> bool:
    """Whether the means of these seeds are known to 0.01, or 0.02 where attention is partial.

    Seeds differ most where some find the trigger and some do not: a few that happen to agree
    prove nothing.
    """
    partial = min((row["attention_accuracy"] for row in rows), default=0.0) < 0.98
    if len(rows) < (32 if partial else 6):
        return False
    wanted = 0.02 if partial else 0.01
    errors = [
        np.std([row[name] for row in rows], ddof=1) / math.sqrt(len(rows)) for name in ACCURACIES
    ]
    return max(errors) < wanted


def simulate(index: int, problem: Problem, seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    record = run(problem, seed, dtype="float32")
    if record.status != "ok":
        raise RuntimeError(f"problem {index}, seed {seed}: {record.reason}")
    return {"problem": index, "seed": seed} | {name: getattr(record, name) for name in MEASURED}


def load(records: Path) -> dict[int, list[dict[str, float]]]:
    rows: dict[int, list[dict[str, float]]] = defaultdict(list)
    if records.exists():
        with records.open() as lines:
            for row in csv.DictReader(lines):
                rows[int(row["problem"])].append({name: float(row[name]) for name in row})
    return rows


def simulate_all(problems: list[Problem], records: Path, processes: int, most_seeds: int) -> None:
    rows = load(records)
    fields = ["problem", "seed", *MEASURED]
    fresh = not records.exists()
    with records.open("a", newline="") as file, ProcessPoolExecutor(processes) as pool:
        writer = csv.DictWriter(file, fields)
        if fresh:
            writer.writeheader()
        pending: set = set()
        # First a few seeds of every problem, then more where the mean is not known well enough.
        for seed in range(most_seeds):
            for index, problem in enumerate(problems):
                done = {row["seed"] for row in rows[index]}
                if seed in done or enough(rows[index]):
                    continue
                pending.add(pool.submit(simulate, index, problem, seed))
                while len(pending) > 2 * processes:
                    pending = keep(pending, rows, writer)
                    file.flush()
            while pending:
                pending = keep(pending, rows, writer)
                file.flush()
            left = sum(not enough(rows[index]) for index in range(len(problems)))
            print(f"{seed + 1} seeds: {left} of {len(problems)} problems need more", flush=True)
            if not left:
                break


def keep(pending: set, rows: dict[int, list[dict[str, float]]], writer: csv.DictWriter) -> set:
    finished, pending = wait(pending, return_when=FIRST_COMPLETED)
    for future in finished:
        row = future.result()
        writer.writerow(row)
        rows[int(row["problem"])].append(row)
    return pending


def path(study: str, kind: str = "") -> Path:
    return Path(__file__).with_name(f"{study}{kind}.csv")


def summarise(study: str, problems: list[Problem], rows: dict[int, list[dict[str, float]]]) -> None:
    """One line for each problem: its fields, the seeds, the means and their standard errors."""
    with path(study).open("w", newline="") as file:
        names = [f"{name}{suffix}" for name in MEASURED for suffix in ("", "_error")]
        writer = csv.DictWriter(file, [*problems[0].to_dict(), "seeds", *names])
        writer.writeheader()
        for index, problem in enumerate(problems):
            line = problem.to_dict() | {"seeds": len(rows[index])}
            for name in MEASURED:
                values = np.array([row[name] for row in rows[index]])
                line[name] = f"{values.mean():.6g}"
                line[f"{name}_error"] = f"{values.std(ddof=1) / math.sqrt(len(values)):.3g}"
            writer.writerow(line)


def report(study: str) -> None:
    """Predicted minus simulated accuracy: its mean, its size, and the 20 worst problems."""
    problems, lines = load_summary(study)
    predicted = accuracies(arrays_of(problems))._asdict()
    for name in ACCURACIES:
        measured = np.array([float(line[name]) for line in lines])
        noise = np.array([float(line[f"{name}_error"]) for line in lines])
        error = predicted[name] - measured
        size = np.abs(error)
        print(
            f"\n{name}: {len(error)} problems, mean absolute error {size.mean():.4f}, "
            f"95th percentile {np.quantile(size, 0.95):.4f}, bias {error.mean():+.4f}; "
            f"standard error of the simulation: mean {noise.mean():.4f}, largest {noise.max():.4f}"
        )
        for index in np.argsort(-size)[:20]:
            p = problems[index]
            print(
                f"  V={p.vocab} N={p.samples} d={p.dim} L={p.length} m={p.width} "
                f"{p.activation or 'attention'} {p.embedding}"
                f"{' trigger in values' if p.trigger_in_values else ''}: "
                f"predicted {predicted[name][index]:.3f}, "
                f"simulated {measured[index]:.3f} ± {noise[index]:.3f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", choices=STUDIES, default="design")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    study = arguments.study
    if not arguments.report:
        count, seed, most_seeds = STUDIES[study]
        problems = draw_design(count, seed)
        records = path(study, "-records")
        simulate_all(problems, records, arguments.processes, most_seeds)
        summarise(study, problems, load(records))
    report(study)


if __name__ == "__main__":
    main()
