"""The plane of m and d: recall after three steps and the first gradient's readout, and what limits.

    python studies/mlp_plane.py draw      # sweeps/*/mlp-plane.toml and mlp-limits.toml, predictions
    python studies/mlp_plane.py report    # from the runs in the package

Runs are those of the claim mlp-regimes: `recallscope paper run mlp-regimes --size full`. Cells of
`mlp-limits` are drawn from the plane where recall is predicted between 0.05 and 0.95, and beyond it
from problems with other batches and lengths, half of which distractors should limit. Predictions
are in studies/mlp-plane-predictions.csv, committed before the runs.

Cost of the full size: 4,608 runs of the plane took 7 minutes of two busy cores. The measures were
first estimated at 0.25 s a run, which was wrong: a layer of 16,384 units takes 20 s. So the wider
layer became at most 2,048 units or twice as wide, and seeds two instead of four, before any measure
was looked at: 840 measures of five or six runs, 20 minutes of two cores.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np

from recallscope import Problem
from recallscope.paper.predictions import LATER, first_seed
from recallscope.paper.presets import sweep_file
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from recallscope.validation.limits import ACCURACIES, changes, limiting

HERE = Path(__file__).parent
PREDICTIONS = HERE / "mlp-plane-predictions.csv"
PER_FACT = {"relu": 32, "tanh": 8}
LENGTH, NARROWEST, WIDEST, FEWEST = 8, 8, 4096, 12
# Facts, values of each axis, seeds; cells of the plane and others for each activation, their seeds.
SIZES = {
    "full": (256, 24, 4, 150, 60, 2),
    "short": (128, 12, 2, 30, 20, 2),
    "smoke": (128, 8, 3, 20, 20, 1),
}
FIELDS = ("activation", "samples", "dim", "length", "width")


def axis(low: int, high: int, count: int) -> list[int]:
    return np.unique(np.geomspace(low, high, count).round().astype(int)).tolist()


def predicted(problem: Problem) -> dict[str, dict[str, float]]:
    """Closed forms of both accuracies, as they are and after each change."""
    every = changes(problem)
    found = accuracies(arrays_of(list(every.values())))
    return {name: dict(zip(every, getattr(found, name), strict=True)) for name in ACCURACIES}


def is_hard(problem: Problem) -> bool:
    return 0.05 < accuracies(arrays_of(problem)).recall_accuracy[0] < 0.95


def elsewhere(rng: np.random.Generator, activation: str, vocab: int) -> Problem:
    """A problem of another batch and length."""
    return Problem(
        vocab=vocab,
        samples=round(vocab * math.exp(rng.uniform(math.log(0.5), math.log(32)))),
        dim=round(math.exp(rng.uniform(math.log(FEWEST), math.log(15 * vocab / 16)))),
        length=round(math.exp(rng.uniform(math.log(2), math.log(512)))),
        width=round(math.exp(rng.uniform(math.log(NARROWEST), math.log(WIDEST)))),
        activation=activation,
    )


def drawn(rng: np.random.Generator, activation: str, size: str) -> list[Problem]:
    """Cells of the plane, then others: half as they come, half that distractors should limit."""
    vocab, values, _, cells, others, _ = SIZES[size]
    plane = [
        Problem(
            vocab=vocab,
            samples=PER_FACT[activation] * vocab,
            dim=dim,
            length=LENGTH,
            width=width,
            activation=activation,
        )
        for dim in axis(FEWEST, 15 * vocab // 16, values)
        for width in axis(NARROWEST, WIDEST, values)
    ]
    plane = [problem for problem in plane if is_hard(problem)]
    chosen = rng.choice(len(plane), size=min(cells, len(plane)), replace=False)
    problems = [plane[place] for place in sorted(chosen)]
    for hidden in (False, True):
        count = 0
        while count < others // 2:
            problem = elsewhere(rng, activation, vocab)
            if not is_hard(problem):
                continue
            limit = limiting(predicted(problem)["recall_accuracy"])
            if not hidden or limit == "distractors":
                problems.append(problem)
                count += 1
    return problems


def toml_list(values: list[object]) -> str:
    shown = [f'"{each}"' if isinstance(each, str) else str(each) for each in values]
    lines, line = [], "   "
    for each in shown:
        if len(line) + len(each) > 96:
            lines.append(line)
            line = "   "
        line += f" {each},"
    return "[\n" + "\n".join([*lines, line]) + "\n]"


def write_sweeps(size: str, problems: list[Problem], seed: int) -> None:
    vocab, values, seeds, _, _, seeds_of_limits = SIZES[size]
    zipped = "\n".join(
        f"{name} = {toml_list([getattr(each, name) for each in problems])}" for name in FIELDS
    )
    sweep_file("mlp-limits", size).write_text(
        "# Which noise limits recall: cells of the plane of m and d, and other problems.\n"
        f"# Drawn by studies/mlp_plane.py.\nseeds = {seeds_of_limits}\nseed = {seed}\n\n"
        f"[problem]\nvocab = {vocab}\n\n[zip]\n{zipped}\n"
    )
    dims = toml_list(axis(FEWEST, 15 * vocab // 16, values))
    widths = toml_list(axis(NARROWEST, WIDEST, values))
    sweep_file("mlp-plane", size).write_text(
        "# The plane of m and d, for ReLU with more samples for each fact than for tanh.\n"
        f"seeds = {seeds}\nseed = {seed + 100_000}\n\n"
        f"[problem]\nvocab = {vocab}\nlength = {LENGTH}\n\n"
        f"[grid]\ndim = {dims}\nwidth = {widths}\n\n"
        f"[zip]\nactivation = {list(PER_FACT)}\n"
        f"samples = {[each * vocab for each in PER_FACT.values()]}\n".replace("'", '"')
    )


def draw() -> None:
    """Cells of each size, and predictions of the full one."""
    for size in SIZES:
        rng = np.random.default_rng(40)
        problems = [each for name in PER_FACT for each in drawn(rng, name, size)]
        if size == "full":
            write_predictions(problems)
        write_sweeps(size, problems, 2_000_000 + first_seed(LATER) * (size == "full"))


def write_predictions(problems: list[Problem]) -> None:
    rows = []
    for problem in problems:
        found = predicted(problem)
        limit = {f"limit of {name}": limiting(found[name]) for name in ACCURACIES}
        values = {
            f"{name}_{change}": f"{value:.5f}"
            for name in ACCURACIES
            for change, value in found[name].items()
        }
        rows.append({name: getattr(problem, name) for name in FIELDS} | limit | values)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with PREDICTIONS.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    for name in ACCURACIES:
        print(name, Counter((row["activation"], row[f"limit of {name}"]) for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["draw"])
    parser.parse_args()
    draw()


if __name__ == "__main__":
    main()
