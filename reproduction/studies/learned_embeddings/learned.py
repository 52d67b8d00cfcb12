"""Learned against frozen embeddings: how many facts a linear memory stores.

    learned_embeddings/learned run [--processes 2]   # learned.csv
    learned_embeddings/learned report

`quick`: thirty steps of Adam on the embeddings of tokens and labels and on the value matrix, d from
2 to 6. `learned`: a hundred, d from 2 to 4. `longer`: two thousand, up to 512 facts, d of 2 and 3.
`frozen`: only the value matrix is trained, to the minimum of the loss, at the same d. `equal`: the
same at the d at which it has as many trained parameters as the learned one that just stores 0.9 of
its facts. Each is looked at for ever more facts, until recall has fallen below 0.9 by far. Runs are
saved one by one in learned.jsonl, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import brentq

from recallscope import Problem, run
from recallscope.theory.end_capacity import edge
from reproduction.studies.kept_runs import keep, kept, write_table

HERE = Path(__file__).parent
KEPT, TABLE = HERE / "learned.jsonl", HERE / "learned.csv"
DIMS = (2, 3, 4, 5, 6)
TARGET, ENOUGH = 0.9, 0.7
SEEDS, SEEDS_OF_MANY = 12, 2
MANY, MOST, MOST_LONGER = 1000, 4096, 512
STEPS = {"quick": 30, "learned": 100, "longer": 2000}
KEY = ("study", "dim", "vocab", "number")

Task = tuple[str, int, int, int]


def measured(task: Task) -> dict[str, object]:
    """One run, as a row."""
    torch.set_num_threads(1)
    study, dim, vocab, number = task
    learned = {"learner": "adam", "learn_embeddings": True, "steps": STEPS.get(study, 0)}
    how = learned if study in STEPS else {"learner": "converged"}
    problem = Problem(vocab=vocab, samples=vocab, dim=dim, length=1, task="memory", **how)
    record = run(problem, number, test_samples=vocab)
    if record.status != "ok":
        raise RuntimeError(f"{problem}: {record.reason}")
    return dict(zip(KEY, task, strict=True)) | {
        "recall": record.recall_accuracy,
        "steps": record.metrics.get("steps_taken"),
        "seconds": round(record.provenance.elapsed_seconds, 2),
    }


def larger(vocab: int, study: str) -> int:
    """The next number of facts to look at."""
    return max(vocab + 1, round(vocab * (math.sqrt(2) if study in STEPS else 1.05)))


def crossing(recalls: dict[int, list[float]]) -> float:
    """The number of facts at which mean recall falls to the target."""
    sizes = sorted(recalls)
    means = np.minimum.accumulate([float(np.mean(recalls[size])) for size in sizes])
    if means[-1] > TARGET:
        return math.inf
    return float(np.exp(np.interp(-TARGET, -means, np.log(sizes))))


class Runs:
    """What was run, and what is still to be."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self.pool = pool
        self.recall = {tuple(row[name] for name in KEY): row["recall"] for row in kept(KEPT)}

    def of(self, study: str, dim: int, vocab: int) -> list[float]:
        """Recall of every seed."""
        seeds = SEEDS if vocab < MANY and study != "longer" else SEEDS_OF_MANY
        tasks = [(study, dim, vocab, number) for number in range(seeds)]
        missing = [task for task in tasks if task not in self.recall]
        for row in self.pool.map(measured, missing):
            keep([row], KEPT)
            self.recall[tuple(row[name] for name in KEY)] = row["recall"]
        return [self.recall[task] for task in tasks]

    def stored(self, study: str, dim: int, first: int) -> float:
        """Ever more facts, until they are far too many."""
        recalls: dict[int, list[float]] = {}
        vocab = first
        most = MOST_LONGER if study == "longer" else MOST
        while vocab <= most and (not recalls or np.mean(recalls[max(recalls)]) > ENOUGH):
            recalls[vocab] = self.of(study, dim, vocab)
            print(study, dim, vocab, np.mean(recalls[vocab]).round(3), flush=True)
            vocab = larger(vocab, study)
        return crossing(recalls)


def facts_at_the_edge(dim: int) -> int:
    """About as many as a frozen memory holds."""
    return max(
        2, round(brentq(lambda v: edge(round(v), v, dim).parameters - dim**2, 2, 10**5, xtol=1))
    )


def run_study(processes: int) -> None:
    """Every study at every d."""
    with ProcessPoolExecutor(processes) as pool:
        runs = Runs(pool)
        for dim in DIMS:
            runs.stored("frozen", dim, 2)
            if dim <= 3:
                runs.stored("longer", dim, 32)
            each = [runs.stored("learned", dim, 4)] if dim <= 4 else []
            for facts in (*each, runs.stored("quick", dim, 4)):
                if facts < math.inf:
                    equal = round(math.sqrt(parameters(facts, dim)))
                    runs.stored("equal", equal, round(0.8 * facts_at_the_edge(equal)))
    write_table(sorted(kept(KEPT), key=lambda row: [row[name] for name in KEY]), TABLE)


def parameters(facts: float, dim: int) -> float:
    """Trained ones where embeddings are learned: those of tokens, of labels, and the matrix."""
    return 2 * facts * dim + dim**2


def stored_facts() -> Iterator[tuple[str, int, float, float, float]]:
    """Facts at 0.9, with a 95 % interval by drawing seeds again."""
    rng = np.random.default_rng(0)
    groups: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with TABLE.open() as file:
        for row in csv.DictReader(file):
            groups[row["study"], int(row["dim"])][int(row["vocab"])].append(float(row["recall"]))
    for (study, dim), recalls in sorted(groups.items()):
        drawn = [
            crossing({size: rng.choice(each, len(each)).tolist() for size, each in recalls.items()})
            for _ in range(2000)
        ]
        low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
        yield study, dim, crossing(recalls), float(low), float(high)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.processes)
    for study, dim, facts, low, high in stored_facts():
        trained = parameters(facts, dim) if study in STEPS else dim**2
        print(
            f"{study} d={dim}: {facts:.4g} facts ({low:.4g} to {high:.4g}), {trained:.4g} trained"
        )


if __name__ == "__main__":
    main()
