"""Facts of unequal frequency in three steps: predicted and measured accuracies.

    frequencies/frequencies_steps draw open            # 40 problems, to look at
    frequencies/frequencies_steps draw preregistered   # 20 others, to be committed
    frequencies/frequencies_steps run open|preregistered
    frequencies/frequencies_steps report
    frequencies/frequencies_steps table                # theory/unequal_steps.csv

The problems: V of 64 to 1024, d of 8 to 256 and below V, L of 2 to 64, infinitely many samples or 1
to 64 for each fact. Two thirds follow a Zipf law with exponents of 0 to 2; others have populations
of cities or frequencies of English words. Distractors are as frequent as facts, or all alike;
embeddings are on the sphere or Gaussian. Forty-eight seeds. Seeds of preregistered problems come
from the hash of their predictions. The cost is about 25 core-minutes.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np

from recallscope import Problem, run
from recallscope.problem.frequencies import frequencies_of, frequency_classes
from recallscope.theory.laws.unequal_three_step import unequal_steps
from reproduction.studies.frequencies.frequencies import classes, read, table_of, write

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
DRAWN_FROM = {"open": 20261201, "preregistered": 20261202}
COUNT = {"open": 40, "preregistered": 20}
SEEDS, TESTS = 48, 16384
ACCURACIES = ("attention", "recall", "first_gradient")


def problem_of(row: dict[str, str]) -> Problem:
    fields: dict[str, object] = {"frequencies": "zipf", "zipf_exponent": float(row["exponent"])}
    vocab = int(row["vocab"])
    if row["table"]:
        fields = {"frequencies": "table", "frequency_table": table_of(row["table"], vocab)}
    sizes = {name: int(row[name]) for name in ("vocab", "dim", "length")}
    return Problem(
        **sizes,
        samples=float(row["samples"]),
        embedding=row["embedding"],
        distractor_frequencies=row["distractors"],
        metrics=("recall-by-frequency",),
        **fields,
    )


def by_class(probability: np.ndarray, recall: np.ndarray) -> list[float]:
    classes = frequency_classes(probability)
    return (np.bincount(classes, recall) / np.bincount(classes)).round(3).tolist()


def predicted(problem: Problem) -> dict[str, object]:
    probability = frequencies_of(problem, problem.vocab)
    found = np.mean([np.array(each) for each in unequal_steps(problem)], axis=0)
    numbers = dict(zip(ACCURACIES, (found @ probability).round(4).tolist(), strict=True))
    return {f"predicted_{name}": each for name, each in numbers.items()} | {
        "by_class": json.dumps(by_class(probability, found[1]))
    }


def draw(study: str) -> None:
    random = np.random.default_rng(DRAWN_FROM[study])

    def between(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    rows: list[dict[str, object]] = []
    for place in range(COUNT[study]):
        vocab = round(between(64, 1024))
        often = round(vocab * between(1, 64))
        row: dict[str, object] = {
            "vocab": vocab,
            "dim": round(between(8, min(vocab - 1, 256))),
            "length": round(between(2, 64)),
            "samples": "inf" if random.random() < 1 / 6 else often,
            "exponent": round(random.uniform(0, 2), 2),
            "table": {4: "cities", 5: "words"}.get(place % 6, ""),
            "distractors": "uniform" if random.random() < 0.5 else "same",
            "embedding": "gaussian" if random.random() < 0.25 else "sphere",
        }
        row |= predicted(problem_of({name: str(each) for name, each in row.items()}))
        rows.append(row)
        print(row, flush=True)
    write(HERE / f"frequencies-steps-{study}.csv", rows)


def run_all(study: str) -> None:
    first, path = 5000, HERE / f"frequencies-steps-{study}.csv"
    if study == "preregistered":
        first = int(hashlib.sha256(path.read_bytes()).hexdigest()[:8], 16)
    rows: list[dict[str, object]] = []
    for place, row in enumerate(read(path)):
        problem = problem_of(row)
        found = [run(problem, seed=first + each, test_samples=TESTS) for each in range(SEEDS)]
        classes = np.mean([each.array("recall-by-frequency") for each in found], axis=0)
        numbers: dict[str, object] = {}
        for name in ACCURACIES:
            values = [getattr(each, f"{name}_accuracy") for each in found]
            numbers[f"measured_{name}"] = round(float(np.mean(values)), 4)
            numbers[f"spread_{name}"] = round(float(np.std(values, ddof=1)), 4)
        classes_said = {"measured_by_class": json.dumps(classes.round(3).tolist())}
        rows.append({**row, **numbers, **classes_said})
        print(place, rows[-1], flush=True)
        write(HERE / f"frequencies-steps-{study}-runs.csv", rows)


def report() -> None:
    for study in COUNT:
        path = HERE / f"frequencies-steps-{study}-runs.csv"
        if not path.exists():
            continue
        rows = read(path)
        for name in ACCURACIES:
            expected, measured, spread = (
                np.array([float(row[f"{kind}_{name}"]) for row in rows])
                for kind in ("predicted", "measured", "spread")
            )
            hard, error = (measured > 0.1) & (measured < 0.9), np.abs(expected - measured)
            print(
                f"{study}, {name}: {len(rows)} problems, mean error {error.mean():.4f}, largest "
                f"{error.max():.4f}; {hard.sum()} in 0.1 to 0.9: {error[hard].mean():.4f}; "
                f"a constant {np.abs(measured - measured.mean()).mean():.4f}; "
                f"noise of the seeds {(spread / math.sqrt(SEEDS)).mean():.4f}"
            )
        here, there, facts = classes(rows)
        for least in (1, 8):
            chosen = (there > 0.05) & (there < 0.95) & (facts >= least)
            gap = np.abs(here - there)[chosen].mean()
            print(f"  {chosen.sum()} classes of {least} or more facts: mean error {gap:.4f}")


def table() -> None:
    kept = ("vocab", "samples", "dim", "length")
    kept += tuple(f"{kind}_{name}" for name in ACCURACIES for kind in ("predicted", "measured"))
    rows: list[dict[str, object]] = [
        {name: row[name] for name in kept}
        for study in COUNT
        for row in read(HERE / f"frequencies-steps-{study}-runs.csv")
    ]
    write(ROOT / "src/recallscope/theory/unequal_steps.csv", rows)


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["report"]
    commands = {"draw": draw, "run": run_all, "report": report, "table": table}
    commands[command](*rest)
