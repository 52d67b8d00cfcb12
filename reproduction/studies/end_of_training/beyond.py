"""Trainings beyond the sizes that the law of training was found at: are they inside its interval?

    end_of_training/beyond predict    # beyond-predictions.csv, to be committed
    end_of_training/beyond run        # seeds from the hash of that file
    end_of_training/beyond report

Two thirds have a signal-to-noise ratio of the first steps above 8. V is up to 2048, L up to 512
where V is at most 256. One training each.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, predict, run
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import trigger_snr
from recallscope.three_step.cost import predict_cost
from reproduction.studies.kept_runs import Row, kept, run_and_keep, seed_from, write_table

HERE = Path(__file__).parent
PREDICTIONS = HERE / "beyond-predictions.csv"
KEPT = HERE / "beyond.jsonl"
SIZES = ("vocab", "samples", "dim", "length")
COUNT, UNCLEAR, MOST_SECONDS = 24, 8, 150.0
LEARNERS = ("adam", "muon", "gd")
CLEAR = 8.0  # a signal-to-noise ratio of the first steps


def drawn() -> list[Problem]:
    """Problems beyond V = 512 or L = 128 that take no more than some minutes."""
    rng = np.random.default_rng(20261117)
    problems: list[Problem] = []
    while len(problems) < COUNT:
        unclear = sum(trigger_snr(each) <= CLEAR for each in problems)
        long = rng.random() < 0.4
        vocab = round(2 ** (rng.uniform(6, 8) if long else rng.uniform(9, 11)))
        length = round(2 ** (rng.uniform(7, 9) if long else rng.uniform(1, 5)))
        samples = round(vocab * 2 ** rng.uniform(-1, 3))
        seen = vocab * -math.expm1(-samples / vocab)
        at = math.sqrt(edge(vocab, seen, math.sqrt(seen * math.log(vocab))).parameters)
        dim = min(round(at * rng.uniform(0.6, 1.6)), vocab - 1)
        learner = LEARNERS[len(problems) % len(LEARNERS)]
        sizes = dict(zip(SIZES, (vocab, samples, dim, length), strict=True))
        problem = Problem.from_dict({**sizes, "learner": learner})
        clear = trigger_snr(problem) > CLEAR
        if predict_cost(problem).seconds > MOST_SECONDS:
            continue
        if clear and len(problems) - unclear == COUNT - UNCLEAR:
            continue
        if not clear and unclear == UNCLEAR:
            continue
        problems.append(problem)
    return problems


def write_predictions() -> None:
    """Recall with its interval."""
    rows = []
    for problem in drawn():
        found = predict(problem)
        recall = found.estimates["recall_accuracy"]
        rows.append(
            {name: getattr(problem, name) for name in (*SIZES, "learner")}
            | {"trigger_snr": round(trigger_snr(problem), 3), "status": str(found.status)}
            | {name: round(getattr(recall, name), 4) for name in ("value", "low", "high")}
        )
    write_table(rows, PREDICTIONS)


def trained(number: int, fields: dict[str, object], seed: int) -> list[Row]:
    """One training."""
    torch.set_num_threads(1)
    record = run(Problem.from_dict(fields), seed, test_samples=4096)
    return [
        {"number": number, "seed": seed, "status": str(record.status)}
        | {"recall": record.recall_accuracy, "attention": record.attention_accuracy}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def run_all(processes: int) -> None:
    """Train what is not kept yet."""
    done = {row["number"] for row in kept(KEPT)}
    first = seed_from(PREDICTIONS)
    with PREDICTIONS.open() as file:
        rows = list(csv.DictReader(file))
    tasks = []
    for number, row in enumerate(rows):
        fields = {name: int(row[name]) for name in SIZES} | {"learner": row["learner"]}
        if number not in done:
            tasks.append((number, fields, first + number))
    run_and_keep(trained, tasks, processes, KEPT)
    write_table(sorted(kept(KEPT), key=lambda row: row["number"]), KEPT.with_suffix(".csv"))


def report() -> None:
    """How many are inside."""
    with PREDICTIONS.open() as file:
        rows = list(csv.DictReader(file))
    inside, errors = [], []
    for run_of in kept(KEPT):
        row = rows[run_of["number"]]
        value, low, high = (float(row[name]) for name in ("value", "low", "high"))
        held = low - 1e-9 <= run_of["recall"] <= high + 1e-9
        inside.append((held, float(row["trigger_snr"]) > CLEAR))
        errors.append(abs(value - run_of["recall"]))
        sizes = " ".join(f"{name}={row[name]}" for name in (*SIZES, "learner", "trigger_snr"))
        said = f"{value:.3f} ({low:.3f} to {high:.3f}), trained {run_of['recall']:.3f}"
        said += f", attention {run_of['attention']:.2f}"
        print(f"{'inside' if held else 'outside'}: {sizes}: {said}")
    for name, which in (("all", (True, False)), ("clear", (True,)), ("unclear", (False,))):
        some = [held for held, clear in inside if clear in which]
        print(f"{name}: {sum(some)} of {len(some)} inside")
    print(f"mean absolute error {np.mean(errors):.4f}")


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["predict", "run", "report"])
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.what == "predict":
        write_predictions()
    elif given.what == "run":
        run_all(given.processes)
    else:
        report()


if __name__ == "__main__":
    main()
