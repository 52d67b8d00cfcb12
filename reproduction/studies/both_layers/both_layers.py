"""What else may be trained: both layers of an MLP, and the embeddings.

    both_layers run       # both-layers.csv
    both_layers report

`mlp`: a memory of V facts behind an MLP of m = 2d ReLU units whose layers are both trained by Adam
(`learn_mlp`), at m·d around the published 0.35 V ln V. `other`: the same with m = d and m = 8d.
`embeddings`: embeddings of tokens and labels and the value matrix are trained; how many steps until
recall is 0.9, by d and V. Attention is given, every fact is seen in every step, learning rates are
the defaults. Cost: 17 minutes of two busy cores.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.theory.output_cone import cone
from reproduction.studies.exposures.exposures import crossing
from reproduction.studies.kept_runs import Row, run_rest, table

HERE = Path(__file__).parent
KEPT = HERE / "both-layers.jsonl"
PUBLISHED = 0.35
NAMES = ("study", "vocab", "dim", "width", "number")
STEPS = 2000


def tasks() -> list[tuple[str, int, int, int, int]]:
    """Every training: the study, its sizes, and the number of its seed."""
    found = []
    for study, vocabs, ratio, shares, seeds in (
        ("mlp", (64, 128, 256, 512), 2, (0.6, 0.75, 0.9, 1.1, 1.35, 1.65), 4),
        ("other", (256,), 1, (0.75, 0.9, 1.1, 1.35), 3),
        ("other", (256,), 8, (0.75, 0.9, 1.1, 1.35), 3),
        ("mlp", (1024,), 2, (0.75, 0.9, 1.1, 1.35), 2),
    ):
        for vocab in vocabs:
            for share in shares:
                numbers = share * PUBLISHED * vocab * math.log(vocab)
                dim = round(math.sqrt(numbers / ratio))
                width = round(numbers / dim)
                found += [(study, vocab, dim, width, number) for number in range(seeds)]
    for dim, vocabs in ((2, (16, 32, 64, 128)), (3, (64, 128, 256, 512)), (4, (128, 256, 512))):
        for vocab in vocabs:
            found += [("embeddings", vocab, dim, 0, number) for number in range(3)]
    return found


def trained(study: str, vocab: int, dim: int, width: int, number: int) -> list[Row]:
    """One training."""
    torch.set_num_threads(1)
    how: dict[str, object] = {"learn_embeddings": True}
    if width:
        how = {"width": width, "activation": "relu", "learn_mlp": True}
    sizes = {"vocab": vocab, "samples": vocab, "dim": dim, "length": 1}
    problem = Problem.from_dict({**sizes, **how, "task": "memory", "learner": "adam"})
    record = run(problem.replace(steps=STEPS), number, test_samples=4096)
    if record.status != "ok":
        raise RuntimeError(f"{problem}: {record.reason}")
    curve = [record.metrics[f"curve_{name}"] for name in ("step", "recall")]
    return [
        dict(zip(NAMES, (study, vocab, dim, width, number), strict=True))
        | {"recall": record.recall_accuracy, "steps_0.9": round(crossing(*curve, 0.9), 1)}
        | {"steps_taken": record.metrics["steps_taken"]}
        | {"final_loss": round(record.metrics["final_loss"], 5)}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def numbers_for(rows: list[Row], target: float) -> float:
    """m·d at which mean recall reaches a target, between sizes; NaN if it does not."""
    every: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        every[row["dim"] * row["width"]].append(row["recall"])
    sizes = sorted(every)
    means = np.maximum.accumulate([np.mean(every[size]) for size in sizes])
    if not means[0] < target <= means[-1]:
        return math.nan
    return float(np.exp(np.interp(target, means, np.log(sizes))))


def with_interval(rows: list[Row], target: float) -> tuple[float, float, float]:
    """The same with a 95 % interval, by drawing seeds again."""
    rng = np.random.default_rng(0)
    groups: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["dim"]].append(row)
    drawn = [
        numbers_for(
            [each for mine in groups.values() for each in rng.choice(mine, len(mine))], target
        )
        for _ in range(400)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return numbers_for(rows, target), float(low), float(high)


def stored() -> list[Row]:
    """m·d for 0.9 and 0.99 at each V and ratio, and what it makes for each trained parameter."""
    rows = [row for row in table(KEPT) if row["width"]]
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["vocab"], 2 ** round(math.log2(row["width"] / row["dim"]))].append(row)
    found = []
    for (vocab, ratio), mine in sorted(groups.items()):
        for target in (0.9, 0.99):
            value, low, high = with_interval(mine, target)
            unit = vocab * math.log(vocab)
            dim = math.sqrt(value / ratio)
            found.append(
                {"vocab": vocab, "ratio": ratio, "target": target, "numbers": round(value, 1)}
                | {"constant": value / unit, "low": low / unit, "high": high / unit}
                | {"of_derived": 2 * value / (vocab * cone(vocab, dim))}
                | {"bits": target * vocab * math.log2(vocab) / (2 * value)}
            )
    return found


def report() -> None:
    """Constants of the MLP, and steps of learned embeddings."""
    for row in stored():
        print(*(f"{name} {value:.4g}" for name, value in row.items()), sep=", ")
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in table(KEPT):
        if not row["width"]:
            groups[row["dim"], row["vocab"]].append(row)
    for (dim, vocab), mine in sorted(groups.items()):
        steps = [row["steps_0.9"] for row in mine]
        print(f"d={dim} V={vocab}: steps {steps}, recall {[row['recall'] for row in mine]}")


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "run":
        run_rest(trained, tasks(), NAMES, KEPT, asked.processes)
    else:
        report()


if __name__ == "__main__":
    main()
