"""How many steps, and passes over the data, until a memory recalls 0.5, 0.9 and 0.99 of its facts.

    python studies/exposures.py run open                # trainings that the law may be found with
    python studies/exposures.py fit                     # its constants, and how far off it is
    python studies/exposures.py predict preregistered   # 30 others: predictions, to be committed
    python studies/exposures.py run preregistered       # train; seeds come from the predictions
    python studies/exposures.py report
    python studies/exposures.py figure                  # docs/end-exposures.png

Attention is given (task `memory`), every fact is seen equally often, learning rates are the
defaults. The distance to capacity is rho, trained parameters over those of the capacity threshold.
Cost, of two cores: `open` 8 minutes, `preregistered` 3.
"""

from __future__ import annotations

import argparse
import math
from functools import cache
from pathlib import Path

import numpy as np
import torch
from kept_runs import Row, run_rest, seed_from

from recallscope import Problem, run
from recallscope.theory.memory_edge import edge

HERE = Path(__file__).parent
TARGETS = (0.5, 0.9, 0.99)
LEARNERS = ("gd", "sgd", "adam", "muon")
SIZES = ("vocab", "dim", "learner", "batch", "weight_decay")
STEPS = {False: 3000, True: 1500}  # up to 256 facts, and above


def rho_of(problem: Problem) -> float:
    """Trained parameters over those that store every fact."""
    return problem.dim**2 / edge(problem.vocab, problem.vocab, problem.dim).parameters


def dim_at(vocab: int, rho: float) -> int:
    """The dimension at a distance to capacity."""
    dims = np.arange(4, vocab)
    ratios = [dim**2 / edge(vocab, vocab, int(dim)).parameters for dim in dims]
    return int(dims[np.abs(np.log(np.array(ratios) / rho)).argmin()])


def memory(vocab: int, rho: float, learner: str, **options: object) -> Problem:
    """A memory of V facts, so far from its capacity threshold."""
    sizes = {"vocab": vocab, "samples": vocab, "dim": dim_at(vocab, rho), "length": 1}
    return Problem.from_dict(
        {**sizes, "task": "memory", "learner": learner, "steps": STEPS[vocab > 256], **options}
    )


@cache
def draw_open() -> list[Problem]:
    """Whole passes over a grid, then batches and weight decay at some of its points."""
    problems = [
        memory(vocab, rho, learner)
        for vocab in (64, 128, 256, 512)
        for rho in (1.05, 1.1, 1.2, 1.35, 1.6, 2, 3, 5, 8)
        for learner in ("gd", "adam", "muon")
    ]
    problems += [
        memory(vocab, rho, learner, batch=vocab // part)
        for vocab in (128, 512)
        for rho in (1.2, 1.6, 3)
        for learner in ("sgd", "adam", "muon")
        for part in (2, 8, 32)
    ]
    problems += [
        memory(256, rho, learner, weight_decay=decay)
        for rho in (1.35, 3)
        for learner in ("gd", "adam", "adamw", "muon")
        for decay in (1e-4, 1e-3, 1e-2)
    ]
    return problems


def crossing(steps: list[float], recalls: list[float], target: float) -> float:
    """The step at which recall first reaches a target, between looks; NaN if it never does."""
    for place, recall in enumerate(recalls):
        if recall >= target:
            if not place:
                return steps[0]
            low, high = math.log(steps[place - 1] + 1), math.log(steps[place] + 1)
            before = recalls[place - 1]
            return math.exp(low + (high - low) * (target - before) / (recall - before)) - 1
    return math.nan


def trained(study: str, index: int, number: int) -> list[Row]:
    """One training, and when it reached each target."""
    torch.set_num_threads(1)
    problem = draw(study)[index]
    seed = number + (seed_from(predictions(study)) if study == "preregistered" else 0)
    record = run(problem, seed, test_samples=4096)
    if record.status != "ok":
        raise RuntimeError(f"problem {index}: {record.reason}")
    curve = [record.metrics[f"curve_{name}"] for name in ("step", "recall")]
    return [
        {"study": study, "problem": index, "number": number}
        | {name: getattr(problem, name, 0) for name in SIZES}
        | {"rho": round(rho_of(problem), 4), "seed": seed}
        | {f"steps_{target}": round(crossing(*curve, target), 2) for target in TARGETS}
        | {"recall": record.recall_accuracy, "steps_taken": record.metrics["steps_taken"]}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def predictions(study: str) -> Path:
    """Where the predictions of a study are."""
    return HERE / f"exposures-{study}-predictions.csv"


def draw(study: str) -> list[Problem]:
    """The problems of a study, the same every time."""
    return draw_open()


def run_study(study: str, processes: int) -> None:
    """Train what is not among the runs kept from before."""
    tasks = [(study, index, number) for index in range(len(draw(study))) for number in range(2)]
    names = ("study", "problem", "number")
    run_rest(trained, tasks, names, HERE / f"exposures-{study}.jsonl", processes)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "fit", "predict", "report", "figure"))
    parser.add_argument("study", nargs="?", choices=("open", "preregistered"))
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.study, asked.processes)


if __name__ == "__main__":
    main()
