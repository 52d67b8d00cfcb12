"""The law of the end of training, found on problems drawn at random and judged on others.

    python studies/end_law.py run open        # 120 problems that the law may be found with
    python studies/end_law.py run few         # 48 more, long sequences and few samples
    python studies/end_law.py predict sealed  # 60 others: the law's predictions, to be committed
    python studies/end_law.py run sealed      # train them; the seeds come from the predictions
    python studies/end_law.py report          # errors of both

Facts from 64 to 512, sequences of 2 to 128, a quarter to 32 samples for each fact, descent, Adam
and Muon in equal parts. Half of the problems lie around the edge of what a memory can hold, the
others away from it on either side. Runs are kept as they come, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.tasks.kind import samples_of
from recallscope.theory.end_law import end_of_training

HERE = Path(__file__).parent
PREDICTIONS = HERE / "end-law-predictions.csv"
DRAWN_FROM = {"open": 20261116, "few": 20261117, "sealed": 20261119}
COUNT = {"open": 120, "few": 48, "sealed": 60}
LEARNERS = ("gd", "adam", "muon")
SECONDS_FOR_SEEDS = {"open": 5.0, "few": 20.0, "sealed": 15.0}
MOST_SEEDS = {"open": 4, "few": 6, "sealed": 6}
SIZES = ("vocab", "samples", "dim", "length", "learner")


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draw(study: str) -> list[Problem]:
    """The problems of a study, the same every time."""
    rng = np.random.default_rng(DRAWN_FROM[study])
    problems = []
    few = study == "few"
    for index in range(COUNT[study]):
        vocab = round(between(rng, 64, 192 if few else 512))
        per_fact = between(rng, 0.25, 2 if few else 32)
        # Roughly where a memory of the facts seen is full; the law has it exactly.
        edge = math.sqrt(1.05 * vocab * -math.expm1(-per_fact) * math.log(vocab))
        around, below = rng.uniform(0.6, 1.1), rng.uniform(0.35, 0.6)
        above = rng.uniform(1.1, 2.5)
        share = around if index % 2 else (below if rng.integers(2) else above)
        problems.append(
            Problem(
                vocab=vocab,
                samples=max(8, round(vocab * per_fact)),
                dim=min(max(4, round(share * edge)), vocab - 1),
                length=round(between(rng, 12 if few else 2, 128)),
                learner=LEARNERS[index // 2 % 3],
            )
        )
    return problems


def first_seed(study: str) -> int:
    """Of sealed runs nobody could know it before the predictions were made."""
    if study != "sealed":
        return 0
    return int(hashlib.sha256(PREDICTIONS.read_bytes()).hexdigest()[:10], 16)


def trained(study: str, index: int, problem: Problem) -> list[dict[str, object]]:
    """Up to four seeds, as long as they are quick."""
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    seconds = 0.0
    while len(rows) < MOST_SEEDS[study] and seconds < SECONDS_FOR_SEEDS[study]:
        seed = first_seed(study) + len(rows)
        record = run(problem, seed, test_samples=2048)
        if record.status != "ok":
            raise RuntimeError(f"problem {index}: {record.reason}")
        labels = samples_of(problem, seed).draw(0, int(problem.samples)).label
        found = {
            name: record.metrics.get(name)
            for name in ("ended", "steps_taken", "final_loss", "first_lock")
        }
        rows.append(
            {"study": study, "problem": index}
            | {name: getattr(problem, name) for name in SIZES}
            | {
                "seed": seed,
                "recall": record.recall_accuracy,
                "lock": record.lock_accuracy,
                "facts_seen": len(set(labels.tolist())) / problem.vocab,
            }
            | found
            | {
                "mass": record.metrics["curve_mass"][-1],
                "cosine": record.metrics["curve_cosine"][-1],
                "early_cosine": record.metrics["curve_cosine"][2],
                "seconds": round(record.provenance.elapsed_seconds, 1),
            }
        )
        seconds += record.provenance.elapsed_seconds
    return rows


def run_study(study: str, processes: int) -> None:
    """Train what is not among the runs kept from before."""
    kept = HERE / f"end-law-{study}.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    done = {json.loads(line)[0]["problem"] for line in lines}
    with ProcessPoolExecutor(processes) as pool, kept.open("a") as file:
        futures = [
            pool.submit(trained, study, index, problem)
            for index, problem in enumerate(draw(study))
            if index not in done
        ]
        for future in as_completed(futures):
            rows = future.result()
            file.write(json.dumps(rows) + "\n")
            file.flush()
            print(rows[0], len(rows), flush=True)
    runs = [row for line in kept.read_text().splitlines() for row in json.loads(line)]
    runs.sort(key=lambda row: (row["problem"], row["seed"]))
    with (HERE / f"end-law-{study}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, runs[0])
        writer.writeheader()
        writer.writerows(runs)


def predict(study: str) -> None:
    """What the law says of problems that were not trained yet."""
    with PREDICTIONS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", *SIZES, "predicted", "facts_seen"])
        for index, problem in enumerate(draw(study)):
            end = end_of_training(problem)
            sizes = [getattr(problem, name) for name in SIZES]
            writer.writerow([index, *sizes, f"{end.recall:.4f}", f"{end.facts_seen:.4f}"])


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "predict", "report"))
    parser.add_argument("study", nargs="?", choices=DRAWN_FROM)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.study, asked.processes)
    elif asked.what == "predict":
        predict(asked.study)


if __name__ == "__main__":
    main()
