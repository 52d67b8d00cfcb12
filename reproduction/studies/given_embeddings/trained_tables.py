"""The capacity of a trained memory on structured embeddings: does nominal d, rank or d_eff decide?

    given_embeddings/trained_tables families [--processes 2]   # trained-families.csv
    given_embeddings/trained_tables tables [--processes 2]     # trained-tables.csv
    given_embeddings/trained_tables report

`families`: the dimension at which the minimum of the loss recalls half of 256 facts, for every kind
of structure. `tables`: the number of facts of which half are recalled, on rows of real models that
are projected to 64 random directions (GloVe has 50), as they are, centred and whitened; packages
are those of real_tables.py. All facts are seen equally often, and attention is at the trigger.
"""

from __future__ import annotations

import argparse
import csv
import math
from itertools import product
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.model.embeddings import draw_embeddings
from recallscope.problem.given_embeddings import Embeddings
from recallscope.theory.end_capacity import edge
from recallscope.theory.table_moments import effective_dim
from reproduction.studies.given_embeddings import real_tables
from reproduction.studies.kept_runs import Row, run_rest
from reproduction.studies.memories.memory_edge import full_square

HERE = Path(__file__).parent
FAMILIES, TABLES = HERE / "trained-families.jsonl", HERE / "trained-tables.jsonl"
VOCAB, DIRECTIONS, SEEDS = 256, 64, 3
KINDS = (
    {},
    {"common_mean": 0.5},
    {"common_mean": 2.0},
    {"spectrum": 0.5},
    {"spectrum": 1.0},
    {"spectrum": 2.0},
    {"clusters": 16, "cluster_share": 0.5},
    {"clusters": 16, "cluster_share": 0.8},
    {"length_spread": 0.3},
    {"length_spread": 0.6},
    {"tied": 1.0},
    {"rank": 40},
    {"rank": 48},
)


def recall(problem: Problem, table: Embeddings | None, seed: int) -> float:
    record = run(problem, seed, embeddings=table)
    if record.status != "ok":
        raise RuntimeError(record.reason)
    return float(record.recall_accuracy)


def crossing(sizes: list[int], recalls: list[float], rises: bool) -> float | None:
    """Where recall is one half, by straight lines over the logarithm; None if it is not inside."""
    values = np.maximum.accumulate(recalls if rises else recalls[::-1])
    places = np.log(sizes if rises else sizes[::-1])
    if values[0] > 0.5 or values[-1] < 0.5:
        return None
    return float(np.exp(np.interp(0.5, values, places)))


def of_family(number: int) -> list[Row]:
    """The dimension at which half of the facts are recalled."""
    torch.set_num_threads(1)
    kind = KINDS[number]
    dims = [d for d in range(24, 121, 3) if d >= kind.get("rank", 0)]
    means = []
    for dim in dims:
        problem = Problem(
            vocab=VOCAB,
            samples=VOCAB,
            dim=dim,
            length=1,
            task="memory",
            learner="converged",
            embedding="structured",
            **kind,
        )
        means.append(float(np.mean([recall(problem, None, seed) for seed in range(SEEDS)])))
        if len(means) > 3 and min(means[-3:]) > 0.98:
            break
    found = crossing(dims[: len(means)], means, rises=True)
    at = round(found or dims[len(means) - 1])
    sizes = {"vocab": VOCAB, "samples": VOCAB, "dim": max(at, kind.get("rank", 0)), "length": 1}
    drawn = draw_embeddings(Problem(**sizes, embedding="structured", **kind), 0)
    return [
        {
            "number": number,
            "kind": " ".join(f"{name}={value}" for name, value in kind.items()) or "none",
            "dim": None if found is None else round(found, 1),
            "recall_at_least_d": round(means[0], 3),
            "effective_dim": round(effective_dim(drawn.tokens, centred=False), 1),
            "centred_dim": round(effective_dim(drawn.tokens, centred=True), 1),
            "law": round(math.sqrt(full_square(VOCAB).parameters), 1),
        }
    ]


def of_table(name: str, treatment: str) -> list[Row]:
    """How many facts are held half of the time in so many random directions of a table."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(7)
    rows = real_tables.treated(name, treatment)
    dim = min(DIRECTIONS, rows.shape[1])
    if rows.shape[1] > dim:
        rows = rows @ np.linalg.qr(rng.standard_normal((rows.shape[1], dim)))[0]
    rows = rows / math.sqrt(np.square(rows).sum(axis=1).mean())
    law = facts_by_law(dim)
    counts = [round(law * share) for share in np.geomspace(0.45, 1.4, 8)]
    means = []
    for count in counts:
        chosen = rows[rng.choice(len(rows), size=count, replace=False)]
        axis = np.eye(dim)[0]
        table = Embeddings(chosen, chosen, axis, axis)
        problem = Problem(
            vocab=count,
            samples=count,
            dim=dim,
            length=1,
            task="memory",
            learner="converged",
            embedding=table.name,
        )
        means.append(recall(problem, table, 0))
    found_at = crossing(counts, means, rises=False)
    return [
        {
            "table": name,
            "treatment": treatment,
            "dim": dim,
            "effective_dim": round(effective_dim(rows[:20000], centred=False), 1),
            "facts": None if found_at is None else round(found_at),
            "least_recall": round(min(means), 3),
            "most_recall": round(max(means), 3),
            "law": round(law),
        }
    ]


def facts_by_law(dim: int) -> float:
    """How many facts d² parameters store at recall one half, by the law of random embeddings."""
    low, high = 8, 20_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if edge(middle, middle, dim).parameters < dim**2 else (low, middle)
        )
    return float(low)


def run_study(what: str, processes: int) -> None:
    if what == "families":
        kinds = [(number,) for number in range(len(KINDS))]
        run_rest(of_family, kinds, ("number",), FAMILIES, processes)
    else:
        every = list(product(real_tables.TABLES, real_tables.TREATMENTS))
        run_rest(of_table, every, ("table", "treatment"), TABLES, processes)


def report() -> None:
    for path in (FAMILIES, TABLES):
        if path.with_suffix(".csv").exists():
            with path.with_suffix(".csv").open() as file:
                for row in csv.reader(file):
                    print(" | ".join(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("families", "tables", "report"))
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "report":
        report()
    else:
        run_study(asked.what, asked.processes)


if __name__ == "__main__":
    main()
