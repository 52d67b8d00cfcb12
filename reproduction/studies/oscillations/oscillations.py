"""Do large steps oscillate because embeddings are not orthogonal, or because facts do not fit?

    oscillations        # oscillations.csv, about 3 minutes on two cores

The problem of the claim on oscillations, by random embeddings with fewer dimensions than separate
the facts, and by random and orthogonal ones at the same larger dimension, where all facts fit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recallscope import Problem, run
from reproduction.studies.kept_runs import write_table

SEEDS, FIRST = 8, 3_930_000
ARMS = (("sphere", 20), ("sphere", 129), ("orthogonal", 129))
RATES = (60.0, 960.0)
RISE = 1.01  # as in the claim


def main() -> None:
    """Train every arm, and write how often the loss rose in the second half."""
    rows = []
    for embedding, dim in ARMS:
        for rate in RATES:
            problem = Problem(
                vocab=128, samples=2048, dim=dim, length=8, embedding=embedding, learner="gd",
                steps=300, learning_rate=rate,
            )  # fmt: skip
            found = run(problem, FIRST, seeds=SEEDS, executor="processes").records
            rises = []
            for record in found:
                losses = np.array(record.metrics["curve_loss"], float)
                later = losses[len(losses) // 2 :]
                rises.append(float((later[1:] > RISE * later[:-1]).mean()))
            loss, recall = (
                [each.metric("final_loss") for each in found],
                [each.recall_accuracy for each in found],
            )
            rows.append(
                {"embedding": embedding, "dim": dim, "learning_rate": rate, "seeds": SEEDS}
                | {"first_seed": FIRST, "rises": round(float(np.mean(rises)), 4)}
                | {"rises_error": round(float(np.std(rises) / (SEEDS - 1) ** 0.5), 4)}
                | {"final_loss": round(float(np.mean(loss)), 6)}
                | {"recall": round(float(np.mean(recall)), 4)}
            )
            print(rows[-1], flush=True)
    write_table(rows, Path(__file__).with_suffix(".csv"))


if __name__ == "__main__":
    main()
