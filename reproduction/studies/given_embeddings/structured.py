"""Theory for embeddings with structure, compared with simulation.

    given_embeddings/structured draw open|preregistered          # structured-STUDY.csv
    given_embeddings/structured run open|preregistered [--processes 2]
    given_embeddings/structured report

Problems are drawn at random over the fields of the structured family, one or two kinds of structure
at a time. For most of them the predicted recall is between 0.1 and 0.9. `draw` also writes the
predictions. The file of the preregistered study was committed before its runs, and their seeds come
from its hash. Every run draws different embeddings. Runs are saved one by one, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, predict, run
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import Row, kept, run_and_keep, seed_from, write_table

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
COUNT = {"open": 140, "preregistered": 60}
DRAWN_FROM = {"open": 21, "preregistered": 2121}
HARD_SHARE = 0.7  # of problems, such that recall is predicted between 0.1 and 0.9
TRIES = 6  # of other dimensions, to come there
SEEDS = 24


def file_of(study: str) -> Path:
    return HERE / f"structured-{study}.csv"


def structure(rng: np.random.Generator, dim: int) -> dict[str, float]:
    """One or two kinds of structure, of random strength."""
    kinds = {
        "common_mean": lambda: {"common_mean": round(float(rng.uniform(0.1, 1.5)), 3)},
        "spectrum": lambda: {"spectrum": round(float(rng.uniform(0.2, 1.6)), 3)},
        "rank": lambda: {"rank": int(rng.integers(dim // 4, dim))},
        "clusters": lambda: {
            "clusters": int(rng.integers(4, 65)),
            "cluster_share": round(float(rng.uniform(0.1, 0.8)), 3),
        },
        "length_spread": lambda: {"length_spread": round(float(rng.uniform(0.05, 0.5)), 3)},
        "tied": lambda: {"tied": round(float(rng.uniform(0.3, 1.0)), 3)},
    }
    chosen = rng.choice(list(kinds), size=rng.integers(1, 3), replace=False)
    return {name: value for kind in chosen for name, value in kinds[kind]().items()}


def draw(study: str) -> None:
    """Problems, each with what theory says of it and what nominal d would."""
    rng = np.random.default_rng(DRAWN_FROM[study])
    rows: list[Row] = []
    while len(rows) < COUNT[study]:
        vocab = round(math.exp(rng.uniform(math.log(128), math.log(1024))))
        dim = round(math.sqrt(vocab * math.log(vocab)) * math.exp(rng.uniform(-0.7, 1.2)))
        sizes = {
            "vocab": vocab,
            "dim": min(max(dim, 16), 512),
            "samples": round(vocab * math.exp(rng.uniform(0, math.log(32)))),
            "length": round(math.exp(rng.uniform(math.log(2), math.log(128)))),
        }
        problem = Problem(**sizes, embedding="structured", **structure(rng, sizes["dim"]))
        hard = rng.random() < HARD_SHARE
        found = predict(problem)
        for _ in range(TRIES if hard else 0):
            if 0.1 < found.recall_accuracy < 0.9:
                break
            factor = 1.4 if found.recall_accuracy < 0.5 else 0.75
            problem = problem.replace(dim=max(round(factor * problem.dim), problem.rank, 8))
            found = predict(problem)
        nominal = predict(Problem(**sizes | {"dim": problem.dim}))
        rows.append(
            {
                "problem": json.dumps(problem.to_dict()),
                "attention": round(found.attention_accuracy, 4),
                "recall": round(found.recall_accuracy, 4),
                "first_gradient": round(found.first_gradient_accuracy, 4),
                "nominal_attention": round(nominal.attention_accuracy, 4),
                "nominal_recall": round(nominal.recall_accuracy, 4),
                "nominal_first_gradient": round(nominal.first_gradient_accuracy, 4),
            }
        )
        print(f"{len(rows)} of {COUNT[study]}", end="\r", flush=True)
    write_table(rows, file_of(study))


def drawn(study: str) -> list[Row]:
    with file_of(study).open() as file:
        return with_todays_names(csv.DictReader(file))


def simulated(study: str, number: int, problem: Problem, first: int) -> list[Row]:
    """The means over seeds, each with different embeddings, and their standard errors."""
    torch.set_num_threads(1)
    records = [run(problem, first + seed) for seed in range(SEEDS)]
    found: Row = {"number": number, "seeds": SEEDS}
    for name in ("attention", "recall", "first_gradient"):
        values = [getattr(record, f"{name}_accuracy") for record in records]
        found[name] = round(float(np.mean(values)), 5)
        found[f"{name}_error"] = round(float(np.std(values) / math.sqrt(SEEDS)), 5)
    return [found]


def run_study(study: str, processes: int) -> None:
    path = HERE / f"structured-{study}.jsonl"
    done = {row["number"] for row in kept(path)}
    first = seed_from(file_of(study)) if study == "preregistered" else 1000
    tasks = [
        (study, number, Problem.from_dict(json.loads(row["problem"])), first)
        for number, row in enumerate(drawn(study))
        if number not in done
    ]
    run_and_keep(simulated, tasks, processes, path)
    rows = sorted(kept(path), key=lambda row: row["number"])
    write_table(rows, HERE / f"structured-{study}-runs.csv")


def report() -> None:
    """Errors by study, and separately for recall from 0.1 to 0.9; next to those of nominal d."""
    print("study, accuracy | problems | mean absolute error, 95th percentile | nominal d | SE")
    for study in COUNT:
        path = HERE / f"structured-{study}-runs.csv"
        if not path.exists():
            continue
        with path.open() as file:
            runs = with_todays_names(csv.DictReader(file))
        rows = drawn(study)
        for name in ("attention", "recall", "first_gradient"):
            table = np.array(
                [
                    [
                        float(run[name]),
                        float(rows[int(run["number"])][name]),
                        float(rows[int(run["number"])][f"nominal_{name}"]),
                        float(run[f"{name}_error"]),
                    ]
                    for run in runs
                ]
            )
            for where in ("all", "0.1 to 0.9"):
                here = table if where == "all" else table[(table[:, 0] > 0.1) & (table[:, 0] < 0.9)]
                off = np.abs(here[:, 1] - here[:, 0])
                nominal = np.abs(here[:, 2] - here[:, 0])
                print(
                    f"{study} {name}, {where} | {len(here)} | {off.mean():.4f}, "
                    f"{np.quantile(off, 0.95):.4f} | {nominal.mean():.3f} | {here[:, 3].mean():.4f}"
                )
        worst = sorted(
            runs,
            key=lambda run: -abs(float(run["recall"]) - float(rows[int(run["number"])]["recall"])),
        )
        for each in worst[:8]:
            row = rows[int(each["number"])]
            print(
                each["attention"], row["attention"], each["recall"], row["recall"], row["problem"]
            )


def write_compared() -> None:
    """The table that comes with the package: sizes, what was predicted then and what was run."""
    found: list[Row] = []
    for study in COUNT:
        rows = drawn(study)
        with file_of(f"{study}-runs").open() as file:
            for run in with_todays_names(csv.DictReader(file)):
                row = rows[int(run["number"])]
                problem = json.loads(row["problem"])
                sizes = {name: problem[name] for name in ("vocab", "samples", "dim", "length")}
                numbers = {
                    f"{what}_{name}": float(each[name])
                    for what, each in (("predicted", row), ("measured", run))
                    for name in ("attention", "recall", "first_gradient")
                }
                found.append(sizes | numbers)
    write_table(found, ROOT / "src/recallscope/theory/structured.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("draw", "run", "report", "table"))
    parser.add_argument("study", nargs="?", choices=COUNT)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "report":
        report()
    elif asked.what == "table":
        write_compared()
    elif asked.what == "draw":
        draw(asked.study)
    else:
        run_study(asked.study, asked.processes)


if __name__ == "__main__":
    main()
