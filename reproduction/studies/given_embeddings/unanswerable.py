"""Outputs inside the convex hull of the others, which no trained memory can answer with.

    given_embeddings/unanswerable [--processes 2]    # unanswerable.csv

Rows of real models in 48 random directions (packages are those of real_tables.py), 0.85 times as
many facts as random embeddings hold at the end of training. Inputs and outputs are rows as they
are, or centred and of one length. `inside` are outputs that a linear program finds in the convex
hull of the others: u·h is never the largest score, whatever is asked.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linprog

from recallscope import Problem, run
from recallscope.problem.given_embeddings import Embeddings
from recallscope.theory.table_facts import most_trained
from reproduction.studies.given_embeddings import real_tables
from reproduction.studies.kept_runs import Row, run_rest

KEPT = Path(__file__).with_name("unanswerable.jsonl")
DIRECTIONS, BELOW, SEEDS = 48, 0.85, 3
LENGTHS = ("as they are", "one length")


def inside(outputs: np.ndarray) -> int:
    """How many rows are convex combinations of the others."""
    found = 0
    for place, row in enumerate(outputs):
        others = np.delete(outputs, place, axis=0)
        sums = np.vstack([others.T, np.ones(len(others))])
        found += linprog(np.zeros(len(others)), A_eq=sums, b_eq=np.append(row, 1)).status == 0
    return found


def rows_of(table: str, facts: int, seed: int) -> dict[str, np.ndarray]:
    """Some rows in a few directions, by how long they are."""
    random = np.random.default_rng([9, seed])
    whole = real_tables.whole_table(table)
    directions = np.linalg.qr(random.standard_normal((whole.shape[1], DIRECTIONS)))[0]
    chosen = whole[random.choice(len(whole), size=facts, replace=False)].astype(np.float64)
    rows = chosen @ directions
    apart = rows - rows.mean(axis=0)
    unit = apart / np.linalg.norm(apart, axis=1, keepdims=True)
    return {
        LENGTHS[0]: rows / np.sqrt(np.square(rows).sum(axis=1).mean()),
        LENGTHS[1]: unit,
    }


def one(table: str, inputs: str, outputs: str) -> list[Row]:
    """Recall at the minimum of the loss, and how many outputs are inside."""
    torch.set_num_threads(1)
    facts = round(BELOW * most_trained(DIRECTIONS, DIRECTIONS, 0.99))
    axis = np.eye(DIRECTIONS)[0]
    sizes = {"vocab": facts, "samples": facts, "dim": DIRECTIONS, "length": 1}
    found = []
    for seed in range(SEEDS):
        rows = rows_of(table, facts, seed)
        arrays = Embeddings(rows[inputs], rows[outputs], axis, axis)
        problem = Problem(**sizes, task="memory", learner="converged", embedding=arrays.name)
        record = run(problem, seed, embeddings=arrays)
        found.append(
            {
                "table": table,
                "inputs": inputs,
                "outputs": outputs,
                "seed": seed,
                "facts": facts,
                "inside": inside(rows[outputs]),
                "recall": record.recall_accuracy,
                "certified": record.metrics["certified"],
            }
        )
    return found


def main() -> None:
    """Run what was not run yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tasks = list(product(real_tables.TABLES, LENGTHS, LENGTHS))
    run_rest(one, tasks, ("table", "inputs", "outputs"), KEPT, given.processes)


if __name__ == "__main__":
    main()
