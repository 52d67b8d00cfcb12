"""Facts that small transformers recall, by bits for each trained parameter and exposures.

    planner/small_transformers run STORE     # resumes; about 20 minutes of two cores
    planner/small_transformers report STORE  # writes the table that the law is fitted to

Eleven sizes of `gpt`, all parameters trained from scratch by AdamW with a cosine schedule, on the
tasks `pairs` and `relations`. The number of facts is chosen for a load: bits of all answers for
each trained parameter. One training for each load and number of exposures. `planner_law.py` fits.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import recallscope
from recallscope import Problem, Store
from recallscope.model.parameters import parameters_of
from recallscope.problem.facts import facts_of

TABLE = Path(__file__).with_name("small-transformers.csv")
SIZES = {
    "pairs": [(8, 1), (12, 1), (16, 1), (24, 1), (16, 2), (24, 2)],
    "relations": [(8, 1), (12, 1), (16, 1), (12, 2), (16, 2)],
}
LOADS = (0.5, 1.0, 1.5, 2.0, 3.0)
EXPOSURES = {10: 1e9, 30: 1e9, 100: 1e9, 300: 9000, 1000: 2000}
"""How often each fact is seen, and the most parameters that it is run for."""
BITS = {"pairs": 6.0, "relations": 3.0}
BATCH = 256


def problem(task: str, dim: int, layers: int, facts: int) -> Problem:
    """A model and about so many facts, whose training is still to be said."""
    common = {"dim": dim, "layers": layers, "model": "gpt", "learner": "adamw", "length": 4}
    common |= {"learning_rate": 0.01, "schedule": "cosine", "warmup": 0.05, "weight_decay": 0.0}
    if task == "pairs":
        return Problem(vocab=64, samples=facts, facts=facts, task="pairs", **common)
    subjects = max(2, round(facts / 32))
    return Problem(
        vocab=subjects, samples=32 * subjects, task="relations", relations=32, answers=8,
        noise_tokens=16, fresh=True, **common,
    )  # fmt: skip


def cells() -> list[tuple[Problem, int]]:
    """All trainings; those with fewest samples first."""
    found = []
    for task, bits in BITS.items():
        for dim, layers in SIZES[task]:
            for load in LOADS:
                # A subject of `relations` brings its parameters: so many for each fact.
                few, more = (problem(task, dim, layers, count) for count in (320, 640))
                first, second = (parameters_of(each).trained for each in (few, more))
                each = (second - first) / 320
                facts = round(load * (first - 320 * each) / (bits - load * each))
                asked = problem(task, dim, layers, facts)
                trained = parameters_of(asked).trained
                found += [
                    _trained(asked, seen) for seen, most in EXPOSURES.items() if trained <= most
                ]
    return [(each, 0) for each in sorted(found, key=lambda each: each["steps"] * each["batch"])]


def _trained(asked: Problem, exposures: int) -> Problem:
    facts = facts_of(asked)
    batch = min(BATCH, facts)
    steps = round(facts * exposures / batch)
    return asked.replace(batch=batch, steps=steps, metrics=("recall-per-fact",))


def report(store: str) -> None:
    """One row for each training."""
    rows = []
    for record in Store(store).records():
        asked, bits = record.problem, BITS[record.problem.task]
        trained, facts = parameters_of(asked).trained, facts_of(asked)
        rows.append(
            {
                "task": asked.task,
                "dim": asked.dim,
                "layers": asked["layers"],
                "trained": trained,
                "facts": facts,
                "bits": bits,
                "exposures": round(asked["steps"] * asked["batch"] / facts),
                "recall": f"{record.metric('recall-per-fact'):.4f}",
            }
        )
    rows.sort(
        key=lambda row: [row[name] for name in ("task", "layers", "dim", "facts", "exposures")]
    )
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        recallscope.sweep(cells(), sys.argv[2], executor="processes", workers=2)
    elif sys.argv[1] == "report":
        report(sys.argv[2])
