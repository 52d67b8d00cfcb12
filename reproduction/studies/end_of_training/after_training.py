"""What training does to the critical number of samples: exponents in V, d and L.

    end_of_training/after_training [--store DIR] [--workers 2]   # after-training.csv

The samples at which half of the facts are recalled, by three steps and after training by Adam,
along four values of each size, about two problems. All of them are large enough for three steps to
recall half of the facts from samples without end. What was run is kept in the store, and resumed.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from recallscope import Problem, fit

HERE = Path(__file__).parent
SCALES = {
    "small": (
        Problem(vocab=128, samples=1, dim=64, length=16),
        ["vocab=96,128,184,256", "dim=48,64,88,120", "length=8,16,32,64"],
    ),
    "large": (
        Problem(vocab=256, samples=1, dim=96, length=32),
        ["vocab=192,256,360,512", "dim=80,96,136,192", "length=16,32,64,128"],
    ),
}
LEARNERS = ("three-step", "adam")


def main() -> None:
    """All four laws, and what they come from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=HERE / "after-training")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    rows: list[dict[str, object]] = []
    for scale, (problem, vary) in SCALES.items():
        for learner in LEARNERS:
            found = fit(
                problem.replace(learner=learner),
                "samples",
                vary,
                0.5,
                low=8,
                high=(32 if learner == "three-step" else 8) * problem.vocab,
                budget=48,
                executor="processes",
                workers=asked.workers,
                store=asked.store,
                test_samples=1024,
            )
            print(scale, learner, found, flush=True)
            result = found.to_dict()
            print({name: value for name, value in result.items() if name != "points"}, flush=True)
            rows += [{"scale": scale, "learner": learner} | row for row in found.rows()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (HERE / "after-training.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
