"""Closed forms judged by runs that they could not know: predictions first, then simulations.

    random_problems/judged predict few      # draw problems, write few-predictions.csv
    random_problems/judged run few          # simulate them, write few.csv, report
    random_problems/judged report           # of both studies, by the closed forms of today

`few` are 100 problems of N from 1 to V. Forty are drawn as they come; sixty are the next of those
for which some accuracy is predicted between 0.1 and 0.9, where it is hard to be right. `fresh` are
200 problems of all sizes that closed forms are said to be tested at. `wide` are 100 of these sizes
and 100 beyond them, half of each with a predicted recall between 0.1 and 0.9. The predictions are
committed before the runs. The first seed comes from the hash of their file.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from recallscope.three_step.cost import predict_cost
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import seed_from
from reproduction.studies.random_problems.design import (
    ACCURACIES,
    draw_size,
    path,
    report,
    summarise,
)
from reproduction.studies.random_problems.recorded_problems import load_summary, problem_of

DRAWN_FROM = {"few": 20261117, "fresh": 20261118, "wide": 20261119}
SECONDS = {"few": 40.0, "fresh": 20.0, "wide": 8.0}  # for one problem, after its first seeds
FIRST_SEEDS = {"few": 16, "fresh": 16, "wide": 4}
LONGEST_RUN = 5.0  # seconds of one core, as estimated, for problems of `wide`
MEASURED = (*ACCURACIES, "score_signal", "score_noise", "trigger_cosine")


def draw_problem(rng: np.random.Generator, fewest: float, most: float) -> Problem:
    """A problem with N/V log-uniform between `fewest` and `most`, the rest as in the design."""
    vocab, width = draw_size(rng, 256, 4096), draw_size(rng, 64, 4096)
    activation = str(rng.choice(["relu", "gelu", "tanh", "quadratic"]))
    has_mlp = bool(rng.integers(2))
    per_fact = math.exp(rng.uniform(math.log(fewest or 1 / vocab), math.log(most)))
    return Problem(
        vocab=vocab,
        dim=draw_size(rng, 16, min(512, vocab - 1)),
        length=draw_size(rng, 2, 256),
        samples=max(1, round(vocab * per_fact)),
        width=width if has_mlp else None,
        activation=activation if has_mlp else None,
        embedding=str(rng.choice(["sphere", "gaussian"])),
        trigger_in_values=bool(rng.integers(2)),
    )


def draw_large(rng: np.random.Generator) -> Problem:
    """A problem that may be beyond the sizes that closed forms were tested at before `wide`."""
    vocab, has_mlp = draw_size(rng, 256, 16384), bool(rng.integers(2))
    width = draw_size(rng, 16, 16384)
    activation = str(rng.choice(["relu", "gelu", "tanh", "quadratic"]))
    return Problem(
        vocab=vocab,
        dim=draw_size(rng, 8, min(1024, vocab - 1)),
        length=draw_size(rng, 2, 1024),
        samples=max(1, round(vocab * math.exp(rng.uniform(math.log(1 / 8), math.log(400))))),
        width=width if has_mlp else None,
        activation=activation if has_mlp else None,
        embedding=str(rng.choice(["sphere", "gaussian"])),
        trigger_in_values=bool(rng.integers(2)),
    )


def is_beyond(problem: Problem) -> bool:
    """Whether a size is beyond what was tested before `wide`."""
    width = problem.width or 64
    return (
        problem.vocab > 4096
        or not 16 <= problem.dim <= 512
        or problem.length > 256
        or problem.samples > 100 * problem.vocab
        or not 64 <= width <= 4096
    )


def draw_wide(rng: np.random.Generator) -> list[Problem]:
    """First 100 inside, then 100 beyond; of each 50 as they come, and 50 that are hard."""
    problems = []
    for beyond in (False, True):
        for hard in (False, True):
            found = 0
            while found < 50:
                problem = draw_large(rng) if beyond else draw_problem(rng, 1 / 8, 100)
                recall = accuracies(arrays_of(problem)).recall_accuracy[0]
                fits = predict_cost(problem, test_samples=512).seconds < LONGEST_RUN
                if fits and is_beyond(problem) == beyond and (not hard or 0.1 < recall < 0.9):
                    problems.append(problem)
                    found += 1
    return problems


def draw(study: str) -> list[Problem]:
    rng = np.random.default_rng(DRAWN_FROM[study])
    if study == "wide":
        return draw_wide(rng)
    if study == "fresh":
        return [draw_problem(rng, 0.05, 100) for _ in range(200)]
    problems = [draw_problem(rng, 0, 1) for _ in range(40)]
    while len(problems) < 100:
        problem = draw_problem(rng, 0.05, 1)
        predicted = np.array(accuracies(arrays_of(problem)))
        if np.any((predicted > 0.1) & (predicted < 0.9)):
            problems.append(problem)
    return problems


def predict(study: str) -> None:
    problems = draw(study)
    predicted = accuracies(arrays_of(problems))._asdict()
    with path(study, "-predictions").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*problems[0].to_dict(), *ACCURACIES])
        writer.writeheader()
        for index, problem in enumerate(problems):
            shown = {name: f"{predicted[name][index]:.5f}" for name in ACCURACIES}
            writer.writerow(problem.to_dict() | shown)


def load_predictions(study: str) -> tuple[list[Problem], list[dict[str, str]]]:
    with path(study, "-predictions").open() as file:
        lines = with_todays_names(csv.DictReader(file))
    return [problem_of(line, int(line["samples"])) for line in lines], lines


def first_seed(study: str) -> int:
    """Of the runs: nobody could know it before the predictions were made."""
    return seed_from(path(study, "-predictions"))


def simulate(study: str, index: int, problem: Problem) -> list[dict[str, float]]:
    """Seeds until the means are known to 0.006, or the time is up."""
    torch.set_num_threads(1)
    rows: list[dict[str, float]] = []
    started, wanted = time.process_time(), FIRST_SEEDS[study]
    while True:
        for number in range(len(rows), wanted):
            record = run(problem, first_seed(study) + number, dtype="float32", test_samples=512)
            if record.status != "ok":
                raise RuntimeError(f"problem {index}: {record.reason}")
            rows.append({name: getattr(record, name) for name in MEASURED})
        partial = min(row["attention_accuracy"] for row in rows) < 0.98
        errors = [
            np.std([row[name] for row in rows], ddof=1) / math.sqrt(wanted) for name in ACCURACIES
        ]
        enough = max(errors) < 0.006 and (wanted >= 64 or not partial)
        if enough or time.process_time() - started > SECONDS[study]:
            return rows
        wanted += wanted // 2


def run_study(study: str, processes: int, kept: Path) -> None:
    """Simulate what is not among the runs kept from before; some problems take ten minutes."""
    problems, _ = load_predictions(study)
    lines = kept.read_text().splitlines() if kept.exists() else []
    rows: dict[int, list[dict[str, float]]] = dict(json.loads(line) for line in lines)
    with ProcessPoolExecutor(processes) as pool, kept.open("a") as file:
        futures = {
            pool.submit(simulate, study, index, problem): index
            for index, problem in enumerate(problems)
            if index not in rows
        }
        for future in as_completed(futures):
            index = futures[future]
            rows[index] = future.result()
            file.write(json.dumps([index, rows[index]]) + "\n")
            file.flush()
            print(f"{len(rows)} of {len(problems)}: {len(rows[index])} seeds", flush=True)
    summarise(study, problems, dict(sorted(rows.items())))


def judge(study: str) -> None:
    """The committed predictions against the runs, apart where an accuracy is hard to get right."""
    problems, lines = load_summary(study)
    _, predictions = load_predictions(study)
    simulated = np.array([[float(line[name]) for name in ACCURACIES] for line in lines])
    noise = np.array([[float(line[f"{name}_error"]) for name in ACCURACIES] for line in lines])
    predicted = np.array([[float(line[name]) for name in ACCURACIES] for line in predictions])
    hard = (simulated > 0.1) & (simulated < 0.9)
    some = hard.any(axis=1)
    print(f"\n{study}: {len(problems)} problems, {some.sum()} with an accuracy in 0.1 to 0.9")
    for column, name in enumerate(ACCURACIES):
        size = np.abs(predicted - simulated)[:, column]
        # As good as knowing the mean of all problems, and nothing about this one.
        trivial = np.abs(simulated[:, column] - simulated[:, column].mean())
        beyond = np.array([is_beyond(problem) for problem in problems])
        inside = [("inside", ~beyond), ("inside and hard", ~beyond & hard[:, column])]
        outside = [("beyond", beyond), ("beyond and hard", beyond & hard[:, column])]
        parts = [("all", some | True), ("some hard", some), ("hard", hard[:, column])]
        for label, chosen in parts + (inside + outside if study == "wide" else []):
            print(
                f"  {name}, {label}: {chosen.sum()} problems, mean absolute error "
                f"{size[chosen].mean():.4f} (of the mean of all: {trivial[chosen].mean():.4f}), "
                f"95th percentile {np.quantile(size[chosen], 0.95):.4f}, "
                f"simulation's standard error {noise[chosen, column].mean():.4f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("predict", "run", "report"))
    parser.add_argument("study", nargs="?", choices=DRAWN_FROM)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="runs so far, to be resumed")
    arguments = parser.parse_args()
    for study in [arguments.study] if arguments.study else DRAWN_FROM:
        if arguments.what == "predict":
            predict(study)
            continue
        if arguments.what == "run":
            run_study(study, arguments.processes, arguments.kept or Path(f"{study}-runs.jsonl"))
        judge(study)
        report(study)


if __name__ == "__main__":
    main()
